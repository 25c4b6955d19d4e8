/* attach_call.h -- a call that a thread of another process makes, as a debugger has it made: what
 * the attach_*.c share. Only they include it.
 *
 * Nothing is written into the code of the process, and no other thread of it is stopped. */
#ifndef MT_CAPTURE_ATTACH_CALL_H
#define MT_CAPTURE_ATTACH_CALL_H

#include "capture/attach.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- attach_maps.c: what is mapped in a process, as of one moment ---- */

struct mt_code {
    uint64_t from, to;
    uint32_t file; /* in files; MT_NO_FILE: of none */
};
#define MT_NO_FILE UINT32_MAX
struct mt_mapped_file {
    char *name; /* its path; the kernel adds " (deleted)" where that is another's now */
    uint64_t start, part_end; /* of its first part, where its first bytes are */
    enum mt_locks { MT_LOCKS_UNKNOWN, MT_LOCKS_NONE, MT_LOCKS_LIBC, MT_LOCKS_SOME } locks;
};
struct mt_maps {
    MT_VEC(struct mt_code) code; /* what may be run */
    MT_VEC(struct mt_mapped_file) files;
};
/* False: errno says why. */
bool mt_maps_read(struct mt_maps *out, pid_t pid);
void mt_maps_done(struct mt_maps *m);
/* Whether a file's base name begins so. */
bool mt_mapped_is(const struct mt_mapped_file *f, const char *begin);
bool mt_mapped_is_libc(const struct mt_mapped_file *f);
bool mt_mapped_is_loader(const struct mt_mapped_file *f);

/* ---- attach_place.c: where a thread may be stopped ---- */

/* What a call needs of the process: addresses of its functions, 0 = it has none. */
struct mt_call_places {
    struct mt_maps maps;
    pid_t pid;
    int memory; /* its memory, to read and to write */
    uint64_t f_mmap, f_munmap, f_errno, f_dlopen, f_dlsym, f_dlerror;
    uint64_t trap; /* an instruction of its C library that stops a thread */
};
/* MT_EIO: err says what is missing. */
enum mt_rc mt_call_places_find(struct mt_call_places *out, pid_t pid, struct mt_err *err);
void mt_call_places_done(struct mt_call_places *p);
/* What /proc says a thread does. */
struct mt_thread_doing {
    bool in_call; /* a call of the kernel: number, first two arguments, where it was made */
    long number;
    unsigned long op;
    uint64_t sp, pc;
};
bool mt_thread_doing(struct mt_thread_doing *out, pid_t pid, pid_t tid);
/* Whether it is in a call that can be long, and that no lock of the allocator or of the loader is
 * held for. */
bool mt_thread_waits(const struct mt_thread_doing *d);
/* Whether a thread that is stopped there holds no lock of the allocator or of the loader. doing: as
 * read before it was stopped. */
bool mt_place_is_safe(struct mt_call_places *p, uint64_t pc, uint64_t sp,
                      const struct mt_thread_doing *doing);
/* A thread that is in the loader holds its lock, and may for long. */
bool mt_place_in_loader(struct mt_call_places *p, uint64_t pc);

/* ---- attach_thread.c: a thread that is stopped, and what it is made to call ---- */

#define MT_THREAD_SETS 2u /* of registers beside the general ones */
#define MT_THREAD_SET_MAX 65536u
struct mt_thread {
    pid_t tid;
    int memory;
    uint64_t trap;
    void *general; /* as they were */
    struct {
        void *bytes;
        size_t n;
    } sets[MT_THREAD_SETS];
    uint64_t signals; /* those that it blocked */
    uint64_t stack;   /* where its calls begin to use the stack; 16 bytes each */
};
bool mt_thread_new(struct mt_thread *t, int memory, uint64_t trap);
void mt_thread_done(struct mt_thread *t);
enum mt_stopped { MT_STOPPED, MT_NOT_STOPPED, MT_STOP_LATE, MT_STOP_REFUSED };
/* Tells thread tid to stop: LATE, it will. REFUSED: errno says why; no thread can be stopped by
 * this process. */
enum mt_stopped mt_thread_stop(struct mt_thread *t, pid_t tid);
/* Until it has stopped, for at most about ms. LATE: not yet; it is let go when this process ends.
 * NOT_STOPPED: it has ended, or stands still by itself; it is let go. */
enum mt_stopped mt_thread_wait(struct mt_thread *t, unsigned ms);
void mt_thread_at(const struct mt_thread *t, uint64_t *pc, uint64_t *sp);
/* Before the first call: from now on signals wait. False: nothing was changed. */
bool mt_thread_take(struct mt_thread *t);
/* False: it did not come back from that (it has ended, or ran into a fault). */
bool mt_thread_call(struct mt_thread *t, uint64_t function, const uint64_t arguments[6],
                    uint64_t *result);
/* As it was before mt_thread_take(). */
void mt_thread_give_back(const struct mt_thread *t);
/* It goes on. */
void mt_thread_go(const struct mt_thread *t);

#endif
