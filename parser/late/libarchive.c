/* libarchive.c -- the functions of libarchive that the program calls, each by the name it has
 * there. A row that is missing here fails at link time; one that this machine's library lacks makes
 * the library one that cannot be loaded. */
#include "parser/late/impl.h"
#include "parser/late/late.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
/* not to be seen by the library itself, which finds its own functions by these names */
#pragma GCC visibility push(hidden)
#include <archive.h>
#include <archive_entry.h>
#pragma GCC visibility pop

#define GIVES(F)                                                                                   \
    F(NULL, struct archive *, archive_read_new, (void), ())                                        \
    F(NULL, struct archive *, archive_write_new, (void), ())                                       \
    F(NULL, struct archive_entry *, archive_entry_new, (void), ())                                 \
    F("no libarchive", const char *, archive_version_string, (void), ())                           \
    F(0, int, archive_read_free, (struct archive * a), (a))                                        \
    F(0, int, archive_write_free, (struct archive * a), (a))                                       \
    F(NULL, const char *, archive_error_string, (struct archive * a), (a))                         \
    F(ENOMEM, int, archive_errno, (struct archive * a), (a))                                       \
    F(ARCHIVE_FATAL, int, archive_read_support_filter_bzip2, (struct archive * a), (a))            \
    F(ARCHIVE_FATAL, int, archive_read_support_filter_lz4, (struct archive * a), (a))              \
    F(ARCHIVE_FATAL, int, archive_read_support_filter_lzma, (struct archive * a), (a))             \
    F(ARCHIVE_FATAL, int, archive_read_support_filter_xz, (struct archive * a), (a))               \
    F(ARCHIVE_FATAL, int, archive_read_support_filter_zstd, (struct archive * a), (a))             \
    F(ARCHIVE_FATAL, int, archive_read_support_format_7zip, (struct archive * a), (a))             \
    F(ARCHIVE_FATAL, int, archive_read_support_format_raw, (struct archive * a), (a))              \
    F(ARCHIVE_FATAL, int, archive_read_support_format_tar, (struct archive * a), (a))              \
    F(ARCHIVE_FATAL, int, archive_read_support_format_zip, (struct archive * a), (a))              \
    F(ARCHIVE_FATAL, int, archive_read_set_format_option,                                          \
      (struct archive * a, const char *module, const char *option, const char *value),             \
      (a, module, option, value))                                                                  \
    F(ARCHIVE_FATAL, int, archive_read_set_read_callback,                                          \
      (struct archive * a, archive_read_callback * read), (a, read))                               \
    F(ARCHIVE_FATAL, int, archive_read_set_seek_callback,                                          \
      (struct archive * a, archive_seek_callback * seek), (a, seek))                               \
    F(ARCHIVE_FATAL, int, archive_read_set_callback_data, (struct archive * a, void *ctx),         \
      (a, ctx))                                                                                    \
    F(ARCHIVE_FATAL, int, archive_read_open1, (struct archive * a), (a))                           \
    F(ARCHIVE_FATAL, int, archive_read_next_header,                                                \
      (struct archive * a, struct archive_entry * *e), (a, e))                                     \
    F(0, la_int64_t, archive_read_header_position, (struct archive * a), (a))                      \
    F(ARCHIVE_FATAL, int, archive_read_data_block,                                                 \
      (struct archive * a, const void **buff, size_t *size, la_int64_t *offset),                   \
      (a, buff, size, offset))                                                                     \
    F(0, mode_t, archive_entry_filetype, (struct archive_entry * e), (e))                          \
    F(NULL, const char *, archive_entry_hardlink, (struct archive_entry * e), (e))                 \
    F(NULL, const char *, archive_entry_hardlink_utf8, (struct archive_entry * e), (e))            \
    F(0, int, archive_entry_is_encrypted, (struct archive_entry * e), (e))                         \
    F(NULL, const char *, archive_entry_pathname, (struct archive_entry * e), (e))                 \
    F(NULL, const char *, archive_entry_pathname_utf8, (struct archive_entry * e), (e))            \
    F(NULL, const char *, archive_entry_symlink, (struct archive_entry * e), (e))                  \
    F(ARCHIVE_FATAL, int, archive_write_add_filter_xz, (struct archive * a), (a))                  \
    F(ARCHIVE_FATAL, int, archive_write_set_filter_option,                                         \
      (struct archive * a, const char *module, const char *option, const char *value),             \
      (a, module, option, value))                                                                  \
    F(ARCHIVE_FATAL, int, archive_write_set_format_raw, (struct archive * a), (a))                 \
    F(ARCHIVE_FATAL, int, archive_write_set_bytes_in_last_block,                                   \
      (struct archive * a, int bytes_in_last_block), (a, bytes_in_last_block))                     \
    F(ARCHIVE_FATAL, int, archive_write_open,                                                      \
      (struct archive * a, void *ctx, archive_open_callback *open, archive_write_callback *write,  \
       archive_close_callback *close),                                                             \
      (a, ctx, open, write, close))                                                                \
    F(ARCHIVE_FATAL, int, archive_write_header, (struct archive * a, struct archive_entry * e),    \
      (a, e))                                                                                      \
    F(ARCHIVE_FATAL, la_ssize_t, archive_write_data,                                               \
      (struct archive * a, const void *p, size_t n), (a, p, n))                                    \
    F(ARCHIVE_FATAL, int, archive_write_close, (struct archive * a), (a))

#define GIVES_NOTHING(F)                                                                           \
    F(archive_entry_free, (struct archive_entry * e), (e))                                         \
    F(archive_entry_set_filetype, (struct archive_entry * e, unsigned type), (e, type))            \
    F(archive_entry_set_size, (struct archive_entry * e, la_int64_t size), (e, size))

static struct {
    GIVES(MT_LATE_SLOT)
    GIVES_NOTHING(MT_LATE_SLOT_OF_NOTHING)
    __typeof__(archive_set_error) *archive_set_error;
} real;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int error; /* errno; 0 = it is there */

static void open_library(void)
{
    void *library;
    errno = 0;
    library = dlopen(MT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        error = errno == ENOMEM ? ENOMEM : MT_NO_LIBRARY;
    else if (!(mt_late_find(library, &real.archive_set_error, "archive_set_error")
                   GIVES(MT_LATE_FIND) GIVES_NOTHING(MT_LATE_FIND_OF_NOTHING)))
        error = MT_NO_LIBRARY;
}

static bool is_there(void)
{
    (void)pthread_once(&once, open_library);
    if (error != 0)
        errno = error;
    return error == 0;
}

GIVES(MT_LATE_PASS_ON)
GIVES_NOTHING(MT_LATE_PASS_ON_NOTHING)

void archive_set_error(struct archive *a, int _err, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (is_there())
        real.archive_set_error(a, _err, "%s", text);
}
