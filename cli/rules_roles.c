#include "cli/rules_roles.h"
#include "cli/rules_field.h"

#include "analysis/setup/framework.h"
#include "analysis/roles/roles.h"
#include "render/base/escape.h"
#include "render/base/jsonw.h"

#include <stdio.h>
#include <string.h>

static void put(struct mt_out *o, const char *s) { mt_term(o, s, strlen(s)); }

/* "roles" is all of them, "kv_cache" those that give this role. */
static bool means(const char *word, const struct mt_role_rule *r)
{
    return strcmp(word, "roles") == 0 || strcmp(word, r->id) == 0 ||
           strcmp(word, mt_role_id((enum mt_role)r->role)) == 0;
}

bool mt_rules_is_role_word(const struct mt_role_rules *rules, const char *word)
{
    for (uint32_t i = 0; i < mt_role_rules_count(rules); i++) {
        if (means(word, mt_role_rule_at(rules, i)))
            return true;
    }
    return false;
}

bool mt_rules_wants_role(const struct mt_cli *c, const struct mt_role_rule *r)
{
    bool named = c->n_inputs == 0;
    for (int i = 0; i < c->n_inputs && !named; i++)
        named = means(c->inputs[i], r);
    /* A frame has its role in whatever phase it occurs. */
    if (!named || (c->n_inputs == 0 && c->phase != NULL))
        return false;
    return c->framework == NULL || strcmp(r->framework, c->framework) == 0;
}

static void one_text(struct mt_out *o, const struct mt_role_rule *r, int width)
{
    char text[700];
    mt_putc(o, '\n');
    put(o, r->id);
    mt_putc(o, '\n');
    (void)snprintf(text, sizeof text, "%s: %s (%s)", mt_role_id((enum mt_role)r->role),
                   mt_role_words((enum mt_role)r->role), r->framework);
    mt_rules_field(o, "role", text, width);
    if (r->is_cpp)
        (void)snprintf(text, sizeof text, "C++ frames with %s in their name", r->function);
    else
        (void)snprintf(text, sizeof text, "%s %s%s",
                       strcmp(r->file, "*") == 0 ? "any Python file," : r->file, r->function,
                       r->lines == MT_LINES_FIRST  ? ", the first of its lines"
                       : r->lines == MT_LINES_LAST ? ", the last of its lines"
                       : r->at_free                ? ", which lets it go"
                                                   : "");
    mt_rules_field(o, "frame", text, width);
    mt_rules_field(o, "note", r->note, width);
    mt_rules_field(o, "source", r->source, width);
    mt_rules_field(o, "status", mt_rules_status(r->status), width);
    if (r->is_overlay)
        mt_rules_field(o, "from", "the file of --rules", width);
}

static bool asks_for(const struct mt_cli *c, const char *word)
{
    for (int i = 0; i < c->n_inputs; i++) {
        if (strcmp(c->inputs[i], word) == 0)
            return true;
    }
    return false;
}

static void vocabularies(const struct mt_role_rules *rules, struct mt_out *o, int width)
{
    char size[32];
    mt_puts(o, "\nVocabularies by which logits are told from their size\n");
    for (uint32_t i = 0; i < mt_vocabs_count(rules); i++) {
        (void)snprintf(size, sizeof size, "%llu", (unsigned long long)mt_vocab_at(rules, i)->size);
        mt_rules_field(o, size, mt_vocab_at(rules, i)->source, width);
    }
}

void mt_rules_roles_text(const struct mt_cli *c, const struct mt_role_rules *rules,
                         struct mt_out *o, int width)
{
    uint32_t n = mt_role_rules_count(rules), shown = 0, by_role[MT_ROLE_COUNT] = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_role_rule *r = mt_role_rule_at(rules, i);
        if (!mt_rules_wants_role(c, r))
            continue;
        shown++;
        by_role[r->role]++;
    }
    if (c->n_inputs == 0 || asks_for(c, "roles")) {
        mt_putf(o, "%s%u role rules: frames that tell what a tensor is for%s\n",
                c->n_inputs == 0 ? "\n" : "", (unsigned)shown,
                c->all || c->n_inputs > 0 ? "" : " ('memtrace rules roles' lists them)");
        for (int role = 0; role < MT_ROLE_COUNT; role++) {
            if (by_role[role] != 0)
                mt_putf(o, "  %-20s%5u\n", mt_role_id((enum mt_role)role), (unsigned)by_role[role]);
        }
    }
    if (!c->all && c->n_inputs == 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (mt_rules_wants_role(c, mt_role_rule_at(rules, i)))
            one_text(o, mt_role_rule_at(rules, i), width);
    }
    if (c->framework == NULL && c->phase == NULL && (c->n_inputs == 0 || asks_for(c, "roles")))
        vocabularies(rules, o, width);
}

void mt_rules_roles_json(const struct mt_cli *c, const struct mt_role_rules *rules,
                         struct mt_out *o)
{
    static const char *const lines[] = {"any", "first", "last"};
    for (uint32_t i = 0; i < mt_role_rules_count(rules); i++) {
        const struct mt_role_rule *r = mt_role_rule_at(rules, i);
        const char status[2] = {r->status, '\0'};
        struct mt_jsonw w;
        if (!mt_rules_wants_role(c, r))
            continue;
        mt_jw_init(&w, o, false);
        mt_jw_open(&w, '{');
        mt_jw_ks(&w, "rule", "role");
        mt_jw_ks(&w, "id", r->id);
        mt_jw_ks(&w, "framework", r->framework);
        mt_jw_ks(&w, "role", mt_role_id((enum mt_role)r->role));
        mt_jw_ks(&w, "file_suffix", r->file);
        mt_jw_ks(&w, "function", r->function);
        mt_jw_ks(&w, "lines", lines[r->lines <= MT_LINES_LAST ? r->lines : 0]);
        mt_jw_ks(&w, "at", r->at_free ? "free" : "allocation");
        mt_jw_ks(&w, "status", status);
        mt_jw_ks(&w, "note", r->note);
        mt_jw_ks(&w, "source", r->source);
        mt_jw_close(&w, '}');
        mt_putc(o, '\n');
    }
}
