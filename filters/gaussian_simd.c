#ifndef TG_LANES
#include "gaussian.h"
#include "sample.h"
#include "simd.h"

enum { TILE_W = 512, BLOCK = 4, PAD = 16 * BLOCK };

/* What all tiles share; a tile is TILE_W x tile_h at most. */
struct plan {
    const struct tg_job *job;
    int radius, tile_h;
    float weights[TG_GAUSSIAN_RADIUS + 1];
};

/* A thread's memory: one row of taps and what they weigh, then those after the row pass. Rows of sums are padded so that
 * they do not all fall into the same sets of the cache. */
struct tile {
    float *taps, *weights, *sums, *alphas;
};
enum { SUMS_STRIDE = TILE_W + 16 };

static int tile_height(int radius)
{
    return radius < 64 ? 128 : 2 * radius;
}

static size_t tile_floats(int radius, struct tile *t, float *base)
{
    size_t row = tg_round_up(TILE_W + 2 * (size_t)radius, 16) + PAD;
    size_t sums = (size_t)SUMS_STRIDE * (size_t)(tile_height(radius) + 2 * radius) + PAD;
    *t = (struct tile){base, base + row, base + 2 * row, base + 2 * row + sums};
    return 2 * row + 2 * sums;
}

size_t gaussian_simd_scratch(const struct tg_job *job)
{
    struct tile t;
    return (size_t)tg_threads() * sizeof(float) * tile_floats(tg_gaussian_radius(job->params), &t, NULL);
}

/* The identity, but that an alpha that is not finite is 0. */
static int copy(const struct tg_job *job)
{
    const struct tg_image *src = &job->src, *dst = &job->dst;
#pragma omp parallel for
    for (int y = 0; y < src->h; y++)
        for (int c = 0; c < src->planes; c++) {
            tg_copy_plane(src, dst, c, y);
            if (src->has_alpha && src->depth == TG_F32 && c == src->planes - 1)
                for (int x = 0; x < src->w; x++)
                    tg_put(dst, c, x, y, tg_alpha(src, x, y));
        }
    return 0;
}

#define TG_SELF "gaussian_simd.c"
#include "simd_each.h"

int gaussian_simd(const struct tg_job *job)
{
    const struct tg_gaussian *p = job->params;
    const struct tg_image *src = &job->src;
    struct plan plan = {.job = job, .radius = tg_gaussian_radius(p)};
    if (plan.radius == 0)
        return copy(job);
    plan.tile_h = tile_height(plan.radius);
    tg_gaussian_weights(p, plan.weights);
    void (*tile)(const struct plan *, const struct tile *, int, int, int) = TG_PICK(tile);
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int y = 0; y < src->h; y += plan.tile_h)
        for (int x = 0; x < src->w; x += TILE_W)
            for (int c = 0; c < src->planes; c++) {
                struct tile t;
                size_t floats = tile_floats(plan.radius, &t, NULL);
                tile_floats(plan.radius, &t, (float *)job->scratch + (size_t)tg_thread() * floats);
                tile(&plan, &t, c, x, y);
            }
    return 0;
}

#else

/* out[x] = sum of w(i) v[x + i * step], v pointing at the centre; reads and writes up to PAD floats more than n. */
static inline __attribute__((always_inline)) void TG_LEVEL(pass)(float *out, const float *v, ptrdiff_t step, int radius,
                                                                 const float *weights, int n)
{
    for (int x = 0; x < n; x += BLOCK * TG_LANES) {
        vf sum[BLOCK];
        for (int b = 0; b < BLOCK; b++)
            sum[b] = weights[0] * v_load(v + x + b * TG_LANES);
        for (int i = 1; i <= radius; i++) {
            const float *before = v + x - i * step, *after = v + x + i * step;
            for (int b = 0; b < BLOCK; b++)
                sum[b] += weights[i] * (v_load(before + b * TG_LANES) + v_load(after + b * TG_LANES));
        }
        for (int b = 0; b < BLOCK; b++)
            v_store(out + x + b * TG_LANES, sum[b]);
    }
}

/* Columns of row y of the tile's sums. */
static void TG_LEVEL(column)(float *out, const float *sums, const struct plan *plan, int y, int w)
{
    TG_LEVEL(pass)(out, sums + (size_t)(y + plan->radius) * SUMS_STRIDE, SUMS_STRIDE, plan->radius, plan->weights, w);
}

static void TG_LEVEL(tile)(const struct plan *plan, const struct tile *t, int c, int x0, int y0)
{
    const struct tg_gaussian *p = plan->job->params;
    const struct tg_image *src = &plan->job->src, *dst = &plan->job->dst;
    const bool is_alpha = src->has_alpha && c == src->planes - 1;
    const int r = plan->radius, w = tg_min(TILE_W, src->w - x0), h = tg_min(plan->tile_h, src->h - y0), n = w + 2 * r;
    enum tg_taps taps = tg_tile_taps(t->taps, t->weights, src, c, x0 - r, y0 - r, n, h + 2 * r, p->border);
    /* Sums around the middle of the range lose less, so that what lies halfway between two levels stays there. */
    const float middle = src->depth == TG_F32 ? 0.F : 0.5F * tg_depth_full(src->depth);
    const bool weighed = taps != TG_TAPS_ONE && !is_alpha;
    for (int y = 0; y < h + 2 * r; y++) {
        size_t at = (size_t)y * SUMS_STRIDE;
        if (taps == TG_TAPS_ONE)
            tg_row_load(t->taps, src, c, x0 - r, y0 + y - r, n, p->border, 1.F);
        else
            tg_row_taps(t->taps, t->weights, src, c, x0 - r, y0 + y - r, n, p->border, 1.F, 1.F);
        if (weighed) {
            for (int x = 0; x < n; x++)
                t->taps[x] = (t->taps[x] - middle) * t->weights[x];
            TG_LEVEL(pass)(t->alphas + at, t->weights + r, 1, r, plan->weights, w);
        } else {
            for (int x = 0; x < n; x++)
                t->taps[x] -= middle;
        }
        TG_LEVEL(pass)(t->sums + at, t->taps + r, 1, r, plan->weights, w);
    }
    float sum[TILE_W + PAD], alpha[TILE_W + PAD], own[TILE_W];
    for (int y = 0; y < h; y++) {
        TG_LEVEL(column)(sum, t->sums, plan, y, w);
        if (weighed) {
            TG_LEVEL(column)(alpha, t->alphas, plan, y, w);
            tg_row_inside(own, src, c, x0, y0 + y, w, 1.F);
            for (int x = 0; x < w; x++) {
                float kept = tg_finite(own[x]) ? own[x] : NAN;
                sum[x] = alpha[x] < TG_VANISH ? kept : sum[x] / alpha[x] + middle;
            }
        } else {
            for (int x = 0; x < w; x++)
                sum[x] += middle;
        }
        tg_row_store(sum, dst, c, x0, y0 + y, w);
    }
}
#endif
