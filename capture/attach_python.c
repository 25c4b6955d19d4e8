/* attach_python.c -- loads the recorder into a Python that lets itself be asked: PEP 768,
 * sys.remote_exec() of 3.14 and later. Its own interpreter asks, as the two have to be of one
 * version. Its main thread runs the script between two of its steps. */
#include "capture/attach.h"
#include "capture/parts.h"
#include "parser/base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAID_MAX 8192u
#define STEP_MS 20u

static void put(struct mt_text *f, const char *s) { mt_text_add(f, s, strlen(s)); }

static void put_hex(struct mt_text *f, const char *s)
{
    char two[4];
    for (; *s != '\0'; s++) {
        (void)snprintf(two, sizeof two, "%02x", (unsigned char)*s);
        put(f, two);
    }
}

/* What the process is to run: the answer goes into a file beside it. Nothing of it stays. */
static bool write_script(const char *path, const char *answer, const char *library,
                         const char *settings)
{
    struct mt_text f = {0};
    bool ok;
    put(&f, "def memtrace():\n"
            "    import ctypes, os\n"
            "    text = [os.fsdecode(bytes.fromhex(x)) for x in ('");
    put_hex(&f, library);
    put(&f, "', '");
    put_hex(&f, answer);
    put(&f, "')]\n"
            "    try:\n"
            "        said = ctypes.CDLL(text[0]).memtrace_attach(bytes.fromhex('");
    put_hex(&f, settings);
    put(&f, "'))\n"
            "    except Exception as e:\n"
            "        said = e\n"
            "    with open(text[1] + '.new.part', 'w') as f:\n"
            "        f.write('%s\\n' % (said,))\n"
            "    os.replace(text[1] + '.new.part', text[1])\n"
            "try:\n"
            "    memtrace()\n"
            "finally:\n"
            "    del memtrace\n");
    ok = mt_attach_write(path, &f);
    mt_text_done(&f);
    return ok;
}

/* The answer, waited for. */
static enum mt_rc answer_of(const char *answer, const struct mt_attach_opts *o, struct mt_err *err)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    char text[600], shown[600], *end;
    for (uint32_t ms = 0;; ms += STEP_MS) {
        FILE *f = fopen(answer, "re");
        if (f != NULL) {
            size_t n = fread(text, 1, sizeof text - 1, f);
            long result;
            (void)fclose(f);
            text[n] = '\0';
            result = strtol(text, &end, 10);
            if (end != text && *end == '\n')
                return mt_attach_result(result, o->plan->pid, err);
            return mt_fail(err, MT_EIO, "the recorder cannot be loaded into process %ld: %s",
                           (long)o->plan->pid,
                           mt_printable(shown, sizeof shown, text, strcspn(text, "\n")));
        }
        if (ms >= o->timeout_ms || (o->stop != NULL && o->stop()))
            return mt_fail(err, MT_EIO,
                           "process %ld was asked and has not answered within %.1f s: Python runs "
                           "what it is asked for between two steps of its main thread, which may "
                           "wait in C code. It may still come, and will find no recording",
                           (long)o->plan->pid, ms / 1000.0);
        (void)nanosleep(&step, NULL);
    }
}

/* Python ends a call before it heeds that. */
static void hurry(const struct mt_attach_child *c, pid_t child)
{
    (void)c;
    (void)kill(child, SIGINT);
}

/* Asks; false: said has the reason. */
static bool ask(const struct mt_attach_opts *o, char *script, char *said)
{
    static const char code[] = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])";
    char *python = mt_text("%s", o->plan->interpreter), *pid = mt_text("%ld", (long)o->plan->pid);
    char *text = mt_text("%s", code);
    char *argv[] = {python, (char[]){"-I"}, (char[]){"-c"}, text, pid, script, NULL};
    const struct mt_attach_child child = {
        .argv = argv, .timeout_ms = o->timeout_ms, .stop = o->stop, .hurry = hurry};
    pid_t left;
    bool ok = python != NULL && pid != NULL && text != NULL &&
              mt_attach_run(&child, said, SAID_MAX, &left) == 0;
    mt_free(python);
    mt_free(pid);
    mt_free(text);
    return ok;
}

enum mt_rc mt_attach_by_python(const struct mt_attach_opts *o, const char *library,
                               const char *settings, const char *dir, struct mt_err *err)
{
    char *script = mt_path_join(dir, "memtrace-attach.py"),
         *answer = mt_path_join(dir, "mt-said.part");
    char *said = mt_malloc(SAID_MAX), shown[600];
    bool asked = false; /* and has not answered */
    enum mt_rc rc;
    if (script == NULL || answer == NULL || said == NULL)
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    else if (!write_script(script, answer, library, settings))
        rc = mt_fail(err, MT_EIO, "%s: cannot be written: %s", script, strerror(errno));
    else if (!ask(o, script, said)) {
        size_t n = strlen(said), from;
        for (; n > 0 && said[n - 1] == '\n'; n--) {
        }
        for (from = n; from > 0 && said[from - 1] != '\n'; from--) {
        }
        rc = mt_fail(err, MT_EINPUT, "Python cannot ask process %ld: %s", (long)o->plan->pid,
                     mt_printable(shown, sizeof shown, said + from, n - from));
    } else {
        rc = answer_of(answer, o, err);
        asked = rc != MT_OK && access(answer, F_OK) != 0;
    }
    /* A process that comes to it late, and finds no script, prints an error: it stays, and does
     * nothing. */
    if (script != NULL && (asked ? truncate(script, 0) : unlink(script)) != 0)
        errno = 0;
    if (answer != NULL)
        (void)unlink(answer);
    mt_free(script);
    mt_free(answer);
    mt_free(said);
    return rc;
}
