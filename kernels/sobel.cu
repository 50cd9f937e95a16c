/* sobel: gradient magnitude by 3x3 operators.
 *
 * 2 bytes and some 20 operations a sample at 8 bits: the memory is the limit, if the nine loads are not.
 * naive  a thread a pixel; nine folded loads, of which eight come from the cache, and as many border tests.
 * tiled  a block 128 x 8 pixels, a thread four neighbours in a row; tile and a halo of 1 in shared memory, loaded once in
 *        groups of four. Integer pictures without alpha share the sums of a column between neighbours; the others weigh
 *        each tap.
 * Limits: none.
 */
#include "../filters/sobel.h"
#include "tile.cuh"

enum { LANES = 32, ROWS = 8, RUN = 4 };

struct sobel_args {
    float side, middle, scale;
    bool l1;
    tg_border border;
};

TG_DEVICE float magnitude(const sobel_args &a, float gx, float gy)
{
    return (a.l1 ? fabsf(gx) + fabsf(gy) : sqrtf(gx * gx + gy * gy)) * a.scale;
}

template <typename T>
static __global__ void sobel_cuda_naive(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                        int across, const sobel_args args)
{
    const int x = blockIdx.x % across * LANES + threadIdx.x, y = blockIdx.x / across * ROWS + threadIdx.y;
    const int plane = blockIdx.y;
    if (x >= src.w || y >= src.h)
        return;
    T *out = &tg_row<T>(dst, plane, y)[x];
    const T sample = tg_row<T>(src, plane, y)[x];
    if (src.has_alpha && plane == src.planes - 1) {
        *out = sample;
        return;
    }
    const float own = sample;
    if (!tg_sound<T>(own)) {
        tg_store(out, NAN);
        return;
    }
    float gx = 0.F, gy = 0.F;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            float a, v = tg_tap<T>(src, plane, x + i, y + j, args.border, &a);
            float d = a * (v - own);
            gx += i * (j ? args.side : args.middle) * d;
            gy += j * (i ? args.side : args.middle) * d;
        }
    tg_store(out, magnitude(args, gx, gy));
}

/* Three rows of six taps for four neighbours, of which the first stands at `at`. */
TG_DEVICE void taps(const float *at, int pitch, float v[3][RUN + 2])
{
#pragma unroll
    for (int j = 0; j < 3; j++) {
        const float *row = at + (j - 1) * pitch;
        float4 four = *(const float4 *)row;
        v[j][0] = row[-1];
        v[j][1] = four.x;
        v[j][2] = four.y;
        v[j][3] = four.z;
        v[j][4] = four.w;
        v[j][5] = row[4];
    }
}

TG_DEVICE void plain_run(const float *at, int pitch, const sobel_args &args, float *g)
{
    float v[3][RUN + 2], smooth[RUN + 2], step[RUN + 2];
    taps(at, pitch, v);
#pragma unroll
    for (int i = 0; i < RUN + 2; i++) {
        smooth[i] = args.side * (v[0][i] + v[2][i]) + args.middle * v[1][i];
        step[i] = v[2][i] - v[0][i];
    }
#pragma unroll
    for (int i = 0; i < RUN; i++)
        g[i] = magnitude(args, smooth[i + 2] - smooth[i],
                         args.side * (step[i] + step[i + 2]) + args.middle * step[i + 1]);
}

TG_DEVICE void weighed_run(const float *at, const float *alpha, int pitch, const sobel_args &args, float *g)
{
    float v[3][RUN + 2], a[3][RUN + 2];
    taps(at, pitch, v);
    taps(alpha, pitch, a);
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        float gx = 0.F, gy = 0.F;
#pragma unroll
        for (int j = 0; j < 3; j++)
#pragma unroll
            for (int i = 0; i < 3; i++) {
                float d = a[j][k + i] * (v[j][k + i] - v[1][k + 1]);
                gx += (i - 1) * (j != 1 ? args.side : args.middle) * d;
                gy += (j - 1) * (i != 1 ? args.side : args.middle) * d;
            }
        g[k] = magnitude(args, gx, gy);
    }
}

template <typename T, bool WEIGHED>
static __global__ void sobel_cuda_tiled(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                        int across, const sobel_args args, const tg_tile tile, bool wide, bool wide_dst)
{
    extern __shared__ float layer[];
    const int x0 = blockIdx.x % across * (LANES * RUN), y0 = blockIdx.x / across * ROWS, plane = blockIdx.y;
    const int x = x0 + threadIdx.x * RUN, y = y0 + threadIdx.y;
    const bool keep = src.has_alpha && plane == src.planes - 1;
    if (!keep) {
        tg_load_tile<T, WEIGHED>(tile, layer, src, plane, x0, y0, args.border, wide);
        __syncthreads();
    }
    if (x >= src.w || y >= src.h)
        return;
    const T *from = tg_row<T>(src, plane, y) + x;
    T *to = tg_row<T>(dst, plane, y) + x;
    T out[RUN];
    if (keep) {
        for (int i = 0; i < RUN && x + i < src.w; i++)
            to[i] = from[i];
        return;
    }
    float g[RUN];
    const float *at = layer + (threadIdx.y + 1) * tile.pitch + tile.margin + threadIdx.x * RUN;
    if (WEIGHED)
        weighed_run(at, at + tile.pitch * tile.rows, tile.pitch, args, g);
    else
        plain_run(at, tile.pitch, args, g);
#pragma unroll
    for (int i = 0; i < RUN; i++) {
        if (tg_is_float<T> && x + i < src.w && !tg_finite(from[i]))
            g[i] = NAN;
        tg_store(&out[i], g[i]);
    }
    if (wide_dst && x <= src.w - RUN) {
        typename tg_four<T>::type four = {out[0], out[1], out[2], out[3]};
        *(typename tg_four<T>::type *)to = four;
    } else {
        for (int i = 0; i < RUN; i++)
            if (x + i < src.w)
                to[i] = out[i];
    }
}

static sobel_args args_of(const struct tg_job *job)
{
    const tg_sobel *p = (const tg_sobel *)job->params;
    sobel_args a = {0.F, 0.F, p->scale, p->norm == TG_SOBEL_L1, (tg_border)p->border};
    tg_sobel_taps(p->op, &a.side, &a.middle);
    return a;
}

int sobel_cuda_naive(const struct tg_job *job)
{
    cudaStream_t stream = tg_native(job);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES, ROWS, job->src.planes);
    tg_by_depth(job->src.depth, [&](auto t) {
        sobel_cuda_naive<decltype(t)>
            <<<g.blocks, dim3(LANES, ROWS), 0, stream>>>(job->src, job->dst, g.across, args_of(job));
    });
    return tg_cuda_launched("sobel naive");
}

int sobel_cuda_tiled(const struct tg_job *job)
{
    const bool wide = tg_aligned4(&job->src), wide_dst = tg_aligned4(&job->dst);
    cudaStream_t stream = tg_native(job);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES * RUN, ROWS, job->src.planes);
    tg_tile tile = tg_tile_for(LANES * RUN, ROWS, 1, 1, 1, 1);
    tg_by_depth_weighed(&job->src, [&](auto t, auto weighed) {
        sobel_cuda_tiled<decltype(t), decltype(weighed)::value>
            <<<g.blocks, dim3(LANES, ROWS), tg_tile_bytes(tile, weighed ? 2 : 1), stream>>>(
                job->src, job->dst, g.across, args_of(job), tile, wide, wide_dst);
    });
    return tg_cuda_launched("sobel tiled");
}
