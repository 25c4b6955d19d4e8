/* top.h -- what `memtrace top` shows: recordings that go on, added up by GPU and owner. */
#ifndef MT_CLI_TOP_H
#define MT_CLI_TOP_H

#include "analysis/ledger/driver.h"
#include "analysis/phases/phases.h"
#include "capture/live.h"
#include "cli/cli.h"

enum { MT_TOP_WINDOW = 60 }; /* seconds of growth */

struct mt_top_owner {
    enum mt_holder holder;
    char *library; /* NULL where the holder says it all */
};
struct mt_top_row { /* an owner on a GPU, all processes */
    uint32_t owner;
    int64_t bytes, grown; /* grown: within the window */
};
struct mt_top_device {
    const char *host, *uuid, *name; /* borrowed from the recording */
    uint32_t index;
    uint64_t total, sampled; /* sampled: when; 0 = never */
    /* By the last sample: used, and of it what processes that are not recorded hold, as NVML
     * tells. */
    int64_t sampled_used, other;
    int64_t recorded, recorded_then; /* by the calls: now, and when the processes sampled last */
    uint32_t n_processes;
    bool knows_others;              /* NVML's ids are those of the recording */
    enum mt_phase phase;            /* of the process that holds most here */
    int64_t most;                   /* what that is */
    MT_VEC(struct mt_top_row) rows; /* largest first */
};
/* One process's owner on a GPU. */
struct mt_top_what {
    const struct mt_live_process *process; /* NULL = there is none */
    const struct mt_top_device *device;    /* NULL = not known */
    uint32_t owner;
    int32_t ordinal;
    int64_t bytes; /* asked for; grown */
    uint64_t time_ns, span_ns;
};
struct mt_top {
    MT_VEC(struct mt_live *) lives;
    MT_VEC(struct mt_top_owner) owners;
    struct mt_owner_rules *rules;
    const struct mt_phase_rules *phases;
    MT_VEC(struct mt_top_name) names; /* of ranges, and their phases */
    /* as of the last mt_top_add_up() */
    uint64_t now;
    MT_VEC(struct mt_top_device) devices; /* by host and index */
    uint32_t n_processes;                 /* that run and have used a GPU */
    uint64_t n_failures, n_lost;
    struct mt_top_what failure, growth; /* the last; the steepest */
};
struct mt_top_name {
    char *name;
    enum mt_phase phase;
};

/* top_model.c. 1 on success, 0 = out of memory. */
int mt_top_add_up(struct mt_top *t);
void mt_top_done(struct mt_top *t);
/* For mt_live_opts.owner; arg is the struct mt_top. */
uint32_t mt_top_owner(void *arg, struct mt_live_process *p, const struct mt_live_frame *f,
                      uint32_t n);
/* Of a process now: its own open ranges; MT_PH_NONE = they do not tell. */
enum mt_phase mt_top_phase(struct mt_top *t, const struct mt_live_process *p);
/* The same, else that of the processes without a GPU, which drive the job. */
enum mt_phase mt_top_phase_or_guide(struct mt_top *t, const struct mt_live_process *p);
int64_t mt_top_held(const struct mt_live_process *p); /* by its recorded calls */
/* The last sample, moved by what was recorded since; and what of it is not named. Both 0 without a
 * sample. used = recorded + other + rest. */
int64_t mt_top_used(const struct mt_top_device *d);
int64_t mt_top_rest(const struct mt_top_device *d);
/* "NCCL (libnccl.so.2)"; buf of MT_WHO */
const char *mt_top_owner_words(const struct mt_top *t, uint32_t owner, char buf[MT_WHO]);
const char *mt_top_process_words(const struct mt_live_process *p, char buf[MT_WHO]);

/* top_text.c; rows: lines there is room for, 0 = any number */
void mt_top_text(struct mt_top *t, struct mt_out *o, int rows);
/* top_json.c: one line */
void mt_top_json(struct mt_top *t, struct mt_out *o);

#endif
