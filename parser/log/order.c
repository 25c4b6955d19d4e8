/* log/order.c -- whether a log's newest line stands first, as the pages of hosting services show
 * it: by the time stamps with which lines begin. */
#include "parser/log/match.h"

#include <string.h>

enum {
    STAMP = 19,   /* "2026-02-03 10:00:01" */
    SHORT = 14,   /* "02-03 10:00:01", behind a level */
    FEWEST = 2,   /* times that the clock goes back, before it says anything */
    MANY_MORE = 8 /* of them for each time that it goes on: processes write beside each other */
};

/* Of the form, in which 0 is any digit and a blank may be a T. */
static bool is_of(const char *s, const char *form)
{
    for (; *form != '\0'; form++, s++) {
        bool digit = *s >= '0' && *s <= '9';
        if (*form == '0'   ? !digit
            : *form == ' ' ? *s != ' ' && *s != 'T'
            : *form == '-' ? *s != '-' && *s != '/'
                           : *s != *form)
            return false;
    }
    return true;
}

static void compare(struct mt_log *l, char *last, const char *s, size_t n)
{
    char now[STAMP + 1];
    int c;
    memcpy(now, s, n);
    now[n] = '\0';
    for (char *t = now; (t = strchr(t, 'T')) != NULL;)
        *t = ' ';
    c = last[0] != '\0' ? strcmp(now, last) : 0;
    l->n_later += c > 0;
    l->n_earlier += c < 0;
    memcpy(last, now, n + 1);
}

void mt_log_clock_line(struct mt_log *l, const char *s)
{
    s += strspn(s, " \t[(\"'");
    if (is_of(s, "0000-00-00 00:00:00"))
        compare(l, l->stamp, s, STAMP);
    else if (*s >= 'A' && *s <= 'Z') { /* "INFO 02-03 10:00:01" */
        s += strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (*s == ' ' && is_of(s + 1, "00-00 00:00:00"))
            compare(l, l->short_stamp, s + 1, SHORT);
    }
}

void mt_log_order_end(struct mt_log *l)
{
    l->newest_first = l->n_earlier >= FEWEST && l->n_earlier > MANY_MORE * l->n_later;
    if (l->newest_first)
        mt_log_begun_below(l);
}
