/* Pickles that are wrong as pickles, not as bytes: opcodes of valid samples are taken out, doubled,
 * swapped, moved and given other values, always in the same way. No crash under sanitizers, and of
 * what is read whole the straight line of the reader says what its slow machine says. */
#include "tests/unit/pickle_compare.h"

#include <stdio.h>

enum { MOST = 1 << 16, MOST_OPS = 1 << 14, CASES = 1500 };

struct op {
    size_t at, n; /* the opcode and its argument */
};

static uint64_t state;
static unsigned char sample[MOST];
static struct op ops[MOST_OPS];
static uint32_t n_ops, n_read, n_refused;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

static size_t lines(const unsigned char *p, size_t n, unsigned count)
{
    size_t k = 0;
    for (; k < n && count > 0; k++)
        count -= p[k] == '\n';
    return k;
}

static size_t counted(const unsigned char *p, size_t n, unsigned width)
{
    uint64_t len = 0;
    if (n < width)
        return n;
    for (unsigned i = 0; i < width; i++)
        len |= (uint64_t)p[i] << 8 * i;
    return len < n - width ? width + (size_t)len : n;
}

/* Bytes of the argument of an opcode; p is behind it. */
static size_t argument(unsigned char code, const unsigned char *p, size_t n)
{
    switch (code) {
    case 'K':
    case 'h':
    case 'q':
    case 0x80: return 1;
    case 'M': return 2;
    case 'J':
    case 'j':
    case 'r': return 4;
    case 'G':
    case 0x95: return 8;
    case 'U':
    case 'C':
    case 0x8a:
    case 0x8c: return counted(p, n, 1);
    case 'X':
    case 'T':
    case 'B':
    case 0x8b: return counted(p, n, 4);
    case 'I':
    case 'L':
    case 'F':
    case 'S':
    case 'V':
    case 'g':
    case 'p': return lines(p, n, 1);
    case 'c':
    case 'i': return lines(p, n, 2);
    default: return 0;
    }
}

static void split(const char *name)
{
    char path[4096];
    size_t n, at = 0;
    FILE *f;
    (void)snprintf(path, sizeof path, "%s/%s", MT_SAMPLES, name);
    f = fopen(path, "rb");
    MT_ASSERT(f != NULL);
    n = fread(sample, 1, sizeof sample, f);
    (void)fclose(f);
    MT_ASSERT(n > 0 && n < sizeof sample);
    for (n_ops = 0; at < n && n_ops < MOST_OPS; n_ops++) {
        size_t len = 1 + argument(sample[at], sample + at + 1, n - at - 1);
        ops[n_ops] = (struct op){at, len < n - at ? len : n - at};
        at += ops[n_ops].n;
    }
    /* else the table above knows an opcode wrongly, and this tests bytes */
    MT_ASSERT(at == n && n_ops > 100 && sample[ops[n_ops - 1].at] == '.');
}

/* The opcode as it is, but for one thing. */
static void changed(struct bytes *b, struct op o)
{
    static const char codes[] = "(0]}ue.)ats2NR\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94"
                                "b";
    static const unsigned char edge[] = {0, 1, 0x7f, 0x80, 0xff};
    size_t from = b->n;
    put(b, sample + o.at, o.n);
    if (o.n == 1 || below(8) == 0)
        b->p[from] = (unsigned char)codes[below(sizeof codes - 1)];
    else if (below(3) == 0)
        b->p[from + 1] = (unsigned char)below(256); /* a number of the memo, a length */
    else
        b->p[from + 1 + below((uint32_t)o.n - 1)] = edge[below(sizeof edge)];
}

static void mutated(struct bytes *b)
{
    uint32_t n = 1 + below(3), where[3];
    for (uint32_t i = 0; i < 3; i++)
        where[i] = i < n ? below(n_ops) : UINT32_MAX;
    for (uint32_t i = 0; i < n_ops; i++) {
        struct op o = ops[i], other;
        if (i != where[0] && i != where[1] && i != where[2]) {
            put(b, sample + o.at, o.n);
            continue;
        }
        uint32_t how = below(6);
        if (how == 1)
            put(b, sample + o.at, o.n);
        switch (how) {
        case 0: break;
        case 1:
        case 2:
            other = ops[below(n_ops)];
            put(b, sample + other.at, other.n);
            break;
        case 3:
            if (i + 1 < n_ops) {
                put(b, sample + ops[i + 1].at, ops[i + 1].n);
                put(b, sample + o.at, o.n);
                i++;
            }
            break;
        default: changed(b, o);
        }
    }
}

/* Of one that is damaged: whether it is read, and that both machines say so. Where a value has a
 * length that lies, they do not yet agree on the place of the damage. */
static void outcome(const struct bytes *b, const struct result *fast)
{
    struct result slow = read_slow(b->p, b->n, 1, MT_OK, "");
    MT_CHECK_EQ(fast->rc, slow.rc);
    MT_CHECK_EQ(fast->t == NULL, slow.t == NULL);
    if (fast->t != NULL && slow.t != NULL)
        MT_CHECK_EQ(fast->t->diags.n != 0, slow.t->diags.n != 0);
    mt_trace_free(slow.t);
}

static void run(const char *name)
{
    split(name);
    for (uint32_t i = 1; i <= CASES; i++) {
        struct bytes b = {NULL, 0, 0};
        struct result r;
        state = i * UINT64_C(0x9e3779b97f4a7c15);
        mutated(&b);
        r = read_mem(b.p, b.n, NULL);
        if (r.t != NULL && r.t->diags.n == 0)
            compare(&b, b.n);
        else
            outcome(&b, &r);
        if (r.t != NULL)
            n_read++;
        else
            n_refused++;
        mt_trace_free(r.t);
        free(b.p);
    }
}

MT_TEST(opcodes_of_samples)
{
    run("tiny.pickle");
    run("tiny.protocol0.pickle");
    run("tiny.torch_jit_pickler.pickle");
    /* neither all the same nor all refused at once */
    MT_CHECK(n_read > CASES / 10);
    MT_CHECK(n_refused > CASES / 10);
}

MT_MAIN(MT_RUN(opcodes_of_samples))
