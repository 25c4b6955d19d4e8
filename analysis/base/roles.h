/* base/roles.h -- what bytes are for, how long blocks live, and how either is known. */
#ifndef MT_BASE_ROLES_H
#define MT_BASE_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_role {
#define MT_ROLE(N, id, words) MT_ROLE_##N,
#include "analysis/base/roles.def"
#undef MT_ROLE
    MT_ROLE_COUNT
};
const char *mt_role_id(enum mt_role r);     /* "kv_cache" */
const char *mt_role_words(enum mt_role r);  /* "KV cache" */
int mt_role_find(const char *id, size_t n); /* -1 when unknown */
/* It says only that nobody knows: "allocated before recording", "unknown". */
bool mt_role_is_gap(unsigned role);
/* Roles with bytes, largest first, gaps last; returns how many. */
unsigned mt_role_order(const uint64_t bytes[MT_ROLE_COUNT], uint8_t order[MT_ROLE_COUNT]);

/* How long blocks live, measured from the trace. */
enum mt_life {
    MT_LIFE_UNKNOWN, /* no free and no step to compare with, or the trace is too short */
    MT_LIFE_TEMP,    /* freed inside the sub-phase occurrence of its birth */
    /* inside the micro-batch, soon: another of the same stack and size follows after its free */
    MT_LIFE_LAYER,
    MT_LIFE_MICRO, /* freed inside the micro-batch of its birth */
    /* freed inside the step of its birth, or before the same point of the next */
    MT_LIFE_STEP,
    MT_LIFE_PERSISTENT, /* never freed, or lives for more than one whole step */
    MT_LIFE_COUNT
};
const char *mt_life_id(enum mt_life l);     /* "micro_batch" ... */
int mt_life_find(const char *id, size_t n); /* -1 when unknown */

/* Why a block has its role; for "how do you know". */
enum mt_role_why {
    MT_WHY_NONE,
    MT_WHY_POOL,   /* the private pool it lies in, labelled by its own frames */
    MT_WHY_FRAME,  /* a frame that names what it is for */
    MT_WHY_SIZE,   /* an exact size: cuBLAS workspace, tokens x vocabulary, equal to a parameter */
    MT_WHY_LIFE,   /* its lifetime and the phase of its birth */
    MT_WHY_PHASE,  /* the phase of its birth alone */
    MT_WHY_BEFORE, /* it was there when recording began */
    MT_WHY_NAME,   /* the job's own name for it */
    MT_WHY_COUNT
};
const char *mt_role_why_id(enum mt_role_why w);

/* steps_from of a report: by the order of passes alone, where steps begin is a guess. */
#define MT_STEPS_GUESSED "phase periodicity"

#endif
