/* log/trials.c -- what a text says is on already, was tried, or is refused by the program, so that
 * nobody is told to do it. What the things are called is data; how people say so is here. */
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"

#include <stddef.h>
#include <string.h>

enum { WITH = 40, BEHIND = 16 };

/* A sentence in small letters, blanks for '_' and '-', without the marks of Markdown. */
struct saying {
    char text[MT_SPOKEN_LINE];
    bool is_set;   /* of a list of settings, or of a line that sets something */
    bool is_asked; /* a question */
    bool is_error; /* no person's line */
};

static bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void normalise(struct saying *t, const char *s, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n && k + 1 < sizeof t->text; i++) {
        char c = s[i] == '_' || s[i] == '-' || s[i] == '\t' || s[i] == '|' ? ' ' : s[i];
        if (strchr("`*\"", c) != NULL || (c == ' ' && (k == 0 || t->text[k - 1] == ' ')))
            continue;
        t->text[k++] = (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
    }
    t->text[k] = '\0';
}

/* ---- patterns ---- */

/* The part ends the pattern or a '*' follows; a number is no part of a longer one, nor the start of
 * "16k". */
static bool ends_well(const char *end, char last)
{
    return !is_digit(last) ||
           (!is_digit(*end) && *end != 'k' && !(*end == '.' && is_digit(end[1])));
}

static const char *behind(const char *s, const char *pattern);

/* Behind what the pattern says from here on; NULL = it does not stand here. */
static const char *matches(const char *s, const char *pattern)
{
    size_t n = strcspn(pattern, "*");
    if (strncmp(s, pattern, n) != 0 || (n != 0 && !ends_well(s + n, pattern[n - 1])))
        return NULL;
    return pattern[n] == '\0' ? s + n : behind(s + n, pattern + n + 1);
}

static const char *behind(const char *s, const char *pattern)
{
    for (; *s != '\0'; s++) {
        const char *end = matches(s, pattern);
        if (end != NULL)
            return end;
    }
    return NULL;
}

/* ---- what is said of it ---- */

/* Right behind it: it is not on. The last ones: not on, not set, closed. */
static bool is_off(const char *end)
{
    static const char *const offs[] = {
        "off",    "false",    "disabled",     "is not", "isn't",    "are not",
        "aren't", "not used", "not enabled",  "none",   "no ",      "was not",
        "wasn't", "没开",     "没有开",       "未开",   "没有启用", "未启用",
        "关闭",   "没有设",   "\xe5\x90\xa6", NULL};
    end += strspn(end, " s:=(ing");
    return mt_log_begins(end, offs);
}

/* "with X", "using X": it is on, or known to go well or ill. */
static bool is_with(const char *s, const char *at)
{
    static const char *const withs[] = {" with ", " using ", " use ", " used ", " enabling ", NULL};
    for (const char *p = at > s ? at - 1 : s; p >= s && at - p <= WITH; p--) {
        if (strchr(",.;:", *p) != NULL)
            return false;
        if (mt_log_begins(p, withs) ||
            (p == s && mt_log_begins(p, (const char *const[]){"with ", "using ", NULL})))
            return true;
    }
    return false;
}

/* It was done, or is so. */
static bool tells_of_trial(const char *s)
{
    static const char *const trials[] = {"tried",
                                         "regardless",
                                         "no matter",
                                         "even with",
                                         "even when",
                                         "even if",
                                         "already",
                                         "n't help",
                                         "not help",
                                         "no effect",
                                         "no difference",
                                         "without effect",
                                         "enable ",
                                         "enabled",
                                         "have reduced",
                                         "also reduced",
                                         "i reduced",
                                         "we reduced",
                                         "reduced my",
                                         "reduced the",
                                         "after reducing",
                                         "despite",
                                         "i set ",
                                         "we set ",
                                         "have set",
                                         "is set to",
                                         "is on",
                                         "are on",
                                         "turned on",
                                         "switched on",
                                         "i lowered",
                                         "we lowered",
                                         "tried lowering",
                                         "i changed",
                                         "we changed",
                                         "i wrap",
                                         "i run with",
                                         "is 1",
                                         "precision:",
                                         "parallelism:",
                                         "settings:",
                                         "config:",
                                         "configuration:",
                                         "still oom",
                                         "still out of",
                                         "still run",
                                         "试过",
                                         "试了",
                                         "已经",
                                         "都试",
                                         "开了",
                                         "打开了",
                                         "开启了",
                                         "已开",
                                         "启用了",
                                         "设成",
                                         "设为",
                                         "设置为",
                                         "改成",
                                         "降到",
                                         "调到",
                                         "还是",
                                         "仍然",
                                         "依然",
                                         "依旧",
                                         "即使",
                                         NULL};
    return mt_log_has_one(s, trials);
}

static bool tells_of_refusal(const char *s)
{
    static const char *const refusals[] = {"not supported",
                                           "unsupported",
                                           "not support ",
                                           "n't support",
                                           "not compatible",
                                           "incompatible",
                                           "cannot be used",
                                           "can't be used",
                                           "not available",
                                           "not implemented",
                                           "不支持",
                                           "不兼容",
                                           NULL};
    return mt_log_has_one(s, refusals);
}

/* Nothing was done: it is thought of, or missed. */
static bool is_open(const char *s)
{
    static const char *const open[] = {
        "n't tried", "not tried", "n't enable",  "not enable", "should i",    "could i",
        "can i",     "how to",    "n't already", "if i ",      "want to try", "like to try",
        "will try",  "plan to",   "going to",    "haven't",    "没试",        "没有试",
        "想试",      "能否",      "是否可以",    NULL};
    return mt_log_has_one(s, open);
}

static bool ends_in_number(const char *pattern)
{
    size_t n = strlen(pattern);
    return n != 0 && is_digit(pattern[n - 1]);
}

static bool is_so(const struct saying *t, const char *at, const char *end, const char *pattern)
{
    bool refused = tells_of_refusal(t->text);
    if (t->is_error)
        return refused;
    if (mt_log_is_denied(t->text, at) || is_off(end) || is_open(t->text))
        return refused && !mt_log_is_denied(t->text, at) && !is_open(t->text);
    if (t->is_asked && !ends_in_number(pattern))
        return false;
    return t->is_set || refused || tells_of_trial(t->text) || is_with(t->text, at);
}

static bool says_so(const struct saying *t, const char *pattern)
{
    for (const char *p = t->text; *p != '\0'; p++) {
        const char *end =
            p > t->text && is_letter(*pattern) && is_letter(p[-1]) ? NULL : matches(p, pattern);
        if (end != NULL && is_so(t, p, end, pattern))
            return true;
    }
    return false;
}

/* ---- lines ---- */

/* "- micro batch: 1", "3. FSDP", "| bf16 | on |". What it begins with, skipped. */
static const char *of_list(const char *s)
{
    size_t n;
    s += strspn(s, " \t>");
    n = strspn(s, "0123456789");
    if (n != 0 && s[n] == '.' && (s[n + 1] == ' ' || s[n + 1] == '\t'))
        return s + n + 1;
    if ((*s == '-' || *s == '*' || *s == '+' || *s == '|') && (s[1] == ' ' || s[1] == '\t'))
        return s[2 + strspn(s + 2, " ")] == '[' ? NULL : s + 1;
    return strncmp(s, "•", 3) == 0 ? s + 3 : NULL;
}

/* A line that sets something for the job: of a shell, of Python's environment. */
static bool sets(const char *s)
{
    static const char *const words[] = {"export ", "os.environ", "ENV ", "env ", "set ", NULL};
    return mt_log_begins(s + strspn(s, " \t>$`"), words);
}

/* What stands in a list below it is asked for or wished. */
static bool is_wish(const char *s)
{
    static const char *const words[] = {"uestion", "uggest",  "xpected", "TODO", "dea",  "ossible",
                                        "feature", "lternat", "建议",    "期望", "请问", NULL};
    return mt_log_has_one(s, words);
}

static bool heads(const char *s)
{
    size_t n = strlen(s);
    while (n > 0 && strchr(" \r*", s[n - 1]) != NULL)
        n--;
    return *s == '#' || (n > 0 && s[n - 1] == ':');
}

/* A person's line; one that names a flag is too: "I tried --packing, it does not help". */
static bool is_told(const char *line)
{
    char copy[MT_SPOKEN_LINE];
    size_t n = strlen(line) < sizeof copy - 1 ? strlen(line) : sizeof copy - 1;
    memcpy(copy, line, n);
    copy[n] = '\0';
    for (char *p = copy; (p = strstr(p, " --")) != NULL;)
        memcpy(p, "   ", 3);
    return mt_spoken_is_persons(copy);
}

static bool line_says(const char *line, struct saying *t, const char *pattern, bool wished)
{
    const char *item = of_list(line);
    t->is_set = (item != NULL && !wished) || sets(line);
    t->is_error = !t->is_set && !is_told(line);
    if (strstr(line, "ried to allocate") != NULL || strstr(line, "File \"") != NULL)
        return false;
    for (const char *p = item != NULL ? item : line; *p != '\0';) {
        size_t n = 0;
        while (p[n] != '\0' && !(strchr(".!;?", p[n]) != NULL && (p[n + 1] == ' ' || !p[n + 1])) &&
               strncmp(p + n, "。", 3) != 0 && strncmp(p + n, "？", 3) != 0)
            n++;
        t->is_asked = p[n] == '?' || strncmp(p + n, "？", 3) == 0;
        normalise(t, p, n);
        if (strstr(t->text, "to avoid fragmentation") == NULL && says_so(t, pattern))
            return true;
        p += n + (p[n] != '\0');
    }
    return false;
}

static bool log_says(const struct mt_log *log, const char *pattern)
{
    struct saying t;
    bool wished = false;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *line = log->prose.p[i].text;
        if (line_says(line, &t, pattern, wished))
            return true;
        if (heads(line))
            wished = is_wish(line);
    }
    return false;
}

bool mt_logs_tried(const void *logs, const char *pattern)
{
    const struct mt_logs *l = logs;
    for (uint32_t i = 0; i < l->files.n; i++)
        if (log_says(&l->files.p[i].log, pattern))
            return true;
    return false;
}
