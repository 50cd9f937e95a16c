/* What each filter computes: against the formulas of the headers written anew in double, and against values worked out by
 * hand. That variants agree is not enough, so each of them is held to the same values; CUDA's where there is a card. */
#include "../filters/bilateral.h"
#include "../filters/chain.h"
#include "../filters/convolve.h"
#include "../filters/gaussian.h"
#include "../filters/log.h"
#include "../filters/pack.h"
#include "../filters/sample.h"
#include "../filters/sobel.h"
#include "../kernels/cuda.h"
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BORDERS 5

/* ---- pictures ---- */

static struct tg_image image(int w, int h, int planes, enum tg_depth depth)
{
    struct tg_image im = {.w = w, .h = h, .planes = planes, .depth = depth, .has_alpha = planes == 2 || planes == 4};
    if (tg_image_alloc(&im)) {
        fprintf(stderr, "%s\n", tg_error());
        exit(99);
    }
    return im;
}

static void fill(struct tg_image *im, int plane, float v)
{
    for (int y = 0; y < im->h; y++)
        for (int x = 0; x < im->w; x++)
            tg_put(im, plane, x, y, v);
}

static struct tg_image flat(int w, int h, int planes, enum tg_depth depth, float v)
{
    struct tg_image im = image(w, h, planes, depth);
    for (int c = 0; c < planes; c++)
        fill(&im, c, v);
    return im;
}

static float random_alpha(float full)
{
    uint32_t r = tg_random() % 8;
    return full * (r < 2 ? 0.F : r < 4 ? 1.F : tg_random_unit());
}

/* Noise; in float also what lies outside 0..1 and, where `wild`, what is not finite. */
static struct tg_image noise(int w, int h, int planes, enum tg_depth depth, bool wild)
{
    struct tg_image im = image(w, h, planes, depth);
    const float full = tg_depth_full(depth);
    for (int c = 0; c < planes; c++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float v = depth == TG_F32 ? tg_random_unit() * 1.5F - 0.25F : floorf(tg_random_unit() * (full + 1.F));
                if (c >= tg_image_colors(&im))
                    v = random_alpha(full);
                else if (wild && tg_random() % 16 == 0)
                    v = (float[]){NAN, INFINITY, -INFINITY}[tg_random() % 3];
                tg_put(&im, c, x, y, v);
            }
    return im;
}

/* ---- running ---- */

static struct tg_device *device(void)
{
    static struct tg_device *dev;
    static bool asked;
    if (!asked && tg_cuda_built() && tg_cuda_open(&dev, NULL))
        dev = NULL;
    asked = true;
    return dev;
}

static int run_cuda(const struct tg_variant *v, struct tg_job *job)
{
    struct tg_device *dev = device();
    struct tg_image src = job->src, dst = job->dst;
    struct tg_job on = *job;
    int err = tg_stream_open(dev, &on.stream);
    if (!err)
        err = tg_cuda_image_alloc(dev, &on.src);
    if (!err)
        err = tg_cuda_image_alloc(dev, &on.dst);
    if (!err && v->scratch && v->scratch(&on))
        err = tg_cuda_alloc(dev, &on.scratch, v->scratch(&on));
    if (!err)
        err = tg_cuda_image_copy(&on.src, &src, on.stream);
    if (!err)
        err = v->run(&on);
    if (!err)
        err = tg_cuda_image_copy(&dst, &on.dst, on.stream);
    if (!err)
        err = tg_stream_wait(on.stream);
    tg_cuda_free(dev, on.scratch);
    if (on.dst.where == TG_CUDA)
        tg_cuda_image_free(dev, &on.dst);
    if (on.src.where == TG_CUDA)
        tg_cuda_image_free(dev, &on.src);
    tg_stream_close(on.stream);
    return err;
}

static bool fits(const struct tg_variant *v, const struct tg_job *job)
{
    return (v->where == TG_HOST || device()) && (!v->fits || v->fits(job));
}

static void run(const struct tg_variant *v, struct tg_job *job)
{
    int err;
    if (v->where == TG_CUDA) {
        err = run_cuda(v, job);
    } else {
        size_t bytes = v->scratch ? v->scratch(job) : 0;
        job->scratch = bytes ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
        err = v->run(job);
        free(job->scratch);
    }
    if (err)
        tg_check(false, __FILE__, __LINE__, tg_error());
}

static struct tg_node node_of(const char *text)
{
    struct tg_chain c;
    if (tg_chain_parse(&c, text) || c.n != 1) {
        fprintf(stderr, "%s: %s\n", text, tg_error());
        exit(99);
    }
    return c.node[0];
}

/* What variant v of the filter makes of src; false where it is not for this picture or machine. */
static bool apply(const struct tg_node *node, int v, const struct tg_image *src, struct tg_image *out)
{
    struct tg_job job = {.src = *src, .params = node->params};
    tg_filter_shape(node->filter, node->params, src, &job.dst);
    if (!fits(&node->filter->variants[v], &job))
        return false;
    job.dst = image(job.dst.w, job.dst.h, job.dst.planes, job.dst.depth);
    run(&node->filter->variants[v], &job);
    *out = job.dst;
    return true;
}

/* The block that follows runs once a variant, with the result in `out`. */
#define EACH_VARIANT(text, src, out)                                                 \
    for (struct tg_node node_ = node_of(text), *once_ = &node_; once_; once_ = NULL) \
        for (int v_ = 0; node_.filter->variants[v_].name; v_++)                      \
            for (struct tg_image out = {0}; !out.planes && apply(&node_, v_, src, &out); tg_image_free(&out))

/* Pixel of a plane, with the variant in the message. */
#define PIXEL(out, c, x, y, want, tolerance) pixel(&(out), c, x, y, want, tolerance, &node_, v_, __LINE__)

static void pixel(const struct tg_image *im, int c, int x, int y, double want, double tolerance,
                  const struct tg_node *node, int v, int line)
{
    double got = (double)tg_get(im, c, x, y);
    if (isnan(want) ? isnan(got) : fabs(got - want) <= tolerance)
        return;
    struct tg_chain c1 = {.n = 1, .node = {*node}};
    char text[200], what[300]; /* the beginning is enough */
    c1.node[0].variant = v;
    tg_chain_text(&c1, text, sizeof text);
    snprintf(what, sizeof what, "%s, %s: plane %d (%d,%d)", text, tg_depth_name(im->depth), c, x, y);
    tg_check_near(got, want, tolerance, __FILE__, line, what);
}

#define ALL_PIXELS(out, c, want, tolerance)  \
    for (int y_ = 0; y_ < (out).h; y_++)     \
        for (int x_ = 0; x_ < (out).w; x_++) \
    PIXEL(out, c, x_, y_, want, tolerance)

static const char *text_of(char *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *text_of(char *buf, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, 512, fmt, ap);
    va_end(ap);
    return buf;
}

/* ---- the formulas in double ---- */

static double value(const struct tg_image *im, int c, int x, int y)
{
    return (double)tg_get(im, c, x, y);
}

static double full(const struct tg_image *im)
{
    return im->depth == TG_U8 ? 255 : im->depth == TG_U16 ? 65535 : 1;
}

/* Index inside, step by step; -1 for what is outside. */
static int inside(int i, int n, int border)
{
    while (i < 0 || i >= n)
        switch (border) {
        case TG_REFLECT101:
            i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i;
            break;
        case TG_REFLECT:
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
            break;
        case TG_REPLICATE:
            i = i < 0 ? 0 : n - 1;
            break;
        case TG_WRAP:
            i += i < 0 ? n : -n;
            break;
        default:
            return -1;
        }
    return i;
}

struct tap {
    double v, a;
};

static struct tap tap(const struct tg_image *im, int c, int x, int y, int border)
{
    x = inside(x, im->w, border);
    y = inside(y, im->h, border);
    if (x < 0 || y < 0)
        return (struct tap){0, im->has_alpha ? 0 : 1};
    double v = value(im, c, x, y);
    if (!isfinite(v))
        return (struct tap){0, 0};
    return (struct tap){v, im->has_alpha ? value(im, im->planes - 1, x, y) / full(im) : 1};
}

static double kept(double v)
{
    return isfinite(v) ? v : NAN;
}

static double bilateral_distance(int kind, const double *v, const double *v0, int n)
{
    double l1 = 0, l2 = 0;
    for (int c = 0; c < n; c++) {
        l1 += fabs(v[c] - v0[c]);
        l2 += (v[c] - v0[c]) * (v[c] - v0[c]);
    }
    if (kind == TG_BILATERAL_LUMA && n == 3)
        return fabs(0.2126 * (v[0] - v0[0]) + 0.7152 * (v[1] - v0[1]) + 0.0722 * (v[2] - v0[2]));
    return kind == TG_BILATERAL_L2 ? sqrt(l2) : l1;
}

static double bilateral_at(const struct tg_bilateral *p, const struct tg_image *im, int c, int x, int y)
{
    const int colors = tg_image_colors(im);
    const double ss = (double)p->sigma_space, sr = (double)p->sigma_range * full(im);
    const int radius = p->radius ? p->radius : (int)fmax(1, floor(1.5 * ss + 0.5));
    const int first = p->distance == TG_BILATERAL_SEPARATE ? c : 0,
              n = p->distance == TG_BILATERAL_SEPARATE ? 1 : colors;
    if (c >= colors || ss == 0 || sr == 0)
        return value(im, c, x, y);
    double v0[3], sum = 0, weights = 0;
    bool own = true;
    for (int k = 0; k < n; k++) {
        v0[k] = value(im, first + k, x, y);
        own = own && isfinite(v0[k]);
    }
    for (int j = -radius; j <= radius; j++)
        for (int i = -radius; i <= radius; i++) {
            if (p->window == TG_BILATERAL_DISC && hypot(i, j) > radius + 1e-9)
                continue;
            double v[3], a = 1;
            for (int k = 0; k < n; k++) {
                struct tap t = tap(im, first + k, x + i, y + j, p->border);
                v[k] = t.v;
                a = fmin(a, t.a);
            }
            double w = a * exp(-(i * i + j * j) / (2 * ss * ss));
            if (own)
                w *= exp(-pow(bilateral_distance(p->distance, v, v0, n), 2) / (2 * sr * sr));
            sum += w * v[c - first];
            weights += w;
        }
    return weights < 1e-20 ? kept(value(im, c, x, y)) : sum / weights;
}

static double convolve_at(const struct tg_convolve *p, const struct tg_image *im, int c, int x, int y)
{
    const struct tg_kernel *k = p->kernel;
    const int ax = p->flip ? k->w - 1 - k->w / 2 : k->w / 2, ay = p->flip ? k->h - 1 - k->h / 2 : k->h / 2;
    const bool is_alpha = im->has_alpha && c == im->planes - 1;
    double total = 0, size = 0, sum = 0, weights = 0, own = value(im, c, x, y);
    bool average = true;
    for (int i = 0; i < k->w * k->h; i++) {
        total += (double)k->weights[i];
        size += fabs((double)k->weights[i]);
        average = average && k->weights[i] >= 0;
    }
    average = average && total > 0;
    const double divisor = p->divisor != 0 ? (double)p->divisor : fabs(total) < 1e-6 * fmax(1, size) ? 1 : total;
    for (int j = 0; j < k->h; j++)
        for (int i = 0; i < k->w; i++) {
            int at = j * k->w + i;
            double w = (double)k->weights[p->flip ? k->w * k->h - 1 - at : at];
            struct tap t = tap(im, c, x + i - ax, y + j - ay, p->border);
            sum += average ? w * t.a * t.v : w * (own + t.a * (t.v - own));
            weights += w * t.a;
        }
    if (is_alpha)
        return average ? weights / divisor * full(im) : own;
    double v;
    if (average && weights / total < 1e-20)
        return kept(own);
    if (average)
        v = sum / weights * total / divisor;
    else
        v = isfinite(own) ? sum / divisor : NAN;
    v += (double)p->bias * full(im);
    return p->negative == TG_NEGATIVE_ABS ? fabs(v) : p->negative == TG_NEGATIVE_OFFSET ? v + full(im) / 2 : v;
}

static double gaussian_at(const struct tg_gaussian *p, const struct tg_image *im, int c, int x, int y)
{
    const double sigma = (double)p->sigma;
    const int radius = p->radius ? p->radius : ((int)floor(6 * sigma + 1.5) | 1) / 2;
    const bool is_alpha = im->has_alpha && c == im->planes - 1;
    double sum = 0, weights = 0, all = 0;
    if (sigma == 0)
        return value(im, c, x, y);
    for (int j = -radius; j <= radius; j++)
        for (int i = -radius; i <= radius; i++) {
            double w = exp(-(i * i + j * j) / (2 * sigma * sigma));
            struct tap t = tap(im, c, x + i, y + j, p->border);
            sum += w * t.a * t.v;
            weights += w * t.a;
            all += w;
        }
    if (is_alpha)
        return weights / all * full(im);
    return weights / all < 1e-20 ? kept(value(im, c, x, y)) : sum / weights;
}

static double sobel_at(const struct tg_sobel *p, const struct tg_image *im, int c, int x, int y)
{
    static const double taps[3][3] = {{1, 2, 1}, {3, 10, 3}, {1, 1, 1}};
    const double own = value(im, c, x, y);
    double gx = 0, gy = 0;
    if (im->has_alpha && c == im->planes - 1)
        return own;
    if (!isfinite(own))
        return NAN;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            struct tap t = tap(im, c, x + i, y + j, p->border);
            gx += i * taps[p->op][j + 1] * t.a * (t.v - own);
            gy += j * taps[p->op][i + 1] * t.a * (t.v - own);
        }
    return (double)p->scale * (p->norm == TG_SOBEL_L1 ? fabs(gx) + fabs(gy) : sqrt(gx * gx + gy * gy));
}

static double gray_at(const struct tg_image *im, int c, int x, int y)
{
    if (c == 1)
        return value(im, im->planes - 1, x, y);
    if (tg_image_colors(im) == 1)
        return value(im, 0, x, y);
    return 0.2126 * value(im, 0, x, y) + 0.7152 * value(im, 1, x, y) + 0.0722 * value(im, 2, x, y);
}

static double invert_at(float amount, const struct tg_image *im, int c, int x, int y)
{
    double v = value(im, c, x, y), a = (double)amount;
    return im->has_alpha && c == im->planes - 1 ? v : (1 - a) * v + a * (full(im) - v);
}

static double formula(const struct tg_node *node, const struct tg_image *im, int c, int x, int y)
{
    const void *p = node->params;
    const char *name = node->filter->name;
    if (strcmp(name, "bilateral") == 0)
        return bilateral_at(p, im, c, x, y);
    if (strcmp(name, "convolve") == 0)
        return convolve_at(p, im, c, x, y);
    if (strcmp(name, "gaussian") == 0)
        return gaussian_at(p, im, c, x, y);
    if (strcmp(name, "sobel") == 0)
        return sobel_at(p, im, c, x, y);
    if (strcmp(name, "gray") == 0)
        return gray_at(im, c, x, y);
    float amount;
    memcpy(&amount, p, sizeof amount);
    return invert_at(amount, im, c, x, y);
}

/* What float arithmetic, rounded once, may differ by: the definition nearly nothing, the fast rows less than shows. */
static double slack(enum tg_depth depth, int variant)
{
    if (depth == TG_F32)
        return variant ? 0x1p-15 : 4e-6;
    return 0.5 + (variant ? 0.02 : 0.002) * (depth == TG_U16 ? 64 : 1);
}

/* Every variant against the formula. */
static void against_formula(const char *text, const struct tg_image *src)
{
    double *want = NULL;
    int planes = 0;
    EACH_VARIANT(text, src, out)
    {
        if (!want) {
            planes = out.planes;
            want = malloc(sizeof *want * (size_t)planes * (size_t)src->w * (size_t)src->h);
            for (int c = 0, i = 0; c < planes; c++)
                for (int y = 0; y < src->h; y++)
                    for (int x = 0; x < src->w; x++, i++) {
                        double v = formula(&node_, src, c, x, y);
                        want[i] = src->depth == TG_F32 ? v : fmin(fmax(v, 0), full(src));
                    }
        }
        for (int c = 0, i = 0; c < planes; c++)
            for (int y = 0; y < src->h; y++)
                for (int x = 0; x < src->w; x++, i++)
                    if (!isinf(want[i]) || want[i] != value(&out, c, x, y))
                        PIXEL(out, c, x, y, want[i],
                              slack(src->depth, v_) * (src->depth == TG_F32 ? fmax(1, fabs(want[i])) : 1));
    }
    free(want);
}

static const char *pick(const char *const *of, unsigned n)
{
    return of[tg_random() % n];
}
#define PICK(...) pick((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define BORDER    tg_border_names[tg_random() % BORDERS]

/* A few dozen random pictures and parameters, each depth, plane count and border among them. */
#define AGAINST_FORMULA(times, ...)                                                                \
    for (int i_ = 0; i_ < (times); i_++) {                                                         \
        char text_[512];                                                                           \
        static const int sides_[] = {1, 2, 3, 5, 8, 17, 33};                                       \
        struct tg_image src_ = noise(sides_[tg_random() % 7], sides_[tg_random() % 7], 1 + i_ % 4, \
                                     (enum tg_depth)(i_ / 4 % 3), i_ % 8 >= 4);                    \
        against_formula(text_of(text_, __VA_ARGS__), &src_);                                       \
        tg_image_free(&src_);                                                                      \
    }

TEST(bilateral_formula){AGAINST_FORMULA(96, "bilateral=%.4f:%.4f:%d:%s:%s:%s", 0.3 + 4 * (double)tg_random_unit(),
                                        0.02 + 0.6 * (double)tg_random_unit(), (int)(tg_random() % 8),
                                        PICK("disc", "square"), PICK("l1", "l2", "luma", "separate"), BORDER)}

TEST(convolve_formula){
    AGAINST_FORMULA(192, "convolve='%s':%s:%s:%s:%d:%s",
                    PICK("box", "gaussian", "sharpen", "emboss", "laplacian", "identity", "1 2 3; 4 5 6; 7 8 9", "1 1",
                         "1; 2", "1 2; 3 4", "0.5 -1 0.25 3", "1 2 3 4 5 6 7 8 9 10 11", "-1 0 1; -2 0 2; -1 0 1", "-1",
                         "0", "1 0 0 0 0 0 1; 0 0 0 0 0 0 0; 0 0 1 2 1 0 0; 0 0 0 0 0 0 0; 1 0 0 0 0 0 1"),
                    PICK("0", "1", "2.5", "-3", "17"), PICK("0", "0.1", "-0.25"), PICK("clamp", "abs", "offset"),
                    (int)(tg_random() % 2), BORDER)}

TEST(gaussian_formula){AGAINST_FORMULA(96, "gaussian=%.4f:%d:%s", 0.2 + 3 * (double)tg_random_unit(),
                                       tg_random() % 2 ? 0 : (int)(tg_random() % 12), BORDER)}

TEST(sobel_formula){AGAINST_FORMULA(96, "sobel=%s:%s:%.4f:%s", PICK("sobel", "scharr", "prewitt"), PICK("l1", "l2"),
                                    2 * (double)tg_random_unit(), BORDER)}

TEST(gray_formula){AGAINST_FORMULA(24, "gray")}

TEST(invert_formula){AGAINST_FORMULA(48, "invert=%s", PICK("0", "1", "0.25", "0.7"))}

/* ---- worked values ---- */

/* What is not a number weighs nothing; a window of nothing else gives NaN. */
TEST(not_a_number)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    char text[512];
    for (int b = 0; b < BORDERS; b++)
        for (int i = 0; i < 3; i++) {
            struct tg_image one = flat(7, 7, 1, TG_F32, 0.5F), all = flat(7, 7, 1, TG_F32, bad[i]);
            tg_put(&one, 0, 3, 3, bad[i]);
            static const char *const smooth[] = {"bilateral=radius=3", "gaussian=sigma=1:radius=3",
                                                 "convolve=kernel=box"};
            for (int f = 0; f < 3; f++) {
                EACH_VARIANT(text_of(text, "%s:border=%s", smooth[f], tg_border_names[b]), &one, out)
                for (int y = 0; y < 7; y++)
                    for (int x = 0; x < 7; x++)
                        if (b != TG_CONSTANT || (x == 3 && y == 3)) /* there black comes in from outside */
                            PIXEL(out, 0, x, y, 0.5, 1e-6);
                if (b != TG_CONSTANT)
                    EACH_VARIANT(text_of(text, "%s:border=%s", smooth[f], tg_border_names[b]), &all, out)
                ALL_PIXELS(out, 0, (double)NAN, 0);
            }
            if (b != TG_CONSTANT)
                EACH_VARIANT(text_of(text, "sobel=border=%s", tg_border_names[b]), &one, out)
            for (int y = 0; y < 7; y++)
                for (int x = 0; x < 7; x++)
                    PIXEL(out, 0, x, y, x == 3 && y == 3 ? (double)NAN : 0, 0);
            tg_image_free(&one);
            tg_image_free(&all);
        }
}

/* Sigma 0 is the input, bit for bit, and what lies near 0 lies near it. */
TEST(sigma_zero)
{
    static const char *const zero[] = {"bilateral=sigma_range=0", "bilateral=sigma_space=0", "gaussian=sigma=0",
                                       "gaussian=sigma=0:radius=5", "bilateral=sigma_space=0:sigma_range=0:radius=3"};
    for (enum tg_depth d = TG_U8; d <= TG_F32; d++)
        for (int planes = 1; planes <= 4; planes++) {
            struct tg_image src = noise(8, 8, planes, d, true);
            for (int i = 0; i < 5; i++)
                EACH_VARIANT(zero[i], &src, out)
            for (int c = 0; c < planes; c++)
                for (int y = 0; y < 8; y++)
                    CHECK(memcmp(tg_image_row(&out, c, y), tg_image_row(&src, c, y), 8 * tg_depth_bytes(d)) == 0);
            tg_image_free(&src);
        }
    struct tg_image src = noise(8, 8, 1, TG_U8, false);
    static const char *const near[] = {"bilateral=sigma_range=0.001", "bilateral=sigma_space=0.001",
                                       "gaussian=sigma=0.001",        "bilateral=sigma_range=1e-30",
                                       "bilateral=sigma_space=1e-30", "gaussian=sigma=1e-30"};
    for (int i = 0; i < 6; i++)
        EACH_VARIANT(near[i], &src, out)
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            PIXEL(out, 0, x, y, value(&src, 0, x, y), i ? 0 : 1);
    tg_image_free(&src);
    /* Continuous in between: a hundredth more sigma never moves float noise by a hundredth. */
    src = noise(8, 8, 1, TG_F32, false);
    for (double s = 0.001; s <= 1 / 1.01; s *= 1.3) {
        char a[512], b[512];
        text_of(a, "bilateral=sigma_range=%.6f", s);
        text_of(b, "bilateral=sigma_range=%.6f", s * 1.01);
        struct tg_node other = node_of(b);
        EACH_VARIANT(a, &src, out)
        {
            struct tg_image next;
            CHECK(apply(&other, v_, &src, &next));
            for (int y = 0; y < 8; y++)
                for (int x = 0; x < 8; x++)
                    PIXEL(out, 0, x, y, value(&next, 0, x, y), 0.015);
            tg_image_free(&next);
        }
    }
    tg_image_free(&src);
}

TEST(radius_larger_than_picture)
{
    static const int sizes[][2] = {{1, 1}, {1, 5}, {5, 1}, {3, 3}};
    char ones[31 * 2 * 31 + 1] = "", text[4096];
    for (int y = 0; y < 31; y++)
        for (int x = 0; x < 31; x++)
            strcat(ones, x < 30 ? "1 " : "1;");
    for (int i = 0; i < 4; i++)
        for (int b = 0; b < BORDERS; b++)
            for (int planes = 1; planes <= 4; planes++) {
                struct tg_image src = noise(sizes[i][0], sizes[i][1], planes, (enum tg_depth)(planes % 3), false);
                const char *const filters[] = {"bilateral=radius=15", "bilateral=radius=15:window=square",
                                               "gaussian=radius=15", "convolve=kernel='%s'"};
                for (int f = 0; f < 4; f++) {
                    int n = snprintf(text, sizeof text, f == 3 ? "convolve=kernel='%s'" : "%s",
                                     f == 3 ? ones : filters[f]);
                    snprintf(text + n, sizeof text - (size_t)n, ":border=%s", tg_border_names[b]);
                    against_formula(text, &src);
                    if (i == 0 && b != TG_CONSTANT)
                        EACH_VARIANT(text, &src, out)
                    for (int c = 0; c < planes; c++)
                        PIXEL(out, c, 0, 0, value(&src, c, 0, 0), slack(src.depth, v_));
                }
                tg_image_free(&src);
            }
}

TEST(even_kernel_anchor)
{
    for (int flip = 0; flip < 2; flip++)
        for (int down = 0; down < 2; down++) {
            struct tg_image src = flat(down ? 1 : 12, down ? 12 : 1, 1, TG_U8, 0.F);
            tg_put(&src, 0, down ? 0 : 5, down ? 5 : 0, 100.F);
            char text[512];
            EACH_VARIANT(text_of(text, "convolve=kernel='%s':flip=%d", down ? "1;1" : "1 1", flip), &src, out)
            for (int i = 0; i < 12; i++)
                PIXEL(out, 0, down ? 0 : i, down ? i : 0,
                      flip               ? (i == 4 || i == 5 ? 50 : 0)
                      : i == 5 || i == 6 ? 50
                                         : 0,
                      0);
            tg_image_free(&src);
        }
}

TEST(correlation_and_convolution)
{
    for (enum tg_depth d = TG_U8; d <= TG_F32; d++)
        for (int flip = 0; flip < 2; flip++) {
            struct tg_image src = flat(7, 7, 1, d, 0.F);
            tg_put(&src, 0, 3, 3, 1.F);
            char text[512];
            EACH_VARIANT(text_of(text, "convolve=kernel='1 2 3; 4 5 6; 7 8 9':divisor=1:flip=%d", flip), &src, out)
            for (int y = 0; y < 7; y++)
                for (int x = 0; x < 7; x++) {
                    int n = (y - 2) * 3 + x - 2; /* 0..8 around the impulse */
                    bool near = x >= 2 && x <= 4 && y >= 2 && y <= 4;
                    PIXEL(out, 0, x, y, near ? (flip ? 1 + n : 9 - n) : 0, 0);
                }
            tg_image_free(&src);
        }
}

TEST(kernels_of_sum_zero)
{
    static const char *const kernels[] = {"laplacian", "-1 0 1; -2 0 2; -1 0 1", "1 -1 1e-9"};
    for (int i = 0; i < 3; i++)
        for (int b = 0; b < BORDERS - 1; b++) {
            struct tg_image src = flat(9, 6, 1, TG_U8, 100.F);
            char text[512];
            struct tg_node node = node_of(text_of(text, "convolve=kernel='%s'", kernels[i]));
            struct tg_convolve_plan plan;
            tg_convolve_plan((const struct tg_convolve *)(const void *)node.params, &plan);
            CHECK_NEAR(plan.scale, 1, 0);
            EACH_VARIANT(text_of(text, "convolve=kernel='%s':border=%s", kernels[i], tg_border_names[b]), &src, out)
            ALL_PIXELS(out, 0, 0, 0);
            EACH_VARIANT(text_of(text, "convolve=kernel='%s':bias=0.2:border=%s", kernels[i], tg_border_names[b]), &src,
                         out)
            ALL_PIXELS(out, 0, 51, 0);
            tg_image_free(&src);
        }
}

TEST(negative_results)
{
    struct tg_image src = flat(8, 2, 1, TG_U8, 0.F);
    for (int x = 0; x < 8; x++)
        tg_put(&src, 0, x, x < 4, 255.F); /* row 0 rises, row 1 falls */
    for (int mode = 0; mode < 3; mode++) {
        char text[512];
        EACH_VARIANT(
            text_of(text, "convolve=kernel='-1 0 1':negative=%s", (const char *[]){"clamp", "abs", "offset"}[mode]),
            &src, out)
        for (int x = 0; x < 8; x++) {
            bool edge = x == 3 || x == 4;
            PIXEL(out, 0, x, 0, edge ? 255 : mode == 2 ? 128 : 0, 0);
            PIXEL(out, 0, x, 1, edge ? (mode == 1 ? 255 : 0) : mode == 2 ? 128 : 0, 0);
        }
    }
    tg_image_free(&src);
}

TEST(results_saturate)
{
    for (int i = 0; i < 2; i++) {
        float v = i ? 255.F : 64.F;
        struct tg_image src = flat(5, 5, 1, TG_U8, 0.F);
        tg_put(&src, 0, 2, 2, v);
        EACH_VARIANT("convolve=kernel=laplacian:negative=abs", &src, out)
        {
            PIXEL(out, 0, 2, 2, 255, 0); /* 256 and 1020 */
            PIXEL(out, 0, 1, 2, (double)v, 0);
            PIXEL(out, 0, 1, 1, 0, 0);
        }
        tg_image_free(&src);
    }
    /* White stays white whatever its alpha. */
    static const char *const filters[] = {"convolve=kernel=box", "convolve=kernel=gaussian", "gaussian=sigma=2",
                                          "bilateral", "convolve=kernel=sharpen"};
    for (enum tg_depth d = TG_U8; d <= TG_U16; d++)
        for (int f = 0; f < 5; f++) {
            struct tg_image src = noise(20, 20, 4, d, false);
            for (int c = 0; c < 3; c++)
                fill(&src, c, tg_depth_full(d));
            EACH_VARIANT(filters[f], &src, out)
            for (int c = 0; c < 3; c++)
                ALL_PIXELS(out, c, full(&src), 0);
            tg_image_free(&src);
        }
}

TEST(constants_stay)
{
    static const char *const filters[] = {"convolve=kernel=box", "convolve=kernel=gaussian", "gaussian", "bilateral",
                                          "convolve=kernel=sharpen"};
    for (int f = 0; f < 5; f++)
        for (int v = 0; v < 256; v += f == 3 ? 15 : 5) {
            struct tg_image src = flat(20, 3, 3, TG_U8, (float)v);
            EACH_VARIANT(filters[f], &src, out)
            ALL_PIXELS(out, v % 3, v, 0);
            tg_image_free(&src);
        }
}

/* Fifty passes neither darken nor brighten. */
TEST(passes_keep_mean)
{
    struct tg_node box = node_of("convolve=kernel=box:border=reflect");
    for (int v = 0; box.filter->variants[v].name; v++)
        for (int i = 0; i < 4; i++) {
            static const float constants[] = {7.F, 128.F, 255.F};
            struct tg_image im = i < 3 ? flat(33, 17, 1, TG_U8, constants[i]) : noise(512, 512, 1, TG_U8, false), next;
            double before = 0, after = 0;
            for (int y = 0; y < im.h; y++)
                for (int x = 0; x < im.w; x++)
                    before += value(&im, 0, x, y);
            for (int pass = 0; pass < 50 && apply(&box, v, &im, &next); pass++) {
                tg_image_free(&im);
                im = next;
            }
            for (int y = 0; y < im.h; y++)
                for (int x = 0; x < im.w; x++) {
                    after += value(&im, 0, x, y);
                    if (i < 3)
                        CHECK_NEAR(tg_get(&im, 0, x, y), constants[i], 0);
                }
            CHECK_NEAR(after / im.w / im.h, before / im.w / im.h, 50 * 0.02);
            tg_image_free(&im);
        }
}

/* Sigma is a fraction of full scale: 8 bits and the same picture in 16 give the same. */
TEST(depths_agree)
{
    struct tg_image a = noise(40, 30, 3, TG_U8, false), b = image(40, 30, 3, TG_U16);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 30; y++)
            for (int x = 0; x < 40; x++) {
                float v = floorf(tg_get(&a, c, x, y) / 8.F) + 100.F; /* soft enough for the filter to act */
                tg_put(&a, c, x, y, v);
                tg_put(&b, c, x, y, 257.F * v);
            }
    static const char *const filters[] = {
        "bilateral=sigma_range=0.0392157", "gaussian", "convolve=kernel=box", "sobel", "invert=amount=0.3", "gray"};
    for (int f = 0; f < 6; f++) {
        struct tg_node node = node_of(filters[f]);
        EACH_VARIANT(filters[f], &a, out)
        {
            struct tg_image wide;
            CHECK(apply(&node, v_, &b, &wide));
            for (int c = 0; c < out.planes; c++)
                for (int y = 0; y < 30; y++)
                    for (int x = 0; x < 40; x++)
                        PIXEL(out, c, x, y, value(&wide, c, x, y) / 257, 0.51);
            if (f == 0)
                CHECK(value(&out, 0, 20, 20) != value(&a, 0, 20, 20) || value(&out, 0, 21, 20) != value(&a, 0, 21, 20));
            tg_image_free(&wide);
        }
    }
    tg_image_free(&a);
    tg_image_free(&b);
}

/* The colour of what is transparent does not bleed. */
TEST(transparent_colour)
{
    struct tg_image src = flat(5, 5, 4, TG_U8, 0.F);
    fill(&src, 0, 255.F);
    for (int c = 0; c < 4; c++)
        tg_put(&src, c, 2, 2, 255.F);
    EACH_VARIANT("convolve=kernel=box", &src, out)
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++) {
            bool near = x >= 1 && x <= 3 && y >= 1 && y <= 3;
            PIXEL(out, 3, x, y, near ? 28 : 0, 0);
            PIXEL(out, 0, x, y, 255, 0);
            PIXEL(out, 1, x, y, near ? 255 : 0, 0);
            PIXEL(out, 2, x, y, near ? 255 : 0, 0);
        }
    EACH_VARIANT("gaussian=sigma=1", &src, out)
    for (int c = 0; c < 3; c++)
        ALL_PIXELS(out, c, 255, 0);
    EACH_VARIANT("bilateral=sigma_range=1", &src, out)
    {
        for (int c = 0; c < 3; c++)
            ALL_PIXELS(out, c, 255, 0);
        for (int i = 0; i < 25; i++)
            PIXEL(out, 3, i % 5, i / 5, i == 12 ? 255 : 0, 0);
    }
    EACH_VARIANT("sobel", &src, out) /* nor does it make an edge */
    for (int c = 0; c < 3; c++)
        PIXEL(out, c, 2, 2, 0, 0);
    tg_image_free(&src);
}

/* Half of the light of a checkerboard is 127.5 of the values as coded, and 188 in linear light. */
TEST(linear_light)
{
    enum { N = 64 };
    uint8_t pixels[N * N], back[N * N];
    for (int i = 0; i < N * N; i++)
        pixels[i] = (i + i / N) % 2 ? 255 : 0;
    for (int linear = 0; linear < 2; linear++) {
        struct tg_frame in = {pixels, N, N, 1, N, TG_U8}, result = {back, N, N, 1, N, TG_U8};
        struct tg_image src = image(N, N, 1, linear ? TG_F32 : TG_U8);
        tg_unpack(&in, 0, N, 1, linear, &src);
        EACH_VARIANT("gaussian=sigma=8", &src, out)
        {
            tg_pack(&out, 0, linear, &result);
            for (int i = 0; i < N * N; i++)
                if (linear)
                    CHECK_INT(back[i], 188);
                else
                    CHECK_NEAR(back[i], 127.5, 0.5);
        }
        tg_image_free(&src);
    }
}

/* Which borders keep the sum of a row under a 3-tap mean. */
TEST(sums_at_borders)
{
    static const double want[BORDERS][2] = {{140, 280}, {210, 210}, {210, 210}, {210, 210}, {140, 210}};
    for (int b = 0; b < BORDERS; b++)
        for (int at = 0; at < 2; at++) {
            struct tg_image src = flat(8, 1, 1, TG_F32, 0.F);
            tg_put(&src, 0, at, 0, 210.F);
            char text[512];
            EACH_VARIANT(text_of(text, "convolve=kernel='1 1 1':border=%s", tg_border_names[b]), &src, out)
            {
                double sum = 0;
                for (int x = 0; x < 8; x++)
                    sum += value(&out, 0, x, 0);
                CHECK_NEAR(sum, want[b][at], 1e-4);
            }
            tg_image_free(&src);
        }
}

TEST(bilateral_distance_and_window)
{
    static const struct {
        const char *window, *distance;
        int want[3];
    } cases[] = {{"square", "l2", {107, 109, 100}},
                 {"square", "l1", {105, 106, 100}},
                 {"disc", "l2", {104, 105, 100}},
                 {"disc", "l1", {103, 103, 100}}};
    struct tg_image src = flat(8, 8, 3, TG_U8, 100.F);
    for (int y = 0; y < 8; y++)
        for (int x = 4; x < 8; x++) {
            tg_put(&src, 0, x, y, 130.F);
            tg_put(&src, 1, x, y, 140.F);
        }
    for (int i = 0; i < 4; i++) {
        char text[512];
        EACH_VARIANT(text_of(text, "bilateral=170:0.1960784:1:%s:%s", cases[i].window, cases[i].distance), &src, out)
        for (int y = 0; y < 8; y++)
            for (int c = 0; c < 3; c++)
                PIXEL(out, c, 3, y, cases[i].want[c], 0);
    }
    tg_image_free(&src);
}

/* OpenCV rounds ties to even: the default sigma 3 has radius 4. */
TEST(bilateral_radius)
{
    static const struct {
        float sigma;
        int radius, want;
    } cases[] = {{3.F, 0, 4}, {5.F, 0, 8}, {0.1F, 0, 1}, {1.F, 0, 2}, {2.F, 0, 3}, {170.F, 0, 255}, {3.F, 9, 9}};
    for (int i = 0; i < 7; i++) {
        struct tg_bilateral p = {.sigma_space = cases[i].sigma, .radius = cases[i].radius};
        CHECK_INT(tg_bilateral_radius(&p), cases[i].want);
    }
}

/* An upright step is a line through every row, the first and the last too. */
TEST(edge_in_every_row)
{
    struct tg_image src = flat(32, 32, 1, TG_U8, 0.F);
    for (int y = 0; y < 32; y++)
        for (int x = 16; x < 32; x++)
            tg_put(&src, 0, x, y, 50.F);
    for (int b = 0; b < BORDERS - 1; b++) {
        char text[512];
        EACH_VARIANT(text_of(text, "sobel=border=%s", tg_border_names[b]), &src, out)
        for (int y = 0; y < 32; y++)
            for (int x = 0; x < 32; x++) {
                bool edge = x == 15 || x == 16 || (b == TG_WRAP && (x == 0 || x == 31));
                PIXEL(out, 0, x, y, edge ? 200 : 0, 0);
            }
    }
    EACH_VARIANT("sobel=border=constant", &src, out)
    for (int y = 0; y < 32; y++)
        CHECK(value(&out, 0, 15, y) >= 150);
    tg_image_free(&src);
}

TEST(sobel_by_hand)
{
    static const struct {
        const char *op;
        double gx, gy, corner_x, corner_y; /* in the middle; in the upper left corner, edge repeated */
    } cases[] = {{"sobel", 8, 24, 4, 12}, {"scharr", 32, 96, 16, 48}, {"prewitt", 6, 18, 3, 9}};
    for (enum tg_depth d = TG_U8; d <= TG_F32; d++) {
        struct tg_image src = image(3, 3, 1, d);
        double tolerance = d == TG_F32 ? 1e-4 : 0.5;
        for (int i = 0; i < 9; i++)
            tg_put(&src, 0, i % 3, i / 3, (float)(i + 1));
        for (int i = 0; i < 3; i++) {
            char text[512];
            EACH_VARIANT(text_of(text, "sobel=%s:l2:border=replicate", cases[i].op), &src, out)
            {
                PIXEL(out, 0, 1, 1, hypot(cases[i].gx, cases[i].gy), tolerance);
                PIXEL(out, 0, 0, 0, hypot(cases[i].corner_x, cases[i].corner_y), tolerance);
            }
            EACH_VARIANT(text_of(text, "sobel=%s:l1:0.5:replicate", cases[i].op), &src, out)
            {
                PIXEL(out, 0, 1, 1, (cases[i].gx + cases[i].gy) / 2, tolerance);
                PIXEL(out, 0, 0, 0, (cases[i].corner_x + cases[i].corner_y) / 2, tolerance);
            }
            EACH_VARIANT(text_of(text, "sobel=%s", cases[i].op), &src, out)
            PIXEL(out, 0, 0, 0, 0, 0); /* mirrored without repeat: left and right, above and below are alike */
        }
        tg_image_free(&src);
    }
}

TEST(gray_by_hand)
{
    static const struct {
        float rgb[3];
        int want;
    } cases[] = {
        {{255, 0, 0}, 54}, {{0, 255, 0}, 182}, {{0, 0, 255}, 18}, {{255, 255, 255}, 255}, {{10, 200, 30}, 147}};
    for (int i = 0; i < 5; i++) {
        struct tg_image src = image(5, 1, 4, TG_U8);
        for (int c = 0; c < 3; c++)
            fill(&src, c, cases[i].rgb[c]);
        fill(&src, 3, 77.F);
        EACH_VARIANT("gray", &src, out)
        {
            CHECK_INT(out.planes, 2);
            ALL_PIXELS(out, 0, cases[i].want, 0);
            ALL_PIXELS(out, 1, 77, 0);
        }
        tg_image_free(&src);
    }
    /* Gray stays what it was: the weights sum to 1, rounded once. */
    for (enum tg_depth d = TG_U8; d <= TG_U16; d++) {
        struct tg_image src = image(256, d == TG_U8 ? 1 : 256, 3, d);
        for (int c = 0; c < 3; c++)
            for (int y = 0; y < src.h; y++)
                for (int x = 0; x < 256; x++)
                    tg_put(&src, c, x, y, (float)(256 * y + x));
        EACH_VARIANT("gray", &src, out)
        ALL_PIXELS(out, 0, 256 * y_ + x_, 0);
        tg_image_free(&src);
    }
}

TEST(gaussian_impulse)
{
    static const double sigmas[] = {0.3, 0.5, 0.8, 1, 2};
    for (int i = 0; i < 5; i++)
        for (enum tg_depth d = TG_U8; d <= TG_F32; d++) {
            struct tg_image src = flat(33, 33, 1, d, 0.F);
            tg_put(&src, 0, 16, 16, tg_depth_full(d));
            double one = 0, s = 2 * sigmas[i] * sigmas[i];
            for (int k = -40; k <= 40; k++)
                one += exp(-k * k / s);
            char text[512];
            EACH_VARIANT(text_of(text, "gaussian=sigma=%g", sigmas[i]), &src, out)
            for (int y = 0; y < 33; y++)
                for (int x = 0; x < 33; x++) {
                    double r2 = (x - 16) * (x - 16) + (y - 16) * (y - 16);
                    PIXEL(out, 0, x, y, full(&src) * exp(-r2 / s) / (one * one), full(&src) / 255);
                }
            tg_image_free(&src);
        }
}

TEST(gaussian_weights)
{
    /* OpenCV's getGaussianKernel size for 8-bit pictures: round(6 sigma + 1) made odd. */
    static const struct {
        float sigma;
        int radius;
    } rule[] = {{0.3F, 1}, {0.5F, 2}, {0.8F, 3},  {1.F, 3},      {1.5F, 5},
                {2.F, 6},  {3.F, 9},  {10.F, 30}, {340.F, 1020}, {0.F, 0}};
    for (int i = 0; i < 10; i++)
        for (int radius = 0; radius < 2000; radius += radius < 20 ? 1 : 97) {
            struct tg_gaussian p = {.sigma = rule[i].sigma, .radius = radius};
            int r = tg_gaussian_radius(&p);
            if (radius == 0 || rule[i].sigma <= 0.F)
                CHECK_INT(r, rule[i].radius);
            else
                CHECK_INT(r, radius < TG_GAUSSIAN_RADIUS ? radius : TG_GAUSSIAN_RADIUS);
            float w[TG_GAUSSIAN_RADIUS + 1];
            tg_gaussian_weights(&p, w);
            double sum = (double)w[0];
            for (int k = 1; k <= r; k++) {
                sum += 2 * (double)w[k];
                CHECK(w[k] <= w[k - 1] && w[k] >= 0.F);
            }
            CHECK_NEAR(sum, 1, 1e-6);
        }
}

/* ---- memory ---- */

/* The same picture inside a buffer of bytes `around`: rows apart by an odd number of samples, a margin at both ends. */
static struct tg_image embed(const struct tg_image *im, int around, void **buffer, size_t *bytes)
{
    struct tg_image out = *im;
    const size_t sample = tg_depth_bytes(im->depth), row = (size_t)im->w * sample, margin = 64 * sample;
    out.stride = (ptrdiff_t)(row + 37 * sample);
    size_t plane = (size_t)out.stride * (size_t)im->h + margin;
    *bytes = margin + plane * (size_t)im->planes;
    *buffer = malloc(*bytes);
    memset(*buffer, around, *bytes);
    for (int c = 0; c < im->planes; c++) {
        out.plane[c] = (char *)*buffer + margin + (size_t)c * plane;
        for (int y = 0; y < im->h; y++)
            memcpy(tg_image_row(&out, c, y), tg_image_row(im, c, y), row);
    }
    return out;
}

/* Results do not depend on what lies around the picture, and nothing is written there. */
TEST(surroundings)
{
    static const int sides[] = {1, 15, 16, 17, 31, 33, 63, 65};
    static const char *const filters[] = {"bilateral=2:0.1:%d:square",
                                          "gaussian=sigma=2:radius=%d",
                                          "convolve=kernel='1 2 3; 4 5 6; 7 8 9':bias=0.00%d",
                                          "sobel=scale=%d",
                                          "gray",
                                          "invert=amount=0.%d"};
    for (int f = 0; f < 6; f++)
        for (int round = 0; round < 24; round++) {
            char text[512];
            int radius = 1 + (int)(tg_random() % 15), w = sides[tg_random() % 8], h = sides[tg_random() % 8];
            enum tg_depth depth = (enum tg_depth)(round % 3);
            snprintf(text, sizeof text, filters[f], radius);
            if (f < 4)
                snprintf(text + strlen(text), sizeof text - strlen(text), ":border=%s", BORDER);
            struct tg_node node = node_of(text);
            struct tg_image src = noise(w, h, 1 + round % 4, depth, false), first;
            for (int v = 0; node.filter->variants[v].name; v++) {
                if (node.filter->variants[v].where != TG_HOST || !apply(&node, v, &src, &first))
                    continue;
                for (int around = 0; around < 256; around += 255) {
                    void *in, *to, *want;
                    size_t n;
                    struct tg_job job = {.src = embed(&src, around, &in, &n), .params = node.params};
                    job.dst = embed(&first, 0x5a, &to, &n);
                    embed(&first, 0x5a, &want, &n);
                    for (int c = 0; c < first.planes; c++)
                        for (int y = 0; y < h; y++)
                            memset(tg_image_row(&job.dst, c, y), 0xa5, (size_t)w * tg_depth_bytes(depth));
                    run(&node.filter->variants[v], &job);
                    CHECK(memcmp(to, want, n) == 0);
                    free(in);
                    free(to);
                    free(want);
                }
                tg_image_free(&first);
            }
            tg_image_free(&src);
        }
}

static double free_gigabytes(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    double kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb / (1 << 20);
}

/* A plane of more than 2^31 samples. */
TEST(index_past_2_31)
{
    enum { N = 46341 };
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
    tg_skip("only in an optimized build");
    return;
#endif
    if (free_gigabytes() < 6) {
        tg_skip("needs 6 GB of free memory");
        return;
    }
    struct tg_image src = image(N, N, 1, TG_U8), dst = image(N, N, 1, TG_U8);
    memset(src.plane[0], 9, (size_t)src.stride * N);
    tg_put(&src, 0, N - 1, N - 1, 200.F);
    struct tg_node node = node_of("invert");
    struct tg_job job = {.src = src, .dst = dst, .params = node.params};
    for (int v = 0; node.filter->variants[v].name; v++) {
        if (!fits(&node.filter->variants[v], &job))
            continue;
        memset(dst.plane[0], 0, (size_t)dst.stride * N);
        run(&node.filter->variants[v], &job);
        CHECK_NEAR(tg_get(&dst, 0, N - 1, N - 1), 55, 0);
        CHECK_NEAR(tg_get(&dst, 0, N - 2, N - 1), 246, 0);
        CHECK_NEAR(tg_get(&dst, 0, 0, N - 1), 246, 0);
        CHECK_NEAR(tg_get(&dst, 0, N - 1, 0), 246, 0);
    }
    tg_image_free(&src);
    tg_image_free(&dst);
}

TESTS(T(bilateral_formula), T(convolve_formula), T(gaussian_formula), T(sobel_formula), T(gray_formula),
      T(invert_formula), T(not_a_number), T(sigma_zero), T(radius_larger_than_picture), T(even_kernel_anchor),
      T(correlation_and_convolution), T(kernels_of_sum_zero), T(negative_results), T(results_saturate),
      T(constants_stay), T(passes_keep_mean), T(depths_agree), T(transparent_colour), T(linear_light),
      T(sums_at_borders), T(bilateral_distance_and_window), T(bilateral_radius), T(edge_in_every_row), T(sobel_by_hand),
      T(gray_by_hand), T(gaussian_impulse), T(gaussian_weights), T(surroundings), T(index_past_2_31))
