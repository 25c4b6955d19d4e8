/* cupti_start.c -- subscribing to CUPTI, and the end of it. Nothing here may harm the job: whatever
 * fails becomes a STATUS and recording goes on without. CUPTI is called at exit only if it was
 * really started, by a handler registered after that, so that it runs before libcupti's own
 * destructors: a flush of a CUPTI that never started crashes in 13.0. */
#include "capture/inject/attach.h"
#include "capture/inject/cupti.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic bool ok; /* subscribed; cleared at exit */
static void *subscriber;
static bool registered; /* the periodic work */
static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER;

/* Heartbeat: a harmless driver call whose callback must come. Its silence counts only after it was
 * heard once. */
#define PROBE_NS UINT64_C(2000000000)
#define AT_EXIT_NS UINT64_C(2000000000) /* for the writer to come back from what it is at */
static _Thread_local enum { PROBE_NONE, PROBE_WAITS, PROBE_HEARD } probe_state;
static _Atomic bool probe_worked;
static bool silent_said;
static uint64_t probe_last;
static pid_t started; /* once per process; again in the child of a fork that uses CUDA itself */

const char *mti_cupti_error(int result)
{
    const char *text = NULL;
    if (!mti_cupti.result_string || mti_cupti.result_string(result, &text) != MTI_CUPTI_SUCCESS ||
        !text || !*text) {
        static const char *const known[] = {"INVALID_PARAMETER", "NOT_INITIALIZED",
                                            "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "UNKNOWN"};
        static const int codes[] = {MTI_CUPTI_INVALID_PARAMETER, MTI_CUPTI_NOT_INITIALIZED,
                                    MTI_CUPTI_MULTIPLE_SUBSCRIBERS, MTI_CUPTI_UNKNOWN};
        text = "an error it has no text for";
        for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
            if (codes[i] == result)
                text = known[i];
    }
    return text;
}

void mti_cupti_probe_seen(void)
{
    if (probe_state == PROBE_WAITS)
        probe_state = PROBE_HEARD;
}

bool mti_cupti_probe(uint32_t *version)
{
    probe_state = PROBE_WAITS;
    bool called = mti_cuda_version(version), heard = probe_state == PROBE_HEARD;
    probe_state = PROBE_NONE;
    if (heard)
        atomic_store_explicit(&probe_worked, true, memory_order_relaxed);
    return called && !heard;
}

/* On the writer thread, under the flush lock. */
static void look_for_silence(void)
{
    uint64_t now = mti_now();
    uint32_t version, enabled;
    if (silent_said || now - probe_last < PROBE_NS)
        return;
    probe_last = now;
    if (!mti_cupti_probe(&version))
        return;
    bool gone = mti_cupti.callback_state &&
                mti_cupti.callback_state(&enabled, subscriber, MTI_CUPTI_DRIVER,
                                         MTI_CUPTI_CBID_VERSION) != MTI_CUPTI_SUCCESS;
    if (!gone && !atomic_load_explicit(&probe_worked, memory_order_relaxed))
        return;
    silent_said = true;
    mti_status(MT_ST_SILENT, 2,
               "driver calls are no longer recorded: CUPTI was shut down by somebody else in this "
               "process (cuptiFinalize; "
               "torch.profiler "
               "does that with TEARDOWN_CUPTI=1)");
}

static void periodic(void)
{
    if (pthread_mutex_trylock(&flush_lock))
        return;
    /* Not while cuInit is still at work on another thread: it and CUPTI could wait for each other.
     */
    if (atomic_load(&ok) && atomic_load(&mti_driver_up)) {
        look_for_silence();
        if (!silent_said)
            mti_activity_flush(false);
    }
    pthread_mutex_unlock(&flush_lock);
}

/* On the writer thread; from here on nobody is inside CUPTI while it is taken down. */
static uint64_t end(uint64_t unused)
{
    pthread_mutex_lock(&flush_lock);
    if (atomic_exchange(&ok, false)) {
        uint32_t version;
        probe_last = 0;
        if (atomic_load(&mti_driver_up)) {
            look_for_silence();
            if (!silent_said)
                mti_activity_flush(true);
        } else if (mti_cupti_probe(&version)) {
            mti_status(
                MT_ST_SILENT, 1,
                "no driver call was seen: CUPTI took the subscription, but calls nothing back");
        }
    }
    pthread_mutex_unlock(&flush_lock);
    return unused;
}

/* Others may subscribe afterwards. */
void mti_cupti_stop(void)
{
    pthread_mutex_lock(&flush_lock);
    if (atomic_exchange(&ok, false)) {
        if (!silent_said)
            mti_activity_stop();
        if (mti_cupti.unsubscribe)
            mti_cupti.unsubscribe(subscriber);
    }
    pthread_mutex_unlock(&flush_lock);
}

/* Not on this thread: it may be a signal handler that called exit() in the middle of a driver call,
 * with CUPTI's lock held. */
static void at_exit(void)
{
    if (!mti_writer_run(end, 0, AT_EXIT_NS, MTI_EXIT_NS, NULL))
        atomic_store(&ok, false); /* the writer hangs in there: leave it alone */
}

/* ---- subscription ---- */

enum subscribed { SUBSCRIBED_NO, SUBSCRIBED_ALONE, SUBSCRIBED_SHARED };

static void busy(const char *holder)
{
    mti_status(MT_ST_SUBSCRIBER_BUSY, 2,
               "driver calls are not recorded: another profiler holds CUPTI's one subscription%s%s "
               "(nsys, ncu, compute-sanitizer, cuda-gdb, torch.profiler); run without it",
               *holder ? ": " : "", holder);
}

static enum subscribed subscribe(void)
{
    char holder[2 * MTI_CUPTI_OLD_NAME] = "";
    struct mti_cupti_subscriber p = {
        .name = "memtrace", .old_name = holder, .old_size = sizeof holder - 1};
    int e = MTI_CUPTI_INVALID_PARAMETER;
    if (mti_cupti.subscribe_v2 && mti_cupti.version >= 130300) {
        p.struct_size = MTI_CUPTI_SUBSCRIBER_MULTI_SIZE;
        p.allow_multiple = 1;
        e = mti_cupti.subscribe_v2(&subscriber, mti_callback, NULL, &p);
        if (e == MTI_CUPTI_SUCCESS)
            return SUBSCRIBED_SHARED;
    }
    if (mti_cupti.subscribe_v2 && mti_cupti.version >= 130000 &&
        e != MTI_CUPTI_MULTIPLE_SUBSCRIBERS) {
        p.struct_size = MTI_CUPTI_SUBSCRIBER_SIZE;
        p.allow_multiple = 0;
        e = mti_cupti.subscribe_v2(&subscriber, mti_callback, NULL, &p);
    }
    if (e == MTI_CUPTI_INVALID_PARAMETER) /* no _v2, or it wants other parameters */
        e = mti_cupti.subscribe(&subscriber, mti_callback, NULL);
    if (e == MTI_CUPTI_SUCCESS)
        return SUBSCRIBED_ALONE;
    holder[sizeof holder - 1] = 0;
    if (e == MTI_CUPTI_MULTIPLE_SUBSCRIBERS)
        busy(holder);
    else
        mti_status(MT_ST_CUPTI_ERROR, 2, "driver calls are not recorded: cuptiSubscribe: %s (%d)%s",
                   mti_cupti_error(e), e,
                   e == MTI_CUPTI_NOT_INITIALIZED ? "; is this libcupti newer than the driver?"
                                                  : "");
    return SUBSCRIBED_NO;
}

/* How many ids were taken. */
static size_t enable_rows(int domain, const struct mti_row *rows, size_t n, int *error)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        int e = mti_cupti.enable_callback(1, subscriber, domain, rows[i].cbid);
        good += e == MTI_CUPTI_SUCCESS;
        if (e != MTI_CUPTI_SUCCESS)
            *error = e;
    }
    return good;
}

static bool enable(void)
{
    size_t n, n_runtime;
    int error = 0, ignored = 0;
    const struct mti_row *rows = mti_rows_driver(&n), *runtime = mti_rows_runtime(&n_runtime);
    size_t good = enable_rows(MTI_CUPTI_DRIVER, rows, n, &error);
    if (!good) {
        mti_status(MT_ST_CUPTI_ERROR, 2,
                   "driver calls are not recorded: cuptiEnableCallback: %s (%d)",
                   mti_cupti_error(error), error);
        return false;
    }
    if (good < n)
        mti_status(MT_ST_CALLBACK_REFUSED, 0,
                   "%zu of %zu driver calls are unknown to this libcupti: older than they are",
                   n - good, n);
    enable_rows(MTI_CUPTI_RUNTIME, runtime, n_runtime, &ignored);
    uint32_t unknown[64];
    size_t n_unknown = mti_unknown_ids(unknown, sizeof unknown / sizeof unknown[0]);
    for (size_t i = 0; i < n_unknown; i++)
        mti_cupti.enable_callback(1, subscriber, MTI_CUPTI_DRIVER, unknown[i]);
    mti_cupti.enable_callback(1, subscriber, MTI_CUPTI_DRIVER, MTI_CUPTI_CBID_VERSION);
    for (uint32_t id = MTI_CUPTI_MODULE_LOADED; mti_set.code && id <= MTI_CUPTI_MODULE_UNLOADS;
         id++)
        mti_cupti.enable_callback(1, subscriber, MTI_CUPTI_RESOURCE, id);
    for (uint32_t id = MTI_CUPTI_FATAL_ERROR; id <= MTI_CUPTI_ERROR && mti_cupti.version >= 22;
         id++)
        mti_cupti.enable_callback(1, subscriber, MTI_CUPTI_STATE, id);
    return true;
}

void mti_cupti_start(void)
{
    if (started == mti_pid || !mti_on())
        return;
    started = mti_pid;
    bool outermost = mti_enter(); /* InitializeInjection may have done so */
    mti_cuda_open();
    if (mti_cupti_find()) {
        enum subscribed how = subscribe();
        if (how != SUBSCRIBED_NO && enable()) {
            /* Shared: activity records then come in a layout of each subscriber's own, which is not
             * read here. */
            if (how == SUBSCRIBED_SHARED && mti_set.memory2)
                mti_status(MT_ST_MEMORY2_OFF, 0,
                           "no MEMORY2 records: CUPTI is shared with other profilers here; driver "
                           "calls are recorded");
            else if (how != SUBSCRIBED_SHARED)
                mti_activity_start();
            atomic_store(&ok, true);
            mti_at_exit(at_exit);
            if (!registered)
                mti_periodic(periodic);
            registered = true;
        } else if (how != SUBSCRIBED_NO && mti_cupti.unsubscribe) {
            mti_cupti.unsubscribe(subscriber);
        }
    }
    if (outermost)
        mti_leave();
}

void mti_cupti_forget(void)
{
    mti_since_forget();
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    flush_lock = fresh;
    ok = false;
    started = 0;
    registered = false;
    subscriber = NULL;
    probe_worked = false;
    silent_said = false;
    probe_last = 0;
    mti_activity_forget();
    mti_callbacks_forget();
    mti_graphs_forget();
    mti_contexts_forget();
    mti_pinned_forget();
}
