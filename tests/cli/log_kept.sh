#!/usr/bin/env bash
# What a text says is to stay as it is, is refused or did not help is not offered: by a setting's own name, or by what people call it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

ask() { # NAME: reads the ticket from standard input
    cat > "$1.md"
    run 0 report "$1.md" --no-config --force --format text --full -o "$1.text"
}
top() { sed -n '/^Change first\|^To try first/,/^Log/p' "$1.text" | tr -s ' \n' ' '; }
has() { check grep -qF -- "$2" <(top "$1"); }
has_not() { check [ "$(top "$1" | grep -cF -- "$2")" = 0 ]; }

# By the key's own name.
vllm='vLLM: CUDA out of memory while it serves, max_num_seqs is 256.'
ask plain <<< "$vllm"
has plain 128
for says in "I can't change max_num_seqs." 'max_num_seqs has to stay.' 'Lowering max_num_seqs does not help.' 'A smaller max_num_seqs had no effect.' 'We must keep max_num_seqs.' 'max_num_seqs 不能改。' '不想降 max_num_seqs。' '调低 max_num_seqs 没用。' \
    'Can it fit without reducing max_num_seqs?' '- max_num_seqs: cannot be lowered'; do
    ask key <<< "$vllm"$'\n\n'"$says"
    has_not key 'max_num_seqs=128'
done
for says in "I can't change the model, max_num_seqs I can." 'max_num_seqs may be lowered.' 'Would max_num_seqs help?' '没用别的，max_num_seqs 可以改。'; do
    ask free <<< "$vllm"$'\n\n'"$says"
    has free 128
done

# By what it is called. What one step takes may stay, where a pass takes less.
script='My own script runs out of memory in training, batch size 16.'
ask batch <<< "$script"
has batch 'batch_size=8'
for says in "I can't reduce the batch size." 'The batch size is fixed.' '不能减小 batch size。'; do
    ask batch <<< "$script"$'\n\n'"$says"
    has_not batch 'batch_size=8'
done
for says in 'The global batch size is fixed.' "I can't change the total batch size."; do
    ask whole <<< "$script"$'\n\n'"$says"
    has whole 'batch_size=8'
done
axolotl=$'Axolotl: out of memory in training.\n\n    sequence_len: 8192\n    micro_batch_size: 2'
ask length <<< "$axolotl"
has length 'sequence_len: 4096'
ask length <<< "$axolotl"$'\n\nI need to keep the context length.'
has_not length 'sequence_len: 4096'
has length 'micro_batch_size: 1'
ask beams <<< '我用 generate 推理，num_beams=4，batch_size=8，显存不足。不能改 beam 数。'
has_not beams 'num_beams=2'
has beams 'batch_size=4'

# A call, which no settings show.
pipe='My FluxPipeline of diffusers runs out of memory when it makes images.'
ask call <<< "$pipe"
has call 'enable_model_cpu_offload()'
for says in 'I call pipe.enable_model_cpu_offload() already.' 'enable_model_cpu_offload() does not help.' '已经用了 enable_model_cpu_offload。'; do
    ask call <<< "$pipe"$'\n\n'"$says"
    has_not call 'enable_model_cpu_offload()'
done
ask asked <<< "$pipe"$'\n\nShould I call enable_model_cpu_offload()?'
has asked 'enable_model_cpu_offload()'
finish
