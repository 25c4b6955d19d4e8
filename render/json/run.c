/* Settings, lint findings and logs in the JSON report. */
#include "render/json/impl.h"
#include "render/view/run.h"

#include <string.h>

enum { MAX_FACTS = 4096 };

static void size(struct mt_jsonw *w, const char *key, uint64_t v)
{
    mt_jw_known(w, key, v != MT_LOG_NONE, v);
}

static void settings(struct mt_jsonw *w, const struct mt_report *r)
{
    struct mt_setting_row rows[MT_MAX_SETTING_ROWS];
    uint32_t n = mt_setting_rows(r, true, rows, MT_MAX_SETTING_ROWS);
    mt_jw_key(w, "settings");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "setting", rows[i].setting->name);
        mt_jw_ks(w, "value", rows[i].hit.value);
        mt_jw_ks(w, "key", rows[i].key);
        mt_jw_ks(w, "set_in", rows[i].hit.entry->source);
        mt_jw_known(w, "line", rows[i].hit.entry->line != 0, rows[i].hit.entry->line);
        mt_jw_ks(w, "by_model_name", rows[i].hit.model);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void lint(struct mt_jsonw *w, const struct mt_report *r)
{
    mt_jw_key(w, "lint");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; r->diagnosis->lint != NULL && i < r->diagnosis->lint->findings.n; i++) {
        const struct mt_lint_finding *f = &r->diagnosis->lint->findings.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", f->id);
        mt_jw_ks(w, "level", mt_lint_level_name(f->level));
        mt_jw_ks(w, "sentence", f->sentence);
        mt_jw_ks(w, "where", f->where[0] != '\0' ? f->where : NULL);
        mt_jw_ks(w, "why", f->why);
        mt_jw_ks(w, "remedy", f->remedy);
        mt_jw_ks(w, "source", f->source);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void who(struct mt_jsonw *w, const struct mt_log_fact *f)
{
    mt_jw_known(w, "rank", f->rank >= 0, (uint64_t)(f->rank >= 0 ? f->rank : 0));
    mt_jw_known(w, "pid", f->pid >= 0, (uint64_t)(f->pid >= 0 ? f->pid : 0));
    mt_jw_known(w, "device", f->gpu >= 0, (uint64_t)(f->gpu >= 0 ? f->gpu : 0));
}

static void fact(struct mt_jsonw *w, const struct mt_log_fact *f)
{
    char words[MT_FACT_WORDS];
    mt_jw_open(w, '{');
    mt_jw_ku(w, "line", f->line);
    mt_jw_ks(w, "kind", mt_log_kind_name(f->kind));
    mt_jw_kb(w, "failure", mt_log_is_failure(f->kind));
    who(w, f);
    mt_jw_ks(w, "says", mt_log_fact_words(words, f));
    size(w, "torch_reserved_bytes", mt_log_fact_torch(f));
    size(w, "device_used_bytes", mt_log_fact_used(f));
    mt_jw_close(w, '}');
}

static void diagnosis(struct mt_jsonw *w, const struct mt_report *r)
{
    const struct mt_logdiag *d = r->diagnosis->logdiag;
    const struct mt_log_file *file = &r->diagnosis->logs->files.p[d->file];
    bool has_line = d->cause != MT_CAUSE_NONE;
    const struct mt_log_fact *f = has_line ? &file->log.facts.p[d->fact] : NULL;
    mt_jw_key(w, "log_diagnosis");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "cause", mt_cause_log_id(d->cause));
    mt_jw_ks(w, "confidence", d->confidence);
    mt_jw_ks(w, "sentence", d->sentence);
    mt_jw_ks(w, "because", d->because[0] != '\0' ? d->because : NULL);
    mt_jw_ks(w, "input", has_line ? file->name : NULL);
    mt_jw_known(w, "line", has_line, has_line ? f->line : 0);
    mt_jw_ku(w, "failures", d->n_distinct);
    size(w, "request_bytes", d->request);
    size(w, "capacity_bytes", d->capacity);
    size(w, "device_free_bytes", d->free);
    size(w, "torch_allocated_bytes", d->allocated);
    size(w, "torch_reserved_bytes", d->reserved);
    size(w, "torch_unallocated_bytes", d->unallocated);
    size(w, "private_pool_bytes", d->private_pools);
    size(w, "process_bytes", d->this_process);
    size(w, "outside_torch_bytes", d->outside);
    size(w, "other_bytes", d->others);
    size(w, "allowed_bytes", d->allowed);
    mt_jw_close(w, '}');
}

void mt_json_run(struct mt_jsonw *w, const struct mt_report *r)
{
    settings(w, r);
    lint(w, r);
    mt_jw_key(w, "logs");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; r->diagnosis->logs != NULL && i < r->diagnosis->logs->files.n; i++) {
        const struct mt_log_file *f = &r->diagnosis->logs->files.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "input", f->name);
        mt_jw_ku(w, "lines", f->log.n_lines);
        mt_jw_ku(w, "cut_lines", f->log.n_long);
        mt_jw_ks(w, "problem", f->problem);
        mt_jw_key(w, "facts");
        mt_jw_open(w, '[');
        for (uint32_t k = 0; k < f->log.facts.n && k < MAX_FACTS; k++)
            fact(w, &f->log.facts.p[k]);
        mt_jw_close(w, ']');
        mt_jw_ku(w, "facts_left_out",
                 f->log.n_dropped + (f->log.facts.n > MAX_FACTS ? f->log.facts.n - MAX_FACTS : 0));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    if (r->diagnosis->logdiag != NULL)
        diagnosis(w, r);
}
