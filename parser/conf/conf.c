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

enum mt_rc mt_conf_file(struct mt_config *c, const char *text, size_t n, const char *name,
                        struct mt_err *err)
{
    struct mt_conf_at at = {.source = mt_conf_source(c, name), .form = MT_CONF_PATH};
    size_t i = 0;
    if (at.source == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (n > MT_CONF_FILE)
        return mt_fail(err, MT_ELIMIT, "too large for a file of settings: more than %u MiB",
                       (unsigned)(MT_CONF_FILE >> 20));
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* as Windows editors put it there */
        text += 3;
        n -= 3;
    }
    if (ends_in(name, ".toml")) /* "#!" is a comment there */
        return mt_conf_toml(c, text, n, at.source, err);
    if (mt_conf_is_python(name)) /* "#!/usr/bin/env python3" */
        return mt_conf_python(c, text, n, at.source, err);
    if (is_script(text, n, name))
        return mt_conf_args(c, text, n, name, true, err);
    while (i < n && (text[i] == ' ' || (text[i] >= 9 && text[i] <= 13)))
        i++;
    if (i < n && text[i] == '{') {
        at.form = MT_CONF_JSON;
        return mt_conf_json(c, text, n, NULL, &at, err);
    }
    return mt_conf_yaml(c, text, n, at.source, err);
}
