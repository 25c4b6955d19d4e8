/* top_model.c -- adds up what the recordings say of now, by GPU and owner. */
#include "cli/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)
enum { FRAMES_MAX = 64 };

/* ---- names ---- */

static uint32_t number_of(struct mt_top *t, enum mt_holder holder, const char *library)
{
    struct mt_top_owner *o;
    for (uint32_t i = 0; i < t->owners.n; i++) {
        o = &t->owners.p[i];
        if (o->holder == holder &&
            (library == NULL ? o->library == NULL
                             : o->library != NULL && strcmp(o->library, library) == 0))
            return i;
    }
    if ((o = MT_VEC_PUSH(&t->owners)) == NULL)
        return 0;
    *o = (struct mt_top_owner){.holder = holder};
    if (library != NULL)
        o->library = mt_strndup(library, strlen(library));
    return t->owners.n - 1;
}

uint32_t mt_top_owner(void *arg, struct mt_live_process *p, const struct mt_live_frame *f,
                      uint32_t n)
{
    struct mt_top *t = arg;
    struct mt_owner_frame frames[FRAMES_MAX];
    char names[FRAMES_MAX][64];
    const char *library;
    enum mt_holder holder;
    uint32_t k = n < FRAMES_MAX ? n : FRAMES_MAX;
    for (uint32_t i = 0; i < k; i++) {
        names[i][0] = '\0';
        if (mt_owner_needs_function(t->rules, f[i].library))
            snprintf(names[i], sizeof names[i], "%.63s", mt_live_function(p, &f[i]));
        frames[i] = (struct mt_owner_frame){f[i].library, names[i]};
    }
    holder = mt_owner_of(t->rules, frames, k, &library);
    return number_of(t, holder, library);
}

const char *mt_top_owner_words(const struct mt_top *t, uint32_t owner, char buf[MT_WHO])
{
    const struct mt_top_owner *o = owner < t->owners.n ? &t->owners.p[owner] : NULL;
    if (o == NULL || o->library == NULL)
        snprintf(buf, MT_WHO, "%s", mt_holder_words(o != NULL ? o->holder : MT_HOLD_UNKNOWN));
    else
        snprintf(buf, MT_WHO, "%s (%.100s)", mt_holder_words(o->holder), o->library);
    return buf;
}

const char *mt_top_process_words(const struct mt_live_process *p, char buf[MT_WHO])
{
    int32_t rank = mt_live_rank(p);
    if (rank >= 0)
        snprintf(buf, MT_WHO, "rank %d, %.150s, pid %u", (int)rank, mt_live_name(p),
                 (unsigned)p->pid);
    else
        snprintf(buf, MT_WHO, "%.150s, pid %u", mt_live_name(p), (unsigned)p->pid);
    return buf;
}

/* ---- phases ---- */

static enum mt_phase phase_of(struct mt_top *t, const char *name)
{
    struct mt_top_name *n;
    for (uint32_t i = 0; i < t->names.n; i++)
        if (strcmp(t->names.p[i].name, name) == 0)
            return t->names.p[i].phase;
    if ((n = MT_VEC_PUSH(&t->names)) == NULL)
        return MT_PH_NONE;
    n->phase = mt_annotation_phase(t->phases, name, strlen(name));
    if ((n->name = mt_strndup(name, strlen(name))) == NULL)
        t->names.n--;
    return n->phase;
}

enum mt_phase mt_top_phase(struct mt_top *t, const struct mt_live_process *p)
{
    enum mt_phase inside = MT_PH_NONE;
    for (uint32_t i = p->open.n; i-- > 0;) { /* the one that began last counts */
        enum mt_phase ph = phase_of(t, mt_live_string(p, p->open.p[i].name));
        if (mt_phase_is(ph, MT_COARSE))
            return ph;
        if (inside == MT_PH_NONE)
            inside = ph;
    }
    return inside;
}

enum mt_phase mt_top_phase_or_guide(struct mt_top *t, const struct mt_live_process *p)
{
    enum mt_phase ph = mt_top_phase(t, p);
    for (uint32_t i = 0; ph == MT_PH_NONE && i < p->live->processes.n; i++)
        if (!mt_live_has_cuda(p->live->processes.p[i]))
            ph = mt_top_phase(t, p->live->processes.p[i]);
    return ph;
}

/* ---- sums ---- */

int64_t mt_top_held(const struct mt_live_process *p)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->rows.n; i++)
        sum += p->rows.p[i].bytes;
    return sum;
}

int64_t mt_top_rest(const struct mt_top_device *d)
{
    return d->sampled != 0 ? d->sampled_used - d->recorded_then - d->other : 0;
}

int64_t mt_top_used(const struct mt_top_device *d)
{
    return d->sampled != 0 ? d->sampled_used + d->recorded - d->recorded_then : 0;
}

/* A GPU is known by its UUID; where there is none, by the process's own number of it. NULL = it is
 * not among them. */
static struct mt_top_device *find_device(const struct mt_top *t, const struct mt_live_process *p,
                                         const struct mt_live_device *d)
{
    const char *uuid = d->uuid != NULL ? d->uuid : "";
    for (uint32_t i = 0; i < t->devices.n; i++) {
        struct mt_top_device *to = &t->devices.p[i];
        if (strcmp(to->host, p->host) == 0 && strcmp(to->uuid, uuid) == 0 &&
            (uuid[0] != '\0' || to->index == d->index))
            return to;
    }
    return NULL;
}

static struct mt_top_device *device_of(struct mt_top *t, const struct mt_live_process *p,
                                       const struct mt_live_device *d)
{
    struct mt_top_device *to = find_device(t, p, d);
    if (to != NULL || (to = MT_VEC_PUSH(&t->devices)) == NULL)
        return to;
    *to = (struct mt_top_device){.host = p->host,
                                 .uuid = d->uuid != NULL ? d->uuid : "",
                                 .name = d->name != NULL ? d->name : "",
                                 .index = d->index,
                                 .total = d->total,
                                 .phase = MT_PH_NONE,
                                 .most = -1};
    return to;
}

static bool is_recorded(const struct mt_top *t, const char *host, uint32_t pid)
{
    for (uint32_t l = 0; l < t->lives.n; l++)
        for (uint32_t i = 0; i < t->lives.p[l]->processes.n; i++) {
            const struct mt_live_process *p = t->lives.p[l]->processes.p[i];
            if (p->pid == pid && strcmp(p->host, host) == 0)
                return true;
        }
    return false;
}

/* The newest sample of a GPU, whoever took it. */
static void add_sample(const struct mt_top *t, const struct mt_live_process *p,
                       const struct mt_live_device *d, struct mt_top_device *to)
{
    if (d->sampled == 0 || d->sampled <= to->sampled)
        return;
    to->sampled = d->sampled;
    to->sampled_used = (int64_t)d->used;
    if (d->sample_total != 0)
        to->total = d->sample_total;
    to->other = 0;
    to->knows_others = false;
    for (uint32_t i = 0; i < d->uses.n; i++) {
        bool ours = is_recorded(t, p->host, d->uses.p[i].pid);
        to->knows_others |= ours;
        if (!ours && d->uses.p[i].bytes != UINT64_MAX)
            to->other += (int64_t)d->uses.p[i].bytes;
    }
    if (!to->knows_others) /* ids of another namespace: nothing is told apart */
        to->other = 0;
}

static int add_row(struct mt_top *t, const struct mt_live_process *p, struct mt_top_device *to,
                   const struct mt_live_row *r)
{
    uint64_t before = t->now - MT_TOP_WINDOW * SECOND, from;
    int64_t grown = r->bytes - mt_live_row_at(r, before, &from);
    struct mt_top_row *row = NULL;
    if (grown > 0 && grown > t->growth.bytes)
        t->growth =
            (struct mt_top_what){p, NULL, r->owner, r->ordinal, grown, t->now, t->now - from};
    if (to == NULL)
        return 1;
    to->recorded += r->bytes;
    for (uint32_t i = 0; i < to->rows.n && row == NULL; i++)
        if (to->rows.p[i].owner == r->owner)
            row = &to->rows.p[i];
    if (row == NULL) {
        if ((row = MT_VEC_PUSH(&to->rows)) == NULL)
            return 0;
        *row = (struct mt_top_row){.owner = r->owner};
    }
    row->bytes += r->bytes;
    row->grown += grown;
    return 1;
}

static struct mt_top_device *device_of_row(const struct mt_top *t, const struct mt_live_process *p,
                                           int32_t ordinal)
{
    for (uint32_t i = 0; i < p->devices.n; i++)
        if (p->devices.p[i].ordinal == ordinal && ordinal >= 0)
            return find_device(t, p, &p->devices.p[i]);
    return NULL;
}

static int add_process(struct mt_top *t, const struct mt_live_process *p)
{
    for (uint32_t i = 0; i < p->devices.n; i++) {
        struct mt_top_device *to;
        int64_t held = 0;
        if (p->ended)
            continue;
        if ((to = device_of(t, p, &p->devices.p[i])) == NULL)
            return 0;
        add_sample(t, p, &p->devices.p[i], to);
        for (uint32_t k = 0; k < p->rows.n; k++)
            held += p->rows.p[k].ordinal == p->devices.p[i].ordinal ? p->rows.p[k].bytes : 0;
        to->n_processes += held > 0;
        to->recorded_then += p->devices.p[i].sampled != 0 ? p->devices.p[i].recorded : held;
        if (held > to->most) {
            to->most = held;
            to->phase = mt_top_phase_or_guide(t, p);
        }
    }
    for (uint32_t i = 0; i < p->rows.n && !p->ended; i++)
        if (!add_row(t, p, device_of_row(t, p, p->rows.p[i].ordinal), &p->rows.p[i]))
            return 0;
    t->n_processes += !p->ended && mt_live_has_cuda(p);
    t->n_lost += mt_live_lost(p);
    t->n_failures += p->n_ooms;
    return 1;
}

/* When all devices are there and in their order: adding one moves the others. */
static void find_failure(struct mt_top *t, const struct mt_live_process *p)
{
    const struct mt_live_row *r = p->oom_row < p->rows.n ? &p->rows.p[p->oom_row] : NULL;
    if (p->n_ooms == 0 || p->oom_time <= t->failure.time_ns || r == NULL)
        return;
    t->failure = (struct mt_top_what){p,          device_of_row(t, p, r->ordinal), r->owner,
                                      r->ordinal, (int64_t)p->oom_bytes,           p->oom_time,
                                      0};
}

static int by_place(const void *a, const void *b)
{
    const struct mt_top_device *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    if (order != 0)
        return order;
    return x->index != y->index ? (x->index < y->index ? -1 : 1) : strcmp(x->uuid, y->uuid);
}

static int by_bytes(const void *a, const void *b)
{
    const struct mt_top_row *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1)
                                : (x->owner > y->owner) - (x->owner < y->owner);
}

static void forget(struct mt_top *t)
{
    for (uint32_t i = 0; i < t->devices.n; i++)
        MT_VEC_DONE(&t->devices.p[i].rows);
    t->devices.n = 0;
    t->n_processes = 0;
    t->n_failures = t->n_lost = 0;
    t->failure = t->growth = (struct mt_top_what){.process = NULL};
}

int mt_top_add_up(struct mt_top *t)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    t->now = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
    forget(t);
    for (uint32_t l = 0; l < t->lives.n; l++)
        for (uint32_t i = 0; i < t->lives.p[l]->processes.n; i++)
            if (!add_process(t, t->lives.p[l]->processes.p[i]))
                return 0;
    if (t->devices.n > 1)
        qsort(t->devices.p, t->devices.n, sizeof *t->devices.p, by_place);
    for (uint32_t i = 0; i < t->devices.n; i++)
        if (t->devices.p[i].rows.n > 1)
            qsort(t->devices.p[i].rows.p, t->devices.p[i].rows.n, sizeof *t->devices.p[i].rows.p,
                  by_bytes);
    for (uint32_t l = 0; l < t->lives.n; l++)
        for (uint32_t i = 0; i < t->lives.p[l]->processes.n; i++)
            find_failure(t, t->lives.p[l]->processes.p[i]);
    if (t->growth.process != NULL)
        t->growth.device = device_of_row(t, t->growth.process, t->growth.ordinal);
    return 1;
}

void mt_top_done(struct mt_top *t)
{
    forget(t);
    MT_VEC_DONE(&t->devices);
    for (uint32_t i = 0; i < t->lives.n; i++)
        mt_live_close(t->lives.p[i]);
    MT_VEC_DONE(&t->lives);
    for (uint32_t i = 0; i < t->owners.n; i++)
        mt_free(t->owners.p[i].library);
    MT_VEC_DONE(&t->owners);
    for (uint32_t i = 0; i < t->names.n; i++)
        mt_free(t->names.p[i].name);
    MT_VEC_DONE(&t->names);
    mt_owner_rules_free(t->rules);
}
