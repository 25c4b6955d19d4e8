/* The phase engine over the events of a device: what is carried, implied and annotated; and on
 * public snapshots, where PyTorch itself has marked the optimizer's steps. */
#include "load.h"
#include "phase_make.h"
#include "frameworks.h"

#define PPO_LOSS "/v/verl/workers/utils/losses.py:ppo_loss"

/* ---- the order of events ---- */

MT_TEST(training_is_implied_and_carried)
{
    struct made m;
    start(&m);
    alloc(&m, CALL "|" MAIN); /* 0: before anything is known */
    alloc(&m, MAKE_GRADS "|" BACKWARD "|" MAIN);
    alloc(&m, ENGINE);
    alloc(&m, STEP "|" MAIN);
    alloc(&m, CALL "|" MAIN); /* 4 */
    alloc(&m, "/home/u/data.py:next|" MAIN);
    alloc(&m, "");
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/forward inferred phase.torch.module._call_impl");
    SAYS(m, 1, "train/backward inferred phase.torch.autograd._make_grads");
    SAYS(m, 2, "train/backward inferred method.autograd_engine");
    SAYS(m, 3, "train/optimizer inferred phase.torch.optimizer.wrapper");
    SAYS(m, 4, "train/forward carried phase.torch.module._call_impl");
    SAYS(m, 5, "train/- carried method.carry");
    SAYS(m, 6, "train/- carried method.carry");
    done(&m);
}

MT_TEST(forward_only_stays_unattributed)
{
    struct made m;
    start(&m);
    alloc(&m, CALL "|" MAIN);
    alloc(&m, MAIN);
    alloc(&m, "");
    alloc(&m, PPO_LOSS "|" MAIN); /* a loss without backward implies nothing */
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "unattributed/forward marked phase.torch.module._call_impl");
    SAYS(m, 1, "unattributed/- none method.no_signature");
    SAYS(m, 2, "unattributed/- none method.no_stack");
    SAYS(m, 3, "unattributed/loss marked phase.verl.losses.ppo_loss");
    done(&m);
}

#define NO_GRAD "/v/site-packages/torch/utils/_contextlib.py:decorate_context"

/* What runs without gradients is no training, whatever stands around it, and nothing inherits that
 * from it. */
MT_TEST(a_pass_without_gradients_is_no_training)
{
    struct made m;
    start(&m);
    for (int step = 0; step < 2; step++) {
        alloc(&m, CALL "|/job/loop.py:generate|" NO_GRAD "|" MAIN); /* 0, 6 */
        alloc(&m, "/job/loop.py:generate|" NO_GRAD "|" MAIN);
        alloc(&m, CALL "|/job/loop.py:score|" NO_GRAD "|" MAIN); /* 2, 8 */
        alloc(&m, "/job/loop.py:cross_entropy|/job/loop.py:score|" NO_GRAD "|" MAIN);
        alloc(&m, CALL "|" MAIN);
        alloc(&m, MAKE_GRADS "|" BACKWARD "|" MAIN); /* 5, 11 */
    }
    MT_ASSERT(run(&m, false));
    for (uint32_t i = 0; i < 12; i += 6) {
        SAYS(m, i, "rollout.generate/forward inferred phase.torch.module._call_impl");
        SAYS(m, i + 1, "rollout.generate/- inferred name.generate");
        SAYS(m, i + 2, "infer/forward inferred phase.torch.module._call_impl");
        SAYS(m, i + 3, "infer/forward low method.by_name_forward");
        SAYS(m, i + 4,
             i == 0 ? "train/forward inferred phase.torch.module._call_impl"
                    : "train/forward carried phase.torch.module._call_impl");
        SAYS(m, i + 5, "train/backward inferred phase.torch.autograd._make_grads");
        for (uint32_t k = 0; k < 6; k++)
            MT_CHECK_EQ(mt_attr_no_grad(m.at[i + k]), k < 4);
    }
    done(&m);
}

/* enable_grad has the same wrapper: a function that asks for gradients is not without, nor is the
 * only one that can have had any. */
MT_TEST(the_wrapper_alone_proves_nothing)
{
    struct made m;
    start(&m);
    alloc(&m, CALL "|/job/loop.py:train|" NO_GRAD "|" MAIN);
    alloc(&m, MAKE_GRADS "|" BACKWARD "|/job/loop.py:train|" NO_GRAD "|" MAIN);
    alloc(&m, CALL "|/job/loop.py:score|" NO_GRAD "|" MAIN); /* another one may be without */
    alloc(&m, CALL "|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/forward inferred phase.torch.module._call_impl");
    SAYS(m, 2, "infer/forward inferred phase.torch.module._call_impl");
    SAYS(m, 3, "train/forward carried phase.torch.module._call_impl");
    done(&m);
    start(&m);
    alloc(&m, CALL "|/job/loop.py:loss_of|" NO_GRAD "|" MAIN);
    alloc(&m, MAKE_GRADS "|" BACKWARD "|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/forward inferred phase.torch.module._call_impl");
    done(&m);
}

/* What such a function makes of what passes gave is of the same work, behind the first of them and
 * where nothing is trained: a loader of weights may have the wrapper, too, and so may a step. */
MT_TEST(behind_passes_without_gradients)
{
    for (int trains = 0; trains < 2; trains++) {
        struct made m;
        start(&m);
        alloc(&m, "/job/load.py:read|" NO_GRAD "|" MAIN);
        alloc(&m, CALL "|/job/cka.py:features|" NO_GRAD "|" MAIN);
        alloc(&m, "/job/cka.py:kernels|/job/cka.py:matrix|" NO_GRAD "|" MAIN);
        alloc(&m, "/job/cka.py:plot|" MAIN);
        if (trains)
            alloc(&m, MAKE_GRADS "|" BACKWARD "|" MAIN);
        MT_ASSERT(run(&m, false));
        SAYS(m, 0, "unattributed/- none method.no_signature");
        MT_CHECK_EQ(m.at[2].phase, trains ? MT_PH_UNATTRIBUTED : MT_PH_INFER);
        MT_CHECK_EQ(m.at[3].phase, MT_PH_UNATTRIBUTED);
        done(&m);
    }
}

/* "predict" is no training step where nothing below it asks for gradients while the job does so
 * elsewhere, or nowhere; gradients may be on in it all the same. */
MT_TEST(names_of_evaluation)
{
    struct made m;
    start(&m);
    alloc(&m, CALL "|/job/loop.py:fit|" MAIN);
    alloc(&m, MAKE_GRADS "|" BACKWARD "|/job/loop.py:fit|" MAIN);
    alloc(&m, CALL "|/job/loop.py:predict|" MAIN);
    alloc(&m, CALL "|/job/loop.py:fit|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/forward inferred phase.torch.module._call_impl");
    SAYS(m, 2, "eval/forward low phase.torch.module._call_impl");
    MT_CHECK(!mt_attr_no_grad(m.at[2]));
    SAYS(m, 3, "train/forward carried phase.torch.module._call_impl");
    done(&m);
    /* what fills an index trains nothing */
    start(&m);
    alloc(&m, CALL "|/job/loop.py:fit|" MAIN);
    alloc(&m, MAKE_GRADS "|" BACKWARD "|/job/loop.py:fit|" MAIN);
    alloc(&m, CALL "|/job/search.py:build_index|" MAIN);
    alloc(&m, CALL "|/job/search.py:build|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 2, "infer/forward low phase.torch.module._call_impl");
    SAYS(m, 3, "train/forward carried phase.torch.module._call_impl");
    done(&m);
    /* it asks for gradients itself */
    start(&m);
    alloc(&m, CALL "|/job/loop.py:predict|" MAIN);
    alloc(&m, MAKE_GRADS "|" BACKWARD "|/job/loop.py:predict|" MAIN);
    alloc(&m, CALL "|/job/loop.py:fit|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/forward inferred phase.torch.module._call_impl");
    done(&m);
    /* somebody trains what it computed: there is no other forward pass */
    start(&m);
    alloc(&m, CALL "|/job/loop.py:predict|" MAIN);
    alloc(&m, MAKE_GRADS "|" BACKWARD "|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/forward inferred phase.torch.module._call_impl");
    done(&m);
    /* a backward pass that nobody is seen to ask for may be of any function */
    start(&m);
    alloc(&m, CALL "|/job/loop.py:predict|" MAIN);
    alloc(&m, CALL "|/job/loop.py:fit|" MAIN);
    alloc(&m, ENGINE);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/forward inferred phase.torch.module._call_impl");
    done(&m);
}

/* A range that the job marks says more than what its functions are called. */
/* A function whose name says log-probabilities, without a proof that it has no gradients: more than
 * the phase of a function that has returned, less than a training that goes on. */
MT_TEST(a_name_goes_before_what_is_over)
{
    const char *scores = CALL "|/job/loop.py:token_log_probs|/job/loop.py:step|" MAIN;
    struct made m;
    start(&m);
    alloc(&m, scores); /* before anything is known: a pass that may train */
    alloc(&m, CALL "|" GENERATE "|/job/loop.py:step|" MAIN);
    alloc(&m, scores);
    alloc(&m, "/job/loop.py:token_log_probs|/job/loop.py:step|" MAIN);
    alloc(&m, CALL "|/job/loop.py:step|" MAIN); /* no name: carried */
    alloc(&m, ENGINE "|" BACKWARD "|/job/loop.py:step|" MAIN);
    alloc(&m, scores);
    MT_ASSERT(run(&m, true));
    SAYS(m, 1, "rollout.generate/forward marked phase.torch.module._call_impl");
    SAYS(m, 2, "logp/forward low phase.torch.module._call_impl");
    SAYS(m, 3, "logp/forward low method.by_name_forward");
    SAYS(m, 4, "rollout.generate/forward carried phase.torch.module._call_impl");
    SAYS(m, 6, "train/forward carried phase.torch.module._call_impl");
    done(&m);
}

MT_TEST(annotations_win_over_names)
{
    struct made m;
    start(&m);
    alloc_at(&m, 10, CALL "|/job/loop.py:generate|" NO_GRAD "|" MAIN);
    alloc_at(&m, 20, CALL "|/job/loop.py:generate|" NO_GRAD "|" MAIN);
    alloc_at(&m, 30, "/job/loop.py:go|" MAIN);
    range(&m, "testing", 15, 25);
    range(&m, "generate", 28, 35);
    MT_ASSERT(run(&m, true));
    SAYS(m, 0, "rollout.generate/forward inferred phase.torch.module._call_impl");
    SAYS(m, 1, "eval/forward marked phase.torch.module._call_impl");
    SAYS(m, 2, "rollout.generate/- marked range.python.generate");
    done(&m);
}

MT_TEST(loss_trains_when_there_is_a_backward)
{
    struct made m;
    start(&m);
    alloc(&m, PPO_LOSS "|" MAIN);
    alloc(&m, BACKWARD "|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "train/loss inferred phase.verl.losses.ppo_loss");
    done(&m);
}

/* With stacks="python" the autograd thread has no frames: what stands around its allocations, or a
 * range, shows the backward pass. */
MT_TEST(loss_trains_when_the_backward_has_no_frames)
{
    /* of one training phase */
    static const char *const around[][2] = {{UPDATE_ACTOR, UPDATE_ACTOR},
                                            /* after the root gradient */
                                            {STEP "|" MAKE_GRADS, "/home/u/x.py:f"},
                                            /* nobody knows whose */
                                            {UPDATE_ACTOR, UPDATE_CRITIC}};
    static const char *const want[] = {"train_actor/loss inferred phase.verl.losses.ppo_loss",
                                       "train/loss inferred phase.verl.losses.ppo_loss",
                                       "rollout.generate/loss carried phase.verl.losses.ppo_loss"};
    struct made m;
    for (int i = 0; i < 3; i++) {
        start(&m);
        alloc(&m, GENERATE);
        alloc(&m, PPO_LOSS "|" MAIN);
        alloc(&m, around[i][0]);
        alloc(&m, "");
        alloc(&m, around[i][1]);
        MT_ASSERT(run(&m, false));
        SAYS(m, 1, want[i]);
        done(&m);
    }
    for (int with_range = 0; with_range < 2; with_range++) {
        start(&m);
        if (with_range)
            range(&m, "fsdp_engine.backward", 30, 40);
        alloc_at(&m, 10, GENERATE);
        alloc_at(&m, 20, PPO_LOSS "|" MAIN);
        alloc_at(&m, 35, MAIN);
        MT_ASSERT(run(&m, true));
        SAYS(m, 1, with_range ? "train/loss inferred phase.verl.losses.ppo_loss" : want[2]);
        SAYS(m, 2,
             with_range ? "train/backward inferred range.areal.fsdp_engine.backward"
                        : "rollout.generate/- carried method.carry");
        done(&m);
    }
}

/* Rule: the last known phase goes on; a backward between a rollout and an actor update is the
 * update's. */
MT_TEST(backward_never_belongs_to_rollout_or_logp)
{
    struct made m;
    start(&m);
    alloc(&m, GENERATE);
    alloc(&m, "/home/u/x.py:f");
    alloc(&m, ENGINE);
    alloc(&m, ENGINE);
    alloc(&m, UPDATE_ACTOR);
    alloc(&m, LOG_PROB);
    alloc(&m, ENGINE);
    alloc(&m, BACKWARD "|" MAIN); /* the main thread trains without a marker */
    alloc(&m, UPDATE_CRITIC);
    alloc(&m, REF_LOG_PROB);
    alloc(&m, ENGINE);
    alloc(&m, GENERATE);
    alloc(&m, ENGINE);
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "rollout.generate/- carried method.carry");
    SAYS(m, 2, "train_actor/backward inferred method.autograd_engine");
    SAYS(m, 3, "train_actor/backward inferred method.autograd_engine");
    SAYS(m, 6, "train/backward inferred method.autograd_engine");
    SAYS(m, 7, "train/backward inferred phase.torch.autograd.backward");
    SAYS(m, 10, "train/backward inferred method.autograd_engine");
    SAYS(m, 11, "rollout.generate/- marked phase.verl.fsdp_workers.generate_sequences");
    SAYS(m, 12, "train/backward inferred method.autograd_engine");
    done(&m);
}

MT_TEST(set_up_is_not_carried_into_training)
{
    struct made m;
    start(&m);
    alloc(&m, INIT_MODEL);
    alloc(&m, "/home/u/x.py:f");
    alloc(&m, CALL "|" MAIN);
    alloc(&m, BACKWARD "|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "init/- carried method.carry");
    SAYS(m, 2, "train/forward inferred phase.torch.module._call_impl");
    done(&m);
    start(&m);
    alloc(&m, INIT_MODEL);
    alloc(&m, CALL "|" MAIN);
    alloc(&m, GENERATE);
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "init/forward carried phase.torch.module._call_impl");
    done(&m);
}

/* A script that loads a model and evaluates it: nothing is known after the set-up, which ends with
 * the first forward pass. */
MT_TEST(set_up_ends_where_the_model_runs)
{
    struct made m;
    start(&m);
    alloc(&m, INIT_MODEL);
    alloc(&m, "/home/u/x.py:f");
    alloc(&m, CALL "|" MAIN);
    alloc(&m, "/home/u/x.py:f");
    alloc(&m, CALL "|" MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "init/- carried method.carry");
    SAYS(m, 2, "unattributed/forward marked phase.torch.module._call_impl");
    SAYS(m, 3, "unattributed/- none method.no_signature");
    SAYS(m, 4, "unattributed/forward marked phase.torch.module._call_impl");
    done(&m);
    start(&m);
    alloc(&m, INIT_MODEL);
    alloc(&m, CALL "|" MAIN);
    alloc(&m, "/home/u/x.py:f");
    alloc(&m, GENERATE);
    MT_ASSERT(run(&m, false));
    /* something is known later: what stands between is still the set-up's */
    SAYS(m, 2, "init/- carried method.carry");
    done(&m);
}

MT_TEST(an_interruption_ends)
{
    struct made m;
    start(&m);
    alloc(&m, UPDATE_ACTOR);
    alloc(&m, "/v/verl/workers/fsdp_workers.py:save_checkpoint");
    alloc(&m, "/home/u/x.py:write");
    alloc(&m, CALL "|" MAIN);
    alloc(&m, ENGINE);
    alloc(&m, "/home/u/x.py:write");
    MT_ASSERT(run(&m, false));
    SAYS(m, 2, "ckpt_save/- carried method.carry");
    SAYS(m, 3, "train_actor/forward carried phase.torch.module._call_impl");
    SAYS(m, 4, "train_actor/backward inferred method.autograd_engine");
    SAYS(m, 5, "train_actor/- carried method.carry");
    done(&m);
}

MT_TEST(an_interruption_ends_where_the_model_runs_again)
{
    struct made m;
    start(&m);
    alloc(&m, UPDATE_ACTOR);
    alloc(&m, "/v/verl/workers/fsdp_workers.py:save_checkpoint");
    alloc(&m, "/home/u/x.py:write");
    alloc(&m, CALL "|" MAIN);
    alloc(&m, "/home/u/x.py:cast"); /* behind a forward pass, before any backward */
    MT_ASSERT(run(&m, false));
    SAYS(m, 2, "ckpt_save/- carried method.carry");
    SAYS(m, 4, "train_actor/- carried method.carry");
    done(&m);
}

#define GET_STATE                                                                                  \
    "/v/site-packages/torch/distributed/checkpoint/state_dict.py:_get_model_state_dict"

/* PyTorch gathers a model's state to be saved, unless a framework, an annotation or the job's own
 * name says what for. */
MT_TEST(a_gathered_state_is_saved_unless_something_says_otherwise)
{
    struct made m;
    start(&m);
    alloc(&m, UPDATE_ACTOR);
    alloc(&m, GET_STATE "|/home/u/x.py:keep|" MAIN);
    alloc(&m, "/home/u/x.py:write|" MAIN);
    alloc(&m, CALL "|" MAIN);
    alloc(&m, GET_STATE "|/home/u/x.py:sync_weights|" MAIN);
    alloc(&m, GET_STATE "|/v/verl/workers/fsdp_workers.py:rollout_mode"); /* 5 */
    alloc(&m, GET_STATE "|" INIT_MODEL);
    alloc(&m, "/v/site-packages/torch/distributed/checkpoint/state_dict.py:_load_model_state_dict|/"
              "home/u/x.py:resume");
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "ckpt_save/- inferred phase.torch.checkpoint.state_dict._get_model_state_dict");
    SAYS(m, 2, "ckpt_save/- carried method.carry");
    SAYS(m, 3, "train_actor/forward carried phase.torch.module._call_impl");
    SAYS(m, 4, "weight_sync/- low name.sync_weights");
    SAYS(m, 5, "weight_sync/- marked phase.verl.fsdp_workers.rollout_mode");
    SAYS(m, 6, "init/- marked phase.verl.fsdp_workers.init_model");
    SAYS(m, 7, "ckpt_load/- inferred phase.torch.checkpoint.state_dict._load_model_state_dict");
    done(&m);
}

MT_TEST(marks_of_one_event_are_not_carried)
{
    struct made m;
    start(&m);
    alloc(&m, UPDATE_ACTOR);
    alloc(&m, "/v/torch/nn/modules/module.py:_apply|" MAIN);
    alloc(&m, "/home/u/x.py:f");
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "init/- marked phase.torch.module._apply");
    SAYS(m, 2, "train_actor/- carried method.carry");
    done(&m);
}

MT_TEST(empty_stacks_after_the_root_gradient)
{
    struct made m;
    start(&m);
    alloc(&m, CALL "|" MAIN);
    alloc(&m, ""); /* 1: says nothing */
    alloc(&m, MAKE_GRADS "|" BACKWARD "|" MAIN);
    alloc(&m, "");
    event(&m, "free_completed", 4096, 512, 0, "");
    alloc(&m, ""); /* 5 */
    alloc(&m, CPP ":at::empty");
    alloc(&m, "");
    alloc(&m, STEP "|" MAIN);
    alloc(&m, ""); /* 9: the run is over */
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "unattributed/- none method.no_stack");
    SAYS(m, 3, "train/backward inferred method.empty_backward");
    SAYS(m, 4, "train/backward carried method.carry");
    SAYS(m, 5, "train/backward inferred method.empty_backward");
    SAYS(m, 6, "train/- carried method.carry");
    SAYS(m, 7, "train/backward inferred method.empty_backward");
    SAYS(m, 9, "train/- carried method.carry");
    done(&m);
}

MT_TEST(empty_stacks_between_the_same_training_phase)
{
    struct made m;
    start(&m);
    alloc(&m, UPDATE_ACTOR);
    alloc(&m, "");
    alloc(&m, "");
    alloc(&m, STEP "|" UPDATE_ACTOR);
    alloc(&m, "");
    alloc(&m, UPDATE_CRITIC);
    alloc(&m, "");
    MT_ASSERT(run(&m, false));
    SAYS(m, 1, "train_actor/backward inferred method.empty_window");
    SAYS(m, 2, "train_actor/backward inferred method.empty_window");
    SAYS(m, 4, "train_actor/- carried method.carry");
    SAYS(m, 6, "train_critic/- carried method.carry");
    done(&m);
}

MT_TEST(events_that_are_no_allocation_hold_the_phase)
{
    struct made m;
    start(&m);
    event(&m, "free_completed", 1, 512, 0, GENERATE);
    alloc(&m, UPDATE_ACTOR);
    event(&m, "free_requested", 4096, 512, 0, GENERATE);
    event(&m, "segment_alloc", 1 << 21, 1 << 21, 0, "");
    event(&m, "segment_map", 1 << 30, 1 << 21, 0, "");
    event(&m, "alloc", (1 << 21) + 512, 512, 0, LOG_PROB);
    event(&m, "oom", 0, 1 << 30, 0, CALL "|" LOG_PROB);
    event(&m, "snapshot", 0, 512, 0, "");
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "unattributed/- none 0");
    SAYS(m, 2, "train_actor/- carried method.carry");
    /* the allocation that it was made for */
    SAYS(m, 3, "logp_old/- marked phase.verl.fsdp_workers.compute_log_prob");
    SAYS(m, 4, "train_actor/- carried method.carry");
    SAYS(m, 6, "logp_old/forward marked phase.torch.module._call_impl");
    SAYS(m, 7, "logp_old/forward carried method.carry");
    done(&m);
}

/* ---- annotations ---- */

/* A segment that nothing used right away is not waited for: each later wait would sweep from it,
 * quadratic in a long trace. */
MT_TEST(segments_are_not_waited_for_for_ever)
{
    struct made m;
    start(&m);
    alloc(&m, GENERATE);
    event(&m, "segment_alloc", 1 << 30, 1 << 21, 0, "");
    for (int i = 0; i < 70; i++)
        alloc(&m, GENERATE);
    event(&m, "segment_alloc", 1 << 29, 1 << 21, 0, "");
    event(&m, "alloc", 1 << 30, 512, 0, UPDATE_ACTOR); /* lands in the old one */
    event(&m, "alloc", 1 << 29, 512, 0, UPDATE_ACTOR);
    MT_ASSERT(run(&m, false));
    MT_CHECK_EQ(m.at[1].phase, m.at[0].phase);
    MT_CHECK_EQ(m.at[72].phase, m.at[73].phase);
    MT_CHECK(m.at[73].phase != m.at[0].phase);
    done(&m);
}

MT_TEST(annotations_fill_what_frames_leave_open)
{
    struct made m;
    start(&m);
    range(&m, "update_actor", 100, 200);
    range(&m, "Optimizer.step#AdamW.step", 150, 160);
    range(&m, "compute_ref_log_prob", 300, 400);
    range(&m, "no rule knows this", 500, 600);
    alloc_at(&m, 110, CALL "|" MAIN); /* 0 */
    alloc_at(&m, 120, ENGINE);
    alloc_at(&m, 150, MAIN);          /* both ends belong to a range */
    alloc_at(&m, 155, CALL "|" MAIN); /* a closure */
    alloc_at(&m, 156, "/home/u/o.py:loss_scale|" MAIN);
    alloc_at(&m, 157, GENERATE); /* 5: frames are certain */
    alloc_at(&m, 160, MAIN);
    alloc_at(&m, 161, MAIN);
    alloc_at(&m, 310, LOG_PROB); /* 8: LoRA computes the reference with the actor's function */
    alloc_at(&m, 550, MAIN);
    alloc(&m, MAIN); /* 10: no clock */
    MT_ASSERT(run(&m, true));
    SAYS(m, 0, "train_actor/forward marked phase.torch.module._call_impl");
    SAYS(m, 1, "train_actor/backward marked method.autograd_engine");
    SAYS(m, 2, "train_actor/optimizer marked range.torch.optimizer.step");
    SAYS(m, 3, "train_actor/forward marked phase.torch.module._call_impl");
    SAYS(m, 4, "train_actor/optimizer marked range.torch.optimizer.step");
    SAYS(m, 5, "rollout.generate/optimizer marked range.torch.optimizer.step");
    SAYS(m, 6, "train_actor/optimizer marked range.torch.optimizer.step");
    SAYS(m, 7, "train_actor/- marked range.verl.update_actor");
    SAYS(m, 8, "logp_ref/- marked range.verl.compute_ref_log_prob");
    SAYS(m, 9, "logp_old/- carried method.carry");
    SAYS(m, 10, "logp_old/- carried method.carry");
    done(&m);
}

MT_TEST(annotations_can_be_switched_off)
{
    struct made m;
    start(&m);
    range(&m, "update_actor", 100, 200);
    alloc_at(&m, 110, MAIN);
    MT_ASSERT(run(&m, false));
    SAYS(m, 0, "unattributed/- none method.no_signature");
    done(&m);
}

MT_TEST(open_lone_nested_and_foreign_ranges)
{
    struct made m;
    start(&m);
    range(&m, "values", 0, 90);         /* no start: says nothing */
    range(&m, "update_critic", 100, 0); /* not left: lasts until the next of its name ... */
    alloc_at(&m, 50, MAIN);             /* 0 */
    alloc_at(&m, 110, MAIN);
    range(&m, "gen", 120, 190);
    alloc_at(&m, 130, MAIN); /* 2: the one that began last holds */
    alloc_at(&m, 195, MAIN);
    alloc_at(&m, 125, MAIN);            /* 4: back in time */
    range(&m, "update_critic", 200, 0); /* ... or to the end */
    alloc_at(&m, 199, MAIN);            /* 5 */
    alloc_at(&m, 900000, MAIN);
    mark_range(&m, "gen", "START", 910000, 1); /* another device */
    mark_range(&m, "gen", "END", 990000, 1);
    alloc_at(&m, 920000, MAIN);
    MT_ASSERT(run(&m, true));
    SAYS(m, 0, "unattributed/- none method.no_signature");
    SAYS(m, 1, "train_critic/- marked range.verl.update_critic");
    SAYS(m, 2, "rollout.generate/- marked range.verl.gen");
    SAYS(m, 3, "train_critic/- marked range.verl.update_critic");
    SAYS(m, 4, "rollout.generate/- marked range.verl.gen");
    SAYS(m, 5, "train_critic/- marked range.verl.update_critic");
    SAYS(m, 6, "train_critic/- marked range.verl.update_critic");
    SAYS(m, 7, "train_critic/- marked range.verl.update_critic");
    done(&m);
}

/* ---- public snapshots ---- */

static struct mt_trace *shared(const char *name)
{
    char path[1200];
    enum mt_rc rc;
    snprintf(path, sizeof path, "%s/torch/%s", mt_shared_data(), name);
    return mt_load(path, &rc);
}

struct tally {
    uint64_t allocs, marked, right, outside, n_empty, empty_backward, unknown;
    uint64_t by_sub[MT_PH_COUNT];
};

static bool attribute_shared(const char *name, bool use_annotations, struct tally *y)
{
    struct mt_trace *t = shared(name);
    struct mt_phase_opts o = {use_annotations};
    struct mt_phase_rules *r = NULL;
    struct mt_phaser *p = NULL;
    bool ok = t != NULL &&
              mt_phase_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, NULL) == MT_OK &&
              mt_phaser_new(&p, r, t, NULL) == MT_OK;
    memset(y, 0, sizeof *y);
    for (uint32_t k = 0; ok && k < t->devices.n; k++) {
        const struct mt_device *d = &t->devices.p[k];
        struct mt_attr *at = calloc(d->events.n + 1, sizeof *at);
        ok = at != NULL && mt_phaser_run(p, k, &o, at, NULL) == MT_OK;
        for (uint64_t i = 0; ok && i < d->events.n; i++) {
            const struct mt_event *e = mt_event_at(d, i);
            bool in = false,
                 is_optimizer = at[i].sub == MT_PH_OPTIMIZER || at[i].sub == MT_PH_OPTIM_STATE_INIT;
            if (at[i].phase >= MT_PH_COUNT || at[i].sub >= MT_PH_COUNT)
                ok = false;
            if (e->action != MT_ACT_ALLOC)
                continue;
            for (uint32_t g = 0; g < t->ranges.n && !in; g++) {
                const struct mt_range *x = &t->ranges.p[g];
                in = x->device == d->ordinal &&
                     strncmp(mt_str(t, x->name), "Optimizer.step#", 15) == 0 && x->t0_ns != 0 &&
                     x->t0_ns <= mt_event_ns(d, i) && mt_event_ns(d, i) <= x->t1_ns;
            }
            y->allocs++;
            y->marked += in;
            y->right += in && is_optimizer;
            y->outside += !in && is_optimizer;
            y->n_empty += e->stack == 0;
            y->empty_backward += e->stack == 0 && at[i].sub == MT_PH_BACKWARD;
            y->unknown += at[i].phase == MT_PH_UNATTRIBUTED && at[i].sub == MT_PH_NONE;
            y->by_sub[at[i].sub]++;
        }
        free(at);
    }
    mt_phaser_free(p);
    mt_phase_rules_free(r);
    mt_trace_free(t);
    return ok;
}

/* From frames alone, the same allocations as PyTorch's own ranges say. */
MT_TEST(optimizer_steps_of_public_snapshots)
{
    static const struct {
        const char *name;
        uint64_t inside;
    } files[] = {
        {"cs336_bcrafton_user_metadata.pickle", 1554},
        {"cs336_wedson_1024_training.pickle", 3066},
        {"cs336_wedson_512_training.pickle", 3066},
    };
    MT_REQUIRE_SHARED();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tally y;
        MT_ASSERT(attribute_shared(files[i].name, false, &y));
        MT_CHECK_EQ(y.marked, files[i].inside);
        MT_CHECK_EQ(y.right, y.marked);
        MT_CHECK_EQ(y.outside, 0);
        MT_ASSERT(attribute_shared(files[i].name, true, &y));
        MT_CHECK_EQ(y.right, y.marked);
        MT_CHECK_EQ(y.outside, 0);
    }
}

MT_TEST(shares_of_public_snapshots)
{
    struct tally y;
    MT_REQUIRE_SHARED();
    MT_ASSERT(attribute_shared("cs336_wedson_1024_training.pickle", false, &y));
    MT_CHECK_EQ(y.allocs, 7591);
    MT_CHECK_EQ(y.by_sub[MT_PH_FORWARD], 1677);
    MT_CHECK_EQ(y.by_sub[MT_PH_BACKWARD], 2848);
    MT_CHECK_EQ(y.unknown, 0);
    /* forward only: no false backward */
    MT_ASSERT(attribute_shared("cs336_silmont_bf16_torch2.6.pickle", false, &y));
    MT_CHECK_EQ(y.by_sub[MT_PH_FORWARD], y.allocs);
    MT_ASSERT(attribute_shared("decomfl_python_only_torch2.9.pickle", false,
                               &y)); /* a zeroth-order optimizer: no backward at all */
    MT_CHECK_EQ(y.by_sub[MT_PH_BACKWARD], 0);
    MT_CHECK_EQ(y.unknown, 5718);
}

/* Segments only: verl with Megatron and vLLM. Shares of the bytes in use. */
MT_TEST(blocks_of_a_public_verl_snapshot)
{
    struct mt_phase_rules *r = NULL;
    struct mt_phaser *p = NULL;
    struct mt_trace *t;
    uint64_t bytes[MT_PH_COUNT] = {0}, all = 0;
    MT_REQUIRE_SHARED();
    t = shared("verl_pr851_megatron_vllm_mempools_torch2.6.pickle");
    MT_ASSERT(t != NULL &&
              mt_phase_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, NULL) == MT_OK &&
              mt_phaser_new(&p, r, t, NULL) == MT_OK);
    for (uint32_t i = 0; i < t->blocks.n; i++) {
        const struct mt_block *b = &t->blocks.p[i];
        if (b->state == MT_BLOCK_INACTIVE)
            continue;
        bytes[mt_phaser_stack(p, b->stack).phase] += b->requested;
        all += b->requested;
    }
    MT_CHECK_EQ(all, 25483614352);
    MT_ASSERT(all > 0);
    MT_CHECK_EQ(bytes[MT_PH_ROLLOUT_KV_ALLOC], 21770305536); /* 85.4 %: 24 blocks, one per layer */
    MT_CHECK_EQ((bytes[MT_PH_ROLLOUT_LOAD] * 1000 + all / 2) / all, 20);
    /* parameter and gradient buffers 5.8 %, the rest 3.2 % */
    MT_CHECK_EQ((bytes[MT_PH_INIT] * 1000 + all / 2) / all, 90);
    /* the cuBLAS workspace of the first GEMM */
    MT_CHECK_EQ(bytes[MT_PH_ROLLOUT_PROFILE], 8519680);
    MT_CHECK_EQ((bytes[MT_PH_UNATTRIBUTED] * 1000 + all / 2) / all, 36); /* no frames */
    mt_phaser_free(p);
    mt_phase_rules_free(r);
    mt_trace_free(t);
}

#define NET(by) CALL "|/home/u/net.py:forward|" CALL "|/home/u/run.py:" by "|" MAIN

/* A pass of so many layers: each lets go of its block when the one after it has its own, or keeps
 * it. */
static void layers(struct made *m, const char *frames, unsigned n, bool lets_go)
{
    for (unsigned i = 0; i < n; i++) {
        alloc(m, frames);
        if (lets_go && i != 0)
            event(m, "free_completed", m->addr - 2 * 4096, 512, 0, "");
    }
}

static void train(struct made *m, unsigned n, bool lets_go)
{
    uint64_t first = m->addr;
    layers(m, NET("train"), n, lets_go);
    alloc(m, MAKE_GRADS "|" BACKWARD "|" MAIN);
    alloc(m, ENGINE);
    for (unsigned i = lets_go ? n - 1 : 0; i < n; i++)
        event(m, "free_completed", first + i * 4096, 512, 0, "");
}

/* After training, what another call of the same lines does with its blocks tells whether a backward
 * pass is to come: a `with torch.no_grad()` block is in no stack. */
MT_TEST(a_call_that_keeps_nothing_is_no_training)
{
    static const struct {
        const char *call;
        unsigned layers;
        bool checkpoints, lets_go, is_train;
    } of[] = {
        {NET("validate"), 6, false, true, false},
        {NET("validate"), 6, false, false, true}, /* its graph is there */
        {NET("train"), 6, false, true, true},     /* it is what trained before */
        {NET("validate"), 3, false, true, true},  /* too few to tell */
        {NET("validate"), 6, true, true, true},   /* they never kept any */
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct made m;
        uint32_t last;
        start(&m);
        train(&m, 8, of[i].checkpoints);
        train(&m, 8, of[i].checkpoints);
        layers(&m, of[i].call, of[i].layers, of[i].lets_go);
        alloc(&m, "/home/u/run.py:measure|" MAIN);
        MT_ASSERT(run(&m, false));
        last = (uint32_t)m.t->devices.p[0].events.n - 1;
        MT_CHECK_EQ(m.at[last].phase == MT_PH_TRAIN, of[i].is_train);
        MT_CHECK_EQ(mt_attr_no_grad(m.at[last]), !of[i].is_train);
        if (!of[i].is_train)
            SAYS(m, last, "infer/- carried method.let_go");
        done(&m);
    }
}

/* Memory runs out in the first pass of all: it trains where its function's name says so and it
 * keeps its layers' blocks; the name alone, or the blocks alone, are too little, and a second call
 * is no first one. */
MT_TEST(a_first_pass_that_memory_runs_out_in)
{
    static const struct {
        const char *call;
        unsigned calls, layers;
        bool lets_go, is_train;
    } of[] = {
        {NET("grpo_step"), 1, 8, false, true},  {NET("train"), 1, 8, false, true},
        {NET("grpo_step"), 1, 8, true, false},  {NET("grpo_step"), 1, 4, false, false},
        {NET("features"), 1, 8, false, false},  {NET("grpo_step"), 2, 8, false, false},
        {NET("train_step"), 1, 8, false, true},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct made m;
        uint32_t last;
        start(&m);
        for (unsigned k = 0; k < of[i].calls; k++) {
            alloc(&m, "/home/u/run.py:load|" MAIN);
            layers(&m, of[i].call, of[i].layers, of[i].lets_go);
        }
        event(&m, "oom", 4096, 512, 0, of[i].call);
        MT_ASSERT(run(&m, false));
        last = (uint32_t)m.t->devices.p[0].events.n - 1;
        MT_CHECK_EQ(m.at[last].phase, of[i].is_train ? MT_PH_TRAIN : MT_PH_UNATTRIBUTED);
        MT_CHECK_EQ(m.at[0].phase, MT_PH_UNATTRIBUTED);
        done(&m);
    }
}

#define OTHER_NET(by) CALL "|/home/u/frozen.py:forward|" CALL "|/home/u/run.py:" by "|" MAIN

/* So many calls from one line, each after something that the loop does. */
static void calls(struct made *m, const char *call, unsigned n, bool lets_go)
{
    for (unsigned i = 0; i < n; i++) {
        alloc(m, "/home/u/run.py:load|" MAIN);
        layers(m, call, 14, lets_go);
    }
}

/* Calls that keep nothing, one after the other, and no backward pass: no training, whether
 * something else trains or nothing does. A frozen part of a training step keeps nothing either. */
MT_TEST(calls_that_keep_nothing)
{
    enum { NOTHING_TRAINS, TWO_CALLS, KEEPS, RECOMPUTES, BEHIND, FROZEN_PART, ANOTHER_LINE, N };
    for (int what = 0; what < N; what++) {
        struct made m;
        uint32_t last;
        bool infers = what == NOTHING_TRAINS || what == BEHIND;
        start(&m);
        if (what == FROZEN_PART)
            calls(&m, OTHER_NET("features"), 3, true);
        if (what >= BEHIND)
            train(&m, 8, false);
        if (what == RECOMPUTES)
            alloc(&m, "/v/site-packages/torch/utils/checkpoint.py:checkpoint|" MAIN);
        calls(&m, OTHER_NET("features"), what == TWO_CALLS ? 2 : 3, what != KEEPS);
        if (what == ANOTHER_LINE)
            calls(&m, OTHER_NET("other"), 1, true);
        MT_ASSERT(run(&m, false));
        last = (uint32_t)m.t->devices.p[0].events.n - 2;
        MT_CHECK_EQ(m.at[last].phase == MT_PH_INFER, infers);
        MT_CHECK_EQ(mt_attr_no_grad(m.at[last]), infers);
        if (infers)
            SAYS(m, last, "infer/forward carried method.goes_on");
        done(&m);
    }
}

/* An evaluation now and then, by its calls from before: none of them kept anything, and few rounds
 * of the training have any. */
MT_TEST(a_call_that_comes_now_and_then)
{
    enum { NOW_AND_THEN, EACH_ROUND, KEPT, FIRST, N };
    for (int what = 0; what < N; what++) {
        struct made m;
        uint32_t last;
        start(&m);
        for (unsigned round = 0; round < 4; round++) {
            if (what == EACH_ROUND)
                calls(&m, OTHER_NET("features"), 1, true);
            train(&m, 8, false);
            if (round == 0 && what != EACH_ROUND && what != FIRST)
                calls(&m, OTHER_NET("features"), 2, what != KEPT);
        }
        calls(&m, OTHER_NET("features"), 1, true);
        MT_ASSERT(run(&m, false));
        last = (uint32_t)m.t->devices.p[0].events.n - 2;
        SAYS(m, last,
             what == NOW_AND_THEN ? "infer/forward carried method.goes_on"
                                  : "train/forward carried phase.torch.module._call_impl");
        done(&m);
    }
}

#define STEPS(at) STEP "|/home/u/loop.py:" at "|/home/u/run.py:main|" MAIN

/* When the function that made all steps has returned, the training is over; in it, and in a script
 * without functions, nothing tells. A pass may be the first one of another training. */
MT_TEST(behind_the_function_that_trains)
{
    static const struct {
        const char *step, *then;
        const char *says;
    } of[] = {
        {STEPS("fit"), "/home/u/x.py:merge|/home/u/run.py:main|" MAIN,
         "unattributed/- none method.outside"},
        {STEPS("fit"), "/home/u/x.py:merge|/home/u/loop.py:fit|/home/u/run.py:main|" MAIN,
         "train/- carried method.carry"},
        {STEP "|" MAIN, "/home/u/x.py:merge|" MAIN, "train/- carried method.carry"},
        {STEPS("fit"), "/home/u/x.py:worker|/usr/lib/python3.12/threading.py:_bootstrap",
         "train/- carried method.carry"},
        {STEPS("step|/home/u/loop.py:fit"),
         "/home/u/x.py:read|/home/u/loop.py:fit|/home/u/run.py:main|" MAIN,
         "train/- carried method.carry"},
        {STEPS("fit"), CALL "|/home/u/run.py:main|" MAIN,
         "train/forward carried phase.torch.module._call_impl"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct made m;
        start(&m);
        for (unsigned k = 0; k < 3; k++) {
            if (strncmp(of[i].step, STEPS("step"), strlen(STEP "|/home/u/loop.py:step")) == 0)
                alloc(&m, "/home/u/x.py:read|/home/u/loop.py:fit|/home/u/run.py:main|" MAIN);
            alloc(&m, of[i].step);
            alloc(&m, ENGINE);
        }
        alloc(&m, of[i].then);
        MT_ASSERT(run(&m, false));
        SAYS(m, (uint32_t)m.t->devices.p[0].events.n - 1, of[i].says);
        done(&m);
    }
}

/* One pass alone may have the next one prepared behind it, but for that no other model is made. */
MT_TEST(behind_one_pass_and_another_model)
{
    for (int makes = 0; makes < 2; makes++) {
        struct made m;
        start(&m);
        alloc(&m, STEPS("fit"));
        alloc(&m, ENGINE);
        alloc(&m, STEPS("fit"));
        if (makes)
            alloc(&m, "/usr/lib/python3.12/site-packages/torch/nn/modules/linear.py:__init__|"
                      "/home/u/x.py:build|/home/u/run.py:main|" MAIN);
        alloc(&m, "/home/u/x.py:merge|/home/u/run.py:main|" MAIN);
        MT_ASSERT(run(&m, false));
        SAYS(m, (uint32_t)m.t->devices.p[0].events.n - 1,
             makes ? "unattributed/- none method.outside" : "train/- carried method.carry");
        done(&m);
    }
}

#define SETS_UP(by) "/home/u/x.py:table|/home/u/x.py:build|/home/u/loop.py:fit|" by "|" MAIN

/* What was made before the first training and is made again behind the steps of one is set-up of
 * the next, also where another line of the script calls it. What comes with every few steps is not,
 * nor what was not there before, nor the next of it where there was but one training. */
MT_TEST(what_comes_between_two_trainings)
{
    static const struct {
        unsigned steps;
        bool optimizer, before, each;
        const char *then, *says;
    } of[] = {
        {3, true, true, false, SETS_UP("/home/u/run.py:main"),
         "unattributed/- none method.outside"},
        {3, true, true, false, SETS_UP("/home/u/b.py:main"), "unattributed/- none method.outside"},
        {2, true, true, false, SETS_UP("/home/u/run.py:main"), "train/- carried method.carry"},
        {8, true, true, true, SETS_UP("/home/u/run.py:main"), "train/- carried method.carry"},
        {8, true, false, false, SETS_UP("/home/u/run.py:main"), "train/- carried method.carry"},
        {8, false, true, false, SETS_UP("/home/u/run.py:main"),
         "unattributed/- none method.outside"},
        {7, false, true, false, SETS_UP("/home/u/run.py:main"), "train/- carried method.carry"},
        {8, true, true, false, "/home/u/x.py:other|/home/u/loop.py:fit|/home/u/run.py:main|" MAIN,
         "train/- carried method.carry"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct made m;
        start(&m);
        if (of[i].before)
            alloc(&m, SETS_UP("/home/u/run.py:main"));
        for (unsigned k = 0; k < of[i].steps; k++) {
            alloc(&m, CALL "|/home/u/loop.py:fit|/home/u/run.py:main|" MAIN);
            alloc(&m, ENGINE);
            if (of[i].optimizer)
                alloc(&m, STEPS("fit"));
            if (of[i].each)
                alloc(&m, SETS_UP("/home/u/run.py:main"));
        }
        alloc(&m, of[i].then);
        event(&m, "free_completed", m.addr - 4096, 512, 0, "");
        MT_ASSERT(run(&m, false));
        SAYS(m, (uint32_t)m.t->devices.p[0].events.n - 2, of[i].says);
        if (strstr(of[i].then, "/b.py") == NULL) /* there outside.c knew it first */
            MT_CHECK_EQ(m.at[m.t->devices.p[0].events.n - 1].phase == MT_PH_TRAIN,
                        strncmp(of[i].says, "train", 5) == 0); /* the free goes with it */
        done(&m);
    }
}

MT_MAIN(
    MT_RUN(what_comes_between_two_trainings) MT_RUN(behind_one_pass_and_another_model) MT_RUN(
        training_is_implied_and_carried) MT_RUN(a_first_pass_that_memory_runs_out_in)
        MT_RUN(calls_that_keep_nothing) MT_RUN(a_call_that_comes_now_and_then) MT_RUN(
            behind_the_function_that_trains) MT_RUN(a_call_that_keeps_nothing_is_no_training)
            MT_RUN(forward_only_stays_unattributed) MT_RUN(a_pass_without_gradients_is_no_training)
                MT_RUN(the_wrapper_alone_proves_nothing) MT_RUN(behind_passes_without_gradients)
                    MT_RUN(names_of_evaluation) MT_RUN(a_name_goes_before_what_is_over) MT_RUN(
                        annotations_win_over_names) MT_RUN(loss_trains_when_there_is_a_backward)
                        MT_RUN(loss_trains_when_the_backward_has_no_frames) MT_RUN(
                            backward_never_belongs_to_rollout_or_logp)
                            MT_RUN(set_up_is_not_carried_into_training) MT_RUN(
                                set_up_ends_where_the_model_runs) MT_RUN(an_interruption_ends)
                                MT_RUN(an_interruption_ends_where_the_model_runs_again) MT_RUN(
                                    a_gathered_state_is_saved_unless_something_says_otherwise)
                                    MT_RUN(marks_of_one_event_are_not_carried) MT_RUN(
                                        empty_stacks_after_the_root_gradient)
                                        MT_RUN(empty_stacks_between_the_same_training_phase) MT_RUN(
                                            events_that_are_no_allocation_hold_the_phase)
                                            MT_RUN(segments_are_not_waited_for_for_ever) MT_RUN(
                                                annotations_fill_what_frames_leave_open)
                                                MT_RUN(annotations_can_be_switched_off) MT_RUN(
                                                    open_lone_nested_and_foreign_ranges)
                                                    MT_RUN(optimizer_steps_of_public_snapshots)
                                                        MT_RUN(shares_of_public_snapshots) MT_RUN(
                                                            blocks_of_a_public_verl_snapshot))
