/* log/ray.c -- Ray's memory monitor: how full the node was, whom it killed, and its table of the
 * processes that held most. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

/* Lines from the sentence to the head of the table, and from one row to the next: workers write in
 * between. Ray itself prints ten rows. */
enum { HEAD = 40, ROW = 4 };

/* "... was running was 841.32GB / 882.00GB (0.953877), which exceeds the memory usage threshold of
 * 0.95"; newer: "Memory on the node (IP: 10.0.0.1) was 1.99GB / 2.00GB (0.997)". A terminal cuts
 * the sentence anywhere, in the middle of a number too: glued has its lines without the cuts. */
static int sentence(struct mt_log *l, uint64_t number, const char *s, const char *glued)
{
    const char *p = strstr(s, "emory on the node");
    struct mt_log_fact *f;
    got g, name;
    if (p == NULL)
        return 0;
    if (mt_log_find(p, " was %b / %b", &g) == NULL &&
        (glued == s || (p = strstr(glued, "emory on the node")) == NULL ||
         mt_log_find(p, "was %b / %b", &g) == NULL))
        return 0;
    f = mt_log_add(l, MT_LOG_RAY_KILL, number, s);
    if (f == NULL)
        return 1;
    f->value[0] = g.v[0];
    f->value[1] = g.v[1];
    if (mt_log_find(p, "name=%t,", &name) != NULL)
        mt_log_keep_text(f, name.text, name.n_text);
    if (mt_log_find(p, "pid=%n, memory used=%b", &g) != NULL ||
        mt_log_find(p, "pid=%n, actual memory used=%b", &g) != NULL) {
        f->pid = mt_log_small(g.v[0]);
        f->value[2] = g.v[1];
    }
    return 1;
}

/* "4331\t2.22\tray::SimEnv.step" */
static bool row(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f;
    const char *p = s, *e;
    uint64_t pid = 0;
    got g;
    if (*p == '(' && (e = strstr(p, ") ")) != NULL) /* the raylet's own log: "(raylet) 77\t1.2\t" */
        p = e + 2;
    p += strspn(p, " \t");
    for (; *p >= '0' && *p <= '9' && pid < UINT32_MAX; p++)
        pid = pid * 10 + (uint64_t)(*p - '0');
    /* a ticket has blanks for the tabs */
    e = *p == '\t' ? mt_log_find(p, "\t%G\t", &g) : *p == ' ' ? mt_log_find(p, " %G ", &g) : NULL;
    if (pid == 0 || e == NULL || *e == '\0')
        return false;
    f = mt_log_blank(l, MT_LOG_HOST_PROC, number);
    if (f != NULL) {
        f->value[0] = pid;
        f->value[1] = g.v[0];
        mt_log_keep_text(f, e, strcspn(e, "\r\n"));
    }
    return true;
}

/* "95412   14.05   ray::LLMRayActor": a row whose table lost its head, where the log was cut. */
static bool names_actor(const char *s)
{
    const char *p = s + strspn(s, " \t");
    size_t pid = strspn(p, "0123456789"), gap = strspn(p + pid, " \t"),
           size = strspn(p + pid + gap, "0123456789.");
    p += pid + gap + size;
    return pid != 0 && gap != 0 && size != 0 && strncmp(p + strspn(p, " \t"), "ray::", 5) == 0;
}

int mt_log_ray(struct mt_log *l, uint64_t number, const char *s, const char *glued)
{
    const struct mt_log_fact *last = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    if (l->table != 0) {
        bool near = number - l->table <= ROW;
        if (near && row(l, number, s)) {
            l->table = number;
            return 1;
        }
        if (!near || last == NULL || last->kind == MT_LOG_HOST_PROC)
            l->table = 0;
    }
    if (l->table == 0 && strstr(s, "ray::") != NULL && names_actor(s) && row(l, number, s)) {
        l->table = number;
        return 1;
    }
    if (strstr(s, "PID") != NULL && strstr(s, "MEM(GB)") != NULL && strstr(s, "COMMAND") != NULL) {
        if (last != NULL && last->kind == MT_LOG_RAY_KILL && number - last->line <= HEAD) {
            l->table = number;
            return 1;
        }
        l->table_head = number;
    }
    if (!sentence(l, number, s, glued))
        return 0;
    if (strstr(s, "MEM(GB)") != NULL)
        l->table = number;
    return 1;
}

void mt_log_ray_end(struct mt_log *l)
{
    struct mt_log_fact one, *f;
    uint32_t first = 0;
    for (uint32_t i = 0; i < l->facts.n; i++)
        if (l->facts.p[i].kind == MT_LOG_RAY_KILL)
            return;
    while (first < l->facts.n &&
           (l->facts.p[first].kind != MT_LOG_HOST_PROC || l->facts.p[first].line <= l->table_head))
        first++;
    if (l->table_head == 0 || first == l->facts.n || l->facts.p[first].line - l->table_head > ROW ||
        mt_log_blank(l, MT_LOG_RAY_KILL, l->table_head) == NULL)
        return;
    one = l->facts.p[l->facts.n - 1];
    for (f = &l->facts.p[l->facts.n - 1]; f > &l->facts.p[first]; f--)
        *f = f[-1];
    *f = one;
    l->table_alone = true;
}
