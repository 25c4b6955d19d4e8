#include "render/saved/again.h"

#include "analysis/compare/diff.h"
#include "analysis/fleet/fleet.h"
#include "render/base/escape.h"
#include "render/base/jsonw.h"
#include "render/saved/strip.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RANK_LINES = 8 };

/* Whether the n-th row of a list still stands on the paper. */
static bool has_room(const struct mt_paper *k, uint32_t n)
{
    return k->most == 0 || n < k->most * 4;
}

static void put_verdict(const struct cJSON *root, const struct mt_paper *k)
{
    const struct cJSON *v = mt_value_in(root, "verdict");
    const char *site = mt_value_words(v, "site");
    char words[600];
    mt_paper_heading(k, "Verdict");
    mt_paper_line(k, mt_value_words(v, "sentence"));
    mt_paper_line(k, mt_value_words(v, "because"));
    if (site != NULL && (mt_value_words(v, "sentence") == NULL ||
                         strstr(mt_value_words(v, "sentence"), site) == NULL)) {
        (void)snprintf(words, sizeof words, "Asked for at %s.", site);
        mt_paper_line(k, words);
    }
    mt_paper_line(k, mt_value_words(mt_value_in(root, "cause"), "sentence"));
}

static void put_line(void *arg, const char *words) { mt_paper_item(arg, words); }

/* Many ranks as an answer. */
static void put_ranks(const struct cJSON *root, const struct mt_paper *k)
{
    struct mt_fleet f;
    struct mt_paper list = *k;
    memset(&f, 0, sizeof f);
    if (mt_value_in(root, "ranks") == NULL)
        return;
    if (mt_fleet_of_saved(&f, root, NULL) && mt_fleet_finish(&f)) {
        mt_paper_heading(k, "All ranks");
        mt_saved_strip(&f, k);
        mt_fleet_say(&f, k->most != 0 && k->most < RANK_LINES ? k->most : RANK_LINES, put_line,
                     &list);
        if (k->format == MT_PAPER_MD)
            mt_putc(k->o, '\n');
    } else {
        k->o->error = k->o->error != 0 ? k->o->error : ENOMEM;
    }
    mt_fleet_done(&f);
}

static void put_advice(const struct cJSON *root, const struct mt_paper *k)
{
    const struct cJSON *a = mt_value_first(mt_value_in(root, "advice"));
    bool any = false;
    for (; a != NULL; a = mt_value_next(a)) {
        const struct cJSON *line = mt_value_first(mt_value_in(a, "set"));
        const char *title = mt_value_words(a, "title");
        char words[600], bytes[32];
        uint64_t n;
        if (!mt_value_true(a, "top") || title == NULL)
            continue;
        if (!any)
            mt_paper_heading(k, "To change first");
        any = true;
        if (mt_value_number(a, "saving_bytes", &n))
            (void)snprintf(words, sizeof words, "%s: about %s less (%s)", title,
                           mt_fmt_bytes(bytes, n),
                           mt_value_words(a, "saving_confidence") != NULL
                               ? mt_value_words(a, "saving_confidence")
                               : "");
        else
            (void)snprintf(words, sizeof words, "%s", title);
        mt_paper_item(k, words);
        for (; line != NULL; line = mt_value_next(line))
            if (mt_value_words(line, "text") != NULL)
                mt_paper_code(k, mt_value_words(line, "text"));
    }
    if (any && k->format == MT_PAPER_MD)
        mt_putc(k->o, '\n');
}

/* The rows of list that are the device's, by how many bytes they have under key: the next
 * in their order. */
static const struct cJSON *next_largest(const struct cJSON *list, const struct cJSON *device,
                                        const char *key, uint64_t *below, uint32_t *same)
{
    const struct cJSON *best = NULL;
    uint64_t most = 0, n;
    uint32_t seen = 0;
    for (const struct cJSON *v = mt_value_first(list); v != NULL; v = mt_value_next(v)) {
        if (!mt_saved_is_of(v, device) || !mt_value_number(v, key, &n))
            continue;
        if (n == *below && seen++ >= *same) { /* the next of those that are as large */
            (*same)++;
            return v;
        }
        if (n < *below && (best == NULL || n > most)) {
            best = v;
            most = n;
        }
    }
    *below = most;
    *same = 1;
    return best;
}

static void put_rows(const struct cJSON *list, const struct cJSON *device, const char *name,
                     const char *key, struct mt_grid *g, const struct mt_paper *k,
                     const char *heading)
{
    uint64_t below = UINT64_MAX, n = 0;
    uint32_t same = UINT32_MAX;
    for (uint32_t i = 0; k->most == 0 || i < k->most; i++) {
        const struct cJSON *v = next_largest(list, device, key, &below, &same);
        if (v == NULL || !mt_value_number(v, key, &n) || n == 0)
            break;
        mt_grid_cell(g, mt_value_words(v, name) == NULL ? ""
                        : strcmp(name, "role") == 0 ? mt_diff_role_words(mt_value_words(v, name))
                                                    : mt_value_words(v, name));
        mt_grid_bytes(g, true, n);
        if (g->n == 3)
            mt_grid_cell(
                g, mt_value_words(v, "phase_name") != NULL ? mt_value_words(v, "phase_name") : "");
    }
    mt_grid_put(g, k, heading);
}

static void put_devices(const struct cJSON *root, const struct mt_paper *k)
{
    struct mt_grid g = {.heads = {"device", "#live at the peak", "#reserved", "#card", "ran out"},
                        .n = 5};
    const struct cJSON *d = mt_value_first(mt_value_in(root, "devices"));
    uint32_t n_rows = 0;
    for (; d != NULL; d = mt_value_next(d)) {
        static const char *const keys[] = {"live_peak_bytes", "reserved_peak_bytes",
                                           "capacity_bytes"};
        char place[MT_SAVED_PLACE];
        if (!has_room(k, n_rows++))
            continue;
        mt_grid_cell(&g, mt_saved_place(place, d));
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            uint64_t n = 0;
            bool is_known = mt_value_number(d, keys[i], &n);
            mt_grid_bytes(&g, is_known, n);
        }
        mt_grid_cell(&g, mt_value_first(mt_value_in(d, "ooms")) != NULL ? "yes" : "no");
    }
    mt_grid_put(&g, k, "Ranks and devices");
    mt_paper_left_out(k, n_rows == 0 || has_room(k, n_rows - 1) ? 0 : n_rows - k->most * 4);
}

static void put_settings(const struct cJSON *root, const struct mt_paper *k)
{
    struct mt_grid g = {.heads = {"setting", "value", "read from"}, .n = 3};
    const struct cJSON *s = mt_value_first(mt_value_in(root, "settings"));
    uint32_t n_rows = 0;
    for (; s != NULL; s = mt_value_next(s)) {
        const char *key = mt_value_words(s, "key"), *value = mt_value_words(s, "value");
        const char *from = mt_value_words(s, "set_in");
        if (!has_room(k, n_rows++))
            continue;
        mt_grid_cell(&g, key != NULL ? key : "");
        mt_grid_cell(&g, value != NULL ? value : "not known");
        mt_grid_cell(&g, from != NULL ? from : "");
    }
    mt_grid_put(&g, k, "Settings of the run");
    mt_paper_left_out(k, n_rows == 0 || has_room(k, n_rows - 1) ? 0 : n_rows - k->most * 4);
}

static void put_sentences(const struct cJSON *list, const struct mt_paper *k, const char *heading)
{
    const struct cJSON *v = mt_value_first(list);
    uint32_t n = 0;
    for (; v != NULL; v = mt_value_next(v)) {
        const char *words = mt_value_string(v);
        if (words == NULL)
            words = mt_value_words(v, "sentence");
        if (words == NULL)
            continue;
        if (n == 0)
            mt_paper_heading(k, heading);
        if (has_room(k, n++))
            mt_paper_item(k, words);
    }
    if (n != 0 && k->format == MT_PAPER_MD)
        mt_putc(k->o, '\n');
    mt_paper_left_out(k, n == 0 || has_room(k, n - 1) ? 0 : n - k->most * 4);
}

void mt_saved_again(const struct mt_saved *s, const char *name, const struct mt_paper *k)
{
    const struct cJSON *root = s->root, *device = mt_saved_device(root);
    const struct cJSON *made = mt_value_in(root, "provenance");
    struct mt_grid roles = {.heads = {"role", "#bytes"}, .n = 2};
    struct mt_grid owners = {.heads = {"holder", "#bytes", "born in"}, .n = 3};
    struct mt_grid phases = {.heads = {"phase", "#live at its highest"}, .n = 2};
    char words[700];
    mt_paper_title(k, name);
    put_verdict(root, k);
    put_ranks(root, k);
    put_advice(root, k);
    put_rows(mt_value_in(device, "roles"), NULL, "role", "bytes", &roles, k,
             "What the memory is for, at the moment that matters");
    put_rows(mt_value_in(root, "owners"), device, "label", "bytes", &owners, k, "Who holds it");
    put_rows(mt_value_in(root, "phases"), device, "phase_name", "peak_inside_bytes", &phases, k,
             "Phases");
    if (mt_value_in(root, "ranks") == NULL)
        put_devices(root, k);
    put_sentences(mt_value_in(root, "lint"), k, "Check these");
    put_settings(root, k);
    put_sentences(mt_value_in(mt_value_in(root, "quality"), "caveats"), k, "Quality of the data");
    (void)snprintf(
        words, sizeof words,
        "Read back from a report that memtrace %s wrote%s%s. All of its numbers: --format "
        "json.",
        mt_value_words(made, "memtrace_version") != NULL ? mt_value_words(made, "memtrace_version")
                                                         : "of an unknown version",
        mt_value_words(made, "command") != NULL ? " by: " : "",
        mt_value_words(made, "command") != NULL ? mt_value_words(made, "command") : "");
    mt_paper_heading(k, "Where this comes from");
    mt_paper_line(k, words);
}

/* ---- info ---- */

void mt_saved_info(const struct mt_saved *s, const char *input, const char *member,
                   struct mt_out *o)
{
    const struct cJSON *made = mt_value_in(s->root, "provenance");
    const char *version = mt_value_words(made, "memtrace_version");
    const char *command = mt_value_words(made, "command");
    const char *sentence = mt_value_words(mt_value_in(s->root, "verdict"), "sentence");
    const struct cJSON *in = mt_value_first(mt_value_in(made, "inputs"));
    mt_term(o, input, strlen(input));
    if (member != NULL) {
        mt_puts(o, ": ");
        mt_term(o, member, strlen(member));
    }
    mt_putf(o, "\n  %-16s report of memtrace, schema_version %d\n", "format", (int)MT_SAVED_SCHEMA);
    mt_putf(o, "  %-16s memtrace ", "written by");
    mt_term(o, version != NULL ? version : "?", strlen(version != NULL ? version : "?"));
    if (command != NULL) {
        mt_putf(o, "\n  %-16s ", "made by");
        mt_term(o, command, strlen(command));
    }
    for (; in != NULL; in = mt_value_next(in)) {
        const char *of = mt_value_words(in, "input");
        mt_putf(o, "\n  %-16s ", "made from");
        mt_term(o, of != NULL ? of : "?", strlen(of != NULL ? of : "?"));
    }
    if (sentence != NULL) {
        mt_putf(o, "\n  %-16s ", "says");
        mt_term(o, sentence, strlen(sentence));
    }
    mt_putc(o, '\n');
}

void mt_saved_info_json(const struct mt_saved *s, const char *input, const char *member,
                        struct mt_out *o)
{
    const struct cJSON *made = mt_value_in(s->root, "provenance");
    const struct cJSON *in = mt_value_first(mt_value_in(made, "inputs"));
    struct mt_jsonw w;
    mt_jw_init(&w, o, true);
    mt_jw_open(&w, '{');
    mt_jw_ks(&w, "input", input);
    mt_jw_ks(&w, "member", member);
    mt_jw_ks(&w, "format", "report");
    mt_jw_ku(&w, "bytes", s->n);
    mt_jw_ku(&w, "schema_version", MT_SAVED_SCHEMA);
    mt_jw_ks(&w, "memtrace_version", mt_value_words(made, "memtrace_version"));
    mt_jw_ks(&w, "command", mt_value_words(made, "command"));
    mt_jw_key(&w, "made_from");
    mt_jw_open(&w, '[');
    for (; in != NULL; in = mt_value_next(in))
        mt_jw_s(&w, mt_value_words(in, "input"));
    mt_jw_close(&w, ']');
    mt_jw_ks(&w, "sentence", mt_value_words(mt_value_in(s->root, "verdict"), "sentence"));
    mt_jw_close(&w, '}');
    mt_putc(o, '\n');
}
