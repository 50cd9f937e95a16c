/* What the fast host variants share: code picked for the CPU at run time, threads, rows as float.
 *
 * Two ways to code for several CPUs from one source:
 *   - a loop that the compiler vectorises by itself: write it as TG_FN and let TG_DISPATCH make the copies;
 *   - explicit vectors: put them in a file that includes itself through simd_each.h, once a kind of CPU.
 * OpenMP stays outside of both: the functions that it makes of parallel regions do not inherit the kind of CPU.
 */
#ifndef TG_SIMD_H
#define TG_SIMD_H

#include "image.h"
#include "pixel.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum tg_cpu { TG_CPU_BASELINE, TG_CPU_AVX2, TG_CPU_AVX512 };

/* The widest kind that this CPU and system have; TILEGLASS_SIMD=baseline|avx2|avx512 in the environment lowers it. */
enum tg_cpu tg_cpu(void);

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define TG_X86           1
#define TG_TARGET_AVX2   "avx2,fma"
#define TG_TARGET_AVX512 "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"
/* The copy of f, made by simd_each.h or TG_DISPATCH, for this CPU. */
#define TG_PICK(f) (tg_cpu() == TG_CPU_AVX512 ? f##_avx512 : tg_cpu() == TG_CPU_AVX2 ? f##_avx2 : f##_baseline)
/* Makes `static void name params` of the TG_FN name_body, which takes the same: TG_DISPATCH(name, (int a, int b), (a, b)). */
#define TG_DISPATCH(name, params, args)                                        \
    __attribute__((target(TG_TARGET_AVX512))) static void name##_avx512 params \
    {                                                                          \
        name##_body args;                                                      \
    }                                                                          \
    __attribute__((target(TG_TARGET_AVX2))) static void name##_avx2 params     \
    {                                                                          \
        name##_body args;                                                      \
    }                                                                          \
    static void name##_baseline params                                         \
    {                                                                          \
        name##_body args;                                                      \
    }                                                                          \
    static inline void name params                                             \
    {                                                                          \
        TG_PICK(name) args;                                                    \
    }
#else
#define TG_PICK(f) f##_baseline
#define TG_DISPATCH(name, params, args) \
    static void name params             \
    {                                   \
        name##_body args;               \
    }
#endif

/* Threads that a parallel region may have, and the number of the one that asks. */
static inline int tg_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}
static inline int tg_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static inline int tg_min(int a, int b)
{
    return a < b ? a : b;
}
static inline size_t tg_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- rows ---- */

/* n samples of one plane as float times scale, from (x, y), which lies inside with all of them. */
TG_FN void tg_row_inside(float *restrict to, const struct tg_image *im, int plane, int x, int y, int n, float scale)
{
    const void *row = tg_image_row(im, plane, y);
    if (im->depth == TG_U8) {
        const uint8_t *from = (const uint8_t *)row + x;
        for (int i = 0; i < n; i++)
            to[i] = (float)from[i] * scale;
    } else if (im->depth == TG_U16) {
        const uint16_t *from = (const uint16_t *)row + x;
        for (int i = 0; i < n; i++)
            to[i] = (float)from[i] * scale;
    } else {
        const float *from = (const float *)row + x;
        for (int i = 0; i < n; i++)
            to[i] = from[i] * scale;
    }
}

/* The same from anywhere, folded at the border; 0 where that says outside. */
TG_FN void tg_row_load(float *restrict to, const struct tg_image *im, int plane, int x, int y, int n,
                       enum tg_border border, float scale)
{
    y = tg_fold(y, im->h, border);
    if (y < 0) {
        memset(to, 0, (size_t)n * sizeof *to);
        return;
    }
    int left = x < 0 ? tg_min(-x, n) : 0, right = tg_min(n, im->w - x);
    if (right > left)
        tg_row_inside(to + left, im, plane, x + left, y, right - left, scale);
    for (int i = 0; i < n; i++) {
        if (i == left && right > left)
            i = right;
        if (i >= n)
            break;
        int at = tg_fold(x + i, im->w, border);
        if (at < 0)
            to[i] = 0.F;
        else
            tg_row_inside(to + i, im, plane, at, y, 1, scale);
    }
}

/* n samples to (x, y) of one plane; integers rounded once and clamped. */
TG_FN void tg_row_store(const float *restrict from, const struct tg_image *im, int plane, int x, int y, int n)
{
    void *row = tg_image_row(im, plane, y);
    if (im->depth == TG_U8) {
        uint8_t *to = (uint8_t *)row + x;
        for (int i = 0; i < n; i++) {
            float v = from[i] + 0.5F; /* from 0 up, what the conversion cuts off is what floor would */
            v = v >= 0.F ? v : 0.F;
            to[i] = (uint8_t)(int)(v < 255.F ? v : 255.F);
        }
    } else if (im->depth == TG_U16) {
        uint16_t *to = (uint16_t *)row + x;
        for (int i = 0; i < n; i++) {
            float v = from[i] + 0.5F;
            v = v >= 0.F ? v : 0.F;
            to[i] = (uint16_t)(int)(v < 65535.F ? v : 65535.F);
        }
    } else {
        memcpy((float *)row + x, from, (size_t)n * sizeof *from);
    }
}

/* What the weights of some taps are. */
enum tg_taps {
    TG_TAPS_ONE,   /* all opaque */
    TG_TAPS_ALPHA, /* alpha, the same for all planes */
    TG_TAPS_LOST,  /* some are 0 for a value of this plane that is not finite */
};

/* Taps of a neighbourhood: as tg_row_load, with what each weighs in weights: its alpha, `opaque` where that is full, and 0,
 * with value 0, for what is not finite. Where the picture can have no weights but 1, weights is left alone. */
TG_FN enum tg_taps tg_row_taps(float *restrict v, float *restrict weights, const struct tg_image *im, int plane, int x,
                               int y, int n, enum tg_border border, float scale, float opaque)
{
    tg_row_load(v, im, plane, x, y, n, border, scale);
    if (!im->has_alpha && im->depth != TG_F32)
        return TG_TAPS_ONE;
    const float unit = im->has_alpha ? tg_depth_full(im->depth) / opaque : 1.F / opaque;
    if (im->has_alpha)
        tg_row_load(weights, im, im->planes - 1, x, y, n, border, 1.F);
    else
        for (int i = 0; i < n; i++)
            weights[i] = 1.F;
    int other = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        float a = weights[i] / unit;
        bool counts = tg_finite(v[i]);
        weights[i] = counts && tg_finite(a) ? a : 0.F;
        v[i] = counts ? v[i] : 0.F;
        other |= weights[i] != opaque;
        lost |= !counts;
    }
    return lost ? TG_TAPS_LOST : other ? TG_TAPS_ALPHA : TG_TAPS_ONE;
}

/* The most of tg_row_taps over w x h taps from (x, y) on; v and weights are scratch for w floats each. */
TG_FN enum tg_taps tg_tile_taps(float *restrict v, float *restrict weights, const struct tg_image *im, int plane, int x,
                                int y, int w, int h, enum tg_border border)
{
    enum tg_taps most = TG_TAPS_ONE;
    for (int j = 0; j < h && (im->has_alpha || im->depth == TG_F32); j++) {
        enum tg_taps taps = tg_row_taps(v, weights, im, plane, x, y + j, w, border, 1.F, 1.F);
        most = taps > most ? taps : most;
    }
    return most;
}

#endif
