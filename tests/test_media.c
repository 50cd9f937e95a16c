/* Pictures in and out. The files come from libpng and libjpeg directly, and results are read back by them, so that reader and
 * writer are not each other's only witness. */
#include "../app/media.h"
#include "../filters/log.h"
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <png.h>
#include <signal.h>
#include <stdio.h>
/* after stdio.h, which it needs */
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- files ---- */

/* A name in the test's folder; valid for the next 63 calls. */
static char *at(const char *name)
{
    static char buf[64][1024];
    static int i;
    i = (i + 1) % 64;
    snprintf(buf[i], sizeof buf[i], "%s/%s", tg_test_dir(), name);
    return buf[i];
}

static void spill(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

/* A whole file, to be freed. */
static uint8_t *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 24);
    *n = f && bytes ? fread(bytes, 1, 1 << 24, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int temps_left(void)
{
    int n = 0;
    DIR *d = opendir(tg_test_dir());
    for (struct dirent *e; d && (e = readdir(d));)
        n += strlen(e->d_name) > 4 && strcmp(e->d_name + strlen(e->d_name) - 4, ".tmp") == 0;
    if (d)
        closedir(d);
    return n;
}

/* ---- making PNG ---- */

struct png {
    int w, h, type, bits;
    const uint8_t *rows; /* as the file has them: packed, big-endian, w samples wide without padding between rows */
    bool interlaced;
    void (*head)(png_structp png, png_infop info); /* before the header is written */
    void (*body)(png_structp png, png_infop info); /* before the pixels */
    void (*tail)(png_structp png, png_infop info); /* behind them */
};

static int samples_of(int type)
{
    return type == PNG_COLOR_TYPE_RGB ? 3 : type == PNG_COLOR_TYPE_RGBA ? 4 : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2 : 1;
}

static void make_png(const char *path, const struct png *s)
{
    FILE *f = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    const size_t stride = ((size_t)s->w * (size_t)samples_of(s->type) * (size_t)s->bits + 7) / 8;
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)s->w, (png_uint_32)s->h, s->bits, s->type,
                 s->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (s->head)
        s->head(png, info);
    png_write_info(png, info);
    if (s->body)
        s->body(png, info);
    for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
        for (int y = 0; y < s->h; y++)
            png_write_row(png, s->rows + (size_t)y * stride);
    if (s->tail)
        s->tail(png, info);
    png_write_end(png, s->tail ? info : NULL);
    png_destroy_write_struct(&png, &info);
    fclose(f);
}

/* ---- making JPEG ---- */

struct marker {
    int code;
    const void *bytes;
    size_t n;
};

struct jpeg {
    int w, h, quality;
    int hv;                 /* luma factors; 0: libjpeg's */
    J_COLOR_SPACE in, file; /* file: JCS_UNKNOWN for libjpeg's choice */
    const uint8_t *rows;
    bool progressive, arithmetic;
    const jpeg_scan_info *scans;
    int n_scans;
    bool no_adobe;
    int unit, x, y; /* density */
    const struct marker *markers;
    int n_markers;
};

static void make_jpeg(const char *path, const struct jpeg *s)
{
    FILE *f = fopen(path, "wb");
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    c.err = jpeg_std_error(&e);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = (JDIMENSION)s->w;
    c.image_height = (JDIMENSION)s->h;
    c.in_color_space = s->in;
    c.input_components = s->in == JCS_GRAYSCALE ? 1 : s->in == JCS_CMYK ? 4 : 3;
    jpeg_set_defaults(&c);
    if (s->file != JCS_UNKNOWN)
        jpeg_set_colorspace(&c, s->file);
    jpeg_set_quality(&c, s->quality, TRUE);
    if (s->hv) {
        c.comp_info[0].h_samp_factor = s->hv >> 4;
        c.comp_info[0].v_samp_factor = s->hv & 15;
    }
    if (s->progressive)
        jpeg_simple_progression(&c);
    if (s->scans) {
        c.scan_info = s->scans;
        c.num_scans = s->n_scans;
    }
    c.arith_code = s->arithmetic;
    if (s->no_adobe)
        c.write_Adobe_marker = FALSE;
    if (s->x) {
        c.density_unit = (UINT8)s->unit;
        c.X_density = (UINT16)s->x;
        c.Y_density = (UINT16)s->y;
    }
    jpeg_start_compress(&c, TRUE);
    for (int i = 0; i < s->n_markers; i++)
        if (s->markers[i].code == JPEG_APP0 + 2)
            jpeg_write_icc_profile(&c, s->markers[i].bytes, (unsigned)s->markers[i].n);
        else
            jpeg_write_marker(&c, s->markers[i].code, s->markers[i].bytes, (unsigned)s->markers[i].n);
    for (int y = 0; y < s->h; y++) {
        JSAMPROW row = (JSAMPROW)s->rows + (size_t)y * (size_t)s->w * (size_t)c.input_components;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    fclose(f);
}

static uint8_t *noise(size_t n)
{
    uint8_t *p = malloc(n);
    for (size_t i = 0; p && i < n; i++)
        p[i] = (uint8_t)tg_random();
    return p;
}

/* Smooth enough that JPEG keeps it, and different in each row. */
static uint8_t *shades(int w, int h, int channels)
{
    uint8_t *p = malloc((size_t)w * (size_t)h * (size_t)channels);
    for (int i = 0; p && i < w * h * channels; i++) {
        int x = i / channels % w, y = i / channels / w, c = i % channels;
        p[i] = (uint8_t)((x * (3 + c) + y * (5 - c) + (x ^ y) * 2) & 255);
    }
    return p;
}

/* ---- reading and writing through media.h ---- */

struct pic {
    int w, h, channels;
    bool alpha;
    enum tg_depth depth;
    void *data; /* rows without padding */
};

static size_t row_bytes(const struct pic *p)
{
    return (size_t)p->w * (size_t)p->channels * tg_depth_bytes(p->depth);
}

/* Reads all rows, `batch` at a time, into rows with a stride of their own; the reader stays open where r is given. */
static int load_with(struct pic *p, struct tg_reader **keep, const char *path, const struct tg_read_opts *opts,
                     int batch)
{
    struct tg_reader *r;
    *p = (struct pic){0};
    if (keep)
        *keep = NULL;
    int err = tg_reader_open(&r, path, opts);
    if (err)
        return err;
    const struct tg_info *i = tg_reader_info(r);
    *p = (struct pic){i->w, i->h, i->channels, i->has_alpha, i->depth, NULL};
    p->data = malloc(row_bytes(p) * (size_t)p->h);
    size_t stride = row_bytes(p) + 6; /* even, for 16 bits, and not the row's size */
    char *strip = malloc(stride * (size_t)batch);
    for (int y = 0; y < p->h && !err; y += batch) {
        int n = p->h - y < batch ? p->h - y : batch;
        memset(strip, 0x5a, stride * (size_t)batch);
        err = tg_reader_rows(r, strip, (ptrdiff_t)stride, n);
        for (int k = 0; k < n && !err; k++) {
            memcpy((char *)p->data + (size_t)(y + k) * row_bytes(p), strip + (size_t)k * stride, row_bytes(p));
            CHECK_INT(strip[(size_t)k * stride + row_bytes(p)], 0x5a);
        }
    }
    if (!err)
        CHECK_INT(tg_reader_rows(r, strip, (ptrdiff_t)stride, 1), TG_EUSAGE);
    free(strip);
    if (keep && !err)
        *keep = r;
    else
        tg_reader_close(r);
    return err;
}

static int load(struct pic *p, const char *path)
{
    return load_with(p, NULL, path, NULL, 7);
}

static void drop(struct pic *p)
{
    free(p->data);
    *p = (struct pic){0};
}

static int store(const char *path, const char *format, int w, int h, int channels, enum tg_depth depth,
                 const void *data, const struct tg_write_opts *opts)
{
    struct tg_frame f = {.w = w, .h = h, .channels = channels, .depth = depth};
    const ptrdiff_t stride = (ptrdiff_t)((size_t)w * (size_t)channels * tg_depth_bytes(depth));
    struct tg_writer *out;
    int err = tg_writer_open(&out, path, format, &f, opts);
    if (err)
        return err;
    for (int y = 0; y < h && !err; y += 5)
        err = tg_writer_rows(out, (const char *)data + y * stride, stride, h - y < 5 ? h - y : 5);
    if (err) {
        tg_writer_abort(out);
        return err;
    }
    return tg_writer_finish(out);
}

/* A PNG as libpng's own simplest calls see it: no transformation at all, 16 bits big-endian. */
static uint8_t *raw_png(const char *path, int *w, int *h, int *type, int *bits)
{
    FILE *f = fopen(path, "rb");
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, f);
    png_read_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    *w = (int)png_get_image_width(png, info);
    *h = (int)png_get_image_height(png, info);
    *type = png_get_color_type(png, info);
    *bits = png_get_bit_depth(png, info);
    size_t stride = png_get_rowbytes(png, info);
    uint8_t *all = malloc(stride * (size_t)*h);
    for (int y = 0; y < *h; y++)
        memcpy(all + (size_t)y * stride, png_get_rows(png, info)[y], stride);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(f);
    return all;
}

/* A JPEG as libjpeg has it: decoded to its own colour space's default, and its luma factors. */
static uint8_t *raw_jpeg(const char *path, int *w, int *h, int *channels, int *hv)
{
    FILE *f = fopen(path, "rb");
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr e;
    c.err = jpeg_std_error(&e);
    jpeg_create_decompress(&c);
    jpeg_stdio_src(&c, f);
    jpeg_read_header(&c, TRUE);
    *w = (int)c.image_width;
    *h = (int)c.image_height;
    *channels = c.num_components;
    *hv = c.comp_info[0].h_samp_factor << 4 | c.comp_info[0].v_samp_factor;
    jpeg_start_decompress(&c);
    size_t stride = (size_t)*w * (size_t)c.output_components;
    uint8_t *all = malloc(stride * (size_t)*h);
    while (c.output_scanline < c.output_height) {
        JSAMPROW row = all + (size_t)c.output_scanline * stride;
        jpeg_read_scanlines(&c, &row, 1);
    }
    jpeg_finish_decompress(&c);
    CHECK_INT(e.num_warnings, 0);
    jpeg_destroy_decompress(&c);
    fclose(f);
    return all;
}

#define CHECK_BYTES(got, ...)                                   \
    do {                                                        \
        const uint8_t want_[] = {__VA_ARGS__};                  \
        for (size_t i_ = 0; i_ < sizeof want_; i_++)            \
            CHECK_INT(((const uint8_t *)(got))[i_], want_[i_]); \
    } while (0)

/* The picture of a file is exactly this. */
#define CHECK_PICTURE(path, w_, h_, channels_, alpha_, ...)                        \
    do {                                                                           \
        struct pic p_;                                                             \
        CHECK_INT(load(&p_, path), 0);                                             \
        CHECK_INT(p_.w, w_);                                                       \
        CHECK_INT(p_.h, h_);                                                       \
        CHECK_INT(p_.channels, channels_);                                         \
        CHECK_INT(p_.alpha, alpha_);                                               \
        CHECK_INT(p_.depth, TG_U8);                                                \
        if (p_.data && p_.channels == (channels_) && p_.w == (w_) && p_.h == (h_)) \
            CHECK_BYTES(p_.data, __VA_ARGS__);                                     \
        drop(&p_);                                                                 \
    } while (0)

/* ---- PNG: depths and colours ---- */

/* D01 */
TEST(sixteen_bits)
{
    static const uint8_t rows[] = {0, 0, 0, 129, 0, 255, 1, 255, 128, 0, 255, 255};
    static const uint16_t want[] = {0, 129, 255, 511, 32768, 65535};
    char *path = at("d01.png"), *out = at("d01-out.png");
    make_png(path, &(struct png){6, 1, PNG_COLOR_TYPE_GRAY, 16, rows, .interlaced = false});
    struct pic p;
    CHECK_INT(load(&p, path), 0);
    CHECK_INT(p.depth, TG_U16);
    CHECK_INT(p.channels, 1);
    for (int i = 0; i < 6; i++)
        CHECK_INT(((uint16_t *)p.data)[i], want[i]);

    int w, h, type, bits;
    CHECK_INT(store(out, NULL, 6, 1, 1, TG_U16, p.data, NULL), 0);
    uint8_t *raw = raw_png(out, &w, &h, &type, &bits);
    CHECK_INT(bits, 16);
    CHECK(memcmp(raw, rows, sizeof rows) == 0);
    free(raw);

    struct tg_write_opts eight = {.bits = 8, .compression = -1};
    CHECK_INT(store(out, NULL, 6, 1, 1, TG_U16, p.data, &eight), 0);
    raw = raw_png(out, &w, &h, &type, &bits);
    CHECK_INT(bits, 8);
    CHECK_BYTES(raw, 0, 1, 1, 2, 128, 255);
    free(raw);
    drop(&p);

    struct tg_write_opts wide = {.bits = 16, .compression = 0};
    CHECK_INT(store(out, NULL, 3, 1, 1, TG_U8, (const uint8_t[]){0, 1, 255}, &wide), 0);
    raw = raw_png(out, &w, &h, &type, &bits);
    CHECK_INT(bits, 16);
    CHECK_BYTES(raw, 0, 0, 1, 1, 255, 255);
    free(raw);
}

/* Every value in 16 bits against the formula in double, through a PNG of 8. */
TEST(reduce_all)
{
    uint16_t *v = malloc(65536 * sizeof *v);
    for (int i = 0; i < 65536; i++)
        v[i] = (uint16_t)i;
    int w, h, type, bits, bad = 0;
    struct tg_write_opts eight = {.bits = 8, .compression = 1};
    CHECK_INT(store(at("r.png"), NULL, 256, 256, 1, TG_U16, v, &eight), 0);
    uint8_t *raw = raw_png(at("r.png"), &w, &h, &type, &bits);
    for (int i = 0; i < 65536; i++)
        bad += raw[i] != (int)((double)i * 255 / 65535 + 0.5);
    CHECK_INT(bad, 0);
    free(raw);
    free(v);
}

TEST(few_bits)
{
    char *path = at("few.png");
    make_png(path, &(struct png){9, 1, PNG_COLOR_TYPE_GRAY, 1, (const uint8_t[]){0xa5, 0x80}, .interlaced = false});
    CHECK_PICTURE(path, 9, 1, 1, false, 255, 0, 255, 0, 0, 255, 0, 255, 255);
    make_png(path, &(struct png){5, 1, PNG_COLOR_TYPE_GRAY, 2, (const uint8_t[]){0x1b, 0x80}, .interlaced = false});
    CHECK_PICTURE(path, 5, 1, 1, false, 0, 85, 170, 255, 170);
    make_png(path, &(struct png){3, 1, PNG_COLOR_TYPE_GRAY, 4, (const uint8_t[]){0x0f, 0x70}, .interlaced = false});
    CHECK_PICTURE(path, 3, 1, 1, false, 0, 255, 119);
    make_png(path, &(struct png){2, 2, PNG_COLOR_TYPE_RGB, 8, (const uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                 .interlaced = false});
    CHECK_PICTURE(path, 2, 2, 3, false, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    make_png(path, &(struct png){2, 1, PNG_COLOR_TYPE_RGBA, 8, (const uint8_t[]){1, 2, 3, 0, 5, 6, 7, 200},
                                 .interlaced = false});
    CHECK_PICTURE(path, 2, 1, 4, true, 1, 2, 3, 0, 5, 6, 7, 200);
}

static void four_colors(png_structp png, png_infop info)
{
    static const png_color colors[] = {{10, 20, 30}, {40, 50, 60}, {70, 80, 90}, {255, 0, 128}};
    png_set_PLTE(png, info, colors, 4);
}
static void four_colors_two_alphas(png_structp png, png_infop info)
{
    static const png_byte alpha[] = {0, 128};
    four_colors(png, info);
    png_set_tRNS(png, info, alpha, 2, NULL);
}
static void four_colors_no_profile(png_structp png, png_infop info)
{
    four_colors(png, info);
    png_set_gAMA_fixed(png, info, 45455);
}

/* D03 */
TEST(palette)
{
    static const uint8_t rows[] = {0x1b};
    char *path = at("d03.png");
    make_png(path, &(struct png){4, 1, PNG_COLOR_TYPE_PALETTE, 2, rows, .head = four_colors_two_alphas});
    CHECK_PICTURE(path, 4, 1, 4, true, 10, 20, 30, 0, 40, 50, 60, 128, 70, 80, 90, 255, 255, 0, 128, 255);
    make_png(path, &(struct png){4, 1, PNG_COLOR_TYPE_PALETTE, 2, rows, .head = four_colors_no_profile});
    CHECK_PICTURE(path, 4, 1, 3, false, 10, 20, 30, 40, 50, 60, 70, 80, 90, 255, 0, 128);
    struct tg_reader *r;
    CHECK_INT(tg_reader_open(&r, path, NULL), 0);
    CHECK_STR(tg_reader_info(r)->color, "palette");
    CHECK_STR(tg_reader_info(r)->format, "PNG");
    CHECK_INT(tg_reader_info(r)->bits, 2);
    tg_reader_close(r);
}

static void gray_key(png_structp png, png_infop info)
{
    png_set_tRNS(png, info, NULL, 0, &(png_color_16){.gray = 0x0102});
}
static void rgb_key(png_structp png, png_infop info)
{
    png_set_tRNS(png, info, NULL, 0, &(png_color_16){.red = 0x1234, .green = 0x5678, .blue = 0x9abc});
}
static void bit_key(png_structp png, png_infop info)
{
    png_set_tRNS(png, info, NULL, 0, &(png_color_16){.gray = 1});
}

/* Colour keys compare all 16 bits. */
TEST(color_keys)
{
    char *path = at("key.png");
    struct pic p;
    make_png(path, &(struct png){3, 1, PNG_COLOR_TYPE_GRAY, 16, (const uint8_t[]){1, 2, 1, 3, 0, 2}, .head = gray_key});
    CHECK_INT(load(&p, path), 0);
    CHECK_INT(p.channels, 2);
    static const uint16_t gray[] = {0x102, 0, 0x103, 65535, 2, 65535};
    CHECK(p.data && memcmp(p.data, gray, sizeof gray) == 0);
    drop(&p);
    make_png(path,
             &(struct png){2, 1, PNG_COLOR_TYPE_RGB, 16,
                           (const uint8_t[]){0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbd},
                           .head = rgb_key});
    CHECK_INT(load(&p, path), 0);
    CHECK_INT(p.channels, 4);
    static const uint16_t rgb[] = {0x1234, 0x5678, 0x9abc, 0, 0x1234, 0x5678, 0x9abd, 65535};
    CHECK(p.data && memcmp(p.data, rgb, sizeof rgb) == 0);
    drop(&p);
    make_png(path, &(struct png){3, 1, PNG_COLOR_TYPE_GRAY, 1, (const uint8_t[]){0x40}, .head = bit_key});
    CHECK_PICTURE(path, 3, 1, 2, true, 0, 255, 255, 0, 0, 255);
}

/* D05 */
TEST(gray_alpha)
{
    char *path = at("d05.png");
    make_png(path, &(struct png){2, 1, PNG_COLOR_TYPE_GRAY_ALPHA, 8, (const uint8_t[]){200, 255, 200, 0},
                                 .interlaced = false});
    CHECK_PICTURE(path, 2, 1, 2, true, 200, 255, 200, 0);
    int w, h, type, bits;
    CHECK_INT(store(at("d05-out.png"), NULL, 2, 1, 2, TG_U8, (const uint8_t[]){200, 255, 200, 0}, NULL), 0);
    uint8_t *raw = raw_png(at("d05-out.png"), &w, &h, &type, &bits);
    CHECK_INT(type, PNG_COLOR_TYPE_GRAY_ALPHA);
    CHECK_BYTES(raw, 200, 255, 200, 0);
    free(raw);
}

static png_color many[256];
static void many_colors(png_structp png, png_infop info)
{
    png_set_PLTE(png, info, many, 256);
}

/* D07 */
TEST(interlaced)
{
    static const struct {
        int type, bits;
    } kinds[] = {{PNG_COLOR_TYPE_RGB, 8},     {PNG_COLOR_TYPE_RGB, 16},      {PNG_COLOR_TYPE_PALETTE, 8},
                 {PNG_COLOR_TYPE_RGBA, 16},   {PNG_COLOR_TYPE_GRAY, 8},      {PNG_COLOR_TYPE_GRAY, 1},
                 {PNG_COLOR_TYPE_PALETTE, 4}, {PNG_COLOR_TYPE_GRAY_ALPHA, 8}};
    for (int i = 0; i < 256; i++)
        many[i] = (png_color){(png_byte)tg_random(), (png_byte)tg_random(), (png_byte)tg_random()};
    char *plain = at("d07.png"), *laced = at("d07i.png");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int w = 1; w <= 9; w += 4) {
            uint8_t *rows = noise(9 * 9 * 8);
            struct png s = {w, 9, kinds[k].type, kinds[k].bits, rows, .interlaced = false};
            if (kinds[k].type == PNG_COLOR_TYPE_PALETTE) {
                s.head = many_colors;
                for (int i = 0; kinds[k].bits == 4 && i < 16; i++)
                    many[i].red = (png_byte)i;
            }
            if (s.bits == 4 && s.type == PNG_COLOR_TYPE_PALETTE)
                s.head = four_colors;
            for (int i = 0; s.head == four_colors && i < 9 * 9; i++)
                rows[i] &= 0x33;
            struct pic a, b;
            make_png(plain, &s);
            s.interlaced = true;
            make_png(laced, &s);
            CHECK_INT(load(&a, plain), 0);
            CHECK_INT(load_with(&b, NULL, laced, NULL, 4), 0);
            CHECK_INT(a.channels, b.channels);
            CHECK(a.data && b.data && memcmp(a.data, b.data, row_bytes(&a) * 9) == 0);
            if (s.type == PNG_COLOR_TYPE_RGB && s.bits == 8)
                CHECK(a.data && memcmp(a.data, rows, (size_t)w * 9 * 3) == 0);
            drop(&a);
            drop(&b);
            free(rows);
        }
}

static void put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static void animation_control(png_structp png, png_infop info)
{
    (void)info;
    png_write_chunk(png, (png_const_bytep) "acTL", (const uint8_t[]){0, 0, 0, 2, 0, 0, 0, 0}, 8);
}

/* Two frames of 4x4: zlib's stored blocks hold them. */
static void animation_frames(png_structp png, png_infop info)
{
    static const uint8_t color[2][3] = {{0, 255, 0}, {0, 0, 255}};
    (void)info;
    for (uint32_t f = 0; f < 2; f++) {
        uint8_t control[26] = {0}, data[4 + 2 + 5 + 52 + 4], *raw = data + 11;
        put32(control, 2 * f);
        put32(control + 4, 4);
        put32(control + 8, 4);
        control[21] = 10;
        png_write_chunk(png, (png_const_bytep) "fcTL", control, sizeof control);
        put32(data, 2 * f + 1);
        memcpy(data + 4, "\x78\x01\x01\x34\0\xcb\xff", 7);
        uint32_t a = 1, b = 0;
        for (int i = 0; i < 52; i++) {
            raw[i] = i % 13 ? color[f][(i % 13 - 1) % 3] : 0;
            a = (a + raw[i]) % 65521;
            b = (b + a) % 65521;
        }
        put32(raw + 52, b << 16 | a);
        png_write_chunk(png, (png_const_bytep) "fdAT", data, sizeof data);
    }
}

/* D08 */
TEST(animated)
{
    uint8_t red[4 * 4 * 3];
    for (int i = 0; i < 48; i++)
        red[i] = i % 3 ? 0 : 255;
    char *path = at("d08.png");
    make_png(path,
             &(struct png){4, 4, PNG_COLOR_TYPE_RGB, 8, red, .body = animation_control, .tail = animation_frames});
    fflush(stderr);
    int saved = dup(2), file = open(at("said"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, 2);
    struct pic p;
    struct tg_reader *r = NULL;
    int err = load_with(&p, &r, path, NULL, 4);
    dup2(saved, 2);
    close(saved);
    close(file);
    CHECK_INT(err, 0);
    CHECK(r && tg_reader_info(r)->animated);
    CHECK(p.data && memcmp(p.data, red, sizeof red) == 0);
    size_t n;
    char *said = (char *)slurp(at("said"), &n);
    said[n] = 0;
    CHECK_HAS(said, "animated, first image used");
    free(said);
    tg_reader_close(r);
    drop(&p);
}

/* ---- cut and damaged files ---- */

/* Fails by default with a message that has `want`. */
static void refused(const char *path, int code, const char *want)
{
    struct pic p;
    CHECK_INT(load(&p, path), code);
    CHECK_HAS(tg_error(), want);
    drop(&p);
}

/* D10 */
TEST(cut_jpeg)
{
    uint8_t *rows = noise(64 * 64 * 3);
    char *path = at("d10.jpg"), *cut = at("d10-cut.jpg");
    for (int progressive = 0; progressive < 2; progressive++) {
        make_jpeg(path, &(struct jpeg){64, 64, 90, .in = JCS_RGB, .rows = rows, .progressive = progressive});
        size_t n;
        uint8_t *bytes = slurp(path, &n);
        spill(cut, bytes, n * 6 / 10);
        refused(cut, TG_EFORMAT, "at about row ");
        int row = -1;
        const char *said = strstr(tg_error(), "row ");
        CHECK(said && sscanf(said, "row %d of 64", &row) == 1);
        if (!progressive)
            CHECK(row >= 24 && row <= 48);
        struct pic whole, part;
        CHECK_INT(load(&whole, path), 0);
        CHECK_INT(load_with(&part, NULL, cut, &(struct tg_read_opts){.lenient = true}, 64), 0);
        CHECK_INT(part.h, 64);
        if (!progressive) /* what comes before the cut is whole; a row of blocks may lean on the next one */
            CHECK(part.data && memcmp(part.data, whole.data, 15 * row_bytes(&whole)) == 0);
        drop(&whole);
        drop(&part);
        /* All pixels, but no end marker. */
        spill(cut, bytes, n - 2);
        refused(cut, TG_EFORMAT, "cut or damaged");
        /* Garbage in the middle of the data. */
        memset(bytes + n / 2, 0xff, 40);
        spill(cut, bytes, n);
        refused(cut, TG_EFORMAT, "cut or damaged");
        free(bytes);
    }
    free(rows);
}

/* Bytes between segments, and zeros for a sequential scan's parameters, are faults that cost no pixel. */
TEST(harmless_jpeg)
{
    uint8_t *rows = shades(40, 40, 3);
    char *path = at("harmless.jpg");
    make_jpeg(path, &(struct jpeg){40, 40, 90, .in = JCS_RGB, .rows = rows});
    size_t n;
    uint8_t *bytes = slurp(path, &n), *more = malloc(n + 3);
    const size_t jfif = 2 + 2 + 16;
    memcpy(more, bytes, jfif);
    memset(more + jfif, 0, 3);
    memcpy(more + jfif + 3, bytes + jfif, n - jfif);
    struct pic a, b;
    CHECK_INT(load(&a, path), 0);
    spill(path, more, n + 3);
    CHECK_INT(load(&b, path), 0);
    CHECK(a.data && b.data && memcmp(a.data, b.data, row_bytes(&a) * 40) == 0);
    drop(&b);
    for (size_t i = 0; i + 14 < n; i++)
        if (bytes[i] == 0xff && bytes[i + 1] == 0xda) {
            CHECK_INT(bytes[i + 12], 63);
            bytes[i + 12] = 0;
            break;
        }
    spill(path, bytes, n);
    CHECK_INT(load(&b, path), 0);
    CHECK(a.data && b.data && memcmp(a.data, b.data, row_bytes(&a) * 40) == 0);
    drop(&a);
    drop(&b);
    free(more);
    free(bytes);
    free(rows);
}

/* D11 */
TEST(cut_png)
{
    char *path = at("d11.png"), *cut = at("d11-cut.png");
    for (int laced = 0; laced < 2; laced++) {
        uint8_t *rows = noise(64 * 64 * 3);
        make_png(path, &(struct png){64, 64, PNG_COLOR_TYPE_RGB, 8, rows, .interlaced = laced});
        size_t n;
        uint8_t *bytes = slurp(path, &n);
        spill(cut, bytes, 20);
        refused(cut, TG_EFORMAT, "cut or damaged");
        spill(cut, bytes, n / 2);
        refused(cut, TG_EFORMAT, "at about row ");
        struct pic p;
        CHECK_INT(load_with(&p, NULL, cut, &(struct tg_read_opts){.lenient = true}, 10), 0);
        if (!laced && p.data) {
            CHECK(memcmp(p.data, rows, 25 * row_bytes(&p)) == 0);
            for (size_t i = 40 * row_bytes(&p); i < 64 * row_bytes(&p); i++)
                CHECK_INT(((uint8_t *)p.data)[i], 0);
        }
        drop(&p);
        uint8_t *padded = calloc(1, n);
        memcpy(padded, bytes, n / 2);
        spill(cut, padded, n);
        refused(cut, TG_EFORMAT, "cut or damaged");
        free(padded);
        /* Cut between the last row and IEND, and inside IEND. */
        spill(cut, bytes, n - 12);
        refused(cut, TG_EFORMAT, "after its last row");
        CHECK_INT(load_with(&p, NULL, cut, &(struct tg_read_opts){.lenient = true}, 10), 0);
        CHECK(p.data && memcmp(p.data, rows, 64 * 64 * 3) == 0);
        drop(&p);
        spill(cut, bytes, n - 3);
        refused(cut, TG_EFORMAT, "after its last row");
        /* A checksum that is wrong while the data are right. */
        bytes[n - 13] ^= 1;
        spill(cut, bytes, n);
        refused(cut, TG_EFORMAT, "CRC");
        CHECK_INT(load_with(&p, NULL, cut, &(struct tg_read_opts){.lenient = true}, 10), 0);
        CHECK(p.data && memcmp(p.data, rows, 64 * 64 * 3) == 0);
        drop(&p);
        free(bytes);
        free(rows);
    }
}

/* A header that declares w x h pixels, and next to nothing behind it. */
static size_t tiny_png(uint8_t *bytes, uint32_t w, uint32_t h, int interlaced)
{
    static const uint8_t begin[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
    static const uint8_t end[] = {0, 0, 0, 4, 'I', 'D', 'A', 'T', 1, 2, 3, 4, 0, 0, 0, 0};
    memcpy(bytes, begin, sizeof begin);
    put32(bytes + 16, w);
    put32(bytes + 20, h);
    memcpy(bytes + 24, (const uint8_t[]){8, 2, 0, 0, (uint8_t)interlaced}, 5);
    uint32_t crc = 0xffffffff; /* ISO 3309 */
    for (int i = 12; i < 29; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    put32(bytes + 29, ~crc);
    memcpy(bytes + 33, end, sizeof end);
    return 33 + sizeof end;
}

/* D14 */
TEST(bombs)
{
    uint8_t bytes[64];
    char *path = at("d14.png");
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int laced = 0; laced < 2; laced++) {
        spill(path, bytes, tiny_png(bytes, 65535, 65535, laced));
        refused(path, TG_ELIMIT, "65535 x 65535 pixels are more than the limit of 1073741824");
        spill(path, bytes, tiny_png(bytes, 0x7fffffff, 0x7fffffff, laced));
        refused(path, TG_ELIMIT, "limit");
        spill(path, bytes, tiny_png(bytes, 30000, 30000, laced));
        refused(path, TG_EFORMAT, "cannot be in its 49 bytes");
        spill(path, bytes, tiny_png(bytes, 0, 10, laced));
        refused(path, TG_EFORMAT, "cut or damaged PNG");
    }
    uint8_t *rows = shades(20, 10, 3);
    make_jpeg(at("d14.jpg"), &(struct jpeg){20, 10, 90, .in = JCS_RGB, .rows = rows});
    struct tg_reader *r;
    CHECK_INT(tg_reader_open(&r, at("d14.jpg"), &(struct tg_read_opts){.max_pixels = 199}), TG_ELIMIT);
    CHECK_HAS(tg_error(), "20 x 10 pixels are more than the limit of 199");
    CHECK_INT(tg_reader_open(&r, at("d14.jpg"), &(struct tg_read_opts){.max_pixels = 200}), 0);
    tg_reader_close(r);
    size_t n;
    uint8_t *jpeg = slurp(at("d14.jpg"), &n);
    for (size_t i = 0; i + 9 < n; i++)
        if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) {
            memset(jpeg + i + 5, 0x70, 4);
            break;
        }
    spill(at("d14.jpg"), jpeg, n);
    refused(at("d14.jpg"), TG_EFORMAT, "28784 x 28784 pixels cannot be in its");
    free(jpeg);
    free(rows);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 20 << 10);
}

/* Each scan costs a pass over the picture: a file of a thousand is refused, lenient or not. */
TEST(many_scans)
{
    static jpeg_scan_info scans[1 + 63 * 9];
    int n = 0;
    scans[n++] = (jpeg_scan_info){3, {0, 1, 2}, 0, 0, 0, 0};
    for (int c = 0; c < 3; c++)
        for (int k = 1; k < 64; k++)
            for (int bit = 2; bit >= 0; bit--)
                scans[n++] = (jpeg_scan_info){1, {c}, k, k, bit == 2 ? 0 : bit + 1, bit};
    uint8_t *rows = shades(32, 32, 3);
    char *path = at("scans.jpg");
    make_jpeg(path, &(struct jpeg){32, 32, 90, .in = JCS_RGB, .rows = rows, .scans = scans, .n_scans = n});
    refused(path, TG_EFORMAT, "more than 500 scans");
    struct pic p;
    CHECK_INT(load_with(&p, NULL, path, &(struct tg_read_opts){.lenient = true}, 8), TG_EFORMAT);
    drop(&p);
    free(rows);
}

static void long_text(png_structp png, png_infop info)
{
    static char text[4 << 20];
    memset(text, 'x', sizeof text - 1);
    png_text t[40];
    for (int i = 0; i < 40; i++)
        t[i] = (png_text){
            .compression = PNG_TEXT_COMPRESSION_zTXt, .key = "Comment", .text = text, .text_length = sizeof text - 1};
    png_set_text(png, info, t, 40);
}

/* 160 MB of text from 160 KB: what does not fit is left out, the picture is read. */
TEST(text_bomb)
{
    char *path = at("text.png");
    make_png(path, &(struct png){2, 1, PNG_COLOR_TYPE_GRAY, 8, (const uint8_t[]){3, 4}, .head = long_text});
    struct tg_reader *r;
    struct pic p;
    CHECK_INT(load_with(&p, &r, path, NULL, 1), 0);
    if (!p.data)
        return;
    CHECK_BYTES(p.data, 3, 4);
    CHECK(tg_reader_info(r)->meta.n_texts >= 1);
    CHECK(tg_reader_info(r)->meta.n_texts <= 16);
    tg_reader_close(r);
    drop(&p);
}

/* D13 */
TEST(by_content)
{
    uint8_t *rows = shades(16, 16, 3);
    struct pic a, b;
    make_png(at("a.png"), &(struct png){16, 16, PNG_COLOR_TYPE_RGB, 8, rows, .interlaced = false});
    make_png(at("x.jpg"), &(struct png){16, 16, PNG_COLOR_TYPE_RGB, 8, rows, .interlaced = false});
    make_jpeg(at("a.jpg"), &(struct jpeg){16, 16, 90, .in = JCS_RGB, .rows = rows});
    make_jpeg(at("y.png"), &(struct jpeg){16, 16, 90, .in = JCS_RGB, .rows = rows});
    for (int i = 0; i < 2; i++) {
        CHECK_INT(load(&a, at(i ? "a.jpg" : "a.png")), 0);
        CHECK_INT(load(&b, at(i ? "y.png" : "x.jpg")), 0);
        CHECK(a.data && b.data && memcmp(a.data, b.data, row_bytes(&a) * 16) == 0);
        drop(&a);
        drop(&b);
    }
    free(rows);

    static const struct {
        const char *bytes;
        size_t n;
        const char *said;
    } others[] = {
        {"plain words\n", 12, "is text, not a PNG or JPEG picture"},
        {"GIF89a\1\0\1\0", 10, "is a GIF picture"},
        {"II*\0\10\0\0\0", 8, "is a TIFF picture"},
        {"MM\0*\0\0\0\10", 8, "is a TIFF picture"},
        {"RIFF\20\0\0\0WEBPVP8 ", 16, "is a WebP picture"},
        {"BM\66\0\0\0\0\0\0\0", 10, "is a BMP picture"},
        {"%PDF-1.7\n", 9, "is a PDF file"},
        {"\0\0\0\40ftypavif\0\0\0\0", 16, "is an AVIF picture"},
        {"\0\0\0\40ftypheic\0\0\0\0", 16, "is a HEIC picture"},
        {"\0\0\0\14JXL \r\n\207\n", 12, "is a JPEG XL picture"},
        {"\377\12\1\2\3\4\5\6", 8, "is a JPEG XL picture"},
        {"\37\213\10\0\0\0\0\0", 8, "is a gzip file"},
        {"YUV4MPEG2 W2 H2\n", 16, "is a Y4M video"},
        {"P6\n1 1\n255\nabc", 14, "is a PNM picture"},
        {"\0\0\0\0\0\0\0\0\0", 9, "is zeros"},
        {"\211PNG\n\32\n\0\0\0\15", 11, "transfer in text mode"},
        {"", 0, "is an empty file"},
        {"\211PNG", 4, "is truncated: it has 4 bytes"},
        {"\377\330\377\340\0\20JF", 8, "cut or damaged JPEG"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        spill(at("z.png"), others[i].bytes, others[i].n);
        refused(at("z.png"), TG_EFORMAT, others[i].said);
    }
    refused(tg_test_dir(), TG_EFORMAT, "is a folder");
    refused(at("not-there.png"), TG_EIO, "No such file");
}

/* ---- JPEG: colours ---- */

TEST(jpeg_plain)
{
    char *path = at("plain.jpg");
    static const int hv[] = {0x11, 0x21, 0x22, 0x12, 0x41};
    static const char *const name[] = {"YCbCr 4:4:4", "YCbCr 4:2:2", "YCbCr 4:2:0", "YCbCr 4:4:0", "YCbCr 4:1:1"};
    uint8_t *rows = shades(61, 37, 3);
    for (int k = 0; k < 5; k++)
        for (int progressive = 0; progressive < 2; progressive++) {
            make_jpeg(path, &(struct jpeg){61, 37, 85, hv[k], JCS_RGB, .rows = rows, .progressive = progressive});
            struct pic p;
            struct tg_reader *r;
            CHECK_INT(load_with(&p, &r, path, NULL, 1 + 30 * progressive), 0);
            if (!p.data)
                continue;
            const struct tg_info *i = tg_reader_info(r);
            CHECK_STR(i->color, name[k]);
            CHECK_STR(i->format, "JPEG");
            CHECK_INT(i->progressive, progressive);
            CHECK_INT(i->meta.jpeg_sampling, hv[k]);
            int w, h, channels, got;
            uint8_t *want = raw_jpeg(path, &w, &h, &channels, &got);
            CHECK_INT(p.w, 61);
            CHECK_INT(p.h, 37);
            CHECK(memcmp(p.data, want, 61 * 37 * 3) == 0);

            /* Written again, the sampling is the source's. */
            struct tg_write_opts o = {.meta = &i->meta, .quality = 95};
            CHECK_INT(store(at("again.jpg"), NULL, 61, 37, 3, TG_U8, p.data, &o), 0);
            free(want);
            want = raw_jpeg(at("again.jpg"), &w, &h, &channels, &got);
            CHECK_INT(got, hv[k]);
            free(want);
            tg_reader_close(r);
            drop(&p);
        }
    free(rows);
    rows = shades(20, 20, 1);
    make_jpeg(path, &(struct jpeg){20, 20, 100, .in = JCS_GRAYSCALE, .rows = rows});
    struct pic p;
    CHECK_INT(load(&p, path), 0);
    CHECK_INT(p.channels, 1);
    int w, h, channels, hv1;
    uint8_t *want = raw_jpeg(path, &w, &h, &channels, &hv1);
    CHECK(p.data && memcmp(p.data, want, 400) == 0);
    free(want);
    drop(&p);
    free(rows);
    /* No source: by quality. */
    rows = shades(16, 16, 3);
    for (int q = 89; q <= 90; q++) {
        CHECK_INT(store(path, NULL, 16, 16, 3, TG_U8, rows, &(struct tg_write_opts){.quality = q}), 0);
        want = raw_jpeg(path, &w, &h, &channels, &hv1);
        CHECK_INT(hv1, q < 90 ? 0x22 : 0x11);
        free(want);
    }
    free(rows);
}

/* One colour all over, so that the coding is exact but for the conversion. */
static uint8_t *flat(int n, const uint8_t *pixel, int channels)
{
    uint8_t *p = malloc((size_t)n * (size_t)channels);
    for (int i = 0; p && i < n * channels; i++)
        p[i] = pixel[i % channels];
    return p;
}

static void check_flat(const char *path, int channels, const int *want, int tolerance)
{
    struct pic p;
    CHECK_INT(load(&p, path), 0);
    CHECK_INT(p.channels, channels);
    for (int i = 0; p.data && p.channels == channels && i < p.w * p.h * channels; i++)
        if (abs(((uint8_t *)p.data)[i] - want[i % channels]) > tolerance) {
            CHECK_NEAR(((uint8_t *)p.data)[i], want[i % channels], tolerance);
            break;
        }
    drop(&p);
}

/* R = (255 - C)(255 - K) / 255; with Adobe's marker 255 means no ink. */
TEST(cmyk)
{
    static const uint8_t ink[] = {200, 100, 30, 128};
    static const int inverted[] = {100, 50, 15}; /* 200 * 128 / 255, ... */
    static const int straight[] = {27, 77, 112}; /* 55 * 127 / 255, ... */
    uint8_t *rows = flat(32 * 32, ink, 4);
    char *path = at("cmyk.jpg");
    make_jpeg(path, &(struct jpeg){32, 32, 100, .in = JCS_CMYK, .rows = rows});
    check_flat(path, 3, inverted, 0);
    make_jpeg(path, &(struct jpeg){32, 32, 100, .in = JCS_CMYK, .rows = rows, .no_adobe = true});
    check_flat(path, 3, straight, 0);
    make_jpeg(path, &(struct jpeg){32, 32, 100, .in = JCS_CMYK, .file = JCS_YCCK, .rows = rows});
    check_flat(path, 3, inverted, 1);
    struct tg_reader *r;
    CHECK_INT(tg_reader_open(&r, path, NULL), 0);
    CHECK_STR(tg_reader_info(r)->color, "YCCK");
    tg_reader_close(r);
    free(rows);
    rows = flat(32 * 32, (const uint8_t[]){10, 200, 90}, 3);
    make_jpeg(path, &(struct jpeg){32, 32, 100, .in = JCS_RGB, .file = JCS_RGB, .rows = rows});
    check_flat(path, 3, (const int[]){10, 200, 90}, 0);
    free(rows);
}

/* Kinds of JPEG that are named when they cannot be read. */
TEST(other_jpeg)
{
    uint8_t *rows = shades(24, 24, 3);
    char *path = at("other.jpg");
    make_jpeg(path, &(struct jpeg){24, 24, 90, .in = JCS_RGB, .rows = rows});
    size_t n, sof = 0;
    uint8_t *bytes = slurp(path, &n);
    while (sof + 5 < n && !(bytes[sof] == 0xff && bytes[sof + 1] == 0xc0))
        sof++;
    bytes[sof + 4] = 12;
    spill(path, bytes, n);
    refused(path, TG_EFORMAT, "is a JPEG of 12 bits a sample");
    bytes[sof + 4] = 8;
    bytes[sof + 1] = 0xc5;
    spill(path, bytes, n);
    refused(path, TG_EFORMAT, "lossless or hierarchical JPEG (SOF5)");
    free(bytes);
#ifdef C_ARITH_CODING_SUPPORTED
    struct pic a, b;
    make_jpeg(path, &(struct jpeg){24, 24, 90, .in = JCS_RGB, .rows = rows});
    CHECK_INT(load(&a, path), 0);
    make_jpeg(path, &(struct jpeg){24, 24, 90, .in = JCS_RGB, .rows = rows, .arithmetic = true});
    CHECK_INT(load(&b, path), 0);
    CHECK(a.data && b.data && memcmp(a.data, b.data, 24 * 24 * 3) == 0);
    drop(&a);
    drop(&b);
#endif
    free(rows);
}

/* D19 */
TEST(alpha_to_jpeg)
{
    char *path = at("d19.jpg");
    struct tg_write_opts white = {.quality = 100, .background = {255, 255, 255}};
    uint8_t *rows = flat(16 * 16, (const uint8_t[]){255, 0, 0, 128}, 4);
    CHECK_INT(store(path, NULL, 16, 16, 4, TG_U8, rows, &white), 0);
    check_flat(path, 3, (const int[]){255, 127, 127}, 1);
    free(rows);
    rows = flat(16 * 16, (const uint8_t[]){255, 0, 0, 0}, 4);
    CHECK_INT(store(path, NULL, 16, 16, 4, TG_U8, rows, &white), 0);
    check_flat(path, 3, (const int[]){255, 255, 255}, 0);
    free(rows);

    /* Gray is exact at quality 100: every alpha over black and white, against the formula in double. */
    int w, h, channels, hv;
    for (int a = 0; a < 256; a += 5)
        for (int v = 0; v < 256; v += 51) {
            uint8_t pixel[2] = {(uint8_t)v, (uint8_t)a};
            uint16_t wide[2] = {(uint16_t)(v * 257), (uint16_t)(a * 257)}, *rows16 = malloc(64 * sizeof wide);
            for (int i = 0; i < 64; i++)
                memcpy(rows16 + 2 * (ptrdiff_t)i, wide, sizeof wide);
            rows = flat(64, pixel, 2);
            const int want = (int)(v * a / 255. + 255. * (255 - a) / 255 + 0.5);
            CHECK_INT(store(path, NULL, 8, 8, 2, TG_U8, rows, &white), 0);
            uint8_t *got = raw_jpeg(path, &w, &h, &channels, &hv);
            CHECK_INT(channels, 1);
            CHECK_INT(got[9], want);
            free(got);
            CHECK_INT(store(path, NULL, 8, 8, 2, TG_U16, rows16, &white), 0);
            got = raw_jpeg(path, &w, &h, &channels, &hv);
            CHECK_INT(got[9], want);
            free(got);
            free(rows16);
            free(rows);
        }
    /* On a coloured background gray becomes RGB. */
    struct tg_write_opts blue = {.quality = 100, .background = {0, 0, 255}};
    rows = flat(16 * 16, (const uint8_t[]){200, 0}, 2);
    CHECK_INT(store(path, NULL, 16, 16, 2, TG_U8, rows, &blue), 0);
    check_flat(path, 3, (const int[]){0, 0, 255}, 1);
    free(rows);
}

/* ---- orientation ---- */

/* EXIF with an orientation, the picture's size, and a thumbnail of four bytes; 110 bytes. */
static size_t make_exif(uint8_t *p, bool big, int orientation, int w, int h)
{
    const struct {
        int at, n;
        uint32_t v;
    } fields[] = {
        {2, 2, 42},      {4, 4, 8},  {8, 2, 2}, /* IFD0 */
        {10, 2, 0x112},  {12, 2, 3}, {14, 4, 1}, {18, 2, (uint32_t)orientation},
        {22, 2, 0x8769}, {24, 2, 4}, {26, 4, 1}, {30, 4, 38},
        {34, 4, 68},     {38, 2, 2}, /* the EXIF directory */
        {40, 2, 0xa002}, {42, 2, 3}, {44, 4, 1}, {48, 2, (uint32_t)w},
        {52, 2, 0xa003}, {54, 2, 4}, {56, 4, 1}, {60, 4, (uint32_t)h},
        {68, 2, 2}, /* IFD1 */
        {70, 2, 0x201},  {72, 2, 4}, {74, 4, 1}, {78, 4, 102},
        {82, 2, 0x202},  {84, 2, 4}, {86, 4, 1}, {90, 4, 4},
    };
    memset(p, 0, 110);
    memcpy(p, big ? "MM" : "II", 2);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        for (int k = 0; k < fields[i].n; k++)
            p[fields[i].at + k] = (uint8_t)(fields[i].v >> 8 * (big ? fields[i].n - 1 - k : k));
    memcpy(p + 102, "\xff\xd8\xff\xd9", 4);
    return 110;
}

/* D16 */
TEST(orientation)
{
    static const uint8_t quadrant[4][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 255}}; /* TL TR BL BR */
    static const int top_left[] = {0, 1, 3, 2, 0, 2, 3, 1};
    uint8_t rows[8 * 16 * 3];
    for (int i = 0; i < 8 * 16; i++)
        memcpy(rows + 3 * (ptrdiff_t)i, quadrant[(i / 16 >= 4) * 2 + (i % 16 >= 8)], 3);
    char *path = at("d16.jpg");
    for (int big = 0; big < 2; big++)
        for (int o = 1; o <= 8; o++) {
            uint8_t exif[6 + 110] = "Exif\0";
            make_exif(exif + 6, big, o, 16, 8);
            const struct marker m = {JPEG_APP0 + 1, exif, sizeof exif};
            make_jpeg(path, &(struct jpeg){16, 8, 100, 0x11, JCS_RGB, .rows = rows, .markers = &m, .n_markers = 1});
            struct pic p;
            struct tg_reader *r;
            CHECK_INT(load_with(&p, &r, path, NULL, 8), 0);
            if (!p.data)
                continue;
            CHECK_INT(tg_reader_info(r)->orientation, o);
            struct tg_image up = {.planes = 3, .w = o > 4 ? 8 : 16, .h = o > 4 ? 16 : 8, .depth = TG_U8};
            CHECK_INT(tg_image_alloc(&up), 0);
            struct tg_frame f = {p.data, 16, 8, 3, 48, TG_U8};
            tg_unpack(&f, 0, 8, o, false, &up);
            for (int c = 0; c < 3; c++)
                CHECK_NEAR(((uint8_t *)up.plane[c])[0], quadrant[top_left[o - 1]][c], 3);
            tg_image_free(&up);
            tg_reader_close(r);
            drop(&p);
        }
    /* Damaged: upright. */
    uint8_t exif[110];
    struct tg_meta m = {.exif = exif};
    CHECK_INT(tg_meta_orientation(&m), 1);
    for (int bad = 0; bad < 5; bad++) {
        m.exif_size = make_exif(exif, true, bad == 0 ? 9 : bad == 1 ? 0 : 6, 16, 8);
        if (bad == 2)
            exif[2] = 1;
        if (bad == 3)
            memset(exif + 4, 0xff, 4);
        if (bad == 4)
            m.exif_size = 21;
        CHECK_INT(tg_meta_orientation(&m), 1);
        tg_meta_upright(&m, 5, 5);
    }
}

TEST(upright)
{
    static const char packet[] = "<x tiff:Orientation=\"6\" a='6'><tiff:Orientation>8</tiff:Orientation><b>8</b>"
                                 "<c tiff:Orientation = '12' />";
    for (int big = 0; big < 2; big++) {
        uint8_t exif[110];
        char xmp[sizeof packet];
        memcpy(xmp, packet, sizeof packet);
        struct tg_meta m = {.exif = exif,
                            .exif_size = make_exif(exif, big, 6, 16, 8),
                            .xmp = (uint8_t *)xmp,
                            .xmp_size = sizeof packet - 1,
                            .jpeg_sampling = 0x21};
        tg_meta_upright(&m, 8, 70000);
        CHECK_INT(tg_meta_orientation(&m), 1);
        CHECK_INT(m.jpeg_sampling, 0x12);
        CHECK_INT(exif[big ? 49 : 48], 8);
        CHECK_INT(exif[big ? 48 : 49], 0);
        CHECK(memcmp(exif + 60, big ? "\0\1\x11\x70" : "\x70\x11\1\0", 4) == 0);
        CHECK(memcmp(exif + 34, "\0\0\0\0", 4) == 0);  /* no second directory */
        CHECK(memcmp(exif + 102, "\0\0\0\0", 4) == 0); /* no thumbnail */
        CHECK_STR(xmp, "<x tiff:Orientation=\"1\" a='6'><tiff:Orientation>1</tiff:Orientation><b>8</b>"
                       "<c tiff:Orientation = '12' />");
        tg_meta_upright(&m, 70000, 8);
        CHECK_INT(m.jpeg_sampling, 0x12);
        CHECK_INT(exif[big ? 43 : 42], 4); /* does not fit into 16 bits: the type grew */
        CHECK(memcmp(exif + 48, big ? "\0\1\x11\x70" : "\x70\x11\1\0", 4) == 0);
    }
}

/* D17: loads, turns, saves; twice. */
TEST(turn_once)
{
    uint8_t exif[6 + 110] = "Exif\0", *rows = shades(16, 8, 3);
    make_exif(exif + 6, false, 6, 16, 8);
    const struct marker marker = {JPEG_APP0 + 1, exif, sizeof exif};
    make_jpeg(at("turn.jpg"),
              &(struct jpeg){16, 8, 95, .in = JCS_RGB, .rows = rows, .markers = &marker, .n_markers = 1});
    for (int pass = 0; pass < 2; pass++) {
        struct pic p;
        struct tg_reader *r;
        CHECK_INT(load_with(&p, &r, at("turn.jpg"), NULL, 16), 0);
        if (!p.data)
            break;
        const struct tg_info *i = tg_reader_info(r);
        CHECK_INT(i->orientation, pass ? 1 : 6);
        CHECK_INT(p.w, pass ? 8 : 16);
        struct tg_image up = {.planes = 3, .w = 8, .h = 16, .depth = TG_U8};
        CHECK_INT(tg_image_alloc(&up), 0);
        struct tg_frame f = {p.data, p.w, p.h, 3, p.w * 3, TG_U8};
        tg_unpack(&f, 0, p.h, i->orientation, false, &up);
        uint8_t out[8 * 16 * 3];
        f = (struct tg_frame){out, 8, 16, 3, 24, TG_U8};
        tg_pack(&up, 0, false, &f);
        struct tg_meta m = i->meta;
        tg_meta_upright(&m, 8, 16);
        CHECK_INT(store(at("turn.jpg"), NULL, 8, 16, 3, TG_U8, out, &(struct tg_write_opts){.quality = 95, .meta = &m}),
                  0);
        tg_image_free(&up);
        tg_reader_close(r);
        drop(&p);
    }
    struct tg_reader *r;
    CHECK_INT(tg_reader_open(&r, at("turn.jpg"), NULL), 0);
    CHECK_INT(tg_reader_info(r)->orientation, 1);
    CHECK_INT(tg_reader_info(r)->w, 8);
    CHECK_INT(tg_reader_info(r)->meta.exif_size, 110);
    tg_reader_close(r);
    free(rows);
}

/* ---- what a picture carries ---- */

/* A profile that libpng takes: a header, no tags, and noise, since it refuses a few dozen compressed bytes as too short. */
static void make_icc(uint8_t *p, size_t n, const char *space)
{
    memset(p, 0, 132);
    for (size_t i = 132; i < n; i++)
        p[i] = (uint8_t)tg_random();
    put32(p, (uint32_t)n);
    memcpy(p + 8, "\4\x20\0\0mntr", 8);
    memcpy(p + 16, space, 4);
    memcpy(p + 20, "XYZ ", 4);
    memcpy(p + 36, "acsp", 4);
    memcpy(p + 68, "\0\0\xf6\xd6\0\1\0\0\0\0\xd3\x2d", 12);
}

static uint8_t icc_rgb[332], icc_other[332], exif_plain[110];
static const char xmp_plain[] = "<?xpacket begin?><x:xmpmeta/><?xpacket end='w'?>";

static void carry(png_structp png, png_infop info)
{
    make_icc(icc_rgb, sizeof icc_rgb, "RGB ");
    make_exif(exif_plain, true, 1, 2, 1);
    png_set_iCCP(png, info, "p", 0, icc_rgb, sizeof icc_rgb);
    png_set_eXIf_1(png, info, sizeof exif_plain, exif_plain);
    png_set_pHYs(png, info, 11811, 11811, PNG_RESOLUTION_METER);
    png_text t[] = {
        {.compression = PNG_TEXT_COMPRESSION_NONE, .key = "Comment", .text = "a few words", .text_length = 11},
        {.compression = PNG_TEXT_COMPRESSION_zTXt, .key = "Author", .text = "some one", .text_length = 8},
        {.compression = PNG_ITXT_COMPRESSION_NONE,
         .key = "Title",
         .text = "\xc3\xa4",
         .itxt_length = 2,
         .lang = "de",
         .lang_key = "Titel"},
        {.compression = PNG_ITXT_COMPRESSION_zTXt,
         .key = "XML:com.adobe.xmp",
         .text = (char *)xmp_plain,
         .itxt_length = sizeof xmp_plain - 1,
         .lang = "",
         .lang_key = ""},
    };
    png_set_text(png, info, t, 4);
}

static void late(png_structp png, png_infop info)
{
    png_text t = {.compression = PNG_TEXT_COMPRESSION_NONE, .key = "Late", .text = "behind", .text_length = 6};
    png_set_text(png, info, &t, 1);
}

static const char *text_of(const struct tg_meta *m, const char *key, int *kind)
{
    for (int i = 0; i < m->n_texts; i++)
        if (m->texts[i].key ? strcmp(m->texts[i].key, key) == 0 : m->texts[i].kind == 3 && !*key) {
            *kind = m->texts[i].kind;
            return m->texts[i].text;
        }
    *kind = -1;
    return NULL;
}

/* Reads path, and writes its pixels and what it carries to out. */
static void through(const char *path, const char *out)
{
    struct pic p;
    struct tg_reader *r;
    CHECK_INT(load_with(&p, &r, path, NULL, 8), 0);
    if (!p.data)
        return;
    struct tg_write_opts o = {.meta = &tg_reader_info(r)->meta, .compression = -1, .background = {255, 255, 255}};
    CHECK_INT(store(out, NULL, p.w, p.h, p.channels, p.depth, p.data, &o), 0);
    tg_reader_close(r);
    drop(&p);
}

static void check_carried(const struct tg_meta *m)
{
    CHECK_INT(m->icc_size, sizeof icc_rgb);
    CHECK(m->icc && memcmp(m->icc, icc_rgb, sizeof icc_rgb) == 0);
    CHECK_INT(m->exif_size, sizeof exif_plain);
    CHECK(m->exif && memcmp(m->exif, exif_plain, sizeof exif_plain) == 0);
    CHECK_INT(m->xmp_size, sizeof xmp_plain - 1);
    CHECK(m->xmp && memcmp(m->xmp, xmp_plain, sizeof xmp_plain - 1) == 0);
    CHECK_INT(m->density_unit, 2);
    CHECK_INT(m->density_x, 11811);
    CHECK_INT(m->density_y, 11811);
}

/* PNG to PNG to JPEG to JPEG to PNG. */
TEST(carried)
{
    static const char *const chain[] = {"m0.png", "m1.png", "m2.jpg", "m3.jpg", "m4.png"};
    make_png(at(chain[0]), &(struct png){2, 1, PNG_COLOR_TYPE_RGB, 8, (const uint8_t[]){1, 2, 3, 4, 5, 6},
                                         .head = carry, .tail = late});
    for (int i = 0; i < 5; i++) {
        struct pic p;
        struct tg_reader *r;
        if (i)
            through(at(chain[i - 1]), at(chain[i]));
        CHECK_INT(load_with(&p, &r, at(chain[i]), NULL, 1), 0);
        if (!p.data)
            return;
        const struct tg_meta *m = &tg_reader_info(r)->meta;
        int kind;
        check_carried(m);
        bool jpeg = i == 2 || i == 3;
        const char *comment = text_of(m, jpeg ? "" : "Comment", &kind);
        CHECK_STR(comment, "a few words");
        CHECK_INT(kind, jpeg ? 3 : 0);
        if (i < 2) {
            CHECK_STR(text_of(m, "Author", &kind), "some one");
            CHECK_INT(kind, 1);
            CHECK_STR(text_of(m, "Title", &kind), "\xc3\xa4");
            CHECK_INT(kind, 2);
            CHECK_STR(text_of(m, "Late", &kind), "behind");
            CHECK_INT(kind, 0);
            CHECK_INT(m->n_texts, 4);
            for (int t = 0; t < m->n_texts; t++)
                if (m->texts[t].kind == 2) {
                    CHECK_STR(m->texts[t].lang, "de");
                    CHECK_STR(m->texts[t].key_utf8, "Titel");
                }
        } else {
            CHECK_INT(m->n_texts, 1);
        }
        tg_reader_close(r);
        drop(&p);
    }
}

static void srgb(png_structp png, png_infop info)
{
    png_set_sRGB(png, info, 1);
    png_set_pHYs(png, info, 3, 2, PNG_RESOLUTION_UNKNOWN);
}
static void gamma_and_primaries(png_structp png, png_infop info)
{
    png_set_gAMA_fixed(png, info, 55556);
    png_set_cHRM_fixed(png, info, 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000);
}

TEST(color_chunks)
{
    static const uint32_t chrm[] = {31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000};
    const uint8_t row[] = {1, 2, 3};
    for (int pass = 0; pass < 2; pass++) {
        struct tg_reader *r;
        if (pass)
            through(at("g0.png"), at("g1.png"));
        else
            make_png(at("g0.png"), &(struct png){1, 1, PNG_COLOR_TYPE_RGB, 8, row, .head = gamma_and_primaries});
        CHECK_INT(tg_reader_open(&r, at(pass ? "g1.png" : "g0.png"), NULL), 0);
        const struct tg_meta *m = &tg_reader_info(r)->meta;
        CHECK(m->has_gamma && m->has_chrm && !m->has_srgb);
        CHECK_INT(m->gamma, 55556);
        CHECK(memcmp(m->chrm, chrm, sizeof chrm) == 0);
        tg_reader_close(r);
        if (pass)
            through(at("s0.png"), at("s1.png"));
        else
            make_png(at("s0.png"), &(struct png){1, 1, PNG_COLOR_TYPE_RGB, 8, row, .head = srgb});
        CHECK_INT(tg_reader_open(&r, at(pass ? "s1.png" : "s0.png"), NULL), 0);
        m = &tg_reader_info(r)->meta;
        CHECK(m->has_srgb);
        CHECK_INT(m->srgb_intent, 1);
        CHECK_INT(m->density_unit, 1);
        CHECK_INT(m->density_x, 3);
        CHECK_INT(m->density_y, 2);
        tg_reader_close(r);
    }
}

/* A profile of another kind of colour is left out. */
TEST(profiles)
{
    static const struct {
        const char *name, *space;
        int channels;
        bool kept;
    } cases[] = {{"p.png", "RGB ", 3, true},  {"p.png", "RGB ", 1, false}, {"p.png", "GRAY", 2, true},
                 {"p.png", "GRAY", 4, false}, {"p.png", "CMYK", 3, false}, {"p.jpg", "RGB ", 3, true},
                 {"p.jpg", "RGB ", 1, false}, {"p.jpg", "GRAY", 1, true},  {"p.jpg", "CMYK", 3, false},
                 {"p.jpg", "RGB ", 4, true}};
    const uint8_t rows[4] = {9, 9, 9, 255};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_icc(icc_other, sizeof icc_other, cases[i].space);
        struct tg_meta m = {.icc = icc_other, .icc_size = sizeof icc_other};
        struct tg_reader *r;
        CHECK_INT(
            store(at(cases[i].name), NULL, 1, 1, cases[i].channels, TG_U8, rows, &(struct tg_write_opts){.meta = &m}),
            0);
        CHECK_INT(tg_reader_open(&r, at(cases[i].name), NULL), 0);
        CHECK_INT(tg_reader_info(r)->meta.icc_size, cases[i].kept ? sizeof icc_other : 0);
        tg_reader_close(r);
    }
    /* In several segments. */
    uint8_t *big = malloc(200000);
    make_icc(big, 200000, "RGB ");
    const struct marker marker = {JPEG_APP0 + 2, big, 200000};
    make_jpeg(at("big.jpg"), &(struct jpeg){1, 1, 90, .in = JCS_RGB, .rows = rows, .markers = &marker, .n_markers = 1});
    through(at("big.jpg"), at("big2.jpg"));
    struct tg_reader *r;
    CHECK_INT(tg_reader_open(&r, at("big2.jpg"), NULL), 0);
    CHECK_INT(tg_reader_info(r)->meta.icc_size, 200000);
    CHECK(tg_reader_info(r)->meta.icc && memcmp(tg_reader_info(r)->meta.icc, big, 200000) == 0);
    tg_reader_close(r);
    free(big);
}

TEST(density)
{
    static const struct {
        int unit, x, y;
        int want_unit;
        uint32_t want_x;
    } cases[] = {
        {1, 72, 72, 2, 2835}, {1, 300, 150, 2, 11811}, {2, 118, 118, 2, 11800}, {0, 2, 1, 1, 2}, {0, 1, 1, 0, 0}};
    const uint8_t rows[3] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_jpeg(at("dpi.jpg"), &(struct jpeg){1, 1, 90, .in = JCS_RGB, .rows = rows, .unit = cases[i].unit,
                                                .x = cases[i].x, .y = cases[i].y});
        through(at("dpi.jpg"), at("dpi2.jpg"));
        size_t n;
        uint8_t *bytes = slurp(at("dpi2.jpg"), &n);
        CHECK_INT(bytes[13], cases[i].unit);
        CHECK_INT(bytes[14] << 8 | bytes[15], cases[i].x);
        CHECK_INT(bytes[16] << 8 | bytes[17], cases[i].y);
        free(bytes);
        struct tg_reader *r;
        CHECK_INT(tg_reader_open(&r, at("dpi2.jpg"), NULL), 0);
        CHECK_INT(tg_reader_info(r)->meta.density_unit, cases[i].want_unit);
        CHECK_INT(tg_reader_info(r)->meta.density_x, cases[i].want_x);
        tg_reader_close(r);
    }
}

/* ---- targets ---- */

static const uint8_t four[] = {10, 20, 30, 40};

static int store4(const char *path)
{
    return store(path, NULL, 2, 2, 1, TG_U8, four, NULL);
}

static bool holds4(const char *path)
{
    struct pic p;
    bool same = load(&p, path) == 0 && p.w == 2 && p.h == 2 && memcmp(p.data, four, 4) == 0;
    drop(&p);
    return same;
}

/* D21, D22 */
TEST(links_and_modes)
{
    struct stat st;
    char *real = at("real.png");
    umask(027);
    CHECK_INT(store4(real), 0);
    CHECK(stat(real, &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    umask(022);

    CHECK_INT(chmod(real, 0604), 0);
    CHECK_INT(symlink("real.png", at("link.png")), 0);
    CHECK_INT(store4(at("link.png")), 0);
    CHECK(lstat(at("link.png"), &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(lstat(real, &st) == 0 && S_ISREG(st.st_mode));
    CHECK_INT(st.st_mode & 07777, 0604);
    CHECK(holds4(real));
    CHECK(tg_same_file(real, at("link.png")));
    CHECK(!tg_same_file(real, at("not-there.png")));

    CHECK_INT(mkdir(at("sub"), 0755), 0);
    CHECK_INT(symlink("sub/made.png", at("dangling.png")), 0);
    CHECK_INT(symlink("dangling.png", at("twice.png")), 0);
    CHECK_INT(store4(at("twice.png")), 0);
    CHECK(lstat(at("dangling.png"), &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(holds4(at("sub/made.png")));
    CHECK_INT(symlink("loop.png", at("loop.png")), 0);
    CHECK_INT(store4(at("loop.png")), TG_EIO);
    CHECK_HAS(tg_error(), "symbolic link");

    CHECK_INT(link(real, at("hard.png")), 0);
    CHECK_INT(store4(at("hard.png")), 0);
    CHECK(holds4(at("hard.png")) && holds4(real));

    CHECK_INT(chmod(real, 0444), 0);
    spill(at("ro.txt"), "kept", 4);
    CHECK_INT(chmod(at("ro.txt"), 0444), 0);
    CHECK_INT(store(at("ro.txt"), "png", 2, 2, 1, TG_U8, four, NULL), TG_EIO);
    CHECK_HAS(tg_error(), "read-only");
    size_t n;
    uint8_t *kept = slurp(at("ro.txt"), &n);
    CHECK(n == 4 && memcmp(kept, "kept", 4) == 0);
    free(kept);

    CHECK_INT(store4(at("nowhere/x.png")), TG_EIO);
    CHECK_HAS(tg_error(), "there is no folder");
    CHECK_HAS(tg_error(), "nowhere");
    CHECK_INT(store4(at("real.png/x.png")), TG_EIO);
    CHECK_INT(store(tg_test_dir(), "png", 2, 2, 1, TG_U8, four, NULL), TG_EIO);
    CHECK_HAS(tg_error(), "is a folder");
    CHECK_INT(store4(at("x.tiff")), TG_EUSAGE);
    CHECK(!exists(at("x.tiff")));
    CHECK_INT(temps_left(), 0);
}

/* A file's own name may be as long as the system allows. */
TEST(long_names)
{
    char name[256] = "";
    for (int n = 238; n <= 255; n++) {
        memset(name, 'n', (size_t)n - 4);
        strcpy(name + n - 4, ".png");
        for (int i = 200; i < 240; i += 2) /* two-byte characters where the name is cut */
            memcpy(name + i, n - 4 > i + 1 ? "\xc3\xa9" : "", n - 4 > i + 1 ? 2 : 0);
        CHECK_INT(store4(at(name)), 0);
        CHECK(holds4(at(name)));
        unlink(at(name));
    }
    CHECK_INT(temps_left(), 0);
}

/* D26 */
TEST(names_are_bytes)
{
    static const char *const names[] = {"a b.png",   "q'\".png", "%d.png",   "50%%.png",     "x:y.png",      "t[0].png",
                                        "-blur.png", "@l.png",   "%s%n.PNG", "\xff\xfe.png", "new\nline.png"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_INT(store4(at(names[i])), 0);
        CHECK(holds4(at(names[i])));
    }
    char *home = getcwd(NULL, 0);
    CHECK_INT(chdir(tg_test_dir()), 0);
    CHECK_INT(store4("-.png"), 0);
    CHECK(holds4("-.png"));
    CHECK_INT(store("./-", "png", 2, 2, 1, TG_U8, four, NULL), 0);
    CHECK(holds4("./-"));
    CHECK_INT(chdir(home), 0);
    free(home);
    CHECK_STR(tg_format_of("a.JPG"), "jpeg");
    CHECK_STR(tg_format_of("x.y/a.jfif"), "jpeg");
    CHECK_STR(tg_format_of(".png"), "png");
    CHECK(!tg_format_of("a.png/b"));
    CHECK(!tg_format_of("png"));
    CHECK(!tg_format_of("a.tiff"));
}

/* D23: the reason is the system's; nothing under the name. */
TEST(full_disk)
{
    uint8_t *rows = noise(1300 * 1300 * 3);
    if (exists("/dev/full")) {
        for (int i = 0; i < 4; i++) {
            const int size = i & 1 ? 1300 : 4;
            CHECK_INT(store("/dev/full", i & 2 ? "jpeg" : "png", size, size, 3, TG_U8, rows, NULL), TG_EIO);
            CHECK_HAS(tg_error(), "No space left");
        }
    }
    /* A limit on a file's size stands in for a small disk, in a process of its own. */
    for (int i = 0; i < 4; i++) {
        char *path = at(i & 2 ? "full.jpg" : "full.png");
        const int size = i & 1 ? 1300 : 4;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            const rlim_t most = i & 1 ? 1 << 20 : 50;
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){most, most});
            signal(SIGXFSZ, SIG_IGN);
            int err = store(path, NULL, size, size, 3, TG_U8, rows, NULL);
            _exit(err == TG_EIO && strstr(tg_error(), "too large") ? 0 : 1);
        }
        int status = -1;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(!exists(path));
    }
    CHECK_INT(temps_left(), 0);
    free(rows);
}

/* A 1 MB disk, where one may be mounted. */
TEST(small_disk)
{
    uint8_t *rows = noise(1300 * 1300 * 3);
    char command[1200], *disk = at("disk");
    mkdir(disk, 0755);
    snprintf(command, sizeof command, "mount -t tmpfs -o size=1m tileglass-test '%s' 2>/dev/null", disk);
    if (system(command) != 0) {
        tg_skip("no right to mount a small disk");
        free(rows);
        return;
    }
    for (int i = 0; i < 2; i++) {
        char *path = at(i ? "disk/a.jpg" : "disk/a.png");
        CHECK_INT(store4(path), 0);
        CHECK_INT(store(path, NULL, 1300, 1300, 3, TG_U8, rows, &(struct tg_write_opts){.quality = 100}), TG_EIO);
        CHECK_HAS(tg_error(), "No space left");
        struct pic p;
        CHECK_INT(load(&p, path), 0); /* what stood there still does */
        CHECK_INT(p.w, 2);
        drop(&p);
    }
    DIR *d = opendir(disk);
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    CHECK_INT(n, 4); /* ., .., and the two */
    snprintf(command, sizeof command, "umount '%s'", disk);
    CHECK_INT(system(command), 0);
    free(rows);
}

/* D25 */
TEST(fault_half_way)
{
    char *path = at("keep.png");
    struct tg_frame f = {.w = 4, .h = 4, .channels = 3, .depth = TG_U8};
    const uint8_t rows[48] = {1};
    struct tg_writer *w;
    CHECK_INT(store4(path), 0);
    CHECK_INT(tg_writer_open(&w, path, NULL, &f, NULL), 0);
    CHECK_INT(tg_writer_rows(w, rows, 12, 2), 0);
    CHECK_INT(temps_left(), 1);
    tg_writer_abort(w);
    CHECK_INT(temps_left(), 0);
    CHECK(holds4(path));
    /* Too few rows is no picture, and so are too many. */
    CHECK_INT(tg_writer_open(&w, path, NULL, &f, NULL), 0);
    CHECK_INT(tg_writer_rows(w, rows, 12, 3), 0);
    CHECK_INT(tg_writer_finish(w), TG_EUSAGE);
    CHECK_HAS(tg_error(), "3 of 4 rows");
    CHECK_INT(tg_writer_open(&w, path, NULL, &f, NULL), 0);
    CHECK_INT(tg_writer_rows(w, rows, 12, 5), TG_EUSAGE);
    CHECK_INT(tg_writer_finish(w), TG_EUSAGE);
    CHECK(holds4(path));
    /* A second Ctrl-C. */
    struct tg_writer *also;
    CHECK_INT(tg_writer_open(&w, path, NULL, &f, NULL), 0);
    CHECK_INT(tg_writer_open(&also, at("keep.jpg"), NULL, &f, NULL), 0);
    CHECK_INT(temps_left(), 2);
    tg_writer_abort_all();
    CHECK_INT(temps_left(), 0);
    tg_writer_abort(w);
    tg_writer_abort(also);
    CHECK(holds4(path));
    CHECK(!exists(at("keep.jpg")));
    /* Stopped on request. */
    volatile int cancel = 0;
    struct pic p;
    CHECK_INT(load_with(&p, NULL, path, &(struct tg_read_opts){.cancel = &cancel}, 1), 0);
    drop(&p);
    cancel = 1;
    CHECK_INT(load_with(&p, NULL, path, &(struct tg_read_opts){.cancel = &cancel}, 1), TG_ECANCEL);
    drop(&p);
    CHECK_INT(store(path, NULL, 4, 4, 3, TG_U8, rows, &(struct tg_write_opts){.cancel = &cancel}), TG_ECANCEL);
    CHECK(holds4(path));
    CHECK_INT(temps_left(), 0);
}

TEST(limits)
{
    struct tg_writer *w;
    struct tg_frame f = {.w = 65501, .h = 1, .channels = 1, .depth = TG_U8};
    CHECK_INT(tg_writer_open(&w, at("wide.jpg"), NULL, &f, NULL), TG_EUSAGE);
    CHECK_HAS(tg_error(), "a JPEG has at most 65500 a side");
    CHECK(!exists(at("wide.jpg")));
    CHECK_INT(temps_left(), 0);
    static const struct tg_frame bad[] = {{.w = 0, .h = 1, .channels = 1, .depth = TG_U8},
                                          {.w = 1, .h = -1, .channels = 1, .depth = TG_U8},
                                          {.w = 1, .h = 1, .channels = 5, .depth = TG_U8},
                                          {.w = 1, .h = 1, .channels = 1, .depth = TG_F32}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(tg_writer_open(&w, at("bad.png"), NULL, &bad[i], NULL), TG_EUSAGE);
    f.w = 1;
    CHECK_INT(tg_writer_open(&w, at("bad.jpg"), NULL, &f, &(struct tg_write_opts){.quality = 101}), TG_EUSAGE);
    CHECK_INT(tg_writer_open(&w, at("bad.png"), NULL, &f, &(struct tg_write_opts){.compression = 10}), TG_EUSAGE);
    CHECK_INT(tg_writer_open(&w, at("bad.png"), NULL, &f, &(struct tg_write_opts){.bits = 4}), TG_EUSAGE);

    /* More rows than libpng takes by itself. */
    const int h = 1048577;
    uint8_t *rows = calloc(8, (size_t)h);
    rows[(size_t)h * 8 - 1] = 200;
    CHECK_INT(store(at("tall.png"), NULL, 8, h, 1, TG_U8, rows, &(struct tg_write_opts){.compression = 1}), 0);
    struct pic p;
    CHECK_INT(load_with(&p, NULL, at("tall.png"), NULL, 1000), 0);
    CHECK_INT(p.h, h);
    CHECK(p.data && memcmp(p.data, rows, (size_t)h * 8) == 0);
    drop(&p);
    free(rows);
}

/* ---- pipes ---- */

/* Writes a file's bytes to fd in a process of its own, `chunk` at a time. */
static pid_t feed(const char *path, const char *fifo, int fd, size_t chunk)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        size_t n;
        uint8_t *bytes = slurp(path, &n);
        if (fifo)
            fd = open(fifo, O_WRONLY);
        for (size_t i = 0; i < n; i += chunk)
            if (write(fd, bytes + i, n - i < chunk ? n - i : chunk) < 0)
                _exit(1);
        _exit(0);
    }
    return pid;
}

static void check_same(struct pic *a, struct pic *b)
{
    CHECK_INT(a->w, b->w);
    CHECK_INT(a->h, b->h);
    CHECK(a->data && b->data && memcmp(a->data, b->data, row_bytes(a) * (size_t)a->h) == 0);
    drop(b);
}

/* D28 */
TEST(pipes)
{
    uint8_t *rows = noise(40 * 30 * 6);
    make_png(at("0"), &(struct png){40, 30, PNG_COLOR_TYPE_RGB, 8, rows, .interlaced = false});
    make_png(at("1"), &(struct png){40, 30, PNG_COLOR_TYPE_RGB, 16, rows, .interlaced = true});
    make_jpeg(at("2"), &(struct jpeg){40, 30, 90, .in = JCS_RGB, .rows = rows, .progressive = true});
    free(rows);
    char *fifo = at("fifo");
    CHECK_INT(mkfifo(fifo, 0600), 0);
    for (int k = 0; k < 3; k++) {
        char name[2] = {(char)('0' + k), 0};
        struct pic file, p;
        CHECK_INT(load(&file, at(name)), 0);
        for (int slow = 0; slow < 2; slow++) {
            const size_t chunk = slow ? 1 : 100000;
            pid_t pid = feed(at(name), fifo, -1, chunk);
            CHECK_INT(load(&p, fifo), 0);
            check_same(&file, &p);
            waitpid(pid, NULL, 0);

            int ends[2], saved = dup(0);
            CHECK_INT(pipe(ends), 0);
            pid = feed(at(name), NULL, ends[1], chunk);
            close(ends[1]);
            dup2(ends[0], 0);
            close(ends[0]);
            CHECK_INT(load(&p, "-"), 0);
            check_same(&file, &p);
            dup2(saved, 0);
            close(saved);
            waitpid(pid, NULL, 0);
        }
        /* To standard output: only the picture. */
        CHECK_INT(store(at("file.out"), "png", file.w, file.h, file.channels, file.depth, file.data, NULL), 0);
        fflush(stdout);
        int saved = dup(1), out = open(at("stdout.out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(out, 1);
        int err = store("-", "png", file.w, file.h, file.channels, file.depth, file.data, NULL);
        dup2(saved, 1);
        close(saved);
        close(out);
        CHECK_INT(err, 0);
        size_t n, m;
        uint8_t *a = slurp(at("file.out"), &n), *b = slurp(at("stdout.out"), &m);
        CHECK_INT(n, m);
        CHECK(n == m && memcmp(a, b, n) == 0);
        free(a);
        free(b);
        drop(&file);
    }
    CHECK_INT(store("-", NULL, 2, 2, 1, TG_U8, four, NULL), TG_EUSAGE);
}

/* The reader goes away; SIGPIPE is ignored, as the program does. */
TEST(broken_pipe)
{
    uint8_t *rows = noise(500 * 500 * 3);
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        int ends[2], saved = dup(1);
        fflush(stdout);
        CHECK_INT(pipe(ends), 0);
        dup2(ends[1], 1);
        close(ends[1]);
        close(ends[0]);
        int err = store("-", i ? "jpeg" : "png", 500, 500, 3, TG_U8, rows, NULL);
        dup2(saved, 1);
        close(saved);
        CHECK_INT(err, TG_EIO);
        CHECK_HAS(tg_error(), "Broken pipe");
    }
    signal(SIGPIPE, old);
    free(rows);
}

/* ---- damage at random ---- */

/* Opens bytes as a file, reads and writes what it gives. Returns whether it was a picture. */
static bool survive(const char *path, bool lenient)
{
    struct pic p;
    struct tg_reader *r;
    tg_fail(0, "%s", "");
    int err = load_with(&p, &r, path, &(struct tg_read_opts){.max_pixels = 1 << 16, .lenient = lenient}, 16);
    if (err) {
        CHECK(err == TG_EFORMAT || err == TG_ELIMIT);
        CHECK(*tg_error());
        drop(&p);
        return false;
    }
    struct tg_meta m = tg_reader_info(r)->meta;
    int orientation = tg_meta_orientation(&m);
    CHECK(orientation >= 1 && orientation <= 8);
    tg_meta_upright(&m, p.w, p.h);
    CHECK(tg_meta_orientation(&m) == 1);
    struct tg_write_opts o = {.meta = &m, .compression = 1, .quality = 80};
    CHECK_INT(store("/dev/null", "png", p.w, p.h, p.channels, p.depth, p.data, &o), 0);
    if (p.w <= 65500 && p.h <= 65500)
        CHECK_INT(store("/dev/null", "jpeg", p.w, p.h, p.channels, p.depth, p.data, &o), 0);
    tg_reader_close(r);
    drop(&p);
    return true;
}

TEST(mutants)
{
    uint8_t *rows = shades(17, 13, 8), exif[6 + 110] = "Exif\0";
    char xmp[29 + sizeof xmp_plain] = "http://ns.adobe.com/xap/1.0/";
    memcpy(xmp + 29, xmp_plain, sizeof xmp_plain);
    make_exif(exif + 6, false, 6, 17, 13);
    make_icc(icc_rgb, sizeof icc_rgb, "RGB ");
    const struct marker markers[] = {{JPEG_APP0 + 1, exif, sizeof exif},
                                     {JPEG_APP0 + 1, xmp, sizeof xmp - 1},
                                     {JPEG_APP0 + 2, icc_rgb, sizeof icc_rgb},
                                     {JPEG_COM, "comment", 7}};
    make_png(at("f0"), &(struct png){17, 13, PNG_COLOR_TYPE_RGB, 8, rows, .head = carry, .tail = late});
    make_png(at("f1"), &(struct png){17, 13, PNG_COLOR_TYPE_RGBA, 16, rows, .interlaced = true});
    make_png(at("f2"), &(struct png){17, 1, PNG_COLOR_TYPE_PALETTE, 2, rows, .head = four_colors_two_alphas});
    make_png(at("f3"), &(struct png){17, 13, PNG_COLOR_TYPE_GRAY, 16, rows, .head = gray_key});
    make_jpeg(at("f4"), &(struct jpeg){17, 13, 90, 0x22, JCS_RGB, .rows = rows, .markers = markers, .n_markers = 4});
    make_jpeg(at("f5"), &(struct jpeg){17, 13, 90, .in = JCS_RGB, .rows = rows, .progressive = true});
    make_jpeg(at("f6"), &(struct jpeg){17, 13, 90, .in = JCS_CMYK, .rows = rows});
    make_jpeg(at("f7"),
              &(struct jpeg){17, 13, 90, .in = JCS_GRAYSCALE, .rows = rows, .markers = markers, .n_markers = 1});
    free(rows);
    tg_log_level(TG_QUIET);
    int pictures = 0;
    for (int i = 0; i < 2000; i++) {
        char name[3] = {'f', (char)('0' + i % 8), 0};
        size_t n;
        uint8_t *bytes = slurp(at(name), &n);
        for (int k = tg_random() % 6; k >= 0; k--) {
            size_t where = tg_random() % n, some = 1 + tg_random() % 8;
            switch (tg_random() % 5) {
            case 0:
                bytes[where] ^= (uint8_t)(1U << tg_random() % 8);
                break;
            case 1:
                bytes[where] = (uint8_t)tg_random();
                break;
            case 2:
                bytes[where] = tg_random() & 1 ? 0xff : 0;
                break;
            case 3:
                n = where > 8 ? where : n;
                break;
            default: /* repeat a few bytes */
                if (where + 2 * some < n)
                    memmove(bytes + where + some, bytes + where, n - where - some);
            }
        }
        /* The checksums of a PNG made right, so that what they guard is reached. */
        for (size_t c = 8; n > 12 && i % 8 < 4 && c + 12 <= n;) {
            uint32_t size = (uint32_t)bytes[c] << 24 | (uint32_t)bytes[c + 1] << 16 | (uint32_t)bytes[c + 2] << 8 |
                            bytes[c + 3];
            if (size > n - c - 12)
                break;
            uint32_t crc = 0xffffffff;
            for (size_t b = c + 4; b < c + 8 + size; b++) {
                crc ^= bytes[b];
                for (int k = 0; k < 8; k++)
                    crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
            }
            put32(bytes + c + 8 + size, ~crc);
            c += 12 + (size_t)size;
        }
        spill(at("mutant"), bytes, n);
        free(bytes);
        bool strict = survive(at("mutant"), false);
        bool lenient = survive(at("mutant"), true);
        CHECK(lenient || !strict); /* lenient takes whatever strict takes */
        pictures += strict;
    }
    tg_log_level(TG_NORMAL);
    CHECK(pictures > 20); /* some mutations hit nothing that matters */
}

TESTS(T(sixteen_bits), T(reduce_all), T(few_bits), T(palette), T(color_keys), T(gray_alpha), T(interlaced), T(animated),
      T(cut_jpeg), T(harmless_jpeg), T(cut_png), T(bombs), T(many_scans), T(text_bomb), T(by_content), T(jpeg_plain),
      T(cmyk), T(other_jpeg), T(alpha_to_jpeg), T(orientation), T(upright), T(turn_once), T(carried), T(color_chunks),
      T(profiles), T(density), T(links_and_modes), T(long_names), T(names_are_bytes), T(full_disk), T(small_disk),
      T(fault_half_way), T(limits), T(pipes), T(broken_pipe), T(mutants))
