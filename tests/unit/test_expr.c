/* Expressions of rule files: values, unknowns, complaints, and text that wants to break the parser.
 */
#include "analysis/base/expr.h"
#include "analysis/base/phase.h"
#include "parser/base/mem.h"
#include "tests/unit/mt_test.h"

static bool any_name(void *arg, const char *name, size_t n)
{
    (void)arg;
    return !(n == 7 && memcmp(name, "missing", 7) == 0);
}

/* a = 2 (marked), b = 10 (low), role.x = 3, everything else unknown */
static struct mt_value look(void *arg, const char *name, size_t n)
{
    struct mt_value v = {0, true, MT_CONF_MARKED};
    (void)arg;
    if (n == 1 && name[0] == 'a')
        v.v = 2;
    else if (n == 1 && name[0] == 'b')
        v.v = 10, v.conf = MT_CONF_LOW;
    else if (n == 6 && memcmp(name, "role.x", 6) == 0)
        v.v = 3;
    else
        v.known = false;
    return v;
}

static struct mt_value eval(const char *text)
{
    struct mt_expr *e = NULL;
    struct mt_err err = {0};
    struct mt_value v = {-999, false, 0};
    enum mt_rc rc = mt_expr_compile(&e, text, any_name, NULL, &err);
    if (rc != MT_OK)
        MT_FAIL_AT("%s: %s", text, err.msg);
    else
        v = mt_expr_eval(e, look, NULL);
    mt_expr_free(e);
    return v;
}

MT_TEST(values)
{
    static const struct {
        const char *text;
        double v;
    } want[] = {
        {"1", 1},
        {"1.5", 1.5},
        {".25 * 4", 1},
        {"2k", 2048},
        {"3M", 3145728},
        {"1G", 1073741824},
        {"2GB", 2e9},
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 3 - 2", 5},
        {"24 / 4 / 2", 3},
        {"-a + 5", 3},
        {"--a", 2},
        {"a * role.x", 6},
        {"a<b", 1},
        {"a <= 2", 1},
        {"a >= 3", 0},
        {"a == 2", 1},
        {"a != 2", 0},
        {"a > 1 && b > 1", 1},
        {"a > 5 || b > 5", 1},
        {"!a", 0},
        {"!(a > 5)", 1},
        {"a > 5 || b > 5 && a > 1", 1},
        {"min(a, b, 1)", 1},
        {"max(a, b, 1)", 10},
        {"min(a)", 2},
        {"floor(2.9)", 2},
        {"ceil(2.1)", 3},
        {"round_down(8191, 1024)", 7168},
        {"round_down(b, 4)", 8},
        {"known(a)", 1},
        {"known(c)", 0},
        {"or(c, 7)", 7},
        {"or(a, 7)", 2},
        {"or(c + 1, a)", 2},
        {"1 + or(c, 2) * 3", 7},
        {"a > 5 && c", 0},
        {"a > 1 || c", 1},
        {"c && a > 5", 0},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct mt_value v = eval(want[i].text);
        mt_n_checks++;
        if (!v.known || v.v < want[i].v - 1e-9 || v.v > want[i].v + 1e-9)
            MT_FAIL_AT("%s: got %g (%s), want %g", want[i].text, v.v, v.known ? "known" : "unknown",
                       want[i].v);
    }
}

MT_TEST(unknown)
{
    static const char *const text[] = {"c",
                                       "c + 1",
                                       "-c",
                                       "!c",
                                       "min(a, c)",
                                       "a > c",
                                       "a / 0",
                                       "1 / c",
                                       "a > 1 && c",
                                       "a > 5 || c",
                                       "floor(c)",
                                       "round_down(a, 0)",
                                       "or(c, d)",
                                       "round_down(a, -1)",
                                       "1 / 0",
                                       "0 / 0",
                                       "c && known(a)"};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        struct mt_value v = eval(text[i]);
        mt_n_checks++;
        if (v.known)
            MT_FAIL_AT("%s: known, %g", text[i], v.v);
    }
}

/* The lowest confidence of what took part. */
MT_TEST(confidence)
{
    MT_CHECK_EQ(eval("a").conf, MT_CONF_MARKED);
    MT_CHECK_EQ(eval("a + b").conf, MT_CONF_LOW);
    MT_CHECK_EQ(eval("a > 1 || b > 1").conf, MT_CONF_MARKED);
    MT_CHECK_EQ(eval("a > 5 && b > 1").conf, MT_CONF_MARKED);
    MT_CHECK_EQ(eval("or(a, b)").conf, MT_CONF_MARKED);
    MT_CHECK_EQ(eval("or(c, b)").conf, MT_CONF_LOW);
    MT_CHECK_EQ(eval("max(a, b)").conf, MT_CONF_LOW);
}

MT_TEST(complaints)
{
    static const struct {
        const char *text, *complaint;
    } want[] = {
        {"", "is missing at the end"},
        {"   ", "is missing at the end"},
        {"a +", "is missing at the end"},
        {"(a", "a closing bracket is missing"},
        {"a)", "an operator is missing at character 2"},
        {"a b", "an operator is missing at character 3"},
        {"a < b < 3", "an operator is missing"},
        {"missing + 1", "a name that does not exist at character 1"},
        {"1 + missing", "at character 5"},
        {"nonsense(a)", "a function that does not exist"},
        {"floor()", "a number, a name or a bracket is missing"},
        {"floor(a, b)", "too many arguments"},
        {"round_down(a)", "too few arguments"},
        {"min(a, b", "a closing bracket is missing"},
        {"3x", "does not belong to a number"},
        {"1.2.3", "does not belong to a number"},
        {"a & b", "an operator is missing"},
        {"a = b", "an operator is missing"},
        {"\xff", "is missing"},
        {"99999999999999999999999999999999999", "too large"},
        {"min(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "too many arguments"},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct mt_expr *e = NULL;
        struct mt_err err = {0};
        MT_CHECK_EQ(mt_expr_compile(&e, want[i].text, any_name, NULL, &err), MT_EINPUT);
        MT_CHECK_HAS(err.msg, want[i].complaint);
        MT_CHECK(e == NULL);
    }
}

/* Depth, length and number of operations are bounded; nothing is ever read beyond the text. */
MT_TEST(hostile)
{
    enum { N = 100000 };
    static const char *const unit[] = {"(",     "-",     "!", "min(", "1+",  "a*",
                                       "or(a,", "((((a", ")", ",",    "a&&", "known("};
    char *text = malloc(N + 8);
    MT_ASSERT(text != NULL);
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++) {
        for (size_t most = 40; most <= N; most *= 7) {
            struct mt_expr *e = NULL;
            struct mt_err err = {0};
            size_t n = 0;
            while (n + strlen(unit[i]) < most) {
                memcpy(text + n, unit[i], strlen(unit[i]));
                n += strlen(unit[i]);
            }
            text[n] = 0;
            MT_CHECK_EQ(mt_expr_compile(&e, text, any_name, NULL, &err), MT_EINPUT);
            mt_expr_free(e);
        }
    }
    for (uint64_t seed = 1; seed < 20000; seed++) { /* whatever compiles also runs */
        static const char alphabet[] = "a bc.019kMG+-*/<>=!&|(),minorkw";
        struct mt_expr *e = NULL;
        struct mt_err err = {0};
        uint64_t x = seed * UINT64_C(0x9E3779B97F4A7C15);
        size_t n = 1 + seed % 24;
        for (size_t k = 0; k < n; k++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[k] = alphabet[(x >> 33) % (sizeof alphabet - 1)];
        }
        text[n] = 0;
        if (mt_expr_compile(&e, text, any_name, NULL, &err) == MT_OK)
            (void)mt_expr_eval(e, look, NULL);
        mt_expr_free(e);
        mt_n_checks++;
    }
    free(text);
}

/* Compiled at the first use and kept; without memory it has its value all the same. */
MT_TEST(later)
{
    static const char text[] = "min(a, b) + 3 * (role.x - 1)";
    for (uint64_t fail = 0; fail < 3; fail++) {
        struct mt_expr *e = mt_expr_later(text);
        uint64_t before;
        MT_CHECK(e != NULL && mt_expr_text(e) == text);
        if (e == NULL)
            return;
        before = mt_mem_used();
        mt_mem_fail_after(fail);
        MT_CHECK_EQ(mt_expr_eval(e, look, NULL).v, 8);
        mt_mem_fail_after(0);
        MT_CHECK((mt_mem_used() == before) == (fail == 1));
        before = mt_mem_used();
        MT_CHECK_EQ(mt_expr_eval(e, look, NULL).v, 8);
        MT_CHECK((mt_mem_used() == before) == (fail != 1));
        mt_expr_free(e);
    }
    mt_mem_fail_after(1);
    MT_CHECK(mt_expr_later(text) == NULL);
    mt_mem_fail_after(0);
}

MT_TEST(no_memory)
{
    struct mt_expr *e = NULL;
    struct mt_err err = {0};
    for (uint64_t n = 1; n < 8; n++) {
        enum mt_rc rc;
        mt_mem_fail_after(n);
        rc = mt_expr_compile(&e, "min(a, b) + 3 * (role.x - 1)", any_name, NULL, &err);
        mt_mem_fail_after(0);
        MT_CHECK(rc == MT_ENOMEM || rc == MT_OK);
        MT_CHECK((e != NULL) == (rc == MT_OK));
        mt_expr_free(e);
    }
}

MT_MAIN(MT_RUN(values) MT_RUN(unknown) MT_RUN(confidence) MT_RUN(complaints) MT_RUN(hostile)
            MT_RUN(later) MT_RUN(no_memory))
