/* cupti_find.c -- which libcupti: the copy that is in the process already, under whatever name, for
 * a second one beside it must not be loaded; else the file that was asked for; else the one that
 * fits the driver or the CUDA runtime, by soname, beside the libraries of the process, in the
 * folders of Python wheels, in /usr/local/cuda*. */
#define _GNU_SOURCE
#include "capture/inject/cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_DIRS 24
#define PATH_BYTES 1024

struct mti_cupti mti_cupti;

struct seen {
    char cupti[PATH_BYTES], cuda[PATH_BYTES];
    unsigned runtime_major;
    char dirs[MAX_DIRS][PATH_BYTES]; /* of CUDA libraries in the process */
    size_t n_dirs;
};

static bool starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* libcupti.so.12, and libcupti-1a2b3c4d.so.12 as wheels rename it. */
static bool is_cupti(const char *base)
{
    return starts(base, "libcupti") && (base[8] == '.' || base[8] == '-' || base[8] == '_') &&
           strstr(base, ".so");
}

static unsigned major_in(const char *base)
{
    const char *p = strstr(base, ".so.");
    return p ? (unsigned)strtoul(p + 4, NULL, 10) : 0;
}

static void add_dir(struct seen *s, const char *path, size_t n)
{
    if (n >= PATH_BYTES || s->n_dirs == MAX_DIRS || !n)
        return;
    for (size_t i = 0; i < s->n_dirs; i++)
        if (!strncmp(s->dirs[i], path, n) && !s->dirs[i][n])
            return;
    memcpy(s->dirs[s->n_dirs], path, n);
    s->dirs[s->n_dirs++][n] = 0;
}

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const cuda_libs[] = {"libcudart", "libtorch", "libc10",  "libcublas",
                                            "libnvrtc",  "libnccl",  "libcudnn"};
    struct seen *s = arg;
    (void)size;
    const char *path = info->dlpi_name;
    if (!path || !*path)
        return 0;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (is_cupti(base) && !s->cupti[0] && strlen(path) < PATH_BYTES)
        snprintf(s->cupti, sizeof s->cupti, "%s", path);
    if (starts(base, "libcuda.so") && !s->cuda[0] && strlen(path) < PATH_BYTES)
        snprintf(s->cuda, sizeof s->cuda, "%s", path);
    if (starts(base, "libcudart") && !s->runtime_major)
        s->runtime_major = major_in(base);
    for (size_t i = 0; i < sizeof cuda_libs / sizeof cuda_libs[0]; i++)
        if (slash && starts(base, cuda_libs[i]))
            add_dir(s, path, (size_t)(slash - path));
    return 0;
}

/* Major version of CUDA that the driver serves: from the number in the name of its file, else by
 * asking it. 0 = unknown. */
static unsigned driver_major(const struct seen *s)
{
    char real[PATH_MAX];
    uint32_t v;
    if (s->cuda[0] && realpath(s->cuda, real)) {
        const char *slash = strrchr(real, '/');
        unsigned number = major_in(slash ? slash + 1 : real);
        if (number >= 580)
            return 13;
        if (number >= 525)
            return 12;
        if (number >= 450)
            return 11;
    }
    return mti_cuda_version(&v) ? v / 1000 : 0;
}

static void look_up(void *lib)
{
    void *p;
#define MTI_F(member, symbol, parameters)                                                          \
    p = dlsym(lib, #symbol);                                                                       \
    memcpy(&mti_cupti.member, &p, sizeof p);
    MTI_CUPTI_FUNCTIONS(MTI_F)
#undef MTI_F
}

/* Takes an open library if it is a CUPTI of ours to use. The handle is never closed: its callbacks
 * are. */
static bool take(void *lib, const char *how)
{
    if (!lib)
        return false;
    look_up(lib);
    if (!mti_cupti.get_version || !mti_cupti.subscribe || !mti_cupti.enable_callback ||
        mti_cupti.get_version(&mti_cupti.version) != MTI_CUPTI_SUCCESS) {
        memset(&mti_cupti, 0, sizeof mti_cupti);
        return false;
    }
    void *f;
    memcpy(&f, &mti_cupti.subscribe, sizeof f);
    Dl_info info;
    snprintf(mti_cupti.path, sizeof mti_cupti.path, "%s",
             dladdr(f, &info) && info.dli_fname ? info.dli_fname : "libcupti");
    uint32_t v = mti_cupti.version;
    if (v >= 100000)
        mti_status(MT_ST_CUPTI_VERSION, 0, "%s, version %u (CUDA %u.%u), %s", mti_cupti.path, v,
                   v / 10000, v % 10000 / 100, how);
    else
        mti_status(MT_ST_CUPTI_VERSION, 0, "%s, version %u, %s", mti_cupti.path, v, how);
    return true;
}

static bool try_file(const char *dir, const char *sub, const char *soname)
{
    char path[2 * PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s%s/%s", dir, sub, soname);
    if (n < 0 || (size_t)n >= sizeof path || access(path, R_OK))
        return false;
    return take(dlopen(path, RTLD_LAZY | RTLD_LOCAL), "loaded");
}

/* soname of a CUDA major version in all the places. */
static bool try_version(const struct seen *s, unsigned major)
{
    /* From the folder of a library of the process: a toolkit, nvidia/<component>/lib, or torch/lib
     * of a wheel. */
    static const char *const beside[] = {"",
                                         "/../../cuda_cupti/lib",
                                         "/../../nvidia/cuda_cupti/lib",
                                         "/../../nvidia/cu13/lib",
                                         "/../extras/CUPTI/lib64",
                                         "/../../../extras/CUPTI/lib64"};
    static const char *const below[] = {"/extras/CUPTI/lib64", "/lib64",
                                        "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"};
    char soname[32], root[64];
    snprintf(soname, sizeof soname, major == 11 ? "libcupti.so.11.8" : "libcupti.so.%u", major);
    for (size_t i = 0; i < s->n_dirs; i++)
        for (size_t j = 0; j < sizeof beside / sizeof beside[0]; j++)
            if (try_file(s->dirs[i], beside[j], soname))
                return true;
    if (take(dlopen(soname, RTLD_LAZY | RTLD_LOCAL), "loaded by its name"))
        return true;
    const char *home = mti_env("CUDA_HOME");
    for (int pass = 0; pass < 3; pass++) {
        const char *dir = "/usr/local/cuda";
        if (pass == 0)
            dir = home && *home ? home : NULL;
        if (pass == 2) {
            snprintf(root, sizeof root, major == 11 ? "/usr/local/cuda-11.8" : "/usr/local/cuda-%u",
                     major);
            dir = root;
        }
        for (size_t j = 0; dir && j < sizeof below / sizeof below[0]; j++)
            if (try_file(dir, below[j], soname))
                return true;
    }
    return false;
}

bool mti_cupti_find(void)
{
    static struct seen s; /* 30 KiB: not on the stack of a thread of the job */
    memset(&s, 0, sizeof s);
    memset(&mti_cupti, 0, sizeof mti_cupti);
    dl_iterate_phdr(on_object, &s);
    if (s.cupti[0]) {
        if (take(dlopen(s.cupti, RTLD_LAZY | RTLD_NOLOAD), "found in the process"))
            return true;
        mti_status(MT_ST_CUPTI_MISSING, 2,
                   "driver calls are not recorded: %.500s is in the process, but is no CUPTI that "
                   "can be used",
                   s.cupti);
        return false;
    }
    if (mti_set.cupti && *mti_set.cupti) {
        if (take(dlopen(mti_set.cupti, RTLD_LAZY | RTLD_LOCAL), "given by MEMTRACE_CUPTI"))
            return true;
        mti_status(
            MT_ST_CUPTI_MISSING, 1,
            "MEMTRACE_CUPTI=%.500s is not a libcupti that can be loaded here; looking for another",
            mti_set.cupti);
    }
    unsigned driver = driver_major(&s);
    unsigned order[4] = {s.runtime_major, 13, 12, 11};
    for (size_t i = 0; i < 4; i++) {
        /* One that is newer than the driver answers every call with NOT_INITIALIZED. */
        if (order[i] < 11 || order[i] > 99 || (driver && order[i] > driver) ||
            (i && order[i] == order[0]))
            continue;
        if (try_version(&s, order[i]))
            return true;
    }
    mti_status(MT_ST_CUPTI_MISSING, 2,
               "driver calls are not recorded: no libcupti.so.13, .12 or .11.8 in the process, by "
               "its name (LD_LIBRARY_PATH, "
               "ld.so.cache), "
               "beside the CUDA libraries of the process, or in /usr/local/cuda (looked for: up to "
               "CUDA %u). Install the "
               "nvidia-cuda-cupti wheel or the toolkit's CUPTI, or set MEMTRACE_CUPTI to the file",
               driver);
    return false;
}
