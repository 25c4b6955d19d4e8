/* err.h -- an error is a value: code, message, position, context. Only cli/ prints it.
 *
 * Functions return an enum mt_rc and fill *err only when they do not return MT_OK. Every function
 * accepts err == NULL. Thread-safety: a struct mt_err belongs to one thread. */
#ifndef MT_ERR_H
#define MT_ERR_H

#include <stdbool.h>
#include <stdint.h>

enum mt_rc {
    MT_OK = 0,
    /* partial success: everything whole was used, the diagnosis says what is missing */
    MT_WARN = 1,
    /* the input is of no use; the message says what it is instead, and what to do */
    MT_EINPUT = -1,
    MT_EIO = -2,    /* the operating system refused: open, read, write */
    MT_ENOMEM = -3, /* out of memory, or over --max-memory */
    /* a limit of struct mt_limits was met; the message names the option that raises it */
    MT_ELIMIT = -4,
    MT_EINTERN = -5 /* a bug in memtrace */
};

#define MT_ERR_MSG 1024
#define MT_ERR_CTX 4

struct mt_err {
    enum mt_rc rc;
    bool has_offset;
    uint64_t offset; /* byte offset in the decompressed input */
    char msg[MT_ERR_MSG];
    int n_ctx;
    char ctx[MT_ERR_CTX][256]; /* innermost first: "while reading device_traces[0]" */
};

/* Fills *err and returns rc, so that a failing function can end in `return mt_fail(...)`. The text
 * is UTF-8, one sentence without a dot or newline at its end. The caller makes bytes of the input
 * that it quotes printable with mt_printable(). */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum mt_rc
mt_fail(struct mt_err *err, enum mt_rc rc, const char *fmt, ...);

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
enum mt_rc
mt_fail_at(struct mt_err *err, enum mt_rc rc, uint64_t offset, const char *fmt, ...);

/* Adds one line of context; at most MT_ERR_CTX are kept. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void mt_err_context(struct mt_err *err, const char *fmt, ...);

/* Copies at most cap-1 bytes of s[0..n) into out, control and non-ASCII bytes as \xNN, and ends
 * with "..." when cut. Returns out. */
char *mt_printable(char *out, unsigned long cap, const void *s, unsigned long n);

#endif
