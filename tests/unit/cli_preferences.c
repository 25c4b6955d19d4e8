/* cli_preferences.c -- memtrace.toml in its three places: which holds, for which machine. */
#include "cli/preferences.h"
#include "tests/unit/mt_test.h"

#include <stdio.h>
#include <unistd.h>

static const char *const files[MT_PREFERENCE_FILES] = {"pref_here.toml", "pref_user.toml",
                                                       "pref_system.toml"};

static void put(int i, const char *text)
{
    FILE *f = fopen(files[i], "w");
    MT_CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static struct mt_preferences of(const char *command, const char *host)
{
    struct mt_preferences p;
    struct mt_cli c = MT_CLI_DEFAULTS;
    c.command = mt_command_find(command);
    c.quiet = true;
    MT_CHECK_EQ(mt_preferences_of(&p, &c, host, files), MT_EXIT_OK);
    return p;
}

MT_TEST(nearest_holds)
{
    struct mt_preferences p;
    put(0, "redact = false\nrules = \"evil.json\"\nlink = \"https://evil.example\"\n"
           "[capacity]\n\"login*\" = \"40GiB\"\n");
    put(1, "[capacity]\n\"gpu-a*\" = \"H200\"\n[check.max]\npeak = \"70GiB\"\n");
    put(2, "redact = true\nrules = \"team.json\"\nlink = \"https://wiki.example\"\n"
           "[capacity]\n\"*\" = \"80GiB\"\n[check.max]\npeak = \"1GiB\"\nreserved = \"75GiB\"\n");
    p = of("report", "gpu-a17.cluster");
    MT_CHECK_STR(p.capacity, "H200");
    MT_CHECK_STR(p.rules_file, "team.json");
    MT_CHECK_STR(p.link, "https://wiki.example");
    MT_CHECK(p.redact);
    MT_CHECK_STR(p.redact_at, "/etc/memtrace.toml:1");
    MT_CHECK_EQ(p.n_files, 3);
    MT_CHECK_EQ(p.files[0].n_keys, 0);
    MT_CHECK_EQ(p.files[1].n_keys, 1);
    MT_CHECK_EQ(p.files[2].n_keys, 3);
    mt_preferences_done(&p);
    p = of("check", "login1");
    MT_CHECK_STR(p.capacity, "40GiB");
    MT_CHECK(p.redact);
    MT_CHECK_EQ(p.limits.n, 2);
    MT_CHECK_STR(p.limits.p[0].text, "peak=70GiB");
    MT_CHECK_STR(p.limits.p[1].text, "reserved=75GiB");
    MT_CHECK_STR(p.limits.p[1].at, "/etc/memtrace.toml:8");
    mt_preferences_done(&p);
    p = of("report", "other");
    MT_CHECK_STR(p.capacity, "80GiB");
    mt_preferences_done(&p);
    for (int i = 0; i < MT_PREFERENCE_FILES; i++)
        (void)unlink(files[i]);
    p = of("report", "other");
    MT_CHECK_EQ(p.n_files, 0);
    MT_CHECK(p.capacity == NULL);
    mt_preferences_done(&p);
}

MT_MAIN(MT_RUN(nearest_holds))
