/* sim_more.c -- the few answers that PyTorch reads from the other libraries; SIM_<library> says
 * which is being built. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#ifdef SIM_cublasLt
/* An algorithm: zeros are as good as any, as nothing is computed. */
int cublasLtMatmulAlgoGetHeuristic(void *h, void *op, void *a, void *b, void *c, void *d,
                                   void *preference, int asked, void *results, int *returned)
{
    (void)h, (void)op, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *returned = asked > 0;
    if (asked > 0)
        memset(results, 0, 96);
    return 0;
}
#endif

#ifdef SIM_cudnn
size_t cudnnGetVersion(void) { return 90100; }

size_t cudnnGetCudartVersion(void) { return 12040; }
#endif

#ifdef SIM_nvrtc
int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 4;
    return 0;
}
#endif

#ifdef SIM_nccl
struct communicator {
    int ranks;
} communicators[64];
static int made;

int ncclGetVersion(int *version)
{
    *version = 22203;
    return 0;
}

const char *ncclGetErrorString(int error) { return error ? "simulated failure" : "no error"; }

const char *ncclGetLastError(void *comm)
{
    (void)comm;
    return "";
}

struct id {
    char bytes[128];
};

int ncclCommInitRankConfig(void **comm, int ranks, struct id id, int rank, void *config)
{
    (void)id, (void)rank, (void)config;
    struct communicator *c = &communicators[made++ & 63];
    c->ranks = ranks;
    *comm = c;
    return 0;
}

int ncclCommInitRank(void **comm, int ranks, struct id id, int rank)
{
    return ncclCommInitRankConfig(comm, ranks, id, rank, NULL);
}

int ncclCommCount(const struct communicator *comm, int *count)
{
    *count = comm->ranks;
    return 0;
}

/* All ranks hold what this one holds. What is large nobody reads. */
static void copies(const void *from, char *to, size_t count, int type, int times)
{
    static const unsigned char size_of[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    size_t size = count * size_of[type % 10];
    for (int i = 0; size <= 1 << 20 && i < times; i++)
        memmove(to + (size_t)i * size, from, size);
}

int ncclAllGather(const void *from, void *to, size_t count, int type,
                  const struct communicator *comm, void *stream)
{
    (void)stream;
    copies(from, to, count, type, comm->ranks);
    return 0;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                  const struct communicator *comm, void *stream)
{
    (void)op, (void)comm, (void)stream;
    copies(from, to, count, type, 1);
    return 0;
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                  const struct communicator *comm, void *stream)
{
    (void)root, (void)comm, (void)stream;
    copies(from, to, count, type, 1);
    return 0;
}

int ncclCommGetAsyncError(void *comm, int *error)
{
    (void)comm;
    *error = 0;
    return 0;
}
#endif

#ifdef SIM_nvidia_ml
int cuInit(unsigned flags);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);

struct process {
    unsigned pid;
    unsigned long long used;
};

/* This process alone holds what is used. */
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, struct process *list)
{
    size_t free_bytes = 0, total = 0;
    (void)device;
    cuInit(0);
    cuMemGetInfo_v2(&free_bytes, &total);
    if (*count)
        list[0] = (struct process){(unsigned)getpid(), total - free_bytes};
    *count = 1;
    return 0;
}
#endif
