"""Known equivalences, checked with the evaluators on all short words and random formulas."""

import pytest
from hypothesis import given

from softhat import equivalent, parse
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.walk import fold, rebuild
from tests.logic.strategies import formulas, words
from tests.slices import examples

LAWS = [
    ("a T b", "!(!a S !b)"),
    ("a R b", "!(!a U !b)"),
    ("a W b", "(a U b) | G a"),
    ("a W b", "b R (a | b)"),
    ("a M b", "b U (a & b)"),
    ("F a", "true U a"),
    ("G a", "!F !a"),
    ("O a", "true S a"),
    ("H a", "!O !a"),
    ("Z a", "!Y !a"),
    ("N a", "!X !a"),
    ("first", "Z false"),
    ("last", "N false"),
    ("a S b", "b | a & Y (a S b)"),
    ("a U b", "b | a & X (a U b)"),
    ("a T b", "b & (a | Z (a T b))"),
    ("a R b", "b & (a | N (a R b))"),
    ("O O a", "O a"),
    ("G F a", "F (last & a)"),
    ("a xor b", "!(a <-> b)"),
    ("#(a) > 0", "O a"),
    ("#>(a) = 0", "G !a"),
    ("#*(a) >= 1", "O a | F a"),
    ("#(true) = i", "true"),
    ("#(a) + #>(a) - #*(a) = 1", "a"),
    ("i = 1", "first"),
    ("i = n", "last"),
    ("#>(true) = n - i + 1", "true"),
    ("mod(2, 1)", "(mod(4, 1) | mod(4, 3))"),
]


@pytest.mark.parametrize(("left", "right"), LAWS)
def test_laws(left: str, right: str) -> None:
    assert equivalent(parse(left), parse(right), alphabet="abc", up_to=7) is None
    assert equivalent(parse(left), parse(right), propositions="ab", up_to=5) is None


MIRROR: dict[type[Node], type[Node]] = {
    nodes.Yesterday: nodes.Tomorrow,
    nodes.WeakYesterday: nodes.WeakTomorrow,
    nodes.Once: nodes.Eventually,
    nodes.Historically: nodes.Always,
    nodes.Since: nodes.Until,
    nodes.Triggered: nodes.Release,
    nodes.Count: nodes.CountFuture,
    nodes.First: nodes.Last,
}
MIRROR |= {future: past for past, future in MIRROR.items()}


def mirror(formula: Formula) -> Formula:
    """Past and future exchanged; i becomes n + 1 - i; W, M and mod are spelt out or refused."""

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        match node:
            case nodes.Position():
                return nodes.length + 1 - nodes.position
            case nodes.WeakUntil():
                return nodes.Triggered(below[1], nodes.Or(*below))
            case nodes.StrongRelease():
                return nodes.Since(below[1], nodes.And(*below))
            case nodes.Mod():
                return nodes.TRUE  # has no mirror image
        if type(node) in MIRROR:
            return MIRROR[type(node)](*below)
        return rebuild(node, below)

    found = fold(formula, step)
    assert isinstance(found, Formula)
    return found


def without_mod(formula: Formula) -> Formula:
    found = fold(formula, lambda n, b: nodes.TRUE if isinstance(n, nodes.Mod) else rebuild(n, b))
    assert isinstance(found, Formula)
    return found


@examples(150)
@given(formulas(), words())
def test_past_and_future_are_mirror_images(formula: Formula, word: str) -> None:
    forward = without_mod(formula).truth(word)
    assert (mirror(formula).truth(word[::-1])[::-1] == forward).all()
