/* other_devices.h -- a section of the page for the verdict's device, and folded below it the same
 * for the other ones. */
#ifndef MT_OTHER_DEVICES_H
#define MT_OTHER_DEVICES_H

#include "render/html/kit.h"

/* The rows of a section; draw: instead of them, with pictures where that is the page's device.
 * words: what the folded line of another device says behind its name, "" for nothing. */
void mt_h_devices(const struct mt_page *p, struct mt_out *o, mt_section *section,
                  void (*draw)(const struct mt_page *p, const struct mt_device_analysis *d,
                               struct mt_out *o),
                  char *(*words)(char *buf, size_t cap, const struct mt_device_analysis *d));
/* "at most 24.00 GiB"; "to act on: Weight sync". */
char *mt_words_occurrences(char *buf, size_t cap, const struct mt_device_analysis *d);
char *mt_words_audits(char *buf, size_t cap, const struct mt_device_analysis *d);
/* "Of rank 3, device 0." where there are others. */
void mt_h_of_device(const struct mt_page *p, struct mt_out *o);

#endif
