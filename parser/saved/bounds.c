#include "parser/saved/bounds.h"

static const char instead[] = "copy the file again, or name the snapshot that it was made from";

static enum mt_rc damaged(struct mt_err *err, size_t at, const char *what)
{
    return mt_fail_at(err, MT_EINPUT, at, "this report of memtrace is damaged, at %s: %s", what,
                      instead);
}

static enum mt_rc too_large(struct mt_err *err, size_t at, const char *what, unsigned long most,
                            const char *unit)
{
    return mt_fail_at(err, MT_ELIMIT, at,
                      "this report of memtrace has %s of more than %lu %s, which memtrace does not "
                      "write: %s",
                      what, most, unit, instead);
}

/* Bytes of the character at s[0, n); 0 = none that a report has: memtrace writes control characters
 * as \u escapes, and UTF-8 alone. */
static size_t character(const unsigned char *s, size_t n)
{
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] < 0x20 || s[0] == 0x7f || s[0] > 0xf4 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return len == 2 && s[0] == 0xc2 && s[1] < 0xa0 ? 0 : len; /* C1 */
}

/* Behind the string that begins at *at; a string that does not end is for the parser to name. */
static enum mt_rc pass_string(const char *text, size_t n, size_t *at, struct mt_err *err)
{
    size_t i = *at + 1;
    while (i < n && text[i] != '"') {
        size_t len = character((const unsigned char *)text + i, n - i);
        if (len == 0)
            return damaged(err, i, "a character that no report has as it is");
        i += len;
        if (text[i - 1] == '\\' && i < n && (text[i] == '"' || text[i] == '\\'))
            i++;
    }
    if (i - *at > MT_SAVED_STRING)
        return too_large(err, *at, "a string", MT_SAVED_STRING, "bytes");
    *at = i;
    return MT_OK;
}

enum mt_rc mt_saved_bounds(const char *text, size_t n, struct mt_err *err)
{
    unsigned long members[MT_SAVED_DEPTH + 1] = {0};
    size_t depth = 0, i = 0;
    enum mt_rc rc = MT_OK;
    for (; i < n && rc == MT_OK; i++) {
        char c = text[i];
        if (c == '"')
            rc = pass_string(text, n, &i, err);
        else if ((c == '[' || c == '{') && depth == MT_SAVED_DEPTH)
            rc = damaged(err, i, "brackets more than 64 deep");
        else if (c == '[' || c == '{')
            members[++depth] = 1;
        else if (c == ']' || c == '}')
            depth -= depth > 0;
        else if (c == ',' && ++members[depth] > MT_SAVED_MEMBERS)
            rc = too_large(err, i, "a list", MT_SAVED_MEMBERS, "members");
        else if ((c < 0x20 || c > 0x7e) && c != '\n' && c != '\r' && c != '\t')
            rc = damaged(err, i, "a character that no report has as it is");
    }
    return rc;
}
