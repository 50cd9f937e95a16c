/* What the kernels share: samples as float, borders, groups of four samples, tiles with a halo, grids.
 *
 * A tile's origin is moved left to a multiple of 4 samples, so that inside the picture and with aligned rows a thread
 * loads four neighbours at once (4, 8 or 16 bytes) and stores them to shared memory as one float4; across a border each
 * sample is folded. A grid counts tiles along x alone, row of tiles after row: grid.y ends at 65535.
 */
#ifndef TG_TILE_CUH
#define TG_TILE_CUH

#include "../filters/filter.h"
#include "../filters/log.h"
#include "../filters/pixel.h"
#include "cuda.h"

#include <limits.h>
#include <type_traits>

#define TG_DEVICE        static __device__ __forceinline__
#define TG_DEVICE_METHOD __device__ __forceinline__

/* ---- samples ---- */

template <typename T> constexpr bool tg_is_float = std::is_same<T, float>::value;
template <typename T> constexpr float tg_full = sizeof(T) == 1 ? 255.F : sizeof(T) == 2 ? 65535.F : 1.F;

template <typename T> struct tg_four;
template <> struct tg_four<uint8_t> {
    typedef uchar4 type;
};
template <> struct tg_four<uint16_t> {
    typedef ushort4 type;
};
template <> struct tg_four<float> {
    typedef float4 type;
};

/* 16 bytes of samples. */
template <typename T> struct __align__(16) tg_chunk
{
    enum { N = 16 / sizeof(T) };
    T v[N];
};

template <typename T> TG_DEVICE T *tg_row(const tg_image &im, int plane, int y)
{
    return (T *)((char *)im.plane[plane] + (ptrdiff_t)y * im.stride);
}

TG_DEVICE void tg_store(uint8_t *p, float v)
{
    *p = tg_to_u8(v);
}
TG_DEVICE void tg_store(uint16_t *p, float v)
{
    *p = tg_to_u16(v);
}
TG_DEVICE void tg_store(float *p, float v)
{
    *p = v;
}

/* True but for a float that is NaN or infinite. */
template <typename T> TG_DEVICE bool tg_sound(float v)
{
    return !tg_is_float<T> || tg_finite(v);
}

/* 2 to the x, within 2^-22 of it; 0 under 2^-126. */
TG_DEVICE float tg_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* What a filter gives where it keeps the pixel. */
template <typename T> TG_DEVICE float tg_kept(float v)
{
    return tg_sound<T>(v) ? v : NAN;
}

/* The weight that a sample of alpha gives: 0..1 for legal values. */
template <typename T> TG_DEVICE float tg_alpha(float sample)
{
    return tg_sound<T>(sample) ? sample / tg_full<T> : 0.F;
}

/* A sum in float, at integer depths with W. Kahan's compensation: the mean of a fine pattern lies on the edge between two
 * code values, and many taps would push it over. The sum is value less lost. */
template <typename T> struct tg_sum {
    float value, lost;

    TG_DEVICE_METHOD void add(float x)
    {
        if (sizeof(T) == 4) {
            value += x;
            return;
        }
        const float y = x - lost, t = value + y;
        lost = (t - value) - y;
        value = t;
    }
};

/* As tg_tap of filters/sample.h. */
template <typename T> TG_DEVICE float tg_tap(const tg_image &im, int plane, int x, int y, tg_border border, float *a)
{
    x = tg_fold(x, im.w, border);
    y = tg_fold(y, im.h, border);
    if (x < 0 || y < 0) {
        *a = im.has_alpha ? 0.F : 1.F;
        return 0.F;
    }
    float v = tg_row<T>(im, plane, y)[x];
    if (!tg_sound<T>(v)) {
        *a = 0.F;
        return 0.F;
    }
    *a = im.has_alpha ? tg_alpha<T>(tg_row<T>(im, im.planes - 1, y)[x]) : 1.F;
    return v;
}

/* ---- groups of four ---- */

/* Samples x..x+3 of a row, x a multiple of 4; 0 outside under TG_CONSTANT. wide: see tg_aligned. */
template <typename T>
TG_DEVICE float4 tg_load4(const tg_image &im, int plane, int x, int y, tg_border border, bool wide)
{
    float v[4] = {0.F, 0.F, 0.F, 0.F};
    y = tg_fold(y, im.h, border);
    if (y >= 0) {
        const T *row = tg_row<T>(im, plane, y);
        if (wide && x >= 0 && x <= im.w - 4) {
            typename tg_four<T>::type four = *(const typename tg_four<T>::type *)(row + x);
            return make_float4(four.x, four.y, four.z, four.w);
        }
        for (int i = 0; i < 4; i++) {
            int from = tg_fold(x + i, im.w, border);
            if (from >= 0)
                v[i] = row[from];
        }
    }
    return make_float4(v[0], v[1], v[2], v[3]);
}

/* What four taps weigh by alpha. Outside under TG_CONSTANT tg_load4's 0 is right where there is alpha, and 1 elsewhere. */
template <typename T> TG_DEVICE float4 tg_alpha4(const tg_image &im, int x, int y, tg_border border, bool wide)
{
    if (!im.has_alpha)
        return make_float4(1.F, 1.F, 1.F, 1.F);
    float4 a = tg_load4<T>(im, im.planes - 1, x, y, border, wide);
    return make_float4(tg_alpha<T>(a.x), tg_alpha<T>(a.y), tg_alpha<T>(a.z), tg_alpha<T>(a.w));
}

/* A value that is not finite becomes a 0 that weighs 0. */
template <typename T> TG_DEVICE void tg_drop(float *v, float *a)
{
    if (!tg_sound<T>(*v))
        *v = *a = 0.F;
}
template <typename T> TG_DEVICE void tg_drop4(float4 *v, float4 *a)
{
    tg_drop<T>(&v->x, &a->x);
    tg_drop<T>(&v->y, &a->y);
    tg_drop<T>(&v->z, &a->z);
    tg_drop<T>(&v->w, &a->w);
}

/* ---- tiles ---- */

/* The shape of a tile in shared memory: tw x th outputs and what lies around them. */
struct tg_tile {
    int margin; /* samples left of the first output, a multiple of 4 */
    int top;    /* rows above it */
    int pitch;  /* samples a row, a multiple of 4 */
    int rows;
};

static inline tg_tile tg_tile_for(int tw, int th, int left, int right, int top, int bottom)
{
    tg_tile t;
    t.margin = (left + 3) / 4 * 4;
    t.top = top;
    t.pitch = (t.margin + tw + right + 3) / 4 * 4;
    t.rows = top + th + bottom;
    return t;
}

static inline size_t tg_tile_bytes(const tg_tile &t, int layers)
{
    return (size_t)t.pitch * (size_t)t.rows * (size_t)layers * sizeof(float);
}

/* All threads of the block: calls f(at, x, y) for each group of a tile whose first output is pixel (x0, y0); `at` is the
 * group's place in a layer, (x, y) its first pixel. */
template <typename F> TG_DEVICE void tg_each_group(const tg_tile &t, int x0, int y0, F f)
{
    const int across = t.pitch / 4, n = across * t.rows;
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < n; i += blockDim.x * blockDim.y) {
        int row = i / across, column = (i - row * across) * 4;
        f(row * t.pitch + column, x0 - t.margin + column, y0 - t.top + row);
    }
}

/* One plane into one layer, and where WEIGHED what its taps weigh into a second one behind it. */
template <typename T, bool WEIGHED>
TG_DEVICE void tg_load_tile(const tg_tile &t, float *layer, const tg_image &im, int plane, int x0, int y0,
                            tg_border border, bool wide)
{
    tg_each_group(t, x0, y0, [&](int at, int x, int y) {
        float4 v = tg_load4<T>(im, plane, x, y, border, wide);
        if (WEIGHED) {
            float4 a = tg_alpha4<T>(im, x, y, border, wide);
            tg_drop4<T>(&v, &a);
            *(float4 *)(layer + t.pitch * t.rows + at) = a;
        }
        *(float4 *)(layer + at) = v;
    });
}

/* ---- launches ---- */

struct tg_grid {
    dim3 blocks;
    int across; /* tiles a row */
};

/* Tiles of tw x th over w x h, `layers` times along y. A number of tiles past what a grid can hold becomes no grid, which the
 * launch refuses. */
static inline tg_grid tg_grid_for(int w, int h, int tw, int th, int layers)
{
    size_t across = ((size_t)w + (size_t)tw - 1) / (size_t)tw, down = ((size_t)h + (size_t)th - 1) / (size_t)th;
    size_t n = across * down;
    tg_grid g;
    g.blocks = dim3(n <= INT_MAX ? (unsigned)n : 0U, (unsigned)layers);
    g.across = (int)across;
    return g;
}

/* True where the planes and rows start on a multiple of `bytes`. */
static inline bool tg_aligned(const tg_image *im, size_t bytes)
{
    uintptr_t bits = (uintptr_t)im->stride;
    for (int p = 0; p < im->planes; p++)
        bits |= (uintptr_t)im->plane[p];
    return bits % bytes == 0;
}
static inline bool tg_aligned4(const tg_image *im)
{
    return tg_aligned(im, 4 * tg_depth_bytes(im->depth));
}

/* True where taps differ in what they weigh: by alpha, or since a float may be no number. Other kernels skip all that. */
static inline bool tg_weighed(const tg_image *im)
{
    return im->has_alpha || im->depth == TG_F32;
}

static inline cudaStream_t tg_native(const struct tg_job *job)
{
    return (cudaStream_t)tg_stream_native(job->stream);
}

/* Lets a kernel have that much dynamic shared memory; a failure shows at the launch. */
template <typename K> static inline void tg_allow_shared(K *kernel, size_t bytes)
{
    if (bytes > 48 << 10)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

/* f(T()) with the depth's sample type. */
template <typename F> static inline void tg_by_depth(enum tg_depth depth, F f)
{
    if (depth == TG_U8)
        f(uint8_t());
    else if (depth == TG_U16)
        f(uint16_t());
    else
        f(float());
}

/* f(T(), weighed) with both as types; float is always weighed. */
template <typename F> static inline void tg_by_depth_weighed(const tg_image *im, F f)
{
    if (im->depth == TG_F32)
        f(float(), std::true_type());
    else if (im->depth == TG_U16)
        im->has_alpha ? f(uint16_t(), std::true_type()) : f(uint16_t(), std::false_type());
    else
        im->has_alpha ? f(uint8_t(), std::true_type()) : f(uint8_t(), std::false_type());
}

/* Weights from host to device memory as arguments of launches: no pageable copy, which could wait. */
struct tg_weights {
    enum { N = 960 }; /* arguments end at 4 KB on older toolkits */
    float v[N];
};
static __global__ void tg_weights_put(float *to, const __grid_constant__ tg_weights w, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = w.v[i];
}
/* weight(i) for i in 0..n-1 into to[i]. */
template <typename F> static inline void tg_put_weights(float *to, int n, cudaStream_t stream, F weight)
{
    for (int at = 0; at < n; at += tg_weights::N) {
        tg_weights w = {};
        int some = n - at < tg_weights::N ? n - at : (int)tg_weights::N;
        for (int i = 0; i < some; i++)
            w.v[i] = weight(at + i);
        tg_weights_put<<<1, 256, 0, stream>>>(to + at, w, some);
    }
}

#endif
