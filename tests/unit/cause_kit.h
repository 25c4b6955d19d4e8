/* What tests of causes share: the rules, a heap's analysis with its cause, a card of the advice. */
#ifndef CAUSE_KIT_H
#define CAUSE_KIT_H

#include "analysis/advice/rules.h"
#include "heap_make.h"

static struct mt_rules rules;

MT_TEST(rules_load) { MT_CHECK(mt_load_rules(&rules)); }

/* Of struct heap *h: the trace t, its analysis a, the cause c of its one device. */
#define FINISH(capacity)                                                                           \
    struct mt_trace *t;                                                                            \
    struct mt_analysis *a = heap_done(h, &rules, capacity, &t);                                    \
    const struct mt_cause *c;                                                                      \
    MT_ASSERT(a != NULL && a->devices.n == 1 && a->devices.p[0].cause != NULL);                    \
    c = a->devices.p[0].cause
#define DONE                                                                                       \
    mt_analysis_free(a);                                                                           \
    mt_trace_free(t)

/* NULL = it is not advised. */
static inline const struct mt_advice *card(const struct mt_analysis *a, const char *id)
{
    for (uint32_t i = 0; i < a->advice.n; i++)
        if (strcmp(a->advice.p[i].rule->id, id) == 0)
            return &a->advice.p[i];
    return NULL;
}

#endif
