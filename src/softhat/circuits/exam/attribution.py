"""Gradients by edge, on the hooked model: what attribution patching computes, edge by edge.

softhat's own: for AtP and AtP*, whose authors published no code that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor

from softhat.circuits.exam.hooked import HookedStock
from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import ends_of, possible_edges

Added = dict[str, Tensor]
"""What each node adds: (words, rows, d_model)."""
Hooks = Sequence[tuple[str, Any]]
"""Hook points by name, and what is called there."""
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


def recorded(
    model: HookedStock, subject: Subject, names: Iterable[str], hooks: Hooks = ()
) -> tuple[Added, Added]:
    """The values at hook points on the clean words, and the gradients of the metric by them, word
    by word. `hooks` are forward hooks that hold during the run; points that they cut off have no
    gradient."""
    values: Added = {}
    slopes: Added = {}

    def keep(into: Added) -> Callable[..., None]:
        def hook(tensor: Tensor, hook: Any) -> None:
            into[hook.name] = tensor.detach().clone()

        return hook

    forward, backward = ([(name, keep(into)) for name in names] for into in (values, slopes))
    with model.hooks(fwd_hooks=[*forward, *hooks], bwd_hooks=backward):
        subject.metric(model(subject.tokens[0])).sum().backward()
    model.zero_grad(set_to_none=True)
    return values, slopes


def gradients(subject: Subject, hooks: Hooks = ()) -> Slots:
    """Of the metric on the clean words, by what every reader reads."""
    model = subject.hooked
    readers = reading_hooks(model)
    _, seen = recorded(model, subject, list(readers.values()), hooks)
    slots: Slots = {}
    for name, at in readers.items():
        if at not in seen:
            continue
        if name.startswith("a"):
            layer, slot = name[1:].rstrip(">").split("<")
            for h in range(model.cfg.n_heads):
                slots[f"a{layer}.h{h}", slot] = seen[at][:, :, h]
        else:
            slots[name, ""] = seen[at]
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
