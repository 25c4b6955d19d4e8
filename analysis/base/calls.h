/* calls.h -- which line of a program calls a model, by stack. */
#ifndef MT_BASE_CALLS_H
#define MT_BASE_CALLS_H

#include "analysis/base/frames.h"

/* call[s]: the Python frame outside of the outermost call of a module of PyTorch's, 0 = the stack
 * lies in none. near[s]: the innermost Python frame. Both have a zero for every stack of the trace
 * before. Frames of C++ may stand anywhere between. Constant work for each stack. */
void mt_stack_calls(const struct mt_trace *t, struct mt_file_kinds *k, mt_frame_id *call,
                    mt_frame_id *near);

#endif
