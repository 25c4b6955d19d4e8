/* attributions.c -- what the phase engine says of every allocation and of every live block on its
 * own, one per line, so that reference.py --against can compare it: "event FILE DEVICE EVENT PHASE
 * SUB" and "block FILE DEVICE ADDRESS PHASE SUB LABEL". Annotations are left out: frames alone. */
#include "tests/unit/load.h"
#include "analysis/base/frames.h"
#include "../unit/frameworks.h"

#include <inttypes.h>
#include <stdlib.h>

static bool print_events(struct mt_phaser *p, const struct mt_trace *t, int file, uint32_t device)
{
    const struct mt_device *d = &t->devices.p[device];
    const struct mt_phase_opts opts = {.use_annotations = false};
    struct mt_attr *attr = calloc((size_t)d->events.n + 1, sizeof *attr);
    struct mt_err err = {.rc = MT_OK};
    bool ok = attr != NULL && mt_phaser_run(p, device, &opts, attr, &err) >= 0;
    for (uint64_t i = 0; ok && i < d->events.n; i++) {
        uint8_t action = mt_event_at(d, i)->action;
        if (action == MT_ACT_ALLOC || action == MT_ACT_OOM)
            printf("event %d %d %" PRIu64 " %s %s\n", file, d->ordinal, i,
                   mt_phase_id((enum mt_phase)attr[i].phase),
                   mt_phase_id((enum mt_phase)attr[i].sub));
    }
    free(attr);
    return ok;
}

static void print_blocks(struct mt_phaser *p, const struct mt_trace *t, int file)
{
    char label[8192];
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        for (uint32_t k = 0; k < s->n_blocks && !s->is_host; k++) {
            const struct mt_block *b = &t->blocks.p[s->first_block + k];
            struct mt_attr a;
            if (b->state == MT_BLOCK_INACTIVE)
                continue;
            a = mt_phaser_stack(p, b->stack);
            printf("block %d %d %" PRIu64 " %s %s %s\n", file, s->device, b->addr,
                   mt_phase_id((enum mt_phase)a.phase), mt_phase_id((enum mt_phase)a.sub),
                   mt_stack_label(t, b->stack, label, sizeof label));
        }
    }
}

int main(int argc, char **argv)
{
    struct mt_phase_rules *rules = NULL;
    struct mt_err err = {.rc = MT_OK};
    int failed = 0;
    if (mt_phase_rules_load(&rules, mt_test_frameworks(), NULL, 0, NULL, &err) < 0)
        return 1;
    for (int i = 1; i < argc; i++) {
        enum mt_rc rc;
        struct mt_trace *t = mt_load(argv[i], &rc);
        struct mt_phaser *p = NULL;
        if (t == NULL || mt_phaser_new(&p, rules, t, &err) < 0) {
            failed = 1;
        } else {
            for (uint32_t d = 0; d < t->devices.n; d++)
                if (t->devices.p[d].kind == MT_DEV_CUDA && !print_events(p, t, i - 1, d))
                    failed = 1;
            print_blocks(p, t, i - 1);
        }
        mt_phaser_free(p);
        mt_trace_free(t);
    }
    mt_phase_rules_free(rules);
    return failed;
}
