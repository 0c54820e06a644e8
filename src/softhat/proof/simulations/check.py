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

from softhat.numbers.laws import ONE, Constant, Law, Length, Log, RoundedUp, Tabled
from softhat.numbers.rationals import odd_part
from softhat.proof.simulations import evidence as claimed
from softhat.proof.simulations import source as sources
from softhat.proof.simulations import words
from softhat.proof.simulations.errors import (
    ROOT_E,
    Sharp,
    check_forward,
    check_heads,
    erring,
    inverse,
    least_temperature,
    require,
)
from softhat.proof.simulations.own_score import own_score
from softhat.proof.simulations.residual import ResidualStream, Sight
from softhat.proof.simulations.single import asked_of, parabolas
from softhat.proof.simulations.sizes import SizeLaw, of_law
from softhat.proof.simulations.source import HeadId, SourceModel, Vector, columns, support
from softhat.proof.simulations.walk import Stage, check_margin, walked

LONGEST_TABLE = 8
MOST_WORDS = 600
"""Words of a length whose exact gaps a table of β may rest on."""


@dataclass(frozen=True, slots=True)
class HeadFact:
    """What is proved of a head at each length: what is claimed of it, λ of each row of its value if
    it returns its own score, whether every row has one maximum, whether keys that share it have one
    value, whether its scores err, exact gaps of short words, and a and c of keys a·j + c·j² that
    make its scores concave."""

    claim: Sharp
    slopes: Vector | None
    single: bool
    agreed: bool
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

    def verdict(self, epsilon: Fraction | None) -> EvidenceVerdict:
        """The walk over all layers, then the output."""
        source, claims = self.source, self.claims
        require(set(self.laws) == set(source.heads), "there are laws of β for other heads")
        stages, stream = walked(
            source,
            [layer.stream for layer in claims.layers],
            [[_gap_claim(head) for head in layer.heads] for layer in claims.layers],
        )
        wrong = frozenset[int]()
        ends = [layer.before for layer in claims.layers[1:]] + [claims.end]
        for l, (stage, claim) in enumerate(zip(stages, claims.layers, strict=True)):
            layer = stage.layer
            for h, head in enumerate(claim.heads):
                self.facts[l, h] = self._head((l, h), stage, head, wrong)
            middle, after = erring(layer, stage.stream, wrong, stage.uniform)
            sharp = [None if head is None else head.sharp for head in claim.heads]
            weights = {c: w for c, w in claim.middle.items() if c in middle}
            check_heads(l, layer, stage.sights, sharp, stage.agreed, claim.before, weights, wrong)
            if layer.forward is not None:
                after_weights = {c: w for c, w in ends[l].items() if c in after}
                check_forward(l, layer, stage.stream, weights, after_weights, middle)
            else:
                for c in after:
                    held = weights.get(c, SizeLaw()).covers(ends[l].get(c, SizeLaw()))
                    require(held, f"layer {l}: the error of coordinate {c} after it")
            wrong = after
        self._output(stream, wrong, epsilon)
        return EvidenceVerdict(claims.allowed, claims.share, source.longest, self.facts)

    def _head(
        self, name: HeadId, stage: Stage, claim: claimed.HeadClaim | None, wrong: frozenset[int]
    ) -> HeadFact | None:
        """One head: its temperature, and what its proof rests on."""
        l, h = name
        where, seen, fact = f"layer {l}, head {h}", stage.sights[h], stage.facts[h]
        if claim is None or fact is None:
            # In floats equal scores may round apart, and β would tell them apart.
            require(self.laws[name] == ONE, f"{where}: it is uniform, and its β is not 1")
            return None
        sharp = claim.sharp
        own = own_score(seen) if sharp.inside is None else None
        errs = bool((columns(seen.head.query) | columns(seen.head.key)) & wrong)
        self._beta(name, where, claim, errs, errs and not fact.agreed)
        return HeadFact(
            sharp,
            None if own is None else own.slopes,
            fact.single,
            fact.agreed,
            errs,
            claim.short_gaps,
            _bends(seen),
        )

    def _beta(
        self, name: HeadId, where: str, claim: claimed.HeadClaim, errs: bool, dangerous: bool
    ) -> None:
        """β·γ is at least the logarithm: by the form of the law, or by numbers in a table."""
        law, sharp = self.laws[name], claim.sharp
        beyond = law.beyond if isinstance(law, Tabled) else law
        expected = RoundedUp(least_temperature(sharp, self.source.sinks), 6)
        require(beyond == expected, f"{where}: its temperature laws are not those of the evidence")
        if sharp.inside is not None:
            of_law(Log(sharp.inside))  # at least 1
        entries = law.entries if isinstance(law, Tabled) else ()
        require(len(entries) == len(claim.short_gaps), f"{where}: its table of β")
        if not entries:
            return
        require(len(entries) <= LONGEST_TABLE, f"{where}: its table of β is too long")
        inside = sharp.leak.law * Length(self.source.sinks) * (2 if dangerous else 1)
        inside = inside * ROOT_E if errs else inside
        for n, (beta, gap) in enumerate(zip(entries, claim.short_gaps, strict=True), 1):
            exact = self._least_gap(n, name)
            require(exact is None or gap <= exact, f"{where}: its gap at length {n}")
            require(_six_bits(beta), f"{where}: its table of β has more than 6 significant bits")
            most = beyond.at(n)
            require(beta <= most, f"{where}: its table of β rises above the law")
            any_keys = Sharp(
                Constant(gap), None if sharp.inside is None else inside, sharp.leak, None
            )
            need = Fraction(least_temperature(any_keys, self.source.sinks).at(n))
            enough = beta >= need * Fraction(1 + 1e-14)
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
            check_margin(source, stream, claims.allowed)
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


_GAPS: dict[SourceModel, dict[int, dict[HeadId, Fraction]]] = {}
"""Gaps of short words, which several certificates of one transformer ask for."""


def _six_bits(x: Fraction) -> bool:
    """Is it a number of at most 6 significant bits? Multiplying by it rounds ties alike."""
    return x > 0 and odd_part(x) < 64 and not x.denominator & (x.denominator - 1)


def _gap_claim(head: claimed.HeadClaim | None) -> claimed.GapClaim | None:
    return None if head is None else claimed.GapClaim(head.sharp.gap, head.sharp.crowd, head.others)


def _bends(seen: Sight) -> tuple[tuple[Fraction, Fraction], ...] | None:
    """a and c of each row of a key a·j + c·j² that both query and key have, where every query makes
    the scores concave; else None."""
    curves = parabolas(seen)
    if curves is None:
        return None
    bend = seen.stream.range(asked_of(seen, [c for _, c in curves])) * Fraction(-1)
    if bend.low.least < 0:
        return None
    rows = zip(curves, seen.head.query, seen.head.key, strict=True)
    return tuple(pair for pair, q, k in rows if any(q) and any(k))


__all__ = ["EvidenceVerdict", "HeadFact", "Sharp", "check"]
