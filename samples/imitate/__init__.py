"""Parts of make_samples.py: a caching allocator, call stacks, and the encodings a snapshot comes in."""
