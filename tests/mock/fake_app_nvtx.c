/* fake_app_nvtx.c -- ranges and marks of the fake application. No NVTX header is needed here. */
#include "fake_app.h"
#include "fake_nvtx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The domain that the next ranges belong to; NULL = the default one, with the plain functions. */
static struct {
    void *handle;
    char name[64];
    bool on;
} domain;
_Static_assert(sizeof(struct nvtx_attributes) == 48, "layout of nvtxEventAttributes_t");

static __thread uint64_t open_range[32];
static __thread unsigned n_open;

static struct nvtx_attributes text(const char *s)
{
    return (struct nvtx_attributes){
        .version = 3, .size = sizeof(struct nvtx_attributes), .message_type = 1, .message = s};
}

#define CALL(type, f, ...) ((type)(f))(__VA_ARGS__)
typedef int (*push_a)(const char *);
typedef void (*mark_a)(const char *);
typedef uint64_t (*start_a)(const char *);
typedef void (*end_f)(uint64_t);
typedef int (*pop_f)(void);
typedef int (*push_d)(void *, const struct nvtx_attributes *);
typedef void (*mark_d)(void *, const struct nvtx_attributes *);
typedef uint64_t (*start_d)(void *, const struct nvtx_attributes *);
typedef void (*end_d)(void *, uint64_t);
typedef int (*pop_d)(void *);
typedef void *(*create_d)(const char *);
typedef void *(*string_d)(void *, const char *);

void nvtx_push(const char *name)
{
    struct nvtx_attributes a = text(name);
    fake_nvtx_fn f = domain.on ? fake_nvtx_core2(NVTX_D_PUSH) : fake_nvtx_core(NVTX_PUSH_A);
    if (f && domain.on)
        CALL(push_d, f, domain.handle, &a);
    else if (f)
        CALL(push_a, f, name);
    app_told_range("range_push", name, domain.name, 0, 0);
}

void nvtx_pop(void)
{
    fake_nvtx_fn f = domain.on ? fake_nvtx_core2(NVTX_D_POP) : fake_nvtx_core(NVTX_POP);
    if (f && domain.on)
        CALL(pop_d, f, domain.handle);
    else if (f)
        ((pop_f)f)();
    app_told_range("range_pop", NULL, domain.name, 0, 0);
}

void nvtx_mark(const char *name)
{
    struct nvtx_attributes a = text(name);
    fake_nvtx_fn f = domain.on ? fake_nvtx_core2(NVTX_D_MARK) : fake_nvtx_core(NVTX_MARK_A);
    if (f && domain.on)
        CALL(mark_d, f, domain.handle, &a);
    else if (f)
        CALL(mark_a, f, name);
    app_told_range("mark", name, domain.name, 0, 0);
}

uint64_t nvtx_start(const char *name)
{
    struct nvtx_attributes a = text(name);
    fake_nvtx_fn f = domain.on ? fake_nvtx_core2(NVTX_D_START) : fake_nvtx_core(NVTX_START_A);
    uint64_t id = !f ? 0 : domain.on ? CALL(start_d, f, domain.handle, &a) : CALL(start_a, f, name);
    app_told_range("range_start", name, domain.name, 0, id);
    return id;
}

void nvtx_end(uint64_t id)
{
    fake_nvtx_fn f = domain.on ? fake_nvtx_core2(NVTX_D_END) : fake_nvtx_core(NVTX_END);
    if (f && domain.on)
        CALL(end_d, f, domain.handle, id);
    else if (f)
        CALL(end_f, f, id);
    app_told_range("range_end", NULL, domain.name, 0, id);
}

/* ---- scenarios ---- */

static void s_push(const char *arg) { nvtx_push(arg); }
static void s_pop(const char *arg) { (void)arg, nvtx_pop(); }
static void s_mark(const char *arg) { nvtx_mark(arg); }
static void s_start(const char *arg)
{
    if (n_open < 32)
        open_range[n_open++] = nvtx_start(arg);
}
static void s_end(const char *arg)
{
    (void)arg;
    if (n_open)
        nvtx_end(open_range[--n_open]);
}

static void s_domain(const char *arg)
{
    fake_nvtx_fn f = fake_nvtx_core2(NVTX_D_CREATE);
    snprintf(domain.name, sizeof domain.name, "%s", arg);
    domain.on = *arg != 0;
    domain.handle = domain.on && f ? CALL(create_d, f, domain.name) : NULL;
}

/* As python's nvtx package: the message is a string that was registered with the domain. */
static void s_registered(const char *arg)
{
    fake_nvtx_fn f = fake_nvtx_core2(NVTX_D_STRING), push = fake_nvtx_core2(NVTX_D_PUSH),
                 pop = fake_nvtx_core2(NVTX_D_POP);
    struct nvtx_attributes a = text(NULL);
    a.message_type = 3;
    a.message = f ? CALL(string_d, f, domain.handle, arg) : NULL;
    if (push)
        CALL(push_d, push, domain.handle, &a);
    app_told_range("range_push", arg, domain.name, 0, 0);
    if (pop)
        CALL(pop_d, pop, domain.handle);
    app_told_range("range_pop", NULL, domain.name, 0, 0);
}

static void s_many(const char *arg)
{
    static const char *const names[] = {"gen", "old_log_prob", "update_actor", "update_weights"};
    uint64_t n = app_number(&arg, 1000);
    for (uint64_t i = 0; i < n; i++) {
        nvtx_push(names[i % 4]);
        if (i % 10 == 0)
            nvtx_mark("step");
        nvtx_pop();
    }
}

/* The recorder's own interface, as a program finds it that was not linked with it. */
static void *api(const char *name)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        path = getenv("NVTX_INJECTION64_PATH");
    void *lib = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    return lib ? dlsym(lib, name) : NULL;
}

static void api_text(const char *symbol, const char *op, const char *arg)
{
    void (*f)(const char *) = NULL;
    void *p = api(symbol);
    memcpy(&f, &p, sizeof p);
    if (f)
        f(arg);
    app_told_range(op, arg, "", 1, 0);
}
static void s_apush(const char *arg) { api_text("memtrace_push", "range_push", arg); }
static void s_amark(const char *arg) { api_text("memtrace_mark", "mark", arg); }
static void s_apop(const char *arg)
{
    (void)arg;
    void (*f)(void) = NULL;
    void *p = api("memtrace_pop");
    memcpy(&f, &p, sizeof p);
    if (f)
        f();
    app_told_range("range_pop", NULL, "", 1, 0);
}

const struct scenario nvtx_scenarios[] = {
    {"push", "NAME opens an NVTX range of this thread", s_push, false, true},
    {"pop", "closes it", s_pop, false, true},
    {"start", "NAME opens an NVTX range of the process", s_start, false, true},
    {"end", "closes the last one", s_end, false, true},
    {"mark", "NAME an NVTX mark", s_mark, false, true},
    {"domain", "NAME of the ranges that follow; none = default", s_domain, false, false},
    {"registered", "NAME range whose name is a registered string", s_registered, false, true},
    {"ranges", "N ranges, a mark every 10 (1000)", s_many, false, true},
    {"apush", "NAME memtrace_push", s_apush, false, true},
    {"apop", "memtrace_pop", s_apop, false, true},
    {"amark", "NAME memtrace_mark", s_amark, false, true},
    {NULL, NULL, NULL, false, false}};
