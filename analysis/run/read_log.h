/* run/read_log.h -- a log among the inputs of a run. */
#ifndef MT_READ_LOG_H
#define MT_READ_LOG_H

#include "analysis/log/diagnose.h"

struct mt_source; /* parser/base/source.h */

/* Reads src to its end and adds what it says to l, named after the input and, in an archive or
 * folder, its member (else NULL). What breaks off is kept, with problem set. Rank and pid of its
 * facts are those of its name where the facts name none. 1 = added; 0 = it says nothing of memory
 * (it is added all the same where keep_empty is set: 1); -1 = out of memory. */
int mt_logs_add(struct mt_logs *l, const char *input, const char *member, struct mt_source *src,
                bool keep_empty);

/* Adds to conf what the log says that it ran with, above what lies in the run's folder and below
 * what was given. MT_OK or MT_ENOMEM. */
enum mt_rc mt_logs_settings(const struct mt_log_file *f, struct mt_runconf *conf,
                            struct mt_err *err);

/* The same of numbers that somebody's prose tells behind the name of a key of conf's framework, or
 * behind the end of one ("rollout_gpu_memory_utilization 0.30"), where nothing else sets it. To be
 * called when the framework is known. MT_OK or MT_ENOMEM. */
enum mt_rc mt_logs_told_values(const struct mt_logs *logs, struct mt_runconf *conf,
                               struct mt_err *err);
/* conf->spoken: the one well-known model that the prose names ("Qwen2.5 7B",
 * "Llama-3-8B-Instruct"), and whose size no other number of parameters in it contradicts. */
void mt_logs_told_model(const struct mt_logs *logs, struct mt_runconf *conf);

#endif
