/* The rules that the build has read are those that are read now: every text and number of them, by
 * the functions that everybody asks. */
#include "load.h"
#include "mt_test.h"

#include "analysis/metrics/rules.h"
#include "analysis/roles/rules.h"
#include "analysis/run/rule_image.h"
#include "analysis/setup/settings.h"
#include "parser/base/mem.h"

#include <string.h>

static struct mt_rules image, read_now;
static uint32_t texts; /* that were compared */

static bool same(const char *a, const char *b)
{
    texts++;
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}
static bool same_list(const char *const *a, const char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    while (*a != NULL && *b != NULL && same(*a, *b))
        a++, b++;
    return *a == NULL && *b == NULL;
}
static bool same_pairs(const struct mt_fix_pair *a, const struct mt_fix_pair *b, uint32_t n)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = same(a[i].a, b[i].a) && same(a[i].b, b[i].b);
    return ok;
}

static bool same_expr(const struct mt_fix_expr *a, const struct mt_fix_expr *b)
{
    return same(a->text, b->text) && (a->e == NULL) == (b->e == NULL) &&
           (a->e == NULL || same(mt_expr_text(a->e), mt_expr_text(b->e)));
}

static bool same_lines(const struct mt_fix_card *a, const struct mt_fix_card *b)
{
    bool ok = a->n_set == b->n_set;
    for (uint32_t i = 0; ok && i < a->n_set; i++) {
        const struct mt_fix_line *x = &a->set[i], *y = &b->set[i];
        ok = x->syntax == y->syntax && same(x->key, y->key) && same(x->value, y->value) &&
             (x->saving == NULL) == (y->saving == NULL) && x->goes_with == y->goes_with &&
             x->as_set == y->as_set && x->moves == y->moves && x->n_key_frames == y->n_key_frames &&
             same_pairs(x->key_frames, y->key_frames, x->n_key_frames);
    }
    return ok;
}

static bool same_card(const struct mt_fix_card *a, const struct mt_fix_card *b)
{
    return same(a->name, b->name) && same(a->title, b->title) && same(a->why, b->why) &&
           same(a->constraints, b->constraints) && same(a->cost, b->cost) &&
           same(a->current, b->current) && same(a->finding, b->finding) && a->moves == b->moves &&
           same_expr(&a->when, &b->when) && same_expr(&a->unless, &b->unless) &&
           same_expr(&a->made, &b->made) && (a->saving == NULL) == (b->saving == NULL) &&
           same_lines(a, b);
}

static bool same_rule(const struct mt_fix_rule *a, const struct mt_fix_rule *b)
{
    bool ok = same(a->id, b->id) && a->frameworks == b->frameworks &&
              same(a->for_words, b->for_words) && a->kind == b->kind && a->phases == b->phases &&
              same_card(&a->card, &b->card) && a->n_variants == b->n_variants &&
              same(a->source, b->source) && a->status == b->status && same(a->checked, b->checked);
    for (uint32_t i = 0; ok && i < a->n_variants; i++)
        ok = same_card(&a->variants[i], &b->variants[i]);
    return ok && a->n_contradictions == b->n_contradictions &&
           same_pairs(a->contradictions, b->contradictions, a->n_contradictions) &&
           a->n_unless_frames == b->n_unless_frames &&
           same_pairs(a->unless_frames, b->unless_frames, a->n_unless_frames) &&
           a->n_needs_frames == b->n_needs_frames &&
           same_pairs(a->needs_frames, b->needs_frames, a->n_needs_frames) &&
           a->unless_components == b->unless_components && a->backends == b->backends &&
           same_list(a->instead_of, b->instead_of) && same_list(a->replaced_by, b->replaced_by) &&
           same(a->group, b->group) && a->offered == b->offered && same(a->file, b->file) &&
           same(a->no_saving, b->no_saving) && same(a->not_offered, b->not_offered) &&
           same(a->instead, b->instead);
}

MT_TEST(both_are_there)
{
    struct mt_err err = {.rc = MT_OK};
    MT_ASSERT(mt_load_rules(&image));
    MT_ASSERT(mt_rules_read(&read_now, NULL, 0, NULL, &err) == MT_OK);
    MT_CHECK(read_now.image == NULL);
    MT_CHECK_EQ(image.image != NULL, mt_rule_image.n != 0);
}

MT_TEST(fixes_are_the_same)
{
    uint32_t n = mt_fix_rules_count(image.fixes), before = texts;
    MT_CHECK_EQ(n, mt_fix_rules_count(read_now.fixes));
    MT_CHECK(n > 100);
    for (uint32_t i = 0; i < n; i++)
        if (!same_rule(mt_fix_rule_at(image.fixes, i), mt_fix_rule_at(read_now.fixes, i)))
            MT_CHECK_STR(mt_fix_rule_at(image.fixes, i)->id, "as it is read");
    MT_CHECK(texts - before > 20 * n);
}

MT_TEST(the_order_is_the_same)
{
    uint32_t steps = 0;
    for (int c = 0; c < MT_FIX_CLASS_COUNT; c++)
        for (int f = 0; f < mt_framework_count(image.frameworks); f++) {
            uint32_t n, m;
            const struct mt_fix_step *a =
                mt_fix_order(image.fixes, (enum mt_fix_class)c, (mt_fw)f, &n);
            const struct mt_fix_step *b =
                mt_fix_order(read_now.fixes, (enum mt_fix_class)c, (mt_fw)f, &m);
            MT_CHECK_EQ(n, m);
            steps += n;
            for (uint32_t i = 0; i < n && i < m; i++)
                MT_CHECK(a[i].rule == b[i].rule && same(a[i].card->title, b[i].card->title));
        }
    MT_CHECK(steps > 100);
}

MT_TEST(phases_and_roles_are_the_same)
{
    uint32_t n = mt_phase_rules_count(image.phases);
    MT_CHECK_EQ(n, mt_phase_rules_count(read_now.phases));
    for (uint32_t i = 1; i <= n; i++) {
        const struct mt_phase_rule *a = mt_phase_rule_at(image.phases, i),
                                   *b = mt_phase_rule_at(read_now.phases, i);
        MT_CHECK(same(a->id, b->id) && same(a->framework, b->framework) && a->level == b->level &&
                 same(a->phase, b->phase) && same(a->file_suffix, b->file_suffix) &&
                 same(a->function, b->function) && a->status == b->status &&
                 same(a->note, b->note) && same(a->source, b->source) &&
                 same(a->last_call, b->last_call));
    }
    n = mt_role_rules_count(image.roles);
    MT_CHECK_EQ(n, mt_role_rules_count(read_now.roles));
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_role_rule *a = mt_role_rule_at(image.roles, i),
                                  *b = mt_role_rule_at(read_now.roles, i);
        MT_CHECK(same(a->id, b->id) && same(a->framework, b->framework) && same(a->file, b->file) &&
                 same(a->function, b->function) && same(a->note, b->note) &&
                 same(a->source, b->source) && a->role == b->role && a->lines == b->lines &&
                 a->always == b->always && a->at_free == b->at_free && a->is_cpp == b->is_cpp);
    }
    n = mt_vocabs_count(image.roles);
    MT_CHECK_EQ(n, mt_vocabs_count(read_now.roles));
    for (uint32_t i = 0; i < n; i++)
        MT_CHECK(mt_vocab_at(image.roles, i)->size == mt_vocab_at(read_now.roles, i)->size);
    MT_CHECK_EQ(mt_role_of_name(image.roles, "kv_cache", 8),
                mt_role_of_name(read_now.roles, "kv_cache", 8));
}

MT_TEST(frameworks_are_the_same)
{
    int n = mt_framework_count(image.frameworks);
    uint32_t rows = 0; /* of all lists of structs */
    MT_CHECK_EQ(n, mt_framework_count(read_now.frameworks));
    for (int f = 0; f < n; f++) {
        const struct mt_framework *a = mt_framework_at(image.frameworks, f),
                                  *b = mt_framework_at(read_now.frameworks, f);
        uint32_t i;
        MT_CHECK(same(a->id, b->id) && same(a->words, b->words) && a->kind == b->kind &&
                 same_list(a->runs_in, b->runs_in) && same_list(a->not_in, b->not_in) &&
                 same_list(a->starts_as, b->starts_as) && same_list(a->processes, b->processes) &&
                 same_list(a->told_by, b->told_by) && same_list(a->log_lines, b->log_lines) &&
                 same_list(a->allocators, b->allocators) && same(a->in_log_files, b->in_log_files));
        MT_CHECK(same(a->one_of, b->one_of) && same(a->shards_with, b->shards_with) &&
                 same(a->host_params, b->host_params) && same(a->lora_targets, b->lora_targets) &&
                 same(a->lora_targets_core, b->lora_targets_core) && a->drives == b->drives &&
                 a->usual == b->usual && a->settings_of == b->settings_of &&
                 a->program_in == b->program_in && a->order_as == b->order_as &&
                 a->same_as == b->same_as && a->engine == b->engine && a->parts == b->parts &&
                 a->shows == b->shows && a->traits == b->traits);
        for (i = 0; a->packages[i].name != NULL; i++, rows++)
            MT_CHECK(same(a->packages[i].name, b->packages[i].name) &&
                     same_list(a->packages[i].inside, b->packages[i].inside));
        MT_CHECK(b->packages[i].name == NULL);
        for (i = 0; a->frames[i].file != NULL; i++, rows++)
            MT_CHECK(same(a->frames[i].file, b->frames[i].file) &&
                     same_list(a->frames[i].functions, b->frames[i].functions) &&
                     a->frames[i].parts == b->frames[i].parts);
        MT_CHECK(b->frames[i].file == NULL);
        for (i = 0; a->named_by[i].setting != NULL; i++, rows++)
            MT_CHECK(same(a->named_by[i].setting, b->named_by[i].setting) &&
                     same_list(a->named_by[i].is, b->named_by[i].is) &&
                     same(a->named_by[i].keys_below, b->named_by[i].keys_below));
        MT_CHECK(b->named_by[i].setting == NULL);
        for (i = 0; a->howto[i].what != NULL; i++, rows++)
            MT_CHECK(same(a->howto[i].what, b->howto[i].what) &&
                     same_list(a->howto[i].lines, b->howto[i].lines));
        MT_CHECK(b->howto[i].what == NULL);
    }
    MT_CHECK(rows > 100);
}

MT_TEST(settings_and_metrics_are_the_same)
{
    struct mt_err err = {.rc = MT_OK};
    struct mt_runconf *a = NULL, *b = NULL;
    const struct mt_metric_rules *x = mt_fix_rules_metrics(image.fixes),
                                 *y = mt_fix_rules_metrics(read_now.fixes);
    MT_ASSERT(mt_runconf_new(&a, image.frameworks, &err) == MT_OK);
    MT_ASSERT(mt_runconf_new(&b, read_now.frameworks, &err) == MT_OK);
    MT_CHECK_EQ(a->keys.n, b->keys.n);
    for (uint32_t i = 0; i < a->keys.n; i++) {
        const struct mt_runconf_key *k = &a->keys.p[i], *l = &b->keys.p[i];
        MT_CHECK(k->framework == l->framework && same(k->key, l->key) && same(k->part, l->part) &&
                 same(k->fallback, l->fallback) && k->of == l->of && same(k->source, l->source) &&
                 k->is_common == l->is_common);
    }
    MT_CHECK_EQ(a->settings.n, b->settings.n);
    for (uint32_t i = 0; i < a->settings.n; i++) {
        const struct mt_runconf_setting *s = &a->settings.p[i], *t = &b->settings.p[i];
        MT_CHECK(same(s->name, t->name) && same(s->words, t->words) && s->first == t->first &&
                 s->n == t->n && same_list(s->unlike, t->unlike) && s->is_quiet == t->is_quiet);
    }
    MT_CHECK_EQ(a->models.facts.n, b->models.facts.n);
    for (uint32_t i = 0; i < a->models.facts.n; i++)
        MT_CHECK(same(a->models.facts.p[i].key, b->models.facts.p[i].key) &&
                 same(a->models.facts.p[i].value, b->models.facts.p[i].value));
    MT_CHECK_EQ(mt_models_find(&a->models, "/ckpt/Qwen2.5-7B-sft"),
                mt_models_find(&b->models, "/ckpt/Qwen2.5-7B-sft"));
    MT_CHECK_EQ(mt_metric_rules_count(x), mt_metric_rules_count(y));
    for (uint32_t i = 0; i < mt_metric_rules_count(x); i++) {
        const struct mt_metric_row *m = mt_metric_row_at(x, i), *w = mt_metric_row_at(y, i);
        MT_CHECK(same(m->name, w->name) && same(m->says, w->says) && same(m->unit, w->unit) &&
                 same(m->one_of, w->one_of) && m->how == w->how && m->n_frames == w->n_frames &&
                 same_list(m->leaves_out, w->leaves_out) && (m->is == NULL) == (w->is == NULL));
        MT_CHECK(m->is == NULL || same(mt_expr_text(m->is), mt_expr_text(w->is)));
        for (uint32_t k = 0; k < m->n_frames; k++)
            MT_CHECK(same(m->frames[k].file, w->frames[k].file) &&
                     same(m->frames[k].function, w->frames[k].function) &&
                     same(m->frames[k].setting, w->frames[k].setting) &&
                     same(m->frames[k].is, w->frames[k].is) &&
                     same(m->frames[k].said, w->frames[k].said) &&
                     same(m->frames[k].tried, w->frames[k].tried));
    }
    mt_runconf_free(a);
    mt_runconf_free(b);
}

MT_TEST(it_is_one_block_and_goes_whole)
{
    struct mt_rules r;
    struct mt_err err = {.rc = MT_OK};
    uint64_t used = mt_mem_used(), calls = mt_mem_calls();
    MT_ASSERT(mt_load_rules(&r));
    MT_CHECK(mt_rule_image.n == 0 || mt_mem_calls() - calls == (r.block == NULL ? 0 : 1));
    mt_rules_done(&r);
    MT_CHECK_EQ(mt_mem_used(), used);
    if (mt_rule_image.n == 0)
        return;
    calls = mt_mem_calls();
    MT_ASSERT(mt_rule_image_copy(&r, &err) == MT_OK);
    MT_CHECK(mt_mem_calls() - calls == 1 && r.block != NULL);
    mt_rules_done(&r);
    MT_CHECK_EQ(mt_mem_used(), used);
    mt_mem_fail_after(1);
    MT_CHECK_EQ(mt_rule_image_copy(&r, &err), MT_ENOMEM);
    mt_mem_fail_after(0);
    MT_CHECK(r.fixes == NULL && r.image == NULL);
    MT_CHECK_EQ(mt_mem_used(), used);
}

/* Where the pages of the image cannot be moved: all of it, pointers that lead to the same. */
MT_TEST(a_copy_is_the_same)
{
    struct mt_rules r;
    struct mt_err err = {.rc = MT_OK};
    const uintptr_t *copy, *there = image.image;
    uint32_t next = 0, differ = 0;
    if (mt_rule_image.n == 0)
        return;
    MT_ASSERT(mt_rule_image_copy(&r, &err) == MT_OK);
    copy = r.image;
    for (uint32_t i = 0; i < mt_rule_image.n; i++) {
        bool is_pointer = next < mt_rule_image.n_own && mt_rule_image.own[next] == i;
        next += is_pointer;
        differ += is_pointer ? copy[i] - (uintptr_t)copy != there[i] - (uintptr_t)there ||
                                   copy[i] - (uintptr_t)copy >= mt_rule_image.n * sizeof *copy
                             : copy[i] != there[i];
    }
    MT_CHECK_EQ(next, mt_rule_image.n_own);
    MT_CHECK_EQ(differ, 0);
    mt_rules_done(&r);
}

MT_TEST(done)
{
    mt_rules_done(&image);
    mt_rules_done(&read_now);
}

MT_MAIN(MT_RUN(both_are_there) MT_RUN(fixes_are_the_same) MT_RUN(the_order_is_the_same)
            MT_RUN(phases_and_roles_are_the_same) MT_RUN(frameworks_are_the_same)
                MT_RUN(settings_and_metrics_are_the_same) MT_RUN(it_is_one_block_and_goes_whole)
                    MT_RUN(a_copy_is_the_same) MT_RUN(done))
