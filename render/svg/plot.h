/* svg/plot.h -- the plot area of a timeline: its scale, its columns, the stacked layers and the
 * axes. Internal to svg/timeline.c. */
#ifndef MT_SVG_PLOT_H
#define MT_SVG_PLOT_H

#include "render/svg/legend.h"
#include "render/svg/scale.h"
#include "render/svg/timeline.h"

/* One try to draw: the columns of the timeline merged `merge` to one, and at most so many layers.
 */
struct mt_plot {
    const struct mt_svg *s;
    const struct mt_device_analysis *d;
    const struct mt_timeline *tl;
    struct mt_scale y;
    uint32_t left, top, width, height; /* of the plot area */
    uint32_t merge, n;                 /* columns drawn */
    uint32_t *pick;                    /* n: the column that each shows */
    uint64_t *reserved;                /* n */
    uint8_t *phase;                    /* n */
    bool capacity_in;
    uint8_t order[MT_ROLE_COUNT]; /* layers from the bottom up, as roles */
    unsigned n_layers;
    uint64_t *sum; /* n * n_layers: bytes of a layer and of all below it */
};

/* Zeroed plot with s, d, tl and the area set; false when out of memory (mt_plot_done() is needed
 * all the same). */
bool mt_plot_init(struct mt_plot *p, uint32_t merge);
void mt_plot_done(struct mt_plot *p);

uint32_t mt_plot_x(const struct mt_plot *p, int64_t event, uint64_t time_ns);
uint32_t mt_plot_y(const struct mt_plot *p, uint64_t bytes);
uint32_t mt_plot_column_x(const struct mt_plot *p, uint32_t column);

void mt_plot_grid(struct mt_out *o, const struct mt_plot *p);
bool mt_plot_layers(struct mt_out *o, const struct mt_plot *p); /* false when out of memory */
/* What layers are, written into them: a picture is read in black and white, too. Where a name finds
 * no room its number in the legend stands. */
void mt_plot_names(struct mt_out *o, const struct mt_plot *p, const struct mt_legend *l);
bool mt_plot_reserved(struct mt_out *o, const struct mt_plot *p);

#endif
