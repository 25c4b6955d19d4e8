#include "cli/redaction.h"
#include "cli/load.h"
#include "cli/term.h"

#include <string.h>

enum { KEY_MOST = 65536 };

static int learn(struct mt_redact *r, const struct mt_cli *c)
{
    int ok = mt_redact_learn_here(r);
    for (int i = 0; i < c->n_inputs; i++)
        ok &= mt_redact_learn_file(r, c->inputs[i]);
    for (int i = 0; i < c->logs.n; i++)
        ok &= mt_redact_learn_file(r, c->logs.p[i]);
    for (int i = 0; i < c->configs.n; i++)
        ok &= mt_redact_learn_file(r, c->configs.p[i]);
    for (int i = 0; i < c->limit_files.n; i++)
        ok &= mt_redact_learn_file(r, c->limit_files.p[i]);
    if (c->baseline != NULL)
        ok &= mt_redact_learn_file(r, c->baseline);
    if (!ok)
        mt_say("out of memory");
    return ok;
}

/* --redact-key KEY or @FILE; a key asks for --redact too. */
int mt_redact_open(struct mt_redact **out, const struct mt_cli *c,
                   const struct mt_framework_rules *fw)
{
    const char *key = c->redact_key;
    size_t n = key != NULL ? strlen(key) : 0;
    char *text = NULL;
    struct mt_err err;
    enum mt_rc rc;
    *out = NULL;
    if (key != NULL && key[0] == '@') {
        key = text = mt_load_file(c, key + 1, KEY_MOST, &n);
        if (text == NULL)
            return 0;
        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
            n--;
    }
    rc = mt_redact_new(out, fw, c->redact || key != NULL, key, n, &err);
    if (text != NULL)
        explicit_bzero(text, n);
    mt_free(text);
    if (rc == MT_EINPUT)
        mt_say("--redact-key: %s", err.msg);
    else if (rc == MT_EIO)
        mt_say("--redact: %s; name a key with --redact-key", err.msg);
    else if (rc != MT_OK)
        mt_say("%s", err.msg);
    return rc == MT_OK && learn(*out, c);
}

int mt_redact_one_key(struct mt_cli *c, char key[MT_REDACT_KEY_TEXT])
{
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (!c->redact || c->redact_key != NULL)
        return 1;
    if (mt_redact_random_key(key, &err) != MT_OK) {
        mt_say("--redact: %s; name a key with --redact-key", err.msg);
        return 0;
    }
    c->redact_key = key;
    return 1;
}

static int hide_files(struct mt_redact *r, const char **names, int n)
{
    for (int i = 0; i < n; i++)
        if ((names[i] = mt_redact_file_name(r, names[i])) == NULL)
            return 0;
    return 1;
}

int mt_redact_cli(struct mt_redact *r, struct mt_cli *c)
{
    if (!mt_redact_hides_names(r))
        return 1;
    c->redact = true; /* a key alone says so too, and is not shown */
    c->inputs = mt_redact_file_names(r, c->inputs, c->n_inputs);
    if (c->inputs == NULL || !hide_files(r, c->logs.p, c->logs.n) ||
        !hide_files(r, c->configs.p, c->configs.n))
        return 0;
    if (c->rules_file != NULL && (c->rules_file = mt_redact_file_name(r, c->rules_file)) == NULL)
        return 0;
    return c->title == NULL || (c->title = mt_redact_sentence(r, c->title)) != NULL;
}

int mt_redact_skipped(struct mt_redact *r, struct mt_skipped *s)
{
    int ok = 1;
    for (uint32_t i = 0; i < s->unread.n && ok; i++)
        ok = mt_redact_complaint(r, &s->unread.p[i].name, &s->unread.p[i].message);
    for (uint32_t i = 0; i < s->ignored.n && ok; i++)
        ok = mt_redact_complaint(r, &s->ignored.p[i].name, &s->ignored.p[i].message);
    return ok;
}

int mt_redact_found(struct mt_redact *r, struct mt_found *f)
{
    int ok = 1;
    for (uint32_t i = 0; mt_redact_hides_names(r) && i < f->files.n && ok; i++) {
        const char *now = mt_redact_file_name(r, f->files.p[i].name);
        char *own = now != NULL ? mt_strndup(now, strlen(now)) : NULL;
        ok = own != NULL;
        if (ok) {
            mt_free(f->files.p[i].name);
            f->files.p[i].name = own;
        }
    }
    return ok;
}
