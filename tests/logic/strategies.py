"""Hypothesis strategies for formulas and words: every operator, every kind of term."""

from __future__ import annotations

from hypothesis import strategies as st

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Term

UNARY = [
    nodes.Not,
    nodes.Yesterday,
    nodes.WeakYesterday,
    nodes.Once,
    nodes.Historically,
    nodes.Tomorrow,
    nodes.WeakTomorrow,
    nodes.Eventually,
    nodes.Always,
]
BINARY = [
    nodes.And,
    nodes.Or,
    nodes.Xor,
    nodes.Implies,
    nodes.Iff,
    nodes.Since,
    nodes.Triggered,
    nodes.Until,
    nodes.Release,
    nodes.WeakUntil,
    nodes.StrongRelease,
]
RELATIONS = ["<", "<=", "=", "!=", ">=", ">"]
COUNTS = [nodes.Count, nodes.CountFuture, nodes.CountAll]
numbers = st.integers(-4, 4) | st.integers(-(10**30), 10**30)


_leaves = ("symbol", "constant", "mod")
_inner = ("unary", "binary", "binary", "comparison")


@st.composite
def formulas(draw: st.DrawFn, symbols: str | list[str] = "abc", size: int = 10) -> Formula:
    """A formula of at most about `size` nodes."""
    return _formula(draw, list(symbols), draw(st.integers(1, size)))


@st.composite
def terms(draw: st.DrawFn, symbols: str | list[str] = "abc", size: int = 6) -> Term:
    return _term(draw, list(symbols), draw(st.integers(1, size)))


def _formula(draw: st.DrawFn, symbols: list[str], size: int) -> Formula:
    match draw(st.sampled_from(_leaves if size <= 1 else _inner)):
        case "symbol":
            return nodes.Symbol(draw(st.sampled_from(symbols)))
        case "constant":
            return draw(st.sampled_from([nodes.TRUE, nodes.FALSE, nodes.FIRST, nodes.LAST]))
        case "mod":
            modulus = draw(st.integers(1, 7))
            return nodes.Mod(modulus, draw(st.integers(0, modulus - 1)))
        case "unary":
            return draw(st.sampled_from(UNARY))(_formula(draw, symbols, size - 1))
        case "binary":
            left = draw(st.integers(0, size - 1))
            return draw(st.sampled_from(BINARY))(
                _formula(draw, symbols, left), _formula(draw, symbols, size - 1 - left)
            )
        case _:
            left = draw(st.integers(0, size - 1))
            return nodes.Comparison(
                _term(draw, symbols, left),
                draw(st.sampled_from(RELATIONS)),
                _term(draw, symbols, size - 1 - left),
            )


def _term(draw: st.DrawFn, symbols: list[str], size: int) -> Term:
    if size <= 1:
        return draw(numbers.map(nodes.Integer) | st.sampled_from([nodes.position, nodes.length]))
    match draw(st.sampled_from(("count", "count", "scale", "sum"))):
        case "count":
            return draw(st.sampled_from(COUNTS))(_formula(draw, symbols, size - 1))
        case "scale":
            return nodes.Scale(draw(numbers), _term(draw, symbols, size - 1))
        case _:
            left = draw(st.integers(0, size - 1))
            return draw(st.sampled_from([nodes.Sum, nodes.Difference]))(
                _term(draw, symbols, left), _term(draw, symbols, size - 1 - left)
            )


def words(symbols: str = "abc", most: int = 30) -> st.SearchStrategy[str]:
    return st.text(symbols, min_size=1, max_size=most)


def set_words(names: str = "abc", most: int = 30) -> st.SearchStrategy[list[frozenset[str]]]:
    return st.lists(st.frozensets(st.sampled_from(list(names))), min_size=1, max_size=most)
