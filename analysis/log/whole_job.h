/* whole_job.h -- words that name a whole job of reinforcement learning, in which a model generates
 * as often as it trains: they tell no phase. */
#ifndef MT_LOG_WHOLE_JOB_H
#define MT_LOG_WHOLE_JOB_H

#include "parser/log/log.h"

#include <stdbool.h>
#include <stddef.h>

/* Takes such words out of a sentence in small letters: "RL training", "train_ppo_ray.sh". */
void mt_whole_job_drop(char *sentence);
/* The n bytes of a sentence name a way to train in which nothing is generated: "the DPO pipeline".
 */
bool mt_whole_job_trains(const char *sentence, size_t n);
/* The text, its settings or the program's name have the name of such a way to train; or the process
 * of the failure f has the private pools of CUDA graphs, as with an engine in it. */
bool mt_whole_job_in(const struct mt_log *log, const struct mt_log_fact *f, const char *program);

#endif
