/* The reader of memray's recordings: every cut and every piece, memory that fails, limits, and what
 * is said. The numbers are those of tests/reference/memray.py. */
#include "tests/unit/json_sample.h"

static const struct mt_limits limits = MT_LIMITS_DEFAULT;

static struct mt_trace *read_in(const unsigned char *p, size_t n, size_t step,
                                const struct mt_limits *lim, enum mt_rc *rc, struct mt_err *err)
{
    struct piece_ctx *c = calloc(1, sizeof *c);
    struct mt_source *src = NULL;
    struct mt_trace *t = mt_trace_new();
    if (c == NULL || t == NULL)
        abort();
    *c = (struct piece_ctx){(const char *)p, n, step, false};
    memset(err, 0, sizeof *err);
    if (mt_source_new(&src, piece_read, free, c) != MT_OK)
        abort();
    *rc = mt_reader_memray.read(src, lim, t, err);
    mt_source_free(src);
    return t;
}

/* Those that are not packed: their bytes are the reader's. */
static const struct {
    const char *file;
    uint64_t live_end, events;
    size_t stride;
} files[] = {
    {MT_SAMPLES "/memray/tiny_v12.bin", 56387, 10, 1},
    {MT_SAMPLES "/memray/tiny_v8.bin", 56387, 10, 1},
    {MT_SAMPLES "/memray/aggregated_v10.bin", UINT64_C(7415627179), 0, 1},
    {MT_SAMPLES "/memray/killed_v12.bin", UINT64_C(13455441058), 2897, 61},
    {MT_SAMPLES "/memray/complete_v11.bin", UINT64_C(7415627179), 2970, 61},
};
enum { FILES = sizeof files / sizeof *files };

MT_TEST(every_cut_ends_well)
{
    for (int i = 0; i < FILES; i++) {
        size_t n;
        unsigned char *p = mt_slurp(files[i].file, &n);
        uint64_t before = 0;
        for (size_t cut = 0; p != NULL && cut < n; cut += files[i].stride) {
            struct mt_err err;
            enum mt_rc rc;
            struct mt_trace *t = read_in(p, cut, 1 << 16, &limits, &rc, &err);
            uint64_t events = t->devices.n != 0 ? t->devices.p[0].events.n : 0;
            if (rc == MT_WARN)
                MT_CHECK(t->damaged && t->sealed && t->diags.n != 0);
            else if (rc < 0)
                MT_CHECK(err.msg[0] != '\0' && before == 0);
            else /* of zeros behind the last record some are enough */
                MT_CHECK(n - cut < 4096 && i == 3);
            if (files[i].events != 0)
                MT_CHECK(events >= before);
            before = events;
            mt_trace_free(t);
        }
        MT_CHECK(before > 5);
        free(p);
    }
}

MT_TEST(pieces_of_any_size_are_one_trace)
{
    static const size_t steps[] = {1, 3, 64, 4097, 1 << 20};
    for (int i = 0; i < FILES; i++) {
        size_t n;
        unsigned char *p = mt_slurp(files[i].file, &n);
        for (size_t s = 0; p != NULL && s < sizeof steps / sizeof *steps; s++) {
            struct mt_err err;
            enum mt_rc rc;
            struct mt_trace *t = read_in(p, n, steps[s], &limits, &rc, &err);
            MT_CHECK_EQ(rc, MT_OK);
            MT_CHECK_EQ(t->devices.n, 1);
            MT_CHECK_EQ(t->devices.p[0].live_end, files[i].live_end);
            if (files[i].events != 0)
                MT_CHECK_EQ(t->devices.p[0].events.n, files[i].events);
            MT_CHECK_EQ(t->meta.pid, 90210);
            mt_trace_free(t);
        }
        free(p);
    }
}

/* No memory at any moment, and nothing is held after. */
MT_TEST(without_memory)
{
    for (int i = 0; i < 3; i++) {
        size_t n;
        unsigned char *p = mt_slurp(files[i].file, &n);
        enum mt_rc rc = MT_ENOMEM;
        for (uint64_t at = 1; p != NULL && rc == MT_ENOMEM && at < 4000; at++) {
            struct mt_source *src = NULL;
            struct mt_trace *t = mt_trace_new();
            struct mt_err err = {.rc = MT_OK};
            uint64_t held = mt_mem_used();
            if (t == NULL || mt_source_mem(&src, p, n) != MT_OK)
                abort();
            mt_mem_fail_after(at);
            rc = mt_reader_memray.read(src, &limits, t, &err);
            mt_mem_fail_after(0);
            MT_CHECK(rc == MT_OK || (rc == MT_ENOMEM && err.rc == MT_ENOMEM));
            mt_source_free(src);
            mt_trace_free(t);
            MT_CHECK(mt_mem_used() <= held);
        }
        MT_CHECK_EQ(rc, MT_OK);
        free(p);
    }
}

/* ---- made up ---- */

/* A header of version 12 as far as the first record. */
static size_t header(unsigned char *p, unsigned version)
{
    static const unsigned char magic[] = {'m', 'e', 'm', 'r', 'a', 'y', 0};
    memset(p, 0, 100);
    memcpy(p, magic, 7);
    p[7] = (unsigned char)version;
    p[14] = 3; /* Python 3 */
    /* native, format; 32 bytes of sums and times; an empty command line; pid, thread, hidden;
     * allocator, its objects, lifetimes */
    return 11 + 4 + 2 + 32 + 1 + 4 + 16 + 3;
}

static struct mt_trace *records(const char *bytes, size_t n, const struct mt_limits *lim,
                                enum mt_rc *rc, struct mt_err *err)
{
    unsigned char *p = calloc(1, n + 128);
    struct mt_trace *t;
    size_t head;
    if (p == NULL)
        abort();
    head = header(p, 12);
    memcpy(p + head, bytes, n);
    t = read_in(p, head + n, 7, lim, rc, err);
    free(p);
    return t;
}
#define RECORDS(s, rc, err) records(s, sizeof(s) - 1, &limits, rc, err)

#define THREAD "\x0c\1\0\0\0\0\0\0\0"
#define MALLOC "\xfe" /* an address that is not one of the last */
#define MMAP "\xf8"
#define END "\1"

static uint64_t live_end(const struct mt_trace *t)
{
    return t->devices.n != 0 ? t->devices.p[0].live_end : UINT64_MAX;
}

static bool said(const struct mt_trace *t, const char *words)
{
    for (uint32_t i = 0; i < t->diags.n; i++)
        if (strstr(mt_str(t, t->diags.p[i].text), words) != NULL)
            return true;
    return false;
}

/* Addresses: 2 more is 8 bytes further. Sizes are plain. */
MT_TEST(ranges_in_parts)
{
    struct mt_err err;
    enum mt_rc rc;
    /* mmap 64 at 0x8, mmap 64 at 0x28 over it; munmap 8 at 0x28: of both */
    struct mt_trace *t = RECORDS(THREAD MMAP "\2\x0e\x40" MMAP "\x08\x0e\x40"
                                             "\x80\x0f\x08" END,
                                 &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(live_end(t), 112);
    MT_CHECK_EQ(t->devices.p[0].n_by_action[MT_ACT_ALLOC], 5); /* two, and three rests */
    MT_CHECK(said(t, "munmap took a part") && said(t, "memray counts both"));
    mt_trace_free(t);
    /* an munmap of all, and of more */
    t = RECORDS(THREAD MMAP "\2\x0e\x40" MMAP "\x20\x0e\x40"
                            "\x88\x0f\xff\x7f" END,
                &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(live_end(t), 0);
    mt_trace_free(t);
    /* of what is not mapped */
    t = RECORDS(THREAD MALLOC "\2\x40" MMAP "\x20\x0f\x40" END, &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(live_end(t), 64);
    MT_CHECK(said(t, "1 frees of memory from before"));
    mt_trace_free(t);
}

MT_TEST(blocks_that_were_not_freed)
{
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *t = RECORDS(THREAD MALLOC "\2\x40\x86\x20" END, &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(live_end(t), 32);
    MT_CHECK(said(t, "1 blocks were allocated where one was still live"));
    mt_trace_free(t);
}

MT_TEST(sizes_beyond_reason)
{
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *t = RECORDS(
        THREAD MALLOC "\2\x40" MALLOC "\2\xff\xff\xff\xff\xff\xff\xff\xff\xff\1" END, &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(live_end(t), 64);
    MT_CHECK(said(t, "sizes that no process can have"));
    mt_trace_free(t);
}

static void ends(const char *bytes, size_t n, enum mt_rc want, const char *words)
{
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *t = records(bytes, n, &limits, &rc, &err);
    MT_CHECK_EQ(rc, want);
    MT_CHECK(rc < 0 ? strstr(err.msg, words) != NULL : said(t, words));
    mt_trace_free(t);
}
#define ENDS(s, want, words) ends(s, sizeof(s) - 1, want, words)

MT_TEST(how_it_ends)
{
    ENDS(THREAD MALLOC "\2\x40" END, MT_OK, "a recording of memray is the memory");
    ENDS(THREAD MALLOC "\2\x40\0\0\0\0", MT_OK, "did not end its recording: it was killed");
    ENDS(THREAD MALLOC "\2\x40", MT_WARN, "the recording ends after 2 whole records");
    ENDS(THREAD MALLOC "\2\x40\0\0\7", MT_WARN, "zeros where a record has to begin");
    ENDS(THREAD MALLOC "\2\x40\x0b", MT_WARN, "a record of a type that memray does not have");
    ENDS(THREAD MALLOC "\2\x40\xf8\2\x63", MT_WARN, "an allocator that no version of memray has");
    ENDS(THREAD MALLOC "\2\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", MT_EINPUT,
         "a number of more than 64 bits");
    ENDS(THREAD END, MT_EINPUT, "without an allocation");
    ENDS(THREAD "\0\0\0", MT_EINPUT, "the process was killed while it began");
    ENDS("", MT_EINPUT, "ends before its first allocation");
}

/* Calls that were never opened, of code that was never told, on no thread. */
MT_TEST(calls_without_names)
{
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *t = RECORDS("\x1f\x41\7\2" MALLOC "\2\x40\x1f" MALLOC "\2\x40" END, &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(t->n_distinct_stacks, 2);
    mt_trace_free(t);
}

MT_TEST(limits_hold)
{
    struct mt_limits small = limits;
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *t;
    static const char two[] = THREAD MALLOC "\2\x40" MALLOC "\2\x40" END;
    static const char code[] = THREAD "\x0e\1"
                                      "abcdefghijklmnopqrst\0f.py\0\2\0" END;
    small.max_events = 1;
    t = records(two, sizeof two - 1, &small, &rc, &err);
    MT_CHECK_EQ(rc, MT_ELIMIT);
    MT_CHECK_HAS(err.msg, "--max-events");
    mt_trace_free(t);
    small = limits;
    small.max_string = 8;
    t = records(code, sizeof code - 1, &small, &rc, &err);
    MT_CHECK_EQ(rc, MT_EINPUT);
    MT_CHECK_HAS(err.msg, "--max-string");
    mt_trace_free(t);
    small = limits;
    small.max_frames = 2;
    t = records(THREAD "\x41\7\2\x41\7\2\x41\7\2" MALLOC "\2\x40" END,
                sizeof(THREAD "\x41\7\2\x41\7\2\x41\7\2" MALLOC "\2\x40" END) - 1, &small, &rc,
                &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_CHECK_EQ(t->stacks.n, 3);
    mt_trace_free(t);
}

MT_TEST(other_formats)
{
    struct mt_err err;
    enum mt_rc rc;
    unsigned char p[128];
    struct mt_trace *t = read_in(p, header(p, 99), 7, &limits, &rc, &err);
    MT_CHECK_EQ(rc, MT_EINPUT);
    MT_CHECK_HAS(err.msg, "a recording of memray in its format 99");
    mt_trace_free(t);
}

MT_TEST(bids)
{
    MT_CHECK_EQ(mt_reader_memray.probe((const unsigned char *)"memray\0\x0c\0\0\0", 11), 100);
    MT_CHECK_EQ(mt_reader_memray.probe((const unsigned char *)"memray\0\x0c\0\0", 10), 0);
    MT_CHECK_EQ(mt_reader_memray.probe((const unsigned char *)"memray is a profiler", 20), 0);
    MT_CHECK_EQ(mt_reader_memray.probe((const unsigned char *)"", 0), 0);
}

MT_MAIN(MT_RUN(every_cut_ends_well) MT_RUN(pieces_of_any_size_are_one_trace) MT_RUN(without_memory)
            MT_RUN(ranges_in_parts) MT_RUN(blocks_that_were_not_freed) MT_RUN(sizes_beyond_reason)
                MT_RUN(how_it_ends) MT_RUN(calls_without_names) MT_RUN(limits_hold)
                    MT_RUN(other_formats) MT_RUN(bids))
