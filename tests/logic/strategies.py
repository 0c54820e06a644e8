"""Hypothesis strategies for formulas and words: every operator, every kind of term."""

from __future__ import annotations

from hypothesis import strategies as st

from softhat.logic import nodes
from softhat.logic.nodes import Formula, Term

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
small = st.integers(-4, 4)
huge = st.integers(-(10**30), 10**30)


def mods() -> st.SearchStrategy[Formula]:
    pairs = st.integers(1, 7).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m - 1)))
    return pairs.map(lambda pair: nodes.Mod(*pair))


def terms(formulas: st.SearchStrategy[Formula]) -> st.SearchStrategy[Term]:
    leaf = st.one_of(
        (small | huge).map(nodes.Integer),
        st.sampled_from([nodes.position, nodes.length]),
        formulas.map(nodes.Count),
        formulas.map(nodes.CountFuture),
        formulas.map(nodes.CountAll),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(nodes.Scale, small | huge, inner),
            st.builds(nodes.Sum, inner, inner),
            st.builds(nodes.Difference, inner, inner),
        ),
        max_leaves=3,
    )


def formulas(symbols: str | list[str] = "abc", max_leaves: int = 10) -> st.SearchStrategy[Formula]:
    leaf = st.one_of(
        st.sampled_from(list(symbols)).map(nodes.Symbol),
        st.sampled_from([nodes.TRUE, nodes.FALSE, nodes.FIRST, nodes.LAST]),
        mods(),
    )

    def extend(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        return st.one_of(
            st.builds(lambda kind, f: kind(f), st.sampled_from(UNARY), inner),
            st.builds(lambda kind, f, g: kind(f, g), st.sampled_from(BINARY), inner, inner),
            st.builds(nodes.Comparison, terms(inner), st.sampled_from(RELATIONS), terms(inner)),
        )

    return st.recursive(leaf, extend, max_leaves=max_leaves)


def words(symbols: str = "abc", most: int = 30) -> st.SearchStrategy[str]:
    return st.text(symbols, min_size=1, max_size=most)


def set_words(names: str = "abc", most: int = 30) -> st.SearchStrategy[list[frozenset[str]]]:
    return st.lists(st.frozensets(st.sampled_from(list(names))), min_size=1, max_size=most)
