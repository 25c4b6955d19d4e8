/* metrics_leak.c -- growth from step to step by role; what earlier rounds or phases left behind. */
#include "analysis/metrics_leak.h"

#include "analysis/cause.h"

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
        if (w->fits && (strcmp(w->id, "no_kept") == 0 || strcmp(w->id, "no_residue") == 0))
            return (double)w->freed;
    }
    return 0;
}

double mt_engine_held(const struct mt_device_analysis *d, double *least, bool *sure)
{
    const struct mt_role_facts *f = &d->roles;
    uint64_t cache = f->at_focus[MT_ROLE_KV_CACHE], engine = cache + f->at_focus[MT_ROLE_ENGINE_WEIGHTS];
    uint64_t visible = d->focus.reserved + (d->focus_is_oom && d->ooms.n != 0 ? d->ooms.p[0].device_free : 0);
    uint64_t absent = d->capacity != 0 && visible > d->capacity ? visible - d->capacity : 0;
    *sure = !mt_engine_is_private(f) || d->capacity != 0;
    *least = *sure && cache > absent ? (double)(cache - absent) : 0;
    return engine > absent ? (double)(engine - absent) : 0;
}
