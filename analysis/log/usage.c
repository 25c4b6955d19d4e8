/* log/usage.c -- how memory was used, by the lines that say so: who held the node's, by Ray's
 * table; the highest line of a log without a failure, and between which two it grew most. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

#include <string.h>

/* ---- Ray's table ---- */

enum { COMMANDS = 16 }; /* Ray prints ten rows */
struct command {
    const char *text;
    size_t n; /* letters of it that rows of one command share */
    uint64_t bytes;
    unsigned rows;
};

/* "ray::WorkerDict.actor_rollout_generate_sequences" without the method: the processes of one kind
 * are at different ones. A command line counts up to its first option, but for Python's module. */
static size_t kind_of(const char *s)
{
    const char *method = strncmp(s, "ray::", 5) == 0 ? strpbrk(s + 5, ".(") : NULL,
               *option = strstr(s, " -");
    while (option != NULL && strncmp(option, " -m ", 4) == 0)
        option = strstr(option + 4, " -");
    return method != NULL   ? (size_t)(method - s)
           : option != NULL ? (size_t)(option - s)
                            : strlen(s);
}

static void count(struct command *c, uint32_t *n, const struct mt_log_fact *f)
{
    size_t len = kind_of(f->text);
    uint32_t i = 0;
    while (i < *n && (c[i].n != len || memcmp(c[i].text, f->text, len) != 0))
        i++;
    if (i == COMMANDS)
        return;
    if (i == *n)
        c[(*n)++] = (struct command){.text = f->text, .n = len};
    c[i].bytes += mt_log_or_zero(f->value[1]);
    c[i].rows++;
}

static const struct command *largest(const struct command *c, uint32_t n, const struct command *but)
{
    const struct command *best = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (&c[i] != but && (best == NULL || c[i].bytes > best->bytes))
            best = &c[i];
    return best;
}

static void name(struct mt_sentence *t, const struct command *c, const char *lead)
{
    char a[32];
    mt_words_add(t, "%s%.*s%s %s", lead, (int)(c->n < 80 ? c->n : 80), c->text,
                 c->rows > 1 ? "," : "", "");
    if (c->rows > 1)
        mt_words_add(t, "%u processes, ", c->rows);
    mt_words_add(t, "%s", mt_words_bytes(a, c->bytes));
    if (strncmp(c->text, "ray::", 5) == 0 && c->text[c->n] == '.') {
        const char *method = c->text + c->n + 1;
        mt_words_add(t, " (the first in %.*s)", (int)strcspn(method, "( "), method);
    }
}

void mt_logdiag_say_table(struct mt_sentence *t, const struct mt_log *log,
                          const struct mt_log_fact *f)
{
    struct command c[COMMANDS];
    const struct command *first, *second;
    uint32_t n = 0, i = (uint32_t)(f - log->facts.p);
    if (f->kind != MT_LOG_RAY_KILL)
        return;
    while (i < log->facts.n && log->facts.p[i].kind == MT_LOG_RAY_KILL)
        i++;
    if (i == log->facts.n || log->facts.p[i].kind != MT_LOG_HOST_PROC) { /* where it was cut off */
        i = (uint32_t)(f - log->facts.p);
        while (i > 0 && log->facts.p[i - 1].kind == MT_LOG_HOST_PROC)
            i--;
    }
    for (; i < log->facts.n && log->facts.p[i].kind == MT_LOG_HOST_PROC; i++)
        count(c, &n, &log->facts.p[i]);
    first = largest(c, n, NULL);
    if (first == NULL)
        return;
    second = largest(c, n, first);
    mt_words_add(t, "%sBy Ray's table the node's memory was held by ", t->n != 0 ? " " : "");
    name(t, first, "");
    if (second != NULL)
        name(t, second, ", then ");
    mt_words_add(t, log->table_alone
                        ? ". Ray prints it only when it kills for want of memory: the line that "
                          "says so is not in this log."
                        : ".");
}

/* ---- lines of use ---- */

static uint64_t in_use(const struct mt_log_fact *f)
{
    for (int i = 2; i >= 0; i--) /* of the device, reserved, allocated */
        if (f->value[i] != MT_LOG_NONE)
            return f->value[i];
    return 0;
}

static const char *after(const char *text, const char *word)
{
    size_t n = strlen(word);
    return (text[0] | 32) == word[0] && strncmp(text + 1, word + 1, n - 1) == 0 ? text + n : NULL;
}

static bool one_writer(const struct mt_log_fact *a, const struct mt_log_fact *b)
{
    return a->pid == b->pid && a->rank == b->rank && a->gpu == b->gpu;
}

/* The line in which what `from` begins has ended: "Before X" and "After X"; NULL = none. */
static const struct mt_log_fact *end_of(const struct mt_log *log, uint32_t from)
{
    const struct mt_log_fact *f = &log->facts.p[from];
    const char *what = after(f->text, "before");
    for (uint32_t i = from + 1; what != NULL && i < log->facts.n; i++) {
        const struct mt_log_fact *g = &log->facts.p[i];
        const char *that = after(g->text, "after");
        if (g->kind != MT_LOG_TORCH_USAGE || !one_writer(f, g))
            continue;
        if (that != NULL && strcmp(what, that) == 0)
            return g;
        if (strcmp(f->text, g->text) == 0)
            return NULL; /* it began again */
    }
    return NULL;
}

void mt_logdiag_say_usage(struct mt_sentence *t, const struct mt_logs *logs)
{
    const struct mt_log_fact *top = NULL, *before = NULL, *then = NULL;
    uint64_t most = 0, grown = 0;
    char a[32], b[32], words[MT_FACT_WORDS];
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k], *g;
            if (f->kind != MT_LOG_TORCH_USAGE)
                continue;
            if (in_use(f) > most) {
                most = in_use(f);
                top = f;
            }
            g = end_of(log, k);
            if (g != NULL && f->value[0] != MT_LOG_NONE && g->value[0] != MT_LOG_NONE &&
                g->value[0] > f->value[0] && g->value[0] - f->value[0] > grown) {
                grown = g->value[0] - f->value[0];
                before = f;
                then = g;
            }
        }
    }
    if (top == NULL)
        return;
    mt_words_add(t, "%sThe most was in use in line %llu: %s.", t->n != 0 ? " " : "",
                 (unsigned long long)top->line, mt_log_fact_words(words, top));
    if (before != NULL)
        mt_words_add(t,
                     " What PyTorch had allocated grew most between \"%s\" and \"%s\", lines %llu "
                     "and %llu: by %s, from %s.",
                     before->text, then->text, (unsigned long long)before->line,
                     (unsigned long long)then->line, mt_words_bytes(a, grown),
                     mt_words_bytes(b, before->value[0]));
}
