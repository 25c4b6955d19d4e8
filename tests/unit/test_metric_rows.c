/* Metrics that are rows: what they come to, which rows are refused, and a rule that uses one of an
 * overlay. */
#include "advice_bench.h"
#include "phase_make.h"

#include "analysis/metrics/rows.h"
#include "parser/model/intern.h"

/* The settings that rows may ask for, made once. */
static struct mt_runconf *names;
static void free_names(void) { mt_runconf_free(names); }
static const struct mt_runconf *settings(void)
{
    struct mt_err err;
    if (names == NULL) {
        if (mt_runconf_new(&names, mt_test_frameworks(), &err) < 0)
            abort();
        atexit(free_names);
    }
    return names;
}

#define POOL "/v/site-packages/dragon/engine/pool.py"
#define MINE                                                                                       \
    "{\"schema_version\": 1, \"metrics\": ["                                                       \
    "{\"name\": \"hoard\", \"unit\": \"B\", \"says\": \"of the dragon's hoard\","                  \
    "\"live_through\": [{\"file\": \"dragon/engine/pool.py\", \"function\": \"keep\"}],"           \
    "\"with_request\": true},"                                                                     \
    "{\"name\": \"largest_gem\", \"unit\": \"B\", \"says\": \"the largest of it\","                \
    "\"largest_through\": [{\"function\": \"keep\"}]},"                                            \
    "{\"name\": \"lone_gem\", \"unit\": \"B\", \"says\": \"one alone\","                           \
    "\"single_block_of\": [{\"file\": \"dragon/engine/pool.py\"}]},"                               \
    "{\"name\": \"asks_gem\", \"unit\": \"?\", \"says\": \"it failed there\","                     \
    "\"asked\": [{\"function\": \"keep\"}]},"                                                      \
    "{\"name\": \"flies\", \"unit\": \"?\", \"says\": \"it flies\", \"one_of\": \"gait\","         \
    "\"seen\": [{\"file\": \"dragon/wings/\"}]},"                                                  \
    "{\"name\": \"walks\", \"unit\": \"?\", \"says\": \"it walks\", \"one_of\": \"gait\","         \
    "\"seen\": [{\"file\": \"dragon/engine/pool.py\"}]},"                                          \
    "{\"name\": \"keeps\", \"unit\": \"?\", \"says\": \"by a part of a name\","                    \
    "\"seen\": [{\"file\": \"*/eng*/po*.py\", \"function\": \"k*p\"}]},"                           \
    "{\"name\": \"sweeps\", \"unit\": \"?\", \"says\": \"the whole of a name\","                   \
    "\"seen\": [{\"file\": \"eng*/po*.py\"}, {\"function\": \"*kee\"}]},"                          \
    "{\"name\": \"greedy\", \"unit\": \"?\", \"says\": \"most of it is hoard\","                   \
    "\"is\": \"hoard > 0.5 * live && !flies\"}"                                                    \
    "], \"fixes\": [{\"id\": \"D1\", \"framework\": [\"all\"], \"kind\": \"setting\","             \
    "\"phases\": [\"forward_backward\", \"backward\"], \"title\": \"Share the hoard\","            \
    "\"why\": \"It is large.\", \"constraints\": \"none\", \"cost\": \"none\","                    \
    "\"source\": \"dragon.py\", \"status\": \"OK\","                                               \
    "\"set\": [{\"syntax\": \"flag\", \"key\": \"--share\", \"value\": \"\"}],"                    \
    "\"when\": \"greedy\","                                                                        \
    "\"saving\": {\"bytes\": \"hoard / 2\", \"from\": [\"temp\"], \"confidence\": \"high\"}}]}"

static void own(struct bench *b, mt_stack_id stack, uint32_t blocks, uint64_t each)
{
    struct mt_owner *o = MT_VEC_PUSH(&b->d->owners);
    struct mt_stack_share *s = MT_VEC_PUSH(&b->d->by_stack);
    MT_ASSERT(o != NULL && s != NULL);
    o->stack = s->stack = stack;
    o->blocks = s->blocks = blocks;
    o->bytes = s->bytes = blocks * each;
    o->largest = s->largest = each;
}

MT_TEST(rows_of_an_overlay)
{
    struct bench b;
    struct made m;
    const struct mt_advice *a;
    start(&m);
    setup(&b, NULL, MINE);
    MT_CHECK_EQ(metric(&b, "hoard"), 0);
    MT_CHECK_EQ(metric(&b, "walks"), -1); /* no trace at hand */
    MT_CHECK_EQ(metric(&b, "greedy"), 0); /* decided by the bytes alone */
    own(&b, stack(&m, POOL ":keep|" MAIN), 3, GIB);
    own(&b, stack(&m, POOL ":note|" MAIN), 1, MIB);
    own(&b, stack(&m, MAIN), 1, 2 * GIB);
    MT_ASSERT(mt_intern_functions(m.t));
    b.a.trace = m.t;
    MT_CHECK_EQ(metric(&b, "hoard"), 3 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "largest_gem"), (double)GIB);
    MT_CHECK_EQ(metric(&b, "lone_gem"), (double)MIB);
    MT_CHECK_EQ(metric(&b, "asks_gem"), 0);
    MT_CHECK_EQ(metric(&b, "walks"), 1);
    MT_CHECK_EQ(metric(&b, "flies"), 0);
    MT_CHECK_EQ(metric(&b, "keeps"), 1);
    MT_CHECK_EQ(metric(&b, "sweeps"), 0);
    role(&b, MT_ROLE_TEMP, 5 * GIB);
    MT_CHECK_EQ(metric(&b, "greedy"), 1);
    a = advise(&b, "D1");
    MT_ASSERT(a != NULL);
    MT_CHECK_EQ(a->saving.bytes, 3 * GIB / 2);
    role(&b, MT_ROLE_PARAM, 5 * GIB);
    MT_CHECK_EQ(metric(&b, "greedy"), 0);
    MT_CHECK(advise(&b, "D1") == NULL);
    fail(&b, 4 * GIB, GIB);
    b.d->ooms.p[0].stack = b.d->owners.p[0].stack;
    MT_CHECK_EQ(metric(&b, "hoard"), 7 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "largest_gem"), (double)GIB); /* without the request */
    MT_CHECK_EQ(metric(&b, "asks_gem"), 1);
    b.a.trace = NULL;
    teardown(&b);
    done(&m);
}

/* Of 70 frames two are in the trace: one of the first, and one that has no place of its own in the
 * bits that say which are there. */
MT_TEST(rows_of_many_frames)
{
    enum { FRAMES = 70 };
    char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "{\"schema_version\": 1, \"metrics\": [{\"name\": \"hoard\", "
                                "\"unit\": \"B\", \"says\": \"much\", \"live_through\": [");
    struct bench b;
    struct made m;
    for (int i = 0; i < FRAMES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%s{\"file\": \"engine/po\", \"function\": \"keep_%d\"}",
                              i > 0 ? ", " : "", i);
    (void)snprintf(text + n, sizeof text - n, "]}]}");
    start(&m);
    setup(&b, NULL, text);
    own(&b, stack(&m, POOL ":keep_69|" MAIN), 1, GIB);
    own(&b, stack(&m, POOL ":keep_2|" MAIN), 1, 2 * GIB);
    own(&b, stack(&m, POOL ":keep_70|" MAIN), 1, 4 * GIB);
    own(&b, stack(&m, "/v/dragon/den.py:keep_3|" MAIN), 1, 8 * GIB);
    MT_ASSERT(mt_intern_functions(m.t));
    b.a.trace = m.t;
    MT_CHECK_EQ(metric(&b, "hoard"), 3 * (double)GIB);
    b.a.trace = NULL;
    teardown(&b);
    done(&m);
}

/* Of one frame, none of the trace: nothing, and no walk either. */
MT_TEST(rows_of_no_frame)
{
    struct bench b;
    struct made m;
    start(&m);
    setup(&b, NULL, MINE);
    own(&b, stack(&m, "/v/dragon/den.py:keep|" MAIN), 1, GIB);
    MT_ASSERT(mt_intern_functions(m.t));
    b.a.trace = m.t;
    MT_CHECK_EQ(metric(&b, "hoard"), 0);
    MT_CHECK_EQ(metric(&b, "largest_gem"), (double)GIB); /* of any file */
    fail(&b, 4 * GIB, GIB);
    b.d->ooms.p[0].stack = b.d->owners.p[0].stack;
    MT_CHECK_EQ(metric(&b, "hoard"), 0);
    MT_CHECK_EQ(metric(&b, "asks_gem"), 1);
    b.a.trace = NULL;
    teardown(&b);
    done(&m);
}

/* An optimizer of 8 bits has something to make smaller where the two moments of Adam are: not in a
 * history of gradients, nor in one block a weight. It takes three quarters of them where copies in
 * 16 bits show that weights are in 32, else half for certain. */
MT_TEST(moments_of_adam)
{
    static const struct {
        const char *file;
        uint64_t lone, moments;
    } of[] = {
        {"torch/optim/adamw.py", 0, 8},           {"torch/optim/adamw.py", 8, 6},
        {"torch/optim/lbfgs.py", 0, 2},           {"torch/optim/rmsprop.py", 0, 2},
        {"deepspeed/ops/adam/cpu_adam.py", 0, 8}, {"/home/u/momentum.py", 8, 0},
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        struct bench b;
        struct made m;
        char frames[128];
        const struct mt_advice *a;
        start(&m);
        setup(&b, NULL, NULL);
        (void)snprintf(frames, sizeof frames, "/v/site-packages/%s:9:step|" MAIN, of[i].file);
        own(&b, stack(&m, frames), 6, GIB);
        MT_ASSERT(mt_intern_functions(m.t));
        b.a.trace = m.t;
        b.a.fw.main = MT_FW_NONE;
        mt_test_part(&b.a.fw, false, false);
        b.d->roles.lone_state = of[i].lone * GIB;
        role(&b, MT_ROLE_OPTIM_STATE, 8 * GIB); /* two of which came before the trace */
        MT_CHECK_EQ(metric(&b, "two_moments"), (double)(of[i].moments * GIB));
        a = advise(&b, "B08");
        MT_CHECK((a != NULL) == (of[i].moments != 0));
        if (a != NULL)
            MT_CHECK_EQ(a->saving.bytes, of[i].moments * GIB / 4 * 2);
        b.d->roles.peak[MT_ROLE_PARAM_CAST] = GIB;
        a = advise(&b, "B08");
        if (a != NULL)
            MT_CHECK_EQ(a->saving.bytes, of[i].moments * GIB / 4 * 3);
        b.a.trace = NULL;
        teardown(&b);
        done(&m);
    }
}

/* In a log's traceback, what is not there may run all the same, but not beside what excludes it. */
MT_TEST(rows_of_a_traceback)
{
    struct mt_metric_rules *r = NULL;
    struct made m;
    struct mt_value v;
    start(&m);
    MT_ASSERT(mt_metric_rules_load(&r, settings(), MINE, strlen(MINE), "mine.json", NULL) == MT_OK);
    (void)stack(&m, POOL ":keep|" MAIN);
    MT_ASSERT(mt_intern_functions(m.t));
    v = mt_metric_of_failure(r, m.t, NULL, NULL, "walks", 5);
    MT_CHECK(v.known && v.v == 1);
    v = mt_metric_of_failure(r, m.t, NULL, NULL, "flies", 5);
    MT_CHECK(v.known && v.v == 0);
    MT_CHECK(!mt_metric_of_failure(r, m.t, NULL, NULL, "runs_sft", 8).known);
    MT_CHECK(!mt_metric_of_failure(r, m.t, NULL, NULL, "hoard", 5).known);
    MT_CHECK(!mt_metric_of_failure(r, m.t, NULL, NULL, "nothing", 7).known);
    MT_CHECK(!mt_metric_of_failure(r, NULL, NULL, NULL, "walks", 5).known);
    mt_metric_rules_free(r);
    done(&m);
}

/* The mode of a program, by its command: what it starts, and the word that a setting is given. */
MT_TEST(rows_of_a_command)
{
    static const struct {
        const char *args, *name;
        int want; /* -1 = not known */
    } of[] = {
        {"swift sft --max_length 4096", "swift_tunes", 1},
        {"swift sft --max_length 4096", "swift_pairs", 0},
        {"swift sft --max_length 4096", "swift_no_engine", 1},
        {"swift rlhf --max_length 4096", "swift_tunes", -1}, /* dpo by default shows nothing */
        {"swift rlhf --rlhf_type kto", "swift_pairs", 1},
        {"swift rlhf --rlhf_type grpo", "swift_no_engine", 0},
        {"megatron sft --micro_batch_size 2", "swift_megatron", 1},
        {"swift sft --sft_type full", "set.older_flags", 1},
        {"swift sft --max_length 4096", "set.older_flags", 0},
        {"swift sft --deepspeed zero2", "set.deepspeed_config", 1},
        {"swift rlhf --max_length 4096", "set.rl_type", 0},
        {"trl sft --max_length 4096", "runs_grpo", 0},
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        struct mt_runconf *conf = NULL;
        struct mt_metric_rules *r = NULL;
        struct mt_metrics *m = NULL;
        struct mt_err err;
        struct mt_value v;
        MT_ASSERT(mt_runconf_new(&conf, mt_test_frameworks(), &err) == MT_OK);
        MT_ASSERT(mt_conf_args(&conf->conf, of[i].args, strlen(of[i].args), "run", false, &err) ==
                  MT_OK);
        MT_ASSERT(mt_runconf_added(conf, MT_FROM_ARGS, &err) == MT_OK);
        MT_ASSERT(mt_metric_rules_load(&r, conf, NULL, 0, NULL, NULL) == MT_OK);
        MT_ASSERT(mt_metrics_told(&m, r, conf, NULL, true) == MT_OK);
        v = mt_metric_get(m, of[i].name, strlen(of[i].name));
        if ((v.known ? (int)v.v : -1) != of[i].want)
            MT_FAIL_AT("\"%s\": %s is %d", of[i].args, of[i].name, v.known ? (int)v.v : -1);
        mt_metrics_free(m);
        mt_metric_rules_free(r);
        mt_runconf_free(conf);
    }
}

#define ROW(fields)                                                                                \
    "{\"schema_version\": 1, \"metrics\": [{\"name\": \"a\", \"unit\": \"B\", \"says\": "          \
    "\"b\"" fields "}]}"
#define SEEN ", \"seen\": [{\"file\": \"x.py\"}]"

MT_TEST(wrong_rows_are_refused)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"{\"schema_version\": 1, \"metrics\": 1}", "\"metrics\" has to be a list"},
        {"{\"schema_version\": 1, \"metrics\": [1]}", "metric 1: is not an object"},
        {"{\"schema_version\": 1, \"metrics\": [{\"name\": \"A b\"}]}",
         "metric A b: field \"name\": has to be of small"},
        {"{\"schema_version\": 1, \"metrics\": [{\"name\": \"live\"}]}",
         "metric live: field \"name\": is that of a number"},
        {"{\"schema_version\": 1, \"metrics\": [{\"name\": \"role.temp\"}]}",
         "field \"name\": has to be of small"},
        {ROW(""), "metric a: field \"seen\": is missing"},
        {ROW(", \"sen\": 1"), "field \"sen\": is not known"},
        {ROW(", \"seen\": []"), "field \"seen\": has to be a list of frames"},
        {ROW(", \"seen\": [{}]"), "field \"seen\": has to have, each time, a file or a function"},
        {ROW(", \"seen\": [{\"setting\": \"tp\"}]"),
         "field \"seen\": has to have, each time, a file"},
        {ROW(", \"seen\": [{\"setting\": \"tp\", \"is\": \"2\", \"file\": \"a.py\"}]"),
         "field \"seen\": has to have, each"},
        {ROW(", \"asked\": [{\"setting\": \"tp\", \"is\": \"2\"}]"),
         "field \"asked\": has what goes with \"seen\" alone"},
        {ROW(", \"seen\": [{\"line\": \"1\"}]"), "field \"line\": is not known"},
        {ROW(", \"asked\": [{\"file\": 1}]"), "field \"file\": has to be a text"},
        {ROW(SEEN ", \"is\": \"live\""), "field \"is\": is a second way"},
        {ROW(", \"is\": \"live +\""), "field \"is\": "},
        {ROW(", \"is\": \"no_such > 1\""), "no_such"},
        {ROW(", \"is\": \"a > 1\""), "field \"is\": "}, /* itself */
        {ROW(", \"is\": \"current > 1\""), "current"},
        {ROW(", \"is\": 5"), "field \"is\": has to be a text"},
        {ROW(SEEN ", \"with_request\": true"), "field \"with_request\": goes with"},
        {ROW(SEEN ", \"with_request\": 1"), "field \"with_request\": has to be true or false"},
        {ROW(", \"is\": \"live\", \"one_of\": \"x\""), "field \"one_of\": goes with seen only"},
        {"{\"schema_version\": 1, \"metrics\": [{\"name\": \"a\", \"says\": \"b\"" SEEN "}]}",
         "field \"unit\": is missing"},
        {"{\"schema_version\": 1, \"metrics\": [{\"name\": \"a\", \"unit\": \"km\", \"says\": "
         "\"b\"" SEEN "}]}",
         "field \"unit\": has to be"},
        {"{\"schema_version\": 1, \"metrics\": [{\"name\": \"a\", \"unit\": \"B\"" SEEN "}]}",
         "field \"says\": is missing"},
        {"{\"schema_version\": 1, \"metrics\": [}", "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mt_metric_rules *r = NULL;
        struct mt_err err = {0};
        MT_CHECK_EQ(mt_metric_rules_load(&r, settings(), bad[i].text, strlen(bad[i].text),
                                         "mine.json", &err),
                    MT_EINPUT);
        MT_CHECK(r == NULL);
        MT_CHECK_HAS(err.msg, "mine.json");
        MT_CHECK_HAS(err.msg, bad[i].says);
    }
}

/* A row of a known name takes its place, where rows that use it find the new one. */
MT_TEST(a_known_name_is_replaced)
{
    static const char mine[] = "{\"schema_version\": 1, \"metrics\": [{\"name\": \"draft\", "
                               "\"unit\": \"B\", \"says\": \"b\""
                               ", \"is\": \"2 * live\"}]}";
    struct mt_metric_rules *all = NULL, *r = NULL;
    int at;
    MT_ASSERT(mt_metric_rules_load(&all, settings(), NULL, 0, NULL, NULL) == MT_OK);
    MT_ASSERT(mt_metric_rules_load(&r, settings(), mine, sizeof mine - 1, "mine.json", NULL) ==
              MT_OK);
    MT_CHECK_EQ(mt_metric_rules_count(r), mt_metric_rules_count(all));
    at = mt_metric_row_find(r, "draft", 5);
    MT_CHECK_EQ(at, mt_metric_row_find(all, "draft", 5));
    MT_CHECK(at >= 0 && mt_metric_row_at(r, (uint32_t)at)->how == MT_METRIC_IS);
    mt_metric_rules_free(all);
    mt_metric_rules_free(r);
}

MT_TEST(every_allocation_may_fail)
{
    const struct mt_runconf *conf = settings();
    size_t held = mt_mem_used();
    bool whole = false;
    for (uint64_t n = 1; !whole && n < 2000; n++) {
        struct mt_metric_rules *r = NULL;
        mt_mem_fail_after(n);
        whole = mt_metric_rules_load(&r, conf, MINE, strlen(MINE), "mine.json", NULL) == MT_OK;
        mt_mem_fail_after(0);
        mt_metric_rules_free(r);
        MT_CHECK_EQ(mt_mem_used(), held);
    }
    MT_CHECK(whole);
}

MT_MAIN(MT_RUN(rows_of_an_overlay) MT_RUN(rows_of_many_frames) MT_RUN(rows_of_no_frame)
            MT_RUN(moments_of_adam) MT_RUN(rows_of_a_traceback) MT_RUN(rows_of_a_command)
                MT_RUN(wrong_rows_are_refused) MT_RUN(a_known_name_is_replaced)
                    MT_RUN(every_allocation_may_fail))
