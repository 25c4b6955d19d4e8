/* replay/names.c -- the names that a job gives its memory: metadata of allocations
 * (torch.cuda.memory._set_memory_metadata), annotations of tensors that are there already
 * (_annotate_tensor), and the forward line behind an allocation of the backward pass. */
#include "analysis/base/frames.h"
#include "analysis/replay/replay.h"

#include <stdio.h>
#include <string.h>

/* Keys of the maps: their hash takes addresses, of which the last bits are the same. */
static uint64_t key_of(uint64_t event) { return event << 9; }

static int put(struct mt_addrmap *m, uint64_t key, mt_str_id text)
{
    bool had;
    uint32_t old;
    return mt_addrmap_put(m, key, text, &had, &old);
}

/* The blocks that annotations are about: one walk, where there are any. The last one stands. */
static int annotations(struct mt_names *n, const struct mt_trace *t, uint32_t device)
{
    const struct mt_device *d = &t->devices.p[device];
    struct mt_addrmap live = {NULL, 0, 0};
    int ok = 1;
    for (uint64_t i = 0; ok && i < d->events.n && i < UINT32_MAX; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        const struct mt_note *note;
        uint32_t birth;
        bool had;
        if (e->action == MT_ACT_ALLOC) {
            ok = mt_addrmap_put(&live, e->addr, (uint32_t)i, &had, &birth);
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            (void)mt_addrmap_take(&live, e->addr, &birth);
        } else if (e->action == MT_ACT_ANNOTATE &&
                   (note = mt_note_of(t, device, i, MT_NOTE_USER_METADATA)) != NULL) {
            ok = mt_addrmap_get(&live, e->addr, &birth)
                     ? put(&n->of_event, key_of(birth), note->text)
                     : put(&n->of_addr, e->addr, note->text);
        }
    }
    mt_addrmap_done(&live);
    return ok;
}

int mt_names_make(struct mt_names *n, const struct mt_trace *t, uint32_t device)
{
    const struct mt_device *d = &t->devices.p[device];
    int ok = 1;
    memset(n, 0, sizeof *n);
    for (uint32_t i = 0; ok && i < t->notes.n; i++) {
        const struct mt_note *note = &t->notes.p[i];
        if (note->device != device)
            continue;
        n->has_forward = n->has_forward || note->kind == MT_NOTE_FORWARD;
        if (note->kind == MT_NOTE_USER_METADATA &&
            mt_event_at(d, note->event)->action == MT_ACT_ALLOC)
            ok = put(&n->of_event, key_of(note->event), note->text);
    }
    if (ok && d->n_by_action[MT_ACT_ANNOTATE] != 0)
        ok = annotations(n, t, device);
    return ok;
}

void mt_names_done(struct mt_names *n)
{
    mt_addrmap_done(&n->of_event);
    mt_addrmap_done(&n->of_addr);
}

mt_str_id mt_name_of(const struct mt_names *n, uint64_t event, uint64_t addr)
{
    uint32_t text = 0;
    if (event == UINT64_MAX)
        return n->of_addr.n != 0 && mt_addrmap_get(&n->of_addr, addr, &text) ? text : 0;
    return n->of_event.n != 0 && mt_addrmap_get(&n->of_event, key_of(event), &text) ? text : 0;
}

mt_stack_id mt_forward_of(const struct mt_replay *r, uint64_t event)
{
    const struct mt_note *note = r->names.has_forward && event != UINT64_MAX
                                     ? mt_note_of(r->t, r->device, event, MT_NOTE_FORWARD)
                                     : NULL;
    return note != NULL ? note->stack : 0;
}

char *mt_birth_label(const struct mt_replay *r, uint64_t event, mt_stack_id stack, mt_str_id name,
                     char *buf, size_t cap)
{
    enum { NAME = 120 }; /* of what a job says, so much */
    mt_stack_id forward = mt_forward_of(r, event);
    char line[400], own[400];
    (void)mt_stack_label(r->t, stack, own, sizeof own);
    if (forward != 0)
        (void)snprintf(line, sizeof line, "%.300s, in the backward of it (%.80s)",
                       mt_stack_label(r->t, forward, buf, cap), own);
    else
        (void)snprintf(line, sizeof line, "%s", own);
    if (name == 0)
        (void)snprintf(buf, cap, "%s", line);
    else if (stack == 0 && forward == 0)
        (void)snprintf(buf, cap, "\"%.*s\"", NAME, mt_str(r->t, name));
    else
        (void)snprintf(buf, cap, "\"%.*s\" (%s)", NAME, mt_str(r->t, name), line);
    return buf;
}
