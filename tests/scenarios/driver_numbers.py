"""What the jobs of the driver scenarios and their expectations share."""
MIB, GIB = 1 << 20, 1 << 30


def gib(n):
    """Bytes, whole pages of 2 MiB."""
    return int(n * GIB) // (2 * MIB) * 2 * MIB


RESIDUE = [gib(4.11), gib(11.57), gib(25)]  # NeMo-RL 2619
GROUP = 544 * MIB  # NCCL 964
BUCKET = 1536 * MIB
