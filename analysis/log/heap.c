/* log/heap.c -- what `memray stats --json` says of the host's memory, alone or where the host ran
 * out: a peak, and whose allocations added up to most. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

enum { NAMED = 3 }; /* lines of code that a sentence names; the file has them by size */

const char mt_logdiag_heaps_lack[] =
    "memray's statistics are of one process and its whole life: what was freed long before the "
    "peak is in such a sum as well, so the largest need not be what the peak was made of, nor is "
    "it said when that was. The recording that they were made from (memray-*.bin), given to "
    "memtrace, has both. Nothing of it is on the GPU, which "
    "torch.cuda.memory._record_memory_history() records.";

static void say_one(struct mt_sentence *t, const struct mt_log *log, uint32_t at)
{
    const struct mt_log_fact *f = &log->facts.p[at];
    uint32_t n = 0;
    mt_words_add(t, "%sBy memray in line %llu ", t->n != 0 ? " " : "", (unsigned long long)f->line);
    if (f->pid >= 0)
        mt_words_add(t, "process %lld", (long long)f->pid);
    else
        mt_words_add(t, "one process");
    if (f->text[0] != '\0')
        mt_words_add(t, " (%s)", f->text);
    if (f->value[0] != MT_LOG_NONE)
        mt_words_add(t, " had %s of host memory at its peak", MT_BYTES(f->value[0]));
    else
        mt_words_add(t, " has no peak in it");
    if (f->value[1] != MT_LOG_NONE)
        mt_words_add(t, " and allocated %s in all", MT_BYTES(f->value[1]));
    for (at++; at < log->facts.n && log->facts.p[at].kind == MT_LOG_HEAP_PLACE && n < NAMED; at++)
        if (log->facts.p[at].value[0] != MT_LOG_NONE)
            mt_words_add(t, "%s%s %s", n++ == 0 ? ", most of it at " : ", ", log->facts.p[at].text,
                         MT_BYTES(log->facts.p[at].value[0]));
    mt_words_add(t, ".");
}

bool mt_logdiag_say_heaps(struct mt_sentence *t, const struct mt_logs *logs)
{
    bool any = false;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++)
            if (log->facts.p[k].kind == MT_LOG_HEAP) {
                say_one(t, log, k);
                any = true;
            }
    }
    return any;
}
