#include "source.h"
#include "../filters/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tg_source {
    int fd;
    int64_t size;
    const volatile int *cancel;
    size_t at, end; /* what is buffered and not yet taken */
    uint8_t buf[1 << 16];
};

static int interrupted(const volatile int *cancel)
{
    return cancel && *cancel ? tg_fail(TG_ECANCEL, "interrupted") : 0;
}

int tg_source_open(struct tg_source **out, const char *path, const volatile int *cancel)
{
    struct stat st = {0};
    struct tg_source *s = malloc(sizeof *s);
    if (!s)
        return tg_fail(TG_ENOMEM, "no memory to read");
    s->cancel = cancel;
    s->at = s->end = 0;
    int err = 0;
    do {
        s->fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                       : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (s->fd < 0 && errno == EINTR)
            err = interrupted(cancel);
    } while (s->fd < 0 && errno == EINTR && !err);
    if (!err && s->fd < 0)
        err = tg_fail(TG_EIO, "cannot open: %s", strerror(errno));
    else if (!err && fstat(s->fd, &st) != 0)
        err = tg_fail(TG_EIO, "cannot read: %s", strerror(errno));
    else if (!err && S_ISDIR(st.st_mode))
        err = tg_fail(TG_EFORMAT, "is a folder, not a picture");
    if (err) {
        tg_source_close(s);
        return err;
    }
    s->size = S_ISREG(st.st_mode) && st.st_size > 0 ? st.st_size : -1; /* files in /proc say 0 */
    *out = s;
    return 0;
}

void tg_source_close(struct tg_source *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

int64_t tg_source_size(const struct tg_source *s)
{
    return s->size;
}

/* One read into memory; *got is 0 at the end. */
static int fetch(struct tg_source *s, void *to, size_t n, size_t *got)
{
    for (;;) {
        int err = interrupted(s->cancel);
        if (err)
            return err;
        ssize_t r = read(s->fd, to, n);
        if (r >= 0) {
            *got = (size_t)r;
            return 0;
        }
        if (errno == EAGAIN)
            poll(&(struct pollfd){.fd = s->fd, .events = POLLIN}, 1, -1);
        else if (errno != EINTR)
            return tg_fail(TG_EIO, "cannot read: %s", strerror(errno));
    }
}

int tg_source_peek(struct tg_source *s, const uint8_t **bytes, size_t *n)
{
    if (s->at) {
        memmove(s->buf, s->buf + s->at, s->end - s->at);
        s->end -= s->at;
        s->at = 0;
    }
    while (s->end < *n) {
        size_t got;
        int err = fetch(s, s->buf + s->end, sizeof s->buf - s->end, &got);
        if (err)
            return err;
        if (!got)
            break;
        s->end += got;
    }
    *bytes = s->buf;
    if (*n > s->end)
        *n = s->end;
    return 0;
}

int tg_source_next(struct tg_source *s, const uint8_t **bytes, size_t *n)
{
    if (s->at == s->end) {
        s->at = s->end = 0;
        int err = fetch(s, s->buf, sizeof s->buf, &s->end);
        if (err)
            return err;
    }
    *bytes = s->buf + s->at;
    *n = s->end - s->at;
    s->at = s->end;
    return 0;
}

int tg_source_read(struct tg_source *s, void *to, size_t n, size_t *got)
{
    *got = 0;
    while (*got < n) {
        size_t part = s->end - s->at;
        if (!part && n - *got >= sizeof s->buf) {
            int err = fetch(s, (char *)to + *got, n - *got, &part);
            if (err)
                return err;
        } else {
            const uint8_t *bytes;
            int err = tg_source_next(s, &bytes, &part);
            if (err)
                return err;
            size_t used = part < n - *got ? part : n - *got;
            memcpy((char *)to + *got, bytes, used);
            s->at = s->end - (part - used);
            part = used;
        }
        if (!part)
            break;
        *got += part;
    }
    return 0;
}
