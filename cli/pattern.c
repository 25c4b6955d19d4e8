#include "cli/pattern.h"

#include "cli/cli.h"
#include "parser/base/mem.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ranks[] = {
#define MT_RANK_VARIABLE(name) name,
#include "parser/model/launchers.def"
#undef MT_RANK_VARIABLE
    NULL};
static const char *const jobs[] = {
#define MT_JOB_VARIABLE(name) name,
#include "parser/model/launchers.def"
#undef MT_JOB_VARIABLE
    NULL};
static const char *const needs[][2] = {
#define MT_RANK_NEEDS(name, other) {name, other},
#include "parser/model/launchers.def"
#undef MT_RANK_NEEDS
    {NULL, NULL}};

static bool is_set(const char *name)
{
    const char *v = getenv(name);
    return v != NULL && v[0] != '\0';
}

/* Whether the variable means what its name says here. */
static bool counts(const char *name)
{
    for (size_t i = 0; needs[i][0] != NULL; i++)
        if (strcmp(needs[i][0], name) == 0 && !is_set(needs[i][1]))
            return false;
    return is_set(name);
}

/* NULL after a message. */
static const char *first_of(const char *const *names, const char *what, const char *mark)
{
    char list[256] = "";
    size_t n = 0;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (counts(names[i]))
            return getenv(names[i]);
        if (n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    mt_say("-o: %s in the name is the %s, and no launcher says it here (%s); leave it out, or set "
           "one of these",
           mark, what, list);
    return NULL;
}

static void add(struct mt_text *out, const char *value)
{
    bool first = true; /* no name begins with a dot: ".." is another folder */
    for (const char *p = value; *p != '\0'; p++) {
        first = first && *p == '.';
        mt_text_add(out, first || *p == '/' || (unsigned char)*p < ' ' ? "_" : p, 1);
    }
}

/* What stands for the mark; NULL after a message. own: room for what is made here. */
static const char *value_of(char mark, char own[256])
{
    own[0] = '\0';
    switch (mark) {
    case 'h':
        if (gethostname(own, 255) != 0 || own[0] == '\0')
            (void)snprintf(own, 256, "host");
        own[255] = '\0';
        return own;
    case 'p': (void)snprintf(own, 256, "%ld", (long)getpid()); return own;
    case 'r': return first_of(ranks, "rank", "%r");
    case 'j': return first_of(jobs, "job", "%j");
    default: return "%";
    }
}

char *mt_pattern_name(const char *name, bool *no_memory)
{
    struct mt_text out = {0};
    char own[256];
    char *copy;
    if (no_memory != NULL)
        *no_memory = false;
    for (const char *p = name; *p != '\0'; p++) {
        const char *value;
        if (*p != '%' || p[1] == '\0' || strchr("hrjp%", p[1]) == NULL) {
            mt_text_add(&out, p, 1);
            continue;
        }
        value = value_of(*++p, own);
        if (value == NULL) {
            mt_text_done(&out);
            return NULL;
        }
        add(&out, value);
    }
    copy = out.failed ? NULL : mt_strndup(out.p != NULL ? out.p : "", out.n);
    mt_text_done(&out);
    if (copy == NULL)
        mt_say("out of memory");
    if (no_memory != NULL)
        *no_memory = copy == NULL;
    return copy;
}
