/* advice.h -- which fix rules apply to a verdict, in the order to try them. */
#ifndef MT_ADVICE_H
#define MT_ADVICE_H

#include "analysis/analysis.h"

struct mt_advice_query {
    const struct mt_fix_rules *rules;
    const struct mt_trace *trace; /* its settings and frames; NULL = unknown */
    const struct mt_frameworks *fw;
    enum mt_phase phase, sub; /* of the verdict */
    bool fragmentation;       /* the verdict says so: its row comes first */
    bool gradients_dominate;  /* more bytes born in the backward than in the forward */
    bool inference_only;      /* nothing in the trace is trained */
    bool host_memory;         /* the verdict is about pinned host memory */
};

/* The class whose remedies fit; MT_FIX_CLASS_COUNT when the phase says nothing. */
enum mt_fix_class mt_advice_class(const struct mt_advice_query *q);

/* Writes at most mt_fix_rules_count() entries to out and returns how many. The first three real settings of the rows of order.json
 * are marked as top. */
uint32_t mt_advice_select(const struct mt_advice_query *q, struct mt_advice *out);

/* Fills a->advice from a->verdict, a->fw and a->trace. */
enum mt_rc mt_advise(struct mt_analysis *a, const struct mt_fix_rules *rules, struct mt_err *err);

#endif
