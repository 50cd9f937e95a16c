#include "pack.h"
#include "sample.h"
#include "simd.h"

/* Moving bytes is quicker than waking threads for it, above all on a busy machine. */
#define WORTH_THREADS ((size_t)1 << 20) /* bytes that need arithmetic, or to be turned */

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

/* Same depth: no arithmetic. n is a constant where these are called, so that the compiler makes shuffles of them. */
#define DEFINE_ROWS(T, name)                                                                                \
    TG_FN void split_##name(const T *restrict row, void *const *to, ptrdiff_t w, int n)                     \
    {                                                                                                       \
        T *restrict a = to[0], *restrict b = to[1], *restrict c = to[2], *restrict d = to[3];               \
        for (ptrdiff_t x = 0; x < w; x++) {                                                                 \
            a[x] = row[x * n];                                                                              \
            b[x] = row[x * n + 1];                                                                          \
            if (n > 2)                                                                                      \
                c[x] = row[x * n + 2];                                                                      \
            if (n > 3)                                                                                      \
                d[x] = row[x * n + 3];                                                                      \
        }                                                                                                   \
    }                                                                                                       \
    TG_FN void merge_##name(T *restrict row, const void *const *from, ptrdiff_t w, int n)                   \
    {                                                                                                       \
        const T *restrict a = from[0], *restrict b = from[1], *restrict c = from[2], *restrict d = from[3]; \
        for (ptrdiff_t x = 0; x < w; x++) {                                                                 \
            row[x * n] = a[x];                                                                              \
            row[x * n + 1] = b[x];                                                                          \
            if (n > 2)                                                                                      \
                row[x * n + 2] = c[x];                                                                      \
            if (n > 3)                                                                                      \
                row[x * n + 3] = d[x];                                                                      \
        }                                                                                                   \
    }
/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the first n planes are there */
DEFINE_ROWS(uint8_t, u8)
/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
DEFINE_ROWS(uint16_t, u16)

#define CALL_ROWS(f)          \
    if (n == 2)               \
        f(row, planes, w, 2); \
    else if (n == 3)          \
        f(row, planes, w, 3); \
    else                      \
        f(row, planes, w, 4)

TG_FN void split_body(const void *row, void *const *planes, ptrdiff_t w, int n, size_t bytes)
{
    if (n == 1) {
        memcpy(planes[0], row, (size_t)w * bytes);
    } else if (bytes == 1) {
        CALL_ROWS(split_u8);
    } else {
        CALL_ROWS(split_u16);
    }
}
TG_DISPATCH(split, (const void *row, void *const *planes, ptrdiff_t w, int n, size_t bytes), (row, planes, w, n, bytes))

TG_FN void merge_body(void *row, const void *const *planes, ptrdiff_t w, int n, size_t bytes)
{
    if (n == 1) {
        memcpy(row, planes[0], (size_t)w * bytes);
    } else if (bytes == 1) {
        CALL_ROWS(merge_u8);
    } else {
        CALL_ROWS(merge_u16);
    }
}
TG_DISPATCH(merge, (void *row, const void *const *planes, ptrdiff_t w, int n, size_t bytes), (row, planes, w, n, bytes))

/* A block of n rows that are mirrored or become columns. Rows that become columns share cache lines, so all rows of the block
 * go to one place before the next pixel's turn. step and next: bytes in the planes from pixel to pixel and from row to row. */
enum { BLOCK = 32 };

#define TURN(T)                                  \
    for (ptrdiff_t x = 0; x < rows->w; x++)      \
        for (int c = 0; c < rows->channels; c++) \
            for (ptrdiff_t y = 0; y < n; y++)    \
    *(T *)((char *)to[c] + x * step +            \
           y * next) = ((const T *)((const char *)row + y * rows->stride))[x * rows->channels + c]

static void turn(const struct tg_frame *rows, const void *row, int n, void *const *to, ptrdiff_t step, ptrdiff_t next)
{
    if (rows->depth == TG_U8)
        TURN(uint8_t);
    else
        TURN(uint16_t);
}

void tg_unpack(const struct tg_frame *rows, int y0, int coded_h, int orientation, bool linear, struct tg_image *dst)
{
    const ptrdiff_t w = rows->w;
    const ptrdiff_t bytes = (ptrdiff_t)tg_depth_bytes(dst->depth);
    const int colors = tg_image_colors(dst);
    const bool same = rows->depth == dst->depth && !linear, turned = same && orientation > 1 && orientation != 4;
    const size_t moved = same && !turned ? 0 : (size_t)rows->stride * (size_t)rows->h;
#pragma omp parallel for schedule(static) if (moved > WORTH_THREADS)
    for (int y = 0; y < rows->h; y += turned ? BLOCK : 1) {
        const void *row = (const char *)rows->data + (ptrdiff_t)y * rows->stride;
        struct walk at = walk_row(y0 + y, rows->w, coded_h, orientation);
        void *to[TG_MAX_PLANES] = {0};
        for (int c = 0; c < rows->channels; c++)
            to[c] = (char *)tg_image_row(dst, c, at.y) + at.x * bytes;
        if (same && !turned) {
            split(row, to, w, rows->channels, (size_t)bytes);
            continue;
        }
        if (turned) {
            struct walk below = walk_row(y0 + y + 1, rows->w, coded_h, orientation);
            turn(rows, row, tg_min(BLOCK, rows->h - y), to, at.dx * bytes + at.dy * dst->stride,
                 (below.x - at.x) * bytes + (below.y - at.y) * dst->stride);
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

void tg_pack(const struct tg_image *src, int y0, bool linear, struct tg_frame *rows)
{
    const ptrdiff_t w = rows->w;
    const int colors = tg_image_colors(src);
    const bool same = rows->depth == src->depth && !linear;
#pragma omp parallel for schedule(static) if (!same && (size_t)rows->stride * (size_t)rows->h > WORTH_THREADS)
    for (int y = 0; y < rows->h; y++) {
        void *row = (char *)rows->data + (ptrdiff_t)y * rows->stride;
        const void *from[TG_MAX_PLANES] = {0};
        for (int c = 0; c < rows->channels; c++)
            from[c] = tg_image_row(src, c, y0 + y);
        if (same) {
            merge(row, from, w, rows->channels, tg_depth_bytes(src->depth));
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
