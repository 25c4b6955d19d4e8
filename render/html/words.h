/* words.h -- what the words of the page mean, where they first stand. */
#ifndef MT_HTML_WORDS_H
#define MT_HTML_WORDS_H

#include "render/html/kit.h"

/* Folded; only the words that this page uses. Nothing where no memory of PyTorch is told. */
void mt_h_words_meant(const struct mt_page *p, struct mt_out *o);

#endif
