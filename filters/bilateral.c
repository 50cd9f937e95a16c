#include "bilateral.h"
#include "sample.h"

static const char *const windows[] = {"disc", "square", NULL};
static const char *const distances[] = {"l1", "l2", "luma", "separate", NULL};

static const struct tg_param params[] = {
    TG_PARAM_FLOAT(struct tg_bilateral, sigma_space, "Space", 3, 0, 170, "px",
                   "how far a pixel may lie to count; 0: the identity"),
    TG_PARAM_FLOAT(struct tg_bilateral, sigma_range, "Range", 0.1, 0, 1, "of full scale",
                   "how unlike a pixel may be to count; 0: the identity"),
    TG_PARAM_INT(struct tg_bilateral, radius, "Radius", 0, 0, TG_BILATERAL_RADIUS, "px",
                 "0: 1.5 sigma_space, rounded (ties to even), at least 1"),
    TG_PARAM_CHOICE(struct tg_bilateral, window, "Window", TG_BILATERAL_DISC, windows,
                    "which taps count: all, or those within radius"),
    TG_PARAM_CHOICE(struct tg_bilateral, distance, "Distance", TG_BILATERAL_L1, distances,
                    "between colours: sum, Euclid, Rec.709 luma, or each plane by itself"),
    TG_PARAM_BORDER(struct tg_bilateral),
    TG_PARAM_END,
};

static float distance_of(int kind, const float *v, const float *v0, int n)
{
    float d = 0.F;
    if (kind == TG_BILATERAL_LUMA && n >= 3)
        return fabsf(tg_luma(v[0], v[1], v[2]) - tg_luma(v0[0], v0[1], v0[2]));
    if (kind == TG_BILATERAL_L2) {
        for (int c = 0; c < n; c++)
            d += (v[c] - v0[c]) * (v[c] - v0[c]);
        return sqrtf(d);
    }
    for (int c = 0; c < n; c++)
        d += fabsf(v[c] - v0[c]);
    return d;
}

/* Planes first..first+n-1 of one pixel, weighed together. */
static void pixel(const struct tg_job *job, int first, int n, int x, int y)
{
    const struct tg_bilateral *p = job->params;
    const struct tg_image *src = &job->src;
    int radius = tg_bilateral_radius(p);
    float range = p->sigma_range * tg_depth_full(src->depth);
    float v0[4], v[4] = {0}, a = 1.F;
    double sum[4] = {0}, weights = 0;
    bool whole = true; /* the pixel itself is finite */
    for (int c = 0; c < n; c++) {
        v0[c] = tg_get(src, first + c, x, y);
        whole &= tg_finite(v0[c]);
    }
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int r2 = dx * dx + dy * dy;
            if (p->window == TG_BILATERAL_DISC && r2 > radius * radius)
                continue;
            float alpha = 1.F;
            for (int c = 0; c < n; c++) {
                v[c] = tg_tap(src, first + c, x + dx, y + dy, p->border, &a);
                alpha = fminf(alpha, a);
            }
            float w = alpha * expf((float)(-r2 / (2 * (double)p->sigma_space * (double)p->sigma_space)));
            if (whole) {
                float d = distance_of(p->distance, v, v0, n) / range;
                w *= expf(-0.5F * d * d);
            }
            for (int c = 0; c < n; c++)
                sum[c] += (double)w * (double)v[c];
            weights += (double)w;
        }
    for (int c = 0; c < n; c++)
        tg_put(&job->dst, first + c, x, y, weights < (double)TG_VANISH ? tg_kept(v0[c]) : (float)(sum[c] / weights));
}

static int reference(const struct tg_job *job)
{
    const struct tg_bilateral *p = job->params;
    const struct tg_image *src = &job->src;
    int colors = tg_image_colors(src);
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < src->h; y++) {
        if (src->has_alpha)
            tg_copy_plane(src, &job->dst, src->planes - 1, y);
        for (int x = 0; x < src->w; x++) {
            if (p->sigma_space <= 0.F || p->sigma_range <= 0.F)
                for (int c = 0; c < colors; c++)
                    tg_put(&job->dst, c, x, y, tg_get(src, c, x, y));
            else if (p->distance == TG_BILATERAL_SEPARATE)
                for (int c = 0; c < colors; c++)
                    pixel(job, c, 1, x, y);
            else
                pixel(job, 0, colors, x, y);
        }
    }
    return 0;
}

/* clang-format off */
static const struct tg_variant variants[] = {
    {"reference", "the formula, a loop a tap", TG_HOST, reference, NULL, NULL},
    {"simd", "vectors of pixels, no division and no call in the loop", TG_HOST, bilateral_simd, NULL,
     bilateral_simd_scratch},
    TG_CUDA_ROW("naive", "a thread a pixel: bounds test and branches on every tap", TG_CUDA, bilateral_cuda_naive,
                NULL, NULL)
    TG_CUDA_ROW("tiled", "tile and halo in shared memory", TG_CUDA, bilateral_cuda_tiled, bilateral_cuda_tiled_fits,
                NULL)
    TG_CUDA_ROW("paired", "each weight used from both ends: a warp marches down a strip", TG_CUDA,
                bilateral_cuda_paired, bilateral_cuda_paired_fits, NULL)
    {.name = NULL},
};
/* clang-format on */

const struct tg_filter bilateral_filter = {
    .name = "bilateral",
    .label = "Bilateral",
    .about = "smooths, keeps edges: an average of near pixels that are also alike",
    .params_size = sizeof(struct tg_bilateral),
    .params = params,
    .variants = variants,
};
