/* saying.h -- what a sentence says of a thing that it names: that it is on, was tried or is refused
 * by the program; or that it is off, only wished, asked about or advised by others. */
#ifndef MT_LOG_SAYING_H
#define MT_LOG_SAYING_H

#include "analysis/log/spoken.h"

#include <stdbool.h>

/* A sentence in small letters, blanks for '_' and '-', without the marks of Markdown. */
struct mt_saying {
    char text[MT_SPOKEN_LINE];
    bool is_set;   /* of a list of settings, or of a line that sets something */
    bool is_asked; /* a question */
    bool is_error; /* no person's line: it may only refuse */
};
/* Of the thing that stands at `at` up to `end` in its text. has_number: with the value it has,
 * which a question may name as what is ("should that fit with a batch of 1?"). */
bool mt_saying_is_so(const struct mt_saying *t, const char *at, const char *end, bool has_number);
/* The thing is to stay as it is, whatever it is: it cannot or must not be changed or used, or that
 * did not help. */
bool mt_saying_keeps(const struct mt_saying *t, const char *at, const char *end);
/* Whether the sentence has words that may say so of anything. */
bool mt_saying_may_keep(const struct mt_saying *t);
/* Between `from` and the thing at `at`: others did it, or say that it goes; nobody here. */
bool mt_saying_is_of_others(const char *from, const char *at);

#endif
