/* redact_forms.h -- secrets that are told by their whole form, not by a prefix or a name. */
#ifndef MTI_REDACT_FORMS_H
#define MTI_REDACT_FORMS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the host of a URL, with a port or without, belongs to a service whose addresses are the
 * secret: whoever has one may post. Without their path they tell nothing. */
bool mti_is_webhook(const char *host, size_t n);

/* A whole argument of forty hexadecimal digits (a key of Weights & Biases) or of forty mixed
 * characters (the secret of an access key of AWS). A commit is forty digits too: the caller knows
 * the flag before it. */
bool mti_is_bare_key(const char *s, size_t n);

#endif
