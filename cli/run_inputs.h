/* run_inputs.h -- what is known of a run beside its snapshots: --log, --config, --args, and logs
 * among the inputs. */
#ifndef MT_RUN_INPUTS_H
#define MT_RUN_INPUTS_H

#include "parser/input/budget.h"
#include "analysis/log/diagnose.h"
#include "analysis/setup/found.h"
#include "analysis/setup/settings.h"
#include "cli/cli.h"
#include "cli/rules_load.h"

struct mt_load;
struct mt_redact;
struct mt_run_inputs {
    struct mt_logs logs;
    struct mt_runconf *conf;
    struct mt_redact *redact; /* of settings that a log among the inputs has; NULL = of none yet */
    struct mt_config tries;   /* of --try */
    struct mt_found found;    /* files of settings in the folders and archives among the inputs */
    bool *taken; /* of each INPUT: a file of settings beside a log or a snapshot, read as --config
                    is, and no input any more; NULL = none */
    bool cut;    /* a log broke off */
    /* where settings that cannot be read are kept, for the report to name them */
    struct mt_load *load;
    /* of the look for files of settings, before anything is counted as read */
    struct mt_budget looked;
};
/* Reads the files of the options, and those of settings that lie in a folder or archive. rules have
 * to outlive r. 1 on success; 0 with a message printed.
 */
int mt_run_inputs_load(struct mt_run_inputs *r, const struct mt_cli *c,
                       const struct mt_cli_rules *rules);
void mt_run_inputs_done(struct mt_run_inputs *r);
/* For mt_input_opts.text: arg is a struct mt_run_inputs. Keeps the log when it says something about
 * memory. */
int mt_run_inputs_text(void *arg, const char *input, const char *member, struct mt_source *src);

#endif
