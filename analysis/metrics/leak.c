/* metrics/leak.c -- growth from step to step by role; what earlier rounds or phases left behind. */
#include "analysis/metrics/leak.h"

#include "analysis/facts/cause.h"

#include <string.h>

double mt_leak_grown(const struct mt_device_analysis *d, enum mt_role role)
{
    const struct mt_role_facts *f = &d->roles;
    uint64_t grown = 0;
    for (uint32_t i = 0; i < f->growth.n; i++) {
        const struct mt_growth *g = &f->growth.p[i];
        if (g->role == role && g->conf >= MT_CONF_INFERRED && g->last > g->first)
            grown += g->last - g->first;
    }
    return (double)(grown < f->at_focus[role] ? grown : f->at_focus[role]);
}

double mt_leak_kept(const struct mt_device_analysis *d)
{
    const struct mt_cause *c = d->cause;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        if (mt_leak_grown(d, (enum mt_role)r) > 0)
            return 0;
    for (uint32_t i = 0; c != NULL && c->kind == MT_CAUSE_LEAK && i < c->what_ifs.n; i++) {
        const struct mt_what_if *w = &c->what_ifs.p[i];
        if (strcmp(w->id, c->by) == 0 &&
            (strcmp(w->id, "no_kept") == 0 || strcmp(w->id, "no_residue") == 0))
            return (double)w->freed;
    }
    return 0;
}

double mt_kept_in_rounds(const struct mt_device_analysis *d)
{
    const struct mt_cause *c = d->cause;
    if (c != NULL && c->retained_graph != 0)
        return (double)c->retained_graph;
    if (c != NULL && c->kept_open != 0)
        return 0;
    for (uint32_t i = 0; c != NULL && i < c->what_ifs.n; i++)
        if (strcmp(c->what_ifs.p[i].id, "no_kept") == 0)
            return (double)c->what_ifs.p[i].freed;
    return 0;
}

bool mt_joins_kept(const struct mt_device_analysis *d)
{
    double kept = mt_kept_in_rounds(d), request = d->ooms.n != 0 ? (double)d->ooms.p[0].request : 0;
    return kept > 0 && request > kept * 7 / 8 && request < kept * 9 / 8;
}

double mt_engine_held(const struct mt_device_analysis *d, double *least, bool *sure)
{
    const struct mt_role_facts *f = &d->roles;
    uint64_t cache = f->at_focus[MT_ROLE_KV_CACHE],
             engine = cache + f->at_focus[MT_ROLE_ENGINE_WEIGHTS];
    uint64_t visible =
        d->focus.reserved + (d->focus_is_oom && d->ooms.n != 0 ? d->ooms.p[0].device_free : 0);
    uint64_t absent = d->capacity != 0 && visible > d->capacity ? visible - d->capacity : 0;
    /* sums say nothing of pools, and whether what sleeps was there follows from what was free */
    *sure = !d->sums_only && (!mt_engine_is_private(f) || d->capacity != 0);
    *least = *sure && cache > absent ? (double)(cache - absent) : 0;
    return engine > absent ? (double)(engine - absent) : 0;
}

static bool is_bucket(uint64_t size, double bucket)
{
    enum { LEAST = 64 << 20 };
    uint64_t set_to = bucket > 0 && bucket < 1e15 ? (uint64_t)bucket : 0;
    return size == set_to || size == set_to << 20 || (size >= LEAST && (size & (size - 1)) == 0);
}

double mt_sync_tensor(const struct mt_device_analysis *d, double bucket)
{
    uint64_t most = 0, half = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i <= d->owners.n; i++) {
            bool failed = i == d->owners.n;
            const struct mt_oom *o =
                failed && d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
            uint64_t size = !failed ? d->owners.p[i].largest : o != NULL ? o->request : 0;
            unsigned phase = !failed     ? d->owners.p[i].attr.phase
                             : o != NULL ? o->attr.phase
                                         : MT_PH_COUNT;
            if (phase != MT_PH_WEIGHT_SYNC || is_bucket(size, bucket))
                continue;
            if (pass == 0)
                most = size > most ? size : most;
            else if (size * 2 == most ||
                     (!failed && size == most && d->owners.p[i].bytes == most + most / 2))
                half = most / 2; /* beside it in the type that is sent */
        }
    return (double)(half != 0 ? half : most);
}
