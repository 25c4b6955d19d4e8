"""What a driver trace cannot say yet of a ticket, each with the reason. (scenario, check): reason. An entry that agrees again, or whose
scenario is gone, fails the test: take it out."""

KNOWN = {}
