/* base/operation.c -- which operation of PyTorch's made a block. */
#include "analysis/base/operation.h"

#include "analysis/base/frames.h"

#include <stdio.h>
#include <string.h>

/* "sort" of at::_ops::sort_stable::call and "pow" of at::_ops::pow_Tensor_Scalar::call: an overload
 * begins with a capital letter, or is one of few words. */
static size_t without_overload(const char *name, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++)
        if (name[i] == '_' && name[i + 1] >= 'A' && name[i + 1] <= 'Z')
            return i;
    return n;
}

static bool read_operator(const char *function, char *buf, size_t cap)
{
    static const char space[] = "at::_ops::";
    const char *name = function + strlen(space), *end;
    if (strncmp(function, space, strlen(space)) != 0 || *name == '_' ||
        (end = strstr(name, "::")) == NULL)
        return false;
    (void)snprintf(buf, cap, "%.*s", (int)without_overload(name, (size_t)(end - name)), name);
    return true;
}

static bool is_of_torch(const char *file, uint32_t n)
{
    static const char *const files[] = {"torch/functional.py", "torch/nn/functional.py",
                                        "torch/_tensor.py"};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        if (mt_path_ends(file, n, files[i], (uint32_t)strlen(files[i])))
            return true;
    return false;
}

bool mt_stack_operation(const struct mt_trace *t, mt_stack_id s, char *buf, size_t cap)
{
    bool found = false;
    for (; s != 0; s = t->stacks.p[s].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
        const char *file = mt_str(t, f->file);
        if (!mt_file_is_python(file, mt_str_len(t, f->file))) {
            found = read_operator(mt_str(t, f->name), buf, cap) || found;
            continue;
        }
        if (!found && is_of_torch(file, mt_str_len(t, f->file))) {
            (void)snprintf(buf, cap, "%s", mt_str(t, f->name));
            found = true;
        }
        break;
    }
    return found;
}

bool mt_operation_fills(const char *name)
{
    /* the factories of PyTorch's native_functions.yaml that take a size */
    static const char *const names[] = {"zeros",  "ones",     "full",     "empty",
                                        "rand",   "randn",    "eye",      "randint",
                                        "arange", "linspace", "logspace", "randperm"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool mt_stack_fills(const struct mt_trace *t, mt_stack_id s)
{
    char by[64];
    return mt_stack_operation(t, s, by, sizeof by) && mt_operation_fills(by);
}
