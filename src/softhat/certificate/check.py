"""The checker: what a transformer's weights compute, and how far number formats follow.

It reads the weights and the claimed formulas and shares nothing with the passes that make
weights. Layer by layer it derives what every residual coordinate holds: features and symbols
first, then what each head returns (by matching its scores with the known forms and checking the
conditions of their theorems), then which Boolean function each gate stores. The read-out's
function must be the same canonical function as the formula's. What does not fit voids the
certificate, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import exp, expm1, inf

from softhat.certificate.atoms import Atoms
from softhat.certificate.boolean import MOST_NODES, Space, TooLargeError
from softhat.certificate.bounds import Bound, Failure, bound
from softhat.certificate.cells import (
    Cell,
    Form,
    VoidError,
    Zero,
    blocks_of,
    embedded,
    finite,
    name,
    rows_of,
)
from softhat.certificate.certificate import Certificate, HeadCertificate, OutputCertificate
from softhat.certificate.claims import claimed
from softhat.certificate.formats import CAP, FORMATS, Format
from softhat.certificate.gates import Clip, Sum, Threshold, feed_forward, read_out
from softhat.certificate.heads import (
    Average,
    HeadWeights,
    Kind,
    Latest,
    Previous,
    Sign,
    one_sided,
    recognise,
    slope_of,
)
from softhat.logic.nodes import Formula
from softhat.logic.print import to_short
from softhat.transformer.weights import Sparse, Transformer

ASSUMPTIONS = (
    "softhat's dense runtime: projections, scores, weights, head outputs, hidden units and the "
    "residual stream are rounded to the dtype; sums are taken in float32 (float64 for float64), "
    "in any order, fused or not, without TF32",
    "IEEE 754 arithmetic, rounding to nearest, ties to even",
    "softmax subtracts the row's maximum; exp(0) = 1 and exp is otherwise within 4 units in the "
    "last place; weights are divided by their sum last",
    "hidden units with equal incoming weights share one sum: the two units of a clip round alike",
    f"lengths are cut at 2^53 = {CAP}",
)


@dataclass(slots=True)
class _Head:
    layer: int
    head: int
    label: str
    kind: Kind
    by_format: dict[str, Kind | Failure]
    slack: float = inf


@dataclass(slots=True)
class _Proof:
    """What has been derived so far."""

    heads: list[_Head] = field(default_factory=list)
    clips: dict[tuple[int, Clip], str] = field(default_factory=dict)
    outputs: list[tuple[str, Threshold | None, bool]] = field(default_factory=list)
    longest: int = CAP


def certify(
    transformer: Transformer,
    formulas: Mapping[str, Formula],
    formats: Mapping[str, Format] = FORMATS,
) -> Certificate:
    """The certificate of a transformer whose outputs are claimed to compute `formulas`.

    Other runtimes give other `formats`: arithmetic that is off by more has fewer digits.
    """
    proof = _Proof()
    reasons: list[str] = []
    try:
        _derive(transformer, formulas, proof)
    except VoidError as error:
        reasons.append(str(error))
    except TooLargeError:
        reasons.append(f"a Boolean function needs more than {MOST_NODES:,} nodes: not decided")
    proved = {output for output, _, equal in proof.outputs if equal}
    reasons += [
        f"output {output!r} does not compute its formula"
        for output, _, equal in proof.outputs
        if not equal
    ]
    return _Report(transformer, formulas, proof, proved, reasons, formats).run()


def _derive(t: Transformer, formulas: Mapping[str, Formula], proof: _Proof) -> None:
    if not finite(t):
        raise VoidError("a weight is not a finite number")
    if set(t.outputs) != set(formulas):
        raise VoidError("the outputs and the claimed formulas have different names")
    atoms = Atoms(Space(t.symbols, t.propositional))
    claims = claimed(atoms, formulas)
    cells = embedded(t, atoms)
    for number in range(1, len(t.layers) + 1):
        cells = _attention(t, number, cells, atoms, proof)
        cells, clips = feed_forward(t, number, cells, atoms)
        for clip in clips:
            proof.clips.setdefault((number, clip), f"a gate of layer {number}")
    for output, form, bias in zip(
        t.outputs, rows_of(t.readout), t.readout_bias.tolist(), strict=True
    ):
        threshold, function = read_out(form, bias, cells, atoms, f"the read-out of {output!r}")
        proof.outputs.append((output, threshold, function == claims[output]))
    proof.longest = min(CAP, atoms.longest or CAP)


def _attention(
    t: Transformer, number: int, cells: list[Cell], atoms: Atoms, proof: _Proof
) -> list[Cell]:
    """The coordinates after the attention of a layer (counted from 1)."""
    layer = t.layers[number - 1]
    after = list(cells)
    tensors = [blocks_of(x) for x in (layer.query, layer.key, layer.value)]
    outputs = _written(layer.output)
    for h, (query, key, value) in enumerate(zip(*tensors, strict=True)):
        where = f"layer {number}, head {h + 1}"
        places = _targets(value, outputs[h], where)
        weights = HeadWeights(
            t.attention,
            len(t.sinks),
            layer.masks[h],
            layer.sharpness[h],
            tuple(query),
            tuple(key),
            tuple(value[r] for r in places),
        )
        level = (1 << 50) + (len(proof.heads) << 20)
        try:
            kind, made = recognise(weights, cells, len(proof.heads), atoms, level)
        except VoidError as error:
            raise VoidError(f"{where} ({layer.labels[h]}): {error}") from None
        by_format = {
            f.name: _loaded(weights, kind, made, cells, atoms, f) for f in FORMATS.values()
        }
        proof.heads.append(_Head(number - 1, h, layer.labels[h], kind, by_format))
        for cell, at in zip(made, places.values(), strict=True):
            if not isinstance(after[at], Zero):
                raise VoidError(f"{where} writes {name(t, at, number)}, which is in use")
            after[at] = cell
    return after


def _written(output: Sparse) -> list[list[tuple[int, int, float]]]:
    """For each head (coordinate, value row, weight) of its output matrix."""
    heads: list[list[tuple[int, int, float]]] = [[] for _ in range(output.shape[0])]
    for h, at, r, w in zip(
        *(a.tolist() for a in output.where), output.values.tolist(), strict=True
    ):
        heads[h].append((at, r, w))
    return heads


def _targets(value: list[Form], output: list[tuple[int, int, float]], where: str) -> dict[int, int]:
    """The coordinate that each value row is written to, with weight 1."""
    places = {r: at for at, r, _ in output}
    if len(places) != len(output) or len(set(places.values())) != len(output):
        raise VoidError(f"{where} does not write each value to a coordinate of its own")
    if any(weight != 1.0 for _, _, weight in output):
        raise VoidError(f"{where} scales what it writes")
    if any(form and r not in places for r, form in enumerate(value)):
        raise VoidError(f"{where} has a value that is written nowhere")
    return dict(sorted(places.items()))


def _loaded(
    weights: HeadWeights,
    kind: Kind,
    made: list[Cell],
    cells: list[Cell],
    atoms: Atoms,
    form: Format,
) -> Kind | Failure:
    """The head as its weights are stored. A comparison's rounding is bounded with its scores."""
    if isinstance(kind, Sign | Average):
        return kind
    sides = {"query": weights.query, "key": weights.key}
    loaded = {
        side: tuple({at: form.load(w) for at, w in row.items()} for row in rows)
        for side, rows in sides.items()
    }
    if loaded == sides:
        return kind
    try:
        stored, again = recognise(replace(weights, **loaded), cells, made[0].head, atoms, 1 << 60)  # type: ignore[union-attr, arg-type]
    except (VoidError, OverflowError, ValueError):
        return Failure("its weights are not representable")
    return stored if again == made else Failure("its weights are not representable")


class _Report:
    """From what was derived to lengths."""

    def __init__(
        self,
        t: Transformer,
        formulas: Mapping[str, Formula],
        proof: _Proof,
        proved: set[str],
        reasons: list[str],
        formats: Mapping[str, Format],
    ) -> None:
        self.t, self.formulas, self.proof = t, formulas, proof
        self.proved, self.reasons = proved, reasons
        self.formats = formats
        self.limits: dict[tuple[object, str], tuple[int, str]] = {}

    def run(self) -> Certificate:
        proof = self.proof
        for (_, clip), _ in proof.clips.items():
            self._slack(clip.sum, min(clip.sum.top - clip.width, 1 - clip.sum.top))
        outputs = []
        for output, threshold, equal in proof.outputs:
            assert threshold is not None
            top = threshold.sum.top
            slack = self._slack(threshold.sum, min(top, 1 - top))
            outputs.append(OutputCertificate(output, self._formula(output), equal, slack))
            if slack <= 0:
                self.reasons.append(f"the read-out of {output!r} can be wrong by the leak alone")
        heads = tuple(self._head(head) for head in proof.heads)
        if any(head.slack <= 0 for head in heads):
            self.reasons.append("a gate can be wrong by the leak alone")
        max_length, binding = {}, {}
        for form in self.formats.values():
            n, why = self._limit(form) if not self.reasons else (0, "void")
            max_length[form.name], binding[form.name] = n, why
        return Certificate(
            attention=self.t.attention,
            max_length=max_length,
            binding=binding,
            heads=heads,
            outputs=tuple(outputs),
            assumptions=ASSUMPTIONS,
            every_length=not self.reasons and proof.longest == CAP,
            void=tuple(self.reasons),
        )

    def _formula(self, output: str) -> str:
        return to_short(self.formulas[output], 200)

    # In the reals

    def _slack(self, total: Sum, room: float) -> float:
        """What a sum tolerates beyond the leak of the heads in it, noted for each head."""
        leaks = [real_leak(self.proof.heads[at].kind) for at, _ in total.raws]
        slack = room - sum(leaks)
        for at, _ in total.raws:
            head = self.proof.heads[at]
            head.slack = min(head.slack, slack)
        return slack

    def _head(self, head: _Head) -> HeadCertificate:
        lengths, why = {}, {}
        for form in self.formats.values():
            kind = head.by_format[form.name]
            if isinstance(kind, Failure):
                lengths[form.name], why[form.name] = 0, kind.reason
                continue
            lengths[form.name], why[form.name] = self._kind_limit(kind, form)
        sharpness = self.t.layers[head.layer].sharpness[head.head]
        scaled = self.t.attention == "temperature"
        return HeadCertificate(
            layer=head.layer,
            head=head.head,
            kind=kind_name(head.kind),
            label=head.label,
            numbers=numbers(head.kind),
            min_gap=min_gap(head.kind),
            leak=real_leak(head.kind),
            holds_for="every n",
            beta=f"{sharpness:g}·P, P the next power of two >= n+2" if scaled else "1",
            slack=head.slack,
            max_length=lengths,
            reasons=why,
        )

    # In floating point

    def _kind_limit(self, kind: Kind, form: Format) -> tuple[int, str]:
        key = (kind, form.name)
        if key not in self.limits:
            self.limits[key] = _search(lambda n: _reason(bound(kind, n, form)), self.proof.longest)
        return self.limits[key]

    def _limit(self, form: Format) -> tuple[int, str]:
        """The length up to which every head, gate and read-out is proved."""
        best, why = self.proof.longest, "the largest length considered"

        def take(found: tuple[int, str], where: str) -> None:
            nonlocal best, why
            if found[0] < best:
                best, why = found[0], f"{where}: {found[1]}"

        if self.t.attention != "temperature" and {"i", "r"} & set(self.t.positions):
            reach = int(min(form.largest, CAP))
            take((reach, "positions overflow"), "the embedding")
        for head in self.proof.heads:
            kind = head.by_format[form.name]
            where = f"layer {head.layer + 1}, head {head.head + 1} ({head.label})"
            if isinstance(kind, Failure):
                take((0, kind.reason), where)
            else:
                take(self._kind_limit(kind, form), where)
        if best == 0:
            return best, why
        for (_, clip), where in self.proof.clips.items():
            take(self._sum_limit(clip.sum, clip, form, best), where)
        for output, threshold, _ in self.proof.outputs:
            assert threshold is not None
            take(self._sum_limit(threshold.sum, None, form, best), f"the read-out of {output!r}")
        return best, why

    def _sum_limit(self, total: Sum, clip: Clip | None, form: Format, upto: int) -> tuple[int, str]:
        raws = []
        for at, positive in total.raws:
            kind = self.proof.heads[at].by_format[form.name]
            assert not isinstance(kind, Failure)
            raws.append((kind, positive))

        def fails(n: int) -> str | None:
            errors = []
            for kind, positive in raws:
                error = bound(kind, n, form)
                if isinstance(error, Failure):
                    return error.reason
                errors.append((error, positive))
            return clip_fails(clip, errors, form) if clip else sum_fails(total, errors, form)

        shape = (total.top, total.size, total.weights, clip and (clip.width, clip.sink))
        key = ((shape, tuple(sorted(raws, key=hash))), form.name)
        if key not in self.limits:
            self.limits[key] = _search(fails, upto)
        return self.limits[key]


def clip_fails(clip: Clip, errors: list[tuple[Bound, bool]], form: Format) -> str | None:
    """Why a clip may not be exactly 0 or 1, or None.

    False sums leave both units at 0. A true sum leaves them in one binade, [1/2, 1], so that
    both are rounded by the same amount (where sums are stored as they are, nothing is rounded)
    and their difference is exactly the width. The outgoing sum then has terms up to 8.
    """
    total = clip.sum
    if any(form.load(weight) != weight for weight in total.weights):
        return "a weight of a gate is not representable"
    *_, high, low, out = total.weights
    if abs(out) < 8 or any((bias * 128) % 1 for bias in (high, low)):
        return "a gate's clip is too wide to be exact"
    loss, gain, over = _spread(total, errors, form)
    least = total.top - loss - clip.width
    if least < 0.5 if form.u else least <= 0:
        return "a gate's sum is too low where it should be 1"
    if total.top + over > 7 / 8 or total.top - 1 + gain > 0 or clip.sink + over > 0:
        return "a gate's sum is too high"
    return None


def sum_fails(total: Sum, errors: list[tuple[Bound, bool]], form: Format) -> str | None:
    """Why a read-out's margin may have the wrong sign, or None."""
    *weights, bias = total.weights
    if any(form.load(weight) != weight for weight in weights):
        return "a weight of the read-out is not representable"
    off = abs(form.load(bias) - bias)
    loss, gain, _ = _spread(total, errors, form)
    if min(total.top - loss, 1 - total.top - gain) - off <= 2.0**-20:
        return "the margin is too small"
    return None


def _spread(
    total: Sum, errors: list[tuple[Bound, bool]], form: Format
) -> tuple[float, float, float]:
    """How far a sum can be below its value where true, above it where false, above 1.

    Where the conjunction is false one literal is, and is off by its own error only: more false
    literals lower the sum by more than they can be off.
    """
    rounding = len(errors) * form.grid(total.size + len(errors))
    over = sum(error.over for error, _ in errors) + rounding
    loss = sum(e.low if positive else e.high for e, positive in errors) + rounding
    gain = max((e.high if positive else e.low for e, positive in errors), default=0.0) + over
    return loss, gain, over


def _reason(result: Bound | Failure) -> str | None:
    return result.reason if isinstance(result, Failure) else None


def _search(fails: Callable[[int], str | None], upto: int) -> tuple[int, str]:
    """The largest n <= upto that does not fail, and why n+1 does: bounds only grow with n."""
    if fails(upto) is None:
        return upto, "the largest length considered"
    low, high = 0, upto  # fails at high
    while high - low > 1:
        middle = (low + high) // 2
        if fails(middle) is None:
            low = middle
        else:
            high = middle
    return low, fails(high) or ""


# Theorems of the heads, in the reals


def min_gap(kind: Kind) -> float:
    """The best score minus the next, for every n and every word."""
    match kind:
        case Latest(slope=slope):
            return slope
        case Previous(slope=slope, alternation=alternation):
            return min(2 * slope, 2 * alternation - slope)
        case Sign(up=up, down=down):
            return min(up, down)
        case Average():
            return inf


def real_leak(kind: Kind) -> float:
    """Attention outside the winner (for Sign: the winning side), for every n, at most."""
    if kind_attention(kind) == "hard":
        return 0.0
    match kind:
        case Latest(slope=slope):
            return exp(-slope)
        case Previous(slope=slope, alternation=alternation):
            return (exp(-2 * slope) + exp(slope - 2 * alternation)) / -expm1(-2 * slope)
        case Sign(up=up, down=down):
            down = min(down, -kind.constant) if one_sided(kind) else down
            return max(exp(-up), exp(-down) / -expm1(-slope_of(kind)))
        case Average():
            return 0.0


def numbers(kind: Kind) -> dict[str, float]:
    """The coefficients of a head's score."""
    match kind:
        case Latest():
            names = ("slope", "penalty")
        case Previous():
            names = ("slope", "offset", "alternation")
        case Average():
            names = ("low", "high")
        case Sign():
            names = ("steep", "at_i", "at_r", "constant", "unit")
    return {name: getattr(kind, name) for name in names}


def kind_attention(kind: Kind) -> str:
    return kind.attention if isinstance(kind, Average) else kind.scores.attention


def kind_name(kind: Kind) -> str:
    match kind:
        case Latest(direction=direction):
            return "Latest" if direction == "past" else "Earliest"
        case Previous(direction=direction):
            return "Previous" if direction == "past" else "Next"
        case Average():
            return "Average"
        case Sign():
            return "Sign"
