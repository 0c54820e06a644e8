"""Simulations with their evidence, as the checker gets them; and the checker's walk by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from softhat.ahat.file import dumps
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.every_length import every_length
from softhat.numbers.laws import Law
from softhat.proof.simulations.check import EvidenceVerdict, check
from softhat.proof.simulations.embedding import embedded
from softhat.proof.simulations.residual import ResidualStream, Sight, sight
from softhat.proof.simulations.scores import pairs
from softhat.proof.simulations.single import one_maximum
from softhat.proof.simulations.source import HeadId, SourceModel, columns, read
from softhat.proof.simulations.steps import attended, fed_forward, forgotten, read_after
from tests.ahat.models import random_deep, random_model, random_program, random_tieless
from tests.ahat.simulation.test_unique import ended

KINDS = (random_deep, random_model, random_program, random_tieless, random_deep)


def random_source(seed: int) -> AHAT:
    """Random AHATs of every kind; every fifth has an `<eos>`."""
    rng = random.Random(seed)
    model = KINDS[seed % len(KINDS)](rng)
    return replace(ended(model, rng), bos=True) if seed % len(KINDS) == 4 else model


@dataclass(frozen=True)
class Claims:
    """What the checker is given."""

    model: AHAT  # with ties broken
    document: dict[str, Any]
    laws: Mapping[HeadId, Law]
    evidence: dict[str, Any]
    epsilon: Fraction | None

    def check(self) -> EvidenceVerdict:
        return check(self.document, self.laws, self.evidence, self.epsilon)


def claims_of(model: AHAT, epsilon: float | None = 1e-2, snap: bool = False) -> Claims:
    """What `simulate` claims of a model."""
    made = every_length(model, epsilon, snap)
    evidence = json.loads(json.dumps(made.evidence))
    exact = None if epsilon is None else Fraction(epsilon)
    return Claims(made.model, json.loads(dumps(made.model)), made.laws, evidence, exact)


def source_of(model: AHAT) -> SourceModel:
    return read(json.loads(dumps(model)))


def streams_of(
    source: SourceModel, forget: bool = True
) -> tuple[list[ResidualStream], dict[HeadId, Sight]]:
    """The residual streams before each layer and at the end, and what heads see, for a model whose
    heads average: uniform where scores read nothing that differs, copying where one key wins."""
    stream = embedded(source)
    streams, sights = [stream], dict[HeadId, Sight]()
    for l, layer in enumerate(source.layers):
        before, added = stream, stream
        for h, head in enumerate(layer.heads):
            seen = sights[l, h] = sight(head, before)
            uniform = head.ties == "average" and not seen.asked_rows()
            single = not uniform and one_maximum(seen, list(pairs(seen)))
            copies = single or head.ties != "average"
            added = attended(added, seen, uniform, copies, source.sinks, f"{l}.{h}")
        stream = added if layer.forward is None else fed_forward(added, layer.forward, str(l))
        stream = forgotten(stream, read_after(source)[l]) if forget else stream
        streams.append(stream)
    return streams, sights


def read_somewhere(source: SourceModel, l: int) -> set[int]:
    """The coordinates that are read after layer l - 1 (all of them before the first)."""
    if l == 0:
        return columns((*source.places,)) | set(range(source.width))
    return set(read_after(source)[l - 1])
