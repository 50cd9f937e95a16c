/* One frame through a chain: decode -> upload -> unpack -> a job a node -> pack -> download -> encode.
 *
 * On the host rows are unpacked as they are decoded and packed as they are encoded, so no interleaved copy of the picture
 * exists; on a device the frame crosses the bus in the codec's form. Buffers grow to the largest frame seen and are used
 * again. All memory that a frame needs is taken before its first row is read.
 */
#ifndef TG_PIPELINE_H
#define TG_PIPELINE_H

#include "../filters/chain.h"
#include "../kernels/cuda.h"
#include "media.h"

/* Milliseconds, summed over pictures. On a device upload to download come from its events, without waiting between them. */
struct tg_timing {
    int pictures;
    double decode, upload, unpack, filter[TG_CHAIN_MAX], pack, download, encode;
};

struct tg_pipeline_opts {
    int depth;                                /* of the planes: an enum tg_depth, or -1: the source's */
    bool linear;                              /* filter in linear light; planes are float */
    bool fallback;                            /* on a device's failure go on on the CPU, with a warning; else fail */
    const volatile int *cancel;               /* as in tg_read_opts */
    void (*progress)(void *ctx, double done); /* NULL, or told now and then how much of the frame is done, 0..1 */
    void *progress_ctx;
};

struct tg_pipeline;

/* dev: NULL for the host; it must outlive the pipeline. */
int tg_pipeline_open(struct tg_pipeline **p, struct tg_device *dev, const struct tg_pipeline_opts *opts);
void tg_pipeline_close(struct tg_pipeline *p); /* NULL is fine */

/* Checks that each pinned variant can run on this kind of device: TG_EUSAGE names it. */
int tg_chain_fits_device(const struct tg_chain *c, bool cuda);
/* True where a node pins a variant of that kind. */
bool tg_chain_pins(const struct tg_chain *c, enum tg_where where);

/* Reads the picture and makes it the pipeline's source. `chain` is what tg_pipeline_filter will be called with first: memory for
 * it is taken before reading. */
int tg_pipeline_load(struct tg_pipeline *p, struct tg_reader *r, const struct tg_chain *chain);

/* Runs a chain over the source and makes its result ready as rows of `bits` a sample: 8 or 16, or 0: the planes' own, the source's
 * where the planes are float. keep: the source stays, so that another chain can follow; it costs one more buffer. */
int tg_pipeline_filter(struct tg_pipeline *p, const struct tg_chain *chain, int bits, bool keep);

/* The last result: interleaved rows of this shape; data is NULL. */
struct tg_frame tg_pipeline_shape(const struct tg_pipeline *p);
/* Writes rows y.. of the result into rows->data (shaped as tg_pipeline_shape says, rows->h of them). */
void tg_pipeline_rows(struct tg_pipeline *p, int y, struct tg_frame *rows);
/* Writes all of the result to a writer that was opened for that shape. Does not finish the writer. */
int tg_pipeline_store(struct tg_pipeline *p, struct tg_writer *w);

/* Adds what finishing the writer took to the time of encoding. */
void tg_pipeline_encoded(struct tg_pipeline *p, double ms);

/* Sums since the pipeline was opened. */
const struct tg_timing *tg_pipeline_timing(const struct tg_pipeline *p);
/* Name of what the last chain ran on: "CPU", or the card's. */
const char *tg_pipeline_device(const struct tg_pipeline *p);
/* Name of the variant that node i of the last chain ran. */
const char *tg_pipeline_variant(const struct tg_pipeline *p, int i);

/* Monotonic milliseconds. */
double tg_now_ms(void);

#endif
