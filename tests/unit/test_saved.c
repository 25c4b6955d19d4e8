/* Reports that are read back: what is taken for one, versions, damage at every byte, memory that
 * ends; dense and pretty JSON. */
#include "analysis/compare/check.h"
#include "parser/base/mem.h"
#include "parser/saved/bounds.h"
#include "parser/saved/report.h"
#include "render/base/json_form.h"
#include "render/base/jsonw.h"
#include "tests/unit/mt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char report[] =
    "{\"schema_version\":1,\"verdict\":{\"kind\":\"oom_capacity\",\"rank\":1,\"device\":0,"
    "\"input\":\"a\"},\"devices\":["
    "{\"input\":\"b\",\"rank\":1,\"device\":0,\"live_peak_bytes\":70},{\"input\":\"a\",\"rank\":1,"
    "\"device\":0,\"focus\":{"
    "\"live_bytes\":70}}],"
    "\"owners\":[{\"rank\":1,\"device\":0,\"label\":\"x/y.py:7 f\",\"bytes\":70}]}";

static bool bids(const char *s) { return mt_saved_bid((const unsigned char *)s, strlen(s)); }

MT_TEST(bid)
{
    MT_CHECK(bids(report));
    MT_CHECK(bids("{\n  \"schema_version\": 12,\n  \"verdict\": {"));
    MT_CHECK(!bids("{\"schema_version\": 1, \"fixes\": []}"));
    MT_CHECK(!bids("{\"segments\": []}"));
    MT_CHECK(!bids(""));
    for (size_t n = 0; n < 29; n++)
        MT_CHECK(!mt_saved_bid((const unsigned char *)report, n));
}

MT_TEST(parts)
{
    struct mt_saved *s = NULL;
    struct mt_err err = {.rc = MT_OK};
    char place[MT_SAVED_PLACE];
    uint64_t n = 0;
    MT_CHECK(mt_saved_text(&s, report, sizeof report - 1, &err) == MT_OK);
    /* by what it says, not by its place in the array */
    MT_CHECK(mt_value_number(mt_value_in(mt_saved_device(s->root), "focus"), "live_bytes", &n) &&
             n == 70);
    MT_CHECK(mt_saved_ran_out(s->root) == 1);
    MT_CHECK(strcmp(mt_saved_place(place, mt_saved_device(s->root)), "rank 1, device 0") == 0);
    mt_saved_free(s);
}

MT_TEST(versions)
{
    static const char *const texts[] = {"{\"schema_version\":2,\"verdict\":{},\"devices\":[]}",
                                        "{\"schema_version\":0,\"verdict\":{},\"devices\":[]}",
                                        "{\"schema_version\":-1,\"verdict\":{},\"devices\":[]}",
                                        "{\"schema_version\":\"1\",\"verdict\":{},\"devices\":[]}",
                                        "{\"schema_version\":1,\"verdict\":{}}",
                                        "[1]",
                                        "7"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mt_saved *s = NULL;
        struct mt_err err = {.rc = MT_OK};
        MT_CHECK(mt_saved_text(&s, texts[i], strlen(texts[i]), &err) == MT_EINPUT);
        MT_CHECK(s == NULL && err.rc == MT_EINPUT && err.msg[0] != '\0');
    }
}

/* What memtrace never writes: characters that a terminal obeys, and what takes hours to compare. */
MT_TEST(bounds)
{
    static const char begin[] = "{\"schema_version\":1,\"verdict\":{},\"devices\":[]";
    static const char *const odd[] = {"\033", "\a", "\x7f", "\xc2\x9b", "\x9b", "\xff", "\xe2\x82"};
    struct mt_saved *s = NULL;
    struct mt_err err = {.rc = MT_OK};
    char text[128];
    size_t n = MT_SAVED_MEMBERS + 2, at = 0;
    char *list = malloc(2 * n + 128);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int in_string = 0; in_string < 2; in_string++) {
            (void)snprintf(text, sizeof text, in_string ? "%s,\"a\":\"\\\"x%s\"}" : "%s%s}", begin,
                           odd[i]);
            MT_CHECK(mt_saved_text(&s, text, strlen(text), &err) == MT_EINPUT);
            MT_CHECK(strstr(err.msg, "damaged, at a character") != NULL);
        }
    (void)snprintf(text, sizeof text, "%s,\"a\":\"\\u001b \xc3\xa9 \xe2\x82\xac\"}", begin);
    MT_CHECK(mt_saved_text(&s, text, strlen(text), &err) == MT_OK);
    mt_saved_free(s);
    MT_CHECK(list != NULL);
    at = (size_t)sprintf(list, "%s,\"a\":[0", begin);
    for (size_t i = 1; i < n; i++, at += 2)
        memcpy(list + at, ",0", 2);
    memcpy(list + at, "]}", 2);
    MT_CHECK(mt_saved_text(&s, list, at + 2, &err) == MT_ELIMIT);
    MT_CHECK(strstr(err.msg, "a list of more than 262144") != NULL);
    memset(list + strlen(begin) + 6, 'x', at - strlen(begin) - 6);
    list[strlen(begin) + 5] = '"';
    list[at] = '"';
    MT_CHECK(mt_saved_text(&s, list, at + 2, &err) == MT_OK);
    mt_saved_free(s);
    free(list);
}

/* A text that is cut anywhere is refused, and says that it is damaged. */
MT_TEST(cut)
{
    for (size_t n = 0; n < sizeof report - 1; n++) {
        struct mt_saved *s = NULL;
        struct mt_err err = {.rc = MT_OK};
        MT_CHECK(mt_saved_text(&s, report, n, &err) == MT_EINPUT);
        MT_CHECK(s == NULL && strstr(err.msg, "damaged") != NULL);
    }
}

/* Memory that ends anywhere: an error, and nothing held. */
MT_TEST(memory)
{
    for (uint64_t n = 1; n < 400; n++) {
        struct mt_saved *a = NULL, *b = NULL;
        struct mt_check c;
        struct mt_err err = {.rc = MT_OK};
        uint64_t held = mt_mem_used();
        enum mt_rc rc;
        memset(&c, 0, sizeof c);
        mt_mem_fail_after(n);
        rc = mt_saved_text(&a, report, sizeof report - 1, &err);
        if (rc == MT_OK)
            rc = mt_saved_text(&b, report, sizeof report - 1, &err);
        if (rc == MT_OK)
            rc = mt_check_make(&c, a, NULL, 0, b, 20, &err);
        mt_mem_fail_after(0);
        MT_CHECK(rc == MT_OK || (rc == MT_ENOMEM && err.rc == MT_ENOMEM));
        mt_check_done(&c);
        mt_saved_free(a);
        mt_saved_free(b);
        MT_CHECK(mt_mem_used() == held);
    }
}

static char *text_of(void (*make)(struct mt_out *o, const char *text, size_t n), const char *text)
{
    struct mt_out o;
    char *made = NULL;
    if (mt_out_mem(&o)) {
        make(&o, text, strlen(text));
        if (mt_out_finish(&o) == 0)
            made = mt_strndup((const char *)o.buf, o.used);
    }
    mt_out_done(&o);
    return made;
}

static void write_forms(struct mt_out *o, bool dense)
{
    struct mt_jsonw w;
    mt_jw_init(&w, o, !dense);
    w.dense = dense;
    mt_jw_open(&w, '{');
    mt_jw_ks(&w, "text", " {\"c\": [ \\ x\\\"\n{ [");
    mt_jw_key(&w, "empty");
    mt_jw_open(&w, '[');
    mt_jw_close(&w, ']');
    mt_jw_key(&w, "flat");
    mt_jw_open_line(&w, '{');
    mt_jw_ku(&w, "n", 18446744073709551615u);
    mt_jw_key(&w, "list");
    mt_jw_open(&w, '[');
    mt_jw_s(&w, "]}");
    mt_jw_i(&w, -3);
    mt_jw_close(&w, ']');
    mt_jw_close_line(&w, '}');
    mt_jw_key(&w, "lines");
    mt_jw_open(&w, '[');
    for (uint64_t i = 0; i < 2; i++) {
        mt_jw_open_line(&w, '[');
        mt_jw_u(&w, i);
        mt_jw_close_line(&w, ']');
    }
    mt_jw_close(&w, ']');
    mt_jw_key(&w, "deep");
    mt_jw_open(&w, '[');
    mt_jw_open(&w, '{');
    mt_jw_close(&w, '}');
    mt_jw_open(&w, '[');
    mt_jw_null(&w);
    mt_jw_close(&w, ']');
    mt_jw_close(&w, ']');
    mt_jw_close(&w, '}');
    if (!dense)
        mt_putc(o, '\n');
}

/* What the writer writes dense, one part of it in one line, comes back byte for byte. */
MT_TEST(forms)
{
    struct mt_out o, dense;
    char *again;
    MT_CHECK(mt_out_mem(&o) && mt_out_mem(&dense));
    write_forms(&o, false);
    write_forms(&dense, true);
    MT_CHECK(mt_out_finish(&o) == 0 && mt_out_finish(&dense) == 0);
    MT_CHECK(strchr((const char *)dense.buf, '\n') == NULL && dense.used < o.used);
    again = text_of(mt_json_pretty, (const char *)dense.buf);
    MT_CHECK(again != NULL && strcmp(again, (const char *)o.buf) == 0);
    mt_free(again);
    again = text_of(mt_json_pretty, (const char *)o.buf);
    MT_CHECK(again != NULL && strcmp(again, (const char *)o.buf) == 0);
    mt_free(again);
    mt_out_done(&dense);
    mt_out_done(&o);
}

MT_TEST(sites)
{
    char file[32];
    unsigned long line = 0;
    MT_CHECK(mt_site_place("actor/train.py:36 step", file, sizeof file, &line) && line == 36 &&
             strcmp(file, "actor/train.py") == 0);
    MT_CHECK(!mt_site_place("autograd MulBackward0", file, sizeof file, &line));
    MT_CHECK(!mt_site_place("c10::cuda::get", file, sizeof file, &line));
    MT_CHECK(
        !mt_site_place("a_name_that_is_longer_than_the_buffer.py:3 f", file, sizeof file, &line));
}

MT_MAIN(MT_RUN(bid) MT_RUN(parts) MT_RUN(versions) MT_RUN(bounds) MT_RUN(cut) MT_RUN(memory)
            MT_RUN(forms) MT_RUN(sites))
