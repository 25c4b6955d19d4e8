/* native/stack.c -- native frames: module and offset, a symbol where the collector found one, into
 * the frames and stacks of the trace. */
#include "parser/native/impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_place(const void *pa, const void *pb)
{
    const struct mt_native_symbol *a = pa, *b = pb;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The first symbol of the place. */
static const struct mt_native_symbol *find(const struct mt_native *n, uint32_t process,
                                           const struct mt_native_pc *pc)
{
    struct mt_native_symbol key = {.process = process, .module = pc->module, .offset = pc->offset};
    uint32_t lo = 0, hi = n->symbols.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (by_place(&n->symbols.p[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < n->symbols.n && n->symbols.p[lo].process == process &&
        n->symbols.p[lo].module == pc->module && n->symbols.p[lo].offset == pc->offset)
        return &n->symbols.p[lo];
    return NULL;
}

/* "libx.so" of "/usr/lib/libx.so (deleted)". */
static mt_str_id base_name(struct mt_native *n, mt_str_id path)
{
    static const char gone[] = " (deleted)";
    const char *s = mt_str(n->t, path), *slash;
    size_t len = mt_str_len(n->t, path);
    if (len > sizeof gone - 1 && memcmp(s + len - (sizeof gone - 1), gone, sizeof gone - 1) == 0)
        len -= sizeof gone - 1;
    for (slash = s + len; slash > s && slash[-1] != '/'; slash--)
        ;
    return mt_strpool_add(&n->t->str, slash, len - (size_t)(slash - s));
}

/* A frame with a source file does not name its module. */
static int note_module(struct mt_native *n, mt_frame_id id, mt_str_id module)
{
    while (n->d->frame_module.n <= id)
        if (MT_VEC_PUSH(&n->d->frame_module) == NULL)
            return 0;
    if (n->d->frame_module.p[id] == 0)
        n->d->frame_module.p[id] = module;
    return 1;
}

static int frame(struct mt_native *n, uint32_t process, const struct mt_native_pc *pc,
                 mt_frame_id *id)
{
    uint32_t m = pc->module != 0
                     ? mt_idmap_get(&n->ids, mt_id_key(MT_ID_MODULE, process, pc->module))
                     : MT_NONE32;
    const struct mt_native_symbol *s = find(n, process, pc);
    mt_str_id name = s != NULL ? s->function : 0, file = s != NULL ? s->file : 0, module = 0;
    char buf[320];
    int len;
    if (m != MT_NONE32 && (module = base_name(n, n->d->modules.p[m].path)) == MT_STR_FAIL)
        return mt_native_nomem(n);
    n->n_undefined += m == MT_NONE32 && pc->module != 0;
    if (name == 0) {
        if (module != 0)
            len = snprintf(buf, sizeof buf, "%.255s+0x%llx", mt_str(n->t, module),
                           (unsigned long long)pc->offset);
        else
            len = snprintf(buf, sizeof buf, "0x%llx", (unsigned long long)pc->offset);
        if (len < 0 || (name = mt_strpool_add(&n->t->str, buf, strlen(buf))) == MT_STR_FAIL)
            return mt_native_nomem(n);
    }
    if (file == 0)
        file = module;
    return (mt_intern_frame(&n->intern, name, file, s != NULL ? s->line : 0, id) &&
            note_module(n, *id, module)) ||
           mt_native_nomem(n);
}

int mt_native_stacks(struct mt_native *n)
{
    MT_VEC(mt_frame_id) ids = {NULL, 0, 0};
    int ok = 1;
    if (n->symbols.n > 1)
        qsort(n->symbols.p, n->symbols.n, sizeof *n->symbols.p, by_place);
    for (uint32_t i = 0; i < n->stacks.n && ok; i++) {
        struct mt_native_stack *s = &n->stacks.p[i];
        ids.n = 0;
        for (uint32_t k = 0; k < s->n && ok; k++) {
            mt_frame_id *f = MT_VEC_PUSH(&ids);
            ok = f != NULL ? frame(n, s->process, &n->pcs.p[s->first + k], f) : mt_native_nomem(n);
        }
        if (ok && !mt_intern_stack(&n->intern, ids.p, ids.n, &s->id))
            ok = mt_native_nomem(n);
    }
    MT_VEC_DONE(&ids);
    return ok;
}
