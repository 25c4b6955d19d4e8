/* profiler/walk.c -- the document around the events: what the job and its devices were, then one
 * event after the other. Each is found whole by its brackets, and looked at only as far as it
 * matters. */
#include "parser/profiler/impl.h"

#include <string.h>

/* p at '{'. *end: behind its '}', with all of it in the window. */
static int whole(struct mt_pf *f, const unsigned char **end)
{
    struct mt_json *j = &f->j;
    struct mt_json_scan st = {0, 0, 1, f->lim->max_depth, false};
    size_t at = 1;
    for (;;) {
        const unsigned char *e = j->simd->any_end(&st, j->p + at, j->end);
        if (st.too_deep)
            return mt_json_stop(j, MT_ELIMIT,
                                "lists and objects are nested deeper than %u (raise --max-depth)",
                                (unsigned)f->lim->max_depth);
        if (e != NULL && e[-1] == '}') {
            *end = e;
            return 1;
        }
        if (e != NULL) {
            j->p = e - 1;
            return mt_json_expected(j, "'}'");
        }
        at = (size_t)(j->end - j->p);
        if (at > f->lim->max_string)
            return mt_json_stop(j, MT_ELIMIT,
                                "an event is longer than %llu bytes (raise --max-string)",
                                (unsigned long long)f->lim->max_string);
        if (!mt_json_more(j, at + 1)) {
            j->p = j->end;
            return mt_json_expected(j, "'}'");
        }
    }
}

/* p behind '['. */
static int events(struct mt_pf *f)
{
    struct mt_json *j = &f->j;
    f->is_trace = true;
    for (;;) {
        const unsigned char *end = NULL;
        int c;
        if (j->end - j->p >= 8 && mt_pf_same(j->p, ",\n  {", 5)) { /* as libkineto writes it */
            j->p += 4;
            c = '{';
        } else {
            c = mt_json_space(j);
        }
        if (c == ']') {
            j->p++;
            return 1;
        }
        if (c == ',') { /* also behind the last one, as older recorders left it */
            j->p++;
            continue;
        }
        if (c != '{')
            return mt_json_expected(j, "an event");
        if (!mt_pf_next(f, j->p, j->end, &end))
            return 0;
        if (end == NULL && !(whole(f, &end) && mt_pf_event(f, j->p, end)))
            return 0;
        j->p = end;
    }
}

/* A key of the first level or below, copied: reading on moves the window. */
struct key {
    char text[32];
};

/* p in an object, before a key or its end. 1 = a key, p at its value; 0 = the end; -1 = fails. */
static int next_key(struct mt_json *j, struct key *k)
{
    const unsigned char *s;
    size_t n;
    int c = mt_json_space(j);
    if (c == ',') {
        j->p++;
        c = mt_json_space(j);
    }
    if (c == '}') {
        j->p++;
        return 0;
    }
    if (c != '"')
        return mt_json_expected(j, "a key") - 1;
    if (!mt_json_string(j, &s, &n))
        return -1;
    n = n < sizeof k->text ? n : 0; /* a long one is none of ours */
    memcpy(k->text, s, n);
    k->text[n] = '\0';
    if (mt_json_space(j) != ':')
        return mt_json_expected(j, "':'") - 1;
    j->p++;
    return mt_json_space(j) >= 0 ? 1 : mt_json_expected(j, "a value") - 1;
}

static int number(struct mt_json *j, int64_t *to)
{
    struct mt_val v = {.type = MT_T_OTHER};
    int c = mt_json_space(j);
    if (c == '"' || c == '{' || c == '[')
        return mt_json_skip(j, 2);
    if (!mt_json_scalar(j, &v))
        return 0;
    if (v.type == MT_T_INT || v.type == MT_T_BOOL)
        *to = v.i;
    return 1;
}

/* p at '{' of one of deviceProperties. */
static int properties(struct mt_pf *f)
{
    struct mt_pf_device *d;
    int64_t id = -1, memory = -1;
    struct key k;
    int r;
    f->j.p++;
    while ((r = next_key(&f->j, &k)) > 0) {
        int64_t unused = 0, *to = strcmp(k.text, "id") == 0               ? &id
                                  : strcmp(k.text, "totalGlobalMem") == 0 ? &memory
                                                                          : &unused;
        if (!number(&f->j, to))
            return 0;
    }
    if (r < 0 || id < 0 || memory <= 0 || f->props.n >= 1024)
        return r == 0;
    if ((d = MT_VEC_PUSH(&f->props)) == NULL)
        return mt_pf_nomem(f);
    d->id = id;
    d->memory = (uint64_t)memory;
    return 1;
}

static int all_properties(struct mt_pf *f)
{
    int c;
    f->j.p++;
    for (;;) {
        c = mt_json_space(&f->j);
        if (c == ']') {
            f->j.p++;
            return 1;
        }
        if (c == ',')
            f->j.p++;
        else if (c == '{' ? !properties(f) : !mt_json_skip(&f->j, 2))
            return 0;
    }
}

/* p at '{' of distributedInfo. */
static int distributed(struct mt_pf *f)
{
    int64_t rank = -1, unused;
    struct key k;
    int r;
    f->j.p++;
    while ((r = next_key(&f->j, &k)) > 0)
        if (!number(&f->j, strcmp(k.text, "rank") == 0 ? &rank : &unused))
            return 0;
    if (rank >= 0 && rank < INT32_MAX)
        f->t->meta.rank = (int32_t)rank;
    return r == 0;
}

static int top_value(struct mt_pf *f, const char *key)
{
    struct mt_json *j = &f->j;
    int c = *j->p;
    int64_t n = 0;
    if (strcmp(key, "traceEvents") == 0 && c == '[') {
        j->p++;
        return events(f);
    }
    if (strcmp(key, "deviceProperties") == 0 && c == '[')
        return all_properties(f);
    if (strcmp(key, "distributedInfo") == 0 && c == '{')
        return distributed(f);
    if (strcmp(key, "baseTimeNanoseconds") == 0) {
        f->has_base = true;
        return number(j, &f->base_ns);
    }
    if (strcmp(key, "profile_memory") == 0 || strcmp(key, "with_stack") == 0) {
        bool *to = key[0] == 'p' ? &f->has_profile_memory : &f->has_with_stack;
        if (!number(j, &n))
            return 0;
        *to = n != 0;
        return 1;
    }
    return mt_json_skip(j, 1);
}

int mt_pf_walk(struct mt_pf *f)
{
    struct mt_json *j = &f->j;
    struct key k;
    int r, c = mt_json_space(j);
    if (c == '[') {
        j->p++;
        return events(f);
    }
    if (c != '{')
        return mt_json_expected(j, "'{'");
    j->p++;
    while ((r = next_key(j, &k)) > 0)
        if (!top_value(f, k.text))
            return 0;
    /* a clock that makes no time of any job */
    if (f->base_ns < 0 || f->base_ns > INT64_MAX / 2)
        f->base_ns = 0;
    return r == 0;
}
