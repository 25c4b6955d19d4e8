/* The processes of the job: what each held, how much was recorded, how it
 * ended. */
#include "render/html/kit.h"

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->processes.n != 0;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Process", "Host",   "#Peak",   "GPU",
                                        "#Pinned", "#Calls", "#Failed", "End"};
    const struct mt_driverdiag *j = p->r->diagnosis->driver;
    if (j->unrecorded != NULL) {
        mt_puts(o, "<p class=\"note\"><strong>Not everything was recorded.</strong> ");
        mt_h_text(o, j->unrecorded, 1000);
        mt_puts(o, "</p>\n");
    }
    mt_h_table(o, "Processes", heads, sizeof heads / sizeof *heads);
    mt_h_rows(o, p, mt_section_processes);
    mt_h_table_end(o);
    mt_h_more(o, j->processes.n > MT_SHOWN_PROCESSES ? j->processes.n - MT_SHOWN_PROCESSES : 0);
}

const struct mt_panel mt_panel_processes = {"processes", "Processes", has, draw};
