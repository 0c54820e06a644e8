"""Simplification and core form never change a truth value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import equivalent, parse
from softhat.logic.core import LinearForm, linear, to_core
from softhat.logic.linear import difference
from softhat.logic.optimise.simplify import simplify
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Comparison, Formula
from softhat.logic.syntax.walk import distinct
from tests.logic import oracle
from tests.logic.strategies import RELATIONS, formulas, set_words, terms, words
from tests.slices import examples

CORE = (
    nodes.Symbol,
    nodes.Constant,
    nodes.First,
    nodes.Last,
    nodes.Mod,
    nodes.Not,
    nodes.And,
    nodes.Or,
    nodes.Xor,
    nodes.Yesterday,
    nodes.Since,
    nodes.Tomorrow,
    nodes.Until,
    nodes.Comparison,
    nodes.Term,
)


@examples(300)
@given(formulas("ab", 14), words("ab", 8))
def test_rewriting_keeps_truth(formula: Formula, word: str) -> None:
    expected = oracle.truth(formula, word)
    simple, core = simplify(formula), to_core(formula)
    assert oracle.truth(simple, word) == expected
    assert oracle.truth(core, word) == expected
    assert oracle.truth(simplify(core), word) == expected


@examples(150)
@given(formulas("ab", 14), set_words("ab", 8))
def test_rewriting_keeps_truth_of_sets(formula: Formula, word: list[frozenset[str]]) -> None:
    expected = oracle.truth(formula, word)
    assert oracle.truth(simplify(formula), word) == expected
    assert oracle.truth(to_core(formula), word) == expected


@examples(150)
@given(formulas("ab", 5))
def test_simplification_on_all_short_words(formula: Formula) -> None:
    assert equivalent(formula, simplify(formula), propositions="ab", up_to=4) is None


def cost(formula: Formula) -> int:
    """An attention head costs three, any other node one."""
    heads = nodes.Comparison | nodes.Counting | nodes.Since | nodes.Until | nodes.Triggered
    heads |= nodes.Release | nodes.WeakUntil | nodes.StrongRelease
    total, stack = 0, [formula]
    while stack:
        node = stack.pop()
        temporal = isinstance(node, nodes.Unary) and not isinstance(node, nodes.Not)
        total += 3 if temporal or isinstance(node, heads) else 1
        stack += node.children
    return total


@examples(200)
@given(formulas("ab", 14))
def test_simplification_shrinks_and_stops(formula: Formula) -> None:
    simple = simplify(formula)
    assert cost(simple) <= cost(formula)
    assert simplify(simple) == simple


@examples(200)
@given(formulas())
def test_core_has_only_core_operators(formula: Formula) -> None:
    for node, _ in distinct(to_core(formula))[0]:
        assert isinstance(node, CORE)
        if isinstance(node, Comparison):
            assert node.relation == ">="
            form = linear(node)
            assert form.terms
            assert all(a for a, _ in form.terms)
            for part in (form.past, form.future, form.total):
                assert len({f for _, f in part}) == len(part)


@pytest.mark.parametrize(
    ("formula", "simple"),
    [
        ("!!a", "a"),
        ("a & a", "a"),
        ("a | !a", "true"),
        ("a & (a | b)", "a"),
        ("O O a", "O a"),
        ("G G a", "G a"),
        ("F F F a", "F a"),
        ("H H a", "H a"),
        ("Y true", "!first"),
        ("X false", "false"),
        ("N true", "true"),
        ("!O !a", "H a"),
        ("!(!a S !b)", "a T b"),
        ("a S (a S b)", "a S b"),
        ("O (a S b)", "O b"),
        ("a -> false", "!a"),
        ("#(false) > 0", "false"),
        ("#(a) >= 0", "true"),
        ("i >= 1", "true"),
        ("2*#(a) = 3", "false"),
        ("2*#(a) > 3 - 0", "#(a) >= 2"),
        ("#(a) + #(a) < 2*#(a)", "false"),
        ("!(#(a) > #(b))", "#(a) <= #(b)"),
        ("mod(1, 0)", "true"),
        ("1 + 2 > 2", "true"),
        ("(a xor !a) & b", "b"),
        ("a W !a", "true"),
        ("a M !a", "false"),
        ("O first", "true"),
        ("H H O H a", "O H a"),
        ("H O a", "H O a"),
        ("G F G a", "F G a"),
        ("O (first & (b S a))", "O (first & a)"),
        ("O Z b", "true"),
        ("H Y a", "false"),
        ("F N (a & b)", "true"),
        ("G X a", "false"),
        ("Y last", "false"),
        ("H (a | !a)", "true"),
        ("a xor a", "false"),
        ("a & O a", "a"),
        ("a | O a", "O a"),
        ("a & H a", "H a"),
        ("a & (b & (c & !a))", "false"),
        ("a & (b & (c & a))", "b & (c & a)"),
        ("(a | b) & c & a", "c & a"),
        ("H a & O !a", "false"),
        ("H a -> a S b | a", "true"),
        ("(a & b) S a", "a"),
        ("a S (a & b)", "a S (a & b)"),
        ("!a S a", "O a"),
        ("Y a & first", "false"),
        ("Y a -> Z (a | b)", "true"),
        ("(a & b) U (a | c)", "a | c"),
    ],
)
def test_rules(formula: str, simple: str) -> None:
    assert str(simplify(parse(formula))) == simple
    if "#" not in formula and ">" not in formula.replace("->", ""):
        # With propositions for operands this is the rule itself, for words of every length.
        assert equivalent(formula, simple, propositions="abc") is None


@examples(60, deadline=None)
@given(formulas("abc", 9))
def test_simplification_is_proved_for_every_length(formula: Formula) -> None:
    if not any(isinstance(node, nodes.Comparison) for node, _ in distinct(formula)[0]):
        assert equivalent(formula, simplify(formula), propositions="abc") is None


def test_linear_form() -> None:
    a, b = nodes.Symbol("a"), nodes.Symbol("b")
    comparison = parse("2*#(a) - (i - #>(b)) + #(a) + 1 < n + 3*#*(a) + #*(false)")
    assert isinstance(comparison, Comparison)
    assert linear(comparison) == LinearForm(
        past=((-3, a), (1, nodes.TRUE)),
        future=((-1, b),),
        total=((1, nodes.TRUE), (3, a)),
        constant=-2,
    )
    halved = parse("4*#(a) >= 6*#(b) + 3")
    assert isinstance(halved, Comparison)
    assert linear(halved) == LinearForm(((2, a), (-3, b)), (), (), -2)
    equality = parse("#(a) = 1")
    assert isinstance(equality, Comparison)
    with pytest.raises(ValueError, match="two inequalities"):
        linear(equality)


@examples(200)
@given(terms("ab"), st.sampled_from(RELATIONS), terms("ab"), words("ab", 6))
def test_difference_has_the_value_of_the_terms(
    left: nodes.Term, relation: nodes.Relation, right: nodes.Term, word: str
) -> None:
    form = difference(Comparison(left, relation, right))
    meaning = oracle.Meaning(word)
    for i in range(1, len(word) + 1):
        value = form.constant
        for kind, part in (
            (nodes.Count, form.past),
            (nodes.CountFuture, form.future),
            (nodes.CountAll, form.total),
        ):
            value += sum(a * meaning.value(kind(f), i) for a, f in part)
        assert value == meaning.value(left, i) - meaning.value(right, i)
