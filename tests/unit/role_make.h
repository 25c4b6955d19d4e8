/* role_make.h -- training jobs made in tests: allocations with the frames of each phase, and an end
 * state that fits them. */
#ifndef MT_ROLE_MAKE_H
#define MT_ROLE_MAKE_H

#include "build_trace.h"
#include "load.h"
#include "mt_test.h"

#define MIB (UINT64_C(1) << 20)
#define SITE "/v/site-packages/"
#define MAIN "|/home/u/run.py:9:<module>"
#define S_INIT SITE "verl/workers/fsdp_workers.py:5:init_model" MAIN
#define S_CALL SITE "torch/nn/modules/module.py:1:_call_impl"
#define S_UPDATE SITE "verl/workers/fsdp_workers.py:6:update_actor" MAIN
#define S_FORWARD "/home/u/model.py:7:decoder|" S_CALL "|" S_UPDATE
#define S_FORWARD_TEMP "/home/u/model.py:8:scratch|" S_CALL "|" S_UPDATE
#define S_LOSS SITE "torch/nn/functional.py:3:cross_entropy|/home/u/run.py:4:compute|" S_UPDATE
#define S_BACKWARD                                                                                 \
    "??:0:torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&" \
    ")"
#define S_ADAM                                                                                     \
    SITE "torch/optim/adamw.py:8:_multi_tensor_adamw|" SITE                                        \
         "torch/optim/optimizer.py:9:wrapper|" S_UPDATE
#define S_ADAM_STATE                                                                               \
    SITE "torch/optim/adamw.py:7:_init_group|" SITE "torch/optim/optimizer.py:9:wrapper|" S_UPDATE

struct made_block {
    uint64_t addr, size;
};
struct job {
    struct bt bt;
    struct made_block live[4096];
    unsigned n;
    uint64_t next;
    struct mt_rules rules;
    struct mt_trace *t;
    struct mt_analysis *a;
    const struct mt_role_facts *f;
};

static inline struct job *job_new(void)
{
    struct job *j = calloc(1, sizeof *j);
    if (j == NULL || !mt_load_rules(&j->rules))
        abort();
    j->bt = bt_new();
    j->next = UINT64_C(0x7f0000000000);
    bt_trace(&j->bt, 0);
    return j;
}

static inline uint64_t put(struct job *j, uint64_t size, const char *stack)
{
    uint64_t addr = j->next;
    j->next += (size + 511) / 512 * 512 + 2 * MIB;
    bt_event(&j->bt, "alloc", addr, size, stack);
    if (j->n == 4096)
        abort();
    j->live[j->n++] = (struct made_block){addr, size};
    return addr;
}

static inline void drop_at(struct job *j, uint64_t addr, const char *stack)
{
    for (unsigned i = 0; i < j->n; i++)
        if (j->live[i].addr == addr) {
            bt_event(&j->bt, "free_requested", addr, j->live[i].size, stack);
            bt_event(&j->bt, "free_completed", addr, j->live[i].size, "");
            j->live[i] = j->live[--j->n];
            return;
        }
    abort();
}
static inline void drop(struct job *j, uint64_t addr) { drop_at(j, addr, ""); }

/* A block that was there before recording. */
static inline uint64_t old_block(struct job *j, uint64_t size)
{
    uint64_t addr = j->next;
    j->next += (size + 511) / 512 * 512 + 2 * MIB;
    j->live[j->n++] = (struct made_block){addr, size};
    return addr;
}

/* Writes the end state that fits, and analyses with the self-check. */
static inline bool analyze(struct job *j)
{
    struct mt_analyze_opts o = {.phases = j->rules.phases,
                                .fixes = j->rules.fixes,
                                .only_device = -1,
                                .framework = -1,
                                .verify = true};
    struct mt_err err = {.rc = MT_OK};
    char block[32];
    for (unsigned i = 0; i < j->n; i++) {
        snprintf(block, sizeof block, "%" PRIu64 "a", j->live[i].size);
        bt_segment(&j->bt, 0, j->live[i].addr, (j->live[i].size + 511) / 512 * 512, block, "");
    }
    j->t = bt_done(&j->bt);
    if (mt_analyze(&j->a, j->t, &o, &err) < 0) {
        printf("# %s\n", err.msg);
        return false;
    }
    j->f = &j->a->devices.p[0].roles;
    return j->a->devices.p[0].withheld == NULL;
}

static inline void job_free(struct job *j)
{
    mt_analysis_free(j->a);
    mt_trace_free(j->t);
    mt_rules_done(&j->rules);
    free(j);
}

static inline uint64_t sum(const uint64_t *v, unsigned n)
{
    uint64_t s = 0;
    for (unsigned i = 0; i < n; i++)
        s += v[i];
    return s;
}

/* What was allocated in a role over the whole trace. */
#define MADE(j, role) ((j)->f->alloc_bytes[MT_ROLE_##role])
#define AT_FOCUS(j, role) ((j)->f->at_focus[MT_ROLE_##role])
#define CHECK_SUMS(j)                                                                              \
    do {                                                                                           \
        MT_CHECK_EQ(sum((j)->f->at_focus, MT_ROLE_COUNT), (j)->a->devices.p[0].focus.live);        \
        MT_CHECK_EQ(sum((j)->f->life_at_focus, MT_LIFE_COUNT), (j)->a->devices.p[0].focus.live);   \
        MT_CHECK_EQ(sum((j)->f->why_at_focus, MT_WHY_COUNT), (j)->a->devices.p[0].focus.live);     \
        MT_CHECK_EQ((j)->f->verified_events, (j)->a->devices.p[0].n_events + 1);                   \
    } while (0)

/* ---- a small model in training ---- */

enum { LAYERS = 6, MICROS = 2 };
#define PARAM_BYTES (3 * MIB)
#define ACT_BYTES (5 * MIB)
#define SCRATCH_BYTES (2 * MIB)
#define LOGITS_BYTES (UINT64_C(64) * 32000 * 4)

struct model {
    uint64_t grad[LAYERS], state[LAYERS][2], leak;
    bool empty_backward; /* the autograd thread left no frames */
    bool recorded_late;  /* parameters and state were there before */
    bool grads_stay;     /* zero_grad(set_to_none=False) */
};

/* The weights of the model. */
static inline void params(struct job *j)
{
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, PARAM_BYTES, S_INIT);
    drop(j, put(j, 7 * MIB, S_INIT)); /* a weight on its way */
}

static inline void micro_batch(struct job *j, struct model *m, bool first)
{
    const char *backward = m->empty_backward ? "" : S_BACKWARD;
    uint64_t act[LAYERS], scratch, logits, up;
    for (int i = 0; i < LAYERS; i++) {
        act[i] = put(j, ACT_BYTES, S_FORWARD);
        scratch = put(j, SCRATCH_BYTES, S_FORWARD_TEMP);
        drop(j, scratch);
    }
    logits = put(j, LOGITS_BYTES, S_LOSS);
    if (m->empty_backward)
        drop(j, put(j, 512, SITE "torch/autograd/__init__.py:2:_make_grads|" S_UPDATE));
    up = put(j, LOGITS_BYTES, backward);
    drop(j, logits);
    for (int i = LAYERS - 1; i >= 0; i--) {
        uint64_t grad = put(j, PARAM_BYTES, backward), down = put(j, ACT_BYTES, backward);
        drop(j, up);
        up = down;
        drop(j, act[i]);
        if (first && m->grad[i] == 0)
            m->grad[i] = grad;
        else
            drop(j, grad);
    }
    drop(j, up);
}

static inline void train_step(struct job *j, struct model *m)
{
    for (int k = 0; k < MICROS; k++)
        micro_batch(j, m, k == 0);
    for (int i = 0; i < LAYERS; i++) {
        if (m->state[i][0] == 0 && !m->recorded_late) {
            m->state[i][0] = put(j, PARAM_BYTES, S_ADAM_STATE);
            m->state[i][1] = put(j, PARAM_BYTES, S_ADAM_STATE);
        }
        drop(j, put(j, PARAM_BYTES, S_ADAM));
    }
    for (int i = 0; i < LAYERS && !m->grads_stay; i++) {
        drop(j, m->grad[i]);
        m->grad[i] = 0;
    }
    if (m->leak != 0)
        (void)put(j, m->leak, S_FORWARD_TEMP);
}

#endif
