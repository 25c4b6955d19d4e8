/* Engines that go to sleep and wake: bursts of unmaps and maps. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"
#include "render/svg/ledger.h"

enum { SHOWN = 60 };

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->sleeps.n != 0;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"#At",    "What", "Process", "#Bytes", "#Held afterwards",
                                        "#Calls", "#Took"};
    const struct mt_driverdiag *j = p->r->diagnosis->driver;
    char who[MT_WHO], b[40];
    mt_puts(o, "<p class=\"note\">Three or more unmaps, or maps, of one owner "
               "within a second of each other. What an engine still holds "
               "after it went to sleep is what the trainer cannot have.</p>\n");
    mt_h_table(o, "Sleep and wake", heads, sizeof heads / sizeof *heads);
    for (uint32_t i = 0; i < j->sleeps.n && i < SHOWN; i++) {
        const struct mt_sleep *s = &j->sleeps.p[i];
        mt_puts(o, "<tr>");
        mt_h_td_text(o, mt_driver_moment(b, j, s->t0_ns));
        mt_puts(o, "<th scope=\"row\">");
        mt_h_swatch(o, mt_holder_color(s->who));
        mt_html_s(o, mt_holder_words(s->who));
        mt_html_s(o, mt_driver_sleep_words(j, i));
        mt_puts(o, "</th><td>");
        mt_h_name(o, mt_driver_who(who, j, s->driver, s->process), 200);
        mt_puts(o, "</td>");
        mt_h_td_bytes(o, s->bytes);
        mt_h_td_bytes(o, s->left);
        mt_h_td_count(o, s->n_calls);
        mt_h_td_text(o, mt_fmt_seconds(b, s->t1_ns - s->t0_ns));
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
    mt_h_more(o, j->sleeps.n > SHOWN ? j->sleeps.n - SHOWN : 0);
}

const struct mt_panel mt_panel_sleep = {"sleep", "Sleep and wake", has, draw};
