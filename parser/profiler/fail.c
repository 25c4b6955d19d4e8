#include "parser/profiler/impl.h"

int mt_pf_nomem(struct mt_pf *f)
{
    return mt_json_stop(&f->j, MT_ENOMEM,
                        "out of memory after %llu MiB (a limit can be raised with --max-memory)",
                        (unsigned long long)(mt_mem_used() >> 20));
}

int mt_pf_refused(struct mt_pf *f)
{
    const struct mt_err *e = mt_builder_err(f->b);
    return mt_json_stop(&f->j, e->rc, "%s", e->msg);
}
