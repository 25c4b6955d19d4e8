/* test_toml.c -- what is TOML and what is not, after the specification (toml.io, 1.0, and what 1.1
 * allows besides): each rule with its smallest document. */
#include "parser/conf/conf.h"
#include "tests/unit/mt_test.h"

#include <string.h>

#define DOC(s)                                                                                     \
    {                                                                                              \
        s, sizeof s - 1                                                                            \
    }
struct doc {
    const char *text;
    size_t n;
};

static enum mt_rc read_doc(const struct doc *d, struct mt_err *err)
{
    struct mt_config c;
    enum mt_rc rc;
    memset(&c, 0, sizeof c);
    memset(err, 0, sizeof *err);
    rc = mt_conf_file(&c, d->text, d->n, "x.toml", err);
    mt_conf_done(&c);
    return rc;
}

MT_TEST(valid)
{
    static const struct doc docs[] = {
        DOC(""),
        DOC("# c\n"),
        DOC("a = 1\na-b_1 = 2\n1234 = 3\n"),
        DOC("\"a b\" = 1\n'c.d' = 2\n\"\" = 3\n"),
        DOC("a.b.c = 1\na.b.d = 2\na . e = 3\n"),
        DOC("a = \"x\\ty\\u00e9\\U0001F600\\\\\\\"\"\n"),
        DOC("a = \"\"\"\nx\n  y\\\n   z\"\"\"\n"),
        DOC("a = \"\"\"a \"quote\" and \"\"two\"\" \"\"\"\n"),
        DOC("a = \"\"\"\"\"x\"\"\"\"\"\n"),
        DOC("a = 'C:\\x'\n"),
        DOC("a = '''\nx'y''z'''\n"),
        DOC("a = +99\nb = 0\nc = -17\nd = 1_000\ne = 0xDEAD_beef\nf = 0o755\ng = 0b1101\n"),
        DOC("a = +1.0\nb = -0.01\nc = 5e+22\nd = 1e06\ne = -2E-2\nf = 6.626e-34\ng = "
            "224_617.445\nh = inf\ni = -inf\nj = nan\nk = +nan\n"),
        DOC("a = true\nb = false\n"),
        DOC("a = 1979-05-27T07:32:00Z\nb = 1979-05-27T00:32:00.999999-07:00\nc = 1979-05-27 "
            "07:32:00Z\nd = 1979-05-27T07:32:00\ne = 1979-05-27\nf = 07:32:00\ng = 00:32:00.999\n"),
        DOC("a = [1, 2, 3,]\nb = [ [1,2], [\"a\", 3.0] ]\nc = [\n 1, # one\n 2\n]\nd = []\n"),
        DOC("a = [1, \"x\", {b = 1}]\n"),
        DOC("[a]\nb = 1\n[a.c]\nd = 2\n"),
        DOC("[a.b]\nc = 1\n[a]\nd = 2\n"),
        DOC("[a]\n[b]\n"),
        DOC("[ a . \"b c\" ]\nx = 1\n"),
        DOC("[a] # c\n"),
        DOC("a = {}\nb = { c = 1, d.e = 2 }\n"),
        DOC("[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 3\n[[a.e]]\nf = 4\n[[a]]\n[a.c]\nd = 5\n"),
        DOC("[[a.b]]\nx=1\n[a]\ny=2\n"),
        DOC("a = 1\r\nb = 2\r\n"),
        DOC("[f]\na.b = 1\na.c = 2\n[f.d]\ne = 3\n"),
        DOC("a = 1"),
        DOC("true = 1\ninf = 2\nnan = 3\n"),
        DOC("3.14 = \"x\"\n"),
        DOC("1979-05-27 = 1\n"),
        DOC("a = \"\303\274\344\270\255\360\237\230\200\"\n"),
        DOC("\ta\t=\t1\t\n"),
        DOC("a = \"\\u0000\\b\\f\\n\\r\"\n"),
        DOC("a=2000-02-29\n"),
        DOC("\357\273\277a = 1\n"),
        DOC("# \303\274\n"),
        DOC("a = \"\"\"x \\   \n\n   y\"\"\"\n"),
        DOC("a = 1 # \"\n"),
        DOC("a = 1987-07-05t17:45:00z\n"),
        DOC("a = {b = 1,}\nc = {d = 1,\n e = 2}\n"),
    };
    struct mt_err err;
    for (size_t i = 0; i < sizeof docs / sizeof *docs; i++)
        if (read_doc(&docs[i], &err) != MT_OK)
            MT_FAIL_AT("%s: %s", docs[i].text, err.msg);
}

MT_TEST(invalid)
{
    static const struct doc docs[] = {
        DOC("a = = 3\n"),
        /* names that stand twice, however they are written */
        DOC("a = 1\n\"\\u0061\" = 1\n"),
        DOC("\"a'b\" = 1\n\"a\\u0027b\" = 2\n"),
        DOC("\"\" = 1\n\"\" = 2\n"),
        DOC("\"a.b\" = 1\n'a.b' = 2\n"),
        DOC("a = 1\na = 2\n"),
        DOC("[a]\n[a]\n"),
        DOC("a = 1 b = 2\n"),
        DOC("a = 01\n"),
        DOC("a = tru\n"),
        DOC("a = \"\\z\"\n"),
        DOC("a = 1__0\n"),
        DOC("a.b = 1\na = 2\n"),
        DOC("[[a]]\n[a]\n"),
        DOC("a = _1\n"),
        DOC("a = 1_\n"),
        DOC("a = 0x\n"),
        DOC("a = +0x1\n"),
        DOC("a = 0xg\n"),
        DOC("a = 0b2\n"),
        DOC("a = 0o8\n"),
        DOC("a = 1.\n"),
        DOC("a = .5\n"),
        DOC("a = 1.e5\n"),
        DOC("a = 1e\n"),
        DOC("a = 1_.0\n"),
        DOC("a = 1._0\n"),
        DOC("a = 1e_5\n"),
        DOC("a = 0_1\n"),
        DOC("a = --1\n"),
        DOC("a = True\n"),
        DOC("a = Inf\n"),
        DOC("a = \"x\ny\"\n"),
        DOC("a = 'x\ny'\n"),
        DOC("a = \"\\u12\"\n"),
        DOC("a = \"\\uD800\"\n"),
        DOC("a = \"\\U00110000\"\n"),
        DOC("a = \"x\001\"\n"),
        DOC("# c\001\n"),
        DOC("a = \"\"\"x"),
        DOC("a = '''x"),
        DOC("a = \"\"\"x\"\"\"\"\"\"\n"),
        DOC("a = [1 2]\n"),
        DOC("a = [1,,2]\n"),
        DOC("a = [,1]\n"),
        DOC("a = [1\n"),
        DOC("a = {b=1, b=2}\n"),
        DOC("a = {b=1 c=2}\n"),
        DOC("a = {,}\n"),
        DOC("a = {b}\n"),
        DOC("a = {b = 1}\na.c = 2\n"),
        DOC("a = {b=1}\n[a]\n"),
        DOC("a = {b=1}\n[a.c]\n"),
        DOC("[a\n"),
        DOC("[]\n"),
        DOC("[a.]\n"),
        DOC("[.a]\n"),
        DOC("[a..b]\n"),
        DOC("[a] b = 1\n"),
        DOC("[[a]\n"),
        DOC("[a]]\n"),
        DOC("[ [a]]\n"),
        DOC("[[a] ]\n"),
        DOC("a =\n"),
        DOC("a\n"),
        DOC("= 1\n"),
        DOC("a b = 1\n"),
        DOC("a! = 1\n"),
        DOC("a. = 1\n"),
        DOC(".a = 1\n"),
        DOC("\"\"\"a\"\"\" = 1\n"),
        DOC("a\n= 1\n"),
        DOC("[a]\nb = 1\n[a.b]\nc = 1\n"),
        DOC("a = [1]\n[[a]]\n"),
        DOC("[a]\n[[a]]\n"),
        DOC("[[a]]\n[a.b]\n[[a.b]]\n"),
        DOC("a.b = 1\n[a]\n"),
        DOC("[a]\nb.c = 1\n[a.b]\n"),
        DOC("[a.b.c]\nx=1\n[a]\nb.c.t = 1\n"),
        DOC("a = 1979-13-27\n"),
        DOC("a = 1979-05-32\n"),
        DOC("a = 25:00:00\n"),
        DOC("a = 07:61:00\n"),
        DOC("a = 1979-05-27T\n"),
        DOC("a = 1979-5-27\n"),
        DOC("a = 1979-05-27T07:32:00+25:00\n"),
        DOC("a = 1979-02-30\n"),
        DOC("a = 2023-02-29\n"),
        DOC("a = 07:32:00.\n"),
        DOC("a = 1 2\n"),
        DOC("a = \"x\" \"y\"\n"),
        DOC("a = [ {b=1}\n"),
        DOC("[[a.b]]\n[a]\nb=1\n"),
        DOC("a = [1]\n[a.b]\n"),
        DOC("a = 07:32:61\n"),
        DOC("a\rb=1\n"),
        DOC("\303\274 = 1\n"),
        DOC("a = \"\177\"\n"),
        DOC("a = '\000'\n"),
        DOC("a = {b = 1}\n[[a]]\n"),
        DOC("a.b = 1\na.b.c = 2\n"),
        DOC("a = {b.c = 1, b = 2}\n"),
        DOC("a = {b={c=1}, b.d = 2}\n"),
        DOC("tab.\"a\".\"b\" = 1\ntab.a.b = 2\n"),
        DOC("\"a\" = 1\na = 2\n"),
        DOC("a = \"\\UD8000000\"\n"),
        DOC("a = \"\"\"x\\ y\"\"\"\n"),
        DOC("a = \"\377\"\n"),
        DOC("# \303\n"),
        DOC("a = \"\355\240\200\"\n"),
        DOC("a = \"\300\200\"\n"),
    };
    struct mt_err err;
    for (size_t i = 0; i < sizeof docs / sizeof *docs; i++) {
        if (read_doc(&docs[i], &err) != MT_EINPUT)
            MT_FAIL_AT("taken: %s", docs[i].text);
        MT_CHECK_HAS(err.msg, "line ");
        MT_CHECK_HAS(err.msg, ": this is no TOML: ");
    }
}

/* The line is that of the mistake. */
/* What a backslash stands for, and names with a dot in them, which are no tables. */
MT_TEST(escapes)
{
    static const char text[] =
        "\"a.b\" = \"\\u00e9\\x41\\U0001F600\\u20AC\"\na.b = 2\n[\"\".c]\nd = 3\n";
    struct mt_config c;
    struct mt_err err;
    memset(&c, 0, sizeof c);
    MT_CHECK_EQ(mt_conf_file(&c, text, sizeof text - 1, "x.toml", &err), MT_OK);
    MT_CHECK_EQ(c.entries.n, 3);
    if (c.entries.n == 3) {
        MT_CHECK_STR(c.entries.p[0].key, "a.b");
        MT_CHECK_STR(c.entries.p[0].value, "\xc3\xa9"
                                           "A"
                                           "\xf0\x9f\x98\x80"
                                           "\xe2\x82\xac");
        MT_CHECK_STR(c.entries.p[1].key, "a.b");
        MT_CHECK_STR(c.entries.p[1].value, "2");
        MT_CHECK_STR(c.entries.p[2].key, ".c.d");
    }
    mt_conf_done(&c);
}

MT_TEST(lines)
{
    static const struct {
        struct doc doc;
        const char *says;
    } of[] = {
        {DOC("a = 1\n# \001\nb = 2\n"), "line 2: this is no TOML: a control character"},
        {DOC("a = 1\nb = [\n1,\n\"x\377\"]\n"), "line 4: this is no TOML: it is not UTF-8"},
        {DOC("a = \"\"\"\nx\n\002\"\"\""), "line 3: this is no TOML: a control character"},
        {DOC("a = 1\n\nb = 2026-02-30\n"), "line 3: this is no TOML: what is no number, date"},
    };
    struct mt_err err;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        MT_CHECK_EQ(read_doc(&of[i].doc, &err), MT_EINPUT);
        MT_CHECK_HAS(err.msg, of[i].says);
    }
}

MT_MAIN(MT_RUN(valid) MT_RUN(invalid) MT_RUN(escapes) MT_RUN(lines))
