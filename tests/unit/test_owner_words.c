/* Who holds memory, in words: what has no stack, equal names, what more recording would tell. */
#include "render/view/rows.h"
#include "render/view/stack.h"
#include "role_make.h"

#define EVAL "/home/u/run.py:9:evaluate" MAIN
#define LINEAR "/home/u/model.py:22:forward|" S_CALL
#define CPP "??:0:at::_ops::mm::call(at::Tensor const&, at::Tensor const&)|"

static void check_sentence(struct job *j, const char *want)
{
    MT_ASSERT(analyze(j));
    MT_CHECK_HAS(j->a->verdict.sentence, want);
    job_free(j);
}

MT_TEST(what_has_no_stack_is_no_smaller_for_that)
{
    struct job *j = job_new();
    (void)old_block(j, 60 * MIB);
    (void)put(j, 40 * MIB, LINEAR "|" EVAL);
    check_sentence(j,
                   "; the largest part whose use is known, 40.0 MiB, is activations; of what has a "
                   "stack, the largest holder, with 40.0 MiB, is u/model.py:22 forward.");
    j = job_new();
    (void)old_block(j, 40 * MIB);
    (void)put(j, 60 * MIB, LINEAR "|" EVAL);
    check_sentence(j, "; the largest part, 60.0 MiB, is activations; the largest holder, with 60.0 "
                      "MiB, is u/model.py:22 forward.");
    j = job_new();
    (void)old_block(j, 60 * MIB);
    (void)put(j, 5 * MIB, LINEAR "|" EVAL);
    check_sentence(j, "no stack was recorded for most of it: 60.0 MiB");
}

/* One Linear, called from three lines; another name; one that only differs further out. */
MT_TEST(owners_of_one_name_say_where_they_were_called_from)
{
    static const char *const from[] = {"u/model.py:76 mlp", "u/model.py:77 mlp, u/model.py:30",
                                       "u/model.py:77 mlp, u/model.py:31"};
    struct job *j = job_new();
    char place[160];
    (void)put(j, 64 * MIB, LINEAR "|/home/u/model.py:76:mlp|" EVAL);
    (void)put(j, 48 * MIB, LINEAR "|/home/u/model.py:77:mlp|/home/u/model.py:30:block|" EVAL);
    (void)put(j, 32 * MIB, LINEAR "|/home/u/model.py:77:mlp|/home/u/model.py:31:block|" EVAL);
    (void)put(j, 16 * MIB, "/home/u/model.py:50:norm|" S_CALL "|" EVAL);
    MT_ASSERT(analyze(j));
    MT_ASSERT(j->a->devices.p[0].owners.n == 4);
    for (uint32_t i = 0; i < 3; i++) {
        MT_CHECK(mt_owner_origin(place, sizeof place, j->t, &j->a->devices.p[0], i, 4));
        MT_CHECK_STR(place, from[i]);
    }
    MT_CHECK(mt_owner_origin(place, sizeof place, j->t, &j->a->devices.p[0], 1, 2));
    /* alone among those that are shown */
    MT_CHECK(!mt_owner_origin(place, sizeof place, j->t, &j->a->devices.p[0], 0, 1));
    MT_CHECK(!mt_owner_origin(place, sizeof place, j->t, &j->a->devices.p[0], 3, 4));
    job_free(j);
}

/* What one function made by four lines, beside another line with more than each of them. A module's
 * forward has the name of all others in its file, and one line is all of its function. */
MT_TEST(lines_of_one_function_together)
{
    static const struct {
        const char *behind, *want;
        unsigned lines;
    } of[] = {
        {"fake_quant|/home/u/quant.py:60:apply|" EVAL,
         " with 40.0 MiB, is u/run.py:3 load, and all lines of u/quant.py fake_quant together have "
         "120.0 MiB.",
         4},
        {"fake_quant|/home/u/quant.py:60:apply|" EVAL, " with 40.0 MiB, is u/run.py:3 load.", 2},
        {"forward|" S_CALL "|" EVAL, " with 40.0 MiB, is u/run.py:3 load.", 4},
        {"__init__|/home/u/quant.py:60:apply|" EVAL, " with 40.0 MiB, is u/run.py:3 load.", 4}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct job *j = job_new();
        char stack[256];
        (void)put(j, 40 * MIB, "/home/u/run.py:3:load" MAIN);
        for (unsigned k = 0; k < of[i].lines; k++) {
            (void)snprintf(stack, sizeof stack, "/home/u/quant.py:%u:%s", 20 + k, of[i].behind);
            (void)put(j, 30 * MIB, stack);
        }
        check_sentence(j, of[i].want);
    }
}

static void check_caveat(bool cpp, const char *want)
{
    struct mt_rank rank = {.order = 0};
    struct mt_diagnosis whole = {.ranks = {.p = &rank, .n = 1}};
    struct job *j = job_new();
    bool found = false;
    for (int i = 0; i < 8; i++)
        (void)put(j, 4 * MIB,
                  cpp ? CPP "/home/u/run.py:5:work" MAIN : "/home/u/run.py:5:work" MAIN);
    MT_ASSERT(analyze(j));
    rank.trace = j->t;
    rank.analysis = j->a;
    MT_CHECK(mt_quality_make(&whole));
    for (uint32_t i = 0; i < whole.quality.caveats.n; i++)
        found =
            found || (strstr(whole.quality.caveats.p[i], "could not be given a phase") != NULL &&
                      strstr(whole.quality.caveats.p[i], want) != NULL);
    MT_CHECK(found);
    mt_quality_done(&whole.quality);
    job_free(j);
}

MT_TEST(what_more_would_tell)
{
    check_caveat(true, "their frames name no phase");
    check_caveat(false, "record with stacks=\"all\"");
}

MT_MAIN(MT_RUN(what_has_no_stack_is_no_smaller_for_that)
            MT_RUN(owners_of_one_name_say_where_they_were_called_from)
                MT_RUN(lines_of_one_function_together) MT_RUN(what_more_would_tell))
