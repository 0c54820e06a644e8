"""A model as data for the page: what it means, its weights, and what is proved about it.

The page runs the weights itself, so this is everything it needs: one JSON document, whether it
is sent by the server or stands inside a report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Literal

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.simulation.simulation import Simulation
from softhat.explore.badges import badges
from softhat.explore.decoder_view import decoder_view
from softhat.explore.formula_view import LONGEST, Parts, Place, bits_of, rows_of
from softhat.io.errors import SofthatError
from softhat.io.plural import plural
from softhat.logic.fragments import describe
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.numbers.positions import DigitFeature, Feature, Holds, Mod, Named, Table
from softhat.numbers.predicates import depends_on_length, longest
from softhat.proof.certificate import Certificate
from softhat.transformer.weights import Layer, Transformer, sharpness_of

FORMAT = "softhat-page/1"
MOST_PARAMETERS = 400_000
"""Weights that a page holds: beyond, a browser is no place for them."""


AlphabetFrom = Literal["given", "inferred", "own"]
"""Whether an alphabet was typed, taken from the input and the word, or belongs to the model."""
_NOT_LEAKING = ("Width",)
"""Kinds of heads whose answer is a share of attention: what they give to others is no leak."""


def view_of(model: Any) -> dict[str, Any]:
    """Whatever users hold, as a view."""
    if isinstance(model, Model):
        return view_of_model(model)
    if isinstance(model, Simulation):
        return view_of_simulation(model)
    if isinstance(model, ValueModel):
        return view_of_values(model)
    raise SofthatError(f"the page shows models, not {type(model).__name__}")


def view_of_model(
    model: Model,
    alphabet_from: AlphabetFrom = "own",
    used: Iterable[str] = (),
    at: Place | None = None,
) -> dict[str, Any]:
    """A compiled model; `used` are the symbols of the input where the alphabet was inferred, `at`
    is where the formula is read if neither it nor the model says so."""
    parts = Parts(model.formulas)
    certificate = model.certificate
    return _view(
        "formula",
        "; ".join(map(str, model.formulas.values())),
        _transformer(model.transformer, parts, _leaks(certificate)),
        alphabet_from=alphabet_from,
        used=sorted(used),
        formula={"nodes": parts.nodes()},
        outputs=[
            parts.output(name, formula, model.at or at) for name, formula in model.formulas.items()
        ],
        unit={"name": "C", "base": _sharpness(model.transformer)},
        certificate=_certificate(certificate, model),
        warnings=_warnings(model) if alphabet_from == "inferred" else [],
    )


def view_of_simulation(simulation: Simulation) -> dict[str, Any]:
    """A hard-attention transformer, simulated: what is expected is what hard attention says."""
    source, certificate = simulation.source, simulation.certificate
    transformer = _transformer(simulation.transformer, None, {})
    laws = gap_laws(source).gap
    for number, layer in enumerate(transformer["layers"]):
        for h, head in enumerate(layer["heads"]):
            law = laws.get((number, h))
            head["gap"] = None if law is None else law.to_json()
            head["gap_text"] = "" if law is None else law.text
    named = len(source.names[: source.d_model])
    facts = f"hard attention; {named} named coordinates; made for {_reach(simulation.length)}"
    return _view(
        "ahat",
        "value > 0",
        transformer,
        outputs=_read_at_the_end(simulation.transformer.outputs[:1], facts),
        certificate={
            "badges": badges(None, certificate.max_length),
            "lengths": _lengths(certificate.max_length),
            "why": _why(simulation),
            "assumes": [],
        },
    )


def view_of_values(model: ValueModel) -> dict[str, Any]:
    """A RASP program: what is expected is what hard attention computes with the same weights."""
    certificate = model.certificate
    outputs = plural(len(model.transformer.outputs), "output")
    facts = f"RASP program, to length {model.max_length}; {outputs}"
    return _view(
        "rasp",
        model.name,
        _transformer(model.transformer, None, _leaks(certificate)),
        longest=model.max_length,
        decoder=decoder_view(model.compiled.decoder, certificate.errors),
        outputs=_read_at_the_end(model.transformer.outputs, facts),
        certificate=_certificate(certificate),
    )


def _view(kind: str, title: str, transformer: dict[str, Any], **particular: Any) -> dict[str, Any]:
    """What every view says, and what is particular to its kind."""
    return {
        "format": FORMAT,
        "kind": kind,
        "title": title,
        "attention": transformer["attention"],
        "alphabet": transformer["symbols"],
        "alphabet_from": "own",
        "longest": None,
        "propositional": transformer["propositional"],
        "formula": None,
        "transformer": transformer,
        "unit": {"name": "β/β(n)", "base": 1.0},
        "warnings": [],
        **particular,
    }


def _read_at_the_end(names: Iterable[str], facts: str) -> list[dict[str, Any]]:
    """Outputs that no formula says."""
    return [{"name": name, "root": None, "at": "last", "facts": facts} for name in names]


def _leaks(certificate: Certificate) -> dict[tuple[int, int], float]:
    """The bounds that are proved on the attention outside the argmax, of the heads that have
    one."""
    return {
        (head.layer, head.head): head.leak
        for head in certificate.heads
        if head.kind not in _NOT_LEAKING
    }


def _certificate(certificate: Certificate, model: Model | None = None) -> dict[str, Any]:
    """Lengths, the sentences that say why, and those about floats and what is assumed."""
    lines = [line for line in certificate.explain().splitlines() if line]
    floats = next(
        (at for at, line in enumerate(lines) if re.match(r"In \w*float\d+ |It assumes", line)),
        len(lines),
    )
    return {
        "badges": badges(model, certificate.max_length, bool(certificate.void)),
        "lengths": _lengths(certificate.max_length),
        "why": lines[:floats],
        "assumes": lines[floats:],
    }


def _warnings(model: Model) -> list[str]:
    """What an inferred alphabet hides: with more symbols the formula would say more."""
    symbols = " ".join(model.transformer.symbols)
    temporal = any(describe(formula).temporal_depth for formula in model.formulas.values())
    if temporal and not any(layer.labels for layer in model.transformer.layers):
        return [
            f"Over the inferred alphabet {symbols} this needs no attention: it is trivial. "
            "Give an alphabet with the other symbols that words may have."
        ]
    if len(model.transformer.symbols) == 1 and not model.transformer.propositional:
        return [
            f"The inferred alphabet has one symbol, {symbols}: words differ only in their length. "
            "Give an alphabet with the other symbols that words may have."
        ]
    return []


def _reach(length: int | None) -> str:
    return "words of every length" if length is None else f"words to length {length}"


def _why(simulation: Simulation) -> list[str]:
    certificate = simulation.certificate
    agrees = (
        "decides as hard attention does"
        if certificate.epsilon is None
        else f"is within an error of {certificate.error:.3g} of hard attention"
    )
    proved = {
        "proved_all": "proved for words of every length",
        "proved_to_length": f"proved for every word to length {certificate.length}",
        "exhaustive": f"every word to length {certificate.length} was run",
    }[certificate.guarantee]
    return [
        f"Softmax at these temperatures {agrees}: {proved}.",
        "A row's leak is at most Σ e^(-β·gap): the smaller the least gap γ(n), the colder softmax "
        "has to be.",
        "Where tied scores carry errors from the layers below, colder is not safer: those layers "
        "have to be colder first.",
    ]


def _transformer(
    t: Transformer, parts: Parts | None, leaks: dict[tuple[int, int], float]
) -> dict[str, Any]:
    if t.size.parameters > MOST_PARAMETERS:
        raise SofthatError(
            f"the model has {t.size.parameters:,} parameters, and the page holds "
            f"{MOST_PARAMETERS:,}: use a smaller formula, or a regular language to a shorter "
            "length (max_length=16, --depth log@16)"
        )
    last = len(t.layers)
    labels = [coordinate.label(last) for coordinate in t.coordinates]
    return {
        "attention": t.attention,
        "symbols": list(t.symbols),
        "propositional": t.propositional,
        "sinks": list(t.sinks),
        "d_model": t.d_model,
        "positions": [_feature(feature) for feature in t.positions],
        "embedding": t.embedding.dense().tolist(),
        "position_embedding": t.position_embedding.dense().tolist(),
        "layers": [_layer(layer, number, parts, leaks) for number, layer in enumerate(t.layers)],
        "outputs": list(t.outputs),
        "readout": t.readout.dense().tolist(),
        "readout_bias": t.readout_bias.tolist(),
        "coordinates": [
            {"label": label, "node": next(iter(parts.of_label(label)), None) if parts else None}
            for label in labels
        ],
    }


def _layer(
    layer: Layer, number: int, parts: Parts | None, leaks: dict[tuple[int, int], float]
) -> dict[str, Any]:
    tensors = {
        name: getattr(layer, name).dense().tolist() for name in ("query", "key", "value", "output")
    }
    heads = [
        {
            "label": label,
            "mask": layer.masks[h],
            "beta": layer.laws[h].to_json(),
            "law_text": layer.laws[h].text,
            "leak": leaks.get((number, h)),
            "nodes": parts.of_label(label.partition(": ")[2]) if parts else [],
            **{name: tensor[h] for name, tensor in tensors.items()},
        }
        for h, label in enumerate(layer.labels)
    ]
    return {
        "heads": heads,
        "into": layer.into.dense().tolist(),
        "into_bias": layer.into_bias.tolist(),
        "out": layer.out.dense().tolist(),
        "out_bias": layer.out_bias.tolist(),
    }


def _feature(feature: Feature) -> dict[str, Any]:
    match feature:
        case Named(name, scaled):
            return {"name": name, "scaled": scaled}
        case Mod(modulus, remainder, sinks):
            return {"mod": [modulus, remainder], "sinks": sinks}
        case Table(entries):
            return {"table": [float(entry) for entry in entries]}
        case Holds(predicate) if not depends_on_length(predicate):
            held = bits_of(predicate, longest(predicate) or LONGEST)
            return {"table": [0.0, *map(float, held)]}  # <bos> first
        case Holds(predicate):
            return {"rows": rows_of(predicate)}
        case DigitFeature(bit, position, length, constant):
            return {"digit": [bit, position, length, constant]}


def _sharpness(t: Transformer) -> float:
    """C: of the heads that have one, the least."""
    if t.attention != "temperature":
        return 4.0
    sharpnesses = [sharpness_of(law) for layer in t.layers for law in layer.laws]
    return min((c for c in sharpnesses if not math.isnan(c)), default=1.0)


def _lengths(max_length: Any) -> list[dict[str, Any]]:
    order = ("bfloat16", "float16", "float32", "float64")
    return [{"dtype": name, "length": max_length[name]} for name in order if name in max_length]
