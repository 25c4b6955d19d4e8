/* late.h -- libraries that few runs need and that cost every start: they are opened when the first
 * of their functions is called. Others call them by their own headers, as if they were linked; the
 * program is linked with the functions of this room instead, which pass calls on.
 *
 * libarchive asks for more, ICU and libstdc++ among them: an empty report took 4.3 ms of CPU and
 * 12.4 MB with them linked, and takes 3.0 ms and 9.9 MB without. SQLite was 0.12 of the 1.04
 * ms of a start. What is linked with the library itself (tests, the program without shared
 * libraries) has neither libarchive.c nor libsqlite3.c.
 *
 * ISA-L and libdeflate do what zlib does in half of its time, and nothing needs them. */
#ifndef MT_LATE_H
#define MT_LATE_H

#include <errno.h>
#include <stdbool.h>

/* The errno of archive_read_new() and archive_write_new(), which give NULL then: the library is not
 * on this machine or cannot be loaded. */
#define MT_NO_LIBRARY ELIBACC
#define MT_LIBARCHIVE_REMEDY                                                                       \
    "libarchive cannot be loaded on this machine; its package is libarchive13 (Debian, Ubuntu; "   \
    "from 13 and 24.04 on libarchive13t64), elsewhere libarchive"

/* sqlite3_initialize() gives this then, which the library itself never does there. */
#define MT_NO_SQLITE SQLITE_NOTFOUND
#define MT_SQLITE_REMEDY                                                                           \
    "SQLite cannot be loaded on this machine; its package is libsqlite3-0 (Debian, Ubuntu), "      \
    "elsewhere sqlite-libs or sqlite"

/* Whether those functions of ISA-L that isal.c has may be called; never where its headers were
 * missing at the build (no MT_WITH_ISAL). */
bool mt_has_isal(void);
/* The same of those functions of libdeflate that libdeflate.c has (MT_WITH_LIBDEFLATE). */
bool mt_has_libdeflate(void);

#endif
