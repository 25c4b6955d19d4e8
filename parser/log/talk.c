/* log/talk.c -- whether words about a failure count: not beside a failure's own line, and not in a
 * text about one that nobody met, a question whether it can come, another's words, a wish for a
 * program, and somewhere that nothing failed. */
#include "parser/log/match.h"

#include <string.h>

/* Bytes of the sentence at s, with what ends it. The Chinese ones: a full stop, a question mark. */
static size_t sentence(const char *s)
{
    size_t n = 0;
    for (; s[n] != '\0'; n++)
        if ((strchr(".!?;", s[n]) != NULL && (s[n + 1] == ' ' || s[n + 1] == '\0')) ||
            strncmp(s + n, "\xe3\x80\x82", 3) == 0 || strncmp(s + n, "\xef\xbc\x9f", 3) == 0)
            return n + ((s[n] & 0x80) != 0 ? 3 : 1);
    return n;
}

/* Who speaks of what they have: "I get", "our job". */
static bool is_ones_own(const char *s)
{
    static const char *const own[] = {" i ",  " i'm ", " we ",         " my ", " our ",
                                      " me ", " us ",  "\xe6\x88\x91", NULL};
    return mt_log_has_one(s, own);
}

/* "Does validation cause OOM?", not "why does it". The last three: whether, will it, is it so. */
static bool only_asks(const char *s)
{
    static const char *const first[] = {" does ",      " do ",      " can ", " could ",  " will ",
                                        " would ",     " is ",      " are ", " should ", " may ",
                                        " what does ", " what is ", NULL},
                             *const words[] = {"\xe6\x98\xaf\xe5\x90\xa6",
                                               "\xe4\xbc\x9a\xe4\xb8\x8d\xe4\xbc\x9a",
                                               "\xe5\x90\x97", NULL},
                             *const helps[] = {"why ", "how ", "help", "anyone", "any ", NULL};
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ')
        n--;
    if (mt_log_has_one(s, helps))
        return false; /* who asks so has it */
    if (mt_log_has_one(s, words))
        return true;
    /* behind a colon as well: "docs: what does it mean?" */
    for (const char *p = s; n > 0 && s[n - 1] == '?'; p++) {
        if (mt_log_begins(p, first))
            return true;
        p = strchr(p, ':');
        if (p == NULL)
            return false;
    }
    return false;
}

static bool is_anothers(const char *s)
{
    static const char *const words[] = {"colleague",
                                        "a friend",
                                        "my friend",
                                        "people say",
                                        "they say",
                                        "someone says",
                                        "somebody says",
                                        "someone said",
                                        "i read ",
                                        "i heard ",
                                        "i have read",
                                        "i've read",
                                        "i have heard",
                                        "\xe5\x90\x8c\xe4\xba\x8b\xe8\xaf\xb4",
                                        NULL};
    return mt_log_has_one(s, words);
}

/* The last ones: a suggestion for a function, a wish for one, a suggestion. */
static bool wishes(const char *s)
{
    static const char *const words[] = {"feature request",
                                        "feature proposal",
                                        "enhancement",
                                        "proposal",
                                        "would be nice",
                                        "would be great",
                                        "suggestion",
                                        "[feature]",
                                        "[rfc]",
                                        "\xe5\x8a\x9f\xe8\x83\xbd\xe5\xbb\xba\xe8\xae\xae",
                                        "\xe5\x8a\x9f\xe8\x83\xbd\xe9\x9c\x80\xe6\xb1\x82",
                                        "\xe5\xbb\xba\xe8\xae\xae\xef\xbc\x9a",
                                        NULL};
    return mt_log_has_one(s, words);
}

/* It says that nothing failed, and no other thing behind it; "works fine" is said of a part as
 * well ("training works fine"), so that it has to be of all. The Chinese ones: met none, no error,
 * all is normal, no crash, runs normally; and but. */
static bool says_none_failed(const char *s)
{
    static const char *const none[] = {"no crash",
                                       "no failure",
                                       "no error",
                                       "nothing crash",
                                       "nothing fail",
                                       "nothing has failed",
                                       "nothing is broken",
                                       "nothing broke",
                                       "never saw",
                                       "never seen",
                                       "never had",
                                       "never met",
                                       "never happened",
                                       "never fail",
                                       "never crash",
                                       "not seen",
                                       "n't seen",
                                       "not see ",
                                       "n't see ",
                                       "\xe6\xb2\xa1\xe6\x9c\x89\xe9\x81\x87\xe5\x88\xb0",
                                       "\xe6\xb2\xa1\xe9\x81\x87\xe5\x88\xb0",
                                       "\xe6\xb2\xa1\xe6\x9c\x89\xe6\x8a\xa5\xe9\x94\x99",
                                       "\xe6\xb2\xa1\xe6\x8a\xa5\xe9\x94\x99",
                                       "\xe4\xb8\x80\xe5\x88\x87\xe6\xad\xa3\xe5\xb8\xb8",
                                       "\xe6\xb2\xa1\xe6\x9c\x89\xe5\xb4\xa9\xe6\xba\x83",
                                       "\xe8\xbf\x90\xe8\xa1\x8c\xe6\xad\xa3\xe5\xb8\xb8",
                                       NULL},
                             *const well[] = {"works fine",   "work fine",  "runs fine", "run fine",
                                              "running fine", "works well", "runs well", "is fine",
                                              "are fine",     NULL},
                             *const all[] = {" everything ", " all ",    " my job",  " my run",
                                             " my own ",     " our run", " our job", NULL},
                             *const buts[] = {" but ",  " until ",      " except ", " other",
                                              " else ", "\xe4\xbd\x86", NULL};
    return (mt_log_has_one(s, none) || (mt_log_has_one(s, well) && mt_log_has_one(s, all))) &&
           !mt_log_has_one(s, buts);
}

/* What the sentences of a text say, one after another. */
struct heard {
    bool wishes, nothing_failed;
    bool tells; /* a sentence tells of a failure as of one that happened */
};

/* s: in small letters, with a blank around it. */
static void hear(struct heard *h, char *s)
{
    bool own = is_ones_own(s), wish = wishes(s);
    h->wishes |= wish;
    h->nothing_failed |= says_none_failed(s);
    if (is_anothers(s) || (only_asks(s) && !own))
        return;
    /* what is wished for: something before a failure, or at one */
    if (!own && h->wishes &&
        (wish || strstr(s, "before ") != NULL || strstr(s, " after a ") != NULL))
        return;
    h->tells |= mt_log_tells_failure(s + 1);
}

/* The text says that nothing failed, and all that it tells of a failure is no more than that. */
static bool is_unmet(const struct mt_log *l)
{
    enum { LONGEST = 1000 };
    char copy[LONGEST + 3];
    struct heard h = {.wishes = false};
    for (uint32_t i = 0; i < l->prose.n && !h.tells; i++) {
        const char *s = l->prose.p[i].text;
        s += strspn(s, "#>* ");
        for (size_t n; *s != '\0'; s += n) {
            size_t k = 1;
            s += strspn(s, " ");
            n = sentence(s);
            copy[0] = ' ';
            for (; k <= n && k <= LONGEST; k++)
                copy[k] = mt_log_lower(s[k - 1]);
            copy[k++] = ' ';
            copy[k] = '\0';
            hear(&h, copy);
        }
    }
    return h.nothing_failed && !h.tells;
}

/* A line that says more of a failure than a person's words about one. */
static bool is_failure(const struct mt_log_fact *f)
{
    return mt_log_has_stack(f->kind) || f->kind == MT_LOG_RAY_KILL ||
           f->kind == MT_LOG_KERNEL_KILL || f->kind == MT_LOG_KILLED || f->kind == MT_LOG_STOPPED ||
           f->kind == MT_LOG_KERNEL_LIMIT;
}

/* Words about a failure count in a short text in which nothing else tells one, or that none was. */
void mt_log_talk_end(struct mt_log *l)
{
    uint32_t n = 0, talks = 0, others = 0;
    for (uint32_t i = 0; i < l->facts.n; i++) /* the log below ends where it happened */
        if (mt_log_is_talk(&l->facts.p[i]))
            mt_log_step_take(l, &l->facts.p[i]);
    for (uint32_t i = 0; i < l->facts.n; i++) {
        talks += mt_log_is_talk(&l->facts.p[i]);
        others += !mt_log_is_talk(&l->facts.p[i]) && is_failure(&l->facts.p[i]);
    }
    if (talks == 0 || (others == 0 && l->n_lines <= MT_LOG_SAID_LINES && !is_unmet(l)))
        return;
    for (uint32_t i = 0; i < l->facts.n; i++)
        if (!mt_log_is_talk(&l->facts.p[i]))
            l->facts.p[n++] = l->facts.p[i];
    l->facts.n = n;
}
