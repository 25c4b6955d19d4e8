/* nvml_serve.c -- the process that has NVML open and answers those of a job (nvml_page.c). Forked
 * by `memtrace capture`, which loads this library for it; nothing else of the library runs there.
 */
#define _GNU_SOURCE 1
#include "capture/inject/inject.h"
#include "capture/inject/nvml_ways.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 200000000 /* between looks at whether the job is over */

MTI_EXPORT int memtrace_nvml_serve(const char *path, int life);

static struct {
    mti_nvml_device device;
    unsigned char uuid[16];
    char pci[32];
    bool has_uuid;
    enum mti_nvml_found found;
} known[MTI_PAGE_DEVICES];
static uint32_t n_known;

static void find(struct mti_page_slot *s)
{
    int e = MTI_NVML_NOT_FOUND;
    uint32_t i = 0;
    while (i < n_known && !(known[i].has_uuid == (s->has_uuid != 0) &&
                            memcmp(known[i].uuid, s->uuid, sizeof s->uuid) == 0 &&
                            strncmp(known[i].pci, s->pci, sizeof s->pci) == 0))
        i++;
    if (i == n_known && i < MTI_PAGE_DEVICES) {
        s->pci[sizeof s->pci - 1] = '\0';
        known[i].found =
            mti_inside_find(s->has_uuid != 0 ? s->uuid : NULL, s->pci, &known[i].device, &e);
        known[i].has_uuid = s->has_uuid != 0;
        memcpy(known[i].uuid, s->uuid, sizeof s->uuid);
        memcpy(known[i].pci, s->pci, sizeof s->pci);
        n_known += known[i].found != MTI_NVML_NONE;
    }
    s->error = i < MTI_PAGE_DEVICES && known[i].found != MTI_NVML_NONE ? MTI_NVML_OK : e;
    s->found = i < MTI_PAGE_DEVICES ? known[i].found : MTI_NVML_NONE;
    s->device = i + 1;
}

static void answer(struct mti_page_slot *s)
{
    unsigned n = 0;
    uint32_t i = s->device - 1;
    if (s->what == MTI_ASK_FIND)
        find(s);
    else if (i >= n_known)
        s->error = MTI_NVML_NOT_FOUND;
    else if (s->what == MTI_ASK_MEMORY)
        s->error = mti_inside_memory(known[i].device, &s->memory);
    else
        s->error = mti_inside_uses(known[i].device, s->uses, &n);
    s->n = n;
    (void)snprintf(s->text, sizeof s->text, "%s",
                   s->error != MTI_NVML_OK ? mti_inside_error(s->error) : "");
    atomic_store(&s->state, MTI_SLOT_ANSWERED);
    syscall(SYS_futex, &s->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Slots of processes that are gone. Only when there are few left: a process in another namespace of
 * pids is not seen from here, and would lose its slot. */
static void make_room(struct mti_page *page)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < MTI_PAGE_SLOTS; i++)
        taken += atomic_load(&page->slots[i].owner) != 0;
    for (uint32_t i = 0; taken > MTI_PAGE_SLOTS * 3 / 4 && i < MTI_PAGE_SLOTS; i++) {
        uint32_t owner = atomic_load(&page->slots[i].owner);
        if (owner != 0 && kill((pid_t)owner, 0) != 0 && errno == ESRCH)
            atomic_compare_exchange_strong(&page->slots[i].owner, &owner, 0);
    }
}

/* Until `life`, a pipe, has no writer any more. */
int memtrace_nvml_serve(const char *path, int life)
{
    struct pollfd end = {.fd = life, .events = POLLIN};
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct mti_page *page =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return 1;
    bool open = mti_inside_open(page->said, sizeof page->said);
    atomic_store(&page->state, open ? MTI_PAGE_OPEN : MTI_PAGE_NONE);
    syscall(SYS_futex, &page->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    while (open && poll(&end, 1, 0) == 0) {
        uint32_t seen = atomic_load(&page->bell);
        for (uint32_t i = 0; i < MTI_PAGE_SLOTS; i++)
            if (atomic_load(&page->slots[i].state) == MTI_SLOT_ASKED)
                answer(&page->slots[i]);
        make_room(page);
        struct timespec tick = {.tv_nsec = TICK_NS};
        syscall(SYS_futex, &page->bell, FUTEX_WAIT, seen, &tick, NULL, 0);
    }
    return 0;
}
