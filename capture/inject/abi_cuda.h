/* abi_cuda.h -- what the injected library must know of the CUDA driver's binary interface, in its
 * own declarations, so that it builds without a CUDA Toolkit. Numbers and layouts are those of
 * cuda.h, 11.8 to 13.x; abi_check.c compares them with the real header where there is one. Handles,
 * device addresses and pointers the library only reads as numbers are uint64_t. */
#ifndef MTI_ABI_CUDA_H
#define MTI_ABI_CUDA_H

#include <stddef.h>
#include <stdint.h>

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "the CUDA driver is 64-bit only");

enum mti_cu_result { MTI_CU_SUCCESS = 0, MTI_CU_INVALID_VALUE = 1, MTI_CU_OUT_OF_MEMORY = 2 };

enum mti_cu_location {
    MTI_CU_LOCATION_DEVICE = 1,
    MTI_CU_LOCATION_HOST = 2,
    MTI_CU_LOCATION_HOST_NUMA = 3
};

enum mti_cu_node { MTI_CU_NODE_MEM_ALLOC = 10, MTI_CU_NODE_MEM_FREE = 11 };

enum mti_cu_pool_attribute {
    MTI_CU_POOL_RELEASE_THRESHOLD = 4,
    MTI_CU_POOL_RESERVED_CURRENT = 5,
    MTI_CU_POOL_USED_HIGH = 8
}; /* values 1 to 3 are int, 4 to 8 are u64 */

/* CUarray_format: bytes of one element are worked out in decode.c. */
enum mti_cu_array_format {
    MTI_CU_FORMAT_U8 = 0x01,
    MTI_CU_FORMAT_U16 = 0x02,
    MTI_CU_FORMAT_U32 = 0x03,
    MTI_CU_FORMAT_S8 = 0x08,
    MTI_CU_FORMAT_S16 = 0x09,
    MTI_CU_FORMAT_S32 = 0x0a,
    MTI_CU_FORMAT_HALF = 0x10,
    MTI_CU_FORMAT_FLOAT = 0x20,
    MTI_CU_FORMAT_BC1 = 0x91,
    MTI_CU_FORMAT_BC1_SRGB = 0x92,
    MTI_CU_FORMAT_BC2 = 0x93,
    MTI_CU_FORMAT_BC3_SRGB = 0x96,
    MTI_CU_FORMAT_BC4 = 0x97,
    MTI_CU_FORMAT_BC4_S = 0x98,
    MTI_CU_FORMAT_BC5 = 0x99,
    MTI_CU_FORMAT_BC7_SRGB = 0x9e,
    MTI_CU_FORMAT_NORM_FIRST = 0xc0, /* 8-bit x1 x2 x4, 16-bit x1 x2 x4, unsigned then signed */
    MTI_CU_FORMAT_NORM_LAST = 0xcb
};
enum mti_cu_array_flags { MTI_CU_ARRAY_SPARSE = 0x40, MTI_CU_ARRAY_DEFERRED = 0x80 };

struct mti_cu_uuid {
    unsigned char bytes[16];
};

struct mti_cu_mem_location {
    int32_t type, id;
};

struct mti_cu_alloc_prop {
    int32_t type, handle_types;
    struct mti_cu_mem_location location;
    void *win32;
    unsigned char flags[8];
};

struct mti_cu_pool_props {
    int32_t alloc_type, handle_types;
    struct mti_cu_mem_location location;
    void *win32;
    size_t max_size; /* 12.2 and later; reserved before */
    unsigned char reserved[56];
};

struct mti_cu_array_desc {
    size_t width, height;
    int32_t format;
    uint32_t channels;
};

struct mti_cu_array3d_desc {
    size_t width, height, depth;
    int32_t format;
    uint32_t channels, flags;
};

struct mti_cu_multicast_prop {
    uint32_t devices;
    size_t size;
    unsigned long long handle_types, flags;
};

struct mti_cu_node_alloc {
    struct mti_cu_pool_props props;
    const void *access;
    size_t n_access, bytes;
    uint64_t address; /* out */
};

/* CUgraphNodeParams begins so; the rest are other kinds of node. */
struct mti_cu_node_params {
    int32_t type, reserved[3];
    union {
        struct mti_cu_node_alloc alloc;
        struct {
            uint64_t address;
        } free;
    } u;
};

struct mti_cu_ipc_handle {
    char reserved[64];
};

/* CUDA_EXTERNAL_MEMORY_HANDLE_DESC */
struct mti_cu_external {
    int32_t type;
    union {
        int32_t fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *object;
    } u;
    unsigned long long size;
    uint32_t flags, reserved[16];
};

/* CUDA_EXTERNAL_MEMORY_BUFFER_DESC */
struct mti_cu_external_buffer {
    unsigned long long offset, bytes;
    uint32_t flags, reserved[16];
};

/* ---- parameters: what functionParams of the callback points at = the arguments of the call in
 * order. One shape serves all calls that have it; calls.def says which. ---- */

struct mti_p_alloc {
    uint64_t *out;
    size_t bytes;
};
struct mti_p_alloc_flags {
    uint64_t *out;
    size_t bytes;
    uint32_t flags;
};
struct mti_p_alloc_pitch {
    uint64_t *out;
    size_t *pitch;
    size_t width, height;
    uint32_t element;
};
struct mti_p_rt_pitch { /* of the runtime API */
    uint64_t *out;
    size_t *pitch;
    size_t width, height;
};
struct mti_p_free { /* a lone address */
    uint64_t address;
};
struct mti_p_register {
    uint64_t address;
    size_t bytes;
    uint32_t flags;
};
struct mti_p_async_alloc {
    uint64_t *out;
    size_t bytes;
    uint64_t stream;
};
struct mti_p_pool_alloc {
    uint64_t *out;
    size_t bytes;
    uint64_t pool, stream;
};
struct mti_p_async_free {
    uint64_t address, stream;
};
struct mti_p_pool { /* a lone pool handle */
    uint64_t pool;
};
struct mti_p_pool_create {
    uint64_t *out;
    const struct mti_cu_pool_props *props;
};
struct mti_p_pool_trim {
    uint64_t pool;
    size_t keep;
};
struct mti_p_pool_attr {
    uint64_t pool;
    int32_t attribute;
    void *value;
};
struct mti_p_reserve {
    uint64_t *out;
    size_t bytes, alignment;
    uint64_t address;
    unsigned long long flags;
};
struct mti_p_range { /* address and size */
    uint64_t address;
    size_t bytes;
};
struct mti_p_create {
    uint64_t *out;
    size_t bytes;
    const struct mti_cu_alloc_prop *prop;
    unsigned long long flags;
};
struct mti_p_handle { /* a lone handle */
    uint64_t handle;
};
struct mti_p_map {
    uint64_t address;
    size_t bytes, offset;
    uint64_t handle;
    unsigned long long flags;
};
struct mti_p_access {
    uint64_t address;
    size_t bytes;
    const void *desc;
    size_t count;
};
struct mti_p_export {
    void *shareable;
    uint64_t handle;
    int32_t type;
    unsigned long long flags;
};
struct mti_p_import {
    uint64_t *out;
    void *os_handle;
    int32_t type;
};
struct mti_p_retain {
    uint64_t *out;
    uint64_t address;
};
struct mti_p_mc_create {
    uint64_t *out;
    const struct mti_cu_multicast_prop *prop;
};
struct mti_p_mc_device {
    uint64_t handle;
    int32_t device;
};
struct mti_p_mc_bind {
    uint64_t handle;
    size_t offset;
    uint64_t memory;
    size_t memory_offset, bytes;
    unsigned long long flags;
};
struct mti_p_mc_bind_addr {
    uint64_t handle;
    size_t offset;
    uint64_t address;
    size_t bytes;
    unsigned long long flags;
};
struct mti_p_mc_unbind {
    uint64_t handle;
    int32_t device;
    size_t offset, bytes;
};
struct mti_p_ipc_get {
    void *handle;
    uint64_t address;
};
struct mti_p_ipc_open {
    uint64_t *out;
    struct mti_cu_ipc_handle handle;
    uint32_t flags;
};
struct mti_p_pool_import {
    uint64_t *out;
    void *os_handle;
    int32_t type;
    unsigned long long flags;
};
struct mti_p_pool_pointer {
    uint64_t *out;
    uint64_t pool;
    const void *shared;
};
struct mti_p_ext_import {
    uint64_t *out;
    const struct mti_cu_external *desc;
};
struct mti_p_ext_buffer {
    uint64_t *out;
    uint64_t handle;
    const struct mti_cu_external_buffer *desc;
};
struct mti_p_ext_mipmap {
    uint64_t *out;
    uint64_t handle;
    const void *desc;
};
struct mti_p_array {
    uint64_t *out;
    const struct mti_cu_array_desc *desc;
};
struct mti_p_array3d {
    uint64_t *out;
    const struct mti_cu_array3d_desc *desc;
};
struct mti_p_mipmap {
    uint64_t *out;
    const struct mti_cu_array3d_desc *desc;
    uint32_t levels;
};
struct mti_p_node_alloc {
    uint64_t *out;
    uint64_t graph;
    const void *dependencies;
    size_t n_dependencies;
    struct mti_cu_node_alloc *params;
};
struct mti_p_node_free {
    uint64_t *out;
    uint64_t graph;
    const void *dependencies;
    size_t n_dependencies;
    uint64_t address;
};
struct mti_p_add_node {
    uint64_t *out;
    uint64_t graph;
    const void *dependencies;
    size_t n_dependencies;
    struct mti_cu_node_params *params;
};
struct mti_p_add_node2 {
    uint64_t *out;
    uint64_t graph;
    const void *dependencies, *dependency_data;
    size_t n_dependencies;
    struct mti_cu_node_params *params;
};
struct mti_p_device {
    int32_t device;
};
struct mti_p_inst { /* cuGraphInstantiate of 11, _v2 */
    uint64_t *out;
    uint64_t graph;
    void *error_node;
    char *log;
    size_t log_bytes;
};
struct mti_p_inst_flags {
    uint64_t *out;
    uint64_t graph;
    unsigned long long flags;
};
struct mti_p_inst_params {
    uint64_t *out;
    uint64_t graph;
    void *params;
};
struct mti_p_upload {
    uint64_t handle, stream;
};
struct mti_p_ctx_limit {
    int32_t limit;
    size_t value;
};
struct mti_p_ctx_retain {
    uint64_t *out;
    int32_t device;
};
struct mti_p_ctx_create2 {
    uint64_t *out;
    uint32_t flags;
    int32_t device;
};
struct mti_p_ctx_create3 {
    uint64_t *out;
    void *affinity;
    int32_t n_affinity;
    uint32_t flags;
    int32_t device;
};
struct mti_p_ctx_create4 {
    uint64_t *out;
    void *params;
    uint32_t flags;
    int32_t device;
};
struct mti_p_green_create {
    uint64_t *out;
    void *resources;
    int32_t device;
    uint32_t flags;
};
struct mti_p_mod_file {
    uint64_t *out;
    const char *file;
};
struct mti_p_mod_data { /* and a fat binary */
    uint64_t *out;
    const void *image;
};
struct mti_p_mod_data_ex {
    uint64_t *out;
    const void *image;
    uint32_t n_options;
    void *options, *values;
};
struct mti_p_lib_file {
    uint64_t *out;
    const char *file;
    void *jit, *jit_values;
    uint32_t n_jit;
    void *options, *values;
    uint32_t n_options;
};
struct mti_p_lib_data {
    uint64_t *out;
    const void *code;
    void *jit, *jit_values;
    uint32_t n_jit;
    void *options, *values;
    uint32_t n_options;
};
struct mti_p_mem_info {
    size_t *free, *total;
};

/* ---- functions of libcuda that the library calls itself ---- */

typedef int (*mti_cu_version_fn)(int *version);
typedef int (*mti_cu_count_fn)(int *count);
typedef int (*mti_cu_primary_fn)(int device, unsigned *flags, int *active);
typedef int (*mti_cu_ctx_device_fn)(int *device);
typedef int (*mti_cu_ctx_current_fn)(uint64_t *context);
typedef int (*mti_cu_uuid_fn)(struct mti_cu_uuid *uuid, int device);
typedef int (*mti_cu_text_fn)(char *text, int len, int device);
typedef int (*mti_cu_total_fn)(size_t *bytes, int device);
typedef int (*mti_cu_info_fn)(size_t *free, size_t *total);

#endif
