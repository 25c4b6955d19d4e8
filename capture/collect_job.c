/* collect_job.c -- why a collection ends early. */
#include "capture/collect_job.h"

#include <errno.h>
#include <string.h>

enum mt_rc mt_collect_no_memory(struct mt_collect_job *j)
{
    return mt_fail(j->err, MT_ENOMEM, "out of memory while collecting");
}

enum mt_rc mt_collect_unread(struct mt_collect_job *j, const char *name, int error)
{
    if (error == ENOMEM)
        return mt_collect_no_memory(j);
    return mt_fail(j->err, MT_EIO, "%s/%s: cannot be read: %s", j->o->dir, name, strerror(error));
}

bool mt_collect_go_on(struct mt_collect_job *j, const char *name, uint64_t more)
{
    j->done += more;
    if (j->o->progress != NULL)
        j->o->progress(j->o->progress_arg, name, j->done, j->scan.bytes);
    if (!j->stopped && j->o->stop != NULL && j->o->stop())
        j->stopped = true;
    return !j->stopped && j->out.error == 0;
}
