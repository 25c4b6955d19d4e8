/* message.c -- what goes to standard error. */
#include "cli/cli.h"
#include "parser/base/mem.h"
#include "render/escape.h"

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

/* Names in a message come from outside: nothing in them may steer the terminal. No memory is asked for: there may be none left. */
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

static void with_offset(char *buf, size_t cap, const struct mt_err *err)
{
    buf[0] = '\0';
    if (err->has_offset) {
        snprintf(buf, cap, " (offset %llu)", (unsigned long long)err->offset);
        if (strstr(err->msg, buf) != NULL)
            buf[0] = '\0';
    }
}

void mt_say_err(const char *name, const struct mt_err *err)
{
    char offset[48];
    const char *msg = err->msg[0] != '\0' ? err->msg : "unknown error";

    with_offset(offset, sizeof offset, err);
    if (name == NULL || strstr(msg, name) != NULL)
        mt_say("%s%s", msg, offset);
    else
        mt_say("%s: %s%s", name, msg, offset);
    for (int i = 0; i < err->n_ctx; i++)
        mt_say("    %s", err->ctx[i]);
}

/* The input layer starts its messages with the path as given, or "..." and the last 100 bytes of it, made printable; a file in a
 * folder follows behind a slash, a member of an archive behind a colon. Returns what follows the path. */
static const char *after_path(const char *path, const char *msg)
{
    char shown[1024];
    size_t n = strlen(path), keep = n > 100 ? 100 : n;
    const char *m = n > 100 && strncmp(msg, "...", 3) == 0 ? msg + 3 : msg;
    mt_printable(shown, sizeof shown, path + (n - keep), keep);
    n = strlen(shown);
    return n > 0 && strncmp(m, shown, n) == 0 && (m[n] == ':' || m[n] == '/' || shown[n - 1] == '/') ? m + n : NULL;
}

int mt_err_split(const char *path, const struct mt_err *err, char **name, char **message)
{
    const char *rest = after_path(path, err->msg), *colon = rest != NULL ? strstr(rest, ": ") : NULL;
    char text[MT_ERR_MSG + 64], offset[48];
    size_t n_path = strlen(path), n_member = 0;

    with_offset(offset, sizeof offset, err);
    if (colon != NULL)
        n_member = (size_t)(colon - rest);
    snprintf(text, sizeof text, "%s%s", colon != NULL ? colon + 2 : err->msg, offset);
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
