/* scan.c -- what lies in a spool directory. Names are mt-<host>-<pid>-<uid, 16 hex digits> and an
 * ending; a host may hold dashes. */
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 50000u
#define NUMBERS_MAX 1024u /* the recorder has 128 at most */

static bool parse_number(const char *s, size_t n, unsigned base, uint64_t *out)
{
    *out = 0;
    if (n == 0 || n > 16)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *digits = "0123456789abcdef", *d = memchr(digits, s[i], base);
        if (d == NULL)
            return false;
        *out = *out * base + (uint64_t)(d - digits);
    }
    return true;
}

struct name {
    size_t n_host;
    uint64_t pid, uid;
    const char *rest; /* behind the uid */
};

/* The first "-<digits>-<hex>" that is followed by an ending or a further part is pid and uid. An
 * attachment's uid may be 0. */
static bool parse_name(const char *s, struct name *out)
{
    const char *host = s + 3;
    if (strncmp(s, "mt-", 3) != 0)
        return false;
    for (const char *dash = strchr(host, '-'); dash != NULL; dash = strchr(dash + 1, '-')) {
        const char *pid = dash + 1, *uid;
        size_t n_pid = strspn(pid, "0123456789"), n_uid;
        if (n_pid == 0 || pid[n_pid] != '-')
            continue;
        uid = pid + n_pid + 1;
        n_uid = strspn(uid, "0123456789abcdef");
        if ((n_uid != 16 && !(n_uid == 1 && uid[0] == '0')) ||
            (uid[n_uid] != '.' && uid[n_uid] != '-'))
            continue;
        out->n_host = (size_t)(dash - host);
        out->rest = uid + n_uid;
        return parse_number(pid, n_pid, 10, &out->pid) && out->pid <= UINT32_MAX &&
               parse_number(uid, n_uid, 16, &out->uid);
    }
    return false;
}

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* What a file of a process is by the end of its name; number: of a numbered file. */
enum part { PART_NONE, PART_SPOOL, PART_GZ, PART_NUMBERED, PART_BASE };

static enum part part_of(const char *rest, uint64_t *number)
{
    size_t digits = rest[0] == '.' ? strspn(rest + 1, "0123456789") : 0;
    *number = 0;
    if (strcmp(rest, ".spool") == 0)
        return PART_SPOOL;
    if (strcmp(rest, ".gz") == 0)
        return PART_GZ;
    if (strcmp(rest, ".base.gz") == 0)
        return PART_BASE;
    if (digits > 0 && strcmp(rest + 1 + digits, ".gz") == 0 &&
        parse_number(rest + 1, digits, 10, number))
        return PART_NUMBERED;
    return PART_NONE;
}

static bool add_process(struct mt_scan *s, const char *name, const struct name *w, enum part part,
                        uint64_t number, uint64_t bytes)
{
    struct mt_found *f = NULL;
    size_t n_stem = (size_t)(w->rest - name);
    uint64_t *at;
    for (uint32_t i = s->processes.n; i-- > 0 && f == NULL;)
        if (s->processes.p[i].uid == w->uid && strlen(s->processes.p[i].stem) == n_stem &&
            memcmp(s->processes.p[i].stem, name, n_stem) == 0)
            f = &s->processes.p[i];
    if (f == NULL) {
        f = MT_VEC_PUSH(&s->processes);
        if (f == NULL)
            return false;
        f->host = mt_strndup(name + 3, w->n_host);
        f->stem = mt_strndup(name, n_stem);
        f->uid = w->uid;
        f->pid = (uint32_t)w->pid;
        if (f->host == NULL || f->stem == NULL)
            return false;
    }
    f->has_gz |= part == PART_GZ;
    f->has_spool |= part == PART_SPOOL;
    f->bytes += part != PART_SPOOL ? bytes : 0;
    if (part != PART_NUMBERED)
        return true;
    at = MT_VEC_PUSH(&f->numbers);
    if (at != NULL)
        *at = number;
    return at != NULL;
}

static bool add_file(struct mt_scan *s, const char *name, const struct name *w, const char *kind,
                     uint64_t bytes)
{
    struct mt_found_file *f = MT_VEC_PUSH(&s->files);
    if (f == NULL)
        return false;
    f->name = mt_strndup(name, strlen(name));
    f->host = w != NULL ? mt_strndup(name + 3, w->n_host) : mt_strndup("", 0);
    f->kind = kind;
    f->bytes = bytes;
    if (w != NULL) {
        f->uid = w->uid;
        f->pid = (uint32_t)w->pid;
    }
    return f->name != NULL && f->host != NULL;
}

static bool add(struct mt_scan *s, const char *name, uint64_t bytes)
{
    struct name w;
    uint64_t number;
    enum part part;
    bool known;
    if (strcmp(name, MT_LAUNCH_FILE) == 0) {
        s->has_launch = true;
        return true;
    }
    if (strncmp(name, "mt-", 3) != 0 || strcmp(name, MT_INNER_FILE) == 0)
        return true;
    known = parse_name(name, &w);
    if (known && (part = part_of(w.rest, &number)) != PART_NONE)
        return add_process(s, name, &w, part, number, bytes);
    if (ends(name, ".pickle") && bytes > 0)
        return add_file(s, name, known ? &w : NULL, "torch_snapshot", bytes);
    if (ends(name, ".txt"))
        return add_file(s, name, known ? &w : NULL, "text", bytes);
    return true;
}

static int by_host_and_start(const void *a, const void *b)
{
    const struct mt_found *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    if (order != 0)
        return order;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->uid < y->uid ? -1 : x->uid > y->uid;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct mt_found_file *)a)->name, ((const struct mt_found_file *)b)->name);
}

static int by_number(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return a < b ? -1 : a > b;
}

/* When the first whole chunk of a file was opened; 0 = it has none. False: out of memory. */
static bool first_chunk(char *path, uint64_t *start)
{
    struct mt_members m;
    struct mt_member first;
    bool ok = path != NULL;
    int fd = ok ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    mt_free(path);
    if (fd < 0)
        return ok;
    ok = mt_members_open(&m, fd);
    if (ok && mt_members_next(&m, &first))
        *start = first.chunk.realtime;
    if (ok)
        mt_members_done(&m);
    (void)close(fd);
    return ok;
}

/* When the process began, from its first chunk; 0 when it left none. */
static bool find_start(struct mt_found *f, const char *dir)
{
    struct mt_spool spool;
    char *path;

    if (f->numbers.n > 1)
        qsort(f->numbers.p, f->numbers.n, sizeof *f->numbers.p, by_number);
    if (!first_chunk(mt_text("%s/%s.gz", dir, f->stem), &f->start))
        return false;
    if (f->start == 0 && f->numbers.n > 0 &&
        !first_chunk(mt_text("%s/%s.%llu.gz", dir, f->stem, (unsigned long long)f->numbers.p[0]),
                     &f->start))
        return false;
    if (f->start != 0 || !f->has_spool)
        return true;
    path = mt_text("%s/%s.spool", dir, f->stem);
    if (path == NULL || !mt_spool_read(&spool, path)) {
        mt_free(path);
        return false;
    }
    mt_free(path);
    for (uint32_t i = 0; i < spool.slots.n; i++)
        if (f->start == 0 || spool.slots.p[i].chunk.realtime < f->start)
            f->start = spool.slots.p[i].chunk.realtime;
    mt_spool_done(&spool);
    return true;
}

/* A folder that cannot be read to its end is not one that ends there: what is left out would be
 * removed with the folder. */
static const struct dirent *next_of(DIR *d, int *error)
{
    const struct dirent *e;
    errno = 0;
    e = readdir(d);
    if (e == NULL)
        *error = errno;
    return e;
}

enum mt_rc mt_scan_dir(struct mt_scan *s, const char *dir, struct mt_err *err)
{
    char shown[300];
    DIR *d;
    const struct dirent *e;
    int error = 0;
    bool ok = true;

    memset(s, 0, sizeof *s);
    (void)mt_printable(shown, sizeof shown, dir, strlen(dir));
    d = opendir(dir);
    if (d == NULL)
        return mt_fail(
            err, MT_EIO, "%s: %s", shown,
            errno == ENOENT ? "there is no such folder; give the spool directory that 'memtrace "
                              "capture' printed"
            : errno == ENOTDIR
                ? "not a folder; give the spool directory that 'memtrace capture' printed"
                : strerror(errno));
    while (ok && error == 0 && (e = next_of(d, &error)) != NULL) {
        struct stat st;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            error = errno == ENOENT ? 0 : errno; /* gone meanwhile */
            continue;
        }
        if (!S_ISREG(st.st_mode))
            continue;
        if (s->processes.n + s->files.n >= FILES_MAX)
            break;
        ok = add(s, e->d_name, (uint64_t)st.st_size);
    }
    (void)closedir(d);
    for (uint32_t i = 0; ok && i < s->processes.n; i++) {
        ok = find_start(&s->processes.p[i], dir);
        s->bytes += s->processes.p[i].bytes;
    }
    for (uint32_t i = 0; ok && i < s->files.n; i++)
        s->bytes += s->files.p[i].bytes;
    if (!ok || error != 0) {
        mt_scan_done(s);
        return ok ? mt_fail(err, MT_EIO, "%s: %s", shown, strerror(error))
                  : mt_fail(err, MT_ENOMEM, "%s: out of memory", shown);
    }
    if (s->processes.n > 1)
        qsort(s->processes.p, s->processes.n, sizeof *s->processes.p, by_host_and_start);
    if (s->files.n > 1)
        qsort(s->files.p, s->files.n, sizeof *s->files.p, by_name);
    return MT_OK;
}

/* Ascending, with those between that readdir() has left out because they came meanwhile. */
static bool fill_numbers(struct mt_found *f)
{
    uint64_t first, between;
    if (f->numbers.n < 2)
        return true;
    qsort(f->numbers.p, f->numbers.n, sizeof *f->numbers.p, by_number);
    first = f->numbers.p[0];
    between = f->numbers.p[f->numbers.n - 1] - first;
    if (between >= NUMBERS_MAX)
        return true;
    while (f->numbers.n <= between)
        if (MT_VEC_PUSH(&f->numbers) == NULL)
            return false;
    for (uint32_t i = 0; i <= between; i++)
        f->numbers.p[i] = first + i;
    return true;
}

int mt_scan_numbers(struct mt_found *f, const char *dir)
{
    size_t n_stem = strlen(f->stem);
    DIR *d = opendir(dir);
    const struct dirent *e;
    int error = 0;
    bool ok = true;
    f->numbers.n = 0;
    if (d == NULL)
        return errno;
    while (ok && (e = next_of(d, &error)) != NULL) {
        uint64_t number, *at;
        if (strncmp(e->d_name, f->stem, n_stem) != 0 ||
            part_of(e->d_name + n_stem, &number) != PART_NUMBERED)
            continue;
        at = MT_VEC_PUSH(&f->numbers);
        ok = at != NULL;
        if (ok)
            *at = number;
    }
    (void)closedir(d);
    return error != 0 ? error : ok && fill_numbers(f) ? 0 : ENOMEM;
}

void mt_scan_done(struct mt_scan *s)
{
    for (uint32_t i = 0; i < s->processes.n; i++) {
        mt_free(s->processes.p[i].host);
        mt_free(s->processes.p[i].stem);
        MT_VEC_DONE(&s->processes.p[i].numbers);
    }
    for (uint32_t i = 0; i < s->files.n; i++) {
        mt_free(s->files.p[i].name);
        mt_free(s->files.p[i].host);
    }
    MT_VEC_DONE(&s->processes);
    MT_VEC_DONE(&s->files);
}

uint32_t mt_scan_running(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    uint32_t n = 0;
    if (d == NULL)
        return 0;
    while ((e = readdir(d)) != NULL)
        if (strncmp(e->d_name, "mt-", 3) == 0 && ends(e->d_name, ".spool")) {
            char *path = mt_path_join(dir, e->d_name);
            n += path != NULL && mt_spool_locked(path);
            mt_free(path);
        }
    (void)closedir(d);
    return n;
}

uint32_t mt_scan_waiting(const char *dir)
{
    char real[PATH_MAX], *buf = mt_malloc(MT_ENVIRON_MAX);
    const char *spool = realpath(dir, real) != NULL ? real : dir, *of;
    DIR *d = opendir("/proc");
    const struct dirent *e;
    uint32_t n = 0;

    while (d != NULL && buf != NULL && (e = readdir(d)) != NULL) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10), above = getpid();
        if (pid <= 0 || (of = mt_process_env(pid, "MEMTRACE_SPOOL", buf, MT_ENVIRON_MAX)) == NULL ||
            strcmp(of, spool) != 0)
            continue;
        for (int depth = 0; depth < 64 && above > 1 && above != pid;
             depth++) /* not us, nor who started us */
            above = mt_parent_of(above);
        n += above != pid;
    }
    if (d != NULL)
        (void)closedir(d);
    mt_free(buf);
    return n;
}

bool mt_scan_is_part(const char *name)
{
    return strncmp(name, "mt-", 3) == 0 &&
           (ends(name, ".gz") || ends(name, ".spool") || ends(name, ".pickle") ||
            ends(name, ".txt") || ends(name, ".part"));
}

void mt_scan_remove(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    if (d == NULL)
        return;
    while ((e = readdir(d)) != NULL) {
        if (mt_scan_is_part(e->d_name))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    }
    (void)closedir(d);
    (void)rmdir(dir);
}
