/* The page: its template, in which the parts of the report stand in their order, and what it may
 * carry. */
#include "render/html/html.h"

#include "render/base/escape.h"
#include "render/html/assets.h"
#include "render/html/kit.h"
#include "render/html/other_devices.h"
#include "render/html/page_data.h"
#include "render/html/page_plan.h"
#include "render/html/script.h"
#include "render/view/rows.h"

#include <errno.h>
#include <string.h>

/* A panel of its own, or the rows of a section; with words those of every device. */
struct part {
    const struct mt_panel *panel;
    const char *slot, *heading;
    mt_section *section;
    char *(*words)(char *buf, size_t cap, const struct mt_device_analysis *d);
};
static const struct part parts[] = {
#define MT_PANEL(n) {&mt_panel_##n, #n, NULL, NULL, NULL},
#define MT_ROWS(n, formats, heading) {NULL, #n, (heading), mt_section_##n, NULL},
#define MT_DEVICE_ROWS(n, formats, heading, words) {NULL, #n, (heading), mt_section_##n, (words)},
#include "render/sections/sections.def"
};
enum { N_PARTS = sizeof parts / sizeof *parts };

/* The page opens with the answer, the timeline, who holds the memory, phases and ranks, and steps
 * where something grows from one to the next. What is asked for after these waits behind its
 * heading. */
static bool is_folded(const struct mt_page *p, const struct part *t)
{
    static const char *const folded[] = {
        "cause",     "advice",    "roles",     "numbers",     "failures",   "sleep",
        "reconcile", "jobphases", "processes", "occurrences", "audits",     "pins",
        "segments",  "settings",  "log",       "quality",     "provenance", "ticket"};
    if (strcmp(t->slot, "steps") == 0)
        return p->dev == NULL || p->dev->roles.growth.n == 0;
    for (size_t i = 0; i < sizeof folded / sizeof *folded; i++)
        if (strcmp(folded[i], t->slot) == 0)
            return true;
    return false;
}

static const char *heading_of(const struct part *t)
{
    return t->panel != NULL ? t->panel->heading : t->heading;
}

static bool has(const struct mt_page *p, const struct part *t)
{
    return t->panel != NULL ? t->panel->has(p) : mt_h_has_rows(p, t->section, NULL);
}

static void draw(const struct mt_page *p, struct mt_out *o, const struct part *t)
{
    if (t->panel != NULL)
        t->panel->draw(p, o);
    else if (t->words != NULL)
        mt_h_devices(p, o, t->section, NULL, t->words);
    else
        mt_h_rows(o, p, t->section, p->dev);
}

static void draw_part(const struct mt_page *p, struct mt_out *o, const struct part *t)
{
    const bool folded = is_folded(p, t);
    if (!has(p, t))
        return;
    if (heading_of(t) == NULL) {
        draw(p, o, t);
        return;
    }
    mt_putf(o, "<section id=\"%s\" aria-labelledby=\"h-%s\">\n%s<h2 id=\"h-%s\">%s", t->slot,
            t->slot, folded ? "<details class=\"part\"><summary>" : "", t->slot, heading_of(t));
    mt_h_of(o, p, t->slot);
    mt_puts(o, folded ? "</h2></summary>\n" : "</h2>\n");
    draw(p, o, t);
    mt_puts(o, folded ? "</details></section>\n" : "</section>\n");
}

static void put_title(const struct mt_page *p, struct mt_out *o)
{
    char title[512];
    mt_h_text(o, mt_report_title(p->r, title, sizeof title), 200);
}

/* From memtrace.toml: the one address in a page that is not of this page. */
static void put_link(const char *address, struct mt_out *o)
{
    if (address == NULL)
        return;
    mt_puts(o, " <a rel=\"noreferrer noopener\" href=\"");
    mt_html_s(o, address);
    mt_puts(o, "\">");
    mt_html_s(o, address);
    mt_puts(o, "</a>");
}

static void put_contents(const struct mt_page *p, struct mt_out *o)
{
    mt_puts(o, "<ul class=\"scroll\">");
    for (size_t i = 0; i < N_PARTS; i++)
        if (heading_of(&parts[i]) != NULL && has(p, &parts[i]))
            mt_putf(o, "<li><a href=\"#%s\">%s</a></li>", parts[i].slot, heading_of(&parts[i]));
    mt_puts(o, "</ul>");
}

/* Those with a heading, which the contents name, or those before them. */
static void put_parts(const struct mt_page *p, struct mt_out *o, bool with_heading)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if ((heading_of(&parts[i]) != NULL) == with_heading)
            draw_part(p, o, &parts[i]);
}

static bool is(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(word, name, n) == 0;
}

/* Nothing runs but these two; where there is nothing to drive, nothing. */
static bool put_csp(const struct mt_page *p, struct mt_out *o)
{
    char page[MT_SCRIPT_HASH_SIZE], worker[MT_SCRIPT_HASH_SIZE];
    if (!mt_page_is_alive(p))
        return true;
    if (!mt_script_hash(page, MT_SCRIPT_PAGE) || !mt_script_hash(worker, MT_SCRIPT_WORKER)) {
        o->error = o->error != 0 ? o->error : ENOMEM; /* the scripts are in the program */
        return true;
    }
    mt_putf(o, "script-src '%s' ", page);
    mt_putf(o, "'%s'; worker-src blob:; ", worker);
    return true;
}

/* What stands for {{word}}; false when no such mark is known. */
static bool put_slot(const struct mt_page *p, struct mt_out *o, const char *word, size_t n)
{
    if (is(word, n, "banners")) {
        put_parts(p, o, false);
    } else if (is(word, n, "sections")) {
        put_parts(p, o, true);
    } else if (is(word, n, "title")) {
        put_title(p, o);
    } else if (is(word, n, "contents")) {
        put_contents(p, o);
    } else if (is(word, n, "version")) {
        mt_html_s(o, p->r->version);
    } else if (is(word, n, "link")) {
        put_link(p->r->link, o);
    } else if (is(word, n, "css")) {
        return mt_template_css(o);
    } else if (is(word, n, "csp")) {
        return put_csp(p, o);
    } else if (is(word, n, "worker")) {
        mt_page_worker(p, o);
    } else if (is(word, n, "data")) {
        mt_page_data(p, o);
    } else {
        return false;
    }
    return true;
}

/* From s on, without the slots from `end` on. */
static void put_slots(const struct mt_page *p, const char *s, const char *end, struct mt_out *o)
{
    while (s < end) {
        const char *open = strstr(s, "{{"), *close = open != NULL ? strstr(open, "}}") : NULL;
        if (close == NULL || open >= end)
            break;
        mt_put(o, s, (size_t)(open - s));
        if (!put_slot(p, o, open + 2, (size_t)(close - open - 2)))
            o->error =
                o->error != 0 ? o->error : EINVAL; /* a mark of the template that nothing fills */
        s = close + 2;
    }
    mt_put(o, s, (size_t)(end - s));
}

static void put_page(const struct mt_page *p, const struct mt_asset *page, struct mt_out *o)
{
    const char *s = (const char *)page->data;
    put_slots(p, s, s + page->size, o);
}

/* Whether it is written, because all data have room in it for certain: what is before them is in
 * memory then, and need not be drawn twice. */
static bool put_whole(const struct mt_page *p, const struct mt_asset *page,
                      const struct mt_page_plan *plan, struct mt_out *o)
{
    enum { REST = 256 << 10 }; /* of the script, 60 KB, and what the index has beside the tracks */
    const char *s = (const char *)page->data, *end = s + page->size, *data = strstr(s, "{{data}}");
    uint64_t cost = mt_page_plan_cost(plan) + REST + mt_blob_cost(&plan->report);
    struct mt_out drawn;
    bool fits, partial = false;
    for (uint32_t i = 0; i < plan->ledger.n; i++)
        cost += mt_blob_cost(&plan->ledger.p[i]);
    for (uint32_t i = 0; i < plan->track.n; i++) {
        cost += mt_blob_cost(&plan->track.p[i].nvtx);
        partial = partial || plan->track.p[i].pack->partial;
    }
    if (partial || data == NULL || cost > plan->max_size || !mt_out_mem(&drawn))
        return false;
    put_slots(p, s, data, &drawn);
    fits = mt_out_finish(&drawn) == 0 && drawn.n + cost <= plan->max_size;
    if (fits) {
        mt_put(o, drawn.buf, drawn.used);
        put_slots(p, data, end, o);
    }
    mt_out_done(&drawn);
    return fits;
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
    uint64_t all, least;
    struct mt_out o = {.write = forget};
    if (!mt_page_plan_settle(plan, p->r))
        return ENOMEM;
    mt_page_plan_clear(plan);
    least = mt_page_plan_cost(plan);
    put_page(p, page, &o);
    if (mt_out_finish(&o) != 0)
        return o.error;
    all = o.n + MARGIN < plan->max_size ? plan->max_size - o.n - MARGIN : 0;
    return mt_page_plan_fit(plan, p->r, all + least) ? 0 : ENOMEM;
}

/* One rank whose data are a part of what may be there. */
static bool is_small(const struct mt_page *p, const struct mt_page_plan *plan)
{
    return plan->max_size == 0 ||
           (p->r->diagnosis->ranks.n <= 1 && mt_page_plan_cost(plan) < plan->max_size / 4);
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
    if (error == 0)
        error = mt_page_plan_begin(&plan, r);
    if (error == 0) {
        mt_palette_build(&p.pal, r);
        if (is_small(&p, &plan))
            put_page(&p, page, o);
        else if (!put_whole(&p, page, &plan, o) && (error = fit(&p, page, &plan)) == 0)
            put_page(&p, page, o);
    }
    if (error != 0)
        o->error = o->error != 0 ? o->error : error;
    if (page != NULL)
        mt_page_plan_done(&plan);
}
