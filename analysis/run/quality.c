/* run/quality.c -- what limits the trust in the numbers of a diagnosis, most important first. */
#include "analysis/run/quality_impl.h"

#include "analysis/base/words.h"
#include "analysis/run/one_process.h"
#include "analysis/run/two_books.h"

#include <stdio.h>
#include <string.h>

/* What would have told more. Where nearly every entry has a stack with C++ frames, all was
 * recorded: the code names no pass of its own. */
static const char *more_phases(const struct mt_trace *t, const struct mt_device *v)
{
    bool cpp = false;
    for (uint32_t i = 0; i < t->functions.n && !cpp; i++)
        cpp = strstr(mt_str(t, t->functions.p[i].name), "::") != NULL;
    return cpp && v->events.n != 0 && v->n_with_stack >= v->events.n - v->events.n / 10
               ? ": their frames name no phase; mark it with "
                 "torch.profiler.record_function(\"phase: log_prob\") or another "
                 "name."
               : ": record with stacks=\"all\" and before the model is built.";
}

static void device_caveats(struct mt_caveats *c, const struct mt_rank *k,
                           const struct mt_device_analysis *d)
{
    const struct mt_device *v = &k->trace->devices.p[d->device];
    uint64_t all = d->alloc_bytes ? d->alloc_bytes : d->focus.live;
    char a[40], b[40], place[40];
    (void)mt_words_device(place, d->kind, d->ordinal);
    if (d->withheld != NULL)
        mt_caveat_add(c, "There is no curve for %s: %s.", place, d->withheld);
    else if (d->live_peak > d->reserved_peak && (d->reserved_peak != 0 || !v->has_totals))
        mt_caveat_add(c,
                      "More is live on %s (%s) than is ever reserved there (%s): segment events "
                      "are missing, or the file was made up.",
                      place, mt_words_bytes(a, d->live_peak), mt_words_bytes(b, d->reserved_peak));
    if (v->ring_overflowed == 1)
        mt_caveat_add(c,
                      "The ring buffer of %s overflowed (%s entries kept): what happened before "
                      "event 0 is lost, the numbers after it are exact.",
                      place, mt_words_count(a, v->events.n));
    else if (d->n_unmatched_frees != 0 && v->ring_overflowed < 0)
        mt_caveat_add(c,
                      "%s free%s of %s without an allocation in the trace: recording began later, "
                      "or the ring buffer lost its beginning.",
                      mt_words_count(a, d->n_unmatched_frees), d->n_unmatched_frees == 1 ? "" : "s",
                      place);
    if (d->n_double_allocs != 0)
        mt_caveat_add(
            c, "%s allocation%s of %s at an address that was still live: frees are missing.",
            mt_words_count(a, d->n_double_allocs), d->n_double_allocs == 1 ? "" : "s", place);
    if (v->no_requests && d->kind == MT_DEV_CUDA)
        mt_caveat_add(c,
                      "No free on %s has the moment in which it was requested (free_requested "
                      "entries): how much waited for "
                      "other streams is not known.",
                      place);
    if (d->kind == MT_DEV_CUDA && all != 0 && d->unattributed_bytes != 0)
        mt_caveat_add(c, "%s of %s on device %d could not be given a phase (%s)%s",
                      mt_words_percent(a, d->unattributed_bytes, all),
                      d->alloc_bytes ? "the bytes allocated" : "the live bytes", d->ordinal,
                      mt_words_bytes(b, d->unattributed_bytes),
                      d->unattributed_bytes * 10 > all ? more_phases(k->trace, v) : ".");
    if (v->n_by_action[MT_ACT_ALLOC] != 0 && v->n_with_stack == 0)
        mt_caveat_add(
            c, "No trace entry of %s has a stack: record with context=\"all\", stacks=\"all\".",
            place);
}

/* record_cuda=False, or a process that used no GPU. */
static void pinned_caveats(struct mt_caveats *c, const struct mt_trace *t)
{
    bool pinned = false;
    for (uint32_t i = 0; i < t->devices.n; i++) {
        if (t->devices.p[i].kind != MT_DEV_HOST)
            return;
        pinned = true;
    }
    if (!pinned)
        return;
    mt_caveat_add(c, "The recording is of pinned host memory alone (record_cuda=False): it knows "
                     "nothing of what is on the GPU, which "
                     "torch.cuda.memory._record_memory_history() records, nor of the rest of the "
                     "host's memory, which memray records.");
    mt_caveat_add(c, "PyTorch rounds what it pins up to a power of two and keeps what is freed for "
                     "the next request: how much of a block was asked for is not recorded.");
}

static void rank_caveats(struct mt_caveats *c, const struct mt_rank *k)
{
    const struct mt_trace *t = k->trace;
    char a[40];
    mt_caveats_of_trace(c, t);
    pinned_caveats(c, t);
    for (uint32_t i = 0; i < k->analysis->devices.n; i++)
        device_caveats(c, k, &k->analysis->devices.p[i]);
    if (k->analysis->annotation_checked != 0)
        mt_caveat_add(
            c,
            "PyTorch's own Optimizer.step annotations cover %s allocation%s; %s of them were given "
            "to the optimizer.",
            mt_words_count(a, k->analysis->annotation_checked),
            k->analysis->annotation_checked == 1 ? "" : "s",
            k->analysis->annotation_agreed == k->analysis->annotation_checked ? "all" : "not all");
    for (uint32_t i = 0; i < t->unknown_keys.n; i++)
        mt_caveat_add(
            c, "Unknown key \"%s\", passed over %s time%s.", mt_str(t, t->unknown_keys.p[i].name),
            mt_words_count(a, t->unknown_keys.p[i].n), t->unknown_keys.p[i].n == 1 ? "" : "s");
    for (uint32_t i = 0; i < t->unknown_actions.n; i++)
        mt_caveat_add(c, "Unknown action \"%s\", passed over %s time%s.",
                      mt_str(t, t->unknown_actions.p[i].name),
                      mt_words_count(a, t->unknown_actions.p[i].n),
                      t->unknown_actions.p[i].n == 1 ? "" : "s");
}

/* What the bytes are of that the trace has more, or less. */
static void why_more(struct mt_sentence *why, const struct mt_two_books *b)
{
    if (!b->in_parts) {
        mt_words_add(why, ", at another moment: its blocks are whole, and those that waited for "
                          "other streams count as free");
        if (b->waited != 0)
            mt_words_add(why, " (%s at the snapshot's peak)", MT_BYTES(b->waited));
        return;
    }
    if (b->rounded != 0)
        mt_words_add(why, ": %s by rounding", MT_BYTES(b->rounded));
    if (b->unsplit != 0)
        mt_words_add(why, "%s%s at the end of blocks, too little to be split off",
                     why->n != 0 ? ", " : ": ", MT_BYTES(b->unsplit));
    if (b->waited != 0)
        mt_words_add(why, "%swithout %s that waited for other streams", why->n != 0 ? ", " : ": ",
                     MT_BYTES(b->waited));
}

/* A profiler's trace and a snapshot of one process are two books of the same bytes. */
static void two_books(struct mt_caveats *c, const struct mt_two_books *b)
{
    struct mt_sentence why = {"", 0};
    char live[40];
    why_more(&why, b);
    mt_caveat_add(c,
                  "The profiler's trace and the snapshot record the same bytes of device %d, which "
                  "are listed twice. At %s the trace has %s, %s %s than the snapshot%s.",
                  (int)b->ordinal, b->at_failure ? "the failure" : "its peak",
                  mt_words_bytes(live, b->live),
                  MT_BYTES(b->more < 0 ? 0 - (uint64_t)b->more : (uint64_t)b->more),
                  b->more < 0 ? "less" : "more", why.buf);
}

/* Of every trace with every snapshot. */
static void caveats_of_books(struct mt_caveats *c, const struct mt_diagnosis *d)
{
    struct mt_two_books b;
    for (uint32_t i = 0; i < d->ranks.n; i++)
        for (uint32_t n = 0; n < d->ranks.n; n++)
            for (uint32_t k = 0; k < d->ranks.p[i].analysis->devices.n; k++)
                if (mt_two_books(&d->ranks.p[i], k, &d->ranks.p[n], &b))
                    two_books(c, &b);
}

/* Of a path or the name in an archive the last part. */
static const char *file_of(const struct mt_trace *t)
{
    const char *name = t->meta.member != NULL ? t->meta.member : t->meta.input;
    const char *cut = name != NULL ? strrchr(name, '/') : NULL;
    return cut != NULL ? cut + 1 : name != NULL ? name : "a snapshot";
}

/* A snapshot that was set aside: what a later one of its process has, too. */
static void earlier_caveat(struct mt_caveats *c, const struct mt_diagnosis *d,
                           const struct mt_rank *k)
{
    for (uint32_t i = 0; i < d->ranks.n; i++)
        if (mt_has_all_of(&d->ranks.p[i], k)) {
            mt_caveat_add(c,
                          "%s and %s are snapshots of one process (pid %lld): the second was "
                          "written later and has all of the first, which has no row of its own.",
                          file_of(k->trace), file_of(d->ranks.p[i].trace),
                          (long long)k->trace->meta.pid);
            return;
        }
}

static bool is_damaged(const struct mt_diagnosis *d)
{
    bool damaged = d->skipped != NULL && d->skipped->unread.n != 0;
    for (uint32_t i = 0; i < d->ranks.n; i++)
        damaged = damaged || d->ranks.p[i].trace->damaged;
    for (uint32_t i = 0; i < d->drivers.n; i++)
        damaged = damaged || d->drivers.p[i]->damaged;
    return damaged;
}

/* Of very many ranks: what is not known of most of them any more. */
static void brief_caveat(struct mt_caveats *c, const struct mt_diagnosis *d)
{
    uint32_t n = 0;
    char all[40], brief[40];
    for (uint32_t i = 0; i < d->ranks.n; i++)
        n += d->ranks.p[i].analysis->is_brief;
    if (n != 0)
        mt_caveat_add(c,
                      "Of %s ranks %s have a row and no more: the others are those that failed "
                      "first, hold the most or the least, or were read first. --full keeps all of "
                      "every rank, and takes the memory for it.",
                      mt_words_count(all, d->ranks.n), mt_words_count(brief, n));
}

bool mt_quality_make(struct mt_diagnosis *d)
{
    struct mt_caveats c = {&d->quality, false};
    const struct mt_rank *k = mt_diagnosis_rank(d);
    const struct mt_skipped *s = d->skipped;
    const struct mt_same_job *j = d->same_job;
    d->quality.damaged = is_damaged(d);
    for (uint32_t i = 0; s != NULL && i < s->unread.n; i++)
        mt_caveat_add(&c, "Not read: %s: %s", s->unread.p[i].name, s->unread.p[i].message);
    if (j != NULL) {
        const char *const said[] = {j->sentence, j->elsewhere, j->card, j->doubt, j->missing};
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            if (said[i] != NULL)
                mt_caveat_add(&c, "%s", said[i]);
    }
    brief_caveat(&c, d);
    for (uint32_t i = 0; i < d->earlier.n; i++)
        earlier_caveat(&c, d, &d->earlier.p[i]);
    mt_caveats_of_host(&c, d);
    if (d->driver != NULL)
        mt_caveats_of_driver(&c, d->driver);
    caveats_of_books(&c, d);
    if (k != NULL)
        rank_caveats(&c, k);
    return !c.nomem;
}
