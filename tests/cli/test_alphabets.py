"""Results name their alphabet, say when it was inferred, and warn where that takes meaning away."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import softhat as package
from tests.cli.run import softhat

SAID = "a c (inferred from the formula"


@pytest.mark.parametrize("command", ["check", "compile", "certify", "compare", "verify"])
def test_results_name_the_alphabet(command: str) -> None:
    few = ["--exhaustive", "2", "--random", "2", "--adversarial", "2"]
    more = few if command == "verify" else []
    done = softhat(command, "!c S a", *more)
    assert done.code == 0 and SAID in done.out
    assert "warning: over a c alone, which was inferred, !c S a is the same as a" in done.err
    given = softhat(command, "!c S a", "--alphabet", "abc", *more)
    assert given.code == 0 and not given.err
    assert "a b c" in given.out and "inferred" not in given.out


def test_json_says_it_too() -> None:
    for command in ("check", "compile", "certify", "satisfiable"):
        found = json.loads(softhat(command, "!c S a", "--json").out)
        assert found["alphabet"] == ["a", "c"] and found["alphabet_inferred"] is True
        found = json.loads(softhat(command, "!c S a", "--alphabet", "abc", "--json").out)
        assert found["alphabet"] == ["a", "b", "c"] and found["alphabet_inferred"] is False


def test_words_are_part_of_what_is_inferred() -> None:
    done = softhat("run", "!c S a", "abca")
    assert "note: alphabet a b c (inferred from the formula and the words" in done.err
    assert "warning" not in done.err
    assert "warning: over a c alone" in softhat("run", "!c S a", "aca").err


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("F (2*#(a) = #*(a))", "a is the only symbol"),
        ("a | b", "is always true"),
        ("!(a | b)", "is never true"),
        ("a S b", None),
        ("Y a", "a is the only symbol"),
        ("Y a & !Y b", None),
        ("H (a -> Y b)", None),
        ("first", None),
    ],
)
def test_what_is_trivial(formula: str, said: str | None) -> None:
    done = softhat("compile", formula)
    assert done.code == 0
    assert ("warning" in done.err) == (said is not None), done.err
    assert said is None or re.search(said, done.err)


def test_entries_of_the_zoo_are_read_where_they_say(tmp_path: Path) -> None:
    for command in ("run", "eval"):
        rows = json.loads(softhat(command, "zoo:parity", "abba", "abbb", "--json").out)
        assert [row["accepted"] for row in rows] == [True, False]
    folder = str(tmp_path / "parity")
    assert softhat("compile", "zoo:parity", "-o", folder).code == 0
    rows = json.loads(softhat("run", folder, "abba", "abbb", "--json").out)
    assert [row["accepted"] for row in rows] == [True, False]
    rows = json.loads(softhat("run", folder, "abba", "--at", "last", "--json").out)
    assert [row["accepted"] for row in rows] == [False]
    model = package.load(folder)
    assert isinstance(model, package.Model) and model.at == "first" and model.accepts("abba")


def test_every_entry_that_is_a_formula_decides_its_example() -> None:
    from softhat.models.zoo.catalogue import zoo

    for entry in zoo().values():
        if entry.kind in ("rasp", "ahat") or not entry.example or entry.propositional:
            continue
        symbols = ["--symbols"] if any(len(name) > 1 for name in entry.alphabet) else []
        done = softhat("eval", f"zoo:{entry.name}", entry.example, *symbols, "--json")
        assert json.loads(done.out)[0]["accepted"] is True, entry.name


def test_a_report_says_where_a_word_is_accepted(tmp_path: Path) -> None:
    for arguments, at in ((["zoo:parity"], "first"), (["zoo:parity", "--at", "last"], "last")):
        file = tmp_path / f"{at}.html"
        model, *more = arguments
        done = softhat("explain", model, "abba", *more, "-o", str(file))
        assert done.code == 0, done.err
        assert re.search(rf'"at": ?"{at}"', file.read_text())
    done = softhat(
        "explain", "zoo:parity", "abba", "--at", "middle", "-o", str(tmp_path / "x.html")
    )
    assert done.code == 2 and done.err.count("\n") == 1
