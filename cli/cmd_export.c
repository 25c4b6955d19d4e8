/* cmd_export.c -- the same memory for other viewers: read every rank, keep what the format needs of
 * it, write one file. */
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/redact/redact.h"
#include "cli/rules_load.h"
#include "parser/model/driver.h"
#include "render/base/escape.h"
#include "render/export/export.h"
#include "render/view/view.h"
#include "analysis/run/analyze.h"

#include <stdlib.h>
#include <string.h>

struct job {
    const struct mt_cli *c;
    struct mt_load load;
    struct mt_rules rules;
    struct mt_export x;
    struct mt_ranks ranks;
    struct mt_driverdiag *driver;
    uint64_t n_other_rank, n_other_device;
};

static int out_of_memory(void)
{
    mt_say("out of memory; raise --max-memory");
    return 0;
}

static bool has_device(const struct mt_trace *t, int32_t ordinal)
{
    for (uint32_t i = 0; i < t->devices.n; i++)
        if (t->devices.p[i].ordinal == ordinal)
            return true;
    return false;
}

/* 1 = analyse it; 0 = not asked for. */
static int wanted(struct job *j, const struct mt_trace *t)
{
    if (j->c->rank >= 0 && t->meta.rank != j->c->rank) {
        j->n_other_rank++;
        return 0;
    }
    if (j->c->device >= 0 && !has_device(t, j->c->device)) {
        j->n_other_device++;
        return 0;
    }
    return 1;
}

static int visit(void *arg, struct mt_trace *t)
{
    struct job *j = arg;
    struct mt_analyze_opts opts = {.phases = j->rules.phases,
                                   .fixes = j->rules.fixes,
                                   .roles = j->rules.roles,
                                   .only_device = j->c->device,
                                   .framework = j->c->framework,
                                   .detail = {mt_export_device, &j->x}};
    uint32_t n_tracks = j->x.tracks.n;
    struct mt_analysis *a = NULL;
    struct mt_err err;
    char label[1024];

    if (t->driver != NULL)
        return mt_ranks_add_driver(&j->ranks, t) ? 1 : out_of_memory();
    if (!wanted(j, t)) {
        mt_trace_free(t);
        return 1;
    }
    memset(&err, 0, sizeof err);
    if (mt_analyze(&a, t, &opts, &err) < 0) {
        mt_export_cut(&j->x, n_tracks);
        mt_trace_label(t, label, sizeof label);
        mt_say_err(label, &err);
        j->load.n_read--;
        mt_trace_free(t);
        return mt_load_unread(&j->load, label, &err);
    }
    return mt_ranks_add(&j->ranks, t, a, NULL) ? 1 : out_of_memory();
}

static int make_job(struct job *j)
{
    struct mt_driverdiag_opts opts = {.phases = j->rules.phases,
                                      .overlay = j->rules.overlay,
                                      .overlay_len = j->rules.overlay_len,
                                      .overlay_name = j->c->rules_file};
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (mt_ranks_driver(&j->driver, &j->ranks, &opts, &err) >= 0)
        return 1;
    mt_say_err(j->c->inputs[0], &err);
    return 0;
}

/* Why a device has nothing in the file, and where sums contradict the curve. Returns how many have
 * something. */
static uint32_t check_track(const struct job *j, const struct mt_loaded *l,
                            const struct mt_device_analysis *d, const struct mt_export_track *t)
{
    char label[1024], held[32];
    const char *at = mt_trace_label(l->trace, label, sizeof label);
    if (j->x.to == MT_EXPORT_PERFETTO) {
        if (t->points.n == 0)
            mt_say("%s: GPU %ld has no curve: %s; '--to folded' and '--to speedscope' have the "
                   "state at the dump",
                   at, (long)d->ordinal,
                   d->withheld != NULL ? d->withheld : "no history was recorded");
        return t->points.n != 0 || d->ooms.n != 0;
    }
    for (uint32_t i = 0; i < t->moments.n; i++)
        if (t->moments.p[i].over != 0)
            mt_say("%s: GPU %ld, %s: the blocks hold %s more than the curve says; frees in this "
                   "trace contradict their "
                   "allocations",
                   at, (long)d->ordinal, t->moments.p[i].name,
                   mt_fmt_bytes(held, t->moments.p[i].over));
    if (t->moments.n != 0) {
        if (d->withheld != NULL)
            mt_say("%s: GPU %ld: the state at the dump is exported, for the curve is withheld: %s",
                   at, (long)d->ordinal, d->withheld);
        return 1;
    }
    if (d->withheld != NULL)
        mt_say("%s: GPU %ld: no state but that at the dump is known: %s; without --at that one is "
               "exported",
               at, (long)d->ordinal, d->withheld);
    else if (j->x.at == MT_EXPORT_AT_OOM)
        mt_say("%s: GPU %ld has no out-of-memory event; --at peak is its highest moment", at,
               (long)d->ordinal);
    else
        mt_say("%s: GPU %ld has no event %llu; its %llu events are counted from 0", at,
               (long)d->ordinal, (unsigned long long)j->x.event, (unsigned long long)d->n_events);
    return 0;
}

static uint32_t check_tracks(const struct job *j)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < j->ranks.list.n; i++) /* in order of reading, as the tracks are */
        for (uint32_t d = 0; d < j->ranks.list.p[i].analysis->devices.n; d++)
            n += check_track(j, &j->ranks.list.p[i], &j->ranks.list.p[i].analysis->devices.p[d],
                             &j->x.tracks.p[at++]);
    return n;
}

static int nothing(const struct job *j)
{
    if (j->load.n_read == 0)
        return 0; /* every input that cannot be read has had its message */
    if (j->n_other_rank != 0 && j->ranks.list.n == 0)
        mt_say("--rank %ld: no snapshot is of that rank; 'memtrace info' lists the ranks",
               (long)j->c->rank);
    else if (j->n_other_device != 0 && j->ranks.list.n == 0)
        mt_say("--device %ld: no snapshot has that GPU; 'memtrace info' lists the ones there are",
               (long)j->c->device);
    else if (j->ranks.list.n == 0 && j->ranks.drivers.n != 0)
        mt_say("%s holds driver calls and no snapshot: stacks are of PyTorch's allocator; '--to "
               "perfetto' shows what the driver "
               "did",
               j->c->inputs[0]);
    else
        mt_say("nothing to export");
    return 0;
}

static enum mt_exit write_file(struct job *j)
{
    struct mt_report r;
    struct mt_rank *ranks = mt_calloc((size_t)j->ranks.list.n + 1, sizeof *ranks);
    struct mt_output out;
    enum mt_exit status = MT_EXIT_FAILED;
    memset(&r, 0, sizeof r);
    if (ranks == NULL) {
        out_of_memory();
        return status;
    }
    mt_ranks_sort(&j->ranks);
    for (uint32_t i = 0; i < j->ranks.list.n; i++) {
        ranks[i].trace = j->ranks.list.p[i].trace;
        ranks[i].analysis = j->ranks.list.p[i].analysis;
    }
    r.ranks = ranks;
    r.n_ranks = j->ranks.list.n;
    r.driver = j->driver;
    r.title = j->c->title;
    r.version = MEMTRACE_VERSION;
    if (mt_output_open(&out, j->c->output, j->c->force)) {
        mt_render_export(&j->x, &r, &out.out);
        status = mt_output_commit(&out, j->c->force);
        if (status == MT_EXIT_OK)
            status = mt_load_status(&j->load);
    }
    mt_free(ranks);
    return status;
}

/* --at: 1 = understood. */
static int parse_at(struct mt_export *x, const char *at)
{
    x->at = MT_EXPORT_AT_DEFAULT;
    if (at == NULL)
        return 1;
    if (strcmp(at, "peak") == 0) {
        x->at = MT_EXPORT_AT_PEAK;
    } else if (strcmp(at, "oom") == 0) {
        x->at = MT_EXPORT_AT_OOM;
    } else {
        x->at = MT_EXPORT_AT_EVENT;
        if (!mt_parse_count(at, &x->event)) {
            mt_say("--at: '%s' is none of peak, oom, or the number of an event, as 'memtrace dump' "
                   "counts them",
                   at);
            return 0;
        }
    }
    if (x->to == MT_EXPORT_PERFETTO) {
        mt_say("--at: --to perfetto shows the whole run; --at goes with speedscope and folded");
        return 0;
    }
    return 1;
}

enum mt_exit mt_cmd_export(const struct mt_cli *c)
{
    struct job j;
    struct mt_redact *redact = NULL;
    struct mt_cli shown = *c;
    enum mt_exit status = MT_EXIT_FAILED;

    memset(&j, 0, sizeof j);
    j.c = c;
    j.x.to = (enum mt_export_to)c->to;
    if (!parse_at(&j.x, c->at))
        return MT_EXIT_USAGE;
    if (!mt_output_check(c->output, c->force, c->inputs, c->n_inputs) ||
        !mt_rules_load(&j.rules, c) || !mt_redact_open(&redact, c))
        goto out;
    j.load.redact = redact;
    mt_load_inputs(&j.load, c, visit, &j);
    if (j.load.failed || (j.ranks.drivers.n != 0 && !make_job(&j)))
        goto out;
    if (check_tracks(&j) == 0 && (j.x.to != MT_EXPORT_PERFETTO || j.driver == NULL)) {
        (void)nothing(&j);
        goto out;
    }
    if (redact != NULL && !mt_redact_cli(redact, &shown)) {
        out_of_memory();
        goto out;
    }
    j.c = &shown;
    status = write_file(&j);
out:
    mt_driverdiag_free(j.driver);
    mt_ranks_done(&j.ranks);
    mt_export_done(&j.x);
    mt_load_done(&j.load);
    mt_rules_done(&j.rules);
    mt_redact_close(redact);
    return status;
}
