#include "../filters/chain.h"
#include "../filters/kernel.h"
#include "../filters/log.h"
#include "../filters/sample.h"
#include "../filters/simd.h"
#include "cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "tileglass check [FILTER...]\n\n"
    "Runs every variant of the filters (default: all) against the definition, its plain loop on the CPU: a seeded "
    "walk\n"
    "over sizes, depths, planes, row strides, patterns, parameters and borders, each twice, in memory with guards.\n"
    "Results may differ by one 8-bit level, and in at most 0.5 % of the samples at all.\n\n"
    "      --device DEVICE  auto (default): variants for the CPU and, where there is a card, for CUDA; cpu; cuda:N\n"
    "      --quick          fewer cases, no large picture\n"
    "      --seed N         of the walk (1)\n"
    "      --case N         one case of the walk, as a failure names it\n"
    "  -v, --verbose        a line a case\n\n"
    "Exit codes: 0 all agree, 1 some do not, 2 usage, 3 no such device, 130 interrupted.\n";

/* What may differ: MAX_LEVELS at all, and in more than MAX_SHARE of the samples only less than rounding shows. */
#define MAX_LEVELS  1.001 /* a difference of float values is itself rounded */
#define MAX_SHARE   0.005
#define FEW_SAMPLES 1000 /* under these a share says nothing */
#define SHOWN       5    /* failures of a variant that are printed */

struct options {
    const char *device;
    struct tg_device *dev;
    struct tg_stream *stream;
    bool host, quick;     /* host: walk the CPU's variants */
    long long seed, only; /* only: the one case to run, or -1 */
};

struct tally {
    int cases, failures;
    double worst; /* 8-bit levels */
    uint64_t samples, off;
};

/* ---- numbers ---- */

struct rng {
    uint64_t s;
};

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t next(struct rng *r)
{
    uint64_t z = (r->s += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static int below(struct rng *r, int n)
{
    return (int)(next(r) % (uint64_t)n);
}

static float unit(struct rng *r)
{
    return (float)(next(r) >> 40) * 0x1p-24F;
}

static struct rng seeded(long long seed, const char *name, int a, int b)
{
    struct rng r = {(uint64_t)seed};
    for (; *name; name++)
        r.s = next(&r) ^ (uint64_t)(unsigned char)*name;
    r.s = next(&r) ^ (uint64_t)(unsigned)a;
    r.s = next(&r) ^ (uint64_t)(unsigned)b;
    return r;
}

/* Which of an axis's n values case i takes: every n cases take each once, in an order of their own. */
static int pick(const struct options *o, const char *axis, int i, int n)
{
    struct rng r = seeded(o->seed, axis, i / n, n);
    int at = i % n;
    /* Fisher and Yates, following the one place that is asked for. */
    for (int k = n - 1, j; k > 0; k--) {
        j = below(&r, k + 1);
        at = at == k ? j : at == j ? k : at;
    }
    return at;
}

/* ---- parameters ---- */

static const char *const more_kernels[] = {
    "1 1", "1;3;1", "1 2;3 5", "1 2 3 4 5 6 7 8 9 10 12", "-1 0 1;-2 0 2;-1 0 1", "0", "-1", "1 -1 1e-9",
};
enum { MORE_KERNELS = sizeof more_kernels / sizeof more_kernels[0] };

static int built_in_kernels(void)
{
    int n = 0;
    while (tg_kernel_names[n])
        n++;
    return n;
}

/* How many values of a row are tried by themselves, all else at its default. */
static int row_values(const struct tg_param *r)
{
    return r->type == TG_CHOICE ? (int)r->max + 1 : r->type == TG_KERNEL ? built_in_kernels() + MORE_KERNELS + 1 : 2;
}

static int set(const struct tg_filter *f, const struct tg_param *r, void *params, double v)
{
    char text[64];
    snprintf(text, sizeof text, "%.9g", fmin(fmax(v, r->min), r->max));
    return tg_param_set(f, r, params, r->type == TG_CHOICE ? r->choices[(int)v] : text);
}

/* A kernel of w x h whole numbers with an odd sum: no average of 8-bit samples then lies half-way between levels. */
static int set_kernel(const struct tg_filter *f, const struct tg_param *r, void *params, int w, int h, int lo, int hi,
                      struct rng *rng)
{
    char *text = malloc((size_t)w * (size_t)h * 5 + 1);
    if (!text)
        return tg_fail(TG_ENOMEM, "no memory for a kernel");
    size_t n = 0;
    for (int i = 0, sum = 0; i < w * h; i++) {
        int v = lo + below(rng, hi - lo + 1);
        sum += v;
        if (i == w * h - 1 && sum % 2 == 0)
            v++;
        n += (size_t)sprintf(text + n, "%d%s", v, i % w == w - 1 ? ";" : " ");
    }
    int err = tg_param_set(f, r, params, text);
    free(text);
    return err;
}

/* The i-th of row_values: the smallest and the largest, each choice, each kernel and one of awkward size. */
static int set_row(const struct tg_filter *f, const struct tg_param *r, void *params, int i, struct rng *rng)
{
    const int built_in = built_in_kernels();
    if (r->type == TG_CHOICE)
        return set(f, r, params, i);
    if (r->type != TG_KERNEL)
        return set(f, r, params, i ? r->max : r->min);
    if (i == built_in + MORE_KERNELS)
        return set_kernel(f, r, params, 31, 29, 0, 9, rng);
    return tg_param_set(f, r, params, i < built_in ? tg_kernel_names[i] : more_kernels[i - built_in]);
}

static int set_random(const struct tg_filter *f, const struct tg_param *r, void *params, struct rng *rng)
{
    const double most = strcmp(r->unit, "px") == 0 ? (r->type == TG_INT ? 15 : 6) : 16;
    const double lo = fmax(r->min, -most), hi = fmin(r->max, most);
    const double t = (double)unit(rng);
    int signs = below(rng, 2);
    switch (r->type) {
    case TG_FLOAT:
        return set(f, r, params, lo < 0 ? lo + t * (hi - lo) : lo + t * t * (hi - lo));
    case TG_INT:
        return set(f, r, params, floor(lo + t * (hi - lo + 0.999)));
    case TG_BOOL:
    case TG_CHOICE:
        return set(f, r, params, below(rng, (int)r->max + 1));
    case TG_KERNEL:
        return set_kernel(f, r, params, 1 + below(rng, 9), 1 + below(rng, 9), signs ? -9 : 0, 9, rng);
    }
    return 0;
}

static int params_values(const struct tg_filter *f)
{
    int n = 1;
    for (const struct tg_param *r = f->params; r->key; r++)
        n += row_values(r);
    return f->params->key ? 2 * n : n;
}

/* Choice m of params_values: the defaults, one row changed, and as many of everything at random. */
static int set_params(const struct tg_filter *f, void *params, int m, struct rng *rng)
{
    int one = m - 1;
    tg_params_default(f, params);
    if (m == 0)
        return 0;
    for (const struct tg_param *r = f->params; r->key; one -= row_values(r), r++)
        if (one < row_values(r))
            return set_row(f, r, params, one, rng);
    int err = 0;
    for (const struct tg_param *r = f->params; r->key && !err; r++)
        if (below(rng, 4))
            err = set_random(f, r, params, rng);
    return err;
}

/* How far taps may lie, as the rows say it: radii, three sigmas, half a kernel. */
static double reach(const struct tg_filter *f, const unsigned char *params)
{
    double most = 1;
    for (const struct tg_param *r = f->params; r->key; r++) {
        const void *field = params + r->offset;
        if (r->type == TG_KERNEL) {
            const struct tg_kernel *k = *(const struct tg_kernel *const *)field;
            most = fmax(most, fmax(k->w, k->h) / 2);
        } else if (strcmp(r->unit, "px") == 0) {
            most = fmax(most, r->type == TG_INT ? *(const int *)field : 3 * (double)*(const float *)field);
        }
    }
    return most;
}

/* ---- pictures ---- */

static const int sizes[][2] = {
    {1, 1},   {1, 37},  {41, 1},  {7, 5},   {2, 65},  {17, 15}, {16, 16},  {15, 17},  {33, 31},   {32, 32},
    {31, 33}, {129, 8}, {65, 63}, {64, 64}, {63, 65}, {8, 515}, {257, 19}, {101, 97}, {641, 479}, {2053, 1031},
};
enum { SIZES = sizeof sizes / sizeof sizes[0], SMALL = 64 };

static const char *const patterns[] = {"random", "constant", "impulse", "checkerboard", "ramp", "soft", "wild"};
enum { RANDOM, CONSTANT, IMPULSE, CHECKERBOARD, RAMP, SOFT, WILD, PATTERNS };

/* 10 and 200 rather than 0 and 255: their mean is no half. wild: also values outside 0..1, NaN and Inf. */
static float sample(int pattern, const struct tg_image *im, int c, int x, int y, struct rng *r)
{
    switch (pattern) {
    case CONSTANT:
        return 153.F / 255.F;
    case IMPULSE:
        return x == im->w / 2 && y == im->h / 2 ? 1.F : 0.F;
    case CHECKERBOARD:
        return (x + y) % 2 ? 200.F / 255.F : 10.F / 255.F;
    case RAMP:
        return (float)((x + 2 * y + 40 * c) % 256) / 255.F;
    case SOFT:
        return 0.4F + 0.1F * unit(r);
    case WILD: {
        static const float special[] = {NAN, INFINITY, -INFINITY};
        return below(r, 16) ? 1.5F * unit(r) - 0.25F : special[below(r, 3)];
    }
    default:
        return unit(r);
    }
}

static void draw(const struct tg_image *im, int pattern, struct rng *r)
{
    const float full = tg_depth_full(im->depth);
    for (int c = 0; c < im->planes; c++)
        for (int y = 0; y < im->h; y++)
            for (int x = 0; x < im->w; x++) {
                float v = c < tg_image_colors(im) ? sample(pattern, im, c, x, y, r)
                                                  : (float[]){0.F, 1.F, unit(r), unit(r)}[below(r, 4)];
                tg_put(im, c, x, y, v * full);
            }
}

/* ---- guarded memory ---- */

/* A picture in the middle of bytes that are not its own; where the variant wants it, and on the host. */
struct block {
    struct tg_image im, host;
    char *bytes;
    void *device;
    size_t size, margin, plane;
};

static void block_close(const struct options *o, struct block *b)
{
    free(b->bytes);
    tg_cuda_free(o->dev, b->device);
}

/* pad, shift: samples between rows, and of the first row's start off a round address. */
static int block_open(const struct options *o, struct block *b, const struct tg_image *shape, int pad, int shift,
                      enum tg_where where)
{
    const size_t bytes = tg_depth_bytes(shape->depth);
    *b = (struct block){.im = *shape, .margin = 512 + (size_t)shift * bytes};
    b->im.where = where;
    b->im.stride = (ptrdiff_t)((size_t)(shape->w + pad) * bytes);
    b->plane = (size_t)b->im.stride * (size_t)shape->h + 64 * bytes;
    b->size = b->margin + b->plane * (size_t)shape->planes + 512;
    b->host = b->im;
    b->host.where = TG_HOST;
    b->bytes = aligned_alloc(512, tg_round_up(b->size, 512));
    if (!b->bytes)
        return tg_fail(TG_ENOMEM, "no memory for a picture of %zu MB", b->size >> 20);
    int err = where == TG_CUDA ? tg_cuda_alloc(o->dev, &b->device, b->size) : 0;
    for (int c = 0; c < shape->planes && !err; c++) {
        size_t at = b->margin + (size_t)c * b->plane;
        b->host.plane[c] = b->bytes + at;
        b->im.plane[c] = (where == TG_CUDA ? (char *)b->device : b->bytes) + at;
    }
    return err;
}

static void copy_rows(const struct tg_image *to, const struct tg_image *from)
{
    for (int c = 0; c < from->planes; c++)
        for (int y = 0; y < from->h; y++)
            tg_copy_plane(from, to, c, y);
}

/* Every byte is `around`, but those of the picture, where there is one. */
static int block_fill(const struct options *o, struct block *b, int around, const struct tg_image *picture)
{
    memset(b->bytes, around, b->size);
    if (picture)
        copy_rows(&b->host, picture);
    return b->device ? tg_cuda_upload(b->device, b->bytes, b->size, o->stream) : 0;
}

/* Takes the picture out; false after tg_fail where a byte that is not its own has changed. */
static bool block_take(struct block *b, int around, const struct tg_image *picture)
{
    const size_t row = (size_t)b->im.w * tg_depth_bytes(b->im.depth);
    copy_rows(picture, &b->host);
    for (int c = 0; c < b->im.planes; c++)
        for (int y = 0; y < b->im.h; y++)
            memset(tg_image_row(&b->host, c, y), around, row);
    for (size_t i = 0; i < b->size; i++)
        if ((unsigned char)b->bytes[i] != around) {
            long long at = (long long)i - (long long)b->margin, in = at < 0 ? at : at % (long long)b->plane;
            tg_fail(TG_EUSAGE, "writes outside of the picture: plane %lld, row %lld, byte %lld of a row of %zu",
                    at < 0 ? 0 : at / (long long)b->plane, in < 0 ? 0 : in / b->im.stride,
                    in < 0 ? in : in % b->im.stride, row);
            return false;
        }
    return true;
}

/* ---- one case ---- */

struct test {
    struct tg_chain chain; /* one node */
    struct tg_image src, want;
    int index, pattern, pad, shift;
};

/* Runs a variant with everything that is not the picture set to `around`, what is to be written to its complement. */
static int run(const struct options *o, const struct test *t, const struct tg_variant *v, int around,
               struct tg_image *out)
{
    enum { GUARD = 256 };
    const int other = ~around & 0xff;
    struct block src = {0}, dst = {0};
    struct tg_job job = {.params = t->chain.node[0].params, .stream = v->where == TG_CUDA ? o->stream : NULL};
    char *guard = NULL;
    size_t bytes = 0;
    int err = block_open(o, &src, &t->src, t->pad, t->shift, v->where);
    if (!err)
        err = block_open(o, &dst, &t->want, t->pad, t->shift, v->where);
    if (!err)
        err = block_fill(o, &src, around, &t->src);
    if (!err)
        err = block_fill(o, &dst, other, NULL);
    if (err)
        goto fail;
    job.src = src.im;
    job.dst = dst.im;
    bytes = v->scratch ? tg_round_up(v->scratch(&job), 256) : 0;
    if (bytes && v->where == TG_CUDA) {
        err = tg_cuda_alloc(o->dev, &job.scratch, bytes);
        if (!err)
            err = tg_cuda_fill(job.scratch, around, bytes, o->stream);
    } else if (bytes) {
        guard = aligned_alloc(256, bytes + GUARD);
        if (!guard)
            err = tg_fail(TG_ENOMEM, "no memory for %zu MB of scratch", bytes >> 20);
        else
            memset(guard, around, bytes + GUARD);
        job.scratch = guard;
    }
    if (!err)
        err = v->run(&job);
    if (!err && dst.device)
        err = tg_cuda_download(dst.bytes, dst.device, dst.size, o->stream);
    if (!err && dst.device)
        err = tg_stream_wait(o->stream);
    if (!err && !block_take(&dst, other, out))
        err = TG_EUSAGE;
    for (int i = 0; guard && !err && i < GUARD; i++)
        if ((unsigned char)guard[bytes + (size_t)i] != around)
            err = tg_fail(TG_EUSAGE, "writes %d bytes past the end of its scratch", i + 1);
fail:
    if (v->where == TG_CUDA)
        tg_cuda_free(o->dev, job.scratch);
    free(guard);
    block_close(o, &dst);
    block_close(o, &src);
    return err;
}

/* Difference in 8-bit levels; of float relative to what is larger than 1. */
static double levels(enum tg_depth depth, float got, float want)
{
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    double d = fabs((double)got - (double)want) / (double)tg_depth_full(depth) * 255;
    if (depth == TG_F32)
        d /= fmax(1, fabs((double)want));
    return isfinite(d) ? d : INFINITY;
}

/* What counts as different at all. */
static double least(enum tg_depth depth)
{
    return depth == TG_U8 ? 0.5 : depth == TG_U16 ? 2.5 / 257 : 255 * 0x1p-15;
}

/* TG_EUSAGE after tg_fail where got is not want. */
static int compare(const struct tg_image *got, const struct tg_image *want, struct tally *tally)
{
    int bad[3] = {-1, 0, 0};
    double worst = 0;
    uint64_t off = 0, samples = (uint64_t)want->w * (uint64_t)want->h * (uint64_t)want->planes;
    for (int c = 0; c < want->planes; c++)
        for (int y = 0; y < want->h; y++)
            for (int x = 0; x < want->w; x++) {
                double d = levels(want->depth, tg_get(got, c, x, y), tg_get(want, c, x, y));
                if (!(d > least(want->depth)))
                    continue;
                off++;
                if (bad[0] < 0 || (d > MAX_LEVELS && worst <= MAX_LEVELS)) {
                    bad[0] = c;
                    bad[1] = x;
                    bad[2] = y;
                }
                worst = fmax(worst, d);
            }
    tally->worst = fmax(tally->worst, worst);
    tally->samples += samples;
    tally->off += off;
    double share = (double)off / (double)samples;
    if (worst <= MAX_LEVELS && (samples < FEW_SAMPLES || share <= MAX_SHARE))
        return 0;
    return tg_fail(TG_EUSAGE, "plane %d (%d,%d) is %.9g, want %.9g; largest error %.3g levels, %.2f %% differ", bad[0],
                   bad[1], bad[2], (double)tg_get(got, bad[0], bad[1], bad[2]),
                   (double)tg_get(want, bad[0], bad[1], bad[2]), worst, 100 * share);
}

static bool same(const struct tg_image *a, const struct tg_image *b)
{
    const size_t row = (size_t)a->w * tg_depth_bytes(a->depth);
    for (int c = 0; c < a->planes; c++)
        for (int y = 0; y < a->h; y++)
            if (memcmp(tg_image_row(a, c, y), tg_image_row(b, c, y), row) != 0)
                return false;
    return true;
}

/* Twice, so that what lies around, or was there before, would show. */
static int try_variant(const struct options *o, const struct test *t, const struct tg_variant *v, struct tally *tally)
{
    struct tg_image a = t->want, b;
    memset(a.plane, 0, sizeof a.plane);
    b = a;
    int err = tg_image_alloc(&a);
    if (!err)
        err = tg_image_alloc(&b);
    if (!err)
        err = run(o, t, v, 0x00, &a);
    if (!err)
        err = run(o, t, v, 0xff, &b);
    if (!err)
        err = compare(&a, &t->want, tally);
    if (!err && !same(&a, &b)) {
        err = run(o, t, v, 0x00, &b);
        if (!err)
            err = tg_fail(TG_EUSAGE, same(&a, &b) ? "reads outside of the picture, or leaves part of it unwritten"
                                                  : "two runs give different bytes");
    }
    tg_image_free(&a);
    tg_image_free(&b);
    return err;
}

static void describe(const struct options *o, const struct test *t, int variant, const char *what)
{
    struct tg_chain c = t->chain;
    char text[700];
    c.node[0].variant = variant;
    tg_chain_text(&c, text, sizeof text);
    tg_say("%s: %d x %d, %s, %d planes%s, %s, rows %d apart: %s", text, t->src.w, t->src.h, tg_depth_name(t->src.depth),
           t->src.planes, t->src.has_alpha ? " (alpha)" : "", patterns[t->pattern], t->src.w + t->pad, what);
    if (variant > 0)
        tg_say("  again: tileglass check %s --device %s --seed %lld --case %d%s", c.node[0].filter->name, o->device,
               o->seed, t->index, o->quick ? " --quick" : "");
}

/* Makes case i of a filter: source, parameters, and what the definition says. Closed with test_close. */
static int test_open(const struct options *o, const struct tg_filter *f, int i, struct test *t)
{
    static const int pads[] = {0, 1, 37, 128}, shifts[] = {0, 1, 0, 3};
    struct rng r = seeded(o->seed, f->name, i, 0);
    *t = (struct test){.index = i, .chain = {.n = 1, .node = {{.filter = f, .variant = 0}}}};
    unsigned char *params = t->chain.node[0].params;
    int err = set_params(f, params, pick(o, "parameters", i, params_values(f)), &r);
    if (err)
        return err;
    const double taps = (2 * reach(f, params) + 1) * (2 * reach(f, params) + 1), most = o->quick ? 1.2e8 : 1e9;
    int n = SIZES - (o->quick ? 1 : 0), size = pick(o, "size", i, n);
    while (sizes[size][0] * sizes[size][1] > SMALL && sizes[size][0] * sizes[size][1] * taps > most)
        size = below(&r, size);
    int format = pick(o, "format", i, 12);
    t->pattern = pick(o, "pattern", i, PATTERNS);
    t->pad = pads[pick(o, "pad", i, 4)];
    t->shift = shifts[pick(o, "shift", i, 4)];
    t->src = (struct tg_image){.w = sizes[size][0],
                               .h = sizes[size][1],
                               .planes = 1 + format % 4,
                               .depth = (enum tg_depth)(format / 4),
                               .has_alpha = format % 2};
    if (t->pattern == WILD && t->src.depth != TG_F32)
        t->pattern = RANDOM;
    err = tg_image_alloc(&t->src);
    if (err)
        return err;
    draw(&t->src, t->pattern, &r);
    tg_filter_shape(f, params, &t->src, &t->want);
    err = tg_image_alloc(&t->want);
    if (!err)
        err = run(o, t, &f->variants[0], 0x00, &t->want);
    return err;
}

static void test_close(struct test *t)
{
    tg_image_free(&t->src);
    tg_image_free(&t->want);
}

/* ---- the walk ---- */

static bool walked(const struct options *o, const struct tg_variant *v)
{
    return v->where == TG_HOST ? o->host : o->dev != NULL;
}

static bool fits(const struct options *o, const struct test *t, const struct tg_variant *v)
{
    struct tg_job job = {.src = t->src, .dst = t->want, .params = t->chain.node[0].params};
    if (!walked(o, v))
        return false;
    job.src.where = job.dst.where = v->where;
    return !v->fits || v->fits(&job);
}

static int check_case(const struct options *o, const struct tg_filter *f, int i, struct tally *tally)
{
    struct test t;
    int err = test_open(o, f, i, &t);
    if (err) {
        describe(o, &t, 0, tg_error());
        test_close(&t);
        return err;
    }
    for (int v = 1; f->variants[v].name && !tg_cancelled; v++) {
        if (!fits(o, &t, &f->variants[v]))
            continue;
        tally[v].cases++;
        err = try_variant(o, &t, &f->variants[v], &tally[v]);
        if (err && ++tally[v].failures <= SHOWN)
            describe(o, &t, v, tg_error());
        else if (err && tally[v].failures == SHOWN + 1)
            tg_say("%s@%s: more failures are not shown", f->name, f->variants[v].name);
    }
    char text[300];
    tg_chain_text(&t.chain, text, sizeof text);
    tg_debug("case %d: %s: %d x %d, %s, %d planes, %s", i, text, t.src.w, t.src.h, tg_depth_name(t.src.depth),
             t.src.planes, patterns[t.pattern]);
    test_close(&t);
    return 0;
}

enum { VARIANTS = 64 };

struct verdicts {
    int passed, failed, skipped;
};

static void report(const struct options *o, const struct tg_filter *f, const struct tally *tally, struct verdicts *sum)
{
    for (int i = 1; f->variants[i].name; i++) {
        const struct tg_variant *v = &f->variants[i];
        const struct tally *t = &tally[i];
        if (v->where == TG_HOST && !o->host)
            continue;
        printf("%-16s %-14s ", f->name, v->name);
        if (!t->cases) {
            printf("%6s %10s %9s  SKIP %s\n", "-", "-", "-",
                   walked(o, v) ? "fits none of the cases" : "no CUDA device");
            sum->skipped++;
            continue;
        }
        double share = t->samples ? (double)t->off / (double)t->samples : 0;
        bool ok = !t->failures && (share <= MAX_SHARE || t->samples < FEW_SAMPLES);
        printf("%6d %10.4f %8.4f%%  %s\n", t->cases, t->worst, 100 * share, ok ? "ok" : "FAIL");
        ok ? sum->passed++ : sum->failed++;
    }
    fflush(stdout);
}

static int check(const struct options *o, const struct tg_filter *const *filters, int n)
{
    struct verdicts sum = {0};
    for (int i = 0; i < n; i++) {
        const struct tg_filter *f = filters[i];
        struct tally tally[VARIANTS] = {0};
        int most = params_values(f) > SIZES ? params_values(f) : SIZES, cases = most * (o->quick ? 2 : 5);
        bool any = false;
        for (int v = 1; f->variants[v].name; v++)
            any |= walked(o, &f->variants[v]);
        if (o->only >= cases)
            return tg_usage_error("check", "--case %lld: %s has cases 0..%d", o->only, f->name, cases - 1);
        if (i == 0)
            printf("%-16s %-14s %6s %10s %9s  verdict\n", "filter", "variant", "cases", "levels off", "differing");
        for (int k = o->only < 0 ? 0 : (int)o->only; any && k < cases && !tg_cancelled; k = o->only < 0 ? k + 1 : cases)
            if (check_case(o, f, k, tally))
                sum.failed++;
        if (tg_cancelled)
            return TG_EXIT_INTERRUPTED;
        report(o, f, tally, &sum);
    }
    printf("%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped);
    if (fflush(stdout) || ferror(stdout)) {
        tg_say("cannot write to standard output");
        return TG_EXIT_FAILED;
    }
    return sum.failed ? TG_EXIT_FAILED : TG_EXIT_OK;
}

int cmd_check(int argc, char **argv)
{
    enum { DEVICE = 256, QUICK, SEED, CASE };
    static const struct option longs[] = {
        {"help", 0, NULL, 'h'},  {"device", 1, NULL, DEVICE}, {"quick", 0, NULL, QUICK}, {"seed", 1, NULL, SEED},
        {"case", 1, NULL, CASE}, {"verbose", 0, NULL, 'v'},   {NULL, 0, NULL, 0}};
    struct options o = {.device = "auto", .seed = 1, .only = -1};
    for (int c; (c = tg_getopt(argc, argv, "hv", longs)) != -1;)
        switch (c) {
        case 'h':
            fputs(usage, stdout);
            return TG_EXIT_OK;
        case 'v':
            tg_log_level(TG_VERBOSE);
            break;
        case DEVICE:
            o.device = optarg;
            break;
        case QUICK:
            o.quick = true;
            break;
        case SEED:
            if (tg_option_int("--seed", optarg, 0, 1LL << 53, &o.seed))
                return tg_usage_error(argv[0], "%s", tg_error());
            break;
        case CASE:
            if (tg_option_int("--case", optarg, 0, 1 << 20, &o.only))
                return tg_usage_error(argv[0], "%s", tg_error());
            break;
        default:
            return TG_EXIT_USAGE;
        }
    int n = 0;
    const struct tg_filter **named = calloc((size_t)(argc - optind) + 1, sizeof *named);
    const struct tg_filter *const *filters = named;
    if (!named) {
        tg_say("check: no memory");
        return TG_EXIT_FAILED;
    }
    for (; optind < argc; optind++)
        if (!(named[n++] = tg_filter_find(argv[optind]))) {
            free(named);
            return tg_usage_error(argv[0], "%s", tg_error());
        }
    if (!n)
        for (filters = tg_filters; filters[n];)
            n++;
    int err = tg_device_choose(o.device, NULL, &o.dev);
    if (!err && o.dev)
        err = tg_stream_open(o.dev, &o.stream);
    o.host = strncmp(o.device, "cuda", 4) != 0;
    int code = err == TG_EUSAGE ? TG_EXIT_USAGE : TG_EXIT_DEVICE;
    if (err)
        tg_say("check: %s", tg_error());
    else
        code = check(&o, filters, n);
    tg_stream_close(o.stream);
    tg_cuda_close(o.dev);
    free(named);
    return code;
}
