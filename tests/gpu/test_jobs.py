#!/usr/bin/env python3
"""Jobs that ran on an H100 as people write them (samples/real/jobs/, by jobs.py) or on the simulated device (samples/torch/jobs/), each with changes that ran
as well: what the report says against PyTorch's own words, what the job held by its own objects, and every promise against what the changed job came to. Environment: MEMTRACE."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
JOBS = [pathlib.Path(__file__).resolve().parents[2] / "samples" / folder / "jobs" for folder in ("real", "torch")]
GIB = 1 << 30
ROLE_OF = {"model.parameters": "param", "optimizer.state": "optim_state"}


class Job:
    def __init__(self, path):
        self.name = path.name[: -len(".pickle.gz")]
        self.truth = json.loads(path.with_name(f"{self.name}.truth.json").read_text(encoding="utf-8"))
        argv = [os.environ["MEMTRACE"], "report", "--format=json", "-o", "-", str(path)]
        with tempfile.TemporaryDirectory() as folder:
            if "config" in self.truth:
                config = pathlib.Path(folder) / ("config" + self.truth["config"]["ends"])
                config.write_text(self.truth["config"]["text"], encoding="utf-8")
                argv += ["--config", str(config)]
            self.report = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
        self.device = self.report["devices"][0]
        self.roles = {r["role"]: r["bytes"] for r in self.device["roles"]}
        self.advice = {a["id"]: a for a in self.report["advice"]}
        self.first = [a["id"] for a in self.report["advice"] if a["top"]]


class OnACard(unittest.TestCase):
    jobs = {j.name: j for j in map(Job, [p for folder in JOBS for p in sorted(folder.glob("*.pickle.gz"))])}

    def test_the_failure_is_pytorchs(self):
        """Of several that failed, the one that ended the job: asked for, and free on the device, as PyTorch's error says."""
        for job in self.jobs.values():
            with self.subTest(job.name):
                said = job.truth["base"]["error"]
                self.assertEqual(job.report["verdict"]["out_of_memory"], said is not None)
                if said is None:
                    continue
                size = re.search(r"Tried to allocate ([0-9.]+) (GiB|MiB)\. .*of which ([0-9.]+) (GiB|MiB) is free", said).groups()
                unit = {"GiB": GIB, "MiB": 1 << 20}
                self.assertAlmostEqual(job.report["verdict"]["request_bytes"] / unit[size[1]], float(size[0]), delta=0.006)
                self.assertAlmostEqual(job.device["ooms"][0]["device_free_bytes"] / unit[size[3]], float(size[2]), delta=0.006)
        self.assertEqual(self.jobs["street_segmentation"].device["oom_count"], 1)  # and twelve workspaces that cuDNN did without

    def test_what_the_job_holds(self):
        """Parameters and optimizer state, to a hundredth: what the job's own objects say."""
        for job in self.jobs.values():
            for its, role in ROLE_OF.items():
                held = job.truth["base"]["held"].get(its, 0)
                with self.subTest(job=job.name, role=role):
                    if held > GIB // 4 and job.name not in ("sft_eval", "full_finetune", "fsdp2_one_unit", "fsdp2_no_reshard", "grpo_step", "convnext_ema"):
                        self.assertAlmostEqual(job.roles[role] / held, 1, delta=0.03)

    def test_a_promise_holds(self):
        """What is called enough alone did not run out again; where nothing failed the peak fell by no less than the least of it."""
        kept = 0
        for job in self.jobs.values():
            for change in job.truth["changes"]:
                for rule in change["rules"]:
                    a = job.advice.get(rule)
                    if a is None or a["saving_bytes"] is None:
                        continue
                    with self.subTest(job=job.name, change=change["variant"], rule=rule):
                        if a["lacking_bytes"] == 0 and not a["left_open"]:
                            self.assertEqual(change["ended"], "ok")
                        if job.truth["base"]["ended"] == "ok":
                            fell = job.truth["base"]["requested_peak"] - change["requested_peak"]
                            self.assertGreaterEqual(fell, a["saving_low_bytes"] - GIB // 2)
                        kept += 1
        self.assertGreater(kept, 10)

    def test_first_changes(self):
        """Among the first three is one that mended the job when it ran."""
        for name, rules in {"sft": ("P01", "P02"), "whisper_encoder": ("P01", "P15"), "sft_eval": ("P81",), "lora_fp32": ("P01", "P02"), "convnext_ema": ("P01",),
                            "fsdp2_one_unit": ("P60",), "grpo_step": ("P10",), "sample_answers": ("P09",), "static_cache": ("P09",), "side_stream": ("P150",),
                            "fsdp2_no_reshard": ("P151",), "jacobian": ("P153",)}.items():
            with self.subTest(name):
                self.assertTrue(set(rules) & set(self.jobs[name].first), self.jobs[name].first)

    def test_more_layers_were_to_come(self):
        """A prefill that fails in the tenth of 24 layers: capacity, and the cache of the other fourteen counts."""
        job = self.jobs["sample_answers"]
        self.assertEqual(job.report["verdict"]["kind"], "oom_capacity")
        self.assertIn("The same pass had 56.00 GiB more to ask for", job.report["verdict"]["because"])

    def test_scores_are_no_generation(self):
        job = self.jobs["grpo_step"]
        self.assertEqual(job.report["verdict"]["phase"], "logp")
        self.assertGreater(job.roles["logits"], 51 * GIB)  # in 16 bits and their copy in 32
        self.assertEqual([a for a in job.advice if "vllm" in json.dumps(job.advice[a]["set"])], [])  # this script has none

    def test_what_grew_is_not_the_batch(self):
        """One image with ten thousand boxes: half the images ran out again, so no bytes are promised for it."""
        job = self.jobs["cell_detector"]
        self.assertEqual([c["ended"] for c in job.truth["changes"] if c["rules"] == ["P02"]], ["oom"])
        self.assertNotEqual((job.advice.get("P02") or {"lacking_bytes": None})["lacking_bytes"], 0)

    def test_a_cache_for_its_whole_length(self):
        job = self.jobs["static_cache"]
        self.assertIn("P152", job.first)
        longest, grows = (next(c for c in job.truth["changes"] if c["variant"].startswith(w)) for w in ("a cache as long", "a cache that grows"))
        self.assertLess(max(longest["requested_peak"], grows["requested_peak"]), job.roles["kv_cache"] / 5)

    def test_layers_that_stay_gathered(self):
        """The peak fell by no less than the least of the promise, though it lies at another moment then."""
        job = self.jobs["fsdp2_no_reshard"]
        fell = job.truth["base"]["requested_peak"] - job.truth["changes"][0]["requested_peak"]
        self.assertNotIn("P60", job.first)
        self.assertGreaterEqual(fell, job.advice["P151"]["saving_low_bytes"] - 3 * GIB)

    def test_frees_that_wait(self):
        job = self.jobs["side_stream"]
        self.assertEqual(job.report["cause"]["id"], "pending_frees")
        fell = job.truth["base"]["requested_peak"] - job.truth["changes"][0]["requested_peak"]
        self.assertAlmostEqual(job.advice["P150"]["saving_bytes"] / fell, 1, delta=0.01)


if __name__ == "__main__":
    unittest.main()
