/* The reader of torch_npu's operator_memory.csv: every cut and every piece, what tables may have or
 * lack, and what is refused. Its sums are held by tests/reference/test_ascend.py. */
#include "tests/unit/json_sample.h"

static const struct mt_limits limits = MT_LIMITS_DEFAULT;

#define OLD                                                                                        \
    "Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Allocation Total "            \
    "Allocated(MB),Allocation Total Reserved(MB),Release Total Allocated(MB),Release Total "       \
    "Reserved(MB),Device Type\n"
#define CANN                                                                                       \
    "Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total "                   \
    "Allocated(KB),Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total "       \
    "Reserved(KB),Device\n"

static struct mt_trace *read_as(const char *p, size_t n, size_t step, const struct mt_limits *lim,
                                enum mt_rc *rc, struct mt_err *err)
{
    struct piece_ctx *c = calloc(1, sizeof *c);
    struct mt_source *src = NULL;
    struct mt_trace *t = mt_trace_new();
    if (c == NULL || t == NULL)
        abort();
    *c = (struct piece_ctx){p, n, step, false};
    memset(err, 0, sizeof *err);
    if (mt_source_new(&src, piece_read, free, c) != MT_OK)
        abort();
    *rc = mt_reader_ascend.read(src, lim, t, err);
    mt_source_free(src);
    return t;
}

/* What a text says of its first device: live and reserved at the end, and events. */
static void says(const char *text, enum mt_rc expected, uint64_t live, uint64_t reserved,
                 uint64_t events, const char *diag)
{
    struct mt_err err;
    enum mt_rc rc;
    bool found = diag == NULL;
    struct mt_trace *t = read_as(text, strlen(text), 1 << 16, &limits, &rc, &err);
    MT_CHECK_EQ(rc, expected);
    MT_CHECK_EQ(t->devices.n, 1);
    if (t->devices.n == 1) {
        MT_CHECK_EQ(t->devices.p[0].live_end, live);
        MT_CHECK_EQ(t->devices.p[0].reserved_end, reserved);
        MT_CHECK_EQ(t->devices.p[0].events.n, events);
    }
    for (uint32_t i = 0; i < t->diags.n && !found; i++)
        found = strstr(mt_str(t, t->diags.p[i].text), diag) != NULL;
    MT_CHECK(found);
    mt_trace_free(t);
}

static void refuses(const char *text, const struct mt_limits *lim, enum mt_rc expected,
                    const char *why)
{
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *t = read_as(text, strlen(text), 1 << 16, lim, &rc, &err);
    MT_CHECK_EQ(rc, expected);
    MT_CHECK(strstr(err.msg, why) != NULL);
    mt_trace_free(t);
}

/* Every prefix ends well, and the rows in front of the cut are there. */
MT_TEST(every_cut_ends_well)
{
    size_t n;
    unsigned char *p = mt_slurp(MT_SAMPLES "/ascend/operator_memory.csv", &n);
    uint64_t before = 0;
    for (size_t cut = 0; p != NULL && cut <= n; cut += cut < n && n - cut < 3 ? 1 : 3) {
        struct mt_err err;
        enum mt_rc rc;
        struct mt_trace *t = read_as((const char *)p, cut, 1 << 16, &limits, &rc, &err);
        uint64_t blocks = 0;
        if (rc < 0) {
            MT_CHECK(err.msg[0] != '\0' && before == 0);
        } else { /* nothing is missing right behind a newline, or so it looks */
            MT_CHECK((rc == MT_OK) == (p[cut - 1] == '\n'));
            MT_CHECK(t->sealed && t->damaged == (rc == MT_WARN));
            for (uint64_t i = 0; i < t->devices.p[0].events.n; i++)
                blocks += mt_event_at(&t->devices.p[0], i)->stack != 0 &&
                          mt_event_at(&t->devices.p[0], i)->action == MT_ACT_ALLOC;
            MT_CHECK(blocks >= before);
            before = blocks;
        }
        mt_trace_free(t);
    }
    MT_CHECK(before > 40);
    free(p);
}

MT_TEST(pieces_of_any_size_are_one_trace)
{
    static const size_t steps[] = {1, 3, 64, 4097, 1 << 20};
    size_t n;
    unsigned char *p = mt_slurp(MT_SAMPLES "/ascend/operator_memory.csv", &n);
    uint64_t live = 0, events = 0;
    for (size_t i = 0; p != NULL && i < sizeof steps / sizeof *steps; i++) {
        struct mt_err err;
        enum mt_rc rc;
        struct mt_trace *t = read_as((const char *)p, n, steps[i], &limits, &rc, &err);
        MT_CHECK_EQ(rc, MT_OK);
        MT_CHECK(i == 0 || live == t->devices.p[0].live_end);
        MT_CHECK(i == 0 || events == t->devices.p[0].events.n);
        live = t->devices.p[0].live_end;
        events = t->devices.p[0].events.n;
        mt_trace_free(t);
    }
    free(p);
}

MT_TEST(rows_of_every_kind)
{
    /* 4 MiB from before; a block of 1 MiB comes and goes */
    says(OLD "aten::mm,1024,1,2,1,5,20,4,20,NPU:0\n", MT_OK, 4 << 20, 20 << 20, 2, NULL);
    /* carriage returns, blanks, quotation marks, a byte order mark, an empty line */
    says("\xef\xbb\xbf" OLD "\"a::b,c\", 1024 ,1\t,2\t,1,5,20,4,20,NPU:0\r\n\r\n", MT_OK, 4 << 20,
         20 << 20, 2, NULL);
    /* a free of a block from before */
    says(OLD ",-1024,,2,,,,3,20,NPU:0\n", MT_OK, 3 << 20, 20 << 20, 1, NULL);
    /* of the graph engine, beside PyTorch's: 64 KiB are from before, and 32 KiB stay */
    says(OLD "aten::mm,1024,1,,,5,20,,,NPU:0\ncann::x,32,2,,,0.09375,4,,,NPU:0\n", MT_OK,
         (5 << 20) + 98304, 24 << 20, 4, "graph engine (GE)");
    /* what may be of either pool has no sums; without any, the rows alone */
    says(OLD "Conv2D,1024,1,2,1,5,20,4,20,NPU:0\n", MT_OK, 0, 0, 2, "does not say what");
    /* CANN's own table: in KiB, with a length for an end; the sum of a free is from before it */
    says(CANN "0,Conv2D,64,100,50,128,4096,128,4096,NPU:0\n", MT_OK, 65536, 4 << 20, 2, NULL);
    says(CANN "0,Conv2D,64,100,50,128,4096,64,4096,NPU:0\n", MT_OK, 65536, 4 << 20, 2, NULL);
    /* rows that cannot be are counted and passed over */
    says(OLD "a::b,1024,5,2,1,5,20,4,20,NPU:0\n" /* freed before it was there */
             "a::b,x,1,2,1,5,20,4,20,NPU:0\na::b,0,1,2,1,5,20,4,20,NPU:0\n"
             "a::b,1e99,1,2,1,5,20,4,20,NPU:0\na::b,99999999999999999999,1,,,,,,,NPU:0\n"
             "a::b,1,99999999999999999999,,,,,,,NPU:0\na::b,1,1\n"
             "a::b,1024,1,,,5,20,,,NPU:0\n",
         MT_OK, 5 << 20, 20 << 20, 1, "7 rows could not be understood");
    says(OLD
         "a::b,1024,1,,,5,20,,,NPU:1024\na::b,1024,1,,,5,20,,,CPU\na::b,1024,1,,,5,20,,,NPU:0\n",
         MT_OK, 5 << 20, 20 << 20, 1, "2 rows of no NPU");
    /* sums that contradict their rows */
    says(OLD "a::b,4096,1,,,1,20,,,NPU:0\n", MT_OK, 4 << 20, 0, 1, "less is allocated than");
    /* the end is missing */
    says(OLD "a::b,1024,1,,,5,20,,,NPU:0\na::b,1024,1,,,6,20,,,NP", MT_WARN, 5 << 20, 20 << 20, 1,
         "the table ends inside of a line after 1 rows");
}

MT_TEST(what_is_refused)
{
    struct mt_limits small = limits;
    refuses("", &limits, MT_EINPUT, "does not name the columns");
    refuses("Name,Size(KB)\nx,1\n", &limits, MT_EINPUT, "does not name the columns");
    refuses(OLD, &limits, MT_EINPUT, "without a row:");
    refuses(OLD "x,y\n", &limits, MT_EINPUT, "that can be understood");
    small.max_events = 1;
    refuses(OLD "a::b,1,1,2,,,,,,NPU:0\n", &small, MT_ELIMIT, "--max-events");
    small = limits;
    small.max_string = 4096;
    {
        struct text s = {NULL, 0, 0};
        put(&s, OLD);
        for (int i = 0; i < 3000; i++)
            put(&s, "abcdefgh");
        refuses(s.p, &small, MT_ELIMIT, "--max-string");
        free(s.p);
    }
}

MT_TEST(bids)
{
    static const struct {
        const char *text;
        int bid;
    } heads[] = {
        {OLD, 95},
        {CANN, 95},
        {"\xef\xbb\xbf" OLD, 95},
        {"Name,Size(KB),Allocation Time(us)\n", 0},
        {"Name,Age\n", 0},
        {"Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        MT_CHECK_EQ(
            mt_reader_ascend.probe((const unsigned char *)heads[i].text, strlen(heads[i].text)),
            heads[i].bid);
}

MT_MAIN(MT_RUN(every_cut_ends_well) MT_RUN(pieces_of_any_size_are_one_trace)
            MT_RUN(rows_of_every_kind) MT_RUN(what_is_refused) MT_RUN(bids))
