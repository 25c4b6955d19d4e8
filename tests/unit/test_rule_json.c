/* The reader of built-in rule files gives what cJSON gives, for every one of them and for what could stand in one. */
#include "analysis/rule_json.h"
#include "tests/unit/mt_test.h"

static bool same(const cJSON *a, const cJSON *b)
{
    if ((a->type & 0xff) != (b->type & 0xff) || a->valueint != b->valueint || a->valuedouble != b->valuedouble)
        return false;
    if ((a->string == NULL) != (b->string == NULL) || (a->string != NULL && strcmp(a->string, b->string) != 0))
        return false;
    if ((a->valuestring == NULL) != (b->valuestring == NULL) ||
        (a->valuestring != NULL && strcmp(a->valuestring, b->valuestring) != 0))
        return false;
    for (a = a->child, b = b->child; a != NULL && b != NULL; a = a->next, b = b->next)
        if (!same(a, b))
            return false;
    return a == b;
}

static enum mt_rc read(struct mt_rule_json *j, struct mt_arena *strings, const char *text, size_t n, struct mt_err *err)
{
    const struct mt_asset a = {"made.json", (const unsigned char *)text, n};
    return mt_rule_json_read(j, &a, a.name, strings, err);
}

MT_TEST(every_built_in_file_is_read_as_by_cjson)
{
    unsigned n = 0;
    for (const struct mt_asset *a = mt_rule_assets; a->name != NULL; a++, n++) {
        struct mt_arena strings = {0};
        struct mt_err err = {0};
        struct mt_rule_json j;
        cJSON *theirs = cJSON_ParseWithLength((const char *)a->data, a->size);
        MT_CHECK_EQ(mt_rule_json_read(&j, a, a->name, &strings, &err), MT_OK);
        MT_ASSERT(j.root != NULL && theirs != NULL);
        MT_CHECK(same(j.root, theirs));
        MT_CHECK(mt_rule_asset(a->name) == a);
        cJSON_Delete(theirs);
        mt_rule_json_done(&j);
        mt_arena_done(&strings);
    }
    MT_CHECK(n >= 10);
    MT_CHECK(mt_rule_asset("phases") == NULL);
}

MT_TEST(what_json_has_is_read)
{
    static const char *const texts[] = {
        "{}",
        " [ ] ",
        "[[],{},[{}]]",
        "\"\"",
        "{\"a\":\"\",\"\":\"b\"}",
        "[true,false,null]",
        "[0,-0,1,-17,2147483647,2147483648,-2147483649,0.5,-1.25,1e3,2E-3,1.5e+2]",
        "\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t\"",
        "[\"a\\\"b\",\"plain\",\"\\\\\",\"plain\",\"x\\ty\"]",
        "[\"\\u0041\",\"\\u00e9\\u20ac\",\"\\ud83d\\ude00.\",\"\\u00FF\"]",
        "{\"k\\\"ey\" : {\"\\u0041\": [1, 2 , 3]},\r\n\t\"z\":1}",
        "[\"\xc3\xa9 \xe2\x82\xac\", \"tab\there\"]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct mt_arena strings = {0};
        struct mt_err err = {0};
        struct mt_rule_json j;
        cJSON *theirs = cJSON_Parse(texts[i]);
        MT_CHECK_EQ(read(&j, &strings, texts[i], strlen(texts[i]), &err), MT_OK);
        MT_ASSERT(j.root != NULL && theirs != NULL);
        if (!same(j.root, theirs))
            printf("# %s\n", texts[i]);
        MT_CHECK(same(j.root, theirs));
        cJSON_Delete(theirs);
        mt_rule_json_done(&j);
        mt_arena_done(&strings);
    }
}

MT_TEST(what_is_no_json_is_refused)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "{",
                                        "[1",
                                        "[1,]",
                                        "{\"a\":1,}",
                                        "{\"a\"}",
                                        "{a:1}",
                                        "[1 2]",
                                        "\"open",
                                        "\"\\x\"",
                                        "\"\\u12",
                                        "\"\\\"",
                                        "\"\\ud83d\"",
                                        "\"\\udc00\"",
                                        "\"\\ud83d\\u0041\"",
                                        "\"\\u0000\"",
                                        "01",
                                        "1.",
                                        ".5",
                                        "-",
                                        "1e",
                                        "+1",
                                        "truth",
                                        "nul",
                                        "tru",
                                        "[] []",
                                        "{} x",
                                        "[,1]",
                                        "[1;2]",
                                        "{\"a\":1 \"b\":2}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct mt_arena strings = {0};
        struct mt_err err = {0};
        struct mt_rule_json j;
        enum mt_rc rc = read(&j, &strings, texts[i], strlen(texts[i]), &err);
        if (rc != MT_EINTERN)
            printf("# %s\n", texts[i]);
        MT_CHECK_EQ(rc, MT_EINTERN);
        MT_CHECK(j.root == NULL);
        MT_CHECK(err.msg[0] != '\0');
        mt_rule_json_done(&j);
        mt_arena_done(&strings);
    }
}

MT_TEST(depth_is_bounded_and_memory_may_run_out)
{
    struct mt_arena strings = {0};
    struct mt_err err = {0};
    struct mt_rule_json j;
    char deep[401];
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    deep[400] = '\0';
    MT_CHECK_EQ(read(&j, &strings, deep, 400, &err), MT_EINTERN);
    mt_rule_json_done(&j);
    MT_CHECK_EQ(read(&j, &strings, deep + 180, 40, &err), MT_OK);
    mt_rule_json_done(&j);
    MT_CHECK_EQ(mt_rule_json_read(&j, NULL, "none.json", &strings, &err), MT_EINTERN);
    mt_rule_json_done(&j);
    mt_arena_done(&strings);
    for (uint64_t k = 1; k < 20; k++) {
        const struct mt_asset *a = mt_rule_asset("phases.json");
        enum mt_rc rc;
        mt_mem_fail_after(k);
        rc = mt_rule_json_read(&j, a, a->name, &strings, &err);
        mt_mem_fail_after(0);
        MT_CHECK(rc == MT_OK || rc == MT_ENOMEM);
        MT_CHECK(k > 2 || rc == MT_ENOMEM);
        mt_rule_json_done(&j);
        mt_arena_done(&strings);
    }
}

MT_MAIN(MT_RUN(every_built_in_file_is_read_as_by_cjson) MT_RUN(what_json_has_is_read) MT_RUN(what_is_no_json_is_refused)
            MT_RUN(depth_is_bounded_and_memory_may_run_out))
