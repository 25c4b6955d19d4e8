/* nvml_page.c -- asks the process of `memtrace capture` that has NVML open (nvml_serve.c), through
 * a page in the spool folder. What it does not answer in time is an error as any other. */
#define _GNU_SOURCE 1
#include "capture/inject/inject.h"
#include "capture/inject/nvml_ways.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OPEN_NS UINT64_C(5000000000)  /* for nvmlInit; 8 GPUs take a second */
#define ANSWER_NS UINT64_C(300000000) /* of a query: about 0.1 ms */

static struct {
    struct mti_page *page;
    struct mti_page_slot *slot;
} P;

static void wait_on(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

/* The state when it is no longer `is`, or after so long. */
static uint32_t leaves(_Atomic uint32_t *word, uint32_t is, uint64_t ns)
{
    uint64_t end = mti_now() + ns, now;
    while (atomic_load(word) == is && (now = mti_now()) < end)
        wait_on(word, is, end - now < 50000000u ? end - now : 50000000u);
    return atomic_load(word);
}

static struct mti_page *map_page(const char **why)
{
    char path[4200];
    struct stat st;
    void *p = MAP_FAILED;
    *why = "no process of memtrace asks for them here: only `memtrace capture` starts one, or set "
           "MEMTRACE_NVML_INSIDE=1, with which jobs were seen to hang in cuBLAS";
    if (mti_set.spool == NULL ||
        snprintf(path, sizeof path, "%s/" MTI_PAGE_FILE, mti_set.spool) >= (int)sizeof path)
        return NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(struct mti_page))
        p = mmap(NULL, sizeof(struct mti_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p != MAP_FAILED ? p : NULL;
}

bool mti_page_open(char *said, size_t room)
{
    const char *why = NULL;
    if (P.page == NULL)
        P.page = map_page(&why);
    if (P.page == NULL) {
        (void)snprintf(said, room, "%s", why);
        return false;
    }
    uint32_t state = leaves(&P.page->state, MTI_PAGE_STARTING, OPEN_NS);
    (void)snprintf(said, room, "%.*s", (int)sizeof P.page->said - 1,
                   state == MTI_PAGE_STARTING ? "NVML did not open within five seconds"
                                              : P.page->said);
    for (uint32_t i = 0; state == MTI_PAGE_OPEN && P.slot == NULL && i < MTI_PAGE_SLOTS; i++) {
        uint32_t free = 0;
        if (atomic_compare_exchange_strong(&P.page->slots[i].owner, &free, (uint32_t)mti_pid))
            P.slot = &P.page->slots[i];
    }
    if (state == MTI_PAGE_OPEN && P.slot == NULL)
        (void)snprintf(said, room, "%u processes ask for them already", MTI_PAGE_SLOTS);
    return P.slot != NULL;
}

/* Asks what stands in the slot. */
static int ask(enum mti_question what)
{
    struct mti_page_slot *s = P.slot;
    if (s == NULL || atomic_load(&s->state) == MTI_SLOT_ASKED) /* the one before is still out */
        return MTI_NVML_NO_ANSWER;
    s->what = what;
    atomic_store(&s->state, MTI_SLOT_ASKED);
    atomic_fetch_add(&P.page->bell, 1);
    syscall(SYS_futex, &P.page->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
    if (leaves(&s->state, MTI_SLOT_ASKED, ANSWER_NS) == MTI_SLOT_ASKED)
        return MTI_NVML_NO_ANSWER;
    return s->error;
}

/* A question must not be changed while it is out. */
static bool may_ask(void)
{
    return P.slot != NULL && atomic_load(&P.slot->state) != MTI_SLOT_ASKED;
}

enum mti_nvml_found mti_page_find(const unsigned char *uuid, const char *pci,
                                  mti_nvml_device *device, int *error)
{
    *error = MTI_NVML_NO_ANSWER;
    if (!may_ask())
        return MTI_NVML_NONE;
    P.slot->has_uuid = uuid != NULL;
    if (uuid != NULL)
        memcpy(P.slot->uuid, uuid, sizeof P.slot->uuid);
    (void)snprintf(P.slot->pci, sizeof P.slot->pci, "%s", pci != NULL ? pci : "");
    *error = ask(MTI_ASK_FIND);
    if (*error == MTI_NVML_NO_ANSWER || P.slot->found == MTI_NVML_NONE)
        return MTI_NVML_NONE;
    /* a number, which only goes back into the page */
    *device = (mti_nvml_device)(uintptr_t)P.slot->device; /* NOLINT(performance-no-int-to-ptr) */
    return P.slot->found <= MTI_NVML_PARENT ? (enum mti_nvml_found)P.slot->found : MTI_NVML_NONE;
}

int mti_page_memory(mti_nvml_device device, struct mti_nvml_memory *m)
{
    if (!may_ask())
        return MTI_NVML_NO_ANSWER;
    P.slot->device = (uint32_t)(uintptr_t)device;
    int e = ask(MTI_ASK_MEMORY);
    *m = P.slot->memory;
    return e;
}

int mti_page_uses(mti_nvml_device device, struct mti_nvml_use *uses, unsigned *n)
{
    *n = 0;
    if (!may_ask())
        return MTI_NVML_NO_ANSWER;
    P.slot->device = (uint32_t)(uintptr_t)device;
    int e = ask(MTI_ASK_USES);
    if (e == MTI_NVML_OK) {
        *n = P.slot->n < MTI_USES_MAX ? P.slot->n : MTI_USES_MAX;
        memcpy(uses, P.slot->uses, *n * sizeof *uses);
    }
    return e;
}

const char *mti_page_error(int error)
{
    if (error == MTI_NVML_NO_ANSWER)
        return "memtrace's process that asks NVML does not answer";
    if (P.slot == NULL || P.slot->text[0] == '\0')
        return "unknown error";
    P.slot->text[sizeof P.slot->text - 1] = '\0';
    return P.slot->text;
}

/* In a forked child: the mapping stays, the slot is the parent's. */
void mti_page_forget(void) { P.slot = NULL; }
