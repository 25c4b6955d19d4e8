/* conf.c -- which reader a file needs. */
#include "parser/conf/impl.h"

#include <string.h>

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n > k && strcmp(name + n - k, end) == 0;
}

static bool is_script(const char *text, size_t n, const char *name)
{
    return (n >= 2 && memcmp(text, "#!", 2) == 0) || ends_in(name, ".sh") ||
           ends_in(name, ".bash") || ends_in(name, ".slurm") || ends_in(name, ".sbatch");
}

bool mt_conf_is_python(const char *name) { return ends_in(name, ".py"); }

/* The line, from 1, in which a merge leaves both sides behind; 0 = there is none. */
static unsigned long unmerged(const char *text, size_t n)
{
    static const char mark[] = "<<<<<<< ", between[] = "=======", end[] = ">>>>>>> ";
    unsigned long line = 1, at = 0;
    bool both = false;
    for (size_t i = 0; i < n; i++) {
        if ((i == 0 || text[i - 1] == '\n') && n - i >= sizeof mark - 1) {
            if (at == 0 && memcmp(text + i, mark, sizeof mark - 1) == 0)
                at = line;
            both |= at != 0 && memcmp(text + i, between, sizeof between - 1) == 0;
            if (both && memcmp(text + i, end, sizeof end - 1) == 0)
                return at;
        }
        line += text[i] == '\n';
    }
    return 0;
}

/* YAML; and lines of "key = value", which are a text to YAML and settings to TOML. */
static enum mt_rc yaml_or_toml(struct mt_config *c, const char *text, size_t n, const char *source,
                               struct mt_err *err)
{
    uint32_t before = c->entries.n;
    enum mt_rc rc = mt_conf_yaml(c, text, n, source, err);
    if (rc != MT_EINPUT || memchr(text, '=', n) == NULL)
        return rc;
    c->entries.n = before;
    return mt_conf_toml(c, text, n, source, NULL) == MT_OK && c->entries.n != before ? MT_OK : rc;
}

/* What no name tells: JSON begins with a brace. */
static enum mt_rc read_plain(struct mt_config *c, const char *text, size_t n, struct mt_conf_at *at,
                             struct mt_err *err)
{
    size_t i = 0;
    while (i < n && (text[i] == ' ' || (text[i] >= 9 && text[i] <= 13)))
        i++;
    if (i < n && text[i] == '{') {
        at->form = MT_CONF_JSON;
        return mt_conf_json(c, text, n, NULL, at, err);
    }
    return yaml_or_toml(c, text, n, at->source, err);
}

static enum mt_rc read_file(struct mt_config *c, const char *text, size_t n, const char *name,
                            struct mt_err *err)
{
    struct mt_conf_at at = {.source = mt_conf_source(c, name), .form = MT_CONF_PATH};
    unsigned long line;
    if (at.source == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (n > MT_CONF_FILE)
        return mt_fail(err, MT_ELIMIT, "too large for a file of settings: more than %u MiB",
                       (unsigned)(MT_CONF_FILE >> 20));
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* as Windows editors put it there */
        text += 3;
        n -= 3;
    }
    line = mt_conf_is_python(name) ? 0 : unmerged(text, n); /* a text of its own may show one */
    if (line != 0)
        return mt_fail(err, MT_EINPUT,
                       "line %lu: a merge that is not finished: both sides of it stand here", line);
    if (ends_in(name, ".toml")) /* "#!" is a comment there */
        return mt_conf_toml(c, text, n, at.source, err);
    if (mt_conf_is_python(name)) /* "#!/usr/bin/env python3" */
        return mt_conf_python(c, text, n, at.source, err);
    if (is_script(text, n, name))
        return mt_conf_args(c, text, n, name, true, err);
    return read_plain(c, text, n, &at, err);
}

enum mt_rc mt_conf_file(struct mt_config *c, const char *text, size_t n, const char *name,
                        struct mt_err *err)
{
    uint32_t entries = c->entries.n, started = c->started.n;
    enum mt_rc rc = read_file(c, text, n, name, err);
    if (rc < 0) {
        c->entries.n = entries;
        c->started.n = started;
    }
    return rc;
}

enum mt_rc mt_conf_block(struct mt_config *c, const char *text, size_t n, const char *source,
                         struct mt_err *err)
{
    struct mt_conf_at at = {.source = mt_conf_source(c, source), .form = MT_CONF_PATH};
    uint32_t entries = c->entries.n;
    enum mt_rc rc = at.source == NULL ? mt_fail(err, MT_ENOMEM, "out of memory")
                                      : read_plain(c, text, n, &at, err);
    if (rc < 0)
        c->entries.n = entries;
    return rc;
}
