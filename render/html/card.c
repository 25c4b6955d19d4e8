#include "render/html/card.h"

#include "render/base/escape.h"
#include "render/svg/stack.h"
#include "render/view/asked.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <string.h>

enum {
    HEIGHT = 34,
    AFTER = 14,
    SAVED = 4, /* the green of the palette */
    ROLES = 6  /* with a row of their own: more would not be read */
};

struct card {
    const struct mt_device_analysis *d;
    const struct mt_oom *oom; /* NULL: nothing failed, or its size is not known */
    struct mt_asked asked;
    uint8_t order[MT_ROLE_COUNT];
    unsigned n; /* roles that hold something */
    uint64_t rest, idle[MT_ROLE_COUNT];
    uint64_t end; /* where the card ends; 0 = not known */
};

static bool is_known(const struct mt_device_analysis *d)
{
    return d != NULL && d->withheld == NULL && !mt_state_unknown(d) && d->focus.live != 0;
}

/* Those that the key names are the largest, wherever they stand in the order. */
static void name_the_largest(struct card *c, const uint64_t *bytes)
{
    for (unsigned i = ROLES; i < c->n; i++) {
        unsigned least = 0;
        uint8_t out, in = c->order[i];
        for (unsigned k = 1; k < ROLES; k++)
            if (bytes[c->order[k]] <= bytes[c->order[least]])
                least = k;
        out = c->order[least];
        if (bytes[in] <= bytes[out])
            continue;
        memmove(&c->order[least], &c->order[least + 1], ROLES - 1 - least);
        c->order[ROLES - 1] = in;
        c->order[i] = out;
    }
}

static void look(struct card *c, const struct mt_page *p)
{
    const struct mt_device_analysis *d = p->dev;
    *c = (struct card){.d = d};
    if (d->focus_is_oom && p->rank->analysis->verdict.oom < d->ooms.n)
        c->oom = &d->ooms.p[p->rank->analysis->verdict.oom];
    if (c->oom == NULL || !mt_asked_of(&c->asked, d, c->oom)) {
        c->oom = NULL;
        c->asked.live = d->focus.live;
        c->asked.held = d->focus.reserved > d->focus.live ? d->focus.reserved - d->focus.live : 0;
        c->end = d->capacity;
    } else if (!d->sums_only) {
        c->end = c->asked.live + c->asked.held + c->asked.foreign + c->asked.free;
    }
    c->n = mt_role_order(d->roles.at_focus, c->order);
    name_the_largest(c, d->roles.at_focus);
    for (unsigned i = 0; i < c->n; i++) {
        unsigned role = c->order[i];
        uint64_t bytes = d->roles.at_focus[role];
        c->idle[role] = mt_role_idle(role, bytes, p->rank->analysis->verdict.phase);
        c->rest += i >= ROLES ? bytes : 0;
    }
}

/* Of the full width. */
static uint64_t whole(const struct card *c)
{
    uint64_t all = c->asked.live + c->asked.held + c->asked.foreign + c->asked.request;
    return all > c->end ? all : c->end;
}

static void picture(struct mt_out *o, const struct card *c)
{
    struct mt_stack_bar b;
    mt_stack_open(&b, o, whole(c), HEIGHT,
                  c->oom != NULL ? "The card when the request failed" : "The card at this moment");
    if (c->n == 0)
        mt_stack_part(&b, c->asked.live, mt_color_hex(mt_role_color(MT_ROLE_UNKNOWN)), "live");
    for (unsigned i = 0; i < c->n; i++) {
        unsigned role = c->order[i];
        (c->idle[role] != 0 ? mt_stack_idle : mt_stack_part)(&b, c->d->roles.at_focus[role],
                                                             mt_color_hex(mt_role_color(role)),
                                                             mt_role_words((enum mt_role)role));
    }
    mt_stack_gap(&b, c->asked.held, "reserved but free");
    mt_stack_foreign(&b, c->asked.foreign, "outside PyTorch");
    if (c->oom != NULL)
        mt_stack_asked(&b, c->asked.request, "the request that failed");
    if (c->end != 0)
        mt_stack_line(&b, c->end);
    mt_stack_close(&b);
    mt_putc(o, '\n');
}

static void row(struct mt_out *o, const char *name, uint64_t bytes, const char *note)
{
    char words[32];
    mt_html_s(o, name);
    mt_putf(o, " <b>%s</b>", mt_fmt_bytes(words, bytes));
    if (note != NULL) {
        mt_puts(o, " <small>");
        mt_html_s(o, note);
        mt_puts(o, "</small>");
    }
    mt_puts(o, "</li>\n");
}

static void key(struct mt_out *o, const char *kind, const char *name, uint64_t bytes,
                const char *note)
{
    if (bytes == 0)
        return;
    mt_putf(o, "<li><i class=\"%s\"></i>", kind);
    row(o, name, bytes, note);
}

static void rows(struct mt_out *o, const struct card *c)
{
    char more[32];
    mt_puts(o, "<ul class=\"key\">\n");
    for (unsigned i = 0; i < c->n && i < ROLES; i++) {
        unsigned role = c->order[i];
        mt_puts(o, "<li>");
        mt_h_swatch(o, mt_role_color(role));
        row(o, mt_role_words((enum mt_role)role), c->d->roles.at_focus[role],
            c->idle[role] != 0 ? "of no use then" : NULL);
    }
    (void)snprintf(more, sizeof more, "%u more", c->n > ROLES ? c->n - ROLES : 0);
    key(o, "more", c->n != 0 ? more : "live", c->n != 0 ? c->rest : c->asked.live, NULL);
    key(o, "gap", "reserved but free", c->asked.held, NULL);
    key(o, "foreign", "outside PyTorch", c->asked.foreign, NULL);
    if (c->oom != NULL) {
        key(o, "asked", "asked for", c->asked.request, NULL);
        key(o, "free", "free on the device", c->asked.free, NULL);
    }
    key(o, "end",
        c->oom != NULL && c->d->capacity == 0 ? "end of the card, at least" : "end of the card",
        c->end, NULL);
    mt_puts(o, "</ul>\n");
}

bool mt_h_has_card(const struct mt_page *p)
{
    return p->rank != NULL && is_known(p->dev) &&
           mt_diagnosis_lead(p->r->diagnosis) == MT_LEAD_SNAPSHOT;
}

void mt_h_card(const struct mt_page *p, struct mt_out *o)
{
    struct card c;
    look(&c, p);
    mt_puts(o, "<figure class=\"card\">\n");
    picture(o, &c);
    rows(o, &c);
    mt_puts(o, "</figure>\n");
}

void mt_h_card_with(const struct mt_page *p, struct mt_out *o, uint64_t needed, bool fits_known,
                    bool fits)
{
    struct card c;
    struct mt_stack_bar b;
    char words[32];
    if (!is_known(p->dev))
        return;
    look(&c, p);
    if (fits_known && fits != (needed + c.asked.foreign <= c.end))
        return;
    mt_stack_open(&b, o, whole(&c), AFTER, mt_fmt_bytes(words, needed));
    mt_stack_part(&b, needed, fits_known && !fits ? mt_color_oom : mt_color_hex(SAVED), "needed");
    mt_stack_foreign(&b, c.asked.foreign, "outside PyTorch");
    if (c.end != 0)
        mt_stack_line(&b, c.end);
    mt_stack_close(&b);
}
