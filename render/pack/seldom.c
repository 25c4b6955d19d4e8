/* Blocks that hardly any page carries. */
#include "render/pack/impl.h"

int mt_pack_seldom(struct mt_pack *p, struct mt_blob *out, struct mt_bytes *columns, unsigned n,
                   enum mt_blob_way way)
{
    if (p->waits)
        return mt_blob_wait(&p->press, out, columns, n, way);
    return way == MT_BLOB_NOISE ? mt_blob_noise(&p->press, out, columns, n)
                                : mt_blob_quick(&p->press, out, columns, n);
}

int mt_pack_settle(struct mt_pack *p)
{
    struct mt_overview *v[] = {&p->by_event, &p->by_time};
    struct mt_press press = {.isal = NULL};
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->chunks.n; i++)
        ok = mt_blob_settle(&press, &p->chunks.p[i].key) &&
             mt_blob_settle(&press, &p->chunks.p[i].coarse);
    for (unsigned i = 0; ok && i < sizeof v / sizeof *v; i++)
        ok = mt_blob_settle(&press, &v[i]->fine);
    p->waits = p->waits && !ok;
    mt_press_done(&press);
    return ok;
}
