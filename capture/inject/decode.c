/* decode.c -- parameters of driver calls to the fields of a CALL record; the
 * table of calls. Structures that the program passed are looked into only when
 * the driver accepted them: the call succeeded or ran out of memory. Results
 * only when it succeeded. */
#include "capture/inject/decode_fields.h"

/* ---- alloc and free ---- */

DECODER(alloc)
{
    set_size(c, p->bytes);
    out_addr(c, p->out);
    return true;
}

DECODER(alloc_flags)
{
    set_size(c, p->bytes);
    out_addr(c, p->out);
    set_flags(c, p->flags);
    return true;
}

/* Takes pitch * height; of a failed call what was asked for. */
static void pitched(struct mti_call *c, const size_t *pitch, size_t width, size_t height)
{
    size_t row = width, all;
    if (done(c) && pitch) {
        row = *pitch;
        set_offset(c, row);
    }
    set_size(c, __builtin_mul_overflow(row, height, &all) ? UINT64_MAX : all);
}

DECODER(alloc_pitch)
{
    pitched(c, p->pitch, p->width, p->height);
    out_addr(c, p->out);
    return true;
}

DECODER(rt_pitch)
{
    pitched(c, p->pitch, p->width, p->height);
    out_addr(c, p->out);
    return true;
}

DECODER(free)
{
    set_addr(c, p->address);
    return true;
}

DECODER(register)
{
    set_addr(c, p->address);
    set_size(c, p->bytes);
    set_flags(c, p->flags);
    return true;
}

/* ---- stream-ordered, pools ---- */

DECODER(async_alloc)
{
    set_size(c, p->bytes);
    out_addr(c, p->out);
    set_stream(c, p->stream);
    return true;
}

DECODER(pool_alloc)
{
    set_size(c, p->bytes);
    out_addr(c, p->out);
    set_stream(c, p->stream);
    set_pool(c, p->pool);
    return true;
}

DECODER(async_free)
{
    set_addr(c, p->address);
    set_stream(c, p->stream);
    return true;
}

DECODER(pool)
{
    set_pool(c, p->pool);
    return true;
}

DECODER(pool_create)
{
    if (done(c) && p->out)
        set_pool(c, *p->out);
    if (valid(c) && p->props) {
        set_location(c, &p->props->location);
        if (p->props->max_size)
            set_size(c, p->props->max_size);
    }
    return true;
}

DECODER(pool_trim)
{
    set_pool(c, p->pool);
    set_size(c, p->keep);
    return true;
}

DECODER(pool_attr)
{
    set_pool(c, p->pool);
    set_flags(c, (uint32_t)p->attribute);
    if (done(c) && p->value) {
        uint64_t wide = 0;
        int32_t narrow = 0;
        if (p->attribute >= MTI_CU_POOL_RELEASE_THRESHOLD &&
            p->attribute <= MTI_CU_POOL_USED_HIGH) {
            memcpy(&wide, p->value, sizeof wide);
            set_size(c, wide);
        } else if (p->attribute > 0 && p->attribute < MTI_CU_POOL_RELEASE_THRESHOLD) {
            memcpy(&narrow, p->value, sizeof narrow);
            set_size(c, (uint32_t)narrow);
        }
    }
    return true;
}

/* ---- virtual memory management ---- */

DECODER(reserve)
{
    set_size(c, p->bytes);
    out_addr(c, p->out);
    return true;
}

DECODER(range)
{
    set_addr(c, p->address);
    set_size(c, p->bytes);
    return true;
}

DECODER(create)
{
    set_size(c, p->bytes);
    out_handle(c, p->out);
    if (valid(c) && p->prop)
        set_location(c, &p->prop->location);
    return true;
}

DECODER(handle)
{
    set_handle(c, p->handle);
    return true;
}

DECODER(map)
{
    set_addr(c, p->address);
    set_size(c, p->bytes);
    set_offset(c, p->offset);
    set_handle(c, p->handle);
    return true;
}

DECODER(access)
{
    set_addr(c, p->address);
    set_size(c, p->bytes);
    return true;
}

DECODER(export)
{
    set_handle(c, p->handle);
    set_flags(c, (uint32_t)p->type);
    return true;
}

DECODER(import)
{
    out_handle(c, p->out);
    set_flags(c, (uint32_t)p->type);
    return true;
}

DECODER(retain)
{
    out_handle(c, p->out);
    set_addr(c, p->address);
    return true;
}

DECODER(mc_create)
{
    out_handle(c, p->out);
    if (valid(c) && p->prop)
        set_size(c, p->prop->size);
    return true;
}

DECODER(mc_device)
{
    set_handle(c, p->handle);
    set_device(c, p->device);
    return true;
}

DECODER(mc_bind)
{
    set_handle(c, p->handle);
    set_offset(c, p->offset);
    set_size(c, p->bytes);
    return true;
}

DECODER(mc_bind_addr)
{
    set_handle(c, p->handle);
    set_offset(c, p->offset);
    set_addr(c, p->address);
    set_size(c, p->bytes);
    return true;
}

DECODER(mc_unbind)
{
    set_handle(c, p->handle);
    set_device(c, p->device);
    set_offset(c, p->offset);
    set_size(c, p->bytes);
    return true;
}

DECODER(ipc_get)
{
    set_addr(c, p->address);
    return true;
}

DECODER(ipc_open)
{
    out_addr(c, p->out);
    set_flags(c, p->flags);
    return true;
}

/* ---- memory of others: of another process, of Vulkan or DirectX. What it takes is theirs ---- */

DECODER(pool_import)
{
    if (done(c) && p->out)
        set_pool(c, *p->out);
    set_flags(c, (uint32_t)p->type);
    return true;
}

DECODER(pool_pointer)
{
    out_addr(c, p->out);
    set_pool(c, p->pool);
    return true;
}

DECODER(ext_import)
{
    out_handle(c, p->out);
    if (valid(c) && p->desc) {
        set_size(c, p->desc->size);
        set_flags(c, (uint32_t)p->desc->type);
    }
    return true;
}

DECODER(ext_buffer)
{
    out_addr(c, p->out);
    set_handle(c, p->handle);
    if (valid(c) && p->desc) {
        set_size(c, p->desc->bytes);
        set_offset(c, p->desc->offset);
        set_flags(c, p->desc->flags);
    }
    return true;
}

/* An array in such memory: no bytes of its own, so none are said. */
DECODER(ext_mipmap)
{
    out_handle(c, p->out);
    return true;
}

/* ---- arrays ---- */

static void set_array(struct mti_call *c, const struct mti_cu_array3d_desc *d, uint32_t levels)
{
    uint64_t bytes = mti_array_bytes(d, levels);
    if (bytes)
        set_size(c, bytes);
    set_flags(c, d->flags);
}

DECODER(array)
{
    out_handle(c, p->out);
    if (valid(c) && p->desc) {
        struct mti_cu_array3d_desc d = {.width = p->desc->width,
                                        .height = p->desc->height,
                                        .format = p->desc->format,
                                        .channels = p->desc->channels};
        set_array(c, &d, 1);
    }
    return true;
}

DECODER(array3d)
{
    out_handle(c, p->out);
    if (valid(c) && p->desc)
        set_array(c, p->desc, 1);
    return true;
}

DECODER(mipmap)
{
    out_handle(c, p->out);
    if (valid(c) && p->desc)
        set_array(c, p->desc, p->levels);
    return true;
}

/* ---- graphs ---- */

static void graph_alloc(struct mti_call *c, const struct mti_cu_node_alloc *n)
{
    set_size(c, n->bytes);
    set_location(c, &n->props.location);
    if (done(c))
        set_addr(c, n->address);
}

DECODER(node_alloc)
{
    set_handle(c, p->graph);
    if (valid(c) && p->params)
        graph_alloc(c, p->params);
    return true;
}

DECODER(node_free)
{
    set_handle(c, p->graph);
    set_addr(c, p->address);
    return true;
}

/* The call adds nodes of every kind: only those of memory count. */
static bool graph_node(struct mti_call *c, uint64_t graph, const struct mti_cu_node_params *n)
{
    if (!valid(c) || !n || (n->type != MTI_CU_NODE_MEM_ALLOC && n->type != MTI_CU_NODE_MEM_FREE))
        return false;
    set_handle(c, graph);
    if (n->type == MTI_CU_NODE_MEM_ALLOC) {
        graph_alloc(c, &n->u.alloc);
    } else {
        c->op = MT_WO_GRAPH_FREE_NODE;
        set_addr(c, n->u.free.address);
    }
    return true;
}

DECODER(add_node) { return graph_node(c, p->graph, p->params); }
DECODER(add_node2) { return graph_node(c, p->graph, p->params); }

DECODER(device)
{
    set_device(c, p->device);
    return true;
}

DECODER(inst)
{
    out_handle(c, p->out);
    return true;
}

DECODER(inst_flags)
{
    out_handle(c, p->out);
    set_flags(c, p->flags);
    return true;
}

DECODER(inst_params)
{
    out_handle(c, p->out);
    return true;
}

DECODER(upload)
{
    set_handle(c, p->handle);
    set_stream(c, p->stream);
    return true;
}

/* ---- contexts, code ---- */

DECODER(ctx_retain)
{
    out_handle(c, p->out);
    set_device(c, p->device);
    return true;
}

/* Local memory, the heap of kernels: the value is for a thread, or a limit, and no size. */
DECODER(ctx_limit)
{
    set_flags(c, (uint32_t)p->limit);
    c->offset = p->value;
    c->mask |= MT_WF_OFFSET;
    return true;
}

/* Calls of a kind that differ in arguments nobody needs. */
#define MAKES_CONTEXT(shape)                                                                       \
    DECODER(shape)                                                                                 \
    {                                                                                              \
        out_handle(c, p->out);                                                                     \
        set_device(c, p->device);                                                                  \
        set_flags(c, p->flags);                                                                    \
        return true;                                                                               \
    }
MAKES_CONTEXT(ctx_create2)
MAKES_CONTEXT(ctx_create3)
MAKES_CONTEXT(ctx_create4)
MAKES_CONTEXT(green_create)

DECODER(mod_file)
{
    out_handle(c, p->out);
    set_file(c, p->file);
    return true;
}

#define GIVES_HANDLE(shape)                                                                        \
    DECODER(shape)                                                                                 \
    {                                                                                              \
        out_handle(c, p->out);                                                                     \
        return true;                                                                               \
    }
GIVES_HANDLE(mod_data)
GIVES_HANDLE(mod_data_ex)
GIVES_HANDLE(lib_data)

DECODER(lib_file)
{
    out_handle(c, p->out);
    set_file(c, p->file);
    return true;
}

DECODER(mem_info)
{
    if (done(c) && p->free && p->total) {
        c->free = *p->free;
        c->total = *p->total;
        c->mask |= MT_WF_FREE | MT_WF_TOTAL;
    }
    return true;
}

/* ---- the tables ---- */

static const struct mti_row driver_rows[] = {
#define MTI_CALL(symbol, id, op, shape) {d_##shape, id, MT_WO_##op},
#define MTI_RUNTIME(symbol, id, op, shape)
#include "capture/inject/calls.def"
};
static const struct mti_row runtime_rows[] = {
#define MTI_CALL(symbol, id, op, shape)
#define MTI_RUNTIME(symbol, id, op, shape) {d_##shape, id, MT_WO_##op},
#include "capture/inject/calls.def"
};

enum {
#define MTI_CALL(symbol, id, op, shape) AT_##symbol,
#define MTI_RUNTIME(symbol, id, op, shape)
#include "capture/inject/calls.def"
    N_DRIVER
};
enum {
#define MTI_CALL(symbol, id, op, shape)
#define MTI_RUNTIME(symbol, id, op, shape) AT_##symbol,
#include "capture/inject/calls.def"
    N_RUNTIME
};
_Static_assert(N_DRIVER < 255 && N_RUNTIME < 255, "an index is a byte");

/* Row + 1 of each callback id. */
static const uint8_t driver_index[MTI_CUPTI_CBID_KNOWN] = {
#define MTI_CALL(symbol, id, op, shape) [id] = AT_##symbol + 1,
#define MTI_RUNTIME(symbol, id, op, shape)
#include "capture/inject/calls.def"
};
static const uint8_t runtime_index[512] = {
#define MTI_CALL(symbol, id, op, shape)
#define MTI_RUNTIME(symbol, id, op, shape) [id] = AT_##symbol + 1,
#include "capture/inject/calls.def"
};

const struct mti_row *mti_row_driver(uint32_t cbid)
{
    uint8_t at = cbid < sizeof driver_index ? driver_index[cbid] : 0;
    return at ? &driver_rows[at - 1] : NULL;
}

const struct mti_row *mti_row_runtime(uint32_t cbid)
{
    uint8_t at = cbid < sizeof runtime_index ? runtime_index[cbid] : 0;
    return at ? &runtime_rows[at - 1] : NULL;
}

const struct mti_row *mti_rows_driver(size_t *n)
{
    *n = N_DRIVER;
    return driver_rows;
}

const struct mti_row *mti_rows_runtime(size_t *n)
{
    *n = N_RUNTIME;
    return runtime_rows;
}

bool mti_row_device(const struct mti_row *row, const void *params, uint32_t *ordinal)
{
    struct mti_call c = {.op = row->op, .result = MTI_CU_INVALID_VALUE}; /* nothing is followed */
    if (row->op != MT_WO_CONTEXT_CREATE && row->op != MT_WO_CONTEXT_RETAIN &&
        row->op != MT_WO_CONTEXT_RELEASE && row->op != MT_WO_CONTEXT_RESET &&
        row->op != MT_WO_GRAPH_TRIM)
        return false;
    row->decode(params, &c);
    *ordinal = c.device;
    return (c.mask & MT_WF_DEVICE) != 0;
}
