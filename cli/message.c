/* message.c -- what goes to standard error. */
#include "cli/cli.h"
#include "parser/base/mem.h"
#include "parser/input/input.h"
#include "render/base/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_all(void *ctx, const void *p, size_t n)
{
    const char *s = p;
    (void)ctx;
    while (n > 0) {
        ssize_t k = write(2, s, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return errno; /* there is nowhere left to complain to */
        s += k;
        n -= (size_t)k;
    }
    return 0;
}

/* Escapes control characters: names in a message come from outside and must not steer the terminal.
 * Takes no memory: there may be none left. */
static void put_line(const char *s)
{
    unsigned char buf[1024];
    struct mt_out o;
    memset(&o, 0, sizeof o);
    o.write = write_all;
    o.buf = buf;
    o.cap = sizeof buf;
    mt_term(&o, s, strlen(s));
    mt_putc(&o, '\n');
    (void)mt_out_finish(&o);
}

void mt_say(const char *fmt, ...)
{
    char line[4096];
    int n = snprintf(line, sizeof line, "memtrace: ");
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(line + n, sizeof line - (size_t)n, fmt, ap);
    va_end(ap);
    put_line(line);
}

void mt_tell(const char *fmt, ...)
{
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    put_line(line);
}

char *mt_offset_text(char *buf, size_t cap, uint64_t offset, const char *msg)
{
    (void)snprintf(buf, cap, " (offset %llu)", (unsigned long long)offset);
    if (strstr(msg, buf) != NULL)
        buf[0] = '\0';
    return buf;
}

static const char *offset_of(char *buf, size_t cap, const struct mt_err *err)
{
    return err->has_offset ? mt_offset_text(buf, cap, err->offset, err->msg) : "";
}

/* The input layer starts its messages with the path; a file in a folder follows behind a slash, a
 * member of an archive behind a colon. Returns what follows the path. */
static const char *after_path(const char *path, const char *msg)
{
    char shown[MT_INPUT_SHOWN];
    size_t n = strlen(mt_input_shown(shown, path));
    return n > 0 && strncmp(msg, shown, n) == 0 &&
                   (msg[n] == ':' || msg[n] == '/' || shown[n - 1] == '/')
               ? msg + n
               : NULL;
}

/* Prints the name as it was typed where the message begins with its escaped form. */
void mt_say_err(const char *name, const struct mt_err *err)
{
    char buf[48];
    const char *msg = err->msg[0] != '\0' ? err->msg : "unknown error",
               *offset = offset_of(buf, sizeof buf, err);
    const char *rest = name != NULL ? after_path(name, msg) : NULL;

    if (rest != NULL)
        mt_say("%s%s%s", name, rest, offset);
    else if (name == NULL || strstr(msg, name) != NULL)
        mt_say("%s%s", msg, offset);
    else
        mt_say("%s: %s%s", name, msg, offset);
    for (int i = 0; i < err->n_ctx; i++)
        mt_say("    %s", err->ctx[i]);
}

int mt_err_split(const char *path, const struct mt_err *err, char **name, char **message)
{
    const char *rest = after_path(path, err->msg),
               *colon = rest != NULL ? strstr(rest, ": ") : NULL;
    char text[MT_ERR_MSG + 64], offset[48];
    size_t n_path = strlen(path), n_member = 0;

    if (colon != NULL)
        n_member = (size_t)(colon - rest);
    snprintf(text, sizeof text, "%s%s", colon != NULL ? colon + 2 : err->msg,
             offset_of(offset, sizeof offset, err));
    *name = mt_malloc(n_path + n_member + 1);
    *message = mt_strndup(text, strlen(text));
    if (*name == NULL || *message == NULL) {
        mt_free(*name);
        mt_free(*message);
        *name = *message = NULL;
        return 0;
    }
    memcpy(*name, path, n_path);
    if (n_member > 0)
        memcpy(*name + n_path, rest, n_member);
    (*name)[n_path + n_member] = '\0';
    return 1;
}
