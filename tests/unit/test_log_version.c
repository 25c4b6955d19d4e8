/* Versions that programs print when they start. */
#include "mt_test.h"
#include "parser/log/log.h"
#include "frameworks.h"

static void read_text(struct mt_log *l, const char *text)
{
    struct mt_source *src = NULL;
    struct mt_err err;
    memset(&err, 0, sizeof err);
    memset(l, 0, sizeof *l);
    MT_CHECK_EQ(mt_source_mem(&src, text, strlen(text)), MT_OK);
    MT_CHECK_EQ(mt_log_read(l, src, mt_framework_log_packages(mt_test_frameworks()), &err), MT_OK);
    mt_source_free(src);
}

MT_TEST(numbers)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t number;
    } want[] = {
        {"0.7.3) with config", true, MT_LOG_VERSION(0, 7, 3)},
        {"0.8.5.post1)", true, MT_LOG_VERSION(0, 8, 5)},
        {"0.7.4.dev65+g22757848", true, MT_LOG_VERSION(0, 7, 4)},
        {"0.9", true, MT_LOG_VERSION(0, 9, 0)},
        {"0.9rc1", true, MT_LOG_VERSION(0, 9, 0)},
        {"0.9.", true, MT_LOG_VERSION(0, 9, 0)},
        {"1.0.dev0", true, MT_LOG_VERSION(1, 0, 0)},
        {"", false, 0},
        {"dev", false, 0},
        {"7", false, 0},
        {"7.x", false, 0},
        {"-1.2.3", false, 0},
    };
    MT_CHECK(MT_LOG_VERSION(0, 8, 4) < MT_LOG_VERSION(0, 8, 10) &&
             MT_LOG_VERSION(0, 21, 0) < MT_LOG_VERSION(1, 0, 0));
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        uint64_t got = 0;
        bool good = mt_log_version_number(want[i].text, &got);
        if (good != want[i].good || (good && got != want[i].number))
            MT_FAIL_AT("\"%s\": %d, %llx", want[i].text, good, (unsigned long long)got);
    }
    { /* however long it is, it stays a version of its own place */
        uint64_t got = 0;
        MT_CHECK(mt_log_version_number("99999999999999999999.1.1", &got) && got >> 40 < 10000000);
    }
}

MT_TEST(lines)
{
    struct mt_log l;
    read_text(&l, "(Worker pid=9) INFO 03-05 11:22:33 [llm_engine.py:234] Initializing a V0 LLM "
                  "engine (v0.7.3) with config: model='m'\n"
                  "(Worker pid=8) INFO 03-05 11:22:33 [llm_engine.py:234] Initializing a V0 LLM "
                  "engine (v0.7.3) with config: model='m'\n"
                  "INFO [api_server.py:840] vLLM API server version 0.8.1\n"
                  "Initializing an LLM engine (v) with config\n");
    MT_ASSERT(l.versions.n == 2);
    MT_CHECK_STR(l.versions.p[0].program, "vllm-v0");
    MT_CHECK_EQ(l.versions.p[0].number, MT_LOG_VERSION(0, 7, 3));
    MT_CHECK_EQ(l.versions.p[0].line, 1);
    MT_CHECK_STR(l.versions.p[1].program, "vllm");
    MT_CHECK_EQ(l.versions.p[1].line, 3);
    MT_CHECK_EQ(l.facts.n, 0); /* says nothing of memory */
    mt_log_done(&l);
}

MT_TEST(too_many)
{
    struct mt_log l;
    char text[64 * 40] = "";
    for (int i = 0; i < 40; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       "vLLM API server version 0.8.%d\n", i);
    read_text(&l, text);
    MT_CHECK_EQ(l.versions.n, MT_LOG_MAX_VERSIONS);
    mt_log_done(&l);
}

MT_MAIN(MT_RUN(numbers) MT_RUN(lines) MT_RUN(too_many))
