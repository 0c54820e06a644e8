"""Uniform gradient sampling, by its authors' own code (github.com/maxtli/optimalablation).

It learns a probability for every edge (Li and Janson, 2024): edges are replaced by what they carry
on corrupt words, and the logits of the answer's position are to stay. The score of an edge is its
probability at the end.

The repository is a set of scripts for GPT-2 small. Its classes take a model of another size if the
sizes that stand in its module `circuit_utils` are this model's, and they are set to that. The loop
here is that of its script for uniform edge pruning, with its penalty. It takes 100 batches instead
of 3,000, so the rate is the script's own before it is divided by five for corrupt words.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch

from softhat.circuits.exam.packages import SAMPLED_MASKS, import_package, on_this_processor
from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import possible_edges

BATCHES, PENALTY, RATE = 100, 4e-2, 5e-2
NODE_PENALTY = 2e-4
CLIPPED = 5
"""The norm of a gradient, as in the script."""


def uniform_gradient_sampling(subject: Subject, repository: Path | None) -> dict[str, float]:
    """The probability of each edge after training on the subject's pairs."""
    with on_this_processor():
        samplers, pruners, config, circuits = (
            import_package(replace(SAMPLED_MASKS, name=folder), module, repository)
            for folder, module in (
                ("mask_samplers", "EdgeMaskSampler"), ("pruners", "EdgePruner"),
                ("utils", "MaskConfig"), ("utils", "circuit_utils"),
            )
        )  # fmt: skip
    torch.manual_seed(subject.seed)
    model = subject.fresh().requires_grad_(False)
    layers, heads = model.cfg.n_layers, model.cfg.n_heads
    _set_sizes(circuits, layers, heads)
    vars(config)["edge_prune_mask"] = vars(circuits)["edge_prune_mask"]
    settings = config.EdgeInferenceConfig(model.cfg, "cpu", "", init_param=1)
    settings.lamb = PENALTY
    sampler = samplers.EdgeMaskUnifSampler(settings, node_reg=min(0.5 * PENALTY, NODE_PENALTY))
    pruner = pruners.EdgePruner(
        model, settings, sampler, counterfactual_mode=True, condition_pos=True
    )
    pruner.add_cache_hooks()
    pruner.add_patching_hooks()
    optimiser = torch.optim.AdamW(sampler.parameters(), RATE, (0.9, 0.995), weight_decay=0)
    clean, corrupt = subject.tokens
    rows = torch.from_numpy(subject.pairs.position + 1)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints every batch
        for _ in range(BATCHES):
            some = torch.randint(len(clean), (settings.batch_size,))
            optimiser.zero_grad()
            loss = pruner(clean[some], rows[some], corrupt[some], timing=False, print_loss=False)
            loss.backward()
            sampler.clip_grad(CLIPPED)
            optimiser.step()
            sampler.fix_nans()
    scores = _named(sampler.sampling_params, layers, heads)
    return {name: scores[name] for name in possible_edges(subject.circuit.config)}


def _set_sizes(circuits: Any, layers: int, heads: int) -> None:
    """What stands in the module for 12 layers of 12 heads, for a model of this size."""
    circuits.n_layers, circuits.n_heads, circuits.device = layers, heads, "cpu"
    kinds = [(kind, at) for at in range(layers) for kind in ("attn", "mlp")]
    circuits.layers_to_prune = [*kinds, ("mlp", layers)]
    circuits.edge_prune_mask = {
        "attn-attn": [torch.ones(1, 3, heads, at, heads) for at in range(layers)],
        "mlp-attn": [torch.ones(1, 3, heads, at + 1) for at in range(layers)],
        "attn-mlp": [torch.ones(1, min(at + 1, layers), heads) for at in range(layers + 1)],
        "mlp-mlp": [torch.ones(1, at + 1) for at in range(layers + 1)],
    }


def _named(parameters: Any, layers: int, heads: int) -> dict[str, float]:
    """The probabilities by our names of edges."""
    of = {kind: [p.detach()[..., 0].sigmoid() for p in parameters[kind]] for kind in parameters}
    stream = ["input", *(f"m{at}" for at in range(layers))]
    scores: dict[str, float] = {}
    for at in range(layers):
        for slot, head in product(range(3), range(heads)):
            end = f"a{at}.h{head}<{'qkv'[slot]}>"
            for before in range(at + 1):
                scores[f"{stream[before]}->{end}"] = float(of["mlp-attn"][at][slot, head, before])
            for before, other in (
                (before, other) for before in range(at) for other in range(heads)
            ):
                scores[f"a{before}.h{other}->{end}"] = float(
                    of["attn-attn"][at][slot, head, before, other]
                )
    for at, end in enumerate([*stream[1:], "logits"]):
        for before in range(at + 1):
            scores[f"{stream[before]}->{end}"] = float(of["mlp-mlp"][at][before])
        for before, other in product(range(min(at + 1, layers)), range(heads)):
            scores[f"a{before}.h{other}->{end}"] = float(of["attn-mlp"][at][before, other])
    return scores
