/* collect.c -- makes one trace of what the processes of a capture left in the spool directory.
 *
 * Order in the trace: the launcher's chunk, then each process (by host, start, pid): its finished
 * members as they are, what was left in its spool, what is known about its end and the names of its
 * frames; then the attached files; then a LAUNCH chunk about the end. A process that still runs is
 * copied as far as it is: its spool is read before its .gz, so a chunk that moves meanwhile is seen
 * twice, never lost. Keys of the LAUNCH chunks: version, host, start_realtime_ns, argv.N,
 * setting.NAME (by the launcher); end_realtime_ns, status or signal, processes, running,
 * nothing_recorded (by the collector). */
#include "capture/collect_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one process ---- */

/* Whether the spool has the longer copy of this chunk. */
static bool spool_has_more(struct mt_spool *s, const struct mt_chunk *c)
{
    for (uint32_t i = 0; i < s->slots.n; i++) {
        struct mt_slot *slot = &s->slots.p[i];
        if (slot->chunk.kind != c->kind || slot->chunk.seq != c->seq ||
            slot->chunk.realtime != c->realtime)
            continue;
        if (slot->chunk.used > c->used)
            return true;
        slot->taken = true;
    }
    return false;
}

/* Opens "<stem><rest>" of the spool directory. *fd -1 = there is none; one that `must` be there and
 * cannot be read is an error. */
static enum mt_rc open_part(struct mt_collect_job *j, const struct mt_found *f, const char *rest,
                            bool must, int *fd)
{
    char *path = mt_text("%s/%s%s", j->o->dir, f->stem, rest);
    enum mt_rc rc = MT_OK;
    *fd = -1;
    if (path == NULL)
        return mt_collect_no_memory(j);
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0 && (must ? errno != ENOENT : !mt_is_absent(errno)))
        rc = mt_fail(j->err, MT_EIO, "%s: %s", path, strerror(errno));
    mt_free(path);
    return rc;
}

/* The members of an open file, but chunks below *first, which were let go; a checkpoint says which
 * these are. Closes fd. */
static enum mt_rc copy_members(struct mt_collect_job *j, const struct mt_found *f, int fd,
                               struct mt_spool *spool, uint64_t *first, struct mt_tally *t)
{
    struct mt_members m;
    struct mt_member one;
    enum mt_rc rc = MT_OK;

    if (!mt_members_open(&m, fd)) {
        (void)close(fd);
        return mt_collect_no_memory(j);
    }
    while (j->out.error == 0 && mt_members_next(&m, &one)) {
        bool gone = one.chunk.kind == MT_WK_PROCESS && one.chunk.seq < *first;
        if (mt_checkpoint_first(&one.chunk) > *first)
            *first = mt_checkpoint_first(&one.chunk);
        if (!gone && !spool_has_more(spool, &one.chunk)) {
            mt_trace_out_raw(&j->out, one.gz, one.n_gz);
            if (one.chunk.uid == f->uid)
                mt_tally_chunk(t, &one.chunk);
        }
        if (!mt_collect_go_on(j, f->stem, one.n_gz))
            break;
    }
    /* The last member of a killed process may be cut: the chunk is still in its spool. */
    if (m.n_bad > 0 && !(m.cut && m.n_bad == 1)) {
        j->c->n_damaged += m.n_bad;
        j->c->damaged_bytes += m.bad_bytes;
    }
    if (m.error != 0)
        rc = mt_collect_unread(j, f->stem, m.error);
    mt_members_done(&m);
    (void)close(fd);
    return rc;
}

/* The files of a process. Chunks move from the spool into the numbered files and from there into
 * the checkpoint: who follows them that way sees each at least once. So the numbered files are
 * listed after the spool was read -- in a job that runs there are others by now than when the
 * folder was -- and opened before the checkpoint is read. */
static enum mt_rc copy_files(struct mt_collect_job *j, struct mt_found *f, struct mt_spool *spool,
                             struct mt_tally *t)
{
    static const char *const whole[] = {".base.gz", ".gz"};
    int error = mt_scan_numbers(f, j->o->dir);
    int *fd = error == 0 ? mt_calloc((size_t)f->numbers.n + 1, sizeof *fd) : NULL;
    enum mt_rc rc = fd != NULL ? MT_OK : mt_collect_unread(j, f->stem, error != 0 ? error : ENOMEM);
    uint64_t first = 0;
    uint32_t n = 0, i = 0;

    for (; rc == MT_OK && n < f->numbers.n; n++) {
        char rest[32];
        snprintf(rest, sizeof rest, ".%llu.gz", (unsigned long long)f->numbers.p[n]);
        rc = open_part(j, f, rest, true, &fd[n]);
    }
    for (size_t k = 0; rc == MT_OK && k < sizeof whole / sizeof *whole; k++) {
        int one;
        rc = open_part(j, f, whole[k], k == 0 || f->has_gz, &one);
        if (rc == MT_OK && one >= 0)
            rc = copy_members(j, f, one, spool, &first, t);
    }
    for (; rc == MT_OK && i < n && !j->stopped; i++)
        if (fd[i] >= 0)
            rc = copy_members(j, f, fd[i], spool, &first, t);
    for (; i < n; i++)
        if (fd[i] >= 0)
            (void)close(fd[i]);
    mt_free(fd);
    return rc;
}

static void copy_slots(struct mt_collect_job *j, const struct mt_found *f, const struct mt_spool *s,
                       struct mt_tally *t)
{
    for (uint32_t i = 0; i < s->slots.n; i++) {
        const struct mt_slot *slot = &s->slots.p[i];
        if (slot->taken || (i > 0 && s->slots.p[i - 1].chunk.kind == slot->chunk.kind &&
                            s->slots.p[i - 1].chunk.seq == slot->chunk.seq))
            continue;
        mt_trace_out_chunk(&j->out, slot->p, false);
        mt_tally_chunk(t, &slot->chunk);
    }
    j->c->n_damaged += s->n_bad + (s->there && !s->whole_header && !s->running);
    if (s->dropped > t->dropped)
        t->dropped = s->dropped;
    (void)mt_collect_go_on(j, f->stem, 0);
}

static int by_key(const void *a, const void *b)
{
    const struct mt_cell *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static bool add_symbols(struct mt_collect_job *j, struct mt_tally *t, struct mt_chunk_out *out)
{
    struct mt_cell *frames;
    uint32_t n = 0;
    if (j->symbols == NULL || t->frames.n == 0)
        return true;
    frames = mt_malloc(t->frames.n * sizeof *frames);
    if (frames == NULL)
        return false;
    for (uint32_t i = 0; i < t->frames.cap; i++)
        if (t->frames.cell[i].used)
            frames[n++] = t->frames.cell[i];
    qsort(frames, n, sizeof *frames, by_key);
    for (uint32_t i = 0; i < n && mt_collect_go_on(j, "symbols", 0); i++) {
        const struct mt_tally_module *m =
            frames[i].a <= t->modules.n ? &t->modules.p[frames[i].a - 1] : NULL;
        const char *name = m != NULL ? mt_symbols_find(j->symbols, m, frames[i].b) : NULL;
        struct mt_payload p = {.n = 0};
        if (name == NULL)
            continue;
        mt_pay_u(&p, frames[i].a);
        mt_pay_u(&p, frames[i].b);
        mt_pay_str(&p, name, strlen(name));
        mt_pay_str(&p, "", 0);
        mt_pay_u(&p, 0);
        mt_chunk_out_record(out, MT_WR_SYMBOL, &p);
    }
    mt_free(frames);
    return true;
}

static void add_end(struct mt_chunk_out *out, uint64_t at, enum mt_wire_end how, int value)
{
    struct mt_payload p;
    mt_chunk_out_timed(out, &p, at);
    mt_pay_u(&p, how);
    mt_pay_s(&p, value);
    mt_chunk_out_record(out, MT_WR_END, &p);
}

/* What is known only afterwards: how it ended, which functions its stacks name, what CUPTI had not
 * handed back. */
static enum mt_rc add_afterwards(struct mt_collect_job *j, const struct mt_found *f,
                                 struct mt_spool *s, struct mt_tally *t, bool is_command)
{
    struct mt_chunk_out out;
    uint64_t at = t->last_monotonic;
    bool ok;

    if (t->chunks == 0)
        return MT_OK;
    mt_chunk_out_init(&out, &j->out, f->uid, MT_WK_COLLECT, f->pid);
    out.realtime = t->realtime;
    out.monotonic = t->monotonic;
    if (s->running) {
        add_end(&out, at, MT_WE_RUNNING, 0);
    } else if (is_command) {
        /* the launcher saw it end, later than its last record */
        if (j->o->end_ns > t->last_realtime)
            at = t->monotonic + (j->o->end_ns - t->realtime);
        add_end(&out, at, j->o->sig != 0 ? MT_WE_SIGNAL : MT_WE_STATUS,
                j->o->sig != 0 ? j->o->sig : j->o->status);
    } else if (!t->ended) {
        add_end(&out, at, MT_WE_GONE, 0);
    }
    if (!s->running)
        (void)mt_spool_activity(s, &out);
    ok = add_symbols(j, t, &out);
    mt_chunk_out_done(&out);
    return ok ? MT_OK : mt_collect_no_memory(j);
}

static enum mt_rc summarise(struct mt_collect_job *j, const struct mt_found *f,
                            const struct mt_spool *s, const struct mt_tally *t, uint64_t bytes)
{
    struct mt_collected *p = MT_VEC_PUSH(&j->c->processes);
    if (p == NULL)
        return mt_collect_no_memory(j);
    p->uid = f->uid;
    p->pid = f->pid;
    p->name = mt_tally_name(t);
    p->host = mt_strndup(f->host, strlen(f->host));
    p->device = mt_tally_devices(t);
    p->calls = t->calls;
    p->ranges = t->ranges;
    p->peak = t->peak;
    p->bytes = bytes;
    p->missing = t->missing;
    p->dropped = t->dropped > t->losses[MT_LO_RECORDS] ? t->dropped : t->losses[MT_LO_RECORDS];
    p->rank = t->rank;
    p->order = j->c->processes.n;
    p->running = s->running;
    p->has_cuda = t->has_cuda;
    p->problem = mt_why_process(t);
    j->c->n_running += s->running;
    return p->host != NULL && p->device != NULL ? MT_OK : mt_collect_no_memory(j);
}

static enum mt_rc one_process(struct mt_collect_job *j, uint32_t i, bool is_command)
{
    struct mt_found *f = &j->scan.processes.p[i];
    struct mt_tally *t = &j->tallies[i];
    uint64_t before = j->out.bytes;
    struct mt_spool spool;
    char *path = mt_text("%s/%s.spool", j->o->dir, f->stem);
    enum mt_rc rc;

    if (path == NULL || !mt_spool_read(&spool, path)) {
        mt_free(path);
        return mt_collect_no_memory(j);
    }
    mt_free(path);
    if (spool.whole_header && spool.uid != f->uid) { /* renamed, or another file in its place */
        j->c->n_damaged++;
        mt_spool_done(&spool);
    }
    rc = copy_files(j, f, &spool, t);
    if (rc == MT_OK && !j->stopped) {
        copy_slots(j, f, &spool, t);
        if (t->last_realtime > j->last_ns)
            j->last_ns = t->last_realtime;
        rc = add_afterwards(j, f, &spool, t, is_command);
    }
    if (rc == MT_OK && spool.error != 0)
        rc = mt_collect_unread(j, f->stem, spool.error);
    if (rc == MT_OK)
        rc = summarise(j, f, &spool, t, j->out.bytes - before);
    mt_spool_done(&spool);
    mt_table_done(&t->frames);
    mt_table_done(&t->blocks);
    mt_table_done(&t->handles);
    mt_table_done(&t->maps);
    return rc;
}

/* ---- the launcher's chunks ---- */

static enum mt_rc copy_launch(struct mt_collect_job *j)
{
    char *path = mt_path_join(j->o->dir, MT_LAUNCH_FILE);
    struct mt_members m;
    struct mt_member one;
    enum mt_rc rc = MT_OK;
    int fd, error;

    if (path == NULL)
        return mt_collect_no_memory(j);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    error = errno;
    mt_free(path);
    if (fd < 0)
        return mt_is_absent(error) ? MT_OK : mt_collect_unread(j, MT_LAUNCH_FILE, error);
    if (!mt_members_open(&m, fd)) {
        (void)close(fd);
        return mt_collect_no_memory(j);
    }
    while (mt_members_next(&m, &one)) {
        if (one.chunk.kind != MT_WK_LAUNCH)
            continue;
        mt_trace_out_raw(&j->out, one.gz, one.n_gz);
        j->launch_seq = one.chunk.seq + 1;
        j->last_ns = one.chunk.realtime;
    }
    j->c->n_damaged += m.n_bad;
    if (m.error != 0)
        rc = mt_collect_unread(j, MT_LAUNCH_FILE, m.error);
    mt_members_done(&m);
    (void)close(fd);
    return rc;
}

static void add_launch_end(struct mt_collect_job *j)
{
    struct mt_chunk_out out;
    mt_chunk_out_init(&out, &j->out, 0, MT_WK_LAUNCH, (uint32_t)getpid());
    out.seq = j->launch_seq;
    out.realtime = j->o->end_ns != 0 ? j->o->end_ns : j->last_ns;
    if (j->o->end_ns == 0)
        out.pid = 0; /* who collects has no say in what is written */
    mt_chunk_out_number(&out, "processes", j->c->processes.n);
    mt_chunk_out_number(&out, "running", j->c->n_running);
    if (j->o->end_ns != 0)
        mt_chunk_out_number(&out, "end_realtime_ns", j->o->end_ns);
    if (j->o->cgroup.limit != 0)
        mt_chunk_out_number(&out, "cgroup.limit_bytes", j->o->cgroup.limit);
    if (j->o->cgroup.peak != 0)
        mt_chunk_out_number(&out, "cgroup.peak_bytes", j->o->cgroup.peak);
    if (j->o->cgroup.kills != 0)
        mt_chunk_out_number(&out, "cgroup.oom_kills", j->o->cgroup.kills);
    if (j->o->sig != 0)
        mt_chunk_out_number(&out, "signal", (uint64_t)j->o->sig);
    else if (j->o->status >= 0)
        mt_chunk_out_number(&out, "status", (uint64_t)j->o->status);
    if (j->c->why_nothing != NULL)
        mt_chunk_out_attr(&out, "nothing_recorded", j->c->why_nothing);
    mt_chunk_out_done(&out);
}

static bool is_empty(const struct mt_collection *c)
{
    for (uint32_t i = 0; i < c->processes.n; i++)
        if (c->processes.p[i].calls > 0 || c->processes.p[i].ranges > 0)
            return false;
    return true;
}

static bool any_cuda(const struct mt_collection *c)
{
    for (uint32_t i = 0; i < c->processes.n; i++)
        if (c->processes.p[i].calls > 0)
            return true;
    return false;
}

static bool is_lossless(const struct mt_collection *c)
{
    for (uint32_t i = 0; i < c->processes.n; i++)
        if (c->processes.p[i].missing > 0 || c->processes.p[i].dropped > 0)
            return false;
    return c->n_damaged == 0;
}

/* Names of files have '_' for what a name of a file should not have, and "host" for a host that has
 * no name they can hold. */
static bool is_this_host(const char *host)
{
    char name[256];
    size_t i = 0;
    if (gethostname(name, sizeof name) != 0 || name[0] == '\0' || strcmp(host, "host") == 0)
        return true;
    name[sizeof name - 1] = '\0';
    while (host[i] != '\0' && (host[i] == name[i] || (host[i] == '_' && name[i] != '\0')))
        i++;
    return host[i] == '\0' && name[i] == '\0';
}

/* The process that was the command; UINT32_MAX = it recorded nothing. Other hosts have the same
 * numbers. */
static uint32_t find_command(const struct mt_collect_job *j)
{
    const struct mt_collect_opts *o = j->o;
    uint32_t command = UINT32_MAX;
    if (o->pid == 0 || (o->status < 0 && o->sig == 0))
        return command;
    /* exec keeps the pid: the last image is the one that ended */
    for (uint32_t i = 0; i < j->scan.processes.n; i++) {
        const struct mt_found *f = &j->scan.processes.p[i];
        if (f->pid == o->pid && is_this_host(f->host) &&
            (command == UINT32_MAX || f->start >= j->scan.processes.p[command].start))
            command = i;
    }
    return command;
}

static enum mt_rc everything(struct mt_collect_job *j)
{
    const struct mt_collect_opts *o = j->o;
    uint32_t command = find_command(j);
    enum mt_rc rc = copy_launch(j);

    for (uint32_t i = 0; rc == MT_OK && i < j->scan.processes.n && !j->stopped; i++)
        rc = one_process(j, i, i == command);
    if (rc == MT_OK)
        rc = mt_collect_files(j);
    if (rc == MT_OK && is_empty(j->c))
        j->c->why_nothing = mt_why_nothing(j->tallies, j->scan.processes.n, o);
    else if (rc == MT_OK && !any_cuda(j->c))
        j->c->hint = mt_why_no_gpu(o->argv);
    if (rc == MT_OK)
        add_launch_end(j);
    if (rc == MT_OK && j->stopped)
        rc = mt_fail(j->err, MT_EIO, "stopped before the trace was written");
    return rc;
}

/* For who reads the summary: those without a rank first, as a driver is, then rank by rank;
 * otherwise as they were. */
static int by_rank(const void *a, const void *b)
{
    const struct mt_collected *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

enum mt_rc mt_collect(struct mt_collection *out, const struct mt_collect_opts *o,
                      struct mt_err *err)
{
    struct mt_collect_job j;
    enum mt_rc rc;

    memset(out, 0, sizeof *out);
    memset(&j, 0, sizeof j);
    j.o = o;
    j.c = out;
    j.err = err;
    j.out.fd = -1;
    /* before the look at the files: who begins meanwhile was alive */
    out->n_waiting = mt_scan_waiting(o->dir);
    rc = mt_scan_dir(&j.scan, o->dir, err);
    if (rc != MT_OK)
        return rc;
    if (!j.scan.has_launch && j.scan.processes.n + j.scan.files.n == 0) {
        char shown[300];
        return mt_fail(err, MT_EINPUT,
                       "%s: there is no recording in this folder; give the spool directory that "
                       "'memtrace capture' printed",
                       mt_printable(shown, sizeof shown, o->dir, strlen(o->dir)));
    }
    j.tallies = mt_calloc((size_t)j.scan.processes.n + 1, sizeof *j.tallies);
    for (uint32_t i = 0; j.tallies != NULL && i < j.scan.processes.n; i++)
        mt_tally_init(&j.tallies[i]);
    if (o->symbols)
        j.symbols = mt_symbols_new();
    rc = j.tallies != NULL ? mt_trace_out_open(&j.out, o->output, o->force, err)
                           : mt_collect_no_memory(&j);
    if (rc == MT_OK)
        rc = everything(&j);
    if (rc == MT_OK) {
        out->out_bytes = j.out.bytes;
        rc = mt_trace_out_commit(&j.out, &out->path, err);
    }
    mt_trace_out_discard(&j.out);
    if (out->processes.n > 1)
        qsort(out->processes.p, out->processes.n, sizeof *out->processes.p, by_rank);
    out->spool_kept = rc != MT_OK || o->keep || out->n_running > 0 || out->n_waiting > 0;
    if (!out->spool_kept)
        mt_scan_remove(o->dir);
    for (uint32_t i = 0; j.tallies != NULL && i < j.scan.processes.n; i++)
        mt_tally_done(&j.tallies[i]);
    mt_free(j.tallies);
    mt_symbols_free(j.symbols);
    mt_scan_done(&j.scan);
    return rc == MT_OK && !is_lossless(out) ? MT_WARN : rc;
}

void mt_collection_done(struct mt_collection *c)
{
    for (uint32_t i = 0; i < c->processes.n; i++) {
        mt_free(c->processes.p[i].name);
        mt_free(c->processes.p[i].host);
        mt_free(c->processes.p[i].device);
        mt_free(c->processes.p[i].problem);
    }
    MT_VEC_DONE(&c->processes);
    mt_free(c->why_nothing);
    mt_free(c->hint);
    mt_free(c->path);
    memset(c, 0, sizeof *c);
}
