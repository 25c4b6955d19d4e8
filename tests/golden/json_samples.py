"""The JSON reports of every sample, and of the options that add members of their own: what the tests of the contract look at."""
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["MT_SOURCE_DIR"])
SAMPLES = SOURCE / "samples"
INPUTS = (".pickle", ".gz", ".json", ".html", ".log", ".sqlite", ".bin")
BESIDE = (".truth.json", ".job.json", ".megatron.json", ".tune.json", ".trl.json", ".eval.json", ".vllm.json", ".nano.json", ".after.json", ".plain.json")  # of the tests' own
NO_REPORT = {"no_memory.sqlite", "baseline.json"}  # is refused, and says why; a report itself


def inputs():
    """Every file of samples/ that memtrace reads."""
    every = sorted(p for p in SAMPLES.rglob("*") if p.is_file() and p.name.endswith(INPUTS) and not p.name.endswith(BESIDE) and p.name != "truth.json")
    return [p for p in every if p.name not in NO_REPORT]


def output_of(sample, *arguments, cwd=None):
    done = subprocess.run([os.environ["MEMTRACE"], *arguments, str(sample)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, cwd=cwd)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"{' '.join(arguments)} {sample}: exit status {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:400]}")
    return done.stdout.decode("utf-8")


def report_of(sample, *arguments, cwd=None):
    return output_of(sample, "report", "--format", "json", "-o", "-", *arguments, cwd=cwd)


def reports():
    """(name, JSON text) of each sample, and of reports that have what no sample alone has."""
    for sample in inputs():
        yield sample.relative_to(SAMPLES).as_posix(), report_of(sample)
    verl = SAMPLES / "verl_grpo_oom_logprob.pickle"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        log = folder / "run.log"  # what a report has of logs and settings
        log.write_text("[rank3]: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.\n",
                       encoding="utf-8")
        yield "with a log and settings", report_of(SAMPLES / "tiny.pickle", "--log", str(log), "--args",
                                                   "actor_rollout_ref.actor.megatron.grad_offload=True actor_rollout_ref.actor.use_dynamic_bsz=True")
        for process in (1, 2):  # one rank, two processes: two jobs
            (folder / f"x_rank0_pid{process}.pickle").write_bytes(verl.read_bytes())
        yield "two jobs in a folder", report_of(folder)
        (folder / "snapshot_rank1.pickle").write_bytes(b"\x7fELF" + bytes(60))
        yield "with a file that cannot be read", report_of(folder)
    with tempfile.TemporaryDirectory() as name:  # a recording that keeps the newest
        kept = pathlib.Path(name) / "kept.trace.gz"
        made = subprocess.run([sys.executable, "-B", "-c", "import sys, make_trace; sys.stdout.buffer.write(make_trace.make_kept())"], cwd=SAMPLES,
                              check=True, stdout=subprocess.PIPE)
        kept.write_bytes(made.stdout)
        yield "the newest of a long job", report_of(kept)
    with tempfile.TemporaryDirectory() as name:  # what a job and PyTorch say of memory
        subprocess.run([sys.executable, "-B", str(SOURCE / "tests/cli/named.py")], cwd=name, check=True)
        yield "names", report_of(pathlib.Path(name) / "p4.pickle")
        subprocess.run([sys.executable, "-B", str(SAMPLES / "gate/job.py"), "grows.pickle", "--keep-outputs"], cwd=name, check=True)
        yield "what grows", report_of(pathlib.Path(name) / "grows.pickle")
    with tempfile.TemporaryDirectory() as name:  # many ranks, merged; one of them is missing
        folder = pathlib.Path(name)
        output_of(verl, "summarize", "-q", "-o", str(folder / "one.mts"))
        subprocess.run([sys.executable, "-B", str(SOURCE / "tests/bench/summaries.py"), "64", str(folder / "one.mts"), str(folder / "sums")],
                       stdout=subprocess.DEVNULL, check=True)
        (folder / "sums/rank1.mts").unlink()
        yield "merged summaries", report_of(folder / "sums")
    with tempfile.TemporaryDirectory() as name:  # all ranks of a job whose layout is known
        folder = pathlib.Path(name)
        for rank, sample in enumerate(("oom_capacity", "oom_capacity", "fsdp1", "fsdp1")):
            (folder / f"rank_{rank}.pickle.gz").write_bytes((SAMPLES / f"torch/{sample}.pickle.gz").read_bytes())
        yield "stages", report_of(folder, "--args", "pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2")
    with tempfile.TemporaryDirectory() as name:
        (pathlib.Path(name) / "memtrace.toml").write_text('capacity = "80GiB"\n', encoding="utf-8")
        yield "memtrace.toml", report_of(verl, cwd=name)
    yield "--try", report_of(verl, "--try", "actor_rollout_ref.model.use_fused_kernels=True", "--try", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
                             "--args", "actor_rollout_ref.actor.use_dynamic_bsz=True", "--capacity", "80GiB", "--verify")
