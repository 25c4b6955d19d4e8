/* Lines of logs in the forms in which they get into tickets: cut, boxed, typed, only named, tried
 * again. */
#include "mt_test.h"
#include "parser/log/log.h"
#include "frameworks.h"

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
    MT_CHECK_EQ(mt_log_read(&l, src, mt_framework_log_packages(mt_test_frameworks()), NULL, &err),
                MT_OK);
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
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s:%u", i != 0 ? " " : "",
                       f->function, f->line);
    }
    MT_CHECK_STR(got, want);
}

#define OOM                                                                                        \
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 15.00 GiB total "   \
    "capacity; 14.00 GiB "                                                                         \
    "already allocated; 20.00 MiB free; 14.50 GiB reserved in total by PyTorch)\n"

MT_TEST(boxes)
{
    read_text(
        "\xe2\x95\xad\xe2\x94\x80 Traceback (most recent call last) \xe2\x94\x80\xe2\x95\xae\n" BAR
        " /opt/job/train.py:12 in <module>     " BAR "\n" BAR
        "                                      " BAR "\n" BAR "    11 " BAR
        "                           " BAR "\n" BAR " \xe2\x9d\xb1 12 " BAR
        "   run()                   " BAR "\n" BAR " /opt/py/site-packages/lib/long.py:77 " BAR
        "\n" BAR " in inner_loop                       " BAR "\n" BAR
        " /opt/py/torch/autograd/__init__.py:9 in  " BAR "\n" BAR
        " backward                            " BAR "\n" OOM);
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
    read_text("[rank1]:   File \"/opt/py/torch/_tensor.py\",\n line 30, in backward\n[rank1]:     "
              "engine.run(\n"
              "[rank1]:   File \"/opt/py/torch/autograd/gra\nph.py\", line 40, in "
              "_engine_run_backward\n[rank1]:     return x\n"
              "[rank1]: torch." OOM);
    check_stack("backward:30 _engine_run_backward:40");
    mt_log_done(&l);
}

MT_TEST(frames_on_one_line)
{
    /* a collector that took the newlines out; with the error behind it */
    read_text("ERROR call last): File \"/x/a.py\", line 7, in f g() File \"/x/b.py\", line 9, in g "
              "h() RuntimeError: CUDA out "
              "of memory. Tried to "
              "allocate 2.00 GiB\n");
    check_stack("f:7 g:9");
    mt_log_done(&l);
    read_text("  File \"/x/a.py\", line 7, in f g() File \"/x/b.py\", line 9, in g "
              "h()\nRuntimeError: CUDA error: out of memory\n");
    check_stack("f:7 g:9");
    mt_log_done(&l);
}

/* What is not PyTorch's sentence behind such frames. */
MT_TEST(other_errors_behind_frames)
{
    static const struct {
        const char *error;
        enum mt_log_kind kind;
    } said[] = {
        {"RuntimeError: CUDA driver error: out of memory", MT_LOG_CUDA_OOM},
        {"RuntimeError: NCCL Error 1: Cuda failure 2 'out of memory'", MT_LOG_NCCL_OOM},
        {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
         MT_LOG_CUBLAS_OOM},
        {"MemoryError: Unable to allocate 3.00 GiB for an array", MT_LOG_HOST_OOM},
        {"OSError: [Errno 12] Cannot allocate memory", MT_LOG_HOST_OOM},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char text[256];
        (void)snprintf(
            text, sizeof text,
            "  File \"/x/a.py\", line 7, in f g() File \"/x/b.py\", line 9, in g h() %s\n",
            said[i].error);
        read_text(text);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_EQ(fact(0)->kind, said[i].kind);
        check_stack("f:7 g:9");
        mt_log_done(&l);
    }
    /* an error of another kind is what they led to: they are not those of a failure further down */
    read_text("  File \"/x/a.py\", line 7, in f g() ValueError: no\nRuntimeError: CUDA error: out "
              "of memory\n");
    MT_CHECK_EQ(fact(0)->stack, 0);
    mt_log_done(&l);
}

MT_TEST(of_pytest)
{
    read_text("tests/test_a.py:852: \n_ _ _\n.venv/lib/transformers/trainer.py:1412: in train\n    "
              "return inner(\n.venv/lib/torch/autograd/__init__.py:30: in backward\n    run(\nE   "
              "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n");
    check_stack("train:1412 backward:30");
    mt_log_done(&l);
    read_text(
        "see a.py:9: in the text\na.py:x: in f\nE   RuntimeError: CUDA error: out of memory\n");
    MT_CHECK_EQ(fact(0)->stack, 0);
    mt_log_done(&l);
}

MT_TEST(apples)
{
    read_text("RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: "
              "2.00 GB, max allowed: 7.50 "
              "GB). Tried to allocate "
              "1024.00 MB on private pool.\n");
    MT_CHECK_EQ(fact(0)->platform, 'M');
    MT_CHECK_EQ(fact(0)->value[MT_LO_REQUEST], GIB);
    MT_CHECK_EQ(fact(0)->value[MT_LO_FREE], GIB / 2);
    MT_CHECK_EQ(fact(0)->value[MT_LO_CAPACITY], 15 * GIB / 2);
    MT_CHECK_EQ(fact(0)->value[MT_LO_THIS], 7 * GIB);
    mt_log_done(&l);
}

MT_TEST(cut_and_typed_sentences)
{
    read_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 3 has a "
              "total capacity of 24.00 GiB of "
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
    read_text("[W101 10:00:00.5 CUDACachingAllocator.cpp:3934] memory allocation failed with OOM "
              "on device 2 while trying to "
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
        ("RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "
         "\"/x/CUDACachingAllocator.cpp\":99, please report a bug"),
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
    read_text(
        "ray.exceptions.RayTaskError(OutOfMemoryError): ray::Trainer.fit() (pid=77, ip=10.0.0.1)\n"
        "  File \"/opt/job/loss.py\", line 5, in logits\n    x = head(h)\n");
    MT_CHECK_EQ(fact(0)->pid, 77);
    MT_CHECK_STR(fact(0)->who, "Trainer");
    check_stack("logits:5");
    mt_log_done(&l);
    /* no error: advice, and code that handles one */
    read_text("To avoid CUDA out of memory, lower the batch.\nexcept "
              "torch.OutOfMemoryError:\nNVML_SUCCESS == r\n");
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
        {"HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 60.00 GiB",
         'H'},
        {"XPU out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 60.00 GiB",
         'X'},
        {"CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 60.00 GiB",
         0},
        {"HIP error: out of memory", 'H'},
        {"UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", 'X'},
        {"UR backend returns:40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)", 'X'},
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
    read_text("[PID: 9] EL0004: Failed to allocate memory requested by a module.\n  Possible "
              "Cause: none.\n"
              "  Call rtMalloc fail, purpose: cache, type = 2, size:1048576, device_id:0\n");
    MT_CHECK_EQ(l.facts.n, 2);
    MT_CHECK_EQ(fact(1)->value[0], MIB);
    MT_CHECK_EQ(fact(1)->pid, 9);
    mt_log_done(&l);
    /* Ray's advice stands below every kill, and alone where the rest was not pasted */
    read_text("Refer to the documentation: https://docs.ray.io/x/ray-oom-prevention.html. Consider "
              "provisioning more memory\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "ray_kill");
    mt_log_done(&l);
    read_text("1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed\n"
              "Refer to the documentation: https://docs.ray.io/x/ray-oom-prevention.html. Consider "
              "provisioning more memory\n");
    MT_CHECK_EQ(l.facts.n, 1);
    mt_log_done(&l);
    read_text("# see https://docs.ray.io/x/ray-oom-prevention.html before raising "
              "RAY_memory_usage_threshold\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(method_of_a_worker)
{
    read_text("(W pid=4) ERROR Exception in worker W while processing method load_model: CUDA out "
              "of memory. Tried to allocate 2.00 "
              "GiB. GPU 1 has a total capacity of 24.00 GiB of which 1.00 GiB is free.\n");
    check_stack("load_model:0");
    mt_log_done(&l);
}

MT_TEST(refusals_of_vllm)
{
    /* cut by a terminal inside the words; the estimate */
    read_text("(E pid=3) ValueError: To serve one request with max seq len (9000), (4.00 GiB KV "
              "cach\ne is needed, which is larger "
              "than the available KV cache memory (3.00 GiB). Based on the available memory, the "
              "estimated maximum model length "
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
        "  File \"/x/a.py\", line 7, in f\n    b = torch.empty(n, pin_memory=True)\nRuntimeError: "
        "CUDA error: out of memory\n",
        BAR " /x/a.py:7 in f     " BAR "\n" BAR "   6 " BAR "   pass  " BAR "\n" BAR
            " \xe2\x9d\xb1 7 " BAR "   return t.pin_memory() " BAR
            "\nRuntimeError: CUDA error: out of memory\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_text(texts[i]);
        MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "host_oom");
        MT_CHECK_STR(fact(0)->text, "pinned");
        mt_log_done(&l);
    }
    /* an argument that says not to */
    read_text("  File \"/x/a.py\", line 7, in f\n    b = torch.empty(n, "
              "pin_memory=False)\nRuntimeError: CUDA error: out of "
              "memory\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "cuda_oom");
    mt_log_done(&l);
}

MT_TEST(on_the_chip)
{
    static const char *const lines[] = {
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 300, "
        "Hardware limit: 200. Reducing",
        "RuntimeError: No valid triton configs. OutOfMemoryError: out of resource: k_0 Required: "
        "300 Hardware limit:200 "
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
    /* a traceback in one object: its newlines and quotes are escaped, and the number is that of its
     * line */
    read_text("{\"level\":\"info\",\"msg\":\"start\"}\n{\"level\":\"error\",\"msg\":\"Traceback "
              "(most recent call last):\\n  File "
              "\\\"/x/a.py\\\", line 7, in f\\n    g()\\nRuntimeError: CUDA error: out of "
              "memory\\n\"}\n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "cuda_oom");
    MT_CHECK_EQ(fact(0)->line, 2);
    MT_CHECK_EQ(l.n_lines, 2);
    check_stack("f:7");
    mt_log_done(&l);
    /* of Windows: what has to be the whole line is */
    read_text("{\"msg\":\"Traceback (most recent call last):\\r\\n  File \\\"C:/a.py\\\", line 7, "
              "in f\\r\\nMemoryError\\r\\n\"}\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "host_oom");
    check_stack("f:7");
    mt_log_done(&l);
    /* Docker's: an object a line; boxes as \u2502 */
    read_text("{\"log\":\"\\u2502 /x/a.py:7 in f "
              "\\u2502\\n\",\"stream\":\"stderr\"}\n{\"log\":\"RuntimeError: CUDA error: out of "
              "memory\\n\",\"stream\":\"stderr\"}\n");
    check_stack("f:7");
    mt_log_done(&l);
    /* behind what a program or a collector writes first; whose it is holds for all its lines */
    read_text("(Worker pid=9) {\"msg\":\"Traceback (most recent call last):\\n  File "
              "\\\"/x/a.py\\\", line 7, in "
              "f\\nRuntimeError: CUDA error: "
              "out of memory\"}\n");
    MT_CHECK_EQ(fact(0)->pid, 9);
    MT_CHECK_STR(fact(0)->who, "Worker");
    check_stack("f:7");
    mt_log_done(&l);
    read_text("2026-01-01T00:00:00Z ERROR {\"msg\":\"  File \\\"/x/a.py\\\", line 7, in "
              "f\\nRuntimeError: CUDA error: out of "
              "memory\"}\n");
    check_stack("f:7");
    mt_log_done(&l);
    /* an object in a string of another, from its first byte or further in; and newlines that repr()
     * escaped */
    read_text("{\"log\":\"{\\\"msg\\\":\\\"  File \\\\\\\"/x/a.py\\\\\\\", line 7, in "
              "f\\\\nRuntimeError: CUDA error: out of "
              "memory\\\"}\\n\",\"stream\":\"stderr\"}\n");
    check_stack("f:7");
    mt_log_done(&l);
    read_text("{\"log\":\"ERROR {\\\"msg\\\":\\\"  File \\\\\\\"/x/a.py\\\\\\\", line 7, in "
              "f\\\\nRuntimeError: CUDA error: out of "
              "memory\\\"}\\n\"}\n");
    check_stack("f:7");
    mt_log_done(&l);
    read_text("ERROR 'Traceback (most recent call last):\\n  File \"/x/a.py\", line 7, in "
              "f\\nRuntimeError: CUDA error: out of "
              "memory\\n'\n");
    check_stack("f:7");
    mt_log_done(&l);
    /* a path of Windows in an object keeps its backslashes; text with a brace is no object */
    read_text("{\"msg\":\"  File \\\"C:\\\\new\\\\a.py\\\", line 7, in f\\nRuntimeError: CUDA "
              "error: out of memory\"}\n");
    MT_CHECK_STR(l.stacks.p[0].frames.p[0].file, "C:/new/a.py"); /* as rules know it */
    mt_log_done(&l);
    read_text("set{\"a\"} C:\\new RuntimeError: CUDA error: out of memory\n");
    MT_CHECK_EQ(l.facts.n, 1);
    mt_log_done(&l);
    /* nonsense stays in bounds */
    read_text("x {\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"c\\\\\\\n x {\"a\":\"{\\\" \ncall last):\\n\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
    read_text("{\"a\":\"\\u00\n{\"b\\\n{\\ud83d\\ude00\\u\n{\\");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(wrapped_behind_prefixes)
{
    static const char *const prefixes[] = {
        "job-1  | ",           "> ", "2025-01-01T00:00:00Z stderr F ", "[pod/a/b] ",
        "Jan 1 host job[7]: ", ""};
    char text[1024];
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *p = prefixes[i];
        (void)snprintf(
            text, sizeof text,
            "%sOutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; "
            "15.00\n%sGiB total capacity; 14.00 "
            "GiB already allocated; 20.00 MiB free; 14.50 GiB \n%sreserved in total by PyTorch)\n",
            p, p, p);
        read_text(text);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_EQ(fact(0)->value[MT_LO_CAPACITY], 15 * GIB);
        MT_CHECK_EQ(fact(0)->value[MT_LO_RESERVED], 29 * GIB / 2);
        mt_log_done(&l);
    }
}

/* Names of the programming interface: reported, and only talked about. */
MT_TEST(names_in_code)
{
    static const char *const reported[] = {
        "hipMalloc failed with hipErrorOutOfMemory (2)",
        "hip error: hipErrorOutOfMemory at /x/a.cpp:7",
        "hipErrorOutOfMemory",
        ("E cuda_driver.cc:9] failed to allocate 2.0G (2147483648 bytes) from device: "
         "CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
        "RuntimeError: cuMemCreate: error=CUDA_ERROR_OUT_OF_MEMORY",
        "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "see https://host/x: CUDA_ERROR_OUT_OF_MEMORY",
    };
    static const char *const code[] = {
        "    case hipErrorOutOfMemory: return cudaErrorMemoryAllocation;",
        "if (err == hipErrorOutOfMemory) retry();",
        "  hipErrorOutOfMemory = 2,",
        "  // cuMemCreate gives CUDA_ERROR_OUT_OF_MEMORY when the card is full",
        "x | // CUDA_ERROR_OUT_OF_MEMORY",
        "| hipErrorOutOfMemory | 2 | no room |",
        "# hipErrorOutOfMemory: lower the batch",
        "`CUDA_ERROR_OUT_OF_MEMORY` is returned",
        "hipErrorOutOfMemory means that the card is full",
        "return CUDA_ERROR_OUT_OF_MEMORY;",
        "CHECK(res != CUDA_ERROR_OUT_OF_MEMORY)",
    };
    for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
        read_text(reported[i]);
        MT_CHECK_EQ(l.facts.n, 1);
        mt_log_done(&l);
    }
    for (size_t i = 0; i < sizeof code / sizeof *code; i++) {
        read_text(code[i]);
        MT_CHECK_EQ(l.facts.n, 0);
        mt_log_done(&l);
    }
}

/* At the very end of a line: what stands behind it in memory, of a longer line before, decides
 * nothing, and is not there where the line is as long as one may be. */
MT_TEST(name_at_the_end)
{
    static const char said[] = "cuMemCreate(): (CUDA_ERROR_OUT_OF_MEMORY)";
    size_t n = sizeof said - 1;
    char *p = malloc(MT_LOG_LINE + 2);
    MT_CHECK(p != NULL);
    if (p == NULL)
        return;
    memset(p, 'x', n + 1);
    memcpy(p + n + 1, "{\n\n\n\n\n\n\n\n\n\n", 11);
    memcpy(p + n + 12, said, sizeof said);
    read_text(p);
    MT_CHECK_EQ(l.facts.n, 1);
    mt_log_done(&l);
    memset(p, '.', MT_LOG_LINE);
    memcpy(p + MT_LOG_LINE - n, said, sizeof said);
    read_text(p);
    MT_CHECK_EQ(l.facts.n, 1);
    mt_log_done(&l);
    free(p);
}

/* Nothing else in these lines draws the eye. */
MT_TEST(lone_words)
{
    static const struct {
        const char *line;
        enum mt_log_kind kind;
    } said[] = {
        {"Exit Code: 137", MT_LOG_KILLED},
        {"Exit code: 137", MT_LOG_KILLED},
        {"Your session crashed after using all available RAM.", MT_LOG_HOST_OOM},
        {"Refer to the documentation: https://x/ray-oom-prevention.html", MT_LOG_RAY_KILL},
        {"[Errno 28] No space left on device: '/dev/shm/nccl-x'", MT_LOG_HOST_OOM},
        {"[WinError 1455] Die Auslagerungsdatei ist zu klein", MT_LOG_HOST_OOM},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        read_text(said[i].line);
        MT_CHECK_EQ(l.facts.n, 1);
        if (l.facts.n == 1)
            MT_CHECK_EQ(fact(0)->kind, said[i].kind);
        mt_log_done(&l);
    }
}

/* Errors of the GPU in the words of other programs: their kind, whose, the bytes asked for. */
MT_TEST(other_programs)
{
    static const struct {
        const char *line, *kind, *text;
        uint64_t asked;
    } of[] = {
        {"RuntimeError: [TM][ERROR] CUDA runtime error: out of memory /x/allocator.h:7", "cuda_oom",
         "TurboMind", MT_LOG_NONE},
        {"CUDA error 2 at ggml-cuda.cu:7: out of memory", "cuda_oom", "llama.cpp", MT_LOG_NONE},
        {"Failed: Cuda error /x/custom_all_reduce.cuh:7 'out of memory'", "cuda_oom",
         "a custom all-reduce", MT_LOG_NONE},
        {"RuntimeError: Failed: CUDA error /DeepEP/csrc/x.cpp:7 'out of memory'", "cuda_oom",
         "DeepEP", MT_LOG_NONE},
        {"CUDA failure 2: out of memory ; GPU=0", "cuda_oom", "", MT_LOG_NONE},
        {"hip runtime error: out of memory", "cuda_oom", "HIP", MT_LOG_NONE},
        {"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1048576 "
         "bytes.",
         "cuda_oom", "XLA", MIB},
        {"XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB "
         "(2147483648B) on device ordinal 0",
         "cuda_oom", "XLA", 2 * GIB},
        {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,048,576 bytes (allocated "
         "so far: 0 bytes).",
         "cuda_oom", "CuPy", MIB},
        {"MemoryError: std::bad_alloc: out_of_memory: CUDA error at: /x/memory_resource.hpp:70: "
         "cudaErrorMemoryAllocation",
         "cuda_oom", "RAPIDS", MT_LOG_NONE},
        {"RuntimeError: [enforce fail at alloc_cpu.cpp:1] data. DefaultCPUAllocator: not enough "
         "memory: you tried to allocate "
         "1048576 bytes.",
         "host_oom", "", MIB},
        {"[x.cpp::9] Error Code 2: OutOfMemory (Requested size was 1048576 bytes.)", "cuda_oom",
         "TensorRT", MIB},
        {"THCudaCheck FAIL file=/x/THCStorage.cu line=58 error=2 : out of memory", "cuda_oom", "",
         MT_LOG_NONE},
        {"what():  cudaErrorMemoryAllocation: out of memory", "cuda_oom", "", MT_LOG_NONE},
        {"FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::1048576 (1)MB", "cuda_oom",
         "Gaudi", MIB},
        {"could not allocate pinned host memory of size: 1048576", "host_oom", "pinned", MIB},
        {"pyarrow.lib.ArrowMemoryError: malloc of size 1048576 failed", "host_oom", "", MIB},
        {"ray.exceptions.ObjectStoreFullError: Failed to put object x in object store because it "
         "is full.",
         "host_oom", "shared by Ray", MT_LOG_NONE},
        {"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
         "shared memory (shm).",
         "host_oom", "shared", MT_LOG_NONE},
        {"OSError: [Errno 28] No space left on device: '/dev/shm/x'", "host_oom", "shared",
         MT_LOG_NONE},
        {"Your session crashed after using all available RAM.", "host_oom", "", MT_LOG_NONE},
        {"RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. "
         "Computed x=0",
         "sglang_no_kv", "", MT_LOG_NONE},
        {"RuntimeError: alloc_req_slots runs out of memory. Please set", "sglang_kv_full", "",
         MT_LOG_NONE},
        {"[TP0] Out of memory. Try to lower your batch size.\nTry to allocate 9 tokens.\n",
         "sglang_kv_full", "", 9},
        {"ValueError: Cannot auto-fit max_model_len: not enough GPU memory available to serve",
         "vllm_no_kv", "", MT_LOG_NONE},
        {"OSError: [WinError 1455] \xe9\xa1\xb5\xe9\x9d\xa2", "host_oom", "", MT_LOG_NONE},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        read_text(of[i].line);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), of[i].kind);
        MT_CHECK_STR(fact(0)->text, of[i].text);
        MT_CHECK_EQ(fact(0)->value[0], of[i].asked);
        mt_log_done(&l);
    }
    read_text("cuda is fine.\nCUDA errors of a driver that is old. We never ran out of memory "
              "here\nmyCUDA error out of memory\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(kills)
{
    static const char *const words[] = {
        "job exited with code 137",
        "Process finished with exit code: 137",
        "Exit Code:    137",
        "returned non-zero exit status 137.",
        "died with <Signals.SIGKILL: 9>.",
        "job-1  | Killed",
        "> Killed",
        "Nov 1 host job[7]: Killed",
        "{\"level\":\"info\",\"msg\":\"Killed\"}",
        "{\"log\":\"Killed\\n\",\"stream\":\"stderr\"}",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        read_text(words[i]);
        MT_CHECK_EQ(l.facts.n, 1);
        MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "killed");
        mt_log_done(&l);
    }
    read_text("Worker exit type: SYSTEM_ERROR\nWorker exit detail: Worker exits with an exit code "
              "1.\nThe worker may have "
              "exceeded K8s pod memory limits.\n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_STR(fact(0)->text, "Ray");
    mt_log_done(&l);
    read_text("Killed in action\nit was not Killed\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
    /* the kernel's first line, where no more was pasted; with its last it is one kill */
    read_text("[1.0] python invoked oom-killer: gfp_mask=0x0\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "kernel_kill");
    MT_CHECK_STR(fact(0)->text, "the kernel");
    mt_log_done(&l);
    read_text("[1.0] python invoked oom-killer: gfp_mask=0x0\n[1.1] Out of memory: Killed process "
              "7 (python) anon-rss:1024kB\n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_EQ(fact(0)->value[0], 7);
    mt_log_done(&l);
    read_text("[1.0] "
              "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/"
              "x,task=python,pid=7,uid=0\n");
    MT_CHECK_STR(fact(0)->text, "python");
    MT_CHECK_EQ(fact(0)->value[0], 7);
    MT_CHECK_EQ(fact(0)->value[2], 1);
    mt_log_done(&l);
    read_text("[1.0] python invoked oom-killer: gfp_mask=0x0\n[1.1] "
              "oom-kill:constraint=CONSTRAINT_MEMCG,task=python,pid=7,uid=0\n[1.2] Memory "
              "cgroup out of memory: Killed process 7 (python) anon-rss:1024kB\n[1.3] Out of "
              "memory: Killed process 8 (vllm) "
              "anon-rss:1kB\n");
    MT_CHECK_EQ(l.facts.n, 2);
    MT_CHECK_EQ(fact(0)->value[1], MIB);
    MT_CHECK_EQ(fact(0)->value[2], 1);
    MT_CHECK_EQ(fact(1)->value[2], MT_LOG_NONE);
    mt_log_done(&l);
    read_text(
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 12Mi.\n");
    MT_CHECK_STR(fact(0)->text, "Kubernetes");
    mt_log_done(&l);
}

MT_TEST(warnings)
{
    /* what a margin kept, and what PyTorch has not here: no failures */
    read_text("[torch_memory_saver.cpp] TorchMemorySaver::malloc return OOM since "
              "memory_margin_bytes=1073741824 "
              "(alloc)size=2147483648 "
              "free_bytes=3221225471\n[W1 CUDAAllocatorConfig.h:28] Warning: expandable_segments "
              "not supported on this "
              "platform (function)\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "retried");
    MT_CHECK_STR(fact(0)->text, "torch_memory_saver");
    MT_CHECK_EQ(fact(0)->value[1], 2 * GIB);
    MT_CHECK_EQ(fact(0)->value[2], 3 * GIB - 1);
    MT_CHECK_EQ(fact(0)->value[4], GIB);
    MT_CHECK_STR(mt_log_kind_name(fact(1)->kind), "no_expandable");
    mt_log_done(&l);
    read_text("[W1 CUDACachingAllocator.cpp:508] expandable_segments: memory mapping failed with "
              "OOM on device 1 while trying "
              "to map 20971520 bytes "
              "(free: 1048576, total: 34359738368).\n");
    MT_CHECK_STR(mt_log_kind_name(fact(0)->kind), "retried");
    MT_CHECK_EQ(fact(0)->value[1], 20 * MIB);
    mt_log_done(&l);
    /* the second half of the older sentence alone */
    read_text("Tried to allocate 20.00 MiB (GPU 1; 2.00 GiB total capacity; 1.00 GiB already "
              "allocated; 2.00 MiB free; 1.50 "
              "GiB reserved in "
              "total by PyTorch)\n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_EQ(fact(0)->gpu, 1);
    MT_CHECK_EQ(fact(0)->value[MT_LO_REQUEST], 20 * MIB);
    mt_log_done(&l);
    read_text("RuntimeError: CUDA out of memory.\nTried to allocate 20.00 MiB (GPU 1; 2.00 GiB "
              "total capacity; 2.00 MiB free; "
              "1.50 GiB reserved "
              "in total by PyTorch)\n");
    MT_CHECK_EQ(l.facts.n, 1);
    mt_log_done(&l);
    /* lines that say in words what was going on */
    read_text("ERROR Failed to load model - not enough GPU memory. (original error: CUDA out of "
              "memory. Tried to allocate 2.00 "
              "GiB. GPU 1 has a "
              "total capacity of 24.00 GiB of which 1.00 GiB is free.)\n");
    check_stack("load_model:0");
    mt_log_done(&l);
    read_text("[TP0] Failed to update parameter online: CUDA out of memory. Tried to allocate 2.00 "
              "GiB. GPU 1 has a total "
              "capacity of 24.00 GiB of "
              "which 1.00 GiB is free.\n");
    check_stack("update_weights_from_distributed:0");
    mt_log_done(&l);
    read_text("/x/fsdp.py:7: UserWarning: Failed to clone() tensor with name head. Error: CUDA out "
              "of memory. Tried to "
              "allocate 2.00 GiB (GPU 1; "
              "24.00 GiB total capacity)\n");
    check_stack("_full_post_state_dict_hook:0");
    mt_log_done(&l);
}

/* The lines of DeepSpeed's inference: what is free says what is used only with the size of the
 * card, which a log that was cut does not have. */
MT_TEST(workspace)
{
#define FREE "Free memory : 6.000000 (GigaBytes)  \n"
    read_text("Load a checkpoint\n" FREE "Total memory: 8.000000 (GigaBytes)  \n"
              "Requested memory: 0.500000 (GigaBytes) \n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_EQ(fact(0)->kind, MT_LOG_TORCH_USAGE);
    MT_CHECK_EQ(fact(0)->line, 2);
    MT_CHECK_EQ(fact(0)->value[2], 2 * GIB);
    MT_CHECK_EQ(fact(0)->value[3], 8 * GIB);
    mt_log_done(&l);
    static const char *const none[] = {
        FREE,
        FREE "Requested memory: 0.500000 (GigaBytes) \n",
        FREE "\nTotal memory: 8.000000 (GigaBytes)  \n",
        FREE "Total memory: 4.000000 (GigaBytes)  \n",
        "Total memory: 8.000000 (GigaBytes)  \n",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        read_text(none[i]);
        if (l.facts.n != 0)
            MT_FAIL_AT("a fact in: %s", none[i]);
        mt_log_done(&l);
    }
}

MT_MAIN(MT_RUN(workspace) MT_RUN(frames_on_one_line) MT_RUN(other_errors_behind_frames)
            MT_RUN(apples) MT_RUN(of_pytest) MT_RUN(names_in_code) MT_RUN(name_at_the_end)
                MT_RUN(lone_words) MT_RUN(other_programs) MT_RUN(kills) MT_RUN(warnings)
                    MT_RUN(json_of_loggers) MT_RUN(wrapped_behind_prefixes) MT_RUN(refusals_of_vllm)
                        MT_RUN(pinned) MT_RUN(on_the_chip) MT_RUN(boxes) MT_RUN(cut_frames)
                            MT_RUN(cut_and_typed_sentences) MT_RUN(first_tries) MT_RUN(only_named)
                                MT_RUN(platforms) MT_RUN(reports_of_several_lines)
                                    MT_RUN(method_of_a_worker))
