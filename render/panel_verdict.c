/* The answer: one sentence, the numbers behind it, and what to change first. */
#include "render/escape.h"
#include "render/html.h"
#include "render/job_view.h"
#include "render/rows.h"

static bool has(const struct mt_page *p) { return p->rank != NULL || p->r->job != NULL; }

static void paragraph(struct mt_out *o, const char *lead, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    mt_putf(o, "<p class=\"because\">%s", lead);
    mt_h_text(o, text, 3000);
    mt_puts(o, "</p>\n");
}

/* What the driver saw is the headline, and what the snapshot says comes second; or the other way round. */
static void sentences(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_job *j = p->r->job;
    const struct mt_verdict *v = p->rank != NULL ? &p->rank->analysis->verdict : NULL;
    bool job = mt_report_job_leads(p->r), oom = job ? j->kind == MT_JV_OOM : v != NULL && mt_verdict_is_oom(v->kind);
    mt_putf(o, "<header class=\"hero%s\" id=\"verdict\">\n<p class=\"kind\">%s</p>\n<h1>", oom ? " oom" : "",
            job         ? mt_job_kind_words(j)
            : v != NULL ? mt_verdict_words(v->kind)
                        : "");
    mt_h_text(o, job ? j->sentence : v != NULL ? v->sentence : "", 3000);
    mt_puts(o, "</h1>\n");
    paragraph(o, "", job ? j->because : v != NULL ? v->because : NULL);
    if (job && v != NULL)
        paragraph(o, "<b>The snapshot:</b> ", v->sentence);
    else
        paragraph(o, "<b>The driver:</b> ", mt_report_second(p->r));
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_analysis *a = p->rank != NULL ? p->rank->analysis : NULL;
    char place[256];
    uint32_t n = 0;
    sentences(p, o);
    if (a == NULL) {
        mt_puts(o, "</header>\n");
        return;
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
