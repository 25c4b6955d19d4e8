/* log/clause.c -- what ties the words of a person's sentence to each other: times, clauses, what
 * went well, what is spoken of. */
#include "analysis/log/clause.h"
#include "analysis/log/spoken.h"

#include <string.h>

/* Words of a time, behind which it stands; how many words further at most. */
static const struct mt_clause_time connectives[] = {
    {"during ", 7},      {"when ", 8},  {"while ", 7},  {"whenever ", 8}, {"as soon as ", 8},
    {"as early as ", 8}, {"once ", 7},  {"upon ", 4},   {"in ", 4},       {"at ", 4},
    {"on ", 3},          {"doing ", 4}, {"before ", 0}, {"after ", -7},   {"following ", -5},
};

const struct mt_clause_time *mt_clause_time_at(const char *s, const char *p)
{
    if (p != s && p[-1] != ' ' && p[-1] != '(')
        return NULL;
    for (size_t i = 0; i < sizeof connectives / sizeof *connectives; i++)
        if (strncmp(p, connectives[i].word, strlen(connectives[i].word)) == 0)
            return &connectives[i];
    return NULL;
}

/* Bytes of up to n words of s, which end where a clause or another word of a time begins. */
size_t mt_clause_words(const char *s, int n)
{
    size_t i = 0;
    for (; s[i] != '\0'; i++) {
        if (s[i] != ' ')
            continue;
        if (--n <= 0 || (i > 0 && strchr(",;:", s[i - 1]) != NULL) ||
            mt_clause_time_at(s, s + i + 1) != NULL)
            break;
    }
    return i;
}

/* It went well there: "training works, validation does not". The last: normal, no problem. */
bool mt_clause_went_well(const char *clause, size_t n)
{
    static const char *const words[] = {" fine ",
                                        " works",
                                        "worked",
                                        "success",
                                        " ok ",
                                        " okay",
                                        "perfect",
                                        "smooth",
                                        "\xe6\xad\xa3\xe5\xb8\xb8",
                                        "\xe6\xb2\xa1\xe9\x97\xae\xe9\xa2\x98",
                                        NULL};
    char part[400];
    n = n < sizeof part - 2 ? n : sizeof part - 2;
    memcpy(part, clause, n);
    memcpy(part + n, " ", 2);
    for (const char *const *w = words; *w != NULL; w++)
        if (strstr(part, *w) != NULL && strstr(part, "not ") == NULL &&
            strstr(part, "n't ") == NULL)
            return true;
    return false;
}

/* Bytes of the clause at s; what stands in brackets is one of its own. */
size_t mt_clause_end(const char *s)
{
    size_t n = 0;
    for (; s[n] != '\0'; n++)
        if ((strchr(",;:", s[n]) != NULL && s[n + 1] == ' ') || strncmp(s + n, " but ", 5) == 0 ||
            strncmp(s + n, " (", 2) == 0 || strncmp(s + n, "\xef\xbc\x8c", 3) == 0)
            return n;
    return n;
}

/* The sentence speaks of memory: "the leak comes when logging", "a spike during validation". */
bool mt_clause_names_memory(const char *s)
{
    static const char *const words[] = {"memory", "vram", "\xe6\x98\xbe\xe5\xad\x98", NULL},
                             *const enough[] = {"enough", "constant", "stable", NULL};
    return mt_log_has_one(s, words) && !mt_log_has_one(s, enough);
}

/* The sentence speaks of an error without its name, and does not deny it. The last two: an error
 * was reported, error. */
bool mt_clause_names_failure(const char *s)
{
    static const char *const words[] = {"error",
                                        "crash",
                                        "happens",
                                        "occurs",
                                        "killed",
                                        "fail",
                                        "died",
                                        "overload",
                                        "\xe6\x8a\xa5\xe9\x94\x99",
                                        "\xe9\x94\x99\xe8\xaf\xaf",
                                        NULL},
                             *const warnings[] = {"warning", " may ", "might ", NULL};
    for (const char *const *w = words; *w != NULL && !mt_log_has_one(s, warnings); w++) {
        const char *at = strstr(s, *w);
        if (at != NULL && !mt_log_is_denied(s, at))
            return true;
    }
    return mt_spoken_fails(s);
}

bool mt_clause_part_fails(const char *s, size_t n)
{
    char part[MT_SPOKEN_LINE];
    memcpy(part, s, n);
    part[n] = '\0';
    return mt_clause_names_failure(part);
}

/* "after some iterations of X", "after 3 X steps": X was still going on; not "after the X step". */
bool mt_clause_is_within(const char *s)
{
    static const char *const parts[] = {"iterations", "steps", "epochs", "batches",
                                        "minutes",    "hours", NULL};
    char words[64];
    size_t n = mt_clause_words(s, 5);
    n = n < sizeof words - 1 ? n : sizeof words - 1;
    memcpy(words, s, n);
    words[n] = '\0';
    return mt_log_has_one(words, parts);
}

/* Where what came before ends, in Chinese, up to n bytes: behind "after", "since", "ended"; 0 = it
 * says nothing of the kind. */
size_t mt_clause_behind_after(const char *s, size_t n)
{
    static const char *const afters[] = {"\xe4\xb9\x8b\xe5\x90\x8e", "\xe4\xbb\xa5\xe5\x90\x8e",
                                         "\xe7\xbb\x93\xe6\x9d\x9f\xe5\x90\x8e",
                                         "\xe5\xae\x8c\xe6\x88\x90\xe5\x90\x8e", NULL};
    size_t end = 0;
    for (const char *const *w = afters; *w != NULL; w++) {
        const char *p = strstr(s, *w);
        if (p != NULL && p < s + n && (size_t)(p - s) + strlen(*w) > end)
            end = (size_t)(p - s) + strlen(*w);
    }
    return end;
}
