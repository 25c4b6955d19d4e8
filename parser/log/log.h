/* log.h -- what the text logs of a job say about memory: PyTorch's out-of-memory sentence, the
 * memory lines of vLLM, SGLang, verl and slime, NCCL's and cumem's failures, kills by Ray, Slurm
 * and the kernel.
 *
 * A log is lines of ASCII with anything in between; of a longer line the first MT_LOG_LINE bytes
 * are read. A carriage return ends a line as well (progress bars), but is not counted as one.
 * Prefixes (time stamps, "(WorkerDict pid=123)", rank tags) are looked at for pid and rank and
 * otherwise skipped. Nothing is guessed: a field that the line does not have is MT_LOG_NONE. Sizes
 * are bytes, computed from what is printed (two decimals of a GiB: so +- 5 MiB). Formats:
 * c10/cuda/CUDACachingAllocator.cpp of PyTorch 1.0 to 2.9; vLLM v0.6 to v0.12 worker and
 * gpu_worker; SGLang model_runner and memory_pool; verl utils/profiler/performance.py; Ray's memory
 * monitor; mm/oom_kill.c of Linux. A failed line may be printed many times over (tracebacks, Ray):
 * each is a fact. */
#ifndef MT_LOG_H
#define MT_LOG_H

#include "parser/base/err.h"
#include "parser/base/mem.h"
#include "parser/base/limits.h"
#include "parser/base/source.h"

#define MT_LOG_LINE 16384u
#define MT_LOG_NONE UINT64_MAX
#define MT_LOG_EXA (UINT64_C(1) << 60) /* request: "more than 1EB" */
#define MT_LOG_VALUES 9
#define MT_LOG_OPEN 8         /* writers whose tracebacks are followed at once */
#define MT_LOG_MAX_STACKS 16u /* tracebacks kept, those of the first failures */

enum mt_log_kind {
    MT_LOG_TORCH_OOM, /* values: enum mt_log_oom_value */
    /* pid, bytes: another process named in an OOM sentence; belongs to the TORCH_OOM before it */
    MT_LOG_OTHER_PROC,
    MT_LOG_NCCL_OOM,  /* bytes asked or NONE */
    MT_LOG_CUMEM_OOM, /* - : vLLM's cumem allocator could not create memory */
    MT_LOG_SAVER_OOM, /* - : torch_memory_saver could not create memory */
    /* bytes asked or NONE: another "CUDA error: out of memory"; text: whose call, "" = CUDA's. Of
       "llama.cpp" the second is enum mt_log_buffer, where it says so */
    MT_LOG_CUDA_OOM,
    /* bytes asked or NONE: CANN, the runtime of Ascend NPUs, or HCCL in it */
    MT_LOG_NPU_OOM,
    MT_LOG_CUBLAS_OOM,   /* - : CUBLAS_STATUS_ALLOC_FAILED */
    MT_LOG_VLLM_WEIGHTS, /* bytes */
    MT_LOG_VLLM_BUDGET,  /* total of the GPU, utilization in 1/10000, budget */
    /* weights, non-torch, activation peak, KV cache; after the start also graphs, and what its
       share allows */
    MT_LOG_VLLM_PROFILE,
    /* bytes available for the KV cache; 0 and how many are lacking, where it is a negative size */
    MT_LOG_VLLM_KV,
    MT_LOG_VLLM_TOKENS, /* tokens of the KV cache */
    MT_LOG_VLLM_BLOCKS, /* GPU blocks, CPU blocks */
    MT_LOG_VLLM_GRAPHS, /* bytes */
    /* free at start, total of the GPU, utilization in 1/10000, wanted: the engine refused to start
     */
    MT_LOG_VLLM_STARTUP,
    /* needed, available; tokens of the longest sequence, of the cache; NONE where not said */
    MT_LOG_VLLM_NO_KV,
    /* requests: memory ran out while the engine tried itself out with that many */
    MT_LOG_VLLM_WARMUP,
    /* free before, free after: others gave memory back while the engine measured its own */
    MT_LOG_VLLM_MEASURE,
    /* free when it began, free and batch of the last step that it tells of, 1 where it ended; text:
       "load", "capture" */
    MT_LOG_VLLM_BEGUN,
    MT_LOG_SGLANG_BEGUN,
    MT_LOG_SAVE_BEGUN, /* -, -, -, 1 where it ended: a trainer writes a checkpoint */
    /* - : another error of vLLM's cumem allocator than a lack of memory; text: its words */
    MT_LOG_POOL_ERROR,
    MT_LOG_SLEEP,          /* freed, still in use */
    MT_LOG_SGLANG_WEIGHTS, /* available after, used */
    MT_LOG_SGLANG_KV,      /* tokens, bytes */
    MT_LOG_SGLANG_POOL,    /* available after */
    MT_LOG_SGLANG_GRAPHS,  /* used, available after */
    /* tokens asked, tokens left: SGLang's KV cache had no room, and it stopped */
    MT_LOG_SGLANG_KV_FULL,
    /* - : "Not enough memory. Please try to increase --mem-fraction-static." */
    MT_LOG_SGLANG_NO_KV,
    /* - : vLLM's sleep mode: "Expandable segments are not compatible with memory pool" */
    MT_LOG_POOL_REFUSED,
    /* allocated, reserved, device used, device total; text: where ("Before update_actor") */
    MT_LOG_TORCH_USAGE,
    /* enum mt_log_counter, of PyTorch's allocator; text: which function printed them,
       "memory_summary" or "memory_stats" */
    MT_LOG_COUNTERS,
    /* used, total; text: the tool that says so, "nvidia-smi", "npu-smi", "rocm-smi" */
    MT_LOG_CARD,
    /* pid, bytes; text: name of the process. A row of such a tool; gpu -1 where it does not say */
    MT_LOG_CARD_PROC,
    /* now, most; text: the part of CANN that holds it, of the list that torch_npu writes when it
       runs out of memory */
    MT_LOG_NPU_PART,
    /* allocated, reserved, at most: a part of the process on an NPU, of the table that torch_npu's
       profiler makes; text: "PTA" (PyTorch), "GE" (CANN's graph engine), "APP" (all of it) ... */
    MT_LOG_NPU_RECORD,
    /* peak, allocated in all, allocations: of one process's host memory, by `memray stats --json`;
       pid; text: its command */
    MT_LOG_HEAP,
    /* bytes that a line allocated in all; text: the line. Belongs to the HEAP before it */
    MT_LOG_HEAP_PLACE,
    MT_LOG_HOST_USAGE, /* used, share in 1/10000: DeepSpeed's see_memory_usage, of the host */
    /* requests put off; of PyTorch's: -, asked, free, total, margin to be left free or NONE; no
       failure, it was tried again; text: by whom */
    MT_LOG_RETRIED,
    MT_LOG_NO_EXPANDABLE, /* - : PyTorch warns that expandable_segments do not exist here */
    /* bytes wanted, bytes there are: a kernel's shared memory on a multiprocessor; no want of GPU
       memory */
    MT_LOG_KERNEL_LIMIT,
    /* node used, node total, of the killed process; text: name of the task */
    MT_LOG_RAY_KILL,
    /* pid, bytes; text: the command. A row of Ray's table of what held the node's memory; belongs
       to the RAY_KILL before it */
    MT_LOG_HOST_PROC,
    /* pid, anon-rss bytes, 1 where it was the limit of a control group; text: name of the process.
       Also Slurm's report */
    MT_LOG_KERNEL_KILL,
    /* bytes asked or NONE: MemoryError, std::bad_alloc, "Cannot allocate memory" ...; text:
       "pinned", "shared" */
    MT_LOG_HOST_OOM,
    /* "Killed", exit code -9 or 137, a worker of Ray gone: not said to be for memory; of Ray's enum
       mt_log_dead, and `who` is the dead one's class where value[MT_LK_CLASS] is 1 */
    MT_LOG_KILLED,
    MT_LOG_STOPPED, /* enum mt_log_stop: a scheduler stopped the job */
    /* - : "an illegal memory access was encountered": a kernel's mistake, no want of memory */
    MT_LOG_ILLEGAL,
    /* needed, there: FlashInfer's workspace, a buffer of a fixed size, is too small; the card need
       not be full */
    MT_LOG_WORKSPACE,
    /* - : the log ends in this traceback, before the error's own line. Only where no other line
       tells of a failure */
    MT_LOG_CUT,
    MT_LOG_KIND_COUNT
};
const char *mt_log_kind_name(enum mt_log_kind k); /* "torch_oom" ... */
bool mt_log_is_of_start(enum mt_log_kind k);      /* a line that an engine writes as it starts */

enum mt_log_oom_value {
    MT_LO_REQUEST,     /* tried to allocate */
    MT_LO_CAPACITY,    /* of the GPU */
    MT_LO_FREE,        /* of the GPU */
    MT_LO_THIS,        /* this process, PyTorch and all else */
    MT_LO_ALLOCATED,   /* by PyTorch */
    MT_LO_PRIVATE,     /* of it in private pools */
    MT_LO_UNALLOCATED, /* reserved by PyTorch but unallocated */
    /* "reserved in total by PyTorch"; also allocated + unallocated of the newer sentence */
    MT_LO_RESERVED,
    MT_LO_ALLOWED /* limit set by set_per_process_memory_fraction; text "block": of one block, by
                     the platform */
};
enum mt_log_cuda {
    MT_LG_ANY,    /* nothing */
    MT_LG_TENSOR, /* a tensor's storage, as PyTorch before 1.0 allocates it */
    MT_LG_START   /* CUDA is being set up in this process */
};
/* Of a worker of Ray that died, 1 where it is so: Ray suspects the limit of its pod; its actor
 * never ran; its class is known. And its process. */
enum mt_log_dead { MT_LK_POD, MT_LK_NEVER_RAN, MT_LK_CLASS, MT_LK_PID };
/* What llama.cpp asked for. */
enum mt_log_buffer { MT_LB_NONE, MT_LB_WEIGHTS, MT_LB_CACHE, MT_LB_COMPUTE };
/* Why a scheduler stopped the job. STEP: no reason is said, and where a task of it failed before,
 * that is the reason. */
enum mt_log_stop {
    MT_LS_NONE,
    MT_LS_TIME,
    MT_LS_PREEMPTED,
    MT_LS_NODE,
    MT_LS_REQUEUED,
    MT_LS_CANCELLED,
    MT_LS_STEP
};
enum mt_log_counter {
    MT_LC_ALLOCATED, /* bytes of blocks in use, rounded up as the allocator does */
    MT_LC_ALLOCATED_PEAK,
    MT_LC_RESERVED, /* bytes of segments */
    MT_LC_RESERVED_PEAK,
    MT_LC_REQUESTED, /* what the program asked for: allocated without the rounding; since 2.0 */
    MT_LC_SPLIT,     /* free bytes of segments that are partly in use: never given back */
    MT_LC_RETRIES,   /* times that the cache was emptied because the driver had no more */
    MT_LC_OOMS,      /* failures that were raised */
    MT_LC_ACTIVE     /* allocated, and freed but in use by another stream */
};
/* TORCH_OOM without a request: the error is only named. text: "ray" = by Ray, of one of its tasks;
 * "nvml" = PyTorch failed over its message; "bare" = its words alone, "talk" = in other words,
 * "head" = by the first line of a notebook's traceback, whose last was not pasted. text
 * "observer": what a program's observer of failed allocations wrote, exact to the byte; where
 * PyTorch's own sentence follows, that line becomes a TORCH_USAGE and the sentence has its exact
 * numbers. */

struct mt_log_fact {
    enum mt_log_kind kind;
    uint64_t line;                 /* from 1 */
    uint64_t value[MT_LOG_VALUES]; /* by kind; MT_LOG_NONE where not said */
    char text[96];                 /* by kind; printable */
    /* name of the process that wrote the line: "RefWorker" of "(RefWorker pid=7)"; "" */
    char who[32];
    int32_t gpu, rank;     /* -1 = not said */
    int64_t pid;           /* of the process that wrote the line, -1 = not said */
    bool hints_expandable; /* TORCH_OOM: the sentence advises to set expandable_segments */
    bool use_not_known;    /* TORCH_OOM: instead of what a process has, it prints 2^64 bytes */
    /* TORCH_OOM: the newest PyTorch that writes this form of the sentence, as 100 x major + minor;
     * 0 = today's, or that of plugins for NPU and MLU, which keep an old one */
    uint16_t torch_at_most;
    uint16_t torch_at_least; /* the oldest that writes it; 0 = not told */
    /* 'H' = ROCm, 'N' = Ascend NPU, 'X' = Intel XPU, 'M' = Apple, 'T' = TPU,
     * 'R' = Ray's own monitor, by somebody's words; MT_LOG_GROWS = nothing failed, somebody says
     * that memory grows; 0 = CUDA, or not said
     */
    char platform;
    bool ended_above; /* *_BEGUN: a line above says that such a thing ended */
    /* of a kind that several programs write, the form that one of them alone has:
     * "torch_usage/pair"; NULL = the form tells nothing */
    const char *form;
    /* CUDA_OOM: what the line's own place in PyTorch's source says */
    enum mt_log_cuda cuda;
    /* index + 1 in mt_log.stacks of the traceback that led to it; 0 = none */
    uint32_t stack;
    /* failures and kills: index + 1 in mt_log.kept_steps of what the job last said that it is at;
     * 0 = nothing */
    uint32_t step;
};

/* A failure that a text tells in words, of the card's memory (TORCH_OOM) or of the host's
 * (HOST_OOM): there is no failure's own line. */
bool mt_log_is_talk(const struct mt_log_fact *f);

/* Right before `at`, in its clause of the sentence s, something denies what stands there: "no OOM",
 * "did not get an OOM", "without LoRA", the same in Chinese. */
bool mt_log_is_denied(const char *s, const char *at);
/* Bytes of the word that stands at p in the sentence s and denies what follows; 0 = none does. */
size_t mt_log_denial(const char *s, const char *p);
/* s has one of the words, whose list ends with NULL, also inside of others (log/letters.c). */
bool mt_log_has_one(const char *s, const char *const *words);
bool mt_log_begins(const char *s, const char *const *words); /* with one of them */
/* Bytes of the first of them that s begins with; 0 = of none. No word is empty. */
size_t mt_log_word_at(const char *s, const char *const *words);
bool mt_log_is_letter(char c); /* of ASCII */
/* Here, as the walk over each line asks it of each character. */
static inline bool mt_log_is_digit(char c) { return c >= '0' && c <= '9'; }
/* In small letters; of ASCII. */
static inline char mt_log_lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c | 32 : c); }

/* The sentence, in small letters, says that memory ran out, and that it did: not that it may, that
 * it is over, how to avoid it. Quotation marks in it may be blanked. */
bool mt_log_tells_failure(char *sentence);

/* Who wrote a line, by its prefix; -1 = not said. */
struct mt_log_writer {
    int64_t pid;
    int32_t rank;
};
struct mt_log_frame {
    char file[120]; /* its end when it is longer; printable */
    char function[64];
    uint32_t line;
};
struct mt_log_stack {
    MT_VEC(struct mt_log_frame) frames; /* outermost first */
    struct mt_log_writer writer;        /* of the lines */
    struct mt_log_writer of;            /* whose traceback it is, where Ray says so */
    char who[32];                       /* name of the process whose it is, where Ray says so */
    char by[32];                        /* and of the one that wrote its last frame */
    char method[64];                    /* and the method that it was in; else "" */
    char code[96];   /* the innermost frame's line of code, or the one right above
                        the failure where nothing else was pasted */
    uint64_t line;   /* of its last frame; 0 = not in use */
    uint64_t first;  /* line of its first frame */
    bool headed;     /* a line says that it begins here */
    bool pins;       /* the innermost line of code asks for pinned host memory */
    bool ended;      /* a line behind its last frame names what was raised */
    char called[64]; /* the last method of an object of its own that a line of code calls */
    char calls[192]; /* all of them, as far as there is room, each behind a blank */
    uint64_t named;  /* a notebook's head has the error's name: its line; else 0 */
    /* lines of code that call what the next frame is in, and what the one before it is in */
    uint32_t n_inward, n_outward;
    /* a line of code that its last frame does not lead to stands below them, or the text has no
     * such frame: it follows from the error's words */
    bool is_deeper;
    bool is_mates; /* of the driver or of another rank: what failed was elsewhere */
    /* whose methods its lines of code call, each behind a blank, of those that may be the
     * reference's: " ref" of self.ref.compute_logp(...), " reward" of self.reward.score(...) */
    char objects[64];
};

/* A line in which a job says what it is at: a bar of progress, a step that it logs. */
struct mt_log_step {
    char pattern[64]; /* the one of those handed in that it has */
    struct mt_log_writer writer;
    uint64_t line; /* 0 = not in use */
};

/* A Python file of a framework of reinforcement learning that lines name:
 * "relax/backends/megatron/actor.py". */
struct mt_log_path {
    char path[120]; /* its end when it is longer; printable */
    uint64_t n;     /* how often */
};
#define MT_LOG_MAX_PATHS 64u

/* A version as one number that can be compared: 0.8.5 of "v0.8.5.post1". */
#define MT_LOG_VERSION(a, b, c) (((uint64_t)(a) << 40) + ((uint64_t)(b) << 20) + (uint64_t)(c))
struct mt_log_version {
    const char *program; /* "vllm"; "vllm-v0" = its older engine */
    uint64_t number;     /* MT_LOG_VERSION() */
    uint64_t line;
};
#define MT_LOG_MAX_VERSIONS 8u
/* What stands at s; false where that is no version. */
bool mt_log_version_number(const char *s, uint64_t *number);

/* What the run was set to, as the log says: the words of a command line, or a line of code of the
 * job's own that a traceback shows. */
struct mt_log_settings {
    char *text; /* NULL = nothing came of it */
    size_t n;
    uint64_t line; /* the first */
    bool is_code;
    bool is_script;  /* Python, with its lines */
    bool is_file;    /* YAML, TOML or JSON, with its lines */
    bool is_cut;     /* a list of all arguments, of which a part is missing */
    uint64_t dotted; /* while it is read: the last row of a list of arguments; 0 = of none */
};

/* What a line shows that may hold the host's memory. */
enum mt_log_hint {
    MT_LH_LOAD,    /* weights are being loaded */
    MT_LH_RESUME,  /* a checkpoint is being read */
    MT_LH_DATA,    /* data are being prepared */
    MT_LH_OFFLOAD, /* an optimizer works on the CPU */
    MT_LH_SPILL,   /* Ray's object store is full */
    MT_LH_IMAGES,  /* images are among the data */
    MT_LH_COUNT
};

/* The method that an error's line names. */
struct mt_log_said {
    char text[48];
    uint64_t line;
};
#define MT_LOG_MAX_SAID 8u
#define MT_LOG_GROWS 'G'
#define MT_LOG_SAID_LINES 250u /* of a text that somebody may have written */

/* A line that is not blank, of a text of at most so many. */
struct mt_log_prose {
    char *text;
    uint64_t line;
};

struct mt_log {
    MT_VEC(struct mt_log_prose) prose; /* of a text that somebody may have written; else empty */
    struct mt_log_said said[MT_LOG_MAX_SAID];
    uint32_t n_said;
    uint64_t hint[MT_LH_COUNT]; /* the last such line; 0 = none, or what it began has ended */
    struct { /* while it is read: the last one that Ray's rows name; line 0 = none */
        char name[32];
        uint64_t pid, line;
    } actor;
    char program[48]; /* the script that a line says was started: "train.py"; "" = none does */
    bool table_alone; /* the RAY_KILL is told by the table below it, whose own line is not here */
    char module[120]; /* the file, or its end, of the first frame of a script; "" = there is none */
    /* different ones, by the lines in which programs say what they are */
    MT_VEC(struct mt_log_version) versions;
    MT_VEC(struct mt_log_fact) facts; /* in order of lines; at most MT_LOG_MAX_FACTS */
    MT_VEC(struct mt_log_path) paths; /* the first MT_LOG_MAX_PATHS different ones */
    MT_VEC(struct mt_log_stack) stacks;
    struct mt_log_stack open[MT_LOG_OPEN]; /* while it is read */
    MT_VEC(struct mt_log_step) kept_steps; /* those of the first failures */
    struct mt_log_step at[MT_LOG_OPEN];    /* while it is read: the last one of each writer */
    MT_VEC(struct mt_log_settings) settings;
    uint64_t command_line; /* while it is read: the last one, whose command goes on; 0 = none */
    uint64_t frame_line;   /* while it is read: of the last frame; its code follows */
    /* while it is read: the last line that looks like code, by whom, and where */
    char code[96];
    char code_name[64]; /* the function that stands alone above that line of code; else "" */
    struct mt_log_writer code_of;
    uint64_t code_line;
    /* while it is read: what the next lines of see_memory_usage are of */
    char label[96];
    uint64_t label_line;
    uint64_t free_line,
        free_bytes;      /* while it is read: a card of which the next line says the size */
    uint64_t table_head; /* the last head of such a table without a kill above it; 0 = none */
    uint64_t table;   /* while it is read: the last line of Ray's table of processes; 0 = in none */
    uint32_t n_begun; /* while it is read: beginnings that no line has ended */
    /* while it is read: the card that the next row is of, its line, and its size */
    uint64_t card_line, card_total;
    int32_t card;
    /* while it is read: npu-smi's chips, whose processes are told by NPU and chip */
    struct {
        int n;
        struct mt_log_chip {
            int32_t npu, chip, device;
        } p[64];
    } chips;
    struct {            /* while it is read: of memory_record.csv */
        bool on;        /* its head came */
        uint8_t shift;  /* of its numbers */
        int skip, n;    /* cells before the part's name; parts that have a fact */
        uint32_t first; /* the first of them */
    } npu_record;
    struct mt_log_columns { /* while it is read: of the table whose head came last */
        uint64_t line;      /* its last row */
        uint8_t form;       /* 0 = none */
        int n, gpu, pid, name, used, total, free;
    } columns;
    const char *const *packages, *const *steps; /* while it is read */
    uint64_t n_lines, n_bytes, n_long, n_dropped;
    uint64_t n_arm, n_x86; /* lines that name the machine's architecture, in paths or words */
    /* lines with a path behind a drive's letter (C:\\), and with one from the root on */
    uint64_t n_windows, n_unix;
    /* while it is read: the last time stamps, and how often one is later and earlier than the one
     * above it */
    char stamp[20], short_stamp[20];
    uint64_t n_later, n_earlier;
    bool newest_first;                          /* what stands above happened later */
    bool ended_load, ended_capture, ended_save; /* while it is read: a line says so */
    uint64_t n_launcher;                        /* lines of a launcher that ends its ranks */
    bool launcher_tells;    /* while it is read: a line of it says how the first one ended */
    uint64_t launcher_line; /* while it is read: the first of them that says so */
    bool names_error;       /* while it is read: a line names an error of Python's */
    uint64_t n_async;       /* lines that PyTorch adds to CUDA's errors from 1.8 on */
    bool no_memory;
    bool truncated; /* the source ended with an error; err of the reader says why */
};
#define MT_LOG_MAX_FACTS 65536u

/* The class of an actor, of its long name; has_method: the name ends in one of its methods. */
void mt_log_actor_name(char name[32], const char *s, size_t n, bool has_method);
#define MT_LOG_MAX_PACKAGES 48u
/* The file's name "train.py" that ends at `end`, and its length; 0 = it is none to be shown. */
size_t mt_log_script_name(const char *s, const char *end, const char **name);
#define MT_LOG_MAX_STEPS 96u
/* Reads all of src. packages: folders, ended by NULL, whose files are kept in `paths` when a line
 * names one; NULL = none, of more than MT_LOG_MAX_PACKAGES the first. steps: patterns, ended by
 * NULL, of lines in which jobs say what they are at, with the holes of parser/log/match.h and at
 * least four plain bytes in a row; NULL = none, of more than MT_LOG_MAX_STEPS the first. Both have
 * to outlive the call alone. MT_OK, MT_WARN (the source broke off: what was read stays), MT_ENOMEM.
 */
enum mt_rc mt_log_read(struct mt_log *out, struct mt_source *src, const char *const *packages,
                       const char *const *steps, struct mt_err *err);
void mt_log_done(struct mt_log *l);

/* One line, with its number. 0 = nothing in it. joined: the line with those that follow it, parted
 * by blanks; glued: the same without blanks, as a terminal cuts lines; both the line itself where
 * none follow. -1 = out of memory. */
int mt_log_line(struct mt_log *l, uint64_t number, const char *line, const char *joined,
                const char *glued);

#endif
