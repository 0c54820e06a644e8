"""B-RASP and C-RASP: the formula is what the definition says, the softmax model too."""

from __future__ import annotations

import pytest

import softhat
from softhat import FormulaError
from softhat.frontends.programs.translate import from_program, symbols_of
from tests.frontends.programs.interpreter import meaning
from tests.frontends.programs.library import CASES, Case
from tests.frontends.regular.languages import words

MOST = 100_000


def some_words(case: Case, longest: int) -> list[str]:
    """All words to `longest`, or to what `MOST` words allow."""
    length = longest
    while sum(len(case.alphabet) ** n for n in range(1, length + 1)) > MOST:
        length -= 1
    return words(case.alphabet, length)


def check(case: Case, longest: int) -> None:
    tried = some_words(case, longest)
    formula = from_program(case.text)
    expected = [meaning(case.text, word) for word in tried]
    assert [bits.tolist() for bits in formula.truth_many(tried)] == expected
    model = softhat.compile(formula, alphabet=case.alphabet)
    assert [bits.tolist() for bits in model.truth_many(tried, runtime="dense")] == expected
    if case.language is not None:
        assert [bits[-1] for bits in expected] == [case.language(word) for word in tried]


def test_there_are_enough() -> None:
    assert len(CASES) >= 30


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_short_words(case: Case) -> None:
    check(case, 4)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_words_to_length_eight(case: Case) -> None:
    check(case, 8)


def test_public_name_and_symbols() -> None:
    text = "Y(i) := rightmost j < i [Q'open'(j)] Q_close(i) : 0"
    assert softhat.from_program(text) == softhat.parse("close & Y (!open S open)")
    assert symbols_of(text) == ["close", "open"]
    assert softhat.from_program(text).accepts(["open", "close"])


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("P(i) := R(i)", "R(i)", "R is not defined before"),
        ("P(i) := Qa(i)\nP(i) := Qb(i)", "P(i) := Qb", "defined already"),
        ("C(i) := # j <= i [Qa(j)]\nP(i) := C(i) & Qa(i)", "C(i) &", "C is a number"),
        ("C(i) := # j <= i [Qa(j)]", "C(i)", "accepts by a Boolean"),
        ("P(i) := Qa(i)\nR(i) := P(i) > 1", "P(i) >", "P is a Boolean"),
        ("P(i) := rightmost j < i [Qa(j)] 1 : Qa(j)", "Qa(j)\n", "j stands only inside"),
        ("P(i) := Qa(j)", "Qa(j)", "j stands only inside"),
        (
            "C(i) := # j <= i [Qa(j)]\nP(i) := rightmost j < i [C(i) = C(j)] 1 : 0",
            "C(i) = C(j)",
            "numbers at i with numbers at j",
        ),
        ("P(i) := rightmost j < i [rightmost j < i [1] 1] 1", "rightmost j < i [1] 1]", "inside"),
        ("P(i) := rightmost j < i", "\n", "needs what it looks for"),
        ("P(i) := Qa(i) Qb(i)", "Qb", "expected the end of the line"),
        ("P(i) := Qa", "Qa", "needs its position"),
        ("P(i) := Qa(k)", "k", "a position is i or j"),
        ("P(i) = Qa(i)", "= Qa", "expected :="),
        ("P(j) := Qa(i)", "j)", "expected i"),
        ("P(i) := (Qa(i)", "\n", r"expected \)"),
        ("P(i) := Qa(i) $ Qb(i)", "$", "cannot stand in a program"),
        ("P(i) := 1 < 2 < 3", "< 3", "do not chain"),
        ("P(i) := i % 2 = 2", "i %", "0 <= r < m"),
        ("accept P\nP(i) := Qa(i)\naccept P", "accept P\n", "one line"),
        ("P(i) := Qa(i)\naccept R", "R", "R is not defined"),
        ("", "", "defines nothing"),
        ("min(i) := Qa(i)", "min", "no name"),
        ("P(i) := " + "(" * 41 + "Qa(i)" + ")" * 41, "Qa", "nested parentheses"),
        ("P(i) := 2", "P", "accepts by a Boolean"),
        ("P(i) := 2 & Qa(i)", "2 &", "a number, but a Boolean"),
    ],
)
def test_refusals(text: str, where: str, said: str) -> None:
    with pytest.raises(FormulaError, match=said) as caught:
        from_program(text)
    at = (text + "\n").rfind(where) if where else 0
    assert caught.value.position == at
    assert caught.value.text == text


def test_too_many_cases() -> None:
    lines = [f"C{k}(i) := # j <= i [Qa(j) | j % {k + 2} = 1]" for k in range(9)]
    lines += [f"D{k}(i) := max(C{k}(i), 2*C{k + 1}(i))" for k in range(8)]
    total = " + ".join(f"D{k}(i)" for k in range(8))
    with pytest.raises(FormulaError, match="256 are the most"):
        from_program(
            "\n".join([*lines, f"E(i) := {total} + max(C0(i), C8(i))", "Y(i) := E(i) > 3"])
        )
    atoms = "\n".join(f"P{k}(i) := rightmost j < i [i % {k + 2} = 1] Qa(j)" for k in range(9))
    body = " | ".join(f"P{k}(i) & P{8 - k}(j)" for k in range(9))
    with pytest.raises(FormulaError, match="256 are the most"):
        from_program(f"{atoms}\nY(i) := leftmost j < i [{body}] 1 : 0")


def test_other_types() -> None:
    with pytest.raises(softhat.SofthatError, match="text"):
        from_program(3)
