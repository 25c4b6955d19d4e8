/* JSON that people wrote: where it is wrong, memory that is not there, and threads at once. */
#include "parser/base/json_text.h"
#include "parser/base/mem.h"
#include "tests/unit/mt_test.h"

#include <cjson/cJSON.h>
#include <pthread.h>

static enum mt_rc parse(const char *text, size_t n, struct mt_err *err)
{
    cJSON *root;
    enum mt_rc rc = mt_json_text(&root, text, n, "mine.json", err);
    if ((root != NULL) != (rc == MT_OK))
        rc = MT_EINTERN;
    cJSON_Delete(root);
    return rc;
}

#define PARSE(text, err) parse(text, sizeof text - 1, err)

MT_TEST(a_text_and_its_mark)
{
    struct mt_err err;
    uint64_t used = mt_mem_used();
    MT_CHECK_EQ(PARSE("{\"a\":[1,2]}", &err), MT_OK);
    MT_CHECK_EQ(PARSE(" \r\n\t7 \r\n\t", &err), MT_OK);
    MT_CHECK_EQ(PARSE("\xef\xbb\xbf{}", &err), MT_OK);
    MT_CHECK_EQ(mt_mem_used(), used);
}

MT_TEST(what_is_wrong_is_told_with_its_place)
{
    static const struct {
        const char *text;
        size_t n;
        uint64_t offset;
        const char *says;
    } bad[] = {
        {"", 0, 0, "mine.json: line 1, column 1: not valid JSON"},
        {"\xef\xbb\xbf", 3, 3, "line 1, column 4: not valid JSON"},
        {"{\n\"a\":[}", 8, 7, "line 2, column 6: not valid JSON"},
        {"[1,2", 4, 3, "not valid JSON"},
        {"{} {}", 5, 3, "line 1, column 4: something follows the end"},
        {"\xef\xbb\xbf{}\n x", 8, 7, "line 2, column 2: something follows the end"},
        {"{}\n\0", 4, 3, "line 2, column 1: a NUL byte"},
        {"{\"a\0\":1}", 8, 3, "line 1, column 4: a NUL byte"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mt_err err = {0};
        MT_CHECK_EQ(parse(bad[i].text, bad[i].n, &err), MT_EINPUT);
        MT_CHECK_HAS(err.msg, bad[i].says);
        MT_CHECK(err.has_offset);
        MT_CHECK_EQ(err.offset, bad[i].offset);
    }
}

MT_TEST(no_name_no_prefix)
{
    struct mt_err err = {0};
    cJSON *root;
    MT_CHECK_EQ(mt_json_text(&root, "x", 1, NULL, &err), MT_EINPUT);
    MT_CHECK(strncmp(err.msg, "line 1, column 1: ", 18) == 0);
}

MT_TEST(memory_that_is_not_there_is_no_bad_text)
{
    struct mt_err err = {0};
    unsigned n = 0;
    enum mt_rc rc;
    do {
        mt_mem_fail_after(++n);
        rc = PARSE("{\"a\":[1,\"two\",{\"b\":null}]}", &err);
        mt_mem_fail_after(0);
        MT_CHECK(rc == MT_OK || rc == MT_ENOMEM);
    } while (rc != MT_OK && n < 100);
    MT_CHECK(n > 6 && n < 100);
    MT_CHECK_STR(err.msg, "mine.json: out of memory");
    MT_CHECK_EQ(PARSE("{", &err), MT_EINPUT); /* an old failure is not this one's */
}

/* Half of the threads run out of memory again and again; the others never see it. */
static void *parse_often(void *arg)
{
    bool poor = *(const bool *)arg;
    size_t *wrong = mt_calloc(1, sizeof *wrong);
    for (int i = 0; i < 2000 && wrong != NULL; i++) {
        struct mt_err err;
        if (poor)
            mt_mem_fail_after((uint64_t)(i % 3) + 1);
        *wrong += PARSE("{\"a\":[1,\"two\",{\"b\":null}]}", &err) != (poor ? MT_ENOMEM : MT_OK);
        *wrong += PARSE("[1,]", &err) == MT_OK;
        if (!poor)
            *wrong += PARSE("[1,]", &err) != MT_EINPUT;
        mt_mem_fail_after(0);
    }
    return wrong;
}

MT_TEST(threads_parse_at_once)
{
    enum { N = 6 };
    static const bool poor[] = {false, true};
    pthread_t thread[N];
    uint64_t used = mt_mem_used();
    for (int i = 0; i < N; i++) {
        union {
            const bool *of;
            void *arg;
        } u = {&poor[i % 2]};
        MT_ASSERT(pthread_create(&thread[i], NULL, parse_often, u.arg) == 0);
    }
    for (int i = 0; i < N; i++) {
        void *wrong = NULL;
        MT_ASSERT(pthread_join(thread[i], &wrong) == 0 && wrong != NULL);
        MT_CHECK_EQ(*(size_t *)wrong, 0);
        mt_free(wrong);
    }
    MT_CHECK_EQ(mt_mem_used(), used);
}

MT_MAIN(MT_RUN(a_text_and_its_mark) MT_RUN(what_is_wrong_is_told_with_its_place)
            MT_RUN(no_name_no_prefix) MT_RUN(memory_that_is_not_there_is_no_bad_text)
                MT_RUN(threads_parse_at_once))
