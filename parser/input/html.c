/* input/html.c -- what is inside a page: the snapshots in one of PyTorch's
 * torch/cuda/_memory_viz.py (trace_plot, segment_plot), const local_files = [{"name":
 * "snapshot.pickle", "base64": "gASV..."}], and the report in one of memtrace's own. Each text of
 * digits is decoded as it is read; the page is never held as a whole. */
#include "parser/base/digits.h"
#include "parser/input/impl.h"

#include <string.h>

#define MAX_NAME 4096

enum html_state { SEARCH, ARRAY, OBJECT, DIGITS, OVER };

struct html {
    struct mt_box box;
    struct mt_source *up;
    enum html_state state;
    struct mt_digits digits;
    char end;               /* of the text of digits */
    unsigned char carry[4]; /* decoded, but there was no room for them */
    size_t n_carry;
    char name[MAX_NAME];
    size_t n_name;
};

static int peek(struct mt_source *s) { return mt_source_need(s, 1) > 0 ? *s->cur : -1; }

static int next_char(struct mt_source *s) { return mt_source_need(s, 1) > 0 ? *s->cur++ : -1; }

static int skip_space(struct mt_source *s)
{
    int c;
    while ((c = peek(s)) == ' ' || (c >= 9 && c <= 13))
        s->cur++;
    return c;
}

static enum mt_rc cut(const struct html *h, struct mt_err *err)
{
    if (h->up->status != MT_OK) {
        if (err != NULL)
            *err = h->up->err;
        return h->up->status;
    }
    return mt_fail_at(err, MT_EINPUT, mt_source_offset(h->up),
                      "the HTML page ends early at offset %llu: the file is cut short",
                      (unsigned long long)mt_source_offset(h->up));
}

static enum mt_rc odd(const struct html *h, struct mt_err *err)
{
    return mt_fail_at(err, MT_EINPUT, mt_source_offset(h->up),
                      "the local_files of the HTML page are not as PyTorch's _memory_viz writes "
                      "them, at offset %llu: make the page "
                      "again, or name the snapshot it was made from",
                      (unsigned long long)mt_source_offset(h->up));
}

static int hex4(struct mt_source *s)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int c = next_char(s), d = c >= '0' && c <= '9'                 ? c - '0'
                                  : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                       : -1;
        if (c < 0 || d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static size_t utf8(char out[4], unsigned v)
{
    static const unsigned char lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, v >>= 6)
        out[i] = (char)(0x80 | (v & 63));
    out[0] = (char)(lead[n] | v);
    return n;
}

/* One escape after the backslash, as UTF-8 into out[4]. Returns its length, 0 when it means
 * nothing. */
static size_t unescape(struct mt_source *s, char out[4])
{
    int c = next_char(s), low;
    unsigned v;
    if (c != 'u') {
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *at = c > 0 ? strchr(from, c) : NULL;
        out[0] = at != NULL ? to[at - from] : (char)c;
        return c > 0;
    }
    c = hex4(s);
    if (c <= 0)
        return 0;
    v = (unsigned)c;
    if (v >= 0xd800 && v < 0xdc00 && mt_source_need(s, 6) >= 6 && s->cur[0] == '\\' &&
        s->cur[1] == 'u') {
        s->cur += 2;
        low = hex4(s);
        v = low >= 0xdc00 && low < 0xe000
                ? 0x10000 + ((v - 0xd800) << 10) + ((unsigned)low - 0xdc00)
                : 0xfffd;
    }
    return utf8(out, v >= 0xd800 && v < 0xe000 ? 0xfffd : v);
}

/* A JSON string, its opening quote next. What does not fit is dropped; a NUL ends the text for C.
 */
static bool string(struct mt_source *s, char *out, size_t cap, size_t *n)
{
    size_t len = 0;
    int c;
    if (next_char(s) != '"')
        return false;
    while ((c = next_char(s)) != '"') {
        char u[4] = {(char)c};
        size_t k = 1;
        if (c < 0)
            return false;
        if (c == '\\')
            k = unescape(s, u);
        if (c != 0 && len + k < cap) {
            memcpy(out + len, u, k);
            len += k;
        }
    }
    out[len] = '\0';
    *n = len;
    return true;
}

/* Any value but the ones we want. */
static bool skip_value(struct mt_source *s)
{
    char junk[8];
    size_t n;
    uint64_t depth = 0;
    for (;;) {
        int c = peek(s);
        if (c < 0)
            return false;
        if (c == '"') {
            if (!string(s, junk, sizeof junk, &n))
                return false;
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return true;
        if (c == '{' || c == '[')
            depth++;
        if (c == '}' || c == ']')
            depth--;
        s->cur++;
    }
}

/* The page of torch.profiler's export_memory_timeline: a picture and no data. Nothing is taken from
 * the source. */
static bool is_timeline(struct mt_source *s)
{
    static const char title[] = "<title>GPU Memory Timeline HTML</title>";
    size_t n = mt_source_need(s, 256), len = sizeof title - 1;
    for (size_t i = 0; i + len <= n && i < 256; i++)
        if (memcmp(s->cur + i, title, len) == 0)
            return true;
    return false;
}

/* Just after the next such word. */
static bool find_word(struct mt_source *s, const char *word)
{
    const size_t len = strlen(word);
    while (mt_source_need(s, len) >= len) {
        const unsigned char *at = memchr(s->cur, word[0], (size_t)(s->end - s->cur) - (len - 1));
        if (at == NULL) {
            s->cur = s->end - (len - 1);
            continue;
        }
        s->cur = at + 1;
        if (memcmp(at, word, len) != 0)
            continue;
        s->cur = at + len;
        return true;
    }
    s->cur = s->end;
    return false;
}

/* A page of memtrace's own says so at its head. */
static bool is_ours(struct mt_source *s)
{
    static const char name[] = "<meta name=\"generator\" content=\"memtrace ";
    size_t n = mt_source_need(s, 4096), len = sizeof name - 1;
    for (size_t i = 0; i + len <= n && i < 4096; i++)
        if (memcmp(s->cur + i, name, len) == 0)
            return true;
    return false;
}

/* Just after `local_files = [`. */
static bool find_data(struct mt_source *s)
{
    while (find_word(s, "local_files")) {
        if (skip_space(s) != '=')
            continue;
        s->cur++;
        if (skip_space(s) != '[')
            continue;
        s->cur++;
        return true;
    }
    return false;
}

/* The last digits of a text without padding, or with it. */
static size_t last_digits(struct html *h, unsigned char *dst, enum mt_rc *rc, struct mt_err *err)
{
    int n = mt_digits_end(&h->digits, dst);
    if (n >= 0)
        return (size_t)n;
    *rc = mt_fail(err, MT_EINPUT,
                  "the base%u text in the HTML page is short of a digit: the page was damaged",
                  h->digits.base);
    return 0;
}

/* One character, also the odd ones. Returns the bytes made. */
static size_t one_digit(struct html *h, unsigned char *dst, enum mt_rc *rc, struct mt_err *err)
{
    char u[4];
    int made, c = next_char(h->up);
    if (c < 0) {
        h->state = OVER;
        *rc = cut(h, err);
        return 0;
    }
    if (c == h->end) {
        h->state = h->end == '"' ? OBJECT : OVER;
        return last_digits(h, dst, rc, err);
    }
    if (c == '\\')
        c = unescape(h->up, u) == 1 ? (unsigned char)u[0] : 0;
    if ((c == '=' && h->digits.base == 64) || c == ' ' || (c >= 9 && c <= 13))
        return 0;
    made = mt_digits_add(&h->digits, (unsigned char)c, dst);
    if (made >= 0)
        return (size_t)made;
    *rc = mt_fail(err, MT_EINPUT,
                  "a byte that is no base%u at offset %llu of the HTML page: the page was damaged",
                  h->digits.base, (unsigned long long)mt_source_offset(h->up) - 1);
    return 0;
}

static size_t digits_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                          struct mt_err *err)
{
    struct html *h = ctx;
    size_t got = 0;
    while (got == 0 && *rc == MT_OK && h->state == DIGITS && h->n_carry == 0) {
        if (n < sizeof h->carry)
            h->n_carry = one_digit(h, h->carry, rc, err);
        else if (h->digits.n == 0 && mt_source_need(h->up, 4) >= 4 &&
                 (got = mt_digits_run(&h->digits, &h->up->cur, h->up->end, dst, n)) > 0)
            break;
        else
            got = one_digit(h, dst, rc, err);
    }
    if (h->n_carry > 0) {
        got = h->n_carry < n ? h->n_carry : n;
        memcpy(dst, h->carry, got);
        h->n_carry -= got;
        memmove(h->carry, h->carry + got, h->n_carry);
    }
    return got;
}

/* Skips the rest of the current text, which the reader did not want. */
static void leave_text(struct html *h)
{
    struct mt_source *s = h->up;
    while (h->state == DIGITS) {
        const unsigned char *q;
        if (mt_source_need(s, 1) == 0) {
            h->state = OVER;
            return;
        }
        q = memchr(s->cur, h->end, (size_t)(s->end - s->cur));
        if (q != NULL)
            h->state = h->end == '"' ? OBJECT : OVER;
        s->cur = q != NULL ? q + 1 : s->end;
    }
}

/* In an object: 1 at the start of a base64 text, 0 at the end of the object, < 0 when it is not
 * what it has to be. */
static int in_object(struct html *h, struct mt_err *err)
{
    struct mt_source *s = h->up;
    for (;;) {
        char key[16];
        size_t n;
        int c = skip_space(s);
        if (c == ',' || c == '}') {
            s->cur++;
            if (c == '}')
                return 0;
            continue;
        }
        if (c != '"')
            return c < 0 ? cut(h, err) : odd(h, err);
        if (!string(s, key, sizeof key, &n))
            return cut(h, err);
        if (skip_space(s) != ':')
            return peek(s) < 0 ? cut(h, err) : odd(h, err);
        s->cur++;
        c = skip_space(s);
        if (c == '"' && strcmp(key, "base64") == 0) {
            s->cur++;
            return 1;
        }
        if (!(c == '"' && strcmp(key, "name") == 0 ? string(s, h->name, sizeof h->name, &h->n_name)
                                                   : skip_value(s)))
            return cut(h, err);
    }
}

static int begin_text(struct html *h, unsigned base, struct mt_source **src, char **name,
                      struct mt_err *err)
{
    h->state = DIGITS;
    mt_digits_begin(&h->digits, base);
    h->n_carry = 0;
    *name = h->n_name > 0 ? mt_strndup(h->name, h->n_name) : mt_strndup("snapshot", 8);
    if (*name == NULL || mt_source_new(src, digits_read, NULL, h) != MT_OK)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    return 1;
}

/* Behind the head of the element: the base of its digits, 64 in pages that do not name it; 0 for
 * another. */
static unsigned base_of_report(struct mt_source *s)
{
    static const char base85[] = MT_BASE85_HEAD;
    const size_t len = sizeof base85 - 1;
    if (mt_source_need(s, 1) >= 1 && *s->cur == '>') {
        s->cur++;
        return 64;
    }
    if (mt_source_need(s, len) < len || memcmp(s->cur, base85, len) != 0)
        return 0;
    s->cur += len;
    return 85;
}

/* The one text of a page of ours. */
static int our_report(struct html *h, struct mt_source **src, char **name, struct mt_err *err)
{
    static const char member[] = MT_PAGE_REPORT;
    unsigned base;
    h->state = OVER;
    if (!find_word(h->up, "id=\"mt-report\""))
        return h->up->status != MT_OK
                   ? (int)cut(h, err)
                   : (int)mt_fail(
                         err, MT_EINPUT,
                         "this is a page of memtrace without its report in it, cut short or "
                         "made by a version that kept none: copy it again, or name the "
                         "snapshot that it was made from");
    base = base_of_report(h->up);
    if (base == 0)
        return h->up->status != MT_OK || mt_source_need(h->up, 1) == 0
                   ? (int)cut(h, err)
                   : (int)mt_fail(err, MT_EINPUT,
                                  "the report in this page of memtrace is written in digits that "
                                  "this memtrace does not read: the one that wrote it, or a newer "
                                  "one, reads it");
    h->box.has_data = true;
    h->end = '<';
    memcpy(h->name, member, sizeof member);
    h->n_name = sizeof member - 1;
    return begin_text(h, base, src, name, err);
}

static int html_next(struct mt_box *b, struct mt_source **src, char **name, struct mt_err *err)
{
    struct html *h = (struct html *)b;
    struct mt_source *s = h->up;
    int r;
    *name = NULL;
    leave_text(h);
    if (h->state == SEARCH && is_ours(s))
        return our_report(h, src, name, err);
    if (h->state == SEARCH) {
        bool timeline = is_timeline(s);
        h->state = OVER;
        if (!find_data(s))
            return s->status != MT_OK ? (int)cut(h, err)
                   : timeline
                       ? (int)mt_fail(err, MT_EINPUT, "this is the picture of " MT_TIMELINE_WORDS)
                       : (int)mt_fail(err, MT_EINPUT,
                                      "this is an HTML page without a memory snapshot in it: "
                                      "memtrace reads pages made by "
                                      "PyTorch's _memory_viz.py trace_plot or segment_plot, and "
                                      "snapshots themselves");
        h->state = ARRAY;
        b->has_data = true;
    }
    for (;;) {
        if (h->state == ARRAY) {
            int c = skip_space(s);
            h->state = OVER;
            if (c < 0)
                return cut(h, err);
            if (c != ']' && c != ',' && c != '{')
                return odd(h, err);
            s->cur++;
            if (c != ']')
                h->state = c == '{' ? OBJECT : ARRAY;
            h->n_name = 0;
        }
        if (h->state == OVER)
            return 0;
        if (h->state != OBJECT)
            continue;
        r = in_object(h, err);
        h->state = r == 0 ? ARRAY : r < 0 ? OVER : DIGITS;
        if (r < 0)
            return r;
        if (r > 0)
            break;
    }
    return begin_text(h, 64, src, name, err);
}

static void html_close(struct mt_box *b)
{
    struct html *h = (struct html *)b;
    mt_source_free(h->up);
    mt_free(h);
}

enum mt_rc mt_html_open(struct mt_box **out, struct mt_source *up, struct mt_err *err)
{
    struct html *h = mt_calloc(1, sizeof *h);
    if (h == NULL) {
        mt_source_free(up);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    h->box.next = html_next;
    h->box.close = html_close;
    h->box.kind = MT_PACK_HTML;
    h->end = '"';
    h->up = up;
    *out = &h->box;
    return MT_OK;
}
