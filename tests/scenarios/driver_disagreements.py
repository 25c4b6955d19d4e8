"""What a driver trace cannot say yet of a ticket, each with the reason. (scenario, check): reason. An entry that agrees again, or whose
scenario is gone, fails the test: take it out."""

KNOWN = {
    ("t11-level-1-sleep-kills-the-host", "cause"): "a process with much pinned memory that Ray ends on purpose dies by the same signal and has "
                                                   "no failed call either: without a log, or the host's own figure, no cause follows",
}
