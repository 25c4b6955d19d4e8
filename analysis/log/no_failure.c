/* log/no_failure.c -- what is said of a log that tells of no failure for want of memory. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"
#include "analysis/log/spoken.h"

/* PyTorch's own first tries: harmless only if the job goes on. */
static uint64_t first_tries(const struct mt_logs *logs)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++)
            n += log->facts.p[k].kind == MT_LOG_RETRIED && log->facts.p[k].value[1] != MT_LOG_NONE;
    }
    return n;
}

/* Processes are killed then as well, with the signal of a host that has no memory left. */
static void say_stopped(struct mt_sentence *t, struct mt_sentence *b, const struct mt_logs *logs)
{
    char words[MT_FACT_WORDS];
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k];
            if (f->kind != MT_LOG_STOPPED)
                continue;
            mt_words_add(t, "; by line %llu %s", (unsigned long long)f->line,
                         mt_log_fact_words(words, f));
            mt_words_add(b,
                         "%sA scheduler that stops a job kills its processes: nothing here shows "
                         "that memory was out, on the GPU or the host.",
                         b->n != 0 ? " " : "");
            return;
        }
    }
}

void mt_logdiag_say_no_failure(struct mt_sentence *t, struct mt_sentence *b,
                               const struct mt_logdiag *d, const struct mt_logs *logs)
{
    const char *subject = logs->files.n == 1 ? "The log tells" : "The logs tell";
    uint64_t n, again, tries, speaks;
    mt_logdiag_say_readings(t, b, logs);
    if (mt_logdiag_say_heaps(t, logs))
        mt_words_add(b, "%s%s", b->n != 0 ? " " : "", mt_logdiag_heaps_lack);
    n = mt_logs_facts(logs) - mt_logs_count(logs, MT_LOG_KERNEL_LIMIT) -
        mt_logs_count(logs, MT_LOG_ILLEGAL) - mt_logs_count(logs, MT_LOG_CARD) -
        mt_logs_count(logs, MT_LOG_CARD_PROC) - mt_logs_count(logs, MT_LOG_COUNTERS) -
        mt_logs_count(logs, MT_LOG_NPU_PART) - mt_logs_count(logs, MT_LOG_NPU_RECORD) -
        mt_logs_count(logs, MT_LOG_HEAP) - mt_logs_count(logs, MT_LOG_HEAP_PLACE) -
        mt_logs_count(logs, MT_LOG_STOPPED) - mt_logs_count(logs, MT_LOG_KILLED);
    tries = first_tries(logs);
    again = mt_logs_count(logs, MT_LOG_RETRIED) - tries;
    n -= tries;
    speaks = logs->files.n == 1 ? mt_spoken_of(&logs->files.p[0].log) : 0;
    if (speaks != 0)
        mt_words_add(t,
                     "%sNo line is a failure's own for want of memory; line %llu speaks of memory "
                     "in words that name no failure for certain",
                     t->n != 0 ? " " : "", (unsigned long long)speaks);
    else
        mt_words_add(t, "%s%s of no failure for want of memory", t->n != 0 ? " " : "", subject);
    if (n > again)
        mt_words_add(t, "; %llu line%s say%s how memory was used", (unsigned long long)(n - again),
                     n - again == 1 ? "" : "s", n - again == 1 ? "s" : "");
    if (again != 0) {
        mt_words_add(t, "; %llu line%s that sound%s like one %s harmless",
                     (unsigned long long)again, again == 1 ? "" : "s", again == 1 ? "s" : "",
                     again == 1 ? "is" : "are");
        mt_words_add(
            b,
            "What did not fit was tried again after memory had been given back, or requests were "
            "put off: the job "
            "went on. Where "
            "it ended all the same, the reason stands further down, or in another process's log.");
    }
    if (tries != 0) {
        mt_words_add(t, "; %llu time%s an allocation of PyTorch did not fit at the first try",
                     (unsigned long long)tries, tries == 1 ? "" : "s");
        mt_words_add(b,
                     "%sPyTorch then empties its cache and tries again: the card was full at that "
                     "moment. Where the job ended "
                     "there, the error itself is missing from this log.",
                     b->n != 0 ? " " : "");
    }
    if (mt_logs_have(logs, MT_LOG_KERNEL_LIMIT)) {
        mt_words_add(t,
                     "; a kernel wants more shared memory of a multiprocessor than this GPU has");
        mt_words_add(b,
                     "%sThat is memory on the chip, a few hundred KiB, and says nothing of how "
                     "full the GPU is: the kernel's block "
                     "sizes or num_stages are made for a larger one.",
                     b->n != 0 ? " " : "");
    }
    if (mt_logs_have(logs, MT_LOG_ILLEGAL)) {
        mt_words_add(t, "; a kernel read or wrote where it may not (illegal memory access), which "
                        "is a mistake in a program and no want of memory");
        mt_words_add(
            b,
            "%sAn engine whose version does not fit is the usual reason: check the version of "
            "vLLM or whichever runs here, and that PyTorch, CUDA and the framework belong "
            "to it. CUDA_LAUNCH_BLOCKING=1 makes the traceback name the call.",
            b->n != 0 ? " " : "");
    }
    say_stopped(t, b, logs);
    mt_logdiag_say_usage(b, logs);
    if (d->asks)
        mt_words_add(b,
                     "%sThe text has no failure's line. Where memory ran out behind these lines, "
                     "what is advised helps the program that they are of; nothing here shows that "
                     "it did.",
                     b->n != 0 ? " " : "");
    mt_words_add(t, ".");
}
