/* input/ahead.c -- which files come next, and what was read of them. */
#include "parser/input/ahead.h"

#include "parser/input/impl.h"

#include <string.h>
#include <sys/stat.h>

struct slot {
    struct mt_team_job job; /* first: it is what the pool knows of a slot */
    struct mt_ahead *owner;
    struct slot *next;
    char *input;         /* as it was given */
    char *member, *path; /* member: in a folder; NULL = the input itself */
    struct mt_ahead_file file;
};

struct mt_ahead {
    struct mt_team *pool;
    char *const *paths;
    int n, at;
    struct mt_input_opts opts;
    struct mt_dir *dir;        /* of paths[at], while it is walked */
    struct slot *first, *last; /* in their order */
    struct slot *peeked;       /* the next one, not begun */
    bool gave;
    void (*alone)(void *arg);
    void *alone_arg;
};

/* What may be a log is nothing for this: its reader belongs to one thread. */
static int no_text(void *arg, const char *input, const char *member, struct mt_source *src)
{
    (void)arg;
    (void)input;
    (void)member;
    (void)src;
    return 0;
}

struct mt_ahead *mt_ahead_new(struct mt_team *pool, char *const *paths, int n,
                              const struct mt_input_opts *opts)
{
    struct mt_ahead *a = mt_calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    *a = (struct mt_ahead){.pool = pool,
                           .paths = paths,
                           .n = n,
                           .opts = {.limits = opts->limits,
                                    .budget = opts->budget,
                                    .sha256 = opts->sha256,
                                    .text = opts->text != NULL ? no_text : NULL}};
    return a;
}

static void slot_free(struct slot *s)
{
    if (s == NULL)
        return;
    mt_trace_free(s->file.trace);
    mt_free(s->member);
    mt_free(s->path);
    mt_free(s);
}

/* Waits for a slot that was begun. Its token stays with a trace. */
static void settle(struct mt_ahead *a, struct slot *s)
{
    mt_team_wait(a->pool, &s->job);
    if (s->file.trace == NULL)
        mt_team_return(a->pool);
}

static struct slot *pop(struct mt_ahead *a)
{
    struct slot *s = a->first;
    if (s != NULL && (a->first = s->next) == NULL)
        a->last = NULL;
    return s;
}

/* The first slot, whatever was read of it. */
static void drop(struct mt_ahead *a)
{
    struct slot *s = pop(a);
    settle(a, s);
    if (s->file.trace != NULL)
        mt_team_return(a->pool);
    slot_free(s);
}

static void give_up(struct mt_ahead *a)
{
    while (a->first != NULL)
        drop(a);
    slot_free(a->peeked);
    a->peeked = NULL;
    a->at = a->n;
    mt_dir_close(a->dir);
    a->dir = NULL;
}

void mt_ahead_free(struct mt_ahead *a)
{
    if (a == NULL)
        return;
    give_up(a);
    mt_free(a);
}

void mt_ahead_alone(struct mt_ahead *a, void (*f)(void *arg), void *arg)
{
    a->alone = f;
    a->alone_arg = arg;
}

bool mt_ahead_gave(const struct mt_ahead *a) { return a->gave; }

/* Reads one file as mt_input_next() would, without anybody who takes logs or reports. */
static void read_file(struct mt_team_job *job)
{
    struct slot *s = (struct slot *)job;
    struct mt_input_opts opts = s->owner->opts;
    struct mt_input in = {.opts = opts, .path = s->input};
    struct mt_item it = {0};
    struct mt_err err;
    memset(&err, 0, sizeof err);
    s->file.rc = mt_raw_open(&in.raw, s->path, s->member != NULL, &in.opts, &err);
    if (s->file.rc != MT_OK)
        return;
    in.raw_open = true;
    s->file.rc = MT_ENOMEM;
    if (s->member != NULL && (it.member = mt_strndup(s->member, strlen(s->member))) == NULL)
        goto out;
    if (mt_raw_source(&in.raw, &it.src) != MT_OK)
        goto out;
    in.raw_src = it.src;
    it.direct = true;
    s->file.rc = mt_item_read(&in, &it, &s->file.trace, &err);
    s->file.device = in.raw.device;
    s->file.inode = in.raw.inode;
out:
    mt_item_done(&it);
    mt_input_empty(&in);
}

/* A pipe is opened once, by whoever walks. */
static bool is_file(const struct slot *s)
{
    struct stat st;
    if (s->member != NULL)
        return lstat(s->path, &st) == 0 && S_ISREG(st.st_mode);
    return strcmp(s->path, "-") != 0 && stat(s->path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The next file to come, in a->peeked; NULL = there is none. */
static void peek(struct mt_ahead *a)
{
    struct mt_err err;
    while (a->peeked == NULL && a->at < a->n) {
        char *input = a->paths[a->at];
        char *member = NULL, *path = NULL;
        struct slot *next;
        struct stat st;
        int r = 0;
        memset(&err, 0, sizeof err);
        if (a->dir == NULL && strcmp(input, "-") != 0 && stat(input, &st) == 0 &&
            S_ISDIR(st.st_mode) && mt_dir_open(&a->dir, input, &a->opts.limits, &err) != MT_OK)
            a->dir = NULL;
        if (a->dir != NULL) {
            while ((r = mt_dir_next(a->dir, &member, &path, &err)) < 0)
                mt_free(member); /* whoever walks says so */
            if (r == 0) {
                mt_dir_close(a->dir);
                a->dir = NULL;
                a->at++;
                continue;
            }
        } else {
            a->at++;
            path = mt_strndup(input, strlen(input));
        }
        next = mt_calloc(1, sizeof *next);
        if (next == NULL || path == NULL) {
            mt_free(member);
            mt_free(path);
            mt_free(next);
            a->at = a->n;
            return;
        }
        *next = (struct slot){
            .job.run = read_file, .owner = a, .input = input, .member = member, .path = path};
        a->peeked = next;
    }
}

void mt_ahead_go(struct mt_ahead *a)
{
    for (;;) {
        struct slot *s;
        peek(a);
        if ((s = a->peeked) == NULL)
            return;
        if (!is_file(s)) {
            /* its turn will come: the walker opens it */
            slot_free(s);
            a->peeked = NULL;
            continue;
        }
        if (!mt_team_take(a->pool))
            return;
        a->peeked = NULL;
        if (a->last != NULL)
            a->last->next = s;
        else
            a->first = s;
        a->last = s;
        mt_team_give(a->pool, &s->job, false);
    }
}

/* A file of a folder and the same file that was named itself are two. */
static bool is_it(const struct slot *s, const char *path, bool is_member)
{
    return (s->member != NULL) == is_member && strcmp(s->path, path) == 0;
}

bool mt_ahead_take(struct mt_ahead *a, const char *path, bool is_member, struct mt_ahead_file *out)
{
    struct slot *s = a->first;
    a->gave = false;
    while (s != NULL && !is_it(s, path, is_member))
        s = s->next;
    while (s != NULL && a->first != s)
        drop(a);
    if (s != NULL) {
        pop(a);
        settle(a, s);
        *out = s->file;
        s->file.trace = NULL;
        slot_free(s);
        a->gave = out->trace != NULL;
        if (out->rc == MT_ENOMEM) {
            give_up(a);
            if (a->alone != NULL)
                a->alone(a->alone_arg);
        }
    } else {
        /* not begun: the walker reads it, and this goes on behind it */
        peek(a);
        if (a->peeked != NULL && is_it(a->peeked, path, is_member)) {
            slot_free(a->peeked);
            a->peeked = NULL;
        }
    }
    mt_ahead_go(a);
    return a->gave;
}
