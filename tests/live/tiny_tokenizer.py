"""Writes a model folder that has words and no weights: enough for a frontend that counts tokens; no download."""

from __future__ import annotations

import json
from pathlib import Path

#: A word is a token. Dynamo's mocker answers with ids from 1,000 to 2,000: all of them must be words.
WORDS = 3_000
UNKNOWN, END = "[UNK]", "</s>"


def write_tokenizer(folder: Path) -> None:
    """Write the files of a Hugging Face model folder that describe words, template and lengths."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {UNKNOWN: 0, END: 1, **{f"w{number}": number for number in range(2, WORDS)}}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": 0, "content": UNKNOWN, **special}, {"id": 1, "content": END, **special}],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
        **dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder")),
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": UNKNOWN,
        "eos_token": END,
        "model_max_length": 4096,
        "chat_template": "{% for m in messages %}{{ m.content }} {% endfor %}",
    }
    model = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": WORDS,
        "max_position_embeddings": 4096,
        "torch_dtype": "float32",
    }
    ends = {"eos_token_id": 1, "bos_token_id": 1}
    files = {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": settings,
        "config.json": {**model, **ends},
        "generation_config.json": ends,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
