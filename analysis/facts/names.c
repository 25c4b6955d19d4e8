/* facts/names.c -- the ids of what the facts count, as the JSON report and the rules spell them. */
#include "analysis/facts/cause.h"

bool mt_verdict_is_oom(enum mt_verdict_kind k)
{
    return k == MT_V_OOM_CAPACITY || k == MT_V_OOM_FRAGMENTATION || k == MT_V_OOM_LIMIT ||
           k == MT_V_OOM;
}

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

static const struct {
    const char *id, *words;
} causes[MT_CAUSE_COUNT] = {
    [MT_CAUSE_NONE] = {"none", "no cause"},
    [MT_CAUSE_CAPACITY] = {"capacity", "capacity"},
    [MT_CAUSE_FRAGMENTATION] = {"fragmentation", "fragmentation"},
    [MT_CAUSE_GIANT_TENSOR] = {"giant_tensor", "one giant tensor"},
    [MT_CAUSE_STALE_ENGINE] = {"stale_engine", "memory of the other phase still held"},
    [MT_CAUSE_LEAK] = {"leak", "memory left behind"},
    [MT_CAUSE_PENDING_FREES] = {"pending_frees", "frees that wait for a stream"},
    [MT_CAUSE_FOREIGN] = {"foreign", "memory outside this process's PyTorch"},
    [MT_CAUSE_LIMIT] = {"limit", "a limit below the card's size"},
    [MT_CAUSE_HOST] = {"host", "host memory"},
};
const char *mt_cause_id(enum mt_cause_kind k) { return causes[k].id; }
const char *mt_cause_words(enum mt_cause_kind k) { return causes[k].words; }
