/* Settings, lint findings and logs in the terminal report. */
#include "render/text/impl.h"
#include "render/base/escape.h"
#include "render/view/run.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LOG_ROWS = 40 };

static void labelled(struct mt_text *x, const char *label, const char *s)
{
    char line[2048];
    if (s[0] == '\0')
        return;
    (void)snprintf(line, sizeof line, "%s%s", label, s);
    mt_text_wrap(x, "    ", "    ", line);
}

void mt_text_lint(struct mt_text *x, const struct mt_report *r)
{
    if (r->diagnosis->lint == NULL || r->diagnosis->lint->findings.n == 0)
        return;
    mt_text_heading(x, "Check these");
    for (uint32_t i = 0; i < r->diagnosis->lint->findings.n; i++) {
        const struct mt_lint_finding *f = &r->diagnosis->lint->findings.p[i];
        char line[1400];
        (void)snprintf(line, sizeof line, "%s: %s%s%s%s", mt_lint_level_name(f->level), f->sentence,
                       f->where[0] != '\0' ? " (" : "", f->where, f->where[0] != '\0' ? ")" : "");
        mt_text_wrap(x, "  - ", "    ", line);
        labelled(x, "", f->why);
        labelled(x, "Instead: ", f->remedy);
        (void)snprintf(line, sizeof line, "[%s] %s", f->id, f->source);
        mt_text_wrap(x, "    ", "    ", line);
    }
}

void mt_text_logs(struct mt_text *x, const struct mt_report *r)
{
    struct mt_log_row rows[MAX_LOG_ROWS];
    char settles[400];
    uint32_t n;
    if (r->diagnosis->logdiag == NULL || mt_logs_facts(r->diagnosis->logs) == 0)
        return;
    mt_text_heading(x, "Log");
    if (mt_diagnosis_lead(r->diagnosis) != MT_LEAD_LOG && r->diagnosis->logdiag->because[0] != '\0')
        mt_text_wrap(x, "  ", "  ", r->diagnosis->logdiag->because);
    if (mt_log_settles(r, settles, sizeof settles)[0] != '\0')
        mt_text_wrap(x, "  ", "  ", settles);
    n = mt_log_rows(r->diagnosis->logs, rows, MAX_LOG_ROWS);
    for (uint32_t i = 0; i < n; i++) {
        char words[MT_FACT_WORDS], who[96], line[900], lead[40];
        const struct mt_log_fact *f = rows[i].fact;
        mt_log_who(who, f);
        (void)snprintf(lead, sizeof lead, "%c%10llu  ", rows[i].is_failure ? '!' : ' ',
                       (unsigned long long)f->line);
        (void)snprintf(line, sizeof line, "%s%s%.200s%s%s", who, who[0] != '\0' ? ": " : "",
                       r->diagnosis->logs->files.n > 1 ? rows[i].file->name : "",
                       r->diagnosis->logs->files.n > 1 ? ": " : "", mt_log_fact_words(words, f));
        mt_text_wrap(x, lead, "             ", line);
    }
    if (n < mt_logs_facts(r->diagnosis->logs)) {
        char a[32];
        mt_putf(x->o, "  %u of %s lines (see --format json)\n", (unsigned)n,
                mt_fmt_count(a, mt_logs_facts(r->diagnosis->logs)));
    }
}

void mt_text_run(struct mt_text *x, const struct mt_report *r)
{
    struct mt_setting_row rows[MT_MAX_SETTING_ROWS];
    uint32_t n = mt_setting_rows(r, false, rows, MT_MAX_SETTING_ROWS);
    if (n == 0)
        return;
    mt_text_heading(x, "Settings of the run");
    for (uint32_t i = 0; i < n; i++) {
        char line[1400];
        (void)snprintf(line, sizeof line, "%s: %.200s   (%.300s, %.200s)", rows[i].setting->words,
                       rows[i].value, rows[i].key, rows[i].where);
        mt_text_wrap(x, "  ", "    ", line);
    }
}
