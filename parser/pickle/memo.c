/* The memo of the pickle machine: four bytes an entry: a tag and an id. Text, frames and finished
 * stacks can be fetched again by id; of any other container that was consumed only its existence is
 * known. */
#include "parser/pickle/impl.h"

enum { SLACK = 1 << 16 };

static int grow(struct pk *m, uint32_t at)
{
    uint32_t old = m->cap_memo;
    /* Both picklers number their entries one after the other. The limit keeps a single huge number
     * from allocating gigabytes. */
    if (at >= (uint64_t)m->n_stored * 4 + SLACK)
        return mt_pk_fail(
            m, PK_DAMAGED, MT_EINPUT,
            "opcode %s stores under number %u after only %u entries: no pickler counts like that",
            mt_pk_ops[*m->op].name, at, m->n_stored);
    if (!mt_vec_grow((void **)&m->memo, &m->cap_memo, at + 1, sizeof *m->memo))
        return mt_pk_nomem(m);
    for (uint32_t i = old; i < m->cap_memo; i++)
        m->memo[i] = 0;
    return 1;
}

static int store(struct pk *m, uint32_t at, uint32_t tag, uint32_t id)
{
    if (id > PK_ID_MASK)
        return mt_pk_fail(m, PK_FAIL, MT_ELIMIT, "more than %u different strings, frames or stacks",
                          PK_ID_MASK);
    if (at >= m->cap_memo && !grow(m, at))
        return 0;
    if (at >= m->n_memo)
        m->n_memo = at + 1;
    if (m->memo[at] == 0)
        m->n_stored++;
    else
        mt_pk_forget(m);
    m->memo[at] = tag << PK_ID_BITS | id;
    return 1;
}

int mt_pk_put_value(struct pk *m, uint32_t at, struct mt_val v)
{
    struct mt_val *s;
    if (v.type >= MT_T_STR)
        return store(m, at, (uint32_t)v.type, v.type == MT_T_OTHER ? 0 : v.id);
    s = MT_VEC_PUSH(&m->side);
    if (s == NULL)
        return mt_pk_nomem(m);
    *s = v;
    return store(m, at, PK_T_SIDE, m->side.n - 1);
}

int mt_pk_put(struct pk *m, uint32_t at)
{
    struct mt_val v;
    struct pk_node *n;
    if (m->sp == m->mark->base)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT, "opcode %s has nothing to store",
                          mt_pk_ops[*m->op].name);
    v = m->stack[m->sp - 1];
    if (v.type != PK_T_NODE)
        return mt_pk_put_value(m, at, v);
    n = &m->nodes.p[v.id];
    if (n->memo != 0 && n->memo != at + 1)
        return mt_pk_fail(m, PK_DAMAGED, MT_EINPUT,
                          "opcode %s stores a container a second time: no pickler does that",
                          mt_pk_ops[*m->op].name);
    /* CPython stores a container before its items, torch::jit::Pickler after them */
    m->jit = m->jit || n->filled;
    if (n->closed)
        return mt_pk_put_value(m, at, n->result);
    if (!store(m, at, (uint32_t)PK_T_NODE, v.id))
        return 0;
    /* only an entry that is there may be settled later: salvaging closes this node too */
    n->memo = at + 1;
    return 1;
}

void mt_pk_memo_result(struct pk *m, uint32_t at, uint32_t node, struct mt_val result)
{
    uint32_t tag = (uint32_t)result.type;
    if (m->memo[at] != ((uint32_t)PK_T_NODE << PK_ID_BITS | node)) /* stored over since */
        return;
    m->memo[at] = tag << PK_ID_BITS | (tag == MT_T_OTHER ? 0 : result.id);
}

uint32_t mt_pk_known_key(const struct pk *m, const unsigned char *p)
{
    uint32_t i, e, wide;
    if (*p == 'h') {
        i = p[1];
        wide = 2;
    } else if (*p == 'j') {
        i = mt_pk_le32(p + 1);
        wide = 5;
    } else {
        return 0;
    }
    e = i < m->n_memo ? m->memo[i] : 0;
    if (e >> PK_ID_BITS != MT_T_STR || m->key_of[e & PK_ID_MASK] == MT_K_UNKNOWN)
        return 0;
    return (uint32_t)m->key_of[e & PK_ID_MASK] << 8 | wide;
}
