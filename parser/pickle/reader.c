/* The pickle reader: PyTorch's torch.cuda.memory._dump_snapshot() (CPython's pickler, protocols
 * 0..5) and the C++ _memory_snapshot_pickled() (torch::jit::Pickler, protocol 2, whole lists above
 * one MARK, PUT after the items). A machine for the opcodes that plain data needs; every other
 * opcode is refused by name and offset. It executes nothing. */
#include "parser/base/text.h"
#include "parser/pickle/impl.h"
#include "parser/model/reader.h"

#include <stdio.h>
#include <string.h>

/* ---- how it ends ---- */

static void join(char *buf, size_t cap, const char *word, unsigned at, unsigned of)
{
    size_t n = strlen(buf);
    snprintf(buf + n, cap - n, "%s%s", at == 0 ? "" : at + 1 == of ? " and " : ", ", word);
}

/* "the file ends in the trace of device 0, after 12 entries: its later entries, later devices, ...
 * are missing" */
static void diagnose(struct pk *m, const char *why)
{
    static const enum mt_key order[] = {MT_K_SEGMENTS, MT_K_DEVICE_TRACES, MT_K_ALLOCATOR_SETTINGS,
                                        MT_K_EXTERNAL_ANNOTATIONS};
    char where[128] = "", sure[128] = "", maybe[128] = "";
    unsigned n_sure = 0, n_maybe = 0, i_sure = 0, i_maybe = 0;
    bool inside = mt_pk_where(m, where, sizeof where), bare = m->t->meta.is_bare_list;
    for (int pass = 0; pass < 2 && !bare; pass++) {
        for (unsigned i = 0; i < 4; i++) {
            if (m->seen_top >> order[i] & 1)
                continue;
            if (pass == 0)
                *(i < 2 ? &n_sure : &n_maybe) += 1;
            else if (i < 2)
                join(sure, sizeof sure, mt_key_name(order[i]), i_sure++, n_sure);
            else
                join(maybe, sizeof maybe, mt_key_name(order[i]), i_maybe++, n_maybe);
        }
    }
    mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, m->err.offset,
                  "%s%s%s: what follows %s%s%s is missing", why, inside ? " " : "", where,
                  strncmp(where, "in the trace", 12) == 0
                      ? "in this trace and in those of later devices"
                      : "there",
                  n_sure ? ", and with it " : "", sure);
    if (n_maybe != 0)
        mt_trace_diag(m->t, MT_DIAG_NOTE, false, 0,
                      "%s may be missing as well: they would have come later in the file", maybe);
}

static enum mt_rc finish(struct pk *m, struct mt_err *err, enum mt_rc rc)
{
    if (m->n_bad_items != 0)
        mt_trace_diag(
            m->t, MT_DIAG_DAMAGE, true, m->first_bad_item,
            "%llu item%s of lists %s, or %s back to a record, and %s left out; the first is in %s",
            (unsigned long long)m->n_bad_items, mt_plural(m->n_bad_items, "", "s"),
            mt_plural(m->n_bad_items, "is not what it has to be", "are not what they have to be"),
            mt_plural(m->n_bad_items, "refers", "refer"), mt_plural(m->n_bad_items, "was", "were"),
            mt_role_name(m->bad_item_role));
    m->t->meta.format = MT_FMT_PICKLE;
    m->t->meta.pickle_protocol = m->protocol >= 0 ? m->protocol : m->min_protocol & 2u ? 1 : 0;
    m->t->meta.torch_jit_pickler = m->jit && m->protocol == 2;
    m->t->meta.bytes = mt_source_offset(m->src);
    if (!mt_build_finish(m->b)) {
        *err = *mt_builder_err(m->b);
        return err->rc;
    }
    return rc == MT_OK && m->t->damaged ? MT_WARN : rc;
}

/* Reads to the end of the stream, so that a checksum behind the data is seen. */
static void drain(struct pk *m)
{
    uint64_t stop = mt_source_offset(m->src), odd = 0, n = 0;
    unsigned char first = 0;
    while (mt_source_need(m->src, 1) != 0) {
        for (const unsigned char *p = m->src->cur; p < m->src->end; p++, n++) {
            if (*p != 0 && odd++ == 0) {
                stop += n;
                first = *p;
            }
        }
        m->src->cur = m->src->end;
    }
    if (odd != 0)
        mt_trace_diag(
            m->t, MT_DIAG_NOTE, true, stop, "%llu byte%s the end of the pickle and %s left out%s",
            (unsigned long long)(mt_source_offset(m->src) - stop),
            mt_plural(mt_source_offset(m->src) - stop, " follows", "s follow"),
            mt_plural(mt_source_offset(m->src) - stop, "was", "were"),
            first == 0x80 ? ": another pickle, it seems; save each snapshot in a file of its own"
                          : "");
}

static enum mt_rc not_a_snapshot(struct pk *m, struct mt_err *err)
{
    static const char how[] = "Make one with torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")";
    const struct mt_val *v = &m->stack[0];
    const struct pk_node *n = v->type == PK_T_NODE ? &m->nodes.p[v->id] : NULL;
    char keys[400] = "";
    if (n == NULL)
        return mt_fail(err, MT_EINPUT, "a pickle of %s, not a memory snapshot. %s",
                       v->type == MT_T_STR                             ? "a text"
                       : v->type == MT_T_NONE                          ? "None"
                       : v->type == MT_T_PAIR || v->type == MT_T_OTHER ? "a tuple"
                                                                       : "a number",
                       how);
    if (!n->is_dict)
        return mt_fail(err, MT_EINPUT,
                       "a pickle of a list of %llu items, not a memory snapshot: expected "
                       "segments, each with 'address' "
                       "and 'total_size'. %s",
                       (unsigned long long)n->n, how);
    for (uint32_t i = 0; i < m->n_top_keys && i < 8; i++) {
        char one[48];
        mt_printable(one, sizeof one, mt_str(m->t, m->top_keys[i]),
                     mt_str_len(m->t, m->top_keys[i]));
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s'%s'", i ? ", " : "", one);
    }
    if (m->seen_top >> MT_K_SEGMENTS & 1)
        return mt_fail(err, MT_EINPUT,
                       "a pickle of a dict with the keys %s; not a memory snapshot: its 'segments' "
                       "have no 'address' and "
                       "'total_size'. %s",
                       keys, how);
    return mt_fail(
        err, MT_EINPUT,
        "a pickle of %s %s%s; not a memory snapshot: expected 'segments' or 'device_traces'. %s",
        m->n_top_keys == 0 ? "an empty dict" : "a dict with the keys", keys,
        m->n_top_keys > 8 ? ", ..." : "", how);
}

static enum mt_rc conclude(struct pk *m, struct mt_err *err)
{
    const struct mt_source *src = m->src;
    enum pk_stop stop = m->stop;
    if (stop == PK_REFUSE || stop == PK_FAIL) {
        char where[128];
        *err = m->err;
        if (mt_pk_where(m, where, sizeof where))
            mt_err_context(err, "%s", where);
        return err->rc;
    }
    if (stop == PK_DONE) {
        if (!mt_build_is_snapshot(m->b))
            return not_a_snapshot(m, err);
        drain(m);
        if (src->status != MT_OK)
            mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, mt_source_offset(src),
                          "the snapshot is whole, but its file is not: %s", src->err.msg);
        return finish(m, err, MT_OK);
    }
    /* cut or damaged */
    if (!mt_pk_salvage(m)) {
        *err = m->err;
        return err->rc;
    }
    if (!mt_build_is_snapshot(m->b)) {
        if (stop == PK_CUT && src->status != MT_OK) {
            *err = src->err;
            return src->status;
        }
        if (stop == PK_CUT)
            return mt_fail_at(err, MT_EINPUT, m->err.offset,
                              "a pickle that ends before anything of a memory snapshot was read: "
                              "copy the file again, or dump it again");
        return mt_fail_at(err, MT_EINPUT, m->err.offset,
                          "not a memory snapshot, or a damaged one: %s", m->err.msg);
    }
    diagnose(m, stop == PK_CUT && src->status != MT_OK ? src->err.msg : m->err.msg);
    if (stop == PK_DAMAGED) {
        while (mt_source_need(m->src, 1) !=
               0) /* meta.bytes is the size of the input, read or not */
            m->src->cur = m->src->end;
    }
    return finish(m, err, MT_WARN);
}

enum mt_rc mt_pickle_read_steps(struct mt_source *src, const struct mt_limits *lim,
                                struct mt_trace *t, struct mt_err *err, uint64_t *steps)
{
    struct pk m = {.src = src, .lim = lim, .t = t, .free_node = PK_NONE, .protocol = -1};
    struct mt_err own;
    enum mt_rc rc = MT_ENOMEM;
    if (err == NULL)
        err = &own;
    m.op = src->cur;
    mt_pk_shapes_begin(&m);
    m.b = mt_builder_new(t, lim);
    m.mark = m.b != NULL ? MT_VEC_PUSH(&m.marks) : NULL;
    if (m.mark == NULL) {
        mt_fail(err, MT_ENOMEM, "out of memory (a limit can be raised with --max-memory)");
        goto out;
    }
    m.mark->node = PK_NONE;
    mt_pk_run(&m);
    rc = conclude(&m, err);
out:
    if (steps != NULL)
        *steps = m.steps;
    for (uint32_t i = 0; i < m.nodes.n; i++) {
        mt_free(m.nodes.p[i].rec);
        mt_free(m.nodes.p[i].ids);
        mt_free(m.nodes.p[i].text);
    }
    MT_VEC_DONE(&m.nodes);
    MT_VEC_DONE(&m.marks);
    MT_VEC_DONE(&m.side);
    mt_free(m.stack);
    mt_free(m.memo);
    mt_free(m.key_of);
    mt_pk_stacks_done(&m);
    mt_builder_free(m.b);
    return rc;
}

static enum mt_rc read_pickle(struct mt_source *src, const struct mt_limits *lim,
                              struct mt_trace *t, struct mt_err *err)
{
    return mt_pickle_read_steps(src, lim, t, err, NULL);
}

/* ---- is it a pickle at all ---- */

static size_t word(const unsigned char *s, size_t n)
{
    size_t i = 0;
    while (i < n &&
           ((s[i] | 0x20u) - 'a' < 26u || s[i] - (unsigned)'0' < 10u || s[i] == '_' || s[i] == '.'))
        i++;
    return i < n && s[i] == '\n' ? i : 0;
}

static int probe(const unsigned char *h, size_t n)
{
    if (n >= 2 && h[0] == 0x80) { /* PROTO */
        if (h[1] < 2 || h[1] > 5)
            return n >= 3 && h[1] < 32 && h[2] == 0x95 ? 40 : 0;
        if (n == 2)
            return 60;
        return mt_pk_ops[h[2]].cls == PK_SUBSET ? 98 : mt_pk_ops[h[2]].cls == PK_REFUSED ? 80 : 20;
    }
    /* protocols 0 and 1 have no mark of their own */
    if (n >= 3 && h[0] == '(' && (h[1] == 'd' || h[1] == 'l') &&
        (h[2] == 'p' || h[2] == '.' || h[2] == 'V' || h[2] == '('))
        return 60;
    if (n >= 2 && (h[0] == '}' || h[0] == ']') &&
        (h[1] == 'q' || h[1] == '.' || (h[1] == '(' && n >= 3 && mt_pk_ops[h[2]].cls == PK_SUBSET)))
        return 55;
    if (n >= 4 && h[0] == 'c') { /* GLOBAL: refused in good order, by name */
        size_t module = word(h + 1, n - 1);
        if (module != 0 && word(h + module + 2, n - module - 2) != 0)
            return 30;
    }
    return 0;
}

const struct mt_reader mt_reader_pickle = {
    .name = "pickle",
    .desc = "Python pickle of torch.cuda.memory._dump_snapshot(), protocols 0 to 5, also by "
            "PyTorch's C++ pickler",
    .probe = probe,
    .read = read_pickle,
};
