#include "render/view/fleet.h"

#include "render/view/rows.h"
#include "render/view/run.h"

#include "render/view/view.h"

#include <stdio.h>
#include <string.h>

static int copy(char **to, const char *words)
{
    if (words == NULL)
        return 1;
    *to = mt_strndup(words, strlen(words));
    return *to != NULL;
}

/* Steps whose ends are known, the last ones. */
static void put_steps(struct mt_fleet_row *row, const struct mt_role_facts *f)
{
    uint32_t n = 0;
    if (f->steps_are_guessed || f->steps.n != f->n_steps_all)
        return;
    for (uint32_t i = f->steps.n; i-- > 0 && n < MT_FLEET_STEPS;)
        if (f->steps.p[i].whole && f->steps.p[i].t1_ns != 0)
            row->steps_ns[MT_FLEET_STEPS - ++n] = f->steps.p[i].t1_ns;
    memmove(row->steps_ns, row->steps_ns + MT_FLEET_STEPS - n, n * sizeof *row->steps_ns);
    row->n_steps = n;
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
    put_steps(row, &d->roles);
    return copy(&row->place, mt_row_place(r, k, d, place, sizeof place)) &&
           copy(&row->host, k->trace->meta.host) &&
           copy(&row->phase, o != NULL ? MT_PHASE_CELL(o->attr.phase, o->attr.sub) : NULL);
}

/* Settings are those of the run: the same for every rank that was read. */
static void add_settings(struct mt_fleet *f, const struct mt_report *r)
{
    struct mt_setting_row rows[MT_MAX_SETTING_ROWS];
    uint32_t n = mt_setting_rows(r, true, rows, MT_MAX_SETTING_ROWS);
    uint64_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        hash = mt_fleet_setting(hash, rows[i].setting->name, rows[i].hit.value);
        mt_fleet_divide_by(f, rows[i].setting->name, rows[i].hit.value);
    }
    for (uint32_t i = 0; i < f->rows.n; i++)
        f->rows.p[i].settings = hash;
}

static bool has_row(const struct mt_fleet *f, int32_t rank)
{
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.p[i].rank == rank && f->rows.p[i].failed)
            return true;
    return false;
}

/* The failure of which the logs tell, and those of other ranks in the same words. */
static int add_told(struct mt_fleet *f, const struct mt_report *r)
{
    const struct mt_logdiag *d = r->diagnosis->logdiag;
    const struct mt_log_file *file;
    const struct mt_log_fact *at;
    if (d == NULL || d->cause == MT_CAUSE_NONE ||
        mt_diagnosis_out_of_memory(r->diagnosis) != MT_YES)
        return 1;
    file = &r->diagnosis->logs->files.p[d->file];
    at = &file->log.facts.p[d->fact];
    if (!mt_log_is_failure(at->kind))
        return 1;
    for (uint32_t i = 0; i < file->log.facts.n; i++) {
        const struct mt_log_fact *o = &file->log.facts.p[i];
        char place[64];
        struct mt_fleet_row *row;
        if (o->kind != at->kind || o->rank < 0 || (o != at && o->rank == at->rank) ||
            has_row(f, o->rank))
            continue;
        (void)snprintf(place, sizeof place, o->gpu >= 0 ? "rank %d, device %d" : "rank %d",
                       (int)o->rank, (int)o->gpu);
        row = mt_fleet_told(f, o->rank, o->gpu, place);
        if (row == NULL)
            return 0;
        row->request = o == at && d->request != MT_LOG_NONE ? d->request : 0;
    }
    return 1;
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
    add_settings(f, r);
    return add_told(f, r) && mt_fleet_finish(f);
}
