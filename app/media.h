/* Pictures in and out: readers and writers found by content, one codec a file (png.c, jpeg.c).
 *
 * Rows stream: a reader gives rows from the top as coded (not turned by orientation), a writer takes them, and neither
 * keeps the whole picture unless its format forces it to (interlaced PNG).
 * Nothing a file says is trusted before it is checked; sizes are 64-bit.
 */
#ifndef TG_MEDIA_H
#define TG_MEDIA_H

#include "../filters/pack.h"
#include <stdint.h>

struct tg_text {
    char *key, *text;      /* text in UTF-8 or Latin-1 as it was found */
    int kind;              /* 0 tEXt, 1 zTXt, 2 iTXt, 3 JPEG comment */
    char *lang, *key_utf8; /* iTXt; or NULL */
};

/* What a picture carries besides pixels. Owned; tg_meta_free frees the parts. All zero is "nothing". */
struct tg_meta {
    uint8_t *icc, *exif, *xmp; /* exif: the TIFF part, from "II*" or "MM*" on */
    size_t icc_size, exif_size, xmp_size;
    int density_unit; /* 0: none known; 1: only the ratio; 2: pixels per metre */
    uint32_t density_x, density_y;
    bool has_gamma, has_srgb, has_chrm;
    uint32_t gamma;   /* gAMA: 100000 times the exponent */
    int srgb_intent;  /* sRGB: 0..3 */
    uint32_t chrm[8]; /* cHRM: white, red, green, blue x,y, 100000 times */
    struct tg_text *texts;
    int n_texts;
    int jpeg_sampling; /* luma factors of the JPEG it came from, h * 16 + v (0x22 is 4:2:0); 0: none */
};

void tg_meta_free(struct tg_meta *m);

/* The EXIF orientation, 1..8; 1 where there is none, or it is damaged. */
int tg_meta_orientation(const struct tg_meta *m);
/* In place: sets the orientation to 1 wherever it stands (EXIF, and XMP's tiff:Orientation), EXIF's pixel size to w x h, and
 * wipes EXIF's thumbnail, which shows the picture as it was. */
void tg_meta_upright(struct tg_meta *m, int w, int h);

struct tg_info {
    const char *format; /* "PNG", "JPEG" */
    int w, h;           /* as coded */
    int channels;       /* 1..4, as the rows are given: palette and colour keys are expanded */
    bool has_alpha;
    enum tg_depth depth; /* TG_U8 or TG_U16, as the rows are given: below 8 bits is expanded to the full 0..255 */
    int bits;            /* a sample's in the file: 1, 2, 4, 8, 16 */
    const char
        *color; /* as the file has it: "gray", "palette", "RGB", "gray+alpha", "RGBA", "YCbCr 4:2:0", "CMYK", ... */
    bool interlaced, progressive;
    bool animated;   /* more frames follow that are not read */
    int orientation; /* 1..8 */
    struct tg_meta
        meta; /* owned by the reader; what stands behind the pixels (PNG) is added when the last row is read */
};

struct tg_read_opts {
    uint64_t max_pixels; /* refuse more; 0: TG_MAX_PIXELS */
    bool lenient; /* a cut or damaged picture gives what there is, the rest filled, with a warning; else it fails */
    const volatile int *cancel; /* not NULL and not 0: stop with TG_ECANCEL */
};
#define TG_MAX_PIXELS (1ULL << 30)

struct tg_reader;

/* Opens a file ("-": standard input; "./-" is a file) and reads its header. The format is found by its first bytes.
 * Never seeks; a pipe gives the same pixels as a file. A file that is no picture: TG_EFORMAT says what it looks like. Folders
 * are refused; a FIFO is read. Messages do not repeat the path: callers put it in front. */
int tg_reader_open(struct tg_reader **r, const char *path, const struct tg_read_opts *opts);
const struct tg_info *tg_reader_info(const struct tg_reader *r);
/* The next n rows, w * channels samples each, into rows at stride bytes. Past the end: TG_EUSAGE. On TG_EFORMAT (cut,
 * damaged) the message says about which row. After the last row of the picture the file's end is checked too. */
int tg_reader_rows(struct tg_reader *r, void *rows, ptrdiff_t stride, int n);
void tg_reader_close(struct tg_reader *r); /* NULL is fine */

struct tg_write_opts {
    int quality;           /* JPEG 1..100; 0: 90 */
    int compression;       /* PNG 0..9, -1: 6 */
    int bits;              /* 8 or 16: the samples' in the file; 0: as the rows. JPEG is 8 */
    uint8_t background[3]; /* what alpha is composited on where the format has none */
    const struct tg_meta
        *meta;          /* what to carry over; NULL: nothing; looked at only while opening. Parts that the format or
                                   colour cannot hold are left out (an RGB profile in a gray picture, say) */
    bool to_stdout_tty; /* allow pixels on a terminal */
    const volatile int *cancel; /* as in tg_read_opts */
};

struct tg_writer;

/* "png" or "jpeg" from a path's ending (png, jpg, jpeg, jpe, jfif in any case), or NULL. */
const char *tg_format_of(const char *path);

/* Opens an output of rows like `shape` (w, h, channels, depth; data is not looked at). format: "png", "jpeg", or NULL for the
 * path's ending ("-" and others without one need it). The bytes go to a temporary file beside the target; nothing stands
 * under the path until tg_writer_finish. A symbolic link is followed and stays; an existing file's mode is kept; one that is
 * read-only by its mode, and a folder, are refused. What is no regular file ("-", a FIFO, /dev/full) is written directly. */
int tg_writer_open(struct tg_writer **w, const char *path, const char *format, const struct tg_frame *shape,
                   const struct tg_write_opts *opts);
int tg_writer_rows(struct tg_writer *w, const void *rows, ptrdiff_t stride, int n);
/* Checks that every byte arrived (write, flush, close), then renames. Whether it fails or not, w is gone. */
int tg_writer_finish(struct tg_writer *w);
/* Removes the temporary file. NULL is fine. */
void tg_writer_abort(struct tg_writer *w);
/* Removes every temporary file that is open now; async-signal-safe, for a second Ctrl-C. */
void tg_writer_abort_all(void);

/* Whether two paths name the same file (device and inode); false where either does not exist. */
bool tg_same_file(const char *a, const char *b);

#endif
