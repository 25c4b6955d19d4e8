/* What limits the trust in a report, as JSON: docs/json.md, "quality". */
#include "render/json/impl.h"
#include "render/view/view.h"

void mt_json_phase(struct mt_jsonw *w, enum mt_phase phase, enum mt_phase sub)
{
    mt_jw_ks(w, "phase", mt_phase_id(phase));
    mt_jw_ks(w, "sub_phase", sub == MT_PH_NONE ? NULL : mt_phase_id(sub));
    mt_jw_ks(w, "phase_name", MT_PHASE_CELL(phase, sub));
}

void mt_json_rank(struct mt_jsonw *w, const struct mt_trace *t)
{
    mt_jw_key(w, "rank");
    if (t->meta.rank >= 0)
        mt_jw_i(w, t->meta.rank);
    else
        mt_jw_null(w);
}

void mt_json_by_conf(struct mt_jsonw *w, const uint64_t bytes[MT_CONF_COUNT])
{
    mt_jw_key(w, "bytes_by_confidence");
    mt_jw_open(w, '{');
    for (int c = MT_CONF_COUNT - 1; c >= 0; c--)
        mt_jw_ku(w, mt_conf_name((enum mt_conf)c), bytes[c]);
    mt_jw_close(w, '}');
}

static void counted(struct mt_jsonw *w, const char *key, const struct mt_trace *t,
                    const struct mt_counted *c, uint32_t n)
{
    mt_jw_key(w, key);
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < n; i++) {
        mt_jw_open(w, '{');
        mt_jw_key(w, "name");
        mt_jw_str(w, mt_str(t, c[i].name), mt_str_len(t, c[i].name));
        mt_jw_ku(w, "count", c[i].n);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void diagnoses(struct mt_jsonw *w, const struct mt_trace *t)
{
    mt_jw_key(w, "diagnoses");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < t->diags.n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "level", t->diags.p[i].level == MT_DIAG_DAMAGE ? "damage" : "note");
        mt_jw_known(w, "offset", t->diags.p[i].has_offset, t->diags.p[i].offset);
        mt_jw_key(w, "text");
        mt_jw_str(w, mt_str(t, t->diags.p[i].text), mt_str_len(t, t->diags.p[i].text));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void quality_of(struct mt_jsonw *w, const struct mt_rank *k)
{
    const struct mt_trace *t = k->trace;
    mt_jw_open(w, '{');
    mt_jw_ks(w, "input", t->meta.input);
    mt_jw_ks(w, "member", t->meta.member);
    mt_json_rank(w, t);
    mt_jw_kb(w, "damaged", t->damaged);
    mt_jw_key(w, "devices");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < k->analysis->devices.n; i++) {
        const struct mt_device_analysis *d = &k->analysis->devices.p[i];
        const struct mt_device *v = &t->devices.p[d->device];
        mt_jw_open(w, '{');
        mt_jw_ki(w, "device", d->ordinal);
        mt_jw_known(w, "ring_max_entries", v->ring_max_entries != 0, v->ring_max_entries);
        mt_jw_key(w, "ring_overflowed");
        if (v->ring_overflowed < 0)
            mt_jw_null(w);
        else
            mt_jw_b(w, v->ring_overflowed != 0);
        mt_jw_ku(w, "unmatched_frees", d->n_unmatched_frees);
        mt_jw_ku(w, "double_allocations", d->n_double_allocs);
        mt_jw_ku(w, "events_with_stack", v->n_with_stack);
        mt_jw_ku(w, "events_with_time", v->n_with_time);
        mt_jw_ku(w, "unattributed_bytes", d->unattributed_bytes);
        mt_json_by_conf(w, d->by_conf);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_ku(w, "optimizer_annotation_allocations", k->analysis->annotation_checked);
    mt_jw_ku(w, "optimizer_annotation_agreed", k->analysis->annotation_agreed);
    counted(w, "unknown_keys", t, t->unknown_keys.p, t->unknown_keys.n);
    counted(w, "unknown_actions", t, t->unknown_actions.p, t->unknown_actions.n);
    diagnoses(w, t);
    mt_jw_close(w, '}');
}

static void quality_of_driver(struct mt_jsonw *w, const struct mt_trace *t)
{
    mt_jw_open(w, '{');
    mt_jw_ks(w, "input", t->meta.input);
    mt_jw_ks(w, "member", t->meta.member);
    mt_json_rank(w, t);
    mt_jw_kb(w, "damaged", t->damaged);
    diagnoses(w, t);
    mt_jw_close(w, '}');
}

/* "jobs": whether the inputs are of one; nothing where there is nothing to say. */
static void same_job(struct mt_jsonw *w, const struct mt_same_job *j)
{
    if (j == NULL || (j->sentence == NULL && j->elsewhere == NULL && j->doubt == NULL &&
                      j->card == NULL && j->missing == NULL))
        return;
    mt_jw_key(w, "jobs");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "contradiction", j->sentence);
    mt_jw_ks(w, "doubt", j->doubt);
    mt_jw_ks(w, "failed_elsewhere", j->elsewhere);
    mt_jw_ks(w, "other_card", j->card);
    mt_jw_ks(w, "missing_ranks", j->missing);
    mt_jw_key(w, "groups");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < j->groups.n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "files", j->groups.p[i].names);
        mt_jw_ku(w, "n_files", j->groups.p[i].n);
        mt_jw_kb(w, "has_verdict", j->groups.p[i].verdict);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}

void mt_json_quality(struct mt_jsonw *w, const struct mt_report *r)
{
    const struct mt_diagnosis *d = r->diagnosis;
    mt_jw_key(w, "quality");
    mt_jw_open(w, '{');
    mt_jw_kb(w, "damaged", d->quality.damaged);
    mt_jw_ku(w, "ignored_files", d->skipped != NULL ? d->skipped->n_ignored : 0);
    mt_jw_key(w, "ignored");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; d->skipped != NULL && i < d->skipped->ignored.n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "name", d->skipped->ignored.p[i].name);
        mt_jw_ks(w, "why", d->skipped->ignored.p[i].message);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "unreadable");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; d->skipped != NULL && i < d->skipped->unread.n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "name", d->skipped->unread.p[i].name);
        mt_jw_ks(w, "message", d->skipped->unread.p[i].message);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "caveats"); /* the sentences of every other format */
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->quality.caveats.n; i++)
        mt_jw_s(w, d->quality.caveats.p[i]);
    mt_jw_close(w, ']');
    same_job(w, d->same_job);
    mt_jw_key(w, "inputs");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; d->driver != NULL && i < d->driver->drivers.n; i++)
        quality_of_driver(w, d->driver->drivers.p[i]);
    for (uint32_t i = 0; i < d->ranks.n; i++)
        quality_of(w, &d->ranks.p[i]);
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}
