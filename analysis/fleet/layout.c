/* fleet/layout.c -- which part of the work a rank has, and whether that tells its peak.
 *
 * Ranks count tensor parallel first, then context, data and pipeline: Megatron-LM's order where
 * none is given ("tp-cp-ep-dp-pp", megatron/core/parallel_state.py), and that of the device meshes
 * of torchtitan and of FSDP with tensor parallelism. A job may choose another, which no setting
 * that is read here says, so the sentence says what it takes for granted. */
#include "analysis/base/words.h"
#include "analysis/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

/* Medians of the parts lie apart by more than a hundredth. */
enum { APART = 100, RUNS = 8 };

const char *mt_fleet_dim_id(enum mt_fleet_dim dim)
{
    static const char *const ids[] = {"tensor", "context", "data", "pipeline"};
    return ids[dim];
}

static const char *dim_words(enum mt_fleet_dim dim)
{
    static const char *const words[] = {"tensor parallel rank", "context parallel rank",
                                        "data parallel rank", "pipeline stage"};
    return words[dim];
}

void mt_fleet_divide(struct mt_fleet *f, enum mt_fleet_dim dim, uint64_t n)
{
    if (n == 0 || n > UINT32_MAX || dim == MT_FLEET_DATA)
        return;
    f->is_unlike |= f->divided[dim] != 0 && f->divided[dim] != n;
    f->divided[dim] = (uint32_t)n;
}

void mt_fleet_divide_by(struct mt_fleet *f, const char *name, const char *value)
{
    static const struct {
        const char *name; /* of rules/settings.json */
        enum mt_fleet_dim dim;
    } sizes[] = {{"tp", MT_FLEET_TENSOR}, {"cp", MT_FLEET_CONTEXT}, {"pp", MT_FLEET_PIPELINE}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (name != NULL && value != NULL && strcmp(name, sizes[i].name) == 0)
            mt_fleet_divide(f, sizes[i].dim, strtoull(value, NULL, 10));
}

/* Every rank of the job is here, once, and all do the same work: an engine's ranks have numbers of
 * their own, and of them the training's settings say nothing. */
static bool is_whole(const struct mt_fleet *f)
{
    uint32_t engines = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[i];
        if (r->rank != (int32_t)i || !r->known)
            return false;
        engines += r->roles[MT_ROLE_KV_CACHE] != 0;
    }
    return !f->is_unlike && (engines == 0 || engines == f->rows.n);
}

/* The sizes of all four; false = they do not fit the ranks that there are. */
static bool sizes(const struct mt_fleet *f, uint64_t size[MT_FLEET_DIMS])
{
    uint64_t rest = 1;
    for (int i = 0; i < MT_FLEET_DIMS; i++) {
        size[i] = f->divided[i] != 0 ? f->divided[i] : 1;
        if (size[i] > f->rows.n)
            return false;
        rest *= size[i];
        if (rest > f->rows.n)
            return false;
    }
    if (rest == 1 || f->rows.n % rest != 0)
        return false;
    size[MT_FLEET_DATA] = f->rows.n / rest;
    return true;
}

static int by_size(const void *p, const void *q)
{
    uint64_t x = *(const uint64_t *)p, y = *(const uint64_t *)q;
    return (x > y) - (x < y);
}

/* Of the rows that have part `at`. live: room for all rows. */
static void sum_up(const struct mt_fleet *f, struct mt_fleet_part *p, uint64_t stride,
                   uint64_t size, uint64_t *live)
{
    for (uint64_t from = p->at * stride; from < f->rows.n; from += stride * size)
        for (uint64_t i = from; i < from + stride; i++) {
            for (int r = 0; r < MT_ROLE_COUNT; r++)
                p->roles[r] += f->rows.p[i].roles[r];
            live[p->n++] = f->rows.p[i].live;
        }
    qsort(live, p->n, sizeof *live, by_size);
    p->low = live[0];
    p->median = live[(p->n - 1) / 2];
    p->high = live[p->n - 1];
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        p->roles[r] /= p->n;
}

static int add_parts(struct mt_fleet *f, enum mt_fleet_dim dim, uint64_t stride, uint64_t size,
                     uint64_t *live)
{
    for (uint32_t at = 0; at < size; at++) {
        struct mt_fleet_part *p = MT_VEC_PUSH(&f->parts);
        if (p == NULL)
            return 0;
        memset(p, 0, sizeof *p);
        p->dim = dim;
        p->at = at;
        sum_up(f, p, stride, size, live);
    }
    return 1;
}

int mt_fleet_lay_out(struct mt_fleet *f)
{
    uint64_t size[MT_FLEET_DIMS], stride = 1, *live;
    int ok = 1;
    if (!is_whole(f) || !sizes(f, size))
        return 1;
    live = mt_calloc(f->rows.n, sizeof *live);
    if (live == NULL)
        return 0;
    for (int i = 0; i < MT_FLEET_DIMS; stride *= size[i++])
        if (size[i] > 1 && ok)
            ok = add_parts(f, (enum mt_fleet_dim)i, stride, size[i], live);
    mt_free(live);
    return ok;
}

/* ---- in words ---- */

/* How much more the part with most has than the one with least, and of what. */
static void add_gap(struct mt_sentence *s, const struct mt_fleet_part *most,
                    const struct mt_fleet_part *least)
{
    int role = -1;
    uint64_t of = 0, gap = most->median - least->median;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        if (r != MT_ROLE_UNKNOWN && r != MT_ROLE_BEFORE && most->roles[r] > least->roles[r] &&
            most->roles[r] - least->roles[r] > of) {
            of = most->roles[r] - least->roles[r];
            role = r;
        }
    mt_words_add(s, "; %u holds %s more than %u", (unsigned)most->at, MT_BYTES(gap),
                 (unsigned)least->at);
    if (role >= 0 && of >= gap / 2)
        mt_words_add(s, ", most of it %s (%s more)", mt_role_words((enum mt_role)role),
                     MT_BYTES(of));
}

/* "By pipeline stage: 0 76.2 GiB, 1-2 60.1 GiB (medians)"; of parts in a row that say the same one
 * is said. */
static void say_parts(const struct mt_fleet_part *p, uint32_t n, const struct mt_fleet_part *most,
                      const struct mt_fleet_part *least, mt_fleet_line *line, void *arg)
{
    struct mt_sentence s = {"", 0};
    uint32_t runs = 0;
    mt_words_add(&s, "By %s (medians): ", dim_words(p->dim));
    for (uint32_t i = 0, to; i < n; i = to) {
        char a[32], b[32];
        mt_words_bytes(a, p[i].median);
        for (to = i + 1; to < n; to++)
            if (strcmp(a, mt_words_bytes(b, p[to].median)) != 0)
                break;
        if (++runs > RUNS)
            continue;
        mt_words_add(&s, "%s%u", i != 0 ? ", " : "", (unsigned)p[i].at);
        if (to > i + 1)
            mt_words_add(&s, "-%u", (unsigned)p[to - 1].at);
        mt_words_add(&s, " %s", a);
    }
    if (runs > RUNS)
        mt_words_add(&s, " and %u more", (unsigned)(runs - RUNS));
    add_gap(&s, most, least);
    mt_words_add(&s, ".");
    line(arg, s.buf);
}

void mt_fleet_say_layout(const struct mt_fleet *f, mt_fleet_line *line, void *arg)
{
    struct mt_sentence alike = {"", 0};
    uint32_t n;
    for (uint32_t i = 0; i < f->parts.n; i += n) {
        const struct mt_fleet_part *p = &f->parts.p[i], *most = p, *least = p;
        for (n = 1; i + n < f->parts.n && p[n].dim == p->dim; n++) {
            most = p[n].median > most->median ? &p[n] : most;
            least = p[n].median < least->median ? &p[n] : least;
        }
        if (most->median - least->median > most->median / APART)
            say_parts(p, n, most, least, line, arg);
        else
            mt_words_add(&alike, "%s%ss", alike.n != 0 ? ", " : "", dim_words(p->dim));
    }
    if (alike.n != 0) {
        struct mt_sentence s = {"", 0};
        mt_words_add(&s, "Alike within 1 %% (medians): %s.", alike.buf);
        line(arg, s.buf);
    }
    if (f->parts.n != 0)
        line(arg, "Which rank has which part is taken from the settings' sizes, ranks counted "
                  "tensor parallel first, then context, data and pipeline.");
}
