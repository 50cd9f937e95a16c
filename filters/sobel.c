#include "sobel.h"
#include "sample.h"
#include "simd.h"

static const char *const operators[] = {"sobel", "scharr", "prewitt", NULL};
static const char *const norms[] = {"l2", "l1", NULL};

static const struct tg_param params[] = {
    TG_PARAM_CHOICE(struct tg_sobel, op, "Operator", TG_SOBEL_SOBEL, operators,
                    "smoothing across the edge: 1 2 1, 3 10 3 or 1 1 1"),
    TG_PARAM_CHOICE(struct tg_sobel, norm, "Norm", TG_SOBEL_L2, norms, "Euclid, or the sum of both magnitudes"),
    TG_PARAM_FLOAT(struct tg_sobel, scale, "Scale", 1, 0, 16, "", "multiplies the result"),
    TG_PARAM_BORDER(struct tg_sobel),
    TG_PARAM_END,
};

static int reference(const struct tg_job *job)
{
    const struct tg_sobel *p = job->params;
    const struct tg_image *src = &job->src;
    const int colors = tg_image_colors(src);
    float side, middle;
    tg_sobel_taps(p->op, &side, &middle);
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < src->h; y++) {
        if (src->has_alpha)
            tg_copy_plane(src, &job->dst, src->planes - 1, y);
        for (int c = 0; c < colors; c++)
            for (int x = 0; x < src->w; x++) {
                float own = tg_get(src, c, x, y), gx = 0.F, gy = 0.F;
                if (!tg_finite(own)) {
                    tg_put(&job->dst, c, x, y, NAN);
                    continue;
                }
                for (int j = -1; j <= 1; j++)
                    for (int i = -1; i <= 1; i++) {
                        float a, v = tg_tap(src, c, x + i, y + j, p->border, &a);
                        float d = a * (v - own);
                        gx += (float)i * (j ? side : middle) * d;
                        gy += (float)j * (i ? side : middle) * d;
                    }
                float g = p->norm == TG_SOBEL_L1 ? fabsf(gx) + fabsf(gy) : sqrtf(gx * gx + gy * gy);
                tg_put(&job->dst, c, x, y, g * p->scale);
            }
    }
    return 0;
}

enum { TILE_W = 512, TILE_H = 64 };

/* One plane of a tile: three rows at a time as float. */
TG_FN void tile_body(const struct tg_job *job, int c, int x0, int y0)
{
    const struct tg_sobel *p = job->params;
    const struct tg_image *src = &job->src;
    const int w = tg_min(TILE_W, src->w - x0), h = tg_min(TILE_H, src->h - y0);
    const bool l1 = p->norm == TG_SOBEL_L1;
    float rows[3][TILE_W + 2], weights[3][TILE_W + 2], own[TILE_W], out[TILE_W], side, middle;
    tg_sobel_taps(p->op, &side, &middle);
    const enum tg_taps taps = tg_tile_taps(rows[0], weights[0], src, c, x0 - 1, y0 - 1, w + 2, h + 2, p->border);
    for (int y = -1; y <= h; y++) {
        int at = (y + 1) % 3;
        if (taps == TG_TAPS_ONE)
            tg_row_load(rows[at], src, c, x0 - 1, y0 + y, w + 2, p->border, 1.F);
        else
            tg_row_taps(rows[at], weights[at], src, c, x0 - 1, y0 + y, w + 2, p->border, 1.F, 1.F);
        if (y < 1)
            continue;
        const float *r0 = rows[(y + 2) % 3], *r1 = rows[y % 3], *r2 = rows[at];
        if (taps == TG_TAPS_ONE) {
            for (int x = 0; x < w; x++) {
                float across = side * (r0[x + 2] - r0[x] + r2[x + 2] - r2[x]) + middle * (r1[x + 2] - r1[x]);
                float down = side * (r2[x] - r0[x] + r2[x + 2] - r0[x + 2]) + middle * (r2[x + 1] - r0[x + 1]);
                out[x] = p->scale * (l1 ? fabsf(across) + fabsf(down) : sqrtf(across * across + down * down));
            }
        } else {
            const float *a0 = weights[(y + 2) % 3], *a1 = weights[y % 3], *a2 = weights[at];
            tg_row_inside(own, src, c, x0, y0 + y - 1, w, 1.F);
            for (int x = 0; x < w; x++) {
                float v = own[x];
                float left = a0[x] * (r0[x] - v), right = a0[x + 2] * (r0[x + 2] - v);
                float low_left = a2[x] * (r2[x] - v), low_right = a2[x + 2] * (r2[x + 2] - v);
                float across = side * (right - left + low_right - low_left) +
                               middle * (a1[x + 2] * (r1[x + 2] - v) - a1[x] * (r1[x] - v));
                float down = side * (low_left - left + low_right - right) +
                             middle * (a2[x + 1] * (r2[x + 1] - v) - a0[x + 1] * (r0[x + 1] - v));
                float g = l1 ? fabsf(across) + fabsf(down) : sqrtf(across * across + down * down);
                out[x] = tg_finite(v) ? p->scale * g : NAN;
            }
        }
        tg_row_store(out, &job->dst, c, x0, y0 + y - 1, w);
    }
}
TG_DISPATCH(tile, (const struct tg_job *job, int c, int x0, int y0), (job, c, x0, y0))

static int simd(const struct tg_job *job)
{
    const struct tg_image *src = &job->src;
    const int colors = tg_image_colors(src);
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int y = 0; y < src->h; y += TILE_H)
        for (int x = 0; x < src->w; x += TILE_W) {
            for (int c = 0; c < colors; c++)
                tile(job, c, x, y);
            for (int j = y; x == 0 && src->has_alpha && j < tg_min(src->h, y + TILE_H); j++)
                tg_copy_plane(src, &job->dst, src->planes - 1, j);
        }
    return 0;
}

/* clang-format off */
static const struct tg_variant variants[] = {
    {"reference", "the formula, a loop a tap", TG_HOST, reference, NULL, NULL},
    {"simd", "vectors of pixels, tiles in the cache", TG_HOST, simd, NULL, NULL},
    TG_CUDA_ROW("naive", "a thread a pixel, nine loads", TG_CUDA, sobel_cuda_naive, NULL, NULL)
    TG_CUDA_ROW("tiled", "tile and halo in shared memory", TG_CUDA, sobel_cuda_tiled, NULL, NULL)
    {.name = NULL},
};
/* clang-format on */

const struct tg_filter sobel_filter = {
    .name = "sobel",
    .label = "Sobel edges",
    .about = "strength of edges: the gradient's magnitude",
    .params_size = sizeof(struct tg_sobel),
    .params = params,
    .variants = variants,
};
