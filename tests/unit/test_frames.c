/* Whether a trace has a frame: by file alone, which is asked of each file once, by function, by
 * pattern, by directory. */
#include "mt_test.h"

#include "analysis/base/frames.h"
#include "parser/model/intern.h"

#include <string.h>

static struct mt_trace *t;
static struct mt_intern in;

static void frame(const char *name, const char *file, uint32_t line)
{
    mt_frame_id id;
    MT_CHECK(mt_intern_frame(&in, mt_strpool_add(&t->str, name, strlen(name)),
                             mt_strpool_add(&t->str, file, strlen(file)), line, &id));
}

MT_TEST(a_trace_has_frames)
{
    t = mt_trace_new();
    MT_ASSERT(t != NULL && mt_intern_init(&in, t));
    MT_ASSERT(mt_intern_functions(t));
    MT_CHECK_EQ(t->files.n, 0);
    MT_CHECK(!mt_trace_has_frame(t, "", "") && !mt_trace_goes_through(t, "", ""));
    for (uint32_t line = 1; line <= 3; line++) {
        frame("forward", "/w/dragon/wings/fly.py", line);
        frame("backward", "/w/dragon/wings/fly.py", line);
        frame("forward", "C:\\lair\\gold.py", line);
    }
    for (int twice = 0; twice < 2; twice++) { /* the second time says the same */
        MT_ASSERT(mt_intern_functions(t));
        MT_CHECK_EQ(t->functions.n, 3);
        MT_CHECK_EQ(t->files.n, 2);
    }
    MT_CHECK(strcmp(mt_str(t, t->files.p[0]), "/w/dragon/wings/fly.py") == 0);
    MT_CHECK(strcmp(mt_str(t, t->files.p[1]), "C:\\lair\\gold.py") == 0);
}

MT_TEST(by_file_and_function)
{
    static const struct {
        const char *file, *function;
        bool has, through;
    } of[] = {
        {"fly.py", "", true, true},
        {"wings/fly.py", "", true, true},
        {"ly.py", "", false, true}, /* a part of a path, but no whole component */
        {"dragon/", "", true, true},
        {"wings/", "", true, true},
        {"fly/", "", false, false},
        {"lair/gold.py", "", true, false}, /* the second has '/' only */
        {"lair/", "", true, false},
        {"gold.py", "forward", true, true},
        {"gold.py", "backward", false, false},
        {"fly.py", "backward", true, true},
        {"", "backward", true, true},
        {"", "back", false, false},
        {"", "", true, true},
        {"none.py", "", false, false},
        {"fly.py", "back*", true, false}, /* nor has it patterns */
        {"gold.py", "back*", false, false},
        {"*/wings/*", "", true, false},
        {"*/tail/*", "", false, false},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (mt_trace_has_frame(t, of[i].file, of[i].function) != of[i].has)
            MT_FAIL_AT("a frame \"%s\" \"%s\"", of[i].file, of[i].function);
        if (mt_trace_goes_through(t, of[i].file, of[i].function) != of[i].through)
            MT_FAIL_AT("through \"%s\" \"%s\"", of[i].file, of[i].function);
    }
    MT_CHECK(!mt_trace_has_frame(NULL, "fly.py", ""));
    mt_intern_done(&in);
    mt_trace_free(t);
}

/* Python's own library is nobody's line: who called it asked. What is installed beside it, or lies
 * in folders of like names, is. */
MT_TEST(pythons_own_library)
{
    static const struct {
        const char *file;
        bool internal;
    } of[] = {
        {"/usr/lib/python3.13/copy.py", true},
        {"/opt/conda/envs/x/lib/python3.9/concurrent/futures/thread.py", true},
        {"/usr/lib/python3.13/site-packages/dragon/copy.py", false},
        {"/usr/lib/python3/dist-packages/dragon/copy.py", false},
        {"/home/u/lib/python3.x/copy.py", false},
        {"/home/u/lib/python3.13", false},
        {"/home/u/python3.13/copy.py", false},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (mt_file_is_internal(of[i].file, (uint32_t)strlen(of[i].file)) != of[i].internal)
            MT_FAIL_AT("%s", of[i].file);
}

MT_MAIN(MT_RUN(pythons_own_library) MT_RUN(a_trace_has_frames) MT_RUN(by_file_and_function))
