/* "advice", "advice_settled", "after" and "tried" of the JSON report (docs/json.md). */
#include "render/json/impl.h"
#include "render/view/diagnosis.h"

static void settled(struct mt_jsonw *w, const struct mt_advice_list *list)
{
    static const char *const why[] = {"", "end", "set", "finding", "clash"};
    for (uint32_t i = 0; list != NULL && i < list->settled.n; i++) {
        const struct mt_settled *s = &list->settled.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", s->rule->id);
        mt_jw_ks(w, "title", s->card->title);
        mt_jw_ks(w, "why", why[s->why]);
        mt_jw_ks(w, "current", s->current);
        mt_jw_close(w, '}');
    }
}

static void tried(struct mt_jsonw *w, const struct mt_diagnosis *d)
{
    const struct mt_lint *l = d->tried_lint;
    mt_jw_open(w, '{');
    mt_jw_key(w, "settings");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->tried.n; i++) {
        const struct mt_tried *t = &d->tried.p[i];
        char words[MT_SETTLED_WORDS];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "key", t->key);
        mt_jw_ks(w, "value", t->value);
        mt_jw_ks(w, "answer", mt_tried_id(t->why));
        mt_jw_ks(w, "sentence", mt_tried_words(words, t));
        mt_jw_ks(w, "rule", t->advice.rule != NULL ? t->advice.rule->id : NULL);
        mt_jw_ks(w, "current", t->advice.current);
        mt_json_saving(w, &t->advice.saving, "saving_bytes", "saving_low_bytes",
                       "saving_high_bytes");
        mt_jw_ks(w, "saving_confidence",
                 t->advice.saving.known ? mt_fix_conf_name(t->advice.saving.conf) : NULL);
        mt_jw_known(w, "lacking_bytes", t->advice.fits_known, t->advice.lacking);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_known(w, "needed_bytes", d->tried.needed != 0, d->tried.needed);
    mt_json_after(w, &d->tried.together, NULL);
    mt_jw_key(w, "trips");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; l != NULL && i < l->findings.n; i++) {
        const struct mt_lint_finding *f = &l->findings.p[i];
        if (!mt_diagnosis_trips(d, f))
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", f->id);
        mt_jw_ks(w, "level", mt_lint_level_name(f->level));
        mt_jw_ks(w, "sentence", f->sentence);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}

static void advice(struct mt_jsonw *w, const struct mt_report *r)
{
    char note[MT_ADVICE_NOTE];
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    enum mt_phase phase, sub;
    mt_diagnosis_advised_phase(r->diagnosis, &phase, &sub);
    for (uint32_t i = 0; i < 2 * n; i++) { /* in the order to try: what is on top goes first */
        const struct mt_advice *d = &list[i < n ? i : i - n];
        if (d->is_top != (i < n))
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "id", d->rule->id);
        mt_jw_kb(w, "top", d->is_top);
        mt_json_phase(w, phase, sub);
        mt_jw_ks(w, "kind", mt_fix_kind_name(d->rule->kind));
        mt_jw_ks(w, "title", d->card->title);
        mt_jw_ks(w, "why", d->card->why);
        mt_jw_key(w, "set");
        mt_jw_open(w, '[');
        for (uint32_t l = 0; l < d->card->n_set; l++) {
            if ((d->lines >> l & 1) == 0)
                continue;
            mt_jw_open(w, '{');
            mt_jw_ks(w, "text", mt_advice_line(d, l));
            mt_jw_ks(w, "key", mt_advice_key(d, l));
            mt_jw_ks(w, "value", mt_advice_value(d, l));
            mt_jw_ks(w, "syntax", mt_fix_syntax_name(d->card->set[l].syntax));
            mt_jw_ks(w, "note", mt_advice_note(d, l, note)[0] ? note : NULL);
            mt_jw_close(w, '}');
        }
        mt_jw_close(w, ']');
        mt_jw_ks(w, "current", d->current);
        mt_jw_ks(w, "proposed", d->proposed);
        mt_jw_ks(w, "moves",
                 d->card->moves != MT_FIX_EITHER ? mt_fix_way_name(d->card->moves) : NULL);
        mt_jw_known(w, "lacking_bytes", d->fits_known, d->lacking);
        mt_jw_key(w, "left_open");
        if (d->fits_known)
            mt_jw_b(w, d->left_open);
        else
            mt_jw_null(w);
        mt_jw_known(w, "enough_parts", d->parts != 0, d->parts);
        mt_jw_ks(w, "only_if", d->only_if);
        mt_json_saving(w, &d->saving, "saving_bytes", "saving_low_bytes", "saving_high_bytes");
        mt_jw_ks(w, "saving_confidence", d->saving.known ? mt_fix_conf_name(d->saving.conf) : NULL);
        mt_jw_ks(w, "saving_note",
                 d->saving_of != NULL && d->saving_of->note[0] != 0 ? d->saving_of->note : NULL);
        mt_jw_ks(w, "constraints", d->card->constraints);
        mt_jw_ks(w, "cost", d->card->cost);
        mt_jw_ks(w, "source", d->rule->source);
        mt_jw_close(w, '}');
    }
}

void mt_json_advice(struct mt_jsonw *w, const struct mt_report *r)
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    mt_jw_key(w, "advice");
    mt_jw_open(w, '[');
    advice(w, r);
    mt_jw_close(w, ']');
    mt_jw_key(w, "advice_settled");
    mt_jw_open(w, '[');
    settled(w, mt_diagnosis_advice_list(r->diagnosis));
    mt_jw_close(w, ']');
    if (k != NULL)
        mt_json_after(w, mt_diagnosis_combined(r->diagnosis), k->analysis);
    if (r->diagnosis->tried.n != 0) {
        mt_jw_key(w, "tried");
        tried(w, r->diagnosis);
    }
}
