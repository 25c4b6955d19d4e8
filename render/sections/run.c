/* The run: settings, lint findings, logs, and what limits the trust in all of it. */
#include "render/sections/impl.h"

#include "parser/base/mem.h"
#include "render/view/rows.h"
#include "render/view/run.h"

#include <errno.h>
#include <stdio.h>

void mt_section_lint(struct mt_sink *k, const struct mt_report *r)
{
    enum { FEW_WARNINGS = 2 }; /* so many stand in the page with what to do instead */
    uint32_t n = r->diagnosis->lint != NULL ? r->diagnosis->lint->findings.n : 0;
    if (n == 0)
        return;
    mt_heading(k, "Check these", "Check these");
    for (uint32_t i = 0; i < n; i++) {
        if (i >= mt_most3(k, n, n, n)) { /* of one screen */
            mt_row_more(k, n - i);
            break;
        }
        const struct mt_lint_finding *f = &r->diagnosis->lint->findings.p[i];
        bool is_open =
            f->level == MT_LINT_ERROR || (f->level == MT_LINT_WARNING && n <= FEW_WARNINGS);
        MT_ROW3(k,
                k->is_screen
                    ? "  - |{0}: {1}[ ({2})]"
                    : "  - |{0}: {1}[ ({2})]\n    |{3}\n    |Instead: {4}\n    |[[{5}] {6}",
                "- {0}: {1}[ ({2})] {4}\n",
                "<details class=\"advice\"{7:=}><summary>{8}: {1:w1000}</summary>\n"
                "<dl class=\"fields\">\n[<dt>Where</dt><dd>{2:w1000}</dd>\n]"
                "[<dt>Why</dt><dd>{3:w1000}</dd>\n][<dt>Instead</dt><dd>{4:w1000}</dd>\n]"
                "<dt>Source</dt><dd>{6:w400} <small>({5})</small></dd>\n</dl>\n</details>\n",
                mt_lint_level_name(f->level), f->sentence, f->where, f->why, f->remedy, f->id,
                f->source, is_open ? " open" : NULL,
                f->level == MT_LINT_ERROR     ? "Error"
                : f->level == MT_LINT_WARNING ? "Warning"
                                              : "Note");
    }
    k->end(k);
}

void mt_section_log(struct mt_sink *k, const struct mt_report *r)
{
    enum { MOST = 200 };
    const struct mt_logs *logs = r->diagnosis->logs;
    bool leads = mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG;
    struct mt_log_row rows[MOST];
    char settles[400];
    uint32_t n;
    if (r->diagnosis->logdiag == NULL || mt_logs_facts(logs) == 0 || (k->is_screen && !leads))
        return;
    mt_heading(k, "Log", NULL);
    MT_ROW3(k, "  |{1}\n  |{2}", NULL, "[<p>{0}</p>\n][<p>{1}</p>\n][<p>{2}</p>\n]",
            leads ? NULL : mt_report_log_second(r), leads ? NULL : r->diagnosis->logdiag->because,
            mt_log_settles(r, settles, sizeof settles));
    MT_ROW0(k, NULL, "| log line | who | what |\n|---:|---|---|\n");
    MT_TABLE(k, "Memory lines of the logs", "Line", "Who", "What it says", "#PyTorch reserved",
             "#Device used");
    n = mt_log_rows(logs, rows, mt_most3(k, 40, 16, MOST));
    for (uint32_t i = 0; i < n; i++) {
        char words[MT_FACT_WORDS], who[96], line[24];
        const struct mt_log_fact *f = rows[i].fact;
        uint64_t torch = mt_log_fact_torch(f), used = mt_log_fact_used(f);
        (void)snprintf(line, sizeof line, "%llu", (unsigned long long)f->line);
        (void)mt_log_fact_words(words, f);
        MT_DATA(k, "{0:=}{1:>10}  |[{2}: ][{3:.200}: ]{4}", "| {1} | {2} | {4} |\n",
                rows[i].is_failure
                    ? "<tr><th scope=\"row\">[{3:n120}:]{1}</th><td>{2}</td><td><strong>{4:w}"
                      "</strong></td>{5:t}{6:t}</tr>\n"
                    : "<tr><th scope=\"row\">[{3:n120}:]{1}</th><td>{2}</td><td>{4:w}</td>{5:t}"
                      "{6:t}</tr>\n",
                mt_as_words(rows[i].is_failure ? "!" : " "), mt_as_words(line),
                mt_as_words(mt_log_who(who, f)),
                mt_as_words(logs->files.n > 1 ? rows[i].file->name : NULL), mt_as_words(words),
                mt_known(torch != MT_LOG_NONE, mt_as_bytes(torch), NULL),
                mt_known(used != MT_LOG_NONE, mt_as_bytes(used), NULL));
    }
    k->end(k);
    if (n < mt_logs_facts(logs))
        MT_ROW3(k,
                "  {0} of {1} lines: failures first, the others evenly spaced (see --format json)",
                NULL,
                "<p class=\"note\">{0} of {1} lines: failures first, the others evenly "
                "spaced.</p>\n",
                MT_COUNT(n), MT_COUNT(mt_logs_facts(logs)));
}

void mt_section_settings(struct mt_sink *k, const struct mt_report *r)
{
    struct mt_setting_row rows[MT_MAX_SETTING_ROWS];
    uint32_t n = mt_setting_rows(r, false, rows, MT_MAX_SETTING_ROWS);
    if (n == 0)
        return;
    mt_heading(k, "Settings of the run", NULL);
    MT_ROW0(k, NULL, "| setting | value | set as | where |\n|---|---|---|---|\n");
    MT_TABLE(k, "Settings of the run", "Setting", "Value", "Set as", "Where");
    for (uint32_t i = 0; i < n; i++)
        MT_ROW3(k, "  >4|{0}: {1:.200}   ({2:.300}, {3:.200})",
                "| {0} | {1:`200} | {2:`200} | {3} |\n",
                "<tr><th scope=\"row\">{0}</th><td><code>{1:n200}</code></td><td><code>{2:n200}"
                "</code></td><td>{3:n200}</td></tr>\n",
                rows[i].setting->words, rows[i].value, rows[i].key, rows[i].where);
    k->end(k);
}

/* What was taken from the files of a folder, and which were passed over. */
void mt_section_files(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_found *f = r->diagnosis->found;
    const struct mt_skipped *s = r->diagnosis->skipped;
    uint32_t most = mt_most3(k, 16, 8, MT_IGNORED_NAMED), n = s != NULL ? s->ignored.n : 0,
             used = 0;
    uint64_t all = s != NULL ? s->n_ignored : 0;
    for (uint32_t i = 0; f != NULL && i < f->files.n; i++)
        used += f->files.p[i].is_used;
    if (used == 0 && all == 0)
        return;
    n = n < most ? n : most;
    mt_heading(k, "Files beside the snapshots", NULL);
    MT_TABLE(k, "Files beside the snapshots", "File", "Used for");
    for (uint32_t i = 0; f != NULL && i < f->files.n; i++)
        if (f->files.p[i].is_used)
            MT_ROW3(k, "  - |{0:.300}: {1}", "- {0:`300}: {1}\n",
                    "<tr><th scope=\"row\">{0:n300}</th><td>{1}</td></tr>\n", f->files.p[i].name,
                    f->files.p[i].kind->says);
    for (uint32_t i = 0; i < n; i++)
        MT_ROW3(k, "  - |{0:.300}: not used ({1:.400})", "- {0:`300}: not used ({1})\n",
                "<tr><th scope=\"row\">{0:n300}</th><td>not used ({1:w400})</td></tr>\n",
                s->ignored.p[i].name, s->ignored.p[i].message);
    if (f != NULL && f->n_more != 0)
        MT_ROW3(k, "  - |{0} more that may hold settings were not looked at",
                "- {0} more that may hold settings were not looked at\n",
                "<tr><th scope=\"row\">{0} more that may hold settings</th><td>not looked "
                "at</td></tr>\n",
                MT_COUNT(f->n_more));
    if (all > n)
        MT_ROW3(k, "  - |and {0} more, not used", "- and {0} more, not used\n",
                "<tr><th scope=\"row\">and {0} more</th><td>not used</td></tr>\n",
                MT_COUNT(all - n));
    k->end(k);
}

/* Which memtrace.toml was read, and what of it this report has. */
void mt_section_config(struct mt_sink *k, const struct mt_report *r)
{
    if (r->n_config == 0)
        return;
    mt_heading(k, "Configuration of memtrace", "Configuration of memtrace");
    MT_TABLE(k, "Configuration of memtrace", "File", "Used of it");
    for (uint32_t i = 0; i < r->n_config; i++) {
        char keys[128] = "nothing";
        size_t n = 0;
        for (uint32_t j = 0; j < r->config[i].n_keys && n < sizeof keys; j++)
            n += (size_t)snprintf(keys + n, sizeof keys - n, "%s%s", j != 0 ? ", " : "",
                                  r->config[i].keys[j]);
        MT_ROW3(k, "  - |{0}: {1}", "- {0:`300}: {1}\n",
                "<tr><th scope=\"row\">{0:n300}</th><td>{1}</td></tr>\n", r->config[i].file, keys);
    }
    k->end(k);
}

void mt_section_caveats(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_quality *q = &r->diagnosis->quality;
    if (q->caveats.n == 0)
        return;
    mt_heading(k, "Data quality", NULL);
    MT_NOTE(k, "<ul class=\"caveats\">\n");
    for (uint32_t i = 0; i < q->caveats.n && i < mt_most(k, MT_MAX_CAVEATS, 64); i++)
        MT_ROW3(k, k->is_screen ? "~  - {0}" : "  - |{0}", "- {0}\n", "<li>{0:w}</li>\n",
                q->caveats.p[i]);
    MT_NOTE(k, "</ul>\n");
    k->end(k);
}
