/* The pickle reader on what is broken, hostile or too large, and on streams that come in pieces. */
#include "tests/unit/mt_test.h"
#include "tests/unit/pickle_make.h"
#include "tests/unit/trace_digest.h"

/* A snapshot with a little of everything; the two forms that Python and torch::jit::Pickler write.
 */
static void small(struct bytes *b, bool jit)
{
    const char *put_before = jit ? "" : "\x94";
    size_t n = strlen(put_before);
    if (jit)
        P(b, "\x80\x02}(");
    else
        P(b, "\x80\x04\x95\0\0\0\0\0\0\0\0}\x94(");
    text(b, "segments"), P(b, "]"), put(b, put_before, n), P(b, "(}(");
    text(b, "device"), num(b, 0), text(b, "address"), num(b, 1 << 20), text(b, "total_size"),
        num(b, 1 << 21);
    text(b, "segment_pool_id"), P(b, "K\0K\1\x86"), text(b, "frames"), P(b, "]"), text(b, "blocks"),
        P(b, "](}(");
    text(b, "address"), num(b, 1 << 20), text(b, "size"), num(b, 512), text(b, "state"),
        text(b, "inactive"), P(b, "ueue");
    text(b, "device_traces"), P(b, "](](");
    for (int i = 0; i < 4; i++) {
        event_open(b, i % 2 ? "free_completed" : "alloc", 1 << 20, 512);
        text(b, "frames");
        if (i == 0) {
            P(b, "]("), frame(b, "f", "f.py", 1), P(b, "q\xc8"), frame(b, "g", "g.py", 2),
                P(b, "q\xc9"
                     "e");
        } else {
            P(b, "](h\xc8h\xc9"
                 "e");
        }
        text(b, "user_metadata"), text(b, i == 2 ? "hello" : "");
        P(b, "u");
    }
    P(b, "e](");
    event(b, "alloc", 1 << 21, 1024);
    P(b, "ee");
    text(b, "allocator_settings"), P(b, "}("), text(b, "a"), P(b, "G\x3f\xe0\0\0\0\0\0\0"),
        text(b, "b"), P(b, "\x88u");
    text(b, "external_annotations"), P(b, "](}(");
    text(b, "name"), text(b, "step"), text(b, "stage"), text(b, "START"), text(b, "device"),
        num(b, 0), text(b, "time_us"), num(b, 9);
    P(b, "ue");
    text(b, "later"), P(b, "}"), text(b, "x"),
        P(b, "]N"
             "as");
    P(b, "u.");
}

static uint64_t n_events(const struct mt_trace *t)
{
    uint64_t n = 0;
    for (uint32_t i = 0; t != NULL && i < t->devices.n; i++)
        n += t->devices.p[i].events.n;
    return n;
}

/* Every prefix: no crash, no leak, never fewer entries than a shorter prefix gave, and always told.
 */
static void truncate_all(const unsigned char *p, size_t n)
{
    struct result whole = read_mem(p, n, NULL);
    uint64_t before = 0, used;
    int told = 0;
    MT_ASSERT(whole.rc == MT_OK);
    used = n_events(whole.t);
    for (size_t i = 0; i < n; i += MT_TEST_STRIDE) {
        uint64_t held = mt_mem_used(), got;
        struct result r = read_mem(p, i, NULL);
        MT_CHECK(r.rc == MT_WARN || r.rc == MT_EINPUT);
        got = n_events(r.t);
        MT_CHECK(got >= before && got <= used);
        before = got > before ? got : before;
        if (r.t != NULL) {
            told++;
            MT_CHECK(r.t->damaged && r.t->sealed);
            MT_CHECK_HAS(diag_text(r.t, 0), "the file ends");
            MT_CHECK_HAS(diag_text(r.t, 0), "missing");
            MT_CHECK_EQ(r.t->diags.p[0].offset, i);
        }
        MT_CHECK(r.steps <= 10 * whole.steps);
        mt_trace_free(r.t);
        MT_CHECK_EQ(mt_mem_used(), held);
    }
    MT_CHECK(told > 0);
    MT_CHECK_EQ(before, used); /* the last entry is whole long before the file is */
    mt_trace_free(whole.t);
}

static void flip_all(const unsigned char *p, size_t n)
{
    static const unsigned char masks[] = {0x01, 0x80, 0xff, 0x20};
    struct result whole = read_mem(p, n, NULL);
    unsigned char *copy = malloc(n);
    MT_ASSERT(whole.rc == MT_OK && copy != NULL);
    memcpy(copy, p, n);
    for (size_t i = 0; i < n; i += MT_TEST_STRIDE) {
        for (size_t k = 0; k < sizeof masks; k++) {
            uint64_t held = mt_mem_used();
            struct result r;
            copy[i] = (unsigned char)(p[i] ^ masks[k]);
            r = read_mem(copy, n, NULL);
            MT_CHECK(r.rc == MT_OK || r.rc == MT_WARN ||
                     ((r.rc == MT_EINPUT || r.rc == MT_ELIMIT) && r.err.msg[0] != '\0'));
            MT_CHECK(r.steps <= 10 * whole.steps);
            mt_trace_free(r.t);
            MT_CHECK_EQ(mt_mem_used(), held);
        }
        copy[i] = p[i];
    }
    free(copy);
    mt_trace_free(whole.t);
}

static void starve(const unsigned char *p, size_t n)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct result whole = read_mem(p, n, NULL);
    uint64_t held = mt_mem_used();
    enum mt_rc rc = MT_ENOMEM;
    uint64_t k = 0;
    while (rc == MT_ENOMEM && ++k < 100000) { /* the k-th allocation and all after it fail */
        struct mt_source *src = NULL;
        struct mt_trace *t = NULL;
        struct mt_err err = {.rc = MT_OK};
        mt_mem_fail_after(k);
        if (mt_source_mem(&src, p, n) == MT_OK && (t = mt_trace_new()) != NULL) {
            rc = mt_reader_pickle.read(src, &lim, t, &err);
            MT_CHECK(rc >= 0 || (rc == MT_ENOMEM && err.msg[0] != '\0'));
        }
        mt_mem_fail_after(0);
        if (rc >= 0)
            MT_CHECK_SAME(t, whole.t);
        mt_trace_free(t);
        mt_source_free(src);
    }
    MT_CHECK(rc >= 0);
    MT_CHECK(k > 20);
    MT_CHECK_EQ(mt_mem_used(), held);
    mt_trace_free(whole.t);
}

static void in_pieces(const unsigned char *p, size_t n)
{
    static const size_t steps[] = {1, 2, 3, 7, 9, 10, 11, 16, 61, 63, 64, 65, 127, 1000};
    struct result whole = read_mem(p, n, NULL);
    MT_ASSERT(whole.rc == MT_OK);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct result r = read_slow(p, n, steps[i], MT_OK, NULL);
        MT_CHECK_EQ(r.rc, MT_OK);
        if (r.t != NULL)
            MT_CHECK_SAME(r.t, whole.t);
        mt_trace_free(r.t);
    }
    mt_trace_free(whole.t);
}

static void all_of(void (*check)(const unsigned char *, size_t))
{
    static const char *const samples[] = {"tiny.pickle", "tiny.protocol0.pickle",
                                          "tiny.torch_jit_pickler.pickle"};
    for (int jit = 0; jit < 2; jit++) {
        struct bytes b = {0};
        small(&b, jit != 0);
        check(b.p, b.n);
        free(b.p);
    }
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char path[1024];
        size_t n = 0;
        unsigned char *p;
        snprintf(path, sizeof path, "%s/%s", MT_SAMPLES, samples[i]);
        p = mt_slurp(path, &n);
        MT_CHECK(p != NULL);
        if (p != NULL)
            check(p, n);
        free(p);
    }
}

MT_TEST(truncated_at_every_byte) { all_of(truncate_all); }
MT_TEST(flipped_at_every_byte) { all_of(flip_all); }
MT_TEST(out_of_memory_at_every_allocation) { all_of(starve); }
MT_TEST(read_in_pieces) { all_of(in_pieces); }

MT_TEST(what_is_missing)
{
    static const struct {
        const char *after;
        size_t skip;
        const char *has[3];
    } rows[] = {
        {"free_completed", 0, {"in the trace of device 0, after 1 entries", "later devices", NULL}},
        {"START", 0, {"in external_annotations, after 0 of them", "what follows there", NULL}},
        {"device_traces", 20, {"in the trace of device 0, after 0 entries", "later devices", NULL}},
        {"total_size", 0, {"in the segments, after 0 of them", "device_traces", NULL}},
    };
    struct bytes b = {0};
    small(&b, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = strlen(rows[i].after), at = 0;
        struct result r;
        while (at + len <= b.n && memcmp(b.p + at, rows[i].after, len) != 0)
            at++;
        MT_CHECK(at + len < b.n);
        r = read_mem(b.p, at + len + rows[i].skip, NULL);
        MT_CHECK_EQ(r.rc, MT_WARN);
        for (int k = 0; rows[i].has[k] != NULL; k++)
            MT_CHECK_HAS(diag_text(r.t, 0), rows[i].has[k]);
        mt_trace_free(r.t);
    }
    free(b.p);
}

/* The last whole entry counts although nothing came after it; half of one does not. */
MT_TEST(the_last_whole_entry_is_kept)
{
    struct bytes b = {0};
    struct result r;
    size_t whole;
    trace_open(&b);
    event(&b, "alloc", 4096, 512);
    event(&b, "alloc", 8192, 512);
    whole = b.n;
    event_open(&b, "alloc", 16384, 512);
    for (size_t n = whole - 1; n <= b.n; n++) {
        r = read_mem(b.p, n, NULL);
        MT_CHECK_EQ(r.rc, MT_WARN);
        MT_CHECK_EQ(n_events(r.t), n < whole ? 1 : 2);
        mt_trace_free(r.t);
    }
    free(b.p);
}

MT_TEST(a_broken_stream_is_the_diagnosis)
{
    struct bytes b = {0};
    struct result r;
    small(&b, false);
    r = read_slow(b.p, b.n - 100, 50, MT_EIO, "the disk is gone");
    MT_CHECK_EQ(r.rc, MT_WARN);
    MT_CHECK_HAS(diag_text(r.t, 0), "the disk is gone");
    mt_trace_free(r.t);
    /* found out behind the last opcode */
    r = read_slow(b.p, b.n, 50, MT_EINPUT, "gzip CRC mismatch");
    MT_CHECK_EQ(r.rc, MT_WARN);
    MT_CHECK_HAS(diag_text(r.t, 0), "the snapshot is whole");
    MT_CHECK_HAS(diag_text(r.t, 0), "gzip CRC mismatch");
    mt_trace_free(r.t);
    r = read_slow(b.p, 5, 50, MT_EIO, "the disk is gone"); /* nothing to report */
    MT_CHECK_EQ(r.rc, MT_EIO);
    MT_CHECK_STR(r.err.msg, "the disk is gone");
    free(b.p);
}

MT_TEST(limits_name_their_option)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct bytes b = {0};
    struct result r;
    /* depth, with MARKs and without */
    for (int marks = 0; marks < 2; marks++) {
        for (int i = 0; i < 300; i++)
            put(&b, "](", marks ? 2 : 1);
        r = read_mem(b.p, b.n, NULL);
        MT_CHECK_EQ(r.rc, MT_ELIMIT);
        MT_CHECK_HAS(r.err.msg, "--max-depth");
        lim.max_depth = 301;
        r = read_mem(b.p, b.n, &lim);
        MT_CHECK_EQ(r.rc, MT_EINPUT); /* cut, but not too deep */
        b.n = 0;
    }
    /* texts: over the limit and there; over the limit and the file ends */
    lim.max_string = 100;
    trace_open(&b), event(&b, "alloc", 4096, 512), P(&b, "X\xc8\0\0\0");
    size_t short_n = b.n + 50;
    for (int i = 0; i < 200; i++)
        P(&b, "x");
    r = read_mem(b.p, b.n, &lim);
    MT_CHECK_EQ(r.rc, MT_ELIMIT);
    MT_CHECK_HAS(r.err.msg, "--max-string");
    r = read_mem(b.p, short_n, &lim);
    MT_CHECK_EQ(r.rc, MT_WARN);
    MT_CHECK_EQ(n_events(r.t), 1);
    mt_trace_free(r.t);
    b.n = 0;
    trace_open(&b), P(&b, "V");
    for (int i = 0; i < 200; i++)
        P(&b, "x");
    P(&b, "\n");
    r = read_mem(b.p, b.n, &lim);
    MT_CHECK_EQ(r.rc, MT_ELIMIT);
    MT_CHECK_HAS(r.err.msg, "--max-string");
    b.n = 0;
    /* a length that no file has */
    trace_open(&b), event(&b, "alloc", 4096, 512),
        P(&b, "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
              "abc");
    r = read_mem(b.p, b.n, NULL);
    MT_CHECK_EQ(r.rc, MT_WARN);
    MT_CHECK_EQ(n_events(r.t), 1);
    mt_trace_free(r.t);
    b.n = 0;
    /* entries, frames */
    lim = (struct mt_limits)MT_LIMITS_DEFAULT;
    lim.max_events = 2;
    trace_open(&b);
    for (int i = 0; i < 4; i++)
        event(&b, "alloc", 4096, 512);
    trace_close(&b);
    r = read_mem(b.p, b.n, &lim);
    MT_CHECK_EQ(r.rc, MT_ELIMIT);
    MT_CHECK_HAS(r.err.msg, "--max-events");
    b.n = 0;
    lim.max_frames = 30;
    /* gets at once, and gets behind a frame that is written out */
    for (int inside = 0; inside < 2; inside++) {
        trace_open(&b), event_open(&b, "alloc", 4096, 512);
        text(&b, "forward_frames"), frame(&b, "f", "f.py", 1), P(&b, "q\7");
        text(&b, "frames"), P(&b, "](");
        if (inside)
            frame(&b, "g", "g.py", 1);
        for (int i = 0; i < 40; i++)
            P(&b, "h\7");
        P(&b, "eu"), trace_close(&b);
        r = read_mem(b.p, b.n, &lim);
        MT_CHECK_EQ(r.rc, MT_ELIMIT);
        MT_CHECK_HAS(r.err.msg, "--max-frames");
        b.n = 0;
    }
    free(b.p);
}

/* The C++ pickler puts a whole list above one MARK. Memory must follow the model, not the list. */
MT_TEST(a_million_items_above_one_mark)
{
    enum { N = 1000000 };
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct bytes b = {0};
    struct result r;
    trace_open(&b);
    P(&b, "}(");
    text(&b, "action"), P(&b, "q\1"), text(&b, "snapshot"), P(&b, "q\2"), text(&b, "size"),
        P(&b, "q\3"), P(&b, "K\1u");
    for (int i = 1; i < N; i++)
        P(&b, "}(h\1h\2h\3K\1u");
    P(&b, "ee");
    text(&b, "numbers"), P(&b, "](");
    for (int i = 0; i < N; i++)
        P(&b, "K\1");
    P(&b, "e"), text(&b, "dicts"), P(&b, "](");
    for (int i = 0; i < N; i++)
        P(&b, "}");
    P(&b, "e"), text(&b, "lists"), P(&b, "](");
    for (int i = 0; i < N; i++)
        P(&b, "]");
    P(&b, "e"), text(&b, "tuple"), P(&b, "(");
    for (int i = 0; i < N; i++)
        P(&b, "]");
    P(&b, "t"), text(&b, "dict"), P(&b, "}(");
    for (int i = 0; i < N; i++)
        P(&b, "K\1}");
    P(&b, "uu.");
    uint64_t held = mt_mem_used();
    /* 32 bytes an entry and a few MiB for everything else */
    mt_mem_limit(held + 32u * N + (6u << 20));
    r = read_mem(b.p, b.n, &lim);
    mt_mem_limit(0);
    MT_CHECK_EQ(r.rc, MT_OK);
    if (r.rc < 0)
        printf("# %s\n", r.err.msg);
    MT_CHECK_EQ(n_events(r.t), N);
    mt_trace_free(r.t);
    free(b.p);
}

/* Names of memo entries that buy memory: only as many as the file is long. */
MT_TEST(memo_bombs)
{
    struct bytes b = {0};
    struct result r;
    P(&b, "\x80\x02]");
    for (uint32_t at = 60000; at < 4000000000u; at += at / 2) { /* as sparse as is let through */
        unsigned char op[6] = {'N',
                               'r',
                               (unsigned char)at,
                               (unsigned char)(at >> 8),
                               (unsigned char)(at >> 16),
                               (unsigned char)(at >> 24)};
        put(&b, op, sizeof op);
    }
    mt_mem_limit(mt_mem_used() + (4u << 20));
    r = read_mem(b.p, b.n, NULL);
    mt_mem_limit(0);
    MT_CHECK_EQ(r.rc, MT_EINPUT);
    MT_CHECK_HAS(r.err.msg, "LONG_BINPUT");
    free(b.p);
}

/* A container whose own number is absurd, in a trace that is salvaged: what it would have been
 * stored under does not exist. */
MT_TEST(salvage_after_a_refused_number)
{
    struct bytes b = {0};
    struct result r;
    P(&b, "\x80\x02}(");
    text(&b, "segments"), P(&b, "]"), text(&b, "device_traces"), P(&b, "](](");
    event(&b, "alloc", 1 << 20, 512);
    event(&b, "free_completed", 1 << 20, 512);
    P(&b, "r\0\0\0\x10"); /* LONG_BINPUT of the second entry */
    r = read_mem(b.p, b.n, NULL);
    MT_CHECK_EQ(r.rc, MT_WARN);
    MT_ASSERT(r.t != NULL);
    MT_CHECK_EQ(n_events(r.t), 2);
    MT_CHECK_HAS(diag_text(r.t, 0), "no pickler counts like that");
    mt_trace_free(r.t);
    free(b.p);
}

MT_MAIN(MT_RUN(truncated_at_every_byte) MT_RUN(flipped_at_every_byte)
            MT_RUN(out_of_memory_at_every_allocation) MT_RUN(read_in_pieces) MT_RUN(what_is_missing)
                MT_RUN(the_last_whole_entry_is_kept) MT_RUN(a_broken_stream_is_the_diagnosis)
                    MT_RUN(limits_name_their_option) MT_RUN(a_million_items_above_one_mark)
                        MT_RUN(memo_bombs) MT_RUN(salvage_after_a_refused_number))
