/* Between media.c and the codecs: a codec is a struct of functions, and shares what readers and writers have in common. */
#ifndef TG_CODEC_H
#define TG_CODEC_H

#include "media.h"
#include "sink.h"
#include "source.h"

struct tg_decoder {
    const char *name;
    bool (*probe)(const uint8_t *head, size_t n);
    int (*open)(struct tg_reader *r);                                      /* reads the header, fills r->info */
    int (*rows)(struct tg_reader *r, char *rows, ptrdiff_t stride, int n); /* rows r->row.., never past the end */
    void (*close)(struct tg_reader *r);                                    /* after an open that failed too */
};

struct tg_reader {
    const struct tg_decoder *codec;
    void *state; /* the codec's */
    struct tg_source *src;
    struct tg_read_opts opts;
    struct tg_info info;
    int row;      /* rows given so far */
    bool damaged; /* said so, and goes on because of opts.lenient */
    int err;      /* the first; nothing is read after it */
    char *path;
};

struct tg_encoder {
    const char *name;
    int (*open)(struct tg_writer *w); /* writes the header */
    int (*rows)(struct tg_writer *w, const char *rows, ptrdiff_t stride, int n);
    int (*finish)(struct tg_writer *w);
    void (*close)(struct tg_writer *w); /* always, and last */
};

struct tg_writer {
    const struct tg_encoder *codec;
    void *state;
    struct tg_sink *sink;
    struct tg_write_opts opts; /* its meta only during open */
    struct tg_frame shape;
    int row;
    int err; /* the first; nothing is written after it */
};

extern const struct tg_decoder tg_png_decoder, tg_jpeg_decoder;
extern const struct tg_encoder tg_png_encoder, tg_jpeg_encoder;

/* TG_ELIMIT where w x h is more than the reader may take. */
int tg_reader_check_size(const struct tg_reader *r, uint64_t w, uint64_t h);
/* What to do about damage at a row: TG_EFORMAT with a message, or, where the reader is lenient, a warning (one a picture) and
 * 0. */
int tg_reader_damage(struct tg_reader *r, int row, const char *why);

/* Copies n bytes, with a 0 behind them, to *to, which is freed first. */
int tg_meta_set(uint8_t **to, size_t *size, const void *bytes, size_t n);
/* Adds a text; lang and key_utf8 as in struct tg_text. n: bytes in text, which ends at its first 0. */
int tg_meta_add_text(struct tg_meta *m, int kind, const char *key, const char *text, size_t n, const char *lang,
                     const char *key_utf8);
/* True where there is a profile, and it is one for pictures of so many channels. */
bool tg_meta_icc_fits(const struct tg_meta *m, int channels);

/* Exact rounding: 16 bits to 8. */
static inline uint8_t tg_reduce(uint16_t v)
{
    return (uint8_t)((v * 255U + 32767U) / 65535U);
}

#endif
