/* The size of a request read as tokens x vocabulary. PyTorch records a request rounded up to 512
 * bytes. A row of logits is longer than that, so a size that is no whole number of rows is no
 * logits. */
#include "analysis/cause/impl.h"

enum { MIN_TOKENS = 8, MIN_ROW = 1000, MIN_ODD = 97 };
#define MIN_BYTES (UINT64_C(16) << 20)
#define MAX_TOKENS (UINT64_C(1) << 26)

static bool rows_of(uint64_t bytes, uint64_t row, uint64_t slack, uint64_t *tokens)
{
    *tokens = row != 0 ? bytes / row : 0;
    return *tokens >= MIN_TOKENS && *tokens <= MAX_TOKENS && bytes - *tokens * row <= slack;
}

static uint64_t odd_part(uint64_t v)
{
    while (v != 0 && (v & 1) == 0)
        v >>= 1;
    return v;
}

static bool read_as(uint64_t bytes, uint64_t slack, uint64_t vocab, uint64_t split,
                    const char *models, struct mt_shape *out)
{
    for (uint64_t elem = 4; elem >= 2; elem -= 2) {
        uint64_t tokens;
        if (rows_of(bytes, vocab / split * elem, slack, &tokens)) {
            *out = (struct mt_shape){tokens, vocab, split, elem, models, models != NULL};
            return true;
        }
    }
    return false;
}

/* Whether the request may be logits by its place: frames of logits, the loss, or a backward pass
 * while logits are live. */
static bool is_of_logits(const struct mt_moment *m)
{
    mt_stack_id s = m->oom->stack;
    if (m->w->stack_role != NULL && s < m->w->r->t->stacks.n &&
        m->w->stack_role[s] != MT_NO_STACK_ROLE)
        return (m->w->stack_role[s] & 0xff) == MT_ROLE_LOGITS;
    return m->sub == MT_PH_LOSS || m->sub == MT_PH_LOGITS ||
           (m->sub == MT_PH_BACKWARD && m->role[MT_ROLE_LOGITS] != 0);
}

/* Reads the size by the known vocabulary with the largest odd factor that explains it. A power of
 * two divides every other one and proves nothing, a small factor proves little. Without live logits
 * that name the vocabulary only whole rows count: with the rounding to 512 bytes some vocabulary
 * explains three of four sizes. */
static void search(uint64_t bytes, const struct mt_role_rules *rules, struct mt_shape *out)
{
    uint64_t best = MIN_ODD - 1;
    for (uint32_t i = 0; i < mt_vocabs_count(rules); i++) {
        const struct mt_vocab *v = mt_vocab_at(rules, i);
        if (odd_part(v->size) <= best)
            continue;
        for (uint64_t split = 1; split <= 32 && v->size % split == 0 && v->size / split >= MIN_ROW;
             split *= 2) {
            if (read_as(bytes, 0, v->size, split, v->source, out)) {
                best = odd_part(v->size);
                break;
            }
        }
    }
}

void mt_shape_of(const struct mt_moment *m, const struct mt_role_rules *rules, struct mt_shape *out)
{
    enum { ROUNDED = 511 };
    uint64_t rows;
    *out = (struct mt_shape){.tokens = 0};
    if (m->oom == NULL || m->oom->request < MIN_BYTES || !is_of_logits(m))
        return;
    /* As many rows as the largest logits have: of the same type, which the role analysis took from
     * more sizes than this one. */
    if (m->f->vocab != 0 && m->f->vocab_split != 0 && m->f->logits_elem != 0 &&
        rows_of(m->oom->request, m->f->vocab / m->f->vocab_split * m->f->logits_elem, ROUNDED,
                &rows) &&
        rows == m->f->logits_tokens) {
        *out = (struct mt_shape){rows, m->f->vocab,         m->f->vocab_split, m->f->logits_elem,
                                 NULL, m->f->vocab_is_guess};
        return;
    }
    if (m->f->vocab != 0 && m->f->vocab_split != 0 &&
        read_as(m->oom->request, ROUNDED, m->f->vocab, m->f->vocab_split, NULL, out)) {
        out->is_guess = m->f->vocab_is_guess;
        return;
    }
    search(m->oom->request, rules, out);
}
