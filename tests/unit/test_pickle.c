/* The opcode machine of the pickle reader: every opcode it knows and every opcode it refuses. */
#include "tests/unit/mt_test.h"
#include "tests/unit/pickle_make.h"

MT_TEST(probe)
{
    static const struct {
        const char *s;
        size_t n;
        int least, most;
    } heads[] = {
        {L("\x80\x02}"), 90, 100},
        {L("\x80\x04\x95\0\0\0\0\0\0\0\0}"), 90, 100},
        {L("\x80\x05]"), 90, 100},
        {L("\x80\x02"
           "cbuiltins\n"),
         60, 97},
        {L("(dp0\nVsegments\n"), 30, 80},
        {L("(lp0\n"), 30, 80},
        {L("(dVsegments\n"), 30, 80},
        {L("}q\0("), 30, 80},
        {L("]q\0("), 30, 80},
        {L("cos\nsystem\n(S'x'\ntR."), 1, 50},
        {L("{\"segments\": []}"), 0, 0},
        {L("[{\"device\""), 0, 0},
        {L("[]"), 0, 0},
        {L(""), 0, 0},
        {L("version https://git-lfs"), 0, 0},
        {L("\x1f\x8b\x08"), 0, 0},
        {L("PK\x03\x04"), 0, 0},
        {L("<!DOCTYPE html>"), 0, 0},
        {L("(define x 1)"), 0, 0},
        {L("} else {"), 0, 0},
        {L("\x80\x04"), 1, 100},
        {L("\x80"), 0, 0},
        {L("compile\nok then\n"), 0, 0},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        int bid = mt_reader_pickle.probe((const unsigned char *)heads[i].s, heads[i].n);
        MT_CHECK(bid >= heads[i].least && bid <= heads[i].most);
        if (bid < heads[i].least || bid > heads[i].most)
            printf("# row %zu: bid %d\n", i, bid);
    }
}

/* One trace entry whose addr is the value under test. */
static struct result with_addr(const char *p, size_t n)
{
    struct bytes b = {0};
    trace_open(&b);
    P(&b, "}(");
    text(&b, "action"), text(&b, "alloc"), text(&b, "size"), num(&b, 512), text(&b, "addr"),
        put(&b, p, n);
    P(&b, "u");
    trace_close(&b);
    return read_bytes(&b);
}

MT_TEST(integers)
{
    static const struct {
        const char *s;
        size_t n;
        uint64_t want;
    } rows[] = {
        {L("K\xff"), 255},
        {L("M\x01\x02"), 0x201},
        {L("J\xff\xff\xff\x7f"), 0x7fffffff},
        {L("J\xff\xff\xff\xff"), UINT64_MAX},
        {L("\x8a\x00"), 0},
        {L("\x8a\x01\xff"), UINT64_MAX},
        {L("\x8a\x02\xff\x00"), 255},
        {L("\x8a\x06\x00\x00\x00\x00\x00\x7f"), UINT64_C(0x7f0000000000)},
        {L("\x8a\x08\x00\x00\x00\x00\x00\x7f\x00\x00"), UINT64_C(0x7f0000000000)},
        {L("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), INT64_MAX},
        {L("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"), UINT64_C(1) << 63},
        {L("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"), UINT64_MAX},             /* 2^64-1 */
        {L("\x8a\x0b\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), UINT64_MAX - 1}, /* -2, wordy */
        /* 2^64: no address, read as nothing */
        {L("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"), 0},
        /* below -2^63 */
        {L("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff"), 0},
        {L("I123\n"), 123},
        {L("I-1\n"), UINT64_MAX},
        {L("I00\n"), 0},
        {L("I01\n"), 1},
        {L("I18446744073709551615\n"), UINT64_MAX},
        {L("I18446744073709551616\n"), 0},
        {L("L139777059848192L\n"), UINT64_C(139777059848192)},
        {L("L5\r\n"), 5},
        {L("L-9223372036854775808L\n"), UINT64_C(1) << 63},
        {L("\x88"), 1},
        {L("\x89"), 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result r = with_addr(rows[i].s, rows[i].n);
        const struct mt_event *e = first_event(r.t);
        MT_CHECK(r.rc >= 0 && e != NULL);
        if (e != NULL && e->addr != rows[i].want)
            MT_FAIL_AT("row %zu: got %" PRIx64 ", want %" PRIx64, i, e->addr, rows[i].want);
        mt_trace_free(r.t);
    }
}

MT_TEST(integers_that_are_none)
{
    static const char *const rows[] = {"I\n", "I12x\n", "L\n", "L--1\n", "I 1\n", "I0x10\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result r = with_addr(rows[i], strlen(rows[i]));
        MT_CHECK_EQ(r.rc, MT_WARN);
        MT_CHECK_HAS(diag_text(r.t, 0), "is no number");
        mt_trace_free(r.t);
    }
}

/* {"segments": [], "allocator_settings": {"x": VALUE}} */
static struct result with_setting(const char *p, size_t n)
{
    struct bytes b = {0};
    P(&b, "\x80\x04}(");
    text(&b, "segments"), P(&b, "]"), text(&b, "allocator_settings"), P(&b, "}("), text(&b, "x"),
        put(&b, p, n);
    P(&b, "uu.");
    return read_bytes(&b);
}

MT_TEST(scalars_and_texts)
{
    static const struct {
        const char *s;
        size_t n;
        const char *want;
    } rows[] = {
        {L("N"), "None"},
        {L("\x88"), "True"},
        {L("I01\n"), "True"},
        {L("I00\n"), "False"},
        {L("J\xff\xff\xff\xff"), "-1"},
        {L("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"), "18446744073709551615"},
        {L("G\x3f\xe9\x99\x99\x99\x99\x99\x9a"), "0.8"},
        {L("G\xbf\xf0\0\0\0\0\0\0"), "-1"},
        {L("F0.8\n"), "0.8"},
        {L("F1e-07\n"), "1e-07"},
        {L("F0.30000000000000004\n"), "0.30000000000000004"},
        {L("F1.7976931348623157e+308\n"), "1.7976931348623157e+308"},
        {L("F5e-324\n"), "5e-324"},
        {L("F-12345678901234567890123\n"), "-1.2345678901234568e+22"},
        {L("\x8c\x02\xc3\xa9"), "\xc3\xa9"},
        {L("X\x03\0\0\0abc"), "abc"},
        {L("\x8d\x03\0\0\0\0\0\0\0abc"), "abc"},
        {L("X\0\0\0\0"), ""},
        {L("Vplain\n"), "plain"},
        {L("V\n"), ""},
        {L("Vcaf\xe9\n"), "caf\xc3\xa9"},
        {L("Va\\u005cb\\u000ac\n"), "a\\b\nc"},
        {L("V\\u20ac\\U0001f600\n"), "\xe2\x82\xac\xf0\x9f\x98\x80"},
        /* a lone surrogate, as Python's surrogatepass writes it */
        {L("V\\ud800\n"), "\xed\xa0\x80"},
        {L("V\\\\u0041\\x\n"), "\\\\u0041\\x"},
        {L("K\x01K\x02K\x03\x87"), "(...)"},
        {L(")"), "(...)"},
        {L("(K\x01K\x02K\x03K\x04t"), "(...)"},
        {L("]"), "(...)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result r = with_setting(rows[i].s, rows[i].n);
        MT_CHECK_EQ(r.rc, MT_OK);
        if (i != sizeof rows / sizeof *rows - 1)
            MT_CHECK_STR(setting(r.t, "x"), rows[i].want);
        mt_trace_free(r.t);
    }
}

MT_TEST(broken_texts)
{
    static const char *const rows[] = {
        "V\\u12\n", "V\\U00110000\n", "V\\uzzzz\n", "Fabc\n", "F1e\n", "F\n", "F1.2.3\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result r = with_setting(rows[i], strlen(rows[i]));
        MT_CHECK_EQ(r.rc, MT_WARN);
        MT_CHECK(r.t != NULL && r.t->damaged);
        mt_trace_free(r.t);
    }
}

MT_TEST(every_other_opcode_is_refused_by_name_and_offset)
{
    int n = 0;
    for (int op = 0; op < 256; op++) {
        struct bytes b = {0};
        struct result r;
        unsigned char one = (unsigned char)op;
        if (mt_pk_ops[op].cls != PK_REFUSED)
            continue;
        trace_open(&b);
        event(&b, "alloc", 4096, 512);
        size_t at = b.n;
        put(&b, &one, 1);
        P(&b, "os\nsystem\n");
        r = read_bytes(&b);
        n++;
        MT_CHECK_EQ(r.rc, MT_EINPUT); /* never a partial report, although an entry was whole */
        MT_CHECK(r.t == NULL);
        MT_CHECK_HAS(r.err.msg, mt_pk_ops[op].name);
        MT_CHECK_HAS(r.err.msg, "executes nothing");
        MT_CHECK(r.err.has_offset);
        MT_CHECK_EQ(r.err.offset, at);
        if (op == 'c' || op == 'i')
            MT_CHECK_HAS(r.err.msg, "(os.system)");
    }
    MT_CHECK_EQ(n, 29);
}

MT_TEST(refusals_name_what_they_refuse)
{
    struct bytes b = {0};
    struct result r;
    P(&b, "\x80\x04"), text(&b, "builtins"), text(&b, "eval\x1b[0m"), P(&b, "\x93.");
    r = read_bytes(&b);
    MT_CHECK_EQ(r.rc, MT_EINPUT);
    MT_CHECK_HAS(r.err.msg, "STACK_GLOBAL (builtins.eval\\x1b[0m)");
    P(&b, "\x80\x02"
          "ctorch._utils\n_rebuild_tensor_v2\n.");
    r = read_bytes(&b);
    MT_CHECK_HAS(r.err.msg, "GLOBAL (torch._utils._rebuild_tensor_v2)");
    MT_CHECK_HAS(r.err.msg, "saved model");
    MT_CHECK_EQ(r.err.offset, 2);
    P(&b, "\x80\x02"
          "c"); /* and cut short */
    r = read_bytes(&b);
    MT_CHECK_EQ(r.rc, MT_EINPUT);
    P(&b, "\x80\x06}.");
    r = read_bytes(&b);
    MT_CHECK_EQ(r.rc, MT_EINPUT);
    MT_CHECK_HAS(r.err.msg, "protocol 6");
}

MT_TEST(no_snapshot_says_what_it_is)
{
    static const struct {
        const char *s;
        size_t n;
        const char *want;
    } rows[] = {
        {L("\x80\x04}\x8c\x01"
           "aK\x01s."),
         "a dict with the keys 'a'"},
        {L("\x80\x04}(\x8c\x01"
           "aK\x01\x8c\x02\x1b[Nu."),
         "'a', '\\x1b['"},
        {L("\x80\x04}."), "an empty dict"},
        {L("\x80\x04](K\x01K\x02"
           "e."),
         "a list of 2 items"},
        {L("\x80\x04\x8c\x02hi."), "a text"},
        {L("\x80\x04N."), "None"},
        {L("\x80\x04K\x05."), "a number"},
        {L("\x80\x04K\x05K\x05\x86."), "a tuple"},
        {L("\x80\x04}\x8c\x08segments]}\x8c\x01"
           "aK\x01sas."),
         "'segments' have no 'address'"},
        {L("hello world\n"), "was never stored"},
        {L("\x80\x04\x07"), "0x07 is no pickle opcode"},
        {L("\x80\x04}"), "ends before anything"},
        {L(""), "ends before anything"},
        {L("\x80\x04"
           "a."),
         "APPEND on something that is no container"},
        {L("\x80\x04"
           "e."),
         "without a MARK"},
        {L("\x80\x04"
           "t."),
         "without a MARK"},
        {L("\x80\x04K\x01(e."), "APPENDS on something that is no container"},
        {L("\x80\x04](u."), "SETITEMS on a list"},
        {L("\x80\x04}K\1s."), "SETITEM on something that is no container"},
        {L("\x80\x04}(K\1u."), "a key that has no value"},
        {L("\x80\x04\x94."), "nothing to store"},
        {L("\x80\x04K\1K\2."), "still unused"},
        {L("\x80\x04."), "still unused"},
        {L("\x80\x04K\1\x86."), "TUPLE2 needs 2 values"},
        {L("\x80\x04(K\1l."), "LIST around items"},
        {L("\x80\x02]q\0q\1."), "a second time"},
        {L("\x80\x02]r\xff\xff\xff\xff."), "no pickler counts like that"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct result r = read_mem(rows[i].s, rows[i].n, NULL);
        MT_CHECK_EQ(r.rc, MT_EINPUT);
        MT_CHECK_HAS(r.err.msg, rows[i].want);
        mt_trace_free(r.t);
    }
}

MT_MAIN(MT_RUN(probe) MT_RUN(integers) MT_RUN(integers_that_are_none) MT_RUN(scalars_and_texts)
            MT_RUN(broken_texts) MT_RUN(every_other_opcode_is_refused_by_name_and_offset)
                MT_RUN(refusals_name_what_they_refuse) MT_RUN(no_snapshot_says_what_it_is))
