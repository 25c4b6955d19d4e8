#include "render/html/other_devices.h"
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/view/rows.h"

#include <stdio.h>

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

void mt_h_devices(const struct mt_page *p, struct mt_out *o, mt_section *section,
                  void (*draw)(const struct mt_page *p, const struct mt_device_analysis *d,
                               struct mt_out *o),
                  char *(*words)(char *buf, size_t cap, const struct mt_device_analysis *d))
{
    const struct mt_device_analysis *d;
    uint32_t i = 0, j = UINT32_MAX, n = 0;
    uint64_t more = 0;
    char place[256], text[512];
    mt_h_of_device(p, o);
    if (draw != NULL)
        draw(p, p->dev, o);
    else
        mt_h_rows(o, p, section, p->dev);
    while ((d = mt_next_other(p->r, &i, &j)) != NULL) {
        if (!mt_h_has_rows(p, section, d))
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
        if (draw != NULL)
            draw(p, d, o);
        else
            mt_h_rows(o, p, section, d);
        mt_puts(o, "</details>\n");
    }
    if (more != 0)
        mt_putf(o, "<p class=\"note\">%s more devices: <code>--format json</code> has them.</p>\n",
                mt_fmt_count(text, more));
}

char *mt_words_occurrences(char *buf, size_t cap, const struct mt_device_analysis *d)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < d->roles.occurrences.n; i++)
        most = d->roles.occurrences.p[i].peak > most ? d->roles.occurrences.p[i].peak : most;
    (void)snprintf(buf, cap, "at most %s", MT_BYTES(most));
    return buf;
}

char *mt_words_audits(char *buf, size_t cap, const struct mt_device_analysis *d)
{
    size_t n = 0;
    for (uint32_t i = 0; i < d->audits->v.n; i++)
        if (d->audits->v.p[i].finding && n < cap)
            n += (size_t)snprintf(buf + n, cap - n, "%s%s", n == 0 ? "to act on: " : ", ",
                                  d->audits->v.p[i].title);
    if (n == 0)
        (void)snprintf(buf, cap, "nothing to act on");
    return buf;
}
