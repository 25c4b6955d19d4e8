/* env.c -- the environment: the settings of the library, and values that others record. */
#define _GNU_SOURCE 1
#include "capture/inject/inject.h"

#include <stdlib.h>
#include <string.h>

struct mti_settings mti_set;

/* Kept here: the environment belongs to the job, which may change it. */
#define TEXT_MAX 4096u
#define MTI_TEXT(field, name) static char text_##field[TEXT_MAX];
#define MTI_NUMBER(field, name, normal, smallest, largest, unit)
#define MTI_SWITCH(field, name, normal)
#include "capture/inject/env.def"
#undef MTI_TEXT
#undef MTI_NUMBER
#undef MTI_SWITCH

/* "NAME=value", one behind the other, each ended by a NUL; the last is empty. */
static char given[MTI_GIVEN_MAX + 2];

bool mti_env_give(const char *settings)
{
    size_t n = strnlen(settings, MTI_GIVEN_MAX);
    if (n == MTI_GIVEN_MAX)
        return false;
    memset(given, 0, sizeof given);
    for (size_t i = 0; i < n; i++)
        given[i] = settings[i] == '\n' ? '\0' : settings[i];
    return true;
}

const char *mti_env_given(void) { return given; }

/* What was given to this library comes before the environment, which is the job's. A program with
 * more rights than its user must not write where that user says: secure_getenv. */
const char *mti_env(const char *name)
{
    size_t n = strlen(name);
    for (const char *at = given; *at != '\0'; at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return secure_getenv(name);
}

static const char *text(char *keep, const char *name)
{
    const char *v = mti_env(name);
    size_t n = v ? strlen(v) : 0;
    if (n == 0 || n >= TEXT_MAX)
        return NULL;
    memcpy(keep, v, n + 1);
    return keep;
}

/* Not strtoull(): that one depends on the C library's version and the locale. */
static uint64_t number(const char *name, uint64_t normal, uint64_t smallest, uint64_t largest)
{
    const char *v = mti_env(name);
    uint64_t n = 0;
    if (!v || !*v)
        return normal;
    for (; *v; v++) {
        if (*v < '0' || *v > '9')
            return normal;
        n = n * 10 + (uint64_t)(*v - '0');
        if (n > largest)
            n = largest;
    }
    return n < smallest ? smallest : n;
}

static bool on(const char *name, bool normal)
{
    static const char *const off[] = {"0", "no", "off", "false"};
    const char *v = mti_env(name);
    if (!v || !*v)
        return normal;
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (strcmp(v, off[i]) == 0)
            return false;
    return true;
}

void mti_env_read(struct mti_settings *s)
{
#define MTI_TEXT(field, name) s->field = text(text_##field, name);
#define MTI_NUMBER(field, name, normal, smallest, largest, unit)                                   \
    s->field = (__typeof__(s->field))(number(name, normal, smallest, largest) * UINT64_C(unit));
#define MTI_SWITCH(field, name, normal) s->field = on(name, normal);
#include "capture/inject/env.def"
#undef MTI_TEXT
#undef MTI_NUMBER
#undef MTI_SWITCH
}
