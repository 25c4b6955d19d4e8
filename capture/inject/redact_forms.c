#include "capture/inject/redact_forms.h"

#include <string.h>

static const char *const webhook_hosts[] = {
    "hooks.slack.com",    "discord.com",        "discordapp.com",   "open.feishu.cn",
    "open.larksuite.com", "oapi.dingtalk.com",  "api.telegram.org", "qyapi.weixin.qq.com",
    "outlook.office.com", "webhook.office.com", NULL};

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
