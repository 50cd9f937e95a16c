/* Plain C over the CUDA runtime: devices, memory, streams, events.
 *
 * The program links the runtime statically and calls none of it before tg_cuda_open, so a CUDA-enabled program runs where
 * there is no driver. Built without CUDA, every function here exists (cuda_none.c) and says so through tg_fail.
 * No function here exits; each returns 0 or a negative tg_err whose message says what was needed and what was found.
 */
#ifndef TG_CUDA_H
#define TG_CUDA_H

#include "../filters/image.h"
#include "../filters/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_device;
struct tg_stream;
struct tg_event;

struct tg_device_info {
    int index; /* as CUDA counts them under CUDA_VISIBLE_DEVICES, fastest first unless CUDA_DEVICE_ORDER says otherwise */
    char name[256], uuid[48], bus[32]; /* "GPU-xxxxxxxx-...", "0000:01:00.0" */
    int major, minor;                  /* compute capability */
    int sms, clock_mhz;                /* clock_mhz 0: unknown */
    bool usable;                       /* this program holds code for it */
    size_t memory, memory_free;        /* bytes; free is a hint. Free is 0 from tg_cuda_list, which makes no context */
    size_t shared_block;               /* bytes of shared memory that a block can opt in to */
    size_t l2;
};

/* True where the program was built with CUDA. */
bool tg_cuda_built(void);

/* "13.0, sm_75 sm_90 compute_90", or "no CUDA". */
const char *tg_cuda_build_text(void);

/* Fills up to max entries and sets *n to the number of cards. TG_EDEVICE: no driver, a driver older than the runtime. */
int tg_cuda_list(struct tg_device_info *out, int max, int *n);

/* Chooses a card: "0", a UUID or its beginning ("GPU-5f3a"), a PCI bus id ("0000:01:00.0", "01:00.0"); NULL or "" is the
 * first. Makes the context and runs a kernel of one thread, so that a card for which there is no code is found here.
 * TG_EDEVICE: none such (the message lists those there are), no driver, driver too old, no code for this card. */
int tg_cuda_open(struct tg_device **dev, const char *which);
void tg_cuda_close(struct tg_device *dev); /* NULL is fine. All that was allocated through it must be freed before */
const struct tg_device_info *tg_cuda_info(struct tg_device *dev); /* memory_free is read anew */

/* Device memory. TG_ENOMEM gives the bytes wanted and free; the device works on afterwards. */
int tg_cuda_alloc(struct tg_device *dev, void **ptr, size_t bytes);
void tg_cuda_free(struct tg_device *dev, void *ptr); /* waits for the device */

/* Host memory that the device can copy from and to by itself; its sum is capped (a quarter of the host's memory). Where it
 * is refused, ordinary memory is given, with one notice: copies then work but do not overlap. */
int tg_cuda_host_alloc(struct tg_device *dev, void **ptr, size_t bytes, enum tg_where *got);
void tg_cuda_host_free(struct tg_device *dev, void *ptr, enum tg_where got);

/* Device image of im's w, h, planes, depth, has_alpha; plane[0] owns it. */
int tg_cuda_image_alloc(struct tg_device *dev, struct tg_image *im);
void tg_cuda_image_free(struct tg_device *dev, struct tg_image *im);

int tg_stream_open(struct tg_device *dev, struct tg_stream **s); /* never the default stream */
void tg_stream_close(struct tg_stream *s);
int tg_stream_wait(struct tg_stream *s); /* until all that was enqueued is done; also returns an error met on the way */

int tg_event_open(struct tg_device *dev, struct tg_event **e);
void tg_event_close(struct tg_event *e);
int tg_event_record(struct tg_event *e, struct tg_stream *s);
int tg_event_wait(struct tg_event *e);
int tg_event_ms(struct tg_event *from, struct tg_event *to, float *ms); /* both done */

/* Enqueue copies of plain bytes. Host memory is best pinned. */
int tg_cuda_upload(void *dst, const void *src, size_t bytes, struct tg_stream *s);
int tg_cuda_download(void *dst, const void *src, size_t bytes, struct tg_stream *s);
int tg_cuda_fill(void *dst, int byte, size_t bytes, struct tg_stream *s);
/* Whole images of the same shape, either way between host and device or within the device. */
int tg_cuda_image_copy(struct tg_image *dst, const struct tg_image *src, struct tg_stream *s);

/* pack.h's pair on the device: rows->data and the planes are device memory; y0 is 0 and rows->h the whole picture. */
int tg_cuda_unpack(const struct tg_frame *rows, int orientation, bool linear, struct tg_image *dst,
                   struct tg_stream *s);
int tg_cuda_pack(const struct tg_image *src, bool linear, struct tg_frame *rows, struct tg_stream *s);

/* For tests. TILEGLASS_FAULT=alloc|pinned|upload|launch|sync|download[:N] in the environment makes the N-th such call (1,
 * the first, if not said) after tg_cuda_open, which reads it, fail as the runtime would. TILEGLASS_POISON=1 fills device
 * memory that is given out with TG_POISON, so that what no kernel wrote shows. */
#define TG_POISON 0xA5

/* ---- for the .cu files; these exist only with CUDA ---- */

/* 0 where the launches since the last call were accepted, else TG_ECUDA with "what: reason". */
int tg_cuda_launched(const char *what);
/* The cudaStream_t of a stream; makes its device the current one, so a launch asks for it first. */
void *tg_stream_native(struct tg_stream *s);
/* Of the device that this thread used last, or else the program: bytes of shared memory that a block can opt in to, and
 * multiprocessors. */
size_t tg_cuda_shared_limit(void);
int tg_cuda_sms(void);
/* probe.cu: enqueues a kernel of one thread that sets *word to TG_PROBE. */
#define TG_PROBE 0x7161
void tg_cuda_probe(int *word, void *stream);

#ifdef __cplusplus
}
#endif
#endif
