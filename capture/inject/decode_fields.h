/* decode_fields.h -- how decode.c fills the fields of a CALL record. */
#ifndef MTI_DECODE_FIELDS_H
#define MTI_DECODE_FIELDS_H

#include "capture/inject/cupti.h"

static inline bool done(const struct mti_call *c) { return c->result == MTI_CU_SUCCESS; }
static inline bool valid(const struct mti_call *c)
{
    return c->result == MTI_CU_SUCCESS || c->result == MTI_CU_OUT_OF_MEMORY;
}

static inline void set_addr(struct mti_call *c, uint64_t v)
{
    c->addr = v;
    c->mask |= MT_WF_ADDR;
}

static inline void set_size(struct mti_call *c, uint64_t v)
{
    c->size = v;
    c->mask |= MT_WF_SIZE;
}

static inline void set_handle(struct mti_call *c, uint64_t v)
{
    c->handle = v;
    c->mask |= MT_WF_HANDLE;
}

static inline void set_device(struct mti_call *c, int32_t v)
{
    if (v < 0)
        return;
    c->device = (uint32_t)v;
    c->mask |= MT_WF_DEVICE;
}

/* Fields that are 0 when they say nothing are written only when they are not.
 */
static inline void set_offset(struct mti_call *c, uint64_t v)
{
    c->offset = v;
    if (v)
        c->mask |= MT_WF_OFFSET;
}

static inline void set_stream(struct mti_call *c, uint64_t v)
{
    c->stream = v;
    if (v)
        c->mask |= MT_WF_STREAM;
}

static inline void set_pool(struct mti_call *c, uint64_t v)
{
    c->pool = v;
    if (v)
        c->mask |= MT_WF_POOL;
}

static inline void set_flags(struct mti_call *c, uint64_t v)
{
    c->flags = (uint32_t)v;
    if (v)
        c->mask |= MT_WF_FLAGS;
}

static inline void set_location(struct mti_call *c, const struct mti_cu_mem_location *l)
{
    if (l->type <= 0)
        return;
    c->location = (uint32_t)l->type;
    c->mask |= MT_WF_LOCATION;
    if (l->type == MTI_CU_LOCATION_DEVICE)
        set_device(c, l->id);
}

static inline void out_addr(struct mti_call *c, const uint64_t *out)
{
    if (done(c) && out)
        set_addr(c, *out);
}

static inline void out_handle(struct mti_call *c, const uint64_t *out)
{
    if (done(c) && out)
        set_handle(c, *out);
}

static inline void set_file(struct mti_call *c, const char *file)
{
    if (!valid(c) || !file)
        return;
    c->name = mti_string(file, strnlen(file, 4096));
    if (c->name)
        c->mask |= MT_WF_NAME;
}

#define DECODER(shape)                                                                             \
    static bool decode_##shape(const struct mti_p_##shape *p, struct mti_call *c);                 \
    static bool d_##shape(const void *params, struct mti_call *c)                                  \
    {                                                                                              \
        return decode_##shape(params, c);                                                          \
    }                                                                                              \
    static bool decode_##shape(const struct mti_p_##shape *p, struct mti_call *c)

#endif
