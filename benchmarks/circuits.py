"""What methods that look for circuits find in models whose circuit is known, and what they miss.

`python benchmarks/circuits.py [--models 50] [--write]` draws stock GPT-2 exports of random
formulas, lets each method give every edge a score, compares with the true circuit by
`softhat.score` and prints a table and JSON; `--write` also writes benchmarks/circuits.json and,
from it, docs/circuit-study.md. The same seed gives the same numbers: exit code 1 if those of 50
models are not the ones in circuits.json.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import circuits_page
import numpy as np
from numpy.typing import NDArray

import softhat
from softhat.circuits.decoder import StockNorm, StockProduct
from softhat.circuits.graph import Circuit, ends_of, possible_edges, possible_nodes
from softhat.circuits.network import NodePatch, Patch, before
from softhat.circuits.stock_network import StockNetwork
from softhat.logic.random import random_formula

Array = NDArray[Any]
Scores = dict[str, float]
MODELS, SEED = 50, 16
FAMILIES = ("past", "past-counting")
ALPHABET = "ab"
LENGTH, PAIRS = 8, 96
STEPS = 5
"""Of integrated gradients."""
PAGE = Path(__file__).parent.parent / "docs" / "circuit-study.md"
NUMBERS = Path(__file__).with_name("circuits.json")


@dataclass(frozen=True)
class Subject:
    """A model, its circuit, and clean and corrupt words of one length."""

    formula: str
    family: str
    folder: Path
    circuit: Circuit
    network: StockNetwork
    clean: Array
    corrupt: Array


def subjects(count: int, folder: Path) -> Iterator[Subject]:
    """Random formulas that are not constant and have no inert head."""
    rng = np.random.default_rng(SEED)
    made = 0
    while made < count:
        family = FAMILIES[made % len(FAMILIES)]
        formula = random_formula(rng, int(rng.integers(4, 11)), tuple(ALPHABET), family)
        model = softhat.compile(formula, alphabet=ALPHABET)
        if len(model.transformer.layers) < 2:
            continue
        place = folder / str(made)
        softhat.to_gpt2(model, place, context=16)
        circuit = softhat.circuit(place)
        if any(node.witness is None for node in circuit.nodes if node.name.startswith("a")):
            continue
        words = rng.integers(0, len(ALPHABET), (2, PAIRS, LENGTH))
        one = rng.integers(0, LENGTH, PAIRS // 2)  # half of the pairs differ in one place
        words[1, : PAIRS // 2] = words[0, : PAIRS // 2]
        words[1, np.arange(PAIRS // 2), one] ^= 1
        yield Subject(str(formula), family, place, circuit, StockNetwork(place), words[0], words[1])
        made += 1


# The methods: each gives every edge a score.


def edge_patching(s: Subject) -> Scores:
    """Each edge alone carries what it carries on the corrupt word: how far do answers move?"""
    added, _ = s.network.run(s.corrupt)
    _, margins = s.network.run(s.clean)
    scores = {}
    for name in possible_edges(s.circuit.config):
        source, target, slot = ends_of(name)
        _, patched = s.network.run(s.clean, Patch(source, (target, slot), added[source]))
        scores[name] = float(np.abs(patched - margins).mean())
    return scores


def node_patching(s: Subject) -> Scores:
    """The same for whole nodes; an edge is as important as the less important of its ends."""
    added, _ = s.network.run(s.corrupt)
    _, margins = s.network.run(s.clean)
    nodes = {"logits": math.inf}
    for name in possible_nodes(s.circuit.config)[:-1]:
        _, patched = s.network.run(s.clean, NodePatch(name, added[name]))
        nodes[name] = float(np.abs(patched - margins).mean())
    return _by_ends(s, nodes)


def probing(s: Subject) -> Scores:
    """How much better than always saying the same can the answer be read off a node's output, by
    least squares? Trained on the clean words, tested on the corrupt ones."""
    train, margins = s.network.run(s.clean)
    test, other = s.network.run(s.corrupt)
    answers, wanted = (margins[..., 0] > 0).ravel(), (other[..., 0] > 0).ravel()
    majority = max(wanted.mean(), 1 - wanted.mean())
    nodes = {"logits": math.inf}
    for name in possible_nodes(s.circuit.config)[:-1]:
        x, y = (_flat(part[name]) for part in (train, test))
        weights = np.linalg.lstsq(x, np.where(answers, 1.0, -1.0), rcond=1e-9)[0]
        nodes[name] = max(0.0, float(((y @ weights > 0) == wanted).mean() - majority))
    return _by_ends(s, nodes)


def _flat(x: Array) -> Array:
    """(words, rows, d) to (positions, d + 1), without `<bos>`, with a constant."""
    own = x[:, 1:].reshape(-1, x.shape[-1])
    return np.concatenate([own, np.ones((len(own), 1))], axis=1)


def _by_ends(s: Subject, nodes: dict[str, float]) -> Scores:
    scores = {}
    for name in possible_edges(s.circuit.config):
        source, target, _ = ends_of(name)
        scores[name] = min(nodes[source], nodes[target], 1e9)
    return scores


def attribution(s: Subject, steps: int = 1) -> Scores:
    """Edge attribution patching: (what the source adds on the corrupt word, less what it adds on
    the clean one) times the gradient of the margin by what the reader reads. With more `steps` the
    gradient is the mean over embeddings on the way from the clean word to the corrupt one."""
    clean, _ = s.network.run(s.clean)
    corrupt, _ = s.network.run(s.corrupt)
    change = {name: corrupt[name] - clean[name] for name in clean}
    gradients: dict[tuple[str, str], Array] = {}
    for step in range(steps):
        share = step / steps
        start = clean["input"] + share * change["input"]
        for reader, gradient in _gradients(s.network, start).items():
            gradients[reader] = gradients.get(reader, 0.0) + gradient / steps
    scores = {}
    for name in possible_edges(s.circuit.config):
        source, target, slot = ends_of(name)
        moved = (change[source] * gradients[target, slot]).sum(axis=(1, 2))
        scores[name] = float(np.abs(moved).mean())
    return scores


def _gradients(network: StockNetwork, start: Array) -> dict[tuple[str, str], Array]:
    """Of the sum of all margins, by what every reader reads."""
    import torch

    torch.set_num_threads(1)
    readers: dict[tuple[str, str], Any] = {}

    def read(x: Any, name: str, slot: str) -> Any:
        readers[name, slot] = torch.zeros_like(x, requires_grad=True)
        return x + readers[name, slot]

    def norm(x: Any, by: StockNorm) -> Any:
        gain, shift = torch.from_numpy(by.gain), torch.from_numpy(by.shift)
        return torch.nn.functional.layer_norm(x, (x.shape[-1],), gain, shift, by.epsilon)

    def product(x: Any, by: StockProduct) -> Any:
        return x @ torch.from_numpy(by.matrix) + torch.from_numpy(by.bias)

    x = torch.from_numpy(start)
    rows = x.shape[1]
    hidden = torch.triu(torch.ones(rows, rows, dtype=torch.bool), diagonal=1)
    decoder = network.decoder
    for number, layer in enumerate(decoder.layers):
        first, second = layer.norms
        total = 0.0
        for h, head in enumerate(layer.heads):
            q, k, v = (
                product(norm(read(x, f"a{number}.h{h}", slot), first), head.inputs[slot])
                for slot in "qkv"
            )
            scores = (q @ k.transpose(1, 2) / math.sqrt(network.width)).masked_fill(
                hidden, -math.inf
            )
            total = total + torch.softmax(scores, dim=-1) @ v @ torch.from_numpy(head.output)
        x = x + total + torch.from_numpy(layer.bias)
        inner = norm(read(x, f"m{number}", ""), second)
        x = x + product(torch.relu(product(inner, layer.units.into)), layer.units.out)
    logits = product(norm(read(x, "logits", ""), decoder.last), decoder.readout)
    (logits[:, 1:, 1] - logits[:, 1:, 0]).sum().backward()
    return {reader: leaf.grad.numpy() for reader, leaf in readers.items()}


def at_random(s: Subject) -> Scores:
    rng = np.random.default_rng([SEED, int(s.folder.name)])
    return {name: float(rng.random()) for name in possible_edges(s.circuit.config)}


def truth(s: Subject) -> Scores:
    true = {edge.name for edge in s.circuit.edges if edge.carries == "input"}
    return {name: float(name in true) for name in possible_edges(s.circuit.config)}


METHODS: dict[str, Callable[[Subject], Scores]] = {
    "the true circuit": truth,
    "edge patching": edge_patching,
    "node patching": node_patching,
    "edge attribution patching": attribution,
    "… with integrated gradients": lambda s: attribution(s, STEPS),
    "linear probe of the answer": probing,
    "at random": at_random,
}

# Comparing them with the truth


KINDS = tuple(circuits_page.KINDS)


def compare(s: Subject, scores: Scores) -> dict[str, Any]:
    """The edges that score highest, as many as are true, against the truth."""
    constant = {edge.name for edge in s.circuit.edges if edge.carries == "constant"}
    true = {edge.name for edge in s.circuit.edges if edge.carries == "input"}
    ranked = sorted((n for n in scores if n not in constant), key=lambda n: -scores[n])
    chosen = {name for name in ranked[: len(true)] if scores[name] > 0}
    graph = {n: {"score": value, "in_graph": n in chosen} for n, value in scores.items()}
    found = softhat.score(s.circuit, {"edges": graph}, model=s.folder)
    assert found.ablation is not None
    return {
        "edges, F1": found.f1,
        "edges, AUROC": found.auroc,
        "nodes, F1": found.nodes.f1,
        "nodes, AUROC": found.nodes.auroc,
        "completeness": found.ablation.completeness,
        "empty": found.ablation.empty,
        "kinds": {kind: _tally(true, chosen, kind) for kind in KINDS},
        "missed": len({n for n in true if not scores[n] > 1e-9 * max(scores.values())}),
        "true": len(true),
    }


def _tally(true: set[str], chosen: set[str], kind: str) -> tuple[int, int]:
    of_kind = {name for name in true if _kind(name) == kind}
    return len(of_kind & chosen), len(of_kind)


def _kind(name: str) -> str:
    target = name.partition("->")[2]
    if "<" in target:
        return target[-2]
    return "m" if target.startswith("m") else target


def study(count: int) -> dict[str, Any]:
    """The mean of every measure for every method, and how many edges of each kind were found."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
    facts = []
    with tempfile.TemporaryDirectory() as folder:
        for s in subjects(count, Path(folder)):
            for name, method in METHODS.items():
                results[name].append(compare(s, method(s)))
            every = possible_edges(s.circuit.config)
            assert all(before(*_ends(name)) for name in every)
            facts.append({"formula": s.formula, "family": s.family, "edges": len(every)})
    measures = ("edges, F1", "edges, AUROC", "nodes, F1", "nodes, AUROC", "completeness")
    rows = {
        name: {
            **{m: round(float(np.mean([one[m] for one in listed])), 3) for m in measures},
            **{f"into {kind}": _share(listed, kind) for kind in KINDS},
            "score 0": round(sum(x["missed"] for x in listed) / sum(x["true"] for x in listed), 3),
        }
        for name, listed in results.items()
    }
    first = results["the true circuit"]
    return {
        "models": count,
        "seed": SEED,
        "pairs": PAIRS,
        "length": LENGTH,
        "edges": sum(fact["edges"] for fact in facts),
        "true": sum(one["true"] for one in first),
        "empty": round(float(np.mean([one["empty"] for one in first])), 3),
        "steps": STEPS,
        "kinds": {kind: sum(one["kinds"][kind][1] for one in first) for kind in KINDS},
        "methods": rows,
    }


def _ends(name: str) -> tuple[str, str]:
    source, _, target = name.partition("->")
    return source, target.partition("<")[0]


def _share(listed: list[dict[str, Any]], kind: str) -> float:
    hits, total = (sum(one["kinds"][kind][k] for one in listed) for k in (0, 1))
    return round(hits / total, 3) if total else 1.0


def main() -> int:
    count = int(sys.argv[sys.argv.index("--models") + 1]) if "--models" in sys.argv else MODELS
    found = study(count)
    print(circuits_page.table(found["methods"], list(next(iter(found["methods"].values())))))
    print(json.dumps(found))
    if "--write" in sys.argv:
        _write(NUMBERS, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        _write(PAGE, circuits_page.page(found))
    known = json.loads(NUMBERS.read_text("utf-8"))
    return int(found["models"] == known["models"] and found != known)


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, "utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
