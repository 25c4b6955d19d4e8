/* log/model.c -- what the run's settings say that its model takes of a card, where no recording
 * shows it. */
#include "analysis/log/diagnose.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/layout.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "13" of "/models/my-13b-chat", "3" of "$llama3b_path": the size that a name has in it. 0 = none,
 * or one of "8x7B". */
static double billions(const char *name)
{
    const char *slash = strrchr(name, '/');
    for (const char *p = slash != NULL ? slash + 1 : name; *p != '\0'; p++) {
        double n = 0, place = 1;
        const char *first = p;
        if (!is_digit(*p))
            continue;
        for (; is_digit(*p) || (*p == '.' && place >= 1 && is_digit(p[1])); p++) {
            if (*p == '.')
                place = 0.1;
            else if (place >= 1)
                n = n * 10 + (*p - '0');
            else
                n += (*p - '0') * place, place /= 10;
        }
        if ((*p == 'b' || *p == 'B') && !is_word(p[1]) && n >= 0.1 && n < 2000)
            return first > name && first[-1] == 'x' ? 0 : n;
        p--;
    }
    return 0;
}

/* Names round: nine tenths are there for certain. */
static double by_size(const struct mt_runconf *conf)
{
    struct mt_runconf_hit hit;
    if (!mt_runconf_find(conf, "model_path", &hit) || hit.entry == NULL || hit.entry->value == NULL)
        return 0;
    return billions(hit.entry->value) * 0.9e9;
}

/* FSDP is what such a framework runs on unless its settings name another backend. */
static bool is_fsdp_by_default(const struct mt_frameworks *fw, const struct mt_runconf *conf)
{
    uint64_t named = mt_run_names(conf);
    for (int f = 1; f < mt_framework_count(fw->rules); f++)
        if ((named >> f & 1) != 0 && strcmp(mt_framework_at(fw->rules, f)->one_of, "backend") == 0)
            return (mt_framework_at(fw->rules, f)->parts & MT_PART_FSDP2) != 0;
    return (mt_framework_at(fw->rules, fw->main)->traits & MT_FWT_FSDP_ALONE) != 0 &&
           (fw->parts & MT_PART_CORE) == 0;
}

/* Parameters and gradients in the type of the parameters, and the two moments of Adam, which
 * trains where the settings name no other. */
static double states(const struct mt_run_shape *s, const struct mt_runconf *conf, double params)
{
    bool is_named = mt_run_word(conf, "optimizer") != NULL;
    double moments = s->optim.why == NULL ? s->optim.tensors : 2;
    if (s->layout != MT_LAYOUT_SAME || !s->sharded || s->shards < 1 || s->elem <= 0 || s->lora ||
        s->params_on_host || (s->optim.why != NULL && is_named))
        return 0;
    return params * s->elem * (2 + moments) / s->shards;
}

bool mt_logdiag_model(struct mt_logdiag *d, const struct mt_frameworks *fw,
                      const struct mt_log_place *place, const struct mt_runconf *conf)
{
    struct mt_run_shape s;
    struct mt_frameworks own = *fw;
    struct mt_trace *none = NULL;
    double params;
    if (conf == NULL || !conf->any)
        return true;
    if (place == NULL && (none = mt_trace_new()) == NULL)
        return false;
    if (is_fsdp_by_default(fw, conf))
        own.parts |= MT_PART_FSDP2;
    mt_run_shape_make(&s, place != NULL ? place->trace : none, &own, conf);
    params = s.params > 0 ? s.params : by_size(conf);
    d->model.params = params;
    d->model.states = states(&s, conf, params);
    mt_trace_free(none);
    return true;
}
