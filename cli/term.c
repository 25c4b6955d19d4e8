/* term.c -- progress appears only on a terminal, only after half a second, and is erased before
 * anything else is printed. */
#include "cli/term.h"
#include "parser/base/err.h"
#include "render/base/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define FIRST_AFTER_NS UINT64_C(500000000)
#define EVERY_NS UINT64_C(100000000)
#define RATE_AFTER_NS UINT64_C(200000000) /* before that a rate is a guess */

int mt_term_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize ws;
    if (columns != NULL) {
        long n = strtol(columns, NULL, 10);
        if (n >= 1 && n <= 400)
            return (int)n;
    }
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 1)
        return ws.ws_col < 400 ? ws.ws_col : 400;
    return 80;
}

bool mt_term_color(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if ((no != NULL && no[0] != '\0') || term == NULL || strcmp(term, "dumb") == 0)
        return false;
    return isatty(fd);
}

bool mt_term_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *v = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && (v == NULL || v[0] == '\0'); i++)
        v = getenv(names[i]);
    for (; v != NULL && *v != '\0'; v++)
        if (strncasecmp(v, "utf-8", 5) == 0 || strncasecmp(v, "utf8", 4) == 0)
            return true;
    return false;
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

void mt_progress_init(struct mt_progress *p, bool quiet)
{
    const char *term = getenv("TERM");
    memset(p, 0, sizeof *p);
    p->on = !quiet && isatty(2) && (term == NULL || strcmp(term, "dumb") != 0);
    p->begin_ns = p->start_ns = now_ns();
}

static void put(const char *s) { (void)!write(2, s, strlen(s)); }

/* "3.10 GiB of 12.40 GiB, 210.00 MiB/s, 0:44 left" */
static void amounts(char *buf, size_t cap, uint64_t done, uint64_t total, uint64_t spent,
                    bool is_bytes)
{
    char have[32], all[32], rate[32];
    const char *unit = is_bytes ? "" : " events";
    uint64_t per_second =
        spent >= RATE_AFTER_NS ? (uint64_t)((double)done / ((double)spent / 1e9)) : 0;
    bool bounded = total > 0 && done <= total;
    int n;
    (void)(is_bytes ? mt_fmt_bytes(have, done) : mt_fmt_count(have, done));
    (void)(is_bytes ? mt_fmt_bytes(all, total) : mt_fmt_count(all, total));
    n = bounded ? snprintf(buf, cap, ": %s of %s%s", have, all, unit)
                : snprintf(buf, cap, ": %s%s", have, unit);
    if (per_second == 0 || n < 0 || (size_t)n >= cap)
        return;
    (void)(is_bytes ? mt_fmt_bytes(rate, per_second) : mt_fmt_count(rate, per_second));
    n += snprintf(buf + n, cap - (size_t)n, ", %s/s", rate);
    if (bounded && n > 0 && (size_t)n < cap) {
        uint64_t left = (total - done) / per_second;
        snprintf(buf + n, cap - (size_t)n, ", %llu:%02llu left", (unsigned long long)(left / 60),
                 (unsigned long long)(left % 60));
    }
}

void mt_progress_show(struct mt_progress *p, const char *verb, const char *name, uint64_t done,
                      uint64_t total, bool is_bytes)
{
    char line[512], shown[160], what[sizeof p->what], clean[160], much[160] = "";
    uint64_t now, pause = EVERY_NS;
    int width;

    if (!p->on)
        return;
    now = now_ns();
    snprintf(what, sizeof what, "%s %s", verb, name);
    if (strcmp(p->what, what) != 0) { /* the next piece of work: its own rate */
        snprintf(p->what, sizeof p->what, "%s", what);
        p->start_ns = now;
        pause = 0; /* shown at once: it may say nothing more for long */
    }
    if (now - p->begin_ns < FIRST_AFTER_NS || now - p->last_ns < pause)
        return;
    p->last_ns = now;
    if (done > 0 || total > 0)
        amounts(much, sizeof much, done, total, now - p->start_ns, is_bytes);
    if (strcmp(name, "-") == 0)
        name = "standard input";
    mt_printable(clean, sizeof clean, name, strlen(name));
    snprintf(line, sizeof line, "%s %s%s", verb, clean, much);
    width = mt_term_width(2);
    snprintf(shown, sizeof shown, "\r\033[K%.*s", width < 150 ? width - 1 : 149, line);
    put(shown);
    p->shown = true;
}

void mt_progress_update(void *arg, const char *name, uint64_t done, uint64_t total)
{
    mt_progress_show(arg, "reading", name, done, total, true);
}

void mt_progress_erase(struct mt_progress *p)
{
    if (p->shown)
        put("\r\033[K");
    p->shown = false;
}
