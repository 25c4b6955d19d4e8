/* What settings save, alone and together. */
#include "render/json/impl.h"
#include "render/view/choices.h"

void mt_json_saving(struct mt_jsonw *w, const struct mt_saving *s, const char *bytes,
                    const char *low, const char *high)
{
    mt_jw_known(w, bytes, s->known, s->bytes);
    mt_jw_known(w, low, s->known, s->low);
    mt_jw_known(w, high, s->known, s->high);
}

static void choices(struct mt_jsonw *w, const struct mt_analysis *a)
{
    const struct mt_choices *c = &a->choices;
    mt_jw_key(w, "choices");
    mt_jw_open(w, '[');
    for (uint32_t set = 0; set < 1u << c->n; set++) {
        const struct mt_outcome *o = &c->with[set];
        mt_jw_open(w, '{');
        mt_jw_key(w, "rules");
        mt_jw_open(w, '[');
        for (uint32_t i = 0; i < c->n; i++)
            if ((set >> i & 1) != 0)
                mt_jw_s(w, a->advice.p[c->of[i]].rule->id);
        mt_jw_close(w, ']');
        mt_jw_ku(w, "saving_bytes", o->bytes);
        mt_jw_ku(w, "saving_low_bytes", o->low);
        mt_jw_ku(w, "saving_high_bytes", o->high);
        mt_jw_known(w, "lacking_bytes", o->fits_known, o->lacking);
        mt_jw_ku(w, "needed_bytes", mt_outcome_needed(c, set));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

void mt_json_after(struct mt_jsonw *w, const struct mt_combined *c, const struct mt_analysis *a)
{
    mt_jw_key(w, "after");
    if (c == NULL || !c->saving.known) {
        mt_jw_null(w);
        return;
    }
    mt_jw_open(w, '{');
    mt_jw_ku(w, "settings", c->n);
    mt_json_saving(w, &c->saving, "saving_bytes", "saving_low_bytes", "saving_high_bytes");
    mt_jw_ks(w, "saving_confidence", mt_fix_conf_name(c->saving.conf));
    mt_jw_key(w, "fits");
    if (c->fits_known)
        mt_jw_b(w, c->fits);
    else
        mt_jw_null(w);
    mt_jw_ku(w, "needed_bytes", c->needed);
    if (a != NULL)
        choices(w, a);
    mt_jw_ks(w, "sentence", c->sentence);
    mt_jw_close(w, '}');
}
