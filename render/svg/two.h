/* svg/two.h -- live memory of two runs over one axis. Presentation attributes only, as in
 * svg/timeline.h. */
#ifndef MT_SVG_TWO_H
#define MT_SVG_TWO_H

#include "render/base/out.h"

#include <stdbool.h>

enum { mt_two_part_color = 3 }; /* of the palette: of the part of the second, an area */
struct mt_two_curve {
    const char *name;     /* of the run; not escaped yet */
    const uint64_t *live; /* n columns, each at its highest */
    uint32_t n;
    uint64_t span; /* of all columns: ns, or events */
    uint64_t peak; /* of the curve */
    /* where a request failed first, from the beginning, as span; only with has_oom */
    uint64_t oom;
    bool has_oom;
    const uint64_t
        *part; /* n, of live: what is to be seen apart (of the first its edge, dashed); NULL */
};
struct mt_two {
    struct mt_two_curve run[2];
    bool by_time;      /* span is in ns */
    bool by_share;     /* one run is far longer: each goes from its beginning to its end */
    uint64_t capacity; /* of the card of both; 0 = not known, or not the same */
    const char *what, *which[2]; /* "Live memory of two steps"; "step 5", "step 6" */
    const char *x_from;          /* where the axis begins: "the beginning of each run" */
};
/* Nothing where neither has a column. */
void mt_svg_two(struct mt_out *o, const struct mt_two *t);

#endif
