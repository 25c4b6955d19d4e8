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

/* What a frame of generated code stands for, as its fourth item. */
static void fx(struct mt_dump *d, const struct mt_fx *x)
{
    const struct mt_frame *f = x != NULL ? &d->t->frames.p[x->line] : NULL;
    if (x == NULL)
        return;
    mt_jw_open(&d->w, '{');
    mt_dump_str(d, "op", x->op);
    mt_dump_str(d, "node", x->name);
    mt_dump_str(d, "target", x->target);
    mt_dump_str(d, "name", f->name);
    mt_dump_str(d, "file", f->file);
    mt_jw_ku(&d->w, "line", f->line);
    mt_dump_str(d, "code", x->code);
    mt_jw_close(&d->w, '}');
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
        fx(d, mt_fx_of(d->t, d->t->stacks.p[i].frame));
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
    case MT_FMT_PROFILER: return "profiler";
    case MT_FMT_MEMRAY: return "memray";
    case MT_FMT_NSYS: return "nsys";
    case MT_FMT_UNKNOWN: break;
    }
    return "unknown";
}
