/* The subcommands: one file each, cmd_<name>.c, and a row in main.c's table. */
#ifndef TG_CMD_H
#define TG_CMD_H

#include "../kernels/cuda.h"
#include <stdbool.h>

struct option; /* getopt.h */

enum {
    TG_EXIT_OK = 0,
    TG_EXIT_FAILED = 1, /* some inputs failed */
    TG_EXIT_USAGE = 2,
    TG_EXIT_DEVICE = 3, /* no such device */
    TG_EXIT_INTERRUPTED = 130,
};

/* Each takes argv from its own name on, talks to the user itself and returns an exit code. */
int cmd_apply(int argc, char **argv);
int cmd_sheet(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* Set to 1 by the first SIGINT or SIGTERM; long loops look at it. */
extern volatile int tg_cancelled;

/* getopt_long that reports: the next option as getopt does, -1 at the end, '?' after it said what is wrong (unknown option
 * with the nearest one, missing argument). */
int tg_getopt(int argc, char **argv, const char *shorts, const struct option *longs);

/* TG_EXIT_USAGE after "tileglass NAME: message". */
int tg_usage_error(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A whole number of an option within lo..hi: 0, or TG_EUSAGE with a message that names both. */
int tg_option_int(const char *option, const char *text, long long lo, long long hi, long long *out);

/* "8", "16" or "f32" of --depth: 0, or TG_EUSAGE. */
int tg_option_depth(const char *text, enum tg_depth *depth);

/* "auto", "cpu" or "cuda:WHICH" (a number, UUID or bus id; "cuda" is "cuda:0"). *dev is NULL for the CPU. auto takes a card
 * where there is one, else the CPU with one notice on stderr; where cpu_only says why, auto is the CPU. A CUDA device asked for
 * by name that cannot be had: TG_EDEVICE. Closed with tg_cuda_close. */
int tg_device_choose(const char *text, const char *cpu_only, struct tg_device **dev);

#endif
