/* redact_forms.h -- secrets that are told by their whole form, not by a prefix or a name. */
#ifndef MTI_REDACT_FORMS_H
#define MTI_REDACT_FORMS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes: ASCII, whatever the locale. */
static inline bool mti_lower(char c) { return c >= 'a' && c <= 'z'; }
static inline bool mti_upper(char c) { return c >= 'A' && c <= 'Z'; }
static inline bool mti_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool mti_word(char c) { return mti_lower(c) || mti_upper(c) || mti_digit(c); }
static inline char mti_fold(char c) { return mti_upper(c) ? (char)(c - 'A' + 'a') : c; }

/* Whether the host of a URL, with a port or without, belongs to a service whose addresses are the
 * secret: whoever has one may post. Without their path they tell nothing. */
bool mti_is_webhook(const char *host, size_t n);

/* A whole argument of forty hexadecimal digits (a key of Weights & Biases) or of forty mixed
 * characters (the secret of an access key of AWS). A commit is forty digits too: the caller knows
 * the flag before it. */
bool mti_is_bare_key(const char *s, size_t n);

/* The next word of such a command, by the words before it: 0 at its beginning, 2 = behind it a
 * commit may stand. */
int mti_git_word(int state, const char *s, size_t n);

#endif
