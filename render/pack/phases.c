/* Stretches of one phase, steps and annotations. */
#include "render/pack/notes.h"

#include <string.h>

enum { MAX_STRETCHES = 65536 };
enum {
    C_FIRST,
    C_PHASE,
    C_SUB,
    C_STEP,
    C_NAME,
    C_TICK,
    C_TICKS,
    C_DEPTH,
    C_LENGTH,
    C_TEXT,
    N_COLUMNS
};

/* False = there are too many, and none is written. */
static bool put_stretches(const struct mt_pack_in *in, bool subs, struct mt_bytes *c)
{
    const struct mt_attr *attr = in->attr;
    uint64_t n = 0, before = 0;
    for (uint64_t i = 0; i < in->pack->n_events; i++) {
        unsigned phase = attr[i].phase, sub = attr[i].sub;
        if (n == MAX_STRETCHES) {
            for (unsigned k = C_FIRST; k <= C_SUB; k++)
                c[k].n = 0;
            return false;
        }
        n++;
        mt_put_var(&c[C_FIRST], i - before);
        mt_put_var(&c[C_PHASE], phase);
        mt_put_var(&c[C_SUB], subs && sub != MT_PH_NONE ? sub + 1u : 0);
        before = i;
        while (i + 1 < in->pack->n_events && attr[i + 1].phase == phase &&
               (!subs || attr[i + 1].sub == sub))
            i++;
    }
    return true;
}

static void add_stretches(const struct mt_pack_in *in, struct mt_bytes *c)
{
    if (put_stretches(in, true, c))
        return;
    in->pack->subs_left_out = true;
    in->pack->phases_left_out = !put_stretches(in, false, c);
}

static void add_steps(const struct mt_role_facts *f, struct mt_bytes *c)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < f->steps.n; i++) {
        uint64_t first = f->steps.p[i].first > before
                             ? f->steps.p[i].first
                             : before; /* in order, whatever the analysis found */
        mt_put_var(&c[C_STEP], first - before);
        before = first;
    }
}

static bool is_ours(const struct mt_pack_in *in, const struct mt_range *x)
{
    return x->device == in->r->d->ordinal && in->r->d->kind == MT_DEV_CUDA && x->t0_ns != 0 &&
           x->t1_ns > in->pack->t0_ns && x->t0_ns < x->t1_ns &&
           mt_pack_tick(in->pack, x->t0_ns) <= in->pack->end;
}

static int add_notes(const struct mt_pack_in *in, struct mt_bytes *c)
{
    const struct mt_trace *t = in->r->t;
    struct mt_pack_strings strings = {.sizes = &c[C_LENGTH], .text = &c[C_TEXT]};
    MT_VEC(struct mt_pack_note) v = {NULL, 0, 0};
    int rc = 0;
    for (uint32_t i = 0; in->pack->has_time && i < t->ranges.n; i++) {
        const struct mt_range *x = &t->ranges.p[i];
        struct mt_pack_note *to;
        if (!is_ours(in, x))
            continue;
        if (v.n == MT_MAX_NOTES) {
            in->pack->notes_left_out++;
            continue;
        }
        to = MT_VEC_PUSH(&v);
        if (to == NULL)
            goto out;
        *to = (struct mt_pack_note){mt_pack_tick(in->pack, x->t0_ns),
                                    mt_pack_tick(in->pack, x->t1_ns), x->name, i};
        to->t1 = to->t1 < in->pack->end ? to->t1 : in->pack->end;
    }
    mt_pack_notes(v.p, v.n, t, &strings, &c[C_NAME]);
    rc = 1;
out:
    mt_strpool_done(&strings.seen);
    MT_VEC_DONE(&v);
    return rc;
}

int mt_pack_phases(const struct mt_pack_in *in)
{
    struct mt_bytes c[N_COLUMNS];
    int rc;
    memset(c, 0, sizeof c);
    add_stretches(in, c);
    add_steps(&in->o->roles, c);
    rc = add_notes(in, c) && mt_blob_make(&in->pack->press, &in->pack->phases, c, N_COLUMNS);
    for (int i = 0; i < N_COLUMNS; i++)
        mt_bytes_done(&c[i]);
    return rc;
}
