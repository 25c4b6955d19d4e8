/* log/facts.h -- one fact of a log, in words and in numbers. The functions only read. */
#ifndef MT_ANALYSIS_LOG_FACTS_H
#define MT_ANALYSIS_LOG_FACTS_H

#include "parser/log/log.h"

/* One fact in words: "weights took 14.20 GiB". buf of MT_FACT_WORDS; returns it. Text of the log in
 * it is printable ASCII. */
#define MT_FACT_WORDS 320
char *mt_log_fact_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f);
/* What the line's card is called: "GPU", "NPU", "TPU". */
const char *mt_log_device(const struct mt_log_fact *f);
/* "rank 3, pid 4711, GPU 0"; "" when the line does not say. */
char *mt_log_who(char buf[96], const struct mt_log_fact *f);
/* Bytes of the card in use, and of it by PyTorch's allocator, as far as the line says so;
 * MT_LOG_NONE. */
uint64_t mt_log_fact_used(const struct mt_log_fact *f);
uint64_t mt_log_fact_torch(const struct mt_log_fact *f);
/* The failed program allocates by itself, without PyTorch: JAX, TensorFlow, llama.cpp. */
bool mt_logdiag_no_torch(const struct mt_log_fact *f);
/* True for the kinds that say memory ran out. */
bool mt_log_is_failure(enum mt_log_kind k);

#endif
