/* What recomputing would free of the activations, played on the blocks that are there. A piece is
 * one call, of a module or of a function of the job's own: with checkpoint around it, its input
 * stays, and all of it comes back at once while it runs backward. What was made behind it (a head,
 * logits, the failed request) is gone by then. So what is left is the input of every piece, what no
 * piece made, and of the largest piece what is more than all behind it.
 *
 * A trace tells the line of a call, not the call: a line that is come to again and again begins a
 * new piece where the first stack below it comes back. A loop inside of what is called looks the
 * same. It is taken for calls of as many layers where as many weights of one size are there; else
 * the least that is freed is reckoned as if all that comes in one row were one piece. Where no line
 * frees anything, each line of one function is wrapped. */
#include "analysis/cause/impl.h"
#include "analysis/base/addrmap.h"
#include "analysis/base/frames.h"

#include <stdlib.h>
#include <string.h>

/* LINES: lines to wrap, at most; WORTH: what the next has to free of all, one in so many. Both were
 * chosen by hand: an encoder, a decoder, a head. LEAST: weights smaller than this, as those of
 * norms, say nothing of layers. */
enum { LINES = 4, WORTH = 20, LEAST = 4096, SEEN = 8 };

enum kind { OTHER, OWN, MODULE };

/* A stack without its native frames, which differ from call to call of one line: the innermost
 * frame, and the site around it. 0 = none. */
struct site {
    mt_frame_id frame;
    uint32_t up;
    uint32_t call; /* the next site around it that is_call; 0 = none */
    enum kind kind;
    bool is_call; /* what it calls is a piece */
};

/* Of all blocks below a site. */
struct sum {
    uint64_t all, goes;
};

/* What a pass made on its way forward. line 0 = of no piece yet. */
struct kept {
    uint64_t size, behind; /* behind: bytes of all that passes made after it */
    bool goes;             /* with checkpoint around it; logits and temporaries come anyway */
    uint32_t site, line;
};

/* Pieces below one site. */
struct call {
    uint32_t anchor; /* the first site of a piece */
    uint32_t line;   /* of a function whose lines are wrapped: that of the piece */
    bool other;      /* the piece has another site, too */
    bool loose;      /* any of its sites that comes back begins a new one, not the first alone */
    uint32_t seen[SEEN], n_seen; /* the first ones of the piece */
    uint32_t last;               /* the last block of it, + 1; 0 = none */
    uint32_t n, row_n, rows_most;
    uint64_t all, goes, so_far, piece, row;
    /* of one, and what of it is more than all behind it */
    uint64_t piece_most, row_most, piece_net, row_net;
    uint64_t input, largest; /* of the pieces so far: what the next ones read, or may read */
    uint64_t of_piece;       /* the largest block of the piece at hand */
};

struct work {
    const struct mt_roles *w;
    const struct mt_trace *t;
    uint64_t behind; /* of all that is live: the request that failed in a forward pass; in a
                        backward pass, made_backward() */
    struct kept *kept;
    uint32_t n;
    bool goes_back; /* it failed there, so that ends of pieces may be gone */
    uint64_t all;
    MT_VEC(struct site) sites;
    MT_VEC(mt_stack_id) path;
    struct mt_addrmap by_frame; /* site around it << 32 | frame -> site */
    uint32_t *of_stack;         /* site + 1; 0 = not known yet */
    struct mt_file_kinds kinds;
    bool bodies; /* the lines of one function are wrapped, each for itself */
    /* Few sites have pieces below them: `at` is the site of each call, in their order, and slot the
     * call of a site, + 1. */
    struct call *call;
    uint32_t *at, *slot, n_calls;
    struct sum *sum;  /* by site */
    uint64_t *weight; /* sizes, sorted */
    uint32_t n_weights;
};

static int by_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* PyTorch's own Python is one operation to whoever calls it, but for what calls modules in a row;
 * module.py stands between a call and what is called. */
static enum kind kind_of(struct work *k, mt_frame_id frame)
{
    static const char module[] = "torch/nn/modules/module.py",
                      in_row[] = "torch/nn/modules/container.py";
    mt_str_id id = k->t->frames.p[frame].file;
    const char *file = mt_str(k->t, id);
    uint32_t len = mt_str_len(k->t, id);
    if (mt_path_ends(file, len, module, sizeof module - 1))
        return MODULE;
    return (mt_file_kind(&k->kinds, k->t, id) & MT_FILE_INTERNAL) == 0 ||
                   mt_path_ends(file, len, in_row, sizeof in_row - 1)
               ? OWN
               : OTHER;
}

/* A call is a line of the job's own, below which a module or another function of its own is. */
static int add_site(struct work *k, mt_frame_id frame, uint32_t *at)
{
    uint64_t key = (uint64_t)*at << 32 | frame;
    struct site s = {frame, *at, 0, kind_of(k, frame), false}, *new;
    uint32_t old;
    bool had;
    if (mt_addrmap_get(&k->by_frame, key, at))
        return 1;
    k->sites.p[s.up].is_call =
        k->sites.p[s.up].is_call || (s.kind != OTHER && k->sites.p[s.up].kind == OWN);
    *at = k->sites.n;
    if ((new = MT_VEC_PUSH(&k->sites)) == NULL ||
        !mt_addrmap_put(&k->by_frame, key, *at, &had, &old))
        return 0;
    *new = s;
    return 1;
}

static int site_of(struct work *k, mt_stack_id stack, uint32_t *site)
{
    mt_stack_id s = stack;
    k->path.n = 0;
    for (; s != 0 && k->of_stack[s] == 0; s = k->t->stacks.p[s].parent) {
        mt_stack_id *p = MT_VEC_PUSH(&k->path);
        if (p == NULL)
            return 0;
        *p = s;
    }
    *site = s != 0 ? k->of_stack[s] - 1 : 0;
    while (k->path.n > 0) {
        mt_frame_id frame;
        s = k->path.p[--k->path.n];
        frame = k->t->stacks.p[s].frame;
        if ((mt_file_kind(&k->kinds, k->t, k->t->frames.p[frame].file) & MT_FILE_PYTHON) != 0 &&
            !add_site(k, frame, site))
            return 0;
        k->of_stack[s] = *site + 1;
    }
    return 1;
}

/* Made by a pass on its way forward: the backward lets go of it, in turn. */
static bool is_of_forward(const struct work *k, uint32_t event)
{
    unsigned role = k->w->fate[event].role;
    return (role == MT_ROLE_ACTIVATION || role == MT_ROLE_LOGITS || role == MT_ROLE_TEMP) &&
           !mt_phase_is(k->w->r->attr[event].sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER);
}

/* In a backward pass: what the piece at hand makes there is gone, too, when an earlier piece comes
 * back. That one makes as much while it goes backward, of its own blocks less and less; but at
 * first it is all there, with the gradient of its output and one of its largest block. */
static uint64_t made_backward(const struct work *k, uint64_t request)
{
    uint64_t made = request, largest = 0;
    for (uint32_t i = 0; i < k->w->there.n; i++) {
        uint32_t born = k->w->there.p[i];
        uint64_t size = mt_event_at(k->w->r->d, born)->size;
        unsigned role = k->w->fate[born].role;
        if (is_of_forward(k, born))
            largest = size > largest ? size : largest;
        else if (mt_phase_is(k->w->r->attr[born].sub, MT_IN_BACKWARD) &&
                 (role == MT_ROLE_TEMP || role == MT_ROLE_LOGITS))
            made += size;
    }
    return made > 2 * largest ? made - 2 * largest : 0;
}

static int collect(struct work *k)
{
    const struct mt_roles *w = k->w;
    const struct mt_replay *r = w->r;
    size_t n = (size_t)w->there.n + r->old.n + 1;
    uint64_t behind = k->behind, size;
    uint32_t site;
    k->kept = mt_calloc(n, sizeof *k->kept);
    k->weight = mt_calloc(n, sizeof *k->weight);
    if (k->kept == NULL || k->weight == NULL)
        return 0;
    for (uint32_t i = w->there.n; i-- > 0;) {
        const struct mt_event *e = mt_event_at(r->d, w->there.p[i]);
        unsigned role = w->fate[w->there.p[i]].role;
        if (role == MT_ROLE_PARAM && e->size >= LEAST)
            k->weight[k->n_weights++] = e->size;
        k->all += role == MT_ROLE_ACTIVATION ? e->size : 0;
        if (!is_of_forward(k, w->there.p[i]))
            continue;
        if (!site_of(k, e->stack, &site))
            return 0;
        if (site != 0)
            k->kept[k->n++] = (struct kept){e->size, behind, role == MT_ROLE_ACTIVATION, site, 0};
        behind += e->size;
    }
    for (uint32_t i = 0; i < k->n / 2; i++) { /* the first one first */
        struct kept last = k->kept[k->n - 1 - i];
        k->kept[k->n - 1 - i] = k->kept[i];
        k->kept[i] = last;
    }
    for (uint32_t i = 0; i < r->old.n; i++)
        if (w->old_role[i] == MT_ROLE_PARAM && (size = r->old.p[i].size) >= LEAST)
            k->weight[k->n_weights++] = size;
    if (k->n_weights > 1)
        qsort(k->weight, k->n_weights, sizeof *k->weight, by_size);
    return 1;
}

/* As many weights of one size; one piece is no loop. */
static bool has_layers(const struct work *k, uint32_t n)
{
    if (n < 2)
        return true;
    for (uint32_t i = 0; i + n <= k->n_weights; i++)
        if (k->weight[i] == k->weight[i + n - 1])
            return true;
    return false;
}

/* What of `bytes` that end with the last block is more than what stays of all behind them: that
 * without what is of pieces itself. */
static uint64_t beyond(const struct call *c, const struct work *k, uint64_t bytes)
{
    uint64_t behind = c->last != 0 ? k->kept[c->last - 1].behind : 0, own = c->all - c->so_far;
    behind = behind > own ? behind - own : 0;
    return bytes > behind ? bytes - behind : 0;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void end_piece(struct call *c, const struct work *k)
{
    c->piece_most = larger(c->piece, c->piece_most);
    c->piece_net = larger(beyond(c, k, c->piece), c->piece_net);
    c->piece = 0;
}

static void end_row(struct call *c, const struct work *k)
{
    end_piece(c, k);
    c->row_most = larger(c->row, c->row_most);
    c->row_net = larger(beyond(c, k, c->row), c->row_net);
    c->rows_most = c->row_n > c->rows_most ? c->row_n : c->rows_most;
    c->row = c->row_n = 0;
}

/* Whether a site begins a new piece. Where the first one of the first piece never comes back,
 * another operation began that piece, or a backward pass has let go of what began the next ones:
 * then any does. */
static bool begins(const struct call *c, uint32_t site, uint32_t before)
{
    bool found = site == c->anchor && c->other;
    for (uint32_t i = 0; c->loose && i < c->n_seen && site != before; i++)
        found = found || c->seen[i] == site;
    return found;
}

/* The block at i, below that line. One operation may make several blocks, all of one stack. */
static void add(struct call *c, const struct work *k, uint32_t i, uint32_t line)
{
    const struct kept *b = &k->kept[i];
    bool next = c->last != 0 && c->last == i,
         again = next && c->line == line && begins(c, b->site, k->kept[i - 1].site);
    if (c->last != 0 && (!next || c->line != line))
        end_row(c, k);
    if (again)
        end_piece(c, k);
    if (c->piece == 0) {
        if (next) { /* it reads what was made last before it, or a norm of that is its first */
            c->input += k->kept[i - 1].size < b->size ? k->kept[i - 1].size : b->size;
            c->largest += c->of_piece;
        }
        c->anchor = b->site;
        c->line = line;
        c->other = false;
        c->n_seen = 0;
        c->of_piece = 0;
        c->n++;
        c->row_n++;
    }
    c->last = i + 1;
    if (c->n_seen < SEEN)
        c->seen[c->n_seen++] = b->site;
    c->other = c->other || b->site != c->anchor;
    c->piece += b->size;
    c->row += b->size;
    c->so_far += b->size;
    c->of_piece = b->size > c->of_piece ? b->size : c->of_piece;
}

/* The call that the pieces of a site are counted for. */
static inline struct call *call_of(const struct work *k, uint32_t site)
{
    return &k->call[k->slot[k->bodies ? k->sites.p[site].up : site] - 1];
}

static int make_calls(struct work *k)
{
    k->n_calls = 0;
    memset(k->slot, 0, k->sites.n * sizeof *k->slot);
    for (uint32_t s = 1; s < k->sites.n; s++)
        if (k->sites.p[s].is_call)
            k->slot[k->bodies ? k->sites.p[s].up : s] = 1;
    for (uint32_t s = 0; s < k->sites.n; s++)
        if (k->slot[s] != 0) {
            k->at[k->n_calls++] = s;
            k->slot[s] = k->n_calls;
        }
    mt_free(k->call);
    return (k->call = mt_malloc((k->n_calls + 1) * sizeof *k->call)) != NULL;
}

/* What lies below each call in all. A site comes behind the one around it. */
static void add_sums(struct work *k)
{
    memset(k->sum, 0, k->sites.n * sizeof *k->sum);
    for (uint32_t i = 0; i < k->n; i++) {
        struct sum *m = &k->sum[k->kept[i].site];
        if (k->kept[i].line != 0)
            continue;
        m->all += k->kept[i].size;
        m->goes += k->kept[i].goes ? k->kept[i].size : 0;
    }
    for (uint32_t s = k->sites.n; s-- > 1;) {
        const struct site *site = &k->sites.p[s];
        if (site->is_call) {
            call_of(k, s)->all += k->sum[s].all;
            call_of(k, s)->goes += k->sum[s].goes;
        }
        k->sum[site->up].all += k->sum[s].all;
        k->sum[site->up].goes += k->sum[s].goes;
    }
}

static void clear(struct call *c, bool loose)
{
    memset(c, 0, sizeof *c);
    c->loose = loose;
}

static void play(struct work *k)
{
    add_sums(k);
    for (uint32_t s = 1; s < k->sites.n; s++) {
        const uint32_t up = k->sites.p[s].up;
        k->sites.p[s].call = k->sites.p[up].is_call ? up : k->sites.p[up].call;
    }
    for (uint32_t i = 0; i < k->n; i++) {
        uint32_t s = k->kept[i].site;
        s = k->sites.p[s].is_call ? s : k->sites.p[s].call;
        for (; s != 0 && k->kept[i].line == 0; s = k->sites.p[s].call)
            add(call_of(k, s), k, i, s);
    }
    for (uint32_t c = 0; c < k->n_calls; c++)
        end_row(&k->call[c], k);
}

static void measure(struct work *k)
{
    for (uint32_t c = 0; c < k->n_calls; c++)
        clear(&k->call[c], false);
    play(k);
    if (!k->goes_back)
        return;
    for (uint32_t c = 0; c < k->n_calls; c++)
        clear(&k->call[c], k->call[c].n == 1);
    play(k);
}

/* What wrapping frees beside other lines, whose largest piece is `most`. */
struct gain {
    uint64_t frees, piece;
};

/* One call alone is no layer: it is not taken for one that anybody would wrap for what lies behind
 * it. */
static struct gain gain_of(const struct call *c, bool by_row, uint64_t input, uint64_t most)
{
    uint64_t piece = by_row ? c->row_net : c->piece_net,
             stays = (by_row ? 0 : input) + (piece > most ? piece - most : 0);
    return (struct gain){c->n > 1 && c->goes > stays ? c->goes - stays : 0, piece};
}

static void mark(struct work *k, uint32_t line)
{
    for (uint32_t i = 0; i < k->n; i++)
        for (uint32_t s = k->kept[i].site; s != 0 && k->kept[i].line == 0; s = k->sites.p[s].up)
            if (s == line)
                k->kept[i].line = line;
    for (uint32_t s = line; s != 0; s = k->sites.p[s].up)
        k->sites.p[s].is_call = false; /* no piece in a piece */
}

/* Of lines that free as much, the innermost; of functions whose lines are wrapped, the outermost. A
 * stack comes behind its outer part. */
static bool is_chosen(const struct work *k, const struct gain *g, const struct gain *most,
                      uint32_t best)
{
    return k->bodies ? best == 0 && g->frees >= k->all / WORTH
                     : g->frees >= most->frees - most->frees / WORTH;
}

static int choose(struct work *k, struct mt_pieces *out)
{
    struct gain most = {0}, worst = {0};
    if (!make_calls(k))
        return 0;
    for (uint32_t turn = 0; turn < LINES; turn++) {
        uint32_t best = 0;
        struct gain g, of_best = {0};
        const struct call *c;
        measure(k);
        for (int look = 0; look < 2; look++)
            for (uint32_t i = 0; i < k->n_calls; i++) {
                c = &k->call[i];
                g = gain_of(c, false, c->input, most.piece);
                if (k->at[i] == 0)
                    continue;
                if (look == 0 && g.frees > of_best.frees)
                    of_best = g;
                if (look == 1 && g.frees != 0 && is_chosen(k, &g, &of_best, best))
                    best = k->at[i];
            }
        if (best == 0)
            break;
        c = &k->call[k->slot[best] - 1];
        of_best = gain_of(c, false, c->input, most.piece);
        if (of_best.frees < k->all / WORTH)
            break;
        out->n += c->n;
        out->frees += of_best.frees;
        out->inputs += c->input;
        most.piece = larger(of_best.piece, most.piece);
        of_best = gain_of(c, false, c->largest, worst.piece);
        g = gain_of(c, true, 0, worst.piece);
        of_best = g.frees < of_best.frees && !has_layers(k, c->rows_most) ? g : of_best;
        out->least += of_best.frees;
        worst.piece = larger(of_best.piece, worst.piece);
        if (out->lines++ == 0)
            out->line = k->sites.p[best].frame;
        mark(k, best);
    }
    out->least = out->least < out->frees ? out->least : out->frees;
    return 1;
}

/* That nothing is freed is told only where most was made once, inside of a call: a site that comes
 * again, alone, may be one operation of each layer, and stacks may be cut short. */
static bool is_told(struct work *k)
{
    uint64_t once = 0, in_call = 0;
    uint32_t *n = k->slot;
    for (uint32_t c = 0; c < k->n_calls; c++)
        in_call = larger(k->at[c] != 0 ? k->call[c].goes : 0, in_call);
    memset(n, 0, k->sites.n * sizeof *n);
    for (uint32_t i = 0; i < k->n; i++)
        n[k->kept[i].site] += k->kept[i].goes;
    for (uint32_t i = 0; i < k->n; i++)
        once += k->kept[i].goes && n[k->kept[i].site] == 1 ? k->kept[i].size : 0;
    return once > k->all / 2 && in_call > k->all / 2;
}

int mt_cause_pieces(struct mt_pieces *out, const struct mt_roles *w,
                    const struct mt_device_analysis *d)
{
    struct work k = {.w = w, .t = w->r->t};
    int ok;
    if (w->fate == NULL || w->there.n == 0 || !mt_is_of_tensors(k.t))
        return 1;
    if (d->focus_is_oom && d->ooms.n != 0 && mt_phase_is(d->ooms.p[0].attr.sub, MT_IN_BACKWARD)) {
        k.behind = made_backward(&k, d->ooms.p[0].request);
        k.goes_back = true;
    } else if (d->focus_is_oom && d->ooms.n != 0 &&
               !mt_phase_is(d->ooms.p[0].attr.sub, MT_IN_OPTIMIZER))
        k.behind = d->ooms.p[0].request;
    k.of_stack = mt_calloc((size_t)k.t->stacks.n + 1, sizeof *k.of_stack);
    ok = k.of_stack != NULL && mt_file_kinds_init(&k.kinds, k.t) && MT_VEC_PUSH(&k.sites) != NULL;
    if (ok) {
        k.sites.p[0] = (struct site){0, 0, 0, OTHER, false};
        ok = collect(&k) && (k.at = mt_malloc(k.sites.n * sizeof *k.at)) != NULL &&
             (k.slot = mt_malloc(k.sites.n * sizeof *k.slot)) != NULL &&
             (k.sum = mt_malloc(k.sites.n * sizeof *k.sum)) != NULL;
    }
    if (ok && k.all != 0) {
        ok = choose(&k, out);
        k.bodies = out->lines == 0;
        if (ok && k.bodies)
            ok = choose(&k, out);
    }
    if (ok && k.all != 0) {
        out->seen = k.n != 0;
        out->known = out->lines != 0 || is_told(&k);
    }
    MT_VEC_DONE(&k.sites);
    MT_VEC_DONE(&k.path);
    mt_addrmap_done(&k.by_frame);
    mt_file_kinds_done(&k.kinds);
    mt_free(k.of_stack);
    mt_free(k.call);
    mt_free(k.at);
    mt_free(k.slot);
    mt_free(k.sum);
    mt_free(k.kept);
    mt_free(k.weight);
    return ok;
}
