/* framework.h -- what memtrace knows of training frameworks, engines, backends and libraries: the
 * rows of analysis/rules/frameworks.json, and what a trace or a log says of them.
 *
 * A row is named by its index, which is given when the rows are loaded: it is the same for one
 * registry and means nothing in another one. docs/rules-frameworks.md describes the fields.
 * Thread-safety: a registry is const after mt_framework_rules_load(). */
#ifndef MT_FRAMEWORK_H
#define MT_FRAMEWORK_H

#include "parser/base/err.h"
#include "parser/model/trace.h"

typedef uint8_t mt_fw; /* index of a row; MT_FW_NONE = none of them, plain PyTorch */
enum { MT_FW_NONE = 0, MT_FW_MAX = 64 /* rows, so that a set of them is a uint64_t */ };
#define MT_FW_BIT(f) (UINT64_C(1) << (f))

enum mt_fw_kind {
    MT_FWK_RL,      /* a framework of reinforcement learning */
    MT_FWK_TUNER,   /* a program that fine-tunes; drives the trainers of others */
    MT_FWK_TRAINER, /* a trainer that is a library as well */
    MT_FWK_ENGINE,  /* generates */
    MT_FWK_BACKEND, /* a part that a job may have, known by frames */
    MT_FWK_LIBRARY, /* what any job may use: its rules hold for every job */
    MT_FWK_COUNT
};

/* Parts of a job that frames show, or that every job of a framework has. Bits. */
enum mt_fw_part {
    MT_PART_FSDP1 = 1,
    MT_PART_FSDP2 = 2,
    MT_PART_DDP = 4,
    MT_PART_CORE = 8, /* layers that are divided by tensor and pipeline parallel */
    MT_PART_ZERO = 16,
    MT_PART_CHECKPOINTING = 32,
    MT_PART_COMPILED = 64,
    MT_PART_CHUNKED_LOSS =
        128 /* a loss that checkpoints its chunks, which says nothing of layers */
};

/* What is peculiar to a framework. Bits. */
enum mt_fw_trait {
    MT_FWT_PLAIN = 1,          /* stands for jobs without a framework */
    MT_FWT_LOG_FILES = 2,      /* names of its files in the lines of a log are kept */
    MT_FWT_PASSES_IN_STEP = 4, /* passes without gradients run inside its training step */
    MT_FWT_SET_UP_IN_STEP = 8, /* and its set-up does */
    MT_FWT_LOG_PROBS = 16,     /* its training of the actor computes log-probs itself */
    MT_FWT_OFFLOADS = 32,      /* param_offload and optimizer_offload hold between its phases */
    MT_FWT_FSDP_ALONE = 64,    /* its FSDP has no tensor and no pipeline parallel */
    MT_FWT_EXPERT_TP = 128,    /* divides experts by tensor parallel in a way of its own */
    MT_FWT_KEEPS_32BIT = 256,  /* its 8-bit optimizers keep embeddings' state in 32 bits */
    MT_FWT_RANK_ENDS = 512,    /* the names of its snapshots end in "_" and the rank */
    MT_FWT_OWN_FLAGS = 1024    /* a library, and its flags tell that it runs the job as well */
};

struct mt_fw_package {
    const char *name;
    const char *const *inside; /* what may come next in a path; a name with a dot is a file */
};
struct mt_fw_frame {
    uint32_t parts;               /* enum mt_fw_part that it shows beside the row itself */
    const char *file;             /* in the path, '/' only */
    const char *const *functions; /* one of these; none = any */
};
/* What of the run's settings says that this row is there. */
struct mt_fw_naming {
    const char *setting;    /* name of settings.json; "" where keys say it */
    const char *const *is;  /* one of these is its value, in small letters */
    const char *keys_below; /* no such value is known, and a key that begins so is set */
};
/* How a job of it leaves a snapshot or a recording. */
struct mt_fw_howto {
    const char *what;         /* what one gets; the last row has none: NULL */
    const char *const *lines; /* as typed */
    const char *source;       /* where that is read */
};
/* Lists end with NULL; texts that are absent are "". */
struct mt_framework {
    const char *id, *words;
    enum mt_fw_kind kind;
    const struct mt_fw_package *packages; /* the last one has no name */
    const struct mt_fw_frame *frames;     /* the last one has no file; the first that fits counts */
    const struct mt_fw_naming *named_by;  /* the last one has no setting: NULL */
    const struct mt_fw_howto *howto;
    /* Of the files of its packages those with one of runs_in (none = all) and none of not_in in
     * their path show that it runs the job. */
    const char *const *runs_in, *const *not_in;
    const char *const *starts_as;  /* modules and commands that start it: patterns */
    const char *const *processes;  /* names of its processes in logs */
    const char *const *told_by;    /* words of a text that name it, in small letters */
    const char *const *log_lines;  /* kinds of lines in a log that it alone writes */
    const char *const *allocators; /* beginnings of the libraries that get memory for it */
    const char *in_log_files;      /* a part of file names in logs that tells this backend */
    const char *one_of;            /* at most one of those with this word is in a run */
    const char *shards_with;       /* the setting without which it does not shard optimizer state */
    const char *host_params;       /* the setting that keeps parameters on the host */
    const char *lora_targets, *lora_targets_core; /* default of LoRA; with MT_PART_CORE */
    uint64_t drives;                              /* wins over these */
    uint64_t usual;       /* backends that it runs with where nothing tells of one */
    uint64_t settings_of; /* has the settings of these and more; closed once loaded */
    mt_fw program_in;     /* its files of runs_in lie in the packages of this one */
    mt_fw order_as;       /* whose column of order.json it has; MT_FW_NONE = its own */
    mt_fw same_as;        /* nothing in settings and logs tells it from this one */
    mt_fw engine;         /* the only engine that it has */
    uint32_t parts;       /* of every job of it; of a backend what in_log_files shows */
    uint32_t shows;       /* what any file of its packages shows */
    uint32_t traits;
};

struct mt_framework_rules;
/* The embedded rows and, when overlay != NULL, the "frameworks" of that JSON text (overlay_name for
 * messages): a row with a known id replaces, others append. MT_EINPUT names file, row and field. */
enum mt_rc mt_framework_rules_load(struct mt_framework_rules **out, const char *overlay,
                                   size_t overlay_len, const char *overlay_name,
                                   struct mt_err *err);
void mt_framework_rules_free(struct mt_framework_rules *r); /* NULL is fine */
/* The value of a key of the overlay, which lives as long as r, and the overlay's name; NULL = there
 * is none. */
struct cJSON;
const struct cJSON *mt_framework_overlay(const struct mt_framework_rules *r, const char *key,
                                         const char **name);
/* The settings whose tables all settings of these frameworks share (setup/settings.h); NULL = there
 * are none yet. */
struct mt_runconf;
const struct mt_runconf *mt_framework_settings(const struct mt_framework_rules *r);
void mt_framework_share(struct mt_framework_rules *r, const struct mt_runconf *settings);
/* Rows, MT_FW_NONE included: indexes are 0 .. count - 1. */
int mt_framework_count(const struct mt_framework_rules *r);
/* All that follows takes a registry that is NULL for one without rows. */
/* Never NULL: what is no index is MT_FW_NONE, "none" in words "plain PyTorch". */
const struct mt_framework *mt_framework_at(const struct mt_framework_rules *r, int f);
int mt_framework_find(const struct mt_framework_rules *r, const char *id); /* -1 when unknown */
/* Can be the framework of a job: none, or of any kind before MT_FWK_BACKEND. */
bool mt_framework_is_main(const struct mt_framework_rules *r, int f);
uint64_t mt_framework_kind(const struct mt_framework_rules *r, enum mt_fw_kind k); /* a mask */
/* A mask of those that run jobs and have a package that begins with that letter. */
uint64_t mt_framework_packaged(const struct mt_framework_rules *r, char first);
/* The masks of rows that exclude each other, one for each word of "one_of"; 0 behind the last. */
const uint64_t *mt_framework_families(const struct mt_framework_rules *r);
mt_fw mt_framework_plain(const struct mt_framework_rules *r); /* the row of MT_FWT_PLAIN */
/* "verl", "AReaL, slime" of a mask into buf, always terminated; returns buf. */
char *mt_framework_mask_words(const struct mt_framework_rules *r, uint64_t mask, char *buf,
                              size_t cap);
/* "verl, areal, ...": the ids that a rule may name; mains: those that can be a job's framework,
 * "none" included. Returns buf. */
char *mt_framework_ids(const struct mt_framework_rules *r, bool mains, char *buf, size_t cap);

/* One of reinforcement learning. */
bool mt_framework_is_rl(const struct mt_framework_rules *r, int f);
/* Has settings of its own, in a file or on a command line, by which a run of it can be told. */
bool mt_framework_is_program(const struct mt_framework_rules *r, int f);
/* Nothing but their frames tells them apart. */
bool mt_framework_alike(const struct mt_framework_rules *r, int a, int b);
/* A file of this framework shows that it runs the job: some are libraries as well. '/' only. */
bool mt_framework_runs_in(const struct mt_framework_rules *r, int f, const char *path, size_t n);
/* The one of `among` that is driven by no other of them and occurs most often; of equals the
 * earlier row. MT_FW_NONE when none occurs. */
mt_fw mt_framework_top(const struct mt_framework_rules *r, const uint64_t n[MT_FW_MAX],
                       uint64_t among);
/* The program that the job is run by, of how often files of each were named; MT_FW_NONE = none. */
mt_fw mt_framework_program(const struct mt_framework_rules *r, const uint64_t n[MT_FW_MAX]);
/* That of a file's name; MT_FW_NONE when it does not lie where a package lies. '/' only. */
mt_fw mt_framework_of_path(const struct mt_framework_rules *r, const char *path, size_t n);
/* f has the settings of `of`: nothing in them tells it apart, or only what it adds to them. */
bool mt_framework_shares_settings(const struct mt_framework_rules *r, int f, int of);
/* The one that a command starts, by a name as in mt_config.started. */
mt_fw mt_framework_of_start(const struct mt_framework_rules *r, const char *name);
/* Whether such a name is that of this pattern, as "starts_as" has them. */
bool mt_framework_is_start(const char *pattern, const char *name);
/* The one that gives its processes such a name: "WorkerDict", "WorkerDictAsync". */
mt_fw mt_framework_of_process(const struct mt_framework_rules *r, const char *name);
/* Counts in n, for each row, a line of a text in which one of its words of told_by stands, in
 * whatever case and as a word of its own, unless the line says that it is not used. */
void mt_framework_of_words(const struct mt_framework_rules *r, const char *line,
                           uint64_t n[MT_FW_MAX]);
/* Whether a line of a text has that word, given in small letters, as a word of its own, of a path
 * too, and does not deny it. Here and in told_by "*word" is the end of a name. */
bool mt_framework_is_said(const char *line, const char *word);
/* The one whose lines of a log are of this kind, mt_log_kind_name(), or have this form. */
mt_fw mt_framework_of_log_line(const struct mt_framework_rules *r, const char *kind);
/* The packages whose files a log may name, for mt_log_read(). */
const char *const *mt_framework_log_packages(const struct mt_framework_rules *r);
/* The engine that gets its memory through this library. */
mt_fw mt_framework_of_allocator(const struct mt_framework_rules *r, const char *library);
/* A public package of that name. */
bool mt_framework_is_package(const struct mt_framework_rules *r, const char *name, size_t n);
/* A folder that this package has. */
bool mt_framework_is_inside(const struct mt_framework_rules *r, const char *package,
                            size_t package_n, const char *name, size_t n);

/* What is known of one job. */
struct mt_frameworks {
    const struct mt_framework_rules *rules;
    /* the RL framework if one is there, else the tuner, else the trainer, else MT_FW_NONE */
    mt_fw main;
    mt_fw engine;     /* or MT_FW_NONE */
    bool forced;      /* named on the command line */
    bool by_settings; /* main is no frame's: the settings of the run or a log name it */
    /* a script that is no framework's runs, and no frame is one's: keys that a framework has as
     * well are that script's own */
    bool own_script;
    uint64_t frames[MT_FW_MAX]; /* distinct frames of each, the evidence */
    uint64_t seen;              /* rows whose frames occur */
    uint32_t parts;             /* enum mt_fw_part */
};
/* Whether the job has any of these parts: its frames show it, or each job of its framework has. */
bool mt_frameworks_have(const struct mt_frameworks *fw, unsigned parts);
/* Everything that is there: by its frames, or as what runs the job. */
uint64_t mt_frameworks_seen(const struct mt_frameworks *fw);
/* Whether a module that runs is a script: a file in nobody's package, and no command that a package
 * installs. */
bool mt_trace_runs_script(const struct mt_trace *t);
/* false = out of memory. */
bool mt_frameworks_detect(const struct mt_framework_rules *r, const struct mt_trace *t,
                          struct mt_frameworks *out);

#endif
