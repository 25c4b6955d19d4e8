/* export.h -- the same memory for other viewers: Chrome's JSON trace (ui.perfetto.dev), speedscope,
 * folded stacks.
 *
 * A struct mt_export is filled while devices are analysed (a struct mt_detail_hook), because events
 * and fates are given back afterwards: of the curve a bucket's highest instant, of a moment the
 * live bytes by stack. It refers to traces by pointer, which must outlive it (their events need
 * not). Sizes are requested bytes. docs/exports.md says what is in each format. */
#ifndef MT_EXPORT_H
#define MT_EXPORT_H

#include "analysis/facts/analysis.h"
#include "render/view/report.h"

enum mt_export_to { MT_EXPORT_PERFETTO, MT_EXPORT_SPEEDSCOPE, MT_EXPORT_FOLDED };
enum mt_export_at {
    MT_EXPORT_AT_DEFAULT, /* the peak; speedscope: also the failure and the peak of every phase */
    MT_EXPORT_AT_PEAK,
    MT_EXPORT_AT_OOM, /* the first one */
    MT_EXPORT_AT_EVENT
};

#define MT_EXPORT_BUCKETS 4000u
#define MT_EXPORT_MOMENTS 16u /* of one device */

struct mt_export_weight {
    mt_stack_id stack; /* MT_EXPORT_LOST = counted as live, but by no known block */
    uint64_t bytes, blocks;
};
#define MT_EXPORT_LOST UINT32_MAX

/* Live bytes by stack after one event. */
struct mt_export_moment {
    char *name;    /* "live at the peak" */
    int64_t event; /* -1 = before the first, MT_NO_EVENT = at the dump */
    /* sum of the weights; by how much that is more than the curve says (contradictory frees) */
    uint64_t live, over;
    MT_VEC(struct mt_export_weight) weights; /* largest first */
};

/* The state at the highest instant of a bucket. */
struct mt_export_point {
    uint64_t x; /* ns, or event number */
    uint64_t live, pending, reserved;
    uint64_t role[MT_ROLE_COUNT];
};
/* A stretch of one sub-phase. */
struct mt_export_slice {
    uint64_t x0, x1;
    uint8_t phase, sub;
};

struct mt_export_track { /* one device of one rank */
    const struct mt_trace *trace;
    uint32_t device; /* index in the trace */
    bool by_time;    /* x is time, else event number */
    bool end_only;   /* the state at the dump is all there is */
    MT_VEC(struct mt_export_point) points;
    MT_VEC(struct mt_export_slice) slices;
    uint64_t n_short; /* sub-phase stretches too short to show */
    MT_VEC(struct mt_export_moment) moments;
};

struct mt_export {
    enum mt_export_to to;
    enum mt_export_at at;
    uint64_t event; /* for MT_EXPORT_AT_EVENT */
    MT_VEC(struct mt_export_track) tracks;
};

/* A struct mt_detail_hook's function; arg is a struct mt_export. */
int mt_export_device(void *arg, const struct mt_roles *w, const struct mt_attr *attr,
                     struct mt_phaser *ph, const struct mt_device_analysis *o, struct mt_err *err);
/* forgets the tracks from n_tracks on */
void mt_export_cut(struct mt_export *x, uint32_t n_tracks);
void mt_export_done(struct mt_export *x);

/* r: ranks in the order in which they are written, job, title, version; nothing else of it is
 * looked at. */
void mt_render_export(const struct mt_export *x, const struct mt_report *r, struct mt_out *o);

#endif
