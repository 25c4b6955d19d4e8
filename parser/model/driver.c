#include "parser/model/driver.h"

#include <string.h>

const struct mt_call_rare *mt_call_rare(const struct mt_driver *d, const struct mt_call *c)
{
    static const struct mt_call_rare none;
    return c->rare != 0 ? &d->rare.p[c->rare - 1] : &none;
}

const char *mt_op_name(enum mt_wire_op op)
{
#define MT_OP_NAME(sym, name, effect) [MT_WO_##sym] = (name),
    static const char *const names[MT_WO_COUNT] = {MT_WIRE_OPS(MT_OP_NAME)};
#undef MT_OP_NAME
    return (unsigned)op < MT_WO_COUNT ? names[op] : "other";
}

const char *mt_end_name(enum mt_end e)
{
    static const char *const names[] = {
        [MT_END_UNKNOWN] = "unknown", [MT_END_EXIT] = "exit", [MT_END_STATUS] = "status",
        [MT_END_SIGNAL] = "signal",   [MT_END_GONE] = "gone", [MT_END_RUNNING] = "running",
    };
    return (unsigned)e < sizeof names / sizeof *names ? names[e] : "unknown";
}

const char *mt_process_attr(const struct mt_trace *t, uint32_t process, const char *key)
{
    const struct mt_driver *d = t->driver;
    const struct mt_process *p;
    if (d == NULL || process >= d->processes.n)
        return NULL;
    p = &d->processes.p[process];
    for (uint32_t i = 0; i < p->n_attrs; i++)
        if (strcmp(mt_str(t, d->attrs.p[p->first_attr + i].key), key) == 0)
            return mt_str(t, d->attrs.p[p->first_attr + i].value);
    return NULL;
}

void mt_driver_free(struct mt_driver *d)
{
    if (d == NULL)
        return;
    MT_VEC_DONE(&d->processes);
    MT_VEC_DONE(&d->attrs);
    MT_VEC_DONE(&d->gpus);
    MT_VEC_DONE(&d->views);
    MT_VEC_DONE(&d->calls);
    MT_VEC_DONE(&d->rare);
    MT_VEC_DONE(&d->activities);
    MT_VEC_DONE(&d->samples);
    MT_VEC_DONE(&d->uses);
    MT_VEC_DONE(&d->host_samples);
    MT_VEC_DONE(&d->ranges);
    MT_VEC_DONE(&d->modules);
    MT_VEC_DONE(&d->threads);
    MT_VEC_DONE(&d->statuses);
    MT_VEC_DONE(&d->losses);
    MT_VEC_DONE(&d->attachments);
    MT_VEC_DONE(&d->launch);
    MT_VEC_DONE(&d->frame_module);
    mt_free(d);
}
