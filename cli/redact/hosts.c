/* redact/hosts.c -- what names a machine, by its form: addresses, names of domains, ranges of a
 * scheduler, pods. */
#include "cli/redact/impl.h"

#include <string.h>

enum { NAME_MOST = 512, RANGE_MOST = 256 };

static bool hex(char c)
{
    return mt_red_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool small(char c) { return c >= 'a' && c <= 'z'; }
static char byte_at(const char *s, size_t n, size_t i) { return i < n ? s[i] : '\0'; }

static size_t digits(const char *s, size_t n, size_t i)
{
    size_t k = i;
    while (k < n && mt_red_digit(s[k]))
        k++;
    return k - i;
}

/* Four numbers below 256 with that byte between them. */
static size_t four(const char *s, size_t n, char between)
{
    size_t k = 0;
    for (int part = 0; part < 4; part++) {
        size_t len;
        unsigned value = 0;
        if (part > 0 && byte_at(s, n, k++) != between)
            return 0;
        len = digits(s, n, k);
        for (size_t i = k; i < k + len && len <= 3; i++)
            value = value * 10 + (unsigned)(s[i] - '0');
        if (len == 0 || len > 3 || value > 255)
            return 0;
        k += len;
    }
    return k;
}

size_t mt_redact_ipv4(const char *s, size_t n)
{
    size_t k = four(s, n, '.');
    char after = byte_at(s, n, k);
    if (k == 0 || mt_red_alnum(after) || (after == '.' && mt_red_digit(byte_at(s, n, k + 1))))
        return 0;
    /* of every machine */
    return (k == 7 && memcmp(s, "0.0.0.0", 7) == 0) || (k == 9 && memcmp(s, "127.0.0.1", 9) == 0)
               ? 0
               : k;
}

/* 3f9a1c52-... behind GPU- or MIG- */
static size_t gpu_id(const char *s, size_t n)
{
    size_t k = 4;
    if (n <= 12 || (memcmp(s, "GPU-", 4) != 0 && memcmp(s, "MIG-", 4) != 0) || !hex(s[4]) ||
        !hex(s[5]) || !hex(s[6]) || !hex(s[7]))
        return 0;
    while (k < n && k < 64 && (hex(s[k]) || strchr("-GPU/", s[k]) != NULL))
        k++;
    return k;
}

/* 2001:db8::1, 02:42:ac:11:00:02 */
static size_t colons(const char *s, size_t n)
{
    size_t k, n_colons = 0, doubles = 0;
    for (k = 0; k < n && k < 48 && (hex(s[k]) || s[k] == ':'); k++) {
        n_colons += s[k] == ':';
        doubles += k > 0 && s[k] == ':' && s[k - 1] == ':';
    }
    if (k < n && (mt_red_alnum(s[k]) || s[k] == '_'))
        return 0;
    if (n_colons == 7 || (n_colons == 5 && k == 17))
        return k;
    return doubles == 1 && n_colons >= 2 && k > 6 && hex(s[1]) && hex(s[2]) && hex(s[3]) &&
                   s[4] == ':' && (s[0] == '2' || s[0] == 'f' || s[0] == 'F')
               ? k
               : 0;
}

/* The forty or sixty-four digits of a key or a commit. */
static size_t long_hex(const char *s, size_t n)
{
    size_t k = 0, n_digits = 0;
    while (k < n && k <= 64 && hex(s[k]))
        n_digits += mt_red_digit(s[k++]);
    return (k == 40 || k == 64) && n_digits > 0 && n_digits < k && !mt_red_alnum(byte_at(s, n, k))
               ? k
               : 0;
}

size_t mt_redact_address(const char *s, size_t n, const char **kind)
{
    size_t k = gpu_id(s, n);
    *kind = "id";
    if (k == 0)
        k = long_hex(s, n);
    if (k > 0)
        return k;
    *kind = "host";
    k = mt_redact_ipv4(s, n);
    return k > 0 ? k : colons(s, n);
}

/* ip-10-66-55-44, as clouds call their machines. */
static size_t cloud_name(const char *s, size_t n)
{
    size_t k = n > 3 && memcmp(s, "ip-", 3) == 0 ? four(s + 3, n - 3, '-') : 0;
    return k > 0 && !mt_red_alnum(byte_at(s, n, 3 + k)) ? 3 + k : 0;
}

/* node[1-4], falcon[001-004,7], of which the word is n_word bytes long: behind a word for machines,
 * or with zeros before a number, as Slurm writes them. layers[10-20] and f32[16,1024] are none. */
static size_t range(const struct mt_redact *r, const char *s, size_t n, size_t n_word)
{
    size_t k = n_word, letters = n_word;
    bool span = false, padded = false;
    if (n_word == 0 || byte_at(s, n, k) != '[' || !mt_red_alnum(s[0]) || mt_red_digit(s[0]))
        return 0;
    for (k++; k < n && k < RANGE_MOST && s[k] != ']'; k++) {
        size_t len = digits(s, n, k);
        padded |= len > 1 && s[k] == '0';
        span |= s[k] == '-';
        if (len == 0 && s[k] != '-' && s[k] != ',')
            return 0;
        k += len > 0 ? len - 1 : 0;
    }
    while (letters > 0 && s[letters - 1] == '-')
        letters--;
    return byte_at(s, n, k) == ']' && span &&
                   (mt_redact_in(r, MT_RED_HOSTS, s, letters) ||
                    (padded && !mt_redact_in(r, MT_RED_EVERYDAY, s, letters)))
               ? k + 1
               : 0;
}

/* job-worker-7f9c4-x2x9k: Kubernetes adds the hash of the deployment and five of these characters
 * (apimachinery, pkg/util/rand: no vowels, no 0, 1 and 3, so that no words come out). */
static bool is_random(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\0' || strchr("bcdfghjklmnpqrstvwxz2456789", s[i]) == NULL)
            return false;
    return true;
}

static bool is_pod(const char *s, size_t n)
{
    size_t dash[2] = {0, 0}, n_dashes = 0, n_digits = 0, n_letters = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '-') {
            dash[0] = dash[1];
            dash[1] = i;
            n_dashes++;
        } else if (!small(s[i]) && !mt_red_digit(s[i])) {
            return false;
        }
    }
    if (n_dashes < 2 || n - dash[1] != 6 || dash[1] - dash[0] < 6 || dash[1] - dash[0] > 11)
        return false;
    for (size_t i = dash[0] + 1; i < dash[1]; i++) {
        n_digits += mt_red_digit(s[i]);
        n_letters += small(s[i]);
    }
    return n_digits > 0 && n_letters > 0 && is_random(s + dash[0] + 1, dash[1] - dash[0] - 1) &&
           is_random(s + dash[1] + 1, n - dash[1] - 1);
}

/* Labels of a name of a domain as machines have them: small letters, digits, dashes; the first has
 * a digit or a dash in it or is a word for a machine; one between first and last is a word. Names
 * of modules and attributes (layers.0.io, torch.2.dev) are none. */
static bool is_shaped(const struct mt_redact *r, const char *s, size_t n, size_t last)
{
    size_t first = 0, between = 0;
    bool marked = false;
    while (first < n && s[first] != '.')
        first++;
    for (size_t i = 0; i < n; i++) {
        if (!small(s[i]) && !mt_red_digit(s[i]) && s[i] != '-' && s[i] != '.')
            return false;
        marked |= i < first && (mt_red_digit(s[i]) || s[i] == '-');
        between += i > first && i < last && small(s[i]);
    }
    return small(s[0]) && between > 0 && (marked || mt_redact_in(r, MT_RED_DOORS, s, first));
}

static bool is_domain(const struct mt_redact *r, const char *s, size_t n)
{
    size_t dot = n;
    while (dot > 0 && s[dot - 1] != '.')
        dot--;
    if (dot < 2 || n > NAME_MOST)
        return false;
    return mt_redact_in(r, MT_RED_TOPS, s + dot, n - dot) ||
           (mt_redact_in(r, MT_RED_SHAPED_TOPS, s + dot, n - dot) && is_shaped(r, s, n, dot - 1));
}

/* GPU07.CLU.UNI-X.DE: the same name in capitals. One small letter, and it is a name of code. */
static bool is_shouted(const struct mt_redact *r, const char *s, size_t n)
{
    char folded[NAME_MOST];
    if (n > sizeof folded || memchr(s, '.', n) == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (small(s[i]))
            return false;
        folded[i] = mt_red_fold(s[i]);
    }
    return is_domain(r, folded, n);
}

/* How much of a word is a pod: all, or what stands before ".log", "_rank0" or "-rank0". */
static size_t pod(const char *s, size_t n)
{
    size_t k = 0;
    while (k < n && k < NAME_MOST && s[k] != '.' && s[k] != '_')
        k++;
    for (; k > 0; k--)
        if ((k == n || !mt_red_alnum(s[k])) && is_pod(s, k))
            return k;
    return 0;
}

size_t mt_redact_host(const struct mt_redact *r, const char *s, size_t n, size_t n_word)
{
    size_t k = range(r, s, n, n_word);
    if (k > 0)
        return k;
    while (n_word > 0 && !mt_red_alnum(s[n_word - 1]))
        n_word--;
    if (n_word == 0 || mt_redact_in(r, MT_RED_SITES, s, n_word) ||
        mt_redact_in(r, MT_RED_DOCS, s, n_word))
        return 0;
    if (is_domain(r, s, n_word) || is_shouted(r, s, n_word))
        return n_word;
    k = pod(s, n_word);
    return k > 0 ? k : cloud_name(s, n);
}
