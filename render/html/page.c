/* The page: its template, in which each panel fills the mark of its name, and what it may carry. */
#include "render/html/html.h"

#include "render/base/escape.h"
#include "render/html/assets.h"
#include "render/html/kit.h"
#include "render/html/page_data.h"
#include "render/html/page_plan.h"
#include "render/html/script.h"
#include "render/view/rows.h"

#include <errno.h>
#include <string.h>

static const struct mt_panel *const panels[] = {
#define MT_PANEL(n) &mt_panel_##n,
#include "render/html/panels.def"
#undef MT_PANEL
};
enum { N_PANELS = sizeof panels / sizeof *panels };

static void draw_panel(const struct mt_page *p, struct mt_out *o, const struct mt_panel *panel)
{
    if (!panel->has(p))
        return;
    if (panel->heading == NULL) {
        panel->draw(p, o);
        return;
    }
    mt_putf(o, "<section id=\"%s\" aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s", panel->slot,
            panel->slot, panel->slot, panel->heading);
    mt_h_of(o, p, panel->slot);
    mt_puts(o, "</h2>\n");
    panel->draw(p, o);
    mt_puts(o, "</section>\n");
}

static void put_title(const struct mt_page *p, struct mt_out *o)
{
    char title[512];
    mt_h_text(o, mt_report_title(p->r, title, sizeof title), 200);
}

static void put_contents(const struct mt_page *p, struct mt_out *o)
{
    mt_puts(o, "<ul>");
    for (size_t i = 0; i < N_PANELS; i++)
        if (panels[i]->heading != NULL && panels[i]->has(p))
            mt_putf(o, "<li><a href=\"#%s\">%s</a></li>", panels[i]->slot, panels[i]->heading);
    mt_puts(o, "</ul>");
}

static bool is(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(word, name, n) == 0;
}

/* The style sheets, in the order of their names after report.css. */
static bool put_css(struct mt_out *o)
{
    const struct mt_asset *first = mt_template_find("report.css");
    if (first == NULL)
        return false;
    mt_put(o, first->data, first->size);
    for (const struct mt_asset *a = mt_template_assets; a->name != NULL; a++)
        if (strncmp(a->name, "css/", 4) == 0)
            mt_put(o, a->data, a->size);
    return true;
}

static bool put_csp(struct mt_out *o)
{
    char page[MT_SCRIPT_HASH_SIZE], worker[MT_SCRIPT_HASH_SIZE];
    if (!mt_script_hash(page, MT_SCRIPT_PAGE) || !mt_script_hash(worker, MT_SCRIPT_WORKER))
        return false;
    mt_putf(o, "script-src '%s' ", page);
    mt_putf(o, "'%s'; worker-src blob:; ", worker);
    return true;
}

/* What stands for {{word}}; false when no such mark is known. */
static bool put_slot(const struct mt_page *p, struct mt_out *o, const char *word, size_t n)
{
    for (size_t i = 0; i < N_PANELS; i++) {
        if (is(word, n, panels[i]->slot)) {
            draw_panel(p, o, panels[i]);
            return true;
        }
    }
    if (is(word, n, "title")) {
        put_title(p, o);
    } else if (is(word, n, "contents")) {
        put_contents(p, o);
    } else if (is(word, n, "version")) {
        mt_html_s(o, p->r->version);
    } else if (is(word, n, "css")) {
        return put_css(o);
    } else if (is(word, n, "csp")) {
        return put_csp(o);
    } else if (is(word, n, "data")) {
        mt_page_data(p, o);
    } else {
        return false;
    }
    return true;
}

static void put_page(const struct mt_page *p, const struct mt_asset *page, struct mt_out *o)
{
    const char *s = (const char *)page->data, *end = s + page->size;
    while (s < end) {
        const char *open = strstr(s, "{{"), *close = open != NULL ? strstr(open, "}}") : NULL;
        if (close == NULL)
            break;
        mt_put(o, s, (size_t)(open - s));
        if (!put_slot(p, o, open + 2, (size_t)(close - open - 2)))
            o->error =
                o->error != 0 ? o->error : EINVAL; /* a mark of the template that nothing fills */
        s = close + 2;
    }
    mt_put(o, s, (size_t)(end - s));
}

static int forget(void *ctx, const void *p, size_t n)
{
    (void)ctx;
    (void)p;
    (void)n;
    return 0;
}

/* Gives up detail until the page is no larger than it may be: what it takes without any is measured
 * by writing it to nowhere. */
static int fit(const struct mt_page *p, const struct mt_asset *page, struct mt_page_plan *plan)
{
    enum { MARGIN = 8192 }; /* for what the page says of what it leaves out */
    uint64_t all = mt_page_plan_cost(plan), least;
    struct mt_out o = {.write = forget};
    if (plan->max_size == 0 || (p->r->diagnosis->ranks.n <= 1 && all < plan->max_size / 4))
        return 0;
    mt_page_plan_clear(plan);
    least = mt_page_plan_cost(plan);
    put_page(p, page, &o);
    if (mt_out_finish(&o) != 0)
        return o.error;
    all = o.n + MARGIN < plan->max_size ? plan->max_size - o.n - MARGIN : 0;
    return mt_page_plan_fit(plan, p->r, all + least) ? 0 : ENOMEM;
}

void mt_render_html(const struct mt_report *r, struct mt_out *o)
{
    struct mt_page_plan plan;
    struct mt_page p = {.r = r,
                        .rank = mt_diagnosis_rank(r->diagnosis),
                        .dev = mt_diagnosis_device(r->diagnosis),
                        .plan = &plan};
    const struct mt_asset *page = mt_template_find("report.html");
    int error = page == NULL ? ENOENT : 0; /* built without its templates */
    if (error == 0 && !mt_page_plan_begin(&plan, r))
        error = ENOMEM;
    if (error == 0) {
        mt_palette_build(&p.pal, r);
        error = fit(&p, page, &plan);
    }
    if (error == 0)
        put_page(&p, page, o);
    else
        o->error = o->error != 0 ? o->error : error;
    if (page != NULL)
        mt_page_plan_done(&plan);
}
