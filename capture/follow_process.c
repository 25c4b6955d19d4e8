/* follow_process.c -- what the records of one process say about now: who holds what, which ranges
 * are open, the newest samples, failures. Bounded: what does not fit is left out. */
#include "capture/follow.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
enum {
    STRINGS_MAX = 1 << 20,
    FRAMES_MAX = 128,
    OPEN_MAX = 256,
    ROWS_MAX = 4096,
    DEVICES_MAX = 256
};

struct reader {
    const unsigned char *p, *end;
    bool bad;
};

static uint64_t u(struct reader *r)
{
    uint64_t v = 0;
    if (!mt_get_varint(&r->p, r->end, &v))
        r->bad = true;
    return v;
}

static char *str(struct reader *r)
{
    uint64_t n = u(r);
    const char *s = (const char *)r->p;
    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return mt_strndup(s, (size_t)n);
}

/* ---- who holds what ---- */

static uint32_t row_of(struct mt_live_process *p, uint32_t owner, uint64_t ordinal)
{
    int32_t at = ordinal < DEVICES_MAX ? (int32_t)ordinal : -1;
    struct mt_live_row *r;
    for (uint32_t i = 0; i < p->rows.n; i++)
        if (p->rows.p[i].owner == owner && p->rows.p[i].ordinal == at)
            return i;
    if (p->rows.n >= ROWS_MAX || (r = MT_VEC_PUSH(&p->rows)) == NULL)
        return 0;
    *r = (struct mt_live_row){.owner = owner, .ordinal = at};
    return p->rows.n - 1;
}

static uint32_t owner_of(void *arg, uint64_t stack, uint64_t ordinal)
{
    struct mt_live_process *p = arg;
    struct mt_live_read *read = p->read;
    const struct mt_cell *c = stack != 0 ? mt_table_find(&read->stacks, stack) : NULL;
    if (c != NULL)
        return row_of(p, (uint32_t)c->a, ordinal);
    if (!read->has_unknown)
        read->unknown = p->live->o.owner(p->live->o.arg, p, NULL, 0);
    read->has_unknown = true;
    return row_of(p, read->unknown, ordinal);
}

static void moved(void *arg, uint32_t row, int64_t bytes, uint64_t time)
{
    struct mt_live_process *p = arg;
    struct mt_live_row *r;
    uint64_t last;
    if (row >= p->rows.n)
        return;
    r = &p->rows.p[row];
    last = r->n_history != 0 ? r->history[(r->n_history - 1) % MT_LIVE_HISTORY].second : 0;
    if (r->n_history == 0 || time / SECOND > last) {
        r->history[r->n_history % MT_LIVE_HISTORY].second = time / SECOND;
        r->history[r->n_history++ % MT_LIVE_HISTORY].before = r->bytes;
    }
    r->bytes += bytes;
}

int64_t mt_live_row_at(const struct mt_live_row *r, uint64_t time_ns, uint64_t *from)
{
    uint64_t first = r->n_history > MT_LIVE_HISTORY ? r->n_history - MT_LIVE_HISTORY : 0;
    *from = time_ns;
    for (uint64_t i = first; i < r->n_history; i++) {
        uint64_t second = r->history[i % MT_LIVE_HISTORY].second;
        if (second * SECOND < time_ns)
            continue;
        if (i == first && first != 0) /* nothing older is known */
            *from = second * SECOND;
        return r->history[i % MT_LIVE_HISTORY].before;
    }
    return r->bytes;
}

static void failed(void *arg, uint64_t result, uint64_t bytes, uint32_t row, uint64_t time)
{
    struct mt_live_process *p = arg;
    if (result != 2) /* CUDA_ERROR_OUT_OF_MEMORY */
        return;
    p->n_ooms++;
    p->oom_time = time;
    p->oom_bytes = bytes;
    p->oom_row = row;
}

/* ---- records ---- */

static void stack(struct mt_live_process *p, struct reader *r)
{
    struct mt_live_frame f[FRAMES_MAX];
    const struct mt_tally *t = &p->read->tally;
    uint64_t id = u(r), n = u(r);
    uint32_t k = 0;
    struct mt_cell *c;
    for (uint64_t i = 0; i < n && !r->bad && r->p < r->end; i++) {
        uint64_t module = u(r), offset = u(r);
        const char *path =
            module > 0 && module <= t->modules.n ? t->modules.p[module - 1].path : NULL;
        if (k < FRAMES_MAX)
            f[k++] = (struct mt_live_frame){path != NULL ? mt_base_name(path) : "",
                                            path != NULL ? (uint32_t)module : 0, offset};
    }
    c = r->bad ? NULL : mt_table_put(&p->read->stacks, id);
    if (c != NULL)
        c->a = p->live->o.owner(p->live->o.arg, p, f, k);
}

static void string(struct mt_live_process *p, struct reader *r)
{
    uint64_t id = u(r);
    if (r->bad || id == 0 || id > STRINGS_MAX)
        return;
    while (p->strings.n < id) {
        char **slot = MT_VEC_PUSH(&p->strings);
        if (slot == NULL)
            return;
        *slot = NULL;
    }
    mt_free(p->strings.p[id - 1]);
    p->strings.p[id - 1] = mt_strndup((const char *)r->p, (size_t)(r->end - r->p));
}

static struct mt_live_device *device_at(struct mt_live_process *p, uint64_t index)
{
    struct mt_live_device *d;
    for (uint32_t i = 0; i < p->devices.n; i++)
        if (p->devices.p[i].index == index)
            return &p->devices.p[i];
    if (index >= DEVICES_MAX || p->devices.n >= DEVICES_MAX ||
        (d = MT_VEC_PUSH(&p->devices)) == NULL)
        return NULL;
    *d = (struct mt_live_device){.index = (uint32_t)index, .ordinal = -1};
    return d;
}

static void device(struct mt_live_process *p, struct reader *r)
{
    struct mt_live_device *d = device_at(p, u(r));
    uint64_t ordinal = u(r);
    if (d == NULL || r->bad)
        return;
    d->ordinal = ordinal != 0 && ordinal <= DEVICES_MAX ? (int32_t)ordinal - 1 : -1;
    d->total = u(r);
    mt_free(d->uuid);
    d->uuid = str(r);
    mt_free(str(r)); /* the PCI id */
    mt_free(d->name);
    d->name = str(r);
}

static void sample(struct mt_live_process *p, struct reader *r, uint64_t time)
{
    struct mt_live_device *d = device_at(p, u(r));
    uint64_t n;
    if (d == NULL || r->bad)
        return;
    (void)u(r);
    d->sampled = time;
    d->recorded = 0;
    for (uint32_t i = 0; i < p->rows.n; i++)
        d->recorded += p->rows.p[i].ordinal == d->ordinal ? p->rows.p[i].bytes : 0;
    d->used = u(r);
    (void)u(r);
    d->sample_total = u(r);
    n = u(r);
    d->uses.n = 0;
    for (uint64_t i = 0; i < n && !r->bad && r->p < r->end; i++) {
        struct mt_live_use use = {.pid = (uint32_t)u(r)}, *slot;
        use.bytes = u(r);
        slot = MT_VEC_PUSH(&d->uses);
        if (slot != NULL)
            *slot = use;
    }
}

static void begin(struct mt_live_process *p, struct reader *r, uint64_t time, uint64_t tid,
                  bool by_thread)
{
    struct mt_live_range range = {.time = time, .tid = tid, .by_thread = by_thread}, *slot;
    range.domain = (uint32_t)u(r);
    range.name = (uint32_t)u(r);
    (void)u(r);
    range.id = by_thread ? 0 : u(r);
    if (r->bad || p->open.n >= OPEN_MAX)
        return;
    slot = MT_VEC_PUSH(&p->open);
    if (slot != NULL)
        *slot = range;
}

/* The newest that fits ends; one that began before the recording is not there. */
static void end(struct mt_live_process *p, struct reader *r, uint64_t tid, bool by_thread)
{
    uint32_t domain = (uint32_t)u(r);
    uint64_t id;
    (void)u(r);
    id = by_thread ? 0 : u(r);
    for (uint32_t i = p->open.n; !r->bad && i-- > 0;) {
        const struct mt_live_range *o = &p->open.p[i];
        if (o->by_thread != by_thread ||
            (by_thread ? o->tid != tid || o->domain != domain : o->id != id))
            continue;
        memmove(&p->open.p[i], &p->open.p[i + 1], (p->open.n - i - 1) * sizeof *p->open.p);
        p->open.n--;
        return;
    }
}

static void record(void *arg, uint64_t type, const unsigned char *payload, const unsigned char *e,
                   uint64_t time, uint64_t tid)
{
    struct mt_live_process *p = arg;
    struct reader r = {.p = payload, .end = e};
    switch (type) {
    case MT_WR_STACK: stack(p, &r); return;
    case MT_WR_STRING: string(p, &r); return;
    case MT_WR_DEVICE: device(p, &r); return;
    case MT_WR_GPU_SAMPLE: sample(p, &r, time); return;
    case MT_WR_HOST_SAMPLE:
        p->rss = u(&r);
        p->host_sampled = time;
        return;
    case MT_WR_RANGE_PUSH:
    case MT_WR_RANGE_START: begin(p, &r, time, tid, type == MT_WR_RANGE_PUSH); return;
    case MT_WR_RANGE_POP:
    case MT_WR_RANGE_END: end(p, &r, tid, type == MT_WR_RANGE_POP); return;
    default: return;
    }
}

/* ---- a process ---- */

struct mt_live_process *mt_live_process_new(struct mt_live *l, const struct mt_found *f)
{
    struct mt_live_process *p = mt_calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->live = l;
    p->uid = f->uid;
    p->pid = f->pid;
    p->runs = true;
    p->stem = mt_strndup(f->stem, strlen(f->stem));
    p->host = mt_strndup(f->host, strlen(f->host));
    p->read = mt_calloc(1, sizeof *p->read);
    if (p->stem == NULL || p->host == NULL || p->read == NULL) {
        mt_live_process_free(p);
        return NULL;
    }
    mt_tally_init(&p->read->tally);
    p->read->watch = (struct mt_watch){p, owner_of, moved, failed, record};
    p->read->tally.watch = &p->read->watch;
    p->read->number = f->numbers.n != 0 ? f->numbers.p[0] : 0;
    return p;
}

void mt_live_process_end(struct mt_live_process *p)
{
    for (uint32_t i = 0; i < p->rows.n; i++)
        p->rows.p[i].bytes = 0;
    p->open.n = 0;
    p->runs = false;
    p->ended = true;
}

void mt_live_process_free(struct mt_live_process *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->devices.n; i++) {
        mt_free(p->devices.p[i].uuid);
        mt_free(p->devices.p[i].name);
        MT_VEC_DONE(&p->devices.p[i].uses);
    }
    for (uint32_t i = 0; i < p->strings.n; i++)
        mt_free(p->strings.p[i]);
    MT_VEC_DONE(&p->devices);
    MT_VEC_DONE(&p->strings);
    MT_VEC_DONE(&p->rows);
    MT_VEC_DONE(&p->open);
    if (p->read != NULL) {
        mt_tally_done(&p->read->tally);
        mt_table_done(&p->read->stacks);
        mt_free(p->read->name);
    }
    mt_free(p->read);
    mt_free(p->stem);
    mt_free(p->host);
    mt_free(p);
}

const char *mt_live_string(const struct mt_live_process *p, uint32_t id)
{
    return id != 0 && id <= p->strings.n && p->strings.p[id - 1] != NULL ? p->strings.p[id - 1]
                                                                         : "";
}

const char *mt_live_name(const struct mt_live_process *p)
{
    if (p->read->name == NULL)
        p->read->name = mt_tally_name(&p->read->tally);
    return p->read->name != NULL ? p->read->name : "?";
}

int32_t mt_live_rank(const struct mt_live_process *p) { return p->read->tally.rank; }
uint64_t mt_live_time(const struct mt_live_process *p) { return p->read->tally.last_realtime; }
uint64_t mt_live_calls(const struct mt_live_process *p) { return p->read->tally.calls; }
bool mt_live_has_cuda(const struct mt_live_process *p) { return p->read->tally.has_cuda; }
uint64_t mt_live_lost(const struct mt_live_process *p)
{
    return p->read->tally.dropped + p->read->tally.missing;
}
