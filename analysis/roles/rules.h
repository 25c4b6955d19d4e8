/* roles/rules.h -- which frames tell what a tensor is for, and the vocabularies of known models:
 * analysis/rules/roles.json, overlaid by the arrays "roles" and "vocabularies" of --rules. */
#ifndef MT_ROLES_RULES_H
#define MT_ROLES_RULES_H

#include "analysis/facts/role_facts.h"

struct mt_role_rule {
    const char *id, *framework;
    /* end of a path; "C++" = the function is a part of a C++ frame's name; "*" = any Python file */
    const char *file;
    const char *function; /* without class */
    const char *note, *source;
    char status;   /* G R D U, as with phase rules */
    uint8_t role;  /* enum mt_role */
    uint8_t lines; /* enum mt_role_lines */
    /* however long it lives: a bucket that outlives the backward pass is no gradient */
    bool always;
    bool at_free; /* the frame is one that lets blocks of that role go, not one that makes them */
    bool is_cpp;  /* file is "C++" */
    bool is_overlay; /* came with --rules */
};
/* A constructor may make two buffers for two purposes: told apart by the order of its lines. */
enum mt_role_lines { MT_LINES_ANY, MT_LINES_FIRST, MT_LINES_LAST };

struct mt_vocab {
    uint64_t size;
    const char *source;
};

/* A word in the name that a job gives its memory, in small letters with '_' for what is no letter
 * or digit. */
struct mt_role_word {
    const char *word;
    uint8_t role;
};

struct mt_role_rules; /* immutable after loading */
enum mt_rc mt_role_rules_load(struct mt_role_rules **out, const char *overlay, size_t overlay_len,
                              const char *overlay_name, struct mt_err *err);
void mt_role_rules_free(struct mt_role_rules *r);
/* indexes are 0 .. count - 1 */
uint32_t mt_role_rules_count(const struct mt_role_rules *r);
/* NULL beyond */
const struct mt_role_rule *mt_role_rule_at(const struct mt_role_rules *r, uint32_t index);
/* By the first word of the table that stands in it; MT_ROLE_COUNT = none does. */
unsigned mt_role_of_name(const struct mt_role_rules *r, const char *name, size_t n);
uint32_t mt_vocabs_count(const struct mt_role_rules *r);
const struct mt_vocab *mt_vocab_at(const struct mt_role_rules *r, uint32_t index);

/* What the frames of every stack say: stack_role[id] = role | MT_WHY_FRAME << 8 (|
 * MT_STACK_ALWAYS), or MT_NO_STACK_ROLE. The innermost Python frame that a rule knows decides, but
 * for what an optimizer has read from a file, which are its states; a C++ frame decides where there
 * is none, and a library's workspace always. Constant work for each stack. */
#define MT_NO_STACK_ROLE UINT16_MAX
#define MT_STACK_ALWAYS 0x8000u /* the rule's "always" */
/* freed_role[id] = the role of what the stack lets go, by the rules with "at": "free" (the
 * innermost frame that one knows), or MT_ROLE_COUNT. 0 = out of memory */
int mt_role_stacks(const struct mt_role_rules *r, const struct mt_trace *t, uint16_t *stack_role,
                   uint8_t *freed_role);

#endif
