/* cli_home.c -- the address for issues and releases: nowhere while nobody chose one, and where one
 * is. */
#include "cli/cli.h"
#include "render/base/out.h"
#include "tests/unit/mt_test.h"

#include <string.h>

static bool says(void (*print)(struct mt_out *), const char *what)
{
    struct mt_out o;
    bool found;
    if (mt_out_mem(&o) != 1)
        return false;
    print(&o);
    MT_CHECK_EQ(mt_out_finish(&o), 0);
    found = strstr((const char *)o.buf, what) != NULL;
    mt_out_done(&o);
    return found;
}

MT_TEST(unset)
{
    mt_home = "";
    MT_CHECK(says(mt_help_overview, "memtrace report --help"));
    MT_CHECK(!says(mt_help_overview, "Issues and releases"));
    MT_CHECK(!says(mt_print_version, "issues and releases"));
    MT_CHECK(!says(mt_man_page, "REPORTING BUGS"));
}

MT_TEST(set)
{
    mt_home = "https://forge.example/a-b/memtrace";
    MT_CHECK(says(mt_help_overview, "\nIssues and releases: https://forge.example/a-b/memtrace\n"));
    MT_CHECK(says(mt_print_version, "\nissues and releases: https://forge.example/a-b/memtrace\n"));
    MT_CHECK(says(mt_man_page, ".SH REPORTING BUGS\nhttps://forge.example/a\\-b/memtrace\n"));
}

MT_MAIN(MT_RUN(unset) MT_RUN(set))
