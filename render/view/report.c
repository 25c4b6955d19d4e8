#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "render/view/view.h"

#include <stdio.h>

const char *mt_verdict_words(char buf[MT_WORDS], enum mt_verdict_kind k,
                             const struct mt_cause *cause)
{
    enum mt_cause_kind why = cause != NULL ? mt_cause_main(cause->kind) : MT_CAUSE_NONE;
    if (mt_verdict_is_oom(k) && why != MT_CAUSE_NONE && why != MT_CAUSE_CAPACITY &&
        why != MT_CAUSE_FRAGMENTATION) {
        (void)snprintf(buf, MT_WORDS, "Out of memory: %s", mt_cause_words(why));
        return buf;
    }
    if (k == MT_V_OOM_FRAGMENTATION && cause != NULL && why != MT_CAUSE_FRAGMENTATION)
        k = MT_V_OOM; /* the pieces are not the cause */
    switch (k) {
    case MT_V_OOM_CAPACITY: return "Out of memory: the device was full";
    case MT_V_OOM_FRAGMENTATION: return "Out of memory: fragmentation";
    case MT_V_OOM_LIMIT: return "Out of memory: a limit below the device's size";
    case MT_V_OOM: return "Out of memory";
    case MT_V_PEAK: return "No out-of-memory event in this trace: its peak";
    case MT_V_END_STATE: return "No history recorded: the state at the dump";
    case MT_V_EMPTY: return "Nothing was allocated";
    }
    return "";
}

const char *mt_focus_words(const struct mt_device_analysis *d)
{
    if (d->focus_is_oom)
        return "at the OOM";
    return d->end_state_only || d->withheld != NULL ? "at the dump" : "at the peak";
}

const char *mt_birth_words(enum mt_birth b)
{
    switch (b) {
    case MT_BIRTH_IN_TRACE: return "in the trace";
    case MT_BIRTH_BEFORE_TRACE: return "before the trace";
    case MT_BIRTH_GHOST: return "before the trace, never freed in it";
    case MT_BIRTH_COUNT: break;
    }
    return "";
}

char *mt_event_words(char buf[MT_WORDS], int64_t event)
{
    char n[32];
    if (event == MT_NO_EVENT)
        (void)snprintf(buf, MT_WORDS, "-");
    else if (event < 0)
        (void)snprintf(buf, MT_WORDS, "at the start");
    else
        (void)snprintf(buf, MT_WORDS, "event %s", mt_fmt_count(n, (uint64_t)event));
    return buf;
}

char *mt_moment_words(char buf[MT_WORDS], const struct mt_device_analysis *d, int64_t event,
                      uint64_t time_ns)
{
    if (d->first_ns != 0 && time_ns >= d->first_ns)
        return mt_fmt_seconds(buf, time_ns - d->first_ns);
    return mt_event_words(buf, event);
}

char *mt_conf_words(char buf[MT_WORDS], const uint64_t by_conf[MT_CONF_COUNT])
{
    char share[32];
    uint64_t sum = 0;
    int best = 0;
    for (int c = 0; c < MT_CONF_COUNT; c++) {
        sum += by_conf[c];
        if (by_conf[c] >= by_conf[best])
            best = c;
    }
    if (sum == 0)
        (void)snprintf(buf, MT_WORDS, "-");
    else if (by_conf[best] == sum)
        (void)snprintf(buf, MT_WORDS, "%s", mt_conf_name((enum mt_conf)best));
    else
        (void)snprintf(buf, MT_WORDS, "%s %s", mt_conf_name((enum mt_conf)best),
                       mt_fmt_percent(share, by_conf[best], sum));
    return buf;
}

char *mt_format_words(char buf[MT_WORDS], const struct mt_meta *m)
{
    const char *more = m->is_bare_list    ? ", a list of segments only"
                       : m->legacy_blocks ? ", of PyTorch 2.0 or older"
                                          : "";
    if (m->format == MT_FMT_PICKLE)
        (void)snprintf(buf, MT_WORDS, "pickle, protocol %d%s%s", m->pickle_protocol,
                       m->torch_jit_pickler ? ", written by torch::jit::Pickler" : "", more);
    else
        (void)snprintf(buf, MT_WORDS, "%s%s",
                       m->format == MT_FMT_JSON       ? "JSON"
                       : m->format == MT_FMT_MEMTRACE ? "memtrace trace"
                       : m->is_timeline               ? "memory timeline of torch.profiler"
                       : m->is_npu_table ? "operator_memory.csv of torch_npu's profiler"
                       : m->format == MT_FMT_PROFILER ? "Chrome trace of torch.profiler"
                       : m->format == MT_FMT_MEMRAY   ? "recording of memray"
                       : m->format == MT_FMT_NSYS     ? "export of Nsight Systems"
                                                      : "unknown",
                       more);
    return buf;
}
