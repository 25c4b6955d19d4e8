#include "cli/kept.h"

#include <string.h>

/* "30m" as seconds; 0 = it is none. */
static uint64_t parse_time(const char *s)
{
    static const struct {
        char unit;
        uint32_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    uint64_t n = 0;
    size_t digits = strspn(s, "0123456789");
    if (digits == 0 || digits > 9)
        return 0;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (uint64_t)(s[i] - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (s[digits] == units[i].unit && s[digits + 1] == '\0')
            return n * units[i].seconds;
    return 0;
}

/* What the recorder takes (capture/inject/env.def): beyond, it would keep to its defaults. */
#define MOST_KEPT (UINT64_C(1) << 40)
#define LONGEST_KEPT_S (365 * 86400u)

bool mt_what_is_kept(const struct mt_cli *c, struct mt_launch_opts *o)
{
    if (c->max_mb != 0 && (c->keep_bytes != 0 || c->last != NULL || c->keep_all)) {
        mt_say("--max-mb keeps the oldest: it cannot be given with --keep, --last or --all");
        return false;
    }
    if (c->keep_all && (c->keep_bytes != 0 || c->last != NULL)) {
        mt_say("--all keeps everything: it cannot be given with --keep or --last");
        return false;
    }
    if (c->keep_bytes > MOST_KEPT) {
        mt_say("--keep: at most 1 TiB of each process; --all keeps everything");
        return false;
    }
    o->keep_bytes = c->keep_all ? UINT64_MAX : c->keep_bytes;
    o->last_s = c->last != NULL ? parse_time(c->last) : 0;
    if (c->last != NULL && o->last_s == 0) {
        mt_say("--last: '%s' is no time; give 90s, 30m, 12h or 7d", c->last);
        return false;
    }
    if (o->last_s > LONGEST_KEPT_S) {
        mt_say("--last: at most 365d; --all keeps everything");
        return false;
    }
    return true;
}
