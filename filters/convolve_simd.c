#ifndef TG_LANES
#include "convolve.h"
#include "sample.h"
#include "simd.h"

/* ROWS x COLUMNS vectors of sums stay in registers. */
enum { TILE_W = 192, TILE_H = 32, ROWS = 4, PAD = 64 };

/* What all tiles share. */
struct plan {
    const struct tg_job *job;
    struct tg_convolve_plan k;
    int rows;             /* of weights: k.h, or more with zeros so that it is at least ROWS */
    const float *weights; /* rows * k.w */
    float full, opaque;   /* scale, and what full alpha is as a weight */
};

/* A thread's memory. */
struct tile {
    int stride;            /* floats, of taps and weights */
    float *taps, *weights; /* (TILE_H + rows - 1) rows of TILE_W + k.w - 1 */
    float *sums, *alphas;  /* TILE_H rows of TILE_W */
};

static int weight_rows(const struct tg_convolve_plan *k)
{
    return k->h < ROWS ? ROWS : k->h;
}

static size_t weight_floats(const struct tg_convolve_plan *k)
{
    return tg_round_up((size_t)weight_rows(k) * (size_t)k->w, 64);
}

static size_t tile_floats(const struct tg_convolve_plan *k, struct tile *t, float *base)
{
    t->stride = (int)tg_round_up(TILE_W + (size_t)k->w - 1, 16) + PAD;
    size_t taps = (size_t)t->stride * (size_t)(TILE_H + weight_rows(k) - 1 + ROWS);
    t->taps = base;
    t->weights = base + taps;
    t->sums = base + 2 * taps;
    t->alphas = t->sums + TILE_W * TILE_H;
    return 2 * (taps + TILE_W * TILE_H);
}

size_t convolve_simd_scratch(const struct tg_job *job)
{
    struct tg_convolve_plan k;
    struct tile t;
    tg_convolve_plan(job->params, &k);
    return sizeof(float) * (weight_floats(&k) + (size_t)tg_threads() * tile_floats(&k, &t, NULL));
}

/* Columns of vectors in a block: with ROWS rows of them, the taps and a weight they fill the registers. */
#define COLUMNS (TG_LANES == 16 ? 4 : 2)

#define TG_SELF "convolve_simd.c"
#include "simd_each.h"

int convolve_simd(const struct tg_job *job)
{
    const struct tg_convolve *p = job->params;
    const struct tg_image *src = &job->src;
    struct plan plan = {.job = job, .weights = job->scratch, .full = tg_depth_full(src->depth), .opaque = 1.F};
    if (src->depth == TG_U8)
        plan.opaque = 255.F; /* products with samples are then exact */
    tg_convolve_plan(p, &plan.k);
    plan.rows = weight_rows(&plan.k);
    float *weights = job->scratch, *rest = weights + weight_floats(&plan.k);
    for (int j = 0; j < plan.rows; j++)
        for (int i = 0; i < plan.k.w; i++)
            weights[j * plan.k.w + i] = j < plan.k.h ? tg_convolve_weight(p, i, j) : 0.F;
    void (*tile)(const struct plan *, const struct tile *, int, int, int) = TG_PICK(tile);
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int y = 0; y < src->h; y += TILE_H)
        for (int x = 0; x < src->w; x += TILE_W)
            for (int c = 0; c < src->planes; c++) {
                struct tile t;
                size_t floats = tile_floats(&plan.k, &t, NULL);
                tile_floats(&plan.k, &t, rest + (size_t)tg_thread() * floats);
                tile(&plan, &t, c, x, y);
            }
    return 0;
}

#else

/* Adds the row of taps at v, times a row of weights for each of the block's rows from..to. */
static inline __attribute__((always_inline)) void TG_LEVEL(add_row)(vf sum[ROWS][COLUMNS], const float *v,
                                                                    const float *k, int kw, int from, int to)
{
    for (int i = 0; i < kw; i++) {
        vf taps[COLUMNS];
        for (int b = 0; b < COLUMNS; b++)
            taps[b] = v_load(v + i + b * TG_LANES);
        for (int r = from; r <= to; r++)
            for (int b = 0; b < COLUMNS; b++)
                sum[r][b] += k[i - r * kw] * taps[b];
    }
}

/* Sums of w x h pixels, w and h rounded up to whole blocks. Row t of the taps meets row t - r of the weights in row r. */
static void TG_LEVEL(correlate)(const struct plan *plan, float *out, const float *v, int stride, int w, int h)
{
    const int kw = plan->k.w, kh = plan->rows;
    for (int x = 0; x < w; x += COLUMNS * TG_LANES)
        for (int y = 0; y < h; y += ROWS) {
            vf sum[ROWS][COLUMNS] = {{{0}}};
            const float *row = v + (ptrdiff_t)y * stride + x, *k = plan->weights;
            TG_LEVEL(add_row)(sum, row, k, kw, 0, 0);
            TG_LEVEL(add_row)(sum, row += stride, k += kw, kw, 0, 1);
            TG_LEVEL(add_row)(sum, row += stride, k += kw, kw, 0, 2);
            for (int t = 3; t < kh; t++)
                TG_LEVEL(add_row)(sum, row += stride, k += kw, kw, 0, 3);
            TG_LEVEL(add_row)(sum, row += stride, k += kw, kw, 1, 3);
            TG_LEVEL(add_row)(sum, row += stride, k += kw, kw, 2, 3);
            TG_LEVEL(add_row)(sum, row += stride, k += kw, kw, 3, 3);
            for (int r = 0; r < ROWS; r++)
                for (int b = 0; b < COLUMNS; b++)
                    v_store(out + (y + r) * TILE_W + x + b * TG_LANES, sum[r][b]);
        }
}

/* One row in double: a sum of alphas often lies halfway between two levels, and has to fall on the definition's side. */
static void TG_LEVEL(correlate_exact)(const struct plan *plan, float *out, const float *v, int stride, int w)
{
    double sum[TILE_W] = {0};
    for (int j = 0; j < plan->k.h; j++)
        for (int i = 0; i < plan->k.w; i++) {
            const double k = (double)plan->weights[j * plan->k.w + i];
            const float *taps = v + (ptrdiff_t)j * stride + i;
            for (int x = 0; x < w; x++)
                sum[x] += k * (double)taps[x];
        }
    for (int x = 0; x < w; x++)
        out[x] = (float)sum[x];
}

static void TG_LEVEL(tile)(const struct plan *plan, const struct tile *t, int c, int x0, int y0)
{
    const struct tg_convolve *p = plan->job->params;
    const struct tg_convolve_plan *k = &plan->k;
    const struct tg_image *src = &plan->job->src, *dst = &plan->job->dst;
    const bool is_alpha = src->has_alpha && c == src->planes - 1, average = k->average;
    const int w = tg_min(TILE_W, src->w - x0), h = tg_min(TILE_H, src->h - y0), n = w + k->w - 1,
              rows = h + plan->rows - 1;
    float own[TILE_W];
    if (is_alpha && !average) {
        size_t bytes = tg_depth_bytes(src->depth), at = (size_t)x0 * bytes;
        for (int y = y0; y < y0 + h; y++)
            memcpy((char *)tg_image_row(dst, c, y) + at, (char *)tg_image_row(src, c, y) + at, (size_t)w * bytes);
        return;
    }
    const enum tg_taps taps = tg_tile_taps(t->taps, t->weights, src, c, x0 - k->ax, y0 - k->ay, n, rows, p->border);
    const bool weighed = taps != TG_TAPS_ONE && !is_alpha;
    for (int y = 0; y < rows; y++) {
        float *v = t->taps + (ptrdiff_t)y * t->stride, *a = t->weights + (ptrdiff_t)y * t->stride;
        if (taps == TG_TAPS_ONE)
            tg_row_load(v, src, c, x0 - k->ax, y0 - k->ay + y, n, p->border, 1.F);
        else
            tg_row_taps(v, a, src, c, x0 - k->ax, y0 - k->ay + y, n, p->border, 1.F, plan->opaque);
        for (int x = 0; is_alpha && x < n; x++)
            v[x] /= plan->full;
        for (int x = 0; weighed && x < n; x++)
            v[x] *= a[x];
        /* Differences need what is missing from opaque: nothing at all where all is opaque. */
        for (int x = 0; weighed && !average && x < n; x++)
            a[x] = plan->opaque - a[x];
    }
    if (!is_alpha)
        TG_LEVEL(correlate)(plan, t->sums, t->taps, t->stride, w, h);
    if (weighed)
        TG_LEVEL(correlate)(plan, t->alphas, t->weights, t->stride, w, h);
    for (int y = 0; y < h; y++) {
        float *sum = t->sums + (ptrdiff_t)y * TILE_W, *alpha = t->alphas + (ptrdiff_t)y * TILE_W;
        if (weighed)
            tg_row_inside(own, src, c, x0, y0 + y, w, 1.F);
        if (is_alpha) {
            if (taps != TG_TAPS_ONE)
                TG_LEVEL(correlate_exact)(plan, sum, t->taps + (ptrdiff_t)y * t->stride, t->stride, w);
            for (int x = 0; x < w; x++)
                sum[x] = (taps == TG_TAPS_ONE ? k->sum : sum[x]) * k->scale * plan->full;
        } else if (!weighed) {
            for (int x = 0; x < w; x++)
                sum[x] = tg_convolve_finish(sum[x] * k->scale, p->bias, p->negative, plan->full);
        } else if (average) {
            for (int x = 0; x < w; x++) {
                float kept = tg_finite(own[x]) ? own[x] : NAN;
                float v = sum[x] / alpha[x] * k->sum * k->scale;
                v = tg_convolve_finish(v, p->bias, p->negative, plan->full);
                sum[x] = alpha[x] < TG_VANISH * k->sum * plan->opaque ? kept : v;
            }
        } else {
            for (int x = 0; x < w; x++) {
                float v = (sum[x] + own[x] * alpha[x]) / plan->opaque * k->scale;
                v = tg_convolve_finish(v, p->bias, p->negative, plan->full);
                sum[x] = tg_finite(own[x]) ? v : NAN;
            }
        }
        tg_row_store(sum, dst, c, x0, y0 + y, w);
    }
}
#endif
