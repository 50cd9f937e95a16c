#include "gaussian.h"
#include "sample.h"

#include <stdlib.h>

static const struct tg_param params[] = {
    TG_PARAM_FLOAT(struct tg_gaussian, sigma, "Sigma", 3, 0, 340, "px", "standard deviation; 0: the identity"),
    TG_PARAM_INT(struct tg_gaussian, radius, "Radius", 0, 0, TG_GAUSSIAN_RADIUS, "px", "0: about 3 sigma"),
    TG_PARAM_BORDER(struct tg_gaussian),
    TG_PARAM_END,
};

int tg_gaussian_radius(const struct tg_gaussian *p)
{
    if (p->sigma <= 0.F)
        return 0;
    int r = p->radius > 0 ? p->radius : ((int)lround(6. * (double)p->sigma + 1.) | 1) / 2;
    return r > TG_GAUSSIAN_RADIUS ? TG_GAUSSIAN_RADIUS : r;
}

void tg_gaussian_weights(const struct tg_gaussian *p, float *weights)
{
    int radius = tg_gaussian_radius(p);
    double sigma = (double)p->sigma, sum = 0;
    for (int i = -radius; i <= radius; i++)
        sum += radius ? exp(-0.5 * i * i / (sigma * sigma)) : 1;
    for (int i = 0; i <= radius; i++)
        weights[i] = (float)((radius ? exp(-0.5 * i * i / (sigma * sigma)) : 1) / sum);
}

/* Two float planes: after the row pass, sum of w a v and sum of w a. */
static size_t reference_scratch(const struct tg_job *job)
{
    return 2 * sizeof(float) * (size_t)job->src.w * (size_t)job->src.h;
}

static int reference(const struct tg_job *job)
{
    const struct tg_gaussian *p = job->params;
    const struct tg_image *src = &job->src, *dst = &job->dst;
    const int w = src->w, h = src->h, radius = tg_gaussian_radius(p);
    const float full = tg_depth_full(src->depth);
    float weights[TG_GAUSSIAN_RADIUS + 1];
    tg_gaussian_weights(p, weights);
    float *sums = job->scratch, *alphas = sums + (size_t)w * (size_t)h;
    for (int c = 0; c < src->planes; c++) {
        const bool is_alpha = src->has_alpha && c == src->planes - 1;
#pragma omp parallel for
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                double sum = 0, alpha = 0;
                for (int i = -radius; i <= radius; i++) {
                    float a, v = tg_tap(src, c, x + i, y, p->border, &a);
                    sum += (double)(weights[abs(i)] * a) * (double)v;
                    alpha += (double)(weights[abs(i)] * a);
                }
                sums[(size_t)y * (size_t)w + (size_t)x] = (float)sum;
                alphas[(size_t)y * (size_t)w + (size_t)x] = (float)alpha;
            }
#pragma omp parallel for
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                double sum = 0, alpha = 0;
                for (int i = -radius; i <= radius; i++) {
                    int from = tg_fold(y + i, h, p->border);
                    double k = (double)weights[abs(i)];
                    size_t at = (size_t)from * (size_t)w + (size_t)x;
                    sum += from < 0 ? 0 : k * (double)sums[at];
                    alpha += from < 0 ? (src->has_alpha ? 0 : k) : k * (double)alphas[at];
                }
                float own = tg_get(src, c, x, y);
                if (is_alpha)
                    tg_put(dst, c, x, y, (float)alpha * full);
                else if (radius == 0)
                    tg_put(dst, c, x, y, own);
                else
                    tg_put(dst, c, x, y, alpha < (double)TG_VANISH ? tg_kept(own) : (float)(sum / alpha));
            }
    }
    return 0;
}

/* clang-format off */
static const struct tg_variant variants[] = {
    {"reference", "the formula, rows then columns, a loop a tap", TG_HOST, reference, NULL, reference_scratch},
    {"simd", "both passes of a tile in the cache, vectors of pixels", TG_HOST, gaussian_simd, NULL,
     gaussian_simd_scratch},
    TG_CUDA_ROW("naive", "two passes through a float plane, a thread a pixel", TG_CUDA, gaussian_cuda_naive, NULL,
                gaussian_cuda_naive_scratch)
    TG_CUDA_ROW("tiled", "tile and halo in shared memory", TG_CUDA, gaussian_cuda_tiled, gaussian_cuda_tiled_fits,
                gaussian_cuda_tiled_scratch)
    {.name = NULL},
};
/* clang-format on */

const struct tg_filter gaussian_filter = {
    .name = "gaussian",
    .label = "Gaussian blur",
    .about = "blurs by a normal distribution",
    .params_size = sizeof(struct tg_gaussian),
    .params = params,
    .variants = variants,
};
