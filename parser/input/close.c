/* input/close.c -- gives back what an input, and a stream of it, holds. */
#include "parser/input/impl.h"

#include <string.h>

void mt_input_close_raw(struct mt_input *in)
{
    if (in->raw_open && in->raw.inode != 0 && in->opts.opened != NULL &&
        (in->raw_counts || in->dir == NULL))
        in->opts.opened(in->raw.device, in->raw.inode);
    if (in->raw_open)
        mt_raw_close(&in->raw);
    in->raw_open = in->raw_counts = false;
}

void mt_input_close_box(struct mt_input *in)
{
    struct mt_open_box *x = &in->box[--in->n_box];
    in->n_links += x->b->n_links;
    x->b->close(x->b);
    mt_free(x->member);
}

void mt_input_empty(struct mt_input *in)
{
    while (in->n_box > 0)
        mt_input_close_box(in);
    mt_input_close_raw(in);
    mt_dir_close(in->dir);
    mt_free(in->file_path);
}

void mt_item_done(struct mt_item *it)
{
    mt_source_free(it->src);
    mt_free(it->member);
    memset(it, 0, sizeof *it);
}
