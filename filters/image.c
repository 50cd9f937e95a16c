#include "image.h"
#include "log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

size_t tg_depth_bytes(enum tg_depth depth)
{
    return depth == TG_U8 ? 1 : depth == TG_U16 ? 2 : 4;
}

float tg_depth_full(enum tg_depth depth)
{
    return depth == TG_U8 ? 255.F : depth == TG_U16 ? 65535.F : 1.F;
}

const char *tg_depth_name(enum tg_depth depth)
{
    return depth == TG_U8 ? "8-bit" : depth == TG_U16 ? "16-bit" : "float";
}

size_t tg_image_layout(struct tg_image *im, void *base)
{
    if (im->w < 1 || im->h < 1 || im->planes < 1 || im->planes > TG_MAX_PLANES)
        return 0;
    size_t stride = (size_t)im->w * tg_depth_bytes(im->depth);
    stride = (stride + TG_ROW_ALIGN - 1) / TG_ROW_ALIGN * TG_ROW_ALIGN;
    size_t plane, all;
    if (__builtin_mul_overflow(stride, (size_t)im->h, &plane) ||
        __builtin_mul_overflow(plane, (size_t)im->planes, &all) || all > PTRDIFF_MAX)
        return 0;
    im->stride = (ptrdiff_t)stride;
    if (base)
        for (int p = 0; p < TG_MAX_PLANES; p++)
            im->plane[p] = p < im->planes ? (char *)base + (size_t)p * plane : NULL;
    return all;
}

#define HUGE_PAGE ((size_t)2 << 20)

int tg_image_alloc(struct tg_image *im)
{
    size_t bytes = tg_image_layout(im, NULL);
    if (!bytes)
        return tg_fail(TG_ELIMIT, "%d x %d x %d %s samples are no image", im->w, im->h, im->planes,
                       tg_depth_name(im->depth));
    void *base = NULL;
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : TG_ROW_ALIGN;
    if (posix_memalign(&base, align, bytes))
        return tg_fail(TG_ENOMEM, "no memory for an image of %d x %d x %d %s samples (%zu MB)", im->w, im->h,
                       im->planes, tg_depth_name(im->depth), bytes >> 20);
#ifdef MADV_HUGEPAGE
    /* Touching a fresh picture 4 KiB at a time costs about as much as filtering it. */
    if (bytes >= HUGE_PAGE)
        madvise(base, bytes, MADV_HUGEPAGE);
#endif
    tg_image_layout(im, base);
    im->where = TG_HOST;
    return 0;
}

void tg_image_free(struct tg_image *im)
{
    if (!im)
        return;
    free(im->plane[0]);
    memset(im->plane, 0, sizeof im->plane);
}

bool tg_image_same_shape(const struct tg_image *a, const struct tg_image *b)
{
    return a->w == b->w && a->h == b->h && a->planes == b->planes && a->depth == b->depth &&
           a->has_alpha == b->has_alpha;
}
