/* Audit of FSDP's units: a model that is wrapped as a whole is gathered as a whole. */
#include "analysis/audit/impl.h"
#include "analysis/base/words.h"

/* A pass gathers such a unit for its forward and again for its backward, and the next one's gather
 * may still be counted as its own. EVENTS: so many, with no further gather, are more than a layer.
 */
enum { MOST_GATHERS = 3, EVENTS = 600 };

static uint32_t pass_of(const struct mt_pass *p)
{
    const struct mt_role_facts *f = p->f;
    uint32_t i = p->unit.pass;
    while (i + 1 < f->micros.n && f->micros.p[i + 1].first <= p->i)
        i++;
    return i;
}

static void end_group(struct mt_units *u)
{
    if (u->group == 0)
        return;
    u->least = u->least == 0 || u->group < u->least ? u->group : u->least;
    u->most = u->group > u->most ? u->group : u->most;
    u->group = 0;
}

/* One unit: few gathers, all of one size. */
static void end_pass(struct mt_units *u)
{
    end_group(u);
    if (u->gathers == 0)
        return;
    if (u->gathers <= MOST_GATHERS && u->most - u->least <= u->most / 16)
        u->whole++;
    else
        u->parted++;
    u->gathers = 0;
    u->least = u->most = 0;
}

void mt_pass_unit(struct mt_pass *p, uint64_t size)
{
    struct mt_units *u = &p->unit;
    uint32_t pass = pass_of(p);
    if (pass != u->pass) {
        end_pass(u);
        u->pass = pass;
    }
    if (!p->in_group) {
        end_group(u);
        u->gathers++;
    }
    u->group += size;
    u->last = p->i;
}

int mt_audit_unit(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const headings[] = {"What", "Bytes", NULL};
    struct mt_units *u = &p->unit;
    struct mt_audit *a;
    uint64_t end = p->d->ooms.n != 0 ? p->d->ooms.p[0].event : p->r->d->events.n;
    if (p->gathers.v.n == 0 || p->f->micros.n == 0)
        return 1;
    if (u->last + EVENTS < end || p->d->ooms.n == 0 ||
        u->gathers > MOST_GATHERS) /* the last pass was not cut in its first layer */
        end_pass(u);
    if (u->whole == 0 || u->parted != 0 || p->gathers_peak < p->d->focus.live / 10)
        return 1;
    a = mt_audit_new(out, "fsdp_unit", "FSDP units", headings);
    if (a == NULL)
        return 0;
    if (!mt_audit_add(a, "tb", "gathered at once", p->gathers_peak) ||
        !mt_audit_add(a, "tb", "parameters of this rank, most", p->param_peak))
        return 0;
    a->finding = true;
    out->one_unit = p->gathers_peak;
    a->bytes = p->gathers_peak;
    a->event = mt_link_event((int64_t)p->gathers_event);
    return mt_audit_say(
        a,
        "The whole model is one FSDP unit: each pass gathers all of it at once, %s, "
        "where this rank keeps %s of parameters. With each layer wrapped, one or "
        "two layers would be gathered at a time.",
        MT_BYTES(p->gathers_peak), MT_BYTES(p->param_peak));
}
