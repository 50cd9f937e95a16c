/* Bytes of an output in order, which stand under their name only when all of them arrived. */
#ifndef TG_SINK_H
#define TG_SINK_H

#include <stdbool.h>
#include <stddef.h>

struct tg_sink;

/* Opens a temporary file beside the target, or what is no regular file ("-", a FIFO, a device) itself. Links are followed and
 * stay, also one that points to nothing yet. Refused before anything is made: a folder, a missing folder (named), a file
 * that its mode or owner keeps us from writing, and a terminal unless tty. cancel: as in tg_read_opts. */
int tg_sink_open(struct tg_sink **s, const char *path, bool tty, const volatile int *cancel);
int tg_sink_write(struct tg_sink *s, const void *bytes, size_t n);
/* Flush, close, rename; an error of any of them removes the temporary file. s is gone either way. */
int tg_sink_finish(struct tg_sink *s);
void tg_sink_abort(struct tg_sink *s); /* NULL is fine */
/* Removes the temporary files that are open; async-signal-safe. */
void tg_sink_abort_all(void);

#endif
