/* Lines of logs whose evidence has another form than a program prints it: frames without a head,
 * commands as lists, a log turned round, errors whose own place says whose memory it was. */
#include "mt_test.h"
#include "parser/log/log.h"

static struct mt_log l;

static void read_text(const char *text)
{
    struct mt_source *src = NULL;
    struct mt_err err;
    memset(&err, 0, sizeof err);
    memset(&l, 0, sizeof l);
    MT_CHECK_EQ(mt_source_mem(&src, text, strlen(text)), MT_OK);
    MT_CHECK_EQ(mt_log_read(&l, src, NULL, NULL, &err), MT_OK);
    mt_source_free(src);
}

#define ERROR "RuntimeError: CUDA error: out of memory\n"

/* What a text's frame is taken for; want NULL = for none. */
static void check_frame(const char *line, const char *want)
{
    char text[512], got[256] = "none";
    (void)snprintf(text, sizeof text, "%s\n" ERROR, line);
    read_text(text);
    if (l.stacks.n != 0 && l.stacks.p[0].frames.n != 0) {
        const struct mt_log_frame *f = &l.stacks.p[0].frames.p[0];
        (void)snprintf(got, sizeof got, "%s:%u %s", f->file, f->line, f->function);
    }
    MT_CHECK_STR(got, want != NULL ? want : "none");
    mt_log_done(&l);
}

MT_TEST(frames)
{
    check_frame("ob/net.py\", line 7, in forward", "ob/net.py:7 forward");
    check_frame("net.py\", line 7, in <module>", "net.py:7 <module>");
    check_frame("File\"/w/net.py\", line 7, in forward", "/w/net.py:7 forward");
    check_frame("it is `job/net.py\", line 7, in `step`: why?", "job/net.py:7 step");
    check_frame("> - File net.py, line 7, in step", "net.py:7 step");
    check_frame("* `File net.py, line 7, in step`", "net.py:7 step");
    check_frame("[rank3]: ob/net.py\", line 7, in forward", NULL); /* another writer's */
    check_frame(".py\", line 7, in forward", NULL);
    check_frame("see net.py\", line seven, in forward", NULL);
    check_frame("see net.py, line 7, in the middle", NULL);
}

static void check_settings(const char *line, const char *want, bool is_cut)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s\n" ERROR, line);
    read_text(text);
    MT_CHECK_EQ(l.settings.n, want != NULL);
    if (want != NULL && l.settings.n == 1) {
        MT_CHECK_STR(l.settings.p[0].text, want);
        MT_CHECK_EQ(l.settings.p[0].is_cut, is_cut);
    }
    mt_log_done(&l);
}

MT_TEST(lists)
{
    check_settings("[ERROR] [launch.py:3:f] ['/x/python3.10', '-u', 'a.py', '--b', '1']",
                   "/x/python3.10 -u a.py --b 1 ", false);
    MT_CHECK_STR(l.program, "a.py");
    check_settings("CalledProcessError: Command '['torchrun', 'a.py', \"--n='x, y'\"]' returned",
                   "torchrun a.py '--n='\\''x, y'\\''' ", false);
    check_settings("launch.py ['a.py', '--b', '1', '--c", "a.py --b 1 ", true);
    check_settings("launch.py ['a.py', '--b', ", "a.py --b ", true);
    check_settings("launch.py classes ['cat', '--b', '1']", NULL, false);
    check_settings("launch.py ['python']", NULL, false);
    check_settings("launch.py [1, 'python', '--b']", NULL, false);
}

static bool newest_first(const char *text)
{
    bool is;
    read_text(text);
    is = l.newest_first;
    mt_log_done(&l);
    return is;
}

MT_TEST(order)
{
    MT_CHECK(newest_first("2026-01-02 10:00:03 c\n2026-01-02 10:00:02 b\n2026-01-02T10:00:01 a\n"));
    MT_CHECK(newest_first("[2026/01/02 10:00:03,1] c\n\n[2026/01/02 10:00:02,1] b\nx\n"
                          "[2026/01/01 10:00:09,1] a\n"));
    MT_CHECK(
        newest_first("INFO 01-02 10:00:03 c\nWARNING 01-02 10:00:02 b\nINFO 01-02 10:00:01 a\n"));
    /* once back is another try, or another writer */
    MT_CHECK(!newest_first("2026-01-02 10:00:03 c\n2026-01-02 10:00:02 b\n"));
    MT_CHECK(!newest_first("2026-01-02 10:00:03 c\n2026-01-02 10:00:02 b\n2026-01-02 10:00:05 d\n"
                           "2026-01-02 10:00:04 a\n"));
    MT_CHECK(
        !newest_first("2026-01-02 10:00:01 a\n2026-01-02 10:00:02 b\n2026-01-02 10:00:03 c\n"));
    MT_CHECK(!newest_first("2026-01-02 1\n2026-01-02\n2026-0\n202\n\n"));
    MT_CHECK(!newest_first("INFO\nINFO 01\nI\n"));
}

MT_TEST(ended_above)
{
    static const char begun[] = "2026-01-02 10:00:02 Capturing CUDA graph shapes: 20%\n";
    char text[512];
    for (int ended = 0; ended < 2; ended++) {
        (void)snprintf(text, sizeof text, "2026-01-02 10:00:09 x\n%s%s2026-01-02 10:00:01 a\n",
                       ended ? "2026-01-02 10:00:08 Application startup complete\n" : "", begun);
        read_text(text);
        MT_ASSERT(l.facts.n == 1 && l.newest_first);
        MT_CHECK_EQ(l.facts.p[0].kind, MT_LOG_VLLM_BEGUN);
        MT_CHECK_EQ(l.facts.p[0].value[3], ended ? 1 : MT_LOG_NONE);
        mt_log_done(&l);
    }
}

/* A whole traceback right below the error is of another process, one behind words its own. */
MT_TEST(below)
{
    static const char traceback[] =
        "Traceback (most recent call last):\n  File \"/w/a.py\", line 1, "
        "in <module>\n";
    char text[512];
    for (int told = 0; told < 2; told++) {
        (void)snprintf(text, sizeof text, ERROR "%s%s", told ? "Full:\n" : "", traceback);
        read_text(text);
        MT_ASSERT(l.stacks.n == 1);
        MT_CHECK_EQ(l.stacks.p[0].is_deeper, !told);
        MT_CHECK_EQ(l.stacks.p[0].is_mates, !told);
        mt_log_done(&l);
    }
}

MT_TEST(errors)
{
    static const struct {
        const char *line;
        enum mt_log_kind kind; /* COUNT = none */
        enum mt_log_cuda cuda;
    } cases[] = {
        {"cuda runtime error (2) : out of memory at /w/aten/src/THC/generic/THCStorage.cu:58",
         MT_LOG_CUDA_OOM, MT_LG_TENSOR},
        {"THCudaCheck FAIL file=/w/THC/THCTensorCopy.cu line=5 error=2 : out of memory",
         MT_LOG_CUDA_OOM, MT_LG_TENSOR},
        {"THCudaCheck FAIL file=/w/THC/THCGeneral.cpp line=50 error=2 : out of memory",
         MT_LOG_CUDA_OOM, MT_LG_START},
        {"cuda runtime error (2) : out of memory at /w/THC/THCCachingHostAllocator.cpp:258",
         MT_LOG_CUDA_OOM, MT_LG_ANY},
        {"Cuda Error: Out Of Memory at /w/csrc/cumem_allocator.cpp: 62", MT_LOG_CUMEM_OOM,
         MT_LG_ANY},
        {"CUDA error: out of memory at /w/csrc/cumem_allocator.cpp:62", MT_LOG_CUMEM_OOM,
         MT_LG_ANY},
        {"CUDA Error: invalid argument at /w/csrc/cumem_allocator.cpp:62", MT_LOG_POOL_ERROR,
         MT_LG_ANY},
        {"What is a CUDA error? My host is out of memory", MT_LOG_KIND_COUNT, MT_LG_ANY},
        {"CUDA error! The disk ran out of memory", MT_LOG_KIND_COUNT, MT_LG_ANY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s\n", cases[i].line);
        read_text(text);
        if (l.facts.n != (cases[i].kind != MT_LOG_KIND_COUNT) ||
            (l.facts.n == 1 &&
             (l.facts.p[0].kind != cases[i].kind || l.facts.p[0].cuda != cases[i].cuda)))
            MT_FAIL_AT("%s: %s", cases[i].line,
                       l.facts.n != 0 ? mt_log_kind_name(l.facts.p[0].kind) : "nothing");
        mt_log_done(&l);
    }
}

/* Windows' backslashes, also as a string has them. */
MT_TEST(backslashes)
{
    static const char *const paths[] = {"C:\\ab c\\fit.py", "C:\\\\ab c\\\\fit.py",
                                        "C:\\ab c/fit.py"};
    char text[512];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        (void)snprintf(text, sizeof text, "  File \"%s\", line 4, in fit\n" ERROR, paths[i]);
        read_text(text);
        MT_ASSERT(l.stacks.n == 1 && l.stacks.p[0].frames.n == 1);
        MT_CHECK_STR(l.stacks.p[0].frames.p[0].file, "C:/ab c/fit.py");
        MT_CHECK(l.n_windows != 0);
        mt_log_done(&l);
    }
}

/* Ray's rows about an actor belong to the sentence below them, and to no later one. */
MT_TEST(actors)
{
    static const char died[] = "Worker exit type: SYSTEM_ERROR OOM killer\n",
                      rows[] = "\tclass_name: outer.<locals>.Scorer\n\tactor_id: 1\n\tpid: 31\n";
    char text[1024];
    (void)snprintf(text, sizeof text, "%s%s(Main pid=9) %s%sThe actor never ran - gone\n", rows,
                   died, died, "Worker PID: 44 Worker exit type: SYSTEM_ERROR OOM killer\n");
    read_text(text);
    MT_ASSERT(l.facts.n == 3);
    MT_CHECK_STR(l.facts.p[0].who, "Scorer");
    MT_CHECK_EQ(l.facts.p[0].value[MT_LK_CLASS], 1);
    MT_CHECK_EQ(l.facts.p[0].value[MT_LK_PID], 31);
    MT_CHECK_EQ(l.facts.p[0].value[MT_LK_POD], MT_LOG_NONE);
    MT_CHECK_EQ(l.facts.p[1].value[MT_LK_CLASS], MT_LOG_NONE);
    MT_CHECK_EQ(l.facts.p[1].value[MT_LK_PID], MT_LOG_NONE);
    MT_CHECK_EQ(l.facts.p[2].value[MT_LK_PID], 44);
    MT_CHECK_EQ(l.facts.p[2].value[MT_LK_NEVER_RAN], 1);
    mt_log_done(&l);
}

MT_MAIN(MT_RUN(frames) MT_RUN(lists) MT_RUN(order) MT_RUN(ended_above) MT_RUN(below) MT_RUN(errors)
            MT_RUN(backslashes) MT_RUN(actors))
