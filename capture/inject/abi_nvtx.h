/* abi_nvtx.h -- the part of NVTX between an application and an injected tool, in our own words:
 * what the public NVTX headers (nvtx3/nvToolsExt.h, nvtx3/nvtxDetail/nvtxTypes.h, Apache-2.0)
 * define, so that no header is needed to build.
 *
 * Every copy of NVTX in a process (it is header-only, each library has its own) calls
 * InitializeInjectionNvtx2() once and passes a function that gives its tables; a table is an array
 * of pointers to function pointers, which the tool sets. Entries that are left become
 * no-operations. */
#ifndef MTI_ABI_NVTX_H
#define MTI_ABI_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef const void *(*mti_nvtx_export)(uint32_t table);
typedef void (*mti_nvtx_function)(void);

/* export table with the function below */
enum { MTI_NVTX_CALLBACKS = 1 };
enum { MTI_NVTX_CORE = 1, MTI_NVTX_CORE2 = 5 }; /* modules */
/* what push and pop return when levels are not kept */
enum { MTI_NVTX_NO_TRACKING = -2 };
enum { MTI_NVTX_ASCII = 1, MTI_NVTX_WIDE = 2, MTI_NVTX_REGISTERED = 3 }; /* kinds of message */

struct mti_nvtx_callbacks {
    size_t struct_size;
    int (*get_table)(int module, mti_nvtx_function ***table,
                     unsigned *size); /* 1 = there is one; valid entries: 1 .. size - 1 or size */
};

/* Indices in the tables. */
enum mti_nvtx_core {
    MTI_NVTX_MARK_EX = 1,
    MTI_NVTX_MARK_A,
    MTI_NVTX_MARK_W,
    MTI_NVTX_START_EX,
    MTI_NVTX_START_A,
    MTI_NVTX_START_W,
    MTI_NVTX_END,
    MTI_NVTX_PUSH_EX,
    MTI_NVTX_PUSH_A,
    MTI_NVTX_PUSH_W,
    MTI_NVTX_POP,
    MTI_NVTX_CATEGORY_A,
    MTI_NVTX_CATEGORY_W,
    MTI_NVTX_THREAD_A,
    MTI_NVTX_THREAD_W
};
enum mti_nvtx_core2 {
    MTI_NVTX_DOMAIN_MARK = 1,
    MTI_NVTX_DOMAIN_START,
    MTI_NVTX_DOMAIN_END,
    MTI_NVTX_DOMAIN_PUSH,
    MTI_NVTX_DOMAIN_POP,
    MTI_NVTX_RESOURCE_CREATE,
    MTI_NVTX_RESOURCE_DESTROY,
    MTI_NVTX_DOMAIN_CATEGORY_A,
    MTI_NVTX_DOMAIN_CATEGORY_W,
    MTI_NVTX_STRING_A,
    MTI_NVTX_STRING_W,
    MTI_NVTX_DOMAIN_CREATE_A,
    MTI_NVTX_DOMAIN_CREATE_W,
    MTI_NVTX_DOMAIN_DESTROY,
    MTI_NVTX_INITIALIZE
};

/* Attributes of an event; colour, category and payload are not used here. */
struct mti_nvtx_attributes {
    uint16_t version, size; /* size: of the structure as the application knows it */
    uint32_t category;
    int32_t colour_kind;
    uint32_t colour;
    int32_t payload_kind, reserved;
    uint64_t payload;
    int32_t message_kind;
    union {
        const char *ascii;
        const wchar_t *wide;
        const void *registered; /* handle that the tool gave */
    } message;
};
_Static_assert(offsetof(struct mti_nvtx_attributes, message_kind) == 32, "as in nvToolsExt.h");
_Static_assert(sizeof(void *) != 8 || sizeof(struct mti_nvtx_attributes) == 48,
               "as in nvToolsExt.h");

#endif
