/* Fuzz target of a file of rules (--rules FILE): roles, phases, fixes, frameworks, metrics. */
#include "analysis/run/rules.h"
#include "parser/base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_err err = {.rc = MT_OK};
    uint64_t held = mt_mem_used();
    struct mt_rules rules;
    enum mt_rc rc;
    mt_mem_limit(UINT64_C(256) << 20);
    rc = mt_rules_load(&rules, (const char *)data, size, "x.json", &err);
    if (rc < 0 && (err.rc != rc || err.msg[0] == '\0'))
        abort();
    if (rc >= 0)
        mt_rules_done(&rules);
    if (mt_mem_used() != held)
        abort();
    return 0;
}
