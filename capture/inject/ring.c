/* ring.c -- the numbered files of a recording that keeps the newest, and letting go of the oldest.
 */
#define _GNU_SOURCE 1
#include "capture/inject/ring.h"
#include "capture/inject/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES 128u /* at most; a power of two */
/* One file of so many is let go at a time. More would write the checkpoint more often, fewer would
 * lose more of the past at once. */
#define SHARES 16u
#define LEAST_KEEP (UINT64_C(1) << 20)
#define SECOND UINT64_C(1000000000)
#define TURN_NS UINT64_C(10000000) /* then the thread looks after samples, errands and the end */
#define IN_SIZE MTI_GZ_ROOM
/* Chunks of one kind are told apart by their number: those of definitions count from here, the
 * parts of a checkpoint from 0. */
#define DEFINED_SEQ (UINT64_C(1) << 32)

struct file {
    uint64_t bytes, opened, last;
    bool failure;
};

static struct {
    /* under the drain lock */
    struct file file[FILES];
    uint64_t first, next;   /* numbers: the oldest, and the one after the newest */
    _Atomic uint64_t bytes; /* of all numbered files; read without the lock, too */
    char path[PATH_MAX];    /* of the newest */
    /* the writer thread's */
    uint64_t defined, base; /* bytes of the .gz and of the checkpoint */
    /* the file that is read into the books, and how far; those before it were read, `gone` bytes in
     * all, and go when the checkpoint is written */
    uint64_t reading, at, gone;
    uint64_t first_seq, realtime, monotonic;
    bool told, told_broken;
    _Atomic bool let_go, broken;
    _Atomic bool working; /* a thread is in mti_ring_work() */
    struct mti_kept definitions;
} R;

/* Buffers: kept over a fork. */
static struct {
    struct mti_packer packer;
    z_stream z;
    bool ready;
    unsigned char *in, *chunk, *definitions, *checkpoint;
} B;

bool mti_ring_on(void) { return mti_set.keep_bytes != 0 && mti_set.max_bytes == 0; }

static uint64_t limit(void)
{
    return mti_set.keep_bytes < LEAST_KEEP ? LEAST_KEEP : mti_set.keep_bytes;
}
static uint64_t share(void) { return limit() / SHARES; }
static uint64_t most_age(void) { return mti_set.last_s * SECOND; }
static struct file *file_of(uint64_t number) { return &R.file[number % FILES]; }

/* mt-host-pid-uid.<what>gz beside the .gz */
static void path_of(char *out, const char *what)
{
    const char *gz = mti_spool_gz();
    (void)snprintf(out, PATH_MAX, "%.*s%sgz", (int)strlen(gz) - 2, gz, what);
}

static void path_of_number(char *out, uint64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu.", (unsigned long long)number);
    path_of(out, text);
}

/* ---- where members go ---- */

const char *mti_ring_file(size_t n, uint64_t *number)
{
    uint64_t now = mti_now();
    const struct file *f = R.next > R.first ? file_of(R.next - 1) : NULL;
    if (!R.broken && R.next - R.first > 2 && R.bytes + n > limit() + limit() / 4)
        return NULL;
    bool enough =
        f && (f->bytes + n > share() || (most_age() && now - f->opened > most_age() / SHARES));
    if (!f || (enough && f->bytes && R.next - R.first < FILES)) {
        *file_of(R.next) = (struct file){.opened = now, .last = now};
        path_of_number(R.path, R.next++);
    }
    *number = R.next;
    return R.path;
}

void mti_ring_added(size_t n, bool urgent)
{
    struct file *f = file_of(R.next - 1);
    f->bytes += n;
    f->last = mti_now();
    f->failure |= urgent;
    R.bytes += n;
}

/* ---- what has to go ---- */

/* A file that is too old stays while a failure is in it: who waits for ever after one records
 * nothing more, and it must not go. When there is no room it was long survived. */
static bool must_go(void)
{
    uint64_t others = R.defined + 2 * R.base + share() + MTI_GZ_ROOM, now = mti_now();
    bool must = false;
    mti_drain_lock();
    if (R.next - R.reading >= 2) {
        const struct file *f = file_of(R.reading);
        /* two shares at a time, or what there is to do for each would be done twice as often */
        uint64_t room = R.reading == R.first ? 0 : share();
        must = R.bytes - R.gone + others + room > limit() ||
               (most_age() && !f->failure && now - f->last > most_age()) ||
               R.next - R.reading >= FILES / 2;
    }
    mti_drain_unlock();
    return must;
}

static unsigned char *buffer(unsigned char **keep, size_t bytes)
{
    if (!*keep) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *keep = p == MAP_FAILED ? NULL : p;
    }
    return *keep;
}

static bool buffers(void)
{
    if (!B.ready) {
        memset(&B.z, 0, sizeof B.z);
        B.ready = inflateInit2(&B.z, -15) == Z_OK;
    }
    R.definitions.raw = buffer(&B.definitions, MTI_SLOT);
    R.definitions.path = mti_spool_gz();
    R.definitions.packer = &B.packer;
    if (R.definitions.seq == 0)
        R.definitions.seq = DEFINED_SEQ;
    return B.ready && buffer(&B.in, IN_SIZE) && buffer(&B.chunk, MTI_SLOT + MTI_LIVE_ROOM) &&
           buffer(&B.checkpoint, MTI_SLOT) && R.definitions.raw;
}

/* Unpacks the member at B.in; its size there, 0 = there is none, or it is damaged. */
static size_t unpack(size_t have, size_t *bytes)
{
    if (have < MTI_GZ_HEAD + 8 || B.in[0] != 0x1f || B.in[1] != 0x8b || B.in[3] != 4 ||
        inflateReset(&B.z) != Z_OK)
        return 0;
    B.z.next_in = B.in + MTI_GZ_HEAD;
    B.z.avail_in = (uInt)(have - MTI_GZ_HEAD - 8);
    B.z.next_out = B.chunk;
    B.z.avail_out = MTI_SLOT;
    if (inflate(&B.z, Z_FINISH) != Z_STREAM_END)
        return 0;
    *bytes = MTI_SLOT - B.z.avail_out;
    size_t n = have - 8 - B.z.avail_in;
    if (*bytes < MT_WIRE_HEADER || *bytes < MT_WIRE_HEADER + mt_get32(B.chunk + MT_WH_USED) ||
        mt_get32(B.in + n) != (uint32_t)crc32(crc32(0, NULL, 0), B.chunk, (uInt)*bytes))
        return 0;
    return n + 8;
}

/* False: it cannot be read now, which says nothing of what is in it. A file that somebody removed
 * is empty. */
static bool read_at(const char *path, uint64_t at, size_t *have)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = 1;
    *have = 0;
    if (fd < 0)
        return errno == ENOENT;
    while (n != 0 && *have < IN_SIZE) {
        n = pread(fd, B.in + *have, IN_SIZE - *have, (off_t)(at + *have));
        if (n > 0)
            *have += (size_t)n;
        else if (n < 0 && errno != EINTR)
            break;
    }
    close(fd);
    return n >= 0;
}

/* ---- definitions ---- */

static bool flush_definitions(void)
{
    mti_kept_flush(&R.definitions, false);
    R.defined = R.definitions.bytes;
    return R.definitions.error == 0;
}

/* ---- one file ---- */

/* The next member of the file that is read into the books. False: try again later, or never. */
static bool read_member(void)
{
    char path[PATH_MAX];
    size_t bytes = 0, have, n;
    path_of_number(path, R.reading);
    if (!read_at(path, R.at, &have))
        return false;
    n = unpack(have, &bytes);
    if (n == 0) { /* it ends here */
        R.gone += file_of(R.reading++)->bytes;
        R.at = 0;
        return true;
    }
    /* what it defines is at most as much as it is: with room for that no write fails half-way */
    if (R.definitions.open && R.definitions.used + bytes + 1024 > MTI_SLOT && !flush_definitions())
        return false;
    R.definitions.realtime = R.realtime = mt_get64(B.chunk + MT_WH_REALTIME);
    R.definitions.monotonic = R.monotonic = mt_get64(B.chunk + MT_WH_MONOTONIC);
    size_t used = MT_WIRE_HEADER + mt_get32(B.chunk + MT_WH_USED);
    memset(B.chunk + used, 0, MTI_LIVE_ROOM);
    bool ok = mti_live_chunk(B.chunk, used, &R.definitions);
    R.defined = R.definitions.bytes;
    R.broken = !ok;
    R.at += n;
    R.first_seq = mt_get64(B.chunk + MT_WH_SEQ) + 1;
    return ok && R.definitions.error == 0;
}

/* One for one: where more is recorded than can be let go in the same time, calls are held by the
 * slots that are full, as they are by a slow disk. */
static void drain_meanwhile(void) { (void)mti_drain(1, true); }

static bool write_checkpoint(void)
{
    char path[PATH_MAX], part[PATH_MAX];
    struct mti_live_sums sums = mti_live_sums();
    struct mti_checkpoint c = {.first_seq = R.first_seq,
                               .time = sums.until,
                               .start = sums.start,
                               .records = sums.records,
                               .calls = sums.calls,
                               .failures = sums.failures};
    struct mti_kept k = {.checkpoint = &c,
                         .realtime = R.realtime,
                         .monotonic = R.monotonic,
                         .between = drain_meanwhile,
                         .packer = &B.packer,
                         .raw = B.checkpoint};
    path_of(path, "base.");
    path_of(part, "base.part.");
    k.path = part;
    (void)unlink(part); /* of one that was not finished */
    mti_live_write(&k);
    mti_kept_flush(&k, true);
    if (k.error || rename(part, path) != 0) {
        unlink(part);
        return false;
    }
    R.base = k.bytes;
    return true;
}

static void remove_read(void)
{
    char path[PATH_MAX];
    for (uint64_t i = R.first; i < R.reading; i++) {
        path_of_number(path, i);
        unlink(path);
    }
    mti_drain_lock();
    R.bytes -= R.gone;
    R.first = R.reading;
    mti_drain_unlock();
    R.gone = 0;
    atomic_store(&R.let_go, true);
}

/* A part of the work; false: not now. */
static bool step(void)
{
    if (!buffers() || (R.definitions.error && !flush_definitions()))
        return false;
    if (R.at || must_go())
        return read_member();
    if (!flush_definitions() || !write_checkpoint())
        return false;
    remove_read();
    return true;
}

static bool work(void)
{
    uint64_t end = mti_now() + TURN_NS;
    while (mti_ring_on() && !R.broken && (R.at || R.gone || must_go())) {
        if (!step())
            return false;
        drain_meanwhile();
        if (mti_now() >= end)
            return true;
    }
    return false;
}

bool mti_ring_work(void)
{
    if (atomic_exchange(&R.working, true))
        return false;
    bool more = work();
    atomic_store(&R.working, false);
    return more;
}

/* Nothing is let go any more: what is there stays, and what comes ends where the limit is. */
bool mti_ring_full(uint64_t more) { return R.broken && R.bytes + more > limit(); }

void mti_ring_tell(void)
{
    if (atomic_load(&R.let_go) && !R.told) {
        R.told = true;
        mti_status(MT_ST_RING, 0, "the newest %llu MiB are kept; what is older is let go",
                   (unsigned long long)(limit() >> 20));
    }
    if (R.broken && !R.told_broken) {
        R.told_broken = true;
        mti_status(MT_ST_RING, 1,
                   "no memory for what stays: nothing is let go any more, and when the limit is "
                   "reached nothing but failures is recorded");
    }
}

void mti_ring_forget(void)
{
    memset(&R, 0, sizeof R);
    mti_live_forget();
}
