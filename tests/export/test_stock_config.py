"""The closed lists hold all that the installed transformers and tokenizers read.

A newer version that reads one more attribute fails here: then it has to be added to the list, with
the value that is proved, or here, with the reason why no logit depends on it.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import softhat
from softhat.export.stock.config import (
    GPT2Shape,
    LlamaShape,
    class_of,
    gpt2_config,
    gpt2_shapes,
    llama_config,
    llama_shapes,
)

transformers = pytest.importorskip("transformers")
pytest.importorskip("torch")

FAMILIES = ("gpt2", "llama", "mistral", "qwen2")
HEADS = ("token-classification", "multi-label", "lm")
UNREAD = {
    "transformers_version": "says who wrote the file",
    "name_or_path": "says where it was read from",
    "summary_type": "GPT2DoubleHeadsModel alone",
    "summary_use_proj": "GPT2DoubleHeadsModel alone",
    "summary_activation": "GPT2DoubleHeadsModel alone",
    "summary_proj_to_labels": "GPT2DoubleHeadsModel alone",
    "summary_first_dropout": "GPT2DoubleHeadsModel alone",
    "summary_last_dropout": "GPT2DoubleHeadsModel alone",
    "hidden_dropout": "read where there is no classifier_dropout, and there is",
    "num_labels": "the number of labels in id2label",
    "per_layer_config": "made from the attributes, unless a file has it",
    "is_heterogeneous": "whether a file has per_layer_config",
    "attention_chunk_size": "for layers of chunked attention, which these families have not",
    "default_theta": "the class's own, read where rope_theta is missing",
    "get_text_config": "a method", "get_mtp_config": "a method", "validate_rope": "a method",
    "standardize_rope_params": "a method", "nested_rope_parameter_keys": "a method",
    "json": "config.json in a message",
    "chain_hidden_post_norm": "MtpModel alone", "mtp_hidden_states_first": "MtpModel alone",
    "logits_mup_width_multiplier": "MtpModel alone", "unpadded_vocab_size": "MtpModel alone",
}  # fmt: skip
LABELS = {"id2label", "label2id", "problem_type", "classifier_dropout", "token_classification_bias"}
"""What language models do not read."""


def shape(family: str, head: Any) -> Any:
    common: dict[str, Any] = {
        "family": family, "tokens": ("a", "b", "<bos>", "<eos>"), "context": 16, "d_model": 32,
        "d_ff": 8, "blocks": 3, "n_head": 2, "epsilon": 1e-12, "kernel": "sdpa", "head": head,
        "outputs": ("x", "y", "z") if head == "multi-label" else ("x",),
    }  # fmt: skip
    if family == "gpt2":
        return GPT2Shape(**common, activation="relu")
    return LlamaShape(**common, n_kv=2, head_dim=16, theta=1e6, factor=4.0)


def listed(family: str, head: str) -> dict[str, Any]:
    made = shape(family, head)
    return gpt2_config(made) if family == "gpt2" else llama_config(made)


def settings(config: Any) -> set[str]:
    """The attributes of a configuration that a file can set."""
    return {name.lstrip("_") for name in vars(config)} - {
        "post_init_done", "attn_implementation_internal", "experts_implementation_internal",
        "experts_implementation", "pre_quantization_dtype", "commit_hash",
    }  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", HEADS)
def test_every_attribute_of_the_class_is_listed(family: str, head: str) -> None:
    kind = getattr(transformers, class_of(family, head)).config_class
    known = {*listed(family, head), *UNREAD, *(LABELS if head == "lm" else ())}
    known |= set(kind.attribute_map)  # aliases
    assert settings(kind()) - known == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_attribute_that_the_code_reads_is_listed(family: str) -> None:
    """By its source: attributes of a configuration, with a default or without."""
    import transformers.masking_utils
    import transformers.modeling_layers
    import transformers.modeling_rope_utils

    kind = getattr(transformers, class_of(family, "lm"))
    own = inspect.getsource(inspect.getmodule(kind))
    shared = (
        transformers.masking_utils,
        transformers.modeling_layers,
        transformers.modeling_rope_utils,
    )
    text = own + "".join(inspect.getsource(module) for module in shared)
    read = set(re.findall(r"config\.([a-z]\w*)", text))
    read |= set(re.findall(r"getattr\(\s*\w*\.?\w*config, \"(\w+)\"", text))
    listed_somewhere = {name for f in FAMILIES for name in listed(f, "token-classification")}
    unknown = read - listed_somewhere - set(UNREAD) - set(kind.config_class.attribute_map)
    assert unknown == set()
    here = set(re.findall(r"config\.([a-z]\w*)", own))
    known = {*listed(family, "token-classification"), *UNREAD, *kind.config_class.attribute_map}
    assert here - known == set()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", HEADS)
def test_what_is_listed_arrives(family: str, head: str) -> None:
    """The class takes every value as it is written, and has the tensors that are listed."""
    made, kind = listed(family, head), getattr(transformers, class_of(family, head))
    config = kind.config_class(**json.loads(json.dumps(made)))
    for name, value in made.items():
        if name in ("attn_implementation", "rope_theta", "rope_scaling", "torch_dtype", "dtype"):
            continue
        found = getattr(config, name)
        if name == "id2label":
            found = {str(key): label for key, label in found.items()}
        assert found == value, name
    assert config._attn_implementation == "sdpa" and str(config.dtype) == "torch.float32"
    tensors = {name: tuple(tensor.shape) for name, tensor in kind(config).state_dict().items()}
    expected = (gpt2_shapes if family == "gpt2" else llama_shapes)(shape(family, head))
    assert tensors == expected


def test_every_field_of_a_tokenizer_is_listed(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    softhat.to_gpt2(softhat.compile("a S b", alphabet="ab"), tmp_path / "m", 16)
    path = tmp_path / "m" / "tokenizer.json"
    read = json.loads(tokenizers.Tokenizer.from_file(str(path)).to_str())
    assert read == json.loads(path.read_text())


def test_nothing_but_the_listed_changes_how_tokens_are_drawn(tmp_path: Path) -> None:
    """What generation_config.json does not say is left at its neutral value."""
    model = softhat.compile({"a": "!a", "b": "a", "<eos>": "!a"}, alphabet="ab")
    softhat.to_gpt2(model, tmp_path / "m", 16, head="lm")
    read = transformers.GenerationConfig.from_pretrained(tmp_path / "m")
    neutral = {
        "temperature": (None, 1.0), "top_k": (0,), "top_p": (None, 1.0), "min_p": (None,),
        "typical_p": (None, 1.0), "epsilon_cutoff": (None, 0.0), "eta_cutoff": (None, 0.0),
        "repetition_penalty": (None, 1.0), "no_repeat_ngram_size": (None, 0),
        "num_beams": (None, 1), "renormalize_logits": (None, False),
        "bad_words_ids": (None,), "suppress_tokens": (None,), "begin_suppress_tokens": (None,),
        "forced_bos_token_id": (None,), "forced_eos_token_id": (None,), "sequence_bias": (None,),
        "guidance_scale": (None, 1.0), "top_h": (None,),
    }  # fmt: skip
    for name, values in neutral.items():
        assert getattr(read, name, None) in values, name
