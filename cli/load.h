/* load.h -- from the INPUT arguments to traces, in their order. */
#ifndef MT_LOAD_H
#define MT_LOAD_H

#include "analysis/run/quality.h"
#include "analysis/setup/found.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "parser/base/mem.h"
#include "parser/base/source.h"
#include "parser/model/trace.h"
#include "parser/saved/saved.h"

struct mt_load {
    uint64_t n_read, n_damaged; /* snapshots */
    struct mt_skipped skipped;
    uint64_t max_memory; /* for messages */
    uint64_t n_logs;     /* read from the inputs */
    /* For mt_input_opts.text; NULL = logs are refused as inputs. */
    int (*text)(void *arg, const char *input, const char *member, struct mt_source *src);
    void *text_arg;
    /* Takes over a report of memtrace's own that is an input, or all that a folder or archive has;
     * 0 = stop (it has said why). NULL = such a one is refused. */
    int (*report)(void *arg, const char *input, const char *member, struct mt_saved *report);
    void *report_arg;
    uint64_t n_reports;
    struct mt_saved *beside; /* the first that lies in the folder or archive being read */
    char *beside_member;
    uint64_t n_beside; /* all of them */
    bool is_beside;    /* of what is passed over: it is one */
    const bool *taken; /* of each INPUT: it was read as something else; NULL = none was */
    const struct mt_found *found; /* files whose settings were taken or refused; NULL = none */
    /* what every trace passes before the visitor sees it; NULL = nothing */
    struct mt_redact *redact;
    /* Reads files before their turn, and a trace that the visitor gets holds one of its tokens,
     * which the visitor gives back. NULL = one thread does it all. */
    struct mt_team *pool;
    struct mt_ahead *ahead;
    bool unpack_beside; /* without them: a core is free for what the one file is packed by */
    /* of reading; whoever goes on with what was read may go on with it */
    struct mt_progress progress;
    bool quiet;
    bool failed; /* out of memory, or the visitor gave up: a message was printed */
};

/* Called for each snapshot, which it takes over. 1 = go on, 0 = stop (the visitor has said why). */
typedef int (*mt_load_visit)(void *arg, struct mt_trace *t);

/* Reads every input. What cannot be read is reported on standard error and kept in l->skipped;
 * damage is reported as warnings. */
void mt_load_inputs(struct mt_load *l, const struct mt_cli *c, mt_load_visit visit, void *arg);
/* Adds to l->skipped; takes a copy. 1 on success. */
int mt_load_unread(struct mt_load *l, const char *name, const struct mt_err *err);
void mt_load_done(struct mt_load *l);
/* Exit status of a command that has written what it could. */
enum mt_exit mt_load_status(const struct mt_load *l);

/* "runs.tar.gz: rank0.pickle" into buf; returns buf. */
char *mt_trace_label(const struct mt_trace *t, char *buf, size_t cap);

/* "run42/job.toml": how messages name a file inside an input; NULL = out of memory. */
char *mt_load_name(const char *input, const char *member);

/* mt_input_small() under the limits of the run, and its file is never written over. */
enum mt_rc mt_load_small(const struct mt_cli *c, const char *path, size_t most, char **text,
                         size_t *n, struct mt_err *err);
/* The same; NULL with a message printed. */
char *mt_load_file(const struct mt_cli *c, const char *path, size_t most, size_t *n);
/* Says in an error of memory that --max-memory raises the limit. */
void mt_load_explain(const struct mt_load *l, struct mt_err *err);

#endif
