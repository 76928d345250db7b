"""What the tiny models have in common: a tokenizer of bytes that writes chats, and a Qwen3 of random weights."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import Qwen3Config, Qwen3ForCausalLM

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{%- if tools %}{{ '<|im_start|>system\n# Tools\n' }}{% for tool in tools %}{{ tool | tojson }}{{ '\n' }}"
    "{% endfor %}{{ '<|im_end|>\n' }}{% endif %}"
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% elif m['content'] %}{% for p in m['content'] %}"
    "{{ p['text'] if p['type'] == 'text' else '' }}{% endfor %}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make_tokenizer(kind, corpus, vocab_size, tokens=()):
    """Of the class `kind`, with all bytes, what is frequent in the corpus, and `tokens`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens(list(tokens))
    fast = kind(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )
    fast.chat_template = TEMPLATE
    return fast


def make_qwen(tokenizer, **config):
    """With room for the tokenizer's words, in a number that every kernel takes."""
    return Qwen3ForCausalLM(Qwen3Config(vocab_size=((len(tokenizer) + 63) // 64) * 64, **config))
