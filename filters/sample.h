/* Single samples of host images: for reference loops, where plainness counts more than time. */
#ifndef TG_SAMPLE_H
#define TG_SAMPLE_H

#include "image.h"
#include "pixel.h"

#include <string.h>

static inline float tg_get(const struct tg_image *im, int plane, int x, int y)
{
    const void *row = tg_image_row(im, plane, y);
    switch (im->depth) {
    case TG_U8:
        return ((const uint8_t *)row)[x];
    case TG_U16:
        return ((const uint16_t *)row)[x];
    case TG_F32:
        return ((const float *)row)[x];
    }
    return 0.F;
}

/* Rounds and clamps integers once; float is stored as it is. */
static inline void tg_put(const struct tg_image *im, int plane, int x, int y, float v)
{
    void *row = tg_image_row(im, plane, y);
    switch (im->depth) {
    case TG_U8:
        ((uint8_t *)row)[x] = tg_to_u8(v);
        break;
    case TG_U16:
        ((uint16_t *)row)[x] = tg_to_u16(v);
        break;
    case TG_F32:
        ((float *)row)[x] = v;
        break;
    }
}

/* Alpha of a pixel inside the image, 0..1 for legal values; 1 where there is none, 0 where it is not finite. */
static inline float tg_alpha(const struct tg_image *im, int x, int y)
{
    if (!im->has_alpha)
        return 1.F;
    float a = tg_get(im, im->planes - 1, x, y) / tg_depth_full(im->depth);
    return tg_finite(a) ? a : 0.F;
}

/* A tap of a neighbourhood: its value, and in *a what it weighs: its alpha; 0, with value 0, where it is not finite; outside
 * under TG_CONSTANT black, which weighs 1 where there is no alpha and 0 where there is. */
static inline float tg_tap(const struct tg_image *im, int plane, int x, int y, enum tg_border border, float *a)
{
    x = tg_fold(x, im->w, border);
    y = tg_fold(y, im->h, border);
    if (x < 0 || y < 0) {
        *a = im->has_alpha ? 0.F : 1.F;
        return 0.F;
    }
    float v = tg_get(im, plane, x, y);
    *a = tg_finite(v) ? tg_alpha(im, x, y) : 0.F;
    return tg_finite(v) ? v : 0.F;
}

/* What a filter gives where it keeps the pixel: itself, or NaN where it is not finite. */
static inline float tg_kept(float v)
{
    return tg_finite(v) ? v : NAN;
}

static inline void tg_copy_plane(const struct tg_image *src, const struct tg_image *dst, int plane, int y)
{
    memcpy(tg_image_row(dst, plane, y), tg_image_row(src, plane, y), (size_t)src->w * tg_depth_bytes(src->depth));
}

#endif
