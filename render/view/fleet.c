#include "render/view/fleet.h"

#include "render/view/rows.h"

#include "render/view/view.h"

#include <string.h>

static int copy(char **to, const char *words)
{
    if (words == NULL)
        return 1;
    *to = mt_strndup(words, strlen(words));
    return *to != NULL;
}

static int add(struct mt_fleet *f, const struct mt_report *r, const struct mt_rank *k,
               const struct mt_device_analysis *d)
{
    struct mt_fleet_row *row = mt_fleet_add(f);
    const struct mt_oom *o = d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    bool peak = mt_row_has_peak(d);
    char place[256];
    if (row == NULL)
        return 0;
    row->rank = k->trace->meta.rank;
    row->device = d->kind == MT_DEV_CUDA ? d->ordinal : -1;
    row->known = !mt_state_unknown(d);
    row->live = peak ? d->live_peak : d->focus.live;
    row->reserved = peak ? d->reserved_peak : d->reserved_end;
    row->capacity = d->capacity;
    row->first_ns = d->first_ns;
    row->last_ns = d->last_ns;
    row->failed = o != NULL;
    if (o != NULL) {
        row->failed_ns = o->time_ns;
        row->request = o->request;
    }
    memcpy(row->roles, d->roles.at_focus, sizeof row->roles);
    return copy(&row->place, mt_row_place(r, k, d, place, sizeof place)) &&
           copy(&row->phase, o != NULL ? MT_PHASE_CELL(o->attr.phase, o->attr.sub) : NULL);
}

int mt_report_fleet(struct mt_fleet *f, const struct mt_report *r)
{
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++) {
        const struct mt_rank *k = &r->diagnosis->ranks.p[i];
        for (uint32_t j = 0; j < k->analysis->devices.n; j++)
            if (!add(f, r, k, &k->analysis->devices.p[j]))
                return 0;
    }
    return mt_fleet_finish(f);
}
