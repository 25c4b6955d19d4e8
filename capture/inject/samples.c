/* samples.c -- how full the GPUs and the host are: at the start, twice a second, at an out of
 * memory and at the end.
 *
 * All of it on the writer thread; mti_gpu_used(), which a driver callback asks around the calls
 * that change a context, waits for it. Only the GPUs that this process uses are looked at. A
 * sample is written when it differs from the one before (and then that one too, if it was not, so
 * that steps are sharp), and every few seconds. */
#include "capture/inject/attach.h"
#include "capture/inject/inject.h"
#include "capture/inject/nvml.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GPUS 64u
#define AT_END_NS UINT64_C(100000000) /* for the writer to come back from what it is at */
#define MEASURE_NS UINT64_C(50000000) /* for the writer to come, and for NVML to answer */
#define GPU_QUIET_NS (5 * UINT64_C(1000000000))
#define HOST_QUIET_NS (10 * UINT64_C(1000000000))
#define BACK_OFF_NS UINT64_C(5000000)
#define GAP_MAX_NS (10 * UINT64_C(1000000000))

struct sample {
    uint64_t time;
    struct mti_nvml_memory m;
    unsigned n;
    struct mti_nvml_use uses[MTI_USES_MAX];
};

static struct gpu {
    _Atomic int state; /* enum gpu_state */
    bool has_uuid, told_uses;
    unsigned char uuid[16];
    char pci[32], name[96];
    uint64_t total;
    _Atomic(mti_nvml_device) device;
    struct sample sent, seen;
    bool any_sent, seen_is_sent;
} gpus[GPUS];
enum gpu_state { UNSEEN, TAKING, SEEN, OPEN, GONE };

struct host {
    uint64_t time, rss, peak, anon, shared, pinned;
};

_Atomic bool mti_sample_asked;

static struct {
    pthread_mutex_t nvml; /* held by whoever samples: the writer thread, and the end */
    _Atomic bool started, closed, missed_end;
    _Atomic bool failed; /* NVML cannot be opened */
    bool open, told_slow;
    uint64_t last_gpu, last_host, gap;
    struct host sent, seen;
    bool any_host, seen_is_sent;
} S = {.nvml = PTHREAD_MUTEX_INITIALIZER};

/* ---- devices ---- */

static void emit_device(uint32_t ordinal, const struct gpu *g, const char *kind)
{
    struct mti_w w;
    char uuid[48] = "";
    if (g->has_uuid)
        mti_uuid_text(g->uuid, kind, uuid);
    if (!mti_begin(&w, MT_WR_DEVICE, 256))
        return;
    mti_u(&w, ordinal);
    mti_u(&w, (uint64_t)ordinal + 1);
    mti_u(&w, g->total);
    mti_str(&w, uuid, strlen(uuid));
    mti_str(&w, g->pci, strlen(g->pci));
    mti_str(&w, g->name, strlen(g->name));
    mti_end(&w);
}

static void copy(char *to, size_t room, const char *from)
{
    size_t n = from != NULL ? strnlen(from, room - 1) : 0;
    if (n > 0)
        memcpy(to, from, n);
    to[n] = '\0';
}

void mti_device_seen(uint32_t ordinal, const unsigned char uuid[16], const char *pci,
                     const char *name, uint64_t total)
{
    int unseen = UNSEEN;
    if (ordinal >= GPUS || !atomic_compare_exchange_strong(&gpus[ordinal].state, &unseen, TAKING))
        return;
    struct gpu *g = &gpus[ordinal];
    g->has_uuid = uuid != NULL;
    if (uuid != NULL)
        memcpy(g->uuid, uuid, 16);
    copy(g->pci, sizeof g->pci, pci);
    copy(g->name, sizeof g->name, name);
    g->total = total;
    emit_device(ordinal, g, "GPU-");
    atomic_store(&g->state, SEEN);
    mti_request_sample(); /* so that there is one of the start */
}

/* ---- the GPUs ---- */

static void emit_gpu(uint32_t index, enum mt_wire_why why, const struct sample *s)
{
    struct mti_w w;
    mti_urgent(why != MT_WY_PERIODIC);
    bool ok = mti_begin(&w, MT_WR_GPU_SAMPLE, 128 + s->n * 20u);
    mti_urgent(false);
    if (!ok)
        return;
    mti_timed(&w, s->time);
    mti_u(&w, index);
    mti_u(&w, why);
    mti_u(&w, s->m.used);
    mti_u(&w, s->m.free);
    mti_u(&w, s->m.total);
    mti_u(&w, s->n);
    for (unsigned i = 0; i < s->n; i++) {
        mti_u(&w, s->uses[i].pid);
        mti_u(&w, s->uses[i].used);
    }
    mti_end(&w);
}

static bool same_sample(const struct sample *a, const struct sample *b)
{
    if (a->m.used != b->m.used || a->m.free != b->m.free || a->m.total != b->m.total ||
        a->n != b->n)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        if (a->uses[i].pid != b->uses[i].pid || a->uses[i].used != b->uses[i].used)
            return false;
    return true;
}

/* Finds the NVML device of a GPU that was seen since. */
static void open_gpu(uint32_t ordinal, struct gpu *g)
{
    mti_nvml_device device = NULL;
    int error = 0;
    enum mti_nvml_found found =
        mti_nvml_find(g->has_uuid ? g->uuid : NULL, g->pci, &device, &error);
    if (found == MTI_NVML_NONE || found == MTI_NVML_PARENT) {
        mti_status(MT_ST_NVML, 1, "no samples of device %u (%s): %s", ordinal, g->pci,
                   found == MTI_NVML_PARENT ? "it is a MIG device that NVML does not show here"
                                            : mti_nvml_error(error));
        atomic_store(&g->state, GONE);
        return;
    }
    if (found == MTI_NVML_MIG)
        emit_device(ordinal, g, "MIG-"); /* the same index again, with what is known now */
    atomic_store(&g->device, device);
}

static void sample_gpu(uint32_t ordinal, struct gpu *g, enum mt_wire_why why)
{
    mti_nvml_device device = atomic_load(&g->device);
    struct sample now;
    int e = mti_nvml_memory(device, &now.m);
    now.time = mti_now();
    if (e != MTI_NVML_OK) {
        mti_status(MT_ST_NVML, 1, "no samples of device %u (%s) from here on: %s", ordinal, g->pci,
                   mti_nvml_error(e));
        atomic_store(&g->state, GONE);
        return;
    }
    bool first = atomic_load(&g->state) == SEEN;
    e = mti_nvml_uses(device, now.uses, &now.n);
    if (e != MTI_NVML_OK && !g->told_uses) {
        g->told_uses = true;
        mti_status(MT_ST_NVML, 0, "device %u: the memory of single processes is not told: %s",
                   ordinal, mti_nvml_error(e));
    }
    atomic_store(&g->state, OPEN); /* from here on mti_gpu_used() answers */
    if (first && why == MT_WY_PERIODIC)
        why = MT_WY_START;
    bool changed = !g->any_sent || !same_sample(&now, &g->sent);
    if (changed && g->any_sent && !g->seen_is_sent)
        emit_gpu(ordinal, MT_WY_PERIODIC, &g->seen);
    g->seen = now;
    g->seen_is_sent = changed || why != MT_WY_PERIODIC || now.time - g->sent.time >= GPU_QUIET_NS;
    if (g->seen_is_sent) {
        emit_gpu(ordinal, why, &now);
        g->sent = now;
        g->any_sent = true;
    }
}

/* With the lock. */
static void sample_gpus(enum mt_wire_why why)
{
    uint64_t begin = mti_now();
    unsigned sampled = 0;
    if (!S.open) { /* at once, beside cuInit: with eight GPUs it takes longer than a context waits
                    */
        S.open = mti_nvml_open();
        S.failed = !S.open;
        if (S.failed)
            return;
    }
    for (uint32_t i = 0; i < GPUS; i++) {
        int state = atomic_load(&gpus[i].state);
        if (state != SEEN && state != OPEN)
            continue;
        if (state == SEEN)
            open_gpu(i, &gpus[i]);
        if (atomic_load(&gpus[i].state) != GONE) {
            sample_gpu(i, &gpus[i], why);
            sampled++;
        }
    }
    uint64_t took = mti_now() - begin;
    S.last_gpu = begin;
    S.gap = 0;
    if (sampled > 0 && took > BACK_OFF_NS * sampled && mti_nvml_slow()) {
        S.gap = took * 20 < GAP_MAX_NS ? took * 20 : GAP_MAX_NS;
        if (!S.told_slow)
            mti_status(MT_ST_NVML, 0, "NVML is slow here (%llu ms): fewer samples are taken",
                       (unsigned long long)(took / 1000000));
        S.told_slow = true;
    }
}

bool mti_gpu_comes(uint32_t ordinal)
{
    int state = ordinal < GPUS ? atomic_load(&gpus[ordinal].state) : GONE;
    return (state == TAKING || state == SEEN) && !atomic_load(&S.failed) &&
           !atomic_load(&S.closed) && !mti_nvml_slow();
}

/* On the writer thread; UINT64_MAX: NVML does not say. */
static uint64_t used_now(uint64_t ordinal)
{
    struct mti_nvml_memory m;
    return mti_nvml_memory(atomic_load(&gpus[ordinal].device), &m) == MTI_NVML_OK ? m.used
                                                                                  : UINT64_MAX;
}

/* Not on this thread, which is in the middle of a driver call: with NVML called there, a process
 * stops for ever in cublasCreate() (H100, driver 580, CUPTI 13.0.1). */
bool mti_gpu_used(uint32_t ordinal, uint64_t *used)
{
    if (ordinal >= GPUS || atomic_load(&gpus[ordinal].state) != OPEN || atomic_load(&S.closed) ||
        mti_nvml_slow())
        return false;
    int saved = errno;
    bool ok =
        mti_writer_run(used_now, ordinal, MEASURE_NS, MEASURE_NS, used) && *used != UINT64_MAX;
    errno = saved;
    return ok;
}

/* ---- the host ---- */

/* The kB of a line "Name:   123 kB" of /proc/self/status, as bytes. */
static uint64_t kilobytes(const char *status, const char *name)
{
    const char *p = strstr(status, name);
    uint64_t v = 0;
    if (p == NULL)
        return 0;
    for (p += strlen(name); *p == ' ' || *p == '\t'; p++)
        ;
    for (; *p >= '0' && *p <= '9'; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    return v * 1024;
}

/* One read of one small file: 20 us. smaps_rollup would walk the page tables of the process, with
 * its lock held. */
static bool read_host(struct host *h)
{
    char text[4096];
    size_t n = 0;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (ssize_t got; n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    close(fd);
    text[n] = '\0';
    *h = (struct host){mti_now(),
                       kilobytes(text, "\nVmRSS:"),
                       kilobytes(text, "\nVmHWM:"),
                       kilobytes(text, "\nRssAnon:"),
                       kilobytes(text, "\nRssShmem:"),
                       atomic_load(&mti_pinned)};
    return h->rss > 0;
}

/* By more than 1 % or 16 MiB, whichever is less, but not by a single MiB. */
static bool moved(uint64_t a, uint64_t b)
{
    uint64_t difference = a > b ? a - b : b - a, limit = a / 100;
    if (limit > 16u << 20)
        limit = 16u << 20;
    return difference > (limit > 1u << 20 ? limit : 1u << 20);
}

static void emit_host(const struct host *h)
{
    struct mti_w w;
    if (!mti_begin(&w, MT_WR_HOST_SAMPLE, 96))
        return;
    mti_timed(&w, h->time);
    mti_u(&w, h->rss);
    mti_u(&w, h->peak);
    mti_u(&w, h->anon);
    mti_u(&w, h->shared);
    mti_u(&w, h->pinned);
    mti_end(&w);
}

static void sample_host(bool always)
{
    struct host now;
    if (!read_host(&now))
        return;
    const struct host *old = &S.sent;
    bool changed = !S.any_host || moved(now.rss, old->rss) || moved(now.anon, old->anon) ||
                   moved(now.shared, old->shared) || moved(now.pinned, old->pinned);
    if (changed && S.any_host && !S.seen_is_sent)
        emit_host(&S.seen);
    S.last_host = now.time;
    S.seen = now;
    S.seen_is_sent = changed || always || now.time - old->time >= HOST_QUIET_NS;
    if (S.seen_is_sent) {
        emit_host(&now);
        S.sent = now;
        S.any_host = true;
    }
}

/* ---- when ---- */

static bool anything_new(void)
{
    for (uint32_t i = 0; i < GPUS; i++)
        if (atomic_load(&gpus[i].state) == SEEN)
            return true;
    return false;
}

static void at_end(void);

static void periodic(void)
{
    /* a tick that comes a little early is on time */
    uint64_t now = mti_now(), gap = (uint64_t)mti_set.sample_ms * 900000u;
    if (pthread_mutex_lock(&S.nvml) != 0)
        return;
    bool asked = atomic_exchange(&mti_sample_asked, false), fresh = anything_new(),
         was_open = S.open;
    bool due = mti_set.sample_ms != 0;
    if (!atomic_load(&S.closed) && !S.failed && mti_set.nvml &&
        (asked || fresh || (due && now - S.last_gpu >= (gap > S.gap ? gap : S.gap))))
        sample_gpus(asked && !fresh ? MT_WY_OOM : MT_WY_PERIODIC);
    if (asked || !S.any_host || (due && now - S.last_host >= gap))
        sample_host(asked && !fresh);
    /* Registered after NVML was loaded, so that it runs before NVML's own exit handlers. */
    if (S.open && !was_open)
        mti_at_exit(at_end);
    pthread_mutex_unlock(&S.nvml);
}

/* On the writer thread: the last sample of the GPUs. */
static uint64_t last_sample(uint64_t unused)
{
    pthread_mutex_lock(&S.nvml);
    if (S.open && !S.failed && !mti_nvml_slow())
        sample_gpus(MT_WY_END);
    pthread_mutex_unlock(&S.nvml);
    return unused;
}

/* Nobody is in NVML afterwards. A writer that hangs in NVML is not waited for, and this thread does
 * not ask NVML itself: it may be a signal handler that called exit() in the middle of it. */
static void at_end(void)
{
    if (!atomic_exchange(&S.closed, true) &&
        !mti_writer_run(last_sample, 0, AT_END_NS, MTI_EXIT_NS, NULL))
        atomic_store(&S.missed_end, true);
}

static void host_at_end(void)
{
    struct host now;
    bool missed = atomic_load(&S.missed_end);
    if (!missed && pthread_mutex_trylock(&S.nvml) == 0) {
        sample_host(true);
        pthread_mutex_unlock(&S.nvml);
    } else { /* the writer is in NVML, or was until now */
        mti_status(MT_ST_NVML, 1,
                   "NVML had not answered when the process ended: the last samples of the device "
                   "are missing");
        if (read_host(&now))
            emit_host(&now);
    }
}

/* On the writer thread; UINT64_MAX: not said. */
static uint64_t own_now(uint64_t ordinal)
{
    uint64_t own = UINT64_MAX;
    pthread_mutex_lock(&S.nvml);
    if (mti_set.nvml && !S.failed && !atomic_load(&S.closed)) {
        const struct sample *s = &gpus[ordinal].seen;
        sample_gpus(MT_WY_START);
        for (unsigned i = 0; atomic_load(&gpus[ordinal].state) == OPEN && i < s->n; i++)
            if (s->uses[i].pid == (uint32_t)mti_pid)
                own = s->uses[i].used;
    }
    pthread_mutex_unlock(&S.nvml);
    return own;
}

bool mti_gpu_own(uint32_t ordinal, uint64_t *bytes)
{
    int state = ordinal < GPUS ? atomic_load(&gpus[ordinal].state) : UNSEEN;
    return (state == SEEN || state == OPEN) &&
           mti_writer_run(own_now, ordinal, MTI_EXIT_NS, MTI_EXIT_NS, bytes) &&
           *bytes != UINT64_MAX;
}

void mti_samples_stop(void)
{
    if (!atomic_exchange(&S.closed, true))
        (void)last_sample(0);
    host_at_end();
}

void mti_samples_start(void)
{
    if (atomic_exchange(&S.started, true))
        return;
    mti_at_exit(host_at_end);
    mti_periodic(periodic);
    mti_request_sample();
}

/* In a forked child: no allocation, no lock. */
void mti_samples_forget(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&S.nvml, &fresh, sizeof fresh);
    atomic_store(&S.started, false);
    atomic_store(&S.closed, false);
    atomic_store(&S.missed_end, false);
    atomic_store(&S.failed, false);
    S.open = S.told_slow = S.any_host = S.seen_is_sent = false;
    S.last_gpu = S.last_host = S.gap = 0;
    for (uint32_t i = 0; i < GPUS; i++) {
        atomic_store(&gpus[i].state, UNSEEN);
        atomic_store(&gpus[i].device, NULL);
        gpus[i].any_sent = gpus[i].seen_is_sent = gpus[i].told_uses = false;
    }
    mti_nvml_forget();
}
