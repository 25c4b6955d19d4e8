/* fake_nvtx.h -- an NVTX 3 client: at the first call it loads NVTX_INJECTION64_PATH and lets it
 * fill the tables of function pointers. */
#ifndef FAKE_NVTX_H
#define FAKE_NVTX_H

typedef void (*fake_nvtx_fn)(void);

/* Places in the tables NVTX_CB_MODULE_CORE and NVTX_CB_MODULE_CORE2. */
enum { NVTX_MARK_A = 2, NVTX_START_A = 5, NVTX_END = 7, NVTX_PUSH_A = 9, NVTX_POP = 11 };
enum {
    NVTX_D_MARK = 1,
    NVTX_D_START = 2,
    NVTX_D_END = 3,
    NVTX_D_PUSH = 4,
    NVTX_D_POP = 5,
    NVTX_D_STRING = 10,
    NVTX_D_CREATE = 12
};

/* What the injected library put there; NULL where there is none. From any thread. */
fake_nvtx_fn fake_nvtx_core(unsigned place);
fake_nvtx_fn fake_nvtx_core2(unsigned place);

#endif
