#include "cmd.h"
#include "../filters/chain.h"
#include "../filters/log.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tg_usage_error(const char *name, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tg_say("%s: %s", name, text);
    return TG_EXIT_USAGE;
}

static const char *option_name(int i, const void *ctx)
{
    return ((const struct option *)ctx)[i].name;
}

int tg_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
    char quiet[64] = ":"; /* getopt says nothing and tells a missing argument apart */
    strncat(quiet, shorts, sizeof quiet - 2);
    opterr = 0;
    int c = getopt_long(argc, argv, quiet, longs, NULL);
    if (c != '?' && c != ':')
        return c;
    const char *word = argv[optind - 1];
    if (c == ':') {
        tg_usage_error(argv[0], "option %s needs a value", word);
    } else if (strncmp(word, "--", 2) == 0) {
        int n = 0;
        char name[64];
        while (longs[n].name)
            n++;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        for (int i = 0; i < n; i++)
            if (strcmp(longs[i].name, name) == 0 && !longs[i].has_arg) {
                tg_usage_error(argv[0], "option --%s takes no value", name);
                return '?';
            }
        const char *near = tg_nearest(name, n, option_name, longs);
        if (near)
            tg_usage_error(argv[0], "no option '--%s'; did you mean '--%s'?", name, near);
        else
            tg_usage_error(argv[0], "no option '--%s'; 'tileglass %s --help' lists them", name, argv[0]);
    } else {
        tg_usage_error(argv[0], "no option '-%c'; 'tileglass %s --help' lists them (a file of that name: after '--')",
                       optopt, argv[0]);
    }
    return '?';
}

int tg_option_int(const char *option, const char *text, long long lo, long long hi, long long *out)
{
    double v;
    if (!tg_parse_number(text, &v) || v < (double)lo || v > (double)hi || v != (double)(long long)v)
        return tg_fail(TG_EUSAGE, "%s %s: want a whole number, %lld..%lld", option, text, lo, hi);
    *out = (long long)v;
    return 0;
}

int tg_option_depth(const char *text, enum tg_depth *depth)
{
    static const char *const names[] = {"8", "16", "f32"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *depth = (enum tg_depth)i;
            return 0;
        }
    return tg_fail(TG_EUSAGE, "--depth %s: want 8, 16 or f32", text);
}

int tg_device_choose(const char *text, const char *cpu_only, struct tg_device **dev)
{
    *dev = NULL;
    if (strcmp(text, "cpu") == 0)
        return 0;
    if (strcmp(text, "auto") == 0) {
        if (cpu_only) {
            tg_debug("on the CPU: %s", cpu_only);
            return 0;
        }
        int err = tg_cuda_built() ? tg_cuda_open(dev, NULL) : TG_EDEVICE;
        if (err && tg_cuda_built())
            tg_note("%s; going on on the CPU", tg_error());
        return 0;
    }
    if (strcmp(text, "cuda") == 0)
        return tg_cuda_open(dev, NULL);
    if (strncmp(text, "cuda:", 5) == 0 && text[5])
        return tg_cuda_open(dev, text + 5);
    return tg_fail(TG_EUSAGE, "--device %s: want auto, cpu or cuda:N ('tileglass list devices' shows them)", text);
}
