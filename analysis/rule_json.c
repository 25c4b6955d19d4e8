/* rule_json.c -- one pass over a rule file. */
#include "analysis/rule_json.h"

#include "parser/base/num.h"

#include <limits.h>
#include <string.h>

#define MAX_DEPTH 64u

struct reader {
    char *p, *end; /* *end is NUL */
    char *escape;  /* the first backslash from p on; `end` when there is none */
    struct mt_arena *nodes;
    bool nomem;
};

static bool value(struct reader *r, cJSON *node, unsigned depth);

static void space(struct reader *r)
{
    while (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t')
        r->p++;
}

static int hex4(const char *s)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) /* the NUL at the end, too */
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

static char *put_utf8(char *to, unsigned long c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* At the four digits; what they stand for is never longer than they are. */
static char *unicode(struct reader *r, char *to)
{
    long c = hex4(r->p), low;
    if (c <= 0 || (c >= 0xdc00 && c < 0xe000))
        return NULL;
    r->p += 4;
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->p[0] != '\\' || r->p[1] != 'u' || (low = hex4(r->p + 2)) < 0xdc00 || low >= 0xe000)
            return NULL;
        r->p += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    return put_utf8(to, (unsigned long)c);
}

/* The rest of a string from its first backslash on, moved together. */
static bool unescape(struct reader *r)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char *to = r->escape;
    r->p = to;
    while (*r->p != '"') {
        const char *known;
        if (r->p == r->end)
            return false;
        if (*r->p != '\\') {
            *to++ = *r->p++;
            continue;
        }
        r->p++;
        if (*r->p == 'u') {
            r->p++;
            if ((to = unicode(r, to)) == NULL)
                return false;
        } else if (*r->p != '\0' && (known = strchr(letters, *r->p)) != NULL) {
            *to++ = bytes[known - letters];
            r->p++;
        } else {
            return false;
        }
    }
    *to = '\0';
    r->p++;
    r->escape = memchr(r->p, '\\', (size_t)(r->end - r->p));
    if (r->escape == NULL)
        r->escape = r->end;
    return true;
}

/* At the opening quote; NULL when this is no string. */
static char *string(struct reader *r)
{
    char *start = r->p + 1, *close;
    if (*r->p != '"' || (close = memchr(start, '"', (size_t)(r->end - start))) == NULL)
        return NULL;
    if (r->escape < close)
        return unescape(r) ? start : NULL;
    *close = '\0';
    r->p = close + 1;
    return start;
}

static void digits(struct reader *r)
{
    while (*r->p >= '0' && *r->p <= '9')
        r->p++;
}

static bool number(struct reader *r, cJSON *node)
{
    const char *start = r->p, *whole, *part;
    r->p += *r->p == '-';
    whole = r->p;
    digits(r);
    if (r->p == whole || (*whole == '0' && r->p > whole + 1))
        return false;
    if (*r->p == '.') {
        part = ++r->p;
        digits(r);
        if (r->p == part)
            return false;
    }
    if (*r->p == 'e' || *r->p == 'E') {
        r->p++;
        r->p += *r->p == '-' || *r->p == '+';
        part = r->p;
        digits(r);
        if (r->p == part)
            return false;
    }
    node->type = cJSON_Number;
    node->valuedouble = mt_num_double((const unsigned char *)start, (size_t)(r->p - start));
    node->valueint = node->valuedouble >= INT_MAX ? INT_MAX : node->valuedouble <= INT_MIN ? INT_MIN : (int)node->valuedouble;
    return true;
}

static bool word(struct reader *r, cJSON *node, const char *text, int type)
{
    size_t n = strlen(text);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, text, n) != 0)
        return false;
    r->p += n;
    node->type = type;
    node->valueint = type == cJSON_True;
    return true;
}

static cJSON *new_node(struct reader *r)
{
    cJSON *node = mt_arena_alloc(r->nodes, sizeof *node, _Alignof(cJSON));
    if (node == NULL)
        r->nomem = true;
    else
        memset(node, 0, sizeof *node);
    return node;
}

/* An object or an array, from its opening bracket on. */
static bool list(struct reader *r, cJSON *node, unsigned depth)
{
    bool named = *r->p == '{';
    char close = named ? '}' : ']';
    cJSON **link = &node->child;
    if (depth >= MAX_DEPTH)
        return false;
    node->type = named ? cJSON_Object : cJSON_Array;
    r->p++;
    space(r);
    while (*r->p != close) {
        cJSON *child;
        if (link != &node->child) {
            if (*r->p != ',')
                return false;
            r->p++;
            space(r);
        }
        if ((child = new_node(r)) == NULL)
            return false;
        *link = child;
        link = &child->next;
        if (named) {
            if ((child->string = string(r)) == NULL)
                return false;
            space(r);
            if (*r->p != ':')
                return false;
            r->p++;
            space(r);
        }
        if (!value(r, child, depth + 1))
            return false;
        space(r);
    }
    r->p++;
    return true;
}

static bool value(struct reader *r, cJSON *node, unsigned depth)
{
    switch (*r->p) {
    case '{':
    case '[': return list(r, node, depth);
    case '"':
        node->type = cJSON_String;
        node->valuestring = string(r);
        return node->valuestring != NULL;
    case 't': return word(r, node, "true", cJSON_True);
    case 'f': return word(r, node, "false", cJSON_False);
    case 'n': return word(r, node, "null", cJSON_NULL);
    default: return number(r, node);
    }
}

const struct mt_asset *mt_rule_asset(const char *name)
{
    const struct mt_asset *a = mt_rule_assets;
    while (a->name != NULL && strcmp(a->name, name) != 0)
        a++;
    return a->name != NULL ? a : NULL;
}

enum mt_rc mt_rule_json_read(struct mt_rule_json *j, const struct mt_asset *a, const char *name, struct mt_arena *strings,
                             struct mt_err *err)
{
    struct reader r = {.nodes = &j->nodes};
    cJSON *root;
    memset(j, 0, sizeof *j);
    if (a == NULL)
        return mt_fail(err, MT_EINTERN, "%s was not built into this program", name);
    r.p = mt_arena_strndup(strings, (const char *)a->data, a->size);
    root = r.p != NULL ? new_node(&r) : NULL;
    if (root == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory while reading %s", name);
    r.end = r.p + a->size;
    r.escape = memchr(r.p, '\\', a->size);
    if (r.escape == NULL)
        r.escape = r.end;
    space(&r);
    if (value(&r, root, 0)) {
        space(&r);
        if (r.p == r.end) {
            j->root = root;
            return MT_OK;
        }
    }
    return r.nomem ? mt_fail(err, MT_ENOMEM, "out of memory while reading %s", name)
                   : mt_fail_at(err, MT_EINTERN, a->size - (size_t)(r.end - r.p), "%s, which is built in, is no JSON", name);
}

void mt_rule_json_done(struct mt_rule_json *j)
{
    mt_arena_done(&j->nodes);
    j->root = NULL;
}
