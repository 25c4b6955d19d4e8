/* The report as text for a ticket, for readers whose browser runs no script; the script puts a
 * button above it. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/md/md.h"

#include <errno.h>
#include <string.h>

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->ranks.n > 0 || p->r->diagnosis->driver != NULL ||
           p->r->diagnosis->logdiag != NULL;
}

/* One by one: the end of a line inside a name would be made visible. */
static void lines(struct mt_out *o, const char *s)
{
    while (*s != '\0') {
        size_t n = strcspn(s, "\n");
        mt_html(o, s, n);
        mt_putc(o, '\n');
        s += n + (s[n] != '\0');
    }
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    struct mt_out text;
    mt_puts(o, "<details class=\"more\"><summary>Markdown: the verdict, what to change, the "
               "tables, the environment</summary>\n"
               "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"The report as "
               "Markdown\"><pre id=\"markdown\">\n");
    if (mt_out_mem(&text)) {
        mt_render_md(p->r, &text);
        if (mt_out_finish(&text) == 0)
            lines(o, (const char *)text.buf);
        else
            o->error = o->error != 0 ? o->error : text.error;
    } else {
        o->error = o->error != 0 ? o->error : ENOMEM;
    }
    mt_out_done(&text);
    mt_puts(o, "</pre></div>\n</details>\n");
}

const struct mt_panel mt_panel_ticket = {"ticket", "For a ticket", has, draw};
