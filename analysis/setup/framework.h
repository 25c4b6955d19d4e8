/* framework.h -- which training framework and which inference engine a trace comes from, by its
 * frames. */
#ifndef MT_FRAMEWORK_H
#define MT_FRAMEWORK_H

#include "parser/model/trace.h"

enum mt_framework {
    MT_FW_NONE, /* plain PyTorch */
    MT_FW_VERL,
    MT_FW_AREAL,
    MT_FW_SLIME,
    MT_FW_RELAX,
    MT_FW_OPENRLHF,
    MT_FW_TRL,
    MT_FW_NEMORL,
    MT_FW_SKYRL,
    MT_FW_ROLL,
    MT_FW_PRIME_RL,
    MT_FW_SWIFT, /* ms-swift; drives TRL and Transformers' Trainer */
    MT_FW_MEGATRON,
    MT_FW_TORCHTITAN,
    MT_FW_DEEPSPEED,
    MT_FW_TRANSFORMERS,
    MT_FW_LIGHTNING,
    MT_FW_ACCELERATE,
    MT_FW_LLAMAFACTORY,
    MT_FW_AXOLOTL,
    MT_FW_UNSLOTH,
    MT_FW_TORCHTUNE,
    MT_FW_VLLM,
    MT_FW_SGLANG,
    MT_FW_NANOVLLM,
    MT_FW_MINISGL, /* engines */
    MT_FW_COUNT
};
const char *mt_framework_id(enum mt_framework f);    /* "verl" */
const char *mt_framework_words(enum mt_framework f); /* "verl", "NeMo-RL", "plain PyTorch" */
int mt_framework_find(const char *id);               /* -1 when unknown */
/* One of reinforcement learning: VERL to SWIFT. */
bool mt_framework_is_rl(enum mt_framework f);

struct mt_frameworks {
    /* the RL framework if one is there, else the trainer, else NONE */
    enum mt_framework main;
    enum mt_framework engine;     /* VLLM to MINISGL, or NONE */
    bool forced;                  /* named on the command line */
    bool by_settings;             /* main is no frame's: the settings of the run or a log name it */
    uint64_t frames[MT_FW_COUNT]; /* distinct frames of each, the evidence */
    bool fsdp1, fsdp2, ddp, megatron_core, deepspeed, checkpointing, compiled; /* seen in frames */
};
/* Has settings of its own, in a file or on a command line, by which a run of it can be told. */
bool mt_framework_is_program(enum mt_framework f);
/* A file of this framework shows that it runs the job: of Transformers and torchtune, which are
 * libraries as well, not every one does. '/' only. */
bool mt_framework_runs_in(enum mt_framework f, const char *path, size_t n);
/* The one that the job is run by, of how often files of each were named; MT_FW_NONE when it is none
 * of the programs. */
enum mt_framework mt_framework_program(const uint64_t n[MT_FW_COUNT]);
/* That of a file's name; MT_FW_NONE when it does not lie where a package lies. '/' only. */
enum mt_framework mt_framework_of_path(const char *path, size_t n);
/* false = out of memory. */
bool mt_frameworks_detect(const struct mt_trace *t, struct mt_frameworks *out);

#endif
