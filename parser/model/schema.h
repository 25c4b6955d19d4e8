/* schema.h -- the shape of a PyTorch memory snapshot as data: which container holds what. Shared by
 * the pickle and the JSON reader. */
#ifndef MT_SCHEMA_H
#define MT_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

enum mt_key {
    MT_K_UNKNOWN = 0,
#define MT_KEY(N, s) MT_K_##N,
#include "parser/model/schema.def"
#undef MT_KEY
    MT_K_COUNT
};

enum mt_key mt_key_find(const void *s, size_t n);
const char *mt_key_name(enum mt_key k);

/* What a container is. A list role names its items' role through mt_role_item(), a dict role its
 * values' through mt_role_value(). */
enum mt_schema_role {
    MT_R_SKIP = 0, /* unknown: walked over; a dict with name/filename/line in it is still a frame, a
                      list of frames still a stack */
    MT_R_TOP,      /* dict; as a list it is MT_R_SEGMENTS (torch.cuda.memory_snapshot()) */
    MT_R_SEGMENTS, /* list of SEGMENT */
    MT_R_SEGMENT,  /* dict */
    MT_R_BLOCKS,   /* list of BLOCK */
    MT_R_BLOCK,    /* dict */
    MT_R_HISTORY,  /* list of HIST, newest first (PyTorch <= 2.0) */
    MT_R_HIST,     /* dict */
    MT_R_TRACES,   /* list of TRACE, by device ordinal */
    MT_R_TRACE,    /* list of EVENT */
    MT_R_EVENT,    /* dict */
    MT_R_FRAMES,   /* list of FRAME, innermost first */
    MT_R_FRAME,    /* dict */
    MT_R_SETTINGS, /* dict of anything; nested dicts and lists keep this role */
    MT_R_ANNOTATIONS,   /* list of ANNOTATION */
    MT_R_ANNOTATION,    /* dict */
    MT_R_POOL,          /* pair of int, tuple or list */
    MT_R_HOST_SEGMENTS, /* list of HOST_SEGMENT */
    MT_R_HOST_SEGMENT,  /* dict */
    MT_R_HOST_TRACES,   /* list of EVENT, or list of TRACE */
    MT_R_RING,          /* trace_alloc_*: scalar or per-device list */
    MT_R_TEXT           /* list of strings, or dict of scalars: one string, see mt_build_text() */
};

/* Role of a container that is the value of `key` in a dict of role `dict`. */
enum mt_schema_role mt_role_value(enum mt_schema_role dict, enum mt_key key);
/* Role of a container that is an item of a list of role `list`. */
enum mt_schema_role mt_role_item(enum mt_schema_role list);
const char *mt_role_name(enum mt_schema_role r); /* for messages: "a trace entry" */

#endif
