#!/usr/bin/env python3
"""Recordings of a real GPU (samples/real/) against what their workloads said of themselves: device used, PyTorch's bytes, the failed call, sleep
and wake, how each process ended. Environment: MEMTRACE."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
REAL = pathlib.Path(__file__).resolve().parents[2] / "samples" / "real"
MIB = 1 << 20
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


if __name__ == "__main__":
    unittest.main()
