/* Roles in real snapshots: the self-check after every event, and numbers that follow from the
 * models. */
#include "load.h"
#include "mt_test.h"

#include <dirent.h>

struct real {
    struct mt_rules rules;
    struct mt_trace *t;
    struct mt_analysis *a;
    const struct mt_device_analysis *d;
    const struct mt_role_facts *f;
};

static bool look(struct real *r, const char *name)
{
    struct mt_err err = {.rc = MT_OK};
    struct mt_analyze_opts o = {.only_device = -1, .framework = -1, .verify = true};
    char path[1200];
    enum mt_rc rc;
    memset(r, 0, sizeof *r);
    snprintf(path, sizeof path, "%s/torch/%s", mt_shared_data(), name);
    r->t = mt_load(path, &rc);
    if (r->t == NULL || !mt_load_rules(&r->rules))
        return false;
    o.phases = r->rules.phases;
    o.fixes = r->rules.fixes;
    if (mt_analyze(&r->a, r->t, &o, &err) < 0 || r->a->devices.n == 0) {
        printf("# %s: %s\n", name, err.msg);
        return false;
    }
    r->d = &r->a->devices.p[0];
    r->f = &r->d->roles;
    return true;
}

static void leave(struct real *r)
{
    mt_analysis_free(r->a);
    mt_trace_free(r->t);
    mt_rules_done(&r->rules);
}

static uint64_t sum(const uint64_t *v, unsigned n)
{
    uint64_t s = 0;
    for (unsigned i = 0; i < n; i++)
        s += v[i];
    return s;
}

static void check_file(const char *name)
{
    struct real r;
    printf("# %s\n", name);
    MT_CHECK(look(&r, name));
    for (uint32_t i = 0; r.a != NULL && i < r.a->devices.n; i++) {
        const struct mt_device_analysis *d = &r.a->devices.p[i];
        MT_CHECK(d->withheld == NULL);
        MT_CHECK_EQ(d->roles.verified_events, d->n_events + 1);
        MT_CHECK_EQ(d->roles.first_bad_event, MT_NO_EVENT);
        MT_CHECK_EQ(sum(d->roles.at_focus, MT_ROLE_COUNT), d->focus.live);
        MT_CHECK_EQ(sum(d->roles.life_at_focus, MT_LIFE_COUNT), d->focus.live);
        MT_CHECK_EQ(sum(d->roles.why_at_focus, MT_WHY_COUNT), d->focus.live);
        MT_CHECK_EQ(sum(d->roles.unknown_reasons, MT_CONF_COUNT),
                    d->roles.at_focus[MT_ROLE_UNKNOWN]);
        /* A made-up file has frees that nobody asked for. */
        if (d->n_events == 0 || r.t->devices.p[i].n_by_action[MT_ACT_FREE_REQUESTED] != 0)
            MT_CHECK_EQ(sum(d->roles.pending_at_focus, MT_ROLE_COUNT), d->focus.pending);
        for (uint32_t k = 0; k < d->roles.occurrences.n; k++)
            MT_CHECK_EQ(sum(d->roles.occurrences.p[k].peak_roles, MT_ROLE_COUNT),
                        d->roles.occurrences.p[k].peak);
        MT_CHECK_EQ(d->roles.growth.n, 0); /* none of them leaks */
    }
    leave(&r);
}

MT_TEST(every_byte_of_every_file_has_one_role)
{
    struct dirent *e;
    char path[1200];
    int n = 0;
    DIR *dir;
    MT_REQUIRE_SHARED();
    snprintf(path, sizeof path, "%s/torch", mt_shared_data());
    MT_ASSERT((dir = opendir(path)) != NULL);
    while ((e = readdir(dir)) != NULL) {
        size_t len = strlen(e->d_name);
        if (len < 7 || strcmp(e->d_name + len - 7, ".pickle") != 0)
            continue;
        check_file(e->d_name);
        n++;
    }
    closedir(dir);
    MT_CHECK(n >= 13);
}

MT_TEST(verl_with_megatron_and_vllm)
{
    struct real r;
    MT_REQUIRE_SHARED();
    MT_ASSERT(look(&r, "verl_pr851_megatron_vllm_mempools_torch2.6.pickle"));
    MT_CHECK_EQ(r.d->focus.live, 25483614352);
    /* 24 layers, one block each; 85 % of what is live, bytes that wait to be freed included */
    MT_CHECK_EQ(r.f->at_focus[MT_ROLE_KV_CACHE], UINT64_C(24) * 907096064);
    MT_CHECK_EQ(r.f->at_focus[MT_ROLE_KV_CACHE] * 100 / r.d->focus.live, 85);
    MT_CHECK_EQ(sum(r.f->pending_at_focus, MT_ROLE_COUNT), 596836352);
    MT_CHECK_EQ(r.f->pools.n, 2);
    for (uint32_t i = 0; i < r.f->pools.n; i++)
        MT_CHECK_EQ(r.f->pools.p[i].role,
                    r.f->pools.p[i].pool[1] == 1 ? MT_ROLE_ENGINE_WEIGHTS : MT_ROLE_KV_CACHE);
    /* Two models: gradient buffers in fp32, parameter buffers in bf16, fp32 main parameters of half
     * of each (two ranks). */
    MT_CHECK_EQ(r.f->at_focus[MT_ROLE_GRAD] / 1000000,
                2 * r.f->at_focus[MT_ROLE_OPTIM_STATE] / 1000000);
    MT_CHECK_EQ(r.f->at_focus[MT_ROLE_WORKSPACE], 8519680);
    leave(&r);
}

/* A transformer of 24 layers, 1024 wide, feed-forward 4096 (three matrices), 10000 words, embedding
 * and head apart, in fp32. */
static void check_medium(const char *name, uint64_t tokens)
{
    const uint64_t n =
        2 * 10000 * 1024 + 24 * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024) + 1024;
    struct real r;
    MT_ASSERT(look(&r, name));
    MT_CHECK_EQ(r.f->at_focus[MT_ROLE_PARAM], 4 * n);
    /* both moments, made anew in the step */
    MT_CHECK_EQ(r.f->alloc_bytes[MT_ROLE_OPTIM_STATE], 2 * 4 * n);
    MT_ASSERT(r.f->occurrences.n == 1);
    MT_CHECK_EQ(r.f->occurrences.p[0].retained_roles[MT_ROLE_GRAD], 4 * n);
    MT_CHECK_EQ(r.f->occurrences.p[0].retained_roles[MT_ROLE_OPTIM_STATE], 2 * 4 * n);
    MT_CHECK_EQ(r.f->vocab, 10000);
    MT_CHECK_EQ(r.f->vocab_split, 1);
    MT_CHECK_EQ(r.f->logits_tokens, tokens);
    MT_CHECK_EQ(r.f->n_steps_all, 1);
    MT_CHECK_EQ(r.f->n_micros_all, 1);
    leave(&r);
}

MT_TEST(training_of_a_known_model)
{
    MT_REQUIRE_SHARED();
    check_medium("cs336_wedson_512_training.pickle", UINT64_C(4) * 512);
    check_medium("cs336_wedson_1024_training.pickle", UINT64_C(4) * 1024);
}

MT_TEST(logits_of_known_vocabularies)
{
    struct real r;
    MT_REQUIRE_SHARED();
    MT_ASSERT(look(&r, "cs336_bcrafton_user_metadata.pickle"));
    MT_CHECK_EQ(r.f->vocab, 50257);
    MT_CHECK_EQ(r.f->logits_tokens, 64);
    MT_CHECK_STR(r.f->steps_from, "annotations");
    leave(&r);
    /* the autograd thread has no frames */
    MT_ASSERT(look(&r, "cs336_magma_partial_frames.pickle"));
    MT_CHECK_EQ(r.f->vocab, 10000);
    MT_CHECK(r.f->at_focus[MT_ROLE_ACTIVATION] * 100 / r.d->focus.live >= 80);
    leave(&r);
}

MT_TEST(forward_only_has_no_gradients)
{
    struct real r;
    MT_REQUIRE_SHARED();
    MT_ASSERT(look(&r, "cs336_silmont_bf16_torch2.6.pickle"));
    MT_CHECK_EQ(r.f->alloc_bytes[MT_ROLE_GRAD], 0);
    MT_CHECK_EQ(r.f->alloc_bytes[MT_ROLE_OPTIM_STATE], 0);
    MT_CHECK_EQ(r.f->n_steps_all, 0);
    MT_CHECK(r.f->at_focus[MT_ROLE_ACTIVATION] < UINT64_C(16) << 20); /* torch.no_grad() */
    leave(&r);
}

/* The models' scripts say their shape: 12 layers of 768, 24 of 1024, a gated MLP of four times
 * that, 10,000 words. Norms and the embedding are not cast. */
MT_TEST(autocast_has_one_copy_of_each_matrix)
{
    static const struct {
        const char *file;
        uint64_t layers, hidden;
    } models[] = {{"cs336_silmont_bf16_torch2.6.pickle", 12, 768},
                  {"cs336_wedson_512_training.pickle", 24, 1024},
                  {"cs336_wedson_1024_training.pickle", 24, 1024}};
    struct real r;
    MT_REQUIRE_SHARED();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        uint64_t h = models[i].hidden;
        MT_ASSERT(look(&r, models[i].file));
        MT_CHECK_EQ(r.f->peak[MT_ROLE_PARAM_CAST],
                    2 * (models[i].layers * (4 * h * h + 3 * h * 4 * h) + 10000 * h));
        leave(&r);
    }
}

MT_MAIN(MT_RUN(every_byte_of_every_file_has_one_role) MT_RUN(verl_with_megatron_and_vllm)
            MT_RUN(training_of_a_known_model) MT_RUN(logits_of_known_vocabularies)
                MT_RUN(forward_only_has_no_gradients) MT_RUN(autocast_has_one_copy_of_each_matrix))
