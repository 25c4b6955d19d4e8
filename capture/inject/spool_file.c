/* spool_file.c -- the spool file: names, space, mapping, lock; and the activity buffers at its end.
 */
#define _GNU_SOURCE 1
#include "capture/inject/core.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct mti_map mti_map;

static _Atomic int off_gate;
static _Atomic int kept_gate; /* where the kernel has no MADV_WIPEONFORK */
/* 1 = record; the page is wiped in every child, however it was forked */
_Atomic(_Atomic int *) mti_gate = &off_gate;

static struct {
    char spool[PATH_MAX], gz[PATH_MAX];
    _Atomic int fd; /* of the spool file, for its lock alone; -1 = none */
    dev_t dev;
    ino_t ino;
    _Atomic unsigned n_acts;
    _Atomic bool acts_given; /* CUPTI has had an activity buffer */
} F = {.fd = -1};

const char *mti_spool_gz(void) { return F.gz; }
bool mti_spool_on_disk(void) { return mti_map.on_disk; }

/* The page that a forked child finds empty. Kept from process to child: only its content starts
 * anew. */
static _Atomic int *gate_page(void)
{
    static _Atomic int *page;
    if (page)
        return page;
    void *p = mmap(NULL, MT_SPOOL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED && madvise(p, MT_SPOOL_PAGE, MADV_WIPEONFORK) != 0) {
        munmap(p, MT_SPOOL_PAGE);
        p = MAP_FAILED;
    }
    page = p == MAP_FAILED ? &kept_gate : (_Atomic int *)p;
    return page;
}

/* Names of files hold these characters only; the host's name is the job's. */
static void host_name(char *out, size_t size)
{
    if (gethostname(out, size) != 0)
        snprintf(out, size, "host");
    out[size - 1] = 0;
    for (char *p = out; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
              *p == '.' || *p == '_' || *p == '-'))
            *p = '_';
    if (!*out || *out == '.')
        *out = '_';
}

static bool names(void)
{
    char host[64], dir[PATH_MAX];
    const char *s = mti_set.spool;
    dir[0] = 0;
    host_name(host, sizeof host);
    if (*s != '/') { /* the job may change its directory */
        if (!getcwd(dir, sizeof dir - 1))
            return false;
        size_t n = strlen(dir);
        memcpy(dir + n, "/", 2);
    }
    int n = snprintf(F.spool, sizeof F.spool, "%s%s/mt-%s-%ld-%016llx.spool", dir, s, host,
                     (long)mti_pid, (unsigned long long)mti_uid);
    if (n < 0 || (size_t)n >= sizeof F.spool)
        return false;
    memcpy(F.gz, F.spool, (size_t)n + 1);
    memcpy(F.gz + n - 5, "gz", 3);
    return true;
}

static uint64_t realtime(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void new_uid(void)
{
    mti_pid = getpid();
    mti_uid = realtime() ^ (uint64_t)mti_pid << 40;
    if (mti_uid == 0)
        mti_uid = 1;
}

/* A number far from those that the job counts on; the limit on descriptors stays what it is. */
static int move_up(int fd)
{
    int up = fcntl(fd, F_DUPFD_CLOEXEC, 800);
    if (up < 0)
        up = fcntl(fd, F_DUPFD_CLOEXEC, 200);
    if (up < 0)
        return fd;
    close(fd); /* the lock belongs to both and stays */
    return up;
}

/* Creates the spool file and locks it; -1 with errno. */
static int create(void)
{
    for (int i = 0; i < 8; i++) {
        struct stat st;
        new_uid();
        if (!names()) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(F.spool, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd < 0)
            continue;
        /* A collector may be faster than our lock, take the empty file for one that was left
         * behind, and remove it. */
        int busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!busy && fstat(fd, &st) == 0 && st.st_nlink > 0) {
            F.dev = st.st_dev;
            F.ino = st.st_ino;
            return move_up(fd);
        }
        close(fd);
    }
    errno = EBUSY;
    return -1;
}

/* Real blocks: on a full disk a write to a sparse mapping would kill the job with SIGBUS. */
static bool reserve(int fd, size_t bytes)
{
    static const unsigned char zeros[65536];
    int r;
    do
        r = fallocate(fd, 0, 0, (off_t)bytes);
    while (r != 0 && errno == EINTR);
    if (r == 0)
        return true;
    int e = errno;
    size_t at = 0;
    if (e == EOPNOTSUPP || e == ENOSYS) {
        while (at < bytes) {
            ssize_t n =
                pwrite(fd, zeros, bytes - at < sizeof zeros ? bytes - at : sizeof zeros, (off_t)at);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                break;
            at += (size_t)n;
        }
        if (at == bytes)
            return true;
        e = errno;
    }
    if (ftruncate(fd, 0) != 0) /* what could be had goes back; an empty file does no harm */
        e = errno;
    errno = e;
    return false;
}

static void *map_file(int fd, size_t bytes)
{
    if (fd < 0 || !reserve(fd, bytes))
        return MAP_FAILED;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED && ftruncate(fd, 0) != 0)
        errno = ENOMEM;
    return p;
}

static void write_page(unsigned acts)
{
    unsigned char *p = mti_map.base;
    mt_put64(p + MT_SP_UID, mti_uid);
    mt_put32(p + MT_SP_PID, (uint32_t)mti_pid);
    mt_put32(p + MT_SP_CHUNK, MTI_SLOT);
    mt_put32(p + MT_SP_CHUNKS, MTI_SLOTS);
    mt_put32(p + MT_SP_ACT_SIZE, MTI_ACT);
    mt_put32(p + MT_SP_ACTS, acts);
    mt_put64(p + MT_SP_CLOCKDIFF, realtime() - mti_now());
    atomic_signal_fence(memory_order_release);
    memcpy(p + MT_SP_MAGIC, MT_SPOOL_MAGIC, 8); /* last: without it the page says nothing */
}

bool mti_spool_open(void)
{
    const size_t slots = MT_SPOOL_PAGE + (size_t)MTI_SLOTS * MTI_SLOT,
                 acts = (size_t)MTI_ACTS * MTI_ACT;
    void *p = MAP_FAILED;
    unsigned n_acts = mti_set.memory2 ? MTI_ACTS : 0;
    if (!mti_set.spool)
        return false;
    if (mti_set.spool_make) /* it may be there: create() says whether that is enough */
        (void)mkdir(mti_set.spool, 0700);
    int fd = create();
    if (fd < 0) /* a folder where nothing can be made: there is no place for a .gz either */
        return false;
    atomic_store(&F.fd, fd);
    errno = ENOSPC;
    if (!mti_set.anonymous_spool) {
        p = map_file(fd, slots + (n_acts ? acts : 0));
        if (p == MAP_FAILED && n_acts) {
            n_acts = 0;
            p = map_file(fd, slots);
        }
    }
    int why = errno;
    mti_map.on_disk = p != MAP_FAILED;
    if (!mti_map.on_disk) {
        n_acts = 0; /* nobody could read them afterwards */
        p = mmap(NULL, slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (p == MAP_FAILED) {
        unlink(F.spool);
        close(fd);
        atomic_store(&F.fd, -1);
        return false;
    }
    mti_spool_reset();
    mti_map.base = p;
    mti_map.bytes = slots + (size_t)n_acts * MTI_ACT;
    mti_map.why = mti_map.on_disk ? 0 : why;
    write_page(n_acts);
    atomic_store(&F.n_acts, n_acts);
    _Atomic int *gate = gate_page();
    atomic_store(gate, 1);
    atomic_store_explicit(&mti_gate, gate, memory_order_release);
    return true;
}

static bool still_ours(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == F.dev && st.st_ino == F.ino;
}

/* In the child of a fork; allocates nothing. The addresses stay, as private memory, where somebody
 * may still use them: this thread when a signal handler forked while it was writing a record;
 * libcupti, whose exit handlers run in a child as well and walk or fill the activity buffers that
 * they had in the parent. Which ones these are is not asked: the parent may be giving them back
 * right now. */
void mti_spool_forget(void)
{
    atomic_store(atomic_load(&mti_gate), 0);
    atomic_store(&mti_gate, &off_gate);
    if (mti_map.base) {
        if (mti_thread.held || atomic_load(&F.acts_given))
            (void)mmap(mti_map.base, mti_map.bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        else
            munmap(mti_map.base, mti_map.bytes);
    }
    mti_map = (struct mti_map){0};
    atomic_store(&F.n_acts, 0);
    atomic_store(&F.acts_given, false);
    int fd = atomic_exchange(&F.fd, -1);
    if (still_ours(fd)) /* or the parent's lock would live on in here */
        close(fd);
    mti_spool_reset();
}

/* Programs that close all descriptors close ours: without the lock the recording would look like
 * one of a process that is gone. */
void mti_spool_check_file(void)
{
    int old = atomic_load(&F.fd);
    if (old < 0 || still_ours(old))
        return;
    int fd = open(F.spool, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && still_ours(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        atomic_store(&F.fd, move_up(fd));
    } else if (fd >= 0) {
        close(fd);
    }
}

/* An activity buffer that CUPTI still holds, with records in it. */
static bool acts_in_use(void)
{
    unsigned n = atomic_load(&F.n_acts);
    for (unsigned i = 0; i < n; i++) {
        uint32_t kind, state = __atomic_load_n((uint32_t *)(void *)(mti_map.base + MT_SP_STATES +
                                                                    (MTI_SLOTS + (size_t)i) * 4),
                                               __ATOMIC_ACQUIRE);
        memcpy(&kind,
               mti_map.base + MT_SPOOL_PAGE + (size_t)MTI_SLOTS * MTI_SLOT + (size_t)i * MTI_ACT,
               4);
        if (state == MT_SS_FULL && kind != 0)
            return true;
    }
    return false;
}

void mti_spool_unlink(void)
{
    if (!mti_map_ready() || acts_in_use() || !mti_spool_empty())
        return;
    /* the mapping lives on without a name: from here on each record is written at once */
    mti_spool_late();
    unlink(F.spool);
}

void mti_spool_close(void)
{
    mti_spool_lock();
    atomic_store(atomic_load(&mti_gate), 0);
    mti_spool_unlock();
    int fd = atomic_exchange(&F.fd, -1);
    if (still_ours(fd))
        close(fd);
}

/* ---- activity buffers: their states are changed by compare and swap, so no lock is held when
 * CUPTI asks ---- */

static uint32_t *act_state(unsigned i)
{
    return (uint32_t *)(void *)(mti_map.base + MT_SP_STATES + (MTI_SLOTS + (size_t)i) * 4);
}
static unsigned char *act_at(unsigned i)
{
    return mti_map.base + MT_SPOOL_PAGE + (size_t)MTI_SLOTS * MTI_SLOT + (size_t)i * MTI_ACT;
}

void *mti_act_take(size_t *size)
{
    unsigned n = mti_map_ready() ? atomic_load(&F.n_acts) : 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t was = MT_SS_FREE;
        if (!__atomic_compare_exchange_n(act_state(i), &was, MT_SS_OPEN, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        atomic_store(&F.acts_given, true);
        memset(act_at(i), 0, 8); /* no record yet, whoever reads it */
        __atomic_store_n(act_state(i), MT_SS_FULL, __ATOMIC_RELEASE);
        *size = MTI_ACT;
        return act_at(i);
    }
    return NULL;
}

bool mti_act_is_ours(const void *p)
{
    unsigned n = mti_map_ready() ? atomic_load(&F.n_acts) : 0;
    return n && (const unsigned char *)p >= act_at(0) &&
           (const unsigned char *)p < act_at(0) + (size_t)n * MTI_ACT;
}

void mti_act_give(void *p)
{
    if (!mti_act_is_ours(p))
        return;
    unsigned i = (unsigned)((size_t)((unsigned char *)p - act_at(0)) / MTI_ACT);
    memset(act_at(i), 0, 8);
    __atomic_store_n(act_state(i), MT_SS_FREE, __ATOMIC_RELEASE);
}

void mti_spool_strides(uint32_t memory2, uint32_t pool)
{
    if (!mti_map_ready())
        return;
    __atomic_store_n((uint32_t *)(void *)(mti_map.base + MT_SP_STRIDE2), memory2, __ATOMIC_RELEASE);
    __atomic_store_n((uint32_t *)(void *)(mti_map.base + MT_SP_STRIDEP), pool, __ATOMIC_RELEASE);
}
