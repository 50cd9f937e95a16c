#include "../filters/log.h"
#include "cmd.h"
#include "media.h"
#include "pipeline.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "tileglass sheet IN -f CHAIN [-f CHAIN...] -o OUT\n\n"
    "Puts the picture and each chain's result side by side into one picture, from left to right.\n\n"
    "  -f, --filter CHAIN   one panel each, up to 15\n"
    "  -o, --output OUT     PNG or JPEG file\n"
    "      --width N        largest width of a panel, 16..16384 (1024); larger pictures are reduced by a whole factor\n"
    "      --device DEVICE  auto (default), cpu, cuda:N\n"
    "      --max-pixels N   refuse larger pictures (1073741824)\n";

enum { MAX_PANELS = 16, GAP = 8 };

/* The mean of each k x k block as 8-bit RGB on white, at column x0 of a sheet. */
static void reduce(const struct tg_frame *in, bool alpha, int k, struct tg_frame *sheet, int x0)
{
    const uint8_t *src = in->data;
    const int colors = in->channels - alpha;
    for (int y = 0; y < in->h / k && y < sheet->h; y++)
        for (int x = 0; x < in->w / k; x++) {
            double sum[3] = {0};
            for (int j = 0; j < k; j++)
                for (int i = 0; i < k; i++) {
                    const uint8_t *px = src + (ptrdiff_t)(y * k + j) * in->stride +
                                        (ptrdiff_t)(x * k + i) * in->channels;
                    double a = alpha ? px[colors] / 255. : 1;
                    for (int c = 0; c < 3; c++)
                        sum[c] += a * px[colors == 3 ? c : 0] + (1 - a) * 255;
                }
            uint8_t *to = (uint8_t *)sheet->data + (ptrdiff_t)y * sheet->stride + (ptrdiff_t)(x0 + x) * 3;
            for (int c = 0; c < 3; c++)
                to[c] = (uint8_t)(sum[c] / (k * k) + 0.5);
        }
}

static int write_sheet(const struct tg_frame *sheet, const char *path)
{
    struct tg_writer *w;
    struct tg_write_opts opts = {.compression = -1, .background = {255, 255, 255}};
    int err = tg_writer_open(&w, path, NULL, sheet, &opts);
    if (err)
        return err;
    err = tg_writer_rows(w, sheet->data, sheet->stride, sheet->h);
    if (err) {
        tg_writer_abort(w);
        return err;
    }
    return tg_writer_finish(w);
}

/* Runs every chain and writes the sheet. `panel` is room for one whole result. */
static int make(struct tg_pipeline *p, struct tg_reader *r, const struct tg_chain *chains, int n, int width,
                const char *output)
{
    struct tg_frame sheet = {.channels = 3, .depth = TG_U8};
    struct tg_frame panel = {0};
    int err = tg_pipeline_load(p, r, &chains[0]), k = 1;
    for (int i = 0; i < n && !err; i++) {
        err = tg_pipeline_filter(p, &chains[i], 8, true);
        if (err)
            break;
        panel = tg_pipeline_shape(p);
        if (!sheet.data) {
            k = (panel.w + width - 1) / width;
            while (panel.h / k < 1)
                k--;
            int64_t w = (int64_t)n * (panel.w / k) + (n - 1) * GAP;
            if (w > 1 << 20) {
                err = tg_fail(TG_ELIMIT, "the sheet would be %lld pixels wide", (long long)w);
                break;
            }
            sheet.w = (int)w;
            sheet.h = panel.h / k;
            sheet.stride = (ptrdiff_t)sheet.w * 3;
            sheet.data = malloc((size_t)sheet.stride * (size_t)sheet.h);
            if (sheet.data)
                memset(sheet.data, 255, (size_t)sheet.stride * (size_t)sheet.h);
        }
        panel.data = malloc((size_t)panel.stride * (size_t)panel.h);
        if (!sheet.data || !panel.data) {
            err = tg_fail(TG_ENOMEM, "no memory for the sheet");
        } else {
            tg_pipeline_rows(p, 0, &panel);
            reduce(&panel, panel.channels == 2 || panel.channels == 4, k, &sheet, i * (panel.w / k + GAP));
        }
        free(panel.data);
    }
    if (!err && (err = write_sheet(&sheet, output)))
        err = tg_fail(err, "%s: %s", output, tg_error());
    free(sheet.data);
    return err;
}

int cmd_sheet(int argc, char **argv)
{
    enum { HELP = 256, WIDTH, DEVICE, MAX_PIXELS };
    static const struct option longs[] = {{"help", 0, NULL, HELP},     {"filter", 1, NULL, 'f'},
                                          {"output", 1, NULL, 'o'},    {"width", 1, NULL, WIDTH},
                                          {"device", 1, NULL, DEVICE}, {"max-pixels", 1, NULL, MAX_PIXELS},
                                          {NULL, 0, NULL, 0}};
    static struct tg_chain chains[MAX_PANELS]; /* the first stays empty: the picture itself */
    struct tg_read_opts read = {.cancel = &tg_cancelled};
    struct tg_pipeline_opts opts = {.depth = -1, .cancel = &tg_cancelled};
    const char *output = NULL, *device = "auto";
    long long width = 1024, n_pixels;
    int n = 1;
    for (int c; (c = tg_getopt(argc, argv, "hf:o:", longs)) != -1;) {
        int err = 0;
        switch (c) {
        case 'h':
        case HELP:
            fputs(usage, stdout);
            return TG_EXIT_OK;
        case 'f':
            err = n == MAX_PANELS ? tg_fail(TG_EUSAGE, "at most %d chains", MAX_PANELS - 1)
                                  : tg_chain_parse(&chains[n++], optarg);
            break;
        case 'o':
            output = optarg;
            break;
        case WIDTH:
            err = tg_option_int("--width", optarg, 16, 16384, &width);
            break;
        case DEVICE:
            device = optarg;
            break;
        case MAX_PIXELS:
            err = tg_option_int("--max-pixels", optarg, 1, 1LL << 40, &n_pixels);
            read.max_pixels = err ? 0 : (uint64_t)n_pixels;
            break;
        default:
            return TG_EXIT_USAGE;
        }
        if (err)
            return tg_usage_error(argv[0], "%s", tg_error());
    }
    if (optind + 1 != argc || n == 1 || !output)
        return tg_usage_error(argv[0], "want one picture, a chain and an output: tileglass sheet IN -f CHAIN -o OUT");

    bool host = false;
    for (int i = 0; i < n; i++)
        host |= tg_chain_pins(&chains[i], TG_HOST);
    struct tg_device *dev = NULL;
    struct tg_reader *r = NULL;
    struct tg_pipeline *p = NULL;
    int code = TG_EXIT_OK;
    opts.fallback = strcmp(device, "auto") == 0;
    int err = tg_device_choose(device, host ? "a chain pins a host variant" : NULL, &dev);
    for (int i = 0; i < n && !err; i++)
        err = tg_chain_fits_device(&chains[i], dev != NULL);
    if (!err)
        err = tg_pipeline_open(&p, dev, &opts);
    if (err) {
        tg_usage_error(argv[0], "%s", tg_error());
        code = err == TG_EUSAGE ? TG_EXIT_USAGE : TG_EXIT_DEVICE;
        goto done;
    }
    err = tg_reader_open(&r, argv[optind], &read);
    if (!err)
        err = make(p, r, chains, n, (int)width, output);
    if (err) {
        if (err != TG_ECANCEL)
            tg_say("%s: %s", argv[optind], tg_error());
        code = err == TG_ECANCEL ? TG_EXIT_INTERRUPTED : TG_EXIT_FAILED;
    }
done:
    tg_reader_close(r);
    tg_pipeline_close(p);
    tg_cuda_close(dev);
    return code;
}
