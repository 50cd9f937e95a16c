/* invert: a thread reads and writes samples of its own, in two variants.
 *
 * 2 bytes and 2 operations a sample at 8 bits: the memory is the limit by far.
 * naive  a thread a sample: a warp asks for 32 bytes at a time at 8 bits, too little in flight to fill the memory.
 * wide   a thread 16 bytes, the most that one instruction loads. Rows that do not start on 16 bytes, and the end of a row,
 *        go sample by sample.
 * Limits: none.
 */
#include "../filters/invert.h"
#include "tile.cuh"

enum { LANES = 32, ROWS = 8 };

template <typename T> TG_DEVICE float invert(T sample, float amount)
{
    float v = sample;
    return v + amount * (tg_full<T> - 2.F * v);
}

template <typename T>
static __global__ void invert_cuda_naive(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                         int across, float amount)
{
    const int x = blockIdx.x % across * LANES + threadIdx.x, y = blockIdx.x / across * ROWS + threadIdx.y;
    const int plane = blockIdx.y;
    if (x >= src.w || y >= src.h)
        return;
    T v = tg_row<T>(src, plane, y)[x];
    if (src.has_alpha && plane == src.planes - 1)
        tg_row<T>(dst, plane, y)[x] = v;
    else
        tg_store(&tg_row<T>(dst, plane, y)[x], invert(v, amount));
}

template <typename T>
static __global__ void invert_cuda_wide(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                        int across, float amount, bool wide)
{
    enum { N = tg_chunk<T>::N };
    const int x = (blockIdx.x % across * LANES + threadIdx.x) * N, y = blockIdx.x / across * ROWS + threadIdx.y;
    const int plane = blockIdx.y;
    if (x >= src.w || y >= src.h)
        return;
    const bool keep = src.has_alpha && plane == src.planes - 1;
    const T *from = tg_row<T>(src, plane, y) + x;
    T *to = tg_row<T>(dst, plane, y) + x;
    if (wide && x <= src.w - N) {
        tg_chunk<T> in = *(const tg_chunk<T> *)from, out;
#pragma unroll
        for (int i = 0; i < N; i++)
            tg_store(&out.v[i], keep ? in.v[i] : invert(in.v[i], amount));
        *(tg_chunk<T> *)to = out;
    } else {
        for (int i = 0; i < N && x + i < src.w; i++)
            tg_store(&to[i], keep ? from[i] : invert(from[i], amount));
    }
}

int invert_cuda_naive(const struct tg_job *job)
{
    const tg_invert *p = (const tg_invert *)job->params;
    cudaStream_t stream = tg_native(job);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES, ROWS, job->src.planes);
    tg_by_depth(job->src.depth, [&](auto t) {
        invert_cuda_naive<decltype(t)>
            <<<g.blocks, dim3(LANES, ROWS), 0, stream>>>(job->src, job->dst, g.across, p->amount);
    });
    return tg_cuda_launched("invert naive");
}

int invert_cuda_wide(const struct tg_job *job)
{
    const tg_invert *p = (const tg_invert *)job->params;
    cudaStream_t stream = tg_native(job);
    const bool wide = tg_aligned(&job->src, 16) && tg_aligned(&job->dst, 16);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES * 16 / (int)tg_depth_bytes(job->src.depth), ROWS,
                            job->src.planes);
    tg_by_depth(job->src.depth, [&](auto t) {
        invert_cuda_wide<decltype(t)>
            <<<g.blocks, dim3(LANES, ROWS), 0, stream>>>(job->src, job->dst, g.across, p->amount, wide);
    });
    return tg_cuda_launched("invert wide");
}
