/* The answer: one sentence, the numbers behind it, and what to change first. */
#include "render/escape.h"
#include "render/html.h"
#include "render/rows.h"

static bool has(const struct mt_page *p) { return p->rank != NULL; }

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_analysis *a = p->rank->analysis;
    const struct mt_verdict *v = &a->verdict;
    char place[256];
    uint32_t n = 0;
    mt_putf(o, "<header class=\"hero%s\" id=\"verdict\">\n<p class=\"kind\">%s</p>\n<h1>",
            mt_verdict_is_oom(v->kind) ? " oom" : "", mt_verdict_words(v->kind));
    mt_h_text(o, v->sentence, 2000);
    mt_puts(o, "</h1>\n");
    if (v->because != NULL && v->because[0] != '\0') {
        mt_puts(o, "<p class=\"because\">");
        mt_h_text(o, v->because, 2000);
        mt_puts(o, "</p>\n");
    }
    mt_puts(o, "<p class=\"where\">");
    if (p->dev != NULL) {
        mt_h_name(o, mt_row_place(p->r, p->rank, p->dev, place, sizeof place), 200);
        mt_puts(o, " \xc2\xb7 ");
    }
    mt_html_s(o, mt_framework_words(a->fw.main));
    if (a->fw.engine != MT_FW_NONE && a->fw.engine != a->fw.main) {
        mt_puts(o, " with ");
        mt_html_s(o, mt_framework_words(a->fw.engine));
    }
    mt_puts(o, a->fw.forced               ? " (as named on the command line)</p>\n"
               : a->fw.main != MT_FW_NONE ? " (by its frames)</p>\n"
                                          : "</p>\n");
    for (uint32_t i = 0; i < a->advice.n; i++) {
        const struct mt_advice *d = &a->advice.p[i];
        if (!d->is_top)
            continue;
        if (n++ == 0)
            mt_puts(o, "<h2 id=\"first\">Change first</h2>\n<ol class=\"first\" aria-labelledby=\"first\">\n");
        mt_puts(o, "<li><h3>");
        mt_html_s(o, d->card->title);
        mt_puts(o, "</h3>\n");
        mt_h_settings(o, d);
        mt_puts(o, "<p>");
        mt_html_s(o, d->card->why);
        mt_puts(o, "</p></li>\n");
    }
    if (n > 0)
        mt_puts(o, "</ol>\n");
    mt_puts(o, "</header>\n");
}

const struct mt_panel mt_panel_verdict = {"verdict", NULL, has, draw};
