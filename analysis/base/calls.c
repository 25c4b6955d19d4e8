#include "analysis/base/calls.h"

static bool is_module_call(const struct mt_trace *t, const struct mt_frame *f)
{
    return mt_path_ends(mt_str(t, f->file), mt_str_len(t, f->file), "torch/nn/modules/module.py",
                        26);
}

/* A caller's stack has a lower number. */
void mt_stack_calls(const struct mt_trace *t, struct mt_file_kinds *k, mt_frame_id *call,
                    mt_frame_id *near)
{
    for (mt_stack_id s = 1; s < t->stacks.n; s++) {
        const struct mt_stack_node *node = &t->stacks.p[s];
        const struct mt_frame *frame = &t->frames.p[node->frame];
        near[s] = near[node->parent];
        call[s] = call[node->parent];
        if ((mt_file_kind(k, t, frame->file) & MT_FILE_PYTHON) == 0)
            continue;
        if (call[s] == 0 && is_module_call(t, frame) && near[s] != 0 &&
            !is_module_call(t, &t->frames.p[near[s]]))
            call[s] = near[s];
        near[s] = node->frame;
    }
}
