/* The readers of torch.profiler's recordings: every cut and every piece, limits, and what is said.
 * The numbers are those of tests/reference/test_profiler.py. */
#include "tests/unit/json_sample.h"

static struct mt_trace *read_as(const struct mt_reader *r, const char *p, size_t n, size_t step,
                                const struct mt_limits *lim, enum mt_rc *rc, struct mt_err *err)
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
    *rc = r->read(src, lim, t, err);
    mt_source_free(src);
    return t;
}

static const struct mt_limits limits = MT_LIMITS_DEFAULT;

static uint64_t live_end(const struct mt_trace *t)
{
    return t->devices.n != 0 ? t->devices.p[0].live_end : UINT64_MAX;
}

/* Every prefix ends well, and what is in front of the cut is there. */
static void every_cut(const struct mt_reader *r, const char *file, size_t stride)
{
    size_t n;
    unsigned char *p = mt_slurp(file, &n);
    uint64_t before = 0;
    for (size_t cut = 0; p != NULL && cut < n; cut += stride) {
        struct mt_err err;
        enum mt_rc rc;
        struct mt_trace *t = read_as(r, (const char *)p, cut, 1 << 16, &limits, &rc, &err);
        uint64_t events = t->devices.n != 0 ? t->devices.p[0].events.n : 0;
        if (rc == MT_WARN) {
            MT_CHECK(t->damaged && t->sealed && t->diags.n != 0);
            MT_CHECK(events >= before);
            before = events;
        } else if (rc < 0) {
            MT_CHECK(err.msg[0] != '\0' && before == 0);
        } else { /* what follows the last bracket is white space */
            MT_CHECK(cut + 64 > n);
        }
        mt_trace_free(t);
    }
    MT_CHECK(before > 5);
    free(p);
}

MT_TEST(every_cut_ends_well)
{
    every_cut(&mt_reader_profiler, MT_SAMPLES "/profiler/tiny.pt.trace.json", 7);
    every_cut(&mt_reader_timeline, MT_SAMPLES "/profiler/finetune.timeline.json", 211);
}

MT_TEST(pieces_of_any_size_are_one_trace)
{
    static const size_t steps[] = {1, 3, 64, 4097, 1 << 20};
    size_t n;
    unsigned char *p = mt_slurp(MT_SAMPLES "/profiler/tiny.pt.trace.json", &n);
    for (size_t i = 0; p != NULL && i < sizeof steps / sizeof *steps; i++) {
        struct mt_err err;
        enum mt_rc rc;
        struct mt_trace *t =
            read_as(&mt_reader_profiler, (const char *)p, n, steps[i], &limits, &rc, &err);
        MT_CHECK_EQ(rc, MT_OK);
        MT_CHECK_EQ(live_end(t), 6294016);
        MT_CHECK_EQ(t->devices.p[0].reserved_end, 23068672);
        MT_CHECK_EQ(t->devices.p[0].memory, UINT64_C(85049016320));
        MT_CHECK_EQ(t->n_distinct_stacks, 6);
        MT_CHECK_EQ(t->meta.rank, 0);
        mt_trace_free(t);
    }
    free(p);
}

static bool is_same_event(const struct mt_trace *t, const struct mt_trace *u, uint64_t i)
{
    const struct mt_event *a = mt_event_at(&t->devices.p[0], i),
                          *b = mt_event_at(&u->devices.p[0], i);
    return mt_event_ns(&t->devices.p[0], i) == mt_event_ns(&u->devices.p[0], i) &&
           a->addr == b->addr && a->size == b->size && a->stack == b->stack &&
           a->action == b->action;
}

/* Laid out as libkineto does, an event is read by its layout; with a blank for every newline, by
 * its members. Both are one trace, whatever stands in it. */
MT_TEST(the_layout_says_nothing_of_its_own)
{
#define HEAD(ph, cat, name) ",\n  {\n    \"ph\": \"" ph "\", \"cat\": \"" cat "\", " name
#define OP(cat, name, ts, dur)                                                                     \
    HEAD("X", cat,                                                                                 \
         "\"name\": \"" name "\", \"pid\": 1, \"tid\": 7,\n    \"ts\": " ts ", \"dur\": " dur)
#define MEM(ts, args)                                                                              \
    HEAD("i", "cpu_instant_event",                                                                 \
         "\"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": 1, \"tid\": 7,\n    \"ts\": " ts)    \
    ARGS(args)
#define ARGS(args) ",\n    \"args\": {\n      " args "\n    }\n  }"
    /* operators first, then the functions around them */
    static const char text[] =
        "{\"schemaVersion\": 1, \"traceEvents\": [\n  {\"ph\": \"M\", \"name\": \"x\"}" OP(
            "cpu_op", "a{b", "1.5", "100") ARGS("\"k\": 1") OP("cpu_op", "a}b", "200", "7")
            ARGS("\"k\": \"}\"") OP("cpu_op", "c", "12345678", "9") ARGS(
                "\"in\": {\n    }\n  , \"k\": [1]") OP("cpu_op", "d", "123456789.125", "20")
                ARGS("\"in\": \"{\"") OP("other", "e", "3", "1") ARGS(
                    "\"k\": \"{\"") ",\n  {\n    \"ph\": \"s\", \"id\": 1, \"pid\": 1, \"tid\": 7, "
                                    "\"ts\": 5,\n    "
                                    "\"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }" OP(
                                        "python_function", "t.py(1): f", "1",
                                        "1234567890123") ARGS("\"Ev Idx\": 3") OP("python_function",
                                                                                  "t.py(9): g",
                                                                                  "12345670", "30")
                                        ARGS("\"Ev Idx\": 4") MEM(
                                            "2",
                                            "\"Ev Idx\": 1, \"Device Type\": 1, \"Device Id\": 0, "
                                            "\"Addr\": 512, \"Bytes\": "
                                            "1024, \"Total Allocated\": 1024, \"Total Reserved\": "
                                            "2097152")
                                            MEM("201.001", "\"Total Reserved\": 2097152, \"Total "
                                                           "Allocated\": 3072, \"Bytes\": 2048, "
                                                           "\"Addr\": 18446744073709551615, "
                                                           "\"Device Id\": 0, \"Device Type\": 1")
                                                MEM("12345679.25",
                                                    "\"Bytes\": -1024, \"Addr\": 512, \"Total "
                                                    "Allocated\": 2048, "
                                                    "\"Total Reserved\": 2097152, \"Device Id\": "
                                                    "0, \"Device Type\": 1, "
                                                    "\"else\": {}")
                                                    MEM("123456789.500",
                                                        "\"Device Type\": 1, \"Device Id\": 0,  "
                                                        "\"Bytes\" : 4096, \"Addr\": 8192, "
                                                        "\"Total Allocated\": 6144, \"Total "
                                                        "Reserved\": 4194304")
                                                        MEM("123456790.500",
                                                            "\"Device Type\": 1, \"Device Id\": 0, "
                                                            "\"Bytes\": 12345678901") "\n  ]\n}\n";
    char flat[sizeof text];
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *a, *b;
    memcpy(flat, text, sizeof text);
    for (size_t i = 0; i < sizeof text; i++)
        flat[i] = text[i] == '\n' ? ' ' : text[i];
    a = read_as(&mt_reader_profiler, text, sizeof text - 1, 1 << 16, &limits, &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    b = read_as(&mt_reader_profiler, flat, sizeof flat - 1, 1 << 16, &limits, &rc, &err);
    MT_CHECK_EQ(rc, MT_OK);
    MT_ASSERT(a->devices.n == 1 && b->devices.n == 1);
    MT_ASSERT(a->devices.p[0].events.n == b->devices.p[0].events.n);
    MT_CHECK(a->devices.p[0].events.n >= 5);
    for (uint64_t i = 0; i < a->devices.p[0].events.n; i++)
        MT_CHECK(is_same_event(a, b, i));
    MT_CHECK_EQ(a->n_distinct_stacks, b->n_distinct_stacks);
    MT_CHECK_EQ(a->diags.n, b->diags.n);
    /* the operator is inside the function that comes behind it in the file */
    {
        const struct mt_stack_node *n = &a->stacks.p[mt_event_at(&a->devices.p[0], 0)->stack];
        MT_CHECK_STR(mt_str(a, a->frames.p[n->frame].name), "a{b");
        MT_CHECK_STR(mt_str(a, a->frames.p[a->stacks.p[n->parent].frame].name), "f");
    }
    mt_trace_free(a);
    mt_trace_free(b);
#undef OP
#undef MEM
}

/* No memory at any moment, and nothing is held after. */
MT_TEST(without_memory)
{
    static const char *const files[] = {MT_SAMPLES "/profiler/tiny.pt.trace.json",
                                        MT_SAMPLES "/profiler/finetune.timeline.json"};
    for (int i = 0; i < 2; i++) {
        const struct mt_reader *r = i == 0 ? &mt_reader_profiler : &mt_reader_timeline;
        size_t n;
        unsigned char *p = mt_slurp(files[i], &n);
        enum mt_rc rc = MT_ENOMEM;
        for (uint64_t at = 1; p != NULL && rc == MT_ENOMEM && at < 2000; at++) {
            struct mt_source *src = NULL;
            struct mt_trace *t = mt_trace_new();
            struct mt_err err = {.rc = MT_OK};
            uint64_t held = mt_mem_used();
            if (t == NULL || mt_source_mem(&src, p, n) != MT_OK)
                abort();
            mt_mem_fail_after(at);
            rc = r->read(src, &limits, t, &err);
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

static void refuses(const struct mt_reader *r, const char *text, const struct mt_limits *lim,
                    enum mt_rc want, const char *words)
{
    struct mt_err err;
    enum mt_rc rc;
    struct mt_trace *t = read_as(r, text, strlen(text), 1 << 16, lim, &rc, &err);
    MT_CHECK_EQ(rc, want);
    MT_CHECK_HAS(err.msg, words);
    mt_trace_free(t);
}

#define MEMORY                                                                                     \
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, \"ts\": 5, \"args\": "

MT_TEST(what_is_said)
{
    struct mt_limits small = limits;
    refuses(&mt_reader_profiler, "{\"schemaVersion\": 1, \"traceEvents\": []}", &limits, MT_EINPUT,
            "profile_memory=True");
    refuses(&mt_reader_profiler, "{\"profile_memory\": 1, \"traceEvents\": []}", &limits, MT_EINPUT,
            "ProfilerActivity.CPU");
    refuses(&mt_reader_profiler, "{\"schemaVersion\": 1}", &limits, MT_EINPUT,
            "without a list of \"traceEvents\"");
    refuses(&mt_reader_profiler, "{\"traceEvents\": [" MEMORY "{\"Bytes\": \"many\"}}]}", &limits,
            MT_EINPUT, "none of whose memory events");
    refuses(&mt_reader_profiler, "{\"traceEvents\": [7", &limits, MT_EINPUT,
            "damaged before its first memory event: expected an event");
    small.max_events = 1;
    refuses(&mt_reader_profiler,
            "{\"traceEvents\": [" MEMORY "{\"Bytes\": 512}}, " MEMORY "{\"Bytes\": 512}}]}", &small,
            MT_ELIMIT, "--max-events");
    small = limits;
    small.max_depth = 3;
    refuses(&mt_reader_profiler, "{\"traceEvents\": [{\"args\": [[[[1]]]]}]}", &small, MT_ELIMIT,
            "--max-depth");
    refuses(&mt_reader_timeline, "[[1, 2, 3], [[0, 5, \"x\"]]]", &limits, MT_EINPUT,
            "a row of a memory timeline");
    refuses(&mt_reader_timeline, "[[1, 2, 3], []]", &limits, MT_EINPUT, "no row follows");
}

/* An event larger than the limit of a string is refused, not held. */
MT_TEST(a_long_event_is_bounded)
{
    struct mt_limits small = limits;
    struct text s = {NULL, 0, 0};
    small.max_string = 1 << 20;
    put(&s, "{\"traceEvents\": [{\"name\": \"");
    for (int i = 0; i < 1 << 17; i++)
        put(&s, "abcdefghijklmnop");
    put(&s, "\"}]}");
    refuses(&mt_reader_profiler, s.p, &small, MT_ELIMIT, "--max-string");
    free(s.p);
}

MT_TEST(bids)
{
    static const struct {
        const char *text;
        int profiler, timeline;
    } heads[] = {
        {"{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0", 95, 0},
        {" {\"traceEvents\": [", 95, 0},
        {"[{\"ph\": \"X\", \"ts\": 1}]", 95, 0},
        {"[{\"segment_type\": \"large\"}]", 0, 0},
        {"{\"segments\": []}", 0, 0},
        {"{\"level\": \"info\", \"ts\": 17.5, \"msg\": \"x\"}", 0, 0},
        {"[[1, 2], [3, 4]]", 0, 0},
        {"[[-1, 1, 37888, 7], [-1, 1, 512, 7]", 0, 95},
        {"[[1, 2, 3], [[0, 1", 0, 95},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const unsigned char *p = (const unsigned char *)heads[i].text;
        MT_CHECK_EQ(mt_reader_profiler.probe(p, strlen(heads[i].text)), heads[i].profiler);
        MT_CHECK_EQ(mt_reader_timeline.probe(p, strlen(heads[i].text)), heads[i].timeline);
    }
}

/* What is not read again because it stood there before: processes, threads and times that change
 * or stay, in libkineto's layout and with a blank for each newline. */
MT_TEST(what_stands_there_again)
{
    static const char *const times[] = {"4965760167139",    "4965760167140", "4965760267139",
                                        "49657601",         "496576016",     "4965760",
                                        "12345678901234567"};
    static const char *const parts[] = {".142", "", ".5", ".1425", ".142e2", ".14", ".999"};
    static const char *const durs[] = {"19.850", "8", "0.125", "12345678.125", "1e3", "7.5", ".5"};
    uint64_t seed = 7, compared = 0;
    for (int round = 0; round < 40; round++) {
        struct text s = {NULL, 0, 0};
        struct mt_err err;
        enum mt_rc rc[2];
        struct mt_trace *t[2];
        put(&s, "{\"schemaVersion\": 1, \"traceEvents\": [\n  {\"ph\": \"M\", \"name\": \"x\"}");
        for (int i = 0; i < 60; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            unsigned r = (unsigned)(seed >> 33), often = round % 2 == 0 && (r & 7) != 0;
            const char *ts = times[often ? 0 : r / 8 % 7], *part = parts[often ? 0 : r / 64 % 7];
            const char *dur = durs[often ? 0 : r / 512 % 7];
            int tid = often ? 7 : (int)(r / 4096 % 3) * 12345 + 7;
            if (r / 16384 % 3 != 0 && round % 3 != 0)
                put(&s,
                    HEAD("i", "cpu_instant_event",
                         "\"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": 1, \"tid\": "
                         "%d,\n    \"ts\": %s%s")
                        ARGS("\"Total Reserved\": %d, \"Total Allocated\": %d, \"Bytes\": %d, "
                             "\"Addr\": %d, \"Device Id\": %d, \"Device Type\": %d, \"Ev Idx\": "
                             "%d%s"),
                    tid, ts, part, often ? 1 << 21 : (int)(r % 5) << 21, 512 * (i + 1) * 2,
                    512 * (i + 1), 65536 * (i + 1), often ? 0 : (int)(r / 32 % 2),
                    often ? 1 : (int)(r / 256 % 8 != 0), i, r % 29 == 0 ? ", \"k\": 1" : "");
            else if (r / 16384 % 3 != 0)
                put(&s,
                    HEAD("i", "cpu_instant_event",
                         "\"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": %d, \"tid\": "
                         "%d,\n    \"ts\": %s%s")
                        ARGS("\"Bytes\": %d, \"Addr\": %d, \"Device Id\": 0, "
                             "\"Device Type\": 1"),
                    r % 31 == 0 ? 2 : 1, tid, ts, part, 512 * (i + 1), 65536 * (i + 1));
            else
                put(&s,
                    HEAD("X", "cpu_op",
                         "\"name\": \"op%d\", \"pid\": 1, \"tid\": %d,\n    \"ts\": %s%s, "
                         "\"dur\": %s") ARGS("\"k\": 1"),
                    i % 5, tid, ts, part, dur);
        }
        put(&s, "\n  ]\n}");
        for (int k = 0; k < 2; k++) {
            t[k] = read_as(&mt_reader_profiler, s.p, s.n, 1 << 16, &limits, &rc[k], &err);
            for (char *p = s.p; k == 0 && (p = strchr(p, '\n')) != NULL;)
                *p = ' ';
        }
        MT_CHECK_EQ(rc[0], rc[1]);
        MT_CHECK(rc[0] == MT_OK && t[0]->devices.n >= 1);
        MT_ASSERT(t[0]->devices.n == t[1]->devices.n);
        MT_CHECK_EQ(t[0]->stacks.n, t[1]->stacks.n);
        for (uint32_t d = 0; d < t[0]->devices.n; d++) {
            const struct mt_device *a = &t[0]->devices.p[d], *b = &t[1]->devices.p[d];
            MT_CHECK(a->ordinal == b->ordinal && a->kind == b->kind);
            MT_CHECK(a->reserved_end == b->reserved_end && a->live_end == b->live_end);
            MT_ASSERT(a->events.n == b->events.n);
            for (uint64_t i = 0; d == 0 && i < a->events.n; i++)
                MT_CHECK(is_same_event(t[0], t[1], i));
            compared += a->events.n;
        }
        mt_trace_free(t[0]);
        mt_trace_free(t[1]);
        free(s.p);
    }
    MT_CHECK(compared > 1000);
}

/* A time of any length, with any fraction (of which a trace keeps nothing), in libkineto's layout
 * and in another one. */
MT_TEST(numbers_of_every_length)
{
    static const char digits[] = "9081726354918273645";
    for (int whole = 1; whole <= 15; whole++)
        for (int part = 0; part <= 17; part++)
            for (int k = 0; k < 2; k++) {
                char text[512];
                struct mt_err err;
                enum mt_rc rc;
                struct mt_trace *t;
                uint64_t us = 0;
                int n =
                    k == 0
                        ? snprintf(text, sizeof text,
                                   "{\"traceEvents\": [" HEAD(
                                       "i", "cpu_instant_event",
                                       "\"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": 1, "
                                       "\"tid\": 7,\n    \"ts\": %.*s%s%.*s")
                                       ARGS("\"Bytes\": 64, \"Device Id\": 0, \"Device Type\": 1, "
                                            "\"Addr\": 4096") "]}",
                                   whole, digits, part != 0 ? "." : "", part, digits)
                        : snprintf(text, sizeof text,
                                   "{\"traceEvents\":[{\"cat\":\"cpu_instant_event\",\"ph\":\"i\","
                                   "\"name\":\"[memory]\",\"tid\":7,\"ts\":%.*s%s%.*s,\"args\":{"
                                   "\"Bytes\":64,\"Device Type\":1,\"Addr\":4096}}]}",
                                   whole, digits, part != 0 ? "." : "", part, digits);
                for (int i = 0; i < whole; i++)
                    us = us * 10 + (uint64_t)(digits[i] - '0');
                t = read_as(&mt_reader_profiler, text, (size_t)n, 1 << 16, &limits, &rc, &err);
                MT_CHECK_EQ(rc, MT_OK);
                MT_CHECK(t->devices.n == 1 && t->devices.p[0].events.n != 0);
                if (t->devices.n == 1)
                    MT_CHECK_EQ(t->devices.p[0].last_time_ns, us * 1000);
                mt_trace_free(t);
            }
}

#undef HEAD
#undef ARGS

/* A kernel's name has braces: its event is passed over, whatever they are, and what follows is not.
 */
MT_TEST(braces_in_a_name_end_nothing)
{
    static const char *const name[] = {"f<{lambda(int)#1}>", "}", "{{", "\\\"}", "{\\\\"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char text[1024];
        struct mt_err err;
        enum mt_rc rc;
        struct mt_trace *t;
        int n = snprintf(
            text, sizeof text,
            "{\"traceEvents\": [\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", "
            "\"pid\": 0, \"tid\": 7,\n    \"ts\": 1, \"dur\": 2,\n    \"args\": {\n      "
            "\"k\": 1\n    }\n  },\n  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": "
            "\"t\", \"name\": \"[memory]\",\n    \"pid\": 1, \"tid\": 7,\n    \"ts\": 3,\n    "
            "\"args\": "
            "{\n      \"Bytes\": 64, \"Device Type\": 1, \"Addr\": 4096\n    }\n  }]}",
            name[i]);
        t = read_as(&mt_reader_profiler, text, (size_t)n, 1 << 16, &limits, &rc, &err);
        MT_CHECK_EQ(rc, MT_OK);
        MT_CHECK(t->devices.n == 1 && t->devices.p[0].last_time_ns == 3000);
        mt_trace_free(t);
    }
}

/* Brackets that do not match are no event's end, in libkineto's layout as in another one. */
MT_TEST(an_object_in_the_wrong_place_is_damage)
{
    static const char *const args[] = {"}{", "|}{"};
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        char text[1024];
        int n = snprintf(
            text, sizeof text,
            "{\"traceEvents\": [\n  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": "
            "\"t\", \"name\": \"[memory]\",\n    \"pid\": 1, \"tid\": 7,\n    \"ts\": 2,\n    "
            "\"args\": {\n      \"Bytes\": 64, \"Device Type\": 1, \"Addr\": 4096\n    }\n  },\n  "
            "{\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
            "\"[memory]\",\n    \"pid\": 1, \"tid\": 7,\n    \"ts\": 3,\n    \"args\": %s\n      "
            "\"Bytes\": 64, \"Device Type\": 1, \"Addr\": 8192\n    }\n  }\n  ]}",
            args[i]);
        for (int k = 0; k < 2; k++) {
            struct mt_err err;
            enum mt_rc rc;
            struct mt_trace *t =
                read_as(&mt_reader_profiler, text, (size_t)n, 1 << 16, &limits, &rc, &err);
            MT_CHECK(t->damaged);
            mt_trace_free(t);
            for (char *p = text; k == 0 && (p = strchr(p, '\n')) != NULL;)
                *p = ' ';
        }
    }
}

/* Times that go backwards need more runs than there are: those events are sorted, and all of them
 * are there. Of more than one page, too. */
MT_TEST(events_may_go_backwards)
{
    enum { EACH = 200 };
    static const unsigned counts[] = {40, 3000};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        char *text = malloc((size_t)EACH * (counts[k] + 1));
        size_t n = 0;
        struct mt_err err;
        enum mt_rc rc;
        struct mt_trace *t;
        if (text == NULL)
            abort();
        n += (size_t)sprintf(text, "{\"traceEvents\": [");
        for (unsigned i = counts[k]; i > 0; i--)
            n += (size_t)sprintf(text + n,
                                 "%s{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": "
                                 "\"[memory]\", \"pid\": 1, \"tid\": 7, \"ts\": %u, \"args\": "
                                 "{\"Bytes\": %u, \"Device Type\": 1, \"Addr\": %u}}",
                                 i < counts[k] ? ", " : "", i, 512 * i, 4194304 * (i % 1000));
        n += (size_t)sprintf(text + n, "]}");
        t = read_as(&mt_reader_profiler, text, n, 1 << 16, &limits, &rc, &err);
        MT_CHECK_EQ(rc, MT_OK);
        MT_CHECK(t->devices.n == 1);
        for (uint64_t i = 0, at = 0; t->devices.n == 1 && i < t->devices.p[0].events.n; i++) {
            const struct mt_event *e = mt_event_at(&t->devices.p[0], i);
            if (e->action != MT_ACT_ALLOC)
                continue;
            at++;
            MT_CHECK_EQ(e->size, 512 * at);
            MT_CHECK_EQ(mt_event_ns(&t->devices.p[0], i), 1000 * at);
            MT_CHECK(i + 1 < t->devices.p[0].events.n || at == counts[k]);
        }
        mt_trace_free(t);
        free(text);
    }
}

MT_MAIN(MT_RUN(every_cut_ends_well) MT_RUN(pieces_of_any_size_are_one_trace)
            MT_RUN(the_layout_says_nothing_of_its_own) MT_RUN(without_memory) MT_RUN(what_is_said)
                MT_RUN(what_stands_there_again) MT_RUN(numbers_of_every_length)
                    MT_RUN(braces_in_a_name_end_nothing) MT_RUN(a_long_event_is_bounded)
                        MT_RUN(bids) MT_RUN(events_may_go_backwards)
                            MT_RUN(an_object_in_the_wrong_place_is_damage))
