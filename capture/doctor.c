/* doctor.c -- looks at what a recording needs on this machine, and says what to do where something
 * is missing. Libraries are looked at as files, never loaded; the only thing started is python3, to
 * be asked about itself. */
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

static void say(struct mt_checks *c, const char *name, enum mt_check_state state, char *text,
                char *remedy)
{
    struct mt_check *k = text != NULL ? MT_VEC_PUSH(&c->list) : NULL;
    if (k == NULL) {
        mt_free(text);
        mt_free(remedy);
        return;
    }
    k->name = name;
    k->state = state;
    k->text = text;
    k->remedy = remedy;
    c->can_capture &= state != MT_CHECK_BAD;
}

/* ---- the parts of memtrace ---- */

static void check_glibc(struct mt_checks *c, const struct mt_elf_facts *library)
{
#if defined(__GLIBC__)
    const char *here = gnu_get_libc_version(), *dot = strchr(here, '.');
    unsigned long major = strtoul(here, NULL, 10),
                  minor = dot != NULL ? strtoul(dot + 1, NULL, 10) : 0;
    bool enough = major > library->glibc_major ||
                  (major == library->glibc_major && minor >= library->glibc_minor);
    say(c, "glibc", enough ? MT_CHECK_OK : MT_CHECK_BAD,
        mt_text("%s here; the recorder needs %u.%u", here, library->glibc_major,
                library->glibc_minor),
        enough ? NULL
               : mt_text("use an image with glibc 2.34 or newer: Debian 12, Ubuntu 22.04, RHEL 9"));
#else
    say(c, "glibc", MT_CHECK_BAD,
        mt_text("this is no glibc system; the recorder needs glibc %u.%u", library->glibc_major,
                library->glibc_minor),
        mt_text("use an image with glibc 2.34 or newer: Debian 12, Ubuntu 22.04, RHEL 9"));
#endif
}

static void check_library(struct mt_checks *c, const struct mt_places *p)
{
    struct mt_elf_facts f;

    if (p->inject == NULL) {
        say(c, "recorder", MT_CHECK_BAD,
            mt_text("libmemtrace_inject.so is neither beside memtrace nor in ../lib/memtrace"),
            mt_text("build with -DMEMTRACE_CAPTURE=ON and copy lib/memtrace along with "
                    "bin/memtrace, or name it with "
                    "MEMTRACE_INJECT"));
    } else if (access(p->inject, R_OK) != 0 || !mt_elf_read(p->inject, &f) || !f.is_elf) {
        say(c, "recorder", MT_CHECK_BAD, mt_text("%s: not a library that can be read", p->inject),
            mt_text("install memtrace again"));
    } else if (!f.is_64 || (mt_elf_here() != 0 && f.machine != mt_elf_here())) {
        say(c, "recorder", MT_CHECK_BAD, mt_text("%s is for another kind of processor", p->inject),
            mt_text("install the memtrace that was built for this machine"));
    } else {
        say(c, "recorder", MT_CHECK_OK, mt_text("%s", p->inject), NULL);
        check_glibc(c, &f);
    }
    if (p->inject != NULL)
        say(c, "PyTorch hook", p->site != NULL ? MT_CHECK_OK : MT_CHECK_BAD,
            p->site != NULL ? mt_text("%s", p->site)
                            : mt_text("site/sitecustomize.py is not beside the recorder"),
            p->site != NULL
                ? NULL
                : mt_text("copy the whole folder lib/memtrace, or record with --no-torch"));
}

static void check_holder(struct mt_checks *c)
{
    struct mt_holder h;
    char shown[300];
    if (!mt_injection_holder(&h)) {
        say(c, "injection", MT_CHECK_OK,
            mt_text("CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH are free"), NULL);
        return;
    }
    say(c, "injection", MT_CHECK_BAD,
        mt_text("held by %s (%s=%s)", h.tool, h.variable,
                mt_printable(shown, sizeof shown, h.value, strlen(h.value))),
        mt_text("run without that tool, or record with --take-over"));
}

/* ---- the spool folder ---- */

/* Whether a file can be made (*error: why not), and whether it can have what a process takes. */
static bool can_make_file(const char *dir, int *error, bool *roomy)
{
    char *path = mt_text("%s/memtrace-doctor-XXXXXX", dir);
    int fd = path != NULL ? mkstemp(path) : -1;
    *error = fd < 0 ? errno : 0;
    *roomy = false;
    if (fd >= 0) {
        struct rlimit most = {0, 0}; /* asking for more would end us by SIGXFSZ */
        bool allowed = getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
                       most.rlim_cur >= 8 << 20;
        *roomy = allowed && posix_fallocate(fd, 0, 8 << 20) == 0;
        (void)unlink(path);
        (void)close(fd);
    }
    mt_free(path);
    return fd >= 0;
}

static void check_spool(struct mt_checks *c)
{
    const char *dir = mt_capture_env("TMPDIR");
    char shown[300];
    struct statvfs vfs;
    bool roomy;
    int error;

    if (dir == NULL || dir[0] == '\0')
        dir = "/tmp";
    (void)mt_printable(shown, sizeof shown, dir, strlen(dir));
    if (!can_make_file(dir, &error, &roomy)) {
        say(c, "spool folder", MT_CHECK_BAD, mt_text("%s: %s", shown, strerror(error)),
            mt_text("name another folder with --spool, as /dev/shm"));
        return;
    }
    if (!roomy) {
        say(c, "spool folder", MT_CHECK_NOTE,
            mt_text("%s: writable, but without room for 8 MiB", shown),
            mt_text("it is recorded what fits, and what is not yet written is lost where a process "
                    "is killed; name a larger "
                    "folder with --spool"));
        return;
    }
    if (statvfs(dir, &vfs) == 0) {
        uint64_t mib = (uint64_t)vfs.f_bavail * vfs.f_frsize >> 20;
        bool little = mib < 1024;
        say(c, "spool folder", little ? MT_CHECK_NOTE : MT_CHECK_OK,
            mt_text("%s: writable, %llu MiB free", shown, (unsigned long long)mib),
            little ? mt_text("a recording takes about 6 MiB a process and what is recorded; name a "
                             "larger folder with --spool")
                   : NULL);
    }
}

/* ---- NVIDIA's libraries ---- */

static char *first_there(const char *const *dirs, size_t n, const char *prefix)
{
    for (size_t i = 0; i < n; i++) {
        DIR *d = dirs[i] != NULL && dirs[i][0] != '\0' ? opendir(dirs[i]) : NULL;
        const struct dirent *e;
        char best[256] = "";
        char *path;
        if (d == NULL)
            continue;
        while (
            (e = readdir(d)) !=
            NULL) /* the longest name is the most exact version, whatever the order of the folder */
            if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
                strstr(e->d_name, ".so") != NULL &&
                (strlen(e->d_name) > strlen(best) ||
                 (strlen(e->d_name) == strlen(best) && strcmp(e->d_name, best) > 0)))
                snprintf(best, sizeof best, "%s", e->d_name);
        (void)closedir(d);
        if (best[0] == '\0')
            continue;
        path = mt_path_join(dirs[i], best);
        if (path != NULL && access(path, R_OK) == 0)
            return path;
        mt_free(path);
    }
    return NULL;
}

#define SYSTEM_DIRS                                                                                \
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", \
        "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib"
#define N_SYSTEM 8
#define CUDA_DIRS                                                                                  \
    "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64",                                 \
        "/usr/local/cuda/targets/x86_64-linux/lib"
#define N_CUDA 3

/* LD_LIBRARY_PATH, then where such libraries usually are. Returns the path found, or NULL. */
static char *find_library(const char *prefix, bool cuda)
{
    static const char *const system_dirs[] = {SYSTEM_DIRS, CUDA_DIRS};
    const char *ld = mt_capture_env("LD_LIBRARY_PATH");
    while (ld != NULL && *ld != '\0') {
        size_t n = strcspn(ld, ":");
        char *dir = mt_strndup(ld, n);
        const char *one[1] = {dir};
        char *found = dir != NULL ? first_there(one, 1, prefix) : NULL;
        mt_free(dir);
        if (found != NULL)
            return found;
        ld += n + (ld[n] == ':');
    }
    return first_there(system_dirs, cuda ? N_SYSTEM + N_CUDA : N_SYSTEM, prefix);
}

static void check_driver(struct mt_checks *c)
{
    char *cuda = find_library("libcuda.so.", false),
         *nvml = find_library("libnvidia-ml.so.", false);
    char version[200] = "";
    size_t got = 0;
    int fd = open("/proc/driver/nvidia/version", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)mt_read_at(fd, version, sizeof version - 1, 0, &got);
        (void)close(fd);
        version[got] = '\0';
        version[strcspn(version, "\n")] = '\0';
    }
    say(c, "libcuda", cuda != NULL ? MT_CHECK_OK : MT_CHECK_NOTE,
        cuda != NULL ? mt_text("%s%s%s", cuda, version[0] != '\0' ? "; " : "", version)
                     : mt_text("no libcuda.so.1: no GPU driver is seen here"),
        cuda != NULL ? NULL
                     : mt_text("on a machine with a GPU install the driver; in a container use "
                               "--gpus all (NVIDIA Container Toolkit)"));
    say(c, "NVML", nvml != NULL ? MT_CHECK_OK : MT_CHECK_NOTE,
        nvml != NULL ? mt_text("%s", nvml)
                     : mt_text("no libnvidia-ml.so.1: no samples of the whole GPU, so other "
                               "processes and the context stay unseen"),
        nvml != NULL ? NULL
                     : mt_text("it comes with the driver; in a container set "
                               "NVIDIA_DRIVER_CAPABILITIES=compute,utility"));
    mt_free(cuda);
    mt_free(nvml);
}

static void check_cupti(struct mt_checks *c, const char *wheel)
{
    const char *named = mt_capture_env("MEMTRACE_CUPTI");
    char *found;
    if (named != NULL && named[0] != '\0') {
        bool there = access(named, R_OK) == 0;
        say(c, "libcupti", there ? MT_CHECK_OK : MT_CHECK_BAD,
            mt_text("MEMTRACE_CUPTI names %s%s", named, there ? "" : ", which cannot be read"),
            there
                ? NULL
                : mt_text("unset MEMTRACE_CUPTI: the copy of the job itself is found without it"));
        return;
    }
    found = find_library("libcupti.so.", true);
    if (wheel != NULL)
        say(c, "libcupti", MT_CHECK_OK, mt_text("%s (from Python's packages, taken first)", wheel),
            NULL);
    else if (found != NULL)
        say(c, "libcupti", MT_CHECK_OK,
            mt_text("%s; a process that has its own copy loaded uses that", found), NULL);
    else
        say(c, "libcupti", MT_CHECK_NOTE,
            mt_text("not in the usual folders; a process that has its own copy loaded (PyTorch "
                    "has) uses that"),
            mt_text("for programs without PyTorch: install CUDA's libcupti, or name one with "
                    "MEMTRACE_CUPTI"));
    mt_free(found);
}

/* ---- the surroundings ---- */

static void check_surroundings(struct mt_checks *c)
{
    const char *ray = mt_capture_env("RAY_ADDRESS");
    char shown[200];
    bool container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;

    if (ray != NULL && ray[0] != '\0')
        say(c, "Ray", MT_CHECK_NOTE,
            mt_text("RAY_ADDRESS=%s: jobs go to a cluster that runs already, whose workers inherit "
                    "nothing from here",
                    mt_printable(shown, sizeof shown, ray, strlen(ray))),
            mt_text("start the cluster under memtrace (memtrace capture -- ray start --head "
                    "--block), or hand the variables to "
                    "the workers (docs/capture.md)"));
    else if (access("/tmp/ray/ray_current_cluster", F_OK) == 0)
        say(c, "Ray", MT_CHECK_NOTE,
            mt_text("/tmp/ray/ray_current_cluster is there: a Ray cluster may be running, whose "
                    "workers inherit nothing from here"),
            mt_text("stop it (ray stop) so that the job starts its own, or start the cluster under "
                    "memtrace (docs/capture.md)"));
    if (container)
        say(c, "container", MT_CHECK_OK,
            mt_text("this is one; start 'memtrace capture' in the same container as the job"),
            NULL);
}

static void check_left(struct mt_checks *c)
{
    struct mt_dirs left;
    struct mt_err ignored;
    char shown[300];
    memset(&ignored, 0, sizeof ignored);
    if (mt_left_find(&left, &ignored) != MT_OK)
        return;
    if (left.list.n != 0) {
        const char *dir = mt_printable(shown, sizeof shown, left.list.p[0], strlen(left.list.p[0]));
        say(c, "recordings left", MT_CHECK_NOTE,
            mt_text("%s%s holds a recording that no trace was made of", dir,
                    left.list.n > 1 ? " and others like it" : ""),
            mt_text("memtrace collect %s -o trace.gz --remove", dir));
    }
    mt_dirs_done(&left);
}

static void check_python(struct mt_checks *c, const struct mt_python_facts *py, bool has_hook)
{
    if (py->version == NULL)
        say(c, "Python", MT_CHECK_NOTE,
            mt_text("no python3 on the PATH: nothing to say about PyTorch"), NULL);
    else if (has_hook && !py->honours_path)
        say(c, "Python", MT_CHECK_NOTE,
            mt_text("%s does not take sitecustomize from PYTHONPATH (a .pth file or a wrapper is "
                    "in front)",
                    py->version),
            mt_text("PyTorch snapshots are then started from the recorder itself, a little later"));
    else
        say(c, "Python", MT_CHECK_OK,
            mt_text("%s %s%s", py->version, py->torch != NULL ? "with PyTorch " : "without PyTorch",
                    py->torch != NULL ? py->torch : ""),
            NULL);
}

enum mt_rc mt_doctor(struct mt_checks *out, struct mt_err *err)
{
    struct mt_python_facts py;
    struct mt_places places;
    struct mt_err why;

    memset(out, 0, sizeof *out);
    memset(&why, 0, sizeof why);
    out->can_capture = true;
    if (mt_places_find(&places, &why) != MT_OK)
        say(out, "recorder", MT_CHECK_BAD, mt_text("%s", why.msg), NULL);
    else
        check_library(out, &places);
    check_spool(out);
    check_left(out);
    check_holder(out);
    check_driver(out);
    mt_ask_python(&py, places.site);
    check_cupti(out, py.cupti);
    check_python(out, &py, places.site != NULL);
    check_surroundings(out);
    mt_python_facts_done(&py);
    mt_places_done(&places);
    return out->list.n > 0 ? MT_OK : mt_fail(err, MT_ENOMEM, "out of memory");
}

void mt_checks_done(struct mt_checks *c)
{
    for (uint32_t i = 0; i < c->list.n; i++) {
        mt_free(c->list.p[i].text);
        mt_free(c->list.p[i].remedy);
    }
    MT_VEC_DONE(&c->list);
}
