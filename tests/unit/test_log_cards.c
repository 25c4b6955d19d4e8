/* What tools and PyTorch's allocator print of whole cards: tables, csv, dictionaries; and what a
 * log says of settings; cut anywhere, and made to hurt. */
#include "mt_test.h"
#include "parser/log/log.h"

#include <stdio.h>
#include <time.h>

#define MIB ((uint64_t)1 << 20)

static struct mt_log l;

static void read_bytes(const char *p, size_t n)
{
    struct mt_source *src = NULL;
    struct mt_err err;
    memset(&err, 0, sizeof err);
    memset(&l, 0, sizeof l);
    MT_CHECK_EQ(mt_source_mem(&src, p, n), MT_OK);
    MT_CHECK_EQ(mt_log_read(&l, src, NULL, NULL, &err), MT_OK);
    mt_source_free(src);
}

static void read_text(const char *text) { read_bytes(text, strlen(text)); }

/* Fact i: its kind, card, and the first two values. */
static void check(uint32_t i, enum mt_log_kind kind, int gpu, uint64_t a, uint64_t b,
                  const char *text)
{
    MT_ASSERT(i < l.facts.n);
    MT_CHECK_EQ(l.facts.p[i].kind, kind);
    MT_CHECK_EQ(l.facts.p[i].gpu, gpu);
    MT_CHECK_EQ(l.facts.p[i].value[0], a);
    MT_CHECK_EQ(l.facts.p[i].value[1], b);
    MT_CHECK_STR(l.facts.p[i].text, text);
}

MT_TEST(nvidia_smi)
{
    read_text(
        "|   2  NVIDIA A100-SXM4-80GB          On  |   00000000:18:00.0 Off |      0 |\n"
        "| N/A   41C    P0            118W /  700W |   70589MiB /  81920MiB |  0%  Default |\n"
        "+-----------------------------------------+------------------------+----------+\n"
        "| Processes:                                                                  |\n"
        "|  GPU   GI   CI              PID   Type   Process name            GPU Memory |\n"
        "|    2   N/A  N/A           12345      C   python -m a train            574MiB |\n"
        "|    3     2    0             77    C+G   X                             N/A    |\n"
        "|    3     2    0             78    M+C   mps                            30MiB |\n");
    MT_CHECK_EQ(l.facts.n, 3);
    check(0, MT_LOG_CARD, 2, 70589 * MIB, 81920 * MIB, "nvidia-smi");
    check(1, MT_LOG_CARD_PROC, 2, 12345, 574 * MIB, "python -m a train");
    check(2, MT_LOG_CARD_PROC, 3, 78, 30 * MIB, "mps");
    mt_log_done(&l);
}

/* Of 2018 and a container's prefix; the second row alone, as grep shows it. */
MT_TEST(nvidia_smi_of_old_and_alone)
{
    read_text("w-0  | |   0  Tesla V100-SXM2...  On   | 00000000:00:1B.0 Off |         0 |\n"
              "w-0  | | N/A   41C    P0    40W / 300W |  15231MiB / 16160MiB |  0%  Default |\n"
              "w-0  | |    0     18345      C   /usr/bin/python3                 15221MiB |\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(0, MT_LOG_CARD, 0, 15231 * MIB, 16160 * MIB, "nvidia-smi");
    check(1, MT_LOG_CARD_PROC, 0, 18345, 15221 * MIB, "/usr/bin/python3");
    mt_log_done(&l);
    read_text("| 30%   41C    P8    10W / 300W |    531MiB / 24576MiB |  0%  Default |\n");
    MT_CHECK_EQ(l.facts.n, 1);
    check(0, MT_LOG_CARD, -1, 531 * MIB, 24576 * MIB, "nvidia-smi");
    mt_log_done(&l);
}

MT_TEST(csv)
{
    read_text("timestamp, index, memory.used [MiB], memory.total [MiB]\n"
              "2026/01/12 10:00:00, 0, 1000 MiB, 81559 MiB\n"
              "step 3, loss 0.2, lr 1e-6, tokens 9\n"
              "2026/01/12 10:00:05, 1, 2000, 81559\n"
              "2026/01/12 10:00:05, 2, [N/A], [N/A]\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(0, MT_LOG_CARD, 0, 1000 * MIB, 81559 * MIB, "nvidia-smi");
    check(1, MT_LOG_CARD, 1, 2000 * MIB, 81559 * MIB, "nvidia-smi");
    mt_log_done(&l);
    /* what is free is what the driver does not keep for itself either */
    read_text("index, memory.total [MiB], memory.free [MiB]\n7, 1000 MiB, 400 MiB\n");
    check(0, MT_LOG_CARD, 7, 600 * MIB, 1000 * MIB, "nvidia-smi");
    mt_log_done(&l);
    read_text("pid, process_name, used_gpu_memory [MiB]\n12, VLLM::EngineCore, 400 MiB\n");
    check(0, MT_LOG_CARD_PROC, -1, 12, 400 * MIB, "VLLM::EngineCore");
    mt_log_done(&l);
    /* other people's tables */
    read_text("| a | 3MiB / 4 |\n| 1 | 2 | 3 MiB |\na, b, memory\n1, 2, 3\n"
              "| model | 7B MiB / 8 GiB | x |\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(npu_smi)
{
    read_text(
        "| NPU   Name                | Health        | Power(W)   Hugepages-Usage(page)|\n"
        "| Chip                      | Bus-Id        | AICore(%)  Memory-Usage(MB)  HBM |\n"
        "+===========================+===============+=================================+\n"
        "| 6     910B2               | OK            | 96.5   50         0    / 0      |\n"
        "| 0                         | 0000:C1:00.0  | 0      3 / 7      60100/ 65536  |\n"
        "+===========================+===============+=================================+\n"
        "| 7     910_93              | OK            | 96.5   50         0    / 0      |\n"
        "| 1     15                  | 0000:C3:00.0  | 0      0 / 0      100 / 65536   |\n"
        "| NPU     Chip | Process id | Process name | Process memory(MB) | in container |\n"
        "+==============+============+==============+====================+==============+\n"
        "| 6       0    | 4711       | sglangschedul | 48954             | NA           |\n"
        "| No running processes found in NPU 7                                           |\n");
    MT_CHECK_EQ(l.facts.n, 3);
    check(0, MT_LOG_CARD, 6, 60100 * MIB, 65536 * MIB, "npu-smi");
    check(1, MT_LOG_CARD, 15, 100 * MIB, 65536 * MIB, "npu-smi");
    check(2, MT_LOG_CARD_PROC, 6, 4711, 48954 * MIB, "sglangschedul");
    MT_CHECK_EQ(l.facts.p[2].platform, 'N');
    mt_log_done(&l);
    read_text("moduleName,curMemSize(MB),memPeakSize(MB)\nHCCL,412.500,824.000\nGE,0.000,1.000\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(0, MT_LOG_NPU_PART, -1, 825 * MIB / 2, 824 * MIB, "HCCL");
    check(1, MT_LOG_NPU_PART, -1, 0, MIB, "GE");
    mt_log_done(&l);
}

/* The table of torch_npu's profiler: the highest of each part, to the byte. */
MT_TEST(memory_record_of_torch_npu)
{
    read_text("Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),"
              "Stream Ptr,Device Type\n"
              "APP,1736408883573957.920\t,,2109.6015625,,,NPU:1\n"
              "PTA,1736408883694238.150\t,935.99462890625,1452.0,935.9951171875,897,NPU:1\n"
              "PTA+GE,1736408883694238.150\t,999.99,1452.0,935.9951171875,897,NPU:1\r\n"
              "PTA,1736408883694244.010\t,936.0,1400.0,935,897,NPU:1\n"
              "GE,1736408883704614.040\t,49.125,74.75,,,NPU:1\n"
              "PTA,1736408883694244.010\t,1.0,2.0,1,897,NPU:2\n"
              "PTA,1736408883694244.010\t,x,,,897,NPU:1\nPTA,5,9999,9999,,,CPU\n");
    MT_CHECK_EQ(l.facts.n, 4);
    check(0, MT_LOG_NPU_RECORD, 1, MT_LOG_NONE, 21096015625 * MIB / 10000000, "APP");
    check(1, MT_LOG_NPU_RECORD, 1, 936 * MIB, 1452 * MIB, "PTA");
    check(2, MT_LOG_NPU_RECORD, 1, 393 * MIB / 8, 299 * MIB / 4, "GE");
    check(3, MT_LOG_NPU_RECORD, 2, MIB, 2 * MIB, "PTA");
    MT_CHECK_EQ(l.facts.p[1].line, 3);
    mt_log_done(&l);
    /* CANN's own, in KiB; then another table, whose parts are its own */
    read_text("Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n"
              "0,GE,5,64.5,4096,NPU:0\n"
              "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n"
              "GE,5,1,4,NPU:0\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(0, MT_LOG_NPU_RECORD, 0, 66048, 4 * MIB, "GE");
    check(1, MT_LOG_NPU_RECORD, 0, MIB, 4 * MIB, "GE");
    mt_log_done(&l);
    /* rows without their head, and more parts than a table has */
    read_text("PTA,1736408883694238.150\t,935.5,1452.0,935.5,897,NPU:1\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

/* Two chips on one NPU: a process is on the device that the table of the chips names. */
MT_TEST(npu_smi_of_two_chips)
{
    read_text("| NPU   Name     | Health       | Power(W)   Temp(C)   Hugepages-Usage(page) |\n"
              "| Chip  Device   | Bus-Id       | AICore(%)  Memory-Usage(MB)                |\n"
              "| 2     310P3    | OK           | NA         70        0 / 0                 |\n"
              "| 0     0        | 0000:01:00.0 | 0          1417 / 44216                    |\n"
              "| 2     310P3    | OK           | NA         69        0 / 0                 |\n"
              "| 1     1        | 0000:01:00.0 | 0          1516 / 43757                    |\n"
              "| NPU   Chip     | Process id   | Process name | Process memory(MB)          |\n"
              "| 2     1        | 4711         | python       | 999                         |\n");
    MT_CHECK_EQ(l.facts.n, 3);
    check(0, MT_LOG_CARD, 0, 1417 * MIB, 44216 * MIB, "npu-smi");
    check(1, MT_LOG_CARD, 1, 1516 * MIB, 43757 * MIB, "npu-smi");
    check(2, MT_LOG_CARD_PROC, 1, 4711, 999 * MIB, "python");
    mt_log_done(&l);
    /* without that table: as many chips on each as stood there */
    read_text("| NPU   Chip     | Process id   | Process name | Process memory(MB) |\n"
              "| 0     0        | 11           | python       | 100                |\n"
              "| 0     1        | 12           | python       | 100                |\n"
              "| 1     0        | 13           | python       | 100                |\n"
              "| 1     1        | 14           | python       | 100                |\n");
    MT_CHECK_EQ(l.facts.n, 4);
    for (int i = 0; i < 4; i++)
        check((uint32_t)i, MT_LOG_CARD_PROC, i, (uint64_t)(11 + i), 100 * MIB, "python");
    mt_log_done(&l);
}

/* The number of the NPU in a cell of its own. */
MT_TEST(npu_smi_of_950)
{
    read_text("| NPU ID | Name        | Health        | Power(W)  Temp(C)  Huge        |\n"
              "|        |             | Bus-Id        | NPU Util(%) Mem  HBM(MB)       |\n"
              "+========+=============+===============+================================+\n"
              "| 0      | Ascend950PR | OK            | 276.0     69     0 / 0         |\n"
              "|        |             | 0000:71:00.0  | 99        0 / 0  8824 / 131072 |\n"
              "+========+=============+===============+================================+\n"
              "| 1      | Ascend950PR | Alarm         | 279.1     74     0 / 0         |\n"
              "|        |             | 0000:61:00.0  | 100       0 / 0  10769/131072  |\n"
              "| NPU ID | Process id  | Process name  | Process memory | in container  |\n"
              "| 1      | 2066378     | pytest        | 360            | NA            |\n"
              "| 0      | NA          | NA            | NA             | NA            |\n");
    MT_CHECK_EQ(l.facts.n, 3);
    check(0, MT_LOG_CARD, 0, 8824 * MIB, 131072 * MIB, "npu-smi");
    check(1, MT_LOG_CARD, 1, 10769 * MIB, 131072 * MIB, "npu-smi");
    check(2, MT_LOG_CARD_PROC, 1, 2066378, 360 * MIB, "pytest");
    mt_log_done(&l);
}

MT_TEST(rocm_smi_json)
{
    read_text(
        "{\n  \"card0\": {\n    \"GPU use (%)\": \"0\",\n"
        "    \"VRAM Total Memory (B)\": \"21458059264\",\n"
        "    \"VRAM Total Used Memory (B)\": \"27856896\",\n    \"Card Series\": \"N/A\"\n  },\n"
        "  \"card1\": {\n    \"VRAM Total Used Memory (B)\": \"1073741824\"\n  },\n"
        "  \"system\": {\"VRAM version\": \"6.7.0\"}\n}\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(0, MT_LOG_CARD, 0, 27856896, 21458059264, "rocm-smi");
    check(1, MT_LOG_CARD, 1, 1073741824, MT_LOG_NONE, "rocm-smi");
    MT_CHECK_EQ(l.facts.p[0].platform, 'H');
    mt_log_done(&l);
    read_text("{\"card4\": {\"VRAM Total Memory (B)\": \"85899345920\", "
              "\"VRAM Total Used Memory (B)\": 1073741824}, \"card5\": {\"VRAM Total Memory (B)\": "
              "\"N/A\", \"VRAM Total Used Memory (B)\": \"42949672960\"}}\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(0, MT_LOG_CARD, 4, 1073741824, 85899345920, "rocm-smi");
    check(1, MT_LOG_CARD, 5, 42949672960, MT_LOG_NONE, "rocm-smi");
    mt_log_done(&l);
    /* no card, strings that do not end, numbers beyond any */
    read_text(
        "\"VRAM Total Used Memory (B)\": \"5\"\n\"card1\": [\"VRAM Total \n{\"card\": {\n"
        "\"card99999999999999999999\": {\"VRAM Total Memory (B)\": \"1\"\n\"card0\": \"x\"\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

MT_TEST(rocm_smi)
{
    read_text("GPU[0]\t\t: VRAM Total Memory (B): 206141652992\n"
              "GPU[0]\t\t: VRAM Total Used Memory (B): 297000000\n"
              "GPU[1]\t\t: VRAM Total Used Memory (B): 298000000\n"
              "PID   \tPROCESS NAME\tGPU(s)\tVRAM USED\tSDMA USED\tCU OCCUPANCY\n"
              "2342   \tpython3     \t1     \t197000000\t0        \t0           \n");
    MT_CHECK_EQ(l.facts.n, 3);
    check(0, MT_LOG_CARD, 0, 297000000, 206141652992, "rocm-smi");
    check(1, MT_LOG_CARD, 1, 298000000, MT_LOG_NONE, "rocm-smi");
    check(2, MT_LOG_CARD_PROC, -1, 2342, 197000000, "python3");
    mt_log_done(&l);
}

MT_TEST(rocm_smi_csv)
{
    read_text("device,VRAM Total Memory (B),VRAM Total Used Memory (B),Card Series\n"
              "card6,309220868096,9601277952,AMD Instinct MI355X\n"
              "card7,309220868096,N/A,AMD Instinct MI355X\n"
              "card8,309220868096\n"
              "step 12,309220868096,9601277952,of a loader\n");
    MT_CHECK_EQ(l.facts.n, 1);
    check(0, MT_LOG_CARD, 6, 9601277952, 309220868096, "rocm-smi");
    mt_log_done(&l);
    /* cards that tell no number, more of them than lines that end a table */
    read_text("device,VRAM Total Memory (B),VRAM Total Used Memory (B)\n"
              "card0,309220868096,1073741824\n"
              "card1,N/A,N/A\ncard2,,\ncard3,N/A,N/A\ncard4,309220868096,N/A\n"
              "card5\ncard6,N/A\ncard7,309220868096,2147483648\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(0, MT_LOG_CARD, 0, 1073741824, 309220868096, "rocm-smi");
    check(1, MT_LOG_CARD, 7, 2147483648, 309220868096, "rocm-smi");
    mt_log_done(&l);
    read_text("device,vram Total Memory (B),vram Total Used Memory (B)\n"
              "card0,25769803776,1073741824\ncard1,34359738368,2147483648\n");
    MT_CHECK_EQ(l.facts.n, 2);
    check(1, MT_LOG_CARD, 1, 2147483648, 34359738368, "rocm-smi");
    mt_log_done(&l);
    read_text("GPU[0]\t\t: VRAM Total Memory (B): 17163091968\n"
              "GPU[0]\t\t: VRAM Total Used Memory (B): 8700000000\n"
              "GPU[0]\t\t: VIS_VRAM Total Memory (B): 268435456\n"
              "GPU[0]\t\t: VIS_VRAM Total Used Memory (B): 10000000\n");
    MT_CHECK_EQ(l.facts.n, 1);
    check(0, MT_LOG_CARD, 0, 8700000000, 17163091968, "rocm-smi");
    mt_log_done(&l);
}

static void counter(uint32_t i, enum mt_log_counter which, uint64_t want)
{
    MT_ASSERT(i < l.facts.n);
    MT_CHECK_EQ(l.facts.p[i].kind, MT_LOG_COUNTERS);
    MT_CHECK_EQ(l.facts.p[i].value[which], want);
}

MT_TEST(memory_summary)
{
    read_text("|                  PyTorch CUDA memory summary, device ID 3                 |\n"
              "|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |\n"
              "| Allocated memory      |  41108 MiB |  41589 MiB |  16245 GiB |  16205 GiB |\n"
              "|       from large pool |  41105 MiB |  41586 MiB |  16245 GiB |  16205 GiB |\n"
              "| Active memory         |  41109 MiB |  41589 MiB |  16245 GiB |  16205 GiB |\n"
              "| Requested memory      |  41000 MiB |  41484 MiB |  16205 GiB |  16164 GiB |\n"
              "| GPU reserved memory   | 786432 KiB | 786433 KiB |      1 KiB |      0 B   |\n"
              "| Non-releasable memory |    512 B   |    513 B   |    512 B   |      0 B   |\n"
              "| Allocations           |    5123    |    5400    |   999999   |   994876   |\n");
    MT_CHECK_EQ(l.facts.n, 1);
    MT_CHECK_EQ(l.facts.p[0].gpu, 3);
    counter(0, MT_LC_ALLOCATED, 41108 * MIB);
    counter(0, MT_LC_ALLOCATED_PEAK, 41589 * MIB);
    counter(0, MT_LC_ACTIVE, 41109 * MIB);
    counter(0, MT_LC_REQUESTED, 41000 * MIB);
    counter(0, MT_LC_RESERVED, 768 * MIB);
    counter(0, MT_LC_SPLIT, 512);
    counter(0, MT_LC_OOMS, 1);
    counter(0, MT_LC_RETRIES, 2);
    mt_log_done(&l);
    /* to 1.13, behind a container's prefix, twice without a head: each is one of its own */
    read_text(
        "w  | | Allocated memory      |   15159 MB |   15160 MB |   20459 MB |    5300 MB |\n"
        "w  | | Non-releasable memory |  348512 KB |  400000 KB |    5000 MB |    4660 MB |\n"
        "w  | | Allocated memory      |   15161 MB |   15162 MB |   20459 MB |    5300 MB |\n");
    MT_CHECK_EQ(l.facts.n, 2);
    counter(0, MT_LC_ALLOCATED, 15159 * MIB);
    counter(0, MT_LC_SPLIT, UINT64_C(348512) << 10);
    counter(1, MT_LC_ALLOCATED, 15161 * MIB);
    mt_log_done(&l);
}

MT_TEST(memory_stats)
{
    static const char *const forms[] = {
        "stats OrderedDict([('allocated_bytes.all.current', 5000), ('num_ooms', 2), "
        "('reserved_bytes.all.peak', 7000), ('reserved_bytes.small_pool.peak', 1)])\n",
        "{'allocated_bytes.all.current': 5000,\n 'num_ooms': 2,\n 'reserved_bytes.all.peak': 7000}",
        "{\n  \"allocated_bytes.all.current\": 5000,\n  \"num_ooms\": 2,\n"
        "  \"reserved_bytes.all.peak\": 7000\n}\n",
        "allocated_bytes.all.current: 5000 num_ooms: 2\nreserved_bytes.all.peak 7000\n",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        read_text(forms[i]);
        MT_CHECK_EQ(l.facts.n, 1);
        counter(0, MT_LC_ALLOCATED, 5000);
        counter(0, MT_LC_OOMS, 2);
        counter(0, MT_LC_RESERVED_PEAK, 7000);
        counter(0, MT_LC_SPLIT, MT_LOG_NONE);
        mt_log_done(&l);
    }
    /* code that asks for them, and a key that only ends alike */
    read_text("    print(stats['allocated_bytes.all.current'])\n"
              "{'my_allocated_bytes.all.current': 3}\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

static size_t load(const char *name, char *buf, size_t cap)
{
    char path[1024];
    FILE *f;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/samples/%s", MT_SOURCE_DIR, name);
    f = fopen(path, "rb");
    MT_CHECK(f != NULL);
    if (f != NULL) {
        n = fread(buf, 1, cap, f);
        (void)fclose(f);
    }
    return n;
}

/* Every form of settings, with brackets and quotes that are cut. */
static const char settings[] =
    "Error executing job with overrides: ['a.b=c', \"d.e=['x', 'it\\'s']\", '+f.g=[1, 2]']\n"
    "(W pid=3) $ CUDA_VISIBLE_DEVICES=0 python3 -m x.y a.b=1 --flag 'two words' \\\n"
    "(W pid=3)   --more=2 \\\n  --last `x`\n"
    "INFO non-default args: {'model': 'm', 'sizes': [1, (2, 3)], 'level': {'a': 'b}'}, 'on': "
    "True}\n"
    "server_args=ServerArgs(model_path='x', mem=0.88, none=None, off=False)\n"
    "  micro_batch_size ................................ 1\n"
    "  seq_length ...................................... 4096\n"
    "   - `--max-tokens 32768`\n"
    "root@n7:/w# vllm serve m -tp 4\n"
    "Load weight begin. avail mem=1.00 GB\nCapturing batches (bs=8 avail_mem=0.5 GB): 1%\n";

MT_TEST(what_was_set)
{
    read_text(settings);
    MT_CHECK_EQ(l.settings.n, 7);
    MT_CHECK_STR(l.settings.p[0].text,
                 " 'a.b=c' 'd.e=['\\''x'\\'', '\\''it\\'\\''s'\\'']' '+f.g=[1, 2]'");
    MT_CHECK_HAS(l.settings.p[1].text, "--flag 'two words'");
    MT_CHECK_HAS(l.settings.p[1].text, "--last");
    MT_CHECK_HAS(l.settings.p[2].text, "--sizes='[1, (2, 3)]'");
    MT_CHECK_HAS(l.settings.p[2].text, " --on");
    MT_CHECK(strstr(l.settings.p[3].text, "none") == NULL);
    MT_CHECK_STR(l.settings.p[4].text, " --micro_batch_size='1' --seq_length='4096'");
    MT_CHECK_EQ(l.settings.p[4].line, 7);
    mt_log_done(&l);
}

/* Cut behind every byte: what was read stays, and nothing is read that is not there. */
MT_TEST(cut_anywhere)
{
    static const char *const names[] = {"cards.log", "cards_npu.log", NULL};
    static char buf[16384];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = names[i] != NULL ? load(names[i], buf, sizeof buf) : sizeof settings - 1;
        uint32_t last = 0;
        MT_CHECK(n > 600 && n < sizeof buf);
        if (names[i] == NULL)
            memcpy(buf, settings, n);
        for (size_t cut = 0; cut <= n; cut++) {
            char *own = malloc(cut + 1); /* so that a read behind the end is one of nobody's */
            MT_ASSERT(own != NULL);
            memcpy(own, buf, cut);
            read_bytes(own, cut);
            if (cut != 0 && buf[cut - 1] == '\n')
                MT_CHECK(l.facts.n >= last);
            last = cut != 0 && buf[cut - 1] == '\n' ? l.facts.n : last;
            mt_log_done(&l);
            free(own);
        }
        MT_CHECK(last > (names[i] != NULL ? 5 : 0));
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Pieces over and over, and heads whose rows never come: the work stays linear. */
MT_TEST(hostile)
{
    static const char *const pieces[] = {"| | | |",
                                         "|0|0:00.0|",
                                         "MiB / ",
                                         "1MiB / 1MiB |",
                                         "memory.used [MiB], ",
                                         "0, ",
                                         "PyTorch CUDA memory summary, device ID 1 ",
                                         "allocated_bytes.all.current': 1, ",
                                         "| Allocated memory | 1 MB | ",
                                         "| 0 | 0000:00:00.0 | 1/ 2 |",
                                         "99999999999999999999",
                                         "GPU[0] VRAM Total Used Memory (B): 1 ",
                                         "moduleName,curMemSize(MB),memPeakSize(MB)",
                                         "with overrides: ['a.b=c', ",
                                         "Namespace(a=(",
                                         "python a --b 'x ",
                                         "x .... 1 ",
                                         "()[] ",
                                         "a@b#",
                                         "a.b=",
                                         "python a \\\n",
                                         "(bs=1 avail_mem=1 GB Capturing batches "};
    size_t n = (size_t)2 << 20;
    char *p = malloc(n);
    double t0 = seconds();
    MT_ASSERT(p != NULL);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        static const char head[] = "index, memory.used [MiB]\n";
        size_t k = strlen(pieces[i]);
        for (size_t at = 0; at < n; at++)
            p[at] = at % 900 == 899 ? '\n' : pieces[i][at % 900 % k];
        memcpy(p, head, sizeof head - 1);
        read_bytes(p, n);
        MT_CHECK(l.facts.n <= MT_LOG_MAX_FACTS);
        mt_log_done(&l);
    }
    MT_CHECK(seconds() - t0 < 60);
    free(p);
}

/* A watcher that fills the log leaves room for the failure. */
MT_TEST(a_series_leaves_room)
{
    size_t rows = MT_LOG_MAX_FACTS, cap = rows * 32 + 256, n = 0;
    char *p = malloc(cap);
    MT_ASSERT(p != NULL);
    n += (size_t)snprintf(p, cap, "index, memory.used [MiB]\n");
    for (size_t i = 0; i < rows; i++)
        n += (size_t)snprintf(p + n, cap - n, "0, %zu MiB\n", i % 5000);
    n += (size_t)snprintf(p + n, cap - n, "RuntimeError: CUDA error: out of memory\n");
    read_bytes(p, n);
    MT_CHECK_EQ(l.facts.p[l.facts.n - 1].kind, MT_LOG_CUDA_OOM);
    MT_CHECK_EQ(l.n_dropped, rows - MT_LOG_MAX_FACTS / 4 * 3);
    mt_log_done(&l);
    free(p);
}

MT_MAIN(MT_RUN(nvidia_smi) MT_RUN(nvidia_smi_of_old_and_alone) MT_RUN(csv) MT_RUN(npu_smi)
            MT_RUN(memory_record_of_torch_npu) MT_RUN(npu_smi_of_two_chips) MT_RUN(npu_smi_of_950)
                MT_RUN(rocm_smi_json) MT_RUN(rocm_smi) MT_RUN(rocm_smi_csv) MT_RUN(memory_summary)
                    MT_RUN(memory_stats) MT_RUN(what_was_set) MT_RUN(cut_anywhere) MT_RUN(hostile)
                        MT_RUN(a_series_leaves_room))
