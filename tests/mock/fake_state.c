/* fake_state.c -- the machine that the fakes share: who holds how much of which GPU. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Never closed: closing any descriptor of the file would drop the record lock of the slot. */
static int state_fd = -1;

uint64_t fake_env_u64(const char *name, uint64_t dflt)
{
    const char *s = getenv(name);
    if (!s || !*s)
        return dflt;
    char *end = NULL;
    unsigned long long v = strtoull(s, &end, 10);
    return end == s ? dflt : v;
}

const char *fake_mode(const char *list, const char *name, char *buf, size_t size)
{
    size_t want = strlen(name);
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        if (n >= want && !memcmp(p, name, want) && (n == want || p[want] == ':')) {
            size_t skip = n == want ? want : want + 1;
            snprintf(buf, size, "%.*s", (int)(n - skip), p + skip);
            return buf;
        }
        p += n + (p[n] == ',');
    }
    return NULL;
}

void fake_gpu_uuid(unsigned i, unsigned char uuid[16])
{
    static const unsigned char base[16] = {0xfa, 0x4e, 0x60, 0x0d, 0xbe, 0xef, 0x40, 0x01,
                                           0x80, 0x0a, 0x12, 0x34, 0x56, 0x78, 0x9a, 0};
    memcpy(uuid, base, 16);
    uuid[15] = (unsigned char)(i + 1);
    uuid[0] = (unsigned char)(uuid[0] - i); /* so that prefixes tell devices apart */
}

void fake_gpu_uuid_text(unsigned i, char text[41])
{
    unsigned char u[16];
    fake_gpu_uuid(i, u);
    snprintf(text, 41, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
             u[14], u[15]);
}

unsigned fake_gpu_bus(unsigned i) { return 0x1b + 0x20 * (i % 4) + i / 4; }

struct fake_state *fake_state_open(void)
{
    const char *path = getenv("FAKE_STATE");
    if (!path || !*path)
        return NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return NULL;
    struct stat st;
    if (fstat(fd, &st) || (st.st_size < (off_t)sizeof(struct fake_state) &&
                           ftruncate(fd, (off_t)sizeof(struct fake_state))))
        return NULL;
    void *p = mmap(NULL, sizeof(struct fake_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return NULL;
    state_fd = fd;
    return p;
}

/* True when the lock of slot i was free and is ours now. */
static int slot_lock(unsigned i, short type)
{
    struct flock l = {
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(offsetof(struct fake_state, slots) + i * sizeof(struct fake_slot)),
        .l_len = 1};
    return fcntl(state_fd, F_SETLK, &l) == 0;
}

static void slot_clear(struct fake_slot *s)
{
    for (unsigned g = 0; g < FAKE_MAX_GPUS; g++)
        atomic_store(&s->used[g], 0);
}

struct fake_slot *fake_state_claim(struct fake_state *s)
{
    for (unsigned i = 0; i < FAKE_SLOTS; i++) {
        struct fake_slot *slot = &s->slots[i];
        if (!slot_lock(i, F_WRLCK))
            continue;
        slot_clear(slot);
        atomic_store(&slot->pid, (uint32_t)getpid());
        uint32_t n = atomic_load(&s->n_slots);
        while (n < i + 1 && !atomic_compare_exchange_weak(&s->n_slots, &n, i + 1)) {
        }
        atomic_fetch_add(&s->generation, 1);
        return slot;
    }
    return NULL;
}

void fake_state_reap(struct fake_state *s)
{
    if (state_fd < 0)
        return;
    uint32_t n = atomic_load(&s->n_slots);
    for (unsigned i = 0; i < n && i < FAKE_SLOTS; i++) {
        struct fake_slot *slot = &s->slots[i];
        uint32_t pid = atomic_load(&slot->pid);
        if (!pid || pid == (uint32_t)getpid() || !slot_lock(i, F_WRLCK))
            continue;
        slot_clear(slot);
        atomic_store(&slot->pid, 0);
        slot_lock(i, F_UNLCK);
        atomic_fetch_add(&s->generation, 1);
    }
}

uint64_t fake_state_used(struct fake_state *s, unsigned gpu)
{
    uint64_t sum = 0;
    uint32_t n = atomic_load_explicit(&s->n_slots, memory_order_relaxed);
    for (unsigned i = 0; i < n && i < FAKE_SLOTS; i++)
        sum += atomic_load_explicit(&s->slots[i].used[gpu], memory_order_relaxed);
    return sum;
}
