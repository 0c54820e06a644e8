"""Our loop over lark's tables reads what lark's own loop reads, and fails where it fails."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, ClassVar

import lark
import numpy as np
import pytest
from lark.lexer import Lexer

from softhat.io.errors import FormulaError
from softhat.logic.random import random_formula
from softhat.logic.syntax.machine import UnexpectedError, tables_of
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.parse import _BUILDERS, _machine, _terminals, read
from softhat.logic.syntax.print import to_text
from softhat.logic.syntax.tokens import SPELLINGS, cut, tokenize

PIECES = [
    *SPELLINGS, "a", "b", "at", "at(prime)", "'λ'", '"x y"', "0", "1", "23", "mod(3, 1)",
    "i % 2 = 0", "#(a) >= 1", "(", ")", "(", ")", "&", "|", "a", "S", "2*#(a)", "// x\n",
    "mod(2, 5)", "n % 2 = 1",
]  # fmt: skip
ODD = [
    *PIECES,
    "==",
    "<>",
    "1a",
    "'",
    '"',
    "''",
    "'\\q'",
    "^",
    "\\",
    "\0",
    "é",
    "ａ",
    " ",
    "[]",
    "-",
]


class Given(Lexer):
    """Terminals that are there already; a token's text is its number."""

    terminals: ClassVar[list[tuple[str, Any]]] = []

    def __init__(self, _conf: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object = None) -> Iterator[lark.Token]:
        for index, (kind, _) in enumerate(Given.terminals):
            yield lark.Token(kind, str(index))


class Build(lark.Transformer[lark.Token, Any]):
    """The steps of the parser, called by lark."""


def _step(name: str) -> Any:
    def build(_: object, children: list[Any]) -> Any:
        parts = [Given.terminals[int(p)][1] if isinstance(p, lark.Token) else p for p in children]
        make = _BUILDERS[name]
        return parts[0] if make is None else make(*parts)

    return build


for _name in _BUILDERS:
    setattr(Build, _name, _step(_name))


@cache
def larks_parser() -> lark.Lark:
    grammar = resources.files("softhat.logic.syntax").joinpath("grammar.lark").read_text("utf-8")
    return lark.Lark(
        grammar, parser="lalr", lexer=Given, start=["formula", "sum"], transformer=Build(),
        maybe_placeholders=False,
    )  # fmt: skip


def by_lark(start: str, terminals: list[tuple[str, Any]]) -> Any:
    """What lark's own loop makes of them, or where it fails and what could have stood there."""
    Given.terminals = terminals[:-1]
    try:
        return larks_parser().parse("", start=start)
    except lark.UnexpectedToken as error:
        at = len(terminals) - 1 if error.token.type == "$END" else int(error.token)
        return at, frozenset(error.expected)
    except Exception as error:  # of a step
        return type(error), str(error)


def by_us(start: str, terminals: list[tuple[str, Any]]) -> Any:
    try:
        return _machine().read(start, terminals)
    except UnexpectedError as error:
        return error.index, error.expected
    except Exception as error:
        return type(error), str(error)


def damaged(rng: random.Random, pieces: list[str]) -> str:
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.randrange(len(pieces) + 1)
        pieces[at : at + rng.randrange(2)] = rng.choices(PIECES, k=rng.randrange(2))
    return " ".join(pieces)


@pytest.mark.parametrize("count", [600, pytest.param(50_000, marks=pytest.mark.full)])
def test_as_lark_reads(count: int) -> None:
    rng, draws = random.Random(count), np.random.default_rng(count)
    read = 0
    for _ in range(count):
        if rng.random() < 0.3:
            text = " ".join(rng.choices(PIECES, k=rng.randrange(1, 12)))
        else:
            formula = random_formula(draws, rng.randrange(1, 25), "ab")
            text = damaged(rng, cut(to_text(formula))[:-1])
        terminals = list(_terminals(text))
        for start in ("formula", "sum"):
            found = by_us(start, terminals)
            assert found == by_lark(start, terminals), text
            read += isinstance(found, Node)
    assert count // 4 < read < count


@pytest.mark.parametrize("count", [2_000, pytest.param(50_000, marks=pytest.mark.full)])
def test_pieces_are_the_terminals(count: int) -> None:
    """Cutting at once and reading token by token agree, on good and bad characters."""
    rng = random.Random(count)
    for _ in range(count):
        text = "".join(
            rng.choice(ODD) + rng.choice(("", " ", "\n", " // y\n "))
            for _ in range(rng.randrange(6))
        )
        expected, fault = [], None
        try:
            for token in tokenize(text):
                expected.append(token)
        except FormulaError as error:
            fault = error
        found: list[tuple[str, Any]] = []
        try:
            found.extend(_terminals(text))
        except FormulaError as error:
            assert fault is not None and str(error) == str(fault), text
            assert error.position == fault.position, text
            continue
        assert fault is None and [kind for kind, _ in found[:-1]] == [t.kind for t in expected], (
            text
        )
        named = [value.name for kind, value in found if kind == "SYMBOL"]
        assert named == [t.text for t in expected if t.kind == "SYMBOL"]


def test_white_space_at_the_end_takes_no_time() -> None:
    """Every place in it could begin a terminal: that would be 10^11 steps."""
    assert str(read(Formula, "a & b" + " " * 500_000)) == "a & b"


def test_the_tables_that_are_kept_are_those_of_the_grammar() -> None:
    """Else every start computes them: `python -m softhat.logic.syntax.machine` writes them anew."""
    folder = resources.files("softhat.logic.syntax")
    grammar = folder.joinpath("grammar.lark").read_text(encoding="utf-8")
    kept = json.loads(folder.joinpath("tables.json").read_text(encoding="utf-8"))
    made = tables_of(grammar)
    assert kept["grammar"] == made["grammar"]
    # Lark numbers states anew each time: compare what each state does, named by how it is reached.
    assert unrolled(kept) == unrolled(json.loads(json.dumps(made)))


def unrolled(tables: dict[str, Any]) -> list[Any]:
    """The tables with states in the order in which they are met."""
    number: dict[int, int] = {}
    met = [tables["begin"][start] for start in sorted(tables["begin"])]
    for state in met:
        number.setdefault(state, len(number))
    rows = []
    for state in met:  # grows while it is walked
        row: dict[str, Any] = {}
        for name, at in sorted({**tables["steps"][state], **tables["after"][state]}.items()):
            if at < 0:
                row[name] = tables["rules"][-1 - at]
                continue
            if at not in number:
                number[at] = len(number)
                met.append(at)
            row[name] = number[at]
        rows.append(row)
    ends = {start: number[tables["end"][start]] for start in tables["end"]}
    return [rows, ends]
