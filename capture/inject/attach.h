/* attach.h -- recording a process that runs already: what `memtrace attach` and the library agree
 * on, and what the parts of the library give attach.c. */
#ifndef MTI_ATTACH_H
#define MTI_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

/* In the spool folder; that it is there asks the recorder to end. */
#define MTI_DETACH_FILE "mt-detach.part"
/* There: the recorder is at work. Whoever asked for it takes it away. */
#define MTI_BEGUN_FILE "mt-begun.part"
/* What memtrace_attach() returns. */
enum mti_attached {
    MTI_ATTACHED,           /* it begins */
    MTI_ATTACHED_ALREADY,   /* the process is recorded */
    MTI_ATTACHED_NO_THREAD, /* no thread could be started */
    MTI_ATTACHED_TOO_LONG   /* the settings are */
};
/* What memtrace_base() takes. */
struct mti_segment {
    uint64_t address, bytes, ordinal;
    uint64_t piece; /* 0 = allocated as one; else mapped in pieces of so many bytes */
};

struct mti_call;

/* since.c: what is called while the base of the recording is not taken yet. mti_since() is told of
 * each call; has: what lies at that address is not as it was at the beginning, its calls are
 * recorded; bytes: of the recorded calls, those that are still there. */
void mti_since_start(void);
void mti_since(const struct mti_call *c);
bool mti_since_has(uint64_t address);
uint64_t mti_since_bytes(uint32_t ordinal);
void mti_since_stop(void);
void mti_since_forget(void); /* in the child of a fork */

/* stacks.c: id of a stack of one frame, in a module of that name, for what no code is known that
 * asked for it. Once for each name. */
uint32_t mti_stack_named(const char *name);
/* samples.c: the bytes that the device counts for this process, by a sample that is taken now.
 * False: it does not say. Not on the writer thread. */
bool mti_gpu_own(uint32_t ordinal, uint64_t *bytes);
/* contexts.c: announces the devices on which this process has its usual context. */
void mti_devices_there(void);
/* python.c: takes the hook away, when the main thread comes to it; whether that is done, or there
 * is none. */
void mti_python_stop(void);
bool mti_python_stopped(void);
/* writer.c asks after its periodic work whether it is to leave. */
bool mti_detach_due(void);
/* cupti_start.c, samples.c: the end, on the writer thread. */
void mti_cupti_stop(void);
void mti_samples_stop(void);

#endif
