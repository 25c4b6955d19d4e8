/* input_kit.h -- for the tests of the input layer: writes files, archives and pages, walks them,
 * and keeps what came out. */
#ifndef MT_INPUT_KIT_H
#define MT_INPUT_KIT_H

#include "parser/base/mem.h"
#include "parser/input/input.h"
#include "tests/unit/mt_test.h"

#include <archive.h>
#include <archive_entry.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

static inline struct bytes bytes_of(const void *p, size_t n)
{
    struct bytes b = {malloc(n + 1), n};
    if (b.p == NULL)
        abort();
    memcpy(b.p, p, n);
    b.p[n] = 0;
    return b;
}

/* A snapshot as JSON with n allocations. */
static inline struct bytes snapshot(unsigned n)
{
    size_t cap = 700 + n * 150, at_ = 0;
    char *p = malloc(cap);
    if (p == NULL)
        abort();
    at_ += (size_t)snprintf(
        p + at_, cap - at_,
        "{\"segments\": [{\"device\": 0, \"address\": 140000000000000, \"total_size\": 2097152, "
        "\"allocated_size\": 1024, \"active_size\": 1024, \"requested_size\": 1000, \"stream\": 0, "
        "\"segment_type\": \"small\", \"blocks\": [{\"address\": 140000000000000, \"size\": 1024, "
        "\"requested_size\": 1000, \"state\": \"active_allocated\", \"frames\": []}, {\"address\": "
        "140000000001024, \"size\": 2096128, \"requested_size\": 0, \"state\": \"inactive\", "
        "\"frames\": []}]}], "
        "\"device_traces\": [[");
    for (unsigned i = 0; i < n; i++)
        at_ += (size_t)snprintf(p + at_, cap - at_,
                                "%s{\"action\": \"%s\", \"addr\": %llu, \"size\": 1000, "
                                "\"stream\": 0, \"time_us\": %llu, "
                                "\"frames\": []}",
                                i > 0 ? ", " : "",
                                i % 3 == 0   ? "alloc"
                                : i % 3 == 1 ? "free_requested"
                                             : "free_completed",
                                140000000000000ull + i / 3 * 1024,
                                1700000000000000ull + i * 7919u % 100003u + i * 100ull);
    at_ += (size_t)snprintf(p + at_, cap - at_, "]]}");
    return (struct bytes){(unsigned char *)p, at_};
}

static inline void put(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        abort();
}

static inline void put_text(const char *path, const char *s) { put(path, s, strlen(s)); }

static inline struct bytes slurp(const char *path)
{
    struct bytes b = {NULL, 0};
    b.p = mt_slurp(path, &b.n);
    if (b.p == NULL)
        abort();
    return b;
}

/* format: tar, zip, 7zip, raw; filter: "", gzip, xz, zstd, bzip2, lz4, lzma. Members: name, bytes;
 * NULL ends. */
static inline bool pack(const char *path, const char *format, const char *filter,
                        const char *options, ...)
{
    struct archive *a = archive_write_new();
    const char *name;
    va_list ap;
    bool good = strcmp(format, "tar") == 0
                    ? archive_write_set_format_pax_restricted(a) == ARCHIVE_OK
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
        archive_entry_set_pathname(e, name + (name[0] == '='));
        if (name[0] == '=') { /* a hard link to r0.json */
            archive_entry_set_filetype(e, AE_IFREG);
            archive_entry_set_hardlink(e, "r0.json");
            b.n = 0;
        } else if (name[strlen(name) - 1] == '/') {
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

static struct mt_input_opts opts = {.limits = MT_LIMITS_DEFAULT, .sha256 = true};

/* Everything an input gave: one line per result. */
struct walk {
    char lines[65536]; /* "ok member|encoding|rank|events" or "damaged ..." or "error text" */
    int n_ok, n_damaged, n_err;
    uint64_t ignored, links;
    enum mt_rc last_rc;
    char err[2048];
    char sha[65];
    uint64_t input_bytes, events;
    char diag[1024];
    bool opened;
};

static inline void walk(struct walk *w, const char *path)
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
            snprintf(w->err, sizeof w->err, "%s%s%s", err.msg, err.n_ctx > 0 ? "; " : "",
                     err.n_ctx > 0 ? err.ctx[0] : "");
            at_ += (size_t)snprintf(w->lines + at_, at_ < 60000 ? sizeof w->lines - at_ : 0,
                                    "error %s\n", err.msg);
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
        at_ += (size_t)snprintf(w->lines + at_, at_ < 60000 ? sizeof w->lines - at_ : 0,
                                "%s %s|%s|%d|%llu\n", rc == MT_OK ? "ok" : "damaged",
                                t->meta.member != NULL ? t->meta.member : "-", t->meta.encoding,
                                t->meta.rank, (unsigned long long)w->events);
        mt_trace_free(t);
    }
    {
        struct mt_trace *t = NULL; /* the end stays the end */
        MT_CHECK_EQ(mt_input_next(in, &t, &err), MT_OK);
        MT_CHECK(t == NULL);
    }
    w->ignored = mt_input_ignored(in);
    w->links = mt_input_links(in);
    mt_input_close(in);
    MT_CHECK_EQ(mt_mem_used(), used);
}

static inline void sha(char out[65], struct bytes b)
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
static inline void walk_pipe(struct walk *w, struct bytes b)
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

static inline void html(const char *path, struct bytes a, const char *name, struct bytes b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    FILE *f = fopen(path, "wb");
    struct bytes both[2] = {a, b};
    if (f == NULL)
        abort();
    fputs("\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\nimport "
          "{add_local_files} from "
          "\"https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/"
          "MemoryViz.js\"\nconst local_files = [",
          f);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && b.p == NULL)
            break;
        fprintf(f, "%s{\"name\": \"%s\", \"base64\": \"", i > 0 ? ", " : "",
                i > 0 ? "rank1\\u00e9\\\".json" : name);
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

static inline void clean(void)
{
    char cmd[300];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", tmp);
    if (system(cmd) != 0)
        printf("# cannot remove %s\n", tmp);
}

static inline int set_up(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(tmp, sizeof tmp, "%s/memtrace-test-XXXXXX",
             base != NULL && strlen(base) < 200 ? base : "/tmp");
    if (mkdtemp(tmp) == NULL)
        return 1;
    return atexit(clean);
}

static struct walk w;

#define MT_SET_UP                                                                                  \
    if (set_up() != 0)                                                                             \
        return 2;

#endif
