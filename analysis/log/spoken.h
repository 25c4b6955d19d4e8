/* spoken.h -- the sentences of a text that somebody wrote, a ticket or a question, one after
 * another, in small letters. */
#ifndef MT_LOG_SPOKEN_H
#define MT_LOG_SPOKEN_H

#include "parser/log/log.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a line and of what its first sentence began with in the line above, 0 included. */
#define MT_SPOKEN_LINE 2001u

struct mt_spoken {
    char text[MT_SPOKEN_LINE];
    size_t n;   /* bytes of text before sentences are handed out */
    char *rest; /* behind the sentence that was handed out; NULL = it was the last */
    uint64_t line;
};
/* What stands at `at` of t's text as the i-th line has it, capitals and all; NULL = it is of the
 * line above. */
const char *mt_spoken_written(const struct mt_spoken *t, const struct mt_log *log, uint32_t i,
                              const char *at);
/* what[0..n), of a sentence, as the line that it is of has it, capitals and all. */
void mt_spoken_as_written(char *what, size_t n, const char *line);
/* A word, or a part of a clause, may begin at p of sentence s. */
bool mt_spoken_starts(const char *s, const char *p);
/* The i-th line of log's prose, with what its first sentence began with in the line above. */
void mt_spoken_line(struct mt_spoken *t, const struct mt_log *log, uint32_t i);
/* The next sentence of it, apart; NULL = there is none. */
char *mt_spoken_sentence(struct mt_spoken *t);
/* A line that a program wrote as it stands: its process, its level, a frame. */
bool mt_spoken_is_logged(const char *line);
/* A line that reads like a person's words: three in a row at least, or letters that no ASCII has,
 * of people whose writing needs no blanks. No command, setting, traceback, code or logger's line.
 */
bool mt_spoken_is_persons(const char *line);
/* The same of a line that may name flags: "I tried --packing, it does not help". */
bool mt_spoken_is_told(const char *line);
/* Behind the sign of a list or a table: "- micro batch: 1", "3. FSDP", "| bf16 | on |"; NULL = the
 * line is none. */
const char *mt_spoken_item(const char *line);
/* The sentence says that memory ran out. (A copy is asked: the sentence stays as it is.) */
bool mt_spoken_fails(const char *sentence);
/* The first line in which somebody speaks of memory and of something that went wrong with it, in
 * whatever words; 0 = none does. */
uint64_t mt_spoken_of(const struct mt_log *log);

#endif
