#include "gray.h"
#include "sample.h"
#include "simd.h"

static const struct tg_param params[] = {TG_PARAM_END};

static void shape(const void *params_, const struct tg_image *src, struct tg_image *dst)
{
    (void)params_;
    if (tg_image_colors(src) == 3)
        dst->planes = src->has_alpha ? 2 : 1;
}

static int reference(const struct tg_job *job)
{
    const struct tg_image *src = &job->src, *dst = &job->dst;
    const bool colored = tg_image_colors(src) == 3;
#pragma omp parallel for
    for (int y = 0; y < src->h; y++)
        for (int x = 0; x < src->w; x++) {
            float v = tg_get(src, 0, x, y);
            tg_put(dst, 0, x, y, colored ? tg_luma(v, tg_get(src, 1, x, y), tg_get(src, 2, x, y)) : v);
            if (src->has_alpha)
                tg_put(dst, 1, x, y, tg_get(src, src->planes - 1, x, y));
        }
    return 0;
}

TG_FN void row_body(const struct tg_image *src, const struct tg_image *dst, int y)
{
    enum { PART = 1024 };
    float r[PART], g[PART], b[PART];
    for (int x = 0; x < src->w; x += PART) {
        int part = tg_min(src->w - x, PART);
        tg_row_inside(r, src, 0, x, y, part, 1.F);
        tg_row_inside(g, src, 1, x, y, part, 1.F);
        tg_row_inside(b, src, 2, x, y, part, 1.F);
        for (int i = 0; i < part; i++)
            r[i] = tg_luma(r[i], g[i], b[i]);
        tg_row_store(r, dst, 0, x, y, part);
    }
}
TG_DISPATCH(row, (const struct tg_image *src, const struct tg_image *dst, int y), (src, dst, y))

static int simd(const struct tg_job *job)
{
    const struct tg_image *src = &job->src, *dst = &job->dst;
    const size_t bytes = (size_t)src->w * tg_depth_bytes(src->depth);
    const bool colored = tg_image_colors(src) == 3;
#pragma omp parallel for schedule(static)
    for (int y = 0; y < src->h; y++) {
        if (colored)
            row(src, dst, y);
        else
            tg_copy_plane(src, dst, 0, y);
        if (src->has_alpha)
            memcpy(tg_image_row(dst, 1, y), tg_image_row(src, src->planes - 1, y), bytes);
    }
    return 0;
}

/* clang-format off */
static const struct tg_variant variants[] = {
    {"reference", "the formula", TG_HOST, reference, NULL, NULL},
    {"simd", "vectors of samples, as wide as the CPU has", TG_HOST, simd, NULL, NULL},
    TG_CUDA_ROW("naive", "a thread a pixel", TG_CUDA, gray_cuda_naive, NULL, NULL)
    TG_CUDA_ROW("wide", "16-byte loads and stores", TG_CUDA, gray_cuda_wide, NULL, NULL)
    {.name = NULL},
};
/* clang-format on */

const struct tg_filter gray_filter = {
    .name = "gray",
    .label = "Gray",
    .about = "one plane of Rec.709 luma",
    .params_size = sizeof(struct tg_gray),
    .params = params,
    .variants = variants,
    .shape = shape,
};
