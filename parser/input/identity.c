/* input/identity.c -- rank, process and host out of a file name. A snapshot itself holds none of
 * them.
 *
 * A wrong rank is worse than none, so only forms that a framework is known to write are trusted:
 *
 * - verl: {tag}_rank{R}_pid{P}.pickle (verl/utils/memory_utils.py)
 * - AReaL: snapshot_rank{R:02d}_p{pp}d{dp}c{cp}t{tp}.pickle (areal/engine/megatron_engine.py)
 * - slime: memory_snapshot_time{T}_rank{R}_{name} (slime/observability/profile_utils.py)
 * - Megatron-LM: {base}_oom_rank_{rank}{ext} (megatron/training/utils/utils.py); of its
 *   {base}_{rank}{ext} the name alone is no proof: mt_name_number()
 * - torchtitan: {rank:06d}_step_{step}.pickle, rank{r}_memory_snapshot.pickle
 *   (torchtitan/tools/profiler.py)
 * - lmms-engine: oom_rank{N}.pickle
 * - Ray, a log: worker-{id}-{job}-{pid}.out (python/ray/_private/log_monitor.py)
 * - SGLang: {id}-TP-{rank}[...]-memory.pickle
 * - memtrace: mt-{host}-{pid}-{uid}-rank{R}-{why}-dev{N}.pickle (capture/site/sitecustomize.py)
 * - PyTorch: {host}_{pid}.{time}.pt.trace.json (torch/profiler/profiler.py)
 * - PyTorch's articles "Understanding GPU Memory": {host}_{Mon}_{dd}_{HH}_{MM}_{SS}.pickle */
#include "parser/input/input.h"

#include <string.h>

struct span {
    const char *p;
    size_t n;
};

struct identity {
    int64_t rank, pid;
    struct span host;
};

static bool digit(char c) { return c >= '0' && c <= '9'; }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
static bool letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

static bool same(const char *p, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lower(p[i]) != lower(word[i]))
            return false;
    return true;
}

static bool ends_with(struct span s, const char *word)
{
    size_t n = strlen(word);
    return s.n >= n && same(s.p + s.n - n, word, n);
}

static bool holds(struct span s, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= s.n; i++)
        if (same(s.p + i, word, n))
            return true;
    return false;
}

/* Digits at s[at..): their value and how many; -1 when there are none or they do not fit. */
static int64_t number(struct span s, size_t at, size_t *n_digits)
{
    int64_t v = 0;
    size_t i = at;
    bool fits = true;
    for (; i < s.n && digit(s.p[i]); i++)
        fits = fits && !__builtin_mul_overflow(v, 10, &v) &&
               !__builtin_add_overflow(v, s.p[i] - '0', &v);
    *n_digits = i - at;
    return i == at || !fits ? -1 : v;
}

static struct span strip_extensions(struct span s, bool *snapshot_like)
{
    static const char *const known[] = {".pickle", ".pkl", ".json", ".gz",  ".xz",  ".zst", ".zstd",
                                        ".bz2",    ".lz4", ".lzma", ".tar", ".tgz", ".txz", ".tbz2",
                                        ".tzst",   ".zip", ".7z",   ".pt",  ".pth", ".bin", ".html",
                                        ".htm",    ".log", ".out",  ".err"};
    bool again = true;
    *snapshot_like = false;
    while (again) {
        again = false;
        for (size_t i = 0; i < sizeof known / sizeof *known && !again; i++)
            if (s.n > strlen(known[i]) && ends_with(s, known[i])) {
                s.n -= strlen(known[i]);
                *snapshot_like |= i < 3;
                again = true;
            }
    }
    return s;
}

/* A word with a number: rank3, rank_03, rank-3, pid=41; the word does not continue another one, the
 * number no letters. */
static int64_t tagged(struct span s, const char *word, int64_t max)
{
    size_t n = strlen(word), n_digits;
    for (size_t i = 0; i + n < s.n; i++) {
        size_t at = i + n;
        struct span before = {s.p, i};
        int64_t v;
        if (!same(s.p + i, word, n) || (i > 0 && (letter(s.p[i - 1]) || digit(s.p[i - 1]))))
            continue;
        /* the rank of a matrix, or a rank among the processes of one host: not the process's rank
         */
        if (ends_with(before, "lora_") || ends_with(before, "lora-") || ends_with(before, "low_") ||
            ends_with(before, "low-") || ends_with(before, "local_") || ends_with(before, "local-"))
            continue;
        if (s.p[at] == '_' || s.p[at] == '-' || s.p[at] == '=')
            at++;
        v = number(s, at, &n_digits);
        if (v < 0 || v > max || (at + n_digits < s.n && letter(s.p[at + n_digits])))
            continue;
        return v;
    }
    return -1;
}

/* <id>-TP-<rank>[-DP-..]-memory */
static int64_t sglang(struct span s)
{
    size_t n_digits;
    if (!ends_with(s, "-memory"))
        return -1;
    for (size_t i = 0; i + 4 < s.n; i++) {
        int64_t v;
        if (memcmp(s.p + i, "-TP-", 4) != 0)
            continue;
        v = number(s, i + 4, &n_digits);
        if (v >= 0 && v <= INT32_MAX && i + 4 + n_digits < s.n && s.p[i + 4 + n_digits] == '-')
            return v;
    }
    return -1;
}

/* <rank, six digits>_step_<step> */
static int64_t torchtitan(struct span s)
{
    size_t n, m;
    int64_t v = number(s, 0, &n);
    if (v < 0 || v > INT32_MAX || n < 6 || s.n < n + 7 || memcmp(s.p + n, "_step_", 6) != 0)
        return -1;
    return number(s, n + 6, &m) >= 0 && n + 6 + m == s.n ? v : -1;
}

/* <base>_<rank>: the base has to speak of a memory snapshot, the word before the number must not be
 * what else is counted in names, and the number must be written as a rank is: short, no leading
 * zero, no year. */
static int32_t ending(struct span s)
{
    static const char *const counted[] = {
        "step", "steps", "epoch",   "iter",   "iters", "iteration", "time",
        "date", "day",   "version", "v",      "part",  "batch",     "mb",
        "run",  "pid",   "size",    "len",    "seq",   "gpu",       "trial",
        "exp",  "try",   "round",   "device", "node",  "job",       "attempt"};
    struct span base;
    size_t i = s.n, word;
    while (i > 0 && digit(s.p[i - 1]))
        i--;
    if (i < 2 || i == s.n || s.n - i > 3 || s.p[i - 1] != '_' || (s.p[i] == '0' && s.n - i > 1))
        return -1;
    base = (struct span){s.p, i - 1};
    if (!holds(base, "snapshot") && !holds(base, "memory") && !holds(base, "oom"))
        return -1;
    for (size_t k = 0; k < base.n; k++) /* dates and other numbers around it: too unclear */
        if (digit(base.p[k]) && k + 1 == base.n)
            return -1;
    word = base.n;
    while (word > 0 && letter(base.p[word - 1]))
        word--;
    for (size_t k = 0; k < sizeof counted / sizeof *counted; k++)
        if (base.n - word == strlen(counted[k]) && same(base.p + word, counted[k], base.n - word))
            return -1;
    return (int32_t)number(s, i, &word);
}

int32_t mt_name_number(const char *name)
{
    size_t end = strlen(name), at = end;
    struct span s;
    bool snapshot_like;
    while (at > 0 && name[at - 1] != '/' && name[at - 1] != '\\')
        at--;
    s = strip_extensions((struct span){name + at, end - at}, &snapshot_like);
    return snapshot_like ? ending(s) : -1;
}

/* worker-<id, hex>-<job, hex>-<pid>: Ray's log of one worker process */
static int64_t ray_worker(struct span s)
{
    size_t at = 7, n;
    if (s.n < 10 || !same(s.p, "worker-", 7))
        return -1;
    for (int part = 0; part < 2; part++) {
        size_t from = at;
        while (at < s.n && (digit(s.p[at]) || (lower(s.p[at]) >= 'a' && lower(s.p[at]) <= 'f')))
            at++;
        if (at - from < 8 || at == s.n || s.p[at++] != '-')
            return -1;
    }
    return number(s, at, &n) >= 0 && at + n == s.n ? number(s, at, &n) : -1;
}

static bool host_name(struct span s)
{
    if (s.n == 0 || s.n > 253 || !letter(s.p[0]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!letter(s.p[i]) && !digit(s.p[i]) && s.p[i] != '-' && s.p[i] != '.')
            return false;
    return true;
}

/* <host>_<Mon>_<dd>_<HH>_<MM>_<SS> at the end of the stem */
static struct span dated_host(struct span s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const size_t tail = sizeof "_May_03_12_33_10" - 1;
    struct span none = {NULL, 0}, host;
    const char *t;
    bool month = false;
    if (s.n <= tail)
        return none;
    host = (struct span){s.p, s.n - tail};
    t = s.p + host.n;
    for (size_t m = 0; m < 12; m++)
        month |= memcmp(t + 1, months + 3 * m, 3) == 0;
    if (!month || t[0] != '_')
        return none;
    for (size_t k = 4; k < tail; k += 3)
        if (t[k] != '_' || !digit(t[k + 1]) || !digit(t[k + 2]))
            return none;
    return host_name(host) ? host : none;
}

/* <host>_<pid>.<time>.pt.trace, what PyTorch's profiler names its files when nobody says otherwise
 */
static void profiler_default(struct span s, struct identity *id)
{
    size_t at, n, m;
    int64_t pid;
    if (s.n > 6 && ends_with(s, ".trace"))
        s.n -= 6;
    if (s.n > 3 && ends_with(s, ".pt"))
        s.n -= 3;
    for (at = s.n; at > 0 && s.p[at - 1] != '_'; at--)
        ;
    if (at < 2)
        return;
    pid = number(s, at, &n);
    if (pid < 1 || at + n + 1 >= s.n || s.p[at + n] != '.' || number(s, at + n + 1, &m) < 0 ||
        m < 13 || at + n + 1 + m != s.n)
        return;
    if (!host_name((struct span){s.p, at - 1}))
        return;
    id->host = (struct span){s.p, at - 1};
    id->pid = pid;
}

/* mt-<host>-<pid>-<uid, hex>-rank<R or x>-..., read from the end of the uid: a host may have dashes
 * and digits of its own. */
static bool memtrace_own(struct span s, struct identity *id)
{
    if (s.n < 3 || memcmp(s.p, "mt-", 3) != 0)
        return false;
    for (size_t i = s.n; i-- > 3;) {
        size_t uid = i, pid, n;
        if (s.n - i < 6 || memcmp(s.p + i, "-rank", 5) != 0)
            continue;
        while (uid > 3 && (digit(s.p[uid - 1]) || (s.p[uid - 1] >= 'a' && s.p[uid - 1] <= 'f')))
            uid--;
        if (uid == i || uid < 6 || s.p[uid - 1] != '-')
            continue;
        for (pid = uid - 1; pid > 3 && digit(s.p[pid - 1]); pid--)
            ;
        if (pid == uid - 1 || pid < 5 || s.p[pid - 1] != '-')
            continue;
        id->pid = number(s, pid, &n);
        id->host = (struct span){s.p + 3, pid - 4};
        id->rank = number(s, i + 5, &n);
        if (id->rank > INT32_MAX)
            id->rank = -1;
        return true;
    }
    return false;
}

static void from_file(struct span name, struct identity *id)
{
    bool snapshot_like;
    struct span s = strip_extensions(name, &snapshot_like);
    if (memtrace_own(s, id))
        return;
    id->rank = tagged(s, "rank", INT32_MAX);
    if (id->rank < 0)
        id->rank = sglang(s);
    if (id->rank < 0)
        id->rank = torchtitan(s);
    id->pid = tagged(s, "pid", INT64_MAX);
    if (id->pid < 0)
        id->pid = ray_worker(s);
    id->host = dated_host(s);
    if (id->host.n == 0 && id->pid < 0)
        profiler_default(s, id);
}

bool mt_name_identity(const char *name, int32_t *rank, int64_t *pid, char **host)
{
    struct identity id = {-1, -1, {NULL, 0}};
    size_t end = strlen(name), at;
    bool last = true;
    while (end > 0) {
        struct span part;
        for (at = end; at > 0 && name[at - 1] != '/' && name[at - 1] != '\\'; at--)
            ;
        part = (struct span){name + at, end - at};
        if (part.n > 0 && last) {
            from_file(part, &id);
            last = false;
        } else if (part.n > 0) { /* a directory per rank */
            if (id.rank < 0)
                id.rank = tagged(part, "rank", INT32_MAX);
            if (id.pid < 0)
                id.pid = tagged(part, "pid", INT64_MAX);
        }
        end = at > 0 ? at - 1 : 0;
    }
    *rank = (int32_t)id.rank;
    *pid = id.pid;
    *host = id.host.n > 0 ? mt_strndup(id.host.p, id.host.n) : NULL;
    return id.host.n == 0 || *host != NULL;
}
