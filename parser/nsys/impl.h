/* nsys/impl.h -- what the files of this room share: one database that Nsight Systems exported, on
 * its way to struct mt_driver.
 *
 * Tables and columns by `nsys export --type sqlite` of 2021 to 2026. Times are ns since the session
 * began; a process is the upper 40 bits of globalPid and globalTid, its pid 24 bits of these. */
#ifndef MT_NSYS_IMPL_H
#define MT_NSYS_IMPL_H

#include "parser/base/source.h"
#include "parser/model/driver.h"

#include <sqlite3.h>

struct mt_ns_card { /* a row of TARGET_INFO_GPU */
    int64_t id;
    struct mt_gpu gpu;
};
struct mt_ns_view { /* a row of TARGET_INFO_CUDA_DEVICE: how a process numbers a card */
    int64_t pid, ordinal, id;
};

struct mt_ns {
    struct mt_source *src;
    const struct mt_limits *lim;
    struct mt_trace *t;
    struct mt_driver *d;
    struct mt_err *err;
    sqlite3 *db;
    sqlite3_vfs vfs; /* how db reads `bytes` */
    char vfs_name[40];
    unsigned char *bytes; /* the whole file: what is in it lies anywhere */
    size_t n_bytes;
    uint64_t steps, n_rows;
    int64_t epoch_ns; /* when the session began; 0 = not said */
    mt_str_id host;
    MT_VEC(struct mt_ns_card) cards;
    MT_VEC(struct mt_ns_view) views;
    enum mt_ns_option { MT_NS_UNSAID, MT_NS_OFF, MT_NS_ON } memory_usage; /* --cuda-memory-usage */
    uint32_t last_process; /* the answer to the last question */
    uint64_t n_host, n_odd, n_failed, n_events;
    bool fatal; /* err says why */
};

/* ---- bytes.c ---- */

/* m->db on m->bytes, which stay where they are until it is closed; a code of SQLite's. */
int mt_ns_open_bytes(struct mt_ns *m);

/* ---- db.c ---- */

int mt_ns_open(struct mt_ns *m);
void mt_ns_close(struct mt_ns *m);
bool mt_ns_has(struct mt_ns *m, const char *table); /* a table, not a view */
/* One SELECT, of the first of these texts that fits the tables; NULL = none does, or m->fatal. */
sqlite3_stmt *mt_ns_select(struct mt_ns *m, const char *const *texts);
/* The next row: 1; 0 = none follows, what is damaged is said, or m->fatal. */
int mt_ns_next(struct mt_ns *m, sqlite3_stmt *s);
/* A text of the row, at most `most` bytes of it; 0 = out of memory, m->fatal. */
int mt_ns_text(struct mt_ns *m, sqlite3_stmt *s, int column, size_t most, mt_str_id *id);
int mt_ns_nomem(struct mt_ns *m);

/* ---- session.c: when and where it was, its cards; how processes are called ---- */
int mt_ns_session(struct mt_ns *m);
int mt_ns_processes(struct mt_ns *m);

/* ---- calls.c ---- */
uint64_t mt_ns_time(const struct mt_ns *m, int64_t ns);
/* MT_NONE32 with m->fatal: out of memory. */
uint32_t mt_ns_process(struct mt_ns *m, int64_t global);
int mt_ns_events(struct mt_ns *m);
int mt_ns_failures(struct mt_ns *m); /* calls that failed for want of memory */

/* ---- ranges.c: NVTX ---- */
int mt_ns_ranges(struct mt_ns *m);

/* ---- order.c: everything into the order that driver.h promises ---- */
int mt_ns_order(struct mt_ns *m);

#endif
