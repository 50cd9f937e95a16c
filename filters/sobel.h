/* Gradient magnitude by 3x3 operators.
 *
 * gx correlates with [-1 0 1] across and the smoothing taps down, gy the other way: sobel 1 2 1, scharr 3 10 3, prewitt 1 1 1.
 * l2: sqrt(gx^2 + gy^2), l1: |gx| + |gy|; times scale. Each colour plane by itself; alpha is kept.
 * A tap counts as v0 + a (v - v0), v0 the pixel's own and a the tap's alpha, so what is transparent makes no edge; a tap that is
 * not finite has a = 0; a pixel that is not finite gives NaN.
 * With scale 1 and sobel, l2 this is the magnitude of OpenCV's Sobel(dx=1) and Sobel(dy=1), rounded and saturated.
 */
#ifndef TG_SOBEL_H
#define TG_SOBEL_H

#include "filter.h"
#include "pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_SOBEL_SOBEL, TG_SOBEL_SCHARR, TG_SOBEL_PREWITT };
enum { TG_SOBEL_L2, TG_SOBEL_L1 };

struct tg_sobel {
    int op, norm;
    float scale;
    int border;
};

/* Smoothing taps: side, middle, side. */
TG_FN void tg_sobel_taps(int op, float *side, float *middle)
{
    *side = op == TG_SOBEL_SCHARR ? 3.F : 1.F;
    *middle = op == TG_SOBEL_SCHARR ? 10.F : op == TG_SOBEL_PREWITT ? 1.F : 2.F;
}

extern const struct tg_filter sobel_filter;

int sobel_cuda_naive(const struct tg_job *job);
int sobel_cuda_tiled(const struct tg_job *job);

#ifdef __cplusplus
}
#endif
#endif
