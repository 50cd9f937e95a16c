/* Gaussian blur: sampled, normalised weights, rows then columns.
 *
 * w(i) = exp(-i^2 / (2 sigma^2)) / sum, |i| <= radius; radius 0 is OpenCV's rule for 8-bit pictures at every depth: window
 * round(6 sigma + 1) made odd, about 3 sigma each side. The row pass keeps float. Sigma 0 is the identity.
 * Colour is weighed by alpha, sum w a v / sum w a; alpha is blurred by the same weights. A tap that is not finite weighs
 * nothing: it has a = 0, plane by plane; an alpha that is not finite is 0. Outside under border=constant: black, and a = 0
 * where there is alpha. Where the weights vanish (sum w a under TG_VANISH) the pixel is kept, as NaN if it is not finite.
 */
#ifndef TG_GAUSSIAN_H
#define TG_GAUSSIAN_H

#include "filter.h"
#include "pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TG_GAUSSIAN_RADIUS 1023

struct tg_gaussian {
    float sigma; /* px */
    int radius;  /* px; 0: from sigma */
    int border;
};

/* The radius in force, 0..TG_GAUSSIAN_RADIUS. */
int tg_gaussian_radius(const struct tg_gaussian *p);
/* weights[0..radius], for |i|: computed in double, so that w(0) + 2 sum w(i) is 1 within 1e-6. */
void tg_gaussian_weights(const struct tg_gaussian *p, float *weights);

extern const struct tg_filter gaussian_filter;

int gaussian_simd(const struct tg_job *job);
size_t gaussian_simd_scratch(const struct tg_job *job);
int gaussian_cuda_naive(const struct tg_job *job);
size_t gaussian_cuda_naive_scratch(const struct tg_job *job);
int gaussian_cuda_tiled(const struct tg_job *job);
size_t gaussian_cuda_tiled_scratch(const struct tg_job *job);
bool gaussian_cuda_tiled_fits(const struct tg_job *job);

#ifdef __cplusplus
}
#endif
#endif
