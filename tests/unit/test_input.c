/* The walk over one input: what is found in files, pipes and directories, and what is said about
 * the rest. */
#include "tests/unit/input_kit.h"

MT_TEST(plain)
{
    struct bytes s = snapshot(100);
    char want[65];
    put(at("a_rank3_pid44.json"), s.p, s.n);
    walk(&w, at("a_rank3_pid44.json"));
    MT_CHECK_STR(w.lines, "ok -||3|100\n");
    MT_CHECK_EQ(w.input_bytes, s.n);
    sha(want, s);
    MT_CHECK_STR(w.sha, want);
    MT_CHECK_EQ(w.ignored, 0);
    free(s.p);
}

MT_TEST(missing)
{
    walk(&w, at("nothing\nhere.pickle"));
    MT_CHECK_EQ(w.last_rc, MT_EIO);
    MT_CHECK_HAS(w.err, "nothing\\x0ahere.pickle: cannot open it: No such file or directory (");
    walk(&w, "");
    MT_CHECK_EQ(w.last_rc, MT_EIO);
    walk(&w, at("a_rank3_pid44.json/b"));
    MT_CHECK_HAS(w.err, "Not a directory");
}

MT_TEST(pipe_plain)
{
    struct bytes s = snapshot(5000);
    char want[65];
    sha(want, s);
    walk_pipe(&w, s);
    MT_CHECK_STR(w.lines, "ok -||-1|5000\n");
    MT_CHECK_STR(w.sha, want);
    walk_pipe(&w, (struct bytes){s.p, 0});
    MT_CHECK_EQ(w.last_rc, MT_EINPUT);
    MT_CHECK_HAS(w.err, "standard input: this is an empty file");
    free(s.p);
}

MT_TEST(directory)
{
    struct bytes s = snapshot(3), gz, x = bytes_of("x", 1);
    mkdir(at("d"), 0755);
    mkdir(at("d/b"), 0755);
    mkdir(at("d/empty"), 0755);
    put(at("d/rank_10.json"), s.p, s.n);
    put(at("d/rank_2.json"), s.p, s.n);
    MT_ASSERT(pack(at("d/b/rank7.json.gz"), "raw", "gzip", NULL, "x", s, NULL));
    gz = slurp(at("d/b/rank7.json.gz"));
    MT_ASSERT(pack(at("d/c.tar"), "tar", "", NULL, "in/rank1.json.gz", gz, "in/log.txt", x, NULL));
    put_text(at("d/train.log"), "Traceback (most recent call last):\n");
    put_text(at("d/config.json"), "{\"lr\": 0.1}");
    put_text(at("d/empty.bin"), "");
    put_text(at("d/page.html"), "<!DOCTYPE html><html></html>");
    MT_ASSERT(symlink("../d", at("d/loop")) == 0);
    MT_ASSERT(symlink("rank_2.json", at("d/latest.json")) == 0);
    MT_ASSERT(symlink("/nowhere/at/all", at("d/dangling")) == 0);
    MT_ASSERT(mkfifo(at("d/pipe"), 0644) == 0);
    walk(&w, at("d"));
    MT_CHECK_STR(w.lines, "ok b/rank7.json.gz|gzip|7|3\nok c.tar/in/rank1.json.gz|tar, "
                          "gzip|1|3\nok rank_10.json||10|3\nok rank_2.json||2|3\n");
    MT_CHECK_EQ(w.ignored, 5);
    MT_CHECK_EQ(w.input_bytes, s.n);
    /* a file that promises to be a snapshot and is none deserves a word */
    put_text(at("d/snapshot_rank3.pickle"), "");
    put_text(at("d/snapshot_rank4.pickle"),
             "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n");
    walk(&w, at("d"));
    MT_CHECK_EQ(w.n_ok, 4);
    MT_CHECK_EQ(w.n_err, 2);
    MT_CHECK_HAS(w.lines, "/d/snapshot_rank3.pickle: this is an empty file");
    MT_CHECK_HAS(w.lines, "/d/snapshot_rank4.pickle: this is a git-lfs pointer");
    walk(&w, at("d/empty"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "d/empty: no memory snapshot in this directory");
    if (geteuid() != 0) {
        MT_ASSERT(chmod(at("d/rank_10.json"), 0) == 0);
        walk(&w, at("d"));
        MT_CHECK_EQ(w.n_err, 3);
        MT_CHECK_HAS(w.lines, "/d/rank_10.json: cannot open it: Permission denied");
        MT_CHECK_HAS(w.lines, "ok rank_2.json");
    }
    free(s.p), free(gz.p), free(x.p);
}

MT_TEST(hash_when_asked)
{
    struct bytes s = snapshot(5);
    char want[65];
    size_t n = ((size_t)8 << 20) + 1; /* with a thread of its own, and below without one */
    s.p = realloc(s.p, n);
    MT_ASSERT(s.p != NULL);
    memset(s.p + s.n, ' ', n - s.n);
    for (int i = 0; i < 2; i++) {
        put(at("asked.json"), s.p, n);
        sha(want, (struct bytes){s.p, n});
        opts.sha256 = false;
        walk(&w, at("asked.json"));
        MT_CHECK_EQ(w.n_ok, 1);
        MT_CHECK_STR(w.sha, "");
        walk_pipe(&w, (struct bytes){s.p, n});
        MT_CHECK_EQ(w.n_ok, 1);
        MT_CHECK_STR(w.sha, "");
        opts.sha256 = true;
        walk(&w, at("asked.json"));
        MT_CHECK_STR(w.sha, want);
        walk_pipe(&w, (struct bytes){s.p, n});
        MT_CHECK_STR(w.sha, want);
        n = s.n;
    }
    free(s.p);
}

/* Large enough for a thread of its own. The walk goes on behind a file that is refused while it is
 * hashed, and the next one has its own hash. */
MT_TEST(hash_of_a_refused_file)
{
    static const char calls[] = "\x80\x02}(X\x08\0\0\0segmentscos\nsystem\n";
    struct bytes s = snapshot(5), bad = {calloc(1, (size_t)8 << 20), (size_t)8 << 20};
    char want[65];
    size_t n = (size_t)1 << 20;
    s.p = realloc(s.p, n);
    if (s.p == NULL || bad.p == NULL)
        abort();
    memcpy(bad.p, calls, sizeof calls - 1);
    memset(s.p + s.n, ' ', n - s.n);
    s.n = n;
    MT_CHECK_EQ(mkdir(at("refused"), 0700), 0);
    put(at("refused/a_snapshot.pickle"), bad.p, bad.n);
    put(at("refused/b.json"), s.p, s.n);
    sha(want, s);
    walk(&w, at("refused"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_STR(w.sha, want);
    free(s.p), free(bad.p);
}

static const struct {
    const char *p;
    size_t n;
    const char *says;
} strange[] = {
    {"", 0, "an empty file"},
    {"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 63\n", 62,
     "run `git lfs pull`"},
    {"\x7f"
     "ELF\x02\x01\x01",
     7, "(ELF)"},
    {"\x89PNG\r\n\x1a\n....", 12, "PNG picture"},
    {"\x93NUMPY\x01\0v\0{'descr'", 18, "NumPy array"},
    {"\x89HDF\r\n\x1a\n....", 12, "HDF5"},
    {"\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}", 26, "safetensors"},
    {"<?xml version=\"1.0\"?><a/>", 25, "XML text"},
    {"Rar!\x1a\x07\x01\0", 8, "RAR archive"},
    {"#!/bin/bash\necho\n", 17, "a script"},
    {"\xff\xfe{\0\"\0", 6, "UTF-16"},
    {"[rank0]: Traceback (most recent call last):\n  x\ntorch.OutOfMemoryError: CUDA out of "
     "memory. Tried\n",
     97, "CUDA out of memory"},
    {"W0101 torch\nTraceback (most recent call last):\n  x\nKeyError: 1\n", 61, "Python traceback"},
    {"hello world, this is text\n", 26,
     "this is a text that is no memory snapshot (it starts with \"hello world, thi"},
    {"\x01\x02\xfe\0\x03", 5, "it starts with \"\\x01\\x02\\xfe\\x00\\x03\""},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, "nothing but zero bytes"},
};

/* JSON of torch.profiler: the raw form, and that of times and categories. A list of pairs is
 * anybody's. */
MT_TEST(a_timeline_of_the_profiler_is_read)
{
    static const char *const texts[] = {
        "[[-1, 1, 37632, 0], [-1, 1, 602112, 2], [1756681317989303899, 4, -602112, 2]]",
        "[[1694, 1695, 1696], [[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8]]]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_text(at("timeline"), texts[i]);
        walk(&w, at("timeline"));
        MT_CHECK_EQ(w.n_err, 0);
    }
    put_text(at("timeline"), "[[1, 2, 3, 4], [1, 9, 3, 4]]");
    walk(&w, at("timeline"));
    MT_CHECK_HAS(w.err, "begin as a memory timeline of torch.profiler");
    put_text(at("pairs"), "[[1, 2], [3, 4]]");
    walk(&w, at("pairs"));
    MT_CHECK_HAS(w.err, "a list without objects");
}

MT_TEST(what_is_it)
{
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        put(at("strange"), strange[i].p, strange[i].n);
        walk(&w, at("strange"));
        MT_CHECK_EQ(w.n_err, 1);
        MT_CHECK_EQ(w.last_rc, MT_EINPUT);
        MT_CHECK_HAS(w.err, strange[i].says);
        MT_CHECK_HAS(w.err, "strange: ");
        if (strange[i].n > 0) {
            struct bytes b = bytes_of(strange[i].p, strange[i].n);
            MT_ASSERT(pack(at("strange.gz"), "raw", "gzip", NULL, "x", b, NULL));
            free(b.p);
            walk(&w, at("strange.gz"));
            MT_CHECK_HAS(w.err, strange[i].says);
            MT_CHECK_HAS(w.err, "inside the gzip: ");
        }
    }
}

/* The error stands at the end of a long log. */
MT_TEST(long_log)
{
    FILE *f = fopen(at("train.log"), "wb");
    MT_ASSERT(f != NULL);
    for (int i = 0; i < 40000; i++)
        fprintf(f, "(WorkerDict pid=%d) step %d loss 1.0\n", 1000 + i % 8, i);
    fputs("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", f);
    fclose(f);
    walk(&w, at("train.log"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_EQ(w.last_rc, MT_EINPUT);
}

struct seen {
    uint64_t calls, done, total;
    char name[1024];
};

static void on_progress(void *arg, const char *name, uint64_t done, uint64_t total)
{
    struct seen *s = arg;
    s->calls++;
    MT_CHECK(done >= s->done);
    s->done = done;
    s->total = total;
    snprintf(s->name, sizeof s->name, "%s", name);
}

MT_TEST(progress)
{
    struct seen seen = {0};
    struct bytes s = snapshot(60000);
    put(at("prog.json"), s.p, s.n);
    opts.progress = on_progress;
    opts.progress_arg = &seen;
    walk(&w, at("prog.json"));
    opts.progress = NULL;
    MT_CHECK(seen.calls >= 4 && seen.calls <= s.n >> 20);
    MT_CHECK_EQ(seen.total, s.n);
    MT_CHECK_STR(seen.name, at("prog.json"));
    free(s.p);
}

/* The window over bytes in memory ends near where they do: whoever reads on leaves the block. */
MT_TEST(memory_is_a_source)
{
    static const size_t sizes[] = {0, 1, 63, 4096, (1 << 18) - 1, 1 << 18, (1 << 18) + 5};
    unsigned char *bytes = malloc((1 << 18) + 5);
    MT_CHECK(bytes != NULL);
    for (size_t i = 0; i < (1 << 18) + 5; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct mt_source *src = NULL;
        MT_CHECK_EQ(mt_source_mem(&src, bytes, sizes[i]), MT_OK);
        MT_CHECK(src->cap <= sizes[i] + 1);
        MT_CHECK_EQ(mt_source_need(src, sizes[i] + 1), sizes[i]); /* asked for more than there is */
        MT_CHECK(src->eof && src->status == MT_OK);
        MT_CHECK(memcmp(src->cur, bytes, sizes[i]) == 0);
        mt_source_free(src);
    }
    free(bytes);
}

MT_TEST(shared_data)
{
    char path[1200];
    MT_REQUIRE_SHARED();
    snprintf(path, sizeof path, "%s/torch/derived/bad_lfs_pointer.pickle", mt_shared_data());
    walk(&w, path);
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "git lfs pull");
    snprintf(path, sizeof path,
             "%s/torch/derived/verl_pr851_megatron_vllm_mempools_torch2.6.json.gz",
             mt_shared_data());
    walk(&w, path);
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_HAS(w.lines, "|gzip|");
}

MT_MAIN(MT_SET_UP MT_RUN(plain) MT_RUN(missing) MT_RUN(pipe_plain) MT_RUN(directory)
            MT_RUN(hash_when_asked) MT_RUN(hash_of_a_refused_file)
                MT_RUN(a_timeline_of_the_profiler_is_read) MT_RUN(what_is_it) MT_RUN(long_log)
                    MT_RUN(progress) MT_RUN(memory_is_a_source) MT_RUN(shared_data))
