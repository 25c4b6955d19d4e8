/* log/code.c -- lines of code in logs: below a frame, or without one, as people paste them. */
#include "parser/log/match.h"

#include <string.h>

/* The text of a line of code: behind the last of its indent, and whatever a logger puts before it;
 * NULL = it has none. */
const char *mt_log_code_in(const char *s)
{
    static const char indent[] = "    ";
    const char *p = NULL;
    for (const char *q = s; (q = strstr(q, indent)) != NULL; q += sizeof indent - 1)
        p = q + strspn(q, " ");
    return p != NULL && strchr(p, '(') != NULL && *p != '^' && *p != '~' ? p : NULL;
}

/* A letter of a name, or what joins names: "self.q[0].softmax". */
static bool in_path(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_.[]\"'", c) != NULL);
}

/* The line of code calls that function. */
bool mt_log_calls(const char *code, const char *function)
{
    size_t n = strlen(function);
    for (const char *p = code; n > 2 && (p = strstr(p, function)) != NULL; p++)
        if (p[n] == '(' && (p == code || !in_path(p[-1]) || p[-1] == '.'))
            return true;
    return false;
}

/* Python's own frame between a with statement and what it enters. */
bool mt_log_enters_with(const struct mt_log_at *a)
{
    static const char file[] = "contextlib.py";
    size_t n = sizeof file - 1;
    return (size_t)(a->end - a->path) > n && memcmp(a->end - n, file, n) == 0;
}

/* "f(" and not "a (b": a call in s. */
static bool calls(const char *s)
{
    for (const char *p = s; (p = strchr(p, '(')) != NULL; p++)
        if (p > s && in_path(p[-1]) && p[-1] != '.')
            return true;
    return false;
}

/* Code that people paste without its frame and its indent, perhaps behind a host's name:
 * "gpu-q-13: ret = input.softmax(dim)", "return engine.run_backward(", "loss.backward()". */
static const char *bare_code(const char *s)
{
    static const char back[] = "return ";
    const char *is = strstr(s, " = "), *p = is, *end;
    while (p != NULL && p > s && in_path(p[-1]))
        p--;
    if (p != NULL && p < is && (*p | 32) >= 'a' && (*p | 32) <= 'z' && calls(is + 3))
        return p;
    p = strstr(s, back);
    if (p != NULL && (p == s || p[-1] == ' ') && calls(p + sizeof back - 1))
        return p;
    p = s + strspn(s, " \t");
    for (const char *colon;
         (colon = strstr(p, ": ")) != NULL && strcspn(p, " (") > (size_t)(colon - p);)
        p = colon + 2;
    end = p;
    while (in_path(*end))
        end++;
    return *end == '(' && memchr(p, '.', (size_t)(end - p)) != NULL && calls(p) ? p : NULL;
}

/* Python's marks below a line of code, or the number that a viewer of logs puts before the next. */
static bool is_between(const char *s)
{
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\r", s[n - 1]) != NULL)
        n--;
    return n > 0 && (strchr("^~", s[n - 1]) != NULL || strspn(s, "0123456789 \t") >= n);
}

bool mt_log_is_bare_code(const char *s) { return *s != '\0' && bare_code(s) == s; }

/* "sliding_window_inference" alone in the line above: the function whose line of code this is. A
 * word alone may be any, two that are joined are a name. */
static void name_above(struct mt_log *l, uint64_t number)
{
    const struct mt_log_prose *p = l->prose.n >= 2 ? &l->prose.p[l->prose.n - 2] : NULL;
    const char *name;
    size_t n;
    l->code_name[0] = '\0';
    if (p == NULL || p->line + 1 != number)
        return;
    name = p->text + strspn(p->text, " \t`*");
    n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (n == 0 || n >= sizeof l->code_name || memchr(name + 1, '_', n - 1) == NULL ||
        (name[0] >= '0' && name[0] <= '9') || name[n + strspn(name + n, "()`*: \t\r")] != '\0')
        return;
    memcpy(l->code_name, name, n);
    l->code_name[n] = '\0';
}

void mt_log_code_line(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = mt_log_code_in(s);
    struct mt_log_writer who;
    if (l->code_line != 0 && l->code_line + 1 == number && is_between(s)) {
        l->code_line = number;
        return;
    }
    if (p == NULL)
        p = bare_code(s);
    if (p == NULL)
        return;
    who = mt_log_writer(s, p);
    for (int i = 0; i < MT_LOG_OPEN; i++) /* of a frame that was pasted with it */
        if (l->open[i].line != 0 && number - l->open[i].line <= 2 &&
            l->open[i].writer.pid == who.pid && l->open[i].writer.rank == who.rank &&
            l->open[i].frames.n != 0)
            return;
    mt_printable(l->code, sizeof l->code, p, strlen(p));
    l->code_of = who;
    l->code_line = number;
    name_above(l, number);
}
