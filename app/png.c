#include "../filters/log.h"
#include "codec.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the chunks before or behind the pixels may take in all: compressed text grows a thousandfold. */
#define CHUNK_MEMORY (64U << 20)
/* Deflate turns a byte into at most this many (258 bytes from 2 bits). */
#define MAX_DEFLATE 1032

static const char xmp_key[] = "XML:com.adobe.xmp";

/* State of either direction. libpng's errors come back through jump; what changes between setjmp and longjmp stands here. */
struct png {
    struct tg_reader *r;
    struct tg_writer *w;
    png_structp png;
    png_infop info;
    jmp_buf jump;
    int err; /* recorded already, by what libpng called; 0: the error is libpng's, and why says it */
    char why[128];
    size_t memory; /* that libpng may still take */
    size_t row_bytes;
    int pass, y, passes;
    uint8_t *whole; /* of an interlaced picture */
    int texts;      /* taken so far */
    uint8_t *row;   /* of another depth, on its way out */
};

static void on_error(png_structp png, png_const_charp message)
{
    struct png *p = png_get_error_ptr(png);
    snprintf(p->why, sizeof p->why, "%s", message);
    longjmp(p->jump, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    const struct png *p = png_get_error_ptr(png);
    /* Where a lenient reader has libpng go on. */
    if (p->r && p->r->opts.lenient && strstr(message, "CRC error"))
        tg_warn("%s: %s", p->r->path, message);
    else
        tg_debug("PNG: %s", message);
}

static png_voidp take(png_structp png, png_alloc_size_t n)
{
    struct png *p = png_get_mem_ptr(png);
    if (n > p->memory)
        return NULL;
    p->memory -= n;
    void *mem = malloc(n);
    if (!mem)
        p->err = tg_fail(TG_ENOMEM, "no memory for a PNG: %zu bytes", n);
    return mem;
}

static void give(png_structp png, png_voidp mem)
{
    (void)png;
    free(mem);
}

/* ---- reading ---- */

static bool probe(const uint8_t *head, size_t n)
{
    return n >= 8 && png_sig_cmp(head, 0, 8) == 0;
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
    struct png *p = png_get_io_ptr(png);
    size_t got;
    int err = tg_source_read(p->r->src, to, n, &got);
    if (err)
        p->err = err;
    if (err || got < n)
        png_error(png, "the file ends");
}

/* After a longjmp: what to return for an error in the header. */
static int header_error(const struct png *p)
{
    if (p->err)
        return p->err;
    return tg_fail(TG_EFORMAT, "cut or damaged PNG: %s", p->why);
}

/* Reads what stands behind the texts that were taken already. */
static int take_texts(struct png *p)
{
    struct tg_meta *m = &p->r->info.meta;
    png_textp text;
    int n = 0, err = 0;
    png_get_text(p->png, p->info, &text, &n);
    for (; p->texts < n && !err; p->texts++) {
        const png_text *t = &text[p->texts];
        bool itxt = t->compression >= PNG_ITXT_COMPRESSION_NONE;
        if (itxt && strcmp(t->key, xmp_key) == 0)
            err = tg_meta_set(&m->xmp, &m->xmp_size, t->text, t->itxt_length);
        else
            err = tg_meta_add_text(m, itxt ? 2 : t->compression == PNG_TEXT_COMPRESSION_zTXt, t->key, t->text,
                                   itxt ? t->itxt_length : t->text_length, itxt ? t->lang : NULL,
                                   itxt ? t->lang_key : NULL);
    }
    png_uint_32 size;
    png_bytep exif;
    if (!err && !m->exif && png_get_eXIf_1(p->png, p->info, &size, &exif))
        err = tg_meta_set(&m->exif, &m->exif_size, exif, size);
    return err;
}

static int take_meta(struct png *p)
{
    struct tg_meta *m = &p->r->info.meta;
    png_charp name;
    png_bytep icc;
    png_uint_32 size, x, y;
    int unit, compression;
    png_fixed_point gamma, c[8];
    if (png_get_iCCP(p->png, p->info, &name, &compression, &icc, &size)) {
        int err = tg_meta_set(&m->icc, &m->icc_size, icc, size);
        if (err)
            return err;
    }
    if (png_get_pHYs(p->png, p->info, &x, &y, &unit)) {
        m->density_unit = unit == PNG_RESOLUTION_METER ? 2 : 1;
        m->density_x = x;
        m->density_y = y;
    }
    if (png_get_gAMA_fixed(p->png, p->info, &gamma) && gamma > 0) {
        m->has_gamma = true;
        m->gamma = (uint32_t)gamma;
    }
    if (png_get_cHRM_fixed(p->png, p->info, &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7])) {
        m->has_chrm = true;
        for (int i = 0; i < 8; i++)
            m->chrm[i] = (uint32_t)c[i];
    }
    m->has_srgb = png_get_sRGB(p->png, p->info, &m->srgb_intent) != 0;
    return take_texts(p);
}

static void describe(const struct png *p, struct tg_info *info)
{
    const int type = png_get_color_type(p->png, p->info);
    const bool key = png_get_valid(p->png, p->info, PNG_INFO_tRNS) != 0;
    info->w = (int)png_get_image_width(p->png, p->info);
    info->h = (int)png_get_image_height(p->png, p->info);
    info->bits = png_get_bit_depth(p->png, p->info);
    info->depth = info->bits == 16 ? TG_U16 : TG_U8;
    info->has_alpha = key || (type & PNG_COLOR_MASK_ALPHA);
    info->channels = (type & PNG_COLOR_MASK_COLOR ? 3 : 1) + info->has_alpha;
    info->color = type == PNG_COLOR_TYPE_PALETTE      ? "palette"
                  : type == PNG_COLOR_TYPE_GRAY       ? "gray"
                  : type == PNG_COLOR_TYPE_GRAY_ALPHA ? "gray+alpha"
                  : type == PNG_COLOR_TYPE_RGB        ? "RGB"
                                                      : "RGBA";
    info->interlaced = png_get_interlace_type(p->png, p->info) != PNG_INTERLACE_NONE;
    png_unknown_chunkp unknown;
    for (int i = png_get_unknown_chunks(p->png, p->info, &unknown); i-- > 0;)
        info->animated |= memcmp(unknown[i].name, "acTL", 4) == 0;
}

/* A file cannot hold more than its bytes can expand to. */
static int check_bytes(const struct png *p)
{
    const struct tg_info *info = &p->r->info;
    const int64_t size = tg_source_size(p->r->src);
    const uint64_t raw = (uint64_t)info->h * (png_get_rowbytes(p->png, p->info) + 1);
    if (size >= 0 && !p->r->opts.lenient && raw / MAX_DEFLATE > (uint64_t)size)
        return tg_fail(TG_EFORMAT, "cut or damaged: %d x %d pixels cannot be in its %lld bytes", info->w, info->h,
                       (long long)size);
    return 0;
}

static int open_png(struct tg_reader *r)
{
    struct png *p = r->state = calloc(1, sizeof *p);
    if (!p)
        return tg_fail(TG_ENOMEM, "no memory to read a PNG");
    p->r = r;
    p->memory = CHUNK_MEMORY;
    if (setjmp(p->jump))
        return header_error(p);
    p->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, p, on_error, on_warning, p, take, give);
    p->info = p->png ? png_create_info_struct(p->png) : NULL;
    if (!p->info)
        return tg_fail(TG_ENOMEM, "no memory to read a PNG");
    png_set_read_fn(p->png, p, read_bytes);
    png_set_user_limits(p->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* max_pixels is the limit */
    png_set_keep_unknown_chunks(p->png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep) "acTL", 1);
    if (r->opts.lenient) {
        png_set_crc_action(p->png, PNG_CRC_WARN_USE, PNG_CRC_WARN_DISCARD);
        png_set_compression_buffer_size(p->png, 64); /* what libpng has asked for when the file ends is lost */
    }
    png_read_info(p->png, p->info);
    describe(p, &r->info);
    int err = tg_reader_check_size(r, (uint64_t)r->info.w, (uint64_t)r->info.h);
    if (!err)
        err = check_bytes(p);
    if (!err)
        err = take_meta(p);
    if (err)
        return err;

    p->memory = SIZE_MAX; /* rows, which max_pixels bounds */
    png_set_expand(p->png);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    png_set_swap(p->png);
#endif
    p->passes = png_set_interlace_handling(p->png);
    png_read_update_info(p->png, p->info);
    p->row_bytes = png_get_rowbytes(p->png, p->info);
    if (p->row_bytes != (size_t)r->info.w * (size_t)r->info.channels * tg_depth_bytes(r->info.depth))
        return tg_fail(TG_EFORMAT, "cut or damaged PNG: %zu bytes a row", p->row_bytes);
    return 0;
}

/* The next n rows of a plain picture, or all passes of an interlaced one; behind the last row, the rest of the file. */
static int decode(struct png *p, char *rows, ptrdiff_t stride, int n, bool last)
{
    struct tg_reader *r = p->r;
    p->pass = p->y = 0;
    if (setjmp(p->jump) == 0) {
        for (; p->pass < p->passes; p->pass++)
            for (p->y = 0; p->y < n; p->y++) {
                char *row = rows + (ptrdiff_t)p->y * stride;
                /* As rectangles, so that an interlaced picture that breaks off has no holes. */
                png_read_row(p->png, p->passes > 1 ? NULL : (png_bytep)row, p->passes > 1 ? (png_bytep)row : NULL);
            }
        if (last) {
            p->memory = CHUNK_MEMORY;
            png_read_end(p->png, p->info);
            return take_texts(p);
        }
        return 0;
    }
    if (p->err)
        return p->err;
    char why[sizeof p->why + 32];
    snprintf(why, sizeof why, p->passes > 1 && p->pass < p->passes ? "%s (pass %d of %d)" : "%s", p->why, p->pass + 1,
             p->passes);
    int err = tg_reader_damage(r, p->pass == p->passes ? r->info.h : r->row + p->y, why);
    if (!err && p->passes == 1)
        for (int y = p->pass ? n : p->y; y < n; y++)
            memset(rows + (ptrdiff_t)y * stride, 0, p->row_bytes);
    return err;
}

static int rows_png(struct tg_reader *r, char *rows, ptrdiff_t stride, int n)
{
    struct png *p = r->state;
    if (r->info.interlaced && !p->whole) {
        p->whole = calloc((size_t)r->info.h, p->row_bytes);
        if (!p->whole)
            return tg_fail(TG_ENOMEM, "no memory for an interlaced PNG: %llu MB",
                           (unsigned long long)r->info.h * p->row_bytes >> 20);
        int err = decode(p, (char *)p->whole, (ptrdiff_t)p->row_bytes, r->info.h, true);
        if (err)
            return err;
    } else if (!r->info.interlaced && !r->damaged) {
        return decode(p, rows, stride, n, r->row + n == r->info.h);
    }
    for (int y = 0; y < n; y++) {
        char *row = rows + (ptrdiff_t)y * stride;
        if (p->whole)
            memcpy(row, p->whole + (size_t)(r->row + y) * p->row_bytes, p->row_bytes);
        else
            memset(row, 0, p->row_bytes);
    }
    return 0;
}

static void close_reader(struct tg_reader *r)
{
    struct png *p = r->state;
    if (!p)
        return;
    png_destroy_read_struct(&p->png, &p->info, NULL);
    free(p->whole);
    free(p);
}

const struct tg_decoder tg_png_decoder = {"PNG", probe, open_png, rows_png, close_reader};

/* ---- writing ---- */

static void write_bytes(png_structp png, png_bytep bytes, size_t n)
{
    struct png *p = png_get_io_ptr(png);
    p->err = tg_sink_write(p->w->sink, bytes, n);
    if (p->err)
        png_error(png, "not written");
}

static void no_flush(png_structp png)
{
    (void)png;
}

static int write_error(const struct png *p)
{
    return p->err ? p->err : tg_fail(TG_EIO, "cannot write a PNG: %s", p->why);
}

/* A PNG keyword has 1..79 bytes; libpng stops at one with nothing to print in it. */
static bool keyword(const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < n && n < 80; i++)
        if ((unsigned char)key[i] > 0x20 && key[i] != 0x7f &&
            ((unsigned char)key[i] < 0x7f || (unsigned char)key[i] > 0xa0))
            return true;
    return false;
}

/* True where a JPEG comment, which names no charset, is UTF-8 beyond ASCII. */
static bool is_utf8(const char *s)
{
    bool beyond = false;
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        int more = *p < 0x80                 ? 0
                   : *p >= 0xc2 && *p < 0xe0 ? 1
                   : *p >= 0xe0 && *p < 0xf0 ? 2
                   : *p >= 0xf0 && *p < 0xf5 ? 3
                                             : -1;
        if (more < 0)
            return false;
        beyond |= more > 0;
        for (p++; more--; p++)
            if ((*p & 0xc0) != 0x80)
                return false;
    }
    return beyond;
}

static void put_text(struct png *p, int kind, const char *key, const char *text, const char *lang, const char *key_utf8)
{
    png_text t = {
        .compression = kind == 2   ? PNG_ITXT_COMPRESSION_NONE
                       : kind == 1 ? PNG_TEXT_COMPRESSION_zTXt
                                   : PNG_TEXT_COMPRESSION_NONE,
        .key = (png_charp)key,
        .text = (png_charp)text,
        .text_length = strlen(text),
        .lang = (png_charp)(lang ? lang : ""),
        .lang_key = (png_charp)(key_utf8 ? key_utf8 : ""),
    };
    png_set_text(p->png, p->info, &t, 1);
}

static void put_meta(struct png *p, const struct tg_meta *m, int channels)
{
    if (tg_meta_icc_fits(m, channels))
        png_set_iCCP(p->png, p->info, "ICC profile", PNG_COMPRESSION_TYPE_BASE, m->icc, (png_uint_32)m->icc_size);
    if (m->has_gamma && m->gamma <= PNG_UINT_31_MAX)
        png_set_gAMA_fixed(p->png, p->info, (png_fixed_point)m->gamma);
    if (m->has_chrm) {
        png_fixed_point c[8];
        for (int i = 0; i < 8; i++)
            c[i] = (png_fixed_point)m->chrm[i];
        png_set_cHRM_fixed(p->png, p->info, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]);
    }
    if (m->has_srgb)
        png_set_sRGB(p->png, p->info, m->srgb_intent);
    if (m->density_unit)
        png_set_pHYs(p->png, p->info, m->density_x, m->density_y,
                     m->density_unit == 2 ? PNG_RESOLUTION_METER : PNG_RESOLUTION_UNKNOWN);
    if (m->exif_size)
        png_set_eXIf_1(p->png, p->info, (png_uint_32)m->exif_size, m->exif);
    if (m->xmp_size)
        put_text(p, 2, xmp_key, (const char *)m->xmp, NULL, NULL);
    for (int i = 0; i < m->n_texts; i++) {
        const struct tg_text *t = &m->texts[i];
        if (t->kind == 3)
            put_text(p, is_utf8(t->text) ? 2 : 0, "Comment", t->text, NULL, NULL);
        else if (t->key && keyword(t->key))
            put_text(p, t->kind, t->key, t->text, t->lang, t->key_utf8);
    }
}

static int open_writer(struct tg_writer *w)
{
    static const int type[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    const struct tg_frame *f = &w->shape;
    struct png *p = w->state = calloc(1, sizeof *p);
    if (!p)
        return tg_fail(TG_ENOMEM, "no memory to write a PNG");
    p->w = w;
    p->memory = SIZE_MAX;
    if (!w->opts.bits)
        w->opts.bits = f->depth == TG_U16 ? 16 : 8;
    if (w->opts.bits != (f->depth == TG_U16 ? 16 : 8)) {
        p->row = malloc((size_t)f->w * (size_t)f->channels * (size_t)w->opts.bits / 8);
        if (!p->row)
            return tg_fail(TG_ENOMEM, "no memory to write a PNG");
        if (w->opts.bits == 8)
            tg_warn_once("16 bits are reduced to 8");
    }
    if (setjmp(p->jump))
        return write_error(p);
    p->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, p, on_error, on_warning, p, take, give);
    p->info = p->png ? png_create_info_struct(p->png) : NULL;
    if (!p->info)
        return tg_fail(TG_ENOMEM, "no memory to write a PNG");
    png_set_write_fn(p->png, p, write_bytes, no_flush);
    png_set_benign_errors(p->png, 1); /* a profile or text that libpng refuses is left out */
    png_set_user_limits(p->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    /* libpng picks the filter of each row by its smallest sum; where nothing is compressed that buys nothing. */
    if (w->opts.compression == 0)
        png_set_filter(p->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(p->png, w->opts.compression < 0 ? 6 : w->opts.compression);
    png_set_compression_buffer_size(p->png, 1 << 16);
    png_set_IHDR(p->png, p->info, (png_uint_32)f->w, (png_uint_32)f->h, w->opts.bits, type[f->channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (w->opts.meta)
        put_meta(p, w->opts.meta, f->channels);
    png_write_info(p->png, p->info);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    png_set_swap(p->png);
#endif
    return 0;
}

/* A row in the depth that the file has. */
static const char *convert(const struct png *p, const char *row)
{
    const size_t n = (size_t)p->w->shape.w * (size_t)p->w->shape.channels;
    if (!p->row)
        return row;
    if (p->w->opts.bits == 8)
        for (size_t i = 0; i < n; i++)
            p->row[i] = tg_reduce(((const uint16_t *)row)[i]);
    else
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)p->row)[i] = (uint16_t)((uint8_t)row[i] * 257);
    return (const char *)p->row;
}

static int write_rows(struct tg_writer *w, const char *rows, ptrdiff_t stride, int n)
{
    struct png *p = w->state;
    if (setjmp(p->jump))
        return write_error(p);
    for (p->y = 0; p->y < n; p->y++)
        png_write_row(p->png, (png_const_bytep)convert(p, rows + (ptrdiff_t)p->y * stride));
    return 0;
}

static int finish_writer(struct tg_writer *w)
{
    struct png *p = w->state;
    if (setjmp(p->jump))
        return write_error(p);
    png_write_end(p->png, NULL);
    return 0;
}

static void close_writer(struct tg_writer *w)
{
    struct png *p = w->state;
    if (!p)
        return;
    png_destroy_write_struct(&p->png, &p->info);
    free(p->row);
    free(p);
}

const struct tg_encoder tg_png_encoder = {"png", open_writer, write_rows, finish_writer, close_writer};
