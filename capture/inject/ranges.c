/* ranges.c -- ranges and marks of nvtx.c and api.c, as records. */
#include "capture/inject/ranges.h"

#include <stdatomic.h>
#include <string.h>

#define DOMAINS 17u /* the default one and 16 more have levels */
#define NO_TRACKING (-2)
#define LEVEL_MAX UINT16_MAX

/* Levels of a thread. NVTX's go on in a forked child; those of its own trace begin at 0, and an end
 * whose beginning is in the trace of the parent is not written. initial-exec, as everything per
 * thread here, so no allocation. */
struct levels {
    uint64_t uid; /* of the process image that `recorded` is of */
    uint16_t level[2][DOMAINS], recorded[2][DOMAINS];
};
static _Thread_local struct levels levels;
static _Atomic uint64_t next_range = 1;

bool mti_ranges_on(void)
{
    int state = atomic_load_explicit(&mti_state, memory_order_acquire);
    if (state == MTI_FAILED)
        return false;
    if (!mti_start())
        return false;
    mti_samples_start();
    return true;
}

/* Two threads may both find it out: both write the same. */
static uint32_t id_of(struct mti_text *t)
{
    if (t == NULL)
        return 0;
    if (__atomic_load_n(&t->uid, __ATOMIC_ACQUIRE) == mti_uid)
        return __atomic_load_n(&t->id, __ATOMIC_RELAXED);
    uint32_t id = mti_string(t->text, t->bytes);
    __atomic_store_n(&t->id, id, __ATOMIC_RELAXED);
    __atomic_store_n(&t->uid, mti_uid, __ATOMIC_RELEASE);
    return id;
}

static uint32_t name_of(const struct mti_range *r)
{
    return r->text != NULL ? mti_string(r->text, r->bytes) : id_of(r->registered);
}

static void emit(enum mt_wire_type type, uint32_t domain, uint32_t name, enum mt_wire_source source,
                 uint64_t id)
{
    struct mti_w w;
    if (!mti_begin(&w, type, 64))
        return;
    mti_timed(&w, mti_now());
    mti_u(&w, domain);
    if (type != MT_WR_RANGE_POP && type != MT_WR_RANGE_END)
        mti_u(&w, name);
    mti_u(&w, source);
    if (type == MT_WR_RANGE_START || type == MT_WR_RANGE_END)
        mti_u(&w, id);
    mti_end(&w);
}

static struct levels *of_thread(void)
{
    struct levels *l = &levels;
    if (l->uid != mti_uid) {
        l->uid = mti_uid;
        memset(l->recorded, 0, sizeof l->recorded);
    }
    return l;
}

int mti_range_push(const struct mti_range *r)
{
    bool on = mti_ranges_on();
    uint32_t n = r->domain != NULL ? r->domain->number : 0;
    if (on)
        emit(MT_WR_RANGE_PUSH, id_of(r->domain), name_of(r), r->source, 0);
    if (n >= DOMAINS)
        return NO_TRACKING;
    struct levels *l = of_thread();
    uint16_t *level = &l->level[r->source][n], *recorded = &l->recorded[r->source][n];
    if (*level == LEVEL_MAX)
        return NO_TRACKING;
    *recorded = (uint16_t)(*recorded + on);
    return (*level)++;
}

int mti_range_pop(enum mt_wire_source source, struct mti_text *domain)
{
    bool on = mti_ranges_on();
    uint32_t n = domain != NULL ? domain->number : 0;
    if (n >= DOMAINS) {
        if (on)
            emit(MT_WR_RANGE_POP, id_of(domain), 0, source, 0);
        return NO_TRACKING;
    }
    struct levels *l = of_thread();
    uint16_t *level = &l->level[source][n], *recorded = &l->recorded[source][n];
    if (on && *recorded > 0) {
        emit(MT_WR_RANGE_POP, id_of(domain), 0, source, 0);
        (*recorded)--;
    }
    return *level > 0 ? --*level : -1;
}

uint64_t mti_range_start(const struct mti_range *r)
{
    uint64_t id = atomic_fetch_add(&next_range, 1);
    if (mti_ranges_on())
        emit(MT_WR_RANGE_START, id_of(r->domain), name_of(r), r->source, id);
    return id;
}

void mti_range_end(enum mt_wire_source source, struct mti_text *domain, uint64_t id)
{
    if (mti_ranges_on())
        emit(MT_WR_RANGE_END, id_of(domain), 0, source, id);
}

void mti_range_mark(const struct mti_range *r)
{
    if (mti_ranges_on())
        emit(MT_WR_MARK, id_of(r->domain), name_of(r), r->source, 0);
}
