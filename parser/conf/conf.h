/* conf.h -- what a run was set to, as a flat list of dotted keys: from YAML, JSON and TOML files,
 * launch scripts, Python scripts, Hydra overrides, flags and environment assignments.
 *
 * Nothing is interpreted here beyond the spelling: "--max-tokens-per-gpu 8192" is the key
 * "max-tokens-per-gpu", a YAML mapping is its path joined with dots, a list of scalars is "[a, b]",
 * elements of other lists have their number as a component. A script is never run: variables that
 * it sets to plain text are put in, a value that needs anything else is marked. Bounded: MT_CONF_*
 * below; what is beyond is counted. Thread-safety: one thread per struct. */
#ifndef MT_CONF_H
#define MT_CONF_H

#include "parser/base/err.h"
#include "parser/base/mem.h"

#define MT_CONF_ENTRIES 65536u
#define MT_CONF_KEY 512u    /* bytes of a key, longer ones are dropped */
#define MT_CONF_VALUE 4096u /* bytes of a value, longer ones are cut */
#define MT_CONF_DEPTH 64u
#define MT_CONF_STARTED 256u /* programs that were started, all together */
#define MT_CONF_FILE ((size_t)16 << 20)
#define MT_CONF_BYTES (UINT64_C(64) << 20) /* of keys and values, all together */

enum mt_conf_form {
    MT_CONF_PATH,     /* a path of a YAML file */
    MT_CONF_JSON,     /* of a JSON file */
    MT_CONF_TOML,     /* of a TOML file */
    MT_CONF_OVERRIDE, /* key=value on a command line */
    MT_CONF_FLAG,     /* --key value; the key is without its leading dashes */
    MT_CONF_PYTHON,   /* key=value of a Python script */
    /* NAME=value of the environment; of PYTORCH_*ALLOC_CONF also each part as "NAME.part" */
    MT_CONF_ENV,
    MT_CONF_ALLOCATOR, /* "allocator.expandable_segments": what PyTorch itself recorded */
    MT_CONF_FORM_COUNT
};

struct mt_conf_entry {
    /* value: "" for a flag alone, NULL for a key that is removed ("~key") */
    const char *key, *value;
    const char *source; /* "run.yaml", "--args", "command of rank 0" */
    uint32_t line;      /* from 1; 0 = has none */
    uint8_t form;       /* enum mt_conf_form */
    /* the value is not known: a variable of the shell, an alias, an interpolation */
    bool is_variable;
    /* what a Python script sets an option or a field of its own to where nobody else does */
    bool is_default;
    bool is_name;  /* a Python script's own variable, which may be called like anybody's option */
    bool is_local; /* a script sets it for itself: on a line of its own, and does not export it */
};

struct mt_config {
    struct mt_arena strings;
    /* in the order in which they were read: a later one with the same key holds */
    MT_VEC(struct mt_conf_entry) entries;
    /* What command lines start, as they write it: the module behind -m ("program.trainer.main"), a
     * script ("examples/run_sft.py"), a program and its first word ("swift sft"), which are not
     * told from other pairs of words. */
    MT_VEC(const char *) started;
    uint64_t n_bytes, n_dropped, n_cut;
    bool goes_on; /* a script ends in a backslash: its last command is not all there */
};

/* A Python script, by its name. */
bool mt_conf_is_python(const char *name);
/* A whole file: Python when it is named so, a script of the shell when it begins with "#!" or is
 * named like one, TOML when it is named so or it is lines of "key = value" that no YAML has, JSON
 * when it begins with a brace, else YAML. MT_EINPUT names the line and what is wrong with it, and
 * nothing of the file stays. MT_WARN: of a script, what stands before a quote or
 * bracket that nothing ends. */
enum mt_rc mt_conf_file(struct mt_config *c, const char *text, size_t n, const char *name,
                        struct mt_err *err);
/* Words of a command line, quoted as for a shell. is_script: "name=value" where a command may begin
 * sets a variable of the shell, and MT_WARN as above. */
enum mt_rc mt_conf_args(struct mt_config *c, const char *text, size_t n, const char *source,
                        bool is_script, struct mt_err *err);
/* A Python script that is no file: as one that mt_conf_file() reads. */
enum mt_rc mt_conf_program(struct mt_config *c, const char *text, size_t n, const char *source,
                           struct mt_err *err);
/* YAML, TOML or JSON that is no file: as one of no telling name. */
enum mt_rc mt_conf_block(struct mt_config *c, const char *text, size_t n, const char *source,
                         struct mt_err *err);
/* A line of Python below a frame of a traceback: numbers and switches that its calls are given.
 * line: of the log. */
enum mt_rc mt_conf_code(struct mt_config *c, const char *text, size_t n, const char *source,
                        uint32_t line, struct mt_err *err);
/* One variable of the environment. */
enum mt_rc mt_conf_env(struct mt_config *c, const char *name, const char *value, const char *source,
                       struct mt_err *err);
/* One setting that PyTorch recorded; key without "allocator.". */
enum mt_rc mt_conf_allocator(struct mt_config *c, const char *key, const char *value,
                             const char *source, struct mt_err *err);
/* One more of `started`. MT_OK, also where there are too many, or MT_ENOMEM. */
enum mt_rc mt_conf_start(struct mt_config *c, const char *name, size_t n);
void mt_conf_done(struct mt_config *c); /* zeroed is fine */

#endif
