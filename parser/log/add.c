/* log/add.c -- a fact with its writer, and with the traceback that led to it. */
#include "parser/log/match.h"

struct mt_log_fact *mt_log_add(struct mt_log *l, enum mt_log_kind kind, uint64_t number,
                               const char *line)
{
    struct mt_log_fact *f = mt_log_blank(l, kind, number);
    struct mt_log_writer who;
    if (f == NULL)
        return NULL;
    who = mt_log_writer(line, NULL);
    f->rank = who.rank;
    f->pid = who.pid;
    mt_log_name(f->who, line);
    if (mt_log_has_stack(kind))
        mt_log_stack_take(l, number, f, who);
    return f;
}
