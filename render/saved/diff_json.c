/* A diff for scripts: docs/json.md. */
#include "render/base/jsonw.h"
#include "render/saved/diff.h"

static void put_rows(struct mt_jsonw *w, const struct mt_diff *d, const char *key,
                     const struct mt_compare_rows *rows)
{
    bool is_figure = mt_diff_is_figure(d, rows);
    mt_jw_key(w, key);
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < rows->list.n; i++) {
        const struct mt_compare_row *row = &rows->list.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "label", row->label);
        mt_jw_ks(w, "was", row->was);
        mt_jw_known(w, "first_bytes", row->in[0], row->bytes[0]);
        mt_jw_known(w, "second_bytes", row->in[1], row->bytes[1]);
        if (is_figure && !(row->in[0] && row->in[1]))
            mt_jw_known(w, "change_bytes", false, 0);
        else
            mt_jw_ki(w, "change_bytes", mt_compare_change(row));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void put_side(struct mt_jsonw *w, const char *key, const struct mt_diff_side *s,
                     const char *name)
{
    mt_jw_key(w, key);
    mt_jw_open(w, '{');
    mt_jw_ks(w, "input", name);
    mt_jw_known(w, "peak_bytes", s->has_peak, s->peak);
    mt_jw_known(w, "request_bytes", s->request != 0, s->request);
    mt_jw_key(w, "out_of_memory");
    if (s->ran_out >= 0)
        mt_jw_b(w, s->ran_out == 1);
    else
        mt_jw_null(w);
    mt_jw_ku(w, "ranks", s->n_ranks);
    mt_jw_ku(w, "devices", s->n_devices);
    mt_jw_close(w, '}');
}

static void put_promises(struct mt_jsonw *w, const struct mt_diff *d)
{
    mt_jw_key(w, "promised");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->promises.n; i++) {
        const struct mt_diff_promise *p = &d->promises.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "key", p->key);
        mt_jw_ks(w, "value", p->value);
        mt_jw_ks(w, "second_value", p->now);
        mt_jw_ku(w, "saving_bytes", p->bytes);
        mt_jw_ku(w, "saving_low_bytes", p->low);
        mt_jw_ku(w, "saving_high_bytes", p->high);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "measured_bytes");
    if (d->is_measured)
        mt_jw_i(w, d->measured);
    else
        mt_jw_null(w);
    mt_jw_ks(w, "measured_in", d->is_measured && !d->is_gone ? d->measured_in : NULL);
    mt_jw_ki(w, "measured_reserved_bytes", d->reserved);
    mt_jw_key(w, "fits");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->fits.n; i++) {
        const struct mt_diff_fit *f = &d->fits.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", f->id);
        mt_jw_ks(w, "title", f->title);
        mt_jw_ks(w, "text", f->text);
        mt_jw_ku(w, "saving_bytes", f->bytes);
        mt_jw_ku(w, "saving_low_bytes", f->low);
        mt_jw_ku(w, "saving_high_bytes", f->high);
        mt_jw_kb(w, "reserved", f->is_reserved);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

void mt_diff_json(const struct mt_diff_report *r, struct mt_out *o)
{
    const struct mt_diff *d = r->diff;
    struct mt_jsonw w;
    mt_jw_init(&w, o, true);
    mt_jw_open(&w, '{');
    mt_jw_ku(&w, "schema_version", 1);
    mt_jw_kb(&w, "equal", d->is_equal);
    mt_jw_ks(&w, "sentence", d->sentence.buf);
    put_side(&w, "first", &d->side[0], r->name[0]);
    put_side(&w, "second", &d->side[1], r->name[1]);
    mt_jw_key(&w, "not_alike");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < d->other.n; i++)
        mt_jw_s(&w, d->other.p[i]);
    mt_jw_close(&w, ']');
    put_promises(&w, d);
    mt_jw_key(&w, "settings");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < d->settings.n; i++) {
        const struct mt_diff_setting *s = &d->settings.p[i];
        mt_jw_open(&w, '{');
        mt_jw_ks(&w, "setting", s->name);
        mt_jw_ks(&w, "key", s->key);
        mt_jw_ks(&w, "first", s->value[0]);
        mt_jw_ks(&w, "second", s->value[1]);
        mt_jw_close(&w, '}');
    }
    mt_jw_close(&w, ']');
    put_rows(&w, d, "roles", &d->roles);
    put_rows(&w, d, "phases", &d->phases);
    put_rows(&w, d, "owners", &d->owners);
    put_rows(&w, d, "ranks", &d->ranks);
    put_rows(&w, d, "log", &d->log);
    mt_jw_ku(&w, "rows_left_out",
             (uint64_t)mt_compare_left_out(&d->roles) + mt_compare_left_out(&d->phases) +
                 mt_compare_left_out(&d->owners) + mt_compare_left_out(&d->ranks));
    mt_jw_key(&w, "lint");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < d->lints.n; i++) {
        const struct mt_diff_lint *l = &d->lints.p[i];
        mt_jw_open(&w, '{');
        mt_jw_ks(&w, "id", l->id);
        mt_jw_ks(&w, "level", l->level);
        mt_jw_ks(&w, "sentence", l->sentence);
        mt_jw_kb(&w, "new", l->is_new);
        mt_jw_close(&w, '}');
    }
    mt_jw_close(&w, ']');
    mt_jw_close(&w, '}');
    mt_putc(o, '\n');
}
