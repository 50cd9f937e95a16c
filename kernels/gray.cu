/* gray: Rec.709 luma of three planes, alpha kept; a picture that is gray already is copied.
 *
 * 4 bytes and 5 operations a pixel at 8 bits: the memory is the limit.
 * naive  a thread a pixel.
 * wide   a thread 16 bytes of each plane; what does not start on 16 bytes, and the end of a row, sample by sample.
 * Limits: none.
 */
#include "../filters/gray.h"
#include "tile.cuh"

enum { LANES = 32, ROWS = 8 };

template <typename T>
static __global__ void gray_cuda_naive(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                       int across, bool colored)
{
    const int x = blockIdx.x % across * LANES + threadIdx.x, y = blockIdx.x / across * ROWS + threadIdx.y;
    if (x >= src.w || y >= src.h)
        return;
    T v = tg_row<T>(src, 0, y)[x];
    if (colored)
        tg_store(&tg_row<T>(dst, 0, y)[x], tg_luma(v, tg_row<T>(src, 1, y)[x], tg_row<T>(src, 2, y)[x]));
    else
        tg_row<T>(dst, 0, y)[x] = v;
    if (src.has_alpha)
        tg_row<T>(dst, 1, y)[x] = tg_row<T>(src, src.planes - 1, y)[x];
}

template <typename T>
static __global__ void gray_cuda_wide(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                      int across, bool colored, bool wide)
{
    enum { N = tg_chunk<T>::N };
    typedef tg_chunk<T> chunk;
    const int x = (blockIdx.x % across * LANES + threadIdx.x) * N, y = blockIdx.x / across * ROWS + threadIdx.y;
    if (x >= src.w || y >= src.h)
        return;
    const int last = src.planes - 1, g = colored ? 1 : 0, b = colored ? 2 : 0;
    const T *from[3] = {tg_row<T>(src, 0, y) + x, tg_row<T>(src, g, y) + x, tg_row<T>(src, b, y) + x};
    T *to = tg_row<T>(dst, 0, y) + x;
    if (wide && x <= src.w - N) {
        chunk in[3] = {*(const chunk *)from[0], *(const chunk *)from[1], *(const chunk *)from[2]};
        if (src.has_alpha)
            *(chunk *)(tg_row<T>(dst, 1, y) + x) = *(const chunk *)(tg_row<T>(src, last, y) + x);
        if (colored) {
#pragma unroll
            for (int i = 0; i < N; i++)
                tg_store(&in[0].v[i], tg_luma(in[0].v[i], in[1].v[i], in[2].v[i]));
        }
        *(chunk *)to = in[0];
        return;
    }
    for (int i = 0; i < N && x + i < src.w; i++) {
        if (colored)
            tg_store(&to[i], tg_luma(from[0][i], from[1][i], from[2][i]));
        else
            to[i] = from[0][i];
        if (src.has_alpha)
            tg_row<T>(dst, 1, y)[x + i] = tg_row<T>(src, last, y)[x + i];
    }
}

int gray_cuda_naive(const struct tg_job *job)
{
    const bool colored = tg_image_colors(&job->src) == 3;
    cudaStream_t stream = tg_native(job);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES, ROWS, 1);
    tg_by_depth(job->src.depth, [&](auto t) {
        gray_cuda_naive<decltype(t)><<<g.blocks, dim3(LANES, ROWS), 0, stream>>>(job->src, job->dst, g.across, colored);
    });
    return tg_cuda_launched("gray naive");
}

int gray_cuda_wide(const struct tg_job *job)
{
    const bool colored = tg_image_colors(&job->src) == 3;
    const bool wide = tg_aligned(&job->src, 16) && tg_aligned(&job->dst, 16);
    cudaStream_t stream = tg_native(job);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES * 16 / (int)tg_depth_bytes(job->src.depth), ROWS, 1);
    tg_by_depth(job->src.depth, [&](auto t) {
        gray_cuda_wide<decltype(t)>
            <<<g.blocks, dim3(LANES, ROWS), 0, stream>>>(job->src, job->dst, g.across, colored, wide);
    });
    return tg_cuda_launched("gray wide");
}
