#include "gray.h"
#include "sample.h"

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

static const struct tg_variant variants[] = {
    {"reference", "the formula", TG_HOST, reference, NULL, NULL},
    TG_CUDA_ROW("naive", "a thread a pixel", TG_CUDA, gray_cuda_naive, NULL, NULL)
    TG_CUDA_ROW("wide", "16-byte loads and stores", TG_CUDA, gray_cuda_wide, NULL, NULL)
    {.name = NULL},
};

const struct tg_filter gray_filter = {
    .name = "gray",
    .label = "Gray",
    .about = "one plane of Rec.709 luma",
    .params_size = sizeof(struct tg_gray),
    .params = params,
    .variants = variants,
    .shape = shape,
};
