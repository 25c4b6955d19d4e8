/* test_cgroup.c -- host memory of a job's cgroup, from made-up trees of both versions. */
#include "capture/capture.h"
#include "tests/unit/mt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/mt-cgroup-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[512];
    FILE *f;
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')) != NULL; s++) {
        *s = '\0';
        (void)mkdir(path, 0700);
        *s = '/';
    }
    f = fopen(path, "w");
    MT_ASSERT(f != NULL);
    MT_CHECK(fputs(text, f) >= 0);
    MT_CHECK(fclose(f) == 0);
}

static bool look(struct mt_cgroup *c, const char *list, const char *where)
{
    char path[512], mount[512];
    put("list", list);
    (void)snprintf(path, sizeof path, "%s/list", root);
    (void)snprintf(mount, sizeof mount, "%s/%s", root, where);
    return mt_cgroup_read(c, path, mount);
}

MT_TEST(the_least_limit_above_and_the_kills_of_its_own)
{
    struct mt_cgroup c;
    MT_ASSERT(mkdtemp(root) != NULL);
    put("two/job/step/memory.events", "low 0\noom 9\noom_kill 3\noom_group_kill 1\n");
    put("two/job/step/memory.max", "max\n");
    put("two/job/step/memory.peak", "4096000\n");
    put("two/job/memory.max", "68719476736\n");
    put("two/memory.max", "137438953472\n");
    MT_CHECK(look(&c, "0::/job/step\n", "two"));
    MT_CHECK_EQ(c.kills, 3);
    MT_CHECK_EQ(c.limit, UINT64_C(68719476736));
    MT_CHECK_EQ(c.peak, 4096000);
    /* an older kernel says no peak, and nobody set a limit */
    put("old/job/memory.events", "oom_kill 0\n");
    MT_CHECK(look(&c, "0::/job\n", "old"));
    MT_CHECK_EQ(c.kills + c.limit + c.peak, 0);
}

MT_TEST(version_1_and_a_container_that_shows_the_hosts_path)
{
    struct mt_cgroup c;
    put("one/memory/slurm/job_7/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    put("one/memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n");
    put("one/memory/slurm/memory.limit_in_bytes", "1073741824\n");
    put("one/memory/slurm/job_7/memory.max_usage_in_bytes", "1073741824\n");
    MT_CHECK(look(&c, "9:name=systemd:/x\n4:cpuset,memory:/slurm/job_7\n0::/other\n", "one"));
    MT_CHECK_EQ(c.kills, 2);
    MT_CHECK_EQ(c.limit, 1073741824);
    MT_CHECK_EQ(c.peak, 1073741824);
    put("own/memory/memory.oom_control", "oom_kill 1\n");
    put("own/memory/memory.limit_in_bytes", "2147483648\n");
    MT_CHECK(look(&c, "4:memory:/docker/0123\n", "own"));
    MT_CHECK_EQ(c.kills, 1);
    MT_CHECK_EQ(c.limit, UINT64_C(2147483648));
}

MT_TEST(what_is_not_told)
{
    struct mt_cgroup c;
    char line[600];
    MT_CHECK(!look(&c, "", "two"));
    MT_CHECK(!look(&c, "no colons\n", "two"));
    MT_CHECK(!look(&c, "4:memoryless,xmemory:/job\n", "two"));
    MT_CHECK(!look(&c, "0::/nowhere\n", "nowhere"));
    MT_CHECK(!mt_cgroup_read(&c, "/nonexistent/list", root));
    put("two/odd/memory.events", "oom_kill many\n");
    MT_CHECK(!look(&c, "0::/odd\n", "two"));
    (void)snprintf(line, sizeof line, "rm -rf %s", root);
    MT_CHECK_EQ(system(line), 0);
}

MT_MAIN(MT_RUN(the_least_limit_above_and_the_kills_of_its_own)
            MT_RUN(version_1_and_a_container_that_shows_the_hosts_path) MT_RUN(what_is_not_told))
