/* torch_notes.c -- why a process of a capture has no snapshot, or not the one that was wanted: from
 * the lines that the recorder's hook for PyTorch left in mt-<host>-<pid>-<uid>-torch.txt
 * (capture/site/_memtrace_hook.py: "<seconds> <what> failed: <traceback, lines joined by | >"). */
#include "analysis/run/quality_impl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NOTES = 24, NOTE_TEXT = 700 };

static const struct told {
    /* how the line begins; what is said, the reason behind it where there is one */
    const char *line, *words;
} told[] = {
    {"recording failed: ",
     "PyTorch's memory history was not recorded, so there is no snapshot of it"},
    {"hooking torch.cuda failed: ",
     "PyTorch's memory history was not recorded, so there is no snapshot of it"},
    {"dump oom", "the snapshot of the moment when memory ran out could not be taken"},
    {"dump exit failed: ", "the snapshot at its end could not be taken"},
    {"dump usr", "a snapshot that SIGUSR2 asked for could not be taken"},
    {"dump own failed: ",
     "what was recorded before the program's own history began could not be saved"},
    {"out of memory observer failed: ", "no snapshot is taken when its memory runs out"},
    {"this torch has no out of memory observer",
     "no snapshot is taken when its memory runs out: this PyTorch cannot tell of it"},
    {"exit handler failed: ", "no snapshot is taken at its end"},
    {"the program records its own memory history",
     "it records PyTorch's memory history itself, so none was taken at its end; "
     "give the report the snapshot that it writes, too"},
};

struct note {
    char text[NOTE_TEXT];
    /* the first process that said it, and the latest: each has its lines in a row */
    char who[MT_WHO], last[MT_WHO];
    uint32_t more; /* processes that said the same */
};

struct notes {
    struct note p[MAX_NOTES];
    unsigned n;
};

/* "OSError: [Errno 28] ...", "KeyboardInterrupt": neither a frame, which is indented, nor the
 * second half of code with a | in it. */
static bool names_exception(const char *s, const char *end)
{
    const char *c = s;
    while (c < end && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                       (*c >= '0' && *c <= '9') || *c == '_' || *c == '.'))
        c++;
    return c != s && (c == end || *c == ':');
}

/* The exception behind the last frame, by the first line of its message: CUDA's end in advice that
 * is the same for all of them. */
static const char *reason(const char *s, const char *eol, size_t *len)
{
    static const char lead[] = " failed: ", bar[] = " | ", frame[] = "  File \"";
    const size_t n_lead = sizeof lead - 1, n_bar = sizeof bar - 1, n_frame = sizeof frame - 1;
    const char *at = NULL, *line = NULL, *found = NULL;
    *len = 0;
    for (const char *c = s; line == NULL && (size_t)(eol - c) >= n_lead; c++)
        if (memcmp(c, lead, n_lead) == 0)
            line = c + n_lead;
    while (line != NULL) {
        const char *end = line;
        while ((size_t)(eol - end) >= n_bar && memcmp(end, bar, n_bar) != 0)
            end++;
        if ((size_t)(eol - end) < n_bar)
            end = eol;
        if ((size_t)(end - line) >= n_frame && memcmp(line, frame, n_frame) == 0)
            found = NULL;
        else if (found == NULL && names_exception(line, end)) {
            found = line;
            *len = (size_t)(end - line);
        }
        at = line;
        line = end != eol ? end + n_bar : NULL;
    }
    if (found == NULL && at != NULL)
        *len = (size_t)(eol - at);
    return found != NULL ? found : at;
}

static bool in_words(char out[NOTE_TEXT], const char *s, const char *eol)
{
    size_t n = (size_t)(eol - s), len;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        size_t head = strlen(told[i].line);
        const char *why;
        if (n < head || memcmp(s, told[i].line, head) != 0)
            continue;
        why = reason(s, eol, &len);
        (void)snprintf(out, NOTE_TEXT, "%s%s%.*s", told[i].words, len != 0 ? ": " : "",
                       (int)(len < 300 ? len : 300), why != NULL ? why : "");
        return true;
    }
    return false;
}

static void add(struct notes *all, const char *text, const char *who)
{
    for (unsigned i = 0; i < all->n; i++)
        if (strcmp(all->p[i].text, text) == 0) {
            all->p[i].more += strcmp(all->p[i].last, who) != 0;
            (void)snprintf(all->p[i].last, MT_WHO, "%s", who);
            return;
        }
    if (all->n == MAX_NOTES)
        return;
    (void)snprintf(all->p[all->n].text, NOTE_TEXT, "%s", text);
    (void)snprintf(all->p[all->n].who, MT_WHO, "%s", who);
    (void)snprintf(all->p[all->n].last, MT_WHO, "%s", who);
    all->p[all->n++].more = 0;
}

static void read_text(struct notes *all, const char *s, const char *end, const char *who)
{
    char text[NOTE_TEXT];
    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s)), *from;
        if (eol == NULL)
            eol = end;
        from = memchr(s, ' ', (size_t)(eol - s)); /* behind the time */
        if (from != NULL && in_words(text, from + 1, eol))
            add(all, text, who);
        s = eol + 1;
    }
}

void mt_caveats_of_torch(struct mt_caveats *c, const struct mt_driverdiag *j)
{
    struct notes all = {.n = 0};
    for (uint32_t d = 0; d < j->drivers.n; d++) {
        const struct mt_trace *t = j->drivers.p[d];
        const struct mt_driver *v = t->driver;
        for (uint32_t i = 0; i < v->attachments.n; i++) {
            const struct mt_attachment *a = &v->attachments.p[i];
            const char *name = mt_str(t, a->name), *text = mt_str(t, a->text);
            size_t len = mt_str_len(t, a->name);
            char who[MT_WHO];
            uint32_t p = 0;
            if (a->text == 0 || len < 10 || strcmp(name + len - 10, "-torch.txt") != 0)
                continue;
            while (p < v->processes.n && (a->uid == 0 || v->processes.p[p].uid != a->uid))
                p++;
            if (p < v->processes.n)
                (void)mt_driver_who(who, j, d, p);
            else
                (void)snprintf(who, sizeof who, "%.*s", (int)(len - 10 < 200 ? len - 10 : 200),
                               name);
            read_text(&all, text, text + mt_str_len(t, a->text), who);
        }
    }
    for (unsigned i = 0; i < all.n; i++) {
        if (all.p[i].more != 0)
            mt_caveat_add(c, "%s, and %u more: %s.", all.p[i].who, (unsigned)all.p[i].more,
                          all.p[i].text);
        else
            mt_caveat_add(c, "%s: %s.", all.p[i].who, all.p[i].text);
    }
}
