#include "invert.h"
#include "sample.h"
#include "simd.h"

static const struct tg_param params[] = {
    TG_PARAM_FLOAT(struct tg_invert, amount, "Amount", 1, 0, 1, "", "0: the picture, 1: its negative"),
    TG_PARAM_END,
};

static int reference(const struct tg_job *job)
{
    const struct tg_invert *p = job->params;
    const struct tg_image *src = &job->src;
    const float full = tg_depth_full(src->depth);
    const int colors = tg_image_colors(src);
#pragma omp parallel for
    for (int y = 0; y < src->h; y++)
        for (int c = 0; c < src->planes; c++)
            for (int x = 0; x < src->w; x++) {
                float v = tg_get(src, c, x, y);
                tg_put(&job->dst, c, x, y, c < colors ? v + p->amount * (full - 2.F * v) : v);
            }
    return 0;
}

TG_FN void row_body(const struct tg_image *src, const struct tg_image *dst, int c, int y, float amount)
{
    const int n = src->w;
    const void *from = tg_image_row(src, c, y);
    void *to = tg_image_row(dst, c, y);
    if (amount == 1.F && src->depth == TG_U8) {
        for (int x = 0; x < n; x++)
            ((uint8_t *)to)[x] = (uint8_t) ~((const uint8_t *)from)[x];
    } else if (amount == 1.F && src->depth == TG_U16) {
        for (int x = 0; x < n; x++)
            ((uint16_t *)to)[x] = (uint16_t) ~((const uint16_t *)from)[x];
    } else {
        const float full = tg_depth_full(src->depth);
        enum { PART = 1024 };
        float v[PART];
        for (int x = 0; x < n; x += PART) {
            int part = tg_min(n - x, PART);
            tg_row_inside(v, src, c, x, y, part, 1.F);
            for (int i = 0; i < part; i++)
                v[i] += amount * (full - 2.F * v[i]);
            tg_row_store(v, dst, c, x, y, part);
        }
    }
}
TG_DISPATCH(row, (const struct tg_image *src, const struct tg_image *dst, int c, int y, float amount),
            (src, dst, c, y, amount))

static int simd(const struct tg_job *job)
{
    const struct tg_invert *p = job->params;
    const struct tg_image *src = &job->src;
    const int colors = tg_image_colors(src);
#pragma omp parallel for schedule(static)
    for (int y = 0; y < src->h; y++)
        for (int c = 0; c < src->planes; c++) {
            if (c < colors)
                row(src, &job->dst, c, y, p->amount);
            else
                tg_copy_plane(src, &job->dst, c, y);
        }
    return 0;
}

/* clang-format off */
static const struct tg_variant variants[] = {
    {"reference", "the formula", TG_HOST, reference, NULL, NULL},
    {"simd", "vectors of samples, as wide as the CPU has", TG_HOST, simd, NULL, NULL},
    TG_CUDA_ROW("naive", "a thread a sample", TG_CUDA, invert_cuda_naive, NULL, NULL)
    TG_CUDA_ROW("wide", "16-byte loads and stores", TG_CUDA, invert_cuda_wide, NULL, NULL)
    {.name = NULL},
};
/* clang-format on */

const struct tg_filter invert_filter = {
    .name = "invert",
    .label = "Invert",
    .about = "the negative",
    .params_size = sizeof(struct tg_invert),
    .params = params,
    .variants = variants,
};
