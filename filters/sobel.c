#include "sobel.h"
#include "sample.h"

static const char *const operators[] = {"sobel", "scharr", "prewitt", NULL};
static const char *const norms[] = {"l2", "l1", NULL};

static const struct tg_param params[] = {
    TG_PARAM_CHOICE(struct tg_sobel, op, "Operator", TG_SOBEL_SOBEL, operators, "smoothing across the edge: 1 2 1, 3 10 3 or 1 1 1"),
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

static const struct tg_variant variants[] = {
    {"reference", "the formula, a loop a tap", TG_HOST, reference, NULL, NULL},
    TG_CUDA_ROW("naive", "a thread a pixel, nine loads", TG_CUDA, sobel_cuda_naive, NULL, NULL)
    TG_CUDA_ROW("tiled", "tile and halo in shared memory", TG_CUDA, sobel_cuda_tiled, NULL, NULL)
    {.name = NULL},
};

const struct tg_filter sobel_filter = {
    .name = "sobel",
    .label = "Sobel edges",
    .about = "strength of edges: the gradient's magnitude",
    .params_size = sizeof(struct tg_sobel),
    .params = params,
    .variants = variants,
};
