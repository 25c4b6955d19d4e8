/* log/actor.c -- whom Ray's lines are about: an actor by its class, and a worker that died. */
#include "parser/log/match.h"

#include <string.h>

/* Lines from the class to its process, and to the sentence that says that it died. */
enum { ROWS = 8, SENTENCE = 12 };

/* "create_colocated_worker_cls.<locals>.WorkerDict", "a1WorkerDict_0:3:WorkerDict.__init__" where
 * a method follows: the class alone. */
void mt_log_actor_name(char name[32], const char *s, size_t n, bool has_method)
{
    size_t begin;
    while (has_method && n > 0 && s[n - 1] != '.')
        n--;
    n -= has_method && n > 0;
    for (begin = n; begin > 0 && s[begin - 1] != '.' && s[begin - 1] != ':';)
        begin--;
    mt_printable(name, 32, s + begin, n - begin);
}

/* "pid: 508761", "class_name: TaskRunner", with nothing before the key but a prefix. */
static const char *value_of(const char *s, const char *key)
{
    const char *p = strstr(s, key);
    return p != NULL && (p == s || strchr(" \t", p[-1]) != NULL) ? p + strlen(key) : NULL;
}

void mt_log_actor_line(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = value_of(s, "class_name: ");
    if (p != NULL) {
        mt_log_actor_name(l->actor.name, p, strcspn(p, " \t\r,"), false);
        l->actor.pid = MT_LOG_NONE;
        l->actor.line = number;
    } else if (l->actor.line != 0 && number - l->actor.line <= ROWS &&
               value_of(s, "pid: ") != NULL) {
        l->actor.pid = mt_log_value(s, "pid: %n");
    }
    if (strstr(s, "The actor never ran") != NULL && l->facts.n != 0 &&
        l->facts.p[l->facts.n - 1].kind == MT_LOG_KILLED)
        l->facts.p[l->facts.n - 1].value[MT_LK_NEVER_RAN] = 1;
}

void mt_log_actor_take(struct mt_log *l, struct mt_log_fact *f, const char *s)
{
    if (strstr(s, "exceeded K8s pod memory limits") != NULL)
        f->value[MT_LK_POD] = 1;
    f->value[MT_LK_PID] = mt_log_value(s, "Worker PID: %n");
    if (l->actor.line == 0 || f->line - l->actor.line > SENTENCE)
        return;
    memcpy(f->who, l->actor.name, sizeof f->who);
    f->value[MT_LK_CLASS] = 1;
    if (l->actor.pid != MT_LOG_NONE)
        f->value[MT_LK_PID] = l->actor.pid;
    l->actor.line = 0;
}
