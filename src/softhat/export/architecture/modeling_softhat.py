"""The softhat architecture for Hugging Face transformers: each token is true or false.

The tokenizer's template adds the sinks `<bos>` and `<eos>`; logits are aligned with the input, so
that the logits of a symbol's token say whether the formula holds at that symbol. Padding may
stand on either side.

This file needs only torch and transformers: it is copied into exported folders.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, TokenClassifierOutput

from .configuration_softhat import SofthatConfig
from .module_softhat import Architecture, Body, Positions, ReluUnits, RoundedLinear, TokenRows


class SofthatPreTrainedModel(PreTrainedModel):
    """What the models share: the configuration and how new weights are drawn."""

    config_class = SofthatConfig
    base_model_prefix = "softhat"
    _supports_sdpa = True

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, RoundedLinear | TokenRows | Positions):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, RoundedLinear | ReluUnits) and module.bias is not None:
            nn.init.zeros_(module.bias)


class SofthatModel(SofthatPreTrainedModel):
    """The residual stream of a compiled model."""

    def __init__(self, config: SofthatConfig) -> None:
        super().__init__(config)
        self.body = Body(
            Architecture(
                attention=config.attention,
                tokens=config.vocab_size,
                bos=config.bos_token_id if config.starts_with_bos else None,
                eos=config.eos_token_id if config.ends_with_eos else None,
                positions=config.positions,
                d_model=config.hidden_size,
                outputs=0,
                layers=config.layers,
            )
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.body.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.body.embedding = value

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        config = self.config
        keep = config.output_attentions if output_attentions is None else output_attentions
        ordinary, valid = _places(input_ids, attention_mask, config)
        padding: Tensor | None = valid
        if not torch.compiler.is_compiling():
            _check_sinks(input_ids, valid, config)
            if bool(valid.all()):
                padding = None
        eager = bool(keep) or config._attn_implementation == "eager"
        residuals, maps = self.body.encode(self.body.embedding(input_ids), ordinary, padding, eager)
        wanted = (
            config.output_hidden_states if output_hidden_states is None else output_hidden_states
        )
        output = BaseModelOutput(
            last_hidden_state=residuals[-1],
            hidden_states=tuple(residuals) if wanted else None,
            attentions=maps if keep else None,
        )
        return output if return_dict is not False else output.to_tuple()


class SofthatForTokenClassification(SofthatPreTrainedModel):
    """Logits (batch, length, 2) for `false` and `true` at each token: minus and plus the margin;
    with several labels (a RASP program) one logit for each."""

    def __init__(self, config: SofthatConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.softhat = SofthatModel(config)
        self.classifier = RoundedLinear(config.hidden_size, config.num_labels, bias=True)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        base = self.softhat(
            input_ids,
            attention_mask=attention_mask,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
        )
        hidden = base.last_hidden_state
        logits = self.classifier(hidden).to(hidden.dtype)
        loss = None
        if labels is not None:  # -100: not counted (the sinks and padding)
            flat = logits.reshape(-1, self.num_labels).float()
            if self.config.problem_type == "multi_label_classification":
                wanted = labels.reshape(-1, self.num_labels).float()
                counted = wanted[:, 0] != -100
                loss = functional.binary_cross_entropy_with_logits(flat[counted], wanted[counted])
            else:
                loss = functional.cross_entropy(flat, labels.reshape(-1))
        output = TokenClassifierOutput(
            loss=loss, logits=logits, hidden_states=base.hidden_states, attentions=base.attentions
        )
        return output if return_dict is not False else output.to_tuple()


def _places(
    input_ids: Tensor, attention_mask: Tensor | None, config: SofthatConfig
) -> tuple[Tensor, Tensor]:
    """The words' own positions, and these with the sinks.

    A word starts at `<bos>` and ends at the first `<eos>` after it; what stands outside is
    padding, whether the mask says so or not. Without `<bos>` it starts at its first symbol.
    """
    bos, eos = input_ids == config.bos_token_id, input_ids == config.eos_token_id
    started = (bos if config.starts_with_bos else ~eos).cumsum(dim=1) > 0
    ends = (eos & started).cumsum(dim=1)
    valid = started & (ends <= eos.to(ends.dtype) * int(config.ends_with_eos))
    if attention_mask is not None:
        valid = valid & attention_mask.to(torch.bool)
    return valid & ~bos & ~eos, valid


def _check_sinks(input_ids: Tensor, valid: Tensor, config: SofthatConfig) -> None:
    """Every word has each sink that the model needs once, and no other `<bos>`."""
    wanted = {config.bos_token_id: config.starts_with_bos}
    if config.ends_with_eos:
        wanted[config.eos_token_id] = True
    for sink, once in wanted.items():
        found = (valid & (input_ids == sink)).sum(dim=1)
        if bool((found != int(once)).any()):
            raise ValueError(
                "each word starts with one <bos> token and ends with <eos> if the model needs it: "
                "let the tokenizer add them (add_special_tokens=True)"
            )
