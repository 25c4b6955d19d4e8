"""What the jobs have in common that write what they held beside what was recorded: OUT.truth.json beside OUT.pickle."""
import traceback

import torch


class Ends:
    """What PyTorch holds when a part of the job ends, and the most it held in it."""
    ends = []

    def end(self, name):
        s = torch.cuda.memory_stats()
        self.ends.append({"name": name, "events": len(torch.cuda.memory._snapshot()["device_traces"][0]),
                          "requested": s["requested_bytes.all.current"], "requested_peak": s["requested_bytes.all.peak"],
                          "reserved": s["reserved_bytes.all.current"]})
        torch.cuda.reset_peak_memory_stats()


def record(job, truth, stacks="all", oom=False):
    """Runs the job with its history recorded. truth.take() writes the snapshot: at the end, with `oom` where a request fails."""
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks=stacks)
    if oom:
        torch._C._cuda_attach_out_of_memory_observer(truth.take)
    try:
        job()
    except torch.cuda.OutOfMemoryError as e:
        traceback.print_exc()
        truth.write(str(e))
        return 1
    truth.take()
    truth.write()
    return 0
