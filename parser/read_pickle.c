/* The pickle reader: PyTorch's torch.cuda.memory._dump_snapshot() (CPython's pickler, protocols 0..5) and the C++
 * _memory_snapshot_pickled() (torch::jit::Pickler, protocol 2, whole lists above one MARK, PUT after the items).
 * A machine for the opcodes that plain data needs; every other opcode is refused by name and offset. It executes nothing. */
#include "parser/pickle_impl.h"
#include "parser/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_OP = 10 /* opcode and fixed operand; BINUNICODE8 and FRAME are 9 */ };

/* ---- why it stops ---- */

int mt_pk_fail(struct pk *m, enum pk_stop stop, enum mt_rc rc, const char *fmt, ...)
{
    char text[MT_ERR_MSG];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    m->stop = stop;
    mt_fail_at(&m->err, rc, mt_pk_offset(m), "%s", text);
    return 0;
}

int mt_pk_nomem(struct pk *m)
{
    return mt_pk_fail(m, PK_FAIL, MT_ENOMEM, "out of memory after %llu MiB (a limit can be raised with --max-memory)",
                      (unsigned long long)(mt_mem_used() >> 20));
}

int mt_pk_builder_failed(struct pk *m)
{
    const struct mt_err *e = mt_builder_err(m->b);
    return mt_pk_fail(m, PK_FAIL, e->rc != MT_OK ? e->rc : MT_EINTERN, "%s", e->msg);
}

static int cut(struct pk *m)
{
    m->stop = PK_CUT;
    m->op = m->src->cur = m->src->end;
    mt_fail_at(&m->err, MT_EINPUT, mt_source_offset(m->src), "the file ends");
    return 0;
}

/* Copies one line of a text operand, made printable. */
static const unsigned char *name_line(const unsigned char *p, const unsigned char *end, char *out, size_t cap)
{
    const unsigned char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    mt_printable(out, cap, p, (size_t)((nl != NULL ? nl : end) - p));
    return nl != NULL ? nl + 1 : end;
}

static bool saved_model(const char *module)
{
    static const char *const starts[] = { "torch", "collections", "numpy", "transformers" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(module, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static int refuse(struct pk *m)
{
    char module[160] = "", name[160] = "";
    const char *op = mt_pk_ops[*m->op].name, *hint = "";
    if (*m->op == 'c' || *m->op == 'i') {
        const unsigned char *p;
        m->src->cur = m->op;
        mt_source_need(m->src, 512);
        m->op = m->src->cur;
        p = name_line(m->op + 1, m->src->end, module, sizeof module);
        name_line(p, m->src->end, name, sizeof name);
    } else if (*m->op == 0x93 && m->sp >= m->mark->base + 2 && m->stack[m->sp - 2].type == MT_T_STR &&
               m->stack[m->sp - 1].type == MT_T_STR) {
        mt_str_id a = m->stack[m->sp - 2].id, b = m->stack[m->sp - 1].id;
        mt_printable(module, sizeof module, mt_str(m->t, a), mt_str_len(m->t, a));
        mt_printable(name, sizeof name, mt_str(m->t, b), mt_str_len(m->t, b));
    }
    if (saved_model(module))
        hint = ". This looks like a saved model or data set; a snapshot comes from torch.cuda.memory._dump_snapshot()";
    if (module[0] != '\0')
        return mt_pk_fail(m, PK_REFUSE, MT_EINPUT, "opcode %s (%s.%s): a memory snapshot never needs it; memtrace executes nothing%s", op,
                          module, name, hint);
    return mt_pk_fail(m, PK_REFUSE, MT_EINPUT, "opcode %s: a memory snapshot never needs it; memtrace executes nothing", op);
}

/* ---- operands that vary in length ---- */

/* A text over the limit, of which `have` bytes are in the window. If the file really holds that much it is the limit; else the length
 * itself is damaged. */
static int too_long(struct pk *m, uint64_t have, uint64_t n)
{
    const char *op = mt_pk_ops[*m->op].name;
    uint64_t at = mt_pk_offset(m);
    while (have < n) {
        size_t more;
        m->src->cur = m->src->end;
        more = mt_source_need(m->src, 1);
        if (more == 0)
            return cut(m);
        have += more;
    }
    m->stop = PK_FAIL;
    mt_fail_at(&m->err, MT_ELIMIT, at, "opcode %s: text of %llu bytes is longer than %llu (raise --max-string)", op, (unsigned long long)n,
               (unsigned long long)m->lim->max_string);
    return 0;
}

/* Makes n bytes after a head of `head` bytes available; *p is behind the head and moves with the window. */
static int want(struct pk *m, const unsigned char **p, const unsigned char **end, size_t head, uint64_t n)
{
    if (n > m->lim->max_string)
        return too_long(m, (uint64_t)(*end - *p), n);
    if ((size_t)(*end - *p) >= n)
        return 1;
    m->src->cur = m->op;
    if (mt_source_need(m->src, head + (size_t)n) < head + n)
        return cut(m);
    m->op = m->src->cur;
    *p = m->op + head;
    *end = m->src->end;
    return 1;
}

/* The text operand of protocol 0, up to its newline. */
static int line(struct pk *m, const unsigned char **p, const unsigned char **end, size_t *n)
{
    const unsigned char *nl;
    size_t len;
    while ((nl = memchr(*p, '\n', (size_t)(*end - *p))) == NULL) {
        len = (size_t)(*end - *p);
        if (len > m->lim->max_string)
            return too_long(m, len, len);
        m->src->cur = m->op;
        if (mt_source_need(m->src, len * 2 + 64) == len + 1)
            return cut(m);
        m->op = m->src->cur;
        *p = m->op + 1;
        *end = m->src->end;
    }
    *n = (size_t)(nl - *p);
    return *n <= m->lim->max_string || too_long(m, *n, *n);
}

static int text_op(struct pk *m, const unsigned char *p, size_t n)
{
    struct mt_val v = { .type = MT_T_FLOAT, .i = 0 };
    switch (*m->op) {
    case 'I':
    case 'L':
        v = mt_pk_int_text(p, n);
        if (*m->op == 'I' && n == 2 && p[0] == '0' && (p[1] == '0' || p[1] == '1'))
            v.type = MT_T_BOOL;
        break;
    case 'F':
        if (!mt_pk_float_text(p, n, &v.d))
            v.type = MT_T_ABSENT;
        break;
    case 'p':
    case 'g':
        v = mt_pk_int_text(p, n);
        if (v.type == MT_T_INT && v.i >= 0 && v.i <= UINT32_MAX)
            return *m->op == 'p' ? mt_pk_put(m, (uint32_t)v.i) : mt_pk_get(m, (uint32_t)v.i);
        v.type = MT_T_ABSENT;
        break;
    default: { /* V */
        unsigned char *text = mt_malloc(n * 2 + 1);
        size_t len;
        int ok = 0;
        if (text == NULL)
            return mt_pk_nomem(m);
        len = mt_pk_raw_unicode(p, n, text);
        if (len == SIZE_MAX)
            mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode UNICODE with a broken escape");
        else
            ok = mt_pk_push_str(m, text, len);
        mt_free(text);
        return ok;
    }
    }
    if (v.type == MT_T_ABSENT) {
        char shown[64];
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s: '%s' is no number", mt_pk_ops[*m->op].name,
                          mt_printable(shown, sizeof shown, p, n));
    }
    return mt_pk_push(m, v);
}

/* ---- the machine ---- */

static inline uint32_t le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t le64(const unsigned char *p) { return le32(p) | (uint64_t)le32(p + 4) << 32; }

static double be_double(const unsigned char *p)
{
    uint64_t x = 0;
    double d;
    for (int i = 0; i < 8; i++)
        x = x << 8 | p[i];
    memcpy(&d, &x, sizeof d);
    return d;
}

static int bad_byte(struct pk *m)
{
    return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "byte 0x%02x is no pickle opcode", *m->op);
}

static int protocol(struct pk *m, unsigned version)
{
    if (version > 5)
        return mt_pk_fail(m, PK_REFUSE, MT_EINPUT, "pickle protocol %u: this version knows 0 to 5; write it with protocol=4", version);
    m->protocol = (int)version;
    return 1;
}

static void run(struct pk *m)
{
    const unsigned char *p = m->src->cur, *end = m->src->end;
    struct mt_val v = { .type = MT_T_NONE, .i = 0 };
    size_t n = 0;
    int ok = 1;
    while (ok) {
        if (end - p < LONGEST_OP) {
            m->src->cur = p;
            n = mt_source_need(m->src, LONGEST_OP);
            p = m->op = m->src->cur;
            end = m->src->end;
            if (n == 0 || n < 1u + mt_pk_ops[*p].operands) {
                cut(m);
                return;
            }
        }
        m->op = p++;
        m->steps++;
        v.i = 0;
        switch (*m->op) {
        case 'h': ok = mt_pk_get(m, *p); p += 1; break;
        case 'j': ok = mt_pk_get(m, le32(p)); p += 4; break;
        case 0x94: ok = mt_pk_put(m, m->n_stored); break;
        case 'q': ok = mt_pk_put(m, *p); p += 1; m->binary = true; break;
        case 'r': ok = mt_pk_put(m, le32(p)); p += 4; m->binary = true; break;
        case 'K': v.type = MT_T_INT; v.i = *p; p += 1; ok = mt_pk_push(m, v); break;
        case 'M': v.type = MT_T_INT; v.i = p[0] | p[1] << 8; p += 2; ok = mt_pk_push(m, v); break;
        case 'J': v.type = MT_T_INT; v.i = (int32_t)le32(p); p += 4; ok = mt_pk_push(m, v); m->binary = true; break;
        case 0x8a:
            n = *p++;
            if ((ok = want(m, &p, &end, 2, n)) != 0) {
                m->jit = m->jit || (n == 8 && (p[7] == 0 || p[7] == 0xff) && (p[6] ^ p[7]) < 0x80); /* CPython writes the fewest bytes */
                ok = mt_pk_push(m, mt_pk_int_bytes(p, n));
                p += n;
            }
            break;
        case '}': ok = mt_pk_open(m, true); m->binary = true; break;
        case ']': ok = mt_pk_open(m, false); m->binary = true; break;
        case '(':
            if ((ok = mt_pk_mark(m)) != 0 && m->mark->node != PK_NONE) {
                const struct pk_node *c = &m->nodes.p[m->mark->node];
                if (c->is_record)
                    ok = mt_pk_record_pairs(m, m->mark->node, &p, end);
                else if (c->role == MT_R_FRAMES && !c->closed)
                    ok = mt_pk_frame_gets(m, m->mark->node, &p, end);
            }
            break;
        case 'e':
        case 'u': ok = mt_pk_items(m); m->binary = true; break;
        case 'a': ok = mt_pk_item(m, 1); break;
        case 's': ok = mt_pk_item(m, 2); break;
        case 0x8c:
        case 'X':
        case 0x8d: {
            size_t head = 1u + mt_pk_ops[*m->op].operands;
            uint64_t len = *m->op == 0x8c ? *p : *m->op == 'X' ? le32(p) : le64(p);
            p += head - 1;
            if ((ok = want(m, &p, &end, head, len)) != 0) {
                ok = mt_pk_push_str(m, p, (size_t)len);
                p += len;
            }
            m->binary = true;
            break;
        }
        case 'N': v.type = MT_T_NONE; ok = mt_pk_push(m, v); break;
        case 0x88: v.type = MT_T_BOOL; v.i = 1; ok = mt_pk_push(m, v); break;
        case 0x89: v.type = MT_T_BOOL; ok = mt_pk_push(m, v); break;
        case 'G': v.type = MT_T_FLOAT; v.d = be_double(p); p += 8; ok = mt_pk_push(m, v); m->binary = true; break;
        case 't': ok = mt_pk_tuple(m, 0, true); break;
        case ')': ok = mt_pk_tuple(m, 0, false); m->binary = true; break;
        case 0x85: ok = mt_pk_tuple(m, 1, false); break;
        case 0x86: ok = mt_pk_tuple(m, 2, false); break;
        case 0x87: ok = mt_pk_tuple(m, 3, false); break;
        case 'd': ok = mt_pk_close_empty(m, true); break;
        case 'l': ok = mt_pk_close_empty(m, false); break;
        case 'I':
        case 'L':
        case 'F':
        case 'V':
        case 'p':
        case 'g':
            if ((ok = line(m, &p, &end, &n)) != 0) {
                ok = text_op(m, p, n);
                p += n + 1;
            }
            break;
        case 0x80: ok = protocol(m, *p); p += 1; break;
        case 0x95: p += 8; break; /* a hint for buffering: the opcodes inside say all */
        case '.':
            if (m->marks.n != 1 || m->sp != 1) {
                mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode STOP while %u values are still unused", m->sp);
                return;
            }
            m->stop = PK_DONE;
            m->src->cur = p;
            return;
        default: ok = mt_pk_ops[*m->op].cls == PK_REFUSED ? refuse(m) : bad_byte(m); break;
        }
    }
}

/* ---- how it ends ---- */

static void join(char *buf, size_t cap, const char *word, unsigned at, unsigned of)
{
    size_t n = strlen(buf);
    snprintf(buf + n, cap - n, "%s%s", at == 0 ? "" : at + 1 == of ? " and " : ", ", word);
}

/* "the file ends in the trace of device 0, after 12 entries: its later entries, later devices, ... are missing" */
static void diagnose(struct pk *m, const char *why)
{
    static const enum mt_key order[] = { MT_K_SEGMENTS, MT_K_DEVICE_TRACES, MT_K_ALLOCATOR_SETTINGS, MT_K_EXTERNAL_ANNOTATIONS };
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
    mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, m->err.offset, "%s%s%s: what follows %s%s%s is missing", why, inside ? " " : "", where,
                  strncmp(where, "in the trace", 12) == 0 ? "in this trace and in those of later devices" : "there",
                  n_sure ? ", and with it " : "", sure);
    if (n_maybe != 0)
        mt_trace_diag(m->t, MT_DIAG_NOTE, false, 0, "%s may be missing as well: they would have come later in the file", maybe);
}

static enum mt_rc finish(struct pk *m, struct mt_err *err, enum mt_rc rc)
{
    if (m->n_bad_items != 0)
        mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, m->first_bad_item,
                      "%llu items of lists are not what they have to be, or refer back to a record, and were left out; the first is in %s",
                      (unsigned long long)m->n_bad_items, mt_role_name(m->bad_item_role));
    m->t->meta.format = MT_FMT_PICKLE;
    m->t->meta.pickle_protocol = m->protocol >= 0 ? m->protocol : m->binary ? 1 : 0;
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
        mt_trace_diag(m->t, MT_DIAG_NOTE, true, stop, "%llu bytes follow the end of the pickle and were left out%s",
                      (unsigned long long)(mt_source_offset(m->src) - stop),
                      first == 0x80 ? ": another pickle, it seems; save each snapshot in a file of its own" : "");
}

static enum mt_rc not_a_snapshot(struct pk *m, struct mt_err *err)
{
    static const char how[] = "Make one with torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")";
    const struct mt_val *v = &m->stack[0];
    const struct pk_node *n = v->type == PK_T_NODE ? &m->nodes.p[v->id] : NULL;
    char keys[400] = "";
    if (n == NULL)
        return mt_fail(err, MT_EINPUT, "a pickle of %s, not a memory snapshot. %s",
                       v->type == MT_T_STR ? "a text" : v->type == MT_T_NONE ? "None" : v->type == MT_T_PAIR || v->type == MT_T_OTHER
                       ? "a tuple" : "a number", how);
    if (!n->is_dict)
        return mt_fail(err, MT_EINPUT, "a pickle of a list of %llu items, not a memory snapshot: expected segments, each with 'address' "
                       "and 'total_size'. %s", (unsigned long long)n->n, how);
    for (uint32_t i = 0; i < m->n_top_keys && i < 8; i++) {
        char one[48];
        mt_printable(one, sizeof one, mt_str(m->t, m->top_keys[i]), mt_str_len(m->t, m->top_keys[i]));
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s'%s'", i ? ", " : "", one);
    }
    if (m->seen_top >> MT_K_SEGMENTS & 1)
        return mt_fail(err, MT_EINPUT, "a pickle of a dict with the keys %s; not a memory snapshot: its 'segments' have no 'address' and "
                       "'total_size'. %s", keys, how);
    return mt_fail(err, MT_EINPUT, "a pickle of %s %s%s; not a memory snapshot: expected 'segments' or 'device_traces'. %s",
                   m->n_top_keys == 0 ? "an empty dict" : "a dict with the keys", keys, m->n_top_keys > 8 ? ", ..." : "", how);
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
            mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, mt_source_offset(src), "the snapshot is whole, but its file is not: %s", src->err.msg);
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
                              "a pickle that ends before anything of a memory snapshot was read: copy the file again, or dump it again");
        return mt_fail_at(err, MT_EINPUT, m->err.offset, "not a memory snapshot, or a damaged one: %s", m->err.msg);
    }
    diagnose(m, stop == PK_CUT && src->status != MT_OK ? src->err.msg : m->err.msg);
    if (stop == PK_DAMAGED) {
        while (mt_source_need(m->src, 1) != 0) /* meta.bytes is the size of the input, read or not */
            m->src->cur = m->src->end;
    }
    return finish(m, err, MT_WARN);
}

enum mt_rc mt_pickle_read_steps(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t, struct mt_err *err,
                                uint64_t *steps)
{
    struct pk m = { .src = src, .lim = lim, .t = t, .free_node = PK_NONE, .protocol = -1 };
    struct mt_err own;
    enum mt_rc rc = MT_ENOMEM;
    if (err == NULL)
        err = &own;
    m.op = src->cur;
    m.b = mt_builder_new(t, lim);
    m.mark = m.b != NULL ? MT_VEC_PUSH(&m.marks) : NULL;
    if (m.mark == NULL) {
        mt_fail(err, MT_ENOMEM, "out of memory");
        goto out;
    }
    m.mark->node = PK_NONE;
    run(&m);
    rc = conclude(&m, err);
out:
    if (steps != NULL)
        *steps = m.steps;
    for (uint32_t i = 0; i < m.nodes.n; i++) {
        mt_free(m.nodes.p[i].rec);
        mt_free(m.nodes.p[i].ids);
    }
    MT_VEC_DONE(&m.nodes);
    MT_VEC_DONE(&m.marks);
    MT_VEC_DONE(&m.side);
    mt_free(m.stack);
    mt_free(m.memo);
    mt_free(m.key_of);
    mt_builder_free(m.b);
    return rc;
}

static enum mt_rc read_pickle(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t, struct mt_err *err)
{
    return mt_pickle_read_steps(src, lim, t, err, NULL);
}

/* ---- is it a pickle at all ---- */

static size_t word(const unsigned char *s, size_t n)
{
    size_t i = 0;
    while (i < n && ((s[i] | 0x20u) - 'a' < 26u || s[i] - (unsigned)'0' < 10u || s[i] == '_' || s[i] == '.'))
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
    if (n >= 3 && h[0] == '(' && (h[1] == 'd' || h[1] == 'l') && (h[2] == 'p' || h[2] == '.' || h[2] == 'V' || h[2] == '('))
        return 60;
    if (n >= 2 && (h[0] == '}' || h[0] == ']') && (h[1] == 'q' || h[1] == '.' || (h[1] == '(' && n >= 3 && mt_pk_ops[h[2]].cls == PK_SUBSET)))
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
    .desc = "Python pickle of torch.cuda.memory._dump_snapshot(), protocols 0 to 5, also by PyTorch's C++ pickler",
    .probe = probe,
    .read = read_pickle,
};
