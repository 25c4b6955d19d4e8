/* redaction.h -- what the options say about redaction, and what redaction makes of the options. */
#ifndef MT_REDACTION_H
#define MT_REDACTION_H

#include "cli/cli.h"
#include "cli/redact/redact.h"
#include "analysis/run/quality.h"
#include "analysis/setup/found.h"

/* For --redact and --redact-key of c: knows the names of its files and of this machine. 1 on
 * success; 0 with a message printed. */
int mt_redact_open(struct mt_redact **out, const struct mt_cli *c,
                   const struct mt_framework_rules *fw);
/* What is read in several turns and redacted has one key for all of them: c gets a random one, kept
 * in key, where it has none. 1, or 0 with a message printed. */
int mt_redact_one_key(struct mt_cli *c, char key[MT_REDACT_KEY_TEXT]);
/* The names that a report's command line and title show; c->inputs becomes a list of r's own. 1 on
 * success, 0 = out of memory; the same below. */
int mt_redact_cli(struct mt_redact *r, struct mt_cli *c);
int mt_redact_skipped(struct mt_redact *r, struct mt_skipped *s);
int mt_redact_found(struct mt_redact *r, struct mt_found *f);

#endif
