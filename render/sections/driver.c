/* What the driver saw. */
#include "render/sections/impl.h"

#include "render/view/driver.h"

#include <stdio.h>

#define PINNED (UINT64_C(1) << 30) /* less is what every job pins */

static void curve(struct mt_sink *k, const struct mt_ledger *l)
{
    uint64_t top = 0;
    for (uint32_t i = 0; i < l->n_columns; i++) {
        uint64_t high = l->used[i] > l->named[i] ? l->used[i] : l->named[i];
        top = high > top ? high : top;
    }
    if (k->curve == NULL || l->n_columns < 2 || top == 0)
        return;
    if (l->capacity > top && l->capacity / top < 3)
        top = l->capacity;
    k->curve(k,
             &(struct mt_curve){l->used, l->named, l->n_columns, top, l->t1_ns - l->t0_ns, true});
}

/* Of whom the rows are, and how they add up. */
static void ledger_note(struct mt_sink *k, const struct mt_driverdiag *j, const struct mt_ledger *l)
{
    char at[40], over[64] = "", left[64], code[MT_CODE_WORDS];
    if (l->checks.n != 0)
        (void)snprintf(over, sizeof over, "%s sample%s", MT_COUNT(l->checks.n),
                       mt_plural(l->checks.n));
    (void)snprintf(left, sizeof left, "%s %s", MT_BYTES(l->max_unexplained),
                   l->max_unexplained == 0 ? "was" : "were");
    MT_ROW3(k, NULL, NULL,
            "<p class=\"note\">Held {0}, {1} after the beginning. {2:=} [Over {3} at most {4} "
            "unexplained. ][Beside this there were {5} of managed memory. ]</p>\n",
            mt_ledger_focus_words(l), mt_driver_moment(at, j, l->focus_ns),
            l->focus_used != 0
                ? "The device\xe2\x80\x99s own figure is that of the last sample before, moved by "
                  "what was recorded since; \xe2\x80\x9cunexplained\xe2\x80\x9d is what it has "
                  "beyond recorded calls and other processes, less than zero where these say more "
                  "than the device does."
                : "The device\xe2\x80\x99s own figure was not sampled by then.",
            over, left, MT_BYTES_OR(l->managed_focus != 0, l->managed_focus, ""));
    if (mt_ledger_code_words(l, code) != NULL)
        MT_ROW3(k, "  |{0}", "{0}\n\n", "<p class=\"note\">{0}</p>\n", code);
}

static void ledger_row(struct mt_sink *k, const struct mt_driverdiag *j, const struct mt_ledger *l,
                       const struct mt_ledger_row *r)
{
    bool is_process = r->process != MT_NONE32;
    char who[MT_WHO], holder[MT_WHO], within[MT_WITHIN];
    MT_DATA(k,
            "~  {0:>12}  {1}[ ({2})]\n~                {4}\n"
            "                {5} more of address space is reserved and not mapped",
            "| {0:=} | {3:=} | {1} | {2} |\n",
            is_process
                ? "<tr><th scope=\"row\">{1:cn200}[ <small>{4:n200}</small>][ <small>{5} more of "
                  "address space is reserved and not mapped</small>]</th><td>{2:n200}</td>{0:t}"
                  "{6:t}{3:t}{7:t}</tr>\n"
                : "<tr><th scope=\"row\">{1:cn200}[ <small>{4:n200}</small>]</th><td>{8}</td>{0:t}"
                  "{6:t}{3:t}{7:t}</tr>\n",
            mt_as_signed(r->bytes),
            mt_as_holder(r->holder, mt_driver_holder(holder, l, r->holder, r->library)),
            mt_as_words(is_process ? mt_driver_who(who, j, r->driver, r->process) : NULL),
            mt_known(is_process, mt_as_bytes(r->peak), NULL),
            mt_as_words(r->holder == MT_HOLD_UNEXPLAINED ? mt_ledger_within_words(l, within)
                                                         : r->label),
            /* an expandable segment reserves a whole GPU: that says nothing */
            mt_known(r->reserved_va != 0 && r->holder != MT_HOLD_TORCH, mt_as_bytes(r->reserved_va),
                     NULL),
            mt_as_share(r->bytes > 0 ? (uint64_t)r->bytes : 0,
                        l->focus_used != 0 ? l->focus_used : l->focus_named),
            mt_known(is_process, mt_as_count(r->n_live), NULL),
            mt_as_words(r->holder == MT_HOLD_OTHER ? "not recorded, by NVML"
                        : l->focus_unexplained < 0 ? "counted beyond it"
                                                   : "the rest"));
}

static void ledger_sum(struct mt_sink *k, const struct mt_ledger *l)
{
    uint64_t sum = l->focus_used != 0 ? l->focus_used : l->focus_named;
    MT_DATA(k, "  {0:>12}  {1}: the sum[; {2}]", "| **{0}** | | **{1}[; {2}]** | |\n",
            "<tr class=\"sum\"><th scope=\"row\">{1}</th><td>the sum</td>{0:t}<td class=\"n\">"
            "[{3} of capacity]</td><td></td><td></td></tr>\n",
            mt_as_bytes(sum),
            mt_as_words(l->focus_used != 0 ? "used on the device" : "by recorded calls"),
            mt_as_words(l->focus_used != 0 ? NULL : "the device's own figure was not sampled"),
            mt_known(l->capacity != 0, mt_as_share(sum, l->capacity), NULL));
    MT_ROW(k, "  {0:>12}  capacity", NULL, MT_BYTES_OR(l->capacity != 0, l->capacity, ""));
}

static void ledger(struct mt_sink *k, const struct mt_driverdiag *j, const struct mt_ledger *l)
{
    uint32_t shown = mt_most3(k, 14, 12, 20), more = 0;
    int64_t rest = 0;
    mt_heading(k, l->name, NULL);
    if (!k->is_screen)
        curve(k, l);
    MT_ROW(k, "  Held {1}, by owner:",
           "**{0}**, {1}\n\n| bytes | peak | owner | process |\n|---:|---:|---|---|\n", l->name,
           mt_ledger_focus_words(l));
    MT_TABLE(k, "Owners of the memory of a GPU", "Owner", "Process", "#Bytes", "#Share",
             "#Its peak", "#Live");
    for (uint32_t i = 0; i <= l->rows.n; i++) {
        const struct mt_ledger_row *r = i < l->rows.n ? &l->rows.p[i] : NULL;
        bool is_last = r == NULL || r->holder == MT_HOLD_UNEXPLAINED;
        if (i >= shown && !is_last) {
            rest += r->bytes;
            more++;
            continue;
        }
        if (more != 0 && is_last) { /* the rest comes before what is unexplained, which is last */
            MT_DATA(k, "  {0:>12}  {1} smaller owner{2}", "| {0:=} | | {1} smaller owner{2} | |\n",
                    "<tr><th scope=\"row\">{1} smaller owner{2}</th><td></td>{0:t}<td></td><td>"
                    "</td><td></td></tr>\n",
                    mt_as_signed(rest), mt_as_count(more), mt_as_words(mt_plural(more)));
            more = 0;
        }
        if (r != NULL)
            ledger_row(k, j, l, r);
    }
    ledger_sum(k, l);
    k->end(k);
    ledger_note(k, j, l);
}

void mt_section_ledger(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint32_t whole = mt_most3(k, 8, 4, UINT32_MAX);
    if (j == NULL)
        return;
    for (uint32_t i = 0; i < j->ledgers.n && i < whole; i++)
        if (k->ledger == NULL || k->ledger == &j->ledgers.p[i])
            ledger(k, j, &j->ledgers.p[i]);
    for (uint32_t i = whole; i < j->ledgers.n; i++)
        MT_ROW(k,
               i == whole ? "\n  {0:<50} peak {1} by recorded calls"
                          : "  {0:<50} peak {1} by recorded calls",
               NULL, j->ledgers.p[i].name, MT_BYTES(j->ledgers.p[i].peak_named));
}

/* Those that ended a process, what else was not survived, the rest. */
static unsigned rank_of(const struct mt_driver_oom *o)
{
    return o->is_fatal ? 0 : o->survived ? 2 : 1;
}

static void failure(struct mt_sink *k, const struct mt_driverdiag *j, const struct mt_driver_oom *o)
{
    const struct mt_call *c = &j->drivers.p[o->driver]->driver->calls.p[o->call];
    bool is_told = o->phase != MT_PH_UNATTRIBUTED || o->sub != MT_PH_NONE;
    char who[MT_WHO], holder[MT_WHO], when[40];
    MT_DATA(
        k,
        "  - |{0}: {1} in {2} asked for {3}[ of {4}][, {5} free on the device][, during "
        "{6}]: {7}[, {8}]",
        "| {1} | {2} | {3} | {9:=} | {6} | {7} |\n",
        o->is_fatal
            ? "<tr class=\"me\">{0:t}<th scope=\"row\">{1:n200} <small>{10}[ in {11:n200}]"
              "</small></th><td>{2:n200}[ <small>pinned {4}</small>][ <small>{12:n120}"
              "</small>]</td>{3:t}{9:t}<td>{13}[ <small>{14}</small>]</td><td><strong "
              "class=\"oom\">{7}</strong></td></tr>\n"
            : "<tr>{0:t}<th scope=\"row\">{1:n200} <small>{10}[ in {11:n200}]</small></th>"
              "<td>{2:n200}[ <small>pinned {4}</small>][ <small>{12:n120}</small>]</td>{3:t}"
              "{9:t}<td>{13}[ <small>{14}</small>]</td><td>{7}</td></tr>\n",
        mt_as_words(mt_driver_moment(when, j, o->time_ns)),
        mt_as_words(mt_driver_holder(holder, NULL, o->who, o->library)),
        mt_as_words(mt_driver_who(who, j, o->driver, o->process)),
        mt_known(o->request != 0, mt_as_bytes(o->request), "a size that is not recorded"),
        mt_as_words(o->is_host ? "host memory" : NULL),
        mt_known(o->free != 0, mt_as_bytes(o->free), NULL),
        mt_as_words(is_told ? MT_PHASE_WORDS(o->phase, o->sub) : NULL),
        mt_as_words(o->survived ? "survived" : "not survived"),
        mt_as_words(o->survived || o->is_fatal ? NULL : "part of the same trouble"),
        mt_known(o->free != 0, mt_as_bytes(o->free), "-"),
        mt_as_words(mt_driver_call_words((enum mt_wire_op)c->op, c->cbid)), mt_as_words(o->label),
        mt_as_words(!o->is_host && o->ledger < j->ledgers.n ? j->ledgers.p[o->ledger].name : NULL),
        mt_known(is_told, mt_as_phase(o->phase, o->sub), NULL),
        mt_as_words(o->in_wake ? "while waking up" : NULL));
}

void mt_section_failures(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint32_t shown = 0;
    if (j == NULL || j->ooms.n == 0)
        return;
    mt_heading(k, "Driver calls that failed for want of memory", NULL);
    MT_ROW0(k, NULL,
            "| failed call of | process | asked for | free | phase | |\n"
            "|---|---|---:|---:|---|---|\n");
    MT_NOTE(k, "<p class=\"note\">Calls that returned CUDA error 2, out of memory. Survived: the "
               "same process asked again and got it, or went on without; PyTorch, for one, gives "
               "back its cache and tries again. Failures outside PyTorch leave no trace in a "
               "snapshot.</p>\n");
    MT_TABLE(k, "Failed calls", "#At", "Call of", "Process", "#Asked for", "#Free then", "Phase",
             "Outcome");
    for (unsigned pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < j->ooms.n && shown < mt_most3(k, 12, 8, 40); i++)
            if (rank_of(&j->ooms.p[i]) == pass) {
                failure(k, j, &j->ooms.p[i]);
                shown++;
            }
    k->end(k);
    mt_row_more(k, j->ooms.n - shown);
}

void mt_section_sleep(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint32_t most = mt_most3(k, 12, 0, 60);
    char when[40], who[MT_WHO];
    if (j == NULL || j->sleeps.n == 0)
        return;
    mt_heading(k, "Sleep and wake: bursts of unmaps and maps", NULL);
    MT_NOTE(k, "<p class=\"note\">Three or more unmaps, or maps, of one owner within a second of "
               "each other. What an engine still holds after it went to sleep is what the trainer "
               "cannot have.</p>\n");
    MT_TABLE(k, "Sleep and wake", "#At", "What", "Process", "#Bytes", "#Held afterwards", "#Calls",
             "#Took");
    for (uint32_t i = 0; i < j->sleeps.n && i < most; i++) {
        const struct mt_sleep *s = &j->sleeps.p[i];
        MT_DATA(k, "  >13|{0:>9}  {1}{2}: {3}, {4} held afterwards ({5})", NULL,
                "<tr>{0:t}<th scope=\"row\">{1:c}{2}</th><td>{5:n200}</td>{3:t}{4:t}{6:t}{7:t}"
                "</tr>\n",
                mt_as_words(mt_driver_moment(when, j, s->t0_ns)), mt_as_holder(s->who, NULL),
                mt_as_words(mt_driver_sleep_words(j, i)), mt_as_bytes(s->bytes),
                mt_as_bytes(s->left), mt_as_words(mt_driver_who(who, j, s->driver, s->process)),
                mt_as_count(s->n_calls), mt_as_words(MT_SECONDS(s->t1_ns - s->t0_ns)));
    }
    k->end(k);
    mt_row_more(k, j->sleeps.n > most ? j->sleeps.n - most : 0);
}

/* A sum, a part of it, a part of that. */
enum { SUM, PART, INSIDE };

static void part(struct mt_sink *k, unsigned depth, const char *words, struct mt_datum bytes,
                 uint64_t whole)
{
    static const char *const form[] = {"  {0:>12}  {1}", "~  {0:>12}    {1}",
                                       "~  {0:>12}      {1}"};
    uint64_t n = (int64_t)bytes.n < 0 ? 0 : bytes.n;
    MT_DATA(
        k, form[depth], NULL,
        depth == SUM
            ? "<tr class=\"me\"><th scope=\"row\">{1:n200}</th>{0:t}<td class=\"n\"></td></tr>\n"
            : "<tr><th scope=\"row\">{1:n200}</th>{0:t}<td class=\"n\">{2}</td></tr>\n",
        bytes, mt_as_words(words), mt_as_share(n, whole));
}

static void reconcile(struct mt_sink *k, const struct mt_driverdiag *j,
                      const struct mt_reconcile *c)
{
    char holder[MT_WHO], who[MT_WHO], when[40], words[MT_WHO + 64];
    MT_DATA(k, "  |{0}, device {1:=}", "| {0} | {2} | {3} | {4} | {5} | {6} |\n",
            "<h3>{0:n200}, device {1} <small>{7} after the beginning</small></h3>\n",
            mt_as_words(mt_driver_who(who, j, c->driver, c->process)),
            mt_known(c->ordinal >= 0, mt_as_count((uint64_t)c->ordinal), "-1"),
            mt_as_bytes(c->torch_reserved), mt_as_bytes(c->matched), mt_as_bytes(c->unmapped),
            mt_as_bytes(c->unseen), mt_as_bytes(c->driver_held),
            mt_as_words(mt_driver_moment(when, j, c->at_ns)));
    MT_TABLE(k, "A snapshot against the driver", "At the snapshot", "#Bytes", "#Share");
    part(k, SUM, "PyTorch believes it holds", mt_as_bytes(c->torch_reserved), 0);
    part(k, PART, "of it held: recorded at the same addresses", mt_as_bytes(c->matched),
         c->torch_reserved);
    part(k, PART, "of it not held: unmapped, its pool sleeps", mt_as_bytes(c->unmapped),
         c->torch_reserved);
    for (int g = 0; g < MT_MAX_GONE && c->gone[g].site != NULL; g++) {
        (void)snprintf(words, sizeof words, "in use there by PyTorch's books: %.160s",
                       c->gone[g].site);
        part(k, INSIDE, words, mt_as_bytes(c->gone[g].bytes), c->torch_reserved);
        MT_ROW(k, NULL, "| in use there, unmapped: {1:.160} | | | {0} | | |\n",
               MT_BYTES(c->gone[g].bytes), c->gone[g].site);
    }
    part(k, PART, "of it without a recorded call: older than the recording, or lost",
         mt_as_bytes(c->unseen), c->torch_reserved);
    part(k, SUM, "the process holds, by recorded calls", mt_as_bytes(c->driver_held), 0);
    part(k, PART, "of it known to PyTorch: the same as held above", mt_as_bytes(c->matched),
         c->driver_held);
    for (uint32_t n = 0; n < c->others.n; n++) {
        (void)snprintf(
            words, sizeof words, "beside PyTorch: %s",
            mt_driver_holder(holder, NULL, c->others.p[n].holder, c->others.p[n].library));
        part(k, PART, words, mt_as_signed(c->others.p[n].bytes), c->driver_held);
    }
    if (k->format == MT_IN_HTML)
        k->end(k);
    MT_ROW3(k, c->adds_up ? NULL : "!  {0}", NULL,
            c->adds_up ? "<p class=\"note\">{0}</p>\n"
                       : "<p class=\"note\"><strong>{0}</strong></p>\n",
            c->adds_up ? "Both columns add up to the byte." : "These figures do not add up.");
}

void mt_section_reconcile(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint32_t most;
    if (j == NULL || j->reconciled.n == 0)
        return;
    mt_heading(k, "PyTorch's view against the driver's, at each snapshot", NULL);
    MT_ROW0(k, NULL,
            "| process | PyTorch believes | there | unmapped | not recorded | the driver's |\n"
            "|---|---:|---:|---:|---:|---:|\n");
    MT_NOTE(k, "<p class=\"note\">Segments of the snapshot against driver calls at the same "
               "addresses at that time. What is unmapped is address space of pools that sleep: "
               "PyTorch counts it, the device does not hold it.</p>\n");
    most = mt_most3(k, j->reconciled.n, 16, 32);
    for (uint32_t i = 0; i < j->reconciled.n && i < most; i++)
        reconcile(k, j, &j->reconciled.p[i]);
    k->end(k);
    mt_row_more(k, j->reconciled.n > most ? j->reconciled.n - most : 0);
}

void mt_section_jobphases(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    struct mt_phase_sum sum[MT_PH_COUNT];
    unsigned n = j != NULL ? mt_driver_phase_sums(j, sum) : 0;
    if (n == 0)
        return;
    mt_heading(k, "Phases of the job, by ranges and marks", NULL);
    MT_ROW0(k, "  phase                                 times     together     highest on a GPU",
            NULL);
    MT_NOTE(k, "<p class=\"note\">From NVTX ranges and memtrace_push() of all processes; those of "
               "one phase that overlap count once. A process without marks of its own takes those "
               "of the process that drives the job, on the common clock.</p>\n");
    MT_TABLE(k, "Phases of the job", "Phase", "#Times", "#Together", "#Highest by recorded calls",
             "On");
    for (unsigned i = 0; i < n; i++) {
        bool is_held = sum[i].peak != 0 && sum[i].peak_ledger < j->ledgers.n;
        MT_DATA(k, "  {0:<34} {1:>8} {2:>12} {3:>20}", NULL,
                "<tr><th scope=\"row\">{0}</th>{1:t}{2:t}{3:t}<td>{4:n120}</td></tr>\n",
                mt_as_words(mt_phase_words(sum[i].phase)), mt_as_count(sum[i].n),
                mt_as_words(MT_SECONDS(sum[i].ns)), mt_as_bytes(sum[i].peak),
                mt_as_words(is_held ? j->ledgers.p[sum[i].peak_ledger].name : NULL));
    }
    k->end(k);
}

void mt_section_processes(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    uint32_t most = mt_most3(k, 24, 0, 128);
    char end[64], who[MT_WHO];
    if (j == NULL || j->processes.n == 0)
        return;
    mt_heading(k, "Processes", NULL);
    MT_ROW3(k, NULL, NULL,
            "<p class=\"note\"><strong>Not everything was recorded.</strong> {0}</p>\n",
            j->unrecorded);
    MT_TABLE(k, "Processes", "Process", "Host", "#Peak", "GPU", "#Pinned", "#Calls", "#Failed",
             "End");
    for (uint32_t i = 0; i < j->processes.n && i < most; i++) {
        const struct mt_driver_process *p = &j->processes.p[i];
        const struct mt_trace *t = j->drivers.p[p->driver];
        const struct mt_process *q = &t->driver->processes.p[p->process];
        MT_DATA(k,
                q->has_cuda ? "  - |{0}: peak {1}, {2} call{3}, {4}"
                            : "  - |{0}: {1}, {2} call{3}, {4}",
                NULL,
                "<tr><th scope=\"row\">{0:n200}[ <small>{5:n160}</small>]</th><td>{6:n100}</td>"
                "{1:t}<td>{7:n120}</td>{8:t}{2:t}{9:t}<td>{4}</td></tr>\n",
                mt_as_words(mt_driver_who(who, j, p->driver, p->process)),
                mt_known(q->has_cuda, mt_as_bytes(p->peak), "no GPU"), mt_as_count(q->n_calls),
                mt_as_words(mt_plural(q->n_calls)), mt_as_words(mt_driver_end(end, q)),
                mt_as_words(mt_str(t, q->command)), mt_as_words(mt_str(t, q->host)),
                mt_as_words(p->ledger < j->ledgers.n ? j->ledgers.p[p->ledger].name : NULL),
                mt_as_bytes(p->pinned_peak), mt_as_count(p->n_failed));
        if (p->pinned_peak >= PINNED)
            MT_ROW(k, "    pinned host memory: {0} at most, {1} at its end", NULL,
                   MT_BYTES(p->pinned_peak), MT_BYTES(p->pinned_end));
    }
    k->end(k);
    mt_row_more(k, j->processes.n > most ? j->processes.n - most : 0);
}
