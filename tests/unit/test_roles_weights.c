/* Weights, gradients and states without frames of their own: by what lets them go, by how many
 * there are of a size, by layers, by constructors, by what an optimizer makes anew. */
#include "role_make.h"

#define RUN "|/home/u/run.py:9:<module>"
#define PASS(what) "/home/u/model.py:7:" what "|" S_CALL "|/home/u/run.py:30:evaluate" RUN
#define ROOT_GRAD SITE "torch/autograd/__init__.py:2:_make_grads|/home/u/run.py:31:train" RUN
#define ZERO_GRAD SITE "torch/optim/optimizer.py:975:zero_grad|/home/u/run.py:33:train" RUN
#define EXIT SITE "torch/amp/autocast_mode.py:375:__exit__|/home/u/run.py:40:evaluate" RUN

/* A free with frames of its own. */
static void drop_in(struct job *j, uint64_t addr, const char *stack)
{
    for (unsigned i = 0; i < j->n; i++)
        if (j->live[i].addr == addr) {
            bt_event(&j->bt, "free_requested", addr, j->live[i].size, stack);
            bt_event(&j->bt, "free_completed", addr, j->live[i].size, stack);
            j->live[i] = j->live[--j->n];
            return;
        }
    abort();
}

static void old_blocks(struct job *j, unsigned n, uint64_t size)
{
    while (n-- != 0)
        (void)old_block(j, size);
}

/* ---- what lets it go ---- */

/* With stacks="python" the second of two losses is nobody's backward: its blocks have no frames,
 * and no root gradient comes before them. */
MT_TEST(what_zero_grad_lets_go_is_a_gradient)
{
    struct job *j = job_new();
    uint64_t grad[4];
    (void)put(j, MIB, PASS("forward"));
    for (int i = 0; i < 4; i++)
        grad[i] = put(j, PARAM_BYTES, "");
    (void)put(j, MIB, PASS("forward"));
    for (int i = 0; i < 4; i++)
        drop_in(j, grad[i], ZERO_GRAD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, GRAD), 4 * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(what_goes_with_the_context_of_autocast_is_a_copy)
{
    struct job *j = job_new();
    uint64_t copy[4];
    old_blocks(j, 4, 2 * PARAM_BYTES);
    for (int i = 0; i < 4; i++) {
        copy[i] = put(j, PARAM_BYTES, PASS("linear"));
        (void)put(j, ACT_BYTES, PASS("out"));
    }
    for (int i = 0; i < 4; i++)
        drop_in(j, copy[i], EXIT);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM_CAST), 4 * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), 4 * 2 * PARAM_BYTES); /* what was copied has twice the size */
    CHECK_SUMS(j);
    job_free(j);
}

/* Autocast's cache does not hit: each round makes one more copy, and memory runs out before the
 * context is left a second time. */
MT_TEST(copies_that_are_not_let_go_yet_are_known_by_those_that_were)
{
    struct job *j = job_new();
    uint64_t copy[4];
    old_blocks(j, 1, 2 * PARAM_BYTES);
    for (int i = 0; i < 4; i++) {
        copy[i] = put(j, PARAM_BYTES, PASS("linear"));
        drop(j, put(j, ACT_BYTES, PASS("linear"))); /* the product, by the same line */
    }
    for (int i = 0; i < 4; i++)
        drop_in(j, copy[i], EXIT);
    for (int i = 0; i < 8; i++) {
        (void)put(j, PARAM_BYTES, PASS("linear"));
        drop(j, put(j, ACT_BYTES, PASS("linear")));
    }
    bt_event(&j->bt, "oom", 12345, PARAM_BYTES, PASS("linear"));
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM_CAST), 12 * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, PARAM_CAST), 8 * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

/* A free that waits for a stream is completed under the next allocation's frames. */
MT_TEST(a_free_that_had_to_wait_says_nothing)
{
    struct job *j = job_new();
    uint64_t a = put(j, PARAM_BYTES, PASS("linear"));
    bt_event(&j->bt, "free_requested", a, PARAM_BYTES, PASS("linear"));
    (void)put(j, MIB, PASS("out"));
    bt_event(&j->bt, "free_completed", a, PARAM_BYTES, EXIT);
    j->live[0] = j->live[--j->n];
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM_CAST), 0);
    job_free(j);
}

/* ---- how many there are ---- */

#define STEP(line)                                                                                 \
    "/home/u/optimizer.py:" #line ":step|" SITE "torch/optim/optimizer.py:9:wrapper|" S_UPDATE

/* A pass whose gradients are added to others that are there; then an optimizer that makes the two
 * states of each parameter anew. */
static void accumulate(struct job *j, int n, uint64_t state[][2])
{
    uint64_t act[8];
    for (int i = 0; i < n; i++)
        act[i] = put(j, ACT_BYTES, S_FORWARD);
    for (int i = n; i-- > 0;) {
        drop(j, put(j, PARAM_BYTES, S_BACKWARD));
        drop(j, act[i]);
    }
    for (int i = 0; i < n; i++) {
        uint64_t first = put(j, PARAM_BYTES, STEP(71)), second = put(j, PARAM_BYTES, STEP(72));
        drop(j, state[i][0]);
        drop(j, state[i][1]);
        state[i][0] = first;
        state[i][1] = second;
    }
}

MT_TEST(states_of_one_line_are_as_many_as_parameters)
{
    struct job *j = job_new();
    uint64_t state[5][2];
    old_blocks(j, 2 * 5, PARAM_BYTES); /* parameters and gradients */
    for (int i = 0; i < 10; i++)
        state[i / 2][i % 2] = old_block(j, PARAM_BYTES);
    accumulate(j, 5, state);
    accumulate(j, 5, state);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), 5 * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, GRAD), 5 * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE) % PARAM_BYTES, 0);
    MT_CHECK_EQ(j->f->peak[MT_ROLE_OPTIM_STATE], (2 * 5 + 2) * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

/* The second micro-batch's gradients live beside the first's for a moment: they are no parameters
 * more. */
MT_TEST(a_gradient_that_is_added_counts_no_parameter)
{
    struct job *j = job_new();
    struct model m = {.recorded_late = true};
    old_blocks(j, 3 * LAYERS + 1, PARAM_BYTES); /* parameters, two moments, and something else */
    train_step(j, &m);
    train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, BEFORE), PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

/* ---- layers ---- */

enum { DEEP = 12 };
#define WIDTH UINT64_C(3072) /* 768 in 32 bits */
#define SQUARE (WIDTH * 768)
#define WIDE (SQUARE * 4)
#define TABLE (WIDTH * 50257)
#define MODEL (DEEP * (4 * SQUARE + 3 * WIDE + 2 * WIDTH) + WIDTH + 2 * TABLE)

static void old_model(struct job *j, unsigned copies)
{
    old_blocks(j, copies * 4 * DEEP, SQUARE);
    old_blocks(j, copies * 3 * DEEP, WIDE);
    old_blocks(j, copies * (2 * DEEP + 1), WIDTH);
    old_blocks(j, copies * 2, TABLE);
}

static void evaluate(struct job *j)
{
    for (int i = 0; i < DEEP; i++)
        (void)put(j, ACT_BYTES, PASS("forward"));
}

MT_TEST(sizes_that_come_in_every_layer_are_weights)
{
    struct job *j = job_new();
    old_model(j, 1);
    old_blocks(j, 2, 32768); /* tables of positions */
    old_blocks(j, DEEP, 8 * WIDTH);
    old_blocks(j, 1, 5000000);
    evaluate(j);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), MODEL);
    MT_CHECK_EQ(AT_FOCUS(j, BEFORE), 2 * 32768 + DEEP * 8 * WIDTH + 5000000);
    CHECK_SUMS(j);
    job_free(j);
}

/* Biases, one of them four times as long: norms have one each as well. */
MT_TEST(biases_of_several_widths_are_weights)
{
    struct job *j = job_new();
    old_model(j, 1);
    old_blocks(j, 4 * DEEP + 1, WIDTH);
    old_blocks(j, DEEP, 4 * WIDTH);
    evaluate(j);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), MODEL + (8 * DEEP + 1) * WIDTH);
    job_free(j);
}

MT_TEST(one_block_more_of_a_size_hides_no_layers)
{
    struct job *j = job_new();
    old_model(j, 1);
    old_blocks(j, 1, SQUARE);
    evaluate(j);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), MODEL + SQUARE);
    job_free(j);
}

/* A forward pass recorded in the middle of a training: what is not in the layers comes three times.
 */
MT_TEST(moments_are_no_parameters)
{
    struct job *j = job_new();
    old_model(j, 3);
    evaluate(j);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), MODEL);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 2 * MODEL);
    job_free(j);
}

/* The output of the pass before is still there, with all that its backward would need. */
MT_TEST(what_an_earlier_pass_kept_is_no_weight)
{
    static const uint64_t of_layer[] = {WIDTH * 512, 4 * WIDTH * 512, 2 * WIDTH * 512};
    struct job *j = job_new();
    uint64_t kept = 0;
    old_model(j, 1);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < DEEP; i++)
            for (int s = 0; s < 3; s++) {
                if (pass == 0)
                    kept += of_layer[s];
                (void)(pass == 0 ? old_block(j, of_layer[s])
                                 : put(j, of_layer[s], PASS("forward")));
            }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), MODEL);
    MT_CHECK_EQ(AT_FOCUS(j, ACTIVATION), 2 * kept);
    CHECK_SUMS(j);
    job_free(j);
}

/* A cache of keys and values is one size, in each layer twice; and nothing runs a model. */
MT_TEST(one_size_alone_or_no_pass_prove_nothing)
{
    for (int pass = 0; pass < 2; pass++) {
        struct job *j = job_new();
        if (pass != 0)
            old_blocks(j, 2 * DEEP, SQUARE);
        else
            old_model(j, 1);
        old_blocks(j, 2 * DEEP, WIDTH);
        if (pass != 0)
            evaluate(j);
        else
            (void)put(j, MIB, "/home/u/run.py:9:<module>");
        MT_ASSERT(analyze(j));
        MT_CHECK_EQ(AT_FOCUS(j, PARAM), 0);
        job_free(j);
    }
}

/* ---- built while it is recorded ---- */

#define LAYER "/home/u/layers.py:19:__init__|/home/u/block.py:27:__init__"
#define NET "|/home/u/net.py:30:__init__" RUN
#define BUFFER "/home/u/replay.py:5:__init__|/home/u/net.py:12:__init__" RUN

static void build(struct job *j, uint64_t weight[LAYERS])
{
    for (int i = 0; i < LAYERS; i++)
        weight[i] = put(j, PARAM_BYTES, LAYER NET);
    (void)put(j, 7 * MIB, BUFFER);
    drop(j, put(j, 9 * MIB, LAYER NET)); /* a random tensor that is scaled */
}

MT_TEST(nested_constructors_before_the_first_pass_make_weights)
{
    struct job *j = job_new();
    uint64_t weight[LAYERS];
    build(j, weight);
    (void)put(j, 11 * MIB, "/home/u/data.py:5:__init__" RUN); /* not nested */
    evaluate(j);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), LAYERS * PARAM_BYTES + 7 * MIB); /* nothing tells a buffer here */
    MT_CHECK_EQ(MADE(j, DATA), 11 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

/* A mask that each layer registers comes as often as its weights; the operation tells that it is
 * none, and no keys or values either. */
MT_TEST(masks_in_constructors_are_no_weights)
{
    struct job *j = job_new();
    uint64_t weight[LAYERS];
    build(j, weight);
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, 5 * MIB, "??:0:at::_ops::tril::call(at::Tensor const&, long)|" LAYER NET);
    evaluate(j);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), LAYERS * PARAM_BYTES + 7 * MIB);
    MT_CHECK_EQ(MADE(j, DATA), LAYERS * 5 * MIB);
    CHECK_SUMS(j);
    job_free(j);
}

MT_TEST(what_is_not_trained_is_a_buffer)
{
    struct job *j = job_new();
    struct model m = {.empty_backward = false};
    uint64_t weight[LAYERS];
    build(j, weight);
    train_step(j, &m);
    train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(MADE(j, DATA), 7 * MIB);
    job_free(j);
}

MT_TEST(constructors_without_layers_prove_nothing)
{
    struct job *j = job_new();
    (void)put(j, PARAM_BYTES, BUFFER);
    (void)put(j, 2 * PARAM_BYTES, LAYER NET);
    evaluate(j);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(MADE(j, PARAM), 0);
    job_free(j);
}

/* ---- made anew ---- */

/* m = ..., v = ..., p.data = p.data - ... - ...: three results of one size in each step. The states
 * were made by the optimizer's constructor. */
MT_TEST(what_replaces_a_parameter_is_one)
{
    struct job *j = job_new();
    uint64_t weight[LAYERS], state[LAYERS][2], grad[LAYERS], act[LAYERS];
    build(j, weight);
    for (int i = 0; i < 2 * LAYERS; i++)
        state[i / 2][i % 2] = put(j, PARAM_BYTES, "/home/u/optimizer.py:20:__init__" RUN);
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < LAYERS; i++)
            act[i] = put(j, ACT_BYTES, S_FORWARD);
        for (int i = LAYERS; i-- > 0;) {
            grad[i] = put(j, PARAM_BYTES, S_BACKWARD);
            drop(j, act[i]);
        }
        for (int i = 0; i < LAYERS; i++) {
            uint64_t part = put(j, PARAM_BYTES, STEP(50)), next = put(j, PARAM_BYTES, STEP(51));
            drop(j, part);
            drop(j, state[i][0]);
            state[i][0] = next;
            next = put(j, PARAM_BYTES, STEP(56));
            drop(j, state[i][1]);
            state[i][1] = next;
            part = put(j, PARAM_BYTES, STEP(63));
            drop(j, weight[i]);
            next = put(j, PARAM_BYTES, STEP(64));
            drop(j, part);
            weight[i] = next;
        }
        for (int i = 0; i < LAYERS; i++)
            drop_in(j, grad[i], ZERO_GRAD);
    }
    (void)put(j, 300 * MIB, S_FORWARD); /* the peak, between two steps */
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, GRAD), 0);
    MT_CHECK_EQ(MADE(j, GRAD), 3 * LAYERS * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

/* The same, recorded in the middle: parameters and states are older than the recording, and nothing
 * of their size stays. */
MT_TEST(a_training_without_parameters_makes_them_anew)
{
    struct job *j = job_new();
    uint64_t of[LAYERS][3], grad[LAYERS];
    for (int i = 0; i < 3 * LAYERS; i++)
        of[i / 3][i % 3] = old_block(j, PARAM_BYTES << i / 3 % 2); /* of two sizes */
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < LAYERS; i++)
            (void)put(j, 512, S_FORWARD);
        for (int i = 0; i < LAYERS; i++)
            grad[i] = put(j, PARAM_BYTES << i % 2, S_BACKWARD);
        for (int i = 0; i < LAYERS; i++) {
            static const char *const line[] = {STEP(50), STEP(56), STEP(64)};
            for (int n = 0; n < 3; n++) {
                uint64_t next = put(j, PARAM_BYTES << i % 2, line[n]);
                drop(j, of[i][n]);
                of[i][n] = next;
            }
        }
        for (int i = 0; i < LAYERS; i++)
            drop_in(j, grad[i], ZERO_GRAD);
    }
    (void)put(j, 300 * MIB, S_FORWARD); /* the peak, after the steps */
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), LAYERS / 2 * 3 * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), LAYERS * 3 * PARAM_BYTES);
    CHECK_SUMS(j);
    job_free(j);
}

/* ---- states that a save makes ---- */

/* Before the first step there are no states to save: gradients of zeros are made, and a step. */
MT_TEST(a_save_before_the_first_step_makes_states)
{
#define STATE_DICT SITE "torch/distributed/checkpoint/state_dict.py:"
#define SAVE                                                                                       \
    "|" STATE_DICT "1016:get_optimizer_state_dict|" SITE                                           \
    "torch/distributed/checkpoint/state_dict_saver.py:3:save|/home/u/run.py:50:<module>"
    struct job *j = job_new();
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, PARAM_BYTES, S_INIT);
    for (int i = 0; i < LAYERS; i++)
        (void)put(j, PARAM_BYTES, STATE_DICT "648:_init_optim_state" SAVE);
    for (int i = 0; i < 2 * LAYERS; i++)
        (void)put(j, PARAM_BYTES,
                  "/home/u/adamw.py:200:_init|" SITE
                  "torch/optim/optimizer.py:9:wrapper|" STATE_DICT "655:_init_optim_state" SAVE);
    bt_event(&j->bt, "oom", 12345, PARAM_BYTES,
             "/home/u/adamw.py:200:_init|" SITE "torch/optim/optimizer.py:9:wrapper|" STATE_DICT
             "655:_init_optim_state" SAVE);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, GRAD), LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, OPTIM_STATE), 2 * LAYERS * PARAM_BYTES);
    MT_CHECK_EQ(AT_FOCUS(j, CHECKPOINT), 0);
    CHECK_SUMS(j);
    job_free(j);
}

/* ---- two models ---- */

#define LOAD(line)                                                                                 \
    SITE "torch/nn/modules/module.py:1326:convert|" SITE "torch/nn/modules/module.py:942:_apply|"  \
         "/home/u/dpo.py:" #line ":<module>"

static uint64_t load(struct job *j, const char *stack, int layers)
{
    uint64_t bytes = TABLE;
    (void)put(j, TABLE, stack);
    for (int i = 0; i < layers; i++) {
        (void)put(j, SQUARE, stack);
        (void)put(j, WIDE, stack);
        (void)put(j, WIDTH, stack);
        bytes += SQUARE + WIDE + WIDTH;
    }
    return bytes;
}

MT_TEST(the_same_tensors_in_the_same_order_are_a_second_model)
{
    struct job *j = job_new();
    uint64_t bytes = load(j, LOAD(31), LAYERS);
    MT_CHECK_EQ(load(j, LOAD(32), LAYERS), bytes);
    (void)put(j, ACT_BYTES, S_FORWARD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(AT_FOCUS(j, PARAM), 2 * bytes);
    MT_CHECK_EQ(j->f->second_model, bytes);
    job_free(j);
}

MT_TEST(layers_are_no_second_model)
{
    struct job *j = job_new();
    (void)load(j, LOAD(31), 2 * DEEP);
    (void)put(j, ACT_BYTES, S_FORWARD);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->second_model, 0);
    job_free(j);
}

/* Copied tensor by tensor, so that the order tells nothing: the gradients are half as many. */
MT_TEST(parameters_without_gradients_are_a_second_model)
{
    struct job *j = job_new();
    struct model m = {.empty_backward = false};
    for (int i = 0; i < 2 * LAYERS; i++)
        (void)put(j, PARAM_BYTES, LOAD(33));
    for (int i = 0; i < 4; i++)
        (void)put(j, PARAM_BYTES / 3, LOAD(34)); /* of neither */
    train_step(j, &m);
    train_step(j, &m);
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->second_model, 0); /* fewer than 8 tensors have gradients */
    job_free(j);

    j = job_new();
    for (int i = 0; i < 2 * 10; i++)
        (void)put(j, PARAM_BYTES, LOAD(33));
    for (int step = 0; step < 2; step++) {
        uint64_t grad[10];
        for (int i = 0; i < 10; i++)
            (void)put(j, MIB, S_FORWARD);
        for (int i = 0; i < 10; i++)
            grad[i] = put(j, PARAM_BYTES, S_BACKWARD);
        for (int i = 0; i < 10; i++)
            drop(j, put(j, PARAM_BYTES, S_ADAM));
        for (int i = 0; i < 10; i++)
            drop(j, grad[i]);
    }
    MT_ASSERT(analyze(j));
    MT_CHECK_EQ(j->f->second_model, 10 * PARAM_BYTES);
    job_free(j);
}

MT_MAIN(
    MT_RUN(what_zero_grad_lets_go_is_a_gradient)
        MT_RUN(what_goes_with_the_context_of_autocast_is_a_copy) MT_RUN(
            copies_that_are_not_let_go_yet_are_known_by_those_that_were)
            MT_RUN(a_free_that_had_to_wait_says_nothing) MT_RUN(
                a_training_without_parameters_makes_them_anew)
                MT_RUN(a_save_before_the_first_step_makes_states) MT_RUN(
                    states_of_one_line_are_as_many_as_parameters)
                    MT_RUN(a_gradient_that_is_added_counts_no_parameter) MT_RUN(
                        sizes_that_come_in_every_layer_are_weights)
                        MT_RUN(one_block_more_of_a_size_hides_no_layers) MT_RUN(
                            biases_of_several_widths_are_weights) MT_RUN(moments_are_no_parameters)
                            MT_RUN(what_an_earlier_pass_kept_is_no_weight) MT_RUN(
                                one_size_alone_or_no_pass_prove_nothing)
                                MT_RUN(masks_in_constructors_are_no_weights) MT_RUN(
                                    nested_constructors_before_the_first_pass_make_weights)
                                    MT_RUN(what_is_not_trained_is_a_buffer) MT_RUN(
                                        constructors_without_layers_prove_nothing)
                                        MT_RUN(what_replaces_a_parameter_is_one) MT_RUN(
                                            the_same_tensors_in_the_same_order_are_a_second_model)
                                            MT_RUN(layers_are_no_second_model) MT_RUN(
                                                parameters_without_gradients_are_a_second_model))
