#include "cuda.h"
#include "../filters/log.h"

#include <cuda_runtime_api.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_DEVICES 64
#define MB(bytes)   (((bytes) + ((size_t)1 << 20) - 1) >> 20)

struct tg_device {
    struct tg_device_info info;
};

struct tg_stream {
    struct tg_device *dev;
    cudaStream_t native;
};

struct tg_event {
    struct tg_device *dev;
    cudaEvent_t native;
};

/* Limits of the card that this thread works on; of the card opened last where the thread has not named one. */
struct limits {
    size_t shared;
    int sms;
};
static _Thread_local struct limits limits;
static _Atomic size_t last_shared;
static atomic_int last_sms;

/* ---- faults on request ---- */

enum fault { ALLOC, PINNED, UPLOAD, LAUNCH, SYNC, DOWNLOAD, NO_FAULT };

static const struct {
    const char *name;
    cudaError_t error;
} faults[] = {
    [ALLOC] = {"alloc", cudaErrorMemoryAllocation}, [PINNED] = {"pinned", cudaErrorMemoryAllocation},
    [UPLOAD] = {"upload", cudaErrorUnknown},        [LAUNCH] = {"launch", cudaErrorLaunchFailure},
    [SYNC] = {"sync", cudaErrorLaunchFailure},      [DOWNLOAD] = {"download", cudaErrorUnknown},
};
static atomic_int fault_kind = NO_FAULT, fault_countdown;

static void read_faults(void)
{
    const char *text = getenv("TILEGLASS_FAULT");
    int kind = NO_FAULT;
    long n = 1;
    if (text && *text) {
        size_t len = strcspn(text, ":");
        for (int i = 0; i < NO_FAULT; i++)
            if (strlen(faults[i].name) == len && strncmp(text, faults[i].name, len) == 0)
                kind = i;
        char *end = NULL;
        if (text[len])
            n = strtol(text + len + 1, &end, 10);
        if (kind == NO_FAULT || n < 1 || n > INT_MAX || (end && (*end || end == text + len + 1))) {
            tg_warn("TILEGLASS_FAULT=%s: want alloc, pinned, upload, launch, sync or download, and :N", text);
            kind = NO_FAULT;
        }
    }
    atomic_store(&fault_countdown, (int)n);
    atomic_store(&fault_kind, kind);
}

/* What the call fails with on request, or success: then the call is to be made. */
static cudaError_t fault(enum fault kind)
{
    bool now = atomic_load(&fault_kind) == (int)kind && atomic_fetch_sub(&fault_countdown, 1) == 1;
    return now ? faults[kind].error : cudaSuccess;
}

/* ---- errors ---- */

static const char *reason(cudaError_t e)
{
    switch (e) {
    case cudaErrorLaunchTimeout:
        return "the display driver stopped a kernel that ran too long; smaller pictures, a smaller radius or --device "
               "cpu avoid it";
    case cudaErrorUnknown:
        return "unknown error; after a suspend the driver may have to be loaded anew";
    default:
        return cudaGetErrorString(e);
    }
}

/* 0, or TG_ECUDA. Takes the error from the runtime's memory too, so that no later check finds it again. */
static int check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError();
    return tg_fail(TG_ECUDA, "CUDA, %s: %s", what, reason(e));
}

static int use(const struct tg_device *dev)
{
    int err = check(cudaSetDevice(dev->info.index), "choosing the card");
    limits = (struct limits){dev->info.shared_block, dev->info.sms};
    return err;
}

/* ---- devices ---- */

bool tg_cuda_built(void)
{
    return true;
}

const char *tg_cuda_build_text(void)
{
    static _Thread_local char text[256];
    snprintf(text, sizeof text, "%d.%d, %s", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, TG_CUDA_ARCHS);
    return text;
}

/* Machine code runs on its own major version from its minor version on; PTX, on all that came later. */
static bool has_code(int major, int minor)
{
    for (const char *s = TG_CUDA_ARCHS; *s; s += strspn(s, " ")) {
        int cap = 0;
        if (sscanf(s, "sm_%d", &cap) == 1 && cap / 10 == major && cap % 10 <= minor)
            return true;
        if (sscanf(s, "compute_%d", &cap) == 1 && cap <= major * 10 + minor)
            return true;
        s += strcspn(s, " ");
    }
    return false;
}

static int count(int *n)
{
    int driver = 0;
    cudaError_t e = cudaGetDeviceCount(n);
    if (e == cudaSuccess && *n > 0)
        return 0;
    *n = 0;
    cudaGetLastError();
    if (cudaDriverGetVersion(&driver) != cudaSuccess)
        cudaGetLastError();
    if (!driver)
        return tg_fail(TG_EDEVICE, "no NVIDIA driver is installed here (CUDA %d.%d wants one)", CUDART_VERSION / 1000,
                       CUDART_VERSION % 1000 / 10);
    if (e == cudaErrorInsufficientDriver)
        return tg_fail(TG_EDEVICE, "the NVIDIA driver is too old: it knows CUDA %d.%d, this program wants %d.%d",
                       driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && (e == cudaSuccess || e == cudaErrorNoDevice || e == cudaErrorInvalidDevice))
        return tg_fail(TG_EDEVICE, "no CUDA card is visible: CUDA_VISIBLE_DEVICES='%s' hides all", visible);
    if (e == cudaSuccess || e == cudaErrorNoDevice)
        return tg_fail(TG_EDEVICE, "the NVIDIA driver finds no CUDA card here");
    return tg_fail(TG_EDEVICE, "CUDA does not start: %s", reason(e));
}

static int describe(int index, struct tg_device_info *out)
{
    struct cudaDeviceProp p;
    int khz = 0, err = check(cudaGetDeviceProperties(&p, index), "asking for the card's properties");
    if (err)
        return err;
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, index) != cudaSuccess)
        cudaGetLastError();
    *out = (struct tg_device_info){
        .index = index,
        .major = p.major,
        .minor = p.minor,
        .sms = p.multiProcessorCount,
        .clock_mhz = khz / 1000,
        .memory = p.totalGlobalMem,
        .shared_block = p.sharedMemPerBlockOptin ? p.sharedMemPerBlockOptin : p.sharedMemPerBlock,
        .l2 = (size_t)p.l2CacheSize,
        .usable = has_code(p.major, p.minor),
    };
    snprintf(out->name, sizeof out->name, "%s", p.name);
    snprintf(out->bus, sizeof out->bus, "%04x:%02x:%02x.0", (unsigned)p.pciDomainID, (unsigned)p.pciBusID,
             (unsigned)p.pciDeviceID);
    const unsigned char *u = (const unsigned char *)p.uuid.bytes;
    snprintf(out->uuid, sizeof out->uuid, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    return 0;
}

int tg_cuda_list(struct tg_device_info *out, int max, int *n)
{
    int err = count(n);
    for (int i = 0; i < *n && i < max && !err; i++)
        err = describe(i, &out[i]);
    return err;
}

static bool digits(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == 0;
}

/* "01:00.0", "0000:01:00.0", and nvidia-smi's "00000000:01:00.0". */
static bool same_bus(const char *text, const char *bus)
{
    unsigned a[3] = {0}, b[3];
    int end = 0;
    if (sscanf(bus, "%x:%x:%x", &b[0], &b[1], &b[2]) != 3)
        return false;
    if (sscanf(text, "%8x:%2x:%2x.0%n", &a[0], &a[1], &a[2], &end) < 3 || !end) {
        a[0] = 0;
        if (sscanf(text, "%2x:%2x.0%n", &a[1], &a[2], &end) < 2 || !end)
            return false;
    }
    return !text[end] && memcmp(a, b, sizeof a) == 0;
}

static bool names(const char *which, const struct tg_device_info *d)
{
    if (digits(which))
        return strtol(which, NULL, 10) == d->index;
    if (strncasecmp(which, "GPU-", 4) == 0 && which[4])
        return strncasecmp(which, d->uuid, strlen(which)) == 0;
    return same_bus(which, d->bus);
}

static int no_such(const char *which, const char *why, const struct tg_device_info *list, int n)
{
    char text[900] = "";
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %d %s, %s, %.12s", i ? ";" : "", list[i].index,
                               list[i].name, list[i].bus, list[i].uuid);
    return tg_fail(TG_EDEVICE, "%s CUDA card '%s'; here:%s", why, which, text);
}

static int find(const char *which, struct tg_device_info *out)
{
    static const struct tg_device_info none;
    struct tg_device_info list[MAX_DEVICES];
    int n, found = -1, err = tg_cuda_list(list, MAX_DEVICES, &n);
    if (err)
        return err;
    n = n < MAX_DEVICES ? n : MAX_DEVICES;
    *out = none;
    if (!which || !*which)
        found = 0;
    for (int i = 0; i < n && which && *which; i++)
        if (names(which, &list[i])) {
            if (found >= 0)
                return no_such(which, "more than one", list, n);
            found = i;
        }
    if (found < 0)
        return no_such(which, "no", list, n);
    *out = list[found];
    return 0;
}

/* Runs the smallest kernel there is: what the driver makes of this program's code shows only then. */
static int probe(const struct tg_device *dev)
{
    const struct tg_device_info *d = &dev->info;
    cudaStream_t stream = NULL;
    int *word = NULL, got = 0;
    cudaError_t e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&word, sizeof *word);
    if (e == cudaSuccess) {
        tg_cuda_probe(word, stream);
        e = cudaGetLastError();
    }
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(&got, word, sizeof got, cudaMemcpyDeviceToHost, stream);
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(stream);
    cudaFree(word);
    if (stream)
        cudaStreamDestroy(stream);
    cudaGetLastError();
    switch (e) {
    case cudaSuccess:
        return got == TG_PROBE ? 0 : tg_fail(TG_EDEVICE, "%s: a kernel ran but left no result", d->name);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorInvalidPtx:
        return tg_fail(TG_EDEVICE,
                       "%s has compute capability %d.%d, for which this program holds no code (CUDA %s): %s", d->name,
                       d->major, d->minor, tg_cuda_build_text(), cudaGetErrorString(e));
    case cudaErrorMemoryAllocation:
        return tg_fail(TG_ENOMEM, "%s: not even memory for a context is free", d->name);
    default:
        return tg_fail(TG_EDEVICE, "%s cannot be used: %s", d->name, reason(e));
    }
}

int tg_cuda_open(struct tg_device **out, const char *which)
{
    *out = NULL;
    read_faults();
    struct tg_device *dev = calloc(1, sizeof *dev);
    if (!dev)
        return tg_fail(TG_ENOMEM, "no memory");
    int err = find(which, &dev->info);
    if (!err) {
        cudaError_t e = cudaSetDevice(dev->info.index);
        if (e != cudaSuccess) {
            cudaGetLastError();
            err = tg_fail(e == cudaErrorMemoryAllocation ? TG_ENOMEM : TG_EDEVICE, "%s cannot be used: %s",
                          dev->info.name, reason(e));
        }
    }
    if (!err)
        err = probe(dev);
    if (err) {
        free(dev);
        return err;
    }
    dev->info.usable = true;
    atomic_store(&last_shared, dev->info.shared_block);
    atomic_store(&last_sms, dev->info.sms);
    use(dev);
    tg_debug("CUDA card %d: %s, %s, %s", dev->info.index, dev->info.name, dev->info.bus, dev->info.uuid);
    *out = dev;
    return 0;
}

void tg_cuda_close(struct tg_device *dev)
{
    free(dev);
}

static size_t memory_free(void)
{
    size_t left = 0, total;
    if (cudaMemGetInfo(&left, &total) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return left;
}

const struct tg_device_info *tg_cuda_info(struct tg_device *dev)
{
    dev->info.memory_free = use(dev) ? 0 : memory_free();
    return &dev->info;
}

size_t tg_cuda_shared_limit(void)
{
    return limits.sms ? limits.shared : atomic_load(&last_shared);
}

int tg_cuda_sms(void)
{
    return limits.sms ? limits.sms : atomic_load(&last_sms);
}

/* ---- memory ---- */

int tg_cuda_alloc(struct tg_device *dev, void **ptr, size_t bytes)
{
    *ptr = NULL;
    int err = use(dev);
    if (err)
        return err;
    cudaError_t e = fault(ALLOC);
    if (e == cudaSuccess)
        e = cudaMalloc(ptr, bytes ? bytes : 1);
    if (e == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return tg_fail(TG_ENOMEM, "%s: %zu MB of device memory are needed, %zu MB are free", dev->info.name, MB(bytes),
                       memory_free() >> 20);
    }
    if (e != cudaSuccess)
        return check(e, "taking device memory");
    const char *poison = getenv("TILEGLASS_POISON");
    if (poison && strcmp(poison, "1") == 0) {
        e = cudaMemset(*ptr, TG_POISON, bytes);
        if (e == cudaSuccess)
            e = cudaDeviceSynchronize();
        err = check(e, "filling device memory");
        if (err) {
            cudaFree(*ptr);
            *ptr = NULL;
        }
    }
    return err;
}

void tg_cuda_free(struct tg_device *dev, void *ptr)
{
    if (!ptr)
        return;
    use(dev);
    if (cudaFree(ptr) != cudaSuccess)
        cudaGetLastError();
}

/* Pinned memory is taken from the whole machine, so all of it together has a cap. Each block begins with its size. */
#define PINNED_HEAD 256
static _Atomic size_t pinned;

static size_t pinned_cap(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size / 4 : 0;
}

static int pinned_alloc(void **ptr, size_t bytes)
{
    void *base = NULL;
    if (atomic_fetch_add(&pinned, bytes) + bytes > pinned_cap()) {
        atomic_fetch_sub(&pinned, bytes);
        return tg_fail(TG_ELIMIT, "the cap is %zu MB, a quarter of this machine's memory", pinned_cap() >> 20);
    }
    cudaError_t e = fault(PINNED);
    if (e == cudaSuccess)
        e = cudaHostAlloc(&base, bytes, cudaHostAllocPortable);
    if (e != cudaSuccess) {
        atomic_fetch_sub(&pinned, bytes);
        return check(e, "pinning host memory");
    }
    memcpy(base, &bytes, sizeof bytes);
    *ptr = (char *)base + PINNED_HEAD;
    return 0;
}

int tg_cuda_host_alloc(struct tg_device *dev, void **ptr, size_t bytes, enum tg_where *got)
{
    static atomic_bool told;
    *ptr = NULL;
    if (bytes > PTRDIFF_MAX - PINNED_HEAD)
        return tg_fail(TG_ENOMEM, "no memory for %zu MB", MB(bytes));
    int err = use(dev);
    if (err)
        return err;
    if (pinned_alloc(ptr, bytes + PINNED_HEAD) == 0) {
        *got = TG_PINNED;
        return 0;
    }
    if (!atomic_exchange(&told, true))
        tg_note("%zu MB of host memory cannot be pinned (%s): ordinary memory is used, copies do not overlap",
                MB(bytes), tg_error());
    *got = TG_HOST;
    if (posix_memalign(ptr, 4096, bytes ? bytes : 1)) {
        *ptr = NULL;
        return tg_fail(TG_ENOMEM, "no memory for %zu MB", MB(bytes));
    }
    return 0;
}

void tg_cuda_host_free(struct tg_device *dev, void *ptr, enum tg_where got)
{
    if (!ptr)
        return;
    if (got != TG_PINNED) {
        free(ptr);
        return;
    }
    void *base = (char *)ptr - PINNED_HEAD;
    size_t bytes;
    memcpy(&bytes, base, sizeof bytes);
    use(dev);
    if (cudaFreeHost(base) != cudaSuccess)
        cudaGetLastError();
    atomic_fetch_sub(&pinned, bytes);
}

int tg_cuda_image_alloc(struct tg_device *dev, struct tg_image *im)
{
    void *base;
    size_t bytes = tg_image_layout(im, NULL);
    if (!bytes)
        return tg_fail(TG_ELIMIT, "%d x %d x %d %s samples are no image", im->w, im->h, im->planes,
                       tg_depth_name(im->depth));
    int err = tg_cuda_alloc(dev, &base, bytes);
    if (err)
        return err;
    tg_image_layout(im, base);
    im->where = TG_CUDA;
    return 0;
}

void tg_cuda_image_free(struct tg_device *dev, struct tg_image *im)
{
    if (!im)
        return;
    tg_cuda_free(dev, im->plane[0]);
    memset(im->plane, 0, sizeof im->plane);
}

/* ---- streams and events ---- */

int tg_stream_open(struct tg_device *dev, struct tg_stream **out)
{
    *out = NULL;
    int err = use(dev);
    if (err)
        return err;
    struct tg_stream *s = calloc(1, sizeof *s);
    if (!s)
        return tg_fail(TG_ENOMEM, "no memory");
    s->dev = dev;
    err = check(cudaStreamCreateWithFlags(&s->native, cudaStreamNonBlocking), "making a stream");
    if (err)
        free(s);
    else
        *out = s;
    return err;
}

void tg_stream_close(struct tg_stream *s)
{
    if (!s)
        return;
    use(s->dev);
    if (cudaStreamDestroy(s->native) != cudaSuccess)
        cudaGetLastError();
    free(s);
}

int tg_stream_wait(struct tg_stream *s)
{
    int err = use(s->dev);
    if (err)
        return err;
    /* The real wait comes first: what was enqueued must not go on under a caller who is told that it failed. */
    cudaError_t e = cudaStreamSynchronize(s->native), injected = fault(SYNC);
    return check(e != cudaSuccess ? e : injected, "waiting for the card");
}

void *tg_stream_native(struct tg_stream *s)
{
    use(s->dev);
    return s->native;
}

int tg_event_open(struct tg_device *dev, struct tg_event **out)
{
    *out = NULL;
    int err = use(dev);
    if (err)
        return err;
    struct tg_event *e = calloc(1, sizeof *e);
    if (!e)
        return tg_fail(TG_ENOMEM, "no memory");
    e->dev = dev;
    err = check(cudaEventCreate(&e->native), "making an event");
    if (err)
        free(e);
    else
        *out = e;
    return err;
}

void tg_event_close(struct tg_event *e)
{
    if (!e)
        return;
    use(e->dev);
    if (cudaEventDestroy(e->native) != cudaSuccess)
        cudaGetLastError();
    free(e);
}

int tg_event_record(struct tg_event *e, struct tg_stream *s)
{
    int err = use(s->dev);
    return err ? err : check(cudaEventRecord(e->native, s->native), "recording an event");
}

int tg_event_wait(struct tg_event *e)
{
    int err = use(e->dev);
    if (err)
        return err;
    cudaError_t real = cudaEventSynchronize(e->native), injected = fault(SYNC);
    return check(real != cudaSuccess ? real : injected, "waiting for an event");
}

int tg_event_ms(struct tg_event *from, struct tg_event *to, float *ms)
{
    *ms = 0;
    int err = use(from->dev);
    return err ? err : check(cudaEventElapsedTime(ms, from->native, to->native), "reading a time");
}

/* ---- copies ---- */

static int copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, struct tg_stream *s)
{
    const bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
    int err = use(s->dev);
    if (err)
        return err;
    cudaError_t e = up ? fault(UPLOAD) : down ? fault(DOWNLOAD) : cudaSuccess;
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(dst, src, bytes, kind, s->native);
    return check(e, up ? "copying to the card" : down ? "copying from the card" : "copying on the card");
}

int tg_cuda_upload(void *dst, const void *src, size_t bytes, struct tg_stream *s)
{
    return copy(dst, src, bytes, cudaMemcpyHostToDevice, s);
}

int tg_cuda_download(void *dst, const void *src, size_t bytes, struct tg_stream *s)
{
    return copy(dst, src, bytes, cudaMemcpyDeviceToHost, s);
}

int tg_cuda_fill(void *dst, int byte, size_t bytes, struct tg_stream *s)
{
    int err = use(s->dev);
    return err ? err : check(cudaMemsetAsync(dst, byte, bytes, s->native), "filling device memory");
}

int tg_cuda_image_copy(struct tg_image *dst, const struct tg_image *src, struct tg_stream *s)
{
    const bool up = src->where != TG_CUDA, down = dst->where != TG_CUDA;
    const enum cudaMemcpyKind kind = up     ? cudaMemcpyHostToDevice
                                     : down ? cudaMemcpyDeviceToHost
                                            : cudaMemcpyDeviceToDevice;
    if (!tg_image_same_shape(dst, src) || (up && down))
        return tg_fail(TG_EUSAGE, "images of unlike shape, or none on a card, are not copied there");
    const size_t row = (size_t)src->w * tg_depth_bytes(src->depth);
    int err = use(s->dev);
    /* One count for the whole image: a fault hits images, not planes. */
    cudaError_t e = up ? fault(UPLOAD) : down ? fault(DOWNLOAD) : cudaSuccess;
    for (int p = 0; p < src->planes && !err; p++) {
        if (src->stride <= INT_MAX && dst->stride <= INT_MAX) {
            if (e == cudaSuccess)
                e = cudaMemcpy2DAsync(dst->plane[p], (size_t)dst->stride, src->plane[p], (size_t)src->stride, row,
                                      (size_t)src->h, kind, s->native);
        } else {
            for (int y = 0; y < src->h && e == cudaSuccess; y++) /* pitches that a 2-D copy does not take */
                e = cudaMemcpyAsync(tg_image_row(dst, p, y), tg_image_row(src, p, y), row, kind, s->native);
        }
        err = check(e, up ? "copying to the card" : down ? "copying from the card" : "copying on the card");
    }
    return err;
}

int tg_cuda_launched(const char *what)
{
    cudaError_t e = cudaGetLastError(), injected = fault(LAUNCH);
    return check(e != cudaSuccess ? e : injected, what);
}
