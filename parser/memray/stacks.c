/* memray/stacks.c -- threads, their Python calls, and the stack of an allocation. */
#include "parser/memray/impl.h"

#include <stdio.h>
#include <string.h>

/* ---- threads ---- */

static int make_frame(struct mt_mr *m, const char *name, mt_frame_id *frame)
{
    mt_str_id id;
    return (mt_build_str(m->b, name, strlen(name), &id) && mt_build_frame(m->b, id, 0, 0, frame)) ||
           mt_mr_refused(m);
}

int mt_mr_thread_of(struct mt_mr *m, uint64_t tid, uint32_t *index)
{
    const uint32_t *at = mt_pf_map_get(&m->thread_by_tid, tid);
    struct mt_mr_thread *t;
    struct mt_mr_node *root;
    char name[48];
    if (at != NULL) {
        *index = *at;
        return 1;
    }
    t = MT_VEC_PUSH(&m->threads);
    root = t != NULL ? MT_VEC_PUSH(&m->nodes) : NULL;
    if (root == NULL || !mt_pf_map_put(&m->thread_by_tid, tid, m->threads.n))
        return mt_mr_nomem(m);
    for (unsigned kind = 0; kind < MT_MR_KINDS; kind++)
        if (MT_VEC_PUSH(&m->shares) == NULL)
            return mt_mr_nomem(m);
    t->tid = tid;
    t->root = m->nodes.n - 1;
    *index = m->threads.n;
    (void)snprintf(name, sizeof name, "thread 0x%llx", (unsigned long long)tid);
    return make_frame(m, name, &t->frame);
}

int mt_mr_thread(struct mt_mr *m, uint64_t tid) { return mt_mr_thread_of(m, tid, &m->thread); }

int mt_mr_thread_name(struct mt_mr *m)
{
    mt_str_id name;
    if (!mt_mr_string(m, &name))
        return 0;
    if (m->thread != 0)
        m->threads.p[m->thread - 1].name = name;
    return 1;
}

/* Threads are often named after their first allocation: only the end knows what to call them. */
int mt_mr_name_threads(struct mt_mr *m)
{
    for (uint32_t i = 0; i < m->threads.n; i++) {
        const struct mt_mr_thread *t = &m->threads.p[i];
        char name[200];
        int n;
        mt_str_id id;
        if (t->tid == m->main_tid && m->main_tid != 0)
            n = snprintf(name, sizeof name, "main thread");
        else if (t->name != 0)
            n = snprintf(name, sizeof name, "thread %.150s", mt_str(m->t, t->name));
        else
            continue;
        if (!mt_build_str(m->b, name, (size_t)n, &id))
            return mt_mr_refused(m);
        m->t->frames.p[t->frame].name = id;
    }
    return 1;
}

/* ---- code and frames ---- */

int mt_mr_code(struct mt_mr *m)
{
    struct mt_mr_code c = {0, 0, 0, NULL, 0}, *to;
    uint64_t id, n;
    if (!mt_mr_varint(m, &id) || !mt_mr_string(m, &c.name) || !mt_mr_string(m, &c.file) ||
        !mt_mr_delta(m, &m->last_line) || !mt_mr_varint(m, &n))
        return 0;
    if (n > m->lim->max_string)
        return mt_mr_broken(m, "a table of lines that is longer than --max-string");
    if (mt_source_need(m->src, (size_t)n) < n)
        return mt_mr_fixed(m, NULL, (size_t)n);
    c.line = (int32_t)m->last_line;
    c.n = (size_t)n;
    to = MT_VEC_PUSH(&m->codes);
    if (to == NULL || (c.table = mt_malloc(c.n)) == NULL)
        return mt_mr_nomem(m);
    *to = c;
    return mt_mr_fixed(m, c.table, c.n) &&
           (mt_pf_map_put(&m->code_by_id, id, m->codes.n) || mt_mr_nomem(m));
}

int mt_mr_frame(struct mt_mr *m, uint64_t id, mt_str_id name, mt_str_id file, int64_t line)
{
    mt_frame_id frame;
    if (!mt_build_frame(m->b, name, file, line > 0 && line <= INT32_MAX ? (uint32_t)line : 0,
                        &frame))
        return mt_mr_refused(m);
    return mt_pf_map_put(&m->frame_by_id, id, frame) || mt_mr_nomem(m);
}

int mt_mr_frame_of_id(struct mt_mr *m, uint64_t id, mt_frame_id *frame)
{
    const uint32_t *at = mt_pf_map_get(&m->frame_by_id, id);
    if (at == NULL)
        return make_frame(m, "<a frame that the recording does not name>", frame);
    *frame = *at;
    return 1;
}

int mt_mr_frame_of_code(struct mt_mr *m, uint64_t code, int64_t at, mt_frame_id *frame)
{
    const uint32_t *known = mt_pf_map_get(&m->code_by_id, code), *made;
    const struct mt_mr_code *c;
    uint64_t key;
    if (known == NULL)
        return make_frame(m, "<a frame that the recording does not name>", frame);
    c = &m->codes.p[*known - 1];
    key = (uint64_t)*known << 32 | (uint32_t)at;
    if ((made = mt_pf_map_get(&m->frame_by_code, key)) != NULL) {
        *frame = *made;
        return 1;
    }
    if (!mt_build_frame(m->b, c->name, c->file,
                        mt_mr_line(m->python, c->table, c->n, c->line, (int32_t)at), frame))
        return mt_mr_refused(m);
    return mt_pf_map_put(&m->frame_by_code, key, *frame) || mt_mr_nomem(m);
}

/* ---- calls ---- */

static int here(struct mt_mr *m)
{
    return m->thread != 0 || mt_mr_thread(m, 0); /* before version 12 the first may be 0 */
}

static uint32_t innermost(const struct mt_mr_thread *t)
{
    return t->calls.n != 0 ? t->calls.p[t->calls.n - 1] : t->root;
}

int mt_mr_push(struct mt_mr *m, mt_frame_id frame)
{
    struct mt_mr_thread *t;
    uint32_t *to, around, node;
    const uint32_t *at;
    uint64_t key;
    if (!here(m))
        return 0;
    t = &m->threads.p[m->thread - 1];
    around = innermost(t);
    key = (uint64_t)around << 32 | frame;
    if ((at = mt_pf_map_get(&m->node_by_call, key)) != NULL) {
        node = *at - 1;
    } else {
        struct mt_mr_node *k = MT_VEC_PUSH(&m->nodes);
        if (k == NULL || !mt_pf_map_put(&m->node_by_call, key, m->nodes.n))
            return mt_mr_nomem(m);
        k->parent = around;
        k->depth = m->nodes.p[around].depth + 1;
        k->frame = frame;
        node = m->nodes.n - 1;
    }
    if ((to = MT_VEC_PUSH(&t->calls)) == NULL)
        return mt_mr_nomem(m);
    *to = node;
    return 1;
}

int mt_mr_call(struct mt_mr *m, uint64_t code, int64_t at)
{
    struct mt_mr_thread *t;
    mt_frame_id frame = 0;
    uint32_t around, *to;
    if (!here(m))
        return 0;
    t = &m->threads.p[m->thread - 1];
    around = innermost(t);
    if (m->nodes.p[around].inner != 0 && m->nodes.p[around].inner_code == code &&
        m->nodes.p[around].inner_at == (int32_t)at) {
        if ((to = MT_VEC_PUSH(&t->calls)) == NULL)
            return mt_mr_nomem(m);
        *to = m->nodes.p[around].inner;
        return 1;
    }
    if (!(m->version >= 12 ? mt_mr_frame_of_code(m, code, at, &frame)
                           : mt_mr_frame_of_id(m, code, &frame)) ||
        !mt_mr_push(m, frame))
        return 0;
    m->nodes.p[around].inner = innermost(t);
    m->nodes.p[around].inner_code = code;
    m->nodes.p[around].inner_at = (int32_t)at;
    return 1;
}

void mt_mr_pop(struct mt_mr *m, uint32_t n)
{
    struct mt_mr_thread *t;
    if (m->thread == 0)
        return;
    t = &m->threads.p[m->thread - 1];
    t->calls.n -= n < t->calls.n ? n : t->calls.n;
}

/* ---- stacks ---- */

int mt_mr_stack_of(struct mt_mr *m, uint32_t thread, mt_stack_id *stack)
{
    mt_frame_id *outer;
    if (m->ids.n >= m->lim->max_frames)
        m->ids.n = m->lim->max_frames - 1;
    if ((outer = MT_VEC_PUSH(&m->ids)) == NULL)
        return mt_mr_nomem(m);
    *outer = m->threads.p[thread - 1].frame;
    return mt_build_stack(m->b, m->ids.p, m->ids.n, stack) || mt_mr_refused(m);
}

static int add(struct mt_mr *m, mt_frame_id frame)
{
    mt_frame_id *to = MT_VEC_PUSH(&m->ids);
    if (to == NULL)
        return mt_mr_nomem(m);
    *to = frame;
    return 1;
}

int mt_mr_mmap_id(struct mt_mr *m)
{
    return (m->by_mmap != 0 || make_frame(m, "mmap", &m->by_mmap)) && add(m, m->by_mmap);
}

static int make_stack(struct mt_mr *m, uint32_t at, uint64_t native, enum mt_mr_kind kind,
                      mt_stack_id *stack)
{
    const struct mt_mr_thread *t = &m->threads.p[m->thread - 1];
    /* what `memray run` itself calls is around the program's own */
    uint64_t hidden = t->tid == m->main_tid ? m->n_skipped : 0;
    m->ids.n = 0;
    if ((kind == MT_MR_MMAP && !mt_mr_mmap_id(m)) ||
        (native != 0 && !mt_mr_native_ids(m, native, m->nodes.p[at].depth > hidden)))
        return 0;
    for (; m->nodes.p[at].depth > hidden && m->ids.n < m->lim->max_frames;
         at = m->nodes.p[at].parent)
        if (!add(m, m->nodes.p[at].frame))
            return 0;
    return mt_mr_stack_of(m, m->thread, stack);
}

int mt_mr_stack(struct mt_mr *m, uint64_t native, enum mt_mr_kind kind, mt_stack_id *stack)
{
    uint32_t at;
    bool mapped = kind == MT_MR_MMAP;
    const uint32_t *made;
    uint64_t key;
    if (!here(m))
        return 0;
    at = innermost(&m->threads.p[m->thread - 1]);
    if (native == 0 || native > m->natives.n) {
        *stack = m->nodes.p[at].stack[mapped];
        if (*stack == 0 && !make_stack(m, at, 0, kind, stack))
            return 0;
        m->nodes.p[at].stack[mapped] = *stack;
        return 1;
    }
    m->n_with_native++;
    key = (uint64_t)at << 32 | native << 1 | mapped;
    if ((made = mt_pf_map_get(&m->stack_by_native, key)) != NULL) {
        *stack = *made;
        return 1;
    }
    return make_stack(m, at, native, kind, stack) &&
           (mt_pf_map_put(&m->stack_by_native, key, *stack) || mt_mr_nomem(m));
}

void mt_mr_stacks_done(struct mt_mr *m)
{
    for (uint32_t i = 0; i < m->threads.n; i++)
        MT_VEC_DONE(&m->threads.p[i].calls);
    for (uint32_t i = 0; i < m->codes.n; i++)
        mt_free(m->codes.p[i].table);
    MT_VEC_DONE(&m->threads);
    MT_VEC_DONE(&m->nodes);
    MT_VEC_DONE(&m->codes);
    MT_VEC_DONE(&m->ids);
    MT_VEC_DONE(&m->natives);
    MT_VEC_DONE(&m->modules);
    mt_free(m->thread_by_tid.p);
    mt_free(m->node_by_call.p);
    mt_free(m->frame_by_id.p);
    mt_free(m->code_by_id.p);
    mt_free(m->frame_by_code.p);
    mt_free(m->stack_by_native.p);
}
