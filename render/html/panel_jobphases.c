/* Phases of the job as its ranges and marks name them, with the highest sum on
 * any GPU. */
#include "render/html/kit.h"

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->phases.n != 0;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Phase", "#Times", "#Together",
                                        "#Highest by recorded calls", "On"};
    mt_puts(o, "<p class=\"note\">From NVTX ranges and memtrace_push() of all "
               "processes; those of one phase that overlap count once. A process without marks of "
               "its own takes those "
               "of the process that drives the job, on the common clock.</p>\n");
    mt_h_table(o, "Phases of the job", heads, sizeof heads / sizeof *heads);
    mt_h_rows(o, p, mt_section_job_phases);
    mt_h_table_end(o);
}

const struct mt_panel mt_panel_jobphases = {"jobphases", "Phases of the job", has, draw};
