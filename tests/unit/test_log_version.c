/* Versions that programs print when they start. */
#include "analysis/log/diagnose.h"
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
    MT_CHECK_EQ(mt_log_read(l, src, mt_framework_log_packages(mt_test_frameworks()), NULL, &err),
                MT_OK);
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

/* PyTorch's is said by many programs, and is meant by more. */
MT_TEST(of_torch)
{
    static const struct {
        const char *line;
        uint64_t number; /* 0 = none */
    } want[] = {
        {"PyTorch version: 1.13.1+cu117", MT_LOG_VERSION(1, 13, 1)},
        {"2023-05-04 10:11:12,131 - mmseg - INFO - PyTorch: 1.11.0", MT_LOG_VERSION(1, 11, 0)},
        {"YOLOv5 v7.0-1 Python-3.9.16 torch-2.0.1+cu118 CUDA:0 (Tesla T4, 15110MiB)",
         MT_LOG_VERSION(2, 0, 1)},
        {"torch==2.4.0", MT_LOG_VERSION(2, 4, 0)},
        {"torch                    1.12.1+cu116", MT_LOG_VERSION(1, 12, 1)},
        {"PyTorch                 1.10.0 @/opt/torch", MT_LOG_VERSION(1, 10, 0)},
        {"xformers 0.0.22 requires torch==2.0.1, but you have torch 2.4.0", 0},
        {"Collecting torch==2.1.0", 0},
        {"Requirement already satisfied: torch==2.0.1 in /opt/env/lib", 0},
        {"      Successfully uninstalled torch-1.13.1", 0},
        {"Successfully installed torch-2.1.0 triton-2.1.0", MT_LOG_VERSION(2, 1, 0)},
        {"pytorch-lightning==1.9.5", 0},
        {"UserWarning: In PyTorch 1.8 this is deprecated", 0},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct mt_log l;
        read_text(&l, want[i].line);
        if ((want[i].number != 0) != (l.versions.n == 1) ||
            (l.versions.n != 0 && (strcmp(l.versions.p[0].program, "torch") != 0 ||
                                   l.versions.p[0].number != want[i].number)))
            MT_FAIL_AT("\"%s\": %u", want[i].line, (unsigned)l.versions.n);
        mt_log_done(&l);
    }
}

/* The newest that it can be: the form of the failure's line, or the newest that is named. */
MT_TEST(newest_torch)
{
#define FAILED "CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 7.79 GiB total capacity; "
    static const struct {
        const char *text;
        uint32_t newest;
        bool no_expandable;
    } want[] = {
        {FAILED "6.20 GiB already allocated; 50.00 MiB free; 17.64 MiB cached)", 103, true},
        {FAILED "6.20 GiB already allocated; 50.00 MiB free; 6.30 GiB reserved in total by "
                "PyTorch)",
         200, true},
        {"RuntimeError: " FAILED /* from 1.10 on the sentence goes on with advice */
         "6.20 GiB already allocated; 50.00 MiB free; 6.30 GiB reserved in total by PyTorch)",
         109, true},
        {"RuntimeError: " FAILED
         "6.20 GiB already allocated; 50.00 MiB free; 6.30 GiB reserved in total by PyTorch) If "
         "reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
         "fragmentation.",
         200, true},
        {"torch.cuda.OutOfMemoryError: " FAILED /* cut: that class is newer */
         "6.20 GiB already allocated; 50.00 MiB free; 6.30 GiB reserved in total by PyTorch)",
         200, true},
        {"torch==1.8.1\n" FAILED
         "6.20 GiB already allocated; 50.00 MiB free; 6.30 GiB reserved in total by PyTorch)",
         108, true},
        {"torch==2.6.0\n" FAILED /* the worker has another than the list shows */
         "6.20 GiB already allocated; 50.00 MiB free; 6.30 GiB reserved in total by PyTorch)",
         200, true},
        {"torch==1.13.1\nCUDA out of memory. Tried to allocate 98.00 MiB. GPU 0 has a total "
         "capacity of 7.79 GiB of which 50.00 MiB is free.\n",
         0, false}, /* of another environment */
        {"torch==2.1.0\nCUDA out of memory. Tried to allocate 98.00 MiB. GPU 0 has a total "
         "capacty of 7.79 GiB of which 50.00 MiB is free.\n",
         201, false},
        {"torch==2.10.1\n", 210, false},
        {"CUDA out of memory. Tried to allocate 98.00 MiB. GPU 0 has a total capacity of 7.79 GiB "
         "of which 50.00 MiB is free.",
         0, false},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct mt_logs l = {.files = {NULL, 0, 0}};
        struct mt_log_file *f = MT_VEC_PUSH(&l.files);
        MT_ASSERT(f != NULL);
        memset(f, 0, sizeof *f);
        read_text(&f->log, want[i].text);
        if (mt_logs_torch(&l) != want[i].newest ||
            mt_logs_no_expandable(&l) != want[i].no_expandable)
            MT_FAIL_AT("case %u: %u", (unsigned)i, mt_logs_torch(&l));
        mt_logs_done(&l);
    }
}

MT_MAIN(MT_RUN(numbers) MT_RUN(lines) MT_RUN(too_many) MT_RUN(of_torch) MT_RUN(newest_torch))
