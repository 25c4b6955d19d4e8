/* conf/container.c -- the words of "docker run", up to the image: options of the container, which
 * are no settings of what runs in it. What follows the image is the program's own. */
#include "parser/conf/impl.h"

#include <string.h>

/* Options without a value; all others have one. */
static const char switches[] = "ditPq";
static const char *const long_switches[] = {"rm",
                                            "init",
                                            "privileged",
                                            "detach",
                                            "interactive",
                                            "tty",
                                            "read-only",
                                            "quiet",
                                            "publish-all",
                                            "no-healthcheck",
                                            "oom-kill-disable",
                                            "sig-proxy",
                                            "disable-content-trust",
                                            "replace",
                                            "rmi",
                                            "no-hosts",
                                            "no-hostname"};

static bool is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

bool mt_conf_container_begins(const struct mt_text *before, const char *s, size_t n)
{
    static const char *const programs[] = {"docker", "podman", "nerdctl", "container"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (is(before->p, before->n, programs[i]))
            return is(s, n, "run");
    return false;
}

/* What an option says of its value. */
struct option {
    bool wants_value;  /* it is the next word */
    bool is_variable;  /* "NAME=value" of the environment */
    const char *value; /* in the same word; NULL = none there */
};

static struct option long_option(const char *s, size_t n)
{
    const char *eq = memchr(s, '=', n);
    size_t k = eq != NULL ? (size_t)(eq - s) : n;
    struct option o = {eq == NULL, is(s, k, "--env"), eq != NULL ? eq + 1 : NULL};
    for (size_t i = 0; o.wants_value && i < sizeof long_switches / sizeof *long_switches; i++)
        o.wants_value = !is(s + 2, n - 2, long_switches[i]);
    return o;
}

/* "-it", "-e A=b", "-eA=b", "-dp 80:80": the first letter that has a value has what follows. */
static struct option short_option(const char *s, size_t n)
{
    size_t i = 1;
    while (i < n && strchr(switches, s[i]) != NULL)
        i++;
    if (i == n)
        return (struct option){.wants_value = false};
    return (struct option){i + 1 == n, s[i] == 'e',
                           i + 1 < n ? s + i + 1 + (s[i + 1] == '=') : NULL};
}

enum mt_conf_container_part mt_conf_container_word(struct mt_conf_container *c, const char *s,
                                                   size_t n, size_t *value)
{
    bool is_variable = c->is_variable;
    struct option o;
    *value = 0;
    if (c->wants_value) {
        c->wants_value = c->is_variable = false;
        return is_variable ? MT_CONTAINER_VARIABLE : MT_CONTAINER_OPTION;
    }
    if (n < 2 || s[0] != '-') {
        c->is_open = false;
        return MT_CONTAINER_IMAGE;
    }
    o = s[1] == '-' ? long_option(s, n) : short_option(s, n);
    c->wants_value = o.wants_value;
    c->is_variable = o.wants_value && o.is_variable;
    if (!o.is_variable || o.value == NULL)
        return MT_CONTAINER_OPTION;
    *value = (size_t)(o.value - s);
    return MT_CONTAINER_VARIABLE;
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
