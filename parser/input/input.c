/* input.c -- walks one INPUT argument: takes wrappings off until a reader bids for what is inside,
 * and names what it finds. */
#include "parser/input/input.h"

#include "parser/input/ahead.h"
#include "parser/input/impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static enum mt_rc no_memory(struct mt_err *err) { return mt_fail(err, MT_ENOMEM, "out of memory"); }

/* At most max bytes of a name, made printable; the end of a long one says more than its start. */
static char *show(char *out, size_t cap, const char *name, size_t max)
{
    size_t n = strlen(name), skip = n > max ? n - max : 0;
    mt_printable(out, cap, name + skip, n - skip);
    for (size_t i = 0; i < 3 && skip > 0 && out[i] != '\0'; i++)
        out[i] = '.';
    return out;
}

const char *mt_input_shown(char out[MT_INPUT_SHOWN], const char *path)
{
    return show(out, MT_INPUT_SHOWN, path, 180);
}

/* Puts "path/member: " or "path: member: " before the text. */
static enum mt_rc name_it(const struct mt_input *in, const char *member, enum mt_rc rc,
                          struct mt_err *err)
{
    char path[MT_INPUT_SHOWN], inner[404], msg[MT_ERR_MSG];
    const char *sep = ": ";
    if (err == NULL)
        return rc;
    mt_input_shown(path, in->path);
    show(inner, sizeof inner, member != NULL ? member : "", 100);
    if (member == NULL)
        sep = "";
    else if (in->dir != NULL)
        sep = in->path[strlen(in->path) - 1] == '/' ? "" : "/";
    memcpy(msg, err->msg, sizeof msg);
    msg[sizeof msg - 1] = '\0';
    if (snprintf(err->msg, sizeof err->msg, "%s%s%s: %s",
                 strcmp(in->path, "-") == 0 ? "standard input" : path, sep, inner, msg) < 0)
        err->msg[0] = '\0';
    err->rc = rc;
    return rc;
}

enum mt_rc mt_input_open(struct mt_input **out, const char *path, const struct mt_input_opts *opts,
                         struct mt_err *err)
{
    struct mt_input *in = mt_calloc(1, sizeof *in);
    struct stat st;
    enum mt_rc rc = MT_OK;
    *out = NULL;
    if (in == NULL)
        return no_memory(err);
    in->opts = *opts;
    if (in->opts.budget == NULL) {
        mt_budget_start(&in->budget);
        in->opts.budget = &in->budget;
    }
    in->told_none = opts->wanted != NULL;
    in->path = mt_strndup(path, strlen(path));
    if (in->path == NULL) {
        rc = no_memory(err);
        goto out;
    }
    if (path[0] == '\0')
        rc = mt_fail(err, MT_EIO, "the name of an input is empty");
    else if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = mt_dir_open(&in->dir, path, &in->opts.limits, err);
    else if ((rc = mt_raw_open(&in->raw, in->path, false, &in->opts, err)) == MT_OK)
        in->raw_open = true;
    if (rc != MT_OK)
        name_it(in, NULL, rc, err);
out:
    if (rc != MT_OK)
        mt_input_close(in);
    else
        *out = in;
    return rc;
}

void mt_input_close(struct mt_input *in)
{
    if (in == NULL)
        return;
    mt_input_empty(in);
    mt_free(in->path);
    mt_free(in);
}

uint64_t mt_input_ignored(const struct mt_input *in) { return in->n_ignored; }

static bool is_wanted(const struct mt_input *in, const char *member)
{
    return in->opts.wanted == NULL || in->opts.wanted(in->opts.text_arg, member);
}
uint64_t mt_input_links(const struct mt_input *in)
{
    return in->n_links + (in->dir != NULL ? mt_dir_links(in->dir) : 0);
}

static enum mt_rc open_raw(struct mt_input *in, const char *path, struct mt_item *it,
                           struct mt_err *err)
{
    enum mt_rc rc = MT_OK;
    if (!in->raw_open)
        rc = mt_raw_open(&in->raw, path, in->dir != NULL, &in->opts, err);
    if (rc != MT_OK)
        return rc;
    in->raw_open = true;
    if (mt_raw_source(&in->raw, &it->src) != MT_OK)
        return no_memory(err);
    in->raw_src = it->src;
    it->direct = true;
    return MT_OK;
}

/* The budget of the run is spent: the walk ends. Names the whole input: what is missing of it,
 * nobody has looked. */
static enum mt_rc over_files(struct mt_input *in, struct mt_err *err)
{
    in->over = true;
    mt_fail(err, MT_ELIMIT,
            "more than %u files in archives and folders in this run; the rest was not read (raise "
            "--max-members)",
            in->opts.limits.max_members);
    return name_it(in, NULL, MT_ELIMIT, err);
}

static enum mt_rc over_time(struct mt_input *in, struct mt_err *err)
{
    in->over = true;
    mt_raw_fail_time(&in->opts, err);
    return name_it(in, NULL, MT_ELIMIT, err);
}

/* The file whose turn it is was read already. */
static bool is_ahead(struct mt_input *in, const char *path, struct mt_trace **out, enum mt_rc *rc)
{
    struct mt_ahead_file f = {.trace = NULL};
    if (in->opts.ahead == NULL || !mt_ahead_take(in->opts.ahead, path, in->dir != NULL, &f))
        return false;
    /* what the user named is told of when it is closed */
    if (in->dir != NULL && f.inode != 0 && in->opts.opened != NULL)
        in->opts.opened(f.device, f.inode);
    *out = f.trace;
    *rc = f.rc;
    return true;
}

/* 1 = *it is set, 2 = passed over, 3 = *out is set and *rc with it, 0 = no more, < 0 = error,
 * named. */
static int next_file(struct mt_input *in, struct mt_item *it, struct mt_trace **out,
                     enum mt_rc *was, struct mt_err *err)
{
    enum mt_rc rc;
    int r;
    if (in->dir == NULL) {
        if (in->started)
            return 0;
        in->started = true;
        if (is_ahead(in, in->path, out, was))
            return 3;
        rc = open_raw(in, in->path, it, err);
        return rc == MT_OK ? 1 : (int)name_it(in, NULL, rc, err);
    }
    mt_input_close_raw(in);
    mt_free(in->file_path);
    in->file_path = NULL;
    r = mt_dir_next(in->dir, &it->member, &in->file_path, err);
    if (r == 1 && !mt_budget_file(in->opts.budget, &in->opts.limits))
        return over_files(in, err);
    if (r == 1 && !is_wanted(in, it->member))
        return 2;
    if (r == 1 && is_ahead(in, in->file_path, out, was))
        return 3;
    if (r == 1) {
        rc = open_raw(in, in->file_path, it, err);
        r = rc == MT_OK ? 1 : (int)rc;
    }
    return r < 0 ? (int)name_it(in, it->member, (enum mt_rc)r, err) : r;
}

/* The same. */
static int next_member(struct mt_input *in, struct mt_item *it, struct mt_err *err)
{
    struct mt_open_box *x = &in->box[in->n_box - 1];
    char *name = NULL;
    int r = x->b->next(x->b, &it->src, &name, err);
    if (r == 0)
        return 0;
    /* the chunks of a trace are the file itself; what torch.save packs is nothing that is read */
    if (r == 1 && !x->b->is_chunks && (!x->b->torch_save || mt_is_data_pkl(name)) &&
        !mt_budget_file(in->opts.budget, &in->opts.limits)) {
        mt_free(name);
        return over_files(in, err);
    }
    it->layers = x->layers;
    it->chunks = x->b->is_chunks;
    it->uid = x->b->uid;
    memcpy(it->encoding, x->encoding, sizeof it->encoding);
    if (name == NULL || x->member == NULL) {
        it->member = name;
        if (name == NULL && x->member != NULL)
            it->member = mt_strndup(x->member, strlen(x->member));
    } else {
        size_t n = strlen(x->member), k = strlen(name);
        it->member = mt_malloc(n + k + 2);
        if (it->member != NULL)
            (void)snprintf(it->member, n + k + 2, "%s/%s", x->member, name);
        mt_free(name);
        if (it->member == NULL)
            return no_memory(err);
    }
    if (r == 1) {
        it->src->max_bytes = in->opts.limits.max_bytes;
        if (in->opts.wanted != NULL)
            return !x->b->torch_save && it->member != NULL && is_wanted(in, it->member) ? 1 : 2;
        if (!x->b->torch_save || mt_is_data_pkl(it->member))
            return 1;
        mt_input_ignore(in, it->member);
        return 2;
    }
    if (r == MT_EINPUT && x->b->kind == MT_PACK_HTML && !x->b->has_data &&
        (in->dir != NULL || in->n_box > 1)) {
        mt_input_ignore(in, it->member);
        return 2;
    }
    return name_it(in, it->member, (enum mt_rc)r, err);
}

/* Reports an input in which nothing was found: silence would look like success. */
static enum mt_rc at_end(struct mt_input *in, struct mt_err *err)
{
    unsigned long long n = (unsigned long long)in->n_ignored;
    unsigned long long links = (unsigned long long)mt_input_links(in);
    char logs[256] = "";
    if (in->n_found > 0 || in->told_none)
        return MT_OK;
    in->told_none = true;
    if (in->no_line[0] != '\0' && in->n_no_line == 1)
        (void)snprintf(logs, sizeof logs,
                       "; %s was read as a log, and has no line about memory that memtrace knows",
                       in->no_line);
    else if (in->no_line[0] != '\0')
        (void)snprintf(logs, sizeof logs,
                       "; %s and %llu more were read as logs, and have no line about memory that "
                       "memtrace knows",
                       in->no_line, (unsigned long long)in->n_no_line - 1);
    if (in->dir == NULL)
        mt_fail(err, MT_EINPUT, "no memory snapshot in this %s file (%llu other file%s in it%s)%s",
                mt_pack_name(in->kind), n, n == 1 ? "" : "s",
                links == 0   ? ""
                : links == 1 ? ", and 1 link, which is not followed"
                             : ", and links, which are not followed",
                logs);
    else if (n == 0 && links == 0)
        mt_fail(err, MT_EINPUT, "no memory snapshot in this directory: it is empty");
    else
        mt_fail(err, MT_EINPUT,
                "no memory snapshot in this directory (%llu other file%s; symbolic links, of which "
                "it has %llu, are "
                "not followed)%s",
                n, n == 1 ? "" : "s", links, logs);
    return name_it(in, NULL, MT_EINPUT, err);
}

enum mt_rc mt_input_next(struct mt_input *in, struct mt_trace **out, struct mt_err *err)
{
    struct mt_err local;
    *out = NULL;
    if (err == NULL)
        err = &local;
    memset(err, 0, sizeof *err);
    while (!in->over) {
        struct mt_item it = {0};
        bool boxed = in->n_box > 0;
        enum mt_rc rc = MT_OK;
        int r = boxed ? next_member(in, &it, err) : next_file(in, &it, out, &rc, err);
        if (r < 0) {
            rc = (enum mt_rc)r;
        } else if (r != 0 && r != 3 && mt_budget_ms(in->opts.budget, &in->opts.limits) == 0) {
            rc = over_time(in, err);
        } else if (r == 1) {
            in->note = NULL;
            rc = mt_item_read(in, &it, out, err);
            if (rc < MT_OK)
                name_it(in, it.member, rc, err);
        }
        mt_item_done(&it);
        if (rc < MT_OK || *out != NULL) {
            in->n_found++;
            return rc;
        }
        if (r == 0 && boxed)
            mt_input_close_box(in);
        else if (r == 0)
            return at_end(in, err);
    }
    return MT_OK;
}
