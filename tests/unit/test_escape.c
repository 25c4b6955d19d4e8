/* Every output format against hostile bytes, and the numbers for people. */
#include "render/base/escape.h"
#include "parser/base/mem.h"
#include "tests/unit/mt_test.h"

typedef void escape_fn(struct mt_out *o, const char *s, size_t n);

/* Text of fn(s) in a buffer that the next call overwrites. */
static const char *esc(escape_fn *fn, const char *s, size_t n)
{
    static char buf[8192];
    struct mt_out o;
    MT_CHECK(mt_out_mem(&o));
    fn(&o, s, n);
    MT_CHECK_EQ(mt_out_finish(&o), 0);
    MT_CHECK(o.used < sizeof buf);
    memcpy(buf, o.buf, o.used + 1);
    mt_out_done(&o);
    return buf;
}
#define ESC(fn, lit) esc(fn, lit, sizeof lit - 1)

MT_TEST(html_text)
{
    MT_CHECK_STR(ESC(mt_html, ""), "");
    MT_CHECK_STR(ESC(mt_html, "<module>"), "&lt;module&gt;");
    MT_CHECK_STR(
        ESC(mt_html, "</script><img src=x onerror='a()' title=\"b\">&amp;"),
        "&lt;/script&gt;&lt;img src=x onerror=&#39;a()&#39; title=&quot;b&quot;&gt;&amp;amp;");
    MT_CHECK_STR(ESC(mt_html, "gr\xc3\xbc\xc3\x9f \xe6\xa8\xa1\xe5\x9e\x8b \xf0\x9f\x94\xa5"),
                 "gr\xc3\xbc\xc3\x9f \xe6\xa8\xa1\xe5\x9e\x8b \xf0\x9f\x94\xa5");
}

MT_TEST(html_hidden)
{
    MT_CHECK_STR(ESC(mt_html, "a\0b\x1b[31m\n\x7f"), "a\xe2\x90\x80"
                                                     "b\xe2\x90\x9b[31m\xe2\x90\x8a\xe2\x90\xa1");
    MT_CHECK_STR(ESC(mt_html, "a\xe2\x80\xae"
                              "b\xe2\x81\xa6\xc2\x85\xef\xbb\xbf\xf3\xa0\x80\xa0"),
                 "aU+202EbU+2066U+0085U+FEFFU+E0020");
}

/* Strings of the page's data: the script shows them as text, so markup stays, and nothing is hidden
 * in them. */
MT_TEST(seen)
{
    MT_CHECK_STR(ESC(mt_seen, ""), "");
    MT_CHECK_STR(ESC(mt_seen, "<b>&\"gr\xc3\xbc\xc3\x9f\""), "<b>&\"gr\xc3\xbc\xc3\x9f\"");
    MT_CHECK_STR(ESC(mt_seen, "a\0b\n\xe2\x80\xae"
                              "c\xff"),
                 "a\xe2\x90\x80"
                 "b\xe2\x90\x8aU+202E"
                 "c\xef\xbf\xbd");
}

MT_TEST(not_utf8)
{
    MT_CHECK_STR(ESC(mt_html, "\xff"), "\xef\xbf\xbd");
    /* cut off */
    MT_CHECK_STR(ESC(mt_html, "\xc3"), "\xef\xbf\xbd");
    /* overlong '/' */
    MT_CHECK_STR(ESC(mt_html, "\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");
    /* overlong '<' */
    MT_CHECK_STR(ESC(mt_html, "\xe0\x80\xbc"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    /* a surrogate */
    MT_CHECK_STR(ESC(mt_html, "\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    MT_CHECK_STR(ESC(mt_html, "\xf4\x90\x80\x80"),
                 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    MT_CHECK_STR(ESC(mt_html, "\xe2\x82<"), "\xef\xbf\xbd&lt;"); /* does not swallow what follows */
    MT_CHECK_STR(ESC(mt_json_str, "\xe2\x82\""), "\"\xef\xbf\xbd\\\"\"");
    MT_CHECK_STR(ESC(mt_term, "\xe2\x1b"), "\xef\xbf\xbd\xe2\x90\x9b");
    MT_CHECK_STR(ESC(mt_md, "\xe2*"), "\xef\xbf\xbd\\*");
}

MT_TEST(json)
{
    MT_CHECK_STR(ESC(mt_json_str, ""), "\"\"");
    MT_CHECK_STR(ESC(mt_json_str, "a\"b\\c/\n\t\r\x01\x7f\0z"),
                 "\"a\\\"b\\\\c/\\n\\t\\u000d\\u0001\\u007f\\u0000z\"");
    MT_CHECK_STR(ESC(mt_json_str, "</script><!--&"), "\"\\u003c/script\\u003e\\u003c!--\\u0026\"");
    MT_CHECK_STR(ESC(mt_json_str, "\xe2\x80\xa8\xe2\x80\xae\xf3\xa0\x80\xa0"),
                 "\"\\u2028\\u202e\\udb40\\udc20\"");
    MT_CHECK_STR(ESC(mt_json_str, "\xc3\xa9"), "\"\xc3\xa9\"");
}

MT_TEST(markdown)
{
    MT_CHECK_STR(ESC(mt_md, "cs336_basics/model.py:532 silu"), "cs336_basics/model.py:532 silu");
    MT_CHECK_STR(ESC(mt_md, "__init__ _x a_b"), "\\_\\_init\\_\\_ \\_x a_b");
    MT_CHECK_STR(ESC(mt_md, "a|b*c[d](e)`f`~g~<h>&\\$x$"),
                 "a\\|b\\*c\\[d\\](e)\\`f\\`\\~g\\~&lt;h&gt;&amp;\\\\\\$x\\$");
    MT_CHECK_STR(ESC(mt_md, "http://x.y www.z.com @team a@b #12 #x"),
                 "http\\://x.y www\\.z.com @&#8203;team a@&#8203;b \\#&#8203;12 #x");
    MT_CHECK_STR(ESC(mt_md, "# a"), "\\# a");
    MT_CHECK_STR(ESC(mt_md, "- a"), "\\- a");
    MT_CHECK_STR(ESC(mt_md, "12. a"), "12\\. a");
    MT_CHECK_STR(ESC(mt_md, "1) a"), "1\\) a");
    MT_CHECK_STR(ESC(mt_md, "a\nb"), "a\xe2\x90\x8a"
                                     "b");
}

/* One table for C and for the script of the page. */
MT_TEST(markdown_table)
{
    size_t n = 0;
    uint32_t n_rows = 0;
    char *text = (char *)mt_slurp(MT_SOURCE_DIR "/tests/golden/markdown.tsv", &n), *next;
    MT_ASSERT(text != NULL);
    for (char *p = text; p < text + n; p = next + 1) {
        char *tab;
        next = memchr(p, '\n', (size_t)(text + n - p));
        MT_ASSERT(next != NULL);
        *next = '\0';
        if ((tab = strchr(p, '\t')) == NULL || strncmp(p, "# ", 2) == 0)
            continue;
        *tab = '\0';
        MT_CHECK_STR(esc(mt_md, p, strlen(p)), tab + 1);
        n_rows++;
    }
    MT_CHECK(n_rows > 40);
    free(text);
}

MT_TEST(markdown_code)
{
    MT_CHECK_STR(ESC(mt_md_code, ""), "");
    MT_CHECK_STR(ESC(mt_md_code, "a_b<c>"), "`a_b<c>`");
    MT_CHECK_STR(ESC(mt_md_code, "a`b"), "`` a`b ``");
    MT_CHECK_STR(ESC(mt_md_code, "``"), "``` `` ```");
    MT_CHECK_STR(ESC(mt_md_code, "a|<b>`c"), "<code>a&#124;&lt;b&gt;\\`c</code>");
    MT_CHECK_STR(ESC(mt_md_code, "a\nb"), "`a\xe2\x90\x8a"
                                          "b`");
}

MT_TEST(terminal)
{
    MT_CHECK_STR(ESC(mt_term, "<a> & \"b\""), "<a> & \"b\"");
    MT_CHECK_STR(ESC(mt_term, "\x1b]0;title\x07\xc2\x9b"
                              "31m\r"),
                 "\xe2\x90\x9b]0;title\xe2\x90\x87U+009B31m\xe2\x90\x8d");
}

/* No byte pair whatsoever may let a special character through. */
MT_TEST(all_pairs)
{
    char s[2];
    int bad = 0;
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            const char *e;
            s[0] = (char)a;
            s[1] = (char)b;
            e = esc(mt_html, s, 2);
            bad += strpbrk(e, "<>\"'") != NULL;
            for (; *e != '\0'; e++)
                bad += (unsigned char)*e < 0x20 || *e == 0x7f;
            e = esc(mt_json_str, s, 2);
            bad += strpbrk(e, "<>&") != NULL || e[0] != '"' || e[strlen(e) - 1] != '"';
            for (; *e != '\0'; e++)
                bad += (unsigned char)*e < 0x20;
            for (e = esc(mt_term, s, 2); *e != '\0'; e++)
                bad += (unsigned char)*e < 0x20 || *e == 0x7f;
        }
    }
    MT_CHECK_EQ(bad, 0);
}

MT_TEST(utf8_cut)
{
    const char *s = "ab\xc3\xa9\xe2\x82\xac";
    MT_CHECK_EQ(mt_utf8_cut(s, 7, 100), 7);
    MT_CHECK_EQ(mt_utf8_cut(s, 7, 6), 4);
    MT_CHECK_EQ(mt_utf8_cut(s, 7, 3), 2);
    MT_CHECK_EQ(mt_utf8_cut(s, 7, 0), 0);
    MT_CHECK_EQ(mt_utf8_cut("\xff\xff", 2, 1), 1);
    MT_CHECK_EQ(mt_utf8_columns(s, 7), 4);
    MT_CHECK_EQ(mt_utf8_columns("\x1b\xff\xe2\x80\xae", 5), 8);
}

MT_TEST(bytes)
{
    char b[32];
    MT_CHECK_STR(mt_fmt_bytes(b, 0), "0 B");
    MT_CHECK_STR(mt_fmt_bytes(b, 1023), "1023 B");
    MT_CHECK_STR(mt_fmt_bytes(b, 1024), "1.0 KiB");
    MT_CHECK_STR(mt_fmt_bytes(b, 1536), "1.5 KiB");
    MT_CHECK_STR(mt_fmt_bytes(b, UINT64_C(512) << 20), "512.0 MiB");
    MT_CHECK_STR(mt_fmt_bytes(b, (UINT64_C(1) << 30) - 1), "1.00 GiB");
    MT_CHECK_STR(mt_fmt_bytes(b, UINT64_C(24207167496)), "22.54 GiB");
    MT_CHECK_STR(mt_fmt_bytes(b, UINT64_C(3) << 40), "3.00 TiB");
    MT_CHECK_STR(mt_fmt_bytes(b, UINT64_MAX), "16.00 EiB");
}

MT_TEST(numbers)
{
    char b[40];
    MT_CHECK_STR(mt_fmt_count(b, 0), "0");
    MT_CHECK_STR(mt_fmt_count(b, 999), "999");
    MT_CHECK_STR(mt_fmt_count(b, 22331), "22,331");
    MT_CHECK_STR(mt_fmt_count(b, UINT64_MAX), "18,446,744,073,709,551,615");
    MT_CHECK_STR(mt_fmt_percent(b, 1, 0), "-");
    MT_CHECK_STR(mt_fmt_percent(b, 0, 7), "0.0 %");
    MT_CHECK_STR(mt_fmt_percent(b, 123, 1000), "12.3 %");
    MT_CHECK_STR(mt_fmt_percent(b, 1, 1000000), "< 0.1 %");
    MT_CHECK_STR(mt_fmt_percent(b, 999999, 1000000), "99.9 %");
    MT_CHECK_STR(mt_fmt_percent(b, 5, 5), "100.0 %");
    MT_CHECK_STR(mt_fmt_percent(b, UINT64_MAX, UINT64_MAX), "100.0 %");
    MT_CHECK_STR(mt_fmt_percent(b, UINT64_MAX, 1), "> 999 %");
}

MT_TEST(times)
{
    char b[40];
    MT_CHECK_STR(mt_fmt_seconds(b, 0), "0 s");
    MT_CHECK_STR(mt_fmt_seconds(b, 999), "999 ns");
    MT_CHECK_STR(mt_fmt_seconds(b, 3200000), "3.2 ms");
    MT_CHECK_STR(mt_fmt_seconds(b, UINT64_C(12345000000)), "12.345 s");
    MT_CHECK_STR(mt_fmt_seconds(b, UINT64_C(605000000000)), "10 min 05 s");
    MT_CHECK_STR(mt_fmt_seconds(b, UINT64_C(3725000000000)), "1 h 02 min 05 s");
    MT_CHECK_STR(mt_fmt_utc(b, 0), "1970-01-01 00:00:00.000 UTC");
    MT_CHECK_STR(mt_fmt_utc(b, UINT64_C(951782400031000000)), "2000-02-29 00:00:00.031 UTC");
    MT_CHECK_STR(mt_fmt_utc(b, UINT64_C(1772698292031000000)), "2026-03-05 08:11:32.031 UTC");
}

MT_MAIN(MT_RUN(html_text) MT_RUN(html_hidden) MT_RUN(seen) MT_RUN(not_utf8) MT_RUN(json)
            MT_RUN(markdown) MT_RUN(markdown_table) MT_RUN(markdown_code) MT_RUN(terminal)
                MT_RUN(all_pairs) MT_RUN(utf8_cut) MT_RUN(bytes) MT_RUN(numbers) MT_RUN(times))
