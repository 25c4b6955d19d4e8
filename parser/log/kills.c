/* log/kills.c -- processes that were killed, and Python's own word for a full host. */
#include "parser/log/match.h"

#include <string.h>

enum { REPORT = 2000 }; /* lines of the kernel's report: its table names every process */
enum { LONGEST = 256 }; /* of such a line with all that stands before its word */

/* Lines of a launcher that ends its processes: the first that says so, and whether one says how the
 * process that ended first did. */
void mt_log_launcher(struct mt_log *l, uint64_t number, const char *s)
{
    static const char mark[] = ":sigkill_handler]", exits[] = "exits with return code = ";
    const char *line = strstr(s, mark), *code;
    if (line == NULL)
        return;
    l->n_launcher++;
    if (l->launcher_line == 0 && strstr(line, ":sigkill_handler] Killing subprocess") != NULL)
        l->launcher_line = number;
    code = strstr(s, exits);
    l->launcher_tells |= strstr(s, "received SIG") != NULL ||
                         (code != NULL && strncmp(code + sizeof exits - 1, "-9", 2) != 0);
}

/* The kernel's report: "python invoked oom-killer", a table of all processes,
 * "oom-kill:constraint=CONSTRAINT_MEMCG,...,task=python,pid=77,uid=0", "Killed process 77 (python)
 * total-vm:..., anon-rss:9kB". Any part of it that was pasted counts as one kill. */
static int by_kernel(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_got g = {.n = 0}, name = {.n = 0};
    const struct mt_log_fact *last = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    bool killed = mt_log_find(s, "Killed process %n (%t)", &g) != NULL, chosen = false;
    bool in_group =
        strstr(s, "emory cgroup out of memory") != NULL || strstr(s, "CONSTRAINT_MEMCG") != NULL;
    struct mt_log_fact *f;
    if (killed)
        name = g;
    else if (strstr(s, "oom-kill:constraint=") != NULL)
        chosen =
            mt_log_find(s, ",task=%t,", &name) != NULL && mt_log_find(s, ",pid=%n,", &g) != NULL;
    if (!killed && !chosen && strstr(s, " invoked oom-killer:") == NULL)
        return 0;
    if ((killed || chosen) && last != NULL && last->kind == MT_LOG_KERNEL_KILL &&
        number - last->line < REPORT && last->value[1] == MT_LOG_NONE &&
        (last->value[0] == MT_LOG_NONE || last->value[0] == g.v[0])) {
        in_group = in_group || last->value[2] == 1;
        l->facts.n--;
    }
    f = mt_log_add(l, MT_LOG_KERNEL_KILL, number, s);
    if (f == NULL)
        return 1;
    if (in_group)
        f->value[2] = 1;
    if (killed || chosen) {
        f->value[0] = g.v[0];
        mt_log_keep_text(f, name.text, name.n_text);
        f->value[1] = mt_log_value(s, "anon-rss:%b");
    } else {
        mt_log_keep_text(f, "the kernel", 10);
    }
    return 1;
}

/* Length of the prefix that a collector puts before a line: of a container, a mail, the system's
 * log, a JSON object. */
static size_t collector(const char *s, size_t n)
{
    static const char *const ends[] = {"| ", "> ", " F ", "]: ", "\":\"", "\": \""};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        for (size_t at = n; at-- > 0;)
            if (at + k <= n && memcmp(s + at, ends[i], k) == 0)
                return at + k;
    }
    return 0;
}

/* Lines that consist of one phrase alone, with or without a prefix such as "(Worker pid=1)" or
 * "[rank3]:". */
static int whole_line(struct mt_log *l, uint64_t number, const char *s)
{
    static const char killed[] = "Killed";
    const char *p = s;
    size_t n;
    for (;;) {
        const char *e = NULL;
        p += strspn(p, " \t");
        if (*p == '(' || *p == '[')
            e = strchr(p, *p == '(' ? ')' : ']');
        if (e == NULL)
            break;
        p = e + 1 + (e[1] == ':');
    }
    n = strlen(p);
    while (n > 0 && strchr(" \"}", p[n - 1]) != NULL)
        n--;
    if (n >= 9 && memcmp(p + n - 9, "Killed: 9", 9) == 0) /* macOS */
        n -= 3;
    if (n < LONGEST && n >= sizeof killed - 1 &&
        memcmp(p + n - (sizeof killed - 1), killed, sizeof killed - 1) == 0) {
        size_t k = collector(p, n);
        p += k;
        n -= k;
    }
    if ((n == sizeof killed - 1 && memcmp(p, killed, n) == 0) ||
        (n == 9 && memcmp(p, "\xe5\xb7\xb2\xe6\x9d\x80\xe6\xad\xbb", 9) == 0)) {
        mt_log_add(l, MT_LOG_KILLED, number, s);
        return 1;
    }
    if ((n == 11 && memcmp(p, "MemoryError", 11) == 0) ||
        (n > 12 && memcmp(p, "MemoryError:", 12) == 0)) {
        mt_log_add(l, MT_LOG_HOST_OOM, number, s);
        return 1;
    }
    return 0;
}

/* "DataLoader worker (pid 7) is killed by signal: Killed", however people shorten it: "(pid xxx)",
 * no pid, no signal. Another signal than that of the kernel's killer is another story. */
static int loader(struct mt_log *l, uint64_t number, const char *s)
{
    static const char words[] = "killed by signal";
    const char *p = strstr(s, "ataLoader "), *end = p != NULL ? strstr(p, words) : NULL;
    struct mt_log_fact *f;
    if (end == NULL)
        return 0;
    end += sizeof words - 1;
    end += strspn(end, " \t:.`'\"*");
    if (*end != '\0' && strncmp(end, "Killed", 6) != 0 && strncmp(end, "9", 1) != 0 &&
        strncmp(end, "SIGKILL", 7) != 0)
        return 0;
    f = mt_log_add(l, MT_LOG_KILLED, number, s);
    if (f != NULL)
        mt_log_keep_text(f, "loader", 6);
    return 1;
}

int mt_log_kill(struct mt_log *l, uint64_t number, const char *s)
{
    return by_kernel(l, number, s) || mt_log_stopped(l, number, s) || mt_log_row(l, number, s) ||
           loader(l, number, s) || whole_line(l, number, s);
}
