/* cmd_rules.c -- the rules as they were loaded, so that every phase and every piece of advice can be traced to its source. */
#include "analysis/framework.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/rules_load.h"
#include "cli/term.h"
#include "render/escape.h"
#include "render/jsonw.h"

#include <stdio.h>
#include <string.h>

static void put(struct mt_out *o, const char *s) { mt_term(o, s, strlen(s)); }

static bool wanted_fix(const struct mt_cli *c, const struct mt_fix_rule *r)
{
    if (!r->offered && !c->all)
        return false;
    return c->framework < 0 || (r->frameworks & (UINT64_C(1) << c->framework)) != 0;
}

static bool wanted_phase(const struct mt_cli *c, const struct mt_phase_rule *r)
{
    if (c->framework < 0)
        return true;
    return r->framework != NULL && strcmp(r->framework, mt_framework_id((enum mt_framework)c->framework)) == 0;
}

/* label in a column of its own, the text wrapped beside it */
static void field(struct mt_out *o, const char *label, const char *text, int width)
{
    size_t at = 15;
    bool first = true;
    if (text == NULL || text[0] == '\0')
        return;
    mt_putf(o, "    %-11s", label);
    while (*text != '\0') {
        size_t n = strcspn(text, " \n");
        if (!first && at + 1 + n > (size_t)width) {
            mt_puts(o, "\n               ");
            at = 15;
        } else if (!first) {
            mt_putc(o, ' ');
            at++;
        }
        mt_term(o, text, n);
        at += n;
        first = false;
        text += n;
        text += strspn(text, " \n");
    }
    mt_putc(o, '\n');
}

static void phase_words(uint32_t mask, char *buf, size_t cap)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; i < MT_FIX_CLASS_COUNT && used < cap; i++)
        if ((mask & (1u << i)) != 0) {
            int n = snprintf(buf + used, cap - used, "%s%s", used > 0 ? "; " : "", mt_fix_class_words((enum mt_fix_class)i));
            used += n > 0 ? (size_t)n : 0;
        }
}

static void card_text(struct mt_out *o, const struct mt_fix_card *card, int width)
{
    field(o, "why", card->why, width);
    for (uint32_t i = 0; i < card->n_set; i++)
        field(o, i == 0 ? "set" : "", card->set[i].text, width);
    field(o, "needs", strcmp(card->constraints, "none") != 0 ? card->constraints : "", width);
    field(o, "costs", strcmp(card->cost, "none") != 0 ? card->cost : "", width);
}

static void fix_text(struct mt_out *o, const struct mt_fix_rule *r, int width)
{
    char words[1200];
    mt_putc(o, '\n');
    put(o, r->id);
    mt_puts(o, "  ");
    put(o, r->card.title);
    mt_putc(o, '\n');
    field(o, "for", mt_fix_frameworks_words(r->frameworks, words, sizeof words), width);
    phase_words(r->phases, words, sizeof words);
    field(o, "phases", words, width);
    card_text(o, &r->card, width);
    for (uint32_t i = 0; i < r->n_variants; i++) {
        field(o, "variant", r->variants[i].name, width);
        card_text(o, &r->variants[i], width);
    }
    field(o, "checked", r->checked, width);
    for (uint32_t i = 0; i < r->n_contradictions; i++)
        field(o, "but", r->contradictions[i].b, width);
    if (!r->offered) {
        field(o, "not given", r->not_offered, width);
        field(o, "instead", r->instead, width);
    }
    field(o, "source", r->source, width);
    if (strncmp(r->file, "fixes/", 6) != 0)
        field(o, "from", r->file, width);
}

static void phase_text(struct mt_out *o, const struct mt_phase_rule *r, int width)
{
    char where[600], how[160];
    const char *status = "";
    switch (r->status) {
    case 'G': status = "the function is in the framework's source"; break;
    case 'R': status = "the function was read in an excerpt of the source"; break;
    case 'D': status = "the frame was seen in a recorded snapshot"; break;
    case 'U': status = "from memory: low confidence"; break;
    default: break;
    }
    put(o, r->id);
    mt_putc(o, '\n');
    snprintf(how, sizeof how, "%s (%s)", r->phase != NULL ? r->phase : "", r->framework != NULL ? r->framework : "any");
    field(o, "phase", how, width);
    snprintf(where, sizeof where, "%s %s", r->file_suffix != NULL ? r->file_suffix : "",
             r->function != NULL ? r->function : "");
    field(o, "frame", where[0] == ' ' ? where + 1 : where, width);
    field(o, "note", r->note, width);
    field(o, "source", r->source, width);
    field(o, "status", status, width);
}

static void phases_text(const struct mt_cli *c, const struct mt_rules *r, struct mt_out *o, int width)
{
    uint32_t n = mt_phase_rules_count(r->phases), shown = 0, methods = 0, names = 0;

    for (uint32_t i = 1; i <= n; i++) {
        const struct mt_phase_rule *p = mt_phase_rule_at(r->phases, i);
        if (!wanted_phase(c, p))
            continue;
        shown++;
        methods += p->level == '*';
        names += p->level == 'A';
    }
    mt_putf(o, "%u phase rules: %u frame signatures, %u names of annotations, %u methods%s\n", (unsigned)shown,
            (unsigned)(shown - methods - names), (unsigned)names, (unsigned)methods, c->all ? "" : " (--all lists them)");
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
            mt_putf(o, "%*s%5u\n", (int)(strlen(p->framework) < 20 ? 20 - strlen(p->framework) : 1), "", (unsigned)count);
        }
    }
}

static void rules_text(const struct mt_cli *c, const struct mt_rules *r, struct mt_out *o, int width)
{
    uint32_t shown = 0, n = mt_fix_rules_count(r->fixes);
    phases_text(c, r, o, width);
    for (uint32_t i = 0; i < n; i++)
        shown += wanted_fix(c, mt_fix_rule_at(r->fixes, i));
    mt_putf(o, "\n%u fix rules%s\n", (unsigned)shown, c->all ? "" : " that can be advised (--all lists the others too)");
    for (uint32_t i = 0; i < n; i++)
        if (wanted_fix(c, mt_fix_rule_at(r->fixes, i)))
            fix_text(o, mt_fix_rule_at(r->fixes, i), width);
}

static void card_json(struct mt_jsonw *w, const struct mt_fix_card *card)
{
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
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void fix_json(struct mt_out *o, const struct mt_fix_rule *r)
{
    struct mt_jsonw w;
    char words[600];
    mt_jw_init(&w, o, false);
    mt_jw_open(&w, '{');
    mt_jw_ks(&w, "rule", "fix");
    mt_jw_ks(&w, "id", r->id);
    mt_jw_ks(&w, "kind", mt_fix_kind_name(r->kind));
    mt_jw_ks(&w, "frameworks", mt_fix_frameworks_words(r->frameworks, words, sizeof words));
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
    for (uint32_t i = 1; c->all && i <= mt_phase_rules_count(r->phases); i++)
        if (wanted_phase(c, mt_phase_rule_at(r->phases, i)))
            phase_json(o, mt_phase_rule_at(r->phases, i));
    for (uint32_t i = 0; i < mt_fix_rules_count(r->fixes); i++)
        if (wanted_fix(c, mt_fix_rule_at(r->fixes, i)))
            fix_json(o, mt_fix_rule_at(r->fixes, i));
}

enum mt_exit mt_cmd_rules(const struct mt_cli *c)
{
    struct mt_rules r;
    struct mt_output out;
    enum mt_exit status = MT_EXIT_FAILED;

    if (!mt_rules_load(&r, c))
        return status;
    if (mt_output_open(&out, NULL, false)) {
        if (c->json)
            rules_json(c, &r, &out.out);
        else
            rules_text(c, &r, &out.out, mt_term_width(1));
        status = mt_output_commit(&out, false);
    }
    mt_rules_done(&r);
    return status;
}
