/* Chains: filters in a row, as a plain value and as text.
 *
 * Text form, ffmpeg's:   bilateral=sigma_space=4:sigma_range=0.1,invert
 *                        bilateral@tiled=4:0.1       (@ pins a variant; values without a key fill the rows in order)
 * A value that holds ',' ':' '=' or a blank is quoted, '...', or the character is escaped with '\'.
 * Numbers use a point, whatever the locale.
 */
#ifndef TG_CHAIN_H
#define TG_CHAIN_H

#include "filter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TG_CHAIN_MAX 16

struct tg_node {
    const struct tg_filter *filter;
    int variant; /* row of filter->variants, or -1: the fastest that fits on the device */
    bool bypass;
    unsigned char params[TG_PARAMS_MAX] __attribute__((aligned(16)));
};

/* A plain value: copying it is the snapshot. */
struct tg_chain {
    int n;
    struct tg_node node[TG_CHAIN_MAX];
};

/* ---- registry ---- */

extern const struct tg_filter *const tg_filters[]; /* every filter, in list.h's order; ends with NULL */

/* The filter of that name, or NULL after tg_fail with the nearest name. */
const struct tg_filter *tg_filter_find(const char *name);

/* The row of that name, or -1 after tg_fail with the filter's variants. */
int tg_variant_find(const struct tg_filter *f, const char *name);

/* The last row with this `where` that fits the job, or -1 where there is none. */
int tg_variant_auto(const struct tg_filter *f, enum tg_where where, const struct tg_job *job);

/* The row of that key, or NULL after tg_fail with the nearest key. */
const struct tg_param *tg_param_find(const struct tg_filter *f, const char *key);

/* ---- parameters: the one setter and the one printer ---- */

/* Every row's default. */
void tg_params_default(const struct tg_filter *f, void *params);

/* Sets one parameter from text, checked against its row. TG_EUSAGE says filter, key, value and range. */
int tg_param_set(const struct tg_filter *f, const struct tg_param *row, void *params, const char *text);

/* The value as text that tg_param_set reads back to the same value; at most size bytes with the NUL. Returns buf. */
const char *tg_param_text(const struct tg_param *row, const void *params, char *buf, size_t size);

/* The range as text: "0..1", "0..255", "disc|square". Returns buf. */
const char *tg_param_range(const struct tg_param *row, char *buf, size_t size);

/* ---- chains ---- */

/* Replaces *c by what the text says. "" is the empty chain, the identity. On failure *c is not touched. */
int tg_chain_parse(struct tg_chain *c, const char *text);

/* The chain as text: parameters that differ from their default, pinned variants. Returns the length it needs without
 * the NUL, as snprintf does. */
int tg_chain_text(const struct tg_chain *c, char *buf, size_t size);

/* The shape that one filter, or a whole chain, makes of src. */
void tg_filter_shape(const struct tg_filter *f, const void *params, const struct tg_image *src, struct tg_image *dst);
void tg_chain_shape(const struct tg_chain *c, const struct tg_image *src, struct tg_image *dst);

/* Number from text, the whole text, in the C locale: true and *out, or false. No hex, no "inf" or "nan". */
bool tg_parse_number(const char *text, double *out);

/* The nearest of n names to a word, or NULL where none is near (edit distance over a third of the word). name(i, ctx)
 * gives the i-th. */
const char *tg_nearest(const char *word, int n, const char *(*name)(int i, const void *ctx), const void *ctx);

#ifdef __cplusplus
}
#endif
#endif
