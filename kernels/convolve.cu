/* convolve: correlation with any kernel of w x h weights.
 *
 * At 3 x 3, 2 bytes and 27 operations a sample: the memory is the limit; from some 9 x 9 on, loading the taps is.
 * naive  a thread a pixel. Every tap is folded, tested and loaded from global memory, its weight as well.
 * tiled  a block 32 x 16 pixels of one plane; weights, tile and halo in shared memory. Integer pictures without alpha
 *        skip the weighing of taps.
 * Limits of tiled: (31 + w)(15 + h) floats, twice that where taps are weighed, and w h weights must fit in a block's
 * shared memory. A thread computes one pixel, so every tap costs two loads from shared memory: several pixels a thread
 * would share them.
 * Sums are of differences from the pixel itself, as in bilateral.cu, by rows.
 */
#include "../filters/convolve.h"
#include "tile.cuh"

enum { LANES = 32, NAIVE_ROWS = 8, ROWS = 16 };

struct convolve_args {
    struct tg_convolve_plan plan;
    float bias; /* in sample values */
    int negative;
    tg_border border;
    const float *weights; /* flipped already; device memory */
};

/* Writes a sample. sum: of k a (v - own), weights: of k a; own is 0 where the pixel is not finite. */
template <typename T>
TG_DEVICE void finish(const tg_image &src, const tg_image &dst, int plane, int x, int y, const convolve_args &args,
                      float own, float sum, float weights)
{
    const struct tg_convolve_plan &plan = args.plan;
    const T sample = tg_row<T>(src, plane, y)[x];
    T *out = &tg_row<T>(dst, plane, y)[x];
    if (src.has_alpha && plane == src.planes - 1) {
        if (plan.average)
            tg_store(out, weights * plan.scale * tg_full<T>);
        else
            *out = sample;
        return;
    }
    if (plan.average ? weights < TG_VANISH * plan.sum : !tg_sound<T>(sample)) {
        tg_store(out, tg_kept<T>(sample));
        return;
    }
    /* In an order, and unfused, that leaves sums of whole numbers exact: a half must round as it does on the host. */
    float v = own * plan.sum + sum * (plan.average ? plan.sum / weights : 1.F);
    tg_store(out, tg_convolve_finish(__fmul_rn(v, plan.scale) + args.bias, 0.F, args.negative, tg_full<T>));
}

template <typename T> TG_DEVICE float own_value(const tg_image &src, int plane, int x, int y)
{
    float v = tg_row<T>(src, plane, y)[x];
    return tg_sound<T>(v) ? v : 0.F;
}

template <typename T>
static __global__ void convolve_cuda_naive(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                           int across, const __grid_constant__ convolve_args args)
{
    const int x = blockIdx.x % across * LANES + threadIdx.x, y = blockIdx.x / across * NAIVE_ROWS + threadIdx.y;
    const int plane = blockIdx.y, w = args.plan.w, h = args.plan.h;
    if (x >= src.w || y >= src.h)
        return;
    const float own = own_value<T>(src, plane, x, y);
    float sum = 0.F, weights = 0.F;
    for (int j = 0; j < h; j++) {
        float row_sum = 0.F, row_weights = 0.F;
        for (int i = 0; i < w; i++) {
            float a, v = tg_tap<T>(src, plane, x + i - args.plan.ax, y + j - args.plan.ay, args.border, &a);
            float k = args.weights[j * w + i];
            row_sum += k * a * (v - own);
            row_weights += k * a;
        }
        sum += row_sum;
        weights += row_weights;
    }
    finish<T>(src, dst, plane, x, y, args, own, sum, weights);
}

template <typename T, bool WEIGHED>
static __global__ void convolve_cuda_tiled(const __grid_constant__ tg_image src, const __grid_constant__ tg_image dst,
                                           int across, const __grid_constant__ convolve_args args, const tg_tile tile,
                                           bool wide)
{
    extern __shared__ float layer[]; /* values, where WEIGHED what they weigh, and the kernel */
    const int x0 = blockIdx.x % across * LANES, y0 = blockIdx.x / across * ROWS, plane = blockIdx.y;
    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y, w = args.plan.w, h = args.plan.h;
    const int size = tile.pitch * tile.rows;
    float *kernel = layer + (WEIGHED ? 2 : 1) * size;
    for (int i = threadIdx.y * LANES + threadIdx.x; i < w * h; i += LANES * ROWS)
        kernel[i] = args.weights[i];
    tg_load_tile<T, WEIGHED>(tile, layer, src, plane, x0, y0, args.border, wide);
    __syncthreads();
    if (x >= src.w || y >= src.h)
        return;
    const float own = own_value<T>(src, plane, x, y);
    const float *row = layer + threadIdx.y * tile.pitch + threadIdx.x + tile.margin - args.plan.ax, *k = kernel;
    float sum = 0.F, weights = 0.F;
    for (int j = 0; j < h; j++, row += tile.pitch, k += w) {
        float row_sum = 0.F, row_weights = 0.F;
        for (int i = 0; i < w; i++) {
            float weight = WEIGHED ? k[i] * row[i + size] : k[i];
            row_sum += weight * (row[i] - own);
            if (WEIGHED)
                row_weights += weight;
        }
        sum += row_sum;
        weights += row_weights;
    }
    finish<T>(src, dst, plane, x, y, args, own, sum, WEIGHED ? weights : args.plan.sum);
}

size_t convolve_cuda_scratch(const struct tg_job *job)
{
    const tg_kernel *k = ((const tg_convolve *)job->params)->kernel;
    return (size_t)k->w * (size_t)k->h * sizeof(float);
}

/* The arguments; the weights are on their way to scratch. */
static convolve_args prepare(const struct tg_job *job, cudaStream_t stream)
{
    const tg_convolve *p = (const tg_convolve *)job->params;
    convolve_args a;
    tg_convolve_plan(p, &a.plan);
    a.bias = p->bias * tg_depth_full(job->src.depth);
    a.negative = p->negative;
    a.border = (tg_border)p->border;
    a.weights = (const float *)job->scratch;
    const int w = a.plan.w;
    tg_put_weights((float *)job->scratch, w * a.plan.h, stream,
                   [&](int i) { return tg_convolve_weight(p, i % w, i / w); });
    return a;
}

int convolve_cuda_naive(const struct tg_job *job)
{
    cudaStream_t stream = tg_native(job);
    convolve_args args = prepare(job, stream);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES, NAIVE_ROWS, job->src.planes);
    tg_by_depth(job->src.depth, [&](auto t) {
        convolve_cuda_naive<decltype(t)>
            <<<g.blocks, dim3(LANES, NAIVE_ROWS), 0, stream>>>(job->src, job->dst, g.across, args);
    });
    return tg_cuda_launched("convolve naive");
}

static tg_tile tile_of(const struct tg_convolve_plan &p)
{
    return tg_tile_for(LANES, ROWS, p.ax, p.w - 1 - p.ax, p.ay, p.h - 1 - p.ay);
}

static size_t tile_bytes(const struct tg_job *job, const tg_tile &tile)
{
    return tg_tile_bytes(tile, tg_weighed(&job->src) ? 2 : 1) + convolve_cuda_scratch(job);
}

bool convolve_cuda_tiled_fits(const struct tg_job *job)
{
    struct tg_convolve_plan plan;
    tg_convolve_plan((const tg_convolve *)job->params, &plan);
    return tile_bytes(job, tile_of(plan)) <= tg_cuda_shared_limit();
}

int convolve_cuda_tiled(const struct tg_job *job)
{
    cudaStream_t stream = tg_native(job);
    convolve_args args = prepare(job, stream);
    const tg_tile tile = tile_of(args.plan);
    const size_t bytes = tile_bytes(job, tile);
    tg_grid g = tg_grid_for(job->src.w, job->src.h, LANES, ROWS, job->src.planes);
    tg_by_depth_weighed(&job->src, [&](auto t, auto weighed) {
        auto *kernel = convolve_cuda_tiled<decltype(t), decltype(weighed)::value>;
        tg_allow_shared(kernel, bytes);
        kernel<<<g.blocks, dim3(LANES, ROWS), bytes, stream>>>(job->src, job->dst, g.across, args, tile,
                                                               tg_aligned4(&job->src));
    });
    return tg_cuda_launched("convolve tiled");
}
