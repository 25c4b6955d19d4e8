/* phases.h -- which phase of the job an allocation belongs to, from its stack, its neighbours and
 * the recorded annotations.
 *
 * Rules are data (analysis/rules/phases.json, overlaid by --rules). The result for every event is a
 * struct mt_attr. */
#ifndef MT_PHASES_H
#define MT_PHASES_H

#include "analysis/base/phase.h"
#include "analysis/setup/framework.h"

/* One rule of analysis/rules/phases.json, or one of the built-in methods (certain backward, empty
 * backward, carry, ...). */
struct mt_phase_rule {
    const char *id;        /* stable: "phase.torch.optim.adam.step", "method.autograd_engine" */
    const char *framework; /* id of a framework, or whose code else it is: "torch", "mine" */
    char level;            /* C S M K W O N A (docs/rules-phases.md), or '*' for a method */
    /* as in the file: a phase id, or the name of a container or role marker */
    const char *phase;
    const char *file_suffix, *function;
    char status; /* G R D U */
    const char *note, *source;
    const char *last_call; /* holds for the last of several lines of the function that call the one
                              of this name; "" = for all of it */
};

struct mt_phase_rules; /* opaque, immutable after loading */

/* Loads the embedded rules and, when overlay != NULL, the "phases" array of that JSON text
 * (overlay_name for messages): a rule with a known id replaces, others append. MT_EINPUT names
 * file, rule and field. fw has to outlive the rules: what is peculiar to a framework holds for its
 * rules. */
enum mt_rc mt_phase_rules_load(struct mt_phase_rules **out, const struct mt_framework_rules *fw,
                               const char *overlay, size_t overlay_len, const char *overlay_name,
                               struct mt_err *err);
/* What it was loaded with. */
const struct mt_framework_rules *mt_phase_rules_frameworks(const struct mt_phase_rules *r);
void mt_phase_rules_free(struct mt_phase_rules *r);
/* rule indexes are 1 .. count */
uint32_t mt_phase_rules_count(const struct mt_phase_rules *r);
/* NULL for 0 */
const struct mt_phase_rule *mt_phase_rule_at(const struct mt_phase_rules *r, uint32_t index);
/* The phase that the rules give a recorded range of that name, coarse or not; MT_PH_NONE = no rule
 * knows it. */
enum mt_phase mt_annotation_phase(const struct mt_phase_rules *r, const char *s, size_t n);

/* What the inner end of a traceback tells, where the functions that would tell the phase were cut
 * off: a frame (file and name), a method of a worker (name), a function in whatever file (name), a
 * line of code (name), the file of a program or the folder of a server around it (file: its path,
 * name: its last component), a line that says what the job is at (name: the pattern of
 * mt_phase_log_steps()). The first row that fits; false = none. */
enum mt_cut_kind {
    MT_CUT_FRAME,
    MT_CUT_METHOD,
    MT_CUT_NAME,
    MT_CUT_CODE,
    MT_CUT_SCRIPT,
    MT_CUT_FOLDER,
    MT_CUT_LINE,
    MT_CUT_SAID, /* a person's words of when it failed */
    MT_CUT_TOLD, /* a person's sentence about the failure, in small letters */
    MT_CUT_CALL  /* a line of a script that somebody pasted */
};
struct mt_cut_phase {
    enum mt_phase phase, sub; /* MT_PH_NONE = it does not tell that */
    /* of a frame or a name: it does not hold where one of these functions is further out, NULL
       behind the last; NULL = it holds anywhere. "*part" is any name with that in it */
    const char *const *unless_in;
};
/* Whether a function has one of such names. */
bool mt_phase_is_one_of(const char *name, const char *const *functions);
bool mt_phase_of_cut(const struct mt_phase_rules *r, enum mt_cut_kind kind, const char *file,
                     const char *name, struct mt_cut_phase *out);

/* The same of the rows from *row on, which becomes the one behind it: 0 before the first call. */
bool mt_phase_next_cut(const struct mt_phase_rules *r, enum mt_cut_kind kind, const char *file,
                       const char *name, uint32_t *row, struct mt_cut_phase *out);

/* The rows of that table, from 0. Where row `row` names a cause that somebody tells in words:
 * where in the text, a line of sentences in small letters, its word stands, and the cause in words;
 * NULL = it names none, or the text does not have it. */
uint32_t mt_phase_cut_rows(const struct mt_phase_rules *r);
const char *mt_phase_told_cause(const struct mt_phase_rules *r, uint32_t row, const char *text,
                                const char **cause);

/* A file of a program that starts others and waits for them: a traceback that ends there tells that
 * one of them failed, not where. r NULL: false. */
bool mt_phase_is_launcher(const struct mt_phase_rules *r, const char *file);

#define MT_PHASE_LINE 64u /* bytes of such a pattern, the last included */
/* The patterns of lines in which jobs say what they are at, for mt_log_read(); r NULL: NULL. */
const char *const *mt_phase_log_steps(const struct mt_phase_rules *r);

/* Attribution of a trace. The cache per stack lives here; create one per trace. */
struct mt_phaser;
enum mt_rc mt_phaser_new(struct mt_phaser **out, const struct mt_phase_rules *r,
                         const struct mt_trace *t, struct mt_err *err);
void mt_phaser_free(struct mt_phaser *p);
struct mt_phase_opts {
    bool use_annotations; /* false in tests: frames alone */
};
/* Writes out[i] for every event i of the device. alloc and oom events carry their own attribution;
 * all others the phase that holds at that moment. */
enum mt_rc mt_phaser_run(struct mt_phaser *p, uint32_t device, const struct mt_phase_opts *o,
                         struct mt_attr *out, struct mt_err *err);
/* Whether an event is of a pass that keeps what a backward pass would want, where nothing is
 * trained in the whole trace. */
bool mt_phase_keeps_for_none(struct mt_attr a);
/* Whether an event is of a pass behind training that may train or not. */
bool mt_phase_untold(struct mt_attr a);
/* By the stack alone, without neighbours: for blocks that were there before the trace began. */
struct mt_attr mt_phaser_stack(struct mt_phaser *p, mt_stack_id stack);

#endif
