"""A model as a network of nodes that add to one residual stream, run with edges patched.

The residual stream before any reader is the sum of what the nodes before it added. Patching an
edge replaces, for one reader only, what one node added by what it added on another word; all
that comes after the reader is computed anew. This is path patching in float64: on one edge, on
all edges of a node, or on all edges but those of a circuit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softhat.circuits.graph import edge_name
from softhat.export.labels import Meaning
from softhat.numbers import positions
from softhat.numerics.masks import allowed
from softhat.transformer.weights import Transformer, inverse_temperature, scale

Array = NDArray[Any]
LEAK = 2.0**-6
"""Of a stock model. Its norms divide by all that the residual stream holds. That is constant, but
for means of counts: in a disguise their squares are up to 2^-6 of the whole, so a reader that has
nothing to do with them sees all it reads 2^-7 larger or smaller. An edge that carries something
moves a margin by half of it and more."""
Slot = tuple[str, str]
"""A reader: the node's name and its input (q, k, v or nothing)."""


class Change(Protocol):
    """What is different in a patched run."""

    def moved(self, reader: Slot, added: Mapping[str, Array]) -> Array | float:
        """What a reader sees more than the sum of what the nodes before it `added`."""
        ...


@dataclass(frozen=True)
class Begun:
    """A run without a patch: what every node added, and the residual stream before each layer and
    at the end."""

    added: Mapping[str, Array]
    before: tuple[Array, ...]
    margins: Array
    recomputed: dict[Slot, Array] = field(default_factory=dict)
    """What patched runs computed of it again, each once: `softhat.circuits.stock_network`."""

    @staticmethod
    def of(network: Network, tokens: Array) -> Begun:
        seen: dict[str, Array] = {}
        added, margins = network.run(tokens, seen=seen)
        layers = sum(name.startswith("m") for name in added)
        after = [seen[f"blocks.{number}.hook_resid_post"] for number in range(layers)]
        return Begun(added, (seen["blocks.0.hook_resid_pre"], *after), margins)


@dataclass(frozen=True)
class Patch:
    """For the reader `target`, what `source` added is replaced by `added` (words, rows, d)."""

    source: str
    target: Slot
    added: Array

    begun: Begun | None = None
    """The run without the patch, of the same words: what comes before the target is as there."""

    def moved(self, reader: Slot, added: Mapping[str, Array]) -> Array | float:
        return self.added - added[self.source] if reader == self.target else 0.0


@dataclass(frozen=True)
class NodePatch:
    """For all readers, what `source` added is replaced by `added`."""

    source: str
    added: Array

    begun: Begun | None = None
    """The run without the patch, of the same words: what runs before the source's readers is as
    there."""

    def moved(self, reader: Slot, added: Mapping[str, Array]) -> Array | float:
        seen = self.source in added and before(self.source, reader[0])
        return self.added - added[self.source] if seen else 0.0


@dataclass(frozen=True)
class Only:
    """Only these `edges` carry what they do; all others what they carry on other words."""

    edges: frozenset[str]
    others: Mapping[str, Array]
    """What every node adds on the other words."""

    def moved(self, reader: Slot, added: Mapping[str, Array]) -> Array | float:
        total: Array | float = 0.0
        for source, own in added.items():
            if edge_name(source, *reader) not in self.edges and before(source, reader[0]):
                total = total + self.others[source] - own
        return total


def before(source: str, reader: str) -> bool:
    """Does the reader run after the source? Heads of one layer run together."""
    return _stage(source) < _stage(reader)


def _stage(node: str) -> float:
    if node in ("input", "logits"):
        return -1.0 if node == "input" else float("inf")
    layer = int(node[1:].partition(".")[0])
    return layer + (0.5 if node[0] == "m" else 0.0)


@dataclass(frozen=True)
class Known:
    """What a patched run has in common with the run without the patch."""

    begun: Begun
    first: int
    """The first layer with a node that reads something else."""
    same: Mapping[str, Array]
    """What the nodes add that read the same as without the patch and run before any that do not;
    in the first layer all heads but the patched one."""
    only: str
    """The only node that the patch itself reaches; empty if there are several."""

    def differs(self, name: str, added: Array) -> bool:
        """May any later node or margin differ, now that this node has added so much?"""
        return name != self.only or not np.array_equal(added, self.begun.added[name])


def known(patch: Change | None) -> Known | None:
    """What a patched run need not compute; None if the run without the patch is not known."""
    match patch:
        case Patch(target=(target, _), begun=Begun() as begun):
            first = len(begun.before) - 1 if target == "logits" else int(_stage(target))
            same = {n: a for n, a in begun.added.items() if n != target and not before(target, n)}
            return Known(begun, first, same, target)
        case NodePatch(source=source, begun=Begun() as begun):
            same = {n: a for n, a in begun.added.items() if not before(source, n)}
            return Known(begun, max(0, math.floor(_stage(source) + 0.5)), same, "")
        case _:
            return None


@dataclass(frozen=True, slots=True)
class LayerNodes:
    """The nodes of one layer, on one batch of words."""

    heads: int
    means: Callable[[int, Array, Array, Array], Array]
    """The values of a head, averaged by its attention: its queries, keys and values read so."""
    written: Callable[[int, Array], Array]
    """What a head with these means adds."""
    units: Callable[[Array], tuple[Array, Array]]
    """The hidden units, of what they read, and what they add."""
    empty: Collection[int] = ()
    """The heads that write nothing."""
    bias: Array | float = 0.0
    """What attention adds beside its heads."""


class Network(ABC):
    """What circuits need of a model: its names, and how to run it with an edge patched."""

    symbols: tuple[str, ...]
    outputs: tuple[str, ...]
    propositional: bool
    longest: int | None
    """Symbols of the longest word that it takes; None if there is none."""
    leak: float
    """A margin that moves by a smaller share than this says nothing."""
    layers: int

    @abstractmethod
    def embedded(self, tokens: Array) -> Array:
        """(words, n) codes, or (words, n, propositions) bits, to (words, rows, d_model)."""

    @abstractmethod
    def nodes(self, number: int, x: Array, recomputed: dict[Slot, Array]) -> LayerNodes:
        """A layer, where the stream before it is `x`. What its nodes compute of `x` alone, they may
        look up and leave in `recomputed`."""

    @abstractmethod
    def margins(self, read: Array) -> Array:
        """(words, n, outputs): what the read-out makes of what it reads."""

    def run(
        self, tokens: Array, patch: Change | None = None, seen: dict[str, Array] | None = None
    ) -> tuple[dict[str, Array], Array]:
        """What every node adds, and the margins (words, n, outputs), for words of one length.

        `seen` gets the activations by TransformerLens' names, sinks included.
        """
        asked = seen is not None
        seen = {} if seen is None else seen
        shared = known(patch)
        if shared is not None:
            first, x, added = shared.first, shared.begun.before[shared.first], dict(shared.same)
        else:
            first, x = 0, self.embedded(tokens)
            added = {"input": x}
            seen["blocks.0.hook_resid_pre"] = x

        def read(name: str, slot: str) -> Array:
            moved = 0.0 if patch is None else patch.moved((name, slot), added)
            return x if isinstance(moved, float) else x + moved  # 0.0: nothing is patched

        def the_same_from(name: str) -> Begun | None:
            """The run without the patch, if all that comes after this node is as there."""
            same = shared is not None and not shared.differs(name, added[name])
            return shared.begun if shared is not None and same else None

        for number in range(first, self.layers):
            recomputed = shared.begun.recomputed if shared is not None and number == first else {}
            layer = self.nodes(number, x, recomputed)
            # A node that is patched for all readers is read by all heads alike.
            for_all = read(f"a{number}.h0", "q") if isinstance(patch, NodePatch) else None
            for h in range(layer.heads):
                name = f"a{number}.h{h}"
                if name in added:
                    continue
                if not asked and h in layer.empty:
                    added[name] = np.zeros_like(x)
                    continue
                q, k, v = (read(name, slot) if for_all is None else for_all for slot in "qkv")
                z = layer.means(h, q, k, v)
                seen[f"blocks.{number}.attn.hook_z.{h}"] = z
                added[name] = layer.written(h, z)
                if (begun := the_same_from(name)) is not None:
                    return dict(begun.added), begun.margins
            x = x + sum(added[f"a{number}.h{h}"] for h in range(layer.heads)) + layer.bias
            seen[f"blocks.{number}.hook_resid_mid"] = x
            name = f"m{number}"
            hidden, added[name] = layer.units(read(name, ""))
            if (begun := the_same_from(name)) is not None:
                return dict(begun.added), begun.margins
            seen[f"blocks.{number}.mlp.hook_post"] = hidden
            x = x + added[name]
            seen[f"blocks.{number}.hook_resid_post"] = x
        return added, self.margins(read("logits", ""))


class NativeNetwork(Network):
    """A model of softhat's own architecture."""

    leak = 0.0

    def __init__(self, transformer: Transformer) -> None:
        t = self.transformer = transformer
        self.symbols, self.outputs, self.propositional = t.symbols, t.outputs, t.propositional
        self.longest = positions.longest(t.positions, t.has_bos)
        self.layers = len(t.layers)
        self.dense = [
            {name: getattr(layer, name).dense() for name in ("query", "key", "value", "output")}
            | {"into": layer.into.dense(), "out": layer.out.dense()}
            for layer in t.layers
        ]
        self.embedding = t.embedding.dense()
        self.position_embedding = t.position_embedding.dense()
        self.readout = t.readout.dense()

    def embedded(self, tokens: Array) -> Array:
        t = self.transformer
        count, n = tokens.shape[:2]
        k = len(t.symbols)
        table = positions.floats(
            t.positions, n, bos=t.has_bos, eos=t.has_eos, scale=scale(t.attention, n)
        )
        x = np.zeros((count, len(table), t.d_model))
        own = self.embedding[tokens] if tokens.ndim == 2 else tokens @ self.embedding[:k]
        x[:, t.own(n)] = own
        if t.has_bos:
            x[:, 0] = self.embedding[k]
        if t.has_eos:
            x[:, -1] = self.embedding[k + int(t.has_bos)]
        return x + table @ self.position_embedding.T

    def nodes(self, number: int, x: Array, recomputed: dict[Slot, Array]) -> LayerNodes:
        t, layer, dense = self.transformer, self.transformer.layers[number], self.dense[number]

        def means(h: int, *read: Array) -> Array:
            parts = zip(read, ("query", "key", "value"), strict=True)
            q, k, v = (x @ dense[name][h].T for x, name in parts)
            n = x.shape[1] - len(t.sinks)
            scores = inverse_temperature(layer.laws[h], n) * (q @ k.transpose(0, 2, 1))
            scores[:, ~allowed(layer.masks[h], scores.shape[1])] = -np.inf
            top = scores.max(axis=2, keepdims=True)
            some = np.isfinite(top)
            shifted = np.where(some, scores - np.where(some, top, 0.0), -np.inf)
            hard = t.attention == "hard"
            weights = (shifted == 0).astype(float) if hard else np.exp(shifted)
            total = weights.sum(axis=2, keepdims=True)
            mean: Array = (weights @ v) / np.where(total == 0, 1.0, total)
            return mean

        def written(h: int, means: Array) -> Array:
            added: Array = means @ dense["output"][h].T
            return added

        def units(read: Array) -> tuple[Array, Array]:
            hidden = np.maximum(read @ dense["into"].T + layer.into_bias, 0.0)
            return hidden, hidden @ dense["out"].T + layer.out_bias

        return LayerNodes(len(layer.masks), means, written, units)

    def margins(self, read: Array) -> Array:
        t = self.transformer
        margins: Array = read @ self.readout.T + t.readout_bias
        return margins[:, t.own(read.shape[1] - len(t.sinks))]


def reading(meaning: Meaning, seen: Mapping[str, Array]) -> Array:
    """The number that a meaning speaks of, at every position, sinks included."""
    assert meaning.hook is not None
    hook = meaning.hook if meaning.head is None else f"{meaning.hook}.{meaning.head}"
    x = seen[hook]
    places, weights = zip(*meaning.direction, strict=True)
    read: Array = x[..., list(places)] @ np.array(weights) + meaning.offset
    return read
