"""Unique-hard attention as average-hard attention: a position term decides among ties, or nothing.

Theorem 15. A head that takes the leftmost or rightmost of its maximal keys has scores whose
differences are 0 or at least γ(n) (`analysis.gap_laws`). Adding ±κ·j with κ·n ≤ γ(n)/2 never turns
a difference around and makes the key wanted the only maximum, with a gap of at least κ. κ(n)·j is a
position feature, i/n^k, times a constant, so this holds at every length where γ is polynomial; to a
given length a constant κ does, whatever γ. `<bos>` stands at 0, an `<eos>` at n + 1
(the feature is j/n^k then), and κ·(n + 1) ≤ γ(n)/2. Heads that are proved to have no ties need no
such term; and where keys that share a maximum have one value, their average is that value (Theorem
43, `proof.simulations.argmax`): then γ(n) is the gap, not κ(n), and β is n times warmer.
Machine-checked: `tie_broken` of proofs/Unique.v.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.portrait import source_of
from softhat.ahat.model import AHAT, Head, Layer, Matrix, Vector
from softhat.ahat.simulation.temperature import NoTemperatureError
from softhat.io.errors import SofthatError
from softhat.numbers.laws import Constant, Law
from softhat.numbers.positions import PLACES, SHARES, Named
from softhat.proof.simulations.argmax import agreeing
from softhat.proof.simulations.single import decided, in_powers_of_n

HALF = Fraction(1, 2)


def tie_broken(model: AHAT, max_length: int | None = None, every: bool = False) -> AHAT:
    """The same function, with one maximum in every row of a unique-hard head (to the length), but
    for heads whose tied keys agree: those keep their ties (unless `every` one is to be broken)."""
    laws = gap_laws(model).gap
    wanted = _with_ties(model, every)
    if not wanted:
        return model
    terms = {name: _term(laws[name], name, max_length, model.eos) for name in wanted}
    features = list(model.positions)
    for feature in [Named("1"), *(feature for feature, _ in terms.values())]:
        if feature not in features:
            features.append(feature)
    used = dict.fromkeys([Named("1"), *(feature for feature, _ in terms.values())])
    place = {feature: model.d_model + k for k, feature in enumerate(used)}
    wide = model.d_model + len(place)
    rows = [_padded(row, len(features)) for row in model.position_embedding]
    rows += [tuple(Fraction(int(f == g)) for g in features) for f in place]
    return replace(
        model,
        positions=tuple(features),
        embedding=tuple(_padded(v, wide) for v in model.embedding),
        bos_embedding=None if model.bos_embedding is None else _padded(model.bos_embedding, wide),
        eos_embedding=None if model.eos_embedding is None else _padded(model.eos_embedding, wide),
        position_embedding=tuple(rows),
        layers=tuple(
            _widened(
                layer,
                wide,
                {h: (place[Named("1")], place[terms[l, h][0]], terms[l, h][1])
                 for h in range(len(layer.heads)) if (l, h) in terms},
            )
            for l, layer in enumerate(model.layers)
        ),
        output_weights=_padded(model.output_weights, wide),
        names=(*model.names, *(f"tie break: {f.name}" for f in place)) if model.names else (),
    )  # fmt: skip


def require_broken(model: AHAT, max_length: int | None = None) -> None:
    """Every unique-hard head of a model that softmax runs has one maximum in every row (to the
    length), by its scores or by a last row of query and key that breaks ties, or maximal keys that
    agree; else an error."""
    wanted = _with_ties(model)
    if not wanted:
        return
    before, source = without_terms(model), source_of(model)
    laws = gap_laws(before).gap
    for l, h in wanted:
        head = source.layers[l].heads[h]
        if before is model or not decided(source, head, laws[l, h], max_length):
            raise SofthatError(
                f"layer {l}, head {h} takes the {head.ties} of its maximal keys, and nothing in "
                "its scores breaks their ties: make the simulation again with simulate"
            )


def _with_ties(model: AHAT, agreed: bool = False) -> list[tuple[int, int]]:
    """Unique-hard heads that are not proved to have one maximum in every row, nor (unless those are
    wanted too) maximal keys that agree."""
    laws = gap_laws(model)
    return [
        (l, h)
        for l, h in model.heads
        if model.layers[l].heads[h].ties != "average"
        and not laws.tieless[l, h]
        and (agreed or not agreeing(laws.portrait.views[l, h]))
    ]


def without_terms(model: AHAT) -> AHAT:
    """The model without the last row of query and key of its unique-hard heads that may tie: the
    row that should break ties. The model itself if it has no such heads or they have no rows."""
    wanted = _with_ties(model)

    def shorter(name: tuple[int, int], head: Head) -> Head:
        if name not in wanted:
            return head
        return replace(head, query=head.query[:-1], key=head.key[:-1])

    if not wanted or any(not model.layers[l].heads[h].query for l, h in wanted):
        return model
    return replace(
        model,
        layers=tuple(
            replace(layer, heads=tuple(shorter((l, h), x) for h, x in enumerate(layer.heads)))
            for l, layer in enumerate(model.layers)
        ),
    )


def _term(
    law: Law | None, name: tuple[int, int], max_length: int | None, eos: bool
) -> tuple[Named, Fraction]:
    """The position feature and its weight: with an `<eos>` n + 1 <= 2n of its steps count."""
    most = HALF / 2 if eos else HALF
    if law is None or isinstance(law, Constant):
        unit = Fraction(1) if law is None else Fraction(law.at(1))
        return Named("j/n^1" if eos else "i/n"), unit * most
    if max_length is not None:
        least = Fraction(law.at(max_length))
        return (Named("j/n^1"), least * most) if eos else (Named("i"), least * most / max_length)
    units, degrees = zip(*in_powers_of_n(law), strict=True)
    unit, degree = min(units), max(degrees)
    feature = f"j/n^{degree + 1}" if eos else f"i/n^{degree + 1}"
    if not unit or feature not in (PLACES if eos else SHARES):
        raise NoTemperatureError(
            f"layer {name[0]}, head {name[1]} breaks ties between scores whose gap is only known "
            f"to be at least {law.text}: no position feature is that fine at every length; give a "
            "max_length"
        )
    return Named(feature), unit * most


def _widened(layer: Layer, wide: int, breaks: dict[int, tuple[int, int, Fraction]]) -> Layer:
    heads = []
    for h, head in enumerate(layer.heads):
        query, key = _columns(head.query, wide), _columns(head.key, wide)
        if h in breaks:
            one, step, weight = breaks[h]
            sign = 1 if head.ties == "rightmost" else -1
            query += (tuple(weight * sign * int(c == one) for c in range(wide)),)
            key += (tuple(Fraction(int(c == step)) for c in range(wide)),)
        heads.append(_head(head, query, key, wide))
    forward = layer.feed_forward
    if forward is not None:
        empty = (Fraction(0),) * len(forward.in_weights)
        more = wide - len(forward.out_weights)
        forward = replace(
            forward,
            in_weights=_columns(forward.in_weights, wide),
            out_weights=forward.out_weights + (empty,) * more,
            out_bias=_padded(forward.out_bias, wide),
        )
    return Layer(tuple(heads), forward)


def _head(head: Head, query: Matrix, key: Matrix, wide: int) -> Head:
    more = wide - len(head.output)
    empty = (Fraction(0),) * len(head.value)
    value, output = _columns(head.value, wide), head.output + (empty,) * more
    return replace(head, query=query, key=key, value=value, output=output)


def _columns(matrix: Matrix, wide: int) -> Matrix:
    return tuple(_padded(row, wide) for row in matrix)


def _padded(row: Vector, wide: int) -> Vector:
    return row + (Fraction(0),) * (wide - len(row))
