/* memray/native.c -- addresses of code in libraries. A recording has no names of their functions:
 * memray finds those when it reports, in the libraries of the machine it then runs on. What is
 * known everywhere is the library, and how far into it the address lies. */
#include "parser/memray/impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Natives are counted in 31 bits, beside a bit of the key that they are looked up by. */
enum { MAX_NATIVES = INT32_MAX };

int mt_mr_native_index(struct mt_mr *m)
{
    struct mt_mr_native *k;
    if (!mt_mr_delta(m, &m->last_ip) || !mt_mr_delta(m, &m->last_native))
        return 0;
    if (m->natives.n == MAX_NATIVES || (k = MT_VEC_PUSH(&m->natives)) == NULL)
        return mt_mr_nomem(m);
    k->ip = m->last_ip;
    /* an outer call stands in front of those that it makes: there is no circle */
    k->parent = m->last_native < m->natives.n ? (uint32_t)m->last_native : 0;
    return 1;
}

int mt_mr_maps(struct mt_mr *m)
{
    m->generation++;
    m->modules.n = 0;
    mt_free(m->stack_by_native.p);
    memset(&m->stack_by_native, 0, sizeof m->stack_by_native);
    return 1;
}

int mt_mr_module(struct mt_mr *m)
{
    mt_str_id path;
    uint64_t n, base, at, size;
    uint8_t type;
    if (!mt_mr_string(m, &path) || !mt_mr_varint(m, &n) || !mt_mr_fixed64(m, &base, 1))
        return 0;
    for (; n > 0; n--) {
        struct mt_mr_module *k;
        if (!mt_mr_byte(m, &type))
            return 0;
        if ((m->version >= 12 || m->is_aggregated ? type : type & 15) != 8)
            return mt_mr_broken(m, "a library with fewer segments than it announces");
        if (!mt_mr_fixed64(m, &at, 1) || !mt_mr_varint(m, &size))
            return 0;
        if ((k = MT_VEC_PUSH(&m->modules)) == NULL)
            return mt_mr_nomem(m);
        *k = (struct mt_mr_module){base + at, base + at + size, base, path};
    }
    m->modules_sorted = false;
    return 1;
}

static int by_begin(const void *pa, const void *pb)
{
    const struct mt_mr_module *a = pa, *b = pb;
    return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1)
                                : (a->end > b->end) - (a->end < b->end);
}

static const struct mt_mr_module *module_at(struct mt_mr *m, uint64_t ip)
{
    uint32_t low = 0, high = m->modules.n;
    if (!m->modules_sorted && m->modules.n > 1)
        qsort(m->modules.p, m->modules.n, sizeof *m->modules.p, by_begin);
    m->modules_sorted = true;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (m->modules.p[mid].begin <= ip)
            low = mid + 1;
        else
            high = mid;
    }
    return low != 0 && ip < m->modules.p[low - 1].end ? &m->modules.p[low - 1] : NULL;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int frame_of(struct mt_mr *m, struct mt_mr_native *k)
{
    const struct mt_mr_module *in = module_at(m, k->ip);
    mt_str_id name, file = in != NULL ? in->path : 0;
    char text[200];
    int n;
    if (in == NULL)
        n = snprintf(text, sizeof text, "0x%llx", (unsigned long long)k->ip);
    else
        n = snprintf(text, sizeof text, "%.150s+0x%llx", base_of(mt_str(m->t, in->path)),
                     (unsigned long long)(k->ip - in->base));
    k->generation = m->generation;
    return (mt_build_str(m->b, text, (size_t)n, &name) &&
            mt_build_frame(m->b, name, file, 0, &k->frame)) ||
           mt_mr_refused(m);
}

/* The interpreter: what it calls stands as Python frames beside it. */
static bool is_python(const struct mt_mr *m, const struct mt_mr_native *k)
{
    const char *file = base_of(mt_str(m->t, m->t->frames.p[k->frame].file));
    return strncmp(file, "libpython", 9) == 0 || strncmp(file, "python", 6) == 0;
}

int mt_mr_native_ids(struct mt_mr *m, uint64_t native, bool has_python)
{
    while (native != 0 && m->ids.n < m->lim->max_frames) {
        struct mt_mr_native *k = &m->natives.p[native - 1];
        mt_frame_id *to;
        if ((k->frame == 0 || k->generation != m->generation) && !frame_of(m, k))
            return 0;
        if (has_python && is_python(m, k))
            break;
        if ((to = MT_VEC_PUSH(&m->ids)) == NULL)
            return mt_mr_nomem(m);
        *to = k->frame;
        native = k->parent;
    }
    return 1;
}
