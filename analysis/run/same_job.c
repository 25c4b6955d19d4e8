/* Each file goes to the first group that it does not contradict: of its folder, else nearest in
 * time. */
#include "analysis/run/same_job.h"
#include "analysis/run/same_job_impl.h"
#include "parser/model/driver.h"
#include "parser/input/input.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
enum {
    SHARED = 256
}; /* processes of a trace that are looked for in another: those of one job begin alike */

/* ---- what a file says of its job ---- */

/* The phases that a rule may give without saying whose they are: in reinforcement learning actor
 * and critic, actor and reference. */
#define UNNAMED_WORK (UINT64_C(1) << MT_PH_TRAIN | UINT64_C(1) << MT_PH_LOGP)

static bool place(struct mt_same_job_file *f)
{
    const struct mt_meta *m = &f->t->meta;
    const char *input =
        m->input == NULL || strcmp(m->input, "-") == 0 ? "standard input" : m->input;
    size_t n = strlen(input), more = m->member != NULL ? strlen(m->member) : 0, end, at;
    f->path = mt_malloc(n + more + 2);
    if (f->path == NULL)
        return false;
    memcpy(f->path, input, n + 1);
    while (more != 0 && n > 1 && f->path[n - 1] == '/')
        n--;
    if (more != 0) {
        f->path[n] = '/';
        memcpy(f->path + n + 1, m->member, more + 1);
    }
    for (end = strlen(f->path);;) {
        char part[80], *host = NULL;
        int32_t rank = -1;
        int64_t pid = -1;
        while (end > 0 && f->path[end - 1] != '/')
            end--;
        f->folder = end = end > 0 ? end - 1 : 0;
        for (at = end; at > 0 && f->path[at - 1] != '/'; at--)
            ;
        if (end == 0 || end - at >= sizeof part)
            return true;
        memcpy(part, f->path + at, end - at);
        part[end - at] = '\0';
        mt_name_identity(part, &rank, &pid, &host);
        mt_free(host);
        if (rank < 0)
            return true;
    }
}

/* Neither a block nor a segment was there: between two steps a trainer that gives all back still
 * has its libraries' workspaces. */
static bool begins_empty(const struct mt_trace *t, const struct mt_device_analysis *d)
{
    return d->withheld == NULL && !d->end_state_only && d->live_start == 0 &&
           d->reserved_start == 0 && t->devices.p[d->device].ring_overflowed != 1;
}

static bool of_snapshot(struct mt_same_job_file *f, const struct mt_trace *t,
                        const struct mt_analysis *a)
{
    bool held = false, used = false;
    f->t = t;
    f->rank = t->meta.rank;
    f->pid = t->meta.pid;
    f->host = t->meta.host;
    f->rules = a->fw.rules;
    f->framework = a->fw.by_settings || a->fw.forced ? MT_FW_NONE : a->fw.main;
    for (uint32_t i = 0; i < a->devices.n; i++) {
        const struct mt_device_analysis *d = &a->devices.p[i];
        if (d->kind != MT_DEV_CUDA)
            continue;
        if (d->first_ns != 0 && (f->first_ns == 0 || d->first_ns < f->first_ns))
            f->first_ns = d->first_ns;
        if (d->last_ns > f->last_ns)
            f->last_ns = d->last_ns;
        used = used || (d->n_events != 0 && d->live_peak != 0);
        held = held || ((d->n_events != 0 || d->live_end != 0) && !begins_empty(t, d));
        for (uint32_t p = 0; p < d->phases.n; p++)
            if (mt_phase_is(d->phases.p[p].phase, MT_TRAINS | MT_SCORES) &&
                d->phases.p[p].n_allocs != 0)
                f->work |= UINT64_C(1) << d->phases.p[p].phase;
    }
    f->began_empty = used && !held;
    f->named_work = mt_framework_is_rl(a->fw.rules, a->fw.main) ? f->work & ~UNNAMED_WORK : f->work;
    return place(f);
}

static bool of_driver(struct mt_same_job_file *f, const struct mt_trace *t)
{
    const struct mt_driver *d = t->driver;
    f->t = t;
    f->rank = -1;
    f->pid = -1;
    for (uint32_t i = 0; i < d->processes.n; i++) {
        const struct mt_process *p = &d->processes.p[i];
        if (p->first_ns != 0 && (f->first_ns == 0 || p->first_ns < f->first_ns))
            f->first_ns = p->first_ns;
        if (p->last_ns > f->last_ns)
            f->last_ns = p->last_ns;
        for (uint32_t k = 0; k < p->n_attrs && f->slurm == NULL; k++)
            if (strcmp(mt_str(t, d->attrs.p[p->first_attr + k].key), "SLURM_JOB_ID") == 0)
                f->slurm = mt_str(t, d->attrs.p[p->first_attr + k].value);
    }
    return place(f);
}

/* ---- what contradicts ---- */

static bool is_known_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}
static bool is_known_other(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) != 0;
}

static bool together(const struct mt_same_job_file *a, const struct mt_same_job_file *b)
{
    return a->first_ns != 0 && b->first_ns != 0 && a->first_ns <= b->last_ns &&
           b->first_ns <= a->last_ns;
}

/* A process that both recordings saw. */
static bool share_process(const struct mt_driver *a, const struct mt_driver *b)
{
    for (uint32_t i = 0; i < a->processes.n && i < SHARED; i++)
        for (uint32_t k = 0; k < b->processes.n && k < SHARED; k++)
            if (a->processes.p[i].uid == b->processes.p[k].uid)
                return true;
    return false;
}

/* One process of a rank on two GPUs or at two times, or two processes? */
static enum mt_same_job_why of_one_rank(const struct mt_same_job_file *a,
                                        const struct mt_same_job_file *b)
{
    uint64_t apart =
        a->first_ns > b->first_ns ? a->first_ns - b->first_ns : b->first_ns - a->first_ns;
    if ((a->named_work & b->named_work) == 0)
        return MT_SAME_ONE; /* actor and critic, trainer and engine */
    if (is_known_other(
            a->host, b->host)) /* at one time: names that count the ranks of each machine from 0 */
        return together(a, b) ? MT_SAME_ONE : MT_SAME_HOSTS;
    if (a->pid >= 0 && b->pid >= 0 && a->pid != b->pid)
        return MT_SAME_PIDS;
    if (a->began_empty && b->began_empty && a->first_ns != 0 && b->first_ns != 0 && apart > SECOND)
        return MT_SAME_STARTS;
    return MT_SAME_ONE;
}

enum mt_same_job_why mt_same_job_contradict(const struct mt_same_job_file *a,
                                            const struct mt_same_job_file *b)
{
    bool drivers = a->t->driver != NULL && b->t->driver != NULL;
    if (drivers && is_known_other(a->slurm, b->slurm))
        return MT_SAME_SLURM;
    /* Steps of one job of Slurm may follow each other. */
    if (drivers && a->first_ns != 0 && b->first_ns != 0 && !together(a, b) &&
        !is_known_same(a->slurm, b->slurm) && !share_process(a->t->driver, b->t->driver))
        return MT_SAME_TIMES;
    if (mt_framework_is_rl(a->rules, a->framework) && mt_framework_is_rl(b->rules, b->framework) &&
        !mt_framework_alike(a->rules, a->framework, b->framework))
        return MT_SAME_FRAMEWORKS;
    return a->rank >= 0 && a->rank == b->rank ? of_one_rank(a, b) : MT_SAME_ONE;
}

/* ---- groups ---- */

static uint64_t gap(const struct mt_same_job_file *a, const struct mt_same_job_file *b)
{
    return a->first_ns > b->last_ns   ? a->first_ns - b->last_ns
           : b->first_ns > a->last_ns ? b->first_ns - a->last_ns
                                      : 0;
}

struct choice {
    bool possible, same_folder;
    uint64_t gap;
};

/* Keeps the first contradiction, and counts the files that have one of its kind. */
static void keep(struct mt_same_job_work *k, enum mt_same_job_why why, uint32_t a, uint32_t b)
{
    if (k->why == MT_SAME_ONE) {
        k->why = why;
        k->a = a;
        k->b = b;
    }
    if (why == k->why && k->last_why != b) {
        k->n_why++;
        k->last_why = b;
    }
}

/* The group of file i, by the first n files. */
static uint32_t choose(struct mt_same_job_work *k, uint32_t i, uint32_t n, bool is_first)
{
    struct choice c[MT_SAME_GROUPS];
    uint32_t best = MT_SAME_GROUPS, n_possible = 0;
    for (uint32_t g = 0; g < MT_SAME_GROUPS; g++)
        c[g] = (struct choice){true, false, UINT64_MAX};
    for (uint32_t o = 0; o < n; o++) {
        const struct mt_same_job_file *other = &k->file[o];
        struct choice *at = &c[other->group < MT_SAME_GROUPS ? other->group : 0];
        enum mt_same_job_why why;
        uint64_t apart;
        if (o == i || other->group >= k->n_groups)
            continue;
        why = mt_same_job_contradict(other, &k->file[i]);
        if (is_first && why != MT_SAME_ONE)
            keep(k, why, o, i);
        at->possible = at->possible && why == MT_SAME_ONE;
        at->same_folder = at->same_folder || mt_same_job_folder(other, &k->file[i]);
        apart = gap(other, &k->file[i]);
        at->gap = apart < at->gap ? apart : at->gap;
    }
    for (uint32_t g = 0; g < k->n_groups; g++) {
        n_possible += c[g].possible;
        if (c[g].possible &&
            (best == MT_SAME_GROUPS || (c[g].same_folder && !c[best].same_folder) ||
             (c[g].same_folder == c[best].same_folder && c[g].gap < c[best].gap)))
            best = g;
    }
    if (is_first && n_possible == 0 && k->n_groups < MT_SAME_GROUPS)
        return k->n_groups++;
    return n_possible > 1 && !c[best].same_folder ? MT_SAME_GROUPS : best;
}

/* The second time all groups are there: a file may have been read before the others of its folder
 * were told apart. */
static void settle(struct mt_same_job_work *k)
{
    for (uint32_t i = 0; i < k->n; i++)
        k->file[i].group = MT_SAME_GROUPS;
    for (uint32_t i = 0; i < k->n; i++)
        k->file[i].group = choose(k, i, i, true);
    for (uint32_t i = 0; i < k->n && k->n_groups > 1; i++)
        k->file[i].group = choose(k, i, k->n, false);
}

enum mt_rc mt_same_job_make(struct mt_same_job **out, const struct mt_same_job_in *in,
                            struct mt_err *err)
{
    struct mt_same_job *j = mt_calloc(1, sizeof *j);
    struct mt_same_job_work k = {.in = in, .n = in->n + in->n_drivers, .last_why = UINT32_MAX};
    bool ok;
    k.file = mt_calloc((size_t)k.n + 1, sizeof *k.file);
    ok = j != NULL && k.file != NULL;
    for (uint32_t i = 0; ok && i < in->n; i++)
        ok = of_snapshot(&k.file[i], in->traces[i], in->analyses[i]);
    for (uint32_t i = 0; ok && i < in->n_drivers; i++)
        ok = of_driver(&k.file[in->n + i], in->drivers[i]);
    if (ok)
        settle(&k);
    ok = ok && mt_same_job_say(j, &k);
    for (uint32_t i = 0; k.file != NULL && i < k.n; i++)
        mt_free(k.file[i].path);
    mt_free(k.file);
    if (!ok) {
        mt_same_job_free(j);
        return mt_fail(err, MT_ENOMEM, "out of memory; raise --max-memory");
    }
    *out = j;
    return MT_OK;
}

void mt_same_job_free(struct mt_same_job *j)
{
    if (j == NULL)
        return;
    for (uint32_t i = 0; i < j->groups.n; i++)
        mt_free(j->groups.p[i].names);
    MT_VEC_DONE(&j->groups);
    mt_free(j->sentence);
    mt_free(j->doubt);
    mt_free(j->missing);
    mt_free(j->elsewhere);
    mt_free(j->card);
    mt_free(j);
}
