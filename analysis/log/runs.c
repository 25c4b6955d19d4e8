/* log/runs.c -- "with one engine it runs", "the sparse script works, the dense one does not": what
 * somebody says that runs beside the run that fails. */
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"

#include <string.h>
#include <strings.h>

enum { WORDS = 7, AFTER = 14 }; /* words of what runs; bytes between it and its verb */

/* Nobody has done it, or it is asked for. */
static bool is_open(const char *s)
{
    static const char *const words[] = {"would ",  "could ",  "should ", "hope ",   "want ",
                                        "how ",    "expect",  "suppose", "whether", "may ",
                                        "might ",  "if it ",  "make it", "so that", "until ",
                                        "let me ", "claims ", "paper",   "readme",  NULL};
    return mt_log_has_one(s, words) || strchr(s, '?') != NULL;
}

/* Bytes of a verb that says so by itself, or with such words behind it; 0 = none stands at p. "It
 * runs on 8 cards" only describes. */
static size_t success(const char *s, const char *p)
{
    static const char *const sure[] = {"works", "worked", "succeeds", "succeeded", NULL},
                             *const verbs[] = {"runs", "run ", "ran ", "trains", "trained", NULL},
                             *const well[] = {" fine",
                                              " success",
                                              " well",
                                              " smooth",
                                              " perfectly",
                                              " without any",
                                              " without problem",
                                              " without error",
                                              " without oom",
                                              " correct",
                                              NULL},
                             *const others[] = {" out", " into", " slow", " for ", " only", NULL};
    size_t n = mt_spoken_starts(s, p) ? mt_log_word_at(p, sure) : 0, to;
    if (n != 0)
        return (p[n] >= 'a' && p[n] <= 'z') || mt_log_word_at(p + n, others) != 0 ||
                       mt_log_is_denied(s, p)
                   ? 0
                   : n;
    n = mt_spoken_starts(s, p) ? mt_log_word_at(p, verbs) : 0;
    if (n == 0 || mt_log_is_denied(s, p))
        return 0;
    n -= p[n - 1] == ' ';
    if (mt_log_word_at(p + n, others) != 0)
        return 0;
    for (to = n; to < n + 24 && p[to] != '\0' && strchr(",;:(", p[to]) == NULL; to++)
        if (mt_log_word_at(p + to, well) != 0)
            return n;
    return 0;
}

/* A part of a clause, at most so many words. */
static size_t part(const char *p, const char *to)
{
    static const char *const ends[] = {
        " it ", " the job ", " everything ", " training ", " and ", " but ",
        " i ",  " we ",      " then ",       " while ",    NULL};
    size_t n = 0;
    for (int words = 0; p + n < to && strchr(",;()!", p[n]) == NULL; n++) {
        if ((p[n] == '.' && (p[n + 1] == ' ' || p[n + 1] == '\0')) ||
            (p[n] == ':' && p[n + 1] == ' ') || mt_log_word_at(p + n, ends) != 0)
            break;
        words += p[n] == ' ';
        if (words >= WORDS)
            return 0;
    }
    while (n > 0 && strchr(" `", p[n - 1]) != NULL)
        n--;
    return n;
}

/* It has a number, in figures or as a word. */
static bool has_number(const char *p, size_t n)
{
    static const char *const words[] = {"one ",   "two ",     "a single ", "only one ",
                                        "fewer ", "smaller ", "half ",     NULL};
    for (size_t i = 0; i < n; i++)
        if (mt_log_is_digit(p[i]))
            return true;
    return mt_log_word_at(p, words) != 0;
}

/* "with --engines 1 it runs", "it runs fine with a batch of 1": the value; n = its bytes. */
static const char *value_of(const char *s, const char *verb, size_t len, size_t *n)
{
    static const char *const withs[] = {"with ", "using ", "at ", NULL};
    const char *thing = NULL;
    for (const char *p = s; p < verb; p++) {
        size_t w = mt_spoken_starts(s, p) ? mt_log_word_at(p, withs) : 0;
        size_t k = w != 0 ? part(p + w, verb) : 0;
        if (k != 0 && has_number(p + w, k) && verb - (p + w + k) <= AFTER) {
            thing = p + w;
            *n = k;
        }
    }
    for (const char *p = verb + len; thing == NULL && *p != '\0' && p < verb + len + 24; p++) {
        size_t w = p[-1] == ' ' ? mt_log_word_at(p, withs) : 0;
        size_t k = w != 0 ? part(p + w, p + strlen(p)) : 0;
        if (strchr(",;:(", *p) != NULL)
            break;
        if (k != 0 && has_number(p + w, k)) {
            thing = p + w;
            *n = k;
        }
    }
    return thing;
}

/* "the sparse script works": what the clause is about, without the words that lead to it; NULL = it
 * is the job itself, or nothing that could be another run. */
static const char *subject_of(const char *s, const char *verb, size_t *n)
{
    static const char *const leads[] = {"but ",     "while ",  "btw ",     "and ",
                                        "also ",    "only ",   "however ", "the ",
                                        "my ",      "though ", "> ",       "although ",
                                        "whereas ", "- ",      " ",        NULL},
                             *const own[] = {"it ",   "this ",    "that ",  "these ",      "which ",
                                             "what ", "i ",       "we ",    "they ",       "there ",
                                             "code ", "script ",  "job ",   "training ",   "same ",
                                             "all ",  "program ", "model ", "everything ", NULL},
                             *const none[] = {"nothing", "none",   "neither", "never",  "nvidia",
                                              "install", "import", "docker",  "driver", NULL};
    const char *from = s;
    size_t k;
    *n = 0;
    for (const char *p = s; p < verb; p++)
        if (strchr(",;:(", *p) != NULL || strncmp(p, " but ", 5) == 0 ||
            strncmp(p, " while ", 7) == 0 || strncmp(p, " whereas ", 9) == 0)
            from = p + 1;
    while (from < verb && (k = mt_log_word_at(from, leads)) != 0)
        from += k;
    if (from >= verb || mt_log_word_at(from, own) != 0)
        return NULL;
    *n = part(from, verb);
    if (*n < 3 || verb - (from + *n) > 1 || mt_log_word_at(from, none) != 0)
        return NULL;
    return from;
}

/* "The first 200 steps" of the same run. */
static bool is_begin(const char *p, size_t n)
{
    static const char *const times[] = {"step",   "epoch",   "iteration", "hour",
                                        "minute", "batches", "round",     NULL};
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || p[i - 1] == ' ') && mt_log_word_at(p + i, times) != 0)
            return true;
    return false;
}

/* The sentence or its text sets it against another: it fails there. */
static bool is_against(const char *s)
{
    static const char *const words[] = {" but ",  "while ",  "whereas ", "however",       "only ",
                                        "btw ",   "though ", "oom",      "out of memory", "fails",
                                        " fail ", "crash",   " not ",    "n't ",          NULL};
    return mt_log_has_one(s, words);
}

/* What runs by the verb at p; n = its bytes. A value is the job's own where nobody else is said to
 * have it. */
static const char *thing_at(const char *s, const char *p, size_t len, size_t *n,
                            enum mt_log_runs *kind)
{
    const char *thing = subject_of(s, p, n);
    *kind = thing != NULL && is_begin(thing, *n) ? MT_LOG_RUNS_FIRST : MT_LOG_RUNS_OTHER;
    if (thing == NULL && (thing = value_of(s, p, len, n)) != NULL) {
        *kind = MT_LOG_RUNS_WITH;
        return *p == 'w' || is_against(s) ? thing : NULL;
    }
    return is_against(s) ? thing : NULL;
}

enum mt_log_runs mt_logdiag_runs(char what[MT_LOG_CONTRAST], uint64_t *line,
                                 const struct mt_log *log)
{
    struct mt_spoken t;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *text = log->prose.p[i].text;
        if (!mt_spoken_is_told(text) || mt_spoken_is_logged(text))
            continue;
        mt_spoken_line(&t, log, i);
        for (char *s; (s = mt_spoken_sentence(&t)) != NULL;)
            for (const char *p = s; *p != '\0' && !is_open(s); p++) {
                enum mt_log_runs kind;
                size_t len = success(s, p), n = 0;
                const char *thing = len != 0 ? thing_at(s, p, len, &n, &kind) : NULL;
                if (thing == NULL || n < 3 || n >= MT_LOG_CONTRAST)
                    continue;
                for (; n > 1 && *thing == '`'; n--)
                    thing++;
                memcpy(what, thing, n);
                what[n] = '\0';
                mt_spoken_as_written(what, n, text);
                *line = t.line;
                return kind;
            }
    }
    return MT_LOG_RUNS_NONE;
}
