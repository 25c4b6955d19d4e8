/* log/fences.c -- Python that a text shows between Markdown's fences: a script's settings, as those
 * of a file. What a traceback shows there is none. And where blocks of settings may stand, between
 * fences or outside of them: blocks.c. */
#include "parser/log/match.h"

#include <string.h>
#include <strings.h>

static const char *past_indent(const char *s) { return s + strspn(s, " \t>"); }

/* Of a fence that the line begins with, its marks: three or more, '`' or '~'; 0 = it is none. What
 * begins and ends in one line, "```pip install x```", opens nothing, and what a traceback marks,
 * "    ~~~~^^^", neither. */
static size_t marks(const char *line)
{
    enum { INDENT = 3 };
    const char *s = past_indent(line);
    size_t n = strspn(s, *s == '~' ? "~" : "`");
    bool other = *s == '~' ? s[n] == '^' || s - line > INDENT : strchr(s + n, '`') != NULL;
    return n < 3 || other ? 0 : n;
}

/* What stands behind the marks of a fence: the name of a language; "{.python}" has one, too. */
static const char *name_of(const char *fence)
{
    const char *s = past_indent(fence) + marks(fence);
    return s + strspn(s, " \t\r{.");
}

/* The line ends a block that `fence` began; one with a name begins another, and the end of the one
 * before was forgotten. */
static bool closes(const char *fence, const char *line)
{
    return *past_indent(line) == *past_indent(fence) && marks(line) >= marks(fence);
}

/* 1 = of Python, by its name; 0 = it has none, -1 = of something else. */
static int language(const char *fence)
{
    static const char *const names[] = {"python", "py", "python3", "py3", "ipython"};
    const char *p = name_of(fence);
    size_t n = strcspn(p, " \t\r}:,");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncasecmp(names[i], p, n) == 0)
            return 1;
    return n == 0 ? 0 : -1;
}

static bool imports(const char *s)
{
    return strncmp(s, "import ", 7) == 0 ||
           (strncmp(s, "from ", 5) == 0 && strstr(s, " import ") != NULL);
}

/* The lines from `from` up to `to` are a script. */
static bool is_script(const struct mt_log *l, uint32_t from, uint32_t to, int named)
{
    bool any = named == 1;
    for (uint32_t i = from; i < to; i++) {
        const char *s = l->prose.p[i].text;
        if (strstr(s, "File \"") != NULL || strstr(s, "Traceback (") != NULL)
            return false;
        any |= named == 0 && imports(s);
    }
    return any;
}

static void take(struct mt_log *l, uint32_t from, uint32_t to)
{
    struct mt_log_settings *s = mt_log_settings_item(l, l->prose.p[from].line);
    if (s == NULL)
        return;
    s->is_script = true;
    mt_log_settings_lines(l, s, from, to);
}

/* What stands between two fences. */
static void look(struct mt_log *l, uint32_t from, uint32_t to, const char *fence)
{
    int named = language(fence);
    if (from == to || mt_log_flag_block(l, from, to) == to ||
        mt_log_block_fenced(l, from, to, name_of(fence)))
        return;
    if (named >= 0 && is_script(l, from, to, named))
        take(l, from, to);
}

void mt_log_fences_end(struct mt_log *l)
{
    for (uint32_t i = 0, to; i < l->prose.n; i = to) {
        const char *fence = l->prose.p[i].text;
        to = i + 1;
        if (marks(fence) == 0) {
            while (to < l->prose.n && marks(l->prose.p[to].text) == 0)
                to++;
            for (uint32_t k = i, flags; k<to; k = flags> k ? flags : mt_log_block_bare(l, k, to))
                flags = mt_log_flag_block(l, k, to);
            continue;
        }
        while (to < l->prose.n && !closes(fence, l->prose.p[to].text))
            to++;
        look(l, i + 1, to, fence);
        to += to < l->prose.n && *name_of(l->prose.p[to].text) == '\0';
    }
}
