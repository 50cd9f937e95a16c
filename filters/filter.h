/* What a filter is: one const struct with a table of parameters and a table of variants.
 *
 * A new filter is three small files (<name>.h, <name>.c, ../kernels/<name>.cu) and one line in list.h; invert is the one
 * to copy.
 */
#ifndef TG_FILTER_H
#define TG_FILTER_H

#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_stream; /* a CUDA stream: see kernels/cuda.h */

/* All that a variant may look at. src and dst never overlap; dst has the shape that the filter's shape function gave. */
struct tg_job {
    struct tg_image src, dst;
    const void *params; /* the filter's own struct, validated */
    void *scratch;      /* variant->scratch(job) bytes in the variant's memory, aligned to 256, contents undefined */
    struct tg_stream *stream; /* NULL on the host; a CUDA variant enqueues there and never waits */
};

/* Fills every sample of job->dst. 0 or a negative tg_err. */
typedef int tg_run(const struct tg_job *job);

enum tg_type {
    TG_FLOAT,  /* float */
    TG_INT,    /* int */
    TG_BOOL,   /* bool, written 0/1, yes/no, true/false, on/off */
    TG_CHOICE, /* int, an index into choices */
    TG_KERNEL, /* const struct tg_kernel *, from a name, a file or numbers: see kernel.h */
};

/* One row of a filter's parameter table: command line, help, presets, sliders and tests all walk it. */
struct tg_param {
    const char *key, *label, *help, *unit; /* unit: "px", "of full scale", "" */
    enum tg_type type;
    size_t offset; /* in the filter's params struct; through TG_PARAM_*, which checks the field's type */
    double def, min, max;
    const char *const *choices; /* TG_CHOICE: NULL-terminated */
    const char *def_text;       /* TG_KERNEL: the default as text */
};

/* One implementation. Rows are ordered from plainest to fastest; row 0 is a plain loop on the host and the definition. */
struct tg_variant {
    const char *name, *idea; /* idea: what this row does that the row before did not, in one line */
    enum tg_where where;     /* TG_HOST or TG_CUDA: the memory that src, dst and scratch lie in */
    tg_run *run;
    bool (*fits)(const struct tg_job *);      /* NULL: any job. May look at all of the job but the pixels */
    size_t (*scratch)(const struct tg_job *); /* NULL: none. As fits */
};

struct tg_filter {
    const char *name, *label, *about;
    size_t params_size;                /* at most TG_PARAMS_MAX */
    const struct tg_param *params;     /* ends with a row whose key is NULL */
    const struct tg_variant *variants; /* ends with a row whose name is NULL */
    /* Sets w, h, planes, depth and has_alpha of dst, which starts as a copy of src. NULL: the same as src. */
    void (*shape)(const void *params, const struct tg_image *src, struct tg_image *dst);
};

#define TG_PARAMS_MAX 256

/* The offset of a field whose type must be exactly T: a float row on an int field does not compile. C only. */
#define TG_FIELD(S, field, T) (offsetof(S, field) + 0 * sizeof(_Generic(((S *)0)->field, T : 1)))

#define TG_PARAM_FLOAT(S, f, label_, def_, min_, max_, unit_, help_)                                                 \
    {                                                                                                                \
        .key = #f, .label = label_, .help = help_, .unit = unit_, .type = TG_FLOAT, .offset = TG_FIELD(S, f, float), \
        .def = def_, .min = min_, .max = max_                                                                        \
    }
#define TG_PARAM_INT(S, f, label_, def_, min_, max_, unit_, help_)                                               \
    {                                                                                                            \
        .key = #f, .label = label_, .help = help_, .unit = unit_, .type = TG_INT, .offset = TG_FIELD(S, f, int), \
        .def = def_, .min = min_, .max = max_                                                                    \
    }
#define TG_PARAM_BOOL(S, f, label_, def_, help_)                                                                \
    {                                                                                                           \
        .key = #f, .label = label_, .help = help_, .unit = "", .type = TG_BOOL, .offset = TG_FIELD(S, f, bool), \
        .def = def_, .min = 0, .max = 1                                                                         \
    }
/* choices_: an array of N names and a closing NULL, in the order of the enum. */
#define TG_PARAM_CHOICE(S, f, label_, def_, choices_, help_)                                                     \
    {                                                                                                            \
        .key = #f, .label = label_, .help = help_, .unit = "", .type = TG_CHOICE, .offset = TG_FIELD(S, f, int), \
        .def = def_, .min = 0, .max = (int)(sizeof(choices_) / sizeof((choices_)[0])) - 2, .choices = choices_   \
    }
#define TG_PARAM_KERNEL(S, f, label_, def_text_, help_)                           \
    {                                                                             \
        .key = #f, .label = label_, .help = help_, .unit = "", .type = TG_KERNEL, \
        .offset = TG_FIELD(S, f, const struct tg_kernel *), .def_text = def_text_ \
    }
#define TG_PARAM_END \
    {                \
        .key = NULL  \
    }

/* A CUDA row of a variant table; nothing where the program is built without CUDA. */
#ifdef TG_HAVE_CUDA
#define TG_CUDA_ROW(...) {__VA_ARGS__},
#else
#define TG_CUDA_ROW(...)
#endif

/* The row that every neighbourhood filter shares: the names of enum tg_border and the row's text. */
extern const char *const tg_border_names[6];
#define TG_PARAM_BORDER(S)                                                                                          \
    TG_PARAM_CHOICE(S, border, "Border", TG_REFLECT101, tg_border_names,                                            \
                    "what lies outside: reflect101 dcb|abcd, reflect cba|abcd, replicate aaa|abcd, wrap bcd|abcd, " \
                    "constant 000|abcd (transparent where there is alpha)")

#ifdef __cplusplus
}
#endif
#endif
