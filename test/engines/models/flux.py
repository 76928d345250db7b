"""Writes an image model of random weights: flux.py FOLDER. FLUX.2 klein, which also edits images, and within a mask."""

import sys

import torch
from diffusers import AutoencoderKLFlux2, FlowMatchEulerDiscreteScheduler, Flux2KleinPipeline, Flux2Transformer2DModel
from parts import make_qwen, make_tokenizer
from transformers import Qwen2TokenizerFast

# The pipelines read the hidden states after layers 9, 18 and 27.
ENCODER_LAYERS = 28
ENCODER_SIZE = 32

torch.manual_seed(0)
tokenizer = make_tokenizer(Qwen2TokenizerFast, ["a ship leaves the harbour at dawn"] * 50, vocab_size=400)
encoder = make_qwen(
    tokenizer,
    hidden_size=ENCODER_SIZE,
    intermediate_size=32,
    num_hidden_layers=ENCODER_LAYERS,
    num_attention_heads=1,
    num_key_value_heads=1,
    head_dim=32,
    max_position_embeddings=1024,
    tie_word_embeddings=True,
)
pipeline = Flux2KleinPipeline(
    scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True),
    vae=AutoencoderKLFlux2(
        block_out_channels=(8, 8, 8, 8),
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=32,
        mid_block_add_attention=False,
    ),
    text_encoder=encoder,
    tokenizer=tokenizer,
    transformer=Flux2Transformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=32,
        num_attention_heads=2,
        joint_attention_dim=3 * ENCODER_SIZE,
        timestep_guidance_channels=32,
        axes_dims_rope=(8, 8, 8, 8),
        guidance_embeds=False,
    ),
    is_distilled=True,
)
pipeline.to(torch.bfloat16)
pipeline.save_pretrained(sys.argv[1])
