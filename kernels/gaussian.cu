/* gaussian: rows, then columns, a plane after the other, through float planes of sums in scratch.
 *
 * At 8 bits 10 bytes (1 read, 4 written, 4 read, 1 written) and 4 (2 radius + 1) operations a sample, twice that where taps
 * are weighed: up to a radius of some 50 the memory is the limit, if loading the taps is not.
 * naive  a thread a sample in each pass. Every tap is folded, tested and loaded from global memory; sums of weights always.
 * tiled  tile and halo in shared memory: 128 x 8 samples for rows, 32 x 64 for columns. A thread computes four neighbours
 *        along the pass, so that each tap, once in a register, serves four sums. Integer pictures without alpha need no
 *        sums of weights: they are constant.
 * Limits of tiled: the tile of the columns, 32 (64 + 2r) floats, twice that where taps are weighed, must fit in a block's
 * shared memory: r up to 870 on 227 KB, 220 on 64 KB. The cost grows with sigma: a recursive filter's would not.
 */
#include "../filters/gaussian.h"
#include "tile.cuh"

enum { LANES = 32, NAIVE_ROWS = 8, RUN = 4, ROW_ROWS = 8, COLUMN_ROWS = 16 };

/* Scratch: the weights, then one or two planes of float. */
struct gaussian_args {
    int radius, margin;
    tg_border border;
    float excess; /* 1 / square of the sum of weights, less 1 */
    const float *weights;
    float *sums, *alphas; /* sums of w a v, and of w a */
    size_t pitch;         /* floats a row of those */
};

/* Writes a sample from both passes' sums. */
template <typename T, bool WEIGHED>
TG_DEVICE void finish(const tg_image &src, const tg_image &dst, int plane, int x, int y, const gaussian_args &args,
                      tg_sum<T> sum, tg_sum<T> alpha)
{
    const T own = tg_row<T>(src, plane, y)[x];
    T *out = &tg_row<T>(dst, plane, y)[x];
    if (src.has_alpha && plane == src.planes - 1)
        tg_store(out, alpha.value * tg_full<T>);
    else if (args.radius == 0)
        *out = own;
    else if (!WEIGHED)
        tg_store(out, sum.value + (sum.value * args.excess - sum.lost));
    else
        tg_store(out, alpha.value < TG_VANISH ? tg_kept<T>(own) : sum.value / alpha.value);
}

/* ---- naive ---- */

template <typename T>
static __global__ void gaussian_cuda_naive_rows(const __grid_constant__ tg_image src, int plane, int across,
                                                const gaussian_args args)
{
    const int x = blockIdx.x % across * LANES + threadIdx.x, y = blockIdx.x / across * NAIVE_ROWS + threadIdx.y;
    if (x >= src.w || y >= src.h)
        return;
    tg_sum<T> sum = {}, alpha = {};
    for (int i = -args.radius; i <= args.radius; i++) {
        float a, v = tg_tap<T>(src, plane, x + i, y, args.border, &a), w = args.weights[abs(i)] * a;
        sum.add(w * v);
        alpha.add(w);
    }
    args.sums[y * args.pitch + x] = sum.value;
    args.alphas[y * args.pitch + x] = alpha.value;
}

template <typename T>
static __global__ void gaussian_cuda_naive_columns(const __grid_constant__ tg_image src,
                                                   const __grid_constant__ tg_image dst, int plane, int across,
                                                   const gaussian_args args)
{
    const int x = blockIdx.x % across * LANES + threadIdx.x, y = blockIdx.x / across * NAIVE_ROWS + threadIdx.y;
    if (x >= src.w || y >= src.h)
        return;
    tg_sum<T> sum = {}, alpha = {};
    for (int i = -args.radius; i <= args.radius; i++) {
        const int from = tg_fold(y + i, src.h, args.border);
        const float w = args.weights[abs(i)];
        if (from >= 0) {
            sum.add(w * args.sums[from * args.pitch + x]);
            alpha.add(w * args.alphas[from * args.pitch + x]);
        } else if (!src.has_alpha) {
            alpha.add(w);
        }
    }
    finish<T, true>(src, dst, plane, x, y, args, sum, alpha);
}

/* ---- tiled ---- */

/* Four taps v into four sums. near: weights of the distances that end with the last sum's, far: of the four after. */
template <typename T> TG_DEVICE void add(tg_sum<T> *sum, float4 near, float4 far, float4 v)
{
    const float w[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
#pragma unroll
    for (int k = 0; k < RUN; k++)
        sum[k].add(w[4 - k] * v.x + w[5 - k] * v.y + w[6 - k] * v.z + w[7 - k] * v.w);
}

template <typename T, bool WEIGHED>
static __global__ void gaussian_cuda_tiled_rows(const __grid_constant__ tg_image src, int plane, int across,
                                                const gaussian_args args, const tg_tile tile, bool wide)
{
    extern __shared__ float layer[]; /* the weights, values, and where WEIGHED what they weigh */
    const int x0 = blockIdx.x % across * (LANES * RUN), y0 = blockIdx.x / across * ROW_ROWS;
    const int x = x0 + threadIdx.x * RUN, y = y0 + threadIdx.y, n = 2 * args.margin + 4;
    float *values = layer + n, *alphas = values + tile.pitch * tile.rows;
    for (int i = threadIdx.y * LANES + threadIdx.x; i < n; i += LANES * ROW_ROWS)
        layer[i] = args.weights[i];
    tg_each_group(tile, x0, y0, [&](int at, int gx, int gy) {
        float4 v = tg_load4<T>(src, plane, gx, gy, args.border, wide);
        if (WEIGHED) {
            float4 a = tg_alpha4<T>(src, gx, gy, args.border, wide);
            tg_drop4<T>(&v, &a);
            v = make_float4(v.x * a.x, v.y * a.y, v.z * a.z, v.w * a.w);
            *(float4 *)(alphas + at) = a;
        }
        *(float4 *)(values + at) = v;
    });
    __syncthreads();
    if (x >= src.w || y >= src.h)
        return;
    tg_sum<T> sum[RUN] = {}, alpha[RUN] = {};
    float4 near = make_float4(0.F, 0.F, 0.F, 0.F);
    const float4 *weights = (const float4 *)layer;
    const float4 *v = (const float4 *)(values + threadIdx.y * tile.pitch) + threadIdx.x;
    const float4 *a = (const float4 *)(alphas + threadIdx.y * tile.pitch) + threadIdx.x;
    for (int g = 0; g < n / 4; g++) {
        const float4 far = weights[g];
        add(sum, near, far, v[g]);
        if (WEIGHED)
            add(alpha, near, far, a[g]);
        near = far;
    }
    *(float4 *)(args.sums + y * args.pitch + x) = make_float4(sum[0].value, sum[1].value, sum[2].value, sum[3].value);
    if (WEIGHED)
        *(float4 *)(args.alphas + y * args.pitch + x) = make_float4(alpha[0].value, alpha[1].value, alpha[2].value,
                                                                    alpha[3].value);
}

/* Rows y0 - margin.. of a plane of sums; `outside` stands for rows outside under TG_CONSTANT. */
TG_DEVICE void load_columns(float *layer, const float *from, int x0, int y0, int h, const gaussian_args &args,
                            float outside)
{
    const int rows = RUN * COLUMN_ROWS + 2 * args.margin;
    for (int i = threadIdx.y * LANES + threadIdx.x; i < rows * (LANES / 4); i += LANES * COLUMN_ROWS) {
        const int row = i / (LANES / 4), x = i % (LANES / 4) * 4;
        const int y = tg_fold(y0 - args.margin + row, h, args.border);
        *(float4 *)(layer + row * LANES + x) = y >= 0 ? *(const float4 *)(from + y * args.pitch + x0 + x)
                                                      : make_float4(outside, outside, outside, outside);
    }
}

template <typename T, bool WEIGHED>
static __global__ void gaussian_cuda_tiled_columns(const __grid_constant__ tg_image src,
                                                   const __grid_constant__ tg_image dst, int plane, int across,
                                                   const gaussian_args args)
{
    extern __shared__ float layer[];
    const int x0 = blockIdx.x % across * LANES, y0 = blockIdx.x / across * (RUN * COLUMN_ROWS);
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y * RUN, n = 2 * args.margin + 4;
    float *values = layer + n, *alphas = values + LANES * (RUN * COLUMN_ROWS + 2 * args.margin);
    for (int i = threadIdx.y * LANES + threadIdx.x; i < n; i += LANES * COLUMN_ROWS)
        layer[i] = args.weights[i];
    load_columns(values, args.sums, x0, y0, src.h, args, 0.F);
    if (WEIGHED)
        load_columns(alphas, args.alphas, x0, y0, src.h, args, src.has_alpha ? 0.F : 1.F);
    __syncthreads();
    if (x >= src.w)
        return;
    tg_sum<T> sum[RUN] = {}, alpha[RUN] = {};
    float4 near = make_float4(0.F, 0.F, 0.F, 0.F);
    const float4 *weights = (const float4 *)layer;
    const float *v = values + threadIdx.y * RUN * LANES + threadIdx.x;
    const float *a = alphas + threadIdx.y * RUN * LANES + threadIdx.x;
    for (int g = 0; g < n / 4; g++, v += 4 * LANES, a += 4 * LANES) {
        const float4 far = weights[g];
        add(sum, near, far, make_float4(v[0], v[LANES], v[2 * LANES], v[3 * LANES]));
        if (WEIGHED)
            add(alpha, near, far, make_float4(a[0], a[LANES], a[2 * LANES], a[3 * LANES]));
        near = far;
    }
#pragma unroll
    for (int k = 0; k < RUN; k++)
        if (y + k < src.h)
            finish<T, WEIGHED>(src, dst, plane, x, y + k, args, sum[k], alpha[k]);
}

/* ---- launches ---- */

enum { WEIGHTS = 2 * (TG_GAUSSIAN_RADIUS + 1) + 64 }; /* floats of scratch in front of the planes */

static size_t pitch_of(const struct tg_job *job)
{
    return ((size_t)job->src.w + LANES - 1) / LANES * LANES;
}

static size_t scratch_bytes(const struct tg_job *job, int planes)
{
    return (WEIGHTS + pitch_of(job) * (size_t)job->src.h * (size_t)planes) * sizeof(float);
}

size_t gaussian_cuda_naive_scratch(const struct tg_job *job)
{
    return scratch_bytes(job, 2);
}

size_t gaussian_cuda_tiled_scratch(const struct tg_job *job)
{
    return scratch_bytes(job, tg_weighed(&job->src) ? 2 : 1);
}

static gaussian_args args_of(const struct tg_job *job, float *weights)
{
    const tg_gaussian *p = (const tg_gaussian *)job->params;
    tg_gaussian_weights(p, weights);
    gaussian_args a;
    a.radius = tg_gaussian_radius(p);
    a.margin = (a.radius + 3) / 4 * 4;
    a.border = (tg_border)p->border;
    double sum = weights[0];
    for (int i = 1; i <= a.radius; i++)
        sum += 2. * weights[i];
    a.excess = (float)(1. / (sum * sum) - 1.);
    a.weights = (const float *)job->scratch;
    a.pitch = pitch_of(job);
    a.sums = (float *)job->scratch + WEIGHTS;
    a.alphas = a.sums + a.pitch * (size_t)job->src.h;
    return a;
}

int gaussian_cuda_naive(const struct tg_job *job)
{
    const tg_image &src = job->src;
    float weights[TG_GAUSSIAN_RADIUS + 1];
    const gaussian_args args = args_of(job, weights);
    cudaStream_t stream = tg_native(job);
    tg_put_weights((float *)job->scratch, args.radius + 1, stream, [&](int i) { return weights[i]; });
    tg_grid g = tg_grid_for(src.w, src.h, LANES, NAIVE_ROWS, 1);
    tg_by_depth(src.depth, [&](auto t) {
        typedef decltype(t) T;
        const dim3 block(LANES, NAIVE_ROWS);
        for (int plane = 0; plane < src.planes; plane++) {
            gaussian_cuda_naive_rows<T><<<g.blocks, block, 0, stream>>>(src, plane, g.across, args);
            gaussian_cuda_naive_columns<T><<<g.blocks, block, 0, stream>>>(src, job->dst, plane, g.across, args);
        }
    });
    return tg_cuda_launched("gaussian naive");
}

static tg_tile row_tile(int radius)
{
    return tg_tile_for(LANES * RUN, ROW_ROWS, radius, radius, 0, 0);
}

static size_t row_bytes(int margin, int layers)
{
    return (2 * (size_t)margin + 4) * sizeof(float) + tg_tile_bytes(row_tile(margin), layers);
}

static size_t column_bytes(int margin, int layers)
{
    return (2 * (size_t)margin + 4 + LANES * (RUN * COLUMN_ROWS + 2 * (size_t)margin) * (size_t)layers) * sizeof(float);
}

bool gaussian_cuda_tiled_fits(const struct tg_job *job)
{
    const int margin = (tg_gaussian_radius((const tg_gaussian *)job->params) + 3) / 4 * 4;
    const int layers = tg_weighed(&job->src) ? 2 : 1;
    return row_bytes(margin, layers) <= tg_cuda_shared_limit() &&
           column_bytes(margin, layers) <= tg_cuda_shared_limit();
}

int gaussian_cuda_tiled(const struct tg_job *job)
{
    const tg_image &src = job->src;
    float weights[TG_GAUSSIAN_RADIUS + 1];
    const gaussian_args args = args_of(job, weights);
    const bool wide = tg_aligned4(&src);
    const int layers = tg_weighed(&src) ? 2 : 1;
    const size_t for_rows = row_bytes(args.margin, layers), for_columns = column_bytes(args.margin, layers);
    cudaStream_t stream = tg_native(job);
    /* All distances from -margin to margin, and zeros up to a whole group. */
    tg_put_weights((float *)job->scratch, 2 * args.margin + 4, stream, [&](int i) {
        int distance = abs(i - args.margin);
        return distance <= args.radius ? weights[distance] : 0.F;
    });
    tg_grid rows = tg_grid_for(src.w, src.h, LANES * RUN, ROW_ROWS, 1);
    tg_grid columns = tg_grid_for(src.w, src.h, LANES, RUN * COLUMN_ROWS, 1);
    tg_by_depth_weighed(&src, [&](auto t, auto weighed) {
        auto *row_pass = gaussian_cuda_tiled_rows<decltype(t), decltype(weighed)::value>;
        auto *column_pass = gaussian_cuda_tiled_columns<decltype(t), decltype(weighed)::value>;
        const dim3 row_block(LANES, ROW_ROWS), column_block(LANES, COLUMN_ROWS);
        tg_allow_shared(row_pass, for_rows);
        tg_allow_shared(column_pass, for_columns);
        for (int plane = 0; plane < src.planes; plane++) {
            row_pass<<<rows.blocks, row_block, for_rows, stream>>>(src, plane, rows.across, args, row_tile(args.radius),
                                                                   wide);
            column_pass<<<columns.blocks, column_block, for_columns, stream>>>(src, job->dst, plane, columns.across,
                                                                               args);
        }
    });
    return tg_cuda_launched("gaussian tiled");
}
