/* log/grows.c -- a text in which nothing failed yet: somebody says that memory keeps growing. */
#include "parser/log/match.h"

#include <string.h>

enum { LONGEST = 1000 };

/* The last ones: keeps rising, goes up all the time, adds up, more and more, bit by bit; leaks. */
static const char *const grows[] = {"keeps growing",
                                    "keep growing",
                                    "keeps increasing",
                                    "keep increasing",
                                    "keeps rising",
                                    "keeps climbing",
                                    "continuously increas",
                                    "continuously grow",
                                    "continuously ris",
                                    "continues to grow",
                                    "continues to increase",
                                    "constantly increas",
                                    "constantly grow",
                                    "steadily increas",
                                    "steadily grow",
                                    "gradually increas",
                                    "gradually grow",
                                    "slowly increas",
                                    "slowly grow",
                                    "increases with each",
                                    "increases with every",
                                    "increases each",
                                    "increases every",
                                    "increases over time",
                                    "increasing over time",
                                    "grows with each",
                                    "grows with every",
                                    "grows each",
                                    "grows every",
                                    "grows over time",
                                    "growing over time",
                                    "grows after each",
                                    "increases after each",
                                    "\xe4\xb8\x80\xe7\x9b\xb4\xe5\x9c\xa8\xe6\xb6\xa8",
                                    "\xe4\xb8\x80\xe7\x9b\xb4\xe6\xb6\xa8",
                                    "\xe4\xb8\x8d\xe6\x96\xad\xe5\xa2\x9e",
                                    "\xe4\xb8\x8d\xe6\x96\xad\xe4\xb8\x8a",
                                    "\xe6\x8c\x81\xe7\xbb\xad\xe5\xa2\x9e",
                                    "\xe6\x8c\x81\xe7\xbb\xad\xe4\xb8\x8a",
                                    "\xe8\xb6\x8a\xe6\x9d\xa5\xe8\xb6\x8a",
                                    "\xe9\x80\x90\xe6\xb8\x90\xe5\xa2\x9e",
                                    NULL};
static const char *const leaks[] = {"memory leak",
                                    "leaks memory",
                                    "leaking memory",
                                    "\xe6\xb3\x84\xe6\xbc\x8f",
                                    "\xe6\xb3\x84\xe9\x9c\xb2",
                                    NULL};
/* The last two: a card's memory, memory. */
static const char *const memories[] = {
    "memory", "vram", " ram ", " rss ", "\xe6\x98\xbe\xe5\xad\x98", "\xe5\x86\x85\xe5\xad\x98",
    NULL};
static const char *const cards[] = {"gpu", "cuda", "vram", "nvidia-smi", "\xe6\x98\xbe\xe5\xad\x98",
                                    NULL},
                         *const hosts[] = {"host mem",   "cpu mem",
                                           "system mem", "system ram",
                                           " cpu ram",   " ram ",
                                           " rss ",      "main memory",
                                           "host's mem", "\xe5\x86\x85\xe5\xad\x98",
                                           NULL};
/* It is over, is a change's title, or is denied. */
static const char *const overs[] = {"fix",     "resolve", "solved",  "no memory leak",    "no leak",
                                    "without", "avoid",   "prevent", "not a memory leak", NULL};
/* What a job does, where a title does not say it all. */
static const char *const jobs[] = {"train",   "step",         "epoch",  "iteration", "infer",
                                   "rollout", "each ",        "every ", " i ",       " my ",
                                   " we ",    "\xe8\xae\xad", NULL};

/* s: one sentence in small letters, with blanks around it. */
static bool says_growth(const char *s, bool is_title)
{
    bool is = mt_log_has_one(s, leaks) || (mt_log_has_one(s, grows) && mt_log_has_one(s, memories));
    return is && !mt_log_has_one(s, overs) && (is_title || mt_log_has_one(s, jobs));
}

/* The first sentence of the line that says so; whose: 'h' = the host's memory. */
static bool line_grows(const char *line, bool is_title, char *whose)
{
    char s[LONGEST + 3];
    while (*line != '\0') {
        size_t n = 0, k = 1;
        while (line[n] != '\0' && !(strchr(".!?;", line[n]) != NULL && line[n + 1] == ' '))
            n++;
        s[0] = ' ';
        for (; k <= n && k <= LONGEST; k++)
            s[k] =
                (char)(line[k - 1] >= 'A' && line[k - 1] <= 'Z' ? line[k - 1] | 32 : line[k - 1]);
        s[k++] = ' ';
        s[k] = '\0';
        if (says_growth(s, is_title)) {
            *whose = mt_log_has_one(s, hosts) && !mt_log_has_one(s, cards) ? 'h' : 'g';
            return true;
        }
        line += n + (line[n] != '\0');
    }
    return false;
}

void mt_log_grows_end(struct mt_log *l)
{
    if (l->n_lines > MT_LOG_SAID_LINES || mt_log_fails(l))
        return;
    for (uint32_t i = 0; i < l->prose.n; i++) {
        const char *s = l->prose.p[i].text;
        char whose;
        struct mt_log_fact *f;
        if (*s == '>' || !line_grows(s + strspn(s, "# "), i == 0, &whose))
            continue;
        f = mt_log_blank(l, whose == 'h' ? MT_LOG_HOST_OOM : MT_LOG_TORCH_OOM, l->prose.p[i].line);
        if (f != NULL) {
            mt_log_keep_text(f, "talk", 4);
            f->platform = MT_LOG_GROWS;
        }
        return;
    }
}
