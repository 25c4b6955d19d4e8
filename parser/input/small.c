/* input/small.c -- a small file as it is: settings, rules, a key. No archive, no compression. */
#include "parser/input/impl.h"

#include <string.h>

enum mt_rc mt_input_small(const char *path, size_t most, const struct mt_input_opts *opts,
                          char **text, size_t *n, struct mt_err *err)
{
    struct mt_source *src = NULL;
    struct mt_raw raw;
    enum mt_rc rc = mt_raw_open(&raw, path, false, opts, err);
    *text = NULL;
    *n = 0;
    if (rc != MT_OK)
        return rc;
    if (raw.inode != 0 && opts->opened != NULL)
        opts->opened(raw.device, raw.inode);
    rc = mt_raw_source(&raw, &src);
    if (rc == MT_OK) {
        *n = mt_source_need(src, most + 1);
        rc = src->status != MT_OK ? src->status : MT_OK;
    }
    if (rc != MT_OK)
        rc = src != NULL ? mt_fail(err, rc, "%s", src->err.msg)
                         : mt_fail(err, MT_ENOMEM, "out of memory");
    else if (*n > most)
        rc = mt_fail(err, MT_ELIMIT, "it is larger than %zu KiB, which such a file may have",
                     most >> 10);
    else if ((*text = mt_malloc(*n + 1)) == NULL)
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    if (*text != NULL) {
        memcpy(*text, src->cur, *n);
        (*text)[*n] = '\0';
    }
    mt_source_free(src);
    mt_raw_close(&raw);
    return rc;
}
