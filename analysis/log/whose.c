/* log/whose.c -- whose memory an error of CUDA was about that says no more than "out of memory": a
 * tensor's, or what lies outside PyTorch, or whether others had the card. */
#include "analysis/log/diagnose.h"

#include <string.h>

/* Arithmetic on tensors calls nothing of CUDA that would allocate beside the allocator. */
static bool computes(const char *code)
{
    static const char *const operators[] = {" * ", " / ", " + ", " - ", " @ "};
    bool does = false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        does |= strstr(code, operators[i]) != NULL;
    return does && strchr(code, '"') == NULL && strchr(code, '\'') == NULL;
}

/* Where a tensor or a module is put on the card: ".cuda()", ".to(device)"; NULL = it is not. */
static const char *moves(const char *code)
{
    static const char *const calls[] = {".cuda(",        ".to(device",       ".to(self.device",
                                        ".to(\"cuda",    ".to('cuda",        ".to(args.device",
                                        ".to(self._dev", ".to(torch.device("};
    const char *at = NULL;
    for (size_t i = 0; at == NULL && i < sizeof calls / sizeof *calls; i++)
        at = strstr(code, calls[i]);
    return at;
}

/* What is moved is a module, of which a job has one: nothing is assigned ("kernel.cuda()"), or it
 * is made there ("net = Net(3).cuda()"). A tensor may be one of many that a loop moves. */
static bool moves_module(const char *code)
{
    const char *at = moves(code), *is = at != NULL ? strchr(code, '=') : NULL, *name;
    if (at == NULL)
        return false;
    if (is == NULL || is > at)
        return memchr(code, '(', (size_t)(at - code)) == NULL;
    name = is + 1 + strspn(is + 1, " ");
    for (const char *p = name; p < at && *p != '('; p++)
        name = *p == '.' ? p + 1 : name;
    return at[-1] == ')' && *name >= 'A' && *name <= 'Z';
}

/* The innermost file runs because another one imports it. */
static bool is_imported(const struct mt_log_stack *s)
{
    for (uint32_t i = 0; i + 1 < s->frames.n; i++)
        if (strcmp(s->frames.p[i].function, "<module>") == 0)
            return true;
    return false;
}

/* PyTorch sets CUDA up when the first tensor needs it; or the line stands where a file is imported
 * or an object is made, before anything runs. */
static bool is_first_on_card(const struct mt_log_stack *s)
{
    const struct mt_log_frame *f = s->frames.n != 0 ? &s->frames.p[s->frames.n - 1] : NULL;
    for (uint32_t i = 0; i < s->frames.n; i++)
        if (strstr(s->frames.p[i].file, "torch/cuda/__init__.py") != NULL &&
            strcmp(s->frames.p[i].function, "_lazy_init") == 0)
            return true;
    if (f == NULL || s->is_deeper || moves(s->code) == NULL)
        return false;
    return strcmp(f->function, "__init__") == 0 ||
           (strcmp(f->function, "<module>") == 0 && (is_imported(s) || moves_module(s->code)));
}

enum mt_log_whose mt_logdiag_whose(const struct mt_logs *logs, const struct mt_log *log,
                                   const struct mt_log_fact *f, const struct mt_log_place *at)
{
    uint32_t torch = mt_logs_torch(logs);
    if (f->kind != MT_LOG_CUDA_OOM || f->text[0] != '\0' || f->platform != 0)
        return MT_WHOSE_UNTOLD;
    if (f->cuda == MT_LG_TENSOR)
        return MT_WHOSE_TENSOR;
    if (f->cuda == MT_LG_START || (at != NULL && is_first_on_card(at->stack)))
        return MT_WHOSE_OTHERS;
    if (log->n_async != 0 || torch > 100 || at == NULL || at->stack->is_deeper)
        return MT_WHOSE_UNTOLD;
    return moves(at->stack->code) != NULL ? MT_WHOSE_MOVED
           : computes(at->stack->code)    ? MT_WHOSE_OLD_WORDS
                                          : MT_WHOSE_UNTOLD;
}
