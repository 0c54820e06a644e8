"""`softhat eval`."""

import json
from pathlib import Path

import pytest

from softhat import parse
from tests.cases import CASES, Case
from tests.cli.run import softhat


def test_a_table_of_subformulas() -> None:
    done = softhat("eval", "!c S (a & Y b)", "abac")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "position        1 2 3 4",
        "word            a b a c",
        "!c              1 1 1 .",
        "Y b             . . 1 .",
        "a & Y b         . . 1 .",
        "!c S (a & Y b)  . . 1 .",
        "rejected (at the last position)",
    ]


def test_several_words_and_tokens() -> None:
    done = softhat("eval", "Y open", "--symbols", "open close", "close  open")
    assert done.out.splitlines() == [
        "position  1     2",
        "word      open  close",
        "Y open    .     1",
        "accepted (at the last position)",
        "",
        "position  1      2",
        "word      close  open",
        "Y open    .      .",
        "rejected (at the last position)",
    ]


def test_many_words_get_a_line_each() -> None:
    words = ["a", "b", "ab", "ba", "aa", "bb", "aab", "abb", "b" * 100]
    done = softhat("eval", "O a", *words)
    assert len(done.out.splitlines()) == 10
    assert done.out.splitlines()[3].split() == ["ab", "11", "accepted"]
    assert done.out.splitlines()[9].endswith("rejected")


def test_propositional_words() -> None:
    done = softhat("eval", "p & Y q", "--props", "{p} {q} { p , q }", "{}", "--json")
    assert json.loads(done.out) == [
        {"word": [["p"], ["q"], ["p", "q"]], "truth": [False, False, True], "accepted": True},
        {"word": [[]], "truth": [False], "accepted": False},
    ]


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.name)
def test_json_agrees_with_the_table(case: Case) -> None:
    words = case.words(12, 10)
    options = ["--json", "--alphabet", " ".join(case.alphabet)]
    if case.propositional:
        options.append("--props")
        lines = [" ".join("{" + ",".join(sorted(x)) + "}" for x in word) for word in words]
    elif case.as_text:
        options[-1] = "".join(case.alphabet)
        lines = words
    else:
        options.append("--symbols")
        lines = [" ".join(word) for word in words]
    if case.at:
        options += ["--at", case.at]
    if " " in case.alphabet:  # a space cannot be named in an alphabet of the command line
        options = ["--json"]
    done = softhat("eval", case.formula, "-", *options, stdin="\n".join(lines) + "\n")
    assert done.code == 0, done.err
    documents = json.loads(done.out)
    assert [document["accepted"] for document in documents] == [case.accepts(w) for w in words]
    formula = parse(case.formula)
    for document, word in zip(documents, words, strict=True):
        assert document["truth"] == formula.truth(word).tolist()
        assert len(document) == 3


def test_where_words_come_from(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(b"ab\r\nba\n")
    done = softhat("eval", "a", f"@{file}", "-", "bb", "--json", stdin="a\nb")
    assert [document["word"] for document in json.loads(done.out)] == ["ab", "ba", "a", "b", "bb"]
    dashes = softhat("eval", "'-'", "--json", "--", "--", "-a")
    assert [document["accepted"] for document in json.loads(dashes.out)] == [True, False]


def test_two_way_formulas() -> None:
    done = softhat("eval", "X Y a", "ab", "--json")
    assert done.code == 0
    assert json.loads(done.out)[0]["accepted"] is None
    assert "--at first" in softhat("eval", "X Y a", "ab").out
    first = softhat("eval", "X Y a", "ab", "--at", "first", "--json")
    assert json.loads(first.out)[0]["accepted"] is True
    last = softhat("eval", "X Y a", "ab", "--at", "last")
    assert last.out.endswith("rejected (at the last position)\n")
    bad = softhat("eval", "a", "ab", "--at", "middle")
    assert bad.code == 2
    assert "middle" in bad.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", ""], "word 1 is empty"),
        (["a", "a", "--symbols", "  "], "word 2 is empty"),
        (["a", "--props", " "], "word 1 is empty"),
        (["a", "--props", "{a} b"], "expected a set"),
        (["a", "--props", "{a"], "expected a set"),
        (["a", "abx", "--alphabet", "ab"], "'x' at position 3"),
        (["c", "ab", "--alphabet", "ab"], "not in the alphabet"),
        (["p", "--props", "{p} {r}", "--alphabet", "p,q"], "'r' at position 2"),
        (["a", "--props", "--symbols", "a"], "not both"),
        (["-", "-"], "standard input"),
        (["a", "@/no/such/file"], "cannot read"),
        (["a"], "WORD"),
        ([], "FORMULA"),
        (["a &", "ab"], "expected a formula"),
    ],
)
def test_bad_input(arguments: list[str], message: str) -> None:
    done = softhat("eval", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert "Traceback" not in done.err


def test_an_empty_line_is_an_empty_word(tmp_path: Path) -> None:
    done = softhat("eval", "a", "-", stdin="ab\n\nb\n")
    assert done.code == 2
    assert "line 2 of standard input is empty" in done.err
    assert "found none" in softhat("eval", "a", "-").err


def test_a_hint_for_tokens() -> None:
    done = softhat("eval", "'open'", "open")
    assert done.code == 0
    assert "--symbols" in done.err


def test_long_words() -> None:
    done = softhat("eval", "a S b", "-", stdin="ab" * 50_000)
    assert done.code == 0
    assert len(done.out) < 1_000
    deep = softhat("eval", "!" * 10_000 + "a", "ab")
    assert deep.code == 0
    assert len(deep.out.splitlines()) < 60


def test_an_alphabet_of_tokens_makes_words_of_tokens() -> None:
    done = softhat("eval", "Y open", "open close", "--alphabet", "open close", "--json")
    assert json.loads(done.out)[0]["truth"] == [False, True]


def test_the_faulty_one_of_several_words_is_named() -> None:
    done = softhat("eval", "a", "ab", "abz", "--alphabet", "ab")
    assert done.code == 2
    assert done.err.startswith("error: word 2: symbol 'z' at position 3")
