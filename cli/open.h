/* open.h -- a page in the browser of whoever sits here. */
#ifndef MT_OPEN_H
#define MT_OPEN_H

/* Starts the first program of $BROWSER (a list parted by ':', "%s" = the page), else xdg-open and
 * its likes where there is a display. Says on standard error where the page is when none starts. */
void mt_open_page(const char *path);

#endif
