/* log/cards.c -- evidence beside a failure that others than the failed process give, or that it
 * gives at another moment: nvidia-smi and its like, the counters of PyTorch's allocator,
 * torch_npu's list of the parts of CANN. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

#include <string.h>

enum { NAMED = 3 }; /* processes, or parts, that a sentence names */

static bool is_one(const struct mt_log_fact *f, enum mt_log_kind kind, int32_t gpu)
{
    return f->kind == kind && (gpu < 0 || f->gpu < 0 || f->gpu == gpu);
}

/* One look at a card: the facts [from, to) of a log, of them those of one card. */
struct look {
    const struct mt_log *log;
    const struct mt_log_fact *card; /* NULL = only its processes were asked for */
    uint32_t from, to;
    int32_t gpu;
};

static bool is_reading(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_CARD || f->kind == MT_LOG_CARD_PROC;
}

/* The table that the reading at `at` stands in: up to the same card again, or to another line; of
 * processes alone from its first row. */
static struct look look_at(const struct mt_log *log, uint32_t at)
{
    const struct mt_log_fact *f = &log->facts.p[at];
    struct look k = {log, f->kind == MT_LOG_CARD ? f : NULL, at, at + 1, f->gpu};
    while (k.to < log->facts.n && is_reading(&log->facts.p[k.to]) &&
           !(log->facts.p[k.to].kind == MT_LOG_CARD && log->facts.p[k.to].gpu == k.gpu) &&
           !(k.card == NULL && log->facts.p[k.to].kind == MT_LOG_CARD))
        k.to++;
    for (; k.card == NULL && k.from > 0; k.from--) { /* rows above it */
        const struct mt_log_fact *above = &log->facts.p[k.from - 1];
        if (above->kind != MT_LOG_CARD_PROC || above->line + 1 != log->facts.p[k.from].line)
            break;
    }
    return k;
}

static uint64_t used(const struct mt_log_fact *f) { return mt_log_or_zero(f->value[0]); }

/* The largest facts of a kind in [from, to) by a value, the largest first. */
struct top {
    const struct mt_log_fact *f[NAMED];
    uint32_t n; /* how many there are */
    uint64_t sum;
};

static void largest(struct top *top, const struct look *k, enum mt_log_kind kind, int value)
{
    memset(top, 0, sizeof *top);
    for (uint32_t i = k->from; i < k->to; i++) {
        const struct mt_log_fact *f = &k->log->facts.p[i];
        if (!is_one(f, kind, k->gpu))
            continue;
        top->n++;
        top->sum += mt_log_or_zero(f->value[value]);
        for (uint32_t at = 0; at < NAMED && f != NULL; at++) {
            const struct mt_log_fact *was = top->f[at];
            if (was != NULL && mt_log_or_zero(was->value[value]) >= mt_log_or_zero(f->value[value]))
                continue;
            top->f[at] = f; /* the others move on */
            f = was;
        }
    }
}

static void say_processes(struct mt_sentence *t, const struct look *k, const char *lead)
{
    struct top top;
    largest(&top, k, MT_LOG_CARD_PROC, 1);
    for (uint32_t i = 0; i < top.n && i < NAMED; i++)
        mt_words_add(t, "%s%s (pid %llu) %s", i == 0 ? lead : ", ",
                     top.f[i]->text[0] != '\0' ? top.f[i]->text : "a process",
                     (unsigned long long)mt_log_or_zero(top.f[i]->value[0]),
                     MT_BYTES(mt_log_or_zero(top.f[i]->value[1])));
    if (top.n > NAMED)
        mt_words_add(t, " and %u more", top.n - NAMED);
}

/* "By nvidia-smi in line 9 GPU 0 has 78.70 GiB of 79.65 GiB in use: VLLM::EngineCore (pid 23456)
 * 37.11 GiB" */
static void say_look(struct mt_sentence *t, const struct look *k)
{
    const struct mt_log_fact *f = k->card != NULL ? k->card : &k->log->facts.p[k->from];
    mt_words_add(t, "%sBy %s in line %llu ", t->n != 0 ? " " : "",
                 k->card != NULL      ? f->text
                 : f->platform == 'N' ? "npu-smi"
                 : f->platform == 'H' ? "rocm-smi"
                                      : "nvidia-smi",
                 (unsigned long long)f->line);
    if (k->card == NULL) {
        say_processes(t, k, "the card is held by ");
        return;
    }
    if (f->gpu >= 0)
        mt_words_add(t, "%s %d", mt_log_device(f), (int)f->gpu);
    else
        mt_words_add(t, "the card");
    mt_words_add(t, " has ");
    if (f->value[0] != MT_LOG_NONE)
        mt_words_add(t, "%s%s", MT_BYTES(f->value[0]), f->value[1] != MT_LOG_NONE ? " of " : "");
    if (f->value[1] != MT_LOG_NONE)
        mt_words_add(t, "%s", MT_BYTES(f->value[1]));
    mt_words_add(t, f->value[0] != MT_LOG_NONE ? " in use" : " in all");
    say_processes(t, k, ": ");
}

/* ---- the allocator's counters ---- */

static void say_counters(struct mt_sentence *t, const struct mt_log_fact *f,
                         const struct mt_logdiag *d)
{
    const uint64_t *v = f->value;
    uint64_t unused = mt_log_minus(v[MT_LC_RESERVED], v[MT_LC_ALLOCATED]),
             waste = mt_log_minus(v[MT_LC_ALLOCATED], v[MT_LC_REQUESTED]);
    mt_words_add(t, "%sBy torch.cuda.%s() in line %llu", t->n != 0 ? " " : "", f->text,
                 (unsigned long long)f->line);
    if (f->gpu >= 0)
        mt_words_add(t, ", %s %d,", mt_log_device(f), (int)f->gpu);
    mt_words_add(t, " PyTorch had %s allocated", MT_BYTES(mt_log_or_zero(v[MT_LC_ALLOCATED])));
    if (v[MT_LC_ALLOCATED_PEAK] != MT_LOG_NONE)
        mt_words_add(t, " (at most %s)", MT_BYTES(v[MT_LC_ALLOCATED_PEAK]));
    if (v[MT_LC_RESERVED] != MT_LOG_NONE)
        mt_words_add(t, " and %s reserved", MT_BYTES(v[MT_LC_RESERVED]));
    if (v[MT_LC_RESERVED_PEAK] != MT_LOG_NONE)
        mt_words_add(t, " (at most %s)", MT_BYTES(v[MT_LC_RESERVED_PEAK]));
    if (v[MT_LC_SPLIT] != MT_LOG_NONE && unused != MT_LOG_NONE) {
        bool all = v[MT_LC_SPLIT] + (UINT64_C(1) << 20) >= unused; /* printed in whole MiB */
        mt_words_add(t, "; %s%s that were reserved and free", all ? "the " : "of the ",
                     MT_BYTES(unused));
        if (!all)
            mt_words_add(t, ", %s", MT_BYTES(v[MT_LC_SPLIT]));
        mt_words_add(t, " lay in pieces between blocks in use, which emptying the cache does not "
                        "give back");
        if (d != NULL && d->cause == MT_CAUSE_CAPACITY && d->free != MT_LOG_NONE &&
            v[MT_LC_SPLIT] + d->free < d->request)
            mt_words_add(t,
                         ": with what was free less than the %s asked for, no packing would have "
                         "made room",
                         MT_BYTES(d->request));
    }
    if (waste != MT_LOG_NONE)
        mt_words_add(t, "; rounding sizes up took %s", MT_BYTES(waste));
    if (v[MT_LC_RETRIES] != MT_LOG_NONE && v[MT_LC_RETRIES] != 0)
        mt_words_add(t, "; %llu time%s it emptied its cache because the card was full",
                     (unsigned long long)v[MT_LC_RETRIES], v[MT_LC_RETRIES] == 1 ? "" : "s");
    mt_words_add(t, ".");
}

static const char counters_lack[] =
    "Such counters know neither what the memory is for nor when the most was in use.";

/* ---- torch_npu's list ---- */

static bool say_parts(struct mt_sentence *t, const struct mt_log *log)
{
    struct look all = {log, NULL, 0, log->facts.n, -1};
    struct top top;
    largest(&top, &all, MT_LOG_NPU_PART, 0);
    for (uint32_t i = 0; i < top.n && i < NAMED; i++)
        mt_words_add(t, "%s%s %s",
                     i != 0      ? ", "
                     : t->n != 0 ? " Of the NPU, CANN's parts held "
                                 : "Of the NPU, CANN's parts held ",
                     top.f[i]->text, MT_BYTES(mt_log_or_zero(top.f[i]->value[0])));
    if (top.n > NAMED)
        mt_words_add(t, ", %s in all", MT_BYTES(top.sum));
    if (top.n != 0)
        mt_words_add(t, ".");
    return top.n != 0;
}

/* ---- the table of torch_npu's profiler ---- */

static const struct mt_log_fact *part_of(const struct mt_log *log, const char *part, int32_t gpu)
{
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind == MT_LOG_NPU_RECORD && f->gpu == gpu && strcmp(f->text, part) == 0)
            return f;
    }
    return NULL;
}

/* The device whose parts had the most reserved. */
static int32_t fullest(const struct mt_log *log)
{
    const struct mt_log_fact *top = NULL;
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind == MT_LOG_NPU_RECORD &&
            (top == NULL || mt_log_or_zero(f->value[1]) > mt_log_or_zero(top->value[1])))
            top = f;
    }
    return top != NULL ? top->gpu : -1;
}

/* What a part is, for a sentence. */
static const char *part_words(const char *part)
{
    return strcmp(part, "PTA") == 0         ? "PyTorch's pool (PTA)"
           : strcmp(part, "GE") == 0        ? "the pool of CANN's graph engine (GE)"
           : strcmp(part, "WORKSPACE") == 0 ? "workspaces of operators (WORKSPACE)"
                                            : part;
}

static bool say_record(struct mt_sentence *t, const struct mt_log *log)
{
    int32_t gpu = fullest(log);
    const struct mt_log_fact *whole = part_of(log, "APP", gpu);
    uint32_t n = 0;
    if (gpu < 0)
        return false;
    mt_words_add(t, "%sBy torch_npu's profiler, ", t->n != 0 ? " " : "");
    if (whole != NULL)
        mt_words_add(t, "the process held up to %s of NPU %d, looked at now and then",
                     MT_BYTES(mt_log_or_zero(whole->value[1])), (int)gpu);
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind != MT_LOG_NPU_RECORD || f->gpu != gpu || f == whole)
            continue;
        mt_words_add(t, "%s%s had",
                     n++ != 0        ? ", "
                     : whole != NULL ? "; "
                                     : "",
                     part_words(f->text));
        if (f->value[1] != MT_LOG_NONE)
            mt_words_add(t, " up to %s reserved", MT_BYTES(f->value[1]));
        if (f->value[0] != MT_LOG_NONE)
            mt_words_add(t, "%s up to %s allocated", f->value[1] != MT_LOG_NONE ? " and" : "",
                         MT_BYTES(f->value[0]));
        if (whole == NULL && n == 1)
            mt_words_add(t, " of NPU %d", (int)gpu);
    }
    mt_words_add(t, ".");
    return true;
}

/* ---- beside a failure ---- */

static uint64_t apart(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* The fact of that kind nearest to a line of the log, of that card; NULL = none. */
static const struct mt_log_fact *nearest(const struct mt_log *log, enum mt_log_kind kind,
                                         int32_t gpu, uint64_t line)
{
    const struct mt_log_fact *best = NULL;
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (is_one(f, kind, gpu) &&
            (best == NULL || apart(f->line, line) < apart(best->line, line)))
            best = f;
    }
    return best;
}

/* How well the look serves the failure: 3 = it has the failed process, by its number; 2 = processes
 * of the card that its line names; 1 = that card; 0 = another. */
static int serves(const struct look *k, const struct mt_log_fact *f)
{
    int best = is_one(k->card, MT_LOG_CARD, f->gpu);
    for (uint32_t i = k->from; i < k->to; i++) {
        const struct mt_log_fact *p = &k->log->facts.p[i];
        if (!is_one(p, MT_LOG_CARD_PROC, k->gpu))
            continue;
        if (f->pid >= 0 && p->value[0] == (uint64_t)f->pid)
            return 3;
        best = best != 0 ? 2 : 0;
    }
    return best;
}

/* Of the looks at cards that serve best the nearest to the failure. by_number: the card was found
 * by its number, and there are others. */
static bool find_look(struct look *out, bool *by_number, const struct mt_log *log,
                      const struct mt_log_fact *f)
{
    const struct mt_log_fact *apps = nearest(log, MT_LOG_CARD_PROC, f->gpu, f->line);
    int best = -1;
    bool others = false;
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *card = &log->facts.p[i];
        struct look k;
        int how;
        if (card->kind != MT_LOG_CARD)
            continue;
        k = look_at(log, i);
        how = serves(&k, f);
        others |= card->gpu >= 0 && card->gpu != f->gpu;
        if (how > best ||
            (how == best && apart(card->line, f->line) < apart(out->card->line, f->line))) {
            *out = k;
            best = how;
        }
    }
    *by_number = (best == 1 || best == 2) && others && f->gpu >= 0;
    if (best < 0 && apps != NULL)
        *out = look_at(log, (uint32_t)(apps - log->facts.p));
    return best >= 0 || apps != NULL;
}

void mt_logdiag_say_cards(struct mt_sentence *t, const struct mt_logdiag *d,
                          const struct mt_logs *logs)
{
    const struct mt_log_fact *f = &logs->files.p[d->file].log.facts.p[d->fact];
    const struct mt_log_fact *c = NULL;
    struct look k;
    bool found = false, by_number;
    if (d->cause == MT_CAUSE_HOST || d->cause == MT_CAUSE_KILLED)
        return;
    for (uint32_t n = 0; n < logs->files.n; n++) { /* the failure's own log first */
        uint32_t i = n == 0 ? d->file : n <= d->file ? n - 1 : n;
        const struct mt_log *log = &logs->files.p[i].log;
        if (!found && find_look(&k, &by_number, log, f)) {
            found = true;
            say_look(t, &k);
            mt_words_add(t, "; that was not the moment of the failure%s.",
                         by_number ? ", and a process may number its cards in another way" : "");
        }
        if (c == NULL && (c = nearest(log, MT_LOG_COUNTERS, f->gpu, f->line)) != NULL)
            say_counters(t, c, d);
        say_parts(t, log);
        say_record(t, log);
    }
}

/* ---- alone ---- */

/* The fullest of all readings, how many of its card there are, and the card with the least. */
static void say_fullest(struct mt_sentence *t, const struct mt_log *log)
{
    const struct mt_log_fact *top = NULL, *least = NULL;
    uint32_t n = 0, cards = 0;
    uint64_t seen = 0;
    struct look k;
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind == MT_LOG_CARD && (top == NULL || used(f) > used(top)))
            top = f;
    }
    if (top == NULL)
        return;
    k = look_at(log, (uint32_t)(top - log->facts.p));
    for (uint32_t i = 0; i < log->facts.n; i++) {
        const struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind != MT_LOG_CARD)
            continue;
        n += f->gpu == top->gpu;
        if (f->gpu >= 0 && f->gpu < 64 && (seen >> f->gpu & 1) == 0) {
            seen |= UINT64_C(1) << f->gpu;
            cards++;
        }
        /* of the same table: cards are numbered upwards in it */
        if (i >= k.from && i < k.to && f->gpu >= 0 && (least == NULL || used(f) < used(least)))
            least = f;
    }
    for (uint32_t i = (uint32_t)(top - log->facts.p);
         i > 0 && log->facts.p[i - 1].kind == MT_LOG_CARD &&
         log->facts.p[i - 1].gpu < log->facts.p[i].gpu;
         i--)
        if (least == NULL || used(&log->facts.p[i - 1]) < used(least))
            least = &log->facts.p[i - 1];
    say_look(t, &k);
    if (n > 1)
        mt_words_add(t, ", the highest of %u readings", n);
    if (cards > 1 && least != NULL && least != top)
        mt_words_add(t, "; of %u cards it is the fullest, %s %d the emptiest with %s", cards,
                     mt_log_device(least), (int)least->gpu, MT_BYTES(used(least)));
    mt_words_add(t, ".");
}

void mt_logdiag_say_readings(struct mt_sentence *t, struct mt_sentence *b,
                             const struct mt_logs *logs)
{
    bool cards = false, counters = false, parts = false, record = false;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        const struct mt_log_fact *first = nearest(log, MT_LOG_CARD_PROC, -1, 0), *top = NULL;
        if (nearest(log, MT_LOG_CARD, -1, 0) != NULL) {
            say_fullest(t, log);
            cards = true;
        } else if (first != NULL) {
            struct look k = look_at(log, (uint32_t)(first - log->facts.p));
            say_look(t, &k);
            mt_words_add(t, ".");
            cards = true;
        }
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k];
            if (f->kind == MT_LOG_COUNTERS &&
                (top == NULL ||
                 mt_log_or_zero(f->value[MT_LC_ALLOCATED]) > top->value[MT_LC_ALLOCATED]))
                top = f->value[MT_LC_ALLOCATED] != MT_LOG_NONE ? f : top;
        }
        if (top != NULL)
            say_counters(t, top, NULL);
        counters |= top != NULL;
        parts |= say_parts(t, log);
        record |= say_record(t, log);
    }
    if (cards)
        mt_words_add(b,
                     "%sSuch a tool counts whole processes at one moment: not what PyTorch keeps "
                     "reserved without using it, not what any of it is for, nor a peak between "
                     "two readings.",
                     b->n != 0 ? " " : "");
    if (counters)
        mt_words_add(b, "%s%s", b->n != 0 ? " " : "", counters_lack);
    if (parts)
        mt_words_add(b,
                     "%sThe list has no moment but that of the failure, and PyTorch's own share "
                     "(PTA) only as one sum: the snapshot beside it has its blocks.",
                     b->n != 0 ? " " : "");
    if (record)
        mt_words_add(b,
                     "%sEach is the highest of its own, at a moment of its own. What the whole "
                     "process held beyond the pools is CANN's own, HCCL's and the like. Which "
                     "operators the memory is of stands in operator_memory.csv beside it.",
                     b->n != 0 ? " " : "");
}
