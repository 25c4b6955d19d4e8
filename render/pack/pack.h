/* pack.h -- the exact history of a device in the form that the page's script reads
 * (docs/report-data.md).
 *
 * Packed while the device is analysed, because the events and the fates of the blocks are given
 * back afterwards; what is kept is the compressed columns. Which of them a page carries is decided
 * when it is written (render/html/page_data.c), by its size. Everything in a pack is its own; it
 * refers to nothing of the trace. Const after mt_pack_device(). */
#ifndef MT_RENDER_PACK_H
#define MT_RENDER_PACK_H

#include "analysis/facts/analysis.h"

struct mt_pack; /* pack/impl.h */
struct mt_phaser;

/* The tracks of one rank. All zero is the empty list. max_size: of the page; exact events that
 * cannot fit into it are not kept. 0 = all. */
struct mt_packs {
    uint64_t max_size;
    MT_VEC(struct mt_pack *) list;
};

/* A struct mt_detail_hook's function: packs the device into arg, a struct mt_packs. */
int mt_pack_device(void *arg, const struct mt_roles *w, const struct mt_attr *attr,
                   struct mt_phaser *ph, const struct mt_device_analysis *o, struct mt_err *err);
void mt_packs_done(struct mt_packs *p);

#endif
