/* advice/fit.c -- which rules fit a verdict, and which of a card's lines. */
#include "analysis/advice/fit.h"

#include "analysis/base/frames.h"
#include "analysis/base/glob.h"
#include "analysis/metrics/metrics.h"
#include "analysis/metrics/rules.h"
#include "analysis/setup/keys.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <string.h>

/* Class of a phase or of what happens inside one, + 1; 0 = says nothing. */
enum { MT_FIX_NONE = -1 };
#define IS(class) (uint8_t)(MT_FIX_##class + 1)
static const uint8_t class_of[MT_PH_COUNT] = {
#define MT_PHASE(N, id, words, remedies, model, kinds) [MT_PH_##N] = IS(remedies),
#include "analysis/base/phases.def"
#undef MT_PHASE
};

/* Whose pass a phase is: bits of enum mt_fix_role, 0 = not known. */
enum { MT_FIX_ANY = 0 };
static const uint8_t model_of[MT_PH_COUNT] = {
#define MT_PHASE(N, id, words, remedies, model, kinds) [MT_PH_##N] = MT_FIX_##model,
#include "analysis/base/phases.def"
#undef MT_PHASE
};

bool mt_fit_is(const struct mt_advice_query *q, enum mt_metric which)
{
    const char *name = mt_metric_name(which);
    return q->metrics != NULL && mt_metric_get(q->metrics, name, strlen(name)).v > 0;
}

enum mt_fix_class mt_advice_class(const struct mt_advice_query *q)
{
    uint8_t coarse = class_of[q->phase], sub = class_of[q->sub];

    if (mt_cause_main(q->cause) == MT_CAUSE_HOST)
        return MT_FIX_HOST_MEMORY;
    if (sub == IS(RESULTS)) /* whatever pass they are of, it is over */
        return MT_FIX_RESULTS;
    if (q->sub == MT_PH_BACKWARD && mt_fit_is(q, MT_METRIC_gradients_dominate))
        sub = IS(BACKWARD);
    if (coarse == 0 && mt_fit_is(q, MT_METRIC_inference_only) &&
        (sub == IS(FORWARD_BACKWARD) || sub == IS(LOSS)))
        sub = IS(LOGP);
    /* Inside training the sub-phase decides. Forward-only passes have one set of remedies, whatever
     * happens inside, but loading the model for one is a switch and a collective is a collective.
     */
    if (coarse == 0 || (mt_phase_is(q->phase, MT_TRAINS) && sub != 0) ||
        (coarse == IS(LOGP) && (sub == IS(SWITCH) || sub == IS(NCCL))))
        coarse = sub;
    return coarse != 0 ? (enum mt_fix_class)(coarse - 1) : MT_FIX_CLASS_COUNT;
}

static bool has_any_frame(const struct mt_trace *t, const struct mt_fix_pair *frames, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (mt_trace_has_frame(t, frames[i].a, frames[i].b))
            return true;
    }
    return false;
}

/* What the run was set to, "*tcmalloc*" being anything with that in it, "*" anything. A snapshot
 * says its allocator's settings itself: those of the run count only where there is none. */
static bool was_set(const struct mt_advice_query *q, const struct mt_fix_pair *s)
{
    const char *value = q->conf != NULL ? mt_runconf_get(q->conf, s->a) : NULL;
    char part[64];
    size_t n = strlen(s->b);
    if (value == NULL || strcmp(s->b, "*") == 0)
        return value != NULL;
    if (n < 3 || s->b[0] != '*' || s->b[n - 1] != '*')
        return mt_metric_get(q->metrics, "recorded", 8).v <= 0 && mt_runconf_is_true(s->b) &&
               mt_runconf_is_true(value);
    if (n - 2 >= sizeof part)
        return false;
    memcpy(part, s->b + 1, n - 2);
    part[n - 2] = 0;
    return strstr(value, part) != NULL;
}

/* What the allocator says of itself. Segments that can expand prove the setting where an old
 * snapshot does not record it. */
static bool has_setting(const struct mt_trace *t, const struct mt_fix_pair *s)
{
    if (t == NULL)
        return false;
    for (uint32_t i = 0; i < t->settings.n; i++) {
        const char *key = mt_str(t, t->settings.p[i].key), *dot = strrchr(key, '.');
        if ((strcmp(key, s->a) == 0 || (dot != NULL && strcmp(dot + 1, s->a) == 0)) &&
            mt_same_word(mt_str(t, t->settings.p[i].value), s->b))
            return true;
    }
    if (strcmp(s->a, "expandable_segments") != 0 || !mt_same_word(s->b, "True"))
        return false;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        if (t->segments.p[i].is_expandable && !t->segments.p[i].is_host)
            return true;
    }
    return false;
}

/* The setting is one that the pattern names, or the line reads so. */
static bool is_named(const struct mt_advice_query *q, const struct mt_fix_line *l,
                     const char *pattern)
{
    char small[256];
    size_t n = 0;
    if (strchr(pattern, '*') == NULL)
        return q->conf != NULL && l->key[0] != '\0' && mt_runconf_has_key(q->conf, pattern, l->key);
    for (; n < sizeof small && l->text[n] != '\0'; n++) {
        char c = l->text[n];
        small[n] = (char)(c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c | 32 : c);
    }
    return mt_glob(pattern, small, n);
}

/* "leave out --x", "x=False": that x is on is the reason for the line, none against it. */
static bool takes_out(const struct mt_fix_line *l)
{
    return strncmp(l->text, "leave out ", 10) == 0 || strncmp(l->text, "without ", 8) == 0 ||
           (l->key[0] != '\0' && l->value != NULL && mt_runconf_is_false(l->value));
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* What a line types, in words as texts are asked for them: the last part of its key, or the
 * function that it calls. Short keys are words of the language. false = it has no such name. */
static bool name_of(char words[64], const struct mt_fix_line *l)
{
    enum { SHORTEST = 10 };
    const char *dot = strrchr(l->key, '.'), *call = strchr(l->text, '('),
               *name = dot != NULL ? dot + 1 : l->key + strspn(l->key, "-");
    size_t n = strlen(name), k = 0;
    if (n == 0 && call != NULL) {
        for (name = call; name > l->text && is_name_char(name[-1]);)
            name--;
        n = (size_t)(call - name);
    }
    if (n == 0 || n >= 64 || (n < SHORTEST && strcspn(name, "_-") >= n))
        return false;
    for (; k < n; k++)
        words[k] = (char)(name[k] == '_' || name[k] == '-'   ? ' '
                          : name[k] >= 'A' && name[k] <= 'Z' ? name[k] | 32
                                                             : name[k]);
    words[k] = '\0';
    return true;
}

/* The line moves a number of a feature that the run itself has switched off: vllm_* beside
 * use_vllm=False. Of another run's default nothing is known. */
static bool is_of_what_is_off(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    enum { SHORTEST = 3 };
    static const char *const heads[] = {"--use-", "--enable-"};
    const char *dot = strrchr(l->key, '.'),
               *name = dot != NULL ? dot + 1 : l->key + strspn(l->key, "-");
    size_t n = strcspn(name, "_-");
    if (q->conf == NULL || l->moves == MT_FIX_EITHER || n < SHORTEST || name[n] == '\0')
        return false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char flag[64];
        const struct mt_conf_entry *e;
        if (strlen(heads[i]) + n >= sizeof flag)
            return false;
        (void)snprintf(flag, sizeof flag, "%s%.*s", heads[i], (int)n, name);
        e = mt_runconf_look_up_flag(q->conf, flag);
        if (e != NULL && mt_runconf_is_false(e->value))
            return true;
    }
    return false;
}

/* Somebody says of what the line types itself that it is to stay, is refused or did not help; or of
 * a call, which no settings show, that it is there. */
static bool is_kept(const struct mt_fit *p, const struct mt_fix_line *l)
{
    const struct mt_runconf *conf = p->q->conf;
    char words[64];
    return p->is_told && name_of(words, l) &&
           ((p->keeps && conf->keeps(conf->says_of, words)) ||
            (l->key[0] == '\0' && conf->tries(conf->says_of, words)));
}

/* Somebody says that it is on, was tried or is refused. */
static bool was_tried(const struct mt_fit *p, const struct mt_fix_line *l)
{
    if (takes_out(l))
        return false;
    if (is_kept(p, l))
        return true;
    for (uint32_t i = 0; i < p->n_left_out; i++)
        for (const char *const *w = p->left_out[i]; *w != NULL; w++)
            if (is_named(p->q, l, *w))
                return true;
    return false;
}

/* What the bytes of a trace show is known better than what somebody says. */
static void leave_out(struct mt_fit *p)
{
    const struct mt_metric_rules *rows = mt_fix_rules_metrics(p->q->rules);
    if (p->q->metrics == NULL || p->q->conf == NULL || p->q->conf->tries == NULL ||
        mt_metrics_have_roles(p->q->metrics))
        return;
    p->is_told = true;
    p->keeps = p->q->conf->keeps != NULL && p->q->conf->keeps(p->q->conf->says_of, "*");
    for (uint32_t i = 0; i < mt_metric_rules_count(rows); i++) {
        const struct mt_metric_row *row = mt_metric_row_at(rows, i);
        if (row->leaves_out != NULL && p->n_left_out < MT_FIT_LEFT_OUT &&
            mt_metric_get(p->q->metrics, row->name, strlen(row->name)).v > 0)
            p->left_out[p->n_left_out++] = row->leaves_out;
    }
}

/* What only goes with another line is no change without one. */
static uint64_t with_a_main(const struct mt_fix_card *card, uint64_t lines)
{
    for (uint32_t i = 0; i < card->n_set; i++)
        if ((lines >> i & 1) != 0 && !card->set[i].goes_with)
            return lines;
    return 0;
}

/* The lines of a card in the words of this framework: its own where there are some, PyTorch's and
 * the engine's only for jobs without a framework of their own, since a framework hides those calls.
 */
uint64_t mt_fit_lines(const struct mt_fit *p, const struct mt_fix_card *card, uint32_t classes)
{
    uint64_t fits = 0, named[3] = {0, 0, 0}, free_for_all = 0;
    uint64_t who[3] = {p->main, p->engines, MT_FW_BIT(mt_framework_plain(p->fw))};
    int n_who = p->is_plain && !mt_framework_is_program(p->fw, p->q->fw->main) ? 3 : 1;

    for (uint32_t i = 0; i < card->n_set; i++) {
        const struct mt_fix_line *l = &card->set[i];
        if ((l->phases != 0 && (l->phases & classes) == 0) || !mt_advice_line_holds(p->q, l) ||
            was_tried(p, l) || is_of_what_is_off(p->q, l))
            continue;
        /* Where the phase does not tell the role, lines for the actor are the better guess than
         * lines for a critic. */
        if (l->roles != 0 && (p->role != 0 ? (l->roles & p->role) == 0 : l->roles == MT_FIX_CRITIC))
            continue;
        fits |= 1ull << i;
        if (l->frameworks == 0)
            free_for_all |= 1ull << i;
        for (int k = 0; k < n_who; k++) {
            if ((l->frameworks & who[k]) != 0)
                named[k] |= 1ull << i;
        }
    }
    for (int k = 0; k < n_who; k++) {
        if (named[k] != 0)
            return with_a_main(card, fits & (named[k] | free_for_all));
    }
    return with_a_main(card, fits & free_for_all);
}

/* A command of the run starts an engine by itself. */
static bool starts_engine(const struct mt_fit *p)
{
    const struct mt_runconf *conf = p->q->conf;
    for (uint32_t i = 0; conf != NULL && i < conf->conf.started.n; i++) {
        mt_fw f = mt_framework_of_start(p->fw, conf->conf.started.p[i]);
        if (f != MT_FW_NONE && mt_framework_at(p->fw, f)->kind == MT_FWK_ENGINE)
            return true;
    }
    return false;
}

/* All that it types are an engine's own flags and calls, and a program runs the engine, which has
 * other names for them or none: "--max-num-seqs" ends an EasyR1 job at its start. */
static bool is_for_engine(const struct mt_fit *p, const struct mt_fix_rule *r)
{
    mt_fw main = p->q->fw->main;
    const struct mt_fix_card *card = &r->card;
    if (main == MT_FW_NONE || mt_framework_at(p->fw, main)->kind > MT_FWK_TUNER ||
        (r->frameworks & ~mt_framework_kind(p->fw, MT_FWK_ENGINE)) != 0 || starts_engine(p))
        return false;
    for (uint32_t i = 0; i < card->n_set; i++)
        if (card->set[i].frameworks != 0 ||
            (card->set[i].syntax != MT_FIX_FLAG && card->set[i].syntax != MT_FIX_PYTHON))
            return false;
    return card->n_set != 0;
}

bool mt_fit_rule(const struct mt_fit *p, const struct mt_fix_rule *r)
{
    if (!r->offered || (r->unless_components & p->seen) != 0 || is_for_engine(p, r))
        return false;
    if ((r->frameworks & (p->main | p->engines | mt_framework_kind(p->fw, MT_FWK_LIBRARY))) == 0)
        return false;
    for (const uint64_t *family = mt_framework_families(p->fw); *family != 0; family++) {
        uint64_t want = r->backends & *family, told = p->told & *family;
        uint64_t seen = told != 0 ? told : p->seen & *family;
        if (seen == 0) /* keys of another would end the job at its start */
            seen = p->usual & *family;
        if (want != 0 && seen != 0 && (want & seen) == 0)
            return false;
    }
    for (uint32_t i = 0; i < r->n_unless_settings; i++) {
        if (has_setting(p->q->trace, &r->unless_settings[i]) ||
            was_set(p->q, &r->unless_settings[i]))
            return false;
    }
    return !has_any_frame(p->q->trace, r->unless_frames, r->n_unless_frames) &&
           (r->n_needs_frames == 0 ||
            has_any_frame(p->q->trace, r->needs_frames, r->n_needs_frames));
}

/* Its own conditions say whether it fits, line by line. */
bool mt_fit_judges(const struct mt_fit *p, const struct mt_fix_card *card)
{
    return mt_metrics_have_roles(p->q->metrics) && card->when.e != NULL;
}

void mt_fit_make(struct mt_fit *p, const struct mt_advice_query *q)
{
    memset(p, 0, sizeof *p);
    p->q = q;
    p->fw = mt_fix_rules_frameworks(q->rules);
    p->main = q->fw->main != MT_FW_NONE ? MT_FW_BIT(q->fw->main) : 0;
    p->usual = q->fw->main != MT_FW_NONE ? mt_framework_at(p->fw, q->fw->main)->usual : 0;
    p->seen = mt_frameworks_seen(q->fw);
    p->told = mt_run_names(q->conf);
    p->engines = p->seen & mt_framework_kind(p->fw, MT_FWK_ENGINE);
    p->column = mt_fix_column(q->rules, q->fw->main);
    p->is_plain = p->column == mt_framework_plain(p->fw);
    p->role = model_of[q->phase];
    leave_out(p);
}
