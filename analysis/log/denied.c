/* log/denied.c -- what a person's sentence says that it was not: "not in the rollout", "instead of
 * the validation", "generation never runs out of memory"; and what is over. */
#include "analysis/log/clause.h"
#include "parser/log/log.h"

#include <string.h>

enum { THING = 4 }; /* words of a thing that is denied, at most */

static bool part_has(const char *s, size_t n, const char *const *words)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = mt_log_word_at(s + i, words);
        if (k != 0 && i + k <= n)
            return true;
    }
    return false;
}

/* Of a place or a time, right behind the denial: "not at ", "isn't in "; in Chinese: it is. */
static bool denies_place(const char *behind)
{
    static const char *const places[] = {"at ",       "in ",   "during ", "when ",        "while ",
                                         "whenever ", "once ", "by ",     "from ",        "inside ",
                                         "within ",   "the ",  "upon ",   "\xe6\x98\xaf", NULL};
    return mt_log_word_at(behind, places) != 0;
}

/* Of a thing, no verb: "instead of the rollout", "by no means" in Chinese; "can't train" is none.
 */
static bool denies_thing(const char *denial)
{
    return *denial != 'n' &&
           ((*denial & 0x80) == 0 || strncmp(denial, "\xe5\xb9\xb6\xe9\x9d\x9e", 6) == 0);
}

/* Of a failure: "does not happen", "never runs out of", up to two words further. In Chinese, behind
 * will, any more, have: an error, comes up, happens, OOM, bursts. */
static bool denies_failure(const char *behind)
{
    static const char *const fails[] = {"come",     "happen",  "occur", "appear", "arise",
                                        "show up",  "fail",    "crash", "oom",    "run out",
                                        "runs out", "ran out", "die",   "hit ",   "caus",
                                        "trigger",  "break",   "throw", "rais",   NULL},
                             *const between[] = {"\xe4\xbc\x9a", "\xe5\x86\x8d", "\xe6\x9c\x89",
                                                 NULL},
                             *const its[] = {"\xe6\x8a\xa5\xe9\x94\x99",
                                             "\xe5\x87\xba\xe7\x8e\xb0",
                                             "\xe5\x8f\x91\xe7\x94\x9f",
                                             "oom",
                                             " oom",
                                             "\xe6\x8a\xa5oom",
                                             "\xe7\x88\x86",
                                             NULL};
    const char *p = behind + mt_log_word_at(behind, between);
    if (mt_log_word_at(p, its) != 0)
        return true;
    p = behind;
    for (int words = 0; words < 3; words++) {
        if (mt_log_word_at(p, fails) != 0)
            return true;
        p += strcspn(p, " ,;:");
        if (*p++ != ' ')
            return false;
    }
    return false;
}

/* Where the statement that p stands in begins: behind "and", "which". */
static size_t statement_at(const char *s, size_t i)
{
    static const char *const joins[] = {" and ",     " which ",    " that ",
                                        " because ", " although ", NULL};
    for (size_t k = i; k > 0; k--) {
        size_t n = mt_log_word_at(s + k - 1, joins);
        if (n != 0 && k - 1 + n <= i)
            return k - 1;
    }
    return 0;
}

size_t mt_clause_denied(const char *s, size_t n, size_t at, size_t *from)
{
    for (size_t i = at; i < n; i++) {
        size_t k = mt_log_denial(s, s + i), end = n;
        const char *behind = s + i + k;
        if (k == 0)
            continue;
        *from = i;
        if (denies_thing(s + i))
            end = i + k + mt_clause_words(behind, THING);
        else if (denies_failure(behind))
            *from = statement_at(s, i);
        else if (!denies_place(behind))
            continue;
        return (end < n ? end : n) - *from;
    }
    return 0;
}

/* The last ones: an error, a wrong one, a problem, the card's memory. */
static bool names_trouble(const char *s, size_t n)
{
    static const char *const words[] = {"oom",
                                        "out of memory",
                                        "error",
                                        "crash",
                                        "issue",
                                        "problem",
                                        "failure",
                                        "leak",
                                        "spike",
                                        " this ",
                                        " that ",
                                        "which ",
                                        " it ",
                                        "bug",
                                        "\xe6\x8a\xa5\xe9\x94\x99",
                                        "\xe9\x94\x99\xe8\xaf\xaf",
                                        "\xe9\x97\xae\xe9\xa2\x98",
                                        "\xe6\x98\xbe\xe5\xad\x98",
                                        NULL};
    static const char *const first[] = {"this ", "that ", "it ", NULL};
    return mt_log_word_at(s, first) != 0 || part_has(s, n, words);
}

/* Of trouble, that it ended; the last ones: solved, disappeared, mended. */
static bool trouble_ended(const char *s, size_t n)
{
    static const char *const ends[] = {"went away",
                                       "goes away",
                                       "gone away",
                                       "is gone",
                                       "are gone",
                                       "disappeared",
                                       "was solved",
                                       "is solved",
                                       "were solved",
                                       "are solved",
                                       "been solved",
                                       "solved by",
                                       "was fixed",
                                       "is fixed",
                                       "were fixed",
                                       "are fixed",
                                       "been fixed",
                                       "got fixed",
                                       "fixed by",
                                       "was resolved",
                                       "is resolved",
                                       "are resolved",
                                       "been resolved",
                                       "resolved by",
                                       "\xe8\xa7\xa3\xe5\x86\xb3\xe4\xba\x86",
                                       "\xe5\xb7\xb2\xe8\xa7\xa3\xe5\x86\xb3",
                                       "\xe6\xb6\x88\xe5\xa4\xb1\xe4\xba\x86",
                                       "\xe4\xbf\xae\xe5\xa5\xbd\xe4\xba\x86",
                                       NULL};
    for (size_t i = 0; i < n; i++)
        if (mt_log_word_at(s + i, ends) != 0)
            return names_trouble(s, i);
    return false;
}

/* "How is it solved?" asks for what is not; the last two: not, not yet. */
bool mt_clause_is_over(const char *s, size_t n)
{
    static const char *const past[] = {"used to oom",     "used to fail",   "used to crash",
                                       "used to run out", "used to get ",   "used to give ",
                                       "used to die",     "used to hit ",   "used to happen",
                                       "used to occur",   "used to end in", NULL},
                             *const nots[] = {"not ",         "n't ",         "until ", "how ",
                                              "\xe6\xb2\xa1", "\xe6\x9c\xaa", NULL};
    return (part_has(s, n, past) || trouble_ended(s, n)) && !part_has(s, n, nots);
}

/* The last one: now. */
bool mt_clause_is_now(const char *s, size_t n)
{
    static const char *const first[] = {"now ", "but now ", "and now ", NULL},
                             *const words[] = {" now ", "\xe7\x8e\xb0\xe5\x9c\xa8", NULL};
    bool last = n >= 4 && strncmp(s + n - 4, " now", 4) == 0;
    return last || mt_log_word_at(s, first) != 0 || part_has(s, n, words);
}

/* The last: but, in Chinese, behind "not". */
bool mt_clause_is_but(const char *s)
{
    static const char *const buts[] = {"but ", "only ", "\xe8\x80\x8c\xe6\x98\xaf", NULL};
    return mt_log_word_at(s, buts) != 0;
}
