/* log/overrides.c -- settings that stand in a text without the command they belong to: overrides of
 * Hydra, several flags in one line, flags in lines of their own. */
#include "parser/log/match.h"

#include <ctype.h>
#include <string.h>

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("_-./", c) != NULL);
}

/* Bytes of the key in "a.b=c", "+a.b.c=[1]": Hydra's way, with `dots` or more in it. 0 = the line
 * is something else. */
static size_t override(const char *p, unsigned dots)
{
    const char *key = p + strspn(p, "+"), *end = key;
    unsigned n = 0;
    if (!(*key >= 'a' && *key <= 'z') || key - p > 2)
        return 0;
    for (; is_key_char(*end); end++)
        n += *end == '.';
    return *end == '=' && end[1] != '=' && n >= dots && end[-1] != '.' &&
                   strncmp(key, "self.", 5) != 0
               ? (size_t)(end - p)
               : 0;
}

/* Overrides alone, as people paste them out of a script without the command above: each goes on in
 * the next line, or is a path of three names and fills its line, with others like it or alone. */
bool mt_log_override_list(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = mt_log_behind_number(s), *end;
    struct mt_log_settings *last = l->settings.n != 0 ? &l->settings.p[l->settings.n - 1] : NULL;
    size_t n;
    bool goes_on;
    p += strspn(p, " \t>`");
    end = p + strlen(p);
    while (end > p && strchr(" \t`", end[-1]) != NULL)
        end--;
    goes_on = end > p && end[-1] == '\\';
    n = override(p, goes_on ? 1 : 2);
    if (n == 0 || p[n + 1] == '\0' || p[n + 1] == ' ' || p[n + 1] == '\\')
        return false;
    n += 1 + strcspn(p + n + 1, " \t");
    while (p + n + strspn(p + n, " \t\\`") < end) { /* more of them, or words of a sentence */
        const char *next = p + n + strspn(p + n, " \t");
        size_t key = override(next, 1);
        if (key == 0)
            return false;
        n = (size_t)(next - p) + key + 1 + strcspn(next + key + 1, " \t");
    }
    if (last == NULL || last->dotted == 0 || last->dotted + 1 != number)
        last = mt_log_settings_item(l, number);
    if (last == NULL)
        return true;
    last->dotted = number;
    mt_log_command_add(l, last, number, p);
    return true;
}

/* Where the flags end that begin at p, each with one value at most: "--a 1 --b --c=2 and more".
 * *count: how many they are. */
static const char *flags_end(const char *p, unsigned *count)
{
    bool flag = false;
    const char *end = p;
    for (*count = 0; *p != '\0'; p += strspn(p, " \t")) {
        size_t n = strcspn(p, " \t");
        bool is_flag = n > 3 && p[0] == '-' && p[1] == '-' && islower((unsigned char)p[2]);
        if (!is_flag && !flag)
            return end;
        *count += is_flag;
        flag = is_flag && memchr(p, '=', n) == NULL;
        p += n;
        end = p;
    }
    return end;
}

/* So many of them are no example of what might be tried. */
enum { MANY = 4 };
static const char *many_flags(const char *s, const char **end)
{
    for (const char *p = s; (p = strstr(p, "--")) != NULL; p += 2) {
        unsigned n = 0;
        *end = p == s || p[-1] == ' ' || p[-1] == '\t' || p[-1] == '`' ? flags_end(p, &n) : p;
        if (n >= MANY)
            return p;
    }
    return NULL;
}

bool mt_log_flag_list(struct mt_log *l, uint64_t number, const char *s)
{
    const char *end, *p = many_flags(s, &end);
    char *copy = p != NULL ? mt_strndup(p, (size_t)(end - p)) : NULL;
    struct mt_log_settings *to = copy != NULL ? mt_log_settings_item(l, number) : NULL;
    l->no_memory |= p != NULL && copy == NULL;
    if (to != NULL) {
        to->dotted = number; /* what else the command had is not in the text */
        mt_log_command_add(l, to, number, copy);
    }
    mt_free(copy);
    return p != NULL;
}

bool mt_log_may_set(uint64_t number, const char *line)
{
    const char *end, *p = mt_log_behind_number(line);
    p += strspn(p, " \t>`");
    return number <= MT_LOG_SAID_LINES && (override(p, 2) != 0 || many_flags(p, &end) != NULL);
}

/* One flag and its value, and nothing else; *script: the name of a script alone. */
static bool is_one(const char *s, bool *script)
{
    unsigned n = 0;
    const char *end;
    size_t word;
    s += strspn(s, " \t>");
    word = strcspn(s, " \t\r");
    end = strncmp(s, "--", 2) == 0 ? flags_end(s, &n) : s;
    *script = word > 3 && memcmp(s + word - 3, ".py", 3) == 0;
    end = *script ? s + word : end;
    return (n == 1 || *script) && end[strspn(end, " \t\r")] == '\0';
}

uint32_t mt_log_flag_block(struct mt_log *l, uint32_t from, uint32_t end)
{
    uint32_t to = from, flags = 0;
    struct mt_log_settings *s;
    bool script;
    for (; to < end && is_one(l->prose.p[to].text, &script); to++)
        flags += !script;
    if (flags < MANY || (s = mt_log_settings_item(l, l->prose.p[from].line)) == NULL)
        return from;
    s->dotted = l->prose.p[from].line;
    if (from != 0 && l->prose.p[from - 1].line + 1 == l->prose.p[from].line &&
        mt_log_command_at(l->prose.p[from - 1].text) != NULL) /* what starts it */
        mt_log_command_add(l, s, 0, l->prose.p[from - 1].text);
    for (uint32_t i = from; i < to; i++) {
        const char *text = l->prose.p[i].text;
        mt_log_command_add(l, s, 0, text + strspn(text, " \t>"));
    }
    return to;
}
