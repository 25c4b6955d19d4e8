/* rule_image.c -- runs while memtrace is built: see rule_image.h.
 *
 * Which words are pointers is measured. The same rules are loaded twice, into two regions: a word
 * that moved as far as its region did points into it. A byte that differs otherwise is padding,
 * which nobody reads. What both loads have alike and what lies in this program is a text of the
 * pool, a text of the source, or the zeros that end a list: these come into the image too. Anything
 * else ends the build, for the program that runs later has it elsewhere. */
#define _GNU_SOURCE
#include "cmake/rule_image.h"

#include "analysis/base/rule_json.h"
#include "analysis/run/rule_image.h"
#include "parser/base/mem.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ROOM ((size_t)256 << 20)
#define VEC_ROOM ((size_t)2 << 20) /* each growing array has so much to itself, and no spare */
#define MAX_BLOCKS ((size_t)1 << 20)
#define ALIGN alignof(max_align_t)

struct block {
    size_t at, n; /* in the region */
    size_t to;    /* in the image, once it is reached */
    bool reached;
};
static struct {
    unsigned char *base;
    size_t used;
    struct block *block;
    size_t n;
} region[2];
static int current;

extern const char __executable_start[], end[]; /* of the linker */

/* ---- the allocator: takes the place of parser/base/mem.c ---- */

bool rule_image_begin(int k)
{
    current = k;
    if (region[k].block != NULL)
        munmap(region[k].base, ROOM);
    free(region[k].block);
    region[k].base = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    region[k].block = calloc(MAX_BLOCKS, sizeof *region[k].block);
    region[k].used = region[k].n = 0;
    return region[k].base != MAP_FAILED && region[k].block != NULL;
}

static void *take(size_t n, size_t room)
{
    unsigned char *p;
    if (room < n || room > ROOM - region[current].used || region[current].n == MAX_BLOCKS)
        return NULL;
    p = region[current].base + region[current].used;
    region[current].block[region[current].n++] = (struct block){.at = region[current].used, .n = n};
    region[current].used += room;
    return p;
}

void *mt_malloc(size_t n)
{
    return take(n, (n + ALIGN) / ALIGN * ALIGN); /* the byte behind it is no part of another one */
}

/* The last block that begins there or before; there is one. */
static struct block *block_at(int k, size_t at)
{
    size_t low = 0, high = region[k].n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (region[k].block[mid].at <= at)
            low = mid;
        else
            high = mid;
    }
    return &region[k].block[low];
}

void *mt_realloc(void *p, size_t n)
{
    void *q = mt_malloc(n);
    size_t old =
        p != NULL ? block_at(current, (size_t)((unsigned char *)p - region[current].base))->n : 0;
    if (q != NULL && p != NULL)
        memcpy(q, p, old < n ? old : n);
    return q;
}

void mt_free(void *p) { (void)p; }
void *mt_malloc_big(size_t n) { return mt_malloc(n); }
void *mt_malloc_pages(size_t n) { return mt_malloc(n); }
void mt_free_pages(void *p, size_t n) { (void)p, (void)n; }
void *mt_calloc(size_t n, size_t size)
{
    size_t total;
    return __builtin_mul_overflow(n, size, &total) ? NULL : mt_malloc(total);
}
char *mt_strndup(const char *s, size_t n)
{
    char *p = mt_malloc(n + 1);
    return p != NULL ? memcpy(p, s, n) : NULL;
}
void mt_mem_limit(uint64_t bytes) { (void)bytes; }
uint64_t mt_mem_used(void) { return region[current].used; }
uint64_t mt_mem_failures(void) { return 0; }
void mt_mem_fail_after(uint64_t n) { (void)n; }
uint64_t mt_mem_calls(void) { return region[current].n; }
/* Each object of an arena is a block, and the arena stays as empty as it was: whoever has the image
 * may add to it and be done with it. */
void *mt_arena_alloc(struct mt_arena *a, size_t n, size_t align)
{
    (void)a, (void)align;
    return mt_malloc(n);
}
char *mt_arena_strndup(struct mt_arena *a, const char *s, size_t n)
{
    (void)a;
    return mt_strndup(s, n);
}
void mt_arena_done(struct mt_arena *a) { (void)a; }
int mt_vec_grow(void **p, uint32_t *cap, uint32_t n, size_t elem)
{
    if (n <= *cap)
        return 1;
    if (n * elem >= VEC_ROOM || (*p == NULL && (*p = take(0, VEC_ROOM)) == NULL))
        return 0;
    block_at(current, (size_t)((unsigned char *)*p - region[current].base))->n = n * elem;
    *cap = n;
    return 1;
}

/* ---- the image ---- */

enum kind { NUMBER, OWN, POOL, TEXT };
#define WORD sizeof(uintptr_t)
#define ZEROS 512 /* bytes: more than any struct that ends a list */
#define PAGE_WORDS (MT_RULE_IMAGE_PAGE / WORD)

struct image {
    uintptr_t *word;
    unsigned char *kind; /* by word */
    size_t n, cap;       /* words */
    size_t pool_at;      /* where the pool of texts is in the image, in bytes */
    const char **text;   /* of the source: what stands there, and where in the image; by address */
    size_t *text_at;
    size_t n_texts;
};

static uintptr_t word_at(int k, size_t at)
{
    uintptr_t w;
    memcpy(&w, region[k].base + at, sizeof w);
    return w;
}

static bool is_in(uintptr_t w, const void *from, size_t n)
{
    return w >= (uintptr_t)from && w - (uintptr_t)from < n;
}
static bool is_in_program(uintptr_t w)
{
    return is_in(w, __executable_start, (size_t)(end - __executable_start));
}

static enum kind kind_of(size_t at)
{
    uintptr_t a = word_at(0, at), b = word_at(1, at);
    if (is_in(a, region[0].base, region[0].used) &&
        a - (uintptr_t)region[0].base == b - (uintptr_t)region[1].base)
        return OWN;
    if (a != b || !is_in_program(a))
        return NUMBER;
    return is_in(a, mt_rule_text, mt_rule_text_size) ? POOL : TEXT;
}

static bool reach(size_t at)
{
    struct block *b = block_at(0, at);
    if (b->reached || at - b->at > b->n)
        return b->reached;
    b->reached = true;
    for (size_t i = 0; i + WORD <= b->n; i += WORD)
        if (kind_of(b->at + i) == OWN &&
            !reach((size_t)(word_at(0, b->at + i) - (uintptr_t)region[0].base)))
            return false;
    return true;
}

/* The blocks that are reached, one behind the other. */
static size_t lay_out(void)
{
    size_t at = 0;
    for (size_t i = 0; i < region[0].n; i++) {
        struct block *b = &region[0].block[i];
        b->to = at;
        if (b->reached)
            at += (b->n + ALIGN - 1) / ALIGN * ALIGN;
    }
    return at;
}

/* What follows is behind the blocks. Where it begins, in bytes. */
static size_t append(struct image *im, const void *p, size_t n)
{
    size_t at = im->n * WORD, words = (n + WORD - 1) / WORD;
    if (words > im->cap - im->n)
        return 0;
    memcpy(&im->word[im->n], p, n);
    im->n += words;
    return at;
}

/* The word at w, which may be more than a text there has: a sanitizer would object. */
__attribute__((no_sanitize("address"))) static uintptr_t peek(uintptr_t w)
{
    const volatile unsigned char *p = (const volatile unsigned char *)w;
    uintptr_t word = 0;
    for (size_t i = 0; i < WORD; i++)
        ((unsigned char *)&word)[i] = p[i];
    return word;
}

/* A text of the source, or zeros, as a part of the image; 0 = it is neither. */
static size_t text_of(struct image *im, uintptr_t w)
{
    static const char zeros[ZEROS];
    const char *s = (const char *)w;
    for (size_t i = 0; i < im->n_texts; i++)
        if (im->text[i] == s)
            return im->text_at[i];
    if (w % WORD == 0 && is_in_program(peek(w)))
        return 0; /* a struct or a list */
    for (const char *c = s; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            return 0;
    im->text[im->n_texts] = s;
    return im->text_at[im->n_texts++] =
               *s != '\0' ? append(im, s, strlen(s) + 1) : append(im, zeros, ZEROS);
}

static bool put_word(struct image *im, const struct block *b, size_t i)
{
    size_t at = b->at + i, to = (b->to + i) / WORD;
    uintptr_t w = word_at(0, at), other = word_at(1, at), kept = 0;
    enum kind k = kind_of(at);
    const struct block *aim;
    im->kind[to] = (unsigned char)k;
    switch (k) {
    case OWN:
        aim = block_at(0, (size_t)(w - (uintptr_t)region[0].base));
        im->word[to] = aim->to + (w - (uintptr_t)region[0].base - aim->at);
        return true;
    case POOL:
        im->kind[to] = OWN;
        im->word[to] = im->pool_at + (w - (uintptr_t)mt_rule_text);
        return true;
    case TEXT:
        im->kind[to] = OWN;
        if ((im->word[to] = text_of(im, w)) != 0)
            return true;
        fprintf(stderr, "rule_image: word %zu of a block of %zu bytes points into the program\n",
                i / WORD, b->n);
        return false;
    case NUMBER: break;
    }
    for (unsigned bit = 0; bit < 8 * WORD; bit += 8)
        if (((w ^ other) >> bit & 0xff) == 0)
            kept |= w & (uintptr_t)0xff << bit;
    im->word[to] = kept;
    return true;
}

static bool fill(struct image *im)
{
    for (size_t i = 0; i < region[0].n; i++) {
        const struct block *b = &region[0].block[i];
        size_t whole = b->n / WORD * WORD;
        if (!b->reached)
            continue;
        for (size_t k = 0; k < whole; k += WORD)
            if (!put_word(im, b, k))
                return false;
        memcpy((unsigned char *)im->word + b->to + whole, region[0].base + b->at + whole,
               b->n - whole);
    }
    return true;
}

static bool put(FILE *f, const struct image *im)
{
    uint32_t own = 0;
    fprintf(f, "/* Made by cmake/rule_image.c from analysis/rules/. */\n"
               "#include \"analysis/run/rule_image.h\"\n\n"
               "static const _Alignas(MT_RULE_IMAGE_PAGE) uintptr_t word[] = {");
    for (size_t i = 0; i < im->n; i++)
        fprintf(f, "%s%#jxu,", i % 8 == 0 ? "\n    " : " ",
                (uintmax_t)(im->word[i] + (im->kind[i] == OWN ? MT_RULE_IMAGE_AT : 0)));
    fprintf(f, "%s0};\nstatic const uint32_t own[] = {", im->n > 0 ? "\n    " : "");
    for (size_t i = 0; i < im->n; i++)
        if (im->kind[i] == OWN)
            fprintf(f, "%s%zuu,", own++ % 12 == 0 ? "\n    " : " ", i);
    fprintf(f, "0};\nconst struct mt_rule_image mt_rule_image = {word, own, %zuu, %uu};\n", im->n,
            (unsigned)own);
    return true;
}

/* Numbers of 32 bits look like addresses where these have no more. */
bool rule_image_can(void) { return WORD == 8 && (uintptr_t)__executable_start > UINT32_MAX; }

bool rule_image_write(const char *path, const void *const root[2])
{
    struct image im = {.n = 0};
    FILE *f;
    bool ok = true;
    if (root != NULL) {
        ok = region[0].n == region[1].n && region[0].used == region[1].used &&
             root[0] == region[0].base && root[1] == region[1].base && reach(0);
        im.n = ok ? lay_out() / WORD : 0;
        im.cap = im.n + (((size_t)1 << 20) + mt_rule_text_size) / WORD;
        im.word = calloc(im.cap, WORD);
        im.kind = calloc(im.cap, 1);
        im.text = calloc(im.cap, sizeof *im.text);
        im.text_at = calloc(im.cap, sizeof *im.text_at);
        if (!ok || im.word == NULL || im.kind == NULL || im.text == NULL || im.text_at == NULL) {
            fputs("rule_image: two loads are not alike\n", stderr);
            return false;
        }
        im.pool_at = append(&im, mt_rule_text, mt_rule_text_size);
        ok = fill(&im);
        im.n = (im.n + PAGE_WORDS - 1) / PAGE_WORDS * PAGE_WORDS;
    }
    if (ok && ((f = fopen(path, "w")) == NULL || !put(f, &im) || fclose(f) != 0)) {
        perror(path);
        ok = false;
    }
    free(im.word);
    free(im.kind);
    free(im.text);
    free(im.text_at);
    return ok;
}
