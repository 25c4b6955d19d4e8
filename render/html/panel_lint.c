/* Settings that contradict each other, have no effect, or do not exist. */
#include "render/base/escape.h"
#include "render/html/kit.h"

enum { FEW = 2 }; /* so many warnings stand there with what to do instead */

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->lint != NULL && p->r->diagnosis->lint->findings.n != 0;
}

static void field(struct mt_out *o, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    mt_putf(o, "<dt>%s</dt><dd>", name);
    mt_h_words(o, value, 1000);
    mt_puts(o, "</dd>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_lint *l = p->r->diagnosis->lint;
    for (uint32_t i = 0; i < l->findings.n; i++) {
        const struct mt_lint_finding *f = &l->findings.p[i];
        bool open =
            f->level == MT_LINT_ERROR || (f->level == MT_LINT_WARNING && l->findings.n <= FEW);
        mt_putf(o, "<details class=\"advice\"%s><summary>%s: ", open ? " open" : "",
                f->level == MT_LINT_ERROR     ? "Error"
                : f->level == MT_LINT_WARNING ? "Warning"
                                              : "Note");
        mt_h_words(o, f->sentence, 1000);
        mt_puts(o, "</summary>\n<dl class=\"fields\">\n");
        field(o, "Where", f->where);
        field(o, "Why", f->why);
        field(o, "Instead", f->remedy);
        mt_puts(o, "<dt>Source</dt><dd>");
        mt_h_words(o, f->source, 400);
        mt_puts(o, " <small>(");
        mt_html_s(o, f->id);
        mt_puts(o, ")</small></dd>\n</dl>\n</details>\n");
    }
}

const struct mt_panel mt_panel_lint = {"lint", "Check these", has, draw};
