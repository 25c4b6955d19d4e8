#include "render/view/asked.h"
#include "render/base/escape.h"

#include <stdio.h>

static uint64_t plus(uint64_t a, uint64_t b) { return a < UINT64_MAX - b ? a + b : UINT64_MAX; }

/* A picture that has room for all of it would have little for the curve. */
static bool is_flat(const struct mt_asked *a, const struct mt_device_analysis *d)
{
    uint64_t reserved = mt_asked_reserved(a),
             curve = reserved > d->live_peak ? reserved : d->live_peak;
    return mt_asked_top(a) / 3 > curve;
}

bool mt_asked_of(struct mt_asked *a, const struct mt_device_analysis *d, const struct mt_oom *oom)
{
    uint64_t reserved = oom->at.reserved, there = plus(reserved, oom->device_free);
    *a = (struct mt_asked){.live = oom->at.live, .request = oom->request, .free = oom->device_free};
    a->held = reserved > a->live ? reserved - a->live : 0;
    a->foreign = d->capacity > there && !d->sums_only ? d->capacity - there : 0;
    a->stacked = true;
    a->stacked = !is_flat(a, d);
    a->cut = is_flat(a, d);
    return oom->request != 0;
}

uint64_t mt_asked_reserved(const struct mt_asked *a) { return plus(a->live, a->held); }
uint64_t mt_asked_base(const struct mt_asked *a)
{
    return plus(mt_asked_reserved(a), a->stacked ? a->foreign : 0);
}
uint64_t mt_asked_top(const struct mt_asked *a) { return plus(mt_asked_base(a), a->request); }
uint64_t mt_asked_room(const struct mt_asked *a)
{
    return a->cut ? plus(mt_asked_base(a), mt_asked_base(a) / 16) : mt_asked_top(a);
}
uint64_t mt_asked_end(const struct mt_asked *a) { return plus(mt_asked_base(a), a->free); }

char *mt_asked_words(char buf[MT_ASKED_WORDS], const struct mt_asked *a)
{
    char size[32];
    size_t n = (size_t)snprintf(buf, MT_ASKED_WORDS, "%s live", mt_fmt_bytes(size, a->live));
    if (a->held != 0)
        n += (size_t)snprintf(buf + n, MT_ASKED_WORDS - n, ", %s reserved but free",
                              mt_fmt_bytes(size, a->held));
    if (a->foreign != 0)
        (void)snprintf(buf + n, MT_ASKED_WORDS - n, ", %s outside PyTorch",
                       mt_fmt_bytes(size, a->foreign));
    return buf;
}
