/* json/ranks.c -- "ranks": many ranks as an answer (docs/json.md). */
#include "render/json/ranks.h"

#include <stdio.h>

static void open_list(struct mt_jsonw *w, const char *key)
{
    mt_jw_key(w, key);
    mt_jw_open(w, '[');
}

static void put_row(struct mt_jsonw *w, const struct mt_fleet_row *r)
{
    char settings[24];
    (void)snprintf(settings, sizeof settings, "%016llx", (unsigned long long)r->settings);
    mt_jw_open(w, '{');
    mt_jw_known(w, "rank", r->rank >= 0, (uint64_t)r->rank);
    mt_jw_known(w, "device", r->device >= 0, (uint64_t)r->device);
    mt_jw_ks(w, "place", r->place);
    mt_jw_ks(w, "source", r->source);
    mt_jw_ks(w, "framework", r->framework);
    mt_jw_ks(w, "host", r->host);
    mt_jw_known(w, "group", r->group >= 0, (uint64_t)r->group);
    mt_jw_known(w, "live_peak_bytes", r->known, r->live);
    mt_jw_known(w, "reserved_peak_bytes", r->known, r->reserved);
    mt_jw_known(w, "capacity_bytes", r->capacity != 0, r->capacity);
    mt_jw_kb(w, "out_of_memory", r->failed);
    mt_jw_kb(w, "told", r->told);
    mt_jw_known(w, "failed_time_ns", r->failed_ns != 0, r->failed_ns);
    mt_jw_known(w, "request_bytes", r->request != 0, r->request);
    mt_jw_ks(w, "phase_name", r->phase);
    mt_jw_known(w, "first_time_ns", r->first_ns != 0, r->first_ns);
    mt_jw_known(w, "last_time_ns", r->last_ns != 0, r->last_ns);
    mt_jw_ks(w, "settings_hash", r->settings != 0 ? settings : NULL);
    open_list(w, "step_ends_ns");
    for (uint32_t i = 0; i < r->n_steps; i++)
        mt_jw_u(w, r->steps_ns[i]);
    mt_jw_close(w, ']');
    mt_jw_key(w, "clock_ahead_ns");
    if (r->is_aligned)
        mt_jw_i(w, r->ahead_ns);
    else
        mt_jw_null(w);
    mt_jw_known(w, "clock_within_ns", r->is_aligned, r->clock_within);
    open_list(w, "roles");
    for (int i = 0; i < MT_ROLE_COUNT; i++) {
        if (r->roles[i] == 0)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "role", mt_role_id((enum mt_role)i));
        mt_jw_ku(w, "bytes", r->roles[i]);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}

static void put_extreme(struct mt_jsonw *w, const char *key, const struct mt_fleet *f, uint32_t at)
{
    mt_jw_key(w, key);
    if (f->n_known == 0) {
        mt_jw_null(w);
        return;
    }
    mt_jw_open(w, '{');
    mt_jw_ku(w, "bytes", f->rows.p[at].live);
    mt_jw_ku(w, "row", at);
    mt_jw_close(w, '}');
}

/* null where it is not known, or says nothing of these ranks. */
static void put_layout(struct mt_jsonw *w, const struct mt_fleet *f)
{
    enum { PARTS = 64 }; /* of one dimension: of more nobody reads the table */
    uint32_t size[MT_FLEET_DIMS] = {0};
    mt_jw_key(w, "layout");
    if (f->parts.n == 0) {
        mt_jw_null(w);
        return;
    }
    for (uint32_t i = 0; i < f->parts.n; i++)
        size[f->parts.p[i].dim]++;
    mt_jw_open(w, '{');
    for (int i = 0; i < MT_FLEET_DIMS; i++)
        mt_jw_ku(w, mt_fleet_dim_id((enum mt_fleet_dim)i), size[i] != 0 ? size[i] : 1);
    open_list(w, "parts");
    for (uint32_t i = 0; i < f->parts.n; i++) {
        const struct mt_fleet_part *p = &f->parts.p[i];
        if (size[p->dim] > PARTS)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "dimension", mt_fleet_dim_id(p->dim));
        mt_jw_ku(w, "part", p->at);
        mt_jw_ku(w, "ranks", p->n);
        mt_jw_ku(w, "lowest_bytes", p->low);
        mt_jw_ku(w, "median_bytes", p->median);
        mt_jw_ku(w, "highest_bytes", p->high);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}

static void put_line(void *arg, const char *words) { mt_jw_s(arg, words); }

void mt_json_ranks(struct mt_jsonw *w, const struct mt_fleet *f)
{
    enum { LINES = 8 };
    mt_jw_open(w, '{');
    open_list(w, "says");
    mt_fleet_say(f, LINES, put_line, w);
    mt_jw_close(w, ']');
    put_extreme(w, "lowest", f, f->least);
    put_extreme(w, "median", f, f->median);
    put_extreme(w, "highest", f, f->most);
    open_list(w, "failures");
    for (uint32_t i = 0; i < f->failed.n; i++)
        mt_jw_u(w, f->failed.p[i]);
    mt_jw_close(w, ']');
    open_list(w, "groups");
    for (uint32_t i = 0; i < f->groups.n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ku(w, "rows", f->groups.p[i].n);
        mt_jw_ku(w, "lowest_bytes", f->groups.p[i].low);
        mt_jw_ku(w, "highest_bytes", f->groups.p[i].high);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    open_list(w, "outliers");
    for (uint32_t i = 0; i < f->outliers.n; i++) {
        const struct mt_fleet_outlier *o = &f->outliers.p[i];
        mt_jw_open(w, '{');
        mt_jw_ku(w, "row", o->row);
        mt_jw_ku(w, "median_row", o->median);
        mt_jw_ki(w, "more_bytes", o->more);
        mt_jw_ks(w, "role", o->role >= 0 ? mt_role_id((enum mt_role)o->role) : NULL);
        mt_jw_ki(w, "role_more_bytes", o->role_more);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    put_layout(w, f);
    open_list(w, "problems");
    for (uint32_t i = 0; i < f->problems.n; i++)
        mt_jw_s(w, f->problems.p[i]);
    mt_jw_close(w, ']');
    open_list(w, "rows");
    for (uint32_t i = 0; i < f->rows.n; i++)
        put_row(w, &f->rows.p[i]);
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}
