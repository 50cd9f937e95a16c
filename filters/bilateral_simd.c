#ifndef TG_LANES
#include "bilateral.h"
#include "sample.h"
#include "simd.h"

/* HALF: half the taps of the largest window whose weights are used twice. */
enum { TILE_W = 128, TILE_H = 32, SHARED_RADIUS = 5, HALF = (SHARED_RADIUS * 2 + 1) * (SHARED_RADIUS * 2 + 1) / 2 };

/* What all tiles share. Samples are scaled so that a weight is 2^(space - distance^2). */
struct plan {
    const struct tg_job *job;
    int radius, reach[TG_BILATERAL_RADIUS + 1]; /* taps of row dy: -reach[|dy|] .. reach[|dy|] */
    float *space;                               /* of tap (dx, |dy|) at space[|dy| * (2 radius + 1) + radius + dx] */
    float scale, unscale;
    bool deep;  /* a weight may lie under the smallest float */
    int margin; /* columns on either side of a tile's */
    /* Taps with dy > 0, or dy = 0 and dx > 0, by rising dy; from first[dy] on those of at least dy. */
    int half, first[SHARED_RADIUS + 2], half_dx[HALF], half_dy[HALF];
    float half_space[HALF];
};

/* A thread's memory. */
struct tile {
    int w, h;
    ptrdiff_t stride;
    float *u[TG_MAX_PLANES], *luma; /* taps, scaled; rows -radius .. h + radius */
    float *alpha;                   /* and what they weigh */
    float *sum[TG_MAX_PLANES], *weight, *whole; /* h rows of TILE_W; whole: 1, or 0 where the pixel is not finite */
    float *shared;                  /* weights of the half taps of radius + 1 rows */
};

static int group_size(const struct tg_job *job)
{
    const struct tg_bilateral *p = job->params;
    return p->distance == TG_BILATERAL_SEPARATE ? 1 : tg_image_colors(&job->src);
}

static bool shares(int radius)
{
    return radius <= SHARED_RADIUS;
}

static size_t space_floats(int radius)
{
    return tg_round_up((size_t)(radius + 1) * (size_t)(2 * radius + 1), 64);
}

static size_t tile_floats(const struct tg_job *job, int radius, struct tile *t, float *base)
{
    const int margin = (int)tg_round_up((size_t)radius, 16) * (shares(radius) ? 2 : 1), group = group_size(job);
    t->stride = TILE_W + 2 * margin + 16;
    size_t taps = (size_t)t->stride * (size_t)(TILE_H + 2 * radius), out = TILE_W * TILE_H;
    float *at = base;
    for (int c = 0; c < group; c++, at += taps)
        t->u[c] = at + (ptrdiff_t)radius * t->stride + margin;
    t->luma = at + (ptrdiff_t)radius * t->stride + margin;
    at += group >= 3 ? taps : 0;
    t->alpha = at + (ptrdiff_t)radius * t->stride + margin;
    at += taps;
    for (int c = 0; c < group; c++, at += out)
        t->sum[c] = at;
    t->weight = at;
    t->whole = at + out;
    t->shared = at + 2 * out;
    return (size_t)(at - base) + 2 * out + (shares(radius) ? (size_t)t->stride * HALF * (size_t)(radius + 1) : 0);
}

size_t bilateral_simd_scratch(const struct tg_job *job)
{
    struct tile t;
    int radius = tg_bilateral_radius(job->params);
    return sizeof(float) * (space_floats(radius) + (size_t)tg_threads() * tile_floats(job, radius, &t, NULL));
}

static void make_plan(struct plan *plan, const struct tg_job *job)
{
    const struct tg_bilateral *p = job->params;
    const int r = tg_bilateral_radius(p);
    const double log2e = 1.4426950408889634, ss = (double)p->sigma_space, full = (double)tg_depth_full(job->src.depth);
    *plan = (struct plan){.job = job, .radius = r, .space = job->scratch};
    double least = 0;
    for (int dy = 0; dy <= r; dy++) {
        int n = p->window == TG_BILATERAL_DISC ? (int)sqrt((double)(r * r - dy * dy)) : r;
        plan->reach[dy] = n;
        for (int dx = -n; dx <= n; dx++) {
            double e = fmax(-1e9, -(dx * dx + dy * dy) * 0.5 * log2e / (ss * ss));
            plan->space[dy * (2 * r + 1) + r + dx] = (float)e;
            least = fmin(least, e);
        }
        for (int dx = dy ? -n : 1; shares(r) && dx <= n; dx++) {
            plan->half_dx[plan->half] = dx;
            plan->half_dy[plan->half] = dy;
            plan->half_space[plan->half++] = plan->space[dy * (2 * r + 1) + r + dx];
        }
        if (shares(r))
            plan->first[dy + 1] = plan->half;
    }
    /* Beyond 1e9 any two values that differ are unlike. */
    double scale = fmin(sqrt(0.5 * log2e) / (double)p->sigma_range, 1e9);
    plan->scale = (float)(scale / full);
    plan->unscale = (float)(full / scale);
    double far = scale * (p->distance == TG_BILATERAL_L1 ? group_size(job) : 1);
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
    struct plan plan;
    make_plan(&plan, job);
    const int group = group_size(job), colors = tg_image_colors(src);
    float *tiles = plan.space + space_floats(plan.radius);
    void (*tile)(const struct plan *, struct tile *, int, int, int, int) = TG_PICK(tile);
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int y = 0; y < src->h; y += TILE_H)
        for (int x = 0; x < src->w; x += TILE_W)
            for (int c = 0; c < colors; c += group) {
                struct tile t;
                size_t floats = tile_floats(job, plan.radius, &t, NULL);
                tile_floats(job, plan.radius, &t, tiles + (size_t)tg_thread() * floats);
                tile(&plan, &t, c, group, x, y);
            }
    for (int y = 0; src->has_alpha && y < src->h; y++)
        tg_copy_plane(src, &job->dst, src->planes - 1, y);
    return 0;
}

#else

/* A tap's weight: exponent of the space part less the square of the distance. v gets the tap's values. */
V_FN vf TG_LEVEL(weigh)(const struct tile *t, ptrdiff_t at, const vf *own, vf own_luma, vf *v, vf exponent, int n, int distance,
                        int degree, bool deep)
{
    for (int c = 0; c < n; c++)
        v[c] = v_load(t->u[c] + at);
    if (n == 1 || distance == TG_BILATERAL_L2) {
        for (int c = 0; c < n; c++)
            exponent -= (v[c] - own[c]) * (v[c] - own[c]);
    } else {
        vf d = {0};
        if (distance == TG_BILATERAL_LUMA)
            d = v_load(t->luma + at) - own_luma;
        else
            for (int c = 0; c < n; c++)
                d += v_abs(v[c] - own[c]);
        exponent -= d * d;
    }
    return v_exp2(exponent, degree, deep);
}

/* Every pixel by itself. */
V_FN void TG_LEVEL(direct)(const struct plan *plan, const struct tile *t, int n, int distance, int degree, bool deep,
                           bool weighed)
{
    const int r = plan->radius;
    for (int x = 0; x < t->w; x += TG_LANES)
        for (int y = 0; y < t->h; y++) {
            const ptrdiff_t at = (ptrdiff_t)y * t->stride + x;
            vf own[TG_MAX_PLANES], v[TG_MAX_PLANES], sum[TG_MAX_PLANES], weights = {0}, luma = {0}, whole = {0};
            for (int c = 0; c < n; c++) {
                own[c] = v_load(t->u[c] + at);
                sum[c] = (vf){0};
            }
            if (distance == TG_BILATERAL_LUMA)
                luma = v_load(t->luma + at);
            if (weighed)
                whole = v_load(t->whole + y * TILE_W + x);
            for (int dy = -r; dy <= r; dy++) {
                const int row = dy < 0 ? -dy : dy, reach = plan->reach[row];
                const float *space = plan->space + row * (2 * r + 1) + r;
                for (int dx = -reach; dx <= reach; dx++) {
                    const ptrdiff_t tap = at + dy * t->stride + dx;
                    vf exponent = space[dx] - (vf){0}, w;
                    w = TG_LEVEL(weigh)(t, tap, own, luma, v, exponent, n, distance, degree, deep);
                    if (weighed) {
                        vf far = v_exp2(exponent, degree, deep);
                        w = (w * whole + far * (1.F - whole)) * v_load(t->alpha + tap);
                    }
                    weights += w;
                    for (int c = 0; c < n; c++)
                        sum[c] += w * v[c];
                }
            }
            v_store(t->weight + y * TILE_W + x, weights);
            for (int c = 0; c < n; c++)
                v_store(t->sum[c] + y * TILE_W + x, sum[c]);
        }
}

/* w(p,q) = w(q,p): a pixel computes the weights of the taps after it, and takes the others from where they were computed. */
V_FN void TG_LEVEL(shared)(const struct plan *plan, const struct tile *t, int n, int distance, int degree, bool deep)
{
    const int r = plan->radius, ring = r + 1;
    const int border = (r + TG_LANES - 1) / TG_LANES * TG_LANES;
    ptrdiff_t offset[HALF];
    for (int k = 0; k < plan->half; k++)
        offset[k] = plan->half_dy[k] * t->stride + plan->half_dx[k];
    for (int y = -r; y < t->h; y++) {
        float *row = t->shared + (ptrdiff_t)((y + r) % ring) * HALF * t->stride + border;
        const int first = y < 0 ? plan->first[-y] : 0;
        for (int x = -border; x < t->w + r; x += TG_LANES) {
            const ptrdiff_t at = (ptrdiff_t)y * t->stride + x;
            vf own[TG_MAX_PLANES], v[TG_MAX_PLANES], sum[TG_MAX_PLANES], weights = 1.F - (vf){0}, luma = {0};
            for (int c = 0; c < n; c++)
                sum[c] = own[c] = v_load(t->u[c] + at);
            if (distance == TG_BILATERAL_LUMA)
                luma = v_load(t->luma + at);
            for (int k = first; k < plan->half; k++) {
                vf exponent = plan->half_space[k] - (vf){0}, w;
                w = TG_LEVEL(weigh)(t, at + offset[k], own, luma, v, exponent, n, distance, degree, deep);
                v_store(row + k * t->stride + x, w);
                weights += w;
                for (int c = 0; c < n; c++)
                    sum[c] += w * v[c];
            }
            if (y < 0 || x < 0 || x >= t->w)
                continue;
            v_store(t->weight + y * TILE_W + x, weights);
            for (int c = 0; c < n; c++)
                v_store(t->sum[c] + y * TILE_W + x, sum[c]);
        }
        if (y < 0)
            continue;
        const float *rows[SHARED_RADIUS + 1];
        for (int dy = 0; dy <= r; dy++)
            rows[dy] = t->shared + (ptrdiff_t)((y + r - dy) % ring) * HALF * t->stride + border;
        for (int x = 0; x < t->w; x += TG_LANES) {
            const ptrdiff_t at = (ptrdiff_t)y * t->stride + x;
            vf sum[TG_MAX_PLANES], weights = v_load(t->weight + y * TILE_W + x);
            for (int c = 0; c < n; c++)
                sum[c] = v_load(t->sum[c] + y * TILE_W + x);
            for (int k = 0; k < plan->half; k++) {
                vf w = v_load(rows[plan->half_dy[k]] + k * t->stride + x - plan->half_dx[k]);
                weights += w;
                for (int c = 0; c < n; c++)
                    sum[c] += w * v_load(t->u[c] + at - offset[k]);
            }
            v_store(t->weight + y * TILE_W + x, weights);
            for (int c = 0; c < n; c++)
                v_store(t->sum[c] + y * TILE_W + x, sum[c]);
        }
    }
}

/* The tile's sums, by the way that fits; every call is a copy of its own for constant arguments. */
V_FN void TG_LEVEL(sums)(const struct plan *plan, const struct tile *t, int n, int distance, bool weighed)
{
    const bool coarse = plan->job->src.depth == TG_U8;
    if (weighed)
        TG_LEVEL(direct)(plan, t, n, distance, 4, true, true);
    else if (shares(plan->radius) && coarse && !plan->deep)
        TG_LEVEL(shared)(plan, t, n, distance, 3, false);
    else if (shares(plan->radius) && coarse)
        TG_LEVEL(shared)(plan, t, n, distance, 3, true);
    else if (shares(plan->radius))
        TG_LEVEL(shared)(plan, t, n, distance, 4, true);
    else if (coarse && !plan->deep)
        TG_LEVEL(direct)(plan, t, n, distance, 3, false, false);
    else if (coarse)
        TG_LEVEL(direct)(plan, t, n, distance, 3, true, false);
    else
        TG_LEVEL(direct)(plan, t, n, distance, 4, true, false);
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
        if (n >= 3 && p->distance == TG_BILATERAL_LUMA)
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
    const struct tg_bilateral *p = plan->job->params;
    const struct tg_image *src = &plan->job->src;
    t->w = tg_min(TILE_W, src->w - x0);
    t->h = tg_min(TILE_H, src->h - y0);
    const bool weighed = !TG_LEVEL(load)(plan, t, first, n, x0, y0);
    if (n == 1)
        TG_LEVEL(sums)(plan, t, 1, TG_BILATERAL_L2, weighed);
    else if (n == 3 && p->distance == TG_BILATERAL_L1)
        TG_LEVEL(sums)(plan, t, 3, TG_BILATERAL_L1, weighed);
    else if (n == 3 && p->distance == TG_BILATERAL_L2)
        TG_LEVEL(sums)(plan, t, 3, TG_BILATERAL_L2, weighed);
    else if (n == 3)
        TG_LEVEL(sums)(plan, t, 3, TG_BILATERAL_LUMA, weighed);
    else
        TG_LEVEL(sums)(plan, t, n, n < 3 && p->distance == TG_BILATERAL_LUMA ? TG_BILATERAL_L1 : p->distance, weighed);
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
