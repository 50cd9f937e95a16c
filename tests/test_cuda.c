/* The CUDA side below the filters: devices, memory, copies, faults, packing, and sizes past what grids and offsets hold. */
#include "../filters/chain.h"
#include "../filters/log.h"
#include "../kernels/cuda.h"
#include "check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tg_device *dev;
static struct tg_stream *stream;

/* False, and the test skipped, where there is no card. */
static bool begin(void)
{
    if (tg_cuda_open(&dev, NULL)) {
        tg_skip(tg_error());
        return false;
    }
    CHECK_INT(tg_stream_open(dev, &stream), 0);
    return stream != NULL;
}

static void end(void)
{
    tg_stream_close(stream);
    tg_cuda_close(dev);
    stream = NULL;
    dev = NULL;
}

static void *take(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) {
        perror("malloc");
        exit(99);
    }
    return p;
}

/* ---- devices ---- */

TEST(no_card)
{
    struct tg_device_info list[8];
    int n = -1, err = tg_cuda_list(list, 8, &n);
    if (!err) {
        tg_skip("there is a card");
        return;
    }
    CHECK_INT(err, TG_EDEVICE);
    CHECK_INT(n, 0);
    struct tg_device *d = (struct tg_device *)&n;
    CHECK_INT(tg_cuda_open(&d, NULL), TG_EDEVICE);
    CHECK(d == NULL);
    if (!tg_cuda_built()) {
        CHECK_STR(tg_error(), "this program was built without CUDA");
        CHECK_STR(tg_cuda_build_text(), "no CUDA");
        return;
    }
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!driver)
        CHECK_HAS(tg_error(), "no NVIDIA driver is installed");
    else
        CHECK_HAS(tg_error(), "driver");
    if (driver)
        dlclose(driver);
}

/* CUDA reads CUDA_VISIBLE_DEVICES once a process, so this runs in a child. */
TEST(hidden)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && !*visible) {
        struct tg_device *d;
        CHECK_INT(tg_cuda_open(&d, NULL), TG_EDEVICE);
        CHECK_HAS(tg_error(), "CUDA_VISIBLE_DEVICES='' hides all");
        return;
    }
    if (!begin())
        return;
    end();
    pid_t pid = fork();
    if (pid == 0) {
        setenv("CUDA_VISIBLE_DEVICES", "", 1);
        execl("/proc/self/exe", "test_cuda", "hidden", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST(list)
{
    if (!begin())
        return;
    struct tg_device_info list[8];
    int n = 0;
    CHECK_INT(tg_cuda_list(list, 8, &n), 0);
    CHECK(n >= 1);
    for (int i = 0; i < n && i < 8; i++) {
        const struct tg_device_info *d = &list[i];
        unsigned domain, bus, device;
        CHECK_INT(d->index, i);
        CHECK(d->name[0]);
        CHECK_INT((int)strlen(d->uuid), 40);
        CHECK(strncmp(d->uuid, "GPU-", 4) == 0 && d->uuid[12] == '-' && d->uuid[27] == '-');
        CHECK_INT(sscanf(d->bus, "%4x:%2x:%2x.0", &domain, &bus, &device), 3);
        CHECK(d->major >= 5);
        CHECK(d->sms > 0);
        CHECK(d->memory > (size_t)256 << 20);
        CHECK_INT((long long)d->memory_free, 0);
        CHECK(d->shared_block >= 48 << 10);
        CHECK(d->l2 > 0);
    }
    CHECK(list[0].usable);
    const struct tg_device_info *info = tg_cuda_info(dev);
    CHECK_STR(info->uuid, list[0].uuid);
    CHECK(info->memory_free > 0 && info->memory_free <= info->memory);
    CHECK_INT((long long)tg_cuda_info(dev)->sms, list[0].sms);
    printf("%s, compute capability %d.%d, %d multiprocessors, %zu MB, built for CUDA %s\n", info->name, info->major,
           info->minor, info->sms, info->memory >> 20, tg_cuda_build_text());
    end();
}

static void opens(const char *which, const char *uuid)
{
    struct tg_device *d;
    CHECK_INT(tg_cuda_open(&d, which), 0);
    if (d)
        CHECK_STR(tg_cuda_info(d)->uuid, uuid);
    else
        fprintf(stderr, "%s: %s\n", which, tg_error());
    tg_cuda_close(d);
}

TEST(open_by)
{
    if (!begin())
        return;
    struct tg_device_info me = *tg_cuda_info(dev);
    end();
    char text[64];
    opens("", me.uuid);
    opens("0", me.uuid);
    opens(me.uuid, me.uuid);
    snprintf(text, sizeof text, "%.12s", me.uuid);
    opens(text, me.uuid);
    snprintf(text, sizeof text, "gpu-%.12s", me.uuid + 4);
    opens(text, me.uuid);
    opens(me.bus, me.uuid);
    snprintf(text, sizeof text, "0000%s", me.bus); /* as nvidia-smi has it */
    opens(text, me.uuid);
    if (strncmp(me.bus, "0000:", 5) == 0)
        opens(me.bus + 5, me.uuid);
    static const char *const bad[] = {
        "99", "-1", "0x", "GPU-", "GPU-xyz", "ff:1f.0", "01:00", "nonsense", "9999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tg_device *d = (struct tg_device *)&i;
        CHECK_INT(tg_cuda_open(&d, bad[i]), TG_EDEVICE);
        CHECK(d == NULL);
        CHECK_HAS(tg_error(), bad[i]);
        CHECK_HAS(tg_error(), me.name);
        CHECK_HAS(tg_error(), me.bus);
    }
}

/* ---- memory and copies ---- */

/* True where a 64x64 picture goes through invert and comes back right. */
static bool small_job(void)
{
    const struct tg_filter *f = tg_filter_find("invert");
    unsigned char params[TG_PARAMS_MAX];
    struct tg_image in = {.planes = 3, .w = 64, .h = 64, .depth = TG_U8}, out = in;
    struct tg_job job = {.src = in, .dst = in, .params = params, .stream = stream};
    tg_params_default(f, params);
    bool ok = !tg_image_alloc(&in) && !tg_image_alloc(&out) && !tg_cuda_image_alloc(dev, &job.src) &&
              !tg_cuda_image_alloc(dev, &job.dst);
    for (int p = 0; p < 3 && ok; p++)
        for (int y = 0; y < 64; y++)
            for (int x = 0; x < 64; x++)
                ((unsigned char *)tg_image_row(&in, p, y))[x] = (unsigned char)(tg_random());
    ok = ok && !tg_cuda_image_copy(&job.src, &in, stream);
    for (const struct tg_variant *v = f->variants; v->name && ok; v++)
        if (v->where == TG_CUDA) {
            ok = !tg_cuda_fill(job.dst.plane[0], 0, 64, stream) && !v->run(&job) &&
                 !tg_cuda_image_copy(&out, &job.dst, stream) && !tg_stream_wait(stream);
            for (int p = 0; p < 3 && ok; p++)
                for (int y = 0; y < 64; y++)
                    for (int x = 0; x < 64; x++)
                        ok &= ((unsigned char *)tg_image_row(&in, p, y))[x] +
                                  ((unsigned char *)tg_image_row(&out, p, y))[x] ==
                              255;
        }
    tg_image_free(&in);
    tg_image_free(&out);
    tg_cuda_image_free(dev, &job.src);
    tg_cuda_image_free(dev, &job.dst);
    return ok;
}

/* G06: a card that is full says so in numbers, and works on. */
TEST(full_card)
{
    if (!begin())
        return;
    void *ballast = NULL, *p = &p;
    const size_t room = (size_t)200 << 20;
    CHECK_INT(tg_cuda_alloc(dev, &p, tg_cuda_info(dev)->memory * 2), TG_ENOMEM);
    CHECK(p == NULL);
    CHECK_HAS(tg_error(), tg_cuda_info(dev)->name);
    CHECK_HAS(tg_error(), " MB of device memory are needed, ");
    CHECK(small_job());
    size_t left = tg_cuda_info(dev)->memory_free;
    if (left > 2 * room && tg_cuda_alloc(dev, &ballast, left - room) == 0) {
        struct tg_image im = {.planes = 4, .w = 8000, .h = 8000, .depth = TG_F32, .has_alpha = true};
        CHECK_INT(tg_cuda_image_alloc(dev, &im), TG_ENOMEM);
        CHECK_HAS(tg_error(), ": 977 MB of device memory are needed, ");
        CHECK(im.plane[0] == NULL);
        CHECK(small_job());
    }
    tg_cuda_free(dev, ballast);
    CHECK(tg_cuda_info(dev)->memory_free + ((size_t)64 << 20) >= left);
    CHECK(small_job());
    end();
}

TEST(no_image)
{
    if (!begin())
        return;
    struct tg_image im = {.planes = 5, .w = 8, .h = 8, .depth = TG_U8};
    CHECK_INT(tg_cuda_image_alloc(dev, &im), TG_ELIMIT);
    im.planes = 1;
    im.h = 0;
    CHECK_INT(tg_cuda_image_alloc(dev, &im), TG_ELIMIT);
    end();
}

/* Rows go where they belong whatever the strides, and nothing else is written. */
TEST(copies)
{
    if (!begin())
        return;
    enum { W = 37, H = 11, WIDE = 64 };
    unsigned char in[2 * H * WIDE], out[2 * H * WIDE];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)tg_random();
    memset(out, 0x5a, sizeof out);
    struct tg_image a = {.plane = {in, in + H * WIDE}, .planes = 2, .w = W, .h = H, .stride = WIDE, .depth = TG_U8};
    struct tg_image b = a, c = a, d = a, odd = a;
    b.plane[0] = out;
    b.plane[1] = out + H * WIDE;
    odd.w--;
    CHECK_INT(tg_cuda_image_alloc(dev, &c), 0);
    CHECK_INT(tg_cuda_image_alloc(dev, &d), 0);
    CHECK_INT(tg_cuda_image_copy(&c, &a, stream), 0);
    CHECK_INT(tg_cuda_image_copy(&d, &c, stream), 0);
    CHECK_INT(tg_cuda_image_copy(&b, &d, stream), 0);
    CHECK_INT(tg_stream_wait(stream), 0);
    for (int p = 0; p < 2; p++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < WIDE; x++) {
                int at = (p * H + y) * WIDE + x;
                if (out[at] != (x < W ? in[at] : 0x5a)) {
                    CHECK_INT(out[at], x < W ? in[at] : 0x5a);
                    y = H;
                    break;
                }
            }
    CHECK_INT(tg_cuda_image_copy(&c, &odd, stream), TG_EUSAGE);
    CHECK_INT(tg_cuda_image_copy(&b, &a, stream), TG_EUSAGE);
    tg_cuda_image_free(dev, &c);
    tg_cuda_image_free(dev, &d);
    CHECK(c.plane[0] == NULL);
    end();
}

TEST(pinned)
{
    if (!begin())
        return;
    enum { BYTES = 1 << 20 };
    void *a, *b, *c;
    enum tg_where got_a, got_b;
    CHECK_INT(tg_cuda_host_alloc(dev, &a, BYTES, &got_a), 0);
    CHECK_INT(got_a, TG_PINNED);
    CHECK_INT(tg_cuda_host_alloc(dev, &b, BYTES, &got_b), 0);
    CHECK_INT(tg_cuda_alloc(dev, &c, BYTES), 0);
    for (int i = 0; i < BYTES; i++)
        ((unsigned char *)a)[i] = (unsigned char)tg_random();
    memset(b, 0, BYTES);
    struct tg_event *from, *to;
    float ms = -1;
    CHECK_INT(tg_event_open(dev, &from), 0);
    CHECK_INT(tg_event_open(dev, &to), 0);
    CHECK_INT(tg_event_record(from, stream), 0);
    CHECK_INT(tg_cuda_upload(c, a, BYTES, stream), 0);
    CHECK_INT(tg_cuda_download(b, c, BYTES, stream), 0);
    CHECK_INT(tg_event_record(to, stream), 0);
    CHECK_INT(tg_event_wait(to), 0);
    CHECK_INT(tg_event_ms(from, to, &ms), 0);
    CHECK(ms > 0 && ms < 1000);
    CHECK(memcmp(a, b, BYTES) == 0);
    tg_event_close(from);
    tg_event_close(to);
    tg_cuda_free(dev, c);
    tg_cuda_host_free(dev, a, got_a);
    tg_cuda_host_free(dev, b, got_b);
    end();
}

TEST(poison)
{
    setenv("TILEGLASS_POISON", "1", 1);
    if (begin()) {
        struct tg_image im = {.planes = 2, .w = 99, .h = 7, .depth = TG_U16}, host = im;
        CHECK_INT(tg_cuda_image_alloc(dev, &im), 0);
        CHECK_INT(tg_image_alloc(&host), 0);
        CHECK_INT(tg_cuda_image_copy(&host, &im, stream), 0);
        CHECK_INT(tg_stream_wait(stream), 0);
        int other = 0;
        for (int p = 0; p < 2; p++)
            for (int y = 0; y < 7; y++)
                for (int x = 0; x < 99; x++)
                    other += ((unsigned short *)tg_image_row(&host, p, y))[x] != TG_POISON * 0x101;
        CHECK_INT(other, 0);
        tg_image_free(&host);
        tg_cuda_image_free(dev, &im);
        end();
    }
    unsetenv("TILEGLASS_POISON");
}

/* ---- faults ---- */

/* G07: each call that can fail, failing on request. */
TEST(faults)
{
    if (!begin())
        return;
    end();
    static const struct {
        const char *fault;
        int alloc, upload, upload_again, launch, download, wait;
    } rows[] = {
        {"alloc", TG_ENOMEM, 0, 0, 0, 0, 0},   {"upload", 0, TG_ECUDA, 0, 0, 0, 0},
        {"upload:2", 0, 0, TG_ECUDA, 0, 0, 0}, {"launch", 0, 0, 0, TG_ECUDA, 0, 0},
        {"download", 0, 0, 0, 0, TG_ECUDA, 0}, {"sync", 0, 0, 0, 0, 0, TG_ECUDA},
        {"sync:9", 0, 0, 0, 0, 0, 0},
    };
    const struct tg_filter *f = tg_filter_find("invert");
    unsigned char params[TG_PARAMS_MAX];
    tg_params_default(f, params);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tg_image host = {.planes = 1, .w = 32, .h = 8, .depth = TG_U8};
        setenv("TILEGLASS_FAULT", rows[i].fault, 1);
        if (!begin())
            break;
        unsetenv("TILEGLASS_FAULT");
        printf("%s\n", rows[i].fault);
        struct tg_job job = {.src = host, .dst = host, .params = params, .stream = stream};
        CHECK_INT(tg_image_alloc(&host), 0);
        memset(host.plane[0], 7, (size_t)(host.stride * host.h));
        CHECK_INT(tg_cuda_image_alloc(dev, &job.src), rows[i].alloc);
        if (rows[i].alloc)
            CHECK_HAS(tg_error(), " MB of device memory are needed, ");
        if (!job.src.plane[0])
            CHECK_INT(tg_cuda_image_alloc(dev, &job.src), 0);
        CHECK_INT(tg_cuda_image_alloc(dev, &job.dst), 0);
        CHECK_INT(tg_cuda_image_copy(&job.src, &host, stream), rows[i].upload);
        if (rows[i].upload)
            CHECK_HAS(tg_error(), "copying to the card");
        CHECK_INT(tg_cuda_image_copy(&job.src, &host, stream), rows[i].upload_again);
        CHECK_INT(f->variants[tg_variant_auto(f, TG_CUDA, &job)].run(&job), rows[i].launch);
        if (rows[i].launch)
            CHECK_HAS(tg_error(), "invert wide: ");
        CHECK_INT(tg_cuda_image_copy(&host, &job.dst, stream), rows[i].download);
        if (rows[i].download)
            CHECK_HAS(tg_error(), "copying from the card");
        CHECK_INT(tg_stream_wait(stream), rows[i].wait);
        if (rows[i].wait)
            CHECK_HAS(tg_error(), "waiting for the card");
        /* Without the result the host's picture must be what it was. */
        CHECK_INT(((unsigned char *)host.plane[0])[5], rows[i].download ? 7 : 248);
        tg_image_free(&host);
        tg_cuda_image_free(dev, &job.src);
        tg_cuda_image_free(dev, &job.dst);
        CHECK(small_job());
        end();
    }
    unsetenv("TILEGLASS_FAULT");
}

/* G12: where memory cannot be pinned, ordinary memory does. */
TEST(fault_pinned)
{
    setenv("TILEGLASS_FAULT", "pinned", 1);
    if (begin()) {
        void *p, *q;
        enum tg_where got = TG_CUDA;
        unsigned char back[64] = {0};
        CHECK_INT(tg_cuda_host_alloc(dev, &p, 64, &got), 0);
        CHECK_INT(got, TG_HOST);
        CHECK_INT(tg_cuda_alloc(dev, &q, 64), 0);
        memset(p, 42, 64);
        CHECK_INT(tg_cuda_upload(q, p, 64, stream), 0);
        CHECK_INT(tg_cuda_download(back, q, 64, stream), 0);
        CHECK_INT(tg_stream_wait(stream), 0);
        CHECK_INT(back[63], 42);
        tg_cuda_host_free(dev, p, got);
        CHECK_INT(tg_cuda_host_alloc(dev, &p, 64, &got), 0);
        CHECK_INT(got, TG_PINNED);
        tg_cuda_host_free(dev, p, got);
        tg_cuda_free(dev, q);
        end();
    }
    unsetenv("TILEGLASS_FAULT");
}

/* ---- packing ---- */

static bool same_samples(const struct tg_image *a, const struct tg_image *b, float tolerance)
{
    for (int p = 0; p < a->planes; p++)
        for (int y = 0; y < a->h; y++) {
            const void *r = tg_image_row(a, p, y), *s = tg_image_row(b, p, y);
            if (a->depth != TG_F32) {
                if (memcmp(r, s, (size_t)a->w * tg_depth_bytes(a->depth)) != 0)
                    return false;
                continue;
            }
            for (int x = 0; x < a->w; x++) {
                float d = ((const float *)r)[x] - ((const float *)s)[x];
                if (!(d <= tolerance && d >= -tolerance))
                    return false;
            }
        }
    return true;
}

/* One picture into planes and back, on both sides. */
static void round_trip(int w, int h, int channels, enum tg_depth coded, enum tg_depth depth, int orientation,
                       bool linear, int pad)
{
    const bool swap = tg_orientation_swaps(orientation), alpha = channels % 2 == 0;
    struct tg_frame in = {.w = w, .h = h, .channels = channels, .depth = coded};
    in.stride = (ptrdiff_t)((size_t)(w * channels + pad) * tg_depth_bytes(coded));
    struct tg_image want = {.planes = channels,
                            .w = swap ? h : w,
                            .h = swap ? w : h,
                            .depth = depth,
                            .has_alpha = alpha},
                    got = want, planes = want;
    struct tg_frame out = {.w = want.w, .h = want.h, .channels = channels, .depth = coded};
    out.stride = (ptrdiff_t)((size_t)(want.w * channels + pad) * tg_depth_bytes(coded));
    const size_t in_bytes = (size_t)(in.stride * h), out_bytes = (size_t)(out.stride * out.h);
    unsigned char *source = take(in_bytes), *expected = take(out_bytes), *result = take(out_bytes);
    for (size_t i = 0; i < in_bytes; i++)
        source[i] = (unsigned char)tg_random();
    memset(expected, 0x5a, out_bytes);
    memset(result, 0x5a, out_bytes);
    struct tg_frame dev_in = in, dev_out = out;
    in.data = source;
    CHECK_INT(tg_image_alloc(&want), 0);
    CHECK_INT(tg_image_alloc(&got), 0);
    CHECK_INT(tg_cuda_image_alloc(dev, &planes), 0);
    CHECK_INT(tg_cuda_alloc(dev, &dev_in.data, in_bytes), 0);
    CHECK_INT(tg_cuda_alloc(dev, &dev_out.data, out_bytes), 0);

    tg_unpack(&in, 0, h, orientation, linear, &want);
    CHECK_INT(tg_cuda_upload(dev_in.data, source, in_bytes, stream), 0);
    CHECK_INT(tg_cuda_unpack(&dev_in, orientation, linear, &planes, stream), 0);
    CHECK_INT(tg_cuda_image_copy(&got, &planes, stream), 0);
    CHECK_INT(tg_stream_wait(stream), 0);
    bool ok = same_samples(&want, &got, linear ? 1e-6F : 0.F);

    out.data = expected;
    tg_pack(&want, 0, linear, &out);
    CHECK_INT(tg_cuda_upload(dev_out.data, result, out_bytes, stream), 0);
    CHECK_INT(tg_cuda_pack(&planes, linear, &dev_out, stream), 0);
    CHECK_INT(tg_cuda_download(result, dev_out.data, out_bytes, stream), 0);
    CHECK_INT(tg_stream_wait(stream), 0);
    /* powf may differ in its last bit, which moves few samples across an edge between code values. */
    long off = 0, one = 0;
    for (size_t i = 0; i < out_bytes / tg_depth_bytes(coded); i++) {
        int d = coded == TG_U8 ? expected[i] - result[i]
                               : ((unsigned short *)expected)[i] - ((unsigned short *)result)[i];
        off += linear ? d > 1 || d < -1 : d != 0;
        one += d != 0;
    }
    ok &= off == 0 && one <= (linear ? 1 + (long)out_bytes / 200 : 0);
    CHECK(ok);
    if (!ok)
        fprintf(stderr, "  %dx%d, %d channels, %s to %s, orientation %d%s, %d samples of padding\n", w, h, channels,
                tg_depth_name(coded), tg_depth_name(depth), orientation, linear ? ", linear" : "", pad);
    free(source);
    free(expected);
    free(result);
    tg_image_free(&want);
    tg_image_free(&got);
    tg_cuda_image_free(dev, &planes);
    tg_cuda_free(dev, dev_in.data);
    tg_cuda_free(dev, dev_out.data);
}

TEST(packing)
{
    if (!begin())
        return;
    static const int sizes[][2] = {{1, 1}, {33, 31}, {130, 66}, {2, 97}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int orientation = 1; orientation <= 8; orientation++)
            for (int channels = 1; channels <= 4; channels++)
                for (int coded = TG_U8; coded <= TG_U16; coded++) {
                    int w = sizes[i][0], h = sizes[i][1], pad = (int)(tg_random() % 4);
                    for (int depth = TG_U8; depth <= TG_F32; depth++)
                        round_trip(w, h, channels, (enum tg_depth)coded, (enum tg_depth)depth, orientation, false, pad);
                    round_trip(w, h, channels, (enum tg_depth)coded, TG_F32, orientation, true, pad);
                }
    end();
}

/* ---- large sizes ---- */

enum { CROP = 64, EDGE = 24 }; /* no default parameter reaches further than EDGE */

static unsigned char *at(const struct tg_image *im, int x, int y)
{
    return (unsigned char *)tg_image_row(im, 0, y) + x;
}

/* Where a tall picture's last row, a wide one's last column, and any other one's last pixel is. */
static bool bright(const struct tg_image *im, int x, int y)
{
    return (im->h < CROP || y == im->h - 1) && (im->w < CROP || x == im->w - 1);
}

/* The device's plane: 9, and 200 where it is bright. */
static int paint(const struct tg_image *im)
{
    static const unsigned char ones[CROP] = {200, 200, 200, 200, 200, 200, 200, 200};
    int err = tg_cuda_fill(im->plane[0], 9, (size_t)im->stride * (size_t)im->h, stream);
    if (im->w < CROP)
        return err ? err : tg_cuda_upload(at(im, 0, im->h - 1), ones, (size_t)im->w, stream);
    for (int y = im->h < CROP ? 0 : im->h - 1; y < im->h && !err; y++)
        err = tg_cuda_upload(at(im, im->w - 1, y), ones, 1, stream);
    return err;
}

/* Such a picture of 9 and 200 through one variant: what comes out at its beginning and its end must be what the definition
 * makes of a small picture like it, within a level. */
static void large(const struct tg_filter *f, const struct tg_variant *v, int w, int h)
{
    unsigned char params[TG_PARAMS_MAX];
    tg_params_default(f, params);
    struct tg_image small = {.planes = 1, .w = w < CROP ? w : CROP, .h = h < CROP ? h : CROP, .depth = TG_U8},
                    want = small, got = small, src = {.planes = 1, .w = w, .h = h, .depth = TG_U8}, dst = src;
    CHECK_INT(tg_image_alloc(&small), 0);
    CHECK_INT(tg_image_alloc(&want), 0);
    CHECK_INT(tg_image_alloc(&got), 0);
    CHECK_INT(tg_cuda_image_alloc(dev, &src), 0);
    CHECK_INT(tg_cuda_image_alloc(dev, &dst), 0);
    struct tg_job host = {.src = small, .dst = want, .params = params};
    struct tg_job job = {.src = src, .dst = dst, .params = params, .stream = stream};
    const size_t bytes = (size_t)dst.stride * (size_t)h;
    int off = 0, err = 0;
    if (!src.plane[0] || !dst.plane[0] || (v->fits && !v->fits(&job)))
        goto done;
    for (int y = 0; y < small.h; y++)
        for (int x = 0; x < small.w; x++)
            *at(&small, x, y) = bright(&small, x, y) ? 200 : 9;
    host.scratch = f->variants[0].scratch ? take(f->variants[0].scratch(&host)) : NULL;
    CHECK_INT(f->variants[0].run(&host), 0);
    if (v->scratch)
        CHECK_INT(tg_cuda_alloc(dev, &job.scratch, v->scratch(&job)), 0);
    CHECK_INT(paint(&src), 0);
    CHECK_INT(tg_cuda_fill(dst.plane[0], TG_POISON, bytes, stream), 0);
    CHECK_INT(v->run(&job), 0);

    for (int last = 0; last < 2; last++) {
        const int x0 = last ? w - small.w : 0, y0 = last ? h - small.h : 0;
        for (int y = 0; y < small.h && !err; y++)
            err = tg_cuda_download(at(&got, 0, y), at(&dst, x0, y0 + y), (size_t)small.w, stream);
        if (!err)
            err = tg_stream_wait(stream);
        CHECK_INT(err, 0);
        for (int y = h >= CROP && last ? EDGE : 0; y < (h >= CROP && !last ? EDGE : small.h); y++)
            for (int x = w >= CROP && last ? EDGE : 0; x < (w >= CROP && !last ? EDGE : small.w); x++)
                off += abs(*at(&got, x, y) - *at(&want, x, y)) > 1;
    }
    /* Between: what no thread wrote still holds the pattern. */
    if (w < CROP) {
        unsigned char *all = take(bytes);
        CHECK_INT(tg_cuda_download(all, dst.plane[0], bytes, stream), 0);
        CHECK_INT(tg_stream_wait(stream), 0);
        for (int y = EDGE; y < h - EDGE; y++)
            for (int x = 0; x < w; x++)
                off += abs(all[(ptrdiff_t)y * dst.stride + x] - *at(&want, x, EDGE)) > 1;
        free(all);
    }
    CHECK_INT(off, 0);
    if (off || err)
        fprintf(stderr, "  %s@%s, %dx%d: %s\n", f->name, v->name, w, h, err ? tg_error() : "wrong samples");
done:
    free(host.scratch);
    tg_cuda_free(dev, job.scratch);
    tg_image_free(&small);
    tg_image_free(&want);
    tg_image_free(&got);
    tg_cuda_image_free(dev, &src);
    tg_cuda_image_free(dev, &dst);
}

static void all_variants(int w, int h)
{
    for (int i = 0; tg_filters[i]; i++)
        for (const struct tg_variant *v = tg_filters[i]->variants; v->name; v++)
            if (v->where == TG_CUDA)
                large(tg_filters[i], v, w, h);
}

/* G04: past 65535 blocks, and past 65535 blocks of 16 rows. */
TEST(tall)
{
    if (!begin())
        return;
    all_variants(8, 70000);
    all_variants(8, 1048577);
    end();
}

TEST(wide)
{
    if (!begin())
        return;
    all_variants(70000, 8);
    all_variants(1048577, 8);
    end();
}

/* F37: more than 2^31 pixels; the gaussian's sums take 8 bytes of each. */
TEST(huge)
{
    if (!begin())
        return;
    if (tg_cuda_info(dev)->memory_free < (size_t)26 << 30)
        tg_skip("needs 26 GB of device memory");
    else
        all_variants(46341, 46341);
    end();
}

TESTS(T(no_card), T(hidden), T(list), T(open_by), T(full_card), T(no_image), T(copies), T(pinned), T(poison), T(faults),
      T(fault_pinned), T(packing), T(tall), T(wide), T(huge))
