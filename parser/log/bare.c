/* log/bare.c -- "cuda out of memory" and no more, in whatever case: what people type who paste no
 * log, and what programs of their own print. */
#include "parser/log/match.h"

#include <string.h>

enum {
    LONGEST = 1000, /* of a line that is looked at */
    SHORT = 250,    /* lines of a text that is a question about a failure, no job's log */
    NEAR = 40       /* bytes between a memory's name and the word that it ran out */
};

static size_t lower(char out[LONGEST + 1], const char *s)
{
    size_t n = 0;
    for (; n < LONGEST && s[n] != '\0'; n++)
        out[n] = (char)(s[n] >= 'A' && s[n] <= 'Z' ? s[n] | 32 : s[n]);
    out[n] = '\0';
    return s[n] == '\0' ? n : 0;
}

/* "did not get an OOM", "never saw OOM": right before it. The last two: did not show, not reported.
 */
static bool is_denied(const char *s, const char *at)
{
    static const char *const words[] = {"not get ",
                                        "n't get ",
                                        "not see ",
                                        "n't see ",
                                        "not hit ",
                                        "n't hit ",
                                        "never ",
                                        "\xe6\xb2\xa1\xe6\x9c\x89\xe5\x87\xba\xe7\x8e\xb0",
                                        "\xe6\xb2\xa1\xe6\x9c\x89\xe6\x8a\xa5"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        for (const char *p = at - s > 20 ? at - 20 : s; p + n <= at; p++)
            if (strncmp(p, words[i], n) == 0 && strcspn(p, ",.;:") >= (size_t)(at - p))
                return true;
    }
    return false;
}

/* "to avoid CUDA out of memory", "if CUDA out of memory happens", "without gpu oom". The last two:
 * will not, avoid. */
static bool only_talked_of(const char *s, const char *at)
{
    static const char *const words[] = {"avoid",
                                        "prevent",
                                        "if ",
                                        "without",
                                        "no ",
                                        "may ",
                                        "might",
                                        "fix",
                                        "handle",
                                        "except",
                                        "catch",
                                        "skip",
                                        "reduce",
                                        "against",
                                        "case of",
                                        "retry",
                                        "recover",
                                        "would",
                                        "\xe4\xb8\x8d\xe4\xbc\x9a",
                                        "\xe9\x81\xbf\xe5\x85\x8d"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *p = strstr(s, words[i]);
        if (p != NULL && p < at && (p == s || !mt_log_is_letter(p[-1])))
            return true;
    }
    return is_denied(s, at);
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

/* "OOM" where it is a word of a sentence: not the kernel's killer, nor a part of a name or of what
 * guards against it, nor "at the OOM", as our own reports head a column. */
static const char *short_word(const char *s)
{
    static const char *const after[] = {" kill",  " protect", " retr", " thresh",
                                        " handl", " score",   " adj",  NULL};
    for (const char *p = s; (p = strstr(p, "oom")) != NULL; p += 3) {
        const char *end = p + 3 + (p[3] == 's');
        if ((p == s || (p[-1] & 0x80) != 0 || strchr(" (\"'`*,:", p[-1]) != NULL) &&
            ((*end & 0x80) != 0 || strchr(" .,!?)\"'`*:;", *end) != NULL) &&
            !mt_log_begins(end, after) && (p - s < 7 || strncmp(p - 7, "at the ", 7) != 0))
            return p;
    }
    return NULL;
}

/* The error's own words, in small letters. */
static const char *const words[] = {"cuda out of memory", "cuda error: out of memory",
                                    "gpu out of memory",  "out of gpu memory",
                                    "out of cuda memory", "outofmemoryerror",
                                    "cuda oom",           "gpu oom",
                                    "out of vram",        NULL};
/* A person's. The last four: the card's memory is too little, not enough, overflows, bursts. */
static const char
    *const said[] = {"runs out of memory",
                     "running out of memory",
                     "i run out of memory",
                     "we run out of memory",
                     "\xe6\x98\xbe\xe5\xad\x98\xe4\xb8\x8d\xe8\xb6\xb3",
                     "\xe6\x98\xbe\xe5\xad\x98\xe4\xb8\x8d\xe5\xa4\x9f",
                     "\xe6\x98\xbe\xe5\xad\x98\xe6\xba\xa2\xe5\x87\xba",
                     "\xe7\x88\x86\xe6\x98\xbe\xe5\xad\x98",
                     NULL},
           /* where no word of CUDA's, whose errors have words of their own, is near */
    *const plain[] = {"out of memory", NULL};
/* The host's memory, in words that leave no doubt. The last four: it is too little, not enough,
 * overflows, bursts. */
static const char *const of_host[] = {"host oom",
                                      "cpu oom",
                                      "ram oom",
                                      "host out of memory",
                                      "cpu out of memory",
                                      "out of host memory",
                                      "out of cpu memory",
                                      "out of system memory",
                                      "out of ram",
                                      "ray.exceptions.outofmemoryerror",
                                      "\xe5\x86\x85\xe5\xad\x98\xe4\xb8\x8d\xe8\xb6\xb3",
                                      "\xe5\x86\x85\xe5\xad\x98\xe4\xb8\x8d\xe5\xa4\x9f",
                                      "\xe5\x86\x85\xe5\xad\x98\xe6\xba\xa2\xe5\x87\xba",
                                      "\xe7\x88\x86\xe5\x86\x85\xe5\xad\x98",
                                      NULL};
/* The same by a name near the word that it ran out. The last two: memory of the host, the host. */
static const char *const hosts[] = {"host",
                                    "cpu mem",
                                    "system memory",
                                    " ram",
                                    "(ram",
                                    "\xe5\x86\x85\xe5\xad\x98",
                                    "\xe4\xb8\xbb\xe6\x9c\xba",
                                    NULL};
/* Then it is no memory at all. The last two: a disk, a hard disk. */
static const char *const disks[] = {"disk", "\xe7\xa3\x81\xe7\x9b\x98", "\xe7\xa1\xac\xe7\x9b\x98",
                                    NULL};

/* Where the first of them stands that no letter follows; *n: its length. */
static const char *first_of(const char *s, const char *const *list, size_t *n)
{
    for (; *list != NULL; list++) {
        const char *at = strstr(s, *list);
        *n = strlen(*list);
        if (at != NULL && !mt_log_is_letter(at[*n]))
            return at;
    }
    return NULL;
}

/* What the words are, and whose memory they are about. */
struct found {
    const char *at; /* NULL = there are none */
    size_t n;
    bool sure; /* the error's own words */
    bool is_host;
};

/* One of the names begins or ends within NEAR bytes of the words. */
static bool is_near(const char *s, const struct found *f, const char *const *names)
{
    for (; *names != NULL; names++)
        for (const char *p = s; (p = strstr(p, *names)) != NULL; p++) {
            const char *end = p + strlen(*names), *after = f->at + f->n;
            if ((end <= f->at && f->at - end <= NEAR) || (p >= after && p - after <= NEAR))
                return true;
        }
    return false;
}

/* asks: the text is short enough for a question; else only the error's own words count. */
static struct found find_words(const char *s, bool asks)
{
    struct found f = {.n = 0};
    bool of_card = strstr(s, "cuda") != NULL || strstr(s, "gpu") != NULL ||
                   strstr(s, "vram") != NULL || strstr(s, "\xe6\x98\xbe\xe5\xad\x98") != NULL;
    f.at = of_card || !asks ? NULL : first_of(s, of_host, &f.n);
    f.is_host = f.at != NULL;
    if (f.at == NULL)
        f.sure = (f.at = first_of(s, words, &f.n)) != NULL;
    if (f.at != NULL || !asks)
        return f;
    if (first_of(s, disks, &f.n) != NULL)
        return f;
    f.at = first_of(s, said, &f.n);
    if (f.at == NULL && strstr(s, "cuda") == NULL)
        f.at = first_of(s, plain, &f.n);
    if (f.at == NULL) {
        f.n = 3;
        f.at = short_word(s);
    }
    f.is_host = f.at != NULL && !of_card && is_near(s, &f, hosts);
    return f;
}

/* A report of memtrace's own as text or Markdown: its words are about a failure that the snapshot
 * knows better. */
static bool is_report(const struct mt_log *l)
{
    static const char *const heads[] = {"memtrace  ", "### memtrace: ", "\033[2mmemtrace  "};
    for (size_t i = 0; l->prose.n != 0 && i < sizeof heads / sizeof *heads; i++)
        if (strncmp(l->prose.p[0].text, heads[i], strlen(heads[i])) == 0)
            return true;
    return false;
}

int mt_log_bare(struct mt_log *l, uint64_t number, const char *line)
{
    char s[LONGEST + 1] = "";
    struct mt_log_fact *f;
    bool whole;
    struct found w = {.n = 0};
    if (lower(s, line) != 0)
        w = find_words(s, number <= SHORT);
    if (w.at == NULL || is_report(l) || strstr(s, "java") != NULL ||
        strstr(s, "heap space") != NULL ||
        (!w.sure && (strstr(line, "INFO") != NULL || strstr(line, "DEBUG") != NULL)))
        return 0;
    whole = w.sure && is_whole(s, w.at, w.at + w.n);
    if (!whole && (mt_log_is_code(s, w.at, w.n) || only_talked_of(s, w.at)))
        return 0;
    if (!whole && number > SHORT)
        return 1; /* no question is as long, and such lines would leave no room for others */
    /* the traceback is left to a line that is sure */
    f = whole ? mt_log_add(l, MT_LOG_TORCH_OOM, number, line)
              : mt_log_blank(l, w.is_host ? MT_LOG_HOST_OOM : MT_LOG_TORCH_OOM, number);
    if (f != NULL)
        mt_log_keep_text(f, whole ? "bare" : "talk", 4);
    return 1;
}
/* A line that says more of a failure than a person's words about one. */
static bool is_failure(const struct mt_log_fact *f)
{
    return mt_log_has_stack(f->kind) || f->kind == MT_LOG_RAY_KILL ||
           f->kind == MT_LOG_KERNEL_KILL || f->kind == MT_LOG_KILLED || f->kind == MT_LOG_STOPPED ||
           f->kind == MT_LOG_KERNEL_LIMIT;
}

/* Words about a failure count in a short text in which nothing else tells one. */
void mt_log_bare_end(struct mt_log *l)
{
    uint32_t n = 0, talks = 0, others = 0;
    for (uint32_t i = 0; i < l->facts.n; i++) {
        talks += mt_log_is_talk(&l->facts.p[i]);
        others += !mt_log_is_talk(&l->facts.p[i]) && is_failure(&l->facts.p[i]);
    }
    if (talks == 0 || (others == 0 && l->n_lines <= SHORT))
        return;
    for (uint32_t i = 0; i < l->facts.n; i++)
        if (!mt_log_is_talk(&l->facts.p[i]))
            l->facts.p[n++] = l->facts.p[i];
    l->facts.n = n;
}
