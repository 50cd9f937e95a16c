/* Errors and messages.
 *
 * A function that can fail returns 0 or a negative tg_err and has then said once, with tg_fail, what went wrong: which
 * file, option or range. Callers pass the code up; whoever talks to the user prints tg_error().
 */
#ifndef TG_LOG_H
#define TG_LOG_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tg_err {
    TG_OK = 0,
    TG_EUSAGE = -1,  /* the caller asked for something that does not exist or is out of range */
    TG_EIO = -2,     /* the system refused: open, read, write, rename */
    TG_EFORMAT = -3, /* the input is not what it says, or not a format known here */
    TG_ELIMIT = -4,  /* larger than a limit that can be raised */
    TG_ENOMEM = -5,  /* host or device memory */
    TG_EDEVICE = -6, /* no such device, no driver, or no code for it */
    TG_ECUDA = -7,   /* a CUDA call or kernel failed */
    TG_ECANCEL = -8, /* stopped on request */
};

/* Records a message for this thread and returns err, so that `return tg_fail(TG_EIO, ...)` is one line. Messages are
 * cut at 1023 bytes. errno is left as it was. */
int tg_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The last message that tg_fail recorded on this thread; "" when there is none. Valid until the next tg_fail here. */
const char *tg_error(void);

enum tg_level { TG_QUIET = -1, TG_NORMAL = 0, TG_VERBOSE = 1 };
void tg_log_level(enum tg_level level);

/* A line on stderr, "tileglass: " in front. tg_say is for errors and always speaks; tg_warn and tg_note are silent under
 * TG_QUIET; tg_debug speaks only under TG_VERBOSE. Control characters, which a file name may hold, are shown as '?'. */
void tg_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tg_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tg_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tg_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* As tg_warn, but each distinct message of a run is printed once (of the first 64). */
void tg_warn_once(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line that a progress bar keeps on the terminal: tg_say and its kin erase it first. Set by the one thread that
 * draws it; "" when there is none. */
void tg_log_erase_line(bool drawn);

#ifdef __cplusplus
}
#endif
#endif
