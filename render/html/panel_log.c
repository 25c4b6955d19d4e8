/* What the logs say, by line. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/run.h"

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->logdiag != NULL && mt_logs_facts(p->r->diagnosis->logs) != 0;
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
    struct mt_log_row rows[MT_SHOWN_LOG];
    uint32_t n = mt_log_rows(p->r->diagnosis->logs, rows, MT_SHOWN_LOG);
    char count[32];
    if (n < mt_logs_facts(p->r->diagnosis->logs))
        mt_putf(o,
                "<p class=\"note\">%u of %s lines: failures first, the others evenly spaced.</p>\n",
                (unsigned)n, mt_fmt_count(count, mt_logs_facts(p->r->diagnosis->logs)));
    mt_h_table(o, "Memory lines of the logs", heads, 5);
    mt_h_rows(o, p, mt_section_log);
    mt_h_table_end(o);
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
