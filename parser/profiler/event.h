/* profiler/event.h -- what one event of a Chrome trace says, and the two ways to read it. */
#ifndef MT_PROFILER_EVENT_H
#define MT_PROFILER_EVENT_H

#include "parser/profiler/cursor.h"

enum mt_pf_kind {
    MT_PF_K_UNKNOWN,
    MT_PF_K_OP,
    MT_PF_K_PYTHON,
    MT_PF_K_ANNOTATION,
    MT_PF_K_INSTANT,
    MT_PF_K_OTHER
};

/* What the arguments of a memory event say. PyTorch's numbers of kinds of devices,
 * c10/core/DeviceType.h: 0 is the CPU. */
struct mt_pf_said {
    int64_t bytes, type, id, allocated, reserved;
    uint64_t addr;
    bool has_bytes, has_addr;
};

/* What an event says of itself. */
struct mt_pf_event {
    char ph;
    enum mt_pf_kind kind;
    bool old_op;   /* "Operator", before 1.11: user annotations are among them */
    bool is_plain; /* no escape is in its name */
    bool has_said; /* it is a memory event, whose arguments are read */
    struct mt_pf_text name, args;
    int64_t ts, dur, tid;
    bool has_ts, has_tid;
    int64_t pid; /* 0 = none, or none that is a number */
    struct mt_pf_said said;
};

/* Where the event before was: the same text is not read again. Zeroed = none. */
struct mt_pf_before {
    unsigned char place[48]; /* from the process's number to the time */
    unsigned n_place;        /* 0 = none */
    int64_t pid, tid;        /* what the place says */
};

/* written.c: byte for byte as libkineto lays it out, members in its order, which is nearly all of
 * them. p at '{'. 1 = of interest, 0 = not, -1 = it is laid out in another way, or not whole before
 * the end; then nothing in *e counts. *behind (set whatever is returned): what follows its '}',
 * where a look at the brackets shows it; else NULL. */
int mt_pf_written(const unsigned char *p, const unsigned char *end, struct mt_pf_before *before,
                  struct mt_pf_event *e, const unsigned char **behind);
/* Its arguments, of a memory event: names and numbers on one line, in any order. */
bool mt_pf_written_args(struct mt_pf_cursor *c, struct mt_pf_said *s);

#endif
