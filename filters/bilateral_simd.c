#ifndef TG_LANES
#include "bilateral.h"
#include "sample.h"
#include "simd.h"

enum { TILE_W = 128, TILE_H = 32 };

/* Relative to its pixel; space is the exponent of its weight's part for distance in the plane. */
struct tap {
    int32_t offset; /* floats */
    float space;
};

/* What all tiles share. Samples are scaled so that a weight is 2^(space - distance^2). */
struct plan {
    const struct tg_job *job;
    int radius, distance, n_taps;
    struct tap *taps;
    float scale, unscale;
    bool deep; /* a weight may lie under the smallest float */
};

/* A thread's memory. */
struct tile {
    int w, h;
    ptrdiff_t stride;
    float *u[TG_MAX_PLANES], *luma;             /* scaled samples, from row and column -radius on */
    float *alpha;                               /* what they weigh */
    float *sum[TG_MAX_PLANES], *weight, *whole; /* h rows of TILE_W; whole: 1, or 0 where the pixel is not finite */
};

static int group_size(const struct tg_job *job)
{
    const struct tg_bilateral *p = job->params;
    return p->distance == TG_BILATERAL_SEPARATE ? 1 : tg_image_colors(&job->src);
}

static size_t taps_bytes(int radius)
{
    size_t side = 2 * (size_t)radius + 1;
    return tg_round_up(side * side * sizeof(struct tap), 256);
}

static size_t tile_floats(const struct tg_job *job, int radius, struct tile *t, float *base)
{
    const int margin = (int)tg_round_up((size_t)radius, 16), group = group_size(job);
    t->stride = TILE_W + 2 * margin + 16;
    size_t plane = (size_t)t->stride * (size_t)(TILE_H + 2 * radius), out = TILE_W * TILE_H;
    float *at = base;
    for (int c = 0; c < group + 2; c++, at += plane)
        *(c < group ? &t->u[c] : c == group ? &t->luma : &t->alpha) = at + radius * t->stride + margin;
    for (int c = 0; c < group + 2; c++, at += out)
        *(c < group ? &t->sum[c] : c == group ? &t->weight : &t->whole) = at;
    return (size_t)(group + 2) * (plane + out);
}

size_t bilateral_simd_scratch(const struct tg_job *job)
{
    struct tile t;
    int radius = tg_bilateral_radius(job->params);
    return taps_bytes(radius) + sizeof(float) * (size_t)tg_threads() * tile_floats(job, radius, &t, NULL);
}

static void make_plan(struct plan *plan, const struct tg_job *job, ptrdiff_t stride)
{
    const struct tg_bilateral *p = job->params;
    const int r = tg_bilateral_radius(p);
    const double log2e = 1.4426950408889634, ss = (double)p->sigma_space, full = (double)tg_depth_full(job->src.depth);
    *plan = (struct plan){.job = job, .radius = r, .distance = p->distance, .taps = job->scratch};
    if (p->distance == TG_BILATERAL_LUMA && group_size(job) < 3)
        plan->distance = TG_BILATERAL_L1;
    double least = 0;
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            if (p->window == TG_BILATERAL_DISC && dx * dx + dy * dy > r * r)
                continue;
            double e = fmax(-1e9, -(dx * dx + dy * dy) * 0.5 * log2e / (ss * ss));
            least = fmin(least, e);
            plan->taps[plan->n_taps++] = (struct tap){(int32_t)(dy * stride + dx), (float)e};
        }
    /* Beyond 1e9 any two values that differ are unlike. */
    double scale = fmin(sqrt(0.5 * log2e) / (double)p->sigma_range, 1e9);
    double far = scale * (plan->distance == TG_BILATERAL_L1   ? group_size(job)
                          : plan->distance == TG_BILATERAL_L2 ? 2
                                                              : 1);
    plan->scale = (float)(scale / full);
    plan->unscale = (float)(full / scale);
    plan->deep = job->src.depth == TG_F32 || least - far * far < -126;
}

#define TG_SELF "bilateral_simd.c"
#include "simd_each.h"

static int copy(const struct tg_job *job)
{
#pragma omp parallel for
    for (int y = 0; y < job->src.h; y++)
        for (int c = 0; c < job->src.planes; c++)
            tg_copy_plane(&job->src, &job->dst, c, y);
    return 0;
}

int bilateral_simd(const struct tg_job *job)
{
    const struct tg_bilateral *p = job->params;
    const struct tg_image *src = &job->src;
    if (p->sigma_space <= 0.F || p->sigma_range <= 0.F)
        return copy(job);
    const int group = group_size(job), colors = tg_image_colors(src);
    struct plan plan;
    struct tile first;
    const size_t floats = tile_floats(job, tg_bilateral_radius(p), &first, NULL);
    make_plan(&plan, job, first.stride);
    float *tiles = (float *)((char *)job->scratch + taps_bytes(plan.radius));
    void (*tile)(const struct plan *, struct tile *, int, int, int, int) = TG_PICK(tile);
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int y = 0; y < src->h; y += TILE_H)
        for (int x = 0; x < src->w; x += TILE_W)
            for (int c = 0; c < colors; c += group) {
                struct tile t;
                tile_floats(job, plan.radius, &t, tiles + (size_t)tg_thread() * floats);
                tile(&plan, &t, c, group, x, y);
            }
#pragma omp parallel for
    for (int y = 0; y < (src->has_alpha ? src->h : 0); y++)
        tg_copy_plane(src, &job->dst, src->planes - 1, y);
    return 0;
}

#else

/* A vector of pixels: scaled samples, and luma where that is the distance. */
struct TG_LEVEL(pixels) {
    vf v[TG_MAX_PLANES], luma;
};

V_FN void TG_LEVEL(read)(struct TG_LEVEL(pixels) * p, const struct tile *t, ptrdiff_t at, int n, int distance)
{
    for (int c = 0; c < n; c++)
        p->v[c] = v_load(t->u[c] + at);
    p->luma = distance == TG_BILATERAL_LUMA ? v_load(t->luma + at) : (vf){0};
}

/* A tap's weight, from the exponent of its space part. */
V_FN vf TG_LEVEL(weigh)(const struct TG_LEVEL(pixels) * p, const struct TG_LEVEL(pixels) * q, float space, int n,
                        int distance, int degree, bool deep)
{
    vf exponent = space - (vf){0};
    if (n == 1 || distance == TG_BILATERAL_L2) {
        for (int c = 0; c < n; c++)
            exponent -= (q->v[c] - p->v[c]) * (q->v[c] - p->v[c]);
    } else {
        vf d = distance == TG_BILATERAL_LUMA ? q->luma - p->luma : v_abs(q->v[0] - p->v[0]);
        for (int c = 1; distance == TG_BILATERAL_L1 && c < n; c++)
            d += v_abs(q->v[c] - p->v[c]);
        exponent -= d * d;
    }
    return v_exp2(exponent, degree, deep);
}

/* Sums over the taps of all pixels of a tile. */
V_FN void TG_LEVEL(sums)(const struct plan *plan, const struct tile *tile, int n, int distance, int degree, bool deep,
                         bool weighed)
{
    const struct tile t = *tile;
    const struct tap *const taps = plan->taps;
    const int n_taps = plan->n_taps;
    for (int x = 0; x < t.w; x += TG_LANES)
        for (int y = 0; y < t.h; y++) {
            const ptrdiff_t at = (ptrdiff_t)y * t.stride + x, out = (ptrdiff_t)y * TILE_W + x;
            struct TG_LEVEL(pixels) own, q;
            vf sum[TG_MAX_PLANES], weights = {0}, whole = weighed ? v_load(t.whole + out) : (vf){0};
            TG_LEVEL(read)(&own, &t, at, n, distance);
            for (int c = 0; c < n; c++)
                sum[c] = (vf){0};
            for (int k = 0; k < n_taps; k++) {
                const ptrdiff_t tap = at + taps[k].offset;
                TG_LEVEL(read)(&q, &t, tap, n, distance);
                vf w = TG_LEVEL(weigh)(&own, &q, taps[k].space, n, distance, degree, deep);
                if (weighed) {
                    vf lost = v_exp2(taps[k].space - (vf){0}, degree, deep);
                    w = (w * whole + lost * (1.F - whole)) * v_load(t.alpha + tap);
                }
                weights += w;
                for (int c = 0; c < n; c++)
                    sum[c] += w * q.v[c];
            }
            v_store(t.weight + out, weights);
            for (int c = 0; c < n; c++)
                v_store(t.sum[c] + out, sum[c]);
        }
}

/* Every call is a copy of its own for constant arguments. */
V_FN void TG_LEVEL(filter)(const struct plan *plan, const struct tile *t, int n, int distance, bool weighed)
{
    const bool coarse = plan->job->src.depth == TG_U8;
    if (weighed)
        TG_LEVEL(sums)(plan, t, n, distance, 4, true, true);
    else if (coarse && !plan->deep)
        TG_LEVEL(sums)(plan, t, n, distance, 3, false, false);
    else if (coarse)
        TG_LEVEL(sums)(plan, t, n, distance, 3, true, false);
    else
        TG_LEVEL(sums)(plan, t, n, distance, 4, true, false);
}

/* Loads the taps of n planes; true where they all weigh 1. */
static bool TG_LEVEL(load)(const struct plan *plan, const struct tile *t, int first, int n, int x0, int y0)
{
    const struct tg_bilateral *p = plan->job->params;
    const struct tg_image *src = &plan->job->src;
    const int r = plan->radius, w = t->w + 2 * r;
    float weights[TILE_W + 2 * TG_BILATERAL_RADIUS], own[TILE_W];
    bool plain = true;
    for (int y = -r; y < t->h + r; y++) {
        float *alpha = t->alpha + y * t->stride - r;
        for (int c = 0; c < n; c++) {
            float *u = t->u[c] + y * t->stride - r, *a = c ? weights : alpha;
            plain &= tg_row_taps(u, a, src, first + c, x0 - r, y0 + y, w, p->border, plan->scale, 1.F) == TG_TAPS_ONE;
            for (int x = 0; c && (src->has_alpha || src->depth == TG_F32) && x < w; x++)
                alpha[x] = a[x] < alpha[x] ? a[x] : alpha[x];
        }
        if (plan->distance == TG_BILATERAL_LUMA)
            for (int x = -r; x < t->w + r; x++) {
                ptrdiff_t at = y * t->stride + x;
                t->luma[at] = tg_luma(t->u[0][at], t->u[1][at], t->u[2][at]);
            }
    }
    for (int y = 0; !plain && y < t->h; y++) {
        float *whole = t->whole + y * TILE_W;
        for (int x = 0; x < t->w; x++)
            whole[x] = 1.F;
        for (int c = 0; c < n; c++) {
            tg_row_inside(own, src, first + c, x0, y0 + y, t->w, 1.F);
            for (int x = 0; x < t->w; x++)
                whole[x] = tg_finite(own[x]) ? whole[x] : 0.F;
        }
    }
    return plain;
}

static void TG_LEVEL(tile)(const struct plan *plan, struct tile *t, int first, int n, int x0, int y0)
{
    const struct tg_image *src = &plan->job->src;
    t->w = tg_min(TILE_W, src->w - x0);
    t->h = tg_min(TILE_H, src->h - y0);
    const bool weighed = !TG_LEVEL(load)(plan, t, first, n, x0, y0);
    if (n == 1)
        TG_LEVEL(filter)(plan, t, 1, TG_BILATERAL_L2, weighed);
    else if (n == 3 && plan->distance == TG_BILATERAL_L1)
        TG_LEVEL(filter)(plan, t, 3, TG_BILATERAL_L1, weighed);
    else if (n == 3 && plan->distance == TG_BILATERAL_L2)
        TG_LEVEL(filter)(plan, t, 3, TG_BILATERAL_L2, weighed);
    else if (n == 3)
        TG_LEVEL(filter)(plan, t, 3, TG_BILATERAL_LUMA, weighed);
    else
        TG_LEVEL(filter)(plan, t, n, plan->distance, weighed);
    for (int c = 0; c < n; c++)
        for (int y = 0; y < t->h; y++) {
            float *sum = t->sum[c] + y * TILE_W, *weight = t->weight + y * TILE_W, own[TILE_W];
            if (weighed) {
                tg_row_inside(own, src, first + c, x0, y0 + y, t->w, 1.F);
                for (int x = 0; x < t->w; x++) {
                    float kept = tg_finite(own[x]) ? own[x] : NAN;
                    sum[x] = weight[x] < TG_VANISH ? kept : sum[x] / weight[x] * plan->unscale;
                }
            } else {
                for (int x = 0; x < t->w; x += TG_LANES)
                    v_store(sum + x, v_load(sum + x) * v_reciprocal(v_load(weight + x)) * plan->unscale);
            }
            tg_row_store(sum, &plan->job->dst, first + c, x0, y0 + y, t->w);
        }
}
#endif
