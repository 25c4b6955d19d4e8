/* setup/keys.h -- numbers of what the run was set to. */
#ifndef MT_SETUP_KEYS_H
#define MT_SETUP_KEYS_H

#include "analysis/base/expr.h"
#include "analysis/setup/settings.h"
#include "analysis/base/phase.h"

/* A setting of the run, or the framework's default; conf may be NULL. Not known: neither is, or it
 * is no number. */
struct mt_value mt_metric_setting(const struct mt_runconf *conf, const char *name, size_t n);
/* Of setting.<name>, named.<framework> and of what else the run's settings alone tell: for logs,
 * where no trace is at hand. */
struct mt_value mt_metric_of_run(const struct mt_runconf *conf, const char *name, size_t n);
/* A setting as a number: whole and decimal numbers, true and false in the usual spellings, a flag
 * alone. Words are unknown. */
struct mt_value mt_setting_number(const char *value);

/* A setting as a number, with the framework's default; 0 = not known. */
double mt_run_number(const struct mt_runconf *conf, const char *name);
/* A setting as it was written, NULL where it is not set; and whether somebody set it to more than
 * false or its default. */
const char *mt_run_word(const struct mt_runconf *conf, const char *name);
bool mt_run_is_set(const struct mt_runconf *conf, const char *key);
/* The rows of frameworks.json that the run's settings name: its backend, its engine. conf may be
 * NULL. */
uint64_t mt_run_names(const struct mt_runconf *conf);

/* ---- setup/names.c ---- */

/* The setting of a name, n bytes; NULL = there is none. */
const struct mt_runconf_setting *mt_runconf_setting(const struct mt_runconf *rc, const char *name,
                                                    size_t n);
/* Makes the last of rc->settings one that is found. false = out of memory. */
bool mt_runconf_add_name(struct mt_runconf *rc);
/* Sorts the keys by their frameworks, once all are there. false = out of memory. */
bool mt_runconf_sort_keys(struct mt_runconf *rc);
/* The keys of the run's framework, as indices of rc->keys; *n = 0: it has none. */
const uint32_t *mt_runconf_own_keys(const struct mt_runconf *rc, uint32_t *n);

/* ---- setup/look_up.c and setup/guess.c ---- */

/* The entry of a key, however it is written; NULL = it is not set. The second of a flag alone, with
 * its leading dashes. */
const struct mt_conf_entry *mt_runconf_look_up(const struct mt_runconf *rc, const char *key);
const struct mt_conf_entry *mt_runconf_look_up_flag(const struct mt_runconf *rc, const char *flag);
/* Nothing is set anywhere: each of them gives NULL for any key. */
bool mt_runconf_is_unset(const struct mt_runconf *rc);
/* No other framework has that key. */
bool mt_runconf_is_own(const struct mt_runconf *rc, const struct mt_runconf_key *k);
/* rc->framework, and what goes with it, of all that is set. */
void mt_runconf_guess(struct mt_runconf *rc);

#endif
