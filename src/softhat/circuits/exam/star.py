"""AtP and AtP* on edges, softhat's own: their authors published no code.

AtP (Nanda, 2022) is the mean over pairs of |what the source would change · the reader's gradient|.
AtP* (Kramár et al., 2024) mends two failures of it. Where softmax is flat, edges into queries and
keys have no gradient: there the attention pattern is computed again with the reader's input
changed, and the gradient is taken behind the softmax. Where effects cancel, the gradient is taken
once for each layer with what goes around that layer stopped (GradDrop), and absolute values are
averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from softhat.circuits.exam.attribution import Hooks, by_edge, gradients, outputs, recorded
from softhat.circuits.exam.hooked import HookedStock
from softhat.circuits.exam.subject import Subject
from softhat.circuits.network import before

Changes = Mapping[str, Tensor]


def atp(subject: Subject, repository: Path | None = None) -> dict[str, float]:
    """AtP, edge by edge."""
    effects = by_edge(subject, _changes(subject), gradients(subject))
    return {name: float(effect.abs().mean()) for name, effect in effects.items()}


def atp_star(subject: Subject, repository: Path | None = None) -> dict[str, float]:
    """AtP with GradDrop, and with the fix of queries and keys."""
    model, changes = subject.hooked, _changes(subject)
    layers = model.cfg.n_layers
    runs = [gradients(subject, _stopped(layer)) for layer in range(layers)]
    totals: dict[str, Tensor] = {}
    for slots in runs:
        for name, effect in by_edge(subject, changes, slots).items():
            totals[name] = totals.get(name, torch.zeros_like(effect)) + effect.abs()
    if layers == 1:  # there is no other layer to go through
        return atp(subject) | _behind_softmax(subject, changes)
    scores = {name: float(total.mean()) / (layers - 1) for name, total in totals.items()}
    return scores | _behind_softmax(subject, changes)


def _changes(subject: Subject) -> dict[str, Tensor]:
    model, (clean, corrupt) = subject.hooked, subject.tokens
    with torch.no_grad():
        before, after = outputs(model, clean), outputs(model, corrupt)
    return {name: after[name] - before[name] for name in before}


def _stopped(layer: int) -> Hooks:
    """Hooks that let no gradient through what a layer adds."""

    def stop(value: Tensor, hook: Any) -> Tensor:
        return value.detach()

    names = ("hook_attn_out", "hook_mlp_out")
    return [(f"blocks.{layer}.{name}", stop) for name in names]


def _behind_softmax(subject: Subject, changes: Changes) -> dict[str, float]:
    """The attribution of edges into queries and keys: how the pattern changes, times its
    gradient."""
    model = subject.hooked
    names = [f"blocks.{number}.attn.hook_pattern" for number in range(model.cfg.n_layers)]
    patterns, by_pattern = recorded(model, subject, names)
    with torch.no_grad():
        _, cache = model.run_with_cache(subject.tokens[0])
    scores = {}
    for number, at in enumerate(names):
        for slot in "qk":
            stream = cache[f"blocks.{number}.hook_{slot}_input"]
            for source, change in changes.items():
                if not before(source, f"a{number}.h0"):
                    continue
                with torch.no_grad():
                    moved = _pattern(model, number, slot, cache, stream + change.unsqueeze(2))
                effect = ((moved - patterns[at]) * by_pattern[at]).sum(-1).abs()
                for h in range(model.cfg.n_heads):
                    name = f"{source}->a{number}.h{h}<{slot}>"
                    scores[name] = float(effect[:, h].sum(-1).mean())
    return scores


def _pattern(model: HookedStock, number: int, slot: str, cache: Any, stream: Tensor) -> Tensor:
    """The pattern of a layer whose queries or keys read this."""
    block: Any = model.blocks[number]
    inputs = {name: cache[f"blocks.{number}.hook_{name}_input"] for name in "qk"} | {slot: stream}
    return block.attn.pattern(block.ln1(inputs["q"]), block.ln1(inputs["k"]))
