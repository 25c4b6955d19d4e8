/* view/stack.h -- a stack as people read it: the frames of their own code, innermost first, with
 * runs of torch internals and of C++ frames folded into one line each. Used by the HTML, Markdown
 * and terminal renderers. */
#ifndef MT_VIEW_STACK_H
#define MT_VIEW_STACK_H

#include "analysis/facts/analysis.h"
#include "analysis/base/frames.h"
#include "render/view/report.h"

enum mt_line_kind {
    MT_LINE_FRAME, /* one frame, in v */
    MT_LINE_TORCH, /* n frames of PyTorch's and the interpreter's own Python files */
    MT_LINE_CPP,   /* n C++ frames */
    MT_LINE_MORE   /* n further frames that found no room */
};
struct mt_stack_line {
    enum mt_line_kind kind;
    uint32_t n;
    struct mt_frame_view v; /* of the only frame, or of the innermost of the folded ones */
};

/* A frame of Python code that is neither PyTorch's nor the interpreter's own. k may be NULL: then
 * each file is looked at again. */
bool mt_frame_is_own(const struct mt_trace *t, struct mt_file_kinds *k, mt_frame_id f);
/* A stack has such a frame. */
bool mt_stack_has_own(const struct mt_trace *t, struct mt_file_kinds *k, mt_stack_id s);

#define MT_STACK_LINES 48
/* Fills at most MT_STACK_LINES lines and returns how many. A stack without a frame of anybody's own
 * code is not folded, because nothing would be left of it. */
uint32_t mt_stack_lines(const struct mt_trace *t, mt_stack_id s,
                        struct mt_stack_line out[MT_STACK_LINES]);

/* Those of the request that failed; 0 = nothing failed, or nobody recorded where. */
uint32_t mt_report_asked(const struct mt_report *r, struct mt_stack_line out[MT_STACK_LINES]);

/* The graph of torch.compile that it came from, "0/0"; NULL = none, or not said. */
const char *mt_report_graph(const struct mt_report *r);

#define MT_LINE_WORDS 64
/* "… 7 torch frames" for the folded kinds; "" for a frame. */
const char *mt_stack_line_words(const struct mt_stack_line *l, char buf[MT_LINE_WORDS]);

/* Of the first `shown` owners several may have the label of owner i (a Linear that every layer
 * calls). "model.py:76 mlp, run.py:12": the innermost caller in which it differs from some of them
 * and, where that leaves others, the one further out that tells it from those too. False: the label
 * is its own, or its callers are the same. shown: at most 16. Each stack is walked once. */
bool mt_owner_origin(char *buf, size_t cap, const struct mt_trace *t,
                     const struct mt_device_analysis *d, uint32_t i, uint32_t shown);

#endif
