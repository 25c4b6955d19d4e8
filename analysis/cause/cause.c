/* Which cause it is. The kind of the verdict (capacity, fragmentation, limit) is the base. A finer
 * cause has to be seen in the numbers, and without it the request has to fit. docs/diagnosis.md,
 * section "Which cause it is", has every rule. Where a comment counts reports: the number was
 * varied over 387 snapshots (half of the scenarios, samples and public files), and so many reports
 * name another cause. */
#include "analysis/cause/impl.h"
#include "analysis/cause/verdict.h"
#include "analysis/base/frames.h"

#include <stdio.h>
#include <string.h>

/* Keeps the id of the last one that would: who asks names the cause after it. */
static bool would_fit(struct mt_cause *c, const char *id)
{
    const struct mt_what_if *w = mt_cause_what_if(c, id);
    if (w != NULL && w->fits)
        c->by = w->id;
    return w != NULL && w->fits;
}

/* Bytes of the request and of the live logits; 0 when the request is no logits. */
static uint64_t logits_bytes(const struct mt_moment *m, const struct mt_shape *s)
{
    return s->elem != 0 ? m->oom->request + m->role[MT_ROLE_LOGITS] : 0;
}

/* Whether the request is out of proportion: logits (with those that are live) of a quarter of what
 * is visible or more, and more than any other role; or one tensor of a pass as large as half of it.
 * Where the phase is not known: one that is more than all that is live, too.
 * A half instead of the quarter: 3 reports; an eighth: none. A quarter instead of the half: 1; the
 * whole: none. */
static bool is_giant(const struct mt_moment *m, const struct mt_shape *s)
{
    uint64_t other = 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        if (r != MT_ROLE_LOGITS && m->role[r] > other)
            other = m->role[r];
    if (s->elem != 0)
        return logits_bytes(m, s) >= m->visible / 4 && logits_bytes(m, s) >= other;
    if (m->phase == MT_PH_UNATTRIBUTED && m->sub == MT_PH_NONE)
        return m->oom->request >= m->visible / 2 && m->oom->request > m->d->focus.live;
    return (m->sub == MT_PH_FORWARD || m->sub == MT_PH_LOSS || m->sub == MT_PH_LOGITS ||
            m->sub == MT_PH_BACKWARD || m->sub == MT_PH_RECOMPUTE) &&
           m->oom->request >= m->visible / 2;
}

/* Bytes that the phase does not need: an engine's outside the rollout, a trainer's inside it. */
static uint64_t stale_bytes(const struct mt_moment *m)
{
    if (mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE))
        return m->engine > m->absent ? m->engine - m->absent : 0;
    return mt_phase_is(m->phase, MT_OF_ENGINE) ? m->training : 0;
}

/* More than half of the live bytes were there before recording, or have no role: what they are for
 * is not known. */
static bool is_mostly_unknown(const struct mt_moment *m)
{
    return m->role[MT_ROLE_BEFORE] + m->role[MT_ROLE_UNKNOWN] > m->d->focus.live / 2;
}

/* Copies of the weights or of their gradients, three sets or more at a line: what pieces in holes
 * stand against where they are a small part of it. */
static uint64_t copies_bytes(const struct mt_moment *m)
{
    enum { SETS = 3 };
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->n_copies; i++)
        sum += m->copies[i].n >= SETS ? m->copies[i].bytes : 0;
    return sum;
}

static void set_kind(struct mt_cause *c, enum mt_cause_kind kind, enum mt_conf conf)
{
    c->kind = kind;
    c->conf = (uint8_t)conf;
    c->known = true;
}

/* Names what is avoidable (growth, frees that wait, other processes, an idle engine, one giant
 * tensor, residue) where it alone covers what was lacking and is more than `pieces`: the bytes that
 * were free in holes, 0 on a card that was full; certain growth also where it is less. Growth and
 * frees that wait go first; of the others the largest wins, residue last. The shares (a tenth, a
 * fifth) were chosen by hand, so that what is small is no cause; half or twice as much of each
 * changes at most 1 report. */
static bool is_avoidable(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *s,
                         uint64_t pieces)
{
    uint64_t live = m->d->focus.live, best = pieces,
             giant = s->elem != 0 ? logits_bytes(m, s) : m->oom->request;
    /* what grows, and why it stays */
    if (m->graph.bypassed && m->graph.bytes > pieces && m->graph.bytes >= m->growth &&
        m->graph.bytes >= live / 20 && would_fit(c, "no_graph")) {
        set_kind(c, MT_CAUSE_LEAK, MT_CONF_INFERRED);
        return true;
    }
    /* the same step fitted before something grew; what grows in every step fills any card, in one
       piece as well. Less than half of the pieces is not what this request lacked: a gallery of
       features held its segments, and the request fitted beside it in one piece. */
    if ((m->growth > pieces || (m->sure_growth >= live / 20 && m->growth >= pieces / 2)) &&
        m->growth != 0 && would_fit(c, "no_growth")) {
        set_kind(c, MT_CAUSE_LEAK, MT_CONF_MARKED);
        return true;
    }
    if (m->kept.bytes > pieces && !m->open && would_fit(c, "no_kept")) {
        set_kind(c, MT_CAUSE_LEAK, MT_CONF_INFERRED);
        return true;
    }
    if (m->graph.bytes > pieces && m->graph.bytes >= live / 20 && would_fit(c, "no_graph")) {
        set_kind(c, MT_CAUSE_LEAK, MT_CONF_INFERRED);
        return true;
    }
    /* nothing needs it, and no longer than one line: so little of it is a cause as of nothing else
     */
    if (m->result.bytes > pieces && m->result.bytes >= live / 20 &&
        would_fit(c, "no_last_result")) {
        set_kind(c, MT_CAUSE_LEAK, MT_CONF_MARKED);
        return true;
    }
    if (m->pending > pieces && m->pending >= live / 10 && would_fit(c, "no_pending_frees")) {
        set_kind(c, MT_CAUSE_PENDING_FREES, MT_CONF_MARKED);
        return true;
    }
    if (m->outside > best && m->outside >= m->d->capacity / 10 + MT_OWN_CONTEXT &&
        would_fit(c, "no_foreign")) {
        set_kind(c, MT_CAUSE_FOREIGN, MT_CONF_INFERRED);
        best = m->outside;
    }
    if (stale_bytes(m) >= live / 10 && stale_bytes(m) > best &&
        (would_fit(c, "engine_asleep") || would_fit(c, "training_offloaded"))) {
        /* PyTorch's books keep the blocks of an engine that sleeps. Whether they are on the card
         * follows from the card's size alone. */
        bool sure = !mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) || m->engine_private == 0 ||
                    (m->d->capacity != 0 && m->absent == 0 && !m->d->sums_only);
        set_kind(c, MT_CAUSE_STALE_ENGINE, sure ? MT_CONF_MARKED : MT_CONF_LOW);
        best = stale_bytes(m);
    }
    if (m->more > best && would_fit(c, "as_before")) {
        set_kind(c, MT_CAUSE_CAPACITY, MT_CONF_MARKED);
        best = m->more;
    }
    if (pieces != 0 && copies_bytes(m) / 2 > best && copies_bytes(m) >= live / 4) {
        c->by = "";
        set_kind(c, MT_CAUSE_CAPACITY, MT_CONF_MARKED);
        best = copies_bytes(m);
    }
    /* beside pieces only what can be had without: a loss that makes no logits */
    if (is_giant(m, s) && giant > best && (pieces == 0 || s->elem != 0)) {
        c->by = "";
        set_kind(c, MT_CAUSE_GIANT_TENSOR, s->elem != 0 ? MT_CONF_MARKED : MT_CONF_INFERRED);
        best = giant;
    }
    if (best == pieces && m->residue > pieces && !m->open && m->residue >= live / 5 &&
        would_fit(c, "no_residue")) {
        set_kind(c, MT_CAUSE_LEAK, MT_CONF_INFERRED);
        return true;
    }
    return best != pieces;
}

static void decide_failure(struct mt_cause *c, const struct mt_moment *m, const struct mt_shape *s)
{
    uint64_t pieces = m->d->focus.holes_known ? m->oom->at.free_usable : m->oom->at.reserved_free;
    switch (mt_oom_kind(m->d, m->oom)) {
    case MT_V_OOM_LIMIT: set_kind(c, MT_CAUSE_LIMIT, MT_CONF_MARKED); break;
    case MT_V_OOM_FRAGMENTATION: /* in one piece they would only have put the failure off */
        if (!is_avoidable(c, m, s, pieces) && (m->rounds.bytes > pieces || m->f->recorded > pieces))
            set_kind(c, MT_CAUSE_CAPACITY, MT_CONF_INFERRED);
        else if (!c->known)
            set_kind(c, MT_CAUSE_FRAGMENTATION,
                     m->d->focus.holes_known ? MT_CONF_MARKED : MT_CONF_INFERRED);
        break;
    case MT_V_OOM_CAPACITY:
        if (!is_avoidable(c, m, s, 0))
            set_kind(c, MT_CAUSE_CAPACITY,
                     is_mostly_unknown(m) ? MT_CONF_INFERRED : MT_CONF_MARKED);
        break;
    case MT_V_OOM:
    case MT_V_PEAK:
    case MT_V_END_STATE:
    case MT_V_EMPTY: break; /* the state at the failure is not known */
    }
    if (m->d->kind == MT_DEV_HOST && c->known)
        set_kind(c, MT_CAUSE_HOST, MT_CONF_MARKED);
}

static int keep_line(char **out, const struct mt_moment *m, mt_frame_id frame)
{
    struct mt_frame_view v;
    char line[256];
    mt_frame_describe(m->w->r->t, frame, &v);
    (void)snprintf(line, sizeof line, "%s:%u %s", v.file, v.line, v.name);
    *out = mt_strndup(line, strlen(line));
    return *out != NULL;
}

/* Activations of the pass at hand, where nothing is trained in the whole recording. */
static uint64_t graph_of_none(const struct mt_moment *m)
{
    return m->oom != NULL && mt_phase_keeps_for_none(m->oom->attr) ? m->role[MT_ROLE_ACTIVATION]
                                                                   : 0;
}

/* What is still there of earlier passes. */
static int keep_passes(struct mt_cause *out, const struct mt_moment *m)
{
    out->last_result = m->result.bytes;
    out->keeps_results = m->result.is_of_all;
    if (m->graph.retained || m->graph.bypassed)
        out->retained_graph = m->graph.bytes;
    else
        out->unused_graph = m->graph.bytes;
    out->bypassed_graph = m->graph.bypassed ? m->graph.bytes : 0;
    out->graph_of_none = graph_of_none(m);
    out->unused_now = m->graph.bytes != 0 ? m->graph.now : 0;
    return (m->result.bytes == 0 || keep_line(&out->last_result_line, m, m->result.line)) &&
           (m->graph.bytes == 0 || keep_line(&out->unused_graph_line, m, m->graph.line));
}

/* What would be left behind, if no backward pass behind all of it is to come. */
static uint64_t kept_open(const struct mt_moment *m)
{
    uint64_t most = m->kept.bytes > m->residue ? m->kept.bytes : m->residue;
    most = m->open_bytes > most ? m->open_bytes : most;
    return m->open && most >= m->d->focus.live / 10 ? most : 0;
}

/* Copies of the weights, by what can be done about them. */
static void keep_copies(struct mt_cause *out, const struct mt_moment *m)
{
    for (uint32_t i = 0; i < m->n_copies; i++) {
        const struct mt_copies *c = &m->copies[i];
        if (c->is_state) {
            out->history += c->bytes;
            out->history_one = c->set;
        } else if (c->kind == MT_COPIES_IN_PASS)
            out->made_weights += c->bytes;
        else if (c->kind == MT_COPIES_IN_LOSS)
            out->weight_terms += c->bytes > c->set ? c->bytes - c->set : 0;
        else
            out->weight_copies += c->bytes;
        out->copies_kept += c->kept;
        out->copies_temp += c->temp;
        out->copies_beside += c->kind == MT_COPIES_IN_PASS ? 0 : c->kept;
        out->asks_copy = out->asks_copy || c->asked;
    }
    /* what both find is counted once */
    if (m->fixed.kept > out->copies_kept)
        out->copies_kept = m->fixed.kept;
    if (m->fixed.temp > out->copies_temp)
        out->copies_temp = m->fixed.temp;
    out->between_calls = m->fixed.between;
    out->remade = m->remade;
    out->n_made = m->n_made;
    out->maker = m->maker;
    out->alike = m->alike;
    out->regrown = m->regrown;
    memcpy(out->made, m->made, sizeof out->made);
    out->old_state = m->old_state;
}

/* A cache that a generation left: no training pass reads it. One that the passes make themselves is
 * none. */
static uint64_t idle_cache(const struct mt_moment *m)
{
    uint64_t sum = 0;
    bool trains = mt_phase_is(m->phase, MT_TRAINS) || mt_phase_is(m->sub, MT_TRAINS);
    for (uint32_t i = 0; trains && m->w->fate != NULL && i < m->w->there.n; i++) {
        uint32_t born = m->w->there.p[i];
        if (m->w->fate[born].role == MT_ROLE_KV_CACHE &&
            mt_phase_is(m->w->r->attr[born].phase, MT_FORWARD_ONLY | MT_GENERATES))
            sum += mt_event_at(m->w->r->d, born)->size;
    }
    return sum;
}

enum mt_rc mt_cause_make(struct mt_cause *out, const struct mt_roles *w,
                         const struct mt_role_facts *f, const struct mt_device_analysis *d,
                         struct mt_phaser *ph, const struct mt_role_rules *rules)
{
    struct mt_moment m;
    struct mt_shape shape = {.tokens = 0};
    int ok;
    memset(out, 0, sizeof *out);
    out->by = "";
    out->event = mt_link_event(d->ooms.n != 0 ? (int64_t)d->ooms.p[0].event : d->focus.event);
    ok = mt_moment_make(&m, w, f, d, ph) && mt_moment_result(&m) && mt_moment_graph(&m);
    if (ok)
        mt_moment_retained(&m);
    ok = ok && mt_moment_bypassed(&m);
    ok = ok && keep_passes(out, &m) && mt_cause_pieces(&out->pieces, w, d);
    if (ok && m.oom != NULL) {
        out->request = m.oom->request;
        mt_shape_of(&m, rules, &shape);
        ok = mt_moment_to_come(&m, &shape) && mt_moment_as_before(&m) && mt_moment_kept(&m) &&
             mt_moment_hoard(&m) && mt_moment_rounds(&m) && mt_moment_unclaimed(&m) &&
             mt_moment_copies(&m) && mt_moment_old_state(&m);
        mt_moment_remade(&m);
        mt_moment_spread(&m);
        ok = ok && mt_moment_fixed(&m) && mt_moment_named(&m) && mt_moment_parts(&m) &&
             mt_moment_maker(&m);
        keep_copies(out, &m);
        out->hoard = m.hoard.bytes;
        out->apart = m.apart;
        out->named = m.named;
        out->rounds = m.rounds.bytes;
        out->rounds_grads = m.rounds.grads;
        out->pass_so_far = m.to_come.so_far;
        out->left_open = m.to_come.open;
        out->leaps = m.to_come.leaps && !mt_phase_is(m.phase, MT_TRAINS);
        out->before_most = m.to_come.before_most;
        out->before_passes = m.to_come.passes;
        out->before_rest = m.to_come.before_rest;
        memcpy(out->to_come, m.to_come.role, sizeof out->to_come);
        out->kept_open = kept_open(&m);
        out->kept_casts = m.kept.casts > m.kept.bytes / 2 ? m.kept.casts : 0;
        if (m.to_come.kind == MT_TO_COME_STATE)
            out->state_to_come = m.to_come.bytes;
        else
            out->pass_to_come = m.to_come.bytes;
        ok = ok && mt_cause_what_ifs(out, &m);
        if (ok && would_fit(out, "as_before"))
            out->pass_more = m.more;
        if (m.to_come.pass_before != 0)
            out->pass_ratio = (double)m.to_come.pass_now / (double)m.to_come.pass_before;
        out->fits_only_here = mt_fits_only_here(d);
        out->by = "";
        if (ok)
            decide_failure(out, &m, &shape);
        if (ok && mt_oom_kind(d, m.oom) == MT_V_OOM_FRAGMENTATION)
            ok = mt_moment_pins(&m, out);
        out->tokens = shape.tokens;
        out->vocab = shape.vocab;
        out->vocab_is_guess = shape.is_guess;
        out->vocab_split = shape.split;
        out->elem = shape.elem;
    } else if (ok) {
        ok = mt_cause_next(out, &m, ph);
    }
    ok = ok && mt_moment_outlived(&m);
    out->outlived = m.outlived.bytes;
    out->idle_cache = idle_cache(&m);
    ok = ok && mt_cause_least(out, &m) && mt_cause_evidence(out, &m, &shape) &&
         mt_cause_sentence(out, &m, &shape);
    mt_moment_done(&m);
    if (ok)
        return MT_OK;
    mt_cause_done(out);
    return MT_ENOMEM;
}

void mt_cause_done(struct mt_cause *c)
{
    for (uint32_t i = 0; i < c->evidence.n; i++)
        mt_free(c->evidence.p[i].text);
    for (uint32_t i = 0; i < c->what_ifs.n; i++)
        mt_free(c->what_ifs.p[i].text);
    for (uint32_t i = 0; i < c->pins.n; i++)
        mt_free(c->pins.p[i].label);
    MT_VEC_DONE(&c->evidence);
    MT_VEC_DONE(&c->what_ifs);
    MT_VEC_DONE(&c->pins);
    mt_free(c->sentence);
    mt_free(c->least);
    c->least = NULL;
    mt_free(c->last_result_line);
    mt_free(c->unused_graph_line);
    c->unused_graph_line = NULL;
    mt_free(c->next.sentence);
    c->sentence = c->next.sentence = c->last_result_line = NULL;
}
