#include "pack.h"
#include "sample.h"

#define WORTH_THREADS ((size_t)1 << 20) /* bytes: waking threads for less costs more than it saves */

static float coded(const struct tg_frame *f, const void *row, size_t i)
{
    return f->depth == TG_U8 ? ((const uint8_t *)row)[i] : ((const uint16_t *)row)[i];
}

/* One sample of a frame as the planes want it. */
static float widen(float v, enum tg_depth from, enum tg_depth to)
{
    if (from == to)
        return v;
    if (from == TG_U8 && to == TG_U16)
        return v * 257.F;
    if (from == TG_U16 && to == TG_U8)
        return v * 255.F / 65535.F;
    return v / tg_depth_full(from) * tg_depth_full(to);
}

/* Where a row of coded pixels goes: the address of pixel (0, y) and the step in pixels between neighbours x. */
struct walk {
    int x, y;
    ptrdiff_t dx, dy;
};

static struct walk walk_row(int y, int w, int h, int orientation)
{
    switch (orientation) {
    case 2:
        return (struct walk){w - 1, y, -1, 0};
    case 3:
        return (struct walk){w - 1, h - 1 - y, -1, 0};
    case 4:
        return (struct walk){0, h - 1 - y, 1, 0};
    case 5:
        return (struct walk){y, 0, 0, 1};
    case 6:
        return (struct walk){h - 1 - y, 0, 0, 1};
    case 7:
        return (struct walk){h - 1 - y, w - 1, 0, -1};
    case 8:
        return (struct walk){y, w - 1, 0, -1};
    default:
        return (struct walk){0, y, 1, 0};
    }
}

/* Same depth: no arithmetic. CHANNELS is a constant, so that the loops unroll. */
#define SPLIT(T, CHANNELS)                   \
    for (ptrdiff_t x = 0; x < w; x++)        \
        for (int c = 0; c < (CHANNELS); c++) \
    *(T *)((char *)to[c] + x * step) = ((const T *)row)[x * (CHANNELS) + c]
#define SPLIT_STRAIGHT(T, CHANNELS)          \
    for (ptrdiff_t x = 0; x < w; x++)        \
        for (int c = 0; c < (CHANNELS); c++) \
    ((T *)to[c])[x] = ((const T *)row)[x * (CHANNELS) + c]
#define SPLIT_ANY(T)                                   \
    if (step == (ptrdiff_t)sizeof(T)) {                \
        switch (rows->channels) {                      \
        case 1:                                        \
            memcpy(to[0], row, (size_t)w * sizeof(T)); \
            break;                                     \
        case 2:                                        \
            SPLIT_STRAIGHT(T, 2);                      \
            break;                                     \
        case 3:                                        \
            SPLIT_STRAIGHT(T, 3);                      \
            break;                                     \
        default:                                       \
            SPLIT_STRAIGHT(T, 4);                      \
        }                                              \
    } else                                             \
        SPLIT(T, rows->channels)

void tg_unpack(const struct tg_frame *rows, int y0, int coded_h, int orientation, bool linear, struct tg_image *dst)
{
    const ptrdiff_t w = rows->w;
    const ptrdiff_t bytes = (ptrdiff_t)tg_depth_bytes(dst->depth);
    const int colors = tg_image_colors(dst);
    /* Rows that become columns share cache lines: one thread a block of them keeps each line in one place. */
#pragma omp parallel for schedule(static) if ((size_t)rows->stride * (size_t)rows->h > WORTH_THREADS)
    for (int y = 0; y < rows->h; y++) {
        const void *row = (const char *)rows->data + (ptrdiff_t)y * rows->stride;
        struct walk at = walk_row(y0 + y, rows->w, coded_h, orientation);
        ptrdiff_t step = at.dx * bytes + at.dy * dst->stride;
        void *to[TG_MAX_PLANES] = {0};
        for (int c = 0; c < rows->channels; c++)
            to[c] = (char *)tg_image_row(dst, c, at.y) + at.x * bytes;
        if (rows->depth == dst->depth && !linear) {
            if (dst->depth == TG_U8) {
                SPLIT_ANY(uint8_t);
            } else {
                SPLIT_ANY(uint16_t);
            }
            continue;
        }
        for (ptrdiff_t x = 0; x < w; x++)
            for (int c = 0; c < rows->channels; c++) {
                float v = widen(coded(rows, row, (size_t)(x * rows->channels + c)), rows->depth, dst->depth);
                if (linear && c < colors)
                    v = tg_srgb_to_linear(v);
                tg_put(dst, c, at.x + (int)(x * at.dx), at.y + (int)(x * at.dy), v);
            }
    }
}

#define MERGE(T, CHANNELS)                   \
    for (ptrdiff_t x = 0; x < w; x++)        \
        for (int c = 0; c < (CHANNELS); c++) \
    ((T *)row)[x * (CHANNELS) + c] = ((const T *)from[c])[x]
#define MERGE_ANY(T)                                 \
    switch (rows->channels) {                        \
    case 1:                                          \
        memcpy(row, from[0], (size_t)w * sizeof(T)); \
        break;                                       \
    case 2:                                          \
        MERGE(T, 2);                                 \
        break;                                       \
    case 3:                                          \
        MERGE(T, 3);                                 \
        break;                                       \
    default:                                         \
        MERGE(T, 4);                                 \
    }

void tg_pack(const struct tg_image *src, int y0, bool linear, struct tg_frame *rows)
{
    const ptrdiff_t w = rows->w;
    const int colors = tg_image_colors(src);
#pragma omp parallel for schedule(static) if ((size_t)rows->stride * (size_t)rows->h > WORTH_THREADS)
    for (int y = 0; y < rows->h; y++) {
        void *row = (char *)rows->data + (ptrdiff_t)y * rows->stride;
        const void *from[TG_MAX_PLANES] = {0};
        for (int c = 0; c < rows->channels; c++)
            from[c] = tg_image_row(src, c, y0 + y);
        if (rows->depth == src->depth && !linear) {
            if (src->depth == TG_U8) {
                MERGE_ANY(uint8_t);
            } else {
                MERGE_ANY(uint16_t);
            }
            continue;
        }
        for (int x = 0; x < rows->w; x++)
            for (int c = 0; c < rows->channels; c++) {
                float v = tg_get(src, c, x, y0 + y);
                if (linear && c < colors)
                    v = tg_linear_to_srgb(v);
                v = widen(v, src->depth, rows->depth);
                size_t at = (size_t)x * (size_t)rows->channels + (size_t)c;
                if (rows->depth == TG_U8)
                    ((uint8_t *)row)[at] = tg_to_u8(v);
                else
                    ((uint16_t *)row)[at] = tg_to_u16(v);
            }
    }
}
