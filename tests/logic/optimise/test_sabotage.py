"""A wrong optimiser gives no wrong certificate: every rule and every pass replaced by wrong ones.

A rule is a `return` of the optimiser's modules. Each is replaced in turn by wrong variants: what it
returns negated, constants, something else (`sabotage`). So are whole functions and passes. What is
then compiled must be right or have no certificate, `equivalent` must say what the oracle says, and
`verify` must report. By default the compiler does not even build what the checker cannot follow;
here it is made to (`follows` is taken away), since it is the checker that is attacked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

import softhat
from softhat.logic.optimise import chains, entail, settle, simplify, simplify_counts
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.models import compiler
from softhat.program import build
from tests.logic.optimise.sabotage import VARIANTS as WRONG
from tests.logic.optimise.sabotage import Returns, formulas_that_reach, returns_of
from tests.logic.oracle import truth as by_definition

WORDS = ["".join(word) for n in range(1, 5) for word in product("ab", repeat=n)]
FORMULAS = [
    "O (a S b)", "H (a T b)", "F (a U b)", "G (a R b)", "a & !a | Y b", "!!a S b", "!(a & Y b)",
    "a -> Y a", "a xor !Y a", "a <-> (b | Y a)", "Y true & a", "Z false | a", "X last | b",
    "O O (a & Y b)", "O H O a", "H first | a", "a S (a S b)", "(a S b) S b", "false S a | b",
    "(a | b) W b", "a M (a & Y b)", "O (first & Y a) | b", "2*#(a) >= 4", "#(a) > #(a) - 1",
    "#(a & Y b) + 0 >= 1*#(b)", "(O a | Y b) & (O a | X b)", "Y a & (Y a | O b)", "mod(1, 0) & O a",
    "O (a & Y b) & H !b | Y a", "(a S b) & H (a & !b) | O a", "#(a) + #(b) = i & Y a",
    "G F a & O b",
]  # fmt: skip
PARTS = [f"(a & mod({k}, 0))" for k in range(2, 36)]
REACHING = [
    "G N a M G a", "F (b -> G b)", "(2*#(a) > 2*i) S b | Y !(2*#(b) > 2*i) | X !(2*#(b) > 2*i)",
    "O (b <-> Z a)", "G !last", "Z last -> G Y a", "O (first & H b)", "0 = 0*n", "b xor !b",
    "F (a W b)", "Z a | Y a", "O b W O !b", "N b T last", "X b M last", "b & b S H b",
    "O (Y a | a)", "H (O b xor a)", "b U a -> b W a", "3*#(false) < 4", "X !(a & X b & G a)",
    "F F a", "b W b", "1 = n", "0 = i", "b | !b", "!Y last", "!a -> a", "Z !last", "F !last",
    "N H Y b", "b <-> b", "!O last", "F G F b", "H !last", "!N first", "!F b R b", "!a xor b",
    "H (b S a)", "G (b U a)", "G (b M a)", "N a | X a", "a M b R a", "a & b S a", "a | !b | b",
    "b xor true", "!(!a & !b)", "!(a xor b)", "!(a <-> b)", "a S a T O a", "2 = #(true)",
    "F b R a U b", "Z a S Z O a", "H b & a T b", "#*(true) < 1", "H (b <-> O b)",
    "H (a <-> H !a)", "b & a -> a & b", "1 > 2 + 0*#(b)", "Y !(Y a & Y b)", "#(a) = 2 - 0*i",
    "a R b | a M H b", "Y a R b T first", "#*(a) - 0*n > 2", "b | a | (a | b)",
    "!#(b) - #(b) > 0", "b T Y b & b T Z b", "2*(3*#(a)) >= #(b)", "F O !G b U F b U b",
    "last[false | a = b]", "(O N b W O a) T b W G b", "#>(a) < n <-> #(b) != 4",
    " | ".join(PARTS), " | ".join([*PARTS, *PARTS[:3]]), " & ".join([*PARTS[:33], "O a", "O a"]),
    " & ".join("!" + part for part in PARTS) + " & " + PARTS[4], " & ".join(["true"] * 40),
    " & ".join(f"(O (a & mod({k}, 1)) | Y b)" for k in range(2, 40)), " | ".join(["a & !a"] * 40),
    " | ".join(PARTS) + " | !" + PARTS[3] + " | O a", " & ".join(["(a | true)"] * 40),
]  # fmt: skip
"""Formulas that reach the rules which `FORMULAS` do not, long chains among them."""
Wrong = Callable[[nodes.Node, nodes.Node], nodes.Node]
"""From what a rule is given and what it makes of it to something else."""


def negated(_: nodes.Node, made: nodes.Node) -> nodes.Node:
    return nodes.Not(made) if isinstance(made, Formula) else made


def operand(given: nodes.Node, made: nodes.Node) -> nodes.Node:
    parts = [part for part in given.children if isinstance(part, Formula)]
    return parts[0] if parts and isinstance(made, Formula) else made


def constant(_: nodes.Node, made: nodes.Node) -> nodes.Node:
    return nodes.TRUE if isinstance(made, Formula) else nodes.Integer(0)


def opposite(_: nodes.Node, made: nodes.Node) -> nodes.Node:
    return nodes.FALSE if isinstance(made, Formula) else nodes.Integer(1)


VARIANTS: tuple[Wrong, ...] = (negated, operand, constant, opposite)
RULES: tuple[tuple[Any, str], ...] = (
    (simplify, "without_not"),
    (simplify, "_and_or"),
    (simplify, "_gate"),
    (simplify, "_unary"),
    (simplify, "_at_the_end"),
    (simplify, "_binary"),
    (simplify, "_rule"),
    (simplify, "_long_chain"),
    (simplify, "without_implied"),
    (simplify, "simplify_comparison"),
    (simplify, "simplify_term"),
    (simplify_counts, "to_balanced"),
)
ANSWERS: tuple[tuple[Any, str, Any], ...] = (
    (entail.Look, "entails", lambda *_: True),
    (entail.Look, "exclude", lambda *_: True),
    (entail.Look, "cover", lambda *_: True),
    (entail.Look, "at_edge", lambda *_: nodes.TRUE),
    (entail.Look, "at_edge", lambda *_: nodes.FALSE),
    (entail, "_joined", lambda _, f, __: f),
    (entail, "_joined", lambda _, __, g: g),
    (entail, "_no", lambda f: f),
    (entail, "_differ", lambda f, _: f),
    (simplify, "opposite", lambda *_: True),
    (entail, "refuted", lambda *_: False),
    (chains, "negated", lambda f: f),
    (simplify_counts, "_decided", lambda *_: True),
    (simplify_counts, "_decided", lambda *_: False),
    (settle, "_never", lambda *_: True),
    (settle, "_goal", lambda now, _: (nodes.FALSE, nodes.FALSE)),
)
PASSES: tuple[tuple[Any, str, Any], ...] = (
    (build, "simplify", lambda f: nodes.Not(f)),
    (build, "simplify", lambda f: nodes.TRUE),
    (build, "simplify", lambda f: nodes.Yesterday(f)),
    (build, "settled", lambda f, *_: nodes.Not(f)),
    (build, "settled", lambda f, *_: nodes.FALSE),
    (build, "settled", lambda f, *_: nodes.Once(f)),
    (build, "strict", lambda program: program),
)


def sabotages() -> Iterator[tuple[str, Any, str, Any]]:
    """(what, module, name, what stands there instead)."""
    for module, name in RULES:
        plain = getattr(module, name)
        for wrong in VARIANTS:

            def rule(node: Any, *more: Any, plain: Any = plain, wrong: Wrong = wrong) -> nodes.Node:
                made: nodes.Node = plain(node, *more)
                given = node if isinstance(node, nodes.Node) else made
                if made is node:
                    return made
                changed = wrong(given, made)
                return made if changed == given else changed

            yield f"{name} {wrong.__name__}", module, name, rule
    for at, (module, name, instead) in enumerate((*ANSWERS, *PASSES)):
        yield f"{name} {at}", module, name, instead


ALL = list(sabotages())


def check(formula: str, verify: bool, fired: Callable[[], bool] = lambda: True) -> bool:
    """Compile with what is sabotaged; whether that gave a wrong model. `fired`: was the sabotage
    reached? Otherwise there is nothing to look at."""
    parsed = softhat.parse(formula)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiler, "is_provable", None)
            model = softhat.compile(parsed, alphabet="ab")
    except (RecursionError, TypeError, AssertionError, AttributeError, ValueError, IndexError):
        return False  # so wrong that nothing is compiled
    if not fired():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", softhat.CertificateWarning)
        truth = {word: by_definition(parsed, word) for word in WORDS}
        wrong = any(model.truth(word).tolist() != truth[word] for word in WORDS)
        if wrong:
            assert model.certificate.void, formula
            assert set(model.certificate.max_length.values()) == {0}
            if verify:
                report = softhat.verify(model, exhaustive=4, random=5, adversarial=2)
                assert not report.ok
    other = softhat.parse(f"({formula}) & !(a & Y Y a)")
    differs = any(truth[word] != by_definition(other, word) for word in WORDS)
    word = softhat.equivalent(parsed, other, alphabet="ab", up_to=4)
    assert (word is not None) == differs
    assert softhat.equivalent(parsed, parsed, alphabet="ab", up_to=4) is None
    return wrong


@pytest.mark.parametrize("which", range(0, len(ALL), 2), ids=[what for what, *_ in ALL[::2]])
def test_a_slice(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module, name, instead = ALL[which]
    monkeypatch.setattr(module, name, instead)
    for at in range(2):
        check(FORMULAS[(5 * which + 11 * at) % len(FORMULAS)], verify=at == 0)


@pytest.mark.full
@pytest.mark.parametrize("which", range(len(ALL)), ids=[what for what, *_ in ALL])
def test_every_function_on_every_formula(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module, name, instead = ALL[which]
    monkeypatch.setattr(module, name, instead)
    for formula in FORMULAS:
        check(formula, verify=True)


EVERY_RETURN = [
    where
    for module in (simplify, simplify_counts, chains, entail, settle)
    for where in returns_of(module)
]


def attack(where: Returns, variant: int, formulas: list[str], verify: bool) -> tuple[int, int]:
    """How often a wrong rule was reached, and how often it gave a wrong model."""
    reached = wrong = 0
    with where.replaced(variant) as fired:
        for formula in formulas:
            fired.reset()
            wrong += check(formula, verify, lambda: fired.changed > 0)
            reached += fired.changed > 0
    return reached, wrong


def test_some_returns() -> None:
    """A seeded slice: each rule by one variant, on a few formulas that reach it or not."""
    total = 0
    for at, where in enumerate(EVERY_RETURN):
        formulas = [FORMULAS[(7 * at + 5 * k) % len(FORMULAS)] for k in range(3)]
        total += attack(where, at % WRONG, formulas, verify=False)[0]
    assert total > 20


@pytest.fixture(scope="module")
def reaching() -> dict[Returns, list[str]]:
    """The formulas that reach a return when they are compiled."""
    return formulas_that_reach(
        EVERY_RETURN, [*FORMULAS, *REACHING], lambda text: softhat.compile(text, alphabet="ab")
    )


@pytest.mark.full
def test_nearly_every_return_is_reached(reaching: dict[Returns, list[str]]) -> None:
    """The others give up: on formulas that are too large to be looked at closely."""
    missed = [where for where in EVERY_RETURN if not reaching[where]]
    assert len(missed) <= 8, missed


@pytest.mark.full
@pytest.mark.parametrize("part", range(20))
def test_every_return_on_formulas_that_reach_it(
    part: int, reaching: dict[Returns, list[str]]
) -> None:
    reached = wrong = 0
    for where in EVERY_RETURN[part::20]:
        for variant in range(WRONG):
            counts = attack(where, variant, reaching[where], verify=True)
            reached, wrong = reached + counts[0], wrong + counts[1]
    assert reached > 0
    print(f"{reached} sabotaged, {wrong} wrong models, none certified")


def test_the_sabotage_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of which it all began: O (f S g) to O f."""
    plain = simplify._unary

    def planted(node: nodes.Unary, look: entail.Look) -> Formula:
        match node:
            case nodes.Once(nodes.Since(left, _)):
                return nodes.Once(left)
        return plain(node, look)

    monkeypatch.setattr(simplify, "_unary", planted)
    assert check("O (a S b)", verify=True)
    assert softhat.equivalent("O (a S b)", "O a", alphabet="ab") is not None
    assert softhat.implies("O a", "O (a S b)", alphabet="ab") is not None
    assert softhat.satisfiable("O (a S b) & !O b", alphabet="ab") is None
    # What the checker cannot follow is not built: the model is that of the formula as written.
    model = softhat.compile("O (a S b)", alphabet="ab")
    assert model.certificate.max_length["float32"] > 10**6
    assert not model.truth("a")[0]
