/* log/host.c -- what held the host's memory, as far as lines of the log show it: a kill names the
 * process alone. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

/* Lines from what goes on to the kill: other processes write in between. What has no end of its own
 * to be seen is nearer. */
enum { NEAR = 64, NEARER = 12 };
/* Ray tells of its store seldom, each time it has spilled twice as much: what it said long ago need
 * not be so. */
enum { LATELY = 256 };

uint64_t mt_logdiag_hint(const struct mt_logdiag *d, const struct mt_log *log, enum mt_log_hint h)
{
    const struct mt_log_fact *f = &log->facts.p[d->fact];
    bool is_host = f->kind == MT_LOG_KILLED || f->kind == MT_LOG_RAY_KILL ||
                   f->kind == MT_LOG_KERNEL_KILL ||
                   (f->kind == MT_LOG_HOST_OOM && (f->text[0] == '\0' || mt_log_is_talk(f))),
         goes_on = h == MT_LH_LOAD || h == MT_LH_DATA;
    uint64_t far = h == MT_LH_RESUME  ? NEARER
                   : goes_on          ? NEAR
                   : h == MT_LH_SPILL ? LATELY
                                      : UINT64_MAX;
    if (is_host && mt_log_is_talk(f)) /* a title stands above its log, which ends there */
        return log->hint[h];
    if (!is_host || log->hint[h] == 0 || log->hint[h] > f->line || f->line - log->hint[h] > far)
        return 0;
    return log->hint[h];
}

void mt_logdiag_say_hints(struct mt_sentence *t, const struct mt_logdiag *d,
                          const struct mt_log *log)
{
    static const char *const words[MT_LH_COUNT] = {
        [MT_LH_LOAD] = "weights were being loaded: each process of the node that loads holds them",
        [MT_LH_RESUME] = "a checkpoint was being read: each process that reads it holds a part",
        [MT_LH_DATA] = "data were being prepared: each process that does has a copy of its part",
        [MT_LH_OFFLOAD] = "the optimizer works on the CPU: its states lie in the host's memory",
        [MT_LH_IMAGES] = "images are among the data: pixels of all samples in flight lie there",
        [MT_LH_SPILL] = "Ray's object store was full, which is a part of the host's memory"};
    for (int h = 0; h < MT_LH_COUNT; h++) {
        uint64_t line = mt_logdiag_hint(d, log, (enum mt_log_hint)h);
        if (line != 0)
            mt_words_add(t, "%sBy line %llu %s.", t->n != 0 ? " " : "", (unsigned long long)line,
                         words[h]);
    }
}

bool mt_logdiag_never_ran(const struct mt_log *log)
{
    for (uint32_t i = 0; i < log->facts.n; i++)
        if (log->facts.p[i].kind == MT_LOG_KILLED && log->facts.p[i].value[MT_LK_NEVER_RAN] == 1)
            return true;
    return false;
}

void mt_logdiag_say_dead(struct mt_sentence *t, const struct mt_log_fact *f)
{
    bool named = f->value[MT_LK_CLASS] == 1;
    mt_words_add(t, "A worker of Ray%s%s", named ? ", " : "", named ? f->who : "");
    if (f->value[MT_LK_PID] != MT_LOG_NONE)
        mt_words_add(t, " (pid %llu)", (unsigned long long)f->value[MT_LK_PID]);
    mt_words_add(t, "%s died", named ? "," : "");
}

const char *mt_logdiag_dead_why(const struct mt_log_fact *f)
{
    return f->value[MT_LK_POD] == 1
               ? ", and Ray suspects the memory limit of its pod: `kubectl describe pod` says "
                 "OOMKilled where it was that, `dmesg -T` on the node has the kill itself, and a "
                 "crash leaves a line further up in the worker's own log"
               : ", and nothing in the log says why: the usual reasons are host memory, also the "
                 "limit of a container (`dmesg -T` shows it), and a crash, which leaves a line "
                 "further up in the worker's own log";
}
