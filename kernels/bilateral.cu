/* bilateral: an average of near pixels, each weighed by distance and by likeness.
 *
 * At the default radius, 81 taps of 3 planes: 6 bytes and some 1200 operations, 81 of them exponentials, a pixel. The
 * arithmetic is the limit; what a variant can save is what stands around it.
 * naive  a thread a pixel. Every tap is folded, tested against the disc and loaded from global memory; two exponentials.
 * tiled  a block 32 x 16 pixels; tile and halo in shared memory, float, converted, tested and weighed by alpha once when
 *        loaded. The disc's rows give the range of taps, so none is tested; both weights are one exponential, of a sum.
 *        Planes, distance and weighing are template parameters.
 * Limits of tiled: (32 + 2r)(16 + 2r) floats a plane must fit in a block's shared memory: r up to 57 for RGB on 227 KB, 26
 * on 64 KB. A thread computes one pixel, so every tap costs a load from shared memory a plane: several pixels a thread would
 * share them.
 * Sums are of differences from the pixel itself: those are small where the filter smooths, and so is their rounding error.
 */
#include "../filters/bilateral.h"
#include "tile.cuh"

enum { LANES = 32, NAIVE_ROWS = 8, ROWS = 16 };

struct bilateral_args {
    int radius, distance;
    bool disc;
    tg_border border;
    float space, range;   /* sigmas; range in sample values */
    float space2, range2; /* what a squared distance is multiplied by in the exponent of 2 */
};

/* The square of d(p,q) from the planes' differences. */
template <int N> TG_DEVICE float distance2(int kind, const float *d)
{
    float sum = 0.F;
    if (kind == TG_BILATERAL_LUMA && N >= 3) {
        sum = tg_luma(d[0], d[1 % N], d[2 % N]);
    } else if (kind == TG_BILATERAL_L2) {
#pragma unroll
        for (int c = 0; c < N; c++)
            sum += d[c] * d[c];
        return sum;
    } else {
#pragma unroll
        for (int c = 0; c < N; c++)
            sum += fabsf(d[c]);
    }
    return sum * sum;
}

/* Writes planes first..first+N-1 of a pixel from the sums of weighed differences; v0 is 0 where the pixel is not finite. */
template <typename T, int N>
TG_DEVICE void finish(const tg_image &src, const tg_image &dst, int first, int x, int y, const float *v0,
                      const float *sum, float weights)
{
#pragma unroll
    for (int c = 0; c < N; c++) {
        float v = weights < TG_VANISH ? tg_kept<T>(tg_row<T>(src, first + c, y)[x]) : v0[c] + sum[c] / weights;
        tg_store(&tg_row<T>(dst, first + c, y)[x], v);
    }
    if (src.has_alpha && first == 0)
        tg_row<T>(dst, src.planes - 1, y)[x] = tg_row<T>(src, src.planes - 1, y)[x];
}

/* The pixel's own values; false where one is not finite, which is then 0. */
template <typename T, int N> TG_DEVICE bool own_values(const tg_image &src, int first, int x, int y, float *v0)
{
    bool whole = true;
#pragma unroll
    for (int c = 0; c < N; c++) {
        v0[c] = tg_row<T>(src, first + c, y)[x];
        if (!tg_sound<T>(v0[c])) {
            v0[c] = 0.F;
            whole = false;
        }
    }
    return whole;
}

template <typename T, int N>
static __global__ void bilateral_cuda_naive(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                            int across, const bilateral_args args)
{
    const int x = blockIdx.x % across * LANES + threadIdx.x, y = blockIdx.x / across * NAIVE_ROWS + threadIdx.y;
    const int first = blockIdx.y, r = args.radius;
    if (x >= src.w || y >= src.h)
        return;
    float v0[N], sum[N] = {0.F}, weights = 0.F;
    const bool whole = own_values<T, N>(src, first, x, y, v0);
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            int r2 = dx * dx + dy * dy;
            if (args.disc && r2 > r * r)
                continue;
            float d[N], alpha = 1.F;
#pragma unroll
            for (int c = 0; c < N; c++) {
                float a;
                d[c] = tg_tap<T>(src, first + c, x + dx, y + dy, args.border, &a) - v0[c];
                alpha = fminf(alpha, a);
            }
            if (alpha == 0.F)
                continue;
            float w = alpha * expf(-r2 / (2.F * args.space * args.space));
            if (whole)
                w *= expf(-0.5F * distance2<N>(args.distance, d) / (args.range * args.range));
#pragma unroll
            for (int c = 0; c < N; c++)
                sum[c] += w * d[c];
            weights += w;
        }
    finish<T, N>(src, dst, first, x, y, v0, sum, weights);
}

template <typename T, int N, int DISTANCE, bool WEIGHED>
static __global__ void __launch_bounds__(LANES *ROWS, 2)
    bilateral_cuda_tiled(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst, int across,
                         const bilateral_args args, const tg_tile tile, bool wide)
{
    extern __shared__ float layers[]; /* N of values, and where WEIGHED one of weights */
    const int x0 = blockIdx.x % across * LANES, y0 = blockIdx.x / across * ROWS, first = blockIdx.y;
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y, layer = tile.pitch * tile.rows, r = args.radius;
    tg_each_group(tile, x0, y0, [&](int at, int gx, int gy) {
        float4 a = make_float4(1.F, 1.F, 1.F, 1.F);
        if (WEIGHED) {
            a = tg_alpha4<T>(src, gx, gy, args.border, wide);
            a = make_float4(fminf(a.x, 1.F), fminf(a.y, 1.F), fminf(a.z, 1.F), fminf(a.w, 1.F));
        }
#pragma unroll
        for (int c = 0; c < N; c++) {
            float4 v = tg_load4<T>(src, first + c, gx, gy, args.border, wide);
            tg_drop4<T>(&v, &a);
            *(float4 *)(layers + c * layer + at) = v;
        }
        if (WEIGHED)
            *(float4 *)(layers + N * layer + at) = a;
    });
    __syncthreads();
    if (x >= src.w || y >= src.h)
        return;

    float v0[N], sum[N] = {0.F}, weights = 0.F;
    const float range2 = own_values<T, N>(src, first, x, y, v0) ? args.range2 : 0.F;
    const float *row = layers + threadIdx.y * tile.pitch + tile.margin + threadIdx.x;
    for (int dy = -r; dy <= r; dy++, row += tile.pitch) {
        const int reach = args.disc ? (int)sqrtf(r * r - dy * dy) : r;
        const float space = dy * dy * args.space2;
        float row_sum[N] = {0.F}, row_weights = 0.F;
        auto tap = [&](const float *at, float exponent) {
            float d[N];
#pragma unroll
            for (int c = 0; c < N; c++)
                d[c] = at[c * layer] - v0[c];
            float d2 = distance2<N>(DISTANCE, d);
            if (tg_is_float<T>)
                d2 = fminf(d2, 1e30F); /* so that range2 0 times it is 0 */
            float w = tg_exp2(d2 * range2 + exponent);
            if (WEIGHED)
                w *= at[N * layer];
#pragma unroll
            for (int c = 0; c < N; c++)
                row_sum[c] += w * d[c];
            row_weights += w;
        };
        tap(row, space);
        for (int dx = 1; dx <= reach; dx++) {
            const float exponent = dx * dx * args.space2 + space;
            tap(row - dx, exponent);
            tap(row + dx, exponent);
        }
#pragma unroll
        for (int c = 0; c < N; c++)
            sum[c] += row_sum[c];
        weights += row_weights;
    }
    finish<T, N>(src, dst, first, x, y, v0, sum, weights);
}

static bilateral_args args_of(const struct tg_job *job)
{
    const tg_bilateral *p = (const tg_bilateral *)job->params;
    const float log2e = 1.44269504F, least = -1e30F; /* finite, since 0 times it must be 0 */
    bilateral_args a;
    a.radius = tg_bilateral_radius(p);
    a.distance = p->distance;
    a.disc = p->window == TG_BILATERAL_DISC;
    a.border = (tg_border)p->border;
    a.space = fmaxf(p->sigma_space, 1e-15F); /* so that its square is not 0 */
    a.range = fmaxf(p->sigma_range * tg_depth_full(job->src.depth), 1e-15F);
    a.space2 = fmaxf(-0.5F * log2e / (a.space * a.space), least);
    a.range2 = fmaxf(-0.5F * log2e / (a.range * a.range), least);
    return a;
}

static bool identity(const struct tg_job *job)
{
    const tg_bilateral *p = (const tg_bilateral *)job->params;
    return p->sigma_space <= 0.F || p->sigma_range <= 0.F;
}

static int copy(const struct tg_job *job)
{
    tg_image dst = job->dst;
    return tg_cuda_image_copy(&dst, &job->src, job->stream);
}

/* Planes that one thread weighs together. */
static int together(const struct tg_job *job)
{
    const tg_bilateral *p = (const tg_bilateral *)job->params;
    return p->distance == TG_BILATERAL_SEPARATE ? 1 : tg_image_colors(&job->src);
}

/* f(n) with n as a type. */
template <typename F> static void by_planes(int n, F f)
{
    if (n == 1)
        f(std::integral_constant<int, 1>());
    else if (n == 2)
        f(std::integral_constant<int, 2>());
    else if (n == 3)
        f(std::integral_constant<int, 3>());
    else
        f(std::integral_constant<int, 4>());
}

int bilateral_cuda_naive(const struct tg_job *job)
{
    if (identity(job))
        return copy(job);
    const int n = together(job);
    cudaStream_t stream = tg_native(job);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES, NAIVE_ROWS, tg_image_colors(&job->src) / n);
    tg_by_depth(job->src.depth, [&](auto t) {
        by_planes(n, [&](auto planes) {
            bilateral_cuda_naive<decltype(t), decltype(planes)::value>
                <<<g.blocks, dim3(LANES, NAIVE_ROWS), 0, stream>>>(job->src, job->dst, g.across, args_of(job));
        });
    });
    return tg_cuda_launched("bilateral naive");
}

static tg_tile tile_of(const struct tg_job *job)
{
    int r = tg_bilateral_radius((const tg_bilateral *)job->params);
    return tg_tile_for(LANES, ROWS, r, r, r, r);
}

static size_t tile_bytes(const struct tg_job *job)
{
    return tg_tile_bytes(tile_of(job), together(job) + (tg_weighed(&job->src) ? 1 : 0));
}

bool bilateral_cuda_tiled_fits(const struct tg_job *job)
{
    return identity(job) || tile_bytes(job) <= tg_cuda_shared_limit();
}

template <typename T, int N, int DISTANCE, bool WEIGHED>
static void launch_tiled(const struct tg_job *job, cudaStream_t stream)
{
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES, ROWS, tg_image_colors(&job->src) / N);
    tg_allow_shared(bilateral_cuda_tiled<T, N, DISTANCE, WEIGHED>, tile_bytes(job));
    bilateral_cuda_tiled<T, N, DISTANCE, WEIGHED><<<g.blocks, dim3(LANES, ROWS), tile_bytes(job), stream>>>(
        job->src, job->dst, g.across, args_of(job), tile_of(job), tg_aligned4(&job->src));
}

int bilateral_cuda_tiled(const struct tg_job *job)
{
    if (identity(job))
        return copy(job);
    const int distance = ((const tg_bilateral *)job->params)->distance, planes = together(job);
    cudaStream_t stream = tg_native(job);
    tg_by_depth_weighed(&job->src, [&](auto t, auto weighed) {
        by_planes(planes, [&](auto n) {
            typedef decltype(t) T;
            constexpr int N = decltype(n)::value;
            constexpr bool WEIGHED = decltype(weighed)::value;
            if constexpr (N > 1) {
                if (distance == TG_BILATERAL_L2)
                    return launch_tiled<T, N, TG_BILATERAL_L2, WEIGHED>(job, stream);
            }
            if constexpr (N > 2) {
                if (distance == TG_BILATERAL_LUMA)
                    return launch_tiled<T, N, TG_BILATERAL_LUMA, WEIGHED>(job, stream);
            }
            launch_tiled<T, N, TG_BILATERAL_L1, WEIGHED>(job, stream);
        });
    });
    return tg_cuda_launched("bilateral tiled");
}
