/* Phases of the job as its ranges and marks name them, with the highest sum on
 * any GPU. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->phases.n != 0;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Phase", "#Times", "#Together",
                                        "#Highest by recorded calls", "On"};
    const struct mt_driverdiag *j = p->r->diagnosis->driver;
    struct mt_phase_sum sum[MT_PH_COUNT];
    unsigned n = mt_driver_phase_sums(j, sum);
    char b[40];
    mt_puts(o, "<p class=\"note\">From NVTX ranges and memtrace_push() of all "
               "processes; those of one phase that overlap count once. A process without marks of "
               "its own takes those "
               "of the process that drives the job, on the common clock.</p>\n");
    mt_h_table(o, "Phases of the job", heads, sizeof heads / sizeof *heads);
    for (unsigned i = 0; i < n; i++) {
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_html_s(o, mt_phase_words(sum[i].phase));
        mt_puts(o, "</th>");
        mt_h_td_count(o, sum[i].n);
        mt_h_td_text(o, mt_fmt_seconds(b, sum[i].ns));
        mt_h_td_bytes(o, sum[i].peak);
        mt_puts(o, "<td>");
        if (sum[i].peak != 0 && sum[i].peak_ledger < j->ledgers.n)
            mt_h_name(o, j->ledgers.p[sum[i].peak_ledger].name, 120);
        mt_puts(o, "</td></tr>\n");
    }
    mt_h_table_end(o);
}

const struct mt_panel mt_panel_jobphases = {"jobphases", "Phases of the job", has, draw};
