/* Bytes of an input in order: a buffer over a file descriptor that never seeks, so that pipes and files read alike. */
#ifndef TG_SOURCE_H
#define TG_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct tg_source;

/* Opens a path ("-": standard input). Folders are refused. cancel as in tg_read_opts. */
int tg_source_open(struct tg_source **s, const char *path, const volatile int *cancel);
void tg_source_close(struct tg_source *s); /* NULL is fine */

/* Bytes in the file, or -1 where only its end will tell. */
int64_t tg_source_size(const struct tg_source *s);

/* The next bytes without taking them: *n in: how many are wanted, at most 4096; out: how many there are, fewer only at the
 * end. Valid until the next call. */
int tg_source_peek(struct tg_source *s, const uint8_t **bytes, size_t *n);

/* Takes up to n bytes; *got < n only at the end. */
int tg_source_read(struct tg_source *s, void *to, size_t n, size_t *got);

/* Takes what the next read gives, at least a byte; *n is 0 at the end. Valid until the next call. */
int tg_source_next(struct tg_source *s, const uint8_t **bytes, size_t *n);

#endif
