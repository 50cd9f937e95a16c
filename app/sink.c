#include "sink.h"
#include "../filters/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Names of the temporary files, where a signal handler finds them. */
enum { FREE, TAKEN, LIVE };
static struct {
    atomic_int state;
    char path[PATH_MAX];
} temps[64];
#define TEMPS (int)(sizeof temps / sizeof temps[0])

struct tg_sink {
    int fd;
    int temp; /* its place in temps, or -1: written directly */
    const volatile int *cancel;
    size_t used;
    char target[PATH_MAX];
    char buf[1 << 16];
};

void tg_sink_abort_all(void)
{
    for (int i = 0; i < TEMPS; i++)
        if (atomic_load(&temps[i].state) == LIVE)
            unlink(temps[i].path);
}

/* Where a path's last component leads through links, whether or not anything is there. */
static int resolve(const char *path, char to[PATH_MAX])
{
    size_t n = strlen(path);
    if (n >= PATH_MAX)
        return tg_fail(TG_EIO, "cannot write: %s", strerror(ENAMETOOLONG));
    memcpy(to, path, n + 1);
    for (int hops = 0; hops < 40; hops++) {
        char link[PATH_MAX];
        ssize_t got = readlink(to, link, sizeof link);
        if (got <= 0)
            return 0;
        char *base = strrchr(to, '/');
        size_t folder = link[0] == '/' || !base ? 0 : (size_t)(base + 1 - to);
        if (folder + (size_t)got >= PATH_MAX)
            return tg_fail(TG_EIO, "cannot write: %s", strerror(ENAMETOOLONG));
        memcpy(to + folder, link, (size_t)got);
        to[folder + (size_t)got] = 0;
    }
    return tg_fail(TG_EIO, "cannot write: %s", strerror(ELOOP));
}

/* Bytes of a name that are kept so that `extra` more fit; a UTF-8 character is not cut. */
static size_t keep_bytes(const char *name, const char *folder, size_t extra)
{
    long max = pathconf(folder, _PC_NAME_MAX);
    size_t n = strlen(name), room = (max > (long)extra ? (size_t)max : 255) - extra;
    if (n <= room)
        return n;
    while (room && ((unsigned char)name[room] & 0xc0) == 0x80)
        room--;
    return room;
}

static int make_temp(struct tg_sink *s, mode_t mode)
{
    int i = 0;
    for (int want = FREE; i < TEMPS && !atomic_compare_exchange_strong(&temps[i].state, &want, TAKEN); want = FREE)
        i++;
    if (i == TEMPS)
        return tg_fail(TG_ELIMIT, "more than %d outputs at once", TEMPS);
    s->temp = i;
    const char *slash = strrchr(s->target, '/'), *name = slash ? slash + 1 : s->target;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash > s->target ? (int)(slash - s->target) : 1, slash ? s->target : ".");
    int keep = (int)keep_bytes(name, folder, sizeof "..XXXXXX.tmp" - 1);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint32_t x = (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 16 ^ (uint32_t)i << 8;
    for (int tries = 0; tries < 100; tries++) {
        x = x * 1664525U + 1013904223U;
        if (snprintf(temps[i].path, PATH_MAX, "%.*s.%.*s.%06x.tmp", (int)(name - s->target), s->target, keep, name,
                     x >> 8) >= PATH_MAX)
            return tg_fail(TG_EIO, "cannot write: %s", strerror(ENAMETOOLONG));
        /* open, not mkstemp: the umask and the folder's default rights then hold for a new file. */
        s->fd = open(temps[i].path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (s->fd >= 0) {
            atomic_store(&temps[i].state, LIVE);
            return 0;
        }
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    if (errno == ENOENT || errno == ENOTDIR)
        return tg_fail(TG_EIO, "there is no folder %s", folder);
    return tg_fail(TG_EIO, "cannot write in the folder %s: %s", folder, strerror(errno));
}

static int open_target(struct tg_sink *s, const char *path, bool tty)
{
    struct stat st;
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
        s->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        if (s->fd < 0)
            return tg_fail(TG_EIO, "cannot write to standard output: %s", strerror(errno));
        if (!tty && isatty(s->fd))
            return tg_fail(TG_EUSAGE, "standard output is a terminal: not writing a picture to it");
        return 0;
    }
    bool exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT && errno != ENOTDIR)
        return tg_fail(TG_EIO, "cannot write: %s", strerror(errno));
    if (exists && S_ISDIR(st.st_mode))
        return tg_fail(TG_EIO, "is a folder");
    /* root may write to anything: the mode is looked at as well. */
    if (exists && (!(st.st_mode & 0222) || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0))
        return tg_fail(TG_EIO, "is read-only");
    if (exists && !S_ISREG(st.st_mode)) {
        s->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (s->fd < 0)
            return tg_fail(TG_EIO, "cannot write: %s", strerror(errno));
        return 0;
    }
    int err = resolve(path, s->target);
    if (err)
        return err;
    if (!exists && (!*s->target || s->target[strlen(s->target) - 1] == '/'))
        return tg_fail(TG_EIO, "is no file's name");
    err = make_temp(s, exists ? 0600 : 0666);
    if (err || !exists)
        return err;
    if (fchown(s->fd, st.st_uid, st.st_gid) != 0)
        tg_debug("%s: the owner is not kept: %s", s->target, strerror(errno));
    if (fchmod(s->fd, st.st_mode & 0777) != 0)
        return tg_fail(TG_EIO, "cannot keep the file's mode: %s", strerror(errno));
    return 0;
}

int tg_sink_open(struct tg_sink **out, const char *path, bool tty, const volatile int *cancel)
{
    struct tg_sink *s = malloc(sizeof *s);
    if (!s)
        return tg_fail(TG_ENOMEM, "no memory to write");
    s->fd = s->temp = -1;
    s->used = 0;
    s->target[0] = 0;
    s->cancel = cancel;
    int err = open_target(s, path, tty);
    if (err) {
        tg_sink_abort(s);
        return err;
    }
    *out = s;
    return 0;
}

static int put(struct tg_sink *s, const char *bytes, size_t n)
{
    while (n) {
        ssize_t w = write(s->fd, bytes, n);
        if (w >= 0) {
            bytes += w;
            n -= (size_t)w;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = s->fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return tg_fail(TG_EIO, "cannot write: %s", strerror(errno));
        }
        if (s->cancel && *s->cancel)
            return tg_fail(TG_ECANCEL, "interrupted");
    }
    return 0;
}

static int flush(struct tg_sink *s)
{
    size_t n = s->used;
    s->used = 0;
    return put(s, s->buf, n);
}

int tg_sink_write(struct tg_sink *s, const void *bytes, size_t n)
{
    if (n > sizeof s->buf - s->used) {
        int err = flush(s);
        if (err || n >= sizeof s->buf)
            return err ? err : put(s, bytes, n);
    }
    memcpy(s->buf + s->used, bytes, n);
    s->used += n;
    return 0;
}

int tg_sink_finish(struct tg_sink *s)
{
    int err = flush(s);
    if (close(s->fd) != 0 && !err)
        err = tg_fail(TG_EIO, "cannot write: %s", strerror(errno));
    s->fd = -1;
    if (!err && s->temp >= 0 && rename(temps[s->temp].path, s->target) != 0)
        err = tg_fail(TG_EIO, "cannot rename %s to %s: %s", temps[s->temp].path, s->target, strerror(errno));
    if (!err && s->temp >= 0) {
        atomic_store(&temps[s->temp].state, FREE);
        s->temp = -1;
    }
    tg_sink_abort(s);
    return err;
}

void tg_sink_abort(struct tg_sink *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    if (s->temp >= 0) {
        if (atomic_load(&temps[s->temp].state) == LIVE)
            unlink(temps[s->temp].path);
        atomic_store(&temps[s->temp].state, FREE);
    }
    free(s);
}
