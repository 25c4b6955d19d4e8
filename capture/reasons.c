/* reasons.c -- why less was recorded than hoped for, and what to do about it, in words. */
#include "capture/parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the process itself wrote are whole sentences; some ask for an option that only this side
 * knows. */
static const struct {
    enum mt_wire_status code;
    const char *remedy;
} losses[] = {
    {MT_ST_SUBSCRIBER_BUSY, ""},
    {MT_ST_CUPTI_MISSING, ""},
    {MT_ST_CUPTI_ERROR, ""},
    {MT_ST_SILENT, ""},
    {MT_ST_SPOOL_MEMORY, "; name another folder with --spool"},
    {MT_ST_DISK_FULL, "; name another folder with --spool"},
    {MT_ST_SIZE_CAP, "; raise it with --max-mb"},
    {MT_ST_STALLED, "; name a faster folder with --spool"},
    {MT_ST_UNKNOWN_API, ""},
};

char *mt_why_process(const struct mt_tally *t)
{
    char text[2000] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        const struct mt_tally_status *said = NULL;
        char shown[600];
        for (uint32_t j = 0; j < t->statuses.n; j++) {
            const struct mt_tally_status *s = &t->statuses.p[j];
            if (s->code == losses[i].code && s->level > 0 &&
                (said == NULL || s->level > said->level))
                said = s;
        }
        if (said == NULL || said->text == NULL || n >= sizeof text - 700)
            continue;
        (void)mt_printable(shown, sizeof shown, said->text, strlen(said->text));
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", n > 0 ? ". " : "", shown,
                              losses[i].remedy);
    }
    return n > 0 ? mt_strndup(text, strlen(text)) : NULL;
}

/* ---- nothing at all ---- */

static bool named(const char *word, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(word, *names) == 0)
            return true;
    return false;
}

struct clues {
    bool ray, python, container, remote, root, slurm, cleared, is_static;
};

/* What the command line shows: a program of these names starts the work where our variables do not
 * reach. */
static void look_at(const char *word, bool first, bool is_env, struct clues *c)
{
    static const char *const containers[] = {"docker",    "podman", "nerdctl", "singularity",
                                             "apptainer", "enroot", "kubectl", NULL};
    static const char *const remotes[] = {"ssh", "pdsh", "mpirun", "mpiexec", NULL};
    static const char *const roots[] = {"sudo", "su", "pkexec", "doas", NULL};
    static const char *const slurms[] = {"srun", "sbatch", "salloc", NULL};
    const char *name = mt_base_name(word);
    c->container |= named(name, containers);
    c->remote |= first && named(name, remotes);
    c->root |= first && named(name, roots);
    c->slurm |= named(name, slurms);
    c->cleared |= is_env && (strcmp(word, "-i") == 0 || strcmp(word, "-") == 0 ||
                             strcmp(word, "--ignore-environment") == 0);
    c->python |= strncmp(name, "python", 6) == 0 || strstr(name, ".py") != NULL ||
                 strstr(word, "python") != NULL;
    c->ray |= strcmp(name, "ray") == 0 || strncmp(word, "verl.", 5) == 0 ||
              strstr(word, "ray_kwargs") != NULL || strstr(word, "ray.init") != NULL ||
              strncmp(word, "areal.launcher.ray", 18) == 0;
}

#define RAY                                                                                        \
    "Ray's workers inherit the environment of the raylet, not of this command. If the Ray "        \
    "cluster was running already, "                                                                \
    "either\n"                                                                                     \
    "  stop it (ray stop) and start it under memtrace: memtrace capture -- ray start --head "      \
    "--block\n"                                                                                    \
    "  or hand the variables to the workers ('memtrace doctor --json' shows "                      \
    "CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH "                                                \
    "and\n"                                                                                        \
    "  PYTHONPATH; MEMTRACE_SPOOL is an existing folder), and afterwards: memtrace collect "       \
    "FOLDER. With verl:\n"                                                                         \
    "    +ray_kwargs.ray_init.runtime_env.env_vars.CUDA_INJECTION64_PATH=... and so on\n"

/* Jobs find a cluster that runs already by this variable, or by the file that `ray start` leaves.
 */
static bool is_ray_elsewhere(void)
{
    const char *address = mt_capture_env("RAY_ADDRESS");
    if (address != NULL && address[0] != '\0')
        return strcmp(address, "local") != 0;
    return access("/tmp/ray/ray_current_cluster", F_OK) == 0;
}

static struct clues clues_of(char *const *argv)
{
    struct clues c;
    memset(&c, 0, sizeof c);
    for (uint32_t i = 0; argv != NULL && i < 4096 && argv[i] != NULL; i++)
        look_at(argv[i], i == 0, i > 0 && strcmp(mt_base_name(argv[i - 1]), "env") == 0, &c);
    c.ray |= c.python && is_ray_elsewhere();
    return c;
}

char *mt_why_no_gpu(char *const *argv)
{
    return clues_of(argv).ray ? mt_strndup(RAY, sizeof RAY - 1) : NULL;
}

char *mt_why_nothing(const struct mt_tally *tallies, uint32_t n, const struct mt_collect_opts *o)
{
    const char *program = o->program, *spool = o->dir;
    struct clues c = clues_of(o->argv);
    struct mt_elf_facts elf;
    char text[3000] = "";
    size_t used = 0;
    uint32_t loaded = 0;
    char *inner;

    c.is_static = program != NULL && mt_elf_read(program, &elf) && elf.is_elf && elf.is_static;
#define SAY(...)                                                                                   \
    do {                                                                                           \
        if (used < sizeof text)                                                                    \
            used += (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__);                \
    } while (0)
    for (uint32_t i = 0; i < n; i++) {
        char *why = mt_why_process(&tallies[i]);
        loaded += tallies[i].started;
        if (why != NULL && used < 1500)
            SAY("%s\n", why);
        mt_free(why);
    }
    if (used > 0)
        return mt_strndup(text, strlen(text));
    inner = mt_inner_traces(spool);
    if (o->sig != 0)
        SAY("the command was killed by signal %d, perhaps before it came to the GPU\n", o->sig);
    else if (o->status > 0)
        SAY("the command failed (status %d), perhaps before it came to the GPU: see what it "
            "printed\n",
            o->status);
    if (inner != NULL) {
        SAY("another 'memtrace capture' inside this one took over: its trace is %s\n", inner);
    } else if (loaded > 0) {
        SAY("the library was loaded, but no driver call that concerns memory and no NVTX range was "
            "made\n%s",
            c.ray ? RAY : "");
    } else if (c.ray) {
        SAY("%s", RAY);
    } else if (c.container) {
        SAY("a container does not get the variables, and does not see the library or %s: run "
            "'memtrace capture' inside it, "
            "or mount both folders and pass CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH and "
            "MEMTRACE_SPOOL (-e)\n",
            spool);
    } else if (c.slurm) {
        SAY("the steps of srun may run on other nodes, where %s is not seen: put memtrace behind "
            "it (srun "
            "memtrace capture -o trace-%%r.gz -- ...), or use --spool with a folder "
            "that all nodes see\n",
            spool);
    } else if (c.cleared) {
        SAY("env -i drops the variables: put memtrace behind it (env -i ... memtrace capture -- "
            "...)\n");
    } else if (c.root) {
        SAY("sudo and setuid programs drop the variables: put memtrace behind it (sudo memtrace "
            "capture -- ...)\n");
    } else if (c.remote) {
        SAY("the work ran on other machines, or without this environment: put memtrace behind "
            "it\n");
    } else if (c.is_static) {
        SAY("%s is a static program: it cannot load a library, and neither CUDA nor the recorder "
            "can come into it\n",
            program);
    } else {
        SAY("no process loaded the recorder: none started CUDA (cuInit) or marked an NVTX range, "
            "or it could not see the library (another container, another root, a setuid or static "
            "program, an environment made anew)\n"
            "'memtrace doctor' checks the machine; an application that runs on a GPU here should "
            "have left a trace\n");
    }
#undef SAY
    mt_free(inner);
    return mt_strndup(text, strlen(text));
}
