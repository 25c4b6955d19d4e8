/* report_fixture.h -- a report over several ranks, filled by hand: what the renderers are given,
 * without a file and without analysis. A job that runs out of memory in the old-policy log-prob
 * pass, in realistic proportions. `hostile` puts names into it that try to break every output
 * format. */
#ifndef MT_REPORT_FIXTURE_H
#define MT_REPORT_FIXTURE_H

#include "parser/model/builder.h"
#include "render/view/report.h"
#include "tests/unit/mt_test.h"
#include "frameworks.h"

#define FX_MIB (UINT64_C(1) << 20)
#define FX_GIB (UINT64_C(1) << 30)
#define FX_T0 UINT64_C(1772698292031000000)
enum { FX_RANKS = 12, FX_EVENTS = 22331 };

/* Markup, quotes, control bytes, bytes that are no UTF-8, text that runs the other way, a mark of
 * the template. */
#define FX_HOSTILE                                                                                 \
    "</script></style><b onclick=\"x()\">'&amp;\x1b[31m\r\n\xff\xc3(\xe2\x80\xae"                  \
    "evil{{css}}--><![CDATA[|`*_"

struct fixture {
    struct mt_trace *trace[FX_RANKS];
    struct mt_analysis a[FX_RANKS];
    struct mt_rank rank[FX_RANKS];
    struct mt_diagnosis whole;
    struct mt_report r;
    struct mt_unread unread[1];
    struct mt_skipped skipped;
    struct mt_fix_rule rule[4];
    struct mt_fix_line line[4][2];
    bool hostile;
};

static inline char *fx_dup(const char *s) { return mt_strndup(s, strlen(s)); }

static const struct {
    enum mt_phase phase, sub;
    unsigned mib; /* at the focus */
} fx_phase[] = {
    {MT_PH_UNATTRIBUTED, MT_PH_NONE, 1490},    {MT_PH_INIT, MT_PH_NONE, 3120},
    {MT_PH_ROLLOUT_LOAD, MT_PH_NONE, 14500},   {MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, 23040},
    {MT_PH_ROLLOUT_GENERATE, MT_PH_NONE, 310}, {MT_PH_LOGP_OLD, MT_PH_FORWARD, 9700},
    {MT_PH_LOGP_OLD, MT_PH_LOGITS, 18560},     {MT_PH_TRAIN_ACTOR, MT_PH_FORWARD, 0},
    {MT_PH_TRAIN_ACTOR, MT_PH_BACKWARD, 2048}, {MT_PH_TRAIN_ACTOR, MT_PH_OPTIMIZER, 5800},
};

static inline void fx_timeline(struct mt_device_analysis *d, uint32_t columns)
{
    struct mt_timeline *t = &d->timeline;
    uint64_t seed = 12345;
    t->has_time = true;
    t->x0 = FX_T0;
    t->x1 = FX_T0 + UINT64_C(96000000000);
    t->n_columns = columns;
    /* a role for each phase */
    t->n_roles = (uint8_t)(d->phases.n < MT_ROLE_COUNT ? d->phases.n : MT_ROLE_COUNT);
    for (uint8_t g = 0; g < t->n_roles; g++)
        t->role[g] = g;
    t->live = mt_calloc((size_t)columns * t->n_roles, sizeof *t->live);
    t->total = mt_calloc(columns, sizeof *t->total);
    t->low = mt_calloc(columns, sizeof *t->low);
    t->reserved = mt_calloc(columns, sizeof *t->reserved);
    t->pending = mt_calloc(columns, sizeof *t->pending);
    t->events = mt_calloc(columns, sizeof *t->events);
    t->phase = mt_calloc(columns, 1);
    for (uint32_t c = 0; c < columns; c++) {
        for (uint32_t g = 0; g < t->n_roles; g++) {
            uint64_t full = d->phases.p[g].at_focus, v = full;
            uint32_t at = c * 16 / columns; /* sixteen stretches */
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            if (at < g)
                v = 0;
            if (d->phases.p[g].sub != MT_PH_NONE) /* comes and goes */
                v = at > 13 ? full : (c * (g + 3)) % 37 * (5 * FX_GIB) / 37 + (seed >> 34);
            t->live[(size_t)c * t->n_roles + g] = v;
            t->total[c] += v;
        }
        t->reserved[c] =
            (c > 0 && t->reserved[c - 1] > t->total[c] ? t->reserved[c - 1] : t->total[c] + FX_GIB);
        t->events[c] = 10 + c % 7;
        t->phase[c] = (uint8_t)(c < 5 ? 255 : c * t->n_roles / columns);
    }
    /* the end is the focus, exactly */
    for (uint32_t g = 0; g < t->n_roles; g++)
        t->live[(size_t)(columns - 1) * t->n_roles + g] = d->phases.p[g].at_focus;
    t->total[columns - 1] = d->focus.live;
}

static inline void fx_owner(struct mt_device_analysis *d, const char *label, uint64_t bytes,
                            mt_stack_id stack, uint32_t phase)
{
    struct mt_owner *w = MT_VEC_PUSH(&d->owners);
    w->label = fx_dup(label);
    w->bytes = bytes;
    w->blocks = bytes / FX_MIB / 7 + 1;
    w->largest = bytes / 3;
    w->stack = stack;
    w->attr.phase = (uint8_t)d->phases.p[phase].phase;
    w->attr.sub = (uint8_t)d->phases.p[phase].sub;
    w->attr.rule_conf = MT_CONF_MARKED;
    w->birth = phase == 0 ? MT_BIRTH_GHOST : MT_BIRTH_IN_TRACE;
}

static inline void fx_device(struct fixture *f, struct mt_analysis *a, mt_stack_id stack,
                             unsigned n_phases)
{
    struct mt_device_analysis *d = MT_VEC_PUSH(&a->devices);
    struct mt_pool_row *pool;
    d->n_events = FX_EVENTS;
    d->first_ns = FX_T0;
    d->last_ns = FX_T0 + UINT64_C(96000000000);
    for (unsigned i = 0; i < n_phases; i++) {
        struct mt_phase_row *row = MT_VEC_PUSH(&d->phases);
        unsigned k = i % (sizeof fx_phase / sizeof *fx_phase);
        row->phase = i == k ? fx_phase[k].phase : (enum mt_phase)(i % 25 + 1);
        row->sub = i == k ? fx_phase[k].sub : (enum mt_phase)(MT_PH_NONE + 1 + i % 15);
        row->at_focus = i == k ? fx_phase[k].mib * FX_MIB : i * 3 * FX_MIB;
        row->n_allocs = i == 0 ? 0 : 1200 + i * 31;
        row->alloc_bytes = row->n_allocs * 17 * FX_MIB;
        row->first_event = i * 700;
        row->last_event = i * 700 + 4000;
        row->first_ns = FX_T0 + i * UINT64_C(3000000000);
        row->last_ns = row->first_ns + UINT64_C(41500000000);
        row->peak_inside = row->at_focus + 31 * FX_GIB;
        row->peak_inside_event = i == 0 ? MT_NO_EVENT : (int64_t)i * 710;
        row->retained = row->at_focus;
        row->by_conf[MT_CONF_MARKED] = row->alloc_bytes - row->alloc_bytes / 9;
        row->by_conf[MT_CONF_CARRIED] = row->alloc_bytes / 9;
        d->focus.live += row->at_focus;
        d->alloc_bytes += row->alloc_bytes;
        d->n_allocs += row->n_allocs;
        for (int c = 0; c < MT_CONF_COUNT; c++)
            d->by_conf[c] += row->by_conf[c];
    }
    d->focus.event = FX_EVENTS - 4;
    d->focus.time_ns = d->last_ns - 1000000;
    d->focus.reserved = d->focus.live + 900 * FX_MIB;
    d->focus.reserved_free = 900 * FX_MIB;
    d->focus.holes_known = true;
    d->focus.largest_free = 200 * FX_MIB;
    d->focus.largest_usable = 150 * FX_MIB;
    d->focus.n_holes = 431;
    d->focus.n_segments = 612;
    d->focus.n_blocks = 4511;
    d->focus.free_usable = 640 * FX_MIB;
    d->live_start = 4 * FX_GIB;
    d->live_peak = d->focus.live + FX_GIB;
    d->peak_event = 14000;
    d->peak_ns = FX_T0 + UINT64_C(62000000000);
    d->live_end = d->focus.live;
    d->reserved_start = 5 * FX_GIB;
    d->reserved_peak = d->focus.reserved + FX_GIB;
    d->reserved_end = d->focus.reserved;
    d->pending_peak = 130 * FX_MIB;
    d->rounding_loss = 44 * FX_MIB;
    d->unattributed_bytes = d->alloc_bytes / 31;
    d->n_unmatched_frees = 212;
    d->birth_blocks[MT_BIRTH_GHOST] = 310;
    d->birth_bytes[MT_BIRTH_GHOST] = 4 * FX_GIB;
    d->birth_blocks[MT_BIRTH_IN_TRACE] = 18000;
    d->birth_bytes[MT_BIRTH_IN_TRACE] = d->alloc_bytes;
    fx_owner(d, f->hostile ? FX_HOSTILE : "vllm/worker/cache_engine.py:83 _allocate_kv_cache",
             23040 * FX_MIB, stack, 3);
    fx_owner(d, "verl/utils/torch_functional.py:151 logprobs_from_logits_v2", 18560 * FX_MIB, stack,
             6);
    fx_owner(d, "vllm/model_executor/layers/linear.py:389 create_weights", 14500 * FX_MIB, stack,
             2);
    fx_owner(d, "transformers/models/qwen2/modeling_qwen2.py:212 forward", 9700 * FX_MIB, stack, 5);
    fx_owner(d, "(no stack recorded)", 1490 * FX_MIB, 0, 0);
    for (unsigned i = 0; i < 60; i++)
        fx_owner(d,
                 "a_rather_long_package_name/with_a_deep_folder/modeling_something_large.py:1234 "
                 "forward_with_a_name_that_does_not_end_where_one_would_like_it_to",
                 (200 - 3 * i) * FX_MIB, stack, 5);
    d->n_owners_all = d->owners.n + 1830;
    d->owners_rest_bytes = 700 * FX_MIB;
    for (unsigned i = 0; i < 5; i++) {
        pool = MT_VEC_PUSH(&d->pools);
        pool->pool[0] = i == 3 ? 2 : 0;
        pool->pool[1] = i == 4 ? 1 : 0;
        pool->stream = i == 2 ? INT64_C(0x5581f0a3c2d0) : 0;
        pool->pool_known = true;
        pool->is_large = i != 1;
        pool->is_expandable = i == 4;
        pool->n_segments = 20 + i * 91;
        pool->reserved = (30 - 6 * i) * FX_GIB;
        pool->free = (1 + i) * 170 * FX_MIB;
        pool->active = pool->reserved - pool->free;
        pool->active_requested = pool->active - 9 * FX_MIB;
        pool->requested = pool->active_requested;
        pool->n_free_blocks = 40 + i;
        pool->largest_free = 64 * FX_MIB;
        pool->label = fx_dup(i == 4 ? (f->hostile ? FX_HOSTILE : "KV-cache allocation") : "");
    }
    d->capacity = 80 * FX_GIB;
    fx_timeline(d, MT_TL_COLUMNS);
}

static inline void fx_oom(struct fixture *f, struct mt_device_analysis *d, mt_stack_id stack)
{
    struct mt_oom *m = MT_VEC_PUSH(&d->ooms);
    m->event = FX_EVENTS - 4;
    m->time_ns = d->focus.time_ns;
    m->request = 2374 * FX_MIB;
    m->device_free = 512 * FX_MIB;
    m->at = d->focus;
    m->stack = stack;
    m->attr.phase = MT_PH_LOGP_OLD;
    m->attr.sub = MT_PH_LOGITS;
    m->label = fx_dup(f->hostile ? FX_HOSTILE
                                 : "verl/utils/torch_functional.py:151 logprobs_from_logits_v2");
    d->focus_is_oom = true;
}

static inline mt_stack_id fx_trace(struct fixture *f, struct mt_trace *t, unsigned no)
{
    static const struct {
        const char *name, *file;
        uint32_t line;
    } frame[] = {
        {"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, "
         "unsigned long, CUstream_st*)",
         "??", 0},
        {"at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)", "??", 0},
        {"logsumexp", "/usr/lib/python3/dist-packages/torch/functional.py", 311},
        {"logprobs_from_logits_v2", "/opt/job/verl/utils/torch_functional.py", 151},
        {"_forward_micro_batch", "/opt/job/verl/workers/actor/dp_actor.py", 244},
        {"_wrapped_call_impl", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1736},
        {"_call_impl", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py", 1747},
        {"compute_log_prob", "/opt/job/verl/workers/fsdp_workers.py", 812},
        {"<module>", "/opt/job/verl/trainer/main_ppo.py", 391},
    };
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct mt_builder *b = mt_builder_new(t, &lim);
    struct mt_rec rec;
    mt_frame_id ids[16];
    mt_str_id name, file;
    mt_stack_id stack = 0;
    char member[64];
    size_t n = sizeof frame / sizeof *frame;
    MT_CHECK(b != NULL);
    if (b == NULL)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const char *s = f->hostile && i == 3 ? FX_HOSTILE : frame[i].name;
        MT_CHECK(mt_build_str(b, s, strlen(s), &name) &&
                 mt_build_str(b, frame[i].file, strlen(frame[i].file), &file) &&
                 mt_build_frame(b, name, file, frame[i].line, &ids[i]));
    }
    MT_CHECK(mt_build_stack(b, ids, (uint32_t)n, &stack));
    MT_CHECK(mt_build_str(b, f->hostile ? FX_HOSTILE : "expandable_segments",
                          f->hostile ? sizeof FX_HOSTILE - 1 : 19, &name));
    MT_CHECK(mt_build_setting(b, 0, name, (struct mt_val){.type = MT_T_STR, .id = name}));
    MT_CHECK(mt_build_unknown_key(b, FX_HOSTILE, sizeof FX_HOSTILE - 1));
    mt_build_saw_key(b, MT_K_DEVICE_TRACES);
    MT_CHECK(mt_build_trace_begin(b, 0, false));
    mt_rec_reset(&rec);
    MT_CHECK(mt_build_str(b, "alloc", 5, &name));
    mt_rec_set(&rec, MT_K_ACTION, (struct mt_val){.type = MT_T_STR, .id = name});
    mt_rec_set(&rec, MT_K_ADDR, (struct mt_val){.type = MT_T_INT, .i = 4096});
    mt_rec_set(&rec, MT_K_SIZE, (struct mt_val){.type = MT_T_INT, .i = 512});
    mt_rec_set(&rec, MT_K_FRAMES, (struct mt_val){.type = MT_T_STACK, .id = stack});
    MT_CHECK(mt_build_event(b, &rec));
    MT_CHECK(mt_build_finish(b));
    mt_builder_free(b);
    t->meta.format = MT_FMT_PICKLE;
    t->meta.pickle_protocol = 4;
    t->meta.bytes = 12 * FX_MIB;
    t->meta.input_bytes = FX_MIB;
    t->meta.input = fx_dup(f->hostile ? FX_HOSTILE : "snapshots.tar.gz");
    (void)snprintf(member, sizeof member, "run/oom_rank%u_pid%u.pickle", no, 4000 + no);
    t->meta.member = fx_dup(member);
    t->meta.encoding = fx_dup("gzip, tar");
    (void)snprintf(t->meta.sha256, sizeof t->meta.sha256, "%064d", 7);
    t->meta.rank = (int32_t)no;
    t->meta.pid = 4000 + (int64_t)no;
    t->meta.host = f->hostile ? fx_dup(FX_HOSTILE) : NULL;
    return stack;
}

static inline void fx_advice(struct fixture *f, struct mt_analysis *a)
{
    static const char *const text[][2] = {
        {"Lower the share of memory the rollout engine takes",
         "actor_rollout_ref.rollout.gpu_memory_utilization=0.5"},
        {"Fewer tokens in a log-prob micro-batch",
         "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=8192"},
        {"Compute the log-probabilities in chunks",
         "+actor_rollout_ref.actor.entropy_from_logits_with_chunking=True"},
        {"Free the engine\xe2\x80\x99s cache outside rollout",
         "actor_rollout_ref.rollout.free_cache_engine=True"},
    };
    for (unsigned i = 0; i < 4; i++) {
        struct mt_fix_rule *rule = &f->rule[i];
        struct mt_advice *d = MT_VEC_PUSH(&a->advice);
        f->line[i][0] = (struct mt_fix_line){
            .syntax = MT_FIX_HYDRA, .key = "", .value = "", .text = text[i][1], .note = ""};
        f->line[i][1] = (struct mt_fix_line){.syntax = MT_FIX_HYDRA,
                                             .key = "",
                                             .value = "",
                                             .text = f->hostile ? FX_HOSTILE : "not.for.this=1",
                                             .note = f->hostile ? FX_HOSTILE : ""};
        rule->id = "V01";
        rule->kind = i == 3 ? MT_FIX_TIP : MT_FIX_SETTING;
        rule->source = f->hostile ? FX_HOSTILE : "verl, verl/trainer/config/rollout/rollout.yaml";
        rule->checked = "";
        rule->card = (struct mt_fix_card){
            .name = "",
            .title = text[i][0],
            .why = "The engine reserves this part of the card for weights and KV cache, and what "
                   "it holds is not there for the log-prob pass.",
            .constraints = f->hostile ? FX_HOSTILE : "0.8 and more only with offloaded parameters.",
            .cost = "fewer sequences at a time",
            .set = f->line[i],
            .n_set = 2};
        d->rule = rule;
        d->card = &rule->card;
        d->lines = f->hostile ? 3 : 1;
        d->is_top = i < 3;
    }
}

static inline void fx_make(struct fixture *f, unsigned n_ranks, unsigned n_phases, bool hostile)
{
    memset(f, 0, sizeof *f);
    f->hostile = hostile;
    for (unsigned i = 0; i < n_ranks; i++) {
        struct mt_analysis *a = &f->a[i];
        mt_stack_id stack;
        f->trace[i] = mt_trace_new();
        stack = fx_trace(f, f->trace[i], i);
        a->trace = f->trace[i];
        a->fw.rules = mt_test_frameworks();
        a->fw.main = FW(verl);
        a->fw.engine = FW(vllm);
        fx_device(f, a, stack, n_phases);
        if (i == 0)
            fx_oom(f, &a->devices.p[0], stack);
        fx_advice(f, a);
        a->verdict.kind = MT_V_OOM_CAPACITY;
        a->verdict.phase = MT_PH_LOGP_OLD;
        a->verdict.sub = MT_PH_LOGITS;
        a->verdict.sentence =
            fx_dup(hostile ? FX_HOSTILE
                           : "Rank 0, device 0 ran out of memory in old-policy log-prob (logits): "
                             "it asked for 2.32 GiB with 512.00 MiB free; 22.50 GiB of the 76.73 "
                             "GiB live is the KV cache of the rollout engine "
                             "(vllm/worker/cache_engine.py:83 _allocate_kv_cache).");
        a->verdict.because = fx_dup("It is capacity, not fragmentation: of 900.00 MiB reserved but "
                                    "free, 640.00 MiB could have served the "
                                    "request, the largest piece being 150.00 MiB.");
        f->rank[i] = (struct mt_rank){.trace = f->trace[i], .analysis = a, .order = i};
    }
    f->whole.ranks.p = f->rank;
    f->whole.ranks.n = n_ranks;
    MT_CHECK(mt_quality_make(&f->whole));
    f->r.diagnosis = &f->whole;
    f->r.command = hostile ? FX_HOSTILE : "memtrace report snapshots.tar.gz --capacity 80GiB";
    f->r.version = "0.1.0";
    f->r.title = hostile ? FX_HOSTILE : NULL;
}

static inline void fx_done(struct fixture *f)
{
    mt_quality_done(&f->whole.quality);
    for (unsigned i = 0; i < f->whole.ranks.n; i++) {
        struct mt_analysis *a = &f->a[i];
        for (uint32_t k = 0; k < a->devices.n; k++) {
            struct mt_device_analysis *d = &a->devices.p[k];
            struct mt_timeline *t = &d->timeline;
            for (uint32_t j = 0; j < d->owners.n; j++)
                mt_free(d->owners.p[j].label);
            for (uint32_t j = 0; j < d->pools.n; j++)
                mt_free(d->pools.p[j].label);
            for (uint32_t j = 0; j < d->ooms.n; j++)
                mt_free(d->ooms.p[j].label);
            mt_free(t->live);
            mt_free(t->total);
            mt_free(t->low);
            mt_free(t->reserved);
            mt_free(t->pending);
            mt_free(t->events);
            mt_free(t->phase);
            mt_free(d->withheld);
            MT_VEC_DONE(&d->owners);
            MT_VEC_DONE(&d->phases);
            MT_VEC_DONE(&d->pools);
            MT_VEC_DONE(&d->ooms);
        }
        MT_VEC_DONE(&a->devices);
        MT_VEC_DONE(&a->advice);
        mt_free(a->verdict.sentence);
        mt_free(a->verdict.because);
        mt_trace_free(f->trace[i]);
    }
}

#endif
