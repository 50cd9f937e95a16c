#include "../filters/chain.h"
#include "../filters/log.h"
#include "../filters/simd.h"
#include "cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char usage[] = "tileglass list [filters|FILTER|devices|formats]\n\n"
                            "  filters   every filter, in a line each (default)\n"
                            "  FILTER    its parameters with ranges and defaults, its variants, examples\n"
                            "  devices   what it can run on\n"
                            "  formats   what it reads and writes\n";

enum {
    WIDTH = 112,
    GAP = 2,
    LONG = 24
}; /* of a page; between columns; a range that stands beside its help is shorter */

static int longer(int a, const char *s)
{
    int b = (int)strlen(s);
    return a > b ? a : b;
}

/* Text from column `left` on, which the cursor is at, broken between words. */
static void wrapped(int left, const char *text)
{
    for (int at = left; *text;) {
        int n = (int)strcspn(text, " ");
        if (at > left && at + 1 + n > WIDTH) {
            printf("\n%*s", left, "");
            at = left;
        }
        at += printf("%s%.*s", at > left ? " " : "", n, text);
        text += n + strspn(text + n, " ");
    }
    putchar('\n');
}

static void list_filters(void)
{
    int w = 0;
    for (const struct tg_filter *const *f = tg_filters; *f; f++)
        w = longer(w, (*f)->name);
    for (const struct tg_filter *const *f = tg_filters; *f; f++)
        printf("%-*s%s\n", w + GAP, (*f)->name, (*f)->about);
}

static const char *range_of(const struct tg_param *r, char *buf, size_t size)
{
    tg_param_range(r, buf, size);
    size_t n = strlen(buf);
    if (*r->unit)
        snprintf(buf + n, size - n, " %s", r->unit);
    return buf;
}

static void list_params(const struct tg_filter *f)
{
    char def[TG_PARAMS_MAX] __attribute__((aligned(16))), text[512], range[512];
    tg_params_default(f, def);
    printf("usage, with the defaults\n  %s", f->name);
    for (const struct tg_param *r = f->params; r->key; r++)
        printf("%s%s=%s", r == f->params ? "=" : ":", r->key, tg_param_text(r, def, text, sizeof text));
    if (!f->params->key) {
        printf("\n\nno parameters\n");
        return;
    }
    int key_w = longer(0, "parameters") - 2, def_w = longer(0, "default"), range_w = longer(0, "range");
    for (const struct tg_param *r = f->params; r->key; r++) {
        key_w = longer(key_w, r->key);
        def_w = longer(def_w, tg_param_text(r, def, text, sizeof text));
        if (longer(0, range_of(r, range, sizeof range)) < LONG)
            range_w = longer(range_w, range);
    }
    printf("\n\n%-*s%-*s%s\n", 2 + key_w + GAP, "parameters", def_w + GAP, "default", "range");
    for (const struct tg_param *r = f->params; r->key; r++) {
        const int before = 2 + key_w + GAP + def_w + GAP, left = before + range_w + GAP;
        printf("  %-*s%-*s", key_w + GAP, r->key, def_w + GAP, tg_param_text(r, def, text, sizeof text));
        int at = before + printf("%-*s", range_w + GAP, range_of(r, range, sizeof range));
        if (at > left)
            printf("\n%*s", left, "");
        wrapped(left, r->help);
    }
}

static void list_variants(const struct tg_filter *f)
{
    int w = 12;
    for (const struct tg_variant *v = f->variants; v->name; v++)
        w = longer(w, v->name);
    printf("\nvariants, plainest first\n");
    for (const struct tg_variant *v = f->variants; v->name; v++) {
        int left = printf("  %-*s%-*s", w + GAP, v->name, 4 + GAP, v->where == TG_HOST ? "host" : "CUDA");
        wrapped(left, v->idea);
    }
}

/* The defaults, and what a first change looks like: another value of the first parameter, a pinned variant. */
static void list_examples(const struct tg_filter *f)
{
    struct tg_chain c = {.n = 1, .node = {{.filter = f, .variant = 0}}};
    const struct tg_param *r = f->params;
    char text[512];
    tg_params_default(f, c.node[0].params);
    printf("\nexamples\n  tileglass apply in.png -f %s -o out.png\n", f->name);
    if (r->key && r->type == TG_KERNEL)
        snprintf(text, sizeof text, "1 2 1; 2 4 2; 1 2 1");
    else if (r->key && r->type == TG_CHOICE)
        snprintf(text, sizeof text, "%s", r->choices[1]);
    else
        snprintf(text, sizeof text, "%g", r->def * 2 <= r->max ? r->def * 2 : r->def / 2);
    if (r->key)
        tg_param_set(f, r, c.node[0].params, text);
    tg_chain_text(&c, text, sizeof text);
    printf("  tileglass apply in.png -f \"%s\" -o out.png\n", text);
}

static void list_filter(const struct tg_filter *f)
{
    printf("%s: %s\n\n", f->label, f->about);
    list_params(f);
    list_variants(f);
    list_examples(f);
}

static void list_devices(void)
{
    static const char *const simd[] = {"baseline", "AVX2", "AVX-512"};
    enum { MAX = 64 };
    struct tg_device_info info[MAX];
    int n = 0, w = 4;
    int err = tg_cuda_list(info, MAX, &n);
    n = n < MAX ? n : MAX;
    for (int i = 0; i < n; i++)
        w = longer(w, info[i].name);
    printf("cpu       %d threads, %s\n", tg_threads(), simd[tg_cpu()]);
    for (int i = 0; i < n; i++)
        printf("cuda:%-4d %-*s%s  capability %d.%d  %6zu MB  %s  %s\n", info[i].index, w + GAP, info[i].name,
               info[i].usable ? "usable" : "no code", info[i].major, info[i].minor, info[i].memory >> 20, info[i].bus,
               info[i].uuid);
    if (err)
        tg_note("no CUDA device: %s", tg_error());
    else if (!n)
        tg_note("no CUDA device");
    for (int i = 0; i < n; i++)
        if (!info[i].usable) {
            tg_note("\"no code\": built with CUDA %s", tg_cuda_build_text());
            break;
        }
}

static void list_formats(void)
{
    puts(
        "Found by content when read, by the name's ending (or --format) when written.\n\n"
        "PNG   .png\n"
        "  read   1, 2, 4, 8, 16 bits; gray, gray+alpha, RGB, RGBA, palette, colour keys; interlaced; APNG: the still\n"
        "  write  8 and 16 bits; gray, gray+alpha, RGB, RGBA\n"
        "JPEG  .jpg .jpeg .jpe .jfif\n"
        "  read   8 bits; gray, YCbCr, RGB, CMYK and YCCK (turned to RGB); progressive; EXIF orientation applied\n"
        "  write  8 bits; gray, YCbCr; alpha laid on a background\n\n"
        "Kept: ICC profile, EXIF, XMP, density, text; gamma and sRGB chunks from PNG to PNG.");
}

static const char *const topics[] = {"filters", "devices", "formats"};
enum { TOPICS = 3 };

static const char *name_of(int i, const void *ctx)
{
    (void)ctx;
    return i < TOPICS ? topics[i] : tg_filters[i - TOPICS]->name;
}

static int list(const char *what)
{
    static void (*const show[TOPICS])(void) = {list_filters, list_devices, list_formats};
    int n = TOPICS;
    while (tg_filters[n - TOPICS])
        n++;
    for (int i = 0; i < n; i++) {
        if (strcmp(what, name_of(i, NULL)) != 0)
            continue;
        if (i < TOPICS)
            show[i]();
        else
            list_filter(tg_filters[i - TOPICS]);
        return TG_EXIT_OK;
    }
    const char *near = tg_nearest(what, n, name_of, NULL);
    if (near)
        return tg_usage_error("list", "no '%s'; did you mean '%s'?", what, near);
    return tg_usage_error("list", "no '%s'; want filters, devices, formats or a filter's name", what);
}

int cmd_list(int argc, char **argv)
{
    static const struct option longs[] = {{"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    for (int c; (c = tg_getopt(argc, argv, "h", longs)) != -1;) {
        if (c != 'h')
            return TG_EXIT_USAGE;
        fputs(usage, stdout);
        return TG_EXIT_OK;
    }
    if (argc - optind > 1)
        return tg_usage_error(argv[0], "one name at a time: '%s' is too many", argv[optind + 1]);
    int code = list(optind < argc ? argv[optind] : "filters");
    if (fflush(stdout) || ferror(stdout)) {
        tg_say("cannot write to standard output");
        return TG_EXIT_FAILED;
    }
    return code;
}
