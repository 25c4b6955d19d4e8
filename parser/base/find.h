/* find.h -- short words in texts. Any thread may call it. */
#ifndef MT_FIND_H
#define MT_FIND_H

#include <stddef.h>

/* Where the word of w bytes first stands in s of n bytes; NULL = nowhere. An empty word stands at
 * s. Nothing behind the n bytes is read. For words of a few dozen bytes: memmem() prepares a table
 * for each word, which costs more than most names are long. */
const char *mt_find(const char *s, size_t n, const char *word, size_t w);

#endif
