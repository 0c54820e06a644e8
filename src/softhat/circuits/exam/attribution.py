"""Gradients by edge, on the hooked model: what attribution patching computes, edge by edge.

softhat's own: for marking whether gradients see an edge at all, and for AtP and AtP*, whose
authors published no code that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from softhat.circuits.exam.hooked import HookedStock
from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import ends_of, possible_edges

Added = dict[str, Tensor]
"""What each node adds: (words, rows, d_model)."""
Slots = dict[tuple[str, str], Tensor]
"""The gradient of the metric by what each reader reads."""


def outputs(model: HookedStock, tokens: Tensor) -> Added:
    """What every node adds."""
    _, cache = model.run_with_cache(tokens)
    start = cache["hook_embed"]
    added = {"input": start + cache["hook_pos_embed"] if model.positions is not None else start}
    for number in range(model.cfg.n_layers):
        result = cache[f"blocks.{number}.attn.hook_result"]
        added |= {f"a{number}.h{h}": result[:, :, h] for h in range(model.cfg.n_heads)}
        added[f"m{number}"] = cache[f"blocks.{number}.hook_mlp_out"]
    return {name: value.detach() for name, value in added.items()}


def reading_hooks(model: HookedStock) -> dict[str, str]:
    """The hook by which a reader reads, by its name: `a0<q>` for all heads of a layer."""
    hooks = {"logits": f"blocks.{model.cfg.n_layers - 1}.hook_resid_post"}
    for number in range(model.cfg.n_layers):
        hooks |= {f"a{number}<{slot}>": f"blocks.{number}.hook_{slot}_input" for slot in "qkv"}
        hooks[f"m{number}"] = f"blocks.{number}.hook_mlp_in"
    return hooks


def gradients(
    model: HookedStock, subject: Subject, tokens: Tensor, hooks: list[tuple[str, Any]] | None = None
) -> Slots:
    """Of the metric on these words, by what every reader reads, word by word. `hooks` are forward
    hooks that hold during the run; readers that they cut off are not there."""
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook(gradient: Tensor, hook: Any) -> None:
            seen[name] = gradient.detach().clone()

        return hook

    readers = reading_hooks(model)
    backward = [(at, keep(name)) for name, at in readers.items()]
    with model.hooks(fwd_hooks=hooks or [], bwd_hooks=backward):
        subject.metric(model(tokens)).sum().backward()
    model.zero_grad(set_to_none=True)
    slots: Slots = {}
    for name, gradient in seen.items():
        if name.startswith("a"):
            layer, slot = name[1:].rstrip(">").split("<")
            for h in range(model.cfg.n_heads):
                slots[f"a{layer}.h{h}", slot] = gradient[:, :, h]
        else:
            slots[name, ""] = gradient
    return slots


def by_edge(subject: Subject, change: Mapping[str, Tensor], slots: Slots) -> dict[str, Tensor]:
    """The attribution of every edge, word by word: what its source would add more, times the
    reader's gradient."""
    effects = {}
    for name in possible_edges(subject.circuit.config):
        source, target, slot = ends_of(name)
        if (target, slot) in slots:
            effects[name] = (change[source] * slots[target, slot]).sum((1, 2))
    return effects


FAINT = 1e-9
"""An attribution below this share of the margin is no gradient to speak of."""


def seen_by_gradients(subject: Subject, scores: Mapping[str, float]) -> tuple[int, int]:
    """How many true edges have an attribution (of AtP) other than 0, and how many there are."""
    with torch.no_grad():
        margin = float(subject.metric(subject.hooked(subject.tokens[0])).abs().mean())
    true = [edge.name for edge in subject.circuit.edges if edge.carries == "input"]
    return sum(scores[name] > FAINT * margin for name in true), len(true)
