/* term.c -- progress appears only on a terminal, only after half a second, and is erased before anything else is printed. */
#include "cli/term.h"
#include "parser/base/err.h"
#include "render/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define FIRST_AFTER_NS UINT64_C(500000000)
#define EVERY_NS UINT64_C(100000000)

int mt_term_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize ws;
    if (columns != NULL) {
        long n = strtol(columns, NULL, 10);
        if (n >= 40 && n <= 400)
            return (int)n;
    }
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 40)
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
    p->start_ns = now_ns();
}

static void put(const char *s) { (void)!write(2, s, strlen(s)); }

void mt_progress_update(void *arg, const char *name, uint64_t done, uint64_t total)
{
    struct mt_progress *p = arg;
    char line[512], shown[160], have[32], of[48] = "", rate[40], eta[48] = "", clean[160];
    uint64_t now, spent, per_second;
    int width;

    if (!p->on)
        return;
    now = now_ns();
    if (strncmp(p->name, name, sizeof p->name - 1) != 0) { /* the next input: its own rate */
        snprintf(p->name, sizeof p->name, "%s", name);
        if (!p->shown)
            p->start_ns = now;
        else
            p->start_ns = now - FIRST_AFTER_NS;
    }
    spent = now - p->start_ns;
    if (spent < FIRST_AFTER_NS || now - p->last_ns < EVERY_NS)
        return;
    p->last_ns = now;
    per_second = (uint64_t)((double)done / ((double)spent / 1e9));
    mt_fmt_bytes(have, done);
    mt_fmt_bytes(rate, per_second);
    if (total > 0 && done <= total) {
        char all[32];
        snprintf(of, sizeof of, " of %s", mt_fmt_bytes(all, total));
        if (per_second > 0) {
            uint64_t left = (total - done) / per_second;
            snprintf(eta, sizeof eta, ", %llu:%02llu left", (unsigned long long)(left / 60), (unsigned long long)(left % 60));
        }
    }
    if (strcmp(name, "-") == 0)
        name = "standard input";
    mt_printable(clean, sizeof clean, name, strlen(name));
    snprintf(line, sizeof line, "reading %s: %s%s, %s/s%s", clean, have, of, rate, eta);
    width = mt_term_width(2);
    snprintf(shown, sizeof shown, "\r\033[K%.*s", width < 150 ? width - 1 : 149, line);
    put(shown);
    p->shown = true;
}

void mt_progress_erase(struct mt_progress *p)
{
    if (p->shown)
        put("\r\033[K");
    p->shown = false;
}
