/* Pictures for benchmarks: like photographs, seeded, the same on every machine. */
#ifndef TG_SYNTH_H
#define TG_SYNTH_H

#include "../filters/image.h"
#include <stdint.h>

/* Fills a host image: soft gradients with areas of texture, hard and soft edges, and noise as from a sensor, all planes related
 * as colours are; alpha is opaque but for a soft disc. Only integer and single float operations, so that the bytes do not
 * depend on the machine. */
void tg_synth_photo(struct tg_image *im, uint32_t seed);

#endif
