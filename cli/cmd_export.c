/* cmd_export.c -- the same memory for other viewers: read every rank, keep what the format needs of
 * it, write one file. */
#include "analysis/run/diagnose.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/redaction.h"
#include "cli/rules_load.h"
#include "render/base/escape.h"
#include "render/export/export.h"

#include <stdlib.h>
#include <string.h>

struct job {
    const struct mt_cli *c;
    struct mt_load load;
    struct mt_cli_rules rules;
    struct mt_export x;
    struct mt_diagnosis *diagnosis;
    uint64_t n_other_rank, n_other_device;
};

static int visit(void *arg, struct mt_trace *t)
{
    struct job *j = arg;
    struct mt_detail_hook detail = {mt_export_device, &j->x};
    uint32_t n_tracks = j->x.tracks.n;
    struct mt_err err;
    enum mt_rc rc;
    char label[1024];

    if (t->driver == NULL && j->c->rank >= 0 &&
        (t->meta.rank >= 0 ? t->meta.rank : t->meta.name_number) != j->c->rank) {
        j->n_other_rank++;
        mt_trace_free(t);
        return 1;
    }
    memset(&err, 0, sizeof err);
    mt_trace_label(t, label, sizeof label);
    rc = mt_diagnosis_add(j->diagnosis, t, &detail, &err);
    j->n_other_device += rc == MT_WARN;
    if (rc >= 0)
        return 1;
    mt_export_cut(&j->x, n_tracks);
    mt_say_err(label, &err);
    j->load.n_read--;
    return mt_load_unread(&j->load, label, &err);
}

/* Reads all inputs. 0 after a message. */
static int diagnose(struct job *j)
{
    struct mt_diagnose_opts o = {
        .rules = &j->rules.rules, .framework = j->rules.framework, .only_device = j->c->device};
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (mt_diagnosis_new(&j->diagnosis, &o, &err) >= 0) {
        mt_load_inputs(&j->load, j->c, visit, j);
        if (j->load.failed)
            return 0;
        if (mt_diagnosis_finish(j->diagnosis, &err) >= 0)
            return 1;
    }
    mt_say_err(NULL, &err);
    return 0;
}

/* Why a device has nothing in the file, and where sums contradict the curve. Returns how many have
 * something. */
static uint32_t check_track(const struct job *j, const struct mt_device_analysis *d,
                            const struct mt_export_track *t)
{
    char label[1024], held[32];
    const char *at = mt_trace_label(t->trace, label, sizeof label);
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

/* In the order of reading, which is that of the tracks. */
static uint32_t check_tracks(const struct job *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->x.tracks.n; i++) {
        const struct mt_export_track *t = &j->x.tracks.p[i];
        for (uint32_t k = 0; k < j->diagnosis->ranks.n; k++) {
            const struct mt_rank *r = &j->diagnosis->ranks.p[k];
            for (uint32_t d = 0; r->trace == t->trace && d < r->analysis->devices.n; d++)
                if (r->analysis->devices.p[d].device == t->device)
                    n += check_track(j, &r->analysis->devices.p[d], t);
        }
    }
    return n;
}

static int nothing(const struct job *j)
{
    if (j->load.n_read == 0)
        return 0; /* every input that cannot be read has had its message */
    if (j->n_other_rank != 0 && j->diagnosis->ranks.n == 0)
        mt_say("--rank %ld: no snapshot is of that rank; 'memtrace info' lists the ranks",
               (long)j->c->rank);
    else if (j->n_other_device != 0 && j->diagnosis->ranks.n == 0)
        mt_say("--device %ld: no snapshot has that GPU; 'memtrace info' lists the ones there are",
               (long)j->c->device);
    else if (j->diagnosis->ranks.n == 0 && j->diagnosis->drivers.n != 0)
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
    struct mt_report r = {
        .diagnosis = j->diagnosis, .title = j->c->title, .version = MEMTRACE_VERSION};
    struct mt_output out;
    enum mt_exit status = MT_EXIT_FAILED;
    if (!mt_output_open(&out, j->c->output, j->c->force))
        return status;
    mt_render_export(&j->x, &r, &out.out);
    status = mt_output_commit(&out, j->c->force);
    return status == MT_EXIT_OK ? mt_load_status(&j->load) : status;
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
    if (!mt_output_check(c->output, c->force, c->inputs, c->n_inputs))
        goto out;
    status = mt_cli_rules_load(&j.rules, c);
    if (status != MT_EXIT_OK)
        goto out;
    status = MT_EXIT_FAILED;
    if (!mt_redact_open(&redact, c, j.rules.rules.frameworks))
        goto out;
    j.load.redact = redact;
    if (!diagnose(&j))
        goto out;
    if (check_tracks(&j) == 0 && (j.x.to != MT_EXPORT_PERFETTO || j.diagnosis->driver == NULL)) {
        (void)nothing(&j);
        goto out;
    }
    if (redact != NULL && !mt_redact_cli(redact, &shown)) {
        mt_say("out of memory; raise --max-memory");
        goto out;
    }
    j.c = &shown;
    status = write_file(&j);
out:
    mt_diagnosis_free(j.diagnosis);
    mt_export_done(&j.x);
    mt_load_done(&j.load);
    mt_cli_rules_done(&j.rules);
    mt_redact_close(redact);
    return status;
}
