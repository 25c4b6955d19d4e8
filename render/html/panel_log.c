/* What the logs say, by line. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/run.h"

enum { MAX_ROWS = 200 };

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->logdiag != NULL && mt_logs_facts(p->r->diagnosis->logs) != 0;
}

static void bytes(struct mt_out *o, uint64_t v)
{
    if (v != MT_LOG_NONE)
        mt_h_td_bytes(o, v);
    else
        mt_h_td_text(o, "");
}

static void paragraph(struct mt_out *o, const char *s)
{
    if (s == NULL || s[0] == '\0')
        return;
    mt_puts(o, "<p>");
    mt_h_text(o, s, 3000);
    mt_puts(o, "</p>\n");
}

static void table(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Line", "Who", "What it says", "#PyTorch reserved",
                                        "#Device used"};
    struct mt_log_row *rows = mt_calloc(MAX_ROWS, sizeof *rows);
    uint32_t n;
    if (rows == NULL) {
        o->error = o->error ? o->error : 12;
        return;
    }
    n = mt_log_rows(p->r->diagnosis->logs, rows, MAX_ROWS);
    if (n < mt_logs_facts(p->r->diagnosis->logs)) {
        char a[32];
        mt_putf(o,
                "<p class=\"note\">%u of %s lines: failures first, the others evenly spaced.</p>\n",
                (unsigned)n, mt_fmt_count(a, mt_logs_facts(p->r->diagnosis->logs)));
    }
    mt_h_table(o, "Memory lines of the logs", heads, 5);
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_log_fact *f = rows[i].fact;
        char words[MT_FACT_WORDS], who[96];
        mt_puts(o, "<tr><th scope=\"row\">");
        if (p->r->diagnosis->logs->files.n > 1) {
            mt_h_name(o, rows[i].file->name, 120);
            mt_putc(o, ':');
        }
        mt_putf(o, "%llu</th><td>", (unsigned long long)f->line);
        mt_h_text(o, mt_log_who(who, f), 96);
        mt_puts(o, rows[i].is_failure ? "</td><td><strong>" : "</td><td>");
        mt_h_words(o, mt_log_fact_words(words, f), MT_FACT_WORDS);
        mt_puts(o, rows[i].is_failure ? "</strong></td>" : "</td>");
        bytes(o, mt_log_fact_torch(f));
        bytes(o, mt_log_fact_used(f));
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
    mt_free(rows);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    char settles[400];
    if (mt_diagnosis_lead(p->r->diagnosis) != MT_LEAD_LOG) {
        paragraph(o, mt_report_log_second(p->r));
        paragraph(o, p->r->diagnosis->logdiag->because);
        paragraph(o, mt_log_settles(p->r, settles, sizeof settles));
    }
    table(p, o);
}

const struct mt_panel mt_panel_log = {"log", "Log", has, draw};
