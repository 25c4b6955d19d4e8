/* input/impl.h -- what the parts of the input layer share; only parser/input*.c include it.
 *
 * Bytes flow through a chain of struct mt_source: a file or pipe at the bottom, then any number of
 * decompressors, archive entries and embedded pages, each owning the one below it. Which layer
 * comes next is read from the first bytes of the one before. */
#ifndef MT_INPUT_IMPL_H
#define MT_INPUT_IMPL_H

#include "parser/input/input.h"

#include <stdatomic.h>

#include <nettle/sha2.h>

/* A compression ratio says nothing about small files. */
#define MT_RATIO_AFTER (UINT64_C(64) << 20)

/* ---- input/file.c: one file, pipe or terminal as raw bytes ---- */

struct mt_raw {
    int fd;
    bool regular;           /* has a size and can be read at any place */
    bool borrowed;          /* standard input is not ours to close */
    uint64_t size;          /* 0 = unknown */
    uint64_t device, inode; /* of a regular file */
    /* bytes handed out; bytes read twice count twice; a thread may read while others look */
    _Atomic uint64_t n_read;
    uint64_t told;                    /* n_read at the last progress call */
    const char *name;                 /* borrowed */
    const struct mt_input_opts *opts; /* borrowed */
    struct sha256_ctx hash;           /* of a pipe, as it streams by */
    bool ended;                       /* the end was seen */
    bool is_beside;                   /* a thread reads it: it tells no progress */
    char sha256[65];                  /* cached once computed */
    struct mt_hashing *hashing;       /* of a regular file, computed beside the reading */
};

/* name: a path, or "-". nofollow refuses a symbolic link as the last component. */
enum mt_rc mt_raw_open(struct mt_raw *f, const char *name, bool nofollow,
                       const struct mt_input_opts *opts, struct mt_err *err);
void mt_raw_close(struct mt_raw *f);
/* Says that --max-time is over: MT_ELIMIT. */
enum mt_rc mt_raw_fail_time(const struct mt_input_opts *opts, struct mt_err *err);
enum mt_rc mt_raw_source(struct mt_raw *f, struct mt_source **out);
/* Tells the progress, where enough was read since the last time. */
void mt_raw_tell(struct mt_raw *f, uint64_t n_read);
/* Only for the source of a regular file; false when the system refuses. */
bool mt_raw_seek(struct mt_raw *f, struct mt_source *s, uint64_t offset);

/* ---- input/hash.c: its SHA-256 ---- */

/* Begins it in a thread, where it is asked for and f is a regular file that is worth one. f->fd
 * must stay open until mt_raw_hash() or mt_raw_hash_stop(). */
void mt_raw_hash_begin(struct mt_raw *f);
/* The hash of the whole file into f->sha256, waiting for the thread; stays "" where the rules leave
 * it out, where the file cannot be read again, and for a pipe whose end was not reached. */
void mt_raw_hash(struct mt_raw *f);
/* Nobody wants it any more: ends the thread. */
void mt_raw_hash_stop(struct mt_raw *f);

/* ---- input/pack.c: which wrapping is this? ---- */

enum mt_pack {
    MT_PACK_NONE,
    MT_PACK_GZIP,
    MT_PACK_XZ,
    MT_PACK_LZMA,
    MT_PACK_ZSTD,
    MT_PACK_BZIP2,
    MT_PACK_LZ4,
    MT_PACK_TAR,
    MT_PACK_ZIP,
    MT_PACK_7Z,
    MT_PACK_HTML,
    MT_PACK_TRACE /* memtrace's own: gzip members that each hold a chunk, or the chunks themselves
                   */
};
const char *mt_pack_name(enum mt_pack p);
static inline bool mt_pack_is_container(enum mt_pack p) { return p >= MT_PACK_TAR; }
/* Looks at the first bytes, consumes nothing. */
enum mt_pack mt_pack_sniff(struct mt_source *s);
bool mt_is_data_pkl(const char *name); /* the object of a torch.save zip */

/* MT_ELIMIT when `out` bytes came from `in` and that is beyond the limit. raw may be NULL: then
 * only `in` is looked at. */
enum mt_rc mt_ratio_check(uint64_t out, uint64_t in, const struct mt_raw *raw, uint32_t max_ratio,
                          struct mt_err *err);

/* ---- decompressors: take ownership of `up`, also on failure ---- */

/* file: the regular file that `up` reads directly, or NULL. note: set to a string constant when
 * something is odd but harmless; may be NULL, must outlive the source. */
enum mt_rc mt_gzip_open(struct mt_source **out, struct mt_source *up, struct mt_raw *file,
                        const struct mt_raw *raw, uint32_t max_ratio, const char **note,
                        struct mt_err *err);
enum mt_rc mt_unpack_open(struct mt_source **out, struct mt_source *up, enum mt_pack kind,
                          const struct mt_raw *raw, uint32_t max_ratio, struct mt_err *err);

/* Where the options want it and the file is worth a thread, lets one read s, which nobody has read
 * from yet, ahead of whoever reads it; else leaves s alone. raw: the regular file that s unpacks.
 * What s says besides its bytes may be looked at once its end was seen, or it was freed. */
void mt_beside(struct mt_source *s, struct mt_raw *raw);

/* Reads all of `up` into memory, at most max bytes, to be read at any place. */
enum mt_rc mt_spool_open(struct mt_source **out, struct mt_source *up, uint64_t max,
                         struct mt_err *err);
bool mt_spool_seek(struct mt_source *s, uint64_t offset);
uint64_t mt_spool_size(const struct mt_source *s);

/* ---- containers: yield members one after the other ---- */

/* next(): 1 with *src (owned by the caller, to be freed before the next call) and *name (mt_free);
 * 0 at the end; < 0 an enum mt_rc with err: the member named in *name, or when that is NULL the
 * container, cannot be read. After an error the walk may go on; it ends when the container is
 * beyond repair. */
struct mt_box {
    int (*next)(struct mt_box *b, struct mt_source **src, char **name, struct mt_err *err);
    void (*close)(struct mt_box *b);
    enum mt_pack kind;
    bool torch_save;  /* a zip written by torch.save: <name>/data.pkl is the object */
    bool has_data;    /* an HTML page with local_files in it */
    uint64_t n_links; /* members that are other names of files, passed over */
    /* the member offered is the trace itself: its chunks, for the reader of traces */
    bool is_chunks;
    uint64_t uid; /* of the process that the member offered belongs to; 0 = unknown */
};
/* file: the regular file that `up` reads directly, or NULL; only then can the archive be read out
 * of order. */
enum mt_rc mt_archive_open(struct mt_box **out, struct mt_source *up, enum mt_pack kind,
                           struct mt_raw *file, const struct mt_raw *raw,
                           const struct mt_limits *lim, struct mt_err *err);
/* Tar files that follow each other. Bytes behind an end mark that are no tar are damage here; for
 * mt_archive_open(), which reads such files too, they are of no matter. */
enum mt_rc mt_tars_open(struct mt_box **out, struct mt_source *up, const struct mt_raw *raw,
                        const struct mt_limits *lim, struct mt_err *err);
enum mt_rc mt_html_open(struct mt_box **out, struct mt_source *up, struct mt_err *err);

/* ---- input/trace.c: a trace, with the snapshots attached to it ---- */

/* What the input layer itself had to leave out of a stream; offsets are of the compressed bytes. */
#define MT_MAX_LOSSES 24
struct mt_losses {
    struct {
        uint64_t offset;
        char text[160];
    } list[MT_MAX_LOSSES];
    uint64_t n; /* beyond MT_MAX_LOSSES only counted */
};
void mt_lose(struct mt_losses *l, uint64_t offset, const char *text);

/* Takes ownership of `up`, also on failure. file as in mt_archive_open(); losses must outlive the
 * box. */
enum mt_rc mt_trace_open(struct mt_box **out, struct mt_source *up, struct mt_raw *file,
                         const struct mt_raw *raw, const struct mt_limits *lim,
                         struct mt_losses *losses, struct mt_err *err);
/* Whether a member of a trace begins somewhere in the first 64 KiB: its first may be damaged.
 * Consumes nothing. */
bool mt_trace_inside(struct mt_source *s);

/* ---- input/dir.c: a directory tree in byte order ---- */

struct mt_dir;
enum mt_rc mt_dir_open(struct mt_dir **out, const char *path, const struct mt_limits *lim,
                       struct mt_err *err);
void mt_dir_close(struct mt_dir *d);
/* 1 with *rel (relative to the root) and *path, both to be mt_free'd; 0 at the end; < 0 with err
 * and *rel naming what failed. */
int mt_dir_next(struct mt_dir *d, char **rel, char **path, struct mt_err *err);
uint64_t mt_dir_links(const struct mt_dir *d); /* symbolic links passed over */

/* ---- input/detect.c: what is it, if no snapshot? ---- */

/* Fills err with MT_EINPUT: what the bytes are and what to do. Reads on in `s` only to find out
 * what a text is about. Returns true when it knows the format, false when it could only say "text"
 * or "bytes". */
bool mt_detect_stream(struct mt_source *s, struct mt_err *err);
/* The same from the first bytes alone; `whole` = there are no others. */
#define MT_SNAPSHOT_HOWTO                                                                          \
    "call torch.cuda.memory._record_memory_history() when the run starts and "                     \
    "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") "                                       \
    "when it fails, and name that file"
#define MT_TIMELINE_WORDS                                                                          \
    "a memory timeline of torch.profiler (export_memory_timeline), which holds no number: export " \
    "it as \"timeline.json\" or \"timeline.raw.json.gz\" instead; or " MT_SNAPSHOT_HOWTO
bool mt_detect_head(const unsigned char *p, size_t n, bool whole, struct mt_err *err);

bool mt_detect_is_text(const unsigned char *p, size_t n);

/* ---- input.c walks, input/item.c takes one stream to a reader ---- */

/* gzip, tar, gzip: a compressed archive of compressed files has three. Archives in archives beyond
 * that are a trap. */
enum { MT_MAX_LAYERS = 4 };

/* A stream on its way down, with what is known about it. */
struct mt_item {
    struct mt_source *src; /* owned */
    char *member;          /* owned; NULL = the input itself */
    char encoding[64];     /* "gzip, tar" */
    int layers;
    bool direct; /* src is the file's own source */
    bool alone;  /* the user named exactly this */
    bool chunks; /* the chunks of a trace, already unpacked */
    uint64_t uid;
};

struct mt_open_box {
    struct mt_box *b;
    char *member; /* its own name; NULL = the input itself */
    char encoding[64];
    int layers;
};

struct mt_input {
    struct mt_input_opts opts;
    char *path;
    struct mt_dir *dir; /* NULL = a single file or pipe */
    char *file_path;    /* the open file of dir */
    struct mt_raw raw;
    bool raw_open, started, told_none;
    bool over;               /* the budget of the run is spent: nothing more is read */
    struct mt_budget budget; /* where opts has none */
    bool raw_counts;         /* the open file is more than passed over: opts.opened is told of it */
    struct mt_open_box box[MT_MAX_LAYERS]; /* opened containers, outermost first */
    int n_box;
    enum mt_pack kind;         /* of the container that the file is, if it is one */
    struct mt_source *raw_src; /* borrowed from the chain of the open file */
    const char *note;          /* about the stream being read */
    struct mt_losses losses;   /* of the trace being read */
    uint64_t n_ignored, n_found, n_links;
    uint64_t n_no_line; /* of those, read as logs and without a line about memory */
    char no_line[96];   /* the first of them; printable */
};

/* ---- input/close.c ---- */

void mt_item_done(struct mt_item *it);
/* The open file: who wants to know is told of it. */
void mt_input_close_raw(struct mt_input *in);
void mt_input_close_box(struct mt_input *in); /* the innermost */
/* Closes all that in has open and frees what it owns but the path. */
void mt_input_empty(struct mt_input *in);

/* ---- input/item.c ---- */

/* Unwraps and reads one stream. MT_OK without *out: nothing to tell (a container was opened, or it
 * is no snapshot and was counted). */
enum mt_rc mt_item_read(struct mt_input *in, struct mt_item *it, struct mt_trace **out,
                        struct mt_err *err);

/* ---- input/text.c: logs, and what is neither a log nor a snapshot ---- */

/* Counts a member that is passed over. */
void mt_input_ignore(struct mt_input *in, const char *member);

/* Offers the stream to opts.text where it may be a log. *done: nothing else is to be made of it (rc
 * says how it ended). */
enum mt_rc mt_text_read(struct mt_input *in, struct mt_item *it, bool *done, struct mt_err *err);

#endif
