/* export/stacks.c -- live bytes by stack at a moment: folded stacks, and the format of speedscope.
 */
#include "render/export/impl.h"

#include "render/base/escape.h"
#include "render/base/jsonw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FRAME_WORDS = 2048 };

/* ---- folded ---- */

/* ';' parts frames and a newline ends the stack: neither may come from a name. */
static void put_frame(struct mt_out *o, const char *s, bool first)
{
    char clean[FRAME_WORDS];
    size_t n = 0;
    for (; s[n] != '\0' && n + 1 < sizeof clean; n++)
        clean[n] = s[n] == ';' ? ',' : s[n];
    if (!first)
        mt_putc(o, ';');
    mt_term(o, clean, mt_utf8_cut(clean, n, n));
}

static void put_stack(struct mt_out *o, const struct mt_trace *t, const struct mt_export_weight *w,
                      const char *root)
{
    mt_frame_id frames[MT_EXPORT_DEPTH];
    uint32_t n = 0, cut = 0;
    char words[FRAME_WORDS];
    bool first = root == NULL;
    if (root != NULL)
        put_frame(o, root, true);
    if (w->stack != MT_EXPORT_LOST)
        mt_export_frames(t, w->stack, frames, &n, &cut);
    if (cut != 0) {
        snprintf(words, sizeof words, "(%lu outer frames left out)", (unsigned long)cut);
        put_frame(o, words, first);
        first = false;
    }
    for (uint32_t i = 0; i < n; i++, first = false)
        put_frame(o, mt_export_frame_words(words, sizeof words, t, frames[i]), first);
    if (n == 0)
        put_frame(o, mt_export_no_frame_words(w->stack), first);
    mt_putf(o, " %llu\n", (unsigned long long)w->bytes);
}

static uint32_t n_devices(const struct mt_report *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        n += r->diagnosis->ranks.p[i].analysis->devices.n;
    return n;
}

void mt_export_folded(const struct mt_export *x, const struct mt_report *r, struct mt_out *o)
{
    bool several = n_devices(r) > 1; /* then each has a root of its own */
    char name[320];
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        for (uint32_t d = 0; d < r->diagnosis->ranks.p[i].analysis->devices.n; d++) {
            const struct mt_export_track *t = mt_export_track_of(x, &r->diagnosis->ranks.p[i], d);
            mt_export_track_name(name, sizeof name, r, &r->diagnosis->ranks.p[i],
                                 &r->diagnosis->ranks.p[i].analysis->devices.p[d]);
            if (t == NULL || t->moments.n == 0)
                continue;
            for (uint32_t k = 0; k < t->moments.p[0].weights.n; k++)
                put_stack(o, t->trace, &t->moments.p[0].weights.p[k], several ? name : NULL);
        }
}

/* ---- speedscope ---- */

/* the frames of one trace that occur: where they stand in the list of the file, + 1 */
struct frames {
    const struct mt_trace *trace;
    uint32_t *index;
};
struct scope {
    struct mt_jsonw w;
    MT_VEC(struct frames) traces;
    uint32_t n_frames, no_stack, lost; /* the last two: + 1, 0 = they do not occur */
    bool no_memory;
};

static struct frames *frames_of(struct scope *s, const struct mt_trace *t)
{
    struct frames *f;
    for (uint32_t i = s->traces.n; i > 0; i--)
        if (s->traces.p[i - 1].trace == t)
            return &s->traces.p[i - 1];
    f = MT_VEC_PUSH(&s->traces);
    if (f != NULL) {
        f->trace = t;
        f->index = mt_calloc((size_t)t->frames.n + 1, sizeof *f->index);
    }
    return f != NULL && f->index != NULL ? f : NULL;
}

static void list_words(struct scope *s, const char *words, uint32_t *index)
{
    if (*index != 0)
        return;
    *index = ++s->n_frames;
    mt_jw_open(&s->w, '{');
    mt_jw_ks(&s->w, "name", words);
    mt_jw_close(&s->w, '}');
}

static void list_frame(struct scope *s, const struct mt_trace *t, mt_frame_id id, uint32_t *index)
{
    const struct mt_frame *f = &t->frames.p[id];
    if (*index != 0)
        return;
    *index = ++s->n_frames;
    mt_jw_open(&s->w, '{');
    mt_jw_key(&s->w, "name");
    mt_jw_str(&s->w, mt_str(t, f->name), mt_str_len(t, f->name));
    if (mt_str_len(t, f->file) != 0 && strcmp(mt_str(t, f->file), "??") != 0) {
        mt_jw_key(&s->w, "file");
        mt_jw_str(&s->w, mt_str(t, f->file), mt_str_len(t, f->file));
    }
    if (f->line != 0)
        mt_jw_ku(&s->w, "line", f->line);
    mt_jw_close(&s->w, '}');
    mt_putc(s->w.o, '\n');
}

static void list_frames(struct scope *s, const struct mt_export_track *t)
{
    mt_frame_id ids[MT_EXPORT_DEPTH];
    struct frames *f = frames_of(s, t->trace);
    uint32_t n, cut;
    if (f == NULL) {
        s->no_memory = true;
        return;
    }
    for (uint32_t m = 0; m < t->moments.n; m++)
        for (uint32_t k = 0; k < t->moments.p[m].weights.n; k++) {
            mt_stack_id stack = t->moments.p[m].weights.p[k].stack;
            if (stack == MT_EXPORT_LOST || stack == 0) {
                list_words(s, mt_export_no_frame_words(stack),
                           stack == 0 ? &s->no_stack : &s->lost);
                continue;
            }
            mt_export_frames(t->trace, stack, ids, &n, &cut);
            for (uint32_t i = 0; i < n; i++)
                list_frame(s, t->trace, ids[i], &f->index[ids[i]]);
        }
}

static void put_profile(struct scope *s, const struct mt_export_track *t,
                        const struct mt_export_moment *m, const char *device)
{
    mt_frame_id ids[MT_EXPORT_DEPTH];
    const struct frames *f = frames_of(s, t->trace);
    char name[512];
    uint32_t n, cut;
    snprintf(name, sizeof name, "%s: %s", device, m->name);
    mt_jw_open(&s->w, '{');
    mt_jw_ks(&s->w, "type", "sampled");
    mt_jw_ks(&s->w, "name", name);
    mt_jw_ks(&s->w, "unit", "bytes");
    mt_jw_ku(&s->w, "startValue", 0);
    mt_jw_ku(&s->w, "endValue", m->live);
    mt_jw_key(&s->w, "samples");
    mt_jw_open(&s->w, '[');
    for (uint32_t k = 0; k < m->weights.n && f != NULL; k++) {
        mt_stack_id stack = m->weights.p[k].stack;
        mt_jw_open(&s->w, '[');
        if (stack == MT_EXPORT_LOST || stack == 0) {
            mt_jw_u(&s->w, (stack == 0 ? s->no_stack : s->lost) - 1);
        } else {
            mt_export_frames(t->trace, stack, ids, &n, &cut);
            for (uint32_t i = 0; i < n; i++)
                mt_jw_u(&s->w, f->index[ids[i]] - 1);
        }
        mt_jw_close(&s->w, ']');
    }
    mt_jw_close(&s->w, ']');
    mt_jw_key(&s->w, "weights");
    mt_jw_open(&s->w, '[');
    for (uint32_t k = 0; k < m->weights.n; k++)
        mt_jw_u(&s->w, m->weights.p[k].bytes);
    mt_jw_close(&s->w, ']');
    mt_jw_close(&s->w, '}');
    mt_putc(s->w.o, '\n');
}

static void each_track(struct scope *s, const struct mt_export *x, const struct mt_report *r,
                       bool profiles)
{
    char name[320];
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        for (uint32_t d = 0; d < r->diagnosis->ranks.p[i].analysis->devices.n; d++) {
            const struct mt_export_track *t = mt_export_track_of(x, &r->diagnosis->ranks.p[i], d);
            if (t == NULL)
                continue;
            if (!profiles)
                list_frames(s, t);
            mt_export_track_name(name, sizeof name, r, &r->diagnosis->ranks.p[i],
                                 &r->diagnosis->ranks.p[i].analysis->devices.p[d]);
            for (uint32_t m = 0; profiles && m < t->moments.n; m++)
                put_profile(s, t, &t->moments.p[m], name);
        }
}

void mt_export_speedscope(const struct mt_export *x, const struct mt_report *r, struct mt_out *o)
{
    struct scope s;
    char exporter[64];
    memset(&s, 0, sizeof s);
    mt_jw_init(&s.w, o, false);
    snprintf(exporter, sizeof exporter, "memtrace %s", r->version != NULL ? r->version : "");
    mt_jw_open(&s.w, '{');
    mt_jw_ks(&s.w, "$schema", "https://www.speedscope.app/file-format-schema.json");
    mt_jw_ks(&s.w, "exporter", exporter);
    mt_jw_ks(&s.w, "name", r->title != NULL ? r->title : "memtrace");
    mt_jw_ku(&s.w, "activeProfileIndex", 0);
    mt_jw_key(&s.w, "shared");
    mt_jw_open(&s.w, '{');
    mt_jw_key(&s.w, "frames");
    mt_jw_open(&s.w, '[');
    each_track(&s, x, r, false);
    mt_jw_close(&s.w, ']');
    mt_jw_close(&s.w, '}');
    mt_jw_key(&s.w, "profiles");
    mt_jw_open(&s.w, '[');
    each_track(&s, x, r, true);
    mt_jw_close(&s.w, ']');
    mt_jw_close(&s.w, '}');
    mt_putc(o, '\n');
    if (s.no_memory && o->error == 0)
        o->error = ENOMEM;
    for (uint32_t i = 0; i < s.traces.n; i++)
        mt_free(s.traces.p[i].index);
    MT_VEC_DONE(&s.traces);
}
