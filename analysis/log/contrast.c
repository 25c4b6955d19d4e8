/* log/contrast.c -- "without X it runs": what the run that fails has more than one that works, as
 * somebody says in a text of their own. */
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"

#include <string.h>
#include <strings.h>

enum { WORDS = 6 }; /* of the thing, at most */

/* "None of it worked", "nothing works", "neither ran": the word before p, or the one before "of".
 */
static bool is_none(const char *s, const char *p)
{
    static const char *const words[] = {"none ",   "nothing ", "neither ", "never ",
                                        "nobody ", "hardly ",  "no ",      NULL};
    for (int back = 0; back < 4 && p > s; back++) {
        while (p > s && p[-1] == ' ')
            p--;
        while (p > s && strchr(" ,;:(", p[-1]) == NULL)
            p--;
        if (mt_log_word_at(p, words) != 0)
            return true;
        if (p > s && p[-1] != ' ')
            return false;
    }
    return false;
}

/* Behind " it runs", which is no "it runs out of memory" and is not denied; NULL = not at p. */
static const char *behind_success(const char *s, const char *p)
{
    static const char *const verbs[] = {"runs", "works", "trains", "ran ", "worked", NULL},
                             *const others[] = {" out", " into", " slow", " on ", " for ", NULL};
    size_t n = mt_spoken_starts(s, p) && !is_none(s, p) ? mt_log_word_at(p, verbs) : 0;
    if (n == 0 || (p[n] >= 'a' && p[n] <= 'z') || mt_log_word_at(p + n, others) != 0 ||
        mt_log_is_denied(s, p))
        return NULL;
    return p + n;
}

/* What goes without saying, or is what failed: "runs without errors". */
static bool is_thing(const char *p)
{
    static const char *const none[] = {"error",  "problem", "issue",   "any",     "oom",    "cuda",
                                       "out of", "trouble", "crash",   "success", "this",   "that",
                                       "it ",    "fail",    "warning", "memory",  "losing", NULL};
    return *p >= '!' && mt_log_word_at(p, none) == 0;
}

/* Bytes of the thing at p: its clause, and no subject of the next one. */
static size_t thing_length(const char *p, const char *to)
{
    static const char *const ends[] = {" it ",  " the job ", " everything ", " training ",
                                       " and ", " out ",     " out,",        " i ",
                                       " but ", " at all",   " then ",       NULL};
    size_t n = 0;
    for (int words = 0; p + n < to && strchr(",;:()?!", p[n]) == NULL; n++) {
        if ((p[n] == '.' && (p[n + 1] == ' ' || p[n + 1] == '\0')) ||
            mt_log_word_at(p + n, ends) != 0)
            break;
        words += p[n] == ' ';
        if (words >= WORDS)
            break;
    }
    while (n > 0 && p[n - 1] == ' ')
        n--;
    return n;
}

/* The words that take something away stand at p: how many bytes; 0 = they do not. */
static size_t takes_away(const char *s, const char *p)
{
    static const char *const words[] = {
        "without ",          "if i leave ",         "if we leave ",
        "when i leave ",     "if i remove ",        "when i remove ",
        "if we remove ",     "if i drop ",          "if i disable ",
        "when i disable ",   "if we disable ",      "if i turn off ",
        "when i turn off ",  "if i switch off ",    "when i switch off ",
        "if i comment out ", "when i comment out ", NULL};
    size_t n = mt_spoken_starts(s, p) ? mt_log_word_at(p, words) : 0;
    if (n != 0 && strncmp(p + n, "out ", 4) == 0)
        n += 4;
    return n;
}

/* Nobody has done it yet. */
static bool is_open(const char *s)
{
    static const char *const words[] = {"would ", "could ",  "should ", "hope ", "want ",  "how ",
                                        "expect", "suppose", "whether", "may ",  "might ", NULL};
    return mt_log_has_one(s, words) || s[strcspn(s, "?")] == '?';
}

/* The thing that the sentence says it runs without, which ends before *to; NULL = none. */
static const char *thing_of(const char *s, const char **to)
{
    static const char *const fails[] = {"still ",     "fail",  "error", "oom",
                                        "out of mem", "crash", NULL};
    const char *away = NULL, *runs = NULL;
    for (const char *p = s; *p != '\0' && !is_open(s); p++) {
        size_t n = takes_away(s, p);
        const char *behind = behind_success(s, p);
        if (away != NULL && p > away &&
            (*p == ';' || (mt_spoken_starts(s, p) && mt_log_word_at(p, fails) != 0)))
            away = NULL; /* another clause, or what fails */
        if (n != 0 && is_thing(p + n) && (away == NULL || runs == NULL))
            away = p + n;
        *to = p;
        if (behind != NULL && away != NULL && away < p)
            return away;
        if (behind != NULL)
            runs = behind;
        /* "it runs fine without X": nothing but a word or two between */
        if (n != 0 && away == p + n && runs != NULL && p - runs <= 12 &&
            memchr(runs, ',', (size_t)(p - runs)) == NULL) {
            *to = s + strlen(s);
            return away;
        }
    }
    return NULL;
}

uint64_t mt_logdiag_contrast(char what[MT_LOG_CONTRAST], const struct mt_log *log)
{
    struct mt_spoken t;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        if (!mt_spoken_is_told(log->prose.p[i].text) || mt_spoken_is_logged(log->prose.p[i].text))
            continue;
        mt_spoken_line(&t, log, i);
        for (char *s; (s = mt_spoken_sentence(&t)) != NULL;) {
            const char *to = s, *thing = thing_of(s, &to);
            size_t n = thing != NULL ? thing_length(thing, to) : 0;
            if (n < 3 || n >= MT_LOG_CONTRAST)
                continue;
            memcpy(what, thing, n);
            what[n] = '\0';
            mt_spoken_as_written(what, n, log->prose.p[i].text);
            return t.line;
        }
    }
    return 0;
}
