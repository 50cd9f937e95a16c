#include "../filters/chain.h"
#include "../filters/log.h"
#include "../filters/sample.h"
#include "cmd.h"
#include "pipeline.h"
#include "synth.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "tileglass bench [CHAIN...]\n\n"
    "Times every variant of each filter named (FILTER or FILTER=PARAMETERS; default: all filters) on a picture made "
    "for it.\n"
    "A variant is timed only if its result has just matched the definition on that very picture. Times are the "
    "device's own\n"
    "events, or the clock for the host: copies to and from the device are not in them. One warm-up run, then runs "
    "until\n"
    "--seconds are over (on a device in batches of about 5 ms, one batch a value): the median, and the spread, half "
    "the\n"
    "distance between the quartiles. A picture that fits in the device's cache stays there from run to run.\n\n"
    "      --size WxH       1x1..32768x32768 (3840x2160)\n"
    "      --depth DEPTH    8 (default), 16 or f32\n"
    "      --planes N       1 gray (default), 2 gray and alpha, 3 RGB, 4 RGBA\n"
    "      --device DEVICE  auto (default): host and, where there is a card, CUDA variants; cpu; cuda:N\n"
    "      --seconds S      of runs a variant, 0.01..600 (0.5)\n"
    "      --seed N         of the picture (1)\n"
    "      --no-definition  do not time the definition, which takes long\n\n"
    "Columns: median, spread, factor against the row above and against the definition, megapixels a second, largest "
    "error in\n"
    "8-bit levels, share of samples that differ. Verdict against the row above: faster or slower where the quartiles\n"
    "part, else unsure; same within 1 %.\n";

#define BATCH_MS 5. /* of launches in a row on a device */

struct bench {
    struct tg_device *dev;
    struct tg_stream *stream;
    struct tg_event *from, *to;
    struct tg_image src; /* host */
    double seconds;
    bool time_definition, host;
};

struct result {
    double median, low, high; /* ms: the quartiles around the median */
    int runs;
};

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

/* n runs in a row: the mean in milliseconds. On a device more than one, so that the work and not its launching is timed. */
static int run(const struct bench *b, const struct tg_variant *v, const struct tg_job *job, int n, double *ms)
{
    if (v->where == TG_HOST) {
        double start = tg_now_ms();
        int err = 0;
        for (int i = 0; i < n && !err; i++)
            err = v->run(job);
        *ms = (tg_now_ms() - start) / n;
        return err;
    }
    float event_ms = 0;
    int err = tg_event_record(b->from, b->stream);
    for (int i = 0; i < n && !err; i++)
        err = v->run(job);
    if (!err)
        err = tg_event_record(b->to, b->stream);
    if (!err)
        err = tg_stream_wait(b->stream);
    if (!err)
        err = tg_event_ms(b->from, b->to, &event_ms);
    *ms = (double)event_ms / n;
    return err;
}

static int time_variant(const struct bench *b, const struct tg_variant *v, const struct tg_job *job, struct result *r)
{
    enum { MOST = 2000, LEAST = 3 };
    static double ms[MOST];
    double start = tg_now_ms(), last = 0;
    int n = 0, batch = 1;
    if (v->where == TG_CUDA) {
        int err = run(b, v, job, 1, &last);
        if (err)
            return err;
        batch = last > BATCH_MS ? 1 : last < BATCH_MS / 100 ? 100 : (int)(BATCH_MS / last);
    }
    while (n < MOST && (n < LEAST || tg_now_ms() - start < b->seconds * 1e3)) {
        int err = tg_cancelled ? tg_fail(TG_ECANCEL, "interrupted") : run(b, v, job, batch, &last);
        if (err)
            return err;
        ms[n++] = last;
    }
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    *r = (struct result){.median = ms[n / 2], .low = ms[n / 4], .high = ms[(3 * n) / 4], .runs = n};
    return 0;
}

/* The largest difference in 8-bit levels, and the share of samples that differ by more than rounding shows. */
static void compare(const struct tg_image *got, const struct tg_image *want, double *worst, double *share)
{
    const double full = (double)tg_depth_full(want->depth);
    const double least = want->depth == TG_U8 ? 0 : want->depth == TG_U16 ? 2 : 0x1p-15;
    uint64_t off = 0;
    *worst = 0;
    for (int c = 0; c < want->planes; c++)
        for (int y = 0; y < want->h; y++)
            for (int x = 0; x < want->w; x++) {
                double d = fabs((double)tg_get(got, c, x, y) - (double)tg_get(want, c, x, y));
                off += !(d <= least);
                *worst = !(d * 255 / full <= *worst) ? d * 255 / full : *worst;
            }
    *share = (double)off / ((double)want->w * want->h * want->planes);
}

/* Memory of a job for a variant: on the host the source is the bench's own. */
static int job_open(const struct bench *b, const struct tg_variant *v, struct tg_job *job)
{
    const bool cuda = v->where == TG_CUDA;
    int err = cuda ? tg_cuda_image_alloc(b->dev, &job->dst) : tg_image_alloc(&job->dst);
    if (!err && cuda) {
        memset(job->src.plane, 0, sizeof job->src.plane);
        err = tg_cuda_image_alloc(b->dev, &job->src);
        if (!err)
            err = tg_cuda_image_copy(&job->src, &b->src, b->stream);
        job->stream = b->stream;
    }
    size_t bytes = !err && v->scratch ? v->scratch(job) : 0;
    if (bytes && cuda)
        err = tg_cuda_alloc(b->dev, &job->scratch, bytes);
    else if (bytes && !(job->scratch = aligned_alloc(256, (bytes + 255) / 256 * 256)))
        err = tg_fail(TG_ENOMEM, "no memory for %zu MB of scratch", bytes >> 20);
    return err;
}

static void job_close(const struct bench *b, const struct tg_variant *v, struct tg_job *job)
{
    if (v->where == TG_HOST) {
        free(job->scratch);
        tg_image_free(&job->dst);
        return;
    }
    if (job->scratch)
        tg_cuda_free(b->dev, job->scratch);
    if (job->dst.plane[0])
        tg_cuda_image_free(b->dev, &job->dst);
    if (job->src.plane[0] != b->src.plane[0] && job->src.plane[0])
        tg_cuda_image_free(b->dev, &job->src);
}

/* The result on the host, from wherever the job has it. */
static int result_of(const struct bench *b, const struct tg_variant *v, const struct tg_job *job, struct tg_image *out)
{
    *out = job->dst;
    memset(out->plane, 0, sizeof out->plane);
    int err = tg_image_alloc(out);
    if (err)
        return err;
    if (v->where == TG_CUDA) {
        err = tg_cuda_image_copy(out, &job->dst, b->stream);
        return err ? err : tg_stream_wait(b->stream);
    }
    for (int c = 0; c < out->planes; c++)
        for (int y = 0; y < out->h; y++)
            tg_copy_plane(&job->dst, out, c, y);
    return 0;
}

static const char *verdict(const struct result *r, const struct result *above)
{
    if (above->runs == 0)
        return "";
    if (fabs(r->median / above->median - 1) < 0.01)
        return "same";
    if (r->high < above->low)
        return "faster";
    return r->low > above->high ? "slower" : "unsure";
}

static int one_variant(const struct bench *b, const struct tg_filter *f, const struct tg_variant *v,
                       const struct tg_job *shape, const struct tg_image *want, struct result *above, double definition)
{
    struct tg_job job = *shape;
    struct tg_image got = {0};
    struct result r = {0};
    double first = 0, worst = 0, share = 0;
    int err = job_open(b, v, &job);
    if (!err && v->fits && !v->fits(&job)) {
        printf("%-10s %-10s does not fit these parameters\n", f->name, v->name);
        goto done;
    }
    if (!err)
        err = run(b, v, &job, 1, &first);
    if (!err)
        err = result_of(b, v, &job, &got);
    if (err)
        goto done;
    compare(&got, want, &worst, &share);
    if (worst > 1.001 || share > 0.005) {
        printf("%-10s %-10s WRONG: %.3g levels off, %.3f %% differ: not timed\n", f->name, v->name, worst, 100 * share);
        err = tg_fail(TG_EUSAGE, "%s@%s does not match the definition", f->name, v->name);
        goto done;
    }
    err = time_variant(b, v, &job, &r);
    if (err)
        goto done;
    double pixels = (double)job.src.w * job.src.h;
    printf("%-10s %-10s %10.4f %8.4f", f->name, v->name, r.median, (r.high - r.low) / 2);
    if (above->runs)
        printf(" %8.2f", above->median / r.median);
    else
        printf(" %8s", "-");
    if (definition > 0)
        printf(" %10.1f", definition / r.median);
    else
        printf(" %10s", "-");
    printf(" %10.1f %7.3f %9.4f%%  %s\n", pixels / r.median / 1e3, worst, 100 * share, verdict(&r, above));
    fflush(stdout);
    *above = r;
done:
    tg_image_free(&got);
    job_close(b, v, &job);
    return err;
}

/* Every variant of a node's filter. */
static int bench_filter(const struct bench *b, const struct tg_node *node)
{
    const struct tg_filter *f = node->filter;
    struct tg_job job = {.src = b->src, .params = node->params};
    struct result above = {0}, host = {0};
    tg_filter_shape(f, node->params, &job.src, &job.dst);
    struct tg_job plain = job;
    double definition = 0;
    int err = job_open(b, &f->variants[0], &plain);
    if (!err)
        err = run(b, &f->variants[0], &plain, 1, &definition);
    if (!err && b->time_definition) {
        err = time_variant(b, &f->variants[0], &plain, &host);
        definition = host.median;
        if (!err)
            printf("%-10s %-10s %10.4f %8.4f %8s %10s %10.1f\n", f->name, f->variants[0].name, host.median,
                   (host.high - host.low) / 2, "-", "-", (double)job.src.w * job.src.h / host.median / 1e3);
    }
    enum tg_where where = TG_HOST;
    above = host;
    for (int i = 1; f->variants[i].name && (!err || err == TG_EUSAGE); i++) {
        const struct tg_variant *v = &f->variants[i];
        if (node->variant >= 0 && node->variant != i)
            continue;
        if (v->where == TG_CUDA ? !b->dev : !b->host)
            continue;
        if (v->where != where) /* a ladder of its own */
            above = (struct result){0};
        where = v->where;
        int bad = one_variant(b, f, v, &job, &plain.dst, &above, b->time_definition ? definition : 0);
        err = bad ? bad : err;
    }
    job_close(b, &f->variants[0], &plain);
    return err;
}

static int parse_size(const char *s, int *w, int *h)
{
    char word[16];
    const char *x = strchr(s, 'x');
    double a = 0, b = 0;
    if (x && x - s < 15) {
        memcpy(word, s, (size_t)(x - s));
        word[x - s] = 0;
    }
    if (!x || x - s >= 15 || !tg_parse_number(word, &a) || !tg_parse_number(x + 1, &b) || a < 1 || b < 1 || a > 32768 ||
        b > 32768 || a != floor(a) || b != floor(b))
        return tg_fail(TG_EUSAGE, "--size %s: want WxH, 1x1..32768x32768", s);
    *w = (int)a;
    *h = (int)b;
    return 0;
}

static int run_all(struct bench *b, char **chains, int n)
{
    int code = TG_EXIT_OK;
    static struct tg_chain chain;
    int all = 0;
    while (tg_filters[all])
        all++;
    for (int i = 0; i < (n ? n : all); i++) {
        int err = tg_chain_parse(&chain, n ? chains[i] : tg_filters[i]->name);
        if (!err && chain.n != 1)
            err = tg_fail(TG_EUSAGE, "%s: one filter at a time", chains[i]);
        if (err) {
            tg_say("bench: %s", tg_error());
            return TG_EXIT_USAGE;
        }
        err = bench_filter(b, &chain.node[0]);
        if (err == TG_ECANCEL)
            return TG_EXIT_INTERRUPTED;
        if (err) {
            tg_say("bench: %s", tg_error());
            code = TG_EXIT_FAILED;
        }
    }
    return code;
}

int cmd_bench(int argc, char **argv)
{
    enum { HELP = 256, SIZE, DEPTH, PLANES, DEVICE, SECONDS, SEED, NO_DEFINITION };
    static const struct option longs[] = {{"help", 0, NULL, HELP},     {"size", 1, NULL, SIZE},
                                          {"depth", 1, NULL, DEPTH},   {"planes", 1, NULL, PLANES},
                                          {"device", 1, NULL, DEVICE}, {"seconds", 1, NULL, SECONDS},
                                          {"seed", 1, NULL, SEED},     {"no-definition", 0, NULL, NO_DEFINITION},
                                          {NULL, 0, NULL, 0}};
    struct bench b = {
        .src = {.w = 3840, .h = 2160, .planes = 1, .depth = TG_U8}, .seconds = 0.5, .time_definition = true};
    const char *device = "auto";
    long long seed = 1, planes = 1;
    for (int c; (c = tg_getopt(argc, argv, "h", longs)) != -1;) {
        int err = 0;
        switch (c) {
        case 'h':
        case HELP:
            fputs(usage, stdout);
            return TG_EXIT_OK;
        case SIZE:
            err = parse_size(optarg, &b.src.w, &b.src.h);
            break;
        case DEPTH:
            err = tg_option_depth(optarg, &b.src.depth);
            break;
        case PLANES:
            err = tg_option_int("--planes", optarg, 1, 4, &planes);
            break;
        case DEVICE:
            device = optarg;
            break;
        case SECONDS:
            if (!tg_parse_number(optarg, &b.seconds) || b.seconds < 0.01 || b.seconds > 600)
                err = tg_fail(TG_EUSAGE, "--seconds %s: want a number, 0.01..600", optarg);
            break;
        case SEED:
            err = tg_option_int("--seed", optarg, 0, 0xffffffffLL, &seed);
            break;
        case NO_DEFINITION:
            b.time_definition = false;
            break;
        default:
            return TG_EXIT_USAGE;
        }
        if (err)
            return tg_usage_error(argv[0], "%s", tg_error());
    }
    b.src.planes = (int)planes;
    b.src.has_alpha = planes == 2 || planes == 4;
    b.host = strncmp(device, "cuda", 4) != 0;

    int code = TG_EXIT_DEVICE;
    int err = tg_device_choose(device, NULL, &b.dev);
    if (!err && b.dev) {
        err = tg_stream_open(b.dev, &b.stream);
        if (!err)
            err = tg_event_open(b.dev, &b.from);
        if (!err)
            err = tg_event_open(b.dev, &b.to);
    }
    if (err) {
        tg_usage_error(argv[0], "%s", tg_error());
        code = err == TG_EUSAGE ? TG_EXIT_USAGE : TG_EXIT_DEVICE;
        goto done;
    }
    err = tg_image_alloc(&b.src);
    if (err) {
        tg_usage_error(argv[0], "%s", tg_error());
        code = TG_EXIT_FAILED;
        goto done;
    }
    tg_synth_photo(&b.src, (uint32_t)seed);
    printf("%d x %d, %s, %d plane%s%s, on %s\n", b.src.w, b.src.h, tg_depth_name(b.src.depth), b.src.planes,
           planes > 1 ? "s" : "", b.src.has_alpha ? ", the last is alpha" : "",
           b.dev ? tg_cuda_info(b.dev)->name : "the CPU");
    printf("%-10s %-10s %10s %8s %8s %10s %10s %7s %10s\n", "filter", "variant", "ms", "spread", "x above", "x defin.",
           "Mpixel/s", "levels", "differ");
    code = run_all(&b, argv + optind, argc - optind);
done:
    tg_image_free(&b.src);
    if (b.from)
        tg_event_close(b.from);
    if (b.to)
        tg_event_close(b.to);
    if (b.stream)
        tg_stream_close(b.stream);
    tg_cuda_close(b.dev);
    return code;
}
