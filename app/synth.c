#include "synth.h"
#include "../filters/sample.h"

static uint32_t hash(uint32_t x, uint32_t y, uint32_t seed)
{
    uint32_t h = x * 0x9e3779b1U ^ y * 0x85ebca77U ^ seed * 0xc2b2ae3dU;
    h = (h ^ h >> 15) * 0x2c1b3c6dU;
    h = (h ^ h >> 12) * 0x297a2d39U;
    return h ^ h >> 15;
}

static float unit(uint32_t h)
{
    return (float)(h >> 8) * 0x1p-24F;
}

/* Smooth noise 0..1 with one value a cell of 2^bits pixels. */
static float cells(int x, int y, int bits, uint32_t seed)
{
    const uint32_t cx = (uint32_t)x >> bits, cy = (uint32_t)y >> bits;
    const float scale = 1.F / (float)(1 << bits), fx = (float)(x & ((1 << bits) - 1)) * scale,
                fy = (float)(y & ((1 << bits) - 1)) * scale;
    const float sx = fx * fx * (3.F - 2.F * fx), sy = fy * fy * (3.F - 2.F * fy);
    const float a = unit(hash(cx, cy, seed)), b = unit(hash(cx + 1, cy, seed));
    const float c = unit(hash(cx, cy + 1, seed)), d = unit(hash(cx + 1, cy + 1, seed));
    const float top = a + (b - a) * sx, bottom = c + (d - c) * sx;
    return top + (bottom - top) * sy;
}

static float pixel(int x, int y, int plane, uint32_t seed)
{
    const float shape = 0.6F * cells(x, y, 9, seed) + 0.4F * cells(x, y, 7, seed + 1);
    float v = 0.25F + 0.5F * cells(x, y, 10, seed + 2) + 0.1F * cells(x, y, 10, seed + 3 + (uint32_t)plane);
    if (shape > 0.58F) /* things, with hard edges and texture */
        v = 0.15F + 0.45F * cells(x, y, 5, seed + 7) + 0.25F * cells(x, y, 3, seed + 8) +
            0.1F * cells(x, y, 6, seed + 9 + (uint32_t)plane);
    else if (shape > 0.5F) /* a soft edge towards them */
        v += (shape - 0.5F) * 2.F;
    const float grain = unit(hash((uint32_t)x, (uint32_t)y, seed + 20 + (uint32_t)plane)) +
                        unit(hash((uint32_t)x, (uint32_t)y, seed + 40 + (uint32_t)plane)) - 1.F;
    return v + 0.02F * grain;
}

void tg_synth_photo(struct tg_image *im, uint32_t seed)
{
    const float full = tg_depth_full(im->depth);
    const int colors = tg_image_colors(im);
#pragma omp parallel for schedule(static)
    for (int y = 0; y < im->h; y++)
        for (int p = 0; p < im->planes; p++)
            for (int x = 0; x < im->w; x++) {
                float v = pixel(x, y, p, seed);
                if (p >= colors)
                    v = 1.4F * cells(x, y, 8, seed + 60);
                tg_put(im, p, x, y, fmaxf(0.F, fminf(1.F, v)) * full);
            }
}
