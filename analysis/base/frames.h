/* frames.h -- the telling part of a stack. See mt_frame_describe() and mt_stack_label() in
 * analysis.h. */
#ifndef MT_FRAMES_H
#define MT_FRAMES_H

#include "analysis/facts/analysis.h"

bool mt_file_is_python(const char *file, uint32_t n); /* '/' or '\\' both separate */
/* PyTorch's own; '/' or '\\' both separate */
bool mt_file_is_torch(const char *file, uint32_t n);
bool mt_file_is_internal(const char *file, uint32_t n); /* of a Python file, with '/' only */

/* Ends s in the suffix, as whole path components? '\\' counts as '/': snapshots of Windows exist.
 */
bool mt_path_ends(const char *s, uint32_t n, const char *suffix, uint32_t len);

/* Is there a frame of this function ("" = any) in a file whose path has `file` in it? '/' only. */
bool mt_stack_goes_through(const struct mt_trace *t, mt_stack_id s, const char *file,
                           const char *function);

/* What a file is, by string id, so that a path is looked at once. Zeroed struct = nothing known
 * yet. */
struct mt_file_kinds {
    uint8_t *of; /* 0 = not looked at; bit 0: looked at, bit 1: Python, bit 2: internal */
};
enum { MT_FILE_KNOWN = 1, MT_FILE_PYTHON = 2, MT_FILE_INTERNAL = 4 };
int mt_file_kinds_init(struct mt_file_kinds *k, const struct mt_trace *t); /* 1 on success */
void mt_file_kinds_done(struct mt_file_kinds *k);
/* k may be NULL */
unsigned mt_file_kind(struct mt_file_kinds *k, const struct mt_trace *t, mt_str_id file);

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

#endif
