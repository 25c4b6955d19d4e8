/* fake_owner.c -- stands for a library that calls the driver: its code is between the program and
 * the driver in native stacks. Built once per library name, without frame pointers, as such
 * libraries are. */
#include "fake.h"

typedef uint64_t word;
FAKE_EXPORT int fake_owner_call(int (*f)(word, word, word, word, word, word, word, word),
                                const word *a);
__attribute__((noinline)) static int inner(int (*f)(word, word, word, word, word, word, word, word),
                                           const word *a)
{
    volatile word frame[6] = {1, 2, 3, 4, 5, 6}; /* a frame worth unwinding, and no tail call */
    int r = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    frame[0] = (word)r;
    return (int)frame[0];
}

int fake_owner_call(int (*f)(word, word, word, word, word, word, word, word), const word *a)
{
    volatile int r = inner(f, a);
    return r;
}
