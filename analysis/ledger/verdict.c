/* What the driver saw, in one sentence, and the numbers behind it. */
#include "analysis/ledger/impl.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <stdlib.h>

#define MIN_PINNED (UINT64_C(1) << 30)

/* "GPU 1 of node7" of "GPU 1 of node7 (NVIDIA H100, 80.00 GiB)" */
static int short_name(const struct mt_ledger *l)
{
    const char *end = strstr(l->name, " (");
    return end != NULL ? (int)(end - l->name) : (int)strlen(l->name);
}

static void add_who(struct mt_sentence *s, const struct mt_driverdiag *j, uint32_t driver,
                    uint32_t process)
{
    const struct mt_trace *t = j->drivers.p[driver];
    const struct mt_process *p = &t->driver->processes.p[process];
    const char *name = mt_str(t, p->name);
    if (p->rank >= 0)
        mt_words_add(s, "rank %d (%.120s%spid %u)", (int)p->rank, name, name[0] != '\0' ? ", " : "",
                     (unsigned)p->pid);
    else if (name[0] != '\0')
        mt_words_add(s, "%.120s (pid %u)", name, (unsigned)p->pid);
    else
        mt_words_add(s, "the process with pid %u", (unsigned)p->pid);
}

static void capital(struct mt_sentence *s)
{
    if (s->buf[0] >= 'a' && s->buf[0] <= 'z' &&
        (strncmp(s->buf, "rank ", 5) == 0 || strncmp(s->buf, "the ", 4) == 0))
        s->buf[0] = (char)(s->buf[0] - 'a' + 'A');
}

static const char *verb(enum mt_holder h)
{
    return h == MT_HOLD_TORCH || h == MT_HOLD_NCCL ? " holds" : " hold";
}

/* "PyTorch holds 41.20 GiB, engine pools 30.10 GiB, ..." largest first; what is small goes into one
 * figure. */
static void holders(struct mt_sentence *s, const struct mt_ledger *l,
                    const uint64_t held[MT_HOLD_COUNT])
{
    bool told[MT_HOLD_COUNT] = {false};
    uint64_t rest = 0, total = 0;
    unsigned n = 0;
    char b[32];
    for (int h = 0; h < MT_HOLD_COUNT; h++)
        total += held[h];
    for (;;) {
        int best = -1;
        for (int h = 0; h < MT_HOLD_COUNT; h++)
            if (!told[h] && held[h] != 0 && (best < 0 || held[h] > held[best]))
                best = h;
        if (best < 0)
            break;
        told[best] = true;
        if (n >= 5 || (n != 0 && held[best] < total / 50)) {
            rest += held[best];
            continue;
        }
        mt_words_add(s, "%s%s%s %s", n == 0 ? "" : ", ",
                     mt_ledger_holder_words(l, (enum mt_holder)best),
                     n == 0 && best != MT_HOLD_UNEXPLAINED ? verb((enum mt_holder)best) : "",
                     mt_words_bytes(b, held[best]));
        if (best == MT_HOLD_UNEXPLAINED && l != NULL && l->records_lost)
            mt_words_add(s, " (records are lost)");
        n++;
    }
    if (rest != 0)
        mt_words_add(s, ", everything else %s", mt_words_bytes(b, rest));
}

static void phase_words(struct mt_sentence *s, const struct mt_driver_oom *o,
                        const struct mt_trace *t)
{
    if (o->phase == MT_PH_UNATTRIBUTED && o->sub == MT_PH_NONE)
        return;
    mt_words_add(s, " during %s", MT_PHASE_WORDS(o->phase, o->sub));
    if (o->phase_mark != 0 && strcmp(mt_str(t, o->phase_mark), mt_phase_id(o->phase)) != 0 &&
        strcmp(mt_str(t, o->phase_mark), mt_phase_words(o->phase)) != 0)
        mt_words_add(s, " (%.60s)", mt_str(t, o->phase_mark));
}

/* What the device that was asked had. */
static void device_words(struct mt_sentence *s, const struct mt_driver_oom *o,
                         const struct mt_ledger *l)
{
    char b1[32], b2[32];
    if (o->free != 0 && l != NULL && l->capacity != 0)
        mt_words_add(s, " and the device had %s free of %s", mt_words_bytes(b1, o->free),
                     mt_words_bytes(b2, l->capacity));
    else if (o->free != 0)
        mt_words_add(s, " and the device had %s free", mt_words_bytes(b1, o->free));
    else if (l != NULL && l->capacity != 0)
        mt_words_add(s, " of a device of %s", mt_words_bytes(b2, l->capacity));
}

/* "31 min" */
static const char *span_words(char buf[32], uint64_t ns)
{
    double s = (double)ns / 1e9;
    if (s < 120)
        (void)snprintf(buf, 32, "%.1f s", s);
    else if (s < 7200)
        (void)snprintf(buf, 32, "%.0f min", s / 60);
    else
        (void)snprintf(buf, 32, "%.1f h", s / 3600);
    return buf;
}

/* What of the recording was there when the failure came. */
static void add_kept(struct mt_sentence *s, const struct mt_driver_oom *o,
                     const struct mt_ledger *l)
{
    char b[32];
    if (l == NULL || l->whole_ns == 0)
        return;
    if (o->time_ns >= l->whole_ns)
        mt_words_add(s, " What is older than %s before the failure was let go.",
                     span_words(b, o->time_ns - l->whole_ns));
    else
        mt_words_add(s,
                     " Who held memory then is no longer known: the recording was kept from %s "
                     "later on.",
                     span_words(b, l->whole_ns - o->time_ns));
}

static void oom_sentence(const struct mt_books *b, const struct mt_driver_oom *o,
                         struct mt_sentence *s)
{
    const struct mt_driverdiag *j = b->driver;
    const struct mt_trace *t = j->drivers.p[o->driver];
    const struct mt_ledger *l = o->ledger < j->ledgers.n ? &j->ledgers.p[o->ledger] : NULL;
    char b1[32];
    uint64_t any = 0;
    add_who(s, j, o->driver, o->process);
    capital(s);
    if (l != NULL && !o->is_host)
        mt_words_add(s, " on %.*s", short_name(l), l->name);
    mt_words_add(s, " ran out of %s memory", o->is_host ? "pinned host" : "GPU");
    phase_words(s, o, t);
    mt_words_add(s, ": %s",
                 o->who == MT_HOLD_UNKNOWN   ? "it"
                 : o->who == MT_HOLD_LIBRARY ? ""
                                             : mt_holder_words(o->who));
    if (o->library != NULL)
        mt_words_add(s, o->who == MT_HOLD_LIBRARY ? "%.80s" : " (%.80s)", o->library);
    mt_words_add(s, o->request != 0 ? " asked the driver for %s" : " called the driver for memory",
                 mt_words_bytes(b1, o->request));
    if (o->in_wake)
        mt_words_add(s, " while waking up");
    if (o->is_host) {
        if (o->pinned != 0)
            mt_words_add(s, " and had %s of host memory pinned", mt_words_bytes(b1, o->pinned));
    } else
        device_words(s, o, l);
    for (int h = 0; h < MT_HOLD_COUNT; h++)
        any += o->held[h];
    if (!o->is_host && any != 0) {
        mt_words_add(s, ": ");
        holders(s, l, o->held);
    }
    mt_words_add(s, ".");
}

static void add_sums(struct mt_sentence *s, const struct mt_ledger *l)
{
    char b1[32], b2[32], b3[32], b4[32];
    uint64_t other = 0;
    for (uint32_t i = 0; i < l->rows.n; i++)
        if (l->rows.p[i].holder == MT_HOLD_OTHER)
            other += (uint64_t)l->rows.p[i].bytes;
    if (l->focus_used == 0) {
        mt_words_add(s,
                     "Recorded calls account for %s; the device's own figure was not "
                     "sampled.",
                     mt_words_bytes(b1, l->focus_named));
        return;
    }
    (void)mt_words_bytes(b3, l->focus_unexplained < 0 ? (uint64_t)0 - (uint64_t)l->focus_unexplained
                                                      : (uint64_t)l->focus_unexplained);
    mt_words_add(s, "Device used %s = %s by recorded calls + %s of other processes %s %s %s.",
                 mt_words_bytes(b1, l->focus_used), mt_words_bytes(b2, l->focus_named),
                 mt_words_bytes(b4, other), l->focus_unexplained < 0 ? "-" : "+", b3,
                 mt_ledger_holder_words(l, MT_HOLD_UNEXPLAINED));
}

const char *mt_driver_call_words(enum mt_wire_op op, uint32_t cbid)
{
    switch (cbid) { /* of an operation that several calls make: those that are not its usual one */
    case 485: return "cuImportExternalMemory";
    case 486: return "cuExternalMemoryGetMappedBuffer";
    case 487: return "cuExternalMemoryGetMappedMipmappedArray";
    case 514:
    case 515: return "cuGraphLaunch";
    case 614: return "cuMemPoolImportFromShareableHandle";
    case 616: return "cuMemPoolImportPointer";
    default: break;
    }
    switch ((unsigned)op) {
    case MT_WO_MEM_ALLOC: return "cuMemAlloc (cudaMalloc)";
    case MT_WO_ASYNC_ALLOC: return "cuMemAllocAsync";
    case MT_WO_MANAGED_ALLOC: return "cuMemAllocManaged";
    case MT_WO_HOST_ALLOC: return "cuMemHostAlloc";
    case MT_WO_HOST_REGISTER: return "cuMemHostRegister";
    case MT_WO_VMM_RESERVE: return "cuMemAddressReserve";
    case MT_WO_VMM_CREATE: return "cuMemCreate";
    case MT_WO_VMM_MAP: return "cuMemMap";
    case MT_WO_VMM_ACCESS: return "cuMemSetAccess";
    case MT_WO_VMM_IMPORT: return "cuMemImportFromShareableHandle";
    case MT_WO_POOL_CREATE: return "cuMemPoolCreate";
    case MT_WO_IPC_OPEN: return "cuIpcOpenMemHandle";
    case MT_WO_ARRAY_CREATE: return "the creation of an array";
    case MT_WO_GRAPH_INSTANTIATE: return "cuGraphInstantiate";
    case MT_WO_GRAPH_UPLOAD: return "cuGraphUpload";
    case MT_WO_CONTEXT_CREATE: return "cuCtxCreate";
    case MT_WO_CONTEXT_RETAIN: return "cuDevicePrimaryCtxRetain";
    case MT_WO_CONTEXT_LIMIT: return "cuCtxSetLimit";
    case MT_WO_MODULE_LOAD: return "the load of a module";
    default: return mt_op_name(op);
    }
}

static void add_growth(struct mt_sentence *s, const struct mt_driverdiag *j, const char *before)
{
    char b1[32], b2[32];
    if (j->growth.n != 0)
        mt_words_add(s,
                     " After each of the last %u %.60s%s (the first is left out) %s held more: %s, "
                     "and up to %s.",
                     (unsigned)j->growth.n, mt_str(j->drivers.p[j->growth.driver], j->growth.name),
                     before, mt_holder_words(j->growth.who), mt_words_bytes(b1, j->growth.first),
                     mt_words_bytes(b2, j->growth.last));
}

static void oom_because(const struct mt_books *b, const struct mt_driver_oom *o,
                        struct mt_sentence *s)
{
    const struct mt_driverdiag *j = b->driver;
    const struct mt_trace *t = j->drivers.p[o->driver];
    const struct mt_call *c = &t->driver->calls.p[o->call];
    const struct mt_ledger *l = o->ledger < j->ledgers.n ? &j->ledgers.p[o->ledger] : NULL;
    uint64_t own = 0;
    char b1[32], b2[32];
    if (l != NULL && !o->is_host && o->time_ns >= l->whole_ns) {
        add_sums(s, l);
        for (uint32_t i = 0; i < l->rows.n; i++)
            if (l->rows.p[i].driver == o->driver && l->rows.p[i].process == o->process)
                own += (uint64_t)l->rows.p[i].bytes;
        if (own != 0 && own != l->focus_named)
            mt_words_add(s, " %s of it belongs to the process that failed.",
                         mt_words_bytes(b1, own));
    }
    if (j->idle != 0) {
        double later = (double)(j->idle_ns - o->time_ns) / 1e9;
        mt_words_add(s, " %s of PyTorch's segments had no block in use in the snapshot taken ",
                     mt_words_bytes(b1, j->idle));
        if (later < 0.1)
            mt_words_add(s, "right after it: it is cache.");
        else
            mt_words_add(s, "%.1f s later: it is cache.", later);
    }
    add_growth(s, j, " before it");
    if (!o->is_host && o->free > o->request && o->request != 0)
        mt_words_add(s,
                     " The device had more free (%s) than was asked for (%s): a limit, or "
                     "memory in pieces.",
                     mt_words_bytes(b1, o->free), mt_words_bytes(b2, o->request));
    mt_words_add(s, "%sThe call was %s", s->n != 0 ? " " : "",
                 mt_driver_call_words((enum mt_wire_op)c->op, c->cbid));
    if (o->label != NULL && o->label[0] != '\0')
        mt_words_add(s, " in %.160s", o->label);
    mt_words_add(s, ", CUDA error 2 (out of memory).");
    if (o->who != MT_HOLD_TORCH && o->who != MT_HOLD_UNKNOWN)
        mt_words_add(s, " This failure leaves no trace in a PyTorch snapshot.");
    if (j->n_survived != 0)
        mt_words_add(s, " %llu other failure%s of this job %s survived.",
                     (unsigned long long)j->n_survived, j->n_survived == 1 ? "" : "s",
                     j->n_survived == 1 ? "was" : "were");
    add_kept(s, o, l);
}

/* What the launcher wrote of the job's cgroup; of several nodes the kills together and the least
 * limit. */
static void read_host(struct mt_driverdiag *j)
{
    for (uint32_t i = 0; i < j->drivers.n; i++) {
        const struct mt_trace *t = j->drivers.p[i];
        for (uint32_t k = 0; k < t->driver->launch.n; k++) {
            const char *key = mt_str(t, t->driver->launch.p[k].key);
            uint64_t v = strtoull(mt_str(t, t->driver->launch.p[k].value), NULL, 10);
            if (strcmp(key, "cgroup.oom_kills") == 0)
                j->host.kills += v;
            else if (strcmp(key, "cgroup.limit_bytes") == 0 &&
                     (j->host.limit == 0 || v < j->host.limit))
                j->host.limit = v;
            else if (strcmp(key, "cgroup.peak_bytes") == 0 && v > j->host.peak)
                j->host.peak = v;
        }
    }
}

/* Adds who was killed for want of host memory. */
static void add_host_kills(struct mt_sentence *s, const struct mt_driverdiag *j)
{
    char n[32];
    mt_words_add(s, "Host memory ran out: the kernel killed %s process%s of this job's cgroup",
                 mt_words_count(n, j->host.kills), j->host.kills == 1 ? "" : "es");
    if (j->host.limit != 0)
        mt_words_add(s, " at its limit of %s", MT_BYTES(j->host.limit));
    mt_words_add(s, ".");
}

/* Adds which process was ended from outside while it held much pinned memory, as a host that runs
 * short of memory does. It is no verdict: a process that is ended on purpose looks the same. */
static void add_pinned(const struct mt_driverdiag *j, struct mt_sentence *why)
{
    const struct mt_driver_process *most = NULL;
    const struct mt_process *q;
    for (uint32_t i = 0; i < j->processes.n; i++) {
        const struct mt_driver_process *p = &j->processes.p[i];
        enum mt_end end = j->drivers.p[p->driver]->driver->processes.p[p->process].end;
        if ((end == MT_END_SIGNAL || end == MT_END_GONE) && p->pinned_end >= MIN_PINNED &&
            (most == NULL || p->pinned_end > most->pinned_end))
            most = p;
    }
    if (most == NULL)
        return;
    q = &j->drivers.p[most->driver]->driver->processes.p[most->process];
    add_who(why, j, most->driver, most->process);
    capital(why);
    if (q->end == MT_END_SIGNAL)
        mt_words_add(why, " was killed by signal %d", (int)q->end_status);
    else
        mt_words_add(why, " was gone without its exit handlers");
    mt_words_add(why, " while it held %s of pinned host memory", MT_BYTES(most->pinned_end));
    if (most->pinned_grown != 0 && most->pinned_phase != MT_PH_UNATTRIBUTED)
        mt_words_add(why, ", %s of it since %s began", MT_BYTES(most->pinned_grown),
                     MT_PHASE_WORDS(most->pinned_phase, MT_PH_NONE));
    mt_words_add(why, ". A host that runs short of memory ends processes so, and so does one that "
                      "ends them on purpose: the host's log, or "
                      "Ray's, given with --log, settles it. ");
}

/* Adds that part of the memory at a snapshot's peak was not on the device. */
static void add_books(struct mt_sentence *why, const struct mt_driverdiag *j)
{
    const struct mt_books_peak *most = NULL;
    for (uint32_t i = 0; i < j->books_peaks.n; i++)
        if (mt_books_peak_counts(&j->books_peaks.p[i]) &&
            (most == NULL || j->books_peaks.p[i].unmapped > most->unmapped))
            most = &j->books_peaks.p[i];
    if (most != NULL)
        mt_words_add(why,
                     " PyTorch's books had %s reserved at their own peak, but the driver had "
                     "unmapped %s of it by then.",
                     MT_BYTES(most->reserved), MT_BYTES(most->unmapped));
}

/* The phase at the instant of the focus, of the process that held most, else of the next one. The
 * columns do not tell: in a long job one is as wide as several phases. */
static const struct mt_driver_phase *phase_at_focus(const struct mt_books *b,
                                                    const struct mt_ledger *l)
{
    const struct mt_driver_phase *p = NULL;
    for (uint32_t i = 0; p == NULL && i < l->rows.n && i < 16; i++) {
        const struct mt_ledger_row *one = &l->rows.p[i];
        if (one->process != MT_NONE32 && one->bytes > 0)
            p = mt_driver_phase_at(b, b->proc_of[one->driver][one->process], l->focus_ns, true);
    }
    return p;
}

/* The process of which records or chunks are lost, with its trace in *driver; NULL = none is known
 * to have lost any. */
static const struct mt_process *loser(const struct mt_driverdiag *j, uint32_t *driver)
{
    for (uint32_t d = 0; d < j->drivers.n; d++) {
        const struct mt_driver *v = j->drivers.p[d]->driver;
        for (uint32_t i = 0; i < v->processes.n; i++)
            if (v->processes.p[i].n_dropped != 0 || v->processes.p[i].n_missing != 0) {
                *driver = d;
                return &v->processes.p[i];
            }
    }
    return NULL;
}

/* Adds what failed. Of a recording with losses nothing is said of what is lost. False: there are
 * losses. */
static bool add_failures(struct mt_sentence *s, const struct mt_driverdiag *j)
{
    uint32_t driver = 0;
    const struct mt_process *p = loser(j, &driver);
    char n[32];
    (void)mt_words_count(n, j->ooms.n);
    if (p != NULL) {
        mt_words_add(s, "Records of ");
        add_who(s, j, driver, (uint32_t)(p - j->drivers.p[driver]->driver->processes.p));
        mt_words_add(s, " are lost, so whether %s allocation failed is not known",
                     j->ooms.n != 0 ? "another" : "an");
        if (j->ooms.n != 0)
            mt_words_add(s, " (%s did, and the job went on)", n);
        mt_words_add(s, "; in what was recorded, ");
    } else if (j->ooms.n == 0) {
        mt_words_add(s, "No allocation failed: ");
    } else {
        mt_words_add(s, "%s allocation%s failed and the job went on: ", j->ooms.n == 1 ? "One" : n,
                     j->ooms.n == 1 ? "" : "s");
    }
    return p == NULL;
}

static void peak_sentence(const struct mt_books *b, struct mt_sentence *s, struct mt_sentence *why)
{
    const struct mt_driverdiag *j = b->driver;
    const struct mt_ledger *l = &j->ledgers.p[0];
    uint64_t held[MT_HOLD_COUNT] = {0}, any = 0;
    uint64_t most = l->focus_used != 0 ? l->focus_used : l->focus_named;
    const struct mt_driver_phase *phase =
        l->n_columns != 0 && l->focus_ns >= l->t0_ns ? phase_at_focus(b, l) : NULL;
    char b1[32], b2[32];
    bool whole, in_phase;
    for (uint32_t i = 0; i < l->rows.n; i++)
        if (l->rows.p[i].bytes > 0)
            held[l->rows.p[i].holder] += (uint64_t)l->rows.p[i].bytes;
    for (int h = 0; h < MT_HOLD_COUNT; h++)
        any += held[h];
    whole = add_failures(s, j);
    if (l->whole_ns != 0)
        mt_words_add(s, "in the last %s, which are what was kept, ",
                     span_words(b1, l->t1_ns - l->whole_ns));
    mt_words_add(s, "%.*s was fullest with %s", short_name(l), l->name, mt_words_bytes(b1, most));
    if (l->capacity != 0)
        mt_words_add(s, " of %s", mt_words_bytes(b2, l->capacity));
    in_phase = phase != NULL && phase->phase != MT_PH_UNATTRIBUTED;
    if (in_phase)
        mt_words_add(s, " during %s", mt_phase_words(phase->phase));
    if (any != 0) {
        mt_words_add(s, ": ");
        holders(s, l, held);
    }
    mt_words_add(s, ".");
    if (j->host.kills == 0)
        add_pinned(j, why);
    add_sums(why, l);
    if (whole && j->host.kills == 0 && l->capacity > most)
        mt_words_add(why, " %s (%u %%) were left there%s.", MT_BYTES(l->capacity - most),
                     (unsigned)((double)(l->capacity - most) * 100 / (double)l->capacity),
                     in_phase ? ": what fails next would be in that phase" : "");
    add_books(why, j);
    add_growth(why, j, "");
    if (j->n_survived != 0)
        mt_words_add(why, " %llu failed allocation%s survived by asking again.",
                     (unsigned long long)j->n_survived, j->n_survived == 1 ? " was" : "s were");
}

/* The earliest failure that its process did not survive; of device memory
 * rather than of the host's. */
static uint32_t choose_failure(const struct mt_driverdiag *j)
{
    uint32_t best = MT_NONE32;
    for (uint32_t i = 0; i < j->ooms.n; i++)
        if (j->ooms.p[i].is_fatal &&
            (best == MT_NONE32 || (j->ooms.p[best].is_host && !j->ooms.p[i].is_host)))
            best = i;
    return best;
}

/* ---- what was there before the failure ---- */

/* Ends of a phase that comes once a step. With two of them any difference would be growth. Where
 * nothing failed there is no failure that speaks for it, so there have to be more. MIN_GROWTH,
 * bytes from one end to the next, is above what caches and workspaces still gain in the first
 * steps. Chosen by hand. */
enum { MIN_ENDS = 3, MIN_STEPS = 6 };
#define MIN_GROWTH (UINT64_C(64) << 20)

struct climb {
    uint64_t first, last, least, most; /* least, most: the smallest and the largest increase */
    bool only_up;
};

/* Finds the holder that grows: at the end of each occurrence of the phase before that time it holds
 * more, each time by MIN_GROWTH or more and by amounts within a quarter of each other, and at the
 * failure it still does (held; NULL = nothing failed). The first occurrence is left out: it sets up
 * what stays. */
static void find_growth(struct mt_driverdiag *j, const struct mt_driver_phase *now, uint32_t ledger,
                        uint64_t before, const uint64_t *held)
{
    struct climb c[MT_HOLD_OTHER] = {{0}};
    uint32_t n = 0;
    if (now == NULL || !mt_phase_is(now->phase, MT_ONCE_A_STEP))
        return;
    for (uint32_t i = 0; i < j->phases.n; i++) {
        const struct mt_driver_phase *p = &j->phases.p[i];
        if (p->driver != now->driver || p->process != now->process || p->name != now->name ||
            p->t1_ns >= before || p->peak_ledger != ledger)
            continue;
        for (int h = 0; h < MT_HOLD_OTHER; h++) {
            uint64_t up = n > 1 && p->left[h] > c[h].last ? p->left[h] - c[h].last : 0;
            if (n == 1)
                c[h] = (struct climb){p->left[h], p->left[h], UINT64_MAX, 0, true};
            if (n > 1) {
                c[h].only_up &= up >= MIN_GROWTH;
                c[h].least = up < c[h].least ? up : c[h].least;
                c[h].most = up > c[h].most ? up : c[h].most;
                c[h].last = p->left[h];
            }
        }
        n++;
    }
    if (n < (held != NULL ? MIN_ENDS : MIN_STEPS) + 1)
        return;
    for (int h = 0; h < MT_HOLD_OTHER; h++) {
        if (!c[h].only_up || c[h].most > c[h].least + c[h].least / 4 ||
            (held != NULL && held[h] < c[h].last))
            continue;
        if (j->growth.n != 0 && c[h].last - c[h].first <= j->growth.last - j->growth.first)
            continue;
        j->growth = (struct mt_driver_growth){.who = (enum mt_holder)h,
                                              .name = now->name,
                                              .driver = now->driver,
                                              .n = n - 1,
                                              .first = c[h].first,
                                              .last = c[h].last};
    }
}

static void growth_before(struct mt_books *b, const struct mt_driver_oom *o)
{
    if (!o->is_host && o->ledger < b->driver->ledgers.n)
        find_growth(b->driver,
                    mt_driver_phase_at(b, b->proc_of[o->driver][o->process], o->time_ns, true),
                    o->ledger, o->time_ns, o->held);
}

/* Finds PyTorch's idle bytes at the failure: of the snapshots of up to 30 s later the one with most
 * of them. Those of several snapshots of one process are never added. */
static void find_idle(struct mt_driverdiag *j, const struct mt_driver_oom *o)
{
    for (uint32_t i = 0;
         o->who != MT_HOLD_TORCH && !o->is_host && o->ledger < j->ledgers.n && i < j->reconciled.n;
         i++) {
        const struct mt_reconcile *r = &j->reconciled.p[i];
        if (r->ledger != o->ledger || r->at_ns < o->time_ns ||
            r->at_ns > o->time_ns + 30 * MT_SECOND || r->idle <= j->idle)
            continue;
        j->idle = r->idle;
        j->idle_ns = r->at_ns;
    }
}

int mt_driver_verdict(struct mt_books *b)
{
    struct mt_driverdiag *j = b->driver;
    struct mt_sentence s = {"", 0}, why = {"", 0};
    j->oom = choose_failure(j);
    read_host(j);
    if (j->oom == MT_NONE32 && j->host.kills != 0) {
        add_host_kills(&s, j);
        mt_words_add(&s, " ");
    }
    if (j->oom != MT_NONE32) {
        j->kind = MT_V_OOM;
        growth_before(b, &j->ooms.p[j->oom]);
        find_idle(j, &j->ooms.p[j->oom]);
        oom_sentence(b, &j->ooms.p[j->oom], &s);
        oom_because(b, &j->ooms.p[j->oom], &why);
        if (j->host.kills != 0) {
            mt_words_add(&why, " ");
            add_host_kills(&why, j);
        }
    } else if (j->ledgers.n != 0 &&
               (j->ledgers.p[0].focus_named != 0 || j->ledgers.p[0].focus_used != 0)) {
        j->kind = MT_V_PEAK;
        find_growth(j, phase_at_focus(b, &j->ledgers.p[0]), 0, UINT64_MAX, NULL);
        peak_sentence(b, &s, &why);
    } else {
        j->kind = MT_V_EMPTY;
        mt_words_add(&s, "No GPU memory was recorded: %u process%s, %u phase range%s.",
                     (unsigned)j->processes.n, j->processes.n == 1 ? "" : "es",
                     (unsigned)j->phases.n, j->phases.n == 1 ? "" : "s");
    }
    j->sentence = mt_strndup(s.buf, s.n);
    j->because = mt_strndup(why.buf, why.n);
    return j->sentence != NULL && j->because != NULL;
}
