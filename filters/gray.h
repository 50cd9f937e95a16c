/* Colour to one plane of Rec.709 luma (pixel.h); alpha is kept, gray stays as it is. No parameters. */
#ifndef TG_GRAY_H
#define TG_GRAY_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_gray {
    char none;
};

extern const struct tg_filter gray_filter;

int gray_cuda_naive(const struct tg_job *job);
int gray_cuda_wide(const struct tg_job *job);

#ifdef __cplusplus
}
#endif
#endif
