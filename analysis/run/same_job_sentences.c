/* run/same_job_sentences.c -- in sentences: what contradicts, which files belong together, and
 * which ranks are not there. */
#include "analysis/run/same_job_impl.h"
#include "analysis/setup/layout.h"
#include "analysis/base/words.h"
#include "parser/model/driver.h"

#include <stdio.h>
#include <string.h>

#define HOUR (UINT64_C(3600) * 1000000000)
enum { NAMES = 3, RANKS = 12, GROUPS = 4 };

static char *kept(const struct mt_sentence *s) { return mt_strndup(s->buf, s->n); }

static void ago(struct mt_sentence *s, uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    if (seconds < 120)
        mt_words_add(s, "%.0f s", seconds);
    else if (seconds < 7200)
        mt_words_add(s, "%.0f min", seconds / 60);
    else
        mt_words_add(s, "%.0f h", seconds / 3600);
}

/* ---- which files belong together ---- */

/* The end of a long path says the most. */
static void add_path(struct mt_sentence *s, const char *path, size_t n)
{
    size_t cut = n > 120 ? n - 120 : 0;
    mt_words_add(s, "%s%.*s", cut > 0 ? "..." : "", (int)(n - cut), path + cut);
}
static void add_file(struct mt_sentence *s, const struct mt_same_job_file *f)
{
    add_path(s, f->path, strlen(f->path));
}
static void add_folder(struct mt_sentence *s, const struct mt_same_job_file *f)
{
    add_path(s, f->folder > 0 ? f->path : "this folder", f->folder > 0 ? f->folder : 11);
}

/* Whether no folder has files of two groups: then folders are their names. */
static bool have_own_folders(const struct mt_same_job_work *k)
{
    for (uint32_t i = 0; i < k->n; i++)
        for (uint32_t o = 0; o < i; o++)
            if (k->file[o].group != k->file[i].group &&
                mt_same_job_folder(&k->file[i], &k->file[o]))
                return false;
    return true;
}

static bool name_group(const struct mt_same_job_work *k, uint32_t group, bool folders,
                       struct mt_same_job_group *out)
{
    struct mt_sentence s = {"", 0};
    uint32_t named = 0, more = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        const struct mt_same_job_file *f = &k->file[i];
        bool seen = false;
        if (f->group != group)
            continue;
        out->n++;
        out->verdict = out->verdict || (k->in->n != 0 && i == k->in->primary);
        for (uint32_t o = 0; folders && o < i && !seen; o++)
            seen = k->file[o].group == group && mt_same_job_folder(&k->file[o], f);
        if (seen)
            continue;
        if (named++ >= NAMES) {
            more++;
            continue;
        }
        mt_words_add(&s, "%s", named > 1 ? ", " : "");
        (folders ? add_folder : add_file)(&s, f);
    }
    if (more != 0)
        mt_words_add(&s, " and %u more", (unsigned)more);
    if (folders)
        mt_words_add(&s, " (%u file%s)", (unsigned)out->n, out->n == 1 ? "" : "s");
    out->names = kept(&s);
    return out->names != NULL;
}

/* ---- what contradicts ---- */

static void contradiction(const struct mt_same_job_work *k, struct mt_sentence *s)
{
    const struct mt_same_job_file *a = &k->file[k->a], *b = &k->file[k->b], *first = a, *then = b;
    if (b->first_ns < a->first_ns && (k->why == MT_SAME_STARTS || k->why == MT_SAME_TIMES)) {
        first = b;
        then = a;
    }
    mt_words_add(s, "These files are not of one job: ");
    if (k->why == MT_SAME_STARTS)
        mt_words_add(s, "rank %d began twice with nothing allocated: in ", (int)a->rank);
    else if (k->why == MT_SAME_PIDS)
        mt_words_add(s, "rank %d is process %lld in ", (int)a->rank, (long long)a->pid);
    else if (k->why == MT_SAME_HOSTS)
        mt_words_add(s, "rank %d is on %.80s in ", (int)a->rank, a->host);
    add_file(s, first);
    if (k->why == MT_SAME_STARTS)
        mt_words_add(s, " and, ");
    else if (k->why == MT_SAME_PIDS)
        mt_words_add(s, " and process %lld in ", (long long)b->pid);
    else if (k->why == MT_SAME_HOSTS)
        mt_words_add(s, " and on %.80s in ", b->host);
    else if (k->why == MT_SAME_FRAMEWORKS)
        mt_words_add(s, " is of %s, ", mt_framework_at(a->rules, a->framework)->words);
    else if (k->why == MT_SAME_SLURM)
        mt_words_add(s, " is of Slurm job %.40s, ", a->slurm);
    else
        mt_words_add(s, " had ended for ");
    if (k->why == MT_SAME_STARTS || k->why == MT_SAME_TIMES)
        ago(s, then->first_ns - (k->why == MT_SAME_TIMES ? first->last_ns : first->first_ns));
    if (k->why == MT_SAME_STARTS)
        mt_words_add(s, " later, in ");
    else if (k->why == MT_SAME_TIMES)
        mt_words_add(s, " when the recording of ");
    add_file(s, then);
    if (k->why == MT_SAME_PIDS || k->why == MT_SAME_HOSTS)
        mt_words_add(s, ", and both do the same work");
    else if (k->why == MT_SAME_FRAMEWORKS)
        mt_words_add(s, " of %s", mt_framework_at(b->rules, b->framework)->words);
    else if (k->why == MT_SAME_SLURM)
        mt_words_add(s, " of %.40s", b->slurm);
    else if (k->why == MT_SAME_TIMES)
        mt_words_add(s, " began");
    if (k->n_why > 1)
        mt_words_add(s, " (likewise %u more file%s)", (unsigned)(k->n_why - 1),
                     k->n_why == 2 ? "" : "s");
    mt_words_add(s, ".");
}

static bool say_groups(struct mt_same_job *j, const struct mt_same_job_work *k)
{
    struct mt_sentence s = {"", 0};
    bool folders = have_own_folders(k);
    for (uint32_t g = 0; g < k->n_groups; g++) {
        struct mt_same_job_group *out = MT_VEC_PUSH(&j->groups);
        if (out == NULL)
            return false;
        memset(out, 0, sizeof *out);
        if (!name_group(k, g, folders, out))
            return false;
    }
    for (uint32_t i = 0; i < k->n; i++)
        j->n_untold += k->file[i].group == MT_SAME_GROUPS;
    contradiction(k, &s);
    for (uint32_t g = 0; g < j->groups.n && g < GROUPS; g++)
        mt_words_add(&s, "%s%.400s",
                     g == 0                ? " Together belong: "
                     : g + 1 < j->groups.n ? "; "
                                           : "; and ",
                     j->groups.p[g].names);
    if (j->groups.n > GROUPS)
        mt_words_add(&s, "; and %u more%s", (unsigned)(j->groups.n - GROUPS),
                     j->groups.n == MT_SAME_GROUPS ? " or even more" : "");
    if (j->n_untold != 0)
        mt_words_add(&s, "; of %u more it cannot be told", (unsigned)j->n_untold);
    mt_words_add(&s, ". ");
    if (k->why != MT_SAME_FRAMEWORKS && k->why != MT_SAME_SLURM)
        mt_words_add(&s, "A job that was started again counts as two. ");
    for (uint32_t g = 0; g < j->groups.n; g++)
        if (j->groups.p[g].verdict)
            mt_words_add(&s, "The verdict is about %.400s. ", j->groups.p[g].names);
    mt_words_add(&s, "Make one report of each.");
    j->sentence = kept(&s);
    return j->sentence != NULL;
}

/* ---- what may be ---- */

/* Ranks of one job are recorded at one time. The first recording that began an hour or more after
 * all that lie before it had ended, with the last of those in *early; NULL = there is none. */
static const struct mt_same_job_file *hours_later(const struct mt_same_job_work *k,
                                                  const struct mt_same_job_file **early)
{
    const struct mt_same_job_file *first = NULL;
    for (uint32_t i = 0; i < k->in->n; i++) {
        const struct mt_same_job_file *late = &k->file[i], *last = NULL;
        bool among = late->first_ns == 0;
        for (uint32_t o = 0; o < k->in->n && !among; o++) {
            const struct mt_same_job_file *f = &k->file[o];
            if (f->first_ns == 0 || f->first_ns >= late->first_ns)
                continue;
            among = f->last_ns + HOUR > late->first_ns || (f->pid >= 0 && f->pid == late->pid);
            last = last == NULL || f->last_ns > last->last_ns ? f : last;
        }
        if (!among && last != NULL && (first == NULL || late->first_ns < first->first_ns)) {
            first = late;
            *early = last;
        }
    }
    return first;
}

static bool say_hours(struct mt_same_job *j, const struct mt_same_job_work *k)
{
    struct mt_sentence s = {"", 0};
    const struct mt_same_job_file *early = NULL, *late = hours_later(k, &early);
    if (late == NULL)
        return true;
    mt_words_add(&s, "The recording of ");
    add_file(&s, late);
    mt_words_add(&s, " began ");
    ago(&s, late->first_ns - early->last_ns);
    mt_words_add(&s, " after that of ");
    add_file(&s, early);
    mt_words_add(&s, " had ended. Whether these are two moments of one job or two jobs, the files "
                     "do not say: if they are two, make one report of each.");
    j->doubt = kept(&s);
    return j->doubt != NULL;
}

static bool say_doubt(struct mt_same_job *j, const struct mt_same_job_work *k)
{
    struct mt_sentence s = {"", 0};
    uint32_t n = 0, last = UINT32_MAX;
    for (uint32_t i = 1; i < k->in->n; i++) { /* those of one rank lie together */
        const struct mt_same_job_file *a = &k->file[i - 1], *b = &k->file[i],
                                      *early = a->first_ns <= b->first_ns ? a : b,
                                      *late = early == a ? b : a;
        if (a->rank < 0 || a->rank != b->rank || (a->work & b->work) == 0 ||
            (a->pid >= 0 && a->pid == b->pid) || mt_same_job_folder(a, b) || early->last_ns == 0 ||
            late->first_ns <= early->last_ns)
            continue;
        if (n == 0) {
            mt_words_add(&s, "Rank %d was recorded twice: in ", (int)a->rank);
            add_folder(&s, early);
            mt_words_add(&s, ", and in ");
            add_folder(&s, late);
            mt_words_add(&s, " ");
            ago(&s, late->first_ns - early->last_ns);
            mt_words_add(&s, " after that ended");
        }
        n += last != (uint32_t)a->rank;
        last = (uint32_t)a->rank;
    }
    if (n == 0)
        return say_hours(j, k);
    if (n > 1)
        mt_words_add(&s, " (so were %u more ranks)", (unsigned)(n - 1));
    mt_words_add(&s, ". Whether these are two moments of one job or two jobs, the files do not "
                     "say: if they are two, make one "
                     "report of each.");
    j->doubt = kept(&s);
    return j->doubt != NULL;
}

/* ---- which ranks are there ---- */

/* Snapshots lie in the order of their ranks, those without one after them. */
static bool has_rank(const struct mt_same_job_work *k, int32_t rank)
{
    uint32_t from = 0, to = k->in->n;
    while (from < to) {
        uint32_t at = from + (to - from) / 2;
        if (k->file[at].rank == rank)
            return true;
        if (k->file[at].rank >= 0 && k->file[at].rank < rank)
            from = at + 1;
        else
            to = at;
    }
    return false;
}

/* Memory of this process ran out. An engine's refusals count the ranks of that engine, and some are
 * about settings. */
static bool ran_out(enum mt_log_kind k)
{
    return k == MT_LOG_TORCH_OOM ||
           (k >= MT_LOG_NCCL_OOM && k <= MT_LOG_CUBLAS_OOM && k != MT_LOG_CUMEM_OOM) ||
           k == MT_LOG_HOST_OOM;
}

/* Ranks that a log says to have failed and that have no snapshot, each once, as far as they fit;
 * how many. */
static uint32_t failed_elsewhere(const struct mt_same_job_work *k, int32_t *out)
{
    const struct mt_logs *l = k->in->logs;
    uint32_t n = 0;
    for (uint32_t f = 0; l != NULL && f < l->files.n; f++)
        for (uint32_t i = 0; i < l->files.p[f].log.facts.n; i++) {
            const struct mt_log_fact *at = &l->files.p[f].log.facts.p[i];
            bool seen = false;
            if (at->rank < 0 || !ran_out(at->kind))
                continue;
            for (uint32_t o = 0; o < n && !seen; o++)
                seen = out[o] == at->rank;
            if (!seen && n < RANKS && !has_rank(k, at->rank))
                out[n++] = at->rank;
        }
    return n;
}

static bool any_failed(const struct mt_same_job_work *k)
{
    for (uint32_t i = 0; i < k->in->n; i++)
        for (uint32_t d = 0; d < k->in->analyses[i]->devices.n; d++)
            if (k->in->analyses[i]->devices.p[d].ooms.n != 0)
                return true;
    return false;
}

/* The rank that failed is the one to look at: the report is about another, because there is nothing
 * else. */
static bool say_elsewhere(struct mt_same_job *j, const struct mt_same_job_work *k)
{
    struct mt_sentence s = {"", 0};
    int32_t failed[RANKS];
    uint32_t n = failed_elsewhere(k, failed);
    if (n == 0 || k->in->n == 0 || k->in->n_drivers != 0 || any_failed(k))
        return true;
    mt_words_add(&s, "Memory ran out on rank%s ", n == 1 ? "" : "s");
    for (uint32_t i = 0; i < n; i++)
        mt_words_add(&s, "%s%d", i > 0 ? ", " : "", (int)failed[i]);
    mt_words_add(&s, "%s, says the log, and no snapshot of %s is here. What follows is about ",
                 n == RANKS ? " and perhaps more" : "", n == 1 ? "it" : "them");
    if (k->file[k->in->primary].rank >= 0)
        mt_words_add(&s, "rank %d, which did not fail: give the snapshot of the rank that did.",
                     (int)k->file[k->in->primary].rank);
    else
        mt_words_add(&s, "a file that names no rank and in which nothing failed.");
    j->elsewhere = kept(&s);
    return j->elsewhere != NULL;
}

/* Of a card that the verdict's device is not. Nothing else of the log is taken for this job's. */
static bool say_card(struct mt_same_job *j, const struct mt_same_job_work *k)
{
    struct mt_sentence s = {"", 0};
    const struct mt_device_analysis *d = NULL;
    const struct mt_analysis *a = k->in->n != 0 ? k->in->analyses[k->in->primary] : NULL;
    bool log = k->in->logs != NULL;
    uint64_t held;
    if (a != NULL && a->devices.n != 0)
        d = &a->devices.p[a->verdict.device];
    if (d == NULL || d->not_capacity == 0)
        return true;
    held = d->reserved_peak > d->reserved_end ? d->reserved_peak : d->reserved_end;
    log = log && mt_logs_capacity(k->in->logs, -1) == d->not_capacity;
    mt_words_add(&s, "%s names a card of %s, and on ",
                 log                                       ? "A log"
                 : d->not_capacity == k->in->capacity_else ? "memtrace.toml"
                                                           : "--capacity",
                 MT_BYTES(d->not_capacity));
    add_file(&s, &k->file[k->in->primary]);
    mt_words_add(&s, "'s device %d %s of PyTorch's was reserved", (int)d->ordinal, MT_BYTES(held));
    if (d->ooms.n != 0)
        mt_words_add(&s, ", with %s free when memory ran out", MT_BYTES(d->ooms.p[0].device_free));
    mt_words_add(&s, ": %s. That size is not used.",
                 log ? "they are of two jobs" : "that card is another one");
    j->card = kept(&s);
    return j->card != NULL;
}

static bool say_missing(struct mt_same_job *j, const struct mt_same_job_work *k)
{
    struct mt_sentence s = {"", 0};
    int32_t last = -1;
    double world = mt_run_world(k->in->conf);
    uint32_t n = 0, named = 0, unnamed = 0;
    for (uint32_t i = 0; i < k->in->n; i++) {
        n += k->file[i].rank >= 0 && k->file[i].rank != last;
        unnamed += k->file[i].rank < 0;
        last = k->file[i].rank >= 0 ? k->file[i].rank : last;
    }
    if (n == 0 || k->in->n_drivers != 0 || (world <= n && last < world) || world <= 0)
        return true;
    if (last >= world) {
        mt_words_add(&s,
                     "The settings name %.0f rank%s, but rank %d is here: they are of another run, "
                     "or count other ranks.",
                     world, world > 1 ? "s" : "", (int)last);
    } else {
        mt_words_add(&s, "Of the %.0f ranks of the job %u %s a snapshot here: ", world, (unsigned)n,
                     n == 1 ? "has" : "have");
        last = -1;
        for (uint32_t i = 0; i < k->in->n; i++) {
            if (k->file[i].rank < 0 || k->file[i].rank == last)
                continue;
            last = k->file[i].rank;
            if (named++ < RANKS)
                mt_words_add(&s, "%s%d", named > 1 ? ", " : "", (int)last);
        }
        mt_words_add(&s, "%s", named > RANKS ? " ..." : "");
        if (unnamed != 0)
            mt_words_add(&s, "; the names of %u more file%s say no rank", (unsigned)unnamed,
                         unnamed == 1 ? "" : "s");
        mt_words_add(&s, ". Whether the others are as full is not known.");
    }
    j->missing = kept(&s);
    return j->missing != NULL;
}

bool mt_same_job_say(struct mt_same_job *j, const struct mt_same_job_work *k)
{
    if (!say_card(j, k))
        return false;
    if (k->why != MT_SAME_ONE)
        return say_groups(j, k);
    return say_doubt(j, k) && say_elsewhere(j, k) && say_missing(j, k);
}
