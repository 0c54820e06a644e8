"""`softhat satisfiable`, `softhat equivalent`, `softhat implies`, and what `check` decides."""

import json

from tests.cli.run import softhat


def test_satisfiable() -> None:
    done = softhat("satisfiable", "H (a -> Y b) & #(a) >= 2", "--alphabet", "ab")
    assert (done.code, done.out, done.err) == (0, "baba\n", "")
    done = softhat("satisfiable", "a & !a")
    assert (done.code, done.out) == (1, "no word of any length is accepted\n")
    done = softhat("satisfiable", "p & !q & Y q", "--props", "--json")
    assert json.loads(done.out) == {
        "satisfiable": True,
        "word": [["q"], ["p"]],
        "at": "last",
        "alphabet": ["p", "q"],
        "alphabet_inferred": True,
        "up_to": None,
    }
    done = softhat("satisfiable", "Y Y Y a", "--up-to", "3")
    assert (done.code, done.out) == (1, "no word of at most 3 symbols is accepted\n")
    done = softhat("satisfiable", "X Y a")
    assert done.code == 2
    assert "at='first'" in done.err
    assert softhat("satisfiable", "X Y a", "--at", "first").out == "aa\n"


def test_equivalent() -> None:
    done = softhat("equivalent", "a W b", "(a U b) | G a", "--alphabet", "abc")
    assert (done.code, done.out) == (0, "equivalent: yes, on words of every length\n")
    done = softhat("equivalent", "a W b", "a U b", "--alphabet", "abc")
    assert done.code == 1
    assert done.out.splitlines() == ["equivalent: no, see a", "  1 a W b", "  0 a U b"]
    done = softhat("equivalent", "O a", "a", "--json", "--alphabet", "ab")
    assert json.loads(done.out) == {
        "equivalent": False,
        "word": "ab",
        "truth": [[True, True], [True, False]],
        "up_to": None,
    }
    done = softhat("equivalent", "#(a) > #(b)", "#(a) >= #(b)")
    assert done.code == 2
    assert "--up-to 10" in done.err
    assert softhat("equivalent", "#(a) > #(b)", "#(b) < #(a)", "--up-to", "5").code == 0
    assert softhat("equivalent", "-", "-", stdin="a").code == 2
    assert softhat("equivalent", "-", "a", stdin="a").code == 0


def test_implies() -> None:
    assert softhat("implies", "G a", "F a").code == 0
    done = softhat("implies", "F a", "G a", "--props")
    assert done.code == 1
    assert done.out.splitlines()[0] == "implies: no, see {} {a}"


def test_check_decides() -> None:
    done = softhat("check", "H (a | !a)")
    assert "satisfiable  yes: accepts a" in done.out
    assert done.out.splitlines()[-1] == "valid        yes"
    known = json.loads(softhat("check", "O a", "--alphabet", "ab", "--json").out)
    assert (known["satisfiable"], known["model"]) == (True, "a")
    assert (known["valid"], known["counterexample"]) == (False, "b")
    known = json.loads(softhat("check", "a & Y !a & !Y !a", "--json").out)
    assert (known["satisfiable"], known["model"], known["valid"]) == (False, None, False)
    known = json.loads(softhat("check", "#(a) > #(b) + 9", "--json").out)
    assert (known["satisfiable"], known["valid"], known["counterexample"]) == (None, False, "a")
    assert "not decided: counting" in softhat("check", "#(a) > #(b) + 9").out
    both = softhat("check", "X Y a").out
    assert "satisfiable  yes: true in aa" in both
    assert "accepts      at the first position" in softhat("check", "X Y a", "--at", "first").out
