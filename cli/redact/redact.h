/* redact.h -- names of people, machines and projects are replaced in what was read, before anything
 * is made of it.
 *
 * The strings of a trace are rewritten right after it was read, so that every format, every
 * sentence and the packed data of a page have them replaced; those of logs, settings and the
 * command line before they are used. A name becomes "host-3f9a1c52d0": the kind and 40 bits of
 * HMAC-SHA256 under the key, so that equal names stay equal under one key and no name can be found
 * by trying. What looks like a secret (a password, a token) goes whole, and does so without
 * --redact too. What is replaced and what is not: docs/redaction.md. */
#ifndef MT_REDACT_H
#define MT_REDACT_H

#include "analysis/log/diagnose.h"
#include "analysis/setup/settings.h"
#include "cli/cli.h"
#include "parser/model/trace.h"
#include "render/view/report.h"

struct mt_redact;

/* For the options of c, which must outlive it: names only with --redact, secrets always. 1 on
 * success; 0 with a message printed. */
int mt_redact_open(struct mt_redact **out, const struct mt_cli *c);
void mt_redact_close(struct mt_redact *r); /* NULL is fine */

/* All of these: 1 on success, 0 = out of memory. */
/* sealed, and nothing made of it yet */
int mt_redact_trace(struct mt_redact *r, struct mt_trace *t);
int mt_redact_conf(struct mt_redact *r, struct mt_runconf *conf);
int mt_redact_logs(struct mt_redact *r, struct mt_logs *logs);
int mt_redact_unread(struct mt_redact *r, struct mt_unread *u, uint32_t n);
/* The names that a report's command line and title show; c->inputs becomes a list of r's own. */
int mt_redact_cli(struct mt_redact *r, struct mt_cli *c);

/* For tests: a redactor with this key. NULL when out of memory. */
struct mt_redact *mt_redact_new(const void *key, size_t n, bool names);

#endif
