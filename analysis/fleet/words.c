/* fleet/words.c -- what is said of many ranks, in every format the same. */
#include "analysis/base/words.h"
#include "analysis/fleet/fleet.h"

#include <stdio.h>
#include <string.h>

enum { RANGES = 6, NAMED = 3 };

static const char *name(char buf[96], const struct mt_fleet *f, const struct mt_fleet_row *r)
{
    if (r->rank >= 0 && !f->several)
        (void)snprintf(buf, 96, "rank %d", (int)r->rank);
    else
        (void)snprintf(buf, 96, "%.80s", r->place != NULL ? r->place : "a rank without a number");
    return buf;
}

/* "66.2 to 66.3 GiB"; one size where both are the same words. */
static void add_range(struct mt_sentence *s, uint64_t low, uint64_t high)
{
    char a[32], b[32], *unit;
    mt_words_bytes(a, low);
    mt_words_bytes(b, high);
    unit = strchr(a, ' ');
    if (strcmp(a, b) == 0)
        mt_words_add(s, "%s", a);
    else if (unit != NULL && strchr(b, ' ') != NULL && strcmp(unit, strchr(b, ' ')) == 0)
        mt_words_add(s, "%.*s to %s", (int)(unit - a), a, b);
    else
        mt_words_add(s, "%s to %s", a, b);
}

static void add_run(struct mt_sentence *s, uint32_t n, int32_t from, int32_t to)
{
    mt_words_add(s, "%s%d", n > 1 ? ", " : "", (int)from);
    if (to > from)
        mt_words_add(s, "-%d", (int)to);
}

/* The rows of one rank from i on; *in: those of the group. */
static uint32_t rank_rows(const struct mt_fleet *f, uint32_t i, int32_t group, uint32_t *in)
{
    uint32_t n = 0;
    *in = 0;
    for (; i + n < f->rows.n && f->rows.p[i + n].rank == f->rows.p[i].rank; n++)
        *in += f->rows.p[i + n].group == group;
    return n;
}

/* "Ranks 0-7, 16-1023; rank 8, device 1": rows are in the order of their ranks. A rank of which
 * some devices are in another group is no member of the range. */
static void add_ranks(struct mt_sentence *s, const struct mt_fleet *f, int32_t group)
{
    int32_t from = -1, to = -1;
    uint32_t runs = 0, others = 0, cut = 0, whole = 0, parts = 0, in, n;
    for (uint32_t i = 0; i < f->rows.n && f->rows.p[i].rank >= 0; i += n) {
        n = rank_rows(f, i, group, &in);
        whole += in == n;
    }
    if (whole != 0)
        mt_words_add(s, whole == 1 ? "Rank " : "Ranks ");
    for (uint32_t i = 0; i < f->rows.n; i += n) {
        const struct mt_fleet_row *r = &f->rows.p[i];
        n = rank_rows(f, i, group, &in);
        if (r->rank < 0) {
            others += in;
        } else if (in < n) {
            parts += in;
        } else if (from >= 0 && r->rank <= to + 1) {
            to = r->rank;
        } else {
            if (from >= 0 && runs < RANGES)
                add_run(s, ++runs, from, to);
            cut += runs == RANGES;
            from = to = r->rank;
        }
    }
    if (from >= 0 && runs < RANGES)
        add_run(s, ++runs, from, to);
    if (cut != 0)
        mt_words_add(s, " and others");
    for (uint32_t i = 0, named = 0; parts != 0 && i < f->rows.n; i += n) {
        n = rank_rows(f, i, group, &in);
        for (uint32_t j = i; f->rows.p[i].rank >= 0 && in < n && j < i + n; j++)
            if (f->rows.p[j].group == group && named++ < NAMED)
                mt_words_add(s, "%s%s", named > 1 || whole != 0 ? "; " : "", f->rows.p[j].place);
    }
    if (parts > NAMED)
        mt_words_add(s, " and %s more devices", mt_words_count((char[32]){""}, parts - NAMED));
    if (others != 0)
        mt_words_add(s, "%s%s file%s without a rank number", whole + parts != 0 ? " and " : "",
                     mt_words_count((char[32]){""}, others), others == 1 ? "" : "s");
}

static void add_later(struct mt_sentence *s, uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    if (seconds < 0.05)
        mt_words_add(s, "less than 0.1 s");
    else if (seconds < 120)
        mt_words_add(s, "%.1f s", seconds);
    else
        mt_words_add(s, "%.0f min", seconds / 60);
}

static uint64_t moment(const struct mt_fleet_row *r) { return mt_fleet_moment(r, r->failed_ns); }

/* Who was the first of several, or that nobody can tell: a clock may be off by more than lies
 * between them, and those without a clock are last: with one of them nobody knows who was first. */
static void add_order(struct mt_sentence *s, const struct mt_fleet *f)
{
    const struct mt_fleet_row *a = &f->rows.p[f->failed.p[0]], *b = &f->rows.p[f->failed.p[1]];
    bool has_clocks = f->rows.p[f->failed.p[f->failed.n - 1]].failed_ns != 0;
    uint32_t by_clock = f->failed.p[0];
    enum mt_fleet_order order = has_clocks ? mt_fleet_order(f, &by_clock) : MT_FLEET_NOT_SURE;
    char who[96], count[32];
    if (order == MT_FLEET_NOT_SURE) {
        mt_words_add(s, ": %s and ", name(who, f, a));
        mt_words_add(s, "%s ran out of memory, in what order is not known%s", name(who, f, b),
                     has_clocks ? " since a clock seems off" : "");
    } else {
        mt_words_add(s, ": %s ran out of memory first, ", name(who, f, a));
        mt_words_add(s, "%s ", name(who, f, b));
        add_later(s, moment(b) - moment(a));
        mt_words_add(s, " later");
    }
    if (f->failed.n > 2)
        mt_words_add(s, ", and %s more", mt_words_count(count, f->failed.n - 2));
    if (order == MT_FLEET_TURNED)
        mt_words_add(s, " (a clock seems off: by the clocks as they are %s was first)",
                     name(who, f, &f->rows.p[by_clock]));
}

static void put_first(const struct mt_fleet *f, mt_fleet_line *line, void *arg)
{
    struct mt_sentence s = {"", 0};
    char who[96], count[32];
    if (f->n_ranks == f->rows.n)
        mt_words_add(&s, "%s ranks", mt_words_count(count, f->n_ranks));
    else if (f->several && f->rows.p[f->rows.n - 1].rank >= 0)
        mt_words_add(&s, "%s rank%s with %s devices", mt_words_count(count, f->n_ranks),
                     f->n_ranks == 1 ? "" : "s", mt_words_count(who, f->rows.n));
    else
        mt_words_add(&s, "%s ranks and devices", mt_words_count(count, f->rows.n));
    if (f->failed.n == 1)
        mt_words_add(&s, ": %s alone ran out of memory", name(who, f, &f->rows.p[f->failed.p[0]]));
    if (f->failed.n > 1)
        add_order(&s, f);
    for (uint32_t i = 0; i < f->outliers.n && i < NAMED; i++) {
        mt_words_add(&s, "%s%s",
                     i != 0             ? ", "
                     : f->failed.n != 0 ? "; "
                                        : ": ",
                     name(who, f, &f->rows.p[f->outliers.p[i].row]));
    }
    if (f->outliers.n > NAMED)
        mt_words_add(&s, " and %s more", mt_words_count(count, f->outliers.n - NAMED));
    if (f->outliers.n != 0)
        mt_words_add(&s, " stand%s out", f->outliers.n == 1 ? "s" : "");
    else if (f->n_known == f->rows.n && f->groups.n == 1)
        mt_words_add(&s, "%s all are alike", f->failed.n != 0 ? ";" : ":");
    mt_words_add(&s, ".");
    line(arg, s.buf);
}

static void put_spread(const struct mt_fleet *f, mt_fleet_line *line, void *arg)
{
    struct mt_sentence s = {"", 0};
    char who[96];
    static const char *const words[] = {"Peaks: lowest", ", median", ", highest"};
    uint32_t at[] = {f->least, f->median, f->most};
    if (f->n_known == 0)
        return;
    for (int i = 0; i < 3; i++)
        mt_words_add(&s, "%s %s (%s)", words[i], MT_BYTES(f->rows.p[at[i]].live),
                     name(who, f, &f->rows.p[at[i]]));
    mt_words_add(&s, ".");
    line(arg, s.buf);
}

/* How many stand behind those that were named. */
static void put_more(const char *of, uint32_t n, uint32_t most, mt_fleet_line *line, void *arg)
{
    struct mt_sentence s = {"", 0};
    if (n <= most)
        return;
    mt_words_add(&s, "%s: and %s more.", of, mt_words_count((char[32]){""}, n - most));
    line(arg, s.buf);
}

/* Of clocks from which nothing was taken off: how far they may be apart all the same. */
static void put_doubt(const struct mt_fleet *f, bool all_aligned, mt_fleet_line *line, void *arg)
{
    struct mt_sentence s = {"", 0};
    mt_words_add(&s,
                 "Failures less than a second apart may be the other way round: each node has a "
                 "clock of its own, and ");
    if (all_aligned) {
        mt_words_add(&s, "by the ends of their steps these agree within ");
        add_later(&s, f->clocks_within);
        mt_words_add(&s, ", no closer.");
    } else {
        mt_words_add(&s, "these were not compared.");
    }
    line(arg, s.buf);
}

/* Clocks that do not agree with those of the others, each once. */
static void put_clocks(const struct mt_fleet *f, uint32_t most, mt_fleet_line *line, void *arg)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[i];
        struct mt_sentence s = {"", 0};
        char who[96];
        if (r->ahead_ns == 0 || r->clock != i || n++ >= most)
            continue;
        mt_words_add(&s, "Clocks: by the ends of steps that of %.80s is ",
                     r->host != NULL ? r->host : name(who, f, r));
        add_later(&s, r->ahead_ns < 0 ? 0 - (uint64_t)r->ahead_ns : (uint64_t)r->ahead_ns);
        mt_words_add(&s, " %s the others', give or take ", r->ahead_ns < 0 ? "behind" : "ahead of");
        add_later(&s, r->clock_within);
        mt_words_add(&s,
                     ", or %s of another run or %s not wait for the others. The order of failures "
                     "here has that taken off; the verdict is by each rank's own clock.",
                     r->host != NULL ? "what ran there is" : "its file is",
                     r->host != NULL ? "did" : "it did");
        line(arg, s.buf);
    }
    put_more("Clocks", n, most, line, arg);
}

/* How long after the first, and how sure that is where a clock is off. */
static void add_after(struct mt_sentence *s, const struct mt_fleet_row *first,
                      const struct mt_fleet_row *r)
{
    mt_words_add(s, ", ");
    add_later(s, moment(r) - moment(first));
    mt_words_add(s, " after the first");
    if (mt_fleet_is_moved(first, r)) {
        mt_words_add(s, ", give or take ");
        add_later(s, mt_fleet_doubt(first, r));
    }
}

static void put_failures(const struct mt_fleet *f, uint32_t most, mt_fleet_line *line, void *arg)
{
    const struct mt_fleet_row *first = f->failed.n != 0 ? &f->rows.p[f->failed.p[0]] : NULL;
    bool near = false, all_aligned = first != NULL && first->is_aligned;
    for (uint32_t i = 0; i < f->failed.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[f->failed.p[i]];
        struct mt_sentence s = {"", 0};
        char who[96];
        bool has_clocks = i != 0 && moment(first) != 0 && moment(r) != 0;
        if (has_clocks && !mt_fleet_is_moved(first, r) &&
            moment(r) - moment(first) < mt_fleet_doubt(first, r)) {
            near = true;
            all_aligned &= r->is_aligned;
        }
        if (i >= most)
            continue;
        mt_words_add(&s, "Out of memory: %s", name(who, f, r));
        if (r->request != 0)
            mt_words_add(&s, ", asking for %s", MT_BYTES(r->request));
        if (r->phase != NULL)
            mt_words_add(&s, " in %s", r->phase);
        if (has_clocks)
            add_after(&s, first, r);
        mt_words_add(&s, ".");
        line(arg, s.buf);
    }
    put_more("Out of memory", f->failed.n, most, line, arg);
    put_clocks(f, most, line, arg);
    if (near)
        put_doubt(f, all_aligned, line, arg);
}

static void put_groups(const struct mt_fleet *f, uint32_t most, mt_fleet_line *line, void *arg)
{
    uint32_t behind = 0, unknown = f->rows.n - f->n_known;
    char words[120], count[32], other[32];
    for (uint32_t g = 0; g < f->groups.n; g++) {
        struct mt_sentence s = {"", 0};
        if (g >= most) {
            behind += f->groups.p[g].n;
            continue;
        }
        add_ranks(&s, f, (int32_t)g);
        mt_words_add(&s, ": ");
        add_range(&s, f->groups.p[g].low, f->groups.p[g].high);
        if (f->groups.p[g].n > 1)
            mt_words_add(&s, " (%s)", mt_words_count(count, f->groups.p[g].n));
        line(arg, s.buf);
    }
    if (behind != 0) {
        (void)snprintf(words, sizeof words, "And %s more in %s smaller groups.",
                       mt_words_count(count, behind), mt_words_count(other, f->groups.n - most));
        line(arg, words);
    }
    if (unknown != 0) {
        (void)snprintf(words, sizeof words, "Of %s the bytes are not known.",
                       mt_words_count(count, unknown));
        line(arg, words);
    }
}

static void put_outliers(const struct mt_fleet *f, uint32_t most, mt_fleet_line *line, void *arg)
{
    for (uint32_t i = 0; i < f->outliers.n && i < most; i++) {
        const struct mt_fleet_outlier *o = &f->outliers.p[i];
        const struct mt_fleet_row *r = &f->rows.p[o->row];
        struct mt_sentence s = {"", 0};
        char who[96];
        uint64_t n = o->more < 0 ? -(uint64_t)o->more : (uint64_t)o->more;
        uint64_t of = o->role_more < 0 ? -(uint64_t)o->role_more : (uint64_t)o->role_more;
        mt_words_add(&s, "Stands out: %s with %s, %s %s than the median%s", name(who, f, r),
                     MT_BYTES(r->live), MT_BYTES(n), o->more < 0 ? "less" : "more",
                     f->n_kinds > 1 ? " of those nearest to it" : "");
        if (o->role >= 0)
            mt_words_add(&s, ", most of it %s (%s %s)", mt_role_words((enum mt_role)o->role),
                         MT_BYTES(of), o->more < 0 ? "less" : "more");
        mt_words_add(&s, ".");
        line(arg, s.buf);
    }
    put_more("Stand out", f->outliers.n, most, line, arg);
}

void mt_fleet_say(const struct mt_fleet *f, uint32_t most, mt_fleet_line *line, void *arg)
{
    put_first(f, line, arg);
    put_spread(f, line, arg);
    put_failures(f, most, line, arg);
    put_outliers(f, most, line, arg);
    mt_fleet_say_layout(f, line, arg);
    put_groups(f, most, line, arg);
    for (uint32_t i = 0; i < f->problems.n && i < most; i++)
        line(arg, f->problems.p[i]);
}
