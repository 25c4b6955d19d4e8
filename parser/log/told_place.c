/* log/told_place.c -- where a failure was, as the words of a sentence say it: "the error is raised
 * in models/unet.py line 88". */
#include "parser/log/match.h"

#include <string.h>

enum {
    NEAR = 12,     /* lines of text between the failure and the sentence */
    LONGEST = 1000 /* bytes of a line that are looked at */
};

static bool in_path(char c)
{
    return mt_log_is_letter(c) || mt_log_is_digit(c) || strchr("_./\\-", c) != NULL;
}

/* "unet.py:88", "unet.py, line 88", "unet.py at line 88", at the ".py" of it. */
static bool numbered(struct mt_log_at *a, const char *s, const char *py)
{
    static const char *const joins[] = {":", " line ", ", line ", " at line ", " (line ", NULL};
    for (const char *const *j = joins; *j != NULL; j++) {
        size_t n = strlen(*j);
        uint64_t line =
            strncmp(py + 3, *j, n) == 0 ? mt_log_value_at(py + 3 + n, "%n") : MT_LOG_NONE;
        if (line == MT_LOG_NONE)
            continue;
        a->end = py + 3;
        for (a->path = py; a->path > s && in_path(a->path[-1]);)
            a->path--;
        a->name = "";
        a->line = line;
        return a->path < py;
    }
    return false;
}

static bool is_same(const struct mt_log_at *a, const struct mt_log_at *b)
{
    size_t n = (size_t)(a->end - a->path);
    return a->line == b->line && n == (size_t)(b->end - b->path) &&
           strncmp(a->path, b->path, n) == 0;
}

/* "[ERROR] [launch.py:434:sigkill_handler] ...", "a.py:12: UserWarning": whose line this is. */
static bool is_loggers(const char *s)
{
    static const char *const words[] = {"ERROR",  "INFO",    "WARN", "DEBUG",
                                        "arning", "File \"", "pid=", NULL};
    return mt_log_has_one(s, words);
}

/* A sentence that says that it went wrong there. */
static bool tells(const char *from, const char *to)
{
    static const char *const words[] = {"crash", "fail",   "error",  " oom",  "out of memory",
                                        "dies",  "died",   "happen", "occur", "raised",
                                        "throw", "breaks", NULL};
    char small[LONGEST + 1];
    size_t n = 0;
    for (; from < to && n < LONGEST; from++)
        small[n++] = (char)(*from >= 'A' && *from <= 'Z' ? *from | 32 : *from);
    small[n] = '\0';
    return mt_log_has_one(small, words);
}

/* The end of the sentence at s; a point within a name ends none. */
static const char *sentence_end(const char *s)
{
    while (*s != '\0' && !(strchr(".!?", *s) != NULL && (s[1] == ' ' || s[1] == '\0')))
        s++;
    return *s != '\0' ? s + 1 : s;
}

/* "GPU 1 total: 178 GiB", "44 GiB were free on GPU 1": the one card that the lines around a failure
 * name which names none. */
static void told_gpu(struct mt_log *l, const struct mt_log_fact *f)
{
    uint64_t gpu = MT_LOG_NONE;
    struct mt_log_got g;
    for (uint32_t i = 0; i < l->prose.n; i++) {
        const struct mt_log_prose *p = &l->prose.p[i];
        uint64_t far = p->line > f->line ? p->line - f->line : f->line - p->line;
        if (far > NEAR || !(strstr(p->text, "ree") != NULL || strstr(p->text, "llocat") != NULL))
            continue;
        for (const char *s = p->text; (s = strstr(s, "GPU ")) != NULL; s += 4) {
            const char *end = mt_log_find(s, "GPU %n", &g);
            if (end == NULL || !mt_log_is_digit(s[4]) || strchr(" :,;.|)", *end) == NULL ||
                g.v[0] > 15 || (s - p->text >= 2 && mt_log_is_digit(s[-2])))
                continue; /* "2 GPU 24 GB" */
            if (gpu != MT_LOG_NONE && gpu != g.v[0])
                return;
            gpu = g.v[0];
        }
    }
    for (uint32_t i = 0; gpu != MT_LOG_NONE && i < l->facts.n; i++)
        if (l->facts.p[i].kind == f->kind && l->facts.p[i].gpu < 0)
            l->facts.p[i].gpu = mt_log_small(gpu);
}

void mt_log_told_place(struct mt_log *l)
{
    bool placed = false;
    struct mt_log_fact *f = l->prose.n != 0 ? mt_log_only_failure(l, &placed) : NULL;
    struct mt_log_stack one = {.of = {-1, -1}};
    struct mt_log_at at = {.line = 0}, found;
    bool differs = false; /* which of the two nobody knows */
    if (f != NULL && f->kind != MT_LOG_TORCH_OOM)
        f = NULL;
    for (uint32_t i = 0; f != NULL && !placed && i < l->prose.n; i++) {
        const struct mt_log_prose *p = &l->prose.p[i];
        uint64_t far = p->line > f->line ? p->line - f->line : f->line - p->line;
        if (far > NEAR || strlen(p->text) > LONGEST || is_loggers(p->text))
            continue;
        for (const char *s = p->text, *end; *s != '\0'; s = end) {
            end = sentence_end(s);
            for (const char *py = s; (py = strstr(py, ".py")) != NULL && py < end; py += 3) {
                if (!numbered(&found, s, py) || !tells(s, end))
                    continue;
                differs |= at.line != 0 && !is_same(&at, &found);
                at = found;
            }
        }
    }
    if (f != NULL && f->gpu < 0 && f->rank < 0)
        told_gpu(l, f);
    if (at.line == 0 || differs)
        return;
    one.writer = (struct mt_log_writer){f->pid, f->rank};
    one.line = one.first = f->line;
    mt_log_stack_push(l, &one, &at, at.name);
    mt_log_stack_keep(l, &one, f);
    MT_VEC_DONE(&one.frames); /* empty where it was kept */
}
