#include "build_trace.h"
#include "mt_test.h"

MT_TEST(stacks_are_shared)
{
    struct bt x = bt_new();
    struct mt_val a = bt_stack(&x, "a.py:1:f|b.py:2:g|c.py:3:h"),
                  b = bt_stack(&x, "d.py:9:q|b.py:2:g|c.py:3:h");
    struct mt_val again = bt_stack(&x, "a.py:1:f|b.py:2:g|c.py:3:h");
    struct mt_trace *t = bt_done(&x);
    MT_CHECK(a.id != b.id);
    MT_CHECK_EQ(a.id, again.id);
    MT_CHECK_EQ(t->stacks.p[a.id].parent, t->stacks.p[b.id].parent);
    MT_CHECK_EQ(t->stacks.n, 1 + 4);
    MT_CHECK_EQ(t->frames.n, 1 + 4);
    MT_CHECK_STR(mt_str(t, t->frames.p[t->stacks.p[a.id].frame].name), "f");
    MT_CHECK_EQ(t->n_distinct_stacks, 2);
    mt_trace_free(t);
}

MT_TEST(segments_are_sorted_and_blocks_follow)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    bt_segment(&x, 1, 0x5000000, 2097152, "512a 2096640i", "");
    bt_segment(&x, 0, 0x9000000, 2097152, "1024a 2096128i", "");
    bt_segment(&x, 0, 0x1000000, 20971520, "4096p 20967424i", "");
    t = bt_done(&x);
    MT_ASSERT(t->segments.n == 3 && t->blocks.n == 6 && t->devices.n == 2);
    MT_CHECK_EQ(t->segments.p[0].addr, 0x1000000);
    MT_CHECK_EQ(t->segments.p[2].device, 1);
    MT_CHECK_EQ(t->blocks.p[0].requested, 4096);
    MT_CHECK_EQ(t->blocks.p[0].state, MT_BLOCK_PENDING_FREE);
    MT_CHECK_EQ(t->blocks.p[1].addr, 0x1000000 + 4096);
    MT_CHECK_EQ(t->blocks.p[4].segment, 2);
    MT_CHECK(t->sealed);
    mt_trace_free(t);
}

MT_TEST(impossible_sizes_are_counted_not_summed)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    static struct mt_rec r;
    bt_trace(&x, 0);
    mt_rec_set(&r, MT_K_ACTION, bt_str(&x, "alloc"));
    mt_rec_set(&r, MT_K_ADDR, bt_int(512));
    mt_rec_set(&r, MT_K_SIZE, (struct mt_val){.type = MT_T_UINT, .u = UINT64_MAX});
    MT_CHECK(mt_build_event(x.b, &r));
    mt_rec_set(&r, MT_K_SIZE, bt_int(-1));
    MT_CHECK(mt_build_event(x.b, &r));
    t = bt_done(&x);
    MT_CHECK_EQ(mt_event_at(&t->devices.p[0], 0)->size, 0);
    MT_CHECK_EQ(mt_event_at(&t->devices.p[0], 1)->size, 0);
    MT_ASSERT(t->diags.n == 1);
    MT_CHECK_HAS(mt_str(t, t->diags.p[0].text), "2 values");
    mt_trace_free(t);
}

/* An event without a record is the one that its record would have made. */
MT_TEST(plain_events_are_events)
{
    struct bt x = bt_new();
    static struct mt_rec r;
    struct mt_val stack = bt_stack(&x, "a.py:1:f");
    const struct mt_event *a, *b;
    const struct mt_device *d;
    struct mt_trace *t;
    bt_trace(&x, 0);
    mt_rec_set(&r, MT_K_ACTION, bt_str(&x, "free_completed"));
    mt_rec_set(&r, MT_K_ADDR, bt_int(512));
    mt_rec_set(&r, MT_K_SIZE, bt_int(1024));
    mt_rec_set(&r, MT_K_TIME_US, bt_int(7));
    mt_rec_set(&r, MT_K_FRAMES, stack);
    MT_CHECK(mt_build_event(x.b, &r));
    MT_CHECK(mt_build_plain_event(x.b, (struct mt_event_kind){.action = MT_ACT_FREE_COMPLETED}, 512,
                                  1024, 7000, stack.id));
    MT_CHECK(mt_build_plain_event(x.b, (struct mt_event_kind){.action = MT_ACT_ALLOC}, 512,
                                  UINT64_MAX, 8000, 0));
    t = bt_done(&x);
    d = &t->devices.p[0];
    MT_ASSERT(d->events.n == 3);
    a = mt_event_at(d, 0);
    b = mt_event_at(d, 1);
    MT_CHECK_EQ(mt_event_ns(d, 0), mt_event_ns(d, 1));
    MT_CHECK(a->addr == b->addr && a->size == b->size && a->stack == b->stack &&
             a->lane == b->lane && a->action == b->action && a->flags == b->flags);
    MT_CHECK_EQ(d->n_by_action[MT_ACT_FREE_COMPLETED], 2);
    MT_CHECK_EQ(d->bytes_by_action[MT_ACT_FREE_COMPLETED], 2048);
    MT_CHECK_EQ(d->n_with_stack, 2);
    MT_CHECK_EQ(d->n_with_time, 3);
    MT_CHECK_EQ(d->last_time_ns, 8000);
    MT_CHECK_EQ(mt_event_at(d, 2)->size, 0); /* more than any device has */
    MT_ASSERT(t->diags.n == 1);
    MT_CHECK_HAS(mt_str(t, t->diags.p[0].text), "1 value");
    mt_trace_free(t);
}

MT_TEST(impossible_devices_are_counted)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    bt_segment(&x, 127, 0x1000000, 2097152, "512a 2096640i", "");
    /* a device index has seven bits */
    bt_segment(&x, 128, 0x2000000, 2097152, "512a 2096640i", "");
    bt_segment(&x, -1, 0x3000000, 2097152, "512a 2096640i", "");
    t = bt_done(&x);
    MT_ASSERT(t->devices.n == 2);
    MT_CHECK_EQ(t->devices.p[0].ordinal, 0);
    MT_CHECK_EQ(t->devices.p[1].ordinal, 127);
    MT_ASSERT(t->diags.n == 1);
    MT_CHECK_HAS(mt_str(t, t->diags.p[0].text), "2 values");
    mt_trace_free(t);
}

MT_TEST(events_keep_their_numbers)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    static struct mt_rec r;
    bt_trace(&x, 3);
    bt_event(&x, "alloc", 512, 100, "");
    bt_event(&x, "teleport", 512, 100, ""); /* unknown action */
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_ACTION, bt_str(&x, "alloc")); /* no address, no size */
    MT_CHECK(mt_build_event(x.b, &r));
    bt_event(&x, "free_completed", 512, 100, "");
    t = bt_done(&x);
    MT_ASSERT(t->devices.n == 1);
    MT_CHECK_EQ(t->devices.p[0].ordinal, 3);
    MT_CHECK_EQ(t->devices.p[0].events.n, 4);
    MT_CHECK_EQ(mt_event_at(&t->devices.p[0], 1)->action, MT_ACT_OTHER);
    MT_CHECK_EQ(mt_event_at(&t->devices.p[0], 2)->action, MT_ACT_OTHER);
    MT_CHECK_EQ(mt_event_at(&t->devices.p[0], 3)->action, MT_ACT_FREE_COMPLETED);
    MT_ASSERT(t->unknown_actions.n == 1);
    MT_CHECK_STR(mt_str(t, t->unknown_actions.p[0].name), "teleport");
    mt_trace_free(t);
}

MT_TEST(many_events_cross_chunks)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    bt_trace(&x, 0);
    for (uint64_t i = 0; i < 3 * MT_CHUNK_EVENTS + 17; i++)
        bt_event(&x, "alloc", 512 * i, i, "");
    t = bt_done(&x);
    for (uint64_t i = 0; i < 3 * MT_CHUNK_EVENTS + 17; i += 977)
        MT_CHECK_EQ(mt_event_at(&t->devices.p[0], i)->size, i);
    mt_trace_free(t);
}

/* Times are kept as they were, whatever stands beside them: the same, near, further than 16 bits of
 * microseconds (the last ones of 64 that are 1,041 apart) or 32 of nanoseconds, earlier, none. */
MT_TEST(times_of_any_distance_are_kept)
{
    static const uint64_t step[] = {0,    1000, 7,      UINT64_C(3000000000), 0, UINT64_MAX / 3,
                                    1000, 1000, 1041000};
    enum { KINDS = sizeof step / sizeof *step, EVENTS = 5 * 3000 };
    uint64_t *want = calloc((size_t)KINDS * EVENTS, sizeof *want), n = 0, highest = 0, with = 0;
    struct bt x = bt_new();
    struct mt_trace *t;
    const struct mt_device *d;
    MT_ASSERT(want != NULL);
    bt_trace(&x, 0);
    for (unsigned k = 0; k < KINDS; k++) {
        for (unsigned i = 0; i < EVENTS; i++) {
            uint64_t base = UINT64_C(1700000000000000000), ns = base + i * step[k];
            if (i % 3 == 0 && k % 2 == 1)
                ns = base - (i % 7) * step[k];
            if ((k == 4 && i % 1000 == 999) || (k == 2 && i % 2000 == 63))
                ns = 0;
            MT_ASSERT(mt_build_plain_event(x.b, (struct mt_event_kind){.action = MT_ACT_ALLOC}, 512,
                                           1024, ns, 0));
            want[n++] = ns;
            highest = ns > highest ? ns : highest;
            with += ns != 0;
        }
    }
    t = bt_done(&x);
    d = &t->devices.p[0];
    MT_ASSERT(d->events.n == n);
    for (uint64_t i = 0; i < n; i++)
        MT_CHECK_EQ(mt_event_ns(d, i), want[i]);
    MT_CHECK_EQ(d->last_time_ns, highest);
    MT_CHECK_EQ(d->n_with_time, with);
    mt_trace_free(t);
    free(want);
}

static void annotation(struct bt *x, const char *name, const char *stage, int64_t us)
{
    static struct mt_rec r;
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_NAME, bt_str(x, name));
    mt_rec_set(&r, MT_K_STAGE, bt_str(x, stage));
    mt_rec_set(&r, MT_K_DEVICE, bt_int(0));
    mt_rec_set(&r, MT_K_TIME_US, bt_int(us));
    (void)mt_build_annotation(x->b, &r);
}

MT_TEST(annotations_pair_like_brackets)
{
    struct bt x = bt_new();
    struct mt_trace *t;
    annotation(&x, "step", "END", 5); /* began before recording */
    annotation(&x, "step", "START", 10);
    annotation(&x, "step", "START", 11);
    annotation(&x, "step", "END", 12);
    annotation(&x, "step", "END", 20);
    annotation(&x, "open", "START", 30);
    t = bt_done(&x);
    MT_ASSERT(t->ranges.n == 4);
    MT_CHECK_EQ(t->ranges.p[0].t0_ns, 0);
    MT_CHECK_EQ(t->ranges.p[0].t1_ns, 5000);
    MT_CHECK_EQ(t->ranges.p[1].t1_ns, 20000);
    MT_CHECK_EQ(t->ranges.p[2].t1_ns, 12000);
    MT_CHECK_EQ(t->ranges.p[3].t1_ns, 0);
    mt_trace_free(t);
}

MT_TEST(limits_name_their_option)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct bt x = bt_new();
    static struct mt_rec r;
    struct mt_builder *b;
    lim.max_events = 2;
    b = mt_builder_new(x.t, &lim);
    MT_ASSERT(b != NULL);
    (void)mt_build_trace_begin(b, 0, false);
    mt_rec_reset(&r);
    mt_rec_set(&r, MT_K_ACTION, bt_str(&x, "snapshot"));
    mt_rec_set(&r, MT_K_SIZE, bt_int(1));
    MT_CHECK(mt_build_event(b, &r));
    MT_CHECK(mt_build_event(b, &r));
    MT_CHECK(!mt_build_event(b, &r));
    MT_CHECK_EQ(mt_builder_err(b)->rc, MT_ELIMIT);
    MT_CHECK_HAS(mt_builder_err(b)->msg, "--max-events");
    mt_builder_free(b);
    mt_trace_free(bt_done(&x));
}

/* Every allocation of a small build fails once: no crash, no leak, an error. */
MT_TEST(out_of_memory_anywhere)
{
    for (uint64_t n = 1; n < 200; n++) {
        struct mt_limits lim = MT_LIMITS_DEFAULT;
        struct mt_trace *t;
        struct mt_builder *b = NULL;
        static struct mt_rec r;
        mt_str_id id = 0;
        mt_frame_id f = 0;
        mt_stack_id s = 0;
        int ok;
        mt_mem_fail_after(n);
        t = mt_trace_new();
        b = t != NULL ? mt_builder_new(t, &lim) : NULL;
        ok = b != NULL && mt_build_str(b, "alloc", 5, &id) && mt_build_frame(b, id, id, 1, &f) &&
             mt_build_stack(b, &f, 1, &s) && mt_build_trace_begin(b, 0, false);
        if (ok) {
            mt_rec_reset(&r);
            mt_rec_set(&r, MT_K_ACTION, (struct mt_val){.type = MT_T_STR, .id = id});
            mt_rec_set(&r, MT_K_ADDR, bt_int(512));
            mt_rec_set(&r, MT_K_SIZE, bt_int(512));
            for (int i = 0; i < 3000 && ok; i++)
                ok = mt_build_event(b, &r);
            ok = ok && mt_build_finish(b);
        }
        mt_mem_fail_after(0);
        mt_builder_free(b);
        mt_trace_free(t);
        MT_CHECK_EQ(mt_mem_used(), 0);
        if (ok)
            return; /* more allocations than this do not happen */
    }
    MT_CHECK(false); /* the loop should have ended with a whole build */
}

MT_MAIN(MT_RUN(stacks_are_shared) MT_RUN(segments_are_sorted_and_blocks_follow)
            MT_RUN(impossible_sizes_are_counted_not_summed) MT_RUN(plain_events_are_events)
                MT_RUN(impossible_devices_are_counted) MT_RUN(events_keep_their_numbers)
                    MT_RUN(many_events_cross_chunks) MT_RUN(annotations_pair_like_brackets)
                        MT_RUN(times_of_any_distance_are_kept) MT_RUN(limits_name_their_option)
                            MT_RUN(out_of_memory_anywhere))
