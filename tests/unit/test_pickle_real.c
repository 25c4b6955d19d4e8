/* The pickle reader on real snapshots, held against numbers that Python's own unpickler gave
 * (tests/reference/make_pickles.py --sums), and on re-encodings, which must equal their original.
 * Skipped where the shared data is absent. */
#include "tests/unit/mt_test.h"
#include "tests/unit/pickle_make.h"
#include "tests/unit/trace_digest.h"

struct real_file {
    const char *name;
    uint64_t n_events, addr, size, time, stacks, n_segments, total, n_blocks, block_size,
        block_stacks;
};

static const struct real_file real[] = {
    {"attention_norecord_2gpu.pickle", 0, 0, 0, 0, 0, 499, 16236150784, 2974, 16236150784,
     16324358},
    {"cs336_bcrafton_user_metadata.pickle", 6486, 823534907519299584, 35042910744,
     UINT64_C(11501429569507416398), 7335625625, 96, 4238344192, 550, 4238344192, 100030092},
    {"cs336_magma_partial_frames.pickle", 5163, 274689604375040, 176670901821,
     UINT64_C(9171964387590585046), 849958982, 216, 14180941824, 455, 14180941824, 408212},
    {"cs336_silmont_bf16_torch2.6.pickle", 2811, 395191689953590272, 3396197376,
     UINT64_C(4982646186779887164), 6955354162, 43, 861929472, 178, 861929472, 0},
    {"cs336_silmont_small_torch2.6.pickle", 97, 13558614913062912, 27993309980, 171950803214544430,
     88395702, 9, 3781165056, 20, 3781165056, 17151904},
    {"cs336_wedson_1024_training.pickle", 22331, 885003719554560, 496016003469,
     UINT64_C(2942211584727934241), 17051069798, 234, 25178406912, 1031, 25178406912, 199587818},
    {"cs336_wedson_512_training.pickle", 22332, 800714554764800, 214511125395,
     UINT64_C(2944000933466672887), 17051144840, 400, 12660506624, 1041, 12660506624, 199587818},
    {"decomfl_python_only_torch2.9.pickle", 23105, 1101984379225600, 45862170864,
     UINT64_C(3848118121774741489), 7171972747, 61, 1897922560, 468, 1897922560, 143869157},
    {"flexgen_1.3b_state_a_torch2.0.pickle", 1, 140402178916352, 2224128, 0, 0, 112, 1851785216,
     593, 1851785216, 155859353},
    {"flexgen_oom_state_only_torch2.0.pickle", 1, 0, 11840159744, 0, 0, 176, 11844714496, 463,
     11844714496, 114582488},
    {"mosaic_synthetic_output.pickle", 1040, 532849358440729162, 50703933040,
     UINT64_C(1829622823006321020), 66257125, 5, 262144000, 17, 8704, 0},
    {"sketchkv2_state_torch2.4.pickle", 1, 139937209607680, 8, 1729931410850299, 0, 259,
     17133731840, 868, 17133731840, 811158734},
    {"verl_pr851_megatron_vllm_mempools_torch2.6.pickle", 0, 0, 0, 0, 0, 127, 26189234176, 638,
     26189234176, 5440803077},
    {"synthetic_new_fields.pickle", 101, 13698396800279830, 45204899102, 179041557985580186,
     93593684, 9, 3781165056, 20, 3781165056, 17151904},
    {"decomfl.ring5000.pickle", 5000, 238353861882368, 8900346148, UINT64_C(8816621137926187260),
     2053377744, 61, 1897922560, 468, 1897922560, 143869157},
};

static struct result load(const char *name)
{
    struct result r = {.rc = MT_EIO};
    char path[1400];
    size_t n = 0;
    unsigned char *p;
    snprintf(path, sizeof path, "%s/torch/%s", mt_shared_data(), name);
    p = mt_slurp(path, &n);
    if (p == NULL) {
        snprintf(path, sizeof path, "%s/torch/derived/%s", mt_shared_data(), name);
        p = mt_slurp(path, &n);
    }
    if (p != NULL)
        r = read_mem(p, n, NULL);
    else
        printf("# %s: cannot be read\n", path);
    free(p);
    return r;
}

/* Order counts, and so do the lengths of the texts and the line. */
static uint64_t stack_sum(const struct mt_trace *t, mt_stack_id id)
{
    uint64_t sum = 0, i = 1;
    for (; id != 0; id = t->stacks.p[id].parent, i++) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[id].frame];
        sum += i * (mt_str_len(t, f->name) + UINT64_C(3) * mt_str_len(t, f->file) +
                    UINT64_C(7) * f->line);
    }
    return sum;
}

MT_TEST(real_files_equal_what_python_reads)
{
    MT_REQUIRE_SHARED();
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        const struct real_file *want = &real[i];
        struct real_file got = {.name = want->name};
        struct result r = load(want->name);
        MT_CHECK_EQ(r.rc, MT_OK);
        for (uint32_t d = 0; r.t != NULL && d < r.t->devices.n; d++) {
            const struct mt_device *v = &r.t->devices.p[d];
            for (uint64_t k = 0; v->kind == MT_DEV_CUDA && k < v->events.n; k++) {
                const struct mt_event *e = mt_event_at(v, k);
                got.n_events++;
                got.addr += e->addr;
                got.size += e->size;
                got.time += mt_event_ns(v, k) / 1000;
                got.stacks += stack_sum(r.t, e->stack);
            }
        }
        for (uint32_t k = 0; r.t != NULL && k < r.t->segments.n; k++) {
            const struct mt_segment *s = &r.t->segments.p[k];
            if (s->is_host)
                continue;
            got.n_segments++;
            got.total += s->total;
            got.n_blocks += s->n_blocks;
            for (uint32_t b = s->first_block; b < s->first_block + s->n_blocks; b++) {
                got.block_size += r.t->blocks.p[b].size;
                got.block_stacks += stack_sum(r.t, r.t->blocks.p[b].stack);
            }
        }
#define SAME(f)                                                                                    \
    do {                                                                                           \
        mt_n_checks++;                                                                             \
        if (got.f != want->f)                                                                      \
            MT_FAIL_AT("%s: " #f ": got %" PRIu64 ", want %" PRIu64, want->name, got.f, want->f);  \
    } while (0)
        SAME(n_events);
        SAME(addr);
        SAME(size);
        SAME(time);
        SAME(stacks);
        SAME(n_segments);
        SAME(total);
        SAME(n_blocks);
        SAME(block_size);
        SAME(block_stacks);
        if (r.t != NULL) {
            MT_CHECK_EQ(r.t->meta.torch_jit_pickler, false);
            MT_CHECK_EQ(r.t->meta.format, MT_FMT_PICKLE);
            MT_CHECK_EQ(r.t->diags.n, 0);
        }
        mt_trace_free(r.t);
    }
}

MT_TEST(re_encodings_equal_their_original)
{
    static const struct {
        const char *original, *copy;
        int protocol;
        bool jit;
    } rows[] = {
        {"cs336_silmont_small_torch2.6.pickle", "cs336_silmont_small.proto0.pickle", 0, false},
        {"cs336_silmont_small_torch2.6.pickle", "cs336_silmont_small.proto1.pickle", 1, false},
        {"cs336_silmont_small_torch2.6.pickle", "cs336_silmont_small.proto2.pickle", 2, false},
        {"cs336_silmont_small_torch2.6.pickle", "cs336_silmont_small.proto3.pickle", 3, false},
        {"cs336_silmont_small_torch2.6.pickle", "cs336_silmont_small.proto5.pickle", 5, false},
        {"verl_pr851_megatron_vllm_mempools_torch2.6.pickle", "verl_pr851.torch_jit_pickler.pickle",
         2, true},
        {"flexgen_oom_state_only_torch2.0.pickle", "flexgen_oom.torch_jit_pickler.pickle", 2, true},
    };
    MT_REQUIRE_SHARED();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result a = load(rows[i].original), b = load(rows[i].copy);
        MT_CHECK_EQ(a.rc, MT_OK);
        MT_CHECK_EQ(b.rc, MT_OK);
        if (a.t != NULL && b.t != NULL) {
            MT_CHECK_SAME(a.t, b.t);
            MT_CHECK_EQ(b.t->meta.pickle_protocol, rows[i].protocol);
            MT_CHECK_EQ(b.t->meta.torch_jit_pickler, rows[i].jit);
        }
        mt_trace_free(a.t);
        mt_trace_free(b.t);
    }
}

MT_TEST(bad_files)
{
    static const struct {
        const char *name;
        enum mt_rc rc;
        const char *has, *has2;
        long long offset;
    } rows[] = {
        {"bad_global.pickle", MT_EINPUT, "GLOBAL (builtins.print)", "executes nothing", 2},
        {"bad_memo_bomb.pickle", MT_EINPUT, "APPENDS", "offset 6", 10},
        {"bad_not_snapshot.pickle", MT_EINPUT, "'a'", "_dump_snapshot", -1},
    };
    struct result r;
    MT_REQUIRE_SHARED();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        r = load(rows[i].name);
        MT_CHECK_EQ(r.rc, rows[i].rc);
        MT_CHECK_HAS(r.err.msg, rows[i].has);
        MT_CHECK_HAS(r.err.msg, rows[i].has2);
        MT_CHECK_EQ(r.err.has_offset ? (long long)r.err.offset : -1, rows[i].offset);
        mt_trace_free(r.t);
    }
    r = load("bad_truncated.pickle");
    MT_CHECK_EQ(r.rc, MT_WARN);
    MT_ASSERT(r.t != NULL && r.t->devices.n == 1);
    MT_CHECK_EQ(r.t->segments.n, 9);
    MT_CHECK_EQ(r.t->devices.p[0].events.n, 10);
    MT_CHECK_HAS(diag_text(r.t, 0), "in the trace of device 0, after 10 entries");
    mt_trace_free(r.t);
}

MT_MAIN(MT_RUN(real_files_equal_what_python_reads) MT_RUN(re_encodings_equal_their_original)
            MT_RUN(bad_files))
