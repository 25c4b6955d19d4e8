/* sim_nvtx.c -- libnvToolsExt.so.1 over ../mock's client, so that the ranges of a job reach the
 * injected library. */
#include "../mock/fake_nvtx.h"

#include <stdint.h>

int nvtxRangePushA(const char *name)
{
    fake_nvtx_fn f = fake_nvtx_core(NVTX_PUSH_A);
    return f ? ((int (*)(const char *))f)(name) : -2;
}

int nvtxRangePop(void)
{
    fake_nvtx_fn f = fake_nvtx_core(NVTX_POP);
    return f ? ((int (*)(void))f)() : -2;
}

uint64_t nvtxRangeStartA(const char *name)
{
    fake_nvtx_fn f = fake_nvtx_core(NVTX_START_A);
    return f ? ((uint64_t(*)(const char *))f)(name) : 0;
}

void nvtxRangeEnd(uint64_t id)
{
    fake_nvtx_fn f = fake_nvtx_core(NVTX_END);
    if (f)
        ((void (*)(uint64_t))f)(id);
}

void nvtxMarkA(const char *name)
{
    fake_nvtx_fn f = fake_nvtx_core(NVTX_MARK_A);
    if (f)
        ((void (*)(const char *))f)(name);
}
