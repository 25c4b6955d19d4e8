/* nearest.c -- "did you mean": the candidate with the smallest edit distance, two neighbours
 * swapped counting as one edit. */
#include "cli/options.h"

#include <string.h>

#define MAX_WORD 40

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned row[3][MAX_WORD + 1];
    unsigned *before = row[0], *above = row[1], *cur = row[2];

    for (size_t j = 0; j <= nb; j++) {
        above[j] = (unsigned)j;
        before[j] = 0;
    }
    for (size_t i = 1; i <= na; i++) {
        unsigned *spare = before;
        cur[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned change = a[i - 1] == b[j - 1] ? 0 : 1;
            cur[j] = min3(above[j] + 1, cur[j - 1] + 1, above[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < cur[j])
                cur[j] = before[j - 2] + 1;
        }
        before = above;
        above = cur;
        cur = spare;
    }
    return above[nb];
}

void mt_nearest_offer(struct mt_nearest *n, const char *candidate)
{
    size_t na = strlen(n->word), nb = strlen(candidate);
    unsigned d, allowed;

    if (na == 0 || na > MAX_WORD || nb > MAX_WORD)
        return;
    /* A beginning of a name is a good guess however short it is. */
    d = na >= 2 && na < nb && strncmp(n->word, candidate, na) == 0
            ? 1
            : distance(n->word, na, candidate, nb);
    allowed = na <= 4 ? 1 : na <= 8 ? 2 : 3;
    if (d <= allowed && (n->best == NULL || d < n->distance)) {
        n->best = candidate;
        n->distance = d;
    }
}
