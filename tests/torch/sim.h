/* sim.h -- what sim_cudart.c uses of sim_driver.c: the CUDA driver's interface, by its public names
 * and types. */
#ifndef MT_TESTS_TORCH_SIM_H
#define MT_TESTS_TORCH_SIM_H
#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
int cuMemAlloc_v2(uint64_t *at, size_t size);
int cuMemFree_v2(uint64_t at);
int cuMemHostAlloc(void **at, size_t size, unsigned flags);
int cuMemFreeHost(void *at);

/* Not in sim_driver.c. */
#pragma weak cuMemAllocAsync
#pragma weak cuMemFreeAsync
#pragma weak cuDeviceGetDefaultMemPool
#pragma weak cuMemPoolSetAttribute
#pragma weak cuMemPoolGetAttribute
#pragma weak cuMemPoolTrimTo
#pragma weak cuGraphCreate
#pragma weak cuGraphDestroy
#pragma weak cuGraphInstantiateWithFlags
#pragma weak cuGraphLaunch
#pragma weak cuGraphExecDestroy
int cuMemAllocAsync(uint64_t *at, size_t size, void *stream);
int cuMemFreeAsync(uint64_t at, void *stream);
int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuMemPoolSetAttribute(void *pool, int attribute, void *value);
int cuMemPoolGetAttribute(void *pool, int attribute, void *value);
int cuMemPoolTrimTo(void *pool, size_t keep);
int cuGraphCreate(void **graph, unsigned flags);
int cuGraphDestroy(void *graph);
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cuGraphLaunch(void *exec, void *stream);
int cuGraphExecDestroy(void *exec);

/* Only in sim_driver.c. Over another libcuda.so.1 whose memory cannot be touched it is not there,
 * and nothing is copied. */
__attribute__((weak)) int mt_sim_kind(uint64_t at, int *device);

/* What a card of this kind says of itself, by CUdevice_attribute (cudaDeviceAttr has the same
 * numbers). Launch configurations divide by some. */
static inline int sim_attribute(int *value, int attribute)
{
    static const struct {
        int attribute, value;
    } known[] = {{1, 1024},        {2, 1024},    {3, 1024},     {4, 64},    {5, 0x7fffffff},
                 {6, 65535},       {7, 65535},   {8, 49152},    {9, 65536}, {10, 32},
                 {11, 0x7fffffff}, {12, 65536},  {13, 1980000}, {14, 512},  {16, 132},
                 {19, 1},          {31, 1},      {36, 2619000}, {37, 5120}, {38, 52428800},
                 {39, 2048},       {40, 3},      {41, 1},       {75, 9},    {76, 0},
                 {78, 1},          {81, 233472}, {82, 65536},   {83, 1},    {95, 1},
                 {97, 232448},     {102, 1},     {103, 1},      {106, 32},  {115, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return 1;
        }
    return 0;
}

#endif
