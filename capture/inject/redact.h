/* redact.h -- what looks like a secret is replaced before anything is written. Shared by the
 * injected library and the launcher, which record command lines and environments by the same rules.
 * No allocation, no locale, no global state. */
#ifndef MTI_REDACT_H
#define MTI_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#define MTI_REDACTED "[redacted]"

/* Value of the environment variable `name`, into out[cap]: always terminated, cut where it does not
 * fit. */
void mti_redact_env(const char *name, const char *value, char *out, size_t cap);

/* One argument of a command line; the arguments in order, because "--token" makes a secret of the
 * next one. Begin with {0}. */
struct mti_redact {
    int next; /* what the argument before says about this one */
    int git;  /* what the arguments before say about a commit */
};
void mti_redact_arg(struct mti_redact *r, const char *arg, char *out, size_t cap);

/* Whether s is a word of forty small hexadecimal digits, which behind "git reset" is a commit. */
bool mti_is_commit(const char *s, size_t n);
/* Whether s[n), what stands before such a word, is a command of git that takes commits. Looks at
 * the last few hundred bytes. */
bool mti_is_behind_git(const char *s, size_t n);

#endif
