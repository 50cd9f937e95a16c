/* Images: views of planes, on the host or on a device. */
#ifndef TG_IMAGE_H
#define TG_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tg_depth {
    TG_U8,  /* 0..255 */
    TG_U16, /* 0..65535 */
    TG_F32, /* 0..1; values outside and NaN are legal */
};

enum tg_where {
    TG_HOST,
    TG_PINNED, /* host memory that the device reads and writes by itself */
    TG_CUDA,
};

#define TG_MAX_PLANES 4
#define TG_ROW_ALIGN  128 /* bytes: every row that tg_image_layout places starts on such a boundary */

/* A view; copying it copies no pixels. Whoever called the alloc function calls the free function. */
struct tg_image {
    void *plane[TG_MAX_PLANES]; /* gray | gray,alpha | R,G,B | R,G,B,alpha */
    int planes, w, h;           /* pixels; offsets are size_t, so a plane may pass 2^31 samples */
    ptrdiff_t stride;           /* bytes between rows, the same for all planes; a multiple of the sample's size */
    enum tg_depth depth;
    enum tg_where where;
    bool has_alpha; /* the last plane is alpha, not premultiplied */
};

/* Bytes of one sample: 1, 2 or 4. */
size_t tg_depth_bytes(enum tg_depth depth);

/* The value that stands for full scale: 255, 65535 or 1. */
float tg_depth_full(enum tg_depth depth);

/* "8-bit", "16-bit", "float". */
const char *tg_depth_name(enum tg_depth depth);

/* Planes that hold colour: planes less the alpha. */
static inline int tg_image_colors(const struct tg_image *im)
{
    return im->planes - (im->has_alpha ? 1 : 0);
}

/* Address of sample (0, y) of a plane. */
static inline void *tg_image_row(const struct tg_image *im, int plane, int y)
{
    return (char *)im->plane[plane] + (ptrdiff_t)y * im->stride;
}

/* From w, h, planes and depth: sets stride and, where base is not NULL, the planes inside base (aligned to TG_ROW_ALIGN).
 * Returns the bytes that the planes need, or 0 where a field is out of range or the size passes PTRDIFF_MAX. */
size_t tg_image_layout(struct tg_image *im, void *base);

/* Host memory for the layout of im's w, h, planes, depth and has_alpha. Contents undefined. plane[0] owns it.
 * TG_ENOMEM names the size wanted. */
int tg_image_alloc(struct tg_image *im);
/* Frees what tg_image_alloc gave and clears the planes. NULL and an image without planes are fine. */
void tg_image_free(struct tg_image *im);

/* Same planes, size, depth and alpha flag (not the same pixels). */
bool tg_image_same_shape(const struct tg_image *a, const struct tg_image *b);

#ifdef __cplusplus
}
#endif
#endif
