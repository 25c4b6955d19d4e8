/* log/observer.c -- what an observer of failed allocations writes, which PyTorch calls before it
 * raises its error: request, size and free bytes of the card to the byte, the Python stack, the
 * state of the allocator. verl attaches one in every worker (verl/utils/profiler/
 * torch_memory_profile.py, since September 2026). */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

/* Lines between the observer's and PyTorch's sentence: both tracebacks, and others' lines. */
enum { APART = 600 };

/* The observer's fact that is nearest above, of this writer; NULL = none. */
static struct mt_log_fact *observed(struct mt_log *l, struct mt_log_writer who, uint64_t number)
{
    for (uint32_t i = l->facts.n; i-- > 0 && number - l->facts.p[i].line <= APART;) {
        struct mt_log_fact *f = &l->facts.p[i];
        if (f->kind == MT_LOG_TORCH_OOM && strcmp(f->text, "observer") == 0 && f->pid == who.pid &&
            f->rank == who.rank)
            return f;
    }
    return NULL;
}

/* "[torch_memory] CUDA OOM on device 0: requested=4981391360 total=85031780352 free=1202716672;".
 * NPUs have "total_or_limit" there. */
static int failure(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = strstr(s, " OOM on device ");
    struct mt_log_fact *f;
    got g;
    if (p == NULL ||
        (mt_log_find(p, "device %n: requested=%n total=%n free=%n", &g) == NULL &&
         mt_log_find(p, "device %n: requested=%n total_or_limit=%n free=%n", &g) == NULL))
        return 0;
    f = mt_log_add(l, MT_LOG_TORCH_OOM, number, s);
    if (f == NULL)
        return 1;
    mt_log_keep_text(f, "observer", 8);
    f->gpu = mt_log_small(g.v[0]);
    f->value[MT_LO_REQUEST] = g.v[1];
    f->value[MT_LO_CAPACITY] = g.v[2];
    f->value[MT_LO_FREE] = g.v[3];
    f->platform = p - s >= 3 && strncmp(p - 3, "NPU", 3) == 0 ? 'N' : 0;
    return 1;
}

/* "[torch_memory] allocator memory at OOM: {'total_memory_gb': 79.19, 'reserved_memory_gb': ...}",
 * behind the stack. */
static int allocator(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = strstr(s, "allocator memory at OOM:");
    struct mt_log_writer who;
    struct mt_log_fact *f;
    if (p == NULL)
        return 0;
    who = mt_log_writer(s, p);
    f = observed(l, who, number);
    if (f == NULL)
        return 1;
    mt_log_stack_below(l, who, f);
    f->value[MT_LO_ALLOCATED] = mt_log_value(p, "'allocated_memory_gb': %G");
    f->value[MT_LO_RESERVED] = mt_log_value(p, "'reserved_memory_gb': %G");
    if (f->value[MT_LO_ALLOCATED] != MT_LOG_NONE && f->value[MT_LO_RESERVED] != MT_LOG_NONE &&
        f->value[MT_LO_RESERVED] >= f->value[MT_LO_ALLOCATED])
        f->value[MT_LO_UNALLOCATED] = f->value[MT_LO_RESERVED] - f->value[MT_LO_ALLOCATED];
    return 1;
}

int mt_log_observer(struct mt_log *l, uint64_t number, const char *s)
{
    return failure(l, number, s) || allocator(l, number, s);
}

/* The same number, but for the decimals that PyTorch prints. */
static bool alike(uint64_t a, uint64_t b)
{
    return a != MT_LOG_NONE && b != MT_LOG_NONE &&
           (a > b ? a - b : b - a) <= (b >> 7) + (UINT64_C(16) << 20);
}

void mt_log_observed(struct mt_log *l, struct mt_log_fact *f)
{
    static const uint8_t exact[] = {MT_LO_REQUEST, MT_LO_CAPACITY, MT_LO_FREE};
    struct mt_log_fact *o = observed(l, (struct mt_log_writer){f->pid, f->rank}, f->line);
    uint64_t used;
    if (o == NULL || o == f || !alike(f->value[MT_LO_REQUEST], o->value[MT_LO_REQUEST]))
        return;
    for (size_t i = 0; i < sizeof exact; i++)
        f->value[exact[i]] = o->value[exact[i]];
    if (f->gpu < 0)
        f->gpu = o->gpu;
    if (f->stack == 0)
        f->stack = o->stack;
    /* what is left of the observer's line is how the card was used then */
    used = o->value[MT_LO_CAPACITY] >= o->value[MT_LO_FREE]
               ? o->value[MT_LO_CAPACITY] - o->value[MT_LO_FREE]
               : MT_LOG_NONE;
    o->kind = MT_LOG_TORCH_USAGE;
    o->stack = 0;
    o->value[2] = used;
    o->value[3] = f->value[MT_LO_CAPACITY];
    o->value[0] = o->value[MT_LO_ALLOCATED];
    o->value[1] = o->value[MT_LO_RESERVED];
    for (int i = 4; i < MT_LOG_VALUES; i++)
        o->value[i] = MT_LOG_NONE;
    o->text[0] = '\0';
}
