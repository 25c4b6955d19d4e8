/* log_kills.c -- processes that were killed, and Python's own word for a full host. */
#include "parser/log_match.h"

#include <string.h>

enum { LONGEST = 256 }; /* of such a line with all that stands before its word */

/* "Killed process 77 (python) total-vm:..., anon-rss:9kB", and, where that line was not pasted, what the kernel prints above it. */
static int by_kernel(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_got g;
    bool killed = mt_log_find(s, "Killed process %n (%t)", &g) != NULL;
    const struct mt_log_fact *last = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    struct mt_log_fact *f;
    if (!killed && strstr(s, " invoked oom-killer:") == NULL)
        return 0;
    if (killed && last != NULL && last->kind == MT_LOG_KERNEL_KILL && last->value[0] == MT_LOG_NONE &&
        number - last->line < 2000)
        l->facts.n--; /* announced above: a table of all processes stands between */
    f = mt_log_add(l, MT_LOG_KERNEL_KILL, number, s);
    if (f == NULL)
        return 1;
    if (!killed) {
        mt_log_keep_text(f, "the kernel", 10);
        return 1;
    }
    f->value[0] = g.v[0];
    mt_log_keep_text(f, g.text, g.n_text);
    f->value[1] = mt_log_value(s, "anon-rss:%b");
    return 1;
}

/* Bytes of what collects lines before the text: of a container, a mail, the system's log, an object. */
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

/* A line that is nothing but this, perhaps behind "(Worker pid=1)" or "[rank3]:". */
static int whole_line(struct mt_log *l, uint64_t number, const char *s)
{
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
    if (n < LONGEST) {
        size_t k = collector(p, n);
        p += k;
        n -= k;
    }
    if ((n == 6 && memcmp(p, "Killed", 6) == 0) || (n == 9 && memcmp(p, "\xe5\xb7\xb2\xe6\x9d\x80\xe6\xad\xbb", 9) == 0)) {
        mt_log_add(l, MT_LOG_KILLED, number, s);
        return 1;
    }
    if ((n == 11 && memcmp(p, "MemoryError", 11) == 0) || (n > 12 && memcmp(p, "MemoryError:", 12) == 0)) {
        mt_log_add(l, MT_LOG_HOST_OOM, number, s);
        return 1;
    }
    return 0;
}

int mt_log_kill(struct mt_log *l, uint64_t number, const char *s)
{
    return by_kernel(l, number, s) || mt_log_row(l, number, s) || whole_line(l, number, s);
}
