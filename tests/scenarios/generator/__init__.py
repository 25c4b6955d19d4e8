"""Makes snapshots of jobs from model shapes. Knows what each tensor is for, and nothing of the program that is tested with it."""
