/* heap_make.h -- traces whose blocks lie in segments of their own, so that what is free and where
 * follows from a few lines. */
#ifndef MT_TEST_HEAP_MAKE_H
#define MT_TEST_HEAP_MAKE_H

#include "analysis/audit/audit.h"
#include "analysis/cause/cause.h"
#include "build_trace.h"
#include "load.h"
#include "mt_test.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

#define MAIN "run.py:1:<module>"
#define MODEL "verl/workers/fsdp_workers.py:10:init_model|" MAIN
#define KV                                                                                         \
    "vllm/v1/worker/gpu_model_runner.py:5:_allocate_kv_cache_tensors|verl/workers/"                \
    "fsdp_workers.py:20:_build_rollout|" MODEL
#define LOADED                                                                                     \
    "vllm/model_executor/model_loader/base_loader.py:7:load_model|vllm/v1/worker/"                 \
    "gpu_model_runner.py:6:load_model|"                                                            \
    "verl/workers/fsdp_workers.py:20:_build_rollout|" MODEL
#define ACTOR "verl/workers/fsdp_workers.py:30:update_actor|" MAIN
#define FORWARD "models/qwen2.py:50:forward|torch/nn/modules/module.py:60:_call_impl|" ACTOR
#define LOSS "torch/nn/functional.py:70:cross_entropy|" ACTOR
#define STATE                                                                                      \
    "torch/optim/adamw.py:80:_init_group|torch/optim/adamw.py:81:step|torch/optim/"                \
    "optimizer.py:82:wrapper|" ACTOR
#define GENERATE                                                                                   \
    "vllm/v1/worker/gpu_model_runner.py:90:execute_model|verl/workers/"                            \
    "fsdp_workers.py:91:generate_sequences|" MAIN
#define SYNC                                                                                       \
    "vllm_rollout/bucketed_weight_transfer.py:95:_init_buffer|verl/workers/"                       \
    "fsdp_workers.py:96:rollout_mode|" MAIN
#define GATHER                                                                                     \
    "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:40:foreach_all_gather|torch/nn/"     \
    "modules/"                                                                                     \
    "module.py:41:_call_impl|" ACTOR
#define ENGINE                                                                                     \
    "??:0:torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> "       \
    "const&)"

struct heap_block {
    uint64_t addr, size, room; /* bytes of its segment */
    const char *stack;
    bool pending, live;
};
struct heap {
    struct bt x;
    struct heap_block b[1024];
    unsigned n;
    uint64_t next;
};

static inline struct heap *heap_new(void)
{
    struct heap *h = calloc(1, sizeof *h);
    if (h == NULL)
        abort();
    h->x = bt_new();
    h->next = UINT64_C(0x7f0000000000);
    bt_trace(&h->x, 0);
    return h;
}

/* A block at the start of a segment of `room` bytes; returns its number. */
static inline unsigned heap_alloc_in(struct heap *h, uint64_t size, uint64_t room,
                                     const char *stack)
{
    struct heap_block *b = &h->b[h->n];
    if (h->n == sizeof h->b / sizeof *h->b)
        abort();
    *b = (struct heap_block){h->next, size, room, stack, false, true};
    h->next += room + 2 * MIB;
    bt_event(&h->x, "segment_alloc", b->addr, room, stack);
    bt_event(&h->x, "alloc", b->addr, size, stack);
    return h->n++;
}
static inline unsigned heap_alloc(struct heap *h, uint64_t size, const char *stack)
{
    return heap_alloc_in(h, size, (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB), stack);
}

static inline void heap_ask_at(struct heap *h, unsigned i, const char *stack)
{
    bt_event(&h->x, "free_requested", h->b[i].addr, h->b[i].size, stack);
    h->b[i].pending = true;
}
static inline void heap_ask(struct heap *h, unsigned i) { heap_ask_at(h, i, ""); }
static inline void heap_gone(struct heap *h, unsigned i)
{
    bt_event(&h->x, "free_completed", h->b[i].addr, h->b[i].size, "");
    bt_event(&h->x, "segment_free", h->b[i].addr, h->b[i].room, "");
    h->b[i].live = false;
}
/* Let go of by code of that stack. */
static inline void heap_free_at(struct heap *h, unsigned i, const char *stack)
{
    heap_ask_at(h, i, stack);
    heap_gone(h, i);
}
static inline void heap_free(struct heap *h, unsigned i) { heap_free_at(h, i, ""); }
static inline void heap_oom(struct heap *h, uint64_t request, uint64_t device_free,
                            const char *stack)
{
    bt_event(&h->x, "oom", device_free, request, stack);
}

/* The analysis of it; *t and the result are the caller's. */
static inline struct mt_analysis *heap_done(struct heap *h, const struct mt_rules *rules,
                                            uint64_t capacity, struct mt_trace **t)
{
    struct mt_analyze_opts o = {.phases = rules->phases,
                                .fixes = rules->fixes,
                                .only_device = -1,
                                .framework = -1,
                                .capacity = capacity,
                                .verify = true};
    struct mt_analysis *a = NULL;
    struct mt_err err = {.rc = MT_OK};
    char blocks[96];
    for (unsigned i = 0; i < h->n; i++) {
        const struct heap_block *b = &h->b[i];
        if (!b->live)
            continue;
        snprintf(blocks, sizeof blocks, b->room > b->size ? "%llu%c %llui" : "%llu%c",
                 (unsigned long long)b->size, b->pending ? 'p' : 'a',
                 (unsigned long long)(b->room - b->size));
        bt_segment(&h->x, 0, b->addr, b->room, blocks, b->stack);
    }
    *t = bt_done(&h->x);
    free(h);
    if (mt_analyze(&a, *t, &o, &err) < 0)
        printf("# analysis: %s\n", err.msg);
    return a;
}

static inline const struct mt_what_if *heap_what_if(const struct mt_cause *c, const char *id)
{
    for (uint32_t i = 0; i < c->what_ifs.n; i++)
        if (strcmp(c->what_ifs.p[i].id, id) == 0)
            return &c->what_ifs.p[i];
    return NULL;
}

static inline bool heap_evidence(const struct mt_cause *c, const char *words, uint64_t bytes)
{
    for (uint32_t i = 0; i < c->evidence.n; i++)
        if (strstr(c->evidence.p[i].text, words) != NULL && c->evidence.p[i].bytes == bytes)
            return true;
    for (uint32_t i = 0; i < c->evidence.n; i++)
        printf("# evidence: %s (%llu)\n", c->evidence.p[i].text,
               (unsigned long long)c->evidence.p[i].bytes);
    return false;
}

static inline const struct mt_audit *heap_audit(const struct mt_analysis *a, const char *id)
{
    for (uint32_t i = 0; i < a->devices.p[0].audits->v.n; i++)
        if (strcmp(a->devices.p[0].audits->v.p[i].id, id) == 0)
            return &a->devices.p[0].audits->v.p[i];
    return NULL;
}

#endif
