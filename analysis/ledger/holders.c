/* Names of who holds device memory. */
#include "analysis/base/words.h"
#include "analysis/ledger/driver.h"

#include <stdio.h>

static const struct {
    const char *id, *words;
} holders[MT_HOLD_COUNT] = {
    [MT_HOLD_TORCH] = {"torch", "PyTorch"},
    [MT_HOLD_ENGINE] = {"engine", "engine pools"},
    [MT_HOLD_NCCL] = {"nccl", "NCCL"},
    [MT_HOLD_MATH] = {"math", "math libraries"},
    [MT_HOLD_GRAPHS] = {"graphs", "CUDA graphs"},
    [MT_HOLD_CONTEXT] = {"context", "contexts and modules"},
    [MT_HOLD_LIBRARY] = {"library", "other libraries"},
    [MT_HOLD_UNKNOWN] = {"unknown", "calls without a stack"},
    [MT_HOLD_OTHER] = {"other", "other processes"},
    [MT_HOLD_UNEXPLAINED] = {"unexplained", "unexplained"},
};
const char *mt_holder_id(enum mt_holder h)
{
    return (unsigned)h < MT_HOLD_COUNT ? holders[h].id : "?";
}
const char *mt_holder_words(enum mt_holder h)
{
    return (unsigned)h < MT_HOLD_COUNT ? holders[h].words : "?";
}
const char *mt_ledger_holder_words(const struct mt_ledger *l, enum mt_holder h)
{
    return h == MT_HOLD_UNEXPLAINED && l != NULL && l->records_lost ? "not recorded"
                                                                    : mt_holder_words(h);
}

char *mt_driver_who(char buf[MT_WHO], const struct mt_driverdiag *j, uint32_t driver,
                    uint32_t process)
{
    const struct mt_trace *t;
    const struct mt_process *p;
    const char *name;
    if (driver >= j->drivers.n || process >= j->drivers.p[driver]->driver->processes.n) {
        (void)snprintf(buf, MT_WHO, "-");
        return buf;
    }
    t = j->drivers.p[driver];
    p = &t->driver->processes.p[process];
    name = mt_str(t, p->name);
    if (p->rank >= 0)
        (void)snprintf(buf, MT_WHO, "rank %d%s%.150s, pid %u", (int)p->rank,
                       name[0] != '\0' ? ", " : "", name, (unsigned)p->pid);
    else
        (void)snprintf(buf, MT_WHO, "%.150s%spid %u", name, name[0] != '\0' ? ", " : "",
                       (unsigned)p->pid);
    return buf;
}

const char *mt_ledger_within_words(const struct mt_ledger *l, char buf[static MT_WITHIN])
{
    if (l->focus_within < UINT64_C(16) << 20) /* rounding, and the driver's own pages */
        return NULL;
    (void)snprintf(buf, MT_WITHIN,
                   "%s of it the recorded processes' own, by NVML: code loaded at its first "
                   "launch, pools, what the driver keeps for them",
                   MT_BYTES(l->focus_within));
    return buf;
}

const char *mt_ledger_code_words(const struct mt_ledger *l, char buf[static MT_CODE_WORDS])
{
    const struct mt_ledger_code *first = l->code.p;
    uint64_t n = 0, image = 0;
    char who[112] = "", grew[112] = "";
    for (uint32_t i = 0; i < l->code.n; i++) {
        n += first[i].n;
        image += first[i].image;
    }
    if (n == 0 || l->focus_unexplained <= 0)
        return NULL;
    if (first->holder != MT_HOLD_UNKNOWN && first->image > image / 2)
        (void)snprintf(who, sizeof who, ", most of it first launched by %.80s",
                       first->library != NULL ? first->library : mt_holder_words(first->holder));
    if (l->code_grew >= UINT64_C(1) << 20)
        (void)snprintf(grew, sizeof grew, "; %s came between the samples around its loading",
                       MT_BYTES(l->code_grew));
    (void)snprintf(
        buf, MT_CODE_WORDS,
        "Code is in what is unexplained: %llu module%s of %s as images (the device takes "
        "more or less)%s%s.",
        (unsigned long long)n, n == 1 ? "" : "s", MT_BYTES(image), who, grew);
    return buf;
}
