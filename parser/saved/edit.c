#include "parser/saved/edit.h"

#include "parser/saved/bounds.h"

#include <string.h>

struct level {
    bool is_list, any; /* any: a member was written */
    size_t path;       /* bytes of the path of this value */
    uint32_t seen, most;
    const char *last;
};
struct walk {
    struct mt_text *out;
    const char *p, *end;
    const struct mt_saved_edit *edits;
    uint32_t n;
    char path[512]; /* a longer one is no path of an edit */
    size_t n_path;
    struct level level[MT_SAVED_DEPTH + 1];
    uint32_t depth;
};

static void blanks(struct walk *w)
{
    while (w->p < w->end && strchr(" \n\r\t", *w->p) != NULL && *w->p != '\0')
        w->p++;
}

static void pass_string(struct walk *w)
{
    for (w->p++; w->p < w->end && *w->p != '"'; w->p++)
        w->p += *w->p == '\\';
    w->p += w->p < w->end;
}

/* A scalar, or with all in it a list or object. */
static void pass_value(struct walk *w)
{
    uint32_t deep = 0;
    do {
        if (*w->p == '"') {
            pass_string(w);
            continue;
        }
        if (*w->p == '[' || *w->p == '{')
            deep++;
        else if (*w->p == ']' || *w->p == '}')
            deep--;
        else if (deep == 0) {
            while (w->p < w->end && strchr(",]} \n\r\t", *w->p) == NULL)
                w->p++;
            return;
        }
        w->p++;
    } while (w->p < w->end && deep != 0);
}

static void add(struct walk *w, const char *s) { mt_text_add(w->out, s, strlen(s)); }

static void add_path(struct walk *w, const char *s, size_t n)
{
    if (n < sizeof w->path - w->n_path)
        memcpy(w->path + w->n_path, s, n);
    w->n_path += n;
    if (w->n_path >= sizeof w->path)
        w->n_path = sizeof w->path - 1;
}

static const struct mt_saved_edit *edit_of(const struct walk *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (strlen(w->edits[i].path) == w->n_path &&
            memcmp(w->edits[i].path, w->path, w->n_path) == 0)
            return &w->edits[i];
    return NULL;
}

/* At the beginning of a value that is written. */
static void value(struct walk *w)
{
    const struct mt_saved_edit *e = edit_of(w);
    const char *begin = w->p;
    bool opens = (*w->p == '[' || *w->p == '{') && w->depth < MT_SAVED_DEPTH;
    if (opens && (e == NULL || e->put == NULL)) {
        mt_text_add(w->out, w->p, 1);
        w->level[++w->depth] = (struct level){*w->p == '[',
                                              false,
                                              w->n_path,
                                              0,
                                              e != NULL ? e->most : UINT32_MAX,
                                              e != NULL ? e->last : NULL};
        w->p++;
        return;
    }
    pass_value(w);
    if (e != NULL && e->put != NULL)
        add(w, e->put);
    else
        mt_text_add(w->out, begin, (size_t)(w->p - begin));
    if (e != NULL && e->after != NULL) {
        add(w, ",");
        add(w, e->after);
    }
}

static void close(struct walk *w)
{
    struct level *l = &w->level[w->depth];
    if (l->last != NULL && l->last[0] != '\0') {
        if (l->any)
            add(w, ",");
        add(w, l->last);
    }
    mt_text_add(w->out, w->p++, 1);
    w->depth--;
}

/* One member of the innermost list or object. */
static void member(struct walk *w)
{
    struct level *l = &w->level[w->depth];
    const char *key = w->p;
    w->n_path = l->path;
    if (l->is_list && l->seen++ >= l->most) {
        pass_value(w);
        return;
    }
    if (l->any)
        add(w, ",");
    l->any = true;
    if (l->is_list) {
        add_path(w, "[]", 2);
    } else {
        pass_string(w);
        mt_text_add(w->out, key, (size_t)(w->p - key));
        add(w, ":");
        if (l->path != 0)
            add_path(w, ".", 1);
        add_path(w, key + 1, (size_t)(w->p - key - 2));
        blanks(w);
        w->p += w->p < w->end; /* the colon */
        blanks(w);
    }
    if (w->p < w->end)
        value(w);
}

void mt_saved_edited(struct mt_text *out, const char *text, size_t size,
                     const struct mt_saved_edit *edits, uint32_t n)
{
    struct walk w = {.out = out, .p = text, .end = text + size, .edits = edits, .n = n};
    blanks(&w);
    if (w.p < w.end)
        value(&w);
    while (w.depth != 0 && w.p < w.end && !out->failed) {
        blanks(&w);
        if (w.p >= w.end)
            break;
        if (*w.p == ',')
            w.p++;
        else if (*w.p == ']' || *w.p == '}')
            close(&w);
        else
            member(&w);
    }
}
