#include "render/html/other_devices.h"
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/view/rows.h"

enum { SHOWN = 8 }; /* a job may have hundreds */

void mt_h_of_device(const struct mt_page *p, struct mt_out *o)
{
    char place[256];
    if (p->dev == NULL || !mt_has_others(p->r))
        return;
    mt_puts(o, "<p class=\"note\">Of ");
    mt_h_name(o, mt_row_place(p->r, p->rank, p->dev, place, sizeof place), 120);
    mt_puts(o, ".</p>\n");
}

void mt_h_devices(const struct mt_page *p, struct mt_out *o,
                  bool (*has)(const struct mt_device_analysis *d),
                  void (*draw)(const struct mt_page *p, const struct mt_device_analysis *d,
                               struct mt_out *o, bool full),
                  char *(*words)(char *buf, size_t cap, const struct mt_device_analysis *d))
{
    const struct mt_device_analysis *d;
    uint32_t i = 0, j = UINT32_MAX, n = 0;
    uint64_t more = 0;
    char place[256], text[512];
    mt_h_of_device(p, o);
    draw(p, p->dev, o, true);
    while ((d = mt_next_other(p->r, &i, &j)) != NULL) {
        if (!has(d))
            continue;
        if (n == SHOWN) {
            more++;
            continue;
        }
        n++;
        mt_puts(o, "<details class=\"more\"><summary>");
        mt_h_name(o, mt_row_place(p->r, &p->r->diagnosis->ranks.p[i], d, place, sizeof place), 120);
        if (words(text, sizeof text, d)[0] != '\0') {
            mt_puts(o, ": ");
            mt_h_words(o, text, SIZE_MAX);
        }
        mt_puts(o, "</summary>\n");
        draw(p, d, o, false);
        mt_puts(o, "</details>\n");
    }
    if (more != 0)
        mt_putf(o, "<p class=\"note\">%s more devices: <code>--format json</code> has them.</p>\n",
                mt_fmt_count(text, more));
}
