"""Writes a speech model of random weights: whisper.py FOLDER. A Whisper of one layer each, with the words of its family."""

import sys

import torch
from parts import make_tokenizer
from tokenizers import AddedToken
from transformers import (
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperProcessor,
    WhisperTokenizerFast,
)
from transformers.models.whisper.tokenization_whisper import LANGUAGES

END = "<|endoftext|>"
START = "<|startoftranscript|>"
TASKS = ["<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
TIMES = [f"<|{step * 0.02:.2f}|>" for step in range(1501)]
MARKS = [START, *(f"<|{language}|>" for language in LANGUAGES), *TASKS, *TIMES]
CORPUS = ["the quick brown fox jumps over the lazy dog and then it says hello to the world "] * 50


def make_model(tokenizer):
    torch.manual_seed(0)
    end = tokenizer.convert_tokens_to_ids(END)
    config = WhisperConfig(
        vocab_size=((len(tokenizer) + 63) // 64) * 64,
        d_model=64,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        decoder_start_token_id=tokenizer.convert_tokens_to_ids(START),
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    model = WhisperForConditionalGeneration(config)
    with torch.no_grad():
        favour_readable_text(model, tokenizer, end)
    model.generation_config.suppress_tokens = None
    model.generation_config.begin_suppress_tokens = None
    return model.to(torch.bfloat16)


def favour_readable_text(model, tokenizer, end):
    """ASCII, and an end now and then, by the first dimension, in which the last norm is a constant."""
    words = model.model.decoder.embed_tokens.weight
    words.normal_(0, 0.3)
    model.model.decoder.embed_positions.weight.normal_(0, 2)
    model.model.decoder.layer_norm.weight[0] = 0
    model.model.decoder.layer_norm.bias[0] = 1
    words[:, 0] = -20.0
    for token, index in tokenizer.get_vocab().items():
        text = tokenizer.convert_tokens_to_string([token])
        if token not in MARKS and text and all(32 <= ord(letter) < 127 for letter in text):
            words[index, 0] = 2.0
    words[end, 0] = 1.0


folder = sys.argv[1]
tokenizer = make_tokenizer(
    WhisperTokenizerFast, CORPUS, vocab_size=400, tokens=[AddedToken(mark, special=True) for mark in MARKS]
)
tokenizer.eos_token = END
extractor = WhisperFeatureExtractor()
make_model(tokenizer).save_pretrained(folder)
WhisperProcessor(extractor, tokenizer).save_pretrained(folder)
