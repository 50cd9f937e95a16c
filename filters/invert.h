/* Negative: full scale less the value; alpha is kept. The filter to copy when adding one. */
#ifndef TG_INVERT_H
#define TG_INVERT_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_invert {
    float amount; /* 0: the picture, 1: its negative, between: a mix */
};

extern const struct tg_filter invert_filter;

int invert_cuda_naive(const struct tg_job *job);
int invert_cuda_wide(const struct tg_job *job);

#ifdef __cplusplus
}
#endif
#endif
