/* What a text says of a lever: that it is on, was tried or is refused, and what it only wishes,
 * asks, switches off or hears from others. */
#include "mt_test.h"

#include "analysis/log/diagnose.h"

#include <string.h>

enum { BATCH = 1, HALF = 2, RECOMPUTE = 4 };

static struct mt_logs logs;

static void begin(const char *text)
{
    struct mt_log_file *f = MT_VEC_PUSH(&logs.files);
    struct mt_source *src = NULL;
    struct mt_err err;
    memset(f, 0, sizeof *f);
    MT_CHECK_EQ(mt_source_mem(&src, text, strlen(text)), MT_OK);
    MT_CHECK_EQ(mt_log_read(&f->log, src, NULL, NULL, &err), MT_OK);
    mt_source_free(src);
}

static void end(void)
{
    mt_log_done(&logs.files.p[0].log);
    MT_VEC_DONE(&logs.files);
}

/* Which of the levers the text says were tried. */
static int tried(const char *text)
{
    static const struct {
        const char *pattern;
        int lever;
    } of[] = {{"smaller*batch", BATCH},
              {"reduc*batch", BATCH},
              {"batch size is 1", BATCH},
              {"batch size 已经是 1", BATCH},
              {"bf16", HALF},
              {"fp16", HALF},
              {"mixed precision", HALF},
              {"gradient checkpoint", RECOMPUTE},
              {"梯度检查点", RECOMPUTE}};
    int is = 0;
    begin(text);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        is |= mt_logs_tried(&logs, of[i].pattern) ? of[i].lever : 0;
    end();
    return is;
}

static void check(const char *text, int levers)
{
    int is = tried(text);
    if (is != levers)
        printf("# %s\n", text);
    MT_CHECK_EQ(is, levers);
}

/* Wishes, advice of others, questions, what is off; words that hold others: "is only", "is 16". */
MT_TEST(not_tried)
{
    static const char *const texts[] = {
        "This is only a question about gradient checkpointing.",
        "Somebody told me to use gradient checkpointing.",
        "I want to use bf16.",
        "The docs say that gradient checkpointing is only for large models.",
        "My batch size is 16 and I could add gradient checkpointing.",
        "Is there a way to enable gradient checkpointing here",
        "You can enable gradient checkpointing in newer versions, they say.",
        "I use a batch of 512, and gradient checkpointing is new to me.",
        "I use a batch of 512 and wonder about gradient checkpointing.",
        "I set lr to 1e-4 and wonder about gradient checkpointing.",
        "I set the batch size to 4, gradient checkpointing is off.",
        "- mixed_precision: no",
        "- mixed_precision: 'no'",
        "- bf16: 0",
        "- gradient_checkpointing: null",
        "- disable gradient checkpointing: true",
        "I turned off gradient checkpointing because it still ran.",
        "I disabled gradient checkpointing, it is on by default here.",
        "Even with 80 GB it runs out of memory, so should gradient checkpointing be the answer",
        "We have already asked, and they recommend gradient checkpointing.",
        "I am already thinking of using bf16.",
        "I run with --no-gradient-checkpointing and it still runs out.",
        "My config: bf16 is false, gradient checkpointing is false.",
        "batch 已经是 4 了，梯度检查点还没开。",
        "我已经问过别人，他们建议用梯度检查点。",
        "现在还是爆显存，要不要开梯度检查点",
        "还是想用 bf16，但是不知道怎么开。",
        "依然显存不足，打算开启 bf16。",
        "我已经把 bf16 关了。",
        "> Just use gradient checkpointing and bf16.",
        "I need to use bf16 next, once I have the card.",
        "Gradient checkpointing would be the next thing, the batch size is 128.",
        "My GPU is on a shared node, and gradient checkpointing was turned off.",
        "The error says to reduce the batch size, my batch size is 32.",
        "I already know that a smaller batch would fit, I need this one.",
        "I never used bf16 and the loss is on the CPU.",
        "fp16 was disabled, even when training alone.",
        "Maybe bf16 helps, I only have fp32 weights now.",
        "gradient_checkpointing=False and bf16=False in my config: is that the reason",
        "I set per_device_train_batch_size to 8, gradient_checkpointing to False and fp16 to "
        "False.",
        "- gradient_checkpointing = False",
        "- **bf16**: `false`",
        "I tried everything except gradient checkpointing.",
        "I tried everything but bf16.",
        "We still run in fp32, not in bf16.",
        "With bf16 turned off it fails, as it did last week.",
        "没有用梯度检查点，已经爆显存了。",
        "我还没有试过梯度检查点。",
        "请问已经有人试过梯度检查点吗？",
        "梯度检查点是关着的，batch size 已经是 8。",
        "bf16 设为 false，依然爆。",
        "More GPUs are not available to me, gradient checkpointing is new to me.",
        "The reply in the other issue was: enable gradient checkpointing.",
        "I have not enabled bf16 yet.",
        "My GPU has no bf16, so what else is there.",
        "bf16 isn't set, and it still runs out.",
        "What happens if I use bf16, I asked already.",
        "In another thread someone had bf16 enabled and it worked for him.",
        "I'm not using gradient checkpointing; already tried a batch of 4.",
        "fp16=False, bf16=False, and still OOM.",
        "gradient_checkpointing: No",
        "| bf16 | no |",
        "| gradient checkpointing | off |",
        "* Mixed precision type: no",
        "- `mixed_precision`: no",
        "Mixed precision type: no",
        "- Mixed precision: fp32",
        "bf16 前面没有启用，仍然显存不足。",
        "还没来得及试梯度检查点，已经放弃了。",
        "别人说开了梯度检查点就行。",
        "I lowered the learning rate, then I enabled logging; gradient checkpointing is something "
        "I do not know.",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(texts[i], 0);
}

MT_TEST(was_tried)
{
    static const struct {
        int levers;
        const char *text;
    } rows[] = {
        {RECOMPUTE, "I use gradient checkpointing."},
        {RECOMPUTE, "Gradient checkpointing is on."},
        {RECOMPUTE, "Gradient checkpointing is already on and the batch is 4."},
        {HALF, "- mixed_precision: bf16"},
        {RECOMPUTE, "I tried gradient checkpointing as somebody suggested, it did not help."},
        {RECOMPUTE, "People suggested gradient checkpointing, which I tried."},
        {HALF | RECOMPUTE, "I enabled bf16, and gradient checkpointing, it is still OOM."},
        {BATCH, "My batch size is 1."},
        {BATCH, "batch size 已经是 1 了。"},
        {RECOMPUTE, "梯度检查点已经打开了，还是爆显存。"},
        {HALF | RECOMPUTE, "bf16 和梯度检查点都开了。"},
        {RECOMPUTE, "With gradient checkpointing it still fails."},
        {HALF, "We train in bf16 already."},
        {HALF | RECOMPUTE,
         "I want to train this model. I have enabled bf16 and gradient checkpointing."},
        {RECOMPUTE, "I have already tried to use gradient checkpointing."},
        {RECOMPUTE, "I turned gradient checkpointing on."},
        {BATCH | HALF | RECOMPUTE, "Already tried: smaller batch, bf16, gradient checkpointing."},
        {RECOMPUTE, "I wanted to save memory so I turned on gradient checkpointing."},
        {RECOMPUTE, "I set gradient_checkpointing=True and it should fit."},
        {HALF, "Even when I use bf16, it fails."},
        {RECOMPUTE, "- use gradient checkpointing"},
        {HALF, "bf16: true and it is still OOM."},
        {HALF, "I have bf16 on."},
        {RECOMPUTE, "Gradient checkpointing isn't enough."},
        {RECOMPUTE, "Gradient checkpointing is not enough, I think."},
        {RECOMPUTE, "梯度检查点没用，还是爆。"},
        {BATCH, "I have lowered everything, my batch size is 1, and it is still OOM."},
        {BATCH, "I reduced the batch to 1."},
        {HALF | RECOMPUTE, "Both bf16 and gradient checkpointing are on."},
        {RECOMPUTE, "We are using gradient checkpointing, but the memory still grows."},
        {RECOMPUTE, "Already using gradient checkpointing."},
        {HALF, "Training in mixed precision (bf16), as you would do, did not help either."},
        {RECOMPUTE, "ValueError: this model does not support gradient checkpointing"},
        {RECOMPUTE, "I have to use gradient checkpointing, else it fails at the first step."},
        {HALF, "> I already use bf16 here."},
        {HALF, "| bf16 | yes |"},
        {HALF, "* Mixed precision type: bf16"},
        {RECOMPUTE, "gradient_checkpointing: true, and it is still OOM"},
        {RECOMPUTE, "We enabled gradient checkpointing as you said, no change."},
        {RECOMPUTE, "Yes, gradient checkpointing is enabled."},
        {HALF | RECOMPUTE, "Settings: bf16, gradient checkpointing, batch 2"},
        {RECOMPUTE, "I know about gradient checkpointing and have enabled it."},
        {RECOMPUTE,
         "I also use gradient_checkpointing_enable() in the script, without any difference."},
        {HALF, "bf16 and no fp32 anywhere, it is on."},
        {RECOMPUTE, "When I enable gradient checkpointing it gets slower but still runs out."},
        {RECOMPUTE, "如果不开梯度检查点就爆，开了梯度检查点还是爆。"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(rows[i].text, rows[i].levers);
}

/* Parts apart, the first of them nowhere, a hole at an end, a number that is part of another. */
MT_TEST(patterns)
{
    begin("I tried a small thing, then a smaller one of the batch, and a rank of 16.");
    MT_CHECK(mt_logs_tried(&logs, "small*batch"));
    MT_CHECK(mt_logs_tried(&logs, "small*one*batch"));
    MT_CHECK(mt_logs_tried(&logs, "*batch"));
    MT_CHECK(mt_logs_tried(&logs, "small*"));
    MT_CHECK(mt_logs_tried(&logs, "rank*16"));
    MT_CHECK(!mt_logs_tried(&logs, "batch*small"));
    MT_CHECK(!mt_logs_tried(&logs, "small*batch*one"));
    MT_CHECK(!mt_logs_tried(&logs, "mall*batch"));
    MT_CHECK(!mt_logs_tried(&logs, "rank*1"));
    MT_CHECK(!mt_logs_tried(&logs, "*nothing"));
    end();
}

MT_MAIN(MT_RUN(patterns) MT_RUN(not_tried) MT_RUN(was_tried))
