/* expr.h -- small expressions of rule files over the metrics of a trace: "role.logits > 0.1 * live
 * && tokens_per_gpu > 4096".
 *
 *   numbers (with k, M, G = 2^10, 2^20, 2^30 and GB = 10^9), names, + - * /, < <= > >= == !=, && ||
 * !, ( ), min(a, b, ...), max(...), floor(x), ceil(x), round_down(x, step), known(name), or(name,
 * default)
 *
 * A name without a value makes every result it takes part in unknown; an unknown condition does not
 * hold: rules fire on evidence only. Division by zero is unknown. Nothing else can fail at run
 * time. Thread-safety: any thread may evaluate any expression. */
#ifndef MT_EXPR_H
#define MT_EXPR_H

#include "parser/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_value {
    double v;
    bool known;
    unsigned char conf; /* enum mt_conf: the lowest of all that took part */
};
typedef struct mt_value (*mt_expr_lookup)(void *arg, const char *name, size_t n);

struct mt_expr;
/* MT_OK, MT_EINPUT with position and complaint in err->msg, MT_ENOMEM. is_name says which names
 * exist, so that a misspelt one is an error. */
enum mt_rc mt_expr_compile(struct mt_expr **out, const char *text,
                           bool (*is_name)(void *arg, const char *name, size_t n), void *arg,
                           struct mt_err *err);
/* The same of text that is known to be right and stays where it is: the built-in rules have 1,500,
 * of which a report needs a few, so each is compiled when it is first evaluated. NULL = out of
 * memory. */
struct mt_expr *mt_expr_later(const char *text);
/* Compiles what mt_expr_later() gave now, with the names checked as by mt_expr_compile(). Nobody
 * may evaluate it meanwhile. MT_OK, also where it is compiled already; MT_EINPUT or MT_ENOMEM. */
enum mt_rc mt_expr_now(const struct mt_expr *e,
                       bool (*is_name)(void *arg, const char *name, size_t n), void *arg,
                       struct mt_err *err);
const char *mt_expr_text(const struct mt_expr *e);
struct mt_value mt_expr_eval(const struct mt_expr *e, mt_expr_lookup lookup, void *arg);
void mt_expr_free(struct mt_expr *e); /* NULL is fine */

#endif
