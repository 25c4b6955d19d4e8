#include "cli/limits_read.h"

#include "cli/load.h"
#include "cli/options.h"
#include "cli/preferences.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FILE = 1 << 20 };

/* Of a place that is too long its end, where the line is. line: ":8" or "", a few letters. */
static void set_in(struct mt_limit *l, const char *where, const char *line)
{
    size_t cap = sizeof l->set_in - strlen(line), n = strlen(where);
    (void)snprintf(l->set_in, sizeof l->set_in, "%s%s%s", n < cap ? "" : "...",
                   n < cap ? where : where + n - (cap - 4), line);
}

/* where: "FILE:8" or "--max". The file is hidden before it is cut: what begins in the middle of a
 * path is known as none. 0 after a message. */
static int put_place(struct mt_limit *l, const char *where, struct mt_redact *redact)
{
    const char *colon = strrchr(where, ':'), *hidden;
    char *file;
    if (redact == NULL || colon == NULL) {
        set_in(l, where, "");
        return 1;
    }
    file = mt_strndup(where, (size_t)(colon - where));
    hidden = file != NULL ? mt_redact_file_name(redact, file) : NULL;
    mt_free(file);
    if (hidden == NULL)
        mt_say("out of memory");
    else
        set_in(l, hidden, colon);
    return hidden != NULL;
}

/* "role:logits=8GiB", also with blanks around; where: for messages. */
static enum mt_exit add(struct mt_limit_list *l, const char *text, const char *where,
                        struct mt_redact *redact)
{
    static const char blanks[] = " \t\r";
    const char *equals = strchr(text, '=');
    struct mt_limit *limit;
    struct mt_err err = {.rc = MT_OK};
    char size[40], shown[80];
    size_t n, n_size;
    mt_printable(shown, sizeof shown, text, strlen(text));
    if (equals == NULL) {
        mt_say("%s: '%s': NAME=SIZE is expected, as in peak=70GiB", where, shown);
        return MT_EXIT_USAGE;
    }
    for (n = (size_t)(equals - text); n > 0 && strchr(blanks, text[n - 1]) != NULL; n--)
        ;
    equals += 1 + strspn(equals + 1, blanks);
    for (n_size = strlen(equals); n_size > 0 && strchr(blanks, equals[n_size - 1]) != NULL;
         n_size--)
        ;
    (void)snprintf(size, sizeof size, "%.*s", n_size < sizeof size ? (int)n_size : 0, equals);
    limit = MT_VEC_PUSH(&l->list);
    if (limit == NULL) {
        mt_say("out of memory");
        return MT_EXIT_FAILED;
    }
    if (mt_limit_name(limit, text, n, &err) != MT_OK) {
        mt_say("%s: %s", where, err.msg);
        return MT_EXIT_USAGE;
    }
    if (!put_place(limit, where, redact))
        return MT_EXIT_FAILED;
    if (mt_parse_bytes(size, &limit->max))
        return MT_EXIT_OK;
    mt_say("%s: '%s': what stands behind '=' is not a size; write 70GiB, 512MiB or 0", where,
           shown);
    return MT_EXIT_USAGE;
}

/* A limit a line; '#' begins a comment. */
static enum mt_exit read_file(struct mt_limit_list *l, const char *path, const struct mt_cli *c,
                              struct mt_redact *redact)
{
    enum mt_exit status = MT_EXIT_OK;
    size_t n = 0;
    unsigned line = 0;
    char *text = mt_load_file(c, path, MAX_FILE, &n), *next;
    if (text == NULL)
        return MT_EXIT_FAILED;
    for (char *p = text; p != NULL && status == MT_EXIT_OK; p = next) {
        char where[4200];
        next = strchr(p, '\n');
        if (next != NULL)
            *next++ = '\0';
        p[strcspn(p, "#")] = '\0';
        p += strspn(p, " \t\r");
        line++;
        (void)snprintf(where, sizeof where, "%.4100s:%u", path, line);
        if (*p != '\0')
            status = add(l, p, where, redact);
    }
    mt_free(text);
    return status;
}

/* What memtrace.toml has for names of which no option says anything. */
static enum mt_exit preferred(struct mt_limit_list *l, const struct mt_preferences *p,
                              struct mt_redact *redact)
{
    enum mt_exit status = MT_EXIT_OK;
    uint32_t n = l->list.n;
    for (uint32_t i = 0; p != NULL && i < p->limits.n && status == MT_EXIT_OK; i++) {
        bool is_said = false;
        status = add(l, p->limits.p[i].text, p->limits.p[i].at, redact);
        for (uint32_t k = 0; k < n && status == MT_EXIT_OK; k++)
            is_said |= strcmp(l->list.p[k].name, l->list.p[l->list.n - 1].name) == 0;
        l->list.n -= is_said;
    }
    return status;
}

enum mt_exit mt_limits_read(struct mt_limit_list *l, const struct mt_cli *c,
                            struct mt_redact *redact)
{
    enum mt_exit status = MT_EXIT_OK;
    memset(l, 0, sizeof *l);
    for (int i = 0; i < c->limit_files.n && status == MT_EXIT_OK; i++)
        status = read_file(l, c->limit_files.p[i], c, redact);
    for (int i = 0; i < c->maxima.n && status == MT_EXIT_OK; i++)
        status = add(l, c->maxima.p[i], "--max", redact);
    return status == MT_EXIT_OK ? preferred(l, c->preferences, redact) : status;
}

void mt_limits_done(struct mt_limit_list *l) { MT_VEC_DONE(&l->list); }
