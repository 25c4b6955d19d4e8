/* setup/guess.c -- which framework the settings are of: by what the command starts, else by the
 * keys that are set. */
#include "analysis/setup/settings.h"
#include "analysis/base/key.h"
#include "analysis/setup/keys.h"

#include <string.h>

static bool shares_settings(const struct mt_runconf *rc, int f, int of)
{
    return mt_framework_shares_settings(rc->rules, f, of);
}

/* The name of what was started says more than any number of keys. */
enum { OWN = 16, STARTED = 1 << 20 };

/* What a key that is set says for its framework: much where no other one has it, little where
 * several do ("--per-device-train-batch-size" is TRL's and everybody's). */
static uint32_t weight(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    for (uint32_t i = 0; i < rc->keys.n; i++) {
        const struct mt_runconf_key *other = &rc->keys.p[i];
        if (other->framework != k->framework && mt_framework_is_main(rc->rules, other->framework) &&
            !shares_settings(rc, other->framework, k->framework) &&
            !shares_settings(rc, k->framework, other->framework) && mt_same_key(other->key, k->key))
            return 1;
    }
    return OWN;
}

bool mt_runconf_is_own(const struct mt_runconf *rc, const struct mt_runconf_key *k)
{
    return weight(rc, k) == OWN;
}

static bool is_engine(const struct mt_runconf *rc, int f)
{
    return f > MT_FW_NONE && mt_framework_at(rc->rules, f)->kind == MT_FWK_ENGINE;
}

/* Only what an engine was started with is known, as a log prints it. */
static bool only_engine(const struct mt_runconf *rc, const uint32_t hits[MT_FW_MAX])
{
    bool any = false;
    for (int f = 1; f < mt_framework_count(rc->rules); f++) {
        if (hits[f] != 0 && !is_engine(rc, f))
            return false;
        any |= hits[f] != 0;
    }
    return any;
}

/* Lines name a package. Which program of it runs, or what drives it from above, the settings may
 * know: an Axolotl job fails in TRL's files. */
static bool runs_above(const struct mt_runconf *rc, int f, const uint32_t hits[MT_FW_MAX])
{
    const struct mt_framework *row = mt_framework_at(rc->rules, f);
    return rc->told > MT_FW_NONE && f > MT_FW_NONE &&
           (row->program_in == rc->told || (mt_framework_is_program(rc->rules, f) &&
                                            hits[f] >= OWN && (row->drives >> rc->told & 1) != 0));
}

/* The command starts a script of somebody's, and nothing that a framework is started by. */
static bool starts_foreign(const struct mt_runconf *rc)
{
    bool script = false;
    for (uint32_t i = 0; i < rc->conf.started.n; i++) {
        const char *name = rc->conf.started.p[i];
        size_t n = strlen(name);
        if (mt_framework_of_start(rc->rules, name) != MT_FW_NONE)
            return false;
        script |= n > 3 && strcmp(name + n - 3, ".py") == 0 && strchr(name, ' ') == NULL;
    }
    return script;
}

/* The key has been counted for its framework: another setting has the same one. */
static bool is_counted(const struct mt_runconf *rc, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (rc->keys.p[k].framework == rc->keys.p[i].framework && !rc->keys.p[k].is_common &&
            mt_same_key(rc->keys.p[k].key, rc->keys.p[i].key))
            return true;
    return false;
}

/* One option that somebody's script has in common with a program is no sign of that program:
 * "--model_path". A library's flags are there to be taken over. */
static bool is_chance(const struct mt_runconf *rc, int f, uint32_t n_keys)
{
    return rc->foreign && n_keys == 1 && f != rc->told && !(rc->forced && f == rc->framework) &&
           (mt_framework_at(rc->rules, f)->traits & MT_FWT_OWN_FLAGS) == 0;
}

/* All that is set of an engine's is where the model lies: many a program has that option. */
static bool only_model(const struct mt_runconf *rc, int f)
{
    for (uint32_t i = 0; i < rc->settings.n; i++) {
        const struct mt_runconf_setting *s = &rc->settings.p[i];
        for (uint32_t k = s->first; strcmp(s->name, "model_path") == 0 && k < s->first + s->n; k++)
            if (rc->keys.p[k].framework == f && mt_runconf_look_up(rc, rc->keys.p[k].key) != NULL)
                return true;
    }
    return false;
}

/* What is started drives another that is started beside it: an Unsloth script has TRL's trainers,
 * and runs as Unsloth's. */
static bool is_driven(const struct mt_runconf *rc, mt_fw f)
{
    for (uint32_t i = 0; i < rc->conf.started.n; i++) {
        mt_fw g = mt_framework_of_start(rc->rules, rc->conf.started.p[i]);
        if (g != MT_FW_NONE && (mt_framework_at(rc->rules, g)->drives >> f & 1) != 0)
            return true;
    }
    return false;
}

/* The framework whose own keys are set most often. Of equals it is the one whose flags the others
 * share, else the earlier row, and then it is not sure. */
void mt_runconf_guess(struct mt_runconf *rc)
{
    uint32_t hits[MT_FW_MAX] = {0}, n_keys[MT_FW_MAX] = {0}, best = 0, ties = 0;
    bool keys = false;
    int first = -1, runs;
    /* of most snapshots nobody gave a setting */
    uint32_t n = mt_runconf_is_unset(rc) ? 0 : rc->keys.n;
    rc->foreign = starts_foreign(rc);
    for (uint32_t i = 0; i < n; i++) {
        mt_fw f = rc->keys.p[i].framework;
        const struct mt_conf_entry *e =
            mt_framework_is_main(rc->rules, f) && f != MT_FW_NONE && !rc->keys.p[i].is_common
                ? mt_runconf_look_up(rc, rc->keys.p[i].key)
                : NULL;
        uint32_t says = e != NULL && !e->is_default && !e->is_name /* a script's own */
                            ? weight(rc, &rc->keys.p[i])
                            : 0;
        hits[f] += says;
        n_keys[f] += says != 0 && !is_counted(rc, i);
    }
    for (int f = 1; f < mt_framework_count(rc->rules); f++)
        hits[f] = is_chance(rc, f, n_keys[f]) ? 0 : hits[f];
    for (int f = 1; f < mt_framework_count(rc->rules); f++)
        keys |= hits[f] != 0;
    rc->engine_only = only_engine(rc, hits);
    for (uint32_t i = 0; i < rc->conf.started.n; i++) {
        mt_fw f = mt_framework_of_start(rc->rules, rc->conf.started.p[i]);
        uint32_t says = is_engine(rc, f) ? STARTED / 2 : STARTED; /* beside a trainer: a server */
        if (f != MT_FW_NONE && hits[f] < says && !is_driven(rc, f))
            hits[f] += says;
    }
    for (int f = 1; f < mt_framework_count(rc->rules); f++) {
        if (hits[f] > best || (best != 0 && hits[f] == best && shares_settings(rc, first, f))) {
            best = hits[f];
            first = f;
        }
    }
    runs = rc->forced ? rc->framework : rc->told;
    if (rc->engine_only && runs <= MT_FW_NONE &&
        (best < OWN ||
         (best == OWN && first >= 0 && n_keys[first] == 1 && only_model(rc, first)))) {
        /* "--model x": many a script has that */
        best = 0;
        first = -1;
        keys = rc->engine_only = false;
    }
    /* what another program was set to is not known then */
    rc->any = keys &&
              !(rc->engine_only && runs > MT_FW_NONE && (!is_engine(rc, runs) || hits[runs] == 0));
    if (rc->forced)
        return;
    for (int f = 1; f < mt_framework_count(rc->rules); f++)
        ties += best != 0 && hits[f] == best && !shares_settings(rc, f, first);
    if (ties != 1 && !runs_above(rc, first, hits))
        first = -1; /* several fit */
    rc->framework = rc->told >= 0 && !runs_above(rc, first, hits) ? rc->told : first;
}

/* A path of three names and more through a tree of settings (actor_rollout_ref.actor.strategy) is
 * the program's own: a script's options share its plain names, and model.path, at most. */
static bool sets_a_path(const struct mt_runconf *rc)
{
    for (uint32_t i = 0; i < rc->keys.n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[i];
        const char *dot = strchr(k->key, '.');
        if ((int)k->framework != rc->framework || k->is_common || dot == NULL ||
            strchr(dot + 1, '.') == NULL)
            continue;
        const struct mt_conf_entry *e = mt_runconf_look_up(rc, k->key);
        if (e != NULL && !e->is_default)
            return true;
    }
    return false;
}

bool mt_runconf_by_keys(const struct mt_runconf *rc)
{
    if (rc->forced || rc->told >= 0 || mt_runconf_run(rc) < 0 || sets_a_path(rc))
        return false;
    for (uint32_t i = 0; i < rc->conf.started.n; i++)
        if (mt_framework_of_start(rc->rules, rc->conf.started.p[i]) != MT_FW_NONE)
            return false;
    return true;
}

bool mt_runconf_serves(const struct mt_runconf *rc)
{
    bool serves = false;
    for (uint32_t i = 0; rc != NULL && i < rc->conf.started.n; i++) {
        mt_fw f = mt_framework_of_start(rc->rules, rc->conf.started.p[i]);
        if (f == MT_FW_NONE)
            continue;
        if (!is_engine(rc, f))
            return false;
        serves |= (int)f == rc->framework;
    }
    return serves;
}

void mt_runconf_tell(struct mt_runconf *rc, int framework)
{
    rc->told = framework;
    mt_runconf_guess(rc);
}

int mt_runconf_run(const struct mt_runconf *rc)
{
    return rc != NULL && rc->framework >= 0 && mt_framework_is_program(rc->rules, rc->framework)
               ? rc->framework
               : -1;
}
