/* json_words.h -- a text of JSON with the keys of json_words.def as two bytes each, and whole
 * again: the keys are a tenth of what a packed report takes.
 *
 * Outside of strings JSON has only ASCII, so that a byte from 0x80 on begins such a key, which has
 * its quotes and its colon with it. */
#ifndef MT_JSON_WORDS_H
#define MT_JSON_WORDS_H

#include "parser/base/text.h"

#include <stddef.h>

/* text is dense: no blank between a key and its colon. out->failed: out of memory. */
void mt_json_words_short(struct mt_text *out, const char *text, size_t n);
/* The text again. False: a key that is none of them. out->max bounds what it becomes. */
bool mt_json_words_long(struct mt_text *out, const char *text, size_t n);

/* The i-th word, NULL behind the last. */
const char *mt_json_word(size_t i);

#endif
