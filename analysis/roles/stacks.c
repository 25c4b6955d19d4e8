/* From frames to roles: first the rule of every function that has one, then one pass over the tree
 * of stacks. */
#include "analysis/base/frames.h"
#include "analysis/roles/rules.h"
#include "parser/base/find.h"
#include "parser/model/intern.h"

#include <stdlib.h>
#include <string.h>

/* A Python rule by the string id of its function; sorted, so that a function of the trace costs one
 * look-up. */
struct named {
    mt_str_id name;
    uint16_t rule; /* + 1 */
};

struct build {
    const struct mt_role_rules *rules;
    const struct mt_trace *t;
    MT_VEC(struct named) named;
    MT_VEC(uint16_t) of_cpp; /* rules of C++ frames */
    /* by function: rule + 1; first, last: of the lowest, of the highest line only; free: of what it
     * lets go */
    uint16_t *python, *first, *last, *cpp, *free;
    uint32_t *function; /* by frame */
    /* by function: of its lines that allocate; low > high: none does */
    uint32_t *low, *high;
};

static int by_name(const void *pa, const void *pb)
{
    const struct named *a = pa, *b = pb;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->rule < b->rule ? -1 : a->rule > b->rule;
}

static int name_rules(struct build *b)
{
    for (uint32_t i = 0; i < mt_role_rules_count(b->rules); i++) {
        const struct mt_role_rule *r = mt_role_rule_at(b->rules, i);
        mt_str_id id;
        struct named *at;
        uint16_t *cpp;
        if (r->is_cpp && (cpp = MT_VEC_PUSH(&b->of_cpp)) == NULL)
            return 0;
        if (r->is_cpp)
            *cpp = (uint16_t)i;
        if (r->is_cpp ||
            (id = mt_strpool_find(&b->t->str, r->function, strlen(r->function))) == MT_STR_FAIL)
            continue;
        if ((at = MT_VEC_PUSH(&b->named)) == NULL)
            return 0;
        *at = (struct named){id, (uint16_t)(i + 1)};
    }
    if (b->named.n > 1)
        qsort(b->named.p, b->named.n, sizeof *b->named.p, by_name);
    return 1;
}

/* The longer file wins, then an overlay, then the earlier rule. "*" is the shortest. */
static bool better(const struct build *b, uint32_t rule, uint32_t than)
{
    const struct mt_role_rule *r = mt_role_rule_at(b->rules, rule - 1), *o;
    if (than == 0)
        return true;
    o = mt_role_rule_at(b->rules, than - 1);
    if (strlen(r->file) != strlen(o->file))
        return strlen(r->file) > strlen(o->file);
    if (r->is_overlay != o->is_overlay)
        return r->is_overlay;
    return rule < than;
}

static void python_function(struct build *b, uint32_t f)
{
    const struct mt_function *fn = &b->t->functions.p[f];
    const char *file = mt_str(b->t, fn->file);
    uint32_t n = mt_str_len(b->t, fn->file), lo = 0, hi = b->named.n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (b->named.p[mid].name < fn->name)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < b->named.n && b->named.p[lo].name == fn->name; lo++) {
        uint16_t rule = b->named.p[lo].rule;
        const struct mt_role_rule *r = mt_role_rule_at(b->rules, rule - 1u);
        uint16_t *at = r->at_free                   ? &b->free[f]
                       : r->lines == MT_LINES_FIRST ? &b->first[f]
                       : r->lines == MT_LINES_LAST  ? &b->last[f]
                                                    : &b->python[f];
        if ((strcmp(r->file, "*") == 0 ||
             mt_path_ends(file, n, r->file, (uint32_t)strlen(r->file))) &&
            better(b, rule, *at))
            *at = rule;
    }
}

static void cpp_function(struct build *b, uint32_t f)
{
    const char *name = mt_str(b->t, b->t->functions.p[f].name);
    uint32_t n = mt_str_len(b->t, b->t->functions.p[f].name);
    for (uint32_t i = 0; i < b->of_cpp.n; i++) {
        const struct mt_role_rule *r = mt_role_rule_at(b->rules, b->of_cpp.p[i]);
        if (mt_find(name, n, r->function, strlen(r->function)) != NULL) {
            b->cpp[f] = (uint16_t)(b->of_cpp.p[i] + 1);
            if (r->role == MT_ROLE_WORKSPACE)
                return;
        }
    }
}

static int find_functions(struct build *b)
{
    struct mt_file_kinds kinds = {0};
    if (!mt_file_kinds_init(&kinds, b->t))
        return 0;
    for (uint32_t f = 0; f < b->t->functions.n; f++) {
        mt_str_id file = b->t->functions.p[f].file;
        b->low[f] = UINT32_MAX;
        if ((mt_file_kind(&kinds, b->t, file) & MT_FILE_PYTHON) != 0)
            python_function(b, f);
        else
            cpp_function(b, f);
    }
    mt_file_kinds_done(&kinds);
    return 1;
}

/* Notes the lowest and the highest line of a function at which it allocates itself. A line that
 * only calls a function that allocates says nothing of the order of the buffers. */
static void note_line(struct build *b, struct mt_file_kinds *kinds, uint8_t *seen, mt_stack_id s)
{
    mt_frame_id frame;
    uint32_t f, line;
    if (s >= b->t->stacks.n || (seen[s / 8] >> (s % 8) & 1))
        return;
    seen[s / 8] |= (uint8_t)(1u << (s % 8));
    if (mt_stack_site(b->t, kinds, s, &frame) != MT_SITE_PYTHON)
        return;
    f = b->function[frame];
    line = b->t->frames.p[frame].line;
    if (line < b->low[f])
        b->low[f] = line;
    if (line > b->high[f])
        b->high[f] = line;
}

static int find_lines(struct build *b)
{
    struct mt_file_kinds kinds = {0};
    uint8_t *seen;
    bool any = false;
    for (uint32_t f = 0; f < b->t->functions.n && !any; f++)
        any = b->first[f] != 0 || b->last[f] != 0;
    if (!any)
        return 1;
    seen = mt_calloc(b->t->stacks.n / 8 + 1u, 1);
    if (seen == NULL || !mt_file_kinds_init(&kinds, b->t)) {
        mt_free(seen);
        return 0;
    }
    for (uint32_t d = 0; d < b->t->devices.n; d++)
        for (uint64_t i = 0; i < b->t->devices.p[d].events.n; i++) {
            const struct mt_event *e = mt_event_at(&b->t->devices.p[d], i);
            if (e->action == MT_ACT_ALLOC || e->action == MT_ACT_OOM)
                note_line(b, &kinds, seen, e->stack);
        }
    for (uint32_t i = 0; i < b->t->blocks.n; i++)
        note_line(b, &kinds, seen, b->t->blocks.p[i].stack);
    mt_file_kinds_done(&kinds);
    mt_free(seen);
    return 1;
}

/* The rule of a frame. Of a function that allocates at lines 10, 20 and 30, "first" means line 10.
 * "last" means 20 and 30; where the function has a rule for all its lines as well, "last" means 30
 * and that rule 20. */
static uint16_t python_rule(const struct build *b, mt_frame_id frame)
{
    uint32_t f = b->function[frame], line = b->t->frames.p[frame].line;
    bool several = b->low[f] < b->high[f];
    if (several && b->first[f] != 0 && line == b->low[f])
        return b->first[f];
    if (b->last[f] != 0 && (b->python[f] == 0 || (several && line == b->high[f])))
        return b->last[f];
    return b->python[f];
}

static void walk_frees(const struct build *b, uint8_t *freed_role)
{
    const struct mt_stack_node *node = b->t->stacks.p;
    bool any = false;
    for (uint32_t f = 0; f < b->t->functions.n && !any; f++)
        any = b->free[f] != 0;
    if (!any) {
        memset(freed_role, MT_ROLE_COUNT, b->t->stacks.n + (size_t)1);
        return;
    }
    freed_role[0] = MT_ROLE_COUNT;
    for (uint32_t i = 1; i < b->t->stacks.n; i++) {
        uint16_t rule = node[i].frame != 0 ? b->free[b->function[node[i].frame]] : 0;
        freed_role[i] = rule != 0            ? mt_role_rule_at(b->rules, rule - 1u)->role
                        : node[i].parent < i ? freed_role[node[i].parent]
                                             : MT_ROLE_COUNT;
    }
}

/* The rule of a stack from that of its innermost frame and that of the frames around it: who reads
 * a file does not know what is in it, and an optimizer that has it read does. */
static uint16_t inner_rule(const struct build *b, uint16_t inner, uint16_t around)
{
    if (inner == 0)
        return around;
    if (around != 0 && mt_role_rule_at(b->rules, inner - 1u)->role == MT_ROLE_CHECKPOINT &&
        mt_role_rule_at(b->rules, around - 1u)->role == MT_ROLE_OPTIM_STATE)
        return around;
    return inner;
}

static int walk_stacks(const struct build *b, uint16_t *stack_role)
{
    const struct mt_stack_node *node = b->t->stacks.p;
    /* the rule of the innermost Python frame is kept in stack_role until the end */
    uint16_t *cpp = mt_calloc(b->t->stacks.n + 1u, sizeof *cpp);
    if (cpp == NULL)
        return 0;
    stack_role[0] = 0;
    for (uint32_t i = 1; i < b->t->stacks.n; i++) {
        uint32_t up = node[i].parent < i ? node[i].parent : 0,
                 f = node[i].frame != 0 ? b->function[node[i].frame] : 0;
        uint16_t py = node[i].frame != 0 ? python_rule(b, node[i].frame) : 0,
                 c = node[i].frame != 0 ? b->cpp[f] : 0;
        stack_role[i] = inner_rule(b, py, stack_role[up]);
        cpp[i] = c != 0 ? c : cpp[up];
    }
    for (uint32_t i = 0; i < b->t->stacks.n; i++) {
        uint16_t rule = stack_role[i];
        if (cpp[i] != 0 &&
            (rule == 0 || mt_role_rule_at(b->rules, cpp[i] - 1u)->role == MT_ROLE_WORKSPACE))
            rule = cpp[i];
        stack_role[i] = MT_NO_STACK_ROLE;
        if (rule != 0)
            stack_role[i] =
                (uint16_t)(mt_role_rule_at(b->rules, rule - 1u)->role | MT_WHY_FRAME << 8 |
                           (mt_role_rule_at(b->rules, rule - 1u)->always ? MT_STACK_ALWAYS : 0));
    }
    mt_free(cpp);
    return 1;
}

int mt_role_stacks(const struct mt_role_rules *r, const struct mt_trace *t, uint16_t *stack_role,
                   uint8_t *freed_role)
{
    struct build b = {.rules = r, .t = t};
    size_t n = (size_t)t->functions.n + 1;
    int ok;
    b.python = mt_calloc(n, sizeof *b.python);
    b.first = mt_calloc(n, sizeof *b.first);
    b.last = mt_calloc(n, sizeof *b.last);
    b.cpp = mt_calloc(n, sizeof *b.cpp);
    b.free = mt_calloc(n, sizeof *b.free);
    b.low = mt_calloc(n, sizeof *b.low);
    b.high = mt_calloc(n, sizeof *b.high);
    b.function = mt_calloc((size_t)t->frames.n + 1, sizeof *b.function);
    ok = b.python != NULL && b.first != NULL && b.last != NULL && b.cpp != NULL && b.free != NULL &&
         b.low != NULL && b.high != NULL && b.function != NULL && name_rules(&b) &&
         mt_functions_of_frames(t, b.function);
    if (ok && (ok = find_functions(&b)) != 0) {
        walk_frees(&b, freed_role);
        ok = find_lines(&b) && walk_stacks(&b, stack_role);
    }
    MT_VEC_DONE(&b.named);
    MT_VEC_DONE(&b.of_cpp);
    mt_free(b.python);
    mt_free(b.first);
    mt_free(b.last);
    mt_free(b.cpp);
    mt_free(b.free);
    mt_free(b.low);
    mt_free(b.high);
    mt_free(b.function);
    return ok;
}
