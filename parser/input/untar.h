/* untar.h -- files out of tar streams, written into a folder: what nodes that share no disk send to
 * the one that puts it together. */
#ifndef MT_UNTAR_H
#define MT_UNTAR_H

#include "parser/input/input.h"

struct mt_untar {
    const struct mt_input_opts *opts;    /* limits and budget count */
    const char *dir;                     /* is there */
    bool (*is_wanted)(const char *name); /* asked with the last part of a member's path */
    uint64_t n_files;                    /* that were written, by all calls */
};
/* path: a tar file, as it is or compressed, or "-": tar streams one behind the other. Files that
 * are not wanted are passed over; one that is there already is an error, since two nodes cannot
 * have the same. MT_EINPUT where the stream is damaged: what was written stays. err names path. */
enum mt_rc mt_untar(struct mt_untar *u, const char *path, struct mt_err *err);

#endif
