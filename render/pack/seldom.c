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
    bool ok = true;
    for (uint32_t i = 0; ok && i < p->chunks.n; i++)
        ok = mt_blob_settle(&p->press, &p->chunks.p[i].key) &&
             mt_blob_settle(&p->press, &p->chunks.p[i].coarse);
    ok = ok && mt_overview_settle(&p->by_event) && mt_overview_settle(&p->by_time);
    p->waits = p->waits && !ok;
    mt_press_done(&p->press);
    return ok;
}
