#include "chain.h"
#include "log.h"

#include <stdio.h>
#include <string.h>

/* One word up to an unquoted character of `stops`; quotes and backslashes are taken away. Returns where it stopped, or
 * NULL after tg_fail. */
static const char *word(const char *s, const char *stops, char *out, size_t size)
{
    size_t n = 0;
    bool quoted = false;
    for (; *s && (quoted || !strchr(stops, *s)); s++) {
        char c = *s;
        if (c == '\'') {
            quoted = !quoted;
            continue;
        }
        if (c == '\\' && !quoted) {
            if (!s[1]) {
                tg_fail(TG_EUSAGE, "the chain ends with a lone '\\'");
                return NULL;
            }
            c = *++s;
        }
        if (n + 1 >= size) {
            tg_fail(TG_EUSAGE, "a word of the chain is longer than %zu bytes", size - 1);
            return NULL;
        }
        out[n++] = c;
    }
    if (quoted) {
        tg_fail(TG_EUSAGE, "the chain has an open quote: %.40s", s);
        return NULL;
    }
    out[n] = 0;
    return s;
}

static void trim(char *s)
{
    size_t n = strlen(s), a = strspn(s, " \t\r\n");
    while (n > a && strchr(" \t\r\n", s[n - 1]))
        n--;
    memmove(s, s + a, n - a);
    s[n - a] = 0;
}

#define WORD_MAX 8192 /* a kernel written out may be long */

/* One 'name[@variant][=value...]'; returns where it stopped: ',' or the end. */
static const char *parse_node(const char *s, struct tg_node *node)
{
    char text[WORD_MAX];
    s = word(s, "@=,:", text, sizeof text);
    if (!s)
        return NULL;
    trim(text);
    if (!*text) {
        tg_fail(TG_EUSAGE, "a filter's name is missing in the chain");
        return NULL;
    }
    node->filter = tg_filter_find(text);
    if (!node->filter)
        return NULL;
    const struct tg_filter *f = node->filter;
    node->variant = -1;
    node->bypass = false;
    memset(node->params, 0, sizeof node->params);
    tg_params_default(f, node->params);
    if (*s == '@') {
        s = word(s + 1, "=,:", text, sizeof text);
        if (!s)
            return NULL;
        trim(text);
        node->variant = strcmp(text, "auto") == 0 ? -1 : tg_variant_find(f, text);
        if (node->variant < 0 && strcmp(text, "auto") != 0)
            return NULL;
    }
    if (*s == ':') {
        tg_fail(TG_EUSAGE, "%s: parameters start with '=', not ':' (%s=...)", f->name, f->name);
        return NULL;
    }
    const struct tg_param *next = f->params; /* the row that a value without a key goes to */
    while (*s == '=' || *s == ':') {
        s = word(s + 1, "=,:", text, sizeof text);
        if (!s)
            return NULL;
        const struct tg_param *row;
        if (*s == '=') {
            trim(text);
            row = tg_param_find(f, text);
            if (!row)
                return NULL;
            s = word(s + 1, ",:", text, sizeof text);
            if (!s)
                return NULL;
            next = NULL;
        } else {
            row = next;
            if (!row || !row->key) {
                tg_fail(TG_EUSAGE,
                        row ? "%s: '%s' is one value too many" : "%s: '%s' has no key, but comes after one that has",
                        f->name, text);
                return NULL;
            }
            next++;
        }
        trim(text);
        if (tg_param_set(f, row, node->params, text))
            return NULL;
    }
    return s;
}

int tg_chain_parse(struct tg_chain *c, const char *text)
{
    struct tg_chain out = {0};
    const char *s = text + strspn(text, " \t\r\n");
    while (*s) {
        if (out.n == TG_CHAIN_MAX)
            return tg_fail(TG_EUSAGE, "a chain holds %d filters at most", TG_CHAIN_MAX);
        s = parse_node(s, &out.node[out.n]);
        if (!s)
            return TG_EUSAGE;
        out.n++;
        if (*s == ',' && !*++s)
            return tg_fail(TG_EUSAGE, "the chain ends with ','");
    }
    *c = out;
    return 0;
}

struct text {
    char *buf;
    size_t size, len;
};

static void put(struct text *t, const char *s)
{
    for (; *s; s++, t->len++)
        if (t->len + 1 < t->size)
            t->buf[t->len] = *s;
}

static void put_value(struct text *t, const char *s)
{
    bool quote = !*s || s[strcspn(s, " \t\r\n,:=@\\'")];
    if (quote)
        put(t, "'");
    for (; *s; s++)
        put(t, *s == '\'' ? "'\\''" : (char[]){*s, 0});
    if (quote)
        put(t, "'");
}

int tg_chain_text(const struct tg_chain *c, char *buf, size_t size)
{
    struct text t = {buf, size, 0};
    for (int i = 0; i < c->n; i++) {
        const struct tg_node *node = &c->node[i];
        unsigned char def[TG_PARAMS_MAX];
        char value[WORD_MAX], other[WORD_MAX];
        put(&t, i ? "," : "");
        put(&t, node->filter->name);
        if (node->variant >= 0) {
            put(&t, "@");
            put(&t, node->filter->variants[node->variant].name);
        }
        tg_params_default(node->filter, def);
        const char *sep = "=";
        for (const struct tg_param *r = node->filter->params; r->key; r++) {
            tg_param_text(r, node->params, value, sizeof value);
            if (strcmp(value, tg_param_text(r, def, other, sizeof other)) == 0)
                continue;
            put(&t, sep);
            put(&t, r->key);
            put(&t, "=");
            put_value(&t, value);
            sep = ":";
        }
    }
    if (size)
        buf[t.len < size ? t.len : size - 1] = 0;
    return (int)t.len;
}

void tg_filter_shape(const struct tg_filter *f, const void *params, const struct tg_image *src, struct tg_image *dst)
{
    *dst = *src;
    memset(dst->plane, 0, sizeof dst->plane);
    if (f->shape)
        f->shape(params, src, dst);
}

void tg_chain_shape(const struct tg_chain *c, const struct tg_image *src, struct tg_image *dst)
{
    *dst = *src;
    memset(dst->plane, 0, sizeof dst->plane);
    for (int i = 0; i < c->n; i++)
        if (!c->node[i].bypass) {
            struct tg_image in = *dst;
            tg_filter_shape(c->node[i].filter, c->node[i].params, &in, dst);
        }
}
