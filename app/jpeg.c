#include "../filters/log.h"
#include "codec.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after stdio.h, which it needs */
#include <jerror.h>
#include <jpeglib.h>

/* A progressive picture has some ten scans; each costs a pass over all of it. */
#define MAX_SCANS 500
/* Rows handed to libjpeg at once; a block row of 4:2:0 has 16. */
#define BATCH 64

static const char exif_id[6] = "Exif\0";
static const char xmp_id[29] = "http://ns.adobe.com/xap/1.0/";
#define MAX_MARKER 65533

/* What libjpeg's errors and warnings come back through. */
struct fault {
    struct jpeg_error_mgr mgr; /* first: libjpeg holds a pointer to it */
    jmp_buf jump;
    int err; /* recorded already, by what libjpeg called; 0: the error is libjpeg's, and why says it */
    char why[JMSG_LENGTH_MAX];
};

static void leave(j_common_ptr c, int err)
{
    struct fault *f = (struct fault *)c->err;
    f->err = err;
    longjmp(f->jump, 1);
}

static void on_error(j_common_ptr c)
{
    struct fault *f = (struct fault *)c->err;
    f->mgr.format_message(c, f->why);
    switch (f->mgr.msg_code) {
    case JERR_OUT_OF_MEMORY:
        leave(c, tg_fail(TG_ENOMEM, "no memory for a JPEG"));
        break;
    case JERR_ARITH_NOTIMPL:
        leave(c, tg_fail(TG_EFORMAT, "is an arithmetic-coded JPEG, which this libjpeg cannot read"));
        break;
    case JERR_BAD_PRECISION:
        leave(c, tg_fail(TG_EFORMAT, "is a JPEG of %d bits a sample; only 8 are read", f->mgr.msg_parm.i[0]));
        break;
    case JERR_SOF_UNSUPPORTED:
        leave(c, tg_fail(TG_EFORMAT, "is a lossless or hierarchical JPEG (SOF%d), which this libjpeg cannot read",
                         f->mgr.msg_parm.i[0] & 15));
        break;
    default:
        leave(c, 0);
    }
}

/* ---- reading ---- */

struct in {
    struct jpeg_decompress_struct c;
    struct fault fault;
    struct jpeg_source_mgr src;
    struct jpeg_progress_mgr progress;
    struct tg_reader *r;
    bool started;
    bool broken;  /* an error that libjpeg cannot go on after; the rest is filled */
    int done;     /* rows of the current call */
    uint8_t *ink; /* CMYK: BATCH rows of it */
};

static struct in *in_of(void *c)
{
    return ((struct jpeg_decompress_struct *)c)->client_data;
}

/* The row that the decoder is at, in this scan. */
static int at_row(const struct in *p)
{
    int64_t row = (int64_t)p->c.input_iMCU_row * p->c.max_v_samp_factor * DCTSIZE;
    return row < p->r->info.h ? (int)row : p->r->info.h - 1;
}

/* Damage that decoding can go on after. A picture comes out whole in spite of these: bytes between segments, which some cameras
 * leave, zeros for the parameters of a sequential scan, an unknown version of JFIF or Adobe's marker, and a profile with missing
 * parts, which is then not used. All others mean that pixels are lost. */
static void on_message(j_common_ptr c, int level)
{
    struct fault *f = (struct fault *)c->err;
    struct in *p = in_of(c);
    if (level >= 0)
        return;
    f->mgr.num_warnings++;
    f->mgr.format_message(c, f->why);
    switch (f->mgr.msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
        tg_debug("%s: %s", p->r->path, f->why);
        return;
    default:;
    }
    int err = p->r->info.h ? tg_reader_damage(p->r, at_row(p), f->why)
                           : tg_fail(TG_EFORMAT, "cut or damaged JPEG: %s", f->why);
    if (err)
        leave(c, err);
}

static void no_op(j_decompress_ptr c)
{
    (void)c;
}

static boolean fill(j_decompress_ptr c)
{
    static const JOCTET end[] = {0xff, JPEG_EOI};
    struct in *p = in_of(c);
    const uint8_t *bytes;
    size_t n;
    int err = tg_source_next(p->r->src, &bytes, &n);
    if (err)
        leave((j_common_ptr)c, err);
    if (!n) {
        WARNMS(c, JWRN_JPEG_EOF);
        bytes = end;
        n = sizeof end;
    }
    p->src.next_input_byte = bytes;
    p->src.bytes_in_buffer = n;
    return TRUE;
}

static void skip(j_decompress_ptr c, long n)
{
    struct jpeg_source_mgr *src = c->src;
    while (n > 0 && (size_t)n > src->bytes_in_buffer) {
        n -= (long)src->bytes_in_buffer;
        fill(c);
    }
    if (n > 0) {
        src->next_input_byte += n;
        src->bytes_in_buffer -= (size_t)n;
    }
}

static void on_progress(j_common_ptr c)
{
    const struct in *p = in_of(c);
    if (p->c.input_scan_number > MAX_SCANS)
        leave(c, tg_fail(TG_EFORMAT, "has more than %d scans", MAX_SCANS));
    if (p->r->opts.cancel && *p->r->opts.cancel)
        leave(c, tg_fail(TG_ECANCEL, "interrupted"));
}

static bool probe(const uint8_t *head, size_t n)
{
    return n >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

static bool begins(const struct jpeg_marker_struct *m, int marker, const char *id, size_t n)
{
    return m->marker == marker && m->data_length >= n && memcmp(m->data, id, n) == 0;
}

static int take_meta(struct in *p)
{
    struct tg_meta *m = &p->r->info.meta;
    JOCTET *icc;
    unsigned size;
    int err = 0;
    if (jpeg_read_icc_profile(&p->c, &icc, &size)) {
        m->icc = icc;
        m->icc_size = size;
    }
    for (const struct jpeg_marker_struct *k = p->c.marker_list; k && !err; k = k->next) {
        if (!m->exif && begins(k, JPEG_APP0 + 1, exif_id, sizeof exif_id))
            err = tg_meta_set(&m->exif, &m->exif_size, k->data + sizeof exif_id, k->data_length - sizeof exif_id);
        else if (!m->xmp && begins(k, JPEG_APP0 + 1, xmp_id, sizeof xmp_id))
            err = tg_meta_set(&m->xmp, &m->xmp_size, k->data + sizeof xmp_id, k->data_length - sizeof xmp_id);
        else if (k->marker == JPEG_COM)
            err = tg_meta_add_text(m, 3, NULL, (const char *)k->data, k->data_length, NULL, NULL);
    }
    unsigned unit = p->c.density_unit, x = p->c.X_density, y = p->c.Y_density;
    if (p->c.saw_JFIF_marker && unit <= 2 && x && y && (unit || x != y)) {
        m->density_unit = unit ? 2 : 1;
        m->density_x = unit == 1 ? (x * 10000U + 127) / 254 : unit == 2 ? x * 100U : x;
        m->density_y = unit == 1 ? (y * 10000U + 127) / 254 : unit == 2 ? y * 100U : y;
    }
    return err;
}

/* "4:2:0" and the like from the luma factors, relative to chroma's. */
static const char *sampling_name(int hv)
{
    switch (hv) {
    case 0x11:
        return "YCbCr 4:4:4";
    case 0x21:
        return "YCbCr 4:2:2";
    case 0x22:
        return "YCbCr 4:2:0";
    case 0x12:
        return "YCbCr 4:4:0";
    case 0x41:
        return "YCbCr 4:1:1";
    case 0x42:
        return "YCbCr 4:1:0";
    default:
        return "YCbCr";
    }
}

static int describe(struct in *p)
{
    struct jpeg_decompress_struct *c = &p->c;
    struct tg_info *info = &p->r->info;
    info->bits = 8;
    info->depth = TG_U8;
    info->progressive = c->progressive_mode;
    info->channels = 3;
    c->out_color_space = JCS_RGB;
    const jpeg_component_info *k = c->comp_info;
    switch (c->jpeg_color_space) {
    case JCS_GRAYSCALE:
        info->channels = 1;
        info->color = "gray";
        c->out_color_space = JCS_GRAYSCALE;
        break;
    case JCS_YCbCr:
    case JCS_RGB:
        if (k[1].h_samp_factor == k[2].h_samp_factor && k[1].v_samp_factor == k[2].v_samp_factor &&
            k[0].h_samp_factor % k[1].h_samp_factor == 0 && k[0].v_samp_factor % k[1].v_samp_factor == 0)
            info->meta.jpeg_sampling = k[0].h_samp_factor / k[1].h_samp_factor << 4 |
                                       k[0].v_samp_factor / k[1].v_samp_factor;
        info->color = c->jpeg_color_space == JCS_RGB ? "RGB" : sampling_name(info->meta.jpeg_sampling);
        break;
    case JCS_CMYK:
    case JCS_YCCK:
        info->color = c->jpeg_color_space == JCS_CMYK ? "CMYK" : "YCCK";
        c->out_color_space = JCS_CMYK;
        break;
    default:
        return tg_fail(TG_EFORMAT, "is a JPEG of %d components in an unknown colour space", c->num_components);
    }
    return 0;
}

/* Huffman coding takes at least a bit for each block of the component with the most samples. */
static int check_bytes(const struct in *p)
{
    const struct tg_info *info = &p->r->info;
    const int64_t size = tg_source_size(p->r->src);
    const uint64_t blocks = (((uint64_t)info->w + 7) / 8) * (((uint64_t)info->h + 7) / 8);
    if (size >= 0 && !p->r->opts.lenient && !p->c.arith_code && blocks / 8 > (uint64_t)size)
        return tg_fail(TG_EFORMAT, "cut or damaged: %d x %d pixels cannot be in its %lld bytes", info->w, info->h,
                       (long long)size);
    return 0;
}

/* After a longjmp: what to return for an error in the header. */
static int header_error(const struct in *p)
{
    return p->fault.err ? p->fault.err : tg_fail(TG_EFORMAT, "cut or damaged JPEG: %s", p->fault.why);
}

static int open_jpeg(struct tg_reader *r)
{
    struct in *p = r->state = calloc(1, sizeof *p);
    if (!p)
        return tg_fail(TG_ENOMEM, "no memory to read a JPEG");
    p->r = r;
    p->c.err = jpeg_std_error(&p->fault.mgr);
    p->c.client_data = p;
    p->fault.mgr.error_exit = on_error;
    p->fault.mgr.emit_message = on_message;
    if (setjmp(p->fault.jump))
        return header_error(p);
    jpeg_create_decompress(&p->c);
    p->src = (struct jpeg_source_mgr){.init_source = no_op,
                                      .fill_input_buffer = fill,
                                      .skip_input_data = skip,
                                      .resync_to_restart = jpeg_resync_to_restart,
                                      .term_source = no_op};
    p->c.src = &p->src;
    p->progress.progress_monitor = on_progress;
    p->c.progress = &p->progress;
    jpeg_save_markers(&p->c, JPEG_APP0 + 1, 0xffff);
    jpeg_save_markers(&p->c, JPEG_APP0 + 2, 0xffff);
    jpeg_save_markers(&p->c, JPEG_COM, 0xffff);
    jpeg_read_header(&p->c, TRUE);
    if (p->c.data_precision != 8)
        return tg_fail(TG_EFORMAT, "is a JPEG of %d bits a sample; only 8 are read", p->c.data_precision);
    int err = tg_reader_check_size(r, p->c.image_width, p->c.image_height);
    if (!err)
        err = describe(p);
    if (!err)
        err = take_meta(p);
    if (err)
        return err;
    r->info.w = (int)p->c.image_width;
    r->info.h = (int)p->c.image_height;
    return check_bytes(p);
}

/* CMYK to RGB: R = (1 - C)(1 - K), and so on. Adobe stores 255 for no ink. */
static void from_ink(const struct in *p, const uint8_t *ink, uint8_t *rgb)
{
    const unsigned flip = p->c.saw_Adobe_marker ? 0 : 255;
    for (int x = 0; x < p->r->info.w; x++, ink += 4, rgb += 3)
        for (int i = 0; i < 3; i++)
            rgb[i] = (uint8_t)(((ink[i] ^ flip) * (ink[3] ^ flip) + 127) / 255);
}

static void read_batch(struct in *p, char *rows, ptrdiff_t stride, int n)
{
    JSAMPROW row[BATCH];
    const size_t ink_row = (size_t)p->r->info.w * 4;
    for (int i = 0; i < n; i++)
        row[i] = p->ink ? p->ink + (size_t)i * ink_row : (JSAMPROW)(rows + (ptrdiff_t)i * stride);
    int got = (int)jpeg_read_scanlines(&p->c, row, (JDIMENSION)n);
    for (int i = 0; p->ink && i < got; i++)
        from_ink(p, row[i], (uint8_t *)rows + (ptrdiff_t)i * stride);
    p->done += got;
}

static int rows_jpeg(struct tg_reader *r, char *rows, ptrdiff_t stride, int n)
{
    struct in *p = r->state;
    int err = 0;
    p->done = 0;
    if (setjmp(p->fault.jump) == 0) {
        if (!p->started) {
            if (p->c.out_color_space == JCS_CMYK && !(p->ink = malloc((size_t)r->info.w * 4 * BATCH)))
                return tg_fail(TG_ENOMEM, "no memory to read a JPEG");
            p->started = true;
            jpeg_start_decompress(&p->c);
        }
        while (p->done < n && !p->broken)
            read_batch(p, rows + (ptrdiff_t)p->done * stride, stride, n - p->done < BATCH ? n - p->done : BATCH);
        if (r->row + n == r->info.h && !p->broken)
            jpeg_finish_decompress(&p->c);
    } else {
        p->broken = true;
        err = p->fault.err ? p->fault.err : tg_reader_damage(r, at_row(p), p->fault.why);
    }
    for (; !err && p->done < n; p->done++)
        memset(rows + (ptrdiff_t)p->done * stride, 0, (size_t)r->info.w * (size_t)r->info.channels);
    return err;
}

static void close_reader(struct tg_reader *r)
{
    struct in *p = r->state;
    if (!p)
        return;
    jpeg_destroy_decompress(&p->c);
    free(p->ink);
    free(p);
}

const struct tg_decoder tg_jpeg_decoder = {"JPEG", probe, open_jpeg, rows_jpeg, close_reader};

/* ---- writing ---- */

struct out {
    struct jpeg_compress_struct c;
    struct fault fault;
    struct jpeg_destination_mgr dst;
    struct tg_writer *w;
    int done;      /* rows of the current call */
    uint8_t *rows; /* BATCH of them without alpha and in 8 bits; NULL: as given */
    JOCTET buf[1 << 16];
};

static struct out *out_of(void *c)
{
    return ((struct jpeg_compress_struct *)c)->client_data;
}

static void on_write_message(j_common_ptr c, int level)
{
    (void)c;
    (void)level;
}

static void init_destination(j_compress_ptr c)
{
    struct out *p = out_of(c);
    p->dst.next_output_byte = p->buf;
    p->dst.free_in_buffer = sizeof p->buf;
}

static void send(j_compress_ptr c, size_t n)
{
    struct out *p = out_of(c);
    int err = tg_sink_write(p->w->sink, p->buf, n);
    if (err)
        leave((j_common_ptr)c, err);
    init_destination(c);
}

static boolean empty(j_compress_ptr c)
{
    send(c, sizeof out_of(c)->buf); /* all of it, whatever free_in_buffer says */
    return TRUE;
}

static void term_destination(j_compress_ptr c)
{
    send(c, sizeof out_of(c)->buf - c->dest->free_in_buffer);
}

static int write_error(const struct out *p)
{
    return p->fault.err ? p->fault.err : tg_fail(TG_EIO, "cannot write a JPEG: %s", p->fault.why);
}

static uint64_t per_inch(uint64_t per_metre)
{
    return (per_metre * 254 + 5000) / 10000;
}

/* Whole dots per inch came to this many per metre. */
static bool is_inch(uint64_t per_metre)
{
    return (per_inch(per_metre) * 10000 + 127) / 254 == per_metre;
}

/* JFIF holds dots per inch or centimetre, or a ratio. */
static void put_density(struct jpeg_compress_struct *c, const struct tg_meta *m)
{
    uint64_t x = m->density_x, y = m->density_y;
    int unit = 0;
    if (m->density_unit == 2) {
        unit = x % 100 || y % 100 || (is_inch(x) && is_inch(y)) ? 1 : 2;
        x = unit == 1 ? per_inch(x) : x / 100;
        y = unit == 1 ? per_inch(y) : y / 100;
    }
    if (!m->density_unit || !x || !y || x > UINT16_MAX || y > UINT16_MAX)
        return;
    c->density_unit = (UINT8)unit;
    c->X_density = (UINT16)x;
    c->Y_density = (UINT16)y;
}

static void put_marker(struct out *p, int marker, const char *id, size_t id_size, const void *bytes, size_t n)
{
    if (!n)
        return;
    if (id_size + n > MAX_MARKER) {
        tg_warn("%zu bytes of %s do not fit into a JPEG and are left out", n, id ? id : "comment");
        return;
    }
    jpeg_write_m_header(&p->c, marker, (unsigned)(id_size + n));
    for (size_t i = 0; i < id_size; i++)
        jpeg_write_m_byte(&p->c, id[i]);
    for (size_t i = 0; i < n; i++)
        jpeg_write_m_byte(&p->c, ((const uint8_t *)bytes)[i]);
}

static void put_meta(struct out *p, const struct tg_meta *m)
{
    put_marker(p, JPEG_APP0 + 1, exif_id, sizeof exif_id, m->exif, m->exif_size);
    put_marker(p, JPEG_APP0 + 1, xmp_id, sizeof xmp_id, m->xmp, m->xmp_size);
    if (tg_meta_icc_fits(m, p->c.input_components) && m->icc_size <= 255 * 65519)
        jpeg_write_icc_profile(&p->c, m->icc, (unsigned)m->icc_size);
    for (int i = 0; i < m->n_texts; i++)
        if (m->texts[i].kind == 3 || (m->texts[i].key && strcmp(m->texts[i].key, "Comment") == 0))
            put_marker(p, JPEG_COM, NULL, 0, m->texts[i].text, strlen(m->texts[i].text));
}

static void set_sampling(struct out *p)
{
    const struct tg_meta *m = p->w->opts.meta;
    int hv = m ? m->jpeg_sampling : 0, h = hv >> 4, v = hv & 15;
    /* An MCU has at most ten blocks, two of them chroma's. */
    if (h < 1 || h > 4 || v < 1 || v > 4 || h * v > 8)
        h = v = p->w->opts.quality < 90 ? 2 : 1;
    p->c.comp_info[0].h_samp_factor = h;
    p->c.comp_info[0].v_samp_factor = v;
}

static int open_writer(struct tg_writer *w)
{
    const struct tg_frame *f = &w->shape;
    const uint8_t *b = w->opts.background;
    if (f->w > JPEG_MAX_DIMENSION || f->h > JPEG_MAX_DIMENSION)
        return tg_fail(TG_EUSAGE, "%d x %d pixels: a JPEG has at most %ld a side", f->w, f->h, JPEG_MAX_DIMENSION);
    struct out *p = w->state = calloc(1, sizeof *p);
    if (!p)
        return tg_fail(TG_ENOMEM, "no memory to write a JPEG");
    p->w = w;
    if (!w->opts.quality)
        w->opts.quality = 90;
    /* Gray on a coloured background is not gray. */
    const int channels = f->channels >= 3 || (f->channels == 2 && (b[0] != b[1] || b[1] != b[2])) ? 3 : 1;
    if (f->depth == TG_U16 || f->channels == 2 || f->channels == 4) {
        p->rows = malloc((size_t)f->w * (size_t)channels * BATCH);
        if (!p->rows)
            return tg_fail(TG_ENOMEM, "no memory to write a JPEG");
    }
    if (f->depth == TG_U16)
        tg_warn_once("16 bits are reduced to 8");
    p->c.err = jpeg_std_error(&p->fault.mgr);
    p->c.client_data = p;
    p->fault.mgr.error_exit = on_error;
    p->fault.mgr.emit_message = on_write_message;
    if (setjmp(p->fault.jump))
        return write_error(p);
    jpeg_create_compress(&p->c);
    p->dst.init_destination = init_destination;
    p->dst.empty_output_buffer = empty;
    p->dst.term_destination = term_destination;
    p->c.dest = &p->dst;
    p->c.image_width = (JDIMENSION)f->w;
    p->c.image_height = (JDIMENSION)f->h;
    p->c.input_components = channels;
    p->c.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&p->c);
    jpeg_set_quality(&p->c, w->opts.quality, TRUE);
    if (channels == 3)
        set_sampling(p);
    if (w->opts.meta)
        put_density(&p->c, w->opts.meta);
    jpeg_start_compress(&p->c, TRUE);
    if (w->opts.meta)
        put_meta(p, w->opts.meta);
    return 0;
}

/* A row as JPEG holds it: 8 bits, alpha laid on the background, each rounded once. */
static void flatten(const struct out *p, const char *row, uint8_t *to)
{
    const struct tg_frame *f = &p->w->shape;
    const uint8_t *back = p->w->opts.background;
    const int n = p->c.input_components, colors = f->channels < 3 ? 1 : 3;
    const bool alpha = f->channels != colors;
    for (int x = 0; x < f->w; x++, to += n)
        for (int i = 0; i < n; i++) {
            const size_t at = (size_t)x * (size_t)f->channels, c = at + (size_t)(i < colors ? i : 0),
                         a = at + (size_t)colors;
            const uint8_t *p8 = (const uint8_t *)row;
            const uint16_t *p16 = (const uint16_t *)row;
            if (f->depth == TG_U8)
                to[i] = (uint8_t)((p8[c] * p8[a] + back[i] * (255 - p8[a]) + 127) / 255);
            else if (alpha)
                to[i] = (uint8_t)(((uint64_t)p16[c] * p16[a] + (uint64_t)back[i] * 257 * (65535U - p16[a]) +
                                   65535U * 257 / 2) /
                                  (65535U * 257));
            else
                to[i] = tg_reduce(p16[c]);
        }
}

static void write_batch(struct out *p, const char *rows, ptrdiff_t stride, int n)
{
    JSAMPROW row[BATCH];
    const size_t bytes = (size_t)p->w->shape.w * (size_t)p->c.input_components;
    for (int i = 0; i < n; i++) {
        const char *from = rows + (ptrdiff_t)i * stride;
        row[i] = p->rows ? p->rows + (size_t)i * bytes : (JSAMPROW)from; /* libjpeg only reads it */
        if (p->rows)
            flatten(p, from, row[i]);
    }
    for (int done = 0; done < n;)
        done += (int)jpeg_write_scanlines(&p->c, row + done, (JDIMENSION)(n - done));
    p->done += n;
}

static int write_rows(struct tg_writer *w, const char *rows, ptrdiff_t stride, int n)
{
    struct out *p = w->state;
    p->done = 0;
    if (setjmp(p->fault.jump))
        return write_error(p);
    while (p->done < n)
        write_batch(p, rows + (ptrdiff_t)p->done * stride, stride, n - p->done < BATCH ? n - p->done : BATCH);
    return 0;
}

static int finish_writer(struct tg_writer *w)
{
    struct out *p = w->state;
    if (setjmp(p->fault.jump))
        return write_error(p);
    jpeg_finish_compress(&p->c);
    return 0;
}

static void close_writer(struct tg_writer *w)
{
    struct out *p = w->state;
    if (!p)
        return;
    jpeg_destroy_compress(&p->c);
    free(p->rows);
    free(p);
}

const struct tg_encoder tg_jpeg_encoder = {"jpeg", open_writer, write_rows, finish_writer, close_writer};
