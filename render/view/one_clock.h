/* view/one_clock.h -- what was recorded beside the calls on a GPU, on the same clock: PyTorch's own
 * view from inside its processes, and host memory. In stretches that all of them share, each with
 * its highest: the columns of the GPU's ledger, cut where a sample was taken and where PyTorch's
 * own columns begin, by time and by event, so that a part of it can be enlarged. */
#ifndef MT_VIEW_ONE_CLOCK_H
#define MT_VIEW_ONE_CLOCK_H

#include "render/view/report.h"

enum { MT_CLOCKED_LABEL = 256 };
#define MT_CLOCKED_UNKNOWN UINT64_MAX /* in a stretch that nothing was recorded of */

struct mt_clocked {
    char label[MT_CLOCKED_LABEL]; /* whose memory it is */
    uint32_t driver, process;     /* PyTorch's: in whose process */
    const char *low_words, *high_words;
    /* by stretch: what is filled, and the line above it; high is 0 where nothing was counted */
    uint64_t *low, *high;
    uint64_t peak_low, peak_high;
    /* of the host's: the control group's, as the launcher saw them at the end; no curve of it is
     * recorded. 0 = none, or not told */
    uint64_t group_peak, group_limit;
};
/* Whether there is a line to draw above what is filled: far below it none would be seen. */
bool mt_clocked_has_line(const struct mt_clocked *l);
/* The whole of it in words: "PyTorch inside rank 0: at most 15.0 MiB live, ...". */
enum { MT_CLOCKED_WORDS = MT_CLOCKED_LABEL + 256 };
char *mt_clocked_words(char buf[static MT_CLOCKED_WORDS], const struct mt_clocked *l);

enum { MT_CLOCKED_MOST = 5 }; /* PyTorch's of four processes at most, and the host's */
struct mt_clocked_list {
    struct mt_clocked curve[MT_CLOCKED_MOST];
    uint32_t n;
    uint32_t torch; /* so many of them are PyTorch's, and come first */
    /* When each stretch begins, in order; the last ends with the ledger. */
    uint64_t *at;
    uint32_t n_at;
};

/* Those of the report's i-th GPU. 0 = out of memory; done() either way. */
int mt_clocked_make(struct mt_clocked_list *out, const struct mt_report *r, uint32_t ledger);
void mt_clocked_list_done(struct mt_clocked_list *l);
#endif
