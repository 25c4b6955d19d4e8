/* The numbers that speak for the cause, and what would have happened otherwise. */
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/html/kit.h"

#include <string.h>

static bool has(const struct mt_page *p)
{
    const struct mt_cause *c = mt_report_cause(p->r);
    return c != NULL && (c->evidence.n != 0 || c->what_ifs.n != 0);
}

static void what_ifs(struct mt_out *o, const struct mt_cause *c)
{
    static const char *const heads[] = {"If", "#It frees", "Answer", "#Would lack"};
    char words[1024];
    bool lacks = false;
    if (c->what_ifs.n == 0)
        return;
    for (uint32_t i = 0; i < c->what_ifs.n; i++)
        lacks = lacks || !c->what_ifs.p[i].fits;
    mt_puts(o, "<h3>Would the request have fitted?</h3>\n");
    mt_h_table(o, "Would the request have fitted?", heads, lacks ? 4 : 3);
    for (uint32_t i = 0; i < c->what_ifs.n; i++) {
        const struct mt_what_if *w = &c->what_ifs.p[i];
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_h_words(o, mt_what_if_condition(words, sizeof words, w), 1000);
        mt_puts(o, "</th>");
        mt_h_td_bytes(o, w->freed);
        mt_puts(o, w->fits ? "<td><strong class=\"yes\">Yes</strong></td>" : "<td>No</td>");
        if (w->fits)
            mt_puts(o, lacks ? "<td></td>" : "");
        else
            mt_h_td_bytes(o, w->short_by);
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
}

static bool is_of_cause(const struct mt_cause *c, const struct mt_evidence *e)
{
    return e->since == c->event && e->event == c->event;
}

static bool is_all_of_one(const struct mt_cause *c)
{
    for (uint32_t i = 0; i < c->evidence.n; i++)
        if (!is_of_cause(c, &c->evidence.p[i]))
            return false;
    return true;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_cause *c = mt_report_cause(p->r);
    bool at = c->event >= 0 && mt_page_has_timeline(p);
    if (c->kind != MT_CAUSE_NONE || at)
        mt_puts(o, "<p class=\"note\">");
    if (c->kind != MT_CAUSE_NONE)
        mt_putf(o, "Cause: %s; confidence: %s.%s", mt_cause_words(c->kind), mt_conf_phrase(c->conf),
                at ? " " : "");
    if (at) { /* once for all, not at every line */
        mt_h_when(o, p, "What follows is about ", c->event, c->event);
        mt_puts(o, is_all_of_one(c) ? "." : ", unless it names another.");
    }
    if (c->kind != MT_CAUSE_NONE || at)
        mt_puts(o, "</p>\n");
    if (c->evidence.n != 0)
        mt_puts(o, "<ul class=\"evidence\">\n");
    for (uint32_t i = 0; i < c->evidence.n; i++) {
        mt_puts(o, "<li>");
        mt_h_words(o, c->evidence.p[i].text, 1000);
        if (c->evidence.p[i].event >= 0 && !is_of_cause(c, &c->evidence.p[i]) &&
            mt_page_has_timeline(p)) {
            mt_h_when(o, p, " See ", c->evidence.p[i].since, c->evidence.p[i].event);
            mt_putc(o, '.');
        }
        mt_puts(o, "</li>\n");
    }
    if (c->evidence.n != 0)
        mt_puts(o, "</ul>\n");
    what_ifs(o, c);
}

const struct mt_panel mt_panel_cause = {"cause", "Why", has, draw};
