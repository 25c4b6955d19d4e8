/* The run: settings, lint findings, logs, and what limits the trust in all of it. */
#include "render/sections/impl.h"

#include "parser/base/mem.h"
#include "render/view/rows.h"
#include "render/view/run.h"

#include <errno.h>
#include <stdio.h>

void mt_section_lint(struct mt_sink *k, const struct mt_report *r)
{
    if (r->diagnosis->lint == NULL || r->diagnosis->lint->findings.n == 0)
        return;
    mt_heading(k, "Check these", "Check these");
    for (uint32_t i = 0; i < r->diagnosis->lint->findings.n; i++) {
        const struct mt_lint_finding *f = &r->diagnosis->lint->findings.p[i];
        MT_ROW(k, "  - |{0}: {1}[ ({2})]\n    |{3}\n    |Instead: {4}\n    |[[{5}] {6}",
               "- {0}: {1}[ ({2})] {4}\n", mt_lint_level_name(f->level), f->sentence, f->where,
               f->why, f->remedy, f->id, f->source);
    }
    k->end(k);
}

void mt_section_log(struct mt_sink *k, const struct mt_report *r)
{
    enum { MAX_ROWS = 40 };
    struct mt_log_row rows[MAX_ROWS];
    char settles[400];
    uint32_t n;
    if (r->diagnosis->logdiag == NULL || mt_logs_facts(r->diagnosis->logs) == 0)
        return;
    mt_heading(k, "Log", NULL);
    MT_ROW(k, "  |{0}\n  |{1}", NULL,
           mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG ? NULL : r->diagnosis->logdiag->because,
           mt_log_settles(r, settles, sizeof settles));
    MT_ROW0(k, NULL, "| log line | who | what |\n|---:|---|---|\n");
    n = mt_log_rows(r->diagnosis->logs, rows, mt_most(k, MAX_ROWS, 16));
    for (uint32_t i = 0; i < n; i++) {
        char words[MT_FACT_WORDS], who[96], line[24];
        const struct mt_log_fact *f = rows[i].fact;
        (void)snprintf(line, sizeof line, "%llu", (unsigned long long)f->line);
        MT_ROW(k, "{0:=}{1:>10}  |[{2}: ][{3:.200}: ]{4}", "| {1} | {2} | {4} |\n",
               rows[i].is_failure ? "!" : " ", line, mt_log_who(who, f),
               r->diagnosis->logs->files.n > 1 ? rows[i].file->name : NULL,
               mt_log_fact_words(words, f));
    }
    k->end(k);
    if (n < mt_logs_facts(r->diagnosis->logs))
        MT_ROW(k, "  {0} of {1} lines (see --format json)", NULL, MT_COUNT(n),
               MT_COUNT(mt_logs_facts(r->diagnosis->logs)));
}

void mt_section_settings(struct mt_sink *k, const struct mt_report *r)
{
    struct mt_setting_row rows[MT_MAX_SETTING_ROWS];
    uint32_t n = mt_setting_rows(r, false, rows, MT_MAX_SETTING_ROWS);
    if (n == 0)
        return;
    mt_heading(k, "Settings of the run", NULL);
    MT_ROW0(k, NULL, "| setting | value | set as | where |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < n; i++)
        MT_ROW(k, "  >4|{0}: {1:.200}   ({2:.300}, {3:.200})",
               "| {0} | {1:`200} | {2:`200} | {3} |\n", rows[i].setting->words, rows[i].value,
               rows[i].key, rows[i].where);
    k->end(k);
}

void mt_section_caveats(struct mt_sink *k, const struct mt_report *r)
{
    struct mt_caveat *cav = mt_calloc(MT_MAX_CAVEATS, sizeof *cav);
    unsigned n;
    if (cav == NULL) {
        k->o->error = k->o->error != 0 ? k->o->error : ENOMEM;
        return;
    }
    n = mt_caveats(r, mt_diagnosis_rank(r->diagnosis), cav, mt_most(k, MT_MAX_CAVEATS, 64));
    if (n != 0)
        mt_heading(k, "Data quality", NULL);
    for (unsigned i = 0; i < n; i++)
        MT_ROW(k, "  - |{0}", "- {0}\n", cav[i].text);
    k->end(k);
    mt_free(cav);
}
