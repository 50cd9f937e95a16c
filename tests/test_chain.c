/* Chains: what their text means, what is refused and with which words, and the text form read back. Kernels and borders. */
#include "../filters/bilateral.h"
#include "../filters/chain.h"
#include "../filters/convolve.h"
#include "../filters/gaussian.h"
#include "../filters/invert.h"
#include "../filters/kernel.h"
#include "../filters/log.h"
#include "../filters/sobel.h"
#include "check.h"

#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A node's parameters, copied: its bytes have no type of their own. */
#define PARAMS(c, i, filter) \
    ((struct tg_##filter *)memcpy(&(struct tg_##filter){0}, (c).node[i].params, sizeof(struct tg_##filter)))

static struct tg_chain parsed(const char *text)
{
    struct tg_chain c = {.n = -1};
    if (tg_chain_parse(&c, text))
        fprintf(stderr, "%s: %s\n", text, tg_error());
    return c;
}

/* The text is refused with these words, and the chain stays as it was. */
#define REFUSED(text, words)                             \
    do {                                                 \
        struct tg_chain was_, c_;                        \
        memset(&was_, 0x5a, sizeof was_);                \
        c_ = was_;                                       \
        CHECK_INT(tg_chain_parse(&c_, text), TG_EUSAGE); \
        CHECK_STR(tg_error(), words);                    \
        CHECK(memcmp(&c_, &was_, sizeof c_) == 0);       \
    } while (0)

static const char *text_of(const struct tg_chain *c)
{
    static char buf[1 << 17];
    int n = tg_chain_text(c, buf, sizeof buf);
    CHECK_INT(strlen(buf), n);
    return buf;
}

TEST(empty)
{
    CHECK_INT(parsed("").n, 0);
    CHECK_INT(parsed(" \t\n").n, 0);
    struct tg_chain c = parsed("");
    CHECK_STR(text_of(&c), "");
}

TEST(keys_and_defaults)
{
    struct tg_chain c = parsed("bilateral=sigma_space=4:sigma_range=0.25,invert");
    CHECK_INT(c.n, 2);
    CHECK(c.node[0].filter == &bilateral_filter && c.node[1].filter == &invert_filter);
    CHECK_INT(c.node[0].variant, -1);
    CHECK(!c.node[0].bypass);
    CHECK_NEAR(PARAMS(c, 0, bilateral)->sigma_space, 4, 0);
    CHECK_NEAR(PARAMS(c, 0, bilateral)->sigma_range, 0.25, 0);
    CHECK_INT(PARAMS(c, 0, bilateral)->radius, 0);
    CHECK_INT(PARAMS(c, 0, bilateral)->window, TG_BILATERAL_DISC);
    CHECK_INT(PARAMS(c, 0, bilateral)->distance, TG_BILATERAL_L1);
    CHECK_INT(PARAMS(c, 0, bilateral)->border, TG_REFLECT101);
    CHECK_NEAR(PARAMS(c, 1, invert)->amount, 1, 0);

    c = parsed("bilateral");
    CHECK_NEAR(PARAMS(c, 0, bilateral)->sigma_space, 3, 0);
    CHECK_NEAR(PARAMS(c, 0, bilateral)->sigma_range, 0.1F, 0);

    c = parsed("sobel=norm=l1:op=scharr:border=constant,gaussian=border=wrap");
    CHECK_INT(PARAMS(c, 0, sobel)->norm, TG_SOBEL_L1);
    CHECK_INT(PARAMS(c, 0, sobel)->op, TG_SOBEL_SCHARR);
    CHECK_INT(PARAMS(c, 0, sobel)->border, TG_CONSTANT);
    CHECK_INT(PARAMS(c, 1, gaussian)->border, TG_WRAP);
    /* The last of two wins. */
    c = parsed("gaussian=sigma=1:sigma=2");
    CHECK_NEAR(PARAMS(c, 0, gaussian)->sigma, 2, 0);
    c = parsed(" bilateral = sigma_space = 4 : radius = 2 , invert ");
    CHECK_INT(c.n, 2);
    CHECK_NEAR(PARAMS(c, 0, bilateral)->sigma_space, 4, 0);
    CHECK_INT(PARAMS(c, 0, bilateral)->radius, 2);
}

TEST(values_in_order)
{
    struct tg_chain c = parsed("bilateral=4:0.1:5:square:l2:wrap");
    CHECK_NEAR(PARAMS(c, 0, bilateral)->sigma_space, 4, 0);
    CHECK_NEAR(PARAMS(c, 0, bilateral)->sigma_range, 0.1F, 0);
    CHECK_INT(PARAMS(c, 0, bilateral)->radius, 5);
    CHECK_INT(PARAMS(c, 0, bilateral)->window, TG_BILATERAL_SQUARE);
    CHECK_INT(PARAMS(c, 0, bilateral)->distance, TG_BILATERAL_L2);
    CHECK_INT(PARAMS(c, 0, bilateral)->border, TG_WRAP);
    c = parsed("gaussian=2:border=reflect");
    CHECK_NEAR(PARAMS(c, 0, gaussian)->sigma, 2, 0);
    CHECK_INT(PARAMS(c, 0, gaussian)->border, TG_REFLECT);
    REFUSED("invert=0.5:0.5", "invert: '0.5' is one value too many");
    REFUSED("gray=1", "gray: '1' is one value too many");
    REFUSED("gaussian=border=wrap:3", "gaussian: '3' has no key, but comes after one that has");
}

TEST(variants)
{
    struct tg_chain c = parsed("bilateral@reference=4,gaussian@auto=2,invert@reference");
    CHECK_INT(c.node[0].variant, 0);
    CHECK_INT(c.node[1].variant, -1);
    CHECK_INT(c.node[2].variant, 0);
    CHECK_STR(text_of(&c), "bilateral@reference=sigma_space=4,gaussian=sigma=2,invert@reference");
    struct tg_chain bad;
    CHECK_INT(tg_chain_parse(&bad, "invert@warp"), TG_EUSAGE);
    CHECK_HAS(tg_error(), "invert: no variant 'warp' in this program; it has reference");
    for (const struct tg_filter *const *f = tg_filters; *f; f++)
        for (int i = 0; (*f)->variants[i].name; i++) {
            CHECK_INT(tg_variant_find(*f, (*f)->variants[i].name), i);
            CHECK(i > 0 || (*f)->variants[i].where == TG_HOST);
        }
}

TEST(ranges)
{
    REFUSED("bilateral=sigma_range=1.7", "bilateral: sigma_range=1.7 is outside 0..1");
    REFUSED("bilateral=sigma_range=-0.001", "bilateral: sigma_range=-0.001 is outside 0..1");
    REFUSED("bilateral=3:0.1:256", "bilateral: radius=256 is outside 0..255");
    REFUSED("gaussian=radius=-3", "gaussian: radius=-3 is outside 0..1023");
    REFUSED("gaussian=radius=999999", "gaussian: radius=999999 is outside 0..1023");
    REFUSED("gaussian=radius=3.5", "gaussian: radius=3.5 is not a whole number (0..1023)");
    REFUSED("gaussian=radius=abc", "gaussian: radius=abc is not a number (0..1023)");
    REFUSED("gaussian=sigma=", "gaussian: sigma= is not a number (0..340)");
    REFUSED("convolve=divisor=1e7", "convolve: divisor=1e7 is outside -1000000..1000000");
    REFUSED("gaussian=radius=1e300", "gaussian: radius=1e300 is outside 0..1023");
    REFUSED("convolve=flip=2", "convolve: flip=2 is neither 0 nor 1");
    REFUSED("sobel=op=canny", "sobel: op=canny is none of sobel|scharr|prewitt");
    REFUSED("sobel=op=shcarr", "sobel: op=shcarr is none of sobel|scharr|prewitt; did you mean 'scharr'?");
    CHECK_INT(PARAMS(parsed("gaussian=radius=1023"), 0, gaussian)->radius, 1023);
    CHECK_INT(PARAMS(parsed("bilateral=radius=0"), 0, bilateral)->radius, 0);
    CHECK_NEAR(PARAMS(parsed("bilateral=sigma_range=1"), 0, bilateral)->sigma_range, 1, 0);
}

TEST(numbers)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1.5", 1.5}, {"+2", 2}, {".5", 0.5}, {"5.", 5}, {"1e2", 100}, {"2E-1", 0.2}, {"-0", 0}, {"007", 7}};
    static const char *const bad[] = {"",      " ",      "1,5", "1.5x", "0x10",  "inf", "nan",
                                      "1e",    "e1",     "--1", "1 ",   " 1",    "1 2", "infinity",
                                      "1e400", "-1e400", "+",   ".",    "1.2.3", "1d2", "1_0"};
    double v = -1;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK(tg_parse_number(good[i].text, &v));
        CHECK_NEAR(v, good[i].value, 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        v = 77;
        tg_check(!tg_parse_number(bad[i], &v) && v == 77, __FILE__, __LINE__, bad[i]);
    }
    REFUSED("gaussian=sigma='1,5'", "gaussian: sigma=1,5 is not a number (0..340)");
    REFUSED("gaussian=sigma=1.5x", "gaussian: sigma=1.5x is not a number (0..340)");
    REFUSED("gaussian=sigma=0x2", "gaussian: sigma=0x2 is not a number (0..340)");
    REFUSED("gaussian=sigma=inf", "gaussian: sigma=inf is not a number (0..340)");
    REFUSED("gaussian=sigma=nan", "gaussian: sigma=nan is not a number (0..340)");
    REFUSED("gaussian=sigma=1,5", "no filter '5'; 'tileglass list' shows them");
}

TEST(bool_words)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true", "off", "on"};
    for (int i = 0; i < 8; i++) {
        char text[64];
        snprintf(text, sizeof text, "convolve=flip=%s", words[i]);
        CHECK_INT(PARAMS(parsed(text), 0, convolve)->flip, i & 1);
    }
}

TEST(suggestions)
{
    REFUSED("blateral", "no filter 'blateral'; did you mean 'bilateral'?");
    REFUSED("gauss=3", "no filter 'gauss'; did you mean 'gaussian'?");
    REFUSED("sboel", "no filter 'sboel'; did you mean 'sobel'?");
    REFUSED("xyzzy", "no filter 'xyzzy'; 'tileglass list' shows them");
    REFUSED("Invert", "no filter 'Invert'; did you mean 'invert'?");
    REFUSED("bilateral=sigma_spcae=3", "bilateral: no parameter 'sigma_spcae'; did you mean 'sigma_space'?");
    REFUSED("bilateral=qqq=3", "bilateral: no parameter 'qqq'; 'tileglass list bilateral' shows them");
    REFUSED("gray=amount=1", "gray: no parameter 'amount'; it takes none");
    REFUSED("convolve=kernel=sharpn",
            "convolve: kernel: 'sharpn' is no kernel's name, numbers or file; did you mean 'sharpen'?");
    char longest[4000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(!tg_filter_find(longest));
}

TEST(shape_of_text)
{
    REFUSED("invert,", "the chain ends with ','");
    REFUSED(",invert", "a filter's name is missing in the chain");
    REFUSED("invert,,gray", "a filter's name is missing in the chain");
    REFUSED("invert, ", "a filter's name is missing in the chain");
    REFUSED("=3", "a filter's name is missing in the chain");
    REFUSED("gaussian:sigma=3", "gaussian: parameters start with '=', not ':' (gaussian=...)");
    REFUSED("convolve=kernel='1 2 1", "the chain has an open quote: ");
    REFUSED("invert\\", "the chain ends with a lone '\\'");
    char text[40 * 8] = "gray";
    for (int i = 1; i < TG_CHAIN_MAX; i++)
        strcat(text, ",gray");
    CHECK_INT(parsed(text).n, TG_CHAIN_MAX);
    strcat(text, ",gray");
    REFUSED(text, "a chain holds 16 filters at most");
    char *huge = malloc(20000);
    memset(huge, 'a', 19999);
    huge[19999] = 0;
    REFUSED(huge, "a word of the chain is longer than 8191 bytes");
    free(huge);
}

TEST(quotes)
{
    REFUSED("convolve=kernel='1 2;'\\:' 3'", "convolve: kernel: '1 2;: 3' is no kernel's name, numbers or file");
    struct tg_chain c = parsed("convolve=kernel='1, 2, 1; 2 4 2; 1 2 1':flip=1");
    CHECK_INT(PARAMS(c, 0, convolve)->kernel->w, 3);
    CHECK_INT(PARAMS(c, 0, convolve)->flip, 1);
    c = parsed("convolve=kernel=1\\ 2\\,3");
    CHECK_STR(PARAMS(c, 0, convolve)->kernel->text, "1 2,3");
    CHECK_INT(PARAMS(c, 0, convolve)->kernel->w, 3);
    c = parsed("'invert'=amount='0.5'");
    CHECK_NEAR(PARAMS(c, 0, invert)->amount, 0.5, 0);
    c = parsed("convolve=1 2 1");
    CHECK_STR(text_of(&c), "convolve=kernel='1 2 1'");
}

/* ---- text round trip ---- */

static const char *write_file(const char *name, const char *text, size_t n)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", tg_test_dir(), name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
    return path;
}

static void random_param(const struct tg_filter *f, const struct tg_param *r, void *params)
{
    static const char *const kernels[] = {"box", "1", "1 2 1; 2 4 2", "-1,0,1", "0.1 1e-3\n2 3", "identity"};
    char text[1200];
    double t = tg_random() % 8 ? (double)tg_random_unit() : tg_random() % 2;
    switch (r->type) {
    case TG_FLOAT:
        snprintf(text, sizeof text, "%.17g", r->min + t * (r->max - r->min));
        break;
    case TG_INT:
    case TG_BOOL:
        snprintf(text, sizeof text, "%.0f", floor(r->min + t * (r->max - r->min) + 0.5));
        break;
    case TG_CHOICE:
        snprintf(text, sizeof text, "%s", r->choices[tg_random() % (unsigned)((int)r->max + 1)]);
        break;
    case TG_KERNEL:
        if (tg_random() % 4 == 0)
            snprintf(text, sizeof text, "%s", write_file("it's a k=1:2, @x\\.txt", "1 2\n3 4\n", 8));
        else
            snprintf(text, sizeof text, "%s", kernels[tg_random() % 6]);
        break;
    }
    if (tg_param_set(f, r, params, text))
        tg_check(false, __FILE__, __LINE__, tg_error());
}

TEST(round_trip)
{
    int n = 0;
    while (tg_filters[n])
        n++;
    for (int round = 0; round < 2000; round++) {
        struct tg_chain c = {.n = (int)(tg_random() % (TG_CHAIN_MAX + 1))}, back;
        for (int i = 0; i < c.n; i++) {
            struct tg_node *node = &c.node[i];
            const struct tg_filter *f = node->filter = tg_filters[tg_random() % (unsigned)n];
            tg_params_default(f, node->params);
            node->variant = tg_random() % 2 ? -1 : 0;
            for (const struct tg_param *r = f->params; r->key; r++)
                if (tg_random() % 3)
                    random_param(f, r, node->params);
        }
        const char *text = text_of(&c);
        if (tg_chain_parse(&back, text) || memcmp(&back, &c, sizeof c) != 0) {
            tg_check(false, __FILE__, __LINE__, text);
            return;
        }
    }
}

TEST(text_fits_buffer)
{
    struct tg_chain c = parsed("gaussian=sigma=2,invert");
    const char want[] = "gaussian=sigma=2,invert";
    for (size_t size = 0; size < sizeof want + 2; size++) {
        char buf[64];
        memset(buf, '#', sizeof buf);
        CHECK_INT(tg_chain_text(&c, buf, size), sizeof want - 1);
        size_t n = size == 0 ? 0 : size < sizeof want ? size - 1 : sizeof want - 1;
        CHECK(memcmp(buf, want, n) == 0);
        CHECK(size == 0 || buf[n] == 0);
        CHECK_INT(buf[size], '#');
    }
}

TEST(param_texts)
{
    char buf[256];
    const struct tg_param *r = tg_param_find(&bilateral_filter, "sigma_range");
    CHECK_STR(tg_param_range(r, buf, sizeof buf), "0..1");
    struct tg_bilateral p;
    tg_params_default(&bilateral_filter, &p);
    CHECK_STR(tg_param_text(r, &p, buf, sizeof buf), "0.1");
    CHECK_STR(tg_param_range(tg_param_find(&bilateral_filter, "window"), buf, sizeof buf), "disc|square");
    CHECK_STR(tg_param_text(tg_param_find(&bilateral_filter, "window"), &p, buf, sizeof buf), "disc");
    CHECK_STR(tg_param_range(tg_param_find(&bilateral_filter, "radius"), buf, sizeof buf), "0..255");
    CHECK_STR(tg_param_range(tg_param_find(&convolve_filter, "flip"), buf, sizeof buf), "0|1");
    /* Every default lies in its range and is what its own text says. */
    for (const struct tg_filter *const *f = tg_filters; *f; f++) {
        unsigned char def[TG_PARAMS_MAX] __attribute__((aligned(16))), set[TG_PARAMS_MAX] __attribute__((aligned(16)));
        CHECK((*f)->params_size <= TG_PARAMS_MAX);
        tg_params_default(*f, def);
        memset(set, 0, sizeof set);
        for (r = (*f)->params; r->key; r++)
            CHECK_INT(tg_param_set(*f, r, set, tg_param_text(r, def, buf, sizeof buf)), 0);
        CHECK(memcmp(def, set, (*f)->params_size) == 0);
    }
}

/* Numbers are read and written with a point also where the program, or a library, sets a locale with a comma. */
TEST(comma_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "pl_PL.UTF-8", "pl_PL", "fr_FR.UTF-8"};
    const char *got = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !got; i++)
        got = setlocale(LC_ALL, names[i]);
    if (!got) {
        tg_skip("no locale with a decimal comma on this machine");
        return;
    }
    char text[64];
    snprintf(text, sizeof text, "%.1f", 1.5);
    CHECK_STR(text, "1,5");
    struct tg_chain c = parsed("gaussian=sigma=1.5,convolve=kernel='0.5,1.5,0.5'");
    CHECK_NEAR(PARAMS(c, 0, gaussian)->sigma, 1.5, 0);
    CHECK_INT(PARAMS(c, 1, convolve)->kernel->w, 3);
    CHECK_NEAR(PARAMS(c, 1, convolve)->kernel->weights[1], 1.5, 0);
    CHECK_STR(text_of(&c), "gaussian=sigma=1.5,convolve=kernel='0.5,1.5,0.5'");
    REFUSED("gaussian=sigma='1,5'", "gaussian: sigma=1,5 is not a number (0..340)");
    REFUSED("bilateral=sigma_range=1.7", "bilateral: sigma_range=1.7 is outside 0..1");
    setlocale(LC_ALL, "C");
}

/* ---- kernels ---- */

TEST(kernels_by_name)
{
    for (int i = 0; tg_kernel_names[i]; i++) {
        const struct tg_kernel *k = tg_kernel_get(tg_kernel_names[i]);
        CHECK(k != NULL);
        CHECK(k == tg_kernel_get(tg_kernel_names[i]));
        CHECK_STR(k ? k->text : NULL, tg_kernel_names[i]);
    }
    const struct tg_kernel *k = tg_kernel_get("laplacian");
    static const float want[9] = {0, 1, 0, 1, -4, 1, 0, 1, 0};
    CHECK_INT(k->w, 3);
    CHECK_INT(k->h, 3);
    CHECK(memcmp(k->weights, want, sizeof want) == 0);
}

TEST(kernels_in_place)
{
    const struct tg_kernel *k = tg_kernel_get("1 2,3 ; -4.5,5e-1\t+6;");
    CHECK(k != NULL);
    CHECK_INT(k->w, 3);
    CHECK_INT(k->h, 2);
    static const float want[6] = {1, 2, 3, -4.5F, 0.5F, 6};
    CHECK(memcmp(k->weights, want, sizeof want) == 0);
    CHECK(!tg_kernel_get("1 2; 3"));
    CHECK_STR(tg_error(), "kernel, row 2: 1 numbers, but the rows before have 2");
    CHECK(!tg_kernel_get("1 2; 3 4 5"));
    CHECK_STR(tg_error(), "kernel, row 2: more numbers than in the rows before (2)");
    CHECK(!tg_kernel_get("1 2; 3 --4"));
    CHECK_STR(tg_error(), "kernel, line 1: --4 is not a number");
    CHECK(!tg_kernel_get(";;"));
    CHECK_STR(tg_error(), "kernel: no numbers");
    CHECK(!tg_kernel_get("1 1e31"));
    CHECK_STR(tg_error(), "kernel, line 1: 1e31 is not a number");
}

TEST(kernels_from_files)
{
    const char text[] = "# emboss,\r\n# sort of\r\n-2 -1 0 # first\r\n\r\n-1, 1, 1\n0 1 2";
    const struct tg_kernel *k = tg_kernel_get(write_file("a kernel.txt", text, sizeof text - 1));
    static const float want[9] = {-2, -1, 0, -1, 1, 1, 0, 1, 2};
    CHECK(k && k->w == 3 && k->h == 3);
    CHECK(k && memcmp(k->weights, want, sizeof want) == 0);

    char words[1200];
    const char *path = write_file("bad.txt", "1 2 3\n# all right so far\n4 five 6\n", 33);
    CHECK(!tg_kernel_get(path));
    snprintf(words, sizeof words, "%s, line 3: five is not a number", path);
    CHECK_STR(tg_error(), words);
    path = write_file("ragged.txt", "1 2 3\n\n4 5\n", 11);
    CHECK(!tg_kernel_get(path));
    snprintf(words, sizeof words, "%s, row 2: 2 numbers, but the rows before have 3", path);
    CHECK_STR(tg_error(), words);
    path = write_file("empty.txt", "", 0);
    CHECK(!tg_kernel_get(path));
    snprintf(words, sizeof words, "%s: no numbers", path);
    CHECK_STR(tg_error(), words);
    path = write_file("binary.txt", "1 \0 2", 5);
    CHECK(!tg_kernel_get(path));
    snprintf(words, sizeof words, "%s is not rows of numbers", path);
    CHECK_STR(tg_error(), words);
    CHECK(!tg_kernel_get(tg_test_dir()));
    snprintf(words, sizeof words, "%s is no ordinary file", tg_test_dir());
    CHECK_STR(tg_error(), words);
    CHECK(!tg_kernel_get("/nowhere/k.txt"));
    CHECK_STR(tg_error(), "cannot open /nowhere/k.txt: No such file or directory");
    CHECK(!tg_kernel_get(""));
    CHECK_STR(tg_error(), "'' is no kernel's name, numbers or file");

    /* A FIFO has no end to wait for. */
    snprintf(words, sizeof words, "%s/fifo", tg_test_dir());
    CHECK_INT(mkfifo(words, 0600), 0);
    CHECK(!tg_kernel_get(words));
    CHECK_HAS(tg_error(), "is no ordinary file");
}

/* w numbers in each of h rows. */
static char *rows_of(int w, int h)
{
    char *text = malloc((size_t)w * (size_t)h * 2 + 1), *s = text;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            *s++ = '1';
            *s++ = x + 1 < w ? ' ' : '\n';
        }
    *s = 0;
    return text;
}

TEST(kernels_limit)
{
    static const struct {
        int w, h;
        bool fits;
    } sizes[] = {{255, 255, true}, {255, 1, true}, {1, 255, true}, {256, 1, false}, {1, 256, false}, {256, 256, false}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *text = rows_of(sizes[i].w, sizes[i].h);
        const struct tg_kernel *k = tg_kernel_get(text);
        CHECK_INT(k != NULL, sizes[i].fits);
        if (k) {
            CHECK_INT(k->w, sizes[i].w);
            CHECK_INT(k->h, sizes[i].h);
            CHECK_NEAR(k->weights[k->w * k->h - 1], 1, 0);
        } else {
            CHECK_STR(tg_error(), "kernel: larger than 255 x 255");
        }
        free(text);
    }
}

/* ---- borders ---- */

/* One period of each border, written out. */
static int period_of(int n, int border, int *index)
{
    int m = 0;
    for (int i = 0; i < n; i++)
        index[m++] = i;
    if (border == TG_REFLECT101)
        for (int i = n - 2; i > 0; i--)
            index[m++] = i;
    if (border == TG_REFLECT)
        for (int i = n - 1; i >= 0; i--)
            index[m++] = i;
    return m;
}

TEST(fold)
{
    for (int n = 1; n <= 9; n++)
        for (int border = 0; border <= TG_CONSTANT; border++) {
            int index[20], period = period_of(n, border, index);
            for (int i = -50; i <= 50; i++) {
                int want = index[((i % period) + period) % period];
                if (border == TG_REPLICATE)
                    want = i < 0 ? 0 : i >= n ? n - 1 : i;
                if (border == TG_CONSTANT)
                    want = i < 0 || i >= n ? -1 : i;
                CHECK_INT(tg_fold(i, n, border), want);
            }
        }
    CHECK_INT(tg_fold(INT_MIN, 3, TG_WRAP), 1);       /* -2^31 = -715827883 * 3 + 1 */
    CHECK_INT(tg_fold(INT_MAX, 3, TG_WRAP), 1);       /* 2^31 - 1 = 715827882 * 3 + 1 */
    CHECK_INT(tg_fold(INT_MIN, 3, TG_REFLECT101), 0); /* a multiple of 4 */
    CHECK_INT(tg_fold(INT_MIN, 4, TG_REFLECT), 0);    /* a multiple of 8 */
    CHECK_INT(tg_fold(INT_MAX, 4, TG_REFLECT), 0);    /* 7 after a multiple of 8 */
    CHECK_INT(tg_fold(-1, INT_MAX, TG_REFLECT101), 1);
    CHECK_INT(tg_fold(-1, INT_MAX, TG_REFLECT), 0);
    CHECK_INT(tg_fold(INT_MIN, INT_MAX, TG_REFLECT101), INT_MAX - 3); /* 2(n-1) - 2^31 + ... = n - 3 */
    CHECK_INT(tg_fold(INT_MIN, INT_MAX, TG_REPLICATE), 0);
    CHECK_INT(tg_fold(INT_MIN, 1, TG_REFLECT), 0);
}

TESTS(T(empty), T(keys_and_defaults), T(values_in_order), T(variants), T(ranges), T(numbers), T(bool_words),
      T(suggestions), T(shape_of_text), T(quotes), T(round_trip), T(text_fits_buffer), T(param_texts), T(comma_locale),
      T(kernels_by_name), T(kernels_in_place), T(kernels_from_files), T(kernels_limit), T(fold))
