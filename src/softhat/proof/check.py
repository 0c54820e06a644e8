"""The checker: what a transformer's weights compute, and how far number formats follow.

It reads the weights and the claimed formulas and shares nothing with the passes that make
weights. Layer by layer it derives what every residual coordinate holds: features and symbols
first, then what each head returns (by matching its scores with the known forms and checking the
conditions of their theorems), then which Boolean function each gate stores. The read-out's
function must be the same canonical function as the formula's. What does not fit voids the
certificate, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan

from softhat.io.errors import VoidError
from softhat.logic.predicates import predicates_of
from softhat.logic.syntax.nodes import Formula
from softhat.numbers.laws import ONE, Constant
from softhat.numbers.positions import longest
from softhat.numbers.predicates import longest as table_length
from softhat.numerics.formats import CAP, FORMATS, Format
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.cells import Cell, Form, Zero, blocks_of, embedded, rows_of
from softhat.proof.certificate import Certificate
from softhat.proof.claims import Claims
from softhat.proof.gates import Threshold, feed_forward, read_out
from softhat.proof.heads import recognise
from softhat.proof.heads.kind import Kind, ProgramParts
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.ledger import Ledger
from softhat.proof.lengths import Proof, ProvedHead, Report
from softhat.proof.void import UNPROVED, reason_of
from softhat.transformer.weights import BOS, EOS, Sparse, Transformer


def certify(
    transformer: Transformer,
    formulas: Mapping[str, Formula],
    formats: Mapping[str, Format] = FORMATS,
    proof: Proof | None = None,
) -> Certificate:
    """The certificate of a transformer whose outputs are claimed to compute `formulas`.

    Other runtimes give other `formats`: arithmetic that is off by more has fewer digits. What is
    derived goes to `proof`, an empty one, for whoever goes on from there.
    """
    proof = Proof() if proof is None else proof
    reasons: list[str] = []
    try:
        _derive(transformer, formulas, proof)
    except UNPROVED as error:
        reasons.append(reason_of(error))
    reasons += proof.unmet("its formula")
    try:
        return Report(transformer, formulas, proof, reasons, formats).run()
    except ArithmeticError as error:
        reasons.append(f"the bounds lead to numbers that float64 does not hold ({error})")
        return Report(transformer, formulas, Proof(), reasons, formats).run()


def _derive(t: Transformer, formulas: Mapping[str, Formula], proof: Proof) -> None:
    if set(t.outputs) != set(formulas):
        raise VoidError("the outputs and the claimed formulas have different names")
    atoms = Atoms(Space(t.symbols, t.propositional))
    claims = Claims(atoms, formulas)
    for output, (threshold, function) in derived(t, atoms, proof).items():
        proof.outputs.append((output, threshold, claims.met(output, function)))
    proof.longest = min(CAP, atoms.longest or CAP)
    # Beyond a table there is nothing to run, or to compute.
    tables = [(longest(t.positions, t.has_bos), "a position table ends")]
    for predicate in predicates_of(*formulas.values()).values():
        ends = f"the table of at({predicate.name}) ends"
        tables.insert(0, (table_length(predicate), ends))
    for length, why in tables:
        if length is not None and length < proof.longest:
            proof.longest, proof.end = length, why


def derived(t: Transformer, atoms: Atoms, proof: Proof) -> dict[str, tuple[Threshold, int]]:
    """The function that each output decides, and its threshold; heads and gates go to `proof`."""
    ledger = Ledger(t)
    cells = cells_of(t, atoms, proof, ledger)
    rows = zip(t.outputs, read_outs(t, ledger), strict=True)
    decided = {
        output: read_out(form, bias, cells, atoms, f"the read-out of {output!r}")
        for output, (form, bias) in rows
    }
    ledger.close()
    return decided


def read_outs(t: Transformer, ledger: Ledger) -> Iterator[tuple[Form, float]]:
    """The weights and the bias of each output, whose reader accounts for them."""
    for row, read in enumerate(zip(rows_of(t.readout), t.readout_bias.tolist(), strict=True)):
        ledger.take(None, "readout", row)
        ledger.take(None, "readout_bias", row)
        yield read


def cells_of(t: Transformer, atoms: Atoms, proof: Proof, ledger: Ledger) -> list[Cell]:
    """What every coordinate holds after the last layer."""
    if not t.is_finite:
        raise VoidError("a weight is not a finite number")
    if t.sinks not in ((BOS,), (BOS, EOS)):
        raise VoidError(f"the sinks are {' '.join(t.sinks)}, not {BOS} and perhaps {EOS}")
    cells = embedded(t, atoms)
    for at in range(t.d_model):
        ledger.take(None, "embedding", at)
        ledger.take(None, "position_embedding", at)
    for number in range(1, len(t.layers) + 1):
        cells = attention_of(t, number, cells, atoms, proof, ledger)
        cells = feed_forward_of(t, number, cells, atoms, proof, ledger)
    return cells


def feed_forward_of(
    t: Transformer, number: int, cells: list[Cell], atoms: Atoms, proof: Proof, ledger: Ledger
) -> list[Cell]:
    """The coordinates after the feed-forward of a layer (counted from 1)."""
    # Programs alone read them, and a list a layer would be quadratic in the depth.
    kinds = [] if proof.parts is None else [head.kind for head in proof.heads]
    cells, clips, decoded = feed_forward(t, number, cells, atoms, kinds, ledger, proof.parts)
    for clip in clips:
        proof.clips.setdefault((number, clip), f"a gate of layer {number - 1}")
    for kind in decoded:
        label = f"steps of layer {number - 1}"
        proof.heads.append(ProvedHead(number - 1, -1, label, kind, dict.fromkeys(FORMATS, kind)))
    return cells


def attention_of(
    t: Transformer, number: int, cells: list[Cell], atoms: Atoms, proof: Proof, ledger: Ledger
) -> list[Cell]:
    """The coordinates after the attention of a layer (counted from 1)."""
    layer = t.layers[number - 1]
    after = list(cells)
    tensors = [blocks_of(x) for x in (layer.query, layer.key, layer.value)]
    outputs = _written(layer.output)
    for h, (query, key, value) in enumerate(zip(*tensors, strict=True)):
        where = f"layer {number - 1}, head {h}"
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
        law, scaled = layer.laws[h], t.attention == "temperature"
        if proof.parts is not None and proof.parts.is_selection(weights, cells):
            if not isinstance(law, Constant) or (law != ONE and not scaled):
                raise VoidError(f"{where} has the inverse temperature {law.text}, not a constant")
            weights = replace(weights, sharpness=float(law.value))
        elif isnan(layer.sharpness[h]) if scaled else law != ONE:
            expected = "C·P" if scaled else "1"
            raise VoidError(f"{where} has the inverse temperature {law.text}, not {expected}")
        own = len(proof.heads)  # its number over all layers
        level = (1 << 50) + (own << 20)
        try:
            kind, returned = recognise(weights, cells, own, atoms, level, proof.parts)
        except VoidError as error:
            raise VoidError(f"{where}: {error}") from None
        by_format = {
            f.name: _loaded(weights, kind, returned, own, cells, atoms, f, proof.parts)
            for f in FORMATS.values()
        }
        proof.heads.append(ProvedHead(number - 1, h, layer.labels[h], kind, by_format))
        for name in ("query", "key", "value", "output"):
            ledger.take(number - 1, name, h)
        for cell, at in zip(returned, places.values(), strict=True):
            if not isinstance(after[at], Zero):
                raise VoidError(f"{where} writes coordinate {at}, which is in use")
            after[at] = cell
    return after


def _written(output: Sparse) -> list[list[tuple[int, int, float]]]:
    """For each head (coordinate, value row, weight) of its output matrix."""
    heads: list[list[tuple[int, int, float]]] = [[] for _ in range(output.shape[0])]
    for h, at, r, w in output.entries():
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
    returned: list[Cell],
    own: int,
    cells: list[Cell],
    atoms: Atoms,
    form: Format,
    parts: ProgramParts | None,
) -> Kind | str:
    """The head as its weights are stored, if its bound does not count their rounding; or why that
    proves nothing."""
    if kind.bounds_weights:
        return kind
    query, key = (
        tuple({at: form.stored(w) for at, w in row.items()} for row in rows)
        for rows in (weights.query, weights.key)
    )
    if (query, key) == (weights.query, weights.key):
        return kind
    try:
        loaded = replace(weights, query=query, key=key)
        stored, again = recognise(loaded, cells, own, atoms, 1 << 60, parts)
    except (VoidError, OverflowError, ValueError):
        return "its weights are not representable"
    return stored if again == returned else "its weights are not representable"
