/* native/identity.c -- name, rank and command of a process from its ATTR records, as a person would
 * call it. */
#include "parser/native/impl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ARGS = 1024, MAX_COMMAND = 16384 };

struct facts {
    mt_str_id argv[MAX_ARGS];
    bool has[MAX_ARGS];
    uint32_t n_args;
    int64_t rank, local_rank;
    uint32_t rank_weight, local_weight; /* the lower, the better the variable */
};

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Decimal number of at most 31 bits, the whole string; -1 = none. */
static int64_t number(const char *s)
{
    int64_t v = 0;
    if (*s == '\0')
        return -1;
    for (; *s != '\0'; s++) {
        if (*s < '0' || *s > '9' || v > INT32_MAX)
            return -1;
        v = v * 10 + (*s - '0');
    }
    return v <= INT32_MAX ? v : -1;
}

static void rank_of(struct facts *f, const char *key, const char *value)
{
    static const char *const ranks[] = {
#define MT_RANK_VARIABLE(name) name,
#include "parser/model/launchers.def"
#undef MT_RANK_VARIABLE
    };
    static const char *const locals[] = {
#define MT_LOCAL_RANK_VARIABLE(name) name,
#include "parser/model/launchers.def"
#undef MT_LOCAL_RANK_VARIABLE
    };
    int64_t v = number(value);
    if (v < 0)
        return;
    for (uint32_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (i < f->rank_weight && strcmp(key, ranks[i]) == 0) {
            f->rank = v;
            f->rank_weight = i;
        }
    for (uint32_t i = 0; i < sizeof locals / sizeof *locals; i++)
        if (i < f->local_weight && strcmp(key, locals[i]) == 0) {
            f->local_rank = v;
            f->local_weight = i;
        }
}

static void take(struct mt_native *n, struct mt_process *p, struct facts *f,
                 const struct mt_process_attr *a)
{
    const char *key = mt_str(n->t, a->key), *value = mt_str(n->t, a->value);
    int64_t v;
    if (starts(key, "argv.")) {
        v = number(key + 5);
        if (v >= 0 && v < MAX_ARGS && !f->has[v]) {
            f->argv[v] = a->value;
            f->has[v] = true;
            f->n_args = v >= f->n_args ? (uint32_t)v + 1 : f->n_args;
        }
    } else if (starts(key, "env.")) {
        rank_of(f, key + 4, value);
    } else if (strcmp(key, "host") == 0) {
        p->host = a->value;
    } else if (strcmp(key, "exe") == 0) {
        p->exe = a->value;
    } else if (strcmp(key, "ppid") == 0 && (v = number(value)) >= 0) {
        p->ppid = (uint32_t)v;
    } else if (strcmp(key, "pid") == 0 && p->pid == 0 && (v = number(value)) >= 0) {
        p->pid = (uint32_t)v;
    }
}

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("_-./=:,@%+[]", c) != NULL);
}

/* argv as one would type it; a very long one is cut. */
static int command(struct mt_native *n, struct mt_process *p, const struct facts *f)
{
    char *buf = mt_malloc(MAX_COMMAND + 8);
    size_t at = 0;
    if (buf == NULL)
        return mt_native_nomem(n);
    for (uint32_t i = 0; i < f->n_args && at < MAX_COMMAND; i++) {
        const char *s = mt_str(n->t, f->argv[i]);
        size_t len = mt_str_len(n->t, f->argv[i]), plain = 0;
        bool quote;
        while (plain < len && is_plain(s[plain]))
            plain++;
        quote = len == 0 || plain < len;
        if (i > 0)
            buf[at++] = ' ';
        if (quote)
            buf[at++] = '\'';
        for (size_t k = 0; k < len && at < MAX_COMMAND; k++) {
            if (s[k] == '\'') {
                memcpy(buf + at, "'\\''", 4);
                at += 4;
            } else {
                buf[at++] = s[k];
            }
        }
        if (quote)
            buf[at++] = '\'';
    }
    if (at >= MAX_COMMAND) {
        at = MAX_COMMAND;
        memcpy(buf + at - 3, "...", 3);
    }
    p->command = mt_strpool_add(&n->t->str, buf, at);
    mt_free(buf);
    return p->command != MT_STR_FAIL || mt_native_nomem(n);
}

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    /* "ray::Worker.f" is a title */
    return slash != NULL && slash[1] != '\0' && strstr(path, "::") == NULL ? slash + 1 : path;
}

/* An interpreter is named after what it runs: the module, the script; a child of multiprocessing
 * after that. */
static const char *python_name(const struct mt_native *n, const struct facts *f)
{
    for (uint32_t i = 1; i < f->n_args; i++) {
        const char *s = mt_str(n->t, f->argv[i]),
                   *next = i + 1 < f->n_args ? mt_str(n->t, f->argv[i + 1]) : "";
        if (strcmp(s, "-m") == 0 && next[0] != '\0')
            return next;
        if (s[0] == '-' && s[1] == 'm' && s[2] != '\0')
            return s + 2;
        if (strcmp(s, "-c") == 0)
            return starts(next, "from multiprocessing.") ? "multiprocessing child" : NULL;
        if (strcmp(s, "-X") == 0 || strcmp(s, "-W") == 0 ||
            strcmp(s, "--check-hash-based-pycs") == 0)
            i++;
        else if (s[0] != '-')
            return s[0] != '\0' ? base(s) : NULL;
    }
    return NULL;
}

static int name(struct mt_native *n, struct mt_process *p, const struct facts *f)
{
    const char *program = f->n_args > 0 ? mt_str(n->t, f->argv[0]) : "",
               *exe = mt_str(n->t, p->exe), *s = NULL;
    program = base(program[0] != '\0' ? program : exe);
    if (starts(program, "python") || starts(program, "pypy") || starts(base(exe), "python"))
        s = starts(program, "ray::") ? NULL : python_name(n, f);
    if (s == NULL)
        s = program;
    p->name = mt_strpool_add(&n->t->str, s, strlen(s));
    return p->name != MT_STR_FAIL || mt_native_nomem(n);
}

/* Attributes by process, in the order they came; index[process] is where its own begin. */
static int sort_attrs(struct mt_native *n)
{
    struct mt_driver *d = n->d;
    struct mt_process_attr *out = mt_malloc((d->attrs.n + (size_t)1) * sizeof *out);
    uint32_t at = 0;
    if (out == NULL)
        return mt_native_nomem(n);
    for (uint32_t i = 0; i < d->attrs.n; i++)
        d->processes.p[d->attrs.p[i].process].n_attrs++;
    for (uint32_t i = 0; i < d->processes.n; i++) {
        d->processes.p[i].first_attr = at;
        at += d->processes.p[i].n_attrs;
        d->processes.p[i].n_attrs = 0;
    }
    for (uint32_t i = 0; i < d->attrs.n; i++) {
        struct mt_process *p = &d->processes.p[d->attrs.p[i].process];
        out[p->first_attr + p->n_attrs++] = d->attrs.p[i];
    }
    mt_free(d->attrs.p);
    d->attrs.p = out;
    d->attrs.cap = d->attrs.n;
    return 1;
}

int mt_native_identities(struct mt_native *n)
{
    struct facts *f;
    int ok = sort_attrs(n);
    f = mt_malloc(sizeof *f);
    if (f == NULL)
        return mt_native_nomem(n);
    for (uint32_t i = 0; i < n->d->processes.n && ok; i++) {
        struct mt_process *p = &n->d->processes.p[i];
        memset(f, 0, sizeof *f);
        f->rank = f->local_rank = -1;
        f->rank_weight = f->local_weight = MT_NONE32;
        for (uint32_t k = 0; k < p->n_attrs; k++)
            take(n, p, f, &n->d->attrs.p[p->first_attr + k]);
        p->rank = (int32_t)f->rank;
        p->local_rank = (int32_t)f->local_rank;
        ok = command(n, p, f) && name(n, p, f);
    }
    mt_free(f);
    return ok;
}
