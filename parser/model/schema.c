#include "parser/model/schema.h"

#include <string.h>

static const char *const key_names[MT_K_COUNT] = {
    [MT_K_UNKNOWN] = "",
#define MT_KEY(N, s) [MT_K_##N] = s,
#include "parser/model/schema.def"
#undef MT_KEY
};

const char *mt_key_name(enum mt_key k) { return (unsigned)k < MT_K_COUNT ? key_names[k] : ""; }

enum mt_key mt_key_find(const void *s, size_t n)
{
    /* The pickle reader calls this once per distinct key, the JSON reader once per key. First byte
     * and length decide nearly always. */
    static const struct {
        char text[24];
        uint8_t len;
    } keys[MT_K_COUNT] = {
#define MT_KEY(N, t) [MT_K_##N] = {t, sizeof t - 1},
#include "parser/model/schema.def"
#undef MT_KEY
    };
    const char *p = s;
    if (n == 0 || n > 23)
        return MT_K_UNKNOWN;
    for (int k = 1; k < MT_K_COUNT; k++)
        if (keys[k].len == n && keys[k].text[0] == p[0] && memcmp(keys[k].text, p, n) == 0)
            return (enum mt_key)k;
    return MT_K_UNKNOWN;
}

enum mt_schema_role mt_role_value(enum mt_schema_role dict, enum mt_key key)
{
    if (dict == MT_R_SETTINGS)
        return key == MT_K_TRACE_ALLOC_MAX_ENTRIES || key == MT_K_TRACE_ALLOC_OVERFLOWED
                   ? MT_R_RING
                   : MT_R_SETTINGS;
    if (key == MT_K_FRAMES && dict != MT_R_TOP)
        return MT_R_FRAMES;
    switch ((int)key) { /* most keys hold no container */
    case MT_K_SEGMENTS: return dict == MT_R_TOP ? MT_R_SEGMENTS : MT_R_SKIP;
    case MT_K_DEVICE_TRACES: return dict == MT_R_TOP ? MT_R_TRACES : MT_R_SKIP;
    case MT_K_ALLOCATOR_SETTINGS: return dict == MT_R_TOP ? MT_R_SETTINGS : MT_R_SKIP;
    case MT_K_EXTERNAL_ANNOTATIONS: return dict == MT_R_TOP ? MT_R_ANNOTATIONS : MT_R_SKIP;
    case MT_K_HOST_SEGMENTS: return dict == MT_R_TOP ? MT_R_HOST_SEGMENTS : MT_R_SKIP;
    case MT_K_HOST_TRACES: return dict == MT_R_TOP ? MT_R_HOST_TRACES : MT_R_SKIP;
    case MT_K_TRACE_ALLOC_MAX_ENTRIES:
    case MT_K_TRACE_ALLOC_OVERFLOWED: return dict == MT_R_TOP ? MT_R_RING : MT_R_SKIP;
    case MT_K_BLOCKS: return dict == MT_R_SEGMENT ? MT_R_BLOCKS : MT_R_SKIP;
    case MT_K_HISTORY: return dict == MT_R_BLOCK ? MT_R_HISTORY : MT_R_SKIP;
    case MT_K_USER_METADATA:
    case MT_K_FORWARD_FRAMES: return dict == MT_R_EVENT ? MT_R_TEXT : MT_R_SKIP;
    case MT_K_POOL_ID: return dict == MT_R_EVENT ? MT_R_POOL : MT_R_SKIP;
    case MT_K_SEGMENT_POOL_ID:
    case MT_K_OWNER_PRIVATE_POOL_ID:
        return dict == MT_R_SEGMENT || dict == MT_R_HOST_SEGMENT ? MT_R_POOL : MT_R_SKIP;
    default: return MT_R_SKIP;
    }
}

enum mt_schema_role mt_role_item(enum mt_schema_role list)
{
    switch ((int)list) {
    case MT_R_TOP:
    case MT_R_SEGMENTS: return MT_R_SEGMENT;
    case MT_R_BLOCKS: return MT_R_BLOCK;
    case MT_R_HISTORY: return MT_R_HIST;
    case MT_R_TRACES: return MT_R_TRACE;
    case MT_R_TRACE: return MT_R_EVENT;
    case MT_R_FRAMES: return MT_R_FRAME;
    case MT_R_SETTINGS: return MT_R_SETTINGS;
    case MT_R_ANNOTATIONS: return MT_R_ANNOTATION;
    case MT_R_HOST_SEGMENTS: return MT_R_HOST_SEGMENT;
    /* a list inside it is a TRACE: readers turn EVENT into TRACE for a list */
    case MT_R_HOST_TRACES: return MT_R_EVENT;
    default: return MT_R_SKIP;
    }
}

const char *mt_role_name(enum mt_schema_role r)
{
    static const char *const names[] = {
        [MT_R_SKIP] = "an unknown value",
        [MT_R_TOP] = "the snapshot",
        [MT_R_SEGMENTS] = "the segments",
        [MT_R_SEGMENT] = "a segment",
        [MT_R_BLOCKS] = "the blocks of a segment",
        [MT_R_BLOCK] = "a block",
        [MT_R_HISTORY] = "the history of a block",
        [MT_R_HIST] = "a history entry",
        [MT_R_TRACES] = "device_traces",
        [MT_R_TRACE] = "the trace of a device",
        [MT_R_EVENT] = "a trace entry",
        [MT_R_FRAMES] = "a stack",
        [MT_R_FRAME] = "a frame",
        [MT_R_SETTINGS] = "allocator_settings",
        [MT_R_ANNOTATIONS] = "external_annotations",
        [MT_R_ANNOTATION] = "an annotation",
        [MT_R_POOL] = "a pool id",
        [MT_R_HOST_SEGMENTS] = "host_segments",
        [MT_R_HOST_SEGMENT] = "a host segment",
        [MT_R_HOST_TRACES] = "host_traces",
        [MT_R_RING] = "a ring-buffer setting",
        [MT_R_TEXT] = "a text",
    };
    return (unsigned)r < sizeof names / sizeof *names ? names[r] : "a value";
}
