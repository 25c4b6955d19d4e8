/* profiler/labels.c -- names of slices, each with the frames that it stands for. */
#include "parser/profiler/impl.h"

#include <string.h>

struct mt_pf_seen {
    struct mt_json_hash key;
    uint32_t label; /* index + 1; 0 = empty */
};

static int frame(struct mt_pf *f, struct mt_pf_text name, struct mt_pf_text file, uint32_t line,
                 mt_frame_id *id)
{
    mt_str_id a, b = 0;
    return (mt_build_str(f->b, name.p, name.n, &a) &&
            (file.n == 0 || mt_build_str(f->b, file.p, file.n, &b)) &&
            mt_build_frame(f->b, a, b, line, id)) ||
           mt_pf_refused(f);
}

static bool is_digit(unsigned char c) { return c - (unsigned)'0' < 10; }

/* "path/file.py(123): function" into its parts. */
static bool python_parts(struct mt_pf_text s, struct mt_pf_text *name, struct mt_pf_text *file,
                         uint32_t *line)
{
    for (size_t i = 2; i + 3 < s.n; i++) {
        size_t k = i;
        uint64_t n = 0, unit = 1;
        if (s.p[i] != ')' || s.p[i + 1] != ':' || s.p[i + 2] != ' ')
            continue;
        for (; k > 0 && is_digit(s.p[k - 1]) && i - k < 9; k--, unit *= 10)
            n += unit * (s.p[k - 1] - (unsigned)'0');
        if (k == i || k < 2 || s.p[k - 1] != '(')
            continue;
        *file = (struct mt_pf_text){s.p, k - 1};
        *name = (struct mt_pf_text){s.p + i + 3, s.n - i - 3};
        *line = (uint32_t)n;
        return true;
    }
    return false;
}

/* "nn.Module: Linear_12" is the twelfth of its class: all are one place in the code. */
static struct mt_pf_text without_number(struct mt_pf_text s)
{
    static const char module[] = "nn.Module: ";
    size_t n = s.n;
    if (n < sizeof module || memcmp(s.p, module, sizeof module - 1) != 0)
        return s;
    while (n > 0 && is_digit(s.p[n - 1]))
        n--;
    if (n > sizeof module && n < s.n && s.p[n - 1] == '_')
        s.n = n - 1;
    return s;
}

static int python_frame(struct mt_pf *f, struct mt_pf_text s, mt_frame_id *id)
{
    struct mt_pf_text name, file;
    uint32_t line;
    *id = 0;
    if (python_parts(s, &name, &file, &line))
        return frame(f, name, file, line, id);
    /* "<built-in method empty of type object at 0x7f...>": the operator inside says it better */
    if (s.n == 0 || s.p[0] == '<')
        return 1;
    return frame(f, without_number(s), (struct mt_pf_text){NULL, 0}, 0, id);
}

/* "file(line): function;file(line): function" */
static int outer_frames(struct mt_pf *f, struct mt_pf_label *l, struct mt_pf_text s)
{
    l->first_outer = f->outer.n;
    while (s.n != 0 && l->n_outer < f->lim->max_frames) {
        const unsigned char *semi = memchr(s.p, ';', s.n);
        size_t n = semi != NULL ? (size_t)(semi - s.p) : s.n;
        mt_frame_id id, *slot;
        if (!python_frame(f, (struct mt_pf_text){s.p, n}, &id))
            return 0;
        if (id != 0) {
            if ((slot = MT_VEC_PUSH(&f->outer)) == NULL)
                return mt_pf_nomem(f);
            *slot = id;
            l->n_outer++;
        }
        s.p += n;
        s.n -= n;
        if (s.n != 0) {
            s.p++;
            s.n--;
        }
    }
    return 1;
}

static int grow_seen(struct mt_pf *f)
{
    uint32_t cap = f->cap_seen != 0 ? f->cap_seen * 2 : 1024;
    struct mt_pf_seen *p = mt_calloc(cap, sizeof *p);
    if (p == NULL)
        return mt_pf_nomem(f);
    for (uint32_t i = 0; i < f->cap_seen; i++) {
        uint32_t at = (uint32_t)f->seen[i].key.lo & (cap - 1);
        if (f->seen[i].label == 0)
            continue;
        while (p[at].label != 0)
            at = (at + 1) & (cap - 1);
        p[at] = f->seen[i];
    }
    mt_free(f->seen);
    f->seen = p;
    f->cap_seen = cap;
    return 1;
}

static int find(struct mt_pf *f, struct mt_pf_text name, bool is_python, struct mt_pf_text outer,
                uint32_t *label)
{
    struct mt_json_hash h = f->j.simd->hash(name.p, name.n), more;
    struct mt_pf_label *l;
    uint32_t at;
    if (outer.n != 0) {
        more = f->j.simd->hash(outer.p, outer.n);
        h.lo ^= more.lo * UINT64_C(0x9e3779b97f4a7c15);
        h.hi ^= more.hi * UINT64_C(0x9e3779b97f4a7c15);
    }
    h.lo ^= is_python;
    if (f->n_seen * 2 >= f->cap_seen && !grow_seen(f))
        return 0;
    for (at = (uint32_t)h.lo & (f->cap_seen - 1); f->seen[at].label != 0;
         at = (at + 1) & (f->cap_seen - 1)) {
        if (f->seen[at].key.lo == h.lo && f->seen[at].key.hi == h.hi) {
            *label = f->seen[at].label - 1;
            return 1;
        }
    }
    if ((l = MT_VEC_PUSH(&f->labels)) == NULL)
        return mt_pf_nomem(f);
    *label = f->labels.n - 1;
    l->is_python = is_python;
    if (is_python ? !python_frame(f, name, &l->frame)
                  : !frame(f, name, (struct mt_pf_text){NULL, 0}, 0, &l->frame))
        return 0;
    if (!outer_frames(f, l, outer))
        return 0;
    f->seen[at].key = h;
    f->seen[at].label = *label + 1;
    f->n_seen++;
    return 1;
}

int mt_pf_other_label(struct mt_pf *f, struct mt_pf_text name, bool is_python,
                      struct mt_pf_text outer, uint32_t *label)
{
    struct mt_pf_lately *l;
    if (!find(f, name, is_python, outer, label))
        return 0;
    if (!mt_pf_is_kept(name, outer))
        return 1;
    if (f->lately == NULL &&
        (f->lately = mt_calloc((size_t)1 << MT_PF_LATELY_BITS, sizeof *f->lately)) == NULL)
        return mt_pf_nomem(f);
    l = mt_pf_lately(f, name, is_python);
    memcpy(l->name, name.p, name.n);
    l->n = (uint8_t)name.n;
    l->is_python = is_python;
    l->label = *label + 1;
    return 1;
}

void mt_pf_labels_done(struct mt_pf *f)
{
    MT_VEC_DONE(&f->labels);
    MT_VEC_DONE(&f->outer);
    mt_free(f->seen);
    mt_free(f->lately);
}
