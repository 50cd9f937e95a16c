/* kernels/cuda.h where the program is built without CUDA. */
#include "../filters/log.h"
#include "cuda.h"

static int none(void)
{
    return tg_fail(TG_EDEVICE, "this program was built without CUDA");
}

bool tg_cuda_built(void)
{
    return false;
}

const char *tg_cuda_build_text(void)
{
    return "no CUDA";
}

int tg_cuda_list(struct tg_device_info *out, int max, int *n)
{
    (void)out, (void)max;
    *n = 0;
    return none();
}

int tg_cuda_open(struct tg_device **dev, const char *which)
{
    (void)which;
    *dev = NULL;
    return none();
}

void tg_cuda_close(struct tg_device *dev)
{
    (void)dev;
}

const struct tg_device_info *tg_cuda_info(struct tg_device *dev)
{
    static const struct tg_device_info empty;
    (void)dev;
    return &empty;
}

int tg_cuda_alloc(struct tg_device *dev, void **ptr, size_t bytes)
{
    (void)dev, (void)bytes;
    *ptr = NULL;
    return none();
}

void tg_cuda_free(struct tg_device *dev, void *ptr)
{
    (void)dev, (void)ptr;
}

int tg_cuda_host_alloc(struct tg_device *dev, void **ptr, size_t bytes, enum tg_where *got)
{
    (void)dev, (void)bytes;
    *ptr = NULL;
    *got = TG_HOST;
    return none();
}

void tg_cuda_host_free(struct tg_device *dev, void *ptr, enum tg_where got)
{
    (void)dev, (void)ptr, (void)got;
}

int tg_cuda_image_alloc(struct tg_device *dev, struct tg_image *im)
{
    (void)dev, (void)im;
    return none();
}

void tg_cuda_image_free(struct tg_device *dev, struct tg_image *im)
{
    (void)dev, (void)im;
}

int tg_stream_open(struct tg_device *dev, struct tg_stream **s)
{
    (void)dev;
    *s = NULL;
    return none();
}

void tg_stream_close(struct tg_stream *s)
{
    (void)s;
}

int tg_stream_wait(struct tg_stream *s)
{
    (void)s;
    return none();
}

int tg_event_open(struct tg_device *dev, struct tg_event **e)
{
    (void)dev;
    *e = NULL;
    return none();
}

void tg_event_close(struct tg_event *e)
{
    (void)e;
}

int tg_event_record(struct tg_event *e, struct tg_stream *s)
{
    (void)e, (void)s;
    return none();
}

int tg_event_wait(struct tg_event *e)
{
    (void)e;
    return none();
}

int tg_event_ms(struct tg_event *from, struct tg_event *to, float *ms)
{
    (void)from, (void)to;
    *ms = 0;
    return none();
}

int tg_cuda_upload(void *dst, const void *src, size_t bytes, struct tg_stream *s)
{
    (void)dst, (void)src, (void)bytes, (void)s;
    return none();
}

int tg_cuda_download(void *dst, const void *src, size_t bytes, struct tg_stream *s)
{
    (void)dst, (void)src, (void)bytes, (void)s;
    return none();
}

int tg_cuda_fill(void *dst, int byte, size_t bytes, struct tg_stream *s)
{
    (void)dst, (void)byte, (void)bytes, (void)s;
    return none();
}

int tg_cuda_image_copy(struct tg_image *dst, const struct tg_image *src, struct tg_stream *s)
{
    (void)dst, (void)src, (void)s;
    return none();
}

int tg_cuda_unpack(const struct tg_frame *rows, int orientation, bool linear, struct tg_image *dst, struct tg_stream *s)
{
    (void)rows, (void)orientation, (void)linear, (void)dst, (void)s;
    return none();
}

int tg_cuda_pack(const struct tg_image *src, bool linear, struct tg_frame *rows, struct tg_stream *s)
{
    (void)src, (void)linear, (void)rows, (void)s;
    return none();
}
