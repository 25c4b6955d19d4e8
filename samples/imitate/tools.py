"""What tools print about whole cards: nvidia-smi's table and csv, npu-smi's table, the table of torch.cuda.memory_summary() and the
dictionary of memory_stats(), each from a few numbers."""

MIB = 1 << 20


def smi(cards, processes, clock="10:00:00"):
    """cards: (index, name, used, total) in MiB; processes: (index, pid, name, used)."""
    out = [f"Mon Jan 12 {clock} 2026", "+" + "-" * 89 + "+"]
    out.append("| NVIDIA-SMI 570.86.15              Driver Version: 570.86.15      CUDA Version: 12.8     |")
    out.append("|-----------------------------------------+------------------------+----------------------+")
    out.append("| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |")
    out.append("| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |")
    out.append("|=========================================+========================+======================|")
    for index, name, used, total in cards:
        out.append(f"| {index:3}  {name:<31} On  |   00000000:{0x18 + 16 * index:02X}:00.0 Off |                    0 |")
        out.append(f"| N/A   41C    P0            118W /  700W | {used:7}MiB / {total:6}MiB |      0%      Default |")
        out.append("+-----------------------------------------+------------------------+----------------------+")
    out += ["", "+" + "-" * 89 + "+", f"| {'Processes:':<87} |"]
    out.append(f"|  GPU   GI   CI              PID   Type   Process name {'GPU Memory |':>35}")
    out.append("|" + "=" * 89 + "|")
    for index, pid, name, used in processes:
        out.append(f"| {index:4}   N/A  N/A {pid:15}      C   {name:<35} {used:8}MiB |")
    out.append("+" + "-" * 89 + "+")
    return out


def smi_csv(readings):
    """Of nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv -l 5: (index, used, total)."""
    return ["index, memory.used [MiB], memory.total [MiB]"] + [f"{i}, {u} MiB, {t} MiB" for i, u, t in readings]


def npu_smi(cards, processes):
    """cards: (npu, used, total); processes: (npu, pid, name, used), all in MiB."""
    rule = "+---------------------------+---------------+----------------------------------------------------+"
    out = ["+" + "-" * 96 + "+", "| npu-smi 24.1.rc2                 Version: 24.1.rc2 " + " " * 45 + "|", rule]
    out.append("| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|")
    out.append("| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |")
    out.append(rule.replace("-", "="))
    for npu, used, total in cards:
        out.append(f"| {npu:<5} 910B2               | OK            | 96.5        50                0    / 0             |")
        out.append(f"| 0                         | 0000:{0xC1 + npu:02X}:00.0  | 0           0    / 0          {used:<5}/ {total:<14}|")
        out.append(rule.replace("-", "="))
    out += [rule, "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |", rule.replace("-", "=")]
    for npu, pid, name, used in processes:
        out.append(f"| {npu:<7} 0                 | {pid:<13} | {name:<24} | {used:<23} |")
    return out + [rule]


def npu_parts(parts):
    """The list that torch_npu writes beside a snapshot: (part of CANN, now, most) in MiB."""
    return ["moduleName,curMemSize(MB),memPeakSize(MB)"] + [f"{name},{now:.3f},{most:.3f}" for name, now, most in parts]


def size(n):
    """torch/cuda/memory.py since 2.0: whole units, the largest of which there are 768 * 1024."""
    units = ["B  ", "KiB", "MiB", "GiB", "TiB"]
    at = 0
    rest = float(n)
    while rest >= 768 * 1024 and at + 1 < len(units):
        n //= 1024
        rest /= 1024
        at += 1
    return f"{n:7d} {units[at]}"


def summary(stats, device=0):
    """stats: name of a row -> (now, most) in bytes; "ooms", "retries": numbers."""
    rule = "|" + "-" * 75 + "|"
    out = ["|" + "=" * 75 + "|", f"|                  PyTorch CUDA memory summary, device ID {device}{' ' * 17}|", rule]
    out.append(f"|            CUDA OOMs: {stats['ooms']:<12} |        cudaMalloc retries: {stats['retries']:<9}|")
    out += ["|" + "=" * 75 + "|", "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |", rule]
    for name in ("Allocated memory", "Active memory", "Requested memory", "GPU reserved memory", "Non-releasable memory"):
        now, most = stats[name]
        total = most * 400
        out.append(f"| {name:<21} |{size(now)} |{size(most)} |{size(total)} |{size(total - now)} |")
        out.append(f"|       from large pool |{size(now - 3 * MIB)} |{size(most - 3 * MIB)} |{size(total)} |{size(total - now)} |")
        out.append(f"|       from small pool |{size(3 * MIB)} |{size(3 * MIB)} |{size(3 * MIB)} |{size(0)} |")
        out.append(rule)
    return out + ["|" + "=" * 75 + "|"]


def stats(values):
    """memory_stats() as print() shows it before Python 3.12."""
    return "OrderedDict([" + ", ".join(f"('{key}', {values[key]})" for key in sorted(values)) + "])"


def cards_log():
    """A trainer beside an engine: a watcher's csv, the failure with the allocator's own table, nvidia-smi some time later."""
    watched = [(i, used, 81559) for step in (21004, 60210, 80589) for i, used in ((0, step), (1, step - 9000))]
    counted = {
        "allocated_bytes.all.current": 40264269312,
        "allocated_bytes.all.peak": 41000000000,
        "inactive_split_bytes.all.current": 180355072,
        "num_alloc_retries": 2,
        "num_ooms": 0,
        "requested_bytes.all.current": 40200000000,
        "reserved_bytes.all.current": 42150658048,
        "reserved_bytes.all.peak": 42150658048,
    }
    table = {
        "ooms": 1,
        "retries": 3,
        "Allocated memory": (43105288192, 43610000000),
        "Active memory": (43105288192, 43610000000),
        "Requested memory": (43050000000, 43500000000),
        "GPU reserved memory": (43430576128, 43900000000),
        "Non-releasable memory": (325287936, 410000000),
    }
    return "\n".join(
        ["(WorkerDict pid=12345) step 1 " + stats(counted)]
        + smi_csv(watched)
        + [
            "(WorkerDict pid=12345) Traceback (most recent call last):",
            '(WorkerDict pid=12345)   File "/workspace/verl/verl/workers/fsdp_workers.py", line 906, in update_actor',
            "(WorkerDict pid=12345)     metrics = self.actor.update_policy(data=data)",
            '(WorkerDict pid=12345)   File "/workspace/verl/verl/workers/actor/dp_actor.py", line 170, in _forward_micro_batch',
            "(WorkerDict pid=12345)     output = self.actor_module(",
            "(WorkerDict pid=12345) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of"
            " 79.11 GiB of which 412.00 MiB is free. Process 12345 has 41.58 GiB memory in use. Process 23456 has 37.11 GiB memory in"
            " use. Of the allocated memory 40.14 GiB is allocated by PyTorch, and 310.20 MiB is reserved by PyTorch but unallocated.",
        ]
        + summary(table)
        + smi(
            [(0, "NVIDIA H100 80GB HBM3", 80589, 81559), (1, "NVIDIA H100 80GB HBM3", 71589, 81559)],
            [(0, 12345, "ray::WorkerDict", 42574), (0, 23456, "VLLM::EngineCore", 38000), (1, 12346, "ray::WorkerDict", 71574)],
        )
        + [""]
    ).encode()


def npu_log():
    """An NPU: the failure, torch_npu's list of the parts of CANN, npu-smi."""
    return "\n".join(
        [
            "[rank0]: RuntimeError: NPU out of memory. Tried to allocate 1.16 GiB (NPU 0; 60.97 GiB total capacity; 52.12 GiB already"
            " allocated; 52.12 GiB current active; 412.00 MiB free; 53.83 GiB reserved in total by PyTorch) If reserved memory is >>"
            " allocated memory try setting max_split_size_mb to avoid fragmentation.",
        ]
        + npu_parts([("PTA", 55120.5, 56000.0), ("HCCL", 4096.0, 4100.0), ("RUNTIME", 812.25, 900.0), ("GE", 12.0, 12.0)])
        + npu_smi([(0, 62010, 65536), (1, 3318, 65536)], [(0, 7711, "python", 60100)])
        + [""]
    ).encode()
