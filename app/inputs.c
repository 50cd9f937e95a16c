#include "inputs.h"
#include "../filters/log.h"
#include "media.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `below`: how much of the path names the folder that was asked for. */
static int add(struct tg_inputs *in, const char *path, size_t below)
{
    if (in->n == in->room) {
        int room = in->room ? 2 * in->room : 16;
        struct tg_input *item = realloc(in->item, sizeof *item * (size_t)room);
        if (!item)
            return tg_fail(TG_ENOMEM, "no memory for the list of pictures");
        in->item = item;
        in->room = room;
    }
    char *copy = strdup(path);
    if (!copy)
        return tg_fail(TG_ENOMEM, "no memory for the list of pictures");
    in->item[in->n++] = (struct tg_input){.path = copy, .name = copy + below};
    return 0;
}

/* "a/b": a folder's name and an entry's. */
static char *join(const char *folder, const char *name)
{
    char *path;
    size_t n = strlen(folder);
    if (asprintf(&path, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name) < 0)
        return NULL;
    return path;
}

static bool begins_like_picture(const char *path)
{
    unsigned char head[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);
    if (fd >= 0)
        close(fd);
    return (n == 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0) || (n >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0);
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int add_folder(struct tg_inputs *in, const char *folder, size_t below, bool recursive)
{
    struct dirent **list;
    int n = scandir(folder, &list, visible, alphasort);
    if (n < 0)
        return tg_fail(TG_EIO, "cannot read the folder %s: %s", folder, strerror(errno));
    int err = 0;
    for (int i = 0; i < n; i++) {
        char *path = err ? NULL : join(folder, list[i]->d_name);
        struct stat st, link;
        if (!path) {
            err = err ? err : tg_fail(TG_ENOMEM, "no memory for the list of pictures");
        } else if (stat(path, &st) != 0 || lstat(path, &link) != 0) {
            in->skipped++;
        } else if (recursive && S_ISDIR(link.st_mode)) {
            err = add_folder(in, path, below, recursive);
        } else if (S_ISREG(st.st_mode) && (begins_like_picture(path) || tg_format_of(path))) {
            err = add(in, path, below);
        } else {
            in->skipped++;
        }
        free(path);
        free(list[i]);
    }
    free(list);
    return err;
}

int tg_inputs_collect(struct tg_inputs *in, char **names, int n, bool recursive)
{
    in->folder = n > 1;
    for (int i = 0; i < n; i++) {
        struct stat st;
        bool folder = strcmp(names[i], "-") != 0 && stat(names[i], &st) == 0 && S_ISDIR(st.st_mode);
        in->folder |= folder;
        size_t n_folder = strlen(names[i]);
        const char *base = strrchr(names[i], '/');
        int err = folder ? add_folder(in, names[i], n_folder + (names[i][n_folder - 1] != '/'), recursive)
                         : add(in, names[i], base ? (size_t)(base + 1 - names[i]) : 0);
        if (err)
            return err;
    }
    return 0;
}

/* The name that a result takes in a folder. */
static char *result_name(const char *path, const char *format)
{
    const char *had = tg_format_of(path);
    const char *dot = strrchr(path, '.');
    char *name;
    int n = (int)strlen(path);
    if (had && (!format || strcmp(had, format) == 0))
        return strdup(path);
    if (had && dot)
        n = (int)(dot - path);
    if (asprintf(&name, "%.*s.%s", n, path, !format || strcmp(format, "png") == 0 ? "png" : "jpg") < 0)
        return NULL;
    return name;
}

static int by_out(const void *a, const void *b)
{
    return strcmp((*(const struct tg_input *const *)a)->out, (*(const struct tg_input *const *)b)->out);
}

static int check_distinct(const struct tg_inputs *in)
{
    const struct tg_input **sorted = malloc(sizeof *sorted * (size_t)in->n);
    if (!sorted)
        return tg_fail(TG_ENOMEM, "no memory for the list of pictures");
    for (int i = 0; i < in->n; i++)
        sorted[i] = &in->item[i];
    qsort(sorted, (size_t)in->n, sizeof *sorted, by_out);
    int err = 0;
    for (int i = 1; i < in->n && !err; i++)
        if (strcmp(sorted[i - 1]->out, sorted[i]->out) == 0)
            err = tg_fail(TG_EUSAGE, "%s and %s would both be written to %s", sorted[i - 1]->path, sorted[i]->path,
                          sorted[i]->out);
    free(sorted);
    return err;
}

/* Makes the folders between an output folder, which exists, and a result below it. */
static int make_folders(char *path, size_t from)
{
    for (char *s = path + from; (s = strchr(s, '/')); s++) {
        *s = 0;
        int bad = mkdir(path, 0777) != 0 && errno != EEXIST;
        int reason = errno;
        *s = '/';
        if (bad)
            return tg_fail(TG_EUSAGE, "cannot make the folders of %s: %s", path, strerror(reason));
    }
    return 0;
}

int tg_inputs_place(struct tg_inputs *in, const char *output, const char *format)
{
    struct stat st;
    size_t n = strlen(output);
    bool exists = strcmp(output, "-") != 0 && stat(output, &st) == 0;
    if (n == 0)
        return tg_fail(TG_EUSAGE, "-o has an empty name");
    if (!(in->folder || output[n - 1] == '/' || (exists && S_ISDIR(st.st_mode)))) {
        for (int i = 0; i < in->n; i++)
            if (!(in->item[i].out = strdup(output)))
                return tg_fail(TG_ENOMEM, "no memory for the list of pictures");
        return 0;
    }
    if (strcmp(output, "-") == 0 || (exists && !S_ISDIR(st.st_mode)))
        return tg_fail(TG_EUSAGE, "-o %s: more than one picture needs a folder", output);
    for (int i = 0; i < in->n; i++) {
        if (strcmp(in->item[i].path, "-") == 0)
            return tg_fail(TG_EUSAGE, "standard input has no name to take in the folder %s", output);
        char *name = result_name(in->item[i].name, format);
        in->item[i].out = name ? join(output, name) : NULL;
        free(name);
        if (!in->item[i].out)
            return tg_fail(TG_ENOMEM, "no memory for the list of pictures");
    }
    int err = in->n ? check_distinct(in) : 0;
    if (!err && in->n && !exists && mkdir(output, 0777) != 0 && errno != EEXIST)
        err = tg_fail(TG_EUSAGE, "cannot make the folder %s: %s", output, strerror(errno));
    for (int i = 0; i < in->n && !err; i++)
        err = make_folders(in->item[i].out, n + (output[n - 1] != '/'));
    return err;
}

void tg_inputs_free(struct tg_inputs *in)
{
    for (int i = 0; i < in->n; i++) {
        free(in->item[i].path);
        free(in->item[i].out);
    }
    free(in->item);
    *in = (struct tg_inputs){0};
}
