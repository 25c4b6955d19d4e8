/* log_stack.c -- Python tracebacks in logs: where a failure was, frame by frame.
 *
 * Workers write into one log at once, so the frames of each are gathered apart, by the pid and rank of the line's prefix. A failure takes
 * the traceback of its own writer that ended shortly before it. Ray prints the traceback of a worker in the name of the driver and says in
 * the line above it whose it is: "ray::WorkerDict.update_actor() (pid=118847, ip=...". */
#include "parser/log_match.h"

#include <string.h>

enum {
    NEAR = 64,       /* lines between a frame and what follows it: other workers write in between */
    MAX_FRAMES = 256 /* of a deeper traceback the outer frames stay, and the innermost */
};

static struct mt_log_stack *open_for(struct mt_log *l, struct mt_log_writer who)
{
    struct mt_log_stack *oldest = &l->open[0];
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *s = &l->open[i];
        if (s->line != 0 && s->writer.pid == who.pid && s->writer.rank == who.rank)
            return s;
        if (s->line < oldest->line)
            oldest = s;
    }
    oldest->writer = who;
    oldest->line = 0;
    return oldest;
}

static void begin(struct mt_log_stack *s, uint64_t number, struct mt_log_writer of)
{
    s->frames.n = 0;
    s->line = number;
    s->of = of;
    s->pins = false;
}

/* `File "/x/verl/workers/fsdp_workers.py", line 504, in update_actor` */
static bool frame(struct mt_log *l, uint64_t number, const char *path, struct mt_log_writer who)
{
    const char *end = strchr(path, '"'), *name;
    struct mt_log_stack *s;
    struct mt_log_frame *f;
    struct mt_log_got g;
    size_t n;
    if (end == NULL || end == path || strncmp(end, "\", line ", 8) != 0 ||
        (name = mt_log_find(end, "\", line %n, in ", &g)) == NULL)
        return false;
    s = open_for(l, who);
    if (s->line == 0 || number - s->line > NEAR)
        begin(s, number, (struct mt_log_writer){-1, -1});
    s->line = number;
    if (s->frames.n < MAX_FRAMES)
        f = MT_VEC_PUSH(&s->frames);
    else
        f = &s->frames.p[MAX_FRAMES - 1];
    if (f == NULL) {
        l->no_memory = true;
        return true;
    }
    s->pins = false;
    n = (size_t)(end - path);
    if (n >= sizeof f->file)
        path += n - (sizeof f->file - 1);
    mt_printable(f->file, sizeof f->file, path, (size_t)(end - path));
    mt_printable(f->function, sizeof f->function, name, strcspn(name, " \t"));
    f->line = g.v[0] <= UINT32_MAX ? (uint32_t)g.v[0] : 0;
    return true;
}

bool mt_log_stack_line(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = strstr(s, "File \""), *ray;
    struct mt_log_got g;
    if (p != NULL)
        return frame(l, number, p + 6, mt_log_writer(s, p));
    p = strstr(s, "pin_memory(");
    if (p != NULL) {
        struct mt_log_writer who = mt_log_writer(s, p);
        for (int i = 0; i < MT_LOG_OPEN; i++)
            l->open[i].pins |= l->open[i].line != 0 && l->open[i].line + 1 == number && l->open[i].writer.pid == who.pid &&
                               l->open[i].writer.rank == who.rank;
        return false;
    }
    ray = strstr(s, "ray::");
    if (ray != NULL && mt_log_find(ray, "() (pid=%n,", &g) != NULL && g.v[0] <= INT32_MAX) {
        uint64_t rank = mt_log_value(ray, "[rank=%n]");
        begin(open_for(l, mt_log_writer(s, ray)), number,
              (struct mt_log_writer){(int64_t)g.v[0], rank <= INT32_MAX ? (int32_t)rank : -1});
        return true;
    }
    p = strstr(s, "Traceback (most recent call last)");
    if (p == NULL)
        return false;
    begin(open_for(l, mt_log_writer(s, p)), number, (struct mt_log_writer){-1, -1});
    return true;
}

void mt_log_stack_take(struct mt_log *l, uint64_t number, struct mt_log_fact *f, struct mt_log_writer who)
{
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *s = &l->open[i], *kept;
        if (s->line == 0 || s->writer.pid != who.pid || s->writer.rank != who.rank || number - s->line > NEAR)
            continue;
        if (s->pins && f->kind == MT_LOG_CUDA_OOM)
            f->kind = MT_LOG_HOST_OOM; /* CUDA says the same of host memory that cannot be pinned */
        if (s->of.pid >= 0)
            f->pid = s->of.pid;
        if (s->of.rank >= 0)
            f->rank = s->of.rank;
        if (s->frames.n != 0 && l->stacks.n < MT_LOG_MAX_STACKS) {
            kept = MT_VEC_PUSH(&l->stacks);
            if (kept == NULL) {
                l->no_memory = true;
                return;
            }
            *kept = *s;
            f->stack = l->stacks.n;
            memset(s, 0, sizeof *s);
        }
        s->line = 0;
        return;
    }
}

void mt_log_stacks_done(struct mt_log *l)
{
    for (uint32_t i = 0; i < l->stacks.n; i++)
        MT_VEC_DONE(&l->stacks.p[i].frames);
    MT_VEC_DONE(&l->stacks);
    for (int i = 0; i < MT_LOG_OPEN; i++)
        MT_VEC_DONE(&l->open[i].frames);
}
