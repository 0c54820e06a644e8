"""The names and shapes of a block's tensors, as the installed transformers has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from transformers import GPT2Config, GPT2Model, LlamaConfig, LlamaModel

from softhat.transformer.decoders import GPT2Block, LlamaBlock, norm_names


def shapes_of(model: Any, prefix: str) -> dict[str, tuple[int, ...]]:
    """The tensors below a prefix, without those that are no weights."""
    return {
        name.removeprefix(prefix): tuple(tensor.shape)
        for name, tensor in model.named_parameters()
        if name.startswith(prefix)
    }


def test_a_block_has_the_tensors_of_gpt2() -> None:
    config = GPT2Config(n_embd=8, n_layer=1, n_head=2, n_inner=5, n_positions=4, vocab_size=3)
    model = GPT2Model(config)
    assert GPT2Block.shapes(8, 5) == shapes_of(model, "h.0.")
    norms = {f"transformer.{name}" for name in shapes_of(model, "") if "ln_" in name}
    assert norms == {f"{name}.{part}" for name in norm_names(1) for part in ("weight", "bias")}


def test_a_block_has_the_tensors_of_llama() -> None:
    config = LlamaConfig(
        hidden_size=8,
        intermediate_size=5,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=2,
        vocab_size=3,
    )
    assert LlamaBlock.shapes(8, 8, 4, 5) == shapes_of(LlamaModel(config), "layers.0.")


def test_matrices_are_named_and_cast() -> None:
    shapes = LlamaBlock.shapes(2, 4, 2, 3)
    block = LlamaBlock(*(np.full(shapes[name], 0.1) for name in LlamaBlock.names().values()))
    tensors = block.cast(np.float32).tensors(7)
    assert {name: tensor.shape for name, tensor in tensors.items()} == {
        f"model.layers.7.{name}": shape for name, shape in shapes.items() if "norm" not in name
    }
    assert all((tensor == np.float32(0.1)).all() for tensor in tensors.values())
