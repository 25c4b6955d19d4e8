/* replay.c -- runs a fuzz target over files and folders, without libFuzzer: `replay [[--mutate N]
 * PATH...]...`. Each file behind --mutate is also run N times with bytes changed, cut or repeated,
 * always the same way. Nothing is printed for a run that ends well; a crash ends the program and
 * ctest shows which file was last. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILE (1 << 20) /* larger samples are for other tests: a fuzz case is small */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long n_files, n_runs, n_mutations;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Changes a copy of p[0..n) in one to four places; returns its new length. */
static size_t mutate(uint8_t *out, const uint8_t *p, size_t n, uint64_t *state)
{
    uint64_t changes = 1 + next_random(state) % 4;
    memcpy(out, p, n);
    for (uint64_t i = 0; i < changes && n > 0; i++) {
        size_t at = (size_t)(next_random(state) % n);
        switch (next_random(state) % 5) {
        case 0: out[at] = (uint8_t)next_random(state); break;
        case 1: out[at] ^= (uint8_t)(1u << next_random(state) % 8); break;
        case 2: out[at] = next_random(state) & 1 ? 0xff : 0x7f; break;
        case 3: n = at; break;
        default: {
            size_t from = (size_t)(next_random(state) % n), len = (size_t)(next_random(state) % 16);
            if (len > n - from)
                len = n - from;
            if (len > n - at)
                len = n - at;
            memmove(out + at, out + from, len);
            break;
        }
        }
    }
    return n;
}

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(MAX_FILE + 1), *copy = malloc(MAX_FILE + 1);
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    size_t n;
    int rc = 1;

    if (f == NULL || data == NULL || copy == NULL) {
        perror(path);
        goto out;
    }
    n = fread(data, 1, MAX_FILE + 1, f);
    rc = 0;
    if (n > MAX_FILE)
        goto out;
    n_files++;
    n_runs++;
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, n);
    for (unsigned long i = 0; i < n_mutations; i++) {
        size_t m = mutate(copy, data, n, &state);
        n_runs++;
        LLVMFuzzerTestOneInput(copy, m);
    }
out:
    free(copy);
    free(data);
    if (f != NULL)
        fclose(f);
    return rc;
}

static int run_path(const char *path, int depth)
{
    struct dirent **list = NULL;
    struct stat st;
    int n, rc = 0;

    if (stat(path, &st) != 0)
        return 0; /* a reader without a corpus or a regression yet */
    if (!S_ISDIR(st.st_mode))
        return run_file(path);
    n = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        size_t len = strlen(path) + strlen(list[i]->d_name) + 2;
        char *full = malloc(len);
        if (full != NULL && list[i]->d_name[0] != '.' && depth < 8) {
            snprintf(full, len, "%s/%s", path, list[i]->d_name);
            rc |= run_path(full, depth + 1);
        }
        free(full);
        free(list[i]);
    }
    free(list);
    return rc;
}

int main(int argc, char **argv)
{
    static const uint8_t nothing[1] = {0};
    int rc = 0;

    LLVMFuzzerTestOneInput(nothing, 0);
    LLVMFuzzerTestOneInput(nothing, 1);
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && strcmp(argv[i], "--mutate") == 0)
            n_mutations = strtoul(argv[++i], NULL, 10);
        else
            rc |= run_path(argv[i], 0);
    }
    printf("%lu files, %lu runs\n", n_files, n_runs);
    if (n_files == 0) {
        printf("no file was found\n");
        return 1;
    }
    return rc;
}
