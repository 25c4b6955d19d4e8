/* redact.c -- the key, the options, and the names that are known. */
#include "cli/redact/impl.h"
#include "cli/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { KEY_LEAST = 16, KEY_MOST = 65536, TOKEN_BYTES = 5 };

/* ---- tokens
 * ------------------------------------------------------------------------------------------------------------------------
 */

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

/* ---- known names
 * -------------------------------------------------------------------------------------------------------------------
 */

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
    uint32_t mask = r->n_slots - 1, i = (uint32_t)(h ^ h >> 32) & mask;
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
                      ? !mt_redact_is_host(name, n) && mt_redact_is_common(name, n)
                      : mt_redact_is_common(name, n);
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

/* ---- options
 * -----------------------------------------------------------------------------------------------------------------------
 */

struct mt_redact *mt_redact_new(const void *key, size_t n, bool names)
{
    struct mt_redact *r = mt_calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->names = names;
    r->n_slots = 256;
    r->known = mt_calloc(r->n_slots, sizeof *r->known);
    if (r->known == NULL || !mt_strpool_init(&r->str)) {
        mt_redact_close(r);
        return NULL;
    }
    hmac_sha256_set_key(&r->key, n, key);
    return r;
}

void mt_redact_close(struct mt_redact *r)
{
    if (r == NULL)
        return;
    mt_strpool_done(&r->str);
    mt_arena_done(&r->arena);
    mt_free(r->known);
    explicit_bzero(&r->key, sizeof r->key);
    mt_free(r);
}

static int random_key(uint8_t key[32])
{
    size_t n = 0;
    while (n < 32) {
        ssize_t got = getrandom(key + n, 32 - n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            mt_say(
                "--redact: the system gives no random numbers (%s); name a key with --redact-key",
                strerror(errno));
            return 0;
        }
        n += (size_t)got;
    }
    return 1;
}

/* KEY or @FILE; where neither is named, a random one. */
static int load_key(struct mt_redact **out, const struct mt_cli *c)
{
    const char *given = c->redact_key;
    uint8_t key[32];
    char *text = NULL;
    size_t n = 0;
    if (given == NULL) {
        if (c->redact && !random_key(key))
            return 0;
        *out = mt_redact_new(key, c->redact ? sizeof key : 0, c->redact);
    } else {
        if (given[0] == '@') {
            text = mt_load_file(given + 1, KEY_MOST, &n);
            if (text == NULL)
                return 0;
            while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
                n--;
        } else {
            n = strlen(given);
        }
        if (n < KEY_LEAST) {
            mt_say("--redact-key: a key of %lu bytes can be found by trying; at least %d, as "
                   "'openssl rand -hex 32' makes them",
                   (unsigned long)n, (int)KEY_LEAST);
            mt_free(text);
            return 0;
        }
        *out = mt_redact_new(text != NULL ? text : given, n, true);
        if (text != NULL)
            explicit_bzero(text, n);
        mt_free(text);
    }
    explicit_bzero(key, sizeof key);
    if (*out == NULL)
        mt_say("out of memory");
    return *out != NULL;
}

/* Where this runs, and who runs it, is mostly where the job ran and who ran that. */
static void learn_here(struct mt_redact *r)
{
    static const char *const users[] = {"USER", "LOGNAME", "SUDO_USER", NULL};
    char host[256];
    for (int i = 0; users[i] != NULL; i++) {
        const char *user = getenv(users[i]);
        if (user != NULL)
            mt_redact_learn(r, "user", user, strlen(user));
    }
    if (gethostname(host, sizeof host) == 0) {
        host[sizeof host - 1] = '\0';
        mt_redact_learn(r, "host", host, strlen(host));
    }
}

/* Names of files as they were given stand in messages too. */
static void learn_operand(struct mt_redact *r, const char *path)
{
    struct mt_out o;
    size_t n = strlen(path);
    mt_redact_scan(r, MT_AS_FILE, path, n);
    if (strcmp(path, "-") == 0 || n < 3 || mt_redact_is_common(path, n) || !mt_out_mem(&o))
        return;
    mt_redact_put(r, MT_AS_FILE, path, n, &o);
    (void)mt_out_finish(&o);
    mt_redact_learn_as(r, path, n, (const char *)o.buf, o.used);
    mt_out_done(&o);
}

int mt_redact_open(struct mt_redact **out, const struct mt_cli *c)
{
    struct mt_redact *r;
    *out = NULL;
    if (!load_key(out, c))
        return 0;
    r = *out;
    r->cli = c;
    if (!r->names)
        return 1;
    learn_here(r);
    for (int i = 0; i < c->n_inputs; i++)
        learn_operand(r, c->inputs[i]);
    for (int i = 0; i < c->logs.n; i++)
        learn_operand(r, c->logs.p[i]);
    for (int i = 0; i < c->configs.n; i++)
        learn_operand(r, c->configs.p[i]);
    if (r->failed)
        mt_say("out of memory");
    return !r->failed;
}

int mt_redact_cli(struct mt_redact *r, struct mt_cli *c)
{
    char **inputs;
    if (!r->names)
        return 1;
    inputs = mt_arena_alloc(&r->arena, ((size_t)c->n_inputs + 1) * sizeof *inputs, sizeof(void *));
    if (inputs == NULL)
        return 0;
    for (int i = 0; i < c->n_inputs; i++) {
        inputs[i] = strcmp(c->inputs[i], "-") == 0
                        ? c->inputs[i]
                        : mt_redact_dup(r, MT_AS_FILE, c->inputs[i], strlen(c->inputs[i]));
        if (inputs[i] == NULL)
            return 0;
    }
    c->inputs = inputs;
    c->redact = true; /* a key alone says so too, and is not shown */
    for (int i = 0; i < c->logs.n; i++)
        c->logs.p[i] = mt_redact_dup(r, MT_AS_FILE, c->logs.p[i], strlen(c->logs.p[i]));
    for (int i = 0; i < c->configs.n; i++)
        c->configs.p[i] = mt_redact_dup(r, MT_AS_FILE, c->configs.p[i], strlen(c->configs.p[i]));
    if (c->rules_file != NULL)
        c->rules_file = mt_redact_dup(r, MT_AS_FILE, c->rules_file, strlen(c->rules_file));
    if (c->title != NULL)
        c->title = mt_redact_dup(r, MT_AS_TEXT, c->title, strlen(c->title));
    return !r->failed;
}
