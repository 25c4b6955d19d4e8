/* Settings, lint findings and logs in the Markdown report. */
#include "render/md/impl.h"
#include "render/base/escape.h"
#include "render/view/run.h"

#include <string.h>

enum { MAX_LOG_ROWS = 16 };

static void md(struct mt_out *o, const char *s) { mt_md(o, s, strlen(s)); }
static void code(struct mt_out *o, const char *s) { mt_md_code(o, s, strnlen(s, 200)); }

static void lint(const struct mt_report *r, struct mt_out *o)
{
    if (r->diagnosis->lint == NULL || r->diagnosis->lint->findings.n == 0)
        return;
    mt_puts(o, "**Check these**\n\n");
    for (uint32_t i = 0; i < r->diagnosis->lint->findings.n; i++) {
        const struct mt_lint_finding *f = &r->diagnosis->lint->findings.p[i];
        mt_putf(o, "- %s: ", mt_lint_level_name(f->level));
        md(o, f->sentence);
        if (f->where[0] != '\0') {
            mt_puts(o, " (");
            md(o, f->where);
            mt_puts(o, ")");
        }
        mt_puts(o, " ");
        md(o, f->remedy);
        mt_puts(o, "\n");
    }
    mt_puts(o, "\n");
}

static void logs(const struct mt_report *r, struct mt_out *o)
{
    struct mt_log_row rows[MAX_LOG_ROWS];
    uint32_t n;
    if (r->diagnosis->logdiag == NULL || mt_logs_facts(r->diagnosis->logs) == 0)
        return;
    n = mt_log_rows(r->diagnosis->logs, rows, MAX_LOG_ROWS);
    mt_puts(o, "| log line | who | what |\n|---:|---|---|\n");
    for (uint32_t i = 0; i < n; i++) {
        char words[MT_FACT_WORDS], who[96];
        mt_putf(o, "| %llu | ", (unsigned long long)rows[i].fact->line);
        md(o, mt_log_who(who, rows[i].fact));
        mt_puts(o, " | ");
        md(o, mt_log_fact_words(words, rows[i].fact));
        mt_puts(o, " |\n");
    }
    mt_puts(o, "\n");
}

static void settings(const struct mt_report *r, struct mt_out *o)
{
    struct mt_setting_row rows[MT_MAX_SETTING_ROWS];
    uint32_t n = mt_setting_rows(r, false, rows, MT_MAX_SETTING_ROWS);
    if (n == 0)
        return;
    mt_puts(o, "| setting | value | set as | where |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < n; i++) {
        mt_puts(o, "| ");
        md(o, rows[i].setting->words);
        mt_puts(o, " | ");
        code(o, rows[i].value);
        mt_puts(o, " | ");
        code(o, rows[i].key);
        mt_puts(o, " | ");
        md(o, rows[i].where);
        mt_puts(o, " |\n");
    }
    mt_puts(o, "\n");
}

void mt_md_run(const struct mt_report *r, struct mt_out *o)
{
    lint(r, o);
    logs(r, o);
    settings(r, o);
}
