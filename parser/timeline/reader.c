/* timeline/reader.c -- what torch.profiler's export_memory_timeline() writes: bytes by category
 * over time.
 *
 * ".json": [times, sizes], a row of bytes by category for each time in microseconds; the first
 * number of a row is always 0. ".raw.json.gz": rows of [nanoseconds, action, bytes, category],
 * bytes below 0 for what went; -1 is the time of what was there before. Source:
 * torch/profiler/_memory_profiler.py, MemoryProfileTimeline. Neither has addresses, and of the
 * former only changes are known, so blocks are made up (parser/profiler/feed.h). */
#include "parser/json/text.h"
#include "parser/profiler/feed.h"
#include "parser/model/reader.h"

#include <string.h>

/* _CATEGORY_TO_INDEX; the last is None */
static const char *const categories[] = {"PARAMETER",       "OPTIMIZER_STATE", "INPUT",
                                         "TEMPORARY",       "ACTIVATION",      "GRADIENT",
                                         "AUTOGRAD_DETAIL", "no category"};
enum { N_CATEGORIES = sizeof categories / sizeof *categories };

struct change { /* a row */
    int64_t ts, bytes;
    uint32_t category;
};

struct timeline {
    struct mt_json j;
    struct mt_trace *t;
    const struct mt_limits *lim;
    struct mt_builder *b;
    struct mt_pf_feed feed;
    mt_stack_id stack[N_CATEGORIES];
    MT_VEC(int64_t) times;
    MT_VEC(struct change) before; /* without a time */
    struct change gone;           /* the first half of a new version; bytes 0 = none */
    int64_t last[N_CATEGORIES];   /* of .json: the row before */
    bool is_raw, alien;           /* alien: numbers that are no timeline */
    uint64_t n_rows;
};

static int nomem(struct timeline *l)
{
    return mt_json_stop(&l->j, MT_ENOMEM, "out of memory after %llu MiB (--max-memory)",
                        (unsigned long long)(mt_mem_used() >> 20));
}

static int alien(struct timeline *l)
{
    mt_json_expected(&l->j, "a row of a memory timeline");
    l->alien = l->j.fail == MT_JF_BAD; /* and not the end of the text */
    return 0;
}

static int refused(struct timeline *l)
{
    const struct mt_err *e = mt_builder_err(l->b);
    return l->feed.nomem ? nomem(l) : mt_json_stop(&l->j, e->rc, "%s", e->msg);
}

/* The next number of a list: 1 = it is in *x, -1 = the list is over, 0 = stopped. */
static int number(struct timeline *l, struct mt_val *x)
{
    struct mt_json *j = &l->j;
    int c;
    while ((c = mt_json_space(j)) == ',')
        j->p++;
    if (c == ']') {
        j->p++;
        return -1;
    }
    if (c == '[' || c == '{' || c == '"')
        return alien(l);
    return mt_json_scalar(j, x) ? 1 : 0;
}

/* The numbers of one list; p at '['. *n: how many there were, of which `most` are kept. */
static int row(struct timeline *l, int64_t *v, uint32_t most, uint32_t *n)
{
    struct mt_json *j = &l->j;
    int c = mt_json_space(j);
    if (c != '[')
        return alien(l);
    j->p++;
    for (*n = 0;;) {
        struct mt_val x;
        int got = number(l, &x);
        if (got != 1)
            return got == -1;
        if (x.type != MT_T_INT && x.type != MT_T_FLOAT)
            return alien(l);
        if (x.type == MT_T_FLOAT && !(x.d > -9e18 && x.d < 9e18))
            return alien(l);
        if (*n < most)
            v[*n] = x.type == MT_T_INT ? x.i : (int64_t)x.d;
        (*n)++;
    }
}

static int raw_event(struct timeline *l, const struct change *r, int64_t ts)
{
    mt_stack_id stack = l->stack[r->category];
    uint64_t n = r->bytes < 0 ? 0 - (uint64_t)r->bytes : (uint64_t)r->bytes;
    if (n == 0)
        return 1;
    return (r->bytes > 0 ? mt_pf_alloc(&l->feed, ts, NULL, n, r->category, stack)
                         : mt_pf_free(&l->feed, ts, NULL, n, r->category, 0)) ||
           refused(l);
}

/* What waited: the rows before the first time, and a half version. */
static int flush(struct timeline *l, int64_t ts)
{
    struct change gone = l->gone;
    for (uint32_t i = 0; i < l->before.n; i++)
        if (!raw_event(l, &l->before.p[i], ts))
            return 0;
    l->before.n = 0;
    l->gone.bytes = 0;
    return raw_event(l, &gone, gone.ts);
}

static bool is_size(int64_t v) { return v > -(INT64_C(1) << 56) && v < INT64_C(1) << 56; }

/* A tensor that is written in place is a new version of it: two rows, of which the first takes the
 * bytes from a category and the second gives them to one. Of the same category it is the same
 * block. */
static int raw_row(struct timeline *l, const int64_t v[4], uint32_t n)
{
    enum { VERSION = 3 };
    struct change r, *slot;
    if (n != 4 || v[1] < 0 || v[1] > 4 || v[3] < 0 || v[3] >= N_CATEGORIES || !is_size(v[2]))
        return alien(l);
    l->n_rows++;
    r = (struct change){v[0], v[2], (uint32_t)v[3]};
    if (r.ts <= 0) {
        if ((slot = MT_VEC_PUSH(&l->before)) == NULL)
            return nomem(l);
        *slot = r;
        return 1;
    }
    if (v[1] == VERSION && l->gone.bytes == -r.bytes && l->gone.category == r.category &&
        l->gone.ts == r.ts) {
        l->gone.bytes = 0;
        return 1;
    }
    if (!flush(l, r.ts))
        return 0;
    if (v[1] != VERSION || r.bytes > 0)
        return raw_event(l, &r, r.ts);
    l->gone = r;
    return 1;
}

/* What went first, so that no moment is higher than the recording. */
static int sizes_row(struct timeline *l, const int64_t *v, uint32_t n)
{
    int64_t ts;
    if (n < 2 || n > N_CATEGORIES + 1 || v[0] != 0)
        return alien(l);
    if (l->n_rows >= l->times.n)
        return 1;
    ts = l->times.p[l->n_rows++] * 1000;
    for (int more = 0; more < 2; more++)
        for (uint32_t c = 0; c + 1 < n; c++) {
            int64_t by = v[c + 1] - l->last[c];
            if (v[c + 1] < 0 || !is_size(v[c + 1]))
                return alien(l);
            if (by == 0 || (by > 0) != (more == 1))
                continue;
            if (!mt_pf_change(&l->feed, ts, by, c, l->stack[c]))
                return refused(l);
            l->last[c] = v[c + 1];
        }
    return 1;
}

static int times(struct timeline *l)
{
    struct mt_json *j = &l->j;
    for (;;) {
        struct mt_val x;
        int64_t *slot;
        int got = number(l, &x);
        if (got != 1)
            return got == -1;
        if (x.type != MT_T_INT || x.i < 0 || x.i > INT64_MAX / 1000)
            return alien(l);
        if (l->times.n >= l->lim->max_events)
            return mt_json_stop(j, MT_ELIMIT, "more than %llu times (raise --max-events)",
                                (unsigned long long)l->lim->max_events);
        if ((slot = MT_VEC_PUSH(&l->times)) == NULL)
            return nomem(l);
        *slot = x.i;
    }
}

/* Rows up to the ']' of their list. */
static int rows(struct timeline *l)
{
    int64_t v[N_CATEGORIES + 1] = {0};
    uint32_t n = 0;
    for (;;) {
        int c = mt_json_space(&l->j);
        if (c == ',') {
            l->j.p++;
            continue;
        }
        if (c == ']') {
            l->j.p++;
            return 1;
        }
        if (!row(l, v, N_CATEGORIES + 1, &n) ||
            !(l->is_raw ? raw_row(l, v, n) : sizes_row(l, v, n)))
            return 0;
    }
}

/* p at "[[" */
static int document(struct timeline *l)
{
    struct mt_json *j = &l->j;
    if (mt_json_space(j) != '[')
        return mt_json_expected(j, "'['");
    j->p++;
    if (l->is_raw)
        return rows(l);
    if (mt_json_space(j) != '[')
        return alien(l);
    j->p++;
    if (!times(l))
        return 0;
    if (mt_json_space(j) == ',')
        j->p++;
    if (mt_json_space(j) != '[')
        return alien(l);
    j->p++;
    return rows(l) && (mt_json_space(j) == ']' || mt_json_expected(j, "']'"));
}

static int stacks(struct timeline *l)
{
    for (uint32_t c = 0; c < N_CATEGORIES; c++) {
        char name[64] = "category ";
        mt_frame_id f;
        mt_str_id s;
        strcat(name, categories[c]);
        if (!mt_build_str(l->b, name, strlen(name), &s) || !mt_build_frame(l->b, s, 0, 0, &f) ||
            !mt_build_stack(l->b, &f, 1, &l->stack[c]))
            return refused(l);
    }
    return 1;
}

/* "[[1, 2, 3, 4]," is a row; a list of times has other lengths, or rows behind it. */
static bool is_raw(const unsigned char *p, size_t n)
{
    unsigned commas = 0;
    size_t i = 2;
    for (; i < n && p[i] != ']'; i++)
        commas += p[i] == ',';
    for (i++; i < n && (p[i] == ',' || p[i] == ' '); i++)
        ;
    return commas == 3 && !(i + 1 < n && p[i] == '[' && p[i + 1] == '[');
}

static enum mt_rc finish(struct timeline *l, bool whole, struct mt_err *err)
{
    struct mt_json *j = &l->j;
    if (!whole && j->fail == MT_JF_STOP)
        return *err = j->why, j->why.rc;
    if (l->n_rows == 0 || l->alien)
        return mt_fail_at(err, MT_EINPUT, mt_json_offset(j),
                          "lists of numbers that begin as a memory timeline of torch.profiler "
                          "(export_memory_timeline) and are none: %s",
                          j->fail != MT_JF_NONE ? j->why.msg : "no row follows");
    if (!whole)
        mt_trace_diag(l->t, MT_DIAG_DAMAGE, true, mt_json_offset(j),
                      "%s after %llu rows of the memory timeline: everything after it is missing",
                      j->fail != MT_JF_END      ? "the text is damaged"
                      : j->src->status != MT_OK ? j->src->err.msg
                                                : "the text ends",
                      (unsigned long long)l->n_rows);
    j->fail = MT_JF_NONE;
    if (!flush(l, 0))
        return *err = j->why, j->why.rc;
    mt_build_totals(l->b, MT_DEV_CUDA, 0, (uint64_t)l->feed.live - (uint64_t)l->feed.low, 0, 0);
    mt_trace_diag(l->t, MT_DIAG_NOTE, false, 0,
                  "a memory timeline (export_memory_timeline) knows bytes by the profiler's "
                  "category and time, of one device that it does not name: no code, no phase, "
                  "nothing of what was reserved%s",
                  l->is_raw ? "" : ", and of blocks only that more or less of a category was live");
    if (!mt_build_finish(l->b) && !refused(l))
        return *err = j->why, j->why.rc;
    return l->t->damaged ? MT_WARN : MT_OK;
}

static enum mt_rc read(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err)
{
    struct timeline *l = mt_calloc(1, sizeof *l);
    size_t n = mt_source_need(src, 4096);
    enum mt_rc rc = MT_ENOMEM;
    if (l == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    t->meta.format = MT_FMT_PROFILER;
    t->meta.is_timeline = true;
    l->is_raw = is_raw(src->cur, n < 4096 ? n : 4096);
    mt_json_init(&l->j, src, lim);
    l->t = t;
    l->lim = lim;
    l->b = mt_builder_new(t, lim);
    mt_pf_feed_init(&l->feed, l->b);
    if (l->b == NULL)
        mt_fail(err, rc, "out of memory");
    else if (!mt_build_trace_begin(l->b, 0, MT_DEV_CUDA) || !stacks(l))
        mt_fail(err, rc, "%s", mt_builder_err(l->b)->msg);
    else
        rc = finish(l, document(l), err);
    t->meta.bytes = mt_json_offset(&l->j);
    mt_json_done(&l->j);
    mt_pf_feed_done(&l->feed);
    mt_builder_free(l->b);
    MT_VEC_DONE(&l->times);
    MT_VEC_DONE(&l->before);
    mt_free(l);
    return rc;
}

/* Lists of numbers, as far as the first bytes go. */
static int probe(const unsigned char *p, size_t n)
{
    uint32_t numbers = 0;
    size_t i = 2;
    if (n < 3 || p[0] != '[' || p[1] != '[')
        return 0;
    for (bool in = false; i < n && p[i] != ']'; i++) {
        bool digit = p[i] >= '0' && p[i] <= '9';
        if (!digit && p[i] != '-' && p[i] != ',' && p[i] != ' ' && p[i] != '.')
            return 0;
        numbers += digit && !in;
        in = digit || (in && p[i] == '.');
    }
    if (i == n) /* times of a whole run */
        return numbers > 16 ? 95 : 0;
    for (i++; i < n && (p[i] == ',' || p[i] == ' '); i++)
        ;
    return i < n && p[i] == '[' && (numbers == 4 || (i + 1 < n && p[i + 1] == '[')) ? 95 : 0;
}

const struct mt_reader mt_reader_timeline = {
    .name = "timeline",
    .desc = "memory timeline of torch.profiler: export_memory_timeline()",
    .probe = probe,
    .read = read,
};
