/* choices.h -- what a set of settings would do, in words. */
#ifndef MT_VIEW_CHOICES_H
#define MT_VIEW_CHOICES_H

#include "render/view/view.h"

/* "fits: 50.03 GiB needed, 34.78 GiB freed", "lacks 1.20 GiB": after a set of choices was made. */
enum { MT_OUTCOME_WORDS = 192 };
char *mt_outcome_words(char buf[MT_OUTCOME_WORDS], const struct mt_choices *c, uint32_t set);
/* What is needed then, at the moment that matters. */
uint64_t mt_outcome_needed(const struct mt_choices *c, uint32_t set);

#endif
