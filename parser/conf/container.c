/* conf/container.c -- the words of "docker run", up to the image: options of the container, which
 * are no settings of what runs in it. What follows the image is the program's own. */
#include "parser/conf/impl.h"

#include <string.h>

/* Options without a value; all others have one. */
static const char switches[] = "ditPq";
static const char *const long_switches[] = {
    "rm",        "init",  "privileged",  "detach",         "interactive",     "tty",
    "read-only", "quiet", "publish-all", "no-healthcheck", "oom-kill-disable"};

static bool is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

bool mt_conf_container_begins(const struct mt_text *before, const char *s, size_t n)
{
    static const char *const programs[] = {"docker", "podman", "nerdctl"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (is(before->p, before->n, programs[i]))
            return is(s, n, "run");
    return false;
}

static bool has_value(const char *s, size_t n)
{
    if (memchr(s, '=', n) != NULL)
        return false; /* it is in the same word */
    if (s[1] != '-')
        return n == 2 && strchr(switches, s[1]) == NULL; /* "-it", "-p80:80" */
    for (size_t i = 0; i < sizeof long_switches / sizeof *long_switches; i++)
        if (is(s + 2, n - 2, long_switches[i]))
            return false;
    return true;
}

enum mt_conf_container_part mt_conf_container_word(struct mt_conf_container *c, const char *s,
                                                   size_t n)
{
    bool is_variable = c->is_variable;
    if (c->wants_value) {
        c->wants_value = c->is_variable = false;
        return is_variable ? MT_CONTAINER_VARIABLE : MT_CONTAINER_OPTION;
    }
    if (n > 1 && s[0] == '-') {
        c->wants_value = has_value(s, n);
        c->is_variable = is(s, n, "-e") || is(s, n, "--env");
        return MT_CONTAINER_OPTION;
    }
    c->is_open = false;
    return MT_CONTAINER_IMAGE;
}

size_t mt_conf_container_name(const char *s, size_t n)
{
    const char *slash = s;
    for (size_t i = 0; i < n; i++)
        if (s[i] == '/')
            slash = s + i;
    for (const char *p = slash; p < s + n; p++)
        if (*p == ':' || *p == '@')
            return (size_t)(p - s);
    return n;
}
