/* tally.c -- reads the records of one process as they are copied: how many calls, what they held,
 * what went wrong. For the summary and for the frames that need a name; the report reads the trace
 * anew. Bounded: tables have a largest size, and what does not fit is left out of the summary only.
 */
#include "capture/parts.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define MODULES_MAX 65536u
#define FRAMES_MAX 262144u
#define STATUSES_MAX 256u
#define ARGV_MAX 64u

enum effect {
    NONE,
    DEVICE_ADD,
    DEVICE_SUB,
    MANAGED_ADD,
    HOST_ADD,
    HOST_SUB,
    POOL_ADD,
    POOL_SUB,
    VMM,
    HANDLE_ADD,
    HANDLE_SUB,
    CHANGE
};
#define MT_OP_EFFECT(sym, name, effect) effect,
static const unsigned char effects[] = {MT_WIRE_OPS(MT_OP_EFFECT)};
#undef MT_OP_EFFECT

struct reader {
    const unsigned char *p, *end;
    bool bad;
};
struct delta {
    uint64_t time, tid, addr, handle, context, pool, corr;
};

static uint64_t u(struct reader *r)
{
    uint64_t v = 0;
    if (!mt_get_varint(&r->p, r->end, &v))
        r->bad = true;
    return v;
}

static uint64_t d(struct reader *r, uint64_t *state)
{
    return *state += (uint64_t)mt_unzigzag(u(r));
}

static const char *str(struct reader *r, size_t *n)
{
    uint64_t len = u(r);
    const char *s = (const char *)r->p;
    if (r->bad || len > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        *n = 0;
        return "";
    }
    r->p += len;
    *n = (size_t)len;
    return s;
}

static void timed(struct reader *r, struct delta *st)
{
    (void)d(r, &st->time);
    (void)d(r, &st->tid);
}

void mt_tally_init(struct mt_tally *t)
{
    memset(t, 0, sizeof *t);
    t->rank = -1;
    t->rank_from = UINT32_MAX;
}

void mt_tally_done(struct mt_tally *t)
{
    for (uint32_t i = 0; i < t->argv.n; i++)
        mt_free(t->argv.p[i]);
    for (uint32_t i = 0; i < t->modules.n; i++)
        mt_free(t->modules.p[i].path);
    for (uint32_t i = 0; i < t->statuses.n; i++)
        mt_free(t->statuses.p[i].text);
    MT_VEC_DONE(&t->argv);
    MT_VEC_DONE(&t->modules);
    MT_VEC_DONE(&t->statuses);
    mt_free(t->host);
    mt_free(t->visible);
    mt_table_done(&t->blocks);
    mt_table_done(&t->handles);
    mt_table_done(&t->maps);
    mt_table_done(&t->frames);
    mt_tally_init(t);
}

/* ---- facts ---- */

static bool is(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

static void keep(char **where, const char *s, size_t n)
{
    mt_free(*where);
    *where = mt_strndup(s, n);
}

static void attr(struct mt_tally *t, const char *key, size_t n_key, const char *value,
                 size_t n_value)
{
    /* the first of these that is there says the rank */
    static const char *const ranks[] = {
#define MT_RANK_VARIABLE(name) "env." name,
#include "parser/model/launchers.def"
#undef MT_RANK_VARIABLE
    };
    for (uint32_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (i < t->rank_from && is(key, n_key, ranks[i]) && n_value > 0 && n_value < 8) {
            char digits[8];
            memcpy(digits, value, n_value);
            digits[n_value] = '\0';
            if (strspn(digits, "0123456789") == n_value) {
                t->rank = (int32_t)strtol(digits, NULL, 10);
                t->rank_from = i;
            }
        }
    if (is(key, n_key, "host"))
        keep(&t->host, value, n_value);
    else if (is(key, n_key, "env.CUDA_VISIBLE_DEVICES"))
        keep(&t->visible, value, n_value);
    else if (n_key > 5 && memcmp(key, "argv.", 5) == 0 && t->argv.n < ARGV_MAX) {
        char **slot = MT_VEC_PUSH(&t->argv);
        if (slot != NULL)
            *slot = mt_strndup(value, n_value);
    }
}

static void status(struct mt_tally *t, unsigned code, unsigned level, const char *text, size_t n)
{
    struct mt_tally_status *s;
    t->started = true;
    t->driver_seen |= code == MT_ST_DRIVER;
    if (t->statuses.n >= STATUSES_MAX)
        return;
    s = MT_VEC_PUSH(&t->statuses);
    if (s == NULL)
        return;
    s->code = (uint16_t)code;
    s->level = (uint8_t)level;
    s->text = mt_strndup(text, n);
}

const char *mt_tally_status_text(const struct mt_tally *t, enum mt_wire_status code)
{
    for (uint32_t i = 0; i < t->statuses.n; i++)
        if (t->statuses.p[i].code == code)
            return t->statuses.p[i].text != NULL ? t->statuses.p[i].text : "";
    return NULL;
}

static void module(struct mt_tally *t, struct reader *r)
{
    uint64_t id = u(r);
    size_t n, n_build;
    const char *path, *build;
    struct mt_tally_module *m;

    (void)u(r);
    (void)u(r);
    path = str(r, &n);
    build = str(r, &n_build);
    if (r->bad || id == 0 || id > MODULES_MAX)
        return;
    while (t->modules.n < id)
        if (MT_VEC_PUSH(&t->modules) == NULL)
            return;
    m = &t->modules.p[id - 1];
    keep(&m->path, path, n);
    m->n_build_id = (uint32_t)(n_build <= sizeof m->build_id ? n_build : 0);
    memcpy(m->build_id, build, m->n_build_id);
}

static void stack(struct mt_tally *t, struct reader *r)
{
    uint64_t n;
    (void)u(r);
    n = u(r);
    for (uint64_t i = 0; i < n && !r->bad && r->p < r->end; i++) {
        uint64_t mod = u(r), offset = u(r);
        struct mt_cell *c;
        if (r->bad || mod == 0 || mod > MODULES_MAX || offset >> 40 != 0 ||
            t->frames.n >= FRAMES_MAX)
            continue;
        c = mt_table_put(&t->frames, mod << 40 | offset);
        if (c != NULL) {
            c->a = mod;
            c->b = offset;
        }
    }
}

/* ---- the ledger: bytes of device memory that the recorded calls hold ---- */

struct call {
    uint64_t op, mask, result, addr, size, handle, device, location, stack;
};

static void moved(const struct mt_tally *t, uint32_t row, int64_t bytes)
{
    if (t->watch != NULL && bytes != 0)
        t->watch->moved(t->watch->arg, row, bytes, t->now);
}

static void hold(struct mt_tally *t, uint64_t bytes, uint32_t row)
{
    t->held += bytes;
    if (t->held > t->peak)
        t->peak = t->held;
    moved(t, row, (int64_t)bytes);
}

static void let_go(struct mt_tally *t, const struct mt_cell *c)
{
    t->held -= c->a < t->held ? c->a : t->held;
    moved(t, c->c, -(int64_t)c->a);
}

static uint32_t row_of(const struct mt_tally *t, const struct call *c)
{
    return t->watch != NULL ? t->watch->owner(t->watch->arg, c->stack, c->device) : 0;
}

static void block_add(struct mt_tally *t, const struct call *of, uint64_t key, uint64_t bytes)
{
    struct mt_cell *c = mt_table_put(&t->blocks, key);
    if (c == NULL)
        return;
    let_go(t, c); /* its free was not seen */
    c->a = bytes;
    c->c = row_of(t, of);
    hold(t, bytes, c->c);
}

static void block_sub(struct mt_tally *t, uint64_t key)
{
    struct mt_cell *c = mt_table_find(&t->blocks, key);
    if (c == NULL)
        return;
    let_go(t, c);
    mt_table_drop(&t->blocks, key);
}

/* Physical memory goes with its last reference: create, import, retain and every mapping hold one.
 */
static void handle_ref(struct mt_tally *t, uint64_t handle, int change)
{
    struct mt_cell *c = mt_table_find(&t->handles, handle);
    if (c == NULL)
        return;
    c->b += (uint64_t)(int64_t)change;
    if ((int64_t)c->b <= 0) {
        let_go(t, c);
        mt_table_drop(&t->handles, handle);
    }
}

static void vmm(struct mt_tally *t, const struct call *c)
{
    struct mt_cell *cell;
    switch (c->op) {
    case MT_WO_VMM_CREATE:
        cell = mt_table_put(&t->handles, c->handle);
        if (cell == NULL)
            return;
        let_go(t, cell);
        cell->a = (c->mask & MT_WF_LOCATION) == 0 || c->location == 1 ? c->size : 0;
        cell->b = 1;
        cell->c = row_of(t, c);
        hold(t, cell->a, cell->c);
        return;
    case MT_WO_VMM_RETAIN: handle_ref(t, c->handle, 1); return;
    case MT_WO_VMM_RELEASE: handle_ref(t, c->handle, -1); return;
    case MT_WO_VMM_MAP:
        if (mt_table_find(&t->handles, c->handle) == NULL ||
            (cell = mt_table_put(&t->maps, c->addr)) == NULL)
            return;
        cell->a = c->handle;
        cell->b = c->size;
        handle_ref(t, c->handle, 1);
        return;
    case MT_WO_VMM_UNMAP:
        /* one call may unmap several mappings that lie side by side */
        for (uint64_t at = c->addr, left = c->size; (cell = mt_table_find(&t->maps, at)) != NULL;) {
            uint64_t handle = cell->a, size = cell->b;
            mt_table_drop(&t->maps, at);
            handle_ref(t, handle, -1);
            if (size == 0 || size >= left)
                return;
            at += size;
            left -= size;
        }
        return;
    default: return;
    }
}

static void apply(struct mt_tally *t, const struct call *c)
{
    if (c->op >= MT_WO_COUNT)
        return;
    switch ((enum effect)effects[c->op]) {
    case DEVICE_ADD:
    case POOL_ADD: block_add(t, c, c->addr, c->size); return;
    case DEVICE_SUB:
    case POOL_SUB: block_sub(t, c->addr); return;
    case HANDLE_ADD: block_add(t, c, ~c->handle, c->size); return;
    case HANDLE_SUB: block_sub(t, ~c->handle); return;
    case VMM: vmm(t, c); return;
    case NONE:
    case MANAGED_ADD:
    case HOST_ADD:
    case HOST_SUB:
    case CHANGE: return;
    }
}

static uint64_t field(struct reader *r, uint64_t mask, unsigned bit, uint64_t *state)
{
    if ((mask & bit) == 0)
        return 0;
    return state != NULL ? d(r, state) : u(r);
}

static void call(struct mt_tally *t, struct reader *r, struct delta *st)
{
    struct call c;
    memset(&c, 0, sizeof c);
    timed(r, st);
    c.op = u(r);
    (void)u(r);
    (void)u(r);
    c.mask = u(r);
    c.result = field(r, c.mask, MT_WF_RESULT, NULL);
    c.addr = field(r, c.mask, MT_WF_ADDR, &st->addr);
    c.size = field(r, c.mask, MT_WF_SIZE, NULL);
    c.handle = field(r, c.mask, MT_WF_HANDLE, &st->handle);
    (void)field(r, c.mask, MT_WF_OFFSET, NULL);
    (void)field(r, c.mask, MT_WF_STREAM, NULL);
    c.device = field(r, c.mask, MT_WF_DEVICE, NULL);
    (void)field(r, c.mask, MT_WF_CONTEXT, &st->context);
    (void)field(r, c.mask, MT_WF_POOL, &st->pool);
    (void)field(r, c.mask, MT_WF_FLAGS, NULL);
    c.stack = field(r, c.mask, MT_WF_STACK, NULL);
    (void)field(r, c.mask, MT_WF_FREE, NULL);
    (void)field(r, c.mask, MT_WF_TOTAL, NULL);
    c.location = field(r, c.mask, MT_WF_LOCATION, NULL);
    (void)field(r, c.mask, MT_WF_CHANGE, NULL);
    (void)field(r, c.mask, MT_WF_NAME, NULL);
    (void)field(r, c.mask, MT_WF_CORR, &st->corr);
    if (r->bad)
        return;
    t->calls++;
    t->has_cuda = t->started = true;
    if ((c.mask & MT_WF_DEVICE) != 0 && c.device < 64)
        t->ordinals |= UINT64_C(1) << c.device;
    if ((c.mask & MT_WF_DEVICE) == 0)
        c.device = UINT64_MAX;
    t->now = t->realtime + (st->time - t->monotonic);
    if (c.result == 0) {
        apply(t, &c);
        return;
    }
    t->failures++;
    if (t->watch != NULL)
        t->watch->failed(t->watch->arg, c.result, c.size, row_of(t, &c), t->now);
}

/* Only for the state that it shares with the calls. */
static void memory2(struct reader *r, struct delta *st)
{
    uint64_t mask;
    timed(r, st);
    (void)u(r);
    (void)u(r);
    mask = u(r);
    (void)field(r, mask, MT_WM_ADDR, &st->addr);
    (void)field(r, mask, MT_WM_SIZE, NULL);
    (void)field(r, mask, MT_WM_DEVICE, NULL);
    (void)field(r, mask, MT_WM_CONTEXT, NULL);
    (void)field(r, mask, MT_WM_STREAM, NULL);
    (void)field(r, mask, MT_WM_CORR, &st->corr);
    (void)field(r, mask, MT_WM_POOL, &st->pool);
}

static void record(struct mt_tally *t, uint64_t type, struct reader *r, struct delta *st)
{
    size_t n, n_value;
    const char *s, *value;
    uint64_t a, b;

    switch (type) {
    case MT_WR_CALL: call(t, r, st); return;
    case MT_WR_MEMORY2: memory2(r, st); return;
    case MT_WR_MEMPOOL:
        timed(r, st);
        (void)u(r);
        (void)u(r);
        (void)d(r, &st->pool);
        return;
    case MT_WR_STACK: stack(t, r); return;
    case MT_WR_MODULE: module(t, r); return;
    case MT_WR_ATTR:
        s = str(r, &n);
        value = str(r, &n_value);
        if (!r->bad)
            attr(t, s, n, value, n_value);
        return;
    case MT_WR_RANGE_PUSH:
    case MT_WR_RANGE_START:
    case MT_WR_MARK:
        t->ranges++;
        t->started = true;
        timed(r, st);
        return;
    case MT_WR_STATUS:
        timed(r, st);
        a = u(r);
        b = u(r);
        s = str(r, &n);
        if (!r->bad)
            status(t, (unsigned)(a & 0xffff), (unsigned)(b & 0xff), s, n);
        return;
    case MT_WR_LOSS:
        timed(r, st);
        a = u(r);
        b = u(r);
        if (!r->bad && a < sizeof t->losses / sizeof *t->losses && b > t->losses[a])
            t->losses[a] = b; /* totals so far */
        return;
    case MT_WR_END:
        t->ended = true;
        timed(r, st);
        return;
    case MT_WR_RANGE_POP:
    case MT_WR_RANGE_END:
    case MT_WR_GPU_SAMPLE:
    case MT_WR_HOST_SAMPLE: timed(r, st); return;
    default: return;
    }
}

uint64_t mt_checkpoint_first(const struct mt_chunk *c)
{
    struct reader r = {.p = c->raw + MT_WIRE_HEADER, .end = c->raw + MT_WIRE_HEADER + c->used};
    uint64_t first;
    if (c->kind != MT_WK_KEPT || u(&r) != MT_WR_CHECKPOINT)
        return 0;
    (void)u(&r);
    first = u(&r);
    return r.bad ? 0 : first;
}

/* Only what the watcher wants beside what a tally reads. */
static void watch(const struct mt_tally *t, uint64_t type, struct reader r, struct delta st)
{
    if (type >= MT_WR_RANGE_PUSH && type <= MT_WR_HOST_SAMPLE)
        timed(&r, &st);
    if (!r.bad)
        t->watch->record(t->watch->arg, type, r.p, r.end, t->realtime + (st.time - t->monotonic),
                         st.tid);
}

/* from: bytes of records that were read before, with the state that they left. */
static void records(struct mt_tally *t, const struct mt_chunk *c, uint32_t from, struct delta *st)
{
    struct reader r = {.p = c->raw + MT_WIRE_HEADER + from,
                       .end = c->raw + MT_WIRE_HEADER + c->used};
    while (r.p < r.end) {
        uint64_t type = u(&r), len = u(&r);
        struct reader one = {.p = r.p};
        if (r.bad || len > (uint64_t)(r.end - r.p))
            break;
        one.end = r.p += len;
        if (t->watch != NULL)
            watch(t, type, one, *st);
        record(t, type, &one, st);
        t->records++;
    }
}

void mt_tally_chunk(struct mt_tally *t, const struct mt_chunk *c)
{
    struct delta st = {.time = c->monotonic, .tid = c->pid};

    if (c->kind != MT_WK_PROCESS && c->kind != MT_WK_KEPT)
        return;
    if (t->chunks++ == 0)
        t->first_realtime = c->realtime;
    if (mt_checkpoint_first(c) > t->next_seq)
        t->next_seq = mt_checkpoint_first(c);
    t->realtime = c->realtime;
    t->monotonic = c->monotonic;
    if (c->kind == MT_WK_KEPT) {
        records(t, c, 0, &st);
        return;
    }
    if (c->seq > t->next_seq)
        t->missing += c->seq - t->next_seq;
    if (c->seq >= t->next_seq)
        t->next_seq = c->seq + 1;
    if (c->dropped > t->dropped)
        t->dropped = c->dropped;
    records(t, c, 0, &st);
    if (st.time > t->last_monotonic) {
        t->last_monotonic = st.time;
        t->last_realtime = c->realtime + (st.time - c->monotonic);
    }
}

char *mt_tally_devices(const struct mt_tally *t)
{
    char text[256] = "";
    size_t n = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < 64 && n < sizeof text; i++)
        if (t->ordinals >> i & 1)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", count++ > 0 ? "," : "", i);
    if (count == 0)
        return mt_strndup("", 0);
    return mt_text(count > 1 ? "GPUs %s" : "GPU %s", text);
}

/* "python -m verl.trainer.main_ppo" -> "verl.trainer.main_ppo", "python train.py" -> "train.py",
 * else the program's base name. */
char *mt_tally_name(const struct mt_tally *t)
{
    char *const *v = t->argv.p;
    const char *program = t->argv.n > 0 && v[0] != NULL ? mt_base_name(v[0]) : NULL;

    if (program == NULL)
        return NULL;
    if (strncmp(program, "python", 6) == 0 || strncmp(program, "pypy", 4) == 0)
        for (uint32_t i = 1; i < t->argv.n && v[i] != NULL; i++) {
            const char *next = i + 1 < t->argv.n && v[i + 1] != NULL ? v[i + 1] : "";
            if (strcmp(v[i], "-m") == 0 && next[0] != '\0')
                return mt_strndup(next, strlen(next));
            if (strcmp(v[i], "-c") == 0) { /* called as the report calls it */
                if (strncmp(next, "from multiprocessing.", 21) == 0)
                    program = "multiprocessing child";
                break;
            }
            if (strcmp(v[i], "-W") == 0 || strcmp(v[i], "-X") == 0)
                i++;
            else if (v[i][0] != '-')
                return mt_strndup(mt_base_name(v[i]), strlen(mt_base_name(v[i])));
        }
    return mt_strndup(program, strlen(program));
}

void mt_tally_more(struct mt_tally *t, const struct mt_chunk *c)
{
    struct mt_tally_at *at = &t->at;
    bool goes_on = at->begun && c->seq == at->seq;
    struct delta st = {.time = c->monotonic, .tid = c->pid};

    if (c->kind == MT_WK_KEPT)
        mt_tally_chunk(t, c);
    if (c->kind != MT_WK_PROCESS || (c->seq < t->next_seq && !goes_on) ||
        (goes_on && c->used <= at->used))
        return;
    if (goes_on) {
        st = (struct delta){at->time,    at->tid,  at->addr, at->handle,
                            at->context, at->pool, at->corr};
    } else {
        if (t->chunks++ == 0)
            t->first_realtime = c->realtime;
        t->missing += c->seq - t->next_seq;
        t->next_seq = c->seq + 1;
        at->used = 0;
    }
    if (c->dropped > t->dropped)
        t->dropped = c->dropped;
    t->realtime = c->realtime;
    t->monotonic = c->monotonic;
    records(t, c, at->used, &st);
    *at = (struct mt_tally_at){c->seq,     st.time, st.tid,  st.addr, st.handle,
                               st.context, st.pool, st.corr, c->used, true};
}
