/* log/bare.c -- "cuda out of memory" and no more, in whatever case: what people type who paste no
 * log, and what programs of their own print. */
#include "parser/log/match.h"

#include <string.h>

enum {
    LONGEST = 1000, /* of a line that is looked at */
    NEAR = 40,      /* bytes between a memory's name and the word that it ran out */
    FAR = 32        /* bytes from a word that makes it no failure to that word */
};

static size_t lower(char out[LONGEST + 1], const char *s)
{
    size_t n = 0;
    for (; n < LONGEST && s[n] != '\0'; n++)
        out[n] = (char)(s[n] >= 'A' && s[n] <= 'Z' ? s[n] | 32 : s[n]);
    out[n] = '\0';
    return s[n] == '\0' ? n : 0;
}

/* Between the two a clause ends; a full stop does not where a name goes on behind it. */
static bool ends_between(const char *p, const char *at)
{
    for (; p < at; p++)
        if (strchr(",;:])", *p) != NULL || (*p == '.' && p[1] == ' '))
            return true;
    return false;
}

/* One of the words stands at most FAR bytes before `at`, in the same clause, as a word or the
 * beginning of one. */
static const char *before(const char *s, const char *at, const char *const *list)
{
    for (const char *p = at - s > FAR ? at - FAR : s; p < at; p++)
        if ((p == s || !mt_log_is_letter(p[-1])) && mt_log_begins(p, list) && !ends_between(p, at))
            return p;
    return NULL;
}

/* Who asks how to avoid it has it: "how can I fix the OOM?". */
static bool is_asked_for(const char *s, const char *at)
{
    static const char *const asks[] = {"how to ", "how can ", "how do ", "any way ", NULL};
    return mt_log_has_one(s, asks) && strstr(s, "case of") == NULL && at != s;
}

/* "to avoid CUDA out of memory", "if CUDA out of memory happens", "without gpu oom"; not "if I take
 * 8 of them I get an OOM". The last two: will not, avoid. */
static bool only_talked_of(const char *s, const char *at)
{
    static const char *const cures[] = {"avoid", "prevent", "fix",     "handl",   "solv", "resolv",
                                        "reduc", "against", "recover", "mitigat", NULL},
                             *const maybes[] = {"may ",
                                                "might ",
                                                "would ",
                                                "could ",
                                                "except",
                                                "catch",
                                                "skip",
                                                "case of",
                                                "retry",
                                                "used to",
                                                "previous",
                                                "\xe4\xb8\x8d\xe4\xbc\x9a",
                                                "\xe9\x81\xbf\xe5\x85\x8d",
                                                NULL},
                             *const ifs[] = {"if ", NULL}, *const ours[] = {" i ", " we ", NULL};
    const char *condition = before(s, at, ifs);
    char between[FAR + 1] = "";
    if (condition != NULL)
        memcpy(between, condition, (size_t)(at - condition)), between[at - condition] = '\0';
    return (before(s, at, cures) != NULL && !is_asked_for(s, at)) ||
           before(s, at, maybes) != NULL || (condition != NULL && !mt_log_has_one(between, ours)) ||
           mt_log_is_denied(s, at);
}

/* It is over: "the OOM was solved by ...", "OOM is gone". Words that stand close behind. */
static bool is_over(const char *end)
{
    static const char *const over[] = {
        "solved",    "fixed",       "resolved",       "no longer",     "went away",
        "is gone",   "are gone",    "disappear",      "goes away",     "was caught",
        "is caught", "was handled", "did not happen", "didn't happen", NULL};
    char near[NEAR + 1];
    size_t n = strnlen(end, NEAR), clause = strcspn(end, ".,;:?");
    n = n < clause ? n : clause;
    memcpy(near, end, n);
    near[n] = '\0';
    return mt_log_has_one(near, over) && strstr(near, "not ") == NULL &&
           strstr(near, "n't ") == NULL;
}

/* "torch.cuda.OutOfMemoryError": of the error's class, where its name begins. */
static const char *whole_name(const char *s, const char *at)
{
    const char *p = at;
    if (strncmp(at, "outofmemoryerror", 16) != 0)
        return at;
    while (p > s && (mt_log_is_letter(p[-1]) || p[-1] == '.'))
        p--;
    return strncmp(p, "torch.", 6) == 0 ? p : at;
}

/* What stands around it is an error's name and punctuation. */
static bool is_whole(const char *s, const char *at, const char *end, bool is_title)
{
    const char *colon = NULL;
    for (const char *p = s; p + 1 < at; p++)
        if (*p == ':' && p[1] == ' ')
            colon = p + 1;
    if (colon != NULL && colon - s >= 5 && memcmp(colon - 5, "rror", 4) == 0)
        s = colon;
    if (!is_title)
        at = whole_name(s, at);
    for (const char *p = s; p < at; p++)
        if (strchr(" \t>`'\"*#-.", *p) == NULL)
            return false;
    return end[strspn(end, " \t\r.!`'\"*")] == '\0';
}

/* "oom/hanging": two words, and no path. */
static bool is_pair(const char *end)
{
    size_t n = *end == '/' ? strspn(end + 1, "abcdefghijklmnopqrstuvwxyz") : 0;
    return n >= 3 && (end[n + 1] == ' ' || end[n + 1] == '\0' || end[n + 1] == ',');
}

/* "OOM" where it is a word of a sentence: not the kernel's killer, nor a part of a name or of what
 * guards against it, nor "at the OOM", as our own reports head a column. */
static const char *short_word(const char *s)
{
    static const char *const after[] = {" kill",  " protect", " retr", " thresh", "-kill",
                                        " handl", " score",   " adj",  NULL},
                             *const endings[] = {"ing", "ed", "'d", "s", NULL};
    for (const char *p = s; (p = strstr(p, "oom")) != NULL; p += 3) {
        const char *end = p + 3;
        for (const char *const *e = endings; *e != NULL && end == p + 3; e++)
            end += strncmp(end, *e, strlen(*e)) == 0 ? strlen(*e) : 0;
        if ((p == s || (p[-1] & 0x80) != 0 || strchr(" ([]\"'`*,:", p[-1]) != NULL) &&
            ((*end & 0x80) != 0 || strchr(" .,!?)]\"'`*:;", *end) != NULL || is_pair(end)) &&
            !mt_log_begins(end, after) && (p - s < 7 || strncmp(p - 7, "at the ", 7) != 0))
            return p;
    }
    return NULL;
}

/* The error's own words, in small letters. */
static const char *const words[] = {"cuda out of memory",
                                    "cuda error: out of memory",
                                    "gpu out of memory",
                                    "out of gpu memory",
                                    "out of cuda memory",
                                    "outofmemoryerror",
                                    "cuda_error_out_of_memory",
                                    "cuda oom",
                                    "gpu oom",
                                    "out of vram",
                                    "hip out of memory",
                                    "rocm out of memory",
                                    "npu out of memory",
                                    "xpu out of memory",
                                    "mps backend out of memory",
                                    NULL};
/* A person's. The last four: the card's memory is too little, not enough, overflows, bursts. */
static const char
    *const said[] = {"runs out of memory",
                     "running out of memory",
                     "i run out of memory",
                     "we run out of memory",
                     "cuda memory error",
                     "gpu memory error",
                     "gpu memory overflow",
                     "gpu memory is full",
                     "not enough gpu memory",
                     "not enough cuda memory",
                     "not enough vram",
                     "insufficient gpu memory",
                     "insufficient vram",
                     "gpu memory exhausted",
                     "gpu memory is exhausted",
                     "exceeds the gpu memory",
                     "exceeds gpu memory",
                     "exceeds the vram",
                     "\xe6\x98\xbe\xe5\xad\x98\xe4\xb8\x8d\xe8\xb6\xb3",
                     "\xe6\x98\xbe\xe5\xad\x98\xe4\xb8\x8d\xe5\xa4\x9f",
                     "\xe6\x98\xbe\xe5\xad\x98\xe6\xba\xa2\xe5\x87\xba",
                     "\xe7\x88\x86\xe6\x98\xbe\xe5\xad\x98",
                     NULL},
           /* where no word of CUDA's, whose errors have words of their own, is near */
    *const plain[] = {"out of memory", "out-of-memory", NULL};
/* The host's memory, in words that leave no doubt. The last ones: by the killer, its kill, killed
 * by the system; it is too little, not enough, overflows, bursts. */
static const char *const of_host[] = {"host oom",
                                      "cpu oom",
                                      "ram oom",
                                      "host out of memory",
                                      "cpu out of memory",
                                      "out of host memory",
                                      "out of cpu memory",
                                      "out of system memory",
                                      "out of ram",
                                      "ray oom",
                                      "by the oom killer",
                                      "by oom killer",
                                      "by the oom-killer",
                                      "by oom-killer",
                                      "by the linux oom killer",
                                      "by the kernel's oom killer",
                                      "oom killer killed",
                                      "oom killer kills",
                                      "oom killed",
                                      "oom-killed",
                                      "oomkilled",
                                      "ray.exceptions.outofmemoryerror",
                                      "被 oom killer",
                                      "被oom killer",
                                      "被 oom-killer",
                                      "被 oom kill",
                                      "被系统 kill",
                                      "被系统kill",
                                      "被系统杀",
                                      "\xe5\x86\x85\xe5\xad\x98\xe4\xb8\x8d\xe8\xb6\xb3",
                                      "\xe5\x86\x85\xe5\xad\x98\xe4\xb8\x8d\xe5\xa4\x9f",
                                      "\xe5\x86\x85\xe5\xad\x98\xe6\xba\xa2\xe5\x87\xba",
                                      "\xe7\x88\x86\xe5\x86\x85\xe5\xad\x98",
                                      NULL};
/* Of those, Ray's own: its monitor looks at the host. */
static const char *const of_ray[] = {"ray oom", "ray.exceptions.outofmemoryerror", NULL};
/* The same by a name near the word that it ran out. The last two: memory of the host, the host. */
static const char *const hosts[] = {"host",
                                    "cpu mem",
                                    "cpu ram",
                                    "system mem",
                                    "system ram",
                                    "main memory",
                                    "ram usage",
                                    "ram is",
                                    "ram was",
                                    "ram fill",
                                    "\xe5\x86\x85\xe5\xad\x98",
                                    "\xe4\xb8\xbb\xe6\x9c\xba",
                                    NULL};
/* People say it of a card's memory as well. */
static const char *const rams[] = {" ram", "(ram", NULL};
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

/* The same that is no end of a longer name: "vram oom", "train_ray oom". */
static const char *first_word_of(const char *s, const char *const *list, size_t *n)
{
    const char *at = first_of(s, list, n);
    return at == NULL || at == s || !(mt_log_is_letter(at[-1]) || at[-1] == '_') ? at : NULL;
}

/* What the words are, and whose memory they are about. */
struct found {
    const char *at; /* NULL = there are none */
    size_t n;
    bool sure; /* the error's own words */
    bool is_host;
};

/* Bytes from the words to the nearest of the names; SIZE_MAX = none is within NEAR. */
static size_t nearest(const char *s, const struct found *f, const char *const *names)
{
    size_t least = SIZE_MAX;
    for (; *names != NULL; names++)
        for (const char *p = s; (p = strstr(p, *names)) != NULL; p++) {
            const char *end = p + strlen(*names), *after = f->at + f->n;
            size_t far = end <= f->at ? (size_t)(f->at - end)
                         : p >= after ? (size_t)(p - after)
                                      : 0;
            least = far <= NEAR && far < least ? far : least;
        }
    return least;
}

/* Of the names of the two memories the nearer one tells whose it was; the card's, where none is
 * near. "an OOM, the host's RAM was full on the GPU node" */
static bool is_hosts(const char *s, const struct found *f)
{
    static const char *const cards[] = {"cuda", "gpu", "vram", "\xe6\x98\xbe\xe5\xad\x98", NULL};
    size_t card = nearest(s, f, cards);
    return nearest(s, f, hosts) < card || (card == SIZE_MAX && nearest(s, f, rams) != SIZE_MAX);
}

/* asks: the text is short enough for a question; else only the error's own words count. */
static struct found find_words(const char *s, bool asks)
{
    struct found f = {.n = 0};
    f.at = asks ? first_word_of(s, of_host, &f.n) : NULL;
    f.is_host = f.at != NULL;
    if (f.at == NULL)
        f.sure = (f.at = first_of(s, words, &f.n)) != NULL;
    if (f.at != NULL || !asks)
        return f;
    if (first_of(s, disks, &f.n) != NULL)
        return f;
    f.at = first_of(s, said, &f.n);
    if (f.at == NULL) { /* "cuda ... out of memory" is an error's own form; CUDA graphs are not */
        const char *cuda = strstr(s, "cuda");
        f.at = first_of(s, plain, &f.n);
        f.at = cuda != NULL && cuda < f.at ? NULL : f.at;
    }
    if (f.at == NULL) {
        f.n = 3;
        f.at = short_word(s);
    }
    f.is_host = f.at != NULL && is_hosts(s, &f);
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

/* Somebody met it: "I keep getting OOM errors", where "errors" alone is a manual's word. */
static bool is_met(const char *s, const char *at)
{
    static const char *const verbs[] = {
        "get",      "got",          "hit",      "see",  "saw",   "encounter",
        "run into", "running into", "ran into", "fac",  "throw", "caus",
        "trigger",  "rais",         "report",   "fail", NULL};
    return before(s, at, verbs) != NULL;
}

/* A heading of Markdown in the first line of a text, or one of a section: no line of code. */
static char *behind_heading(char *s, bool is_first)
{
    size_t n = strspn(s, "#");
    return n != 0 && s[n] == ' ' && (is_first || n > 1) ? s + n + 1 : s;
}

/* What stands in contrast to what s names at `from`: behind "but" or "now", and in Chinese behind a
 * comma; NULL = nothing does. */
static char *contrast(char *from)
{
    static const char *const joins[] = {" but ", ", now ", "\xef\xbc\x8c", NULL};
    for (; *from != '\0'; from++)
        if (mt_log_begins(from, joins))
            return from + (*from == ' ' ? 1 : *from == ',' ? 2 : 3);
    return NULL;
}

/* The statement tells of a failure that happened. *w: its words. */
static bool states(char *s, bool asks, struct found *w)
{
    *w = find_words(s, asks);
    if (w->at == NULL)
        return false;
    if (memchr(w->at, ' ', w->n) != NULL) /* `CUDA out of memory` is a message that is quoted */
        for (char *p = s; (p = strchr(p, '`')) != NULL;)
            *p = ' ';
    return (!mt_log_is_code(s, w->at, w->n) || (asks && is_met(s, w->at))) &&
           !only_talked_of(s, w->at) && !is_over(w->at + w->n);
}

/* The sentence, or what it says in contrast: "it went away, but now ...". */
static bool tells(char *s, bool asks, struct found *w)
{
    for (; s != NULL; s = w->at != NULL ? contrast(s + (w->at - s)) : NULL)
        if (states(s, asks, w))
            return true;
    return false;
}

bool mt_log_tells_failure(char *sentence)
{
    struct found w = {.n = 0};
    return tells(sentence, true, &w) && strstr(sentence, "tried to allocate") == NULL;
}

/* The end of the sentence at s, behind what ends it. */
static char *sentence_end(char *s)
{
    for (; *s != '\0'; s++)
        if ((strchr(".!?;", *s) != NULL && s[1] == ' ') || strncmp(s, "\xe3\x80\x82", 3) == 0)
            return s + (*s == '\xe3' ? 3 : 1);
    return s;
}

/* What somebody quotes ("> ...") is another's words, but for an error that stands there alone. */
static bool is_quoted(const char *s, const struct found *w)
{
    int blanks = 0;
    for (const char *p = s; *p != '\0'; p++)
        blanks += *p == ' ';
    return *s == '>' && (!w->sure || blanks > 6);
}

/* One sentence of the line tells of a failure. */
static bool any_tells(char *s, bool asks, struct found *w)
{
    if (is_quoted(s, w))
        return false;
    for (char *end; *s != '\0'; s = end) {
        char kept;
        bool is;
        end = sentence_end(s);
        kept = *end;
        *end = '\0';
        is = tells(s, asks, w);
        *end = kept;
        if (is)
            return true;
    }
    return false;
}

/* People call a card's memory its RAM: "out of RAM" below a title about VRAM, or beside a card. */
static bool is_cards_ram(const struct mt_log *l, const char *s, const struct found *w)
{
    static const char *const cards[] = {"vram", "cuda", "gpu", " rtx", " gtx", "xtx", NULL},
                             *const own[] = {"cpu", "host", "system ram", "swap", NULL};
    char title[LONGEST + 1] = "";
    if (!w->is_host || strncmp(w->at, "out of ram", 10) != 0 || mt_log_has_one(s, own))
        return false;
    if (l->prose.n != 0)
        (void)lower(title, l->prose.p[0].text);
    return mt_log_has_one(s, cards) || strstr(title, "vram") != NULL;
}

int mt_log_bare(struct mt_log *l, uint64_t number, const char *line)
{
    char buffer[LONGEST + 1] = "", *s = buffer;
    struct mt_log_fact *f;
    bool whole, asks = number <= MT_LOG_SAID_LINES;
    struct found w = {.n = 0};
    if (lower(buffer, line) != 0) {
        s = behind_heading(buffer, l->prose.n == 1);
        w = find_words(s, asks);
    }
    if (w.at == NULL || is_report(l) || strstr(s, "java") != NULL ||
        strstr(s, "heap space") != NULL ||
        (!w.sure && (strstr(line, "INFO") != NULL || strstr(line, "DEBUG") != NULL)))
        return 0;
    whole = w.sure && s == buffer &&
            is_whole(s, w.at, w.at + w.n, l->prose.n == 1); /* a title is a person's */
    if (!whole && !any_tells(s, asks, &w))
        return 0;
    if (!whole && number > MT_LOG_SAID_LINES)
        return 1; /* no question is as long, and such lines would leave no room for others */
    w.is_host = w.is_host && !is_cards_ram(l, s, &w);
    /* the traceback is left to a line that is sure */
    f = whole ? mt_log_add(l, MT_LOG_TORCH_OOM, number, line)
              : mt_log_blank(l, w.is_host ? MT_LOG_HOST_OOM : MT_LOG_TORCH_OOM, number);
    if (f != NULL && !whole && w.is_host && mt_log_begins(w.at, of_ray))
        f->platform = 'R';
    if (f != NULL)
        mt_log_keep_text(f, whole ? "bare" : "talk", 4);
    return 1;
}
