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
#include "parser/base/err.h"
#include "parser/model/trace.h"

struct mt_redact;

/* Secrets always; names only if asked for. fw: whose packages are public, has to outlive the
 * redactor; NULL = the built-in ones. key: any bytes, NULL = random ones. MT_EINPUT: a key
 * that is too short to keep a secret; MT_EIO: no random numbers; MT_ENOMEM. Freed with
 * mt_redact_close(). Thread-safety: one thread per redactor. */
enum mt_rc mt_redact_new(struct mt_redact **out, const struct mt_framework_rules *fw, bool names,
                         const void *key, size_t n, struct mt_err *err);
void mt_redact_close(struct mt_redact *r); /* NULL is fine */
/* A key of random letters and its end, for several redactors of one output. MT_EIO as above. */
enum { MT_REDACT_KEY_TEXT = 65 };
enum mt_rc mt_redact_random_key(char out[MT_REDACT_KEY_TEXT], struct mt_err *err);
bool mt_redact_hides_names(const struct mt_redact *r);

/* All of these: 1 on success, 0 = out of memory. Without names only secrets are replaced. */
/* This machine and who works on it are names from now on. */
int mt_redact_learn_here(struct mt_redact *r);
/* The name of a file, as it was given: it stands in messages too. */
int mt_redact_learn_file(struct mt_redact *r, const char *path);
/* sealed, and nothing made of it yet */
int mt_redact_trace(struct mt_redact *r, struct mt_trace *t);
/* Entries from `first` on. */
int mt_redact_conf(struct mt_redact *r, struct mt_runconf *conf, uint32_t first);
int mt_redact_logs(struct mt_redact *r, struct mt_logs *logs);
/* An input that could not be read, and why; both from mt_malloc(), and replaced. */
int mt_redact_complaint(struct mt_redact *r, char **name, char **message);

/* s redacted, as the name of a file or as a sentence: the redactor's own memory; NULL when out of
 * it. */
char *mt_redact_file_name(struct mt_redact *r, const char *s);
/* A list of names of files; "-" stays. */
char **mt_redact_file_names(struct mt_redact *r, char *const *names, int n);
char *mt_redact_sentence(struct mt_redact *r, const char *s);

#endif
