"""Reading formulas: structure, spellings, and errors in words."""

import pickle
from importlib import resources
from pathlib import Path

import pytest

from softhat import FormulaError, SofthatError, parse
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Count, Formula, Integer, Scale, Symbol, Term
from softhat.logic.syntax.parse import read
from softhat.logic.syntax.tokens import SPELLINGS
from tests.slices import every

a, b, c = Symbol("a"), Symbol("b"), Symbol("c")
x = a.always().eventually().weak_tomorrow().tomorrow()
Y_to_G = x.historically().once().weak_yesterday().yesterday()


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("!c S a", (~c).since(a)),
        ("!#(a) > 1", ~(Count(a) > 1)),
        ("a S #(b) > 1", a.since(Count(b) > 1)),
        ("a S b U c", a.since(b.until(c))),
        ("a U b & c", a.until(b) & c),
        ("a & b | c", (a & b) | c),
        ("a | b xor c", (a | b) ^ c),
        ("a xor b | c", (a ^ b) | c),
        ("a | b & c", a | (b & c)),
        ("a -> b -> c", a >> (b >> c)),
        ("a -> b | c", a >> (b | c)),
        ("a <-> b <-> c", (a.iff(b)).iff(c)),
        ("a <-> b -> c", a.iff(b >> c)),
        ("a & b & c", (a & b) & c),
        ("Y Z O H X N F G a", Y_to_G),
        ("a T b R c W a M b", a.triggered(b.release(c.weak_until(a.strong_release(b))))),
        ("#(a) - #(b) - 1 >= 0", (Count(a) - Count(b)) - 1 >= 0),
        ("#(a) - (#(b) - 1) >= 0", Count(a) - (Count(b) - 1) >= 0),
        ("-3 < 2*-3*i", nodes.Comparison(Integer(-3), "<", Scale(2, Scale(-3, nodes.position)))),
        ("-#(a) <= - 2", nodes.Comparison(Scale(-1, Count(a)), "<=", Integer(-2))),
        ("#>(a) = #*(b)", nodes.count_future(a).equals(nodes.count_all(b))),
        ("#(#(a) > 1) != n", Count(Count(a) > 1).differs(nodes.length)),
        ("mod(3, 1) & first | last", (nodes.Mod(3, 1) & nodes.FIRST) | nodes.LAST),
        ("true -> false", nodes.TRUE >> nodes.FALSE),
        ("lastly & GFa", Symbol("lastly") & Symbol("GFa")),
        ("Sa xor i1", Symbol("Sa") ^ Symbol("i1")),
        ("'(' & \"tok en\" | 'i'", (Symbol("(") & Symbol("tok en")) | Symbol("i")),
        (r"'\\' & '\''", Symbol("\\") & Symbol("'")),
        (r"'\n\x41\u00e9\U0001f600'", Symbol("\nAé😀")),
        ("((a))", a),
        ("(((#(a)))) > (1)", Count(a) > 1),
        ("a//comment ) ( \n & b // 50% more", a & b),
        ("i % 3 = 1", nodes.Mod(3, 1)),
        ("i%2!=0 & a | i % 2 ≠ 1", (~nodes.Mod(2, 0) & a) | ~nodes.Mod(2, 1)),
        ("!i % 2 = 0", ~nodes.Mod(2, 0)),
        ("#(i % 2 = 1) > i", Count(nodes.Mod(2, 1)) > nodes.position),
        ("'%' & '//'", Symbol("%") & Symbol("//")),
        ("\t a\r\n&\fb", a & b),
        ("#  ( a )>1", Count(a) > 1),
        ("Y(a)S(b)", a.yesterday().since(b)),
        ("_x1 & x_", Symbol("_x1") & Symbol("x_")),
    ],
)  # fmt: skip
def test_structure(text: str, formula: Formula) -> None:
    assert parse(text) == formula


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("~a", "!a"),
        ("not a", "!a"),
        ("¬a", "!a"),
        ("a && b and c ∧ a", "a & b & c & a"),
        ("a || b or c ∨ a", "a | b | c | a"),
        ("a ⊕ b ⊻ c", "a xor b xor c"),
        ("a => b → c ⇒ a", "a -> b -> c -> a"),
        ("a <=> b ↔ c ⇔ a", "a <-> b <-> c <-> a"),
        ("⊤ & ⊥", "true & false"),
        ("#(a) ≤ 1 & #(a) ≥ 1 & #(a) ≠ 1", "#(a) <= 1 & #(a) >= 1 & #(a) != 1"),
        ("2·#(a) − 3×#(b) > −1", "2*#(a) - 3*#(b) > -1"),
        ("⊖⊜⟐⊟○●◇□a", "Y Z O H X N F G a"),
    ],
)
def test_spellings(text: str, same: str) -> None:
    assert parse(text) == parse(same)
    assert parse(parse(text).pretty()) == parse(same)


BAD = [
    ("", 0, "empty"),
    ("   ", 0, "empty"),
    ("// only a comment", 0, "empty"),
    ("% once a comment", 0, "a comment starts with //"),
    ("a % 2 = 0", 2, "% stands only in i % m = r, which is mod(m, r)"),
    ("a & b % more", 6, "a comment starts with //"),
    ("0 = i % 2", 6, "% stands only in i % m = r"),
    ("i % 2", 5, "i % m = r takes two integers"),
    ("i % a = 0", 4, "i % m = r takes two integers"),
    ("i % 2 = 1 + 1", 10, "i % m = r takes two integers"),
    ("i % 2 = 0 a", 10, "expected an operator"),
    ("b & i % 2 = 2", 4, "0 <= r < m"),
    ("i % 2 >= 1", 0, "by = and != only"),
    ("n % 3 = 1", 0, "F (last & mod(3, 1))"),
    ("#(a) % 2 = 0", 5, "PARITY, an even number of a, is F (2*#(a) = #*(a))"),
    ("(#(a) + #(b)) % 3 = 1", 14, "m divides a total iff some prefix has an m-th of it"),
    ("#(a)*#(b) > 1", 4, "a product of two counts cannot be said"),
    ("2*#(a)*i > 1", 6, "a product of two counts cannot be said"),
    ("(a", 0, "never closed"),
    ("a & ((b | c)", 4, "never closed"),
    ("a)", 1, "no opening"),
    ("()", 1, "between the parentheses"),
    ("a b", 2, "expected an operator"),
    ("a Sb", 2, "write S b"),
    ("GF a", 3, "write G F a"),
    ("S", 0, "the symbol S is written 'S'"),
    ("a & G", 5, "expected a formula after G"),
    ("& a", 0, "needs one on its left"),
    ("a &", 3, "expected a formula after &"),
    ("a -> -> b", 5, "expected a formula after ->"),
    ("i", 1, "'i' for the symbol"),
    ("n & a", 2, "'n' for the symbol"),
    ("mod", 3, "mod takes two integers"),
    ("mod(0, 1)", 0, "m >= 1"),
    ("a & mod(3, 3)", 4, "0 <= r < m"),
    ("mod(2, -1)", 0, "0 <= r < m"),
    ("mod(2)", 5, "mod takes two integers"),
    ("mod(2, a)", 7, "mod takes two integers"),
    ("#(#(a))", 6, "compare it, as in"),
    ("#(a)", 4, "compare it, as in"),
    ("#(a) & b", 5, "compare it, as in"),
    ("#a > 1", 1, "in parentheses"),
    ("1 < #(a) < 3", 9, "do not chain"),
    ("a > 1", 2, "expected a number before >"),
    ("#(a) > b", 7, "write #(b)"),
    ("#(a)*2 > 1", 4, "integer comes first"),
    ("2 #(a) > 1", 2, "write 2*t"),
    ("1a", 0, "cannot start with a digit"),
    ("a ? b", 2, "? is no operator"),
    ("a ^ b", 2, "write xor"),
    ("#(a) == 1", 5, "write ="),
    ("#(a) <> 1", 5, "write !="),
    ("[] a", 0, "write G"),
    ("a @ b", 2, "no operator"),
    ("'abc", 0, "never closed"),
    ("a & \"b'", 4, "never closed"),
    ("''", 0, "between the quotes"),
    (r"'\q'", 1, "no escape"),
    (r"'\U00110000'", 1, "no escape"),
    ("'a\nb'", 0, "never closed"),
    ("'a\x01b'", 2, "U+0001"),
    ("a\0b", 1, "U+0000, NUL"),
    ("\ufeffa", 0, "U+FEFF"),
    ("\u0430 & b", 0, "U+0430"),
    ("a & \u0430", 4, "write a"),
    ("Ｇ a", 0, "write G"),
    ("‘a’", 0, "U+2018"),
    ("a\u00a0& b", 1, "no plain space"),
    ("é", 0, "in quotes: 'é'"),
    ("a – b", 2, "write -"),
]


@pytest.mark.parametrize(("text", "position", "message"), BAD)
def test_errors(text: str, position: int, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert caught.value.position == position
    assert message in caught.value.message
    assert caught.value.text == text
    assert "\n" not in caught.value.message
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.message, again.position) == (caught.value.message, caught.value.position)


@pytest.mark.parametrize("word", sorted(w for w in SPELLINGS if w.isascii() and w.isalpha()))
def test_reserved_words_are_no_symbols(word: str) -> None:
    with pytest.raises(FormulaError):
        parse(f"a & {word} & b" if word not in ("true", "false", "first", "last") else f"{word}(a)")
    assert parse(f"a & '{word}'") == a & Symbol(word)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("GFa", 0, "write G F a"),
        ("a & aSb", 4, "write a S b"),
        ("HopenUa", 0, "write H open U a"),
        ("a | opne", 4, "did you mean open?"),
        ("zzz", 0, "expected one of a b open"),
        ("a & '('", 4, "not in the alphabet"),
    ],
)
def test_unknown_symbols(text: str, position: int, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, alphabet=["a", "b", "open"])
    assert caught.value.position == position
    assert message in caught.value.message


def test_propositions() -> None:
    assert parse("p & q", propositions=["p", "q"]) == Symbol("p") & Symbol("q")
    with pytest.raises(FormulaError, match="propositions"):
        parse("p & r", propositions=["p", "q"])
    with pytest.raises(SofthatError, match="not both"):
        parse("p", alphabet="p", propositions="p")
    with pytest.raises(SofthatError, match="text"):
        parse(b"a")
    with pytest.raises(FormulaError, match="alphabet"):
        parse("a", alphabet="")


def test_terms_can_be_read() -> None:
    assert read(Term, "2*#(a) - i") == 2 * Count(a) - nodes.position
    with pytest.raises(FormulaError):
        read(Term, "a")


@pytest.mark.parametrize("digits", [1, 640, 4300, 4301, 50_000])
def test_integers_of_any_size(digits: int) -> None:
    text = f"#(a) > {'7' * digits}"
    formula = parse(text)
    assert str(formula) == text
    assert not formula.truth("aaa").any()
    assert parse(f"#(a) > -{'7' * digits}").truth("b").all()
    with pytest.raises(FormulaError):
        parse(f"mod(2, {'7' * digits})")


DEEP = {
    "not": "!" * 100_000 + "a",
    "parentheses": "(" * 100_000 + "a" + ")" * 100_000,
    "parentheses of terms": "(" * 20_000 + "1" + ")" * 20_000 + " < #(a)",
    "since": "a S (" * 10_000 + "b" + ")" * 10_000,
    "left since": "(" * 10_000 + "b" + " S a)" * 10_000,
    "counts": "#(" * 5_000 + "a" + " ) > 0" * 5_000,
    "sums": "+".join(["#(a)"] * 10_000) + " > 2",
    "products": "2*" * 3_000 + "i > 1",
}


@pytest.mark.parametrize("name", every(2, reversed(DEEP)))
def test_deep_formulas(name: str) -> None:
    formula = parse(DEEP[name])
    again = parse(str(formula))
    assert again == formula
    assert hash(again) == hash(formula)
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert len(repr(formula)) < 300
    assert len(formula.truth("aab")) == 3


MEGABYTE = {
    "comment": "//" * 500_000 + "\na",
    "quoted": "'" + "x" * 1_000_000 + "'",
    "name": "x" * 1_000_000,
    "spaces": " " * 1_000_000 + "a",
}
MEGABYTES = {
    "flat": " & ".join(["a", "b"] * 125_000),
    "arrows": " -> ".join(["a", "b"] * 100_000),
    "since": "a S " * 250_000 + "b",
    "parentheses": "(" * 500_000 + "a" + ")" * 500_000,
    "not": "!" * 1_000_000 + "a",
    "counts": "#(" * 100_000 + "a" + " ) > 0" * 100_000,
}


@pytest.mark.parametrize("name", MEGABYTE)
def test_a_megabyte(name: str) -> None:
    formula = parse(MEGABYTE[name])
    assert len(formula.truth("ab")) == 2


@pytest.mark.full
@pytest.mark.parametrize("name", MEGABYTES)
def test_more_megabytes(name: str) -> None:
    formula = parse(MEGABYTES[name])
    assert parse(str(formula)) == formula
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert len(formula.truth("ab")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        ")" * 100_000,
        "!" * 100_000,
        "a " * 50_000,
        "(a" * 50_000,
        "'" * 100_001,
        "#(" * 50_000,
        "1 < " * 50_000,
        "\\" * 500_000,
        "'" + "\\" * 500_001,
        "9" * 500_000 + "a",
        "9" * 500_000 + "?",
    ],
    ids=lambda text: text[:5] + text[-1],
)
def test_hostile_formulas_are_refused(text: str) -> None:
    """Soon, too: each would take hours in quadratic time."""
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert len(caught.value.message) < 500


def test_the_documented_grammar_is_the_one_in_use() -> None:
    grammar = resources.files("softhat.logic.syntax").joinpath("grammar.lark").read_text("utf-8")
    page = Path(__file__).parents[3] / "docs" / "language.md"
    documented = page.read_text("utf-8")
    rules = grammar[grammar.index("?formula") : grammar.index("%declare")].strip()
    assert rules in documented
