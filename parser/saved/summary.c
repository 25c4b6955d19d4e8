#include "parser/saved/summary.h"

#include "parser/saved/edit.h"
#include "parser/saved/value.h"

#include <stdio.h>
#include <string.h>

bool mt_saved_is_summary(const struct mt_saved *s)
{
    return mt_value_in(s->root, "summary") != NULL;
}

/* Lists that grow with the input, and how many members a summary has of each before any is halved.
 * Bytes at the moment that matters stay whole: roles, phases and pools of a usual rank are fewer.
 */
static const struct {
    const char *path;
    uint32_t most;
} lists[] = {
    {"devices", 4096},
    {"devices[].ooms", 8},
    {"devices[].ooms[].frames", 24},
    {"devices[].ooms[].forward_frames", 24},
    {"devices[].pools", 64},
    {"devices[].steps", 64},
    {"devices[].occurrences", 64},
    {"devices[].expected", 32},
    {"devices[].growth", 16},
    {"devices[].audits", 16},
    {"devices[].audits[].rows", 16},
    {"devices[].cause.evidence", 16},
    {"devices[].cause.pins", 8},
    {"phases", 256},
    {"owners", 64},
    {"owners[].frames", 24},
    {"owners[].forward_frames", 24},
    {"verdict.frames", 48},
    {"cause.pins", 8},
    {"advice", 32},
    {"after.choices", 16},
    {"settings", 256},
    {"lint", 64},
    {"logs", 16},
    {"logs[].facts", 32},
    {"job.processes", 64},
    {"job.ledgers", 16},
    {"job.ledgers[].checks", 32},
    {"job.failures", 16},
    {"job.sleeps", 32},
    {"quality.ignored", 16},
    {"quality.unreadable", 16},
    {"quality.inputs", 16},
    {"quality.inputs[].diagnoses", 16},
    {"provenance.inputs", 64},
    {"provenance.settings_files", 32},
};
enum { N_LISTS = sizeof lists / sizeof *lists };

void mt_saved_summary(struct mt_text *out, const struct mt_saved *s, uint32_t level, bool detail)
{
    enum { WITHOUT_CURVE = 3 };
    struct mt_saved_edit edits[N_LISTS + 3];
    char head[120];
    uint32_t n = 0;
    (void)snprintf(head, sizeof head, "\"summary\":{\"version\":%d,\"detail\":%s,\"halved\":%u}",
                   (int)MT_SUMMARY_VERSION, detail ? "true" : "false", (unsigned)level);
    if (mt_saved_is_summary(s))
        edits[n++] =
            (struct mt_saved_edit){"summary", UINT32_MAX, strchr(head, ':') + 1, NULL, NULL};
    else
        edits[n++] = (struct mt_saved_edit){"schema_version", UINT32_MAX, NULL, head, NULL};
    for (uint32_t i = 0; i < N_LISTS && !detail; i++)
        edits[n++] =
            (struct mt_saved_edit){lists[i].path, lists[i].most >> level, NULL, NULL, NULL};
    if (level >= WITHOUT_CURVE && !detail) {
        edits[n++] = (struct mt_saved_edit){"devices[].curve", UINT32_MAX, "null", NULL, NULL};
        edits[n++] =
            (struct mt_saved_edit){"job.ledgers[].columns", UINT32_MAX, "null", NULL, NULL};
    }
    mt_saved_edited(out, s->text, s->n, edits, n);
}
