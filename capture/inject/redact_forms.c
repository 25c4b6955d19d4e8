#include "capture/inject/redact_forms.h"

#include <string.h>

static bool digit(char c) { return c >= '0' && c <= '9'; }
static bool lower(char c) { return c >= 'a' && c <= 'z'; }
static bool upper(char c) { return c >= 'A' && c <= 'Z'; }
static char fold(char c) { return upper(c) ? (char)(c - 'A' + 'a') : c; }

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
        if (fold(host[n - len + i]) != name[i])
            return false;
    return true;
}

bool mti_is_webhook(const char *host, size_t n)
{
    size_t end = n;
    while (end > 0 && digit(host[end - 1]))
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
        hex = hex && (digit(c) || (c >= 'a' && c <= 'f'));
        has_lower = has_lower || lower(c);
        has_upper = has_upper || upper(c);
        has_digit = has_digit || digit(c);
        if (!lower(c) && !upper(c) && !digit(c) && (c != '/' || i == 0) && c != '+')
            return false;
    }
    return has_lower && has_digit && (hex || has_upper);
}
