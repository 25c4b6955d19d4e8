/* input.h -- from a path to streams of snapshot bytes: files, standard input, directories,
 * compressed files, archives, and the HTML pages of PyTorch's _memory_viz. Nothing is extracted to
 * disk. */
#ifndef MT_INPUT_H
#define MT_INPUT_H

#include "parser/base/limits.h"
#include "parser/base/source.h"
#include "parser/input/budget.h"
#include "parser/model/trace.h"

struct mt_ahead; /* parser/input/ahead.h */
struct mt_saved; /* parser/saved/saved.h */
struct mt_input; /* opaque: one INPUT argument being walked */

/* The member of a page that is its report. */
#define MT_PAGE_REPORT "report.json"

struct mt_input_opts {
    struct mt_limits limits;
    /* Of the whole run, which several inputs share; NULL = each has its own. */
    struct mt_budget *budget;
    bool sha256; /* --sha256: the hash of each input as it was given */
    /* A file that is packed once may be unpacked by a thread ahead of its reader. */
    bool unpack_beside;
    /* Progress of the raw input in bytes (total 0 = unknown); may be NULL. */
    void (*progress)(void *arg, const char *name, uint64_t done, uint64_t total);
    void *progress_arg;
    /* Offered what is text and no snapshot; NULL = nothing is offered. 1 = taken, 0 = nothing in
     * it, < 0 = out of memory. member: NULL = the input itself. Inside folders and archives only
     * what is named like a log is offered. */
    int (*text)(void *arg, const char *input, const char *member, struct mt_source *src);
    void *text_arg;
    bool text_only; /* the user said so: everything is text, and snapshots are not looked for */
    /* With text_only: of a folder or archive only what it wants is opened, by its path inside; what
     * is neither, a trace or a page, holds nothing then, and nothing is complained about. NULL =
     * everything is wanted. Gets text_arg. */
    bool (*wanted)(void *arg, const char *member);
    /* Given every report of memtrace, which it may keep (1: it is its own then), leave (0) or have
     * no memory for (< 0). is_named: the user named it; else it lies in a folder or archive. NULL:
     * one that is named is refused. */
    int (*report)(void *arg, const char *input, const char *member, bool is_named,
                  struct mt_saved *report);
    void *report_arg;
    /* Told of every file that is counted by mt_input_ignored(); NULL = nobody. member: its path. */
    void (*ignored)(void *arg, const char *input, const char *member);
    void *ignored_arg;
    /* Told of every regular file that the user named, or of which something was taken or should
     * have been: what a run reads it must not overwrite. What a folder has beside that, reports of
     * ours too, may be. NULL = nobody. */
    void (*opened)(uint64_t device, uint64_t inode);
    /* Files that were read before their turn (ahead.h); NULL = none. Not with wanted. */
    struct mt_ahead *ahead;
};

/* Opens path ("-" = standard input). MT_EIO with a message naming the path and the reason, else
 * MT_OK. A directory is walked in byte order of the names, recursively, without following links out
 * of it. opts is copied. */
enum mt_rc mt_input_open(struct mt_input **out, const char *path, const struct mt_input_opts *opts,
                         struct mt_err *err);
void mt_input_close(struct mt_input *in); /* NULL is fine */
/* A small file as it is, whole: settings, rules, a key. Of opts: limits, budget, opened. *text is
 * NUL-terminated and from mt_malloc(), or NULL. MT_EIO; MT_ELIMIT: longer than `most`, or the time
 * of the run is over; MT_ENOMEM. */
enum mt_rc mt_input_small(const char *path, size_t most, const struct mt_input_opts *opts,
                          char **text, size_t *n, struct mt_err *err);

/* Reads the next snapshot of the input into a new sealed trace with its meta filled (input, member,
 * encoding, sha256, rank, ...). Returns MT_OK or MT_WARN with *out set; MT_EINPUT, MT_ELIMIT,
 * MT_EIO, MT_ENOMEM with *out = NULL when this member cannot be read (err names it; the walk may be
 * continued); and MT_OK with *out = NULL at the end. */
enum mt_rc mt_input_next(struct mt_input *in, struct mt_trace **out, struct mt_err *err);

/* Files in a directory or archive that are no snapshot and do not look like one (logs, models):
 * passed over, only counted. */
uint64_t mt_input_ignored(const struct mt_input *in);
/* Links in a directory or archive: passed over, a file is read once under its own name. */
uint64_t mt_input_links(const struct mt_input *in);

/* A path as the messages of an input begin with it: printable, of a long one its end. */
enum { MT_INPUT_SHOWN = 300 };
const char *mt_input_shown(char out[MT_INPUT_SHOWN], const char *path);

/* Rank, pid, host from a file name (last path component first, then its directories): the patterns
 * of docs/inputs.md. False: no memory for the host, which is NULL then. */
bool mt_name_identity(const char *name, int32_t *rank, int64_t *pid, char **host);
/* The number that ends the name of a snapshot and counts nothing that the name says: "snapshot_3".
 * Others have it for sequence lengths or steps, so it is a rank only where more says so; -1 =
 * none. */
int32_t mt_name_number(const char *name);

#endif
