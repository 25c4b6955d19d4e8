#include "render/view/story.h"

#include "render/base/escape.h"
#include "render/view/diagnosis.h"
#include "render/view/rows.h"

#include <stdio.h>

enum {
    HOLDERS = 3, /* of which a step tells */
    NEAR = 300   /* events before the failure that are looked at first, or an eighth of all */
};

static void put(struct mt_story *s, int64_t event, uint64_t bytes, const char *words)
{
    unsigned at = s->n;
    while (at > 0 && s->step[at - 1].event > event)
        at--;
    for (unsigned i = s->n++; i > at; i--)
        s->step[i] = s->step[i - 1];
    s->step[at].event = event;
    s->step[at].bytes = bytes;
    (void)snprintf(s->step[at].words, MT_STORY_WORDS, "%s", words);
}

static void born(struct mt_story *s, const struct mt_device_analysis *d)
{
    char words[MT_STORY_WORDS], size[32];
    for (uint32_t i = 0; i < d->owners.n && i < HOLDERS; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        struct mt_phase_in_words phase = mt_phase_in_words(o->attr.phase, o->attr.sub, false);
        bool before = o->first_event == UINT64_MAX;
        mt_fmt_bytes(size, o->bytes);
        if (before)
            (void)snprintf(words, sizeof words, "%s is there when the recording begins: %.300s.",
                           size, o->label);
        else
            (void)snprintf(words, sizeof words, "%.60s takes %s: %.300s.", phase.s, size, o->label);
        put(s, before ? -1 : (int64_t)o->first_event, o->bytes, words);
    }
}

/* Of the phase that the request was made in, in one stretch; NULL where none is known. */
static const struct mt_occurrence *stretch(const struct mt_device_analysis *d, uint64_t event)
{
    for (uint32_t i = 0; i < d->roles.occurrences.n; i++) {
        const struct mt_occurrence *o = &d->roles.occurrences.p[i];
        if (o->first <= event && event <= o->last)
            return o;
    }
    return NULL;
}

static void begun(struct mt_story *s, const struct mt_device_analysis *d,
                  const struct mt_occurrence *o)
{
    char words[MT_STORY_WORDS], list[256], size[32], name[MT_WORDS];
    uint64_t idle[MT_ROLE_COUNT], sum = 0;
    int n;
    if (o == NULL || o->first == 0)
        return;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        sum += idle[r] = mt_role_idle(r, d->roles.at_focus[r], (enum mt_phase)o->phase);
    n = snprintf(words, sizeof words, "%.60s begins with %s live", mt_occ_name(name, d, o->phase),
                 mt_fmt_bytes(size, o->live_begin));
    if (sum != 0 && n > 0)
        (void)snprintf(words + n, sizeof words - (size_t)n, "; it has no use for %s.",
                       mt_role_words_list(list, sizeof list, idle, 3));
    else if (n > 0)
        (void)snprintf(words + n, sizeof words - (size_t)n, ".");
    put(s, (int64_t)o->first, o->live_begin, words);
}

void mt_story_of(struct mt_story *s, const struct mt_device_analysis *d)
{
    char words[MT_STORY_WORDS], asked[40], left[32];
    const struct mt_oom *oom;
    const struct mt_occurrence *o;
    uint64_t near = d->n_events / 8 > NEAR ? d->n_events / 8 : NEAR;
    s->n = 0;
    s->from = s->to = 0;
    if (!d->focus_is_oom || d->ooms.n == 0 || d->withheld != NULL || d->end_state_only)
        return;
    oom = &d->ooms.p[0];
    o = stretch(d, oom->event);
    born(s, d);
    begun(s, d, o);
    (void)snprintf(words, sizeof words, "It asks for %s%s%.300s; %s is free on the device.",
                   mt_row_request(asked, oom), oom->label != NULL ? " at " : "",
                   oom->label != NULL ? oom->label : "", mt_fmt_bytes(left, oom->device_free));
    put(s, (int64_t)oom->event, oom->request, words);
    if (oom->event > near * 2) {
        s->from = o != NULL && o->first + near > oom->event ? o->first : oom->event - near;
        s->to = oom->event + (oom->event - s->from) / 16 + 1;
    }
}
