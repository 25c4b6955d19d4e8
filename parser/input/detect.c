/* input/detect.c -- for a file that no reader takes: what it is, and what to do instead. */
#include "parser/input/impl.h"

#include <string.h>

#define SNAPSHOT_HOWTO MT_SNAPSHOT_HOWTO
#define OWN_REPORT                                                                                 \
    ", which is not read back: name its page or its JSON, which are, or the inputs that its last " \
    "line names"

/* Formats that their first bytes tell. */
static const struct {
    uint8_t at, n;
    const char *magic, *text;
} magics[] = {
    {0, 8, "MTSPOOL\001",
     "what memtrace capture keeps while a process runs: run `memtrace collect` on its folder, and "
     "name the trace that it "
     "writes"},
    {0, 4,
     "\x7f"
     "ELF",
     "a program, library or core dump (ELF), not a memory snapshot: name the snapshot itself"},
    {0, 8, "\x89PNG\r\n\x1a\n",
     "a PNG picture: memtrace needs the snapshot the picture was made from"},
    {0, 3, "\xff\xd8\xff", "a JPEG picture: memtrace needs the snapshot the picture was made from"},
    {0, 6, "\x93NUMPY",
     "a NumPy array, not a memory snapshot: name the file that torch.cuda.memory._dump_snapshot() "
     "wrote"},
    {0, 8, "\x89HDF\r\n\x1a\n",
     "an HDF5 file, not a memory snapshot: name the file that torch.cuda.memory._dump_snapshot() "
     "wrote"},
    {0, 4, "GGUF",
     "model weights (GGUF), not a memory snapshot: name the file that "
     "torch.cuda.memory._dump_snapshot() wrote"},
    {0, 4, "PAR1",
     "a Parquet table, as Nsight Systems exports too: of its recordings memtrace reads what `nsys "
     "export --type sqlite` writes; else name the file that torch.cuda.memory._dump_snapshot() "
     "wrote"},
    {0, 4, "Rar!", "a RAR archive, which memtrace does not read: unpack it first"},
    {0, 4, "MSCF", "a cabinet archive, which memtrace does not read: unpack it first"},
    {0, 5, "%PDF-",
     "a PDF document, not a memory snapshot: name the file that torch.cuda.memory._dump_snapshot() "
     "wrote"},
    {0, 5, "<?xml",
     "an XML text, not a memory snapshot: name the file that torch.cuda.memory._dump_snapshot() "
     "wrote"},
    {0, 2, "\xff\xfe",
     "a text in UTF-16, as Windows tools write it: if it is a snapshot as JSON, save it again as "
     "UTF-8"},
    {0, 2, "\xfe\xff",
     "a text in UTF-16, as Windows tools write it: if it is a snapshot as JSON, save it again as "
     "UTF-8"},
    {0, 14, "### memtrace: ", "a report of memtrace as Markdown" OWN_REPORT},
    {0, 10, "memtrace  ", "a report of memtrace as text" OWN_REPORT},
    {0, 14, "\033[2mmemtrace  ", "a report of memtrace as text" OWN_REPORT},
    {0, 2, "#!", "a script, not a memory snapshot: run it, and name the snapshot that it writes"},
    {0, 36, "version https://git-lfs.github.com/s",
     "a git-lfs pointer, not the file itself: run `git lfs pull` in its repository, then try "
     "again"},
};

/* Eight bytes of length, then a JSON header. */
static bool is_safetensors(const unsigned char *p, size_t n)
{
    uint64_t len = 0;
    if (n < 10)
        return false;
    for (int i = 7; i >= 0; i--)
        len = len << 8 | p[i];
    return p[8] == '{' && (p[9] == '"' || p[9] == '}') && len >= 2 && len < UINT64_C(100) << 20;
}

static bool all_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

bool mt_detect_is_text(const unsigned char *p, size_t n)
{
    size_t odd = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == 0)
            return false;
        /* colours of a terminal are fine */
        odd += p[i] < 32 && !(p[i] >= 7 && p[i] <= 13) && p[i] != 27;
    }
    return odd * 50 <= n;
}

enum log_kind { LOG_NONE, LOG_TRACEBACK, LOG_OOM };

static bool has(const unsigned char *p, size_t n, const char *word)
{
    size_t len = strlen(word);
    const unsigned char *q = p, *end = p + n;
    while ((size_t)(end - q) >= len &&
           (q = memchr(q, word[0], (size_t)(end - q) - len + 1)) != NULL) {
        if (memcmp(q, word, len) == 0)
            return true;
        q++;
    }
    return false;
}

static enum log_kind log_of(const unsigned char *p, size_t n)
{
    if (has(p, n, "CUDA out of memory") || has(p, n, "torch.OutOfMemoryError") ||
        has(p, n, "torch.cuda.OutOfMemoryError"))
        return LOG_OOM;
    return has(p, n, "Traceback (most recent call last)") ? LOG_TRACEBACK : LOG_NONE;
}

static bool say_log(enum log_kind k, struct mt_err *err)
{
    if (k == LOG_OOM)
        mt_fail(err, MT_EINPUT,
                "this is a text log of a run that met CUDA out of memory: the text does not say "
                "who held the memory, memtrace "
                "needs the snapshot; " SNAPSHOT_HOWTO);
    else if (k == LOG_TRACEBACK)
        mt_fail(
            err, MT_EINPUT,
            "this is a text log with a Python traceback, not a memory snapshot; " SNAPSHOT_HOWTO);
    return k != LOG_NONE;
}

/* What `nsys export --type jsonlines` writes, --type json before it: an event a line under its
 * number, then strings and threads, together or each on a line. */
static bool is_nsight_lines(const unsigned char *p, size_t n)
{
    static const char event[] = "{\"Type\":";
    static const char *const others[] = {
        "{\"type\":\"String\",\"id\":", "{\"type\":\"ThreadName\",\"globalTid\":",
        "{\"data\":[\"[Unknown]\",\"[Unknown kernel module]\""};
    size_t i = sizeof event - 1;
    if (n > i && memcmp(p, event, i) == 0) {
        while (i < n && p[i] >= '0' && p[i] <= '9')
            i++;
        return i > sizeof event - 1 && has(p + i, n - i < 64 ? n - i : 64, "Event\":{");
    }
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (n >= strlen(others[k]) && memcmp(p, others[k], strlen(others[k])) == 0)
            return true;
    return false;
}

static bool known(const unsigned char *p, size_t n, bool whole, struct mt_err *err)
{
    const char *text = NULL;
    if (n == 0)
        text = "an empty file: the run was killed before it wrote the snapshot, the disk was full, "
               "or a copy failed";
    for (size_t i = 0; i < sizeof magics / sizeof *magics && text == NULL; i++)
        if (n >= (size_t)magics[i].at + magics[i].n &&
            memcmp(p + magics[i].at, magics[i].magic, magics[i].n) == 0)
            text = magics[i].text;
    if (text == NULL && is_safetensors(p, n))
        text = "model weights (safetensors), not a memory snapshot: name the file that "
               "torch.cuda.memory._dump_snapshot() wrote";
    if (text == NULL && is_nsight_lines(p, n))
        text = "an export of Nsight Systems as JSON lines, of which memtrace reads nothing: `nsys "
               "export --type sqlite report.nsys-rep` writes what it reads";
    if (text == NULL && n >= 16 && all_zero(p, n))
        text = whole ? "nothing but zero bytes: the disk was full or a copy failed"
                     : "zero bytes at its start: the disk was full or a copy failed";
    if (text == NULL)
        return false;
    mt_fail(err, MT_EINPUT, "this is %s", text);
    return true;
}

bool mt_detect_head(const unsigned char *p, size_t n, bool whole, struct mt_err *err)
{
    char shown[80];
    if (known(p, n, whole, err) || (mt_detect_is_text(p, n) && say_log(log_of(p, n), err)))
        return true;
    mt_printable(shown, sizeof shown, p, n < 16 ? n : 16);
    if (mt_detect_is_text(p, n))
        mt_fail(err, MT_EINPUT,
                "this is a text that is no memory snapshot (it starts with \"%s\"), and no log "
                "with a line about memory that "
                "memtrace knows: it reads what torch.cuda.memory._dump_snapshot() writes, the same "
                "as JSON, and such logs",
                shown);
    else
        mt_fail(
            err, MT_EINPUT,
            "this is no format that memtrace knows (it starts with \"%s\"): memtrace reads what "
            "torch.cuda.memory._dump_snapshot() writes, the same as JSON, and archives of them",
            shown);
    return false;
}

bool mt_detect_stream(struct mt_source *s, struct mt_err *err)
{
    enum { HEAD = 4096, OVERLAP = 64 };
    /* an error stands at the end of a log, but reading has to end somewhere */
    const uint64_t stop = UINT64_C(256) << 20;
    size_t have = mt_source_need(s, HEAD), n = have < HEAD ? have : HEAD;
    enum log_kind best = LOG_NONE, k;
    bool text = mt_detect_is_text(s->cur, n);
    if (known(s->cur, n, have < HEAD, err))
        return true;
    if (mt_detect_head(s->cur, n, have < HEAD, err) && log_of(s->cur, n) == LOG_OOM)
        return true;
    if (!text)
        return false;
    for (;;) {
        n = mt_source_need(s, OVERLAP + 1);
        k = log_of(s->cur, n);
        best = k > best ? k : best;
        if (best == LOG_OOM || n <= OVERLAP || mt_source_offset(s) > stop)
            break;
        s->cur = s->end - OVERLAP;
    }
    return say_log(best, err);
}
