"""Where memtrace and a scenario do not agree, and why that is known. (scenario, check): reason; "*" stands for every scenario.
An entry that agrees again, or whose scenario is gone, fails the test: take it out."""

KNOWN = {}
