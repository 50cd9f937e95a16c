#include "chain.h"
#include "kernel.h"
#include "log.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* strtod and printf read and write the locale's comma; these two do not. */
static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool tg_parse_number(const char *text, double *out)
{
    pthread_once(&once, make_locale);
    size_t n = strlen(text);
    if (n == 0 || n > 63 || strspn(text, "0123456789+-.eE") != n)
        return false;
    char *end;
    double v = strtod_l(text, &end, c_locale);
    if (*end || end == text || v > 1e300 || v < -1e300)
        return false;
    *out = v;
    return true;
}

/* The shortest of %.1g to %.9g that reads back as the same float, without an exponent from 10 to 1e9. */
static void number_text(float v, char *buf, size_t size)
{
    pthread_once(&once, make_locale);
    locale_t old = uselocale(c_locale);
    double a = fabs((double)v);
    for (int digits = a >= 10 && a < 1e9 ? (int)log10(a) + 1 : 1; digits <= 9; digits++) {
        snprintf(buf, size, "%.*g", digits, (double)v);
        double back;
        if (tg_parse_number(buf, &back) && (float)back == v)
            break;
    }
    uselocale(old);
}

void tg_params_default(const struct tg_filter *f, void *params)
{
    memset(params, 0, f->params_size);
    for (const struct tg_param *r = f->params; r->key; r++) {
        char *field = (char *)params + r->offset;
        switch (r->type) {
        case TG_FLOAT:
            *(float *)field = (float)r->def;
            break;
        case TG_INT:
        case TG_CHOICE:
            *(int *)field = (int)r->def;
            break;
        case TG_BOOL:
            *(bool *)field = r->def != 0;
            break;
        case TG_KERNEL:
            *(const struct tg_kernel **)field = tg_kernel_get(r->def_text);
            break;
        }
    }
}

const char *tg_param_range(const struct tg_param *r, char *buf, size_t size)
{
    char lo[32], hi[32];
    switch (r->type) {
    case TG_FLOAT:
        number_text((float)r->min, lo, sizeof lo);
        number_text((float)r->max, hi, sizeof hi);
        snprintf(buf, size, "%s..%s", lo, hi);
        break;
    case TG_INT:
        snprintf(buf, size, "%d..%d", (int)r->min, (int)r->max);
        break;
    case TG_BOOL:
        snprintf(buf, size, "0|1");
        break;
    case TG_CHOICE: {
        size_t len = 0;
        buf[0] = 0;
        for (int i = 0; r->choices[i] && len < size; i++)
            len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? "|" : "", r->choices[i]);
        break;
    }
    case TG_KERNEL:
        snprintf(buf, size, "name, file or numbers");
        break;
    }
    return buf;
}

const char *tg_param_text(const struct tg_param *r, const void *params, char *buf, size_t size)
{
    const char *field = (const char *)params + r->offset;
    switch (r->type) {
    case TG_FLOAT:
        number_text(*(const float *)field, buf, size);
        break;
    case TG_INT:
        snprintf(buf, size, "%d", *(const int *)field);
        break;
    case TG_BOOL:
        snprintf(buf, size, "%d", *(const bool *)field);
        break;
    case TG_CHOICE:
        snprintf(buf, size, "%s", r->choices[*(const int *)field]);
        break;
    case TG_KERNEL: {
        const struct tg_kernel *k = *(const struct tg_kernel *const *)field;
        snprintf(buf, size, "%s", k->text);
        break;
    }
    }
    return buf;
}

static const char *choice_name(int i, const void *ctx)
{
    return ((const char *const *)ctx)[i];
}

static int set_choice(const struct tg_filter *f, const struct tg_param *r, int *field, const char *text)
{
    int n = 0;
    for (; r->choices[n]; n++)
        if (strcmp(r->choices[n], text) == 0) {
            *field = n;
            return 0;
        }
    char range[256];
    const char *near = tg_nearest(text, n, choice_name, r->choices);
    tg_param_range(r, range, sizeof range);
    if (near)
        return tg_fail(TG_EUSAGE, "%s: %s=%s is none of %s; did you mean '%s'?", f->name, r->key, text, range, near);
    return tg_fail(TG_EUSAGE, "%s: %s=%s is none of %s", f->name, r->key, text, range);
}

static int set_bool(const struct tg_filter *f, const struct tg_param *r, bool *field, const char *text)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true", "off", "on"};
    for (int i = 0; i < 8; i++)
        if (strcmp(text, words[i]) == 0) {
            *field = i & 1;
            return 0;
        }
    return tg_fail(TG_EUSAGE, "%s: %s=%s is neither 0 nor 1", f->name, r->key, text);
}

int tg_param_set(const struct tg_filter *f, const struct tg_param *r, void *params, const char *text)
{
    char *field = (char *)params + r->offset, range[64];
    double v;
    switch (r->type) {
    case TG_CHOICE:
        return set_choice(f, r, (int *)field, text);
    case TG_BOOL:
        return set_bool(f, r, (bool *)field, text);
    case TG_KERNEL: {
        const struct tg_kernel *k = tg_kernel_get(text);
        if (!k)
            return tg_fail(TG_EUSAGE, "%s: %s: %s", f->name, r->key, tg_error());
        *(const struct tg_kernel **)field = k;
        return 0;
    }
    case TG_FLOAT:
    case TG_INT:
        break;
    }
    tg_param_range(r, range, sizeof range);
    if (!tg_parse_number(text, &v))
        return tg_fail(TG_EUSAGE, "%s: %s=%s is not a number (%s)", f->name, r->key, text, range);
    if (r->type == TG_INT && v != trunc(v))
        return tg_fail(TG_EUSAGE, "%s: %s=%s is not a whole number (%s)", f->name, r->key, text, range);
    if (v < r->min || v > r->max)
        return tg_fail(TG_EUSAGE, "%s: %s=%s is outside %s", f->name, r->key, text, range);
    if (r->type == TG_INT)
        *(int *)field = (int)v;
    else
        *(float *)field = (float)v;
    return 0;
}
