/* lint_frames.c -- whether what failed went through a function that had a fault in some versions.
 */
#include "analysis/base/frames.h"
#include "analysis/run/lint_impl.h"

#include <stdio.h>
#include <string.h>

static bool is_file(const char *path, const char *file)
{
    return mt_path_ends(path, (uint32_t)strlen(path), file, (uint32_t)strlen(file));
}

static bool in_log(const struct mt_lint_in *in, const char *file, const char *function,
                   struct mt_lint_fact *out)
{
    const struct mt_log_file *log;
    const struct mt_log_fact *f;
    if (in->logs == NULL || in->logdiag == NULL || in->logdiag->n_failures == 0)
        return false;
    log = &in->logs->files.p[in->logdiag->file];
    f = &log->log.facts.p[in->logdiag->fact];
    for (uint32_t i = 0; f->stack != 0 && i < log->log.stacks.p[f->stack - 1].frames.n; i++) {
        const struct mt_log_frame *frame = &log->log.stacks.p[f->stack - 1].frames.p[i];
        if (strcmp(frame->function, function) != 0 || !is_file(frame->file, file))
            continue;
        (void)snprintf(out->where, sizeof out->where, "%.160s:%llu", log->name,
                       (unsigned long long)f->line);
        return true;
    }
    return false;
}

static bool in_trace(const struct mt_analysis *a, const char *file, const char *function)
{
    const struct mt_trace *t = a->trace;
    for (uint32_t i = 0; t != NULL && i < a->devices.n; i++) {
        const struct mt_device_analysis *d = &a->devices.p[i];
        for (mt_stack_id s = d->ooms.n != 0 ? d->ooms.p[0].stack : 0; s != 0;
             s = t->stacks.p[s].parent) {
            const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
            if (strcmp(mt_str(t, f->name), function) == 0 && is_file(mt_str(t, f->file), file))
                return true;
        }
    }
    return false;
}

bool mt_lint_failed_in(const struct mt_lint_in *in, const char *file, const char *function,
                       struct mt_lint_fact *out)
{
    memset(out, 0, sizeof *out);
    if (in_log(in, file, function, out))
        return true;
    for (uint32_t i = 0; i < in->n_analyses; i++)
        if (in_trace(in->analyses[i], file, function))
            return true;
    return false;
}
