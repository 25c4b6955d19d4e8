/* Whose call it was: the first frame that is neither the driver, the runtime,
 * the C library nor the recorder. */
#include "analysis/ledger/impl.h"
#include "analysis/base/glob.h"
#include "analysis/base/rule_read.h"

#include <stdio.h>
#include <stdlib.h>

/* BUILT_IN: room that an overlay, which is read first, leaves to the rows of libraries.json. */
enum { MAX_RULES = 4096, BUILT_IN = 512, SITE_MAX = 200 };

static MT_RULE_GET(get_holder)
{
    static const char *const words[] = {"skip",   "torch",   "engine",  "nccl", "math",
                                        "graphs", "context", "library", NULL};
    const struct mt_rule_spec of_words = {.name = f->name, .more = words};
    int k = 0;
    enum mt_rc rc = mt_get_word(r, &of_words, v, &k);
    *(uint8_t *)out = MT_HOLD_SKIP;
    for (int h = 0; rc == MT_OK && h < MT_HOLD_NAMED; h++)
        if (strcmp(mt_holder_id((enum mt_holder)h), words[k]) == 0)
            *(uint8_t *)out = (uint8_t)h;
    return rc;
}

static enum mt_rc read_row(struct mt_rule_reader *rd, const cJSON *obj)
{
    static const struct mt_rule_spec fields[] = {
        {"library", mt_get_text, .at = offsetof(struct mt_lib_rule, library), .is_needed = true},
        {"holder", get_holder, .at = offsetof(struct mt_lib_rule, holder), .is_needed = true},
        {"words", NULL, .at = 0},
        {"source", NULL, .at = 0},
        {"function", mt_get_text, .at = offsetof(struct mt_lib_rule, function)},
        {.name = NULL}};
    struct mt_libs *l = rd->of;
    uint32_t most = rd->is_overlay ? MAX_RULES - BUILT_IN : MAX_RULES;
    struct mt_lib_rule *rule = l->rule.n < most ? MT_VEC_PUSH(&l->rule) : NULL;
    if (rule != NULL)
        return mt_rule_fields(rd, obj, fields, rule);
    return l->rule.n < most ? mt_rule_nomem(rd)
                            : mt_rule_bad(rd, NULL, "there are more than %u library rules", most);
}

/* The rows of the overlay come first: the first that fits counts. */
enum mt_rc mt_libs_load(struct mt_libs *l, const struct mt_driverdiag_opts *o, struct mt_err *err)
{
    static const struct mt_rule_list lists[] = {{"libraries", "library", "library", read_row},
                                                {.name = NULL}};
    struct mt_rule_reader rd = {.file = "libraries.json", .arena = &l->arena, .err = err, .of = l};
    char **none = MT_VEC_PUSH(&l->name);
    enum mt_rc rc = none != NULL
                        ? mt_rule_overlay(&rd, o->overlay, o->overlay_len, o->overlay_name, lists)
                        : mt_rule_nomem(&rd);
    return rc == MT_OK ? mt_rule_builtin(&rd, "libraries.json", lists) : rc;
}

void mt_libs_done(struct mt_libs *l)
{
    for (uint32_t i = 0; i < l->name.n; i++)
        mt_free(l->name.p[i]);
    MT_VEC_DONE(&l->name);
    MT_VEC_DONE(&l->rule);
    mt_arena_done(&l->arena);
}

enum mt_rc mt_lib_rules_check(const char *overlay, size_t n, const char *name, struct mt_err *err)
{
    struct mt_driverdiag_opts o = {.overlay = overlay, .overlay_name = name, .overlay_len = n};
    struct mt_libs l = {0};
    enum mt_rc rc = mt_libs_load(&l, &o, err);
    mt_libs_done(&l);
    return rc;
}

int mt_stack_who_init(struct mt_stack_who *w, const struct mt_trace *t)
{
    w->t = t;
    w->of = mt_malloc(((size_t)t->stacks.n + 1) * sizeof *w->of);
    w->of_frame = mt_calloc((size_t)t->frames.n + 1, sizeof *w->of_frame);
    if (w->of == NULL || w->of_frame == NULL)
        return 0;
    for (uint32_t i = 0; i <= t->stacks.n; i++)
        w->of[i] = (struct mt_who){MT_HOLD_UNKNOWN, UINT32_MAX};
    return 1;
}

void mt_stack_who_done(struct mt_stack_who *w)
{
    mt_free(w->of);
    mt_free(w->of_frame);
}

/* The library of a frame: the file, or what stands before '+' in
 * "libx.so+0x1234" when the file is a source file. */
static const char *module_of(const struct mt_trace *t, mt_frame_id f, size_t *n)
{
    const struct mt_driver *d = t->driver;
    const char *file = mt_str(t, t->frames.p[f].file), *name = mt_str(t, t->frames.p[f].name),
               *plus = strrchr(name, '+');
    const char *slash = strrchr(file, '/');
    if (f < d->frame_module.n && d->frame_module.p[f] != 0)
        file = mt_str(t, d->frame_module.p[f]);
    else if (slash != NULL && slash[1] != '\0')
        file = slash + 1;
    *n = strlen(file);
    if (file[0] == '\0' && plus != NULL && plus > name && strncmp(plus, "+0x", 3) == 0) {
        *n = (size_t)(plus - name);
        return name;
    }
    return file;
}

/* The first rule that fits + 2; 1 = none. */
static uint16_t rule_for(const struct mt_libs *l, const char *module, size_t n, const char *name)
{
    for (uint32_t i = 0; i < l->rule.n; i++) {
        const struct mt_lib_rule *r = &l->rule.p[i];
        if (mt_glob(r->library, module, n) &&
            (r->function == NULL || mt_glob(r->function, name, strlen(name))))
            return (uint16_t)(i + 2);
    }
    return 1;
}

static uint16_t rule_of(const struct mt_libs *l, struct mt_stack_who *w, mt_frame_id f)
{
    const char *name = mt_str(w->t, w->t->frames.p[f].name), *module;
    size_t n;
    if (w->of_frame[f] != 0)
        return w->of_frame[f];
    module = module_of(w->t, f, &n);
    return w->of_frame[f] = rule_for(l, module, n, name);
}

static bool is_skipped(const struct mt_libs *l, uint16_t rule)
{
    return rule > 1 && l->rule.p[rule - 2].holder == MT_HOLD_SKIP;
}

/* Whether a frame says whose call it was: *holder. */
static bool decides(const struct mt_libs *l, uint16_t rule, size_t n_module, uint8_t *holder)
{
    if (is_skipped(l, rule) || (rule == 1 && n_module == 0))
        return false;
    *holder = rule > 1 ? l->rule.p[rule - 2].holder : MT_HOLD_LIBRARY;
    return true;
}

static int name_add(struct mt_libs *l, const char *s, size_t n, uint32_t *id)
{
    char **at;
    for (uint32_t i = 1; i < l->name.n; i++) {
        if (strncmp(l->name.p[i], s, n) == 0 && l->name.p[i][n] == '\0') {
            *id = i;
            return 1;
        }
    }
    at = MT_VEC_PUSH(&l->name);
    if (at == NULL || (*at = mt_strndup(s, n)) == NULL)
        return 0;
    *id = l->name.n - 1;
    return 1;
}

/* Whether a row of the holder names its library, too; other holders need none. */
static bool names_library(uint8_t h)
{
    return h == MT_HOLD_ENGINE || h == MT_HOLD_NCCL || h == MT_HOLD_MATH || h == MT_HOLD_LIBRARY;
}

int mt_stack_who(struct mt_libs *l, struct mt_stack_who *w, mt_stack_id s, struct mt_who *out)
{
    struct mt_who found = {MT_HOLD_UNKNOWN, 0};
    if (s >= w->t->stacks.n) {
        *out = found;
        return 1;
    }
    if (w->of[s].lib == UINT32_MAX) {
        for (mt_stack_id i = s; i != 0; i = w->t->stacks.p[i].parent) {
            uint16_t rule = rule_of(l, w, w->t->stacks.p[i].frame);
            size_t n;
            const char *module = module_of(w->t, w->t->stacks.p[i].frame, &n);
            if (!decides(l, rule, n, &found.holder))
                continue;
            if (names_library(found.holder) && !name_add(l, module, n, &found.lib))
                return 0;
            break;
        }
        w->of[s] = found;
    }
    *out = w->of[s];
    return 1;
}

/* ---- frames without a trace ---- */

struct mt_owner_rules {
    struct mt_libs libs;
};

enum mt_rc mt_owner_rules_new(struct mt_owner_rules **out, const struct mt_driverdiag_opts *o,
                              struct mt_err *err)
{
    enum mt_rc rc;
    *out = mt_calloc(1, sizeof **out);
    if (*out == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    rc = mt_libs_load(&(*out)->libs, o, err);
    if (rc != MT_OK) {
        mt_owner_rules_free(*out);
        *out = NULL;
    }
    return rc;
}

void mt_owner_rules_free(struct mt_owner_rules *r)
{
    if (r == NULL)
        return;
    mt_libs_done(&r->libs);
    mt_free(r);
}

bool mt_owner_needs_function(const struct mt_owner_rules *r, const char *library)
{
    for (uint32_t i = 0; i < r->libs.rule.n; i++) {
        const struct mt_lib_rule *rule = &r->libs.rule.p[i];
        if (mt_glob(rule->library, library, strlen(library)))
            return rule->function != NULL;
    }
    return false;
}

enum mt_holder mt_owner_of(const struct mt_owner_rules *r, const struct mt_owner_frame *f,
                           uint32_t n, const char **library)
{
    uint8_t holder = MT_HOLD_UNKNOWN;
    *library = NULL;
    for (uint32_t i = 0; i < n; i++) {
        size_t n_library = strlen(f[i].library);
        uint16_t rule = rule_for(&r->libs, f[i].library, n_library, f[i].function);
        if (!decides(&r->libs, rule, n_library, &holder))
            continue;
        if (names_library(holder))
            *library = f[i].library;
        break;
    }
    return (enum mt_holder)holder;
}

/* Not "libx.so+0x1234". */
static bool is_named(const char *function)
{
    const char *plus = strrchr(function, '+');
    return plus == NULL || strncmp(plus, "+0x", 3) != 0;
}

char *mt_native_site(struct mt_libs *l, struct mt_stack_who *w, mt_stack_id s)
{
    char buf[SITE_MAX + 64];
    const char *inner = NULL, *first = NULL, *name;
    size_t first_n = 0, n;
    int len;
    if (s >= w->t->stacks.n)
        s = 0;
    /* the outermost frame in the owner's library: its entry point, which people know */
    for (; s != 0; s = w->t->stacks.p[s].parent) {
        mt_frame_id f = w->t->stacks.p[s].frame;
        uint16_t rule = rule_of(l, w, f);
        const char *module = module_of(w->t, f, &n);
        if (inner == NULL && (is_skipped(l, rule) || (rule == 1 && n == 0)))
            continue;
        if (inner != NULL && (n != first_n || memcmp(module, first, n) != 0))
            break;
        first = module;
        first_n = n;
        name = mt_str(w->t, w->t->frames.p[f].name);
        if (inner == NULL || is_named(name) || !is_named(inner))
            inner = name;
    }
    if (inner == NULL)
        return mt_strndup("", 0);
    len = snprintf(buf, sizeof buf, "%.80s", inner);
    if (s != 0) {
        const char *module = module_of(w->t, w->t->stacks.p[s].frame, &n);
        name = mt_str(w->t, w->t->frames.p[w->t->stacks.p[s].frame].name);
        if (n != 0 && strncmp(name, module, n) == 0) /* "libx.so+0x12" has the library in it */
            len = snprintf(buf, sizeof buf, "%.80s, called from %.80s", inner, name);
        else
            len = snprintf(buf, sizeof buf, "%.80s, called from %.80s (%.*s)", inner, name,
                           (int)(n < 60 ? n : 60), module);
    }
    return mt_strndup(buf, len < 0 ? 0 : (size_t)len < sizeof buf ? (size_t)len : sizeof buf - 1);
}

struct mt_who mt_call_who(struct mt_books *b, uint32_t proc, const struct mt_call *c)
{
    struct mt_who w = {MT_HOLD_UNKNOWN, 0};
    const struct mt_proc *p = &b->proc[proc];
    switch ((unsigned)c->op) {
    case MT_WO_CONTEXT_CREATE:
    case MT_WO_CONTEXT_DESTROY:
    case MT_WO_CONTEXT_RETAIN:
    case MT_WO_CONTEXT_RELEASE:
    case MT_WO_CONTEXT_RESET:
    case MT_WO_CONTEXT_LIMIT:
    case MT_WO_MODULE_LOAD:
    case MT_WO_MODULE_UNLOAD: w.holder = MT_HOLD_CONTEXT; return w;
    case MT_WO_GRAPH_INSTANTIATE:
    case MT_WO_GRAPH_UPLOAD:
    case MT_WO_GRAPH_EXEC_DESTROY:
    case MT_WO_GRAPH_TRIM: w.holder = MT_HOLD_GRAPHS; return w;
    default: break;
    }
    if (!mt_stack_who(&b->libs, &b->who[p->driver], c->stack, &w))
        b->nomem = true;
    if (p->sweep != NULL && w.holder != MT_HOLD_ENGINE && w.holder != MT_HOLD_TORCH &&
        c->result == 0 && c->addr != 0) {
        bool yes = false;
        if (!mt_claim_sweep_has(p->sweep, c->addr, c->size, c->time_ns, &yes))
            b->nomem = true;
        if (yes)
            w = (struct mt_who){MT_HOLD_TORCH, 0};
    }
    return w;
}
