"""What checkpoints of stock architectures share: the options they take, and what fits a decoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from softhat.export.stock.languages import StockLanguage, stock_language
from softhat.export.stock.programs import stock_program
from softhat.export.stock.provable import provable_program
from softhat.frontends.machines.machine import Machine
from softhat.frontends.regular.doubling import LogDepth
from softhat.io.errors import SofthatError
from softhat.logic.fragments import FUTURE, NEEDS_END, describe
from softhat.logic.predicates import predicates_of
from softhat.logic.syntax import nodes
from softhat.logic.syntax.signs import SIGNS
from softhat.logic.syntax.walk import distinct
from softhat.models.compiler import compile as compile_model
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.numbers.predicates import depends_on_length, longest
from softhat.program.signals import Program
from softhat.proof.stock.automata import Claimed, formulas_alone
from softhat.proof.stock.checkpoint import HeadName
from softhat.transformer.lowering.disguise import seeded, with_distractors

Exported = Model | ValueModel | nodes.Formula | str | Machine | LogDepth
"""What a stock checkpoint can be made of; of value models, those of regular languages and of causal
RASP programs."""
Kernel = Literal["sdpa", "eager"]
EPSILON = 1e-12
"""LayerNorm's and RMSNorm's ε: far below what float32 resolves."""
MOST_CONTEXT = 1 << 17
"""Positions may be a table: this many rows are enough, and more than the proofs reach."""


@dataclass(frozen=True)
class StockOptions:
    """What every stock architecture can be asked for; `to_gpt2` says what each means."""

    context: int = 1024
    kernel: Kernel = "sdpa"
    head: HeadName = "token-classification"
    output: str | None = None
    margin: float = 20.0
    disguise: int | None = None
    weights: Mapping[str, Any] | None = None


def fits_head(
    model: Exported, head: HeadName, context: int
) -> tuple[Model | StockLanguage, HeadName]:
    """The model of what is to be exported. A machine's head is a language model's, a regular
    language's a classifier's, and a RASP program has a label for each value."""
    if isinstance(model, Machine):
        return compile_model(model), "lm"
    if isinstance(model, LogDepth):
        return _fitting_language(model, model.alphabet, head, context), head
    if isinstance(model, ValueModel) and model.language is not None:
        return _fitting_language(model.language, model.program.symbols, head, context), head
    if isinstance(model, ValueModel):
        if head == "lm":
            raise SofthatError("a RASP program has a label for each value: head='lm' is no label")
        return stock_program(model, context), "multi-label"
    if isinstance(model, nodes.Formula | str):
        model = compile_model(model)
    if not isinstance(model, Model):
        raise SofthatError(
            "a stock decoder computes formulas, a regular language or a causal RASP program that "
            f"softhat.compile made, or runs a machine, not {model!r}: to_torch, to_huggingface and "
            "to_onnx take simulations and other RASP programs too"
        )
    return model, "lm" if model.machine is not None else head


def _fitting_language(
    language: LogDepth, symbols: tuple[str, ...], head: HeadName, context: int
) -> StockLanguage:
    if head == "multi-label":
        raise SofthatError(
            "a regular language says of every prefix whether it belongs, or which symbols may come "
            f"next: head={head!r} is for formulas, give token-classification or lm"
        )
    return stock_language(language, symbols, context, head == "lm")


def check_plain(model: Model | StockLanguage, disguise: int | None) -> None:
    """A machine's folder has no labels, so nothing would say what a disguise hides."""
    if isinstance(model, StockLanguage) and disguise is not None:
        raise SofthatError(
            "a language in logarithmic depth has no disguise: its parts have no labels, and what a "
            "dense basis rounds adds up over its rounds (of PARITY nothing was certified at a "
            "context of 128): export a formula, or leave disguise out"
        )
    if model.machine is not None and disguise is not None:
        raise SofthatError("a machine has no disguise: export one of its formulas")


def machine_margin(model: Model | StockLanguage, margin: float) -> float:
    """The logits' nominal margin: of a machine twice what is claimed, so that rounding never
    refuses what greedy decoding needs."""
    return margin if model.machine is None else 2 * margin


def check_choice(what: str, value: Any, allowed: Any) -> None:
    """`value` is one of a Literal's names."""
    if value not in get_args(allowed):
        names = ", ".join(get_args(allowed))
        raise SofthatError(f"unknown {what} {value!r}: choose one of {names}")


def check_context(context: Any) -> None:
    if not isinstance(context, int) or isinstance(context, bool) or context < 2:
        raise SofthatError(
            f"context is {context!r}, but it counts <bos>: give a whole number of at least 2, one "
            "more than the longest word"
        )
    if context > MOST_CONTEXT:
        raise SofthatError(
            f"context is {context:,}, but an export has at most {MOST_CONTEXT:,} positions"
        )


def check_margin(margin: Any) -> None:
    if not isinstance(margin, int | float) or not 0 < margin <= 1e4:
        raise SofthatError(f"margin is {margin!r}: give a number above 0 and at most 10,000")


def check_decoder(name: str, formula: nodes.Formula, architecture: str) -> None:
    """A decoder sees only the past; say which operator does not."""
    if describe(formula).is_decoder:
        return
    parts = [node for node, _ in distinct(formula)[0]]
    uses = [SIGNS[kind] for kind in (*FUTURE, *NEEDS_END) if kind in map(type, parts)]
    uses += [
        f"{part}, which depends on n"
        for part in parts
        if isinstance(part, nodes.At) and depends_on_length(part.predicate)
    ]
    listed = ", ".join(uses)
    raise SofthatError(
        f"{architecture} is a decoder and sees only the past, but the formula of {name!r} uses "
        f"{listed}: rewrite it with Y, Z, O, H, S, T and #, or export it with --to huggingface"
    )


def check_tables(formula: nodes.Formula, context: int) -> None:
    """A position needs to know each predicate there."""
    for name, predicate in predicates_of(formula).items():
        most = longest(predicate)
        if most is not None and context - 1 > most:
            raise SofthatError(
                f"the numerical predicate {name!r} is a table of {most:,} positions, and a context "
                f"of {context:,} has {context - 1:,}: choose a context of at most {most + 1:,}"
            )


def check_disguise(seed: Any, activation: str = "relu") -> None:
    """A seed, and an activation that a disguise can scale."""
    if seed is None:
        return
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise SofthatError(f"disguise is {seed!r}: give a seed, a whole number from 0 up")
    if activation != "relu":
        raise SofthatError(
            f"a disguise scales neurons, and {activation} is not the same at every scale: use "
            "activation='relu'"
        )


def fitted(
    model: Model | StockLanguage,
    program: Program,
    claims: Mapping[str, Claimed],
    architecture: str,
    context: int,
    disguise: int | None,
) -> Program:
    """The program of formulas that fit a decoder of this context, one that its checker can follow
    (a machine's is made for it); in a disguise, with distractors of their depth."""
    if isinstance(model, StockLanguage):
        return program
    formulas = formulas_alone(claims)
    kinds = {type(node) for node, _ in distinct(*formulas.values())[0]}
    if not kinds.isdisjoint((*FUTURE, *NEEDS_END, nodes.At)):  # else there is nothing to refuse
        for name, formula in formulas.items():
            check_decoder(name, formula, architecture)
            check_tables(formula, context)
    if model.machine is None:
        program = provable_program(program, formulas, context)
    if disguise is None:
        return program
    depth = max(describe(formula).temporal_depth for formula in formulas.values())
    return with_distractors(seeded(disguise, 2), program, depth)
