/* Between the rows that a codec has (interleaved samples) and the planes that filters see.
 *
 * Depth conversion is exact where it can be: 8 to 16 bits is v * 257; 16 to 8 is round(v * 255 / 65535); float is the
 * value over full scale, and back rounded once and clamped. `linear` turns colour, not alpha, from sRGB's coding to linear
 * light on the way in and back on the way out; the planes are then TG_F32.
 * The device has the same two functions in kernels/cuda.h, with the same results but for the last bit of powf.
 */
#ifndef TG_PACK_H
#define TG_PACK_H

#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of interleaved rows; a view. */
struct tg_frame {
    void *data;
    int w, h, channels;  /* channels 1..4: gray | gray,alpha | R,G,B | R,G,B,A */
    ptrdiff_t stride;    /* bytes between rows */
    enum tg_depth depth; /* TG_U8 or TG_U16, native byte order */
};

/* EXIF orientation (Exif 2.32, tag 0x0112): 1 upright, 2 mirrored left to right, 3 turned by 180 degrees, 4 mirrored top to
 * bottom, 5 transposed, 6 to be turned 90 degrees clockwise, 7 transposed over the other diagonal, 8 to be turned 90
 * degrees counter-clockwise. True where the upright picture's width is the coded height. */
static inline bool tg_orientation_swaps(int orientation)
{
    return orientation >= 5 && orientation <= 8;
}

/* Writes the n rows of `rows` (rows->h == n), which are rows y0.. of a coded picture of coded_h rows, upright into dst. dst has
 * rows->channels planes and the upright picture's size. */
void tg_unpack(const struct tg_frame *rows, int y0, int coded_h, int orientation, bool linear, struct tg_image *dst);

/* Writes rows y0.. of src into `rows` (rows->h of them); rows->channels == src->planes. */
void tg_pack(const struct tg_image *src, int y0, bool linear, struct tg_frame *rows);

#ifdef __cplusplus
}
#endif
#endif
