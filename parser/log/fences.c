/* log/fences.c -- Python that a text shows between Markdown's fences: a script's settings, as those
 * of a file. What a traceback shows there is none. */
#include "parser/log/match.h"

#include <string.h>

static const char *past_indent(const char *s) { return s + strspn(s, " \t>"); }

static bool is_fence(const char *s) { return strncmp(past_indent(s), "```", 3) == 0; }

/* 1 = of Python, by its name; 0 = it has none, -1 = of something else. */
static int language(const char *s)
{
    static const char *const names[] = {"python", "py", "python3", "Python"};
    const char *p = past_indent(s);
    size_t n;
    p += strspn(p, "` ");
    n = strcspn(p, " \t\r");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && memcmp(names[i], p, n) == 0)
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
    uint64_t line = l->prose.p[from].line;
    if (s == NULL)
        return;
    s->is_script = true;
    for (uint32_t i = from; i < to; i++) {
        const char *text = l->prose.p[i].text;
        for (; line < l->prose.p[i].line; line++) /* also the empty ones */
            mt_log_settings_add(l, s, "\n", 1);
        mt_log_settings_add(l, s, text, strlen(text));
    }
}

void mt_log_fences_end(struct mt_log *l)
{
    for (uint32_t i = 0; i < l->prose.n; i++) {
        uint32_t to = i + 1;
        int named;
        if (!is_fence(l->prose.p[i].text))
            continue;
        named = language(l->prose.p[i].text);
        while (to < l->prose.n && !is_fence(l->prose.p[to].text))
            to++;
        if (named >= 0 && to > i + 1 && is_script(l, i + 1, to, named))
            take(l, i + 1, to);
        i = to;
    }
}
