/* advice/rules.h -- what to change when memory runs out: rules as data, loaded once, const
 * afterwards.
 *
 * The built-in rules are analysis/rules/fixes/ (one file per framework, and order.json: which rules
 * to try in which order for each class of phase); --rules FILE replaces and adds some.
 * docs/rules.md describes the fields. A rule that is wrong or without effect stays listed, so that
 * readers of old guides find out why, but is never given as advice. Everything reachable from
 * struct mt_fix_rules is owned by it. Thread-safety: immutable after mt_fix_rules_load(). */
#ifndef MT_ADVICE_RULES_H
#define MT_ADVICE_RULES_H

#include "analysis/base/expr.h"
#include "analysis/facts/analysis.h"
#include "analysis/setup/framework.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_fix_class {
#define MT_FIX_CLASS(N, id, words) MT_FIX_##N,
#include "analysis/advice/classes.def"
#undef MT_FIX_CLASS
    MT_FIX_CLASS_COUNT /* also: no class, because the phase is not known */
};
const char *mt_fix_class_id(enum mt_fix_class c);    /* "rollout_kv_alloc" */
int mt_fix_class_find(const char *id);               /* -1 when unknown */
const char *mt_fix_class_words(enum mt_fix_class c); /* "rollout: KV-cache allocation" */

enum mt_fix_kind {
    MT_FIX_SETTING,  /* something to set */
    MT_FIX_TIP,      /* something to know */
    MT_FIX_RECORD,   /* makes the next trace say more; "capture" in the files */
    MT_FIX_REFERENCE /* further reading */
};
const char *mt_fix_kind_name(enum mt_fix_kind k);

/* What became of the rule when it was compared with the framework's code. */
enum mt_fix_status {
    MT_FIX_OK,      /* exists as written */
    MT_FIX_MOVED,   /* exists under another name by now */
    MT_FIX_PARTIAL, /* exists, but the guide leaves out a condition or claims too much */
    MT_FIX_WRONG,   /* does not exist */
    MT_FIX_NOOP,    /* accepted, without effect */
    MT_FIX_DOC      /* advice of a document; nothing to check in code */
};
const char *mt_fix_status_name(enum mt_fix_status s); /* "OK" ... */

/* How a setting is typed. */
enum mt_fix_syntax {
    MT_FIX_HYDRA,  /* key=value on the command line */
    MT_FIX_YAML,   /* key: value, the key being a dotted path */
    MT_FIX_FLAG,   /* --key value, or --key alone */
    MT_FIX_ENV,    /* KEY=value in the environment */
    MT_FIX_PYTHON, /* an argument or a statement */
    MT_FIX_SHELL,  /* a command */
    MT_FIX_TEXT    /* a change in words */
};
const char *mt_fix_syntax_name(enum mt_fix_syntax s);

/* Who trains: some keys exist once per role. Bits. */
enum mt_fix_role { MT_FIX_ACTOR = 1, MT_FIX_CRITIC = 2, MT_FIX_REF = 4 };

struct mt_fix_pair {
    /* setting and value; file and function ("" = any); contradiction id and sentence */
    const char *a, *b;
};

/* An expression over the metrics (metrics.def) with its text. e == NULL: there is none. */
struct mt_fix_expr {
    const char *text;
    const struct mt_expr *e;
};

/* What a saving is taken from: roles (1 << enum mt_role), and what is no role. Two savings from the
 * same source are not added up. */
#define MT_FIX_FROM_CACHE (1u << 30)   /* reserved by PyTorch and not live */
#define MT_FIX_FROM_PENDING (1u << 29) /* freed, waiting for the stream */
#define MT_FIX_FROM_OUTSIDE (1u << 28) /* outside PyTorch's allocator */
#define MT_FIX_FROM_GROWN (1u << 26)   /* what grows from step to step, of whatever role */
#define MT_FIX_FROM_REQUEST (1u << 27) /* the failed request itself gets smaller */
/* Several at once, as "frees" of a rule names them: what a training keeps whatever the batch is,
 * what a pass makes, what an engine has. */
#define MT_FIX_STATES                                                                              \
    (1u << MT_ROLE_PARAM | 1u << MT_ROLE_PARAM_CAST | 1u << MT_ROLE_GRAD |                         \
     1u << MT_ROLE_GRAD_REDUCE | 1u << MT_ROLE_OPTIM_STATE | 1u << MT_ROLE_OPTIM_TEMP)
#define MT_FIX_PASS                                                                                \
    (1u << MT_ROLE_ACTIVATION | 1u << MT_ROLE_RECOMPUTE | 1u << MT_ROLE_LOGITS | 1u << MT_ROLE_TEMP)
#define MT_FIX_ENGINE                                                                              \
    (1u << MT_ROLE_KV_CACHE | 1u << MT_ROLE_ENGINE_WEIGHTS | 1u << MT_ROLE_GRAPH_POOL)
struct mt_fix_saving {
    struct mt_fix_expr bytes, low, high; /* low and high: none = by the confidence */
    /* what is still to come after the request with it, at most; none = its share of each role goes
     * from that, too */
    struct mt_fix_expr to_come;
    struct mt_fix_expr parted; /* what is as many times smaller as the work is cut into parts */
    bool only_live;            /* it is of earlier rounds: what is still to come stays as it is */
    enum mt_fix_conf conf;
    uint32_t from;
    const char *note; /* in words, where the expression does not speak for itself; "" */
};

/* A degree of AReaL's allocation strings that is halved in favour of another one. */
struct mt_fix_layout {
    const char *setting; /* "actor.backend", "rollout.backend", "ref.backend" */
    char take, give;     /* letters: data, tensor, pipeline, context, expert */
    const char *names;   /* backends that can, "archon megatron"; "" = any */
};
#define MT_FIX_LAYOUT 256 /* bytes of such a string */

/* Which way a card moves the number that it changes. A number that does not go that way from the
 * one that is set is never typed. */
enum mt_fix_way { MT_FIX_EITHER, MT_FIX_DOWN, MT_FIX_UP };
const char *mt_fix_way_name(enum mt_fix_way w); /* "down", "up"; "" for either */

/* One line to type. */
struct mt_fix_line {
    enum mt_fix_syntax syntax;
    const char *key, *value; /* "" when there is none */
    const char *text;        /* the whole line as it is typed */
    const char *note;        /* "" when there is none */
    /* said too where caution_when holds: what the value must keep to and is not known; "" */
    const char *caution;
    struct mt_fix_expr caution_when;
    /* what its saving hangs on, where only_if_when holds and no recording tells it; "" */
    const char *only_if;
    struct mt_fix_expr only_if_when;
    uint64_t frameworks; /* only for these; 0 = all */
    /* only for these classes (1 << enum mt_fix_class); 0 = all */
    uint32_t phases;
    uint32_t roles;          /* only for these; 0 = all */
    struct mt_fix_expr when; /* shown only when it holds */
    /* of a card that lists a program's settings, where the phase is not known: those of its lines
       that help most jobs of that program are shown alone */
    struct mt_fix_expr usual;
    /* the number to type instead of `value`, where it can be computed */
    struct mt_fix_expr propose;
    /* of a number that divides work over ranks: how many ranks there are; it is a whole part of
       them, or the program refuses to start */
    struct mt_fix_expr part_of;
    const struct mt_fix_layout *layout; /* or an allocation string made of the present one; NULL */
    /* key where a frame of key_frames occurs: it has moved; "" = it has not */
    const char *key_since;
    const struct mt_fix_pair *key_frames;
    uint32_t n_key_frames;
    const struct mt_fix_saving *saving; /* of this line alone; NULL = the card's */
    uint32_t
        frees; /* of this line alone, as a saving's `from`; 0 = that of its saving, or the card's
                */
    /* makes another line of the card take effect: alone it is no reason for the card */
    bool goes_with;
    uint32_t since; /* the oldest PyTorch that has it, as 100 x major + minor; 0 = any */
    bool as_set; /* typed as the run itself wrote the key of the card's `current`, not as `key` */
    enum mt_fix_way moves; /* of a card with several numbers: the way this key's own number goes */
};
#define MT_FIX_MAX_LINES 64

/* Whether a line is a key that a run can have: no statement, command or words. */
static inline bool mt_fix_is_typed(const struct mt_fix_line *l)
{
    return l->syntax <= MT_FIX_ENV && l->key[0] != 0;
}

/* What a reader sees of a rule. A rule has a card of its own and may have variants of it ("up",
 * "down") for some phases. */
struct mt_fix_card {
    const char *name;        /* of the variant; "" for the rule's own */
    const char *title, *why; /* why: what it does to memory */
    const char *constraints; /* "none" when there is none */
    const char *cost;        /* "none" when there is none */
    const struct mt_fix_line *set;
    uint32_t n_set;          /* <= MT_FIX_MAX_LINES */
    struct mt_fix_expr when; /* offered only when it holds */
    /* on already, or forbidden by another setting: not offered when it holds */
    struct mt_fix_expr unless;
    const char *current;     /* name of settings.json that it changes; "" */
    enum mt_fix_way moves;   /* the number of `current` */
    struct mt_fix_expr made; /* holds where that setting made the request that failed */
    /* said where it is on already and the trace shows what it should prevent; "" = in general words
     */
    const char *finding;
    const struct mt_fix_saving *saving; /* NULL = none can be computed */
    /* what gets smaller, as a saving's `from`, where nothing computes how much; 0 = the saving's */
    uint32_t frees;
};
/* What a line of a card makes smaller; 0 = nothing says it. */
uint32_t mt_fix_frees(const struct mt_fix_card *card, const struct mt_fix_line *l);

struct mt_fix_rule {
    const char *id;
    uint64_t frameworks;   /* bits MT_FW_BIT() */
    const char *for_words; /* "verl, AReaL" of them */
    enum mt_fix_kind kind;
    uint32_t phases; /* 1 << enum mt_fix_class */
    struct mt_fix_card card;
    const struct mt_fix_card *variants;
    uint32_t n_variants;
    const char *source;
    enum mt_fix_status status;
    const char *checked;                      /* what the code was found to do; "" */
    const struct mt_fix_pair *contradictions; /* "C7", "the documents disagree: ..." */
    uint32_t n_contradictions;
    /* not advised when the trace records this allocator setting */
    const struct mt_fix_pair *unless_settings;
    uint32_t n_unless_settings;
    /* not advised when the trace has such a frame: it is on already */
    const struct mt_fix_pair *unless_frames;
    uint32_t n_unless_frames;
    /* advised only when the trace has one of these; none = in any */
    const struct mt_fix_pair *needs_frames;
    uint32_t n_needs_frames;
    uint64_t unless_components; /* not advised when one of these occurs */
    /* only with these backends or engines, where the trace tells; 0 = any */
    uint64_t backends;
    const char *const *instead_of; /* not advised when one of these rules was */
    uint32_t n_instead_of;
    /* of rules of one group at most one is among the first three: they shrink the same in two ways;
     * "" */
    const char *group;
    bool offered;
    bool leads;              /* of one program alone: its lines come before what any job has */
    const char *no_saving;   /* why no saving can be computed; "" where there is one */
    const char *not_offered; /* why it is never advised; "" when it is */
    const char *instead;     /* what to do instead, in words; "" */
    const char *const *replaced_by;
    uint32_t n_replaced_by;
    const char *file; /* where it was defined: "fixes/verl.json" or the overlay's name */
};

struct mt_fix_step {
    uint32_t rule;
    const struct mt_fix_card *card;
};

struct mt_fix_rules;
/* Loads the embedded rules and, when overlay != NULL, the "fixes" array of that JSON text
 * (overlay_name for messages): a rule with a known id replaces, others append. MT_EINPUT names
 * file, rule and field. fw has to outlive the rules. */
enum mt_rc mt_fix_rules_load(struct mt_fix_rules **out, const struct mt_framework_rules *fw,
                             const char *overlay, size_t overlay_len, const char *overlay_name,
                             struct mt_err *err);
/* Loading leaves the expressions of built-in rules as they are until one is needed: this compiles
 * all, for the build, while nobody else has the rules. MT_EINPUT names the expression. */
enum mt_rc mt_fix_rules_check(const struct mt_fix_rules *r, struct mt_err *err);
void mt_fix_rules_free(struct mt_fix_rules *r); /* NULL is fine */
/* the rows of metrics that its expressions may name; they live as long as r */
const struct mt_metric_rules *mt_fix_rules_metrics(const struct mt_fix_rules *r);
uint32_t mt_fix_rules_count(const struct mt_fix_rules *r);
/* 0 .. count-1, in file order */
const struct mt_fix_rule *mt_fix_rule_at(const struct mt_fix_rules *r, uint32_t i);
/* NULL when unknown */
const struct mt_fix_rule *mt_fix_rule_find(const struct mt_fix_rules *r, const char *id);
/* The rules to try for a class, in order; column: a framework, MT_FW_NONE = "generic". */
const struct mt_fix_step *mt_fix_order(const struct mt_fix_rules *r, enum mt_fix_class c,
                                       mt_fw column, uint32_t *n);
/* The column for jobs of a framework: its own or the one that it shares, else that of jobs without
 * a framework. */
mt_fw mt_fix_column(const struct mt_fix_rules *r, mt_fw main);
/* What the rules' frameworks are. */
const struct mt_framework_rules *mt_fix_rules_frameworks(const struct mt_fix_rules *r);

#endif
