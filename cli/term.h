/* term.h -- the terminal: width, colours, and a progress line that leaves no trace. */
#ifndef MT_TERM_H
#define MT_TERM_H

#include <stdbool.h>
#include <stdint.h>

int mt_term_width(int fd);  /* COLUMNS, else the terminal's own, else 80 */
bool mt_term_color(int fd); /* a terminal, not TERM=dumb, and NO_COLOR is not set */

struct mt_progress {
    bool on, shown;
    uint64_t start_ns, last_ns;
    char name[256]; /* of the input that start_ns belongs to */
};
void mt_progress_init(struct mt_progress *p, bool quiet);
/* For mt_input_opts.progress: arg is a struct mt_progress. */
void mt_progress_update(void *arg, const char *name, uint64_t done, uint64_t total);
void mt_progress_erase(struct mt_progress *p); /* before anything else is printed */

#endif
