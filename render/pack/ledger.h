/* pack/ledger.h -- what the driver saw of one GPU, as a block of the page. */
#ifndef MT_PACK_LEDGER_H
#define MT_PACK_LEDGER_H

#include "analysis/ledger/driver.h"
#include "render/pack/bytes.h"

/* 1, or 0 = out of memory. */
int mt_ledger_blob(const struct mt_ledger *l, struct mt_blob *out);

#endif
