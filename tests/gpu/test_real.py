#!/usr/bin/env python3
"""Recordings of a real GPU (samples/real/) against what their workloads said of themselves: device used, PyTorch's bytes, the failed call, sleep
and wake, how each process ended. Environment: MEMTRACE."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
REAL = pathlib.Path(__file__).resolve().parents[2] / "samples" / "real"
MIB, GIB = 1 << 20, 1 << 30
USABLE = 85017493504  # of this card, by cuMemGetInfo: what PyTorch's errors call its total; NVML's has 480 MiB more, which nobody gets


def output(*args):
    return subprocess.run([os.environ["MEMTRACE"], *args], stdout=subprocess.PIPE, check=True).stdout.decode()


class Real(unittest.TestCase):
    truth = json.loads((REAL / "truth.json").read_text(encoding="utf-8"))

    def job(self, name):
        return json.loads(output("report", "--format=json", "-o", "-", str(REAL / f"{name}.trace.gz")))["job"]

    def ledger(self, name, unexplained):
        """The ledger of the one card, in which all but `unexplained` MiB have an owner at every sample."""
        ledger, = self.job(name)["ledgers"]
        self.assertEqual(ledger["capacity_bytes"], USABLE)
        self.assertGreaterEqual(len(ledger["checks"]), 2)
        for c in ledger["checks"]:
            self.assertEqual(c["used_bytes"], c["recorded_bytes"] + c["other_bytes"] + c["unexplained_bytes"])
            self.assertLessEqual(abs(c["unexplained_bytes"]), unexplained * MIB)
        return ledger, {r["holder"]: r["bytes"] for r in ledger["focus"]["rows"]}

    def test_what_pytorch_holds(self):
        for name in ("h100_plain", "h100_expandable"):
            with self.subTest(name):
                ledger, held = self.ledger(name, 4)
                said = self.truth[name]
                self.assertEqual(held["torch"], said["reserved"])
                # the context, by the change of the device's memory over its call; cuMemGetInfo counts 3 MiB less than NVML
                self.assertAlmostEqual(held["context"], said["before"], delta=4 * MIB)
                self.assertAlmostEqual(ledger["used_peak_bytes"], said["used"], delta=4 * MIB)

    def test_a_pool_of_the_driver(self):
        ledger, held = self.ledger("h100_async", 938)  # what the pool keeps after the frees: no call tells
        self.assertEqual(held["torch"], 792 * MIB)
        self.assertLessEqual(abs(ledger["checks"][0]["unexplained_bytes"]), 4 * MIB)

    def test_sleep_and_wake(self):
        _, held = self.ledger("h100_vmm", 4)
        said = self.truth["h100_vmm"]
        self.assertEqual(held["library"], said["mapped"])
        self.assertEqual([(s["is"], s["bytes"], s["calls"]) for s in self.job("h100_vmm")["sleeps"]],
                         [("sleep", said["mapped"], 8), ("wake", said["mapped"], 8)])
        self.assertEqual(said["used"] - said["asleep"], said["mapped"])

    def test_the_failed_call(self):
        failure, = self.job("h100_oom")["failures"]
        said = self.truth["h100_oom"]
        self.assertEqual(failure["request_bytes"], said["asked"])
        self.assertEqual(failure["device_free_bytes"], USABLE - said["used"])

    def test_a_real_failure_is_told_as_pytorch_tells_it(self):
        said = re.search(r"allocate ([0-9.]+) GiB. GPU (\d) has a total capacity of ([0-9.]+) GiB of which ([0-9.]+) GiB is free.*process has ([0-9.]+) GiB"
                         r".* ([0-9.]+) GiB is allocated by PyTorch, and ([0-9.]+) MiB", self.truth["h100_loop_oom"]["pytorch"])
        asked, _, total, free, process, allocated, unused = map(float, said.groups())
        report = json.loads(output("report", "--format=json", "-o", "-", str(REAL / "h100_loop_oom.trace.gz")))
        verdict, device = report["verdict"], report["devices"][0]
        self.assertEqual((verdict["kind"], verdict["phase"]), ("oom_capacity", "logp_old"))
        # the snapshots at the failure and at the end are of one process, and one row
        self.assertEqual((len(report["devices"]), "ranks" in report), (1, False))
        self.assertTrue(any("snapshots of one process (pid 598)" in c for c in report["quality"]["caveats"]))
        self.assertEqual(len(report["provenance"]["inputs"]), 3)
        page = output("report", "--format=html", "-o", "-", str(REAL / "h100_loop_oom.trace.gz"))
        table = page[page.index('<section id="provenance"'):].partition("</table>")[0]
        self.assertEqual(table.count('<th scope="row"'), 3)  # the one that has no row of its own, too
        self.assertAlmostEqual(verdict["request_bytes"] / GIB, asked, delta=0.005)
        oom = device["ooms"][0]
        self.assertAlmostEqual(oom["device_free_bytes"] / GIB, free, delta=0.005)
        # what PyTorch calls allocated is rounded up to its blocks
        self.assertAlmostEqual(oom["reserved_bytes"] / GIB, allocated + unused / 1024, delta=0.01)
        for failure in report["job"]["failures"]:
            self.assertEqual(failure["holder"], "torch")
            self.assertEqual(failure["request_bytes"], -(-verdict["request_bytes"] // (2 * MIB)) * 2 * MIB)  # PyTorch asks for whole pieces
        # after the first one PyTorch gave its cache back and asked again
        self.assertAlmostEqual(report["job"]["failures"][-1]["device_free_bytes"] / GIB, free, delta=0.005)
        self.assertAlmostEqual(report["job"]["ledgers"][0]["capacity_bytes"] / GIB, total, delta=0.005)
        self.assertLess(process - (allocated + unused / 1024), 0.8)  # the context

    def test_the_ledger_is_of_the_row_that_is_left(self):
        """Two snapshots of one process are one row: what the ledger says of the earlier one is said of that row."""
        report = json.loads(output("report", "--format=json", "-o", "-", str(REAL / "h100_loop_oom.trace.gz")))
        self.assertEqual([r["snapshot"] for r in report["job"]["reconciled"]], [0, 0])
        self.assertEqual(len({(d["rank"], d["device"]) for d in report["devices"]}), 1)

    def test_a_loop_of_reinforcement_learning(self):
        job = self.job("h100_loop_plain")
        self.assertEqual(sorted({r["phase"] for r in job["phase_ranges"]}),
                         ["init", "logp_old", "logp_ref", "rollout.generate", "train_actor", "weight_sync"])
        row, = job["reconciled"]
        self.assertEqual((row["adds_up"], row["torch_reserved_bytes"], row["matched_bytes"], row["unmapped_bytes"], row["unseen_bytes"]),
                         (True, self.truth["h100_loop_plain"]["reserved_at_end"], self.truth["h100_loop_plain"]["reserved_at_end"], 0, 0))

    def test_an_optimizer_of_ones_own(self):
        """Weights of the model in 16 bits, their gradients, and three copies of the weights in 32, all equal to the byte; the list that the step
        makes of all gradients is what to do without."""
        report = json.loads(output("report", "--format=json", "-o", "-", str(REAL / "h100_own_optimizer.pickle.gz")))
        held = self.truth["h100_own_optimizer"]["held"]
        roles = {r["role"]: r["bytes"] for r in report["devices"][0]["roles"]}
        self.assertEqual(roles["param"], held["model.parameters"])
        self.assertEqual(roles["grad"], held["model.gradients"])
        self.assertEqual(roles["optim_state"], held["master"] + held["moments"])
        self.assertLess(roles.get("unknown", 0), 1 << 20)
        first = [a["id"] for a in report["advice"] if a["top"]]
        self.assertEqual(first[0], "P148")
        self.assertEqual([i for i in first if i in ("B06", "P141")], [])
        # what the changed job freed is nearly all of it
        self.assertGreater(sum(held.values()) + roles["optim_temp"] - self.truth["h100_own_optimizer"]["one_by_one_peak"], 0.6 * roles["optim_temp"])

    def test_two_processes_on_one_card(self):
        """The second still sees all of the first 150 ms after its last record: it lies there until the driver has taken it back."""
        ledger, held = self.ledger("h100_two_processes", 4)
        first, second = self.truth["h100_two_processes"]
        self.assertEqual(sorted(p["peak_bytes"] // MIB for p in self.job("h100_two_processes")["processes"]), [1371, 1371])
        self.assertEqual([r["bytes"] for r in ledger["focus"]["rows"] if r["holder"] == "torch"], [first["reserved"], second["reserved"]])
        self.assertAlmostEqual(ledger["used_peak_bytes"], max(first["used"], second["used"]), delta=4 * MIB)

    def test_other_libraries(self):
        """JAX takes three quarters of the card at once, CuPy what its arrays need; both by their own libraries. Code that is loaded lazily has no call."""
        for name, library, unexplained in (("h100_jax", "xla_cuda_plugin.so", 38), ("h100_cupy", None, 10)):
            with self.subTest(name):
                ledger, _ = self.ledger(name, unexplained)
                rows = [r for r in ledger["focus"]["rows"] if r["holder"] == "library"]
                self.assertGreaterEqual(sum(r["bytes"] for r in rows), self.truth[name]["held"])
                self.assertAlmostEqual(ledger["used_peak_bytes"], self.truth[name]["used"], delta=4 * MIB)
                if library:
                    self.assertEqual([r["library"] for r in rows], [library])
                    self.assertAlmostEqual(rows[0]["bytes"] / USABLE, 0.75, delta=0.002)

    def test_a_graph_with_nvml(self):
        ledger, held = self.ledger("h100_graph_with_nvml", 168)  # kernels' code
        self.assertEqual(held["torch"], self.truth["h100_graph_with_nvml"]["reserved"])
        self.assertEqual((held["graphs"] // MIB, held["math"] // MIB), (2, 64))
        self.assertAlmostEqual(ledger["used_peak_bytes"], self.truth["h100_graph_with_nvml"]["used"], delta=4 * MIB)

    def test_libraries_are_owners(self):
        ledger, = self.job("h100_graph")["ledgers"]
        held = {r["holder"]: r["bytes"] for r in ledger["focus"]["rows"]}
        self.assertEqual(held["torch"], self.truth["h100_graph"]["reserved"])
        self.assertEqual(held["math"] // MIB, 64)  # cuBLAS

    def test_every_call_is_there(self):
        calls = [json.loads(line) for line in output("dump", str(REAL / "h100_cudart.trace.gz")).splitlines()]
        calls = [c for c in calls if c.get("type") == "call"]
        half = self.truth["h100_cudart"]["asked"] // 2
        self.assertEqual(sum(c["op"] == "mem_alloc" for c in calls), half + 1)  # and PyTorch's first segment
        self.assertEqual(sum(c["op"] == "mem_free" for c in calls), half)
        self.assertTrue(all(c["result"] == 0 for c in calls))

    def test_ends(self):
        for name, status in (("h100_end_return", 0), ("h100_end_os_exit", 3), ("h100_children", 0)):
            with self.subTest(name):
                rows = [json.loads(line) for line in output("dump", str(REAL / f"{name}.trace.gz")).splitlines()]
                self.assertEqual([r["status"] for r in rows if r["type"] == "end"], [status])
                self.assertEqual([r["text"] for r in rows if r["type"] == "status" and r["level"] != "note"], [])
                self.assertEqual({r["op"] for r in rows if r["type"] == "call"} - {"module_load", "mem_info"}, {"context_retain", "mem_alloc"})

    def test_code_of_the_first_kernel(self):
        """One kernel takes 92 MiB beside all calls; under lazy loading no call of a module changes the device's memory."""
        rows = [json.loads(line) for line in output("dump", str(REAL / "h100_end_return.trace.gz")).splitlines()]
        self.assertEqual([c.get("change", 0) for c in rows if c.get("op") == "module_load"], [0])
        ledger, = self.job("h100_end_return")["ledgers"]
        self.assertEqual(ledger["checks"][-1]["unexplained_bytes"] // MIB, 95)
        # NVML counts 642 MiB for the process, whose calls say 555.6
        self.assertEqual(ledger["focus"]["unexplained_in_processes_bytes"] // MIB, 86)


if __name__ == "__main__":
    unittest.main()
