#include "analysis/run/one_process.h"

#include <string.h>

static bool is_one_process(const struct mt_meta *a, const struct mt_meta *b)
{
    if (a->pid < 0 || a->pid != b->pid || a->rank != b->rank)
        return false;
    if (a->uid != 0 && b->uid != 0)
        return a->uid == b->uid;
    return a->host != NULL && b->host != NULL && strcmp(a->host, b->host) == 0;
}

/* A history whose ring was full, or that was begun anew, has another beginning. */
static bool goes_on(const struct mt_device_analysis *later,
                    const struct mt_device_analysis *earlier)
{
    return later->kind == earlier->kind && later->ordinal == earlier->ordinal &&
           later->first_ns != 0 && later->first_ns == earlier->first_ns &&
           later->live_start == earlier->live_start && later->n_events >= earlier->n_events &&
           later->last_ns >= earlier->last_ns && later->live_peak >= earlier->live_peak &&
           later->ooms.n >= earlier->ooms.n && later->withheld == NULL && earlier->withheld == NULL;
}

bool mt_has_all_of(const struct mt_rank *later, const struct mt_rank *earlier)
{
    const struct mt_analysis *a = later->analysis, *b = earlier->analysis;
    bool is_longer = false;
    if (later->trace->damaged || earlier->trace->damaged ||
        !is_one_process(&later->trace->meta, &earlier->trace->meta) || a->devices.n == 0 ||
        a->devices.n != b->devices.n)
        return false;
    for (uint32_t i = 0; i < a->devices.n; i++) {
        if (!goes_on(&a->devices.p[i], &b->devices.p[i]))
            return false;
        is_longer |= a->devices.p[i].n_events > b->devices.p[i].n_events;
    }
    return is_longer; /* of two that are equal none is the earlier one */
}

/* The last snapshot that has all of this one; the rank itself where none has. */
static uint32_t whole_of(const struct mt_diagnosis *d, uint32_t i)
{
    uint32_t whole = i;
    for (uint32_t k = 0; k < d->ranks.n; k++)
        if (k != whole && mt_has_all_of(&d->ranks.p[k], &d->ranks.p[whole]))
            whole = k;
    return whole;
}

/* What the ledger says of a rank it says of the process: of the row that it has now. */
static void move_ledger(struct mt_driverdiag *j, const uint32_t *to, uint32_t n)
{
    for (uint32_t i = 0; j != NULL && i < j->reconciled.n; i++)
        if (j->reconciled.p[i].rank < n)
            j->reconciled.p[i].rank = to[j->reconciled.p[i].rank];
    for (uint32_t i = 0; j != NULL && i < j->books_peaks.n; i++)
        if (j->books_peaks.p[i].rank < n)
            j->books_peaks.p[i].rank = to[j->books_peaks.p[i].rank];
}

enum mt_rc mt_set_earlier_aside(struct mt_diagnosis *d)
{
    enum { MOST = 1024 }; /* whose snapshots are held against each other: ranks of a folder */
    uint32_t whole[MOST], to[MOST], kept = 0, n = d->ranks.n;
    if (n > MOST)
        return MT_OK;
    for (uint32_t i = 0; i < n; i++)
        whole[i] = whole_of(d, i);
    for (uint32_t i = 0; i < n; i++) /* room for all of them first */
        if (whole[i] != i) {
            struct mt_rank *slot = MT_VEC_PUSH(&d->earlier);
            if (slot == NULL) {
                d->earlier.n = 0;
                return MT_ENOMEM;
            }
            *slot = d->ranks.p[i];
        }
    for (uint32_t i = 0; i < n; i++)
        if (whole[i] == i) {
            to[i] = kept;
            d->ranks.p[kept++] = d->ranks.p[i];
        }
    for (uint32_t i = 0; i < n; i++)
        to[i] = to[whole[i]];
    move_ledger(d->driver, to, n);
    d->ranks.n = kept;
    return MT_OK;
}
