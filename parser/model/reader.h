/* reader.h -- an input format is a room of parser/ with one const vtable, mt_reader_NAME, that
 * parser/input/readers.def lists and that is chosen by bidding on bytes. */
#ifndef MT_READER_H
#define MT_READER_H

#include "parser/base/limits.h"
#include "parser/base/source.h"
#include "parser/model/trace.h"

struct mt_reader {
    const char *name; /* as in parser/input/readers.def */
    const char *desc; /* one line for people */
    /* Bid on the first n <= 4096 bytes: 0 = not mine, 100 = certain. Looks at bytes only, never at
     * a name. */
    int (*probe)(const unsigned char *head, size_t n);
    /* Reads one snapshot from src into t (fresh, unsealed), and seals it.
     * MT_OK: whole. MT_WARN: damaged or truncated; what was whole is in t, t->damaged is set and
     * t->diags say what is missing and at which offset. < 0: nothing usable; err says what it is,
     * at which offset, and what to do; t must be freed by the caller. */
    enum mt_rc (*read)(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err);
};

#endif
