#include "kernel.h"
#include "chain.h"
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name, *rows;
} built_in[] = {
    {"box", "1 1 1; 1 1 1; 1 1 1"},       {"gaussian", "1 2 1; 2 4 2; 1 2 1"},   {"sharpen", "0 -1 0; -1 5 -1; 0 -1 0"},
    {"emboss", "-2 -1 0; -1 1 1; 0 1 2"}, {"laplacian", "0 1 0; 1 -4 1; 0 1 0"}, {"identity", "1"},
};
#define BUILT_IN (sizeof built_in / sizeof built_in[0])

const char *const tg_kernel_names[BUILT_IN + 1] = {"box",       "gaussian", "sharpen", "emboss",
                                                   "laplacian", "identity", NULL};

/* Interned kernels: never freed, so that a pointer in a chain stays good whatever becomes of the chain. */
struct entry {
    struct tg_kernel k;
    struct entry *next;
};
static struct entry *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define WHERE(line) (from ? from : "kernel"), line

/* Rows of numbers. `from` is the file's name, or NULL for numbers given in place. */
static int parse(const char *s, const char *from, struct tg_kernel *k, float *w)
{
    int row_w = 0, line = 1;
    k->w = k->h = 0;
    for (;;) {
        s += strspn(s, " \t\r,");
        if (*s == '#')
            s += strcspn(s, "\n");
        if (*s == ';' || *s == '\n' || *s == 0) {
            if (row_w) {
                if (k->w && row_w != k->w)
                    return tg_fail(TG_EUSAGE, "%s, row %d: %d numbers, but the rows before have %d", WHERE(k->h + 1),
                                   row_w, k->w);
                k->w = row_w;
                k->h++;
                row_w = 0;
            }
            if (*s == 0)
                break;
            line += *s == '\n';
            s++;
            continue;
        }
        char word[64];
        size_t n = strcspn(s, " \t\r\n,;#");
        double v;
        if (n >= sizeof word)
            return tg_fail(TG_EUSAGE, "%s, line %d: %.20s... is not a number", WHERE(line), s);
        memcpy(word, s, n);
        word[n] = 0;
        if (!tg_parse_number(word, &v) || v > 1e30 || v < -1e30)
            return tg_fail(TG_EUSAGE, "%s, line %d: %s is not a number", WHERE(line), word);
        if (row_w == TG_KERNEL_SIDE || k->h == TG_KERNEL_SIDE)
            return tg_fail(TG_EUSAGE, "%s: larger than %d x %d", from ? from : "kernel", TG_KERNEL_SIDE,
                           TG_KERNEL_SIDE);
        w[(size_t)k->h * (size_t)(k->w ? k->w : TG_KERNEL_SIDE) + (size_t)row_w++] = (float)v;
        if (k->w && row_w > k->w)
            return tg_fail(TG_EUSAGE, "%s, row %d: more numbers than in the rows before (%d)", WHERE(k->h + 1), k->w);
        s += n;
    }
    if (!k->h)
        return tg_fail(TG_EUSAGE, "%s: no numbers", from ? from : "kernel");
    return 0;
}

static int read_file(const char *path, char **out)
{
    enum { MAX = 4 << 20 };
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* before opening, which waits for a FIFO's writer */
        return tg_fail(TG_EUSAGE, "%s is no ordinary file", path);
    FILE *f = fopen(path, "rbe");
    if (!f)
        return tg_fail(TG_EUSAGE, "cannot open %s: %s", path, strerror(errno));
    char *text = malloc(MAX + 1);
    size_t n = text ? fread(text, 1, MAX + 1, f) : 0;
    bool bad = ferror(f);
    fclose(f);
    if (!text)
        return tg_fail(TG_ENOMEM, "no memory for %s", path);
    if (bad || n > MAX || memchr(text, 0, n)) {
        free(text);
        return bad ? tg_fail(TG_EUSAGE, "cannot read %s", path) : tg_fail(TG_EUSAGE, "%s is not rows of numbers", path);
    }
    text[n] = 0;
    *out = text;
    return 0;
}

static const char *name_of(int i, const void *ctx)
{
    (void)ctx;
    return built_in[i].name;
}

static int find(const char *text, struct tg_kernel *k, float *w)
{
    for (size_t i = 0; i < BUILT_IN; i++)
        if (strcmp(text, built_in[i].name) == 0)
            return parse(built_in[i].rows, text, k, w);
    if (text[0] && text[strspn(text, "0123456789+-.eE \t\r\n,;")] == 0)
        return parse(text, NULL, k, w);
    struct stat st;
    if (!strchr(text, '/') && stat(text, &st) != 0) {
        const char *near = tg_nearest(text, BUILT_IN, name_of, NULL);
        return near ? tg_fail(TG_EUSAGE, "'%s' is no kernel's name, numbers or file; did you mean '%s'?", text, near)
                    : tg_fail(TG_EUSAGE, "'%s' is no kernel's name, numbers or file", text);
    }
    char *rows = NULL;
    int err = read_file(text, &rows);
    if (!err) {
        err = parse(rows, text, k, w);
        free(rows);
    }
    return err;
}

const struct tg_kernel *tg_kernel_get(const char *text)
{
    const struct tg_kernel *out = NULL;
    float *w = NULL;
    struct entry *e = NULL;
    pthread_mutex_lock(&lock);
    for (struct entry *o = table; o && !out; o = o->next)
        if (strcmp(o->k.text, text) == 0)
            out = &o->k;
    if (out)
        goto done;
    w = malloc(sizeof(float) * TG_KERNEL_SIDE * (TG_KERNEL_SIDE + 1));
    e = calloc(1, sizeof *e);
    char *name = strdup(text);
    if (!w || !e || !name) {
        tg_fail(TG_ENOMEM, "no memory for a kernel");
        free(name);
        goto done;
    }
    if (find(text, &e->k, w)) {
        free(name);
        goto done;
    }
    e->k.text = name;
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): find fails where w or h is 0 */
    float *fit = realloc(w, sizeof(float) * (size_t)e->k.w * (size_t)e->k.h);
    e->k.weights = fit ? fit : w;
    e->next = table;
    table = e;
    out = &e->k;
    w = NULL;
    e = NULL;
done:
    pthread_mutex_unlock(&lock);
    free(w);
    free(e);
    return out;
}
