#include "render/pack/ledger.h"

#include <string.h>

enum { C_HEAD, C_USED, C_NAMED, C_PHASE, C_HOLDER };

static void difference(struct mt_bytes *b, int64_t now, int64_t *before)
{
    int64_t most = (int64_t)MT_PACK_MAX;
    now = now > most ? most : now < -most ? -most : now;
    mt_put_zig(b, now - *before);
    *before = now;
}

static int64_t clamp(uint64_t v) { return v < INT64_MAX ? (int64_t)v : INT64_MAX; }

int mt_ledger_blob(const struct mt_ledger *l, struct mt_blob *out)
{
    struct mt_bytes c[C_HOLDER + MT_HOLD_COUNT];
    int64_t before[C_HOLDER + MT_HOLD_COUNT] = {0};
    struct mt_press press = {.isal = NULL};
    int rc;
    memset(c, 0, sizeof c);
    mt_put_var(&c[C_HEAD], l->n_columns);
    mt_put_var(&c[C_HEAD], 0);
    mt_put_var(&c[C_HEAD], l->t1_ns > l->t0_ns ? (l->t1_ns - l->t0_ns) / 1000 : 0);
    for (uint32_t i = 0; i < l->n_columns; i++) {
        difference(&c[C_USED], clamp(l->used[i]), &before[C_USED]);
        difference(&c[C_NAMED], clamp(l->named[i]), &before[C_NAMED]);
        difference(&c[C_PHASE], l->phase[i] + 1, &before[C_PHASE]);
        for (unsigned h = 0; h < MT_HOLD_COUNT; h++)
            difference(&c[C_HOLDER + h], l->by_holder[(size_t)i * MT_HOLD_COUNT + h],
                       &before[C_HOLDER + h]);
    }
    rc = mt_blob_make(&press, out, c, C_HOLDER + MT_HOLD_COUNT);
    for (unsigned i = 0; i < C_HOLDER + MT_HOLD_COUNT; i++)
        mt_bytes_done(&c[i]);
    mt_press_done(&press);
    return rc;
}
