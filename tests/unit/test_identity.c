/* Rank, process and host from the file names that frameworks write, and from none that merely look
 * alike. */
#include "parser/base/mem.h"
#include "parser/input/input.h"
#include "tests/unit/mt_test.h"

static const struct {
    const char *name;
    int32_t rank;
    int64_t pid;
    const char *host; /* "" = none */
} table[] = {
    /* verl */
    {"torch_memory_rank7_pid12345.pickle", 7, 12345, ""},
    {"step3/torch_memory_rank0_pid999.pickle", 0, 999, ""},
    {"post_update_step12_rank3_pid77.pickle", 3, 77, ""},
    {"oom_rank15_pid4194304.pickle.gz", 15, 4194304, ""},
    {"my tag_rank2_pid5.pickle.zst", 2, 5, ""},
    {"20250101-1200/actor_rank31_pid8.pickle", 31, 8, ""},
    /* AReaL */
    {"step_1/snapshot_rank00_p0d0c0t0.pickle", 0, -1, ""},
    {"snapshot_rank13_p1d2c0t1.pickle", 13, -1, ""},
    {"/log/memory_snapshots/step_0/snapshot_rank128_p3d15c0t1.pickle.xz", 128, -1, ""},
    /* slime, Relax */
    {"memory_snapshot_time1718000000.123_rank5_snapshot.pickle", 5, -1, ""},
    {"memory_snapshot_time1718000000_rank63_snapshot.pickle", 63, -1, ""},
    /* Megatron-LM */
    {"snapshot_oom_rank_9.pickle", 9, -1, ""},
    {"mem/snapshot_oom_rank_511.pickle", 511, -1, ""},
    /* of sequence lengths, of steps, of ranks: the name alone does not say */
    {"snapshot_0.pickle", -1, -1, ""},
    {"memory_train_128.pickle", -1, -1, ""},
    /* torchtitan */
    {"profiling/memory_snapshot/step_000000000010/000003_step_10.pickle", 3, -1, ""},
    {"000000_step_100.pickle", 0, -1, ""},
    {"profiling/memory_snapshot/step_000000000010_exit/leaf/001023_step_10.pickle", 1023, -1, ""},
    {"iteration_5_exit/rank2_memory_snapshot.pickle", 2, -1, ""},
    {"iteration_10/rank14_memory_snapshot.pickle", 14, -1, ""},
    /* lmms-engine */
    {"oom_rank11.pickle", 11, -1, ""},
    /* Ray's logs, and logs of a rank */
    {"session_latest/logs/worker-0f3a9c12de45-01000000-4711.out", -1, 4711, ""},
    {"worker-0f3a9c12de45-01000000-4711.err", -1, 4711, ""},
    {"worker-3-4711.out", -1, -1, ""},
    {"worker-0f3a9c12de45-01000000-x1.out", -1, -1, ""},
    {"logs/rank_5.log", 5, -1, ""},
    {"global_rank=17/memory.pickle", 17, -1, ""},
    {"actor_rollout/node2-gpu5/memory.pickle", -1, -1, ""},
    {"local_rank_3.log", -1, -1, ""},
    /* SGLang */
    {"1718000000.5-TP-3-memory.pickle", 3, -1, ""},
    {"abc-TP-1-DP-0-EP-2-memory.pickle", 1, -1, ""},
    {"abc-TP-1-DP-0.trace.json.gz", -1, -1, ""},
    /* PyTorch */
    {"node-17.cluster_4242.1718000000123.pt.trace.json", -1, 4242, "node-17.cluster"},
    {"gpu01_4242.1718000000123456789.pt.trace.json.gz", -1, 4242, "gpu01"},
    {"devvm123_May_03_12_33_10.pickle", -1, -1, "devvm123"},
    {"gpu-7.example_Dec_31_23_59_59.html", -1, -1, "gpu-7.example"},
    /* a directory per rank */
    {"rank3/snapshot.pickle", 3, -1, ""},
    {"run/rank_12/step_5/snapshot.pickle.gz", 12, -1, ""},
    {"rank1/torch_memory_rank4_pid6.pickle", 4, 6, ""},
    {"dump\\rank6\\snapshot.pickle", 6, -1, ""},
    {"Rank8.pickle", 8, -1, ""},
    {"RANK=3.json", 3, -1, ""},
    {"fsdp_world_size_8_rank_2.pickle", 2, -1, ""},
    /* numbers that are something else */
    {"snapshot.pickle", -1, -1, ""},
    {"snapshot_2024.pickle", -1, -1, ""},
    {"snapshot_20240131.pickle", -1, -1, ""},
    {"snapshot_1718000000.pickle", -1, -1, ""},
    {"snapshot_007.pickle", -1, -1, ""},
    {"memory_snapshot_step_100.pickle", -1, -1, ""},
    {"snapshot_epoch_3.pickle", -1, -1, ""},
    {"snapshot_iter_20.pickle", -1, -1, ""},
    {"snapshot_v_2.pickle", -1, -1, ""},
    {"memory_gpu_1.pickle", -1, -1, ""},
    {"step_100.pickle", -1, -1, ""},
    {"epoch_3.pickle", -1, -1, ""},
    {"results_12.pickle", -1, -1, ""},
    {"snapshot_3.log", -1, -1, ""},
    {"snapshot_5/trace.pickle", -1, -1, ""},
    {"100_step_5.pickle", -1, -1, ""},
    {"000003_step_10_x.pickle", -1, -1, ""},
    {"lora_rank16_snapshot.pickle", -1, -1, ""},
    {"lora_rank16_rank3.pickle", 3, -1, ""},
    {"local_rank2.pickle", -1, -1, ""},
    {"frank12.pickle", -1, -1, ""},
    {"ranks8.pickle", -1, -1, ""},
    {"rank.pickle", -1, -1, ""},
    {"rank_.pickle", -1, -1, ""},
    {"rank99999999999.pickle", -1, -1, ""},
    {"rank99999999999999999999999999.pickle", -1, -1, ""},
    {"rapid7.pickle", -1, -1, ""},
    {"host_May_3_12_33_10.pickle", -1, -1, ""},
    {"a b_May_03_12_33_10.pickle", -1, -1, ""},
    {"12_34.1718000000123.pt.trace.json", -1, -1, ""},
    {"memory_snapshot_time1718000000.123.pickle", -1, -1, ""},
    {"", -1, -1, ""},
    {"/", -1, -1, ""},
    {"///", -1, -1, ""},
    {"-", -1, -1, ""},
    {".pickle", -1, -1, ""},
    {"rank3/", 3, -1, ""},
    {"rank\n3_pid\x01"
     "4.pickle",
     -1, -1, ""},
};

MT_TEST(names)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int32_t rank = 99;
        int64_t pid = 99;
        char *host = NULL;
        int before = mt_n_failed;
        mt_name_identity(table[i].name, &rank, &pid, &host);
        MT_CHECK_EQ(rank, table[i].rank);
        MT_CHECK_EQ(pid, table[i].pid);
        MT_CHECK_STR(host != NULL ? host : "", table[i].host);
        if (mt_n_failed != before)
            printf("# name: \"%s\"\n", table[i].name);
        mt_free(host);
    }
}

MT_TEST(numbers_that_may_be_ranks)
{
    static const struct {
        const char *name;
        int32_t number;
    } names[] = {{"snapshot_0.pickle", 0},
                 {"snapshot_17.pickle", 17},
                 {"a/b/snapshot_255.pickle.gz", 255},
                 {"memory_3.pkl", 3},
                 {"memory_train_128.pickle", 128},
                 {"snapshot_1000.pickle", -1},
                 {"snapshot_007.pickle", -1},
                 {"memory_snapshot_step_100.pickle", -1},
                 {"memory_gpu_1.pickle", -1},
                 {"results_12.pickle", -1},
                 {"snapshot_3.log", -1},
                 {"snapshot_5/trace.pickle", -1},
                 {"snapshot_.pickle", -1},
                 {"", -1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        MT_CHECK_EQ(mt_name_number(names[i].name), names[i].number);
}

/* Every prefix of every name, so that no look-ahead leaves the string. */
MT_TEST(prefixes)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = strlen(table[i].name);
        for (size_t k = 0; k <= n; k++) {
            int32_t rank;
            int64_t pid;
            char *host, *s = malloc(k + 1);
            MT_ASSERT(s != NULL);
            memcpy(s, table[i].name, k);
            s[k] = '\0';
            mt_name_identity(s, &rank, &pid, &host);
            MT_CHECK(rank >= -1 && pid >= -1 && mt_name_number(s) >= -1);
            mt_free(host);
            free(s);
        }
    }
    MT_CHECK_EQ(mt_mem_used(), 0);
}

MT_TEST(no_memory)
{
    int32_t rank;
    int64_t pid;
    char *host = NULL;
    mt_mem_fail_after(1);
    mt_name_identity("gpu01_4242.1718000000123.pt.trace.json", &rank, &pid, &host);
    mt_mem_fail_after(0);
    MT_CHECK(host == NULL);
    MT_CHECK_EQ(pid, 4242);
}

MT_MAIN(MT_RUN(names) MT_RUN(numbers_that_may_be_ranks) MT_RUN(prefixes) MT_RUN(no_memory))
