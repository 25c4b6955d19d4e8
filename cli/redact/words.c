/* redact/words.c -- words that tell nobody: of packages, of folders inside them, of the system, of
 * everyday texts. The words are data (analysis/rules/redaction.json); here they are looked up, by
 * one hash table, since every string asks for some. */
#include "analysis/base/rule_json.h"
#include "cli/redact/impl.h"

static const char *const lists[MT_RED_LISTS] = {[MT_RED_PACKAGES] = "packages",
                                                [MT_RED_INSIDE] = "inside",
                                                [MT_RED_SYSTEMS] = "systems",
                                                [MT_RED_LIBRARY] = "library",
                                                [MT_RED_EVERYDAY] = "everyday",
                                                [MT_RED_HOSTS] = "hosts",
                                                [MT_RED_PUBLISHERS] = "publishers",
                                                [MT_RED_CODE_ENDS] = "code_ends",
                                                [MT_RED_DATA_ENDS] = "data_ends",
                                                [MT_RED_DOCS] = "documentation",
                                                [MT_RED_SITES] = "sites",
                                                [MT_RED_PROCESSES] = "processes",
                                                [MT_RED_TOPS] = "tops",
                                                [MT_RED_SHAPED_TOPS] = "shaped_tops",
                                                [MT_RED_DOORS] = "doors",
                                                [MT_RED_VERSIONED] = "versioned",
                                                [MT_RED_CLIENTS] = "clients"};

/* The slot of a word, or the empty one where it would stand. folded: s in small letters is looked
 * for. */
static struct mt_red_word *slot_of(const struct mt_red_words *w, const char *s, size_t n,
                                   bool folded)
{
    uint32_t h = 2166136261u, mask = w->n_slots - 1;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)mt_red_fold(s[i])) * 16777619u;
    for (uint32_t at = (h ^ h >> 16) & mask;; at = (at + 1) & mask) {
        struct mt_red_word *slot = &w->slot[at];
        size_t i = 0;
        if (slot->word == NULL)
            return slot;
        if (slot->len != n)
            continue;
        while (i < n && slot->word[i] == (folded ? mt_red_fold(s[i]) : s[i]))
            i++;
        if (i == n)
            return slot;
    }
}

static bool listed(const struct mt_redact *r, enum mt_redact_list which, const char *s, size_t n,
                   bool folded)
{
    return n > 0 && n <= r->words.longest &&
           (slot_of(&r->words, s, n, folded)->lists >> which & 1u) != 0;
}

static void add(struct mt_red_words *w, const char *word, enum mt_redact_list list)
{
    size_t n = strlen(word);
    struct mt_red_word *slot = slot_of(w, word, n, false);
    slot->word = word;
    slot->len = (uint32_t)n;
    slot->lists |= 1u << list;
    if (n > w->longest)
        w->longest = n;
}

enum mt_rc mt_redact_words_load(struct mt_red_words *w, struct mt_err *err)
{
    static const char file[] = "redaction.json";
    const cJSON *names[MT_RED_LISTS] = {NULL}, *name;
    cJSON *root;
    size_t n = 1;
    enum mt_rc rc = mt_rule_json(file, &root, err);
    for (int i = 0; i < MT_RED_LISTS && rc == MT_OK; i++) {
        names[i] = mt_rule_field(mt_rule_field(root, lists[i]), "names");
        if (!cJSON_IsArray(names[i]))
            rc = mt_fail(err, MT_EINTERN, "%s has no list %s", file, lists[i]);
        cJSON_ArrayForEach(name, names[i])
        {
            n++;
            if (!cJSON_IsString(name))
                rc = mt_fail(err, MT_EINTERN, "%s: %s: not a word", file, lists[i]);
        }
    }
    for (w->n_slots = 2; w->n_slots < 2 * n;)
        w->n_slots *= 2;
    if (rc == MT_OK && (w->slot = mt_calloc(w->n_slots, sizeof *w->slot)) == NULL)
        rc = mt_fail(err, MT_ENOMEM, "out of memory while reading %s", file);
    for (unsigned i = 0; i < MT_RED_LISTS && rc == MT_OK; i++)
        cJSON_ArrayForEach(name, names[i]) { add(w, name->valuestring, (enum mt_redact_list)i); }
    mt_free(root);
    return rc;
}

bool mt_redact_all_digits(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!mt_red_digit(s[i]))
            return false;
    return true;
}

static size_t without_number(const char *s, size_t n)
{
    while (n > 0 && mt_red_digit(s[n - 1]))
        n--;
    return n;
}

bool mt_redact_plain_word(const struct mt_redact *r, const char *s, size_t n)
{
    size_t letters = without_number(s, n);
    return letters == 0 || listed(r, MT_RED_EVERYDAY, s, n, true) ||
           (letters < n && listed(r, MT_RED_EVERYDAY, s, letters, true));
}

bool mt_redact_is_host(const struct mt_redact *r, const char *s, size_t n)
{
    size_t letters = without_number(s, n);
    if (letters > 0 && letters < n && s[letters - 1] == '-')
        letters--;
    return letters < n && listed(r, MT_RED_HOSTS, s, letters, true);
}

bool mt_redact_is_common(const struct mt_redact *r, const char *s, size_t n)
{
    char word[64];
    for (size_t i = 0; i < n && n < sizeof word; i++)
        word[i] = mt_red_fold(s[i]);
    return mt_redact_plain_word(r, s, n) || listed(r, MT_RED_PACKAGES, s, n, true) ||
           mt_redact_in(r, MT_RED_INSIDE, s, n) || mt_redact_in(r, MT_RED_SYSTEMS, s, n) ||
           (n < sizeof word && mt_framework_is_package(r->fw, word, n));
}

bool mt_redact_is_package(const struct mt_redact *r, const char *s, size_t n)
{
    return mt_redact_in(r, MT_RED_PACKAGES, s, n) || mt_framework_is_package(r->fw, s, n);
}

bool mt_redact_in(const struct mt_redact *r, enum mt_redact_list which, const char *s, size_t n)
{
    return listed(r, which, s, n, false);
}
