/* Keys that are nearly those of the run's framework. */
#include "analysis/run/read_log.h"
#include "analysis/setup/near.h"
#include "parser/base/mem.h"
#include "parser/base/text.h"
#include "mt_test.h"
#include "frameworks.h"

static struct mt_err err;

/* What is said of the first entry; "" = nothing. */
static const char *near(const char *args)
{
    static char said[600];
    struct mt_runconf *rc = NULL;
    const struct mt_runconf_key *k;
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_runconf_new(&rc, mt_test_frameworks(), &err), MT_OK);
    MT_CHECK_EQ(mt_conf_args(&rc->conf, args, strlen(args), "--args", false, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_ARGS, &err), MT_OK);
    k = mt_runconf_near(rc, 0);
    snprintf(said, sizeof said, "%s", k != NULL ? k->key : "");
    mt_runconf_free(rc);
    return said;
}

#define AR "actor_rollout_ref."
#define VERL " " AR "actor.strategy=fsdp " AR "actor.ppo_mini_batch_size=64"
#define SLIME " --update-weight-buffer-size 1 --rollout-max-response-len 9 --use-kl-loss"

MT_TEST(misspelt)
{
    MT_CHECK_STR(near(AR "rollout.gpu_memory_utilisation=0.5" VERL),
                 AR "rollout.gpu_memory_utilization");
    MT_CHECK_STR(near(AR "rollout.gpu_memory_utlization=0.5" VERL),
                 AR "rollout.gpu_memory_utilization");
    MT_CHECK_STR(near(AR "rolluot.gpu_memory_utilization=0.5" VERL), ""); /* a short component */
    MT_CHECK_STR(near("actor_rolout_ref.actor.use_dynamic_bsz=True" VERL),
                 AR "actor.use_dynamic_bsz");
    MT_CHECK_STR(near("--max-token-per-gpu 1" SLIME), "--max-tokens-per-gpu");
    MT_CHECK_STR(near("--max_token_per_gpu 1" SLIME), "--max-tokens-per-gpu");
}

MT_TEST(at_the_top)
{
    MT_CHECK_STR(near("ppo_mini_batch_size=64 " AR "actor.strategy=fsdp " AR
                      "actor.ppo_max_token_len_per_gpu=1"),
                 AR "actor.ppo_mini_batch_size");
    /* the right one is set as well; two could be meant; a part of a path; another program's */
    MT_CHECK_STR(near("ppo_mini_batch_size=64" VERL), "");
    MT_CHECK_STR(near("log_prob_micro_batch_size_per_gpu=2" VERL), "");
    MT_CHECK_STR(near("actor.use_dynamic_bsz=True" VERL), "");
    MT_CHECK_STR(near("gpu_memory_utilization=0.5" VERL), "");
    MT_CHECK_STR(near("tp_size=2" VERL), "");
}

MT_TEST(nothing_wrong)
{
    MT_CHECK_STR(near(AR "rollout.gpu_memory_utilization=0.5" VERL), "");
    MT_CHECK_STR(near("+" AR "rollout.gpu_memory_utilization=0.5" VERL), "");
    MT_CHECK_STR(near("actor_rollout_ref.rollout.top_p=0.5" VERL), "");
    MT_CHECK_STR(near("gconfig.min_new_tokens=1 actor.mb_spec.max_tokens_per_mb=1 "
                      "actor.gradient_checkpointing=true"),
                 "");
    MT_CHECK_STR(near("trainer.node=1" VERL), "");
    MT_CHECK_STR(near("--max-tokens-per 1" SLIME), ""); /* argparse takes the beginning of a flag */
    MT_CHECK_STR(near("max_tokens_per_gpu=1" SLIME), "");
    MT_CHECK_STR(near("MAX_TOKENS_PER_GPU=1" SLIME), "");
    MT_CHECK_STR(near(AR "rollout.gpu_memory_utilisation=0.5"), ""); /* whose run is it? */
    MT_CHECK_STR(near("~" AR "rollout.gpu_memory_utilisation" VERL), "");
}

MT_TEST(edits)
{
    MT_CHECK_EQ(mt_edits("", "", 2), 0);
    MT_CHECK_EQ(mt_edits("abc", "abc", 0), 0);
    MT_CHECK_EQ(mt_edits("abc", "abd", 0), 1);
    MT_CHECK_EQ(mt_edits("abc", "acb", 2), 1);
    MT_CHECK_EQ(mt_edits("abc", "ab", 2), 1);
    MT_CHECK_EQ(mt_edits("", "ab", 2), 2);
    MT_CHECK_EQ(mt_edits("", "abc", 2), 3);
    MT_CHECK_EQ(mt_edits("kitten", "sitting", 3), 3);
    MT_CHECK_EQ(mt_edits("kitten", "sitting", 2), 3);
    MT_CHECK_EQ(mt_edits("abcdefgh", "hgfedcba", 3), 4);
}

/* Memory ends while settings are added: the run may go on with what else there is, and what looks
 * at the entries finds each with where it is from. */
MT_TEST(no_memory)
{
    char args[] = AR "rollout.gpu_memory_utilisation=0.5 --a 1 --b=2 C=3 d.e=[4,5]" VERL;
    struct mt_log_settings one = {.text = args, .n = sizeof args - 1, .line = 7};
    struct mt_log_file log = {.name = args};
    enum mt_rc r = MT_ENOMEM;
    uint64_t n = 0;
    bool some = false;
    log.log.settings.p = &one;
    log.log.settings.n = 1;
    while (r == MT_ENOMEM && n < 2000) {
        struct mt_runconf *rc = NULL;
        MT_CHECK_EQ(mt_runconf_new(&rc, mt_test_frameworks(), &err), MT_OK);
        mt_mem_fail_after(++n);
        r = mt_logs_settings(&log, rc, &err);
        mt_mem_fail_after(0);
        MT_CHECK_EQ(rc->from.n, rc->conf.entries.n);
        some = some || (r == MT_ENOMEM && rc->from.n > 0);
        for (uint32_t i = 0; i < rc->conf.entries.n; i++)
            (void)mt_runconf_near(rc, i);
        mt_runconf_free(rc);
    }
    MT_CHECK_EQ(r, MT_OK);
    MT_CHECK(n > 10 && some);
}

MT_MAIN(MT_RUN(misspelt) MT_RUN(at_the_top) MT_RUN(nothing_wrong) MT_RUN(no_memory) MT_RUN(edits))
