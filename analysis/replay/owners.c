/* Who holds memory at a moment: live blocks grouped by readable stack. */
#include "analysis/base/frames.h"
#include "analysis/replay/replay.h"

#include <stdlib.h>
#include <string.h>

/* Of the live blocks: one row for each stack, beside what names it. */
struct rows {
    struct mt_addrmap at;
    MT_VEC(uint32_t) group; /* of each row */
};

struct group {
    uint64_t bytes, blocks, largest, first_event;
    uint64_t event; /* of its largest block, as its stack */
    mt_stack_id stack;
    mt_str_id name;
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
        mt_frame_id own = mt_frame_own(t, t->stacks.p[i].frame);
        unsigned file = mt_file_kind(files, t, t->frames.p[own].file);
        if ((file & (MT_FILE_PYTHON | MT_FILE_INTERNAL)) == MT_FILE_PYTHON) {
            h = mix(h, own);
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

static void add_held(struct mt_stack_share *h, const struct mt_live *l)
{
    h->bytes += l->size;
    h->blocks++;
    if (l->size > h->largest)
        h->largest = l->size;
}

/* The row of a stack that is new, in that group. */
static int new_row(struct rows *rows, uint64_t place, uint32_t group, const struct mt_live *l,
                   struct mt_device_analysis *out)
{
    struct mt_stack_share *h = MT_VEC_PUSH(&out->by_stack);
    uint32_t *of = MT_VEC_PUSH(&rows->group), unused;
    bool had;
    if (h == NULL || of == NULL ||
        !mt_addrmap_put(&rows->at, place, out->by_stack.n - 1, &had, &unused))
        return 0;
    *h = (struct mt_stack_share){.stack = l->stack, .attr = l->attr};
    *of = group;
    return 1;
}

int mt_owners(const struct mt_replay *r, const struct mt_live_set *live,
              struct mt_device_analysis *out)
{
    const struct mt_trace *t = r->t;
    MT_VEC(struct group) groups = {NULL, 0, 0};
    struct mt_file_kinds files = {NULL};
    struct rows rows = {.at = {NULL, 0, 0}};
    struct mt_addrmap by_key = {NULL, 0, 0};
    char label[512];
    bool had;
    uint32_t unused;
    int rc = 0;
    if (!mt_file_kinds_init(&files, t))
        goto out;
    for (uint32_t i = 0; i < live->n; i++) {
        const struct mt_live *l = &live->p[i];
        struct group *g;
        uint32_t at, row;
        mt_str_id name = mt_name_of(&r->names, l->event, l->addr);
        mt_stack_id forward = mt_forward_of(r, l->event);
        uint64_t place = (uint64_t)l->stack << 9;
        if (name != 0 || forward != 0) /* they tell blocks of one stack apart */
            place = mix(mix(place, name), forward) << 9 | 256;
        if (!mt_addrmap_get(&rows.at, place, &row)) {
            uint64_t key = group_key(t, &files, l->stack);
            if (name != 0)
                key = mix(key, name);
            if (forward != 0)
                key = mix(key, group_key(t, &files, forward));
            if (!mt_addrmap_get(&by_key, key, &at)) {
                at = groups.n;
                g = MT_VEC_PUSH(&groups);
                if (g == NULL || !mt_addrmap_put(&by_key, key, at, &had, &unused))
                    goto out;
                g->first_event = UINT64_MAX;
                g->event = l->event;
                g->name = name;
                g->stack = l->stack;
                g->attr = l->attr;
                g->birth = l->birth;
            }
            row = out->by_stack.n;
            if (!new_row(&rows, place, at, l, out))
                goto out;
        }
        add_held(&out->by_stack.p[row], l);
        g = &groups.p[rows.group.p[row]];
        g->bytes += l->size;
        g->blocks++;
        if (l->size > g->largest) {
            g->largest = l->size;
            g->event = l->event;
            g->name = name;
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
        (void)mt_birth_label(r, g->event, g->stack, g->name, label, sizeof label);
        o->is_named = g->name != 0;
        o->forward = mt_forward_of(r, g->event);
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
    mt_addrmap_done(&rows.at);
    MT_VEC_DONE(&rows.group);
    mt_addrmap_done(&by_key);
    MT_VEC_DONE(&groups);
    return rc;
}
