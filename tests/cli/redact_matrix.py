"""What --redact is to take out, a kind a line, and what is to stay. kinds: TEXT as it stands in a carrier; MUST NOT be found behind it."""
import json
import sys

H32, H40, H64 = "3f9a1c52b7e04d6683ab51c9d2e7f018", "3f9a1c52b7e04d6683ab51c9d2e7f01846ad9b3c", "3f9a1c52b7e04d6683ab51c9d2e7f01846ad9b3c3f9a1c52b7e04d6683ab51c9"
B = "Zq7RsT4xKfP0aWm3Lr5Tb9Yc"  # letters and digits, as tokens have them
KINDS = """
node-17.zorro01.internal|zorro01
gpu07.zorro02.uni-x.de|zorro02
GPU07.ZORRO03.UNI-X.DE|ZORRO03
login.zorro04.ai|zorro04
node3.zorro05.cn|zorro05
gpu01.zorro06.local|zorro06
n1.zorro07.com|zorro07
N1.ZORRO08.COM|ZORRO08
trainer-0.svc.zorro09.svc.cluster.local|zorro09
zorro10-grpo-worker-7f9c4-x2x9k|zorro10
zorro11-worker-7f9c4d6b8-x2x9k.log|zorro11
zorro12-worker-7f9c4d6b8-x2x9k_rank0|zorro12
ip-10-66-55-13|66-55-13
zorro14[001-004]|zorro14
registry.zorro15.cn:5000/team/image|zorro15
10.66.55.16|66.55.16
worker_10.66.55.17_rank0|66.55.17
192.168.77.18:29500|77.18
172.16.88.19|88.19
8.8.44.20|8.44.20
2001:db8:1:2::bea1|::bea1
fe80::1ff:fe23:4567:bea2|4567:bea2
fd00:1:2:3:4:5:6:bea3|6:bea3
02:42:ac:11:00:a4|ac:11:00:a4
http://10.66.55.25:8265/jobs|66.55.25
https://zorro26.example.org/x|zorro26
https://user27:Pw27secret@db.zorro27.io/x|Pw27secret
https://user28:Pw28secret@db.zorro28.io/x|zorro28
postgres://zorro29:Pw29secret@db:5432/x|Pw29secret
redis://:Pw30secret@cache:6379/0|Pw30secret
tcp://zorro31-head:29500|zorro31
s3://zorro32-bucket/ckpt|zorro32
gs://zorro33-bucket/ckpt|zorro33
hdfs://zorro34/ckpt|zorro34
abfss://zorro35@acct.dfs.core.windows.net/x|zorro35
oss://zorro36/ckpt|zorro36
wasbs://zorro37@acct.blob.core.windows.net/x|zorro37
file:///home/zorro38/x|zorro38
/home/zorro39/run/x.py|zorro39
/Users/zorro40/run/x.py|zorro40
C:\\Users\\zorro41\\run\\x.py|zorro41
/data/zorro42/run/x.py|zorro42
/mnt/nfs/zorro43/run/x.py|zorro43
/scratch/zorro44/run/x.py|zorro44
/tmp/torchinductor_zorro45/ab/cab.py|zorro45
~zorro46/run/x.py|zorro46
"/home/Zorro Fourseven/run/x.py"|Fourseven
\\\\zorro48\\share\\x.py|zorro48
/gpfs/users/zorro49/x.py|zorro49
/lustre/zorro50/x.py|zorro50
/afs/zorro51/x.py|zorro51
/nfs/home/zorro52/x.py|zorro52
/fsx/zorro53/x.py|zorro53
/workspace/zorro54/x.py|zorro54
/root/zorro55/x.py|zorro55
/var/lib/zorro56/x.py|zorro56
zorro57@mail.example.com|zorro57
zorro.58@uni-x.de|zorro.58
git@host59.example.com:zorro59/repo|zorro59
ssh://git@host60.example.com/zorro60/repo|zorro60
ssh zorro61@node-17.internal|zorro61
hf_$B62|$B62
sk-$B63|$B63
sk-ant-api03-$B64$B|$B64
ghp_$B65abcdefgh0123|$B65
github_pat_$B66$B|$B66
gho_$B67abcdefgh0123|$B67
glpat-$B68|$B68
xoxb-123456789012-1234567890123-$B69|$B69
AKIAZORRO70ABCDEF234|ZORRO70
ASIAZORRO71ABCDEF234|ZORRO71
npm_$B72abcdefghijkl|$B72
pypi-AgEIcHlwaS5vcmc$B73$B|$B73
dapi3f9a1c52b7e04d6683ab51c9d2e7f074|ab51c9d2e7f074
dapi3f9a1c52b7e04d6683ab51c9d2e7f075-2|ab51c9d2e7f075
hvs.$B76$B|$B76
ATATT3xFfGF0$B77$B=1A2B3C4D|$B77
AIzaSyA$B78abcdefgh|$B78
ya29.$B79$B|$B79
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6b3JybzgwIn0.$B80$B|$B80
eyJhbGciOiJIUzI1NiJ9.eyJ6b3JybzgxIjoxfQ.$B81$B|eyJ6b3JybzgxIjoxfQ
Authorization: Bearer $B82$B|$B82
Authorization: Basic em9ycm84Mzp6b3Jybw==|em9ycm84Mz
WANDB_API_KEY=$H40|$H40
wandb login 3f9a1c52b7e04d6683ab51c9d2e7f01846ad9b85|d2e7f01846ad9b85
key 3f9a1c52b7e04d6683ab51c9d2e7f01846ad9b3c3f9a1c52b7e04d6683ab5186|3c3f9a1c52b7e04d6683ab5186
password=Zor87secret|Zor87secret
--api-key Zor88secret|Zor88secret
HF_TOKEN=Zor89secretZor89|Zor89secret
AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYZORRO90KEY|ZORRO90KEY
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=Zor91KEYabcdefgh0123456789==|Zor91KEY
https://hooks.slack.com/services/T00ZOR92X/B00ZOR92Y/$B92|$B92
https://open.feishu.cn/open-apis/bot/v2/hook/3f9a1c52-b7e0-4d66-83ab-zor93d2e7f01|zor93d2e7f01
https://discord.com/api/webhooks/123456789012345678/$B94$B|$B94
https://oapi.dingtalk.com/robot/send?access_token=$H32zor95|zor95
https://acct.blob.core.windows.net/c?sv=2022&sig=Zor96sigAbcdefgh0123456789%3D|Zor96sig
curl -u zorro97:Pw97secret x|Pw97secret
GPU-3f9a1c52-b7e0-4d66-83ab-51c9d2e7f098|51c9d2e7f098
MIG-3f9a1c52-b7e0-4d66-83ab-51c9d2e7f099|51c9d2e7f099
https://wandb.ai/zorro100/proj|zorro100
https://github.com/zorro101/private|zorro101
https://huggingface.co/zorro102/m|zorro102
git pull; wandb login 3f9a1c52b7e04d6683ab51c9d2e7f01846a1092c|d2e7f01846a1092c
-----BEGIN RSA PRIVATE KEY-----\\nMIIEzor103KEYabcdefgh0123\\n-----END RSA PRIVATE KEY-----|zor103KEY
SG.$B104.$B$B|$B104
tskey-auth-$B105$B|$B105
nvapi-$B106$B$B|$B106
r8_$B107abcdefgh01234|$B107
lin_api_$B108$B|$B108
curl -uzorro109:Pw109secret x|Pw109secret
curl -u 'zorro110:Pw 110secret' x|110secret
curl -s -u 'zorro111:Pw 111secret' x|zorro111
zorro112-worker-7f9c4d6b8-x2x9k-rank0|zorro112
runs/10.66.55.113|66.55.113
node7/10.66.55.114:29500|66.55.114
ip10.66.55.115|66.55.115
on gpu07/gpu08.zorro116.uni-x.de|zorro116
/home/x/python3/zorro117/train.py|zorro117
jobs/zorro118-worker-7f9c4d6b8-x2x9k/log|zorro118
"""
STAY = ["cudnn 9.1.0.70", "nvidia-cudnn-cu12==9.1.0.70", "nvidia-cublas-cu12 12.4.5.8", "torch 2.4.0+cu124", "vllm 0.6.3.post1", "CUDA 12.4",
        "driver 550.54.15", "git status", "git reset --hard HEAD", "git reset --hard " + H40[:30] + "0123456789",
        "cd x; git checkout -q 00112233445566778899aabbccddeeff00112233", "git rebase -i", "Qwen/Qwen2.5-7B-Instruct", "meta-llama/Llama-3.1-8B",
        "81559 MiB", "85520809984 bytes", "dp_actor.py:90", "torch.nn.functional", "layers.0.mlp.down_proj", "bf16[16,1024]", "0x7f12ab340000",
        "2026-01-31 12:34:56", "127.0.0.1:29500", "localhost", "tokens/s", "fsdp_size=8", "step 1200", "NCCL 2.21.5", "flash-attn 2.6.3",
        "docker run -u 1000:1000", "rank1-ubuntu",
        "nvidia-cudnn-cu12-9.1.0.70", "engine v1.2.3.4", "torch/nn/functional.py", "models/llama-7b"]


def kinds():
    for line in KINDS.strip().splitlines():
        text, secret = line.rsplit("|", 1)
        for mark, value in (("$H32", H32), ("$H40", H40), ("$H64", H64)):
            text, secret = text.replace(mark, value), secret.replace(mark, value)
        yield text.replace("$B", B), secret.replace("$B", B)


def snapshot():
    """Every kind as the name of an annotation, in user_metadata, and, where it is a path, as the file of a frame."""
    frames, events, notes, addr = [], [], [], 1 << 30
    for text, _ in kinds():
        notes += [{"name": text, "stage": s, "device": 0, "time_us": 3} for s in ("START", "END")]
        frames = [{"name": "f", "filename": text if text[0] in "/~CfhG" and " " not in text else "x.py", "line": 3}]
        events.append({"action": "alloc", "addr": addr, "size": 1 << 20, "stream": 0, "frames": frames, "time_us": 2, "user_metadata": "job at " + text + " now"})
        addr += 1 << 20
    notes += [{"name": s, "stage": e, "device": 0, "time_us": 3} for s in STAY for e in ("START", "END")]
    events += [{"action": "alloc", "addr": addr + (i << 20), "size": 1 << 20, "stream": 0, "frames": frames[:0], "time_us": 3, "user_metadata": s} for i, s in enumerate(STAY)]
    events = [{"action": "segment_alloc", "addr": 1 << 30, "size": 1 << 29, "stream": 0, "frames": [], "time_us": 1}] + events
    events.append({"action": "oom", "size": 1 << 29, "device_free": 1 << 20, "addr": 1 << 30, "stream": 0, "frames": [], "time_us": 99})
    n = sum(e["action"] == "alloc" for e in events)
    blocks = [{"size": 1 << 20, "requested_size": 1 << 20, "address": e["addr"], "state": "active_allocated", "frames": e["frames"],
               "user_metadata": e["user_metadata"]} for e in events if e["action"] == "alloc"]
    blocks.append({"size": (1 << 29) - (n << 20), "requested_size": 0, "address": (1 << 30) + (n << 20), "state": "inactive", "frames": []})
    return {"segments": [{"device": 0, "address": 1 << 30, "total_size": 1 << 29, "allocated_size": n << 20, "active_size": n << 20,
                          "requested_size": n << 20, "stream": 0, "segment_type": "large", "blocks": blocks}],
            "device_traces": [events], "external_annotations": notes}


def leaks(paths):
    bad = 0
    for path in paths:
        text = open(path, encoding="utf-8", errors="replace").read()
        for whole, secret in kinds():
            if any(x in text for x in (secret, json.dumps(secret)[1:-1])):
                bad += 1
                at = text.find(secret)
                print(f"{path}: {whole!r} leaks {secret!r}: {text[max(0, at - 60):at + len(secret) + 20]!r}")
    return bad


def check(paths):
    bad = leaks(paths)
    for s in STAY:
        if s not in open(paths[-1], encoding="utf-8", errors="replace").read():
            bad += 1
            print(f"{paths[-1]}: {s!r} did not stay")
    return bad


if __name__ == "__main__":
    if sys.argv[1] == "snapshot":
        json.dump(snapshot(), sys.stdout)
    elif sys.argv[1] == "log":
        print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 1.00 MiB is free.")
        for t, _ in kinds():
            print(f'Traceback (most recent call last):\n  File "{t}", line 3, in f\n    x = load("{t}")')
            print(f"+ docker run --gpus all -v {t}:/x --name {t} -h {t} img python train.py --per_device_train_batch_size 8 --output_dir {t}")
            print(f"[ 123.4] Out of memory: Killed process 77 ({t}) total-vm:1000kB, anon-rss:900kB")
            print(f"[2026-01-01 00:00:00,000] [INFO] [utils.py:800:see_memory_usage] {t} before forward")
            print("[2026-01-01 00:00:00,000] [INFO] [utils.py:801:see_memory_usage] MA 1.0 GB         Max_MA 1.0 GB         CA 1.0 GB         Max_CA 1 GB")
            print(f"I tried {t} and batch_size=8 on {t}, gradient checkpointing is on; as {t} says.")
            print(f"RuntimeError: NPU out of memory. Tried to allocate 64.00 MiB (NPU 0; 60.96 GiB total capacity; 59.00 GiB already allocated; 1.00 MiB free) at {t}")
            print(f"(WorkerDict pid=77) ERROR at {t} torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 1.00 MiB is free.")
    elif sys.argv[1] == "count":
        print(len(list(kinds())))
    elif sys.argv[1] == "found":
        plain = open(sys.argv[2], encoding="utf-8", errors="replace").read()
        print(sum(secret in plain or json.dumps(secret)[1:-1] in plain for _, secret in kinds()))
    elif sys.argv[1] == "args":
        for t, _ in kinds():
            print(t)
    else:
        sys.exit({"check": check, "leaks": leaks}[sys.argv[1]](sys.argv[2:]) != 0)
