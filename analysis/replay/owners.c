/* Who holds memory at a moment: live blocks grouped by readable stack. */
#include "analysis/base/frames.h"
#include "analysis/replay/replay.h"

#include <stdlib.h>
#include <string.h>

struct group {
    uint64_t bytes, blocks, largest, first_event, top_share;
    mt_stack_id stack;
    struct mt_attr attr;
    uint8_t birth;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * UINT64_C(0x9e3779b97f4a7c15) ^ (h >> 29);
}

/* Hash of the frames that name an owner: frames inside torch and of C++ do not count, so they do
 * not split an owner. */
static uint64_t group_key(const struct mt_trace *t, struct mt_file_kinds *files, mt_stack_id s)
{
    mt_frame_id site;
    enum mt_site_kind kind = mt_stack_site(t, files, s, &site);
    uint64_t h = mix((uint64_t)kind + 1, 0);
    bool any = false;
    char label[512];
    if (kind == MT_SITE_AUTOGRAD || kind == MT_SITE_CPP) {
        (void)mt_stack_label(t, s, label, sizeof label);
        for (const char *p = label; *p != '\0'; p++)
            h = mix(h, (unsigned char)*p);
        return h;
    }
    for (mt_stack_id i = s; i != 0; i = t->stacks.p[i].parent) {
        unsigned file = mt_file_kind(files, t, t->frames.p[t->stacks.p[i].frame].file);
        if ((file & (MT_FILE_PYTHON | MT_FILE_INTERNAL)) == MT_FILE_PYTHON) {
            h = mix(h, t->stacks.p[i].frame);
            any = true;
        }
    }
    return any ? h : mix(h, site);
}

static int cmp_group(const void *pa, const void *pb)
{
    const struct group *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int cmp_owner(const void *pa, const void *pb)
{
    const struct mt_owner *a = pa, *b = pb;
    int c;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    c = strcmp(a->label, b->label);
    return c != 0 ? c : a->stack < b->stack ? -1 : a->stack > b->stack;
}

int mt_owners(const struct mt_trace *t, const struct mt_live_set *live,
              struct mt_device_analysis *out)
{
    MT_VEC(struct group) groups = {NULL, 0, 0};
    struct mt_file_kinds files = {NULL};
    struct mt_addrmap by_stack = {NULL, 0, 0}, by_key = {NULL, 0, 0};
    char label[512];
    bool had;
    uint32_t unused;
    int rc = 0;
    if (!mt_file_kinds_init(&files, t))
        goto out;
    for (uint32_t i = 0; i < live->n; i++) {
        const struct mt_live *l = &live->p[i];
        struct group *g;
        uint32_t at;
        if (!mt_addrmap_get(&by_stack, (uint64_t)l->stack << 9, &at)) {
            uint64_t key = group_key(t, &files, l->stack);
            if (!mt_addrmap_get(&by_key, key, &at)) {
                at = groups.n;
                g = MT_VEC_PUSH(&groups);
                if (g == NULL || !mt_addrmap_put(&by_key, key, at, &had, &unused))
                    goto out;
                g->first_event = UINT64_MAX;
                g->stack = l->stack;
                g->attr = l->attr;
                g->birth = l->birth;
            }
            if (!mt_addrmap_put(&by_stack, (uint64_t)l->stack << 9, at, &had, &unused))
                goto out;
        }
        g = &groups.p[at];
        g->bytes += l->size;
        g->blocks++;
        if (l->size > g->largest) {
            g->largest = l->size;
            g->stack = l->stack;
            g->attr = l->attr;
            g->birth = l->birth;
        }
        if (l->event < g->first_event)
            g->first_event = l->event;
    }
    if (groups.n > 1)
        qsort(groups.p, groups.n, sizeof *groups.p, cmp_group);
    out->n_owners_all = groups.n;
    for (uint32_t i = 0; i < groups.n; i++) {
        const struct group *g = &groups.p[i];
        struct mt_owner *o;
        if (i >= MT_MAX_OWNERS) {
            out->owners_rest_bytes += g->bytes;
            continue;
        }
        o = MT_VEC_PUSH(&out->owners);
        if (o == NULL)
            goto out;
        (void)mt_stack_label(t, g->stack, label, sizeof label);
        o->label = mt_strndup(label, strlen(label));
        if (o->label == NULL)
            goto out;
        o->bytes = g->bytes;
        o->blocks = g->blocks;
        o->largest = g->largest;
        o->stack = g->stack;
        o->attr = g->attr;
        o->birth = (enum mt_birth)g->birth;
        o->first_event = g->first_event;
    }
    if (out->owners.n > 1)
        qsort(out->owners.p, out->owners.n, sizeof *out->owners.p, cmp_owner);
    rc = 1;
out:
    mt_file_kinds_done(&files);
    mt_addrmap_done(&by_stack);
    mt_addrmap_done(&by_key);
    MT_VEC_DONE(&groups);
    return rc;
}
