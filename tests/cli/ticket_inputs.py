#!/usr/bin/env python3
"""What ticket.sh and ticket_inert.sh plant in a job: secrets of many kinds, names of people and machines, Markdown and HTML.

ticket_inputs.py           writes job/rank0.json, job/train.log, job/run.yaml, job/args, and secrets and names, one a line
ticket_inputs.py --hostile writes hostile0.json, hostile0.yaml ...: one for each string that means something in Markdown or HTML
ticket_inputs.py --unpack PAGE  prints the page with what is packed in it"""

import base64
import json
import os
import re
import sys
import zlib

GiB = 1 << 30
MARK = "Zq7sEcReTx8KfP0aWm3Lr5Tb"
# what values look like, whatever they are called
SHAPES = ["hf_%s", "sk-%s", "sk-proj-%s", "sk-ant-api03-%s", "ghp_%s", "gho_%s", "ghs_%s", "github_pat_%s", "glpat-%s", "xoxb-1234567890-%s", "xoxp-1234567890-%s",
          "AKIAIOSFODNN7%.7s", "npm_%s", "pypi-AgEIcHlwaS5vcmc%s", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.%s", "nvapi-%s", "r8_%s", "dop_v1_%s"]
# what they are called, as keys of a configuration, flags, variables
NAMES = ["api_key", "apikey", "token", "hf_token", "wandb_api_key", "password", "passwd", "secret", "secret_key", "aws_secret_access_key", "access_token",
         "auth_token", "client_secret", "private_key", "credentials", "redis_password", "db_password", "session_token", "bearer_token", "webhook_secret",
         "swanlab_api_key", "mlflow_tracking_password", "openai_api_key", "github_token", "comet_api_key", "clearml_api_secret_key", "ssh_key_passphrase"]
URLS = ["https://me:%s@git.example/a", "redis://:%s@cache:6379/0", "mysql://root:%s@db/x", "postgres://u:%s@h/d", "http://user:%s@proxy:3128/",
        "https://x-access-token:%s@github.com/a/b", "s3://key:%s@bucket/x"]
PEOPLE = ["alice", "acme-falcon", "node-17.acme.internal", "SecretModel", "10.11.12.13"]
serial = 0


def value():
    global serial
    serial += 1
    return "%s%03d" % (MARK, serial)


def word():
    global serial
    serial += 1
    return "swordfish%03d" % serial


def snapshot(frames, requests, note="", range_name=""):
    """A card on which one list of frames holds 64 blocks, and the last request fails."""
    blocks, events, at = [], [], 1 << 30
    for i in range(64):
        f = frames[i % len(frames)]
        blocks.append({"size": GiB >> 4, "requested_size": GiB >> 4, "address": at, "state": "active_allocated", "frames": f})
        events.append({"action": "alloc", "addr": at, "size": GiB >> 4, "stream": 0, "frames": f, "time_us": 2 + i, "user_metadata": note})
        at += GiB >> 4
    events.append({"action": "oom", "size": requests, "device_free": 1 << 20, "addr": 1 << 30, "stream": 0, "frames": frames[0], "time_us": 99})
    start = {"action": "segment_alloc", "addr": 1 << 30, "size": 4 * GiB, "stream": 0, "frames": frames[0], "time_us": 1}
    ranges = [{"name": range_name, "stage": s, "device": 0, "time_us": t} for s, t in (("START", 3), ("END", 98))] if range_name else []
    return {"segments": [{"device": 0, "address": 1 << 30, "total_size": 4 * GiB, "allocated_size": 4 * GiB, "active_size": 4 * GiB, "requested_size": 4 * GiB,
                          "stream": 0, "segment_type": "large", "blocks": blocks}],
            "device_traces": [[start] + events], "allocator_settings": {}, "external_annotations": ranges}


def frame(name, file, line=7):
    return {"name": name, "filename": file, "line": line}


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def secrets():
    os.mkdir("job")
    home, planted = "/home/alice/acme-falcon", []

    def plant(form, made):
        planted.append(re.search(r"(Zq7sEcReT|swordfish)\w*", made).group() if "AKIA" not in form else form % made)
        return form % made

    frames = [[frame("_forward", home + "/src/verl/verl/workers/actor/dp_actor.py"), frame("compute_log_prob", "/mnt/acme-falcon/alice/verl/verl/workers/fsdp_workers.py")],
              [frame("helper", home + "/loss.py"), frame("main", home + "/" + plant("hf_%s", value()) + ".py")]]
    note = "of alice on node-17.acme.internal, " + " ".join(plant(s, value()) for s in SHAPES)
    write("job/rank0.json", json.dumps(snapshot(frames, GiB, note, "alice: s3://acme-falcon/ckpt " + plant("sk-%s", value()))))
    lines = ["(WorkerDict pid=77, ip=10.11.12.13) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 5.00 GiB "
             "of which 1.00 MiB is free. Of the allocated memory 4.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."]
    lines += ["using " + plant(s, value()) for s in SHAPES] + ["connecting to " + plant(u, word()) for u in URLS] + ["%s=%s" % (n.upper(), plant("%s", value())) for n in NAMES]
    lines.append("Error executing job with overrides: [%s]" % ", ".join("'actor.%s=%s'" % (n, plant("%s", word())) for n in NAMES))
    write("job/train.log", "\n".join(lines) + "\n")
    config = ["trainer: {project_name: acme-falcon, n_gpus_per_node: 8}", "actor_rollout_ref: {model: {path: /home/alice/SecretModel-7B}, rollout: {name: vllm}}"]
    config += ["%s: %s" % (n, plant("%s", word())) for n in NAMES] + ["url_%d: %s" % (i, plant(u, word())) for i, u in enumerate(URLS)]
    config += ["plain_%d: %s" % (i, plant(s, value())) for i, s in enumerate(SHAPES)]
    write("job/run.yaml", "\n".join(config) + "\n")
    write("job/args", " ".join("+env.%s=%s" % (n.upper(), plant("%s", value())) for n in NAMES))
    write("secrets", "\n".join(planted) + "\n")
    write("names", "\n".join(PEOPLE) + "\n")


HOSTILE = ["</details><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[click](javascript:alert(1))", "![x](https://evil.example/p.png)", "@octocat and #1",
           "https://evil.example/a", "www.evil.example", "| a | b |", "`x` ``` <b>bold</b>", "**bold** __init__ ~~x~~", "# heading", "&lt;script&gt;", "<!-- ", "$$x$$", ":smile:",
           "evil@evil.example", "[^1]", "- [ ] task", "</summary>", "\\`x\\`"]


def hostile():
    for i, h in enumerate(HOSTILE):
        frames = [[frame(h, "/srv/job/%s.py" % h.replace("/", "-")), frame("step " + h, "/srv/verl/workers/actor/dp_actor.py")]]
        write("hostile%d.json" % i, json.dumps(snapshot(frames, GiB, h, h)))
        write("hostile%d.yaml" % i, "actor_rollout_ref:\n  model:\n    path: %s\n  rollout:\n    name: %s\n" % (json.dumps(h), json.dumps(h)))


def unpack(path):
    with open(path, "rb") as file:
        page = file.read()
    out = sys.stdout.buffer
    out.write(re.sub(rb'(<script[^>]*id="mt-[^"]+"[^>]*>)[^<]*', rb"\1", page))
    for _, data in re.findall(rb'<script[^>]*id="(mt-[^"]+)"[^>]*>([^<]*)</script>', page):
        try:
            out.write(b"\n" + zlib.decompress(base64.b64decode(data, validate=True)))
        except (ValueError, zlib.error):
            out.write(b"\n" + data)


if __name__ == "__main__":
    if "--unpack" in sys.argv:
        unpack(sys.argv[-1])
    else:
        hostile() if "--hostile" in sys.argv else secrets()
