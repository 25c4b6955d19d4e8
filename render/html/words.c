/* What the words of the page mean: a reader who meets "reserved" for the first time must not have
 * to look elsewhere. */
#include "render/html/words.h"

static bool is_told(const struct mt_device_analysis *d) { return d->focus.live != 0; }

static bool is_reserved(const struct mt_device_analysis *d)
{
    return is_told(d) && !mt_reserved_unknown(d) && d->kind == MT_DEV_CUDA;
}

static bool has_history(const struct mt_device_analysis *d)
{
    return !d->end_state_only && d->phases.n != 0;
}

static bool unshards(const struct mt_device_analysis *d)
{
    for (uint32_t i = 0; i < d->phases.n; i++)
        if (d->phases.p[i].sub == MT_PH_FSDP_UNSHARD || d->phases.p[i].phase == MT_PH_FSDP_UNSHARD)
            return true;
    return false;
}

static const struct meaning {
    const char *word, *means;
    bool (*used)(const struct mt_device_analysis *d);
} meanings[] = {
    {"live", "allocated and not yet freed", is_told},
    {"reserved",
     "what PyTorch got from the driver. It keeps it when tensors are freed, to use it "
     "again",
     is_reserved},
    {"segment", "one piece of what is reserved", is_reserved},
    {"hole", "a free piece inside a segment. A request fits only into one hole, not into several",
     is_reserved},
    {"pool", "segments that serve one kind of request only, for example a CUDA graph", is_reserved},
    {"stream", "a queue of work on the GPU. A hole of one stream does not serve another one",
     is_reserved},
    {"outside PyTorch", "all else on the card: the CUDA context, NCCL, other processes",
     is_reserved},
    {"PyTorch's books",
     "what PyTorch counts. An engine that sleeps may have given it "
     "back to the card",
     is_reserved},
    {"of no use then", "live, and nothing in that phase reads it", is_reserved},
    {"phase", "the part of the job that ran", has_history},
    {"marked, inferred, carried",
     "how a phase is known: a function or a mark names it; it follows from another fact; it is the "
     "one before",
     has_history},
    {"unshard", "FSDP gathers the whole weights of a layer from all GPUs", unshards},
};

void mt_h_words_meant(const struct mt_page *p, struct mt_out *o)
{
    bool open = false;
    for (size_t i = 0; p->dev != NULL && i < sizeof meanings / sizeof *meanings; i++) {
        if (!meanings[i].used(p->dev))
            continue;
        if (!open)
            mt_puts(o, "<details class=\"help meant\"><summary>What the words mean</summary>\n"
                       "<dl>\n");
        open = true;
        mt_h_def(o, meanings[i].word, meanings[i].means, NULL);
    }
    if (open)
        mt_puts(o, "</dl>\n</details>\n");
}
