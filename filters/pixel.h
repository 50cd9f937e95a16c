/* The numbers that every filter agrees on, for both compilers.
 *
 * Samples are computed with as coded: 0..255, 0..65535 or 0..1, in float. A parameter that is a fraction of full scale is
 * multiplied by tg_depth_full. An integer result is rounded once, floor(x + 0.5), and clamped.
 */
#ifndef TG_PIXEL_H
#define TG_PIXEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TG_FN static __host__ __device__ __forceinline__
#else
#define TG_FN static inline __attribute__((always_inline, unused))
#endif

/* Rec. ITU-R BT.709-6, item 3.2: E'Y = 0.2126 E'R + 0.7152 E'G + 0.0722 E'B, on the values as coded. */
#define TG_LUMA_R 0.2126F
#define TG_LUMA_G 0.7152F
#define TG_LUMA_B 0.0722F

#define TG_VANISH 1e-20F /* a sum of weights under this counts as none: alpha is taken as 0..1 in it */

enum tg_border {
    TG_REFLECT101, /* dcb|abcd|cba: the edge sample is not repeated; OpenCV's default. Does not keep the mean */
    TG_REFLECT,    /* cba|abcd|dcb: the edge sample is repeated; keeps the mean under a symmetric kernel */
    TG_REPLICATE,  /* aaa|abcd|ddd */
    TG_WRAP,       /* bcd|abcd|abc */
    TG_CONSTANT,   /* 000|abcd|000: black, and transparent where there is alpha */
};

/* Where a sample at index i, which may lie outside 0..n-1, is read from: an index inside, or -1 for "outside" under
 * TG_CONSTANT. Folds as often as needed, so any radius works on any size. */
TG_FN int tg_fold(int i, int n, enum tg_border border)
{
    if ((unsigned)i < (unsigned)n)
        return i;
    switch (border) {
    case TG_REFLECT101: {
        if (n == 1)
            return 0;
        int64_t period = 2 * (int64_t)(n - 1), m = i % period;
        if (m < 0)
            m += period;
        return (int)(m < n ? m : period - m);
    }
    case TG_REFLECT: {
        int64_t period = 2 * (int64_t)n, m = i % period;
        if (m < 0)
            m += period;
        return (int)(m < n ? m : period - 1 - m);
    }
    case TG_REPLICATE:
        return i < 0 ? 0 : n - 1;
    case TG_WRAP: {
        int m = i % n;
        return m < 0 ? m + n : m;
    }
    case TG_CONSTANT:
        break;
    }
    return -1;
}

/* Rounds and clamps a result to an integer sample; NaN becomes 0. */
TG_FN uint8_t tg_to_u8(float x)
{
    x = floorf(x + 0.5F);
    return (uint8_t)(x >= 0.F ? (x < 255.F ? x : 255.F) : 0.F);
}
TG_FN uint16_t tg_to_u16(float x)
{
    x = floorf(x + 0.5F);
    return (uint16_t)(x >= 0.F ? (x < 65535.F ? x : 65535.F) : 0.F);
}

/* Neither NaN nor infinite; stays true to that under -ffinite-math-only. */
TG_FN bool tg_finite(float x)
{
    union {
        float f;
        uint32_t u;
    } v;
    v.f = x;
    return (v.u & 0x7f800000U) != 0x7f800000U;
}

TG_FN float tg_luma(float r, float g, float b)
{
    return TG_LUMA_R * r + TG_LUMA_G * g + TG_LUMA_B * b;
}

/* IEC 61966-2-1, sRGB: coded value to linear light and back, 0..1; odd-symmetric below 0, unbounded above 1. */
TG_FN float tg_srgb_to_linear(float v)
{
    float a = fabsf(v);
    a = a <= 0.04045F ? a / 12.92F : powf((a + 0.055F) / 1.055F, 2.4F);
    return v < 0.F ? -a : a;
}
TG_FN float tg_linear_to_srgb(float v)
{
    float a = fabsf(v);
    a = a <= 0.0031308F ? a * 12.92F : 1.055F * powf(a, 1.F / 2.4F) - 0.055F;
    return v < 0.F ? -a : a;
}

#endif
