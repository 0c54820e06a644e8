"""`--regex`, `--dfa`: other ways to give a formula, on every command that takes one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.run import softhat
from tests.frontends.regular.languages import bounded_dyck


def test_check_says_whether_the_empty_word_belongs() -> None:
    done = softhat("check", "--regex", "(ab)*")
    assert done.code == 0
    assert re.search(r"empty word +belongs to the language", done.out)
    assert re.search(r"automaton +3 states", done.out)
    assert "does not belong" in softhat("check", "--regex", "(ab)+").out
    document = json.loads(softhat("check", "--regex=(ab)+", "--json").out)
    assert document["empty_word"] is False
    assert "empty_word" not in json.loads(softhat("check", "a", "--json").out)


def test_wherever_a_formula_is_taken(tmp_path: Path) -> None:
    regex = ("--regex", "(ab)*")
    assert "accepted" in softhat("eval", *regex, "abab").out
    assert json.loads(softhat("run", "abab", "ab", *regex, "--json").out)[0]["accepted"] is True
    assert softhat("compile", *regex, "-o", str(tmp_path / "m")).code == 0
    assert json.loads(softhat("run", str(tmp_path / "m"), "aba", "--json").out)[0]["truth"] == [
        False,
        True,
        False,
    ]
    assert softhat("certify", *regex).code == 0
    assert softhat("trace", *regex, "ab").code == 0
    small = ("--exhaustive", "4", "--random", "5", "--adversarial", "5", "-j", "1")
    assert softhat("verify", *regex, *small).code == 0


def test_the_alphabet_of_an_expression_is_the_models() -> None:
    document = json.loads(softhat("compile", "--regex", "(a|b)*a", "--json").out)
    assert document["alphabet"] == ["a", "b"]
    document = json.loads(softhat("compile", "--regex", ".*a", "--alphabet", "abc", "--json").out)
    assert document["alphabet"] == ["a", "b", "c"]


def test_an_automaton_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "dyck.json"
    path.write_text(json.dumps(bounded_dyck(2)))
    done = softhat("eval", "--dfa", str(path), "--json", "(())", "((()))")
    assert [row["accepted"] for row in json.loads(done.out)] == [True, False]
    stdin = softhat("eval", "--dfa", "-", "()", stdin=path.read_text())
    assert "accepted" in stdin.out


def test_long_symbols_make_words_of_tokens() -> None:
    done = softhat("run", "--regex", "('open' 'close')*", "open close", "--json")
    assert json.loads(done.out)[0]["accepted"] is True


def test_positions_modulo_m_when_asked() -> None:
    refused = softhat("check", "--regex", "(aa)*")
    assert refused.code == 2
    assert "--mod" in refused.err
    assert "mod(2, 0)" in softhat("check", "--regex", "(aa)*", "--mod").out


def test_also_takes_marks() -> None:
    done = softhat("compile", "a", "--alphabet", "ab", "--also", "even=regex:(ab)*", "--json")
    assert done.code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--regex", "(a"], "ends too early"),
        (["check", "--regex"], "needs a value"),
        (["check", "--regex", "a", "--dfa", "x"], "give one of"),
        (["check", "a", "--mod"], "--mod goes with"),
        (["check", "--dfa", "/nonexistent"], "cannot read"),
        (["check", "--regex", "a", "--props"], "leave --props out"),
        (["eval", "--regex", "-", "-"], "not both"),
        (["check", "--regex", "(aa)*b|(b*ab*a)*b*"], "not star-free"),
    ],
)
def test_refusals(arguments: list[str], said: str) -> None:
    done = softhat(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_file_that_is_no_automaton(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text("{")
    assert "is not JSON" in softhat("check", "--dfa", str(path)).err
    path.write_text("[]")
    assert "an automaton is a mapping" in softhat("check", "--dfa", str(path)).err


def test_a_program_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "majority.crasp"
    path.write_text("A(i) := # j <= i [Qa(j)]\nB(i) := # j <= i [Qb(j)]\nY(i) := A(i) > B(i)\n")
    done = softhat("run", "--program", str(path), "aab", "abb", "--json")
    assert [row["accepted"] for row in json.loads(done.out)] == [True, False]
    assert json.loads(softhat("compile", "--program", str(path), "--json").out)["alphabet"] == [
        "a",
        "b",
    ]
    unknown = softhat("check", "--program", str(path), "--alphabet", "a")
    assert (unknown.code, "'b', which is not in the alphabet" in unknown.err) == (2, True)
    path.write_text("A(i) := # j <= i [Qa(j)]\nY(i) := A(i) > B(i)\n")
    wrong = softhat("check", "--program", str(path))
    assert wrong.code == 2
    assert "B is not defined before this line (line 2)" in wrong.err
    assert wrong.err.splitlines()[1:] == ["  Y(i) := A(i) > B(i)", "                 ^"]


RASP = """
from softhat import rasp

alphabet = [1, 2, 3]
max_length = 12
sort = rasp.lib.make_sort(rasp.tokens, rasp.tokens, max_seq_len=12, min_key=1)
share = rasp.lib.make_frac_prevs(rasp.tokens == 1)
number = 3


def make():
    return rasp.lib.make_hist()
"""


def test_rasp_programs_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "programs.py"
    path.write_text(RASP)
    done = softhat("run", f"{path}:sort", "312", "221", "--json")
    assert json.loads(done.out)[1] == {"word": [2, 2, 1], "values": [1, 2, 2]}
    assert "1 0.5 0.333333" in softhat("run", f"{path}:share", "123").out
    assert softhat("compile", f"{path}:make@8", "-o", str(tmp_path / "m")).code == 0
    assert json.loads(softhat("run", str(tmp_path / "m"), "112", "--json").out)[0]["values"] == [
        2,
        2,
        1,
    ]
    meant = json.loads(softhat("eval", f"{path}:sort", "312", "--json").out)
    assert meant == [{"word": [3, 1, 2], "values": [1, 2, 3]}]
    assert "True 0.5 0.333333" in softhat("eval", f"{path}:share", "123").out
    report = tmp_path / "report.html"
    assert softhat("explain", f"{path}:make@8", "112", "-o", str(report)).code == 0
    assert '"kind":"rasp"' in report.read_text().replace(": ", ":")
    assert softhat("certify", f"{path}:sort").code == 0
    checked = softhat("verify", f"{path}:share", "--exhaustive", "3", "--random", "5", "-j", "1")
    assert (checked.code, "ok: model and program agree" in checked.out) == (0, True)
    assert softhat("trace", f"{path}:share", "12").code == 0
    other = softhat("compile", f"{path}:make", "--alphabet", "ab", "--max-length", "5", "--json")
    assert json.loads(other.out)["alphabet"] == ["a", "b"]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nothing", "its RASP programs: sort, share"),
        ("number", "is no RASP program, but int"),
        ("sort --also b=a", "leave --also"),
    ],
)
def test_rasp_refusals(tmp_path: Path, what: str, said: str) -> None:
    path = tmp_path / "programs.py"
    path.write_text(RASP)
    done = softhat("compile", *f"{path}:{what}".split())
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_rasp_programs_have_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "programs.py"
    path.write_text(RASP)
    for command in ("check", "satisfiable"):
        done = softhat(command, f"{path}:sort")
        assert (done.code, "is a RASP program" in done.err) == (2, True)
    done = softhat("eval", f"{path}:sort", "14")
    assert (done.code, "4 is not in the alphabet" in done.err) == (2, True)


def test_rasp_files_that_fail(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("1 / 0")
    assert "raises ZeroDivisionError" in softhat("compile", f"{path}:x").err
    assert "no such file" in softhat("compile", f"{tmp_path}/none.py:x").err
    path.write_text("from softhat import rasp\np = rasp.tokens\n")
    assert "give --alphabet" in softhat("compile", f"{path}:p").err
    assert "for RASP programs" in softhat("compile", "a", "--causal").err
