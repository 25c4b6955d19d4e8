/* The value stack of the pickle machine: which container a value belongs to, and when it is whole.
 */
#include "parser/pickle/impl.h"

#include <stdio.h>
#include <string.h>

enum {
    FRAME_VALUES = 4096,
    KEEP = 2048
}; /* values above one MARK before the oldest are consumed; CPython writes at most 2000 */

static void set_limit(struct pk *m)
{
    uint32_t most = m->mark->base + FRAME_VALUES;
    m->limit = most < m->cap ? most : m->cap;
}

/* The torch pickler writes a list of a million items above one MARK. Records are consumed one by
 * one. Of other values the oldest are consumed here; KEEP stay, more than TUPLE1..3, APPEND or
 * SETITEM can reach. */
static int flush(struct pk *m)
{
    struct pk_mark *k = m->mark;
    uint32_t n = KEEP;
    if (k == m->marks.p)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "more than %d values outside any container",
                          FRAME_VALUES);
    if (k->node != PK_NONE) {
        if (!mt_pk_deliver(m, k->node, k->base, k->base + n))
            return 0;
    } else {
        for (uint32_t i = k->base; i < k->base + n; i++) {
            struct mt_val *v = &m->stack[i];
            if (v->type == PK_T_NODE) {
                if (!mt_pk_node_close(m, v->id))
                    return 0;
                mt_pk_node_release(m, v->id);
            }
        }
        k->dropped = true;
    }
    memmove(m->stack + k->base, m->stack + k->base + n, (m->sp - k->base - n) * sizeof *m->stack);
    m->sp -= n;
    return 1;
}

int mt_pk_push_slow(struct pk *m, struct mt_val v)
{
    if (m->sp - m->mark->base >= FRAME_VALUES && !flush(m))
        return 0;
    if (m->sp >= m->cap && !mt_vec_grow((void **)&m->stack, &m->cap, m->sp + 1, sizeof *m->stack))
        return mt_pk_nomem(m);
    set_limit(m);
    m->stack[m->sp++] = v;
    return 1;
}

int mt_pk_str(struct pk *m, const unsigned char *s, size_t n, mt_str_id *id)
{
    if (!mt_build_str(m->b, s, n, id))
        return mt_pk_builder_failed(m);
    /* the pool may hold strings of the builder that were never looked up */
    if (*id >= m->n_key_of) {
        uint32_t cap = m->n_key_of;
        if (!mt_vec_grow((void **)&m->key_of, &cap, m->t->str.ref.n, 1))
            return mt_pk_nomem(m);
        memset(m->key_of + m->n_key_of, UINT8_MAX, cap - m->n_key_of);
        m->n_key_of = cap;
    }
    if (m->key_of[*id] == UINT8_MAX)
        m->key_of[*id] = (uint8_t)mt_key_find(s, n);
    return 1;
}

int mt_pk_push_str(struct pk *m, const unsigned char *s, size_t n)
{
    struct mt_val v = {.type = MT_T_STR, .id = 0};
    return mt_pk_str(m, s, n, &v.id) && mt_pk_push(m, v);
}

/* What mt_pk_get() leaves: a container that is still open, a scalar, a number never stored. */
int mt_pk_get_slow(struct pk *m, uint32_t at)
{
    uint32_t e = at < m->n_memo ? m->memo[at] : 0, id = e & PK_ID_MASK;
    if (e == 0)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT,
                          "opcode %s asks for number %u, which was never stored",
                          mt_pk_ops[*m->op].name, at);
    if (e >> PK_ID_BITS == PK_T_SIDE)
        return mt_pk_push(m, m->side.p[id]);
    if (e >> PK_ID_BITS != (uint32_t)PK_T_NODE) {
        struct mt_val v = {.type = (enum mt_type)(e >> PK_ID_BITS), .id = id};
        return mt_pk_push(m, v);
    }
    /* It still lies on the stack below. Whatever is put into it from now on would hold the
     * container itself, because only what lies above it can get into it: so it is finished, or the
     * file is a cycle. */
    m->nodes.p[id].fetched_at = mt_pk_offset(m);
    return mt_pk_node_close(m, id) && mt_pk_push(m, m->nodes.p[id].result);
}

/* ---- which container is the parent, and so which role has a new one ---- */

static enum mt_schema_role fit(enum mt_schema_role r, bool is_dict)
{
    switch (r) {
    case MT_R_TOP: return is_dict ? r : MT_R_SEGMENTS;
    case MT_R_EVENT: return is_dict ? r : MT_R_SKIP;
    case MT_R_SEGMENT:
    case MT_R_BLOCK:
    case MT_R_HIST:
    case MT_R_FRAME:
    case MT_R_ANNOTATION:
    case MT_R_HOST_SEGMENT: return is_dict ? r : MT_R_SKIP;
    case MT_R_SEGMENTS:
    case MT_R_BLOCKS:
    case MT_R_HISTORY:
    case MT_R_TRACES:
    case MT_R_TRACE:
    case MT_R_FRAMES:
    case MT_R_ANNOTATIONS:
    case MT_R_POOL:
    case MT_R_HOST_SEGMENTS:
    case MT_R_HOST_TRACES:
    case MT_R_RING: return is_dict ? MT_R_SKIP : r;
    case MT_R_SKIP:
    case MT_R_TEXT:
    case MT_R_SETTINGS: return r;
    }
    return MT_R_SKIP;
}

static enum mt_schema_role item_role(const struct pk_node *list, bool is_dict)
{
    if (list->role == MT_R_HOST_TRACES && !is_dict)
        return MT_R_TRACE;
    return fit(mt_role_item((enum mt_schema_role)list->role), is_dict);
}

struct place {
    uint32_t parent; /* PK_NONE: none that is known */
    enum mt_key key;
    mt_str_id key_text;
    enum mt_schema_role role;
};

static struct place value_of(const struct pk *m, uint32_t dict, struct mt_val key, bool is_dict)
{
    struct place p = {dict, (enum mt_key)m->key_of[key.id], key.id, MT_R_SKIP};
    p.role = fit(mt_role_value((enum mt_schema_role)m->nodes.p[dict].role, p.key), is_dict);
    if (p.role == MT_R_TEXT && is_dict && p.key == MT_K_FORWARD_FRAMES)
        p.role = MT_R_SKIP;
    return p;
}

/* The parent of a new container is either the container below the MARK, or the one directly below
 * it on the stack (the form without MARK, for a single item). If both are possible the roles
 * decide. */
static struct place place_of(const struct pk *m, bool is_dict)
{
    struct place none = {PK_NONE, MT_K_UNKNOWN, 0, MT_R_SKIP};
    uint32_t parent = m->mark->node, above = m->sp - m->mark->base;
    const struct mt_val *top = above > 0 ? &m->stack[m->sp - 1] : NULL;
    bool in_list = parent != PK_NONE && !m->nodes.p[parent].is_dict;
    if (above == 0 && parent == PK_NONE) {
        none.role = m->mark == m->marks.p ? fit(MT_R_TOP, is_dict) : MT_R_SKIP;
        return none;
    }
    if (top != NULL && top->type == PK_T_NODE && !m->nodes.p[top->id].is_dict) {
        struct place p = {top->id, MT_K_UNKNOWN, 0, item_role(&m->nodes.p[top->id], is_dict)};
        if (p.role != MT_R_SKIP || !in_list)
            return p;
    }
    if (in_list) {
        struct place p = {parent, MT_K_UNKNOWN, 0, item_role(&m->nodes.p[parent], is_dict)};
        return p;
    }
    if (top != NULL && top->type == MT_T_STR) {
        bool is_key = parent != PK_NONE && above % 2 == 1; /* key of the dict below the MARK */
        struct place outer = none;
        if (is_key)
            outer = value_of(m, parent, *top, is_dict);
        if (above > 1 && top[-1].type == PK_T_NODE && m->nodes.p[top[-1].id].is_dict) {
            struct place inner = value_of(m, top[-1].id, *top, is_dict);
            if (!is_key || (!m->nodes.p[top[-1].id].filled &&
                            (outer.role == MT_R_SKIP || outer.role == inner.role)))
                return inner;
        }
        return outer;
    }
    return none;
}

static int dotted(struct pk *m, mt_str_id prefix, mt_str_id key, mt_str_id *path)
{
    char buf[512];
    int n;
    *path = key;
    if (prefix == 0)
        return 1;
    n = snprintf(buf, sizeof buf, "%s.%s", mt_str(m->t, prefix), mt_str(m->t, key));
    if (n < 0 || (size_t)n >= sizeof buf)
        n = (int)sizeof buf - 1;
    return mt_build_str(m->b, buf, (size_t)n, path) || mt_pk_builder_failed(m);
}

static bool is_record_role(enum mt_schema_role r)
{
    return r == MT_R_EVENT || r == MT_R_SEGMENT || r == MT_R_BLOCK || r == MT_R_HIST ||
           r == MT_R_ANNOTATION || r == MT_R_HOST_SEGMENT;
}

/* What the builder has to know when a container begins. */
static int announce(struct pk *m, struct pk_node *n, const struct place *p)
{
    struct pk_node *parent = p->parent != PK_NONE ? &m->nodes.p[p->parent] : NULL;
    uint64_t at = 0;
    int ok = 1;
    if (parent != NULL && parent->role == MT_R_TOP && p->key_text != 0) {
        m->seen_top |= UINT64_C(1) << p->key;
        mt_build_saw_key(m->b, p->key);
    }
    if (parent != NULL)
        at = parent->n + (p->parent == m->mark->node ? m->sp - m->mark->base : 0);
    if (n->role == MT_R_SEGMENTS && parent == NULL)
        mt_build_saw_bare_list(m->b);
    else if (n->role == MT_R_TRACE && parent != NULL) {
        n->host = parent->role == MT_R_HOST_TRACES;
        n->ordinal = at < UINT32_MAX ? (uint32_t)at : UINT32_MAX;
        ok = mt_build_trace_begin(m->b, n->ordinal, n->host ? MT_DEV_HOST : MT_DEV_CUDA);
    } else if (n->role == MT_R_HOST_TRACES)
        ok = mt_build_trace_begin(m->b, 0, MT_DEV_HOST);
    else if (n->role == MT_R_SETTINGS && parent != NULL && parent->role == MT_R_SETTINGS &&
             p->key_text != 0)
        return dotted(m, parent->path, p->key_text, &n->path);
    return ok || mt_pk_builder_failed(m);
}

static int new_record(struct pk *m, enum mt_schema_role role, enum mt_key key)
{
    struct mt_val v = {.type = PK_T_NODE, .id = 0};
    struct pk_node *n;
    if (!mt_pk_node_new(m, &v.id))
        return 0;
    n = &m->nodes.p[v.id];
    n->is_dict = n->is_record = true;
    n->role = (uint8_t)role;
    n->key = (uint8_t)key;
    if (n->rec == NULL && (n->rec = mt_malloc(sizeof *n->rec)) == NULL)
        return mt_pk_nomem(m);
    mt_rec_reset(n->rec);
    if (role == MT_R_SEGMENT && !mt_build_segment_begin(m->b))
        return mt_pk_builder_failed(m);
    return mt_pk_push(m, v);
}

int mt_pk_open(struct pk *m, bool is_dict)
{
    struct mt_val v = {.type = PK_T_NODE, .id = 0};
    struct pk_mark *k = m->mark;
    struct place p;
    struct pk_node *n;
    /* A record can never change once another begins above it. (A list could: APPEND without MARK
     * puts one record into it.) */
    if (k->streams && is_dict && (m->sp == k->base || !mt_pk_is_list(m, &m->stack[m->sp - 1]))) {
        if (m->sp != k->base && !mt_pk_deliver(m, k->node, k->base, m->sp))
            return 0;
        m->sp = k->base;
        return new_record(m, (enum mt_schema_role)k->item, MT_K_UNKNOWN);
    }
    if (k == m->marks.p && m->n_open >= m->lim->max_depth)
        return mt_pk_fail(m, PK_FAIL, MT_ELIMIT,
                          "containers nested deeper than %u (raise --max-depth)",
                          m->lim->max_depth);
    p = place_of(m, is_dict);
    if (is_dict && is_record_role(p.role))
        return new_record(m, p.role, p.key);
    if (!mt_pk_node_new(m, &v.id))
        return 0;
    n = &m->nodes.p[v.id];
    n->is_dict = is_dict;
    n->role = (uint8_t)p.role;
    n->key = (uint8_t)p.key;
    return announce(m, n, &p) && mt_pk_push(m, v);
}

int mt_pk_mark(struct pk *m)
{
    const struct mt_val *top = m->sp > m->mark->base ? &m->stack[m->sp - 1] : NULL;
    struct pk_mark *k;
    if (m->marks.n > m->lim->max_depth)
        return mt_pk_fail(m, PK_FAIL, MT_ELIMIT,
                          "containers nested deeper than %u (raise --max-depth)",
                          m->lim->max_depth);
    if (!mt_vec_grow((void **)&m->marks.p, &m->marks.cap, m->marks.n + 1, sizeof *k))
        return mt_pk_nomem(m);
    k = &m->marks.p[m->marks.n++];
    k->base = m->sp;
    k->node = PK_NONE;
    k->streams = k->dropped = false;
    if (top != NULL && top->type == PK_T_NODE) {
        const struct pk_node *n = &m->nodes.p[top->id];
        k->node = top->id;
        if (!n->is_dict) {
            k->item = (uint8_t)mt_role_item((enum mt_schema_role)n->role);
            k->streams = is_record_role((enum mt_schema_role)k->item);
        }
    }
    m->mark = k;
    set_limit(m);
    return 1;
}

static void unmark(struct pk *m)
{
    m->sp = m->mark->base;
    m->marks.n--;
    m->mark = &m->marks.p[m->marks.n - 1];
    set_limit(m);
}

static int no_mark(struct pk *m)
{
    return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s without a MARK before it",
                      mt_pk_ops[*m->op].name);
}

/* Items for a container that was fetched from the memo before: they lie above it, so it would hold
 * itself. */
static int cycle(struct pk *m, const struct pk_node *n)
{
    return mt_pk_fail(m, PK_REFUSE, MT_EINPUT,
                      "opcode %s puts a %s into itself (fetched from the memo at offset %llu): a "
                      "memory snapshot never needs that",
                      mt_pk_ops[*m->op].name, n->is_dict ? "dict" : "list",
                      (unsigned long long)n->fetched_at);
}

static int into(struct pk *m, uint32_t node, uint32_t lo)
{
    const struct pk_node *n = &m->nodes.p[node];
    bool wants_dict = *m->op == 's' || *m->op == 'u';
    if (n->is_dict != wants_dict)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s on a %s", mt_pk_ops[*m->op].name,
                          n->is_dict ? "dict" : "list");
    if (n->closed)
        return cycle(m, n);
    if (wants_dict && (m->sp - lo) % 2 != 0)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s with a key that has no value",
                          mt_pk_ops[*m->op].name);
    return mt_pk_deliver(m, node, lo, m->sp);
}

int mt_pk_items(struct pk *m)
{
    struct pk_mark *k = m->mark;
    if (k == m->marks.p)
        return no_mark(m);
    if (k->node == PK_NONE)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s on something that is no container",
                          mt_pk_ops[*m->op].name);
    if (!into(m, k->node, k->base))
        return 0;
    unmark(m);
    return 1;
}

int mt_pk_item(struct pk *m, uint32_t n)
{
    uint32_t above = m->sp - m->mark->base;
    if (above < n + 1 || m->stack[m->sp - n - 1].type != PK_T_NODE)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s on something that is no container",
                          mt_pk_ops[*m->op].name);
    if (!into(m, m->stack[m->sp - n - 1].id, m->sp - n))
        return 0;
    m->sp -= n;
    return 1;
}

int mt_pk_close_empty(struct pk *m, bool is_dict)
{
    if (m->mark == m->marks.p)
        return no_mark(m);
    /* Only protocol 0 writes DICT and LIST, and always around nothing: the items follow one by one.
     */
    if (m->sp != m->mark->base || m->mark->dropped)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT,
                          "opcode %s around items: no pickler writes that", mt_pk_ops[*m->op].name);
    unmark(m);
    return mt_pk_open(m, is_dict);
}

int mt_pk_tuple(struct pk *m, uint32_t n, bool with_mark)
{
    struct mt_val v = {.type = MT_T_OTHER, .id = 0};
    const struct mt_val *e;
    bool dropped = false;
    if (with_mark) {
        if (m->mark == m->marks.p)
            return no_mark(m);
        n = m->sp - m->mark->base;
        /* a MARK right above a container looks like one for its items until now; some may have been
         * taken */
        dropped =
            m->mark->dropped || (m->mark->node != PK_NONE && m->nodes.p[m->mark->node].filled);
    } else if (m->sp - m->mark->base < n) {
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s needs %u values",
                          mt_pk_ops[*m->op].name, n);
    }
    e = n != 0 ? &m->stack[m->sp - n] : NULL;
    if (!dropped && n == 2 && (e[0].type == MT_T_INT || e[0].type == MT_T_UINT) &&
        (e[1].type == MT_T_INT || e[1].type == MT_T_UINT)) {
        v.type = MT_T_PAIR;
        if (!mt_build_pair(m->b, e[0].u, e[1].u, &v.id))
            return mt_pk_builder_failed(m);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (e[i].type == PK_T_NODE) {
            if (!mt_pk_node_close(m, e[i].id))
                return 0;
            mt_pk_node_release(m, e[i].id);
        }
    }
    if (with_mark)
        unmark(m);
    else
        m->sp -= n;
    return mt_pk_push(m, v);
}

/* ---- a file that breaks off ---- */

/* Gives the builder the last whole record of each list, which only waited for the next one, and
 * whole settings. A half-read record is dropped. */
int mt_pk_salvage(struct pk *m)
{
    for (uint32_t i = 0; i < m->marks.n; i++) {
        const struct pk_mark *k = &m->marks.p[i];
        uint32_t end = i + 1 < m->marks.n ? m->marks.p[i + 1].base : m->sp, hi = end,
                 node = k->node;
        if (node == PK_NONE || m->nodes.p[node].closed)
            continue;
        if (k->streams) {
            /* the last value is still being filled from the next MARK */
            bool inside = i + 1 < m->marks.n;
            const struct mt_val *last = end > k->base ? &m->stack[end - 1] : NULL;
            if (last != NULL &&
                (inside || (last->type == PK_T_NODE && !m->nodes.p[last->id].filled)))
                hi--;
            /* a record followed by half a pair of its own (the form without MARK) is not whole
             * either */
            if (hi - k->base > 1)
                hi = k->base;
        } else if (m->nodes.p[node].role == MT_R_SETTINGS && m->nodes.p[node].is_dict) {
            uint32_t n = 0;
            while (k->base + n + 1 < end && m->stack[k->base + n].type == MT_T_STR &&
                   m->stack[k->base + n + 1].type != PK_T_NODE)
                n += 2;
            hi = k->base + n;
        } else {
            continue;
        }
        if (hi > k->base && !mt_pk_deliver(m, node, k->base, hi))
            return 0;
    }
    return 1;
}

bool mt_pk_where(const struct pk *m, char *buf, size_t cap)
{
    const struct pk_node *at = NULL, *list = NULL;
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->sp; i++) {
        const struct pk_node *c =
            m->stack[i].type == PK_T_NODE ? &m->nodes.p[m->stack[i].id] : NULL;
        if (c == NULL)
            continue;
        if (c->role == MT_R_SEGMENTS || c->role == MT_R_TRACES || c->role == MT_R_SETTINGS ||
            c->role == MT_R_ANNOTATIONS || c->role == MT_R_HOST_SEGMENTS ||
            c->role == MT_R_HOST_TRACES)
            list = at = c;
        if (c->role == MT_R_TRACE && list != NULL)
            at = c;
    }
    if (at == NULL)
        return false;
    n = at->n;
    if (at->role == MT_R_TRACE)
        snprintf(buf, cap, "in the trace of %s %u, after %llu entries",
                 at->host ? "host list" : "device", at->ordinal, (unsigned long long)n);
    else if (at->role == MT_R_SETTINGS || at->role == MT_R_TRACES)
        snprintf(buf, cap, "in %s", mt_role_name((enum mt_schema_role)at->role));
    else
        snprintf(buf, cap, "in %s, after %llu of them", mt_role_name((enum mt_schema_role)at->role),
                 (unsigned long long)n);
    return true;
}
