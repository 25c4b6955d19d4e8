/* metrics/rules.h -- metrics that are rows: what frames alone tell, and what follows from other
 * metrics.
 *
 * The built-in rows are analysis/rules/metrics.json, an overlay's are under "metrics" of the same
 * text that has its fix rules; a row of a known name takes that one's place. docs/rules.md
 * describes the fields. Thread-safety: immutable after mt_metric_rules_load(). */
#ifndef MT_METRICS_RULES_H
#define MT_METRICS_RULES_H

#include "analysis/base/expr.h"

#include <stdint.h>

struct mt_runconf;

enum mt_metric_how {
    MT_METRIC_SEEN,    /* "seen": a frame occurs anywhere in the trace, or a command starts it */
    MT_METRIC_ASKED,   /* "asked": the request that failed went through one */
    MT_METRIC_LIVE,    /* "live_through": bytes at the focus that went through one */
    MT_METRIC_LARGEST, /* "largest_through": the largest block of these */
    MT_METRIC_SINGLE,  /* "single_block_of": the largest block that is alone of its stack and whose
                          telling frame is one */
    /* "logits_through": a block as large as logits was made through one, anywhere in the trace */
    MT_METRIC_LOGITS,
    MT_METRIC_WHOLE, /* "whole_logits_by": one of an eighth of the largest of these, or more */
    /* "spread_by": bytes of the shape of a tensor that one made of much smaller ones */
    MT_METRIC_SPREAD,
    MT_METRIC_ROWS,    /* "rows_by": of these, n x n numbers where n numbers were there */
    MT_METRIC_SQUARE,  /* "square_by": of these, n x n numbers of anything else */
    MT_METRIC_JOINED,  /* "joined_by": bytes of what one joined of blocks that are there still */
    MT_METRIC_WIDENED, /* "widened_by": of what one made two or four times as wide, likewise */
    MT_METRIC_IS       /* "is": an expression over other metrics */
};

struct mt_metric_frame {
    /* seen: the end of a path, or with a final slash a directory in it; else a part of a path.
     * "" = any */
    const char *file;
    const char *function; /* "" = any */
    /* not a frame, the operation that the stack was made by (mt_stack_operation()), '*' for any
     * text; "" = a frame */
    const char *operation;
    /* seen: not a frame, but what a command of the run starts, or a setting (logical name) that the
     * run, and no default, sets to this; "" = a frame */
    const char *started;
    const char *setting, *is;
    /* asked: not a frame, a part of the line of code that failed, as a log's traceback has it; ""
     */
    const char *code;
    /* seen: not a frame, a word in small letters of a text that somebody wrote; "" = a frame */
    const char *said;
    /* seen: not a frame; a text says that this is on already, was tried or is refused, as
     * mt_runconf.tries reads it, or is to stay as it is (mt_runconf.keeps); "" = a frame */
    const char *tried, *kept;
};

struct mt_metric_row {
    const char *name, *says; /* one line */
    const char *unit;        /* "B" bytes, "n" a count, "r" a ratio, "?" yes or no */
    /* of rows that share this word a process has one: where one is seen the others are not there;
     * "" = none */
    const char *one_of;
    enum mt_metric_how how;
    /* NULL-terminated, may be NULL: where the row is yes, advice that is given without the bytes of
     * a trace leaves out lines that fit one of them: a setting's name (logical), or with '*' in it
     * a pattern of the whole line, in small letters and with '_' for '-' */
    const char *const *leaves_out;
    bool with_request; /* LIVE, LARGEST: a failed request that went through one counts too */
    const struct mt_metric_frame *frames;
    uint32_t n_frames;
    const struct mt_expr *is;
    bool is_overlay; /* came with --rules */
};

struct mt_metric_rules;
/* conf: for the names of settings; has to live as long as *out. The overlay may be NULL. The caller
 * frees *out. MT_EINPUT names file, row and field; MT_ENOMEM, MT_EINTERN. */
enum mt_rc mt_metric_rules_load(struct mt_metric_rules **out, const struct mt_runconf *conf,
                                const char *overlay, size_t overlay_len, const char *overlay_name,
                                struct mt_err *err);
void mt_metric_rules_free(struct mt_metric_rules *r); /* NULL is fine */
uint32_t mt_metric_rules_count(const struct mt_metric_rules *r);
const struct mt_metric_row *mt_metric_row_at(const struct mt_metric_rules *r, uint32_t i);
/* its index, -1 = there is no such row */
int mt_metric_row_find(const struct mt_metric_rules *r, const char *name, size_t n);

#endif
