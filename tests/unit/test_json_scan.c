/* The pieces of the JSON reader: bracket scanning in every implementation, hashing, the caches,
 * numbers. */
#include "parser/base/num.h"
#include "parser/base/mem.h"
#include "parser/json/cache.h"
#include "parser/json/scan.h"
#include "parser/json/text.h"
#include "tests/unit/mt_test.h"

static uint64_t seed = 88172645463325252u;
static uint32_t rnd(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

static const char *const impl_names[] = {"scalar", "sse2", "avx2"};

/* Feeds p[0..n) in pieces; returns the index behind the end or -1. */
static long run(mt_json_end_fn *fn, const unsigned char *p, size_t n, const size_t *cut,
                size_t n_cuts, uint32_t max_depth, struct mt_json_scan *st)
{
    size_t from = 0;
    memset(st, 0, sizeof *st);
    st->depth = 1;
    st->max_depth = max_depth;
    for (size_t i = 0; i <= n_cuts; i++) {
        size_t to = i < n_cuts ? cut[i] : n;
        const unsigned char *e = fn(st, p + from, p + to);
        if (e != NULL)
            return e - p;
        if (st->too_deep)
            return -2;
        from = to;
    }
    return -1;
}

static int cmp_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Random text over the bytes that matter, random alignment, random cuts: every implementation gives
 * what the scalar one gives. */
MT_TEST(implementations_agree)
{
    static const char *const alphabets[] = {
        "[]{}\"\\a|", "aaaaaaaaaaaaaaaaaaaaaaa\"", "aaaaaaaaaaaaaaaaa\"[]", "\\\\\\\"a]",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}\\"};
    unsigned char buf[1200 + 64];
    int n_impls = 0;
    memset(buf, 0, sizeof buf);
    for (int round = 0; round < 30000; round++) {
        const char *abc = alphabets[rnd(5)];
        size_t n = rnd(1000), at = rnd(64), cut[4], n_cuts = rnd(5);
        uint32_t max_depth = rnd(8) == 0 ? rnd(4) + 1 : 1000;
        for (size_t i = 0; i < n; i++)
            buf[at + i] = (unsigned char)abc[rnd((uint32_t)strlen(abc))];
        for (size_t i = 0; i < n_cuts; i++)
            cut[i] = rnd((uint32_t)n + 1);
        qsort(cut, n_cuts, sizeof *cut, cmp_size);
        for (int any = 0; any < 2; any++) {
            struct mt_json_scan want, got;
            const struct mt_json_simd *s = mt_json_simd_get(MT_JSON_SCALAR);
            long w = run(any ? s->any_end : s->array_end, buf + at, n, cut, 0, max_depth, &want);
            n_impls = 0;
            for (int i = 0; i < MT_JSON_N_IMPL; i++) {
                long g;
                if ((s = mt_json_simd_get((enum mt_json_impl)i)) == NULL)
                    continue;
                n_impls++;
                g = run(any ? s->any_end : s->array_end, buf + at, n, cut, n_cuts, max_depth, &got);
                if (g != w ||
                    (w == -1 && (got.depth != want.depth ||
                                 (got.in_str != 0) != (want.in_str != 0) || got.esc != want.esc)))
                    MT_FAIL_AT("%s, round %d, any %d: got %ld, want %ld", impl_names[i], round, any,
                               g, w);
            }
        }
        mt_n_checks++;
    }
    printf("# %d implementations run here\n", n_impls);
}

MT_TEST(ends_are_right)
{
    static const struct {
        const char *text;
        long array, any;
    } cases[] = {
        {"]", 1, 1},         {"[]]x", 3, 3},  {"\"]\"]", 4, 4}, {"\"\\\"]\"]", 6, 6},
        {"\"\\\\\"]", 5, 5}, {"{]", 2, -1},   {"{}]", 3, 3},    {"}", -1, 1},
        {"\"]", -1, -1},     {"||||]", 5, 5}, {"", -1, -1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        /* spaces in front put the same text on every position of a block */
        for (size_t pad = 0; pad < 300; pad++) {
            unsigned char buf[512];
            size_t n = strlen(cases[k].text);
            memset(buf, ' ', sizeof buf);
            memcpy(buf + pad, cases[k].text, n);
            for (int i = 0; i < MT_JSON_N_IMPL; i++) {
                const struct mt_json_simd *s = mt_json_simd_get((enum mt_json_impl)i);
                struct mt_json_scan st;
                if (s == NULL)
                    continue;
                MT_CHECK_EQ(run(s->array_end, buf, pad + n, NULL, 0, 99, &st),
                            cases[k].array < 0 ? -1 : cases[k].array + (long)pad);
                MT_CHECK_EQ(run(s->any_end, buf, pad + n, NULL, 0, 99, &st),
                            cases[k].any < 0 ? -1 : cases[k].any + (long)pad);
            }
        }
    }
}

MT_TEST(depth_is_bounded)
{
    unsigned char buf[400];
    memset(buf, '[', sizeof buf);
    for (int i = 0; i < MT_JSON_N_IMPL; i++) {
        const struct mt_json_simd *s = mt_json_simd_get((enum mt_json_impl)i);
        struct mt_json_scan st;
        if (s == NULL)
            continue;
        MT_CHECK_EQ(run(s->array_end, buf, sizeof buf, NULL, 0, 256, &st), -2);
        MT_CHECK_EQ(run(s->array_end, buf, 255, NULL, 0, 256, &st), -1);
        MT_CHECK_EQ(st.depth, 256);
    }
}

MT_TEST(hashes_agree)
{
    unsigned char buf[3000];
    for (size_t i = 0; i < sizeof buf; i++)
        buf[i] = (unsigned char)rnd(256);
    for (size_t n = 0; n < sizeof buf; n += n < 600 ? 1 : 37) {
        struct mt_json_hash a = mt_json_simd_get(MT_JSON_SCALAR)->hash(buf, n);
        for (int i = 0; i < MT_JSON_N_IMPL; i++) {
            const struct mt_json_simd *s = mt_json_simd_get((enum mt_json_impl)i);
            struct mt_json_hash b;
            if (s == NULL)
                continue;
            b = s->hash(buf, n);
            MT_CHECK(a.lo == b.lo && a.hi == b.hi);
        }
    }
}

MT_TEST(forcing_an_implementation)
{
    const struct mt_json_simd *s = mt_json_simd_get(MT_JSON_SCALAR);
    mt_json_simd_force(s);
    MT_CHECK(mt_json_simd() == s);
    mt_json_simd_force(NULL);
    MT_CHECK(mt_json_simd() != NULL);
    MT_CHECK(mt_json_simd_get((enum mt_json_impl)99) == NULL);
}

MT_TEST(seen_table_is_bounded_and_keeps_the_frequent)
{
    struct mt_json_seen s;
    uint32_t id = 0, kept = 0;
    uint64_t used = mt_mem_used();
    MT_ASSERT(mt_json_seen_init(&s, 16, 1024));
    for (uint64_t i = 0; i < 100; i++)
        mt_json_seen_put(&s, (struct mt_json_hash){i * UINT64_C(0x9e3779b97f4a7c15), i},
                         (uint32_t)i);
    for (uint64_t i = 1000; i < 200000; i++) {
        mt_json_seen_put(&s, (struct mt_json_hash){i * UINT64_C(0x9e3779b97f4a7c15), i},
                         (uint32_t)i);
        MT_CHECK(
            mt_json_seen_get(&s, (struct mt_json_hash){i * UINT64_C(0x9e3779b97f4a7c15), i}, &id) &&
            id == i);
        for (uint64_t k = 0; i % 50 == 0 && k < 100; k++)
            (void)mt_json_seen_get(&s, (struct mt_json_hash){k * UINT64_C(0x9e3779b97f4a7c15), k},
                                   &id);
    }
    MT_CHECK_EQ(s.n_slots, 1024);
    MT_CHECK(mt_mem_used() - used < 1024 * 32);
    for (uint64_t k = 0; k < 100; k++)
        if (mt_json_seen_get(&s, (struct mt_json_hash){k * UINT64_C(0x9e3779b97f4a7c15), k}, &id) &&
            id == k)
            kept++;
    MT_CHECK(kept > 90);
    MT_CHECK(
        !mt_json_seen_get(&s, (struct mt_json_hash){5 * UINT64_C(0x9e3779b97f4a7c15), 6}, &id));
    mt_json_seen_done(&s);
    MT_CHECK_EQ(mt_mem_used(), used);
}

MT_TEST(short_strings)
{
    static struct mt_json_short t;
    const unsigned char text[32] = "alloc_and_much_more_text";
    int hit;
    for (size_t n = 1; n <= MT_JSON_SHORT; n++) {
        struct mt_json_short_slot *s = mt_json_short_find(&t, text, n, &hit);
        MT_CHECK(!hit);
        s->id = (uint32_t)n;
        s = mt_json_short_find(&t, text, n, &hit);
        MT_CHECK(hit && s->id == n);
        s = mt_json_short_find(&t, text + 1, n, &hit);
        MT_CHECK(!hit);
    }
}

static double parse(const char *s) { return mt_num_double((const unsigned char *)s, strlen(s)); }

MT_TEST(doubles_are_those_of_strtod)
{
    static const char *const exact[] = {"0",
                                        "0.0",
                                        "-0.0",
                                        "1.5",
                                        "0.8",
                                        "0.1",
                                        "123456789.125",
                                        "1e22",
                                        "-1e-22",
                                        "3.25e+2",
                                        "2E3",
                                        "0.0001",
                                        "9007199254740991",
                                        "0.30000000000000004",
                                        "1.7976931348623157e308",
                                        "12345678901234567890123",
                                        "0.1234567890123456789012345",
                                        "1e999",
                                        "1e-999",
                                        "5e-320"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        double got = parse(exact[i]), want = strtod(exact[i], NULL);
        if (memcmp(&got, &want, sizeof got) != 0)
            MT_FAIL_AT("%s: got %.17g, want %.17g", exact[i], got, want);
        mt_n_checks++;
    }
    /* what Python's repr() writes: 17 digits at most, settings-like exponents */
    for (int i = 0; i < 20000; i++) {
        char buf[64];
        double d = (double)rnd(1000000007) / (double)(rnd(1000000) + 1), got;
        snprintf(buf, sizeof buf, "%.17g", d);
        got = parse(buf);
        if (memcmp(&got, &d, sizeof d) != 0)
            MT_FAIL_AT("%s: got %.17g", buf, got);
        mt_n_checks++;
    }
}

static void check_scalar(const char *text, enum mt_type type, uint64_t u)
{
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    for (int pad = 0; pad < 2; pad++) { /* at the end of the input, and with more behind it */
        char buf[200];
        struct mt_source *src;
        struct mt_json j;
        struct mt_val v = {.type = MT_T_ABSENT};
        int ok, n = snprintf(buf, sizeof buf, "%s%s", text,
                             pad ? ",                                        1" : "");
        MT_ASSERT(n > 0 && mt_source_mem(&src, buf, (size_t)n) == MT_OK);
        mt_json_init(&j, src, &lim);
        mt_json_space(&j);
        ok = mt_json_scalar(&j, &v);
        if (type == MT_T_ABSENT) {
            MT_CHECK(!ok);
        } else {
            if (!ok || v.type != type || (type != MT_T_FLOAT && v.u != u))
                MT_FAIL_AT("%s: ok %d type %d value %llu", buf, ok, (int)v.type,
                           (unsigned long long)v.u);
            mt_n_checks++;
            MT_CHECK_EQ(mt_json_offset(&j), strlen(text));
        }
        mt_json_done(&j);
        mt_source_free(src);
    }
}

MT_TEST(scalars)
{
    check_scalar("0", MT_T_INT, 0);
    check_scalar("-0", MT_T_INT, 0);
    check_scalar("7", MT_T_INT, 7);
    check_scalar("139777059848192", MT_T_INT, UINT64_C(139777059848192));
    check_scalar("999999999999999999", MT_T_INT, UINT64_C(999999999999999999));
    check_scalar("9223372036854775807", MT_T_INT, INT64_MAX);
    check_scalar("9223372036854775808", MT_T_UINT, UINT64_C(1) << 63);
    check_scalar("18446744073709551615", MT_T_UINT, UINT64_MAX);
    check_scalar("18446744073709551616", MT_T_BIG, 0);
    check_scalar("-1", MT_T_INT, UINT64_MAX);
    check_scalar("-9223372036854775808", MT_T_INT, UINT64_C(1) << 63);
    check_scalar("-9223372036854775809", MT_T_BIG, 0);
    check_scalar("123456789012345678901234567890123456789012345678901234567890", MT_T_BIG, 0);
    check_scalar("true", MT_T_BOOL, 1);
    check_scalar("false", MT_T_BOOL, 0);
    check_scalar("null", MT_T_NONE, 0);
    check_scalar("NaN", MT_T_FLOAT, 0);
    check_scalar("Infinity", MT_T_FLOAT, 0);
    check_scalar("-Infinity", MT_T_FLOAT, 0);
    check_scalar("0.8", MT_T_FLOAT, 0);
    check_scalar("-1.5e-3", MT_T_FLOAT, 0);
    check_scalar("1e5", MT_T_FLOAT, 0);
    check_scalar("-", MT_T_ABSENT, 0);
    check_scalar("1.", MT_T_ABSENT, 0);
    check_scalar("1e", MT_T_ABSENT, 0);
    check_scalar("1e+", MT_T_ABSENT, 0);
    check_scalar("1.2.3", MT_T_ABSENT, 0);
    check_scalar(".5", MT_T_ABSENT, 0);
    check_scalar("tru", MT_T_ABSENT, 0);
    check_scalar("nil", MT_T_ABSENT, 0);
    check_scalar("-Inf", MT_T_ABSENT, 0);
}

MT_MAIN(MT_RUN(implementations_agree) MT_RUN(ends_are_right) MT_RUN(depth_is_bounded)
            MT_RUN(hashes_agree) MT_RUN(forcing_an_implementation)
                MT_RUN(seen_table_is_bounded_and_keeps_the_frequent) MT_RUN(short_strings)
                    MT_RUN(doubles_are_those_of_strtod) MT_RUN(scalars))
