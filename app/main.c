#include "../filters/chain.h"
#include "../filters/log.h"
#include "cmd.h"
#include "media.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *usage, *about;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"apply", "apply IN... -f CHAIN -o OUT", "filter pictures, one or many", cmd_apply},
    {"sheet", "sheet IN -f CHAIN... -o PNG", "the picture and each chain's result side by side", cmd_sheet},
    {"list", "list [filters|FILTER|devices|formats]", "what there is, with ranges and defaults", cmd_list},
    {"info", "info FILE...", "size, depth, planes, orientation, profile", cmd_info},
    {"bench", "bench [CHAIN...]", "time every variant that matches the definition", cmd_bench},
    {"check", "check [FILTER...]", "every variant against the definition, on this machine", cmd_check},
};
#define COMMANDS (int)(sizeof commands / sizeof commands[0])

volatile int tg_cancelled;

/* The first signal asks for an end, which removes what is half-written; a second one does not wait for it. */
static void on_signal(int sig)
{
    (void)sig;
    if (tg_cancelled) {
        tg_writer_abort_all();
        _exit(TG_EXIT_INTERRUPTED);
    }
    tg_cancelled = 1;
}

static void help(FILE *to)
{
    fputs("tileglass filters images on the GPU, or without one on the CPU, and shows what each optimisation buys.\n\n",
          to);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  tileglass %-40s %s\n", commands[i].usage, commands[i].about);
    fputs("\nCHAIN is filters in a row: bilateral=sigma_space=4:sigma_range=0.1,invert\n"
          "'tileglass COMMAND --help' has the options, 'tileglass list FILTER' the parameters.\n"
          "Exit codes: 0 done, 1 some inputs failed, 2 usage, 3 no such device, 130 interrupted.\n",
          to);
}

static const char *command_name(int i, const void *ctx)
{
    (void)ctx;
    return commands[i].name;
}

int main(int argc, char **argv)
{
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "");

    if (argc < 2) {
        help(stderr);
        return TG_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return TG_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tileglass %s (%s)\n", TG_VERSION, tg_cuda_build_text());
        return TG_EXIT_OK;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    const char *near = tg_nearest(argv[1], COMMANDS, command_name, NULL);
    if (near)
        tg_say("no command '%s'; did you mean '%s'?", argv[1], near);
    else
        tg_say("no command '%s'; 'tileglass --help' lists them", argv[1]);
    return TG_EXIT_USAGE;
}
