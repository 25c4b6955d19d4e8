/* facts/names.c -- the ids of what the facts count, as the JSON report and the rules spell them. */
#include "analysis/facts/analysis.h"

const char *mt_verdict_kind_name(enum mt_verdict_kind k)
{
    static const char *const names[] = {
        [MT_V_OOM_CAPACITY] = "oom_capacity",
        [MT_V_OOM_FRAGMENTATION] = "oom_fragmentation",
        [MT_V_OOM_LIMIT] = "oom_limit",
        [MT_V_OOM] = "oom",
        [MT_V_PEAK] = "peak",
        [MT_V_END_STATE] = "end_state",
        [MT_V_EMPTY] = "empty",
    };
    return names[k];
}

const char *mt_birth_name(enum mt_birth b)
{
    return b == MT_BIRTH_IN_TRACE       ? "in_trace"
           : b == MT_BIRTH_BEFORE_TRACE ? "before_trace"
                                        : "ghost";
}

const char *mt_fix_conf_name(enum mt_fix_conf c)
{
    static const char *const name[] = {"high", "medium", "low"};
    return name[c];
}
