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

/* log_id and headline: where the diagnosis of a log can come to it. */
static const struct {
    const char *id, *words, *log_id, *headline;
    enum mt_cause_kind main;
} causes[MT_CAUSE_COUNT] = {
#define CAUSE(kind, id, words, log_id, headline)                                                   \
    [MT_CAUSE_##kind] = {id, words, log_id, headline, MT_CAUSE_##kind}
#define OF_LOG(kind, main, id, headline)                                                           \
    [MT_CAUSE_##kind] = {NULL, NULL, id, headline, MT_CAUSE_##main}
    CAUSE(NONE, "none", "no cause", "none", "No failure in the log"),
    CAUSE(CAPACITY, "capacity", "capacity", "capacity", "Out of memory: the device is full"),
    CAUSE(FRAGMENTATION, "fragmentation", "fragmentation", "fragmentation",
          "Out of memory: fragmentation"),
    CAUSE(GIANT_TENSOR, "giant_tensor", "one giant tensor", NULL, NULL),
    CAUSE(STALE_ENGINE, "stale_engine", "memory of the other phase still held", NULL, NULL),
    CAUSE(LEAK, "leak", "memory left behind", NULL, NULL),
    CAUSE(PENDING_FREES, "pending_frees", "frees that wait for a stream", NULL, NULL),
    CAUSE(FOREIGN, "foreign", "memory outside this process's PyTorch", "other_processes",
          "Out of memory: other processes hold the device"),
    CAUSE(SKEW, "skew", "work that is not divided evenly", NULL, NULL),
    CAUSE(LIMIT, "limit", "a limit below the card's size", "limit",
          "Out of memory, though more was free"),
    CAUSE(HOST, "host", "host memory", "host", "Out of host memory"),
    OF_LOG(OUTSIDE, FOREIGN, "outside_torch", "Out of memory outside PyTorch"),
    OF_LOG(ENGINE_SHARE, CAPACITY, "engine_share", "The inference engine's share does not fit"),
    OF_LOG(SETTING, NONE, "setting", "A setting is in the way"),
    OF_LOG(KILLED, HOST, "killed", "Killed; the log does not say why"),
    OF_LOG(REQUEST, GIANT_TENSOR, "request", "Out of memory: the request is larger than the card"),
    OF_LOG(UNKNOWN, NONE, "unknown", "Out of memory"),
    OF_LOG(UNTOLD, NONE, "unknown", "The log ends before the error"),
};
enum mt_cause_kind mt_cause_main(enum mt_cause_kind k) { return causes[k].main; }
const char *mt_cause_id(enum mt_cause_kind k) { return causes[causes[k].main].id; }
const char *mt_cause_words(enum mt_cause_kind k) { return causes[causes[k].main].words; }
const char *mt_cause_log_id(enum mt_cause_kind k) { return causes[k].log_id; }
const char *mt_cause_log_words(enum mt_cause_kind k) { return causes[k].headline; }
