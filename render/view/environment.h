/* view/environment.h -- what the run stood on, as far as anything says: versions, allocator, card.
 * A ticket is answered by them as often as by the numbers. */
#ifndef MT_VIEW_ENVIRONMENT_H
#define MT_VIEW_ENVIRONMENT_H

#include "render/view/view.h"

enum { MT_ENV_WORDS = 400 };
/* Each into buf, which is returned; NULL = nothing says it. Raw strings. */
const char *mt_env_pytorch(char buf[MT_ENV_WORDS], const struct mt_report *r);
const char *mt_env_framework(char buf[MT_ENV_WORDS], const struct mt_report *r);
/* "vllm 0.8.5 (run.log:3)": of programs that a log names, but PyTorch */
const char *mt_env_versions(char buf[MT_ENV_WORDS], const struct mt_report *r);
const char *mt_env_allocator(char buf[MT_ENV_WORDS], const struct mt_report *r);
/* Of the verdict's device: its name, its size, and where that is from. */
const char *mt_env_card(char buf[MT_ENV_WORDS], const struct mt_report *r);

#endif
