/* Who holds most of what is live, in the words of the verdict: a role, a line, and a function whose
 * lines together have far more than any of them. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

/* Adds "; the largest part, 38.00 GiB, is optimizer state"; false: no role is known of a part that
 * is worth a word, a tenth. */
static bool add_role(struct mt_sentence *t, const struct mt_device_analysis *d)
{
    enum { WORTH = 10 };
    const uint64_t *bytes = d->roles.at_focus;
    uint8_t by[MT_ROLE_COUNT];
    unsigned n = mt_role_order(bytes, by);
    uint64_t gaps = bytes[MT_ROLE_BEFORE] + bytes[MT_ROLE_UNKNOWN];
    if (d->kind == MT_DEV_HOST) /* all of it is pinned */
        return false;
    if (n == 0 || mt_role_is_gap(by[0]) || bytes[by[0]] < d->focus.live / WORTH)
        return false;
    mt_words_add(t, "; the largest part%s, %s, is %s",
                 gaps > bytes[by[0]] ? " whose use is known" : "", MT_BYTES(bytes[by[0]]),
                 mt_role_words((enum mt_role)by[0]));
    return true;
}

/* Code or the job itself says what it is. */
static bool is_told(const struct mt_owner *o) { return o->stack != 0 || o->is_named; }

/* The function that an owner's line is in, where the line is the job's own and the function is more
 * than a piece of a model: one that PyTorch calls, as a module's forward, has the name of all
 * others in its file. */
static bool function_of(const struct mt_trace *t, const struct mt_owner *o, mt_frame_id *frame)
{
    const char *name;
    mt_stack_id s = o->stack;
    if (s == 0 || mt_stack_site(t, NULL, s, frame) != MT_SITE_PYTHON ||
        (mt_file_kind(NULL, t, t->frames.p[*frame].file) & MT_FILE_INTERNAL) != 0)
        return false;
    while (s != 0 && t->stacks.p[s].frame != *frame)
        s = t->stacks.p[s].parent;
    for (s = s != 0 ? t->stacks.p[s].parent : 0; s != 0; s = t->stacks.p[s].parent) {
        unsigned kind = mt_file_kind(NULL, t, t->frames.p[t->stacks.p[s].frame].file);
        if ((kind & MT_FILE_INTERNAL) != 0)
            return false;
        if ((kind & MT_FILE_PYTHON) != 0)
            break;
    }
    name = mt_str(t, t->frames.p[*frame].name);
    return s != 0 && name[0] != '<' && strncmp(name, "__", 2) != 0;
}

/* Adds ", and all lines of quant.py fake_quant together have 5.05 GiB": what one function made by
 * several lines, where that is far more than the largest line alone. */
static void add_function(struct mt_sentence *t, const struct mt_trace *trace,
                         const struct mt_device_analysis *d)
{
    enum { LOOK_AT = 64, TIMES = 2 }; /* chosen by hand */
    struct {
        mt_frame_id frame;
        uint64_t bytes;
        uint32_t lines;
    } of[LOOK_AT];
    uint32_t n = 0, best = 0;
    struct mt_frame_view v;
    char shown[MT_LABEL], function[MT_LABEL];
    for (uint32_t i = 0; i < d->owners.n && i < LOOK_AT; i++) {
        mt_frame_id frame;
        uint32_t k = 0;
        if (!function_of(trace, &d->owners.p[i], &frame))
            continue;
        while (k < n && !mt_frames_are_one_function(trace, of[k].frame, frame))
            k++;
        if (k == n) {
            of[n].frame = frame;
            of[n].bytes = 0;
            of[n++].lines = 0;
        }
        of[k].bytes += d->owners.p[i].bytes;
        of[k].lines++;
    }
    for (uint32_t k = 1; k < n; k++)
        if (of[k].lines > 1 && (of[best].lines < 2 || of[k].bytes > of[best].bytes))
            best = k;
    if (n == 0 || of[best].lines < 2 || of[best].bytes / TIMES < d->owners.p[0].bytes)
        return;
    mt_frame_describe(trace, of[best].frame, &v);
    (void)snprintf(function, sizeof function, "%s %s", v.file, v.name);
    mt_words_add(t, ", and all lines of %s together have %s", mt_words_label(shown, function),
                 MT_BYTES(of[best].bytes));
}

/* Adds "; the largest holder, with 6.00 GiB, is models.py:174 update_nodes". */
void mt_verdict_holder(struct mt_sentence *t, const struct mt_analysis *a,
                       const struct mt_device_analysis *d)
{
    const struct mt_owner *o = NULL;
    char label[MT_LABEL];
    bool told = add_role(t, d);
    for (uint32_t i = 0; i < d->owners.n && o == NULL; i++) /* name code when there is any */
        if (is_told(&d->owners.p[i]))
            o = &d->owners.p[i];
    if (d->owners.n == 0)
        return;
    if (o == NULL || o->bytes * 10 < d->owners.p[0].bytes)
        o = &d->owners.p[0];
    if (is_told(o)) {
        mt_words_add(t, "; %sthe largest holder, with %s, is %s",
                     is_told(&d->owners.p[0]) ? "" : "of what has a stack, ", MT_BYTES(o->bytes),
                     mt_words_label(label, o->label));
        add_function(t, a->trace, d);
    } else if (!told)
        mt_words_add(t, "; no stack was recorded for %s%s",
                     o->bytes >= d->focus.live ? "any of it" : "most of it: ",
                     o->bytes >= d->focus.live ? "" : MT_BYTES(o->bytes));
}
