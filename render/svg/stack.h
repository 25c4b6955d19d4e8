/* svg/stack.h -- one bar that takes whatever width there is, its parts side by side: no text
 * inside, so that it can be stretched. */
#ifndef MT_SVG_STACK_H
#define MT_SVG_STACK_H

#include "render/view/diagnosis.h"

struct mt_stack_bar {
    struct mt_out *o;
    uint64_t whole, sum; /* of the full width; what has been drawn */
    unsigned height;
};
void mt_stack_open(struct mt_stack_bar *b, struct mt_out *o, uint64_t whole, unsigned height,
                   const char *label);
void mt_stack_part(struct mt_stack_bar *b, uint64_t bytes, const char *fill, const char *name);
/* Free space: its outline. */
void mt_stack_gap(struct mt_stack_bar *b, uint64_t bytes, const char *name);
/* What is there and was of no use; what others hold; what was asked for and did not fit. Hatched: a
 * reader who sees no colours tells them from the rest. */
void mt_stack_idle(struct mt_stack_bar *b, uint64_t bytes, const char *fill, const char *name);
void mt_stack_foreign(struct mt_stack_bar *b, uint64_t bytes, const char *name);
void mt_stack_asked(struct mt_stack_bar *b, uint64_t bytes, const char *name);
/* A line across at that many bytes. */
void mt_stack_line(struct mt_stack_bar *b, uint64_t bytes);
void mt_stack_close(struct mt_stack_bar *b);
/* The bytes of n roles in their colours, in that order; NULL = of all MT_ROLE_COUNT in their own
 * order, the same in every bar. */
void mt_stack_roles(struct mt_stack_bar *b, const uint64_t bytes[MT_ROLE_COUNT],
                    const uint8_t *order, unsigned n);

#endif
