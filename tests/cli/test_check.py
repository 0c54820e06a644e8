"""`softhat check`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from softhat import parse
from tests.cli.run import softhat, softhat_process
from tests.fuzz.running import limited
from tests.logic.syntax.test_parse import BAD
from tests.slices import every


def test_what_is_printed() -> None:
    done = softhat("check", "!O !(a & (b | c)) -> #(a)+#(a) >= 2")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "formula      !O !(a & (b | c)) -> #(a) + #(a) >= 2",
        "pretty       ¬⟐¬(a ∧ (b ∨ c)) → #(a) + #(a) ≥ 2",
        "alphabet     a b c (inferred from the formula; --alphabet says otherwise)",
        "simplified   true",  # over abc no symbol is both a and b or c
        "core         true S !(a & (b | c)) | #(a) >= 1",
        "fragment     pure past with counting",
        "depth        1",
        "size         16 nodes, 10 distinct subformulas",
        "symbols      a b c",
        "decoder      yes",
        "accepts      at the last position",
        "satisfiable  yes: accepts a",
        "valid        yes",
    ]


def test_json() -> None:
    done = softhat("check", "X Y a", "--json")
    document = json.loads(done.out)
    assert document["formula"] == "X Y a"
    assert document["pretty"] == "○⊖a"
    assert document["fragment"] == "two-way"
    assert document["acceptance"] is None
    assert document["symbols"] == ["a"]
    assert document["is_decoder"] is False
    assert document["temporal_depth"] == 2
    assert parse(document["core"]) == parse("X Y a")


def test_where_formulas_come_from(tmp_path: Path) -> None:
    file = tmp_path / "formula.txt"
    file.write_text("\ufeffa S // since\n  b\n", "utf-8")
    for done in (softhat("check", f"@{file}"), softhat("check", "-", stdin="a S b")):
        assert done.code == 0
        assert done.out.startswith("formula      a S b\n")
    missing = softhat("check", f"@{tmp_path / 'none.txt'}")
    assert missing.code == 2
    assert "No such file" in missing.err
    folder = softhat("check", f"@{tmp_path}")
    assert folder.code == 2
    binary = tmp_path / "binary"
    binary.write_bytes(b"a & \xff")
    assert "not UTF-8" in softhat("check", f"@{binary}").err


@pytest.mark.parametrize(("text", "position", "message"), BAD)
def test_bad_formulas(text: str, position: int, message: str) -> None:
    done = softhat("check", "-", stdin=text)
    if text.startswith("\ufeff"):  # a byte order mark before a file's text is no part of it
        assert done.code == 0
        return
    assert done.code == 2
    assert done.out == ""
    lines = done.err.splitlines()
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert "Traceback" not in done.err
    if text and "\n" not in text:
        assert len(lines) == 3
        assert lines[2].index("^") == 2 + position


def test_caret_in_long_wide_and_many_lined_formulas() -> None:
    long = softhat("check", "a & " * 1_000 + "?" + " & a" * 1_000)
    assert long.code == 2
    _, shown, caret = long.err.splitlines()
    assert shown[caret.index("^")] == "?"
    assert len(shown) <= 102
    lines = softhat("check", "-", stdin="a &\nb &\n  ? c\n").err.splitlines()
    assert lines[0] == "error: ? is no operator: a symbol goes in quotes: '?' (line 3)"
    assert lines[1:] == ["    ? c", "    ^"]
    wide = softhat("check", "'漢字' ?").err.splitlines()
    assert wide[2].index("^") == 2 + len("'漢字' ") + 2  # two columns a character


def test_unknown_symbols() -> None:
    done = softhat("check", "GFa", "--alphabet", "ab")
    assert done.code == 2
    assert "write G F a" in done.err
    assert softhat("check", "p & q", "--props", "--alphabet", "p q").code == 0
    assert softhat("check", "open", "--alphabet", "open,close").code == 0
    assert "twice" in softhat("check", "a", "--alphabet", "aba").err
    assert "empty" in softhat("check", "a", "--alphabet", "").err


@pytest.mark.parametrize(
    "text",
    ["!" * 100_000 + "a", "(" * 100_000 + "a" + ")" * 100_000],
    ids=["negations", "parentheses"],  # an id of this size is too long for the environment
)
def test_deep_formulas_in_a_process(text: str) -> None:
    done = softhat_process("check", "-", stdin=text.encode())
    assert (done.code, done.err) == (0, "")
    assert "fragment     Boolean" in done.out
    assert len(done.out) < 20_000


def test_a_large_formula_in_a_process() -> None:
    done = softhat_process("check", "-", stdin=" | ".join(["a", "b"] * 10_000).encode())
    assert (done.code, done.err) == (0, "")
    refused = softhat_process("check", "-", stdin=b"(" * 100_000)
    assert refused.code == 2
    assert len(refused.err.splitlines()) == 3


@pytest.mark.parametrize(
    "text",
    every(
        2,
        [
            " & ".join("abcdefgh"[k % 8] for k in range(40_000)),
            " | ".join(f"s{k}" for k in range(8_000)),
            " & ".join(f"(a{k % 97} | !b{k % 89})" for k in range(6_000)),
            " S ".join("ab"[k % 3 == 0] for k in range(8_000)),
            " & ".join(f"#({'abc'[k % 3]}) > {k % 7}" for k in range(3_000)),
            "O (a & " * 5_000 + "b" + ")" * 5_000,
            "Y " * 30_000 + "a",
        ],
    ),
    ids=lambda text: text[:12],
)
def test_work_is_linear(text: str, tmp_path: Path) -> None:
    """Some of these would have taken minutes: each link of a chain was compared with all of it."""
    path = tmp_path / "formula.txt"
    path.write_text(text)
    with limited(text[:40]):
        done = softhat("check", f"@{path}", "--json")
    assert done.code == 0
    assert parse(json.loads(done.out)["formula"]) == parse(text)


def test_terminals_that_cannot_show_the_signs() -> None:
    done = softhat_process("check", "!a", PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert "\\xaca" in done.out
    done = softhat_process("check", "\udcff")
    assert done.code == 2
    assert "Traceback" not in done.err


def test_help() -> None:
    done = softhat("check", "--help")
    assert done.code == 0
    assert "softhat check '!c S a'" in done.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    ("unbuffered", "said"),
    [
        ("1", "error: [Errno 28] No space left on device"),
        ("", "error: cannot write the output: No space left on device"),
    ],
)
def test_a_full_disk_is_one_line(unbuffered: str, said: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", "from softhat.cli import main; main()", "check", "a"]
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [said]
