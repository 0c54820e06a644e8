"""The heads of stock checkpoints: what each computes, its logits, and what the configuration says.

`token-classification` labels every symbol true or false by one output, `multi-label` gives every
output a logit of its own, `lm` is a language model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from softhat.export.stock.languages import StockLanguage
from softhat.io.errors import SofthatError
from softhat.logic.sources import Weights, log_weights
from softhat.models.model import Model
from softhat.program.draft import only
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.proof.stock.automata import Claimed, at_start, formulas_alone
from softhat.transformer.lowering.language_model import (
    Row,
    lm_formulas,
    lm_program,
    lm_rows,
    weighted_rows,
)
from softhat.transformer.lowering.stock.plan import ONE
from softhat.transformer.weights import EOS

HeadName = Literal["token-classification", "lm", "multi-label"]
LABELS = ("false", "true")


def claimed_weights(
    model: Model | StockLanguage, head: HeadName, weights: Mapping[str, Any]
) -> Weights:
    """The log-weights of all tokens of a language model."""
    if isinstance(model, StockLanguage):
        raise SofthatError("log-weights are for language models of formulas: leave weights out")
    if head != "lm":
        raise SofthatError("log-weights are for language models: give head='lm'")
    outputs = tuple(dict.fromkeys((*model.formulas, EOS)))
    return log_weights(weights, (*model.transformer.symbols, EOS), outputs)


def asked_of(
    model: Model | StockLanguage, head: HeadName, output: str | None, weights: Weights | None
) -> tuple[Mapping[str, Claimed], Program]:
    """What a head computes: formulas by name, and their program."""
    if isinstance(model, StockLanguage):
        if output is not None and (head == "lm" or output not in model.claims):
            raise SofthatError(f"a language has one output: leave {output!r} out")
        return model.claims, model.program
    if model.machine is not None and head == "lm":  # its outputs are all tokens, `<eos>` too
        return model.formulas, model.program
    t = model.transformer
    if head != "token-classification" and output is not None:
        raise SofthatError(f"head={head!r} uses all outputs: leave output out")
    match head:
        case "lm":
            formulas = lm_formulas(model.formulas, t.symbols, t.propositional, weights)
            return formulas, lm_program(model.program, weights)
        case "multi-label":
            return model.formulas, model.program
    name = model.output_name(output)
    return {name: model.formulas[name]}, only(model.program, name)


def logit_rows(
    program: Program,
    formulas: Mapping[str, Claimed],
    head: HeadName,
    margin: float,
    weights: Weights | None,
) -> list[Row]:
    """The logits of a head. A classifier's are ±margin/2 for `true`, and their negatives for
    `false`; or one for each output."""
    if weights is not None:
        return weighted_rows(program, formulas_alone(formulas), margin, weights)
    if head == "lm":
        return lm_rows(program, at_start(formulas), margin)
    literals = dict(program.outputs)
    rows: list[Row] = []
    for name in formulas:  # an output is ±1, from its stored bit or a constant
        literal = literals[name]
        size = margin / 2 if literal.positive else -margin / 2
        rows.append({ONE if literal.signal < 0 else Register(literal.signal, False): size})
    if head == "token-classification":
        rows = [{key: -w for key, w in rows[0].items()}, rows[0]]
    return rows


def named_logits(head: HeadName, outputs: Iterable[str]) -> dict[str, Any]:
    """The part of a classifier's configuration that says what its logits are."""
    names = list(outputs) if head == "multi-label" else LABELS
    several = {"problem_type": "multi_label_classification"} if head == "multi-label" else {}
    return {
        "id2label": {str(at): name for at, name in enumerate(names)},
        "label2id": {name: at for at, name in enumerate(names)},
        "classifier_dropout": 0.0,
        **several,
    }


def token_sets(symbols: tuple[str, ...], propositional: bool) -> tuple[frozenset[str], ...]:
    """Which symbols (or propositions) hold at each ordinary token."""
    if not propositional:
        return tuple(frozenset([symbol]) for symbol in symbols)
    return tuple(
        frozenset(name for at, name in enumerate(symbols) if code >> at & 1)
        for code in range(1 << len(symbols))
    )
