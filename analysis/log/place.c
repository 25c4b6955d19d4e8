/* log/place.c -- where in the job a failure of a log was: the traceback above it as a trace of one
 * stack, which the phase rules know. */
#include "analysis/log/diagnose.h"
#include "parser/model/builder.h"
#include "analysis/phases/phases.h"

#include <string.h>

/* The traceback's frames as a stack, innermost first. 1, or 0 = out of memory. */
static int build(struct mt_builder *b, const struct mt_log_stack *s, mt_stack_id *id)
{
    mt_frame_id *ids = mt_calloc(s->frames.n + 1, sizeof *ids);
    int ok = ids != NULL && mt_build_trace_begin(b, 0, false);
    for (uint32_t i = 0; ok && i < s->frames.n; i++) {
        const struct mt_log_frame *f = &s->frames.p[i];
        mt_str_id file, name;
        ok = mt_build_str(b, f->file, strlen(f->file), &file) &&
             mt_build_str(b, f->function, strlen(f->function), &name) &&
             mt_build_frame(b, name, file, f->line, &ids[s->frames.n - 1 - i]);
    }
    ok = ok && mt_build_stack(b, ids, s->frames.n, id) && mt_build_finish(b);
    mt_free(ids);
    return ok;
}

bool mt_logdiag_place(struct mt_log_place *out, const struct mt_framework_rules *fw,
                      const struct mt_log_stack *s, const struct mt_phase_rules *rules)
{
    static const struct mt_limits limits = MT_LIMITS_DEFAULT;
    struct mt_builder *b;
    struct mt_phaser *p = NULL;
    mt_stack_id id = 0;
    bool ok;
    memset(out, 0, sizeof *out);
    out->stack = s;
    out->at.phase = MT_PH_UNATTRIBUTED;
    out->at.sub = MT_PH_NONE;
    out->trace = mt_trace_new();
    b = out->trace != NULL ? mt_builder_new(out->trace, &limits) : NULL;
    ok = b != NULL && build(b, s, &id);
    mt_builder_free(b);
    ok = ok && mt_frameworks_detect(fw, out->trace, &out->fw);
    if (ok && rules != NULL) {
        ok = mt_phaser_new(&p, rules, out->trace, NULL) >= 0;
        if (ok)
            out->at = mt_phaser_stack(p, id);
        mt_phaser_free(p);
    }
    if (!ok)
        mt_logdiag_place_done(out);
    return ok;
}

void mt_logdiag_place_done(struct mt_log_place *p)
{
    mt_trace_free(p->trace);
    p->trace = NULL;
}
