#include "invert.h"
#include "sample.h"

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

static const struct tg_variant variants[] = {
    {"reference", "the formula", TG_HOST, reference, NULL, NULL},
    TG_CUDA_ROW("naive", "a thread a sample", TG_CUDA, invert_cuda_naive, NULL, NULL)
    TG_CUDA_ROW("wide", "16-byte loads and stores", TG_CUDA, invert_cuda_wide, NULL, NULL)
    {.name = NULL},
};

const struct tg_filter invert_filter = {
    .name = "invert",
    .label = "Invert",
    .about = "the negative",
    .params_size = sizeof(struct tg_invert),
    .params = params,
    .variants = variants,
};
