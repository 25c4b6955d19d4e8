/* log/blocks.c -- settings that a text shows as a file has them: YAML, TOML or JSON between
 * Markdown's fences, or pasted without any. parser/conf reads them. */
#include "parser/log/match.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

enum {
    FEW = 3,      /* settings that make a block one of settings */
    FEW_BARE = 5, /* and where nothing marks it as a block */
    NESTED = 64   /* brackets that are open at its end */
};

/* What the lines of a block are, counted. */
struct shape {
    unsigned lines, pairs, names, versions;
    bool braces, wrong;
    char sign;  /* between a name and its value: '=' or ':'; 0 = none yet */
    bool lists; /* items of a list may follow: its key did, or an item */
};

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '/';
}

/* "0.9.1.dev0", "2.5.1+cu124": of a list of what is installed. */
static bool is_version(const char *p)
{
    size_t n = strspn(p, "0123456789"), k = p[n] == '.' ? strspn(p + n + 1, "0123456789") : 0;
    return n != 0 && k != 0 && p[n + 1 + k] == '.';
}

/* A value as TOML has one, and no expression of a language. */
static bool is_plain_value(const char *p)
{
    size_t n = strcspn(p, "#");
    if (*p == '"' || *p == '\'' || *p == '[' || *p == '{')
        return true;
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    return (n == 4 && memcmp(p, "true", 4) == 0) || (n == 5 && memcmp(p, "false", 5) == 0) ||
           (n != 0 && strspn(p, "0123456789+-._eE") >= n);
}

/* "key: value", "\"key\": value", "key = value": counted where it is one. */
static bool pair(struct shape *t, const char *s)
{
    const char *key = s + (*s == '"' || *s == '\''), *p = key, *value;
    while (is_key_char(*p))
        p++;
    if (p == key || !(isalpha((unsigned char)*key) || *key == '_'))
        return false;
    value = p + (key > s && *p == *s);
    value += strspn(value, " \t");
    if (!(*value == '=' && value[1] != '=') &&
        (*value != ':' || (value[1] != ' ' && value[1] != '\0')))
        return false;
    if ((t->sign != 0 && t->sign != *value) ||
        (p - key > 5 && memcmp(p - 5, "Error", 5) == 0)) /* of a log that follows */
        return false;
    t->sign = *value;
    t->wrong |= *value == '=' && !is_plain_value(value + 1 + strspn(value + 1, " \t"));
    t->names += memchr(key, '_', (size_t)(p - key)) != NULL;
    value++;
    value += strspn(value, " \t\"'=");
    t->versions += is_version(value);
    t->lists = *value == '\0' || *value == '#';
    t->pairs++;
    return true;
}

/* The line may stand in a file of settings. */
static bool take_line(struct shape *t, const char *line)
{
    const char *s = line + strspn(line, " \t");
    size_t n = strlen(s);
    if (*s == '#' || n == 0)
        return true;
    t->lines++;
    if (pair(t, s))
        return true;
    t->braces |= *s == '{';
    for (const char *p = s; *s == '{' && (p = strstr(p, "\":")) != NULL; p++)
        t->pairs++; /* JSON in one line */
    return strspn(s, "{}[],") == n || (*s == '[' && s[n - 1] == ']') ||
           (*s == '-' && s[1] == ' ' && t->lists) || (*s == '"' && s[n - 1] == ',');
}

/* few: settings, of which half have a name with '_', or `enough` of them. */
static bool is_settings(const struct shape *t, bool named, unsigned few, unsigned enough)
{
    return !t->wrong && t->pairs >= few && 2 * t->versions < t->pairs &&
           (named ||
            ((t->names >= enough || 2 * t->names >= t->pairs) && 2 * t->pairs >= t->lines));
}

/* What was open where the text of a JSON file ends, closed again: the last of it was cut off. */
static void close_json(struct mt_log *l, struct mt_log_settings *s)
{
    char open[NESTED];
    size_t depth = 0, whole = 0, whole_depth = 0;
    char left[NESTED];
    bool quoted = false;
    for (size_t i = 0; i < s->n; i++) {
        char c = s->text[i];
        if (quoted) {
            i += c == '\\' && i + 1 < s->n;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (depth == NESTED)
                return;
            open[depth++] = (char)(c == '{' ? '}' : ']');
        } else if (c == '}' || c == ']') {
            depth -= depth != 0;
        }
        /* a value ended before a comma, a container with its bracket; a list is begun anew */
        if (!quoted && (c == ',' || c == '}' || c == ']' || c == '{' || c == '[')) {
            whole = i + (c != ',');
            whole_depth = depth;
            memcpy(left, open, depth);
        }
    }
    if (depth == 0 && !quoted)
        return;
    s->is_cut = true;
    s->n = whole;
    s->text[whole] = '\0';
    while (whole_depth > 0)
        mt_log_settings_add(l, s, &left[--whole_depth], 1);
}

static void take(struct mt_log *l, uint32_t from, uint32_t to, bool cut, const struct shape *t)
{
    struct mt_log_settings *s = mt_log_settings_item(l, l->prose.p[from].line);
    if (s == NULL)
        return;
    s->is_file = true;
    s->is_cut = cut;
    mt_log_settings_lines(l, s, from, to);
    for (uint32_t i = from; i < to; i++)
        s->is_cut |= strstr(l->prose.p[i].text, "...") != NULL;
    if (t->braces && s->text != NULL && s->text[strspn(s->text, " \t\n")] == '{')
        close_json(l, s);
}

bool mt_log_block_fenced(struct mt_log *l, uint32_t from, uint32_t to, const char *language)
{
    static const char *const names[] = {"yaml", "yml", "toml", "json", "jsonc"};
    struct shape t = {.lines = 0};
    size_t n = strcspn(language, " \t\r}:,");
    bool named = false, cut = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        named |= strlen(names[i]) == n && strncasecmp(names[i], language, n) == 0;
    for (uint32_t i = from; i < to; i++) {
        if (take_line(&t, l->prose.p[i].text) || named)
            continue;
        if (i + 1 < to)
            return false;
        cut = true; /* the last one, where somebody's text ends within it */
    }
    if (!is_settings(&t, named, FEW, FEW))
        return false;
    take(l, from, to - (cut && !t.braces), cut, &t);
    return true;
}

uint32_t mt_log_block_bare(struct mt_log *l, uint32_t from, uint32_t end)
{
    struct shape t = {.lines = 0};
    uint32_t to = from, last = from;
    for (; to < end && take_line(&t, l->prose.p[to].text); to++)
        if (l->prose.p[to].text[strspn(l->prose.p[to].text, " \t")] != '#')
            last = to + 1;
    if (t.lines == 0 || !is_settings(&t, false, FEW_BARE, UINT_MAX))
        return to > from ? to : from + 1;
    take(l, from, last, false, &t);
    return to;
}
