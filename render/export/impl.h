/* export/impl.h -- what the files of the exports share; nobody else includes it. */
#ifndef MT_EXPORT_IMPL_H
#define MT_EXPORT_IMPL_H

#include "render/export/export.h"

#include <stddef.h>

void mt_export_perfetto(const struct mt_export *x, const struct mt_report *r, struct mt_out *o);
void mt_export_speedscope(const struct mt_export *x, const struct mt_report *r, struct mt_out *o);
void mt_export_folded(const struct mt_export *x, const struct mt_report *r, struct mt_out *o);

/* The track of a device of the analysis of a rank; NULL = none. */
const struct mt_export_track *mt_export_track_of(const struct mt_export *x,
                                                 const struct mt_rank *rank, uint32_t device);
/* "rank 3, GPU 0", with the file's name where no rank is known and there are several. buf of cap;
 * returns it. */
char *mt_export_track_name(char *buf, size_t cap, const struct mt_report *r,
                           const struct mt_rank *rank, const struct mt_device_analysis *d);

/* Outermost frames beyond this many are left out of a stack, and one that says so takes their
 * place. */
#define MT_EXPORT_DEPTH 512u
/* The frames of a stack, outermost first; how many there are in *n, how many outer ones were left
 * out in *cut. */
void mt_export_frames(const struct mt_trace *t, mt_stack_id s, mt_frame_id out[MT_EXPORT_DEPTH],
                      uint32_t *n, uint32_t *cut);
/* "update_actor (workers/fsdp_workers.py:612)" into buf; returns it. */
char *mt_export_frame_words(char *buf, size_t cap, const struct mt_trace *t, mt_frame_id f);
const char *mt_export_no_frame_words(mt_stack_id s); /* why a weight has no frames */

/* Events of a Chrome trace. */
#define MT_CHROME_TIDS 100u /* threads of one process, at most */
struct mt_jsonw;
struct mt_chrome {
    struct mt_jsonw *w;
    uint64_t t0_ns; /* of ts 0 */
    uint32_t pid;
    uint64_t n_left_out; /* slices of the driver's that found no lane */
};
void mt_chrome_open(struct mt_chrome *c, const char *ph, const char *name, size_t n_name,
                    uint32_t tid); /* "args" is left open */
void mt_chrome_close(struct mt_chrome *c);
void mt_chrome_ts(struct mt_chrome *c, bool by_time, uint64_t x);
/* "dur" of a slice from x0 to x1 */
void mt_chrome_dur(struct mt_chrome *c, bool by_time, uint64_t x0, uint64_t x1);
void mt_chrome_process(struct mt_chrome *c, const char *name); /* the next pid */
void mt_chrome_name(struct mt_chrome *c, const char *what, uint32_t tid, const char *name);
void mt_chrome_counter(struct mt_chrome *c, const char *name, bool by_time, uint64_t x,
                       int64_t value);
void mt_chrome_slice(struct mt_chrome *c, const char *name, size_t n_name, uint32_t tid,
                     bool by_time, uint64_t x0, uint64_t x1);
/* export/driver.c: what the driver saw */
void mt_chrome_driver(struct mt_chrome *c, const struct mt_driverdiag *j);

#endif
