"""The walk: every claim of the evidence, from the embedding to the output.

`check` is the one entry. It holds the claims against the transformer in `ahat.json` and the laws of
temperature that the softmax model has, at every length, and returns what the proof of each head
rests on; what does not follow raises VoidError, with the place. Numbers are exact; floats
occur only where a logarithm is compared with a table's entry, with room to spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from softhat.numbers.grids import common
from softhat.numbers.growth import Polynomial, point
from softhat.numbers.laws import ONE, Constant, Law, Length, Log, RoundedUp, Tabled, as_law, product
from softhat.numbers.rationals import odd_part
from softhat.proof.simulations import evidence as claimed
from softhat.proof.simulations import source as sources
from softhat.proof.simulations import words
from softhat.proof.simulations.embedding import embedded
from softhat.proof.simulations.errors import (
    ROOT_E,
    Sharp,
    check_forward,
    check_heads,
    erring,
    inverse,
    require,
)
from softhat.proof.simulations.residual import ResidualStream, Sight, sight
from softhat.proof.simulations.scores import ScoreDifference, at_most, pairs
from softhat.proof.simulations.single import asked_of, crowded, decided, one_maximum, parabolas
from softhat.proof.simulations.sizes import SizeLaw, of_law
from softhat.proof.simulations.source import HeadId, SourceModel, Vector, columns, support
from softhat.proof.simulations.steps import attended, fed_forward, forgotten, read_after

LONGEST_TABLE = 8
MOST_WORDS = 600
"""Words of a length whose exact gaps a table of β may rest on."""


@dataclass(frozen=True, slots=True)
class HeadFact:
    """What is proved of a head at every length: γ, the logarithm's argument in β, 1/δ, how crowded
    its maximum is, whether every row has one maximum, whether its scores err, exact gaps of short
    words, and a and c of keys a·j + c·j² that make its scores concave."""

    gap: Law
    inside: Law
    leak: SizeLaw
    crowd: int | None
    single: bool
    erroneous: bool
    short_gaps: tuple[Fraction, ...]
    bends: tuple[tuple[Fraction, Fraction], ...] | None


@dataclass(frozen=True, slots=True)
class EvidenceVerdict:
    """What is proved: the error is at most share · allowed, at every length to `longest` (None:
    every length); None for a head that is uniform in every row."""

    allowed: Law | None
    share: Fraction
    longest: int | None
    heads: Mapping[HeadId, HeadFact | None]


def check(
    document: Mapping[str, Any],
    laws: Mapping[HeadId, Law],
    evidence: Any,
    epsilon: Fraction | None,
) -> EvidenceVerdict:
    """Does the evidence prove that softmax with these laws is within ε of the transformer in the
    document (None: takes its decisions), at every length?"""
    return _Walk(sources.read(document), laws, claimed.read(evidence)).verdict(epsilon)


class _Walk:
    def __init__(
        self, source: SourceModel, laws: Mapping[HeadId, Law], claims: claimed.Evidence
    ) -> None:
        self.source, self.laws, self.claims = source, laws, claims
        self.facts: dict[HeadId, HeadFact | None] = {}
        self.pairs: dict[HeadId, list[ScoreDifference]] = {}

    def verdict(self, epsilon: Fraction | None) -> EvidenceVerdict:
        """The walk over all layers, then the output."""
        source, claims = self.source, self.claims
        require(len(claims.layers) == len(source.layers), "the evidence has other layers")
        require(set(self.laws) == set(source.heads), "there are laws of β for other heads")
        stream, wrong = embedded(source), frozenset[int]()
        even = {c for c in range(source.width) if stream.steady(stream.read(_unit(source, c)))}
        later = read_after(source)
        ends = [layer.before for layer in claims.layers[1:]] + [claims.end]
        for l, (layer, claim) in enumerate(zip(source.layers, claims.layers, strict=True)):
            self._coordinates(l, claim, stream)
            require(
                len(claim.heads) == len(layer.heads), f"layer {l}: the evidence has other heads"
            )
            sights = [sight(head, stream) for head in layer.heads]
            uniform = [head.ties == "average" and _asked(head) <= even for head in layer.heads]
            for h, (seen, head) in enumerate(zip(sights, claim.heads, strict=True)):
                self._head((l, h), seen, head, uniform[h], wrong)
            before = stream
            for h, seen in enumerate(sights):
                copies = self._copies((l, h))
                stream = attended(stream, seen, uniform[h], copies, source.sinks, f"{l}.{h}")
            middle, after = erring(layer, before, wrong, uniform)
            sharp = [None if head is None else head.sharp for head in claim.heads]
            single = [self._copies((l, h)) for h in range(len(layer.heads))]
            weights = {c: w for c, w in claim.middle.items() if c in middle}
            check_heads(l, layer, sights, sharp, single, claim.before, weights, wrong)
            if layer.forward is not None:
                stream = fed_forward(stream, layer.forward, str(l))
                after_weights = {c: w for c, w in ends[l].items() if c in after}
                check_forward(l, layer, before, weights, after_weights, middle)
            else:
                for c in after:
                    held = weights.get(c, SizeLaw()).covers(ends[l].get(c, SizeLaw()))
                    require(held, f"layer {l}: the error of coordinate {c} after it")
            even = _still_even(layer, even, uniform)
            stream, wrong = forgotten(stream, later[l]), after
        self._output(stream, wrong, epsilon)
        return EvidenceVerdict(claims.allowed, claims.share, source.longest, self.facts)

    def _copies(self, name: HeadId) -> bool:
        fact = self.facts[name]
        return fact is not None and fact.single

    def _coordinates(self, l: int, claim: claimed.LayerClaim, stream: ResidualStream) -> None:
        """Denominators and ranges before the layer."""
        require(len(claim.stream) == self.source.width, f"layer {l}: the evidence has other widths")
        for c, told in enumerate(claim.stream):
            x = stream.read(_unit(self.source, c))
            grid, reach = stream.whole(x), stream.range(x)
            fine = (
                not grid.unit
                if told.least is None
                else (not grid.unit or at_most(told.least, grid.least))
            )
            require(fine, f"layer {l}: the denominators of coordinate {c}")
            inside = _no_less(reach.low, told.low) and _no_less(told.high, reach.high)
            require(inside, f"layer {l}: the range of coordinate {c}")

    def _head(
        self,
        name: HeadId,
        seen: Sight,
        claim: claimed.HeadClaim | None,
        uniform: bool,
        wrong: frozenset[int],
    ) -> None:
        """One head: its gap, its ties, its temperature."""
        where = f"layer {name[0]}, head {name[1]}"
        if claim is None:
            require(uniform, f"{where}: not all its rows are uniform")
            # In floats equal scores may round apart, and β would tell them apart.
            require(self.laws[name] == ONE, f"{where}: it is uniform, and its β is not 1")
            self.facts[name] = None
            return
        sharp, head = claim.sharp, seen.head
        found = list(pairs(seen))
        require(all(pair.at_least(sharp.gap) for pair in found), f"{where}: its gap")
        single = not uniform and one_maximum(seen, found)
        if head.ties != "average" and not single:
            single = self._decided(where, seen, claim)
        if sharp.crowd is not None:
            known = crowded(seen, found, sharp.gap)
            require(known is not None and known <= sharp.crowd, f"{where}: its crowd")
        errs = bool((columns(head.query) | columns(head.key)) & wrong)
        self._beta(name, where, claim, errs, errs and not single)
        bends = _bends(seen)
        self.facts[name] = HeadFact(
            sharp.gap, sharp.inside, sharp.leak, sharp.crowd, single, errs, claim.short_gaps, bends
        )

    def _decided(self, where: str, seen: Sight, claim: claimed.HeadClaim) -> bool:
        """A unique-hard head whose last row breaks ties: the others' differences are at least what
        the evidence says, and the term is finer."""
        head = seen.head
        without = sight(
            sources.SourceHead(
                head.mask, head.ties, head.query[:-1], head.key[:-1], head.value, head.output
            ),
            seen.stream,
        )
        others = claim.others
        rest = list(pairs(without))
        if others is None:
            require(not any(pair.whole.unit for pair in rest), f"{where}: its ties")
        else:
            require(all(pair.at_least(others) for pair in rest), f"{where}: its ties")
        require(
            decided(self.source, head, others, None),
            f"{where}: it takes the {head.ties} of its maximal keys, and nothing in its scores "
            "breaks their ties",
        )
        return True

    def _beta(
        self, name: HeadId, where: str, claim: claimed.HeadClaim, errs: bool, dangerous: bool
    ) -> None:
        """β·γ is at least the logarithm: by the form of the law, or by numbers in a table."""
        law, sharp = self.laws[name], claim.sharp
        beyond = law.beyond if isinstance(law, Tabled) else law
        wanted = RoundedUp(product(inverse(sharp.gap), Log(sharp.inside)), 6)
        require(beyond == wanted, f"{where}: its temperature laws are not those of the evidence")
        of_law(Log(sharp.inside))  # at least 1
        entries = law.entries if isinstance(law, Tabled) else ()
        require(len(entries) == len(claim.short_gaps), f"{where}: its table of β")
        if not entries:
            return
        require(len(entries) <= LONGEST_TABLE, f"{where}: its table of β is too long")
        need = sharp.leak.law * Length(self.source.sinks) * (2 if dangerous else 1)
        need = need * ROOT_E if errs else need
        for n, (beta, gap) in enumerate(zip(entries, claim.short_gaps, strict=True), 1):
            exact = self._least_gap(n, name)
            require(exact is None or gap <= exact, f"{where}: its gap at length {n}")
            require(_six_bits(beta), f"{where}: its table of β has more than 6 significant bits")
            most = beyond.at(n)
            require(beta <= most, f"{where}: its table of β rises above the law")
            enough = float(beta * gap) >= need.log_at(n) * (1 + 1e-14)
            require(enough or beta == most, f"{where}: its table of β at length {n}")

    def _least_gap(self, n: int, name: HeadId) -> Fraction | None:
        """The least gap over all words of length n, run; None if every row is uniform."""
        if n not in _GAPS.setdefault(self.source, {}):
            require(len(self.source.alphabet) ** n <= MOST_WORDS, "its tables of β are too long")
            least: dict[HeadId, Fraction] = {}
            for word in words.all_words(self.source, n):
                for key, (rows, den) in words.run(self.source, word).scores.items():
                    gaps = [gap for gap in map(words.gap_of, rows) if gap is not None]
                    if gaps:
                        gap = Fraction(min(gaps), den)
                        least[key] = min(gap, least.get(key, gap))
            _GAPS[self.source][n] = least
            while len(_GAPS) > 4:
                _GAPS.pop(next(iter(_GAPS)))
        return _GAPS[self.source][n].get(name)

    def _output(
        self, stream: ResidualStream, wrong: frozenset[int], epsilon: Fraction | None
    ) -> None:
        """The value errs by at most share · allowed, and that is what was asked for."""
        claims, source = self.claims, self.source
        if epsilon is not None:
            require(claims.allowed == Constant(epsilon), "the evidence is for another epsilon")
        elif claims.allowed is not None:
            self._margin(stream, claims.allowed)
        used = support(source.weights) & wrong
        if not used:
            return  # the value does not err at all
        require(claims.allowed is not None, "decisions may change: values may be 0, and err")
        assert claims.allowed is not None
        require(claims.share > 0, "the evidence leaves no error to softmax")
        strict = of_law(inverse(claims.allowed * claims.share))
        for c in used:
            held = claims.end.get(c, SizeLaw()).covers(strict.times(abs(source.weights[c])))
            require(held, f"the error of coordinate {c} in the output")

    def _margin(self, stream: ResidualStream, margin: Law) -> None:
        """|value| is at least the margin at every position of every word."""
        value = stream.read(self.source.weights, self.source.bias)
        rest = common(stream.atoms[a].whole.scaled(w) for a, w in value.form.items())
        for x, kind in zip(value.content, stream.classes, strict=True):
            if kind.sink is not None:
                continue  # nobody asks for the value there
            reach = point(x)
            for a, w in value.form.items():
                reach = reach + stream.atoms[a].range * w
            least = max(reach.low.least, (reach * Fraction(-1)).low.least)
            if least > 0 and at_most(margin, as_law(Fraction(least))):
                continue
            require(not rest.degrees, "the margin of its decisions")
            part = abs(x) if not rest.unit else x % rest.unit
            nearest = part if not rest.unit else min(part, rest.unit - part)
            held = nearest > 0 and at_most(margin, as_law(nearest))
            require(held, "the margin of its decisions")


_GAPS: dict[SourceModel, dict[int, dict[HeadId, Fraction]]] = {}
"""Gaps of short words, which several certificates of one transformer ask for."""


def _six_bits(x: Fraction) -> bool:
    """Is it a number of at most 6 significant bits? Multiplying by it rounds ties alike."""
    return x > 0 and odd_part(x) < 64 and not x.denominator & (x.denominator - 1)


def _unit(source: SourceModel, c: int) -> Vector:
    return tuple(Fraction(int(k == c)) for k in range(source.width))


def _asked(head: sources.SourceHead) -> set[int]:
    """The coordinates that scores can depend on: keys in rows whose query is not 0."""
    return columns(tuple(k for q, k in zip(head.query, head.key, strict=True) if any(q)))


def _still_even(layer: sources.SourceLayer, even: set[int], uniform: list[bool]) -> set[int]:
    """The coordinates that are equal at all positions of a word, under hard and soft attention."""
    for head, same in zip(layer.heads, uniform, strict=True):
        if not (same and head.mask == "none"):
            even = even - {c for c, row in enumerate(head.output) if any(row)}
    if layer.forward is not None:
        ff = layer.forward
        varied = {u for u, row in enumerate(ff.into) if not support(row) <= even}
        even = even - {c for c, row in enumerate(ff.out) if support(row) & varied}
    return even


def _no_less(x: Polynomial, y: Polynomial) -> bool:
    """x ≥ y at every n ≥ 1, where that can be read off."""
    apart = x + y * Fraction(-1)
    return not apart.terms or apart.least >= 0 or apart.above_zero


def _bends(seen: Sight) -> tuple[tuple[Fraction, Fraction], ...] | None:
    """a and c of each row of a key a·j + c·j² that both query and key have, where every query makes
    the scores concave; else None."""
    found = parabolas(seen)
    if found is None:
        return None
    bend = seen.stream.range(asked_of(seen, [c for _, c in found])) * Fraction(-1)
    if bend.low.least < 0:
        return None
    rows = zip(found, seen.head.query, seen.head.key, strict=True)
    return tuple(pair for pair, q, k in rows if any(q) and any(k))


__all__ = ["EvidenceVerdict", "HeadFact", "Sharp", "check"]
