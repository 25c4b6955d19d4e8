/* redact/impl.h -- what the files of the redaction share; nobody else but its tests includes it.
 *
 *   redact.c  the key, and the names that are known
 *   text.c    text, command lines: where in them there is a name
 *   path.c    paths: what of them may stay; redact/words.c looks up the words for that
 *   put.c     secrets, and how a string is looked at
 *   trace.c   every field of a trace, of logs, of settings */
#ifndef MT_REDACT_IMPL_H
#define MT_REDACT_IMPL_H

#include "cli/redact/redact.h"
#include "parser/base/strpool.h"
#include "render/base/out.h"

#include <nettle/hmac.h>

/* How a string is looked at. */
enum mt_redact_as {
    MT_AS_CODE, /* the name of a function: known names, absolute paths */
    MT_AS_FILE, /* a path, the whole of it */
    MT_AS_TEXT, /* a sentence: secrets, known names, absolute paths, addresses */
    /* a command line or setting: text, and relative paths and values that are names by their keys
     */
    MT_AS_ARGS,
    MT_AS_HOST, /* a name, the whole of it */
    MT_AS_USER,
    MT_AS_ID, /* an identifier of a device or machine, the whole of it */
    MT_AS_COUNT
};

/* A word that tells nobody, and the lists it is on: bit i = enum mt_redact_list i. */
struct mt_red_word {
    const char *word; /* the program's own; NULL = empty slot */
    uint32_t len, lists;
};
struct mt_red_words {
    struct mt_red_word *slot; /* hash table, n_slots a power of two; const once loaded */
    uint32_t n_slots;
    size_t longest; /* word, in bytes */
};

/* A name that is replaced wherever it stands between other characters than letters and digits. */
struct mt_known {
    uint64_t hash; /* of its folded bytes; 0 = empty slot */
    mt_str_id name, to;
};

struct mt_redact {
    bool names;                          /* --redact */
    const struct mt_framework_rules *fw; /* whose packages are public */
    struct mt_framework_rules *own;      /* fw, where it was not given; or NULL */
    struct mt_red_words words;           /* empty without names: secrets ask for none */
    struct hmac_sha256_ctx key;
    struct mt_strpool str;  /* of known names, and of what replaces them */
    struct mt_known *known; /* hash table, n_slots a power of two */
    uint32_t n_slots, n_known;
    size_t longest; /* known name */
    struct mt_arena arena;
    bool failed; /* out of memory */
};
#define MT_MAX_KNOWN 65536u
#define MT_KNOWN_LONGEST 512u /* longer names are found only where they stand alone */

/* s as `how`, redacted, to o. */
void mt_redact_put(struct mt_redact *r, enum mt_redact_as how, const char *s, size_t n,
                   struct mt_out *o);
/* The same, into the arena of r; NULL when out of memory. */
char *mt_redact_dup(struct mt_redact *r, enum mt_redact_as how, const char *s, size_t n);
/* The value of a setting or variable, as its key says. */
void mt_redact_value(struct mt_redact *r, const char *key, const char *s, size_t n,
                     struct mt_out *o);

/* "host-3f9a1c52d0" of a name; letters count alike in both cases. */
void mt_redact_token(const struct mt_redact *r, const char *kind, const char *s, size_t n,
                     struct mt_out *o);
/* From now on this name is replaced everywhere; kind NULL: by `to`. Words that many texts have are
 * not learned. */
void mt_redact_learn(struct mt_redact *r, const char *kind, const char *name, size_t n);
void mt_redact_learn_as(struct mt_redact *r, const char *name, size_t n, const char *to,
                        size_t n_to);
/* Names that stand in a text by their place: home/NAME, user=NAME. */
void mt_redact_scan(struct mt_redact *r, enum mt_redact_as how, const char *s, size_t n);
/* The known name that begins at s[0] and ends at a boundary, the longest one: its length, or 0. */
size_t mt_redact_known(const struct mt_redact *r, const char *s, size_t n, mt_str_id *to);
/* s with known names replaced, and nothing else */
void mt_redact_with_known(struct mt_redact *r, const char *s, size_t n, struct mt_out *o);

/* redact/path.c */
void mt_redact_path(struct mt_redact *r, const char *s, size_t n, struct mt_out *o);
/* a word that no name is told by */
bool mt_redact_is_common(const struct mt_redact *r, const char *s, size_t n);
/* "node7", "gpu12": everyday words with a number that hosts are called by */
bool mt_redact_is_host(const struct mt_redact *r, const char *s, size_t n);
/* The name of a user in a path (home/NAME); NULL = none. */
const char *mt_redact_user_in(const char *s, size_t n, size_t *len);

/* redact/words.c */
/* The lists of analysis/rules/redaction.json, which says what each is. */
enum mt_redact_list {
    MT_RED_PACKAGES,
    MT_RED_INSIDE,
    MT_RED_SYSTEMS,
    MT_RED_LIBRARY,
    MT_RED_EVERYDAY,
    MT_RED_HOSTS,
    MT_RED_PUBLISHERS,
    MT_RED_CODE_ENDS,
    MT_RED_DATA_ENDS,
    MT_RED_DOCS,
    MT_RED_SITES,
    MT_RED_TOPS,
    MT_RED_SHAPED_TOPS,
    MT_RED_DOORS,
    MT_RED_VERSIONED,
    MT_RED_CLIENTS,
    MT_RED_PROCESSES,
    MT_RED_LISTS
};
/* w->slot is freed with mt_free(). MT_ENOMEM; MT_EINTERN: the built-in file lacks a list. */
enum mt_rc mt_redact_words_load(struct mt_red_words *w, struct mt_err *err);
/* a package whose files are public */
bool mt_redact_is_package(const struct mt_redact *r, const char *s, size_t n);
bool mt_redact_in(const struct mt_redact *r, enum mt_redact_list which, const char *s, size_t n);
bool mt_redact_all_digits(const char *s, size_t n);
/* an everyday word, a number, or one with the other: "rank3" */
bool mt_redact_plain_word(const struct mt_redact *r, const char *s, size_t n);

/* redact/hosts.c */
/* Length of four numbers with dots at s[0..n), or 0; what goes on as "_rank0" or ".log" is one,
 * what goes on with a fifth number is none. */
size_t mt_redact_ipv4(const char *s, size_t n);
/* Length of an address or of a UUID, boot id or key in hexadecimal digits at s, or 0: 10.1.2.3,
 * 2001:db8::1, 02:42:ac:11:00:02, GPU-3f9a1c52-... *kind: of its token. */
size_t mt_redact_address(const char *s, size_t n, const char **kind);
/* Length of what names a machine by its form, of whose first n_word bytes are a word, or 0:
 * node-17.acme.internal, gpu07.uni.de, dgx[001-004], ip-10-1-2-3, job-7d4b9c6f5d-x2x9k. */
size_t mt_redact_host(const struct mt_redact *r, const char *s, size_t n, size_t n_word);

/* redact/text.c */
enum mt_key_kind { MT_KEY_NONE, MT_KEY_HOST, MT_KEY_USER, MT_KEY_NAME };
/* Names in s as TEXT, ARGS or CODE have them. single: s is one argument of a command line. learn: o
 * gets nothing of use, names are kept. */
void mt_redact_walk(struct mt_redact *r, enum mt_redact_as how, bool single, const char *s,
                    size_t n, struct mt_out *o, bool learn);
bool mt_redact_is_plain_value(const char *s, size_t n); /* "true", "8", "localhost": names nobody */
const char *mt_redact_kind_words(enum mt_key_kind k);
/* what the value of a key is, by the key's last component */
enum mt_key_kind mt_redact_key(const char *s, size_t n);

static inline bool mt_red_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c & 0x80) != 0;
}
static inline bool mt_red_digit(char c) { return c >= '0' && c <= '9'; }
static inline char mt_red_fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static inline bool mt_red_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

#endif
