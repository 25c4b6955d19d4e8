/* lint_script.c -- variables that a script sets for itself alone: without "export", and not on the
 * line of the command, no program gets them. */
#include "analysis/run/lint_impl.h"

#include <stdio.h>
#include <string.h>

/* Bytes of "NAME" in "NAME=value" and nothing else but a backslash; 0 = the line is something
 * else. */
static size_t assigned(const char *s, bool *goes_on)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    const char *end;
    if (n == 0 || s[n] != '=' || (s[0] >= '0' && s[0] <= '9'))
        return 0;
    end = s + n + 1 + strcspn(s + n + 1, " \t\r;");
    end += strspn(end, " \t\r;");
    *goes_on = *end == '\\';
    return *end == '\0' || *end == '#' || *goes_on ? n : 0;
}

/* The line may stand in a script before its command: the text is one there, no account of what
 * somebody tried. */
static bool is_of_script(const char *s)
{
    static const char *const begins[] = {"#",      "export ", "cd ",    "source ", ". ",    "echo ",
                                         "mkdir ", "set ",    "module", "conda ",  "ulimit"};
    bool goes_on;
    s += strspn(s, " \t");
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(s, begins[i], strlen(begins[i])) == 0)
            return true;
    return assigned(s, &goes_on) != 0;
}

static bool exports(const struct mt_log *log, const char *name)
{
    char word[96];
    (void)snprintf(word, sizeof word, "export %.80s", name);
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *text = log->prose.p[i].text;
        if (strstr(text, word) != NULL || strstr(text, "set -a") != NULL ||
            strstr(text, "allexport") != NULL)
            return true;
    }
    return false;
}

/* Nothing but lines of a script is between this one and a command. */
static bool before_command(const struct mt_log *log, uint32_t at)
{
    for (uint32_t i = at + 1; i < log->prose.n; i++) {
        for (uint32_t k = 0; k < log->settings.n; k++)
            if (log->settings.p[k].line == log->prose.p[i].line && !log->settings.p[k].is_file &&
                !log->settings.p[k].is_code)
                return true;
        if (!is_of_script(log->prose.p[i].text))
            return false;
    }
    return false;
}

static bool in_text(const struct mt_log_file *file, const char *name, struct mt_lint_fact *out)
{
    const struct mt_log *log = &file->log;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *s = log->prose.p[i].text + strspn(log->prose.p[i].text, " \t");
        bool goes_on = false;
        size_t n = assigned(s, &goes_on);
        if (n != strlen(name) || memcmp(s, name, n) != 0 || goes_on || exports(log, name) ||
            !before_command(log, i))
            continue;
        (void)snprintf(out->text, sizeof out->text, "%.200s", s);
        (void)snprintf(out->where, sizeof out->where, "%.160s:%llu", file->name,
                       (unsigned long long)log->prose.p[i].line);
        return true;
    }
    return false;
}

bool mt_lint_unexported(const struct mt_lint_in *in, const char *name, struct mt_lint_fact *out)
{
    const struct mt_config *c = in->conf != NULL ? &in->conf->conf : NULL;
    for (uint32_t i = 0; in->logs != NULL && i < in->logs->files.n; i++)
        if (in_text(&in->logs->files.p[i], name, out))
            return true;
    for (uint32_t i = c != NULL ? c->entries.n : 0; i-- > 0;) {
        const struct mt_conf_entry *e = &c->entries.p[i];
        char where[160];
        if (e->form != MT_CONF_ENV || strcmp(e->key, name) != 0)
            continue;
        if (!e->is_local || e->value == NULL)
            return false;
        (void)snprintf(out->text, sizeof out->text, "%.80s=%.200s", name, e->value);
        (void)snprintf(out->where, sizeof out->where, "%s",
                       mt_runconf_where(where, sizeof where, e));
        return true;
    }
    return false;
}
