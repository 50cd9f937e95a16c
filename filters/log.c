#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Thread_local char last[1024];
static atomic_int log_level;
static atomic_bool line_drawn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int tg_fail(int err, const char *fmt, ...)
{
    int saved = errno;
    char text[sizeof last]; /* an argument may be tg_error() itself */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(last, text, sizeof text);
    errno = saved;
    return err;
}

const char *tg_error(void)
{
    return last;
}

void tg_log_level(enum tg_level level)
{
    atomic_store(&log_level, level);
}

void tg_log_erase_line(bool drawn)
{
    atomic_store(&line_drawn, drawn);
}

static void clean(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
}

static void put(const char *kind, const char *fmt, va_list ap)
{
    char text[1200];
    vsnprintf(text, sizeof text, fmt, ap);
    clean(text);
    pthread_mutex_lock(&lock);
    if (atomic_exchange(&line_drawn, false))
        fputs("\r\033[K", stderr);
    fprintf(stderr, "tileglass: %s%s\n", kind, text);
    pthread_mutex_unlock(&lock);
}

#define PUT(kind, when)         \
    do {                        \
        if (when) {             \
            va_list ap;         \
            va_start(ap, fmt);  \
            put(kind, fmt, ap); \
            va_end(ap);         \
        }                       \
    } while (0)

void tg_say(const char *fmt, ...)
{
    PUT("", true);
}

void tg_warn(const char *fmt, ...)
{
    PUT("warning: ", atomic_load(&log_level) > TG_QUIET);
}

void tg_note(const char *fmt, ...)
{
    PUT("", atomic_load(&log_level) > TG_QUIET);
}

void tg_debug(const char *fmt, ...)
{
    PUT("", atomic_load(&log_level) >= TG_VERBOSE);
}

void tg_warn_once(const char *fmt, ...)
{
    static char seen[64][160];
    static int n;
    if (atomic_load(&log_level) <= TG_QUIET)
        return;
    char text[1024] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&lock);
    bool old = false;
    for (int i = 0; i < n; i++)
        old |= strncmp(seen[i], text, sizeof seen[i] - 1) == 0;
    if (!old && n < 64)
        memcpy(seen[n++], text, sizeof seen[0] - 1);
    pthread_mutex_unlock(&lock);
    if (!old)
        tg_warn("%s", text);
}
