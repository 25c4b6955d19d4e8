/* svg/timeline.h -- memory over time as a static picture: live bytes stacked by role,
 * reserved and capacity lines, peak and OOM marks, the phase band, axes and a legend. Only
 * presentation attributes: it survives a page whose CSS is dropped.
 *
 * What a column shows is the state at its highest instant, so no peak hides between two pixels. */
#ifndef MT_SVG_TIMELINE_H
#define MT_SVG_TIMELINE_H

#include "render/view/palette.h"

#define MT_SVG_MAX_BYTES 20480 /* of one timeline; a busier one is drawn with wider columns */

struct mt_svg {
    const struct mt_device_analysis *dev;
    const struct mt_timeline *tl; /* NULL = dev->timeline */
    const char *what;             /* "rank 3, GPU 0": for the text alternative; not escaped yet */
    unsigned id;                  /* makes ids of the page unique */
    bool small;                   /* one row among many ranks: no legend, fewer ticks */
};
/* Id of the second picture of the verdict's device; those of other ranks count from 1. */
#define MT_SVG_BY_EVENT_ID 10000u
/* True when there is a curve to draw. */
bool mt_svg_timeline_has(const struct mt_device_analysis *d);
void mt_svg_timeline(struct mt_out *o, const struct mt_svg *s);
/* One bar for a device without a curve: what the reserved bytes are made of at the moment that
 * matters. */
void mt_svg_composition(struct mt_out *o, const struct mt_svg *s);

/* The opening tag; the text alternative follows as <title id="tlN"> and <desc id="tlNd"> with N =
 * s->id. */
void mt_svg_open(struct mt_out *o, const struct mt_svg *s, uint32_t width, uint32_t height);

#endif
