#include "render/svg/plot.h"
#include "render/view/asked.h"
#include "render/base/escape.h"

#include "parser/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The bytes of a role in a column; where nobody made roles all are of none. */
static uint64_t bytes_of(const struct mt_timeline *tl, uint32_t column, unsigned role)
{
    if (tl->live == NULL)
        return role == MT_ROLE_UNKNOWN ? tl->total[column] : 0;
    for (unsigned g = 0; g < tl->n_roles; g++)
        if (tl->role[g] == role)
            return tl->live[(size_t)column * tl->n_roles + g];
    return 0;
}

static uint64_t x_span(const struct mt_timeline *tl)
{
    return tl->x1 - tl->x0 < UINT64_MAX ? tl->x1 - tl->x0 + 1 : UINT64_MAX;
}

uint32_t mt_plot_x(const struct mt_plot *p, int64_t event, uint64_t time_ns)
{
    const struct mt_timeline *tl = p->tl;
    uint64_t v = tl->has_time ? time_ns : event < 0 ? 0 : (uint64_t)event;
    if (v < tl->x0)
        return p->left;
    return p->left + mt_scale_px(v - tl->x0, x_span(tl), p->width);
}

uint32_t mt_plot_y(const struct mt_plot *p, uint64_t bytes)
{
    return p->top + p->height - mt_scale_px(bytes, p->y.top, p->height);
}

uint32_t mt_plot_column_x(const struct mt_plot *p, uint32_t c)
{
    return p->left + (uint32_t)((uint64_t)p->width * c / p->n);
}

static uint64_t peak_of(const struct mt_plot *p, unsigned role) { return p->d->roles.peak[role]; }

/* The layers, in the order of the picture that the script draws; false when out of memory. */
static bool find_layers(struct mt_plot *p)
{
    p->n_layers = 0;
    for (unsigned role = 0; role < MT_ROLE_COUNT; role++) {
        bool used = false;
        unsigned at;
        for (uint32_t c = 0; c < p->n && !used; c++)
            used = bytes_of(p->tl, p->pick[c], role) != 0;
        for (at = p->n_layers; used && at > 0 && peak_of(p, p->order[at - 1]) < peak_of(p, role);
             at--)
            p->order[at] = p->order[at - 1];
        if (used) {
            p->order[at] = (uint8_t)role;
            p->n_layers++;
        }
    }
    mt_role_curve_layers(&p->d->curve, p->order, p->n_layers);
    p->sum = mt_calloc((size_t)p->n * p->n_layers + 1, sizeof *p->sum);
    if (p->sum == NULL)
        return false;
    for (uint32_t c = 0; c < p->n; c++) {
        uint64_t sum = 0;
        for (unsigned k = 0; k < p->n_layers; k++) {
            sum += bytes_of(p->tl, p->pick[c], p->order[k]);
            p->sum[(size_t)c * p->n_layers + k] = sum;
        }
    }
    return true;
}

/* A failure, or the peak, of a long trace takes a part of a column: it is drawn wide enough to be
 * seen. */
static void widen(struct mt_plot *p, int64_t event, uint64_t time_ns)
{
    enum { PIXELS = 6 };
    const struct mt_timeline *tl = p->tl;
    uint64_t v = tl->has_time ? time_ns : event < 0 ? 0 : (uint64_t)event;
    if (event != MT_NO_EVENT && v >= tl->x0 && v <= tl->x1)
        mt_scale_widen(p->pick, p->n, mt_scale_px(v - tl->x0, x_span(tl), p->n),
                       PIXELS * p->n / p->width + 1, tl->total);
}

/* The highest of what failed requests would have needed, too; of one that is cut the beginning, its
 * size stands above it. */
static uint64_t with_asked(const struct mt_plot *p, uint64_t max)
{
    for (uint32_t i = 0; i < p->d->ooms.n; i++) {
        struct mt_asked a;
        if (mt_asked_of(&a, p->d, &p->d->ooms.p[i]) && mt_asked_room(&a) > max)
            max = mt_asked_room(&a);
    }
    return max;
}

bool mt_plot_init(struct mt_plot *p, uint32_t merge)
{
    const struct mt_timeline *tl = p->tl;
    uint64_t max = 0;
    p->merge = merge;
    p->n = (tl->n_columns + merge - 1) / merge;
    p->pick = mt_calloc(p->n, sizeof *p->pick);
    p->reserved = mt_calloc(p->n, sizeof *p->reserved);
    p->phase = mt_calloc(p->n, sizeof *p->phase);
    if (p->pick == NULL || p->reserved == NULL || p->phase == NULL)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t from = i * merge,
                 end = from + merge < tl->n_columns ? from + merge : tl->n_columns, busiest = from;
        p->pick[i] = from;
        for (uint32_t c = from; c < end; c++) {
            if (tl->total[c] > tl->total[p->pick[i]])
                p->pick[i] = c;
            if (tl->reserved[c] > p->reserved[i])
                p->reserved[i] = tl->reserved[c];
            if (tl->events[c] > tl->events[busiest])
                busiest = c;
        }
        p->phase[i] = tl->phase[busiest];
        if (tl->total[p->pick[i]] > max)
            max = tl->total[p->pick[i]];
        if (p->reserved[i] > max)
            max = p->reserved[i];
    }
    widen(p, p->d->peak_event, p->d->peak_ns);
    for (uint32_t i = 0; i < p->d->ooms.n; i++)
        widen(p, (int64_t)p->d->ooms.p[i].event, p->d->ooms.p[i].time_ns);
    /* A card far larger than the job would press the curve flat. */
    p->capacity_in = p->d->capacity != 0 && (max == 0 || p->d->capacity / max < 3);
    if (p->capacity_in && p->d->capacity > max)
        max = p->d->capacity;
    max = with_asked(p, max);
    p->y = mt_scale_bytes(max, p->s->small ? 3 : 6);
    return find_layers(p);
}

void mt_plot_done(struct mt_plot *p)
{
    mt_free(p->pick);
    mt_free(p->reserved);
    mt_free(p->phase);
    mt_free(p->sum);
    p->sum = NULL;
    p->pick = NULL;
    p->reserved = NULL;
    p->phase = NULL;
}

/* A staircase over the columns: y[i] from column i to i + 1, equal neighbours merged. */
static void put_steps(struct mt_out *o, const struct mt_plot *p, const uint32_t *y)
{
    uint32_t at = 0;
    mt_putf(o, "M%" PRIu32 " %" PRIu32, p->left, y[0]);
    for (uint32_t i = 1; i <= p->n; i++) {
        if (i < p->n && y[i] == y[at])
            continue;
        mt_putf(o, "h%" PRIu32, mt_plot_column_x(p, i) - mt_plot_column_x(p, at));
        if (i < p->n)
            mt_putf(o, "v%" PRId64, (int64_t)y[i] - (int64_t)y[at]);
        at = i;
    }
}

bool mt_plot_layers(struct mt_out *o, const struct mt_plot *p)
{
    uint32_t *y = mt_calloc(p->n, sizeof *y);
    if (y == NULL)
        return false;
    /* From the top layer down, each filled to the base line: what is below covers it, and one line
     * per layer is enough. */
    for (unsigned k = p->n_layers; k-- > 0;) {
        for (uint32_t c = 0; c < p->n; c++)
            y[c] = mt_plot_y(p, p->sum[(size_t)c * p->n_layers + k]);
        mt_putf(o, "<path fill=\"%s\" d=\"", mt_color_hex(mt_role_color(p->order[k])));
        put_steps(o, p, y);
        mt_putf(o, "V%" PRIu32 "H%" PRIu32 "z\"><title>%s</title></path>\n", p->top + p->height,
                p->left, mt_role_words((enum mt_role)p->order[k]));
    }
    mt_free(y);
    return true;
}

/* A stretch of columns in which a layer has a common height. */
struct room {
    uint32_t from, end, above, below; /* columns; y */
};

static uint32_t low_y(const struct mt_plot *p, uint32_t column, unsigned layer)
{
    return mt_plot_y(p, layer > 0 ? p->sum[(size_t)column * p->n_layers + layer - 1] : 0);
}

/* The widest room in a layer that is at least so high. */
static struct room find_room(const struct mt_plot *p, unsigned layer, uint32_t height)
{
    struct room best = {0, 0, 0, 0};
    for (uint32_t from = 0; from < p->n && p->n - from > best.end - best.from; from++) {
        struct room r = {from, from, 0, UINT32_MAX};
        for (uint32_t c = from; c < p->n; c++) {
            uint32_t above = mt_plot_y(p, p->sum[(size_t)c * p->n_layers + layer]),
                     below = low_y(p, c, layer);
            above = above > r.above ? above : r.above;
            below = below < r.below ? below : r.below;
            if (above + height > below)
                break;
            r = (struct room){from, c + 1, above, below};
        }
        if (r.end - r.from > best.end - best.from)
            best = r;
    }
    return best;
}

static bool fits(const struct mt_plot *p, const struct room *r, const char *words)
{
    enum { CHAR_WIDTH = 7, PAD = 4 };
    return r->end > r->from && strlen(words) * CHAR_WIDTH + PAD <=
                                   mt_plot_column_x(p, r->end) - mt_plot_column_x(p, r->from);
}

void mt_plot_names(struct mt_out *o, const struct mt_plot *p, const struct mt_legend *l)
{
    static const uint32_t tall[] = {48, 24, 11}; /* where it stands freely, if it can */
    for (unsigned k = 0; k < p->n_layers; k++) {
        const char *name = mt_role_words((enum mt_role)p->order[k]);
        struct room r = {0, 0, 0, 0};
        char number[16];
        for (unsigned i = 0; i < sizeof tall / sizeof *tall && !fits(p, &r, name); i++)
            r = find_room(p, k, tall[i]);
        (void)snprintf(number, sizeof number, "%u", mt_legend_number(l, p->order[k]));
        if (!fits(p, &r, name))
            name = number;
        if (!fits(p, &r, name))
            continue;
        mt_putf(o,
                "<text text-anchor=\"middle\" x=\"%" PRIu32 "\" y=\"%" PRIu32
                "\" fill=\"%s\">%s</text>\n",
                (mt_plot_column_x(p, r.from) + mt_plot_column_x(p, r.end)) / 2,
                (r.above + r.below) / 2 + 4, mt_color_ink(mt_role_color(p->order[k])), name);
    }
}

bool mt_plot_reserved(struct mt_out *o, const struct mt_plot *p)
{
    uint32_t *y = mt_calloc(p->n, sizeof *y);
    if (y == NULL)
        return false;
    for (uint32_t c = 0; c < p->n; c++)
        y[c] = mt_plot_y(p, p->reserved[c]);
    mt_puts(o, "<path fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" "
               "stroke-dasharray=\"5 3\" d=\"");
    put_steps(o, p, y);
    mt_puts(o, "\"/>\n");
    mt_free(y);
    return true;
}

void mt_plot_grid(struct mt_out *o, const struct mt_plot *p)
{
    char label[32];
    uint32_t base = p->top + p->height;
    struct mt_scale x = p->tl->has_time
                            ? mt_scale_time(p->tl->x1 - p->tl->x0, p->s->small ? 4 : 8)
                            : mt_scale_events(p->tl->x1 - p->tl->x0, p->s->small ? 4 : 8);
    mt_puts(o, "<g stroke=\"currentColor\" stroke-opacity=\".16\">");
    for (uint64_t v = 0; v <= p->y.top && v / p->y.step < 12; v += p->y.step)
        mt_putf(o, "<path d=\"M%" PRIu32 " %" PRIu32 "h%" PRIu32 "\"/>", p->left, mt_plot_y(p, v),
                p->width);
    mt_puts(o, "</g>\n<g text-anchor=\"end\">");
    for (uint64_t v = 0; v <= p->y.top && v / p->y.step < 12; v += p->y.step)
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%s</text>", p->left - 8,
                mt_plot_y(p, v) + 4, mt_scale_label(&p->y, v, label));
    mt_putf(o,
            "</g>\n<text x=\"%" PRIu32 "\" y=\"%" PRIu32
            "\" text-anchor=\"end\" opacity=\".75\">%s</text>\n",
            p->left - 8, p->top - 10, p->y.name);
    base += p->s->small ? 16 : 24;
    mt_puts(o, "<g text-anchor=\"middle\">");
    for (uint64_t v = 0; v <= p->tl->x1 - p->tl->x0 && v / x.step < 16; v += x.step) {
        uint32_t at = p->left + mt_scale_px(v, x_span(p->tl), p->width);
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%s</text>", at, base + 16,
                mt_scale_label(&x, v, label));
    }
    mt_puts(o, "</g>\n");
    if (!p->s->small) {
        mt_putf(o,
                "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\" text-anchor=\"middle\" opacity=\".75\">",
                p->left + p->width / 2, base + 34);
        if (p->tl->has_time) {
            char utc[40];
            mt_putf(o, "%s after the first event at %s", x.name, mt_fmt_utc(utc, p->tl->x0));
        } else {
            mt_puts(o, p->d->timeline.has_time ? "event number"
                                               : "event number (this trace has no clock)");
        }
        mt_puts(o, "</text>\n");
    }
}
