/* States as torch.optim, bitsandbytes/optim/optimizer.py (blocks of 256 with a 32-bit maximum each)
 * and torchao/optim make them. */
#include "analysis/setup/optimizer.h"
#include "analysis/setup/keys.h"
#include "parser/base/text.h"

#include <string.h>

#define TWO_8BIT (2 * (1 + 4.0 / 256))
#define ONE_8BIT (1 + 4.0 / 256)
#define TWO_4BIT (2 * (0.5 + 4.0 / 128))

/* Matched in this order against the name of a setting in lower case. */
static const struct {
    const char *part;
    struct mt_optim o;
} by_name[] = {
    {"paged",
     {.name = "a paged optimizer",
      .managed = true,
      .words = "none: its states are in CUDA managed memory, outside PyTorch's pools"}},
    {"adam_bf16",
     {.name = "Adam in bf16", .why = "the layout of this optimizer's state is not computed"}},
    {"lion_8bit",
     {.name = "8-bit Lion",
      .bytes = ONE_8BIT,
      .words = "one moment in 8 bits with a 32-bit scale for each 256"}},
    {"lion8bit",
     {.name = "8-bit Lion",
      .bytes = ONE_8BIT,
      .words = "one moment in 8 bits with a 32-bit scale for each 256"}},
    {"lion",
     {.name = "Lion",
      .tensors = 1,
      .hidden = 1,
      .words = "one moment in the type of the parameters"}},
    {"sgd8bit",
     {.name = "8-bit SGD",
      .bytes = ONE_8BIT,
      .words = "momentum in 8 bits with a 32-bit scale for each 256"}},
    {"adafactor",
     {.name = "Adafactor", .factored = true, .words = "a row and a column of each matrix"}},
    {"muon",
     {.name = "Muon",
      .tensors = 2,
      .hidden = 1,
      .at_most = true,
      .words = "momentum for the matrices of the layers, two moments (AdamW) for the rest"}},
    {"sgd",
     {.name = "SGD",
      .tensors = 1,
      .hidden = 1,
      .at_most = true,
      .words = "one tensor, where it has momentum"}},
    {"adagrad",
     {.name = "Adagrad",
      .tensors = 1,
      .hidden = 1,
      .words = "one sum in the type of the parameters"}},
    {"rmsprop",
     {.name = "RMSprop",
      .tensors = 3,
      .hidden = 3,
      .at_most = true,
      .words = "mean square, and with the options momentum and centered one more each"}},
    {"adamw4bit",
     {.name = "4-bit Adam",
      .bytes = TWO_4BIT,
      .words = "two moments in 4 bits with a 32-bit scale for each 128"}},
    {"4bit",
     {.name = "4-bit Adam",
      .bytes = TWO_4BIT,
      .words = "two moments in 4 bits with a 32-bit scale for each 128"}},
    {"adamwfp8",
     {.name = "Adam in fp8",
      .bytes = TWO_8BIT,
      .words = "two moments in 8 bits with a 32-bit scale for each 256"}},
    {"8bit",
     {.name = "8-bit Adam",
      .bytes = TWO_8BIT,
      .words = "two moments in 8 bits with a 32-bit scale for each 256"}},
    {"adam",
     {.name = "Adam",
      .tensors = 2,
      .hidden = 2,
      .words = "two moments in the type of the parameters"}},
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

static bool take(struct mt_optim *o, const char *value)
{
    char low[64];
    size_t n = 0;
    for (; value[n] != '\0' && n + 1 < sizeof low; n++)
        low[n] = mt_lower(value[n]);
    low[n] = '\0';
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (strstr(low, by_name[i].part) != NULL) {
            *o = by_name[i].o;
            return true;
        }
    return false;
}

/* The file of an optimizer among the frames; two different ones tell nothing. bits: frames of a
 * library whose states may have 8 bits. */
static const char *of_frames(const struct mt_trace *t, bool *bits)
{
    static const struct {
        const char *file, *name;
    } files[] = {{"torch/optim/adam.py", "adam"},
                 {"torch/optim/adamw.py", "adam"},
                 {"torch/optim/sgd.py", "sgd"},
                 {"torch/optim/adagrad.py", "adagrad"},
                 {"torch/optim/rmsprop.py", "rmsprop"},
                 {"torch/optim/_adafactor.py", "adafactor"},
                 {"torch/optim/adafactor.py", "adafactor"},
                 {"torch/optim/_muon.py", "muon"},
                 {"lion_pytorch/lion_pytorch.py", "lion"},
                 {"fused_adam.py", "adam"}, /* apex, Transformer Engine, DeepSpeed */
                 {"fused_lion.py", "lion"},
                 {"megatron/core/optimizer/muon.py", "muon"}};
    const char *found = NULL;
    bool mixed = false;
    for (uint32_t i = 0; i < t->functions.n; i++) {
        const char *file = mt_str(t, t->functions.p[i].file);
        *bits = *bits || strstr(file, "bitsandbytes/optim") != NULL ||
                strstr(file, "torchao/optim") != NULL ||
                strstr(file, "torchao/prototype/low_bit_optim") != NULL;
        for (size_t k = 0; k < sizeof files / sizeof *files; k++)
            if (ends_with(file, files[k].file)) {
                mixed = mixed || (found != NULL && strcmp(found, files[k].name) != 0 &&
                                  strcmp(found, "muon") != 0);
                found = found != NULL && strcmp(found, "muon") == 0 ? found : files[k].name;
            }
    }
    /* Muon leaves embedding and head to Adam: that pair is its own */
    return mixed && !(found != NULL && strcmp(found, "muon") == 0) ? "" : found;
}

static const char *setting(const struct mt_runconf *conf)
{
    const char *v = mt_run_word(conf, "optimizer");
    return v != NULL ? v : mt_run_word(conf, "optimizer_name");
}

void mt_optim_make(struct mt_optim *o, const struct mt_trace *t, const struct mt_frameworks *fw,
                   const struct mt_runconf *conf)
{
    bool bits = false, known;
    const char *frames = of_frames(t, &bits), *set = setting(conf);
    struct mt_runconf_hit momentum;
    memset(o, 0, sizeof *o);
    known = set != NULL && take(o, set);
    if (known && bits && o->tensors > 0 &&
        frames == NULL) /* "adam" of a library that has it in 8 bits as well */
        known = false;
    else if (!known && frames != NULL && frames[0] != '\0' && !bits)
        known = take(o, frames);
    if (!known) {
        memset(o, 0, sizeof *o);
        o->why = bits ? "how many bits this optimizer's state has is not among the settings"
                 : frames != NULL
                     ? "frames of several optimizers occur, and which one trains is not known"
                 : set != NULL ? "the layout of this optimizer's state is not computed"
                               : "neither settings nor frames name the optimizer";
        return;
    }
    o->setting = set;
    if (o->bytes > 0 && o->why == NULL &&
        (mt_framework_at(fw->rules, fw->main)->traits & MT_FWT_KEEPS_32BIT) != 0)
        o->kept32 = o->bytes < 1.5 ? 4 : 8;
    if (strcmp(o->name, "SGD") == 0 && conf != NULL &&
        mt_runconf_find(conf, "momentum", &momentum) && momentum.value != NULL) {
        o->tensors = o->hidden = mt_run_number(conf, "momentum") > 0;
        o->at_most = false;
    }
    if (o->tensors >= 2 && strcmp(o->name, "Adam") == 0 && conf != NULL &&
        mt_runconf_find(conf, "amsgrad", &momentum) && mt_runconf_is_true(momentum.value)) {
        o->tensors = o->hidden = 3;
        o->words = "two moments and the highest second one (amsgrad) in the type of the parameters";
    }
}
