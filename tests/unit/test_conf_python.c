/* Settings in a Python script: what is read of it, what is not, and that nothing is an error. */
#include "analysis/setup/keys.h"
#include "mt_test.h"
#include "frameworks.h"

static struct mt_config c;

static enum mt_rc read_py(const char *text)
{
    struct mt_err err = {.rc = MT_OK};
    mt_conf_done(&c);
    return mt_conf_file(&c, text, strlen(text), "job/run.py", &err);
}

/* The last value of the key; "(none)", "(not known)". */
static const char *value(const char *key)
{
    for (uint32_t i = c.entries.n; i-- > 0;)
        if (strcmp(c.entries.p[i].key, key) == 0)
            return c.entries.p[i].is_variable ? "(not known)" : c.entries.p[i].value;
    return "(none)";
}

MT_TEST(arguments)
{
    MT_CHECK_EQ(read_py("ROWS = 2048\n"
                        "args = DPOConfig(\n"
                        "    per_device_train_batch_size=4, # a comment, with (x=1\n"
                        "    max_length = ROWS,\n"
                        "    output_dir=f\"out/{ROWS}\",\n"
                        "    optim='adamw_torch', bf16=True, learning_rate=2e-5,\n"
                        "    beta=0.1 if x else 0.2,\n"
                        "    seed=None, warmup_steps=2_000,\n"
                        "    peft_config=LoraConfig(r=16, target_modules=[\"q\", \"v\"]),\n"
                        "    gradient_checkpointing=False)\n"
                        "plot(figure_size=3)\n"
                        "m = AutoModel.from_pretrained(\"x\", load_in_4bit=True)\n"),
                MT_OK);
    MT_CHECK_STR(value("per_device_train_batch_size"), "4");
    MT_CHECK_STR(value("max_length"), "2048");
    MT_CHECK_STR(value("output_dir"), "(not known)");
    MT_CHECK_STR(value("optim"), "adamw_torch");
    MT_CHECK_STR(value("bf16"), "True");
    MT_CHECK_STR(value("learning_rate"), "2e-5");
    MT_CHECK_STR(value("beta"), "(not known)");
    MT_CHECK_STR(value("seed"), "(none)");
    MT_CHECK_STR(value("warmup_steps"), "(not known)");
    MT_CHECK_STR(value("r"), "16");
    MT_CHECK_STR(value("gradient_checkpointing"), "False");
    MT_CHECK_STR(value("load_in_4bit"), "True");
    MT_CHECK_STR(value("figure_size"), "(none)");
    MT_CHECK_STR(value("ROWS"), "2048");
    MT_CHECK_EQ(c.entries.p[c.entries.n - 1].line, 12u);
}

MT_TEST(names)
{
    /* set again to what is not known; set in a function; compared, not set */
    MT_CHECK_EQ(read_py("n = 8\n"
                        "n = compute()\n"
                        "def f():\n"
                        "    k = 3\n"
                        "    return Loader(batch_size=k, workers=n)\n"
                        "if n == 4: pass\n"
                        "'''text\n"
                        "m = 5\n"
                        "'''\n"
                        "x[1] = 2\n"
                        "label = \"text\"\n"),
                MT_OK);
    MT_CHECK_STR(value("batch_size"), "3");
    MT_CHECK_STR(value("workers"), "(not known)");
    MT_CHECK_STR(value("k"), "(none)");
    MT_CHECK_STR(value("m"), "(none)");
    MT_CHECK_STR(value("label"), "(none)");
    MT_CHECK_STR(value("n"), "8");
}

/* The last entry of the key is a default of the script. */
static bool is_default(const char *key)
{
    for (uint32_t i = c.entries.n; i-- > 0;)
        if (strcmp(c.entries.p[i].key, key) == 0)
            return c.entries.p[i].is_default;
    return false;
}

MT_TEST(options_and_fields)
{
    MT_CHECK_EQ(
        read_py("@dataclass\n"
                "class Job:\n"
                "    rows: int = 64\n"
                "    crop_size: Optional[int] = field(default=512, metadata={'default': 9})\n"
                "    name: str = 'gpt'\n"
                "    other: int = compute(default=7)\n"
                "def f(x, scale: int = 3):\n"
                "    if x: y = 3\n"
                "    else: z = 4\n"
                "    return DataLoader(d, batch_size=args.batch_size, num_workers=args.w)\n"
                "p.add_argument('-b', '--batch-size', type=int, default=32, help='default=5')\n"
                "p.add_argument('--seq', help='--sequence-length, or -1', default=96)\n"
                "p.add_argument('--lr', default=LR)\n"
                "p.add_argument('--net', default='resnet50')\n"
                "p.add_argument('data', default=11)\n"
                "@click.option(\"--steps\", default=100)\n"),
        MT_OK);
    MT_CHECK_STR(value("rows"), "64");
    MT_CHECK_STR(value("crop_size"), "512");
    MT_CHECK_STR(value("name"), "(none)");
    MT_CHECK_STR(value("other"), "(none)");
    MT_CHECK_STR(value("scale"), "(none)");
    MT_CHECK_STR(value("y"), "(none)");
    MT_CHECK_STR(value("z"), "(none)");
    MT_CHECK_STR(value("batch-size"), "32");
    MT_CHECK_STR(value("batch_size"), "(none)"); /* whoever sets the option sets it */
    MT_CHECK_STR(value("num_workers"), "(not known)");
    MT_CHECK_STR(value("lr"), "(none)");
    MT_CHECK_STR(value("net"), "(none)");
    MT_CHECK_STR(value("seq"), "96");
    MT_CHECK_STR(value("sequence-length"), "(none)");
    MT_CHECK_STR(value("default"), "(none)");
    MT_CHECK_STR(value("steps"), "100");
    MT_CHECK(is_default("batch-size") && is_default("rows") && is_default("crop_size") &&
             is_default("steps") && !is_default("num_workers"));
}

MT_TEST(calls_that_run)
{
    MT_CHECK_EQ(read_py("out = model.generate(ids, max_new_tokens=2048, do_sample=True, mode='x',\n"
                        "                     num_return_sequences=N)\n"
                        "plt.plot(x, height=400)\n"
                        "pipe.enable_model_cpu_offload()\n"
                        "enable_logging()\n"
                        "model.gradient_checkpointing_enable()\n"
                        "pipe.disable_safety_checker()\n"),
                MT_OK);
    MT_CHECK_STR(value("max_new_tokens"), "2048");
    MT_CHECK_STR(value("do_sample"), "True");
    MT_CHECK_STR(value("mode"), "(none)");
    MT_CHECK_STR(value("num_return_sequences"), "(none)");
    MT_CHECK_STR(value("height"), "(none)");
    MT_CHECK_STR(value("enable_model_cpu_offload"), "True");
    MT_CHECK_STR(value("enable_logging"), "(none)");
    MT_CHECK_STR(value("gradient_checkpointing_enable"), "True");
    MT_CHECK(!is_default("max_new_tokens"));
}

MT_TEST(parameters_of_a_function)
{
    MT_CHECK_EQ(read_py("def generate(model, beams: int = 8, *, batch_size=4,\n"
                        "             max_new_tokens=512):\n"
                        "    pass\n"
                        "def plot(height=400): pass\n"
                        "generate(m, batch_size=2)\n"),
                MT_OK);
    MT_CHECK(is_default("max_new_tokens"));
    MT_CHECK_STR(value("max_new_tokens"), "512");
    MT_CHECK_STR(value("int"), "(none)");
    MT_CHECK_STR(value("height"), "(none)");
    MT_CHECK(!is_default("batch_size")); /* the last: what the call gives */
}

MT_TEST(line_of_a_traceback)
{
    static const char code[] =
        "images = render(scene, rays=4096, depth=None, tile=n, show=False).rgb";
    struct mt_err err = {.rc = MT_OK};
    mt_conf_done(&c);
    MT_CHECK_EQ(mt_conf_code(&c, code, sizeof code - 1, "job.log", 12, &err), MT_OK);
    MT_CHECK_STR(value("rays"), "4096");
    MT_CHECK_STR(value("show"), "False");
    MT_CHECK_STR(value("depth"), "(none)");
    MT_CHECK_STR(value("tile"), "(none)");
    MT_CHECK_STR(value("images"), "(none)");
    MT_CHECK_EQ(c.entries.p[0].line, 12u);
}

MT_TEST(environment)
{
    MT_CHECK_EQ(read_py("import os\n"
                        "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = 'max_split_size_mb:64'\n"
                        "os.environ['A'] == 'b'\n"
                        "os.environ['PORT'] = str(3)\n"),
                MT_OK);
    MT_CHECK_STR(value("PYTORCH_CUDA_ALLOC_CONF.max_split_size_mb"), "64");
    MT_CHECK_EQ(c.entries.p[0].form, (unsigned)MT_CONF_ENV);
    MT_CHECK_STR(value("A"), "(none)");
    MT_CHECK_STR(value("PORT"), "(not known)");
}

static int program_of(const char *text)
{
    struct mt_err err = {.rc = MT_OK};
    struct mt_runconf *rc;
    int f;
    MT_CHECK_EQ(mt_runconf_new(&rc, mt_test_frameworks(), &err), MT_OK);
    MT_CHECK_EQ(mt_conf_file(&rc->conf, text, strlen(text), "x.py", &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_CONFIG, &err), MT_OK);
    f = rc->framework;
    mt_runconf_free(rc);
    return f;
}

MT_TEST(imports)
{
    MT_CHECK_EQ(read_py("from a.b import (\n    One, two,\n    Three as T)\nfrom . import Four\n"),
                MT_OK);
    MT_CHECK_EQ(c.started.n, 2u);
    MT_CHECK_STR(c.started.p[0], "a.b.One");
    MT_CHECK_STR(c.started.p[1], "a.b.Three");
    MT_CHECK_EQ(program_of("from vllm import LLM, SamplingParams\nllm = LLM(model='m')\n"),
                (int)FW(vllm));
    MT_CHECK_EQ(program_of("from transformers import AutoModel, Trainer, TrainingArguments\n"),
                (int)FW(transformers));
    MT_CHECK_EQ(program_of("from transformers import AutoTokenizer\nfrom trl import RLOOTrainer\n"),
                (int)FW(trl));
}

/* A dict that a script hands to a program: its keys are paths, also of what it holds. */
MT_TEST(dicts_of_settings)
{
    MT_CHECK_EQ(
        read_py("group = 8\nrows = 2\n"
                "ds_config = {\n"
                "    \"train_micro_batch_size_per_gpu\": rows*group, # of one card\n"
                "    'bf16': {'enabled': True},\n"
                "    \"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 2e8,\n"
                "        \"offload_optimizer\": {\"device\": \"cpu\"}},\n"
                "    \"steps_per_print\": every(5),\n"
                "}\n"
                "words = {\"stage\": 9, \"x\": {\"bf16\": 1}}\n"
                "a = TrainingArguments(zero_config={\"zero_allow\": {\"one\": 1}}, bf16=True)\n"
                "b = Call(rate=8/2, more=group + 1)\n"),
        MT_OK);
    MT_CHECK_STR(value("train_micro_batch_size_per_gpu"), "16");
    MT_CHECK_STR(value("bf16.enabled"), "True");
    MT_CHECK_STR(value("zero_optimization.stage"), "2");
    MT_CHECK_STR(value("zero_optimization.reduce_bucket_size"), "2e8");
    MT_CHECK_STR(value("zero_optimization.offload_optimizer.device"), "cpu");
    MT_CHECK_STR(value("steps_per_print"), "(none)");
    MT_CHECK_STR(value("stage"), "(none)");
    MT_CHECK_STR(value("x.bf16"), "(none)");
    MT_CHECK_STR(value("zero_allow.one"), "1");
    MT_CHECK_STR(value("bf16"), "True");
    MT_CHECK_STR(value("rate"), "(not known)");
    MT_CHECK_STR(value("more"), "9");
}

/* What a script's own variables are called, many a program has an option of. */
MT_TEST(variables_tell_no_program)
{
    MT_CHECK_EQ(program_of("max_prompt_length = 400\nnum_generations = 8\nbeta = 0.04\n"), -1);
    MT_CHECK_EQ(program_of("args = C(max_prompt_length=400, max_completion_length=9)\n"),
                (int)FW(trl));
}

/* Of two that are started the one that drives the other runs the job. */
MT_TEST(what_drives_the_other)
{
    static const char trains[] = "from trl import GRPOConfig, GRPOTrainer\n"
                                 "m, t = FastModel.from_pretrained('m', max_seq_length=2048)\n"
                                 "a = GRPOConfig(max_completion_length=1024)\n";
    MT_CHECK_EQ(program_of(trains), (int)FW(unsloth));
    MT_CHECK_EQ(program_of("from unsloth import FastVisionModel\nfrom trl import SFTTrainer\n"),
                (int)FW(unsloth));
}

/* Any end and any byte of it: never an error, never read beyond. */
MT_TEST(hostile)
{
    static const char text[] = "from a import B\nx = '''y\nz = C(d=\"e\\\"f\", g=[1,(2)], h=-3)\n"
                               "os.environ[\"K\"]='v'\n))]}\nq=r'\\'\n"
                               "a_config={'b':{'c':d*2,'e':{}},\"f\":{'g':'h'}}\n";
    char part[sizeof text];
    uint64_t held;
    mt_conf_done(&c);
    held = mt_mem_used();
    for (size_t n = 0; n < sizeof text; n++) {
        for (int change = 0; change < 4; change++) {
            memcpy(part, text, n);
            part[n] = '\0';
            if (change != 0 && n != 0)
                part[(n * 7) % n] = "('\"="[change];
            MT_CHECK_EQ(read_py(part), MT_OK);
        }
    }
    mt_conf_done(&c);
    MT_CHECK_EQ(mt_mem_used(), held);
}

MT_MAIN(MT_RUN(arguments) MT_RUN(names) MT_RUN(options_and_fields) MT_RUN(calls_that_run)
            MT_RUN(parameters_of_a_function) MT_RUN(line_of_a_traceback) MT_RUN(environment)
                MT_RUN(imports) MT_RUN(dicts_of_settings) MT_RUN(variables_tell_no_program)
                    MT_RUN(what_drives_the_other) MT_RUN(hostile))
