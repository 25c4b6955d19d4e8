/* input/trace.h -- shared by input/trace.c and input/members.c only. */
#ifndef MT_INPUT_TRACE_H
#define MT_INPUT_TRACE_H

#include "parser/input/impl.h"
#include "parser/input/inflate.h"
#include "parser/model/wire.h"

/* ---- input/members.c ---- */

struct mt_members {
    struct mt_source *up;
    const struct mt_raw *raw;
    struct mt_losses *losses;
    uint32_t max_ratio;
    struct mt_inflater f;
    unsigned char *chunk; /* the current one, whole and checked */
    size_t n, cap;
    uint64_t at; /* offset of its member */
    size_t size; /* and its bytes: at up->cur until the next call */
    uint64_t out, wasted;
    enum mt_rc rc; /* < 0: the stream broke, err says why */
    struct mt_err err;
};
int mt_member_next(struct mt_members *m); /* 1 = a chunk; 0 = the end, or m->rc */
const unsigned char *mt_member_find(const unsigned char *p, const unsigned char *end);

#endif
