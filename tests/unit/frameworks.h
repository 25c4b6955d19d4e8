/* frameworks.h -- the built-in frameworks, for tests. */
#ifndef MT_TEST_FRAMEWORKS_H
#define MT_TEST_FRAMEWORKS_H

#include "analysis/setup/framework.h"

#include <stdio.h>
#include <stdlib.h>

/* Loaded once, freed at exit. */
static struct mt_framework_rules *mt_test_registry;
static inline void mt_test_free_frameworks(void)
{
    mt_framework_rules_free(mt_test_registry);
    mt_test_registry = NULL;
}
static inline const struct mt_framework_rules *mt_test_frameworks(void)
{
    struct mt_err err = {.rc = MT_OK};
    if (mt_test_registry != NULL)
        return mt_test_registry;
    if (mt_framework_rules_load(&mt_test_registry, NULL, 0, NULL, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        abort();
    }
    atexit(mt_test_free_frameworks);
    return mt_test_registry;
}
/* FW(verl): its index. */
#define FW(id) mt_test_framework(#id)
static inline mt_fw mt_test_framework(const char *id)
{
    int f = mt_framework_find(mt_test_frameworks(), id);
    if (f < 0) {
        printf("Bail out! no framework %s\n", id);
        abort();
    }
    return (mt_fw)f;
}

/* Its backend, as frames show it. */
static inline void mt_test_part(struct mt_frameworks *fw, bool fsdp, bool core)
{
    fw->parts = (fsdp ? MT_PART_FSDP2 : 0u) | (core ? MT_PART_CORE : 0u);
    fw->seen |= (fsdp ? MT_FW_BIT(FW(fsdp)) : 0) | (core ? MT_FW_BIT(FW(megatron)) : 0);
}

#endif
