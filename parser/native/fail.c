#include "parser/native/impl.h"

int mt_native_nomem(struct mt_native *n)
{
    n->rc = mt_fail(n->err, MT_ENOMEM,
                    "out of memory after %llu MiB (a limit can be raised with --max-memory)",
                    (unsigned long long)(mt_mem_used() >> 20));
    return 0;
}
