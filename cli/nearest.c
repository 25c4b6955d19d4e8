/* nearest.c -- "did you mean": the candidate with the smallest edit distance, two neighbours
 * swapped counting as one edit. */
#include "cli/options.h"
#include "parser/base/text.h"

#include <string.h>

#define MAX_WORD 40

void mt_nearest_offer(struct mt_nearest *n, const char *candidate)
{
    size_t na = strlen(n->word), nb = strlen(candidate);
    unsigned d, allowed;

    if (na == 0 || na > MAX_WORD || nb > MAX_WORD)
        return;
    /* A beginning of a name is a good guess however short it is. */
    allowed = na <= 4 ? 1 : na <= 8 ? 2 : 3;
    d = na >= 2 && na < nb && strncmp(n->word, candidate, na) == 0
            ? 1
            : mt_edits(n->word, candidate, allowed);
    if (d <= allowed && (n->best == NULL || d < n->distance)) {
        n->best = candidate;
        n->distance = d;
    }
}
