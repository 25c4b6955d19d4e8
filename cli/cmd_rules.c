/* cmd_rules.c -- the rules as they were loaded, so that every phase and every piece of advice can
 * be traced to its source. */
#include "analysis/advice/advice.h"
#include "analysis/setup/framework.h"
#include "analysis/metrics/metrics.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/rules_load.h"
#include "cli/rules_field.h"
#include "cli/rules_roles.h"
#include "cli/term.h"
#include "render/base/escape.h"
#include "render/base/jsonw.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void put(struct mt_out *o, const char *s) { mt_term(o, s, strlen(s)); }

/* Whether a rule is named on the command line: by its id, or by a contradiction between guides that
 * it explains. */
static bool is_named(const struct mt_cli *c, const struct mt_fix_rule *r)
{
    for (int i = 0; i < c->n_inputs; i++) {
        if (strcasecmp(c->inputs[i], r->id) == 0)
            return true;
        for (uint32_t k = 0; k < r->n_contradictions; k++)
            if (strcasecmp(c->inputs[i], r->contradictions[k].a) == 0)
                return true;
    }
    return false;
}

/* The classes of --phase, as bits: the class of that name, or those that a phase of that name may
 * have. 0 = no such phase. */
static uint32_t classes_of(const char *name)
{
    int class = mt_fix_class_find(name), phase = mt_phase_find(name, strlen(name));
    uint32_t classes = 0;
    if (class >= 0)
        return 1u << class;
    if (phase < 0)
        return 0;
    for (int sub = 0; sub < MT_PH_COUNT; sub++) {
        struct mt_frameworks fw = {.main = MT_FW_NONE};
        struct mt_advice_query q = {.fw = &fw, .phase = MT_PH_UNATTRIBUTED, .sub = MT_PH_NONE};
        bool coarse = mt_phase_is((unsigned)phase, MT_COARSE);
        if (coarse)
            q.phase = (enum mt_phase)phase;
        else
            q.sub = (enum mt_phase)phase;
        if (coarse && !mt_phase_is((unsigned)sub, MT_COARSE))
            q.sub = (enum mt_phase)sub;
        if (mt_advice_class(&q) != MT_FIX_CLASS_COUNT)
            classes |= 1u << mt_advice_class(&q);
    }
    return classes;
}

static bool wanted_fix(const struct mt_cli *c, const struct mt_framework_rules *known,
                       const struct mt_fix_rule *r)
{
    if (c->n_inputs > 0)
        return is_named(c, r);
    if (!r->offered && !c->all)
        return false;
    if (c->phase != NULL && (r->phases & classes_of(c->phase)) == 0)
        return false;
    return c->framework == NULL ||
           (r->frameworks & MT_FW_BIT(mt_framework_find(known, c->framework))) != 0;
}

static bool wanted_phase(const struct mt_cli *c, const struct mt_phase_rule *r)
{
    if (c->n_inputs > 0) {
        for (int i = 0; i < c->n_inputs; i++)
            if (strcmp(c->inputs[i], r->id) == 0)
                return true;
        return false;
    }
    if (c->phase != NULL && (r->phase == NULL || strcmp(r->phase, c->phase) != 0))
        return false;
    if (c->framework == NULL)
        return true;
    return r->framework != NULL && strcmp(r->framework, c->framework) == 0;
}

static void phase_words(uint32_t mask, char *buf, size_t cap)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < MT_FIX_CLASS_COUNT && used < cap; i++)
        if ((mask & (1u << i)) != 0) {
            int n = snprintf(buf + used, cap - used, "%s%s", used > 0 ? "; " : "",
                             mt_fix_class_words((enum mt_fix_class)i));
            used += n > 0 ? (size_t)n : 0;
        }
}

/* "role.logits > 0.05 * live": names are explained once, below all rules. */
static void saving_text(struct mt_out *o, const struct mt_fix_saving *s, int width)
{
    char text[1600];
    (void)snprintf(text, sizeof text, "%s (confidence %s%s%s%s%s)%s%s", s->bytes.text,
                   mt_fix_conf_name(s->conf), s->low.e != NULL ? "; at least " : "",
                   s->low.e != NULL ? s->low.text : "", s->high.e != NULL ? "; at most " : "",
                   s->high.e != NULL ? s->high.text : "", s->note[0] != 0 ? ". " : "", s->note);
    mt_rules_field(o, "saves", text, width);
}

static void line_text(struct mt_out *o, const struct mt_fix_line *l, bool first, int width)
{
    char text[1400];
    mt_rules_field(o, first ? "set" : "", l->text, width);
    if (l->propose.e != NULL) {
        (void)snprintf(text, sizeof text, "%s: %s", l->key, l->propose.text);
        mt_rules_field(o, "  value", text, width);
    }
    if (l->layout != NULL) {
        (void)snprintf(text, sizeof text, "%s as it is set, with %c halved and %c doubled%s%s",
                       l->layout->setting, l->layout->take, l->layout->give,
                       l->layout->names[0] != 0 ? "; of " : "", l->layout->names);
        mt_rules_field(o, "  value", text, width);
    }
    if (l->key_since[0] != 0) {
        (void)snprintf(text, sizeof text, "%s where %s occurs", l->key_since, l->key_frames[0].a);
        mt_rules_field(o, "  newer", text, width);
    }
    if (l->caution[0] != 0) {
        (void)snprintf(text, sizeof text, "%s (said if %s)", l->caution, l->caution_when.text);
        mt_rules_field(o, "  mind", text, width);
    }
    if (l->when.e != NULL)
        mt_rules_field(o, "  if", l->when.text, width);
    if (l->saving != NULL)
        saving_text(o, l->saving, width);
}

static void card_text(struct mt_out *o, const struct mt_fix_card *card, int width)
{
    mt_rules_field(o, "why", card->why, width);
    for (uint32_t i = 0; i < card->n_set; i++)
        line_text(o, &card->set[i], i == 0, width);
    mt_rules_field(o, "if", card->when.e != NULL ? card->when.text : "", width);
    mt_rules_field(o, "unless", card->unless.e != NULL ? card->unless.text : "", width);
    mt_rules_field(o, "current", card->current, width);
    if (card->saving != NULL)
        saving_text(o, card->saving, width);
    mt_rules_field(o, "needs", strcmp(card->constraints, "none") != 0 ? card->constraints : "",
                   width);
    mt_rules_field(o, "costs", strcmp(card->cost, "none") != 0 ? card->cost : "", width);
}

static void fix_text(struct mt_out *o, const struct mt_fix_rule *r, int width)
{
    char words[1200];
    mt_putc(o, '\n');
    put(o, r->id);
    mt_puts(o, "  ");
    put(o, r->card.title);
    mt_putc(o, '\n');
    mt_rules_field(o, "for", r->for_words, width);
    phase_words(r->phases, words, sizeof words);
    mt_rules_field(o, "phases", words, width);
    card_text(o, &r->card, width);
    for (uint32_t i = 0; i < r->n_variants; i++) {
        mt_rules_field(o, "variant", r->variants[i].name, width);
        card_text(o, &r->variants[i], width);
    }
    mt_rules_field(o, "checked", r->checked, width);
    mt_rules_field(o, "no figure", r->no_saving, width);
    for (uint32_t i = 0; i < r->n_contradictions; i++)
        mt_rules_field(o, r->contradictions[i].a, r->contradictions[i].b, width);
    if (!r->offered) {
        mt_rules_field(o, "not given", r->not_offered, width);
        mt_rules_field(o, "instead", r->instead, width);
    }
    mt_rules_field(o, "source", r->source, width);
    if (strncmp(r->file, "fixes/", 6) != 0)
        mt_rules_field(o, "from", r->file, width);
}

static void phase_text(struct mt_out *o, const struct mt_phase_rule *r, int width)
{
    char where[600], how[160];
    put(o, r->id);
    mt_putc(o, '\n');
    snprintf(how, sizeof how, "%s (%s)", r->phase != NULL ? r->phase : "",
             r->framework != NULL ? r->framework : "any");
    mt_rules_field(o, "phase", how, width);
    snprintf(where, sizeof where, "%s %s", r->file_suffix != NULL ? r->file_suffix : "",
             r->function != NULL ? r->function : "");
    mt_rules_field(o, "frame", where[0] == ' ' ? where + 1 : where, width);
    mt_rules_field(o, "note", r->note, width);
    mt_rules_field(o, "source", r->source, width);
    mt_rules_field(o, "status", mt_rules_status(r->status), width);
}

static void phases_text(const struct mt_cli *c, const struct mt_rules *r, struct mt_out *o,
                        int width)
{
    uint32_t n = mt_phase_rules_count(r->phases), shown = 0, methods = 0, names = 0;

    for (uint32_t i = 1; i <= n; i++) {
        const struct mt_phase_rule *p = mt_phase_rule_at(r->phases, i);
        if (!wanted_phase(c, p))
            continue;
        shown++;
        methods += p->level == '*';
        names += p->level == 'A' || p->level == 'N';
    }
    mt_putf(o,
            "%u phase rules: %u frame signatures, %u names of annotations and functions, %u "
            "methods%s\n",
            (unsigned)shown, (unsigned)(shown - methods - names), (unsigned)names,
            (unsigned)methods, c->all ? "" : " (--all lists them)");
    if (c->all) {
        for (uint32_t i = 1; i <= n; i++)
            if (wanted_phase(c, mt_phase_rule_at(r->phases, i))) {
                mt_putc(o, '\n');
                phase_text(o, mt_phase_rule_at(r->phases, i), width);
            }
        return;
    }
    for (uint32_t i = 1; i <= n; i++) { /* counted by framework, in the order of first appearance */
        const struct mt_phase_rule *p = mt_phase_rule_at(r->phases, i);
        uint32_t count = 0;
        bool earlier = false;
        if (!wanted_phase(c, p) || p->framework == NULL)
            continue;
        for (uint32_t k = 1; k <= n; k++) {
            const struct mt_phase_rule *q = mt_phase_rule_at(r->phases, k);
            bool same = q->framework != NULL && strcmp(q->framework, p->framework) == 0;
            earlier |= same && k < i;
            count += same;
            if (earlier)
                break;
        }
        if (!earlier) {
            mt_puts(o, "  ");
            put(o, p->framework);
            mt_putf(o, "%*s%5u\n", (int)(strlen(p->framework) < 20 ? 20 - strlen(p->framework) : 1),
                    "", (unsigned)count);
        }
    }
}

/* Whether `text` uses `name` as a whole name. */
static bool uses(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; text != NULL && (at = strstr(at, name)) != NULL; at++) {
        static const char in_names[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
        if ((at == text || strchr(in_names, at[-1]) == NULL) &&
            (at[n] == 0 || strchr(in_names, at[n]) == NULL))
            return true;
    }
    return false;
}

static bool saving_uses(const struct mt_fix_saving *s, const char *name)
{
    return s != NULL &&
           (uses(s->bytes.text, name) || uses(s->low.text, name) || uses(s->high.text, name));
}

static bool card_uses(const struct mt_fix_card *card, const char *name)
{
    bool any = uses(card->when.text, name) || uses(card->unless.text, name) ||
               saving_uses(card->saving, name);
    for (uint32_t i = 0; i < card->n_set && !any; i++)
        any = uses(card->set[i].when.text, name) || uses(card->set[i].propose.text, name) ||
              saving_uses(card->set[i].saving, name);
    return any;
}

static bool rule_uses(const struct mt_fix_rule *r, const char *name)
{
    bool any = card_uses(&r->card, name);
    for (uint32_t i = 0; i < r->n_variants && !any; i++)
        any = card_uses(&r->variants[i], name);
    return any;
}

static bool is_used(const struct mt_cli *c, const struct mt_rules *r, const char *name)
{
    bool any = false;
    for (uint32_t i = 0; i < mt_fix_rules_count(r->fixes) && !any; i++) {
        const struct mt_fix_rule *rule = mt_fix_rule_at(r->fixes, i);
        any = wanted_fix(c, r->frameworks, rule) && rule_uses(rule, name);
    }
    return any;
}

/* What the names in the conditions and savings of the rules shown mean. */
static void names_text(const struct mt_cli *c, const struct mt_rules *r, struct mt_out *o,
                       int width)
{
    const struct mt_metric_rules *rows = mt_fix_rules_metrics(r->fixes);
    uint32_t n = MT_METRIC_COUNT + mt_metric_rules_count(rows);
    bool first = true;
    for (uint32_t m = 0; m < n; m++) {
        const struct mt_metric_row *row =
            m < MT_METRIC_COUNT ? NULL : mt_metric_row_at(rows, m - MT_METRIC_COUNT);
        const char *name = row != NULL ? row->name : mt_metric_name((enum mt_metric)m);
        if (!is_used(c, r, name))
            continue;
        if (first)
            mt_puts(o, "\nNames (role.X: bytes of that role at the moment that matters; setting.X: "
                       "as the run was set; set.X: the run sets it; named.X: its settings name "
                       "that backend or engine)\n");
        first = false;
        mt_putf(o, "    %s\n", name);
        mt_rules_field(o, "", row != NULL ? row->says : mt_metric_words((enum mt_metric)m), width);
    }
}

static void rules_text(const struct mt_cli *c, const struct mt_rules *r, struct mt_out *o,
                       int width)
{
    uint32_t shown = 0, n = mt_fix_rules_count(r->fixes);
    if (c->n_inputs > 0) {
        for (uint32_t i = 1; i <= mt_phase_rules_count(r->phases); i++)
            if (wanted_phase(c, mt_phase_rule_at(r->phases, i)))
                phase_text(o, mt_phase_rule_at(r->phases, i), width);
        mt_rules_roles_text(c, r->roles, o, width);
        for (uint32_t i = 0; i < n; i++)
            if (wanted_fix(c, r->frameworks, mt_fix_rule_at(r->fixes, i)))
                fix_text(o, mt_fix_rule_at(r->fixes, i), width);
        names_text(c, r, o, width);
        return;
    }
    phases_text(c, r, o, width);
    if (c->phase == NULL)
        mt_rules_roles_text(c, r->roles, o, width);
    for (uint32_t i = 0; i < n; i++)
        shown += wanted_fix(c, r->frameworks, mt_fix_rule_at(r->fixes, i));
    mt_putf(o, "\n%u fix rules%s\n", (unsigned)shown,
            c->all ? "" : " that can be advised (--all lists the others too)");
    for (uint32_t i = 0; i < n; i++)
        if (wanted_fix(c, r->frameworks, mt_fix_rule_at(r->fixes, i)))
            fix_text(o, mt_fix_rule_at(r->fixes, i), width);
}

static void expr_json(struct mt_jsonw *w, const char *key, const struct mt_fix_expr *e)
{
    if (e->e != NULL)
        mt_jw_ks(w, key, e->text);
}

static void saving_json(struct mt_jsonw *w, const struct mt_fix_saving *s)
{
    if (s == NULL)
        return;
    mt_jw_key(w, "saving");
    mt_jw_open(w, '{');
    expr_json(w, "bytes", &s->bytes);
    expr_json(w, "low", &s->low);
    expr_json(w, "high", &s->high);
    mt_jw_ks(w, "confidence", mt_fix_conf_name(s->conf));
    if (s->note[0] != 0)
        mt_jw_ks(w, "note", s->note);
    mt_jw_close(w, '}');
}

static void card_json(struct mt_jsonw *w, const struct mt_fix_card *card)
{
    expr_json(w, "when", &card->when);
    expr_json(w, "unless", &card->unless);
    if (card->current[0] != 0)
        mt_jw_ks(w, "current", card->current);
    saving_json(w, card->saving);
    mt_jw_ks(w, "title", card->title);
    mt_jw_ks(w, "why", card->why);
    mt_jw_ks(w, "constraints", card->constraints);
    mt_jw_ks(w, "cost", card->cost);
    mt_jw_key(w, "set");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < card->n_set; i++) {
        const struct mt_fix_line *l = &card->set[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "syntax", mt_fix_syntax_name(l->syntax));
        mt_jw_ks(w, "key", l->key);
        mt_jw_ks(w, "value", l->value);
        mt_jw_ks(w, "text", l->text);
        expr_json(w, "propose", &l->propose);
        if (l->layout != NULL) {
            const char take[2] = {l->layout->take, 0}, give[2] = {l->layout->give, 0};
            mt_jw_key(w, "layout");
            mt_jw_open(w, '{');
            mt_jw_ks(w, "setting", l->layout->setting);
            mt_jw_ks(w, "take", take);
            mt_jw_ks(w, "give", give);
            mt_jw_ks(w, "names", l->layout->names);
            mt_jw_close(w, '}');
        }
        expr_json(w, "when", &l->when);
        saving_json(w, l->saving);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void fix_json(struct mt_out *o, const struct mt_fix_rule *r)
{
    struct mt_jsonw w;
    mt_jw_init(&w, o, false);
    mt_jw_open(&w, '{');
    mt_jw_ks(&w, "rule", "fix");
    mt_jw_ks(&w, "id", r->id);
    mt_jw_ks(&w, "kind", mt_fix_kind_name(r->kind));
    mt_jw_ks(&w, "frameworks", r->for_words);
    mt_jw_key(&w, "phases");
    mt_jw_open(&w, '[');
    for (int i = 0; i < MT_FIX_CLASS_COUNT; i++)
        if ((r->phases & (1u << i)) != 0)
            mt_jw_s(&w, mt_fix_class_id((enum mt_fix_class)i));
    mt_jw_close(&w, ']');
    card_json(&w, &r->card);
    mt_jw_key(&w, "variants");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < r->n_variants; i++) {
        mt_jw_open(&w, '{');
        mt_jw_ks(&w, "name", r->variants[i].name);
        card_json(&w, &r->variants[i]);
        mt_jw_close(&w, '}');
    }
    mt_jw_close(&w, ']');
    mt_jw_ks(&w, "status", mt_fix_status_name(r->status));
    mt_jw_ks(&w, "checked", r->checked);
    mt_jw_kb(&w, "offered", r->offered);
    mt_jw_ks(&w, "not_offered", r->not_offered);
    mt_jw_ks(&w, "no_saving", r->no_saving);
    mt_jw_key(&w, "contradictions");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < r->n_contradictions; i++) {
        mt_jw_open(&w, '{');
        mt_jw_ks(&w, "id", r->contradictions[i].a);
        mt_jw_ks(&w, "text", r->contradictions[i].b);
        mt_jw_close(&w, '}');
    }
    mt_jw_close(&w, ']');
    mt_jw_ks(&w, "source", r->source);
    mt_jw_ks(&w, "file", r->file);
    mt_jw_close(&w, '}');
    mt_putc(o, '\n');
}

static void phase_json(struct mt_out *o, const struct mt_phase_rule *r)
{
    struct mt_jsonw w;
    const char level[2] = {r->level, '\0'}, status[2] = {r->status, '\0'};
    mt_jw_init(&w, o, false);
    mt_jw_open(&w, '{');
    mt_jw_ks(&w, "rule", "phase");
    mt_jw_ks(&w, "id", r->id);
    mt_jw_ks(&w, "framework", r->framework);
    mt_jw_ks(&w, "level", level);
    mt_jw_ks(&w, "phase", r->phase);
    mt_jw_ks(&w, "file_suffix", r->file_suffix);
    mt_jw_ks(&w, "function", r->function);
    mt_jw_ks(&w, "status", status);
    mt_jw_ks(&w, "note", r->note);
    mt_jw_ks(&w, "source", r->source);
    mt_jw_close(&w, '}');
    mt_putc(o, '\n');
}

static void rules_json(const struct mt_cli *c, const struct mt_rules *r, struct mt_out *o)
{
    for (uint32_t i = 1; (c->all || c->n_inputs > 0) && i <= mt_phase_rules_count(r->phases); i++)
        if (wanted_phase(c, mt_phase_rule_at(r->phases, i)))
            phase_json(o, mt_phase_rule_at(r->phases, i));
    if (c->all || c->n_inputs > 0)
        mt_rules_roles_json(c, r->roles, o);
    for (uint32_t i = 0; i < mt_fix_rules_count(r->fixes); i++)
        if (wanted_fix(c, r->frameworks, mt_fix_rule_at(r->fixes, i)))
            fix_json(o, mt_fix_rule_at(r->fixes, i));
}

static void say_unknown_phase(const char *phase)
{
    struct mt_nearest near = {.word = phase};
    char name[64], classes[400];
    int n = 0;
    for (int i = 0; i < MT_FIX_CLASS_COUNT && n >= 0 && (size_t)n < sizeof classes; i++) {
        mt_nearest_offer(&near, mt_fix_class_id((enum mt_fix_class)i));
        n += snprintf(classes + n, sizeof classes - (size_t)n, "%s%s", i > 0 ? ", " : "",
                      mt_fix_class_id((enum mt_fix_class)i));
    }
    for (int i = 0; i < MT_PH_COUNT; i++)
        mt_nearest_offer(&near, mt_phase_id((enum mt_phase)i));
    mt_printable(name, sizeof name, phase, strlen(phase));
    if (near.best != NULL)
        mt_say("--phase: there is no phase or class '%s' (did you mean %s?)", name, near.best);
    else
        mt_say("--phase: there is no phase or class '%s'; classes are %s; docs/rules-phases.md "
               "lists the phases",
               name, classes);
}

/* An id or a phase that does not exist is a mistake, not an empty list. */
static bool known_words(const struct mt_cli *c, const struct mt_rules *r)
{
    char name[64];
    if (c->phase != NULL && classes_of(c->phase) == 0 &&
        mt_phase_find(c->phase, strlen(c->phase)) < 0) {
        say_unknown_phase(c->phase);
        return false;
    }
    for (int i = 0; i < c->n_inputs; i++) {
        struct mt_cli one = *c;
        bool any = false;
        one.inputs = &c->inputs[i];
        one.n_inputs = 1;
        for (uint32_t k = 0; k < mt_fix_rules_count(r->fixes) && !any; k++)
            any = is_named(&one, mt_fix_rule_at(r->fixes, k));
        for (uint32_t k = 1; k <= mt_phase_rules_count(r->phases) && !any; k++)
            any = wanted_phase(&one, mt_phase_rule_at(r->phases, k));
        if (!any && !mt_rules_is_role_word(r->roles, c->inputs[i])) {
            mt_say("there is no rule '%s'; 'memtrace rules --all' lists all",
                   mt_printable(name, sizeof name, c->inputs[i], strlen(c->inputs[i])));
            return false;
        }
    }
    return true;
}

enum mt_exit mt_cmd_rules(const struct mt_cli *c)
{
    struct mt_cli_rules r;
    struct mt_output out;
    enum mt_exit status = MT_EXIT_FAILED;
    bool paged;
    int width;

    status = mt_cli_rules_load(&r, c);
    if (status != MT_EXIT_OK)
        return status;
    status = MT_EXIT_FAILED;
    if (!known_words(c, &r.rules)) {
        mt_cli_rules_done(&r);
        return MT_EXIT_USAGE;
    }
    width = mt_term_width(1);
    paged = !c->json && !c->no_pager && mt_pager_start();
    if (mt_output_open(&out, NULL, false)) {
        if (c->json)
            rules_json(c, &r.rules, &out.out);
        else
            rules_text(c, &r.rules, &out.out, width);
        status = mt_output_commit(&out, false);
    }
    if (paged)
        mt_pager_stop();
    mt_cli_rules_done(&r);
    return status;
}
