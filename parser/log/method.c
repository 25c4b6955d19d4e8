/* log/method.c -- failures whose line itself names the method that failed, with or without a
 * traceback above it. */
#include "parser/log/match.h"

#include <string.h>

void mt_log_stack_method(struct mt_log *l, uint64_t number, struct mt_log_fact *f, const char *s)
{
    static const struct {
        const char *words, *file, *function;
        /* what the traceback does not show: the error is one that was caught there and is raised
         * again */
        bool further_in;
    } said[] = {
        {"Failed to load model - not enough GPU memory", "vllm/v1/worker/gpu_worker.py",
         "load_model", false},
        {"Failed to update parameter online", "sglang/srt/model_executor/model_runner.py",
         "update_weights_from_distributed", false},
        {"Capture cuda graph failed", "sglang/srt/model_executor/cuda_graph_runner.py", "capture",
         true},
        {"Failed to clone() tensor with name", "torch/distributed/fsdp/_state_dict_utils.py",
         "_full_post_state_dict_hook", false},
    };
    struct mt_log_stack one = {.writer = {f->pid, f->rank},
                               .of = {-1, -1},
                               .line = number,
                               .first = number,
                               .headed = true};
    const char *file = "vllm/worker/worker.py"; /* whose methods these are */
    struct mt_log_got g = {.text = NULL};
    struct mt_log_stack *to;
    struct mt_log_frame *at;
    bool further_in = false;
    for (size_t i = 0; i < sizeof said / sizeof *said && g.text == NULL; i++) {
        if (strstr(s, said[i].words) == NULL)
            continue;
        file = said[i].file;
        further_in = said[i].further_in;
        g.text = said[i].function;
        g.n_text = strlen(g.text);
        one.is_deeper = true; /* no frame of the text */
    }
    if ((f->stack != 0 && !further_in) ||
        (g.text == NULL && mt_log_find(s, "while processing method %t:", &g) == NULL))
        return;
    to = f->stack != 0 ? &l->stacks.p[f->stack - 1] : &one;
    at = MT_VEC_PUSH(&to->frames);
    l->no_memory |= at == NULL;
    if (at == NULL)
        return;
    memset(at, 0, sizeof *at);
    memcpy(at->file, file, strlen(file));
    mt_printable(at->function, sizeof at->function, g.text, g.n_text);
    if (to == &one)
        mt_log_stack_keep(l, &one, f);
    MT_VEC_DONE(&one.frames); /* empty where it was kept */
}
