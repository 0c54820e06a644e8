"""Of which kind an exported folder is: asked of any argument, before anything large is loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError
from softhat.io.files import is_file, is_folder, read_json
from softhat.proof.llama.checkpoint import FAMILIES

STOCK = ("gpt2", *FAMILIES)
"""What `model_type` says in the folders of `to_gpt2` and `to_llama`."""


def is_export(path: str | Path) -> bool:
    """Does this look like something that `softhat export` wrote?"""
    name = os.fspath(path)
    if name.endswith((".onnx", ".gguf")):
        return is_file(name)
    if not is_folder(name):
        return False
    try:
        return kind_of(config_in(Path(name))) is not None
    except SofthatError:
        return False


def config_in(folder: Path) -> dict[str, Any]:
    """The folder's `config.json`."""
    config = read_json(folder / "config.json", inside=folder)
    if not isinstance(config, dict):
        raise SofthatError(f"{folder}/config.json is no JSON object")
    return config


def kind_of(config: dict[str, Any]) -> str | None:
    """torch, huggingface, gpt2, llama, mistral, qwen2, or None for what is no export."""
    if config.get("format") == "softhat-torch/1":
        return "torch"
    model_type = str(config.get("model_type"))
    return "huggingface" if model_type == "softhat" else model_type if model_type in STOCK else None
