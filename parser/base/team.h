/* team.h -- a few threads that work through jobs, the urgent ones first.
 *
 * Tokens bound what is held at a time: who begins a piece of work takes one, who is done with what
 * came of it gives it back. Thread-safety: any thread may call anything but mt_team_new() and
 * mt_team_free(). */
#ifndef MT_TEAM_H
#define MT_TEAM_H

#include <stdbool.h>
#include <stdint.h>

struct mt_team;

/* n threads, at least 1, that take no signals. NULL = the system gave no thread. */
struct mt_team *mt_team_new(uint32_t n);
/* Waits for all that was given to it. NULL is fine. */
void mt_team_free(struct mt_team *p);
uint32_t mt_team_threads(const struct mt_team *p);

/* One piece of work; the caller keeps it, and may look into it after mt_team_wait(). */
struct mt_team_job {
    void (*run)(struct mt_team_job *job);
    struct mt_team_job *next; /* of the pool */
    bool is_done;             /* likewise */
};
void mt_team_give(struct mt_team *p, struct mt_team_job *job, bool is_urgent);
void mt_team_wait(struct mt_team *p, const struct mt_team_job *job);
bool mt_team_done(struct mt_team *p, const struct mt_team_job *job); /* does not wait */

/* One of as many tokens as there are threads; false = there is none left. */
bool mt_team_take(struct mt_team *p);
void mt_team_take_more(struct mt_team *p); /* one beyond, where it has to be */
void mt_team_return(struct mt_team *p);

#endif
