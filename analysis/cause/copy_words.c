/* What is said of copies of the weights, and of what a request makes anew. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

static const char *write_line(const struct mt_moment *m, mt_frame_id line, char *buf, size_t cap)
{
    struct mt_frame_view v;
    mt_frame_describe(m->w->r->t, line, &v);
    (void)snprintf(buf, cap, "%.90s:%u %.60s", v.file, v.line, v.name);
    return buf;
}

static void say_what(const struct mt_moment *m, const struct mt_copies *c, char *s, size_t cap)
{
    char line[MT_LABEL], n[32];
    (void)write_line(m, c->line, line, sizeof line);
    (void)snprintf(n, sizeof n, c->n == 1 ? "One copy" : "%u copies", (unsigned)c->n);
    if (c->kind == MT_COPIES_FLAT)
        (void)snprintf(s, cap,
                       "%u tensors of %s from %s, each as large as the weights of the model or of "
                       "a part of it together, hold %s: flat copies of weights or of gradients%s.",
                       (unsigned)c->n, MT_BYTES(c->set), line, MT_BYTES(c->bytes),
                       c->is_state ? " that the optimizer keeps" : "");
    else if (c->kind == MT_COPIES_IN_PASS)
        (void)snprintf(s, cap,
                       "%s made weights in its pass: %u tensors of the very sizes of weights, %s, "
                       "kept for the backward pass beside the weights themselves.",
                       line, (unsigned)c->tensors, MT_BYTES(c->bytes));
    else if (c->kind == MT_COPIES_IN_LOSS)
        (void)snprintf(s, cap,
                       "%s keeps %u tensors of the very sizes of weights, %s, for the backward "
                       "pass: terms of the loss over the weights, as large whatever the batch.",
                       line, (unsigned)c->tensors, MT_BYTES(c->bytes));
    else if (c->tensors < c->n * 4 || c->asked)
        (void)snprintf(s, cap,
                       "%s makes tensors of the very sizes of weights: %s so far, and the request "
                       "was for one more: a copy of each weight, or of its gradient.",
                       line, MT_BYTES(c->bytes));
    else
        (void)snprintf(s, cap,
                       "%s of the weights, or of their gradients, tensor by tensor, from %s %s %s.",
                       n, line, c->n == 1 ? "holds" : "hold", MT_BYTES(c->bytes));
}

const char *mt_copies_words(const struct mt_moment *m, const struct mt_copies *c, char *s,
                            size_t cap)
{
    size_t n;
    say_what(m, c, s, cap);
    n = strlen(s);
    if (c->round != 0)
        (void)snprintf(s + n, cap - n, " Each of the last %u rounds added %s.", (unsigned)c->rounds,
                       MT_BYTES(c->round));
    return s;
}

const char *mt_fixed_words(const struct mt_moment *m, char *s, size_t cap)
{
    enum { OF_LIVE = 5 }; /* chosen by hand */
    char line[MT_LABEL], lines[48] = "";
    for (uint32_t i = 0; i < m->n_copies; i++)
        if (m->copies[i].kind == MT_COPIES_IN_PASS || m->copies[i].kind == MT_COPIES_IN_LOSS)
            return NULL;
    if (m->fixed.kept < m->d->focus.live / OF_LIVE)
        return NULL;
    (void)write_line(m, m->fixed.line, line, sizeof line);
    if (m->fixed.lines > 1)
        (void)snprintf(lines, sizeof lines, ", of %u lines that do so", (unsigned)m->fixed.lines);
    (void)snprintf(s, cap,
                   "%s of what waits for the backward pass is made of the weights, a tensor for "
                   "each%s, most of it at %s%s: as large whatever the batch.",
                   MT_BYTES(m->fixed.kept),
                   m->fixed.wide > 1 ? " in a wider type" : " of its own size", line, lines);
    return s;
}

const char *mt_remade_words(const struct mt_moment *m, char *s, size_t cap)
{
    char label[MT_LABEL], buf[MT_LABEL];
    if (m->remade_by != 0) {
        (void)mt_stack_label(m->w->r->t, m->remade_by, label, sizeof label);
        (void)snprintf(s, cap,
                       "One tensor of %s, made at %s in the round before, was still live when the "
                       "next round began; the round before began without one. A name holds it, or "
                       "a view of it.",
                       MT_BYTES(m->remade), mt_words_label(buf, label));
        return s;
    }
    (void)snprintf(s, cap,
                   "One tensor of %s from the line that asked was still live from before the last "
                   "pass: where the request takes its place, the old one goes only when the new "
                   "one is there.",
                   MT_BYTES(m->remade));
    return s;
}

const char *mt_old_state_words(const struct mt_moment *m, char *s, size_t cap)
{
    (void)snprintf(s, cap,
                   "%s of optimizer state is more than %u blocks for each weight, and was made in "
                   "earlier steps: of optimizers that others have replaced.",
                   MT_BYTES(m->old_state), (unsigned)m->state_each);
    return s;
}

const char *mt_outlived_words(const struct mt_moment *m, char *s, size_t cap)
{
    const struct mt_outlived *o = &m->outlived;
    char label[MT_LABEL], buf[MT_LABEL];
    (void)mt_stack_label(m->w->r->t, o->stack, label, sizeof label);
    (void)snprintf(s, cap,
                   "%s that %s made in %u %s outlived %u others of that size, which it made later "
                   "and which went one by one: a list, a dict or an attribute keeps %s.",
                   MT_BYTES(o->bytes), mt_words_label(buf, label), (unsigned)o->n,
                   o->n == 1 ? "tensor has" : "tensors have", (unsigned)o->came,
                   o->n == 1 ? "it" : "them");
    return s;
}
