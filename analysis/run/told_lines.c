/* run/told_lines.c -- how a line that somebody wrote or pasted gives a name its number. */
#include "analysis/run/told_lines.h"

#include "analysis/log/spoken.h"

#include <string.h>

char mt_told_plain(char c)
{
    return (char)(c == '.' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c | 32 : c);
}

bool mt_told_is_part(char c)
{
    c = mt_told_plain(c);
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static const char *past(const char *p, const char *const *words)
{
    for (bool again = true; again;) {
        again = false;
        p += strspn(p, " `*\"'=:|");
        for (const char *const *w = words; *w != NULL && !again; w++)
            if (strncmp(p, *w, strlen(*w)) == 0)
                p += strlen(*w), again = true;
    }
    return p;
}

/* Of a picture's two sides, where they are the same: one of them. */
static size_t side(const char *p, size_t n)
{
    const char *second = p + n + 1;
    return (p[n] == 'x' || p[n] == '*') && strncmp(p, second, n) == 0 &&
                   (!mt_told_is_part(second[n]) ||
                    (second[n] == '.' && !mt_told_is_part(second[n + 1])))
               ? n
               : 0;
}

size_t mt_told_digits(const char *p)
{
    size_t n = strspn(p, "0123456789.");
    while (n > 0 && p[n - 1] == '.')
        n--;
    if (n != 0 && n < 20 && side(p, n) != 0)
        return n;
    return n < 20 && (p[n] == '.' || !mt_told_is_part(p[n])) && p[n] != '%' ? n : 0;
}

/* The number behind a key's name at p: "`x`: 0.3", "x 0.3", "x to 0.3"; of "x from 0.8 to 0.6" and
 * "x 8 -> 4" the second, which is in use. 0 = there is none. */
size_t mt_told_number(const char **p)
{
    /* the Chinese ones: is set to, is set to, was changed to, was brought to, was lowered to, is */
    static const char *const links[] = {"to ",    "is ",      "of ",    "at ",      "was ",
                                        "were ",  "set to ",  "still ", "only ",    "down ",
                                        "now ",   "already ", "int = ", "float = ", "(",
                                        "设的是", "设置为",   "设置成", "设为",     "设成",
                                        "改成",   "改为",     "调到",   "降到",     "是",
                                        "为",     "：",       NULL},
                             *const from[] = {"from ", "was changed from ", "从", NULL},
                             *const to[] = {"->",   "=>",   "→",    "down to ", "to ",
                                            "降到", "改成", "调到", "到",       NULL},
                             *const arrows[] = {"->", "=>", "→", "降到", "改成", "调到", NULL};
    const char *start, *next;
    size_t n;
    *p = past(*p, links);
    start = past(*p, from);
    n = mt_told_digits(start);
    next = start + n + strspn(start + n, " `");
    if (n != 0 && mt_log_begins(next, start != *p ? to : arrows)) {
        const char *second = past(next, to);
        size_t k = mt_told_digits(second);
        *p = k != 0 ? second : start;
        return k != 0 ? k : n;
    }
    *p = start;
    return n;
}

/* "x was 0.6 and I lowered it to 0.4": the number that it became, of which *p is the first one and
 * has n bytes. 0 = it became something else. */
size_t mt_told_number_now(const char **p, size_t n)
{
    static const char *const to[] = {"to ", "from ", "down to ", "up to ", NULL},
                             *const changes[] = {"lower", "reduc",   "decreas", "drop",  "cut",
                                                 "chang", "set",     "brought", "bring", "turn",
                                                 "rais",  "increas", NULL};
    const char *q = *p + n, *verb;
    while (n != 0 && (q = strstr(q, " it ")) != NULL) {
        for (verb = q; verb > *p && verb[-1] != ' ';)
            verb--;
        q += strlen(" it");
        if (!mt_log_begins(verb, changes) || !mt_log_begins(q + 1, to))
            continue;
        q++;
        n = mt_told_number(&q);
        *p = q;
    }
    return n;
}

/* "x is already enabled", "x: on", "x=True", "x 已经开了": a switch that is on. */
bool mt_told_is_on(const char *p)
{
    static const char *const links[] = {"is ",  "was ", "already ", "set to ", "turned ",
                                        "已经", "也",   "都",       "：",      NULL},
                             *const states[] = {"enabled", "true", "on", NULL},
                             *const chinese[] = {"开了", "打开了", "开启了", "启用了", NULL};
    p = past(p, links);
    for (const char *const *w = states; *w != NULL; w++)
        if (strncmp(p, *w, strlen(*w)) == 0)
            return p[strlen(*w)] == '\0' || strchr(",.;)`|*\"", p[strlen(*w)]) != NULL ||
                   strncmp(p + strlen(*w), " and ", 5) == 0 || (p[strlen(*w)] & 0x80) != 0;
    return mt_log_begins(p, chinese);
}

static size_t word_of_switch(const char *p)
{
    static const char *const words[] = {"true", "True", "false", "False", "yes",
                                        "no",   "on",   "off",   NULL};
    size_t n = mt_log_word_at(p, words);
    return n != 0 && !mt_told_is_part(p[n]) ? n : 0;
}

size_t mt_told_switch(const char **p)
{
    static const char *const links[] = {"is ", "was ", "bool = ", "set to ", NULL};
    *p = past(*p, links);
    return word_of_switch(*p);
}

/* "num_workers: 8", "batch = 16" and no more, but for a comment; "'batch': 16," of a Python
 * dictionary, "batch: int = 16" of a class; "batch=16,epoch=10" without a blank. */
static bool is_pair(const char *s)
{
    static const char *const types[] = {"int", "float", "bool", NULL};
    char quote = (char)(*s == '\'' || *s == '"' ? *s : 0);
    const char *name = s += quote != 0;
    size_t n;
    while (mt_told_is_part(*s))
        s++;
    n = (size_t)(s - name);
    s += quote != 0 && *s == quote;
    s += strspn(s, " `");
    if (n == 0 || (*s != ':' && *s != '='))
        return false;
    s += 1 + strspn(s + 1, " `");
    if ((n = mt_log_word_at(s, types)) != 0 && s[n + strspn(s + n, " ")] == '=')
        s += n + strspn(s + n, " =");
    n = mt_told_digits(s);
    n = n != 0 ? n : word_of_switch(s);
    s += n;
    if (n != 0 && *s == ',' && mt_told_is_part(s[1]) && strpbrk(s, "=:") != NULL)
        return true;
    s += strspn(s, " ,`");
    return n != 0 && (*s == '\0' || *s == '#');
}

const char *mt_told_declared(const char *line, char flag[64])
{
    static const char call[] = "add_argument(", given[] = "default=";
    const char *s = strstr(line, call), *value;
    size_t n = 2;
    s = s != NULL ? s + sizeof call - 1 : "";
    if ((*s != '"' && *s != '\'') || strncmp(s + 1, "--", 2) != 0 ||
        (value = strstr(s, given)) == NULL)
        return NULL;
    for (s++; n < 63 && mt_told_is_part(s[n]);)
        n++;
    memcpy(flag, s, n);
    flag[n] = '\0';
    s += n + strspn(s + n, "\"', ");
    value += sizeof given - 1;
    return n != 2 && *s != '-' && mt_told_digits(value) != 0 ? value : NULL;
}

/* "max_length = 8192, batch = 4, and it fails": settings within a sentence, and no
 * line of code, which has a call or no commas. */
static bool is_listing(const char *s)
{
    char copy[MT_SPOKEN_LINE];
    size_t n = 0;
    if (strpbrk(s, "(){}") != NULL || strstr(s, " = ") == NULL || strstr(s, ", ") == NULL ||
        strlen(s) >= sizeof copy)
        return false;
    for (; *s != '\0'; s++)
        if (strncmp(s, " = ", 3) == 0)
            copy[n++] = '=', s += 2;
        else
            copy[n++] = *s;
    copy[n] = '\0';
    return mt_spoken_is_told(copy);
}

/* A person's line, or one of a person's list or table. Code and files of settings are read
 * elsewhere. */
bool mt_told_is_line(const char *s)
{
    const char *item = mt_spoken_item(s);
    char flag[64];
    s += strspn(s, " \t");
    if (item != NULL)
        return strpbrk(item, "(){}") == NULL && strstr(item, " = ") == NULL;
    return is_pair(s) || mt_spoken_is_told(s) || is_listing(s) || mt_told_declared(s, flag) != NULL;
}
