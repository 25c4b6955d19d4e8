/* redact/put.c -- one string: secrets first, then names, by what the string is. */
#include "cli/redact/impl.h"
#include "capture/inject/redact.h"

#include <string.h>

/* ---- secrets ---- */

/* The rules of the recorder, which knows C strings and one length: parts between NUL bytes, into as
 * much as they need. */
static void put_secretless(struct mt_redact *r, const char *key, const char *s, size_t n,
                           struct mt_out *o)
{
    /* the value of one argument goes to its end; those of a whole command line end at a blank */
    bool single = key != NULL;
    for (size_t from = 0; from <= n;) {
        const char *nul = from < n ? memchr(s + from, '\0', n - from) : NULL;
        size_t len = nul != NULL ? (size_t)(nul - (s + from)) : n - from, most = len * 12 + 64;
        char *part = mt_malloc(len + 2), *out = NULL;
        if (part != NULL) {
            part[0] = ' ';
            memcpy(part + 1, s + from, len);
            part[len + 1] = '\0';
        }
        for (size_t cap = len + len / 2 + 64; part != NULL; cap = cap * 4 < most ? cap * 4 : most) {
            char *bigger = mt_realloc(out, cap);
            struct mti_redact state = {0};
            if (bigger == NULL) {
                mt_free(part);
                part = NULL;
                break;
            }
            out = bigger;
            if (single)
                mti_redact_env(key, part + 1, out, cap);
            else
                mti_redact_arg(&state, part, out, cap);
            if (strlen(out) + 1 < cap || cap >= most)
                break;
        }
        if (part != NULL)
            mt_put(o, out + !single, strlen(out + !single));
        else
            r->failed = true;
        mt_free(part);
        mt_free(out);
        from += len + 1;
        if (from <= n)
            mt_putc(o, '\0');
    }
}

/* ---- all together ---- */

/* single: s is one argument of a command line. */
static void put_names(struct mt_redact *r, enum mt_redact_as how, bool single, const char *s,
                      size_t n, struct mt_out *o, bool learn)
{
    const char *user;
    size_t len;
    switch (how) {
    case MT_AS_HOST:
    case MT_AS_USER:
        if (mt_redact_is_plain_value(s, n))
            mt_put(o, s, n);
        else if (learn)
            mt_redact_learn(r, how == MT_AS_HOST ? "host" : "user", s, n);
        else
            mt_redact_token(r, how == MT_AS_HOST ? "host" : "user", s, n, o);
        break;
    case MT_AS_ID:
        if (n > 0 && !learn)
            mt_redact_token(r, "id", s, n, o);
        break;
    case MT_AS_FILE:
        if (!learn) {
            mt_redact_path(r, s, n, o);
        } else {
            user = mt_redact_user_in(s, n, &len);
            if (user != NULL)
                mt_redact_learn(r, "user", user, len);
        }
        break;
    case MT_AS_CODE:
    case MT_AS_TEXT:
    case MT_AS_ARGS: mt_redact_walk(r, how, single, s, n, o, learn); break;
    case MT_AS_COUNT: break;
    }
}

static void put_both(struct mt_redact *r, enum mt_redact_as how, const char *key, const char *s,
                     size_t n, struct mt_out *o)
{
    bool single = key != NULL && strncmp(key, "argv.", 5) == 0;
    bool secrets = how == MT_AS_ARGS || (how == MT_AS_TEXT && r->names);
    enum mt_key_kind kind = key != NULL ? mt_redact_key(key, strlen(key)) : MT_KEY_NONE;
    struct mt_out clean;
    if (!secrets && !r->names) {
        mt_put(o, s, n);
        return;
    }
    if (!secrets) {
        put_names(r, how, single, s, n, o, false);
        return;
    }
    if (!r->names) {
        put_secretless(r, key, s, n, o);
        return;
    }
    if (!mt_out_mem(&clean)) {
        r->failed = true;
        return;
    }
    put_secretless(r, key, s, n, &clean);
    (void)mt_out_finish(&clean);
    s = (const char *)clean.buf;
    n = clean.used;
    if (clean.error != 0)
        r->failed = true;
    else if (kind != MT_KEY_NONE && !mt_redact_is_plain_value(s, n) && memchr(s, '/', n) == NULL &&
             memchr(s, ',', n) == NULL)
        mt_redact_token(r, mt_redact_kind_words(kind), s, n, o);
    else
        put_names(r, how, single, s, n, o, false);
    mt_out_done(&clean);
}

void mt_redact_put(struct mt_redact *r, enum mt_redact_as how, const char *s, size_t n,
                   struct mt_out *o)
{
    put_both(r, how, NULL, s, n, o);
}

void mt_redact_value(struct mt_redact *r, const char *key, const char *s, size_t n,
                     struct mt_out *o)
{
    put_both(r, MT_AS_ARGS, key, s, n, o);
}

void mt_redact_scan(struct mt_redact *r, enum mt_redact_as how, const char *s, size_t n)
{
    struct mt_out none;
    if (!r->names || n == 0)
        return;
    if (!mt_out_mem(&none)) {
        r->failed = true;
        return;
    }
    put_names(r, how, false, s, n, &none, true);
    mt_out_done(&none);
}

char *mt_redact_dup(struct mt_redact *r, enum mt_redact_as how, const char *s, size_t n)
{
    struct mt_out o;
    char *copy = NULL;
    if (mt_out_mem(&o)) {
        mt_redact_put(r, how, s, n, &o);
        if (mt_out_finish(&o) == 0)
            copy = mt_arena_strndup(&r->arena, (const char *)o.buf, o.used);
        mt_out_done(&o);
    }
    if (copy == NULL)
        r->failed = true;
    return copy;
}

char *mt_redact_file_name(struct mt_redact *r, const char *s)
{
    return mt_redact_dup(r, MT_AS_FILE, s, strlen(s));
}

char **mt_redact_file_names(struct mt_redact *r, char *const *names, int n)
{
    char **out = mt_arena_alloc(&r->arena, ((size_t)n + 1) * sizeof *out, sizeof(void *));
    for (int i = 0; i < n && out != NULL; i++)
        if ((out[i] = strcmp(names[i], "-") == 0 ? names[i] : mt_redact_file_name(r, names[i])) ==
            NULL)
            return NULL;
    return out;
}

char *mt_redact_sentence(struct mt_redact *r, const char *s)
{
    return mt_redact_dup(r, MT_AS_TEXT, s, strlen(s));
}

int mt_redact_learn_file(struct mt_redact *r, const char *path)
{
    struct mt_out o;
    size_t n = strlen(path);
    if (!r->names)
        return 1;
    mt_redact_scan(r, MT_AS_FILE, path, n);
    if (strcmp(path, "-") == 0 || n < 3 || mt_redact_is_common(r, path, n) || !mt_out_mem(&o))
        return !r->failed;
    mt_redact_put(r, MT_AS_FILE, path, n, &o);
    (void)mt_out_finish(&o);
    mt_redact_learn_as(r, path, n, (const char *)o.buf, o.used);
    mt_out_done(&o);
    return !r->failed;
}
