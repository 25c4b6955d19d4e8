/* The loop over the opcodes, their operands, and every way to stop. */
#include "parser/pickle/impl.h"

#include <string.h>

enum { LONGEST_OP = 10 /* opcode and fixed operand; BINUNICODE8 and FRAME are 9 */ };

/* ---- why it stops ---- */

static int cut(struct pk *m)
{
    m->stop = PK_CUT;
    m->op = m->src->cur = m->src->end;
    mt_fail_at(&m->err, MT_EINPUT, mt_source_offset(m->src), "the file ends");
    return 0;
}

/* Copies one line of a text operand, made printable. */
static const unsigned char *name_line(const unsigned char *p, const unsigned char *end, char *out,
                                      size_t cap)
{
    const unsigned char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    mt_printable(out, cap, p, (size_t)((nl != NULL ? nl : end) - p));
    return nl != NULL ? nl + 1 : end;
}

static bool saved_model(const char *module)
{
    static const char *const starts[] = {"torch", "collections", "numpy", "transformers"};
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
    } else if (*m->op == 0x93 && m->sp >= m->mark->base + 2 &&
               m->stack[m->sp - 2].type == MT_T_STR && m->stack[m->sp - 1].type == MT_T_STR) {
        mt_str_id a = m->stack[m->sp - 2].id, b = m->stack[m->sp - 1].id;
        mt_printable(module, sizeof module, mt_str(m->t, a), mt_str_len(m->t, a));
        mt_printable(name, sizeof name, mt_str(m->t, b), mt_str_len(m->t, b));
    }
    if (saved_model(module))
        hint = ". This looks like a saved model or data set; a snapshot comes from "
               "torch.cuda.memory._dump_snapshot()";
    if (module[0] != '\0')
        return mt_pk_fail(
            m, PK_REFUSE, MT_EINPUT,
            "opcode %s (%s.%s): a memory snapshot never needs it; memtrace executes nothing%s", op,
            module, name, hint);
    return mt_pk_fail(m, PK_REFUSE, MT_EINPUT,
                      "opcode %s: a memory snapshot never needs it; memtrace executes nothing", op);
}

/* ---- operands that vary in length ---- */

/* A text over the limit, of which `have` bytes are in the window. If the file really holds that
 * much it is the limit; else the length itself is damaged. */
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
    mt_fail_at(&m->err, MT_ELIMIT, at,
               "opcode %s: text of %llu bytes is longer than %llu (raise --max-string)", op,
               (unsigned long long)n, (unsigned long long)m->lim->max_string);
    return 0;
}

/* Makes n bytes after a head of `head` bytes available; *p is behind the head and moves with the
 * window. */
static int want(struct pk *m, const unsigned char **p, const unsigned char **end, size_t head,
                uint64_t n)
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
    struct mt_val v = {.type = MT_T_FLOAT, .i = 0};
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
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s: '%s' is no number",
                          mt_pk_ops[*m->op].name, mt_printable(shown, sizeof shown, p, n));
    }
    return mt_pk_push(m, v);
}

/* ---- the machine ---- */

static inline uint32_t le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t le64(const unsigned char *p)
{
    return le32(p) | (uint64_t)le32(p + 4) << 32;
}

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
        return mt_pk_fail(m, PK_REFUSE, MT_EINPUT,
                          "pickle protocol %u: this version knows 0 to 5; write it with protocol=4",
                          version);
    m->protocol = (int)version;
    return 1;
}

static int push_int(struct pk *m, int64_t i)
{
    struct mt_val v = {.type = MT_T_INT, .i = i};
    return mt_pk_push(m, v);
}

static int push_bool(struct pk *m, bool b)
{
    struct mt_val v = {.type = MT_T_BOOL, .i = b};
    return mt_pk_push(m, v);
}

static int push_none(struct pk *m)
{
    struct mt_val v = {.type = MT_T_NONE, .i = 0};
    return mt_pk_push(m, v);
}

static int push_float(struct pk *m, double d)
{
    struct mt_val v = {.type = MT_T_FLOAT, .d = d};
    return mt_pk_push(m, v);
}

/* Opcodes with one operand of a fixed size or none; p is behind the opcode. */
static int short_op(struct pk *m, const unsigned char *p)
{
    switch (*m->op) {
    case 'h': return mt_pk_get(m, *p);
    case 'j': return mt_pk_get(m, le32(p));
    case 0x94: return mt_pk_put(m, m->n_stored);
    case 'q': return mt_pk_put(m, *p);
    case 'r': return mt_pk_put(m, le32(p));
    case 'K': return push_int(m, *p);
    case 'M': return push_int(m, p[0] | p[1] << 8);
    case 'J': return push_int(m, (int32_t)le32(p));
    case 'G': return push_float(m, be_double(p));
    case 'N': return push_none(m);
    case 0x88: return push_bool(m, true);
    case 0x89: return push_bool(m, false);
    case '}': return mt_pk_open(m, true);
    case ']': return mt_pk_open(m, false);
    case 'e':
    case 'u': return mt_pk_items(m);
    case 'a': return mt_pk_item(m, 1);
    case 's': return mt_pk_item(m, 2);
    case 't': return mt_pk_tuple(m, 0, true);
    case ')': return mt_pk_tuple(m, 0, false);
    case 0x85: return mt_pk_tuple(m, 1, false);
    case 0x86: return mt_pk_tuple(m, 2, false);
    case 0x87: return mt_pk_tuple(m, 3, false);
    case 'd': return mt_pk_close_empty(m, true);
    case 'l': return mt_pk_close_empty(m, false);
    case 0x80: return protocol(m, *p);
    case 0x95: return 1; /* FRAME is a hint for buffering: the opcodes inside say all */
    default: return mt_pk_ops[*m->op].cls == PK_REFUSED ? refuse(m) : bad_byte(m);
    }
}

/* SHORT_BINUNICODE, BINUNICODE, BINUNICODE8 */
static int string_op(struct pk *m, const unsigned char **p, const unsigned char **end)
{
    size_t width = mt_pk_ops[*m->op].operands;
    uint64_t n = width == 1 ? **p : width == 4 ? le32(*p) : le64(*p);
    *p += width;
    if (!want(m, p, end, 1 + width, n) || !mt_pk_push_str(m, *p, (size_t)n))
        return 0;
    *p += n;
    return 1;
}

/* LONG1 */
static int long_op(struct pk *m, const unsigned char **p, const unsigned char **end)
{
    const unsigned char *s;
    size_t n = *(*p)++;
    if (!want(m, p, end, 2, n))
        return 0;
    s = *p;
    /* CPython writes the fewest bytes */
    m->jit = m->jit || (n == 8 && (s[7] == 0 || s[7] == 0xff) && (s[6] ^ s[7]) < 0x80);
    *p += n;
    return mt_pk_push(m, mt_pk_int_bytes(s, n));
}

static int mark_op(struct pk *m, const unsigned char **p, const unsigned char *end)
{
    const struct pk_node *c;
    if (!mt_pk_mark(m))
        return 0;
    if (m->mark->node == PK_NONE)
        return 1;
    c = &m->nodes.p[m->mark->node];
    if (c->is_record)
        return mt_pk_record_pairs(m, m->mark->node, p, end);
    return c->role != MT_R_FRAMES || c->closed || mt_pk_frame_gets(m, m->mark->node, p, end);
}

static int stop_op(struct pk *m, const unsigned char *p)
{
    if (m->marks.n != 1 || m->sp != 1)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode STOP while %u values are still unused",
                          m->sp);
    m->stop = PK_DONE;
    m->src->cur = p;
    return 0;
}

void mt_pk_run(struct pk *m)
{
    const unsigned char *p = m->src->cur, *end = m->src->end;
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
        m->min_protocol |= 1u << mt_pk_ops[*m->op].protocol;
        switch (*m->op) {
        case '(': ok = mark_op(m, &p, end); break;
        case '}': ok = m->mark->streams ? mt_pk_entries(m, &p, end) : mt_pk_open(m, true); break;
        case 'u': ok = mt_pk_items(m); break;
        case 0x94: ok = mt_pk_put(m, m->n_stored); break;
        case 0x8a: ok = long_op(m, &p, &end); break;
        case 0x8c:
        case 'X':
        case 0x8d: ok = string_op(m, &p, &end); break;
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
        case '.': ok = stop_op(m, p); break;
        default:
            ok = short_op(m, p);
            p += mt_pk_ops[*m->op].operands;
            break;
        }
    }
}
