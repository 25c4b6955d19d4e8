/* What single rules promise and propose, by numbers whose truth is known. */
#include "advice_bench.h"
#include "parser/intern.h"

/* A trace with one stack of one frame, for owners and requests of b. */
static void one_stack(struct bench *b, struct mt_trace **t, const char *file, const char *name)
{
    struct mt_frame *f;
    struct mt_stack_node *s;
    *t = mt_trace_new();
    MT_ASSERT(*t != NULL);
    f = MT_VEC_PUSH(&(*t)->frames);
    s = MT_VEC_PUSH(&(*t)->stacks);
    MT_ASSERT(f != NULL && s != NULL);
    f->file = mt_strpool_add(&(*t)->str, file, strlen(file));
    f->name = mt_strpool_add(&(*t)->str, name, strlen(name));
    f->line = 1;
    *s = (struct mt_stack_node){.frame = (*t)->frames.n - 1};
    MT_ASSERT(mt_intern_functions(*t));
    b->a.trace = *t;
}

static void owner(struct bench *b, uint64_t blocks, uint64_t bytes)
{
    struct mt_owner *o = MT_VEC_PUSH(&b->d->owners);
    MT_ASSERT(o != NULL);
    o->stack = 1;
    o->blocks = blocks;
    o->bytes = bytes;
}

/* 50 million elements stay of each bucket, whatever it has now: two bytes each, or four where it is larger than the default in two. */
MT_TEST(buckets_of_any_size)
{
    static const struct {
        uint64_t blocks, bytes, saved, least;
    } of[] = {{1, 1000000000, 900000000, 800000000},
              {1, 400000000, 300000000, 200000000},
              {2, 2000000000, 1800000000, 1600000000},
              {1, 2000000000, 1800000000, 1800000000}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        struct mt_trace *t;
        const struct mt_advice *v;
        setup(&b, NULL, NULL);
        one_stack(&b, &t, "/v/site-packages/deepspeed/runtime/zero/stage_1_and_2.py", "setup_buckets");
        owner(&b, of[i].blocks, of[i].bytes);
        role(&b, MT_ROLE_GRAD_REDUCE, of[i].bytes);
        b.a.fw.main = MT_FW_OPENRLHF;
        v = advise(&b, "B44");
        MT_ASSERT(v != NULL);
        MT_CHECK_EQ(v->saving.bytes, of[i].saved);
        MT_CHECK_EQ(v->saving.low, of[i].least);
        teardown(&b);
        mt_trace_free(t);
    }
}

MT_MAIN(MT_RUN(buckets_of_any_size))
