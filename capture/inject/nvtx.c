/* nvtx.c -- NVTX ranges and marks of all domains, in any process, with or without CUDA.
 *
 * NVTX loads the library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2() with
 * the tables of functions to fill (abi_nvtx.h). The old libnvToolsExt.so calls
 * InitializeInjectionNvtx(), with the same tables. Categories, colours, payloads and resources are
 * not recorded. Nothing here calls CUPTI. */
#include "capture/inject/abi_nvtx.h"
#include "capture/inject/ranges.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 4096u
#define KEPT_MAX (8u << 20) /* bytes of registered strings and domain names */

MTI_EXPORT int InitializeInjectionNvtx2(mti_nvtx_export get);
MTI_EXPORT int InitializeInjectionNvtx(mti_nvtx_export get);

static _Atomic size_t kept;
static _Atomic uint32_t domains;

/* ---- texts ---- */

/* UTF-8 of a wide string. wchar_t has 32 bits here; pairs of surrogates come from programs that
 * think it has 16. */
static size_t utf8(const wchar_t *s, char *out, size_t room)
{
    size_t n = 0;
    while (*s != 0 && n + 4 <= room) {
        uint32_t c = (uint32_t)*s++;
        if (c >= 0xd800 && c < 0xdc00 && (uint32_t)*s >= 0xdc00 && (uint32_t)*s < 0xe000)
            c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)*s++ - 0xdc00);
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        if (c < 0x80) {
            out[n++] = (char)c;
        } else if (c < 0x800) {
            out[n++] = (char)(0xc0 | c >> 6);
            out[n++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            out[n++] = (char)(0xe0 | c >> 12);
            out[n++] = (char)(0x80 | (c >> 6 & 63));
            out[n++] = (char)(0x80 | (c & 63));
        } else {
            out[n++] = (char)(0xf0 | c >> 18);
            out[n++] = (char)(0x80 | (c >> 12 & 63));
            out[n++] = (char)(0x80 | (c >> 6 & 63));
            out[n++] = (char)(0x80 | (c & 63));
        }
    }
    return n;
}

/* Kept for ever: a handle may be used by any thread at any time, and a program registers a string
 * once. NULL when there are too many. */
static struct mti_text *keep(const char *s, size_t n)
{
    size_t bytes = sizeof(struct mti_text) + n;
    if (atomic_fetch_add(&kept, bytes) + bytes > KEPT_MAX) {
        atomic_fetch_sub(&kept, bytes);
        return NULL;
    }
    struct mti_text *t = malloc(bytes);
    if (t == NULL)
        return NULL;
    *t = (struct mti_text){.bytes = (uint32_t)n};
    memcpy(t->text, s, n);
    return t;
}

static struct mti_text *keep_ascii(const char *s)
{
    int saved = errno;
    struct mti_text *t = s != NULL ? keep(s, strnlen(s, NAME_MAX_BYTES)) : NULL;
    errno = saved;
    return t;
}

static struct mti_text *keep_wide(const wchar_t *s)
{
    char text[NAME_MAX_BYTES];
    int saved = errno;
    struct mti_text *t = s != NULL ? keep(text, utf8(s, text, sizeof text)) : NULL;
    errno = saved;
    return t;
}

/* ---- one function for each shape of call ---- */

typedef void *domain_handle;

static struct mti_range range_of(domain_handle domain, const char *text)
{
    return (struct mti_range){MT_WS_NVTX, domain, NULL, text,
                              text != NULL ? strnlen(text, NAME_MAX_BYTES) : 0};
}

/* What a range or mark is to be called; `wide` is where the text of a wide message goes. */
static struct mti_range range_ex(domain_handle domain, const struct mti_nvtx_attributes *a,
                                 char *wide)
{
    struct mti_range r = range_of(domain, NULL);
    if (a == NULL || a->size < offsetof(struct mti_nvtx_attributes, message) + sizeof a->message)
        return r;
    if (a->message_kind == MTI_NVTX_ASCII && a->message.ascii != NULL)
        return range_of(domain, a->message.ascii);
    if (a->message_kind == MTI_NVTX_WIDE && a->message.wide != NULL) {
        r.text = wide;
        r.bytes = utf8(a->message.wide, wide, NAME_MAX_BYTES);
    } else if (a->message_kind == MTI_NVTX_REGISTERED) {
        /* Handles are ours, so what they point at may be written. */
        memcpy(&r.registered, &a->message.registered, sizeof r.registered);
    }
    return r;
}

static struct mti_range range_wide(const wchar_t *message, char *wide)
{
    struct mti_range r = range_of(NULL, NULL);
    if (message != NULL) {
        r.text = wide;
        r.bytes = utf8(message, wide, NAME_MAX_BYTES);
    }
    return r;
}

static int push(const struct mti_range *r)
{
    if (!mti_enter())
        return MTI_NVTX_NO_TRACKING;
    int level = mti_range_push(r);
    mti_leave();
    return level;
}

static uint64_t start(const struct mti_range *r)
{
    if (!mti_enter())
        return 0;
    uint64_t id = mti_range_start(r);
    mti_leave();
    return id;
}

static void mark(const struct mti_range *r)
{
    if (!mti_enter())
        return;
    mti_range_mark(r);
    mti_leave();
}

/* ---- the functions of the tables ---- */

static void domain_mark(domain_handle domain, const struct mti_nvtx_attributes *a)
{
    char wide[NAME_MAX_BYTES];
    struct mti_range r = range_ex(domain, a, wide);
    mark(&r);
}
static uint64_t domain_start(domain_handle domain, const struct mti_nvtx_attributes *a)
{
    char wide[NAME_MAX_BYTES];
    struct mti_range r = range_ex(domain, a, wide);
    return start(&r);
}
static int domain_push(domain_handle domain, const struct mti_nvtx_attributes *a)
{
    char wide[NAME_MAX_BYTES];
    struct mti_range r = range_ex(domain, a, wide);
    return push(&r);
}
static void domain_end(domain_handle domain, uint64_t id)
{
    if (!mti_enter())
        return;
    mti_range_end(MT_WS_NVTX, domain, id);
    mti_leave();
}
static int domain_pop(domain_handle domain)
{
    if (!mti_enter())
        return MTI_NVTX_NO_TRACKING;
    int level = mti_range_pop(MT_WS_NVTX, domain);
    mti_leave();
    return level;
}

static void mark_ex(const struct mti_nvtx_attributes *a) { domain_mark(NULL, a); }
static uint64_t start_ex(const struct mti_nvtx_attributes *a) { return domain_start(NULL, a); }
static int push_ex(const struct mti_nvtx_attributes *a) { return domain_push(NULL, a); }
static void end_id(uint64_t id) { domain_end(NULL, id); }
static int pop(void) { return domain_pop(NULL); }

static void mark_a(const char *message)
{
    struct mti_range r = range_of(NULL, message);
    mark(&r);
}
static void mark_w(const wchar_t *message)
{
    char wide[NAME_MAX_BYTES];
    struct mti_range r = range_wide(message, wide);
    mark(&r);
}
static uint64_t start_a(const char *message)
{
    struct mti_range r = range_of(NULL, message);
    return start(&r);
}
static uint64_t start_w(const wchar_t *message)
{
    char wide[NAME_MAX_BYTES];
    struct mti_range r = range_wide(message, wide);
    return start(&r);
}
static int push_a(const char *message)
{
    struct mti_range r = range_of(NULL, message);
    return push(&r);
}
static int push_w(const wchar_t *message)
{
    char wide[NAME_MAX_BYTES];
    struct mti_range r = range_wide(message, wide);
    return push(&r);
}

static void thread_name(uint32_t tid, const char *name, size_t n)
{
    struct mti_w w;
    if (!mti_enter())
        return;
    if (mti_ranges_on() && mti_begin(&w, MT_WR_THREAD, n + 32)) {
        mti_u(&w, tid);
        mti_str(&w, name, n);
        mti_end(&w);
    }
    mti_leave();
}
static void thread_a(uint32_t tid, const char *name)
{
    if (name != NULL)
        thread_name(tid, name, strnlen(name, NAME_MAX_BYTES));
}
static void thread_w(uint32_t tid, const wchar_t *name)
{
    char wide[NAME_MAX_BYTES];
    if (name != NULL)
        thread_name(tid, wide, utf8(name, wide, sizeof wide));
}

static void *string_a(domain_handle domain, const char *s)
{
    (void)domain;
    return keep_ascii(s);
}
static void *string_w(domain_handle domain, const wchar_t *s)
{
    (void)domain;
    return keep_wide(s);
}
static void *new_domain(struct mti_text *t)
{
    if (t != NULL)
        t->number = atomic_fetch_add(&domains, 1) + 1;
    return t;
}
static void *domain_a(const char *name) { return new_domain(keep_ascii(name)); }
static void *domain_w(const wchar_t *name) { return new_domain(keep_wide(name)); }

/* ---- filling the tables ---- */

#define FUNCTION(f) ((mti_nvtx_function)(f))

struct entry {
    unsigned at;
    mti_nvtx_function f;
};
static const struct entry core[] = {
    {MTI_NVTX_MARK_EX, FUNCTION(mark_ex)},   {MTI_NVTX_MARK_A, FUNCTION(mark_a)},
    {MTI_NVTX_MARK_W, FUNCTION(mark_w)},     {MTI_NVTX_START_EX, FUNCTION(start_ex)},
    {MTI_NVTX_START_A, FUNCTION(start_a)},   {MTI_NVTX_START_W, FUNCTION(start_w)},
    {MTI_NVTX_END, FUNCTION(end_id)},        {MTI_NVTX_PUSH_EX, FUNCTION(push_ex)},
    {MTI_NVTX_PUSH_A, FUNCTION(push_a)},     {MTI_NVTX_PUSH_W, FUNCTION(push_w)},
    {MTI_NVTX_POP, FUNCTION(pop)},           {MTI_NVTX_THREAD_A, FUNCTION(thread_a)},
    {MTI_NVTX_THREAD_W, FUNCTION(thread_w)},
};
static const struct entry core2[] = {
    {MTI_NVTX_DOMAIN_MARK, FUNCTION(domain_mark)},  {MTI_NVTX_DOMAIN_START, FUNCTION(domain_start)},
    {MTI_NVTX_DOMAIN_END, FUNCTION(domain_end)},    {MTI_NVTX_DOMAIN_PUSH, FUNCTION(domain_push)},
    {MTI_NVTX_DOMAIN_POP, FUNCTION(domain_pop)},    {MTI_NVTX_STRING_A, FUNCTION(string_a)},
    {MTI_NVTX_STRING_W, FUNCTION(string_w)},        {MTI_NVTX_DOMAIN_CREATE_A, FUNCTION(domain_a)},
    {MTI_NVTX_DOMAIN_CREATE_W, FUNCTION(domain_w)},
};

static void fill(const struct mti_nvtx_callbacks *callbacks, int module,
                 const struct entry *entries, size_t n)
{
    mti_nvtx_function **table = NULL;
    unsigned size = 0;
    if (callbacks->get_table(module, &table, &size) != 1 || table == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        if (entries[i].at <= size && table[entries[i].at] != NULL)
            *table[entries[i].at] = entries[i].f;
}

/* Each copy of NVTX in the process asks. 1 even when nothing is recorded: for 0 it would unload
 * this library, which libcuda may have loaded too, and what is left of the tables does nothing. */
int InitializeInjectionNvtx2(mti_nvtx_export get)
{
    const struct mti_nvtx_callbacks *callbacks = get != NULL ? get(MTI_NVTX_CALLBACKS) : NULL;
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks ||
        callbacks->get_table == NULL || !mti_enter())
        return 1;
    if (mti_ranges_on()) {
        fill(callbacks, MTI_NVTX_CORE, core, sizeof core / sizeof *core);
        fill(callbacks, MTI_NVTX_CORE2, core2, sizeof core2 / sizeof *core2);
    }
    mti_leave();
    return 1;
}

int InitializeInjectionNvtx(mti_nvtx_export get) { return InitializeInjectionNvtx2(get); }
