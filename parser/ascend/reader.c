/* ascend/reader.c -- operator_memory.csv, the table that torch_npu's profiler makes of what each
 * operator allocated: a row for each block, with when it came and went and what was allocated in
 * all behind both. Sources: torch_npu/profiler/analysis/prof_view/_memory_view_parser.py and
 * _memory_prepare_parser.py (Ascend/pytorch). CANN's own table (operator_memory_*.csv, in KB) and
 * MindSpore's have the same columns or fewer.
 *
 * Times are microseconds with a tab behind them; a size below 0 is a free of a block from before
 * the recording, of which the row has the free alone. */
#include "parser/ascend/impl.h"
#include "parser/base/num.h"
#include "parser/model/reader.h"
#include "parser/profiler/cursor.h"

#include <string.h>

enum { CELLS = 32, NUMBER = 40 };
#define MOST_BYTES (INT64_C(1) << 56)

struct cell {
    const char *p;
    size_t n;
};

/* ---- cells ---- */

static struct cell trimmed(const char *p, size_t n)
{
    while (n > 0 && (*p == ' ' || *p == '\t')) {
        p++;
        n--;
    }
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r'))
        n--;
    return (struct cell){p, n};
}

/* The cells of a line; what stands between quotation marks may have commas. How many there are, of
 * which CELLS are kept. */
static int split(struct cell out[CELLS], const char *s, size_t n)
{
    const char *end = s + n;
    int k = 0;
    for (;; s++) {
        const char *from = s, *to;
        if (s < end && *s == '"') {
            from = ++s;
            while (s < end && *s != '"')
                s++;
            to = s;
            while (s < end && *s != ',')
                s++;
        } else {
            const char *comma = memchr(s, ',', (size_t)(end - s));
            to = s = comma != NULL ? comma : end;
        }
        if (k < CELLS)
            out[k] = trimmed(from, (size_t)(to - from));
        k++;
        if (s >= end)
            return k;
    }
}

static bool is(struct cell c, const char *word)
{
    return c.n == strlen(word) && memcmp(c.p, word, c.n) == 0;
}

/* A copy that numbers may be read from by whole words. */
static bool copy(unsigned char to[NUMBER + 16], struct cell c)
{
    memset(to, 0, NUMBER + 16);
    if (c.n == 0 || c.n > NUMBER)
        return false;
    memcpy(to, c.p, c.n);
    return true;
}

/* ---- the head ---- */

struct head {
    int at[MT_AS_COLUMNS]; /* -1 = it has no such column */
    int n;
    double size_unit, sum_unit; /* bytes */
};

static const struct {
    const char *name;
    enum mt_as_column column;
    double unit;
} columns[] = {
    {"Name", MT_AS_NAME, 0},
    {"Size(KB)", MT_AS_SIZE, 1024},
    {"Allocation Time(us)", MT_AS_BEGIN, 0},
    {"Release Time(us)", MT_AS_END, 0},
    {"Active Release Time(us)", MT_AS_ACTIVE_END, 0},
    {"Duration(us)", MT_AS_DURATION, 0},
    {"Allocation Total Allocated(MB)", MT_AS_ALLOCATED, 1048576},
    {"Allocation Total Allocated(KB)", MT_AS_ALLOCATED, 1024},
    {"Allocation Total Reserved(MB)", MT_AS_RESERVED, 1048576},
    {"Allocation Total Reserved(KB)", MT_AS_RESERVED, 1024},
    {"Allocation Total Active(MB)", MT_AS_ACTIVE, 1048576},
    {"Release Total Allocated(MB)", MT_AS_END_ALLOCATED, 1048576},
    {"Release Total Allocated(KB)", MT_AS_END_ALLOCATED, 1024},
    {"Release Total Reserved(MB)", MT_AS_END_RESERVED, 1048576},
    {"Release Total Reserved(KB)", MT_AS_END_RESERVED, 1024},
    {"Device Type", MT_AS_DEVICE, 0},
    {"Device", MT_AS_DEVICE, 0},
};

static bool head_of(struct head *h, const char *s, size_t n)
{
    struct cell c[CELLS];
    h->n = split(c, s, n);
    h->size_unit = h->sum_unit = 1024;
    for (int i = 0; i < MT_AS_COLUMNS; i++)
        h->at[i] = -1;
    for (int i = 0; i < h->n && i < CELLS; i++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
            if (is(c[i], columns[k].name)) {
                h->at[columns[k].column] = i;
                if (columns[k].column >= MT_AS_ALLOCATED && columns[k].unit > 0)
                    h->sum_unit = columns[k].unit;
            }
    return h->n <= CELLS && h->at[MT_AS_NAME] >= 0 && h->at[MT_AS_SIZE] >= 0 &&
           h->at[MT_AS_BEGIN] >= 0 && (h->at[MT_AS_END] >= 0 || h->at[MT_AS_DURATION] >= 0);
}

/* ---- a row ---- */

struct row {
    const struct head *h;
    struct cell c[CELLS];
};

static struct cell cell_at(const struct row *r, enum mt_as_column column)
{
    int at = r->h->at[column];
    return at >= 0 ? r->c[at] : (struct cell){"", 0};
}

/* A number of so many bytes each, rounded. */
static bool bytes_at(const struct row *r, enum mt_as_column column, double unit, int64_t *v)
{
    struct cell c = cell_at(r, column);
    bool digit = false, point = false, negative = c.n > 0 && *c.p == '-';
    double d;
    for (size_t i = negative; i < c.n; i++) {
        bool is_digit = c.p[i] >= '0' && c.p[i] <= '9';
        if (!is_digit && (c.p[i] != '.' || point))
            return false;
        digit |= is_digit;
        point |= !is_digit;
    }
    if (!digit || c.n > NUMBER)
        return false;
    d = mt_num_double((const unsigned char *)c.p + negative, c.n - negative) * unit + 0.5;
    if (!(d < (double)MOST_BYTES))
        return false;
    *v = negative ? -(int64_t)d : (int64_t)d;
    return true;
}

static uint64_t sum_at(const struct row *r, enum mt_as_column column)
{
    int64_t v;
    return bytes_at(r, column, r->h->sum_unit, &v) && v >= 0 ? (uint64_t)v : MT_AS_UNKNOWN;
}

static bool time_at(const struct row *r, enum mt_as_column column, int64_t *ns)
{
    unsigned char s[NUMBER + 16];
    struct cell c = cell_at(r, column);
    return copy(s, c) && mt_pf_micros(s, s + c.n, ns) == s + c.n && *ns >= 0;
}

/* "NPU:3". -1 = of no NPU. */
static int device_of(const struct row *r)
{
    struct cell c = cell_at(r, MT_AS_DEVICE);
    int v = 0;
    if (c.n == 0) /* MindSpore names its pool, or there is no such column */
        return 0;
    if (c.n < 5 || memcmp(c.p, "NPU:", 4) != 0)
        return is(c, "CPU") ? -1 : 0;
    for (size_t i = 4; i < c.n; i++) {
        if (c.p[i] < '0' || c.p[i] > '9' || v >= MT_AS_DEVICES)
            return -1;
        v = v * 10 + (c.p[i] - '0');
    }
    return v < MT_AS_DEVICES ? v : -1;
}

/* A row of CANN's graph engine: among PyTorch's, or of CANN's own table. */
static bool of_graph(const struct row *r)
{
    struct cell c = cell_at(r, MT_AS_NAME);
    return r->h->sum_unit == 1024 || (c.n > 6 && memcmp(c.p, "cann::", 6) == 0);
}

/* Before tables had active sums, no name said so, and only what has no namespace may be one: its
 * sums may be of either pool. */
static bool has_sums(const struct row *r)
{
    struct cell c = cell_at(r, MT_AS_NAME);
    bool older = r->h->at[MT_AS_END] >= 0 && r->h->at[MT_AS_ACTIVE] < 0 && r->h->sum_unit > 1024;
    for (size_t i = 0; i + 1 < c.n; i++)
        if (c.p[i] == ':' && c.p[i + 1] == ':')
            return true;
    return !older || c.n == 0;
}

static bool no_memory(struct mt_err *err)
{
    mt_fail(err, MT_ENOMEM, "out of memory after %llu MiB (--max-memory)",
            (unsigned long long)(mt_mem_used() >> 20));
    return false;
}

static bool put(struct mt_as *a, const struct mt_as_event *e, struct mt_err *err)
{
    struct mt_as_event *slot;
    if (a->events.n >= a->lim->max_events) {
        mt_fail(err, MT_ELIMIT, "more than %llu events (raise --max-events)",
                (unsigned long long)a->lim->max_events);
        return false;
    }
    if ((slot = MT_VEC_PUSH(&a->events)) == NULL)
        return no_memory(err);
    *slot = *e;
    return true;
}

static bool stack_of(struct mt_as *a, struct cell name, mt_stack_id *stack, struct mt_err *err)
{
    mt_str_id s;
    mt_frame_id f;
    *stack = 0;
    if (name.n == 0)
        return true;
    if (mt_build_str(a->b, name.p, name.n, &s) && mt_build_frame(a->b, s, 0, 0, &f) &&
        mt_build_stack(a->b, &f, 1, stack))
        return true;
    mt_fail(err, mt_builder_err(a->b)->rc, "%s", mt_builder_err(a->b)->msg);
    return false;
}

/* Where the row says that the block went; false = it does not, or in a way that cannot be. */
static bool end_of(const struct row *r, int64_t begin, int64_t *end, bool *bad)
{
    int64_t took;
    if (time_at(r, MT_AS_END, end) || time_at(r, MT_AS_ACTIVE_END, end)) {
        *bad = *end < begin;
        return !*bad;
    }
    if (!time_at(r, MT_AS_DURATION, &took))
        return false;
    *bad = __builtin_add_overflow(begin, took, end);
    return !*bad;
}

/* False only with *err set. */
static bool one_row(struct mt_as *a, const struct row *r, struct mt_err *err)
{
    struct mt_as_event e = {.device = (int16_t)device_of(r), .is_graph = of_graph(r)};
    int64_t size = 0, end = 0;
    bool bad = false, ends, sums = has_sums(r);
    if (e.device < 0) {
        a->n_other++;
        return true;
    }
    if (!bytes_at(r, MT_AS_SIZE, r->h->size_unit, &size) || size == 0 ||
        (size > 0 && !time_at(r, MT_AS_BEGIN, &e.ts))) {
        a->n_bad++;
        return true;
    }
    ends = end_of(r, e.ts, &end, &bad);
    if (bad || (size < 0 && !ends)) {
        a->n_bad++;
        return true;
    }
    a->has_graph |= e.is_graph;
    e.place = a->n_rows++ * 2;
    e.addr = a->next_addr;
    a->next_addr += ((uint64_t)(size < 0 ? -size : size) | 511) + 1;
    if (size > 0) {
        if (!stack_of(a, cell_at(r, MT_AS_NAME), &e.stack, err))
            return false;
        e.bytes = size;
        e.allocated = sums ? sum_at(r, MT_AS_ALLOCATED) : MT_AS_UNKNOWN;
        e.reserved = sum_at(r, MT_AS_RESERVED);
        if (!put(a, &e, err))
            return false;
    }
    if (!ends)
        return true;
    e.ts = end;
    e.place++;
    e.stack = 0;
    e.bytes = size > 0 ? -size : size;
    e.allocated = sums ? sum_at(r, MT_AS_END_ALLOCATED) : MT_AS_UNKNOWN;
    e.reserved = sum_at(r, MT_AS_END_RESERVED);
    return put(a, &e, err);
}

/* ---- the file ---- */

/* The next line, without its newline; *whole: it has one. 1, 0 at the end, -1 when it is too
 * long. */
static int next_line(struct mt_source *src, uint64_t most, const char **s, size_t *n, bool *whole)
{
    size_t seen = 0, have;
    for (size_t want = 4096;; want = have + 4096) {
        const unsigned char *nl;
        have = mt_source_need(src, want);
        nl = have > seen ? memchr(src->cur + seen, '\n', have - seen) : NULL;
        *s = (const char *)src->cur;
        *whole = nl != NULL;
        *n = nl != NULL ? (size_t)(nl - src->cur) : have;
        if (nl != NULL || have < want) {
            src->cur += *n + *whole;
            return *n + *whole > 0;
        }
        if (have > most)
            return -1;
        seen = have;
    }
}

static enum mt_rc too_long(struct mt_source *src, const struct mt_limits *lim, struct mt_err *err)
{
    return mt_fail_at(err, MT_ELIMIT, mt_source_offset(src),
                      "a line is longer than %llu bytes (raise --max-string)",
                      (unsigned long long)lim->max_string);
}

static void say(const struct mt_as *a)
{
    mt_trace_diag(a->t, MT_DIAG_NOTE, false, 0,
                  "a table of torch_npu's profiler (operator_memory.csv) knows which operator "
                  "allocated each block, when, and when it was freed, in the allocator's rounded "
                  "sizes: no Python frames; no segments, so nothing of fragmentation, streams and "
                  "pools; of what was there before, the sum alone; "
                  "torch_npu.npu.memory._record_memory_history() and _dump_snapshot() record "
                  "more");
    if (a->has_graph)
        mt_trace_diag(a->t, MT_DIAG_NOTE, false, 0,
                      "operators named cann:: allocate from the pool of CANN's graph engine (GE), "
                      "which is beside PyTorch's; the curve has both");
    if (a->n_bad != 0)
        mt_trace_diag(a->t, MT_DIAG_NOTE, false, 0,
                      "%llu rows could not be understood and were left out",
                      (unsigned long long)a->n_bad);
    if (a->n_other != 0)
        mt_trace_diag(a->t, MT_DIAG_NOTE, false, 0, "%llu rows of no NPU were left out",
                      (unsigned long long)a->n_other);
}

static enum mt_rc rows(struct mt_as *a, struct mt_source *src, struct mt_err *err)
{
    struct head h;
    struct row r = {.h = &h};
    const char *s;
    size_t n;
    bool whole;
    int got = next_line(src, a->lim->max_string, &s, &n, &whole);
    if (got < 0)
        return too_long(src, a->lim, err);
    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) {
        s += 3;
        n -= 3;
    }
    if (got == 0 || !head_of(&h, s, n))
        return mt_fail(err, MT_EINPUT,
                       "no table of what operators allocated (operator_memory.csv of torch_npu's "
                       "profiler): its first line does not name the columns");
    while ((got = next_line(src, a->lim->max_string, &s, &n, &whole)) > 0) {
        if (!whole)
            break;
        if (trimmed(s, n).n == 0)
            continue;
        if (split(r.c, s, n) != h.n) {
            a->n_bad++;
            continue;
        }
        if (!one_row(a, &r, err))
            return err->rc;
    }
    if (got < 0)
        return too_long(src, a->lim, err);
    if (a->events.n == 0 && src->status != MT_OK)
        return mt_fail_at(err, src->status, mt_source_offset(src),
                          "%s; no row of the table came before", src->err.msg);
    if (a->events.n == 0)
        return mt_fail(err, MT_EINPUT,
                       "a table of torch_npu's profiler (operator_memory.csv) without a row%s: "
                       "nothing was allocated while it recorded, or profile_memory=True was not "
                       "given",
                       a->n_bad != 0 ? " that can be understood" : "");
    if (got > 0 || src->status != MT_OK)
        mt_trace_diag(a->t, MT_DIAG_DAMAGE, true, mt_source_offset(src),
                      "%s after %llu rows: everything after it is missing",
                      src->status != MT_OK ? src->err.msg : "the table ends inside of a line",
                      (unsigned long long)a->n_rows);
    return MT_OK;
}

static enum mt_rc run(struct mt_as *a, struct mt_source *src, struct mt_err *err)
{
    enum mt_rc rc = rows(a, src, err);
    a->t->meta.bytes = mt_source_offset(src);
    if (rc != MT_OK)
        return rc;
    if (!mt_as_play(a, err))
        return err->rc;
    say(a);
    if (!mt_build_finish(a->b))
        return mt_fail(err, mt_builder_err(a->b)->rc, "%s", mt_builder_err(a->b)->msg);
    return a->t->damaged ? MT_WARN : MT_OK;
}

static enum mt_rc read(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err)
{
    struct mt_as a = {.t = t, .lim = lim, .next_addr = UINT64_C(1) << 61};
    enum mt_rc rc;
    t->meta.format = MT_FMT_PROFILER;
    t->meta.is_npu_table = true;
    a.b = mt_builder_new(t, lim);
    rc = a.b != NULL ? run(&a, src, err) : mt_fail(err, MT_ENOMEM, "out of memory");
    mt_builder_free(a.b);
    MT_VEC_DONE(&a.events);
    return rc;
}

static int probe(const unsigned char *p, size_t n)
{
    struct head h;
    const unsigned char *nl;
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
        n -= 3;
    }
    nl = memchr(p, '\n', n);
    return n > 4 && (*p == 'N' || *p == 'D' || *p == '"') &&
                   head_of(&h, (const char *)p, nl != NULL ? (size_t)(nl - p) : n)
               ? 95
               : 0;
}

const struct mt_reader mt_reader_ascend = {
    .name = "ascend",
    .desc = "operator_memory.csv of torch_npu's profiler",
    .probe = probe,
    .read = read,
};
