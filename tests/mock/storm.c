/* storm.c -- a program whose threads are nearly always in the allocator, the loader, the making of
 * a thread or a fork: `storm FILE` goes on until FILE is there, checks what it computes, and ends
 * with status 3. Its number is its first line. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMORY, LOADS, THREADS, FORKS, SUMS, KINDS };

static atomic_bool stop;
static atomic_long done[KINDS];

static void *nothing(void *p)
{
    free(malloc(1000));
    return p;
}

static void memory(void)
{
    void *p[64];
    for (size_t i = 0; i < 64; i++)
        p[i] = malloc(1 + (i * 7919u) % 200000u);
    for (size_t i = 0; i < 64; i++)
        free(p[i]);
}

static void loads(void)
{
    void *h = dlopen("libm.so.6", RTLD_NOW);
    if (h != NULL)
        dlclose(h);
}

static void threads(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, nothing, NULL) == 0)
        pthread_join(t, NULL);
}

static void forks(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        free(malloc(100));
        _exit(7);
    }
    if (child > 0 && (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7))
        abort();
}

static void sums(void)
{
    double sum = 0;
    for (int i = 1; i <= 100000; i++)
        sum += 1.0 / i;
    if (sum < 12.09014 || sum > 12.09015)
        abort();
}

static void *storm(void *kind)
{
    static void (*const what[KINDS])(void) = {memory, loads, threads, forks, sums};
    size_t k = *(const size_t *)kind;
    while (!atomic_load(&stop)) {
        what[k]();
        atomic_fetch_add(&done[k], 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static size_t kinds[KINDS];
    pthread_t t[KINDS];
    if (argc < 2 || dlopen("libcuda.so.1", RTLD_NOW) == NULL)
        return 1;
    for (size_t k = 0; k < KINDS; k++) {
        kinds[k] = k;
        if (pthread_create(&t[k], NULL, storm, &kinds[k]) != 0)
            return 1;
    }
    printf("%ld\n", (long)getpid());
    fflush(stdout);
    while (access(argv[1], F_OK) != 0)
        memory();
    atomic_store(&stop, true);
    for (size_t k = 0; k < KINDS; k++)
        pthread_join(t[k], NULL);
    for (size_t k = 0; k < KINDS; k++)
        if (done[k] == 0)
            return 4;
    return 3;
}
