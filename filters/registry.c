#include "chain.h"
#include "log.h"
#include "pixel.h"

#include <stdio.h>
#include <string.h>

#define TG_FILTER(name) extern const struct tg_filter name##_filter;
#include "list.h"
#undef TG_FILTER

const struct tg_filter *const tg_filters[] = {
#define TG_FILTER(name) &name##_filter,
#include "list.h"
#undef TG_FILTER
    NULL,
};

const char *const tg_border_names[6] = {"reflect101", "reflect", "replicate", "wrap", "constant", NULL};

/* Optimal string alignment distance: insertions, deletions, changes and swaps of neighbours. */
static int edit_distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    int na = (int)strlen(a), nb = (int)strlen(b), d[MAX + 1][MAX + 1];
    if (na > MAX || nb > MAX)
        return MAX;
    for (int i = 0; i <= na; i++)
        for (int j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

const char *tg_nearest(const char *word, int n, const char *(*name)(int i, const void *ctx), const void *ctx)
{
    const char *best = NULL;
    size_t len = strlen(word);
    int least = len < 3 ? 1 : (int)((len + 2) / 3);
    for (int i = 0; i < n; i++) {
        const char *s = name(i, ctx);
        int d = edit_distance(word, s);
        /* A beginning or an end of a name is what people type. */
        if (len >= 3 && strstr(s, word))
            d = 0;
        if (d < least || (d == least && !best)) {
            least = d;
            best = s;
        }
    }
    return best;
}

static const char *filter_name(int i, const void *ctx)
{
    (void)ctx;
    return tg_filters[i]->name;
}

const struct tg_filter *tg_filter_find(const char *name)
{
    int n = 0;
    for (; tg_filters[n]; n++)
        if (strcmp(tg_filters[n]->name, name) == 0)
            return tg_filters[n];
    const char *near = tg_nearest(name, n, filter_name, NULL);
    if (near)
        tg_fail(TG_EUSAGE, "no filter '%s'; did you mean '%s'?", name, near);
    else
        tg_fail(TG_EUSAGE, "no filter '%s'; 'tileglass list' shows them", name);
    return NULL;
}

static const char *param_key(int i, const void *ctx)
{
    return ((const struct tg_param *)ctx)[i].key;
}

const struct tg_param *tg_param_find(const struct tg_filter *f, const char *key)
{
    int n = 0;
    for (; f->params[n].key; n++)
        if (strcmp(f->params[n].key, key) == 0)
            return &f->params[n];
    const char *near = tg_nearest(key, n, param_key, f->params);
    if (near)
        tg_fail(TG_EUSAGE, "%s: no parameter '%s'; did you mean '%s'?", f->name, key, near);
    else if (n)
        tg_fail(TG_EUSAGE, "%s: no parameter '%s'; 'tileglass list %s' shows them", f->name, key, f->name);
    else
        tg_fail(TG_EUSAGE, "%s: no parameter '%s'; it takes none", f->name, key);
    return NULL;
}

int tg_variant_find(const struct tg_filter *f, const char *name)
{
    char all[512] = "";
    size_t len = 0;
    for (int i = 0; f->variants[i].name; i++) {
        if (strcmp(f->variants[i].name, name) == 0)
            return i;
        if (len < sizeof all)
            len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", i ? ", " : "", f->variants[i].name);
    }
    return tg_fail(TG_EUSAGE, "%s: no variant '%s' in this program; it has %s", f->name, name, all);
}

int tg_variant_auto(const struct tg_filter *f, enum tg_where where, const struct tg_job *job)
{
    int best = -1;
    for (int i = 0; f->variants[i].name; i++)
        if (f->variants[i].where == where && (!f->variants[i].fits || f->variants[i].fits(job)))
            best = i;
    return best;
}
