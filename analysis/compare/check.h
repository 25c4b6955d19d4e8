/* check.h -- a report against limits, for a gate: which of them it passes, by how much, and where.
 *
 * A limit is of the highest over all devices of the report. A run that ran out of memory is over a
 * limit of its own. */
#ifndef MT_COMPARE_CHECK_H
#define MT_COMPARE_CHECK_H

#include "analysis/base/words.h"
#include "analysis/compare/diff.h"

enum mt_limit_of {
    MT_LIMIT_PEAK,     /* "peak": live bytes */
    MT_LIMIT_RESERVED, /* "reserved": of segments */
    MT_LIMIT_ROLE,     /* "role:logits": its highest */
    MT_LIMIT_PHASE,    /* "phase:train": live bytes while it holds */
    MT_LIMIT_LEFT,     /* "phase:weight_sync.left": born there and live at its end */
    MT_LIMIT_OOM       /* "oom": memory ran out */
};
struct mt_limit {
    enum mt_limit_of of;
    char name[96];   /* as it is written */
    char set_in[80]; /* "--max", "limits:3", "memtrace.toml:8"; "" = of the baseline, or of every
                        run */
    char id[64];     /* of the role or phase */
    uint64_t max;
    uint64_t base; /* of the baseline, where it comes from one */
    bool has_base;
};
/* One limit and what was found. */
struct mt_checked {
    struct mt_limit limit;
    bool occurs; /* false: there is no such role or phase in the run, or no number for it */
    bool is_over;
    bool is_unknown; /* nothing in the report tells it: no snapshot of it was analysed */
    uint64_t bytes;
    char device[64];   /* "rank 1, device 0" */
    const char *phase; /* in words; NULL = not known */
    /* the line to look at: where the failed request was made, what grew most since the baseline,
     * else the largest holder; NULL = none is known */
    const char *site;
    const char *why_site; /* which of these, in words */
};
struct mt_check {
    /* those that are over first, then those that are not known, each in the order of the limits */
    MT_VEC(struct mt_checked) rows;
    uint32_t n_over, n_unknown; /* neither is a limit that is kept */
    struct mt_diff against;     /* the baseline; meaningless without one */
    bool has_baseline;
};

/* Reads NAME of "NAME=SIZE"; MT_EINPUT with a message. */
enum mt_rc mt_limit_name(struct mt_limit *l, const char *name, size_t n, struct mt_err *err);
/* The n limits, and with a baseline (NULL = none) its peak, roles and phases, each with
 * `thousandths` more; 0 is the baseline itself. MT_EINPUT: the baseline has none of them. Both
 * reports have to outlive c; done() in any case. */
enum mt_rc mt_check_make(struct mt_check *c, const struct mt_saved *report,
                         const struct mt_limit *limits, uint32_t n, const struct mt_saved *baseline,
                         uint64_t thousandths, struct mt_err *err);
void mt_check_done(struct mt_check *c);
/* "peak: 71.35 GiB, 1.35 GiB over 70.00 GiB, rank 1, device 0, in ..., at ..." */
void mt_checked_words(const struct mt_checked *k, struct mt_sentence *out);
/* File and line of a site "actor/train.py:36 step"; false = it has none. file: of cap bytes. */
bool mt_site_place(const char *site, char *file, size_t cap, unsigned long *line);

#endif
