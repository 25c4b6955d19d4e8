/* term.h -- the terminal: width, colours, and a progress line that leaves no trace. */
#ifndef MT_TERM_H
#define MT_TERM_H

#include <stdbool.h>
#include <stdint.h>

int mt_term_width(int fd);  /* COLUMNS, else the terminal's own, else 80 */
bool mt_term_is_utf8(void); /* by LC_ALL, else LC_CTYPE, else LANG, as the C library chooses */
bool mt_term_color(int fd); /* a terminal, not TERM=dumb, and NO_COLOR is not set */

struct mt_progress {
    bool on, shown;
    /* of the command, of this piece of work, of the last line */
    uint64_t begin_ns, start_ns, last_ns;
    char what[320]; /* the piece of work that start_ns belongs to */
};
void mt_progress_init(struct mt_progress *p, bool quiet);
/* "analysing rank3.pickle: 2,000,000 of 10,000,000 events, 3,100,000/s, 0:02 left". total 0 = not
 * known; both 0 = nothing is counted. */
void mt_progress_show(struct mt_progress *p, const char *verb, const char *name, uint64_t done,
                      uint64_t total, bool is_bytes);
/* For mt_input_opts.progress: arg is a struct mt_progress. */
void mt_progress_update(void *arg, const char *name, uint64_t done, uint64_t total);
void mt_progress_erase(struct mt_progress *p); /* before anything else is printed */

#endif
