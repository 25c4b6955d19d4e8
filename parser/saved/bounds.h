/* bounds.h -- whether a text can be a report that memtrace wrote, before it is parsed.
 *
 * Rows of reports are compared with each other: one with a million rows, or a string of a hundred
 * megabytes, would keep a gate busy for hours. Control characters would reach the terminal. */
#ifndef MT_SAVED_BOUNDS_H
#define MT_SAVED_BOUNDS_H

#include "parser/base/err.h"

#include <stddef.h>

enum {
    MT_SAVED_DEPTH = 64,
    MT_SAVED_MEMBERS = 1 << 18, /* of a list: 1,024 GPUs with 256 owners each */
    MT_SAVED_STRING = 1 << 20   /* bytes: a command line that names thousands of inputs */
};

/* MT_EINPUT: damaged; MT_ELIMIT: larger than the bounds; the message says what to do. */
enum mt_rc mt_saved_bounds(const char *text, size_t n, struct mt_err *err);

#endif
