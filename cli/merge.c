#include "cli/merge.h"

#include "cli/cli.h"
#include "parser/saved/edit.h"
#include "parser/saved/report.h"
#include "render/json/ranks.h"

#include <string.h>

static int no_memory(void)
{
    mt_say("out of memory; raise --max-memory");
    return 0;
}

/* Who failed first speaks, else who holds the most: also where only a log or the driver saw it. Of
 * equal ones the lowest rank: nothing depends on the order of the inputs. */
static bool speaks(const struct mt_merge *m, const struct mt_fleet_row *a)
{
    const struct mt_fleet_row *b = &m->fleet.rows.p[m->lead_row];
    uint64_t x = a->known ? a->live : 0, y = b->known ? b->live : 0;
    if (!a->failed && !b->failed && x != y)
        return x > y;
    return mt_fleet_before(a, b);
}

int mt_merge_add(struct mt_merge *m, struct mt_saved *report, const char *name)
{
    uint32_t first = m->fleet.rows.n;
    bool leads = m->lead == NULL || (!m->has_row && strcmp(name, m->lead_name) < 0);
    char *copy;
    if (!mt_fleet_of_saved(&m->fleet, report->root, name)) {
        mt_saved_free(report);
        return no_memory();
    }
    m->n++;
    for (uint32_t i = first; i < m->fleet.rows.n; i++)
        if (!m->has_row || speaks(m, &m->fleet.rows.p[i])) {
            m->lead_row = i;
            m->has_row = leads = true;
        }
    if (!leads) {
        mt_saved_free(report);
        return 1;
    }
    copy = mt_strndup(name, strlen(name));
    mt_saved_free(m->lead);
    mt_free(m->lead_name);
    m->lead = report;
    m->lead_name = copy;
    return copy != NULL || no_memory();
}

/* "ranks" of all, written for the lead's report. */
static int ranks_text(struct mt_out *o, const struct mt_merge *m)
{
    struct mt_jsonw w;
    if (!mt_out_mem(o))
        return 0;
    mt_jw_init(&w, o, false);
    mt_json_ranks(&w, &m->fleet);
    return mt_out_finish(o) == 0;
}

static int quoted(struct mt_out *o, const char *command)
{
    struct mt_jsonw w;
    if (!mt_out_mem(o))
        return 0;
    mt_jw_init(&w, o, false);
    mt_jw_s(&w, command);
    return mt_out_finish(o) == 0;
}

static enum mt_rc write_merged(struct mt_merge *m, const char *ranks, const char *command,
                               struct mt_err *err)
{
    struct mt_text text = {0}, member = {0};
    struct mt_saved *merged = NULL;
    enum mt_rc rc = MT_ENOMEM;
    bool has = mt_value_in(m->lead->root, "ranks") != NULL;
    struct mt_saved_edit edits[4];
    uint32_t n = 0;
    mt_text_add(&member, "\"ranks\":", 8);
    mt_text_add(&member, ranks, strlen(ranks));
    edits[n++] = (struct mt_saved_edit){"provenance.command", UINT32_MAX, command, NULL, NULL};
    if (has)
        edits[n++] = (struct mt_saved_edit){"ranks", UINT32_MAX, ranks, NULL, NULL};
    else if (!member.failed)
        edits[n++] = (struct mt_saved_edit){"", UINT32_MAX, NULL, NULL, member.p};
    if (m->fleet.problems.n != 0 || has) /* of a part it said what that part lacks */
        edits[n++] = (struct mt_saved_edit){
            "quality.damaged", UINT32_MAX, m->fleet.problems.n != 0 ? "true" : "false", NULL, NULL};
    mt_saved_edited(&text, m->lead->text, m->lead->n, edits, n);
    if (!text.failed && !member.failed) {
        mt_saved_free(m->lead);
        m->lead = NULL;
        rc = mt_saved_text(&merged, text.p, text.n, err);
        m->lead = merged;
    }
    mt_text_done(&text);
    mt_text_done(&member);
    return rc;
}

int mt_merge_finish(struct mt_merge *m, const char *command)
{
    struct mt_out ranks = {0}, made = {0};
    struct mt_err err = {.rc = MT_ENOMEM, .msg = "out of memory; raise --max-memory"};
    enum mt_rc rc = MT_ENOMEM;
    if (m->n < 2)
        return 1;
    if (!mt_fleet_finish(&m->fleet) || !mt_fleet_check(&m->fleet))
        return no_memory();
    for (uint32_t i = 0; i < m->fleet.problems.n; i++)
        mt_say("warning: %s", m->fleet.problems.p[i]);
    m->damaged = m->fleet.problems.n != 0;
    if (ranks_text(&ranks, m) && quoted(&made, command))
        rc = write_merged(m, (const char *)ranks.buf, (const char *)made.buf, &err);
    mt_out_done(&ranks);
    mt_out_done(&made);
    if (rc != MT_OK)
        mt_say_err(NULL, &err);
    return rc == MT_OK;
}

void mt_merge_done(struct mt_merge *m)
{
    mt_fleet_done(&m->fleet);
    mt_saved_free(m->lead);
    mt_free(m->lead_name);
    mt_free(m->unredacted);
}
