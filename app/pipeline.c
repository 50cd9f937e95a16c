#include "pipeline.h"
#include "../filters/log.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Rows a strip: enough for a JPEG's largest block row and for the threads, few enough to stay in the cache. */
#define STRIP 64

/* Memory that grows: an image's planes, scratch or a frame's rows, on the host or the device. */
struct buffer {
    void *ptr;
    size_t size;
    enum tg_where where;
};

enum { STARTED, UPLOADED, UNPACKED, BEGUN, FILTERED, PACKED = FILTERED + TG_CHAIN_MAX, DOWNLOADED, N_EVENTS };

struct tg_pipeline {
    struct tg_pipeline_opts opts;
    struct tg_device *dev;
    struct tg_stream *stream;
    struct tg_event *event[N_EVENTS];
    bool on_device;                  /* this frame; a frame that failed on the device goes on on the host */
    bool dead;                       /* the device failed for good */
    struct buffer plane[3], scratch; /* on the host, or on the device while on_device */
    struct buffer rows_in, rows_out; /* pinned frames; only on a device */
    struct buffer dev_in, dev_out;   /* the same on the device */
    struct buffer strip;             /* host */
    struct tg_frame frame;           /* the picture as coded, in rows_in; data NULL where it is not kept */
    int orientation;
    struct tg_image source, result; /* planes */
    int source_at;                  /* its buffer */
    bool timed;                     /* this frame's upload is in the sums */
    int rows_read;
    struct tg_frame out; /* the result's rows; data: rows_out on a device, else NULL */
    struct tg_timing timing;
    const char *variant[TG_CHAIN_MAX];
};

double tg_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool cancelled(const struct tg_pipeline *p)
{
    return p->opts.cancel && *p->opts.cancel;
}

static void progress(const struct tg_pipeline *p, double done)
{
    if (p->opts.progress)
        p->opts.progress(p->opts.progress_ctx, done);
}

/* ---- memory ---- */

static void release(struct tg_pipeline *p, struct buffer *b)
{
    if (!b->ptr)
        return;
    struct tg_image im = {.plane = {b->ptr}};
    if (b->where == TG_CUDA)
        tg_cuda_free(p->dev, b->ptr);
    else if (b == &p->rows_in || b == &p->rows_out)
        tg_cuda_host_free(p->dev, b->ptr, b->where);
    else
        tg_image_free(&im);
    *b = (struct buffer){0};
}

static int grow(struct tg_pipeline *p, struct buffer *b, size_t bytes, enum tg_where where)
{
    if (b->ptr && (b->size < bytes || (b->where == TG_CUDA) != (where == TG_CUDA)))
        release(p, b);
    if (b->ptr || !bytes)
        return 0;
    int err;
    if (where == TG_CUDA) {
        err = tg_cuda_alloc(p->dev, &b->ptr, bytes);
    } else if (where == TG_PINNED) {
        err = tg_cuda_host_alloc(p->dev, &b->ptr, bytes, &where);
    } else {
        /* As one tall plane, for what tg_image_alloc knows about large blocks. */
        struct tg_image im = {.planes = 1, .w = 1 << 16, .h = (int)(bytes >> 16) + 1, .depth = TG_U8};
        err = bytes >> 46 ? tg_fail(TG_ENOMEM, "no memory for %zu MB", bytes >> 20) : tg_image_alloc(&im);
        b->ptr = im.plane[0];
    }
    if (!err) {
        b->size = bytes;
        b->where = where;
    }
    return err;
}

static size_t frame_bytes(struct tg_frame *f)
{
    f->stride = (ptrdiff_t)((size_t)f->w * (size_t)f->channels * tg_depth_bytes(f->depth));
    return (size_t)f->stride * (size_t)f->h;
}

static enum tg_where where_of(const struct tg_pipeline *p)
{
    return p->on_device ? TG_CUDA : TG_HOST;
}

/* ---- chains ---- */

bool tg_chain_pins(const struct tg_chain *c, enum tg_where where)
{
    for (int i = 0; i < c->n; i++)
        if (!c->node[i].bypass && c->node[i].variant >= 0 &&
            c->node[i].filter->variants[c->node[i].variant].where == where)
            return true;
    return false;
}

int tg_chain_fits_device(const struct tg_chain *c, bool cuda)
{
    for (int i = 0; i < c->n; i++) {
        const struct tg_node *n = &c->node[i];
        if (n->bypass || n->variant < 0)
            continue;
        const struct tg_variant *v = &n->filter->variants[n->variant];
        if ((v->where == TG_CUDA) != cuda)
            return tg_fail(TG_EUSAGE, "%s@%s runs on %s, not on the chosen device", n->filter->name, v->name,
                           cuda ? "the CPU" : "a CUDA device");
    }
    return 0;
}

/* The variant of a node for a job whose images and params are set; NULL after tg_fail. */
static const struct tg_variant *choose(const struct tg_node *n, const struct tg_job *job, enum tg_where where)
{
    int i = n->variant;
    if (i < 0) {
        i = tg_variant_auto(n->filter, where, job);
        if (i < 0) {
            tg_fail(TG_EUSAGE, "%s: no variant for %s fits this picture and these parameters", n->filter->name,
                    where == TG_CUDA ? "CUDA" : "the CPU");
            return NULL;
        }
        return &n->filter->variants[i];
    }
    const struct tg_variant *v = &n->filter->variants[i];
    if (v->where != where) {
        tg_fail(TG_EUSAGE, "%s@%s does not run on %s", n->filter->name, v->name, where == TG_CUDA ? "CUDA" : "the CPU");
        return NULL;
    }
    if (v->fits && !v->fits(job)) {
        tg_fail(TG_EUSAGE, "%s@%s does not fit this picture and these parameters", n->filter->name, v->name);
        return NULL;
    }
    return v;
}

/* The buffer for the next result: not `in`, and not the source where that is to stay. */
static int next_buffer(const struct tg_pipeline *p, int in, bool keep)
{
    int b = 0;
    while (b == in || (keep && b == p->source_at))
        b++;
    return b;
}

/* Walks a chain over the source's shape. run false: only takes the memory. */
static int walk(struct tg_pipeline *p, const struct tg_chain *chain, bool keep, bool run)
{
    struct tg_job job = {.src = p->source, .stream = p->on_device ? p->stream : NULL};
    enum tg_where where = where_of(p);
    int in = p->source_at;
    if (run && p->on_device) {
        int err = tg_event_record(p->event[BEGUN], p->stream);
        if (err)
            return err;
    }
    for (int i = 0; i < chain->n; i++) {
        const struct tg_node *node = &chain->node[i];
        double start = tg_now_ms();
        p->variant[i] = "-";
        if (!node->bypass) {
            if (cancelled(p))
                return tg_fail(TG_ECANCEL, "interrupted");
            job.params = node->params;
            tg_filter_shape(node->filter, node->params, &job.src, &job.dst);
            job.dst.where = where;
            size_t bytes = tg_image_layout(&job.dst, NULL);
            if (!bytes)
                return tg_fail(TG_ELIMIT, "%s: its result is too large", node->filter->name);
            const struct tg_variant *v = choose(node, &job, where);
            if (!v)
                return TG_EUSAGE;
            int out = next_buffer(p, in, keep);
            int err = grow(p, &p->plane[out], bytes, where);
            if (!err)
                err = grow(p, &p->scratch, v->scratch ? v->scratch(&job) : 0, where);
            if (err)
                return err;
            tg_image_layout(&job.dst, p->plane[out].ptr);
            job.scratch = p->scratch.ptr;
            p->variant[i] = v->name;
            if (run && (err = v->run(&job)))
                return err;
            in = out;
            job.src = job.dst;
        }
        if (run && p->on_device) {
            int err = tg_event_record(p->event[FILTERED + i], p->stream);
            if (err)
                return err;
        } else if (run) {
            p->timing.filter[i] += tg_now_ms() - start;
        }
    }
    if (run) {
        p->result = job.src;
    }
    return 0;
}

/* ---- falling back ---- */

/* After an error on the device: moves the frame to the host, or returns the error. The coded rows are still in rows_in. */
static int to_host(struct tg_pipeline *p, int err, const struct tg_chain *chain)
{
    if (!p->on_device || !p->opts.fallback || (err != TG_ECUDA && err != TG_ENOMEM && err != TG_EDEVICE) ||
        (chain && tg_chain_pins(chain, TG_CUDA)))
        return err;
    tg_warn(err == TG_ENOMEM ? "%s; this picture goes on on the CPU" : "%s; going on on the CPU", tg_error());
    p->dead |= err != TG_ENOMEM;
    p->on_device = false;
    for (int i = 0; i < 3; i++)
        release(p, &p->plane[i]);
    release(p, &p->scratch);
    release(p, &p->dev_in);
    release(p, &p->dev_out);
    return 0;
}

/* ---- load ---- */

static void set_source(struct tg_pipeline *p, const struct tg_info *info)
{
    bool swap = tg_orientation_swaps(info->orientation);
    p->orientation = info->orientation;
    p->source = (struct tg_image){
        .planes = info->channels,
        .w = swap ? info->h : info->w,
        .h = swap ? info->w : info->h,
        .depth = p->opts.linear       ? TG_F32
                 : p->opts.depth >= 0 ? (enum tg_depth)p->opts.depth
                                      : info->depth,
        .has_alpha = info->has_alpha,
        .where = where_of(p),
    };
    p->source_at = 0;
    p->frame = (struct tg_frame){.w = info->w, .h = info->h, .channels = info->channels, .depth = info->depth};
}

static int take_source(struct tg_pipeline *p)
{
    size_t bytes = tg_image_layout(&p->source, NULL);
    if (!bytes)
        return tg_fail(TG_ELIMIT, "a picture of %d x %d is too large", p->source.w, p->source.h);
    int err = grow(p, &p->plane[0], bytes, where_of(p));
    if (!err)
        tg_image_layout(&p->source, p->plane[0].ptr);
    return err;
}

/* Rows y.. from the reader into memory, at most n. */
static int decode(struct tg_pipeline *p, struct tg_reader *r, char *to, int n)
{
    if (cancelled(p))
        return tg_fail(TG_ECANCEL, "interrupted");
    double start = tg_now_ms();
    int err = tg_reader_rows(r, to, p->frame.stride, n);
    p->timing.decode += tg_now_ms() - start;
    p->rows_read += n;
    progress(p, 0.4 * p->rows_read / p->frame.h);
    return err;
}

static int load_host(struct tg_pipeline *p, struct tg_reader *r)
{
    int err = 0;
    struct tg_frame strip = p->frame;
    for (int y = 0; y < p->frame.h && !err; y += strip.h) {
        strip.h = p->frame.h - y < STRIP ? p->frame.h - y : STRIP;
        /* Rows that a device did not get to keep are in p->frame already. */
        strip.data = r ? p->strip.ptr : (char *)p->frame.data + (ptrdiff_t)y * strip.stride;
        if (r)
            err = decode(p, r, strip.data, strip.h);
        if (err)
            break;
        double start = tg_now_ms();
        tg_unpack(&strip, y, p->frame.h, p->orientation, p->opts.linear, &p->source);
        p->timing.unpack += tg_now_ms() - start;
    }
    return err;
}

static int prepare_host(struct tg_pipeline *p, const struct tg_chain *chain)
{
    p->source.where = TG_HOST;
    int err = take_source(p);
    if (!err)
        err = grow(p, &p->strip, (size_t)p->frame.stride * STRIP, TG_HOST);
    if (!err && chain)
        err = walk(p, chain, false, false);
    return err;
}

static int prepare_device(struct tg_pipeline *p, const struct tg_chain *chain)
{
    size_t bytes = frame_bytes(&p->frame);
    int err = grow(p, &p->rows_in, bytes, TG_PINNED);
    if (err)
        return err;
    p->frame.data = p->rows_in.ptr;
    err = grow(p, &p->dev_in, bytes, TG_CUDA);
    if (!err)
        err = take_source(p);
    if (!err && chain)
        err = walk(p, chain, false, false);
    return err;
}

static int send(struct tg_pipeline *p)
{
    struct tg_frame on_device = p->frame;
    on_device.data = p->dev_in.ptr;
    int err = tg_event_record(p->event[STARTED], p->stream);
    if (!err)
        err = tg_cuda_upload(on_device.data, p->frame.data, (size_t)p->frame.stride * (size_t)p->frame.h, p->stream);
    if (!err)
        err = tg_event_record(p->event[UPLOADED], p->stream);
    if (!err)
        err = tg_cuda_unpack(&on_device, p->orientation, p->opts.linear, &p->source, p->stream);
    if (!err)
        err = tg_event_record(p->event[UNPACKED], p->stream);
    return err;
}

int tg_pipeline_load(struct tg_pipeline *p, struct tg_reader *r, const struct tg_chain *chain)
{
    const struct tg_info *info = tg_reader_info(r);
    p->on_device = p->dev && !p->dead;
    set_source(p, info);
    frame_bytes(&p->frame);
    p->timing.pictures++;
    p->timed = false;
    p->rows_read = 0;
    int err = 0;
    if (p->on_device)
        err = to_host(p, prepare_device(p, chain), chain);
    if (err)
        return err;
    if (!p->on_device) {
        p->frame.data = NULL;
        err = prepare_host(p, chain);
        return err ? err : load_host(p, r);
    }
    for (int y = 0; y < p->frame.h && !err; y += STRIP)
        err = decode(p, r, (char *)p->frame.data + (ptrdiff_t)y * p->frame.stride,
                     p->frame.h - y < STRIP ? p->frame.h - y : STRIP);
    if (err)
        return err;
    err = to_host(p, send(p), chain);
    if (!err && !p->on_device) {
        err = prepare_host(p, chain);
        if (!err)
            err = load_host(p, NULL);
    }
    return err;
}

/* ---- filter ---- */

/* After a failure on the device: the whole frame again on the host. */
static int again_on_host(struct tg_pipeline *p, int err, const struct tg_chain *chain, bool keep)
{
    err = to_host(p, err, chain);
    if (!err)
        err = prepare_host(p, chain);
    if (!err)
        err = load_host(p, NULL);
    return err ? err : walk(p, chain, keep, true);
}

static int event_ms(struct tg_pipeline *p, int from, int to, double *sum)
{
    float ms = 0;
    int err = tg_event_ms(p->event[from], p->event[to], &ms);
    *sum += (double)ms;
    return err;
}

/* Packs on the device and brings the rows to rows_out; the one place that waits. */
static int fetch(struct tg_pipeline *p, const struct tg_chain *chain)
{
    struct tg_frame on_device = p->out;
    size_t bytes = frame_bytes(&on_device);
    int err = grow(p, &p->dev_out, bytes, TG_CUDA);
    if (!err)
        err = grow(p, &p->rows_out, bytes, TG_PINNED);
    if (err)
        return err;
    on_device.data = p->dev_out.ptr;
    int last = chain->n ? FILTERED + chain->n - 1 : BEGUN;
    err = tg_cuda_pack(&p->result, p->opts.linear, &on_device, p->stream);
    if (!err)
        err = tg_event_record(p->event[PACKED], p->stream);
    if (!err)
        err = tg_cuda_download(p->rows_out.ptr, on_device.data, bytes, p->stream);
    if (!err)
        err = tg_event_record(p->event[DOWNLOADED], p->stream);
    if (!err)
        err = tg_stream_wait(p->stream);
    if (err)
        return err;
    p->out.data = p->rows_out.ptr;
    if (!p->timed) {
        err = event_ms(p, STARTED, UPLOADED, &p->timing.upload);
        if (!err)
            err = event_ms(p, UPLOADED, UNPACKED, &p->timing.unpack);
        p->timed = true;
    }
    for (int i = 0; i < chain->n && !err; i++)
        err = event_ms(p, BEGUN + i, FILTERED + i, &p->timing.filter[i]);
    if (!err)
        err = event_ms(p, last, PACKED, &p->timing.pack);
    if (!err)
        err = event_ms(p, PACKED, DOWNLOADED, &p->timing.download);
    return err;
}

/* The shape of the result's rows, from its planes. */
static void set_out(struct tg_pipeline *p, int bits)
{
    enum tg_depth depth = p->result.depth == TG_F32 ? p->frame.depth : p->result.depth;
    if (bits)
        depth = bits == 8 ? TG_U8 : TG_U16;
    if (depth == TG_U8 && p->frame.depth == TG_U16)
        tg_warn_once("16 bits are reduced to 8");
    p->out = (struct tg_frame){.w = p->result.w, .h = p->result.h, .channels = p->result.planes, .depth = depth};
    frame_bytes(&p->out);
}

int tg_pipeline_filter(struct tg_pipeline *p, const struct tg_chain *chain, int bits, bool keep)
{
    int err = tg_chain_fits_device(chain, p->on_device);
    if (err)
        return err;
    err = walk(p, chain, keep, true);
    if (!err)
        set_out(p, bits);
    if (!err && p->on_device)
        err = fetch(p, chain);
    if (err && p->on_device) {
        err = again_on_host(p, err, chain, keep);
        if (!err)
            set_out(p, bits);
    }
    return err;
}

/* ---- results ---- */

struct tg_frame tg_pipeline_shape(const struct tg_pipeline *p)
{
    struct tg_frame shape = p->out;
    shape.data = NULL;
    return shape;
}

void tg_pipeline_rows(struct tg_pipeline *p, int y, struct tg_frame *rows)
{
    if (!p->on_device) {
        tg_pack(&p->result, y, p->opts.linear, rows);
        return;
    }
    for (int i = 0; i < rows->h; i++)
        memcpy((char *)rows->data + (ptrdiff_t)i * rows->stride,
               (const char *)p->out.data + (ptrdiff_t)(y + i) * p->out.stride, (size_t)p->out.stride);
}

int tg_pipeline_store(struct tg_pipeline *p, struct tg_writer *w)
{
    struct tg_frame strip = p->out;
    int err = 0;
    if (!p->on_device)
        err = grow(p, &p->strip, (size_t)strip.stride * STRIP, TG_HOST);
    for (int y = 0; y < p->out.h && !err; y += strip.h) {
        if (cancelled(p))
            return tg_fail(TG_ECANCEL, "interrupted");
        strip.h = p->out.h - y < STRIP ? p->out.h - y : STRIP;
        double start = tg_now_ms();
        if (p->on_device) {
            strip.data = (char *)p->out.data + (ptrdiff_t)y * p->out.stride;
        } else {
            strip.data = p->strip.ptr;
            tg_pipeline_rows(p, y, &strip);
        }
        double packed = tg_now_ms();
        err = tg_writer_rows(w, strip.data, strip.stride, strip.h);
        p->timing.pack += packed - start;
        p->timing.encode += tg_now_ms() - packed;
        progress(p, 0.6 + 0.4 * (y + strip.h) / p->out.h);
    }
    return err;
}

void tg_pipeline_encoded(struct tg_pipeline *p, double ms)
{
    p->timing.encode += ms;
}

const struct tg_timing *tg_pipeline_timing(const struct tg_pipeline *p)
{
    return &p->timing;
}

const char *tg_pipeline_device(const struct tg_pipeline *p)
{
    return p->on_device ? tg_cuda_info(p->dev)->name : "CPU";
}

const char *tg_pipeline_variant(const struct tg_pipeline *p, int i)
{
    return p->variant[i];
}

/* ---- open and close ---- */

int tg_pipeline_open(struct tg_pipeline **out, struct tg_device *dev, const struct tg_pipeline_opts *opts)
{
    struct tg_pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return tg_fail(TG_ENOMEM, "no memory for a pipeline");
    p->opts = *opts;
    p->dev = dev;
    p->on_device = dev != NULL;
    int err = 0;
    if (dev)
        err = tg_stream_open(dev, &p->stream);
    for (int i = 0; dev && i < N_EVENTS && !err; i++)
        err = tg_event_open(dev, &p->event[i]);
    if (err) {
        tg_pipeline_close(p);
        return err;
    }
    *out = p;
    return 0;
}

void tg_pipeline_close(struct tg_pipeline *p)
{
    if (!p)
        return;
    struct buffer *all[] = {&p->plane[0], &p->plane[1], &p->plane[2], &p->scratch, &p->rows_in,
                            &p->rows_out, &p->dev_in,   &p->dev_out,  &p->strip};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        release(p, all[i]);
    for (int i = 0; i < N_EVENTS; i++)
        if (p->event[i])
            tg_event_close(p->event[i]);
    if (p->stream)
        tg_stream_close(p->stream);
    free(p);
}
