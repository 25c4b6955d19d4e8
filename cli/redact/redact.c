/* redact.c -- the key, and the names that are known. */
#include "cli/redact/impl.h"
#include "parser/base/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { KEY_LEAST = 16, RANDOM_KEY = 32, TOKEN_BYTES = 5 };

/* ---- tokens ---- */

void mt_redact_token(const struct mt_redact *r, const char *kind, const char *s, size_t n,
                     struct mt_out *o)
{
    static const char hex[] = "0123456789abcdef";
    struct hmac_sha256_ctx h = r->key;
    uint8_t mac[TOKEN_BYTES];
    uint8_t chunk[256];
    for (size_t i = 0; i < n;) {
        size_t k = 0;
        for (; k < sizeof chunk && i < n; k++, i++)
            chunk[k] = (uint8_t)mt_red_fold(s[i]);
        hmac_sha256_update(&h, k, chunk);
    }
    hmac_sha256_digest(&h, sizeof mac, mac);
    mt_puts(o, kind);
    mt_putc(o, '-');
    for (size_t i = 0; i < sizeof mac; i++) {
        mt_putc(o, hex[mac[i] >> 4]);
        mt_putc(o, hex[mac[i] & 15]);
    }
}

/* ---- known names ---- */

static uint64_t step(uint64_t h, char c)
{
    return (h ^ (unsigned char)mt_red_fold(c)) * UINT64_C(0x100000001b3);
}
#define HASH_START UINT64_C(0xcbf29ce484222325)

static bool same(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (mt_red_fold(a[i]) != mt_red_fold(b[i]))
            return false;
    return true;
}

static struct mt_known *slot_of(const struct mt_redact *r, uint64_t h, const char *s, size_t n)
{
    uint32_t mask = r->n_slots - 1, i = mt_hash_one(h) & mask;
    for (; r->known[i].hash != 0; i = (i + 1) & mask) {
        const struct mt_strref *ref = &r->str.ref.p[r->known[i].name];
        if (r->known[i].hash == h && ref->len == n && same(ref->p, s, n))
            break;
    }
    return &r->known[i];
}

static uint64_t hash_of(const char *s, size_t n)
{
    uint64_t h = HASH_START;
    for (size_t i = 0; i < n; i++)
        h = step(h, s[i]);
    return h != 0 ? h : 1;
}

static int grow(struct mt_redact *r)
{
    struct mt_known *old = r->known;
    uint32_t n = r->n_slots;
    r->known = mt_calloc((size_t)n * 2, sizeof *r->known);
    if (r->known == NULL) {
        r->known = old;
        return 0;
    }
    r->n_slots = n * 2;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].hash != 0) {
            const struct mt_strref *ref = &r->str.ref.p[old[i].name];
            *slot_of(r, old[i].hash, ref->p, ref->len) = old[i];
        }
    mt_free(old);
    return 1;
}

void mt_redact_learn_as(struct mt_redact *r, const char *name, size_t n, const char *to,
                        size_t n_to)
{
    struct mt_known *k;
    uint64_t h = hash_of(name, n);
    if (n < 2 || n > MT_KNOWN_LONGEST || r->n_known >= MT_MAX_KNOWN || !mt_red_alnum(name[n - 1]))
        return;
    if (r->n_known * 2 >= r->n_slots && !grow(r)) {
        r->failed = true;
        return;
    }
    k = slot_of(r, h, name, n);
    if (k->hash != 0)
        return;
    k->name = mt_strpool_add(&r->str, name, n);
    k->to = mt_strpool_add(&r->str, to, n_to);
    if (k->name == MT_STR_FAIL || k->to == MT_STR_FAIL) {
        r->failed = true;
        return;
    }
    k->hash = h;
    r->n_known++;
    if (n > r->longest)
        r->longest = n;
}

/* "node7.cluster.example.org" is also known as node7, and its domain is a name as well. */
static void learn_parts(struct mt_redact *r, const char *name, size_t n)
{
    const char *dot = memchr(name, '.', n);
    if (dot == NULL || dot == name)
        return;
    mt_redact_learn(r, "host", name, (size_t)(dot - name));
    if (memchr(dot + 1, '.', n - (size_t)(dot + 1 - name)) != NULL)
        mt_redact_learn(r, "domain", dot + 1, n - (size_t)(dot + 1 - name));
}

void mt_redact_learn(struct mt_redact *r, const char *kind, const char *name, size_t n)
{
    struct mt_out to;
    bool letters = false;
    for (size_t i = 0; i < n; i++)
        letters |= mt_red_alnum(name[i]) && !mt_red_digit(name[i]);
    /* Two letters, a number or an everyday word stand in too many places to be taken for the name.
     */
    bool common = strcmp(kind, "host") == 0
                      ? !mt_redact_is_host(r, name, n) && mt_redact_is_common(r, name, n)
                      : mt_redact_is_common(r, name, n);
    if (!r->names || n < 3 || !letters || common || !mt_out_mem(&to))
        return;
    mt_redact_token(r, kind, name, n, &to);
    (void)mt_out_finish(&to);
    mt_redact_learn_as(r, name, n, (const char *)to.buf, to.used);
    mt_out_done(&to);
    if (strcmp(kind, "host") == 0)
        learn_parts(r, name, n);
}

size_t mt_redact_known(const struct mt_redact *r, const char *s, size_t n, mt_str_id *to)
{
    uint64_t h = HASH_START;
    size_t found = 0;
    if (r->n_known == 0)
        return 0;
    if (n > r->longest + 1)
        n = r->longest + 1;
    for (size_t i = 0; i < n && i < r->longest; i++) {
        h = step(h, s[i]);
        if (!mt_red_alnum(s[i]) || (i + 1 < n && mt_red_alnum(s[i + 1])))
            continue;
        const struct mt_known *k = slot_of(r, h != 0 ? h : 1, s, i + 1);
        if (k->hash != 0) {
            found = i + 1;
            *to = k->to;
        }
    }
    return found;
}

void mt_redact_with_known(struct mt_redact *r, const char *s, size_t n, struct mt_out *o)
{
    for (size_t i = 0; i < n;) {
        mt_str_id to;
        size_t from = i, len = mt_red_alnum(s[i]) && (i == 0 || !mt_red_alnum(s[i - 1]))
                                   ? mt_redact_known(r, s + i, n - i, &to)
                                   : 0;
        if (len > 0) {
            mt_put(o, r->str.ref.p[to].p, r->str.ref.p[to].len);
            i += len;
            continue;
        }
        do {
            i++;
        } while (mt_red_alnum(s[from]) && i < n && mt_red_alnum(s[i]));
        mt_put(o, s + from, i - from);
    }
}

/* ---- a redactor ---- */

static enum mt_rc random_key(uint8_t key[RANDOM_KEY], struct mt_err *err)
{
    size_t n = 0;
    while (n < RANDOM_KEY) {
        ssize_t got = getrandom(key + n, RANDOM_KEY - n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return mt_fail(err, MT_EIO, "the system gives no random numbers (%s)", strerror(errno));
        n += (size_t)got;
    }
    return MT_OK;
}

enum mt_rc mt_redact_random_key(char out[MT_REDACT_KEY_TEXT], struct mt_err *err)
{
    uint8_t made[RANDOM_KEY];
    enum mt_rc rc = random_key(made, err);
    _Static_assert(MT_REDACT_KEY_TEXT == 2 * RANDOM_KEY + 1, "a byte is two letters");
    for (size_t i = 0; i < RANDOM_KEY && rc == MT_OK; i++) {
        out[2 * i] = "0123456789abcdef"[made[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[made[i] & 15];
    }
    out[MT_REDACT_KEY_TEXT - 1] = '\0';
    explicit_bzero(made, sizeof made);
    return rc;
}

void mt_redact_close(struct mt_redact *r)
{
    if (r == NULL)
        return;
    mt_strpool_done(&r->str);
    mt_arena_done(&r->arena);
    mt_free(r->known);
    mt_free(r->words.slot);
    mt_framework_rules_free(r->own);
    explicit_bzero(&r->key, sizeof r->key);
    mt_free(r);
}

enum mt_rc mt_redact_new(struct mt_redact **out, const struct mt_framework_rules *fw, bool names,
                         const void *key, size_t n, struct mt_err *err)
{
    uint8_t made[RANDOM_KEY];
    struct mt_redact *r;
    enum mt_rc rc = MT_OK;
    *out = NULL;
    if (key != NULL && n < KEY_LEAST)
        return mt_fail(err, MT_EINPUT,
                       "a key of %lu bytes can be found by trying; at least %d, as 'openssl rand "
                       "-hex 32' makes them",
                       (unsigned long)n, (int)KEY_LEAST);
    if (key == NULL && names && (rc = random_key(made, err)) != MT_OK)
        return rc;
    r = mt_calloc(1, sizeof *r);
    if (r != NULL) {
        r->names = names;
        if ((fw == NULL && (rc = mt_framework_rules_load(&r->own, NULL, 0, NULL, err)) != MT_OK) ||
            (names && (rc = mt_redact_words_load(&r->words, err)) != MT_OK)) {
            mt_redact_close(r);
            explicit_bzero(made, sizeof made);
            return rc;
        }
        r->fw = fw != NULL ? fw : r->own;
        r->n_slots = 256;
        r->known = mt_calloc(r->n_slots, sizeof *r->known);
    }
    if (r == NULL || r->known == NULL || !mt_strpool_init(&r->str)) {
        mt_redact_close(r);
        r = NULL;
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    } else if (key != NULL || names) {
        hmac_sha256_set_key(&r->key, key != NULL ? n : sizeof made, key != NULL ? key : made);
    }
    explicit_bzero(made, sizeof made);
    *out = r;
    return rc;
}

/* Where this runs, and who runs it, is mostly where the job ran and who ran that. */
int mt_redact_learn_here(struct mt_redact *r)
{
    static const char *const users[] = {"USER", "LOGNAME", "SUDO_USER", NULL};
    char host[256];
    if (!r->names)
        return 1;
    for (int i = 0; users[i] != NULL; i++) {
        const char *user = getenv(users[i]);
        if (user != NULL)
            mt_redact_learn(r, "user", user, strlen(user));
    }
    if (gethostname(host, sizeof host) == 0) {
        host[sizeof host - 1] = '\0';
        mt_redact_learn(r, "host", host, strlen(host));
    }
    return !r->failed;
}

bool mt_redact_hides_names(const struct mt_redact *r) { return r->names; }
