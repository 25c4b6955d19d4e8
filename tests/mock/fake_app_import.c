/* fake_app_import.c -- memory of others: a pool and a pointer of it that are shared, and memory of
 * another interface (Vulkan, say), mapped as a buffer and as an array. */
#include "fake_app.h"
#include "fake_cuda.h"

#include <sys/mman.h>
#include <unistd.h>

#define MB (UINT64_C(1) << 20)
#define W(p) ((word)(uintptr_t)(p))

static int tell(struct told *t)
{
    app_tell(t);
    return t->result;
}

/* ---- one function per call ---- */

static int pool_import(uint64_t *out, int fd)
{
    struct told t = {.api = API_cuMemPoolImportFromShareableHandle, .flags = 1};
    if (!app_call(&t, (word[8]){W(out), (word)fd, 1, 0}))
        t.pool = *out;
    return tell(&t);
}

static int pool_pointer(uint64_t *out, uint64_t pool, struct fake_ipc *shared)
{
    struct told t = {.api = API_cuMemPoolImportPointer, .pool = pool};
    if (!app_call(&t, (word[8]){W(out), pool, W(shared)}))
        t.addr = *out;
    return tell(&t);
}

static int external(uint64_t *out, uint64_t size, int fd)
{
    struct fake_external d = {.type = 1, .u = {.fd = fd}, .size = size};
    struct told t = {.api = API_cuImportExternalMemory};
    if (!app_call(&t, (word[8]){W(out), W(&d)})) {
        t.handle = *out;
        t.size = size;
        t.flags = 1;
    }
    return tell(&t);
}

static int external_buffer(uint64_t *out, uint64_t handle, uint64_t offset, uint64_t size)
{
    struct fake_external_buffer d = {.offset = offset, .size = size};
    struct told t = {.api = API_cuExternalMemoryGetMappedBuffer, .handle = handle};
    if (!app_call(&t, (word[8]){W(out), handle, W(&d)})) {
        t.addr = *out;
        t.size = size;
        t.offset = offset;
    }
    return tell(&t);
}

static int external_array(uint64_t *out, uint64_t handle)
{
    struct fake_external_mipmap d = {
        .array = {.width = 64, .height = 64, .format = 0x20, .channels = 1}, .levels = 1};
    struct told t = {.api = API_cuExternalMemoryGetMappedMipmappedArray};
    if (!app_call(&t, (word[8]){W(out), handle, W(&d)}))
        t.handle = *out;
    return tell(&t);
}

static int external_destroy(uint64_t handle)
{
    struct told t = {.api = API_cuDestroyExternalMemory, .handle = handle};
    return app_simple(&t, (word[8]){handle});
}

/* ---- scenarios ---- */

static void shared_pool(uint64_t mb)
{
    uint64_t pool = 0, p = 0, theirs = 0, again = 0;
    struct fake_ipc shared = {{0}};
    struct told export_pool = {.api = API_cuMemPoolExportToShareableHandle},
                export_pointer = {.api = API_cuMemPoolExportPointer};
    int fd = -1;
    if (c_pool_create(&pool, self.device) || c_async(&p, mb * MB, 0, pool, false))
        return;
    if (!app_simple(&export_pool, (word[8]){W(&fd), pool, 1, 0}) &&
        !app_simple(&export_pointer, (word[8]){W(&shared), p}) && !pool_import(&theirs, fd)) {
        if (!pool_pointer(&again, theirs, &shared))
            c_free(again);
        c_pool_destroy(theirs);
    }
    pool_import(&theirs, -1); /* no such descriptor */
    if (fd >= 0)
        close(fd);
    c_async_free(p, 0, false);
    c_pool_destroy(pool);
}

/* The memory of another interface: the file stands for it, and the driver takes it over. */
static void another_interface(uint64_t mb)
{
    uint64_t handle = 0, p = 0, array = 0;
    int fd = memfd_create("fake-external", MFD_CLOEXEC);
    if (fd < 0 || external(&handle, mb * MB, fd))
        return;
    external_buffer(&p, handle, 0, 2 * mb * MB); /* larger than it is */
    if (!external_buffer(&p, handle, MB, (mb - 1) * MB))
        c_free(p);
    if (!external_array(&array, handle))
        c_array_free(array, true);
    external_destroy(handle);
}

static void imports(const char *arg)
{
    uint64_t mb = app_number(&arg, 64);
    shared_pool(mb);
    another_interface(mb);
}

const struct scenario import_scenarios[] = {
    {"imports", "MB of a shared pool and of another interface's memory (64)", imports, true, true},
    {NULL, NULL, NULL, false, false}};
