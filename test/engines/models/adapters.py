"""Writes LoRA adapters of random weights for the chat model: adapters.py FOLDER. Large enough to change what it says."""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

HIDDEN = 128
LAYERS = 2
# Output sizes.
MODULES = {"q_proj": 128, "v_proj": 64}
# As (seed, rank).
ADAPTERS = {"one": (1, 8), "two": (2, 8), "wide": (3, 32)}


def make_weights(seed, rank):
    torch.manual_seed(seed)
    return {
        f"base_model.model.model.layers.{layer}.self_attn.{module}.lora_{matrix}.weight": torch.randn(shape) * 0.3
        for layer in range(LAYERS)
        for module, size in MODULES.items()
        for matrix, shape in (("A", (rank, HIDDEN)), ("B", (size, rank)))
    }


for name, (seed, rank) in ADAPTERS.items():
    folder = pathlib.Path(sys.argv[1], name)
    folder.mkdir(parents=True)
    save_file(make_weights(seed, rank), folder / "adapter_model.safetensors")
    sizes = {"r": rank, "lora_alpha": rank, "target_modules": list(MODULES)}
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "task_type": "CAUSAL_LM", **sizes}))
