"""Small stock GPT-2s with random weights, written as folders without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file


def tensors(
    seed: int, *, layers: int = 1, width: int = 8, vocabulary: int = 4, context: int = 12,
    scale: float = 0.5,
) -> dict[str, Any]:  # fmt: skip
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> Any:
        return (random.normal(size=shape) * scale).astype(np.float32)

    made = {"transformer.wte.weight": draw(vocabulary, width)}
    made["transformer.wpe.weight"] = draw(context, width)
    for layer in range(layers):
        at = f"transformer.h.{layer}"
        for name, inside, outside in (
            ("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
            ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width),
        ):  # fmt: skip
            made[f"{at}.{name}.weight"] = draw(inside, outside)
            made[f"{at}.{name}.bias"] = draw(outside)
        for name in ("ln_1", "ln_2"):
            made[f"{at}.{name}.weight"] = 1 + draw(width)
            made[f"{at}.{name}.bias"] = draw(width)
    made["transformer.ln_f.weight"] = 1 + draw(width)
    made["transformer.ln_f.bias"] = draw(width)
    return made


def config(**changes: Any) -> dict[str, Any]:
    return {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 1, "n_embd": 8,
        "n_head": 2, "n_positions": 12, "vocab_size": 4, "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5, "bos_token_id": 2, "eos_token_id": 3,
    } | changes  # fmt: skip


def write(folder: Path, made: dict[str, Any], settings: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings))
    save_file(made, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def model(folder: Path, seed: int = 0, layers: int = 1, scale: float = 0.5, **changes: Any) -> Path:
    return write(
        folder, tensors(seed, layers=layers, scale=scale), config(n_layer=layers, **changes)
    )


AB = {
    "symbols": {"a": 0, "b": 1}, "bos": 2, "eos": 3, "decide": "sign", "start": "q0",
    "next": {"q0": {"a": "q1"}, "q1": {"a": "q1", "b": "q0"}},
    "allowed": {"q0": ["a", "<eos>"], "q1": ["a", "b"]},
}  # fmt: skip
"""(aa*b)*, as a language model should know it."""
