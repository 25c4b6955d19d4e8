#include "render/html/strip.h"

#include "render/base/escape.h"
#include "render/svg/stack.h"
#include "render/view/rows.h"

#include "parser/base/mem.h"

#include <errno.h>

enum { SHOWN = 8, HEIGHT = 8, BLUE = 2 /* of the palette */ };

static void one(const struct mt_page *p, struct mt_out *o, const struct mt_place *at,
                uint64_t whole)
{
    const struct mt_device_analysis *d = at->dev;
    bool known = !mt_state_unknown(d);
    struct mt_stack_bar b;
    char place[256], words[32];
    (void)mt_row_place(p->r, at->rank, d, place, sizeof place);
    mt_puts(o, "<li data-place=\"");
    mt_html_s(o, place);
    mt_puts(o, "\"><span class=\"rank\">");
    mt_h_name(o, place, 60);
    mt_putf(o, "</span> <b>%s</b>", known ? mt_fmt_bytes(words, at->live) : "not known");
    if (d->ooms.n != 0)
        mt_puts(o, " <strong class=\"oom\">out of memory</strong>");
    mt_stack_open(&b, o, whole, HEIGHT, "Highest live bytes, beside the other devices");
    if (known)
        mt_stack_part(&b, at->live, d->ooms.n != 0 ? mt_color_oom : mt_color_hex(BLUE), NULL);
    mt_stack_close(&b);
    mt_puts(o, "</li>\n");
}

void mt_h_strip(const struct mt_page *p, struct mt_out *o)
{
    uint64_t whole = 0;
    uint32_t n;
    struct mt_place *at = mt_places(p->r, &n);
    if (at == NULL) {
        o->error = o->error != 0 ? o->error : ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t most =
            at[i].dev->capacity > at[i].live ? at[i].dev->capacity : at[i].live; /* of its card */
        whole = most > whole ? most : whole;
    }
    if (n > 1)
        mt_puts(o, "<ul class=\"strip\" aria-label=\"Each rank and device at its highest\">\n");
    for (uint32_t i = 0; n > 1 && i < n && i < SHOWN; i++)
        one(p, o, &at[i], whole);
    if (n > SHOWN)
        mt_putf(o, "<li><a href=\"#ranks\">%u more</a></li>\n", (unsigned)(n - SHOWN));
    if (n > 1)
        mt_puts(o, "</ul>\n");
    mt_free(at);
}
