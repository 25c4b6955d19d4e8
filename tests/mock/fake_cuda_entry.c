/* fake_cuda_entry.c -- the public functions of the fake libcuda. Each goes through the callbacks of
 * the fake libcupti, as each entry point of the real driver does, however the caller got hold of
 * it. */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

struct fake_thread {
    struct fake_call *call;
    /* set by libcudart: runtime and driver callbacks of one call share the id */
    uint32_t correlation;
    int quiet;
};
static __thread struct fake_thread thread;

static void call_back(struct fake_call *c, uint32_t site)
{
    c->cb.site = site;
    fake_cuda_hooks.callback(1, c->cbid, &c->cb);
}

static void call_enter_slow(struct fake_call *c, const unsigned char *mask, uint32_t cbid,
                            const char *name, const void *params, int *ret)
{
    struct fake_thread *t = &thread;
    c->active = true;
    c->prev = t->call;
    c->corr =
        t->correlation ? t->correlation : atomic_fetch_add(&fake_cuda_hooks.correlation, 1) + 1;
    t->call = c;
    c->cbid = cbid;
    c->data = 0;
    if (!mask || !mask[cbid] || t->quiet ||
        atomic_load_explicit(&fake_m.forked, memory_order_relaxed) ||
        atomic_load_explicit(&fake_m.torn, memory_order_relaxed))
        return;
    struct fake_context *ctx = fake_current(NULL);
    c->on = true;
    c->cb = (struct fake_cbdata){.function_name = name,
                                 .params = params,
                                 .return_value = ret,
                                 .context = ctx,
                                 .context_uid = ctx ? ctx->uid : 0,
                                 .correlation_data = &c->data,
                                 .correlation_id = c->corr};
    call_back(c, 0);
}

static inline void call_enter(struct fake_call *c, uint32_t cbid, const char *name,
                              const void *params, int *ret, void *pc)
{
    const unsigned char *mask =
        atomic_load_explicit(&fake_cuda_hooks.masks[0], memory_order_acquire);
    c->active = c->on = false;
    c->pc = (uint64_t)(uintptr_t)pc;
    if (mask || atomic_load_explicit(&fake_cuda_hooks.activity, memory_order_relaxed))
        call_enter_slow(c, mask, cbid, name, params, ret);
}

static inline void call_exit(struct fake_call *c)
{
    if (!c->active)
        return;
    /* As with the real one, whoever unsubscribed meanwhile gets no EXIT. */
    if (c->on && atomic_load_explicit(&fake_cuda_hooks.masks[0], memory_order_acquire))
        call_back(c, 1);
    thread.call = c->prev;
}

struct fake_call *fake_call_now(void) { return thread.call; }
static uint32_t *correlation_override(void) { return &thread.correlation; }
static int *quiet_flag(void) { return &thread.quiet; }

void fake_memory2(uint32_t op, uint32_t kind, uint64_t address, uint64_t bytes, uint32_t device,
                  uint32_t context)
{
    if (!(atomic_load_explicit(&fake_cuda_hooks.activity, memory_order_acquire) & 1) ||
        !thread.call)
        return;
    struct fake_memory m = {.op = op,
                            .kind = kind,
                            .correlation = thread.call->corr,
                            .device = device,
                            .context = context,
                            .stream = UINT32_MAX,
                            .address = address,
                            .bytes = bytes,
                            .pc = thread.call->pc};
    fake_cuda_hooks.memory(&m);
}

#define ENTRY(g, id, f, args)                                                                      \
    struct fake_call call_;                                                                        \
    int result_ = 0;                                                                               \
    call_enter(&call_, id, #f, &params_, &result_, __builtin_return_address(0));                   \
    if (g)                                                                                         \
        result_ = fake_gate();                                                                     \
    if (!result_)                                                                                  \
        result_ = fake_##f args;                                                                   \
    call_exit(&call_);                                                                             \
    return result_;

/* clang-format off */
#define FAKE_F0(g, id, f) FAKE_EXPORT int f(void); int f(void) { int params_ = 0; ENTRY(g, id, f, ()) }
#define FAKE_F1(g, id, f, A, a) \
    struct p_##f { A a; }; FAKE_EXPORT int f(A); \
    int f(A a) { struct p_##f params_ = {a}; ENTRY(g, id, f, (a)) }
#define FAKE_F2(g, id, f, A, a, B, b) \
    struct p_##f { A a; B b; }; FAKE_EXPORT int f(A, B); \
    int f(A a, B b) { struct p_##f params_ = {a, b}; ENTRY(g, id, f, (a, b)) }
#define FAKE_F3(g, id, f, A, a, B, b, C, c) \
    struct p_##f { A a; B b; C c; }; FAKE_EXPORT int f(A, B, C); \
    int f(A a, B b, C c) { struct p_##f params_ = {a, b, c}; ENTRY(g, id, f, (a, b, c)) }
#define FAKE_F4(g, id, f, A, a, B, b, C, c, D, d) \
    struct p_##f { A a; B b; C c; D d; }; FAKE_EXPORT int f(A, B, C, D); \
    int f(A a, B b, C c, D d) { struct p_##f params_ = {a, b, c, d}; ENTRY(g, id, f, (a, b, c, d)) }
#define FAKE_F5(g, id, f, A, a, B, b, C, c, D, d, E, e) \
    struct p_##f { A a; B b; C c; D d; E e; }; FAKE_EXPORT int f(A, B, C, D, E); \
    int f(A a, B b, C c, D d, E e) { struct p_##f params_ = {a, b, c, d, e}; ENTRY(g, id, f, (a, b, c, d, e)) }
#define FAKE_F6(g, id, f, A, a, B, b, C, c, D, d, E, e, F, h) \
    struct p_##f { A a; B b; C c; D d; E e; F h; }; FAKE_EXPORT int f(A, B, C, D, E, F); \
    int f(A a, B b, C c, D d, E e, F h) { struct p_##f params_ = {a, b, c, d, e, h}; ENTRY(g, id, f, (a, b, c, d, e, h)) }
#define FAKE_F8(g, id, f, A, a, B, b, C, c, D, d, E, e, F, h, G, i, H, j) \
    struct p_##f { A a; B b; C c; D d; E e; F h; G i; H j; }; FAKE_EXPORT int f(A, B, C, D, E, F, G, H); \
    int f(A a, B b, C c, D d, E e, F h, G i, H j) \
    { struct p_##f params_ = {a, b, c, d, e, h, i, j}; ENTRY(g, id, f, (a, b, c, d, e, h, i, j)) }
#include "fake_cuda.def"
#include "fake_cuda_undef.h"

typedef void (*entry_fn)(void);
struct entry {
    const char *name;
    uint32_t cbid;
    entry_fn f;
};
static const struct entry entries[] = {
#define FAKE_F0(g, id, f) {#f, id, (entry_fn)f},
#define FAKE_F1(g, id, f, ...) FAKE_F0(g, id, f)
#define FAKE_F2 FAKE_F1
#define FAKE_F3 FAKE_F1
#define FAKE_F4 FAKE_F1
#define FAKE_F5 FAKE_F1
#define FAKE_F6 FAKE_F1
#define FAKE_F8 FAKE_F1
#include "fake_cuda.def"
#include "fake_cuda_undef.h"
};
/* clang-format on */
#define N_ENTRIES (sizeof entries / sizeof entries[0])

static const char *callback_name(uint32_t cbid)
{
    for (size_t i = 0; i < N_ENTRIES; i++)
        if (entries[i].cbid == cbid)
            return entries[i].name;
    return NULL;
}

static entry_fn entry_by_name(const char *name)
{
    for (size_t i = 0; i < N_ENTRIES; i++)
        if (!strcmp(entries[i].name, name))
            return entries[i].f;
    return NULL;
}

/* What cuGetProcAddress gives for a name without suffix: the newest version that is not newer than
 * asked for. */
static const struct {
    const char *symbol;
    int since;
    const char *name;
} versions[] = {
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 11030, "cuGetProcAddress"},
    {"cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDeviceGetUuid", 9020, "cuDeviceGetUuid"},
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuCtxDestroy", 4000, "cuCtxDestroy_v2"},
    {"cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2"},
    {"cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2"},
    {"cuCtxGetId", 12000, "cuCtxGetId"},
    {"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"},
    {"cuDevicePrimaryCtxReset", 11000, "cuDevicePrimaryCtxReset_v2"},
    {"cuMemGetInfo", 3020, "cuMemGetInfo_v2"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemAllocPitch", 3020, "cuMemAllocPitch_v2"},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemAllocHost", 3020, "cuMemAllocHost_v2"},
    {"cuMemHostRegister", 6050, "cuMemHostRegister_v2"},
    {"cuIpcOpenMemHandle", 11000, "cuIpcOpenMemHandle_v2"},
    {"cuArrayCreate", 3020, "cuArrayCreate_v2"},
    {"cuArray3DCreate", 3020, "cuArray3DCreate_v2"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
    {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
    {"cuGraphAddNode", 12020, "cuGraphAddNode"},
    {"cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
    {"cuMemFutureAlloc", 13050, "cuMemFutureAlloc"},
};

/* 0 found, 1 not found, 2 exists, but not for that version */
int fake_resolve(const char *symbol, int version, uint64_t flags, void **pfn)
{
    entry_fn f = NULL;
    char name[96];
    bool listed = false;
    if (strlen(symbol) > 64)
        return 1;
    if (flags & 2) { /* per-thread default stream */
        strcpy(name, symbol);
        strcat(name, "_ptsz");
        f = entry_by_name(name);
    }
    for (size_t i = 0; !f && i < sizeof versions / sizeof versions[0]; i++)
        if (!strcmp(versions[i].symbol, symbol)) {
            listed = true;
            if (version >= versions[i].since)
                f = entry_by_name(versions[i].name);
        }
    if (!f && listed)
        return 2;
    if (!f)
        f = entry_by_name(symbol);
    if (!f)
        return 1;
    memcpy(pfn, &f, sizeof f);
    return 0;
}

static int hooks_initialised(void) { return atomic_load(&fake_m.initialised); }
static void *hooks_current(void) { return fake_current(NULL); }
static uint32_t hooks_uid(void *c) { return c ? ((struct fake_context *)c)->uid : 0; }
static uint32_t hooks_device(void *c)
{
    return c ? ((struct fake_context *)c)->ordinal : UINT32_MAX;
}
static uint32_t hooks_stream(void *s)
{
    uintptr_t v = (uintptr_t)s;
    return v <= 1 ? 7 : v == 2 ? 8 : 13 + (uint32_t)(v >> 6 & 0xffffff);
}
static struct fake_state *hooks_state(void) { return fake_m.state; }

FAKE_EXPORT struct fake_hooks fake_cuda_hooks = {.version = FAKE_HOOKS,
                                                 .initialised = hooks_initialised,
                                                 .current = hooks_current,
                                                 .context_uid = hooks_uid,
                                                 .context_device = hooks_device,
                                                 .stream_id = hooks_stream,
                                                 .callback_name = callback_name,
                                                 .state = hooks_state,
                                                 .correlation_override = correlation_override,
                                                 .quiet = quiet_flag};
