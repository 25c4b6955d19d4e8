#include "render/saved/flame.h"

#include "parser/base/mem.h"
#include "parser/saved/report.h"
#include "render/base/escape.h"
#include "render/svg/legend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1180, ROW = 20, CHAR = 7, DEEPEST = 40, NODES = 20000, LABEL = 160, NONE = -1 };
/* Largest first: what comes after so many is narrower than a pixel, and siblings are searched one
 * by one. */
enum { OWNERS = 1024 };

struct node {
    char name[LABEL];
    uint64_t bytes[2];
    int32_t child, next; /* the first child, the next one of the same parent */
};
struct flame {
    MT_VEC(struct node) nodes; /* [0] is all */
    bool has_inside[2];        /* stacks with frames of PyTorch's inside beside Python's */
    unsigned deepest;
    bool no_memory;
};

/* ---- the tree ---- */

static int32_t child_of(struct flame *f, int32_t parent, const char *name)
{
    int32_t *link = &f->nodes.p[parent].child, at = *link, made;
    struct node *n;
    while (at != NONE) {
        if (strcmp(f->nodes.p[at].name, name) == 0)
            return at;
        link = &f->nodes.p[at].next;
        at = *link;
    }
    if (f->nodes.n >= NODES)
        return NONE;
    made = (int32_t)f->nodes.n;
    *link = made; /* before the list may move */
    n = MT_VEC_PUSH(&f->nodes);
    if (n == NULL) {
        f->no_memory = true;
        return NONE;
    }
    memset(n, 0, sizeof *n);
    n->child = n->next = NONE;
    (void)snprintf(n->name, sizeof n->name, "%s", name);
    return made;
}

/* "model.py forward": without the line, which moves. */
static const char *name_of(char buf[LABEL], const struct cJSON *frame)
{
    const char *file = mt_value_words(frame, "file"), *name = mt_value_words(frame, "name");
    const char *base = file != NULL ? strrchr(file, '/') : NULL;
    base = base != NULL ? base + 1 : file;
    (void)snprintf(buf, LABEL, "%.70s%s%.80s", base != NULL && strcmp(base, "??") != 0 ? base : "",
                   base != NULL && strcmp(base, "??") != 0 ? " " : "", name != NULL ? name : "?");
    return buf;
}

/* Of a stack without a line of Python there are all frames, those of PyTorch's inside: then what
 * the report calls it is the box. *has_inside is set where a stack has both: reports hold people's
 * own frames unless --frames all was given. */
static const struct cJSON *python_of(const struct cJSON *owner, bool *has_inside)
{
    const struct cJSON *first = mt_value_first(mt_value_in(owner, "frames"));
    bool has_python = false, has_other = false;
    for (const struct cJSON *v = first; v != NULL; v = mt_value_next(v)) {
        const char *file = mt_value_words(v, "file"),
                   *end = file != NULL ? strrchr(file, '.') : NULL;
        bool is_python = end != NULL && strcmp(end, ".py") == 0;
        has_python |= is_python;
        has_other |= !is_python;
    }
    *has_inside |= has_python && has_other;
    return has_python ? first : NULL;
}

static void add_owner(struct flame *f, int side, const struct cJSON *owner, uint64_t bytes)
{
    const struct cJSON *stack[DEEPEST], *python = python_of(owner, &f->has_inside[side]);
    char name[LABEL];
    unsigned n = 0;
    int32_t at = 0;
    /* innermost first: of a deep one the outermost stay */
    for (const struct cJSON *v = python; v != NULL; v = mt_value_next(v)) {
        if (n == DEEPEST) {
            memmove(stack, stack + 1, (DEEPEST - 1) * sizeof *stack);
            n--;
        }
        stack[n++] = v;
    }
    f->nodes.p[0].bytes[side] += bytes;
    f->deepest = n > f->deepest ? n : f->deepest;
    while (n > 0 && at != NONE) {
        at = child_of(f, at, name_of(name, stack[--n]));
        if (at != NONE)
            f->nodes.p[at].bytes[side] += bytes;
    }
    if (python == NULL) {
        const char *label = mt_value_words(owner, "label");
        (void)snprintf(name, sizeof name, "%.150s", label != NULL ? label : "(no stack recorded)");
        at = child_of(f, 0, name);
        if (at != NONE)
            f->nodes.p[at].bytes[side] += bytes;
        f->deepest = f->deepest > 0 ? f->deepest : 1;
    }
}

static void read_side(struct flame *f, int side, const struct mt_diff_side *s)
{
    const struct cJSON *o = mt_value_first(mt_value_in(s->root, "owners"));
    uint64_t n;
    unsigned n_owners = 0;
    for (; o != NULL && s->device != NULL && !f->no_memory && n_owners < OWNERS;
         o = mt_value_next(o))
        if (mt_saved_is_of(o, s->device) && mt_value_number(o, "bytes", &n)) {
            add_owner(f, side, o, n);
            n_owners++;
        }
}

/* ---- the picture ---- */

/* By how much of the larger of the two it changed; ink is readable on all, in a light and a dark
 * page. */
static const char *color_of(const struct node *n)
{
    static const char *const grown[] = {"#fbe3d3", "#f8c7a3", "#f2a46c", "#e97f34"};
    static const char *const shrunk[] = {"#dbeaf8", "#b5d5f1", "#86bae6", "#549bd6"};
    uint64_t a = n->bytes[0], b = n->bytes[1], most = a > b ? a : b, change = a > b ? a - b : b - a;
    double share = most != 0 ? (double)change / (double)most : 0;
    int level = share >= .7 ? 3 : share >= .35 ? 2 : share >= .1 ? 1 : 0;
    return share < .01 ? "#e3e6ea" : b > a ? grown[level] : shrunk[level];
}

static void put_title(struct mt_out *o, const struct node *n)
{
    char first[40], second[40], change[32];
    uint64_t a = n->bytes[0], b = n->bytes[1];
    mt_puts(o, "<title>");
    mt_html_s(o, n->name);
    mt_putf(o, ": first %s bytes, second %s bytes (%s%s)</title>", mt_fmt_count(first, a),
            mt_fmt_count(second, b),
            a == b  ? ""
            : a > b ? "-"
                    : "+",
            a == b ? "the same" : mt_fmt_bytes(change, a > b ? a - b : b - a));
}

static uint32_t x_of(const struct flame *f, uint64_t at)
{
    const struct node *all = &f->nodes.p[0];
    double whole = (double)all->bytes[0] + (double)all->bytes[1];
    return whole > 0 ? (uint32_t)((double)at * WIDTH / whole) : 0;
}

/* What is narrower than a pixel is not drawn, nor what is above it. */
static void put_node(struct mt_out *o, const struct flame *f, int32_t i, uint64_t at,
                     unsigned level)
{
    const struct node *n = &f->nodes.p[i];
    uint32_t x = x_of(f, at), width = x_of(f, at + n->bytes[0] + n->bytes[1]) - x;
    if (width == 0)
        return;
    mt_putf(o,
            "<g><rect x=\"%" PRIu32 "\" y=\"%u\" width=\"%" PRIu32 "\" height=\"%d\" fill=\"%s\"/>",
            x, level * ROW, width, ROW - 1, color_of(n));
    put_title(o, n);
    if (width >= 4 * CHAR) {
        mt_putf(o, "<text x=\"%" PRIu32 "\" y=\"%u\">", x + 4, level * ROW + 14);
        mt_svg_text(o, n->name, (width - 6) / CHAR);
        mt_puts(o, "</text>");
    }
    mt_puts(o, "</g>\n");
    for (int32_t c = n->child; c != NONE; c = f->nodes.p[c].next) {
        put_node(o, f, c, at, level + 1);
        at += f->nodes.p[c].bytes[0] + f->nodes.p[c].bytes[1];
    }
}

static void put_key(struct mt_out *o, unsigned y)
{
    static const char *const words[] = {"less in the second run", "the same",
                                        "more in the second run"};
    static const struct node of[] = {{.bytes = {2, 1}}, {.bytes = {1, 1}}, {.bytes = {1, 2}}};
    for (unsigned i = 0; i < 3; i++)
        mt_putf(o,
                "<rect x=\"%u\" y=\"%u\" width=\"24\" height=\"12\" fill=\"%s\"/><text x=\"%u\" "
                "y=\"%u\" "
                "fill=\"currentColor\">%s</text>\n",
                i * 220, y, color_of(&of[i]), i * 220 + 32, y + 11, words[i]);
}

static void draw(struct mt_out *o, const struct flame *f)
{
    unsigned height = (f->deepest + 1) * ROW;
    char first[32], second[32];
    const struct node *all = &f->nodes.p[0];
    mt_putf(o,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
            "height=\"%u\" "
            "role=\"img\" aria-labelledby=\"flame\" font-family=\"system-ui, sans-serif\" "
            "font-size=\"12\" fill=\"#14171c\" class=\"plot\">\n"
            "<title id=\"flame\">Who holds the memory, by stack: the first run %s, the second "
            "%s</title>\n",
            WIDTH, height + 30, WIDTH, height + 30, mt_fmt_bytes(first, all->bytes[0]),
            mt_fmt_bytes(second, all->bytes[1]));
    put_node(o, f, 0, 0, 0);
    put_key(o, height + 12);
    mt_puts(o, "</svg>\n");
}

void mt_flame_put(const struct mt_diff *d, struct mt_out *o)
{
    struct flame f = {.deepest = 0};
    struct node *all = MT_VEC_PUSH(&f.nodes);
    if (all != NULL) {
        memset(all, 0, sizeof *all);
        all->child = all->next = NONE;
        (void)snprintf(all->name, sizeof all->name, "all holders");
        read_side(&f, 0, &d->side[0]);
        read_side(&f, 1, &d->side[1]);
    }
    if ((all == NULL || f.no_memory) && o->error == 0)
        o->error = ENOMEM;
    else if (f.nodes.n > 1 && f.has_inside[0] == f.has_inside[1])
        draw(o, &f);
    MT_VEC_DONE(&f.nodes);
}
