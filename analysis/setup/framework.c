/* Which framework a trace comes from. A directory that merely has a framework's name proves nothing
 * (people keep their own scripts in a folder of that name), so a file counts when it lies where a
 * package lies: directly under site-packages, or at a place inside the package that the framework
 * itself has. */
#include "analysis/setup/framework.h"
#include "analysis/base/frames.h"

#include "analysis/base/glob.h"
#include "parser/base/find.h"
#include "parser/base/mem.h"
#include "parser/base/text.h"

#include <string.h>

static bool is_word(const char *s, const char *word, size_t n)
{
    return s[0] == word[0] && strncmp(s, word, n) == 0 && s[n] == '\0';
}

static bool in_list(const char *const *list, const char *word, size_t n)
{
    while (*list != NULL && !is_word(*list, word, n))
        list++;
    return *list != NULL;
}

static bool has(const char *s, size_t n, const char *word)
{
    return mt_find(s, n, word, strlen(word)) != NULL;
}

static bool has_any(const char *s, size_t n, const char *const *words)
{
    while (*words != NULL && !has(s, n, *words))
        words++;
    return *words != NULL;
}

/* ---- questions of a row ---- */

bool mt_framework_is_rl(const struct mt_framework_rules *r, int f)
{
    return mt_framework_at(r, f)->kind == MT_FWK_RL;
}

bool mt_framework_is_program(const struct mt_framework_rules *r, int f)
{
    const struct mt_framework *row = mt_framework_at(r, f);
    return row->kind <= MT_FWK_TUNER || (row->traits & MT_FWT_OWN_FLAGS) != 0;
}

bool mt_framework_alike(const struct mt_framework_rules *r, int a, int b)
{
    return a == b || mt_framework_at(r, a)->same_as == b || mt_framework_at(r, b)->same_as == a;
}

bool mt_framework_shares_settings(const struct mt_framework_rules *r, int f, int of)
{
    const struct mt_framework *row = mt_framework_at(r, f);
    return row->same_as == of || (of > MT_FW_NONE && (row->settings_of >> of & 1) != 0);
}

bool mt_framework_runs_in(const struct mt_framework_rules *r, int f, const char *path, size_t n)
{
    const struct mt_framework *row = mt_framework_at(r, f);
    return (row->runs_in[0] == NULL || has_any(path, n, row->runs_in)) &&
           !has_any(path, n, row->not_in);
}

mt_fw mt_framework_top(const struct mt_framework_rules *r, const uint64_t n[MT_FW_MAX],
                       uint64_t among)
{
    uint64_t driven = 0;
    mt_fw best = MT_FW_NONE;
    for (int i = 1; i < mt_framework_count(r); i++)
        if ((among >> i & 1) != 0 && n[i] != 0)
            driven |= mt_framework_at(r, i)->drives;
    for (int i = 1; i < mt_framework_count(r); i++)
        if ((among & ~driven) >> i & 1 && n[i] != 0 && (best == MT_FW_NONE || n[i] > n[best]))
            best = (mt_fw)i;
    return best;
}

mt_fw mt_framework_program(const struct mt_framework_rules *r, const uint64_t n[MT_FW_MAX])
{
    return mt_framework_top(r, n,
                            mt_framework_kind(r, MT_FWK_RL) | mt_framework_kind(r, MT_FWK_TUNER));
}

/* The package of this name; next = what must be inside of it, NULL = anything. Backends and
 * libraries run no job. */
static mt_fw package_at(const struct mt_framework_rules *r, const char *word, size_t n,
                        const char *next, size_t next_n)
{
    for (uint64_t left = mt_framework_packaged(r, word[0]); left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);
        for (const struct mt_fw_package *p = mt_framework_at(r, i)->packages; p->name != NULL; p++)
            if (is_word(p->name, word, n) && (next == NULL || in_list(p->inside, next, next_n)))
                return (mt_fw)i;
    }
    return MT_FW_NONE;
}

/* The program whose file this is, of a package that several programs lie in. */
static mt_fw program_of(const struct mt_framework_rules *r, mt_fw package, const char *path,
                        size_t n)
{
    for (int i = 1; package != MT_FW_NONE && i < mt_framework_count(r); i++)
        if (mt_framework_at(r, i)->program_in == package && mt_framework_runs_in(r, i, path, n))
            return (mt_fw)i;
    return package;
}

/* The package below site-packages; without one, the innermost place that looks like the inside of a
 * package. */
mt_fw mt_framework_of_path(const struct mt_framework_rules *r, const char *path, size_t n)
{
    static const char *const roots[] = {"site-packages", "dist-packages", NULL};
    const char *word = NULL, *end = path + n;
    size_t word_n = 0;
    bool is_below_packages = false;
    mt_fw found = MT_FW_NONE;
    for (const char *p = path; p < end; p++) {
        const char *start = p;
        size_t len;
        while (p < end && *p != '/')
            p++;
        len = (size_t)(p - start);
        if (len == 0)
            continue;
        if (len > 4 && memcmp(start + len - 4, ".egg", 4) == 0) {
            is_below_packages = true; /* a folder around the package */
            continue;
        }
        if (is_below_packages)
            return program_of(r, package_at(r, start, len, NULL, 0), path, n);
        is_below_packages = in_list(roots, start, len);
        if (word != NULL) {
            mt_fw here = package_at(r, word, word_n, start, len);
            found = here != MT_FW_NONE ? here : found;
        }
        word = start;
        word_n = len;
    }
    return program_of(r, found, path, n);
}

/* "/x/program/trainer/main.py" is the module x.program.trainer.main, of which any end may be the
 * name that the pattern has. */
bool mt_framework_is_start(const char *pattern, const char *name)
{
    char dotted[512];
    size_t n = strlen(name);
    if (n >= sizeof dotted)
        return false;
    if (strchr(pattern, ' ') != NULL || strchr(name, ' ') != NULL)
        return strchr(pattern, ' ') != NULL && mt_glob(pattern, name, n);
    n -= n > 3 && strcmp(name + n - 3, ".py") == 0 ? 3 : 0;
    for (size_t i = 0; i < n; i++)
        dotted[i] = name[i] == '/' || name[i] == '\\' ? '.' : name[i];
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || dotted[i - 1] == '.') && mt_glob(pattern, dotted + i, n - i))
            return true;
    return false;
}

mt_fw mt_framework_of_start(const struct mt_framework_rules *r, const char *name)
{
    for (int i = 1; i < mt_framework_count(r); i++)
        for (const char *const *p = mt_framework_at(r, i)->starts_as; *p != NULL; p++)
            if (mt_framework_is_start(*p, name))
                return (mt_fw)i;
    return MT_FW_NONE;
}

mt_fw mt_framework_of_process(const struct mt_framework_rules *r, const char *name)
{
    for (int i = 1; i < mt_framework_count(r); i++)
        for (const char *const *p = mt_framework_at(r, i)->processes; *p != NULL; p++) {
            const char *rest = name + strlen(*p);
            if (strncmp(name, *p, strlen(*p)) == 0 &&
                (*rest == '\0' || *rest == '_' || (*rest >= '0' && *rest <= '9') ||
                 strcmp(rest, "V2") == 0 || strcmp(rest, "Async") == 0))
                return (mt_fw)i; /* with "Base" behind it, it is another's; "EngineCore_DP0" */
        }
    return MT_FW_NONE;
}

static char small(char c) { return (char)(c >= 'A' && c <= 'Z' ? c | 32 : c); }

static bool in_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* What a word of the rules has of letters: "*pipeline" is the end of a name. */
static const char *letters(const char *word) { return word + (*word == '*'); }

/* The word stands at p by itself, or as the end of a name where it is one, and not behind
 * "without", "instead of". */
static bool stands_at(const char *line, const char *p, const char *word)
{
    static const char *const denials[] = {"without ", "instead of ", "unlike ", "not "};
    size_t n = strlen(letters(word));
    if (strncmp(p, letters(word), n) != 0 || in_name(p[n]) ||
        (*word != '*' && p > line && in_name(p[-1])))
        return false;
    while (*word == '*' && p > line && in_name(p[-1]))
        p--;
    for (size_t i = 0; i < sizeof denials / sizeof *denials; i++) {
        size_t k = strlen(denials[i]);
        if ((size_t)(p - line) >= k && strncmp(p - k, denials[i], k) == 0)
            return false;
    }
    return true;
}

/* The same, and it is no part of a path: a folder may have any name. */
static bool is_told(const char *line, const char *p, const char *word)
{
    return stands_at(line, p, word) && p[strlen(letters(word))] != '/' &&
           (p == line || p[-1] != '/');
}

static bool names(const char *line, const char *const *words)
{
    for (; *words != NULL; words++)
        for (const char *p = line; (p = strstr(p, letters(*words))) != NULL; p++)
            if (is_told(line, p, *words))
                return true;
    return false;
}

enum { LINE = 1024 }; /* bytes of a line that are looked at */

static void in_small_letters(char low[LINE], const char *line)
{
    size_t k = 0;
    for (; line[k] != '\0' && k + 1 < LINE; k++)
        low[k] = small(line[k]);
    low[k] = '\0';
}

bool mt_framework_is_said(const char *line, const char *word)
{
    char low[LINE];
    in_small_letters(low, line);
    for (const char *p = low; (p = strstr(p, letters(word))) != NULL; p++)
        if (stands_at(low, p, word))
            return true;
    return false;
}

void mt_framework_of_words(const struct mt_framework_rules *r, const char *line,
                           uint64_t n[MT_FW_MAX])
{
    char low[LINE];
    in_small_letters(low, line);
    for (int i = 1; i < mt_framework_count(r); i++)
        n[i] += names(low, mt_framework_at(r, i)->told_by);
}

mt_fw mt_framework_of_log_line(const struct mt_framework_rules *r, const char *kind)
{
    for (int i = 1; i < mt_framework_count(r); i++)
        if (in_list(mt_framework_at(r, i)->log_lines, kind, strlen(kind)))
            return (mt_fw)i;
    return MT_FW_NONE;
}

mt_fw mt_framework_of_allocator(const struct mt_framework_rules *r, const char *library)
{
    for (int i = 1; i < mt_framework_count(r); i++)
        for (const char *const *p = mt_framework_at(r, i)->allocators; *p != NULL; p++)
            if (strncmp(library, *p, strlen(*p)) == 0)
                return (mt_fw)i;
    return MT_FW_NONE;
}

bool mt_framework_is_package(const struct mt_framework_rules *r, const char *name, size_t n)
{
    for (int i = 1; i < mt_framework_count(r); i++)
        for (const struct mt_fw_package *p = mt_framework_at(r, i)->packages; p->name != NULL; p++)
            if (is_word(p->name, name, n))
                return true;
    return false;
}

bool mt_framework_is_inside(const struct mt_framework_rules *r, const char *package,
                            size_t package_n, const char *name, size_t n)
{
    for (int i = 1; i < mt_framework_count(r); i++)
        for (const struct mt_fw_package *p = mt_framework_at(r, i)->packages; p->name != NULL; p++)
            if (is_word(p->name, package, package_n) && in_list(p->inside, name, n))
                return true;
    return false;
}

/* ---- a job ---- */

bool mt_frameworks_have(const struct mt_frameworks *fw, unsigned parts)
{
    return ((fw->parts | mt_framework_at(fw->rules, fw->main)->parts) & parts) != 0;
}

uint64_t mt_frameworks_seen(const struct mt_frameworks *fw)
{
    uint64_t seen = fw->seen | MT_FW_BIT(fw->main) | MT_FW_BIT(fw->engine);
    for (int i = 1; i < mt_framework_count(fw->rules); i++)
        seen |= fw->frames[i] > 0 ? MT_FW_BIT(i) : 0;
    return seen & ~MT_FW_BIT(MT_FW_NONE);
}

/* Path with '/' only, its last bytes when it is long. */
static size_t normal(char *out, size_t cap, const char *s, size_t n)
{
    if (n > cap) {
        s += n - cap;
        n = cap;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = s[i] == '\\' ? '/' : s[i];
    return n;
}

/* The frameworks with an entry for this file. */
static uint64_t shown_in(const struct mt_framework_rules *r, const char *file, size_t n)
{
    uint64_t shown = 0;
    for (int k = 1, all = mt_framework_count(r); k < all; k++) {
        const struct mt_fw_frame *f = mt_framework_at(r, k)->frames;
        while (f->file != NULL && !has(file, n, f->file))
            f++;
        shown |= f->file != NULL ? MT_FW_BIT(k) : 0;
    }
    return shown;
}

/* What the frame shows of this framework; the first entry that fits counts. */
static const struct mt_fw_frame *frame_of(const struct mt_framework *row, const char *file,
                                          size_t n, const char *name, size_t name_n)
{
    const struct mt_fw_frame *f = row->frames;
    while (f->file != NULL && !(has(file, n, f->file) &&
                                (f->functions[0] == NULL || in_list(f->functions, name, name_n))))
        f++;
    return f->file != NULL ? f : NULL;
}

/* Whether a loss in chunks is all that is checkpointed: that says nothing of the layers. 1 when
 * something else is, -1 = out of memory. A caller's stack comes before those of what it calls. */
static int checkpoints_more_than_loss(const struct mt_trace *t, mt_str_id loss)
{
    unsigned char *in_loss = mt_calloc((size_t)t->stacks.n + 1, 1);
    int more = in_loss != NULL ? 0 : -1;
    for (uint32_t i = 1; more == 0 && i < t->stacks.n; i++) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[i].frame];
        mt_stack_id up = t->stacks.p[i].parent;
        in_loss[i] = (up < i && in_loss[up]) || f->name == loss;
        more = !in_loss[i] && strcmp(mt_str(t, f->name), "checkpoint") == 0 &&
               strstr(mt_str(t, f->file), "torch/utils/checkpoint.py") != NULL;
    }
    mt_free(in_loss);
    return more;
}

/* The engine with most frames: what one calls of another is less than what it runs itself. */
static mt_fw engine_of(const struct mt_framework_rules *r, const uint64_t *frames)
{
    mt_fw best = MT_FW_NONE;
    for (int i = 1; i < mt_framework_count(r); i++)
        if (mt_framework_at(r, i)->kind == MT_FWK_ENGINE && frames[i] != 0 &&
            (best == MT_FW_NONE || frames[i] > frames[best]))
            best = (mt_fw)i;
    return best;
}

bool mt_trace_runs_script(const struct mt_trace *t)
{
    for (uint32_t i = 0; i < t->functions.n; i++) {
        const struct mt_function *f = &t->functions.p[i];
        const char *file = mt_str(t, f->file);
        if (strcmp(mt_str(t, f->name), "<module>") == 0 && file[0] != '<' && file[0] != '\0' &&
            !mt_file_is_packaged(file) && strstr(file, "/bin/") == NULL &&
            strstr(file, "\\Scripts\\") == NULL)
            return true;
    }
    return false;
}

bool mt_frameworks_detect(const struct mt_framework_rules *r, const struct mt_trace *t,
                          struct mt_frameworks *out)
{
    /* of the frames, those that show more than the use of a library */
    uint64_t running[MT_FW_MAX] = {0};
    int more = 1;
    mt_str_id loss = 0, of = MT_STR_FAIL;
    char file[4096];
    size_t n = 0;
    bool is_cpp = true;
    uint64_t shown = 0; /* of the file */
    mt_fw fw = MT_FW_NONE;
    memset(out, 0, sizeof *out);
    out->rules = r;
    for (uint32_t i = 0; i < t->functions.n; i++) {
        const struct mt_function *f = &t->functions.p[i];
        const char *name = mt_str(t, f->name);
        size_t name_n = mt_str_len(t, f->name);
        if (f->file != of) { /* a file has many functions */
            of = f->file;
            n = normal(file, sizeof file, mt_str(t, of), mt_str_len(t, of));
            is_cpp = n == 0 || n == 2; /* "??" */
            shown = is_cpp ? 0 : shown_in(r, file, n);
            fw = is_cpp ? MT_FW_NONE : mt_framework_of_path(r, file, n);
        }
        if (is_cpp)
            out->parts |= has(name, name_n, "c10d::Reducer::") ? MT_PART_DDP : 0;
        for (uint64_t left = shown; left != 0; left &= left - 1) {
            const int k = __builtin_ctzll(left);
            const struct mt_fw_frame *shows =
                frame_of(mt_framework_at(r, k), file, n, name, name_n);
            if (shows == NULL)
                continue;
            out->seen |= MT_FW_BIT(k);
            out->parts |= shows->parts;
            if ((shows->parts & MT_PART_CHUNKED_LOSS) != 0)
                loss = f->name;
        }
        if (fw == MT_FW_NONE)
            continue;
        out->frames[fw] += f->n_frames;
        out->parts |= mt_framework_at(r, fw)->shows;
        running[fw] += mt_framework_runs_in(r, fw, file, n) ? f->n_frames : 0;
    }
    if ((out->parts & MT_PART_CHECKPOINTING) != 0 && loss != 0 &&
        (more = checkpoints_more_than_loss(t, loss)) < 0)
        return false;
    if (!more)
        out->parts &= ~(uint32_t)MT_PART_CHECKPOINTING;
    out->main = mt_framework_program(r, running);
    if (out->main == MT_FW_NONE)
        out->main = mt_framework_top(r, running, mt_framework_kind(r, MT_FWK_TRAINER));
    out->engine = engine_of(r, out->frames);
    return true;
}
