/* strip.h -- several ranks or devices as one strip: each as high as it got, on one scale. */
#ifndef MT_HTML_STRIP_H
#define MT_HTML_STRIP_H

#include "render/html/kit.h"

/* Nothing where there is one device. */
void mt_h_strip(const struct mt_page *p, struct mt_out *o);

#endif
