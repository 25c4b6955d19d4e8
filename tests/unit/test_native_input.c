/* A trace as an input: gzip members, damage, concatenation, attached snapshots, pipes. All on
 * samples/driver_v1.trace.gz. */
#include "parser/model/driver.h"
#include "tests/unit/input_kit.h"

#define SAMPLE MT_SAMPLES "/driver_v1.trace.gz"
#define SNAPSHOT "mt-node7-4711-187cd6a1b2f00042-rank0-oom1-dev0.pickle"
enum { CALLS = 47, MAX_MEMBERS = 32 };

/* What an input gave. */
struct got {
    int n_ok, n_damaged, n_err;
    uint32_t calls, chunks, duplicates, missing, processes, attachments;
    uint64_t snapshot_events, uid;
    bool driver_damaged, snapshot_damaged;
    char diags[8192], err[2048], member[300], host[100], encoding[64], sha[65];
    int32_t rank;
    int64_t pid;
};

static void walk_trace(struct got *g, const char *path)
{
    struct mt_input *in = NULL;
    struct mt_err err;
    uint64_t used = mt_mem_used();
    memset(g, 0, sizeof *g);
    g->rank = -1;
    memset(&err, 0, sizeof err);
    if (mt_input_open(&in, path, &opts, &err) != MT_OK) {
        g->n_err++;
        return;
    }
    for (int i = 0; i < 1000; i++) {
        struct mt_trace *t = NULL;
        enum mt_rc rc = mt_input_next(in, &t, &err);
        if (rc == MT_OK && t == NULL)
            break;
        MT_CHECK_EQ(rc >= MT_OK, t != NULL);
        if (t == NULL) {
            g->n_err++;
            snprintf(g->err, sizeof g->err, "%s", err.msg);
            continue;
        }
        MT_CHECK_EQ(t->damaged, rc == MT_WARN);
        *(t->damaged ? &g->n_damaged : &g->n_ok) += 1;
        for (uint32_t k = 0; k < t->diags.n; k++) {
            size_t n = strlen(g->diags);
            snprintf(g->diags + n, sizeof g->diags - n, "%s @%llu\n", mt_str(t, t->diags.p[k].text),
                     (unsigned long long)t->diags.p[k].offset);
        }
        if (t->driver != NULL) {
            MT_CHECK(t->meta.member == NULL);
            MT_CHECK_EQ(t->meta.format, MT_FMT_MEMTRACE);
            g->calls += t->driver->calls.n;
            g->chunks = (uint32_t)t->driver->n_chunks;
            g->duplicates = (uint32_t)t->driver->n_duplicates;
            g->missing = (uint32_t)t->driver->n_missing;
            g->processes = t->driver->processes.n;
            g->attachments = t->driver->attachments.n;
            g->driver_damaged = t->damaged;
            snprintf(g->encoding, sizeof g->encoding, "%s", t->meta.encoding);
            memcpy(g->sha, t->meta.sha256, sizeof g->sha);
        } else {
            g->snapshot_events = t->devices.n > 0 ? t->devices.p[0].events.n : 0;
            g->snapshot_damaged = t->damaged;
            g->uid = t->meta.uid;
            g->rank = t->meta.rank;
            g->pid = t->meta.pid;
            snprintf(g->member, sizeof g->member, "%s",
                     t->meta.member != NULL ? t->meta.member : "");
            snprintf(g->host, sizeof g->host, "%s", t->meta.host != NULL ? t->meta.host : "");
        }
        mt_trace_free(t);
    }
    mt_input_close(in);
    MT_CHECK_EQ(mt_mem_used(), used);
}

static void check_whole(const struct got *g)
{
    MT_CHECK_EQ(g->n_ok, 2);
    MT_CHECK_EQ(g->n_damaged, 0);
    MT_CHECK_EQ(g->n_err, 0);
    MT_CHECK_EQ(g->calls, CALLS);
    MT_CHECK_EQ(g->processes, 2);
    MT_CHECK_EQ(g->attachments, 2);
    MT_CHECK_EQ(g->snapshot_events, 13);
    MT_CHECK_STR(g->member, SNAPSHOT);
    MT_CHECK_EQ(g->uid, 0x187cd6a1b2f00042);
    MT_CHECK_EQ(g->rank, 0);
    MT_CHECK_EQ(g->pid, 4711);
    MT_CHECK_STR(g->host, "node7");
}

/* Where the members of the sample begin; the last entry is its size. */
static uint32_t members(struct bytes b, size_t at_[MAX_MEMBERS])
{
    uint32_t n = 0;
    for (size_t i = 0; i + 16 <= b.n; i++)
        if (memcmp(b.p + i, "\x1f\x8b\x08\x04", 4) == 0 && memcmp(b.p + i + 12, "MT", 2) == 0 &&
            n + 1 < MAX_MEMBERS)
            at_[n++] = i;
    at_[n] = b.n;
    return n;
}

static void join(struct bytes *out, struct bytes b)
{
    out->p = realloc(out->p, out->n + b.n + 1);
    if (out->p == NULL)
        abort();
    memcpy(out->p + out->n, b.p, b.n);
    out->n += b.n;
}

/* The chunks without their gzip, as zcat gives them. */
static struct bytes plain(void)
{
    return slurp(MT_SOURCE_DIR "/tests/fuzz/regress/native/driver_v1.chunks");
}

MT_TEST(whole)
{
    struct got g;
    walk_trace(&g, SAMPLE);
    check_whole(&g);
    MT_CHECK_STR(g.encoding, "gzip");
    MT_CHECK_EQ(strlen(g.sha), 64);
    MT_CHECK_EQ(g.duplicates, 1);
}

static void through_pipe(struct got *g, struct bytes b)
{
    int fd[2], old = dup(0);
    pid_t child;
    if (pipe(fd) != 0 || (child = fork()) < 0)
        abort();
    if (child == 0) {
        close(fd[0]);
        for (size_t i = 0; i < b.n;) {
            ssize_t r = write(fd[1], b.p + i, b.n - i < 777 ? b.n - i : 777);
            if (r <= 0)
                break;
            i += (size_t)r;
        }
        _exit(0);
    }
    close(fd[1]);
    dup2(fd[0], 0);
    close(fd[0]);
    walk_trace(g, "-");
    dup2(old, 0);
    close(old);
    waitpid(child, NULL, 0);
}

MT_TEST(plain_and_piped_and_wrapped)
{
    struct got g;
    struct bytes b = slurp(SAMPLE), p = plain(), note = bytes_of("hello", 5);
    put(at("x.trace"), p.p, p.n);
    walk_trace(&g, at("x.trace"));
    check_whole(&g);
    MT_CHECK_STR(g.encoding, "");
    through_pipe(&g, b);
    check_whole(&g);
    MT_CHECK_EQ(strlen(g.sha), 64);
    through_pipe(&g, p);
    check_whole(&g);
    MT_CHECK(
        pack(at("x.tar.xz"), "tar", "xz", NULL, "a/driver.trace.gz", b, "b/notes.txt", note, NULL));
    {
        walk(&w, at("x.tar.xz"));
        MT_CHECK_EQ(w.n_ok, 2);
        MT_CHECK_EQ(w.n_damaged + w.n_err, 0);
        MT_CHECK_HAS(w.lines, "ok a/driver.trace.gz|xz, tar, gzip|-1|0");
        MT_CHECK_HAS(w.lines, "ok a/driver.trace.gz/" SNAPSHOT "|xz, tar, gzip|0|13");
    }
    free(b.p);
    free(p.p);
    free(note.p);
}

MT_TEST(concatenated)
{
    struct got g;
    struct bytes b = slurp(SAMPLE), twice = {NULL, 0};
    join(&twice, b);
    join(&twice, b);
    put(at("twice.gz"), twice.p, twice.n);
    walk_trace(&g, at("twice.gz"));
    check_whole(&g);
    MT_CHECK_EQ(g.duplicates, 13);
    free(b.p);
    free(twice.p);
}

/* Cut anywhere: all members before the cut count, and the cut is said. */
MT_TEST(cut)
{
    struct bytes b = slurp(SAMPLE);
    size_t start[MAX_MEMBERS];
    uint32_t n = members(b, start), last = 0;
    MT_ASSERT(n == 12);
    for (size_t k = 1; k < b.n; k += k < 300 ? 1 : 13) {
        struct got g;
        uint32_t whole = 0;
        bool between = false;
        while (whole < n && start[whole + 1] <= k)
            whole++;
        for (uint32_t i = 0; i <= n; i++)
            between |= start[i] == k;
        put(at("cut.gz"), b.p, k);
        walk_trace(&g, at("cut.gz"));
        if (whole == 0) {
            MT_CHECK_EQ(g.n_ok + g.n_damaged, 0);
            MT_CHECK_EQ(g.n_err, 1);
            continue;
        }
        MT_CHECK_EQ(g.chunks + g.duplicates, whole);
        MT_CHECK(g.calls >= last);
        last = g.calls;
        MT_CHECK(g.driver_damaged || between);
        if (!between)
            MT_CHECK(strstr(g.diags, "lost") != NULL || strstr(g.diags, "passed over") != NULL);
    }
    MT_CHECK_EQ(last, CALLS);
    free(b.p);
}

/* A byte changed anywhere costs the member it is in and no other. */
MT_TEST(one_byte_changed)
{
    struct bytes b = slurp(SAMPLE);
    size_t start[MAX_MEMBERS];
    uint32_t n = members(b, start), m = 0;
    for (size_t k = 0; k < b.n; k += 7) {
        struct got g;
        unsigned char old = b.p[k];
        char offset[40];
        while (start[m + 1] <= k)
            m++;
        if ((k - start[m] >= 4 && k - start[m] < 10) || k - start[m] == 38 ||
            k - start[m] == 39) /* of no matter */
            continue;
        b.p[k] = (unsigned char)(old ^ 0x55);
        put(at("flip.gz"), b.p, b.n);
        walk_trace(&g, at("flip.gz"));
        MT_CHECK_EQ(g.chunks + g.duplicates, n - 1);
        MT_CHECK(g.driver_damaged);
        MT_CHECK(g.calls >= 10);
        snprintf(offset, sizeof offset, "@%llu\n", (unsigned long long)start[m]);
        MT_CHECK_HAS(g.diags, offset);
        b.p[k] = old;
    }
    free(b.p);
}

MT_TEST(strange_bytes_between)
{
    struct bytes b = slurp(SAMPLE), x = {NULL, 0};
    static const char junk_text[] =
        "\x1f\x8b\x08\x04 not a member at all, but it begins like one\x1f";
    struct bytes junk = bytes_of(junk_text, sizeof junk_text - 1),
                 zeros = {calloc(1, 70000), 70000};
    size_t start[MAX_MEMBERS];
    struct got g;
    uint32_t n = members(b, start);
    join(&x, b);
    join(&x, zeros); /* padding at the end is fine */
    put(at("pad.gz"), x.p, x.n);
    walk_trace(&g, at("pad.gz"));
    check_whole(&g);
    x.n = 0;
    join(&x, junk); /* even before the first */
    for (uint32_t i = 0; i < n; i++) {
        join(&x, (struct bytes){b.p + start[i], start[i + 1] - start[i]});
        if (i == 3)
            join(&x, zeros);
        if (i % 4 == 1)
            join(&x, junk);
    }
    put(at("junk.gz"), x.p, x.n);
    walk_trace(&g, at("junk.gz"));
    MT_CHECK_EQ(g.calls, CALLS);
    MT_CHECK_EQ(g.missing, 0);
    MT_CHECK(g.driver_damaged && !g.snapshot_damaged);
    MT_CHECK_EQ(g.snapshot_events, 13);
    MT_CHECK_HAS(g.diags, "passed over");
    free(b.p);
    free(x.p);
    free(junk.p);
    free(zeros.p);
}

/* A part of a snapshot is lost: the rest of the trace is whole, the snapshot says what is missing.
 */
MT_TEST(part_of_an_attachment)
{
    struct bytes b = slurp(SAMPLE), x = {NULL, 0};
    size_t start[MAX_MEMBERS];
    struct got g;
    uint32_t n = members(b, start), first = 0;
    for (uint32_t i = 0; i < n; i++)
        if (mt_get16(b.p + start[i] + 36) == MT_WK_ATTACH && first == 0)
            first = i;
    MT_ASSERT(first > 0);
    join(&x, (struct bytes){b.p, start[first]});
    join(&x, (struct bytes){b.p + start[first + 1], b.n - start[first + 1]});
    put(at("part.gz"), x.p, x.n);
    walk_trace(&g, at("part.gz"));
    MT_CHECK_EQ(g.calls, CALLS);
    MT_CHECK(g.driver_damaged && g.n_damaged + g.n_err == 2);
    MT_CHECK_HAS(g.diags, "1500 of 2812 bytes of the attached file");
    MT_CHECK_HAS(strlen(g.err) > 0 ? g.err : g.diags, "part 0 of this attached file is missing");
    free(b.p);
    free(x.p);
}

MT_TEST(sorts_of_names)
{
    static const struct {
        const char *name;
        int rank;
        long long pid;
        const char *host;
    } cases[] = {
        {"mt-node-7-a-4711-00000000deadbeef-rank12-exit-dev3.pickle", 12, 4711, "node-7-a"},
        {"mt-10-0-0-1-4711-187cd6a1b2f00042-rankx-oom1-dev0.pickle", -1, 4711, "10-0-0-1"},
        {"mt-n-1-0-rank3-usr1-dev0.pickle", 3, 1, "n"},
        {"mt-gpu-rank5.pickle", 5, -1, NULL},
        {"mt--1-0-rank3-x.pickle", 3, -1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t rank;
        int64_t pid;
        char *host;
        mt_name_identity(cases[i].name, &rank, &pid, &host);
        MT_CHECK_EQ(rank, cases[i].rank);
        MT_CHECK_EQ(pid, cases[i].pid);
        if (cases[i].host != NULL)
            MT_CHECK_STR(host, cases[i].host);
        else
            MT_CHECK(host == NULL);
        mt_free(host);
    }
}

MT_TEST(not_a_trace)
{
    struct got g;
    put(at("x.spool"), "MTSPOOL\001 and so on and so on", 28);
    walk_trace(&g, at("x.spool"));
    MT_CHECK_EQ(g.n_err, 1);
    MT_CHECK_HAS(g.err, "memtrace collect");
    {
        struct bytes p = plain();
        p.p[7] = 9;
        put(at("v9.trace"), p.p, 200);
        walk_trace(&g, at("v9.trace"));
        MT_CHECK_EQ(g.n_err, 1);
        MT_CHECK_HAS(g.err, "format version 9");
        free(p.p);
    }
}

/* Out of a pipe the snapshots are held in memory: when that is too little, the rest is still read.
 */
MT_TEST(little_memory)
{
    struct bytes b = slurp(SAMPLE);
    int failed = 0, fine = 0;
    for (uint64_t k = 1; k < 4000; k += k < 200 ? 1 : 37) {
        struct mt_input *in = NULL;
        struct mt_err err;
        uint64_t used = mt_mem_used();
        put(at("mem.gz"), b.p, b.n);
        memset(&err, 0, sizeof err);
        mt_mem_fail_after(k);
        if (mt_input_open(&in, at("mem.gz"), &opts, &err) == MT_OK) {
            for (int i = 0; i < 20; i++) {
                struct mt_trace *t = NULL;
                enum mt_rc rc = mt_input_next(in, &t, &err);
                if (rc == MT_OK && t == NULL)
                    break;
                MT_CHECK(rc >= MT_OK || err.msg[0] != '\0');
                failed += rc < MT_OK;
                fine += rc == MT_OK;
                mt_trace_free(t);
            }
        }
        mt_input_close(in);
        mt_mem_fail_after(0);
        MT_CHECK_EQ(mt_mem_used(), used);
    }
    MT_CHECK(failed > 0 && fine > 0);
    free(b.p);
}

/* Nested headers and blocks without content: no way to make reading take for ever, or to grow the
 * window without end. */
MT_TEST(hostile_members)
{
    struct bytes x = {calloc(1, 6 << 20), 6 << 20};
    struct got g;
    size_t at_ = 0;
    while (at_ + 45 < x.n) { /* a header, then stored blocks that hold the next header */
        unsigned char *h = x.p + at_;
        memcpy(h, "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x1c\0MT\x18\0", 16);
        mt_put32(h + 32, MT_WIRE_MAX_CHUNK);
        memcpy(h + 40, "\0\x2d\0\xd2\xff", 5);
        at_ += 45;
    }
    put(at("nest.gz"), x.p, x.n);
    walk_trace(&g, at("nest.gz"));
    MT_CHECK_EQ(g.n_err, 1);
    memset(x.p, 0, x.n);
    memcpy(x.p, "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x1c\0MT\x18\0", 16);
    mt_put32(x.p + 32, 100);
    for (at_ = 40; at_ + 5 < x.n; at_ += 5)
        memcpy(x.p + at_, "\0\0\0\xff\xff", 5); /* empty stored blocks */
    put(at("empty.gz"), x.p, x.n);
    walk_trace(&g, at("empty.gz"));
    MT_CHECK_EQ(g.n_err, 1);
    free(x.p);
}

MT_MAIN(MT_SET_UP MT_RUN(whole) MT_RUN(plain_and_piped_and_wrapped) MT_RUN(concatenated) MT_RUN(cut)
            MT_RUN(one_byte_changed) MT_RUN(strange_bytes_between) MT_RUN(part_of_an_attachment)
                MT_RUN(sorts_of_names) MT_RUN(not_a_trace) MT_RUN(little_memory)
                    MT_RUN(hostile_members))
