/* The walk over one input: what is found in files, pipes, archives, pages and directories, and what is said about the rest. */
#include "parser/base/mem.h"
#include "parser/input.h"
#include "tests/unit/mt_test.h"

#include <archive.h>
#include <archive_entry.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static char tmp[256];

static const char *at(const char *name) /* two results live at a time */
{
    static char buf[4][1024];
    static int i;
    i = (i + 1) % 4;
    snprintf(buf[i], sizeof buf[i], "%s/%s", tmp, name);
    return buf[i];
}

struct bytes {
    unsigned char *p;
    size_t n;
};

static struct bytes bytes_of(const void *p, size_t n)
{
    struct bytes b = {malloc(n + 1), n};
    if (b.p == NULL)
        abort();
    memcpy(b.p, p, n);
    b.p[n] = 0;
    return b;
}

/* A snapshot as JSON with n allocations. */
static struct bytes snapshot(unsigned n)
{
    size_t cap = 700 + n * 150, at_ = 0;
    char *p = malloc(cap);
    if (p == NULL)
        abort();
    at_ += (size_t)snprintf(p + at_, cap - at_,
                            "{\"segments\": [{\"device\": 0, \"address\": 140000000000000, \"total_size\": 2097152, "
                            "\"allocated_size\": 1024, \"active_size\": 1024, \"requested_size\": 1000, \"stream\": 0, "
                            "\"segment_type\": \"small\", \"blocks\": [{\"address\": 140000000000000, \"size\": 1024, "
                            "\"requested_size\": 1000, \"state\": \"active_allocated\", \"frames\": []}, {\"address\": "
                            "140000000001024, \"size\": 2096128, \"requested_size\": 0, \"state\": \"inactive\", \"frames\": []}]}], "
                            "\"device_traces\": [[");
    for (unsigned i = 0; i < n; i++)
        at_ += (size_t)snprintf(p + at_, cap - at_,
                                "%s{\"action\": \"%s\", \"addr\": %llu, \"size\": 1000, \"stream\": 0, \"time_us\": %llu, "
                                "\"frames\": []}",
                                i > 0 ? ", " : "", i % 3 == 0 ? "alloc" : i % 3 == 1 ? "free_requested" : "free_completed",
                                140000000000000ull + i / 3 * 1024, 1700000000000000ull + i * 7919u % 100003u + i * 100ull);
    at_ += (size_t)snprintf(p + at_, cap - at_, "]]}");
    return (struct bytes){(unsigned char *)p, at_};
}

static void put(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        abort();
}

static void put_text(const char *path, const char *s) { put(path, s, strlen(s)); }

static struct bytes slurp(const char *path)
{
    struct bytes b = {NULL, 0};
    b.p = mt_slurp(path, &b.n);
    if (b.p == NULL)
        abort();
    return b;
}

/* format: tar, zip, 7zip, raw; filter: "", gzip, xz, zstd, bzip2, lz4, lzma. Members: name, bytes; NULL ends. */
static bool pack(const char *path, const char *format, const char *filter, const char *options, ...)
{
    struct archive *a = archive_write_new();
    const char *name;
    va_list ap;
    bool good = strcmp(format, "tar") == 0 ? archive_write_set_format_pax_restricted(a) == ARCHIVE_OK
                                           : archive_write_set_format_by_name(a, format) == ARCHIVE_OK;
    if (filter[0] != '\0')
        good = good && archive_write_add_filter_by_name(a, filter) == ARCHIVE_OK;
    if (options != NULL)
        good = good && archive_write_set_options(a, options) == ARCHIVE_OK;
    if (options != NULL && strstr(options, "encryption") != NULL)
        good = good && archive_write_set_passphrase(a, "secret") == ARCHIVE_OK;
    archive_write_set_bytes_in_last_block(a, 1);
    good = good && archive_write_open_filename(a, path) == ARCHIVE_OK;
    va_start(ap, options);
    while (good && (name = va_arg(ap, const char *)) != NULL) {
        struct bytes b = va_arg(ap, struct bytes);
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, name);
        if (name[strlen(name) - 1] == '/') {
            archive_entry_set_filetype(e, AE_IFDIR);
            archive_entry_set_perm(e, 0755);
        } else if (b.p == NULL) {
            archive_entry_set_filetype(e, AE_IFLNK);
            archive_entry_set_symlink(e, "r0.json");
        } else {
            archive_entry_set_filetype(e, AE_IFREG);
            archive_entry_set_perm(e, 0644);
            archive_entry_set_size(e, (la_int64_t)b.n);
        }
        good = archive_write_header(a, e) >= ARCHIVE_WARN &&
               (b.p == NULL || b.n == 0 || archive_write_data(a, b.p, b.n) == (la_ssize_t)b.n);
        archive_entry_free(e);
    }
    va_end(ap);
    good = archive_write_close(a) == ARCHIVE_OK && good;
    archive_write_free(a);
    return good;
}
static const struct bytes none = {NULL, 0};

static struct mt_input_opts opts = {.limits = MT_LIMITS_DEFAULT};

/* Everything an input gave: one line per result. */
struct walk {
    char lines[65536]; /* "ok member|encoding|rank|events" or "damaged ..." or "error text" */
    int n_ok, n_damaged, n_err;
    uint64_t ignored;
    enum mt_rc last_rc;
    char err[2048];
    char sha[65];
    uint64_t input_bytes, events;
    char diag[1024];
    bool opened;
};

static void walk(struct walk *w, const char *path)
{
    struct mt_input *in = NULL;
    struct mt_err err;
    size_t at_ = 0;
    uint64_t used = mt_mem_used();
    memset(w, 0, sizeof *w);
    memset(&err, 0, sizeof err);
    w->last_rc = mt_input_open(&in, path, &opts, &err);
    w->opened = w->last_rc == MT_OK;
    if (!w->opened) {
        snprintf(w->err, sizeof w->err, "%s", err.msg);
        MT_CHECK(in == NULL);
        return;
    }
    for (int i = 0; i < 10000; i++) {
        struct mt_trace *t = NULL;
        enum mt_rc rc = mt_input_next(in, &t, &err);
        if (rc == MT_OK && t == NULL)
            break;
        MT_CHECK(i < 9999);
        MT_CHECK((rc >= MT_OK) == (t != NULL));
        if (t == NULL) {
            w->n_err++;
            w->last_rc = rc;
            snprintf(w->err, sizeof w->err, "%s%s%s", err.msg, err.n_ctx > 0 ? "; " : "", err.n_ctx > 0 ? err.ctx[0] : "");
            at_ += (size_t)snprintf(w->lines + at_, at_ < 60000 ? sizeof w->lines - at_ : 0, "error %s\n", err.msg);
            continue;
        }
        MT_CHECK(t->damaged == (rc == MT_WARN));
        w->n_ok += rc == MT_OK;
        w->n_damaged += rc == MT_WARN;
        w->events = t->devices.n > 0 ? t->devices.p[0].events.n : 0;
        w->input_bytes = t->meta.input_bytes;
        memcpy(w->sha, t->meta.sha256, sizeof w->sha);
        MT_CHECK_STR(t->meta.input, path);
        if (t->diags.n > 0)
            snprintf(w->diag, sizeof w->diag, "%s", mt_str(t, t->diags.p[t->diags.n - 1].text));
        at_ += (size_t)snprintf(w->lines + at_, at_ < 60000 ? sizeof w->lines - at_ : 0, "%s %s|%s|%d|%llu\n",
                                rc == MT_OK ? "ok" : "damaged", t->meta.member != NULL ? t->meta.member : "-", t->meta.encoding,
                                t->meta.rank, (unsigned long long)w->events);
        mt_trace_free(t);
    }
    {
        struct mt_trace *t = NULL; /* the end stays the end */
        MT_CHECK_EQ(mt_input_next(in, &t, &err), MT_OK);
        MT_CHECK(t == NULL);
    }
    w->ignored = mt_input_ignored(in);
    mt_input_close(in);
    MT_CHECK_EQ(mt_mem_used(), used);
}

static void sha(char out[65], struct bytes b)
{
    struct sha256_ctx h;
    uint8_t d[32];
    sha256_init(&h);
    sha256_update(&h, b.n, b.p);
    sha256_digest(&h, 32, d);
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", d[i]);
}

/* Runs the walk over standard input fed by a pipe in uneven pieces. */
static void walk_pipe(struct walk *w, struct bytes b)
{
    int fd[2], old = dup(0);
    pid_t child;
    if (pipe(fd) != 0 || (child = fork()) < 0)
        abort();
    if (child == 0) {
        size_t i = 0, step = 1;
        close(fd[0]);
        while (i < b.n) {
            size_t k = b.n - i < step ? b.n - i : step;
            ssize_t r = write(fd[1], b.p + i, k);
            if (r <= 0)
                break;
            i += (size_t)r;
            step = step * 3 % 60001 + 1;
        }
        _exit(0);
    }
    close(fd[1]);
    dup2(fd[0], 0);
    close(fd[0]);
    walk(w, "-");
    dup2(old, 0); /* closes the pipe, so that a writer that was not read to the end gets SIGPIPE */
    close(old);
    waitpid(child, NULL, 0);
}

static struct walk w;

MT_TEST(plain)
{
    struct bytes s = snapshot(100);
    char want[65];
    put(at("a_rank3_pid44.json"), s.p, s.n);
    walk(&w, at("a_rank3_pid44.json"));
    MT_CHECK_STR(w.lines, "ok -||3|100\n");
    MT_CHECK_EQ(w.input_bytes, s.n);
    sha(want, s);
    MT_CHECK_STR(w.sha, want);
    MT_CHECK_EQ(w.ignored, 0);
    free(s.p);
}

MT_TEST(missing)
{
    walk(&w, at("nothing\nhere.pickle"));
    MT_CHECK_EQ(w.last_rc, MT_EIO);
    MT_CHECK_HAS(w.err, "nothing\\x0ahere.pickle: cannot open it: No such file or directory (");
    walk(&w, "");
    MT_CHECK_EQ(w.last_rc, MT_EIO);
    walk(&w, at("a_rank3_pid44.json/b"));
    MT_CHECK_HAS(w.err, "Not a directory");
}

MT_TEST(single_filters)
{
    static const char *const filters[] = {"gzip", "xz", "zstd", "bzip2", "lz4", "lzma"};
    struct bytes s = snapshot(3000);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        char want[256], sum[65];
        struct bytes b;
        if (!pack(at("x"), "raw", filters[i], NULL, "x", s, NULL)) {
            printf("# this libarchive cannot write %s\n", filters[i]);
            continue;
        }
        walk(&w, at("x"));
        snprintf(want, sizeof want, "ok -|%s|-1|3000\n", filters[i]);
        MT_CHECK_STR(w.lines, want);
        b = slurp(at("x"));
        sha(sum, b);
        MT_CHECK_STR(w.sha, sum);
        MT_CHECK_EQ(w.input_bytes, b.n);
        walk_pipe(&w, b);
        MT_CHECK_STR(w.lines, want);
        MT_CHECK_STR(w.sha, sum);
        MT_CHECK_EQ(w.input_bytes, b.n);
        free(b.p);
    }
    free(s.p);
}

MT_TEST(pipe_plain)
{
    struct bytes s = snapshot(5000);
    char want[65];
    sha(want, s);
    walk_pipe(&w, s);
    MT_CHECK_STR(w.lines, "ok -||-1|5000\n");
    MT_CHECK_STR(w.sha, want);
    walk_pipe(&w, (struct bytes){s.p, 0});
    MT_CHECK_EQ(w.last_rc, MT_EINPUT);
    MT_CHECK_HAS(w.err, "standard input: this is an empty file");
    free(s.p);
}

static const struct {
    const char *format, *filter, *encoding;
    bool streams;
} kinds[] = {
    {"tar", "", "tar", true},           {"tar", "gzip", "gzip, tar", true},   {"tar", "xz", "xz, tar", true},
    {"tar", "zstd", "zstd, tar", true}, {"tar", "bzip2", "bzip2, tar", true}, {"tar", "lz4", "lz4, tar", true},
    {"zip", "", "zip", true},           {"7zip", "", "7z", false},
};

MT_TEST(archives)
{
    struct bytes a = snapshot(10), b = snapshot(2000), c = snapshot(30), text = bytes_of("just a note\n", 12);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char want[512], sum[65];
        const char *e = kinds[i].encoding;
        struct bytes all;
        if (!pack(at("ar"), kinds[i].format, kinds[i].filter, NULL, "run/", none, "run/rank_0.json", a, "notes.txt", text,
                  "run/rank_1.json", b, "empty", (struct bytes){text.p, 0}, "run/rank_10.json", c, NULL)) {
            printf("# this libarchive cannot write %s %s\n", kinds[i].format, kinds[i].filter);
            continue;
        }
        snprintf(want, sizeof want, "ok run/rank_0.json|%s|0|10\nok run/rank_1.json|%s|1|2000\nok run/rank_10.json|%s|10|30\n", e, e, e);
        walk(&w, at("ar"));
        if (kinds[i].streams)
            MT_CHECK_STR(w.lines, want);
        MT_CHECK_EQ(w.n_ok, 3);
        MT_CHECK_EQ(w.ignored, 2);
        all = slurp(at("ar"));
        sha(sum, all);
        MT_CHECK_STR(w.sha, sum);
        walk_pipe(&w, all);
        if (kinds[i].streams) {
            MT_CHECK_STR(w.lines, want);
            MT_CHECK_STR(w.sha, "");
        } else {
            MT_CHECK_EQ(w.last_rc, MT_EINPUT);
            MT_CHECK_HAS(w.err, "standard input: a 7z archive");
        }
        free(all.p);
    }
    free(a.p), free(b.p), free(c.p), free(text.p);
}

MT_TEST(stored_zip_by_pipe)
{
    struct bytes a = snapshot(100), b = snapshot(7), all;
    MT_ASSERT(pack(at("s.zip"), "zip", "", "zip:compression=store", "r0.json", a, "r1.json", b, NULL));
    all = slurp(at("s.zip"));
    walk_pipe(&w, all);
    MT_CHECK_STR(w.lines, "ok r0.json|zip|-1|100\nok r1.json|zip|-1|7\n");
    free(a.p), free(b.p), free(all.p);
}

MT_TEST(links_in_archives)
{
    struct bytes a = snapshot(4);
    MT_ASSERT(pack(at("l.tar"), "tar", "", NULL, "r0.json", a, "link.json", none, NULL));
    walk(&w, at("l.tar"));
    MT_CHECK_STR(w.lines, "ok r0.json|tar|-1|4\n");
    free(a.p);
}

MT_TEST(nested)
{
    struct bytes a = snapshot(500), gz, zst, zip, tgz;
    MT_ASSERT(pack(at("m.gz"), "raw", "gzip", NULL, "x", a, NULL));
    gz = slurp(at("m.gz"));
    MT_ASSERT(pack(at("m.zst"), "raw", "zstd", NULL, "x", a, NULL));
    zst = slurp(at("m.zst"));
    MT_ASSERT(pack(at("n.tar"), "tar", "", NULL, "rank0.json.gz", gz, "rank1.json.zst", zst, NULL));
    walk(&w, at("n.tar"));
    MT_CHECK_STR(w.lines, "ok rank0.json.gz|tar, gzip|0|500\nok rank1.json.zst|tar, zstd|1|500\n");
    MT_ASSERT(pack(at("n.zip"), "zip", "", NULL, "rank0.json.zst", zst, NULL));
    walk(&w, at("n.zip"));
    MT_CHECK_STR(w.lines, "ok rank0.json.zst|zip, zstd|0|500\n");
    zip = slurp(at("n.zip"));
    MT_ASSERT(pack(at("n.tgz"), "tar", "gzip", NULL, "b/n.zip", zip, "rank5.json", a, NULL));
    walk(&w, at("n.tgz"));
    MT_CHECK_STR(w.lines, "ok b/n.zip/rank0.json.zst|gzip, tar, zip, zstd|0|500\nok rank5.json|gzip, tar|5|500\n");
    tgz = slurp(at("n.tgz"));
    MT_ASSERT(pack(at("deep.zip"), "zip", "", NULL, "n.tgz", tgz, "rank2.json", a, NULL));
    walk(&w, at("deep.zip"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.lines, "error ");
    MT_CHECK_HAS(w.lines, "deep.zip: n.tgz/b/n.zip/rank0.json.zst: packed more than 4 times (zip, gzip, tar, zip, and now zstd)");
    MT_CHECK_HAS(w.lines, "ok n.tgz/rank5.json|zip, gzip, tar|5|500\nok rank2.json|zip|2|500\n");
    free(a.p), free(gz.p), free(zst.p), free(zip.p), free(tgz.p);
}

MT_TEST(encrypted)
{
    struct bytes a = snapshot(5);
    if (!pack(at("e.zip"), "zip", "", "zip:encryption=traditional", "rank0.json", a, NULL))
        printf("# this libarchive cannot encrypt\n");
    else {
        walk(&w, at("e.zip"));
        MT_CHECK_EQ(w.n_err, 1);
        MT_CHECK_EQ(w.last_rc, MT_EINPUT);
        MT_CHECK_HAS(w.err, "e.zip: rank0.json: this member is encrypted");
    }
    free(a.p);
}

MT_TEST(archive_without_snapshot)
{
    struct bytes t = bytes_of("hello", 5);
    MT_ASSERT(pack(at("no.zip"), "zip", "", NULL, "a.txt", t, "b.txt", t, NULL));
    walk(&w, at("no.zip"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "no.zip: no memory snapshot in this zip file (2 other files in it)");
    MT_ASSERT(pack(at("none.zip"), "zip", "", NULL, NULL));
    walk(&w, at("none.zip"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_EQ(w.last_rc, MT_EINPUT);
    free(t.p);
}

MT_TEST(torch_save)
{
    struct bytes s = snapshot(9), v = bytes_of("3\n", 2), bad = bytes_of("{\"lr\": 1}", 9);
    MT_ASSERT(pack(at("t.pt"), "zip", "", "zip:compression=store", "archive/data.pkl", s, "archive/version", v, "archive/data/0", s, NULL));
    walk(&w, at("t.pt"));
    MT_CHECK_STR(w.lines, "ok archive/data.pkl|zip|-1|9\n");
    MT_CHECK_EQ(w.ignored, 2);
    MT_ASSERT(pack(at("c.pt"), "zip", "", "zip:compression=store", "model/data.pkl", bad, "model/version", v, NULL));
    walk(&w, at("c.pt"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "c.pt: model/data.pkl: this is a torch.save file (a checkpoint?)");
    mkdir(at("ckpt"), 0755);
    MT_ASSERT(rename(at("c.pt"), at("ckpt/c.pt")) == 0);
    put(at("ckpt/rank4.json"), s.p, s.n);
    walk(&w, at("ckpt"));
    MT_CHECK_STR(w.lines, "ok rank4.json||4|9\n");
    free(s.p), free(v.p), free(bad.p);
}

MT_TEST(directory)
{
    struct bytes s = snapshot(3), gz, x = bytes_of("x", 1);
    mkdir(at("d"), 0755);
    mkdir(at("d/b"), 0755);
    mkdir(at("d/empty"), 0755);
    put(at("d/rank_10.json"), s.p, s.n);
    put(at("d/rank_2.json"), s.p, s.n);
    MT_ASSERT(pack(at("d/b/rank7.json.gz"), "raw", "gzip", NULL, "x", s, NULL));
    gz = slurp(at("d/b/rank7.json.gz"));
    MT_ASSERT(pack(at("d/c.tar"), "tar", "", NULL, "in/rank1.json.gz", gz, "in/log.txt", x, NULL));
    put_text(at("d/train.log"), "Traceback (most recent call last):\n");
    put_text(at("d/config.json"), "{\"lr\": 0.1}");
    put_text(at("d/empty.bin"), "");
    put_text(at("d/page.html"), "<!DOCTYPE html><html></html>");
    MT_ASSERT(symlink("../d", at("d/loop")) == 0);
    MT_ASSERT(symlink("rank_2.json", at("d/latest.json")) == 0);
    MT_ASSERT(symlink("/nowhere/at/all", at("d/dangling")) == 0);
    MT_ASSERT(mkfifo(at("d/pipe"), 0644) == 0);
    walk(&w, at("d"));
    MT_CHECK_STR(w.lines, "ok b/rank7.json.gz|gzip|7|3\nok c.tar/in/rank1.json.gz|tar, gzip|1|3\nok rank_10.json||10|3\nok rank_2.json||2|3\n");
    MT_CHECK_EQ(w.ignored, 5);
    MT_CHECK_EQ(w.input_bytes, s.n);
    /* a file that promises to be a snapshot and is none deserves a word */
    put_text(at("d/snapshot_rank3.pickle"), "");
    put_text(at("d/snapshot_rank4.pickle"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n");
    walk(&w, at("d"));
    MT_CHECK_EQ(w.n_ok, 4);
    MT_CHECK_EQ(w.n_err, 2);
    MT_CHECK_HAS(w.lines, "/d/snapshot_rank3.pickle: this is an empty file");
    MT_CHECK_HAS(w.lines, "/d/snapshot_rank4.pickle: this is a git-lfs pointer");
    walk(&w, at("d/empty"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "d/empty: no memory snapshot in this directory");
    if (geteuid() != 0) {
        MT_ASSERT(chmod(at("d/rank_10.json"), 0) == 0);
        walk(&w, at("d"));
        MT_CHECK_EQ(w.n_err, 3);
        MT_CHECK_HAS(w.lines, "/d/rank_10.json: cannot open it: Permission denied");
        MT_CHECK_HAS(w.lines, "ok rank_2.json");
    }
    free(s.p), free(gz.p), free(x.p);
}

static void html(const char *path, struct bytes a, const char *name, struct bytes b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    FILE *f = fopen(path, "wb");
    struct bytes both[2] = {a, b};
    if (f == NULL)
        abort();
    fputs("\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\nimport {add_local_files} from "
          "\"https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js\"\nconst local_files = [", f);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && b.p == NULL)
            break;
        fprintf(f, "%s{\"name\": \"%s\", \"base64\": \"", i > 0 ? ", " : "", i > 0 ? "rank1\\u00e9\\\".json" : name);
        for (size_t k = 0; k < both[i].n; k += 3) {
            uint32_t v = 0;
            size_t left = both[i].n - k;
            for (size_t j = 0; j < 3; j++)
                v = v << 8 | (j < left ? both[i].p[k + j] : 0);
            fputc(digits[v >> 18], f);
            fputc(digits[v >> 12 & 63], f);
            fputc(left > 1 ? digits[v >> 6 & 63] : '=', f);
            fputc(left > 2 ? digits[v & 63] : '=', f);
        }
        fputs("\"}", f);
    }
    fputs("]\nadd_local_files(local_files, 'Active Memory Timeline')\n</script>\n</body>\n", f);
    fclose(f);
}

MT_TEST(pages)
{
    struct bytes a = snapshot(3000), b = snapshot(11), page;
    for (int pad = 0; pad < 3; pad++) {
        a.p[a.n++] = ' '; /* there is room */
        html(at("p_rank6.html"), a, "snapshot.json", none);
        walk(&w, at("p_rank6.html"));
        MT_CHECK_STR(w.lines, "ok snapshot.json|html|6|3000\n");
    }
    html(at("p.html"), a, "rank0.json", b);
    walk(&w, at("p.html"));
    MT_CHECK_STR(w.lines, "ok rank0.json|html|0|3000\nok rank1\xc3\xa9\".json|html|1|11\n");
    page = slurp(at("p.html"));
    walk_pipe(&w, page);
    MT_CHECK_EQ(w.n_ok, 2);
    /* a cut page: the first snapshot is damaged or whole, nothing hangs */
    for (size_t n = 0; n < page.n; n += page.n / 150 + 1) {
        put(at("cut.html"), page.p, n);
        walk(&w, at("cut.html"));
        MT_CHECK(w.n_ok + w.n_damaged + w.n_err > 0);
        if (n > 5000) {
            MT_CHECK_EQ(w.n_ok + w.n_damaged, 1 + (n > page.n - 500));
            MT_CHECK_HAS(w.n_ok == 0 ? w.diag : w.err, n == page.n ? "" : "ends early at offset");
        }
    }
    /* a byte that is no base64 */
    page.p[page.n / 2] = '*';
    put(at("bad.html"), page.p, page.n);
    walk(&w, at("bad.html"));
    MT_CHECK_EQ(w.n_damaged, 1);
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_HAS(w.lines, "ok rank1");
    free(page.p);
    put_text(at("empty.html"), "<!-- saved from url=(0011)about:blank -->\n<html><body>hi</body></html>");
    walk(&w, at("empty.html"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "this is an HTML page without a memory snapshot in it");
    put_text(at("odd.html"), "<html><script>local_files = [17, {}]</script>");
    walk(&w, at("odd.html"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "not as PyTorch's _memory_viz writes them");
    put_text(at("nodata.html"), "<html><script>local_files = [{\"name\": \"x\", \"more\": {\"a\": [1, \"}]\"]}}, {\"base64\": \"\"}]</script>");
    walk(&w, at("nodata.html"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "no memory snapshot in this html file (1 other");
    free(a.p), free(b.p);
}

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
        MT_CHECK_HAS(w.diag, i < gz.n - 4 ? "gzip CRC mismatch at compressed offset" : "gzip length mismatch");
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
            struct bytes piece = {s.p + s.n / 3 * (size_t)part, part < 2 ? s.n / 3 : s.n - s.n / 3 * 2}, z;
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

MT_TEST(cut_archives)
{
    struct bytes a = snapshot(50), b = snapshot(2000);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct bytes all;
        int whole = 0;
        if (!pack(at("ar"), kinds[i].format, kinds[i].filter, NULL, "rank_0.json", a, "rank_1.json", b, "rank_2.json", a, NULL))
            continue;
        all = slurp(at("ar"));
        for (size_t n = 1; n < all.n; n += n < 600 || n > all.n - 600 ? 13 : all.n / 40 + 1) {
            put(at("cut"), all.p, n);
            walk(&w, at("cut"));
            MT_CHECK(w.n_ok + w.n_damaged + w.n_err > 0);
            whole = w.n_ok > whole ? w.n_ok : whole;
            if (w.n_ok < 3 && n >= 512)
                MT_CHECK(w.n_err + w.n_damaged > 0);
            if (w.n_ok < 3 && n >= 512 && w.n_err + w.n_damaged == 0)
                printf("# %s cut at %zu of %zu: %s\n", kinds[i].encoding, n, all.n, w.lines);
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
    MT_ASSERT(pack(at("o.tar"), "tar", "", NULL, "snapshot_rank0.pickle", bad, "rank1.json", a, NULL));
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
    MT_ASSERT(pack(at("m.tar"), "tar", "", NULL, "rank0.json", a, "rank1.json", a, "rank2.json", a, NULL));
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
    MT_CHECK_HAS(w.err, "many: more than 2 files in the directory");
    html(at("many.html"), a, "x", a);
    opts.limits.max_members = 1;
    walk(&w, at("many.html"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_EQ(w.last_rc, MT_ELIMIT);
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
        MT_ASSERT(pack(at("z"), format[i], i == 2 ? "gzip" : "", NULL, "a.bin", zeros, "rank1.json", a, NULL));
        walk(&w, at("z"));
        MT_CHECK(w.n_ok == 1 || w.n_err == 1);
        if (w.n_ok == 0)
            MT_CHECK_HAS(w.err, "--max-ratio");
        all = slurp(at("z"));
        walk_pipe(&w, all);
        MT_CHECK_EQ(w.n_err, 1);
        MT_CHECK_HAS(w.err, i == 1 ? "7z" : "--max-ratio");
        free(all.p);
    }
    opts.limits = saved;
    free(a.p), free(zeros.p);
}

MT_TEST(hash_above_the_limit)
{
    struct bytes s = snapshot(5);
    char want[65];
    size_t n = ((size_t)64 << 20) + 1;
    s.p = realloc(s.p, n);
    MT_ASSERT(s.p != NULL);
    memset(s.p + s.n, ' ', n - s.n);
    s.n = n;
    put(at("big.json"), s.p, s.n);
    walk(&w, at("big.json"));
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_STR(w.sha, "");
    walk_pipe(&w, s);
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_STR(w.sha, "");
    sha(want, s);
    opts.sha256_always = true;
    walk(&w, at("big.json"));
    MT_CHECK_STR(w.sha, want);
    walk_pipe(&w, s);
    MT_CHECK_STR(w.sha, want);
    opts.sha256_always = false;
    MT_ASSERT(truncate(at("big.json"), (off_t)n - 1) == 0);
    s.n--;
    sha(want, s);
    walk(&w, at("big.json"));
    MT_CHECK_STR(w.sha, want);
    free(s.p);
}


static const struct {
    const char *p;
    size_t n;
    const char *says;
} strange[] = {
    {"", 0, "an empty file"},
    {"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 63\n", 62, "run `git lfs pull`"},
    {"memray\0\x0b\0\0\0", 11, "memray capture"},
    {"SQLite format 3\0abcdefgh", 24, "SQLite database"},
    {"\x7f" "ELF\x02\x01\x01", 7, "(ELF)"},
    {"\x89PNG\r\n\x1a\n....", 12, "PNG picture"},
    {"\x93NUMPY\x01\0v\0{'descr'", 18, "NumPy array"},
    {"\x89HDF\r\n\x1a\n....", 12, "HDF5"},
    {"\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}", 26, "safetensors"},
    {"<?xml version=\"1.0\"?><a/>", 25, "XML text"},
    {"Rar!\x1a\x07\x01\0", 8, "RAR archive"},
    {"#!/bin/bash\necho\n", 17, "a script"},
    {"\xff\xfe{\0\"\0", 6, "UTF-16"},
    {"[rank0]: Traceback (most recent call last):\n  x\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n", 97, "CUDA out of memory"},
    {"W0101 torch\nTraceback (most recent call last):\n  x\nKeyError: 1\n", 61, "Python traceback"},
    {"hello world, this is text\n", 26, "this is a text that is no memory snapshot (it starts with \"hello world, thi"},
    {"\x01\x02\xfe\0\x03", 5, "it starts with \"\\x01\\x02\\xfe\\x00\\x03\""},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, "nothing but zero bytes"},
};

MT_TEST(what_is_it)
{
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        put(at("strange"), strange[i].p, strange[i].n);
        walk(&w, at("strange"));
        MT_CHECK_EQ(w.n_err, 1);
        MT_CHECK_EQ(w.last_rc, MT_EINPUT);
        MT_CHECK_HAS(w.err, strange[i].says);
        MT_CHECK_HAS(w.err, "strange: ");
        if (strange[i].n > 0) {
            struct bytes b = bytes_of(strange[i].p, strange[i].n);
            MT_ASSERT(pack(at("strange.gz"), "raw", "gzip", NULL, "x", b, NULL));
            free(b.p);
            walk(&w, at("strange.gz"));
            MT_CHECK_HAS(w.err, strange[i].says);
            MT_CHECK_HAS(w.err, "inside the gzip: ");
        }
    }
}

/* The error stands at the end of a long log. */
MT_TEST(long_log)
{
    FILE *f = fopen(at("train.log"), "wb");
    MT_ASSERT(f != NULL);
    for (int i = 0; i < 40000; i++)
        fprintf(f, "(WorkerDict pid=%d) step %d loss 1.0\n", 1000 + i % 8, i);
    fputs("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", f);
    fclose(f);
    walk(&w, at("train.log"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_EQ(w.last_rc, MT_EINPUT);
}

MT_TEST(hostile_names)
{
    struct bytes a = snapshot(2);
    MT_ASSERT(pack(at("h.tar"), "tar", "", NULL, "../../etc/rank3.json", a, "/abs/rank4.json", a, "x\n\x1b[31m<script>rank5\x7f.json", a,
                   "r\xc3\xa9sum\xc3\xa9_rank6.json", a, "latin\xe9_rank7.json", a, NULL));
    walk(&w, at("h.tar"));
    MT_CHECK_EQ(w.n_ok, 5);
    MT_CHECK_HAS(w.lines, "ok ../../etc/rank3.json|tar|3|2");
    MT_CHECK_HAS(w.lines, "ok x\n\x1b[31m<script>rank5\x7f.json|tar|");
    MT_CHECK_HAS(w.lines, "ok r\xc3\xa9sum\xc3\xa9_rank6.json|tar|6|2");
    MT_CHECK_HAS(w.lines, "_rank7.json|tar|7|2");
    MT_CHECK(access(at("../../etc/rank3.json"), F_OK) != 0);
    MT_ASSERT(pack(at("h.zip"), "zip", "", NULL, "a\nb\x01_snapshot_rank1.pickle", (struct bytes){a.p, 0}, NULL));
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
    const char *paths[4];
    MT_ASSERT(pack(at("nm.gz"), "raw", "gzip", NULL, "x", a, NULL));
    gz = slurp(at("nm.gz"));
    MT_ASSERT(pack(at("nm.tar.gz"), "tar", "gzip", NULL, "rank0.json.gz", gz, "rank1.json", a, NULL));
    html(at("nm.html"), a, "x", a);
    mkdir(at("nmd"), 0755);
    put(at("nmd/rank0.json"), a.p, a.n);
    MT_ASSERT(rename(at("nm.html"), at("nmd/x.html")) == 0);
    MT_ASSERT(pack(at("nm.zip"), "zip", "", NULL, "rank0.json.gz", gz, NULL));
    paths[0] = at("nm.tar.gz");
    paths[1] = at("nmd");
    paths[2] = at("nm.zip");
    paths[3] = at("nm.gz");
    for (int k = 0; k < 4; k++) {
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
    free(a.p), free(gz.p);
}

struct seen {
    uint64_t calls, done, total;
    char name[1024];
};

static void on_progress(void *arg, const char *name, uint64_t done, uint64_t total)
{
    struct seen *s = arg;
    s->calls++;
    MT_CHECK(done >= s->done);
    s->done = done;
    s->total = total;
    snprintf(s->name, sizeof s->name, "%s", name);
}

MT_TEST(progress)
{
    struct seen seen = {0};
    struct bytes s = snapshot(60000);
    put(at("prog.json"), s.p, s.n);
    opts.progress = on_progress;
    opts.progress_arg = &seen;
    walk(&w, at("prog.json"));
    opts.progress = NULL;
    MT_CHECK(seen.calls >= 4 && seen.calls <= s.n >> 20);
    MT_CHECK_EQ(seen.total, s.n);
    MT_CHECK_STR(seen.name, at("prog.json"));
    free(s.p);
}

MT_TEST(shared_data)
{
    char path[1200];
    MT_REQUIRE_SHARED();
    snprintf(path, sizeof path, "%s/torch/derived/bad_lfs_pointer.pickle", mt_shared_data());
    walk(&w, path);
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "git lfs pull");
    snprintf(path, sizeof path, "%s/torch/derived/verl_pr851_megatron_vllm_mempools_torch2.6.json.gz", mt_shared_data());
    walk(&w, path);
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_HAS(w.lines, "|gzip|");
}

static int set_up(void);
MT_MAIN(if (set_up() != 0) return 2; MT_RUN(plain) MT_RUN(missing) MT_RUN(single_filters) MT_RUN(pipe_plain) MT_RUN(archives)
        MT_RUN(stored_zip_by_pipe) MT_RUN(links_in_archives) MT_RUN(nested) MT_RUN(encrypted) MT_RUN(archive_without_snapshot)
        MT_RUN(torch_save) MT_RUN(directory) MT_RUN(pages) MT_RUN(gzip_damage) MT_RUN(cut_archives) MT_RUN(one_bad_member)
        MT_RUN(limits) MT_RUN(bombs_passed_over) MT_RUN(hash_above_the_limit) MT_RUN(what_is_it) MT_RUN(long_log)
        MT_RUN(hostile_names) MT_RUN(long_names) MT_RUN(no_memory) MT_RUN(progress) MT_RUN(shared_data))

static void clean(void)
{
    char cmd[300];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", tmp);
    if (system(cmd) != 0)
        printf("# cannot remove %s\n", tmp);
}

static int set_up(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(tmp, sizeof tmp, "%s/memtrace-test-XXXXXX", base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(tmp) == NULL)
        return 1;
    return atexit(clean);
}
