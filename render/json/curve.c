/* "curve" of a device: its history in columns, each of which shows its highest instant. */
#include "render/json/impl.h"

static void column(struct mt_jsonw *w, const char *key, const uint64_t *of, uint32_t n)
{
    mt_jw_key(w, key);
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < n; i++)
        mt_jw_u(w, of[i]);
    mt_jw_close(w, ']');
}

void mt_json_curve(struct mt_jsonw *w, const struct mt_device_analysis *d)
{
    const struct mt_timeline *t = &d->timeline;
    mt_jw_key(w, "curve");
    if (d->withheld != NULL || t->n_columns == 0 || t->total == NULL) {
        mt_jw_null(w);
        return;
    }
    mt_jw_open_line(w, '{'); /* hundreds of numbers */
    mt_jw_known(w, "first_time_ns", t->has_time, t->x0);
    mt_jw_known(w, "last_time_ns", t->has_time, t->x1);
    mt_jw_known(w, "first_event", !t->has_time, t->x0);
    mt_jw_known(w, "last_event", !t->has_time, t->x1);
    column(w, "live_bytes", t->total, t->n_columns);
    column(w, "reserved_bytes", t->reserved, t->n_columns);
    column(w, "pending_free_bytes", t->pending, t->n_columns);
    mt_jw_close_line(w, '}');
}
