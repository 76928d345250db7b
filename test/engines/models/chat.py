"""Writes a chat model of random weights: chat.py FOLDER. A Qwen3 of two layers, with a tokenizer of bytes."""

import sys

import torch
from parts import make_qwen, make_tokenizer
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

CONTEXT = 16384
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
# As a reranker it says by these how well a text fits.
VERDICTS = ["yes", "no"]
CORPUS = [
    "the quick brown fox jumps over the lazy dog and then it says hello to the world of small models ",
    '{"name": "weather", "arguments": {"city": "Paris", "unit": "celsius"}} true false null 0123456789',
] * 50


def make_model(tokenizer):
    torch.manual_seed(0)
    model = make_qwen(
        tokenizer,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        bos_token_id=tokenizer.convert_tokens_to_ids("<|im_start|>"),
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        use_sliding_window=False,
    )
    with torch.no_grad():
        favour_readable_text(model, tokenizer)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.do_sample = True
    model.generation_config.temperature = 1.0
    return model.to(torch.bfloat16)


def favour_readable_text(model, tokenizer):
    """ASCII, and an end now and then: tool calls and JSON come to an end. The first dimension is a constant for that."""
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.normal_(0, 0.08)
    model.model.embed_tokens.weight[:, 0] = 1.0
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight[0].zero_()
        layer.mlp.down_proj.weight[0].zero_()
    head = model.lm_head.weight
    head[:, 0] = -20.0
    for token, index in tokenizer.get_vocab().items():
        if index in tokenizer.all_special_ids or token in MARKS:
            continue
        text = tokenizer.convert_tokens_to_string([token])
        if text and all(32 <= ord(letter) < 127 or letter == "\n" for letter in text):
            head[index, 0] = 0.6
    head[tokenizer.eos_token_id, 0] = 0.5


folder = sys.argv[1]
tokenizer = make_tokenizer(
    PreTrainedTokenizerFast,
    CORPUS,
    vocab_size=500,
    tokens=[AddedToken(mark, special=False) for mark in [*MARKS, *VERDICTS]],
)
make_model(tokenizer).save_pretrained(folder)
tokenizer.save_pretrained(folder)
