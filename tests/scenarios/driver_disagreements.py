"""What a driver trace cannot say yet of a ticket, each with the reason. (scenario, check): reason. An entry that agrees again, or whose
scenario is gone, fails the test: take it out."""

LOG_ONLY = "the fact behind this finding is read from logs alone, not from the driver's calls and samples, which show it as well"

KNOWN = {
    ("t03-counters-count-what-is-unmapped", "lint:torch-counts-more"): LOG_ONLY,
    ("t07-cache-not-emptied", "cause"): "of a driver failure in the rollout it is not asked whether the trainer's memory would have done",
    ("t08-residue-grows-per-step", "lint:sleep-residue"): LOG_ONLY,
    ("t11-level-1-sleep-kills-the-host", "cause"): "who was killed from outside leaves no failed call; the pinned memory is shown, and no "
                                                   "cause drawn from it",
    ("t12-saver-tag-is-reused", "gone-block"): "a snapshot is laid beside the mappings in bytes; which block lies in what is gone is not said",
    ("t13-ipc-buckets-outlive-the-sync", "cause"): "growth from step to step is not looked for in what the driver's calls moved",
    ("t16-ipc-of-virtual-memory", "lint:saver-expandable"): "torch_memory_saver is recognised by Python frames, not by its calls",
    ("t35-contexts-of-other-ranks", "lint:contexts-on-one-gpu"): LOG_ONLY,
}
