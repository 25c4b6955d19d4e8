/* model/builder_text.c -- what a job or PyTorch says of memory in text: metadata, and tracebacks of
 * the forward pass and of generated code. */
#include "parser/model/builder_impl.h"

#include <ctype.h>

enum {
    MOST_BYTES = 4096, /* of a text; what is longer is cut */
    MOST_FRAMES = 128  /* of a traceback: the innermost */
};

int mt_build_text(struct mt_builder *b, const struct mt_val *part, uint32_t n, bool is_dict,
                  mt_str_id *id)
{
    char buf[MOST_BYTES];
    size_t used = 0;
    *id = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *before = !is_dict || i == 0 ? "" : i % 2 != 0 ? ": " : ", ";
        mt_str_id text;
        if (!mt_b_value_text(b, part[i], &text))
            return 0;
        for (const char *p = before; *p != '\0' && used < sizeof buf; p++)
            buf[used++] = *p;
        for (uint32_t k = 0; k < mt_str_len(b->t, text) && used < sizeof buf; k++)
            buf[used++] = mt_str(b->t, text)[k];
    }
    return used == 0 || mt_build_str(b, buf, used, id);
}

struct line {
    const char *file, *name, *code;
    size_t n_file, n_name, n_code;
    uint32_t number;
};

static size_t until(const char *s, const char *end, char stop)
{
    const char *at = memchr(s, stop, (size_t)(end - s));
    return (size_t)((at != NULL ? at : end) - s);
}

/* The next '  File "model.py", line 42, in forward' with its line of code below, from *s on, which
 * moves behind it. False: there is none. */
static bool next_line(const char **s, const char *end, struct line *out)
{
    static const char file[] = "File \"", line[] = "\", line ", in[] = ", in ";
    const size_t n_file = sizeof file - 1, n_line = sizeof line - 1, n_in = sizeof in - 1;
    for (const char *p = *s; p < end; p += until(p, end, '\n') + (p < end)) {
        const char *at = p, *stop;
        while (at < end && *at == ' ')
            at++;
        stop = at + until(at, end, '\n');
        *out = (struct line){.code = "", .name = ""};
        if ((size_t)(stop - at) < n_file || memcmp(at, file, n_file) != 0)
            continue;
        out->file = at += n_file;
        at += until(at, stop, '"');
        out->n_file = (size_t)(at - out->file);
        if ((size_t)(stop - at) <= n_line || memcmp(at, line, n_line) != 0)
            continue;
        for (at += n_line; at < stop && isdigit((unsigned char)*at); at++)
            out->number = out->number * 10 + (uint32_t)(*at - '0');
        if ((size_t)(stop - at) > n_in && memcmp(at, in, n_in) == 0) {
            out->name = at + n_in;
            out->n_name = (size_t)(stop - out->name);
        }
        at = stop < end ? stop + 1 : end;
        if ((size_t)(end - at) > 4 && memcmp(at, "    ", 4) == 0) {
            out->code = at + 4;
            out->n_code = until(out->code, end, '\n');
        }
        *s = at;
        return true;
    }
    return false;
}

static int frame_of(struct mt_builder *b, const struct line *l, mt_frame_id *id)
{
    mt_str_id name, file;
    return mt_build_str(b, l->name, l->n_name, &name) &&
           mt_build_str(b, l->file, l->n_file, &file) &&
           mt_build_frame(b, name, file, l->number, id);
}

int mt_b_forward_stack(struct mt_builder *b, mt_str_id text, mt_stack_id *stack)
{
    struct mt_said *known = &b->said[text % MT_SAID];
    mt_frame_id ids[MOST_FRAMES];
    const char *s = mt_str(b->t, text), *end = s + mt_str_len(b->t, text);
    uint32_t n = 0;
    struct line l;
    if (known->text == text) {
        *stack = known->stack;
        return 1;
    }
    /* outermost first in the text, innermost first in a stack; of a long one the end is kept */
    while (next_line(&s, end, &l)) {
        n -= n == MOST_FRAMES;
        memmove(ids + 1, ids, n * sizeof *ids);
        if (!frame_of(b, &l, &ids[0]))
            return 0;
        n++;
    }
    if (!mt_build_stack(b, ids, n, stack))
        return 0;
    *known = (struct mt_said){text, *stack};
    return 1;
}

int mt_b_fx(struct mt_builder *b, const struct mt_rec *r, mt_frame_id frame)
{
    mt_str_id trace = str_of(r, MT_K_FX_ORIGINAL_TRACE);
    const char *s = mt_str(b->t, trace), *end = s + mt_str_len(b->t, trace);
    struct line l, last = {.file = NULL};
    struct mt_fx *x;
    mt_frame_id line = 0;
    mt_str_id code = 0;
    while (frame >= b->n_has_fx) {
        uint32_t cap = b->n_has_fx;
        if (!mt_vec_grow((void **)&b->has_fx, &cap, frame + 1, 1))
            return mt_b_nomem(b);
        memset(b->has_fx + b->n_has_fx, 0, cap - b->n_has_fx);
        b->n_has_fx = cap;
    }
    if (b->has_fx[frame] != 0)
        return 1;
    while (next_line(&s, end, &l))
        last = l;
    if (last.file != NULL &&
        (!frame_of(b, &last, &line) ||
         (last.n_code != 0 && !mt_build_str(b, last.code, last.n_code, &code))))
        return 0;
    x = MT_VEC_PUSH(&b->t->fx);
    if (x == NULL)
        return mt_b_nomem(b);
    *x = (struct mt_fx){frame,
                        str_of(r, MT_K_FX_NODE_OP),
                        str_of(r, MT_K_FX_NODE_NAME),
                        str_of(r, MT_K_FX_NODE_TARGET),
                        line,
                        code};
    b->has_fx[frame] = 1;
    return 1;
}
