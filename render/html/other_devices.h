/* other_devices.h -- a section of the page for the verdict's device, and folded below it the same
 * for the other ones. */
#ifndef MT_OTHER_DEVICES_H
#define MT_OTHER_DEVICES_H

#include "render/html/kit.h"

/* has: whether a device has something of the section; draw: its content, without pictures and
 * details where it is not full; words: what of it the folded line of another device says behind its
 * name, "" for nothing. */
void mt_h_devices(const struct mt_page *p, struct mt_out *o,
                  bool (*has)(const struct mt_device_analysis *d),
                  void (*draw)(const struct mt_page *p, const struct mt_device_analysis *d,
                               struct mt_out *o, bool full),
                  char *(*words)(char *buf, size_t cap, const struct mt_device_analysis *d));
/* "Of rank 3, device 0." where there are others. */
void mt_h_of_device(const struct mt_page *p, struct mt_out *o);

#endif
