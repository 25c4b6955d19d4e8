/* Whether the inputs are of one job, in the words that every format has. */
#include "render/view/driver.h"

const char *mt_report_jobs(const struct mt_report *r)
{
    return r->same_job == NULL             ? NULL
           : r->same_job->sentence != NULL ? r->same_job->sentence
                                           : r->same_job->elsewhere;
}

unsigned mt_same_job_caveats(const struct mt_report *r, struct mt_caveat *out, unsigned n,
                             unsigned max)
{
    const struct mt_same_job *j = r->same_job;
    if (j == NULL)
        return n;
    if (j->sentence != NULL)
        mt_caveat_add(out, &n, max, "%s", j->sentence);
    if (j->elsewhere != NULL)
        mt_caveat_add(out, &n, max, "%s", j->elsewhere);
    if (j->doubt != NULL)
        mt_caveat_add(out, &n, max, "%s", j->doubt);
    if (j->missing != NULL)
        mt_caveat_add(out, &n, max, "%s", j->missing);
    return n;
}

void mt_json_jobs(struct mt_jsonw *w, const struct mt_same_job *j)
{
    if (j == NULL ||
        (j->sentence == NULL && j->elsewhere == NULL && j->doubt == NULL && j->missing == NULL))
        return;
    mt_jw_key(w, "jobs");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "contradiction", j->sentence);
    mt_jw_ks(w, "doubt", j->doubt);
    mt_jw_ks(w, "failed_elsewhere", j->elsewhere);
    mt_jw_ks(w, "missing_ranks", j->missing);
    mt_jw_key(w, "groups");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < j->groups.n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "files", j->groups.p[i].names);
        mt_jw_ku(w, "n_files", j->groups.p[i].n);
        mt_jw_kb(w, "has_verdict", j->groups.p[i].verdict);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}
