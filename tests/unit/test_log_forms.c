/* Lines of logs in the forms in which they get into tickets: cut, boxed, typed, only named, tried again. */
#include "mt_test.h"
#include "parser/log.h"

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)
#define BAR "\xe2\x94\x82"

static struct mt_log l;

static void read_text(const char *text)
{
    struct mt_source *src = NULL;
    struct mt_err err;
    memset(&err, 0, sizeof err);
    memset(&l, 0, sizeof l);
    MT_CHECK_EQ(mt_source_mem(&src, text, strlen(text)), MT_OK);
    MT_CHECK_EQ(mt_log_read(&l, src, &err), MT_OK);
    mt_source_free(src);
}

static const struct mt_log_fact *fact(uint32_t i)
{
    static const struct mt_log_fact none = {.kind = MT_LOG_KIND_COUNT};
    MT_CHECK(i < l.facts.n);
    return i < l.facts.n ? &l.facts.p[i] : &none;
}

/* Functions of the traceback of the last fact, outermost first. */
static void check_stack(const char *want)
{
    char got[512] = "";
    uint32_t id = l.facts.n != 0 ? fact(l.facts.n - 1)->stack : 0;
    MT_CHECK(id != 0);
    for (uint32_t i = 0; id != 0 && i < l.stacks.p[id - 1].frames.n; i++) {
        const struct mt_log_frame *f = &l.stacks.p[id - 1].frames.p[i];
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s:%u", i != 0 ? " " : "", f->function, f->line);
    }
    MT_CHECK_STR(got, want);
}

#define OOM                                                                                                                    \
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 15.00 GiB total capacity; 14.00 GiB "           \
    "already allocated; 20.00 MiB free; 14.50 GiB reserved in total by PyTorch)\n"

MT_TEST(boxes)
{
    read_text("\xe2\x95\xad\xe2\x94\x80 Traceback (most recent call last) \xe2\x94\x80\xe2\x95\xae\n" BAR
              " /opt/job/train.py:12 in <module>     " BAR "\n" BAR "                                      " BAR "\n" BAR
              "    11 " BAR "                           " BAR "\n" BAR " \xe2\x9d\xb1 12 " BAR "   run()                   " BAR
              "\n" BAR " /opt/py/site-packages/lib/long.py:77 " BAR "\n" BAR " in inner_loop                       " BAR
              "\n" BAR " /opt/py/torch/autograd/__init__.py:9 in  " BAR "\n" BAR " backward                            " BAR
              "\n" OOM);
    check_stack("<module>:12 inner_loop:77 backward:9");
    mt_log_done(&l);
    /* a table with a path in it is no traceback */
    read_text(BAR " /opt/job/train.py " BAR " 12 " BAR "\n" BAR " see a.py:12 " BAR "\n" OOM);
    MT_CHECK_EQ(fact(0)->stack, 0);
    mt_log_done(&l);
}

MT_TEST(cut_frames)
{
    /* a terminal cut the frame, and the line that follows is glued on behind its name */
    read_text("[rank1]:   File \"/opt/py/torch/_tensor.py\",\n line 30, in backward\n[rank1]:     engine.run(\n"
              "[rank1]:   File \"/opt/py/torch/autograd/gra\nph.py\", line 40, in _engine_run_backward\n[rank1]:     return x\n"
              "[rank1]: torch." OOM);
    check_stack("backward:30 _engine_run_backward:40");
    mt_log_done(&l);
}

MT_TEST(cut_and_typed_sentences)
{
    read_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 3 has a total capacity of 24.00 GiB of "
        "which 512.00 MiB");
    MT_CHECK_EQ(fact(0)->value[MT_LO_FREE], 512 * MIB);
    MT_CHECK_EQ(fact(0)->value[MT_LO_CAPACITY], 24 * GIB);
    mt_log_done(&l);
    read_text("torch.OutOfMemoryError: Tried to allocate 6.00 GiB. GPU had 5.00 GiB free of 80");
    MT_CHECK_EQ(fact(0)->value[MT_LO_FREE], 5 * GIB);
    MT_CHECK_EQ(fact(0)->value[MT_LO_CAPACITY], 80 * GIB);
    mt_log_done(&l);
}

MT_TEST(first_tries)
{
    read_text("[W101 10:00:00.5 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM on device 2 while trying to "
              "allocate 1073741824 bytes (free: 536870912, total: 25769803776).\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "retried");
    MT_CHECK_STR(fact(0)->text, "PyTorch");
    MT_CHECK_EQ(fact(0)->gpu, 2);
    MT_CHECK_EQ(fact(0)->value[0], MT_LOG_NONE);
    MT_CHECK_EQ(fact(0)->value[1], GIB);
    MT_CHECK_EQ(fact(0)->value[2], GIB / 2);
    MT_CHECK_EQ(fact(0)->value[3], 24 * GIB);
    mt_log_done(&l);
}

MT_TEST(only_named)
{
    static const char *const lines[] = {
        "RuntimeError: CUDA out of memory.",
        "torch.OutOfMemoryError: HIP out of memory",
        "RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"/x/CUDACachingAllocator.cpp\":99, please report a bug",
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::Trainer.fit() (pid=77, ip=10.0.0.1)",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        read_text(lines[i]);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "torch_oom");
        MT_CHECK_EQ(fact(0)->value[MT_LO_REQUEST], MT_LOG_NONE);
        mt_log_done(&l);
    }
    /* a traceback that breaks off behind Ray's line is that error's */
    read_text("ray.exceptions.RayTaskError(OutOfMemoryError): ray::Trainer.fit() (pid=77, ip=10.0.0.1)\n"
              "  File \"/opt/job/loss.py\", line 5, in logits\n    x = head(h)\n");
    MT_CHECK_EQ(fact(0)->pid, 77);
    MT_CHECK_STR(fact(0)->who, "Trainer");
    check_stack("logits:5");
    mt_log_done(&l);
    /* no error: advice, and code that handles one */
    read_text("To avoid CUDA out of memory, lower the batch.\nexcept torch.OutOfMemoryError:\nNVML_SUCCESS == r\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(platforms)
{
    static const struct {
        const char *line;
        char want;
    } of[] = {
        {"NPU out of memory. Tried to allocate 2.00 MiB (NPU 0; 60.00 GiB total capacity)", 'N'},
        {"HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 60.00 GiB", 'H'},
        {"XPU out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 60.00 GiB", 'X'},
        {"CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 60.00 GiB", 0},
        {"HIP error: out of memory", 'H'},
        {"UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", 'X'},
        {"EL0004: Failed to allocate memory requested by a module.", 'N'},
        {"CUDA error: out of memory", 0},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        read_text(of[i].line);
        MT_CHECK_EQ(fact(0)->platform, of[i].want);
        mt_log_done(&l);
    }
}

MT_TEST(reports_of_several_lines)
{
    read_text("[PID: 9] EL0004: Failed to allocate memory requested by a module.\n  Possible Cause: none.\n"
              "  Call rtMalloc fail, purpose: cache, type = 2, size:1048576, device_id:0\n");
    MT_CHECK_EQ(l.facts.n, 2);
    MT_CHECK_EQ(fact(1)->value[0], MIB);
    MT_CHECK_EQ(fact(1)->pid, 9);
    mt_log_done(&l);
    /* Ray's advice stands below every kill, and alone where the rest was not pasted */
    read_text("Refer to the documentation: https://docs.ray.io/x/ray-oom-prevention.html. Consider provisioning more memory\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "ray_kill");
    mt_log_done(&l);
    read_text("1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed\n"
              "Refer to the documentation: https://docs.ray.io/x/ray-oom-prevention.html. Consider provisioning more memory\n");
    MT_CHECK_EQ(l.facts.n, 1);
    mt_log_done(&l);
    read_text("# see https://docs.ray.io/x/ray-oom-prevention.html before raising RAY_memory_usage_threshold\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(method_of_a_worker)
{
    read_text(
        "(W pid=4) ERROR Exception in worker W while processing method load_model: CUDA out of memory. Tried to allocate 2.00 "
        "GiB. GPU 1 has a total capacity of 24.00 GiB of which 1.00 GiB is free.\n");
    check_stack("load_model:0");
    mt_log_done(&l);
}

MT_TEST(refusals_of_vllm)
{
    /* cut by a terminal inside the words; the estimate */
    read_text(
        "(E pid=3) ValueError: To serve one request with max seq len (9000), (4.00 GiB KV cach\ne is needed, which is larger "
        "than the available KV cache memory (3.00 GiB). Based on the available memory, the estimated maximum model length "
        "is 6000. Try\n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "vllm_no_kv");
    MT_CHECK_EQ(fact(0)->value[0], 4 * GIB);
    MT_CHECK_EQ(fact(0)->value[1], 3 * GIB);
    MT_CHECK_EQ(fact(0)->value[3], 6000);
    mt_log_done(&l);
}

MT_TEST(pinned)
{
    static const char *const texts[] = {
        "  File \"/x/a.py\", line 7, in f\n    b = torch.empty(n, pin_memory=True)\nRuntimeError: CUDA error: out of memory\n",
        BAR " /x/a.py:7 in f     " BAR "\n" BAR "   6 " BAR "   pass  " BAR "\n" BAR " \xe2\x9d\xb1 7 " BAR
            "   return t.pin_memory() " BAR "\nRuntimeError: CUDA error: out of memory\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_text(texts[i]);
        MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "host_oom");
        MT_CHECK_STR(fact(0)->text, "pinned");
        mt_log_done(&l);
    }
    /* an argument that says not to */
    read_text("  File \"/x/a.py\", line 7, in f\n    b = torch.empty(n, pin_memory=False)\nRuntimeError: CUDA error: out of "
              "memory\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "cuda_oom");
    mt_log_done(&l);
}

MT_TEST(on_the_chip)
{
    static const char *const lines[] = {
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 300, Hardware limit: 200. Reducing",
        "RuntimeError: No valid triton configs. OutOfMemoryError: out of resource: k_0 Required: 300 Hardware limit:200 "
        "Reducing",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        read_text(lines[i]);
        MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "kernel_limit");
        MT_CHECK_EQ(fact(0)->value[0], 300);
        MT_CHECK_EQ(fact(0)->value[1], 200);
        mt_log_done(&l);
    }
}

MT_TEST(json_of_loggers)
{
    /* a traceback in one object: its newlines and quotes are escaped, and the number is that of its line */
    read_text(
        "{\"level\":\"info\",\"msg\":\"start\"}\n{\"level\":\"error\",\"msg\":\"Traceback (most recent call last):\\n  File "
        "\\\"/x/a.py\\\", line 7, in f\\n    g()\\nRuntimeError: CUDA error: out of memory\\n\"}\n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "cuda_oom");
    MT_CHECK_EQ(fact(0)->line, 2);
    MT_CHECK_EQ(l.n_lines, 2);
    check_stack("f:7");
    mt_log_done(&l);
    /* of Windows: what has to be the whole line is */
    read_text(
        "{\"msg\":\"Traceback (most recent call last):\\r\\n  File \\\"C:/a.py\\\", line 7, in f\\r\\nMemoryError\\r\\n\"}\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "host_oom");
    check_stack("f:7");
    mt_log_done(&l);
    /* Docker's: an object a line; boxes as \u2502 */
    read_text(
        "{\"log\":\"\\u2502 /x/a.py:7 in f \\u2502\\n\",\"stream\":\"stderr\"}\n{\"log\":\"RuntimeError: CUDA error: out of "
        "memory\\n\",\"stream\":\"stderr\"}\n");
    check_stack("f:7");
    mt_log_done(&l);
    /* nonsense stays in bounds */
    read_text("{\"a\":\"\\u00\n{\"b\\\n{\\ud83d\\ude00\\u\n{\\");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(wrapped_behind_prefixes)
{
    static const char *const prefixes[] = {"job-1  | ", "> ", "2025-01-01T00:00:00Z stderr F ", "[pod/a/b] ", ""};
    char text[1024];
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *p = prefixes[i];
        (void)snprintf(
            text, sizeof text,
            "%sOutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 15.00\n%sGiB total capacity; 14.00 "
            "GiB already allocated; 20.00 MiB free; 14.50 GiB \n%sreserved in total by PyTorch)\n",
            p, p, p);
        read_text(text);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_EQ(fact(0)->value[MT_LO_CAPACITY], 15 * GIB);
        MT_CHECK_EQ(fact(0)->value[MT_LO_RESERVED], 29 * GIB / 2);
        mt_log_done(&l);
    }
}

MT_MAIN(MT_RUN(json_of_loggers) MT_RUN(wrapped_behind_prefixes) MT_RUN(refusals_of_vllm) MT_RUN(pinned) MT_RUN(on_the_chip)
            MT_RUN(boxes) MT_RUN(cut_frames) MT_RUN(cut_and_typed_sentences) MT_RUN(first_tries) MT_RUN(only_named)
                MT_RUN(platforms) MT_RUN(reports_of_several_lines) MT_RUN(method_of_a_worker))
