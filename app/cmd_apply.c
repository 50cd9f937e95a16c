#include "../filters/log.h"
#include "cmd.h"
#include "inputs.h"
#include "media.h"
#include "pipeline.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "tileglass apply IN... -f CHAIN -o OUT\n\n"
    "Filters pictures. IN: PNG and JPEG files, found by content, and folders of them; '-' is standard input.\n"
    "OUT: a file, or a folder where there is more than one picture; '-' is standard output.\n"
    "A picture that fails does not stop the rest. An output appears under its name only when it is whole.\n\n"
    "  -f, --filter CHAIN    filters in a row, e.g. bilateral=sigma_space=4:sigma_range=0.1,invert\n"
    "  -o, --output OUT      file or folder; OUT may be IN\n"
    "      --format FORMAT   png or jpeg, whatever OUT's ending says\n"
    "  -r, --recursive       folders within folders too\n"
    "      --device DEVICE   auto (default), cpu, cuda:N (a number, UUID or bus id)\n"
    "      --depth DEPTH     8, 16 or f32: what filters compute with; default: the picture's\n"
    "      --linear          filter in linear light\n"
    "      --quality N       JPEG, 1..100 (90)\n"
    "      --compression N   PNG, 0..9 (6)\n"
    "      --background RGB  what alpha is laid on for JPEG, as RRGGBB (ffffff)\n"
    "      --lenient         take what can be read of damaged pictures\n"
    "      --max-pixels N    refuse larger pictures (1073741824)\n"
    "      --stop            stop at the first failure\n"
    "      --timings         print a table of times\n"
    "  -q, --quiet           errors only\n"
    "  -v, --verbose         say more\n";

struct apply {
    struct tg_chain chain;
    struct tg_read_opts read;
    struct tg_write_opts write;
    struct tg_pipeline_opts pipe;
    const char *format, *output, *device;
    bool recursive, stop, timings, quiet;
    struct tg_inputs inputs;
    int at; /* the input at work */
    double drawn;
};

/* ---- progress ---- */

static bool on_terminal(const struct apply *a)
{
    return !a->quiet && isatty(STDERR_FILENO);
}

static void draw(void *ctx, double done)
{
    struct apply *a = ctx;
    double now = tg_now_ms();
    if (now - a->drawn < 100)
        return;
    a->drawn = now;
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    double all = (a->at + done) / a->inputs.n;
    int full = (int)(all * WIDTH);
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %3d%%  %d of %d\033[K", bar, (int)(all * 100), a->at + 1, a->inputs.n);
    fflush(stderr);
    tg_log_erase_line(true);
}

/* ---- one picture ---- */

/* Bits of a result's samples: what the format and --depth say; 0: the source's. */
static int bits_for(const struct apply *a, const char *format)
{
    if (strcmp(format, "jpeg") == 0)
        return 8;
    return a->pipe.depth < 0 ? 0 : a->pipe.depth == TG_U8 ? 8 : 16;
}

static int one(struct apply *a, struct tg_pipeline *p, const struct tg_input *in)
{
    struct tg_reader *r = NULL;
    struct tg_writer *w = NULL;
    const char *format = a->format ? a->format : tg_format_of(in->out);
    int err = tg_reader_open(&r, in->path, &a->read);
    if (err)
        return err;
    const struct tg_info *info = tg_reader_info(r);
    if (!format)
        format = strcmp(info->format, "PNG") == 0 ? "png" : "jpeg";
    err = tg_pipeline_load(p, r, &a->chain);
    if (!err)
        err = tg_pipeline_filter(p, &a->chain, bits_for(a, format), false);
    if (err)
        goto fail;
    struct tg_frame shape = tg_pipeline_shape(p);
    struct tg_meta meta = info->meta; /* shares the reader's memory */
    tg_meta_upright(&meta, shape.w, shape.h);
    struct tg_write_opts write = a->write;
    write.meta = &meta;
    err = tg_writer_open(&w, in->out, format, &shape, &write);
    if (!err)
        err = tg_pipeline_store(p, w);
    if (!err) {
        double start = tg_now_ms();
        err = tg_writer_finish(w);
        w = NULL;
        tg_pipeline_encoded(p, tg_now_ms() - start);
    }
    if (err)
        err = tg_fail(err, "%s: %s", in->out, tg_error());
fail:
    tg_writer_abort(w);
    tg_reader_close(r);
    return err;
}

static void print_timings(const struct apply *a, const struct tg_pipeline *p)
{
    const struct tg_timing *t = tg_pipeline_timing(p);
    FILE *to = strcmp(a->output, "-") == 0 ? stderr : stdout;
    const double n = t->pictures > 0 ? t->pictures : 1;
    double sum = t->decode + t->upload + t->unpack + t->pack + t->download + t->encode;
    fprintf(to, "%-28s %10s\n", "stage", t->pictures > 1 ? "ms, mean" : "ms");
    fprintf(to, "%-28s %10.2f\n", "decode", t->decode / n);
    fprintf(to, "%-28s %10.2f\n", "upload", t->upload / n);
    fprintf(to, "%-28s %10.2f\n", "unpack", t->unpack / n);
    for (int i = 0; i < a->chain.n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s@%s", a->chain.node[i].filter->name, tg_pipeline_variant(p, i));
        fprintf(to, "%-28s %10.2f\n", name, t->filter[i] / n);
        sum += t->filter[i];
    }
    fprintf(to, "%-28s %10.2f\n", "pack", t->pack / n);
    fprintf(to, "%-28s %10.2f\n", "download", t->download / n);
    fprintf(to, "%-28s %10.2f\n", "encode", t->encode / n);
    fprintf(to, "%-28s %10.2f   on %s, %d picture%s\n", "all", sum / n, tg_pipeline_device(p), t->pictures,
            t->pictures == 1 ? "" : "s");
}

/* An ending that no format goes by is a slip, unless the output is no ordinary file. */
static int check_ending(const struct apply *a)
{
    struct stat st;
    const char *out = a->inputs.n == 1 ? a->inputs.item[0].out : NULL;
    if (a->format || !out || strcmp(out, "-") == 0 || tg_format_of(out) ||
        (stat(out, &st) == 0 && !S_ISREG(st.st_mode)))
        return 0;
    const char *base = strrchr(out, '/');
    if (!strchr(base ? base : out, '.'))
        return 0;
    return tg_fail(TG_EUSAGE, "%s: no known ending (png, jpg, jpeg, jpe, jfif); --format png or jpeg says it", out);
}

/* ---- all pictures ---- */

static int run(struct apply *a, struct tg_pipeline *p)
{
    const bool many = a->inputs.n > 1;
    int done = 0, failed = 0;
    for (a->at = 0; a->at < a->inputs.n && !tg_cancelled; a->at++) {
        struct tg_input *in = &a->inputs.item[a->at];
        int err = one(a, p, in);
        if (err == TG_ECANCEL)
            break;
        if (!err) {
            done++;
            if (many && !a->quiet && !on_terminal(a))
                tg_note("%s -> %s", in->path, in->out);
            continue;
        }
        in->failed = true;
        failed++;
        if (strncmp(tg_error(), in->path, strlen(in->path)) == 0)
            tg_say("%s", tg_error());
        else
            tg_say("%s: %s", in->path, tg_error());
        if (a->stop)
            break;
    }
    tg_log_erase_line(false);
    if (on_terminal(a))
        fputs("\r\033[K", stderr);
    if (many) {
        tg_note("%d done, %d failed, %d skipped%s", done, failed, a->inputs.skipped,
                tg_cancelled                  ? ", interrupted"
                : done + failed < a->inputs.n ? ", stopped"
                                              : "");
        for (int i = 0; failed > 1 && i < a->inputs.n; i++)
            if (a->inputs.item[i].failed)
                tg_note("failed: %s", a->inputs.item[i].path);
    }
    if (a->timings && done)
        print_timings(a, p);
    return tg_cancelled ? TG_EXIT_INTERRUPTED : failed ? TG_EXIT_FAILED : TG_EXIT_OK;
}

static int parse_background(const char *s, uint8_t rgb[3])
{
    unsigned v;
    char rest;
    s += *s == '#';
    if (strlen(s) != 6 || strspn(s, "0123456789abcdefABCDEF") != 6 || sscanf(s, "%6x%c", &v, &rest) != 1)
        return tg_fail(TG_EUSAGE, "--background %s: want RRGGBB, 000000..ffffff", s);
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)(v >> (16 - 8 * c));
    return 0;
}

static int parse_format(const char *s, const char **format)
{
    *format = strcmp(s, "png") == 0 ? "png" : strcmp(s, "jpeg") == 0 || strcmp(s, "jpg") == 0 ? "jpeg" : NULL;
    return *format ? 0 : tg_fail(TG_EUSAGE, "--format %s: want png or jpeg", s);
}

int cmd_apply(int argc, char **argv)
{
    enum {
        HELP = 256,
        FORMAT,
        DEVICE,
        DEPTH,
        LINEAR,
        QUALITY,
        COMPRESSION,
        BACKGROUND,
        LENIENT,
        MAX_PIXELS,
        STOP,
        TIMINGS
    };
    static const struct option longs[] = {{"help", 0, NULL, HELP},
                                          {"filter", 1, NULL, 'f'},
                                          {"output", 1, NULL, 'o'},
                                          {"format", 1, NULL, FORMAT},
                                          {"recursive", 0, NULL, 'r'},
                                          {"device", 1, NULL, DEVICE},
                                          {"depth", 1, NULL, DEPTH},
                                          {"linear", 0, NULL, LINEAR},
                                          {"quality", 1, NULL, QUALITY},
                                          {"compression", 1, NULL, COMPRESSION},
                                          {"background", 1, NULL, BACKGROUND},
                                          {"lenient", 0, NULL, LENIENT},
                                          {"max-pixels", 1, NULL, MAX_PIXELS},
                                          {"stop", 0, NULL, STOP},
                                          {"timings", 0, NULL, TIMINGS},
                                          {"quiet", 0, NULL, 'q'},
                                          {"verbose", 0, NULL, 'v'},
                                          {NULL, 0, NULL, 0}};
    struct apply a = {
        .device = "auto",
        .read = {.cancel = &tg_cancelled},
        .write = {.compression = -1, .background = {255, 255, 255}, .cancel = &tg_cancelled},
        .pipe = {.depth = -1, .cancel = &tg_cancelled},
    };
    bool have_chain = false;
    for (int c; (c = tg_getopt(argc, argv, "hf:o:rqv", longs)) != -1;) {
        long long n = 0;
        int err = 0;
        enum tg_depth depth = TG_U8;
        switch (c) {
        case 'h':
        case HELP:
            fputs(usage, stdout);
            return TG_EXIT_OK;
        case 'f':
            err = have_chain ? tg_fail(TG_EUSAGE, "-f may be given once; join filters with ','")
                             : tg_chain_parse(&a.chain, optarg);
            have_chain = true;
            break;
        case 'o':
            a.output = optarg;
            break;
        case FORMAT:
            err = parse_format(optarg, &a.format);
            break;
        case 'r':
            a.recursive = true;
            break;
        case DEVICE:
            a.device = optarg;
            break;
        case DEPTH:
            err = tg_option_depth(optarg, &depth);
            a.pipe.depth = (int)depth;
            break;
        case LINEAR:
            a.pipe.linear = true;
            break;
        case QUALITY:
            err = tg_option_int("--quality", optarg, 1, 100, &n);
            a.write.quality = (int)n;
            break;
        case COMPRESSION:
            err = tg_option_int("--compression", optarg, 0, 9, &n);
            a.write.compression = (int)n;
            break;
        case BACKGROUND:
            err = parse_background(optarg, a.write.background);
            break;
        case LENIENT:
            a.read.lenient = true;
            break;
        case MAX_PIXELS:
            err = tg_option_int("--max-pixels", optarg, 1, 1LL << 40, &n);
            a.read.max_pixels = (uint64_t)n;
            break;
        case STOP:
            a.stop = true;
            break;
        case TIMINGS:
            a.timings = true;
            break;
        case 'q':
            a.quiet = true;
            tg_log_level(TG_QUIET);
            break;
        case 'v':
            tg_log_level(TG_VERBOSE);
            break;
        default:
            return TG_EXIT_USAGE;
        }
        if (err)
            return tg_usage_error(argv[0], "%s", tg_error());
    }
    if (optind == argc)
        return tg_usage_error(argv[0], "which picture? tileglass apply IN... -f CHAIN -o OUT");
    if (!have_chain)
        return tg_usage_error(argv[0], "which filters? -f CHAIN is missing ('tileglass list' shows them)");
    if (!a.output)
        return tg_usage_error(argv[0], "where to? -o OUT is missing");

    struct tg_device *dev = NULL;
    struct tg_pipeline *p = NULL;
    int code = TG_EXIT_USAGE;
    int err = tg_inputs_collect(&a.inputs, argv + optind, argc - optind, a.recursive);
    if (!err)
        err = tg_inputs_place(&a.inputs, a.output, a.format);
    if (!err)
        err = check_ending(&a);
    if (err) {
        tg_usage_error(argv[0], "%s", tg_error());
        goto done;
    }
    if (a.inputs.n == 0) {
        tg_say("no picture in what was named (%d skipped)", a.inputs.skipped);
        code = TG_EXIT_FAILED;
        goto done;
    }
    err = tg_device_choose(a.device, tg_chain_pins(&a.chain, TG_HOST) ? "the chain pins a host variant" : NULL, &dev);
    a.pipe.fallback = strcmp(a.device, "auto") == 0;
    if (on_terminal(&a)) {
        a.pipe.progress = draw;
        a.pipe.progress_ctx = &a;
    }
    if (!err)
        err = tg_chain_fits_device(&a.chain, dev != NULL);
    if (!err)
        err = tg_pipeline_open(&p, dev, &a.pipe);
    if (err) {
        tg_usage_error(argv[0], "%s", tg_error());
        code = err == TG_EUSAGE ? TG_EXIT_USAGE : TG_EXIT_DEVICE;
        goto done;
    }
    code = run(&a, p);
done:
    tg_pipeline_close(p);
    tg_cuda_close(dev);
    tg_inputs_free(&a.inputs);
    return code;
}
