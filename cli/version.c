/* version.c -- what this build is made of. The only place outside parser/ and analysis/ that
 * includes their libraries' headers. */
#include "cli/cli.h"
#include "cli/formats.h"
#include "parser/late/late.h"

#include <archive.h>
#include <cjson/cJSON.h>
#include <nettle/version.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

const char *mt_home = MEMTRACE_HOME;

void mt_print_version(struct mt_out *o)
{
    const char *sqlite = sqlite3_libversion();
    mt_putf(o, "memtrace %s\n", MEMTRACE_VERSION);
    if (mt_home[0] != '\0')
        mt_putf(o, "issues and releases: %s\n", mt_home);
    mt_puts(
        o, "reads: PyTorch CUDA memory snapshots (pickle 0-5, JSON, _memory_viz HTML), "
           "torch.profiler's traces and timelines, memray's recordings, exports of Nsight Systems, "
           "logs, memtrace traces; compressed, in archives or in folders\n");
    mt_puts(o, "writes: ");
    for (const struct mt_report_format *f = mt_report_formats; f->name != NULL; f++)
        mt_putf(o, "%s%s", f->name, f[1].name != NULL ? ", " : "\n");
    mt_putf(o, "capture: %s\n", MEMTRACE_CAPTURE_STATE);
    mt_putf(o,
            "libraries: zlib %s, %s, %s, %s, nettle %d.%d, cJSON %s, libyaml %s, %s%s, "
            "xxHash %d.%d.%d\n",
            zlibVersion(), mt_has_isal() ? "ISA-L" : "no ISA-L",
            mt_has_libdeflate() ? "libdeflate" : "no libdeflate", archive_version_string(),
            nettle_version_major(), nettle_version_minor(), cJSON_Version(),
            yaml_get_version_string(), sqlite != NULL ? "SQLite " : "no SQLite",
            sqlite != NULL ? sqlite : "", XXH_VERSION_MAJOR, XXH_VERSION_MINOR,
            XXH_VERSION_RELEASE);
    mt_putf(o, "build: %s, %s%s%s\n", MEMTRACE_BUILD_TYPE[0] != '\0' ? MEMTRACE_BUILD_TYPE : "none",
#if defined(__clang__)
            "clang " __clang_version__,
#elif defined(__GNUC__)
            "gcc " __VERSION__,
#else
            "another compiler",
#endif
            MEMTRACE_BUILD_SANITIZE[0] != '\0' ? ", sanitizers: " : "", MEMTRACE_BUILD_SANITIZE);
}
