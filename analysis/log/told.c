/* log/told.c -- what somebody says in a text of their own, a ticket or a question: which program
 * runs, in which phase it failed, why. All of it counts less than what a job's own lines show. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"
#include "analysis/phases/phases.h"

#include <string.h>

enum { LONGEST = 2000 }; /* bytes of a sentence, and of the line before that it begins in */

static char small(char c) { return (char)(c >= 'A' && c <= 'Z' ? c | 32 : c); }

/* ---- which program ---- */

/* The one of these kinds that the text names, most often where several stand side by side. */
static int among(const struct mt_framework_rules *r, const uint64_t n[MT_FW_MAX],
                 enum mt_fw_kind kind)
{
    mt_fw f = mt_framework_top(r, n, mt_framework_kind(r, kind));
    return f != MT_FW_NONE ? (int)f : -1;
}

int mt_logs_told(const struct mt_logs *l)
{
    uint64_t n[MT_FW_MAX] = {0};
    mt_fw f;
    int one;
    for (uint32_t i = 0; i < l->files.n; i++)
        for (uint32_t k = 0; k < l->files.p[i].log.prose.n; k++)
            mt_framework_of_words(l->rules, l->files.p[i].log.prose.p[k].text, n);
    f = mt_framework_program(l->rules, n);
    if (f != MT_FW_NONE)
        return (int)f;
    one = among(l->rules, n, MT_FWK_TRAINER);
    return one >= 0 ? one : among(l->rules, n, MT_FWK_ENGINE);
}

/* ---- sentences ---- */

struct told {
    char text[LONGEST + 1]; /* in small letters */
    uint64_t line;
};

/* Where the last sentence of s begins: behind what ends one. */
static const char *last_sentence(const char *s)
{
    const char *from = s;
    for (const char *p = s; *p != '\0'; p++)
        if ((strchr(".!?", *p) != NULL && p[1] == ' ') || strncmp(p, "\xe3\x80\x82", 3) == 0)
            from = p + 1;
    return from;
}

static bool ends(const char *s)
{
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ')
        n--;
    return n == 0 || strchr(".!?`#", s[n - 1]) != NULL;
}

/* A program's line, which is whole as it stands: its process, its level, a frame. */
static bool is_logged(const char *s)
{
    static const char *const words[] = {"pid=",    "WARN",  " INFO ",    "ERROR",
                                        "File \"", "it/s]", "Traceback", "ried to allocate",
                                        NULL};
    for (const char *const *w = words; *w != NULL; w++)
        if (strstr(s, *w) != NULL)
            return true;
    return false;
}

/* The i-th line, with what its first sentence began with in the line above. */
static void take(struct told *t, const struct mt_log *log, uint32_t i)
{
    const struct mt_log_prose *p = &log->prose.p[i], *up = i > 0 ? p - 1 : NULL;
    const char *from = up != NULL && up->line + 1 == p->line && !ends(up->text) &&
                               !is_logged(p->text) && !is_logged(up->text)
                           ? last_sentence(up->text)
                           : "";
    size_t n = 0;
    for (; *from != '\0' && n < LONGEST; from++)
        t->text[n++] = small(*from);
    if (n != 0 && n < LONGEST)
        t->text[n++] = ' ';
    for (from = p->text; *from != '\0' && n < LONGEST; from++)
        t->text[n++] = small(*from);
    t->text[n] = '\0';
    t->line = p->line;
}

static bool has_one(const char *s, const char *const *words)
{
    while (*words != NULL && strstr(s, *words) == NULL)
        words++;
    return *words != NULL;
}

/* The text at hand up to the end of its sentence, apart; the rest is returned. NULL = it was the
 * last. */
static char *cut_sentence(char *s)
{
    for (char *p = s; *p != '\0'; p++) {
        size_t n = strncmp(p, "\xe3\x80\x82", 3) == 0           ? 3
                   : strchr(".!?", *p) != NULL && (p[1] == ' ') ? 1
                                                                : 0;
        if (n != 0 && p[n] != '\0') {
            *p = '\0';
            return p + n;
        }
    }
    return NULL;
}

static bool is_small(char c) { return c >= 'a' && c <= 'z'; }

/* "oom" not inside a word: "room", "bloom"; "ooms", "oomed", "cudaoom" end or begin with it. */
static bool has_oom(const char *s)
{
    for (const char *p = s; (p = strstr(p, "oom")) != NULL; p++)
        if (p == s || !is_small(p[-1]) || (p - s >= 4 && strncmp(p - 4, "cuda", 4) == 0))
            return true;
    return false;
}

/* It tells of memory that ran out, and does not say that it did not. The last three: the card's
 * memory, burst, not enough. */
static bool tells_failure(const char *s)
{
    static const char *const words[] = {"out of memory",
                                        "outofmemory",
                                        "ran out",
                                        "\xe7\x88\x86",
                                        "\xe6\x98\xbe\xe5\xad\x98\xe4\xb8\x8d",
                                        NULL},
                             *const denials[] = {"no oom",       "not oom",    "without oom",
                                                 "to avoid oom", "avoids oom", "prevent oom",
                                                 "if oom",       NULL};
    return (has_oom(s) || has_one(s, words)) && !has_one(s, denials) &&
           strstr(s, "tried to allocate") == NULL;
}

/* ---- in which phase ---- */

/* Where most of a job's time goes: people name it also of a failure between two of them. */
static bool is_broad(enum mt_phase p)
{
    return p == MT_PH_TRAIN || p == MT_PH_ROLLOUT_GENERATE || p == MT_PH_INFER;
}

static bool of_sentences(struct mt_logdiag *d, const struct mt_log *log, uint32_t i,
                         const struct mt_phase_rules *rules, bool broad)
{
    struct told t;
    take(&t, log, i);
    for (char *s = t.text, *next; s != NULL; s = next) {
        struct mt_cut_phase cut;
        next = cut_sentence(s);
        if (!tells_failure(s) || !mt_phase_of_cut(rules, MT_CUT_TOLD, "", s, &cut) ||
            cut.phase == MT_PH_NONE || is_broad(cut.phase) != broad)
            continue;
        d->phase = cut.phase;
        d->said = t.line;
        return true;
    }
    return false;
}

/* "File "x.py", line 9, in f" of a traceback that led to no line that is here. */
static bool of_frame(struct mt_logdiag *d, const char *line, const struct mt_phase_rules *rules)
{
    const char *file = strstr(line, "File \""), *end = file != NULL ? strchr(file + 6, '"') : NULL,
               *name = end != NULL ? strstr(end, ", in ") : NULL;
    char path[256], function[64];
    struct mt_cut_phase cut;
    if (name == NULL || end - file - 6 >= (long)sizeof path || strlen(name + 5) >= sizeof function)
        return false;
    memcpy(path, file + 6, (size_t)(end - file - 6));
    path[end - file - 6] = '\0';
    memcpy(function, name + 5, strlen(name + 5) + 1);
    function[strcspn(function, " \r\n")] = '\0';
    if (!(mt_phase_of_cut(rules, MT_CUT_FRAME, path, function, &cut) && cut.phase != MT_PH_NONE) &&
        !(mt_phase_of_cut(rules, MT_CUT_NAME, path, function, &cut) && cut.phase != MT_PH_NONE))
        return false;
    d->phase = cut.phase;
    if (d->sub == MT_PH_NONE)
        d->sub = cut.sub;
    return true;
}

/* The code of a script that was pasted does one thing alone. */
static void of_script(struct mt_logdiag *d, const struct mt_log *log,
                      const struct mt_phase_rules *rules)
{
    struct mt_cut_phase cut;
    enum mt_phase one = MT_PH_NONE;
    uint64_t line = 0;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        if (strstr(log->prose.p[i].text, "File \"") != NULL)
            return; /* lines of a traceback, which may be of another error */
        if (!mt_phase_of_cut(rules, MT_CUT_CALL, "", log->prose.p[i].text, &cut))
            continue;
        if (one != MT_PH_NONE && one != cut.phase)
            return;
        one = cut.phase;
        line = line == 0 ? log->prose.p[i].line : line;
    }
    if (one == MT_PH_NONE)
        return;
    d->phase = one;
    d->said = line;
}

void mt_logdiag_told_phase(struct mt_logdiag *d, const struct mt_log *log,
                           const struct mt_log_fact *f, const struct mt_phase_rules *rules)
{
    for (uint32_t i = log->prose.n; mt_log_is_talk(f) && i-- > 0;)
        if (of_frame(d, log->prose.p[i].text, rules)) {
            d->said = log->prose.p[i].line;
            return;
        }
    for (int broad = 0; broad < 2; broad++)
        for (int pass = 0; pass < 2; pass++) /* the line that tells of it, then the others */
            for (uint32_t i = 0; i < log->prose.n; i++)
                if ((log->prose.p[i].line == f->line) == (pass == 0) &&
                    of_sentences(d, log, i, rules, broad))
                    return;
    of_script(d, log, rules);
}

/* ---- why ---- */

/* What people name as the cause, in words that say little else. */
static const struct {
    const char *word, *what;
} causes[] = {
    {"fragment", "free memory in pieces (fragmentation)"},
    {"memory leak", "memory that is kept from step to step"},
    {"keeps growing", "memory that is kept from step to step"},
    {"keeps increasing", "memory that is kept from step to step"},
    {"grows each", "memory that is kept from step to step"},
    {"grows every", "memory that is kept from step to step"},
    {"grows with each", "memory that is kept from step to step"},
    {"increases every", "memory that is kept from step to step"},
    {"increases with each", "memory that is kept from step to step"},
    {"not properly released", "memory that is not given back"},
    {"not released", "memory that is not given back"},
    {"never released", "memory that is not given back"},
    {"not freed", "memory that is not given back"},
    /* was not released; was not offloaded; data too long */
    {"\xe6\xb2\xa1\xe6\x9c\x89\xe8\xa2\xab\xe9\x87\x8a\xe6\x94\xbe",
     "memory that is not given back"},
    {"\xe6\xb2\xa1\xe6\x9c\x89\xe8\xa2\xabo"
     "ffload",
     "what should lie on the host, still on the card"},
    {"\xe6\x95\xb0\xe6\x8d\xae\xe5\xa4\xaa\xe9\x95\xbf", "inputs that are too long"},
    {"not truncat", "inputs that are not cut to a length"},
    {"no truncation", "inputs that are not cut to a length"},
    {"not truncation", "inputs that are not cut to a length"},
    {"gathers full", "the whole model gathered at once"},
    {"gathers the full", "the whole model gathered at once"},
    {"gathers the whole", "the whole model gathered at once"},
    {"the entire model", "the whole model at once"},
    {"broadcasting full", "the whole data sent to every process"},
    {"for all tensors simultaneously", "buffers for all tensors at once"},
};

/* "not a memory leak", "no fragmentation". */
static bool is_denied(const char *s, const char *at)
{
    static const char *const denials[] = {"not ", "no ", "n't ", "without ", "avoid ", "against "};
    for (size_t i = 0; i < sizeof denials / sizeof *denials; i++) {
        size_t n = strlen(denials[i]);
        for (const char *p = at - s > 16 ? at - 16 : s; p + n <= at; p++)
            if (strncmp(p, denials[i], n) == 0)
                return true;
    }
    return false;
}

/* Who asks whether it is the cause does not say so. The last: a question mark of Chinese. */
static bool is_asked(const char *at)
{
    while (*at != '\0' && strncmp(at, "\xe3\x80\x82", 3) != 0 &&
           strncmp(at, "\xef\xbc\x9f", 3) != 0 &&
           (strchr(".!?", *at) == NULL || (at[1] != ' ' && at[1] != '\0')))
        at++;
    return *at == '?' || *at == '\xef';
}

/* PyTorch's own advice against fragmentation stands in every sentence of its own. */
static bool is_own_words(const char *s)
{
    return strstr(s, "to avoid fragmentation") != NULL || strstr(s, "tried to allocate") != NULL ||
           strstr(s, "file \"") != NULL;
}

/* The text names what this word stands for, as a cause and in words of a person. */
static bool names(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at != NULL && !is_denied(text, at) && !is_asked(at) && !is_own_words(text);
}

bool mt_logdiag_told_pieces(const struct mt_log *log)
{
    struct told one;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        take(&one, log, i);
        if (names(one.text, "fragment"))
            return true;
    }
    return false;
}

void mt_logdiag_say_told(struct mt_sentence *t, const struct mt_log *log)
{
    struct told one;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        take(&one, log, i);
        for (size_t k = 0; k < sizeof causes / sizeof *causes; k++) {
            if (!names(one.text, causes[k].word))
                continue;
            mt_words_add(t, "%sThe text itself, line %llu, names a cause: %s.",
                         t->n != 0 ? " " : "", (unsigned long long)one.line, causes[k].what);
            return;
        }
    }
}
