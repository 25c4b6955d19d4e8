/* code.c -- code that the driver puts on a device. By default that is at the first launch of one of
 * its kernels (lazy loading), in a call that nobody records; CUPTI tells of it, with the size of
 * the image. The device takes another amount: an image holds symbols and relocations that stay
 * behind, of its kernels only those that are launched come, and pages are rounded up. So this is
 * evidence for what no call says (docs/ledger.md), and in no sum. It comes once for each module:
 * some hundreds in a process. */
#include "capture/inject/cupti.h"

void mti_code(uint32_t id, const struct mti_cupti_resource *d, bool measured)
{
    const struct mti_cupti_module *m = d->descriptor;
    bool loaded = id == MTI_CUPTI_MODULE_LOADED;
    if ((!loaded && id != MTI_CUPTI_MODULE_UNLOADS) || !m || !mti_enter())
        return;
    uint64_t now = mti_now();
    struct mti_call c = {.t0 = now, .t1 = now, .cbid = MT_WIRE_CBID_RESOURCE | id};
    c.op = loaded ? MT_WO_CODE_LOAD : MT_WO_CODE_UNLOAD;
    c.handle = m->id;
    c.size = m->bytes;
    c.context = d->context;
    c.mask = MT_WF_HANDLE | MT_WF_SIZE | MT_WF_CONTEXT;
    if (mti_context_device(d->context, false, &c.device))
        c.mask |= MT_WF_DEVICE;
    if (loaded && measured) {
        c.flags = MT_WIRE_CODE_MEASURED;
        c.mask |= MT_WF_FLAGS;
    }
    if (loaded && (c.stack = mti_stack()) != 0)
        c.mask |= MT_WF_STACK;
    mti_emit_call(&c);
    mti_leave();
}
