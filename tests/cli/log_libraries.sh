#!/usr/bin/env bash
# The libraries that a text names, by their classes, files and commands, tell what ran, whether it trains, and which levers there are.
# About 2 s.
# The marks of Markdown are meant:
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

full='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 200.00 MiB is free. Including non-PyTorch memory, this process has 23.44 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.'
ask() { # NAME TEXT
    printf '%b\n\n%s\n' "$2" "$full" > "$1"
    run 0 report "$1" --force --no-config --format text --full -o "$1.text"
}
# What stands above the list of all advice.
first() { check grep -qF -- "$2" <(sed '/^All advice/,$d' "$1.text" | tr -s ' \n' ' '); }
first_not() { check [ "$(sed '/^All advice/,$d' "$1.text" | tr -s ' \n' ' ' | grep -cF -- "$2")" = 0 ]; }
no_training()
{
    first_not "$1" 'torch.utils.checkpoint'
    first_not "$1" 'If it trains'
    first_not "$1" 'backward() twice'
    first_not "$1" 'If nothing trains'
}

# A class of a pipeline, in the title alone: it only generates.
ask pipe '# LTXImageToVideoPipeline needs more than 24 GB\n\nIs there a way to make it fit?'
first pipe 'pipe.enable_model_cpu_offload()'
first pipe 'enable_layerwise_casting'
first pipe 'num_frames=<half>'
no_training pipe
# What is decoded outside of the pipeline keeps its graph.
ask hand '# Decoding by hand needs more memory\n\nWith output_type="latent" and then `frames = pipe.decode_latents(latents)` of HunyuanVideoPipeline it runs out.'
first hand '1. No autograd where the script decodes latents itself'
no_training hand
# Not a name that only ends alike, and not where it is denied.
ask alike '# OOM of our DataPipeline\n\nWe run without StableDiffusionPipeline.'
first_not alike 'enable_model_cpu_offload'
# Its own training script trains.
ask dream '# OOM\n\naccelerate launch train_dreambooth_lora_flux.py --train_batch_size 2 --resolution 1024 --learning_rate 1e-4'
first_not dream 'enable_layerwise_casting'
# What a pipeline is set to in the script that the text shows is not advised.
ask set '# FLUX on a T4\n\n```python\nimport torch\nfrom diffusers import FluxPipeline\npipe = FluxPipeline.from_pretrained(name)\npipe.enable_model_cpu_offload()\nimage = pipe(prompt).images[0]\n```'
first set 'pipe.enable_sequential_cpu_offload()'
first_not set 'pipe.enable_model_cpu_offload()'
# Clips by a program's own script: its own flags; a request that no clip has asks for another look.
ask clip '# OOM of t2v-14B on two cards\n\n    python generate.py --task t2v-14B --size 1280*720 --ckpt_dir ./w'
first clip '--offload_model True'
first clip '--t5_cpu'
no_training clip
ask hyvideo '# OOM\n\npython3 sample_video.py --video-size 720 1280 --video-length 129 --infer-steps 50'
first hyvideo '--use-cpu-offload'
first_not hyvideo '--t5_cpu'
# Speech.
ask speech '# Long chapters fail\n\nfrom espnet2.bin.tts_inference import Text2Speech\ntts = Text2Speech(config, weights)\nwav = tts(chapter)["wav"]'
first speech 'Shorter texts and shorter samples of the voice'
first speech 'one sentence at a time'
no_training speech
# Data may be synthesised as well.
ask data '# OOM with vLLM\n\nWe synthesize questions with vLLM, and it runs out.'
first_not data 'samples of the voice'
# Gaussians: three trainers, each with its own flags.
ask splat '# 3DGS: OOM at iteration 9000\n\npython train.py -s data/garden'
first splat '--densify_grad_threshold 0.0004'
first_not splat '--pipeline.model'
no_training splat
ask facto '# OOM\n\nns-train splatfacto-big --data data/garden --max-num-iterations 30000'
first facto '--pipeline.model.stop-split-at 10000'
first_not facto '--densify_grad_threshold'
no_training facto
ask gsplat '# OOM with gsplat\n\nCUDA_VISIBLE_DEVICES=0 python examples/simple_trainer.py default --data_dir data/garden --result_dir out'
first gsplat '--strategy.grow-grad2d'
first gsplat '--packed'
# A radiance field has rays in place of Gaussians.
ask nerf '# OOM while rendering\n\nns-train nerfacto --data data/garden'
first nerf 'Fewer rays in one pass'
first_not nerf 'Gaussians'
# One graph that is whole in each pass; one that is sampled already.
ask graph '# GCN on ogbn-papers100M\n\n```\nfrom torch_geometric.nn import GCNConv\nloss = model(data.x, data.edge_index)[mask].sum()\nloss.backward()\n```'
first graph 'NeighborLoader(data, num_neighbors=[10, 5]'
first graph 'Fewer or narrower layers over the graph'
first_not graph 'torch.utils.checkpoint'
ask sampled '# OOM\n\nWe use NeighborLoader(data, num_neighbors=[30, 30, 30], batch_size=4096) of torch_geometric to train.'
first sampled 'fewer neighbours at each hop'
first_not sampled 'NeighborLoader(data, num_neighbors=[10, 5]'
# Each sample is a graph: a batch of fewer.
ask molecules '# OOM\n\n```python\nfrom torch_geometric.loader import DataLoader\nloader = DataLoader(dataset, batch_size=512)\nfor batch in loader:\n    out = model(batch.x, batch.edge_index, batch.batch)\n    loss(out, batch.y).backward()\n```'
first molecules 'batch_size=256'
first_not molecules 'NeighborLoader'
# Rendering has no densification, and numbers of 32 bits.
ask views '# gaussian-splatting: OOM\n\npython render.py -m out --skip_train'
first views '--resolution 2'
first_not views '--densify_grad_threshold'
first_not views 'model.to(dtype=torch.bfloat16)'
# A graph of nodes that draws images.
ask comfy '# ComfyUI stops in the KSampler\n\nThe workflow makes 161 frames.'
first comfy '--lowvram at its start'
no_training comfy
# Flags that several trainers share, and the class of one of them.
ask pairs '# OOM\n\n```\naccelerate launch pairs.py --per_device_train_batch_size 8 --learning_rate 1e-6\n```\n\nThe script makes a DPOTrainer of a 7B.'
first pairs "TRL's memory settings"
first pairs 'per_device_train_batch_size=4'
first pairs 'precompute_ref_log_probs=True'
finish
