/* Damaged, cut, oversized and maliciously named inputs, and memory that runs out. */
#include "tests/unit/input_kit.h"

#include <zlib.h>

static const struct {
    const char *format, *filter, *encoding;
    bool streams;
} kinds[] = {
    {"tar", "", "tar", true},
    {"tar", "gzip", "gzip, tar", true},
    {"tar", "xz", "xz, tar", true},
    {"tar", "zstd", "zstd, tar", true},
    {"tar", "bzip2", "bzip2, tar", true},
    {"tar", "lz4", "lz4, tar", true},
    {"zip", "", "zip", true},
    {"7zip", "", "7z", false},
};

MT_TEST(gzip_damage)
{
    struct bytes s = snapshot(400), gz, two;
    MT_ASSERT(pack(at("g.gz"), "raw", "gzip", NULL, "x", s, NULL));
    gz = slurp(at("g.gz"));
    for (size_t n = 3; n < gz.n; n++) {
        put(at("cut.gz"), gz.p, n);
        walk(&w, at("cut.gz"));
        MT_CHECK_EQ(w.n_ok, 0);
        MT_CHECK_EQ(w.n_damaged + w.n_err, 1);
        MT_CHECK_HAS(w.n_err > 0 ? w.err : w.diag, "ends early");
        if (n > gz.n - 8)
            MT_CHECK_EQ(w.events, 400);
    }
    for (size_t i = gz.n - 8; i < gz.n; i++) {
        gz.p[i] ^= 0x10;
        put(at("crc.gz"), gz.p, gz.n);
        gz.p[i] ^= 0x10;
        walk(&w, at("crc.gz"));
        MT_CHECK_EQ(w.n_damaged, 1);
        MT_CHECK_EQ(w.events, 400);
        MT_CHECK_HAS(w.diag, i < gz.n - 4 ? "gzip CRC mismatch at compressed offset"
                                          : "gzip length mismatch");
    }
    /* padding is fine, garbage is named */
    two = bytes_of(gz.p, gz.n);
    two.p = realloc(two.p, gz.n * 2 + 600000);
    memset(two.p + gz.n, 0, 600000);
    put(at("pad.gz"), two.p, gz.n + 600000);
    walk(&w, at("pad.gz"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_STR(w.diag, "");
    two.p[gz.n + 500000] = 'x';
    put(at("pad.gz"), two.p, gz.n + 600000);
    walk(&w, at("pad.gz"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_HAS(w.diag, "bytes that are no gzip follow the zero padding");
    memcpy(two.p + gz.n, "garbage", 7);
    put(at("pad.gz"), two.p, gz.n + 7);
    walk(&w, at("pad.gz"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_HAS(w.diag, "bytes that are no gzip follow the gzip data");
    free(two.p);
    /* members after each other are one stream */
    {
        unsigned char *cat = malloc(gz.n * 2 + 4096);
        size_t n = 0;
        for (int part = 0; part < 3; part++) {
            struct bytes piece = {s.p + s.n / 3 * (size_t)part,
                                  part < 2 ? s.n / 3 : s.n - s.n / 3 * 2},
                         z;
            MT_ASSERT(cat != NULL && pack(at("part.gz"), "raw", "gzip", NULL, "x", piece, NULL));
            z = slurp(at("part.gz"));
            memcpy(cat + n, z.p, z.n);
            n += z.n;
            free(z.p);
        }
        put(at("cat.gz"), cat, n);
        walk(&w, at("cat.gz"));
        MT_CHECK_STR(w.lines, "ok -|gzip|-1|400\n");
        free(cat);
    }
    free(s.p), free(gz.p);
}

static const char *behind_name(const char *err)
{
    const char *p = strstr(err, ": ");
    return p != NULL ? p : err;
}

/* Files are unpacked by ISA-L where it is there, pipes by zlib. What is said of damage, where it is
 * and how far was read before are the same. */
static void check_like_pipe(struct bytes gz, size_t n)
{
    static struct walk piped;
    put(at("same.gz"), gz.p, n);
    walk(&w, at("same.gz"));
    walk_pipe(&piped, (struct bytes){gz.p, n});
    MT_CHECK_EQ(w.n_ok, piped.n_ok);
    MT_CHECK_EQ(w.n_damaged, piped.n_damaged);
    MT_CHECK_STR(w.diag, piped.diag);
    MT_CHECK_STR(behind_name(w.err), behind_name(piped.err));
    MT_CHECK_EQ(w.events, piped.events);
}

MT_TEST(gzip_by_either_library)
{
    struct bytes s = snapshot(9000), gz, twice;
    MT_ASSERT(pack(at("g.gz"), "raw", "gzip", NULL, "x", s, NULL));
    gz = slurp(at("g.gz"));
    check_like_pipe(gz, gz.n);
    for (size_t n = 20; n < gz.n; n += n < gz.n - 12 ? gz.n / 40 : 1)
        check_like_pipe(gz, n);
    for (size_t i = 3; i < gz.n; i += i < 16 || i > gz.n - 12 ? 1 : gz.n / 60) {
        const unsigned char bit = (unsigned char)(1u << i % 8);
        gz.p[i] ^= bit;
        check_like_pipe(gz, gz.n);
        gz.p[i] ^= bit;
    }
    /* the second of two members, which is begun again where it begins */
    twice = bytes_of(gz.p, gz.n);
    twice.p = realloc(twice.p, gz.n * 2);
    MT_ASSERT(twice.p != NULL);
    memcpy(twice.p + gz.n, gz.p, gz.n);
    twice.n = gz.n * 2;
    check_like_pipe(twice, twice.n);
    for (size_t i = gz.n; i < twice.n; i += i < gz.n + 16 ? 1 : gz.n / 20) {
        twice.p[i] ^= 0x20;
        check_like_pipe(twice, twice.n);
        twice.p[i] ^= 0x20;
    }
    free(s.p), free(gz.p), free(twice.p);
}

/* lz4 packs all in one block here: only in the eight bytes behind it is a cut that leaves
 * something, and how long the block is depends on the machine. */
static size_t cut_step(size_t n, size_t all)
{
    if (n > all - 30)
        return 1;
    return n < 600 || n > all - 600 ? 13 : all / 40 + 1;
}

MT_TEST(cut_archives)
{
    struct bytes a = snapshot(50), b = snapshot(2000);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct bytes all;
        int whole = 0;
        if (!pack(at("ar"), kinds[i].format, kinds[i].filter, NULL, "rank_0.json", a, "rank_1.json",
                  b, "rank_2.json", a, NULL))
            continue;
        all = slurp(at("ar"));
        for (size_t n = 1; n < all.n; n += cut_step(n, all.n)) {
            put(at("cut"), all.p, n);
            walk(&w, at("cut"));
            MT_CHECK(w.n_ok + w.n_damaged + w.n_err > 0);
            whole = w.n_ok > whole ? w.n_ok : whole;
            if (w.n_ok < 3 && n >= 512)
                MT_CHECK(w.n_err + w.n_damaged > 0);
            if (w.n_ok < 3 && n >= 512 && w.n_err + w.n_damaged == 0)
                printf("# %s cut at %zu of %zu: %s\n", kinds[i].encoding, n, all.n, w.lines);
            if (n % 4 == 0)
                walk_pipe(&w, (struct bytes){all.p, n});
        }
        /* a 7z archive has its table at the end; the others give what is whole */
        MT_CHECK(whole >= (kinds[i].streams ? 1 : 0));
        for (size_t n = 0; n < all.n; n += n < 600 || n > all.n - 600 ? 7 : all.n / 40 + 1) {
            all.p[n] ^= 0x41;
            put(at("flip"), all.p, all.n);
            walk(&w, at("flip"));
            all.p[n] ^= 0x41;
            MT_CHECK(w.n_ok + w.n_damaged + w.n_err > 0);
        }
        free(all.p);
    }
    free(a.p), free(b.p);
}

MT_TEST(one_bad_member)
{
    struct bytes a = snapshot(5), bad = snapshot(500);
    memcpy(bad.p + bad.n / 2, "{\"segments\": \x01STOP!", 19);
    MT_ASSERT(
        pack(at("o.tar"), "tar", "", NULL, "snapshot_rank0.pickle", bad, "rank1.json", a, NULL));
    walk(&w, at("o.tar"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_EQ(w.n_err + w.n_damaged, 1);
    MT_CHECK_HAS(w.lines, "ok rank1.json|tar|1|5\n");
    free(a.p), free(bad.p);
}

MT_TEST(limits)
{
    struct bytes a = snapshot(5), big;
    struct mt_limits saved = opts.limits;
    gzFile z;
    static char zeros[1 << 16];
    opts.limits.max_members = 2;
    MT_ASSERT(pack(at("m.tar"), "tar", "", NULL, "rank0.json", a, "rank1.json", a, "rank2.json", a,
                   NULL));
    walk(&w, at("m.tar"));
    MT_CHECK_EQ(w.n_ok, 2);
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_EQ(w.last_rc, MT_ELIMIT);
    MT_CHECK_HAS(w.err, "--max-members");
    mkdir(at("many"), 0755);
    put(at("many/a.json"), a.p, a.n);
    put(at("many/b.json"), a.p, a.n);
    put(at("many/c.json"), a.p, a.n);
    walk(&w, at("many"));
    MT_CHECK_EQ(w.n_ok, 2);
    MT_CHECK_EQ(w.last_rc, MT_ELIMIT);
    MT_CHECK_HAS(w.err, "many: more than 2 files in archives and folders");
    html(at("many.html"), a, "x", a);
    opts.limits.max_members = 1;
    walk(&w, at("many.html"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_EQ(w.last_rc, MT_ELIMIT);
    opts.limits = saved;

    MT_ASSERT(pack(at("in.7z"), "7zip", "", NULL, "rank1.json", a, NULL));
    big = slurp(at("in.7z"));
    MT_ASSERT(pack(at("held.tar"), "tar", "", NULL, "in.7z", big, "rank2.json", a, NULL));
    walk(&w, at("held.tar"));
    MT_CHECK_STR(w.lines, "ok in.7z/rank1.json|tar, 7z|1|5\nok rank2.json|tar|2|5\n");
    opts.limits.max_memory = (big.n - 1) * 8;
    walk(&w, at("held.tar"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_EQ(w.last_rc, MT_ELIMIT);
    MT_CHECK_HAS(w.err, "--max-memory");
    free(big.p);
    opts.limits = saved;

    opts.limits.max_bytes = a.n - 10;
    put(at("a.json"), a.p, a.n);
    walk(&w, at("a.json"));
    MT_CHECK_EQ(w.n_damaged + w.n_err, 1);
    MT_CHECK_HAS(w.n_err > 0 ? w.err : w.diag, "--max-bytes");
    walk(&w, at("m.tar"));
    MT_CHECK_EQ(w.n_ok, 0);
    opts.limits = saved;

    {
        char dir[128] = "deep", file[160];
        opts.limits.max_depth = 20;
        for (int i = 1; i <= 22; i++) {
            mkdir(at(dir), 0755);
            snprintf(file, sizeof file, "%s/a.json", dir);
            put(at(file), a.p, a.n);
            strcat(dir, "/x");
        }
    }
    walk(&w, at("deep"));
    MT_CHECK_EQ(w.n_ok, 20);
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.lines, "--max-depth");
    opts.limits = saved;

    /* 80 MiB of blanks inside a snapshot pack to 80 kB */
    memset(zeros, ' ', sizeof zeros);
    z = gzopen(at("bomb.gz"), "wb9");
    MT_ASSERT(z != NULL);
    gzputs(z, "{\"segments\": [], ");
    for (int i = 0; i < 1280; i++)
        gzwrite(z, zeros, sizeof zeros);
    gzputs(z, "\"device_traces\": []}");
    gzclose(z);
    opts.limits.max_ratio = 100;
    walk(&w, at("bomb.gz"));
    MT_CHECK_EQ(w.n_ok, 0);
    MT_CHECK_HAS(w.n_err > 0 ? w.err : w.diag, "--max-ratio");
    big = slurp(at("bomb.gz"));
    walk_pipe(&w, big);
    MT_CHECK_EQ(w.n_ok, 0);
    MT_CHECK_HAS(w.n_err > 0 ? w.err : w.diag, "--max-ratio");
    MT_ASSERT(pack(at("bomb.tar"), "tar", "", NULL, "rank0.json.gz", big, "rank1.json", a, NULL));
    walk(&w, at("bomb.tar"));
    MT_CHECK_HAS(w.lines, "ok rank1.json|tar|1|5");
    MT_CHECK_EQ(w.n_ok, 1);
    opts.limits.max_ratio = 2000; /* deflate cannot pack tighter than 1032 : 1 */
    walk(&w, at("bomb.gz"));
    MT_CHECK_EQ(w.n_ok, 1);
    opts.limits = saved;
    free(big.p);
    free(a.p);
}

/* A bomb that nobody reads still has to be passed over without unpacking it for ever. */
MT_TEST(bombs_passed_over)
{
    static const char *const format[] = {"zip", "7zip", "tar"};
    struct bytes a = snapshot(5), zeros = {calloc(1, 90 << 20), 90 << 20};
    struct mt_limits saved = opts.limits;
    MT_ASSERT(zeros.p != NULL);
    opts.limits.max_ratio = 50;
    for (int i = 0; i < 3; i++) {
        struct bytes all;
        MT_ASSERT(pack(at("z"), format[i], i == 2 ? "gzip" : "", NULL, "a.bin", zeros, "rank1.json",
                       a, NULL));
        walk(&w, at("z"));
        MT_CHECK(w.n_ok == 1 || w.n_err == 1);
        if (w.n_ok == 0)
            MT_CHECK_HAS(w.err, "--max-ratio");
        all = slurp(at("z"));
        walk_pipe(&w, all);
        MT_CHECK(w.n_err == 1 || (i == 1 && w.n_ok == 1));
        if (w.n_err == 1)
            MT_CHECK_HAS(w.err, "--max-ratio");
        free(all.p);
    }
    opts.limits = saved;
    free(a.p), free(zeros.p);
}

MT_TEST(hostile_names)
{
    struct bytes a = snapshot(2);
    MT_ASSERT(pack(at("h.tar"), "tar", "", NULL, "../../etc/rank3.json", a, "/abs/rank4.json", a,
                   "x\n\x1b[31m<script>rank5\x7f.json", a, "r\xc3\xa9sum\xc3\xa9_rank6.json", a,
                   "latin\xe9_rank7.json", a, NULL));
    walk(&w, at("h.tar"));
    MT_CHECK_EQ(w.n_ok, 5);
    MT_CHECK_HAS(w.lines, "ok ../../etc/rank3.json|tar|3|2");
    MT_CHECK_HAS(w.lines, "ok x\n\x1b[31m<script>rank5\x7f.json|tar|");
    MT_CHECK_HAS(w.lines, "ok r\xc3\xa9sum\xc3\xa9_rank6.json|tar|6|2");
    MT_CHECK_HAS(w.lines, "_rank7.json|tar|7|2");
    MT_CHECK(access(at("../../etc/rank3.json"), F_OK) != 0);
    MT_ASSERT(pack(at("h.zip"), "zip", "", NULL, "a\nb\x01_snapshot_rank1.pickle",
                   (struct bytes){a.p, 0}, NULL));
    walk(&w, at("h.zip"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "h.zip: a\\x0ab\\x01_snapshot_rank1.pickle: this is an empty file");
    for (const char *p = w.err; *p != '\0'; p++)
        MT_CHECK(*p >= 0x20 && *p < 0x7f);
    free(a.p);
}

/* A name longer than the message. */
MT_TEST(long_names)
{
    char name[4000];
    struct bytes a = snapshot(2);
    memset(name, 'n', sizeof name);
    memcpy(name + sizeof name - 22, "/snapshot_rank12.json", 22);
    MT_ASSERT(pack(at("long.tar"), "tar", "", NULL, name, a, NULL));
    walk(&w, at("long.tar"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_HAS(w.lines, "nnn/snapshot_rank12.json|tar|12|2");
    memcpy(name + sizeof name - 8, ".pickle", 8);
    MT_ASSERT(pack(at("long.tar"), "tar", "", NULL, name, (struct bytes){a.p, 0}, NULL));
    walk(&w, at("long.tar"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "snapshot_rank.pickle: this is an empty file");
    free(a.p);
}

/* Wherever memory ends: an error or less data, nothing leaked. */
MT_TEST(no_memory)
{
    struct bytes a = snapshot(20), gz;
    const char *paths[5];
    struct bytes z7;
    char held[512];
    MT_ASSERT(pack(at("nm.gz"), "raw", "gzip", NULL, "x", a, NULL));
    gz = slurp(at("nm.gz"));
    MT_ASSERT(
        pack(at("nm.tar.gz"), "tar", "gzip", NULL, "rank0.json.gz", gz, "rank1.json", a, NULL));
    html(at("nm.html"), a, "x", a);
    mkdir(at("nmd"), 0755);
    put(at("nmd/rank0.json"), a.p, a.n);
    MT_ASSERT(rename(at("nm.html"), at("nmd/x.html")) == 0);
    MT_ASSERT(pack(at("nm.zip"), "zip", "", NULL, "rank0.json.gz", gz, NULL));
    MT_ASSERT(pack(at("nm.7z"), "7zip", "", NULL, "rank0.json", a, NULL));
    z7 = slurp(at("nm.7z"));
    MT_ASSERT(pack(at("nm7.tar"), "tar", "", NULL, "nm.7z", z7, NULL));
    snprintf(held, sizeof held, "%s", at("nm7.tar"));
    paths[4] = held;
    paths[0] = at("nm.tar.gz");
    paths[1] = at("nmd");
    paths[2] = at("nm.zip");
    paths[3] = at("nm.gz");
    for (int k = 0; k < 5; k++) {
        bool done = false;
        for (uint64_t n = 1; n < 3000 && !done; n++) {
            struct mt_input *in = NULL;
            struct mt_err err = {0};
            struct mt_trace *t;
            uint64_t used = mt_mem_used();
            int traces = 0, steps = 0;
            enum mt_rc rc;
            uint64_t calls = mt_mem_calls();
            mt_mem_fail_after(n);
            rc = mt_input_open(&in, paths[k], &opts, &err);
            while (rc >= MT_OK && steps++ < 50) {
                rc = mt_input_next(in, &t, &err);
                if (rc == MT_OK && t == NULL)
                    break;
                traces += t != NULL;
                mt_trace_free(t);
            }
            MT_CHECK(steps < 50);
            done = mt_mem_calls() - calls < n;
            mt_mem_fail_after(0);
            mt_input_close(in);
            MT_CHECK_EQ(mt_mem_used(), used);
            if (done)
                MT_CHECK_EQ(traces, k == 0 ? 2 : k == 1 ? 3 : 1);
        }
        MT_CHECK(done);
    }
    free(a.p), free(gz.p), free(z7.p);
}

MT_MAIN(MT_SET_UP MT_RUN(gzip_damage) MT_RUN(gzip_by_either_library) MT_RUN(cut_archives)
            MT_RUN(one_bad_member) MT_RUN(limits) MT_RUN(bombs_passed_over) MT_RUN(hostile_names)
                MT_RUN(long_names) MT_RUN(no_memory))
