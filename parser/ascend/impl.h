/* ascend/impl.h -- what the files of this room share: a table of what operators allocated on an
 * Ascend NPU, on its way to the builder. */
#ifndef MT_ASCEND_IMPL_H
#define MT_ASCEND_IMPL_H

#include "parser/profiler/feed.h"

/* The columns of interest. A table has those that its head names, in any order. */
enum mt_as_column {
    MT_AS_NAME,
    MT_AS_SIZE,
    MT_AS_BEGIN, /* when it was allocated */
    MT_AS_END,   /* when it was freed */
    MT_AS_ACTIVE_END,
    MT_AS_DURATION,
    MT_AS_ALLOCATED, /* in all, behind the allocation */
    MT_AS_RESERVED,
    MT_AS_ACTIVE,
    MT_AS_END_ALLOCATED, /* the same, behind the free */
    MT_AS_END_RESERVED,
    MT_AS_DEVICE,
    MT_AS_COLUMNS
};

enum { MT_AS_DEVICES = 1024 };

/* What was said of a sum, or that nothing was. */
#define MT_AS_UNKNOWN UINT64_MAX

struct mt_as_event {
    int64_t ts;     /* ns since the epoch */
    uint64_t place; /* of its row, and behind it whether it is the free */
    int64_t bytes;  /* below 0: freed */
    uint64_t addr;  /* made up, another one for each row */
    uint64_t allocated, reserved;
    mt_stack_id stack;
    int16_t device;
    bool is_graph; /* of the pool of CANN's graph engine, which has sums of its own */
};

struct mt_as {
    struct mt_builder *b;
    struct mt_trace *t;
    const struct mt_limits *lim;
    MT_VEC(struct mt_as_event) events;
    uint64_t n_rows, n_bad, n_other; /* other: of no NPU */
    uint64_t next_addr;
    bool has_graph;
};

/* play.c: the events to the builder, by time. False with *err set. */
bool mt_as_play(struct mt_as *a, struct mt_err *err);

#endif
