/* audit.h -- checks of one subject each, made only where the subject occurs: sleep and wake, weight
 * sync, CUDA graphs, expandable segments beside private pools, the first optimizer step, FSDP
 * gathers that stay, record_stream. Tables that the renderer draws as they are. */
#ifndef MT_AUDIT_H
#define MT_AUDIT_H

#include "analysis/roles/roles.h"

enum mt_cell_kind { MT_CELL_TEXT, MT_CELL_BYTES, MT_CELL_COUNT_, MT_CELL_NONE };
struct mt_cell {
    enum mt_cell_kind kind;
    char *text;      /* owned; names from the input are inside */
    uint64_t number; /* bytes or count */
};
#define MT_AUDIT_COLUMNS 8u
#define MT_AUDIT_ROWS 64u
struct mt_audit_row {
    struct mt_cell cell[MT_AUDIT_COLUMNS];
};
struct mt_audit {
    const char *id; /* "sleep_wake", "weight_sync", "cuda_graphs", "expandable_pools", "first_step",
                       "fsdp_gathers", "fsdp_unit", "record_stream" */
    const char *title; /* plain words */
    char *sentence;    /* what it found, with numbers */
    bool finding;      /* something to act on, as opposed to "looked at, fine" */
    uint64_t bytes;    /* that are at stake; 0 = none */
    /* number of the event of its device at which that was so, or began; MT_NO_LINK = none known */
    int64_t event;
    uint32_t n_columns;
    const char *column[MT_AUDIT_COLUMNS]; /* headings */
    MT_VEC(struct mt_audit_row) rows;     /* at most MT_AUDIT_ROWS */
    uint64_t rows_left_out;
};
struct mt_audits {
    MT_VEC(struct mt_audit) v;
    uint64_t one_unit;     /* gathered at once where the whole model is one unit of FSDP; else 0 */
    uint64_t kept_gathers; /* of gathers that stay when their layer is done, most; else 0 */
};

/* Per device, while the working set w is there; f are the roles of the same device. MT_OK or
 * MT_ENOMEM. */
enum mt_rc mt_audits_make(struct mt_audits *out, const struct mt_roles *w,
                          const struct mt_role_facts *f, const struct mt_device_analysis *d,
                          struct mt_phaser *ph);
void mt_audits_done(struct mt_audits *a);

#endif
