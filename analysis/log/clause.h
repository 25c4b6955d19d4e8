/* clause.h -- the parts of a person's sentence, which is in small letters: words of a time and what
 * stands behind them, clauses, what they speak of. English, and as much of Chinese. */
#ifndef MT_LOG_CLAUSE_H
#define MT_LOG_CLAUSE_H

#include <stdbool.h>
#include <stddef.h>

/* A word of a time: "during ". */
struct mt_clause_time {
    const char *word;
    int reach; /* how many words behind it belong to it; < 0: it came before; 0: it came later */
};
/* The one that stands at p in the sentence s; NULL = none does. */
const struct mt_clause_time *mt_clause_time_at(const char *s, const char *p);
/* Bytes of up to n words of s; they end where a clause or another word of a time begins. */
size_t mt_clause_words(const char *s, int n);
/* Bytes of the clause that s begins with. */
size_t mt_clause_end(const char *s);
/* Of the n bytes of a clause: it says that something went well; it tells of a failure. */
bool mt_clause_went_well(const char *clause, size_t n);
bool mt_clause_part_fails(const char *clause, size_t n);
/* Behind "after ": what follows was still going on, "some iterations of it". */
bool mt_clause_is_within(const char *s);
/* Where what came before ends, in Chinese, up to n bytes; 0 = it says nothing of the kind. */
size_t mt_clause_behind_after(const char *s, size_t n);
/* The sentence speaks of memory; of a failure, whichever, that it does not deny. */
bool mt_clause_names_memory(const char *s);
bool mt_clause_names_failure(const char *s);

/* ---- log/denied.c: what was not, is over, or is so now ---- */

/* Of the n bytes of the clause s, how many it denies from `at` on, and where they begin: "not in
 * the rollout", "validation never fails"; 0 = none. */
size_t mt_clause_denied(const char *s, size_t n, size_t at, size_t *from);
/* It says that something is over: "the error in X went away", "X used to fail". */
bool mt_clause_is_over(const char *s, size_t n);
/* It tells of now, where others may tell of before. */
bool mt_clause_is_now(const char *s, size_t n);
/* It begins with "but": what is so, behind what is not. */
bool mt_clause_is_but(const char *s);

#endif
