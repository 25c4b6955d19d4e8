/* log_read.c -- a log as lines. Nearly all of them are passed over after one look at their four-byte pieces. */
#include "parser/log_match.h"

#include <string.h>

enum { AHEAD = 4 }; /* lines held: the one looked at and three more */

/* One of these four bytes stands in every line that has something to say; chosen so that few others have one. */
static const char *const anchors[] = {
    "ried", "iled", "Cuda", "CUDA", "CUBL", "emor", "Mode",
    "mode", "KV c", "KV C", "KV s", "bloc", "Slee", "raph",
    "Expa", "kill", "Kill", "std:", "Cann", "exit", "SIGK",
    "can'", "Load", "was ", "File", "Trac", "ray:", "CUre",
    "daEr", "hipE", "q le", "GB /", "OOMK", "pin_", "\xe5\xb7\xb2\xe6", /* "killed" of a Chinese shell */
    "erl/", "eal/", "ime/", "lax/", "lhf/", "trl/", "_rl/",             /* of a framework's files */
};
#define HASH_BITS 12u

struct window {
    char *line[AHEAD];
    uint64_t number[AHEAD];
    size_t n;
    char *joined;
    bool ends_in_cr;  /* the last line did: a newline right behind it belongs to it */
    bool next_is_new; /* the last one ended in a newline: the next has a number of its own */
    uint64_t filter[(1u << HASH_BITS) / 64];
};

static unsigned hash4(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return (v * 2654435761u) >> (32 - HASH_BITS);
}

static int window_init(struct window *w)
{
    memset(w, 0, sizeof *w);
    w->next_is_new = true;
    w->joined = mt_malloc(AHEAD * (size_t)MT_LOG_LINE + AHEAD);
    for (int i = 0; i < AHEAD; i++)
        w->line[i] = mt_malloc(MT_LOG_LINE + 1);
    for (int i = 0; i < AHEAD; i++)
        if (w->line[i] == NULL)
            return 0;
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++)
        w->filter[hash4(anchors[i]) / 64] |= UINT64_C(1) << hash4(anchors[i]) % 64;
    return w->joined != NULL;
}

static void window_done(struct window *w)
{
    mt_free(w->joined);
    for (int i = 0; i < AHEAD; i++)
        mt_free(w->line[i]);
}

static bool is_interesting(const struct window *w, const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i + 4 <= n; i++) {
        unsigned h = hash4(s + i);
        if ((w->filter[h / 64] >> h % 64 & 1) != 0)
            return true;
    }
    return false;
}

/* The lines from the first on, up to the next one that begins a failure of its own. A prefix "(Worker pid=9)" that they share stays once. */
static void join(struct window *w)
{
    const char *first = w->line[0], *end = *first == '(' ? strchr(first, ')') : *first == '[' ? strchr(first, ']') : NULL;
    size_t at = 0, prefix = end != NULL ? (size_t)(end + 1 - first) : 0;
    for (size_t i = 0; i < w->n; i++) {
        const char *line = w->line[i] + (i != 0 && strncmp(w->line[i], first, prefix) == 0 ? prefix : 0);
        size_t n = strlen(line);
        if (i != 0 && strstr(w->line[i], "ried to allocate") != NULL)
            break;
        if (i != 0)
            w->joined[at++] = ' ';
        memcpy(w->joined + at, line, n);
        at += n;
    }
    w->joined[at] = '\0';
}

/* Long sentences that are pasted in pieces. */
static bool may_be_wrapped(const char *s)
{
    return strstr(s, "ried to allocate") != NULL || strstr(s, "Error in memory profiling") != NULL ||
           strstr(s, "Free memory on device") != NULL || strstr(s, "max seq len") != NULL;
}

static int look(struct mt_log *l, struct window *w)
{
    char *first = w->line[0];
    int rc = 0;
    if (is_interesting(w, first)) {
        const char *joined = first;
        if (may_be_wrapped(first)) {
            join(w);
            joined = w->joined;
        }
        rc = mt_log_line(l, w->number[0], first, joined);
    }
    memmove(&w->line[0], &w->line[1], (AHEAD - 1) * sizeof w->line[0]);
    memmove(&w->number[0], &w->number[1], (AHEAD - 1) * sizeof w->number[0]);
    w->line[AHEAD - 1] = first;
    w->n--;
    return rc >= 0;
}

/* Position of the first '\n' or '\r' in [p, p + n), or n. */
static size_t line_end(const unsigned char *p, size_t n)
{
    const unsigned char *nl = memchr(p, '\n', n);
    size_t k = nl != NULL ? (size_t)(nl - p) : n;
    const unsigned char *cr = memchr(p, '\r', k);
    return cr != NULL ? (size_t)(cr - p) : k;
}

static void copy(char *out, const unsigned char *p, size_t n)
{
    memcpy(out, p, n);
    for (char *z = out; (z = memchr(z, '\0', n - (size_t)(z - out))) != NULL; z++)
        *z = ' ';
}

/* Takes out what colours a terminal: ESC [ ... letter. Length of what is left. */
static size_t plain(char *s, size_t n)
{
    char *esc = memchr(s, 0x1b, n);
    size_t k = esc != NULL ? (size_t)(esc - s) : n;
    for (size_t i = k; i < n; i++) {
        if (s[i] != 0x1b || i + 1 == n || s[i + 1] != '[') {
            s[k++] = s[i];
            continue;
        }
        for (i += 2; i < n && (s[i] < '@' || s[i] > '~');)
            i++;
    }
    return k;
}

/* Copies one line of the source into the window; 0 at the end. What is longer than a line may be is cut off. NUL bytes become blanks. */
static int take_line(struct mt_log *l, struct mt_source *src, struct window *w)
{
    char *out = w->line[w->n];
    size_t n = 0, have;
    bool cut = false, any = false, ended = false;
    if (w->ends_in_cr && mt_source_need(src, 1) > 0 && *src->cur == '\n') {
        src->cur++;
        l->n_bytes++;
        w->next_is_new = true;
    }
    w->ends_in_cr = false;
    while (!ended && (have = mt_source_need(src, 1)) > 0) {
        size_t part = line_end(src->cur, have), room = MT_LOG_LINE - n, take = part < room ? part : room;
        copy(out + n, src->cur, take);
        n += take;
        cut |= take < part;
        ended = part < have;
        l->n_lines += w->next_is_new;
        w->next_is_new = ended && src->cur[part] == '\n';
        w->ends_in_cr = ended && src->cur[part] == '\r';
        any = true;
        src->cur += part + ended;
        l->n_bytes += part + ended;
    }
    n = plain(out, n);
    out[n] = '\0';
    w->number[w->n] = l->n_lines;
    l->n_long += cut;
    return any;
}

enum mt_rc mt_log_read(struct mt_log *out, struct mt_source *src, struct mt_err *err)
{
    struct window w;
    enum mt_rc rc = MT_OK;
    bool go_on = true;
    memset(out, 0, sizeof *out);
    if (!window_init(&w)) {
        out->no_memory = true;
        go_on = false;
    }
    while (go_on && take_line(out, src, &w))
        if (++w.n == AHEAD)
            go_on = look(out, &w);
    while (go_on && w.n > 0)
        go_on = look(out, &w);
    window_done(&w);
    if (out->no_memory)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (src->status != MT_OK) {
        out->truncated = true;
        if (err != NULL)
            *err = src->err;
        rc = MT_WARN;
    }
    return rc;
}

void mt_log_done(struct mt_log *l)
{
    MT_VEC_DONE(&l->facts);
    MT_VEC_DONE(&l->paths);
    mt_log_stacks_done(l);
}
