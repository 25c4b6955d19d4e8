/* story.h -- a failed request in at most five steps: what was born when and is live still, with
 * what the phase began, what asked and what was free. In the order of their events. */
#ifndef MT_STORY_H
#define MT_STORY_H

#include "render/view/view.h"

enum { MT_STORY_STEPS = 5, MT_STORY_WORDS = 512 };
struct mt_story {
    unsigned n; /* 0: no request failed, or the curve is not known */
    struct {
        int64_t event; /* -1: before the recording */
        uint64_t bytes;
        char words[MT_STORY_WORDS];
    } step[MT_STORY_STEPS];
    /* events to look at first, so that the failure is seen from near; from = to: all of them */
    uint64_t from, to;
};
void mt_story_of(struct mt_story *s, const struct mt_device_analysis *d);

#endif
