/* Between a codec's interleaved rows and planes: tg_cuda_unpack and tg_cuda_pack.
 *
 * 6 bytes a pixel of 8-bit RGB, hardly any arithmetic: the memory is the limit, and the bus long before it.
 * A thread takes four neighbours: 12 bytes of 8-bit RGB, three words where a row starts on a word, and a group of four in
 * each plane. Where rows become columns (orientations 5..8) a block turns 32 x 32 pixels in shared memory, so that both
 * reads and writes run along rows.
 */
#include "tile.cuh"

enum { LANES = 32, ROWS = 8, RUN = 4, TURN = 32 };

/* One sample of a frame as the planes want it, or the other way round: widen() of filters/pack.c. */
template <typename FROM, typename TO> TG_DEVICE float convert(float v)
{
    if (sizeof(FROM) == sizeof(TO))
        return v;
    if (sizeof(FROM) == 1 && sizeof(TO) == 2)
        return v * 257.F;
    if (sizeof(FROM) == 2 && sizeof(TO) == 1)
        return v * 255.F / 65535.F;
    return v / tg_full<FROM> * tg_full<TO>;
}

template <typename CODED, typename T> TG_DEVICE float unpacked(CODED sample, bool linear)
{
    float v = convert<CODED, T>(sample);
    return tg_is_float<T> && linear ? tg_srgb_to_linear(v) : v;
}

template <typename T, typename CODED> TG_DEVICE float packed(T sample, bool linear)
{
    float v = sample;
    return convert<T, CODED>(tg_is_float<T> && linear ? tg_linear_to_srgb(v) : v);
}

/* Four pixels of interleaved samples. */
template <typename CODED, int CHANNELS> struct __align__(4) run
{
    CODED v[RUN * CHANNELS];
};

template <typename CODED, int CHANNELS> TG_DEVICE void copy_words(void *to, const void *from)
{
#pragma unroll
    for (int i = 0; i < (int)sizeof(run<CODED, CHANNELS>) / 4; i++)
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
}

TG_DEVICE bool on_word(const void *p)
{
    return (uintptr_t)p % 4 == 0;
}

/* Orientations 1 to 4: rows stay rows. */
template <typename CODED, typename T, int CHANNELS>
static __global__ void unpack_rows(const tg_frame rows, const __grid_constant__ tg_image dst, int across, bool mirror,
                                   bool upset, bool linear, bool wide)
{
    const int x = (blockIdx.x % across * LANES + threadIdx.x) * RUN, y = blockIdx.x / across * ROWS + threadIdx.y;
    if (x >= rows.w || y >= rows.h)
        return;
    const CODED *from = (const CODED *)((const char *)rows.data + y * rows.stride) + (size_t)x * CHANNELS;
    const int n = min(RUN, rows.w - x), colors = dst.planes - (dst.has_alpha ? 1 : 0), up = upset ? rows.h - 1 - y : y;
    run<CODED, CHANNELS> in;
    if (n == RUN && on_word(from)) {
        copy_words<CODED, CHANNELS>(&in, from);
    } else {
#pragma unroll
        for (int i = 0; i < RUN * CHANNELS; i++)
            in.v[i] = i < n * CHANNELS ? from[i] : 0;
    }
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        T *row = tg_row<T>(dst, c, up), out[RUN];
#pragma unroll
        for (int i = 0; i < RUN; i++)
            tg_store(&out[i], unpacked<CODED, T>(in.v[i * CHANNELS + c], linear && c < colors));
        if (n == RUN && wide && !mirror) {
            typename tg_four<T>::type four = {out[0], out[1], out[2], out[3]};
            *(typename tg_four<T>::type *)(row + x) = four;
        } else {
#pragma unroll
            for (int i = 0; i < RUN; i++)
                if (i < n)
                    row[mirror ? rows.w - 1 - x - i : x + i] = out[i];
        }
    }
}

/* Orientations 5 to 8: rows become columns. */
template <typename CODED, typename T>
static __global__ void unpack_turned(const tg_frame rows, const __grid_constant__ tg_image dst, int across, bool mirror,
                                     bool upset, bool linear)
{
    __shared__ T tile[TG_MAX_PLANES][TURN][TURN + 1];
    const int x0 = blockIdx.x % across * TURN, y0 = blockIdx.x / across * TURN;
    const int colors = dst.planes - (dst.has_alpha ? 1 : 0);
    for (int j = threadIdx.y; j < TURN; j += ROWS) {
        const int x = x0 + threadIdx.x, y = y0 + j;
        if (x >= rows.w || y >= rows.h)
            continue;
        const CODED *from = (const CODED *)((const char *)rows.data + y * rows.stride) + (size_t)x * rows.channels;
        for (int c = 0; c < rows.channels; c++)
            tg_store(&tile[c][j][threadIdx.x], unpacked<CODED, T>(from[c], linear && c < colors));
    }
    __syncthreads();
    for (int i = threadIdx.y; i < TURN; i += ROWS) {
        const int x = x0 + i, y = y0 + threadIdx.x; /* as coded */
        if (x >= rows.w || y >= rows.h)
            continue;
        const int to_x = mirror ? rows.h - 1 - y : y, to_y = upset ? rows.w - 1 - x : x;
        for (int c = 0; c < rows.channels; c++)
            tg_row<T>(dst, c, to_y)[to_x] = tile[c][threadIdx.x][i];
    }
}

template <typename T, typename CODED, int CHANNELS>
static __global__ void pack_rows(const __grid_constant__ tg_image src, const tg_frame rows, int across, bool linear,
                                 bool wide)
{
    const int x = (blockIdx.x % across * LANES + threadIdx.x) * RUN, y = blockIdx.x / across * ROWS + threadIdx.y;
    if (x >= rows.w || y >= rows.h)
        return;
    CODED *to = (CODED *)((char *)rows.data + y * rows.stride) + (size_t)x * CHANNELS;
    const int n = min(RUN, rows.w - x), colors = src.planes - (src.has_alpha ? 1 : 0);
    run<CODED, CHANNELS> out;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const T *row = tg_row<T>(src, c, y) + x;
        T in[RUN];
        if (n == RUN && wide) {
            typename tg_four<T>::type four = *(const typename tg_four<T>::type *)row;
            in[0] = four.x;
            in[1] = four.y;
            in[2] = four.z;
            in[3] = four.w;
        } else {
#pragma unroll
            for (int i = 0; i < RUN; i++)
                in[i] = i < n ? row[i] : 0;
        }
#pragma unroll
        for (int i = 0; i < RUN; i++)
            tg_store(&out.v[i * CHANNELS + c], packed<T, CODED>(in[i], linear && c < colors));
    }
    if (n == RUN && on_word(to)) {
        copy_words<CODED, CHANNELS>(to, &out);
    } else {
#pragma unroll
        for (int i = 0; i < RUN * CHANNELS; i++)
            if (i < n * CHANNELS)
                to[i] = out.v[i];
    }
}

/* f(CODED(), channels as a type). */
template <typename F> static void by_frame(const tg_frame *rows, F f)
{
    auto by_channels = [&](auto coded) {
        if (rows->channels == 1)
            f(coded, std::integral_constant<int, 1>());
        else if (rows->channels == 2)
            f(coded, std::integral_constant<int, 2>());
        else if (rows->channels == 3)
            f(coded, std::integral_constant<int, 3>());
        else
            f(coded, std::integral_constant<int, 4>());
    };
    if (rows->depth == TG_U8)
        by_channels(uint8_t());
    else
        by_channels(uint16_t());
}

int tg_cuda_unpack(const struct tg_frame *rows, int orientation, bool linear, struct tg_image *dst, struct tg_stream *s)
{
    const bool turned = tg_orientation_swaps(orientation);
    /* Which way the upright picture's rows, and its columns, run against the coded picture. */
    const bool mirror = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    const bool upset = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    const bool wide = tg_aligned4(dst);
    const dim3 block(LANES, ROWS);
    cudaStream_t stream = (cudaStream_t)tg_stream_native(s);
    tg_grid g = turned ? tg_grid_for(rows->w, rows->h, TURN, TURN, 1)
                       : tg_grid_for(rows->w, rows->h, LANES * RUN, ROWS, 1);
    tg_by_depth(dst->depth, [&](auto t) {
        by_frame(rows, [&](auto coded, auto channels) {
            typedef decltype(t) T;
            typedef decltype(coded) CODED;
            if (turned)
                unpack_turned<CODED, T><<<g.blocks, block, 0, stream>>>(*rows, *dst, g.across, mirror, upset, linear);
            else
                unpack_rows<CODED, T, decltype(channels)::value>
                    <<<g.blocks, block, 0, stream>>>(*rows, *dst, g.across, mirror, upset, linear, wide);
        });
    });
    return tg_cuda_launched("unpacking");
}

int tg_cuda_pack(const struct tg_image *src, bool linear, struct tg_frame *rows, struct tg_stream *s)
{
    const bool wide = tg_aligned4(src);
    cudaStream_t stream = (cudaStream_t)tg_stream_native(s);
    tg_grid g = tg_grid_for(rows->w, rows->h, LANES * RUN, ROWS, 1);
    tg_by_depth(src->depth, [&](auto t) {
        by_frame(rows, [&](auto coded, auto channels) {
            pack_rows<decltype(t), decltype(coded), decltype(channels)::value>
                <<<g.blocks, dim3(LANES, ROWS), 0, stream>>>(*src, *rows, g.across, linear, wide);
        });
    });
    return tg_cuda_launched("packing");
}
