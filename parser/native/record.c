/* native/record.c -- every record but the calls. Each decoder reads its payload whole before it
 * keeps anything. */
#include "parser/native/impl.h"

#include <string.h>

enum { MAX_TEXT = 65536, MAX_ATTRS = 65536, MAX_LOSS_KINDS = 64 };

struct span {
    const unsigned char *p;
    size_t n;
};

static struct span cur_str(struct mt_cursor *c)
{
    uint64_t n = mt_cur_u(c);
    struct span s = {c->p, 0};
    if (n > (uint64_t)(c->end - c->p)) {
        c->bad = true;
        return s;
    }
    s.n = (size_t)n;
    c->p += n;
    return s;
}

static uint64_t cur_id(struct mt_cursor *c)
{
    uint64_t id = mt_cur_u(c);
    if (id > UINT32_MAX)
        c->bad = true;
    return id;
}

/* Keeps bytes as a string of the trace. MT_STR_FAIL: reading stopped. */
static mt_str_id keep(struct mt_native *n, struct span s)
{
    mt_str_id id;
    if (s.n > n->lim->max_string) {
        n->rc = mt_fail_at(n->err, MT_ELIMIT, mt_source_offset(n->src),
                           "a string of %zu bytes (at most %llu; raise --max-string)", s.n,
                           (unsigned long long)n->lim->max_string);
        return MT_STR_FAIL;
    }
    id = mt_strpool_add(&n->t->str, s.p, s.n);
    if (id == MT_STR_FAIL)
        mt_native_nomem(n);
    return id;
}

static int define(struct mt_native *n, enum mt_native_id kind, uint64_t id, uint32_t val)
{
    return mt_idmap_put(&n->ids, mt_id_key(kind, n->process, id), val) || mt_native_nomem(n);
}

static int string(struct mt_native *n, struct mt_cursor *c)
{
    uint64_t id = cur_id(c);
    struct span s = {c->p, (size_t)(c->end - c->p)};
    mt_str_id str;
    if (c->bad || id == 0)
        return 1;
    str = keep(n, s);
    return str != MT_STR_FAIL && define(n, MT_ID_STRING, id, str);
}

static int attr(struct mt_native *n, struct mt_cursor *c)
{
    struct span key = cur_str(c), value = cur_str(c);
    bool launch = n->process == MT_NONE32;
    struct mt_process_attr *a;
    mt_str_id k, v;
    if (!c->bad && !launch && n->procs.p[n->process].n_attrs++ >= MAX_ATTRS)
        c->bad = true;
    if (c->bad)
        return 1;
    if ((k = keep(n, key)) == MT_STR_FAIL || (v = keep(n, value)) == MT_STR_FAIL)
        return 0;
    a = launch ? MT_VEC_PUSH(&n->d->launch) : MT_VEC_PUSH(&n->d->attrs);
    if (a == NULL)
        return mt_native_nomem(n);
    *a = (struct mt_process_attr){n->process, k, v};
    return 1;
}

static int thread(struct mt_native *n, struct mt_cursor *c)
{
    uint32_t tid = mt_cur_u32(c);
    struct span name = cur_str(c);
    struct mt_thread *t;
    mt_str_id id;
    if (c->bad)
        return 1;
    if ((id = keep(n, name)) == MT_STR_FAIL)
        return 0;
    t = MT_VEC_PUSH(&n->d->threads);
    if (t == NULL)
        return mt_native_nomem(n);
    *t = (struct mt_thread){n->process, tid, id};
    return mt_native_count(n);
}

static int module(struct mt_native *n, struct mt_cursor *c)
{
    static const char digit[] = "0123456789abcdef";
    uint64_t id = cur_id(c), base = mt_cur_u(c), size = mt_cur_u(c);
    struct span path = cur_str(c), build = cur_str(c);
    struct mt_module *m;
    char hex[129];
    mt_str_id p, b;
    if (c->bad || id == 0)
        return 1;
    if (build.n > (sizeof hex - 1) / 2)
        build.n = (sizeof hex - 1) / 2;
    for (size_t i = 0; i < build.n; i++) {
        hex[2 * i] = digit[build.p[i] >> 4];
        hex[2 * i + 1] = digit[build.p[i] & 15];
    }
    if ((p = keep(n, path)) == MT_STR_FAIL ||
        (b = keep(n, (struct span){(unsigned char *)hex, 2 * build.n})) == MT_STR_FAIL)
        return 0;
    m = MT_VEC_PUSH(&n->d->modules);
    if (m == NULL)
        return mt_native_nomem(n);
    *m = (struct mt_module){base, size, p, b, n->process};
    return define(n, MT_ID_MODULE, id, n->d->modules.n - 1);
}

static int stack(struct mt_native *n, struct mt_cursor *c)
{
    uint64_t id = cur_id(c), k = mt_cur_u(c);
    uint32_t first = n->pcs.n;
    struct mt_native_stack *s;
    if (c->bad || id == 0)
        return 1;
    /* a frame takes two bytes at least */
    if (k > n->lim->max_frames || k > (uint64_t)(c->end - c->p) / 2) {
        c->bad = true;
        return 1;
    }
    for (uint64_t i = 0; i < k && !c->bad; i++) {
        struct mt_native_pc *pc = MT_VEC_PUSH(&n->pcs);
        if (pc == NULL)
            return mt_native_nomem(n);
        pc->module = mt_cur_u32(c);
        pc->offset = mt_cur_u(c);
    }
    if (c->bad || n->mute) {
        n->pcs.n = first;
        return 1;
    }
    s = MT_VEC_PUSH(&n->stacks);
    if (s == NULL)
        return mt_native_nomem(n);
    *s = (struct mt_native_stack){n->process, first, (uint32_t)k, 0};
    return define(n, MT_ID_STACK, id, n->stacks.n - 1);
}

static int device(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_native_view v = {.process = n->process, .order = n->views.n}, *p;
    uint64_t index = mt_cur_u(c), ordinal = mt_cur_u(c);
    struct span uuid, pci, name;
    v.total = mt_cur_u(c);
    uuid = cur_str(c);
    pci = cur_str(c);
    name = cur_str(c);
    if (index >= MT_MAX_GPUS || ordinal > MT_MAX_GPUS)
        c->bad = true;
    if (c->bad)
        return 1;
    v.index = (uint32_t)index;
    v.ordinal = (int32_t)ordinal - 1;
    if ((v.uuid = keep(n, uuid)) == MT_STR_FAIL || (v.pci = keep(n, pci)) == MT_STR_FAIL ||
        (v.name = keep(n, name)) == MT_STR_FAIL)
        return 0;
    p = MT_VEC_PUSH(&n->views);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = v;
    return 1;
}

static int context(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_native_context k = {.process = n->process, .order = n->contexts.n}, *p;
    k.handle = mt_cur_u(c);
    k.index = mt_cur_u32(c);
    if (k.index >= MT_MAX_GPUS)
        c->bad = true;
    if (c->bad)
        return 1;
    p = MT_VEC_PUSH(&n->contexts);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = k;
    n->procs.p[n->process].indexes[k.index / 64] |= UINT64_C(1) << k.index % 64;
    return 1;
}

static int range(struct mt_native *n, struct mt_cursor *c, uint8_t type)
{
    struct mt_native_range r = {.process = n->process, .type = type, .order = n->ranges.n}, *p;
    r.time_ns = mt_cur_timed(c, n, &r.tid);
    r.domain = mt_cur_u32(c);
    if (type != MT_WR_RANGE_POP && type != MT_WR_RANGE_END)
        r.name = mt_cur_u32(c);
    r.source = (uint8_t)mt_cur_u(c);
    if (type == MT_WR_RANGE_START || type == MT_WR_RANGE_END)
        r.id = mt_cur_u(c);
    if (c->bad || n->mute)
        return 1;
    p = MT_VEC_PUSH(&n->ranges);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = r;
    return mt_native_count(n);
}

static int gpu_sample(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_gpu_sample s = {.process = n->process, .first_use = n->d->uses.n}, *p;
    uint32_t tid;
    uint64_t k;
    s.time_ns = mt_cur_timed(c, n, &tid);
    s.gpu = mt_cur_u32(c); /* index, until the end */
    s.why = (uint8_t)mt_cur_u(c);
    s.used = mt_cur_u(c);
    s.free = mt_cur_u(c);
    s.total = mt_cur_u(c);
    k = mt_cur_u(c);
    if (s.gpu >= MT_MAX_GPUS || k > (uint64_t)(c->end - c->p) / 2)
        c->bad = true;
    for (uint64_t i = 0; i < k && !c->bad; i++) {
        struct mt_gpu_use *u = MT_VEC_PUSH(&n->d->uses);
        if (u == NULL)
            return mt_native_nomem(n);
        u->pid = mt_cur_u32(c);
        u->used = mt_cur_u(c);
    }
    if (c->bad || n->mute) {
        n->d->uses.n = s.first_use;
        return 1;
    }
    s.n_uses = n->d->uses.n - s.first_use;
    p = MT_VEC_PUSH(&n->d->samples);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = s;
    n->procs.p[n->process].indexes[s.gpu / 64] |= UINT64_C(1) << s.gpu % 64;
    return mt_native_count(n);
}

static int host_sample(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_host_sample s = {.process = n->process}, *p;
    uint32_t tid;
    s.time_ns = mt_cur_timed(c, n, &tid);
    s.rss = mt_cur_u(c);
    s.rss_peak = mt_cur_u(c);
    s.anon = mt_cur_u(c);
    s.shared = mt_cur_u(c);
    s.pinned = mt_cur_u(c);
    if (c->bad || n->mute)
        return 1;
    p = MT_VEC_PUSH(&n->d->host_samples);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = s;
    return mt_native_count(n);
}

static int status(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_status s = {.process = n->process}, *p;
    uint32_t tid;
    struct span text;
    s.time_ns = mt_cur_timed(c, n, &tid);
    s.code = (uint16_t)mt_cur_u(c);
    s.level = (uint8_t)mt_cur_u(c);
    text = cur_str(c);
    if (c->bad || n->mute)
        return 1;
    if ((s.text = keep(n, text)) == MT_STR_FAIL)
        return 0;
    p = MT_VEC_PUSH(&n->d->statuses);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = s;
    return mt_native_count(n);
}

/* A LOSS record holds totals so far. Chunks may come in any order, so the highest of each kind
 * counts. */
static int loss(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_loss *l = NULL;
    uint32_t tid, what, seen = 0;
    uint64_t count, bytes;
    mt_cur_timed(c, n, &tid);
    what = mt_cur_u32(c);
    count = mt_cur_u(c);
    bytes = mt_cur_u(c);
    if (c->bad || n->mute)
        return 1;
    for (uint32_t i = n->d->losses.n; i-- > 0 && l == NULL && seen < 4 * MAX_LOSS_KINDS; seen++)
        if (n->d->losses.p[i].process == n->process && n->d->losses.p[i].what == what)
            l = &n->d->losses.p[i];
    if (l == NULL) {
        if ((l = MT_VEC_PUSH(&n->d->losses)) == NULL)
            return mt_native_nomem(n);
        l->process = n->process;
        l->what = what;
        if (!mt_native_count(n))
            return 0;
    }
    if (count > l->count)
        l->count = count;
    if (bytes > l->bytes)
        l->bytes = bytes;
    if (what == MT_LO_RECORDS && count > n->d->processes.p[n->process].n_dropped)
        n->d->processes.p[n->process].n_dropped = count;
    return 1;
}

static int end(struct mt_native *n, struct mt_cursor *c)
{
    static const struct {
        enum mt_end end;
        uint8_t rank;
    } ends[] = {
        [MT_WE_EXIT] = {MT_END_EXIT, 3},       [MT_WE_STATUS] = {MT_END_STATUS, 4},
        [MT_WE_SIGNAL] = {MT_END_SIGNAL, 5},   [MT_WE_GONE] = {MT_END_GONE, 2},
        [MT_WE_RUNNING] = {MT_END_RUNNING, 1},
    };
    struct mt_process *p = &n->d->processes.p[n->process];
    uint32_t tid;
    uint64_t how;
    int64_t st;
    mt_cur_timed(c, n, &tid);
    how = mt_cur_u(c);
    st = mt_unzigzag(mt_cur_u(c));
    if (c->bad || n->mute || how == 0 || how >= sizeof ends / sizeof *ends ||
        ends[how].rank <= n->procs.p[n->process].end_rank)
        return 1;
    n->procs.p[n->process].end_rank = ends[how].rank;
    p->end = ends[how].end;
    p->end_status = st >= INT32_MIN && st <= INT32_MAX ? (int32_t)st : 0;
    return 1;
}

static int symbol(struct mt_native *n, struct mt_cursor *c)
{
    struct mt_native_symbol s = {.process = n->process, .order = n->symbols.n}, *p;
    struct span function, file;
    uint64_t line;
    s.module = mt_cur_u32(c);
    s.offset = mt_cur_u(c);
    function = cur_str(c);
    file = cur_str(c);
    line = mt_cur_u(c);
    s.line = line <= UINT32_MAX ? (uint32_t)line : 0;
    if (c->bad || n->mute)
        return 1;
    if ((s.function = keep(n, function)) == MT_STR_FAIL || (s.file = keep(n, file)) == MT_STR_FAIL)
        return 0;
    p = MT_VEC_PUSH(&n->symbols);
    if (p == NULL)
        return mt_native_nomem(n);
    *p = s;
    return 1;
}

static int attachment(struct mt_native *n, uint64_t total, mt_str_id name, mt_str_id kind)
{
    struct mt_attachment *a;
    for (uint32_t i = n->d->attachments.n; i-- > 0;) {
        a = &n->d->attachments.p[i];
        if (a->uid == n->uid && a->name == name && a->bytes == total) {
            n->attachment = i;
            return 1;
        }
    }
    if (n->d->attachments.n >= n->lim->max_members) {
        n->n_lost_attachments++;
        return 1;
    }
    a = MT_VEC_PUSH(&n->d->attachments);
    if (a == NULL)
        return mt_native_nomem(n);
    *a = (struct mt_attachment){.name = name, .kind = kind, .bytes = total, .uid = n->uid};
    n->attachment = n->d->attachments.n - 1;
    return 1;
}

static int attach(struct mt_native *n, struct mt_cursor *c)
{
    uint64_t total;
    struct span name, kind;
    mt_str_id nm, kd;
    n->attachment = MT_NONE32;
    mt_cur_u(c); /* id */
    n->part = mt_cur_u(c);
    mt_cur_u(c); /* parts */
    total = mt_cur_u(c);
    name = cur_str(c);
    kind = cur_str(c);
    if (n->part > MT_ID_MAX)
        c->bad = true;
    if (c->bad)
        return 1;
    if ((nm = keep(n, name)) == MT_STR_FAIL || (kd = keep(n, kind)) == MT_STR_FAIL ||
        !attachment(n, total, nm, kd))
        return 0;
    if (n->attachment == MT_NONE32)
        return 1;
    if (mt_idmap_get(&n->ids, mt_id_key(MT_ID_PART, n->attachment, n->part)) != MT_NONE32)
        n->attachment = MT_NONE32; /* it is there already */
    return 1;
}

static int blob(struct mt_native *n, struct mt_cursor *c)
{
    size_t len = (size_t)(c->end - c->p);
    struct mt_attachment *a;
    uint32_t at = n->attachment;
    if (at == MT_NONE32)
        return 1;
    n->attachment = MT_NONE32;
    a = &n->d->attachments.p[at];
    a->read += len;
    if (n->part == 0 && mt_str_len(n->t, a->kind) == 4 &&
        memcmp(mt_str(n->t, a->kind), "text", 4) == 0) {
        a->text = keep(n, (struct span){c->p, len < MAX_TEXT ? len : MAX_TEXT});
        if (a->text == MT_STR_FAIL)
            return 0;
    }
    return mt_idmap_put(&n->ids, mt_id_key(MT_ID_PART, at, n->part), 0) || mt_native_nomem(n);
}

/* False for what a chunk without a process may hold: ATTR and STATUS of the launcher, and attached
 * files. */
static bool needs_process(uint64_t type)
{
    return type != MT_WR_ATTR && type != MT_WR_STATUS && type != MT_WR_ATTACH && type != MT_WR_BLOB;
}

static bool is_timed(uint64_t type)
{
    return (type >= MT_WR_CALL && type <= MT_WR_END && type != MT_WR_SYMBOL);
}

int mt_native_record(struct mt_native *n, uint64_t type, struct mt_cursor *c)
{
    if (n->process == MT_NONE32 && needs_process(type))
        return 1;
    if (n->mute && !is_timed(type))
        return 1;
    switch (type) {
    case MT_WR_STRING: return string(n, c);
    case MT_WR_ATTR: return attr(n, c);
    case MT_WR_THREAD: return thread(n, c);
    case MT_WR_MODULE: return module(n, c);
    case MT_WR_STACK: return stack(n, c);
    case MT_WR_DEVICE: return device(n, c);
    case MT_WR_CONTEXT: return context(n, c);
    case MT_WR_CALL: return mt_native_call(n, c);
    case MT_WR_MEMORY2: return mt_native_memory2(n, c);
    case MT_WR_MEMPOOL: return mt_native_mempool(n, c);
    case MT_WR_RANGE_PUSH:
    case MT_WR_RANGE_POP:
    case MT_WR_RANGE_START:
    case MT_WR_RANGE_END:
    case MT_WR_MARK: return range(n, c, (uint8_t)type);
    case MT_WR_GPU_SAMPLE: return gpu_sample(n, c);
    case MT_WR_HOST_SAMPLE: return host_sample(n, c);
    case MT_WR_STATUS: return status(n, c);
    case MT_WR_LOSS: return loss(n, c);
    case MT_WR_END: return end(n, c);
    case MT_WR_SYMBOL: return symbol(n, c);
    case MT_WR_ATTACH: return attach(n, c);
    case MT_WR_BLOB: return blob(n, c);
    case MT_WR_CHECKPOINT: return mt_native_checkpoint(n, c);
    default: n->d->n_unknown_records++; return 1;
    }
}
