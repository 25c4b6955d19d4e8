/* What a command line starts: the image of a container, and the model that a server is given
 * without a flag. */
#include "mt_test.h"

#include "analysis/setup/settings.h"
#include "frameworks.h"

#include <string.h>

static struct mt_runconf *rc;
static struct mt_err err;

static void read_args(const char *text, bool is_script)
{
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_runconf_new(&rc, mt_test_frameworks(), &err), MT_OK);
    MT_CHECK_EQ(mt_conf_args(&rc->conf, text, strlen(text), "--args", is_script, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_ARGS, &err), MT_OK);
}

static void args(const char *text) { read_args(text, false); }

static const char *get(const char *key)
{
    const char *v = mt_runconf_get(rc, key);
    return v != NULL ? v : "(null)";
}

static bool starts(const char *name)
{
    for (uint32_t i = 0; i < rc->conf.started.n; i++)
        if (strcmp(rc->conf.started.p[i], name) == 0)
            return true;
    return false;
}

MT_TEST(container)
{
    args("sudo docker run --rm -it -p80:80 -e A=b --env C=d --gpus all --shm-size=1g "
         "-v /x:/y host:5000/org/image:1.2 --max-model-len 7 --gpus 3");
    MT_CHECK(starts("host:5000/org/image"));
    MT_CHECK_STR(get("--max-model-len"), "7");
    MT_CHECK_STR(get("--gpus"), "3"); /* the one behind the image is the program's */
    MT_CHECK_STR(get("--shm-size"), "(null)");
    MT_CHECK_STR(get("A"), "b");
    MT_CHECK_STR(get("C"), "d");
    mt_runconf_free(rc);
    /* a digest, a command behind the image, and another command after it */
    args("podman run org/image@sha256:12 python3 -m a.b --x 1; program run --y 2");
    MT_CHECK(starts("org/image"));
    MT_CHECK(starts("a.b"));
    MT_CHECK_STR(get("--x"), "1");
    MT_CHECK_STR(get("--y"), "2");
    mt_runconf_free(rc);
    /* no image at all */
    args("docker run --rm");
    MT_CHECK_EQ(rc->conf.started.n, 1);
    mt_runconf_free(rc);
    args("docker ps --x 1");
    MT_CHECK_STR(get("--x"), "1");
    mt_runconf_free(rc);
}

/* A variable in the word of its option, letters in one word of which the last has a value. */
MT_TEST(container_options)
{
    args("docker container run --env=A=b -eC=d -dp 80:80 --sig-proxy -ite E=f -e=G=h -v/x:/y "
         "--env-file=z org/image --x 1");
    MT_CHECK(starts("org/image"));
    MT_CHECK(!starts("80:80"));
    MT_CHECK_STR(get("A"), "b");
    MT_CHECK_STR(get("C"), "d");
    MT_CHECK_STR(get("E"), "f");
    MT_CHECK_STR(get("G"), "h");
    MT_CHECK_STR(get("--x"), "1");
    mt_runconf_free(rc);
    /* the value of a variable is elsewhere; an option at the end; no name; an empty word */
    args("docker run -e A --env=B --env= -e= -e \"\" - x; docker run -e; docker run -; docker run "
         "\"\"");
    MT_CHECK_STR(get("A"), "(null)");
    MT_CHECK_STR(get("B"), "(null)");
    mt_runconf_free(rc);
}

MT_TEST(served)
{
    args("vllm serve org/model --port 1");
    MT_CHECK_STR(get("--serve"), "org/model");
    MT_CHECK_STR(get("model_path"), "org/model");
    MT_CHECK_EQ(mt_runconf_serves(rc), true);
    mt_runconf_free(rc);
    args("a-serve --x 1 org/model");
    MT_CHECK_STR(get("--serve"), "org/model");
    mt_runconf_free(rc);
    args("lmdeploy serve api_server org/model");
    MT_CHECK_STR(get("--serve"), "org/model");
    mt_runconf_free(rc);
    /* neither a name with an owner nor a path; no server; a word that ends like one */
    args("ray serve start; observe org/model; program run org/model");
    MT_CHECK_STR(get("--serve"), "(null)");
    MT_CHECK_EQ(mt_runconf_serves(rc), false);
    mt_runconf_free(rc);
    /* a trainer beside it: what failed may be either */
    args("vllm serve org/model; swift rlhf --rlhf_type grpo");
    MT_CHECK_EQ(mt_runconf_serves(rc), false);
    mt_runconf_free(rc);
    MT_CHECK_EQ(mt_runconf_serves(NULL), false);
}

/* $((...)): whole numbers, names, + - * / % and parentheses; nothing else is guessed. */
MT_TEST(arithmetic)
{
    read_args("in=$((1024 * 4)) out=6144\ntwo=$((in/2))\npython3 -m a.b data.p=${in} data.r=$out "
              "x.sum=$((in + out)) x.both=\"$(( 2*($in+${out}) - 10 % 4 ))\" x.less=$((-3 + 1)) "
              "x.unknown=$((in + nobody)) x.zero=$((in / 0)) x.power=$((2 ** 3)) x.octal=$((010)) "
              "x.big=$((9007199254740992 * 2)) x.open=$((1 + )) x.hex=$((0x10)) x.long=k$((two))m",
              true);
    MT_CHECK_STR(get("data.p"), "4096");
    MT_CHECK_STR(get("x.sum"), "10240");
    MT_CHECK_STR(get("x.both"), "20478");
    MT_CHECK_STR(get("x.less"), "-2");
    MT_CHECK_STR(get("x.long"), "k2048m");
    for (const char *const *k = (const char *const[]){"x.unknown", "x.zero", "x.power", "x.octal",
                                                      "x.big", "x.open", "x.hex", NULL};
         *k != NULL; k++)
        MT_CHECK_STR(get(*k), "(null)");
    mt_runconf_free(rc);
    read_args("python3 -m a.b x.deep=$(((((((((((((((((((((1)))))))))))))))))))))", true);
    MT_CHECK_STR(get("x.deep"), "(null)");
    mt_runconf_free(rc);
}

MT_MAIN(MT_RUN(container) MT_RUN(container_options) MT_RUN(served) MT_RUN(arithmetic))
