/* input/text.c -- which streams are offered as logs: text that cannot be JSON; and what is passed
 * over. */
#include "parser/input/impl.h"
#include "parser/input/readers.h"

#include <string.h>

void mt_input_ignore(struct mt_input *in, const char *member)
{
    in->n_ignored++;
    if (in->opts.ignored != NULL)
        in->opts.ignored(in->opts.ignored_arg, in->path, member != NULL ? member : "");
}

enum { HEAD = 4096 };

/* JSON that a reader of snapshots could take: an object, or a list of objects. "[rank0]: ..." and
 * "{'gpu': ..." are neither. */
static bool may_be_json(const unsigned char *p, size_t n)
{
    unsigned char open;
    size_t i = 0;
    while (i < n && (p[i] == ' ' || (p[i] >= 9 && p[i] <= 13)))
        i++;
    if (i == n || (p[i] != '{' && p[i] != '['))
        return false;
    open = p[i++];
    while (i < n && (p[i] == ' ' || (p[i] >= 9 && p[i] <= 13)))
        i++;
    return i == n || (open == '{' ? p[i] == '"' || p[i] == '}' : p[i] == '{' || p[i] == ']');
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && memcmp(s + n - k, end, k) == 0;
}

/* Folders of runs hold data sets and sources too. Only files that are named like logs are read to
 * their ends. */
static bool is_named_like_log(const char *name)
{
    static const char *const ends[] = {".log", ".out", ".err", ".stdout", ".stderr"};
    /* what nvidia-smi and its like print, and torch_npu's list beside a snapshot */
    static const char *const words[] = {"smi", "memUsageInfo", "memory_summary", "memory_stats",
                                        "memory_record"};
    /* what people name the text they paste, or attach to a ticket */
    static const char *const told[] = {"log",   "ticket", "issue",  "oom",      "error",
                                       "crash", "stdout", "stderr", "traceback"};
    const char *base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_in(base, ends[i]))
            return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(base, words[i]) != NULL && (ends_in(base, ".txt") || ends_in(base, ".csv")))
            return true;
    if (ends_in(base, ".json") && strstr(base, "memray") != NULL && strstr(base, "stats") != NULL)
        return true;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (strstr(base, told[i]) != NULL && (ends_in(base, ".txt") || ends_in(base, ".md")))
            return true;
    return false;
}

/* An object that begins as those of loggers do. */
static bool is_logged(const unsigned char *head, size_t n)
{
    static const char *const keys[] = {"msg",        "message", "log",   "level",     "levelname",
                                       "severity",   "time",    "ts",    "timestamp", "t",
                                       "@timestamp", "asctime", "event", "text",      "line",
                                       "stream",     "name"};
    size_t i = 1;
    while (i < n && head[i] == ' ')
        i++;
    for (size_t k = 0; i < n && head[i] == '"' && k < sizeof keys / sizeof *keys; k++) {
        size_t len = strlen(keys[k]);
        if (i + 1 + len < n && memcmp(head + i + 1, keys[k], len) == 0 && head[i + 1 + len] == '"')
            return true;
    }
    return false;
}

/* One object a line, as loggers write; or an answer of a server with PyTorch's sentence in it. No
 * snapshot holds either. */
static bool is_json_log(const unsigned char *head, size_t n)
{
    static const char lines[] = "}\n{\"", asked[] = "ried to allocate ",
                      counters[] = "_bytes.all.", /* of torch.cuda.memory_stats() */
        heap[] = "\"total_num_allocations\"",     /* of memray stats --json */
        cards[] = "\"VRAM Total Memory (B)\"";    /* of rocm-smi --json */
    if (head[0] == '{' && is_logged(head, n))
        return true;
    for (size_t i = 0; head[0] == '{' && i + sizeof asked <= n; i++)
        if (memcmp(head + i, lines, sizeof lines - 1) == 0 ||
            memcmp(head + i, asked, sizeof asked - 1) == 0 ||
            memcmp(head + i, counters, sizeof counters - 1) == 0 ||
            (i + sizeof heap <= n && memcmp(head + i, heap, sizeof heap - 1) == 0) ||
            (i + sizeof cards <= n && memcmp(head + i, cards, sizeof cards - 1) == 0))
            return true;
    return false;
}

/* Readers of text bid for what merely begins as theirs does: "[rank0]: ..." is no JSON,
 * "(dpo_trainer pid=7) ..." no pickle. */
static bool may_be_log(const struct mt_reader *reader, const unsigned char *head, size_t n)
{
    const unsigned char *end = memchr(head, '\n', n);
    size_t line = end != NULL ? (size_t)(end - head) : n;
    if (n >= 2 && memcmp(head, "#!", 2) == 0)
        return false;
    if (reader == NULL)
        return true;
    if (reader == &mt_reader_json)
        return !may_be_json(head, n) || is_json_log(head, n);
    if (head[0] != '(')
        return false;
    for (size_t i = 0; i + 4 <= line; i++)
        if (memcmp(head + i, "pid=", 4) == 0)
            return true;
    return false;
}

enum mt_rc mt_text_read(struct mt_input *in, struct mt_item *it, bool *done, struct mt_err *err)
{
    unsigned char head[HEAD];
    struct mt_source *s = it->src;
    size_t n;
    int r;
    *done = false;
    if (in->opts.text == NULL)
        return MT_OK;
    n = mt_source_need(s, HEAD);
    n = n < HEAD ? n : HEAD;
    if (s->status == MT_EIO || s->status == MT_ENOMEM)
        return MT_OK; /* the usual way says so */
    memcpy(head, s->cur, n);
    if (in->opts.wanted != NULL && it->member == NULL) {
        *done = true; /* a file alone: not a folder, not an archive */
        return MT_OK;
    }
    if (!in->opts.text_only &&
        (n == 0 || !mt_detect_is_text(head, n) || !may_be_log(mt_reader_choose(s), head, n) ||
         (it->member != NULL && !is_named_like_log(it->member))))
        return MT_OK;
    *done = true;
    r = in->opts.text(in->opts.text_arg, in->path, it->member, s);
    if (r < 0)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (r == 1) {
        in->raw_counts = true;
        in->n_found++;
        return MT_OK;
    }
    if (it->member != NULL || in->opts.text_only) {
        mt_input_ignore(in, it->member);
        if (in->n_no_line++ == 0 && it->member != NULL)
            mt_printable(in->no_line, sizeof in->no_line, it->member, strlen(it->member));
        return MT_OK;
    }
    mt_detect_head(head, n, n < HEAD, err);
    return err != NULL ? err->rc : MT_EINPUT;
}
