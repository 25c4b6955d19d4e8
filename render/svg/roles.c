/* Live memory over the trace, stacked by role. */
#include "render/svg/stack.h"

#include "render/base/escape.h"
#include "render/svg/scale.h"

#include <inttypes.h>

enum { WIDTH = 1180, LEFT = 74, TOP = 8, HEIGHT = 150, COLUMNS = 160 };

/* What stays lies below what comes and goes. */
static const uint8_t from_below[] = {
    MT_ROLE_BEFORE,         MT_ROLE_PINNED,     MT_ROLE_SHARED,     MT_ROLE_PARAM,
    MT_ROLE_ENGINE_WEIGHTS, MT_ROLE_KV_CACHE,   MT_ROLE_GRAPH_POOL, MT_ROLE_OPTIM_STATE,
    MT_ROLE_WORKSPACE,      MT_ROLE_COMM,       MT_ROLE_UNKNOWN,    MT_ROLE_GRAD,
    MT_ROLE_GRAD_REDUCE,    MT_ROLE_OFFLOAD,    MT_ROLE_UNSHARDED,  MT_ROLE_PARAM_CAST,
    MT_ROLE_WEIGHT_SYNC,    MT_ROLE_CHECKPOINT, MT_ROLE_ACTIVATION, MT_ROLE_RECOMPUTE,
    MT_ROLE_LOGITS,         MT_ROLE_OPTIM_TEMP, MT_ROLE_TEMP,
};
_Static_assert(sizeof from_below == MT_ROLE_COUNT, "each role has its layer");

struct curve {
    const struct mt_role_curve *c;
    struct mt_scale y;
    uint32_t n, pick[COLUMNS]; /* of each column the point with the most bytes */
    uint64_t base[COLUMNS];    /* of the layers below */
};

static uint64_t bytes_of(const struct mt_role_curve *c, uint32_t point, unsigned role)
{
    return c->bytes[(size_t)point * MT_ROLE_COUNT + role];
}

static uint64_t total_of(const struct mt_role_curve *c, uint32_t point)
{
    uint64_t sum = 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        sum += bytes_of(c, point, r);
    return sum;
}

static void choose(struct curve *v)
{
    uint64_t most = 1;
    v->n = v->c->n < COLUMNS ? v->c->n : COLUMNS;
    for (uint32_t k = 0; k < v->n; k++) {
        uint32_t to = (uint32_t)((uint64_t)(k + 1) * v->c->n / v->n);
        uint64_t best = 0;
        v->pick[k] = (uint32_t)((uint64_t)k * v->c->n / v->n);
        for (uint32_t i = v->pick[k]; i < to; i++) {
            uint64_t total = total_of(v->c, i);
            if (total > best) {
                best = total;
                v->pick[k] = i;
            }
        }
        most = best > most ? best : most;
    }
    v->y = mt_scale_bytes(most, 4);
}

static uint32_t y_of(const struct curve *v, uint64_t bytes)
{
    return TOP + HEIGHT - mt_scale_px(bytes, v->y.top, HEIGHT);
}

static uint32_t x_of(const struct curve *v, uint32_t column)
{
    return LEFT + (uint32_t)((uint64_t)column * (WIDTH - LEFT) / v->n);
}

/* Along the tops to the right, along the bases back. */
static void layer(struct curve *v, struct mt_out *o, unsigned role, const char *fill)
{
    uint64_t top[COLUMNS] = {0};
    bool any = false;
    for (uint32_t k = 0; k < v->n; k++) {
        top[k] = v->base[k] + bytes_of(v->c, v->pick[k], role);
        any = any || y_of(v, top[k]) != y_of(v, v->base[k]);
    }
    if (any) {
        mt_putf(o, "<path fill=\"%s\" d=\"M%d %" PRIu32, fill, LEFT, y_of(v, top[0]));
        for (uint32_t k = 1; k < v->n; k++)
            if (y_of(v, top[k]) != y_of(v, top[k - 1]))
                mt_putf(o, "H%" PRIu32 "V%" PRIu32, x_of(v, k), y_of(v, top[k]));
        mt_putf(o, "H%dV%" PRIu32, WIDTH, y_of(v, v->base[v->n - 1]));
        for (uint32_t k = v->n - 1; k > 0; k--)
            if (y_of(v, v->base[k]) != y_of(v, v->base[k - 1]))
                mt_putf(o, "H%" PRIu32 "V%" PRIu32, x_of(v, k), y_of(v, v->base[k - 1]));
        mt_putf(o, "H%dZ\"><title>%s</title></path>\n", LEFT, mt_role_words((enum mt_role)role));
    }
    for (uint32_t k = 0; k < v->n; k++)
        v->base[k] = top[k];
}

bool mt_svg_roles_has(const struct mt_device_analysis *d)
{
    return d->curve.n >= 8 && d->withheld == NULL;
}

void mt_svg_roles(struct mt_out *o, const struct mt_device_analysis *d)
{
    struct curve v = {.c = &d->curve};
    char label[32];
    choose(&v);
    mt_putf(o,
            "<svg class=\"plot\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"Live memory over the "
            "trace by what it is for\" font-family=\"system-ui, sans-serif\" font-size=\"12\" "
            "fill=\"currentColor\">\n",
            WIDTH, TOP + HEIGHT + 24, WIDTH, TOP + HEIGHT + 24);
    for (uint64_t at = 0; at <= v.y.top; at += v.y.step) {
        mt_putf(o,
                "<rect x=\"%d\" y=\"%" PRIu32 "\" width=\"%d\" height=\"1\" fill-opacity=\".15\"/>",
                LEFT, y_of(&v, at), WIDTH - LEFT);
        mt_putf(o, "<text x=\"%d\" y=\"%" PRIu32 "\" text-anchor=\"end\">%s %s</text>\n", LEFT - 8,
                y_of(&v, at) + 4, mt_scale_label(&v.y, at, label), v.y.name);
    }
    mt_puts(o, "<g shape-rendering=\"crispEdges\">\n");
    for (unsigned i = 0; i < MT_ROLE_COUNT; i++)
        layer(&v, o, from_below[i], mt_color_hex(mt_role_color(from_below[i])));
    mt_putf(o,
            "</g><text x=\"%d\" y=\"%d\">event 0</text><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">%s</text>\n</svg>\n",
            LEFT, TOP + HEIGHT + 18, WIDTH, TOP + HEIGHT + 18, mt_fmt_count(label, d->n_events));
}
