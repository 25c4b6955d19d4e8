/* log/cut.c -- a log that ends in a traceback, before the error's own line. */
#include "parser/log/match.h"

#include <string.h>

enum {
    BEHIND = 6, /* lines from a frame to the error that ends its traceback */
    END = 4     /* lines of the log behind the last frame: its code, the beginning of another */
};

/* "queue.Empty", "torch._dynamo.exc.Unsupported: ...": a class with its module, alone or with what
 * it says, and no code: that is indented. Also behind "(Actor pid=7) ". */
static bool is_dotted_class(const char *s)
{
    const char *last = NULL;
    if (*s == '(' && strstr(s, ") ") != NULL)
        s = strstr(s, ") ") + 2;
    if (!mt_log_is_letter(*s) && *s != '_')
        return false;
    for (; mt_log_is_letter(*s) || *s == '_' || *s == '.' || (*s >= '0' && *s <= '9'); s++)
        last = *s == '.' ? s + 1 : last;
    return last != NULL && *last >= 'A' && *last <= 'Z' && (*s == '\0' || *s == ':');
}

/* "KeyError: 'x'", "AssertionError", "RayTaskError(ValueError)": a word that ends so names what was
 * raised. */
static bool names_error(const char *s)
{
    static const char *const ends[] = {"Error", "Exception", "Interrupt", "SystemExit",
                                       "StopIteration"};
    if (is_dotted_class(s))
        return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (const char *p = s; (p = strstr(p, ends[i])) != NULL; p++)
            if (!mt_log_is_letter(p[strlen(ends[i])]) && p[strlen(ends[i])] != '_')
                return true;
    return false;
}

void mt_log_cut_line(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_writer who;
    bool names;
    l->names_error |= names_error(s);
    if (l->frame_line == 0 || number - l->frame_line > BEHIND)
        return;
    who = mt_log_writer(s, NULL);
    names = number != l->frame_line && names_error(s);
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        if (o->line == number && o->writer.pid == who.pid && o->writer.rank == who.rank)
            mt_log_name(o->by, s);
        /* whoever names it: a driver tells the errors of its workers */
        o->ended |= names && o->line != 0 && number - o->line <= BEHIND;
    }
}

/* A line that says more of what happened than a traceback without its error does. */
static bool tells_failure(enum mt_log_kind k)
{
    return mt_log_has_stack(k) || k == MT_LOG_RAY_KILL || k == MT_LOG_KERNEL_KILL ||
           k == MT_LOG_KILLED || k == MT_LOG_STOPPED || k == MT_LOG_KERNEL_LIMIT;
}

/* DeepSpeed's launcher ends its processes when one has died: where the line with the exit code was
 * not pasted, and no traceback or error is there, one was killed. */
static void of_launcher(struct mt_log *l)
{
    struct mt_log_fact *f = NULL;
    for (int i = 0; i < MT_LOG_OPEN; i++)
        if (l->open[i].line != 0 && l->open[i].frames.n != 0)
            return;
    if (l->launcher_line != 0 && !l->names_error && !l->launcher_tells)
        f = mt_log_blank(l, MT_LOG_KILLED, l->launcher_line);
    if (f != NULL)
        mt_log_keep_text(f, "launcher", 8);
}

/* People put the error first and its traceback below, which their page then cut: of the one failure
 * that has none. */
static void of_error_above(struct mt_log *l)
{
    enum { NEAR = 8 };
    struct mt_log_fact *f = NULL;
    struct mt_log_stack *last = NULL;
    int n = 0;
    for (uint32_t i = 0; i < l->facts.n; i++) {
        if (!tells_failure(l->facts.p[i].kind))
            continue;
        if (f != NULL || l->facts.p[i].kind != MT_LOG_TORCH_OOM || l->facts.p[i].stack != 0)
            return;
        f = &l->facts.p[i];
    }
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        if (o->line != 0 && o->frames.n != 0) {
            last = o;
            n++;
        }
    }
    if (f == NULL || n != 1 || last->ended || last->first <= f->line ||
        last->first - f->line > NEAR || l->n_lines - last->line > END ||
        (f->rank >= 0 && last->writer.rank >= 0 && f->rank != last->writer.rank))
        return;
    if (f->rank < 0)
        f->rank = last->writer.rank;
    mt_log_stack_keep(l, last, f);
}

/* Somebody says that memory ran out, and pasted a traceback that leads to no other error: it is of
 * that failure, wherever in the text it stands. Of several the last one that ends: the first are of
 * processes that waited for it. */
static void of_talk(struct mt_log *l)
{
    struct mt_log_fact *f = NULL;
    struct mt_log_stack *last = NULL;
    for (uint32_t i = 0; i < l->facts.n; i++) {
        const struct mt_log_fact *g = &l->facts.p[i];
        if (tells_failure(g->kind) && (!mt_log_is_talk(g) || g->stack != 0))
            return;
        if (f == NULL && mt_log_is_talk(g) && g->kind == MT_LOG_TORCH_OOM)
            f = &l->facts.p[i];
    }
    for (int i = 0; f != NULL && i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        if (o->line != 0 && o->frames.n != 0 && !o->ended && (last == NULL || o->line > last->line))
            last = o;
    }
    if (last == NULL)
        return;
    f->rank = last->of.rank >= 0 ? last->of.rank : last->writer.rank;
    mt_log_stack_keep(l, last, f);
}

void mt_log_cut_end(struct mt_log *l)
{
    struct mt_log_stack *last = NULL;
    struct mt_log_fact *f;
    of_error_above(l);
    of_talk(l);
    for (uint32_t i = 0; i < l->facts.n; i++)
        if (tells_failure(l->facts.p[i].kind))
            return;
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        if (o->line != 0 && o->frames.n != 0 && !o->ended && l->n_lines - o->line <= END &&
            (last == NULL || o->line > last->line))
            last = o;
    }
    if (last == NULL)
        of_launcher(l);
    f = last != NULL ? mt_log_blank(l, MT_LOG_CUT, last->line) : NULL;
    if (f == NULL)
        return;
    for (; f > l->facts.p && f[-1].line > f->line; f--) {
        struct mt_log_fact one = *f;
        *f = f[-1];
        f[-1] = one;
    }
    f->pid = last->of.pid >= 0 ? last->of.pid : last->writer.pid;
    f->rank = last->of.rank >= 0 ? last->of.rank : last->writer.rank;
    memcpy(f->who, last->who[0] != '\0' ? last->who : last->by, sizeof f->who);
    mt_log_stack_keep(l, last, f);
}
