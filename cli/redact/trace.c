/* redact/trace.c -- every string of a trace, of the settings and of the logs, each by what it is.
 *
 * Fields get new strings; the old ones are emptied in the pool, so that a field which this file
 * does not know shows nothing instead of a name. */
#include "cli/redact/impl.h"
#include "parser/base/err.h"
#include "parser/model/driver.h"

#include <stdio.h>
#include <string.h>

struct pool {
    struct mt_redact *r;
    struct mt_trace *t;
    uint32_t n;    /* strings that were there before */
    uint8_t *used; /* by old id: stays as it is, or was never a name */
    /* by old id: its new one; 0 = not yet (the empty string needs none) */
    mt_str_id *map[MT_AS_COUNT];
    bool learn;
};

static void field(struct pool *p, enum mt_redact_as how, mt_str_id *id)
{
    struct mt_out o;
    mt_str_id old = *id, now;
    if (old == 0 || old >= p->n || p->r->failed)
        return;
    if (p->learn) {
        mt_redact_scan(p->r, how, mt_str(p->t, old), mt_str_len(p->t, old));
        return;
    }
    if (p->map[how] == NULL)
        p->map[how] = mt_calloc(p->n, sizeof **p->map);
    if (p->map[how] == NULL || (p->map[how][old] == 0 && !mt_out_mem(&o))) {
        p->r->failed = true;
        return;
    }
    if (p->map[how][old] == 0) {
        mt_redact_put(p->r, how, mt_str(p->t, old), mt_str_len(p->t, old), &o);
        now = o.error == 0 ? mt_strpool_add(&p->t->str, o.buf, o.used) : MT_STR_FAIL;
        mt_out_done(&o);
        if (now == MT_STR_FAIL) {
            p->r->failed = true;
            return;
        }
        p->map[how][old] = now;
    }
    *id = p->map[how][old];
    if (*id < p->n)
        p->used[*id] = 1;
}

/* A value that its key explains: not kept by old id, since two keys may have one value. */
static void valued(struct pool *p, mt_str_id key, mt_str_id *value)
{
    const char *name = mt_str(p->t, key), *s = mt_str(p->t, *value);
    uint32_t n = mt_str_len(p->t, *value);
    struct mt_out o;
    if (*value == 0 || p->r->failed)
        return;
    if (strncmp(name, "env.", 4) == 0)
        name += 4;
    if (strcmp(name, "boot_id") == 0 || strcmp(name, "machine_id") == 0) {
        field(p, p->r->names ? MT_AS_ID : MT_AS_ARGS, value);
        return;
    }
    if (strcmp(name, "exe") == 0 || strcmp(name, "cwd") == 0) {
        field(p, MT_AS_FILE, value);
        return;
    }
    if (p->learn) {
        enum mt_key_kind k = mt_redact_key(name, strlen(name));
        mt_redact_scan(p->r,
                       k == MT_KEY_HOST   ? MT_AS_HOST
                       : k == MT_KEY_NONE ? MT_AS_ARGS
                                          : MT_AS_USER,
                       s, n);
        return;
    }
    if (!mt_out_mem(&o)) {
        p->r->failed = true;
        return;
    }
    mt_redact_value(p->r, name, s, n, &o);
    *value = o.error == 0 ? mt_strpool_add(&p->t->str, o.buf, o.used) : MT_STR_FAIL;
    mt_out_done(&o);
    if (*value == MT_STR_FAIL) {
        *value = 0;
        p->r->failed = true;
    } else if (*value < p->n) {
        p->used[*value] = 1;
    }
}

static void plain(struct pool *p, mt_str_id id)
{
    if (!p->learn && id < p->n)
        p->used[id] = 1;
}

/* "verl.trainer.main_ppo", "train.py", "ray::WorkerDict" */
static void process_name(struct pool *p, mt_str_id *id)
{
    const char *s = mt_str(p->t, *id);
    size_t n = mt_str_len(p->t, *id), dot = 0;
    struct mt_out o;
    while (dot < n && s[dot] != '.' && s[dot] != ':')
        dot++;
    if (dot == n || mt_redact_is_common(p->r, s, dot) || memchr(s, '/', n) != NULL ||
        (n - dot == 3 && memcmp(s + dot, ".py", 3) == 0)) {
        field(p, MT_AS_ARGS, id);
        return;
    }
    if (p->learn || p->r->failed)
        return;
    if (!mt_out_mem(&o)) {
        p->r->failed = true;
        return;
    }
    mt_redact_token(p->r, "name", s, dot, &o);
    mt_redact_with_known(p->r, s + dot, n - dot, &o);
    *id = o.error == 0 ? mt_strpool_add(&p->t->str, o.buf, o.used) : MT_STR_FAIL;
    mt_out_done(&o);
    if (*id == MT_STR_FAIL) {
        *id = 0;
        p->r->failed = true;
    }
}

static void driver_settings(struct pool *p, struct mt_driver *d)
{
    for (uint32_t i = 0; i < d->processes.n; i++)
        field(p, MT_AS_ARGS, &d->processes.p[i].command);
    for (uint32_t i = 0; i < d->attrs.n; i++)
        valued(p, d->attrs.p[i].key, &d->attrs.p[i].value);
    for (uint32_t i = 0; i < d->launch.n; i++)
        valued(p, d->launch.p[i].key, &d->launch.p[i].value);
    for (uint32_t i = 0; i < d->attachments.n; i++)
        field(p, MT_AS_ARGS, &d->attachments.p[i].text);
}

static void driver_names(struct pool *p, struct mt_driver *d)
{
    for (uint32_t i = 0; i < d->processes.n; i++) {
        struct mt_process *q = &d->processes.p[i];
        field(p, MT_AS_HOST, &q->host);
        field(p, MT_AS_FILE, &q->exe);
        process_name(p, &q->name);
    }
    for (uint32_t i = 0; i < d->attrs.n; i++)
        plain(p, d->attrs.p[i].key);
    for (uint32_t i = 0; i < d->launch.n; i++)
        plain(p, d->launch.p[i].key);
    for (uint32_t i = 0; i < d->gpus.n; i++) {
        field(p, MT_AS_ID, &d->gpus.p[i].uuid);
        field(p, MT_AS_HOST, &d->gpus.p[i].host);
        plain(p, d->gpus.p[i].pci);
        plain(p, d->gpus.p[i].name);
    }
    for (uint32_t i = 0; i < d->rare.n; i++)
        field(p,
              memchr(mt_str(p->t, d->rare.p[i].name), '/', mt_str_len(p->t, d->rare.p[i].name)) !=
                      NULL
                  ? MT_AS_FILE
                  : MT_AS_CODE,
              &d->rare.p[i].name);
    for (uint32_t i = 0; i < d->activities.n; i++) {
        field(p, MT_AS_CODE, &d->activities.p[i].name);
        field(p, MT_AS_TEXT, &d->activities.p[i].source);
    }
    for (uint32_t i = 0; i < d->ranges.n; i++) {
        field(p, MT_AS_TEXT, &d->ranges.p[i].name);
        field(p, MT_AS_TEXT, &d->ranges.p[i].domain);
    }
    for (uint32_t i = 0; i < d->modules.n; i++) {
        field(p, MT_AS_FILE, &d->modules.p[i].path);
        plain(p, d->modules.p[i].build_id);
    }
    for (uint32_t i = 0; i < d->threads.n; i++)
        field(p, MT_AS_TEXT, &d->threads.p[i].name);
    for (uint32_t i = 0; i < d->statuses.n; i++)
        field(p, MT_AS_TEXT, &d->statuses.p[i].text);
    for (uint32_t i = 0; i < d->attachments.n; i++) {
        field(p, MT_AS_TEXT, &d->attachments.p[i].name);
        plain(p, d->attachments.p[i].kind);
    }
    for (uint32_t i = 0; i < d->frame_module.n; i++)
        field(p, MT_AS_FILE, &d->frame_module.p[i]);
}

static void settings(struct pool *p)
{
    for (uint32_t i = 0; i < p->t->settings.n; i++)
        valued(p, p->t->settings.p[i].key, &p->t->settings.p[i].value);
    if (p->t->driver != NULL)
        driver_settings(p, p->t->driver);
}

static void names(struct pool *p)
{
    struct mt_trace *t = p->t;
    for (uint32_t i = 0; i < t->frames.n; i++) {
        field(p, MT_AS_CODE, &t->frames.p[i].name);
        field(p, MT_AS_FILE, &t->frames.p[i].file);
    }
    for (uint32_t i = 0; i < t->functions.n; i++) {
        field(p, MT_AS_CODE, &t->functions.p[i].name);
        field(p, MT_AS_FILE, &t->functions.p[i].file);
    }
    for (uint32_t i = 0; i < t->ranges.n; i++)
        field(p, MT_AS_TEXT, &t->ranges.p[i].name);
    for (uint32_t i = 0; i < t->notes.n; i++)
        field(p, MT_AS_ARGS, &t->notes.p[i].text);
    for (uint32_t i = 0; i < t->fx.n; i++) {
        field(p, MT_AS_CODE, &t->fx.p[i].op);
        field(p, MT_AS_CODE, &t->fx.p[i].name);
        field(p, MT_AS_CODE, &t->fx.p[i].target);
        field(p, MT_AS_ARGS, &t->fx.p[i].code);
    }
    for (uint32_t i = 0; i < t->settings.n; i++)
        plain(p, t->settings.p[i].key);
    for (uint32_t i = 0; i < t->unknown_keys.n; i++)
        field(p, MT_AS_TEXT, &t->unknown_keys.p[i].name);
    for (uint32_t i = 0; i < t->unknown_actions.n; i++)
        field(p, MT_AS_TEXT, &t->unknown_actions.p[i].name);
    for (uint32_t i = 0; i < t->diags.n; i++)
        field(p, MT_AS_TEXT, &t->diags.p[i].text);
    if (t->driver != NULL)
        driver_names(p, t->driver);
}

static void meta_text(struct pool *p, enum mt_redact_as how, char **s)
{
    struct mt_out o;
    if (*s == NULL || strcmp(*s, "-") == 0 || p->r->failed)
        return;
    if (p->learn) {
        mt_redact_scan(p->r, how, *s, strlen(*s));
        return;
    }
    if (!mt_out_mem(&o)) {
        p->r->failed = true;
        return;
    }
    mt_redact_put(p->r, how, *s, strlen(*s), &o);
    char *now = o.error == 0 ? mt_strndup((const char *)o.buf, o.used) : NULL;
    mt_out_done(&o);
    if (now == NULL) {
        p->r->failed = true;
        return;
    }
    mt_free(*s);
    *s = now;
}

static void forget_unused(struct pool *p)
{
    for (uint32_t i = 1; i < p->n; i++)
        if (!p->used[i]) {
            p->t->str.ref.p[i].p = "";
            p->t->str.ref.p[i].len = 0;
        }
}

int mt_redact_trace(struct mt_redact *r, struct mt_trace *t)
{
    struct pool p = {.r = r, .t = t, .n = t->str.ref.n};
    if (!r->names && t->settings.n == 0 && t->driver == NULL)
        return 1;
    p.used = mt_calloc((size_t)p.n + 1, 1);
    if (p.used == NULL)
        return 0;
    if (r->names) { /* all names first: a command may name the host that a later field belongs to */
        p.learn = true;
        settings(&p);
        names(&p);
        meta_text(&p, MT_AS_FILE, &t->meta.input);
        meta_text(&p, MT_AS_FILE, &t->meta.member);
        meta_text(&p, MT_AS_HOST, &t->meta.host);
        p.learn = false;
    }
    settings(&p);
    if (r->names && !r->failed) {
        names(&p);
        meta_text(&p, MT_AS_FILE, &t->meta.input);
        meta_text(&p, MT_AS_FILE, &t->meta.member);
        meta_text(&p, MT_AS_HOST, &t->meta.host);
        if (!r->failed)
            forget_unused(&p);
    }
    for (int i = 0; i < MT_AS_COUNT; i++)
        mt_free(p.map[i]);
    mt_free(p.used);
    return !r->failed;
}

/* ---- settings and logs ---- */

static const char *kept(struct mt_redact *r, struct mt_arena *a, enum mt_redact_as how,
                        const char *key, const char *s)
{
    struct mt_out o;
    const char *now = NULL;
    if (s == NULL || s[0] == '\0')
        return s;
    if (mt_out_mem(&o)) {
        if (key != NULL)
            mt_redact_value(r, key, s, strlen(s), &o);
        else
            mt_redact_put(r, how, s, strlen(s), &o);
        if (o.error == 0)
            now = o.used == strlen(s) && memcmp(o.buf, s, o.used) == 0
                      ? s
                      : mt_arena_strndup(a, (const char *)o.buf, o.used);
        mt_out_done(&o);
    }
    if (now == NULL)
        r->failed = true;
    return now != NULL ? now : "";
}

/* "command of rank 0", "--args" and the like are our own words; the rest are names of files. */
static bool is_own_source(const char *s)
{
    static const char *const own[] = {"--", "command of ", "environment of ", "the snapshot"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(s, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

int mt_redact_conf(struct mt_redact *r, struct mt_runconf *conf, uint32_t first)
{
    const char *last = NULL, *last_now = NULL;
    for (int pass = r->names ? 0 : 1; pass < 2; pass++)
        for (uint32_t i = first; i < conf->conf.entries.n && !r->failed; i++) {
            struct mt_conf_entry *e = &conf->conf.entries.p[i];
            if (pass == 0) {
                enum mt_key_kind k = mt_redact_key(e->key, strlen(e->key));
                if (e->value != NULL)
                    mt_redact_scan(r,
                                   k == MT_KEY_NONE   ? MT_AS_ARGS
                                   : k == MT_KEY_HOST ? MT_AS_HOST
                                                      : MT_AS_USER,
                                   e->value, strlen(e->value));
                continue;
            }
            e->value = kept(r, &conf->arena, MT_AS_ARGS, e->key, e->value);
            if (!r->names || e->source == NULL || is_own_source(e->source))
                continue;
            if (e->source != last) { /* all entries of a file share its name */
                last = e->source;
                last_now = kept(r, &conf->arena, MT_AS_FILE, NULL, e->source);
            }
            e->source = last_now;
        }
    return !r->failed;
}

static void owned(struct mt_redact *r, enum mt_redact_as how, char **s)
{
    struct mt_trace none;
    struct pool p = {.r = r, .t = &none};
    meta_text(&p, how, s);
}

/* "logs.tar.gz: rank0.log": two names of files. */
static void label(struct mt_redact *r, char **s)
{
    char *colon = *s != NULL ? strstr(*s, ": ") : NULL, *first, *second, *both;
    size_t n;
    if (colon == NULL) {
        owned(r, MT_AS_FILE, s);
        return;
    }
    first = mt_redact_dup(r, MT_AS_FILE, *s, (size_t)(colon - *s));
    second = mt_redact_dup(r, MT_AS_FILE, colon + 2, strlen(colon + 2));
    n = first != NULL && second != NULL ? strlen(first) + strlen(second) + 3 : 0;
    both = n != 0 ? mt_malloc(n) : NULL;
    if (both == NULL) {
        r->failed = true;
        return;
    }
    snprintf(both, n, "%s: %s", first, second);
    mt_free(*s);
    *s = both;
}

static void fixed(struct mt_redact *r, enum mt_redact_as how, char *buf, size_t cap)
{
    char *s = mt_redact_dup(r, how, buf, strnlen(buf, cap));
    if (s != NULL)
        snprintf(buf, cap, "%s", s);
}

/* A program or task that was killed is called what a file is called, unless a framework gave the
 * name. */
static enum mt_redact_as how_fact(const struct mt_redact *r, const struct mt_log_fact *f)
{
    if (f->kind != MT_LOG_KERNEL_KILL && f->kind != MT_LOG_RAY_KILL && f->kind != MT_LOG_CARD_PROC)
        return MT_AS_TEXT;
    for (size_t n = 1; n <= r->words.longest && f->text[n - 1] != '\0'; n++)
        if (mt_redact_in(r, MT_RED_PROCESSES, f->text, n))
            return MT_AS_TEXT;
    return MT_AS_FILE;
}

static unsigned hex(char c)
{
    return mt_red_digit(c)        ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                  : 16;
}

/* A log's text in its own bytes: mt_printable() wrote "\\x5c" for a backslash, and so for every
 * letter that is not ASCII. */
static void bytes_of(char *s)
{
    char *to = s;
    for (const char *p = s; *p != '\0';) {
        unsigned byte = p[0] == '\\' && p[1] == 'x' && hex(p[2]) < 16 && hex(p[3]) < 16
                            ? hex(p[2]) * 16 + hex(p[3])
                            : 0;
        *to++ = byte != 0 ? (char)byte : *p;
        p += byte != 0 ? 4 : 1;
    }
    *to = '\0';
}

/* What a log says, which is kept printable: names are looked for in what was said. */
static void said(struct mt_redact *r, enum mt_redact_as how, char *buf, size_t cap)
{
    char *s;
    bytes_of(buf);
    s = mt_redact_dup(r, how, buf, strnlen(buf, cap));
    if (s != NULL)
        mt_printable(buf, cap, s, strlen(s));
}

static void slashes(char *path)
{
    for (; *path != '\0'; path++)
        if (*path == '\\')
            *path = '/';
}

static void stack_of(struct mt_redact *r, struct mt_log_stack *s)
{
    for (uint32_t i = 0; i < s->frames.n && !r->failed; i++) {
        struct mt_log_frame *f = &s->frames.p[i];
        bytes_of(f->file);
        slashes(f->file);
        said(r, MT_AS_FILE, f->file, sizeof f->file);
        said(r, MT_AS_CODE, f->function, sizeof f->function);
    }
}

int mt_redact_logs(struct mt_redact *r, struct mt_logs *logs)
{
    if (!r->names)
        return 1;
    for (uint32_t i = 0; i < logs->files.n && !r->failed; i++) {
        struct mt_log_file *f = &logs->files.p[i];
        if (strcmp(f->name, "standard input") != 0)
            label(r, &f->name);
        owned(r, MT_AS_TEXT, &f->problem);
        for (uint32_t k = 0; k < f->log.facts.n && !r->failed; k++)
            if (f->log.facts.p[k].text[0] != '\0')
                said(r, how_fact(r, &f->log.facts.p[k]), f->log.facts.p[k].text,
                     sizeof f->log.facts.p[k].text);
        for (uint32_t k = 0; k < f->log.paths.n && !r->failed; k++)
            fixed(r, MT_AS_FILE, f->log.paths.p[k].path, sizeof f->log.paths.p[k].path);
        if (f->log.program[0] != '\0')
            fixed(r, MT_AS_FILE, f->log.program, sizeof f->log.program);
        for (uint32_t k = 0; k < f->log.stacks.n && !r->failed; k++)
            stack_of(r, &f->log.stacks.p[k]);
    }
    return !r->failed;
}

static char *last_of(char *s, const char *end)
{
    char *found = NULL;
    for (char *at = strstr(s, end); at != NULL; at = strstr(at + 1, end))
        found = at;
    return found;
}

/* What a complaint quotes of a file that is no snapshot: its first bytes, its keys, the classes of
 * a model. Anybody's words. */
static int hide_quoted(struct mt_redact *r, char **s)
{
    static const struct {
        const char *begin, *end;
    } quotes[] = {{"(it starts with \"", "\")"},
                  {"found \"", "\""},
                  {"with the keys ", ";"},
                  {"opcode GLOBAL (", "): a memory snapshot"},
                  {"opcode STACK_GLOBAL (", "): a memory snapshot"},
                  {"opcode INST (", "): a memory snapshot"}};
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes && *s != NULL; i++) {
        char *from = strstr(*s, quotes[i].begin), *to, *now;
        size_t n;
        if (from == NULL || (to = last_of(from + strlen(quotes[i].begin), quotes[i].end)) == NULL)
            continue;
        from += strlen(quotes[i].begin);
        n = (size_t)(from - *s) + strlen(to) + sizeof "...";
        now = mt_malloc(n);
        if (now == NULL) {
            r->failed = true;
            return 0;
        }
        snprintf(now, n, "%.*s...%s", (int)(from - *s), *s, to);
        mt_free(*s);
        *s = now;
    }
    return 1;
}

int mt_redact_complaint(struct mt_redact *r, char **name, char **message)
{
    if (!r->names)
        return 1;
    label(r, name);
    if (hide_quoted(r, message))
        owned(r, MT_AS_TEXT, message);
    return !r->failed;
}
