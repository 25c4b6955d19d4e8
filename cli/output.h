/* output.h -- a file that appears whole or not at all. */
#ifndef MT_OUTPUT_H
#define MT_OUTPUT_H

#include "cli/cli.h"

struct mt_output {
    struct mt_out out; /* write here */
    const char *name;  /* as given, for messages; "standard output" */
    char *target;      /* where the temporary file goes in the end; NULL = written in place */
    char *temporary;
    int fd;
    bool owns_fd;
    bool replaces; /* target is there and goes */
};

/* Refuses early, before anything is read: the file exists and force is not set, its folder is
 * missing, or it is one of the inputs. path NULL or "-" = standard output. 1 on success; 0 with a
 * message printed. */
int mt_output_check(const char *path, bool force, char *const *inputs, int n_inputs);
/* False with a message printed: path is that very file, which would be overwritten. */
bool mt_output_is_other(const char *path, const char *input);
/* A file that this run has opened: mt_output_commit() refuses to put an output in its place, also
 * with force. The main thread alone. */
void mt_output_keep(uint64_t device, uint64_t inode);
/* The same by name; what is no regular file is passed over. */
void mt_output_keep_path(const char *path);
int mt_output_open(struct mt_output *o, const char *path, bool force);
/* Flushes, syncs, renames; a file that is replaced hands on its mode and, where that is allowed,
 * its owner. MT_EXIT_OK, or MT_EXIT_FAILED with a message printed and nothing left behind. A reader
 * of standard output that went away ends the program as SIGPIPE would. */
enum mt_exit mt_output_commit(struct mt_output *o, bool force);
void mt_output_discard(struct mt_output *o); /* harmless after a commit */

/* Of "html": "runs/snapshot.pickle" -> "runs/snapshot.pickle.html", "-" -> "memtrace-report.html";
 * NULL when out of memory. */
char *mt_output_default_name(const char *input, const char *format, bool gzip);

#endif
