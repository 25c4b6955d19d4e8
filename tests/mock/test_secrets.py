#!/usr/bin/env python3
"""No secret of the environment or of the command line occurs anywhere in a trace or a spool; ordinary settings do."""
import os
import pathlib
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

MARKS = ["Zq7sEcReT", "swordfish"]  # as tokens look, and as people choose passwords
_serial = [0]


def secret(form="{}"):
    """A value that occurs nowhere else: letters and digits as tokens have them, around a mark to search for."""
    _serial[0] += 1
    return form.format(f"{MARKS[0]}{_serial[0]:02d}x8KfP0aWm3Lr5Tb")


def password(form="{}"):
    """A value that only its name gives away."""
    _serial[0] += 1
    return form.format(f"{MARKS[1]}{_serial[0]}")


ENVIRONMENT = {
    "HF_TOKEN": secret("hf_{}"), "WANDB_API_KEY": secret(), "OPENAI_API_KEY": secret("sk-{}"), "AWS_SECRET_ACCESS_KEY": secret(),
    "AWS_SESSION_TOKEN": secret(), "GITHUB_TOKEN": secret("ghp_{}"), "VLLM_API_KEY": secret(), "SGLANG_API_KEY": secret(),
    "RAY_AUTH_TOKEN": secret(), "NCCL_SOCKET_PASSWORD": secret(), "MY_CREDENTIALS": secret(), "SESSION_COOKIE": secret(), "DB_PASSWD": secret(),
    "SLURM_JWT": secret("eyJhbGciOiJIUzI1NiJ9.{}.sig"), "NCCL_PROXY": secret("http://user:{}@proxy:3128/"), "HTTPS_PROXY": secret("https://bob:{}@p"),
    "VLLM_HEADERS": secret("Authorization: Bearer {}"), "UNLISTED_PLAIN": secret(), "MEMTRACE_NOTE": secret("token={}"),
    "CUDA_AUTH": secret(), "NCCL_AUTH_KEY": password(), "VLLM_PASSWORD": password(), "RAY_REDIS_PASSWORD": password(),
    "SGLANG_URL": password("redis://:{}@cache:6379/0"), "TORCH_NCCL_SECRET": password(), "NCCL_COMMENT": secret("https://x-access-token:{}@github.com/a/b"), "RAY_JOB_CONFIG_JSON_ENV_VAR": secret('{{"api_key": "{}"}}'),
}
ARGUMENTS = [
    "--api-key", secret(), secret("--token={}"), "--password", secret(), secret("wandb.api_key={}"), secret("+env.HF_TOKEN={}"),
    secret("trainer.logger.secret={}"), secret("url=https://me:{}@host/path"), "-H", secret("Authorization: Bearer {}"), secret("hf_{}"),
    secret("sk-{}"), secret("ghp_{}"), secret("--aws-secret-access-key={}"), "--hf-token", secret(),
    secret("++actor.env_vars.WANDB_API_KEY={}"), secret("{{'password': '{}'}}"), secret('{{"token":"{}"}}'), secret("PASSWORD={} command"),
    "--redis-password", password(), password("--redis-password={}"), password("db.password={}"), password("+ray_kwargs.ray_init._redis_password={}"),
    password("mysql://root:{}@db/x"), password("--auth=bob:{}"), password("user_secret={}"), password("{{'passwd': '{}'}}"),
    secret("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{}"),
]
KEPT_ENVIRONMENT = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "CUDA_VISIBLE_DEVICES": "0", "NCCL_DEBUG": "INFO",
                    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:128", "NCCL_CUMEM_ENABLE": "0"}
KEPT_ARGUMENTS = ["actor.optim.lr=1e-6", "data.max_prompt_length=512", "rollout.max_tokens=4096", "tokenizer_path=/models/Qwen2.5-7B",
                  "algorithm.key_points=3", "--num-tokens", "128", "trainer.n_gpus_per_node=8", "model.path=Qwen/Qwen2.5-0.5B-Instruct"]

JOB = r"""
import ctypes, os, signal, sys
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
if os.environ.get("THEN") == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def every_byte(folder):
    """Name and decompressed bytes of everything in a folder; a file is also searched as it is."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield path.name, data
        while data[:2] == b"\x1f\x8b":
            stream = zlib.decompressobj(31)
            try:
                yield path.name, stream.decompress(data)
            except zlib.error:
                break
            data = stream.unused_data


def search(what, folder):
    files = list(every_byte(folder))
    kit.check(f"{what}: there is something to search", any(len(data) > 1000 for _, data in files), [n for n, _ in files])
    found = []
    for name, data in files:
        for mark in MARKS:
            at = data.find(mark.encode())
            while at >= 0:
                found.append((name, bytes(data[max(0, at - 60):at + 30])))
                at = data.find(mark.encode(), at + 1)
    kit.check(f"{what}: no secret in {len(files)} parts", not found, *found[:10])


def kept(what, process):
    for name, value in KEPT_ENVIRONMENT.items():
        kit.equal(f"{what}: {name} is recorded", process.attrs.get(f"env.{name}"), [value])
    argv = [v[0] for k, v in sorted(process.attrs.items()) if k.startswith("argv")]
    lost = [a for a in KEPT_ARGUMENTS if not any(a in have for have in argv)]
    kit.equal(f"{what}: ordinary arguments survive", lost, [])


def main():
    kit.need(kit.LIB, kit.MOCK / "cuda13" / "libcuda.so.1")
    if kit.SANITIZED:
        kit.skip_all("a sanitizer build cannot be loaded by python")
    command = [sys.executable, "-c", JOB, *ARGUMENTS, *KEPT_ARGUMENTS]
    for then in ["exit", "kill"]:
        done = kit.run(command, THEN=then, **ENVIRONMENT, **KEPT_ENVIRONMENT)
        kit.check(f"{then}: runs", done.status == (0 if then == "exit" else -9), done.told())
        search(then, done.spool)
        process = done.process()
        if kit.check(f"{then}: a process", process is not None, done.trace.problems):
            kept(then, process)
    memtrace = os.environ.get("MEMTRACE")
    if not memtrace or b"capture" not in subprocess.run([memtrace, "--help"], capture_output=True, check=False).stdout:
        kit.skip("memtrace capture", "this memtrace has no capture")
    else:
        folder = kit.scratch()
        env = kit.environment(injected=False, **ENVIRONMENT, **KEPT_ENVIRONMENT)
        done = subprocess.run([memtrace, "capture", "-o", folder / "trace.gz", "--", *command], env=env, capture_output=True, check=False)
        kit.check("memtrace capture runs", done.returncode == 0, done.stderr)
        search("memtrace capture", folder)
        kit.check("what memtrace capture prints has none", not any(m.encode() in done.stderr + done.stdout for m in MARKS), done.stderr)
    kit.done()


main()
