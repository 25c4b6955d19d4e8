/* log/torch.c -- the numbers of PyTorch's sentence about a request that failed, in the forms of its
 * versions, cut off, or as people type it. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

/* From 1.10 on the sentence goes on: "If reserved memory is >> allocated memory try setting
 * max_split_size_mb". A class of its own for the error is newer still: then somebody cut it. */
static bool ends_before_advice(const char *s)
{
    static const char end[] = "reserved in total by PyTorch)";
    const char *p = strstr(s, end);
    if (p == NULL || strstr(s, "RuntimeError: CUDA out of memory") == NULL)
        return false;
    p += sizeof end - 1;
    /* quoted in a sentence of somebody's: it ends where the quote does */
    return *p == '`' || p[strspn(p, " \t\r\"'")] == '\0';
}

/* To PyTorch 2.0: everything in one pair of brackets. */
static bool old_sentence(struct mt_log_fact *f, const char *s)
{
    got g;
    /* somebody shortened it: "(GPU 0; 23.52 GiB total; 0 bytes free)" */
    bool is_short = mt_log_find(s, "(GPU %n; %b total;", &g) != NULL ||
                    mt_log_find(s, "(GPU %n; %b total,", &g) != NULL;
    if (!is_short && mt_log_find(s, "(GPU %n; %b total capacity", &g) == NULL &&
        mt_log_find(s, "(NPU %n; %b total capacity", &g) == NULL &&
        mt_log_find(s, "(MLU %n; %b total capacity", &g) == NULL)
        return false;
    f->gpu = mt_log_small(g.v[0]);
    f->value[MT_LO_CAPACITY] = g.v[1];
    f->value[MT_LO_ALLOCATED] = mt_log_value(s, "capacity; %b already alloc");
    f->value[MT_LO_FREE] = mt_log_value(s, "already allocated; %b free");
    if (is_short) {
        f->value[MT_LO_ALLOCATED] = mt_log_value(s, " total; %b already alloc");
        f->value[MT_LO_FREE] = mt_log_value(s, "; %b free");
        if (f->value[MT_LO_ALLOCATED] == MT_LOG_NONE)
            f->value[MT_LO_ALLOCATED] = mt_log_value(s, " total, %b already alloc");
        if (f->value[MT_LO_FREE] == MT_LOG_NONE)
            f->value[MT_LO_FREE] = mt_log_value(s, ", %b free");
    }
    if (f->value[MT_LO_FREE] == MT_LOG_NONE) /* torch_npu's workspace */
        f->value[MT_LO_FREE] = mt_log_value(s, "total capacity; %b free");
    if (f->value[MT_LO_FREE] == MT_LOG_NONE)
        f->value[MT_LO_FREE] =
            mt_log_value(s, "current active; %b free"); /* torch_npu has one more number */
    f->value[MT_LO_RESERVED] = mt_log_value(s, "; %b reserved in total by PyTorch");
    f->value[MT_LO_ALLOWED] = mt_log_value(s, "; %b allowed");
    f->value[MT_LO_UNALLOCATED] = mt_log_value(s, "free; %b cached"); /* to 1.3 */
    if (strstr(s, "(GPU ") != NULL && !is_short)
        f->torch_at_most = f->value[MT_LO_UNALLOCATED] != MT_LOG_NONE ? 103
                           : ends_before_advice(s)                    ? 109
                                                                      : 200;
    if (f->value[MT_LO_ALLOCATED] == MT_LOG_NONE)
        return true;
    if (f->value[MT_LO_RESERVED] == MT_LOG_NONE && f->value[MT_LO_UNALLOCATED] != MT_LOG_NONE)
        f->value[MT_LO_RESERVED] = f->value[MT_LO_ALLOCATED] + f->value[MT_LO_UNALLOCATED];
    else if (f->value[MT_LO_RESERVED] != MT_LOG_NONE &&
             f->value[MT_LO_RESERVED] >= f->value[MT_LO_ALLOCATED])
        f->value[MT_LO_UNALLOCATED] = f->value[MT_LO_RESERVED] - f->value[MT_LO_ALLOCATED];
    return true;
}

/* Apple's: "MPS backend out of memory (MPS allocated: 5.05 GB, other allocations: 2.29 GB, max
 * allowed: 6.77 GB). Tried to ...". */
static bool of_apple(struct mt_log_fact *f, const char *s)
{
    got g;
    if (mt_log_find(s, "(MPS allocated: %b, other allocations: %b, max allowed: %b)", &g) == NULL)
        return false;
    f->platform = 'M';
    f->value[MT_LO_ALLOCATED] = f->value[MT_LO_RESERVED] = g.v[0];
    f->value[MT_LO_THIS] = g.v[0] + g.v[1];
    f->value[MT_LO_CAPACITY] = g.v[2];
    f->value[MT_LO_FREE] = g.v[0] + g.v[1] < g.v[2] ? g.v[2] - g.v[0] - g.v[1] : 0;
    return true;
}

int mt_log_torch_sentence(struct mt_log_fact *f, const char *s)
{
    got g;
    int n = 0;
    for (int i = 0; i < MT_LOG_VALUES; i++)
        if (i != MT_LO_REQUEST)
            f->value[i] = MT_LOG_NONE;
    f->gpu = -1;
    if (!old_sentence(f, s) && !of_apple(f, s)) {
        /* 2.1 misspelt it; without a number where the device has none */
        bool since_22 = mt_log_find(s, "PU %n has a total capacity of %b", &g) != NULL;
        if (since_22 || mt_log_find(s, "PU %n has a total capacty of %b", &g) != NULL) {
            f->gpu = mt_log_small(g.v[0]);
            f->value[MT_LO_CAPACITY] = g.v[1];
            f->torch_at_least = since_22 ? 202 : 201;
        } else {
            f->value[MT_LO_CAPACITY] = mt_log_value(s, "PU has a total capacity of %b");
        }
        f->value[MT_LO_FREE] = mt_log_value(s, "of which %b is free");
        if (f->value[MT_LO_FREE] == MT_LOG_NONE)
            f->value[MT_LO_FREE] = mt_log_value(s, "of which %b"); /* cut off behind it */
        if (f->value[MT_LO_FREE] == MT_LOG_NONE && /* typed: "GPU had 12.44 GiB free of 79.19" */
            (mt_log_find(s, "had %b free of %b", &g) != NULL ||
             mt_log_find(s, "had %b free of %G", &g) != NULL)) {
            f->value[MT_LO_FREE] = g.v[0];
            if (f->value[MT_LO_CAPACITY] == MT_LOG_NONE)
                f->value[MT_LO_CAPACITY] = g.v[1];
        }
        f->value[MT_LO_THIS] = mt_log_value(s, "this process has %b memory in use");
        f->value[MT_LO_ALLOWED] = mt_log_value(s, ". %b allowed;");
        f->value[MT_LO_ALLOCATED] = mt_log_value(s, "allocated memory %b is allocated by PyTorch");
        f->value[MT_LO_PRIVATE] = mt_log_value(s, "with %b allocated in private pools");
        f->value[MT_LO_UNALLOCATED] =
            mt_log_value(s, "and %b is reserved by PyTorch but unallocated");
        if (f->value[MT_LO_ALLOCATED] != MT_LOG_NONE && f->value[MT_LO_UNALLOCATED] != MT_LOG_NONE)
            f->value[MT_LO_RESERVED] = f->value[MT_LO_ALLOCATED] + f->value[MT_LO_UNALLOCATED];
        /* in a container the driver does not find the process and says 0; a process that has less
         * than PyTorch counts, but much, has an engine that sleeps */
        if (f->value[MT_LO_THIS] != MT_LOG_NONE && f->value[MT_LO_ALLOCATED] != MT_LOG_NONE &&
            f->value[MT_LO_THIS] < f->value[MT_LO_ALLOCATED] / 8)
            f->value[MT_LO_THIS] = MT_LOG_NONE;
    }
    for (int i = 0; i < MT_LOG_VALUES; i++)
        n += f->value[i] != MT_LOG_NONE;
    return n;
}

bool mt_log_use_not_known(const char *s)
{
    static const char all_bits[] = "17179869184"; /* GiB: 2^64 bytes, -1 without its sign */
    for (const char *p = s; (p = strstr(p, " has ")) != NULL;) {
        p += 5;
        p += strspn(p, "*`");
        if (strncmp(p, all_bits, sizeof all_bits - 1) == 0 && strstr(p, "memory in use") != NULL)
            return true;
    }
    return false;
}

/* ---- as people type it: other capitals, a letter too few, a unit left out ---- */

/* Where one of the words stands, in any case. */
static const char *find_typed(const char *s, const char *const *words, const char **end)
{
    for (; *s != '\0'; s++)
        for (const char *const *w = words; *w != NULL; w++) {
            size_t n = 0;
            while ((*w)[n] != '\0' && mt_log_lower(s[n]) == (*w)[n])
                n++;
            if ((*w)[n] == '\0') {
                *end = s + n;
                return s;
            }
        }
    return NULL;
}

static bool in_amount(char c)
{
    return mt_log_is_digit(c) || mt_log_is_letter(c) || c == '.' || c == ' ';
}

/* The amount right before `at`: "112.50 MiB is free"; *bare: it has no unit, and is taken for GiB.
 */
static uint64_t amount_before(const char *s, const char *at, bool *bare)
{
    enum { LONGEST = 16 };
    const char *p = at;
    uint64_t v;
    while (p > s && at - p < LONGEST && in_amount(p[-1]))
        p--;
    for (; p < at; p++) /* the last number of them */
        if (mt_log_is_digit(*p) && (p == s || !(mt_log_is_digit(p[-1]) || p[-1] == '.'))) {
            *bare = false;
            if ((v = mt_log_value_at(p, "%b")) != MT_LOG_NONE)
                return v;
            *bare = true;
            if ((v = mt_log_value_at(p, "%G")) != MT_LOG_NONE)
                return v;
        }
    return MT_LOG_NONE;
}

/* A number without a unit is one of GiB where it is most of the card, and has room beside what is
 * free: PyTorch writes what is less than a GiB in MiB. */
static bool fits(const struct mt_log_fact *f, uint64_t v)
{
    uint64_t all = f->value[MT_LO_CAPACITY], free = f->value[MT_LO_FREE];
    return all != MT_LOG_NONE && v <= all && v >= all / 2 &&
           (free == MT_LOG_NONE || free <= all - v);
}

void mt_log_torch_typed(struct mt_log_fact *f, const char *s, bool is_whole)
{
    static const char *const card[] = {" has a", NULL}, /* cut there, too */
        *const capacity[] = {"total capacity of ", "total capacty of ", NULL},
                             *const rest[] = {" is free", " are free", NULL},
                             *const held[] = {" is allocated by", " is alocated by", NULL},
                             *const kept[] = {" is reserved by", NULL};
    static const struct {
        const char *const *words;
        enum mt_log_oom_value value;
    } parts[] = {{rest, MT_LO_FREE}, {held, MT_LO_ALLOCATED}, {kept, MT_LO_UNALLOCATED}};
    const char *p, *end;
    if (f->gpu < 0 && (p = find_typed(s, card, &end)) != NULL) {
        const char *digits = p;
        while (digits > s && mt_log_is_digit(digits[-1]))
            digits--;
        if (digits < p && digits - s >= 4 && digits[-1] == ' ' && mt_log_lower(digits[-4]) == 'g')
            f->gpu = mt_log_small(mt_log_value_at(digits, "%n"));
    }
    if (is_whole && f->value[MT_LO_CAPACITY] == MT_LOG_NONE &&
        find_typed(s, capacity, &end) != NULL)
        f->value[MT_LO_CAPACITY] = mt_log_value_at(end, "%b");
    for (size_t i = 0; is_whole && i < sizeof parts / sizeof *parts; i++) {
        uint64_t *v = &f->value[parts[i].value], typed;
        bool bare = false;
        if (*v != MT_LOG_NONE || (p = find_typed(s, parts[i].words, &end)) == NULL)
            continue;
        typed = amount_before(s, p, &bare);
        if (typed != MT_LOG_NONE && (!bare || fits(f, typed)))
            *v = typed;
    }
    if (f->value[MT_LO_RESERVED] == MT_LOG_NONE && f->value[MT_LO_ALLOCATED] != MT_LOG_NONE &&
        f->value[MT_LO_UNALLOCATED] != MT_LOG_NONE)
        f->value[MT_LO_RESERVED] = f->value[MT_LO_ALLOCATED] + f->value[MT_LO_UNALLOCATED];
}
