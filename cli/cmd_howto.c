/* cmd_howto.c -- what to type in a framework to get a snapshot or a recording: "howto" of the rows
 * of analysis/rules/frameworks.json. */
#include "analysis/setup/framework.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/rules_load.h"
#include "render/base/escape.h"

#include <string.h>
#include <strings.h>

static bool has_howto(const struct mt_framework *f) { return f->howto->what != NULL; }

static void put(struct mt_out *o, const char *s) { mt_term(o, s, strlen(s)); }

static void put_row(struct mt_out *o, const struct mt_framework *f)
{
    for (const struct mt_fw_howto *h = f->howto; h->what != NULL; h++) {
        put(o, h->what);
        mt_puts(o, ":\n\n");
        for (const char *const *line = h->lines; *line != NULL; line++) {
            mt_puts(o, "    ");
            put(o, *line);
            mt_putc(o, '\n');
        }
        mt_puts(o, "\n  Source: ");
        put(o, h->source);
        mt_puts(o, "\n\n");
    }
}

/* The row that is called so, in any case, by its id or its name; -1 after a message. */
static int find(const struct mt_framework_rules *known, const char *name)
{
    struct mt_nearest near = {.word = name};
    char shown[64];
    for (int i = 0; i < mt_framework_count(known); i++) {
        const struct mt_framework *f = mt_framework_at(known, i);
        if (!has_howto(f))
            continue;
        if (strcasecmp(f->id, name) == 0 || strcasecmp(f->words, name) == 0)
            return i;
        mt_nearest_offer(&near, f->id);
    }
    mt_printable(shown, sizeof shown, name, strlen(name));
    if (near.best != NULL)
        mt_say("howto: nothing is known of '%s' (did you mean %s?)", shown, near.best);
    else
        mt_say("howto: nothing is known of '%s'; 'memtrace howto' lists the names", shown);
    return -1;
}

static void put_names(struct mt_out *o, const struct mt_framework_rules *known)
{
    for (int i = 0; i < mt_framework_count(known); i++) {
        const struct mt_framework *f = mt_framework_at(known, i);
        if (!has_howto(f))
            continue;
        mt_putf(o, "%-14s", f->id);
        put(o, f->words);
        mt_putc(o, '\n');
    }
}

/* Of a library, what works in every job; but for the one that was asked for. */
static void put_common(struct mt_out *o, const struct mt_framework_rules *known, int but)
{
    bool first = true;
    for (int i = 0; i < mt_framework_count(known); i++) {
        const struct mt_framework *f = mt_framework_at(known, i);
        if (i == but || f->kind != MT_FWK_LIBRARY || !has_howto(f))
            continue;
        if (first)
            mt_puts(o, "In every job:\n\n");
        first = false;
        put_row(o, f);
    }
}

enum mt_exit mt_cmd_howto(const struct mt_cli *c)
{
    const struct mt_framework_rules *known;
    struct mt_cli_rules rules;
    struct mt_output out;
    int asked = -1;
    enum mt_exit status = mt_cli_rules_load(&rules, c);
    if (status != MT_EXIT_OK)
        return status;
    known = rules.rules.frameworks;
    if (c->n_inputs > 0 && (asked = find(known, c->inputs[0])) < 0)
        status = MT_EXIT_USAGE;
    else if (!mt_output_open(&out, NULL, false))
        status = MT_EXIT_FAILED;
    if (status == MT_EXIT_OK) {
        if (asked < 0) {
            put_names(&out.out, known);
        } else {
            put_row(&out.out, mt_framework_at(known, asked));
            put_common(&out.out, known, asked);
        }
        status = mt_output_commit(&out, false);
    }
    mt_cli_rules_done(&rules);
    return status;
}
