#include "render/html/page_data.h"

#include "parser/base/digits.h"
#include "render/html/page_index.h"
#include "render/html/script.h"

#include <inttypes.h>

static void put_block(struct mt_out *o, const struct mt_blob *b, char scope, uint32_t id,
                      const char *name)
{
    if (b->p == NULL)
        return;
    mt_putf(o, "<script type=\"text/plain\" id=\"mt-%c%" PRIu32 "%s\">", scope, id, name);
    mt_base64(o, b->p, b->n);
    mt_puts(o, "</script>\n");
}

static void put_numbered(struct mt_out *o, const struct mt_blob *b, uint32_t track, char what,
                         uint32_t number)
{
    char name[24];
    char *at = name + sizeof name;
    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    *--at = what;
    *--at = '-';
    put_block(o, b, 't', track, at);
}

static void put_overview(struct mt_out *o, const struct mt_track_plan *t, uint32_t id)
{
    const struct mt_pack *p = t->pack;
    put_block(o, mt_plan_overview(t, &p->by_time), 't', id, "-o");
    put_block(o, mt_plan_overview(t, &p->by_event), 't', id, "-e");
    put_block(o, &p->phases, 't', id, "-p");
    if (t->detail != MT_DETAIL_NONE)
        put_block(o, &p->sites, 't', id, "-s");
    if (t->detail != MT_DETAIL_NONE && t->addresses)
        put_block(o, &p->places, 't', id, "-d");
}

static void put_events(struct mt_out *o, const struct mt_track_plan *t, uint32_t id)
{
    const struct mt_pack *p = t->pack;
    uint32_t run = 0, chunk = 0;
    bool inside = false;
    for (uint32_t i = 0; i < p->chunks.n; i++) {
        const struct mt_pack_chunk *c = &p->chunks.p[i];
        if (!mt_plan_has(t, i)) {
            inside = false;
            continue;
        }
        if (!inside)
            put_numbered(o, &c->key, id, 'r', run++);
        inside = true;
        put_numbered(o, &c->events, id, 'c', chunk);
        put_numbered(o, mt_chunk_times(c, t->coarse), id, 't', chunk);
        put_numbered(o, &c->rest, id, 'm', chunk);
        if (t->addresses)
            put_numbered(o, &c->addresses, id, 'a', chunk);
        chunk++;
    }
}

/* Who has the page has all numbers of the report: parser/input/html.c reads them. */
static void put_report(const struct mt_page_plan *plan, struct mt_out *o)
{
    mt_puts(o, "<script type=\"text/plain\" id=\"mt-report\"" MT_BASE85_HEAD);
    mt_base85(o, plan->report.p, plan->report.n);
    mt_puts(o, "</script>\n");
}

static bool has_events(const struct mt_track_plan *t)
{
    for (uint32_t i = 0; i < t->pack->chunks.n; i++)
        if (mt_plan_has(t, i))
            return true;
    return false;
}

void mt_page_worker(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_page_plan *plan = p->plan;
    bool now = false;
    if (!mt_page_is_alive(p))
        return;
    for (uint32_t i = 0; i < plan->track.n; i++)
        now = now || has_events(&plan->track.p[i]);
    for (uint32_t i = 0; i < plan->calls.n; i++)
        now = now || has_events(&plan->calls.p[i].track);
    mt_puts(o, now ? "<script id=\"mt-worker\" data-now=\"1\">" : "<script id=\"mt-worker\">");
    (void)mt_script_put(o, MT_SCRIPT_WORKER);
    mt_puts(o, "</script>\n");
}

/* The script comes last: what it reads is there when it runs. */
void mt_page_data(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_page_plan *plan = p->plan;
    if (!mt_page_is_alive(p)) {
        put_report(plan, o);
        return;
    }
    mt_puts(o, "<script type=\"application/json\" id=\"mt-index\">");
    mt_page_index(p, plan, o);
    mt_puts(o, "</script>\n");
    for (uint32_t i = 0; i < plan->track.n; i++)
        put_overview(o, &plan->track.p[i], i);
    for (uint32_t i = 0; i < plan->calls.n; i++)
        put_overview(o, &plan->calls.p[i].track, plan->track.n + i);
    for (uint32_t i = 0; i < plan->ledger.n; i++)
        put_block(o, &plan->ledger.p[i], 'g', i, "");
    for (uint32_t i = 0; i < plan->track.n; i++)
        put_block(o, &plan->track.p[i].nvtx, 't', i, "-n");
    put_report(plan, o);
    for (uint32_t i = 0; i < plan->track.n; i++)
        put_events(o, &plan->track.p[i], i);
    for (uint32_t i = 0; i < plan->calls.n; i++)
        put_events(o, &plan->calls.p[i].track, plan->track.n + i);
    mt_puts(o, "<script>");
    (void)mt_script_put(o, MT_SCRIPT_PAGE);
    mt_puts(o, "</script>\n");
}
