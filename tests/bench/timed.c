/* timed.c -- runs a command with its output thrown away and prints what it took: "NANOSECONDS
 * PEAK_RSS_BYTES CPU_NANOSECONDS". A program of its own, because a process that was forked from a
 * big one starts with the big one's peak memory: the kernel keeps the maximum across exec. Exit
 * status: that of the command, 127 when it cannot be run. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s COMMAND [ARG]...\n", argv[0]);
        return 2;
    }
    long long start = now_ns();
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    if (child == 0) {
        int sink = open("/dev/null", O_WRONLY);
        if (sink >= 0)
            dup2(sink, STDOUT_FILENO);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child) {
        perror("wait4");
        return 1;
    }
    long long us = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
              cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL + us * 1000;
    printf("%lld %lld %lld\n", now_ns() - start, (long long)usage.ru_maxrss * 1024, cpu);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
