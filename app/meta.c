#include "../filters/log.h"
#include "codec.h"

#include <stdlib.h>
#include <string.h>

void tg_meta_free(struct tg_meta *m)
{
    for (int i = 0; i < m->n_texts; i++) {
        free(m->texts[i].key);
        free(m->texts[i].text);
        free(m->texts[i].lang);
        free(m->texts[i].key_utf8);
    }
    free(m->texts);
    free(m->icc);
    free(m->exif);
    free(m->xmp);
    *m = (struct tg_meta){0};
}

int tg_meta_set(uint8_t **to, size_t *size, const void *bytes, size_t n)
{
    uint8_t *copy = malloc(n + 1);
    if (!copy)
        return tg_fail(TG_ENOMEM, "no memory for what the picture carries");
    memcpy(copy, bytes, n);
    copy[n] = 0;
    free(*to);
    *to = copy;
    *size = n;
    return 0;
}

int tg_meta_add_text(struct tg_meta *m, int kind, const char *key, const char *text, size_t n, const char *lang,
                     const char *key_utf8)
{
    struct tg_text *texts = realloc(m->texts, sizeof *texts * ((size_t)m->n_texts + 1));
    if (!texts)
        return tg_fail(TG_ENOMEM, "no memory for what the picture carries");
    m->texts = texts;
    struct tg_text *t = &texts[m->n_texts++];
    *t = (struct tg_text){
        .key = key ? strdup(key) : NULL,
        .text = strndup(text, n),
        .kind = kind,
        .lang = lang ? strdup(lang) : NULL,
        .key_utf8 = key_utf8 ? strdup(key_utf8) : NULL,
    };
    if (!t->text || (key && !t->key) || (lang && !t->lang) || (key_utf8 && !t->key_utf8))
        return tg_fail(TG_ENOMEM, "no memory for what the picture carries");
    return 0;
}

bool tg_meta_icc_fits(const struct tg_meta *m, int channels)
{
    /* ICC.1:2022, 7.2: the header is 128 bytes, the colour space of the data stands at 16. */
    return m->icc_size >= 132 && memcmp(m->icc + 16, channels < 3 ? "GRAY" : "RGB ", 4) == 0;
}

/* ---- EXIF: a TIFF file of image file directories (TIFF 6.0, Exif 2.32) ---- */

enum { BYTE = 1, SHORT = 3, LONG = 4 };
enum {
    IMAGE_WIDTH = 0x0100,
    IMAGE_LENGTH = 0x0101,
    ORIENTATION = 0x0112,
    THUMB_OFFSET = 0x0201,
    THUMB_LENGTH = 0x0202,
    EXIF_IFD = 0x8769,
    PIXEL_X = 0xa002,
    PIXEL_Y = 0xa003,
};

struct tiff {
    uint8_t *p;
    uint64_t n;
    bool big;      /* endian */
    uint64_t ifd0; /* 0: there is none */
};

static uint32_t get(const struct tiff *t, uint64_t at, unsigned bytes)
{
    uint32_t v = 0;
    if (at + bytes <= t->n)
        for (unsigned i = 0; i < bytes; i++)
            v |= (uint32_t)t->p[at + i] << 8 * (t->big ? bytes - 1 - i : i);
    return v;
}

static void put(const struct tiff *t, uint64_t at, unsigned bytes, uint32_t v)
{
    if (at + bytes <= t->n)
        for (unsigned i = 0; i < bytes; i++)
            t->p[at + i] = (uint8_t)(v >> 8 * (t->big ? bytes - 1 - i : i));
}

static struct tiff tiff_of(const struct tg_meta *m)
{
    struct tiff t = {.p = m->exif, .n = m->exif_size};
    if (t.n >= 8 && (memcmp(t.p, "II*\0", 4) == 0 || memcmp(t.p, "MM\0*", 4) == 0)) {
        t.big = t.p[0] == 'M';
        t.ifd0 = get(&t, 4, 4);
    }
    return t;
}

/* Where an entry stands, 12 bytes: tag, type, count, value; or 0. */
static uint64_t find(const struct tiff *t, uint64_t ifd, uint32_t tag)
{
    for (uint64_t i = 0, n = ifd ? get(t, ifd, 2) : 0; i < n; i++) {
        uint64_t at = ifd + 2 + 12 * i;
        if (at + 12 > t->n)
            break;
        if (get(t, at, 2) == tag)
            return at;
    }
    return 0;
}

/* Bytes of an entry's value if it is a single whole number, else 0. */
static unsigned width(const struct tiff *t, uint64_t entry)
{
    if (!entry || get(t, entry + 4, 4) != 1)
        return 0;
    uint32_t type = get(t, entry + 2, 2);
    return type == BYTE ? 1 : type == SHORT ? 2 : type == LONG ? 4 : 0;
}

static uint32_t value(const struct tiff *t, uint64_t entry)
{
    return get(t, entry + 8, width(t, entry));
}

static void set_value(const struct tiff *t, uint64_t entry, uint32_t v)
{
    unsigned bytes = width(t, entry);
    if (!bytes)
        return;
    if (bytes < 4 && v >> 8 * bytes) {
        put(t, entry + 2, 2, LONG); /* each has room for one */
        bytes = 4;
    }
    put(t, entry + 8, bytes, v);
}

/* The thumbnail shows the picture as it was, and what a blur hides: wiped, and its directory cut off. */
static void drop_thumbnail(const struct tiff *t)
{
    uint64_t link = t->ifd0 + 2 + 12 * (uint64_t)get(t, t->ifd0, 2);
    uint64_t ifd1 = get(t, link, 4);
    uint64_t at = value(t, find(t, ifd1, THUMB_OFFSET)), n = value(t, find(t, ifd1, THUMB_LENGTH));
    if (at >= 8 && at < t->n && ifd1 != t->ifd0)
        memset(t->p + at, 0, n < t->n - at ? n : t->n - at);
    put(t, link, 4, 0);
}

int tg_meta_orientation(const struct tg_meta *m)
{
    struct tiff t = tiff_of(m);
    uint32_t v = value(&t, find(&t, t.ifd0, ORIENTATION));
    return v >= 1 && v <= 8 ? (int)v : 1;
}

/* ---- XMP ---- */

/* Sets tiff:Orientation="6" and <tiff:Orientation>6< to 1, in place. */
static void xmp_upright(uint8_t *xmp, size_t size)
{
    static const char name[] = "tiff:Orientation";
    uint8_t *p = xmp, *end = xmp + size;
    while (p && (p = memmem(p, (size_t)(end - p), name, sizeof name - 1))) {
        p += sizeof name - 1;
        while (p < end && strchr(" \t\r\n=>\"'", *p) && *p)
            p++;
        if (end - p >= 2 && *p >= '1' && *p <= '8' && (p[1] < '0' || p[1] > '9'))
            *p = '1';
    }
}

void tg_meta_upright(struct tg_meta *m, int w, int h)
{
    struct tiff t = tiff_of(m);
    if (tg_orientation_swaps(tg_meta_orientation(m)))
        m->jpeg_sampling = (m->jpeg_sampling & 15) << 4 | m->jpeg_sampling >> 4;
    if (t.ifd0) {
        drop_thumbnail(&t);
        uint64_t exif = value(&t, find(&t, t.ifd0, EXIF_IFD));
        set_value(&t, find(&t, t.ifd0, ORIENTATION), 1);
        set_value(&t, find(&t, t.ifd0, IMAGE_WIDTH), (uint32_t)w);
        set_value(&t, find(&t, t.ifd0, IMAGE_LENGTH), (uint32_t)h);
        set_value(&t, find(&t, exif, PIXEL_X), (uint32_t)w);
        set_value(&t, find(&t, exif, PIXEL_Y), (uint32_t)h);
    }
    if (m->xmp)
        xmp_upright(m->xmp, m->xmp_size);
}
