"""Methods of the package auto-circuit, by its own code (github.com/UFO-101/auto-circuit).

ACDC (Conmy et al., 2023) and subnetwork probing, which learns a mask of edges (Cao et al., 2021).
Both keep the logits of all symbols, by Kullback-Leibler divergence.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softhat.circuits.exam.packages import AUTO_CIRCUIT, import_package
from softhat.circuits.exam.subject import Subject

EXPONENTS, BASES = (-4, -3, -2, -1), (1,)
"""ACDC's thresholds are a·10^b. Margins here are about 20: more thresholds tell no more apart."""
EPOCHS = 40


def acdc(subject: Subject, repository: Path | None) -> dict[str, float]:
    """The greatest threshold at which an edge stays."""
    algorithm = import_package(AUTO_CIRCUIT, "prune_algos.ACDC", repository)
    model = _patchable(subject, repository)
    scores = algorithm.acdc_prune_scores(
        model, _loader(subject, repository), None, list(EXPONENTS), list(BASES)
    )
    most = 10.0 * max(BASES) * 10.0 ** max(EXPONENTS)
    return _named(model, scores, most)


def subnetwork_probing(subject: Subject, repository: Path | None) -> dict[str, float]:
    """The mask of each edge after training, of edges that are kept where it counts."""
    algorithm = import_package(AUTO_CIRCUIT, "prune_algos.subnetwork_probing", repository)
    torch.manual_seed(subject.seed)
    vars(torch.optim)["adam"] = sys.modules["torch.optim.adam"]  # newer versions hide it
    model = _patchable(subject, repository)
    scores = algorithm.subnetwork_probing_prune_scores(
        model,
        _loader(subject, repository),
        None,
        epochs=EPOCHS,
        tree_optimisation=True,
    )
    return _named(model, scores, math.inf)


def _patchable(subject: Subject, repository: Path | None) -> Any:
    graphs = import_package(AUTO_CIRCUIT, "utils.graph_utils", repository)
    return graphs.patchable_model(
        subject.fresh(), factorized=True, slice_output="not_first_seq", separate_qkv=True
    )


def _loader(subject: Subject, repository: Path | None) -> Any:
    """All pairs as one batch."""
    data = import_package(AUTO_CIRCUIT, "data", repository)
    clean, corrupt = subject.tokens
    right = torch.from_numpy(subject.pairs.answer.astype(np.int64))[:, None]
    pairs = data.PromptDataset(clean, corrupt, list(right), list(1 - right))
    return data.PromptDataLoader(
        pairs, seq_len=clean.shape[1], diverge_idx=0, batch_size=len(clean), shuffle=False
    )


def _named(model: Any, scores: Any, most: float) -> dict[str, float]:
    """The package's scores by our names: `A0.1->A1.0.Q` is `a0.h1->a1.h0<q>`."""
    return {
        f"{_node(edge.src.name)}->{_node(edge.dest.name)}": min(
            most, float(edge.prune_score(scores))
        )
        for edge in model.edges
    }


def _node(name: str) -> str:
    match name.replace(".", " ").split(" "):
        case ["Resid", end]:
            return "input" if end == "Start" else "logits"
        case ["MLP", layer]:
            return f"m{layer}"
        case [head, number, *slot]:
            end = f"<{slot[0].lower()}>" if slot else ""
            return f"a{head[1:]}.h{number}{end}"
    raise AssertionError(name)
