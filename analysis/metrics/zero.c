/* metrics/zero.c -- what DeepSpeed's ZeRO holds beside the model. */
#include "analysis/metrics/zero.h"

#include "analysis/base/frames.h"

#include <string.h>

/* The line of DeepSpeed's ZeRO that made a block itself, and in which function; 0 = none of it did.
 */
static uint32_t zero_line(const struct mt_trace *t, mt_stack_id s, const char **function)
{
    mt_frame_id frame;
    const struct mt_frame *f;
    if (mt_stack_site(t, NULL, s, &frame) != MT_SITE_PYTHON)
        return 0;
    f = &t->frames.p[frame];
    if (strstr(mt_str(t, f->file), "deepspeed/runtime/zero/") == NULL)
        return 0;
    *function = mt_str(t, f->name);
    return f->line;
}

double mt_zero_buckets(const struct mt_device_analysis *d, const struct mt_trace *t, double *count)
{
    uint64_t own = 0, made = 0, moved = 0, request = 0, n_own = 0, n_made = 0;
    /* reloaded: lines that moved something back */
    uint32_t first = UINT32_MAX, last = 0, reloaded = 0, line;
    const char *name = "";
    for (uint32_t i = 0; t != NULL && i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        if ((line = zero_line(t, o->stack, &name)) == 0)
            continue;
        if (strcmp(name, "setup_buckets") == 0) {
            own += o->bytes;
            n_own += o->blocks;
        } else if (strcmp(name, "_setup_for_real_optimizer") == 0 && line < first) {
            first = line;
            made = o->bytes;
            n_made = o->blocks;
        } else if (strcmp(name, "reload_states") == 0) {
            reloaded++;
            moved = line > last ? o->bytes : moved;
            last = line > last ? line : last;
        }
    }
    if (t != NULL && d->focus_is_oom && d->ooms.n != 0 &&
        (line = zero_line(t, d->ooms.p[0].stack, &name)) != 0 &&
        (strcmp(name, "setup_buckets") == 0 ||
         (strcmp(name, "_setup_for_real_optimizer") == 0 && made == 0) ||
         (strcmp(name, "reload_states") == 0 && reloaded >= 2 &&
          line > last))) /* behind the fp32 master and the gradients */
        request = d->ooms.p[0].request;
    moved = reloaded >= 3 ? moved : 0;
    *count = (double)(n_own + n_made + (moved != 0) + (request != 0));
    return (double)(own + made + moved) + (double)request;
}
