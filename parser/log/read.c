/* log/read.c -- splits a log into lines. A filter over four-byte pieces skips nearly all of them.
 */
#include "parser/log/match.h"

#include <stdio.h>
#include <string.h>

enum { AFTER_FRAME = 4 }; /* lines behind a frame that may be code of it, or of one that is cut */
enum { AHEAD = 10 };      /* lines in the window: the current one and those that may continue it */

/* Every line that states a fact holds one of these four-byte pieces; few other lines do. */
static const char *const anchors[] = {
    "ried",  "iled",  "ror:",  "Cuda",
    "CUDA",  "CUBL",  "emor",  "Mode",
    "mode",  "KV c",  "KV C",  "KV s",
    "bloc",  "Slee",  "raph",  "xpan",
    "kill",  "Kill",  "std:",  "Cann",
    "exit",  "SIGK",  "can'",  "Load",
    "was ",  "File",  "Trac",  "ray:",
    "CUre",  "daEr",  "hipE",  "q le",
    "GB /",  "CUDN",  "LAS_",  "pagi",
    "to w",  "py i",  "#) i",  "RESU",
    "EL00",  "OOMK",  "pin_",  "\xe5\xb7\xb2\xe6", /* "killed" of a Chinese shell */
    "rtMa",  "NVML",  "_NO_",  "\xe2\x94\x82 ",    /* the side of a box */
    "reso",  ": in",                               /* of pytest's frames */
    "xit ",  " RAM",  "/shm",  "WinE",
    "oom-",  "LM e",  "M AP",          /* "LLM engine", "vLLM API server": which version */
    "aarc",  "x86_",  "MEM(",  "OOM:", /* the machine, Ray's table, an observer's stack */
    "sqrt",  "sort",  "duct",  "Alig", /* lines of code that say where they are, FlashInfer */
    "iB |",  "iB /",  ".0 O",  "MemS", /* the tables of nvidia-smi and npu-smi */
    "VRAM",  "\"car", "HBM(",  ",NPU", /* and of torch_npu's profiler */
    "s.al",  "_oom",  "_ret",          /* rocm-smi's, keys of memory_stats() */
    "hon ",  "hon3",  "chru",  "m se", /* commands, overrides, arguments that programs print */
    "laun",  "-cli",  "rlhf",  " sft",
    "srun",  "bash",  "ohup",  "rrid",
    "olot",  "tune",  "n-de",  "mesp",
    "rArg",  "....",  " `--",  "  --",
    "- --",  "(bs=",  "ckwa",  "zer.",
    "s_en",  "ate(",  "oftm",  "om_p",
    "h.lo",  "t_di",                   /* more of them */
    "--> ",  "-> 1",  "-> 2",  "-> 3", /* a notebook's arrows */
    "-> 4",  "-> 5",  "-> 6",  "-> 7",
    "-> 8",  "-> 9",  "ll I",  "ut I", /* and its cells */
    "<ipy",  ".py ",  "d = /",         /* scripts that are started */
    "h ve",  "rch:",  "rch-",  "rch=", /* "PyTorch version", "PyTorch: ", "torch-", "torch==" ... */
    "ch  ",  "m_al",  "s_al",  "k_me", /* keys of memray's statistics */
    "nd_l",  "\"loc", "\"siz", "\"cou",
    "\"pid", "MEMO",  " oom",  " OOM",
    "vram",                            /* of no other word */
    "((==",                            /* Unsloth's banner */
    "tup ",  "fire",  "POST",  "corn", /* an engine that serves */
    "avin",  "aved",  "erm_",  "TERM", /* checkpoints, kills by schedulers */
    " job",  "sign",  "_pro",  "Map:",
    "nizi",  "_ada", /* what holds the host's memory: log/hints.c */
    "ZeRO",  "resu",  "esum",  "PUAd",
    "er #",  "pill",  "ut()",  "lloc", /* llama.cpp: log/ggml.c */
    "ELLE",  "neEx",                   /* jobs that a scheduler stops */
    "slow",  "wen_",  "wen-",  "_mod", /* images among the data */
    "ixel",  "g tr",  "'los",  "m lo", /* that steps are taken */
    ".py:",  ", in",                   /* what is left of frames: log/frames.c */
    "p_sq",  "_dot",  "F.co",  "F.li", /* code without its frame */
    "n.ma",  "h.ca",  "h.bm",  "_nn.",
    "_avg",  "ltin",  "ts.f",  "ts.t",
    "lm_h",  "ll_l",  "_fct",  "s_fn",
    "mul(",  "ner(",  "te_d",  "h.sa",
    "_ten",  "mome",  "s).l",  "h).l",
    "_lik",  "ate[",  "cdiv",  "cmul",
    "ss_n",  "pid:",  "r ra", /* Ray's rows about an actor */
};
/* The same of sentences in Chinese: the card's memory, room. */
static const char *const chinese[] = {"\xe6\x98\xbe\xe5", "\xe7\xa9\xba\xe9"};
#define HASH_BITS                                                                                  \
    16u /* 8 KiB; the anchors are few enough that other text hardly ever has a bit of theirs */

struct window {
    char *line[AHEAD];
    uint64_t number[AHEAD];
    size_t n;
    char *joined, *glued;
    char *rest; /* lines that one object of a logger holds, behind the one that was taken */
    size_t rest_at, rest_n;
    char who[128]; /* what names the writer before that object: "(Worker pid=9) " */
    size_t n_who;
    bool ends_in_cr;  /* the last line did: a newline right behind it belongs to it */
    bool next_is_new; /* the last one ended in a newline: the next has a number of its own */
    uint64_t filter[(1u << HASH_BITS) / 64];
    uint32_t anchor[sizeof anchors / sizeof *anchors + sizeof chinese / sizeof *chinese +
                    MT_LOG_MAX_PACKAGES + MT_LOG_MAX_STEPS],
        n_anchors;
};

static uint32_t word4(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static unsigned hash4(uint32_t v) { return (v * 2654435761u) >> (32 - HASH_BITS); }

static void add_anchor(struct window *w, const char *four)
{
    uint32_t v = word4(four);
    w->anchor[w->n_anchors++] = v;
    w->filter[hash4(v) / 64] |= UINT64_C(1) << hash4(v) % 64;
}

/* Four bytes that every file of the package has in its path. Its end is rarer in other text than
 * its beginning ("verl" is in "overlap"), and so is what stands around an underscore. */
static void add_package(struct window *w, const char *name)
{
    char path[64];
    int n = snprintf(path, sizeof path, "%s/", name);
    const char *line = strchr(path, '_');
    if (n < 4 || n >= (int)sizeof path)
        return;
    add_anchor(w,
               line != NULL && line - path >= 2 && line < path + n - 4 ? line - 2 : path + n - 4);
}

/* The last four bytes of the longest part of the pattern without a hole or a blank. */
static void add_step(struct window *w, const char *pattern)
{
    const char *best = NULL;
    size_t most = 3, n;
    for (const char *p = pattern; *p != '\0'; p += n) {
        if (*p == '%' && p[1] != '\0') {
            n = 2;
            continue;
        }
        n = *p == ' ' || *p == '%' ? 1 : strcspn(p, " %");
        if (n > most) {
            best = p + n - 4;
            most = n;
        }
    }
    if (best != NULL)
        add_anchor(w, best);
}

static int window_init(struct window *w, const char *const *packages, const char *const *steps)
{
    memset(w, 0, sizeof *w);
    w->next_is_new = true;
    w->joined = mt_malloc(AHEAD * (size_t)MT_LOG_LINE + AHEAD);
    w->glued = mt_malloc(AHEAD * (size_t)MT_LOG_LINE + AHEAD);
    w->rest = mt_malloc(MT_LOG_LINE + 1);
    for (int i = 0; i < AHEAD; i++)
        w->line[i] = mt_malloc(MT_LOG_LINE + 1);
    for (int i = 0; i < AHEAD; i++)
        if (w->line[i] == NULL)
            return 0;
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++)
        add_anchor(w, anchors[i]);
    for (size_t i = 0; i < sizeof chinese / sizeof *chinese; i++)
        add_anchor(w, chinese[i]);
    for (uint32_t i = 0; packages != NULL && packages[i] != NULL && i < MT_LOG_MAX_PACKAGES; i++)
        add_package(w, packages[i]);
    for (uint32_t i = 0; steps != NULL && steps[i] != NULL && i < MT_LOG_MAX_STEPS; i++)
        add_step(w, steps[i]);
    return w->joined != NULL && w->glued != NULL && w->rest != NULL;
}

static void window_done(struct window *w)
{
    mt_free(w->joined);
    mt_free(w->glued);
    mt_free(w->rest);
    for (int i = 0; i < AHEAD; i++)
        mt_free(w->line[i]);
}

static bool is_anchor(const struct window *w, uint32_t v)
{
    for (uint32_t i = 0; i < w->n_anchors; i++)
        if (w->anchor[i] == v)
            return true;
    return false;
}

static bool is_interesting(const struct window *w, const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i + 4 <= n; i++) {
        uint32_t v = word4(s + i);
        unsigned h = hash4(v);
        if ((w->filter[h / 64] >> h % 64 & 1) != 0 && is_anchor(w, v))
            return true;
    }
    return false;
}

/* Bytes of a prefix "(Worker pid=9)" or "[rank0]", brackets inside included. */
static size_t prefix_of(const char *s)
{
    int depth = 0;
    if (*s != '(' && *s != '[')
        return 0;
    for (size_t i = 0; i < 256 && s[i] != '\0'; i++) {
        depth += (s[i] == '(' || s[i] == '[') - (s[i] == ')' || s[i] == ']');
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

/* Bytes that a container's or a mail's prefix takes on both lines: "trainer-1  | ", "> ", "...
 * stderr F ". */
static size_t shared(const char *a, const char *b)
{
    static const char *const ends[] = {"| ", "> ", " F ", "]: "};
    size_t n = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && n == 0; i++) {
        const char *at = strstr(a, ends[i]);
        size_t k = at != NULL ? (size_t)(at - a) + strlen(ends[i]) : 0;
        n = k <= 96 && strncmp(a, b, k) == 0 ? k : 0;
    }
    return n;
}

/* The lines from the first on, up to the next one that begins a failure of its own, parted by
 * blanks and not parted. A prefix that they share stays once. */
static void join(struct window *w)
{
    const char *first = w->line[0];
    size_t at = 0, glue = 0, prefix = prefix_of(first);
    bool asked = strstr(first, "ried to allocate") != NULL;
    if (prefix == 0 && w->n > 1)
        prefix = shared(first, w->line[1]);
    for (size_t i = 0; i < w->n; i++) {
        const char *line =
            w->line[i] + (i != 0 && strncmp(w->line[i], first, prefix) == 0 ? prefix : 0);
        size_t n = strlen(line);
        if (i != 0 && strstr(line, "ried to allocate") != NULL) {
            if (asked)
                break;
            asked = true;
        }
        if (i != 0 && (strstr(line, "File \"") != NULL || strstr(line, "Traceback (") != NULL))
            break;
        if (i != 0)
            w->joined[at++] = ' ';
        memcpy(w->joined + at, line, n);
        memcpy(w->glued + glue, line, n);
        at += n;
        glue += n;
        if (strstr(line, "unallocated") != NULL)
            break;
    }
    w->joined[at] = w->glued[glue] = '\0';
}

/* Long sentences that are pasted in pieces, frames that a terminal cut. */
static bool may_be_wrapped(const struct window *w)
{
    const char *s = w->line[0], *frame = strstr(s, "File \"");
    if (frame != NULL)
        return strstr(frame, ", in ") == NULL;
    if (strstr(s, "\xe2\x94\x82 ") != NULL && strstr(s, ".py:") != NULL)
        return true; /* a box may be too narrow for the name */
    return strstr(s, "ried to allocate") != NULL ||
           strstr(s, "Error in memory profiling") != NULL ||
           strstr(s, "Free memory on device") != NULL || strstr(s, "max seq len") != NULL ||
           strstr(s, "Try to lower your batch size") != NULL || mt_log_async(s) != NULL ||
           strstr(s, "emory on the node") != NULL || strstr(s, "Worker exit type") != NULL ||
           mt_log_breaks_off(s) ||
           (w->n > 1 && strstr(s, "out of memory.") != NULL &&
            strstr(w->line[1], "ried to allocate") != NULL);
}

/* Around a failure of a text that somebody wrote: its place may stand there in any form. */
static bool is_around(const struct mt_log *l, const struct window *w)
{
    enum { ABOVE = 2, BELOW = 4, LISTED = 24 };
    const struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    if (w->number[0] > MT_LOG_SAID_LINES ||
        (l->frame_line != 0 && w->number[0] - l->frame_line <= LISTED))
        return false; /* a traceback lists the code around its own line */
    for (size_t i = 1; i <= ABOVE && i < w->n; i++)
        if (strstr(w->line[i], "ried to al") != NULL)
            return true;
    return f != NULL && mt_log_has_stack(f->kind) && !mt_log_is_talk(f) &&
           w->number[0] - f->line <= BELOW;
}

static int look(struct mt_log *l, struct window *w)
{
    char *first = w->line[0];
    int rc = 0;
    mt_log_clock_line(l, first);
    mt_log_prose_line(l, w->number[0], first);
    if (l->table != 0 || l->columns.form != 0 ||
        (l->frame_line != 0 && w->number[0] <= l->frame_line + AFTER_FRAME) ||
        (l->command_line != 0 && w->number[0] == l->command_line + 1) ||
        (l->code_line != 0 && w->number[0] == l->code_line + 1) || is_interesting(w, first) ||
        mt_log_may_say(w->number[0], first) || mt_log_may_start(w->number[0], first) ||
        mt_log_may_set(w->number[0], first) || is_around(l, w)) {
        bool wrapped = may_be_wrapped(w);
        if (wrapped)
            join(w);
        rc = mt_log_line(l, w->number[0], first, wrapped ? w->joined : first,
                         wrapped ? w->glued : first);
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

/* Removes the escape sequences of a terminal's colours (ESC [ ... letter) in place. Returns the new
 * length. */
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

/* The first of the lines in out stays there, the others wait; `before` bytes stand in front of the
 * object that holds them. */
static size_t split(struct window *w, char *out, size_t n, size_t before)
{
    char *nl = memchr(out, '\n', n);
    size_t first = nl != NULL ? (size_t)(nl - out) : n;
    w->rest_at = w->n_who = 0;
    w->rest_n = nl != NULL ? n - first - 1 : 0;
    if (nl != NULL)
        memmove(w->rest, nl + 1, w->rest_n);
    n = plain(out, first);
    if (w->rest_n != 0 && before < sizeof w->who && before < n) {
        memcpy(w->who, out, before);
        w->who[before] = '\0';
        struct mt_log_writer who = mt_log_writer(w->who, NULL);
        w->n_who = who.pid >= 0 || who.rank >= 0 ? before : 0;
    }
    return n;
}

/* The next of those that wait, with the number of the line that held them. */
static void take_rest(struct mt_log *l, struct window *w)
{
    char *out = w->line[w->n];
    const char *from = w->rest + w->rest_at, *nl = memchr(from, '\n', w->rest_n - w->rest_at);
    size_t n = nl != NULL ? (size_t)(nl - from) : w->rest_n - w->rest_at;
    w->rest_at += n + (nl != NULL);
    if (n > MT_LOG_LINE - w->n_who)
        n = MT_LOG_LINE - w->n_who;
    memcpy(out, w->who, w->n_who);
    copy(out + w->n_who, (const unsigned char *)from, n);
    n += w->n_who;
    out[plain(out, n)] = '\0';
    w->number[w->n] = l->n_lines;
}

/* Copies one line of the source into the window; 0 at the end. Bytes beyond MT_LOG_LINE are
 * dropped, NUL bytes become blanks. */
static int take_line(struct mt_log *l, struct mt_source *src, struct window *w)
{
    char *out = w->line[w->n];
    size_t n = 0, have, before;
    bool cut = false, any = false, ended = false;
    if (w->rest_at < w->rest_n) {
        take_rest(l, w);
        return 1;
    }
    if (w->ends_in_cr && mt_source_need(src, 1) > 0 && *src->cur == '\n') {
        src->cur++;
        l->n_bytes++;
        w->next_is_new = true;
    }
    w->ends_in_cr = false;
    while (!ended && (have = mt_source_need(src, 1)) > 0) {
        size_t part = line_end(src->cur, have), room = MT_LOG_LINE - n,
               take = part < room ? part : room;
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
    if (memchr(out, '\\', n) != NULL) { /* of an object, perhaps */
        n = mt_log_unescape(out, n, &before);
        n = split(w, out, n, before);
    }
    out[n] = '\0';
    w->number[w->n] = l->n_lines;
    l->n_long += cut;
    return any;
}

enum mt_rc mt_log_read(struct mt_log *out, struct mt_source *src, const char *const *packages,
                       const char *const *steps, struct mt_err *err)
{
    struct window w;
    enum mt_rc rc = MT_OK;
    bool go_on = true;
    memset(out, 0, sizeof *out);
    out->packages = packages;
    out->steps = steps;
    if (!window_init(&w, packages, steps)) {
        out->no_memory = true;
        go_on = false;
    }
    while (go_on && take_line(out, src, &w))
        if (++w.n == AHEAD)
            go_on = look(out, &w);
    while (go_on && w.n > 0)
        go_on = look(out, &w);
    if (go_on) {
        mt_log_talk_end(out); /* words first: a traceback goes to the one line that is an error */
        mt_log_stacks_end(out);
        mt_log_ray_end(out);
        mt_log_talk_end(out); /* and those beside what these two found */
        mt_log_prose_end(out);
        mt_log_fences_end(out);
        mt_log_cut_end(out);
        mt_log_told_place(out);
        mt_log_order_end(out);
    }
    window_done(&w);
    out->packages = out->steps = NULL;
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
    MT_VEC_DONE(&l->versions);
    MT_VEC_DONE(&l->kept_steps);
    mt_log_prose_done(l);
    mt_log_settings_done(l);
    mt_log_stacks_done(l);
}
