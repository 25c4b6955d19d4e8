/* Containers of the pickle machine: their result once closed, and the way of their items to the
 * builder. */
#include "parser/pickle/impl.h"

#include <string.h>

int mt_pk_node_new(struct pk *m, uint32_t *index)
{
    struct pk_node *n;
    if (m->free_node != PK_NONE) {
        *index = m->free_node;
        n = &m->nodes.p[*index];
        m->free_node = n->next_free;
    } else {
        n = MT_VEC_PUSH(&m->nodes);
        if (n == NULL)
            return mt_pk_nomem(m);
        *index = m->nodes.n - 1;
    }
    n->n = 0;
    n->n_ids = 0;
    n->memo = n->n_new_stacks = 0;
    n->path = 0;
    n->key = MT_K_UNKNOWN;
    n->is_dict = n->is_record = n->closed = n->mixed = n->filled = n->host = false;
    n->n_text = 0;
    n->parts = 0;
    m->n_open++;
    return 1;
}

void mt_pk_node_release(struct pk *m, uint32_t index)
{
    struct pk_node *n = &m->nodes.p[index];
    n->next_free = m->free_node;
    m->free_node = index;
    m->n_open--;
}

static const enum mt_key part_keys[PK_PARTS] = {
    MT_K_NAME,       MT_K_FILENAME,     MT_K_LINE,          MT_K_FX_ORIGINAL_TRACE,
    MT_K_FX_NODE_OP, MT_K_FX_NODE_NAME, MT_K_FX_NODE_TARGET};

static int frame_of(struct pk *m, const struct pk_node *n, struct mt_val *result)
{
    struct mt_rec r;
    mt_rec_reset(&r);
    for (int i = 0; i < PK_PARTS; i++)
        if ((n->parts >> i & 1) != 0)
            mt_rec_set(&r, part_keys[i], n->part[i]);
    result->type = MT_T_FRAME;
    return mt_build_frame_rec(m->b, &r, &result->id) || mt_pk_builder_failed(m);
}

static bool is_int(const struct mt_val *v) { return v->type == MT_T_INT || v->type == MT_T_UINT; }

int mt_pk_node_close(struct pk *m, uint32_t index)
{
    struct pk_node *n = &m->nodes.p[index];
    if (n->closed)
        return 1;
    n->closed = true;
    n->result.type = MT_T_OTHER;
    n->result.u = 0;
    if (n->role == MT_R_TEXT && n->n_text != 0) {
        n->result.type = MT_T_STR;
        if (!mt_build_text(m->b, n->text, n->n_text, n->is_dict, &n->result.id))
            return mt_pk_builder_failed(m);
        if (n->result.id > PK_ID_MASK)
            return mt_pk_fail(m, PK_FAIL, MT_ELIMIT, "more than %u different texts", PK_ID_MASK);
    } else if (n->is_dict) {
        /* under a key that is not known, what looks like a frame is one: a later stack may refer to
         * it */
        if (n->role == MT_R_FRAME || (n->role == MT_R_SKIP && (n->parts & 3) == 3 &&
                                      n->part[0].type == MT_T_STR && n->part[1].type == MT_T_STR))
            if (!frame_of(m, n, &n->result))
                return 0;
    } else if (n->role == MT_R_FRAMES || n->role == MT_R_TEXT ||
               (n->role == MT_R_SKIP && !n->mixed)) {
        n->result.type = MT_T_STACK;
        if (!mt_build_stack(m->b, n->ids, n->n_ids, &n->result.id))
            return mt_pk_builder_failed(m);
        if (n->result.id > PK_ID_MASK)
            return mt_pk_fail(m, PK_FAIL, MT_ELIMIT, "more than %u different stacks", PK_ID_MASK);
    } else if (n->role == MT_R_POOL && n->n == 2 && is_int(&n->part[0]) && is_int(&n->part[1])) {
        n->result.type = MT_T_PAIR;
        if (!mt_build_pair(m->b, n->part[0].u, n->part[1].u, &n->result.id))
            return mt_pk_builder_failed(m);
    }
    if (n->memo != 0)
        mt_pk_memo_result(m, n->memo - 1, index, n->result);
    return 1;
}

/* Takes a value off the stack for good: a container becomes what it stands for and its node is free
 * again. */
static int settle(struct pk *m, struct mt_val *v)
{
    uint32_t index = v->id;
    if (v->type != PK_T_NODE)
        return 1;
    if (!mt_pk_node_close(m, index))
        return 0;
    *v = m->nodes.p[index].result;
    mt_pk_node_release(m, index);
    return 1;
}

static void bad_item(struct pk *m, enum mt_schema_role list)
{
    if (m->n_bad_items++ == 0) {
        m->first_bad_item = mt_pk_offset(m);
        m->bad_item_role = list;
    }
}

static int unknown_key(struct pk *m, const struct mt_val *key)
{
    static const char odd[] = "(a key that is not text)";
    if (key->type != MT_T_STR)
        return mt_build_unknown_key(m->b, odd, sizeof odd - 1) || mt_pk_builder_failed(m);
    return mt_build_unknown_key(m->b, mt_str(m->t, key->id), mt_str_len(m->t, key->id)) ||
           mt_pk_builder_failed(m);
}

/* ---- dicts ---- */

static int record_items(struct pk *m, struct pk_node *n, uint32_t lo, uint32_t hi)
{
    struct mt_rec *rec = n->rec;
    for (uint32_t i = lo; i < hi; i += 2) {
        struct mt_val *key = &m->stack[i], *val = &m->stack[i + 1];
        enum mt_key k = key->type == MT_T_STR ? (enum mt_key)m->key_of[key->id] : MT_K_UNKNOWN;
        if (val->type == PK_T_NODE && !settle(m, val))
            return 0;
        if (k != MT_K_UNKNOWN)
            mt_rec_set(rec, k, *val);
        else if (!unknown_key(m, key))
            return 0;
    }
    return 1;
}

static int frame_items(struct pk *m, struct pk_node *n, uint32_t index, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo; i < hi; i += 2) {
        struct mt_val *key = &m->stack[i], *val = &m->stack[i + 1];
        enum mt_key k = key->type == MT_T_STR ? (enum mt_key)m->key_of[key->id] : MT_K_UNKNOWN;
        if (!settle(m, val))
            return 0;
        n = &m->nodes.p[index];
        for (unsigned p = 0; p < PK_PARTS; p++)
            if (k == part_keys[p]) {
                n->part[p] = *val;
                n->parts |= (uint8_t)(1u << p);
                break;
            }
        if (k == MT_K_UNKNOWN && n->role == MT_R_FRAME && !unknown_key(m, key))
            return 0;
    }
    return 1;
}

/* Parts of a text, as far as there is room for more of them: what is longer is cut anyway. */
static int text_items(struct pk *m, uint32_t index, uint32_t lo, uint32_t hi)
{
    enum { MOST = 1024 };
    for (uint32_t i = lo; i < hi; i++) {
        struct pk_node *n;
        if (!settle(m, &m->stack[i]))
            return 0;
        n = &m->nodes.p[index];
        if (n->n_text == MOST || (!n->is_dict && m->stack[i].type > MT_T_STR))
            continue;
        if (n->n_text == n->cap_text &&
            !mt_vec_grow((void **)&n->text, &n->cap_text, n->n_text + 1, sizeof *n->text))
            return mt_pk_nomem(m);
        n->text[n->n_text++] = m->stack[i];
    }
    return 1;
}

static int setting_items(struct pk *m, struct pk_node *n, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo; i < hi; i += 2) {
        struct mt_val *key = &m->stack[i], *val = &m->stack[i + 1];
        enum mt_key k;
        /* its own items were given already */
        bool nested = val->type == PK_T_NODE && m->nodes.p[val->id].is_dict;
        if (!settle(m, val))
            return 0;
        if (key->type != MT_T_STR) {
            if (!unknown_key(m, key))
                return 0;
            continue;
        }
        k = (enum mt_key)m->key_of[key->id];
        if ((k == MT_K_TRACE_ALLOC_MAX_ENTRIES || k == MT_K_TRACE_ALLOC_OVERFLOWED) &&
            !mt_build_ring(m->b, k, -1, *val))
            return mt_pk_builder_failed(m);
        if (!nested && !mt_build_setting(m->b, n->path, key->id, *val))
            return mt_pk_builder_failed(m);
    }
    return 1;
}

static int top_items(struct pk *m, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo; i < hi; i += 2) {
        struct mt_val *key = &m->stack[i], *val = &m->stack[i + 1];
        enum mt_key k = MT_K_UNKNOWN;
        if (!settle(m, val))
            return 0;
        if (key->type == MT_T_STR) {
            k = (enum mt_key)m->key_of[key->id];
            if (m->n_top_keys < sizeof m->top_keys / sizeof *m->top_keys)
                m->top_keys[m->n_top_keys] = key->id;
        }
        m->n_top_keys++;
        m->seen_top |= UINT64_C(1) << k;
        mt_build_saw_key(m->b, k);
        if (k == MT_K_UNKNOWN && !unknown_key(m, key))
            return 0;
        if ((k == MT_K_TRACE_ALLOC_MAX_ENTRIES || k == MT_K_TRACE_ALLOC_OVERFLOWED) &&
            !mt_build_ring(m->b, k, -1, *val))
            return mt_pk_builder_failed(m);
    }
    return 1;
}

/* ---- lists ---- */

static int frames_items(struct pk *m, struct pk_node *n, uint32_t index, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = lo; i < hi; i++) {
        struct mt_val *v = &m->stack[i];
        if (v->type == PK_T_NODE) {
            if (!settle(m, v))
                return 0;
            n = &m->nodes.p[index];
        }
        if (v->type != MT_T_FRAME) {
            if (n->role == MT_R_FRAMES)
                bad_item(m, MT_R_FRAMES);
            n->mixed = true;
            continue;
        }
        if (n->mixed && n->role == MT_R_SKIP)
            continue;
        if (n->n_ids >= m->lim->max_frames) {
            if (n->role == MT_R_FRAMES)
                return mt_pk_fail(m, PK_FAIL, MT_ELIMIT,
                                  "a stack of more than %u frames (raise --max-frames)",
                                  m->lim->max_frames);
            n->mixed = true;
            continue;
        }
        if (n->n_ids == n->cap_ids &&
            !mt_vec_grow((void **)&n->ids, &n->cap_ids, n->n_ids + 1, sizeof *n->ids))
            return mt_pk_nomem(m);
        n->ids[n->n_ids++] = v->id;
    }
    return 1;
}

static int build_record(struct pk *m, const struct pk_node *item)
{
    int ok = 1;
    switch ((int)item->role) {
    case MT_R_EVENT: ok = mt_build_event(m->b, item->rec); break;
    case MT_R_SEGMENT: ok = mt_build_segment(m->b, item->rec); break;
    case MT_R_BLOCK: ok = mt_build_block(m->b, item->rec); break;
    case MT_R_HIST: ok = mt_build_history(m->b, item->rec); break;
    case MT_R_ANNOTATION: ok = mt_build_annotation(m->b, item->rec); break;
    case MT_R_HOST_SEGMENT: ok = mt_build_host_segment(m->b, item->rec); break;
    default: break;
    }
    return ok || mt_pk_builder_failed(m);
}

static int record_list_items(struct pk *m, enum mt_schema_role list, uint32_t lo, uint32_t hi)
{
    enum mt_schema_role want = mt_role_item(list);
    for (uint32_t i = lo; i < hi; i++) {
        struct mt_val *v = &m->stack[i];
        const struct pk_node *item = v->type == PK_T_NODE ? &m->nodes.p[v->id] : NULL;
        if (item != NULL && item->is_dict && item->role == want) {
            if (!build_record(m, item))
                return 0;
        } else if (!(list == MT_R_HOST_TRACES && item != NULL && item->role == MT_R_TRACE)) {
            bad_item(m, list); /* also a record by reference: what it held is gone */
        }
        if (!settle(m, v))
            return 0;
    }
    return 1;
}

static int list_items(struct pk *m, struct pk_node *n, uint32_t index, uint32_t lo, uint32_t hi)
{
    enum mt_schema_role role = (enum mt_schema_role)n->role;
    enum mt_key key = (enum mt_key)n->key;
    uint64_t first = n->n - (hi - lo);
    switch (role) {
    case MT_R_TEXT:
        if (n->n_text != 0 || lo == hi || m->stack[lo].type <= MT_T_STR)
            return text_items(m, index, lo, hi);
        n->role = MT_R_SKIP; /* frames, perhaps */
        __attribute__((fallthrough));
    case MT_R_FRAMES:
    case MT_R_SKIP: return frames_items(m, n, index, lo, hi);
    case MT_R_SEGMENTS:
    case MT_R_BLOCKS:
    case MT_R_HISTORY:
    case MT_R_TRACE:
    case MT_R_ANNOTATIONS:
    case MT_R_HOST_SEGMENTS:
    case MT_R_HOST_TRACES: return record_list_items(m, role, lo, hi);
    case MT_R_TOP:
    case MT_R_SEGMENT:
    case MT_R_BLOCK:
    case MT_R_HIST:
    case MT_R_TRACES:
    case MT_R_EVENT:
    case MT_R_FRAME:
    case MT_R_SETTINGS:
    case MT_R_ANNOTATION:
    case MT_R_POOL:
    case MT_R_HOST_SEGMENT:
    case MT_R_RING: break;
    }
    for (uint32_t i = lo; i < hi; i++) {
        struct mt_val *v = &m->stack[i];
        uint64_t at = first + (i - lo);
        if (role == MT_R_TRACES &&
            !(v->type == PK_T_NODE && m->nodes.p[v->id].role == MT_R_TRACE) &&
            !(v->type == MT_T_STACK &&
              v->id == 0)) /* an empty list by reference is an empty trace */
            bad_item(m, role);
        if (!settle(m, v))
            return 0;
        if (role == MT_R_POOL && at < 2)
            m->nodes.p[index].part[at] = *v;
        if (role == MT_R_RING && at < INT32_MAX && !mt_build_ring(m->b, key, (int32_t)at, *v))
            return mt_pk_builder_failed(m);
    }
    return 1;
}

int mt_pk_deliver(struct pk *m, uint32_t index, uint32_t lo, uint32_t hi)
{
    struct pk_node *n = &m->nodes.p[index];
    n->n += hi - lo;
    n->filled = true;
    m->steps += hi - lo;
    if (!n->is_dict)
        return list_items(m, n, index, lo, hi);
    for (uint32_t i = lo; i < hi; i += 2)
        if (m->stack[i].type == PK_T_NODE &&
            !settle(m, &m->stack[i])) /* no pickler has a container for a key */
            return 0;
    if (n->is_record) {
        m->t->n_distinct_stacks += n->n_new_stacks;
        n->n_new_stacks = 0;
        return record_items(m, n, lo, hi);
    }
    if (n->role == MT_R_SETTINGS)
        return setting_items(m, n, lo, hi);
    if (n->role == MT_R_TOP)
        return top_items(m, lo, hi);
    return n->role == MT_R_TEXT ? text_items(m, index, lo, hi) : frame_items(m, n, index, lo, hi);
}
