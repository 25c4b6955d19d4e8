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
    CODE_ABOVE = 3,  /* lines from one of code to the failure that it led to */
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
    s->pins = false;
    s->objects[0] = '\0';
}

/* What a frame's line says. */
struct at {
    const char *path, *end, *name;
    size_t n_name;
    uint64_t line;
};

/* "update_actor", "<module>", "<lambda>"; identifiers may be of any alphabet. */
static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '<' || c == '>' || c == '.' || (unsigned char)c >= 0x80;
}

/* `File "/x/verl/workers/fsdp_workers.py", line 504, in update_actor` */
static bool quoted(struct at *a, const char *s)
{
    const char *p = strstr(s, "File \"");
    struct mt_log_got g;
    if (p == NULL)
        return false;
    a->path = p + 6;
    a->end = strchr(a->path, '"');
    if (a->end == NULL || a->end == a->path || strncmp(a->end, "\", line ", 8) != 0 ||
        (a->name = mt_log_find(a->end, "\", line %n, in ", &g)) == NULL)
        return false;
    for (a->n_name = 0; in_name(a->name[a->n_name]);) /* a line that was glued on may follow */
        a->n_name++;
    a->line = g.v[0];
    return a->n_name != 0;
}

/* IPython: `File /x/deepspeed/runtime/engine.py:1184, in DeepSpeedEngine._configure_optimizer(self,
 * client_optimizer)` */
static bool of_ipython(struct at *a, const char *s)
{
    const char *p = strstr(s, "File ");
    struct mt_log_got g;
    if (p == NULL || (p[5] != '/' && p[5] != '~'))
        return false;
    a->path = p + 5;
    a->end = a->path + strcspn(a->path, ": ");
    if (a->end - a->path < 4 || strncmp(a->end - 3, ".py:", 4) != 0 ||
        (a->name = mt_log_find(a->end, ":%n, in ", &g)) == NULL)
        return false;
    a->n_name = strcspn(a->name, "( \t");
    for (const char *dot; (dot = memchr(a->name, '.', a->n_name)) != NULL; a->name = dot + 1)
        a->n_name -= (size_t)(dot + 1 - a->name);
    a->line = g.v[0];
    return true;
}

/* Older ones, and Colab: `/usr/lib/transformers/trainer.py in train(self, x)`,
 * `[/usr/lib/a.py](https://localhost:8080/#) in f(x)` */
static bool of_notebook(struct at *a, const char *s)
{
    const char *p = s + (*s == '['), *end = *p == '/' || *p == '~' ? strstr(p, ".py") : NULL, *in;
    if (end == NULL || (size_t)(end - p) + 3 != strcspn(p, " ]"))
        return false;
    a->path = p;
    a->end = end + 3;
    in = *s == '[' ? strstr(a->end, "#) in ") : a->end;
    in = in != NULL && *s == '[' ? in + 2 : in;
    if (in == NULL || strncmp(in, " in ", 4) != 0)
        return false;
    a->name = in + 4;
    a->n_name = strcspn(a->name, "( \t");
    a->line = 0; /* an arrow further down has it */
    return a->n_name != 0 && a->name[a->n_name] == '(';
}

/* pytest: `.venv/lib/transformers/trainer.py:1742: in _inner_training_loop`, the innermost without
 * a name: `torch/nn/functional.py:9: OutOfMemoryError` */
static bool of_pytest(struct at *a, const char *s)
{
    const char *end = strstr(s, ".py:"), *path = end;
    struct mt_log_got g;
    if (end == NULL || (a->name = mt_log_find(end + 3, ":%n: in ", &g)) == NULL || end[4] < '0' ||
        end[4] > '9')
        return false;
    while (path > s && path[-1] != ' ' && path[-1] != '\t')
        path--;
    a->path = path;
    a->end = end + 3;
    a->n_name = strcspn(a->name, " \t\r");
    a->line = g.v[0];
    return a->n_name != 0 && in_name(a->name[0]) && a->name[a->n_name] == '\0' &&
           strstr(end + 3, ":") == end + 3;
}

/* rich, as Colab and several trainers print it: a box with `/usr/lib/a.py:1645 in train`; where the
 * box is too narrow the name stands alone in the next line, or "in" does. glued has them in a row.
 */
static bool of_rich(struct at *a, const char *s, const char *glued)
{
    static const char bar[] = "\xe2\x94\x82"; /* the box's side */
    const char *p = strstr(s, bar), *end;
    struct mt_log_got g;
    if (p == NULL)
        return false;
    p += sizeof bar - 1;
    p += strspn(p, " ");
    end = strstr(p, ".py:");
    if ((*p != '/' && *p != '~' && !(p[0] >= 'A' && p[0] <= 'Z' && p[1] == ':')) || end == NULL ||
        strcspn(p, " ") <= (size_t)(end - p))
        return false;
    a->path = p;
    a->end = end + 3;
    a->name = mt_log_find(a->end, ":%n in ", &g);
    if (a->name == NULL || a->name[0] == ' ' || strncmp(a->name, bar, sizeof bar - 1) == 0) {
        /* `│ /x/a.py:9 in      │ │ name     │` */
        const char *next = strstr(glued, bar);
        if (mt_log_find(a->end, ":%n", &g) == NULL || next == NULL ||
            (next = strstr(next + 3, bar)) == NULL || (next = strstr(next + 3, bar)) == NULL)
            return false;
        next += 3 + strspn(next + 3, " ");
        a->name = strncmp(next, "in ", 3) == 0 ? next + 3 : next;
    }
    for (a->n_name = 0; in_name(a->name[a->n_name]) && (unsigned char)a->name[a->n_name] < 0x80;)
        a->n_name++;
    a->line = g.v[0];
    return a->n_name != 0;
}

static bool frame(struct mt_log *l, uint64_t number, const struct at *a, struct mt_log_writer who)
{
    struct mt_log_stack *s = open_for(l, who);
    const char *path = a->path;
    struct mt_log_frame *f;
    size_t n = (size_t)(a->end - path);
    if (s->line == 0 || number - s->line > NEAR)
        begin(s, number, (struct mt_log_writer){-1, -1}, false);
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
    if (n >= sizeof f->file)
        path += n - (sizeof f->file - 1);
    mt_printable(f->file, sizeof f->file, path, (size_t)(a->end - path));
    mt_printable(f->function, sizeof f->function, a->name, a->n_name);
    f->line = a->line <= UINT32_MAX ? (uint32_t)a->line : 0;
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

static size_t word_at(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/* "self.ref.compute_logp(batch)" right below its frame: frames that several models share do not
 * tell whose pass it is, the object does. */
static void object_line(struct mt_log *l, uint64_t number, const char *s)
{
    const char *self = strstr(s, "self."), *name = self != NULL ? self + 5 : s;
    size_t n = self != NULL ? word_at(name) : 0, at;
    struct mt_log_writer who;
    if (n == 0 || name[n] != '.' || name[n + 1 + word_at(name + n + 1)] != '(')
        return;
    who = mt_log_writer(s, self);
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        struct mt_log_stack *o = &l->open[i];
        at = strlen(o->objects);
        if (o->line == 0 || o->frames.n == 0 || number - o->line != 1 || o->writer.pid != who.pid ||
            o->writer.rank != who.rank || at + n + 2 > sizeof o->objects)
            continue;
        o->objects[at] = ' ';
        memcpy(o->objects + at + 1, name, n);
        o->objects[at + 1 + n] = '\0';
    }
}

/* Keeps a stack for a failure, and empties it. */
static void keep(struct mt_log *l, struct mt_log_stack *s, struct mt_log_fact *f)
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

/* Frames that nothing introduced, right below a failure of the same writer that has none: they are
 * its own, the innermost first. */
static void upside_down(struct mt_log *l, struct mt_log_stack *s)
{
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    while (f != NULL && f->kind == MT_LOG_OTHER_PROC && f > l->facts.p)
        f--;
    if (s->line == 0 || s->frames.n == 0 || s->headed || f == NULL || !mt_log_has_stack(f->kind) ||
        f->stack != 0 || f->pid != s->writer.pid || f->rank != s->writer.rank ||
        f->line > s->first || s->first - f->line > BELOW)
        return;
    for (uint32_t i = 0, k = s->frames.n - 1; i < k; i++, k--) {
        struct mt_log_frame t = s->frames.p[i];
        s->frames.p[i] = s->frames.p[k];
        s->frames.p[k] = t;
    }
    keep(l, s, f);
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

/* A traceback that broke off is that of the error which Ray named above it. */
static void of_named(struct mt_log *l, struct mt_log_stack *s)
{
    for (uint32_t i = l->facts.n;
         s->line != 0 && (s->frames.n != 0 || s->method[0] != '\0') && i-- > 0;) {
        struct mt_log_fact *f = &l->facts.p[i];
        if (f->kind == MT_LOG_TORCH_OOM && f->line == s->first && strcmp(f->text, "ray") == 0 &&
            f->stack == 0) {
            keep(l, s, f);
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
        keep(l, s, f);
    }
}

void mt_log_stacks_end(struct mt_log *l)
{
    for (int i = 0; i < MT_LOG_OPEN; i++) {
        upside_down(l, &l->open[i]);
        of_named(l, &l->open[i]);
    }
}

bool mt_log_stack_line(struct mt_log *l, uint64_t number, const char *s, const char *glued)
{
    const char *p, *ray;
    struct mt_log_got g;
    struct at a;
    if (quoted(&a, s)) {
        bool is_frame = frame(l, number, &a, mt_log_writer(s, strstr(s, "File ")));
        while (quoted(&a, a.name + a.n_name)) /* a collector that took the newlines out */
            frame(l, number, &a, mt_log_writer(s, strstr(s, "File ")));
        return is_frame;
    }
    if (of_ipython(&a, s) || (strstr(s, "File \"") != NULL && quoted(&a, glued)))
        return frame(l, number, &a, mt_log_writer(s, strstr(s, "File ")));
    if (of_pytest(&a, s))
        return frame(l, number, &a, mt_log_writer(s, a.path));
    if (of_rich(&a, s, glued))
        return frame(l, number, &a, mt_log_writer(s, a.path));
    if (of_notebook(&a, s))
        return frame(l, number, &a, (struct mt_log_writer){-1, -1});
    if (observed(l, number, s))
        return true;
    p = strstr(s, "pin_memory(");
    if (p == NULL)
        p = strstr(s, "pin_memory=True");
    if (p != NULL) {
        code_line(l, number, s, p);
        return false;
    }
    object_line(l, number, s);
    ray = strstr(s, "ray::");
    if (ray != NULL && mt_log_find(ray, "() (pid=%n,", &g) != NULL && g.v[0] <= INT32_MAX) {
        uint64_t rank = mt_log_value(ray, "[rank=%n]");
        struct mt_log_stack *o = open_for(l, mt_log_writer(s, ray));
        begin(o, number,
              (struct mt_log_writer){(int64_t)g.v[0], rank <= INT32_MAX ? (int32_t)rank : -1},
              true);
        mt_printable(o->who, sizeof o->who, ray + 5, strcspn(ray + 5, ".("));
        ray += 5 + strcspn(ray + 5, ".(");
        if (*ray == '.')
            mt_printable(o->method, sizeof o->method, ray + 1, strcspn(ray + 1, "("));
        if (strstr(s, "RayTaskError(OutOfMemoryError)") != NULL)
            named_by_ray(l, number, o);
        return true;
    }
    p = strstr(s, "Traceback (most recent call last)");
    if (p == NULL)
        return false;
    upside_down(l, open_for(l, mt_log_writer(s, p)));
    begin(open_for(l, mt_log_writer(s, p)), number, (struct mt_log_writer){-1, -1}, true);
    return true;
}

/* Where a traceback ends in an error that memory may be behind, what is wrong stands in lines
 * further down. */
static bool may_be_memory(const char *name, size_t n)
{
    static const char *const ends[] = {"RuntimeError",     "BackendError", "CudaError",
                                       "AcceleratorError", "MemoryError",  "TaskError",
                                       "SystemError"};
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
        if (s->frames.n != 0 || s->method[0] != '\0')
            keep(l, s, f);
        s->line = 0;
        return;
    }
    if (l->code_line != 0 && number - l->code_line <= CODE_ABOVE && l->code_of.pid == who.pid &&
        l->code_of.rank == who.rank) {
        struct mt_log_stack one = {.writer = who, .of = {-1, -1}, .line = number, .first = number};
        memcpy(one.code, l->code, sizeof one.code);
        keep(l, &one, f);
    }
}

void mt_log_code_line(struct mt_log *l, uint64_t number, const char *s)
{
    static const char indent[] = "    ";
    struct mt_log_writer who;
    const char *p = NULL;
    for (const char *q = s; (q = strstr(q, indent)) != NULL; q += sizeof indent - 1)
        p = q + strspn(q, " "); /* behind whatever a logger puts before it */
    if (p == NULL || strchr(p, '(') == NULL || *p == '^' || *p == '~')
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
}

void mt_log_stack_method(struct mt_log *l, uint64_t number, struct mt_log_fact *f, const char *s)
{
    static const struct {
        const char *words, *file, *function;
        /* what the traceback does not show: the error is one that was caught there and is raised
         * again */
        bool further_in;
    } said[] = {
        {"Failed to load model - not enough GPU memory", "vllm/v1/worker/gpu_worker.py",
         "load_model", false},
        {"Failed to update parameter online", "sglang/srt/model_executor/model_runner.py",
         "update_weights_from_distributed", false},
        {"Capture cuda graph failed", "sglang/srt/model_executor/cuda_graph_runner.py", "capture",
         true},
        {"Failed to clone() tensor with name", "torch/distributed/fsdp/_state_dict_utils.py",
         "_full_post_state_dict_hook", false},
    };
    struct mt_log_stack one = {.writer = {f->pid, f->rank},
                               .of = {-1, -1},
                               .line = number,
                               .first = number,
                               .headed = true};
    const char *file = "vllm/worker/worker.py"; /* whose methods these are */
    struct mt_log_got g = {.text = NULL};
    struct mt_log_stack *to;
    struct mt_log_frame *at;
    bool further_in = false;
    for (size_t i = 0; i < sizeof said / sizeof *said && g.text == NULL; i++) {
        if (strstr(s, said[i].words) == NULL)
            continue;
        file = said[i].file;
        further_in = said[i].further_in;
        g.text = said[i].function;
        g.n_text = strlen(g.text);
    }
    if ((f->stack != 0 && !further_in) ||
        (g.text == NULL && mt_log_find(s, "while processing method %t:", &g) == NULL))
        return;
    to = f->stack != 0 ? &l->stacks.p[f->stack - 1] : &one;
    at = MT_VEC_PUSH(&to->frames);
    l->no_memory |= at == NULL;
    if (at == NULL)
        return;
    memset(at, 0, sizeof *at);
    memcpy(at->file, file, strlen(file));
    mt_printable(at->function, sizeof at->function, g.text, g.n_text);
    if (to == &one)
        keep(l, &one, f);
    MT_VEC_DONE(&one.frames); /* empty where it was kept */
}

void mt_log_stacks_done(struct mt_log *l)
{
    for (uint32_t i = 0; i < l->stacks.n; i++)
        MT_VEC_DONE(&l->stacks.p[i].frames);
    MT_VEC_DONE(&l->stacks);
    for (int i = 0; i < MT_LOG_OPEN; i++)
        MT_VEC_DONE(&l->open[i].frames);
}
