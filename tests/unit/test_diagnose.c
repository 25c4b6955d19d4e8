/* mt_diagnose(): the whole of several jobs, by one call, and by two threads at once. Under
 * ThreadSanitizer (.ci/run) this is the proof that nothing is shared. */
#include "analysis/run/diagnose.h"
#include "parser/base/mem.h"
#include "parser/base/source.h"
#include "render/json/json.h"
#include "tests/unit/mt_test.h"

#include <pthread.h>

struct job {
    const char *paths[2];
    const char *args, *log; /* NULL = none */
    uint64_t capacity;
};
#define LOG                                                                                        \
    "File \"/opt/verl/workers/actor/dp_actor.py\", line 244, in _forward_micro_batch\n"            \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total "   \
    "capacity of 79.15 GiB of which 2.50 GiB is free. Process 7 has 76.65 GiB memory in use. Of "  \
    "the allocated memory 60.00 GiB is allocated by PyTorch, and 14.00 GiB is reserved by "        \
    "PyTorch but unallocated.\n"
static const struct job jobs[] = {
    {{MT_SAMPLES "/verl_grpo_oom_logprob.pickle", NULL},
     "actor_rollout_ref.rollout.gpu_memory_utilization=0.9",
     NULL,
     UINT64_C(85899345920)},
    {{MT_SAMPLES "/verl_two_ranks.tar.gz", NULL}, NULL, LOG, 0},
    {{MT_SAMPLES "/driver_v1.trace.gz", MT_SAMPLES "/fragmentation_oom.pickle"}, NULL, NULL, 0},
    {{MT_SAMPLES "/tiny.json", MT_SAMPLES "/python_only.pickle"}, NULL, NULL, 0},
    {{NULL, NULL}, "--max-tokens-per-gpu 16384", LOG, 0},
};
enum { JOBS = sizeof jobs / sizeof *jobs, ROUNDS = 2 };

struct run {
    struct mt_rules own; /* loaded by the thread itself */
    const struct mt_rules *rules;
    struct mt_runconf *conf;
    struct mt_logs logs;
    struct mt_diagnosis *d;
};

static bool add_log(struct mt_logs *l, const char *text, struct mt_err *err)
{
    struct mt_log_file *f = MT_VEC_PUSH(&l->files);
    struct mt_source *src = NULL;
    bool ok = f != NULL && mt_source_mem(&src, text, strlen(text)) == MT_OK;
    if (ok) {
        f->name = mt_strndup("run.log", 7);
        ok = f->name != NULL && mt_log_read(&f->log, src, mt_framework_log_packages(l->rules),
                                            mt_phase_log_steps(l->phases), err) == MT_OK;
    }
    mt_source_free(src);
    return ok;
}

/* The diagnosis of one job from nothing but its files. rules: NULL = the run loads its own. */
static bool start(struct run *r, const struct job *j, const struct mt_rules *rules)
{
    struct mt_diagnose_opts o = {
        .framework = -1, .only_device = -1, .capacity = j->capacity, .logs = &r->logs};
    struct mt_err err = {.rc = MT_OK};
    uint32_t n = 0;
    memset(r, 0, sizeof *r);
    r->rules = rules;
    if (rules == NULL) {
        if (mt_rules_load(&r->own, NULL, 0, NULL, &err) < 0)
            return false;
        r->rules = &r->own;
    }
    r->logs.rules = r->rules->frameworks;
    r->logs.phases = r->rules->phases;
    if (mt_runconf_new(&r->conf, r->rules->frameworks, &err) < 0 ||
        (j->args != NULL &&
         (mt_conf_args(&r->conf->conf, j->args, strlen(j->args), "--args", false, &err) < 0 ||
          mt_runconf_added(r->conf, MT_FROM_ARGS, &err) < 0)) ||
        (j->log != NULL && !add_log(&r->logs, j->log, &err)))
        return false;
    o.rules = r->rules;
    o.conf = r->conf;
    while (n < 2 && j->paths[n] != NULL)
        n++;
    return mt_diagnose(&r->d, &o, j->paths, n, &err) == MT_OK;
}

static void finish(struct run *r)
{
    mt_diagnosis_free(r->d);
    mt_logs_done(&r->logs);
    mt_runconf_free(r->conf);
    mt_rules_done(&r->own);
}

/* The JSON report, which has every number; NULL = it failed. */
static char *report(const struct job *j, const struct mt_rules *rules)
{
    struct run r;
    struct mt_out o;
    char *text = NULL;
    if (start(&r, j, rules) && mt_out_mem(&o)) {
        struct mt_report report = {.diagnosis = r.d, .command = "", .version = "0"};
        mt_render_json(&report, &o);
        if (mt_out_finish(&o) == 0)
            text = mt_strndup((const char *)o.buf, o.used);
        mt_out_done(&o);
    }
    finish(&r);
    return text;
}

/* ---- one after the other ---- */

static void check_from(size_t job, enum mt_capacity_from capacity, enum mt_framework_from framework,
                       enum mt_lead lead)
{
    struct run r;
    MT_CHECK(start(&r, &jobs[job], NULL));
    if (r.d != NULL) {
        const struct mt_rank *k = mt_diagnosis_rank(r.d);
        MT_CHECK_EQ(k != NULL ? k->capacity_from : MT_CAPACITY_UNKNOWN, capacity);
        MT_CHECK_EQ(r.d->framework_from, framework);
        MT_CHECK_EQ(mt_diagnosis_lead(r.d), lead);
    }
    finish(&r);
}

MT_TEST(where_each_is_from)
{
    check_from(0, MT_CAPACITY_GIVEN, MT_FW_FROM_SNAPSHOT, MT_LEAD_SNAPSHOT);
    check_from(1, MT_CAPACITY_LOG, MT_FW_FROM_SNAPSHOT, MT_LEAD_SNAPSHOT);
    check_from(3, MT_CAPACITY_UNKNOWN, MT_FW_FROM_NOTHING, MT_LEAD_SNAPSHOT);
    check_from(4, MT_CAPACITY_UNKNOWN, MT_FW_FROM_RUN, MT_LEAD_LOG);
}

MT_TEST(an_input_that_cannot_be_read)
{
    static const struct job bad = {{MT_SAMPLES "/tiny.json", MT_SAMPLES "/no.pickle"}, 0, 0, 0};
    struct run r;
    MT_CHECK(!start(&r, &bad, NULL));
    MT_CHECK(r.d == NULL);
    finish(&r);
}

/* ---- two at once ---- */

struct worker {
    pthread_t thread;
    const struct mt_rules *rules;
    size_t first; /* job to begin with: the two are at different ones */
    char *got[ROUNDS][JOBS];
};

static void *work(void *arg)
{
    struct worker *w = arg;
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < JOBS; i++) {
            size_t job = (i + w->first * round) % JOBS; /* the first round: both at the same */
            w->got[round][job] = report(&jobs[job], w->rules);
        }
    return NULL;
}

static void check_threads(const struct mt_rules *rules)
{
    struct worker w[2] = {{.rules = rules, .first = 1}, {.rules = rules, .first = 3}};
    char *want[JOBS];
    for (size_t k = 0; k < 2; k++)
        MT_ASSERT(pthread_create(&w[k].thread, NULL, work, &w[k]) == 0);
    for (size_t k = 0; k < 2; k++)
        MT_CHECK_EQ(pthread_join(w[k].thread, NULL), 0);
    for (size_t i = 0; i < JOBS; i++) { /* afterwards: what is made once is made by the threads */
        want[i] = report(&jobs[i], rules);
        MT_CHECK(want[i] != NULL);
        for (size_t k = 0; k < 2; k++)
            for (size_t round = 0; round < ROUNDS; round++) {
                MT_CHECK(w[k].got[round][i] != NULL);
                if (want[i] != NULL && w[k].got[round][i] != NULL)
                    MT_CHECK_STR(w[k].got[round][i], want[i]);
                mt_free(w[k].got[round][i]);
            }
        mt_free(want[i]);
    }
}

MT_TEST(two_threads_with_rules_of_their_own) { check_threads(NULL); }

MT_TEST(two_threads_with_the_same_rules)
{
    struct mt_rules rules;
    struct mt_err err = {.rc = MT_OK};
    MT_ASSERT(mt_rules_load(&rules, NULL, 0, NULL, &err) >= 0);
    check_threads(&rules);
    mt_rules_done(&rules);
}

/* The threads come first, so that nothing has been made by the tests before them. */
MT_MAIN(MT_RUN(two_threads_with_rules_of_their_own) MT_RUN(two_threads_with_the_same_rules)
            MT_RUN(where_each_is_from) MT_RUN(an_input_that_cannot_be_read))
