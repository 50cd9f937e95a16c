#include "../filters/log.h"
#include "cmd.h"
#include "media.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char usage[] = "tileglass info FILE...\n\n"
                            "Prints size, depth, planes, orientation, profile and what else a picture carries.\n"
                            "FILE '-' is standard input.\n\n"
                            "  --max-pixels N   refuse larger pictures (1073741824)\n";

static const char *turn_text(int orientation)
{
    static const char *const text[] = {"upright",
                                       "mirrored left to right",
                                       "turned by 180 degrees",
                                       "mirrored top to bottom",
                                       "transposed",
                                       "to be turned 90 degrees clockwise",
                                       "transposed over the other diagonal",
                                       "to be turned 90 degrees counter-clockwise"};
    return text[orientation - 1];
}

static void show(const char *path, const struct tg_info *i)
{
    const struct tg_meta *m = &i->meta;
    const bool swap = tg_orientation_swaps(i->orientation);
    printf("file         %s\n", path);
    printf("format       %s%s%s%s\n", i->format, i->interlaced ? ", interlaced" : "",
           i->progressive ? ", progressive" : "", i->animated ? ", animated (first image used)" : "");
    printf("size         %d x %d\n", swap ? i->h : i->w, swap ? i->w : i->h);
    printf("color        %s, %d bits\n", i->color, i->bits);
    printf("planes       %d%s, %s\n", i->channels, i->has_alpha ? " (the last is alpha)" : "", tg_depth_name(i->depth));
    printf("orientation  %d, %s\n", i->orientation, turn_text(i->orientation));
    if (m->icc_size)
        printf("profile      ICC, %zu bytes\n", m->icc_size);
    if (m->has_srgb)
        printf("sRGB         intent %d\n", m->srgb_intent);
    if (m->has_gamma)
        printf("gamma        %u.%05u\n", m->gamma / 100000, m->gamma % 100000);
    if (m->density_unit == 2)
        printf("density      %u x %u pixels per metre\n", m->density_x, m->density_y);
    else if (m->density_unit == 1)
        printf("density      pixels %u : %u\n", m->density_x, m->density_y);
    if (m->exif_size)
        printf("EXIF         %zu bytes\n", m->exif_size);
    if (m->xmp_size)
        printf("XMP          %zu bytes\n", m->xmp_size);
    for (int t = 0; t < m->n_texts; t++) {
        printf("text         %s: ", m->texts[t].key ? m->texts[t].key : "Comment");
        for (const char *s = m->texts[t].text; s && *s && s - m->texts[t].text < 200; s++)
            putchar((unsigned char)*s < 0x20 || *s == 0x7f ? ' ' : *s);
        putchar('\n');
    }
}

int cmd_info(int argc, char **argv)
{
    enum { HELP = 256, MAX_PIXELS };
    static const struct option longs[] = {
        {"help", 0, NULL, HELP}, {"max-pixels", 1, NULL, MAX_PIXELS}, {NULL, 0, NULL, 0}};
    struct tg_read_opts opts = {.cancel = &tg_cancelled};
    long long n;
    for (int c; (c = tg_getopt(argc, argv, "h", longs)) != -1;)
        switch (c) {
        case 'h':
        case HELP:
            fputs(usage, stdout);
            return TG_EXIT_OK;
        case MAX_PIXELS:
            if (tg_option_int("--max-pixels", optarg, 1, 1LL << 40, &n))
                return tg_usage_error(argv[0], "%s", tg_error());
            opts.max_pixels = (uint64_t)n;
            break;
        default:
            return TG_EXIT_USAGE;
        }
    if (optind == argc)
        return tg_usage_error(argv[0], "which file? tileglass info FILE...");
    int failed = 0;
    for (int i = optind; i < argc; i++) {
        struct tg_reader *r;
        if (tg_reader_open(&r, argv[i], &opts)) {
            tg_say("%s: %s", argv[i], tg_error());
            failed++;
            continue;
        }
        if (i > optind)
            putchar('\n');
        show(argv[i], tg_reader_info(r));
        tg_reader_close(r);
    }
    if (fflush(stdout) || ferror(stdout)) {
        tg_say("cannot write to standard output");
        return TG_EXIT_FAILED;
    }
    return failed ? TG_EXIT_FAILED : TG_EXIT_OK;
}
