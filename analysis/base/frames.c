/* Readable frames and stacks. What counts as internal is documented in docs/rules.md: PyTorch's own
 * files, and the standard library modules that only pass a call on. */
#include "analysis/base/frames.h"
#include "analysis/base/glob.h"
#include "parser/base/find.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool has(const char *s, uint32_t n, const char *word)
{
    size_t w = strlen(word);
    return n >= w && mt_find(s, n, word, w) != NULL;
}

static bool ends(const char *s, uint32_t n, const char *tail)
{
    size_t w = strlen(tail);
    return n >= w && memcmp(s + n - w, tail, w) == 0;
}

bool mt_path_ends(const char *s, uint32_t n, const char *suffix, uint32_t len)
{
    if (n < len || (n > len && s[n - len - 1] != '/' && s[n - len - 1] != '\\'))
        return false;
    for (uint32_t i = 0; i < len; i++)
        if (s[n - len + i] != suffix[i] && !(suffix[i] == '/' && s[n - len + i] == '\\'))
            return false;
    return true;
}

/* The end of a file name, or with a final slash a directory anywhere in it; with a star the whole
 * name. One is asked of all files of a trace. */
struct path {
    const char *p;
    uint32_t n;
    bool has_star;
};

static struct path path_of(const char *p)
{
    return (struct path){p, (uint32_t)strlen(p), strchr(p, '*') != NULL};
}

static bool has_path(const struct mt_trace *t, mt_str_id id, const struct path *of)
{
    const char *file = mt_str(t, id), *path = of->p;
    uint32_t n = mt_str_len(t, id), k = of->n;
    if (of->has_star)
        return mt_glob(path, file, n);
    if (k == 0 || n < k)
        return false;
    if (path[k - 1] != '/')
        return mt_path_ends(file, n, path, k);
    if (memchr(file, '\\', n) == NULL) { /* nearly all: a text like any other */
        const char *at = file - 1;
        while ((at = mt_find(at + 1, n - (size_t)(at + 1 - file), path, k)) != NULL)
            if (at == file || at[-1] == '/')
                return true;
        return false;
    }
    for (uint32_t end = k; end <= n; end++) {
        if ((file[end - 1] == '/' || file[end - 1] == '\\') && mt_path_ends(file, end, path, k))
            return true;
    }
    return false;
}

/* The functions of a name, which few of the names that rules ask for have: a name that the trace
 * lacks costs one look. */
bool mt_trace_has_frame(const struct mt_trace *t, const char *file, const char *function)
{
    bool is_pattern = strchr(function, '*') != NULL;
    const struct path path = path_of(file);
    mt_str_id called = MT_STR_FAIL;
    if (t == NULL)
        return false;
    for (uint32_t i = 0; *function == '\0' && i < t->files.n; i++)
        if (path.n == 0 || has_path(t, t->files.p[i], &path))
            return true;
    if (*function == '\0' ||
        (!is_pattern &&
         (called = mt_strpool_find(&t->str, function, strlen(function))) == MT_STR_FAIL))
        return false;
    for (uint32_t i = 0; i < t->functions.n; i++) {
        const struct mt_function *f = &t->functions.p[i];
        bool is = is_pattern ? mt_glob(function, mt_str(t, f->name), mt_str_len(t, f->name))
                             : f->name == called;
        if (is && (path.n == 0 || has_path(t, f->file, &path)))
            return true;
    }
    return false;
}

static bool is_through(const struct mt_trace *t, mt_str_id name, mt_str_id file,
                       const char *want_file, const char *want)
{
    const char *own = mt_str(t, name);
    return (*want == '\0' || (*own == *want && strcmp(own, want) == 0)) &&
           strstr(mt_str(t, file), want_file) != NULL;
}

bool mt_trace_goes_through(const struct mt_trace *t, const char *file, const char *function)
{
    mt_str_id called;
    for (uint32_t i = 0; *function == '\0' && i < t->files.n; i++)
        if (strstr(mt_str(t, t->files.p[i]), file) != NULL)
            return true;
    if (*function == '\0' ||
        (called = mt_strpool_find(&t->str, function, strlen(function))) == MT_STR_FAIL)
        return false;
    for (uint32_t i = 0; i < t->functions.n; i++)
        if (t->functions.p[i].name == called &&
            strstr(mt_str(t, t->functions.p[i].file), file) != NULL)
            return true;
    return false;
}

bool mt_frame_is(const struct mt_trace *t, mt_frame_id id, const char *file, const char *function)
{
    return is_through(t, t->frames.p[id].name, t->frames.p[id].file, file, function);
}

bool mt_stack_goes_through(const struct mt_trace *t, mt_stack_id s, const char *file,
                           const char *function)
{
    for (; s != 0; s = t->stacks.p[s].parent)
        if (mt_frame_is(t, t->stacks.p[s].frame, file, function))
            return true;
    return false;
}

bool mt_file_is_python(const char *file, uint32_t n)
{
    return ends(file, n, ".py") || (n > 0 && file[0] == '<') || has(file, n, "/ipykernel_") ||
           has(file, n, "\\ipykernel_");
}

static bool is_relay(const char *f, uint32_t n)
{
    /* @deprecated and the like */
    static const char decorators[] = "-packages/typing_extensions.py";
    static const char *const relays[] = {"runpy.py", "threading.py", "contextlib.py",
                                         "functools.py"};
    for (size_t i = 0; i < sizeof relays / sizeof *relays; i++) {
        size_t w = strlen(relays[i]);
        const char *dir, *start;
        if (!ends(f, n, relays[i]) || n <= w || f[n - w - 1] != '/')
            continue;
        dir = f + n - w - 1; /* the component before: python3.11 or lib */
        start = dir;
        while (start > f && start[-1] != '/')
            start--;
        if ((size_t)(dir - start) >= 6 && strncasecmp(start, "python", 6) == 0)
            return strspn(start + 6, "0123456789.") == (size_t)(dir - start) - 6;
        return dir - start == 3 && strncasecmp(start, "lib", 3) == 0;
    }
    return ends(f, n, decorators);
}

/* ".../lib/python3.13/copy.py", ".../lib/python3.11/concurrent/futures/thread.py": Python's own
 * library, as where copy.deepcopy() makes a model's tensors anew. Who called it is who asked. */
static bool is_standard(const char *f, uint32_t n)
{
    static const char folder[] = "/lib/python3.";
    const char *end = f + n, *at = mt_find(f, n, folder, sizeof folder - 1);
    if (at == NULL)
        return false;
    for (at += sizeof folder - 1; at < end && *at >= '0' && *at <= '9'; at++)
        ;
    return at < end && *at == '/' && mt_find(at, (size_t)(end - at), "-packages/", 10) == NULL;
}

/* ".../ey/cey3bxvupp5....py": what torch.compile wrote, wherever its cache lies; each line of it is
 * another stack. The next frame is the line of the program that it stands for. */
static bool is_generated(const char *f, uint32_t n)
{
    static const char fx[] = "fx_generated_"; /* of torch.fx, whatever follows */
    enum { LEAST = 40, TAIL = 3 };
    uint32_t k = n >= TAIL ? n - TAIL : 0, name = n;
    if (!ends(f, n, ".py"))
        return false;
    while (name > 0 && f[name - 1] != '/')
        name--;
    if (n - name > sizeof fx && memcmp(f + name, fx, sizeof fx - 1) == 0)
        return true;
    while (k > 0 && ((f[k - 1] >= 'a' && f[k - 1] <= 'z') || (f[k - 1] >= '2' && f[k - 1] <= '7')))
        k--;
    return n - TAIL - k >= LEAST && k >= 4 && f[k] == 'c' && f[k - 1] == '/' &&
           memcmp(f + k - 3, f + k + 1, 2) == 0 && f[k - 4] == '/';
}

/* Packages that write one operation in another notation: who asked is their caller. */
static bool is_notation(const char *f, uint32_t n)
{
    static const char folder[] = "-packages/", *const names[] = {"einops/", "opt_einsum/",
                                                                 "jaxtyping/"};
    const char *end = f + n;
    while ((f = mt_find(f, (size_t)(end - f), folder, sizeof folder - 1)) != NULL) {
        f += sizeof folder - 1;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t w = strlen(names[i]);
            if ((size_t)(end - f) >= w && memcmp(f, names[i], w) == 0)
                return true;
        }
    }
    return false;
}

static bool is_slash(char c) { return c == '/' || c == '\\'; }

/* What follows ".../torch/" is a file or folder of the package. */
static bool is_torch_entry(const char *s, uint32_t n)
{
    static const char entries[] =
        "accelerator amp ao autograd backends compiler contrib cpu csrc cuda distributed "
        "distributions export fft func functional.py futures fx hub.py jit lib library.py linalg "
        "masked monitor mps mtia multiprocessing nested nn onnx optim overrides.py package "
        "profiler quantization quasirandom.py random.py serialization.py signal sparse special "
        "storage.py tensor.py testing utils xpu ";
    uint32_t len = 0;
    if (n == 0 || s[0] == '_')
        return n != 0;
    while (len < n && !is_slash(s[len]))
        len++;
    for (const char *e = entries; *e != '\0'; e += strcspn(e, " ") + 1)
        if (strcspn(e, " ") == len && memcmp(e, s, len) == 0)
            return true;
    return false;
}

/* A job may lie in a folder of that name, so outside of installed packages and PyTorch's sources
 * what it holds decides. */
bool mt_file_is_torch(const char *f, uint32_t n)
{
    enum { DIR = 5 };
    for (uint32_t at = 0; at + DIR < n; at++) {
        const char *t = memchr(f + at, 't', n - DIR - at);
        if (t == NULL)
            return false;
        at = (uint32_t)(t - f);
        if (memcmp(f + at, "torch", DIR) != 0 || !is_slash(f[at + DIR]) ||
            (at != 0 && !is_slash(f[at - 1])))
            continue;
        if ((at >= 10 && memcmp(f + at - 10, "-packages", 9) == 0) ||
            (at >= 8 && memcmp(f + at - 8, "pytorch", 7) == 0) ||
            is_torch_entry(f + at + DIR + 1, n - at - DIR - 1))
            return true;
    }
    return false;
}

bool mt_file_is_internal(const char *f, uint32_t n)
{
    return is_generated(f, n) || is_notation(f, n) || mt_file_is_torch(f, n) ||
           (n >= 8 && memcmp(f, "<frozen ", 8) == 0) || is_relay(f, n) || is_standard(f, n);
}

int mt_file_kinds_init(struct mt_file_kinds *k, const struct mt_trace *t)
{
    k->of = mt_calloc(t->str.ref.n, 1);
    return k->of != NULL;
}

void mt_file_kinds_done(struct mt_file_kinds *k)
{
    mt_free(k->of);
    k->of = NULL;
}

/* The last bytes of a path with '/' only; returns how many. */
static uint32_t slashed(const struct mt_trace *t, mt_str_id id, char *path, uint32_t cap)
{
    const char *file = mt_str(t, id);
    uint32_t n = mt_str_len(t, id);
    if (n >= cap) { /* only the end of a path tells */
        file += n - (cap - 1);
        n = cap - 1;
    }
    for (uint32_t i = 0; i < n; i++)
        path[i] = file[i] == '\\' ? '/' : file[i];
    path[n] = '\0';
    return n;
}

unsigned mt_file_look(struct mt_file_kinds *k, const struct mt_trace *t, mt_str_id file)
{
    char path[1024];
    unsigned kind = MT_FILE_KNOWN;
    uint32_t n = slashed(t, file, path, sizeof path);
    if (mt_file_is_python(path, n))
        kind |= MT_FILE_PYTHON | (mt_file_is_internal(path, n) ? MT_FILE_INTERNAL : 0u);
    if (k != NULL)
        k->of[file] = (uint8_t)kind;
    return kind;
}

mt_frame_id mt_frame_own(const struct mt_trace *t, mt_frame_id id)
{
    const struct mt_fx *fx = t->fx.n != 0 ? mt_fx_of(t, id) : NULL;
    return fx != NULL && fx->line != 0 ? fx->line : id;
}

void mt_frame_describe(const struct mt_trace *t, mt_frame_id id, struct mt_frame_view *out)
{
    mt_frame_id own = mt_frame_own(t, id);
    mt_str_id code = own != id ? mt_fx_of(t, id)->code : 0;
    const struct mt_frame *f = &t->frames.p[own];
    unsigned kind = mt_file_kind(NULL, t, f->file);
    char path[1024];
    uint32_t n = slashed(t, f->file, path, sizeof path);
    const char *cut;
    int parts = 0;
    for (cut = path + n; cut > path; cut--)
        if (cut[-1] == '/' && ++parts == 2)
            break;
    if (path + n - cut >=
        (ptrdiff_t)sizeof out->file) /* keep the end: it holds the file's own name */
        cut = path + n - (sizeof out->file - 1);
    memcpy(out->file, cut, (size_t)(path + n - cut) + 1);
    out->name = mt_str(t, code != 0 ? code : f->name);
    out->line = f->line;
    out->is_code = code != 0;
    out->is_python = (kind & MT_FILE_PYTHON) != 0;
    out->is_internal = (kind & MT_FILE_INTERNAL) != 0;
}

/* Names that stand in every allocating C++ stack and say nothing about who asked. */
static bool is_noise(const char *name, uint32_t n)
{
    static const char *const words[] = {"unwind::unwind",     "CapturedTraceback::gather",
                                        "gather_with_cpp",    "CUDACachingAllocator",
                                        "empty_cuda",         "empty_generic",
                                        "at::detail::empty_", "wrap_kernel_functor",
                                        "redispatch",         "::call(",
                                        "RegisterCUDA",       "aten::empty",
                                        "aten::new_empty",    "aten::resize_"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has(name, n, words[i]))
            return true;
    /* Where a library has no symbols of its own functions, the nearest exported one is taken: most
     * often a template of the standard library. */
    return strncmp(name, "std::", 5) == 0 || strncmp(name, "void std::", 10) == 0;
}

static const char *word_end(const char *p)
{
    while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
           *p == '_')
        p++;
    return p;
}

const char *mt_backward_op(const char *s, uint32_t n, int *len)
{
    static const char engine[] = "autograd::engine::evaluate_function: ",
                      torch[] = "torch::autograd::", backward[] = "Backward";
    bool by_engine = n > sizeof engine - 1 && memcmp(s, engine, sizeof engine - 1) == 0;
    const char *node = by_engine ? s + sizeof engine - 1 : s, *end, *word;
    if (by_engine && strncmp(node, torch, sizeof torch - 1) == 0)
        node += sizeof torch - 1;
    word = end = word_end(node);
    *len = (int)(end - node);
    if (by_engine)
        return *len != 0 ? node : NULL;
    while (word > node && word[-1] >= '0' && word[-1] <= '9')
        word--;
    return end == s + n && (size_t)(word - node) >= sizeof backward - 1 &&
                   memcmp(word - (sizeof backward - 1), backward, sizeof backward - 1) == 0
               ? node
               : NULL;
}

/* "torch::autograd::generated::DivBackward0::apply(...)" -> DivBackward0,
 * "torch::autograd::CopySlices::apply(...)" -> CopySlices; gradients that meet are added in its
 * InputBuffer. */
static bool autograd_node(const char *name, uint32_t n, const char **node, int *len)
{
    static const char prefix[] = "torch::autograd::", made[] = "generated::",
                      sum[] = "InputBuffer::add";
    const char *p = name, *e;
    if ((*node = mt_backward_op(name, n, len)) != NULL)
        return true;
    /* A trace's string is never NULL. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
    if (n < sizeof prefix - 1 || memcmp(p, prefix, sizeof prefix - 1) != 0)
        return false;
    if (strncmp(p + sizeof prefix - 1, sum, sizeof sum - 1) == 0) {
        *node = "InputBuffer";
        *len = 11;
        return true;
    }
    p += sizeof prefix - 1;
    if (strncmp(p, made, sizeof made - 1) == 0)
        p += sizeof made - 1;
    e = word_end(p);
    if (e == p || strncmp(e, "::apply(", 8) != 0)
        return false;
    *node = p;
    *len = (int)(e - p);
    return true;
}

/* The frame that names a stack without Python frames. */
static enum mt_site_kind cpp_site(const struct mt_trace *t, mt_stack_id s, mt_frame_id *frame)
{
    mt_frame_id plain = 0, first = 0;
    for (mt_stack_id i = s; i != 0; i = t->stacks.p[i].parent) {
        mt_frame_id id = t->stacks.p[i].frame;
        mt_str_id called = t->frames.p[mt_frame_own(t, id)].name;
        const char *node, *name = mt_str(t, called);
        uint32_t n = mt_str_len(t, called);
        int len;
        first = first == 0 ? id : first;
        if (autograd_node(name, n, &node, &len)) {
            *frame = id;
            return MT_SITE_AUTOGRAD;
        }
        if (plain == 0 && !is_noise(name, n))
            plain = id;
    }
    *frame = plain != 0 ? plain : first;
    return first != 0 ? MT_SITE_CPP : MT_SITE_NONE;
}

enum mt_site_kind mt_stack_site(const struct mt_trace *t, struct mt_file_kinds *k, mt_stack_id s,
                                mt_frame_id *frame)
{
    mt_frame_id python = 0;
    mt_str_id last = MT_STR_FAIL; /* frames of C++ share a file, or have none */
    unsigned kind = 0;
    for (mt_stack_id i = s; i != 0; i = t->stacks.p[i].parent) {
        mt_frame_id id = t->stacks.p[i].frame;
        mt_str_id file = t->frames.p[mt_frame_own(t, id)].file;
        kind = file != last ? mt_file_kind(k, t, file) : kind;
        last = file;
        if ((kind & MT_FILE_PYTHON) == 0)
            continue;
        if ((kind & MT_FILE_INTERNAL) == 0) {
            *frame = id;
            return MT_SITE_PYTHON;
        }
        python = python == 0 ? id : python;
    }
    if (python == 0) /* few stacks: their names are looked at only then */
        return cpp_site(t, s, frame);
    *frame = python;
    return MT_SITE_PYTHON;
}

/* The function that a frame is in: of <genexpr>, <listcomp>, <lambda> the one around it in the same
 * file, if that follows. */
static const char *function_of(const struct mt_trace *t, mt_stack_id s, mt_frame_id id)
{
    const struct mt_frame *f = &t->frames.p[id];
    bool seen = false;
    for (mt_stack_id i = s; i != 0; i = t->stacks.p[i].parent) {
        const struct mt_frame *g = &t->frames.p[t->stacks.p[i].frame];
        const char *name = mt_str(t, g->name);
        seen = seen || t->stacks.p[i].frame == id;
        if (!seen || (mt_file_kind(NULL, t, g->file) & (MT_FILE_PYTHON | MT_FILE_INTERNAL)) !=
                         MT_FILE_PYTHON)
            continue;
        if (g->file != f->file)
            break;
        if (name[0] != '<' || strcmp(name, "<module>") == 0)
            return name;
    }
    return mt_str(t, f->name);
}

char *mt_stack_label(const struct mt_trace *t, mt_stack_id s, char *buf, size_t cap)
{
    mt_frame_id id;
    enum mt_site_kind kind = mt_stack_site(t, NULL, s, &id);
    const struct mt_frame *f = &t->frames.p[id];
    struct mt_frame_view v;
    const char *node;
    int len;
    /* a script that has no ending is Python's all the same: bin/vllm */
    bool is_script = kind == MT_SITE_CPP && strcmp(mt_str(t, f->name), "<module>") == 0;
    if (kind == MT_SITE_PYTHON || is_script) {
        mt_frame_describe(t, id, &v);
        const char *name = v.name[0] == '<' ? function_of(t, s, id) : v.name;
        if (name[0] == '\0') /* a place that somebody typed */
            (void)snprintf(buf, cap, "%s:%u", v.file, v.line);
        else if (v.line == 0) /* not said */
            (void)snprintf(buf, cap, v.is_code ? "%s `%s`" : "%s %s", v.file, name);
        else
            (void)snprintf(buf, cap, v.is_code ? "%s:%u `%s`" : "%s:%u %s", v.file, v.line, name);
    } else if (kind == MT_SITE_AUTOGRAD &&
               autograd_node(mt_str(t, f->name), mt_str_len(t, f->name), &node, &len)) {
        (void)snprintf(buf, cap, "autograd %.*s", len, node);
    } else if (kind == MT_SITE_CPP) {
        const char *file = mt_str(t, f->file); /* of a log that lacks it: Python's */
        bool is_cut = file[0] == '\0' || strcmp(file, "<cut>") == 0;
        (void)snprintf(buf, cap, "%s%s", t->meta.format == MT_FMT_PROFILER || is_cut ? "" : "C++: ",
                       mt_str(t, f->name));
    } else {
        (void)snprintf(buf, cap, "(no stack recorded)");
    }
    return buf;
}
