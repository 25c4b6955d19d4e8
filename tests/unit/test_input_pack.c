/* Compressed files, archives, archives in archives, and the pages of _memory_viz. */
#include "tests/unit/input_kit.h"

static const struct {
    const char *format, *filter, *encoding;
    bool streams;
} kinds[] = {
    {"tar", "", "tar", true},
    {"tar", "gzip", "gzip, tar", true},
    {"tar", "xz", "xz, tar", true},
    {"tar", "zstd", "zstd, tar", true},
    {"tar", "bzip2", "bzip2, tar", true},
    {"tar", "lz4", "lz4, tar", true},
    {"zip", "", "zip", true},
    {"7zip", "", "7z", false},
};

MT_TEST(single_filters)
{
    static const char *const filters[] = {"gzip", "xz", "zstd", "bzip2", "lz4", "lzma"};
    struct bytes s = snapshot(3000);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        char want[256], sum[65];
        struct bytes b;
        if (!pack(at("x"), "raw", filters[i], NULL, "x", s, NULL)) {
            printf("# this libarchive cannot write %s\n", filters[i]);
            continue;
        }
        walk(&w, at("x"));
        snprintf(want, sizeof want, "ok -|%s|-1|3000\n", filters[i]);
        MT_CHECK_STR(w.lines, want);
        b = slurp(at("x"));
        sha(sum, b);
        MT_CHECK_STR(w.sha, sum);
        MT_CHECK_EQ(w.input_bytes, b.n);
        walk_pipe(&w, b);
        MT_CHECK_STR(w.lines, want);
        MT_CHECK_STR(w.sha, sum);
        MT_CHECK_EQ(w.input_bytes, b.n);
        free(b.p);
    }
    free(s.p);
}

MT_TEST(archives)
{
    struct bytes a = snapshot(10), b = snapshot(2000), c = snapshot(30),
                 text = bytes_of("just a note\n", 12);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char want[512], sum[65];
        const char *e = kinds[i].encoding;
        struct bytes all;
        if (!pack(at("ar"), kinds[i].format, kinds[i].filter, NULL, "run/", none, "run/rank_0.json",
                  a, "notes.txt", text, "run/rank_1.json", b, "empty", (struct bytes){text.p, 0},
                  "run/rank_10.json", c, NULL)) {
            printf("# this libarchive cannot write %s %s\n", kinds[i].format, kinds[i].filter);
            continue;
        }
        snprintf(want, sizeof want,
                 "ok run/rank_0.json|%s|0|10\nok run/rank_1.json|%s|1|2000\nok "
                 "run/rank_10.json|%s|10|30\n",
                 e, e, e);
        walk(&w, at("ar"));
        if (kinds[i].streams)
            MT_CHECK_STR(w.lines, want);
        MT_CHECK_EQ(w.n_ok, 3);
        MT_CHECK_EQ(w.ignored, 2);
        all = slurp(at("ar"));
        sha(sum, all);
        MT_CHECK_STR(w.sha, sum);
        walk_pipe(&w, all);
        if (kinds[i].streams)
            MT_CHECK_STR(w.lines, want);
        MT_CHECK_EQ(w.n_ok, 3);
        MT_CHECK_STR(w.sha, "");
        free(all.p);
    }
    free(a.p), free(b.p), free(c.p), free(text.p);
}

MT_TEST(stored_zip_by_pipe)
{
    struct bytes a = snapshot(100), b = snapshot(7), all;
    MT_ASSERT(
        pack(at("s.zip"), "zip", "", "zip:compression=store", "r0.json", a, "r1.json", b, NULL));
    all = slurp(at("s.zip"));
    walk_pipe(&w, all);
    MT_CHECK_STR(w.lines, "ok r0.json|zip|-1|100\nok r1.json|zip|-1|7\n");
    free(a.p), free(b.p), free(all.p);
}

MT_TEST(links_in_archives)
{
    struct bytes a = snapshot(4);
    MT_ASSERT(pack(at("l.tar"), "tar", "", NULL, "r0.json", a, "link.json", none, NULL));
    walk(&w, at("l.tar"));
    MT_CHECK_STR(w.lines, "ok r0.json|tar|-1|4\n");
    MT_CHECK_EQ(w.links, 1);
    /* another name of a file that is there is no second snapshot; of one that is not, it is a loss,
     * and what follows is read */
    MT_ASSERT(
        pack(at("h.tar"), "tar", "", NULL, "r0.json", a, "=rank1.json", a, "rank2.json", a, NULL));
    walk(&w, at("h.tar"));
    MT_CHECK_STR(w.lines, "ok r0.json|tar|-1|4\nok rank2.json|tar|2|4\n");
    MT_CHECK_EQ(w.links, 1);
    MT_CHECK_EQ(w.n_err, 0);
    MT_ASSERT(pack(at("d.tar"), "tar", "gzip", NULL, "=rank1.json", a, "rank2.json", a, NULL));
    walk(&w, at("d.tar"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "rank1.json: it is a hard link to r0.json, which does not stand before it");
    MT_CHECK_HAS(w.lines, "ok rank2.json|gzip, tar|2|4\n");
    MT_ASSERT(pack(at("only.tar"), "tar", "", NULL, "link.json", none, NULL));
    walk(&w, at("only.tar"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "and 1 link, which is not followed");
    free(a.p);
}

/* Cut anywhere, in one stream or the second of two: never taken for whole, and it is said what was
 * read. */
MT_TEST(cut_streams)
{
    static const char *const filters[] = {"xz", "zstd", "bzip2", "lz4", "lzma"};
    struct bytes s = snapshot(30000);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        struct bytes b;
        if (!pack(at("x"), "raw", filters[i], NULL, "x", s, NULL))
            continue;
        b = slurp(at("x"));
        for (size_t n = 100; n < b.n; n += n + 64 < b.n ? b.n / 23 + 1 : 1) {
            put(at("cut"), b.p, n);
            walk(&w, at("cut"));
            MT_CHECK_EQ(w.n_ok, 0);
            MT_CHECK_EQ(w.n_err + w.n_damaged, 1);
            MT_CHECK_HAS(w.n_err != 0 ? w.err : w.diag, "stream ends early at compressed offset");
            MT_CHECK_HAS(w.n_err != 0 ? w.err : w.diag, "bytes could be unpacked");
        }
        free(b.p);
    }
    free(s.p);
}

MT_TEST(nested)
{
    struct bytes a = snapshot(500), gz, zst, zip, tgz;
    MT_ASSERT(pack(at("m.gz"), "raw", "gzip", NULL, "x", a, NULL));
    gz = slurp(at("m.gz"));
    MT_ASSERT(pack(at("m.zst"), "raw", "zstd", NULL, "x", a, NULL));
    zst = slurp(at("m.zst"));
    MT_ASSERT(pack(at("n.tar"), "tar", "", NULL, "rank0.json.gz", gz, "rank1.json.zst", zst, NULL));
    walk(&w, at("n.tar"));
    MT_CHECK_STR(w.lines, "ok rank0.json.gz|tar, gzip|0|500\nok rank1.json.zst|tar, zstd|1|500\n");
    MT_ASSERT(pack(at("n.zip"), "zip", "", NULL, "rank0.json.zst", zst, NULL));
    walk(&w, at("n.zip"));
    MT_CHECK_STR(w.lines, "ok rank0.json.zst|zip, zstd|0|500\n");
    zip = slurp(at("n.zip"));
    MT_ASSERT(pack(at("n.tgz"), "tar", "gzip", NULL, "b/n.zip", zip, "rank5.json", a, NULL));
    walk(&w, at("n.tgz"));
    MT_CHECK_STR(
        w.lines,
        "ok b/n.zip/rank0.json.zst|gzip, tar, zip, zstd|0|500\nok rank5.json|gzip, tar|5|500\n");
    tgz = slurp(at("n.tgz"));
    MT_ASSERT(pack(at("deep.zip"), "zip", "", NULL, "n.tgz", tgz, "rank2.json", a, NULL));
    walk(&w, at("deep.zip"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.lines, "error ");
    MT_CHECK_HAS(w.lines, "deep.zip: n.tgz/b/n.zip/rank0.json.zst: packed more than 4 times (zip, "
                          "gzip, tar, zip, and now zstd)");
    MT_CHECK_HAS(w.lines, "ok n.tgz/rank5.json|zip, gzip, tar|5|500\nok rank2.json|zip|2|500\n");
    free(a.p), free(gz.p), free(zst.p), free(zip.p), free(tgz.p);
}

MT_TEST(encrypted)
{
    struct bytes a = snapshot(5);
    if (!pack(at("e.zip"), "zip", "", "zip:encryption=traditional", "rank0.json", a, "rank1.json",
              a, NULL))
        printf("# this libarchive cannot encrypt\n");
    else {
        walk(&w, at("e.zip"));
        MT_CHECK_EQ(w.n_err, 1);
        MT_CHECK_EQ(w.last_rc, MT_EINPUT);
        MT_CHECK_HAS(
            w.err, "e.zip: rank0.json: this member (and maybe others of the archive) is encrypted");
    }
    free(a.p);
}

MT_TEST(archive_without_snapshot)
{
    struct bytes t = bytes_of("hello", 5);
    MT_ASSERT(pack(at("no.zip"), "zip", "", NULL, "a.txt", t, "b.txt", t, NULL));
    walk(&w, at("no.zip"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "no.zip: no memory snapshot in this zip file (2 other files in it)");
    MT_ASSERT(pack(at("none.zip"), "zip", "", NULL, NULL));
    walk(&w, at("none.zip"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_EQ(w.last_rc, MT_EINPUT);
    free(t.p);
}

MT_TEST(torch_save)
{
    struct bytes s = snapshot(9), v = bytes_of("3\n", 2), bad = bytes_of("{\"lr\": 1}", 9);
    MT_ASSERT(pack(at("t.pt"), "zip", "", "zip:compression=store", "archive/data.pkl", s,
                   "archive/version", v, "archive/data/0", s, NULL));
    walk(&w, at("t.pt"));
    MT_CHECK_STR(w.lines, "ok archive/data.pkl|zip|-1|9\n");
    MT_CHECK_EQ(w.ignored, 2);
    MT_ASSERT(pack(at("c.pt"), "zip", "", "zip:compression=store", "model/data.pkl", bad,
                   "model/version", v, NULL));
    walk(&w, at("c.pt"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "c.pt: model/data.pkl: this is a torch.save file (a checkpoint?)");
    mkdir(at("ckpt"), 0755);
    MT_ASSERT(rename(at("c.pt"), at("ckpt/c.pt")) == 0);
    put(at("ckpt/rank4.json"), s.p, s.n);
    walk(&w, at("ckpt"));
    MT_CHECK_STR(w.lines, "ok rank4.json||4|9\n");
    free(s.p), free(v.p), free(bad.p);
}

MT_TEST(pages)
{
    struct bytes a = snapshot(3000), b = snapshot(11), page;
    for (int pad = 0; pad < 3; pad++) {
        a.p[a.n++] = ' '; /* there is room */
        html(at("p_rank6.html"), a, "snapshot.json", none);
        walk(&w, at("p_rank6.html"));
        MT_CHECK_STR(w.lines, "ok snapshot.json|html|6|3000\n");
    }
    html(at("p.html"), a, "rank0.json", b);
    walk(&w, at("p.html"));
    MT_CHECK_STR(w.lines, "ok rank0.json|html|0|3000\nok rank1\xc3\xa9\".json|html|1|11\n");
    page = slurp(at("p.html"));
    walk_pipe(&w, page);
    MT_CHECK_EQ(w.n_ok, 2);
    /* a cut page: the first snapshot is damaged or whole, nothing hangs */
    for (size_t n = 0; n < page.n; n += page.n / 150 + 1) {
        put(at("cut.html"), page.p, n);
        walk(&w, at("cut.html"));
        MT_CHECK(w.n_ok + w.n_damaged + w.n_err > 0);
        if (n > 5000) {
            MT_CHECK_EQ(w.n_ok + w.n_damaged, 1 + (n > page.n - 500));
            MT_CHECK_HAS(w.n_ok == 0 ? w.diag : w.err, n == page.n ? "" : "ends early at offset");
        }
    }
    /* a byte that is no base64 */
    page.p[page.n / 2] = '*';
    put(at("bad.html"), page.p, page.n);
    walk(&w, at("bad.html"));
    MT_CHECK_EQ(w.n_damaged, 1);
    MT_CHECK_EQ(w.n_ok, 1);
    MT_CHECK_HAS(w.lines, "ok rank1");
    free(page.p);
    put_text(at("empty.html"),
             "<!-- saved from url=(0011)about:blank -->\n<html><body>hi</body></html>");
    walk(&w, at("empty.html"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "this is an HTML page without a memory snapshot in it");
    put_text(at("timeline.html"),
             "<html>\n<head><meta charset=\"utf-8\" /><title>GPU Memory Timeline "
             "HTML</title></head>\n<body>\n"
             "  <img src='data:image/png;base64,iVBORw0KGgo='>\n</body>\n</html>");
    walk(&w, at("timeline.html"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err,
                 "the picture of a memory timeline of torch.profiler (export_memory_timeline)");
    put_text(at("odd.html"), "<html><script>local_files = [17, {}]</script>");
    walk(&w, at("odd.html"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "not as PyTorch's _memory_viz writes them");
    put_text(at("nodata.html"), "<html><script>local_files = [{\"name\": \"x\", \"more\": {\"a\": "
                                "[1, \"}]\"]}}, {\"base64\": \"\"}]</script>");
    walk(&w, at("nodata.html"));
    MT_CHECK_EQ(w.n_err, 1);
    MT_CHECK_HAS(w.err, "no memory snapshot in this html file (1 other");
    free(a.p), free(b.p);
}

MT_MAIN(MT_SET_UP MT_RUN(single_filters) MT_RUN(archives) MT_RUN(stored_zip_by_pipe)
            MT_RUN(links_in_archives) MT_RUN(cut_streams) MT_RUN(nested) MT_RUN(encrypted)
                MT_RUN(archive_without_snapshot) MT_RUN(torch_save) MT_RUN(pages))
