/* words.h -- small phrases that sentences are made of. Plain ASCII apart from what comes from the
 * input. */
#ifndef MT_WORDS_H
#define MT_WORDS_H

#include "analysis/base/phase.h"

#include <stddef.h>
#include <stdint.h>

/* "23.19 GiB", "512 B"; binary units. buf of 32; returns it. */
char *mt_words_bytes(char *buf, uint64_t bytes);
/* "device 3", "pinned host memory", "host memory"; buf of 40 */
char *mt_words_device(char *buf, enum mt_device_kind kind, int32_t ordinal);
char *mt_words_count(char *buf, uint64_t n); /* "22,331"; buf of 32 */
/* "12.3 %"; "-" when whole is 0; buf of 32 */
char *mt_words_percent(char *buf, uint64_t part, uint64_t whole);
/* part / whole * scale, rounded half up, without overflow for whole <= 2^60 and scale <= 1000. */
uint64_t mt_words_ratio(uint64_t part, uint64_t whole, uint64_t scale);
/* A size for an argument of a printf: it lives until the end of the full expression. */
struct mt_in_words {
    char s[32];
};
struct mt_in_words mt_in_words(uint64_t bytes);
#define MT_BYTES(n) (mt_in_words(n).s)
enum { MT_LABEL = 160 };
/* The label, cut to MT_LABEL with its NUL: a C++ name may be pages long. buf has that size. */
const char *mt_words_label(char *buf, const char *label);
/* The one name of a phase and of what happens inside it (MT_PH_NONE: not told): "training
 * (backward)", "KV-cache allocation", "forward" where the phase around it is not told. With neither
 * told a sentence says "a phase that could not be told", a cell of a table "unattributed". Lives
 * until the end of the full expression. */
struct mt_phase_in_words {
    char s[128];
};
struct mt_phase_in_words mt_phase_in_words(unsigned phase, unsigned sub, bool in_sentence);
#define MT_PHASE_WORDS(phase, sub) (mt_phase_in_words((phase), (sub), true).s)
#define MT_PHASE_CELL(phase, sub) (mt_phase_in_words((phase), (sub), false).s)

/* A sentence that grows; what does not fit is left out. Starts as {"", 0}. */
struct mt_sentence {
    char buf[3072];
    size_t n;
};
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void mt_words_add(struct mt_sentence *s, const char *fmt, ...);

#endif
