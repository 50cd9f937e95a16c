/* The bilateral filter: an average of near pixels that are also alike.
 *
 * C. Tomasi, R. Manduchi, "Bilateral filtering for gray and color images", ICCV 1998. For pixel p and each tap q of the window:
 *     w(p,q) = exp(-|p-q|^2 / (2 sigma_space^2)) * exp(-d(p,q)^2 / (2 sigma_range^2)),   out(p) = sum w v(q) / sum w
 * Window: disc |p-q| <= radius, or the square of side 2 radius + 1. d over the colour planes c:
 *     l1 sum |dc|    l2 sqrt(sum dc^2)    luma |dY|, Y = Rec.709    separate: each plane by itself, |dc|
 * With fewer than three colour planes luma is l1. Defaults (disc, l1, radius = round(1.5 sigma_space), ties to even, at least 1) give the
 * pixels of OpenCV's bilateralFilter(src, -1, sigma_range * 255, sigma_space).
 * Either sigma 0 is the limit: the identity. Alpha multiplies each tap's weight and is itself kept. A tap with a colour that is
 * not finite weighs nothing; where the pixel itself is not finite only the spatial weight counts. Outside under border=constant:
 * black, and alpha 0 where there is alpha. Where the sum of weights is under TG_VANISH (a transparent pixel among unlike ones,
 * every tap lost) the pixel is kept, as NaN if it is not finite.
 */
#ifndef TG_BILATERAL_H
#define TG_BILATERAL_H

#include "filter.h"
#include "pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_BILATERAL_DISC, TG_BILATERAL_SQUARE };
enum { TG_BILATERAL_L1, TG_BILATERAL_L2, TG_BILATERAL_LUMA, TG_BILATERAL_SEPARATE };

#define TG_BILATERAL_RADIUS 255

struct tg_bilateral {
    float sigma_space; /* px */
    float sigma_range; /* of full scale */
    int radius;        /* px; 0: from sigma_space */
    int window, distance, border;
};

/* The radius in force, 1..TG_BILATERAL_RADIUS. */
TG_FN int tg_bilateral_radius(const struct tg_bilateral *p)
{
    int r = p->radius > 0 ? p->radius : (int)rintf(1.5F * p->sigma_space);
    return r < 1 ? 1 : r > TG_BILATERAL_RADIUS ? TG_BILATERAL_RADIUS : r;
}

extern const struct tg_filter bilateral_filter;

int bilateral_simd(const struct tg_job *job);
size_t bilateral_simd_scratch(const struct tg_job *job);
int bilateral_cuda_naive(const struct tg_job *job);
int bilateral_cuda_tiled(const struct tg_job *job);
int bilateral_cuda_paired(const struct tg_job *job);
bool bilateral_cuda_paired_fits(const struct tg_job *job);
bool bilateral_cuda_tiled_fits(const struct tg_job *job);

#ifdef __cplusplus
}
#endif
#endif
