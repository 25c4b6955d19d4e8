/* conf/script.c -- what a shell script looks like where it is not whole. */
#include "parser/conf/impl.h"

#include <string.h>

/* Words that are not read here: a here-document, a quote with escapes, a command in a command. A
 * quote that seems open behind one of them may be closed. */
bool mt_conf_script_has_more(const char *text, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if ((text[i] == '<' && text[i + 1] == '<') ||
            (text[i] == '$' && (text[i + 1] == '\'' || text[i + 1] == '(')))
            return true;
    return false;
}

/* The line of a list, "ARGS=(" alone, that the text ends inside of: a shell would refuse it, so
 * more of the script is missing. 0 = there is none. */
unsigned long mt_conf_script_open_list(const char *text, size_t n)
{
    unsigned long open = 0, number = 1;
    for (size_t at = 0, next; at < n; at = next, number++) {
        const char *nl = memchr(text + at, '\n', n - at);
        size_t end = nl != NULL ? (size_t)(nl - text) : n;
        next = end + 1;
        while (at < end && (text[at] == ' ' || text[at] == '\t'))
            at++;
        while (end > at && (text[end - 1] == ' ' || text[end - 1] == '\r'))
            end--;
        if (at == end || text[at] == '#')
            continue;
        if (open != 0 && (text[at] == ')' || text[end - 1] == ')'))
            open = 0;
        else if (end - at > 2 && text[end - 1] == '(' && text[end - 2] == '=')
            open = number;
    }
    return open;
}

/* "--flag value \\" and nothing behind it. */
bool mt_conf_script_goes_on(const char *text, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        n--;
    return n > 0 && text[n - 1] == '\\';
}
