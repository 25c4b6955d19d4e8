/* How containers in a pickle find their meaning: roles, sharing, cycles, and what is not known. */
#include "tests/unit/mt_test.h"
#include "tests/unit/pickle_make.h"

MT_TEST(settings_nest)
{
    struct bytes b = {0};
    struct result r;
    P(&b, "\x80\x04}(");
    text(&b, "segments"), P(&b, "]"), text(&b, "allocator_settings"), P(&b, "}(");
    text(&b, "expandable_segments"), P(&b, "\x89");
    text(&b, "roundup"), P(&b, "}("), text(&b, "1"), num(&b, 0), text(&b, "2"), num(&b, 4),
        P(&b, "u");
    text(&b, "one"), P(&b, "}"), text(&b, "key"), P(&b, "}"), text(&b, "deep"), num(&b, 7),
        P(&b, "ss"); /* single items, no MARK */
    text(&b, "empty"), P(&b, "}");
    text(&b, "trace_alloc_max_entries"), num(&b, 100);
    text(&b, "trace_alloc_overflowed"), P(&b, "](\x88\x89"
                                              "eu");
    text(&b, "device_traces"), P(&b, "](](");
    event(&b, "alloc", 4096, 512);
    P(&b, "eeu.");
    r = read_bytes(&b);
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_STR(setting(r.t, "expandable_segments"), "False");
    MT_CHECK_STR(setting(r.t, "roundup.1"), "0");
    MT_CHECK_STR(setting(r.t, "roundup.2"), "4");
    MT_CHECK_STR(setting(r.t, "one.key.deep"), "7");
    MT_CHECK(setting(r.t, "empty") == NULL);
    MT_ASSERT(r.t->devices.n == 1);
    MT_CHECK_EQ(r.t->devices.p[0].ring_max_entries, 100);
    MT_CHECK_EQ(r.t->devices.p[0].ring_overflowed, 1);
    mt_trace_free(r.t);
}

/* The same entry with its frames in `frames`; returns the lines of the stack, innermost first. */
static int lines_of(const struct mt_trace *t, mt_stack_id id, uint32_t *out, int max)
{
    int n = 0;
    for (; id != 0 && n < max; id = t->stacks.p[id].parent)
        out[n++] = t->frames.p[t->stacks.p[id].frame].line;
    return n;
}

MT_TEST(frames_in_every_form)
{
    /* frame dicts 1..3 are in the memo under 10..12; each row is one list of frames with the lines
     * that it must give */
    static const struct {
        const char *s;
        size_t n;
        int lines;
        uint32_t want[4];
    } rows[] = {
        {L("](h\x0ah\x0bh\x0c"
           "e"),
         3,
         {1, 2, 3}}, /* MARK .. APPENDS */
        {L("]h\x0b"
           "a"),
         1,
         {2}}, /* APPEND */
        {L("](h\x0ah\x0b"
           "e(h\x0c"
           "eh\x0a"
           "a"),
         4,
         {1, 2, 3, 1}},                                      /* batches */
        {L("](j\x0a\0\0\0h\x0bj\x0c\0\0\0e"), 3, {1, 2, 3}}, /* LONG_BINGET */
        {L("](g10\nh\x0b"
           "e"),
         2,
         {1, 2}}, /* GET */
        {L("(lp99\nh\x0a"
           "ah\x0b"
           "a"),
         2,
         {1, 2}}, /* LIST, as in protocol 0 */
        {L("]"), 0, {0}},
        {L("](e"), 0, {0}},
        {L("](h\x0ah\x0b"
           "eq\x14"),
         2,
         {1, 2}}, /* stored when complete, as torch::jit::Pickler does */
        {L("]q\x14(h\x0ah\x0b"
           "e"),
         2,
         {1, 2}},
        {L("]\x94(h\x0ah\x0b"
           "e"),
         2,
         {1, 2}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* frames as the last key of the entry (Python) or in the middle (C++) */
        for (int last = 0; last < 2; last++) {
            struct bytes b = {0};
            struct result r;
            uint32_t lines[5] = {0};
            trace_open(&b);
            event_open(&b, "alloc", 4096, 512);
            /* a place of no meaning: a later stack may still refer to it */
            text(&b, "forward_frames"), P(&b, "](");
            frame(&b, "a", "a.py", 1), P(&b, "q\x0a");
            frame(&b, "b", "b.py", 2), P(&b, "q\x0b");
            frame(&b, "c", "c.py", 3), P(&b, "q\x0c");
            P(&b, "e");
            text(&b, "frames"), put(&b, rows[i].s, rows[i].n);
            if (!last)
                text(&b, "time_us"), num(&b, 77);
            P(&b, "u");
            for (int k = 0; k < 3; k++) /* bytes behind it, so that the straight line has room */
                event(&b, "free_completed", 4096, 512);
            trace_close(&b);
            r = read_bytes(&b);
            MT_ASSERT(r.rc == MT_OK && first_event(r.t) != NULL);
            MT_CHECK_EQ(lines_of(r.t, first_event(r.t)->stack, lines, 5), rows[i].lines);
            for (int k = 0; k < rows[i].lines; k++)
                MT_CHECK_EQ(lines[k], rows[i].want[k]);
            MT_CHECK_EQ(mt_event_ns(&r.t->devices.p[0], 0), last ? 0 : 77000);
            MT_CHECK_EQ(r.t->devices.p[0].events.n, 4);
            mt_trace_free(r.t);
        }
    }
}

/* Entries whose keys all come from the memo go the straight line; the first one, in text, does not.
 * Both must agree. Memo: 0 action 1 addr 2 size 3 time_us 4 "alloc" 5 stream 6 pool_id 7
 * user_metadata. */
static void entry_by_memo(struct bytes *b, const char *pool, size_t n, int i)
{
    P(b, "}\x94(h\0h\4h\1");
    num(b, 4096 + i);
    P(b, "h\2M\0\2h\3\x8a\x05\0\0\0\0\1h\5K\0h\6");
    put(b, pool, n);
    P(b, "h\7Nu"); /* None is left to the machine */
}

MT_TEST(straight_line_and_machine_agree)
{
    static const struct {
        const char *s;
        size_t n;
    } pools[] = {
        {L("K\x03K\x04\x86")},
        {L("K\x03K\x04\x86\x94")},
        {L("K\x03K\x04\x86q\xf0")},
        {L("](K\x03K\x04"
           "e")},
        {L("(K\x03K\x04t")},
        {L("\x8a\x01\x03\x8a\x01\x04\x86")},
    };
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        struct bytes b = {0};
        struct result r;
        trace_open(&b);
        P(&b, "}(");
        text(&b, "action"), P(&b, "q\0"), text(&b, "alloc"), P(&b, "q\4"), text(&b, "addr"),
            P(&b, "q\1"), num(&b, 4096);
        text(&b, "size"), P(&b, "q\2"), num(&b, 512), text(&b, "time_us"),
            P(&b, "q\3\x8a\x05\0\0\0\0\1");
        text(&b, "stream"), P(&b, "q\5K\0"), text(&b, "pool_id"), P(&b, "q\6"),
            put(&b, pools[i].s, pools[i].n);
        text(&b, "user_metadata"), P(&b, "q\7Nu");
        for (int k = 1; k < 6; k++)
            entry_by_memo(&b, pools[i].s, pools[i].n, k);
        trace_close(&b);
        r = read_bytes(&b);
        MT_ASSERT(r.rc == MT_OK && first_event(r.t) != NULL);
        MT_CHECK_EQ(r.t->devices.p[0].events.n, 6);
        for (uint64_t k = 0; k < r.t->devices.p[0].events.n; k++) {
            const struct mt_event *e = mt_event_at(&r.t->devices.p[0], k);
            MT_CHECK_EQ(e->addr, 4096 + k);
            MT_CHECK_EQ(e->size, 512);
            MT_CHECK_EQ(mt_event_ns(&r.t->devices.p[0], k), UINT64_C(0x100000000) * 1000);
            MT_CHECK_EQ(e->action, MT_ACT_ALLOC);
            MT_CHECK_EQ(e->flags, MT_EV_POOL_KNOWN);
            MT_CHECK_EQ(r.t->lanes.p[e->lane].pool[0], 3);
            MT_CHECK_EQ(r.t->lanes.p[e->lane].pool[1], 4);
        }
        mt_trace_free(r.t);
    }
}

MT_TEST(cycles_are_refused)
{
    static const struct {
        const char *s;
        size_t n;
        const char *op;
    } rows[] = {
        {L("\x80\x02]q\0(h\0h\0e."), "APPENDS"},         /* l = [l, l] */
        {L("\x80\x02]q\0h\0a."), "APPEND"},              /* l = [l] */
        {L("\x80\x02]q\0]h\0aa."), "APPEND"},            /* l = [[l]] */
        {L("\x80\x04}\x94(\x8c\x01kh\0u."), "SETITEMS"}, /* d = {"k": d} */
        {L("\x80\x04}\x94\x8c\x01kh\0s."), "SETITEM"},
        {L("\x80\x04}\x94\x8c\x01k](h\0K\x01"
           "es."),
         "SETITEM"}, /* d = {"k": [d, 1]} */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result r = read_mem(rows[i].s, rows[i].n, NULL);
        MT_CHECK_EQ(r.rc, MT_EINPUT);
        MT_CHECK_HAS(r.err.msg, rows[i].op);
        MT_CHECK_HAS(r.err.msg, "into itself (fetched from the memo at offset");
        MT_CHECK(r.err.has_offset);
        mt_trace_free(r.t);
    }
}

MT_TEST(sharing_is_no_cycle)
{
    struct bytes b = {0};
    struct result r;
    trace_open(&b);
    event_open(&b, "alloc", 4096, 512);
    text(&b, "frames"), P(&b, "]q\1("), frame(&b, "a", "a.py", 1), P(&b, "q\2");
    frame(&b, "b", "b.py", 2), P(&b, "eu");
    event_open(&b, "free_completed", 4096, 512);
    text(&b, "frames"), P(&b, "h\1"); /* the whole list of the entry before */
    /* a list of stacks: of no use, and no harm */
    text(&b, "forward_frames"), P(&b, "](h\1h\1]h\2ae");
    P(&b, "u");
    event_open(&b, "alloc", 8192, 512);
    text(&b, "forward_frames"),
        P(&b, "]q\5(h\2"
              "e"),
        text(&b, "frames"), P(&b, "h\5"); /* used twice in one dict, while it is open */
    P(&b, "u");
    trace_close(&b);
    r = read_bytes(&b);
    MT_ASSERT(r.rc == MT_OK && first_event(r.t) != NULL);
    MT_CHECK_EQ(r.t->devices.p[0].events.n, 3);
    MT_CHECK(first_event(r.t)->stack != 0);
    MT_CHECK_EQ(mt_event_at(&r.t->devices.p[0], 1)->stack, first_event(r.t)->stack);
    MT_CHECK(mt_event_at(&r.t->devices.p[0], 2)->stack != 0);
    MT_CHECK_EQ(r.t->n_distinct_stacks, 2);
    MT_CHECK_EQ(r.t->diags.n, 0);
    mt_trace_free(r.t);
}

MT_TEST(unknown_keys_are_walked_over)
{
    struct bytes b = {0};
    struct result r;
    P(&b, "\x80\x04}(");
    text(&b, "future"), P(&b, "}("), text(&b, "a"),
        P(&b, "]K\x01"
              "a"),
        text(&b, "b"), P(&b, "K\x01\x85"), num(&b, 5), P(&b, "Nu");
    text(&b, "segments"), P(&b, "]");
    text(&b, "single"), P(&b, "}"), text(&b, "k"), P(&b, "}"), text(&b, "segments"),
        P(&b, "]ss"); /* "segments" of another dict */
    text(&b, "device_traces"), P(&b, "](](");
    event_open(&b, "alloc", 4096, 512);
    text(&b, "novel"), P(&b, "](](](eeK\x07"
                             "e");
    P(&b, "u");
    event(&b, "teleport", 0, 0);
    P(&b, "e](");
    event(&b, "alloc", 4096, 512);
    P(&b, "ee");
    P(&b, "K\x05N"); /* a key that is a number */
    P(&b, "u.");
    r = read_bytes(&b);
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(r.t->unknown_keys.n, 4);
    MT_CHECK_EQ(r.t->unknown_actions.n, 1);
    MT_ASSERT(r.t->devices.n == 2);
    MT_CHECK_EQ(r.t->devices.p[0].events.n, 2);
    MT_CHECK_EQ(r.t->devices.p[1].events.n, 1);
    MT_CHECK_EQ(r.t->devices.p[1].ordinal, 1);
    MT_CHECK_EQ(r.t->segments.n, 0);
    mt_trace_free(r.t);
}

MT_TEST(items_that_are_wrong_are_counted)
{
    struct bytes b = {0};
    struct result r;
    trace_open(&b);
    event(&b, "alloc", 4096, 512);
    P(&b, "q\7NK\x05h\7"); /* None, a number, and the first entry again by reference */
    event_open(&b, "alloc", 8192, 512);
    text(&b, "frames"), P(&b, "](N"), frame(&b, "a", "a.py", 1), P(&b, "eu");
    trace_close(&b);
    r = read_bytes(&b);
    MT_ASSERT(r.rc == MT_WARN && r.t->devices.n == 1);
    MT_CHECK_EQ(r.t->devices.p[0].events.n, 2);
    MT_CHECK(mt_event_at(&r.t->devices.p[0], 1)->stack != 0);
    MT_CHECK_HAS(diag_text(r.t, 0), "4 items of lists");
    mt_trace_free(r.t);
}

MT_TEST(segments_and_blocks)
{
    struct bytes b = {0};
    struct result r;
    P(&b, "\x80\x04](}("); /* a bare list: torch.cuda.memory_snapshot() */
    text(&b, "device"), num(&b, 0), text(&b, "address"), num(&b, 1 << 20), text(&b, "total_size"),
        num(&b, 1 << 21);
    text(&b, "segment_pool_id"), P(&b, "K\0K\1\x86"), text(&b, "stream"), num(&b, 0);
    text(&b, "blocks"), P(&b, "](}("); /* of PyTorch 2.0: no address, history */
    text(&b, "size"), num(&b, 512), text(&b, "requested_size"), num(&b, 500), text(&b, "state"),
        text(&b, "active_allocated");
    text(&b, "history"), P(&b, "](}("), text(&b, "addr"), num(&b, 1), text(&b, "real_size"),
        num(&b, 500), text(&b, "frames");
    P(&b, "](");
    frame(&b, "a", "a.py", 1);
    P(&b, "eu}("), text(&b, "addr"), num(&b, 1), text(&b, "real_size"), num(&b, 9), P(&b, "ueu}(");
    text(&b, "size"), num(&b, 1024), text(&b, "state"), text(&b, "inactive"), P(&b, "ueu}");
    /* the second segment: one key without MARK, the rest with it */
    text(&b, "address"), num(&b, 7 << 20), P(&b, "s(");
    text(&b, "total_size"), num(&b, 1 << 21), text(&b, "blocks"), P(&b, "]u");
    P(&b, "e.");
    r = read_bytes(&b);
    MT_ASSERT(r.rc == MT_OK && r.t->segments.n == 2 && r.t->blocks.n == 2);
    MT_CHECK(r.t->meta.is_bare_list);
    MT_CHECK(r.t->meta.legacy_blocks);
    MT_CHECK_EQ(r.t->segments.p[0].pool[1], 1);
    MT_CHECK_EQ(r.t->segments.p[0].n_blocks, 2);
    MT_CHECK_EQ(r.t->segments.p[1].n_blocks, 0);
    MT_CHECK_EQ(r.t->blocks.p[0].requested, 500);
    MT_CHECK(r.t->blocks.p[0].stack != 0);
    MT_CHECK_EQ(r.t->blocks.p[1].addr, (1 << 20) + 512);
    mt_trace_free(r.t);
}

MT_TEST(host_traces_in_both_forms)
{
    for (int nested = 0; nested < 2; nested++) {
        struct bytes b = {0};
        struct result r;
        P(&b, "\x80\x04}(");
        text(&b, "segments"), P(&b, "]"), text(&b, "host_traces"), P(&b, "](");
        if (nested)
            P(&b, "](");
        event(&b, "alloc", 4096, 512);
        event(&b, "free_completed", 4096, 512);
        P(&b, "e");
        if (nested) { /* a second list with a single entry, without MARK */
            P(&b, "]");
            event(&b, "alloc", 4096, 512);
            P(&b, "ae");
        }
        P(&b, "u.");
        r = read_bytes(&b);
        MT_ASSERT(r.rc == MT_OK && r.t->devices.n == (nested ? 2 : 1));
        MT_CHECK_EQ(r.t->devices.p[0].kind, MT_DEV_HOST);
        MT_CHECK_EQ(r.t->devices.p[0].events.n, 2);
        mt_trace_free(r.t);
    }
}

MT_TEST(what_follows_the_end)
{
    struct bytes b = {0};
    struct result r;
    trace_open(&b), trace_close(&b), P(&b, "\0\0\0");
    r = read_bytes(&b);
    MT_CHECK_EQ(r.rc, MT_OK);
    MT_CHECK_EQ(r.t->diags.n, 0);
    mt_trace_free(r.t);
    trace_open(&b), trace_close(&b);
    size_t n = b.n;
    P(&b, "\0\x80\x04N.");
    r = read_bytes(&b);
    MT_CHECK_EQ(r.rc, MT_OK);
    MT_ASSERT(r.t != NULL && r.t->diags.n == 1);
    MT_CHECK_EQ(r.t->diags.p[0].level, MT_DIAG_NOTE);
    MT_CHECK_EQ(r.t->diags.p[0].offset, n + 1);
    MT_CHECK_HAS(diag_text(r.t, 0), "another pickle");
    mt_trace_free(r.t);
}

MT_MAIN(MT_RUN(settings_nest) MT_RUN(frames_in_every_form) MT_RUN(straight_line_and_machine_agree)
            MT_RUN(cycles_are_refused) MT_RUN(sharing_is_no_cycle)
                MT_RUN(unknown_keys_are_walked_over) MT_RUN(items_that_are_wrong_are_counted)
                    MT_RUN(segments_and_blocks) MT_RUN(host_traces_in_both_forms)
                        MT_RUN(what_follows_the_end))
