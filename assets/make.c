/* Draws the sample pictures: scenes made of noise and distance fields, seen through a lens and a noisy sensor.
 *
 *   make-assets NAME OUT.png|OUT.jpg [--size WxH] [--seed N] [--samples N] [--gray] [--16]
 *
 * The same arguments give the same picture, whatever the number of threads. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

/* ---- vectors, random numbers, noise ---- */

typedef float vec __attribute__((vector_size(16)));
#define V(x, y, z) ((vec){x, y, z, 0})
#define G(x)       V(x, x, x)

static inline float dot(vec a, vec b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline float len(vec a)
{
    return sqrtf(dot(a, a));
}
static inline vec unit(vec a)
{
    return a / len(a);
}
static inline vec cross(vec a, vec b)
{
    return V(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}
static inline float lower(float a, float b)
{
    return a < b ? a : b;
}
static inline float upper(float a, float b)
{
    return a > b ? a : b;
}
static inline float clamp(float x, float lo, float hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}
static inline float mix(float a, float b, float t)
{
    return a + (b - a) * t;
}
static inline vec blend(vec a, vec b, float t)
{
    return a + (b - a) * t;
}
static inline vec reflect(vec d, vec n)
{
    return d - n * (2 * dot(d, n));
}
static inline float step(float a, float b, float x) /* 0 up to a, 1 from b, smooth between */
{
    float t = clamp((x - a) / (b - a), 0, 1);
    return t * t * (3 - 2 * t);
}

static uint32_t seed = 1;

static inline uint32_t hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    return x ^ x >> 16;
}
static inline float fraction(uint32_t h)
{
    return (float)(h >> 8) * 0x1p-24F;
}
static inline float cell(int x, int y, int z)
{
    return fraction(hash((uint32_t)x * 0x8da6b343 + (uint32_t)y * 0xd8163841 + (uint32_t)z * 0xcb1ab31f + seed));
}
static inline float draw(uint32_t *state)
{
    return fraction(*state = hash(*state + 0x9e3779b9));
}

/* Value noise, 0..1; its slope goes to dx, dz. */
static inline float noise2(float x, float z, float *dx, float *dz)
{
    float fx = floorf(x), fz = floorf(z);
    int i = (int)fx, k = (int)fz;
    float u = x - fx, w = z - fz;
    float su = u * u * u * (u * (u * 6 - 15) + 10), sw = w * w * w * (w * (w * 6 - 15) + 10);
    float a = cell(i, 0, k), b = cell(i + 1, 0, k), c = cell(i, 0, k + 1), d = cell(i + 1, 0, k + 1);
    float ba = b - a, ca = c - a, t = a - b - c + d;
    *dx = 30 * u * u * (u * (u - 2) + 1) * (ba + t * sw);
    *dz = 30 * w * w * (w * (w - 2) + 1) * (ca + t * su);
    return a + ba * su + ca * sw + t * su * sw;
}

static float fbm2(float x, float z, int octaves)
{
    float sum = 0, amp = 0.5F, dx, dz;
    for (int i = 0; i < octaves; i++, amp *= 0.5F) {
        sum += amp * noise2(x, z, &dx, &dz);
        float t = 1.6F * x - 1.2F * z + 5.3F;
        z = 1.2F * x + 1.6F * z + 1.7F;
        x = t;
    }
    return sum;
}

static float noise3(vec p)
{
    vec f = V(floorf(p[0]), floorf(p[1]), floorf(p[2])), u = p - f;
    int x = (int)f[0], y = (int)f[1], z = (int)f[2];
    u = u * u * (3 - 2 * u);
    float sum[2];
    for (int k = 0; k < 2; k++)
        sum[k] = mix(mix(cell(x, y, z + k), cell(x + 1, y, z + k), u[0]),
                     mix(cell(x, y + 1, z + k), cell(x + 1, y + 1, z + k), u[0]), u[1]);
    return mix(sum[0], sum[1], u[2]);
}

static float fbm3(vec p, int octaves)
{
    float sum = 0, amp = 0.5F;
    for (int i = 0; i < octaves; i++, amp *= 0.5F, p = p * 2.03F + G(7.1F))
        sum += amp * noise3(p);
    return sum;
}

/* ---- solids: distance fields inside a bounding sphere ---- */

struct solid {
    vec at;       /* the origin of its own coordinates */
    float radius; /* everything lies within this of at */
    float (*field)(vec p, int id);
    int id; /* handed to field and to the material */
};
struct hit {
    float t;
    const struct solid *solid; /* NULL: nothing hit */
    vec p, n;                  /* in the solid's coordinates */
};

static float box(vec p, vec half, float round)
{
    vec q = V(fabsf(p[0]), fabsf(p[1]), fabsf(p[2])) - half + G(round);
    vec out = V(upper(q[0], 0), upper(q[1], 0), upper(q[2], 0));
    return len(out) + lower(upper(q[0], upper(q[1], q[2])), 0) - round;
}
static inline float ring(float x, float y)
{
    return sqrtf(x * x + y * y);
}
static inline vec turn(vec p, float c, float s)
{
    return V(c * p[0] + s * p[2], p[1], c * p[2] - s * p[0]);
}

static float rod(vec p, vec a, vec b, float r0, float r1)
{
    vec ab = b - a;
    float t = clamp(dot(p - a, ab) / dot(ab, ab), 0, 1);
    return len(p - a - ab * t) - mix(r0, r1, t);
}

/* The nearest solid along o + t d, t in lo..hi. */
static struct hit trace(const struct solid *solids, int n, vec o, vec d, float lo, float hi)
{
    struct hit h = {.t = hi};
    for (int i = 0; i < n; i++) {
        const struct solid *s = &solids[i];
        vec p = o - s->at;
        float b = dot(p, d), disc = b * b - dot(p, p) + s->radius * s->radius;
        if (disc <= 0)
            continue;
        disc = sqrtf(disc);
        float t = upper(lo, -b - disc), end = lower(h.t, -b + disc);
        for (int k = 0; k < 128 && t < end; k++) {
            float dist = s->field(p + d * t, s->id);
            if (dist < 2e-4F * t) {
                h.t = t;
                h.solid = s;
                break;
            }
            t += dist;
        }
    }
    if (h.solid) {
        h.p = o + d * h.t - h.solid->at;
        float e = 4e-4F * h.t;
        for (int a = 0; a < 3; a++) {
            vec s = {0};
            s[a] = e;
            h.n[a] = h.solid->field(h.p + s, h.solid->id) - h.solid->field(h.p - s, h.solid->id);
        }
        h.n = unit(h.n + G(1e-12F));
    }
    return h;
}

/* ---- dusk: a lake in the mountains; metres, y up, the camera looks along z ---- */

static const vec sun = {0.640F, 0.128F, 0.757F, 0};
enum { MOUND, CABIN, JETTY, LANTERN, ROCK };

static vec sky(vec d)
{
    float y = upper(d[1], 0), s = upper(dot(d, sun), 0), s4 = s * s * s * s, s16 = s4 * s4 * s4 * s4;
    vec c = blend(blend(V(0.60F, 0.43F, 0.42F), V(1.25F, 0.68F, 0.34F), s4), V(0.36F, 0.40F, 0.55F), 1 - expf(-y * 8));
    c = blend(c, V(0.085F, 0.15F, 0.34F), 1 - expf(-y * 3.2F));
    c += V(1.3F, 0.62F, 0.22F) * (0.35F * s4 + 0.7F * s16) * expf(-y * 6);

    float k = 1 / (y + 0.10F), x = d[0] * k * 0.9F + 3.7F, z = d[2] * k * 1.5F;
    float warp = fbm2(x * 0.8F + 9, z * 0.8F, 4);
    x += 1.6F * warp;
    z += 1.1F * warp;
    float a = fbm2(x, z, 8), b = fbm2(x + 0.16F, z + 0.14F, 6);
    float cover = step(0.50F, 0.80F, a) * step(0.0F, 0.10F, y), light = clamp(0.45F + 2.6F * (a - b), 0, 1);
    vec cloud = blend(V(0.25F, 0.23F, 0.33F), V(1.30F, 0.66F, 0.42F) * (0.8F + s4), light * (1 - 0.35F * cover));
    return blend(c, cloud, 0.85F * cover);
}

static vec haze(vec c, vec d, float t, float y)
{
    float s = upper(dot(d, sun), 0), air = 1 - expf(-t / 8500 - upper(0, t - 500) / 3400 * expf(-upper(y, 0) / 130));
    return blend(c, blend(V(0.30F, 0.31F, 0.42F), V(0.95F, 0.55F, 0.33F), s * s * s * s), air);
}

/* Height of the terrain. Octaves too small to change y - height by more than the part doubt of it are left out. */
static float ground(float x, float z, int octaves, float y, float doubt)
{
    float valley = step(0, 2400, fabsf(x - 250 - 0.08F * z)) * (1 - step(5500, 9000, z)) + step(5500, 9000, z);
    float scale = 1050 * step(640, 3600, z) * mix(0.42F, 1.2F, valley) + 40 * step(620, 760, z);
    float sum = 0, amp = 1, gx = 0, gz = 0, px = x / 1900 + 11.3F, pz = z / 1900 + 4.6F;
    for (int i = 0; i < octaves; i++, amp *= 0.5F) {
        float dx, dz, n = noise2(px, pz, &dx, &dz);
        gx += dx;
        gz += dz;
        sum += amp * n / (1 + gx * gx + gz * gz);
        if (amp * scale < doubt * fabsf(y - sum * scale))
            break;
        float t = 1.6F * px - 1.2F * pz;
        pz = 1.2F * px + 1.6F * pz;
        px = t;
    }
    return sum * scale - 6;
}

static vec mountain(vec o, vec d, bool sharp, float *depth)
{
    int octaves = sharp ? 9 : 6;
    float t = upper(0, (600 - o[2]) / d[2]), end = 12000;
    for (int i = 0; i < 220; i++) {
        vec p = o + d * t;
        float gap = p[1] - ground(p[0], p[2], octaves - (t > 4000) - (t > 8000), p[1], 0.35F);
        if (gap < 0.0004F * t)
            break;
        t += upper(gap * 0.5F, 0.0008F * t);
        if (t > end || (d[1] > 0 && p[1] > 1700))
            return *depth = INFINITY, sky(d);
    }
    *depth = t;
    vec p = o + d * t;
    float e = 0.6F + t * 0.0006F, y = ground(p[0], p[2], octaves + 2, 0, 0);
    vec n = unit(V(y - ground(p[0] + e, p[2], octaves + 2, 0, 0), e, y - ground(p[0], p[2] + e, octaves + 2, 0, 0)));

    float lit = 1;
    for (float s = 12; s < 3000 && lit > 0; s *= 1.35F) {
        vec q = p + sun * s;
        lit = lower(lit, 0.5F + 14 * (q[1] - ground(q[0], q[2], 6, q[1], 0.35F)) / s);
    }
    lit = clamp(lit, 0, 1) * clamp(dot(n, sun) * 1.3F, 0, 1);

    float dx, dz, rough = fbm2(p[0] / 90, p[2] / 90, 6), trees = noise2(p[0] / 7, p[2] / 7, &dx, &dz);
    vec rock = blend(V(0.10F, 0.085F, 0.08F), V(0.24F, 0.20F, 0.17F), fbm2(p[0] / 40, p[1] / 9 + p[2] / 60, 5));
    vec wood = blend(V(0.012F, 0.020F, 0.012F), V(0.05F, 0.07F, 0.03F), trees * rough * 1.6F);
    float high = p[1] + 300 * (rough - 0.5F);
    vec c = blend(wood, rock, step(330, 480, high) + step(0.25F, 0.0F, n[1] - 0.42F) * 0.8F * step(120, 300, high));
    c = blend(c, V(0.78F, 0.80F, 0.86F), step(560, 760, high) * step(0.45F, 0.68F, n[1] + 0.35F * (rough - 0.5F)));
    c *= V(3.6F, 1.75F, 0.80F) * lit + V(0.30F, 0.36F, 0.55F) * (0.55F + 0.45F * n[1]);
    return haze(c, d, t, p[1]);
}

/* Stands of firs on upright planes; they also hide where the terrain meets the lake. */
static const struct stand {
    float z, x0, x1, tall, gap, base;
} stands[] = {
    {104, 33, 200, 15, 4.2F, 0.8F},   {112, 18, 200, 19, 4.6F, 1.0F},   {124, 12, 200, 21, 5.0F, 1.2F},
    {150, -200, -38, 15, 4.0F, 0.6F}, {165, -300, -44, 20, 4.5F, 0.9F}, {180, -300, -52, 23, 5.0F, 1.2F},
    {540, -900, 900, 16, 6.5F, 0.5F}, {570, -900, 900, 22, 6.0F, 4.0F}, {610, -900, 900, 25, 6.0F, 10.F},
    {660, -900, 900, 27, 6.0F, 17.F},
};

static bool fir(const struct stand *s, float x, float y, int row, vec *c)
{
    float dx, dz, edge = upper(s->x0 - x, x - s->x1) / s->tall;
    if (edge > 0.3F)
        return false;
    if (y > s->base + 1.4F * s->tall)
        return false;
    float base = s->base * clamp(-edge * 2, 0, 1) + 0.3F * noise2(x / 3, (float)row, &dx, &dz);
    if (y < base) {
        *c = V(0.05F, 0.055F, 0.03F) * (0.4F + noise2(x * 3, y * 9, &dx, &dz));
        return true;
    }
    int k0 = (int)floorf(x / s->gap);
    for (int k = k0 - 1; k <= k0 + 1; k++) {
        float h = s->tall * (0.45F + 0.9F * cell(k, 1, row)), xc = ((float)k + cell(k, 2, row)) * s->gap;
        if (xc < s->x0 || xc > s->x1)
            continue;
        float v = (y - base) / h, u = (x - xc) / h + 0.012F * sinf(v * 9 + (float)k), side = u > 0 ? 1 : -1;
        if (v > 1)
            continue;
        float whorl = v * (11 + 5 * cell(k, 3, row)) + 2.2F * fabsf(u) + side * 0.2F, saw = whorl - floorf(whorl);
        float needles = noise2(u * h * 7, v * h * 7, &dx, &dz), shape = 0.21F * (1 - v) * (0.55F + 0.6F * (1 - saw));
        shape *= (v < 0.06F ? 0.1F : 1) * (0.75F + 0.5F * cell(k, (int)floorf(whorl) + (int)side * 50, row));
        if (fabsf(u) > shape * (0.55F + 0.75F * needles) + 0.005F)
            continue;
        float rim = step(0.2F, 1.0F, u / (shape + 0.01F)) * step(0.1F, 0.9F, v);
        *c = V(0.020F, 0.030F, 0.020F) * (0.3F + needles + 0.5F * (1 - saw)) + V(0.16F, 0.085F, 0.03F) * rim * needles;
        return true;
    }
    return false;
}

static const vec lantern_light = {1.0F, 0.50F, 0.16F, 0};
#define JETTY_COS 0.9925F
#define JETTY_SIN 0.1222F

static float dusk_field(vec p, int id)
{
    switch (id) {
    case MOUND: {
        vec r = V(52, 3.4F, 22);
        float k0 = len(p / (r + (vec){0, 0, 0, 1})), k1 = len(p / (r * r + (vec){0, 0, 0, 1}));
        return 0.7F * (k0 * (k0 - 1) / k1 - 0.5F * (fbm3(p * 0.8F, 3) - 0.5F));
    }
    case CABIN: {
        vec q = turn(p, 0.906F, 0.423F);
        float wall = box(q - V(0, 1.6F, 0), V(4.2F, 1.9F, 3), 0.02F);
        float roof = box(V(q[0], 0.8F * (q[1] - 5.6F) + 0.6F * fabsf(q[2]), 0), V(4.8F, 0.12F, 9), 0.02F);
        float gable = upper(upper(0.8F * (q[1] - 5.6F) + 0.6F * fabsf(q[2]), 3.3F - q[1]), fabsf(q[0]) - 4.15F);
        roof = upper(roof, fabsf(q[2]) - 3.7F);
        return lower(lower(wall, gable), lower(roof, box(q - V(1.8F, 5, 0.8F), V(0.4F, 1.6F, 0.4F), 0.02F)));
    }
    case JETTY: {
        vec q = turn(p, JETTY_COS, JETTY_SIN);
        float plank = q[2] - 0.22F * floorf(q[2] / 0.22F) - 0.11F;
        float k = clamp(floorf(q[2] / 4.4F + 0.5F), -3, 3), side = fabsf(q[0]) - 0.92F;
        float deck = lower(
            box(V(q[0], q[1] + 0.03F * cell((int)floorf(q[2] / 0.22F), 0, 7), plank), V(1, 0.04F, 0.1F), 0.012F),
            box(V(side + 0.15F, q[1] + 0.14F, q[2]), V(0.06F, 0.1F, 13.5F), 0.01F));
        deck = upper(deck, fabsf(q[2]) - 13.6F);
        vec post = V(side - 0.05F, q[1], q[2] - k * 4.4F);
        return lower(deck, upper(ring(post[0], post[2]) - 0.1F, fabsf(post[1] + 0.2F) - 1.1F));
    }
    case LANTERN:
        return lower(rod(p, V(0, -0.12F, 0), V(0, 0.08F, 0), 0.11F, 0.10F),
                     lower(box(p - V(0, 0.21F, 0), V(0.14F, 0.03F, 0.14F), 0.02F),
                           box(p + V(0, 0.24F, 0), V(0.13F, 0.03F, 0.13F), 0.01F)));
    default: {
        float bump = fbm3(p * 1.7F + G((float)id * 3), 5) - 0.5F;
        return 0.6F * (len(p * V(0.8F, 1.2F, 0.9F)) - 0.62F - 0.65F * bump);
    }
    }
}

static const struct solid shore[] = {
    {{66, -1.5F, 116, 0}, 53, dusk_field, MOUND},
    {{23, 0.9F, 101, 0}, 9, dusk_field, CABIN},
    {{2.5F, 0.62F, 20.5F, 0}, 14, dusk_field, JETTY},
    {{-0.07F, 1.78F, 33.48F, 0}, 0.42F, dusk_field, LANTERN},
    {{2.92F, 1.78F, 24.98F, 0}, 0.42F, dusk_field, LANTERN},
    {{2.08F, 1.78F, 16.02F, 0}, 0.42F, dusk_field, LANTERN},
    {{1.84F, 1.78F, 33.72F, 0}, 0.42F, dusk_field, LANTERN},
    {{-5.0F, -0.1F, 15, 0}, 1.4F, dusk_field, ROCK + 1},
    {{-3.4F, -0.2F, 14, 0}, 1.4F, dusk_field, ROCK + 2},
    {{-6.8F, 0, 17, 0}, 1.4F, dusk_field, ROCK + 4},
    {{-1.2F, -0.3F, 16.5F, 0}, 1.4F, dusk_field, ROCK + 5},
};
enum { SHORE = sizeof shore / sizeof *shore };

static vec shore_colour(const struct hit *h, vec d)
{
    vec p = h->p, n = h->n, c, world = p + h->solid->at;
    switch (h->solid->id) {
    case MOUND:
        c = blend(V(0.03F, 0.035F, 0.014F), V(0.12F, 0.11F, 0.05F), fbm3(world * 1.5F, 5));
        c = blend(V(0.07F, 0.06F, 0.05F), c, step(0.1F, 0.6F, world[1]));
        break;
    case CABIN: {
        vec q = turn(p, 0.906F, 0.423F);
        float plank = q[1] / 0.24F - floorf(q[1] / 0.24F);
        bool roof = 0.8F * (q[1] - 5.6F) + 0.6F * fabsf(q[2]) > -0.16F;
        float x = fabsf(fabsf(q[0]) - 2.3F), y = fabsf(q[1] - 1.8F);
        if (q[2] < -2.9F && q[0] * q[0] < 0.25F && q[1] < 2.2F)
            return haze(V(0.05F, 0.03F, 0.02F), d, h->t, world[1]);
        if (q[2] < -2.9F && x < 0.75F && y < 0.7F && !roof) {
            bool frame = x > 0.66F || y > 0.61F || x < 0.04F || y < 0.035F;
            return frame ? V(0.10F, 0.08F, 0.07F) : lantern_light * (2.6F - 1.6F * y) * (0.7F + 0.6F * fbm3(q * 2, 3));
        }
        c = roof ? V(0.07F, 0.065F, 0.07F) * (0.5F + fbm3(q * V(7, 1, 2), 4))
                 : V(0.17F, 0.085F, 0.05F) * (plank < 0.1F ? 0.3F : 0.6F + 0.8F * fbm3(q * V(0.7F, 9, 0.7F), 4));
        break;
    }
    case JETTY: {
        vec q = turn(p, JETTY_COS, JETTY_SIN);
        float board = cell((int)floorf(q[2] / 0.22F), 0, 9), grain = fbm3(q * V(1.5F, 9, 26) + G(board * 40), 5);
        c = blend(V(0.10F, 0.085F, 0.07F), V(0.30F, 0.26F, 0.22F), grain * 0.9F + 0.5F * board - 0.2F);
        break;
    }
    case LANTERN:
        if (p[1] > -0.2F && p[1] < 0.17F)
            return lantern_light * (4.5F - 60 * (p[1] + 0.04F) * (p[1] + 0.04F)) * (fabsf(n[2]) < 0.2F ? 0.3F : 1);
        c = V(0.03F, 0.028F, 0.028F);
        break;
    default:
        c = blend(V(0.10F, 0.10F, 0.11F), V(0.32F, 0.29F, 0.26F), fbm3(p * 9, 5));
        c *= mix(0.35F, 1, step(0.0F, 0.25F, world[1]));
    }
    vec light = V(0.34F, 0.38F, 0.52F) * (0.6F + 0.4F * n[1]) + V(2.0F, 1.0F, 0.5F) * upper(dot(n, sun), 0);
    for (int i = 0; i < SHORE; i++)
        if (shore[i].id == LANTERN) {
            vec to = shore[i].at - world;
            light += lantern_light * (1.1F * upper(dot(to, n) / len(to), 0) / (0.06F + dot(to, to)));
        }
    return haze(c * light, d, h->t, world[1]);
}

/* What a ray sees above the water; what is hidden behind a nearer thing is never computed. */
static vec land(vec o, vec d, bool sharp, float *depth)
{
    vec c = {0};
    struct hit h = trace(shore, SHORE, o, d, 0.05F, 1e6F);
    for (int i = 0; i < (int)(sizeof stands / sizeof *stands); i++) {
        float t = (stands[i].z - o[2]) / d[2];
        if (t > h.t)
            break;
        vec p = o + d * t;
        if (t > 0 && p[1] > -0.5F && fir(&stands[i], p[0], p[1], i, &c))
            return *depth = t, haze(c, d, t, 2 * p[1]);
    }
    if (h.solid)
        return *depth = h.t, shore_colour(&h, d);
    return mountain(o, d, sharp, depth);
}

static vec lake(vec o, vec d, float t)
{
    vec p = o + d * t;
    float x = p[0], z = p[2], nx = 0, nz = 0, amp = 0.55F, f = 0.9F, dx, dz;
    float wind = 0.25F + step(0.35F, 0.75F, fbm2(x / 60 + 3, z / 22, 4)) + 0.25F * step(40, 8, z);
    for (int i = 0; i < 7; i++, f *= 1.9F, amp *= 0.72F) {
        float keep = 1 / (1 + 0.0009F * f * t * (1 + 0.02F * t));
        noise2(x * f * 0.7F + 31 * (float)i, z * f, &dx, &dz);
        nx += amp * keep * dx * 0.6F;
        nz += amp * keep * dz;
    }
    vec n = unit(V(-0.030F * wind * nx, 1, -0.030F * wind * nz));
    vec r = reflect(d, n);
    r[1] = fabsf(r[1]) + 0.002F;
    float c1 = 1 - clamp(-dot(d, n), 0, 1), fresnel = 0.02F + 0.98F * c1 * c1 * c1 * c1 * c1, depth;
    vec deep = blend(V(0.012F, 0.030F, 0.036F), V(0.05F, 0.055F, 0.045F), step(17, 9, z));
    vec c = blend(deep, land(p, unit(r), false, &depth), lower(1, fresnel * 1.15F + 0.05F));
    return haze(c, d, t, 0);
}

/* Blades on the bank, front row first; each row a little further out of focus as it nears the camera. */
static bool grass(float u, float v, uint32_t *rng, vec *c)
{
    enum { ROWS = 26 };
    float dx, dz;
    for (int r = 0; r < ROWS; r++) {
        float near = 1 - (float)r / ROWS, tall = mix(0.035F, 0.20F, near * near), gap = tall * 0.075F;
        float a = draw(rng) - 0.5F, b = draw(rng) - 0.5F, blur = 0.016F * step(0.35F, 1, near);
        float x = u + a * blur, y = v + b * blur;
        float base = mix(-0.375F, -0.62F, near) - 0.09F * x + 0.05F * (noise2(x * 2.3F, 0.4F * near, &dx, &dz) - 0.5F);
        float bloom = 0.010F + 0.022F * near; /* the part of the stalks that bear a flower */
        if (y > base + 1.7F * tall)
            continue;
        int k0 = (int)floorf(x / gap);
        for (int j = 0; j < 13; j++) {
            int k = k0 + (j & 1 ? -(j + 1) / 2 : j / 2);
            float h = tall * (0.35F + 0.9F * cell(k, 11, r)), t = (y - base) / h, lean = cell(k, 12, r) - 0.42F;
            if (t > 1.12F)
                continue;
            float root = ((float)k + cell(k, 13, r)) * gap, kind = cell(k, 14, r);
            if (kind < bloom) { /* a flower on its stalk */
                float fx = (x - root - lean * 0.5F * h) / (0.012F + 0.035F * tall);
                float fy = (y - base - h) / (0.009F + 0.028F * tall);
                float q = fx * fx + fy * fy, petal = 0.75F + 0.25F * fabsf(sinf(2.5F * atan2f(fy, fx) + kind * 900));
                if (q < petal) {
                    vec hue = kind < 0.4F * bloom ? V(0.42F, 0.10F, 0.36F) : V(0.62F, 0.50F, 0.42F);
                    if (kind > 0.75F * bloom)
                        hue = V(0.75F, 0.30F, 0.05F);
                    *c = (q < 0.07F ? V(0.5F, 0.32F, 0.04F) : hue) * (0.45F + 0.4F * q + 0.25F * fy);
                    return true;
                }
            }
            if (t > 1)
                continue;
            float at = root + lean * upper(t, 0) * upper(t, 0) * h;
            float half = gap * mix(0.42F, 0.0F, t > 0 ? t : 0) * (kind < bloom ? 0.4F : 1);
            if (fabsf(x - at) > half + 0.0002F)
                continue;
            float tint = cell(k, 15, r), shade = mix(0.25F, 1.0F, clamp(t * 1.2F, 0, 1)) * mix(0.75F, 1, tint);
            vec leaf = blend(V(0.035F, 0.060F, 0.018F), V(0.17F, 0.15F, 0.055F), tint * tint);
            *c = leaf * shade + V(0.34F, 0.19F, 0.06F) * step(0.0F, 1, (x - at) / half + 0.2F) * t * t * 0.45F;
            return true;
        }
        if (y < base) {
            *c = V(0.010F, 0.014F, 0.006F);
            return true;
        }
    }
    return false;
}

static vec dusk(float u, float v, uint32_t *rng)
{
    vec c;
    if (v < -0.1F && grass(u, v, rng, &c))
        return c;
    vec o = V(0, 3.3F, 0), d = unit(V(u * 0.60F, (v + 0.02F) * 0.60F, 1));
    float depth, t = d[1] < 0 ? -o[1] / d[1] : INFINITY;
    c = land(o, d, true, &depth);
    if (t < lower(depth, 12000))
        c = lake(o, d, t);
    for (int i = 0; i < SHORE; i++) /* light scattered in the lens */
        if (shore[i].id == LANTERN) {
            vec to = shore[i].at - o;
            float off = len(cross(unit(to), d)) * len(to);
            c += lantern_light * (0.020F / (0.06F + off * off));
        }
    return c;
}

/* ---- table: fruit and a vase by a window; decimetres, y up, the cloth at y = 0 ---- */

enum { VASE, STEMS, APPLE, ORANGE, LEMON, GRAPES, BOOK, CUP };

static const vec ball[] = {
    {-0.62F, 4.55F, 0.10F, 0}, {0.10F, 5.00F, 0.25F, 0}, {0.75F, 4.35F, -0.15F, 0}, {-0.15F, 4.15F, -0.45F, 0},
    {0.42F, 4.75F, 0.60F, 0},  {-1.05F, 3.95F, 0.3F, 0}, {1.15F, 3.85F, 0.35F, 0},
};
enum { BALLS = sizeof ball / sizeof *ball };

static float vase_radius(float y)
{
    float belly = step(-0.3F, 1.1F, y) - 0.78F * step(1.05F, 2.35F, y) + 0.16F * step(2.35F, 2.75F, y);
    return 0.12F + 0.82F * belly + 0.12F * step(0.2F, 0, y);
}

static float table_field(vec p, int id)
{
    float r = ring(p[0], p[2]);
    switch (id & 15) {
    case VASE: {
        float y = p[1] + 1.375F, wall = fabsf(r - vase_radius(clamp(y, 0, 2.75F)) + 0.03F) - 0.03F;
        return 0.62F * upper(wall, upper(-y, y - 2.75F));
    }
    case STEMS: {
        float best = 9;
        for (int i = 0; i < BALLS; i++) {
            vec c = ball[i] - V(0, 3.6F, 0), root = V(c[0] * 0.06F, -1.1F, c[2] * 0.06F);
            vec knee = blend(root, c, 0.55F) * V(0.7F, 1, 0.7F);
            float d = len(p - c);
            if (d < 0.4F) /* the florets */
                d += 0.012F * sinf(38 * (p[0] - c[0])) * sinf(38 * (p[1] - c[1])) * sinf(38 * (p[2] - c[2]));
            best = lower(best, d - 0.235F - 0.03F * cell(i, 5, 5));
            best = lower(best, lower(rod(p, root, knee, 0.022F, 0.022F), rod(p, knee, c, 0.022F, 0.018F)));
        }
        return 0.85F * best;
    }
    case APPLE: {
        float y = p[1], q = r - 0.20F - 0.03F * y, body = sqrtf(q * q + y * y * (y > 0 ? 1.0F : 0.86F)) - 0.345F;
        return 0.85F * lower(body, rod(p, V(0, 0.15F, 0), V(0.05F, 0.46F, 0.03F), 0.014F, 0.024F));
    }
    case ORANGE:
        return len(p * V(1, 1.05F, 1)) - 0.47F + 0.0035F * noise3(p * 34);
    case LEMON: {
        float x = fabsf(p[0]), body = len(V(p[0] * 0.78F, p[1], p[2])) - 0.34F;
        float tip = ring(p[1], p[2]) - 0.12F + 0.25F * (x - 0.44F);
        float k = clamp(0.5F + 2.5F * (upper(tip, x - 0.53F) - body), 0, 1);
        return 0.75F * (mix(upper(tip, x - 0.53F), body, k) - 0.2F * k * (1 - k)) + 0.004F * noise3(p * 24);
    }
    case GRAPES: {
        float best = 9;
        for (int i = 0; i < 22; i++) {
            float a = (float)i * 2.4F, w = 0.62F * sqrtf(cell(i, 1, 77)), h = cell(i, 2, 77) * (0.62F - w) * 1.1F;
            vec c = V(w * 1.5F * cosf(a), -0.32F + (i < 12 ? 0 : 0.28F + h), w * sinf(a) * (i < 12 ? 1.0F : 0.6F));
            best = lower(best, len((p - c) * V(1, 0.93F, 1)) - 0.165F - 0.02F * cell(i, 3, 77));
        }
        return best;
    }
    case BOOK: {
        vec q = turn(p, 0.94F, -0.342F);
        float pages = box(q, V(1.20F, 0.11F, 0.83F), 0.01F), top = fabsf(fabsf(q[1]) - 0.13F) - 0.02F;
        vec cover = V(fabsf(q[0] + 0.02F) - 1.26F, top, fabsf(q[2]) - 0.88F);
        float spine = box(q + V(1.26F, 0, 0), V(0.03F, 0.15F, 0.88F), 0.02F);
        return lower(lower(pages, spine), upper(cover[1], upper(cover[0], cover[2])));
    }
    default: {
        float y = p[1], wall = fabsf(r - 0.36F - 0.10F * step(-0.45F, 0.3F, y)) - 0.022F;
        float body = upper(wall, fabsf(y) - 0.45F);
        body = lower(body, upper(r - 0.42F, fabsf(y + 0.41F) - 0.03F));
        vec h = V(fabsf(p[0] + 0.50F), y, p[2]);
        return 0.8F * lower(body, upper(ring(ring(p[0] + 0.46F, y * 0.9F) - 0.25F, h[2]) - 0.045F, 0.36F - r));
    }
    }
}

static const struct solid things[] = {
    {{-1.05F, 1.375F, 1.3F, 0}, 1.8F, table_field, VASE},
    {{-1.05F, 3.6F, 1.3F, 0}, 2.0F, table_field, STEMS},
    {{0.55F, 0.335F, -0.25F, 0}, 0.62F, table_field, APPLE},
    {{1.62F, 0.335F, 0.55F, 0}, 0.62F, table_field, APPLE + 16},
    {{0.62F, 0.45F, 1.15F, 0}, 0.50F, table_field, ORANGE},
    {{2.55F, 0.45F, 1.35F, 0}, 0.50F, table_field, ORANGE + 16},
    {{-0.55F, 0.34F, -0.75F, 0}, 0.60F, table_field, LEMON},
    {{1.75F, 0.47F, -0.85F, 0}, 1.25F, table_field, GRAPES},
    {{-2.45F, 0.15F, -0.35F, 0}, 1.6F, table_field, BOOK},
    {{-2.35F, 0.75F, -0.15F, 0}, 0.95F, table_field, CUP},
};
enum { THINGS = sizeof things / sizeof *things };

/* The window: a rectangle of light at the left, with a cross of glazing bars. */
static const vec pane = {-6.5F, 4.6F, -0.6F, 0};
static const vec pane_light = {11.5F, 11.2F, 10.8F, 0};
#define PANE_Y 2.1F
#define PANE_Z 2.0F

static vec room(vec d) /* what lights the table from elsewhere */
{
    return blend(V(0.10F, 0.075F, 0.055F), V(0.36F, 0.34F, 0.33F), step(-0.4F, 0.9F, d[1])) * (1.1F - 0.6F * d[0]);
}

static vec backdrop(vec d) /* a garden at evening, already out of focus: points of light are discs */
{
    float depth = upper(d[2], 0.01F), x = d[0] / depth, y = d[1] / depth, n = fbm2(x * 3 + 2, y * 3 + 7, 3);
    vec c = blend(V(0.030F, 0.045F, 0.030F), V(0.16F, 0.17F, 0.075F),
                  step(0.25F, 0.7F, n) * step(-0.5F, 0.3F, y + 0.4F * x));
    c = blend(c, V(0.30F, 0.22F, 0.12F), 0.8F * step(0.1F, 0.7F, fbm2(x * 2.1F + 31, y * 2.1F, 2) - 0.15F + 0.4F * x));
    float size = 0.105F;
    for (int layer = 0; layer < 2; layer++) {
        int i0 = (int)floorf(x / size), j0 = (int)floorf(y / size);
        for (int i = i0 - 1; i <= i0 + 1; i++)
            for (int j = j0 - 1; j <= j0 + 1; j++) {
                int k = 40 + 10 * layer;
                float r = 0.30F + 0.12F * cell(i, j, k), pick = cell(i, j, k + 1), warm = cell(i, j, k + 2);
                float dx = x / size - (float)i - cell(i, j, k + 3), dy = y / size - (float)j - cell(i, j, k + 4);
                float q = ring(dx, dy) / r;
                if (pick > 0.38F || q > 1.05F)
                    continue;
                vec hue = warm < 0.6F ? V(1, 0.62F, 0.26F) : V(1, 0.86F, 0.66F);
                if (warm > 0.8F)
                    hue = V(0.55F, 0.75F, 0.40F);
                c += hue * ((0.75F + 0.35F * step(0.7F, 0.98F, q)) * step(1.05F, 0.96F, q) * pick * pick * 4.8F);
            }
        size *= 0.62F;
    }
    return c;
}

static vec cloth(float x, float z)
{
    float c = 0.95F, s = 0.31F, u = (c * x + s * z) / 0.46F, w = (c * z - s * x) / 0.46F;
    float tu = u * 14, tw = w * 14, du = tu - floorf(tu) - 0.5F, dw = tw - floorf(tw) - 0.5F;
    bool over = ((int)floorf(tu) + (int)floorf(tw)) & 1; /* plain weave: warp and weft take turns on top */
    float band = over ? u : w, edge = band - 2 * floorf(band * 0.5F);
    vec yarn = edge < 1 ? V(0.78F, 0.75F, 0.69F) : V(0.42F, 0.050F, 0.045F);
    float fibre = cell((int)floorf(tu), (int)floorf(tw), 3), round = over ? du * du : dw * dw;
    return yarn * (1.08F - 1.3F * round) * (0.88F + 0.24F * fibre);
}

/* A page of print: lines of words of letters, each a few strokes on a 5 x 7 raster. */
static float print(float x, float y)
{
    float line = y / 0.105F, row = floorf(line), column = x / 0.050F, at = floorf(column);
    int i = (int)at, j = (int)row;
    bool gap = cell(i / 2 + i % 3, j, 90) < 0.16F || cell(j, 7, 91) < 0.08F;
    int gx = (int)((column - at) * 6), gy = (int)((line - row) * 11);
    if (gap || gx > 4 || gy < 2 || gy > 8)
        return 1;
    uint32_t glyph = hash((uint32_t)(cell(i, j, 92) * 26));
    int stroke = gx == 0 ? 1 : gx == 4 ? 2 : gy == 2 ? 4 : gy == 5 ? 8 : gy == 8 ? 16 : 0;
    return glyph & (uint32_t)stroke ? 0.12F : 1;
}

struct matter {
    vec albedo;
    float f0, rough; /* reflectance head on, and how wide the reflection spreads */
};

static struct matter thing_matter(const struct hit *h)
{
    vec p = h->p;
    float f = fbm3(p * 6 + h->solid->at, 5), r = ring(p[0], p[2]), a = atan2f(p[2], p[0]), mottle = 0.85F + 0.3F * f;
    struct matter m = {.f0 = 0.04F, .rough = 0.07F};
    switch (h->solid->id & 15) {
    case VASE: {
        float y = p[1] + 1.375F, k = 9 * a / 6.2831853F, t = fabsf(k - floorf(k) - 0.5F), high = fabsf(y - 2.2F);
        float leaf = t - 0.36F * sqrtf(upper(0, 1 - (y - 1.15F) * (y - 1.15F) / 0.42F));
        bool hoop = fabsf(y - 0.36F) < 0.025F || fabsf(y - 0.44F) < 0.012F || fabsf(y - 1.98F) < 0.02F || y > 2.7F;
        bool vein = leaf < -0.06F && fabsf(t - 0.10F * (1 + sinf(y * 26))) < 0.035F;
        bool diamond = high < 0.1F && fabsf(t - 0.25F) < 0.18F - high * 1.8F;
        bool blue = hoop || vein || diamond || fabsf(leaf) < 0.035F;
        m.albedo = blue ? V(0.035F, 0.075F, 0.26F) * (0.7F + 0.8F * f) : V(0.74F, 0.75F, 0.74F) * (0.93F + 0.1F * f);
        m.rough = 0.02F;
        break;
    }
    case STEMS: {
        float d = 9;
        for (int i = 0; i < BALLS; i++)
            d = lower(d, len(p - ball[i] + V(0, 3.6F, 0)));
        m.albedo = blend(V(0.80F, 0.50F, 0.035F), V(0.48F, 0.24F, 0.01F), clamp((0.262F - d) * 30, 0, 1));
        if (d > 0.3F)
            m.albedo = V(0.16F, 0.20F, 0.09F);
        m.rough = 0.5F;
        break;
    }
    case APPLE: {
        vec g = p * 21, id = V(floorf(g[0]), floorf(g[1]), floorf(g[2]));
        float streak = fbm3(V(cosf(a) * 4.5F, p[1] * 0.8F, sinf(a) * 4.5F) + h->solid->at, 5);
        float blush = step(0.12F, 0.85F, streak + 0.3F * f + (h->solid->id == APPLE ? 0.10F : -0.14F) * (1 + p[0]));
        m.albedo = blend(V(0.58F, 0.46F, 0.07F), V(0.46F, 0.030F, 0.025F), blush);
        m.albedo = blend(m.albedo, V(0.42F, 0.40F, 0.08F), step(0.2F, 0.02F, r) * 0.7F) * mottle;
        if (len(g - id - G(0.5F)) < 0.2F && cell((int)id[0], (int)id[1], (int)id[2]) < 0.4F)
            m.albedo = m.albedo * 0.7F + V(0.18F, 0.13F, 0.06F);
        if (r < 0.075F && p[1] > 0.2F)
            m.albedo = V(0.10F, 0.06F, 0.03F);
        break;
    }
    case ORANGE:
        m.albedo = V(0.80F, 0.27F, 0.018F) * mottle;
        m.rough = 0.22F;
        break;
    case LEMON:
        m.albedo = V(0.80F, 0.60F, 0.06F) * mottle;
        m.rough = 0.2F;
        break;
    case GRAPES: /* bloom lies where fingers have not been */
        m.albedo = blend(V(0.045F, 0.010F, 0.030F), V(0.17F, 0.14F, 0.22F), step(0.40F, 0.75F, f));
        m.rough = 0.12F;
        break;
    case BOOK: {
        vec q = turn(p, 0.94F, -0.342F);
        float x = fabsf(q[0] - 0.05F), z = fabsf(q[2]), rim = upper(x - 0.36F, z);
        m.albedo = V(0.045F, 0.11F, 0.105F) * (0.75F + 0.5F * noise3(p * 55));
        if (q[1] > 0.145F && rim < 0.68F) /* a label with a frame and print on it */
            m.albedo = V(0.74F, 0.69F, 0.57F) * (rim > 0.65F ? 0.35F : rim > 0.58F ? 1 : print(q[0] + 4, 4 - q[2]));
        if (fabsf(q[1]) < 0.112F && q[0] > -1.22F)
            m.albedo = V(0.70F, 0.64F, 0.52F) * (0.75F + 0.4F * cell(0, (int)(q[1] * 260), 6));
        m.rough = 0.4F;
        break;
    }
    default: /* the cup: two glazes run into each other, coffee inside */
        m.albedo = blend(V(0.20F, 0.33F, 0.36F), V(0.60F, 0.52F, 0.42F), step(0.05F, 0.22F, p[1] + 0.25F * (f - 0.5F)));
        m.albedo = r < 0.37F && fabsf(p[1] + 0.07F) < 0.32F ? V(0.06F, 0.03F, 0.015F) : m.albedo * mottle;
    }
    return m;
}

static inline vec scatter(uint32_t *rng, vec n) /* cosine-weighted about n */
{
    float a = 6.2831853F * draw(rng), z = 1 - 2 * draw(rng), r = sqrtf(upper(0, 1 - z * z));
    return unit(n * 1.0001F + V(r * cosf(a), r * sinf(a), z));
}

static vec table(float u, float v, uint32_t *rng)
{
    const vec eye = V(0.55F, 3.6F, -11.2F), ahead = unit(V(0.02F, 2.02F, 0.2F) - eye);
    const vec right = unit(cross(V(0, 1, 0), ahead)), above = cross(ahead, right);
    vec look = unit(ahead + right * (u * 0.54F) + above * (v * 0.54F)), sum = {0}, weight = G(1);
    float a = 6.2831853F * draw(rng), lens = 0.16F * sqrtf(draw(rng)), focus = 11.0F / dot(look, ahead);
    vec o = eye + right * (lens * cosf(a)) + above * (lens * sinf(a)), d = unit(eye + look * focus - o);
    bool mirrored = true; /* seen by the eye, at most through mirrors */

    for (int bounce = 0; bounce < 4; bounce++) {
        struct hit h = trace(things, THINGS, o, d, 0.002F, 40);
        float flat = d[1] < 0 ? -o[1] / d[1] : INFINITY;
        vec p = o + d * h.t, n = h.n;
        struct matter m;
        if (flat > 0.001F && flat < h.t && o[2] + d[2] * flat < 4.5F) {
            p = o + d * flat;
            m = (struct matter){cloth(p[0], p[2]), 0.02F, 0.6F};
            float dx, dz, fold = 0;
            vec slope = {0};
            for (int i = 1; i < 4; i++, fold += 3.1F) {
                noise2(p[0] * 0.5F * (float)i + fold, p[2] * 0.8F * (float)i, &dx, &dz);
                slope += V(dx, 0, dz) * (0.10F / (float)i);
            }
            n = unit(V(0, 1, 0) - slope);
        } else if (h.solid) {
            m = thing_matter(&h);
        } else {
            float t = (pane[0] - o[0]) / d[0], y = o[1] + d[1] * t - pane[1], z = o[2] + d[2] * t - pane[2];
            if (bounce == 0)
                sum += backdrop(look);
            else if (d[0] < 0 && fabsf(y) < PANE_Y && fabsf(z) < PANE_Z)
                sum += mirrored && fabsf(y) > 0.1F && fabsf(z) > 0.1F ? weight * pane_light : G(0);
            else
                sum += weight * room(d);
            break;
        }
        if (dot(n, d) > 0)
            n = -n;
        o = p + n * 0.004F;
        float c = 1 + dot(n, d), fresnel = m.f0 + (1 - m.f0) * c * c * c * c * c * (1 - m.rough);
        vec matte = weight * m.albedo * (1 - fresnel);
        float y = PANE_Y * (2 * draw(rng) - 1), z = PANE_Z * (2 * draw(rng) - 1);
        vec to = pane + V(0, y, z) - o;
        float far = len(to), cosine = dot(to, n) / far;
        if (cosine > 0 && to[0] < 0 && !trace(things, THINGS, o, to / far, 0.002F, far).solid)
            sum += matte * pane_light * (cosine * -to[0] / far * 4 * PANE_Y * PANE_Z / (3.1415927F * far * far));

        float shine = mirrored ? upper(0.25F, fresnel) : 0;
        mirrored = draw(rng) < shine;
        vec glance = reflect(d, n);
        d = mirrored ? unit(blend(glance, scatter(rng, glance), m.rough)) : scatter(rng, n);
        weight = mirrored ? weight * (fresnel / shine) : matte / (1 - shine);
        if (dot(d, n) < 0)
            break;
    }
    return V(lower(sum[0], 12), lower(sum[1], 12), lower(sum[2], 12));
}

/* ---- the camera ---- */

static const struct scene {
    const char *name;
    vec (*ray)(float u, float v, uint32_t *rng); /* u, v in picture heights from the middle, v up */
    float exposure;
    float rays; /* for the whole picture, unless --samples says how many a pixel gets */
} scenes[] = {
    {"dusk", dusk, 1.0F, 4e6F},
    {"table", table, 1.25F, 4e6F},
};

/* Linear light to coded 0..1: the filmic curve fitted to ACES by K. Narkowicz (2015), then the sRGB curve. */
static float film(float x)
{
    x = upper(x, 0) * 0.8F;
    x = clamp(x * (2.51F * x + 0.03F) / (x * (2.43F * x + 0.59F) + 0.14F), 0, 1);
    return x <= 0.0031308F ? 12.92F * x : 1.055F * powf(x, 1 / 2.4F) - 0.055F;
}

/* Unit noise at the site x, y of a Bayer mosaic, near enough normal: four bytes summed. */
static float grain(int x, int y)
{
    uint32_t h = hash((uint32_t)x * 0x9e3779b1 + hash((uint32_t)y + seed * 77));
    return ((float)((h & 255) + (h >> 8 & 255) + (h >> 16 & 255) + (h >> 24)) - 510) / 147.8F;
}

/* Shot and read noise, spread as interpolating the mosaic and the colour matrix spread it. */
static vec sensor(vec c, int x, int y)
{
    vec sum = {0}, weight = {0};
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            int colour = ((x + i) & 1) + ((y + j) & 1), w = (2 - abs(i)) * (2 - abs(j));
            sum[colour] += (float)w * grain(x + i, y + j);
            weight[colour] += (float)w;
        }
    vec n = sum / (weight + (vec){0, 0, 0, 1});
    for (int a = 0; a < 3; a++)
        n[a] *= sqrtf(0.00022F * upper(c[a], 0) + 0.0000025F);
    float mean = (n[0] + n[1] + n[2]) / 3;
    return c + n + (n - G(mean)) * 0.4F;
}

struct picture {
    int w, h, channels, depth, rays; /* rays a pixel */
    uint16_t *samples;
};

static void shoot(const struct picture *pic, const struct scene *scene)
{
    int many = pic->rays ? pic->rays : (int)clamp(scene->rays / ((float)pic->w * (float)pic->h), 1, 16);
    float inv = 1 / (float)pic->h, full = pic->depth == 16 ? 65535 : 255;
#pragma omp parallel for schedule(dynamic, 4)
    for (int y = 0; y < pic->h; y++)
        for (int x = 0; x < pic->w; x++) {
            uint32_t rng = hash((uint32_t)x + hash((uint32_t)y + hash(seed)));
            vec c = {0};
            float shift = draw(&rng), u = 0, v = 0;
            for (int s = 0; s < many; s++) { /* a lattice with the golden ratio covers the pixel evenly */
                float i = ((float)s + 0.5F) / (float)many, j = (float)s * 0.618034F + shift;
                u = ((float)x + i - 0.5F * (float)pic->w) * inv;
                v = (0.5F * (float)pic->h - (float)y - (j - floorf(j))) * inv;
                c += scene->ray(u, v, &rng);
            }
            float off = (u * u + v * v) * 0.42F;
            c = sensor(c * (scene->exposure / ((float)many * (1 + off) * (1 + off))), x, y);
            vec out = V(film(c[0]), film(c[1]), film(c[2]));
            if (pic->channels == 1)
                out[0] = 0.2126F * out[0] + 0.7152F * out[1] + 0.0722F * out[2];
            uint16_t *to = pic->samples + ((size_t)y * (size_t)pic->w + (size_t)x) * (size_t)pic->channels;
            for (int a = 0; a < pic->channels; a++)
                to[a] = (uint16_t)(out[a] * full + 0.5F);
        }
}

/* ---- files ---- */

static uint8_t *pack_row(const struct picture *pic, int y, uint8_t *row)
{
    size_t n = (size_t)pic->w * (size_t)pic->channels;
    const uint16_t *s = pic->samples + (size_t)y * n;
    for (size_t i = 0; i < n; i++)
        if (pic->depth == 16) {
            row[2 * i] = (uint8_t)(s[i] >> 8);
            row[2 * i + 1] = (uint8_t)s[i];
        } else {
            row[i] = (uint8_t)s[i];
        }
    return row;
}

static bool write_png(FILE *f, const struct picture *pic, uint8_t *row)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)pic->w, (png_uint_32)pic->h, pic->depth,
                 pic->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(png, info);
    for (int y = 0; y < pic->h; y++)
        png_write_row(png, pack_row(pic, y, row));
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return true;
}

struct jpeg_failure {
    struct jpeg_error_mgr base;
    jmp_buf jump;
};
static void jpeg_failed(j_common_ptr c)
{
    longjmp(((struct jpeg_failure *)c->err)->jump, 1);
}

static bool write_jpeg(FILE *f, const struct picture *pic, uint8_t *row)
{
    struct jpeg_compress_struct c;
    struct jpeg_failure failure;
    c.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = jpeg_failed;
    if (setjmp(failure.jump)) {
        jpeg_destroy_compress(&c);
        return false;
    }
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = (JDIMENSION)pic->w;
    c.image_height = (JDIMENSION)pic->h;
    c.input_components = pic->channels;
    c.in_color_space = pic->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 92, TRUE);
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < pic->h; y++)
        jpeg_write_scanlines(&c, (JSAMPROW[]){pack_row(pic, y, row)}, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return true;
}

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "make-assets: %s%s\n", what, value);
    fprintf(stderr,
            "usage: make-assets dusk|table OUT.png|OUT.jpg [--size WxH] [--seed N] [--samples N] [--gray] [--16]\n");
    return 2;
}

static bool whole(const char *text, long lo, long hi, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);
    *out = (int)n;
    return end > text && !*end && n >= lo && n <= hi;
}

int main(int argc, char **argv)
{
    struct picture pic = {.w = 1536, .h = 1024, .channels = 3, .depth = 8};
    const struct scene *scene = NULL;
    if (argc < 3)
        return usage("which scene, and where to?", "");
    const char *path = argv[2], *dot_at = strrchr(path, '.');
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (strcmp(argv[1], scenes[i].name) == 0)
            scene = &scenes[i];
    if (!scene)
        return usage("no such scene: ", argv[1]);
    for (int i = 3; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        int end = -1, number;
        if (strcmp(argv[i], "--gray") == 0) {
            pic.channels = 1;
        } else if (strcmp(argv[i], "--16") == 0) {
            pic.depth = 16;
        } else if (strcmp(argv[i], "--size") == 0) {
            if (sscanf(value, "%5dx%5d%n", &pic.w, &pic.h, &end) != 2 || value[end] || pic.w < 1 || pic.h < 1 ||
                pic.w > 12000 || pic.h > 8000)
                return usage("--size wants WxH, 1x1 to 12000x8000, not ", value);
            i++;
        } else if (strcmp(argv[i], "--samples") == 0) {
            if (!whole(value, 1, 9999, &pic.rays))
                return usage("--samples wants 1 to 9999, not ", value);
            i++;
        } else if (strcmp(argv[i], "--seed") == 0) {
            if (!whole(value, 0, 999999999, &number))
                return usage("--seed wants 0 to 999999999, not ", value);
            seed = (uint32_t)number;
            i++;
        } else {
            return usage("no such option: ", argv[i]);
        }
    }
    bool png = dot_at && strcmp(dot_at, ".png") == 0, jpeg = dot_at && strcmp(dot_at, ".jpg") == 0;
    if (!png && !jpeg)
        return usage("the output must end in .png or .jpg: ", path);
    if (jpeg && pic.depth == 16)
        return usage("--16 needs a .png: ", path);

    size_t n = (size_t)pic.w * (size_t)pic.channels;
    pic.samples = malloc(n * (size_t)pic.h * sizeof *pic.samples);
    uint8_t *row = malloc(n * 2);
    int status = 1;
    if (!pic.samples || !row) {
        fprintf(stderr, "make-assets: not enough memory for %dx%d\n", pic.w, pic.h);
        goto done;
    }
    FILE *f = fopen(path, "wb");
    if (f) {
        shoot(&pic, scene);
        bool ok = png ? write_png(f, &pic, row) : write_jpeg(f, &pic, row);
        if (fclose(f) == 0 && ok)
            status = 0;
    }
    if (status) {
        fprintf(stderr, "make-assets: cannot write %s: %s\n", path, strerror(errno));
        if (f)
            remove(path);
    }
done:
    free(row);
    free(pic.samples);
    return status;
}
