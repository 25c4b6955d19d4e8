/* Files of one job and of two: what contradicts, which belong together, and what is only doubtful.
 */
#include "analysis/run/same_job.h"
#include "analysis/setup/settings.h"
#include "build_driver.h"
#include "mt_test.h"
#include "frameworks.h"

#include <stdlib.h>

#define HOUR UINT64_C(3600000000000)
#define T0 UINT64_C(1764000000000000000)
enum { MOST = 64 };

struct file {
    const char *input, *member;
    int32_t rank;
    int64_t pid; /* 0 = not known */
    const char *host;
    uint64_t from, to; /* after T0; to 0 = a minute later */
    enum mt_phase phase;
    bool empty; /* it began with nothing allocated */
    bool cache; /* and with segments */
    mt_fw framework;
    bool oom;
};
struct made {
    struct mt_trace *t[MOST];
    struct mt_analysis a[MOST];
    const struct mt_trace *ct[MOST];
    const struct mt_analysis *ca[MOST];
    uint32_t n;
    struct mt_same_job *same_job;
};

static char *dup(const char *s) { return s != NULL ? mt_strndup(s, strlen(s)) : NULL; }

static void add(struct made *m, const struct file *f)
{
    struct mt_trace *t = mt_trace_new();
    struct mt_analysis *a = &m->a[m->n];
    struct mt_device *v;
    struct mt_device_analysis *d;
    struct mt_phase_row *p;
    if (t == NULL || m->n >= MOST)
        abort();
    t->meta.input = dup(f->input);
    t->meta.member = dup(f->member);
    t->meta.rank = f->rank;
    t->meta.pid = f->pid != 0 ? f->pid : -1;
    t->meta.host = dup(f->host);
    v = MT_VEC_PUSH(&t->devices);
    d = MT_VEC_PUSH(&a->devices);
    if (v == NULL || d == NULL)
        abort();
    memset(v, 0, sizeof *v);
    memset(d, 0, sizeof *d);
    d->kind = MT_DEV_CUDA;
    d->n_events = 100;
    d->first_ns = T0 + f->from;
    d->last_ns = T0 + (f->to != 0 ? f->to : f->from + HOUR / 60);
    d->live_peak = UINT64_C(40) << 30;
    d->live_start = f->empty ? 0 : UINT64_C(20) << 30;
    d->reserved_start = f->empty && !f->cache ? 0 : UINT64_C(24) << 30;
    p = MT_VEC_PUSH(&d->phases);
    if (p == NULL)
        abort();
    memset(p, 0, sizeof *p);
    p->phase = f->phase;
    p->n_allocs = 10;
    if (f->oom) {
        struct mt_oom *o = MT_VEC_PUSH(&d->ooms);
        if (o == NULL)
            abort();
        memset(o, 0, sizeof *o);
    }
    a->fw.rules = mt_test_frameworks();
    a->fw.main = f->framework;
    m->t[m->n] = t;
    m->ct[m->n] = t;
    m->ca[m->n] = a;
    m->n++;
}

static struct mt_same_job *look(struct made *m, const struct mt_logs *logs,
                                const struct mt_runconf *conf)
{
    struct mt_same_job_in in = {
        .traces = m->ct, .analyses = m->ca, .n = m->n, .logs = logs, .conf = conf};
    struct mt_err err = {.rc = MT_OK};
    if (mt_same_job_make(&m->same_job, &in, &err) < 0)
        m->same_job = NULL;
    return m->same_job;
}

static void done(struct made *m)
{
    mt_same_job_free(m->same_job);
    for (uint32_t i = 0; i < m->n; i++) {
        MT_VEC_DONE(&m->a[i].devices.p[0].phases);
        MT_VEC_DONE(&m->a[i].devices.p[0].ooms);
        MT_VEC_DONE(&m->a[i].devices);
        mt_trace_free(m->t[i]);
    }
}

static struct mt_same_job *two(struct made *m, struct file a, struct file b)
{
    memset(m, 0, sizeof *m);
    add(m, &a);
    add(m, &b);
    return look(m, NULL, NULL);
}

#define ACTOR .phase = MT_PH_TRAIN_ACTOR, .framework = FW(verl)

MT_TEST(what_contradicts)
{
    struct made m;
    const struct mt_same_job *j =
        two(&m, (struct file){.input = "a.pickle", ACTOR, .rank = 0, .empty = true},
            (struct file){.input = "b.pickle",
                          ACTOR,
                          .rank = 0,
                          .empty = true,
                          .from = 3 * HOUR,
                          .to = 4 * HOUR});
    MT_ASSERT(j != NULL && j->sentence != NULL);
    MT_CHECK_HAS(
        j->sentence,
        "rank 0 began twice with nothing allocated: in a.pickle and, 3 h later, in b.pickle.");
    MT_CHECK_HAS(j->sentence, "The verdict is about a.pickle. Make one report of each.");
    MT_CHECK_EQ(j->groups.n, 2);
    done(&m);
    j = two(&m, (struct file){.input = "a.pickle", ACTOR, .rank = 3, .pid = 41},
            (struct file){.input = "b.pickle", ACTOR, .rank = 3, .pid = 977});
    MT_ASSERT(j != NULL && j->sentence != NULL);
    MT_CHECK_HAS(
        j->sentence,
        "rank 3 is process 41 in a.pickle and process 977 in b.pickle, and both do the same work.");
    done(&m);
    j = two(&m, (struct file){.input = "a.pickle", ACTOR, .rank = 3, .host = "n1"},
            (struct file){.input = "b.pickle", ACTOR, .rank = 3, .host = "n2", .from = HOUR});
    MT_ASSERT(j != NULL && j->sentence != NULL);
    MT_CHECK_HAS(j->sentence, "rank 3 is on n1 in a.pickle and on n2 in b.pickle");
    done(&m);
    j = two(&m, (struct file){.input = "a.pickle", ACTOR, .rank = 0},
            (struct file){
                .input = "b.pickle", .rank = 1, .phase = MT_PH_TRAIN, .framework = FW(areal)});
    MT_ASSERT(j != NULL && j->sentence != NULL);
    MT_CHECK_HAS(j->sentence, "a.pickle is of verl, b.pickle of AReaL.");
    MT_CHECK(strstr(j->sentence, "started again") == NULL);
    done(&m);
    /* nobody else trains in plain PyTorch */
    j = two(&m, (struct file){.input = "a.pickle", .rank = 0, .pid = 41, .phase = MT_PH_TRAIN},
            (struct file){.input = "b.pickle", .rank = 0, .pid = 977, .phase = MT_PH_TRAIN});
    MT_ASSERT(j != NULL && j->sentence != NULL);
    MT_CHECK_HAS(j->sentence, "A job that was started again counts as two.");
    done(&m);
}

/* Nothing of this is two jobs. */
MT_TEST(what_does_not)
{
    const struct file pairs[][2] = {
        /* two ranks; one of another host */
        {{.input = "a.pickle", ACTOR, .rank = 0, .host = "n1", .empty = true},
         {.input = "b.pickle",
          ACTOR,
          .rank = 1,
          .host = "n2",
          .empty = true,
          .from = HOUR,
          .to = 2 * HOUR}},
        /* actor and critic count their ranks alike */
        {{.input = "a.pickle", ACTOR, .rank = 0, .pid = 41, .empty = true},
         {.input = "b.pickle",
          .rank = 0,
          .pid = 977,
          .phase = MT_PH_TRAIN_CRITIC,
          .framework = FW(verl),
          .from = HOUR,
          .empty = true}},
        /* an engine's process of the same rank */
        {{.input = "a.pickle", ACTOR, .rank = 0, .pid = 41},
         {.input = "b.pickle",
          .rank = 0,
          .pid = 977,
          .phase = MT_PH_ROLLOUT_GENERATE,
          .framework = FW(vllm)}},
        /* two dumps of one process in the same folder: the second has lost its beginning */
        {{.input = "a.pickle", ACTOR, .rank = 0, .empty = true},
         {.input = "b.pickle", ACTOR, .rank = 0, .from = HOUR, .to = 2 * HOUR}},
        /* the later dump still holds the beginning */
        {{.input = "a.pickle", ACTOR, .rank = 0, .pid = 41, .empty = true},
         {.input = "b.pickle", ACTOR, .rank = 0, .pid = 41, .to = 2 * HOUR, .empty = true}},
        /* slime and Relax share their code */
        {{.input = "a.pickle", .rank = 0, .phase = MT_PH_TRAIN_ACTOR, .framework = FW(slime)},
         {.input = "b.pickle", .rank = 1, .phase = MT_PH_TRAIN_ACTOR, .framework = FW(relax)}},
        /* "train" of AReaL is the actor's or the critic's, and its "log-probs" the reference's as
           well */
        {{.input = "a.pickle", .rank = 0, .pid = 41, .phase = MT_PH_TRAIN, .framework = FW(areal)},
         {.input = "b.pickle",
          .rank = 0,
          .pid = 977,
          .phase = MT_PH_TRAIN,
          .framework = FW(areal)}},
        {{.input = "a.pickle",
          .rank = 0,
          .pid = 41,
          .phase = MT_PH_LOGP,
          .framework = FW(areal),
          .empty = true},
         {.input = "b.pickle",
          .rank = 0,
          .pid = 977,
          .phase = MT_PH_LOGP,
          .framework = FW(areal),
          .empty = true,
          .from = HOUR}},
        /* ranks that each machine counts from 0 */
        {{.input = "n1/rank0.pickle", ACTOR, .rank = 0, .host = "n1", .pid = 41},
         {.input = "n2/rank0.pickle", ACTOR, .rank = 0, .host = "n2", .pid = 42}},
        /* between two steps all is on the host, and the second recording begins there: the cache
           says that it had begun before */
        {{.input = "a.pickle", ACTOR, .rank = 0, .empty = true},
         {.input = "b.pickle", ACTOR, .rank = 0, .empty = true, .cache = true, .from = HOUR}},
        /* no rank at all */
        {{.input = "a.pickle", ACTOR, .rank = -1, .pid = 41, .empty = true},
         {.input = "b.pickle", ACTOR, .rank = -1, .pid = 977, .empty = true, .from = HOUR}},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct made m;
        const struct mt_same_job *j = two(&m, pairs[i][0], pairs[i][1]);
        MT_ASSERT(j != NULL);
        if (j->sentence != NULL || j->doubt != NULL || j->missing != NULL || j->elsewhere != NULL)
            MT_FAIL_AT("pair %u: %s%s", (unsigned)i, j->sentence != NULL ? j->sentence : "",
                       j->doubt != NULL ? j->doubt : "");
        MT_CHECK_EQ(j->groups.n, 0);
        done(&m);
    }
}

/* Two folders of four ranks, and one of a folder that has a rank of its own: ranks come mixed, as a
 * report sorts them. */
MT_TEST(files_go_with_their_folder)
{
    static const char *const dir[] = {"runs/a", "runs/b"};
    struct made m;
    const struct mt_same_job *j;
    char name[MOST][64];
    memset(&m, 0, sizeof m);
    for (int r = 0; r < 5; r++)
        for (unsigned d = 0; d < 2; d++) {
            struct file f = {.input = dir[d], ACTOR, .rank = r, .empty = true, .from = d * HOUR};
            if (r == 0 && d == 1)
                continue; /* so the first of the other folder has nobody to contradict when it is
                             read */
            (void)snprintf(name[m.n], sizeof name[0], "rank_%02d/memory.pickle", r);
            f.member = name[m.n];
            add(&m, &f);
        }
    j = look(&m, NULL, NULL);
    MT_ASSERT(j != NULL && j->sentence != NULL && j->groups.n == 2);
    MT_CHECK_STR(j->groups.p[0].names, "runs/a (5 files)");
    MT_CHECK_STR(j->groups.p[1].names, "runs/b (4 files)");
    MT_CHECK(j->groups.p[0].verdict && !j->groups.p[1].verdict);
    MT_CHECK_EQ(j->n_untold, 0);
    MT_CHECK_HAS(j->sentence, "Together belong: runs/a (5 files); and runs/b (4 files).");
    done(&m);
}

/* Files without ranks whose recordings lie hours apart; of one process, or minutes apart, nothing
 * is said. */
MT_TEST(hours_apart_is_a_doubt)
{
    for (int i = 0; i < 4; i++) {
        struct made m;
        struct file a = {.input = "runs/a.pickle", ACTOR, .rank = -1},
                    b = {.input = "runs/b.pickle", ACTOR, .rank = i == 3 ? 1 : -1};
        const struct mt_same_job *j;
        a.pid = i == 1 ? 7 : 0;
        b.pid = a.pid;
        b.from = i == 2 ? HOUR / 2 : 3 * HOUR + HOUR / 60;
        b.to = b.from + HOUR / 60;
        j = two(&m, a, b);
        MT_ASSERT(j != NULL && j->sentence == NULL);
        MT_CHECK((j->doubt != NULL) == (i == 0 || i == 3));
        if (j->doubt != NULL)
            MT_CHECK_HAS(j->doubt, "The recording of runs/b.pickle began 3 h after that of "
                                   "runs/a.pickle had ended. Whether");
        done(&m);
    }
}

/* A card that is smaller than what was on it. */
MT_TEST(a_card_of_another_job)
{
    struct made m;
    const struct mt_same_job *j;
    struct file f = {.input = "a.pickle", ACTOR, .rank = -1};
    memset(&m, 0, sizeof m);
    add(&m, &f);
    j = look(&m, NULL, NULL);
    MT_ASSERT(j != NULL);
    MT_CHECK(j->card == NULL);
    mt_same_job_free(m.same_job);
    m.a[0].devices.p[0].not_capacity = UINT64_C(2) << 30;
    m.a[0].devices.p[0].reserved_peak = UINT64_C(66) << 30;
    j = look(&m, NULL, NULL);
    MT_ASSERT(j != NULL && j->card != NULL);
    MT_CHECK_STR(j->card, "--capacity names a card of 2.00 GiB, and on a.pickle's device 0 66.00 "
                          "GiB of PyTorch's was reserved: that card is another one. That size is "
                          "not used.");
    done(&m);
}

/* In one folder the times tell which processes ran together; a file of a third folder that fits
 * both is of neither. */
MT_TEST(files_of_one_folder_go_by_time)
{
    struct made m;
    const struct mt_same_job *j;
    const struct file files[] = {
        {.input = "runs", .member = "x_rank0_pid1.pickle", ACTOR, .rank = 0, .pid = 1},
        {.input = "runs",
         .member = "x_rank0_pid8.pickle",
         .rank = 0,
         .pid = 8,
         .phase = MT_PH_TRAIN_ACTOR,
         .from = HOUR,
         .to = 2 * HOUR},
        {.input = "runs",
         .member = "x_rank1_pid9.pickle",
         .rank = 1,
         .pid = 9,
         .phase = MT_PH_TRAIN_ACTOR,
         .from = HOUR,
         .to = 2 * HOUR},
        {.input = "runs", .member = "x_rank2_pid3.pickle", ACTOR, .rank = 2, .pid = 3},
        {.input = "else/rank5.pickle", ACTOR, .rank = 5},
    };
    memset(&m, 0, sizeof m);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        add(&m, &files[i]);
    j = look(&m, NULL, NULL);
    MT_ASSERT(j != NULL && j->sentence != NULL && j->groups.n == 2);
    MT_CHECK_STR(j->groups.p[0].names, "runs/x_rank0_pid1.pickle, runs/x_rank2_pid3.pickle");
    MT_CHECK_STR(j->groups.p[1].names, "runs/x_rank0_pid8.pickle, runs/x_rank1_pid9.pickle");
    MT_CHECK_EQ(j->n_untold, 1);
    MT_CHECK_HAS(j->sentence, "of 1 more it cannot be told");
    done(&m);
}

/* The same ranks in two folders, one after the other, and the recordings have lost their
 * beginnings: the files do not say. */
MT_TEST(a_doubt_is_no_contradiction)
{
    struct made m;
    const struct mt_same_job *j;
    memset(&m, 0, sizeof m);
    for (int r = 0; r < 3; r++) {
        struct file a = {.input = "step5/x.pickle", ACTOR, .rank = r},
                    b = {.input = "step9/x.pickle", ACTOR, .rank = r};
        b.from = 26 * HOUR;
        b.to = 27 * HOUR;
        add(&m, &a);
        add(&m, &b);
    }
    j = look(&m, NULL, NULL);
    MT_ASSERT(j != NULL && j->sentence == NULL && j->doubt != NULL);
    MT_CHECK_HAS(j->doubt, "Rank 0 was recorded twice: in step5, and in step9 26 h after that "
                           "ended (so were 2 more ranks).");
    done(&m);
}

/* ---- ranks that are not there ---- */

static struct mt_runconf *settings(const char *args)
{
    struct mt_runconf *c = NULL;
    struct mt_err err = {.rc = MT_OK};
    if (mt_runconf_new(&c, mt_test_frameworks(), &err) < 0 ||
        mt_conf_args(&c->conf, args, strlen(args), "--args", false, &err) < 0 ||
        mt_runconf_added(c, MT_FROM_ARGS, &err) < 0)
        abort();
    return c;
}

MT_TEST(missing_ranks)
{
    struct mt_runconf *of64 = settings("trainer.n_gpus_per_node=8 trainer.nnodes=8"),
                      *of2 = settings("WORLD_SIZE=2");
    const struct file files[] = {{.input = "rank3.pickle", ACTOR, .rank = 3},
                                 {.input = "rank17.pickle", ACTOR, .rank = 17},
                                 {.input = "rank40.pickle", ACTOR, .rank = 40},
                                 {.input = "worker.pickle", ACTOR, .rank = -1}};
    struct made m;
    const struct mt_same_job *j;
    memset(&m, 0, sizeof m);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        add(&m, &files[i]);
    j = look(&m, NULL, of64);
    MT_ASSERT(j != NULL && j->missing != NULL);
    MT_CHECK_STR(j->missing, "Of the 64 ranks of the job 3 have a snapshot here: 3, 17, 40; the "
                             "names of 1 more file say no rank. "
                             "Whether the others are as full is not known.");
    mt_same_job_free(m.same_job);
    j = look(&m, NULL, of2);
    MT_ASSERT(j != NULL && j->missing != NULL);
    MT_CHECK_HAS(j->missing, "The settings name 2 ranks, but rank 40 is here");
    mt_same_job_free(m.same_job);
    j = look(&m, NULL, NULL); /* nobody says how many there are */
    MT_CHECK(j != NULL && j->missing == NULL);
    done(&m);
    mt_runconf_free(of64);
    mt_runconf_free(of2);
}

/* The log names the rank that failed: said where no snapshot failed and none is of that rank. */
MT_TEST(the_rank_that_failed_is_elsewhere)
{
    for (int shape = 0; shape < 4; shape++) {
        struct mt_logs logs = {.files = {NULL, 0, 0}};
        struct mt_log_file *f = MT_VEC_PUSH(&logs.files);
        const struct file one = {
            .input = "rank3.pickle", ACTOR, .rank = shape == 1 ? 5 : 3, .oom = shape == 2};
        struct mt_log_fact *at;
        struct made m;
        const struct mt_same_job *j;
        memset(&m, 0, sizeof m);
        add(&m, &one);
        if (f == NULL)
            abort();
        memset(f, 0, sizeof *f);
        f->name = dup("train.log");
        at = MT_VEC_PUSH(&f->log.facts);
        if (at == NULL)
            abort();
        memset(at, 0, sizeof *at);
        /* an engine's rank is another */
        at->kind = shape == 3 ? MT_LOG_VLLM_NO_KV : MT_LOG_TORCH_OOM;
        at->rank = 5;
        j = look(&m, &logs, NULL);
        MT_ASSERT(j != NULL);
        MT_CHECK_EQ(j->elsewhere != NULL, shape == 0);
        if (j->elsewhere != NULL)
            MT_CHECK_STR(j->elsewhere,
                         "Memory ran out on rank 5, says the log, and no snapshot of it is here. "
                         "What follows is about "
                         "rank 3, which did not fail: give the snapshot of the rank that did.");
        done(&m);
        mt_logs_done(&logs);
    }
}

/* ---- recordings of the driver ---- */

static struct mt_trace *recorded(const char *name, uint64_t from, uint64_t to, const char *slurm,
                                 uint64_t uid)
{
    struct bd x = bd_new();
    struct mt_trace *t;
    struct mt_process_attr *a;
    uint32_t gpu = bd_gpu(&x, "n1", "GPU-1", UINT64_C(80) << 30);
    mt_str_id key = bd_str(&x, slurm != NULL ? "SLURM_JOB_ID" : "PATH"),
              value = bd_str(&x, slurm != NULL ? slurm : "/bin");
    (void)bd_process(&x, "n1", 41, "train", 0, gpu);
    t = bd_done(&x);
    t->meta.input = dup(name);
    t->driver->processes.p[0].uid = uid;
    t->driver->processes.p[0].first_ns = T0 + from;
    t->driver->processes.p[0].last_ns = T0 + to;
    a = MT_VEC_PUSH(&t->driver->attrs);
    if (a == NULL)
        abort();
    *a = (struct mt_process_attr){0, key, value};
    t->driver->processes.p[0].first_attr = t->driver->attrs.n - 1;
    t->driver->processes.p[0].n_attrs = 1;
    return t;
}

MT_TEST(recordings_of_the_driver)
{
    static const struct {
        uint64_t from, uid;
        const char *a, *b, *words; /* jobs of Slurm; NULL = one job */
    } cases[] = {
        {HOUR / 2, 2, "17", "17", NULL},
        {HOUR / 2, 2, "17", "18", "a.gz is of Slurm job 17, b.gz of 18."},
        {3 * HOUR, 2, "17", "17", NULL}, /* two steps of it */
        {3 * HOUR, 1, NULL, NULL, NULL}, /* one process, recorded twice */
        {3 * HOUR, 2, NULL, NULL, "a.gz had ended for 2 h when the recording of b.gz began."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mt_trace *t[2] = {
            recorded("a.gz", 0, HOUR, cases[i].a, 1),
            recorded("b.gz", cases[i].from, cases[i].from + HOUR, cases[i].b, cases[i].uid)};
        struct mt_same_job_in in = {.drivers = (const struct mt_trace *const *)t, .n_drivers = 2};
        struct mt_same_job *j = NULL;
        struct mt_err err = {.rc = MT_OK};
        MT_ASSERT(mt_same_job_make(&j, &in, &err) == MT_OK);
        MT_CHECK_EQ(j->sentence != NULL, cases[i].words != NULL);
        if (j->sentence != NULL && cases[i].words != NULL)
            MT_CHECK_HAS(j->sentence, cases[i].words);
        mt_same_job_free(j);
        mt_trace_free(t[0]);
        mt_trace_free(t[1]);
    }
}

MT_TEST(out_of_memory_while_telling)
{
    for (uint64_t n = 1; n < 1000; n++) {
        struct made m;
        struct file a = {.input = "a.pickle", ACTOR, .rank = 0, .pid = 1},
                    b = {.input = "b.pickle", ACTOR, .rank = 0, .pid = 2};
        const struct mt_same_job *j;
        memset(&m, 0, sizeof m);
        add(&m, &a);
        add(&m, &b);
        mt_mem_fail_after(n);
        j = look(&m, NULL, NULL);
        mt_mem_fail_after(0);
        done(&m);
        if (j != NULL)
            return;
    }
    MT_FAIL_AT("%s", "it never succeeds");
}

MT_MAIN(MT_RUN(what_contradicts) MT_RUN(what_does_not) MT_RUN(files_go_with_their_folder)
            MT_RUN(hours_apart_is_a_doubt) MT_RUN(a_card_of_another_job)
                MT_RUN(files_of_one_folder_go_by_time) MT_RUN(a_doubt_is_no_contradiction)
                    MT_RUN(missing_ranks) MT_RUN(the_rank_that_failed_is_elsewhere)
                        MT_RUN(recordings_of_the_driver) MT_RUN(out_of_memory_while_telling))
