/* live_rest.c -- what stays of records that are no calls: ranges that are open, or were when an
 * allocation failed; the first and the last samples and those of failures; all that was said of the
 * recording; marks of the Python hook. All lists have an end. */
#define _GNU_SOURCE 1
#include "capture/inject/live.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPEN_MAX = 4096,     /* of open ranges the newest, or a sixteenth less */
    CLOSED_MAX = 4096,   /* ranges in which something failed: the first */
    MARKS_MAX = 256,     /* of the Python hook's the newest: when a snapshot was taken */
    SAMPLES_FIRST = 256, /* of failures */
    SAMPLES_NEWEST = 768,
    STATUS_MAX = 4096,
    DEVICES = 64
};

struct text { /* a record with its payload */
    struct mti_live_record r;
    unsigned char *bytes;
};
struct range {
    uint64_t time, domain, name, id;
    uint32_t tid;
    uint8_t type, source;
    bool stays; /* something failed in it */
};
struct closed {
    struct range r;
    uint64_t end;
    uint32_t tid;
};

static struct {
    struct range *open, *marks;
    struct closed *closed;
    struct text *status, *failed;
    uint32_t n_open, cap_open, n_marks, cap_marks, n_closed, cap_closed;
    uint32_t n_status, cap_status, n_failed, cap_failed, oldest, oldest_mark;
    struct text first[DEVICES], last[DEVICES], host, loss[MT_LO_CHUNKS + 1], end;
} R;

static uint64_t number(const struct mti_live_record *r, size_t *at)
{
    const unsigned char *p = r->payload + *at;
    uint64_t v = 0;
    if (!mt_get_varint(&p, r->payload + r->n, &v))
        p = r->payload + r->n;
    *at = (size_t)(p - r->payload);
    return v;
}

static bool keep(struct text *t, const struct mti_live_record *r)
{
    unsigned char *p = realloc(t->bytes, r->n ? r->n : 1);
    if (!p)
        return false;
    if (r->n)
        memcpy(p, r->payload, r->n);
    t->r = *r;
    t->bytes = p;
    return true;
}

/* ---- ranges ---- */

static struct range read_range(const struct mti_live_record *r)
{
    struct range g = {.time = r->time, .tid = r->tid, .type = (uint8_t)r->type};
    size_t at = 0;
    g.domain = number(r, &at);
    if (r->type != MT_WR_RANGE_POP && r->type != MT_WR_RANGE_END)
        g.name = number(r, &at);
    g.source = (uint8_t)number(r, &at);
    if (r->type == MT_WR_RANGE_START || r->type == MT_WR_RANGE_END)
        g.id = number(r, &at);
    return g;
}

static bool begin(const struct range *g)
{
    if (R.n_open == OPEN_MAX) { /* its oldest were never closed; some at a time: this is a copy */
        R.n_open -= OPEN_MAX / 16;
        memmove(R.open, R.open + OPEN_MAX / 16, R.n_open * sizeof *R.open);
    }
    if (!mti_live_grow(&R.open, R.n_open, &R.cap_open, sizeof *R.open))
        return false;
    R.open[R.n_open++] = *g;
    return true;
}

static bool ends(const struct range *begun, const struct range *g)
{
    if (g->type == MT_WR_RANGE_POP)
        return begun->type == MT_WR_RANGE_PUSH && begun->tid == g->tid &&
               begun->domain == g->domain;
    return begun->type == MT_WR_RANGE_START && begun->id == g->id;
}

static bool end(const struct range *g)
{
    uint32_t i = R.n_open;
    while (i > 0 && !ends(&R.open[i - 1], g))
        i--;
    if (i == 0)
        return true;
    struct range was = R.open[--i];
    R.n_open--;
    memmove(R.open + i, R.open + i + 1, (R.n_open - i) * sizeof *R.open);
    if (!was.stays || R.n_closed == CLOSED_MAX)
        return true;
    if (!mti_live_grow(&R.closed, R.n_closed, &R.cap_closed, sizeof *R.closed))
        return false;
    R.closed[R.n_closed++] = (struct closed){was, g->time, g->tid};
    return true;
}

static bool mark(const struct range *g)
{
    if (g->source != MT_WS_HOOK)
        return true;
    if (R.n_marks == MARKS_MAX) {
        R.marks[R.oldest_mark] = *g;
        R.oldest_mark = (R.oldest_mark + 1) % MARKS_MAX;
        return true;
    }
    if (!mti_live_grow(&R.marks, R.n_marks, &R.cap_marks, sizeof *R.marks))
        return false;
    R.marks[R.n_marks++] = *g;
    return true;
}

void mti_live_rest_failed(void)
{
    for (uint32_t i = 0; i < R.n_open; i++)
        R.open[i].stays = true;
}

/* ---- samples, and what is said ---- */

static bool gpu_sample(const struct mti_live_record *r)
{
    size_t at = 0;
    uint64_t device = number(r, &at), why = number(r, &at);
    if (device >= DEVICES)
        return true;
    if (why == MT_WY_START && !R.first[device].bytes && !keep(&R.first[device], r))
        return false;
    if (why != MT_WY_OOM)
        return keep(&R.last[device], r);
    if (R.n_failed == SAMPLES_FIRST + SAMPLES_NEWEST) {
        struct text *t = &R.failed[SAMPLES_FIRST + R.oldest];
        R.oldest = (R.oldest + 1) % SAMPLES_NEWEST;
        return keep(t, r);
    }
    if (!mti_live_grow(&R.failed, R.n_failed, &R.cap_failed, sizeof *R.failed))
        return false;
    R.failed[R.n_failed] = (struct text){.bytes = NULL};
    return keep(&R.failed[R.n_failed++], r);
}

static bool status(const struct mti_live_record *r)
{
    if (R.n_status == STATUS_MAX)
        return true;
    if (!mti_live_grow(&R.status, R.n_status, &R.cap_status, sizeof *R.status))
        return false;
    R.status[R.n_status] = (struct text){.bytes = NULL};
    return keep(&R.status[R.n_status++], r);
}

static bool loss(const struct mti_live_record *r)
{
    size_t at = 0;
    uint64_t what = number(r, &at);
    return what > MT_LO_CHUNKS || keep(&R.loss[what], r);
}

bool mti_live_rest(const struct mti_live_record *r)
{
    struct range g;
    switch (r->type) {
    case MT_WR_RANGE_PUSH:
    case MT_WR_RANGE_START: g = read_range(r); return begin(&g);
    case MT_WR_RANGE_POP:
    case MT_WR_RANGE_END: g = read_range(r); return end(&g);
    case MT_WR_MARK: g = read_range(r); return mark(&g);
    case MT_WR_GPU_SAMPLE: return gpu_sample(r);
    case MT_WR_HOST_SAMPLE: return keep(&R.host, r);
    case MT_WR_STATUS: return status(r);
    case MT_WR_LOSS: return loss(r);
    case MT_WR_END: return keep(&R.end, r);
    default: return true;
    }
}

/* ---- as records ---- */

static void write_text(struct mti_kept *out, const struct text *t)
{
    if (t->bytes)
        mti_kept_timed(out, t->r.type, t->r.time, t->r.tid, t->bytes, t->r.n);
}

static void write_range(struct mti_kept *out, const struct range *g)
{
    unsigned char p[4 * MT_VARINT_MAX], *e = mt_put_varint(p, g->domain);
    if (g->type != MT_WR_RANGE_POP && g->type != MT_WR_RANGE_END)
        e = mt_put_varint(e, g->name);
    e = mt_put_varint(e, g->source);
    if (g->type == MT_WR_RANGE_START || g->type == MT_WR_RANGE_END)
        e = mt_put_varint(e, g->id);
    mti_kept_timed(out, g->type, g->time, g->tid, p, (size_t)(e - p));
}

static void write_closed(struct mti_kept *out, const struct closed *c)
{
    struct range g = c->r;
    write_range(out, &g);
    g.type = g.type == MT_WR_RANGE_PUSH ? MT_WR_RANGE_POP : MT_WR_RANGE_END;
    g.time = c->end;
    g.tid = c->tid;
    write_range(out, &g);
}

void mti_live_rest_write(struct mti_kept *out)
{
    for (uint32_t i = 0; i < R.n_closed; i++)
        write_closed(out, &R.closed[i]);
    for (uint32_t i = 0; i < R.n_open; i++)
        write_range(out, &R.open[i]);
    for (uint32_t i = 0; i < R.n_marks; i++)
        write_range(out, &R.marks[i]);
    for (uint32_t i = 0; i < R.n_status; i++)
        write_text(out, &R.status[i]);
    for (uint32_t i = 0; i < R.n_failed; i++)
        write_text(out, &R.failed[i]);
    for (uint32_t i = 0; i < DEVICES; i++) {
        write_text(out, &R.first[i]);
        write_text(out, &R.last[i]);
    }
    for (uint32_t i = 0; i <= MT_LO_CHUNKS; i++)
        write_text(out, &R.loss[i]);
    write_text(out, &R.host);
    write_text(out, &R.end);
}

void mti_live_rest_forget(void) { memset(&R, 0, sizeof R); }
