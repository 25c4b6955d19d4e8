#include "render/view/diagnosis.h"

#include "analysis/advice/try.h"

#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "render/view/driver.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <string.h>

char *mt_saving_words(char buf[MT_SAVING_WORDS], const struct mt_saving *s)
{
    char mid[32], low[32], high[32], later[64] = "";
    buf[0] = '\0';
    if (!s->known)
        return buf;
    if (s->later > s->bytes / 20) /* less is within any range */
        (void)snprintf(later, sizeof later, ", %s of it not asked for yet",
                       mt_words_bytes(mid, s->later));
    if (s->low == s->bytes && s->high == s->bytes)
        (void)snprintf(buf, MT_SAVING_WORDS, "about %s%s (confidence: %s)",
                       mt_words_bytes(mid, s->bytes), later, mt_fix_conf_name(s->conf));
    else
        (void)snprintf(buf, MT_SAVING_WORDS, "about %s%s (%s to %s; confidence: %s)",
                       mt_words_bytes(mid, s->bytes), later, mt_words_bytes(low, s->low),
                       mt_words_bytes(high, s->high), mt_fix_conf_name(s->conf));
    return buf;
}

static const char *settled_name(const struct mt_settled *s)
{
    return s->current != NULL ? s->current : s->card->title;
}

/* All that is set in one sentence. */
static const char *settled_set(char buf[MT_SETTLED_WORDS], const struct mt_advice_list *list)
{
    int n = 0;
    for (uint32_t i = 0; i < list->settled.n; i++) {
        const struct mt_settled *s = &list->settled.p[i];
        if (s->why == MT_SETTLED_SET && n < MT_SETTLED_WORDS / 2)
            n += snprintf(buf + n, MT_SETTLED_WORDS - (size_t)n, "%s%.400s",
                          n == 0 ? "Set already: " : "; ", settled_name(s));
    }
    return n != 0 ? buf : NULL;
}

const char *mt_settled_next(char buf[MT_SETTLED_WORDS], const struct mt_advice_list *list,
                            uint32_t *at)
{
    while (list != NULL && *at < list->settled.n) {
        const struct mt_settled *s = &list->settled.p[(*at)++];
        const char *bound = strcmp(s->card->constraints, "none") != 0 ? s->card->constraints : "";
        const char *end = s->card->moves == MT_FIX_UP ? "ceiling" : "floor";
        if (s->why == MT_SETTLED_FINDING && s->card->finding[0] != '\0')
            (void)snprintf(buf, MT_SETTLED_WORDS, "%s Set now: %.400s.", s->card->finding,
                           settled_name(s));
        else if (s->why == MT_SETTLED_FINDING)
            (void)snprintf(buf, MT_SETTLED_WORDS,
                           "%.400s: and yet the trace shows what it should prevent. Look for what "
                           "switches it off.",
                           settled_name(s));
        else if (s->why == MT_SETTLED_CLASH)
            (void)snprintf(buf, MT_SETTLED_WORDS, "Not here: %s. It would mean: %.700s",
                           s->card->title, settled_name(s));
        else if (s->why == MT_SETTLED_FLOOR)
            (void)snprintf(buf, MT_SETTLED_WORDS, "At its %s: %.400s%s%.700s", end, settled_name(s),
                           bound[0] != '\0' ? ". " : "", bound);
        else
            continue;
        return buf;
    }
    return list != NULL && (*at)++ == list->settled.n ? settled_set(buf, list) : NULL;
}

const char *mt_saving_missing(const struct mt_advice *a)
{
    if (a->saving.known)
        return "";
    if (a->rule->no_saving != NULL && a->rule->no_saving[0] != '\0')
        return a->rule->no_saving;
    return a->card->saving != NULL ? "this recording lacks what it would be computed from" : "";
}

const struct mt_cause *mt_report_cause(const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    const struct mt_cause *c = d != NULL ? d->cause : NULL;
    if (c == NULL || mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG ||
        (mt_diagnosis_lead(r->diagnosis) == MT_LEAD_DRIVER &&
         r->diagnosis->driver->kind == MT_V_OOM))
        return NULL;
    return (c->sentence != NULL && c->sentence[0] != '\0') || c->evidence.n != 0 ||
                   c->what_ifs.n != 0
               ? c
               : NULL;
}

const char *mt_report_cause_sentence(const struct mt_report *r)
{
    const struct mt_cause *c = mt_report_cause(r);
    return c != NULL && c->sentence != NULL && c->sentence[0] != '\0' ? c->sentence : NULL;
}

char *mt_what_if_condition(char *buf, size_t cap, const struct mt_what_if *w)
{
    const char *end = strstr(w->text, " the request would ");
    size_t n = end != NULL ? (size_t)(end - w->text) : strlen(w->text);
    (void)snprintf(buf, cap, "%.*s", (int)(n < cap ? n : cap), w->text);
    return buf;
}

const char *mt_conf_phrase(unsigned conf)
{
    switch (conf) {
    case MT_CONF_MARKED: return "high";
    case MT_CONF_INFERRED: return "good";
    case MT_CONF_CARRIED: return "fair";
    case MT_CONF_LOW: return "low";
    default: return "none";
    }
}

static bool same_holder(const struct mt_pin *a, const struct mt_pin *b)
{
    return a->role == b->role && a->attr.phase == b->attr.phase && a->attr.sub == b->attr.sub &&
           strcmp(a->label, b->label) == 0;
}

unsigned mt_pin_groups(const struct mt_cause *c, struct mt_pin_group out[MT_PIN_GROUPS])
{
    unsigned n = 0;
    for (uint32_t i = 0; i < c->pins.n; i++) {
        const struct mt_pin *p = &c->pins.p[i];
        unsigned k = 0;
        while (k < n && !same_holder(out[k].first, p))
            k++;
        if (k == MT_PIN_GROUPS)
            break;
        if (k == n)
            out[n++] = (struct mt_pin_group){.first = p};
        out[k].n++;
        out[k].free += p->free;
        out[k].block_bytes += p->block_bytes;
        out[k].total += p->total;
        if (p->largest_free > out[k].largest_free)
            out[k].largest_free = p->largest_free;
    }
    return n;
}

/* ---- roles ---- */

char *mt_role_words_list(char *buf, size_t cap, const uint64_t bytes[MT_ROLE_COUNT], unsigned max)
{
    uint8_t order[MT_ROLE_COUNT];
    unsigned n = mt_role_order(bytes, order);
    uint64_t rest = 0;
    size_t used = 0;
    char b[32];
    (void)snprintf(buf, cap, "-");
    for (unsigned i = 0; i < n; i++) {
        int k;
        if (i >= max && n > max + 1) {
            rest += bytes[order[i]];
            continue;
        }
        k = snprintf(buf + used, cap - used, "%s%s %s", i != 0 ? ", " : "",
                     mt_role_words((enum mt_role)order[i]), mt_words_bytes(b, bytes[order[i]]));
        if (k < 0 || (size_t)k >= cap - used)
            return buf;
        used += (size_t)k;
    }
    if (rest != 0)
        (void)snprintf(buf + used, cap - used, ", others %s", mt_words_bytes(b, rest));
    return buf;
}

uint64_t mt_role_idle(unsigned role, uint64_t bytes, enum mt_phase phase)
{
    uint64_t one[MT_ROLE_COUNT] = {0};
    one[role] = bytes;
    return mt_useless(phase, one);
}

bool mt_has_roles(const struct mt_device_analysis *d)
{
    for (unsigned i = 0; i < MT_ROLE_COUNT; i++)
        if (d->roles.at_focus[i] != 0)
            return true;
    return false;
}

bool mt_roles_have_past(const struct mt_device_analysis *d)
{
    return d->roles.made && !d->end_state_only;
}

static size_t add_part(char *buf, size_t used, uint64_t bytes, const char *words)
{
    char b[32];
    int k;
    if (bytes == 0 || used + 1 >= MT_ROLE_NOTE)
        return used;
    k = snprintf(buf + used, MT_ROLE_NOTE - used, "%s%s %s",
                 used != 0 && buf[used - 1] != ' ' ? ", " : "", mt_words_bytes(b, bytes), words);
    return k > 0 && used + (size_t)k < MT_ROLE_NOTE ? used + (size_t)k : MT_ROLE_NOTE - 1;
}

static void end_note(char *buf, size_t used)
{
    if (used + 2 <= MT_ROLE_NOTE)
        memcpy(buf + used, ".", 2);
}

unsigned mt_role_notes(char notes[MT_ROLE_NOTES][MT_ROLE_NOTE], const struct mt_device_analysis *d)
{
    static const char *const why[MT_WHY_COUNT] = {
        [MT_WHY_NONE] = "by nothing",
        [MT_WHY_POOL] = "by the private pool",
        [MT_WHY_FRAME] = "by frames",
        [MT_WHY_SIZE] = "by an exact size",
        [MT_WHY_LIFE] = "by lifetime",
        [MT_WHY_PHASE] = "by the phase alone",
        [MT_WHY_BEFORE] = "older than the recording",
        [MT_WHY_NAME] = "by the name that the job gave it",
    };
    static const char *const life[MT_LIFE_COUNT] = {
        [MT_LIFE_UNKNOWN] = "not known (no free in the trace)",
        [MT_LIFE_TEMP] = "freed where they are made",
        [MT_LIFE_LAYER] = "a layer",
        [MT_LIFE_MICRO] = "a micro-batch",
        [MT_LIFE_STEP] = "a step",
        [MT_LIFE_PERSISTENT] = "longer than a step",
    };
    static const char *const unknown[MT_CONF_COUNT] = {
        [MT_CONF_NONE] = "of no known phase",
        [MT_CONF_LOW] = "of a phase that is only guessed",
        [MT_CONF_CARRIED] = "of a phase taken from the neighbours in time",
        [MT_CONF_INFERRED] = "of a known phase",
        [MT_CONF_MARKED] = "of a marked phase",
    };
    const struct mt_role_facts *f = &d->roles;
    uint64_t without = 0;
    unsigned n = 0;
    size_t used = (size_t)snprintf(notes[n], MT_ROLE_NOTE, "How it is known: ");
    size_t lead = used;
    for (unsigned i = 1; i < MT_WHY_COUNT; i++)
        used = add_part(notes[n], used, f->why_at_focus[i], why[i]);
    if (used > lead)
        end_note(notes[n++], used);
    lead = used = (size_t)snprintf(notes[n], MT_ROLE_NOTE, "How long the blocks live: ");
    for (unsigned i = MT_LIFE_COUNT; i-- > 0;)
        used = add_part(notes[n], used, f->life_at_focus[i], life[i]);
    if (used > lead && f->life_at_focus[MT_LIFE_UNKNOWN] < d->focus.live)
        end_note(notes[n++], used);
    lead = used = (size_t)snprintf(notes[n], MT_ROLE_NOTE, "Without a role: ");
    for (unsigned i = 0; i < MT_CONF_COUNT; i++) {
        used = add_part(notes[n], used, f->unknown_reasons[i], unknown[i]);
        without += f->unknown_reasons[i];
    }
    /* a few bytes of thousands of MiB explain nothing */
    if (used > lead && without >= d->focus.live / 1000) {
        (void)snprintf(notes[n] + used, MT_ROLE_NOTE - used,
                       "; no frame, size or lifetime says what they are for");
        end_note(notes[n], strlen(notes[n]));
        n++;
    }
    if (f->second_model != 0)
        (void)snprintf(notes[n++], MT_ROLE_NOTE,
                       "%s of the parameters are a second model, or more, with the sizes of the "
                       "first, as a reference, a teacher or a copy has.",
                       MT_BYTES(f->second_model));
    if (f->peak[MT_ROLE_GRAD] != 0 && f->peak[MT_ROLE_OPTIM_STATE] >= f->peak[MT_ROLE_GRAD] / 2 &&
        f->peak[MT_ROLE_GRAD] > d->live_peak / 20 && f->peak[MT_ROLE_PARAM] == 0 &&
        f->peak[MT_ROLE_UNSHARDED] == 0)
        (void)snprintf(notes[n++], MT_ROLE_NOTE,
                       "Gradients and optimizer state, but no parameters: those are among the "
                       "state, or among what has no role.");
    if (f->vocab != 0) {
        char split[64] = "";
        if (f->vocab_split > 1)
            (void)snprintf(split, sizeof split, " split by %llu",
                           (unsigned long long)f->vocab_split);
        (void)snprintf(notes[n++], MT_ROLE_NOTE,
                       f->vocab_is_guess
                           ? "The largest logits may be %llu tokens x a vocabulary of %llu%s x "
                             "%llu bytes: a guess by the size, for no head of such a vocabulary "
                             "is live."
                           : "The largest logits are %llu tokens x a vocabulary of %llu%s x %llu "
                             "bytes.",
                       (unsigned long long)f->logits_tokens, (unsigned long long)f->vocab, split,
                       (unsigned long long)f->logits_elem);
    }
    if (f->verified_events != 0)
        (void)snprintf(notes[n++], MT_ROLE_NOTE,
                       f->first_bad_event == MT_NO_EVENT
                           ? "Checked: after each of %llu events the bytes of the roles added up "
                             "to the live bytes."
                           : "Checked after %llu events: the bytes of the roles do not always add "
                             "up to the live bytes.",
                       (unsigned long long)f->verified_events);
    return n;
}

char *mt_expect_bytes(char buf[48], const struct mt_expect *e)
{
    if (!e->known)
        (void)snprintf(buf, 48, "not known");
    else if (e->bytes == 0)
        (void)snprintf(buf, 48, "none");
    else
        (void)snprintf(buf, 48, "%s%s", e->at_most ? "at most " : "", MT_BYTES(e->bytes));
    return buf;
}

/* As expected, and how nearly where the two numbers differ. */
static void within(char buf[48], const struct mt_expect *e)
{
    uint64_t off = e->measured > e->bytes ? e->measured - e->bytes
                   : e->at_most           ? 0
                                          : e->bytes - e->measured;
    double percent = e->bytes != 0 ? (double)off * 100 / (double)e->bytes : 0;
    if (off != 0 && (e->bytes == 0 || percent > 10))
        (void)snprintf(buf, 48, "as expected, within %s", MT_BYTES(off));
    else if (percent >= 0.1)
        (void)snprintf(buf, 48, "as expected, within %u %%", (unsigned)percent + 1);
    else
        (void)snprintf(buf, 48, "as expected");
}

char *mt_expect_answer(char buf[48], const struct mt_expect *e)
{
    buf[0] = '\0';
    if (!e->known)
        return buf;
    if (e->more)
        (void)snprintf(buf, 48, "%s more", MT_BYTES(e->measured - e->bytes));
    else if (e->at_most || e->measured + e->bytes / 10 >= e->bytes)
        within(buf, e);
    else
        (void)snprintf(buf, 48, "less");
    return buf;
}

bool mt_has_expected(const struct mt_device_analysis *d)
{
    return d->expected != NULL && d->expected->v.n != 0;
}

/* ---- the devices that the verdict is not about ---- */

bool mt_has_others(const struct mt_report *r) { return mt_row_count(r) > 1; }

const struct mt_device_analysis *mt_next_other(const struct mt_report *r, uint32_t *i, uint32_t *j)
{
    const struct mt_device_analysis *own = mt_diagnosis_device(r->diagnosis);
    for (; *i < r->diagnosis->ranks.n; ++*i, *j = UINT32_MAX) {
        const struct mt_analysis *a = r->diagnosis->ranks.p[*i].analysis;
        while (!a->is_brief && ++*j < a->devices.n)
            if (&a->devices.p[*j] != own)
                return &a->devices.p[*j];
    }
    return NULL;
}

char *mt_device_words(char *buf, size_t cap, const struct mt_device_analysis *d)
{
    char roles[256], b[32];
    int n =
        snprintf(buf, cap, "live %s %s: %s", mt_focus_words(d), mt_words_bytes(b, d->focus.live),
                 mt_role_words_list(roles, sizeof roles, d->roles.at_focus, 3));
    if (d->roles.steps.n >= 2 && n > 0 && (size_t)n < cap)
        n += snprintf(buf + n, cap - (size_t)n, "; %llu steps",
                      (unsigned long long)d->roles.n_steps_all);
    for (uint32_t i = 0; d->audits != NULL && i < d->audits->v.n && n > 0 && (size_t)n < cap; i++)
        if (d->audits->v.p[i].finding)
            n += snprintf(buf + n, cap - (size_t)n, "; to act on: %s", d->audits->v.p[i].title);
    return buf;
}

/* ---- occurrences and steps ---- */

#define LEFT_BEHIND                                                                                \
    "\"Left behind\" was allocated in the phase, with all its parts, and still live at its end"

const char *mt_occ_note(const struct mt_device_analysis *d)
{
    return d->kind != MT_DEV_CUDA /* nobody unmaps the host's behind its back */
               ? LEFT_BEHIND ". Of several times, the most."
               : LEFT_BEHIND
               "; \"of no use\" was live at the peak though the phase never touches its kind: "
               "optimizer state and gradients in a rollout, KV cache and engine weights in "
               "training. Of several times, the most. In PyTorch's books: an engine that sleeps "
               "may have unmapped its part.";
}

const char *mt_forecast_sentence(const struct mt_device_analysis *d)
{
    const struct mt_cause *c = d->cause;
    return c != NULL && c->next.made && c->next.sentence != NULL ? c->next.sentence : NULL;
}

const char *mt_occ_name(char buf[MT_WORDS], const struct mt_device_analysis *d, unsigned phase)
{
    enum { MOST = 3 };
    unsigned named = 0;
    size_t n = 0;
    uint64_t all = 0, told = 0;
    (void)snprintf(buf, MT_WORDS, "%s", MT_PHASE_CELL(phase, MT_PH_NONE));
    for (uint32_t i = 0; i < d->phases.n && phase == MT_PH_UNATTRIBUTED; i++)
        if (d->phases.p[i].phase == MT_PH_UNATTRIBUTED) {
            all += d->phases.p[i].alloc_bytes;
            told += d->phases.p[i].sub != MT_PH_NONE ? d->phases.p[i].alloc_bytes : 0;
        }
    if (told <= all / 2) /* most of it is nothing that is known */
        return buf;
    for (uint32_t i = 0; i < d->phases.n && named < MOST; i++) {
        const struct mt_phase_row *p = &d->phases.p[i];
        if (p->phase == MT_PH_UNATTRIBUTED && p->sub != MT_PH_NONE && p->n_allocs != 0 &&
            n < MT_WORDS)
            n += (size_t)snprintf(buf + n, MT_WORDS - n, "%s%s", named++ != 0 ? ", " : "",
                                  MT_PHASE_CELL(p->phase, p->sub));
    }
    return buf;
}

unsigned mt_occ_sums(const struct mt_role_facts *f, struct mt_occ_sum out[MT_PH_COUNT])
{
    unsigned n = 0;
    for (uint32_t i = 0; i < f->occurrences.n; i++) {
        const struct mt_occurrence *o = &f->occurrences.p[i];
        unsigned k = 0;
        while (k < n && out[k].phase != (enum mt_phase)o->phase)
            k++;
        if (k == n)
            out[n++] = (struct mt_occ_sum){.phase = (enum mt_phase)o->phase, .top = o};
        out[k].n++;
        out[k].alloc_bytes += o->alloc_bytes;
        if (o->peak > out[k].top->peak)
            out[k].top = o;
        if (o->retained > out[k].retained)
            out[k].retained = o->retained;
        if (o->useless > out[k].useless)
            out[k].useless = o->useless;
    }
    return n;
}

uint32_t mt_step_rows(const struct mt_role_facts *f, uint32_t *out, uint32_t max)
{
    uint32_t n = 0, all = f->steps.n;
    for (uint32_t i = 0; i < all; i++)
        if (all <= max || i < max / 2 || i >= all - (max - max / 2))
            out[n++] = i;
    return n;
}

char *mt_span_words(char buf[MT_WORDS], uint64_t t0_ns, uint64_t t1_ns)
{
    if (t0_ns == 0 || t1_ns < t0_ns)
        (void)snprintf(buf, MT_WORDS, "-");
    else
        (void)mt_fmt_seconds(buf, t1_ns - t0_ns);
    return buf;
}

char *mt_slope_words(char buf[40], double slope)
{
    char b[32];
    uint64_t bytes = slope > 0 && slope < 1e18 ? (uint64_t)(slope + 0.5) : 0;
    (void)snprintf(buf, 40, "+%s", mt_words_bytes(b, bytes));
    return buf;
}

unsigned mt_fit_percent(const struct mt_growth *g)
{
    return g->r2 >= 0 && g->r2 <= 1 ? (unsigned)(g->r2 * 100) : 0;
}

const char *mt_cell_words(char buf[64], const struct mt_cell *c)
{
    switch (c->kind) {
    case MT_CELL_TEXT: return c->text != NULL ? c->text : "";
    case MT_CELL_BYTES: return mt_words_bytes(buf, c->number);
    case MT_CELL_COUNT_: return mt_fmt_count(buf, c->number);
    case MT_CELL_NONE: break;
    }
    return "-";
}

bool mt_cell_is_number(const struct mt_audit *a, uint32_t column)
{
    for (uint32_t i = 0; i < a->rows.n; i++)
        if (a->rows.p[i].cell[column].kind == MT_CELL_BYTES ||
            a->rows.p[i].cell[column].kind == MT_CELL_COUNT_)
            return true;
    return false;
}
