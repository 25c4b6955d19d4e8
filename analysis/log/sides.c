/* log/sides.c -- how large a matrix is that a person's text names, "16000 * 61000 matrix", and
 * whether the failed request is one of all pairs of one of its sides: what compares each with each
 * (genes, nodes, points) makes it, whatever the batch is. */
#include "analysis/log/diagnose.h"

#include <stddef.h>
#include <string.h>

/* A square of less is a tensor among many. */
enum { LEAST = 4096 };
/* How far a request may be from a whole part of what is held: both are printed with two decimals.
 */
#define WHOLE 0.012
/* No number that people round is off by more: one of two digits, "10" to "99" thousand. */
#define ROUGH 0.025

/* "61000", "61,000", "61k"; *end: what follows. 0 = it is none. */
static double side_at(const char *p, const char **end)
{
    double n = 0;
    for (; mt_log_is_digit(*p) || (*p == ',' && strspn(p + 1, "0123456789") == 3); p++)
        n = *p == ',' ? n : n * 10 + (*p - '0');
    if ((*p == 'k' || *p == 'K') && !mt_log_is_letter(p[1])) {
        n *= 1000;
        p++;
    }
    *end = p;
    return *p == '.' && mt_log_is_digit(p[1]) ? 0 : n;
}

/* Behind the sign between two sides: "x", "*", "by"; NULL = there is none. */
static const char *behind_times(const char *p)
{
    static const char *const signs[] = {"x", "X", "*", "\xc3\x97", "by ", NULL};
    size_t n;
    p += strspn(p, " ");
    n = mt_log_word_at(p, signs);
    return n != 0 ? p + n + strspn(p + n, " ") : NULL;
}

static void keep(struct mt_logdiag_sizes *t, double n)
{
    const uint32_t most = sizeof t->side / sizeof *t->side;
    for (uint32_t i = 0; i < t->n_sides; i++)
        if (t->side[i] <= n && t->side[i] >= n)
            return;
    if (n >= LEAST && n < 1e7 && t->n_sides < most)
        t->side[t->n_sides++] = n;
}

void mt_logdiag_sides(struct mt_logdiag_sizes *t, const char *line)
{
    const char *end;
    for (const char *p = line; *p != '\0'; p = end) {
        const char *second;
        double one, two;
        end = p + 1;
        if (!mt_log_is_digit(*p) ||
            (p > line && (mt_log_is_letter(p[-1]) || mt_log_is_digit(p[-1]) || p[-1] == '.')))
            continue;
        one = side_at(p, &end);
        second = one > 1 ? behind_times(end) : NULL;
        two = second != NULL && mt_log_is_digit(*second) ? side_at(second, &end) : 0;
        if (two <= 1)
            continue;
        keep(t, one);
        keep(t, two);
    }
}

/* How far a number that somebody wrote may be off: half of its last digit that is no zero, and
 * nothing where all its digits count. */
static double roughness(double n)
{
    double unit = 1, left = n;
    while (left >= 10 && (double)(uint64_t)(left / 10) * 10 >= left) {
        left /= 10;
        unit *= 10;
    }
    return unit < 10 ? 0 : unit / 2 / n > ROUGH ? ROUGH : unit / 2 / n;
}

double mt_logdiag_times_held(const struct mt_logdiag *d)
{
    double times, whole;
    if (d->allocated == MT_LOG_NONE || d->request == MT_LOG_NONE || d->request == 0)
        return 0;
    times = (double)d->allocated / (double)d->request;
    whole = (double)(uint64_t)(times + 0.5);
    return whole >= 2 && whole <= 16 && times - whole <= WHOLE && whole - times <= WHOLE ? whole
                                                                                         : 0;
}

bool mt_logdiag_is_of_pairs(struct mt_logdiag *d, const struct mt_logdiag_sizes *told)
{
    unsigned fit = 0;
    double times = mt_logdiag_times_held(d);
    for (uint32_t i = 0; i < told->n_sides; i++)
        for (unsigned each = 1; each <= 8; each *= 2) {
            double n = told->side[i], off = roughness(n), most = 2 * off + 0.0005,
                   ratio = (double)d->request / (n * n * each);
            /* a rounded number fits many requests: what is held has to be of the same size */
            if (ratio < 1 - most || ratio > 1 + most || (off > 0 && times <= 0))
                continue;
            fit++;
            d->made_of.numbers = n;
            d->made_of.each = each;
        }
    if (fit != 1)
        return false;
    d->made_of.what = MT_LOG_OF_PAIRS;
    d->made_of.copies = times;
    return true;
}
