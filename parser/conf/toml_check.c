/* conf/toml_check.c -- what a TOML document must not say: values that are none, names that stand
 * twice. */
#include "parser/conf/toml_check.h"

#include "parser/conf/conf.h"

#include <string.h>

/* ---- values ---- */

static bool is_digit(char c, unsigned base)
{
    unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                        : 99;
    return v < base;
}

/* Digits with single underscores between them. How many bytes, underscores included; 0 = none. */
static size_t digits(const char *s, size_t n, unsigned base)
{
    size_t i = 0;
    while (i < n && is_digit(s[i], base)) {
        i++;
        if (i + 1 < n && s[i] == '_' && is_digit(s[i + 1], base))
            i++;
    }
    return i;
}

static bool is_number(const char *s, size_t n)
{
    size_t i = n > 0 && (*s == '+' || *s == '-') ? 1 : 0, k;
    if (n - i == 3 && (memcmp(s + i, "inf", 3) == 0 || memcmp(s + i, "nan", 3) == 0))
        return true;
    if (i == 0 && n > 2 && s[0] == '0' && strchr("xob", s[1]) != NULL)
        return digits(s + 2, n - 2, s[1] == 'x' ? 16 : s[1] == 'o' ? 8 : 2) == n - 2;
    k = digits(s + i, n - i, 10);
    if (k == 0 || (k > 1 && s[i] == '0'))
        return false;
    i += k;
    if (i < n && s[i] == '.') {
        k = digits(s + i + 1, n - i - 1, 10);
        if (k == 0)
            return false;
        i += 1 + k;
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        i += i < n && (s[i] == '+' || s[i] == '-') ? 1 : 0;
        k = digits(s + i, n - i, 10);
        if (k == 0)
            return false;
        i += k;
    }
    return i == n;
}

/* As "dddd-dd-dd": each d a digit, all else as it stands. */
static bool looks_like(const char *s, size_t n, const char *form)
{
    if (strlen(form) > n)
        return false;
    for (; *form != '\0'; form++, s++)
        if (*form == 'd' ? !is_digit(*s, 10) : *s != *form)
            return false;
    return true;
}

/* Two digits that are at most `most`. */
static bool is_at_most(const char *s, unsigned most)
{
    return (unsigned)(s[0] - '0') * 10 + (unsigned)(s[1] - '0') <= most;
}

/* "07:32", "07:32:00.999"; how many bytes, 0 = none. */
static size_t time_of_day(const char *s, size_t n)
{
    size_t i = 5, k;
    if (!looks_like(s, n, "dd:dd") || !is_at_most(s, 23) || !is_at_most(s + 3, 59))
        return 0;
    if (!looks_like(s + i, n - i, ":dd"))
        return i;
    if (!is_at_most(s + i + 1, 60)) /* 60: a leap second */
        return 0;
    i += 3;
    if (i < n && s[i] == '.' && (k = digits(s + i + 1, n - i - 1, 10)) != 0)
        i += 1 + k;
    return i;
}

/* The day of a date that looks like one is in the calendar. */
static bool is_day(const char *s)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned year = 0, month = (unsigned)(s[5] - '0') * 10 + (unsigned)(s[6] - '0'), last;
    for (int i = 0; i < 4; i++)
        year = year * 10 + (unsigned)(s[i] - '0');
    if (month < 1 || month > 12)
        return false;
    last = days[month - 1] +
           (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 1u : 0u);
    return is_at_most(s + 8, last) && !(s[8] == '0' && s[9] == '0');
}

static bool is_date(const char *s, size_t n)
{
    size_t i = 10, k;
    if (!looks_like(s, n, "dddd-dd-dd"))
        return n != 0 && time_of_day(s, n) == n;
    if (!is_day(s))
        return false;
    if (i == n)
        return true;
    if (strchr("Tt ", s[i]) == NULL || (k = time_of_day(s + i + 1, n - i - 1)) == 0)
        return false;
    i += 1 + k;
    if (i == n || (i + 1 == n && (s[i] == 'Z' || s[i] == 'z')))
        return true;
    return (s[i] == '+' || s[i] == '-') && n - i == 6 && looks_like(s + i + 1, 5, "dd:dd") &&
           is_at_most(s + i + 1, 23) && is_at_most(s + i + 4, 59);
}

bool mt_toml_is_value(const char *s, size_t n)
{
    return (n == 4 && memcmp(s, "true", 4) == 0) || (n == 5 && memcmp(s, "false", 5) == 0) ||
           is_number(s, n) || is_date(s, n);
}

size_t mt_toml_code(const char *s, size_t n, char utf8[4])
{
    size_t k = n == 0 ? 0 : *s == 'x' ? 2 : *s == 'u' ? 4 : *s == 'U' ? 8 : 0;
    size_t bytes;
    unsigned long code = 0;
    for (size_t i = 1; i <= k; i++) {
        if (i >= n || !is_digit(s[i], 16))
            return 0;
        code = code << 4 | (unsigned long)(s[i] <= '9' ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
    }
    if (k == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = bytes; i-- > 1; code >>= 6)
        utf8[i] = (char)(0x80 | (code & 0x3F));
    utf8[0] = (char)(bytes == 1 ? code : (0xF00UL >> bytes & 0xFF) | code);
    return bytes;
}

/* How long the character of UTF-8 is that s begins with; 0: it is none. */
static size_t utf8(const unsigned char *s, size_t n)
{
    size_t k = s[0] < 0x80 ? 1 : s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] >= 0x80 && (s[0] < 0xC2 || s[0] > 0xF4 || k > n))
        return 0;
    for (size_t i = 1; i < k; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return k;
}

const char *mt_toml_bad_byte(const char *text, size_t n, size_t *at)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0, k; i < n; i += k) {
        bool is_end = s[i] == '\n' || (s[i] == '\r' && i + 1 < n && s[i + 1] == '\n');
        *at = i;
        if ((s[i] < 0x20 && s[i] != '\t' && !is_end) || s[i] == 0x7F)
            return "a control character stands in it as it is";
        if ((k = utf8(s + i, n - i)) == 0)
            return "it is not UTF-8";
    }
    return NULL;
}

/* ---- names ---- */

enum kind {
    NEW,
    VALUE,
    OPENED, /* by a header of its own */
    ABOVE,  /* stands in the path of a header */
    DOTTED, /* stands in the path of a key */
    ARRAY
};

bool mt_toml_names_init(struct mt_toml_names *t)
{
    memset(t, 0, sizeof *t);
    return mt_strpool_init(&t->paths) != 0;
}

void mt_toml_names_done(struct mt_toml_names *t)
{
    mt_strpool_done(&t->paths);
    MT_VEC_DONE(&t->kind);
}

/* The kind of a path, which is kept from now on; NULL = it cannot be kept. */
static uint8_t *kind_of(struct mt_toml_names *t, const char *path, size_t n)
{
    mt_str_id id = mt_strpool_add(&t->paths, path, n);
    while (id != MT_STR_FAIL && t->kind.n <= id) {
        uint8_t *k = MT_VEC_PUSH(&t->kind);
        if (k == NULL)
            return NULL;
        *k = NEW;
    }
    return id != MT_STR_FAIL ? &t->kind.p[id] : NULL;
}

/* No more than what can be kept of the settings themselves. */
static bool is_full(const struct mt_toml_names *t) { return t->kind.n >= MT_CONF_ENTRIES; }

/* What stands in a path, from byte `from` to its last dot. */
static const char *above(struct mt_toml_names *t, const char *path, size_t from, size_t n,
                         bool is_header)
{
    for (size_t i = from; i < n; i++) {
        uint8_t *k = path[i] == '.' && i > from ? kind_of(t, path, i) : NULL;
        if (path[i] != '.' || i == from)
            continue;
        if (k == NULL)
            return mt_toml_no_memory;
        if (*k == VALUE)
            return "a value is set that has no keys";
        if (!is_header && (*k == OPENED || *k == ARRAY))
            return "a table is added to that has a header of its own";
        if (*k == NEW)
            *k = is_header ? ABOVE : DOTTED;
    }
    return NULL;
}

const char mt_toml_no_memory[] = "out of memory";

const char *mt_toml_set(struct mt_toml_names *t, const char *path, size_t from, size_t n)
{
    const char *wrong;
    uint8_t *k;
    if (is_full(t))
        return NULL;
    if ((wrong = above(t, path, from, n, false)) != NULL)
        return wrong;
    if ((k = kind_of(t, path, n)) == NULL)
        return mt_toml_no_memory;
    if (*k != NEW)
        return "a key is set twice";
    *k = VALUE;
    return NULL;
}

const char *mt_toml_open(struct mt_toml_names *t, const char *path, size_t n, bool is_array)
{
    const char *wrong;
    uint8_t *k;
    if (is_full(t))
        return NULL;
    if ((wrong = above(t, path, 0, n, true)) != NULL)
        return wrong;
    if ((k = kind_of(t, path, n)) == NULL)
        return mt_toml_no_memory;
    if (*k == VALUE)
        return "a value is set that has no keys";
    if (is_array ? *k != NEW && *k != ARRAY : *k != NEW && *k != ABOVE)
        return "a table stands twice";
    *k = is_array ? ARRAY : OPENED;
    return NULL;
}
