/* The phase in the words of the verdict. Where none could be told, or it is only the one that held
 * before and no pass over a model is at work, the functions are named: that a job was in
 * integrate(), called by fuse(), says more than that nothing is known, and push(), between two
 * steps, more than that the job trains. The outermost function is the script's entry and tells
 * nothing beside what it calls. */
#include "analysis/base/frames.h"
#include "analysis/base/words.h"
#include "analysis/cause/impl.h"

#include <string.h>

/* DEPTH: of functions that are looked at; SHOWN: in a sentence, the outermost ones, for the place
 * itself is told beside them. */
enum { DEPTH = 64, SHOWN = 3 };

/* The functions of a stack that are not PyTorch's, the innermost first. */
static uint32_t functions_of(const struct mt_trace *t, mt_stack_id s, mt_frame_id of[DEPTH])
{
    uint32_t n = 0;
    for (; s != 0; s = t->stacks.p[s].parent) {
        mt_frame_id f = t->stacks.p[s].frame;
        unsigned kind = mt_file_kind(NULL, t, t->frames.p[f].file);
        if ((kind & MT_FILE_PYTHON) == 0 || (kind & MT_FILE_INTERNAL) != 0 ||
            mt_str(t, t->frames.p[f].name)[0] == '<')
            continue;
        if (n != 0 && mt_frames_are_one_function(t, of[n - 1], f))
            continue;
        if (n == DEPTH) /* deeper than any: the outermost count */
            memmove(of, of + 1, --n * sizeof *of);
        of[n++] = f;
    }
    return n;
}

void mt_verdict_phase(struct mt_sentence *s, const struct mt_trace *t, const struct mt_verdict *v,
                      mt_stack_id stack)
{
    mt_frame_id of[DEPTH];
    uint32_t n;
    char name[MT_LABEL];
    mt_words_add(s, " in %s", MT_PHASE_WORDS(v->phase, v->sub));
    if (v->sub != MT_PH_NONE || v->conf > MT_CONF_CARRIED || (n = functions_of(t, stack, of)) == 0)
        return;
    if (n == 1 && v->phase != MT_PH_UNATTRIBUTED)
        return;
    n -= n > 1;
    for (uint32_t i = 0; i < n && i < SHOWN; i++)
        mt_words_add(s, "%s%s", i == 0 ? " (" : ", ",
                     mt_words_label(name, mt_str(t, t->frames.p[of[n - 1 - i]].name)));
    mt_words_add(s, ")");
}
