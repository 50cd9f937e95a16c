/* bilateral, paired: a weight is the same from either end, so each is computed once and used twice.
 *
 * One plane of 8-bit samples, radius up to 10. At radius 5, square, 121 taps a pixel: with an exponential a tap the special-function units
 * (16 a clock and SM) are the limit; sharing halves them, and the limit becomes the issue of the remaining 3.5 instructions
 * a tap (difference, exponent and exponential for two taps; two sums for each).
 *
 * A warp marches down a strip of 256 columns and H rows, eight columns a lane. Row y meets each row y + k, k = 1..r, once: for
 * every pair of pixels w (v(q) - v(p)) and w are added to p, and with the other sign to q. p's sums are in registers for the
 * whole step; q's in shared memory, r rows of them in a ring, written back after each k. What falls to pixels of a
 * neighbouring lane goes there by shuffles. The outer lanes, whose neighbours belong to another warp, compute sums that
 * are not whole and are not stored: strips overlap by them. So do rows: r rows above the strip are walked as p alone, and
 * what goes to q below it is lost. Warps never wait for each other.
 *
 * Samples are scaled beforehand so that an exponent is one multiply-add: u = v sqrt(log2(e) / 2) / sigma_range,
 * w = 2^(s(dx,k) - (u(q) - u(p))^2). Samples become float by bytes set into 2^23, exact, without the special-function units,
 * which a conversion would keep busy. Loops over pairs unroll: R is the radius rounded up to one of a few, and pairs past the
 * real one get an exponent that vanishes. A disc's rows, shorter with k, have code of their own up to radius 6, and in steps of
 * four columns beyond.
 */
#include "../filters/bilateral.h"
#include "tile.cuh"

namespace
{

enum { COLUMNS = 8, LANES = 32 }; /* a lane's columns: what 8 bytes hold */

constexpr float NEVER = -1e30F; /* an exponent: finite, and 2 to it is 0 */

struct paired_args {
    const uint8_t *src[TG_MAX_PLANES];
    uint8_t *dst[TG_MAX_PLANES];
    ptrdiff_t src_stride, dst_stride;
    int w, h, radius, border;
    float scale, unscale;   /* sample value to u and back */
    float space;            /* exponent of 2 a squared pixel distance */
    int across, down, rows; /* strips, and rows a strip */
    bool wide;              /* 8-byte loads and stores are aligned */
};

template <int R> struct shape {
    static constexpr int OUTER = (R + COLUMNS - 1) / COLUMNS; /* lanes on either side that are not stored */
    static constexpr int PAD = OUTER * COLUMNS;
    static constexpr int OUT = LANES * COLUMNS - 2 * PAD; /* columns a strip stores */
    static constexpr int PITCH = LANES * COLUMNS + 2 * PAD;
    static constexpr int RING = ((R + 1) * PITCH + 15) / 16 * 16; /* bytes: rows y..y+r as coded */
    static constexpr int SUMS = R * 4 * LANES * 16;               /* bytes: r rows of 8 sums and 8 weights a lane */
    static constexpr int FOLDED = LANES * COLUMNS * 4; /* bytes: where each column is read from, at the border */
    static constexpr int BYTES = RING + SUMS + FOLDED;
};

/* Half the width of a disc's row, rounded up to what has code of its own. */
template <int R, bool DISC> __host__ __device__ constexpr int reach(int k)
{
    if (!DISC)
        return R;
    int half = 0;
    while ((half + 1) * (half + 1) <= R * R - k * k)
        half++;
    constexpr int STEP = R <= 6 ? 1 : 4;
    half = (half + STEP - 1) / STEP * STEP;
    return half < R ? half : R;
}
template <int R, bool DISC> __host__ __device__ constexpr int first_row(int half)
{
    int k = 1;
    while (k <= R && reach<R, DISC>(k) != half)
        k++;
    return k;
}
template <int R, bool DISC> __host__ __device__ constexpr int end_row(int half)
{
    int k = R;
    while (k > 0 && reach<R, DISC>(k) != half)
        k--;
    return k + 1;
}

/* Byte `i` of eight as u. */
TG_DEVICE float scaled(uint2 bytes, int i, float scale)
{
    unsigned bits = __byte_perm(i < 4 ? bytes.x : bytes.y, 0x4B000000U, 0x7440U | (i & 3));
    return fmaf(__uint_as_float(bits), scale, -8388608.F * scale);
}

struct sums {
    float v[COLUMNS], w[COLUMNS];

    TG_DEVICE_METHOD void clear()
    {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            v[i] = w[i] = 0.F;
    }
    TG_DEVICE_METHOD void load(const float4 *at)
    {
#pragma unroll
        for (int g = 0; g < 2; g++) {
            float4 a = at[g * LANES], b = at[(2 + g) * LANES];
            v[4 * g] = a.x, v[4 * g + 1] = a.y, v[4 * g + 2] = a.z, v[4 * g + 3] = a.w;
            w[4 * g] = b.x, w[4 * g + 1] = b.y, w[4 * g + 2] = b.z, w[4 * g + 3] = b.w;
        }
    }
    TG_DEVICE_METHOD void store(float4 *at) const
    {
#pragma unroll
        for (int g = 0; g < 2; g++) {
            at[g * LANES] = make_float4(v[4 * g], v[4 * g + 1], v[4 * g + 2], v[4 * g + 3]);
            at[(2 + g) * LANES] = make_float4(w[4 * g], w[4 * g + 1], w[4 * g + 2], w[4 * g + 3]);
        }
    }
};

TG_DEVICE void add(float &sum, float &weights, float w, float d)
{
    sum = fmaf(w, d, sum);
    weights += w;
}

/* Sums for the pixels just right of a lane's eight, to the lanes that own them. */
template <int N> TG_DEVICE void give_right(sums &to, const float *v, const float *w)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        to.v[i % COLUMNS] += __shfl_up_sync(~0U, v[i], i / COLUMNS + 1);
        to.w[i % COLUMNS] += __shfl_up_sync(~0U, w[i], i / COLUMNS + 1);
    }
}
/* v[0..N-1] belong to the N pixels just left of them, from left to right. */
template <int N> TG_DEVICE void give_left(sums &to, const float *v, const float *w)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int far = (N - i + COLUMNS - 1) / COLUMNS, at = far * COLUMNS - (N - i);
        to.v[at] += __shfl_down_sync(~0U, v[i], far);
        to.w[at] += __shfl_down_sync(~0U, w[i], far);
    }
}

/* The lane's eight pixels p against q[-HALF..8+HALF-1] of another row. */
template <int HALF> TG_DEVICE void meet_row(const float *p, const float *q, sums &of_p, sums &of_q, const float *space)
{
    constexpr int N = HALF > 0 ? HALF : 1;
    float left_v[N] = {}, left_w[N] = {}, right_v[N] = {}, right_w[N] = {};
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
#pragma unroll
        for (int j = i - HALF; j <= i + HALF; j++) {
            const float d = q[j] - p[i], w = tg_exp2(fmaf(-d, d, space[j < i ? i - j : j - i]));
            add(of_p.v[i], of_p.w[i], w, d);
            if (j < 0)
                add(left_v[j + HALF], left_w[j + HALF], w, -d);
            else if (j >= COLUMNS)
                add(right_v[j - COLUMNS], right_w[j - COLUMNS], w, -d);
            else
                add(of_q.v[j], of_q.w[j], w, -d);
        }
    give_left<HALF>(of_q, left_v, left_w);
    give_right<HALF>(of_q, right_v, right_w);
}

/* The lane's eight pixels against those right of them in the same row; p[0..8+R-1]. */
template <int R> TG_DEVICE void meet_self(const float *p, sums &of_p, const float *space)
{
    float right_v[R] = {}, right_w[R] = {};
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
#pragma unroll
        for (int j = i + 1; j <= i + R; j++) {
            const float d = p[j] - p[i], w = tg_exp2(fmaf(-d, d, space[j - i]));
            add(of_p.v[i], of_p.w[i], w, d);
            if (j >= COLUMNS)
                add(right_v[j - COLUMNS], right_w[j - COLUMNS], w, -d);
            else
                add(of_p.v[j], of_p.w[j], w, -d);
        }
    give_right<R>(of_p, right_v, right_w);
}

/* Where a warp stands: its memory, the step's row, and where in the rings that row lies. */
struct march {
    const uint8_t *ring;
    float4 *kept;
    int y, ring_at, sums_at;
};

/* Samples first..last-1, counted from the lane's own first, of a row of the ring. */
template <int R> TG_DEVICE void read_row(const uint8_t *row, int first, int last, float scale, float *out)
{
#pragma unroll
    for (int g = -shape<R>::OUTER; g <= shape<R>::OUTER; g++) {
        if (g * COLUMNS >= last || (g + 1) * COLUMNS <= first)
            continue;
        const uint2 bytes = *(const uint2 *)(row + g * COLUMNS);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            if (g * COLUMNS + i >= first && g * COLUMNS + i < last)
                out[g * COLUMNS + i] = scaled(bytes, i, scale);
    }
}

/* All rows y + k whose reach is HALF, then those with less. */
template <int R, bool DISC, int HALF>
TG_DEVICE void meet_rows(const paired_args &args, const march &m, const float *p, sums &of_p)
{
    constexpr int FIRST = first_row<R, DISC>(HALF), END = end_row<R, DISC>(HALF);
    if constexpr (FIRST < END) {
#pragma unroll 1
        for (int k = FIRST; k < END && k <= args.radius; k++) {
            if (m.y + k < 0)
                continue;
            int ring_at = m.ring_at + k, sums_at = m.sums_at + k;
            ring_at -= ring_at > args.radius ? args.radius + 1 : 0;
            sums_at -= sums_at >= args.radius ? args.radius : 0;
            float space[HALF + 1], q[COLUMNS + 2 * R];
            const int most = DISC ? args.radius * args.radius - k * k : args.radius * args.radius;
#pragma unroll
            for (int dx = 0; dx <= HALF; dx++)
                space[dx] = dx * dx <= most ? args.space * (float)(dx * dx + k * k) : NEVER;
            read_row<R>(m.ring + ring_at * shape<R>::PITCH, -HALF, COLUMNS + HALF, args.scale, q + R);
            sums of_q;
            float4 *kept = m.kept + sums_at * 4 * LANES;
            if (k == args.radius) /* the first to meet that row */
                of_q.clear();
            else
                of_q.load(kept);
            meet_row<HALF>(p, q + R, of_p, of_q, space);
            of_q.store(kept);
        }
    }
    if constexpr (HALF > 0)
        meet_rows<R, DISC, HALF - 1>(args, m, p, of_p);
}

template <int R, bool DISC, int WARPS, int BLOCKS>
__global__ void __launch_bounds__(WARPS *LANES, BLOCKS) bilateral_cuda_paired(const __grid_constant__ paired_args args)
{
    typedef shape<R> S;
    extern __shared__ uint4 memory[];
    const int lane = threadIdx.x % LANES, strip = blockIdx.x * WARPS + threadIdx.x / LANES;
    if (strip >= args.across * args.down)
        return;
    uint8_t *ring = (uint8_t *)memory + threadIdx.x / LANES * S::BYTES + S::PAD + lane * COLUMNS;
    const int x = strip % args.across * S::OUT - S::PAD + lane * COLUMNS, y0 = strip / args.across * args.rows;
    const int rows = min(args.rows, args.h - y0), r = args.radius;
    const bool inside = args.wide && x >= 0 && x <= args.w - COLUMNS;
    const uint8_t *src = args.src[blockIdx.y];

    /* Folding divides: once a column, or the warps at the border would keep all others waiting at the end. */
    int *from = (int *)((uint8_t *)memory + threadIdx.x / LANES * S::BYTES + S::RING + S::SUMS) + lane;
    if (!inside)
#pragma unroll 1
        for (int i = 0; i < COLUMNS; i++)
            from[i * LANES] = tg_fold(x + i, args.w, (tg_border)args.border);

    auto fetch = [&](int y) {
        uint2 bytes = make_uint2(0, 0);
        y = tg_fold(y, args.h, (tg_border)args.border);
        if (y < 0)
            return bytes;
        const uint8_t *row = src + (ptrdiff_t)y * args.src_stride;
        if (inside)
            return *(const uint2 *)(row + x);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            unsigned v = from[i * LANES] < 0 ? 0U : row[from[i * LANES]];
            (i < 4 ? bytes.x : bytes.y) |= v << 8 * (i & 3);
        }
        return bytes;
    };

    march m;
    m.ring = ring;
    m.kept = (float4 *)((uint8_t *)memory + threadIdx.x / LANES * S::BYTES + S::RING) + lane;
    m.ring_at = m.sums_at = 0;
    if (lane < S::OUTER) /* beyond the outer lanes: never in a result, but read */
        for (int k = 0; k <= r; k++) {
            *(uint2 *)(ring - S::PAD + k * S::PITCH) = make_uint2(0, 0);
            *(uint2 *)(ring + LANES * COLUMNS + k * S::PITCH) = make_uint2(0, 0);
        }
    for (int k = 0; k <= r; k++)
        *(uint2 *)(ring + k * S::PITCH) = fetch(y0 - r + k);
    __syncwarp();

#pragma unroll 1
    for (m.y = -r; m.y < rows; m.y++) {
        const uint2 next = fetch(y0 + m.y + r + 1);
        float p[COLUMNS + R];
        sums of_p;
        read_row<R>(ring + m.ring_at * S::PITCH, 0, COLUMNS + R, args.scale, p);
        if (m.y < 0) {
            of_p.clear();
        } else {
            float space[R + 1];
#pragma unroll
            for (int dx = 0; dx <= R; dx++)
                space[dx] = dx <= r ? args.space * (float)(dx * dx) : NEVER;
            of_p.load(m.kept + m.sums_at * 4 * LANES);
            meet_self<R>(p, of_p, space);
        }
        meet_rows<R, DISC, R>(args, m, p, of_p);
        if (m.y >= 0 && lane >= S::OUTER && lane < LANES - S::OUTER) {
            uint8_t *to = args.dst[blockIdx.y] + (ptrdiff_t)(y0 + m.y) * args.dst_stride + x;
            uint8_t out[COLUMNS];
#pragma unroll
            for (int i = 0; i < COLUMNS; i++) /* the pixel itself weighs 1 */
                out[i] = tg_to_u8((p[i] + __fdividef(of_p.v[i], of_p.w[i] + 1.F)) * args.unscale);
            if (inside) {
                *(uint2 *)to = make_uint2(out[0] | out[1] << 8 | out[2] << 16 | (unsigned)out[3] << 24,
                                          out[4] | out[5] << 8 | out[6] << 16 | (unsigned)out[7] << 24);
            } else {
#pragma unroll
                for (int i = 0; i < COLUMNS; i++)
                    if (x + i < args.w)
                        to[i] = out[i];
            }
        }
        __syncwarp();
        *(uint2 *)(ring + m.ring_at * S::PITCH) = next;
        __syncwarp();
        m.ring_at = m.ring_at == r ? 0 : m.ring_at + 1;
        m.sums_at = m.sums_at == r - 1 ? 0 : m.sums_at + 1;
    }
}

/* Rows a strip such that all strips run in few, full waves: each costs its rows and the r above it. */
int rows_for(const paired_args &a, int slots)
{
    int best = a.h;
    double least = 1e300;
    for (int waves = 1; waves <= 8; waves++) {
        long long down = (long long)waves * slots / a.across;
        int rows = down < 1 ? a.h : (int)((a.h + down - 1) / down);
        rows = rows < 1 ? 1 : rows;
        long long strips = (long long)a.across * ((a.h + rows - 1) / rows);
        double cost = (double)((strips + slots - 1) / slots) * (rows + 0.5 * (a.radius + 1));
        if (cost < least) {
            least = cost;
            best = rows;
        }
    }
    return best;
}

template <int R, bool DISC> void launch(const struct tg_job *job, paired_args args, cudaStream_t stream)
{
    constexpr int WARPS = R <= 6 ? 4 : 2, BLOCKS = R <= 2 ? 6 : R <= 4 ? 4 : R <= 6 ? 3 : 4;
    auto kernel = bilateral_cuda_paired<R, DISC, WARPS, BLOCKS>;
    constexpr size_t bytes = (size_t)WARPS * shape<R>::BYTES;
    tg_allow_shared(kernel, bytes);
    static int blocks; /* a kernel's, on the first card that ran it; only the choice of rows hangs on it */
    if (blocks == 0 &&
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, WARPS * LANES, bytes) != cudaSuccess)
        blocks = 1;
    args.across = (int)(((long long)args.w + shape<R>::OUT - 1) / shape<R>::OUT);
    args.rows = rows_for(args, (blocks > 0 ? blocks : 1) * WARPS * tg_cuda_sms());
    args.down = (args.h + args.rows - 1) / args.rows;
    dim3 grid((args.across * args.down + WARPS - 1) / WARPS, (unsigned)tg_image_colors(&job->src));
    kernel<<<grid, WARPS * LANES, bytes, stream>>>(args);
}

template <int R> void launch_window(const struct tg_job *job, const paired_args &args, cudaStream_t stream)
{
    if (((const tg_bilateral *)job->params)->window == TG_BILATERAL_DISC)
        launch<R, true>(job, args, stream);
    else
        launch<R, false>(job, args, stream);
}

} // namespace

bool bilateral_cuda_paired_fits(const struct tg_job *job)
{
    const tg_bilateral *p = (const tg_bilateral *)job->params;
    bool single = p->distance == TG_BILATERAL_SEPARATE || job->src.planes == 1;
    return job->src.depth == TG_U8 && !job->src.has_alpha && single && tg_bilateral_radius(p) <= 10 &&
           (size_t)2 * shape<10>::BYTES <= tg_cuda_shared_limit();
}

int bilateral_cuda_paired(const struct tg_job *job)
{
    const tg_bilateral *p = (const tg_bilateral *)job->params;
    tg_image dst = job->dst;
    if (p->sigma_space <= 0.F || p->sigma_range <= 0.F)
        return tg_cuda_image_copy(&dst, &job->src, job->stream);
    const double log2e = 1.4426950408889634;
    paired_args args = {};
    for (int c = 0; c < job->src.planes; c++) {
        args.src[c] = (const uint8_t *)job->src.plane[c];
        args.dst[c] = (uint8_t *)job->dst.plane[c];
    }
    args.src_stride = job->src.stride;
    args.dst_stride = job->dst.stride;
    args.w = job->src.w;
    args.h = job->src.h;
    args.radius = tg_bilateral_radius(p);
    args.border = p->border;
    args.scale = (float)fmin(sqrt(log2e / 2) / (p->sigma_range * 255.), 1e12);
    args.unscale = 1.F / args.scale;
    args.space = (float)fmax(-0.5 * log2e / ((double)p->sigma_space * p->sigma_space), (double)NEVER);
    args.wide = tg_aligned(&job->src, COLUMNS) && tg_aligned(&job->dst, COLUMNS);
    cudaStream_t stream = tg_native(job);
    switch (args.radius) {
    case 1:
        launch_window<1>(job, args, stream);
        break;
    case 2:
        launch_window<2>(job, args, stream);
        break;
    case 3:
        launch_window<3>(job, args, stream);
        break;
    case 4:
        launch_window<4>(job, args, stream);
        break;
    case 5:
        launch_window<5>(job, args, stream);
        break;
    case 6:
        launch_window<6>(job, args, stream);
        break;
    case 7:
    case 8:
        launch_window<8>(job, args, stream);
        break;
    default:
        launch_window<10>(job, args, stream);
    }
    return tg_cuda_launched("bilateral paired");
}
