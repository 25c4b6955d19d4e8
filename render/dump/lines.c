/* The lines that a dump is made of. */
#include "render/dump/impl.h"

void mt_dump_begin(struct mt_dump *d, const char *type)
{
    mt_jw_init(&d->w, d->w.o, false);
    mt_jw_open(&d->w, '{');
    mt_jw_ks(&d->w, "type", type);
}

void mt_dump_end(struct mt_dump *d)
{
    mt_jw_close(&d->w, '}');
    mt_putc(d->w.o, '\n');
}

void mt_dump_str(struct mt_dump *d, const char *key, mt_str_id id)
{
    mt_jw_key(&d->w, key);
    mt_jw_str(&d->w, mt_str(d->t, id), mt_str_len(d->t, id));
}

uint32_t mt_dump_stack(struct mt_dump *d, mt_stack_id s)
{
    if (s == 0 || d->number[s] != 0)
        return d->number[s];
    d->number[s] = ++d->n;
    mt_dump_begin(d, "stack");
    mt_jw_ku(&d->w, "id", d->n);
    mt_jw_key(&d->w, "frames");
    mt_jw_open(&d->w, '[');
    for (mt_stack_id i = s; i != 0; i = d->t->stacks.p[i].parent) {
        const struct mt_frame *f = &d->t->frames.p[d->t->stacks.p[i].frame];
        mt_jw_open(&d->w, '[');
        mt_jw_str(&d->w, mt_str(d->t, f->name), mt_str_len(d->t, f->name));
        mt_jw_str(&d->w, mt_str(d->t, f->file), mt_str_len(d->t, f->file));
        mt_jw_u(&d->w, f->line);
        mt_jw_close(&d->w, ']');
    }
    mt_jw_close(&d->w, ']');
    mt_dump_end(d);
    return d->number[s];
}

const char *mt_format_name(enum mt_format f)
{
    switch (f) {
    case MT_FMT_PICKLE: return "pickle";
    case MT_FMT_JSON: return "json";
    case MT_FMT_MEMTRACE: return "memtrace";
    case MT_FMT_UNKNOWN: break;
    }
    return "unknown";
}
