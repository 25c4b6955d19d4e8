#include "render/html/page_plan.h"

#include "parser/base/apart.h"
#include "parser/base/json_words.h"
#include "render/json/json.h"
#include "render/pack/ledger.h"
#include "render/pack/notes.h"
#include "render/pack/xz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of one rank a long report (dense 450 to 560 KB for 100,000 to a million events) is as small by
 * gzip as by xz, 6 % less to 1 % more, in a sixth of the time. A short one takes 10 % more by gzip
 * and is most of what some page has beside its script; ranks repeat each other farther back than
 * gzip looks: 64 of them take 40 % more. */
static int pack_text(struct mt_blob *b, const struct mt_text *text, uint32_t n_ranks)
{
    enum { LONG = 1 << 18 };
    if (text->n > LONG && n_ranks <= 1 && mt_blob_gzip(b, text->p, text->n))
        return 0;
    return mt_blob_xz(b, text->p, text->n);
}

/* The report as small as it gets: without blanks, its keys by their places, its numbers behind it.
 * Of many ranks it is long: each form of it goes as soon as the next one is there. */
static int pack_dense(struct mt_blob *b, struct mt_out *dense, uint32_t n_ranks)
{
    struct mt_text keys = {0}, apart = {0};
    int error;
    mt_json_words_short(&keys, (const char *)dense->buf, dense->used);
    mt_out_done(dense);
    mt_apart(&apart, keys.p, keys.n);
    error = keys.failed || apart.failed ? ENOMEM : 0;
    mt_text_done(&keys);
    if (error == 0)
        error = pack_text(b, &apart, n_ranks);
    mt_text_done(&apart);
    return error;
}

static int pack_report(struct mt_blob *b, const struct mt_report *r)
{
    struct mt_out dense;
    int error = mt_out_mem(&dense) ? 0 : ENOMEM;
    if (error == 0) {
        mt_render_json_dense(r, &dense);
        error = mt_out_finish(&dense);
    }
    if (error == 0)
        error = pack_dense(b, &dense, r->diagnosis->ranks.n);
    mt_out_done(&dense);
    return error;
}

/* In windows a chunk is there because a finding lies in it, or because the next one needs the state
 * that it leaves. */
bool mt_plan_has(const struct mt_track_plan *t, uint32_t chunk)
{
    const struct mt_pack *p = t->pack;
    if (t->detail != MT_DETAIL_WINDOWS || p->chunks.p[chunk].wanted)
        return t->detail != MT_DETAIL_NONE;
    for (uint32_t c = chunk + 1; c < p->chunks.n && p->chunks.p[c].key.p == NULL; c++)
        if (p->chunks.p[c].wanted)
            return true;
    return false;
}

const struct mt_blob *mt_plan_overview(const struct mt_track_plan *t, const struct mt_overview *v)
{
    if (t->grain == MT_GRAIN_FINE && v->fine.p != NULL)
        return &v->fine;
    return t->grain == MT_GRAIN_THIN && v->thin.p != NULL ? &v->thin : &v->coarse;
}

#define IMPOSSIBLE (UINT64_C(1) << 48) /* more than any page, and sums of it do not overflow */

static uint64_t track_cost(struct mt_track_plan *t)
{
    enum { IN_INDEX = 20, FIXED = 1500 };
    const struct mt_pack *p = t->pack;
    uint64_t n = FIXED + mt_blob_cost(&p->phases);
    bool needed = false;
    n += mt_blob_cost(mt_plan_overview(t, &p->by_time)) +
         mt_blob_cost(mt_plan_overview(t, &p->by_event));
    for (uint32_t i = 0; i < p->marks.n; i++)
        n += 100 + strlen(p->marks.p[i].text);
    t->n_exact = 0;
    if (t->detail == MT_DETAIL_NONE)
        return n;
    if (t->detail == MT_DETAIL_ALL && p->partial)
        return IMPOSSIBLE;
    n += mt_blob_cost(&p->sites) + (t->addresses ? mt_blob_cost(&p->places) : 0);
    /* Backwards: whether a later chunk needs this one is known when it is reached. */
    for (uint32_t i = p->chunks.n; i-- > 0;) {
        const struct mt_pack_chunk *c = &p->chunks.p[i];
        needed = (needed && p->chunks.p[i + 1].key.p == NULL) || c->wanted;
        if (t->detail == MT_DETAIL_WINDOWS && !needed)
            continue;
        t->n_exact += c->n;
        n += mt_blob_cost(&c->events) + mt_blob_cost(mt_chunk_times(c, t->coarse)) +
             mt_blob_cost(&c->rest) + (t->addresses ? mt_blob_cost(&c->addresses) : 0) + IN_INDEX;
        if (i == 0 || t->detail == MT_DETAIL_WINDOWS)
            n += mt_blob_cost(&c->key) + 2 * IN_INDEX;
    }
    return n;
}

/* Small beside what snapshots hold; those of a job with very many give up single calls together. */
static int plan_calls(struct mt_page_plan *p, const struct mt_driverdiag *j)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; j != NULL && i < j->ledgers.n; i++) {
        struct mt_calls_plan *c = MT_VEC_PUSH(&p->calls);
        if (c == NULL || !mt_call_pack_make(&c->calls, j, i))
            return 0;
        if (c->calls.pack == NULL) {
            p->calls.n--;
            continue;
        }
        c->track = (struct mt_track_plan){
            .pack = c->calls.pack, .detail = MT_DETAIL_ALL, .n_exact = c->calls.pack->n_events};
        c->track.grain = MT_GRAIN_COARSE;
        cost += track_cost(&c->track);
    }
    for (uint32_t i = 0; p->max_size != 0 && cost > p->max_size / 4 && i < p->calls.n; i++)
        p->calls.p[i].track.detail = MT_DETAIL_NONE;
    return 1;
}

int mt_page_plan_begin(struct mt_page_plan *p, const struct mt_report *r)
{
    memset(p, 0, sizeof *p);
    p->max_size = r->max_size;
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++) {
        const struct mt_packs *packs =
            r->packs != NULL ? &r->packs[r->diagnosis->ranks.p[i].order] : NULL;
        for (uint32_t k = 0;
             packs != NULL && k < packs->list.n && k < r->diagnosis->ranks.p[i].analysis->devices.n;
             k++) {
            struct mt_track_plan *t = MT_VEC_PUSH(&p->track);
            if (t == NULL)
                return ENOMEM;
            t->rank = i;
            t->device = k;
            t->pack = packs->list.p[k];
            t->detail = t->pack->why != NULL ? MT_DETAIL_NONE
                        : t->pack->partial   ? MT_DETAIL_WINDOWS
                                             : MT_DETAIL_ALL;
            t->addresses = true;
            t->grain = t->pack->partial ? MT_GRAIN_FINE : MT_GRAIN_COARSE;
            t->n_exact = t->pack->why == NULL ? t->pack->n_events : 0;
            if (!mt_nvtx_blob(&t->nvtx, t->pack, r->diagnosis->driver, i))
                return ENOMEM;
        }
    }
    for (uint32_t i = 0; r->diagnosis->driver != NULL && i < r->diagnosis->driver->ledgers.n; i++) {
        struct mt_blob *b = MT_VEC_PUSH(&p->ledger);
        if (b == NULL || !mt_ledger_blob(&r->diagnosis->driver->ledgers.p[i], b))
            return ENOMEM;
    }
    return plan_calls(p, r->diagnosis->driver) ? pack_report(&p->report, r) : ENOMEM;
}

void mt_page_plan_done(struct mt_page_plan *p)
{
    for (uint32_t i = 0; i < p->track.n; i++)
        mt_blob_done(&p->track.p[i].nvtx);
    for (uint32_t i = 0; i < p->ledger.n; i++)
        mt_blob_done(&p->ledger.p[i]);
    for (uint32_t i = 0; i < p->calls.n; i++)
        mt_call_pack_done(&p->calls.p[i].calls);
    mt_blob_done(&p->report);
    MT_VEC_DONE(&p->calls);
    MT_VEC_DONE(&p->track);
    MT_VEC_DONE(&p->ledger);
}

int mt_page_plan_settle(const struct mt_page_plan *p, const struct mt_report *r)
{
    for (uint32_t i = 0; i < p->track.n; i++) {
        const struct mt_track_plan *t = &p->track.p[i];
        const struct mt_packs *packs = &r->packs[r->diagnosis->ranks.p[t->rank].order];
        if (!mt_pack_settle(packs->list.p[t->device]))
            return 0;
    }
    return 1;
}

bool mt_plan_withheld(const struct mt_track_plan *t)
{
    return t->pack->withheld || t->pack->why != NULL;
}

uint64_t mt_page_plan_cost(const struct mt_page_plan *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->track.n; i++)
        n += track_cost(&p->track.p[i]);
    for (uint32_t i = 0; i < p->calls.n; i++)
        n += track_cost(&p->calls.p[i].track);
    return n;
}

void mt_page_plan_clear(struct mt_page_plan *p)
{
    for (uint32_t i = 0; i < p->track.n; i++) {
        p->track.p[i].detail = MT_DETAIL_NONE;
        p->track.p[i].addresses = p->track.p[i].coarse = false;
        p->track.p[i].grain = MT_GRAIN_THIN;
    }
}

static const struct {
    enum mt_detail detail;
    /* a window begins with the fine time: coarse ones are for whole tracks */
    bool addresses, coarse;
    enum mt_grain grain;
} ladder[] = {
    {MT_DETAIL_ALL, true, false, MT_GRAIN_COARSE},
    {MT_DETAIL_ALL, false, false, MT_GRAIN_COARSE},
    {MT_DETAIL_ALL, false, true, MT_GRAIN_COARSE},
    {MT_DETAIL_WINDOWS, true, false, MT_GRAIN_FINE},
    {MT_DETAIL_WINDOWS, false, false, MT_GRAIN_FINE},
    {MT_DETAIL_WINDOWS, false, false, MT_GRAIN_COARSE},
    {MT_DETAIL_NONE, false, false, MT_GRAIN_FINE},
    {MT_DETAIL_NONE, false, false, MT_GRAIN_COARSE},
    {MT_DETAIL_NONE, false, false, MT_GRAIN_THIN},
};
enum { N_RUNGS = sizeof ladder / sizeof *ladder };

static void set_rung(struct mt_track_plan *t, unsigned rung)
{
    t->detail = t->pack->why == NULL ? ladder[rung].detail : MT_DETAIL_NONE;
    t->addresses = ladder[rung].addresses;
    t->coarse = ladder[rung].coarse;
    t->grain = ladder[rung].grain;
}

/* The best that fits into *left for the tracks from..to of the order together; *left gets what is
 * over. */
static void climb(struct mt_page_plan *p, const uint32_t *order, uint32_t from, uint32_t to,
                  uint64_t *left)
{
    uint64_t least = 0, cost = 0;
    for (uint32_t i = from; i < to; i++)
        least += track_cost(&p->track.p[order[i]]); /* as cleared: already paid */
    for (unsigned rung = 0; rung < N_RUNGS; rung++) {
        cost = 0;
        for (uint32_t i = from; i < to; i++) {
            set_rung(&p->track.p[order[i]], rung);
            cost += track_cost(&p->track.p[order[i]]);
        }
        if (cost <= *left + least)
            break;
    }
    *left = cost <= *left + least ? *left + least - cost : 0;
}

struct place {
    bool other; /* neither of the worst nor of the median rank */
    uint64_t peak;
    uint32_t track;
};

static int by_turn(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    if (a->other != b->other)
        return a->other ? 1 : -1;
    if (a->peak != b->peak)
        return a->peak > b->peak ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

static int by_peak(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    return a->peak != b->peak ? (a->peak > b->peak ? -1 : 1) : 0;
}

int mt_page_plan_fit(struct mt_page_plan *p, const struct mt_report *r, uint64_t bytes)
{
    struct place *turn = mt_calloc((size_t)p->track.n + 1, sizeof *turn);
    uint32_t *order = mt_calloc((size_t)p->track.n + 1, sizeof *order), first = 0;
    uint64_t least, median;
    if (turn == NULL || order == NULL) {
        mt_free(turn);
        mt_free(order);
        return 0;
    }
    for (uint32_t i = 0; i < p->track.n; i++) {
        const struct mt_track_plan *t = &p->track.p[i];
        turn[i] = (struct place){
            false, r->diagnosis->ranks.p[t->rank].analysis->devices.p[t->device].live_peak, i};
    }
    qsort(turn, p->track.n, sizeof *turn, by_peak);
    median = p->track.n != 0 ? turn[p->track.n / 2].peak : 0;
    /* the worst rank is the one the verdict speaks for */
    for (uint32_t i = 0, found = 0; i < p->track.n; i++) {
        bool worst = p->track.p[turn[i].track].rank == r->diagnosis->primary;
        bool is_median = !worst && found == 0 && turn[i].peak == median;
        found += is_median;
        turn[i].other = !worst && !is_median;
        first += !turn[i].other;
    }
    qsort(turn, p->track.n, sizeof *turn, by_turn);
    for (uint32_t i = 0; i < p->track.n; i++)
        order[i] = turn[i].track;
    mt_page_plan_clear(p);
    least = mt_page_plan_cost(p);
    bytes = bytes > least ? bytes - least : 0;
    climb(p, order, 0, first, &bytes);
    for (uint32_t i = first; i < p->track.n; i++)
        climb(p, order, i, i + 1, &bytes);
    mt_free(turn);
    mt_free(order);
    return 1;
}

const char *mt_plan_left_out(const struct mt_track_plan *t, unsigned i)
{
    const char *why[6];
    unsigned n = 0;
    if (t->pack->why == NULL) {
        if (t->detail == MT_DETAIL_NONE)
            why[n++] = t->grain == MT_GRAIN_THIN && t->pack->by_event.thin.p != NULL
                           ? "exact events: a coarse overview alone"
                           : "exact events: the overview alone";
        else if (t->detail == MT_DETAIL_WINDOWS)
            why[n++] = "exact events except around findings and in the first and last step";
        if (t->detail != MT_DETAIL_NONE && !t->addresses && t->pack->addr_unit != 0)
            why[n++] = "addresses of blocks and segments";
        if (t->detail == MT_DETAIL_ALL && t->coarse && t->pack->has_time && t->pack->time_step > 1)
            why[n++] = "times finer than 32 us";
        if (t->pack->phases_left_out)
            why[n++] = "the phase band: phases change more often than it can show";
        else if (t->pack->subs_left_out)
            why[n++] = "sub-phases in the phase band: they change more often than it can show";
        if (t->pack->notes_left_out != 0)
            why[n++] = "annotations beyond the first 20,000";
    }
    return i < n ? why[i] : NULL;
}
