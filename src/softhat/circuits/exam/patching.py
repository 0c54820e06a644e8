"""Patching in the tools themselves: TransformerLens' activation patching, nnsight's attribution
patching; and edges patched one by one in float64, by softhat.

TransformerLens and nnsight score nodes. An edge is as important as the less important of its ends.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import ends_of, possible_edges
from softhat.circuits.network import Begun, Patch


def activation_patching(subject: Subject, repository: Path | None) -> dict[str, float]:
    """`transformer_lens.patching`: each head's and each feed-forward layer's output, taken from
    the clean word into the corrupt one, at all positions."""
    from transformer_lens import patching

    model = subject.hooked
    clean, corrupt = subject.tokens
    with torch.no_grad():
        _, cache = model.run_with_cache(clean)
        start = float(subject.metric(model(corrupt)).mean())

        def metric(logits: Any) -> Any:
            return subject.metric(logits).mean()

        heads = patching.get_act_patch_attn_head_out_all_pos(model, corrupt, cache, metric)
        layers = patching.get_act_patch_mlp_out(model, corrupt, cache, metric)
    nodes = {"input": math.inf, "logits": math.inf}
    for number in range(model.cfg.n_layers):
        nodes |= {f"a{number}.h{h}": abs(float(x) - start) for h, x in enumerate(heads[number])}
        nodes[f"m{number}"] = float((layers[number] - start).abs().max())
    return by_ends(subject, nodes)


def nnsight_attribution(subject: Subject, repository: Path | None) -> dict[str, float]:
    """Attribution patching by nnsight, as its tutorial does it, on Hugging Face's own model: the
    gradient by each node's output times what the corrupt word would change there."""
    import nnsight

    from softhat.export.lens import load_nnsight

    model = load_nnsight(subject.folder, dtype="float64")
    clean, corrupt = subject.tokens
    gpt2 = subject.question["dress"].startswith("gpt2")
    layers = range(subject.hooked.cfg.n_layers)
    blocks = model.transformer.h if gpt2 else model.model.layers
    projections = [blocks[k].attn.c_proj if gpt2 else blocks[k].self_attn.o_proj for k in layers]
    corrupt_z, corrupt_m, clean_z, clean_m, z, m = ([] for _ in range(6))
    with torch.no_grad(), model.trace(corrupt):
        for k in layers:
            corrupt_z.append(projections[k].input.save())
            corrupt_m.append(blocks[k].mlp.output.save())
    with model.trace(clean):
        for k in layers:
            z.append(projections[k].input)
            clean_z.append(z[k].save())
            m.append(blocks[k].mlp.output)
            clean_m.append(m[k].save())
        by_z, by_m = nnsight.save([]), nnsight.save([])
        with subject.metric(model.output.logits).sum().backward():
            for k in reversed(layers):
                by_m.insert(0, m[k].grad.save())
                by_z.insert(0, z[k].grad.save())
    heads = subject.hooked.cfg.n_heads
    nodes = {"input": math.inf, "logits": math.inf}
    for k in layers:
        effect = (
            ((corrupt_z[k] - clean_z[k]) * by_z[k]).detach().unflatten(-1, (heads, -1)).sum((1, 3))
        )
        nodes |= {f"a{k}.h{h}": float(effect[:, h].abs().mean()) for h in range(heads)}
        moved = ((corrupt_m[k] - clean_m[k]) * by_m[k]).detach().sum((1, 2))
        nodes[f"m{k}"] = float(moved.abs().mean())
    return by_ends(subject, nodes)


def by_ends(subject: Subject, nodes: dict[str, float]) -> dict[str, float]:
    """An edge is as important as the less important of its ends."""
    scores = {}
    most = max((value for value in nodes.values() if math.isfinite(value)), default=0.0) + 1.0
    for name in possible_edges(subject.circuit.config):
        source, target, _ = ends_of(name)
        scores[name] = min(nodes[source], nodes[target], most)
    return scores


def edge_patching(subject: Subject, repository: Path | None) -> dict[str, float]:
    """softhat's own: each edge alone carries what it carries on the corrupt word; the mean of how
    far the margins at the pairs' places move."""
    network, pairs = subject.network, subject.pairs
    added, _ = network.run(pairs.corrupt)
    begun = Begun.of(network, pairs.clean)
    rows = np.arange(len(pairs.clean)), pairs.position
    scores = {}
    for name in possible_edges(subject.circuit.config):
        source, target, slot = ends_of(name)
        _, patched = network.run(pairs.clean, Patch(source, (target, slot), added[source], begun))
        moved = np.abs(patched - begun.margins)[..., 0][rows]
        scores[name] = float(moved.mean())
    return scores
