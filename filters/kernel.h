/* Convolution kernels: small matrices of weights.
 *
 * A kernel is found by text: the name of a built-in one, numbers ("1 2 1; 2 4 2; 1 2 1": blanks or commas between numbers,
 * semicolons or line ends between rows), or the path of a file that holds such rows, '#' starting a comment.
 * Equal texts give the same pointer, which stays valid until the program ends, so that a struct of parameters that
 * holds one is a plain value.
 */
#ifndef TG_KERNEL_H
#define TG_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

#define TG_KERNEL_SIDE 255 /* the largest width and height */

struct tg_kernel {
    const char *text;     /* what it was asked for with */
    int w, h;             /* 1..TG_KERNEL_SIDE */
    const float *weights; /* w * h, row by row */
};

/* NULL after tg_fail: an unknown name (with the nearest), a file that cannot be read, rows of unequal length, a word that
 * is no number, too large. May be called from any thread. */
const struct tg_kernel *tg_kernel_get(const char *text);

/* Names of the built-in kernels; ends with NULL. */
extern const char *const tg_kernel_names[];

#ifdef __cplusplus
}
#endif
#endif
