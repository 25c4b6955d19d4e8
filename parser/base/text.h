/* text.h -- a string that grows. Zeroed struct = empty, with p NULL until something is added. */
#ifndef MT_TEXT_H
#define MT_TEXT_H

#include "parser/base/mem.h"

#include <stdbool.h>

struct mt_text {
    char *p; /* NUL-terminated */
    size_t n, cap;
    /* most bytes it may hold: the rest is dropped and `cut` is set. 0 = no limit */
    size_t max;
    bool cut, failed; /* failed: out of memory; later additions were dropped */
};
void mt_text_add(struct mt_text *t, const char *s, size_t n);
void mt_text_done(struct mt_text *t);

/* How many letters have to be typed, left out, changed or swapped with their neighbour to make b of
 * a; more than `most` are not counted, and most + 1 is returned. most is small: the time grows with
 * 4 to its power. */
unsigned mt_edits(const char *a, const char *b, unsigned most);

/* Letters of ASCII, whatever the locale says. Equal however they are written, TRUE and true. */
static inline char mt_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
bool mt_same_text(const char *a, size_t n_a, const char *b, size_t n_b);
bool mt_same_word(const char *a, const char *b);

/* The path is one of Python's in a folder of installed packages; either slash. */
bool mt_file_is_packaged(const char *path);

/* "1 record lacks", "2 records lack". */
static inline const char *mt_plural(unsigned long long n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

#endif
