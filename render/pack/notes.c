#include "render/pack/notes.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16 };
enum { C_NAME, C_TICK, C_TICKS, C_DEPTH, C_LENGTH, C_TEXT, N_COLUMNS };

static int by_start(const void *pa, const void *pb)
{
    const struct mt_pack_note *a = pa, *b = pb;
    if (a->t0 != b->t0)
        return a->t0 < b->t0 ? -1 : 1;
    if (a->t1 != b->t1) /* the one around the other first */
        return a->t1 > b->t1 ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void mt_pack_notes(struct mt_pack_note *v, uint32_t n, const struct mt_trace *t,
                   struct mt_pack_strings *strings, struct mt_bytes *c)
{
    uint64_t until[MAX_DEPTH] = {0}, before = 0;
    if (n > 1)
        qsort(v, n, sizeof *v, by_start);
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_pack_note *x = &v[i];
        unsigned depth = 0;
        while (depth + 1 < MAX_DEPTH && until[depth] > x->t0)
            depth++;
        until[depth] = x->t1 > until[depth] ? x->t1 : until[depth];
        mt_put_var(&c[C_NAME], mt_pack_string(strings, mt_str(t, x->name), mt_str_len(t, x->name)));
        mt_put_var(&c[C_TICK], x->t0 - before);
        mt_put_var(&c[C_TICKS], x->t1 - x->t0);
        mt_put_var(&c[C_DEPTH], depth);
        before = x->t0;
    }
}

static const struct mt_reconcile *process_of(const struct mt_driverdiag *driver, uint32_t rank)
{
    for (uint32_t i = 0; driver != NULL && i < driver->reconciled.n; i++)
        if (driver->reconciled.p[i].rank == rank)
            return &driver->reconciled.p[i];
    return NULL;
}

int mt_nvtx_blob(struct mt_blob *out, const struct mt_pack *p, const struct mt_driverdiag *driver,
                 uint32_t rank)
{
    const struct mt_reconcile *who = process_of(driver, rank);
    const struct mt_trace *t = who != NULL ? driver->drivers.p[who->driver] : NULL;
    struct mt_bytes c[N_COLUMNS];
    struct mt_pack_strings strings = {.sizes = &c[C_LENGTH], .text = &c[C_TEXT]};
    MT_VEC(struct mt_pack_note) v = {NULL, 0, 0};
    struct mt_press press = {.isal = NULL};
    int rc = 0;
    *out = (struct mt_blob){.p = NULL};
    if (t == NULL || !p->has_time)
        return 1;
    memset(c, 0, sizeof c);
    for (uint32_t i = 0; i < t->driver->ranges.n && v.n < MT_MAX_NOTES; i++) {
        const struct mt_nvtx *x = &t->driver->ranges.p[i];
        uint64_t t0 = mt_pack_tick(p, x->t0_ns),
                 t1 = x->t1_ns != 0 ? mt_pack_tick(p, x->t1_ns) : p->end;
        struct mt_pack_note *to;
        t1 = t1 < p->end ? t1 : p->end;
        if (x->process != who->process || x->is_mark || t0 >= t1)
            continue;
        to = MT_VEC_PUSH(&v);
        if (to == NULL)
            goto out;
        *to = (struct mt_pack_note){t0, t1, x->name, i};
    }
    mt_pack_notes(v.p, v.n, t, &strings, c);
    rc = v.n == 0 || mt_blob_make(&press, out, c, N_COLUMNS);
out:
    for (int i = 0; i < N_COLUMNS; i++)
        mt_bytes_done(&c[i]);
    mt_press_done(&press);
    mt_strpool_done(&strings.seen);
    MT_VEC_DONE(&v);
    return rc;
}
