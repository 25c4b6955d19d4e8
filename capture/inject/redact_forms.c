#include "capture/inject/redact_forms.h"
#include "capture/inject/redact.h"

#include <string.h>

static const char *const webhook_hosts[] = {"hooks.slack.com",
                                            "discord.com",
                                            "discordapp.com",
                                            "open.feishu.cn",
                                            "open.larksuite.com",
                                            "oapi.dingtalk.com",
                                            "api.telegram.org",
                                            "qyapi.weixin.qq.com",
                                            "outlook.office.com",
                                            "webhook.office.com",
                                            NULL};

/* The host itself, or one below it. */
static bool is_below(const char *host, size_t n, const char *name)
{
    size_t len = strlen(name);
    if (n < len || (n > len && host[n - len - 1] != '.'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (mti_fold(host[n - len + i]) != name[i])
            return false;
    return true;
}

bool mti_is_webhook(const char *host, size_t n)
{
    size_t end = n;
    while (end > 0 && mti_digit(host[end - 1]))
        end--;
    if (end > 0 && end < n && host[end - 1] == ':')
        n = end - 1;
    if (n > 0 && host[n - 1] == '.')
        n--;
    for (const char *const *name = webhook_hosts; *name != NULL; name++)
        if (is_below(host, n, *name))
            return true;
    return false;
}

bool mti_is_bare_key(const char *s, size_t n)
{
    bool hex = true, has_lower = false, has_upper = false, has_digit = false;
    if (n != 40)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        hex = hex && (mti_digit(c) || (c >= 'a' && c <= 'f'));
        has_lower = has_lower || mti_lower(c);
        has_upper = has_upper || mti_upper(c);
        has_digit = has_digit || mti_digit(c);
        if (!mti_word(c) && (c != '/' || i == 0) && c != '+')
            return false;
    }
    return has_lower && has_digit && (hex || has_upper);
}

bool mti_is_commit(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!mti_digit(s[i]) && (s[i] < 'a' || s[i] > 'f'))
            return false;
    return n == 40;
}

int mti_git_word(int state, const char *s, size_t n)
{
    static const char *const takes[] = {
        "archive",   "bisect", "branch", "checkout", "cherry-pick", "describe", "diff",    "fetch",
        "log",       "merge",  "pull",   "push",     "rebase",      "reset",    "restore", "revert",
        "rev-parse", "show",   "switch", "tag",      "worktree",    NULL};
    if (n >= 3 && memcmp(s + n - 3, "git", 3) == 0 && (n == 3 || s[n - 4] == '/'))
        return 1;
    if (state != 1)
        return state;
    for (const char *const *word = takes; *word != NULL; word++)
        if (n == strlen(*word) && memcmp(s, *word, n) == 0)
            return 2;
    return 1; /* git -C FOLDER reset */
}

bool mti_is_behind_git(const char *s, size_t n)
{
    enum { MOST = 300 };
    size_t i = n > MOST ? n - MOST : 0;
    int state = 0;
    if (n == 0 || s[n - 1] != ' ')
        return false;
    while (i < n) {
        size_t from = i;
        while (i < n && strchr(" ;&|()`'\"\t\r\n", s[i]) == NULL)
            i++;
        state = i > from ? mti_git_word(state, s + from, i - from) : state;
        if (i < n && s[i] != ' ')
            state = 0; /* another command */
        i += i < n;
    }
    return state == 2;
}
