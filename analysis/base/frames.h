/* frames.h -- what the frames of a trace say: files, the telling part of a stack, names for
 * readers. */
#ifndef MT_FRAMES_H
#define MT_FRAMES_H

#include "parser/model/trace.h"

bool mt_file_is_python(const char *file, uint32_t n); /* '/' or '\\' both separate */
/* PyTorch's own; '/' or '\\' both separate */
bool mt_file_is_torch(const char *file, uint32_t n);
bool mt_file_is_internal(const char *file, uint32_t n); /* of a Python file, with '/' only */

/* Ends s in the suffix, as whole path components? '\\' counts as '/': snapshots of Windows exist.
 */
bool mt_path_ends(const char *s, uint32_t n, const char *suffix, uint32_t len);

/* Is there a frame of that file and function ("" = any) anywhere in the trace? file is the end of a
 * path, or with a final slash a directory in it, on whole components; '\\' counts as '/'. t may be
 * NULL: there is none then. */
bool mt_trace_has_frame(const struct mt_trace *t, const char *file, const char *function);

/* The autograd node that an operator of a profiler's trace runs: of
 * "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", and of "MulBackward0"
 * alone, as before PyTorch 1.10. NULL: it is none. *len: of the node's name. */
const char *mt_backward_op(const char *s, uint32_t n, int *len);

/* Is a frame, or one of a stack, of this function ("" = any) in a file whose path has `file` in it?
 * '/' only. */
bool mt_frame_is(const struct mt_trace *t, mt_frame_id id, const char *file, const char *function);
bool mt_stack_goes_through(const struct mt_trace *t, mt_stack_id s, const char *file,
                           const char *function);
/* Two frames are lines of one function; 0 is of none. */
static inline bool mt_frames_are_one_function(const struct mt_trace *t, mt_frame_id a,
                                              mt_frame_id b)
{
    return a != 0 && b != 0 && t->frames.p[a].file == t->frames.p[b].file &&
           t->frames.p[a].name == t->frames.p[b].name;
}
/* Does any function of the trace fit so? Where not, no stack of it goes through such a frame. */
bool mt_trace_goes_through(const struct mt_trace *t, const char *file, const char *function);

/* What a file is, by string id, so that a path is looked at once. Zeroed struct = nothing known
 * yet. */
struct mt_file_kinds {
    uint8_t *of; /* 0 = not looked at; bit 0: looked at, bit 1: Python, bit 2: internal */
};
enum { MT_FILE_KNOWN = 1, MT_FILE_PYTHON = 2, MT_FILE_INTERNAL = 4 };
int mt_file_kinds_init(struct mt_file_kinds *k, const struct mt_trace *t); /* 1 on success */
void mt_file_kinds_done(struct mt_file_kinds *k);
/* Looks at the path; for mt_file_kind(). */
unsigned mt_file_look(struct mt_file_kinds *k, const struct mt_trace *t, mt_str_id file);
/* k may be NULL. Asked of each frame of many stacks. */
static inline unsigned mt_file_kind(struct mt_file_kinds *k, const struct mt_trace *t,
                                    mt_str_id file)
{
    return k != NULL && k->of[file] != 0 ? k->of[file] : mt_file_look(k, t, file);
}

/* The line of the program that a frame of generated code stands for, as far as PyTorch says it
 * (augment_with_fx_traces=True); else the frame itself. */
mt_frame_id mt_frame_own(const struct mt_trace *t, mt_frame_id id);

enum mt_site_kind {
    MT_SITE_NONE, /* no frames */
    /* innermost Python frame that is not internal; else the innermost Python frame */
    MT_SITE_PYTHON,
    MT_SITE_AUTOGRAD, /* no Python frame: the innermost autograd node */
    MT_SITE_CPP       /* no Python frame: the innermost C++ frame that says something */
};
/* The frame that names a stack; 0 with MT_SITE_NONE. */
enum mt_site_kind mt_stack_site(const struct mt_trace *t, struct mt_file_kinds *k, mt_stack_id s,
                                mt_frame_id *frame);

/* Readable form of one frame and of a stack: Python frames outside torch, innermost first. */
struct mt_frame_view {
    const char *name; /* is_code: the line itself, of what generated code stands for */
    char file[96];    /* last two path components */
    uint32_t line;
    bool is_code;
    bool is_python, is_internal; /* internal: torch and interpreter machinery, folded by default */
};
void mt_frame_describe(const struct mt_trace *t, mt_frame_id id, struct mt_frame_view *out);
/* "models.py:174 update_nodes" of the innermost telling frame into buf; returns buf. */
char *mt_stack_label(const struct mt_trace *t, mt_stack_id s, char *buf, size_t cap);

#endif
