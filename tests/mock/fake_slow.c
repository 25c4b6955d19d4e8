/* fake_slow.c -- in the place of the recorder: takes FAKE_SLOW_S seconds to be loaded, and then
 * says that it was given too much. */
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) int memtrace_attach(const char *settings);

__attribute__((constructor)) static void load(void)
{
    const char *seconds = getenv("FAKE_SLOW_S");
    struct timespec left = {seconds != NULL ? atoi(seconds) : 0, 0};
    while (nanosleep(&left, &left) != 0) {
    }
}

int memtrace_attach(const char *settings)
{
    (void)settings;
    return 3;
}
