"""Where memtrace and a scenario do not agree, and why that is known. (scenario, check): reason; "*" stands for every scenario.
An entry that agrees again, or whose scenario is gone, fails the test: take it out."""

# Advice.
CONFIG = "what --config and --args say of the run does not pick the framework whose settings are advised"
ENTROPY = "offered although training computes no entropy"
# Savings.
HALF = "the present value is not known: the default is assumed, not what the trace shows"

KNOWN = {
    ("cell-kv-areal", "advice:A06"): CONFIG,
    ("cell-kv-areal", "advice:A09"): CONFIG,
    ("cell-kv-slime", "advice:X20"): CONFIG,
    ("cell-loss-verl", "no-advice:V26"): ENTROPY,
    ("cell-loss-new-verl", "no-advice:V26"): ENTROPY,
    ("cell-run-areal", "advice:A05"): CONFIG,
    ("cell-run-areal", "advice:A06"): CONFIG,
    ("cell-run-slime", "advice:X20/down"): CONFIG,
    ("log-ray-kills-a-relax-actor", "advice:X18"): "the framework of a log alone is taken for verl although its lines name relax/",
    ("saving-b17", "saving:B17"): HALF,
    ("saving-v08", "saving:V08"): "temporaries of the backward, which follow the tokens too, are left out",
    ("saving-v34", "saving:V34"): "the present value is not known: a default is assumed, not what the weights show",
}
