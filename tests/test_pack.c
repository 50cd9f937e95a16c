/* Between a codec's rows and planes: orientations, depths, linear light. */
#include "../filters/pack.h"
#include "../filters/sample.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a frame in guarded memory: 8 bytes of 0x5a behind each. */
static struct tg_frame frame(int w, int h, int channels, enum tg_depth depth)
{
    struct tg_frame f = {.w = w, .h = h, .channels = channels, .depth = depth};
    f.stride = (ptrdiff_t)((size_t)w * (size_t)channels * tg_depth_bytes(depth) + 8);
    f.data = malloc((size_t)f.stride * (size_t)h);
    memset(f.data, 0x5a, (size_t)f.stride * (size_t)h);
    return f;
}

static void check_guards(const struct tg_frame *f)
{
    for (int y = 0; y < f->h; y++)
        for (int i = 1; i <= 8; i++)
            CHECK_INT(((uint8_t *)f->data)[(y + 1) * f->stride - i], 0x5a);
}

static void put(struct tg_frame *f, int x, int y, int c, int v)
{
    void *row = (char *)f->data + y * f->stride;
    if (f->depth == TG_U8)
        ((uint8_t *)row)[x * f->channels + c] = (uint8_t)v;
    else
        ((uint16_t *)row)[x * f->channels + c] = (uint16_t)v;
}

static int get(const struct tg_frame *f, int x, int y, int c)
{
    const void *row = (const char *)f->data + y * f->stride;
    return f->depth == TG_U8 ? ((const uint8_t *)row)[x * f->channels + c]
                             : ((const uint16_t *)row)[x * f->channels + c];
}

static struct tg_frame noise(int w, int h, int channels, enum tg_depth depth)
{
    struct tg_frame f = frame(w, h, channels, depth);
    for (int y = 0; y < h; y++)
        for (int i = 0; i < w * channels; i++)
            put(&f, i / channels, y, i % channels, (int)(tg_random() & (depth == TG_U8 ? 0xff : 0xffff)));
    return f;
}

static struct tg_image image(int w, int h, int planes, enum tg_depth depth)
{
    struct tg_image im = {.w = w, .h = h, .planes = planes, .depth = depth, .has_alpha = planes % 2 == 0};
    CHECK_INT(tg_image_alloc(&im), 0);
    return im;
}

/* Where Exif 2.32 puts coded pixel (x,y) of w x h: for orientation 1..8 row 0 and column 0 of the file are the upright
 * picture's top left, top right, bottom right, bottom left, left top, right top, right bottom, left bottom. */
static void upright(int orientation, int w, int h, int x, int y, int *X, int *Y)
{
    const int to[8][2] = {{x, y}, {w - 1 - x, y}, {w - 1 - x, h - 1 - y}, {x, h - 1 - y},
                          {y, x}, {h - 1 - y, x}, {h - 1 - y, w - 1 - x}, {y, w - 1 - x}};
    *X = to[orientation - 1][0];
    *Y = to[orientation - 1][1];
}

TEST(orientation_corners)
{
    enum { RED, GREEN, BLUE, WHITE };
    static const int colors[4][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 255}};
    static const int top_left[8] = {RED, GREEN, WHITE, BLUE, RED, BLUE, WHITE, GREEN};
    struct tg_frame f = frame(16, 8, 3, TG_U8);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 16; x++)
            for (int c = 0; c < 3; c++)
                put(&f, x, y, c, colors[(y >= 4) * 2 + (x >= 8)][c]);
    for (int o = 1; o <= 8; o++) {
        CHECK_INT(tg_orientation_swaps(o), o > 4);
        struct tg_image im = image(o > 4 ? 8 : 16, o > 4 ? 16 : 8, 3, TG_U8);
        tg_unpack(&f, 0, 8, o, false, &im);
        for (int c = 0; c < 3; c++)
            CHECK_NEAR(tg_get(&im, c, 0, 0), colors[top_left[o - 1]][c], 0);
        tg_image_free(&im);
    }
    free(f.data);
}

/* Every orientation, channel count and depth, in one piece and in strips, against the map. */
TEST(orientation_map)
{
    static const int sizes[][2] = {{1, 1}, {1, 7}, {7, 1}, {13, 6}, {33, 17}};
    for (int s = 0; s < 5; s++)
        for (int o = 1; o <= 8; o++)
            for (int n = 1; n <= 4; n++)
                for (int kind = 0; kind < 4; kind++) {
                    const int w = sizes[s][0], h = sizes[s][1];
                    const enum tg_depth from = kind % 2 ? TG_U16 : TG_U8, to = kind < 2 ? from : TG_F32;
                    const float unit = to == TG_F32 ? tg_depth_full(from) : 1.F;
                    struct tg_frame f = noise(w, h, n, from);
                    struct tg_image im = image(o > 4 ? h : w, o > 4 ? w : h, n, to);
                    for (int y = 0; y < h;) {
                        struct tg_frame strip = f;
                        strip.data = (char *)f.data + y * f.stride;
                        strip.h = 1 + (int)(tg_random() % (unsigned)(h - y));
                        tg_unpack(&strip, y, h, o, false, &im);
                        y += strip.h;
                    }
                    int X, Y;
                    for (int y = 0; y < h; y++)
                        for (int x = 0; x < w; x++)
                            for (int c = 0; c < n; c++) {
                                upright(o, w, h, x, y, &X, &Y);
                                CHECK_NEAR(tg_get(&im, c, X, Y), (float)get(&f, x, y, c) / unit, 0);
                            }
                    check_guards(&f);
                    tg_image_free(&im);
                    free(f.data);
                }
}

/* Packing what was unpacked gives the same bytes, also through 16 bits and float, and in strips. */
TEST(round_trip)
{
    for (int n = 1; n <= 4; n++)
        for (enum tg_depth from = TG_U8; from <= TG_U16; from++)
            for (enum tg_depth via = from; via <= TG_F32; via++) {
                struct tg_frame f = noise(37, 11, n, from), back = frame(37, 11, n, from);
                struct tg_image im = image(37, 11, n, via);
                tg_unpack(&f, 0, 11, 1, false, &im);
                for (int y = 0; y < 11; y += 4) {
                    struct tg_frame strip = back;
                    strip.data = (char *)back.data + y * back.stride;
                    strip.h = y + 4 < 11 ? 4 : 11 - y;
                    tg_pack(&im, y, false, &strip);
                }
                CHECK(memcmp(f.data, back.data, (size_t)f.stride * 11) == 0);
                tg_image_free(&im);
                free(f.data);
                free(back.data);
            }
}

/* 16 bits to 8 where known by hand, both ways in. */
TEST(sixteen_to_eight)
{
    static const int in[6] = {0, 129, 255, 511, 32768, 65535}, want[6] = {0, 1, 1, 2, 128, 255};
    struct tg_frame f = frame(6, 1, 1, TG_U16), back = frame(6, 1, 1, TG_U8);
    struct tg_image narrow = image(6, 1, 1, TG_U8), wide = image(6, 1, 1, TG_U16);
    for (int i = 0; i < 6; i++)
        put(&f, i, 0, 0, in[i]);
    tg_unpack(&f, 0, 1, 1, false, &narrow);
    tg_unpack(&f, 0, 1, 1, false, &wide);
    tg_pack(&wide, 0, false, &back);
    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(tg_get(&narrow, 0, i, 0), want[i], 0);
        CHECK_NEAR(tg_get(&wide, 0, i, 0), in[i], 0);
        CHECK_INT(get(&back, i, 0, 0), want[i]);
    }
    check_guards(&back);
    tg_image_free(&narrow);
    tg_image_free(&wide);
    free(f.data);
    free(back.data);
}

/* All values there are. */
TEST(depths_exact)
{
    struct tg_frame in16 = frame(65536, 1, 1, TG_U16), in8 = frame(256, 1, 1, TG_U8), out8 = frame(65536, 1, 1, TG_U8),
                    out16 = frame(65536, 1, 1, TG_U16);
    struct tg_image u8 = image(65536, 1, 1, TG_U8), u16 = image(256, 1, 1, TG_U16), f32 = image(65536, 1, 1, TG_F32);
    for (int v = 0; v < 65536; v++)
        put(&in16, v, 0, 0, v);
    for (int v = 0; v < 256; v++)
        put(&in8, v, 0, 0, v);
    tg_unpack(&in8, 0, 1, 1, false, &u16);
    tg_unpack(&in16, 0, 1, 1, false, &u8);
    tg_unpack(&in16, 0, 1, 1, false, &f32);
    tg_pack(&f32, 0, false, &out8);
    tg_pack(&f32, 0, false, &out16);
    for (int v = 0; v < 256; v++)
        CHECK_NEAR(tg_get(&u16, 0, v, 0), v * 257, 0);
    for (int v = 0; v < 65536; v++) {
        int want = (v * 2 * 255 + 65535) / (2 * 65535); /* never half-way: 257 is odd */
        CHECK_NEAR(tg_get(&u8, 0, v, 0), want, 0);
        CHECK_NEAR(tg_get(&f32, 0, v, 0), (float)v / 65535.F, 0);
        CHECK_INT(get(&out8, v, 0, 0), want);
        CHECK_INT(get(&out16, v, 0, 0), v);
    }
    tg_image_free(&u8);
    tg_image_free(&u16);
    tg_image_free(&f32);
    free(in16.data);
    free(in8.data);
    free(out8.data);
    free(out16.data);
}

/* Out of float: rounded once, clamped, never wrapped. */
TEST(float_clamps)
{
    static const struct {
        float v;
        int u8, u16;
    } cases[] = {{-1.F, 0, 0},           {-1e-9F, 0, 0},        {0.F, 0, 0}, {0.5F, 128, 32768},     {1.F, 255, 65535},
                 {1.004F, 255, 65535},   {1e30F, 255, 65535},   {NAN, 0, 0}, {INFINITY, 255, 65535}, {-INFINITY, 0, 0},
                 {0.4F / 255.F, 0, 103}, {0.6F / 255.F, 1, 154}};
    enum { N = sizeof cases / sizeof cases[0] };
    struct tg_image im = image(N, 1, 1, TG_F32);
    for (int i = 0; i < N; i++)
        tg_put(&im, 0, i, 0, cases[i].v);
    struct tg_frame u8 = frame(N, 1, 1, TG_U8), u16 = frame(N, 1, 1, TG_U16);
    tg_pack(&im, 0, false, &u8);
    tg_pack(&im, 0, false, &u16);
    for (int i = 0; i < N; i++) {
        CHECK_INT(get(&u8, i, 0, 0), cases[i].u8);
        CHECK_INT(get(&u16, i, 0, 0), cases[i].u16);
    }
    tg_image_free(&im);
    free(u8.data);
    free(u16.data);
}

/* IEC 61966-2-1; alpha stays as it is. */
TEST(linear)
{
    for (int n = 1; n <= 4; n++) {
        struct tg_frame f = frame(256, 1, n, TG_U8), back = frame(256, 1, n, TG_U8);
        struct tg_image im = image(256, 1, n, TG_F32);
        for (int v = 0; v < 256; v++)
            for (int c = 0; c < n; c++)
                put(&f, v, 0, c, v);
        tg_unpack(&f, 0, 1, 1, true, &im);
        for (int v = 0; v < 256; v++)
            for (int c = 0; c < n; c++) {
                double s = v / 255., want = s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
                CHECK_NEAR(tg_get(&im, c, v, 0), im.has_alpha && c == n - 1 ? s : want, 1e-6);
            }
        CHECK_NEAR(tg_get(&im, 0, 188, 0), 0.5029, 5e-5);
        tg_pack(&im, 0, true, &back);
        CHECK(memcmp(f.data, back.data, (size_t)f.stride) == 0);
        tg_image_free(&im);
        free(f.data);
        free(back.data);
    }
    struct tg_image half = image(1, 1, 1, TG_F32);
    struct tg_frame out = frame(1, 1, 1, TG_U8);
    tg_put(&half, 0, 0, 0, 0.5F);
    tg_pack(&half, 0, true, &out);
    CHECK_INT(get(&out, 0, 0, 0), 188);
    tg_image_free(&half);
    free(out.data);

    struct tg_frame all = frame(65536, 1, 1, TG_U16), same = frame(65536, 1, 1, TG_U16);
    struct tg_image im = image(65536, 1, 1, TG_F32);
    for (int v = 0; v < 65536; v++)
        put(&all, v, 0, 0, v);
    tg_unpack(&all, 0, 1, 1, true, &im);
    tg_pack(&im, 0, true, &same);
    CHECK(memcmp(all.data, same.data, (size_t)all.stride) == 0);
    tg_image_free(&im);
    free(all.data);
    free(same.data);
}

TESTS(T(orientation_corners), T(orientation_map), T(round_trip), T(sixteen_to_eight), T(depths_exact), T(float_clamps),
      T(linear))
