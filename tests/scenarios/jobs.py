"""Logs of programs that nobody knows: what kind of job it is decides what may be advised, and the setting that says how much of it is taken at once comes first."""

from logs import MODULE, NO_GRAD, SITE, alone, frames, torch_says

# recomputation, accumulation, sharding, adapters, "if it trains": of a training alone
TRAINS = ["P01", "P02", "P04", "P31", "B62", "B63"]
LLAMA = (SITE + "transformers/models/llama/modeling_llama.py", 200, "forward")


def job(name, ticket, command, places, *numbers, before="", **more):
    text = ("$ python %s\n" % command if command else "") + before + frames("", *places) + torch_says(*(numbers or (1, 23.6, 0.4, 22, 0.3)))
    return alone(name, ticket, text, more.pop("cause", "capacity"), **more)


SCENARIOS = [
    # what only uses, exports, shrinks or converts a model: nothing of a training
    job("exports-a-model", "traced for another runtime", "export_onnx.py --ckpt best.pt --size 1536", [("/w/seg/export_onnx.py", 44, "main"), MODULE, ("/w/seg/net.py", 30, "forward")],
        phase="infer", must=["P37", "P05"], must_not=TRAINS + ["P09"], sets={"P37": "--size 768"}),
    job("shrinks-a-model", "layer by layer, by a script of one's own", "quantize.py --bits 4 --group_size 128 --seqlen 4096 --batch_size 1", [("/w/q/quantize.py", 44, "main"), ("/w/q/gptq.py", 90, "fasterquant")],
        phase="infer", must=["P134"], must_not=TRAINS + ["P09", "P36"], sets={"P134": "--seqlen 2048"}),
    job("shrinks-by-a-library", "its calibration runs the model", "", [("/w/run.py", 12, "<module>"), (SITE + "auto_gptq/modeling/_base.py", 300, "quantize"), MODULE, LLAMA], phase="infer",
        must_not=TRAINS + ["P09"]),
    job("renders-views", "a trained scene, image after image", "render.py -m out/room --skip_train", [("/w/gs/render.py", 60, "render_sets"), ("/w/gs/renderer/__init__.py", 90, "render")], phase="infer",
        must=["P71"], must_not=TRAINS + ["P09", "D04"]),
    job("joins-an-adapter", "with its base: needs no card", "merge_lora.py --base /m/llama-70b --lora out", [("/w/merge_lora.py", 22, "main"), (SITE + "peft/tuners/tuners_utils.py", 300, "merge_and_unload")],
        0.4, 79.1, 0.2, 78, 0.1, phase="init", must=["P50"], must_not=TRAINS, sets={"P50": 'from_pretrained(<model>, device_map="cpu")'}),
    job("serves-behind-http", "the server says so", "-m house.api --max-batch-size 32", [("/w/house/worker.py", 22, "handle"), MODULE, LLAMA], before="INFO:     Uvicorn running on http://0.0.0.0:8000\n",
        phase="infer", must=["P36"], must_not=TRAINS, sets={"P36": "--max-batch-size 16"}),
    job("embeds-a-corpus", "in batches of the command's own", "embed_corpus.py --batch-size 512 --max-length 512", [("/w/embed_corpus.py", 22, "<module>"), (SITE + "sentence_transformers/SentenceTransformer.py", 700, "encode"), MODULE],
        phase="infer", must=["P36"], must_not=TRAINS, sets={"P36": "--batch-size 256"}),
    # the same words where something trains
    job("trains-and-serves", "a dashboard of a training", "train_ranker.py --batch-size 64", [("/w/train_ranker.py", 30, "train_epoch"), MODULE, ("/w/net.py", 30, "forward")],
        before="INFO:     Uvicorn running on http://0.0.0.0:6006\n", phase="train", must=["P36", "P01"], must_not=["P71", "P05"]),
    job("renders-what-it-trains", "a rendering inside of a training", "fit_scene.py", [("/w/gs/fit_scene.py", 60, "training"), ("/w/gs/train.py", 60, "train_step"), ("/w/gs/renderer/__init__.py", 90, "render")],
        phase="train", must=["P01"], must_not=["P71", "P05", "P09"]),
    job("trains-quantised", "quantisation-aware, by its name", "train_quant.py --batch-size 16", [("/w/train_quant.py", 60, "main"), MODULE, ("/w/net.py", 90, "forward")], phase="train", must=["P36", "P01"], must_not=["P71"]),
    job("exports-after-training", "the file is a trainer's", "train.py --export", [("/w/train.py", 60, "main"), MODULE, ("/w/net.py", 90, "forward")], phase="train", must=["P01"], must_not=["P71"]),
    # the setting that says how much is taken at once
    job("tiles-of-a-clip", "piece by piece already", "upscale_video.py --tile 1024 --scale 4", [("/w/upscale_video.py", 22, "main"), ("/w/rrdb.py", 300, "forward")], 6, 23.6, 1.2, 18, 0.3,
        phase="infer", must=["P136"], must_not=TRAINS + ["P09"], sets={"P136": "--tile 512"}),
    job("beams-of-a-translation", "sentences, beams and length", "translate.py --beam 16 --batch-size 64 --max-len 512", [("/w/translate.py", 22, "main"), ("/w/search.py", 30, "step")],
        phase="infer", must=["P36", "P134", "P138"], must_not=TRAINS + ["P09"], sets={"P36": "--batch-size 32", "P138": "--beam 8", "P134": "--max-len 256"}),
    job("rays-of-a-scene", "a batch is of rays, in chunks", "train_nerf.py --n_rays 8192 --chunk 65536", [("/w/train_nerf.py", 22, "train"), ("/w/nerf.py", 30, "forward")], 3, 23.6, 0.2, 20, 0.3,
        phase="train", must=["P136", "P135", "P01"], must_not=["P02"], sets={"P135": "--n_rays 4096", "P136": "--chunk 32768"}),
    job("points-of-a-scan", "no batch is set", "tools/train.py --max_points 300000 --voxel-size 0.02", [("/w/tools/train.py", 22, "train"), ("/w/sparse.py", 30, "forward")], phase="train",
        must=["P135", "P01"], must_not=["P02", "P126"], sets={"P135": "--max_points 150000"}),
    job("one-large-image", "a batch of one, and a side", "fit.py --batch-size 1 --epochs 3 --resolution 1024", [("/w/fit.py", 22, "train_one_epoch"), MODULE, ("/w/unet.py", 30, "forward")], phase="train",
        must=["P37", "P01"], must_not=["P02", "P36", "P126"], sets={"P37": "--resolution 512", "P01": "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)"}),
    job("beams-of-transformers", "what it generates", "answer.py --batch-size 1 --max-new-tokens 8192 --num-beams 8", [("/w/answer.py", 22, "main"), (SITE + "transformers/generation/utils.py", 2400, "generate"), MODULE], 0.5, 23.6, 0.2, 22, 0.3,
        must=["P138", "P139"], must_not=TRAINS + ["P36"], sets={"P138": "--num-beams 4", "P139": "--max-new-tokens 4096"}),
    job("frames-of-a-clip", "made, then decoded", "make_clip.py --num_frames 121 --height 1280 --width 720 --num_inference_steps 30", [("/w/app/pipeline.py", 22, "generate"), NO_GRAD, ("/w/app/vae/decoder.py", 90, "decode"), MODULE], 9, 23.6, 6, 15, 0.1,
        must=["P137", "P135"], must_not=TRAINS + ["P09", "P05"], sets={"P135": "--num_frames 60"}),
    job("decoder-of-nobody", "a web page around a model of images", "", [("/w/app/gradio_page.py", 22, "on_click"), ("/w/app/models/autoencoder.py", 90, "decode"), MODULE], 9, 23.6, 6, 15, 0.1, phase="infer",
        must=["P137"], must_not=TRAINS + ["P09"]),
    job("decoder-in-a-graph", "ComfyUI", "", [("/w/ComfyUI/execution.py", 300, "execute"), ("/w/ComfyUI/comfy/sd.py", 300, "decode"), ("/w/ComfyUI/comfy/ldm/modules/diffusionmodules/model.py", 88, "forward")], 4, 11.6, 2, 8, 0.3,
        phase="infer", must=["P137"], must_not=TRAINS + ["P09"], sets={"P137": "the node VAE Decode (Tiled) in place of VAE Decode, or --lowvram at the start"}),
    # what the failing line of the job's own gives its calls; a library's line says nothing of the job
    alone("answers-in-a-line-of-code", "no command, no script", '''Traceback (most recent call last):
  File "/w/answers.py", line 41, in ask
    out = net.generate(ids, max_new_tokens=2048, num_return_sequences=16, do_sample=True)
  File "/usr/lib/python3/dist-packages/transformers/generation/utils.py", line 2215, in generate
    result = self._sample(ids, num_beams=99)
''' + torch_says(0.5, 79.1, 0.3, 74, 4.1), "capacity", must=["P138", "P139"], must_not=TRAINS, sets={"P138": "num_return_sequences=8", "P139": "max_new_tokens=1024"}),
    alone("sizes-in-a-line-of-code", "a step of a training that draws its samples", '''Traceback (most recent call last):
  File "/w/train_field.py", line 90, in train_step
    colour = render(scene, rays=rays, num_rays=32768, white=True)
  File "/w/field.py", line 12, in render
    return (weights * values).sum(dim=1)
''' + torch_says(2, 23.6, 0.4, 22, 0.3), "capacity", phase="train", must=["P135"], must_not=["P138", "P139"], sets={"P135": "num_rays=16384"}),
    job("generates-and-trains", "an answer's length is no size of a training", "train_chat.py --batch-size 8 --max-new-tokens 256 --num-beams 4", [("/w/train_chat.py", 30, "train_epoch"), MODULE, ("/w/net.py", 30, "forward")],
        phase="train", must=["P36"], must_not=["P138", "P139"]),
    alone("trial-of-an-engine", "the line names the number", "$ vllm serve /m/qwen2.5-7b --max-model-len 8192\nERROR 06-11 10:22:30 [core.py:396] RuntimeError: CUDA out of memory occurred when warming up sampler with 768 dummy requests. "
          "Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n", "capacity", phase="rollout.profile", must=["B41"], must_not=["B16"], sets={"B41": "--max-num-seqs 384"}),
    # numbers that are no size of a pass
    job("a-grid-of-cells", "resolution of something else, patches, workers", "train.py --resolution 4 --patch_size 16 --num_workers 8 --hidden_size 4096 --num_samples 50000", [("/w/train.py", 22, "train"), MODULE, ("/w/net.py", 30, "forward")],
        phase="train", must=["P01", "P02"], must_not=["P37", "P135", "P136", "P134"]),
    job("trains-an-autoencoder", "its decoder is what is trained", "train_vae.py --batch_size 4", [("/w/train_vae.py", 22, "train"), MODULE, ("/w/models/vae.py", 30, "decode")], phase="train", must=["P36", "P01"], must_not=["P137"]),
    job("the-smallest-there-is", "one beam, one tile of 1", "translate.py --beam 1 --tile 1", [("/w/translate.py", 22, "main"), ("/w/search.py", 30, "step")], phase="infer", must_not=["P135", "P136", "P138"]),
    job("reads-in-chunks", "of files and of documents", "embed_docs.py --read_chunk_size 4096 --text_chunk_size 512 --batch-size 32", [("/w/embed_docs.py", 22, "<module>"), MODULE, ("/w/net.py", 3, "forward")], phase="infer",
        must=["P36"], must_not=["P136"]),
]
