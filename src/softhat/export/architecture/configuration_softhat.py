"""The configuration of the softhat architecture for Hugging Face transformers.

This file needs only transformers: it is copied into exported folders.
"""

from __future__ import annotations

from typing import Any

from transformers import PretrainedConfig


class SofthatConfig(PretrainedConfig):
    """Shapes, masks, laws and position features of a softhat model (see `Architecture`).

    Words start with `<bos>` if `starts_with_bos` and end with `<eos>` if `ends_with_eos`. Padding
    is `<eos>` too.
    """

    model_type = "softhat"

    def __init__(
        self,
        attention: str = "unbounded",
        positions: list[Any] | None = None,
        layers: list[dict[str, Any]] | None = None,
        hidden_size: int = 1,
        vocab_size: int = 1,
        starts_with_bos: bool = True,
        ends_with_eos: bool = False,
        **kwargs: Any,
    ) -> None:
        self.attention = attention
        self.positions = list(positions or [])
        self.layers = list(layers or [])
        self.hidden_size = hidden_size
        self.vocab_size = vocab_size
        self.starts_with_bos = starts_with_bos
        self.ends_with_eos = ends_with_eos
        self.num_hidden_layers = len(self.layers)
        self.num_attention_heads = max((len(layer["masks"]) for layer in self.layers), default=0)
        super().__init__(**kwargs)
