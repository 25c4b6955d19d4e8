/* log/counts.c -- how many parameters a line says that a model has: as programs print it
 * ("trainable params: 4,194,304 || all params: 6,742,609,920", "number of parameters: 124.34M",
 * "1.5 B Total params"), and as people write it ("a 350 million parameter model"). */
#include "analysis/log/diagnose.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Words between a number and what it counts, in bytes. */
enum { NEAR = 28, FEWEST = 100000 };

/* "1,543,714,304", "25.830": its value, and what follows. */
static double number_at(const char *p, const char **end)
{
    double n = 0, place = 0;
    for (; mt_log_is_digit(*p) || ((*p == ',' || *p == '.') && mt_log_is_digit(p[1])); p++) {
        bool group = *p == ',' && strspn(p + 1, "0123456789") == 3;
        if (group)
            continue;
        if (*p == ',' || (*p == '.' && place > 0))
            break;
        if (*p == '.')
            place = 1;
        else if (place > 0)
            n += (*p - '0') * (place /= 10);
        else
            n = n * 10 + (*p - '0');
    }
    *end = p;
    return n;
}

/* "M", " billion", of the letters behind a number; 1 = there is none. */
static double unit_at(const char *p, const char **end)
{
    static const struct {
        const char *word;
        double times;
    } units[] = {{"billion", 1e9}, {"million", 1e6}, {"百万", 1e6}, {"亿", 1e8}, {"万", 1e4},
                 {"bn", 1e9},      {"mm", 1e6},      {"b", 1e9},    {"m", 1e6},  {"k", 1e3}};
    const char *q = p + strspn(p, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].word);
        if (strncasecmp(q, units[i].word, n) == 0 && !mt_log_is_letter(q[n])) {
            *end = q + n;
            return units[i].times;
        }
    }
    *end = p;
    return 1;
}

/* "num_params", "total_params": what stands before the '_' at p. "max_live_parameters" is a
 * setting. */
static bool counts(const char *line, const char *p)
{
    static const char *const words[] = {"num", "n", "total", "all", "model", "trainable", NULL};
    for (const char *const *w = words; *w != NULL; w++) {
        size_t n = strlen(*w);
        if ((size_t)(p - line) >= n && strncasecmp(p - n, *w, n) == 0 &&
            ((size_t)(p - line) == n ||
             (!mt_log_is_letter(p[-(ptrdiff_t)n - 1]) && p[-(ptrdiff_t)n - 1] != '_')))
            return true;
    }
    return false;
}

/* "param" or its like begins at p; the bytes of the word, 0 = no. No "parameters' size", no rank's
 * part of them, no data type of theirs. */
static size_t counted_at(const char *line, const char *p)
{
    static const char *const not_so[] = {"size", "dtype", "type", "group", "norm", "in mb", NULL};
    size_t n = strncasecmp(p, "param", 5) == 0 ? 5 : strncmp(p, "参数", 6) == 0 ? 6 : 0;
    const char *next;
    if (n == 0 ||
        (n == 5 && p > line && (mt_log_is_letter(p[-1]) || (p[-1] == '_' && !counts(line, p - 1)))))
        return 0;
    while (n == 5 && mt_log_is_letter(p[n]))
        n++;
    n = n == 6 && strncmp(p + n, "量", 3) == 0 ? n + 3 : n;
    if (p[n] == '_') /* "param_persistence_threshold" */
        return 0;
    next = p + n + strspn(p + n, " (");
    for (const char *const *w = not_so; *w != NULL; w++)
        if (strncasecmp(next, *w, strlen(*w)) == 0)
            return 0;
    return strncasecmp(next, "on (tensor", 10) == 0 ? 0 : n;
}

/* The words that stand right before p, up to a comma or a number, have that one. */
static bool has_before(const char *line, const char *p, const char *word)
{
    size_t n = strlen(word);
    for (const char *q = p; q-- > line && p - q < NEAR && strchr(",;|.", *q) == NULL;)
        if ((size_t)(p - q) >= n && strncasecmp(q, word, n) == 0)
            return true;
    return false;
}

/* "parameters: 124.34M", "params (M) = 25.8", "参数量：25.830 百万": the number that follows. */
static double number_behind(const char *p)
{
    const char *end, *from = p;
    double n, times;
    bool in_millions = strncasecmp(p + strspn(p, " "), "(m)", 3) == 0;
    while (*p != '\0' && !mt_log_is_digit(*p) && p - from < NEAR && strchr(",;|", *p) == NULL)
        p++;
    /* "parameters of layer 3": a sign of what is counted stands before it, or the word itself */
    if (!mt_log_is_digit(*p) || (p - from > 1 && from + strcspn(from, ":=\xef") >= p))
        return 0;
    n = number_at(p, &end);
    times = unit_at(end, &end);
    return n * (in_millions ? 1e6 : times);
}

/* "25.83 M parameters", "350M-parameter", "1.5 B     Trainable params": the number before. */
static double number_before(const char *line, const char *p)
{
    static const char *const between[] = {"trainable", "learnable", "total", "model", "non-", NULL};
    const char *q = p, *end;
    for (bool more = true; more;) {
        more = false;
        while (q > line && (q[-1] == ' ' || q[-1] == '-' || q[-1] == '_'))
            q--;
        for (const char *const *w = between; *w != NULL; w++) {
            size_t n = strlen(*w);
            if ((size_t)(q - line) >= n && strncasecmp(q - n, *w, n) == 0)
                q -= n, more = true;
        }
    }
    for (size_t letters = 0; q > line && letters < 8 && (mt_log_is_letter(q[-1]) || q[-1] == ' ');
         letters++)
        q--;
    while (q > line &&
           (mt_log_is_digit(q[-1]) || ((q[-1] == '.' || q[-1] == ',') && mt_log_is_digit(*q))))
        q--;
    if (!mt_log_is_digit(*q) || (q > line && mt_log_is_letter(q[-1])))
        return 0;
    {
        double n = number_at(q, &end), times;
        const char *unit = end;
        times = unit_at(end, &end);
        end += strspn(end, " -_");
        /* what stands between the number and the word is its unit, and words that count */
        for (bool more = true; more && end < p;) {
            more = false;
            for (const char *const *w = between; *w != NULL; w++)
                if (strncasecmp(end, *w, strlen(*w)) == 0) {
                    end += strlen(*w);
                    end += strspn(end, " -_");
                    more = true;
                }
        }
        return end == p && (times > 1 || unit - q >= 6) ? n * times : 0;
    }
}

/* Words near it say that a part of the model is counted, or another one. */
static bool is_of_part(const char *line, const char *p)
{
    static const char *const parts[] = {
        "backbone",  "encoder",       "decoder", "tower",   "embed",  "head",
        "projector", "generat",       "discri",  "teacher", "draft",  "layer",
        "block",     "non-trainable", "activ",   "reward",  "critic", NULL};
    const char *from = p - line > NEAR ? p - NEAR : line;
    for (const char *q = from; *q != '\0' && q < p + NEAR; q++)
        for (const char *const *w = parts; *w != NULL; w++)
            if ((*q | 32) == **w && strncasecmp(q, *w, strlen(*w)) == 0 &&
                (q == line || !mt_log_is_letter(q[-1])))
                return true;
    return false;
}

/* Unsloth's "Trainable parameters = 1,361 of 5,661 (24.05% trained)": the number of all, behind
 * that of those which are trained. */
static double all_behind(const char *p)
{
    const char *end;
    double n = 0;
    p += strcspn(p, "0123456789");
    (void)number_at(p, &end);
    (void)unit_at(end, &end);
    if (strncmp(end, " of ", 4) == 0 || strncmp(end, "/", 1) == 0) {
        p = end + (*end == '/' ? 1 : 4);
        n = number_at(p, &end);
        n *= unit_at(end, &end);
    }
    return n;
}

static void settle(double *known, double v)
{
    double more = *known > v ? *known : v, less = *known > v ? v : *known;
    *known = *known == 0 || less > 0.99 * more ? v : -1;
}

void mt_logdiag_counts(struct mt_logdiag_sizes *t, const char *line)
{
    for (const char *p = line; *p != '\0'; p++) {
        size_t n = counted_at(line, p);
        double v;
        if (n == 0)
            continue;
        v = number_behind(p + n);
        v = v > 0 ? v : number_before(line, p);
        if (v >= FEWEST && v < 2e12 && !is_of_part(line, p)) {
            bool part = has_before(line, p, "trainable") || has_before(line, p, "learnable") ||
                        has_before(line, p, "可训练");
            double all = part ? all_behind(p + n) : 0;
            settle(part ? &t->trained : &t->counted, v);
            if (all > v && all < 2e12)
                settle(&t->counted, all);
            t->peft = t->peft || all > v || strstr(line, "trainable%") != NULL;
        }
        p += n - 1;
    }
}
