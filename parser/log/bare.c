/* log/bare.c -- "cuda out of memory" and no more, in whatever case: what people type who paste no
 * log, and what programs of their own print. */
#include "parser/log/match.h"

#include <string.h>

enum {
    LONGEST = 400, /* of a line that is looked at */
    SHORT = 60     /* lines of a text that is a question about a failure, no job's log */
};

static size_t lower(char out[LONGEST + 1], const char *s)
{
    size_t n = 0;
    for (; n < LONGEST && s[n] != '\0'; n++)
        out[n] = (char)(s[n] >= 'A' && s[n] <= 'Z' ? s[n] | 32 : s[n]);
    out[n] = '\0';
    return s[n] == '\0' ? n : 0;
}

static bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

/* "to avoid CUDA out of memory", "if CUDA out of memory happens", "without gpu oom". */
static bool only_talked_of(const char *s, const char *at)
{
    static const char *const words[] = {
        "avoid",  "prevent", "if ",  "without", "no ",     "may ",    "might", "fix",     "handle",
        "except", "catch",   "skip", "reduce",  "against", "case of", "retry", "recover", "would"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *p = strstr(s, words[i]);
        if (p != NULL && p < at && (p == s || !is_letter(p[-1])))
            return true;
    }
    return false;
}

/* What stands around it is an error's name and punctuation. */
static bool is_whole(const char *s, const char *at, const char *end)
{
    const char *colon = NULL;
    for (const char *p = s; p + 1 < at; p++)
        if (*p == ':' && p[1] == ' ')
            colon = p + 1;
    if (colon != NULL && colon - s >= 5 && memcmp(colon - 5, "rror", 4) == 0)
        s = colon;
    for (const char *p = s; p < at; p++)
        if (strchr(" \t>`'\"*#-.", *p) == NULL)
            return false;
    return end[strspn(end, " \t\r.!`'\"*")] == '\0';
}

int mt_log_bare(struct mt_log *l, uint64_t number, const char *line)
{
    static const char *const words[] = {
        "cuda out of memory", "cuda error: out of memory", "gpu out of memory", "out of gpu memory",
        "out of cuda memory", "outofmemoryerror",          "cuda oom",          "gpu oom",
        "out of vram"};
    char s[LONGEST + 1] = "";
    if (lower(s, line) == 0)
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        const char *at = strstr(s, words[i]);
        struct mt_log_fact *f;
        bool whole;
        if (at == NULL || is_letter(at[n]))
            continue;
        whole = is_whole(s, at, at + n);
        if (!whole && (mt_log_is_code(s, at, n) || only_talked_of(s, at)))
            return 0;
        /* the traceback is left to a line that is sure */
        f = whole ? mt_log_add(l, MT_LOG_TORCH_OOM, number, line)
                  : mt_log_blank(l, MT_LOG_TORCH_OOM, number);
        if (f != NULL)
            mt_log_keep_text(f, whole ? "bare" : "talk", 4);
        return 1;
    }
    return 0;
}

void mt_log_bare_end(struct mt_log *l)
{
    uint32_t n = 0, talks = 0;
    for (uint32_t i = 0; i < l->facts.n; i++)
        talks += l->facts.p[i].kind == MT_LOG_TORCH_OOM && strcmp(l->facts.p[i].text, "talk") == 0;
    if (talks == 0 || (talks == l->facts.n && l->n_lines <= SHORT))
        return;
    for (uint32_t i = 0; i < l->facts.n; i++)
        if (l->facts.p[i].kind != MT_LOG_TORCH_OOM || strcmp(l->facts.p[i].text, "talk") != 0)
            l->facts.p[n++] = l->facts.p[i];
    l->facts.n = n;
}
