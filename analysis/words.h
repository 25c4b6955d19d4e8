/* words.h -- small phrases that sentences are made of. Plain ASCII apart from what comes from the input. */
#ifndef MT_WORDS_H
#define MT_WORDS_H

#include "analysis/phase.h"

#include <stddef.h>
#include <stdint.h>

/* "23.19 GiB", "512 B"; binary units. buf of 32; returns it. */
char *mt_words_bytes(char *buf, uint64_t bytes);
/* "training (backward)", "KV-cache allocation", "forward", "a phase that could not be told" */
char *mt_words_phase(char *buf, size_t cap, enum mt_phase phase, enum mt_phase sub);

#endif
