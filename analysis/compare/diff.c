#include "analysis/compare/diff.h"

#include "parser/saved/report.h"

#include <stdio.h>
#include <string.h>

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* ---- a side ---- */

/* Its devices; of merged ranks the rows of all of them, where devices[] has those of one. */
static const struct cJSON *all_devices(const struct cJSON *root)
{
    const struct cJSON *rows = mt_value_in(mt_value_in(root, "ranks"), "rows");
    return mt_value_first(rows) != NULL ? rows : mt_value_in(root, "devices");
}

static bool earlier_rank(const struct cJSON *devices, const struct cJSON *d)
{
    for (const struct cJSON *v = mt_value_first(devices); v != d; v = mt_value_next(v))
        if (same(mt_value_words(v, "input"), mt_value_words(d, "input")) &&
            same(mt_value_words(v, "member"), mt_value_words(d, "member")))
            return true;
    return false;
}

/* Rows of merged ranks are in the order of their numbers. */
static void count_rows(struct mt_diff_side *s, const struct cJSON *rows)
{
    uint64_t before = 0, rank = 0;
    bool had = false;
    for (const struct cJSON *v = mt_value_first(rows); v != NULL; v = mt_value_next(v)) {
        bool has = mt_value_number(v, "rank", &rank);
        s->n_devices++;
        s->n_ranks += !has || !had || rank != before;
        had = has;
        before = rank;
    }
}

static void read_side(struct mt_diff_side *s, const struct mt_saved *report)
{
    const struct cJSON *devices = all_devices(report->root), *focus;
    s->root = report->root;
    s->device = mt_saved_device(s->root);
    s->ran_out = mt_saved_ran_out(s->root);
    focus = mt_value_in(s->device, "focus");
    s->has_peak = mt_value_number(focus, "live_bytes", &s->peak);
    if (!mt_value_number(mt_value_in(s->root, "verdict"), "request_bytes", &s->request))
        s->request = 0;
    if (devices != mt_value_in(report->root, "devices")) {
        count_rows(s, devices);
        return;
    }
    for (const struct cJSON *d = mt_value_first(devices);
         d != NULL && s->n_devices < MT_COMPARE_ROWS; d = mt_value_next(d)) {
        s->n_devices++;
        s->n_ranks += !earlier_rank(devices, d);
    }
}

/* ---- what makes it another job ---- */

static int say_other(struct mt_diff *d, const char *what, const char *a, const char *b)
{
    char words[600];
    char **slot;
    if (same(a, b) || a == NULL || b == NULL)
        return 1;
    (void)snprintf(words, sizeof words,
                   "The two are not alike: %s is %.200s in the first and %.200s "
                   "in the second.",
                   what, a, b);
    slot = MT_VEC_PUSH(&d->other);
    if (slot != NULL)
        *slot = mt_arena_strndup(&d->strings, words, strlen(words));
    return slot != NULL && *slot != NULL;
}

static int say_other_number(struct mt_diff *d, const char *what, uint64_t a, uint64_t b)
{
    char words[2][32];
    return a == b || say_other(d, what, mt_words_count(words[0], a), mt_words_count(words[1], b));
}

static const char *pytorch_of(const struct cJSON *root)
{
    const struct cJSON *in = mt_value_first(mt_value_in(mt_value_in(root, "provenance"), "inputs"));
    for (; in != NULL; in = mt_value_next(in))
        if (mt_value_words(in, "pytorch") != NULL)
            return mt_value_words(in, "pytorch");
    return NULL;
}

/* Bytes of a role at the highest, on the verdict's device. */
static bool role_peak(const struct mt_diff_side *s, const char *id, uint64_t *bytes)
{
    const struct cJSON *r = mt_value_first(mt_value_in(s->device, "roles"));
    for (; r != NULL; r = mt_value_next(r))
        if (same(mt_value_words(r, "role"), id))
            return mt_value_number(r, "peak_bytes", bytes);
    return false;
}

static int find_other(struct mt_diff *d)
{
    static const char *const keys[] = {"framework", "engine"};
    static const char *const words[] = {"the framework", "the engine"};
    const struct mt_diff_side *a = &d->side[0], *b = &d->side[1];
    uint64_t was = 0, is = 0, vocabulary[2] = {0, 0};
    char place[2][MT_SAVED_PLACE];
    int ok = 1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ok &= say_other(d, words[i], mt_value_words(mt_value_in(a->root, "verdict"), keys[i]),
                        mt_value_words(mt_value_in(b->root, "verdict"), keys[i]));
    d->is_other_program = d->other.n != 0;
    ok &= say_other(d, "the version of PyTorch, as far as the fields tell,", pytorch_of(a->root),
                    pytorch_of(b->root));
    ok &= say_other_number(d, "the number of ranks", a->n_ranks, b->n_ranks);
    if (a->n_ranks == b->n_ranks)
        ok &= say_other_number(d, "the number of GPUs", a->n_devices, b->n_devices);
    for (int i = 0; i < 2; i++)
        (void)mt_value_number(mt_value_in(d->side[i].device, "logits"), "vocabulary",
                              &vocabulary[i]);
    if (vocabulary[0] != 0 && vocabulary[1] != 0)
        ok &= say_other_number(d, "the vocabulary of the model", vocabulary[0], vocabulary[1]);
    /* the parameters of one model on as many ranks are as large in both */
    if (a->n_ranks == b->n_ranks && role_peak(a, "param", &was) && role_peak(b, "param", &is) &&
        was != is)
        ok &= say_other(d, "the size of the parameters", MT_BYTES(was), MT_BYTES(is));
    if (a->device != NULL && b->device != NULL && a->n_devices > 1 && b->n_devices > 1)
        ok &= say_other(d, "the place that is compared", mt_saved_place(place[0], a->device),
                        mt_saved_place(place[1], b->device));
    return ok;
}

/* ---- settings, lints ---- */

static struct mt_diff_setting *setting_of(struct mt_diff *d, const char *name)
{
    for (uint32_t i = 0; i < d->settings.n; i++)
        if (same(d->settings.p[i].name, name))
            return &d->settings.p[i];
    return d->settings.n < MT_COMPARE_ROWS ? MT_VEC_PUSH(&d->settings) : NULL;
}

static int find_settings(struct mt_diff *d)
{
    uint32_t kept = 0;
    for (int i = 0; i < 2; i++) {
        const struct cJSON *s = mt_value_first(mt_value_in(d->side[i].root, "settings"));
        for (; s != NULL; s = mt_value_next(s)) {
            const char *name = mt_value_words(s, "setting");
            struct mt_diff_setting *row = name != NULL ? setting_of(d, name) : NULL;
            if (name == NULL || (row != NULL && row->in[i]))
                continue;
            if (row == NULL)
                return d->settings.n >= MT_COMPARE_ROWS;
            row->name = name;
            row->key = mt_value_words(s, "key") != NULL ? mt_value_words(s, "key") : name;
            row->in[i] = true;
            row->value[i] = mt_value_words(s, "value");
        }
    }
    for (uint32_t i = 0; i < d->settings.n; i++) {
        struct mt_diff_setting s = d->settings.p[i];
        if (!s.in[0] || !s.in[1] || !same(s.value[0], s.value[1]))
            d->settings.p[kept++] = s;
    }
    d->settings.n = kept;
    return 1;
}

static bool has_lint(const struct cJSON *root, const char *id)
{
    const struct cJSON *l = mt_value_first(mt_value_in(root, "lint"));
    for (; l != NULL; l = mt_value_next(l))
        if (same(mt_value_words(l, "id"), id))
            return true;
    return false;
}

static int find_lints(struct mt_diff *d)
{
    for (int i = 0; i < 2; i++) {
        const struct cJSON *l = mt_value_first(mt_value_in(d->side[i].root, "lint"));
        for (; l != NULL && d->lints.n < MT_COMPARE_ROWS; l = mt_value_next(l)) {
            const char *id = mt_value_words(l, "id"), *sentence = mt_value_words(l, "sentence");
            struct mt_diff_lint *row;
            if (id == NULL || sentence == NULL || has_lint(d->side[!i].root, id))
                continue;
            row = MT_VEC_PUSH(&d->lints);
            if (row == NULL)
                return 0;
            *row = (struct mt_diff_lint){id, mt_value_words(l, "level"), sentence, i == 1};
        }
    }
    return 1;
}

/* ---- rows ---- */

static int add_ranks(struct mt_diff *d, int side)
{
    const struct cJSON *v = mt_value_first(all_devices(d->side[side].root));
    for (; v != NULL; v = mt_value_next(v)) {
        char place[MT_SAVED_PLACE];
        const char *label;
        uint64_t n;
        mt_saved_place(place, v);
        if (!mt_value_number(v, "live_peak_bytes", &n) || place[0] == '\0')
            continue;
        label = mt_arena_strndup(&d->strings, place, strlen(place));
        if (label == NULL || !mt_compare_put(&d->ranks, side, label, n, false))
            return 0;
    }
    return 1;
}

static int add_log(struct mt_diff *d, int side)
{
    const struct cJSON *log = mt_value_in(d->side[side].root, "log_diagnosis");
    uint64_t n;
    for (const struct mt_diff_figure *f = mt_diff_figures; f->key != NULL; f++)
        if (mt_value_number(log, f->key, &n) && !mt_compare_put(&d->log, side, f->key, n, false))
            return 0;
    return 1;
}

static int add_rows(struct mt_diff *d)
{
    int ok = 1;
    for (int i = 0; i < 2 && ok; i++) {
        const struct cJSON *root = d->side[i].root, *device = d->side[i].device;
        ok = add_log(d, i);
        if (device == NULL)
            continue;
        ok = ok &&
             mt_compare_add(&d->roles, i, mt_value_in(device, "roles"), NULL, "role", "bytes",
                            true) &&
             mt_compare_add(&d->phases, i, mt_value_in(root, "phases"), device, "phase_name",
                            "peak_inside_bytes", false) &&
             mt_compare_add(&d->owners, i, mt_value_in(root, "owners"), device, "label", "bytes",
                            true) &&
             add_ranks(d, i);
    }
    if (!ok)
        return 0;
    mt_compare_moved(&d->owners);
    mt_compare_sort(&d->roles);
    mt_compare_sort(&d->phases);
    mt_compare_sort(&d->owners);
    mt_compare_sort(&d->ranks);
    mt_compare_sort(&d->log);
    return 1;
}

static bool all_same(const struct mt_compare_rows *r)
{
    if (mt_compare_left_out(r) != 0) /* nobody knows */
        return false;
    for (uint32_t i = 0; i < r->list.n; i++) {
        const struct mt_compare_row *row = &r->list.p[i];
        if (row->bytes[0] != row->bytes[1] || row->in[0] != row->in[1] || row->was != NULL)
            return false;
    }
    return true;
}

/* Of a log, a driver's trace: where no rows stand behind it, its words are all there is. */
static bool same_verdicts(const struct mt_diff *d)
{
    static const char *const keys[] = {"kind", "sentence", "because"};
    const struct cJSON *a = mt_value_in(d->side[0].root, "verdict"),
                       *b = mt_value_in(d->side[1].root, "verdict");
    if (d->side[0].device != NULL && d->side[1].device != NULL)
        return true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!same(mt_value_words(a, keys[i]), mt_value_words(b, keys[i])))
            return false;
    return true;
}

enum mt_rc mt_diff_make(struct mt_diff *d, const struct mt_saved *first,
                        const struct mt_saved *second, struct mt_err *err)
{
    memset(d, 0, sizeof *d);
    read_side(&d->side[0], first);
    read_side(&d->side[1], second);
    if (!add_rows(d) || !find_other(d) || !find_settings(d) || !find_lints(d) ||
        !mt_diff_promises(d))
        return mt_fail(err, MT_ENOMEM, "out of memory; raise --max-memory");
    d->is_equal = all_same(&d->roles) && all_same(&d->phases) && all_same(&d->owners) &&
                  all_same(&d->ranks) && all_same(&d->log) && same_verdicts(d) &&
                  d->settings.n == 0 && d->lints.n == 0 && d->other.n == 0 &&
                  d->side[0].ran_out == d->side[1].ran_out &&
                  d->side[0].request == d->side[1].request;
    mt_diff_sentence(d);
    return MT_OK;
}

void mt_diff_done(struct mt_diff *d)
{
    mt_compare_rows_done(&d->roles);
    mt_compare_rows_done(&d->phases);
    mt_compare_rows_done(&d->owners);
    mt_compare_rows_done(&d->ranks);
    mt_compare_rows_done(&d->log);
    MT_VEC_DONE(&d->settings);
    MT_VEC_DONE(&d->lints);
    MT_VEC_DONE(&d->promises);
    MT_VEC_DONE(&d->fits);
    MT_VEC_DONE(&d->other);
    mt_arena_done(&d->strings);
}
