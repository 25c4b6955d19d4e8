/* fleet_saved.c -- rows of reports that were read back. */
#include "analysis/fleet/fleet.h"

#include "parser/saved/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int copy(char **to, const char *words)
{
    if (words == NULL)
        return 1;
    *to = mt_strndup(words, strlen(words));
    return *to != NULL;
}

/* Of names and values; what a setting was read from is no part of it. */
static uint64_t settings_of(const struct cJSON *root)
{
    uint64_t h = 0;
    const struct cJSON *s = mt_value_first(mt_value_in(root, "settings"));
    for (; s != NULL; s = mt_value_next(s))
        h = mt_fleet_setting(h, mt_value_words(s, "setting"), mt_value_words(s, "value"));
    return h;
}

/* Sizes that this report was merged with, else those of its settings. */
static void divide(struct mt_fleet *f, const struct cJSON *root)
{
    const struct cJSON *layout = mt_value_in(mt_value_in(root, "ranks"), "layout");
    const struct cJSON *s = mt_value_first(mt_value_in(root, "settings"));
    uint64_t n;
    for (int i = 0; i < MT_FLEET_DIMS; i++)
        if (mt_value_number(layout, mt_fleet_dim_id((enum mt_fleet_dim)i), &n))
            mt_fleet_divide(f, (enum mt_fleet_dim)i, n);
    for (; s != NULL && layout == NULL; s = mt_value_next(s))
        mt_fleet_divide_by(f, mt_value_words(s, "setting"), mt_value_words(s, "value"));
}

static int32_t number(const struct cJSON *v, const char *key)
{
    uint64_t n = 0;
    return mt_value_number(v, key, &n) && n <= INT32_MAX ? (int32_t)n : -1;
}

static uint64_t bytes(const struct cJSON *v, const char *key)
{
    uint64_t n = 0;
    (void)mt_value_number(v, key, &n);
    return n;
}

static void put_roles(struct mt_fleet_row *r, const struct cJSON *v)
{
    const struct cJSON *role = mt_value_first(mt_value_in(v, "roles"));
    for (; role != NULL; role = mt_value_next(role)) {
        const char *id = mt_value_words(role, "role");
        int at = id != NULL ? mt_role_find(id, strlen(id)) : -1;
        if (at >= 0)
            r->roles[at] = bytes(role, "bytes");
    }
}

static void put_step(struct mt_fleet_row *r, uint64_t ns)
{
    if (r->n_steps == MT_FLEET_STEPS) {
        memmove(r->steps_ns, r->steps_ns + 1, (MT_FLEET_STEPS - 1) * sizeof *r->steps_ns);
        r->n_steps--;
    }
    r->steps_ns[r->n_steps++] = ns;
}

/* Those of a device, where its list is whole: they are counted from the last. */
static void put_steps(struct mt_fleet_row *r, const struct cJSON *d)
{
    const struct cJSON *s = mt_value_first(mt_value_in(d, "steps"));
    const char *from = mt_value_words(d, "steps_from");
    uint64_t ns, n = 0;
    if (from == NULL || strcmp(from, MT_STEPS_GUESSED) == 0)
        return;
    for (; s != NULL; s = mt_value_next(s), n++)
        if (mt_value_true(s, "whole") && mt_value_number(s, "last_time_ns", &ns))
            put_step(r, ns);
    if (n != bytes(d, "step_count"))
        r->n_steps = 0;
}

static int of_row(struct mt_fleet_row *r, const struct cJSON *v, const char *source)
{
    const char *settings = mt_value_words(v, "settings_hash");
    uint64_t ns;
    r->rank = number(v, "rank");
    r->device = number(v, "device");
    r->known = mt_value_number(v, "live_peak_bytes", &r->live);
    r->reserved = bytes(v, "reserved_peak_bytes");
    r->capacity = bytes(v, "capacity_bytes");
    r->failed = mt_value_true(v, "out_of_memory");
    r->told = mt_value_true(v, "told");
    r->failed_ns = bytes(v, "failed_time_ns");
    r->request = bytes(v, "request_bytes");
    r->first_ns = bytes(v, "first_time_ns");
    r->last_ns = bytes(v, "last_time_ns");
    r->settings = settings != NULL ? strtoull(settings, NULL, 16) : 0;
    put_roles(r, v);
    for (const struct cJSON *s = mt_value_first(mt_value_in(v, "step_ends_ns")); s != NULL;
         s = mt_value_next(s))
        if (mt_value_count(s, &ns))
            put_step(r, ns);
    return copy(&r->place, mt_value_words(v, "place")) &&
           copy(&r->source, source != NULL ? source : mt_value_words(v, "source")) &&
           copy(&r->framework, mt_value_words(v, "framework")) &&
           copy(&r->host, mt_value_words(v, "host")) &&
           copy(&r->phase, r->failed ? mt_value_words(v, "phase_name") : NULL);
}

static int of_device(struct mt_fleet_row *r, const struct cJSON *root, const struct cJSON *d,
                     const char *source)
{
    const struct cJSON *focus = mt_value_in(d, "focus");
    const struct cJSON *oom = mt_value_first(mt_value_in(d, "ooms"));
    const char *framework = mt_value_words(mt_value_in(root, "verdict"), "framework");
    char place[MT_SAVED_PLACE + 256];
    r->rank = number(d, "rank");
    r->device = number(d, "device");
    r->known = mt_value_number(d, "live_peak_bytes", &r->live) ||
               mt_value_number(focus, "live_bytes", &r->live);
    r->reserved = mt_value_in(d, "reserved_peak_bytes") != NULL ? bytes(d, "reserved_peak_bytes")
                                                                : bytes(focus, "reserved_bytes");
    r->capacity = bytes(d, "capacity_bytes");
    r->failed = oom != NULL;
    r->failed_ns = bytes(oom, "time_ns");
    r->request = bytes(oom, "request_bytes");
    r->first_ns = bytes(d, "first_time_ns");
    r->last_ns = bytes(d, "last_time_ns");
    r->settings = settings_of(root);
    put_roles(r, d);
    put_steps(r, d);
    mt_saved_place(place, d);
    if (r->rank < 0) {
        const char *input = mt_value_words(d, "input");
        char words[MT_SAVED_PLACE];
        (void)snprintf(place, sizeof place, "%.200s%s%s",
                       source != NULL  ? source
                       : input != NULL ? input
                                       : "",
                       place[0] != '\0' ? ", " : "", mt_saved_place(words, d));
    }
    return copy(&r->place, place) && copy(&r->source, source) &&
           copy(&r->host, mt_value_words(d, "host")) &&
           copy(&r->framework,
                framework != NULL && strcmp(framework, "none") != 0 ? framework : NULL) &&
           copy(&r->phase, oom != NULL ? mt_value_words(oom, "phase_name") : NULL);
}

static int add_problem(struct mt_fleet *f, const char *words)
{
    char **slot = MT_VEC_PUSH(&f->problems);
    if (slot != NULL)
        *slot = NULL;
    return slot != NULL && copy(slot, words);
}

/* What was read of a damaged snapshot is no peak: no median, group or outlier is made of it. */
static int of_damaged(struct mt_fleet *f, uint32_t first, const char *source)
{
    char words[320];
    for (uint32_t i = first; i < f->rows.n; i++)
        f->rows.p[i].known = f->rows.p[i].known && f->rows.p[i].failed;
    (void)snprintf(words, sizeof words, "%.80s: its input was incomplete (%.200s)",
                   first < f->rows.n ? f->rows.p[first].place : "one of its ranks", source);
    return add_problem(f, words);
}

static int add_told(struct mt_fleet *f, const struct cJSON *of, const char *source,
                    uint64_t request)
{
    char place[MT_SAVED_PLACE];
    int32_t rank = number(of, "rank");
    struct mt_fleet_row *r = mt_fleet_told(f, rank, number(of, "device"),
                                           rank >= 0 ? mt_saved_place(place, of) : source);
    if (r == NULL)
        return 0;
    r->request = request;
    return copy(&r->source, source);
}

/* The other ranks of which the log says the same, once each. */
static int others_told(struct mt_fleet *f, const struct cJSON *root, const char *source,
                       int32_t rank)
{
    const struct cJSON *diag = mt_value_in(root, "log_diagnosis"), *fact, *log;
    const char *input = mt_value_words(diag, "input"), *kind = NULL;
    uint64_t line = bytes(diag, "line");
    for (log = mt_value_first(mt_value_in(root, "logs")); log != NULL; log = mt_value_next(log))
        if (input != NULL && mt_value_words(log, "input") != NULL &&
            strcmp(mt_value_words(log, "input"), input) == 0)
            break;
    for (fact = mt_value_first(mt_value_in(log, "facts")); fact != NULL; fact = mt_value_next(fact))
        if (mt_value_true(fact, "failure") && bytes(fact, "line") == line)
            kind = mt_value_words(fact, "kind");
    for (fact = mt_value_first(mt_value_in(log, "facts")); fact != NULL && kind != NULL;
         fact = mt_value_next(fact)) {
        int32_t of = number(fact, "rank");
        const char *is = mt_value_words(fact, "kind");
        if (of >= 0 && of != rank && mt_value_true(fact, "failure") && is != NULL &&
            strcmp(is, kind) == 0 && !add_told(f, fact, source, 0))
            return 0;
    }
    return 1;
}

/* A failure that no recording shows: a log, or the driver, tells of it. */
static int tell(struct mt_fleet *f, const struct cJSON *root, uint32_t first, const char *source)
{
    const struct cJSON *v = mt_value_in(root, "verdict");
    const char *input = mt_value_words(v, "input");
    int32_t rank = number(v, "rank");
    const char *name = source != NULL ? source : input != NULL ? input : "a log";
    if (mt_saved_ran_out(root) != 1)
        return 1;
    for (uint32_t i = first; i < f->rows.n; i++)
        if (f->rows.p[i].failed && (rank < 0 || f->rows.p[i].rank == rank))
            return 1;
    if (rank < 0 && f->rows.n == first + 1) { /* whose else */
        f->rows.p[first].failed = true;
        f->rows.p[first].request = bytes(v, "request_bytes");
        return 1;
    }
    return add_told(f, v, name, bytes(v, "request_bytes")) && others_told(f, root, name, rank);
}

int mt_fleet_of_saved(struct mt_fleet *f, const struct cJSON *root, const char *source)
{
    const struct cJSON *ranks = mt_value_in(root, "ranks"), *problem;
    const struct cJSON *v = mt_value_first(mt_value_in(ranks, "rows"));
    bool is_row = v != NULL;
    uint32_t first = f->rows.n;
    for (v = is_row ? v : mt_value_first(mt_value_in(root, "devices")); v != NULL;
         v = mt_value_next(v)) {
        struct mt_fleet_row *r = mt_fleet_add(f);
        if (r == NULL || !(is_row ? of_row(r, v, source) : of_device(r, root, v, source)))
            return 0;
    }
    if (!is_row && !tell(f, root, first, source))
        return 0;
    divide(f, root);
    /* of ranks that were read together nothing says which one it was */
    if (mt_value_true(mt_value_in(root, "quality"), "damaged") &&
        mt_value_first(mt_value_in(ranks, "problems")) == NULL &&
        !of_damaged(f, is_row ? f->rows.n : first, source != NULL ? source : "its report"))
        return 0;
    for (problem = mt_value_first(mt_value_in(ranks, "problems")); problem != NULL;
         problem = mt_value_next(problem)) {
        const char *words = mt_value_string(problem);
        /* which ranks are missing is seen anew, of all that are here */
        if (words != NULL && strncmp(words, MT_FLEET_MISSING, strlen(MT_FLEET_MISSING)) != 0 &&
            !add_problem(f, words))
            return 0;
    }
    return 1;
}
