/* log/match.h -- patterns of log lines: text with holes. For this room alone.
 *
 * Holes: %b size with unit, %s size with the letter of one ("1.5G"), %G a number that means GiB, %n
 * whole number, %r fraction in 1/10000, %% a percent sign, %t text up to the next character of the
 * pattern (at most 95 bytes). A blank matches any run of blanks, also none before a hole. A pattern
 * may occur anywhere in a line. Matching is linear in the line. */
#ifndef MT_LOG_MATCH_H
#define MT_LOG_MATCH_H

#include "parser/log/log.h"

struct mt_log_got {
    uint64_t v[MT_LOG_VALUES];
    int n;
    const char *text;
    size_t n_text;
};

/* End of the first match in s, or NULL. */
const char *mt_log_find(const char *s, const char *pattern, struct mt_log_got *g);

/* ---- log/fact.c ---- */

/* A fact without values; NULL when there are too many (counted), or no memory (noted in l). */
struct mt_log_fact *mt_log_blank(struct mt_log *l, enum mt_log_kind kind, uint64_t number);
void mt_log_keep_text(struct mt_log_fact *f, const char *p, size_t n);
int32_t mt_log_small(uint64_t v); /* -1 when it is larger than that */
bool mt_log_has_stack(enum mt_log_kind k);
/* "RefWorker" of "(RefWorker pid=7, ip=...) text"; else out stays. */
void mt_log_name(char out[32], const char *s);
/* Who wrote the line s, as the text before `end` says (NULL = the whole line). */
struct mt_log_writer mt_log_writer(const char *s, const char *end);

/* ---- log/add.c ---- */

/* As mt_log_blank(), with the writer that the line names and the traceback that led to it. */
struct mt_log_fact *mt_log_add(struct mt_log *l, enum mt_log_kind kind, uint64_t number,
                               const char *line);

/* ---- log/rows.c, log/usage.c: 1 when the line is one of theirs ---- */

int mt_log_row(struct mt_log *l, uint64_t number, const char *s);
int mt_log_usage(struct mt_log *l, uint64_t number, const char *s);

/* ---- log/kills.c, log/errors.c: the same ---- */

int mt_log_kill(struct mt_log *l, uint64_t number, const char *s); /* mt_log_row()'s lines too */
/* log/cards.c, log/counters.c: what tools and PyTorch's allocator print about whole cards. */
int mt_log_cards(struct mt_log *l, uint64_t line, const char *s);
int mt_log_counters(struct mt_log *l, uint64_t number, const char *s);
int mt_log_npu_record(struct mt_log *l, uint64_t line, const char *s); /* log/npu_record.c */
/* log/memray.c: what `memray stats --json` writes. */
int mt_log_memray(struct mt_log *l, uint64_t number, const char *s);
int mt_log_rocm_json(struct mt_log *l, uint64_t number, const char *s); /* log/rocm_json.c */
/* log/ray.c: glued as for mt_log_line(). */
int mt_log_ray(struct mt_log *l, uint64_t number, const char *s, const char *glued);
/* At the end of the log: its table without the line of the kill, which it never prints alone. */
void mt_log_ray_end(struct mt_log *l);
int mt_log_stopped(struct mt_log *l, uint64_t number, const char *s);    /* log/stopped.c */
int mt_log_tensorflow(struct mt_log *l, uint64_t number, const char *s); /* log/tensorflow.c */
int mt_log_ggml(struct mt_log *l, uint64_t number, const char *s);       /* log/ggml.c */
int mt_log_begun(struct mt_log *l, uint64_t number, const char *line);   /* log/begun.c */
/* The newest line stands first: what ended stands above its beginning. */
void mt_log_begun_below(struct mt_log *l);
/* log/bare.c: the failure's name alone, in any case. */
int mt_log_bare(struct mt_log *l, uint64_t number, const char *line);
/* log/talk.c: in the end words about a failure are dropped that do not count: where the log has the
 * failure's own line, where it says that none was. */
void mt_log_talk_end(struct mt_log *l);
int mt_log_gpu_error(struct mt_log *l, uint64_t number, const char *s);
bool mt_log_is_cumem(const char *s);
/* f->cuda, by the file that the line of f names. */
void mt_log_thc(struct mt_log_fact *f, const char *s);
/* log/torch.c: the numbers of PyTorch's sentence into f; returns how many it has. */
int mt_log_torch_sentence(struct mt_log_fact *f, const char *s);
/* And those that it has as people type it. is_whole: no number of it is cut in two. */
void mt_log_torch_typed(struct mt_log_fact *f, const char *s, bool is_whole);
/* It says of a process that it has 2^64 bytes. */
bool mt_log_use_not_known(const char *s);
/* log/log.c: where the words of PyTorch on cudaMallocAsync begin; NULL = they are not in it. */
const char *mt_log_async(const char *s);
/* log/log.c: the line ends within PyTorch's sentence, before the size that was asked for. */
bool mt_log_breaks_off(const char *s);
/* "CUDA Error: invalid argument at .../cumem_allocator.cpp:119". */
int mt_log_pool_error(struct mt_log *l, uint64_t number, const char *s);
/* An allocation that is tried once more. */
int mt_log_first_try(struct mt_log *l, uint64_t number, const char *s);
/* "Reported by CUDA: Free memory/Total memory: ...", which XLA writes below its failure. */
int mt_log_xla_card(struct mt_log *l, uint64_t number, const char *s);
/* The name at s[at, at + n) stands in code or in a text about it: "if (e == hipErrorOutOfMemory)".
 */
bool mt_log_is_code(const char *s, const char *at, size_t n);

/* ---- log/settings.c: 1 when the line says what the run was set to ---- */
int mt_log_settings_line(struct mt_log *l, uint64_t number, const char *s);
/* One more, that begins in that line; NULL = there are too many. And more text of it. */
struct mt_log_settings *mt_log_settings_item(struct mt_log *l, uint64_t number);
void mt_log_settings_add(struct mt_log *l, struct mt_log_settings *s, const char *p, size_t n);
/* log/fences.c: the scripts and the settings that a text shows, behind mt_log_prose_end(). */
void mt_log_fences_end(struct mt_log *l);
/* log/blocks.c: what stands in the text's lines from `from` up to `to`, between fences of which the
 * first names a language or none, where it is settings as a file has them. */
bool mt_log_block_fenced(struct mt_log *l, uint32_t from, uint32_t to, const char *language);
/* The same without fences, where the lines at `from` are that, up to `end` at most. Returns where
 * to go on. */
uint32_t mt_log_block_bare(struct mt_log *l, uint32_t from, uint32_t end);
/* log/prose.c: the line is a logger's, "ERROR: CUDA out of memory. ...": the traceback behind it is
 * the same call's. */
bool mt_log_is_loggers(const struct mt_log *l, uint64_t line);
/* log/prose.c: these lines of the text, with the empty ones between them. */
void mt_log_settings_lines(struct mt_log *l, struct mt_log_settings *s, uint32_t from, uint32_t to);
/* A line of a text that may have a command in it: any that has a flag. */
bool mt_log_may_start(uint64_t number, const char *line);
void mt_log_settings_done(struct mt_log *l);
/* Where the command begins that the line is; NULL = it is none. */
const char *mt_log_command_at(const char *s);
/* The first word, with its quotation mark, of a command that the line prints as a list of Python's;
 * NULL = it has none. */
const char *mt_log_command_list(const char *s);
/* A line of a command, given its item, which may be NULL: without quotation marks of Markdown; a
 * backslash at its end goes on in the next line. */
void mt_log_command_add(struct mt_log *l, struct mt_log_settings *s, uint64_t number,
                        const char *p);
/* Past the number that a listing puts before a line of a command; s where there is none. */
const char *mt_log_behind_number(const char *s);

/* ---- log/overrides.c ---- */

/* The line is an override of Hydra's, and no command stands before it. */
bool mt_log_override_list(struct mt_log *l, uint64_t number, const char *s);
/* Four flags and more in one line, with no command. */
bool mt_log_flag_list(struct mt_log *l, uint64_t number, const char *s);
bool mt_log_may_set(uint64_t number, const char *line); /* it may be a line of these two */
/* As many flags in lines of their own, a script's name among them, from that line of the prose on.
 * Returns the line behind them; from = they are not that. */
uint32_t mt_log_flag_block(struct mt_log *l, uint32_t from, uint32_t end);

/* ---- log/program.c ---- */

/* Notes in l->program which script the line starts, where it is the first that does. */
void mt_log_program_line(struct mt_log *l, const char *s);

/* ---- log/hints.c: sets l->hint ---- */
void mt_log_hint_line(struct mt_log *l, uint64_t number, const char *s);

/* ---- log/steps.c ---- */

/* Notes what the line says that the job is at. */
void mt_log_step_line(struct mt_log *l, uint64_t number, const char *s);
/* Gives the failure f the last such line of its writer. */
void mt_log_step_take(struct mt_log *l, struct mt_log_fact *f);

/* ---- log/version.c: versions of programs; a line with one may state another fact too ---- */
void mt_log_version_line(struct mt_log *l, uint64_t line, const char *s);

/* ---- log/order.c ---- */

/* Notes the time with which any line begins. */
void mt_log_clock_line(struct mt_log *l, const char *s);
/* At the end of the log: l->newest_first, and what ended then. */
void mt_log_order_end(struct mt_log *l);

/* ---- log/cut.c ---- */

/* Notes who wrote a frame, and whether a line behind one names an error. */
void mt_log_cut_line(struct mt_log *l, uint64_t number, const char *s);
/* At the end of the log: MT_LOG_CUT. */
void mt_log_cut_end(struct mt_log *l);

/* ---- log/observer.c ---- */

/* Lines that a program's own observer of failed allocations writes; 1 when it is one. */
int mt_log_observer(struct mt_log *l, uint64_t number, const char *s);
/* PyTorch's sentence f, if it is the failure that such an observer saw: gets its exact numbers. */
void mt_log_observed(struct mt_log *l, struct mt_log_fact *f);

/* ---- log/json.c ---- */

/* Undoes the escapes of the object in JSON that a line is, or ends in, in place, and of those in
 * its strings: newlines that a logger put into its text are newlines again. The new length;
 * *before: bytes in front of the object. What has no object stays. */
size_t mt_log_unescape(char *s, size_t n, size_t *before);

/* ---- log/frames.c: lines that are frames ---- */

struct mt_log_at { /* in the line, or what stands for it */
    const char *path, *end, *name;
    size_t n_name;
    uint64_t line; /* 0 = not said */
};
/* The end of a path into out, with '/' for Windows' backslashes, of which a string has two: rules
 * know files by that. Its length; nothing ends it. */
size_t mt_log_slashes(char *out, size_t cap, const char *path, const char *end);
bool mt_log_frame_quoted(struct mt_log_at *a, const char *s); /* Python's own */
bool mt_log_frame_of_ipython(struct mt_log_at *a, const char *s);
bool mt_log_frame_of_page(struct mt_log_at *a, const char *s); /* older notebooks; cells */
/* What is left of a frame: `line 9, in step`, `File actor.py, line 9, in step`, `actor.py:9 in
 * step`, `at step (actor.py:9)`. */
bool mt_log_frame_cut(struct mt_log_at *a, const char *s);
/* `masked_ce.py:74 logits = logits.float()`, `-> masked_ce.py line 74: ...`, as people type it: the
 * code behind it, NULL = it is none. The function has no name. */
const char *mt_log_frame_typed(struct mt_log_at *a, const char *s);
/* pytest's and rich's. glued: with the lines that follow */
bool mt_log_frame_boxed(struct mt_log_at *a, const char *s, const char *glued);

/* log/settings.c. What the line of code below a frame of the job's own gives its calls
 * ("generate(ids, max_new_tokens=2048)") is a setting of it. */
void mt_log_code_settings(struct mt_log *l, uint64_t number, const char *file, const char *code);

/* ---- log/code.c ---- */

/* The text of a line of code, in s; NULL = it looks like none. */
const char *mt_log_code_in(const char *s);
/* s begins with code, and calls something: "x = f(y)", "return a.b(", "loss.backward()". */
bool mt_log_is_bare_code(const char *s);
/* The line of code calls that function. */
bool mt_log_calls(const char *code, const char *function);
/* Python's own frame between a with statement, which is the line of code above it, and what that
 * enters. */
bool mt_log_enters_with(const struct mt_log_at *a);
/* A line that states nothing: kept where it looks like one of code, which people paste without its
 * frame. */
void mt_log_code_line(struct mt_log *l, uint64_t number, const char *s);

/* ---- log/stack.c ---- */

/* Whether the line is part of a traceback. glued: with the lines that follow, for a frame that a
 * terminal cut. Out of memory is noted in l. */
bool mt_log_stack_line(struct mt_log *l, uint64_t number, const char *s, const char *glued);
/* The line led to no failure of memory: where it names another error, the writer's traceback led to
 * that one. */
void mt_log_stack_close(struct mt_log *l, const char *s);
/* At the end of the log. */
void mt_log_stacks_end(struct mt_log *l);
/* The failure of a log that has one alone, however often it is told; NULL = none, or several.
 * *placed: a line of it has its place. */
struct mt_log_fact *mt_log_only_failure(struct mt_log *l, bool *placed);
/* Keeps a stack for the failure f, and empties it. */
void mt_log_stack_keep(struct mt_log *l, struct mt_log_stack *s, struct mt_log_fact *f);
/* The fact is what the writer's last traceback led to. */
void mt_log_stack_take(struct mt_log *l, uint64_t number, struct mt_log_fact *f,
                       struct mt_log_writer who);
/* ---- log/actor.c ---- */

/* Ray's rows about an actor, and what it says further of one that died. */
void mt_log_actor_line(struct mt_log *l, uint64_t number, const char *s);
/* Of a worker of Ray that died, in line s: whose it was. */
void mt_log_actor_take(struct mt_log *l, struct mt_log_fact *f, const char *s);

/* A worker died, and the writer's last traceback is that of who waited for it: f gets the method
 * that it had called. */
void mt_log_stack_called(struct mt_log *l, struct mt_log_fact *f, struct mt_log_writer who);
/* One more frame of s, the innermost. */
void mt_log_stack_push(struct mt_log *l, struct mt_log_stack *s, const struct mt_log_at *a,
                       const char *function);
/* log/told_place.c: at the end of the log, the place that a sentence tells of a failure without
 * one. */
void mt_log_told_place(struct mt_log *l);
/* log/method.c. Lines that say in words what was going on - vLLM's "while processing method
 * load_model: ..." and "Failed to load model", a warning of FSDP that gathers a state dict -: a
 * frame, where there is none. */
void mt_log_stack_method(struct mt_log *l, uint64_t number, struct mt_log_fact *f, const char *s);
/* Gives f, where it has none, the stack that an observer wrote below it. */
void mt_log_stack_below(struct mt_log *l, struct mt_log_writer who, struct mt_log_fact *f);
void mt_log_stacks_done(struct mt_log *l);

/* First hole of the first match, or MT_LOG_NONE. */
uint64_t mt_log_value(const char *s, const char *pattern);
/* The same where the pattern begins at p. */
uint64_t mt_log_value_at(const char *p, const char *pattern);
/* Of a line of JSON, with p behind the quote that opens a key: what stands behind "key":. NULL =
 * that is another key. */
const char *mt_log_json_value(const char *p, const char *key);

/* log/kills.c */
void mt_log_launcher(struct mt_log *l, uint64_t number, const char *s);

/* log/prose.c */
void mt_log_prose_line(struct mt_log *l, uint64_t number, const char *line);
void mt_log_prose_end(struct mt_log *l);
void mt_log_prose_done(struct mt_log *l);

/* log/said.c */
bool mt_log_may_say(uint64_t number, const char *line);
void mt_log_said_line(struct mt_log *l, uint64_t number, const char *line);

#endif
