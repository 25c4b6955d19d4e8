/* What to change first, and boxes to tick. */
#include "render/base/escape.h"
#include "render/html/what_if.h"

static bool has(const struct mt_page *p)
{
    const struct mt_advice *list;
    uint32_t n;
    list = mt_diagnosis_advice(p->r->diagnosis, &n);
    for (uint32_t i = 0; i < n; i++)
        if (list[i].is_top)
            return true;
    return false;
}

/* A card behind one that is enough alone waits behind its title and what it frees. */
static void card(const struct mt_page *p, struct mt_out *o, const struct mt_advice *d, bool folded)
{
    char size[32];
    mt_puts(o, folded ? "<li class=\"next\"><details><summary><h3>" : "<li><h3>");
    mt_h_words(o, d->card->title, SIZE_MAX);
    mt_puts(o, "</h3>");
    if (folded && d->saving.known)
        mt_putf(o, " <small>%s</small>", mt_fmt_bytes(size, d->saving.bytes));
    mt_puts(o, folded ? "</summary>\n" : "\n");
    mt_h_settings(o, d);
    mt_h_advice_rows(o, p, mt_section_first_card, d);
    mt_puts(o, folded ? "</details></li>\n" : "</li>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_advice *list;
    char first[MT_FIRST];
    uint32_t n = 0, n_list;
    bool enough = false;
    mt_puts(o, "<div id=\"change\" role=\"group\" aria-label=\"What to change\">\n");
    list = mt_diagnosis_advice(p->r->diagnosis, &n_list);
    for (uint32_t i = 0; i < n_list; i++) {
        const struct mt_advice *d = &list[i];
        if (!d->is_top)
            continue;
        if (n++ == 0) {
            mt_putf(o, "<h2 id=\"first\">%s", mt_report_first(first, p->r));
            mt_h_of(o, p, "change");
            mt_puts(o, "</h2>\n<ol class=\"first\" aria-labelledby=\"first\">\n");
        }
        card(p, o, d, enough);
        enough = enough || (d->fits_known && d->lacking == 0);
    }
    if (n > 0)
        mt_puts(o, "</ol>\n");
    if (n > 0 && p->rank != NULL && p->dev != NULL &&
        mt_diagnosis_combined(p->r->diagnosis) != NULL)
        mt_h_what_if(p, o);
    mt_puts(o, "</div>\n");
}

const struct mt_panel mt_panel_change = {"change", NULL, has, draw};
