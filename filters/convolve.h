/* Correlation (or, flipped, convolution) with any kernel.
 *
 * out(x,y) = sum over i,j of k(i,j) v(x + i - ax, y + j - ay) / divisor + bias, the anchor (ax,ay) = (w/2, h/2) rounded down:
 * correlation, as OpenCV's filter2D. flip turns the kernel by 180 degrees, the anchor with it (w-1-ax, h-1-ay): true convolution.
 * A 2-tap mean of an impulse at x = 5 lands on 5 and 6; flipped on 4 and 5.
 * divisor 0: the sum of the kernel, or 1 where that is within 1e-6 * max(1, sum |k|) of 0. bias is a fraction of full scale.
 * negative, for integer depths: clamp to 0, abs (before the upper clamp), or offset by half of full scale (added, also to float).
 * Alpha. A kernel without negative weights is an average: colour is weighed by alpha, sum k a v / sum k a * sum k / divisor,
 * and alpha is filtered by the same kernel (without bias). A kernel with negative weights takes differences: a tap's colour
 * counts as v0 + a (v - v0), v0 the pixel's own, and alpha is kept.
 * A tap that is not finite weighs nothing: it counts as a tap with a = 0, plane by plane; an alpha that is not finite is 0.
 * Outside under border=constant: black, and a = 0 where there is alpha.
 * An average whose weights vanish (sum k a under TG_VANISH) keeps the pixel. A pixel that is not finite gives NaN where it is
 * kept, and where differences are taken.
 */
#ifndef TG_CONVOLVE_H
#define TG_CONVOLVE_H

#include "filter.h"
#include "kernel.h"
#include "pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_NEGATIVE_CLAMP, TG_NEGATIVE_ABS, TG_NEGATIVE_OFFSET };

struct tg_convolve {
    const struct tg_kernel *kernel;
    float divisor; /* 0: automatic */
    float bias;    /* of full scale */
    int negative;
    bool flip;
    int border;
};

/* What follows from the parameters, computed alike on both sides. */
struct tg_convolve_plan {
    int w, h, ax, ay;
    float scale;  /* 1 / divisor */
    float sum;    /* of the kernel's weights */
    bool average; /* no negative weight */
};
void tg_convolve_plan(const struct tg_convolve *p, struct tg_convolve_plan *plan);
/* Weight of tap (i,j), 0 <= i < w, 0 <= j < h, flipping applied. */
TG_FN float tg_convolve_weight(const struct tg_convolve *p, int i, int j)
{
    const struct tg_kernel *k = p->kernel;
    return p->flip ? k->weights[(k->h - 1 - j) * k->w + k->w - 1 - i] : k->weights[j * k->w + i];
}
/* From the plain sum to the sample before rounding: scaled, biased, signs treated; full is tg_depth_full. */
TG_FN float tg_convolve_finish(float v, float bias, int negative, float full)
{
    v += bias * full;
    if (negative == TG_NEGATIVE_ABS)
        return fabsf(v);
    if (negative == TG_NEGATIVE_OFFSET)
        return v + 0.5F * full;
    return v;
}

extern const struct tg_filter convolve_filter;

int convolve_simd(const struct tg_job *job);
size_t convolve_simd_scratch(const struct tg_job *job);
int convolve_cuda_naive(const struct tg_job *job);
int convolve_cuda_tiled(const struct tg_job *job);
bool convolve_cuda_tiled_fits(const struct tg_job *job);
size_t convolve_cuda_scratch(const struct tg_job *job); /* the weights, copied there by the launch */

#ifdef __cplusplus
}
#endif
#endif
