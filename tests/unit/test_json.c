/* The JSON reader: any layout, any cut, stacks of every size, real files. */
#include "parser/json/scan.h"
#include "tests/unit/json_sample.h"

static const struct layout torch_layout = {", ", ": ", -1, 0};

/* The sample in PyTorch's order, checked value by value in the_sample(); every other layout must
 * say the same. */
static char *reference(void)
{
    char *s = make_sample(torch_layout), *c;
    struct result r = read_text(s);
    if (r.rc != MT_OK)
        MT_FAIL_AT("the sample: rc %d %s", r.rc, r.err.msg);
    c = r.t != NULL ? content(r.t) : NULL;
    done(&r);
    free(s);
    return c;
}

MT_TEST(the_sample)
{
    char *s = make_sample(torch_layout);
    struct result r = read_text(s);
    const struct mt_event *e;
    const struct mt_device *d;
    const struct mt_stack_node *k;
    const struct mt_frame *f;
    MT_CHECK_EQ(r.rc, MT_OK);
    MT_ASSERT(r.t != NULL);
    MT_CHECK(r.t->sealed && !r.t->damaged);
    MT_CHECK_EQ(r.t->meta.format, MT_FMT_JSON);
    MT_CHECK_EQ(r.t->meta.bytes, strlen(s));
    MT_CHECK_EQ(r.t->devices.n, 2);
    MT_CHECK_EQ(r.t->segments.n, 3);
    MT_CHECK_EQ(r.t->blocks.n, 6);
    d = &r.t->devices.p[1];
    MT_CHECK_EQ(d->ordinal, 1);
    MT_CHECK_EQ(d->events.n, 24);
    MT_CHECK_EQ(d->ring_max_entries, 100000);
    MT_CHECK_EQ(d->ring_overflowed, 1);
    MT_CHECK_EQ(d->n_by_action[MT_ACT_ALLOC], 6);
    MT_CHECK_EQ(d->n_by_action[MT_ACT_OTHER], 3);
    MT_CHECK_EQ(d->n_with_stack, 18);
    MT_CHECK_EQ(d->n_with_time, 24);
    e = mt_event_at(d, 5);
    MT_CHECK_EQ(e->action, MT_ACT_OOM);
    MT_CHECK_EQ(e->addr, 139777059848192LL + 512 * 5);
    MT_CHECK_EQ(e->size, 512 * 6);
    MT_CHECK_EQ(mt_event_ns(d, 5), 1730000000000005000LL);
    k = &r.t->stacks.p[e->stack]; /* stack 1: innermost first */
    f = &r.t->frames.p[k->frame];
    MT_CHECK_STR(mt_str(r.t, f->name), "forward");
    MT_CHECK_STR(mt_str(r.t, f->file), "/opt/m[0].py");
    MT_CHECK_EQ(f->line, 12);
    f = &r.t->frames.p[r.t->stacks.p[k->parent].frame];
    MT_CHECK_STR(mt_str(r.t, f->name), "main");
    MT_CHECK_STR(mt_str(r.t, f->file), "a.py");
    MT_CHECK_EQ(r.t->stacks.p[k->parent].parent, 0);
    f = &r.t->frames.p[r.t->stacks.p[mt_event_at(d, 6)->stack].frame];
    MT_CHECK_STR(mt_str(r.t, f->name),
                 "std::vector<int>::operator[](unsigned long) {lambda(\"]}\")#1}");
    MT_CHECK_STR(mt_str(r.t, f->file), "C:\\x\\");
    f = &r.t->frames.p[r.t->stacks.p[mt_event_at(d, 7)->stack].frame];
    MT_CHECK_STR(mt_str(r.t, f->name), "caf\xc3\xa9 \xf0\x9f\x98\x80");
    MT_CHECK_STR(mt_str(r.t, f->file), "\xc3\xa9.py");
    MT_CHECK_EQ(f->line, 7);
    MT_CHECK_EQ(r.t->lanes.p[mt_event_at(d, 0)->lane].stream, -1);
    MT_CHECK_EQ(r.t->lanes.p[mt_event_at(d, 0)->lane].pool[1], 2);
    MT_CHECK_EQ(r.t->segments.p[1].pool[0] + r.t->segments.p[0].pool[0], 3);
    MT_CHECK_EQ(r.t->ranges.n, 2);
    MT_CHECK_EQ(r.t->ranges.p[0].t1_ns - r.t->ranges.p[0].t0_ns, 20000);
    MT_CHECK_EQ(r.t->unknown_actions.n, 1);
    MT_CHECK_STR(mt_str(r.t, r.t->unknown_actions.p[0].name), "user_defined");
    for (uint32_t i = 0; i < r.t->unknown_keys.n; i++)
        if (strcmp(mt_str(r.t, r.t->unknown_keys.p[i].name), "brand_new") == 0)
            MT_CHECK_EQ(r.t->unknown_keys.p[i].n, 12);
    MT_CHECK(r.t->unknown_keys.n >= 2);
    {
        char *c = content(r.t);
        MT_CHECK_HAS(c, "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n");
        MT_CHECK_HAS(c, "set garbage_collection_threshold=0.8\n");
        MT_CHECK_HAS(c, "set nothing=None\n");
        MT_CHECK_HAS(c, "set huge=18446744073709551615\n");
        MT_CHECK_HAS(c, "set roundup_power2_divisions.2=4\n");
        MT_CHECK_HAS(c, "set roundup_power2_divisions.deep.er.1=6\n");
        MT_CHECK_HAS(c, "note 1 0 0 0/1_2 [graph]\n");
        free(c);
    }
    done(&r);
    free(s);
}

MT_TEST(any_layout)
{
    static const char *const commas[] = {",", ", ", " ,\t", ",\r\n"}, *const colons[] = {":", ": ",
                                                                                         " :\n"};
    char *want = reference();
    for (int i = 0; i < 120; i++) {
        struct layout l = {commas[i % 4], colons[i % 3], i % 7 - 1,
                           i == 0 ? 0 : (uint64_t)i * 7919};
        char *s = make_sample(l), *got;
        struct result r = read_text(s);
        MT_CHECK_EQ(r.rc, MT_OK);
        got = r.t != NULL ? content(r.t) : NULL;
        if (got == NULL || strcmp(got, want) != 0)
            MT_FAIL_AT("layout %d differs", i);
        free(got);
        done(&r);
        free(s);
    }
    free(want);
}

MT_TEST(any_cut_any_implementation)
{
    static const size_t steps[] = {1,   2,   3,   7,   31,   63,   64,  65,
                                   127, 128, 129, 511, 4095, 4096, 4097};
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    char *want = reference(), *texts[2];
    texts[0] = make_sample(torch_layout);
    texts[1] = make_sample((struct layout){",", ": ", 4, 17});
    for (int i = 0; i < MT_JSON_N_IMPL; i++) {
        if (mt_json_simd_get((enum mt_json_impl)i) == NULL)
            continue;
        mt_json_simd_force(mt_json_simd_get((enum mt_json_impl)i));
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            for (int n = 0; n < 2; n++) {
                struct result r = read_with(texts[n], strlen(texts[n]), steps[k], false, &lim);
                char *got = r.t != NULL ? content(r.t) : NULL;
                MT_CHECK_EQ(r.rc, MT_OK);
                if (got == NULL || strcmp(got, want) != 0)
                    MT_FAIL_AT("implementation %d, %zu bytes a read, text %d differs", i, steps[k],
                               n);
                free(got);
                done(&r);
            }
        }
    }
    mt_json_simd_force(NULL);
    free(texts[0]);
    free(texts[1]);
    free(want);
}

/* The window is 256 KiB: with padding of every size near that, each construct of the sample comes
 * to lie across its end. */
MT_TEST(every_construct_across_the_end_of_the_window)
{
    char *want = reference(), *s = make_sample(torch_layout);
    size_t n = strlen(s);
    for (size_t cut = 0; cut < n; cut += 11) {
        size_t pad = (1 << 18) - cut;
        char *p = malloc(pad + n + 1), *got;
        struct result r;
        MT_ASSERT(p != NULL);
        memset(p, ' ', pad);
        memcpy(p + pad, s, n + 1);
        r = read_text(p);
        got = r.t != NULL ? content(r.t) : NULL;
        MT_CHECK_EQ(r.rc, MT_OK);
        if (got == NULL || strcmp(got, want) != 0)
            MT_FAIL_AT("cut at %zu differs", cut);
        free(got);
        done(&r);
        free(p);
    }
    free(s);
    free(want);
}

MT_TEST(forms_of_a_snapshot)
{
    struct result r = read_text("\xef\xbb\xbf \n{\"device_traces\": [], \"segments\": []}\n\0");
    MT_CHECK_EQ(r.rc, MT_OK);
    done(&r);
    r = read_text("[{\"address\": 4096, \"total_size\": 512, \"device\": 3, \"blocks\": "
                  "[{\"size\": 512, \"state\": "
                  "\"active_allocated\", "
                  "\"history\": [{\"addr\": 4096, \"real_size\": 500, \"frames\": [{\"name\": "
                  "\"f\", \"filename\": \"a\", "
                  "\"line\": 1}]}, "
                  "{\"addr\": 4096, \"real_size\": 7}]}]}]");
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK(r.t->meta.is_bare_list && r.t->meta.legacy_blocks);
    MT_CHECK_EQ(r.t->segments.p[0].device, 3);
    MT_CHECK_EQ(r.t->blocks.p[0].requested, 500);
    MT_CHECK_EQ(r.t->blocks.p[0].addr, 4096);
    MT_CHECK(r.t->blocks.p[0].stack != 0);
    done(&r);
    r = read_text("{\"segments\": [], \"device_traces\": [], \"host_segments\": [{\"address\": 1, "
                  "\"size\": 512, \"allocated\": true, "
                  "\"owner_private_pool_id\": [1, 2]}], \"host_traces\": [{\"action\": \"alloc\", "
                  "\"addr\": 1, \"size\": 512}], "
                  "\"trace_alloc_max_entries\": [5, 6]}");
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(r.t->devices.n, 1);
    MT_CHECK_EQ(r.t->devices.p[0].kind, MT_DEV_HOST);
    MT_CHECK_EQ(r.t->devices.p[0].events.n, 1);
    MT_CHECK_EQ(r.t->segments.p[0].pool[1], 2);
    done(&r);
    r = read_text("{\"host_traces\": [[], [{\"action\": \"alloc\", \"addr\": 1, \"size\": 512}]], "
                  "\"segments\": []}");
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(r.t->devices.p[0].ordinal, 1);
    done(&r);
}

/* Stacks longer than the window (256 KiB), and longer than what is kept in memory at a time. */
MT_TEST(huge_stacks)
{
    static const uint32_t n_frames[] = {3000, 60000};
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    lim.max_frames = 100000;
    for (int k = 0; k < 2; k++) {
        struct text o = {NULL, 0, 0};
        struct result r;
        uint32_t n = 0;
        put(&o, "{\"device_traces\": [[");
        for (int e = 0; e < 3; e++) {
            put(&o, "%s{\"frames\": [", e ? ", " : "");
            for (uint32_t i = 0; i < n_frames[k]; i++)
                put(&o,
                    "%s{\"name\": \"function_%u\", \"filename\": "
                    "\"/usr/lib/python3/dist-packages/torch/nn/modules/module.py\", \"line\": %u}",
                    i ? ", " : "", i % 20000, i + 1);
            put(&o, "], \"action\": \"alloc\", \"addr\": 1, \"size\": 1}");
        }
        put(&o, "]]}");
        r = read_with(o.p, o.n, 100000, false, &lim);
        free(o.p);
        MT_ASSERT(r.rc == MT_OK);
        MT_CHECK_EQ(n_events(r.t), 3);
        MT_CHECK_EQ(mt_event_at(&r.t->devices.p[0], 0)->stack,
                    mt_event_at(&r.t->devices.p[0], 2)->stack);
        for (mt_stack_id id = mt_event_at(&r.t->devices.p[0], 2)->stack; id != 0;
             id = r.t->stacks.p[id].parent) {
            n++;
            if (r.t->frames.p[r.t->stacks.p[id].frame].line != n) {
                MT_FAIL_AT("frame %u has line %u", n, r.t->frames.p[r.t->stacks.p[id].frame].line);
                break;
            }
        }
        MT_CHECK_EQ(n, n_frames[k]);
        done(&r);
    }
}

/* More frames than are remembered, stacks that nearly all differ, then stacks that repeat: each
 * event keeps its own. */
MT_TEST(stacks_that_differ)
{
    enum { N = 12000, DEPTH = 6 };
    struct text o = {NULL, 0, 0};
    struct result r;
    int n_wrong = 0;
    put(&o, "{\"device_traces\": [[");
    for (uint32_t e = 0; e < N; e++) {
        put(&o, "%s{\"action\": \"alloc\", \"addr\": %u, \"size\": 512, \"frames\": [",
            e ? ", " : "", e + 1);
        for (uint32_t k = 0; k < DEPTH; k++) {
            uint32_t line = k == e % DEPTH ? (e < N / 2 ? e : e % 37) : 100000 + k * 7 + e % 5;
            put(&o, "%s{\"name\": \"f%u%s\", \"filename\": \"%s.py\", \"line\": %u}", k ? ", " : "",
                k,
                line % 3 ? ""
                         : "_long_name_long_name_long_name_long_name_long_name_long_name_long_name_"
                           "long_name_long_name_long_name_"
                           "long_name_long_name_long_name_long_name_long_name_long_name_long_name_"
                           "long_name_long_name_long_name",
                line % 2 ? "a" : "b", line);
        }
        put(&o, "]}");
    }
    put(&o, "]]}");
    r = read_text(o.p);
    free(o.p);
    MT_ASSERT(r.rc == MT_OK);
    MT_ASSERT(n_events(r.t) == N);
    for (uint32_t e = 0; e < N; e++) {
        mt_stack_id id = mt_event_at(&r.t->devices.p[0], e)->stack;
        for (uint32_t k = 0; k < DEPTH; k++) {
            const struct mt_frame *f = &r.t->frames.p[r.t->stacks.p[id].frame];
            uint32_t line = k == e % DEPTH ? (e < N / 2 ? e : e % 37) : 100000 + k * 7 + e % 5;
            n_wrong += f->line != line || mt_str(r.t, f->name)[1] != (char)('0' + k) ||
                       (mt_str_len(r.t, f->name) > 100) != (line % 3 == 0) ||
                       mt_str(r.t, f->file)[0] != (line % 2 ? 'a' : 'b');
            id = r.t->stacks.p[id].parent;
        }
        n_wrong += id != 0;
    }
    MT_CHECK_EQ(n_wrong, 0);
    MT_CHECK(r.t->n_distinct_stacks > N / 2 && r.t->n_distinct_stacks < N);
    done(&r);
}

/* Memory is that of the model, not of the text: 40 MB of one repeated stack, and of ever new values
 * under unknown keys. */
MT_TEST(memory_does_not_grow_with_the_text)
{
    struct text o = {NULL, 0, 0};
    struct result r;
    uint64_t before = mt_mem_used();
    put(&o, "{\"device_traces\": [[");
    for (int e = 0; e < 10000; e++)
        put(&o,
            "%s{\"action\": \"alloc\", \"addr\": %d, \"size\": 512, \"future\": {\"n\": [%d, \"%d "
            "%0500d\"]}, \"frames\": "
            "[{\"name\": \"%01500d\", "
            "\"filename\": \"x\", \"line\": 1}, {\"name\": \"%01500d\", \"filename\": \"y\", "
            "\"line\": 2}]}",
            e ? ", " : "", e + 1, e, e, 0, e % 7, e % 5);
    put(&o, "]]}");
    r = read_text(o.p);
    MT_CHECK(o.n > 36000000);
    free(o.p);
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(n_events(r.t), 10000);
    MT_CHECK_EQ(r.t->n_distinct_stacks, 35);
    MT_CHECK(mt_mem_used() - before < 1 << 20);
    done(&r);
    MT_CHECK_EQ(mt_mem_used(), before);
}

/* The real files: what JSON says is what the pickle says it was made from. */
MT_TEST(real_files_equal_their_pickles)
{
    static const struct {
        const char *json, *pickle;
        uint64_t events;
        uint32_t segments, blocks, stacks;
    } files[] = {
        {"derived/cs336_silmont_small.json", "cs336_silmont_small_torch2.6.pickle", 97, 9, 20, 42},
        {"derived/flexgen_oom_state_only.json", "flexgen_oom_state_only_torch2.0.pickle", 1, 176,
         463, 3},
    };
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    MT_REQUIRE_SHARED();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1200], *a, *b;
        size_t n = 0;
        struct result r;
        struct mt_source *src;
        struct mt_trace *t = mt_trace_new();
        unsigned char *p;
        snprintf(path, sizeof path, "%s/torch/%s", mt_shared_data(), files[i].json);
        p = mt_slurp(path, &n);
        MT_ASSERT(p != NULL && t != NULL);
        r = read_with((const char *)p, n, 100000, false, &lim);
        free(p);
        MT_ASSERT(r.rc == MT_OK);
        MT_CHECK_EQ(n_events(r.t), files[i].events); /* counted with Python's json module */
        MT_CHECK_EQ(r.t->segments.n, files[i].segments);
        MT_CHECK_EQ(r.t->blocks.n, files[i].blocks);
        MT_CHECK_EQ(r.t->n_distinct_stacks, files[i].stacks);
        snprintf(path, sizeof path, "%s/torch/%s", mt_shared_data(), files[i].pickle);
        p = mt_slurp(path, &n);
        MT_ASSERT(p != NULL && mt_source_mem(&src, p, n) == MT_OK);
        MT_CHECK_EQ(mt_reader_pickle.read(src, &lim, t, NULL), MT_OK);
        a = content(r.t);
        b = content(t);
        if (strcmp(a, b) != 0)
            MT_FAIL_AT("%s differs from its pickle", files[i].json);
        free(a);
        free(b);
        mt_source_free(src);
        free(p);
        mt_trace_free(t);
        done(&r);
    }
}

static int bid(const char *s) { return mt_reader_json.probe((const unsigned char *)s, strlen(s)); }

MT_TEST(probe)
{
    MT_CHECK(bid("{\"segments\": [") >= 80);
    MT_CHECK(bid(" \r\n\t{\n  \"x\"") >= 80);
    MT_CHECK(bid("\xef\xbb\xbf{}") >= 80);
    MT_CHECK(bid("[{\"device\": 0") >= 50);
    MT_CHECK(bid("[]") >= 50);
    MT_CHECK(bid("[[1]]") > 0);
    MT_CHECK(bid("[1, 2]") > 0);
    MT_CHECK(bid("[-1.5e3]") > 0);
    MT_CHECK(bid("[null") > 0);
    MT_CHECK(bid("{") > 0);
    MT_CHECK_EQ(bid(""), 0);
    MT_CHECK_EQ(bid("   "), 0);
    MT_CHECK_EQ(bid("(dp0\nS'a'"), 0);
    MT_CHECK_EQ(bid("]q"), 0);
    MT_CHECK_EQ(bid("}q"), 0);
    MT_CHECK_EQ(bid("\x80\x04}"), 0);
    MT_CHECK_EQ(bid("<html>"), 0);
    MT_CHECK_EQ(bid("[2024-01-01 12:00:00] INFO"), 0);
    MT_CHECK_EQ(bid("[INFO] x"), 0);
    MT_CHECK_EQ(bid("[nullable] x"), 0);
    MT_CHECK_EQ(bid("{x: 1}"), 0);
    MT_CHECK_EQ(bid("version https://git-lfs"), 0);
}

MT_MAIN(MT_RUN(the_sample) MT_RUN(any_layout) MT_RUN(any_cut_any_implementation)
            MT_RUN(every_construct_across_the_end_of_the_window) MT_RUN(forms_of_a_snapshot)
                MT_RUN(huge_stacks) MT_RUN(stacks_that_differ)
                    MT_RUN(memory_does_not_grow_with_the_text)
                        MT_RUN(real_files_equal_their_pickles) MT_RUN(probe))
