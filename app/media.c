#include "media.h"
#include "../filters/log.h"
#include "codec.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const struct tg_decoder *const decoders[] = {&tg_png_decoder, &tg_jpeg_decoder};
static const struct tg_encoder *const encoders[] = {&tg_png_encoder, &tg_jpeg_encoder};
#define DECODERS (int)(sizeof decoders / sizeof decoders[0])
#define ENCODERS (int)(sizeof encoders / sizeof encoders[0])

/* ---- what a file is ---- */

static const struct {
    const char *name;
    size_t at, n;
    const char *magic;
} known[] = {
    {"a GIF picture", 0, 4, "GIF8"},
    {"a TIFF picture", 0, 4, "II*\0"},
    {"a TIFF picture", 0, 4, "MM\0*"},
    {"a BigTIFF picture", 0, 4, "II+\0"},
    {"a BigTIFF picture", 0, 4, "MM\0+"},
    {"a WebP picture", 8, 4, "WEBP"},
    {"an AVIF picture", 4, 7, "ftypavi"},
    {"a HEIC picture", 4, 7, "ftyphei"},
    {"a HEIC picture", 4, 7, "ftyphev"},
    {"a HEIF picture", 4, 8, "ftypmif1"},
    {"an MP4 or QuickTime video", 4, 4, "ftyp"},
    {"a JPEG XL picture", 0, 12, "\0\0\0\x0cJXL \r\n\x87\n"},
    {"a JPEG XL picture", 0, 2, "\xff\x0a"},
    {"a JPEG 2000 picture", 0, 8, "\0\0\0\x0cjP  "},
    {"a BMP picture", 0, 2, "BM"},
    {"an icon", 0, 4, "\0\0\1\0"},
    {"a Photoshop file", 0, 4, "8BPS"},
    {"an OpenEXR picture", 0, 4, "\x76\x2f\x31\x01"},
    {"a Radiance picture", 0, 10, "#?RADIANCE"},
    {"an MNG animation", 0, 8, "\x8aMNG\r\n\x1a\n"},
    {"a PDF file", 0, 5, "%PDF-"},
    {"a Y4M video", 0, 9, "YUV4MPEG2"},
    {"a Matroska video", 0, 4, "\x1a\x45\xdf\xa3"},
    {"an AVI video", 8, 4, "AVI "},
    {"a gzip file", 0, 2, "\x1f\x8b"},
    {"a Zip file", 0, 4, "PK\3\4"},
    {"an XZ file", 0, 6, "\3757zXZ\0"},
    {"an SVG picture", 0, 4, "<svg"},
    {"an XML file", 0, 5, "<?xml"},
    {"a program", 0, 4, "\177ELF"},
};

static const char *what_is(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= known[i].at + known[i].n && memcmp(p + known[i].at, known[i].magic, known[i].n) == 0)
            return known[i].name;
    if (n >= 3 && p[0] == 'P' && p[1] >= '1' && p[1] <= '7' && strchr(" \t\r\n", p[2]))
        return "a PNM picture";
    size_t zeros = 0;
    bool text = true;
    for (size_t i = 0; i < n; i++) {
        zeros += p[i] == 0;
        text &= p[i] >= 0x20 || strchr("\t\r\n\f\b\x1b", p[i]);
        text &= p[i] != 0 && p[i] != 0x7f;
    }
    return text ? "text" : zeros == n ? "zeros" : "of an unknown kind";
}

static int probe(struct tg_reader *r)
{
    const uint8_t *head;
    size_t n = 512;
    int err = tg_source_peek(r->src, &head, &n);
    if (err)
        return err;
    if (n == 0)
        return tg_fail(TG_EFORMAT, "is an empty file");
    if (n < 8)
        return tg_fail(TG_EFORMAT, "is truncated: it has %zu byte%s", n, n > 1 ? "s" : "");
    for (int i = 0; i < DECODERS; i++)
        if (decoders[i]->probe(head, n)) {
            r->codec = decoders[i];
            return 0;
        }
    if (memcmp(head + 1, "PNG", 3) == 0)
        return tg_fail(TG_EFORMAT, "is a PNG whose first bytes were changed, as a transfer in text mode does");
    return tg_fail(TG_EFORMAT, "is %s, not a PNG or JPEG picture", what_is(head, n));
}

/* ---- reading ---- */

int tg_reader_check_size(const struct tg_reader *r, uint64_t w, uint64_t h)
{
    uint64_t max = r->opts.max_pixels ? r->opts.max_pixels : TG_MAX_PIXELS;
    if (w * h > max) /* both are under 2^32 */
        return tg_fail(TG_ELIMIT, "%llu x %llu pixels are more than the limit of %llu (--max-pixels)",
                       (unsigned long long)w, (unsigned long long)h, (unsigned long long)max);
    return 0;
}

int tg_reader_damage(struct tg_reader *r, int row, const char *why)
{
    if (row < r->info.h)
        tg_fail(TG_EFORMAT, "cut or damaged at about row %d of %d: %s", row, r->info.h, why);
    else
        tg_fail(TG_EFORMAT, "cut or damaged after its last row: %s", why);
    if (!r->opts.lenient)
        return TG_EFORMAT;
    if (!r->damaged)
        tg_warn("%s: %s", r->path, tg_error());
    r->damaged = true;
    return 0;
}

int tg_reader_open(struct tg_reader **out, const char *path, const struct tg_read_opts *opts)
{
    struct tg_reader *r = calloc(1, sizeof *r);
    if (!r || !(r->path = strdup(path))) {
        free(r);
        return tg_fail(TG_ENOMEM, "no memory to read");
    }
    if (opts)
        r->opts = *opts;
    int err = tg_source_open(&r->src, path, r->opts.cancel);
    if (!err)
        err = probe(r);
    if (!err)
        err = r->codec->open(r);
    if (err) {
        tg_reader_close(r);
        return err;
    }
    r->info.format = r->codec->name;
    r->info.orientation = tg_meta_orientation(&r->info.meta);
    *out = r;
    return 0;
}

const struct tg_info *tg_reader_info(const struct tg_reader *r)
{
    return &r->info;
}

int tg_reader_rows(struct tg_reader *r, void *rows, ptrdiff_t stride, int n)
{
    if (n < 0 || n > r->info.h - r->row)
        return tg_fail(TG_EUSAGE, "%d rows wanted, %d are left", n, r->info.h - r->row);
    if (r->opts.cancel && *r->opts.cancel)
        return tg_fail(TG_ECANCEL, "interrupted");
    if (r->row == 0 && r->info.animated)
        tg_note("%s: animated, first image used", r->path);
    if (!r->err)
        r->err = r->codec->rows(r, rows, stride, n);
    if (!r->err)
        r->row += n;
    return r->err;
}

void tg_reader_close(struct tg_reader *r)
{
    if (!r)
        return;
    if (r->codec)
        r->codec->close(r);
    tg_source_close(r->src);
    tg_meta_free(&r->info.meta);
    free(r->path);
    free(r);
}

/* ---- writing ---- */

const char *tg_format_of(const char *path)
{
    static const char *const ends[][2] = {
        {"png", "png"}, {"jpg", "jpeg"}, {"jpeg", "jpeg"}, {"jpe", "jpeg"}, {"jfif", "jpeg"}};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof ends[0]; i++)
        if (strcasecmp(dot + 1, ends[i][0]) == 0)
            return ends[i][1];
    return NULL;
}

static int check_shape(const struct tg_frame *f, const struct tg_write_opts *o)
{
    if (f->w < 1 || f->h < 1 || f->channels < 1 || f->channels > 4 || (f->depth != TG_U8 && f->depth != TG_U16))
        return tg_fail(TG_EUSAGE, "cannot write a picture of %d x %d, %d channels, %s", f->w, f->h, f->channels,
                       tg_depth_name(f->depth));
    if (o->quality < 0 || o->quality > 100)
        return tg_fail(TG_EUSAGE, "quality %d is outside 1..100", o->quality);
    if (o->compression < -1 || o->compression > 9)
        return tg_fail(TG_EUSAGE, "compression %d is outside 0..9", o->compression);
    if (o->bits != 0 && o->bits != 8 && o->bits != 16)
        return tg_fail(TG_EUSAGE, "%d bits a sample: want 8 or 16", o->bits);
    return 0;
}

int tg_writer_open(struct tg_writer **out, const char *path, const char *format, const struct tg_frame *shape,
                   const struct tg_write_opts *opts)
{
    struct tg_write_opts o = opts ? *opts : (struct tg_write_opts){.compression = -1, .background = {255, 255, 255}};
    const struct tg_encoder *codec = NULL;
    if (!format)
        format = tg_format_of(path);
    if (!format)
        return tg_fail(TG_EUSAGE, "the name's ending does not say which format: want .png or .jpg");
    for (int i = 0; i < ENCODERS; i++)
        if (strcmp(encoders[i]->name, format) == 0)
            codec = encoders[i];
    if (!codec)
        return tg_fail(TG_EUSAGE, "no format '%s': want png or jpeg", format);
    int err = check_shape(shape, &o);
    if (err)
        return err;
    struct tg_writer *w = calloc(1, sizeof *w);
    if (!w)
        return tg_fail(TG_ENOMEM, "no memory to write");
    w->opts = o;
    w->shape = *shape;
    err = tg_sink_open(&w->sink, path, o.to_stdout_tty, o.cancel);
    if (!err) {
        w->codec = codec;
        err = codec->open(w);
    }
    if (err) {
        tg_writer_abort(w);
        return err;
    }
    w->opts.meta = NULL;
    *out = w;
    return 0;
}

int tg_writer_rows(struct tg_writer *w, const void *rows, ptrdiff_t stride, int n)
{
    if (w->err)
        return w->err;
    if (n < 0 || n > w->shape.h - w->row)
        return w->err = tg_fail(TG_EUSAGE, "%d rows given, %d are left", n, w->shape.h - w->row);
    w->err = w->codec->rows(w, rows, stride, n);
    w->row += n;
    return w->err;
}

int tg_writer_finish(struct tg_writer *w)
{
    int err = w->err;
    if (!err && w->row < w->shape.h)
        err = tg_fail(TG_EUSAGE, "%d of %d rows were given", w->row, w->shape.h);
    if (!err)
        err = w->codec->finish(w);
    if (!err) {
        err = tg_sink_finish(w->sink);
        w->sink = NULL;
    }
    tg_writer_abort(w);
    return err;
}

void tg_writer_abort(struct tg_writer *w)
{
    if (!w)
        return;
    if (w->codec)
        w->codec->close(w);
    tg_sink_abort(w->sink);
    free(w);
}

void tg_writer_abort_all(void)
{
    tg_sink_abort_all();
}

bool tg_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
