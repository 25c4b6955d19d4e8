/* log/amounts.c -- the amounts of a card's memory that a person's words around a failure give:
 * "tried to allocate 2.5G, only 300M left of 24G", in whatever list, table or language. The words
 * beside a number tell what it is of; what two words claim, or two numbers are, is not known. */
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"

#include <stddef.h>
#include <string.h>

enum {
    NEAR = 4,   /* lines with text between the words about the failure and an amount */
    BEFORE = 16 /* bytes between a word and the number behind it; the other way round, "300M are
                   free", half of that */
};
#define SEVERAL (UINT64_MAX - 1) /* two numbers claim to be it */

enum role { REQUEST, FREE, TOTAL, USED, TORCH, ROLES, NO_ROLE = ROLES };

struct word {
    const char *text;
    enum role role;
};

/* The Chinese ones: asks for, allocates; left, left, idle, usable; in all, in all; occupies, in
 * use, used. */
static const struct word words[] = {
    {"tried to allocat", REQUEST},
    {"trying to allocat", REQUEST},
    {"to allocate", REQUEST},
    {"allocating", REQUEST},
    {"asked for", REQUEST},
    {"asks for", REQUEST},
    {"requested", REQUEST},
    {"申请", REQUEST},
    {"尝试分配", REQUEST},
    {"要分配", REQUEST},
    {"free", FREE},
    {"left", FREE},
    {"remain", FREE},
    {"剩余", FREE},
    {"只剩", FREE},
    {"还剩", FREE},
    {"剩", FREE},
    {"空闲", FREE},
    {"可用", FREE},
    {"total", TOTAL},
    {"capacity", TOTAL},
    {"总共", TOTAL},
    {"总量", TOTAL},
    {"总显存", TOTAL},
    {"allocated", TORCH},
    {"reserved", TORCH},
    {"已分配", TORCH},
    {"in use", USED},
    {"used", USED},
    {"uses", USED},
    {"usage", USED},
    {"occup", USED},
    {"占用", USED},
    {"已用", USED},
    {"用了", USED},
};

/* Right behind a number: it is what the card has. The Chinese: a card's memory, a card, of a card.
 */
static const char *const of_card[] = {"vram", "gpu",  "card", "graphics", "显存",
                                      "显卡", "的卡", "卡",   NULL};

static bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

/* A number with its unit, in small letters. */
struct amount {
    const char *from, *end; /* in the sentence */
    double number;
    uint64_t bytes; /* 0 = it has no unit */
    bool exact;     /* as precise as PyTorch prints it */
};

/* Bytes of the unit at p; 0 = there is none. What the tools call GB is 2^30. */
static double unit(const char *p, const char **end)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {{"gib", 30}, {"mib", 20}, {"tib", 40}, {"gb", 30}, {"mb", 20},
                 {"tb", 40},  {"g", 30},   {"m", 20},   {"", 0}};
    p += *p == ' ';
    for (size_t i = 0; units[i].shift != 0; i++) {
        size_t n = strlen(units[i].name);
        if (strncmp(p, units[i].name, n) == 0 && !is_letter(p[n]) && !mt_log_is_digit(p[n])) {
            *end = p + n;
            return (double)(UINT64_C(1) << units[i].shift);
        }
    }
    return 0;
}

/* "300m model", "1.5g dataset": of something else than a card. */
static bool is_of_other(const char *end)
{
    static const char *const others[] = {"model",   "param", "weight", "token", "data", "image",
                                         "checkpo", "per ",  "file",   "ram",   "swap", "参数",
                                         "模型",    "内存",  "/s",     NULL};
    return mt_log_begins(end + strspn(end, " "), others);
}

static bool amount_at(const char *s, const char *p, struct amount *a)
{
    double bytes;
    if (!mt_log_is_digit(*p) || (p > s && (mt_log_is_digit(p[-1]) || is_letter(p[-1]) ||
                                           p[-1] == '.' || p[-1] == '_' || p[-1] == ',')))
        return false;
    memset(a, 0, sizeof *a);
    a->from = p;
    a->number = mt_logdiag_number_at(p, &a->end);
    for (const char *dot = memchr(p, '.', (size_t)(a->end - p)); dot != NULL; dot = NULL)
        a->exact = a->end - dot > 2;
    if (a->end - p > 12)
        return false;
    bytes = unit(a->end, &a->end);
    if (bytes <= 0)
        return !is_letter(*a->end) && *a->end != '_';
    if (is_of_other(a->end) || a->number * bytes >= 1e15 ||
        (a->end[-1] == 'm' && a->number < 100)) /* minutes */
        return false;
    a->bytes = (uint64_t)(a->number * bytes);
    return true;
}

/* ---- clauses ---- */

/* A clause ends there. The Chinese: a comma, a comma of a list, a semicolon. */
static size_t breaks(const char *p)
{
    static const char *const marks[] = {"，", "、", "；", " and ", " but ", " then ", NULL};
    if (*p == ';' || *p == '(' || *p == ')' || (*p == ',' && !mt_log_is_digit(p[1])))
        return 1;
    for (const char *const *m = marks; *m != NULL; m++)
        if (strncmp(p, *m, strlen(*m)) == 0)
            return strlen(*m);
    return 0;
}

/* "2.5g left of 24g": the word at p is said of the number right before it. */
static bool is_behind_number(const char *from, const char *p)
{
    const char *q = p;
    while (q > from && p - q < 5 && (q[-1] == ' ' || is_letter(q[-1])))
        q--;
    return q < p && q > from && mt_log_is_digit(q[-1]);
}

/* "free: ": the word names what stands behind it, not what stands before. */
static bool is_label(const char *end)
{
    while (is_letter(*end))
        end++;
    return *end == ':' || *end == '=';
}

/* The word nearest to the amount, with no other number between; before it first. */
static enum role role_of(const char *from, const char *to, const struct amount *a)
{
    enum role role = NO_ROLE;
    ptrdiff_t nearest = BEFORE + 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].text);
        for (const char *p = from; p + n <= to; p++) {
            ptrdiff_t far = p + n <= a->from ? a->from - (p + n)
                            : p >= a->end    ? 2 * (p - a->end)
                                             : BEFORE + 1;
            bool between = false;
            if (far >= nearest || strncmp(p, words[i].text, n) != 0 ||
                (p > from && is_letter(p[-1]) && is_letter(*p)) || (p >= a->end && is_label(p + n)))
                continue;
            for (const char *q = p < a->from ? p + n : a->end; q < (p < a->from ? a->from : p); q++)
                between |= mt_log_is_digit(*q);
            if (between || (p < a->from && !is_label(p + n) && is_behind_number(from, p)))
                continue;
            nearest = far;
            role = words[i].role;
        }
    }
    return role;
}

/* The clause speaks of the card's memory, and of no part of what lies in it. */
static bool is_of_card(const char *from, const char *to)
{
    static const char *const cards[] = {"memory", "vram", "gpu", "card", "smi", "显存", "卡", NULL},
                             *const parts[] = {"weight",    "model",    "cache", "activation",
                                               "optimizer", "gradient", "权重",  "模型",
                                               "激活",      "优化器",   NULL};
    char clause[MT_SPOKEN_LINE];
    size_t n = (size_t)(to - from);
    memcpy(clause, from, n);
    clause[n] = '\0';
    return mt_log_has_one(clause, cards) && !mt_log_has_one(clause, parts);
}

static bool is_torchs(const char *from, const char *to)
{
    for (const char *p = from; p < to; p++)
        if (strncmp(p, "pytorch", 7) == 0)
            return true;
    return false;
}

struct found {
    uint64_t is[ROLES];
    bool exact;
    double unit; /* of the sentence's amounts; 0 = they have none, or several */
};

static void settle(struct found *f, enum role role, uint64_t bytes, bool exact)
{
    uint64_t was = f->is[role], apart = was > bytes ? was - bytes : bytes - was;
    if (bytes == 0 || was == SEVERAL)
        return;
    if (was != MT_LOG_NONE && apart > bytes / 50) {
        f->is[role] = SEVERAL;
        return;
    }
    f->is[role] = bytes;
    f->exact = role == REQUEST ? exact : f->exact;
}

/* "78 out of 80 gb", "79.3/80gb", "1.2 gib of 79.1 gib": behind the first of them. */
static bool second_of(const struct amount *a, struct amount *b)
{
    static const char *const joins[] = {"/", "out of ", "of the ", "of ", NULL};
    static const char *const said[] = {"left ", "free ", "used ", "in use ", NULL};
    const char *p = a->end + strspn(a->end, " ");
    for (const char *const *w = said; *w != NULL; w++) /* "300m left of 24g" */
        if (strncmp(p, *w, strlen(*w)) == 0)
            p += strlen(*w);
    for (const char *const *j = joins; *j != NULL; j++) {
        size_t n = strlen(*j);
        if (strncmp(p, *j, n) != 0)
            continue;
        p += n + strspn(p + n, " ");
        return amount_at(p, p, b) && b->bytes != 0 && (a->bytes != 0 || b->number >= a->number);
    }
    return false;
}

/* The one unit of the sentence. */
static double unit_of(const char *s)
{
    struct amount a;
    double of = 0;
    for (const char *p = s; *p != '\0'; p++)
        if (amount_at(s, p, &a) && a.bytes != 0 && a.number > 0) {
            double one = (double)a.bytes / a.number;
            if (of > 0 && (one > 1.01 * of || one < 0.99 * of))
                return 0;
            of = one;
            p = a.end - 1;
        }
    return of;
}

/* "total: 24 gb, free: 0.3": a number right behind its label, and nothing behind it. */
static bool is_labelled(const char *from, const struct amount *a)
{
    const char *p = a->from;
    while (p > from && strchr(" :=~", p[-1]) != NULL)
        p--;
    return p > from && p < a->from && is_letter(p[-1]) &&
           strchr(",;|)`", a->end[strspn(a->end, " .`")]) != NULL; /* also the end */
}

/* "I used two GPUs with 32GB of memory": what cards have, whatever was done with them. */
static bool is_what_cards_have(const char *from, const struct amount *a)
{
    static const char *const cards[] = {"gpu", "card", "device", NULL}, *const have[] = {
                                                                            " with", " having",
                                                                            " have", " has",
                                                                            " of",   NULL};
    static const char *const states[] = {" in use", " used", " is used", " occup", " taken", NULL};
    const char *end = a->from, *p;
    if (mt_log_word_at(a->end, states) != 0) /* "the card has 20 GB in use" */
        return false;
    while (end > from && strchr(" ~", end[-1]) != NULL)
        end--;
    for (p = end; p > from && (p[-1] == ' ' || is_letter(p[-1])) && end - p < 24;)
        p--;
    for (; p < end; p++) {
        size_t n = mt_log_word_at(p, cards);
        if (n == 0 || (p > from && is_letter(p[-1])))
            continue;
        n += p[n] == 's';
        for (const char *const *h = have; *h != NULL; h++)
            if (strncmp(p + n, *h, strlen(*h)) == 0 && p + n + strlen(*h) == end)
                return true;
    }
    return false;
}

static void read_clause(struct found *f, const char *from, const char *to)
{
    const bool card = is_of_card(from, to);
    for (const char *p = from; p < to; p++) {
        struct amount a, b, whole;
        enum role role;
        bool pair;
        if (!amount_at(from, p, &a) || a.end > to)
            continue;
        whole = a;
        pair = second_of(&a, &b) && b.end <= to;
        if (pair)
            whole.end = b.end;
        role = role_of(from, to, &whole);
        if (role == NO_ROLE && pair)
            role = role_of(from, to, &a);
        if (!pair && a.bytes != 0 && (role == USED || role == NO_ROLE) &&
            is_what_cards_have(from, &a))
            role = TOTAL;
        if (pair && a.bytes == 0) /* the unit of the second is that of both */
            a.bytes = (uint64_t)(a.number * ((double)b.bytes / b.number));
        if (pair && role != FREE && role != TORCH && (role == USED || card))
            role = USED;
        else if (role == USED && is_torchs(from, to))
            role = TORCH;
        else if (role == USED && !card)
            role = NO_ROLE;
        if (!pair && role == NO_ROLE && a.bytes != 0 &&
            mt_log_begins(a.end + strspn(a.end, " "), of_card))
            role = TOTAL;
        if (role != NO_ROLE && !pair && a.bytes == 0 && f->unit > 0 && is_labelled(from, &a))
            a.bytes = (uint64_t)(a.number * f->unit);
        if (role != NO_ROLE && a.bytes != 0)
            settle(f, role, a.bytes, a.exact);
        if (pair && role != NO_ROLE)
            settle(f, TOTAL, b.bytes, false);
        p = whole.end - 1;
    }
}

/* What would be, is usual, was once, or goes well; and the host's memory. The Chinese: by default,
 * should, in theory, can run, earlier; the host's memory, the host. */
static bool is_of_elsewhere(const char *s)
{
    static const char *const other[] = {"should",  "would",    "could", "estimat",  "expect",
                                        "default", "theor",    "works", "previous", "earlier",
                                        "before",  "at least", "?",     "默认",     "应该",
                                        "理论",    "能跑",     "之前",  "预计",     NULL},
                             *const host[] = {"host",     " ram", "cpu mem", "system mem", "swap",
                                              "/dev/shm", "内存", "主机",    NULL};
    return mt_log_has_one(s, other) || mt_log_has_one(s, host);
}

static void read_sentence(struct found *f, const char *s)
{
    const char *from = s;
    if (is_of_elsewhere(s))
        return;
    f->unit = unit_of(s);
    for (const char *p = s;; p++) {
        size_t n = *p != '\0' ? breaks(p) : 1;
        if (n == 0)
            continue;
        read_clause(f, from, p);
        if (*p == '\0')
            return;
        from = p + n;
        p = from - 1;
    }
}

/* ---- what was found ---- */

static bool known(uint64_t v) { return v != MT_LOG_NONE && v != SEVERAL; }

/* Numbers that cannot be of one moment of one card tell nothing. */
static void check(struct found *f, double card)
{
    const uint64_t most = UINT64_C(320) << 30; /* more than any card has: a sum of several */
    for (int i = 0; i < ROLES; i++)
        if (!known(f->is[i]))
            f->is[i] = MT_LOG_NONE;
    if (f->is[TOTAL] != MT_LOG_NONE &&
        (f->is[TOTAL] > most ||
         (card > 0 && ((double)f->is[TOTAL] > 1.08 * card || (double)f->is[TOTAL] < 0.9 * card))))
        f->is[TOTAL] = MT_LOG_NONE;
    for (int i = 0; i < ROLES; i++) {
        double of = f->is[TOTAL] != MT_LOG_NONE ? (double)f->is[TOTAL] : card;
        if (i != TOTAL && f->is[i] != MT_LOG_NONE && of > 0 && (double)f->is[i] > 1.02 * of)
            f->is[i] = MT_LOG_NONE;
    }
    if (f->is[FREE] != MT_LOG_NONE && f->is[REQUEST] != MT_LOG_NONE &&
        f->is[FREE] >= f->is[REQUEST]) /* of another moment */
        f->is[FREE] = MT_LOG_NONE;
}

/* Some line near the i-th of the prose tells of a failure. */
static bool is_near(const struct mt_log *log, uint32_t i)
{
    uint32_t from = i > NEAR ? i - NEAR : 0,
             to = i + NEAR < log->prose.n ? i + NEAR : log->prose.n - 1;
    for (uint32_t k = 0; k < log->facts.n; k++)
        if (mt_log_is_failure(log->facts.p[k].kind) &&
            log->facts.p[k].line >= log->prose.p[from].line &&
            log->facts.p[k].line <= log->prose.p[to].line)
            return true;
    return false;
}

bool mt_logdiag_amounts(struct mt_logdiag_amounts *out, const struct mt_log *log)
{
    struct found f;
    bool any = false;
    for (int i = 0; i < ROLES; i++)
        f.is[i] = MT_LOG_NONE;
    f.exact = false;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *text = log->prose.p[i].text;
        struct mt_spoken t;
        if (mt_spoken_is_logged(text) ||
            (mt_spoken_item(text) == NULL && !mt_spoken_is_told(text)) || !is_near(log, i))
            continue;
        mt_spoken_line(&t, log, i);
        for (char *s; (s = mt_spoken_sentence(&t)) != NULL;)
            read_sentence(&f, s);
    }
    check(&f, mt_logdiag_card(log));
    out->request = f.is[REQUEST];
    out->free = f.is[FREE];
    out->total = f.is[TOTAL];
    out->used = f.is[USED];
    out->torch = f.is[TORCH];
    out->exact = f.exact;
    for (int i = 0; i < ROLES; i++)
        any |= i != TOTAL && f.is[i] != MT_LOG_NONE;
    return any;
}
