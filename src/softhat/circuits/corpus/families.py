"""Random formulas of a corpus, by family.

A family is a key of `softhat.logic.random.FAMILIES`, or one of those here:

    n-gram       Boolean combinations of `Y … Y a`: what the last few symbols are
    induction    what followed the last time that the symbols here occurred
    program      random B-RASP and C-RASP programs, as formulas
    mixed        in turn: n-gram, star-free of depth 1, 2 and 3, counting, induction, program
    rasp         random RASP programs, which are no formulas: `softhat.circuits.corpus.rasp`

Models that see only the past get the operators of a family that look there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softhat.frontends.programs.translate import from_program
from softhat.io.errors import SofthatError
from softhat.logic.fragments import describe
from softhat.logic.random import BOOLEAN, COUNTING, FAMILIES, FUTURE, random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula

AHEAD = FUTURE | {"last", "#>", "#*", "n"}
"""Operators that a decoder does not have."""
N_GRAM = BOOLEAN | {"Y", "Z", "first"}
PLAIN = {"true", "false"}
"""Constants: nothing is left of them after simplification."""
MIXED: tuple[tuple[str, int | None], ...] = (
    ("n-gram", None),
    ("star-free", 1),
    ("star-free", 2),
    ("star-free", 3),
    ("counting", None),
    ("induction", None),
    ("program", None),
)
RASP = "rasp"
NAMES = (*FAMILIES, "n-gram", "induction", "program", "mixed", RASP)
TRIES = 40
"""Draws for a formula of a certain temporal depth."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A random formula, its family, and the program that it is, if it was one."""

    formula: Formula
    family: str
    program: str | None = None


def check_family(family: str, decoder: bool) -> None:
    """Is there such a family, and do decoders have it?"""
    if family not in NAMES:
        raise SofthatError(f"unknown family {family!r}: expected {', '.join(NAMES)}")
    if decoder and family == RASP:
        raise SofthatError(
            "RASP programs have values, not truth, and look both ways, which stock models do not: "
            "choose --to torch, or the family 'program' for B-RASP and C-RASP"
        )
    if decoder and family == "future":
        raise SofthatError(
            "formulas of the family 'future' look ahead, and this model sees only the past: choose "
            "another family or --to torch"
        )


def draw_formula(
    rng: np.random.Generator,
    family: str,
    size: int,
    symbols: Sequence[str],
    number: int,
    decoder: bool,
    depth: int | None = None,
) -> Drawn | None:
    """Formula `number` of a family, of about `size` operators and leaves; None if none of this
    temporal depth was drawn."""
    if family == "mixed":
        family, own = MIXED[number % len(MIXED)]
        depth = depth if depth is not None else own
    for _ in range(TRIES):
        drawn = _draw(rng, family, size, symbols, decoder)
        if depth is None or describe(drawn.formula).temporal_depth == depth:
            return drawn
    return None


def _draw(
    rng: np.random.Generator, family: str, size: int, symbols: Sequence[str], decoder: bool
) -> Drawn:
    match family:
        case "induction":
            return Drawn(induction(rng, size, symbols), family)
        case "program":
            text = program(rng, size, symbols)
            return Drawn(from_program(text), family, text)
        case "n-gram":
            operators = N_GRAM - PLAIN
        case _:
            operators = FAMILIES[family] - (AHEAD if decoder else set())
            if decoder and family == "counting":
                operators |= COUNTING - AHEAD
    return Drawn(random_formula(rng, size, symbols, operators), family)


def _pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]


def induction(rng: np.random.Generator, size: int, symbols: Sequence[str]) -> Formula:
    """Heads that look back to the last time that this occurred, and on to what followed.

    `a & Y (!a S (b & Y a))`: here is a, and after the last a before stood b. With a trigger of two
    symbols the same of pairs. Up to three of these are joined.
    """
    parts = [_lookup(rng, symbols, size) for _ in range(int(rng.integers(1, max(2, size // 6))))]
    formula = parts[0]
    for part in parts[1:]:
        formula = [formula | part, formula & ~part, formula ^ part][int(rng.integers(3))]
    return formula


def _lookup(rng: np.random.Generator, symbols: Sequence[str], size: int) -> Formula:
    trigger = nodes.Symbol(_pick(rng, symbols))
    here: Formula = trigger
    if size >= 8 and rng.random() < 0.4:
        here = trigger & nodes.Yesterday(nodes.Symbol(_pick(rng, symbols)))
    others = [symbol for symbol in symbols if symbol != trigger.name] or list(symbols)
    followed = nodes.Symbol(_pick(rng, others)) & nodes.Yesterday(here)
    looked_up = nodes.Yesterday(nodes.Since(~here, followed))
    return here & looked_up if rng.random() < 0.7 else looked_up


def program(rng: np.random.Generator, size: int, symbols: Sequence[str]) -> str:
    """A B-RASP or C-RASP program of two to five definitions; the last one accepts."""
    lines: list[str] = []
    booleans = [f"Q{_quoted(symbol)}" for symbol in symbols]
    numbers: list[str] = []
    for k in range(int(np.clip(size // 3, 2, 5))):
        kind = int(rng.integers(4 if numbers else 3))
        first, second = (_pick(rng, booleans) for _ in range(2))
        if kind == 0:
            mask = _pick(rng, ["<", "<="])
            end = _pick(rng, ["rightmost", "leftmost"])
            negation = _pick(rng, ["", "!"])
            lines.append(f"P{k}(i) := {end} j {mask} i [{negation}{first}(j)] {second}(j) : 0")
            booleans.append(f"P{k}")
        elif kind == 1:
            lines.append(f"C{k}(i) := # j <= i [{first}(j)]")
            numbers.append(f"C{k}")
        elif kind == 2:
            operator = _pick(rng, ["&", "|", "& !", "| !"])
            lines.append(f"P{k}(i) := {first}(i) {operator}{second}(i)")
            booleans.append(f"P{k}")
        else:
            other = _pick(rng, [f"{name}(i)" for name in numbers] + ["1", "2", "3"])
            lines.append(f"P{k}(i) := {_pick(rng, numbers)}(i) {_pick(rng, ['>', '>='])} {other}")
            booleans.append(f"P{k}")
    if lines[-1].startswith("C"):
        count = numbers[-1]
        against = f"{numbers[0]}(i)" if len(numbers) > 1 else str(int(rng.integers(2, 4)))
        lines.append(f"P(i) := {count}(i) >= {against}")
    return "\n".join(lines) + "\n"


def _quoted(symbol: str) -> str:
    return symbol if symbol.isidentifier() and symbol.isascii() else repr(symbol)
