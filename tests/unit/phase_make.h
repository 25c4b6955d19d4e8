/* phase_make.h -- traces made in tests: stacks as text, events, annotations, and what the phase
 * engine says of them. */
#ifndef MT_PHASE_MAKE_H
#define MT_PHASE_MAKE_H

#include "analysis/phases/phases.h"
#include "mt_test.h"
#include "parser/model/builder.h"
#include "frameworks.h"

#define MAX_FRAMES 16
#define CPP "??"
#define ENGINE                                                                                     \
    CPP ":torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&" \
        ")"
#define VARIABLE                                                                                   \
    CPP ":torch::autograd::VariableType::(anonymous namespace)::add_Tensor(c10::DispatchKeySet)"
#define CALL "/v/site-packages/torch/nn/modules/module.py:_call_impl"
#define MAKE_GRADS "/v/site-packages/torch/autograd/__init__.py:_make_grads"
#define BACKWARD "/v/site-packages/torch/autograd/__init__.py:backward"
#define STEP "/v/site-packages/torch/optim/optimizer.py:wrapper"
#define MAIN "/home/u/run.py:<module>"
#define UPDATE_ACTOR "/v/site-packages/verl/workers/fsdp_workers.py:update_actor"
#define UPDATE_CRITIC "/v/site-packages/verl/workers/fsdp_workers.py:update_critic"
#define LOG_PROB "/v/site-packages/verl/workers/fsdp_workers.py:compute_log_prob"
#define REF_LOG_PROB "/v/site-packages/verl/workers/fsdp_workers.py:compute_ref_log_prob"
#define GENERATE "/v/site-packages/verl/workers/fsdp_workers.py:generate_sequences"
#define INIT_MODEL "/v/site-packages/verl/workers/fsdp_workers.py:init_model"

struct made {
    struct mt_trace *t;
    struct mt_builder *b;
    struct mt_phase_rules *rules;
    struct mt_phaser *p;
    struct mt_attr at[256];
    uint64_t addr;
    const char *overlay;
};

static inline void start(struct made *m)
{
    static const struct mt_limits limits = MT_LIMITS_DEFAULT;
    memset(m, 0, sizeof *m);
    m->t = mt_trace_new();
    m->b = mt_builder_new(m->t, &limits);
    m->addr = 4096;
    if (m->b == NULL || !mt_build_trace_begin(m->b, 0, false))
        abort();
}

static inline mt_str_id str(struct made *m, const char *s, size_t n)
{
    mt_str_id id = 0;
    if (!mt_build_str(m->b, s, n, &id))
        abort();
    return id;
}

/* "file:function|file:function", innermost first; "" = no stack */
static inline mt_stack_id stack(struct made *m, const char *text)
{
    mt_frame_id ids[MAX_FRAMES];
    mt_stack_id id = 0;
    uint32_t n = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "|");
        const char *colon = text + 1; /* C++ names hold colons, and so do drives */
        while (*colon != ':' || (colon[1] == '\\' && colon < text + 2))
            colon++;
        if (!mt_build_frame(m->b, str(m, colon + 1, (size_t)(text + len - colon - 1)),
                            str(m, text, (size_t)(colon - text)), 7, &ids[n++]))
            abort();
        text += len + (text[len] == '|');
    }
    if (!mt_build_stack(m->b, ids, n, &id))
        abort();
    return id;
}

static inline struct mt_val integer(uint64_t u)
{
    return (struct mt_val){.type = MT_T_INT, {.u = u}};
}
static inline struct mt_val string(struct made *m, const char *s)
{
    return (struct mt_val){.type = MT_T_STR, {.id = str(m, s, strlen(s))}};
}

static inline void event(struct made *m, const char *action, uint64_t addr, uint64_t size,
                         uint64_t time_us, const char *frames)
{
    struct mt_rec r;
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_ACTION, string(m, action));
    mt_rec_set(&r, strcmp(action, "oom") == 0 ? MT_K_DEVICE_FREE : MT_K_ADDR, integer(addr));
    mt_rec_set(&r, MT_K_SIZE, integer(size));
    mt_rec_set(&r, MT_K_STREAM, integer(0));
    if (time_us != 0)
        mt_rec_set(&r, MT_K_TIME_US, integer(time_us));
    if (frames[0] != '\0')
        mt_rec_set(&r, MT_K_FRAMES, (struct mt_val){.type = MT_T_STACK, {.id = stack(m, frames)}});
    if (!mt_build_event(m->b, &r))
        abort();
}

static inline void alloc_at(struct made *m, uint64_t time_us, const char *frames)
{
    event(m, "alloc", m->addr, 512, time_us, frames);
    m->addr += 4096;
}

static inline void alloc(struct made *m, const char *frames) { alloc_at(m, 0, frames); }

static inline void mark_range(struct made *m, const char *name, const char *stage, uint64_t time_us,
                              int64_t device)
{
    struct mt_rec r;
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_NAME, string(m, name));
    mt_rec_set(&r, MT_K_STAGE, string(m, stage));
    mt_rec_set(&r, MT_K_TIME_US, integer(time_us));
    mt_rec_set(&r, MT_K_DEVICE, (struct mt_val){.type = MT_T_INT, {.i = device}});
    if (!mt_build_annotation(m->b, &r))
        abort();
}

static inline void range(struct made *m, const char *name, uint64_t t0, uint64_t t1)
{
    if (t0 != 0)
        mark_range(m, name, "START", t0, 0);
    if (t1 != 0)
        mark_range(m, name, "END", t1, 0);
}

static inline bool run(struct made *m, bool use_annotations)
{
    struct mt_phase_opts o = {use_annotations};
    struct mt_err err = {.rc = MT_OK};
    if (!mt_build_finish(m->b))
        abort();
    if (mt_phase_rules_load(&m->rules, mt_test_frameworks(), m->overlay,
                            m->overlay ? strlen(m->overlay) : 0, "mine.json", &err) < 0 ||
        mt_phaser_new(&m->p, m->rules, m->t, &err) < 0 ||
        (m->t->devices.n != 0 && mt_phaser_run(m->p, 0, &o, m->at, &err) < 0)) {
        printf("# %s\n", err.msg);
        return false;
    }
    return true;
}

static inline void done(struct made *m)
{
    mt_phaser_free(m->p);
    mt_phase_rules_free(m->rules);
    mt_builder_free(m->b);
    mt_trace_free(m->t);
}

/* "phase/sub conf rule" */
static const char *said(const struct made *m, struct mt_attr a)
{
    static char text[4][256];
    static int turn;
    char *s = text[turn++ & 3];
    const struct mt_phase_rule *r = mt_phase_rule_at(m->rules, mt_attr_rule(a));
    snprintf(s, sizeof text[0], "%s/%s %s %s", mt_phase_id((enum mt_phase)a.phase),
             mt_phase_id((enum mt_phase)a.sub), mt_conf_name(mt_attr_conf(a)),
             r != NULL ? r->id : "0");
    return s;
}

#define SAYS(m, i, want) MT_CHECK_STR(said(&(m), (m).at[i]), want)

/* What one stack says by itself, in a trace of its own. */
static inline const char *alone(const char *frames)
{
    static char text[256];
    struct made m;
    mt_stack_id id;
    start(&m);
    id = stack(&m, frames);
    if (run(&m, false))
        snprintf(text, sizeof text, "%s", said(&m, mt_phaser_stack(m.p, id)));
    done(&m);
    return text;
}

#define RULE(id, level, phase, file, function)                                                     \
    "{\"id\":\"" id "\",\"framework\":\"mine\",\"level\":\"" level "\",\"phase\":\"" phase         \
    "\",\"file\":\"" file "\",\"function\":\"" function "\",\"status\":\"G\"}"
#define RULES(list) "{\"schema_version\":1,\"phases\":[" list "]}"

#endif
