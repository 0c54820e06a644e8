"""Regular expressions: the automaton says what the definition of the operators says."""

from __future__ import annotations

import random
import re

import pytest

from softhat import FormulaError, SofthatError
from softhat.frontends.regular.regex import read_regex
from tests.frontends.regular.languages import matches, random_tree, text_of, words
from tests.slices import every

WORDS = words("ab", 6, shortest=0)


@pytest.mark.parametrize("seed", every(3, range(60)))
def test_the_automaton_is_the_definition(seed: int) -> None:
    dice = random.Random(seed)
    tree = random_tree(dice, "ab", dice.randrange(1, 12), stars=True)
    dfa = read_regex(text_of(tree), "ab")
    assert [dfa.accepts(w) for w in WORDS] == [matches(tree, w) for w in WORDS]


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("ab|ba", ["ab", "ba"], ["", "abba"]),  # juxtaposition before |
        ("a|b&~(b)", ["a"], ["b", "ab"]),  # & before |
        ("ab*", ["a", "abb"], ["abab"]),
        ("(ab)+", ["ab", "abab"], ["", "aba"]),
        ("a?b", ["b", "ab"], ["aab"]),
        ("()", [""], ["a"]),
        ("~(a)*", ["", "b", "aa", "ab", "a" * 5], ["a"]),  # ~(a) is an item that * repeats
        ("~a b", ["b", "aab", "bb"], ["ab", "a"]),
        (" ( a b ) * ", ["", "abab"], ["a"]),
        ("(a|b)*abb&~(b*)", ["abb", "aabb"], ["bb", "ab", ""]),
    ],
)
def test_precedence(text: str, yes: list[str], no: list[str]) -> None:
    dfa = read_regex(text, "ab")
    assert [dfa.accepts(word) for word in [*yes, *no]] == [True] * len(yes) + [False] * len(no)


def test_symbols_in_quotes_and_after_a_backslash() -> None:
    dfa = read_regex(r"('open' \( \) \* \' '\x41')+", ["open", "(", ")", "*", "'", "A"])
    assert dfa.accepts(["open", "(", ")", "*", "'", "A"])
    assert not dfa.accepts(["open"])


def test_the_alphabet_is_what_occurs() -> None:
    assert read_regex("b.|a").alphabet == ("a", "b")


def test_a_deep_expression_is_no_trouble() -> None:
    dfa = read_regex("(" * 2_000 + "a" + ")*" * 2_000 + "b")
    assert dfa.accepts("aaab")
    assert len(dfa.step) == 3


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("(ab", 3, "not closed"),
        ("ab)", 2, "closes nothing"),
        ("a|", 2, "something must follow"),
        ("|a", 0, "joins two"),
        ("*a", 0, "stands after what it repeats"),
        ("~a*", 2, "two ways"),
        ("", 0, "empty"),
        ("a'b", 1, "not closed"),
        ("a\\", 1, "backslash"),
        ("a|c", 2, "not in the alphabet"),
        ("'\\q'", 1, "no escape"),
    ],
)
def test_what_cannot_be_read(text: str, position: int, said: str) -> None:
    with pytest.raises(FormulaError, match=said) as caught:
        read_regex(text, "ab")
    assert caught.value.position == position


def test_other_refusals() -> None:
    with pytest.raises(SofthatError, match="names no symbol"):
        read_regex(".*")
    with pytest.raises(SofthatError, match="text"):
        read_regex(b"a")
    with pytest.raises(SofthatError, match="5,000 states"):
        read_regex(".*a" + "." * 12, "ab")
    with pytest.raises(SofthatError, match="duplicate"):
        read_regex("a", "aa")
    with pytest.raises(SofthatError, match="too long"):
        read_regex("a" * 20_000)


AS_PEOPLE_KNOW_THEM = [
    "[ab]*abb", "a{3}", "^a.*b$", "[a-c]+", "[^a]*", "a{2,3}b{,2}", "(ab|1){2,}", "(?:ab){2}1?",
    r"\d+", r"\w*b", r"[\d_]+a", r"[^\d]{2}", "[a-]*", "[b-b0-1]{1,4}", "a{0}b", r"\D\d\S",
    "^(a|b{2})$", "((a{2}){2}){1,2}", "(a*b){2}", "[-a]b", r"[\]\-]?a", "(a|b?){3}0",
]  # fmt: skip


@pytest.mark.parametrize("text", AS_PEOPLE_KNOW_THEM)
def test_what_other_tools_have_means_the_same_here(text: str) -> None:
    alphabet = "abc01_-]"
    dfa = read_regex(text, alphabet)
    dice = random.Random(text)
    tried = [*words("ab1", 5, shortest=0)]
    tried += ["".join(dice.choices(alphabet, k=dice.randrange(1, 6))) for _ in range(300)]
    same = re.compile(text)
    assert [dfa.accepts(w) for w in tried] == [same.fullmatch(w) is not None for w in tried]


@pytest.mark.parametrize("text", ["a*?b", "(ab)??a", "a{0,2}?b", "a{,2}?", "a{0}?b", "a{0,}?"])
def test_lazy_signs_that_change_nothing(text: str) -> None:
    dfa, same = read_regex(text, "ab"), re.compile(text)
    for word in words("ab", 6, shortest=0):
        assert dfa.accepts(word) == (same.fullmatch(word) is not None)


def test_a_space_that_is_a_symbol_is_written_so() -> None:
    for text in (r"a\ b", "a' 'b", r"a\sb"):
        assert read_regex(text, "ab ").accepts("a b")
    assert read_regex(" a  b ", "ab").accepts("ab")
    for text in ("a b", "ab ?", " a", "a "):
        with pytest.raises(FormulaError, match="backslash or in quotes"):
            read_regex(text, "ab ")


@pytest.mark.parametrize("seed", every(3, range(40)))
def test_random_classes_and_repetitions(seed: int) -> None:
    dice = random.Random(seed)

    def piece(size: int) -> str:
        if size < 2:
            return dice.choice(["a", "b", "0", ".", "[ab]", "[^a]", "[0-1]", r"\d", r"\w", "[^0b]"])
        match dice.randrange(4):
            case 0:
                return f"({piece(size // 2)}|{piece(size // 2)})"
            case 1:
                least = dice.randrange(3)
                counts = [f"{{{least}}}", f"{{{least},}}", f"{{{least},{least + 2}}}", "{,2}"]
                return f"({piece(size - 1)}){dice.choice(counts)}"
            case 2:
                return f"({piece(size - 1)}){dice.choice('*+?')}"
            case _:
                return piece(size // 2) + piece(size - size // 2)

    text = piece(dice.randrange(1, 8))
    dfa = read_regex(text, "ab01")
    tried = [*words("ab0", 4, shortest=0), "0101", "1a1b", "bbbbbb", "abababab", "000000"]
    same = re.compile(text)
    assert [dfa.accepts(w) for w in tried] == [same.fullmatch(w) is not None for w in tried], text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("^a", "matched whole"),
        ("a$", "matched whole"),
        ("a^b", "beginning of the whole"),
        ("a$b", "end of the whole"),
        ("^a|b$", r"\^\(…\|…\)\$"),
        ("[", "not closed"),
        ("[]", "empty or not closed"),
        ("a]", "closes nothing"),
        ("a{", "repetition is written"),
        ("a{x}", "repetition is written"),
        ("a}", "closes nothing"),
        ("a{3,2}", "at least 3 and at most 2"),
        ("a{99999999}", "repeats more often"),
        (r"\q", "means nothing here"),
        (r"\b", "means nothing here"),
        (r"(a)\1", "refer back"),
        (r"\d", "no such symbol"),
        ("[b-a]", "goes backwards"),
        ("[x-z]", "no symbol from x to z"),
        ("[ac]", "c is not in the alphabet"),
        ("[[:alpha:]]", "closes nothing"),
        ("[[a]", "with a backslash"),
        ("[a b]", "a space in a class"),
        (r"[\q]", "means nothing here"),
        ("(?=a)b", "looks around"),
        ("(?i)a", "looks around"),
        ("a+?", r"write \(x\+\)\?, or x\+ alone where \? makes it lazy"),
        ("(ab)+ ?", "lazy"),
        ("a{2}?b", "lazy"),
        ("a{1,3}?", "lazy"),
        ("a++", "possessive"),
        ("a*+a", "possessive"),
        ("a?+a", "possessive"),
        ("a{0,2}+a", "possessive"),
    ],
)
def test_nothing_special_is_silently_a_letter(text: str, said: str) -> None:
    with pytest.raises(FormulaError, match=said):
        read_regex(text, "ab")


def test_classes_without_an_alphabet() -> None:
    assert read_regex("[a-c]x").alphabet == ("a", "b", "c", "x")
    for text in ("[^a]", r"\d", r"a\w"):
        with pytest.raises(FormulaError, match="depends on the alphabet"):
            read_regex(text)
