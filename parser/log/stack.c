/* log/stack.c -- Python tracebacks in logs: where a failure was, frame by frame.
 *
 * Workers write into one log at once, so the frames of each are gathered apart, by the pid and rank
 * of the line's prefix. A failure takes the traceback of its own writer that ended shortly before
 * it. Ray prints the traceback of a worker in the name of the driver and says in the line above it
 * whose it is: "ray::WorkerDict.update_actor() (pid=118847, ip=...". Some tools print it upside
 * down, the failure first: then "Traceback (most recent call last)" or the end of the log comes
 * behind frames that nothing introduced. A traceback that ends in another error (a ValueError that
 * was caught) is not that of a failure further down. */
#include "parser/log/match.h"

#include <string.h>

enum {
    NEAR = 64, /* lines between a frame and what follows it: other workers write in between */
    /* lines between a failure and the first frame of a traceback that is upside down */
    BELOW = 8,
    PASTED = 24,     /* and of a whole one that people paste below the error */
    CODE_ABOVE = 3,  /* lines from one of code to the failure that it led to */
    AROUND = 16,     /* lines from a notebook's frame to the arrow at its line */
    CODE = 8,        /* lines of code that IPython prints around the one of a frame */
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

static void begin(struct mt_log_stack *s, uint64_t number, struct mt_log_writer of, bool headed)
{
    s->frames.n = 0;
    s->line = s->first = number;
    s->of = of;
    s->who[0] = s->method[0] = '\0';
    s->headed = headed;
    s->pins = s->is_deeper = s->is_mates = s->ended = false;
    s->by[0] = '\0';
    s->objects[0] = s->called[0] = s->calls[0] = '\0';
    s->named = s->n_inward = s->n_outward = 0;
}

/* Where the end of a path begins that mt_printable() keeps whole: a byte that is not plain takes
 * four, and a text that is too long ends in dots. */
static const char *end_of(const char *path, const char *end, size_t cap)
{
    size_t room = cap - 4;
    const char *p = end;
    while (p > path) {
        bool plain = p[-1] >= 0x20 && p[-1] < 0x7f;
        if (room < (plain ? 1u : 4u))
            break;
        room -= plain ? 1 : 4;
        p--;
    }
    return p;
}

void mt_log_stack_push(struct mt_log *l, struct mt_log_stack *s, const struct mt_log_at *a,
                       const char *function)
{
    char slashed[4 * sizeof s->frames.p->file];
    const char *path;
    size_t n;
    struct mt_log_frame *f =
        s->frames.n < MAX_FRAMES ? MT_VEC_PUSH(&s->frames) : &s->frames.p[MAX_FRAMES - 1];
    if (f == NULL) {
        l->no_memory = true;
        return;
    }
    n = mt_log_slashes(slashed, sizeof slashed, a->path, a->end);
    path = end_of(slashed, slashed + n, sizeof f->file);
    mt_printable(f->file, sizeof f->file, path, (size_t)(slashed + n - path));
    mt_printable(f->function, sizeof f->function, function, strlen(function));
    if (l->module[0] == '\0' && strcmp(function, "<module>") == 0)
        memcpy(l->module, f->file, sizeof l->module);
    f->line = a->line <= UINT32_MAX ? (uint32_t)a->line : 0;
}

static bool frame(struct mt_log *l, uint64_t number, const struct mt_log_at *a,
                  struct mt_log_writer who)
{
    struct mt_log_stack *s = open_for(l, who);
    char function[sizeof s->frames.p->function];
    if (s->line == 0 || number - s->line > NEAR)
        begin(s, number, (struct mt_log_writer){-1, -1}, false);
    s->line = l->frame_line = number;
    mt_printable(function, sizeof function, a->name, a->n_name);
    s->n_inward += mt_log_calls(s->code, function);
    if (!mt_log_enters_with(a)) /* what a with statement calls is in the line above */
        s->code[0] = '\0';
    s->pins = false;
    mt_log_stack_push(l, s, a, function);
    return true;
}

/* A frame and its code in one line. */
static bool typed_frame(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_at a;
    const char *code = mt_log_frame_typed(&a, s);
    struct mt_log_stack *o;
    if (code == NULL)
        return false;
    (void)frame(l, number, &a, mt_log_writer(s, a.path));
    o = open_for(l, mt_log_writer(s, a.path));
    mt_printable(o->code, sizeof o->code, code, strcspn(code, "`"));
    return true;
}

/* A line of code that asks for pinned memory, right below its frame; IPython prints some around it,
 * and an arrow before it. */
static void code_line(struct mt_log *l, uint64_t number, const char *s, const char *pin)
{
    struct mt_log_writer who = mt_log_writer(s, pin);
    /* rich's arrow */
    bool among_others = strstr(s, "-> ") != NULL || strstr(s, "\xe2\x9d\xb1 ") != NULL;
    uint64_t far = among_others ? CODE : 1;
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        o->pins |= o->line != 0 && number - o->line <= far && o->writer.pid == who.pid &&
                   o->writer.rank == who.rank;
    }
}

/* Right below a frame: what it was doing. */
static void frame_code(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = mt_log_code_in(s);
    struct mt_log_writer who;
    if (p == NULL || l->frame_line + 1 != number)
        return;
    who = mt_log_writer(s, p);
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        if (o->line + 1 == number && o->frames.n != 0 && o->writer.pid == who.pid &&
            o->writer.rank == who.rank) {
            mt_printable(o->code, sizeof o->code, p, strlen(p));
            mt_log_code_settings(l, number, o->frames.p[o->frames.n - 1].file, p);
            o->n_outward +=
                o->frames.n > 1 && mt_log_calls(o->code, o->frames.p[o->frames.n - 2].function);
        }
    }
}

/* "---> 12     out = net(x)": the line of a notebook's frame, among others around it. */
static void arrow(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = s + strspn(s, " ");
    size_t n = strspn(p, "-");
    struct mt_log_got g;
    if (n == 0 || p[n] != '>' || number - l->frame_line > AROUND ||
        mt_log_find(p + n, "> %n ", &g) == NULL || g.v[0] > UINT32_MAX)
        return;
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        struct mt_log_frame *f = o->frames.n != 0 ? &o->frames.p[o->frames.n - 1] : NULL;
        if (o->line != 0 && o->line == l->frame_line && f != NULL && f->line == 0)
            f->line = (uint32_t)g.v[0];
    }
}

static size_t word_at(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/* "self.ref.compute_logp(batch)" right below its frame: frames that several models share do not
 * tell whose pass it is, the object does. */
static void object_line(struct mt_log *l, uint64_t number, const char *s)
{
    const char *self = strstr(s, "self."), *name = self != NULL ? self + 5 : s;
    size_t n = self != NULL ? word_at(name) : 0, at, k;
    struct mt_log_writer who;
    if (n == 0 || name[n] != '.' || name[n + 1 + (k = word_at(name + n + 1))] != '(')
        return;
    who = mt_log_writer(s, self);
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        if (o->line == 0 || o->frames.n == 0 || number - o->line != 1 || o->writer.pid != who.pid ||
            o->writer.rank != who.rank)
            continue;
        at = strlen(o->calls);
        if (at + k + 2 <= sizeof o->calls) {
            o->calls[at] = ' ';
            mt_printable(o->calls + at + 1, sizeof o->calls - at - 1, name + n + 1, k);
        }
        at = strlen(o->objects);
        if (at + n + 2 > sizeof o->objects)
            continue;
        o->objects[at] = ' ';
        memcpy(o->objects + at + 1, name, n);
        o->objects[at + 1 + n] = '\0';
        mt_printable(o->called, sizeof o->called, name + n + 1, k);
    }
}

void mt_log_stack_keep(struct mt_log *l, struct mt_log_stack *s, struct mt_log_fact *f)
{
    struct mt_log_stack *kept;
    if (l->stacks.n >= MT_LOG_MAX_STACKS)
        return;
    kept = MT_VEC_PUSH(&l->stacks);
    if (kept == NULL) {
        l->no_memory = true;
        return;
    }
    *kept = *s;
    f->stack = l->stacks.n;
    memset(s, 0, sizeof *s);
}

/* Python starts there: what follows is further in. */
static bool is_outermost(const struct mt_log_frame *f)
{
    static const char *const names[] = {"<module>", "_run_module_as_main", "_bootstrap",
                                        "_bootstrap_inner"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(f->function, names[i]) == 0)
            return true;
    return false;
}

/* Frames that nothing introduced, right below a failure of the same writer that has none: they are
 * its own, the innermost first, unless their lines of code call the next. */
static void upside_down(struct mt_log *l, struct mt_log_stack *s)
{
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    while (f != NULL && f->kind == MT_LOG_OTHER_PROC && f > l->facts.p)
        f--;
    if (s->line == 0 || s->frames.n == 0 || s->headed || f == NULL || !mt_log_has_stack(f->kind) ||
        f->stack != 0 || f->pid != s->writer.pid || f->rank != s->writer.rank ||
        f->line > s->first || s->first - f->line > BELOW)
        return;
    for (uint32_t i = 0, k = s->frames.n - 1;
         i < k && !is_outermost(&s->frames.p[0]) && s->n_inward <= s->n_outward; i++, k--) {
        struct mt_log_frame t = s->frames.p[i];
        s->frames.p[i] = s->frames.p[k];
        s->frames.p[k] = t;
    }
    mt_log_stack_keep(l, s, f);
}

/* The failure was told by a worker, and the traceback is that of the driver that waited for it, or
 * of another rank, which runs the same program: where it was, and no further. */
static bool of_mate(const struct mt_log_fact *f, struct mt_log_writer who)
{
    return who.pid < 0 && (f->pid >= 0 ? f->rank < 0 /* "[rank0]" may be the driver */
                                       : f->rank >= 0 && who.rank >= 0 && f->rank != who.rank);
}

struct mt_log_fact *mt_log_only_failure(struct mt_log *l, bool *placed)
{
    struct mt_log_fact *only = NULL;
    *placed = false;
    for (uint32_t i = 0; i < l->facts.n; i++) {
        struct mt_log_fact *f = &l->facts.p[i];
        if (!mt_log_has_stack(f->kind) || f->kind == MT_LOG_RETRIED)
            continue;
        if (only != NULL && memcmp(only->value, f->value, sizeof f->value) != 0)
            return NULL;
        only = only == NULL ? f : only;
        *placed |= f->stack != 0;
    }
    return only;
}

/* A whole traceback that led to nothing, below the only failure that has none: people paste the
 * error first, then "Full traceback:". One that begins in the very next line is what other
 * processes of the job print when this one is gone: whose it is it does not say, and the same
 * program runs in all of them. */
static void pasted_below(struct mt_log *l, struct mt_log_stack *s)
{
    bool placed;
    struct mt_log_fact *only = mt_log_only_failure(l, &placed); /* else nobody knows whose it is */
    if (only == NULL || only->stack != 0 || s->line == 0 || s->frames.n == 0 || !s->headed ||
        only->line >= s->first || s->first - only->line > PASTED)
        return;
    if (only->pid == s->writer.pid && only->rank == s->writer.rank) {
        s->is_mates = s->is_deeper =
            s->first - only->line == 1 && !mt_log_is_loggers(l, only->line);
        mt_log_stack_keep(l, s, only);
    } else if (of_mate(only, s->writer)) {
        s->is_mates = s->is_deeper = true;
        mt_log_stack_keep(l, s, only);
    }
}

/* "RayTaskError(OutOfMemoryError): ray::LLMActor.generate() (pid=11992, ...": the sentence comes
 * after the traceback, if at all. */
static void named_by_ray(struct mt_log *l, uint64_t number, const struct mt_log_stack *o)
{
    struct mt_log_fact *f = mt_log_blank(l, MT_LOG_TORCH_OOM, number);
    if (f == NULL)
        return;
    f->pid = o->of.pid;
    f->rank = o->of.rank;
    memcpy(f->who, o->who, sizeof f->who);
    mt_log_keep_text(f, "ray", 3);
}

/* Ray's line about a failure behind the innermost frames of it, by the same writer: people paste
 * the end of one traceback and the beginning of the next, and the workers of a group fail together.
 */
static void method_behind(struct mt_log *l, uint64_t number, const struct mt_log_stack *o)
{
    const struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    struct mt_log_stack *s = f != NULL && f->stack != 0 ? &l->stacks.p[f->stack - 1] : NULL;
    if (s != NULL && f->kind == MT_LOG_TORCH_OOM && number - f->line <= BELOW &&
        s->method[0] == '\0' && s->writer.pid == o->writer.pid && s->writer.rank == o->writer.rank)
        memcpy(s->method, o->method, sizeof s->method);
}

/* A traceback that broke off is that of the error which Ray named above it. */
static void of_named(struct mt_log *l, struct mt_log_stack *s)
{
    for (uint32_t i = l->facts.n;
         s->line != 0 && (s->frames.n != 0 || s->method[0] != '\0') && i-- > 0;) {
        struct mt_log_fact *f = &l->facts.p[i];
        if (f->kind == MT_LOG_TORCH_OOM && f->line == s->first && strcmp(f->text, "ray") == 0 &&
            f->stack == 0) {
            mt_log_stack_keep(l, s, f);
            return;
        }
    }
}

/* "Python stack at OOM:": what follows is whole, outermost first, and of the failure above. */
static bool observed(struct mt_log *l, uint64_t number, const char *s)
{
    static const char words[] = "Python stack at OOM:";
    const char *p = strstr(s, words);
    if (p == NULL || p[sizeof words - 1 + strspn(p + sizeof words - 1, " ")] != '\0')
        return false; /* the observer's own line of code, in the stack */
    begin(open_for(l, mt_log_writer(s, p)), number, (struct mt_log_writer){-1, -1}, true);
    return true;
}

void mt_log_stack_below(struct mt_log *l, struct mt_log_writer who, struct mt_log_fact *f)
{
    for (int i = 0; f->stack == 0 && i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *s = &l->open[i];
        if (s->line == 0 || s->frames.n == 0 || s->writer.pid != who.pid ||
            s->writer.rank != who.rank || s->first <= f->line || s->first - f->line > BELOW)
            continue;
        if (s->frames.n > 1 &&
            strcmp(s->frames.p[s->frames.n - 1].function, "_on_out_of_memory") == 0)
            s->frames.n--; /* the observer itself */
        mt_log_stack_keep(l, s, f);
    }
}

/* A logger's line about the failure, and its traceback right below, which ends in the error's bare
 * name: "ERROR step failed: CUDA out of memory. Tried ...", "Traceback ...",
 * "torch.OutOfMemoryError". */
static void logged_above(struct mt_log *l)
{
    for (uint32_t i = 1; i < l->facts.n; i++) {
        struct mt_log_fact *named = &l->facts.p[i], *f = named;
        if (named->kind != MT_LOG_TORCH_OOM || named->stack == 0 ||
            named->value[MT_LO_REQUEST] != MT_LOG_NONE)
            continue;
        while (f > l->facts.p && (f == named || f->kind == MT_LOG_OTHER_PROC))
            f--;
        if (f->kind != MT_LOG_TORCH_OOM || f->stack != 0 || f->pid != named->pid ||
            f->rank != named->rank || f->line >= l->stacks.p[named->stack - 1].first ||
            l->stacks.p[named->stack - 1].first - f->line > BELOW)
            continue;
        f->stack = named->stack;
        named->stack = 0;
    }
}

/* A notebook's traceback whose last line, the sentence, was not pasted: the head has the error. */
static void named_by_head(struct mt_log *l, struct mt_log_stack *s)
{
    struct mt_log_fact *f, one;
    uint32_t i;
    if (s->line == 0 || s->named == 0 || s->frames.n == 0 ||
        (f = mt_log_blank(l, MT_LOG_TORCH_OOM, s->named)) == NULL)
        return;
    mt_log_keep_text(f, "head", 4);
    f->pid = s->writer.pid;
    f->rank = s->writer.rank;
    mt_log_stack_keep(l, s, f);
    one = *f;
    for (i = l->facts.n - 1; i > 0 && l->facts.p[i - 1].line > one.line; i--)
        l->facts.p[i] = l->facts.p[i - 1];
    l->facts.p[i] = one;
}

void mt_log_stacks_end(struct mt_log *l)
{
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        upside_down(l, &l->open[i]);
        of_named(l, &l->open[i]);
        pasted_below(l, &l->open[i]);
        named_by_head(l, &l->open[i]);
    }
    logged_above(l);
}

/* "LLMActor.generate()", "Worker[rank=3].fit()", "task()": what Ray names, whatever follows was cut
 * off or not. */
static bool is_method(const char *s)
{
    size_t n = strcspn(s, " \t(");
    return n != 0 && strncmp(s + n, "()", 2) == 0;
}

/* "OutOfMemoryError               Traceback (most recent call last)": IPython begins with the name.
 */
static bool is_named_oom(const char *s, const char *traceback)
{
    static const char name[] = "OutOfMemoryError";
    const char *p = strstr(s, name);
    return p != NULL && p < traceback &&
           p + sizeof name - 1 + strspn(p + sizeof name - 1, " ") == traceback;
}

bool mt_log_stack_line(struct mt_log *l, uint64_t number, const char *s, const char *glued)
{
    const char *p, *ray;
    struct mt_log_got g;
    struct mt_log_at a;
    if (mt_log_frame_quoted(&a, s)) {
        struct mt_log_writer who = mt_log_writer(s, a.path);
        bool is_frame = frame(l, number, &a, who);
        while (
            mt_log_frame_quoted(&a, a.name + a.n_name)) /* a collector that took the newlines out */
            frame(l, number, &a, who);
        return is_frame;
    }
    if (mt_log_frame_of_ipython(&a, s) ||
        (strstr(s, "File \"") != NULL && mt_log_frame_quoted(&a, glued)))
        return frame(l, number, &a, mt_log_writer(s, strstr(s, "File ")));
    if (mt_log_frame_cut(&a, s))
        return frame(l, number, &a, mt_log_writer(s, a.name));
    if (mt_log_frame_boxed(&a, s, glued))
        return frame(l, number, &a, mt_log_writer(s, a.path));
    if (mt_log_frame_of_page(&a, s))
        return frame(l, number, &a, (struct mt_log_writer){-1, -1});
    if (typed_frame(l, number, s))
        return true;
    if (observed(l, number, s))
        return true;
    p = strstr(s, "pin_memory(");
    if (p == NULL)
        p = strstr(s, "pin_memory=True");
    if (p != NULL) {
        code_line(l, number, s, p);
        return false;
    }
    arrow(l, number, s);
    frame_code(l, number, s);
    object_line(l, number, s);
    ray = strstr(s, "ray::");
    if (ray != NULL && is_method(ray + 5)) {
        bool has_pid = mt_log_find(ray, "() (pid=%n,", &g) != NULL && g.v[0] <= INT32_MAX;
        uint64_t rank = mt_log_value(ray, "[rank=%n]");
        struct mt_log_stack *o = open_for(l, mt_log_writer(s, ray));
        begin(o, number,
              (struct mt_log_writer){has_pid ? (int64_t)g.v[0] : -1,
                                     rank <= INT32_MAX ? (int32_t)rank : -1},
              true);
        mt_printable(o->who, sizeof o->who, ray + 5, strcspn(ray + 5, ".("));
        ray += 5 + strcspn(ray + 5, ".(");
        if (*ray == '.')
            mt_printable(o->method, sizeof o->method, ray + 1, strcspn(ray + 1, "("));
        if (strstr(s, "RayTaskError(OutOfMemoryError)") != NULL)
            named_by_ray(l, number, o);
        else
            method_behind(l, number, o);
        return true;
    }
    p = strstr(s, "Traceback (most recent call last)");
    if (p == NULL)
        return false;
    upside_down(l, open_for(l, mt_log_writer(s, p)));
    begin(open_for(l, mt_log_writer(s, p)), number, (struct mt_log_writer){-1, -1}, true);
    if (is_named_oom(s, p))
        open_for(l, mt_log_writer(s, p))->named = number;
    return true;
}

/* Where a traceback ends in an error that memory may be behind, what is wrong stands in lines
 * further down. */
static bool may_be_memory(const char *name, size_t n)
{
    static const char *const ends[] = {"RuntimeError",     "BackendError", "CudaError",
                                       "AcceleratorError", "MemoryError",  "TaskError",
                                       "SystemError",      "DiedError",    "CrashedError"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n >= k && memcmp(name + n - k, ends[i], k) == 0)
            return true;
    }
    return false;
}

void mt_log_stack_close(struct mt_log *l, const char *s)
{
    const char *e = strstr(s, "Error: "), *b = e;
    struct mt_log_writer who;
    if (e == NULL)
        return;
    while (b > s && ((b[-1] >= 'a' && b[-1] <= 'z') || (b[-1] >= 'A' && b[-1] <= 'Z') ||
                     (b[-1] >= '0' && b[-1] <= '9') || b[-1] == '.' || b[-1] == '_'))
        b--;
    e += 5;
    if ((b != s && (b[-1] != ' ' || b - s < 2 || strchr(")]:", b[-2]) == NULL)) || b + 5 == e ||
        may_be_memory(b, (size_t)(e - b)))
        return;
    who = mt_log_writer(s, b);
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        if (o->line != 0 && o->frames.n != 0 && o->writer.pid == who.pid &&
            o->writer.rank == who.rank)
            o->line = 0;
    }
}

/* A line of code, of the same writer, stands right above line `number`. */
static bool is_above(const struct mt_log *l, uint64_t number, struct mt_log_writer who)
{
    return l->code_line != 0 && number - l->code_line <= CODE_ABOVE && l->code_of.pid == who.pid &&
           l->code_of.rank == who.rank;
}

void mt_log_stack_take(struct mt_log *l, uint64_t number, struct mt_log_fact *f,
                       struct mt_log_writer who)
{
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *s = &l->open[i];
        if (s->line == 0 || s->writer.pid != who.pid || s->writer.rank != who.rank ||
            number - s->line > NEAR)
            continue;
        if (s->pins && f->kind == MT_LOG_CUDA_OOM) {
            f->kind = MT_LOG_HOST_OOM; /* CUDA says the same of host memory that cannot be pinned */
            memcpy(f->text, "pinned", sizeof "pinned");
        }
        if (s->of.pid >= 0)
            f->pid = s->of.pid;
        if (s->of.rank >= 0)
            f->rank = s->of.rank;
        if (s->who[0] != '\0')
            memcpy(f->who, s->who, sizeof f->who);
        if (s->frames.n != 0 && l->code_line > s->line + 1 && is_above(l, number, who)) {
            s->is_deeper = true; /* frames between were cut out */
            memcpy(s->code, l->code, sizeof s->code);
        }
        if (s->frames.n == 0 && s->method[0] == '\0') {
            s->line = 0; /* its head alone, and lines of code without their frames */
            break;
        }
        mt_log_stack_keep(l, s, f);
        s->line = 0;
        return;
    }
    if (is_above(l, number, who)) {
        struct mt_log_stack one = {.writer = who, .of = {-1, -1}, .line = number, .first = number};
        struct mt_log_at a = {.path = "", .name = l->code_name};
        memcpy(one.code, l->code, sizeof one.code);
        a.end = a.path;
        a.n_name = strlen(a.name);
        if (a.n_name != 0)
            mt_log_stack_push(l, &one, &a, a.name);
        mt_log_stack_keep(l, &one, f);
        MT_VEC_DONE(&one.frames); /* empty where it was kept */
    }
}

void mt_log_stack_called(struct mt_log *l, struct mt_log_fact *f, struct mt_log_writer who)
{
    for (int i = 0; f->stack == 0 && i < MT_LOG_OPEN; i++) {
        const struct mt_log_stack *s = &l->open[i];
        struct mt_log_stack one = {
            .writer = who, .of = {-1, -1}, .line = f->line, .first = f->line, .headed = true};
        if (s->line == 0 || s->called[0] == '\0' || s->writer.pid != who.pid ||
            s->writer.rank != who.rank || f->line - s->line > NEAR)
            continue;
        memcpy(one.method, s->called, sizeof one.method);
        mt_log_stack_keep(l, &one, f);
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
