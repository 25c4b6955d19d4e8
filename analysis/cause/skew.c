/* Work that is not divided evenly: over the devices of one process, over the ranks of a job; and
 * what other ranks hold on this one's card. */
#include "analysis/cause/skew.h"

#include "analysis/base/words.h"
#include "analysis/cause/impl.h"
#include "analysis/cause/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1024 };
#define MIN_STRAY (UINT64_C(16) << 20) /* a context's first tensors are less */

/* Another device of the job. */
struct part {
    const struct mt_device_analysis *d;
    int32_t rank;
    uint64_t tokens;
    bool is_brief;
};
struct parts {
    MT_VEC(struct part) v;
};

uint64_t mt_tokens_in(const uint64_t role[MT_ROLE_COUNT])
{
    return role[MT_ROLE_ACTIVATION] + role[MT_ROLE_RECOMPUTE] + role[MT_ROLE_LOGITS] +
           role[MT_ROLE_TEMP] + role[MT_ROLE_UNKNOWN];
}

/* What follows the tokens, at the highest point of that phase; of a phase that does not occur there
 * nothing. */
static bool tokens_of(const struct mt_device_analysis *d, unsigned phase, uint64_t *tokens)
{
    bool found = phase == MT_PH_UNATTRIBUTED && d->live_peak != 0;
    *tokens = found ? mt_tokens_in(d->roles.at_focus) : 0;
    for (uint32_t i = 0; i < d->roles.occurrences.n; i++) {
        const struct mt_occurrence *o = &d->roles.occurrences.p[i];
        if (o->phase != phase)
            continue;
        found = true;
        if (mt_tokens_in(o->peak_roles) > *tokens)
            *tokens = mt_tokens_in(o->peak_roles);
    }
    return found;
}

static int add_part(struct parts *p, const struct mt_analysis *a, uint32_t device, int32_t rank,
                    unsigned phase)
{
    const struct mt_device_analysis *d = &a->devices.p[device];
    struct part now = {d, rank, 0, a->is_brief}, *at;
    if (d->kind != MT_DEV_CUDA || d->withheld != NULL || d->end_state_only ||
        !tokens_of(d, phase, &now.tokens))
        return 1;
    at = MT_VEC_PUSH(&p->v);
    if (at != NULL)
        *at = now;
    return at != NULL;
}

static uint32_t own_device(const struct mt_analysis *a)
{
    uint32_t own = a->verdict.device;
    for (uint32_t i = 0; i < a->devices.n; i++)
        if (a->devices.p[i].kind == MT_DEV_CUDA &&
            (own >= a->devices.n || a->devices.p[own].kind != MT_DEV_CUDA ||
             a->devices.p[i].live_peak > a->devices.p[own].live_peak))
            own = i;
    return own;
}

/* The others that do the same: the ranks of the job, or else the devices of the process that did
 * work of that phase too. */
static int find_parts(struct parts *p, const struct mt_analysis *a, uint32_t device,
                      struct mt_analysis *const *all, uint32_t n)
{
    unsigned phase = a->verdict.phase;
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_analysis *o = all[i];
        if (o != a && o->trace->meta.rank >= 0 && own_device(o) < o->devices.n &&
            !add_part(p, o, own_device(o), o->trace->meta.rank, phase))
            return 0;
    }
    for (uint32_t i = 0; n < 2 && i < a->devices.n; i++)
        if (i != device && !add_part(p, a, i, -1, phase))
            return 0;
    return 1;
}

static int replace_text(char **out, const char *text)
{
    mt_free(*out);
    *out = mt_strndup(text, strlen(text));
    return *out != NULL;
}

/* ---- the same work evenly ---- */

/* One figure of every device: bytes of what follows the tokens, or tokens of a pass. */
struct shares {
    uint64_t own, least, most, even;
    bool tokens;
};

static void add_share(struct shares *s, uint64_t n, uint64_t *sum)
{
    s->least = n < s->least ? n : s->least;
    s->most = n > s->most ? n : s->most;
    *sum += n;
}

/* Tokens, where logits of one vocabulary and type tell those of every device: they do so in the
 * middle of a pass too. */
static bool token_shares(struct shares *s, const struct mt_cause *c,
                         const struct mt_device_analysis *d, const struct parts *p)
{
    uint64_t sum, elem = d->roles.logits_elem;
    *s = (struct shares){d->roles.logits_tokens, UINT64_MAX, 0, 0, true};
    if (c->elem != 0 && c->vocab == d->roles.vocab && c->tokens >= s->own) {
        s->own = c->tokens;
        elem = c->elem;
    }
    sum = s->own;
    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct mt_role_facts *f = &p->v.p[i].d->roles;
        if (d->roles.vocab == 0 || f->vocab != d->roles.vocab ||
            f->vocab_split != d->roles.vocab_split || f->logits_tokens == 0 ||
            f->logits_elem != elem)
            return false;
        add_share(s, f->logits_tokens, &sum);
    }
    s->even = sum / (p->v.n + 1);
    return s->own >= s->most + s->most / 2;
}

static void byte_shares(struct shares *s, uint64_t own, const struct parts *p)
{
    uint64_t sum = own;
    *s = (struct shares){own, UINT64_MAX, 0, 0, false};
    for (uint32_t i = 0; i < p->v.n; i++)
        add_share(s, p->v.p[i].tokens, &sum);
    s->even = sum / (p->v.n + 1);
}

static const char *share_words(char buf[64], const struct shares *s, uint64_t n)
{
    if (s->tokens)
        (void)snprintf(buf, 64, "%llu tokens", (unsigned long long)n);
    else
        (void)snprintf(buf, 64, "%s", MT_BYTES(n));
    return buf;
}

static uint64_t held_at(const struct mt_device_analysis *d, const char *label)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < d->owners.n; i++)
        sum += strcmp(d->owners.p[i].label, label) == 0 ? d->owners.p[i].bytes : 0;
    return sum;
}

/* Says which place has most of what the others do not have. Nothing where some are in brief: what
 * holds their bytes is not known any more. */
static int word_place(struct mt_cause *c, const struct mt_device_analysis *d, const struct parts *p,
                      const char *each)
{
    const struct mt_owner *where = NULL;
    uint64_t more = 0, most = 0;
    char label[MT_LABEL];
    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *w = &d->owners.p[i];
        uint64_t here = w->stack != 0 ? held_at(d, w->label) : 0, others = 0;
        for (uint32_t k = 0; k < p->v.n; k++) {
            uint64_t there = held_at(p->v.p[k].d, w->label);
            if (p->v.p[k].is_brief)
                return 1;
            others = there > others ? there : others;
        }
        if (here > others && here - others > more) {
            more = here - others;
            most = others;
            where = w;
        }
    }
    if (where == NULL || more < c->skew / 4) /* it lies in many places */
        return 1;
    return mt_cause_evidence_add(c, more, "Most of what is more here: %s at %s, %s on another %s.",
                                 MT_BYTES(most + more), mt_words_label(label, where->label),
                                 most != 0 ? MT_BYTES(most) : "nothing", each);
}

static int word_skew(struct mt_cause *c, const struct mt_analysis *a,
                     const struct mt_device_analysis *d, const struct parts *p,
                     const struct shares *sh)
{
    struct mt_what_if *w = MT_VEC_PUSH(&c->what_ifs);
    char s[TEXT], own[64], even[64], least[64], most[64];
    bool ranks = p->v.p[0].rank >= 0;
    const char *each = ranks ? "rank" : "device";
    if (w == NULL)
        return 0;
    memset(w, 0, sizeof *w);
    (void)share_words(own, sh, sh->own);
    (void)share_words(even, sh, sh->even);
    (void)share_words(least, sh, sh->least);
    (void)share_words(most, sh, sh->most);
    (void)snprintf(s, sizeof s,
                   "The work is not divided evenly: %s %d had %s%s, where %u other %s%s had "
                   "%s%s%s%s; the same work evenly: %s each, and the request would have fitted.",
                   each, ranks ? (int)a->trace->meta.rank : (int)d->ordinal, own,
                   sh->tokens ? " in a pass" : " of what follows the tokens, the request included",
                   (unsigned)p->v.n, each, p->v.n == 1 ? "" : "s",
                   sh->least != sh->most ? least : "", sh->least != sh->most ? " to " : "", most,
                   sh->tokens ? "" : " in the same phase", even);
    if (!replace_text(&c->sentence, s) || !word_place(c, d, p, each))
        return 0;
    (void)snprintf(s, sizeof s,
                   "With the same work on every %s (%s each instead of %s) the request would have "
                   "fitted.",
                   each, even, own);
    w->id = c->by = "even";
    w->fits = true;
    w->freed = c->skew;
    w->text = mt_strndup(s, strlen(s));
    for (uint32_t i = 0; w->text != NULL && i < p->v.n && i < 8; i++)
        if (!mt_cause_evidence_add(c, p->v.p[i].tokens,
                                   "%s %d: %s live at its highest, %s of what follows the tokens "
                                   "in this phase.",
                                   ranks ? "Rank" : "Device",
                                   ranks ? (int)p->v.p[i].rank : (int)p->v.p[i].d->ordinal,
                                   MT_BYTES(p->v.p[i].d->live_peak), MT_BYTES(p->v.p[i].tokens)))
            return 0;
    return w->text != NULL;
}

/* The cause where this device had half as much again as any other, and the even share would have
 * let the request fit. */
static int find_skew(struct mt_cause *c, const struct mt_analysis *a,
                     const struct mt_device_analysis *d, const struct parts *p)
{
    const struct mt_oom *o = &d->ooms.p[0];
    uint64_t own = mt_tokens_in(d->roles.at_focus) + o->request, lacks, excess;
    struct shares s;
    if (p->v.n == 0 || o->request == 0 || c->skew != 0 ||
        (c->kind != MT_CAUSE_CAPACITY && c->kind != MT_CAUSE_GIANT_TENSOR) ||
        !(mt_phase_is(a->verdict.sub, MT_IN_FORWARD | MT_IN_BACKWARD) ||
          mt_phase_is(a->verdict.phase, MT_FORWARD_ONLY)))
        return 1;
    /* devices of one process do not do the same: the first one gathers */
    if (p->v.p[0].rank < 0 || !token_shares(&s, c, d, p))
        byte_shares(&s, own, p);
    lacks = mt_segment_size(o->request) > o->device_free
                ? mt_segment_size(o->request) - o->device_free
                : 0;
    if (s.most == 0 || s.own < s.most + s.most / 2)
        return 1;
    excess = (uint64_t)((double)own * (1 - (double)s.even / (double)s.own));
    if (excess < lacks || excess < (d->focus.live + o->request) / 10)
        return 1;
    c->kind = MT_CAUSE_SKEW;
    c->conf = MT_CONF_INFERRED; /* another rank may have been stopped on its way up */
    c->skew = excess;
    c->skew_first = p->v.p[0].rank < 0 && d->ordinal < p->v.p[0].d->ordinal;
    return word_skew(c, a, d, p, &s);
}

/* ---- what others hold on this card ---- */

static int find_strays(struct mt_cause *c, const struct mt_analysis *a,
                       const struct mt_device_analysis *d, struct mt_analysis *const *all,
                       uint32_t n)
{
    const struct mt_oom *o = &d->ooms.p[0];
    const struct mt_owner *top = NULL;
    uint64_t held = 0;
    char s[TEXT], label[MT_LABEL];
    uint32_t ranks = 0;
    bool all_known = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_analysis *b = all[i];
        uint32_t own = own_device(b);
        if (b == a || own >= b->devices.n || b->devices.p[own].ordinal == d->ordinal ||
            (b->trace->meta.host != NULL && a->trace->meta.host != NULL &&
             strcmp(b->trace->meta.host, a->trace->meta.host) != 0))
            continue;
        for (uint32_t k = 0; k < b->devices.n; k++) {
            const struct mt_device_analysis *q = &b->devices.p[k];
            if (q->kind != MT_DEV_CUDA || q->ordinal != d->ordinal || q->reserved_end < MIN_STRAY)
                continue;
            ranks++;
            held += q->reserved_end;
            all_known &= !b->is_brief;
            for (uint32_t w = 0; w < q->owners.n; w++)
                if (q->owners.p[w].stack != 0 && (top == NULL || q->owners.p[w].bytes > top->bytes))
                    top = &q->owners.p[w];
        }
    }
    if (ranks == 0)
        return 1;
    c->strays = held;
    top = all_known ? top : NULL;
    (void)snprintf(s, sizeof s,
                   "%u other rank%s of the job, which %s own card%s, held %s on device %d too%s%s, "
                   "and a context each.",
                   (unsigned)ranks, ranks == 1 ? "" : "s", ranks == 1 ? "has its" : "have their",
                   ranks == 1 ? "" : "s", MT_BYTES(held), (int)d->ordinal,
                   top != NULL ? ", the most of it from " : "",
                   top != NULL ? mt_words_label(label, top->label) : "");
    if (!mt_cause_evidence_add(c, held, "%s", s))
        return 0;
    if ((c->kind != MT_CAUSE_CAPACITY && c->kind != MT_CAUSE_FOREIGN) || o->request == 0 ||
        o->device_free + held < mt_segment_size(o->request))
        return 1;
    c->kind = MT_CAUSE_FOREIGN;
    c->conf = MT_CONF_MARKED;
    c->by = "no_strays";
    return replace_text(&c->sentence, s);
}

int mt_cause_skew(struct mt_analysis *a, uint32_t device, struct mt_analysis *const *all,
                  uint32_t n, bool *changed)
{
    const struct mt_device_analysis *d = device < a->devices.n ? &a->devices.p[device] : NULL;
    struct parts p = {.v = {NULL, 0, 0}};
    int ok;
    *changed = false;
    if (d == NULL || d->kind != MT_DEV_CUDA || d->ooms.n == 0 || d->withheld != NULL ||
        d->cause == NULL || !d->cause->known || !d->roles.made)
        return 1;
    ok = find_parts(&p, a, device, all, n) && find_strays(d->cause, a, d, all, n) &&
         find_skew(d->cause, a, d, &p);
    *changed = ok && (d->cause->strays != 0 || d->cause->skew != 0);
    MT_VEC_DONE(&p.v);
    return ok;
}
